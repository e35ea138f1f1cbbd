//! Paths that meet: one needs the object, the other no more.

use super::{int, object};

#[test]
fn a_path_that_needs_the_object_no_more_waits_for_one_that_does() {
    insta::assert_snapshot!(int("
    PyObject *item = PyList_GetItem(list, i);
    const char *name;
    if (item == NULL)
        return -1;
    if (PyUnicode_Check(item)) {
        name = PyUnicode_AsUTF8(item);
        if (name == NULL)
            return -1;
    } else {
        PyObject *text = PyObject_Str(item);
        if (text == NULL)
            return -1;
        name = keep_text(text);
        Py_DECREF(text);
    }
    return save(name);
"), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         const char *name;
    +    int result;
         if (item == NULL)
             return -1;
         if (PyUnicode_Check(item)) {
             name = PyUnicode_AsUTF8(item);
    -        if (name == NULL)
    +        if (name == NULL) {
    +            Py_DECREF(item);
                 return -1;
    +        }
         } else {
             PyObject *text = PyObject_Str(item);
    -        if (text == NULL)
    +        if (text == NULL) {
    +            Py_DECREF(item);
                 return -1;
    +        }
             name = keep_text(text);
             Py_DECREF(text);
         }
    -    return save(name);
    +    result = save(name);
    +    Py_DECREF(item);
    +    return result;
     }
    ");
}

#[test]
fn an_array_of_characters_holds_no_pointer_into_the_object() {
    insta::assert_snapshot!(int("
    char message[80];
    Py_ssize_t n;
    for (n = 0; n < i; n++) {
        PyObject *item = PyList_GetItem(list, n);
        if (item == NULL || convert(item, message, sizeof(message)) < 0)
            goto error;
    }
    return 0;
error:
    report(message);
    return -1;
"), @"
    @@
         Py_ssize_t n;
         for (n = 0; n < i; n++) {
    -        PyObject *item = PyList_GetItem(list, n);
    -        if (item == NULL || convert(item, message, sizeof(message)) < 0)
    +        PyObject *item = PyList_GetItemRef(list, n);
    +        if (item == NULL || convert(item, message, sizeof(message)) < 0) {
    +            Py_XDECREF(item);
                 goto error;
    +        }
    +        Py_DECREF(item);
         }
         return 0;
    ");
}

#[test]
fn an_array_of_pointers_may_hold_one() {
    insta::assert_snapshot!(int("
    const char *parts[2];
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL || split(item, parts) < 0)
        return -1;
    return join(parts);
"), @"
    @@
     {
         const char *parts[2];
    -    PyObject *item = PyList_GetItem(list, i);
    -    if (item == NULL || split(item, parts) < 0)
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    int result;
    +    if (item == NULL || split(item, parts) < 0) {
    +        Py_XDECREF(item);
             return -1;
    -    return join(parts);
    +    }
    +    result = join(parts);
    +    Py_DECREF(item);
    +    return result;
     }
    ");
}

#[test]
fn nothing_is_released_where_the_program_ends() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (is_first(item)) {
        if (begin() < 0)
            Py_FatalError("cannot begin");
        i = 1;
    }
    return (int)i;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
                 i = 1;
             }
        +    Py_DECREF(item);
             return (int)i;
         }
        ");
}

#[test]
fn nothing_is_released_right_before_the_program_ends() {
    let result = int(r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (!is_first(item)) {
        Py_FatalError("cannot go on");
    }
    return (int)i;
"#);
    let added = result.lines().filter(|line| line.starts_with("+ "));
    assert_eq!(
        added.collect::<Vec<_>>(),
        [
            "+    PyObject *item = PyList_GetItemRef(list, i);",
            "+    Py_DECREF(item);"
        ],
        "{result}"
    );
}

#[test]
fn a_branch_behind_which_only_the_other_goes_on() {
    for end in ["Py_RETURN_NONE;", "return Py_None;"] {
        let result = object(&format!(
            "    PyObject *item = PyList_GetItem(list, i);
    if (PyLong_AsLong(item) < 0) {{
        Py_FatalError(\"negative\");
    }} else {{
        i = 1;
    }}
    {end}"
        ));
        let releases = result.matches("Py_XDECREF(item);").count();
        assert_eq!(
            (releases, result.contains("+    return")),
            (1, false),
            "{result}"
        );
        assert!(!result.contains("-    Py_RETURN_NONE"), "{result}");
    }
}
