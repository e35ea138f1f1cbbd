/* Items of shared containers that are in use while another thread replaces them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *
list_item(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *list, *callable, *item, *done;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &callable))
        return NULL;
    item = PyList_GetItem(list, 0);
    if (item == NULL)
        return NULL;
    done = PyObject_CallNoArgs(callable);
    if (done == NULL)
        return NULL;
    Py_DECREF(done);
    return PyObject_GetAttrString(item, "value");
}

static PyObject *
dict_item(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *dict, *callable, *item, *done;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &dict, &callable))
        return NULL;
    item = PyDict_GetItemString(dict, "item");
    if (item == NULL)
        Py_RETURN_NONE;
    done = PyObject_CallNoArgs(callable);
    if (done == NULL)
        return NULL;
    Py_DECREF(done);
    return PyObject_GetAttrString(item, "value");
}

/* Asks for the size, and takes it for granted that the items are there. */
static PyObject *
list_total(PyObject *Py_UNUSED(module), PyObject *list)
{
    Py_ssize_t i, size = PyList_Size(list), total = 0;
    PyObject *item;
    if (size < 0)
        return NULL;
    for (i = 0; i < size; i++) {
        item = PyList_GetItem(list, i);
        if (!PyBytes_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "bytes expected");
            return NULL;
        }
        total += PyBytes_GET_SIZE(item);
    }
    return PyLong_FromSsize_t(total);
}

/* None is counted, whatever else there is. */
static PyObject *
list_nones(PyObject *Py_UNUSED(module), PyObject *list)
{
    Py_ssize_t i, size = PyList_Size(list), count = 0;
    if (size < 0)
        return NULL;
    for (i = 0; i < size; i++) {
        if (PyList_GetItem(list, i) == Py_None)
            count++;
    }
    return PyLong_FromSsize_t(count);
}

static PyMethodDef methods[] = {
    {"list_total", list_total, METH_O, NULL},
    {"list_nones", list_nones, METH_O, NULL},
    {"list_item", list_item, METH_VARARGS, NULL},
    {"dict_item", dict_item, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "items",
    .m_slots = slots,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_items(void)
{
    return PyModuleDef_Init(&definition);
}
