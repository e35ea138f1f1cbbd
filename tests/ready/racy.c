/*** a local that points into a static: `s->n` in `f` */
typedef struct { long n; } sub;
static struct { sub s; } state;
static PyObject *f(PyObject *self, PyObject *arg)
{
    sub *s = &state.s;
    s->n++;
    Py_RETURN_NONE;
}

/*** an element of a static ring: `p->n` in `f` */
typedef struct { long n; } entry;
static entry ring[8];
static PyObject *f(PyObject *self, PyObject *arg)
{
    entry *p = &ring[3];
    p->n++;
    Py_RETURN_NONE;
}

/*** a static array that decays: `*p` in `f` */
static long table[8];
static PyObject *f(PyObject *self, PyObject *arg)
{
    long *p = table;
    *p = 3;
    Py_RETURN_NONE;
}

/*** an accessor that returns an address: `current()->n` in `f` */
typedef struct { long n; } conf;
static conf the_conf;
static conf *current(void) { return &the_conf; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    current()->n = 4;
    Py_RETURN_NONE;
}

/*** the state of the module: PyModule_GetState */
typedef struct { long n; } conf;
static PyObject *f(PyObject *self, PyObject *arg)
{
    ((conf *)PyModule_GetState(self))->n++;
    Py_RETURN_NONE;
}

/*** the state of the module in a variable: `st->n` in `f` */
typedef struct { long n; } conf;
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *st = PyModule_GetState(self);
    st->n++;
    Py_RETURN_NONE;
}

/*** the state of the module by the defining class: `st->n` in `bump` */
typedef struct { long n; } conf;
static void bump(conf *st) { st->n++; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    bump((conf *)PyType_GetModuleState(Py_TYPE(arg)));
    Py_RETURN_NONE;
}

/*** the state of a module that is looked up: `st->n` in `f` */
typedef struct { long n; } conf;
static struct PyModuleDef other = {PyModuleDef_HEAD_INIT, .m_name = "o", .m_size = sizeof(conf)};
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *st = PyModule_GetState(PyState_FindModule(&other));
    st->n++;
    Py_RETURN_NONE;
}

/*** a field of an object that a function of the module takes: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it;
    PyObject *args = PyTuple_Pack(1, arg);
    if (!PyArg_ParseTuple(args, "O!", &ItemType, &it)) {
        return NULL;
    }
    it->n++;
    Py_RETURN_NONE;
}

/*** a member that Python may set: `it->name` in `f` */
#include <structmember.h>
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *name; } Item;
static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(Item, name), 0, NULL},
    {NULL}
};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    return PyObject_Repr(it->name);
}

/*** the C library writes through a parameter of a helper: `to by strcpy` in `put` */
static char buffer[64];
static void put(char *to, const char *what) { strcpy(to, what); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    put(buffer, "x");
    return PyLong_FromLong(1);
}

/*** the context of a callback: `c->n` in `each` */
typedef struct { long n; } count;
static count counts;
static int each(void *context, int value) { count *c = context; c->n += value; return 0; }
static void walk(int (*visit)(void *, int), void *context) { visit(context, 1); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    walk(each, &counts);
    Py_RETURN_NONE;
}

/*** a callback of a library: `c->n` in `each` */
typedef struct { long n; } count;
static count counts;
static int each(void *context, int value) { count *c = context; c->n += value; return 0; }
int lib_walk(int (*visit)(void *, int), const void *context);
static PyObject *f(PyObject *self, PyObject *arg)
{
    lib_walk(each, &counts);
    Py_RETURN_NONE;
}

/*** a capsule that a helper opens: `c->n` in `f` */
typedef struct { long n; } client;
static client *open_client(PyObject *capsule) { return PyCapsule_GetPointer(capsule, NULL); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    client *c = open_client(arg);
    c->n++;
    Py_RETURN_NONE;
}

/*** a variable of another file: `lib_level` in `f` */
extern int lib_level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    lib_level = 3;
    Py_RETURN_NONE;
}

/*** static state of the C library: `strtok` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    char text[] = "a b";
    return PyUnicode_FromString(strtok(text, " "));
}

/*** another one, in a helper: `rand` in `roll` */
#include <stdlib.h>
static int roll(void) { return rand() % 6; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(roll());
}

/*** the time of a static: `localtime` in `f` */
#include <time.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    time_t now = time(NULL);
    return PyLong_FromLong(localtime(&now)->tm_hour);
}

/*** a borrowed entry of sys: `PySys_GetObject` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyObject_Repr(PySys_GetObject("path"));
}

/*** a method that no file defines: `far` */
PyObject *far(PyObject *self, PyObject *arg);
static PyMethodDef more[] = {{"far", far, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyObject *f(PyObject *self, PyObject *arg) { Py_RETURN_NONE; }

/*** a library that gets a handle of the object: `lib_advance` in `f` */
typedef struct { PyObject_HEAD void *handle; } Item;
int lib_advance(void *handle);
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(lib_advance(((Item *)arg)->handle));
}

/*** a library in a static: `lib_init` in `f` */
typedef struct { int level; } Library;
static Library lib;
int lib_init(Library *lib);
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(lib_init(&lib));
}

/*** a static written through an argument: `sysctlbyname` in `f` */
#include <stddef.h>
static size_t size;
int sysctlbyname(const char *, void *, size_t *, void *, size_t);
static PyObject *f(PyObject *self, PyObject *arg)
{
    int cpus;
    return PyLong_FromLong(sysctlbyname("hw", &cpus, &size, NULL, 0));
}

/*** a stream of compression in the object: `it->zst` in `f` */
typedef struct { int avail; } z_stream;
typedef struct { PyObject_HEAD z_stream zst; } Item;
int deflate(z_stream *, int);
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    return PyLong_FromLong(deflate(&it->zst, 0));
}

/*** a node that was published before it is filled: `n->value` in `f` */
typedef struct node { struct node *next; long value; } node;
static node *head; /* ungil: guarded-by(the_lock) */
static PyObject *f(PyObject *self, PyObject *arg)
{
    node *n = malloc(sizeof(node));
    n->next = NULL;
    head = n;
    n->value = 3;
    Py_RETURN_NONE;
}

/*** a struct on the stack that leads to the object: `c->it->n` in `bump` */
typedef struct { PyObject_HEAD long n; } Item;
typedef struct { Item *it; } cursor;
static void bump(cursor *c) { c->it->n++; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    cursor c = {(Item *)arg};
    bump(&c);
    Py_RETURN_NONE;
}

/*** a function behind a pointer in a table: `s->n` in `go` */
typedef struct { long n; } sub;
static sub the_sub;
static void go(sub *s) { s->n++; }
static const struct { void (*run)(sub *); } ops[] = {{go}};
static PyObject *f(PyObject *self, PyObject *arg)
{
    ops[0].run(&the_sub);
    Py_RETURN_NONE;
}

/*** a pointer that nobody here sets: `it->step` in `f` */
typedef struct item { PyObject_HEAD int (*step)(struct item *); } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    return PyLong_FromLong(it->step(it));
}

/*** a struct that is written as a whole: `*it` in `f` */
typedef struct { long a, b; } pair;
static pair pairs[2];
static PyObject *f(PyObject *self, PyObject *arg)
{
    pair p = {1, 2};
    pair *it = pairs;
    *it = p;
    Py_RETURN_NONE;
}
