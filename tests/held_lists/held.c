/* Reads of lists in functions that cannot tell a failure. C89. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define LIMIT 64

typedef struct {
    Py_ssize_t count;
    PyObject *children[LIMIT];
} Node;

/* Two loops that go by one size, and an exit between the size and them. */
static int
kind_of(PyObject *list, int *kind)
{
    Py_ssize_t i, n;
    int is_number = 1, is_text = 1;

    n = PyList_GET_SIZE(list);
    if (n == 0) {
        *kind = 9;
        return 1;
    }
    for (i = 0; i < n && is_number; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (item != Py_None && !PyNumber_Check(item))
            is_number = 0;
    }
    for (i = 0; i < n && is_text; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (item != Py_None && !PyUnicode_Check(item))
            is_text = 0;
    }
    *kind = is_number + 2 * is_text;
    return 0;
}

static PyObject *
t_kind(PyObject *self, PyObject *args)
{
    PyObject *list;
    int kind = 0, is_empty;

    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &list))
        return NULL;
    is_empty = kind_of(list, &kind);
    return Py_BuildValue("ii", is_empty, kind);
}

/* The size is asked for each time; comparisons run Python code. */
static Py_ssize_t
find(PyObject *list, PyObject *object)
{
    Py_ssize_t i;

    for (i = 0; i < Py_SIZE(list); i++) {
        int found;
        PyObject *item = PyList_GET_ITEM(list, i);
        Py_INCREF(item);
        found = PyObject_RichCompareBool(item, object, Py_EQ);
        Py_DECREF(item);
        if (found != 0) {
            if (found > 0)
                return i;
            else
                return -2;
        }
    }
    return -1;
}

static PyObject *
t_find(PyObject *self, PyObject *args)
{
    PyObject *list;
    Py_ssize_t at;

    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &list))
        return NULL;
    at = find(list, Py_None);
    if (at == -2)
        return NULL;
    return PyLong_FromSsize_t(at);
}

/* As many references as the list has items, in room for so many. */
static int
fill(Node *node, PyObject *list)
{
    Py_ssize_t i;

    if (PyList_GET_SIZE(list) > LIMIT) {
        PyErr_SetString(PyExc_ValueError, "too many items");
        return -1;
    }
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *child = PyList_GET_ITEM(list, i);
        node->children[i] = child;
        Py_INCREF(child);
    }
    node->count = PyList_GET_SIZE(list);
    return 0;
}

static PyObject *
t_fill(PyObject *self, PyObject *args)
{
    PyObject *list;
    Node node;
    Py_ssize_t i;

    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &list))
        return NULL;
    if (fill(&node, list) < 0)
        return NULL;
    for (i = 0; i < node.count; i++)
        Py_DECREF(node.children[i]);
    return PyLong_FromSsize_t(node.count);
}

static PyMethodDef methods[] = {
    {"kind", t_kind, METH_VARARGS, NULL},
    {"find", t_find, METH_VARARGS, NULL},
    {"fill", t_fill, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "held", NULL, -1, methods, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC
PyInit_held(void)
{
    return PyModule_Create(&module);
}
