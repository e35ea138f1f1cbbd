//! Comments that a new reference makes false, or that are about a count which goes.

use super::{all, int, object};

#[test]
fn comments_that_call_the_reference_borrowed_go() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v;
    PyObject *w;   /* borrowed */

    /* Note: PyDict_GetItem returns a borrowed reference */
    v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return -1;
    i = use(v);
    v = NULL;   // no decref, we borrowed it
    /* The list is sorted. PyList_GetItem borrows a reference. */
    w = PyList_GetItem(list, i);   /* we don't own w */
    if (w == NULL)
        return -1;
    return use(w);
"#
    ), @"
        @@
         {
             PyObject *v;
        -    PyObject *w;   /* borrowed */
        +    PyObject *w;
        +    int result;
         
        -    /* Note: PyDict_GetItem returns a borrowed reference */
        -    v = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &v);
             if (v == NULL)
                 return -1;
             i = use(v);
        -    v = NULL;   // no decref, we borrowed it
        -    /* The list is sorted. PyList_GetItem borrows a reference. */
        -    w = PyList_GetItem(list, i);   /* we don't own w */
        +    Py_DECREF(v);
        +    v = NULL;
        +    /* The list is sorted. */
        +    w = PyList_GetItemRef(list, i);
             if (w == NULL)
                 return -1;
        -    return use(w);
        +    result = use(w);
        +    Py_DECREF(w);
        +    return result;
         }
        ");
}

#[test]
fn marks_for_a_linter_go_with_the_call() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *w = PyList_GetItem(list, i);  // noqa: borrowed-ref - manual fix needed
    if (w == NULL)
        return -1;
    i = use(w);
    return i;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *w = PyList_GetItem(list, i);  // noqa: borrowed-ref - manual fix needed
        +    PyObject *w = PyList_GetItemRef(list, i);
             if (w == NULL)
                 return -1;
             i = use(w);
        +    Py_DECREF(w);
             return i;
         }
        ");
}

#[test]
fn so_do_those_beside_the_uses_of_the_variable() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);   /* borrowed: do not release */
    PyObject *w = PyTuple_GET_ITEM(self, 1);
    if (v == NULL)
        return -1;
    /* `v' is borrowed, so no Py_DECREF is needed here */
    i = use(v);
    i += both(v, w);   /* borrowed */
    return i;
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *v = PyDict_GetItemWithError(dict, key);   /* borrowed: do not release */
    -    PyObject *w = PyTuple_GET_ITEM(self, 1);
    +    PyObject *v;
    +    PyObject *w;
    +    (void)PyDict_GetItemRef(dict, key, &v);
    +    w = PyTuple_GET_ITEM(self, 1);
         if (v == NULL)
             return -1;
    -    /* `v' is borrowed, so no Py_DECREF is needed here */
         i = use(v);
         i += both(v, w);   /* borrowed */
    +    Py_DECREF(v);
         return i;
     }
    ");
    let result = super::all(
        "
static PyObject *get(PyObject *dict, PyObject *key)
{
    PyObject *v = PyDict_GetItemWithError(dict, key);
    return v; /* borrowed */
}
static PyObject *f(PyObject *dict, PyObject *key)
{
    PyObject *v = get(dict, key);
    return v == NULL ? NULL : PyObject_Repr(v);
}",
    );
    assert!(result.contains("-    return v; /* borrowed */"), "{result}");
}

#[test]
fn comments_that_stay_true_stay() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *w;   /* borrowed, but for the last one */
    PyObject *v = PyTuple_GET_ITEM(self, 0);   /* borrowed */

    use(v);
    /* The item of a tuple is borrowed. */
    w = PyTuple_GET_ITEM(self, 1);
    i = use(w);

    /* Borrowed from the sources of Python: */
    w = PyList_GetItem(list, i);
    if (w == NULL)
        return -1;
    return use(w);
"#
    ), @"
        @@
             PyObject *w;   /* borrowed, but for the last one */
             PyObject *v = PyTuple_GET_ITEM(self, 0);   /* borrowed */
        +    int result;
         
             use(v);
        @@
         
             /* Borrowed from the sources of Python: */
        -    w = PyList_GetItem(list, i);
        +    w = PyList_GetItemRef(list, i);
             if (w == NULL)
                 return -1;
        -    return use(w);
        +    result = use(w);
        +    Py_DECREF(w);
        +    return result;
         }
        ");
}

#[test]
fn a_comment_on_a_count_goes_with_it() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL) {
        v = PyList_New(0);
        if (v == NULL)
            return NULL;
        i = PyDict_SetItem(dict, key, v);

        Py_DECREF(v);   /* there is still a ref in the dict */
        if (i < 0)
            return NULL;
    }

    /* Hang on to a reference for the caller. */
    Py_INCREF(v);

    return v;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        +    PyObject *v;
        +    (void)PyDict_GetItemRef(dict, key, &v);
             if (v == NULL) {
                 v = PyList_New(0);
        @@
                 i = PyDict_SetItem(dict, key, v);
         
        -        Py_DECREF(v);   /* there is still a ref in the dict */
        -        if (i < 0)
        +        if (i < 0) {
        +            Py_DECREF(v);
                     return NULL;
        +        }
             }
        -
        -    /* Hang on to a reference for the caller. */
        -    Py_INCREF(v);
         
             return v;
        ");
}

#[test]
fn comments_that_name_the_variable_go_wherever_they_stand() {
    insta::assert_snapshot!(all(
        r#"
static PyObject *tag_class(void)
{
    PyObject *module = PyImport_ImportModule("tags");
    PyObject *moddict = PyModule_GetDict(module);
    PyObject *tag = PyDict_GetItemString(moddict, "Tag");
    // moddict and tag are 'borrowed reference'
    Py_DECREF(module);
    return tag;
}

static int is_tag(PyObject *self, PyObject *v, int strict)
{
    if (strict) {
        PyObject *tag = tag_class();
        int is = PyObject_IsInstance(v, tag);

        // tag was just a borrowed reference
        return is;
    }
    /* what the caller borrowed stays with it */
    return PyLong_Check(v);
}
"#
    ), @r#"
    @@
         PyObject *module = PyImport_ImportModule("tags");
         PyObject *moddict = PyModule_GetDict(module);
    -    PyObject *tag = PyDict_GetItemString(moddict, "Tag");
    +    PyObject *tag;
    +    if (PyDict_GetItemStringRef(moddict, "Tag", &tag) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         // moddict and tag are 'borrowed reference'
         Py_DECREF(module);
    @@
             PyObject *tag = tag_class();
             int is = PyObject_IsInstance(v, tag);
    +        Py_XDECREF(tag);
     
    -        // tag was just a borrowed reference
             return is;
         }
    "#);
}
