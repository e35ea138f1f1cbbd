/* What is in stock, and what it is worth. */
#include "inventory.h"

/* order_value(names, prices): the sum of the prices of all names. */
static PyObject *
order_value(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *names, *prices;
    double sum = 0.0;

    if (!PyArg_ParseTuple(args, "OO", &names, &prices))
        return NULL;
    REQUIRE(names, List);
    REQUIRE(prices, Dict);

    for (Py_ssize_t i = 0; i < PyList_Size(names); i++) {
        PyObject *name = PyList_GetItem(names, i);
        if (name == NULL)
            return NULL;
        PyObject *price = PyDict_GetItemWithError(prices, name);
        if (price == NULL) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_KeyError, "%R has no price", name);
            return NULL;
        }
        double value = PyFloat_AsDouble(price);
        if (value == -1.0 && PyErr_Occurred())
            return NULL;
        sum += value;
    }
    return PyFloat_FromDouble(sum);
}

/* first(names): the first name. */
static PyObject *
first(PyObject *Py_UNUSED(module), PyObject *names)
{
    PyObject *name;

    REQUIRE(names, List);
    name = PyList_GetItem(names, 0);
    Py_XINCREF(name);
    return name;
}

/* fits(count, limit=100): whether so many things fit on a shelf. */
static PyObject *
fits(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    long count, limit = 100;
    PyObject *given;

    if (!PyArg_ParseTuple(args, "l", &count))
        return NULL;
    /* Nobody else has `kwargs`: what is borrowed from it stays alive. */
    given = kwargs ? PyDict_GetItemString(kwargs, "limit") : NULL;
    if (given != NULL) {
        limit = PyLong_AsLong(given);
        if (limit == -1 && PyErr_Occurred())
            return NULL;
    }
    return PyBool_FromLong(count <= limit);
}

static int
read_line(Line *line, PyObject *order)
{
    PyObject *name = PyList_GetItem(order, 0);
    PyObject *count = PyList_GetItem(order, 1);
    if (name == NULL || count == NULL)
        return -1;
    line->name = PyUnicode_AsUTF8(name);
    if (line->name == NULL)
        return -1;
    line->count = PyLong_AsLong(count);
    return line->count == -1 && PyErr_Occurred() ? -1 : 0;
}

/* is_order(order): whether it reads as [name, count] with a positive count. */
static PyObject *
is_order(PyObject *Py_UNUSED(module), PyObject *order)
{
    Line line = {NULL, 0};

    REQUIRE(order, List);
    if (read_line(&line, order) < 0)
        return NULL;
    return PyBool_FromLong(line.count > 0);
}

/* in_stock(stock): the number of all things in the dict of name to count. */
static PyObject *
in_stock(PyObject *Py_UNUSED(module), PyObject *stock)
{
    PyObject *name, *count;
    Py_ssize_t position = 0;
    long sum = 0;

    REQUIRE(stock, Dict);
    while (PyDict_Next(stock, &position, &name, &count)) {
        long value = PyLong_AsLong(count);
        if (value == -1 && PyErr_Occurred())
            return NULL;
        sum += value;
    }
    return PyLong_FromLong(sum);
}

/* shelf_of(shelves, name): the list kept for name, made at the first call. */
static PyObject *
shelf_of(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *shelves, *name, *fresh, *shelf;

    if (!PyArg_ParseTuple(args, "OO", &shelves, &name))
        return NULL;
    REQUIRE(shelves, Dict);
    fresh = PyList_New(0);
    if (fresh == NULL)
        return NULL;
    shelf = PyDict_SetDefault(shelves, name, fresh);
    Py_XINCREF(shelf);
    Py_DECREF(fresh);
    return shelf;
}

/* owner_name(ref): the name of the object behind a weak reference, None if it is gone. */
static PyObject *
owner_name(PyObject *Py_UNUSED(module), PyObject *ref)
{
    PyObject *owner = PyWeakref_GetObject(ref);
    if (owner == NULL)
        return NULL;
    if (owner == Py_None)
        Py_RETURN_NONE;
    return PyObject_GetAttrString(owner, "name");
}

static PyMethodDef methods[] = {
    {"order_value", order_value, METH_VARARGS, NULL},
    {"first", first, METH_O, NULL},
    {"fits", (PyCFunction)(void (*)(void))fits, METH_VARARGS | METH_KEYWORDS, NULL},
    {"is_order", is_order, METH_O, NULL},
    {"in_stock", in_stock, METH_O, NULL},
    {"shelf_of", shelf_of, METH_VARARGS, NULL},
    {"owner_name", owner_name, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef inventory = {
    PyModuleDef_HEAD_INIT,
    .m_name = "inventory",
    .m_doc = "What is in stock, and what it is worth.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_inventory(void)
{
    PyObject *module = PyModule_Create(&inventory);
    if (module == NULL)
        return NULL;
    if (PyModule_AddIntConstant(module, "MAX_LINES", 100) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
