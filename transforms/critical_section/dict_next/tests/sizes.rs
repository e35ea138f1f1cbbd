//! Sizes that are asked for in front of the loop.

use super::diff;

/// The rule on a loop that writes, with `before` it and `written` for each item.
fn filled(before: &str, written: &str) -> String {
    diff(&format!(
        "
static int
fill(PyObject *d, long *hashes, PyObject *other)
{{
    Py_ssize_t pos = 0, n, i = 0;
    PyObject *key;
    {before}
    while (PyDict_Next(d, &pos, &key, NULL))
        {written}
    return 0;
}}
"
    ))
}

#[test]
fn the_section_begins_where_the_size_is_asked() {
    let malloc = "hashes = malloc(PyDict_Size(d) * sizeof(*hashes));";
    insta::assert_snapshot!(filled(malloc, "*hashes++ = 1;"), @"
        8: `d` is iterated over without holding its lock
          8: `d`, which the caller passes in: another thread can change it between two calls
          safe: hold `d` in a critical section while it is iterated over
        @@
             Py_ssize_t pos = 0, n, i = 0;
             PyObject *key;
        +    Py_BEGIN_CRITICAL_SECTION(d);
             hashes = malloc(PyDict_Size(d) * sizeof(*hashes));
             while (PyDict_Next(d, &pos, &key, NULL))
                 *hashes++ = 1;
        +    Py_END_CRITICAL_SECTION();
             return 0;
         }
        ");
}

#[test]
fn exits_in_front_of_the_loop_release_no_key() {
    let text = "
static int
fill(PyObject *d, PyObject *seen)
{
    Py_ssize_t pos = 0, n;
    PyObject *key;
    char **names;

    n = PyDict_Size(d);
    if (n > 0) {
        names = malloc(n * sizeof(*names));
        if (!names)
            return -1;
        while (PyDict_Next(d, &pos, &key, NULL)) {
            if (take(key, names++) < 0)
                return -1;
        }
        show(names);
    }
    return 0;
}
";
    insta::assert_snapshot!(diff(text), @"
        14: `d` is iterated over without holding its lock
          14: `d`, which the caller passes in: another thread can change it between two calls
          15: `take` can run Python code, which may change it as well
          safe: hold `d` in a critical section while it is iterated over
        @@
             PyObject *key;
             char **names;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             n = PyDict_Size(d);
             if (n > 0) {
                 names = malloc(n * sizeof(*names));
        -        if (!names)
        -            return -1;
        +        if (!names) {
        +            failed = 1;
        +            goto end_section;
        +        }
                 while (PyDict_Next(d, &pos, &key, NULL)) {
        -            if (take(key, names++) < 0)
        -                return -1;
        +            Py_INCREF(key);
        +            if (take(key, names++) < 0) {
        +                Py_DECREF(key);
        +                failed = 1;
        +                goto end_section;
        +            }
        +            Py_DECREF(key);
                 }
                 show(names);
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
             return 0;
         }
        ");
}

#[test]
fn a_size_that_is_only_compared_asks_for_nothing() {
    let empty = filled("if (PyDict_Size(d) == 0) return 0;", "*hashes++ = 1;");
    assert!(empty.contains("safe: hold `d`"), "{empty}");
    assert!(!empty.contains("end_section"), "{empty}");
    let known = filled(
        "if (PyDict_Size(d) > pos) hashes = grow();",
        "*hashes++ = 1;",
    );
    assert!(known.contains("safe: hold `d`"), "{known}");
    assert!(
        known.contains("SECTION(d);\n     if (PyDict_Size"),
        "{known}"
    );
    // What fits into memory of a fixed size.
    let small = filled("if (PyDict_Size(d) > 8) return -1;", "hashes[i++] = 1;");
    assert!(small.contains("goto end_section;"), "{small}");
    let counted = "n = PyDict_Size(d); if (n != pos) PyErr_Clear(); work(other); ";
    let told = filled(counted, "PySet_Add(other, key);");
    assert!(!told.contains("+    n = "), "{told}");
    assert!(told.contains("safe: hold `d`"), "{told}");
}

#[test]
fn a_lock_of_something_else_lets_other_threads_in() {
    let reply = filled(
        "n = PyDict_Size(d); hashes = malloc(n * sizeof(*hashes));",
        "hashes[i++] = PyList_Append(other, key);",
    );
    insta::assert_snapshot!(reply, @"
        8: `d` is iterated over without holding its lock
          8: `d`, which the caller passes in: another thread can change it between two calls
          9: `PyList_Append` can run Python code, which may change it as well
          review: hold `d` in a critical section while it is iterated over
          assumes that no other thread adds to `d` while `PyList_Append` waits for a lock, which suspends the section
        @@
             Py_ssize_t pos = 0, n, i = 0;
             PyObject *key;
        +    Py_BEGIN_CRITICAL_SECTION(d);
             n = PyDict_Size(d); hashes = malloc(n * sizeof(*hashes));
        -    while (PyDict_Next(d, &pos, &key, NULL))
        +    while (PyDict_Next(d, &pos, &key, NULL)) {
        +        Py_INCREF(key);
                 hashes[i++] = PyList_Append(other, key);
        +        Py_DECREF(key);
        +    }
        +    Py_END_CRITICAL_SECTION();
             return 0;
         }
        ");
}

#[test]
fn a_size_that_is_asked_elsewhere_stays_a_question() {
    for before in [
        "if (other) n = PyDict_Size(d); else n = 8; hashes = malloc(n * sizeof(*hashes));",
        "for (n = 0; i < 2; i++) { n += PyDict_Size(d); } hashes = grow(hashes, n);",
    ] {
        let reply = filled(before, "*hashes++ = 1;");
        assert!(reply.contains("review"), "{reply}");
    }
}

#[test]
fn a_size_of_the_other_branch_has_nothing_to_do_with_the_loop() {
    let text = "
static int
drop(PyObject *d)
{
    Py_ssize_t pos = 0, n;
    PyObject *key;

    if (PyDict_Check(d)) {
        while (PyDict_Next(d, &pos, &key, NULL))
            forget(key);
        return 0;
    }
    n = PyObject_Length(d);
    return resize(n);
}
";
    let reply = diff(text);
    assert!(reply.contains("safe: hold `d`"), "{reply}");
}

#[test]
fn a_dict_that_an_exit_may_free_is_released_behind_the_section() {
    let text = r#"
static int
options(PyObject *callback)
{
    PyObject *result = PyObject_CallNoArgs(callback), *d, *key;
    Py_ssize_t pos = 0;
    if (!PyArg_ParseTuple(result, "O", &d)) {
        Py_DECREF(result);
        return -1;
    }
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_CheckExact(key)) {
            Py_DECREF(result);
            return -1;
        }
    }
    Py_DECREF(result);
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r#"
        11: `d` is iterated over without holding its lock
          11: an argument of the caller: another thread can change it between two calls
          13: `Py_DECREF` can run Python code, which may change it as well
          safe: hold `d` in a critical section while it is iterated over
        @@
             PyObject *result = PyObject_CallNoArgs(callback), *d, *key;
             Py_ssize_t pos = 0;
        +    int failed = 0;
             if (!PyArg_ParseTuple(result, "O", &d)) {
                 Py_DECREF(result);
                 return -1;
             }
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, NULL)) {
                 if (!PyUnicode_CheckExact(key)) {
        -            Py_DECREF(result);
        -            return -1;
        +            failed = 1;
        +            break;
                 }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed) {
        +        Py_DECREF(result);
        +        return -1;
        +    }
             Py_DECREF(result);
             return 0;
        "#);
}
