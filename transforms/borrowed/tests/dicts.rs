//! Dict values: error behaviour and shapes of the call.

use super::{int, object};

#[test]
fn swallowed_errors_are_reported() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    value = PyDict_GetItem(dict, key);
    if (value == NULL)
        return 0;
    use(value);
    return 1;
"#
    ), @"
        @@
         {
             PyObject *value;
        -    value = PyDict_GetItem(dict, key);
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (value == NULL)
                 return 0;
             use(value);
        +    Py_DECREF(value);
             return 1;
         }
        ");
}

#[test]
fn raised_errors_stay() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        if (PyErr_Occurred())
            return -1;
        return 0;
    }
    use(value);
    return 1;
"#
    ), @"
        @@
         {
             PyObject *value;
        -    value = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 if (PyErr_Occurred())
        @@
             }
             use(value);
        +    Py_DECREF(value);
             return 1;
         }
        ");
}

#[test]
fn initialised_at_the_top() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItemString(dict, "x");
    int n = 0;
    if (value != NULL)
        n = check(value);
    return n;
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemString(dict, "x");
        +    PyObject *value;
             int n = 0;
        -    if (value != NULL)
        +    if (PyDict_GetItemStringRef(dict, "x", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (value != NULL) {
                 n = check(value);
        +        Py_DECREF(value);
        +    }
             return n;
         }
        "#);
}

#[test]
fn initialised_before_a_call() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItemString(dict, "x");
    int n = count();
    if (value && n)
        use(value);
    return n;
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemString(dict, "x");
        -    int n = count();
        +    PyObject *value;
        +    int n;
        +    if (PyDict_GetItemStringRef(dict, "x", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    n = count();
             if (value && n)
                 use(value);
        +    Py_XDECREF(value);
             return n;
         }
        "#);
}

#[test]
fn swallowed_in_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    if ((value = PyDict_GetItem(dict, key)) != NULL) {
        use(value);
    }
    return 0;
"#
    ), @"
        @@
         {
             PyObject *value;
        -    if ((value = PyDict_GetItem(dict, key)) != NULL) {
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (value != NULL) {
                 use(value);
        +        Py_DECREF(value);
             }
             return 0;
        ");
}

#[test]
fn raised_in_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    if (i && (value = PyDict_GetItemWithError(dict, key)) != NULL) {
        use(value);
    }
    return 0;
"#
    ), @"
        @@
         {
             PyObject *value;
        -    if (i && (value = PyDict_GetItemWithError(dict, key)) != NULL) {
        +    if (i && PyDict_GetItemRef(dict, key, &value) > 0) {
                 use(value);
        +        Py_DECREF(value);
             }
             return 0;
        ");
}

#[test]
fn in_a_body_without_braces() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = NULL;
    if (i)
        value = PyDict_GetItem(dict, key);
    else
        value = PyDict_GetItemString(dict, "x");
    if (value)
        use(value);
    return 0;
"#
    ), @r#"
        @@
         {
             PyObject *value = NULL;
        -    if (i)
        -        value = PyDict_GetItem(dict, key);
        -    else
        -        value = PyDict_GetItemString(dict, "x");
        -    if (value)
        +    if (i) {
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +    }
        +    else {
        +        if (PyDict_GetItemStringRef(dict, "x", &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +    }
        +    if (value) {
                 use(value);
        +        Py_DECREF(value);
        +    }
             return 0;
         }
        "#);
}

#[test]
fn default_is_owned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItem(dict, key);
    if (value == NULL)
        value = Py_None;
    Py_INCREF(value);
    return value;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItem(dict, key);
        +    PyObject *value;
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (value == NULL)
        -        value = Py_None;
        -    Py_INCREF(value);
        +        value = Py_NewRef(Py_None);
             return value;
         }
        ");
}

#[test]
fn create_if_missing() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        value = PyList_New(0);
        if (value == NULL)
            return -1;
        if (PyDict_SetItem(dict, key, value) < 0) {
            Py_DECREF(value);
            return -1;
        }
        Py_DECREF(value);
    }
    return PyList_Append(value, self);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    int result;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 value = PyList_New(0);
        @@
                     return -1;
                 }
        -        Py_DECREF(value);
             }
        -    return PyList_Append(value, self);
        +    result = PyList_Append(value, self);
        +    Py_DECREF(value);
        +    return result;
         }
        ");
}

#[test]
fn set_default() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_SetDefault(dict, key, self);
    if (value == NULL)
        return -1;
    use(value);
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_SetDefault(dict, key, self);
        +    PyObject *value;
        +    (void)PyDict_SetDefaultRef(dict, key, self, &value);
             if (value == NULL)
                 return -1;
             use(value);
        +    Py_DECREF(value);
             return 0;
         }
        ");
}

#[test]
fn module_and_its_dict() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *m, *d, *v;
    m = PyImport_AddModule("__main__");
    if (m == NULL)
        return NULL;
    d = PyModule_GetDict(m);
    v = PyRun_String("1", Py_eval_input, d, d);
    return v;
"#
    ), @r#"
        @@
         {
             PyObject *m, *d, *v;
        -    m = PyImport_AddModule("__main__");
        +    m = PyImport_AddModuleRef("__main__");
             if (m == NULL)
                 return NULL;
             d = PyModule_GetDict(m);
             v = PyRun_String("1", Py_eval_input, d, d);
        +    Py_DECREF(m);
             return v;
         }
        "#);
}

#[test]
fn cell() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyCell_GET(self);
    if (value == NULL)
        return 0;
    return check(value);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyCell_GET(self);
        +    PyObject *value = PyCell_Get(self);
        +    int result;
             if (value == NULL)
                 return 0;
        -    return check(value);
        +    result = check(value);
        +    Py_DECREF(value);
        +    return result;
         }
        ");
}

#[test]
fn nested_dict_lookup() {
    insta::assert_snapshot!(int(
        r#"
    use(PyDict_GetItem(dict, key));
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    use(PyDict_GetItem(dict, key));
        +    PyObject *value;
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    use(value);
        +    Py_XDECREF(value);
             return 0;
         }
        ");
}

#[test]
fn default_parameter_is_owned_and_released() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    value = PyDict_GetItem(dict, key);
    if (!value) {
        value = key;
    }
    if (use(value) == -1)
        return -1;
    return 0;
"#
    ), @"
        @@
         {
             PyObject *value;
        -    value = PyDict_GetItem(dict, key);
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (!value) {
        -        value = key;
        +        value = Py_XNewRef(key);
             }
        -    if (use(value) == -1)
        +    if (use(value) == -1) {
        +        Py_XDECREF(value);
                 return -1;
        +    }
        +    Py_XDECREF(value);
             return 0;
         }
        ");
}

#[test]
fn a_loop_over_a_dict_has_the_variable_for_itself() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *k, *v;
    Py_ssize_t pos = 0;
    int n = 0;
    while (PyDict_Next(self, &pos, &k, &v))
        n += v == Py_None;
    v = PyDict_GetItem(dict, key);
    if (v == NULL)
        return 0;
    return n + PyObject_IsTrue(v);
"#
    ), @"
        @@
             Py_ssize_t pos = 0;
             int n = 0;
        +    int result;
        +    Py_BEGIN_CRITICAL_SECTION(self);
             while (PyDict_Next(self, &pos, &k, &v))
                 n += v == Py_None;
        -    v = PyDict_GetItem(dict, key);
        +    Py_END_CRITICAL_SECTION();
        +    if (PyDict_GetItemRef(dict, key, &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v == NULL)
                 return 0;
        -    return n + PyObject_IsTrue(v);
        +    result = n + PyObject_IsTrue(v);
        +    Py_DECREF(v);
        +    return result;
         }
        ");
    // `fill` may have kept the address.
    insta::assert_snapshot!(int(
        r#"
    PyObject *v;
    fill(self, &v);
    v = PyDict_GetItem(dict, key);
    if (v == NULL)
        return 0;
    return PyObject_IsTrue(v);
"#
    ), @"5: use a separate variable for the lookup (other code may read or replace `v`, because its address is passed on)");
}

#[test]
fn a_value_that_was_put_in_is_there() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v;
    if (!(v = PyDict_GetItemWithError(dict, key))) {
        if (PyErr_Occurred() || !(v = PyDict_SetDefault(dict, key, key)))
            return NULL;
    }
    return PyObject_Repr(v);
"#
    ), @r#"
    @@
     {
         PyObject *v;
    -    if (!(v = PyDict_GetItemWithError(dict, key))) {
    -        if (PyErr_Occurred() || !(v = PyDict_SetDefault(dict, key, key)))
    +    PyObject *result;
    +    if (PyDict_GetItemRef(dict, key, &v) <= 0) {
    +        if (PyErr_Occurred() || PyDict_SetDefaultRef(dict, key, key, &v) < 0)
                 return NULL;
         }
    -    return PyObject_Repr(v);
    +    result = PyObject_Repr(v);
    +    Py_DECREF(v);
    +    return result;
     }
    "#);
    insta::assert_snapshot!(object(
        r#"
    PyObject *v;
    if (key && (v = PyDict_SetDefault(dict, key, key)))
        return PyObject_Repr(v);
    return NULL;
"#
    ), @r#"
    @@
     {
         PyObject *v;
    -    if (key && (v = PyDict_SetDefault(dict, key, key)))
    -        return PyObject_Repr(v);
    +    if (key && (PyDict_SetDefaultRef(dict, key, key, &v) >= 0)) {
    +        PyObject *result = PyObject_Repr(v);
    +        Py_DECREF(v);
    +        return result;
    +    }
         return NULL;
     }
    "#);
}
