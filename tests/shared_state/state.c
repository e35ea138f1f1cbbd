/* Static variables and objects that threads share without a lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define LENGTH 500000

/* A cache that takes long to fill: others come in meanwhile. The test has many of them. */
static PyObject *
cache_0(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    static PyObject *items;
    if (items == NULL)
        items = PyTuple_New(LENGTH);
    return Py_XNewRef(items);
}
/* END */

/* Filled on first use, with a check that leaves the branch. */
static PyObject *
name(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    static PyObject *text = NULL;
    if (text == NULL) {
        text = PyUnicode_InternFromString("a name"); /* kept */
        if (text == NULL) {
            /* nothing to clean up */
            return NULL;
        }
    }
    return Py_NewRef(text);
}

/* The same each time. */
static PyObject *
constant(PyObject *Py_UNUSED(module), PyObject *argument)
{
    static PyObject *item_key = NULL;

    if (item_key == NULL) {
        item_key = PyUnicode_InternFromString("a key");
        if (item_key == NULL)
            return NULL;
    }
    return PyObject_GetItem(argument, item_key);
}

/* Python code runs meanwhile, and comes back to this function. */
static PyObject *
imported(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    static PyObject *made = NULL;
    if (made == NULL) {
        PyObject *slow = PyImport_ImportModule("slow");
        if (slow == NULL)
            return NULL;
        made = PyObject_GetAttrString(slow, "made");
        Py_DECREF(slow);
        if (made == NULL)
            return NULL;
    }
    return Py_NewRef(made);
}

/* Never filled: each call fails again. */
static PyObject *
failing(PyObject *Py_UNUSED(module), PyObject *argument)
{
    static PyObject *number;
    int failed = argument == Py_None;
    if (!number) {
        number = PyLong_FromString("no number", NULL, 10);
        if (!number)
            goto error;
    }
    return Py_NewRef(number);
error:
    if (failed)
        PyErr_Clear();
    else
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *shared_list;

static PyObject *
nested(PyObject *Py_UNUSED(module), PyObject *argument)
{
    if (argument != Py_None)
        if (shared_list == NULL)
            shared_list = PyList_New(0);
    if (shared_list == NULL)
        Py_RETURN_NONE;
    return Py_NewRef(shared_list);
}

static PyObject *
label(PyObject *Py_UNUSED(module), PyObject *argument)
{
    static char buffer[64];
    long number = PyLong_AsLong(argument);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    PyOS_snprintf(buffer, sizeof(buffer), "item %ld of many", number);
    return PyUnicode_FromString(buffer);
}

typedef struct {
    PyObject_HEAD
    long count;
    PyObject *item;
} Counter;

static PyTypeObject Counter_Type;

static PyObject *
counter_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    Counter *self = (Counter *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->count = 0;
        self->item = NULL;
    }
    return (PyObject *)self;
}

static void
counter_dealloc(PyObject *self)
{
    Py_CLEAR(((Counter *)self)->item);
    Py_TYPE(self)->tp_free(self);
}

static int
work(void)
{
    PyObject *list = PyList_New(20000);
    Py_XDECREF(list);
    return list == NULL ? -1 : 0;
}

static PyObject *
counter_bump(Counter *self, PyObject *Py_UNUSED(ignored))
{
    long seen = self->count;
    if (work() < 0)
        return NULL;
    self->count = seen + 1;
    return PyLong_FromLong(self->count);
}

static PyObject *
counter_bump_by(PyObject *op,
                PyObject *amount)
{
    Counter *self = (Counter *)op;
    long n = PyLong_AsLong(amount);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    while (n-- > 0)
        Py_XDECREF(counter_bump(self, NULL));
    return PyLong_FromLong(self->count);
}

static PyObject *
counter_take(Counter *self, PyObject *from)
{
    Counter *other = (Counter *)from;
    long taken;
    if (!Py_IS_TYPE(from, &Counter_Type)) {
        PyErr_SetString(PyExc_TypeError, "no counter");
        return NULL;
    }
    taken = other->count;
    if (work() < 0)
        return NULL;
    other->count = 0;
    self->count += taken;
    Py_RETURN_NONE;
}

static PyObject *
counter_add(PyObject *first, PyObject *second)
{
    if (!Py_IS_TYPE(first, &Counter_Type) || !Py_IS_TYPE(second, &Counter_Type))
        Py_RETURN_NOTIMPLEMENTED;
    return PyLong_FromLong(((Counter *)first)->count + ((Counter *)second)->count);
}

static PyObject *
counter_get_item(Counter *self, void *Py_UNUSED(closure))
{
    if (self->item == NULL) {
        PyErr_SetString(PyExc_AttributeError, "item");
        return NULL;
    }
    return Py_NewRef(self->item);
}

static int
counter_set_item(Counter *self, PyObject *value, void *Py_UNUSED(closure))
{
    Py_XSETREF(self->item, Py_XNewRef(value));
    return 0;
}

static PyObject *
counter_call(PyObject *op, PyObject *argument)
{
    Counter *self = (Counter *)op;
    if (self->item == NULL) {
        PyErr_SetString(PyExc_AttributeError, "item");
        return NULL;
    }
    return PyObject_CallOneArg(self->item, argument);
}

static Py_ssize_t
counter_length(PyObject *self)
{
    return (Py_ssize_t)((Counter *)self)->count;
}

static PyMethodDef counter_methods[] = {
    {"bump", (PyCFunction)counter_bump, METH_NOARGS, NULL},
    {"bump_by", counter_bump_by, METH_O, NULL},
    {"call", counter_call, METH_O, NULL},
    {"take", (PyCFunction)counter_take, METH_O, NULL},
    {NULL, NULL, 0, NULL}
};

static PyGetSetDef counter_getset[] = {
    {"item", (getter)counter_get_item, (setter)counter_set_item, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}
};

static PyNumberMethods counter_number = {.nb_add = counter_add};

static PySequenceMethods counter_sequence = {.sq_length = counter_length};

static PyTypeObject Counter_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "state.Counter",
    .tp_basicsize = sizeof(Counter),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = counter_new,
    .tp_dealloc = counter_dealloc,
    .tp_methods = counter_methods,
    .tp_getset = counter_getset,
    .tp_as_number = &counter_number,
    .tp_as_sequence = &counter_sequence,
};

static PyMethodDef methods[] = {
    {"cache_0", cache_0, METH_NOARGS, NULL},
    {"name", name, METH_NOARGS, NULL},
    {"constant", constant, METH_O, NULL},
    {"imported", imported, METH_NOARGS, NULL},
    {"failing", failing, METH_O, NULL},
    {"nested", nested, METH_O, NULL},
    {"label", label, METH_O, NULL},
    {NULL, NULL, 0, NULL}
};

static int
state_exec(PyObject *module)
{
    return PyModule_AddType(module, &Counter_Type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, state_exec},
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL}
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "state",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_state(void)
{
    return PyModuleDef_Init(&definition);
}
