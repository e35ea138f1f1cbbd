
/*** state of the module with a lock held: `st->n` in `f` */
typedef struct { PyMutex lock; long n; } conf;
static PyObject *f(PyObject *self, PyObject *arg)
{
    conf *st = PyModule_GetState(self);
    PyMutex_Lock(&st->lock);
    st->n++;
    PyMutex_Unlock(&st->lock);
    Py_RETURN_NONE;
}

/*** a helper that is only called with the lock held: `st->n` in `bump` */
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

/*** a field in a critical section: `it->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    Py_BEGIN_CRITICAL_SECTION(arg);
    it->n++;
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

/*** a getter with the lock of the setter: `it->name` in `set` */
typedef struct { PyObject_HEAD PyObject *name; } Item;
static PyObject *get(PyObject *self, PyObject *unused)
{
    PyObject *name;
    Py_BEGIN_CRITICAL_SECTION(self);
    name = Py_XNewRef(((Item *)self)->name);
    Py_END_CRITICAL_SECTION();
    return name;
}
static PyObject *set(PyObject *self, PyObject *name)
{
    Item *it = (Item *)self;
    Py_BEGIN_CRITICAL_SECTION(it);
    Py_XSETREF(it->name, Py_NewRef(name));
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}
static PyMethodDef of_item[] = {{"get", get, METH_NOARGS, NULL}, {"set", set, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = of_item};
static PyObject *f(PyObject *self, PyObject *arg) { return Py_NewRef((PyObject *)&ItemType); }

/*** a helper that gets the object by another name: `from->n` in `taken` */
typedef struct { PyObject_HEAD PyMutex lock; long n; struct { long times; } used; } Item;
static long taken(Item *from) { from->used.times++; return from->n--; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    long n;
    PyMutex_Lock(&it->lock);
    it->n += 2;
    n = taken(it);
    PyMutex_Unlock(&it->lock);
    return PyLong_FromLong(n);
}

/*** a static lock that all paths give back: `last` in `f` */
static PyThread_type_lock lock;
static PyObject *last;
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyObject *before;
    PyThread_acquire_lock(lock, WAIT_LOCK);
    if (last == arg) {
        PyThread_release_lock(lock);
        Py_RETURN_NONE;
    }
    before = last;
    last = Py_NewRef(arg);
    PyThread_release_lock(lock);
    return before == NULL ? Py_NewRef(Py_None) : before;
}

/*** two objects that are locked at once: `to->n` in `f` */
typedef struct { PyObject_HEAD long n; } Item;
static PyObject *f(PyObject *self, PyObject *args)
{
    Item *to, *from;
    if (!PyArg_ParseTuple(args, "OO", &to, &from)) { return NULL; }
    Py_BEGIN_CRITICAL_SECTION2(to, from);
    to->n += from->n;
    Py_END_CRITICAL_SECTION2();
    Py_RETURN_NONE;
}

/*** readers that share a lock, and a writer alone: `level` in `f` */
#include <pthread.h>
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    long n = PyLong_AsLong(arg);
    pthread_rwlock_rdlock(&guard);
    long before = level;
    pthread_rwlock_unlock(&guard);
    pthread_rwlock_wrlock(&guard);
    level = n;
    pthread_rwlock_unlock(&guard);
    return PyLong_FromLong(before);
}

/*** a lock that was had at once, or is waited for: `level` in `f` */
static PyThread_type_lock guard;
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    if (!PyThread_acquire_lock(guard, 0)) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(guard, 1);
        Py_END_ALLOW_THREADS
    }
    level++;
    PyThread_release_lock(guard);
    Py_RETURN_NONE;
}

/*** a lock of which the result was looked at: `level` in `f` */
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static PyThread_type_lock other;
static long level, times;
static PyObject *f(PyObject *self, PyObject *arg)
{
    int failed = pthread_mutex_trylock(&guard);
    if (failed) { return PyErr_NoMemory(); }
    level++;
    pthread_mutex_unlock(&guard);
    if (PyThread_acquire_lock_timed(other, 1000, 0) == PY_LOCK_ACQUIRED) {
        times++;
        PyThread_release_lock(other);
    }
    Py_RETURN_NONE;
}

/*** helpers that lock what they get, or may: `pool.n` in `f` */
#include <pthread.h>
typedef struct { pthread_mutex_t mutex; long n; } Pool;
static Pool pool = {PTHREAD_MUTEX_INITIALIZER};
static void pool_lock(Pool *it) { pthread_mutex_lock(&it->mutex); }
static void pool_unlock(Pool *it) { pthread_mutex_unlock(&it->mutex); }
static int pool_trylock(Pool *it)
{
    if (pthread_mutex_trylock(&it->mutex) == 0) { return 1; }
    return 0;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool_lock(&pool);
    pool.n++;
    pool_unlock(&pool);
    if (pool_trylock(&pool)) {
        pool.n++;
        pool_unlock(&pool);
    }
    Py_RETURN_NONE;
}

/*** lock functions of each system: `level` in `f` */
#ifdef _WIN32
#include <windows.h>
static CRITICAL_SECTION section;
static void pool_lock(void) { EnterCriticalSection(&section); }
static void pool_unlock(void) { LeaveCriticalSection(&section); }
#else
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static void pool_lock(void) { pthread_mutex_lock(&guard); }
static void pool_unlock(void) { pthread_mutex_unlock(&guard); }
#endif
static long level;
static PyObject *f(PyObject *self, PyObject *arg)
{
    pool_lock();
    level++;
    pool_unlock();
    Py_RETURN_NONE;
}

/*** a helper that takes the lock of its caller again: `level` in `rest` */
static PyMutex guard;
static long level;
static void rest(void)
{
    PyMutex_Unlock(&guard);
    PyMutex_Lock(&guard);
    level++;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    PyMutex_Lock(&guard);
    rest();
    level++;
    PyMutex_Unlock(&guard);
    Py_RETURN_NONE;
}

/*** a lock that is made with its object: `it->n` in `f` */
typedef struct { PyObject_HEAD PyThread_type_lock lock; long n; } Item;
static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Item *self = (Item *)type->tp_alloc(type, 0);
    if (self != NULL) { self->lock = PyThread_allocate_lock(); }
    return (PyObject *)self;
}
static void dealloc(PyObject *self)
{
    PyThread_free_lock(((Item *)self)->lock);
    PyObject_Free(self);
}
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_new = new, .tp_dealloc = dealloc};
static PyObject *f(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)arg;
    PyThread_acquire_lock(it->lock, 1);
    it->n++;
    PyThread_release_lock(it->lock);
    Py_RETURN_NONE;
}

/*** one step with a file of the object, and more with its lock: `book->fd` in `f` */
#include <stdio.h>
#include <unistd.h>
typedef struct { PyObject_HEAD PyMutex lock; int fd, out; } Book;
static PyObject *f(PyObject *self, PyObject *arg)
{
    Book *book = (Book *)self;
    char record[16];
    PyMutex_Lock(&book->lock);
    lseek(book->fd, 16, SEEK_SET);
    read(book->fd, record, 16);
    PyMutex_Unlock(&book->lock);
    write(book->out, record, 16);
    pread(book->fd, record, 16, 0);
    fprintf(stderr, "%d\n", book->fd);
    fprintf(stderr, "read\n");
    Py_RETURN_NONE;
}

/*** objects that are counted with the lock they are read with: `it->name` in `set` */
typedef struct { PyObject_HEAD PyObject *name, *hook; } Item;
static PyObject *get(PyObject *self, PyObject *unused)
{
    Item *it = (Item *)self;
    PyObject *name, *hook;
    Py_BEGIN_CRITICAL_SECTION(self);
    Py_XINCREF(it->name);
    name = it->name;
    hook = it->hook;
    if (hook != NULL) { Py_INCREF(hook); }
    Py_END_CRITICAL_SECTION();
    if (hook == NULL) { return name; }
    Py_XSETREF(name, PyObject_CallOneArg(hook, name));
    Py_DECREF(hook);
    return name;
}
static PyObject *set(PyObject *self, PyObject *arg)
{
    Item *it = (Item *)self;
    PyObject *before;
    Py_BEGIN_CRITICAL_SECTION(self);
    before = it->name;
    it->name = Py_NewRef(arg);
    Py_XSETREF(it->hook, Py_NewRef(arg));
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(before);
    Py_RETURN_NONE;
}
static PyMethodDef of_item[] = {{"get", get, METH_NOARGS, NULL}, {"set", set, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject ItemType = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Item", .tp_basicsize = sizeof(Item), .tp_methods = of_item};
static PyObject *f(PyObject *self, PyObject *arg) { return Py_NewRef((PyObject *)&ItemType); }
