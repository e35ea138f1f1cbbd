//! Lookups in containers that the function has made and given up.

use super::object;

/// What the fix of a lookup in a list from this code takes for granted.
fn assumed(code: &str) -> String {
    let result = object(&format!(
        "    PyObject *item, *names, *t;
    {code}
    item = PyList_GetItem(names, 0);
    if (item == NULL)
        return NULL;
    return PyObject_Str(item);"
    ));
    assert!(
        result.contains("+    item = PyList_GetItemRef(names, 0);\n"),
        "{result}"
    );
    let lines = result.lines().take_while(|line| !line.starts_with("@@"));
    lines.collect::<Vec<_>>().join("; ")
}

#[test]
fn nobody_may_hold_the_container() {
    let gone = "something else keeps `names` alive until `PyList_GetItemRef` is called (the function has already given up its reference)";
    let made = "names = PyObject_GetAttrString(self, \"names\"); if (!names) return NULL;";
    let lent = "t = PyObject_GetAttrString(self, \"args\"); if (!t) return NULL;
    names = PyTuple_GET_ITEM(t, 0);";
    let own = &format!("{made} t = PyDict_New(); if (t == NULL) return NULL;");
    for (code, is_gone) in [
        (made.to_owned(), false),
        (format!("{made} Py_DECREF(names);"), true),
        (format!("{made} t = names; Py_DECREF(t);"), true),
        (format!("{made} Py_INCREF(names); Py_DECREF(names);"), false),
        (
            format!("{made} if (i) {{ Py_DECREF(names); return NULL; }}"),
            false,
        ),
        (lent.to_owned(), false),
        (format!("{lent} Py_DECREF(t);"), true),
        ("names = list;".to_owned(), false),
        (
            format!("{own} PyDict_SetItemString(t, \"x\", names); Py_DECREF(names);"),
            false,
        ),
        (
            format!("{own} PyDict_SetItemString(t, \"x\", names); Py_DECREF(names); share(t);"),
            true,
        ),
        // Others have that dict as well, or come to have it.
        (
            format!(
                "{made} t = PyObject_GetAttrString(self, \"cache\"); if (!t) return NULL;
                PyDict_SetItemString(t, \"x\", names); Py_DECREF(names);"
            ),
            true,
        ),
        (
            format!(
                "{own} Py_XSETREF(cache, Py_NewRef(t));
                PyDict_SetItemString(t, \"x\", names); Py_DECREF(names);"
            ),
            true,
        ),
        (
            format!("{made} PyDict_SetItemString(dict, \"x\", names); Py_DECREF(names);"),
            true,
        ),
        (
            format!("{made} t = PyTuple_New(1); PyTuple_SET_ITEM(t, 0, names);"),
            false,
        ),
        (
            format!("{made} t = PyTuple_New(1); PyTuple_SET_ITEM(t, 0, names); Py_DECREF(t);"),
            true,
        ),
    ] {
        let said = assumed(&code);
        assert_eq!(said.contains(gone), is_gone, "{code}\n{said}");
        assert_eq!(said.contains("review"), is_gone, "{code}\n{said}");
    }
}

#[test]
fn a_module_is_kept_by_others() {
    let result = object(
        "    PyObject *names, *item, *module = PyImport_ImportModule(\"m\");
    if (module == NULL)
        return NULL;
    names = PyModule_GetDict(module);
    Py_DECREF(module);
    item = PyDict_GetItemString(names, \"x\");
    return item ? PyObject_Str(item) : NULL;",
    );
    assert!(!result.contains("assumes"), "{result}");
}
