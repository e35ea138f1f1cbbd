//! Exceptions of earlier calls that new text would clear.

use super::wrong;

/// What is wrong if a loop with these steps behind the lookup ends so where the item is not there.
fn ending(rest: &str, lookup: &str) -> Vec<String> {
    let before = format!(
        "static int f(PyObject *l, struct set *s) {{
    Py_ssize_t i, n = PyList_GET_SIZE(l); long total = 0, x; PyObject *v, *o, *exc;
    for (i = 0; i < n; i++) {{
        v = PyList_GET_ITEM(l, i);
        PyObject_Hash(v);
        {rest}
    }}
    return send(s, total);
}}"
    );
    let changes = [
        ("v = PyList_GET_ITEM(l, i);", lookup),
        ("PyObject_Hash(v);", "PyObject_Hash(v); Py_DECREF(v);"),
    ];
    wrong(&before, &changes)
}

const END: &str = "v = PyList_GetItemRef(l, i); if (v == NULL) { PyErr_Clear(); break; }";

fn lost(name: &str) -> String {
    format!(
        "unknown: no item is missing while the exception of an earlier `{name}` is pending (that exception would be dropped)"
    )
}

#[test]
fn that_of_a_number_which_nothing_tests() {
    for rest in [
        "s->value = PyLong_AsLong(l);",
        "total += PyLong_AsLong(l);",
        "PyLong_AsLong(l);",
        "x = PyLong_AsLong(l); send(s, x);",
        "if (i > 3) s->value = PyLong_AsLong(l);",
    ] {
        assert_eq!(ending(rest, END), [lost("PyLong_AsLong")], "{rest}");
    }
    for rest in [
        "x = PyLong_AsLong(l); if (x == -1 && PyErr_Occurred()) return -1;",
        "s->value = PyLong_AsLong(l); if (PyErr_Occurred()) return -1;",
        "s->value = PyLong_AsLong(l); if (s->value == -1 && PyErr_Occurred()) return -1;",
        "s->value = PyLong_AsLong(l); PyErr_Clear();",
        "s->value = PyLong_AsLong(l); if (i == 0) return 0; break;",
    ] {
        assert_eq!(ending(rest, END), [""; 0], "{rest}");
    }
}

#[test]
fn that_of_an_object_which_nothing_tests() {
    let name = "PyObject_CallNoArgs";
    let dropped = "Py_XDECREF(PyObject_CallNoArgs(l));";
    assert_eq!(ending(dropped, END), [lost(name)]);
    let kept = "s->last = PyObject_CallNoArgs(l);";
    assert_eq!(ending(kept, END), [lost(name)]);
    for rest in [
        "o = PyObject_CallNoArgs(l); if (!o) return -1; Py_DECREF(o);",
        "o = PyObject_CallNoArgs(l); Py_DECREF(o);",
    ] {
        assert_eq!(ending(rest, END), [""; 0], "{rest}");
    }
}

#[test]
fn one_that_is_put_away() {
    let kept = "exc = PyErr_GetRaisedException(); v = PyList_GetItemRef(l, i); \
                PyErr_SetRaisedException(exc); if (v == NULL) break;";
    let exit = "v = PyList_GetItemRef(l, i); if (v == NULL) return -1;";
    for lookup in [kept, exit] {
        assert_eq!(ending("x = PyLong_AsLong(l);", lookup), [""; 0]);
    }
}
