//! Functions with two lookups of one item in, findings out.

use super::ITEM_LOOKED_UP_AGAIN;
use crate::testing::report;

#[test]
fn items_that_are_used_as_an_earlier_lookup_found_them_are_told() {
    insta::assert_snapshot!(report(&ITEM_LOOKED_UP_AGAIN, r#"
static PyObject *join(PyObject *module, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list), size = 0;
    char *text;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GetItemRef(list, i);
        if (!PyBytes_Check(item))
            return NULL;
        size += PyBytes_GET_SIZE(item);
        Py_DECREF(item);
    }
    text = PyMem_Malloc(size);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GetItemRef(list, i);
        memcpy(text, PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item));
        text += PyBytes_GET_SIZE(item);
        Py_DECREF(item);
    }
    return finish(text, size);
}
static PyObject *lengths(PyObject *module, PyObject *list)
{
    Py_ssize_t i = 0, n = PyList_GET_SIZE(list), size = 0;
    while (i < n) {
        size += PyBytes_GET_SIZE(PyList_GetItem(list, i));
        i++;
    }
    char *text = PyMem_Malloc(size);
    for (i = 0; i < n; i++)
        strcat(text, PyBytes_AS_STRING(PyList_GetItem(list, i)));
    return finish(text, size);
}
static PyMethodDef methods[] = {
    {"join", join, METH_O, NULL}, {"lengths", lengths, METH_O, NULL}, {NULL}
};
"#), @"
        15: this may be another object than the one whose type was tested
          8: tested here, with the result of an earlier lookup
          by hand: keep a strong reference to the first result until here; or use a copy that no other thread has for both lookups (`PySequence_Tuple`, `PyDict_Copy`)
        31: this may be another object than the one that was measured
          26: measured here, with the result of an earlier lookup
          by hand: keep a strong reference to the first result until here; or use a copy that no other thread has for both lookups (`PySequence_Tuple`, `PyDict_Copy`)
        ");
}

#[test]
fn items_of_a_type_and_items_that_were_there_are_told() {
    insta::assert_snapshot!(report(&ITEM_LOOKED_UP_AGAIN, r#"
typedef struct { PyObject_HEAD PyObject *modes; } Table;
typedef struct { PyObject_HEAD double x; } Point;
static PyObject *nearest(PyObject *module, PyObject *points)
{
    if (!PyObject_TypeCheck(PyList_GetItem(points, 0), &Point_Type))
        return NULL;
    return PyFloat_FromDouble(((Point *)PyList_GetItem(points, 0))->x);
}
static PyObject *mode(Table *self, PyObject *name)
{
    PyObject *found = NULL;
    if (PyDict_Contains(self->modes, name)) {
        found = PyDict_GetItem(self->modes, name);
        Py_INCREF(found);
    }
    return found;
}
static PyMethodDef methods[] = {
    {"nearest", nearest, METH_O, NULL}, {"mode", (PyCFunction)mode, METH_O, NULL}, {NULL}
};
"#), @"
        8: this may be another object than the one whose type was tested
          6: tested here, with the result of an earlier lookup
          by hand: keep a strong reference to the first result until here; or use a copy that no other thread has for both lookups (`PySequence_Tuple`, `PyDict_Copy`)
        14: this may no longer exist, although an earlier lookup found it
          13: found here by an earlier lookup
          by hand: keep a strong reference to the first result until here; or use a copy that no other thread has for both lookups (`PySequence_Tuple`, `PyDict_Copy`)
        ");
}

#[test]
fn items_that_are_tested_where_they_are_used_or_another_are_not_told() {
    assert_eq!(
        report(
            &ITEM_LOOKED_UP_AGAIN,
            r#"
static PyObject *tested_again(PyObject *module, PyObject *list)
{
    if (!PyBytes_Check(PyList_GetItem(list, 0)))
        return NULL;
    PyObject *item = PyList_GetItem(list, 0);
    return PyBytes_Check(item) ? use(PyBytes_AS_STRING(item)) : NULL;
}
static PyObject *in_one_statement(PyObject *module, PyObject *list)
{
    return PyBytes_Check(PyList_GetItem(list, 0)) ? use(PyBytes_AS_STRING(PyList_GetItem(list, 0))) : NULL;
}
static PyObject *one_or_the_other(PyObject *module, PyObject *list)
{
    if (list == Py_None) {
        if (!PyBytes_Check(PyList_GetItem(list, 0)))
            return NULL;
    } else {
        use(PyBytes_AS_STRING(PyList_GetItem(list, 0)));
    }
    Py_RETURN_NONE;
}
static PyObject *the_next(PyObject *module, PyObject *list)
{
    Py_ssize_t i;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        if (!PyBytes_Check(PyList_GetItem(list, i)))
            return NULL;
        i++;
        use(PyBytes_AS_STRING(PyList_GetItem(list, i)));
    }
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {
    {"a", tested_again, METH_O, NULL}, {"b", in_one_statement, METH_O, NULL},
    {"c", one_or_the_other, METH_O, NULL}, {"d", the_next, METH_O, NULL}, {NULL}
};
"#
        ),
        ""
    );
}

#[test]
fn items_that_are_put_there_or_asked_for_again_are_not_told() {
    assert_eq!(
        report(
            &ITEM_LOOKED_UP_AGAIN,
            r#"
static PyObject *put_there(PyObject *module, PyObject *dict)
{
    if (PyDict_GetItemString(dict, "seen") == NULL)
        PyDict_SetItemString(dict, "seen", Py_True);
    return Py_NewRef(PyDict_GetItemString(dict, "seen"));
}
static PyObject *asked(PyObject *module, PyObject *dict)
{
    PyObject *v = NULL;
    if (PyDict_GetItemString(dict, "v"))
        v = PyDict_GetItemString(dict, "v");
    if (v == NULL)
        return NULL;
    return Py_NewRef(v);
}
static PyObject *missed(PyObject *module, PyObject *dict)
{
    PyObject *v = PyDict_GetItemString(dict, "v");
    if (v == NULL) {
        PyDict_Merge(dict, defaults, 1);
        v = PyDict_GetItemString(dict, "v");
        Py_INCREF(v);
    }
    return v;
}
static PyObject *cases(PyObject *module, PyObject *list)
{
    switch (kind) {
    case 1:
        if (!PyBytes_Check(PyList_GetItem(list, 0)))
            return NULL;
        break;
    case 2:
        use(PyBytes_AS_STRING(PyList_GetItem(list, 0)));
        break;
    }
    Py_RETURN_NONE;
}
static PyObject *checked_call(PyObject *module, PyObject *list)
{
    if (!PyFloat_Check(PyList_GetItem(list, 0)))
        return NULL;
    return PyNumber_Negative(PyList_GetItem(list, 0));
}
static PyMethodDef methods[] = {
    {"e", put_there, METH_O, NULL}, {"f", asked, METH_O, NULL}, {"g", checked_call, METH_O, NULL},
    {"h", missed, METH_O, NULL}, {"i", cases, METH_O, NULL},
    {NULL}
};
"#
        ),
        ""
    );
}
