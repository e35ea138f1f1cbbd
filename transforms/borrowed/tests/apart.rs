//! References that a variable of its own holds, apart from the one that the code uses.

use super::{int, object};

#[test]
fn a_pointer_into_the_object_outlives_the_block() {
    insta::assert_snapshot!(int(r#"
    const char *text = "none";
    if (i > 0) {
        PyObject *v = PyDict_GetItemWithError(dict, key);
        if (v == NULL)
            return -1;
        text = PyUnicode_AsUTF8(v);
    }
    if (check(key) < 0)
        return -1;
    return puts(text);
"#), @r#"
        @@
         {
             const char *text = "none";
        +    PyObject *v_ref = NULL;
        +    int result;
             if (i > 0) {
        -        PyObject *v = PyDict_GetItemWithError(dict, key);
        +        PyObject *v;
        +        (void)PyDict_GetItemRef(dict, key, &v_ref);
        +        v = v_ref;
                 if (v == NULL)
                     return -1;
                 text = PyUnicode_AsUTF8(v);
             }
        -    if (check(key) < 0)
        +    if (check(key) < 0) {
        +        Py_XDECREF(v_ref);
                 return -1;
        -    return puts(text);
        +    }
        +    result = puts(text);
        +    Py_XDECREF(v_ref);
        +    return result;
         }
        "#);
}

#[test]
fn found_in_a_loop_and_used_behind_it() {
    insta::assert_snapshot!(object(r#"
    PyObject *found = NULL;
    for (i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (item == NULL)
            return NULL;
        if (item == Py_None)
            continue;
        if (check(item)) {
            found = item;
            break;
        }
        if (other(self) < 0)
            return NULL;
    }
    if (found == NULL)
        Py_RETURN_NONE;
    if (PyMethod_Check(found))
        found = PyMethod_New(found, self);
    else
        Py_INCREF(found);
    return found;
"#), @"
        @@
         {
             PyObject *found = NULL;
        +    PyObject *item_ref = NULL;
             for (i = 0; i < PyList_Size(list); i++) {
        -        PyObject *item = PyList_GetItem(list, i);
        +        PyObject *item;
        +        item_ref = PyList_GetItemRef(list, i);
        +        item = item_ref;
                 if (item == NULL)
                     return NULL;
        -        if (item == Py_None)
        +        if (item == Py_None) {
        +            Py_CLEAR(item_ref);
                     continue;
        +        }
                 if (check(item)) {
                     found = item;
                     break;
                 }
        +        Py_CLEAR(item_ref);
                 if (other(self) < 0)
                     return NULL;
        @@
             else
                 Py_INCREF(found);
        +    Py_XDECREF(item_ref);
             return found;
         }
        ");
}

#[test]
fn a_label_that_some_reach_before_the_lookup() {
    insta::assert_snapshot!(int(r#"
    const char *text = "none";
    int n = -1;
    if (check(key) < 0)
        goto done;
    if (i > 0) {
        PyObject *v = PyDict_GetItemWithError(dict, key);
        if (v == NULL)
            goto done;
        text = PyUnicode_AsUTF8(v);
        if (text == NULL)
            goto done;
    }
    n = puts(text);
done:
    other(self);
    return n;
"#), @r#"
        @@
             const char *text = "none";
             int n = -1;
        +    PyObject *v_ref = NULL;
             if (check(key) < 0)
                 goto done;
             if (i > 0) {
        -        PyObject *v = PyDict_GetItemWithError(dict, key);
        +        PyObject *v;
        +        (void)PyDict_GetItemRef(dict, key, &v_ref);
        +        v = v_ref;
                 if (v == NULL)
                     goto done;
        @@
             n = puts(text);
         done:
        +    Py_XDECREF(v_ref);
             other(self);
             return n;
        "#);
}

#[test]
fn a_parameter_on_some_paths() {
    insta::assert_snapshot!(int(r#"
    if (key == NULL)
        key = PyDict_GetItemWithError(dict, self);
    if (key == NULL) {
        return -1;
    }
    return check(key);
"#), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (key == NULL)
        -        key = PyDict_GetItemWithError(dict, self);
        +    PyObject *key_ref = NULL;
        +    int result;
        +    if (key == NULL) {
        +        (void)PyDict_GetItemRef(dict, self, &key_ref);
        +        key = key_ref;
        +    }
             if (key == NULL) {
                 return -1;
             }
        -    return check(key);
        +    result = check(key);
        +    Py_XDECREF(key_ref);
        +    return result;
         }
        ");
}

#[test]
fn what_is_made_stays_as_it_is() {
    insta::assert_snapshot!(int(r#"
    PyObject *value = PyDict_GetItem(dict, key);
    int made = value == NULL;
    if (made)
        value = make_value();
    i = check(value);
    if (made)
        Py_DECREF(value);
    return i;
"#), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItem(dict, key);
        -    int made = value == NULL;
        +    PyObject *value;
        +    int made;
        +    PyObject *value_ref = NULL;
        +    if (PyDict_GetItemRef(dict, key, &value_ref) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    value = value_ref;
        +    made = value == NULL;
             if (made)
                 value = make_value();
        @@
             if (made)
                 Py_DECREF(value);
        +    Py_XDECREF(value_ref);
             return i;
         }
        ");
}

#[test]
fn lookups_in_declarations_and_conditions() {
    insta::assert_snapshot!(object(r#"
    Foo *foo = (Foo *)PyDict_GetItemWithError(dict, key);
    int n = 0;
    PyObject *v;
    if (foo == NULL)
        foo = make_foo(self);
    if ((v = PyDict_GetItemString(dict, "v")) == NULL)
        v = self;
    n = check(foo, v);
    return PyLong_FromLong(n);
"#), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    Foo *foo = (Foo *)PyDict_GetItemWithError(dict, key);
        +    Foo *foo;
             int n = 0;
             PyObject *v;
        +    PyObject *foo_ref = NULL;
        +    PyObject *exc;
        +    (void)PyDict_GetItemRef(dict, key, &foo_ref);
        +    foo = (Foo *)foo_ref;
             if (foo == NULL)
                 foo = make_foo(self);
        -    if ((v = PyDict_GetItemString(dict, "v")) == NULL)
        -        v = self;
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemStringRef(dict, "v", &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    if (v == NULL)
        +        v = Py_XNewRef(self);
             n = check(foo, v);
        +    Py_XDECREF(foo_ref);
        +    Py_XDECREF(v);
             return PyLong_FromLong(n);
         }
        "#);
}

#[test]
fn what_the_code_gives_away_without_a_reference_stays_by_hand() {
    let outcome = |body: &str| {
        let text = format!("    PyObject *v = PyDict_GetItemWithError(dict, key);\n    {body}\n");
        let outcome = object(&text);
        outcome.lines().next().unwrap_or_default().trim().to_owned()
    };
    const UNCLEAR: &str = "3: take the reference in `v` on all paths (only some paths own it)";
    const STORED: &str = "3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)";
    const TWICE: &str = "5: take the reference in `v` on all paths (only some paths own it)";
    const INSIDE: &str = "3: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)";
    for (body, reason) in [
        // Which of them is the caller's?
        (
            "if (v == NULL) v = PyList_New(0); else if (i) Py_INCREF(v); return v;",
            UNCLEAR,
        ),
        (
            "if (v == NULL) v = PyList_New(0); check(v); PyTuple_SET_ITEM(self, 0, v); return v;",
            UNCLEAR,
        ),
        (
            "if (v == NULL) v = key; ((Foo *)self)->v = v; return NULL;",
            STORED,
        ),
        (
            "if (i) v = key; ((Foo *)self)->text = PyUnicode_AsUTF8(v); return NULL;",
            INSIDE,
        ),
        // The object of the pass before.
        (
            "PyObject *last = NULL;\n    while (i--) { v = PyDict_GetItemWithError(dict, self); if (v == NULL) break; other(last, v); last = v; }\n    return NULL;",
            TWICE,
        ),
    ] {
        assert_eq!(outcome(body), reason, "{body}");
    }
}

#[test]
fn counts_for_somebody_else_stay() {
    insta::assert_snapshot!(int(r"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return -1;
    if (is_ghost(self, v)) {
        /* for the dict, which has none */
        Py_INCREF(v);
    }
    forget(self, v);
    return PyDict_DelItem(dict, key);
"), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        +    PyObject *v;
        +    PyObject *v_ref = NULL;
        +    (void)PyDict_GetItemRef(dict, key, &v_ref);
        +    v = v_ref;
             if (v == NULL)
                 return -1;
        @@
             }
             forget(self, v);
        +    Py_DECREF(v_ref);
             return PyDict_DelItem(dict, key);
         }
        ");
}

#[test]
fn found_behind_a_guard_in_a_loop() {
    insta::assert_snapshot!(object(r#"
    PyObject *found = NULL;
    for (i = 0; i < PyTuple_GET_SIZE(list); i++) {
        PyObject *names, *value;
        names = ((PyTypeObject *)PyTuple_GET_ITEM(list, i))->tp_dict;
        if (names != NULL && (value = PyDict_GetItem(names, key)) != NULL && !PyLong_Check(value)) {
            found = value;
            break;
        }
    }
    if (found != NULL) {
        if (Py_TYPE(found)->tp_descr_get)
            found = Py_TYPE(found)->tp_descr_get(found, self, dict);
        else
            Py_INCREF(found);
    }
    else {
        PyErr_SetObject(PyExc_KeyError, key);
        leave();
        PyGILState_Release(state);
    }
    return found;
"#), @"
        @@
         {
             PyObject *found = NULL;
        +    PyObject *value_ref = NULL;
             for (i = 0; i < PyTuple_GET_SIZE(list); i++) {
                 PyObject *names, *value;
                 names = ((PyTypeObject *)PyTuple_GET_ITEM(list, i))->tp_dict;
        -        if (names != NULL && (value = PyDict_GetItem(names, key)) != NULL && !PyLong_Check(value)) {
        +        if (names != NULL && PyDict_GetItemRef(names, key, &value_ref) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        if ((value = value_ref) != NULL && !PyLong_Check(value)) {
                     found = value;
                     break;
                 }
        +        Py_CLEAR(value_ref);
             }
             if (found != NULL) {
        @@
                 else
                     Py_INCREF(found);
        +        Py_XDECREF(value_ref);
             }
             else {
        ");
}
