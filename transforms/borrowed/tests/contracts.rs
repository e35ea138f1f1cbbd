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
"), @"
    @@
     static PyObject *find(PyObject *key)
     {
    -    return PyDict_GetItem(cache, key);
    +    PyObject *value;
    +    if (PyDict_GetItemRef(cache, key, &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
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
 * a *borrowed reference*, so don't DECREF it! The reference is borrowed and must not be
 * freed. */
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
        - * a *borrowed reference*, so don't DECREF it! The reference is borrowed and must not be
        + * a *new reference*, so DECREF it! The reference is new and must be
          * freed. */
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
fn a_comment_that_denies_a_new_reference_is_put_right() {
    insta::assert_snapshot!(run("
/* Does not return a new reference. */
static PyObject *
find(PyObject *key)
{
    return PyDict_GetItemWithError(cache, key);
}

static int test(PyObject *key)
{
    return find(key) != NULL;
}
"), @"
        @@
        -/* Does not return a new reference. */
        +/* Returns a new reference. */
         static PyObject *
         find(PyObject *key)
         {
        -    return PyDict_GetItemWithError(cache, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(cache, key, &value);
        +    return value;
         }
         
         static int test(PyObject *key)
         {
        -    return find(key) != NULL;
        +    PyObject *value = find(key);
        +    int result = value != NULL;
        +    Py_XDECREF(value);
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
         {
             PyObject* sub;
        +    PyObject* exc;
         
        -    sub = PyDict_GetItem(cache, key);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(cache, key, &sub) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
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
"), @"
    @@
         PyObject *found;
         if (key == Py_None)
    -        return Py_None;
    -    found = PyDict_GetItem(self->dict, key);
    +        return Py_NewRef(Py_None);
    +    if (PyDict_GetItemRef(self->dict, key, &found) < 0) {
    +        PyErr_WriteUnraisable(NULL);
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
"), @"3: return a strong reference, and release it in the callers (m.c:10); there is no automatic fix, because its address is taken at m.c:6");
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
"), @"3: return a strong reference, and release it in the callers (m.c:8, m.c:14); in `f` at m.c:8, decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)");
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
"), @"
    3: review: only analysed C code calls `find`
    @@
     PyObject *find(PyObject *key)
     {
    -    return PyDict_GetItem(cache, key);
    +    PyObject *value;
    +    if (PyDict_GetItemRef(cache, key, &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
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
"), @"
    @@
     static PyObject *find(PyObject *key)
     {
    -    return PyDict_GetItem(cache, key);
    +    PyObject *value;
    +    if (PyDict_GetItemRef(cache, key, &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
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
        14: return a strong reference, and release it in the callers (m.c:22); in `find`, return a strong reference from `make`, too (the function returns its result)
        ");
}

#[test]
fn a_variable_that_is_only_returned_leaves_with_the_reference() {
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *dict, const char *key)
{
    PyObject *ret = NULL;
    ret = PyDict_GetItemString(dict, key);
    if (ret == NULL)
        ret = Py_None;
    return ret;
}

static PyObject *number(PyObject *dict, const char *key)
{
    PyObject *ret = NULL;
    PyObject *value = find(dict, key);
    if (value == NULL)
        goto out;
    if (!PyNumber_Check(value)) {
        PyErr_Format(PyExc_TypeError, \"%s is no number\", key);
        goto out;
    }
    ret = value;
out:
    return ret;
}

static int test(PyObject *dict)
{
    int rc = -1;
    PyObject *value = number(dict, \"n\");
    if (value == NULL)
        goto done;
    rc = PyObject_IsTrue(value);
done:
    return rc;
}
"), @r#"
        @@
         {
             PyObject *ret = NULL;
        -    ret = PyDict_GetItemString(dict, key);
        +    if (PyDict_GetItemStringRef(dict, key, &ret) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (ret == NULL)
        -        ret = Py_None;
        +        ret = Py_NewRef(Py_None);
             return ret;
         }
        @@
                 goto out;
             if (!PyNumber_Check(value)) {
        +        Py_DECREF(value);
                 PyErr_Format(PyExc_TypeError, "%s is no number", key);
                 goto out;
        @@
                 goto done;
             rc = PyObject_IsTrue(value);
        +    Py_DECREF(value);
         done:
             return rc;
        "#);
}

#[test]
fn a_variable_that_is_returned_and_used_is_followed() {
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *dict, const char *key)
{
    PyObject *ret = NULL;
    PyObject *value = PyDict_GetItemString(dict, key);
    if (value == NULL)
        goto out;
    ret = value;
    if (PyObject_IsTrue(ret) < 0)
        ret = NULL;
out:
    return ret;
}

static int test(PyObject *dict)
{
    PyObject *value = find(dict, \"n\");
    return value != NULL;
}
"), @"4: take the reference in `value` on all paths (only some paths own it)");
}

#[test]
fn what_a_caller_makes_of_the_result_is_known() {
    insta::assert_snapshot!(run("
static PyObject *find(PyObject *dict, const char *key)
{
    return PyDict_GetItemString(dict, key);
}

static PyArrayObject *column(PyObject *input)
{
    return (PyArrayObject *)PyArray_FROM_OTF(input, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
}

static long test(PyObject *dict)
{
    long n;
    PyArrayObject *array;
    PyObject *value = find(dict, \"n\");
    if (value == NULL)
        return -1;
    array = column(value);
    if (array == NULL)
        return -1;
    n = PyArray_SIZE(array);
    Py_DECREF(array);
    return n;
}
"), @"
        @@
         static PyObject *find(PyObject *dict, const char *key)
         {
        -    return PyDict_GetItemString(dict, key);
        +    PyObject *value;
        +    if (PyDict_GetItemStringRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    return value;
         }
         
        @@
                 return -1;
             array = column(value);
        +    Py_DECREF(value);
             if (array == NULL)
                 return -1;
        ");
}
