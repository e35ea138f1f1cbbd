//! Exits further on that are no exits for an item which is not there: what the function does on the
//! way to them matters behind them.

use super::{int, object};

/// Whether the exit of an item that is not there goes to the label `to`.
fn goes_to(changed: &str, to: &str) -> bool {
    let lines: Vec<&str> = changed.lines().map(str::trim).collect();
    let exit = format!("goto {to};");
    lines.windows(2).any(|pair| {
        pair[0].starts_with('+')
            && pair[0].ends_with("== NULL) {")
            && pair[1].starts_with('+')
            && pair[1].ends_with(&exit)
    })
}

#[test]
fn a_number_that_is_read_behind_the_label() {
    let ends = |between: &str, end: &str| {
        let changed = object(&format!(
            "    PyObject *item, *out = PyList_New(0);
    int err = 0;
    if (out == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    {between}
        goto end;
    if ((err = PyList_Append(out, key)) < 0)
        goto end;
    use(out);
end:
    {end}"
        ));
        goes_to(&changed, "end")
    };
    let failing = "Py_DECREF(out);\n    return NULL;";
    assert!(ends("if (PyList_Append(out, item) < 0)", failing));
    // Here it says nothing of a failure yet.
    let asked = "if (err < 0) Py_CLEAR(out);\n    return err < 0 ? NULL : out;";
    assert!(!ends("if ((err = PyList_Append(out, item)) < 0)", asked));
    assert!(!ends(
        "err = PyList_Append(out, item);\n    if (err < 0)",
        asked
    ));
    let none = "Py_DECREF(out);\n    if (err < 0)\n        return NULL;\n    Py_RETURN_NONE;";
    assert!(!ends(
        "err = PyList_Append(out, item);\n    if (err < 0)",
        none
    ));
}

#[test]
fn an_error_that_is_noted_already_or_is_noted_elsewhere() {
    let ends = |noted: &str, between: &str, end: &str| {
        let changed = int(&format!(
            "    int err = {noted}, what = 6;
    PyObject *item = PyList_GET_ITEM(list, i);
    {between}
    if (err < 0)
        goto end;
    err = PyList_Append(dict, self);
end:
    {end}"
        ));
        goes_to(&changed, "end")
    };
    let asks = "err = PyObject_IsTrue(item);";
    assert!(ends("-1", asks, "return err;"));
    assert!(!ends(
        "0",
        asks,
        "if (err >= 0) what = 0;\n    return what;"
    ));
    let field = "((Obj *)self)->rc = err = PyObject_IsTrue(item);";
    assert!(!ends("-1", field, "return ((Obj *)self)->rc;"));
}

#[test]
fn a_number_that_counts_elements() {
    let ends = |counts: &str| {
        let changed = object(&format!(
            "    Py_ssize_t n = PyList_GET_SIZE(list);
    PyObject *first, **items = PyMem_Malloc(n * sizeof(PyObject *));
    if (items == NULL)
        return PyErr_NoMemory();
    first = PyList_GET_ITEM(list, 0);
    {counts}
    if (PyObject_Size(first) < 0)
        goto fail;
    items[n++] = PyObject_Str(first);
    return gather(items, n);
fail:
    drop_items(items, n);
    PyMem_Free(items);
    return NULL;"
        ));
        goes_to(&changed, "fail")
    };
    assert!(ends(""));
    assert!(!ends("n = 0;"));
}

#[test]
fn a_call_whose_work_the_label_undoes() {
    let ends = |begun: &str, ended: &str| {
        let changed = int(&format!(
            "    int rc = 7;
    PyObject *item = PyList_GET_ITEM(list, i);
    {begun}
    if (PyObject_IsTrue(item) < 0)
        goto end;
    rc = 0;
end:
    {ended}
    return rc;"
        ));
        goes_to(&changed, "end")
    };
    assert!(ends("", "let_go(self);"));
    assert!(ends("log_start(dict);", "let_go(self);"));
    assert!(!ends("grab(self);", "let_go(self);"));
    assert!(!ends(
        "grab(&((Obj *)self)->lock);",
        "let_go(&((Obj *)self)->lock);"
    ));
    assert!(!ends("PySet_Add(dict, key);", "PySet_Discard(dict, key);"));
    assert!(!ends("PyGC_Disable();", "PyGC_Enable();"));
}

#[test]
fn what_an_if_around_begins() {
    let ends = |begun: &str| {
        let changed = int(&format!(
            "    int rc = 7, slot = 0;
    Py_ssize_t size = 0;
    if (i) {{
        size = PyObject_Size(PyList_GET_ITEM(list, i));
        {begun}
    }}
    if (PyErr_Occurred())
        goto end;
    keep(size);
    rc = 0;
end:
    if (i)
        let_go(self, slot);
    return rc;"
        ));
        goes_to(&changed, "end")
    };
    assert!(ends(""));
    assert!(!ends("grab(self);"));
    assert!(!ends("slot = take_slot(dict);"));
}

#[test]
fn a_label_that_raises_is_not_for_another_exception() {
    let changed = object(
        r"
    char *buffer;
    PyObject *item, *out = PyList_New(0);
    if (out == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, 0);
    buffer = malloc(PyBytes_GET_SIZE(item));
    if (buffer == NULL)
        goto no_mem;
    free(buffer);
    if (PyList_Append(out, item) < 0)
        goto fail;
    return out;
no_mem:
    PyErr_NoMemory();
fail:
    Py_DECREF(out);
    return NULL;
",
    );
    assert!(goes_to(&changed, "fail"), "{changed}");
    assert!(!goes_to(&changed, "no_mem"), "{changed}");
}
