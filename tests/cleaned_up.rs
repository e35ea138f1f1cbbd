//! A new exit cleans up only what the function cleans up by itself in the same state.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::all;

/// A function with `vars` and `body` in a file with some helpers.
fn of(vars: &str, body: &str) -> String {
    all(&format!(
        "
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef struct {{ int n; char **names; }} Table;
typedef struct {{ PyObject_HEAD int n; char **names; PyObject *item; }} Holder;
static PyTypeObject HolderType;
static void table_free(Table *t) {{
    for (int i = 0; i < t->n; i++) free(t->names[i]);
    free(t->names);
}}
static void drop(PyObject *capsule) {{ free(PyCapsule_GetPointer(capsule, NULL)); }}
static PyObject *wrap(char *text) {{ return PyCapsule_New(text, NULL, drop); }}
static void holder_take(Holder *h, char **names) {{ h->names = names; }}
static size_t measure(const char *text) {{ return strlen(text); }}
static PyObject *f(PyObject *self, PyObject *list) {{
    PyObject *item;
    {vars}
    {body}
}}
"
    ))
}

fn is_left_to_people(result: &str) -> bool {
    result == "by hand" || result.starts_with("review in `f`, ")
}

#[test]
fn what_was_not_filled_yet() {
    for (vars, body) in [
        (
            "Table t; int i, n = 3;",
            "t.n = n; t.names = malloc(n * sizeof(char *));
             if (t.names == NULL) return PyErr_NoMemory();
             for (i = 0; i < n; i++) {
                 item = PyList_GET_ITEM(list, i);
                 t.names[i] = strdup(PyBytes_AS_STRING(item));
                 if (t.names[i] == NULL) goto fail;
             }
             table_free(&t);
             Py_RETURN_NONE;
             fail: table_free(&t); return NULL;",
        ),
        (
            "char *names[4]; int i;",
            "for (i = 0; i < 4; i++) {
                 item = PyList_GET_ITEM(list, i);
                 names[i] = strdup(PyBytes_AS_STRING(item));
                 if (names[i] == NULL) goto fail;
             }
             for (i = 0; i < 4; i++) free(names[i]);
             Py_RETURN_NONE;
             fail: for (; i >= 0; i--) free(names[i]); return NULL;",
        ),
        (
            "char *b[2];",
            "b[0] = strdup(\"x\");
             item = PyList_GET_ITEM(list, 0);
             b[1] = strdup(PyBytes_AS_STRING(item));
             if (b[1] == NULL) goto fail;
             free(b[0]); free(b[1]);
             Py_RETURN_NONE;
             fail: free(b[0]); free(b[1]); return NULL;",
        ),
        (
            "Holder *h = PyObject_New(Holder, &HolderType);",
            "if (h == NULL) return NULL;
             h->n = 0; h->names = NULL;
             item = PyList_GET_ITEM(list, 0);
             h->item = Py_NewRef(item);
             if (PyErr_CheckSignals() < 0) goto fail;
             return (PyObject *)h;
             fail: Py_DECREF(h); return NULL;",
        ),
        (
            "Holder *h = PyObject_New(Holder, &HolderType);",
            "if (h == NULL) return NULL;
             item = PyList_GET_ITEM(list, 0);
             h->n = 0; h->names = NULL;
             h->item = Py_NewRef(item);
             if (PyErr_CheckSignals() < 0) goto fail;
             return (PyObject *)h;
             fail: Py_DECREF(h); return NULL;",
        ),
    ] {
        let result = of(vars, body);
        assert!(is_left_to_people(&result), "{body}: {result}");
    }
}

#[test]
fn what_somebody_else_owns_by_then() {
    let of_text = |make: &str| {
        of(
            "PyObject *owner = NULL; char *text = strdup(\"x\");",
            &format!(
                "if (text == NULL || PyErr_CheckSignals() < 0) goto fail;
                 owner = {make};
                 if (owner == NULL) goto fail;
                 item = PyList_GET_ITEM(list, 0);
                 if (PyObject_SetAttrString(owner, \"item\", item) < 0) {{ Py_DECREF(owner); return NULL; }}
                 return owner;
                 fail: Py_XDECREF(owner); free(text); return NULL;"
            ),
        )
    };
    for make in [
        "PyCapsule_New(text, NULL, drop)",
        "wrap(text)",
        "lib_wrap(text)",
    ] {
        let result = of_text(make);
        assert!(is_left_to_people(&result), "{make}: {result}");
    }
    assert_eq!(of_text("PyUnicode_FromString(text)"), "safe");
    assert_eq!(of_text("PyLong_FromSize_t(measure(text))"), "safe");
}

#[test]
fn what_is_closed_by_then() {
    let of_end = |end: &str| {
        of(
            "int fd = open(\"/dev/null\", O_RDONLY); char byte;",
            &format!(
                "if (fd < 0) return NULL;
                 if (read(fd, &byte, 1) < 0) goto fail;
                 {end}
                 item = PyList_GET_ITEM(list, 0);
                 Py_INCREF(item);
                 return item;
                 fail: close(fd); PyErr_SetFromErrno(PyExc_OSError); return NULL;"
            ),
        )
    };
    assert!(is_left_to_people(&of_end("close(fd);")));
}

#[test]
fn what_the_function_does_in_that_state_itself() {
    for (vars, body) in [
        // It has an exit between the lookup and what changes next.
        (
            "Table t; int i, n = 3;",
            "t.n = 0; t.names = malloc(n * sizeof(char *));
             if (t.names == NULL) return PyErr_NoMemory();
             for (i = 0; i < n; i++) {
                 item = PyList_GET_ITEM(list, i);
                 if (!PyBytes_Check(item)) goto fail;
                 t.names[t.n] = strdup(PyBytes_AS_STRING(item));
                 if (t.names[t.n] == NULL) goto fail;
                 t.n++;
             }
             table_free(&t);
             Py_RETURN_NONE;
             fail: table_free(&t); return NULL;",
        ),
        // What is freed is a variable's, and just read before.
        (
            "char *text = strdup(\"x\"); size_t n;",
            "if (text == NULL || PyErr_CheckSignals() < 0) goto fail;
             n = measure(text);
             item = PyList_GET_ITEM(list, 0);
             text[0] = PyBytes_AS_STRING(item)[n];
             if (PyErr_CheckSignals() < 0) goto fail;
             free(text);
             Py_RETURN_NONE;
             fail: free(text); return NULL;",
        ),
    ] {
        assert_eq!(of(vars, body), "safe", "{body}");
    }
}
