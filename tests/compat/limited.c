#define Py_LIMITED_API 0x03090000
#include <Python.h>

static PyObject *
total(PyObject *self, PyObject *args)
{
    PyObject *dict, *names, *key, *value, *item, *sum;
    Py_ssize_t i, pos = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &dict, &PyList_Type, &names))
        return NULL;
    sum = PyLong_FromLong(0);
    if (sum == NULL)
        return NULL;
    for (i = 0; i < PyList_Size(names); i++) {
        PyObject *name = PyList_GetItem(names, i);
        PyObject *next;
        if (name == NULL) {
            Py_DECREF(sum);
            return NULL;
        }
        value = PyDict_GetItemWithError(dict, name);
        if (value == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetObject(PyExc_KeyError, name);
            Py_DECREF(sum);
            return NULL;
        }
        next = PyNumber_Add(sum, value);
        Py_DECREF(sum);
        if (next == NULL)
            return NULL;
        sum = next;
    }
    i = 0;
    while (PyDict_Next(dict, &pos, &key, &item)) {
        if (item == Py_None)
            i++;
    }
    return Py_BuildValue("Nn", sum, i);
}

static PyMethodDef methods[] = {{"total", total, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }
