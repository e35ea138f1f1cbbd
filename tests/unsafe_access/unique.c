/* A count of 1 that is taken for a proof that nobody else has the object. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *kept;

static PyObject *
make(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *made = PyList_New(0);
    if (made == NULL)
        return NULL;
    int is_unique = Py_REFCNT(made) == 1;
    Py_XSETREF(kept, made);
    return PyBool_FromLong(is_unique);
}

static PyObject *
is_shared(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(Py_REFCNT(kept) > 1);
}

static PyMethodDef methods[] = {
    {"make", make, METH_NOARGS, NULL},
    {"is_shared", is_shared, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_MOD_GIL_NOT_USED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "unique",
    .m_slots = slots,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_unique(void)
{
    return PyModuleDef_Init(&definition);
}
