/* Macros and fields that look past the API. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    PyObject_HEAD
    PyObject *rows;
} Table;

static PyTypeObject Table_Type;
static PyTypeObject Other_Type;

static PyObject *
table_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    Table *self;
    PyObject *rows;
    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &rows))
        return NULL;
    self = (Table *)type->tp_alloc(type, 0);
    if (self != NULL)
        self->rows = Py_NewRef(rows);
    return (PyObject *)self;
}

static void
table_dealloc(Table *self)
{
    Py_CLEAR(self->rows);
    Py_TYPE(self)->tp_free(self);
}

/* The list is one that others have as well. */
static PyObject *
table_put(Table *self, PyObject *row)
{
    PyList_SET_ITEM(self->rows, 0, Py_NewRef(row));
    Py_RETURN_NONE;
}

/* A list of its own, filled in peace. */
static PyObject *
table_exchange(Table *self, PyObject *row)
{
    PyObject *made = PyList_New(1);
    if (made == NULL)
        return NULL;
    PyList_SET_ITEM(made, 0, Py_NewRef(row));
    return made;
}

/* Another type of the same layout, and back. */
static PyObject *
table_turn(Table *self, PyObject *Py_UNUSED(ignored))
{
    if (((PyObject *)self)->ob_type == &Table_Type)
        ((PyObject *)self)->ob_type = &Other_Type;
    else
        self->ob_base.ob_type = &Table_Type;
    return PyUnicode_FromString(self->ob_base.ob_type->tp_name);
}

static PyObject *
type_name(PyObject *Py_UNUSED(module), PyObject *object)
{
    const char *own = object->ob_type->tp_name;
    const char *of_type = ((PyObject *)object->ob_type)->ob_type->tp_name;
    if (object->ob_type == ((PyObject *)&PyLong_Type)->ob_type)
        own = "a type";
    return PyUnicode_FromFormat("%s, %s", own, of_type);
}

static PyObject *
length(PyObject *Py_UNUSED(module), PyObject *object)
{
    if (!PyTuple_Check(object) && !PyBytes_Check(object))
        Py_RETURN_NONE;
    return PyLong_FromSsize_t(((PyVarObject *)object)->ob_size);
}

/* Bytes of which a part is given. */
static PyObject *
head(PyObject *Py_UNUSED(module), PyObject *argument)
{
    PyObject *made;
    Py_ssize_t size = PyLong_AsSsize_t(argument);
    if (size == -1 && PyErr_Occurred())
        return NULL;
    if (size < 0 || size > 8)
        Py_RETURN_NONE;
    made = PyBytes_FromStringAndSize("abcdefgh", 8);
    if (made == NULL)
        return NULL;
    ((PyVarObject *)made)->ob_size = size;
    PyBytes_AS_STRING(made)[size] = '\0';
    return made;
}

static PyMethodDef table_methods[] = {
    {"put", (PyCFunction)table_put, METH_O, NULL},
    {"exchange", (PyCFunction)table_exchange, METH_O, NULL},
    {"turn", (PyCFunction)table_turn, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Table_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "access.Table",
    .tp_basicsize = sizeof(Table),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = table_new,
    .tp_dealloc = (destructor)table_dealloc,
    .tp_methods = table_methods,
};

static PyTypeObject Other_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "access.Other",
    .tp_basicsize = sizeof(Table),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)table_dealloc,
    .tp_methods = table_methods,
};

static PyMethodDef methods[] = {
    {"type_name", type_name, METH_O, NULL},
    {"length", length, METH_O, NULL},
    {"head", head, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int
access_exec(PyObject *module)
{
    if (PyType_Ready(&Other_Type) < 0)
        return -1;
    return PyModule_AddType(module, &Table_Type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, access_exec},
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "access",
    .m_slots = slots,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_access(void)
{
    return PyModuleDef_Init(&definition);
}
