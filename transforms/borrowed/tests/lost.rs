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

const UNSEEN: &str = "
typedef struct { int ok; void *data; } Reply;
extern int lib_step(void *state), lib_errno;
extern Reply lib_ask(void *state);
extern double lib_weight(void *state);
extern const char *lib_error(void *state);
extern void lib_run(void *state), lib_read(void *state, void **data);
extern int (*lib_table[2])(PyObject *);
#define TRY(call) do { if ((call) != 0) goto fail; } while (0)
static int is_true(PyObject *o) { return PyObject_IsTrue(o) < 0; }
static const struct { const char *name; int (*run)(PyObject *); } ops[] = {{\"true\", is_true}};
static const char *why(PyObject *o) { return PyObject_IsTrue(o) < 0 ? \"no truth\" : NULL; }
static int indirectly(void *o) { return is_true(o); }";

/// Whether the exception is kept that a call of before may have left, where the function fails by
/// `test` and goes on with `behind`.
fn kept_after(test: &str, behind: &str) -> bool {
    let text = format!(
        "{UNSEEN}
PyObject *f(PyObject *dict, PyObject *key)
{{
    PyObject *value;
    void *data = NULL;
    int i, rc = 0;
    {test}
    Py_RETURN_NONE;
fail:
    value = PyDict_GetItem(dict, key);
    if (value != NULL && PyLong_Check(value)) {{
        use(value);
    }}
    {behind}
}}
"
    );
    keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
}

#[test]
fn a_failure_that_raises_nothing_has_met_an_exception() {
    for test in [
        "if (lib_step(key) < 0) goto fail;",
        "if (lib_step(key)) goto fail;",
        "if (lib_step(\"name\") & 4) goto fail;",
        "if (!lib_ask(key).ok) goto fail;",
        "if (lib_weight(key) != 1.5) goto fail;",
        "if (lib_error(key) != NULL) goto fail;",
        "lib_run(key); if (lib_errno) goto fail;",
        "lib_read(key, &data); if (data == NULL) goto fail;",
        "if (lib_table[1](key)) goto fail;",
        "if (Py_TYPE(key)->tp_as_number->nb_bool(key)) goto fail;",
        "switch (lib_step(key)) { case 0: break; case 1: Py_RETURN_TRUE; default: goto fail; }",
        "for (i = 0; !rc && i < 3; i++) rc = lib_step(key); if (rc) goto fail;",
        "TRY(lib_step(key));",
        // Functions of the package, by a table or in a way of their own.
        "if (ops[0].run(key)) goto fail;",
        "if (why(key) != NULL) goto fail;",
        "if (indirectly(key)) goto fail;",
        "qsort(data, 3, sizeof(void *), (int (*)(const void *, const void *))is_true); goto fail;",
    ] {
        assert!(kept_after(test, "return NULL;"), "{test}");
    }
}

#[test]
fn what_a_failure_has_met_shows_in_what_follows() {
    let test = "if (lib_step(key)) goto fail;";
    for behind in [
        "free(data); return NULL;",
        "lib_run(key); return NULL;",
        "i = PySet_Discard(dict, key); return NULL;",
        "PyErr_Clear(); Py_RETURN_FALSE;",
        "if (PyErr_Occurred()) return NULL; Py_RETURN_FALSE;",
        "rc = lib_step(dict); if (PyErr_Occurred()) return NULL; return PyLong_FromLong(rc);",
        "if (rc == 0) return NULL; Py_RETURN_FALSE;",
    ] {
        assert!(kept_after(test, behind), "{behind}");
    }
    for behind in [
        // It goes on as if nothing had happened, or raises something itself.
        "Py_RETURN_FALSE;",
        "return PyErr_NoMemory();",
        "PyErr_SetString(PyExc_ValueError, \"failed\"); return NULL;",
        "value = PyObject_Str(key); if (value == NULL) return NULL; return value;",
        "if (PyObject_IsTrue(key) < 0) return NULL; Py_RETURN_FALSE;",
        "if (PyObject_IsTrue(key) < 0 && PyErr_Occurred()) return NULL; Py_RETURN_FALSE;",
        "if (lib_step(dict)) return NULL; Py_RETURN_FALSE;",
        "if (value == NULL) return NULL; Py_RETURN_FALSE;",
        "value = PyDict_GetItem(key, dict); if (value == NULL) return NULL; Py_RETURN_FALSE;",
        // That never is so.
        "if (rc != 0) return NULL; Py_RETURN_FALSE;",
    ] {
        assert!(!kept_after(test, behind), "{behind}");
    }
    // Nobody but the C API was called before.
    assert!(!kept_after(
        "if (PyList_Check(key)) goto fail;",
        "return NULL;"
    ));
    assert!(!kept_after(
        "if (strlen(UNIT) > 3) goto fail;",
        "return NULL;"
    ));
}

#[test]
fn a_number_of_before_may_be_the_failure() {
    let kept = |set: &str, returned: &str| {
        let text = format!(
            "{UNSEEN}
int f(PyObject *dict, PyObject *key)
{{
    PyObject *value;
    int rc = 0;
    {set}
    value = PyDict_GetItem(dict, key);
    if (value != NULL) {{
        use(value);
    }}
    return {returned};
}}
"
        );
        keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
    };
    assert!(kept("rc = lib_step(key);", "rc"));
    assert!(kept("rc = lib_step(key) == 3;", "rc"));
    assert!(!kept("lib_step(key);", "rc"));
    assert!(!kept("rc = lib_step(key);", "0"));
    assert!(!kept("rc = (int)strlen(UNIT);", "rc"));
    assert!(kept(
        "rc = lib_step(key); if (rc == 2) { PyErr_SetString(PyExc_ValueError, \"2\"); return 7; }",
        "7"
    ));
}

#[test]
fn a_number_or_a_pointer_of_the_c_api_tells_of_one() {
    assert!(behind_helper(
        "",
        "if (_PyBytes_Resize(&value, 3)) value = PyDict_GetItem(dict, key);"
    ));
}
