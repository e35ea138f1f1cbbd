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

/*** the C library writes through a parameter of a helper: `to` by `strcpy` in `put` */
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

/*** an item of a tuple of the caller: `t` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *t)
{
    if (!PyTuple_Check(t) || PyTuple_GET_SIZE(t) == 0) { Py_RETURN_NONE; }
    PyObject *old = PyTuple_GET_ITEM(t, 0);
    PyTuple_SET_ITEM(t, 0, Py_NewRef(self));
    Py_DECREF(old);
    Py_RETURN_NONE;
}

/*** the size of a list of the caller: `l` by `Py_SET_SIZE` in `f` */
static PyObject *f(PyObject *self, PyObject *l)
{
    Py_SET_SIZE(l, 0);
    Py_RETURN_NONE;
}

/*** the type of an object of the caller: `o` by `Py_SET_TYPE` in `f` */
static PyTypeObject Other = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Other"};
static PyObject *f(PyObject *self, PyObject *o)
{
    Py_SET_TYPE(o, &Other);
    Py_RETURN_NONE;
}

/*** the count of an object of the caller: `o` by `Py_SET_REFCNT` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    Py_SET_REFCNT(o, Py_REFCNT(o) + 1);
    Py_RETURN_NONE;
}

/*** a field of a struct sequence of the caller: `s` by `PyStructSequence_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *s)
{
    PyStructSequence_SET_ITEM(s, 0, PyLong_FromLong(3));
    Py_RETURN_NONE;
}

/*** an item of a tuple in a static: `kept` by `PyTuple_SetItem` in `f` */
static PyObject *kept;
static int start(void) { kept = PyTuple_New(1); return 0; }
static PyObject *f(PyObject *self, PyObject *o)
{
    if (PyTuple_SetItem(kept, 0, Py_NewRef(o)) < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** assembly that writes a static: `__asm__` in `f` */
static int count;
static PyObject *f(PyObject *self, PyObject *o)
{
    __asm__ volatile("incl %0" : "+m"(count));
    Py_RETURN_NONE;
}

/*** assembly in a helper, by a pointer: `asm` in `up` */
static int count;
static void up(int *p) { asm volatile("incl (%0)" : : "r"(p) : "memory"); }
static PyObject *f(PyObject *self, PyObject *o)
{
    up(&count);
    Py_RETURN_NONE;
}

/*** assembly in a macro: `__asm__` in `f` */
#define UP(p) __asm__ __volatile__ ("lock; incl %0" : "+m" (*(p)) : : "memory")
static int count;
static PyObject *f(PyObject *self, PyObject *o)
{
    UP(&count);
    Py_RETURN_NONE;
}

/*** the bytes of an argument: `b[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    char *b;
    Py_ssize_t n;
    if (!PyArg_Parse(arg, "y#", &b, &n)) { return NULL; }
    if (n) { b[0] = 0; }
    Py_RETURN_NONE;
}

/*** the bytes of an argument in a tuple, by memset: `b` by `memset` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    char *b;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "s#", &b, &n)) { return NULL; }
    memset(b, 0, n);
    Py_RETURN_NONE;
}

/*** the characters of an argument: `*s++` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    char *s;
    if (!PyArg_ParseTuple(args, "s", &s)) { return NULL; }
    while (*s) { *s++ = 'x'; }
    Py_RETURN_NONE;
}

/*** a buffer of an argument that may be bytes: `((char *)v.buf)[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_buffer v;
    if (!PyArg_ParseTuple(args, "y*", &v)) { return NULL; }
    if (v.len) { ((char *)v.buf)[0] = 0; }
    PyBuffer_Release(&v);
    Py_RETURN_NONE;
}

/*** the bytes by their address: `p[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    char *p;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(o, &p, &n) < 0) { return NULL; }
    if (n) { p[0]++; }
    Py_RETURN_NONE;
}

/*** the characters of a string by the function: `o` by `PyUnicode_WriteChar` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    if (PyUnicode_WriteChar(o, 0, 'x') < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** characters copied into a string: `o` by `PyUnicode_CopyCharacters` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *x = PyUnicode_FromString("x");
    if (x == NULL || PyUnicode_CopyCharacters(o, 0, x, 0, 1) < 0) { return NULL; }
    Py_DECREF(x);
    Py_RETURN_NONE;
}

/*** the cached UTF-8 of a string: `p[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    char *p = (char *)PyUnicode_AsUTF8(o);
    if (p == NULL) { return NULL; }
    p[0] = 'x';
    Py_RETURN_NONE;
}

/*** the dict of a type: `Item.tp_dict` by `PyDict_SetItemString` in `f` */
static PyTypeObject Item = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item"};
static PyObject *f(PyObject *self, PyObject *o)
{
    if (PyDict_SetItemString(Item.tp_dict, "x", o) < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** the dict of the type of an argument: `d` by `PyDict_SetItemString` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *d = Py_TYPE(o)->tp_dict;
    if (PyDict_SetItemString(d, "x", o) < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** a static copied through a struct: `b.to[0]` in `f` */
static char text[8];
typedef struct { char *to; } box;
static PyObject *f(PyObject *self, PyObject *o)
{
    box a = {text}, b;
    memcpy(&b, &a, sizeof b);
    b.to[0] = 'x';
    Py_RETURN_NONE;
}

/*** the place of the dict of an object: `*dict` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject **dict = _PyObject_GetDictPtr(o);
    if (dict && *dict == NULL) { *dict = PyDict_New(); }
    Py_RETURN_NONE;
}

/*** a new list that others have before it is filled: `l` by `PyList_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *l = PyList_New(1);
    if (l == NULL || PyObject_SetAttrString(o, "l", l) < 0) { return NULL; }
    PyList_SET_ITEM(l, 0, Py_NewRef(Py_None));
    return l;
}

/*** an object that a list got by another name: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    PyObject *op = (PyObject *)it;
    if (PyList_Append(l, op) < 0) { return NULL; }
    it->n = 3;
    return op;
}

/*** an object that a helper hands on: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static int add(PyObject *l, Item *what) { return PyList_Append(l, (PyObject *)what); }
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    if (add(l, it) < 0) { return NULL; }
    it->n = 3;
    return (PyObject *)it;
}

/*** an object that a loop fills again: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    for (int i = 0; i < 3; i++) {
        it->n = i;
        if (PyList_Append(l, (PyObject *)it) < 0) { return NULL; }
    }
    return (PyObject *)it;
}

/*** an object that Python code gets: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *call)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    PyObject *r = PyObject_CallFunctionObjArgs(call, it, NULL);
    Py_XDECREF(r);
    it->n = 3;
    return (PyObject *)it;
}

/*** arguments of a call that are used again: `args` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *call)
{
    PyObject *args = PyTuple_New(1);
    if (args == NULL) { return NULL; }
    PyTuple_SET_ITEM(args, 0, Py_NewRef(self));
    Py_XDECREF(PyObject_Call(call, args, NULL));
    PyTuple_SET_ITEM(args, 0, Py_NewRef(Py_None));
    return args;
}

/*** what a published tuple holds: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *it = PyObject_New(Item, &ItemType);
    PyObject *t = PyTuple_New(1);
    if (it == NULL || t == NULL) { return NULL; }
    PyTuple_SET_ITEM(t, 0, (PyObject *)it);
    if (PyList_Append(l, t) < 0) { return NULL; }
    it->n = 3;
    return t;
}

/*** memory that a published object holds: `buf` by `strcpy` in `f` */
typedef struct { PyObject_HEAD char *text; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *it = PyObject_New(Item, &ItemType);
    char *buf = malloc(4);
    if (it == NULL || buf == NULL) { return NULL; }
    it->text = buf;
    if (PyList_Append(l, (PyObject *)it) < 0) { return NULL; }
    strcpy(buf, "abc");
    return (PyObject *)it;
}

/*** the whole of an object: `it` by `memcpy` in `f` */
typedef struct { PyObject_HEAD long n, m; } Item;
static PyObject *f(PyObject *self, PyObject *o)
{
    Item *it = (Item *)o, fresh;
    fresh = *it;
    memcpy(it, &fresh, sizeof fresh);
    Py_RETURN_NONE;
}

/*** the buffer of a bytearray that is resized: `o` by `PyByteArray_Resize` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    if (PyByteArray_Resize(o, 3) < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** a buffer to read, in a helper: `p[0]` in `clear` */
static void clear(Py_buffer *v) { char *p = v->buf; p[0] = 0; }
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_buffer v;
    if (!PyArg_ParseTuple(args, "s*", &v)) { return NULL; }
    clear(&v);
    PyBuffer_Release(&v);
    Py_RETURN_NONE;
}

/*** the dict of a type by its function: `d` by `PyDict_DelItemString` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *d = PyType_GetDict(Py_TYPE(o));
    int r = PyDict_DelItemString(d, "x");
    Py_DECREF(d);
    return PyLong_FromLong(r);
}

/*** the value of a cell: `o` by `PyCell_SET` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyCell_SET(o, Py_NewRef(self));
    Py_RETURN_NONE;
}

/*** assembly in a statement of an expression: `__asm__` in `f` */
static long n;
#define BUMP(p) ({ __asm__ volatile("incq %0" : "+m"(*(p))); *(p); })
static PyObject *f(PyObject *self, PyObject *o)
{
    return PyLong_FromLong(BUMP(&n));
}

/*** an alias made by a pointer to a pointer: `p[0]` in `f` */
static char text[8];
static void pick(char **out) { *out = text; }
static PyObject *f(PyObject *self, PyObject *o)
{
    char *p;
    pick(&p);
    p[0] = 'x';
    Py_RETURN_NONE;
}

/*** a constant table of structs with pointers to what changes: `*r->to` in `f` */
static long a;
typedef struct { const char *name; long *to; } row;
static const row rows[] = {{"a", &a}, {NULL, NULL}};
static PyObject *f(PyObject *self, PyObject *o)
{
    for (const row *r = rows; r->name; r++) { *r->to = 3; }
    Py_RETURN_NONE;
}

/*** a static pointer to const that is cast: `((conf_t *)p)->n` in `f` */
typedef struct { long n; } conf_t;
static conf_t the_conf;
static const conf_t *p = &the_conf;
static PyObject *f(PyObject *self, PyObject *o)
{
    ((conf_t *)p)->n = 3;
    Py_RETURN_NONE;
}

/*** a pointer to a pointer in the function: `p[0]` in `f` */
static char text[8];
static PyObject *f(PyObject *self, PyObject *o)
{
    char *p = NULL, **place = &p;
    *place = text;
    p[0] = 'x';
    Py_RETURN_NONE;
}

/*** a member of a struct with a tag that Python may set: `it->o` in `f` */
#include <structmember.h>
#include <stddef.h>
typedef struct _item { PyObject_HEAD PyObject *o; } Item;
static PyMemberDef members[] = {{"o", T_OBJECT, offsetof(Item, o), 0, NULL}, {NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members};
static PyObject *f(PyObject *self, PyObject *o)
{
    Item *it = (Item *)o;
    return Py_NewRef(it->o);
}

/*** an index the other way round: `1[p]` in `f` */
static long a[4];
static PyObject *f(PyObject *self, PyObject *o) { long *p = a; 1[p] = 3; Py_RETURN_NONE; }

/*** what runs when a local goes: 1 function that was not analysed */
static long n;
static void done(long *x) { n += *x; }
static PyObject *f(PyObject *self, PyObject *o)
{
    __attribute__((cleanup(done))) long x = 3;
    Py_RETURN_NONE;
}

/*** an object that goto fills again: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *l)
{
    int i = 0;
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
again:
    it->n = i;
    if (PyList_Append(l, (PyObject *)it) < 0) { return NULL; }
    if (i++ < 3) { goto again; }
    return (PyObject *)it;
}

/*** an object that a helper made and handed on: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static Item *last; /* ungil: guarded-by(x) */
static Item *make(void) { Item *it = PyObject_New(Item, &ItemType); last = it; return it; }
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *it = make();
    it->n = 3;
    return (PyObject *)it;
}

/*** writing through a pointer in a struct that a library set: `b.to[0]` in `f` */
typedef struct { char *to; } box;
int lib_buffer(box *out);
static PyObject *f(PyObject *self, PyObject *o) { box b; if (lib_buffer(&b)) { b.to[0] = 'x'; } Py_RETURN_NONE; }

/*** a tuple of the caller that a macro puts in a local: `t` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *t = PyTuple_New(1);
    if (t == NULL) { return NULL; }
    Py_SETREF(t, Py_NewRef(o));
    PyTuple_SET_ITEM(t, 0, Py_NewRef(Py_None));
    return t;
}

/*** an argument that only one branch replaces: `args` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    if (PyTuple_GET_SIZE(args) == 0) { args = PyTuple_New(1); }
    PyTuple_SET_ITEM(args, 0, Py_NewRef(Py_None));
    Py_RETURN_NONE;
}

/*** an argument that is replaced at the end of a loop: `t` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject *t = PyTuple_New(1);
    for (int i = 0; i < 3; i++) {
        PyTuple_SET_ITEM(t, 0, Py_NewRef(Py_None));
        t = Py_NewRef(o);
    }
    return t;
}

/*** an argument that a jump leaves as it was: `args` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    if (PyTuple_GET_SIZE(args)) { goto fill; }
    args = PyTuple_New(1);
fill:
    PyTuple_SET_ITEM(args, 0, Py_NewRef(Py_None));
    Py_RETURN_NONE;
}

/*** an argument that one condition replaces: `args` by `PyTuple_SET_ITEM` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    if (PyTuple_GET_SIZE(args) == 0 && (args = PyTuple_New(1)) == NULL) { return NULL; }
    PyTuple_SET_ITEM(args, 0, Py_NewRef(Py_None));
    Py_RETURN_NONE;
}

/*** an object by the name that a helper gives it: `it->n` in `f` */
typedef struct item { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static Item *itself(Item *it) { return it; }
static PyObject *f(PyObject *self, PyObject *l)
{
    Item *raw = PyObject_New(Item, &ItemType);
    if (raw == NULL || PyList_Append(l, (PyObject *)raw) < 0) { return NULL; }
    Item *it = itself(raw);
    it->n = 3;
    return (PyObject *)it;
}

/*** a getter without the lock of the setter: `it->name` in `get` */
typedef struct { PyObject_HEAD PyObject *name; } Item;
static PyObject *get(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    return Py_XNewRef(it->name);
}
static PyObject *set(PyObject *self, PyObject *name)
{
    Item *it = (Item *)self;
    Py_BEGIN_CRITICAL_SECTION(self);
    Py_XSETREF(it->name, Py_NewRef(name));
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}
static PyMethodDef of_item[] = {{"get", get, METH_NOARGS, NULL}, {"set", set, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = of_item};
static PyObject *f(PyObject *self, PyObject *arg) { return Py_NewRef((PyObject *)&ItemType); }

/*** the lock of the argument instead of the own one: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)self;
    Py_BEGIN_CRITICAL_SECTION(arg);
    it->n++;
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

/*** two locks for one field: `it->n` in `f` */
typedef struct { PyObject_HEAD PyMutex lock; long n; } Item;
static void add(Item *it) { Py_BEGIN_CRITICAL_SECTION(it); it->n++; Py_END_CRITICAL_SECTION(); }
static void sub(Item *it) { Py_BEGIN_CRITICAL_SECTION(it); it->n--; Py_END_CRITICAL_SECTION(); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    add(it);
    sub(it);
    PyMutex_Lock(&it->lock);
    it->n += 2;
    PyMutex_Unlock(&it->lock);
    Py_RETURN_NONE;
}

/*** between two regions with the lock: `level` in `f` */
static PyMutex guard;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&guard);
    level++;
    PyMutex_Unlock(&guard);
    long seen = level;
    PyMutex_Lock(&guard);
    level--;
    PyMutex_Unlock(&guard);
    return PyLong_FromLong(seen);
}

/*** a lock on one path only: `level` in `f` */
static PyMutex guard;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (arg != Py_None) { PyMutex_Lock(&guard); }
    level++;
    if (arg != Py_None) { PyMutex_Unlock(&guard); }
    Py_RETURN_NONE;
}

/*** the lock of another object in a helper: `it->n` in `add` */
typedef struct { PyObject_HEAD PyMutex lock; long n; } Item;
static void add(Item *it) { it->n++; }
static PyObject *f(PyObject *self, PyObject *args)
{
    Item *one, *other;
    if (!PyArg_ParseTuple(args, "OO", &one, &other)) { return NULL; }
    PyMutex_Lock(&one->lock);
    add(other);
    PyMutex_Unlock(&one->lock);
    Py_RETURN_NONE;
}

/*** a lock of each element for another element: `ring[i].n` in `f` */
static struct { PyMutex lock; long n; } ring[4];
static PyObject *f(PyObject *self, PyObject *arg)
{
    long i = PyLong_AsLong(arg) & 3;
    PyMutex_Lock(&ring[0].lock);
    ring[i].n++;
    PyMutex_Unlock(&ring[0].lock);
    Py_RETURN_NONE;
}

/*** a handle that a library gets with a lock, read without: `((Item *)self)->handle` in `get` */
typedef struct { PyObject_HEAD PyMutex lock; void *handle; } Item;
extern void lib_advance(void *);
static PyObject *get(PyObject *self, PyObject *unused)
{
    return PyBool_FromLong(((Item *)self)->handle != NULL);
}
static PyObject *step(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    PyMutex_Lock(&it->lock);
    lib_advance(it->handle);
    it->handle = NULL;
    PyMutex_Unlock(&it->lock);
    Py_RETURN_NONE;
}
static PyMethodDef of_item[] = {{"get", get, METH_NOARGS, NULL}, {"step", step, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = of_item};
static PyObject *f(PyObject *self, PyObject *arg) { return Py_NewRef((PyObject *)&ItemType); }

/*** a destructor that counts in what other objects have too: `it->pool->open` in `dealloc` */
typedef struct { long open; } pool;
typedef struct { PyObject_HEAD pool *pool; char *text; } Item;
static void dealloc(Item *it)
{
    it->text[0] = 0;
    free(it->text);
    it->pool->open--;
    Py_TYPE(it)->tp_free((PyObject *)it);
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_dealloc = (destructor)dealloc};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)ItemType.tp_alloc(&ItemType, 0);
    if (it == NULL) { return NULL; }
    it->text = malloc(4);
    it->pool = ((Item *)arg)->pool;
    return (PyObject *)it;
}

/*** the defaults of a function: `PyFunction_GetDefaults` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    if (!PyFunction_Check(o)) { Py_RETURN_NONE; }
    PyObject *d = PyFunction_GetDefaults(o);
    return d ? PyObject_Repr(d) : Py_NewRef(Py_None);
}

/*** the arguments of an exception: `((PyBaseExceptionObject *)o)->args` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    return PyObject_Repr(((PyBaseExceptionObject *)o)->args);
}

/*** the dict of an instance: `_PyObject_GetDictPtr` in `f` */
static PyObject *f(PyObject *self, PyObject *o)
{
    PyObject **place = _PyObject_GetDictPtr(o);
    return place && *place ? PyObject_Repr(*place) : Py_NewRef(Py_None);
}

/*** a size that Python may set between two looks: `it->size` in `f` */
#include <stddef.h>
typedef struct { PyObject_HEAD int size; } Item;
static PyMemberDef members[] = {{"size", Py_T_INT, offsetof(Item, size), 0, NULL}, {NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    PyObject *l = PyList_New(it->size);
    for (int i = 0; l && i < it->size; i++) { PyList_SET_ITEM(l, i, Py_NewRef((PyObject *)&ItemType)); }
    return l;
}

/*** a size that is asked apart from the copy: `PyList_GET_SIZE(arg)` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (!PyList_Check(arg)) { Py_RETURN_NONE; }
    Py_ssize_t n = PyList_GET_SIZE(arg);
    PyObject *copy = PyList_GetSlice(arg, 0, n);
    long sum = 0;
    if (copy == NULL) { return NULL; }
    for (Py_ssize_t i = 0; i < n; i++) { sum += PyObject_IsTrue(PyList_GET_ITEM(copy, i)); }
    Py_DECREF(copy);
    return PyLong_FromLong(sum);
}

/*** a size for memory that an iterator fills: `PyObject_Length(arg)` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_ssize_t n = PyObject_Length(arg), i = 0;
    if (n < 0) { return NULL; }
    long *all = malloc((n + 1) * sizeof(long));
    PyObject *iterator = PyObject_GetIter(arg), *item;
    if (all == NULL || iterator == NULL) { free(all); Py_XDECREF(iterator); return NULL; }
    while ((item = PyIter_Next(iterator)) != NULL) { all[i++] = PyObject_IsTrue(item); Py_DECREF(item); }
    Py_DECREF(iterator);
    free(all);
    return PyLong_FromSsize_t(i);
}

/*** keys and values one after the other: `PyDict_Values(arg)` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (!PyDict_Check(arg)) { Py_RETURN_NONE; }
    PyObject *keys = PyDict_Keys(arg), *values = PyDict_Values(arg), *result = NULL;
    if (keys != NULL && values != NULL) { result = PyTuple_Pack(2, keys, values); }
    Py_XDECREF(keys);
    Py_XDECREF(values);
    return result;
}

/*** an attribute that is used after its release: `next` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *next = PyObject_GetAttrString(arg, "next");
    if (next == NULL) { return NULL; }
    Py_DECREF(next);
    return PyObject_Repr(next);
}

/*** a helper that gives what it has released: `v` in `attr` */
static PyObject *attr(PyObject *o) { PyObject *v = PyObject_GetAttrString(o, "x"); Py_XDECREF(v); return v; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *v = attr(arg);
    return v == NULL ? NULL : PyObject_Repr(v);
}

/*** an item that is used after its release: `item` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *item;
    if (!PyDict_Check(arg) || PyDict_GetItemRef(arg, Py_None, &item) < 0) { return NULL; }
    if (item == NULL) { Py_RETURN_NONE; }
    Py_DECREF(item);
    return PyObject_Repr(item);
}

/*** the name of a module: `PyModule_GetName` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    const char *name = PyModule_GetName(self);
    return name == NULL ? NULL : PyUnicode_FromString(name);
}

/*** a lock that may not have been had: `level` in `f` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    int failed = pthread_mutex_trylock(&guard);
    level++;
    if (!failed) { pthread_mutex_unlock(&guard); }
    Py_RETURN_NONE;
}

/*** an attribute that was there when asked: PyObject_GetAttrString */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *v, *r;
    if (!PyObject_HasAttrString(arg, "a")) { Py_RETURN_NONE; }
    v = PyObject_GetAttrString(arg, "a");
    r = PyUnicode_FromString(Py_TYPE(v)->tp_name);
    Py_DECREF(v);
    return r;
}

/*** a key that was there when asked: PyObject_GetItem */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *keys = PyMapping_Keys(arg);
    long n = 0;
    if (keys == NULL) { return NULL; }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        PyObject *v = PyObject_GetItem(arg, PyList_GET_ITEM(keys, i));
        n += PyLong_Check(v);
        Py_DECREF(v);
    }
    Py_DECREF(keys);
    return PyLong_FromLong(n);
}

/*** an item below a size: PySequence_GetItem */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_ssize_t n = PySequence_Size(arg);
    PyObject *r = PyTuple_New(n < 0 ? 0 : n);
    if (r == NULL) { return NULL; }
    for (Py_ssize_t i = 0; i < n; i++) { PyTuple_SET_ITEM(r, i, PySequence_GetItem(arg, i)); }
    return r;
}

/*** a set that is not empty: PySet_Pop */
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = 0;
    while (PySet_Size(arg) > 0) {
        PyObject *x = PySet_Pop(arg);
        n += PyLong_AsLong(x);
        Py_DECREF(x);
    }
    return PyLong_FromLong(n);
}

/*** the first of what is not empty: PyIter_Next */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *it, *x;
    if (!PyAnySet_Check(arg) || PySet_GET_SIZE(arg) == 0) { Py_RETURN_NONE; }
    it = PyObject_GetIter(arg);
    if (it == NULL) { return NULL; }
    x = PyIter_Next(it);
    Py_DECREF(it);
    if (PyLong_Check(x)) { return x; }
    Py_DECREF(x);
    Py_RETURN_NONE;
}

/*** the first key of a dict that is not empty: `PyDict_Size(arg)` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *keys, *key;
    if (!PyDict_Check(arg) || PyDict_Size(arg) == 0) { Py_RETURN_NONE; }
    keys = PyDict_Keys(arg);
    if (keys == NULL) { return NULL; }
    key = Py_NewRef(PyList_GET_ITEM(keys, 0));
    Py_DECREF(keys);
    return key;
}

/*** text of an attribute behind its release: `s` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    const char *s;
    PyObject *v = PyObject_GetAttrString(arg, "name");
    if (v == NULL) { return NULL; }
    s = PyUnicode_AsUTF8(v);
    Py_DECREF(v);
    return s == NULL ? NULL : PyUnicode_FromString(s);
}

/*** a helper that gives text of what it has released: `s` in `attr` */
static const char *attr(PyObject *o, const char *name)
{
    PyObject *v = PyObject_GetAttrString(o, name);
    const char *s;
    if (v == NULL) { return NULL; }
    s = PyUnicode_AsUTF8(v);
    Py_DECREF(v);
    return s;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    const char *s = attr(arg, "name");
    return s == NULL ? NULL : PyUnicode_FromString(s);
}

/*** bytes of an item behind its release: `end` in `f` */
#include <string.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *v = PySequence_GetItem(arg, 0);
    if (v == NULL) { return NULL; }
    if (!PyBytes_Check(v)) { Py_DECREF(v); Py_RETURN_NONE; }
    char *end = strrchr(PyBytes_AS_STRING(v), '.');
    Py_CLEAR(v);
    return end == NULL ? PyLong_FromLong(0) : PyUnicode_FromString(end + 1);
}

/*** an item of a tuple behind its release: `a` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *t = PyObject_GetAttrString(arg, "args"), *a;
    if (t == NULL) { return NULL; }
    if (!PyTuple_Check(t) || PyTuple_GET_SIZE(t) < 1) { Py_DECREF(t); Py_RETURN_NONE; }
    a = PyTuple_GET_ITEM(t, 0);
    Py_DECREF(t);
    return PyObject_Repr(a);
}

/*** an item of a tuple that is counted too late: `a` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *t = PyObject_GetAttrString(arg, "args"), *a;
    if (t == NULL) { return NULL; }
    if (!PyArg_ParseTuple(t, "O", &a)) { Py_DECREF(t); return NULL; }
    Py_DECREF(t);
    Py_INCREF(a);
    return a;
}

/*** text in an array behind the release of its objects: `s[n - 1]` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_ssize_t i, n = PySequence_Size(arg);
    PyObject *r;
    if (n < 1) { return NULL; }
    const char **s = calloc(n + 1, sizeof *s);
    if (s == NULL) { return PyErr_NoMemory(); }
    for (i = 0; i < n; i++) {
        PyObject *x = PySequence_GetItem(arg, i);
        if (x == NULL) { free(s); return NULL; }
        s[i] = PyUnicode_AsUTF8(x);
        Py_DECREF(x);
        if (s[i] == NULL) { free(s); return NULL; }
    }
    r = PyUnicode_FromString(s[n - 1]);
    free(s);
    return r;
}

/*** text of items behind the release of their tuple: `s[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    const char *s[4] = {0};
    PyObject *t = PySequence_Tuple(arg);
    if (t == NULL) { return NULL; }
    for (Py_ssize_t i = 0; i < 4 && i < PyTuple_GET_SIZE(t); i++) {
        s[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(t, i));
        if (s[i] == NULL) { Py_DECREF(t); return NULL; }
    }
    Py_DECREF(t);
    return s[0] == NULL ? NULL : PyUnicode_FromString(s[0]);
}

/*** text in a struct of the caller: `c->name = PyUnicode_AsUTF8(v)` in `fill` */
typedef struct { const char *name; } conf;
static int fill(conf *c, PyObject *o)
{
    PyObject *v = PyObject_GetAttrString(o, "name");
    if (v == NULL) { return -1; }
    c->name = PyUnicode_AsUTF8(v);
    Py_DECREF(v);
    return c->name == NULL ? -1 : 0;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf c;
    return fill(&c, arg) < 0 ? NULL : PyUnicode_FromString(c.name);
}

/*** the bytes of a buffer that was given back: `v.buf` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_buffer v;
    long n = 0;
    if (PyObject_GetBuffer(arg, &v, PyBUF_SIMPLE) < 0) { return NULL; }
    PyBuffer_Release(&v);
    for (Py_ssize_t i = 0; i < v.len; i++) { n += ((char *)v.buf)[i]; }
    return PyLong_FromLong(n);
}

/*** a pointer into a buffer that was given back: `text` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_buffer v;
    if (!PyArg_ParseTuple(args, "y*", &v)) { return NULL; }
    const char *text = (const char *)v.buf + 1;
    PyBuffer_Release(&v);
    return v.len > 1 ? PyLong_FromLong(*text) : NULL;
}

/*** the bytes of a bytearray of the caller: `PyByteArray_AsString` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (!PyByteArray_Check(arg)) { Py_RETURN_NONE; }
    const char *p = PyByteArray_AsString(arg);
    long n = 0;
    for (Py_ssize_t i = 0; i < PyByteArray_Size(arg); i++) { n += p[i]; }
    return PyLong_FromLong(n);
}

/*** a copy of the bytes of a bytearray: `PyByteArray_AS_STRING` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (!PyByteArray_Check(arg)) { Py_RETURN_NONE; }
    return PyBytes_FromStringAndSize(PyByteArray_AS_STRING(arg), PyByteArray_GET_SIZE(arg));
}

/*** memory for one size of a sequence, filled by the next: UG704 */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_ssize_t n = PySequence_Size(arg), i;
    long *b = malloc((n + 1) * sizeof *b), t = 0;
    if (b == NULL) { return PyErr_NoMemory(); }
    for (i = 0; i < PySequence_Size(arg); i++) {
        PyObject *x = PySequence_GetItem(arg, i);
        if (x == NULL) { free(b); return NULL; }
        b[i] = PyLong_Check(x);
        t += b[i];
        Py_DECREF(x);
    }
    free(b);
    return PyLong_FromLong(t);
}

/*** memory for a sequence that is copied later: `PyObject_Length(arg)` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_ssize_t i, n = PyObject_Length(arg);
    if (n < 0) { return NULL; }
    double *b = calloc(n + 1, sizeof *b);
    if (b == NULL) { return PyErr_NoMemory(); }
    PyObject *all = PySequence_Tuple(arg);
    if (all == NULL) { free(b); return NULL; }
    for (i = 0; i < PyTuple_GET_SIZE(all); i++) { b[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(all, i)); }
    Py_DECREF(all);
    free(b);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(i);
}

/*** memory for a sequence that is made a list later: `PyObject_Size(arg)` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_ssize_t i, n = PyObject_Size(arg);
    if (n < 0) { return NULL; }
    char *b = calloc(n + 1, 1);
    if (b == NULL) { return PyErr_NoMemory(); }
    PyObject *all = PySequence_Fast(arg, "");
    if (all == NULL) { free(b); return NULL; }
    for (i = 0; i < PySequence_Fast_GET_SIZE(all); i++) { b[i] = 1; }
    Py_DECREF(all);
    free(b);
    return PyLong_FromSsize_t(i);
}

/*** the name of a class: `((PyHeapTypeObject *)arg)->ht_name` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyObject_Repr(((PyHeapTypeObject *)arg)->ht_name);
}

/*** a dict that Python code replaces: `it->dict` in `get` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *dict; } Item;
static PyObject *get(Item *it, PyObject *name) { return it->dict == NULL ? NULL : PyObject_GetItem(it->dict, name); }
static PyMethodDef item_methods[] = {{"get", (PyCFunction)get, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = PyType_GenericNew, .tp_methods = item_methods,
    .tp_getset = attributes, .tp_dictoffset = offsetof(Item, dict),
};
static PyObject *f(PyObject *self, PyObject *arg) { return PyObject_CallNoArgs((PyObject *)&ItemType); }

/*** a lock that readers share: `looks` */
#include <pthread.h>
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static long looks;
static PyObject *f(PyObject *self, PyObject *arg)
{
    pthread_rwlock_rdlock(&guard);
    long n = ++looks;
    pthread_rwlock_unlock(&guard);
    return PyLong_FromLong(n);
}

/*** a lock that readers share, taken by a helper: `looks` */
#include <pthread.h>
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static long looks;
static void enter(pthread_rwlock_t *it) { pthread_rwlock_rdlock(it); }
static void leave(pthread_rwlock_t *it) { pthread_rwlock_unlock(it); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    enter(&guard);
    long n = ++looks;
    leave(&guard);
    return PyLong_FromLong(n);
}

/*** a lock that is not waited for: `level` */
static PyThread_type_lock guard;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    int had = PyThread_acquire_lock(guard, NOWAIT_LOCK);
    level++;
    if (had) { PyThread_release_lock(guard); }
    Py_RETURN_NONE;
}

/*** a lock that is waited for in vain: `level` */
static PyThread_type_lock guard;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyLockStatus had = PyThread_acquire_lock_timed(guard, 1000, 0);
    level++;
    if (had == PY_LOCK_ACQUIRED) { PyThread_release_lock(guard); }
    Py_RETURN_NONE;
}

/*** a lock that was had if the answer is the other one: `level` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static long level;
static int pool_lock(void) { return pthread_mutex_trylock(&guard) == 0; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (pool_lock() == 0) { level++; Py_RETURN_NONE; }
    pthread_mutex_unlock(&guard);
    Py_RETURN_NONE;
}

/*** a helper that only tries to lock: `level` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static long level;
static int pool_lock(void) { return pthread_mutex_trylock(&guard) == 0; }
static void pool_unlock(void) { pthread_mutex_unlock(&guard); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool_lock();
    level++;
    pool_unlock();
    Py_RETURN_NONE;
}

/*** lock functions that do nothing: `level` */
static long level;
static void pool_lock(void) {}
static void pool_unlock(void) {}
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool_lock();
    level++;
    pool_unlock();
    Py_RETURN_NONE;
}

/*** lock functions that do nothing in some builds: `level` */
static long level;
#ifdef POOL_THREADS
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static void pool_lock(void) { pthread_mutex_lock(&guard); }
static void pool_unlock(void) { pthread_mutex_unlock(&guard); }
#else
static void pool_lock(void) {}
static void pool_unlock(void) {}
#endif
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool_lock();
    level++;
    pool_unlock();
    Py_RETURN_NONE;
}

/*** a body that is left out in some builds: `level` */
#ifdef POOL_THREADS
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
#endif
static long level;
static void enter(void)
{
#ifdef POOL_THREADS
    pthread_mutex_lock(&guard);
#endif
}
static void leave(void)
{
#ifdef POOL_THREADS
    pthread_mutex_unlock(&guard);
#endif
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    enter();
    long n = ++level;
    leave();
    return PyLong_FromLong(n);
}

/*** a helper that locks if it is asked to: `level` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int many;
static long level;
static void pool_lock(void) { if (many) { pthread_mutex_lock(&guard); } }
static void pool_unlock(void) { if (many) { pthread_mutex_unlock(&guard); } }
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool_lock();
    level++;
    pool_unlock();
    Py_RETURN_NONE;
}

/*** a helper that gives the lock of its caller back: `level` */
static PyMutex guard;
static long level;
static void settle(void) { PyMutex_Unlock(&guard); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&guard);
    settle();
    long n = ++level;
    return PyLong_FromLong(n);
}

/*** a helper that works between two locks: `level` */
static PyMutex guard;
static long level;
static void rest(PyMutex *it)
{
    PyMutex_Unlock(it);
    level++;
    PyMutex_Lock(it);
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&guard);
    rest(&guard);
    PyMutex_Unlock(&guard);
    Py_RETURN_NONE;
}

/*** a lock that is made on first use: `guard` */
static PyThread_type_lock guard;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (guard == NULL) { guard = PyThread_allocate_lock(); }
    PyThread_acquire_lock(guard, WAIT_LOCK);
    level++;
    PyThread_release_lock(guard);
    Py_RETURN_NONE;
}

/*** a lock that is made where it is asked for: `guard` in `the_lock` */
static PyThread_type_lock guard;
static long level;
static PyThread_type_lock the_lock(void)
{
    if (guard == NULL) { guard = PyThread_allocate_lock(); }
    return guard;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyThread_acquire_lock(the_lock(), 1);
    level++;
    PyThread_release_lock(the_lock());
    Py_RETURN_NONE;
}

/*** a lock that a method ends: `guard` in `f` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static PyObject *f(PyObject *self, PyObject *arg)
{
    pthread_mutex_destroy(&guard);
    pthread_mutex_init(&guard, NULL);
    Py_RETURN_NONE;
}

/*** the folder of the process: `chdir` in `f` */
#include <unistd.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    char before[512];
    if (getcwd(before, sizeof before) == NULL || chdir("/tmp") < 0) { return NULL; }
    return PyLong_FromLong(chdir(before));
}

/*** what new files may be: `umask` in `f` */
#include <sys/stat.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    mode_t before = umask(077);
    umask(before);
    Py_RETURN_NONE;
}

/*** the settings of a terminal: `tcsetattr` in `f` */
#include <termios.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct termios it;
    tcgetattr(0, &it);
    it.c_lflag &= ~ECHO;
    tcsetattr(0, TCSANOW, &it);
    Py_RETURN_NONE;
}

/*** where a stream stands: `((Book *)self)->file` by `fseek` in `f` */
#include <stdio.h>
typedef struct { PyObject_HEAD FILE *file; } Book;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char record[16];
    fseek(((Book *)self)->file, 16, SEEK_SET);
    fread(record, 1, 16, ((Book *)self)->file);
    return PyBytes_FromStringAndSize(record, 16);
}

/*** where a file stands that a helper moves: `fd` by `lseek` in `to` */
#include <unistd.h>
typedef struct { PyObject_HEAD int fd; } Book;
static void to(int fd, off_t at) { lseek(fd, at, SEEK_SET); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    Book *book = (Book *)self;
    char record[16];
    to(book->fd, 16);
    return PyLong_FromSsize_t(read(book->fd, record, 16));
}

/*** where a file stands that a static variable has: `log_fd` by `lseek` in `f` */
#include <unistd.h>
static int log_fd = 2;
static PyObject *f(PyObject *self, PyObject *arg)
{
    lseek(log_fd, 0, SEEK_END);
    write(log_fd, "x", 1);
    Py_RETURN_NONE;
}

/*** a file that is read with a lock, and moved without: `book->fd` in `rewound` */
#include <unistd.h>
typedef struct { PyObject_HEAD PyMutex lock; int fd; } Book;
static PyObject *rewound(PyObject *self, PyObject *unused)
{
    Book *book = (Book *)self;
    return PyLong_FromLong(lseek(book->fd, 0, SEEK_SET));
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    Book *book = (Book *)self;
    char record[16];
    PyMutex_Lock(&book->lock);
    lseek(book->fd, 16, SEEK_SET);
    read(book->fd, record, 16);
    PyMutex_Unlock(&book->lock);
    return PyBytes_FromStringAndSize(record, 16);
}
static PyMethodDef of_book[] = {{"rewound", rewound, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject BookType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Book", .tp_basicsize = sizeof(Book), .tp_methods = of_book};

/*** a text that is used after the lock it was read with: `name` in `f` */
static PyMutex guard;
static char *name;
static PyObject *get(PyObject *self, PyObject *unused)
{
    PyMutex_Lock(&guard);
    const char *text = name;
    PyMutex_Unlock(&guard);
    return PyUnicode_FromString(text ? text : "");
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    const char *text = PyUnicode_AsUTF8(arg);
    char *copy = text == NULL ? NULL : strdup(text);
    PyMutex_Lock(&guard);
    free(name);
    name = copy;
    PyMutex_Unlock(&guard);
    Py_RETURN_NONE;
}
static PyMethodDef others[] = {{"get", get, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

/*** a text that a helper has read with the lock: `name` in `f` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char *name;
static const char *current(void)
{
    pthread_mutex_lock(&guard);
    const char *text = name;
    pthread_mutex_unlock(&guard);
    return text;
}
static PyObject *get(PyObject *self, PyObject *unused) { return Py_BuildValue("z", current()); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    char *copy = strdup("x");
    pthread_mutex_lock(&guard);
    free(name);
    name = copy;
    pthread_mutex_unlock(&guard);
    Py_RETURN_NONE;
}
static PyMethodDef others[] = {{"get", get, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

/*** an object that is counted after the lock: `last` in `f` */
static PyMutex guard;
static PyObject *last;
static PyObject *get(PyObject *self, PyObject *unused)
{
    PyMutex_Lock(&guard);
    PyObject *o = last;
    PyMutex_Unlock(&guard);
    if (o == NULL) { Py_RETURN_NONE; }
    Py_INCREF(o);
    return o;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&guard);
    PyObject *before = last;
    last = Py_NewRef(arg);
    PyMutex_Unlock(&guard);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}
static PyMethodDef others[] = {{"get", get, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

/*** the text of an object after its section: `it->text` in `set` */
typedef struct { PyObject_HEAD char *text; } Item;
static PyObject *get(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    const char *text;
    Py_BEGIN_CRITICAL_SECTION(self);
    text = it->text;
    Py_END_CRITICAL_SECTION();
    return PyUnicode_FromString(text);
}
static PyObject *set(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)self;
    Py_BEGIN_CRITICAL_SECTION(self);
    free(it->text);
    it->text = strdup("x");
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}
static PyMethodDef of_item[] = {{"get", get, METH_NOARGS, NULL}, {"set", set, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = of_item};
static PyObject *f(PyObject *self, PyObject *arg) { return Py_NewRef((PyObject *)&ItemType); }

/*** numbers that are added up after the lock: `it->all` in `grow` */
typedef struct { PyObject_HEAD PyMutex lock; double *all; Py_ssize_t n; } Item;
static PyObject *sum(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    double s = 0;
    PyMutex_Lock(&it->lock);
    double *all = it->all;
    Py_ssize_t n = it->n;
    PyMutex_Unlock(&it->lock);
    for (Py_ssize_t i = 0; i < n; i++) { s += all[i]; }
    return PyFloat_FromDouble(s);
}
static PyObject *grow(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    PyMutex_Lock(&it->lock);
    double *all = realloc(it->all, (it->n + 1) * sizeof(double));
    if (all != NULL) {
        it->all = all;
        it->all[it->n++] = 0;
    }
    PyMutex_Unlock(&it->lock);
    Py_RETURN_NONE;
}
static PyMethodDef of_item[] = {{"sum", sum, METH_NOARGS, NULL}, {"grow", grow, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = of_item};
static PyObject *f(PyObject *self, PyObject *arg) { return Py_NewRef((PyObject *)&ItemType); }

/*** a record that was found with the lock: `r` by `free` in `pop` */
typedef struct rec { struct rec *next; long key; char text[16]; } rec;
static rec *recs;
static PyMutex guard;
static rec *find(long key)
{
    rec *r;
    PyMutex_Lock(&guard);
    for (r = recs; r != NULL && r->key != key; r = r->next) {}
    PyMutex_Unlock(&guard);
    return r;
}
static PyObject *pop(PyObject *self, PyObject *unused)
{
    PyMutex_Lock(&guard);
    rec *r = recs;
    if (r != NULL) { recs = r->next; }
    PyMutex_Unlock(&guard);
    free(r);
    Py_RETURN_NONE;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    rec *r = find(PyLong_AsLong(arg));
    return r == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(r->text);
}
static PyMethodDef others[] = {{"pop", pop, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

/*** an object that one thread loads and another releases: `cur` in `f` */
static PyObject *cur;
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *now = __atomic_load_n(&cur, __ATOMIC_SEQ_CST);
    PyObject *text = now ? PyObject_Str(now) : Py_NewRef(Py_None);
    PyObject *old = __atomic_exchange_n(&cur, Py_NewRef(arg), __ATOMIC_SEQ_CST);
    Py_XDECREF(old);
    return text;
}

/*** an atomic count that is loaded and stored apart: `served` in `f` */
#include <stdatomic.h>
static atomic_long served;
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = atomic_load(&served);
    if (PyObject_IsTrue(arg)) { n++; }
    atomic_store(&served, n);
    return PyLong_FromLong(n);
}

/*** an atomic count that an assignment steps: `it->n` in `f` */
typedef struct { PyObject_HEAD _Atomic long n; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    it->n = it->n + 1;
    return PyLong_FromLong(it->n);
}

/*** the conversion state of C: `mbrtowc` in `f` */
#include <wchar.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    const char *text = PyUnicode_AsUTF8(arg);
    wchar_t letter;
    if (text == NULL) { return NULL; }
    return PyLong_FromSize_t(mbrtowc(&letter, text, strlen(text), NULL));
}

/*** a lock of each thread: `total` in `f` */
static _Thread_local PyMutex lock;
static long total;
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&lock);
    total++;
    PyMutex_Unlock(&lock);
    Py_RETURN_NONE;
}

/*** a lock in each of two functions: `total` in `add` */
static long total;
static void add(long n) { static PyMutex lock; PyMutex_Lock(&lock); total += n; PyMutex_Unlock(&lock); }
static long drain(void) { static PyMutex lock; PyMutex_Lock(&lock); long n = total; total = 0; PyMutex_Unlock(&lock); return n; }
static PyObject *f(PyObject *self, PyObject *arg) { add(PyLong_AsLong(arg)); return PyLong_FromLong(drain()); }

/*** a lock of one of many that have the ring: `self->ring->at` in `put` */
struct ring { size_t at; };
static struct ring the_ring;
typedef struct { PyObject_HEAD PyMutex lock; struct ring *ring; } Writer;
static void make(Writer *self) { self->ring = &the_ring; }
static void put(Writer *self) { PyMutex_Lock(&self->lock); self->ring->at++; PyMutex_Unlock(&self->lock); }
static PyObject *f(PyObject *self, PyObject *arg) { make((Writer *)self); put((Writer *)self); Py_RETURN_NONE; }

/*** one of several locks of an object: `it->n` in `f` */
typedef struct { PyObject_HEAD PyMutex locks[2]; long n; } Map;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Map *it = (Map *)arg;
    PyMutex_Lock(&it->locks[0]);
    it->n++;
    PyMutex_Unlock(&it->locks[0]);
    PyMutex_Lock(&it->locks[1]);
    it->n--;
    PyMutex_Unlock(&it->locks[1]);
    Py_RETURN_NONE;
}

/*** a write by a parameter with the lock held: `*at` in `replace` */
#include <stdlib.h>
#include <string.h>
typedef struct { PyObject_HEAD char *text; } Item;
static void replace(char **at, const char *text) { *at = strdup(text); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)self;
    Py_BEGIN_CRITICAL_SECTION(self);
    replace(&it->text, "new");
    Py_END_CRITICAL_SECTION();
    return PyUnicode_FromString(it->text);
}

/*** a struct that is read as a whole: `state` in `f` */
static struct state { long first, last; } state;
static PyMutex lock;
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&lock);
    state.first++;
    state.last--;
    PyMutex_Unlock(&lock);
    struct state now = state;
    return Py_BuildValue("ll", now.first, now.last);
}

/*** a maximum of atomic numbers: `peak` in `f` */
#include <stdatomic.h>
static atomic_long peak;
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = PyLong_AsLong(arg);
    if (n > atomic_load(&peak))
        atomic_store(&peak, n);
    Py_RETURN_NONE;
}

/*** two atomic numbers that belong together: `last` in `f` */
#include <stdatomic.h>
static atomic_long first, last;
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = PyLong_AsLong(arg);
    atomic_store(&first, n);
    atomic_store(&last, n + 8);
    Py_RETURN_NONE;
}

/*** an atomic number that a helper gets: `tokens` in `f` */
#include <stdatomic.h>
static atomic_long tokens;
static int take(atomic_long *left) { if (atomic_load(left) == 0) return 0; atomic_fetch_sub(left, 1); return 1; }
static PyObject *f(PyObject *self, PyObject *arg) { return PyLong_FromLong(take(&tokens)); }

/*** memory that an atomic flag decides about: `it->text` by `free` in `f` */
#include <stdatomic.h>
#include <stdlib.h>
typedef struct { PyObject_HEAD atomic_int closed; char *text; } Reader;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Reader *it = (Reader *)arg;
    if (atomic_exchange(&it->closed, 1) == 0)
        free(it->text);
    Py_RETURN_NONE;
}

/*** a destructor of a capsule that counts in what others have: `it->pool->live` in `drop` */
#include <stdlib.h>
struct pool { int live; };
struct conn { struct pool *pool; };
static struct pool the_pool;
static void drop(PyObject *capsule)
{
    struct conn *it = PyCapsule_GetPointer(capsule, NULL);
    it->pool->live--;
    free(it);
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct conn *it = malloc(sizeof *it);
    it->pool = &the_pool;
    return PyCapsule_New(it, NULL, drop);
}

/*** a name that ends like that of a thread's own: mode_tls */
static const char *mode_tls;
static PyObject *f(PyObject *self, PyObject *arg) { mode_tls = PyUnicode_AsUTF8(arg); Py_RETURN_NONE; }

/*** a function of the library that is called by a pointer: localtime */
#include <time.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    time_t t = 0;
    struct tm *(*convert)(const time_t *) = arg == Py_None ? gmtime : localtime;
    return PyLong_FromLong(convert(&t)->tm_hour);
}

/*** the struct of a thread that was started: `job->total` in `run` */
#include <pthread.h>
struct job { long total; };
static void *run(void *arg) { struct job *job = arg; job->total++; return NULL; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct job job = {0};
    pthread_t one, two;
    pthread_create(&one, NULL, run, &job);
    pthread_create(&two, NULL, run, &job);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return PyLong_FromLong(job.total);
}

/*** what a library gives its callback: `device->opened` in `each` */
struct device { int opened; };
int lib_each(int (*visit)(struct device *, void *), void *context);
static int each(struct device *device, void *context) { device->opened++; ++*(int *)context; return 0; }
static PyObject *f(PyObject *self, PyObject *arg) { int n = 0; lib_each(each, &n); return PyLong_FromLong(n); }

/*** a number of Python that is an address: `it->n` in `f` */
struct conn { long n; };
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct conn *it = (struct conn *)PyLong_AsSsize_t(arg);
    it->n++;
    Py_RETURN_NONE;
}

/*** an index of the last time that the lock was held: `it->last` in `f` */
typedef struct { PyObject_HEAD PyMutex lock; long last, items[8]; } Stack;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Stack *it = (Stack *)arg;
    PyMutex_Lock(&it->lock);
    long i = it->last;
    PyMutex_Unlock(&it->lock);
    PyMutex_Lock(&it->lock);
    it->items[i] = 1;
    it->last = 0;
    PyMutex_Unlock(&it->lock);
    Py_RETURN_NONE;
}

/*** an object inside of what Python code gets: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *call)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    PyObject *args = PyTuple_Pack(1, (PyObject *)it);
    PyObject *result = PyObject_Call(call, args, NULL);
    it->n = 7;
    return result;
}

/*** an object in an array of arguments: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static PyObject *f(PyObject *self, PyObject *call)
{
    Item *it = PyObject_New(Item, &ItemType);
    if (it == NULL) { return NULL; }
    PyObject *args[1] = {(PyObject *)it};
    PyObject *result = PyObject_Vectorcall(call, args, 1, NULL);
    it->n = 7;
    return result;
}

/*** memory that a capsule has: `it->n` in `f` */
struct it { long n; };
static PyObject *f(PyObject *self, PyObject *list)
{
    struct it *it = PyMem_Calloc(1, sizeof *it);
    PyObject *capsule = PyCapsule_New(it, NULL, NULL);
    if (PyList_Append(list, capsule) < 0) { return NULL; }
    it->n = 3;
    return capsule;
}

/*** text that Python reads without a lock: `it->name` by `snprintf` in `f` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyMutex lock; char name[32]; } Item;
static PyMemberDef members[] = {{"name", Py_T_STRING_INPLACE, offsetof(Item, name), Py_READONLY, NULL}, {NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    PyMutex_Lock(&it->lock);
    snprintf(it->name, sizeof it->name, "%p", (void *)Py_TYPE(&ItemType));
    PyMutex_Unlock(&it->lock);
    Py_RETURN_NONE;
}

/*** a member that Python replaces with another lock: `it->last` in `f` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyMutex lock; PyObject *last; } Item;
static PyMemberDef members[] = {{"last", Py_T_OBJECT_EX, offsetof(Item, last), Py_READONLY, NULL}, {NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_members = members,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    PyMutex_Lock(&it->lock);
    PyObject *old = it->last;
    it->last = Py_NewRef(Py_TYPE(&ItemType));
    PyMutex_Unlock(&it->lock);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/*** an atomic number that decides: `exports` in `f` */
#include <stdatomic.h>
static atomic_int exports;
PyObject *lib_close(void);
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (exports > 0) { PyErr_SetNone(PyExc_BufferError); return NULL; }
    return lib_close();
}

/*** atomic numbers that are written as bytes: `hits` by `memset` in `f` */
#include <stdatomic.h>
#include <string.h>
static atomic_int hits[8];
static PyObject *f(PyObject *self, PyObject *arg) { memset(hits, 0, sizeof hits); Py_RETURN_NONE; }

/*** a lock that is copied: `it->state` in `f` */
struct state { PyMutex lock; long *n; };
typedef struct { PyObject_HEAD struct state state; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    struct state now = it->state;
    PyMutex_Lock(&now.lock);
    long n = ++now.n[0];
    PyMutex_Unlock(&now.lock);
    return PyLong_FromLong(n);
}

/*** functions that are chosen: `st->n` in `tick` */
static struct st { long n; } *st;
static PyMutex lock;
static void tick(void) { st->n++; }
static void tock(void) { st->n--; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (arg == Py_None) {
        PyMutex_Lock(&lock); tick(); tock(); PyMutex_Unlock(&lock);
    } else {
        (PyLong_AsLong(arg) > 0 ? tick : tock)();
    }
    Py_RETURN_NONE;
}

/*** an opaque handle whose pointer is const: lib_font_set_size */
typedef const struct lib_font_ *lib_font;
void lib_font_set_size(lib_font font, int size);
typedef struct { PyObject_HEAD lib_font font; } Font;
static PyObject *f(PyObject *self, PyObject *arg) { lib_font_set_size(((Font *)arg)->font, 3); Py_RETURN_NONE; }

/*** what a library fills in: `devices[i]->opens` in `f` */
struct device { int opens; };
int lib_list_devices(struct device **devices, int n);
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct device *devices[16];
    int n = lib_list_devices(devices, 16);
    for (int i = 0; i < n; i++) { devices[i]->opens++; }
    Py_RETURN_NONE;
}

/*** what variable arguments point at: `it->h` in `f` */
#include <stdarg.h>
typedef struct { PyObject_HEAD int w, h; } Item;
static int parse(PyObject *args, const char *format, ...)
{
    va_list all;
    va_start(all, format);
    int ok = PyArg_VaParse(args, format, all);
    va_end(all);
    return ok;
}
static PyObject *f(PyObject *self, PyObject *args)
{
    Item *it = (Item *)self;
    if (!parse(args, "ii", &it->w, &it->h)) { return NULL; }
    Py_RETURN_NONE;
}

/*** a finaliser is a method of Python: `it->text` in `finalize` */
#include <stddef.h>
typedef struct { PyObject_HEAD char *text; } Item;
static void finalize(PyObject *op) { Item *it = (Item *)op; PyMem_Free(it->text); it->text = NULL; }
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_finalize = finalize,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyBytes_FromString(Py_IS_TYPE(arg, &ItemType) ? ((Item *)arg)->text : "");
}

/*** a lock of one of two that have a ring: `it->ring->at` in `f` */
struct ring { long at; };
typedef struct { PyObject_HEAD PyMutex lock; struct ring *ring; } Chan;
static PyTypeObject ChanType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Chan", .tp_basicsize = sizeof(Chan)};
PyObject *copy(PyObject *self, PyObject *arg)
{
    Chan *it = PyObject_New(Chan, &ChanType);
    if (it != NULL) { memcpy(&it->lock, &((Chan *)arg)->lock, sizeof(Chan) - sizeof(PyObject)); *it = *(Chan *)arg; }
    return (PyObject *)it;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    Chan *it = (Chan *)arg;
    PyMutex_Lock(&it->lock);
    it->ring->at++;
    PyMutex_Unlock(&it->lock);
    Py_RETURN_NONE;
}

/*** a function that two flags run: about static variables */
#include <pthread.h>
static pthread_once_t one = PTHREAD_ONCE_INIT, two = PTHREAD_ONCE_INIT;
static long n;
static void setup(void) { n = 0; n += 3; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    pthread_once(arg == Py_None ? &one : &two, setup);
    if (arg == self) { pthread_once(&one, setup); }
    return PyLong_FromLong(n);
}

/*** an object that is filled in again: `item_init` */
typedef struct { PyObject_HEAD long n; } Item;
static int item_init(PyObject *op, PyObject *args, PyObject *kwds)
{
    Item *it = (Item *)op;
    return PyArg_ParseTuple(args, "l", &it->n) ? 0 : -1;
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_new = PyType_GenericNew, .tp_init = item_init};
static PyObject *f(PyObject *self, PyObject *arg) { Py_RETURN_NONE; }

/*** a text that is copied with the lock it is read with: `before` by `free` in `f` */
static PyMutex guard;
static char *name;
static PyObject *get(PyObject *self, PyObject *unused)
{
    PyMutex_Lock(&guard);
    PyObject *text = PyUnicode_FromString(name);
    char *copy = strdup(name);
    PyMutex_Unlock(&guard);
    Py_XSETREF(text, PyUnicode_FromString(copy));
    free(copy);
    return text;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    char *copy = strdup("x");
    PyMutex_Lock(&guard);
    char *before = name;
    name = copy;
    PyMutex_Unlock(&guard);
    free(before);
    Py_RETURN_NONE;
}
static PyMethodDef others[] = {{"get", get, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

/*** records that are taken out, and such as nobody takes out: `j` by `free` in `f` */
typedef struct rec { struct rec *next; long key; char text[16]; } rec;
typedef struct job { struct job *next; long key; } job;
static rec *recs;
static job *jobs;
static PyMutex guard;
static rec *find(long key)
{
    rec *r;
    PyMutex_Lock(&guard);
    for (r = recs; r != NULL && r->key != key; r = r->next) {}
    PyMutex_Unlock(&guard);
    return r;
}
static job *pop(void)
{
    PyMutex_Lock(&guard);
    job *j = jobs;
    if (j != NULL) { jobs = j->next; }
    PyMutex_Unlock(&guard);
    return j;
}
static PyObject *add(PyObject *self, PyObject *arg)
{
    rec *r = calloc(1, sizeof(rec));
    job *j = calloc(1, sizeof(job));
    if (r == NULL || j == NULL) { return PyErr_NoMemory(); }
    PyMutex_Lock(&guard);
    r->next = recs;
    recs = r;
    j->next = jobs;
    jobs = j;
    PyMutex_Unlock(&guard);
    Py_RETURN_NONE;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    rec *r = find(PyLong_AsLong(arg));
    job *j = pop();
    free(j);
    return r == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(r->text);
}
static PyMethodDef others[] = {{"add", add, METH_O, NULL}, {NULL, NULL, 0, NULL}};

/*** what a function of Python fills in by a pointer: `type` by `PyErr_Fetch` */
typedef struct { PyObject_HEAD PyObject *type, *value, *trace; } Item;
static void save(PyObject **type, PyObject **value, PyObject **trace) { PyErr_Fetch(type, value, trace); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    save(&it->type, &it->value, &it->trace);
    Py_RETURN_NONE;
}

/*** a field that holds a function of a library as well: `t->read` */
struct dev { long n; };
struct table { long (*read)(struct dev *); struct dev *dev; };
extern long lib_read(struct dev *);
static long own_read(struct dev *dev) { return 3; }
typedef struct { PyObject_HEAD struct table t; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct table *t = &((Item *)arg)->t;
    if (t->read == NULL) { return NULL; }
    return PyLong_FromLong(t->read(t->dev));
}
static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Item *it = (Item *)type->tp_alloc(type, 0);
    if (it != NULL) { it->t.read = lib_read; if (args == NULL) { it->t.read = own_read; } it->t.dev = calloc(1, sizeof(struct dev)); }
    return (PyObject *)it;
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_new = new};

/*** a buffer's object that its release changes: `((Item *)view->obj)->exports` */
typedef struct { PyObject_HEAD long exports; char data[8]; } Item;
static int get(PyObject *op, Py_buffer *view, int flags)
{
    view->obj = Py_NewRef(op);
    view->buf = ((Item *)op)->data;
    view->len = 8;
    return 0;
}
static void release(PyObject *op, Py_buffer *view) { ((Item *)view->obj)->exports--; }
static PyBufferProcs procs = {get, release};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_as_buffer = &procs};
static PyObject *f(PyObject *self, PyObject *arg) { Py_RETURN_NONE; }

/*** a module that keeps a number in its own dict: `self` by `PyObject_SetAttrString` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *old = PyObject_GetAttrString(self, "count");
    PyObject *next = old != NULL ? PyNumber_Add(old, arg) : NULL;
    int result = next != NULL ? PyObject_SetAttrString(self, "count", next) : -1;
    Py_XDECREF(old);
    Py_XDECREF(next);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/*** what a helper gives is a number of static memory: `p->n` in `f` */
typedef struct { long n; } entry;
static uintptr_t cells[8];
static PyObject *f(PyObject *self, PyObject *arg)
{
    entry none = {0}, *p = NULL;
    uintptr_t cell = cells[PyLong_AsLong(arg) & 7];
    p = cell ? (entry *)(cell >> 2 << 2) : &none;
    p->n++;
    return PyLong_FromLong(p->n);
}

/*** a literal leads to static memory: `self->at.pool->n` in `dealloc` */
struct pool { long n; };
static struct pool the_pool;
typedef struct { PyObject_HEAD struct { struct pool *pool; } at; } Item;
static PyTypeObject ItemType;
static struct pool *pool_of(void) { return &the_pool; }
static void dealloc(PyObject *op)
{
    Item *self = (Item *)op;
    self->at.pool->n--;
    PyObject_Free(op);
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_dealloc = dealloc,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL)
        return NULL;
    memcpy(&item->at, &(struct { struct pool *pool; }){pool_of()}, sizeof item->at);
    return (PyObject *)item;
}

/*** a callback gets the object in a field of a struct: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
struct context { PyObject *object; };
static PyObject *f(PyObject *self, PyObject *callback)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL)
        return NULL;
    struct context context = {0};
    context.object = (PyObject *)item;
    PyObject *result = PyObject_CallOneArg(callback, context.object);
    Py_XDECREF(result);
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** the operand of an operator is seen by its other side: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
static PyObject *f(PyObject *self, PyObject *other)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL)
        return NULL;
    PyObject *sum = PyNumber_Add((PyObject *)item, other);
    Py_XDECREF(sum);
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** a tuple that a helper makes holds the object: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
static PyObject *wrap(PyObject *it)
{
    PyObject *tuple = PyTuple_New(1);
    if (tuple != NULL) {
        Py_INCREF(it);
        PyTuple_SET_ITEM(tuple, 0, it);
    }
    return tuple;
}
static PyObject *f(PyObject *self, PyObject *callback)
{
    Item *item = PyObject_New(Item, &ItemType);
    PyObject *args = item != NULL ? wrap((PyObject *)item) : NULL;
    if (args == NULL)
        return NULL;
    PyObject *result = PyObject_CallObject(callback, args);
    Py_XDECREF(result);
    Py_DECREF(args);
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** a view of the stack is given to Python: `text[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *callback)
{
    char text[64] = {0};
    PyObject *view = PyMemoryView_FromMemory(text, 64, PyBUF_WRITE);
    if (view == NULL)
        return NULL;
    PyObject *result = PyObject_CallOneArg(callback, view);
    text[0]++;
    Py_DECREF(view);
    return result;
}

/*** a second name of a function: `next_number` in `f` */
extern long next_number(void) __attribute__((alias("next_number_here")));
static long number;
long next_number_here(void);
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(next_number());
}
#ifdef OTHER_FILE
long next_number_here(void) { return ++number; }
#endif

/*** a library without data of the module may keep a count of its own: `lib_next` in `f` */
extern long lib_next(void);
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(lib_next());
}

/*** the object of the last round is not that of this one: `before->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
static PyObject *f(PyObject *self, PyObject *list)
{
    Item *before = NULL;
    for (int i = 0; i < 3; i++) {
        Item *item = PyObject_New(Item, &ItemType);
        if (item == NULL)
            return NULL;
        if (before != NULL)
            before->n = i;
        if (PyList_Append(list, (PyObject *)item) < 0)
            return NULL;
        before = item;
    }
    Py_RETURN_NONE;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** a call gets the address of the variable: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
static PyObject *f(PyObject *self, PyObject *callback)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL)
        return NULL;
    PyObject *only = (PyObject *)item;
    PyObject *result = PyObject_Vectorcall(callback, &only, 1, NULL);
    Py_XDECREF(result);
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** a struct is copied with what it holds: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
struct job { PyObject *call, *with; };
static PyObject *run(struct job *job) { return PyObject_CallOneArg(job->call, job->with); }
static PyObject *f(PyObject *self, PyObject *callback)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL)
        return NULL;
    struct job first = {callback, (PyObject *)item}, job;
    job = first;
    Py_XDECREF(run(&job));
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** a helper puts it into a list that is given away: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
static int put(PyObject *list, PyObject *it) { return PyList_Append(list, it); }
static PyObject *f(PyObject *self, PyObject *callback)
{
    Item *item = PyObject_New(Item, &ItemType);
    PyObject *list = PyList_New(0);
    if (item == NULL || list == NULL || put(list, (PyObject *)item) < 0)
        return NULL;
    Py_XDECREF(PyObject_CallOneArg(callback, list));
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** another caller of a helper passes what others have: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType;
static PyObject *sum(PyObject *a, PyObject *b) { return PyNumber_Add(a, b); }
static PyObject *f(PyObject *self, PyObject *other)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL)
        return NULL;
    Py_XDECREF(sum(other, other));
    Py_XDECREF(sum(other, (PyObject *)item));
    item->n = 1;
    return (PyObject *)item;
}
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item),
};

/*** the size of a list decides whether it is emptied: `PyObject_CallMethod(it->pool, "pop", NULL)` in `take` */
typedef struct { PyObject_HEAD PyObject *pool; } Item;
static PyTypeObject ItemType;
static PyObject *take(PyObject *op, PyObject *unused)
{
    Item *it = (Item *)op;
    if (PyList_GET_SIZE(it->pool) == 0)
        Py_RETURN_NONE;
    return PyObject_CallMethod(it->pool, "pop", NULL);
}
static PyMethodDef item_methods[] = {{"take", take, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a member of the struct that this one begins with: `it->name` in `show` */
#include <stddef.h>
#define NAMED PyObject_HEAD PyObject *name;
typedef struct { NAMED } Named;
typedef struct { NAMED long n; } Item;
static PyTypeObject ItemType;
static PyMemberDef members[] = {{"name", Py_T_OBJECT_EX, offsetof(Named, name), 0, NULL}, {NULL, 0, 0, 0, NULL}};
static PyObject *show(PyObject *op, PyObject *unused)
{
    Item *it = (Item *)op;
    return PyObject_Repr(it->name);
}
static PyMethodDef item_methods[] = {{"show", show, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
    .tp_members = members,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a slot fills a field: `b->bf_getbuffer` in `look` */
typedef struct { PyObject_HEAD Py_buffer view; } Item;
static PyTypeObject ItemType;
static PyObject *look(PyObject *op, PyObject *other)
{
    Item *it = (Item *)op;
    PyBufferProcs *b = Py_TYPE(other)->tp_as_buffer;
    if (b == NULL || b->bf_getbuffer(other, &it->view, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_RETURN_NONE;
}
static PyMethodDef item_methods[] = {{"look", look, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** the size of a list decides what its method, which is kept, gets: `PyObject_CallOneArg(it->append, arg)` in `put` */
typedef struct { PyObject_HEAD PyObject *pool, *append; } Item;
static PyTypeObject ItemType;
static PyObject *put(PyObject *op, PyObject *arg)
{
    Item *it = (Item *)op;
    if (PyList_GET_SIZE(it->pool) > 9)
        Py_RETURN_NONE;
    return PyObject_CallOneArg(it->append, arg);
}
static PyMethodDef item_methods[] = {{"put", put, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a method by its name with the object in an array: `PyObject_VectorcallMethod(it->name, args, 1, NULL)` in `take` */
typedef struct { PyObject_HEAD PyObject *pool, *name; } Item;
static PyTypeObject ItemType;
static PyObject *take(PyObject *op, PyObject *unused)
{
    Item *it = (Item *)op;
    PyObject *args[] = {it->pool};
    if (PyList_GET_SIZE(it->pool) == 0)
        Py_RETURN_NONE;
    return PyObject_VectorcallMethod(it->name, args, 1, NULL);
}
static PyMethodDef item_methods[] = {{"take", take, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a method that is asked for first: `PyObject_CallNoArgs(pop)` in `take` */
typedef struct { PyObject_HEAD PyObject *pool; } Item;
static PyTypeObject ItemType;
static PyObject *take(PyObject *op, PyObject *unused)
{
    Item *it = (Item *)op;
    PyObject *pop = PyObject_GetAttrString(it->pool, "pop");
    if (pop == NULL)
        return NULL;
    PyObject *result = PyList_GET_SIZE(it->pool) ? PyObject_CallNoArgs(pop) : Py_NewRef(Py_None);
    Py_DECREF(pop);
    return result;
}
static PyMethodDef item_methods[] = {{"take", take, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a key that is there need not be there any more: `PyObject_GetItem(it->map, key)` in `look` */
typedef struct { PyObject_HEAD PyObject *map; } Item;
static PyTypeObject ItemType;
static PyObject *look(PyObject *op, PyObject *key)
{
    Item *it = (Item *)op;
    int has = PySequence_Contains(it->map, key);
    if (has < 0)
        return NULL;
    if (!has)
        Py_RETURN_NONE;
    return PyObject_GetItem(it->map, key);
}
static PyMethodDef item_methods[] = {{"look", look, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** two helpers, one asks, one takes: `get((Item *)op)` in `take` */
typedef struct { PyObject_HEAD PyObject *pool; } Item;
static PyTypeObject ItemType;
static int empty(Item *it) { return PyList_GET_SIZE(it->pool) == 0; }
static PyObject *get(Item *it) { return PyObject_CallMethod(it->pool, "pop", NULL); }
static PyObject *take(PyObject *op, PyObject *unused)
{
    if (empty((Item *)op))
        Py_RETURN_NONE;
    return get((Item *)op);
}
static PyMethodDef item_methods[] = {{"take", take, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** an attribute of a type: `(PyObject *)Py_TYPE(arg)` by `PyObject_SetAttrString` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *n = PyObject_GetAttrString((PyObject *)Py_TYPE(arg), "count");
    if (n == NULL)
        return NULL;
    PyObject *next = PyNumber_Add(n, Py_True);
    Py_DECREF(n);
    if (next == NULL || PyObject_SetAttrString((PyObject *)Py_TYPE(arg), "count", next) < 0)
        return NULL;
    return next;
}

/*** an attribute of the package's own type: `(PyObject *)&ItemType` by `PyObject_SetAttrString` in `f` */
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item"};
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *n = PyObject_GetAttrString((PyObject *)&ItemType, "count");
    if (n == NULL)
        return NULL;
    PyObject *next = PyNumber_Add(n, Py_True);
    Py_DECREF(n);
    if (next == NULL || PyObject_SetAttrString((PyObject *)&ItemType, "count", next) < 0)
        return NULL;
    return next;
}

/*** an attribute of an imported module: `module` by `PyObject_SetAttrString` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *module = PyImport_ImportModule("m");
    if (module == NULL)
        return NULL;
    PyObject *n = PyObject_GetAttrString(module, "count");
    if (n == NULL)
        return NULL;
    PyObject *next = PyNumber_Add(n, Py_True);
    Py_DECREF(n);
    if (next == NULL || PyObject_SetAttrString(module, "count", next) < 0)
        return NULL;
    return next;
}

/*** a member by a number that is not an offset of a name: `{"name", Py_T_OBJECT_EX, sizeof(PyObject), 0, NULL}` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *name; } Item;
static PyTypeObject ItemType;
static PyMemberDef members[] = {{"name", Py_T_OBJECT_EX, sizeof(PyObject), 0, NULL}, {NULL, 0, 0, 0, NULL}};
static PyObject *show(PyObject *op, PyObject *unused)
{
    Item *it = (Item *)op;
    return PyObject_Repr(it->name);
}
static PyMethodDef item_methods[] = {{"show", show, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
    .tp_members = members,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a member of a struct that is copied first: `*(Item *)op` in `show` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *name; } Item;
static PyTypeObject ItemType;
static PyMemberDef members[] = {{"name", Py_T_OBJECT_EX, offsetof(Item, name), 0, NULL}, {NULL, 0, 0, 0, NULL}};
static PyObject *show(PyObject *op, PyObject *unused)
{
    Item it = *(Item *)op;
    return PyObject_Repr(it.name);
}
static PyMethodDef item_methods[] = {{"show", show, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = item_methods,
    .tp_members = members,
};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a library has a field of that name: `p->tp_alloc` in `f` */
typedef struct pool { long *(*tp_alloc)(struct pool *); } pool;
pool *the_pool(void);
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool *p = the_pool(); /* ungil: thread-safe(the_pool) */
    long *n = p->tp_alloc(p);
    *n += 1;
    return PyLong_FromLong(*n);
}

/*** a name that is not an atomic type here: `hits->n` in `f` */
typedef long atomic_long;
typedef struct { PyObject_HEAD atomic_long n; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *hits = (Item *)arg;
    hits->n++;
    Py_RETURN_NONE;
}

/*** a format that stores a number: `&it->at` by `snprintf` in `f` */
typedef struct { PyObject_HEAD int at; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char text[32];
    Item *it = (Item *)arg;
    snprintf(text, sizeof text, "%d%n", 1, &it->at);
    return PyUnicode_FromString(text);
}

/*** one of the functions that `_Generic` may choose: `it->n` in `bump` */
typedef struct { PyObject_HEAD long n; } Item;
static long bump(Item *it) { return ++it->n; }
static long same(long n) { return n; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(_Generic((Item *)arg, Item *: bump((Item *)arg), default: same(1)));
}

/*** an object that a kept dict holds, by an out-parameter: `PyDict_GetItemRef(all, key, &counts)` in `f` */
static PyObject *all;
static PyObject *f(PyObject *self, PyObject *key)
{
    PyObject *counts, *n;
    if (PyDict_GetItemRef(all, key, &counts) <= 0) { return NULL; }
    if (PyDict_GetItemStringRef(counts, "n", &n) <= 0) { return NULL; }
    PyObject *next = PyLong_FromLong(PyLong_AsLong(n) + 1);
    if (next == NULL || PyDict_SetItemString(counts, "n", next) < 0) { return NULL; }
    return next;
}
static int start(PyObject *m)
{
    all = PyDict_New(); if (all == NULL) { return -1; }
    return 0;
}
static PyModuleDef_Slot more_slots[] = {{Py_mod_exec, start}, {0, NULL}};

/*** a kept list by a helper's out-parameter: `PyObject_CallMethod(pool, "pop", NULL)` in `f` */
#include <structmember.h>
typedef struct { PyObject_HEAD PyObject *pool; } Item;
static int pool_of(Item *it, PyObject **out) { *out = Py_XNewRef(it->pool); return *out ? 0 : -1; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *pool;
    if (pool_of((Item *)arg, &pool) < 0) { return NULL; }
    if (PyList_GET_SIZE(pool) == 0) { Py_RETURN_NONE; }
    return PyObject_CallMethod(pool, "pop", NULL);
}

/*** a static object that is initialised at each call: all threads change the struct `one` */
typedef struct { PyObject_HEAD long n; } Item;
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item)};
static Item one;
static PyObject *f(PyObject *self, PyObject *arg) { return PyObject_Init((PyObject *)&one, &ItemType); }

/*** an atomic number that helpers load and store: `n` in `get` */
#include <stdatomic.h>
static atomic_long n;
static PyObject *get(void) { return PyLong_FromLong(atomic_load(&n)); }
static void set(long to) { atomic_store(&n, to); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *old = get();
    if (old == NULL) { return NULL; }
    set(PyLong_AsLong(old) + 1);
    return old;
}

/*** a callback gets what the package keeps: `PyDict_GetItemStringRef(data, "n", &n)` in `hook` */
static PyObject *counts;
static int hook(const char *event, PyObject *args, void *data)
{
    PyObject *n;
    if (PyDict_GetItemStringRef(data, "n", &n) <= 0) { return -1; }
    PyObject *next = PyLong_FromLong(PyLong_AsLong(n) + 1);
    Py_DECREF(n);
    int r = next ? PyDict_SetItemString(data, "n", next) : -1;
    Py_XDECREF(next);
    return r;
}
static PyObject *f(PyObject *self, PyObject *arg) { PySys_AddAuditHook(hook, counts); Py_RETURN_NONE; }
static int start(PyObject *m)
{
    counts = PyDict_New(); if (counts == NULL) { return -1; }
    return 0;
}
static PyModuleDef_Slot more_slots[] = {{Py_mod_exec, start}, {0, NULL}};

/*** the object itself is the container: `PyObject_CallMethod(self, "pop", NULL)` in `take` */
#include <structmember.h>
typedef struct { PyListObject list; } Item;
static PyObject *take(PyObject *self, PyObject *unused)
{
    if (PyList_GET_SIZE(self) == 0) { Py_RETURN_NONE; }
    return PyObject_CallMethod(self, "pop", NULL);
}
static PyMethodDef item_methods[] = {{"take", (PyCFunction)take, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_methods = item_methods, .tp_new = PyType_GenericNew,  .tp_base = &PyList_Type};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** the first item of a kept list is looked at, then one is taken: `PyObject_CallMethod(it->pool, "pop", "i", 0)` in `f` */
#include <structmember.h>
typedef struct { PyObject_HEAD PyObject *pool; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    if (PyList_GET_ITEM(it->pool, 0) == Py_None) { Py_RETURN_NONE; }
    return PyObject_CallMethod(it->pool, "pop", "i", 0);
}

/*** a member that two helpers read: `it->n` in `fill` */
#include <stddef.h>
typedef struct { PyObject_HEAD Py_ssize_t n; } Item;
static PyMemberDef members[] = {{"n", Py_T_PYSSIZET, offsetof(Item, n), 0, NULL}, {NULL}};
static char *make(Item *it) { return PyMem_Malloc(it->n); }
static void fill(Item *it, char *to) { memset(to, 'x', it->n); }
static PyObject *m(PyObject *self, PyObject *unused)
{
    char *text = make((Item *)self);
    if (text == NULL) { return PyErr_NoMemory(); }
    fill((Item *)self, text);
    PyMem_Free(text);
    Py_RETURN_NONE;
}
static PyMethodDef item_methods[] = {{"m", (PyCFunction)m, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_methods = item_methods, .tp_new = PyType_GenericNew,  .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a member by its address: `&((Item *)self)->d` in `m` */
#include <stddef.h>
typedef struct { PyObject_HEAD int d; } Item;
static PyMemberDef members[] = {{"d", Py_T_INT, offsetof(Item, d), 0, NULL}, {NULL}};
static PyObject *m(PyObject *self, PyObject *unused)
{
    int *d = &((Item *)self)->d;
    return PyLong_FromLong(*d ? 100 / *d : 0);
}
static PyMethodDef item_methods[] = {{"m", (PyCFunction)m, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_methods = item_methods, .tp_new = PyType_GenericNew,  .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a member of a struct that is dereferenced by a star: `(*(Item *)self).o` in `m` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *o; } Item;
static PyMemberDef members[] = {{"o", Py_T_OBJECT_EX, offsetof(Item, o), 0, NULL}, {NULL}};
static PyObject *m(PyObject *self, PyObject *unused) { return PyObject_Repr((*(Item *)self).o); }
static PyMethodDef item_methods[] = {{"m", (PyCFunction)m, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_methods = item_methods, .tp_new = PyType_GenericNew,  .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a member in a struct that the object begins with: `{"o", Py_T_OBJECT_EX, offsetof(Item, base.o), 0, NULL}` */
#include <stddef.h>
typedef struct { PyObject_HEAD PyObject *o; } Base;
typedef struct { Base base; int n; } Item;
static PyMemberDef members[] = {{"o", Py_T_OBJECT_EX, offsetof(Item, base.o), 0, NULL}, {NULL}};
static PyObject *m(PyObject *self, PyObject *unused) { return PyObject_Repr(((Base *)self)->o); }
static PyMethodDef item_methods[] = {{"m", (PyCFunction)m, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_methods = item_methods, .tp_new = PyType_GenericNew,  .tp_members = members};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a buffer of an argument that a helper releases: `view` by `PyBuffer_Release` in `done` */
typedef struct { PyObject_HEAD Py_buffer view; } Item;
static void done(Py_buffer *view) { PyBuffer_Release(view); }
static PyObject *f(PyObject *self, PyObject *arg) { done(&((Item *)arg)->view); Py_RETURN_NONE; }

/*** the file of an object: `fd` by `lseek` in `f` */
#include <unistd.h>
typedef struct { PyObject_HEAD PyObject *file; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char text[16];
    int fd = PyObject_AsFileDescriptor(((Item *)arg)->file);
    lseek(fd, 0, SEEK_SET);
    return PyLong_FromSsize_t(read(fd, text, sizeof text));
}

/*** the cause of an exception: `e` by `PyException_SetCause` in `f` */
static PyObject *f(PyObject *self, PyObject *e) { PyException_SetCause(e, PyList_New(0)); Py_RETURN_NONE; }

/*** static memory that Python code fills: `line` by `PyMemoryView_FromMemory` in `f` */
static char line[256];
static PyObject *f(PyObject *self, PyObject *file)
{
    PyObject *view = PyMemoryView_FromMemory(line, sizeof line, PyBUF_WRITE);
    if (view == NULL) { return NULL; }
    PyObject *n = PyObject_CallMethod(file, "readinto", "O", view);
    Py_DECREF(view);
    if (n == NULL) { return NULL; }
    Py_DECREF(n);
    return PyBytes_FromStringAndSize(line, sizeof line);
}

/*** memory that a writable buffer exports: `&((Item *)op)->at` by `PyBuffer_FillInfo` in `lend` */
typedef struct { PyObject_HEAD unsigned at; } Item;
static const long table[4] = {1, 2, 3, 4};
static int lend(PyObject *op, Py_buffer *view, int flags) { return PyBuffer_FillInfo(view, op, &((Item *)op)->at, sizeof(unsigned), 0, flags); }
static PyBufferProcs as_buffer = {.bf_getbuffer = lend};
static PyObject *m(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    return PyLong_FromLong(it->at < 4 ? table[it->at] : 0);
}
static PyMethodDef item_methods[] = {{"m", (PyCFunction)m, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_methods = item_methods, .tp_new = PyType_GenericNew,  .tp_as_buffer = &as_buffer};
static PyObject *f(PyObject *self, PyObject *arg)
{
    return (PyObject *)PyObject_New(Item, &ItemType);
}

/*** a stream on the stack that a pointer sets, with shared memory: `p` by `deflate` in `f` */
typedef struct { unsigned char *next_out; unsigned avail_out; } z_stream;
int deflate(z_stream *, int);
static unsigned char out[64];
static PyObject *f(PyObject *self, PyObject *arg)
{
    z_stream z = {0}, *p = &z;
    p->next_out = out;
    p->avail_out = sizeof out;
    return PyLong_FromLong(deflate(p, 4));
}

/*** what kind of number a text was made of: `((Item *)arg)->kind` in `f` */
typedef struct { PyObject_HEAD int kind; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char *text = PyOS_double_to_string(1.5, 'r', 0, 0, &((Item *)arg)->kind);
    PyObject *r = text ? PyUnicode_FromString(text) : NULL;
    PyMem_Free(text);
    return r;
}

/*** a struct of the stack that a helper fills from an object: `v.p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static void open_view(view *v, Item *it) { v->p = it->text; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    view v;
    open_view(&v, (Item *)arg);
    v.p[0] = 1;
    Py_RETURN_NONE;
}

/*** the same two levels down: `v.next->p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static void open_view(view *v, Item *it) { v->next->p = it->text; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    view in, v = {0};
    v.next = &in;
    open_view(&v, (Item *)arg);
    v.next->p[0] = 1;
    Py_RETURN_NONE;
}

/*** a context with a buffer of an object, written by a helper: `v->p[0]` in `put` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static void put(view *v) { v->p[0]++; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    view *v = malloc(sizeof(view));
    if (v == NULL) { return PyErr_NoMemory(); }
    v->p = ((Item *)arg)->text;
    put(v);
    free(v);
    Py_RETURN_NONE;
}

/*** a copy of an object's struct on the stack: `copy.more[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item copy;
    memcpy(&copy, arg, sizeof copy);
    copy.more[0] = 1;
    Py_RETURN_NONE;
}

/*** a struct that is assigned from what an object holds: `v.p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
typedef struct { PyObject_HEAD view v; } Box;
static PyObject *f(PyObject *self, PyObject *arg)
{
    view v = ((Box *)arg)->v;
    v.p[0] = 1;
    Py_RETURN_NONE;
}

/*** memory that an object got before what it holds is changed: `v->p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
typedef struct { PyObject_HEAD view *v; } Box;
static PyObject *f(PyObject *self, PyObject *arg)
{
    view *v = calloc(1, sizeof(view));
    if (v == NULL) { return PyErr_NoMemory(); }
    v->p = malloc(8);
    ((Box *)arg)->v = v;
    v->p[0] = 1;
    Py_RETURN_NONE;
}

/*** rows of which one is an object's: `rows[i][0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char own[8], *rows[2];
    rows[0] = own;
    rows[1] = ((Item *)arg)->text;
    for (int i = 0; i < 2; i++) { rows[i][0] = 1; }
    Py_RETURN_NONE;
}

/*** a local that is set by its address: `p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char own[8], *p = own, **to = &p;
    *to = ((Item *)arg)->text;
    p[0] = 1;
    Py_RETURN_NONE;
}

/*** a struct that a helper returns: `v.p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static view view_of(Item *it) { view v = {it->text}; return v; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    view v = view_of((Item *)arg);
    v.p[0] = 1;
    Py_RETURN_NONE;
}

/*** static memory that a helper stores through its argument: `p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static char kept[8];
static void find(char **out) { *out = kept; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    char *p;
    find(&p);
    p[0] = 1;
    Py_RETURN_NONE;
}

/*** an address that goes through a number in memory: `((char *)v.address)[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static PyObject *f(PyObject *self, PyObject *arg)
{
    view v = {0};
    v.address = (size_t)((Item *)arg)->text;
    ((char *)v.address)[0] = 1;
    Py_RETURN_NONE;
}

/*** a list of nodes that ends in an object's: `at->p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
typedef struct { PyObject_HEAD view *head; } Box;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char own[8];
    view first = {own, ((Box *)arg)->head};
    for (view *at = &first; at != NULL; at = at->next) { at->p[0] = 1; }
    Py_RETURN_NONE;
}

/*** a table that grows, with what it held: `rows[0][0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static PyObject *f(PyObject *self, PyObject *arg)
{
    char **rows = malloc(sizeof(char *)), **more;
    if (rows == NULL) { return PyErr_NoMemory(); }
    rows[0] = ((Item *)arg)->text;
    more = realloc(rows, 2 * sizeof(char *));
    rows = more ? more : rows;
    rows[0][0] = 1;
    free(rows);
    Py_RETURN_NONE;
}

/*** what a helper keeps of what it was given: `v.p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static void set(view *v, char *p) { v->p = p; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    view v;
    set(&v, ((Item *)arg)->text);
    v.p[0] = 1;
    Py_RETURN_NONE;
}

/*** a helper that hands on what it finds: `p[0]` in `f` */
typedef struct { PyObject_HEAD char text[8]; char *more; long n; } Item;
typedef struct view { char *p; struct view *next; size_t address; } view;
static char *first(view *v) { return v->next->p; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    view in = {((Item *)arg)->text}, v = {NULL, &in};
    char *p = first(&v);
    p[0] = 1;
    Py_RETURN_NONE;
}

/*** an address that goes through the bytes of a number: `mem[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *call)
{
    long *mem = PyMem_Calloc(1, 64);
    double d;
    PyObject *r;
    if (mem == NULL) { return PyErr_NoMemory(); }
    memcpy(&d, &mem, sizeof d);
    r = PyObject_CallFunction(call, "d", d);
    mem[0]++;
    PyMem_Free(mem);
    return r;
}

/*** an atomic store that is made of what was loaded: `p` by `__atomic_store_n` in `bump` */
typedef struct { PyObject_HEAD long n; } Item;
static void bump(long *p) { __atomic_store_n(p, __atomic_load_n(p, 0) + 1, 0); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    bump(&((Item *)arg)->n);
    Py_RETURN_NONE;
}

/*** memory that is written after an atomic store gave it away: `job->n` in `f` */
typedef struct { int n; } job_t;
typedef struct { PyObject_HEAD job_t *job; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    job_t *job = calloc(1, sizeof *job);
    if (job == NULL) { return PyErr_NoMemory(); }
    __atomic_store_n((void **)&((Item *)arg)->job, job, 3);
    job->n = 1;
    Py_RETURN_NONE;
}

/*** what a failed exchange found: `((Item *)arg)->job` in `f` */
typedef struct { int n; } job_t;
typedef struct { PyObject_HEAD job_t *job; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    job_t own = {0}, *j = &own;
    __atomic_compare_exchange_n(&((Item *)arg)->job, &j, NULL, 0, 4, 2);
    j->n++;
    Py_RETURN_NONE;
}

/*** an address byte by byte: `at->n` in `f` */
typedef struct { long n; } job_t;
static void unpack(const char *from, void *to, size_t size)
{
    unsigned char *at = to;
    for (size_t i = 0; i < size; i++) { at[i] = (unsigned char)(from[i] - 'a'); }
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    job_t own = {0}, *at = &own;
    const char *text = PyUnicode_AsUTF8(arg);
    if (text == NULL) { return NULL; }
    unpack(text, &at, sizeof at);
    at->n++;
    Py_RETURN_NONE;
}

/*** an address in two halves: `job->n` in `f` */
typedef struct { long n; } job_t;
static PyObject *f(PyObject *self, PyObject *args)
{
    unsigned int high, low;
    job_t *job;
    if (!PyArg_ParseTuple(args, "II", &high, &low)) { return NULL; }
    job = (job_t *)((unsigned long)high << 32 | low);
    job->n++;
    Py_RETURN_NONE;
}

/*** an address that was text: `job->n` in `f` */
typedef struct { long n; } job_t;
static PyObject *f(PyObject *self, PyObject *arg)
{
    job_t own = {0}, *job = &own;
    const char *text = PyUnicode_AsUTF8(arg);
    if (text == NULL) { return NULL; }
    if (*text) { job = (job_t *)strtoul(text, NULL, 16); }
    job->n++;
    Py_RETURN_NONE;
}

/*** a copy of a constant that leads to a variable: `all.job->n` in `f` */
typedef struct { long n; } job_t;
struct options { job_t *job; int level; };
extern job_t shared_job;
static const struct options defaults = {&shared_job, 1};
static PyObject *f(PyObject *self, PyObject *arg)
{
    struct options all;
    memcpy(&all, &defaults, sizeof all);
    all.job->n++;
    Py_RETURN_NONE;
}

/*** memory that goes through a pipe: `job->n` in `f` */
#include <unistd.h>
typedef struct { int n; } job_t;
static PyObject *f(PyObject *self, PyObject *arg)
{
    job_t *job = calloc(1, sizeof *job);
    int to = (int)PyLong_AsLong(arg);
    if (job == NULL) { return PyErr_NoMemory(); }
    if (write(to, &job, sizeof job) < 0) { return PyErr_SetFromErrno(PyExc_OSError); }
    job->n = 1;
    Py_RETURN_NONE;
}

/*** data of a hook: `job->n` in `f` */
typedef struct { int n; } job_t;
static int hook(const char *event, PyObject *args, void *data) { return ((job_t *)data)->n; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    job_t *job = calloc(1, sizeof *job);
    if (job == NULL) { return PyErr_NoMemory(); }
    if (PySys_AddAuditHook(hook, job) < 0) { return NULL; }
    job->n = 1;
    Py_RETURN_NONE;
}

/*** what a converter makes an object of: `job->n` in `f` */
typedef struct { int n; } job_t;
static PyObject *f(PyObject *self, PyObject *list)
{
    job_t *job = calloc(1, sizeof *job);
    PyObject *made;
    if (job == NULL) { return PyErr_NoMemory(); }
    made = Py_BuildValue("O&", PyLong_FromVoidPtr, job);
    if (made == NULL || PyList_Append(list, made) < 0) { return NULL; }
    job->n = 1;
    return made;
}

/*** an object behind the dots of a helper: `item->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
extern PyTypeObject ItemType;
static int push(PyObject *list, int n, ...)
{
    va_list all;
    va_start(all, n);
    n = PyList_Append(list, va_arg(all, PyObject *));
    va_end(all);
    return n;
}
static PyObject *f(PyObject *self, PyObject *list)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL || push(list, 1, item) < 0) { return NULL; }
    item->n = 1;
    Py_DECREF(item);
    Py_RETURN_NONE;
}

/*** a jump back to what ran before: `item->n` in `f` */
#include <setjmp.h>
typedef struct { PyObject_HEAD long n; } Item;
extern PyTypeObject ItemType;
struct reader { jmp_buf back; };
static void fail(struct reader *r, PyObject *list, PyObject *item)
{
    if (PyList_Append(list, item) == 0) { longjmp(r->back, 1); }
}
static PyObject *f(PyObject *self, PyObject *list)
{
    struct reader *r = malloc(sizeof *r);
    Item *item = PyObject_New(Item, &ItemType);
    if (r == NULL || item == NULL) { return PyErr_NoMemory(); }
    setjmp(r->back);
    item->n = 1;
    fail(r, list, (PyObject *)item);
    free(r);
    Py_RETURN_NONE;
}

/*** two arguments, in any order: `item->n` in `fill` */
typedef struct { PyObject_HEAD long n; } Item;
extern PyTypeObject ItemType;
static int both(int first, int second) { return first < 0 || second < 0 ? -1 : 0; }
static int fill(Item *item) { item->n = 1; return 0; }
static PyObject *f(PyObject *self, PyObject *list)
{
    Item *item = PyObject_New(Item, &ItemType);
    if (item == NULL) { return NULL; }
    if (both(fill(item), PyList_Append(list, (PyObject *)item)) < 0) { return NULL; }
    Py_DECREF(item);
    Py_RETURN_NONE;
}

/*** a variable of a header that is not here: `at[0]` in `f` */
#include <getopt.h>
static PyObject *f(PyObject *self, PyObject *arg)
{
    char own[2] = "", *at = own;
    if (arg == Py_None) { at = optarg; }
    at[0] = 1;
    Py_RETURN_NONE;
}

/*** the name of the thread in an object: `((Item *)arg)->name` by `prctl` in `f` */
#include <sys/prctl.h>
typedef struct { PyObject_HEAD char name[16]; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (prctl(PR_GET_NAME, ((Item *)arg)->name) < 0) { return NULL; }
    Py_RETURN_NONE;
}

/*** assembly that hides a pointer: `__asm__` in `hide` */
typedef struct { PyObject_HEAD long n; } Item;
static long *hide(long *from)
{
    long *to;
    __asm__("" : "=r"(to) : "0"(from));
    return to;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    *hide(&((Item *)arg)->n) = 1;
    Py_RETURN_NONE;
}

/*** text in a buffer that is given: `&name` by `PyArg_ParseTuple` in `f` */
typedef struct { PyObject_HEAD char name[16]; } Item;
static PyObject *f(PyObject *self, PyObject *args)
{
    char *name = ((Item *)self)->name;
    Py_ssize_t size = 16;
    if (!PyArg_ParseTuple(args, "es#", "utf-8", &name, &size)) { return NULL; }
    Py_RETURN_NONE;
}
