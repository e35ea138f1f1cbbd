//! A new exit is safe in a state that the function leaves in itself, and in one in which nothing has
//! changed that outlives the function.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::all;

/// A lookup behind `before`, in a function that goes on with `after`.
fn between(before: &str, after: &str) -> String {
    all(&format!(
        "
#include <fcntl.h>
typedef struct {{ PyObject_HEAD PyObject *items, *current, *on_begin, *on_end; int depth, err; \
         Py_ssize_t pos; char *text; }} Codec;
static int depth;
static int slots[4];
static int *slot(int i) {{ return &slots[i & 3]; }}
static int begin(Codec *self, int *err) {{ self->depth++; *err = self->err; return -self->err; }}
static void end(Codec *self) {{ self->depth--; }}
static PyObject *f(Codec *self, PyObject *arg) {{
    PyObject *item, *x = NULL, *fast;
    struct flock lock = {{0}};
    void (*step)(Codec *) = end;
    int n, ok, err = 0;
    {before}
    item = PyList_GET_ITEM(self->items, 0);
    n = PyObject_IsTrue(item);
    {after}
    if (n < 0)
        return NULL;
    return PyLong_FromLong(n);
}}
"
    ))
}

/// Whether the exit is for a review, or the lookup is left by hand.
fn is_left_to_people(result: &str) -> bool {
    result == "by hand" || result.starts_with("review in `f`, ")
}

#[test]
fn what_has_changed_without_an_exit_since() {
    for (before, after) in [
        ("self->depth++;", "self->depth--;"),
        ("depth++;", "depth--;"),
        ("begin(self, &err);", "end(self);"),
        ("*slot(2) += 1;", "*slot(2) -= 1;"),
        ("step(self);", "step = end; step(self);"),
        ("lib_begin(self);", "lib_end(self);"),
        // What functions of C and of the C API store.
        (
            "sscanf(self->text, \"%d\", &self->depth);",
            "self->depth = 0;",
        ),
        (
            "if (!PyArg_Parse(arg, \"n\", &self->pos)) return NULL;",
            "self->pos = 0;",
        ),
        (
            "lock.l_type = F_WRLCK; fcntl(self->depth, F_SETLK, &lock);",
            "lock.l_type = F_UNLCK; fcntl(self->depth, F_SETLK, &lock);",
        ),
        // What Python code is called for.
        (
            "x = PyObject_CallNoArgs(self->on_begin); if (x == NULL) return NULL; Py_DECREF(x);",
            "x = PyObject_CallNoArgs(self->on_end); if (x == NULL) return NULL; Py_DECREF(x);",
        ),
    ] {
        let result = between(before, after);
        assert!(is_left_to_people(&result), "{before}: {result}");
    }
}

#[test]
fn exits_that_ask_whether_it_failed() {
    for before in [
        "begin(self, &err); if (PyErr_Occurred()) return NULL;",
        "begin(self, &err); if (err) return NULL;",
        "ok = begin(self, &err) == 0; if (!ok) return NULL;",
        "n = begin(self, &err); ok = n == 0; if (!ok) return NULL;",
        "if (begin(self, &err) < 0) n = 1; else n = 0; if (n) return NULL;",
        "begin(self, &err) == 0 || (ok = 1); if (ok) return NULL;",
        "begin(self, &err); if (self->err) return NULL;",
        // The exit undoes it, and the new one does not.
        "begin(self, &err); if (arg == NULL) { lib_end(self); return NULL; }",
    ] {
        let result = between(before, "end(self);");
        assert!(is_left_to_people(&result), "{before}: {result}");
    }
}

#[test]
fn exits_in_the_same_state() {
    for (before, after) in [
        ("", ""),
        ("if (self->depth > 9) return PyErr_NoMemory();", ""),
        (
            "self->depth++; x = PyObject_Repr(arg); if (!x) return NULL; Py_DECREF(x);",
            "",
        ),
        (
            "self->depth++; if (!PyUnicode_Check(arg)) return PyErr_NoMemory();",
            "",
        ),
        // The next call with the item fails.
        (
            "self->depth++;",
            "if (PyObject_SetAttrString(arg, \"x\", item) < 0) return NULL;",
        ),
        // What the function holds itself, and what no exit undoes.
        ("lock.l_type = F_WRLCK; depth++;", ""),
    ] {
        let result = between(before, after);
        assert_eq!(result, "safe", "{before}");
    }
}

/// The exit in front releases the list, which the field only borrows.
#[test]
fn what_the_exit_in_front_releases() {
    let made = "x = PyList_New(0); if (x == NULL) return NULL; self->current = x; \
                fast = PySequence_Tuple(arg); \
                if (fast == NULL) { self->current = NULL; Py_DECREF(x); return NULL; }";
    let result = between(made, "Py_DECREF(fast); self->current = NULL; Py_DECREF(x);");
    assert!(is_left_to_people(&result), "{result}");
}

/// What the lookup gives is returned, be it there or not.
#[test]
fn an_item_that_is_returned_as_it_is() {
    let returned = |before: &str| {
        all(&format!(
            "
typedef struct {{ PyObject_HEAD PyObject *items; int busy; }} Box;
static PyObject *f(Box *self, PyObject *unused) {{
    PyObject *item;
    {before}
    item = PyList_GET_ITEM(self->items, 0);
    Py_INCREF(item);
    return item;
}}
"
        ))
    };
    assert_eq!(returned(""), "safe");
    let busy = returned("self->busy = 1;");
    assert!(is_left_to_people(&busy), "{busy}");
}

#[test]
fn references_of_fields_that_were_counted() {
    for (before, after) in [
        // The field would be released again.
        (
            "Py_XDECREF(self->current);",
            "self->current = Py_NewRef(arg);",
        ),
        (
            "x = self->current; Py_XDECREF(x);",
            "self->current = Py_NewRef(arg);",
        ),
        ("Py_INCREF(self->current);", "Py_DECREF(self->current);"),
    ] {
        let said = between(before, after);
        assert!(is_left_to_people(&said), "{before}: {said}");
    }
    // A reference of the function's own is followed.
    let own = "x = self->current; Py_XINCREF(x);";
    assert_eq!(between(own, "Py_XDECREF(x);"), "safe");
    assert_eq!(
        between("Py_INCREF(Py_None); x = Py_None;", "Py_DECREF(x);"),
        "safe"
    );
}
