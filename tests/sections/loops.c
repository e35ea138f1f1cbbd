/* Loops over dicts as they are written in the wild; tests/sections.rs rewrites them. */
#include <Python.h>

static int
both(PyObject *args, PyObject **d, PyObject **f)
{
    return PyArg_ParseTuple(args, "O!O", &PyDict_Type, d, f);
}

static PyObject *
count_strings(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key;
    Py_ssize_t pos = 0;
    long n = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, NULL))
        if (PyUnicode_Check(key))
            n++;
    return PyLong_FromLong(n);
}

static PyObject *
only_strings(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "keys must be strings");
            return NULL;
        }
        if (value == Py_None)
            return PyErr_Format(PyExc_ValueError, "%R is None",
                                key);
    }
    Py_RETURN_NONE;
}

static PyObject *
sum_until(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *value;
    PyObject *total = NULL;
    Py_ssize_t pos;
    long sum = 0;

    if (!both(args, &d, &f))
        return NULL;
    for (pos = 0; PyDict_Next(d, &pos, NULL, &value);) {
        long item = PyLong_AsLong(value);
        if (item == -1 && PyErr_Occurred())
            goto done;
        sum += item;
        if (sum > 100)
            break;
    }
    total = PyLong_FromLong(sum);
done:
    return total;
}

static PyObject *
call_each(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result;
    Py_ssize_t pos = 0;
    int truth;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (value == Py_None)
            continue;
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL)
            return NULL;
        if (result == Py_False) {
            Py_DECREF(result);
            break;
        }
        Py_DECREF(result);
        truth = PyObject_IsTrue(value);
        if (truth < 0)
            return NULL;
        if (truth == 0)
            return PyUnicode_FromFormat("%R is false", key);
    }
    Py_RETURN_NONE;
}

#define RAISE(type, text) \
    do { \
        PyErr_Format(type, "%s after %zd", text, seen); \
        return NULL; \
    } while (0)

static PyObject *
truths(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value;
    Py_ssize_t pos = 0, seen = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key))
            RAISE(PyExc_TypeError, "no name");
        switch (PyObject_IsTrue(value)) {
        case -1:
            return NULL;
        case 0:
            RAISE(PyExc_ValueError,
                  "not true");
        }
        seen++;
    }
    return PyLong_FromSsize_t(seen);
}

static PyObject *
find(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *wanted, *key, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &wanted))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (key == wanted)
            Py_RETURN_TRUE;
        if (value == wanted) {
            Py_RETURN_FALSE;
        }
        if (key == Py_None)
            goto none;
    }
    Py_RETURN_NONE;
none:
    return PyUnicode_FromString("none");
}

static PyObject *
find_in_tuples(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *wanted, *value;
    Py_ssize_t pos = 0, i;

    if (!both(args, &d, &wanted))
        return NULL;
    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (!PyTuple_Check(value))
            continue;
        for (i = 0; i < PyTuple_GET_SIZE(value); i++) {
            if (PyTuple_GET_ITEM(value, i) == wanted)
                return PyLong_FromSsize_t(i);
        }
        switch (PyTuple_GET_SIZE(value)) {
        case 0:
            PyErr_SetString(PyExc_ValueError, "empty");
            return NULL;
        default:
            break;
        }
    }
    return PyLong_FromLong(-1);
}

static PyObject *
attribute_names(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *object, *key, *names;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &object))
        return NULL;
    names = PyList_New(0);
    if (names == NULL)
        return NULL;
    d = PyObject_GetAttrString(object, "__dict__");
    if (d == NULL) {
        Py_DECREF(names);
        return NULL;
    }
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (PyUnicode_GET_LENGTH(key) == 1) {
            Py_DECREF(names);
            Py_DECREF(d);
            return PyErr_NoMemory();
        }
        if (PyList_Append(names, key) < 0) {
            Py_DECREF(names);
            Py_DECREF(d);
            return NULL;
        }
    }
    Py_DECREF(d);
    return names;
}

static PyObject *
common_keys(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *a, *b, *k, *l;
    Py_ssize_t i = 0, j;
    long n = 0;

    if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &a, &PyDict_Type, &b))
        return NULL;
    while (PyDict_Next(a, &i, &k, NULL)) {
        j = 0;
        while (PyDict_Next(b, &j, &l, NULL)) {
            if (k == l)
                n++;
            if (l == Py_None)
                Py_RETURN_NONE;
        }
    }
    return PyLong_FromLong(n);
}

static PyObject *
copy_into(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *target, *key, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &target))
        return NULL;
    if (PyDict_Check(target))
        while (PyDict_Next(d, &pos, &key, &value))
            if (PyDict_SetItem(target, key, value) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *
first_pair(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    if (PyDict_Next(d, &pos, &key, &value)) {
        return PyTuple_Pack(2, key, value);
    }
    Py_RETURN_NONE;
}

static PyObject *
call_first(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result;
    Py_ssize_t pos = 0;
    int truth;

    if (!both(args, &d, &f))
        return NULL;
    if (PyDict_Next(d, &pos, &key, &value)) {
        if (value == Py_None)
            return PyUnicode_FromString("nothing");
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
        truth = PyObject_IsTrue(value);
    } else if (PyDict_Check(f)) {
        return PyUnicode_FromString("empty");
    } else {
        truth = PyObject_IsTrue(f);
    }
    if (truth < 0)
        return NULL;
    return PyBool_FromLong(truth);
}

static PyObject *
call_only(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result;
    Py_ssize_t pos = 0, size;

    if (!both(args, &d, &f))
        return NULL;
    size = PyDict_Size(d);
    if (size == 1) {
        PyDict_Next(d, &pos, &key, &value);
        if (value == Py_None)
            return PyUnicode_FromString("nothing");
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
        return PyTuple_Pack(2, key, value);
    }
    return PyLong_FromSsize_t(size);
}

static PyObject *
count_globals(PyObject *self, PyObject *Py_UNUSED(args))
{
    Py_ssize_t pos = 0;
    long n = 0;

    while (PyDict_Next(PyModule_GetDict(self), &pos, NULL, NULL))
        n++;
    return PyLong_FromLong(n);
}

static int
call_until(PyObject *f, PyObject *d, Py_ssize_t *calls)
{
    PyObject *key, *value, *result;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (value == Py_None)
            continue;
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        ++*calls;
        if (result == NULL)
            return -1;
        Py_DECREF(result);
        if (result == Py_False)
            return 1;
        if (key == Py_None)
            break;
    }
    return 0;
}

static PyObject *
call_and_count(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f;
    Py_ssize_t calls = 0;
    int stopped;

    if (!both(args, &d, &f))
        return NULL;
    stopped = call_until(f, d, &calls);
    if (stopped < 0)
        return NULL;
    return Py_BuildValue("in", stopped, calls);
}

static PyObject *
show_each(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *shown;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    shown = PyList_New(0);
    if (shown == NULL)
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        int failed;

        if (value == Py_None)
            continue;
        key = PyObject_Str(key);
        if (key == NULL)
            goto error;
        value = PyObject_Repr(value);
        if (value == NULL) {
            Py_DECREF(key);
            goto error;
        }
        failed = PyList_Append(shown, key) < 0 || PyList_Append(shown, value) < 0;
        Py_DECREF(key);
        Py_DECREF(value);
        if (failed)
            goto error;
        if (PyList_GET_SIZE(shown) > 4)
            break;
    }
    return shown;
error:
    Py_DECREF(shown);
    return NULL;
}

static PyObject *
all_true(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        const int is_known = PyObject_HasAttr(f, key);
        int is_true = PyObject_IsTrue(value);

        if (is_true < 0)
            return NULL;
        if (!is_true)
            return PyUnicode_FromFormat("%R is false, %d", key, is_known);
    }
    Py_RETURN_NONE;
}

static PyObject *
any_true(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        int is_true = PyObject_RichCompareBool(value,
                                               Py_True,
                                               Py_EQ);

        if (is_true < 0)
            return NULL;
        if (is_true)
            return Py_NewRef(key);
    }
    Py_RETURN_NONE;
}

static PyObject *registry;

static PyObject *
call_registered(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result, *saved;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    saved = registry;
    registry = Py_NewRef(d);
    while (PyDict_Next(registry, &pos, &key, &value)) {
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL) {
            Py_XSETREF(registry, saved);
            return NULL;
        }
        Py_DECREF(result);
    }
    Py_XSETREF(registry, saved);
    Py_RETURN_NONE;
}

/* The dict that a helper gets is kept by a variable of the file alone. */
static PyObject *kept[1];

static int
call_all(PyObject *d, PyObject *f)
{
    PyObject *key, *value, *result;
    Py_ssize_t pos = 0;
    int status = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL) {
            status = -1;
            break;
        }
        Py_DECREF(result);
    }
    return status;
}

static PyObject *
call_kept(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *saved;
    int status;

    if (!both(args, &d, &f))
        return NULL;
    saved = kept[0];
    kept[0] = PyDict_Copy(d);
    status = call_all(kept[0], f);
    Py_XSETREF(kept[0], saved);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
forget(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args))
{
    Py_XSETREF(registry, PyDict_New());
    Py_CLEAR(kept[0]);
    kept[0] = PyDict_New();
    Py_RETURN_NONE;
}

/* The last value is used when no loop holds it any more. */
static PyObject *
call_last(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value = NULL, *result;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
    }
    if (value == NULL)
        Py_RETURN_NONE;
    return PyObject_Repr(value);
}

/* Python code may call `forget` and set the variable. */
static PyObject *
call_shared(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result, *done = NULL;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    Py_XSETREF(registry, Py_NewRef(d));
    while (PyDict_Next(registry, &pos, &key, &value)) {
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL)
            goto clear;
        Py_DECREF(result);
    }
    done = Py_NewRef(Py_None);
clear:
    Py_CLEAR(registry);
    return done;
}

/* The second loop has room for what the first one has counted. */
static PyObject *
join_keys(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *joined = NULL;
    Py_ssize_t pos = 0, length = 0, size;
    const char *text;
    char *at;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "keys must be strings");
            goto fail;
        }
        if (PyUnicode_AsUTF8AndSize(key, &size) == NULL)
            goto fail;
        length += size;
    }
    joined = PyBytes_FromStringAndSize(NULL, length);
    if (joined == NULL)
        goto fail;
    at = PyBytes_AS_STRING(joined);
    pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        text = PyUnicode_AsUTF8AndSize(key, &size);
        if (text == NULL)
            goto fail;
        memcpy(at, text, size);
        at += size;
    }
    return joined;
fail:
    Py_XDECREF(joined);
    return NULL;
}

static PyObject *
show_owned(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key = NULL, *value = NULL, *result;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        if (result == NULL)
            goto error;
        Py_DECREF(result);
        Py_CLEAR(key);
        Py_CLEAR(value);
    }
    Py_RETURN_NONE;
error:
    Py_XDECREF(key);
    Py_XDECREF(value);
    return NULL;
}

static PyObject *
call_named(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value))
#if PY_MAJOR_VERSION >= 3
        if (PyUnicode_Check(key)) {
#else
        if (PyString_Check(key)) {
#endif
            result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
            if (result == NULL)
                return NULL;
            Py_DECREF(result);
            if (PyObject_IsTrue(value) < 0)
                return NULL;
        }
    Py_RETURN_NONE;
}

static PyObject *
call_if_only(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *result = NULL;
    Py_ssize_t pos = 0;

    if (!PyArg_ParseTuple(args, "OO", &d, &f))
        return NULL;
    if (PyDict_CheckExact(d) && PyDict_Size(d) == 1) {
        if (PyDict_Next(d, &pos, &key, &value))
            result = PyObject_CallFunctionObjArgs(f, key, value, NULL);
        else
            PyErr_SetString(PyExc_SystemError, "no item");
    }
    else
        PyErr_SetString(PyExc_ValueError, "not one item");
    return result;
}

static PyObject *
last_bytes(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key;
    char *text = NULL;
    Py_ssize_t pos = 0, length = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (PyBytes_AsStringAndSize(key, &text, &length) < 0)
            return NULL;
    }
    return PyUnicode_FromStringAndSize(text, length);
}

/* Nothing in the loop lets other threads run, so no reference is needed. */
static PyObject *
show_types(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *value, *list;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    list = PyList_New(0);
    if (list == NULL)
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value)) {
        value = Py_BuildValue("Os", key, Py_TYPE(value)->tp_name);
        if (value == NULL || PyList_Append(list, value) < 0) {
            Py_XDECREF(value);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(value);
    }
    return list;
}

/* No section may end in a thread that is detached. */
#define RELEASE_GIL(state) *(state) = PyEval_SaveThread();

static int
leave_at(PyObject *d, PyObject *wanted, PyThreadState **state)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_IsTrue(value) < 0)
            return -1;
        if (key == wanted || value == wanted) {
            RELEASE_GIL(state);
            return 1;
        }
    }
    return 0;
}

static PyObject *
find_detached(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *wanted;
    PyThreadState *state = NULL;
    int found;

    if (!both(args, &d, &wanted))
        return NULL;
    found = leave_at(d, wanted, &state);
    if (found < 0)
        return NULL;
    if (found)
        PyEval_RestoreThread(state);
    return PyBool_FromLong(found);
}

/* The label is only called after the lock. */
static PyObject *
find_none(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *value;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (value == Py_None)
            goto release_gil_none;
    }
    Py_RETURN_FALSE;
release_gil_none:
    Py_RETURN_TRUE;
}

/* The macro leaves on some ways through it only. */
#define CHECK_TRUE(object) \
    do { \
        int truth = PyObject_IsTrue(object); \
        if (truth < 0) \
            goto failed; \
        if (truth == 0) { \
            Py_XDECREF(shown); \
            return PyUnicode_FromFormat("%R is false", object); \
        } \
    } while (0)

static PyObject *
check_values(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *value, *shown = NULL;
    Py_ssize_t pos = 0;

    if (!both(args, &d, &f))
        return NULL;
    while (PyDict_Next(d, &pos, NULL, &value)) {
        CHECK_TRUE(value);
        Py_XSETREF(shown, PyObject_Repr(value));
    }
    return shown ? shown : Py_NewRef(Py_None);
failed:
    Py_XDECREF(shown);
    return NULL;
}

/* Of no dict the size is an error. */
static PyObject *
keys_of_many(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *d, *f, *key, *many, *keys;
    Py_ssize_t n, pos = 0, i = 0;

    if (!both(args, &d, &f))
        return NULL;
    many = PyDict_GET_SIZE(d) > 1 ? d : NULL;
    n = PyDict_Size(many);
    if (n < 0)
        return NULL;
    keys = PyTuple_New(n);
    if (keys == NULL)
        return NULL;
    while (PyDict_Next(many, &pos, &key, NULL))
        PyTuple_SET_ITEM(keys, i++, Py_NewRef(key));
    return keys;
}

/* The object keeps its attributes, as long as no call sets others. */
static PyObject *
true_attributes(PyObject *self, PyObject *args)
{
    PyObject *object, *attributes, *value;
    Py_ssize_t pos = 0;
    long n = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "O|O", &object, &value))
        return NULL;
    attributes = PyObject_GetAttrString(object, "__dict__");
    if (attributes == NULL)
        return NULL;
    Py_DECREF(attributes);
    while (PyDict_Next(attributes, &pos, NULL, &value)) {
        int is_true = PyObject_IsTrue(value);
        if (is_true < 0)
            return NULL;
        n += is_true;
    }
    return PyLong_FromLong(n);
}

static PyMethodDef methods[] = {
    {"true_attributes", true_attributes, METH_VARARGS, NULL},
    {"keys_of_many", keys_of_many, METH_VARARGS, NULL},
    {"check_values", check_values, METH_VARARGS, NULL},
    {"show_types", show_types, METH_VARARGS, NULL},
    {"find_detached", find_detached, METH_VARARGS, NULL},
    {"find_none", find_none, METH_VARARGS, NULL},
    {"call_last", call_last, METH_VARARGS, NULL},
    {"call_shared", call_shared, METH_VARARGS, NULL},
    {"join_keys", join_keys, METH_VARARGS, NULL},
    {"show_owned", show_owned, METH_VARARGS, NULL},
    {"call_named", call_named, METH_VARARGS, NULL},
    {"call_if_only", call_if_only, METH_VARARGS, NULL},
    {"last_bytes", last_bytes, METH_VARARGS, NULL},
    {"count_strings", count_strings, METH_VARARGS, NULL},
    {"only_strings", only_strings, METH_VARARGS, NULL},
    {"sum_until", sum_until, METH_VARARGS, NULL},
    {"call_each", call_each, METH_VARARGS, NULL},
    {"truths", truths, METH_VARARGS, NULL},
    {"find", find, METH_VARARGS, NULL},
    {"find_in_tuples", find_in_tuples, METH_VARARGS, NULL},
    {"attribute_names", attribute_names, METH_VARARGS, NULL},
    {"common_keys", common_keys, METH_VARARGS, NULL},
    {"copy_into", copy_into, METH_VARARGS, NULL},
    {"first_pair", first_pair, METH_VARARGS, NULL},
    {"call_first", call_first, METH_VARARGS, NULL},
    {"call_only", call_only, METH_VARARGS, NULL},
    {"call_and_count", call_and_count, METH_VARARGS, NULL},
    {"show_each", show_each, METH_VARARGS, NULL},
    {"all_true", all_true, METH_VARARGS, NULL},
    {"any_true", any_true, METH_VARARGS, NULL},
    {"call_registered", call_registered, METH_VARARGS, NULL},
    {"call_kept", call_kept, METH_VARARGS, NULL},
    {"forget", forget, METH_VARARGS, NULL},
    {"count_globals", count_globals, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "loops", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit_loops(void)
{
    return PyModuleDef_Init(&definition);
}
