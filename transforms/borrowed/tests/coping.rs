//! Helpers that get an item which may not be there, and deal with that.

use super::all;

/// What becomes of a lookup whose item the helper `cope` gets.
fn coping(body: &str) -> String {
    all(&format!(
        "
static long cope(PyObject *o, long other)
{{
    {body}
    return PyLong_AsLong(o);
}}
PyObject *get(PyObject *self, PyObject *list)
{{
    Py_ssize_t i;
    long n = 0;
    for (i = 0; i < PyList_Size(list); i++)
        n += cope(PyList_GetItem(list, i), 42);
    return PyLong_FromLong(n);
}}
"
    ))
}

#[test]
fn a_helper_that_clears_the_exception_gets_the_null() {
    for body in [
        "if (o == NULL) { PyErr_Clear(); return other; }",
        "if (!o && PyErr_ExceptionMatches(PyExc_IndexError)) { PyErr_Clear(); return other; }",
        "if (o) other = 1; else { PyErr_Clear(); return other; }",
        "PyObject *mine = o; if (NULL == o) { PyErr_Clear(); return other; }",
    ] {
        let said = coping(body);
        assert!(said.contains("PyList_GetItemRef(list, i)"), "{said}");
        assert!(said.contains("+        Py_XDECREF("), "{said}");
        assert!(!said.contains("+            return NULL;"), "{said}");
    }
}

#[test]
fn what_it_is_handed_on_to_may_deal_with_it() {
    let through = |inner: &str| {
        all(&format!(
            "
static long inner(PyObject *o, long other)
{{
    {inner}
    return PyLong_AsLong(o);
}}
static long outer(PyObject *o) {{ return inner(o, 5) + 1; }}
PyObject *get(PyObject *self, PyObject *list)
{{
    return PyLong_FromLong(outer(PyList_GetItem(list, 0)));
}}
"
        ))
    };
    let said = through("if (o == NULL) { PyErr_Clear(); return other; }");
    assert!(said.contains("PyList_GetItemRef(list, 0)"), "{said}");
    assert!(!said.contains("return NULL;"), "{said}");
    assert!(through("").contains("return NULL;"));
}

#[test]
fn what_is_called_by_a_pointer_may_deal_with_it() {
    let said = all("
PyObject *get(PyObject *self, PyObject *list, long (*convert)(PyObject *))
{
    return PyLong_FromLong(convert(PyList_GetItem(list, 0)));
}
");
    assert!(
        said.contains("review: no other thread makes the list shorter"),
        "{said}"
    );
    assert!(!said.contains("return NULL;"), "{said}");
}

#[test]
fn one_that_does_not_is_not_called() {
    for body in [
        "",
        "if (o == NULL) return other;",
        "if (other == 0) { PyErr_Clear(); return other; }",
    ] {
        let said = coping(body);
        assert!(said.contains("return NULL;"), "{said}");
        assert!(!said.contains("+        Py_XDECREF("), "{said}");
    }
}

#[test]
fn a_value_that_is_built_of_nothing_fails_itself() {
    let built = |then: &str| {
        all(&format!(
            "
PyObject *get(PyObject *self, PyObject *list)
{{
    PyObject *pair = Py_BuildValue(\"(Oi)\", PyList_GetItem(list, 0), 1);
    {then}
    return pair;
}}
"
        ))
    };
    let gone = "return NULL;";
    let clears = built("if (pair == NULL) { PyErr_Clear(); pair = PyTuple_New(0); }");
    assert!(clears.contains("PyList_GetItemRef(list, 0)"), "{clears}");
    assert!(!clears.contains(gone), "{clears}");
    assert!(!built("").contains(gone));
}

/// What becomes of a function of the C API that gets the item, with what comes after it.
fn of_python(text: &str) -> String {
    all(&format!(
        "
PyObject *get(PyObject *self, PyObject *list)
{{
    PyObject *v = NULL;
    Py_ssize_t n = 0;
    if (self == NULL) {{ PyErr_SetNone(PyExc_KeyError); return NULL; }}
    {text}
}}
"
    ))
}

#[test]
fn a_function_that_raises_for_null_tells_of_it_as_before() {
    for text in [
        "if (!PyCallable_Check(PyList_GetItem(list, 0))) { PyErr_Clear(); n = 4; }",
        "if (PyNumber_Check(PyList_GetItem(list, 0)) == 0) PyErr_Clear();",
        "n = PyObject_Length(PyList_GetItem(list, 1)); if (n < 0) { PyErr_Clear(); n = 0; }",
        "if ((n = PySequence_Size(PyList_GetItem(list, 1))) == -1) PyErr_Clear();",
        "v = PyNumber_Float(PyList_GetItem(list, 0)); if (v == NULL) { PyErr_Clear(); }",
        "v = PyObject_Str(PyList_GetItem(list, 0)); if (PyErr_Occurred()) { PyErr_Clear(); }",
        "if (PyList_Append(self, PyList_GetItem(list, 0)) < 0) { PyErr_Clear(); n = 3; }",
        "if (PyObject_RichCompareBool(list, PyList_GetItem(list, 0), Py_EQ) < 0) PyErr_Clear();",
    ] {
        let said = of_python(&format!("{text} return PyLong_FromSsize_t(n);"));
        assert!(said.contains("PyList_GetItemRef(list, "), "{said}");
        assert!(!said.contains("+        return NULL;"), "{said}");
    }
}

#[test]
fn what_it_gives_for_null_may_not_be_read() {
    for text in [
        "v = PyObject_Type(PyList_GetItem(list, 0)); use(v); return v;",
        "v = PyObject_Type(PyList_GetItem(list, 0)); n = ((PyTypeObject *)v)->tp_basicsize; return v;",
        "v = PyNumber_Float(PyList_GetItem(list, 0)); n = (int)PyFloat_AS_DOUBLE(v); return v;",
        "v = PyObject_Str(PyList_GetItem(list, 0)); return v;",
    ] {
        let said = of_python(text);
        assert!(said.contains("+        return NULL;"), "{said}");
    }
    let said = of_python("v = PyObject_Type(PyList_GetItem(list, 0)); return v;");
    assert!(!said.contains("+        return NULL;"), "{said}");
}
