//! Functions that return a borrowed reference, with their callers.

use crate::testing;
use crate::transforms::ALL;

fn run(text: &str) -> String {
    testing::run(ALL, text.trim_start_matches('\n'))
}

#[test]
fn a_lookup_that_is_returned_at_once() {
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *key)
{
    return PyDict_GetItem(cache, key);
}

static PyObject *get(PyObject *self, PyObject *key)
{
    PyObject *found = find(key);
    if (found == NULL)
        return PyErr_NoMemory();
    Py_INCREF(found);
    return found;
}

static int test(PyObject *key)
{
    return use(find(key));
}
"), @r"
    @@
     static PyObject *find(PyObject *key)
     {
    -    return PyDict_GetItem(cache, key);
    +    PyObject *value;
    +    if (PyDict_GetItemRef(cache, key, &value) < 0) {
    +        PyErr_Clear();
    +    }
    +    return value;
     }
     
    @@
         if (found == NULL)
             return PyErr_NoMemory();
    -    Py_INCREF(found);
         return found;
     }
    @@
     static int test(PyObject *key)
     {
    -    return use(find(key));
    +    PyObject *value = find(key);
    +    int result = use(value);
    +    Py_XDECREF(value);
    +    return result;
     }
    ");
}

#[test]
fn the_comment_above_a_head_that_macros_begin_is_put_right() {
    insta::assert_snapshot!(run("
/* Marks a borrowed reference. */
#define BORROWED
#define LOCAL static

/* The value of `key`:
 * a *borrowed reference*. The reference is borrowed. */
LOCAL BORROWED PyObject *
find(PyObject *key)
{
    return PyDict_GetItemWithError(cache, key);
}

/* Marks a borrowed reference. */
#define SHARED
static PyObject *seek(PyObject *key)
{
    return PyDict_GetItemWithError(cache, key);
}

static int test(PyObject *key)
{
    PyObject *found = find(key), *other = seek(key);
    return found != NULL && other != NULL;
}
"), @"
        @@
         
         /* The value of `key`:
        - * a *borrowed reference*. The reference is borrowed. */
        + * a *new reference*. The reference is new. */
         LOCAL BORROWED PyObject *
         find(PyObject *key)
         {
        -    return PyDict_GetItemWithError(cache, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(cache, key, &value);
        +    return value;
         }
         
        @@
         static PyObject *seek(PyObject *key)
         {
        -    return PyDict_GetItemWithError(cache, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(cache, key, &value);
        +    return value;
         }
         
        @@
         {
             PyObject *found = find(key), *other = seek(key);
        -    return found != NULL && other != NULL;
        +    int result;
        +    result = found != NULL && other != NULL;
        +    Py_XDECREF(found);
        +    Py_XDECREF(other);
        +    return result;
         }
        ");
}

#[test]
fn an_item_of_a_list_or_a_tuple() {
    insta::assert_snapshot!(run("
static PyObject *item(PyObject *v, Py_ssize_t i, int which)
{
    switch (which) {
    case 0:
        return PyList_GetItem(v, i);
    case 1:
        return PyTuple_GetItem(v, i);
    default:
        return NULL;
    }
}

static int f(PyObject *v)
{
    int n = 0;
    Py_ssize_t i;
    for (i = 0; i < 3; i++) {
        PyObject *o = item(v, i, 0);
        if (!PyLong_Check(o))
            continue;
        n += use(o);
    }
    return n;
}
"), @"
        @@
             switch (which) {
             case 0:
        -        return PyList_GetItem(v, i);
        +        return PyList_GetItemRef(v, i);
             case 1:
        -        return PyTuple_GetItem(v, i);
        +        return Py_XNewRef(PyTuple_GetItem(v, i));
             default:
                 return NULL;
        @@
             for (i = 0; i < 3; i++) {
                 PyObject *o = item(v, i, 0);
        -        if (!PyLong_Check(o))
        +        if (!PyLong_Check(o)) {
        +            Py_DECREF(o);
                     continue;
        +        }
                 n += use(o);
        +        Py_DECREF(o);
             }
             return n;
        ");
}

const CACHES: &str = "
static PyObject*
subcache(PyObject* cache, PyObject* key)
{
    PyObject* sub;

    sub = PyDict_GetItem(cache, key);
    if (sub == NULL) {
        int status;

        sub = PyDict_New();
        if (sub == NULL)
            return NULL;
        status = PyDict_SetItem(cache, key, sub);
        Py_DECREF(sub);
        if (status < 0)
            return NULL;
    }

    return sub;
}

static PyObject*
getcache(LB* self, PyObject* provided, PyObject* name)
{
    PyObject* cache;

    cache = subcache(self->cache, provided);
    if (cache == NULL)
        return NULL;
    if (name != NULL && PyObject_IsTrue(name))
        cache = subcache(cache, name);
    return cache;
}

static PyObject*
lookup(LB* self, PyObject* provided, PyObject* name)
{
    PyObject *cache = getcache(self, provided, name);
    if (cache == NULL)
        return NULL;
    return PyObject_GetItem(cache, name);
}
";

#[test]
fn a_value_that_is_made_where_there_is_none() {
    insta::assert_snapshot!(run(CACHES), @"
        @@
             PyObject* sub;
         
        -    sub = PyDict_GetItem(cache, key);
        +    if (PyDict_GetItemRef(cache, key, &sub) < 0) {
        +        PyErr_Clear();
        +    }
             if (sub == NULL) {
                 int status;
        @@
                     return NULL;
                 status = PyDict_SetItem(cache, key, sub);
        -        Py_DECREF(sub);
        -        if (status < 0)
        +        if (status < 0) {
        +            Py_DECREF(sub);
                     return NULL;
        +        }
             }
         
        @@
             if (cache == NULL)
                 return NULL;
        -    if (name != NULL && PyObject_IsTrue(name))
        -        cache = subcache(cache, name);
        +    if (name != NULL && PyObject_IsTrue(name)) {
        +        PyObject* value = subcache(cache, name);
        +        Py_DECREF(cache);
        +        cache = value;
        +    }
             return cache;
         }
        @@
         {
             PyObject *cache = getcache(self, provided, name);
        +    PyObject* result;
             if (cache == NULL)
                 return NULL;
        -    return PyObject_GetItem(cache, name);
        +    result = PyObject_GetItem(cache, name);
        +    Py_DECREF(cache);
        +    return result;
         }
        ");
}

#[test]
fn other_returns_get_references() {
    insta::assert_snapshot!(run("
static PyObject *find(Foo *self, PyObject *key)
{
    PyObject *found;
    if (key == Py_None)
        return Py_None;
    found = PyDict_GetItem(self->dict, key);
    if (found)
        return found;
    return self->fallback;
}

static int f(Foo *self, PyObject *key)
{
    PyObject *v = find(self, key);
    if (v == NULL)
        return -1;
    return use(v);
}
"), @r"
    @@
         PyObject *found;
         if (key == Py_None)
    -        return Py_None;
    -    found = PyDict_GetItem(self->dict, key);
    +        return Py_NewRef(Py_None);
    +    if (PyDict_GetItemRef(self->dict, key, &found) < 0) {
    +        PyErr_Clear();
    +    }
         if (found)
             return found;
    -    return self->fallback;
    +    return Py_XNewRef(self->fallback);
     }
     
    @@
     {
         PyObject *v = find(self, key);
    +    int result;
         if (v == NULL)
             return -1;
    -    return use(v);
    +    result = use(v);
    +    Py_DECREF(v);
    +    return result;
     }
    ");
}

#[test]
fn all_callers_must_be_known_and_able_to_release() {
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *key)
{
    return PyDict_GetItem(cache, key);
}

static void (*table[])(void) = { find };

static int f(PyObject *key)
{
    return use(find(key));
}
"), @"3: the function returns the borrowed reference, so its callers (m.c:10) must be changed with it, and that cannot be done here: its address is taken at m.c:6");
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *key)
{
    return PyDict_GetItem(cache, key);
}

static int f(Foo *self, PyObject *key)
{
    self->found = find(key);
    return 0;
}

static int g(PyObject *key)
{
    PyObject *found = find(key);
    return use(found);
}
"), @"3: the function returns the borrowed reference, so its callers (m.c:8, m.c:14) must be changed with it, and that cannot be done here: in `f` at m.c:8, the borrowed reference is stored in memory that outlives the call: decide who owns it, and take a reference with it");
}

#[test]
fn a_function_that_others_may_call() {
    insta::assert_snapshot!(run("
PyObject *find(PyObject *key)
{
    return PyDict_GetItem(cache, key);
}

static int f(PyObject *key)
{
    PyObject *found = find(key);
    if (found == NULL)
        return -1;
    return use(found);
}
"), @r"
    3: review: only the C code that was looked at calls `find`
    @@
     PyObject *find(PyObject *key)
     {
    -    return PyDict_GetItem(cache, key);
    +    PyObject *value;
    +    if (PyDict_GetItemRef(cache, key, &value) < 0) {
    +        PyErr_Clear();
    +    }
    +    return value;
     }
     
    @@
     {
         PyObject *found = find(key);
    +    int result;
         if (found == NULL)
             return -1;
    -    return use(found);
    +    result = use(found);
    +    Py_DECREF(found);
    +    return result;
     }
    ");
}

#[test]
fn a_function_that_passes_it_on_changes_too() {
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *key)
{
    return PyDict_GetItem(cache, key);
}

static PyObject *find_default(PyObject *key)
{
    PyObject *found = find(key);
    if (found == NULL)
        return Py_None;
    return found;
}

static int f(PyObject *key)
{
    PyObject *found = find_default(key);
    if (found == NULL)
        return -1;
    return use(found);
}
"), @r"
    @@
     static PyObject *find(PyObject *key)
     {
    -    return PyDict_GetItem(cache, key);
    +    PyObject *value;
    +    if (PyDict_GetItemRef(cache, key, &value) < 0) {
    +        PyErr_Clear();
    +    }
    +    return value;
     }
     
    @@
         PyObject *found = find(key);
         if (found == NULL)
    -        return Py_None;
    +        return Py_NewRef(Py_None);
         return found;
     }
    @@
     {
         PyObject *found = find_default(key);
    +    int result;
         if (found == NULL)
             return -1;
    -    return use(found);
    +    result = use(found);
    +    Py_DECREF(found);
    +    return result;
     }
    ");
}

#[test]
fn an_object_that_was_made_and_released_before_it_is_returned() {
    insta::assert_snapshot!(run("
/* Returns the list (borrowed reference). */
static PyObject *make(PyObject *dict, PyObject *key)
{
    PyObject *list = PyList_New(0);
    if (list == NULL)
        return NULL;
    if (PyDict_SetItem(dict, key, list) < 0) {
        Py_DECREF(list);
        return NULL;
    }
    Py_DECREF(list);  /* the dict has it */
    return list;
}

static PyObject *find(PyObject *dict, PyObject *key)
{
    PyObject *list = PyDict_GetItemWithError(dict, key);
    if (list != NULL || PyErr_Occurred())
        return list;
    return make(dict, key);
}

static int add(PyObject *dict, PyObject *key, PyObject *v)
{
    PyObject *list = find(dict, key);
    if (list == NULL)
        return -1;
    return PyList_Append(list, v);
}
"), @"
        @@
        -/* Returns the list (borrowed reference). */
        +/* Returns the list (new reference). */
         static PyObject *make(PyObject *dict, PyObject *key)
         {
        @@
                 return NULL;
             }
        -    Py_DECREF(list);  /* the dict has it */
        +    /* the dict has it */
             return list;
         }
        @@
         static PyObject *find(PyObject *dict, PyObject *key)
         {
        -    PyObject *list = PyDict_GetItemWithError(dict, key);
        +    PyObject *list;
        +    (void)PyDict_GetItemRef(dict, key, &list);
             if (list != NULL || PyErr_Occurred())
                 return list;
        @@
         {
             PyObject *list = find(dict, key);
        +    int result;
             if (list == NULL)
                 return -1;
        -    return PyList_Append(list, v);
        +    result = PyList_Append(list, v);
        +    Py_DECREF(list);
        +    return result;
         }
        ");
}

#[test]
fn an_object_that_is_released_elsewhere_stays_as_it_is() {
    insta::assert_snapshot!(run("
static PyObject *make(PyObject *dict, PyObject *key)
{
    PyObject *list = PyList_New(0);
    if (list == NULL || PyDict_SetItem(dict, key, list) < 0)
        return NULL;
    Py_DECREF(list);
    if (PyErr_Occurred())
        return NULL;
    return list;
}

static PyObject *find(PyObject *dict, PyObject *key)
{
    PyObject *list = PyDict_GetItemWithError(dict, key);
    if (list != NULL || PyErr_Occurred())
        return list;
    return make(dict, key);
}

static int add(PyObject *dict, PyObject *key, PyObject *v)
{
    PyObject *list = find(dict, key);
    if (list == NULL)
        return -1;
    return PyList_Append(list, v);
}
"), @"
        14: the function returns the borrowed reference, so its callers (m.c:22) must be changed with it, and that cannot be done here: it returns the result of `make`, which gives no reference either
        ");
}
