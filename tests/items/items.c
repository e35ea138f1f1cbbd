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

static PyMethodDef methods[] = {
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
