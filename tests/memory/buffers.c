/* Buffers on the heap of the objects: in fields, arrays of arrays, lists of nodes, helpers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct _node {
    char *text;
    struct _node *next;
} node;

typedef struct {
    PyObject_HEAD
    Py_ssize_t size;
    Py_ssize_t allocated;
    long *items;
    long **rows;
    node *names;
} Store;

static void *
take(size_t size)
{
    return PyObject_Malloc(size ? size : 1);
}

static void
give_back(void *memory)
{
    PyObject_FREE(memory);
}

static int
grow(Store *self)
{
    Py_ssize_t wanted = self->allocated ? 2 * self->allocated : 4;
    long *items = PyObject_Realloc(self->items, wanted * sizeof(long));
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->items = items;
    self->allocated = wanted;
    return 0;
}

static PyObject *
Store_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return type->tp_alloc(type, 0);
}

static PyObject *
Store_add(Store *self, PyObject *arg)
{
    long value = PyLong_AsLong(arg);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    if (self->size == self->allocated && grow(self) < 0)
        return NULL;
    self->items[self->size++] = value;
    Py_RETURN_NONE;
}

static PyObject *
Store_name(Store *self, PyObject *arg)
{
    const char *text = PyUnicode_AsUTF8(arg);
    node *n;
    if (text == NULL)
        return NULL;
    n = take(sizeof(node));
    if (n == NULL)
        return PyErr_NoMemory();
    n->text = (char *)PyObject_MALLOC(strlen(text) + 1);
    if (n->text == NULL) {
        give_back(n);
        return PyErr_NoMemory();
    }
    strcpy(n->text, text);
    n->next = self->names;
    self->names = n;
    Py_RETURN_NONE;
}

static PyObject *
Store_square(Store *self, PyObject *Py_UNUSED(ignored))
{
    Py_ssize_t i, j, n = self->size;
    long sum = 0;
    long **rows = PyObject_Calloc(n + 1, sizeof(long *));
    if (rows == NULL)
        return PyErr_NoMemory();
    for (i = 0; i < n; i++) {
        rows[i] = PyObject_Malloc(n * sizeof(long));
        if (rows[i] == NULL)
            break;
        for (j = 0; j < n; j++)
            rows[i][j] = self->items[i] * self->items[j];
        sum += rows[i][n / 2];
    }
    for (i = 0; i < n; i++)
        PyObject_Free(rows[i]);
    PyObject_Free(rows);
    return PyLong_FromLong(sum);
}

static PyObject *
Store_names(Store *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    node *n;
    for (n = self->names; list != NULL && n != NULL; n = n->next) {
        PyObject *text = PyUnicode_FromString(n->text);
        if (text == NULL || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *
Store_copy(Store *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *result;
    Py_ssize_t size = self->size * (Py_ssize_t)sizeof(long);
    char *copy = PyObject_Malloc(size + 1), *end;
    if (copy == NULL)
        return PyErr_NoMemory();
    end = copy;
    memcpy(end, self->items, size);
    end += size;
    *end = '\0';
    result = PyBytes_FromStringAndSize(copy, end - copy);
    PyObject_Del(copy);
    return result;
}

static void
Store_dealloc(Store *self)
{
    while (self->names != NULL) {
        node *n = self->names;
        self->names = n->next;
        PyObject_Free(n->text);
        give_back(n);
    }
    PyObject_Free(self->items);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef Store_methods[] = {
    {"add", (PyCFunction)Store_add, METH_O, NULL},
    {"name", (PyCFunction)Store_name, METH_O, NULL},
    {"square", (PyCFunction)Store_square, METH_NOARGS, NULL},
    {"names", (PyCFunction)Store_names, METH_NOARGS, NULL},
    {"copy", (PyCFunction)Store_copy, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Store_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "buffers.Store",
    .tp_basicsize = sizeof(Store),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = Store_new,
    .tp_dealloc = (destructor)Store_dealloc,
    .tp_methods = Store_methods,
};

static int
exec(PyObject *module)
{
    return PyModule_AddType(module, &Store_Type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec},
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "buffers",
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_buffers(void)
{
    return PyModuleDef_Init(&module);
}
