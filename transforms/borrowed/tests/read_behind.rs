//! Exits for items that are not there any more: all that the code behind a label reads and ends is
//! at the lookup what it is at a jump to that label.

use super::{all, int, object};

/// Whether a label is gone to where the item is not there any more.
fn goes_to(changed: &str, label: &str) -> bool {
    changed.contains(&format!("+        goto {label};"))
}

/// The same for these statements in front of the lookup, between it and the jump, and behind the
/// label `end`.
fn ends(before: &str, between: &str, failing: &str, end: &str) -> bool {
    let changed = int(&format!(
        "    Obj *this = (Obj *)self;
    PyObject *item;
    {before}
    item = PyList_GET_ITEM(list, i);
    {between}
    {failing}
    rc = 0;
end:
    {end}
    return rc;"
    ));
    goes_to(&changed, "end")
}

const CHECK: &str = "if (PyObject_IsTrue(item) < 0) goto end;";

#[test]
fn a_status_that_was_set_since_the_only_jump() {
    let ends = |set: &str, end: &str| {
        let changed = object(&format!(
            "    Obj *this = (Obj *)self;
    int failed = 1;
    this->err = -1;
    if (PyObject_Size(key) < 0)
        goto end;
    {set}
    for (i = 0; i < 3; i++) {{
        PyObject *item = PyList_GET_ITEM(list, i);
        note(item);
    }}
end:
    if ({end})
        return NULL;
    Py_RETURN_NONE;"
        ));
        changed.contains("+            goto end;")
    };
    assert!(ends("", "this->err < 0"));
    assert!(ends("failed = 0;", "this->err < 0"));
    assert!(!ends("this->err = 0;", "this->err < 0"));
    assert!(!ends("reset(this);", "this->err < 0"));
    assert!(!ends("failed = PyObject_Size(dict) < 0;", "failed > 0"));
}

#[test]
fn a_status_that_the_jump_asks_for() {
    let ends = |asked: &str| {
        let changed = object(&format!(
            "    int err = status_of(key), other = status_of(self);
    if ({asked}) {{
        PyErr_BadInternalCall();
        goto end;
    }}
    note(PyList_GET_ITEM(list, 0));
end:
    return err ? NULL : Py_NewRef(self);"
        ));
        goes_to(&changed, "end")
    };
    assert!(ends("other"));
    assert!(!ends("err"));
}

#[test]
fn what_a_condition_begins_and_the_label_asks_for_again() {
    let check = "if (!PyUnicode_Check(item)) { PyErr_BadArgument(); goto end; }";
    let start = "int rc = -1;";
    let unlock = "if (this->shared) PyMutex_Unlock(&this->mutex);";
    let lock = "if (this->shared) PyMutex_Lock(&this->mutex);";
    assert!(ends(start, "", check, unlock));
    assert!(!ends(start, lock, check, unlock));
    assert!(!ends(start, "LOCK_IF(this);", check, "UNLOCK_IF(this);"));
    assert!(!ends(
        start,
        "if (i == 0) grab(this);",
        check,
        "let_go(this);"
    ));
    let enter = "if (this->busy && Py_EnterRecursiveCall(\" here\")) return -1;";
    let leave = "if (this->busy) Py_LeaveRecursiveCall();";
    assert!(!ends(start, enter, check, leave));
}

#[test]
fn a_number_that_only_some_ways_set() {
    let ends = |between: &str, end: &str| {
        let changed = int(&format!(
            "    int n = 0, rc = -1;
    PyObject *item = PyList_GET_ITEM(list, i);
    {between}
    if (!PyUnicode_Check(item)) {{
        PyErr_BadArgument();
        goto end;
    }}
    rc = 0;
end:
    {end}
    return rc;"
        ));
        goes_to(&changed, "end")
    };
    let set = "if (dict) n = 3;";
    assert!(ends(set, "give_slots(self, n);"));
    assert!(!ends(set, "if (dict) give_slots(self, n);"));
    assert!(!ends(set, "give_slots(dict, n);"));
}

#[test]
fn what_is_begun_and_ended_under_other_names() {
    let ends = |begun: &str, ended: &str| {
        let start =
            "int rc = -1; PyThread_type_lock lock = this->lock; Pool *pool = pool_of(this);";
        ends(start, begun, CHECK, ended)
    };
    assert!(ends("hold(dict);", "put_back(this);"));
    assert!(!ends("hold((Obj *)self);", "put_back(this);"));
    assert!(!ends(
        "PyThread_acquire_lock(this->lock, 1);",
        "PyThread_release_lock(lock);"
    ));
    assert!(!ends("hold(this->pool);", "put_back(pool);"));
    assert!(!ends("mark_busy();", "mark_idle(self);"));
    assert!(!ends("add_handler(\"end\");", "drop_handler();"));
    assert!(!ends("PyPool_LOCK(this);", "PyPool_DONE(this);"));
    assert!(ends("n = PyArray_SIZE(this);", "PyPool_DONE(this);"));
    // That is no pair.
    assert!(ends("trace();", "trace();"));
}

#[test]
fn what_the_name_of_the_end_says_began() {
    let ends = |before: &str, between: &str| {
        let changed = int(&format!(
            "    {before}
    for (i = 0; i < 3; i++) {{
        PyObject *item = PyList_GET_ITEM(list, i);
        {between}
        if (PyObject_IsTrue(item) < 0) {{
            UNPROTECT(1);
            return -1;
        }}
    }}
    UNPROTECT(1);
    return 0;"
        ));
        changed.contains("+            UNPROTECT(1);")
    };
    assert!(ends("PROTECT(key);", "numbers[i] = number(0);"));
    assert!(!ends("", "PROTECT(key);"));
}

#[test]
fn a_field_that_a_helper_sets() {
    let ends = |helper: &str, asked: &str| {
        let changed = all(&format!(
            "static int check(Obj *this, PyObject *item)\n{{\n    {helper}\n}}
static PyObject *f(Obj *this, PyObject *list, PyObject *key)
{{
    PyObject *item;
    this->err = 0;
    item = PyList_GET_ITEM(list, 0);
    if ({asked} < 0)
        goto end;
    if (PyObject_IsTrue(key) < 0)
        goto end;
    this->n++;
end:
    if (this->err)
        return NULL;
    Py_RETURN_NONE;
}}"
        ));
        changed.contains("item == NULL")
    };
    let sets = "if (PyObject_IsTrue(item) < 0) { this->err = 1; return -1; } return 0;";
    assert!(ends("return PyObject_IsTrue(item);", "check(this, item)"));
    assert!(!ends(sets, "check(this, item)"));
    assert!(!ends("return PyObject_IsTrue(item);", "unseen(this, item)"));
}

#[test]
fn a_pointer_that_is_not_set_yet() {
    let ends = |end: &str| {
        let changed = object(&format!(
            "    const char *what = NULL;
    PyObject *item, *out = make(self);
    if (out == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, 0);
    what = \"append\";
    if (PyList_Append(out, item) < 0)
        goto fail;
    return out;
fail:
    {end}
    Py_DECREF(out);
    return NULL;"
        ));
        goes_to(&changed, "fail")
    };
    assert!(ends(""));
    assert!(ends("if (what) note_where(what);"));
    assert!(ends("note_where(what ? what : \"?\");"));
    assert!(!ends("note_where(what);"));
    assert!(!ends("self = Py_TYPE(what)->name;"));
}

#[test]
fn a_number_that_is_no_error() {
    let ends = |end: &str| ends("int idx = -1, rc = -1;", "idx = this->n & 3;", CHECK, end);
    assert!(ends(""));
    assert!(ends("if (idx >= 0) give_slot(this, idx);"));
    assert!(!ends("give_slot(this, idx);"));
}
