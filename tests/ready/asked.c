/*** a variable of each thread: `buffer` by `strcpy` in `f` */
static _Thread_local long level;
static __thread char buffer[16];
static PyObject *f(PyObject *self, PyObject *arg)
{
    level++;
    strcpy(buffer, "x");
    Py_RETURN_NONE;
}

/*** the context of a callback on the stack: `c->n` in `each` */
typedef struct { long n; } count;
static int each(void *context, int value) { count *c = context; c->n += value; return 0; }
static void walk(int (*visit)(void *, int), void *context) { visit(context, 1); }
static PyObject *f(PyObject *self, PyObject *arg)
{
    count c = {0};
    walk(each, &c);
    return PyLong_FromLong(c.n);
}

/*** a callback of a library with the stack: `c->n` in `each` */
typedef struct { long n; } count;
static int each(void *context, int value) { count *c = context; c->n += value; return 0; }
int lib_walk(int (*visit)(void *, int), void *context);
static PyObject *f(PyObject *self, PyObject *arg)
{
    count c = {0};
    lib_walk(each, &c);
    return PyLong_FromLong(c.n);
}

/*** a converter that fills a local: `*(long *)out` in `convert` */
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

/*** a library that gets the stack and numbers: `lib_init` in `f` */
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

/*** a buffer that the caller lends: `to[0]` in `f` */
static PyObject *f(PyObject *self, PyObject *arg)
{
    Py_buffer view;
    if (PyObject_GetBuffer(arg, &view, PyBUF_WRITABLE) < 0) { return NULL; }
    char *to = view.buf;
    if (view.len > 0) { to[0] = 'x'; }
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

/*** a function behind a pointer in a table, with the stack: `ops[0].run` in `f` */
typedef struct { long n; } sub;
static void go(sub *s) { s->n++; }
static const struct { void (*run)(sub *); } ops[] = {{go}};
static PyObject *f(PyObject *self, PyObject *arg)
{
    sub s = {0};
    ops[0].run(&s);
    return PyLong_FromLong(s.n);
}

/*** an encoded copy that is changed: `*p` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    char *s = NULL;
    if (!PyArg_ParseTuple(args, "es", "utf-8", &s)) { return NULL; }
    for (char *p = s; *p; p++) { if (*p == '-') { *p = '_'; } }
    PyObject *r = PyUnicode_FromString(s);
    PyMem_Free(s);
    return r;
}

/*** a writable buffer that is filled: `v.buf` by `memset` in `f` */
static PyObject *f(PyObject *self, PyObject *args)
{
    Py_buffer v;
    if (!PyArg_ParseTuple(args, "w*", &v)) { return NULL; }
    memset(v.buf, 0, v.len);
    PyBuffer_Release(&v);
    Py_RETURN_NONE;
}

/*** a dealloc that clears its own: `it->text[0]` in `item_dealloc` */
typedef struct { PyObject_HEAD PyObject *name; char *text; } Item;
static void item_dealloc(PyObject *op)
{
    Item *it = (Item *)op;
    Py_CLEAR(it->name);
    if (it->text) { it->text[0] = 0; free(it->text); it->text = NULL; }
    Py_TYPE(op)->tp_free(op);
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_dealloc = item_dealloc};
static PyObject *f(PyObject *self, PyObject *o) { return PyType_GenericNew(&ItemType, NULL, NULL); }

/*** a destructor that writes into memory of its own object: `at->n` in `dealloc` */
typedef struct node { struct node *next; long n; } node;
typedef struct { PyObject_HEAD node *first; char *text; } Item;
static void dealloc(Item *it)
{
    node *at = it->first;
    it->text[0] = 0;
    free(it->text);
    while (at != NULL) {
        node *next = at->next;
        at->n = 0;
        free(at);
        at = next;
    }
    Py_TYPE(it)->tp_free((PyObject *)it);
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_dealloc = (destructor)dealloc};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)ItemType.tp_alloc(&ItemType, 0);
    if (it == NULL) { return NULL; }
    it->text = malloc(4);
    node *first = malloc(sizeof *first);
    first->next = it->first;
    it->first = first;
    return (PyObject *)it;
}

