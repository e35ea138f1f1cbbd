//! References that go to calls with a format.

use super::{all, object};

/// An item with a reference of its own that `call` gets.
fn given(call: &str) -> String {
    object(&format!(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    Py_INCREF(item);
    return {call};
"#
    ))
}

#[test]
fn literal_formats_consume_what_they_say() {
    for call in [
        "Py_BuildValue(\"N\", item)",
        "Py_BuildValue(\"(s#O&{s:N})\", name, size, convert, key, name, item)",
        "_Py_BuildValue_SizeT(\"[N]\", item)",
        "PyObject_CallFunction(key, \"(N)\", item)",
        "_PyObject_CallFunction_SizeT(key, \"N\", item)",
        "PyObject_CallMethod(key, \"run\", \"N\", item)",
        "_PyObject_CallMethod_SizeT(key, \"run\", \"iN\", 1, item)",
        "PyEval_CallMethod(key, \"run\", \"(N)\", item)",
    ] {
        let found = given(call);
        assert!(found.contains("-    Py_INCREF(item);"), "{call}: {found}");
        assert!(!found.contains("DECREF"), "{call}: {found}");
        assert!(!found.contains("review"), "{call}: {found}");
    }
}

#[test]
fn other_formats_decide_nothing() {
    for call in [
        "Py_BuildValue(i ? \"N\" : \"O\", item)",
        "Py_BuildValue(format, item)",
        "Py_BuildValue(formats[i], item)",
        "Py_BuildValue(\"(N\", item)",
        "Py_BuildValue(\"O&\", adopt, item)",
        "PyObject_CallMethod(key, \"run\", format, item)",
        "builders->build(\"N\", item)",
    ] {
        let found = given(call);
        assert!(!found.contains("@@"), "{call}: {found}");
        assert!(found.contains("may take over"), "{call}: {found}");
    }
    insta::assert_snapshot!(given("Py_BuildValue(i ? \"N\" : \"O\", item)"), @"3: take and release the reference by hand, or pass a format that is one literal (`Py_BuildValue` may take over the reference: neither its format nor its code rules that out)");
}

#[test]
fn what_the_code_has_no_reference_to_may_be_kept_at_most() {
    insta::assert_snapshot!(object(r"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    return Py_BuildValue(format, item);
"), @"
    3: review: in `f`, no function keeps the object from `PyList_GetItemRef` that it gets
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    PyObject *result;
         if (item == NULL)
             return NULL;
    -    return Py_BuildValue(format, item);
    +    result = Py_BuildValue(format, item);
    +    Py_DECREF(item);
    +    return result;
     }
    ");
}

#[test]
fn helpers_hand_on_what_they_get_behind_the_dots() {
    let text = |format: &str, call: &str| {
        format!(
            r#"
static PyObject *
pack(const char *format, ...)
{{
    va_list rest;
    PyObject *made;
    va_start(rest, format);
    made = {call}(format, rest);
    va_end(rest);
    return made;
}}

static PyObject *
first(PyObject *self, PyObject *list)
{{
    PyObject *made, *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return NULL;
    Py_INCREF(item);
    made = pack("{format}", item);
    Py_DECREF(item);
    return made;
}}
"#
        )
    };
    insta::assert_snapshot!(all(&text("(N)", "Py_VaBuildValue")), @"15: take and release the reference by hand, or pass a format that is one literal (`pack` may take over the reference: neither its format nor its code rules that out)");
    insta::assert_snapshot!(all(&text("%R", "PyUnicode_FromFormatV")), @r#"
    @@
     first(PyObject *self, PyObject *list)
     {
    -    PyObject *made, *item = PyList_GetItem(list, 0);
    +    PyObject *made, *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return NULL;
    -    Py_INCREF(item);
         made = pack("%R", item);
         Py_DECREF(item);
    "#);
}
