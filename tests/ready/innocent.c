/*** a local that points into a local */
typedef struct { long n; } sub;
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct { sub s; } state = {{0}};
    sub *s = &state.s;
    s->n++;
    return PyLong_FromLong(s->n);
}

/*** an element of an array on the stack */
typedef struct { long n; } entry;
static PyObject *f(PyObject *self, PyObject *arg)
{
    entry ring[8] = {{0}};
    entry *p = &ring[3];
    p->n++;
    p++;
    p->n = 2;
    return PyLong_FromLong(ring[3].n);
}

/*** a constant table that decays */
static const long table[8] = {1, 2};
static PyObject *f(PyObject *self, PyObject *arg)
{
    const long *p = table;
    long sum = 0;
    for (int i = 0; i < 8; i++) { sum += *p++; }
    return PyLong_FromLong(sum);
}

/*** an accessor of what was allocated here */
typedef struct { long n; } conf;
static conf *made(void) { return malloc(sizeof(conf)); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *c = made();
    if (c == NULL) { return PyErr_NoMemory(); }
    c->n = 4;
    PyObject *result = PyLong_FromLong(c->n);
    free(c);
    return result;
}

/*** state of the module that is only read */
typedef struct { long n; } conf;
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *st = PyModule_GetState(self);
    return PyLong_FromLong(st->n);
}

/*** an atomic field */
#include <stdatomic.h>
typedef struct { PyObject_HEAD _Atomic long n; atomic_int m; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    it->n++;
    atomic_fetch_add(&it->m, 1);
    __atomic_store_n(&it->m, 2, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/*** an atomic count that is compared before it is stored */
#include <stdatomic.h>
static atomic_long served, limit;
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = atomic_load(&served);
    while (!atomic_compare_exchange_weak(&served, &n, n + 1)) {}
    atomic_store(&limit, PyLong_AsLong(arg));
    return PyLong_FromLong(n);
}

/*** a new object that is filled before anybody has it */
typedef struct { PyObject_HEAD long n; PyObject *name; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    it->n = 3;
    it->name = Py_NewRef(arg);
    return (PyObject *)it;
}

/*** a new object by its type, in a helper too */
typedef struct { PyObject_HEAD long n; } Item;
static void fill(Item *it) { it->n = 3; }
static PyObject *item_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    Item *it = (Item *)type->tp_alloc(type, 0);
    if (it != NULL) { fill(it); }
    return (PyObject *)it;
}
static void item_dealloc(PyObject *op)
{
    ((Item *)op)->n = 0;
    Py_TYPE(op)->tp_free(op);
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_new = item_new, .tp_dealloc = item_dealloc};
static PyObject *f(PyObject *self, PyObject *arg) { Py_RETURN_NONE; }

/*** a member that Python may only read */
#include <structmember.h>
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *name; long n; } Item;
static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(Item, name), READONLY, NULL},
    {"n", T_LONG, offsetof(Item, n), 0, NULL},
    {NULL}
};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyObject_Repr(((Item *)arg)->name);
}

/*** the C library writes to the stack by a helper */
static void put(char *to, const char *what) { strcpy(to, what); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    char buffer[64];
    put(buffer, "x");
    return PyUnicode_FromString(buffer);
}

/*** a capsule that is only read */
typedef struct { long n; } client;
static PyObject *f(PyObject *self, PyObject *arg)
{
    client *c = PyCapsule_GetPointer(arg, NULL);
    return c ? PyLong_FromLong(c->n) : NULL;
}

/*** functions of C that threads may call */
#include <time.h>
#include <math.h>
#include <stdlib.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    char text[] = "a b", *rest = NULL;
    struct tm tm;
    time_t now = time(NULL);
    unsigned seed = 1;
    strtok_r(text, " ", &rest);
    localtime_r(&now, &tm);
    return PyLong_FromDouble(sqrt(tm.tm_hour + rand_r(&seed)));
}

/*** a library of which the project speaks */
/* ungil: thread-safe(lib_*) -- its manual says so */
typedef struct { PyObject_HEAD void *handle; } Item;
int lib_advance(void *handle);
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(lib_advance(((Item *)arg)->handle));
}

/*** known functions that only read what is shared */
typedef struct { PyObject_HEAD char *bytes; } Item;
unsigned long crc32(unsigned long, const char *, unsigned);
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    return PyLong_FromUnsignedLong(crc32(0, it->bytes, strlen(it->bytes)));
}

/*** a stream of compression on the stack */
typedef struct { int avail; } z_stream;
int deflate(z_stream *, int);
static PyObject *f(PyObject *self, PyObject *arg)
{
    z_stream zst = {3};
    return PyLong_FromLong(deflate(&zst, 0));
}

/*** a buffer of bytes that is filled before it is given */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, 4);
    if (result == NULL) { return NULL; }
    char *to = PyBytes_AS_STRING(result);
    to[0] = 'x';
    memcpy(to + 1, "abc", 3);
    return result;
}

/*** a static that a comment says is guarded */
static long hits; /* ungil: guarded-by(the lock of the caller) */
static PyObject *f(PyObject *self, PyObject *arg)
{
    hits++;
    Py_RETURN_NONE;
}

/*** items of a new tuple */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *t = PyTuple_New(2);
    if (t == NULL) { return NULL; }
    PyTuple_SET_ITEM(t, 0, Py_NewRef(o));
    PyTuple_SetItem(t, 1, Py_NewRef(Py_None));
    return t;
}

/*** items of a new list, in a helper */
static void put(PyObject *l, Py_ssize_t i, PyObject *o) { PyList_SET_ITEM(l, i, Py_NewRef(o)); }
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *l = PyList_New(1);
    if (l == NULL) { return NULL; }
    put(l, 0, o);
    return l;
}

/*** a tuple made by its type */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *t = PyTuple_Type.tp_alloc(&PyTuple_Type, 1);
    if (t == NULL) { return NULL; }
    PyTuple_SET_ITEM(t, 0, Py_NewRef(o));
    return t;
}

/*** the size and type of a new object */
typedef struct { PyObject_VAR_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *o)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    Py_SET_SIZE(it, 0);
    Py_SET_TYPE(it, &ItemType);
    Py_SET_REFCNT(it, 1);
    return (PyObject *)it;
}

/*** a struct sequence that is new */
static PyTypeObject SeqType;
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *s = PyStructSequence_New(&SeqType);
    if (s == NULL) { return NULL; }
    PyStructSequence_SET_ITEM(s, 0, PyLong_FromLong(3));
    PyStructSequence_SetItem(s, 1, PyLong_FromLong(4));
    return s;
}

/*** the type of a type at import */
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item"};
static int start(void) { Py_SET_TYPE(&ItemType, &PyType_Type); return PyType_Ready(&ItemType); }
static PyObject *f(PyObject *self, PyObject *o) { Py_RETURN_NONE; }
static int more(PyObject *m) { return start(); }
static PyModuleDef_Slot more_slots[] = {{Py_mod_exec, more}, {0, NULL}};

/*** the bytes of an argument that are read */
static PyObject *f(PyObject *self, PyObject *args)
{
    char *b;
    Py_ssize_t n, i;
    long sum = 0;
    if (!PyArg_ParseTuple(args, "y#", &b, &n)) { return NULL; }
    for (i = 0; i < n; i++) { sum += b[i]; }
    return PyLong_FromLong(sum);
}

/*** the characters of an argument that are copied */
static PyObject *f(PyObject *self, PyObject *args)
{
    char *s, copy[32];
    if (!PyArg_ParseTuple(args, "s", &s)) { return NULL; }
    strncpy(copy, s, sizeof copy - 1);
    copy[31] = 0;
    copy[0] = 'x';
    return PyUnicode_FromString(copy);
}

/*** a buffer of an argument that is read */
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_buffer v;
    if (!PyArg_ParseTuple(args, "y*", &v)) { return NULL; }
    const unsigned char *p = v.buf;
    long sum = v.len ? p[0] : 0;
    PyBuffer_Release(&v);
    return PyLong_FromLong(sum);
}

/*** the characters of a new string */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *s = PyUnicode_New(2, 127);
    if (s == NULL) { return NULL; }
    PyUnicode_WRITE(PyUnicode_1BYTE_KIND, PyUnicode_DATA(s), 0, 'x');
    if (PyUnicode_WriteChar(s, 1, 'y') < 0) { return NULL; }
    return s;
}

/*** the characters copied to a new string */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *s = PyUnicode_New(2, 127);
    if (s == NULL) { return NULL; }
    if (PyUnicode_Fill(s, 0, 2, 'x') < 0 || PyUnicode_CopyCharacters(s, 0, o, 0, 1) < 0) { Py_DECREF(s); return NULL; }
    return s;
}

/*** a dict of the caller by the API */
static PyObject *f(PyObject *self, PyObject *d)
{
    if (PyDict_SetItemString(d, "x", self) < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** new bytes that are resized and filled */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *b = PyBytes_FromStringAndSize(NULL, 8);
    if (b == NULL) { return NULL; }
    memset(PyBytes_AS_STRING(b), 'x', 8);
    if (_PyBytes_Resize(&b, 4) < 0) { return NULL; }
    PyBytes_AS_STRING(b)[3] = 'y';
    return b;
}

/*** a type that is made at import with its dict */
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item"};
static PyObject *f(PyObject *self, PyObject *o) { return PyType_GenericNew(&ItemType, NULL, NULL); }
static int more(PyObject *m)
{
    if (PyType_Ready(&ItemType) < 0) { return -1; }
    return PyDict_SetItemString(ItemType.tp_dict, "x", Py_None);
}
static PyModuleDef_Slot more_slots[] = {{Py_mod_exec, more}, {0, NULL}};

/*** a nested container that is filled before it is given */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *l = PyList_New(2);
    if (l == NULL) { return NULL; }
    for (int i = 0; i < 2; i++) {
        PyObject *t = PyTuple_New(1);
        if (t == NULL) { Py_DECREF(l); return NULL; }
        PyList_SET_ITEM(l, i, t);
        PyTuple_SET_ITEM(t, 0, Py_NewRef(o));
    }
    return l;
}

/*** a new object in a loop that a list gets */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    for (int i = 0; i < 3; i++) {
        Item *it = PyObject_New(Item, &ItemType);
        if (it == NULL) { return NULL; }
        it->n = i;
        if (PyList_Append(l, (PyObject *)it) < 0) { return NULL; }
        Py_DECREF(it);
    }
    Py_RETURN_NONE;
}

/*** a key that is printed in a loop */
static PyObject *f(PyObject *self, PyObject *d)
{
    char key[16];
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "k%d", i);
        if (PyDict_SetItemString(d, key, Py_None) < 0) { return NULL; }
    }
    Py_RETURN_NONE;
}

/*** text that a call gets, in a loop */
static PyObject *f(PyObject *self, PyObject *call)
{
    char *text = malloc(16);
    if (text == NULL) { return PyErr_NoMemory(); }
    for (int i = 0; i < 3; i++) {
        snprintf(text, 16, "k%d", i);
        Py_XDECREF(PyObject_CallFunction(call, "s", text));
    }
    free(text);
    Py_RETURN_NONE;
}

/*** arguments on the stack for a call */
static PyObject *f(PyObject *self, PyObject *call)
{
    PyObject *args[2];
    args[0] = self;
    args[1] = call;
    Py_XDECREF(PyObject_Vectorcall(call, args, 2, NULL));
    args[0] = call;
    return PyObject_Vectorcall(call, args, 2, NULL);
}

/*** a name that an object keeps before others get it */
typedef struct { PyObject_HEAD PyObject *name; long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    PyObject *name = PyUnicode_FromString("x");
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL || name == NULL || PyList_Append(l, name) < 0) { return NULL; }
    it->name = name;
    it->n = 3;
    return (PyObject *)it;
}

/*** new bytes by their address */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *b = PyBytes_FromStringAndSize(NULL, 4);
    char *p;
    Py_ssize_t n;
    if (b == NULL || PyBytes_AsStringAndSize(b, &p, &n) < 0) { return NULL; }
    memset(p, 0, n);
    return b;
}

/*** a buffer that an object exports */
typedef struct { PyObject_HEAD char data[8]; } Item;
static int get(PyObject *op, Py_buffer *view, int flags)
{
    return PyBuffer_FillInfo(view, op, ((Item *)op)->data, 8, 1, flags);
}
static PyBufferProcs procs = {get, NULL};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_as_buffer = &procs};
static PyObject *f(PyObject *self, PyObject *o) { return PyType_GenericNew(&ItemType, NULL, NULL); }

/*** a buffer that is filled by hand */
typedef struct { PyObject_HEAD char data[8]; } Item;
static Py_ssize_t shape[1] = {8};
static int get(PyObject *op, Py_buffer *view, int flags)
{
    view->buf = ((Item *)op)->data;
    view->obj = Py_NewRef(op);
    view->len = 8;
    view->itemsize = 1;
    view->readonly = 1;
    view->ndim = 1;
    view->format = "B";
    view->shape = shape;
    view->strides = NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}
static PyBufferProcs procs = {get, NULL};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_as_buffer = &procs};
static PyObject *f(PyObject *self, PyObject *o) { return PyType_GenericNew(&ItemType, NULL, NULL); }

/*** a type made of a spec in a method */
static PyType_Slot item_slots[] = {{0, NULL}};
static PyType_Spec spec = {"m.Item", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, item_slots};
static PyObject *f(PyObject *self, PyObject *o) { return PyType_FromSpec(&spec); }

/*** a function made of its definition in a method */
static PyObject *inner(PyObject *self, PyObject *unused) { Py_RETURN_NONE; }
static PyMethodDef inner_def = {"inner", inner, METH_NOARGS, NULL};
static PyObject *f(PyObject *self, PyObject *o) { return PyCFunction_New(&inner_def, o); }

/*** a barrier of the compiler */
static PyObject *f(PyObject *self, PyObject *o)
{
    __asm__ volatile("" ::: "memory");
    Py_RETURN_NONE;
}

/*** a struct that was copied and is changed */
typedef struct { long a, b; } pair;
static pair last; /* ungil: guarded-by(the lock of the caller) */
static PyObject *f(PyObject *self, PyObject *o)
{
    pair p = {1, 2};
    last = p;
    p.a = 3;
    return PyLong_FromLong(p.a + p.b);
}

/*** a list that is new by its function */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *l = PySequence_List(o);
    if (l == NULL) { return NULL; }
    if (PyList_SetItem(l, 0, Py_NewRef(Py_None)) < 0) { Py_DECREF(l); return NULL; }
    return l;
}

/*** a table of names and numbers */
static const struct { const char *name; long n; } rows[] = {{"a", 1}, {NULL, 0}};
static PyObject *f(PyObject *self, PyObject *o)
{
    for (int i = 0; rows[i].name; i++) { if (rows[i].n == 1) { return PyUnicode_FromString(rows[i].name); } }
    Py_RETURN_NONE;
}

/*** an argument that is replaced by a new tuple */
static PyObject *f(PyObject *self, PyObject *args)
{
    PyObject *text = PyUnicode_FromString("x");
    if (text == NULL) { return NULL; }
    args = PyTuple_New(1);
    if (args == NULL) { Py_DECREF(text); return NULL; }
    PyTuple_SET_ITEM(args, 0, text);
    return args;
}

/*** new arguments for each call */
static PyObject *f(PyObject *self, PyObject *call)
{
    PyObject *args, *r;
    if ((args = PyTuple_New(1)) == NULL) { return NULL; }
    PyTuple_SET_ITEM(args, 0, Py_NewRef(self));
    r = PyObject_Call(call, args, NULL);
    Py_DECREF(args);
    if (r == NULL) { return NULL; }
    Py_DECREF(r);
    if ((args = PyTuple_New(1)) == NULL) { return NULL; }
    PyTuple_SET_ITEM(args, 0, Py_NewRef(Py_None));
    r = PyObject_Call(call, args, NULL);
    Py_DECREF(args);
    return r;
}

/*** a helper that makes an object of one that others have */
typedef struct item { PyObject_HEAD PyObject *name; long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static Item *make(PyObject *name)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it != NULL) { it->name = Py_NewRef(name); }
    return it;
}
static PyObject *f(PyObject *self, PyObject *l)
{
    PyObject *name = PyUnicode_FromString("x");
    if (name == NULL || PyList_Append(l, name) < 0) { return NULL; }
    Item *it = make(name);
    if (it != NULL) { it->n = 3; }
    return (PyObject *)it;
}

/*** a number that Python may set, looked at once */
#include <stddef.h>
typedef struct { PyObject_HEAD int size, fixed; } Item;
static PyMemberDef members[] = {{"size", Py_T_INT, offsetof(Item, size), 0, NULL}, {"fixed", Py_T_INT, offsetof(Item, fixed), Py_READONLY, NULL}, {NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    long sum = 0;
    int i = it->size;
    while (i-- > 0) { sum += i + it->fixed; }
    return PyLong_FromLong(sum);
}

/*** the size of a copy, and whether there is anything to copy */
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (!PyList_Check(arg) || PyList_GET_SIZE(arg) == 0) { Py_RETURN_NONE; }
    PyObject *copy = PyList_AsTuple(arg);
    long sum = 0;
    if (copy == NULL) { return NULL; }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(copy); i++) { sum += PyObject_IsTrue(PyTuple_GET_ITEM(copy, i)); }
    Py_DECREF(copy);
    return PyLong_FromLong(sum);
}

/*** a copy if there is anything to copy */
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (PyDict_Check(arg) && PyDict_Size(arg)) { return PyDict_Copy(arg); }
    Py_RETURN_NONE;
}

/*** a reference that is released where nothing uses it any more */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *next = PyObject_GetAttrString(arg, "next");
    if (next == NULL) { return NULL; }
    while (next != Py_None) {
        PyObject *after = PyObject_GetAttrString(next, "next");
        Py_DECREF(next);
        if (after == NULL) { return NULL; }
        next = after;
        after = NULL;
    }
    PyObject *name = PyObject_Repr(next);
    Py_DECREF(next);
    return name;
}

/*** lookups that are tested, and those that fail alike with the GIL */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *v, *iterator, *result = NULL;
    if (!PyObject_HasAttrString(arg, "a")) { Py_RETURN_NONE; }
    v = PyObject_GetAttrString(arg, "a");
    if (v == NULL) { return NULL; }
    Py_ssize_t n = PySequence_Size(v);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(v, i);
        if (!item) { Py_DECREF(v); return NULL; }
        Py_DECREF(item);
    }
    iterator = PyObject_GetIter(v);
    Py_DECREF(v);
    if (iterator == NULL) { return NULL; }
    while ((v = PyIter_Next(iterator)) != NULL) { Py_XSETREF(result, v); }
    Py_DECREF(iterator);
    v = PyObject_GetAttrString(arg, "b");
    Py_DECREF(v);
    return result;
}

/*** a copy that is measured, or tested */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *keys, *key = NULL;
    if (!PyDict_Check(arg) || PyDict_Size(arg) == 0) { Py_RETURN_NONE; }
    keys = PyDict_Keys(arg);
    if (keys == NULL) { return NULL; }
    if (PyList_GET_SIZE(keys) > 0) { key = Py_NewRef(PyList_GET_ITEM(keys, 0)); }
    Py_DECREF(keys);
    return key != NULL ? key : Py_NewRef(Py_None);
}

/*** text that is used before the release of its object */
#include <string.h>
typedef struct { const char *name; } conf;
static int is_long(conf *c) { return strlen(c->name) > 3; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf c;
    long n = 0;
    for (int i = 0; i < 3; i++) {
        PyObject *v = PyObject_GetAttrString(arg, "name");
        const char *s;
        if (v == NULL) { return NULL; }
        s = PyUnicode_AsUTF8(v);
        if (s == NULL) { Py_DECREF(v); return NULL; }
        c.name = s;
        n += (long)strlen(s) + is_long(&c);
        Py_DECREF(v);
        s = "none";
        n += (long)strlen(s);
    }
    return PyLong_FromLong(n);
}

/*** a copy of text, and a reference of its own to an item */
#include <string.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *t = PyObject_GetAttrString(arg, "args"), *a, *b, *c;
    char text[20];
    if (t == NULL) { return NULL; }
    if (!PyArg_ParseTuple(t, "OOU", &a, &b, &c)) { Py_DECREF(t); return NULL; }
    const char *s = PyUnicode_AsUTF8(c);
    if (s == NULL) { Py_DECREF(t); return NULL; }
    strncpy(text, s, 19);
    text[19] = 0;
    Py_INCREF(a);
    PyObject *kept = Py_NewRef(b);
    Py_DECREF(t);
    PyObject *r = Py_BuildValue("(NNs)", a, kept, text);
    return r;
}

/*** text in a struct whose object lives on */
typedef struct { const char *name; PyObject *object; } conf;
static int fill(conf *c, PyObject *o)
{
    PyObject *v = PyObject_GetAttrString(o, "name");
    if (v == NULL) { return -1; }
    c->name = PyUnicode_AsUTF8(v);
    if (c->name == NULL) { Py_DECREF(v); return -1; }
    c->object = v;
    return 0;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf c;
    if (fill(&c, arg) < 0) { return NULL; }
    PyObject *result = PyUnicode_FromString(c.name);
    Py_DECREF(c.object);
    return result;
}

/*** the bytes of a buffer until it is given back, and its length behind that */
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_buffer v;
    long n = 0;
    if (!PyArg_ParseTuple(args, "y*", &v)) { return NULL; }
    const char *text = v.buf;
    for (int round = 0; round < 2; round++) {
        for (Py_ssize_t i = 0; i < v.len; i++) { n += text[i]; }
    }
    PyBuffer_Release(&v);
    return PyLong_FromSsize_t(n + v.len);
}

/*** the bytes of a bytearray that is made here */
#include <string.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *made = PyByteArray_FromStringAndSize(NULL, 8);
    if (made == NULL) { return NULL; }
    char *p = PyByteArray_AS_STRING(made);
    memset(p, 0, 8);
    p[0] = p[7] + 1;
    return made;
}

/*** the size of a tuple of arguments, asked twice */
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_ssize_t n = PySequence_Size(args), i;
    long *b = malloc((n + 1) * sizeof *b), t = 0;
    if (b == NULL) { return PyErr_NoMemory(); }
    for (i = 0; i < PySequence_Size(args); i++) {
        PyObject *x = PySequence_GetItem(args, i);
        b[i] = PyLong_Check(x);
        t += b[i];
        Py_DECREF(x);
    }
    free(b);
    return PyLong_FromLong(t);
}

/*** a dict of objects that Python code does not replace */
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *dict; } Item;
static PyObject *get(Item *it, PyObject *name) { return it->dict == NULL ? NULL : PyObject_GetItem(it->dict, name); }
static PyMethodDef item_methods[] = {{"get", (PyCFunction)get, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = PyType_GenericNew, .tp_methods = item_methods,
    .tp_dictoffset = offsetof(Item, dict),
};
static PyObject *f(PyObject *self, PyObject *arg) { return PyObject_CallNoArgs((PyObject *)&ItemType); }

/*** an item of a tuple that the caller gets with a reference of its own */
static int first(PyObject *o, PyObject **out)
{
    PyObject *t = PyObject_GetAttrString(o, "args");
    if (t == NULL) { return -1; }
    *out = PyTuple_GetItem(t, 0);
    if (*out == NULL) { Py_DECREF(t); return -1; }
    Py_INCREF(*out);
    Py_DECREF(t);
    return 0;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *item;
    return first(arg, &item) < 0 ? NULL : item;
}

/*** what the process is asked for */
#include <unistd.h>
#include <termios.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    char here[512];
    struct termios it;
    tcgetattr(0, &it);
    return getcwd(here, sizeof here) == NULL ? NULL : PyUnicode_FromString(here);
}

/*** a file of the call */
#include <stdio.h>
static long size(FILE *file) { fseek(file, 0, SEEK_END); return ftell(file); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    char record[16];
    FILE *file = fopen("/dev/null", "rb");
    if (file == NULL) { return NULL; }
    long length = size(file);
    rewind(file);
    fread(record, 1, 16, file);
    fclose(file);
    return PyLong_FromLong(length);
}

/*** a sequence of `strtok` that gets its place, and a result that gets its struct */
#include <sys/wait.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    char text[] = "some words";
    time_t now = time(NULL);
    char *word = strtok(text, " ");
    word = strtok(NULL, " ");
    return PyUnicode_FromFormat("%s %d", word, gmtime(&now)->tm_hour);
}

/*** a call of which a comment says that it may stay */
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct passwd *entry = getpwuid(0); /* ungil: ignore[UG505] one thread asks */
    return PyLong_FromLong(entry != NULL);
}

/*** numbers of which any will do, as a comment says */
/* ungil: thread-safe(rand) */
static PyObject *f(PyObject *self, PyObject *arg) { return PyLong_FromLong(rand()); }

/*** functions that the package keeps are called one after the other */
static PyObject *escape, *join, *name;
static int start(PyObject *m)
{
    name = PyUnicode_InternFromString("__html__");
    escape = PyObject_GetAttrString(m, "escape");
    join = PyObject_GetAttrString(m, "join");
    return name && escape && join ? 0 : -1;
}
static PyModuleDef_Slot more_slots[] = {{Py_mod_exec, start}, {0, NULL}};
static PyObject *f(PyObject *self, PyObject *text)
{
    PyObject *html = PyObject_GetAttr(text, name);
    if (html == NULL)
        return NULL;
    PyObject *escaped = PyObject_CallOneArg(escape, html);
    Py_DECREF(html);
    if (escaped == NULL)
        return NULL;
    PyObject *result = PyObject_CallOneArg(join, escaped);
    Py_DECREF(escaped);
    return result;
}

/*** a type of the package by its slot */
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_base = &PyUnicode_Type};
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *args = PyTuple_Pack(1, arg);
    if (args == NULL)
        return NULL;
    PyObject *result = ItemType.tp_new(&ItemType, args, NULL);
    Py_DECREF(args);
    return result;
}

/*** a list that is built and freed here */
typedef struct node { struct node *next; long value; } node;
static node *push(node *head, long value)
{
    node *n = malloc(sizeof(node));
    if (n == NULL) { return head; }
    n->next = head;
    n->value = value;
    return n;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    node *head = NULL;
    for (int i = 0; i < 3; i++) { head = push(head, i); }
    while (head != NULL) {
        node *next = head->next;
        head->value = 0;
        free(head);
        head = next;
    }
    Py_RETURN_NONE;
}

/*** a buffer in a struct of the stack, which a helper makes longer */
struct buf { char *p; size_t len, cap; };
static int put(struct buf *b, const char *s, size_t n)
{
    char *np;
    if (b->len + n > b->cap) {
        np = PyMem_Realloc(b->p, b->len + n);
        if (np == NULL) return -1;
        b->p = np;
        b->cap = b->len + n;
    }
    memcpy(b->p + b->len, s, n);
    b->len += n;
    return 0;
}
static PyObject *f(PyObject *self, PyObject *args)
{
    struct buf b;
    PyObject *r;
    b.p = PyMem_Malloc(8); b.len = 0; b.cap = 8;
    if (b.p == NULL) return PyErr_NoMemory();
    if (put(&b, "hello ", 6) < 0 || put(&b, "world", 5) < 0) { PyMem_Free(b.p); return PyErr_NoMemory(); }
    r = PyBytes_FromStringAndSize(b.p, b.len);
    PyMem_Free(b.p);
    return r;
}

/*** rows of a table that the function makes */
static PyObject *f(PyObject *self, PyObject *args)
{
    int i, r;
    int **m = calloc(3, sizeof *m);
    if (m == NULL) return PyErr_NoMemory();
    for (i = 0; i < 3; i++) { m[i] = malloc(3 * sizeof(int)); if (m[i] == NULL) abort(); m[i][0] = i; }
    r = m[2][0];
    for (i = 0; i < 3; i++) free(m[i]);
    free(m);
    return PyLong_FromLong(r);
}

/*** a buffer that a helper stores through its argument */
static int make(char **out) { *out = malloc(4); return *out ? 0 : -1; }
static PyObject *f(PyObject *self, PyObject *args)
{
    char *p; PyObject *r;
    if (make(&p) < 0) return PyErr_NoMemory();
    p[0] = 1;
    r = PyBytes_FromStringAndSize(p, 1);
    free(p);
    return r;
}

/*** a struct with a buffer, both made by a helper */
struct ctx { int n; int *at; };
static struct ctx *make(void)
{
    struct ctx *c = malloc(sizeof *c);
    if (c == NULL) return NULL;
    c->at = malloc(4 * sizeof(int));
    if (c->at == NULL) { free(c); return NULL; }
    c->n = 0;
    return c;
}
static void done(struct ctx *c) { free(c->at); free(c); }
static PyObject *f(PyObject *self, PyObject *args)
{
    struct ctx *c = make();
    int r;
    if (c == NULL) return PyErr_NoMemory();
    c->at[0] = 7;
    c->n++;
    r = c->at[0] + c->n;
    done(c);
    return PyLong_FromLong(r);
}

/*** a place in a buffer that a helper moves */
typedef struct { char *at; char *end; } out;
static void put(out *o, char c)
{
    if (o->at < o->end)
        *o->at++ = c;
}
static PyObject *f(PyObject *self, PyObject *args)
{
    char text[3];
    out o;
    o.at = text;
    o.end = text + 2;
    put(&o, 'a');
    put(&o, 'b');
    *o.at = 0;
    return PyUnicode_FromString(text);
}

/*** a pointer that a number is added to */
static PyObject *f(PyObject *self, PyObject *args)
{
    PyObject *r; char *t, *p; int n;
    if (!PyArg_ParseTuple(args, "i", &n)) return NULL;
    t = malloc(100);
    if (t == NULL) return PyErr_NoMemory();
    p = t;
    p += n;
    *p = 'a';
    r = PyBytes_FromStringAndSize(t, 100);
    free(t);
    return r;
}

/*** a buffer that goes down three calls */
static void c(unsigned char r[4], int n) { r[0] = n; }
static void b(unsigned char r[4], int n) { c(r, n); r[1] ^= 1; }
static int a(unsigned char *pk, unsigned char *sk, int n) { int i; b(pk, n); for (i = 0; i < 4; i++) sk[i] = pk[i]; return 0; }
static PyObject *f(PyObject *self, PyObject *args)
{
    unsigned char pk[4], sk[4]; int n;
    if (!PyArg_ParseTuple(args, "i", &n)) return NULL;
    a(pk, sk, n);
    return Py_BuildValue("(y#y#)", pk, (Py_ssize_t)4, sk, (Py_ssize_t)4);
}

/*** a local copied through a struct */
typedef struct { char *to; } box;
static PyObject *f(PyObject *self, PyObject *o)
{
    char text[8];
    box a = {text}, b;
    memcpy(&b, &a, sizeof b);
    b.to[0] = 'x';
    return PyLong_FromLong(text[0]);
}
