//! Dicts in fields that only ever get more items.

use super::of;

const NEW: &str = "\
static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    Foo *self = (Foo *)type->tp_alloc(type, 0);
    self->made = PyDict_New();
    self->lock = PyThread_allocate_lock();
    return (PyObject *)self;
}
static void dealloc(Foo *self) { Py_XDECREF(self->made); PyThread_free_lock(self->lock); }
static PyTypeObject T = {.tp_new = new, .tp_dealloc = (destructor)dealloc};
";

/// Gets an item, and makes it where there is none.
const GET: &str = "\
static PyObject *get(Foo *self, int n) {
    PyObject *v, *key = PyLong_FromLong(n);
    PyThread_acquire_lock(self->lock, 1);
    v = PyDict_GetItem(self->made, key);
    if (v == NULL) {
        v = PyList_New(n);
        PyDict_SetItem(self->made, key, v);
        Py_DECREF(v);
    }
    PyThread_release_lock(self->lock);
    Py_DECREF(key);
    return v;
}
";

/// The verdict on `get`, with one part of it in another way.
fn but(part: &str, other: &str) -> String {
    assert!(GET.contains(part), "{part}");
    of(&format!("{NEW}{}", GET.replacen(part, other, 1)))
}

fn with(more: &str) -> String {
    of(&format!("{NEW}{GET}{more}"))
}

#[test]
fn what_is_added_where_nothing_was_found_stays() {
    insta::assert_snapshot!(with(""), @"
    get: GrowingField, `self->made` is set only while `new()` builds the object, and `get()` only adds keys that are not there yet, with `lock` held
    ");
}

#[test]
fn a_lock_that_is_tried_first_is_taken() {
    let taken =
        "if (!PyThread_acquire_lock(self->lock, 0)) { PyThread_acquire_lock(self->lock, 1); }";
    insta::assert_snapshot!(but("PyThread_acquire_lock(self->lock, 1);", taken), @"
    get: GrowingField, `self->made` is set only while `new()` builds the object, and `get()` only adds keys that are not there yet, with `lock` held
    ");
}

#[test]
fn a_mutex_in_the_object_is_a_lock() {
    let get = GET
        .replace(
            "PyThread_acquire_lock(self->lock, 1)",
            "PyMutex_Lock(&self->mutex)",
        )
        .replace(
            "PyThread_release_lock(self->lock)",
            "PyMutex_Unlock(&self->mutex)",
        );
    insta::assert_snapshot!(of(&format!("{NEW}{get}")), @"
    get: GrowingField, `self->made` is set only while `new()` builds the object, and `get()` only adds keys that are not there yet, with `mutex` held
    ");
}

#[test]
fn a_default_takes_the_place_of_nothing() {
    let text = "\
static PyObject *get(Foo *self, PyObject *k) { return PyDict_GetItem(self->made, k); }
static void add(Foo *self, PyObject *k) { PyDict_SetDefault(self->made, k, Py_None); }
";
    insta::assert_snapshot!(of(&format!("{NEW}{text}")), @"
    get: GrowingField, `self->made` is set only while `new()` builds the object, and `add()` only adds keys that are not there yet
    ");
}

#[test]
fn without_a_lock_two_threads_may_add() {
    let shared = [
        but("PyThread_acquire_lock(self->lock, 1);", ""),
        // It may be held by another thread.
        but(
            "PyThread_acquire_lock(self->lock, 1);",
            "PyThread_acquire_lock(self->lock, 0);",
        ),
        but(
            "PyThread_acquire_lock(self->lock, 1);",
            "if (n) PyThread_acquire_lock(self->lock, 1);",
        ),
        // Of another object.
        but(
            "PyThread_acquire_lock(self->lock, 1);",
            "PyThread_acquire_lock(other->lock, 1);",
        ),
        but(
            "v = PyList_New(n);",
            "PyThread_release_lock(self->lock); v = PyList_New(n); PyThread_acquire_lock(self->lock, 1);",
        ),
        but("v = PyList_New(n);", "v = make(self, n);"),
        with("void renew(Foo *self) { self->lock = PyThread_allocate_lock(); }\n"),
    ];
    insta::assert_snapshot!(shared.concat(), @"
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    ");
}

#[test]
fn two_locks_hold_nobody_off() {
    let other = GET
        .replace("get(", "look(")
        .replace("self->lock", "self->second");
    insta::assert_snapshot!(with(&other), @"
    get: shared, `self->made`, a field that other threads can reach
    look: shared, `self->made`, a field that other threads can reach
    ");
}

#[test]
fn an_item_in_the_place_of_another_counts() {
    let shared = [
        but("if (v == NULL) {", "{"),
        but("if (v == NULL) {", "if (v == NULL || n) {"),
        but(
            "v = PyDict_GetItem(self->made, key);",
            "v = n ? PyDict_GetItem(self->made, key) : NULL;",
        ),
        // Another key.
        but(
            "v = PyList_New(n);",
            "v = PyList_New(n); key = PyLong_FromLong(n + 1);",
        ),
        but(
            "PyDict_SetItem(self->made, key, v);",
            "for (;;) { PyDict_SetItem(self->made, key, v); }",
        ),
        but(
            "PyDict_SetItem(self->made, key, v);",
            "PyDict_SetItem(self->made, key, v); PyDict_SetItem(self->made, key, v);",
        ),
        // Keys that compare as they like.
        but("PyLong_FromLong(n)", "make(n)"),
    ];
    insta::assert_snapshot!(shared.concat(), @"
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    ");
}

#[test]
fn an_item_that_goes_counts() {
    let shared = [
        with("void drop(Foo *self, PyObject *k) { PyDict_DelItem(self->made, k); }\n"),
        with("void reset(Foo *self) { PyDict_Clear(self->made); }\n"),
        with("void renew(Foo *self) { Py_SETREF(self->made, PyDict_New()); }\n"),
        with("PyObject *show(Foo *self) { return Py_NewRef(self->made); }\n"),
        with("PyMemberDef m[] = {{\"made\", T_OBJECT, offsetof(Foo, made), 0, NULL}};\n"),
    ];
    insta::assert_snapshot!(shared.concat(), @"
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    get: shared, `self->made`, a field that other threads can reach
    ");
}

#[test]
fn keys_of_others_may_be_found_later() {
    let more = "void add(Foo *self, PyObject *k) { PyDict_SetDefault(self->made, k, k); }\n";
    insta::assert_snapshot!(with(more), @"
    get: shared, `self->made`, a field that other threads can reach
    ");
}

#[test]
fn what_changes_is_not_read_item_by_item() {
    let next = "void all(Foo *self) { while (PyDict_Next(self->made, &i, &k, &v)) use(v); }\n";
    insta::assert_snapshot!(with(next), @"
    get: GrowingField, `self->made` is set only while `new()` builds the object, and `get()` only adds keys that are not there yet, with `lock` held
    all: shared, `self->made`, a field that other threads can reach
    ");
}

/// Who has `self` does not have `self->child`.
#[test]
fn the_object_of_the_dict_may_go() {
    let other = "\
static PyObject *of_child(Foo *self, PyObject *key) {
    Foo *child = self->child;
    PyObject *v = PyDict_GetItem(child->made, key);
    return Py_XNewRef(v);
}
";
    insta::assert_snapshot!(with(other), @"
        get: GrowingField, `self->made` is set only while `new()` builds the object, and `get()` only adds keys that are not there yet, with `lock` held
        of_child: shared, `child->made`, a field that other threads can reach
        ");
}
