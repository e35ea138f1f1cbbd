//! Lookups that only ask whether a key is there.

use super::int;
use crate::testing::run_triaged;
use crate::transforms::borrowed::dict_item::BORROWED_DICT_ITEM;

/// The function with a dict for sure, after the rule and triage.
fn sure(body: &str) -> String {
    let text = format!(
        "static int f(PyObject *self, PyObject *args, PyObject *key, int i)\n{{\n    PyObject \
         *dict;\n    if (!PyArg_ParseTuple(args, \"O!\", &PyDict_Type, &dict))\n        return \
         -1;\n{}\n}}\n",
        body.trim_matches('\n')
    );
    run_triaged(&BORROWED_DICT_ITEM, &text)
}

#[test]
fn errors_that_stay_set_need_no_statement() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_GetItemWithError(dict, key))
        return 1;
    if (PyDict_GetItemWithError(dict, key) == NULL)
        return 2;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (PyDict_GetItemWithError(dict, key))
        +    PyObject *value2;
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
        +    if (value) {
        +        Py_DECREF(value);
                 return 1;
        -    if (PyDict_GetItemWithError(dict, key) == NULL)
        +    }
        +    (void)PyDict_GetItemRef(dict, key, &value2);
        +    if (value2 == NULL)
                 return 2;
        +    Py_DECREF(value2);
             return 0;
         }
        ");
}

#[test]
fn errors_are_cleared_in_front_of_the_statement() {
    insta::assert_snapshot!(sure(
        r#"
    if (PyDict_GetItem(dict, key))
        return 1;
    if (!PyDict_GetItemString(dict, "x")) {
        return 2;
    }
    return 0;
"#
    ), @r#"
        6: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: ask only whether the key is there: `PyDict_Contains`
        8: `PyDict_GetItemString` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: ask only whether the key is there: `PyDict_ContainsString`
        @@
         {
             PyObject *dict;
        +    int found;
        +    int found2;
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    if (PyDict_GetItem(dict, key))
        +    found = PyDict_Contains(dict, key);
        +    if (found < 0) {
        +        PyErr_Clear();
        +    }
        +    if (found == 1)
                 return 1;
        -    if (!PyDict_GetItemString(dict, "x")) {
        +    found2 = PyDict_ContainsString(dict, "x");
        +    if (found2 < 0) {
        +        PyErr_Clear();
        +    }
        +    if (found2 != 1) {
                 return 2;
             }
        "#);
}

#[test]
fn values_and_returns() {
    insta::assert_snapshot!(sure(
        r#"
    i = PyDict_GetItem(dict, key) != NULL;
    use(i);
    return PyDict_GetItem(dict, key) == NULL;
"#
    ), @r#"
        6: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: ask only whether the key is there: `PyDict_Contains`
        8: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: ask only whether the key is there: `PyDict_Contains`
        @@
         {
             PyObject *dict;
        +    int found;
        +    int found2;
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    i = PyDict_GetItem(dict, key) != NULL;
        +    found = PyDict_Contains(dict, key);
        +    if (found < 0) {
        +        PyErr_Clear();
        +    }
        +    i = found == 1;
             use(i);
        -    return PyDict_GetItem(dict, key) == NULL;
        +    found2 = PyDict_Contains(dict, key);
        +    if (found2 < 0) {
        +        PyErr_Clear();
        +    }
        +    return found2 != 1;
         }
        "#);
}

#[test]
fn behind_a_condition_an_error_may_stay() {
    insta::assert_snapshot!(sure(
        r#"
    if (i && !PyDict_GetItemString(dict, "x"))
        return 3;
    while (PyDict_GetItem(dict, key) == NULL)
        use(dict);
    assert(PyDict_GetItem(dict, key) != NULL);
    return 0;
"#
    ), @r#"
        6: `PyDict_GetItemString` gives a borrowed reference out of an argument of the caller: another thread can free it
          review: ask only whether the key is there: `PyDict_ContainsString`
          assumes that an error of the key's hash or comparison, which the old call cleared, may stay set
        8: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          review: ask only whether the key is there: `PyDict_Contains`
          assumes that an error of the key's hash or comparison, which the old call cleared, may stay set
        10: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          review: ask only whether the key is there: `PyDict_Contains`
          assumes that an error of the key's hash or comparison, which the old call cleared, may stay set
        @@
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    if (i && !PyDict_GetItemString(dict, "x"))
        +    if (i && PyDict_ContainsString(dict, "x") != 1)
                 return 3;
        -    while (PyDict_GetItem(dict, key) == NULL)
        +    while (PyDict_Contains(dict, key) != 1)
                 use(dict);
        -    assert(PyDict_GetItem(dict, key) != NULL);
        +    assert(PyDict_Contains(dict, key) == 1);
             return 0;
         }
        "#);
}

#[test]
fn each_answer_has_a_variable_of_its_own() {
    insta::assert_snapshot!(sure(
        r#"
    if (i) {
        if (PyDict_GetItem(dict, key))
            i = 0;
        if (PyDict_GetItem(dict, args))
            i = 1;
    }
    return i;
"#
    ), @"
        7: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: ask only whether the key is there: `PyDict_Contains`
        9: `PyDict_GetItem` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: ask only whether the key is there: `PyDict_Contains`
        @@
                 return -1;
             if (i) {
        -        if (PyDict_GetItem(dict, key))
        +        int found2;
        +        int found = PyDict_Contains(dict, key);
        +        if (found < 0) {
        +            PyErr_Clear();
        +        }
        +        if (found == 1)
                     i = 0;
        -        if (PyDict_GetItem(dict, args))
        +        found2 = PyDict_Contains(dict, args);
        +        if (found2 < 0) {
        +            PyErr_Clear();
        +        }
        +        if (found2 == 1)
                     i = 1;
             }
        ");
}
