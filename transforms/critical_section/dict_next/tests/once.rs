//! Calls that are no condition: for the only item.

use super::diff;

fn only(condition: &str, rest: &str) -> String {
    diff(&format!(
        "
static int
only(PyObject *d, PyObject *other)
{{
    PyObject *key, *value;
    Py_ssize_t pos = 0, size;
    int n = 0;

    size = PyDict_Size(d);
    if ({condition}) {{
        PyDict_Next(d, &pos, &key, &value);
        {rest}
    }}
    return n;
}}
"
    ))
}

#[test]
fn the_only_item_is_held_where_the_size_is_asked() {
    let rest = "if (save(other, key) < 0)
            return -1;
        if (save(other, value) < 0)
            return -1;
        n++;
        return 0;";
    insta::assert_snapshot!(only("size == 1", rest), @"
        11: `d` is iterated over without its lock; another thread may change the dict meanwhile
          11: the dict is `d`, which the caller passes; another thread can change it between two calls
          12: `save` can run Python code, which may also change the dict
          safe: iterate over `d` in a critical section
        @@
             Py_ssize_t pos = 0, size;
             int n = 0;
        +    int outcome = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             size = PyDict_Size(d);
             if (size == 1) {
                 PyDict_Next(d, &pos, &key, &value);
        -        if (save(other, key) < 0)
        -            return -1;
        -        if (save(other, value) < 0)
        -            return -1;
        +        Py_INCREF(key);
        +        Py_INCREF(value);
        +        if (save(other, key) < 0) {
        +            Py_DECREF(value);
        +            Py_DECREF(key);
        +            outcome = 1;
        +            goto end_section;
        +        }
        +        if (save(other, value) < 0) {
        +            Py_DECREF(value);
        +            Py_DECREF(key);
        +            outcome = 1;
        +            goto end_section;
        +        }
        +        Py_DECREF(value);
        +        Py_DECREF(key);
                 n++;
        -        return 0;
        +        outcome = 2;
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (outcome == 1)
        +        return -1;
        +    if (outcome == 2)
        +        return 0;
             return n;
         }
        ");
}

#[test]
fn the_dict_is_released_behind_the_section_of_its_item() {
    let text = r#"
static int
check(PyObject *unused)
{
    if (unused != NULL)
    {
        if (PyDict_Size(unused) != 0)
        {
            PyObject *key, *value;
            Py_ssize_t pos = 0;

            /* Just one of them. */
            PyDict_Next(unused, &pos, &key, &value);

            PyErr_Format(PyExc_TypeError, "'%S' is an unknown keyword argument", key);

            Py_DECREF(unused);

            return -1;
        }

        Py_DECREF(unused);
    }

    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r#"
        13: `unused` is iterated over without its lock; another thread may change the dict meanwhile
          13: the dict is `unused`, which the caller passes; another thread can change it between two calls
          15: `PyErr_Format` can run Python code, which may also change the dict
          safe: iterate over `unused` in a critical section
        @@
             if (unused != NULL)
             {
        +        int failed = 0;
        +        Py_BEGIN_CRITICAL_SECTION(unused);
                 if (PyDict_Size(unused) != 0)
                 {
        @@
                     PyDict_Next(unused, &pos, &key, &value);
         
        +            Py_INCREF(key);
                     PyErr_Format(PyExc_TypeError, "'%S' is an unknown keyword argument", key);
        +            Py_DECREF(key);
         
        +            failed = 1;
        +        }
        +        Py_END_CRITICAL_SECTION();
        +        if (failed)
        +        {
                     Py_DECREF(unused);
        -
                     return -1;
                 }
        "#);
}

#[test]
fn who_says_nothing_of_an_item_is_asked() {
    let needs = |condition: &str| {
        let said = only(condition, "take(key);");
        assert!(said.contains("iterate over `d`"), "{said}");
        said.contains("assumes that `d` is not empty when `PyDict_Next` is called")
    };
    for condition in [
        "size",
        "size > 0",
        "other && size == 2",
        "size != 0",
        "size >= 1",
    ] {
        assert!(!needs(condition), "{condition}");
    }
    for condition in [
        "other",
        "size < 2",
        "size != 1",
        "size >= 0",
        "other || size == 1",
    ] {
        assert!(needs(condition), "{condition}");
    }
}

#[test]
fn uses_that_no_section_covers_are_left() {
    let by_hand = |rest: &str| {
        only("size == 1", rest)
            .contains("by hand: put a critical section around the call and the uses")
    };
    assert!(!by_hand("take(key);"));
    assert!(by_hand("other = key; } if (n) { take(other);"));
    assert!(by_hand("self->key = key;"));
    assert!(by_hand(
        "for (;;) { PyDict_Next(d, &pos, &key, NULL); take(key); }"
    ));
    assert!(by_hand(
        "int m = size; take(key); } { int m = n; take(key);"
    ));
}

/// Where there is no item, `guard` leaves.
fn left(guard: &str) -> String {
    let rest = "visit(key);\n    return PyObject_Str(value);";
    diff(&format!(
        "static PyObject *\nf(PyObject *d)\n{{\n    PyObject *key, *value;\n    Py_ssize_t pos = 0;\n    {guard}\n    {rest}\n}}\n"
    ))
}

#[test]
fn what_comes_behind_the_way_out_has_an_item() {
    insta::assert_snapshot!(left("if (!PyDict_Next(d, &pos, &key, &value)) {\n        PyErr_SetString(PyExc_KeyError, \"empty\");\n        return NULL;\n    }"), @r##"
    6: `d` is iterated over without its lock; another thread may change the dict meanwhile
      6: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    PyObject *result = NULL;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         if (!PyDict_Next(d, &pos, &key, &value)) {
             PyErr_SetString(PyExc_KeyError, "empty");
    -        return NULL;
    +        result = NULL;
    +        goto end_section;
         }
    +    Py_INCREF(key);
    +    Py_INCREF(value);
         visit(key);
    -    return PyObject_Str(value);
    +    result = PyObject_Str(value);
    +    Py_DECREF(value);
    +    Py_DECREF(key);
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
    +    return result;
     }
    "##);
    insta::assert_snapshot!(left("if (PyDict_Next(d, &pos, &key, &value) == 0)\n        return NULL;"), @r##"
    6: `d` is iterated over without its lock; another thread may change the dict meanwhile
      6: the dict is `d`, which the caller passes; another thread can change it between two calls
      8: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    -    if (PyDict_Next(d, &pos, &key, &value) == 0)
    -        return NULL;
    +    PyObject *result = NULL;
    +    Py_BEGIN_CRITICAL_SECTION(d);
    +    if (PyDict_Next(d, &pos, &key, &value) == 0) {
    +        result = NULL;
    +        goto end_section;
    +    }
    +    Py_INCREF(key);
    +    Py_INCREF(value);
         visit(key);
    -    return PyObject_Str(value);
    +    result = PyObject_Str(value);
    +    Py_DECREF(value);
    +    Py_DECREF(key);
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
    +    return result;
     }
    "##);
}

#[test]
fn what_comes_behind_another_way_may_have_none() {
    let by_hand = "by hand: put a critical section around the call and the uses";
    let stays = left("if (!PyDict_Next(d, &pos, &key, &value))\n        key = value = Py_None;");
    assert!(stays.contains(by_hand), "{stays}");
    let other = left(
        "if (!PyDict_Next(d, &pos, &key, &value))\n        return NULL;\n    else\n        visit(value);",
    );
    assert!(other.contains(by_hand), "{other}");
}

#[test]
fn the_last_of_several_ways_out_is_taken_without_a_test() {
    insta::assert_snapshot!(diff(
        "
PyObject *
first(PyObject *self, PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (!PyDict_Next(d, &pos, &key, &value))
        Py_RETURN_NONE;
    return Py_BuildValue(\"OO\", key, value);
}
"
    ), @r#"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    int outcome = 0;
    +    PyObject *result = NULL;
     
    -    if (!PyDict_Next(d, &pos, &key, &value))
    +    Py_BEGIN_CRITICAL_SECTION(d);
    +    if (!PyDict_Next(d, &pos, &key, &value)) {
    +        outcome = 1;
    +        goto end_section;
    +    }
    +    result = Py_BuildValue("OO", key, value);
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
    +    if (outcome == 1)
             Py_RETURN_NONE;
    -    return Py_BuildValue("OO", key, value);
    +    return result;
     }
    "#);
}

#[test]
fn a_return_on_the_line_of_its_condition_holds_the_value() {
    insta::assert_snapshot!(diff(
        "
int
first(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (PyDict_Next(d, &pos, &key, &value)) return PyObject_IsTrue(value);
    else return 0;
}
"
    ), @r#"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      8: `PyObject_IsTrue` can run Python code, which may also change the dict
      by hand: change this function by hand (the automatic rewrite failed validation: it changes the same text in two different ways)
    "#);
}
