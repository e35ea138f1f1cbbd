//! How functions show what they return after an exception.

use super::all;

/// The result for a function that reads an item of `list` and goes on so.
fn of(result: &str, rest: &str) -> String {
    all(&format!(
        "
static {result} f(PyObject *list, PyObject *key, Py_ssize_t i)
{{
    PyObject *item = PyList_GET_ITEM(list, i);
{}
}}
",
        rest.trim_matches('\n')
    ))
}

fn is_by_hand(result: &str, rest: &str) -> bool {
    of(result, rest).contains("the checked call can fail where the macro could not")
}

#[test]
fn a_status_that_a_variable_hands_on() {
    insta::assert_snapshot!(of("int", "
    int equal = PyObject_RichCompareBool(item, key, Py_EQ);
    log_it(equal);
    return equal;"
    ), @"
        @@
         static int f(PyObject *list, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        -    int equal = PyObject_RichCompareBool(item, key, Py_EQ);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    int equal;
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    equal = PyObject_RichCompareBool(item, key, Py_EQ);
        +    Py_DECREF(item);
             log_it(equal);
             return equal;
        ");
    let given = |rest: &str| {
        is_by_hand(
            "int",
            &format!("int equal = 0; use(item); {rest} return equal;"),
        )
    };
    assert!(!given("equal = PyObject_IsTrue(key);"));
    assert!(given("equal = compare(item, key);"));
    assert!(given("equal = PyObject_IsTrue(key); equal++;"));
    assert!(given("equal = PyObject_IsTrue(key); take(&equal);"));
    assert!(given(
        "equal = PyObject_IsTrue(key); if (equal < 0) { PyErr_Clear(); equal = 0; }"
    ));
}

#[test]
fn a_status_that_is_tested_away() {
    let dealt_with = |test: &str| {
        let tested = format!("int st = PyObject_IsTrue(item); {test} return st;");
        is_by_hand("int", &tested)
    };
    assert!(dealt_with(
        "if (st < 0) { PyErr_WriteUnraisable(item); return 0; }"
    ));
    assert!(dealt_with("if (st < 0) { PyErr_Print(); st = 0; }"));
    assert!(dealt_with("if (st < 0) return fail(item);"));
    assert!(!dealt_with("if (st < 0) { log_it(item); return st; }"));
    assert!(!dealt_with("PyErr_Clear(); st = PyObject_IsTrue(key);"));
    let object = |test: &str| {
        let tested = format!("PyObject *r = PyObject_Str(item); {test} return r;");
        is_by_hand("PyObject *", &tested)
    };
    assert!(object("if (r == NULL) return Py_NotImplemented;"));
    assert!(!object("if (r == NULL) log_it(item);"));
}

#[test]
fn an_exception_that_a_helper_deals_with() {
    let of = |helper: &str| {
        let helper = format!("static void log_it(PyObject *at) {{ {helper} }}");
        let rest = "
static int f(PyObject *list)
{
    PyObject *item = PyList_GET_ITEM(list, 0);
    int st = PyObject_IsTrue(item);
    if (st < 0)
        log_it(list);
    return st;
}";
        all(&[&helper, rest].concat()).contains("the checked call can fail")
    };
    assert!(of("PyErr_WriteUnraisable(at);"));
    assert!(!of("PySys_WriteStderr(\"failed\");"));
    assert!(!of(
        "PyErr_Fetch(&t, &v, &tb); note(v); PyErr_Restore(t, v, tb);"
    ));
}

#[test]
fn an_error_that_is_a_constant() {
    insta::assert_snapshot!(of("double", "
    double v = PyFloat_AsDouble(item);
    if (v == -1.0 && PyErr_Occurred())
        return -DBL_MAX;
    return v;"
    ), @"
        @@
         static double f(PyObject *list, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        -    double v = PyFloat_AsDouble(item);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    double v;
        +    if (item == NULL) {
        +        return -DBL_MAX;
        +    }
        +    v = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
             if (v == -1.0 && PyErr_Occurred())
                 return -DBL_MAX;
        ");
    insta::assert_snapshot!(of("double", "
    double v = PyFloat_AsDouble(item);
    if (v == -1.0 && PyErr_Occurred())
        return Py_NAN;
    return v;"
    ), @"
        @@
         static double f(PyObject *list, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        -    double v = PyFloat_AsDouble(item);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    double v;
        +    if (item == NULL) {
        +        return Py_NAN;
        +    }
        +    v = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
             if (v == -1.0 && PyErr_Occurred())
                 return Py_NAN;
        ");
    let returning = |value: &str| {
        let rest = format!(
            "double v = PyFloat_AsDouble(item); if (v == -1.0 && PyErr_Occurred()) return {value}; return v;"
        );
        is_by_hand("double", &rest)
    };
    assert!(returning("fail(item)"));
    assert!(returning("v * limit"));
}

#[test]
fn what_is_raised_behind_a_label() {
    insta::assert_snapshot!(of("unsigned char", "
    long n = PyLong_AsLong(item);
    if (n < 1 || n > 8)
        goto failed;
    return n;
failed:
    PyErr_SetString(PyExc_ValueError, \"1 to 8\");
    return 0;"
    ), @"
        @@
         static unsigned char f(PyObject *list, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        -    long n = PyLong_AsLong(item);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    long n;
        +    if (item == NULL) {
        +        return 0;
        +    }
        +    n = PyLong_AsLong(item);
        +    Py_DECREF(item);
             if (n < 1 || n > 8)
                 goto failed;
        ");
    // It returns 0 without an exception as well, and tells nothing by that.
    assert!(is_by_hand(
        "int",
        "
    if (item == key)
        goto done;
    return use(item);
done:
    log_it(item);
    return 0;"
    ));
}

#[test]
fn what_an_exception_decides() {
    insta::assert_snapshot!(of("int", "
    use(item);
    return PyErr_Occurred() ? -1 : 0;"
    ), @"
        @@
         static int f(PyObject *list, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return -1;
        +    }
             use(item);
        +    Py_DECREF(item);
             return PyErr_Occurred() ? -1 : 0;
         }
        ");
    let by_hand = |value: &str| {
        let rest = format!("PyObject *text; use(item); text = PyObject_Str(key); return {value};");
        is_by_hand("void *", &rest)
    };
    assert!(!by_hand("text != NULL ? data(text) : NULL"));
    assert!(!by_hand("text == NULL ? NULL : data(text)"));
    assert!(by_hand("key != NULL ? data(text) : NULL"));
    assert!(by_hand("text != NULL ? NULL : data(key)"));
}

#[test]
fn what_asks_which_exception_there_is() {
    insta::assert_snapshot!(of("PyObject *", "
    if (use(item) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_KeyError))
            return NULL;
        PyErr_Clear();
    }
    return made_for(key);"
    ), @"
        @@
         static PyObject * f(PyObject *list, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return NULL;
        +    }
             if (use(item) < 0) {
        +        Py_DECREF(item);
                 if (!PyErr_ExceptionMatches(PyExc_KeyError))
                     return NULL;
                 PyErr_Clear();
        +    } else {
        +        Py_DECREF(item);
             }
             return made_for(key);
        ");
    assert!(is_by_hand(
        "PyObject *",
        "
    if (use(item) < 0) {
        if (PyErr_ExceptionMatches(PyExc_KeyError)) {
            PyErr_Clear();
            return NULL;
        }
    }
    return made_for(key);"
    ));
}

/// An object with an exception set is a `SystemError` wherever Python gets it.
#[test]
fn no_exit_returns_an_object() {
    for error in [
        "Py_RETURN_NONE;",
        "return Py_NewRef(Py_None);",
        "return key;",
    ] {
        let rest = format!(
            "
    Py_INCREF(item);
    if (i == 3)
        return NULL;
    if (PySequence_DelSlice(list, 0, i) == -1)
        {error}
    return item;"
        );
        assert!(is_by_hand("PyObject *", &rest), "{error}");
    }
}
