/* Reference counts by the field that the free-threaded build does not have. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *
is_counted(PyObject *Py_UNUSED(module), PyObject *object)
{
    Py_ssize_t before = object->ob_refcnt;
    Py_INCREF(object);
    Py_ssize_t after = ((PyObject *)object)->ob_refcnt;
    Py_DECREF(object);
    return PyBool_FromLong(after == before + 1);
}

/* What a free list does with an object that it gives again. */
static PyObject *
reset(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *made = PyList_New(0);
    if (made != NULL)
        made->ob_refcnt = 1;
    return made;
}

static PyMethodDef methods[] = {
    {"is_counted", is_counted, METH_O, NULL},
    {"reset", reset, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "counts",
    .m_slots = slots,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_counts(void)
{
    return PyModuleDef_Init(&definition);
}
