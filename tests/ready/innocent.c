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

/*** state of the module with a lock held */
typedef struct { PyMutex lock; long n; } conf;
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *st = PyModule_GetState(self);
    PyMutex_Lock(&st->lock);
    st->n++;
    PyMutex_Unlock(&st->lock);
    Py_RETURN_NONE;
}

/*** a helper that is only called with the lock held */
typedef struct { PyMutex lock; long n; } conf;
static void bump(conf *st) { st->n++; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *st = PyModule_GetState(self);
    PyMutex_Lock(&st->lock);
    bump(st);
    PyMutex_Unlock(&st->lock);
    Py_RETURN_NONE;
}

/*** a field in a critical section */
typedef struct { PyObject_HEAD long n; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    Py_BEGIN_CRITICAL_SECTION(arg);
    it->n++;
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
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

/*** a variable of each thread */
static _Thread_local long level;
static __thread char buffer[16];
static PyObject *f(PyObject *self, PyObject *arg)
{
    level++;
    strcpy(buffer, "x");
    Py_RETURN_NONE;
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
static int item_init(PyObject *op, PyObject *args, PyObject *kwds)
{
    Item *it = (Item *)op;
    return PyArg_ParseTuple(args, "l", &it->n) ? 0 : -1;
}
static void item_dealloc(PyObject *op)
{
    ((Item *)op)->n = 0;
    Py_TYPE(op)->tp_free(op);
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_new = item_new, .tp_init = item_init, .tp_dealloc = item_dealloc};
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

/*** the context of a callback on the stack */
typedef struct { long n; } count;
static int each(void *context, int value) { count *c = context; c->n += value; return 0; }
static void walk(int (*visit)(void *, int), void *context) { visit(context, 1); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    count c = {0};
    walk(each, &c);
    return PyLong_FromLong(c.n);
}

/*** a callback of a library with the stack */
typedef struct { long n; } count;
static int each(void *context, int value) { count *c = context; c->n += value; return 0; }
int lib_walk(int (*visit)(void *, int), void *context);
static PyObject *f(PyObject *self, PyObject *arg)
{
    count c = {0};
    lib_walk(each, &c);
    return PyLong_FromLong(c.n);
}

/*** a converter that fills a local */
static int convert(PyObject *object, void *out)
{
    *(long *)out = PyLong_AsLong(object);
    return 1;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = 0;
    PyObject *args = PyTuple_Pack(1, arg);
    if (args == NULL) { return NULL; }
    int ok = PyArg_ParseTuple(args, "O&", convert, &n);
    Py_DECREF(args);
    return ok ? PyLong_FromLong(n) : NULL;
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

/*** a library that gets the stack and numbers */
typedef struct { int level; } Library;
int lib_init(Library *lib, int level);
int lib_sum(const char *text, long size);
static PyObject *f(PyObject *self, PyObject *arg)
{
    Library lib = {0};
    const char *text = PyUnicode_AsUTF8(arg);
    if (text == NULL) { return NULL; }
    lib_init(&lib, 3);
    return PyLong_FromLong(lib_sum(text, 3));
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

/*** a buffer that the caller lends */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_buffer view;
    if (PyObject_GetBuffer(arg, &view, PyBUF_WRITABLE) < 0) { return NULL; }
    char *to = view.buf;
    if (view.len > 0) { to[0] = 'x'; }
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
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

/*** a function behind a pointer in a table, with the stack */
typedef struct { long n; } sub;
static void go(sub *s) { s->n++; }
static const struct { void (*run)(sub *); } ops[] = {{go}};
static PyObject *f(PyObject *self, PyObject *arg)
{
    sub s = {0};
    ops[0].run(&s);
    return PyLong_FromLong(s.n);
}

/*** a static that a comment says is guarded */
static long hits; /* ungil: guarded-by(the lock of the caller) */
static PyObject *f(PyObject *self, PyObject *arg)
{
    hits++;
    Py_RETURN_NONE;
}
