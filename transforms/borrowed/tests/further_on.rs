//! Exits that are made for items that are not there any more.

use super::object;

#[test]
fn what_is_named_is_counted_and_what_is_made_is_not() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *state, *slots = PyDict_New();
    if (slots == NULL)
        return NULL;
    if (dict)
        state = copy_of(dict);
    else {
        state = Py_None;
        Py_INCREF(state);
    }
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *name = PyList_GET_ITEM(list, i);
        if (PyDict_SetItem(slots, name, key) < 0)
            goto end;
    }
    state = Py_BuildValue("(NO)", state, slots);
end:
    Py_DECREF(slots);
    return state;
"#
    ), @r#"
        @@
             }
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *name = PyList_GET_ITEM(list, i);
        -        if (PyDict_SetItem(slots, name, key) < 0)
        +        PyObject *name = PyList_GetItemRef(list, i);
        +        if (name == NULL) {
        +            Py_XDECREF(state);
        +            Py_DECREF(slots);
        +            return NULL;
        +        }
        +        if (PyDict_SetItem(slots, name, key) < 0) {
        +            Py_DECREF(name);
                     goto end;
        +        }
        +        Py_DECREF(name);
             }
             state = Py_BuildValue("(NO)", state, slots);
        "#);
}

#[test]
fn what_may_not_be_owned_is_not_released() {
    let released = |made: &str, behind: &str| {
        let changed = object(&format!(
            "    PyObject *state = NULL;
    if (PyList_Check(self))
        return PyErr_Format(PyExc_TypeError, \"a list\");
    {made}
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        PyObject *name = PyList_GET_ITEM(list, i);
        if (look(name))
            break;
    }}
    {behind}
    return state;"
        ));
        changed.contains("DECREF(state)")
    };
    let named = "if (key) state = found(key); else { state = Py_None; Py_INCREF(state); }";
    assert!(released(named, ""));
    // It is counted behind the loop, where it is named or found alike.
    assert!(!released(
        "state = key ? found(key) : Py_None;",
        "Py_INCREF(state);"
    ));
    assert!(!released(
        "if (key) state = found(key); else state = Py_None;",
        "Py_INCREF(state);"
    ));
    assert!(!released(named, "Py_INCREF(state);"));
    assert!(!released(
        "find(key, &state); if (!state) { state = Py_None; Py_INCREF(state); }",
        ""
    ));
}
