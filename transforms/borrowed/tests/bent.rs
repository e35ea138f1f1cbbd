//! What the function owns at a lookup and only reaches by calculating with a pointer, or in memory of
//! its own: an exit there would lose it.

use super::all;

const HEAD: &str = "typedef struct { PyObject_HEAD int kind; } Base;
typedef struct { Base base; PyObject *y; } Derived;
typedef struct { PyObject *a, *b; } Pair;
static PyTypeObject DT;
static Pair pair_make(void) { Pair p = {PyList_New(0), NULL}; return p; }
static void pair_clear(Pair *p) { Py_CLEAR(p->a); Py_CLEAR(p->b); }
static void *lined(size_t n) { char *p = malloc(n + 16); return p + 16; }
";

/// Whether the function still leaves where the lookup fails, if it makes something so and gives it
/// up so.
fn leaves(made: &str, given_up: &str) -> bool {
    let result = all(&format!(
        "{HEAD}static PyObject *f(PyObject *self, PyObject *dict)
{{
    PyObject *v;
    long n = 0;
    {made}
    v = PyDict_GetItem(dict, Py_None);
    if (v && PyLong_Check(v))
        n = PyLong_AsLong(v);
    {given_up}
}}
static PyMethodDef methods[] = {{{{\"f\", f, METH_O, NULL}}, {{NULL}}}};
"
    ));
    let reports = result.contains("PyErr_WriteUnraisable(NULL);");
    assert!(result.contains("PyDict_GetItemRef"), "{result}");
    !reports
}

const NUMBER: &str = "return PyLong_FromLong(n);";

#[test]
fn objects_behind_the_address_of_a_part() {
    let made = "Derived *w = PyObject_New(Derived, &DT); if (!w) return NULL;";
    assert!(!leaves(made, "w->y = NULL; return &w->base.ob_base;"));
    assert!(!leaves(made, "Py_DECREF(&w->base); Py_RETURN_NONE;"));
    let part = "Base *w = &PyObject_New(Derived, &DT)->base;";
    assert!(!leaves(part, "Py_DECREF(w); Py_RETURN_NONE;"));
    assert!(leaves(made, "return (PyObject *)w;"));
}

#[test]
fn memory_with_something_in_front() {
    for (made, freed) in [
        ("char *p = (char *)malloc(40) + 8;", "free(p - 8);"),
        ("char *p = malloc(40); p += 8;", "free(p - 8);"),
        ("double *p = malloc(40); p--;", "free(p + 1);"),
        ("char *p = &((char *)malloc(40))[8];", "free(p - 8);"),
        ("char *p = lined(8);", "free(p - 16);"),
        (
            "Py_uintptr_t p = (Py_uintptr_t)malloc(8) | 1;",
            "free((void *)(p & ~1));",
        ),
    ] {
        assert!(!leaves(made, &format!("{freed} {NUMBER}")), "{made}");
    }
    assert!(leaves(
        "char *p = malloc(40);",
        &format!("free(p); {NUMBER}")
    ));
}

#[test]
fn references_in_memory_of_the_function() {
    for (made, released) in [
        (
            "PyObject *st[3], **w = st + 1; w[0] = PyList_New(0);",
            "Py_DECREF(w[0]);",
        ),
        (
            "PyObject *ar[] = {PyList_New(0), PyDict_New()}, **e;",
            "for (e = ar; e < ar + 2; e++) Py_XDECREF(*e);",
        ),
        ("Pair *w = &(Pair){PyList_New(0)};", "Py_XDECREF(w->a);"),
        ("Pair w = pair_make();", "pair_clear(&w);"),
        (
            "char *p = ({ char *q = malloc(4); q + 1; });",
            "free(p - 1);",
        ),
    ] {
        assert!(!leaves(made, &format!("{released} {NUMBER}")), "{made}");
    }
}

#[test]
fn what_is_gone_or_with_others_by_then_is_not_lost() {
    for made in [
        "char *p = malloc(40); p += 8; free(p - 8);",
        "Derived *w = PyObject_New(Derived, &DT); if (!w) return NULL; Py_DECREF(&w->base);",
        "Derived *w = PyObject_New(Derived, &DT); DT.tp_cache = &w->base.ob_base;",
        "Pair w = pair_make(); pair_clear(&w);",
    ] {
        assert!(leaves(made, NUMBER), "{made}");
    }
}
