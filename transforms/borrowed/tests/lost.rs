//! Exceptions of calls whose results nothing looks at, where a lookup clears its own.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::{int, keeps_exception};
use crate::testing;

/// A lookup behind `before`, in a function that never asks for exceptions.
fn behind(before: &str) -> bool {
    keeps_exception(&int(&format!(
        "
    PyObject *value, *other;
    int rc;
    {before}
    value = PyDict_GetItem(dict, key);
    if (value == NULL) {{
        return -1;
    }}
    use(value);
    return 0;"
    )))
}

#[test]
fn a_call_whose_result_is_dropped_may_leave_an_exception() {
    insta::assert_snapshot!(int(
        "
    PyObject *value;
    PyDict_SetItem(dict, key, list);
    value = PyDict_GetItem(dict, key);
    if (value == NULL) {
        return -1;
    }
    use(value);
    return 0;"
    ), @"
        @@
         {
             PyObject *value;
        +    PyObject *exc;
             PyDict_SetItem(dict, key, list);
        -    value = PyDict_GetItem(dict, key);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             if (value == NULL) {
                 return -1;
             }
             use(value);
        +    Py_DECREF(value);
             return 0;
         }
        ");
    assert!(behind("(void)PyDict_DelItem(dict, key);"));
    assert!(behind("rc = PyDict_SetItem(dict, key, list);"));
    assert!(behind("other = PyObject_Str(key); Py_XDECREF(other);"));
    assert!(behind("Py_XDECREF(PyObject_CallNoArgs(self));"));
    assert!(behind("while (i--) PyObject_SetItem(self, key, list);"));
    assert!(behind("if (i) PyErr_WarnEx(PyExc_UserWarning, \"i\", 1);"));
}

#[test]
fn what_was_asked_for_or_cannot_fail_leaves_none() {
    assert!(!behind(
        "if (PyDict_SetItem(dict, key, list) < 0) return -1;"
    ));
    assert!(!behind("other = PyObject_Str(key); Py_DECREF(other);"));
    assert!(!behind("PyDict_SetItem(dict, key, list); PyErr_Clear();"));
    assert!(!behind(
        "PyDict_SetItem(dict, key, list); if (PyErr_Occurred()) return -1;"
    ));
    assert!(!behind(
        "PyDict_SetItem(dict, key, list);
        other = PyObject_CallNoArgs(self);
        if (other == NULL) return -1;
        Py_DECREF(other);"
    ));
    assert!(!behind("PyList_Append(list, key);"));
    assert!(!behind(
        "if (i) { PyDict_SetItem(dict, key, list); return -1; }"
    ));
}

#[test]
fn slots_of_what_is_made_here_are_there() {
    let filled = |made: &str| {
        behind(&format!(
            "other = {made};
            if (other == NULL) return -1;
            PyTuple_SetItem(other, 0, Py_None);
            Py_DECREF(other);"
        ))
    };
    assert!(!filled("PyTuple_New(1)"));
    assert!(filled("PySequence_Tuple(list)"));
}

#[test]
fn keys_that_are_made_here_raise_nothing() {
    let stored = |key: &str| {
        behind(&format!(
            "other = {key};
            if (other == NULL) return -1;
            PyDict_SetItem(dict, other, list);
            Py_DECREF(other);"
        ))
    };
    assert!(!stored("PyLong_FromSsize_t(i)"));
    assert!(!stored(
        "i ? PyLong_FromSsize_t(i) : PyUnicode_FromString(\"none\")"
    ));
    assert!(stored("PyObject_Str(key)"));
    assert!(stored("i ? PyLong_FromSsize_t(i) : Py_NewRef(key)"));
    assert!(behind(
        "if (i) key = PyLong_FromSsize_t(i); PyDict_SetItem(dict, key, list);"
    ));
    let later = "if (i) other = PyObject_Str(key); use(other); Py_DECREF(other);";
    assert!(!behind(&format!(
        "other = PyLong_FromSsize_t(i); PyDict_SetItem(dict, other, list); {later}"
    )));
    assert!(behind(&format!(
        "other = PyLong_FromSsize_t(i); {later} PyDict_SetItem(dict, other, list);"
    )));
    assert!(behind("PyDict_SetItem(dict, self->name, list);"));
    assert!(!behind("PyDict_SetItemString(dict, \"name\", list);"));
    assert!(behind(
        "PyDict_SetItemString(dict, PyModule_GetName(self), list);"
    ));
    assert!(behind("PyDict_DelItemString(dict, \"name\");"));
}

/// A lookup behind a call of `helper(dict, key)`.
fn behind_helper(helper: &str, call: &str) -> bool {
    let text = format!(
        "{helper}
PyObject *f(PyObject *dict, PyObject *key)
{{
    PyObject *value;
    {call}
    value = PyDict_GetItem(dict, key);
    if (value == NULL) {{
        return NULL;
    }}
    use(value);
    return PyLong_FromLong(0);
}}
"
    );
    keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
}

#[test]
fn a_helper_may_leave_one_that_its_result_does_not_tell() {
    let none = "static void helper(PyObject *dict, PyObject *key)
{
    PyDict_SetItem(dict, key, Py_None);
}";
    assert!(behind_helper(none, "helper(dict, key);"));
    let asks = "static void helper(PyObject *dict, PyObject *key)
{
    PyDict_SetItem(dict, key, Py_None);
    if (PyErr_Occurred())
        PyErr_Print();
}";
    assert!(!behind_helper(asks, "helper(dict, key);"));
    let tells = "static int helper(PyObject *dict, PyObject *key)
{
    int rc = PyDict_SetItem(dict, key, Py_None);
    return rc == 0;
}";
    assert!(behind_helper(tells, "helper(dict, key);"));
    assert!(!behind_helper(
        tells,
        "if (!helper(dict, key)) return NULL;"
    ));
    let warns = "static int helper(PyObject *dict, PyObject *key)
{
    PyErr_WarnEx(PyExc_UserWarning, \"old\", 1);
    return PyDict_SetItem(dict, key, Py_None);
}";
    assert!(behind_helper(
        warns,
        "if (helper(dict, key) < 0) return NULL;"
    ));
}

#[test]
fn a_helper_that_always_raises_is_told_of_by_what_the_caller_returns() {
    let helper = "static PyObject *fail(const char *text)
{
    PyErr_SetString(PyExc_ValueError, text);
    return NULL;
}
static int helper(PyObject *dict, PyObject *key)
{
    if (!PyUnicode_Check(key)) {
        fail(\"no text\");
        return 1;
    }
    return 0;
}";
    assert!(!behind_helper(
        helper,
        "if (helper(dict, key)) return NULL;"
    ));
    assert!(behind_helper(helper, "helper(dict, key);"));
}

#[test]
fn a_negative_number_of_a_function_out_of_sight_tells_of_one() {
    let kept = |declared: &str, test: &str| {
        behind_helper(
            declared,
            &format!("if ({test}) value = PyDict_GetItem(dict, key);"),
        )
    };
    let step = "extern int lib_step(PyObject *state);";
    assert!(kept(step, "lib_step(dict) < 0"));
    assert!(kept(step, "lib_step(dict) == -1"));
    assert!(!kept(step, "lib_step(dict)"));
    let name = "extern const char *lib_name(PyObject *state);";
    assert!(kept(name, "!lib_name(dict)"));
    assert!(kept("", "_PyBytes_Resize(&value, 3)"));
    assert!(!kept(
        "extern int lib_step(const char *text);",
        "lib_step(\"a\") < 0"
    ));
}
