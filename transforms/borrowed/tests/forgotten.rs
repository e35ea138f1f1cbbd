//! References that the code took, and does not release on some path.

use super::{all, int, object};

#[test]
fn an_exit_that_forgot_the_reference_releases_it() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *last = PyList_GetItem(list, i);
    Py_XINCREF(last);
    if (last)
        if (PyList_SetSlice(list, i, i + 1, NULL) < 0)
            return NULL;
    return last;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *last = PyList_GetItem(list, i);
        -    Py_XINCREF(last);
        +    PyObject *last = PyList_GetItemRef(list, i);
             if (last)
        -        if (PyList_SetSlice(list, i, i + 1, NULL) < 0)
        +        if (PyList_SetSlice(list, i, i + 1, NULL) < 0) {
        +            Py_DECREF(last);
                     return NULL;
        +        }
             return last;
         }
        ");
}

#[test]
fn a_loop_that_forgot_the_reference_releases_it() {
    insta::assert_snapshot!(int(
        r#"
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        Py_INCREF(item);
        if (PyDict_SetItem(dict, item, Py_None) < 0) {
            Py_DECREF(item);
            return -1;
        }
    }
    return 0;
"#
    ), @"
        @@
         {
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        Py_INCREF(item);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            return -1;
        +        }
                 if (PyDict_SetItem(dict, item, Py_None) < 0) {
                     Py_DECREF(item);
                     return -1;
                 }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

/// It may be there to keep the object alive for ever.
#[test]
fn what_is_never_released_stays_so() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    Py_INCREF(item);
    return PyUnicode_FromFormat("%p", item);
"#
    ), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return NULL;
        -    Py_INCREF(item);
             return PyUnicode_FromFormat("%p", item);
         }
        "#);
}

/// The function that calls this, with the object in `item`, and forgets its reference on one path.
fn forgets_after(call: &str) -> String {
    object(&format!(
        r#"
    PyObject *token = NULL, *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    Py_INCREF(item);
    {call};
    if (PyErr_Occurred())
        return token;
    Py_DECREF(item);
    Py_RETURN_NONE;
"#
    ))
}

/// What got the object may count on the reference.
#[test]
fn what_others_may_have_stays_so() {
    let releases = |call| forgets_after(call).contains("+        Py_DECREF(item);");
    assert!(releases("PyObject_Hash(item)"));
    assert!(releases(
        "token = PyUnicode_FromString(PyBytes_AS_STRING(item))"
    ));
    for call in [
        "start(item)",
        "PyThread_start_new_thread(run, item)",
        "token = PyCapsule_New(item, NULL, NULL)",
        "token = PyWeakref_NewRef(item, NULL)",
        "token = PyLong_FromSsize_t((Py_ssize_t)item)",
        "putenv(PyBytes_AS_STRING(item))",
        "token = PyMemoryView_FromMemory(PyBytes_AS_STRING(item), 1, PyBUF_READ)",
        "token = PyCFunction_New((PyMethodDef *)PyBytes_AS_STRING(item), NULL)",
    ] {
        assert!(!releases(call), "{call}");
    }
}

#[test]
fn one_that_was_made_in_its_place_is_released_as_well() {
    insta::assert_snapshot!(int(
        r"
    PyObject *text = PyDict_GetItemWithError(dict, key);
    if (text != NULL) {
        Py_INCREF(text);
    }
    else {
        text = PyObject_Str(key);
        if (text == NULL) {
            return -1;
        }
    }
    if (PyList_Append(list, text) < 0) {
        return -1;
    }
    Py_DECREF(text);
    return 0;"
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *text = PyDict_GetItemWithError(dict, key);
        -    if (text != NULL) {
        -        Py_INCREF(text);
        -    }
        -    else {
        +    PyObject *text;
        +    (void)PyDict_GetItemRef(dict, key, &text);
        +    if (text == NULL) {
                 text = PyObject_Str(key);
                 if (text == NULL) {
        @@
             }
             if (PyList_Append(list, text) < 0) {
        +        Py_DECREF(text);
                 return -1;
             }
        ");
}

/// `None` is released by its own name.
#[test]
fn none_is_not_forgotten() {
    insta::assert_snapshot!(object(
        r"
    PyObject *result = PyDict_GetItemWithError(dict, key);
    if (result == NULL) {
        result = PyObject_Str(key);
        if (result == NULL) {
            return NULL;
        }
    }
    else {
        Py_INCREF(result);
    }
    if (result == Py_None && self != NULL) {
        Py_DECREF(Py_None);
        Py_INCREF(self);
        return self;
    }
    return result;"
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *result = PyDict_GetItemWithError(dict, key);
        +    PyObject *result;
        +    (void)PyDict_GetItemRef(dict, key, &result);
             if (result == NULL) {
                 result = PyObject_Str(key);
        @@
                     return NULL;
                 }
        -    }
        -    else {
        -        Py_INCREF(result);
             }
             if (result == Py_None && self != NULL) {
        ");
}

#[test]
fn a_call_that_gives_the_result_is_the_same_with_another_number() {
    insta::assert_snapshot!(all(
        "#ifdef TRACE
#define LEAVE(result) leave(&here, (result))
#else
#define LEAVE(result) (result)
#endif
static int f(PyObject *list, PyObject *key, Py_ssize_t i)
{
    PyObject *item;
    if (key == NULL) {
        PyErr_SetString(PyExc_TypeError, \"no key\");
        return LEAVE(-1);
    }
    item = PyList_GET_ITEM(list, i);
    use(item);
    return LEAVE(0);
}
"
    ), @"
        @@
                 return LEAVE(-1);
             }
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return LEAVE(-1);
        +    }
             use(item);
        +    Py_DECREF(item);
             return LEAVE(0);
         }
        ");
}
