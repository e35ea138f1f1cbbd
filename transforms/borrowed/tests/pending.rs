//! Exceptions that are pending where a lookup clears its own.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::super::sequence_fast_item::BORROWED_SEQUENCE_FAST_ITEM;
use super::{all, int, keeps_exception};
use crate::testing;

fn is_kept(body: &str) -> bool {
    keeps_exception(&int(body))
}

/// A lookup in the branch that `head` leads to.
fn behind(head: &str) -> bool {
    is_kept(&format!(
        "
    PyObject *value, *other = NULL;
    int rc = 0;
    {head} {{
        value = PyDict_GetItem(dict, key);
        if (value != NULL) {{
            use(value);
        }}
        return -1;
    }}
    Py_XDECREF(other);
    return rc;"
    ))
}

#[test]
fn a_pending_exception_is_kept() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    if (PyObject_SetAttr(self, key, list) < 0) {
        value = PyDict_GetItem(dict, key);
        if (value != NULL) {
            log_it(value);
        }
        return -1;
    }
    return 0;
"#
    ), @"
        @@
             PyObject *value;
             if (PyObject_SetAttr(self, key, list) < 0) {
        -        value = PyDict_GetItem(dict, key);
        +        PyObject *exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
                 if (value != NULL) {
                     log_it(value);
        +            Py_DECREF(value);
                 }
                 return -1;
        ");
}

#[test]
fn failures_of_the_c_api_leave_an_exception() {
    assert!(behind("if (PyErr_Occurred())"));
    assert!(behind("if (PyErr_ExceptionMatches(PyExc_KeyError))"));
    assert!(behind("if (!PyArg_ParseTuple(list, \"O\", &other))"));
    assert!(behind("other = PyObject_Str(key); if (!other)"));
    assert!(behind("if ((other = PyObject_Str(key)) == NULL)"));
    assert!(behind("if ((rc = PyList_Append(list, key)) != 0)"));
    assert!(behind("rc = PyList_Append(list, key); if (rc == -1)"));
    assert!(behind("if (PyList_GetItem(list, i) == NULL)"));
    assert!(behind("other = helper(key); if (other == NULL)"));
}

#[test]
fn other_tests_leave_none() {
    assert!(!behind("if (PyList_Check(list))"));
    assert!(!behind("if (PyDict_Contains(dict, list) > 0)"));
    assert!(!behind("other = PyObject_Str(key); if (other)"));
    assert!(!behind("other = PyIter_Next(list); if (other)"));
    assert!(!behind("rc = PySet_Contains(list, key); if (rc == 0)"));
    assert!(!behind("if (PyErr_Occurred()) return -1; if (i)"));
    assert!(!behind("if (PyErr_Occurred()) PyErr_Clear(); if (i)"));
}

#[test]
fn what_is_raised_stays_pending_up_to_a_label() {
    let text = |before: &str| {
        format!(
            "
    PyObject *value;
    if (i < 0) {{
        PyErr_SetString(PyExc_ValueError, \"negative\");
        goto error;
    }}
    return 0;
error:
    {before}
    value = PyDict_GetItem(dict, key);
    if (value != NULL) {{
        use(value);
    }}
    return -1;"
        )
    };
    assert!(is_kept(&text("")));
    assert!(!is_kept(&text("PyErr_Print();")));
}

/// A lookup between a call and what is asked of that behind it.
fn between(before: &str, behind: &str) -> bool {
    is_kept(&format!(
        "
    PyObject *value, *other = NULL;
    long n = 0;
    double x = 0;
    {before}
    value = PyDict_GetItem(dict, key);
    if (value != NULL) {{
        use(value);
    }}
    {behind}
    return 0;"
    ))
}

#[test]
fn errors_that_show_later_are_pending() {
    assert!(between(
        "n = PyObject_IsTrue(key);",
        "if (n < 0) return -1;"
    ));
    assert!(between("n = PyObject_IsTrue(key);", "return n;"));
    assert!(between(
        "n = PyLong_AsLong(key);",
        "if (n == -1 && PyErr_Occurred()) return -1;"
    ));
    assert!(between(
        "x = PyFloat_AsDouble(key);",
        "if (x == -1.0 && PyErr_Occurred()) return -1;"
    ));
    assert!(between(
        "other = PyObject_Str(key);",
        "if (!other) return -1; Py_DECREF(other);"
    ));
    assert!(between(
        "PyObject_SetItem(dict, key, key);",
        "if (PyErr_Occurred()) return -1;"
    ));
    assert!(between(
        "x += PyFloat_AsDouble(key);",
        "if (PyErr_Occurred()) return -1;"
    ));
    assert!(between(
        "self->ob_type->tp_call(key);",
        "if (PyErr_Occurred()) return -1;"
    ));
}

#[test]
fn errors_that_were_asked_for_are_not_pending() {
    assert!(!between(
        "n = PyObject_IsTrue(key); if (n < 0) return -1;",
        "return n;"
    ));
    assert!(!between(
        "n = PyObject_IsTrue(key); if (n == -1) { PyErr_Clear(); n = 0; }",
        "if (n) return 1;"
    ));
    assert!(!between(
        "n = PyLong_AsLong(key); if (PyErr_Occurred()) return -1;",
        "return n;"
    ));
    assert!(!between("n = PyList_Size(list);", "if (n > 3) return 1;"));
    assert!(!between(
        "PyObject_SetItem(dict, key, key); PyErr_Clear();",
        "if (PyErr_Occurred()) return -1;"
    ));
    assert!(!between(
        "puts(\"found\");",
        "if (PyErr_Occurred()) return -1;"
    ));
}

/// A lookup in a helper, and the function that calls it.
fn in_helper(helper: &str, caller: &str) -> bool {
    let text = format!(
        "static void report(PyObject *dict, PyObject *key)
{{
    PyObject *value = PyDict_GetItem(dict, key);
    if (value != NULL) {{
        use(value);
    }}
}}
{helper}
PyObject *f(PyObject *dict, PyObject *key)
{{
    PyObject *text = PyObject_Str(key);
    {caller}
    return text;
}}
"
    );
    keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
}

#[test]
fn helpers_are_entered_with_the_exceptions_of_their_callers() {
    assert!(in_helper("", "if (text == NULL) report(dict, key);"));
    assert!(in_helper("", "report(dict, key);"));
    assert!(in_helper(
        "static void pass(PyObject *dict) { report(dict, Py_None); }",
        "if (text == NULL) pass(dict);"
    ));
    assert!(!in_helper("", "if (text != NULL) report(dict, key);"));
    assert!(!in_helper(
        "",
        "if (text == NULL) PyErr_Clear(); report(dict, key);"
    ));
}

#[test]
fn destructors_run_while_exceptions_are_pending() {
    let text = |slot: &str| {
        format!(
            "static void close(Foo *self)
{{
    PyObject *value = PyDict_GetItem(self->dict, self->close);
    if (value != NULL)
        use(value);
}}
static PyType_Slot slots[] = {{{{{slot}, close}}, {{0, NULL}}}};
"
        )
    };
    let is_kept =
        |slot: &str| keeps_exception(&testing::run_triaged(&BORROWED_DICT_ITEM, &text(slot)));
    for slot in [
        "Py_tp_dealloc",
        "Py_tp_clear",
        "Py_tp_finalize",
        "Py_bf_releasebuffer",
    ] {
        assert!(is_kept(slot), "{slot}");
    }
    assert!(!is_kept("Py_tp_repr"));
}

#[test]
fn who_calls_by_a_table_is_known_of_those_of_python() {
    let is_kept = |table: &str| {
        let text = format!(
            "static PyObject *get_type(PyObject *dict, PyObject *key)
{{
    PyObject *value = PyDict_GetItem(dict, key);
    if (value != NULL)
        use(value);
    return PyBool_FromLong(value != NULL);
}}
static {table};
"
        );
        keeps_exception(&testing::run_triaged(&BORROWED_DICT_ITEM, &text))
    };
    assert!(is_kept("const struct callbacks callbacks = {get_type}"));
    assert!(!is_kept(
        "PyMethodDef methods[] = {{\"get\", (PyCFunction)get_type, METH_O}, {NULL}}"
    ));
    assert!(!is_kept("PyMappingMethods mapping = {NULL, get_type}"));
}

#[test]
fn errors_that_are_told_by_what_is_stored_are_pending() {
    for store in ["self->n", "numbers[0]", "*out", "total"] {
        assert!(
            between(
                &format!("{store} = PyLong_AsLong(key);"),
                &format!("if ({store} < 0) return -1;")
            ),
            "{store}"
        );
        assert!(
            !between(
                &format!(
                    "{store} = PyLong_AsLong(key); \
                     if ({store} == -1 && PyErr_Occurred()) return -1;"
                ),
                ""
            ),
            "{store}"
        );
    }
    assert!(between("n |= PyObject_IsTrue(key);", "if (n) return -1;"));
    assert!(!between("n |= PyObject_IsTrue(key); if (n) return -1;", ""));
    assert!(between(
        "n |= PyObject_SetAttr(key, key, key) < 0; n |= PyObject_IsTrue(key) < 0;",
        "if (n) return -1;"
    ));
    assert!(!between(
        "n |= PyObject_SetAttr(key, key, key) < 0; n |= PyObject_IsTrue(key) < 0; \
         if (n) return -1;",
        ""
    ));
}

#[test]
fn errors_that_a_helper_stores_are_pending() {
    let is_kept = |store: &str, head: &str, behind: &str| {
        let text = format!(
            "static long convert(PyObject *o, int *failed)
{{
    long n = PyLong_AsLong(o);
    if (n == -1 && PyErr_Occurred())
        {store};
    return n;
}}
static long convert_all(PyObject *o, int *failed)
{{
    return convert(o, failed) + 1;
}}
int f(PyObject *dict, PyObject *key)
{{
    int failed = 0;
    long n = {head};
    PyObject *value = PyDict_GetItem(dict, key);
    if (value != NULL)
        use(value);
    {behind}
    use_number(n);
    return 0;
}}
"
        );
        keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
    };
    let head = "convert(key, &failed)";
    let asks = "if (failed) return -1;";
    assert!(is_kept("*failed = 1", head, asks));
    assert!(is_kept("*failed = -1", head, "if (failed < 0) return -1;"));
    assert!(is_kept("*failed = 1", "convert_all(key, &failed)", asks));
    let before = format!("{head}; {asks}");
    assert!(!is_kept("*failed = 1", &before, ""));
    assert!(!is_kept("PyErr_Clear()", head, asks));
}

#[test]
fn what_a_pointer_calls_is_asked_by_a_test_for_null() {
    let head = |test: &str| format!("made = ((maker)self->make)(key); {test}");
    assert!(asked_behind(&head("")));
    assert!(!asked_behind(&head("if (!made) return -1;")));
    assert!(behind("other = ((maker)self->make)(key); if (!other)"));
}

#[test]
fn lookups_that_keep_their_errors_do_not_matter() {
    let result = int("
    PyObject *value;
    if (PyErr_Occurred()) {
        value = PyDict_GetItemWithError(dict, key);
        if (value != NULL) {
            use(value);
        }
    }
    return 0;");
    assert!(!result.contains("PyErr_GetRaisedException"), "{result}");
}

/// A lookup behind `head` in a function that asks for exceptions at its end.
fn asked_behind(head: &str) -> bool {
    is_kept(&format!(
        "
    PyObject *value, *made;
    {head}
    value = PyDict_GetItem(dict, key);
    if (value != NULL)
        use(value);
    return PyErr_Occurred() ? -1 : 0;"
    ))
}

/// A lookup behind `head` in a function that asks for exceptions once the value was looked at.
fn asked_at_the_end(head: &str) -> bool {
    is_kept(&format!(
        "
    PyObject *value;
    long n = 0;
    {head}
    value = PyDict_GetItem(dict, key);
    if (value && PyUnicode_Check(value))
        return 1;
    if (PyErr_Occurred())
        return -1;
    return n;"
    ))
}

#[test]
fn only_a_test_for_the_error_of_a_call_ends_it() {
    let goes_on = |test: &str| asked_at_the_end(&format!("if ({test}) return 1;"));
    assert!(goes_on("PyLong_AsLong(self) == 0"));
    assert!(goes_on("!PyLong_AsLong(self)"));
    assert!(goes_on("(n = PyLong_AsLong(self)) == 3"));
    assert!(goes_on("n == PyLong_AsLong(self)"));
    assert!(goes_on("PyLong_AsLong(self) == 3 && n == i"));
    assert!(goes_on("PyObject_IsTrue(self) == 1"));
    assert!(goes_on("PyFloat_AsDouble(self) == 0.5"));
    assert!(goes_on("PySequence_Contains(self, key) == 1"));
    assert!(goes_on("PyUnicode_Compare(self, key) == 0"));
    assert!(!goes_on("PyLong_AsLong(self) == -1"));
    assert!(!goes_on("PyLong_AsLong(self) < 3"));
    assert!(!goes_on("PyLong_AsLong(self) != 3"));
    assert!(!goes_on("PyObject_IsTrue(self)"));
    assert!(!goes_on("PyObject_IsTrue(self) < 0"));
    assert!(!goes_on("PyUnicode_AsUTF8(self) == NULL"));
    assert!(!goes_on("PyObject_HasAttrString(self, \"name\")"));
    assert!(!goes_on("PyUnicode_Check(self)"));
}

#[test]
fn a_lookup_in_a_condition_meets_the_exception_of_a_call_before_it() {
    let with = |test: &str| {
        is_kept(&format!(
            "
    if ({test} || PyUnicode_Check(PyDict_GetItem(dict, key)))
        return 1;
    if (PyErr_Occurred())
        return -1;
    return 0;"
        ))
    };
    assert!(with("PyLong_AsLong(self) == 3"));
    assert!(!with("PyLong_AsLong(self) != 3"));
}

#[test]
fn the_end_of_an_iterator_may_be_an_exception() {
    let head = "while ((list = PyIter_Next(self))) { n++; Py_DECREF(list); }";
    assert!(asked_at_the_end(head));
    assert!(asked_behind(
        "while ((made = PyIter_Next(self)) != NULL) Py_DECREF(made);"
    ));
    let cleared = format!("{head} PyErr_Clear();");
    assert!(!asked_at_the_end(&cleared));
    let asked = format!("{head} if (PyErr_Occurred()) return -1;");
    assert!(!asked_at_the_end(&asked));
    assert!(!asked_at_the_end(
        "list = PyIter_Next(self); if (list == NULL) return -1; Py_DECREF(list);"
    ));
    assert!(between(
        "other = PyIter_Next(self);",
        "if (other == NULL && PyErr_Occurred()) return -1; Py_XDECREF(other);"
    ));
    // Nobody asks.
    assert!(between(
        "while ((other = PyIter_Next(self))) Py_DECREF(other);",
        ""
    ));
}

#[test]
fn what_comes_back_has_looked_into_its_arguments() {
    let make = "made = PyRun_String(\"1\", 258, dict, dict);";
    assert!(asked_behind(make));
    assert!(!asked_behind(&format!(
        "{make} if (PyDict_SetItemString(list, \"made\", made) < 0) return -1;"
    )));
    assert!(asked_behind(&format!(
        "{make} PyDict_Size(list); use(made);"
    )));
    assert!(!asked_behind("dict = PyObject_GetAttr(self, key);"));
}

#[test]
fn a_call_that_gives_an_object_leaves_no_exception() {
    let failed = "if (PyObject_SetAttr(self, key, list) < 0)";
    let made = "made = PyObject_CallNoArgs(self); if (!made) return -1; Py_DECREF(made);";
    assert!(behind(failed));
    assert!(asked_behind(&format!("{failed} log_it(self);")));
    assert!(!asked_behind(&format!("{failed} log_it(self); {made}")));
    assert!(asked_behind(&format!("{made} {failed} log_it(self);")));
    let last = "PyObject_CallFinalizer(self);";
    assert!(asked_behind(&format!("{failed} log_it(self); {last}")));
}

#[test]
fn a_slot_is_not_called_with_an_exception() {
    let looped = |test: &str| {
        int(&format!(
            "
    PyObject *fast = PySequence_Fast(self, \"a sequence\");
    double sum = 0;
    if (!fast)
        return -1;
    for (i = 0; i < PySequence_Fast_GET_SIZE(fast); i++) {{
        sum += PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, i));
        {test}
    }}
    Py_DECREF(fast);
    if (PyErr_Occurred())
        return -1;
    return use(sum);"
        ))
    };
    assert!(looped("").contains("PyList_GetItemRef(fast, i)"));
    let tested = looped("if (PyErr_Occurred()) { Py_DECREF(fast); return -1; }");
    assert!(tested.contains("PySequence_GetItem(fast, i)"), "{tested}");
}

/// Two items of a sequence made into numbers, one after the other.
fn point_of(between: &str, behind: &str, result: &str) -> String {
    int(&format!(
        "
    struct point *point = (struct point *)self;
    PyObject *fast = PySequence_Fast(list, \"a sequence\");
    if (!fast)
        return -1;
    if (PySequence_Fast_GET_SIZE(fast) != 2) {{
        Py_DECREF(fast);
        return -1;
    }}
    point->x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, 0));
    {between}
    point->y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, 1));
    {behind}
    Py_DECREF(fast);
    return {result};"
    ))
}

#[test]
fn a_slot_is_not_called_between_a_conversion_and_what_asks_for_its_error() {
    let asked = "if (PyErr_Occurred()) { Py_DECREF(fast); return -1; }";
    let is_asked = |between: &str, behind: &str| {
        let text = point_of(between, behind, "0");
        let is_exact = text.contains("PyList_GetItemRef(fast, 1)");
        assert!(
            is_exact || text.contains("PySequence_GetItem(fast, 1)"),
            "{text}"
        );
        !is_exact
    };
    assert!(is_asked(asked, asked));
    assert!(is_asked(asked, ""));
    assert!(!is_asked("", asked));
    assert!(!is_asked("", ""), "the caller may ask");
    let other = format!("{asked} point->z = PyFloat_AsDouble(key);");
    assert!(!is_asked(&other, ""));
}

#[test]
fn what_python_calls_cannot_give_an_object_with_an_exception() {
    let doubted = |result: &str| {
        let text = format!(
            "static PyObject *length(PyObject *self, PyObject *arg)
{{
    double x, y;
    PyObject *pair = PySequence_Fast(arg, \"not a pair\");
    if (pair == NULL)
        return NULL;
    x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 0));
    y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 1));
    Py_DECREF(pair);
    return {result};
}}
static PyMethodDef methods[] = {{{{\"length\", length, METH_O, NULL}}, {{NULL}}}};
"
        );
        let rule = &BORROWED_SEQUENCE_FAST_ITEM;
        let found = testing::run_triaged(rule, &text);
        let is_exact = found.contains("PyList_GetItemRef(pair, 1)");
        assert!(
            is_exact || found.contains("PySequence_GetItem(pair, 1)"),
            "{found}"
        );
        is_exact
    };
    assert!(!doubted("PyFloat_FromDouble(x * y)"));
    assert!(doubted("x > y ? NULL : PyFloat_FromDouble(x * y)"));
    assert!(doubted("make(x, y)"));
}

#[test]
fn a_flag_keeps_a_lookup_from_running_with_an_exception() {
    let two = "PyObject *a = PySequence_GetItem(list, 0);
        PyObject *b = a ? PySequence_GetItem(list, 1) : 0;";
    let stored = "other = PyObject_Str(key); rc = other != NULL;";
    let set = "rc = 1; other = PyObject_Str(key); if (!other) rc = 0;";
    assert!(!behind(&format!("{stored} if (rc)")));
    assert!(behind(&format!("{stored} if (!rc)")));
    assert!(!behind(&format!("{set} if (rc)")));
    assert!(behind(&format!("{set} if (!rc)")));
    assert!(behind(&format!("{set} if (i)")));
    assert!(behind(&format!("{set} set_flag(&rc); if (rc)")));
    assert!(!behind(&format!("{two} rc = (a != 0 && b != 0); if (rc)")));
    assert!(behind(&format!("{two} rc = (a != 0 && b != 0); if (!rc)")));
    assert!(!behind(&format!(
        "{two} rc = a != 0 && b != 0; if (rc) rc = 1; if (rc)"
    )));
}

/// A lookup between what may fail, with functions of the package in front, and what is behind it.
fn met(functions: &str, before: &str, behind: &str) -> bool {
    let text = format!(
        "{functions}
int f(PyObject *dict, PyObject *key, PyObject *o)
{{
    int c = 0, rc[2] = {{0, 0}};
    long n = 0;
    double x = 0;
    PyObject *value;
    {before}
    value = PyDict_GetItem(dict, key);
    if (value != NULL)
        use(value);
    {behind}
    return 0;
}}
"
    );
    keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
}

#[test]
fn a_result_that_is_told_apart_in_a_way_of_its_own_is_not_tested_yet() {
    let call = "c = PyObject_RichCompareBool(o, key, 0);";
    let failed = "static int failed(int c) { return c < 0; }";
    assert!(met(failed, call, "if (failed(c)) return -1;"));
    assert!(met(
        "",
        call,
        "switch (c) { case -1: return -1; default: return c; }"
    ));
    assert!(met("", call, "return c + 1 ? 0 : -1;"));
    assert!(met("", call, "if (!~c) return -1;"));
    assert!(met(
        "",
        "rc[0] = PyObject_IsTrue(o);",
        "if (rc[0] < 0) return -1;"
    ));
    assert!(met("", "convert(o, &n); self->convert(o, &n);", ""));
}

#[test]
fn what_is_tested_in_front_of_the_lookup_is_not_pending() {
    let call = "c = PyObject_RichCompareBool(o, key, 0);";
    let switch = "switch (c) { case -1: return -1; case 0: c = 5; break; default: c = 6; }";
    assert!(!met("", &format!("{call} {switch}"), "return c;"));
    let zero = "switch (c) { case 0: return 0; default: break; }";
    assert!(met("", &format!("{call} {zero}"), "return c;"));
    assert!(!met("", &format!("{call} if (c < 0) return -1;"), ""));
    let double = "x = PyFloat_AsDouble(o); if (x == -1.0 && PyErr_Occurred()) return -1;";
    assert!(!met("", double, "return x > 3;"));
    let used = "PyObject *text = PyObject_Str(o); Py_DECREF(text);";
    assert!(!met("", used, ""));
    assert!(!met("", "PyDict_SetItemString(dict, \"name\", o);", ""));
}

#[test]
fn helpers_that_tell_in_their_own_way_leave_exceptions() {
    let ok = "static int read(PyObject *o, long *n)
{ *n = PyLong_AsLong(o); return !(*n == -1 && PyErr_Occurred()); }";
    assert!(met(ok, "c = 1; c &= read(o, &n);", "if (!c) return -1;"));
    assert!(met(ok, "c += !read(o, &n);", "if (c) return -1;"));
    assert!(!met(ok, "if (!read(o, &n)) return -1;", ""));
    let one = "static int read(PyObject *o, long *n)
{ *n = PyLong_AsLong(o); if (*n == -1 && PyErr_Occurred()) return 1; return 0; }";
    assert!(met(one, "c += read(o, &n);", "if (c) return -1;"));
    assert!(!met(one, "if (read(o, &n)) return -1;", ""));
    let status = "typedef enum { FINE, BAD } status;
static status read(PyObject *o, long *n)
{ *n = PyLong_AsLong(o); return *n == -1 && PyErr_Occurred() ? BAD : FINE; }";
    let kept = "status s = read(o, &n);";
    assert!(met(status, kept, "if (s == BAD) return -1;"));
    // It says nothing of what it does not look at.
    let silent = "static long total;
static int add(PyObject *o) { total += PyLong_AsLong(o); return 0; }";
    assert!(met(silent, "if (add(o) < 0) return -1;", ""));
    let pointer = "static struct foo *make(PyObject *o)
{ if (PyObject_IsTrue(o) < 0) return NULL; return alloc(); }";
    let tested = "struct foo *p = make(o); if (p == NULL) return -1;";
    assert!(!met(pointer, tested, ""));
    assert!(met(
        pointer,
        "struct foo *p = make(o);",
        "if (!p) return -1;"
    ));
}

#[test]
fn errors_that_are_cleared_at_the_end_are_pending_until_then() {
    for test in [
        "PyObject_IsTrue(o)",
        "PyObject_IsTrue(o) > 0",
        "PyLong_AsLong(o) > 100",
        "PyObject_IsTrue(o) != 1",
    ] {
        let head = format!("if ({test}) n++;");
        assert!(met("", &head, "PyErr_Clear();"), "{test}");
        assert!(!met("", &format!("{head} PyErr_Clear();"), ""), "{test}");
    }
}

#[test]
fn a_negative_result_is_not_found_again() {
    let text = |test: &str| {
        format!(
            "for (;;) {{
                c = PyObject_IsTrue(o);
                if (c >= 0)
                    c = PyObject_IsTrue(key);
                done(o);
                {test}
                break;
            }}"
        )
    };
    assert!(!met("", &text("if (c < 0) return -1;"), ""));
    assert!(met("", &text(""), ""));
}

#[test]
fn a_variable_that_another_path_sets_says_nothing_of_the_call() {
    let set = |number: &str| format!("n = PyObject_IsTrue(o); if (key == o) n = {number};");
    let tested = |number: &str| format!("{} if (n < 0) return -1;", set(number));
    assert!(met("", &tested("5"), ""));
    assert!(met("", &tested("get_number()"), ""));
    assert!(!met("", &tested("-3"), ""));
}

#[test]
fn a_field_that_was_just_set_is_as_good_as_a_variable() {
    let made = "self->made = PyObject_Str(key); if (self->made == NULL)";
    assert!(behind(made));
    assert!(!asked_behind(&format!("{made} return -1;")));
    assert!(asked_behind(&format!("{made} puts(\"none\");")));
}

#[test]
fn a_flag_tells_of_errors_in_a_loop() {
    assert!(!behind(
        "while (i-- > 0) {
            PyObject *a = PySequence_GetItem(list, i);
            rc = a != 0;
            rc = rc && PySet_Contains(list, a) == 0;
            Py_XDECREF(a);
            if (!rc)
                return -1;
        }"
    ));
    assert!(!behind(
        "while (i-- > 0) {
            PyObject *a = PySequence_GetItem(list, i);
            PyObject *b = a ? PySequence_GetItem(list, 1) : 0;
            rc = a != 0 && b != 0;
            if (rc) {
                PyObject *v = PyDict_GetItem(dict, a);
                if (v != NULL)
                    i -= PyLong_Check(v);
            }
            Py_XDECREF(a);
            Py_XDECREF(b);
            if (!rc)
                return -1;
        }"
    ));
    assert!(is_kept(
        "
    PyObject *a, *value;
    while (i-- > 0) {
        a = PySequence_GetItem(list, i);
        if (a) {
            value = PyDict_GetItem(dict, a);
            if (value != NULL)
                use(value);
        }
        Py_XDECREF(a);
    }
    return 0;"
    ));
}

/// A lookup behind a test of `helper(key)`.
fn behind_helper(helper: &str, test: &str) -> bool {
    let text = format!(
        "static int helper(PyObject *o)
{{
    {helper}
}}
PyObject *f(PyObject *dict, PyObject *key)
{{
    int rc = helper(key);
    if ({test}) {{
        PyObject *value = PyDict_GetItem(dict, key);
        if (value != NULL) {{
            use(value);
        }}
    }}
    return NULL;
}}
"
    );
    keeps_exception(&testing::run(&[&BORROWED_DICT_ITEM], &text))
}

#[test]
fn functions_of_the_package_tell_of_errors_in_their_own_way() {
    let one = "long n = PyObject_IsTrue(o); if (n < 0) return 1; i++; return 0;";
    assert!(behind_helper(one, "rc"));
    assert!(behind_helper(one, "rc == 1"));
    assert!(!behind_helper(one, "!rc"));
    assert!(!behind_helper(one, "rc == 0"));
    let zero = "PyObject *s = PyObject_Str(o); if (!s) return 0; Py_DECREF(s); return 1;";
    assert!(behind_helper(zero, "!rc"));
    assert!(!behind_helper(zero, "rc"));
    let minus_two = "PyObject *s = PyObject_Str(o); int n = -1, rc = -2;
        if (!s) goto done; n = (int)Py_REFCNT(s); rc = n; done: Py_XDECREF(s); return rc;";
    assert!(behind_helper(minus_two, "rc == -2"));
    assert!(behind_helper(minus_two, "rc < 0"));
    assert!(!behind_helper(minus_two, "rc != -2"));
    assert!(!behind_helper(minus_two, "rc == -1"));
    let usual = "return PyObject_IsTrue(o);";
    assert!(behind_helper(usual, "rc < 0"));
    assert!(!behind_helper(usual, "rc > 0"));
    // -1 is not 0.
    assert!(behind_helper(usual, "rc"));
}

/// The dict may hold a key with the same hash that objects to the comparison.
#[test]
fn a_literal_key_can_fail_as_well() {
    let with = |raised: &str, key: &str| {
        is_kept(&format!(
            "
    {raised}
    PyObject *value = PyDict_GetItemString(dict, {key});
    return value == NULL ? 0 : (int)PyObject_Size(value);
"
        ))
    };
    let raised = "PyErr_SetString(PyExc_ValueError, \"kept\");";
    assert!(with(raised, "\"name\""));
    assert!(with(raised, "name"));
    assert!(!with("", "\"name\""));
}

#[test]
fn the_error_of_a_number_that_is_stored_elsewhere_is_kept() {
    let fill = |asks: &str| {
        all(&format!(
            "
static void fill(struct options *o, PyObject *dict)
{{
    PyObject *v;
    if ((v = PyDict_GetItemString(dict, \"a\")) != NULL)
        o->a = PyLong_AsLong(v);
    if ((v = PyDict_GetItemString(dict, \"b\")) != NULL)
        o->b = PyLong_AsLong(v);
}}
PyObject *f(PyObject *self, PyObject *dict)
{{
    struct options o = {{0, 0}};
    fill(&o, dict);
    {asks}
    return Py_BuildValue(\"ll\", o.a, o.b);
}}
"
        ))
    };
    let count = |said: &str| said.matches("exc = PyErr_GetRaisedException();").count();
    assert_eq!(count(&fill("if (PyErr_Occurred()) return NULL;")), 1);
    assert_eq!(count(&fill("PyErr_Clear();")), 1);
    let asked = all("
static void fill(struct options *o, PyObject *dict)
{
    PyObject *v;
    if ((v = PyDict_GetItemString(dict, \"a\")) != NULL) {
        o->a = PyLong_AsLong(v);
        if (o->a == -1 && PyErr_Occurred())
            return;
    }
    if ((v = PyDict_GetItemString(dict, \"b\")) != NULL)
        o->b = PyLong_AsLong(v);
}
");
    assert_eq!(count(&asked), 0);
}
