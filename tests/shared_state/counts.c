/* Numbers that threads count and set at the same time. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define TIMES 200000

static long calls, undone = 0;
static size_t bytes;            /* of all texts */
static int base = 10;           /* 2 or 10 */

static PyObject *
count(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    int n;

    for (n = 0; n < TIMES; n++) {
        calls++;
        if (PyErr_Occurred())
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
undo(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    int n;

    for (n = 0; n < TIMES; n++) {
        --undone;
        if (PyErr_Occurred())
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
weigh(PyObject *Py_UNUSED(module), PyObject *text)
{
    int n;
    size_t size = (size_t)PyObject_Size(text);

    for (n = 0; n < TIMES; n++) {
        bytes += size;
        if (PyErr_Occurred())
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
counted(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("lln", calls, undone, (Py_ssize_t)bytes);
}

static PyObject *
set_base(PyObject *Py_UNUSED(module), PyObject *args)
{
    int value;

    if (!PyArg_ParseTuple(args, "i", &value))
        return NULL;
    if (value != 2 && value != 10) {
        PyErr_SetString(PyExc_ValueError, "2 or 10");
        return NULL;
    }
    base = value;
    Py_RETURN_NONE;
}

static PyObject *
get_base(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(base);
}

static PyMethodDef methods[] = {
    {"count", count, METH_NOARGS, NULL},
    {"undo", undo, METH_NOARGS, NULL},
    {"weigh", weigh, METH_O, NULL},
    {"counted", counted, METH_NOARGS, NULL},
    {"set_base", set_base, METH_VARARGS, NULL},
    {"get_base", get_base, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL}
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "counts",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_counts(void)
{
    return PyModuleDef_Init(&definition);
}
