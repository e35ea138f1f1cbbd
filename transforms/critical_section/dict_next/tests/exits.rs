//! `return`, `goto`, `break` and `continue` out of the loop.

use super::diff;

#[test]
fn a_constant_return_becomes_a_flag() {
    let text = r#"
static int
all_str(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key))
            return -1;
        if (value == Py_None) {
            free(NULL);
            return -1;
        }
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
    -        if (!PyUnicode_Check(key))
    -            return -1;
    +        if (!PyUnicode_Check(key)) {
    +            failed = 1;
    +            break;
    +        }
             if (value == Py_None) {
                 free(NULL);
    -            return -1;
    +            failed = 1;
    +            break;
             }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    "##);
}

#[test]
fn a_goto_becomes_a_flag() {
    let text = r#"
static int
all_str(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int rc = -1;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            goto done;
    }
    rc = 0;
done:
    return rc;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
         int rc = -1;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    -        if (!PyUnicode_Check(key))
    -            goto done;
    +        if (!PyUnicode_Check(key)) {
    +            failed = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        goto done;
         rc = 0;
     done:
    "##);
}

#[test]
fn a_computed_result_is_kept_in_a_variable() {
    let text = r#"
static PyObject *
check(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    prepare();

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            return PyErr_Format(PyExc_TypeError,
                                "keys must be strings");
        if (PyUnicode_GET_LENGTH(key) == 0)
            return NULL;
    }
    Py_RETURN_NONE;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      11: `PyErr_Format` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int stopped = 0;
    +    PyObject *result = NULL;
         prepare();
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    -        if (!PyUnicode_Check(key))
    -            return PyErr_Format(PyExc_TypeError,
    -                                "keys must be strings");
    -        if (PyUnicode_GET_LENGTH(key) == 0)
    -            return NULL;
    +        if (!PyUnicode_Check(key)) {
    +            result = PyErr_Format(PyExc_TypeError,
    +                                  "keys must be strings");
    +            stopped = 1;
    +            break;
    +        }
    +        if (PyUnicode_GET_LENGTH(key) == 0) {
    +            result = NULL;
    +            stopped = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return result;
         Py_RETURN_NONE;
     }
    "##);
}

#[test]
fn different_exits_get_numbers() {
    let text = r#"
static PyObject *
find(PyObject *d, PyObject *wanted)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (key == wanted)
            Py_RETURN_TRUE;
        if (value == wanted) {
            Py_RETURN_FALSE;
        }
        if (!PyUnicode_Check(key))
            goto error;
    }
    Py_RETURN_NONE;
error:
    return NULL;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    int outcome = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
    -        if (key == wanted)
    -            Py_RETURN_TRUE;
    +        if (key == wanted) {
    +            outcome = 1;
    +            break;
    +        }
             if (value == wanted) {
    -            Py_RETURN_FALSE;
    +            outcome = 2;
    +            break;
    +        }
    +        if (!PyUnicode_Check(key)) {
    +            outcome = 3;
    +            break;
             }
    -        if (!PyUnicode_Check(key))
    -            goto error;
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (outcome == 1)
    +        Py_RETURN_TRUE;
    +    if (outcome == 2)
    +        Py_RETURN_FALSE;
    +    if (outcome == 3)
    +        goto error;
         Py_RETURN_NONE;
     error:
    "##);
}

#[test]
fn exits_of_inner_loops_jump_to_the_end_of_the_section() {
    let text = r#"
static int
find(PyObject *d, PyObject **table, int n)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int i;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        for (i = 0; i < n; i++) {
            if (table[i] == key)
                return 1;
        }
        switch (n) {
        case 0:
            return 1;
        default:
            break;
        }
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
         int i;
    +    int stopped = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             for (i = 0; i < n; i++) {
    -            if (table[i] == key)
    -                return 1;
    +            if (table[i] == key) {
    +                stopped = 1;
    +                goto end_section;
    +            }
             }
             switch (n) {
             case 0:
    -            return 1;
    +            stopped = 1;
    +            goto end_section;
             default:
                 break;
             }
         }
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return 1;
         return 0;
     }
    "##);
}

#[test]
fn breaks_and_continues_of_the_loop_stay() {
    let text = r#"
static int
has_none(PyObject *d)
{
    PyObject *value;
    Py_ssize_t pos = 0;
    int found = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (value != Py_None)
            continue;
        found = 1;
        break;
    }
    return found;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         int found = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, &value)) {
             if (value != Py_None)
    @@
             break;
         }
    +    Py_END_CRITICAL_SECTION();
         return found;
     }
    "##);
}

#[test]
fn break_of_an_outer_loop_becomes_a_flag() {
    let text = r#"
static int
each(PyObject *d, int n)
{
    PyObject *key;
    Py_ssize_t pos;

    while (n--) {
        pos = 0;
        if (PyDict_Next(d, &pos, &key, NULL)) {
            if (!PyUnicode_Check(key))
                break;
            if (PyUnicode_GET_LENGTH(key))
                continue;
            n--;
        }
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    10: `d` is iterated over without its lock; another thread may change the dict meanwhile
      10: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
     
         while (n--) {
    +        int outcome = 0;
             pos = 0;
    +        Py_BEGIN_CRITICAL_SECTION(d);
             if (PyDict_Next(d, &pos, &key, NULL)) {
    -            if (!PyUnicode_Check(key))
    -                break;
    -            if (PyUnicode_GET_LENGTH(key))
    -                continue;
    +            if (!PyUnicode_Check(key)) {
    +                outcome = 1;
    +                goto end_section;
    +            }
    +            if (PyUnicode_GET_LENGTH(key)) {
    +                outcome = 2;
    +                goto end_section;
    +            }
                 n--;
             }
    +    end_section: ;
    +        Py_END_CRITICAL_SECTION();
    +        if (outcome == 1)
    +            break;
    +        if (outcome == 2)
    +            continue;
         }
         return n;
    "##);
}

#[test]
fn a_dict_released_on_the_way_out_is_released_behind_the_section() {
    let text = r#"
static PyObject *
names(PyObject *o)
{
    PyObject *d = PyObject_GetAttrString(o, "__dict__");
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key)) {
            Py_DECREF(d);
            return NULL;
        }
    }
    Py_DECREF(d);
    Py_RETURN_NONE;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is the result of `PyObject_GetAttrString()`; another thread can change it between two calls
      11: `Py_DECREF` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             if (!PyUnicode_Check(key)) {
    -            Py_DECREF(d);
    -            return NULL;
    +            failed = 1;
    +            break;
             }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed) {
    +        Py_DECREF(d);
    +        return NULL;
    +    }
         Py_DECREF(d);
         Py_RETURN_NONE;
    "##);
}

#[test]
fn two_loops_get_two_flags() {
    let text = r#"
static int
both(PyObject *a, PyObject *b)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(a, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            return -1;
    }
    pos = 0;
    while (PyDict_Next(b, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            return -1;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `a` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `a`, which the caller passes; another thread can change it between two calls
      safe: iterate over `a` in a critical section
    13: `b` is iterated over without its lock; another thread may change the dict meanwhile
      13: the dict is `b`, which the caller passes; another thread can change it between two calls
      safe: iterate over `b` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int failed = 0;
    +    int failed2 = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(a);
         while (PyDict_Next(a, &pos, &key, NULL)) {
    -        if (!PyUnicode_Check(key))
    -            return -1;
    +        if (!PyUnicode_Check(key)) {
    +            failed = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         pos = 0;
    +    Py_BEGIN_CRITICAL_SECTION(b);
         while (PyDict_Next(b, &pos, &key, NULL)) {
    -        if (!PyUnicode_Check(key))
    -            return -1;
    +        if (!PyUnicode_Check(key)) {
    +            failed2 = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed2)
    +        return -1;
         return 0;
     }
    "##);
}

#[test]
fn jumps_past_the_declaration_do_not_matter() {
    let text = r#"
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos;

    prepare();
again:
    pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            goto again;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos;
    +    int failed;
     
         prepare();
     again:
         pos = 0;
    +    failed = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    -        if (!PyUnicode_Check(key))
    -            goto again;
    +        if (!PyUnicode_Check(key)) {
    +            failed = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        goto again;
         return 0;
     }
    "##);
}

#[test]
fn false_is_a_constant() {
    let text = r#"
static bool
all_str(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key))
            return false;
    }
    return true;
}
"#;
    insta::assert_snapshot!(diff(text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          safe: iterate over `d` in a critical section
        @@
             PyObject *key, *value;
             Py_ssize_t pos = 0;
        +    int stopped = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (!PyUnicode_Check(key))
        -            return false;
        +        if (!PyUnicode_Check(key)) {
        +            stopped = 1;
        +            break;
        +        }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (stopped)
        +        return false;
             return true;
         }
        ");
}

#[test]
fn what_follows_the_release_of_the_dict_waits_with_it() {
    let text = "
static int
has_text(PyObject *d, int *found)
{
    Py_ssize_t pos = 0;
    PyObject *key;
    Py_INCREF(d);
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (PyUnicode_Check(key)) {
            Py_DECREF(d);
            *found = 1;
            return 0;
        }
    }
    Py_DECREF(d);
    return 1;
}
";
    insta::assert_snapshot!(diff(text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          10: `Py_DECREF` can run Python code, which may also change the dict
          safe: iterate over `d` in a critical section
        @@
             Py_ssize_t pos = 0;
             PyObject *key;
        +    int stopped = 0;
             Py_INCREF(d);
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, NULL)) {
                 if (PyUnicode_Check(key)) {
        -            Py_DECREF(d);
        -            *found = 1;
        -            return 0;
        +            stopped = 1;
        +            break;
                 }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (stopped) {
        +        Py_DECREF(d);
        +        *found = 1;
        +        return 0;
        +    }
             Py_DECREF(d);
             return 1;
        ");
    // What is known in the loop only.
    let text = text.replace("*found = 1;", "*found = PyUnicode_Check(key);");
    insta::assert_snapshot!(diff(&text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          10: `Py_DECREF` can run Python code, which may also change the dict
          by hand: release the dict after the loop (a critical section needs it until its end)
        ");
}
