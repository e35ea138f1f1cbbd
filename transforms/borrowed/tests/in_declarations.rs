//! Lookups in the values of declarations, between which C89 has no statement.

use super::{int, object};

#[test]
fn the_value_waits_for_what_is_looked_up() {
    insta::assert_snapshot!(object(
        r#"
    Py_ssize_t size = PyDict_Size(PyDict_GetItemString(dict, "a"));
    PyObject *out = NULL;
    out = PyLong_FromSsize_t(size);
    return out;
"#
    ), @r#"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    Py_ssize_t size = PyDict_Size(PyDict_GetItemString(dict, "a"));
    +    PyObject *value;
    +    Py_ssize_t size;
         PyObject *out = NULL;
    +    if (PyDict_GetItemStringRef(dict, "a", &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    size = PyDict_Size(value);
    +    Py_XDECREF(value);
         out = PyLong_FromSsize_t(size);
         return out;
    "#);
}

#[test]
fn values_that_more_has_to_wait_with_stay() {
    for (value, more) in [
        (
            "PyDict_Size(PyDict_GetItemString(dict, \"a\"))",
            "long twice = f(size);",
        ),
        ("PyDict_Size(PyDict_GetItemString(dict, \"a\")), n = 0", ""),
    ] {
        let body = format!(
            "\n    Py_ssize_t size = {value};\n    {more}\n    use(size);\n    return NULL;\n"
        );
        let result = object(&body);
        assert!(
            result.contains("Py_ssize_t size = PyDict_Size(value)"),
            "{result}"
        );
    }
}

#[test]
fn a_constant_does_not_wait() {
    let test = "\n    const long n = PyLong_AsLong(PyList_GET_ITEM(list, 0));
    if (n < 0)
        return -1;
    return 0;\n";
    insta::assert_snapshot!(int(test), @"3: declare the variable first, and assign to it after the declarations (a test of the result cannot stand between declarations)");
    insta::assert_snapshot!(int(&format!("\n    use(0);\n    int k = 0;{test}")), @"
    @@
         use(0);
         int k = 0;
    -    const long n = PyLong_AsLong(PyList_GET_ITEM(list, 0));
    +    PyObject *item = PyList_GetItemRef(list, 0);
    +    if (item == NULL) {
    +        return -1;
    +    }
    +    const long n = PyLong_AsLong(item);
    +    Py_DECREF(item);
         if (n < 0)
             return -1;
    ");
}

#[test]
fn the_next_variable_of_the_declaration_does_not_get_what_is_not_tested() {
    let of = |more: &str| {
        int(&format!(
            "\n    PyObject *item = PyList_GET_ITEM(list, i), *more = {more};\n    if (PyObject_Hash(item) == -1)\n        return -1;\n    return more != NULL;\n"
        ))
    };
    for busy in [
        "PyObject_Repr(item)",
        "PyObject_Repr(key)",
        "item",
        "(PyObject *)&item->ob_type",
    ] {
        let said = of(busy);
        assert!(
            said.contains("a test of the result cannot stand between declarations"),
            "{said}"
        );
    }
    for idle in ["NULL", "key", "self"] {
        let said = of(idle);
        assert!(said.contains("+    if (item == NULL) {"), "{said}");
    }
}
