//! Loops over copies, where no section can be shown to hold.

use super::diff;

/// The rule on a function with this body, a dict `d` and a table `names`.
fn copied(body: &str) -> String {
    diff(&format!(
        "
static int
fill(PyObject *d, PyObject **names, PyObject *hook)
{{
    Py_ssize_t pos = 0, i = 0, n;
    PyObject *key, *value;
{body}
}}
"
    ))
}

#[test]
fn the_dict_is_a_pointer_of_another_type() {
    for (ty, dict) in [("PyDictObject", "(PyObject *)d"), ("PyObject", "d")] {
        let result = diff(&format!(
            "
static long f({ty} *d, PyObject *hook)
{{
    PyObject *value, *last = NULL;
    Py_ssize_t pos = 0;
    while (PyDict_Next((PyObject *)d, &pos, NULL, &value)) {{
        if (PyObject_CallOneArg(hook, value) == NULL)
            return -1;
        last = value;
    }}
    return last && PyObject_CallOneArg(hook, last) ? 0 : -1;
}}
"
        ));
        let copied = format!("PyDict_Copy({dict})\n");
        assert!(result.contains(&copied), "{result}");
    }
}

const CALLS_BACK: &str = "
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_CallOneArg(hook, key) == NULL)
            return -1;
        if (PyObject_CallOneArg(hook, value) == NULL)
            return -1;
    }
    if (PyObject_CallOneArg(hook, value) == NULL)
        return -1;
    return 0;";

#[test]
fn what_is_used_behind_the_loop_is_kept_by_a_copy() {
    insta::assert_snapshot!(copied(CALLS_BACK), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             Py_ssize_t pos = 0, i = 0, n;
             PyObject *key, *value;
        +    PyObject *d_copy = PyDict_Check(d)
        +        ? PyDict_Copy(d)
        +        : PyDict_New();
         
        -    while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (PyObject_CallOneArg(hook, key) == NULL)
        +    if (d_copy == NULL)
        +        return -1;
        +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
        +        if (PyObject_CallOneArg(hook, key) == NULL) {
        +            Py_DECREF(d_copy);
                     return -1;
        -        if (PyObject_CallOneArg(hook, value) == NULL)
        +        }
        +        if (PyObject_CallOneArg(hook, value) == NULL) {
        +            Py_DECREF(d_copy);
                     return -1;
        +        }
             }
        -    if (PyObject_CallOneArg(hook, value) == NULL)
        +    if (PyObject_CallOneArg(hook, value) == NULL) {
        +        Py_DECREF(d_copy);
                 return -1;
        +    }
        +    Py_DECREF(d_copy);
             return 0;
         }
        ");
}

#[test]
fn a_field_that_the_loop_may_set_is_copied() {
    let text = "
typedef struct { PyObject_HEAD PyObject *items; } Store;
static PyObject *
Store_reset(Store *self, PyObject *unused)
{
    Py_XSETREF(self->items, PyDict_New());
    Py_RETURN_NONE;
}

static PyObject *
Store_each(Store *self, PyObject *hook)
{
    PyObject *key, *value, *given;
    Py_ssize_t pos = 0;

    if (!PyDict_Check(self->items))
        return PyErr_Format(PyExc_TypeError, \"no dict\");
    while (PyDict_Next(self->items, &pos, &key, &value)) {
        given = PyObject_CallFunctionObjArgs(hook, key, value, NULL);
        if (given == NULL)
            return NULL;
        Py_DECREF(given);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {\"reset\", (PyCFunction)Store_reset, METH_NOARGS, NULL},
    {\"each\", (PyCFunction)Store_each, METH_O, NULL}, {NULL}
};
";
    insta::assert_snapshot!(diff(text), @r#"
        18: `self->items` is iterated over without its lock; another thread may change the dict meanwhile
          18: the dict is `self->items`, a field that other threads can reach; another thread can change it between two calls
          19: `PyObject_CallFunctionObjArgs` can run Python code, which may also change the dict
          review: iterate over a copy of `self->items`
          assumes that `PyObject_CallFunctionObjArgs` does not change `self->items` before the last read (the copy would not show the change)
          assumes that `self->items` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             PyObject *key, *value, *given;
             Py_ssize_t pos = 0;
        +    PyObject *items_copy;
         
             if (!PyDict_Check(self->items))
                 return PyErr_Format(PyExc_TypeError, "no dict");
        -    while (PyDict_Next(self->items, &pos, &key, &value)) {
        +    items_copy = PyDict_Copy(self->items);
        +    if (items_copy == NULL)
        +        return NULL;
        +    while (PyDict_Next(items_copy, &pos, &key, &value)) {
                 given = PyObject_CallFunctionObjArgs(hook, key, value, NULL);
        -        if (given == NULL)
        +        if (given == NULL) {
        +            Py_DECREF(items_copy);
                     return NULL;
        +        }
                 Py_DECREF(given);
             }
        +    Py_DECREF(items_copy);
             Py_RETURN_NONE;
         }
        "#);
}

#[test]
fn the_size_is_that_of_the_copy() {
    let body = "
    n = PyDict_GET_SIZE(d);
    if (grow(names, n) < 0)
        return -1;
    while (PyDict_Next(d, &pos, &key, &value))
        names[i++] = Py_NewRef(key);
    if (PyObject_CallOneArg(hook, value) == NULL)
        return -1;
    return 0;";
    insta::assert_snapshot!(copied(body), @"
        11: `d` is iterated over without its lock; another thread may change the dict meanwhile
          11: the dict is `d`, which the caller passes; another thread can change it between two calls
          review: iterate over a copy of `d`
          assumes that `grow` does not change a dict that its caller reads later (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             Py_ssize_t pos = 0, i = 0, n;
             PyObject *key, *value;
        +    PyObject *d_copy = PyDict_Copy(d);
         
        -    n = PyDict_GET_SIZE(d);
        -    if (grow(names, n) < 0)
        +    if (d_copy == NULL)
        +        return -1;
        +    n = PyDict_GET_SIZE(d_copy);
        +    if (grow(names, n) < 0) {
        +        Py_DECREF(d_copy);
                 return -1;
        -    while (PyDict_Next(d, &pos, &key, &value))
        +    }
        +    while (PyDict_Next(d_copy, &pos, &key, &value))
                 names[i++] = Py_NewRef(key);
        -    if (PyObject_CallOneArg(hook, value) == NULL)
        +    if (PyObject_CallOneArg(hook, value) == NULL) {
        +        Py_DECREF(d_copy);
                 return -1;
        +    }
        +    Py_DECREF(d_copy);
             return 0;
         }
        ");
}

/// A loop that counts, and one that fills what has room for so many.
const JOIN: &str = "
static PyObject *
join(PyObject *self, PyObject *args)
{
    PyObject *d, *key, *joined = NULL;
    Py_ssize_t pos = 0, length = 0;
    char *at;

    if (!PyArg_ParseTuple(args, \"O!\", &PyDict_Type, &d))
        return NULL;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyBytes_Check(key)) {
            PyErr_SetString(PyExc_TypeError, \"no bytes\");
            goto fail;
        }
        length += PyBytes_GET_SIZE(key);
    }
    joined = PyBytes_FromStringAndSize(NULL, length);
    if (joined == NULL)
        goto fail;
    at = PyBytes_AS_STRING(joined);
    pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        memcpy(at, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key));
        at += PyBytes_GET_SIZE(key);
    }
    return joined;
fail:
    Py_XDECREF(joined);
    return NULL;
}
";

#[test]
fn a_loop_that_counts_and_one_that_fills_share_a_copy() {
    insta::assert_snapshot!(diff(JOIN), @r#"
        11: `d` is iterated over without its lock; another thread may change the dict meanwhile
          11: the dict is an argument that Python code passes; another thread can change it between two calls
          13: `PyErr_SetString` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        23: `d` is iterated over without its lock; another thread may change the dict meanwhile
          23: the dict is an argument that Python code passes; another thread can change it between two calls
          review: iterate over a copy of `d`
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             Py_ssize_t pos = 0, length = 0;
             char *at;
        +    PyObject *d_copy;
         
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &d))
                 return NULL;
        -    while (PyDict_Next(d, &pos, &key, NULL)) {
        +    d_copy = PyDict_Copy(d);
        +    if (d_copy == NULL)
        +        return NULL;
        +    while (PyDict_Next(d_copy, &pos, &key, NULL)) {
                 if (!PyBytes_Check(key)) {
                     PyErr_SetString(PyExc_TypeError, "no bytes");
        @@
             at = PyBytes_AS_STRING(joined);
             pos = 0;
        -    while (PyDict_Next(d, &pos, &key, NULL)) {
        +    while (PyDict_Next(d_copy, &pos, &key, NULL)) {
                 memcpy(at, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key));
                 at += PyBytes_GET_SIZE(key);
             }
        +    Py_DECREF(d_copy);
             return joined;
         fail:
             Py_XDECREF(joined);
        +    Py_DECREF(d_copy);
             return NULL;
         }
        "#);
}

#[test]
fn what_a_return_computes_comes_before_the_release() {
    let body = "
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_CallOneArg(hook, key) == NULL)
            return -1;
        if (value == hook)
            return check(value);
    }
    if (PyObject_CallOneArg(hook, value) == NULL)
        return -1;
    return 0;";
    insta::assert_snapshot!(copied(body), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             Py_ssize_t pos = 0, i = 0, n;
             PyObject *key, *value;
        +    PyObject *d_copy = PyDict_Check(d)
        +        ? PyDict_Copy(d)
        +        : PyDict_New();
        +    int result = 0;
         
        -    while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (PyObject_CallOneArg(hook, key) == NULL)
        +    if (d_copy == NULL)
        +        return -1;
        +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
        +        if (PyObject_CallOneArg(hook, key) == NULL) {
        +            Py_DECREF(d_copy);
                     return -1;
        -        if (value == hook)
        -            return check(value);
        +        }
        +        if (value == hook) {
        +            result = check(value);
        +            Py_DECREF(d_copy);
        +            return result;
        +        }
             }
        -    if (PyObject_CallOneArg(hook, value) == NULL)
        +    if (PyObject_CallOneArg(hook, value) == NULL) {
        +        Py_DECREF(d_copy);
                 return -1;
        +    }
        +    Py_DECREF(d_copy);
             return 0;
         }
        ");
}

#[test]
fn a_label_behind_the_loop_releases_for_all_jumps() {
    let body = "
    int status = -1;

    if (!PyDict_Check(d))
        return -1;
    if (PyObject_CallOneArg(hook, d) == NULL)
        return -1;
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_CallOneArg(hook, key) == NULL)
            goto done;
        if (PyObject_CallOneArg(hook, value) == NULL)
            goto done;
    }
    if (PyObject_CallOneArg(hook, value) == NULL)
        goto done;
    status = 0;
done:
    leave(names);
    return status;";
    insta::assert_snapshot!(copied(body), @"
    14: `d` is iterated over without its lock; another thread may change the dict meanwhile
      14: the dict is `d`, which the caller passes; another thread can change it between two calls
      15: `PyObject_CallOneArg` can run Python code, which may also change the dict
      review: iterate over a copy of `d`
      assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
      assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
      assumes that in `fill`, `PyObject_CallOneArg(hook, key)` (line 15) is not needed if the item no longer exists
      assumes that in `fill`, `PyObject_CallOneArg(hook, value)` (line 17) is not needed if the item no longer exists
      assumes that in `fill`, `leave(names)` (line 24) is not needed if the item no longer exists
    @@
     
         int status = -1;
    +    PyObject *d_copy;
     
         if (!PyDict_Check(d))
    @@
         if (PyObject_CallOneArg(hook, d) == NULL)
             return -1;
    -    while (PyDict_Next(d, &pos, &key, &value)) {
    +    d_copy = PyDict_Copy(d);
    +    if (d_copy == NULL)
    +        return -1;
    +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
             if (PyObject_CallOneArg(hook, key) == NULL)
                 goto done;
    @@
     done:
         leave(names);
    +    Py_DECREF(d_copy);
         return status;
     }
    ");
}

#[test]
fn nothing_is_released_once_the_gil_is_given_away() {
    let text = "
static int
watch(PyObject *d, PyObject *hook)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_CallOneArg(hook, key) == NULL) {
            RELEASE_GIL;
            if (hook)
                log_end();
            return -1;
        }
    }
    if (PyObject_CallOneArg(hook, value) == NULL)
        return -1;
    return 0;
}
";
    insta::assert_snapshot!(diff(text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          by hand: iterate over a copy (`PyDict_Copy`), because `RELEASE_GIL` in the loop may detach the thread and a critical section must not end without a thread state
        ");
}

#[test]
fn other_keys_that_the_loop_sets_would_not_show_in_a_copy() {
    let body = CALLS_BACK.replace(
        "        if (PyObject_CallOneArg(hook, value)",
        "        if (PyDict_SetItem(d, hook, key) < 0)
            return -1;
        if (PyObject_CallOneArg(hook, value)",
    );
    insta::assert_snapshot!(copied(&body), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          review: iterate over `d` in a critical section
          assumes that another reference keeps `value` alive where it is used after the section (line 16)
          assumes that another reference keeps `value` alive in the loop while calls run Python code
        @@
             Py_ssize_t pos = 0, i = 0, n;
             PyObject *key, *value;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (PyObject_CallOneArg(hook, key) == NULL)
        -            return -1;
        -        if (PyDict_SetItem(d, hook, key) < 0)
        -            return -1;
        -        if (PyObject_CallOneArg(hook, value) == NULL)
        -            return -1;
        +        Py_INCREF(key);
        +        if (PyObject_CallOneArg(hook, key) == NULL) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            break;
        +        }
        +        if (PyDict_SetItem(d, hook, key) < 0) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            break;
        +        }
        +        if (PyObject_CallOneArg(hook, value) == NULL) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            break;
        +        }
        +        Py_DECREF(key);
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
             if (PyObject_CallOneArg(hook, value) == NULL)
                 return -1;
        ");
}

#[test]
fn what_is_stored_without_a_reference_outlives_a_copy() {
    let body = CALLS_BACK.replace("return 0;", "names[0] = value;\n    return 0;");
    insta::assert_snapshot!(copied(&body), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          review: iterate over `d` in a critical section
          assumes that another reference keeps `value` alive where it is used after the section (line 14)
          assumes that another reference keeps `value` alive in the loop while calls run Python code
        @@
             Py_ssize_t pos = 0, i = 0, n;
             PyObject *key, *value;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (PyObject_CallOneArg(hook, key) == NULL)
        -            return -1;
        -        if (PyObject_CallOneArg(hook, value) == NULL)
        -            return -1;
        +        Py_INCREF(key);
        +        if (PyObject_CallOneArg(hook, key) == NULL) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            break;
        +        }
        +        if (PyObject_CallOneArg(hook, value) == NULL) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            break;
        +        }
        +        Py_DECREF(key);
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
             if (PyObject_CallOneArg(hook, value) == NULL)
                 return -1;
        ");
}

#[test]
fn what_is_counted_behind_its_store_is_owned() {
    let body = "
    n = PyDict_GET_SIZE(d);
    if (PyObject_CallOneArg(hook, d) == NULL)
        return -1;
    if (grow(names, n) < 0)
        return -1;
    while (PyDict_Next(d, &pos, &key, &value)) {
        names[i++] = value;
        Py_INCREF(value);
        if (PyObject_CallOneArg(hook, key) == NULL)
            return -1;
    }
    return 0;";
    insta::assert_snapshot!(copied(body), @"
    13: `d` is iterated over without its lock; another thread may change the dict meanwhile
      13: the dict is `d`, which the caller passes; another thread can change it between two calls
      16: `PyObject_CallOneArg` can run Python code, which may also change the dict
      review: iterate over a copy of `d`
      assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
      assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
    @@
         Py_ssize_t pos = 0, i = 0, n;
         PyObject *key, *value;
    +    PyObject *d_copy = PyDict_Copy(d);
     
    -    n = PyDict_GET_SIZE(d);
    -    if (PyObject_CallOneArg(hook, d) == NULL)
    +    if (d_copy == NULL)
    +        return -1;
    +    n = PyDict_GET_SIZE(d_copy);
    +    if (PyObject_CallOneArg(hook, d) == NULL) {
    +        Py_DECREF(d_copy);
             return -1;
    -    if (grow(names, n) < 0)
    +    }
    +    if (grow(names, n) < 0) {
    +        Py_DECREF(d_copy);
             return -1;
    -    while (PyDict_Next(d, &pos, &key, &value)) {
    +    }
    +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
             names[i++] = value;
             Py_INCREF(value);
    -        if (PyObject_CallOneArg(hook, key) == NULL)
    +        if (PyObject_CallOneArg(hook, key) == NULL) {
    +            Py_DECREF(d_copy);
                 return -1;
    +        }
         }
    +    Py_DECREF(d_copy);
         return 0;
     }
    ");
}

#[test]
fn a_collector_makes_no_copy() {
    let text = "
typedef struct { PyObject_HEAD PyObject *items; } Store;

static int
Store_clear(Store *self)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(self->items, &pos, &key, &value)) {
        if (notify(key) < 0)
            return -1;
    }
    if (notify(value) < 0)
        return -1;
    return 0;
}

static PyTypeObject Store_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_clear = (inquiry)Store_clear,
};
";
    insta::assert_snapshot!(diff(text), @"
        10: `self->items` is iterated over without its lock; another thread may change the dict meanwhile
          10: the dict is `self->items`, a field that other threads can reach; another thread can change it between two calls
          11: `notify` can run Python code, which may also change the dict
          review: iterate over `self->items` in a critical section
          assumes that another reference keeps `value` alive where it is used after the section (line 14)
        @@
             PyObject *key, *value;
             Py_ssize_t pos = 0;
        +    PyObject *items = Py_NewRef(self->items);
        +    int failed = 0;
         
        -    while (PyDict_Next(self->items, &pos, &key, &value)) {
        -        if (notify(key) < 0)
        -            return -1;
        +    Py_BEGIN_CRITICAL_SECTION(items);
        +    while (PyDict_Next(items, &pos, &key, &value)) {
        +        Py_INCREF(key);
        +        if (notify(key) < 0) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            break;
        +        }
        +        Py_DECREF(key);
             }
        +    Py_END_CRITICAL_SECTION();
        +    Py_DECREF(items);
        +    if (failed)
        +        return -1;
             if (notify(value) < 0)
                 return -1;
        ");
}

#[test]
fn counts_of_references_are_those_without_a_copy() {
    let body = CALLS_BACK.replace("value) == NULL", "value) == NULL || Py_REFCNT(value) == 1");
    insta::assert_snapshot!(copied(&body), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          review: iterate over `d` in a critical section
          assumes that another reference keeps `key` alive in the loop while calls run Python code
          assumes that another reference keeps `value` alive where it is used after the section (line 14)
          assumes that another reference keeps `value` alive in the loop while calls run Python code
        @@
             Py_ssize_t pos = 0, i = 0, n;
             PyObject *key, *value;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (PyObject_CallOneArg(hook, key) == NULL)
        -            return -1;
        -        if (PyObject_CallOneArg(hook, value) == NULL || Py_REFCNT(value) == 1)
        -            return -1;
        +        if (PyObject_CallOneArg(hook, key) == NULL) {
        +            failed = 1;
        +            break;
        +        }
        +        if (PyObject_CallOneArg(hook, value) == NULL || Py_REFCNT(value) == 1) {
        +            failed = 1;
        +            break;
        +        }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
             if (PyObject_CallOneArg(hook, value) == NULL || Py_REFCNT(value) == 1)
                 return -1;
        ");
}

#[test]
fn a_jump_into_the_loop_would_miss_the_copy() {
    let body = CALLS_BACK
        .replace("while", "if (n) goto inside;\n    while")
        .replace(
            "        if (PyObject_CallOneArg(hook, value)",
            "inside:\n        if (PyObject_CallOneArg(hook, value)",
        );
    insta::assert_snapshot!(copied(&body), @"
        9: `d` is iterated over without its lock; another thread may change the dict meanwhile
          9: the dict is `d`, which the caller passes; another thread can change it between two calls
          10: `PyObject_CallOneArg` can run Python code, which may also change the dict
          by hand: move the label out of the loop first (`goto inside` jumps into the loop, but nothing may jump into a critical section)
        ");
}

#[test]
fn a_function_that_cannot_fail_makes_no_copy() {
    let text = "
static void
show(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value))
        print(key);
    print(value);
}
";
    insta::assert_snapshot!(diff(text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `print` can run Python code, which may also change the dict
          review: iterate over `d` in a critical section
          assumes that another reference keeps `value` alive where it is used after the section (line 10)
        @@
             Py_ssize_t pos = 0;
         
        -    while (PyDict_Next(d, &pos, &key, &value))
        +    Py_BEGIN_CRITICAL_SECTION(d);
        +    while (PyDict_Next(d, &pos, &key, &value)) {
        +        Py_INCREF(key);
                 print(key);
        +        Py_DECREF(key);
        +    }
        +    Py_END_CRITICAL_SECTION();
             print(value);
         }
        ");
}

#[test]
fn a_function_without_a_result_leaves_its_exception() {
    let text = "
static void
show(PyObject *d, PyObject *other)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    int n;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyArg_ParseTuple(value, \"i\", &n))
            return;
        print(n);
    }
    print(value);
}
";
    insta::assert_snapshot!(diff(text), @r#"
        9: `d` is iterated over without its lock; another thread may change the dict meanwhile
          9: the dict is `d`, which the caller passes; another thread can change it between two calls
          10: `PyArg_ParseTuple` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `PyArg_ParseTuple` does not change `d` before the last read (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             Py_ssize_t pos = 0;
             int n;
        +    PyObject *d_copy = PyDict_Check(d)
        +        ? PyDict_Copy(d)
        +        : PyDict_New();
         
        -    while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (!PyArg_ParseTuple(value, "i", &n))
        +    if (d_copy == NULL)
        +        return;
        +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
        +        if (!PyArg_ParseTuple(value, "i", &n)) {
        +            Py_DECREF(d_copy);
                     return;
        +        }
                 print(n);
             }
             print(value);
        +    Py_DECREF(d_copy);
         }
        "#);
}

/// A block of C89 that begins with the size.
const SIZE_FIRST: &str = "
static int
write_mapping(PyObject *out, PyObject *d, PyObject *hook)
{
    if (PyList_Check(d))
        return write_list(out, d);
    if (PyMapping_Check(d)) {
        Py_ssize_t length = PyMapping_Length(d);
        Py_ssize_t pos = 0;
        PyObject *key;

        if (PyObject_CallOneArg(hook, d) == NULL)
            return -1;
        if (write_length(out, length) < 0)
            return -1;
        while (PyDict_Next(d, &pos, &key, NULL)) {
            if (write(out, key) < 0)
                return -1;
        }
        if (write(out, key) < 0)
            return -1;
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, \"no mapping\");
    return -1;
}
";

#[test]
fn a_size_that_a_declaration_asks_for_comes_behind_the_copy() {
    insta::assert_snapshot!(diff(SIZE_FIRST), @"
        16: `d` is iterated over without its lock; another thread may change the dict meanwhile
          16: the dict is `d`, which the caller passes; another thread can change it between two calls
          17: `write` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
                 return write_list(out, d);
             if (PyMapping_Check(d)) {
        -        Py_ssize_t length = PyMapping_Length(d);
        +        Py_ssize_t length;
                 Py_ssize_t pos = 0;
                 PyObject *key;
        +        PyObject *d_copy = PyDict_Check(d)
        +            ? PyDict_Copy(d)
        +            : Py_NewRef(d);
         
        -        if (PyObject_CallOneArg(hook, d) == NULL)
        +        if (d_copy == NULL)
                     return -1;
        -        if (write_length(out, length) < 0)
        +        length = PyMapping_Length(d_copy);
        +        if (PyObject_CallOneArg(hook, d) == NULL) {
        +            Py_DECREF(d_copy);
                     return -1;
        -        while (PyDict_Next(d, &pos, &key, NULL)) {
        -            if (write(out, key) < 0)
        +        }
        +        if (write_length(out, length) < 0) {
        +            Py_DECREF(d_copy);
        +            return -1;
        +        }
        +        while (PyDict_Next(d_copy, &pos, &key, NULL)) {
        +            if (write(out, key) < 0) {
        +                Py_DECREF(d_copy);
                         return -1;
        +            }
                 }
        -        if (write(out, key) < 0)
        +        if (write(out, key) < 0) {
        +            Py_DECREF(d_copy);
                     return -1;
        +        }
        +        Py_DECREF(d_copy);
                 return 0;
             }
        ");
}

#[test]
fn a_thread_that_cannot_fail_tries_again() {
    let text = "
void *
watch(void *unused)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *name, *module;

    for (;;) {
        Py_ssize_t pos = 0;
        RELEASE_GIL;
        sleep(1);
        GET_GIL;
        while (PyDict_Next(modules, &pos, &name, &module)) {
            if (PyObject_HasAttrString(module, \"stop\")) {
                RELEASE_GIL;
                if (unused)
                    log_end();
                return NULL;
            }
        }
    }
}
";
    insta::assert_snapshot!(diff(text), @r#"
        13: `modules` is iterated over without its lock; another thread may change the dict meanwhile
          13: the dict is a dict of the interpreter; another thread can change it between two calls
          14: `PyObject_HasAttrString` can run Python code, which may also change the dict
          review: iterate over a copy of `modules`
          assumes that `PyObject_HasAttrString` does not change `modules` before the last read (the copy would not show the change)
          assumes that `modules` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             for (;;) {
                 Py_ssize_t pos = 0;
        +        PyObject *modules_copy;
                 RELEASE_GIL;
                 sleep(1);
                 GET_GIL;
        -        while (PyDict_Next(modules, &pos, &name, &module)) {
        +        modules_copy = PyDict_Copy(modules);
        +        if (modules_copy == NULL) {
        +            PyErr_WriteUnraisable(NULL);
        +            continue;
        +        }
        +        while (PyDict_Next(modules_copy, &pos, &name, &module)) {
                     if (PyObject_HasAttrString(module, "stop")) {
        +                Py_DECREF(modules_copy);
                         RELEASE_GIL;
                         if (unused)
        @@
                     }
                 }
        +        Py_DECREF(modules_copy);
             }
         }
        "#);
}

#[test]
fn an_error_has_the_name_of_a_constant() {
    let text = "
int
define(PyObject *d, Compiler *compiler, PyObject *hook)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyLong_Check(value)) {
            PyErr_SetString(PyExc_TypeError, \"no number\");
            return ERROR_INVALID_ARGUMENT;
        }
        if (PyObject_CallOneArg(hook, key) == NULL)
            return ERROR_INVALID_ARGUMENT;
    }
    if (PyObject_CallOneArg(hook, key) == NULL)
        return ERROR_INVALID_ARGUMENT;
    return ERROR_SUCCESS;
}
";
    insta::assert_snapshot!(diff(text), @r#"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          10: `PyErr_SetString` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             PyObject *key, *value;
             Py_ssize_t pos = 0;
        +    PyObject *d_copy = PyDict_Check(d)
        +        ? PyDict_Copy(d)
        +        : PyDict_New();
         
        -    while (PyDict_Next(d, &pos, &key, &value)) {
        +    if (d_copy == NULL)
        +        return ERROR_INVALID_ARGUMENT;
        +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
                 if (!PyLong_Check(value)) {
                     PyErr_SetString(PyExc_TypeError, "no number");
        +            Py_DECREF(d_copy);
                     return ERROR_INVALID_ARGUMENT;
                 }
        -        if (PyObject_CallOneArg(hook, key) == NULL)
        +        if (PyObject_CallOneArg(hook, key) == NULL) {
        +            Py_DECREF(d_copy);
                     return ERROR_INVALID_ARGUMENT;
        +        }
             }
        -    if (PyObject_CallOneArg(hook, key) == NULL)
        +    if (PyObject_CallOneArg(hook, key) == NULL) {
        +        Py_DECREF(d_copy);
                 return ERROR_INVALID_ARGUMENT;
        +    }
        +    Py_DECREF(d_copy);
             return ERROR_SUCCESS;
         }
        "#);
}

#[test]
fn an_else_may_be_the_exit() {
    let text = "
static PyObject *
each(PyObject *d, PyObject *hook)
{
    PyObject *key, *value, *made;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        made = PyObject_CallOneArg(hook, key);
        if (made)
            Py_DECREF(made);
        else
            return NULL;
    }
    made = PyObject_CallOneArg(hook, value);
    if (made)
        Py_DECREF(made);
    else
        return NULL;
    Py_RETURN_NONE;
}
";
    insta::assert_snapshot!(diff(text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_CallOneArg` can run Python code, which may also change the dict
          review: iterate over a copy of `d`
          assumes that `PyObject_CallOneArg` does not change `d` before the last read (the copy would not show the change)
          assumes that `d` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its methods)
        @@
             PyObject *key, *value, *made;
             Py_ssize_t pos = 0;
        +    PyObject *d_copy = PyDict_Check(d)
        +        ? PyDict_Copy(d)
        +        : PyDict_New();
         
        -    while (PyDict_Next(d, &pos, &key, &value)) {
        +    if (d_copy == NULL)
        +        return NULL;
        +    while (PyDict_Next(d_copy, &pos, &key, &value)) {
                 made = PyObject_CallOneArg(hook, key);
                 if (made)
                     Py_DECREF(made);
        -        else
        +        else {
        +            Py_DECREF(d_copy);
                     return NULL;
        +        }
             }
             made = PyObject_CallOneArg(hook, value);
        +    Py_DECREF(d_copy);
             if (made)
                 Py_DECREF(made);
        ");
}

/// A function that uses the last string value of a dict behind the loop, with what is in front of
/// the loop and in its body.
fn last_value(check: &str, front: &str, body: &str) -> String {
    diff(&format!(
        "
static PyObject *
last(PyObject *self, PyObject *d)
{{
    PyObject *key, *value, *found = NULL;
    Py_ssize_t pos = 0;
    if ({check}(d)) {{
        {front}
        while (PyDict_Next(d, &pos, &key, &value)) {{
            if (PyUnicode_Check(value))
                found = value;
            {body}
        }}
        if (found != NULL && PyObject_IsTrue(found) < 0)
            return NULL;
    }}
    Py_RETURN_NONE;
}}
"
    ))
}

#[test]
fn a_copy_shows_all_of_a_plain_dict_that_nothing_changes() {
    const SAFE: &str = "safe: iterate over a copy";
    const REVIEW: &str = "review: iterate over a copy";
    let exactly = |front: &str, body: &str| last_value("PyDict_CheckExact", front, body);
    assert!(exactly("", "").contains(SAFE));
    assert!(exactly("pos = 0;", "if (value == NULL) return NULL;").contains(SAFE));
    assert!(last_value("PyDict_Check", "", "").contains(REVIEW));
    assert!(exactly("", "PyObject_CallNoArgs(self);").contains(REVIEW));
    assert!(exactly("", "PyDict_SetItem(d, key, Py_None);").contains(REVIEW));
    // Positions of the dict are none of the copy.
    for (front, body) in [
        ("pos = 5;", ""),
        ("PyDict_Next(d, &pos, &key, &value);", ""),
        ("skip(&pos);", ""),
        ("", "pos = 0;"),
        ("", "if (pos > 3) break;"),
    ] {
        let said = exactly(front, body);
        assert!(!said.contains("a copy of `d`"), "{front} {body}: {said}");
    }
}
