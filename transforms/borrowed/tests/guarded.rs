//! Lookups behind `&&` or `||` in the condition of an `if`.

use super::{int, object, of};

#[test]
fn behind_or() {
    insta::assert_snapshot!(of("void",
        r#"
    if (i != 1 || !PyList_Check(PyList_GetItem(list, 0)))
        report("no list");
    else
        use(list);
"#
    ), @r#"
        @@
         static void f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (i != 1 || !PyList_Check(PyList_GetItem(list, 0)))
        +    int holds = i != 1;
        +    if (!holds) {
        +        PyObject *item = PyList_GetItemRef(list, 0);
        +        holds = !PyList_Check(item);
        +        Py_XDECREF(item);
        +    }
        +    if (holds)
                 report("no list");
             else
        "#);
}

#[test]
fn behind_or_and_and() {
    insta::assert_snapshot!(object(
        r#"
    if (PyObject_IsTrue(key) < 0)
        return NULL;
    if (!i || (i == 2 && PyList_Check(list) && Py_SIZE(PyList_GET_ITEM(list, 1)) == 3)) {
        Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    int holds;
             if (PyObject_IsTrue(key) < 0)
                 return NULL;
        -    if (!i || (i == 2 && PyList_Check(list) && Py_SIZE(PyList_GET_ITEM(list, 1)) == 3)) {
        +    holds = !i;
        +    if (!holds && i == 2 && PyList_Check(list)) {
        +        PyObject *item = PyList_GetItemRef(list, 1);
        +        if (item == NULL) {
        +            return NULL;
        +        }
        +        holds = Py_SIZE(item) == 3;
        +        Py_DECREF(item);
        +    }
        +    if (holds) {
                 Py_RETURN_TRUE;
             }
        ");
}

#[test]
fn a_pointer_and_a_number_decide() {
    insta::assert_snapshot!(int(
        r#"
    if (key && PyLong_Check(PyDict_GetItem(dict, key)))
        return 1;
    if (i && PyLong_Check(PyDict_GetItem(dict, self)))
        return 2;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (key && PyLong_Check(PyDict_GetItem(dict, key)))
        +    int holds2;
        +    int holds = key != NULL;
        +    if (holds) {
        +        PyObject *value;
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_Clear();
        +        }
        +        holds = PyLong_Check(value);
        +        Py_XDECREF(value);
        +    }
        +    if (holds)
                 return 1;
        -    if (i && PyLong_Check(PyDict_GetItem(dict, self)))
        +    holds2 = i != 0;
        +    if (holds2) {
        +        PyObject *value;
        +        if (PyDict_GetItemRef(dict, self, &value) < 0) {
        +            PyErr_Clear();
        +        }
        +        holds2 = PyLong_Check(value);
        +        Py_XDECREF(value);
        +    }
        +    if (holds2)
                 return 2;
             return 0;
        ");
}

#[test]
fn what_is_looked_at_is_needed_behind() {
    insta::assert_snapshot!(int(
        r#"
    const char *text;
    if (i && (text = PyUnicode_AsUTF8(PyList_GetItem(list, 0))) != NULL)
        return check(text);
    return 0;
"#
    ), @"
        4: a condition runs before the call in the same expression: give the lookup a statement of its own
        ");
}

#[test]
fn no_number_that_fits() {
    insta::assert_snapshot!(int(
        r#"
    if (i && PyLong_AsLong(PyList_GetItem(list, 0)))
        return 1;
    if (lookup(self) && PyList_Check(PyList_GetItem(list, 0)))
        return 2;
    while (i && PyList_Check(PyList_GetItem(list, 0)))
        i--;
    return 0;
"#
    ), @"
        3: a condition runs before the call in the same expression: give the lookup a statement of its own
        5: a condition runs before the call in the same expression: give the lookup a statement of its own
        7: the call is part of a loop's condition: move it into the body
        ");
}

#[test]
fn another_call_or_lookup_runs_before() {
    insta::assert_snapshot!(int(
        r#"
    if (i && check(self) == Py_SIZE(PyList_GetItem(list, 0)))
        return 1;
    if (i && Py_SIZE(PyList_GetItem(list, 1)) == Py_SIZE(PyList_GetItem(list, 0)))
        return 1;
    return 0;
"#
    ), @"
        3: a condition runs before the call in the same expression: give the lookup a statement of its own
        5: a condition runs before the call in the same expression: give the lookup a statement of its own
        5: a condition runs before the call in the same expression: give the lookup a statement of its own
        ");
}

#[test]
fn behind_else() {
    insta::assert_snapshot!(int(
        r#"
    if (i == 1)
        return 1;
    else if (i && PyList_Check(PyList_GetItem(list, 0)))
        return 2;
    return 0;
"#
    ), @"
        5: a condition runs before the call in the same expression: give the lookup a statement of its own
        ");
}

#[test]
fn what_stands_between_the_operands_would_get_lost() {
    insta::assert_snapshot!(int(
        r#"
    if (i != 1 || /* cheap first */ !PyList_Check(PyList_GetItem(list, 0)))
        return 1;
    if (i != 1 ||
#ifdef _WIN32
        i == -3 ||
#endif
        !PyList_Check(PyList_GetItem(list, 0)))
        return 1;
    return 0;
"#
    ), @"
        3: a condition runs before the call in the same expression: give the lookup a statement of its own
        9: a condition runs before the call in the same expression: give the lookup a statement of its own
        ");
}

#[test]
fn no_argument_is_added_behind_a_directive() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict,
#ifdef EXTRA
        Py_None
#else
        key
#endif
        );
    return v != NULL && PyList_Check(v);
"#
    ), @"
        3: the configurations that the branch at line 4 tells apart need different changes: change each branch by hand
        ");
}
