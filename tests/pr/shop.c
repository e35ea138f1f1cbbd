#include <Python.h>

/* A basket counts what is put into it. */
typedef struct {
    PyObject_HEAD
    PyObject *last;
    long count;
} Basket;

static void
Basket_dealloc(Basket *self)
{
    Py_CLEAR(self->last);
    self->ob_base.ob_type->tp_free((PyObject *)self);
}

static PyObject *
Basket_put(Basket *self, PyObject *item)
{
    Py_INCREF(item);
    Py_XSETREF(self->last, item);
    self->count++;
    Py_RETURN_NONE;
}

static PyObject *
Basket_count(Basket *self, PyObject *ignored)
{
    (void)ignored;
    return PyLong_FromLong(self->count);
}

static PyMethodDef Basket_methods[] = {
    {"put", (PyCFunction)Basket_put, METH_O, NULL},
    {"count", (PyCFunction)Basket_count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Basket_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "shop.Basket",
    .tp_basicsize = sizeof(Basket),
    .tp_dealloc = (destructor)Basket_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = Basket_methods,
    .tp_new = PyType_GenericNew,
};

/* The size of the first name. */
static PyObject *
first_size(PyObject *module, PyObject *args)
{
    PyObject *names, *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &names))
        return NULL;
    name = PyList_GetItem(names, 0);
    if (name == NULL)
        return NULL;
    Py_ssize_t size = PyObject_Size(name);
    if (size < 0)
        return NULL;
    return PyLong_FromSsize_t(size);
}

/* The price of an article. */
static PyObject *
price(PyObject *module, PyObject *args)
{
    PyObject *prices, *article;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &prices, &article))
        return NULL;
    PyObject *found = PyDict_GetItem(prices, article);
    if (found == NULL)
        Py_RETURN_NONE;
    return PyNumber_Negative(found);
}

/* The sum of all prices. */
static PyObject *
total(PyObject *module, PyObject *prices)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    double sum = 0;
    (void)module;
    while (PyDict_Next(prices, &pos, &key, &value)) {
        sum += PyFloat_AsDouble(value);
    }
    if (PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(sum);
}

static PyMethodDef methods[] = {
    {"first_size", first_size, METH_VARARGS, NULL},
    {"price", price, METH_VARARGS, NULL},
    {"total", total, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "shop",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_shop(void)
{
    if (PyType_Ready(&Basket_Type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&module_def);
    if (module == NULL)
        return NULL;
    Py_INCREF(&Basket_Type);
    if (PyModule_AddObject(module, "Basket", (PyObject *)&Basket_Type) < 0) {
        Py_DECREF(&Basket_Type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
