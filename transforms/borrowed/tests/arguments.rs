//! Lookups that a macro of the project gets as an argument.

use crate::testing;
use crate::transforms::ALL;

/// The result for a function with this body behind the macro.
fn with_macro(define: &str, body: &str) -> String {
    let text = format!(
        "{define}\nstatic int f(PyObject *list, PyObject *dict, PyObject *key)\n{{\n{}\n}}\n",
        body.trim_matches('\n')
    );
    testing::run(ALL, &text)
}

#[test]
fn an_argument_is_looked_up_in_front_of_the_statement() {
    let define = "#define PyInt_Check(op) PyLong_Check(op)
#define PyInt_AsLong(op) PyLong_AsLong((op))";
    let body = "
    if (!PyInt_Check(PyList_GetItem(list, 0)))
        return -1;
    return PyInt_AsLong(PyDict_GetItem(dict, key));";
    insta::assert_snapshot!(with_macro(define, body), @"
    @@
     static int f(PyObject *list, PyObject *dict, PyObject *key)
     {
    -    if (!PyInt_Check(PyList_GetItem(list, 0)))
    +    PyObject *value;
    +    int result;
    +    PyObject *item = PyList_GetItemRef(list, 0);
    +    if (item == NULL) {
    +        return -1;
    +    }
    +    if (!PyInt_Check(item)) {
    +        Py_DECREF(item);
    +        return -1;
    +    }
    +    Py_DECREF(item);
    +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
             return -1;
    -    return PyInt_AsLong(PyDict_GetItem(dict, key));
    +    }
    +    result = PyInt_AsLong(value);
    +    Py_XDECREF(value);
    +    return result;
     }
    ");
}

#[test]
fn an_argument_that_only_runs_on_some_paths() {
    let define = "#define EITHER(a, b) ((a) || (b))";
    let body = "
    if (EITHER(use(list), use(PyList_GetItem(list, 0))))
        return -1;
    return 0;";
    insta::assert_snapshot!(with_macro(define, body), @"
        4: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn an_argument_that_is_written_twice_or_spelled() {
    let define = "#define TEXT(op) (PyUnicode_Check(op) || PyBytes_Check(op))
#define NAMED(op) named(#op, (op))
#define LATER(op) do { if (!(op)) return -1; } while (0)";
    let body = "
    if (!TEXT(PyList_GetItem(list, 0)))
        return -1;
    LATER(use(PyList_GetItem(list, 1)));
    return NAMED(PyList_GetItem(list, 2));";
    insta::assert_snapshot!(with_macro(define, body), @"
        1: change the macro `TEXT` together with its uses (the call is in the macro)
        8: release the reference in `item` by hand where a macro leaves the function
        9: change the macro `NAMED` together with its uses (the call is in the macro)
        ");
}

#[test]
fn an_argument_that_is_an_assignment() {
    let define = "#define FAILED(e) ((e) == NULL)";
    let body = "
    PyObject *v, *w;
    if (FAILED(v = PyList_GetItem(list, 0)) || FAILED(PyList_GetItem(list, 1)))
        return -1;
    return use(v);";
    insta::assert_snapshot!(with_macro(define, body), @"
        5: change the macro `FAILED` together with its uses (the call is in the macro)
        5: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}
