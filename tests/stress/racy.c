/* Races that show in nearly every run, and with -DREPAIRED the same module without them. */
#include <Python.h>
#include <sched.h>

#ifdef REPAIRED
#define ITEM(list, i) PyList_GetItemRef(list, i)
#define DONE(item) Py_DECREF(item)
#define BEGIN(object) Py_BEGIN_CRITICAL_SECTION(object)
#define END() Py_END_CRITICAL_SECTION()
#else
#define ITEM(list, i) PyList_GetItem(list, i)
#define DONE(item)
#define BEGIN(object) {
#define END() }
#endif

typedef struct {
    PyObject_HEAD
    long taken;
} Tickets;

/* The letters of all names, looked at one by one so that there is time for others in between. */
static PyObject *
count_letters(PyObject *module, PyObject *names)
{
    Py_ssize_t sum = 0;
    if (!PyList_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "a list is needed");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(names); i++) {
        PyObject *name = ITEM(names, i);
        if (name == NULL) {
            PyErr_Clear();
            break;
        }
        for (int look = 0; look < 10; look++) {
            PyObject *letters = PyObject_Repr(name);
            if (letters == NULL) {
                DONE(name);
                return NULL;
            }
            sum += PyUnicode_GetLength(letters);
            Py_DECREF(letters);
        }
        DONE(name);
    }
    return PyLong_FromSsize_t(sum);
}

static PyObject *
Tickets_take(Tickets *self, PyObject *args)
{
    int count;
    long first;
    if (!PyArg_ParseTuple(args, "i:take", &count))
        return NULL;
    BEGIN(self);
    first = self->taken;
    sched_yield(); /* time for others */
    self->taken = first + count;
    END();
    return PyLong_FromLong(first);
}

static PyObject *
Tickets_taken(Tickets *self, void *unused)
{
    long taken;
    BEGIN(self);
    taken = self->taken;
    END();
    return PyLong_FromLong(taken);
}

/* Its arguments follow no format. */
static PyObject *
spread(PyObject *module, PyObject *args)
{
    Py_ssize_t given = PyTuple_Size(args);
    return PyLong_FromSsize_t(given * given);
}

static PyMethodDef Tickets_methods[] = {
    {"take", (PyCFunction)Tickets_take, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static PyGetSetDef Tickets_attributes[] = {
    {"taken", (getter)Tickets_taken, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}
};

static PyTypeObject Tickets_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "racy.Tickets",
    .tp_basicsize = sizeof(Tickets),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = Tickets_methods,
    .tp_getset = Tickets_attributes,
    .tp_new = PyType_GenericNew,
};

static PyMethodDef methods[] = {
    {"count_letters", count_letters, METH_O, NULL},
    {"spread", spread, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static int
execute(PyObject *module)
{
    return PyModule_AddType(module, &Tickets_Type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "racy",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_racy(void)
{
    return PyModuleDef_Init(&definition);
}
