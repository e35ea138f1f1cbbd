//! Objects that live longer by the new reference, where something asks whether they are dead.

use crate::rule::Rule;
use crate::testing::report;
use crate::transforms::borrowed::list_item::BORROWED_LIST_ITEM;
use crate::transforms::borrowed::weakref_object::BORROWED_WEAKREF_OBJECT;

/// What becomes of the lookup in a function that closes a cursor, which does `close`.
fn closing(close: &str, how: &str, table: &str) -> String {
    of(&BORROWED_LIST_ITEM, close, how, table)
}

/// What becomes of the lookups of a rule there.
fn of(rule: &Rule, close: &str, how: &str, table: &str) -> String {
    let text = format!(
        r#"
#include <Python.h>
typedef struct {{ PyObject_HEAD PyObject *cursors; int busy; }} Connection;
typedef struct {{
    PyObject_HEAD PyObject *cursors; PyObject *weakreflist; PyObject *ref; Connection *owner;
}} Cursor;

static void forget(PyObject *cursors, PyObject *ref)
{{
    for (Py_ssize_t i = 0; i < PyList_Size(cursors); i++) {{
        PyObject *found = PyTuple_GetItem(cursors, i);
        if (found == ref) {{
            PyList_SetSlice(cursors, i, i + 1, NULL);
            return;
        }}
    }}
}}

static PyObject *close_cursor(Cursor *self, PyObject *ignored)
{{
    {close}
    Py_RETURN_NONE;
}}

static int n_open, n_made;

static void dealloc(Cursor *self)
{{
    PyObject *held = (PyObject *)self;
    if (((Cursor *)held)->weakreflist != NULL)
        PyObject_ClearWeakRefs(held);
    n_open--;
    self->owner->busy -= 1;
    ((Cursor *)held)->ref = NULL;
    PyObject_Del(self);
}}

int close_all(Connection *self)
{{
    PyObject *item = PyList_GetItem(self->cursors, 0);
    if (item == NULL)
        return -1;
    {how}
    return PyLong_Check(item);
}}

static PyMethodDef methods[] = {{
    {table}
    {{NULL, NULL, 0, NULL}}
}};
static PyTypeObject CursorType = {{
    .tp_dealloc = (destructor)dealloc,
    .tp_methods = methods,
}};
"#
    );
    let said = report(rule, &text);
    let is_outcome = |line: &&str| {
        let kinds = ["  safe", "  review", "  by hand", "  assumes"];
        kinds.iter().any(|kind| line.starts_with(kind))
    };
    said.lines()
        .filter(is_outcome)
        .collect::<Vec<_>>()
        .join("\n")
}

const ASKS: &str = "forget(self->cursors, self->ref);
    if (self->weakreflist != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);";
const CALLS: &str = "close_cursor((Cursor *)PyTuple_GET_ITEM(item, 0), NULL);";
const CALLS_PYTHON: &str = "PyObject_CallMethod(item, \"close\", NULL);";
const METHOD: &str = "{\"close\", (PyCFunction)close_cursor, METH_NOARGS, NULL},";

#[test]
fn a_function_that_takes_it_out_and_asks_for_weak_references() {
    insta::assert_snapshot!(closing(ASKS, CALLS, ""), @"
    review: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    assumes that `close_cursor()` works if an object that its caller holds is still alive (it may remove the object from its container, and it looks at weak references)
    ");
}

#[test]
fn python_code_that_may_call_such_a_method() {
    insta::assert_snapshot!(closing(ASKS, CALLS_PYTHON, METHOD), @"
    review: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    assumes that `close_cursor()` works if an object that its caller holds is still alive (it may remove the object from its container, and it looks at weak references)
    ");
}

#[test]
fn one_that_python_does_not_know_or_that_does_only_one_of_both() {
    let safe = closing(ASKS, CALLS_PYTHON, "");
    insta::assert_snapshot!(safe, @"  safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)");
    let removes = "forget(self->cursors, self->ref);";
    assert_eq!(closing(removes, CALLS, METHOD), safe);
    assert_eq!(
        closing("PyObject_ClearWeakRefs((PyObject *)self);", CALLS, METHOD),
        safe
    );
    assert_eq!(closing(ASKS, "", METHOD), safe);
}

#[test]
fn a_function_that_takes_it_out_and_reads_what_its_destructor_writes() {
    let after = |reads: &str| {
        let close = format!("forget(self->cursors, self->ref); {reads}");
        closing(&close, CALLS, "")
    };
    insta::assert_snapshot!(after("if (n_open == 0) Py_RETURN_TRUE;"), @"
    review: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    assumes that `close_cursor()` works if an object that its caller holds is still alive (it may remove the object from its container, and it reads what a destructor writes)
    ");
    let doubted = after("if (n_open == 0) Py_RETURN_TRUE;");
    assert_eq!(after("if (self->owner->busy) Py_RETURN_TRUE;"), doubted);
    let safe = "  safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)";
    for other in [
        "n_open--;",
        "self->owner->busy = 0;",
        "if (n_made == 0) Py_RETURN_TRUE;",
        "if (self->ref == NULL) Py_RETURN_TRUE;",
    ] {
        assert_eq!(after(other), safe, "{other}");
    }
}

#[test]
fn a_weak_reference_keeps_nothing_alive() {
    let how = "
    PyObject *owner = PyWeakref_GetObject(item);
    if (owner == NULL || owner == Py_None)
        return -1;
    PyObject_SetAttrString(owner, \"last\", Py_None);";
    insta::assert_snapshot!(of(&BORROWED_WEAKREF_OBJECT, ASKS, how, METHOD), @"  safe: take a strong reference (`PyWeakref_GetObject` → `PyWeakref_GetRef`)");
}
