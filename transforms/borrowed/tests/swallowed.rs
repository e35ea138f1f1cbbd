//! Functions that say "there is none" by the value that says "it failed" elsewhere.

use super::all;

/// A function of the package with this body, which nothing but C calls.
fn helper(body: &str) -> String {
    all(&format!(
        "static PyObject *find(PyObject *list, Py_ssize_t i)\n{{\n    PyObject *item, *result;\n{body}\n}}\n\
         static PyObject *f(PyObject *self, PyObject *list)\n{{\n    PyObject *found = find(list, 0);\n    \
         return found ? found : PyUnicode_FromString(\"none\");\n}}\n\
         static PyMethodDef methods[] = {{{{\"f\", f, METH_O, NULL}}, {{NULL}}}};\n"
    ))
}

#[test]
fn null_for_none_is_not_handed_on() {
    insta::assert_snapshot!(helper(
        "    Py_ssize_t n = PyList_GET_SIZE(list);
    if (n == 0)
        return NULL;
    result = PyList_GET_ITEM(list, n - 1);
    Py_INCREF(result);
    return result;"
    ), @"7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn exit_behind_which_the_exception_is_cleared() {
    insta::assert_snapshot!(helper(
        "    item = PyList_GET_ITEM(list, i);
    result = PyNumber_Long(item);
    if (result == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return result;"
    ), @"4: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn jump_to_a_success() {
    insta::assert_snapshot!(all(
        "static PyObject *f(PyObject *self, PyObject *list)
{
    PyObject *item;
    long result = 0;
    if (PyList_GET_SIZE(list) == 0)
        goto out;
    if ((item = PyList_GET_ITEM(list, 0)) == NULL)
        goto out;
    result = PyLong_AsLong(item);
    if (result == -1 && PyErr_Occurred())
        return NULL;
out:
    return PyLong_FromLong(result);
}
static PyMethodDef methods[] = {{\"f\", f, METH_O, NULL}, {NULL}};
"
    ), @"7: put the lookup in its own statement, and test its result for `NULL` (the checked call can fail where the macro could not)");
}

#[test]
fn jump_to_an_error() {
    insta::assert_snapshot!(all(
        "static PyObject *f(PyObject *self, PyObject *list)
{
    PyObject *item, *result = NULL;
    item = PyList_GET_ITEM(list, 0);
    if (item == NULL)
        goto out;
    result = PyNumber_Long(item);
out:
    return result;
}
static PyMethodDef methods[] = {{\"f\", f, METH_O, NULL}, {NULL}};
"
    ), @"
        @@
         {
             PyObject *item, *result = NULL;
        -    item = PyList_GET_ITEM(list, 0);
        +    item = PyList_GetItemRef(list, 0);
             if (item == NULL)
                 goto out;
             result = PyNumber_Long(item);
        +    Py_DECREF(item);
         out:
             return result;
        ");
}

#[test]
fn a_helper_clears_the_exception() {
    let exit = "+    if (item == NULL) {\n+        return NULL;\n";
    for (body, is_cleared) in [
        ("if (PyErr_Occurred()) PyErr_Clear();", true),
        (
            "PyErr_Clear(); PyErr_SetString(PyExc_TypeError, \"no\");",
            false,
        ),
    ] {
        let result = all(&format!(
            "static void clear_error(void) {{ {body} }}
PyObject *f(PyObject *list)
{{
    PyObject *item, *result;
    item = PyList_GET_ITEM(list, 0);
    result = PyNumber_Long(item);
    if (result == NULL) {{
        clear_error();
        return NULL;
    }}
    return result;
}}"
        ));
        assert_eq!(!result.contains(exit), is_cleared, "{result}");
    }
}

#[test]
fn jump_of_a_function_that_tells_of_nothing() {
    for (end, is_exit) in [("return;", false), ("PyErr_Print();", true)] {
        let result = all(&format!(
            "void f(PyObject *list, long *out)
{{
    PyObject *item = PyList_GET_ITEM(list, 0);
    if (item == NULL)
        goto out;
    *out = PyLong_AsLong(item);
    Py_INCREF(list);
    return;
out:
    {end}
}}"
        ));
        let is_as_is =
            result.contains("GetItemRef(list, 0);\n     if (item == NULL)\n         goto");
        assert_eq!(is_as_is, is_exit, "{result}");
    }
}

#[test]
fn test_behind_a_declaration() {
    let result = all("int f(PyObject *list)
{
    PyObject *item = PyList_GET_ITEM(list, 0);
    const char *name = NULL, *kind = \"item\";
    int result;
    if (!item)
        return -1;
    result = PyObject_IsTrue(item);
    if (result < 0)
        return -1;
    return result;
}");
    let lines = result.lines().filter(|line| line.starts_with('+'));
    let added: Vec<&str> = lines.collect();
    assert_eq!(
        added,
        [
            "+    PyObject *item = PyList_GetItemRef(list, 0);",
            "+    Py_DECREF(item);"
        ],
        "{result}"
    );
}
