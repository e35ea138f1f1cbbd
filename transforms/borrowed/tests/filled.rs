//! Exits where an array of the function holds references.

use super::object;

const TAKES_ALL: &str = r#"
    PyObject *items[8], *first;
    Py_ssize_t k, n = PyTuple_GET_SIZE(key);
    int hash;
    if (!PyList_CheckExact(list)) {
        PyErr_SetString(PyExc_TypeError, "no list");
        return NULL;
    }
    for (k = 0; k < n; k++) {
        items[k] = PyTuple_GET_ITEM(key, k);
        Py_INCREF(items[k]);
    }
"#;

/// `TAKES_ALL` and this behind it.
fn with_items(body: &str) -> String {
    object(&format!("{TAKES_ALL}{body}"))
}

#[test]
fn no_exit_leaks_what_an_array_holds() {
    insta::assert_snapshot!(with_items(
        r#"
    first = PyList_GET_ITEM(list, 0);
    hash = PyObject_IsTrue(first);
    for (k = 0; k < n; k++)
        Py_DECREF(items[k]);
    return PyLong_FromLong(hash);
"#
    ), @"
        15: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `items` (the checked call can fail where the macro could not)
        ");
}

#[test]
fn an_exit_leaves_where_the_array_is_empty_again() {
    insta::assert_snapshot!(with_items(
        r#"
    hash = PyObject_IsTrue(items[0]);
    for (k = 0; k < n; k++)
        Py_DECREF(items[k]);
    first = PyList_GET_ITEM(list, 0);
    if (PyObject_SetItem(dict, key, first) < 0)
        return NULL;
    return PyLong_FromLong(hash);
"#
    ), @"
        @@
             for (k = 0; k < n; k++)
                 Py_DECREF(items[k]);
        -    first = PyList_GET_ITEM(list, 0);
        -    if (PyObject_SetItem(dict, key, first) < 0)
        +    first = PyList_GetItemRef(list, 0);
        +    if (first == NULL) {
        +        return NULL;
        +    }
        +    if (PyObject_SetItem(dict, key, first) < 0) {
        +        Py_DECREF(first);
                 return NULL;
        +    }
        +    Py_DECREF(first);
             return PyLong_FromLong(hash);
         }
        ");
}

#[test]
fn no_exit_leaks_what_memory_holds() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **items, *result;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(key, "nO!", &n, &PyList_Type, &list))
        return NULL;
    items = PyMem_Malloc(n * sizeof(PyObject *));
    if (items == NULL)
        return PyErr_NoMemory();
    for (i = 0; i < n; i++) {
        PyObject *child = PyList_GET_ITEM(list, i);
        items[i] = child;
        Py_INCREF(child);
    }
    result = PyLong_FromLong(n);
    for (i = 0; i < n; i++)
        Py_DECREF(items[i]);
    PyMem_Free(items);
    return result;
"#
    ), @"
        11: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `items` (the checked call can fail where the macro could not)
        ");
}

#[test]
fn the_label_of_another_failure_releases_as_many() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *items[8], *result = NULL;
    Py_ssize_t n = PyLong_AsSsize_t(key);
    for (i = 0; i < n; i++) {
        PyObject *child = PyList_GET_ITEM(list, i);
        if (!PyLong_Check(child)) {
            PyErr_SetString(PyExc_TypeError, "no int");
            goto fail;
        }
        items[i] = child;
        Py_INCREF(child);
    }
    result = PyLong_FromLong(n);
fail:
    while (--i >= 0)
        Py_DECREF(items[i]);
    return result;
"#
    ), @r#"
        @@
             Py_ssize_t n = PyLong_AsSsize_t(key);
             for (i = 0; i < n; i++) {
        -        PyObject *child = PyList_GET_ITEM(list, i);
        +        PyObject *child = PyList_GetItemRef(list, i);
        +        if (child == NULL) {
        +            goto fail;
        +        }
                 if (!PyLong_Check(child)) {
        +            Py_DECREF(child);
                     PyErr_SetString(PyExc_TypeError, "no int");
                     goto fail;
                 }
                 items[i] = child;
        -        Py_INCREF(child);
             }
             result = PyLong_FromLong(n);
        "#);
}

/// At the second lookup `i` says nothing of the array.
#[test]
fn no_jump_leads_to_a_label_that_releases_another_number() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *items[8], *result = NULL, *first;
    Py_ssize_t n = PyLong_AsSsize_t(key);
    for (i = 0; i < n; i++) {
        items[i] = PyNumber_Long(key);
        if (items[i] == NULL)
            goto fail;
    }
    i = 0;
    first = PyList_GET_ITEM(list, i);
    result = PyLong_FromLong(PyObject_IsTrue(first));
    i = n;
fail:
    while (--i >= 0)
        Py_DECREF(items[i]);
    return result;
"#
    ), @"
        11: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `items` (the checked call can fail where the macro could not)
        ");
}

/// The array borrows what others keep alive.
#[test]
fn an_array_of_borrowed_references_is_left_behind() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *items[2], *first;
    items[0] = key;
    items[1] = dict;
    first = PyList_GET_ITEM(list, 0);
    if (PyObject_SetItem(items[1], items[0], first) < 0)
        return NULL;
    Py_RETURN_NONE;
"#
    ), @"
        @@
             items[0] = key;
             items[1] = dict;
        -    first = PyList_GET_ITEM(list, 0);
        -    if (PyObject_SetItem(items[1], items[0], first) < 0)
        +    first = PyList_GetItemRef(list, 0);
        +    if (first == NULL) {
        +        return NULL;
        +    }
        +    if (PyObject_SetItem(items[1], items[0], first) < 0) {
        +        Py_DECREF(first);
                 return NULL;
        +    }
        +    Py_DECREF(first);
             Py_RETURN_NONE;
         }
        ");
}

/// What the label finds empty, it leaves alone.
#[test]
fn a_label_releases_all_elements_that_are_filled() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **items = NULL, *result = NULL;
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (!(items = PyMem_New(PyObject *, n))) {
        PyErr_NoMemory();
        goto done;
    }
    memset(items, 0, n * sizeof(PyObject *));
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (!(items[i] = PyObject_Str(item))) {
            goto done;
        }
    }
    result = PyLong_FromSsize_t(n);
done:
    if (items) {
        for (i = 0; i < n; i++) {
            PyObject *item = items[i];
            Py_XDECREF(item);
        }
        PyMem_Free(items);
    }
    return result;
"#
    ), @"
        @@
             memset(items, 0, n * sizeof(PyObject *));
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            goto done;
        +        }
                 if (!(items[i] = PyObject_Str(item))) {
        +            Py_DECREF(item);
                     goto done;
                 }
        +        Py_DECREF(item);
             }
             result = PyLong_FromSsize_t(n);
        ");
}

#[test]
fn no_exit_releases_what_was_never_set_nor_does_the_loop_just_end() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **items = NULL, *result = NULL;
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (!(items = PyMem_New(PyObject *, n))) {
        PyErr_NoMemory();
        goto done;
    }
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (!(items[i] = PyObject_Str(item))) {
            goto done;
        }
    }
    result = PyLong_FromSsize_t(n);
done:
    if (items) {
        for (i = 0; i < n; i++) {
            Py_XDECREF(items[i]);
        }
        PyMem_Free(items);
    }
    return result;
"#
    ), @"10: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `items` (the checked call can fail where the macro could not)");
}

/// A loop that makes an object of each item, and does `undo` where that fails.
fn made_of_each(store: &str, undo: &str) -> String {
    object(&format!(
        r#"
    Py_ssize_t k, j, n = PyList_GET_SIZE(list);
    PyObject **texts = PyMem_Malloc(n * sizeof(PyObject *));
    PyObject **names = PyMem_Malloc(n * sizeof(PyObject *));
    if (texts == NULL || names == NULL)
        return NULL;
    for (k = 0; k < n; k++) {{
        {store}
        if (texts[k] == NULL) {{
            {undo}
            PyMem_Free(texts);
            PyMem_Free(names);
            return NULL;
        }}
    }}
    return fill(texts, names, n);
"#
    ))
}

const EACH: &str = "texts[k] = PyObject_Str(PyList_GET_ITEM(list, k));";

#[test]
fn the_elements_below_are_released_where_the_next_item_is_gone() {
    insta::assert_snapshot!(made_of_each(EACH, "for (j = 0; j < k; j++)
                Py_DECREF(texts[j]);"), @"
                @@
                         return NULL;
                     for (k = 0; k < n; k++) {
                -        texts[k] = PyObject_Str(PyList_GET_ITEM(list, k));
                +        PyObject *item = PyList_GetItemRef(list, k);
                +        if (item == NULL) {
                +            for (j = 0; j < k; j++)
                +                Py_DECREF(texts[j]);
                +            PyMem_Free(texts);
                +            PyMem_Free(names);
                +            return NULL;
                +        }
                +        texts[k] = PyObject_Str(item);
                +        Py_DECREF(item);
                         if (texts[k] == NULL) {
                             for (j = 0; j < k; j++)
                ");
}

#[test]
fn the_elements_below_are_released_downwards() {
    for undo in ["while (--k >= 0)", "while (k-- > 0)", "while (k--)"] {
        let undo = format!("{undo}\n                Py_DECREF(texts[k]);");
        let result = made_of_each(EACH, &undo);
        let exit = "+        if (item == NULL) {\n+            while (";
        assert!(result.contains(exit), "{undo}\n{result}");
    }
}

/// These come to an element that is not there yet, or not to one that is.
#[test]
fn no_exit_releases_other_elements_than_those_below() {
    let below = "for (j = 0; j < k; j++)\n                Py_DECREF(texts[j]);";
    for (store, undo) in [
        (
            EACH,
            "for (j = 0; j <= k; j++)\n                Py_XDECREF(texts[j]);",
        ),
        (
            EACH,
            "for (j = 1; j <= k; j++)\n                Py_XDECREF(texts[j]);",
        ),
        (
            EACH,
            "while (k >= 0)\n                Py_XDECREF(texts[k--]);",
        ),
        (
            EACH,
            "Py_XDECREF(texts[k]);\n            for (j = 0; j < k; j++)\n                Py_DECREF(texts[j]);",
        ),
        (
            EACH,
            "for (j = 0; j < k; j++)\n                Py_DECREF(texts[k - j - 1]);",
        ),
        ("texts[i] = PyObject_Str(PyList_GET_ITEM(list, k));", below),
        (
            "texts[k++] = PyObject_Str(PyList_GET_ITEM(list, i));",
            below,
        ),
        (
            "PyObject *item = PyList_GET_ITEM(list, k);
        names[k] = PyObject_Repr(self);
        texts[k] = PyObject_Str(item);",
            "Py_XDECREF(names[k]);
            for (j = 0; j < k; j++) {
                Py_DECREF(texts[j]);
                Py_XDECREF(names[j]);
            }",
        ),
        (
            "names[k] = PyObject_Repr(self);
        if (names[k] == NULL) {
            for (j = 0; j < k; j++) {
                Py_DECREF(names[j]);
                Py_DECREF(texts[j]);
            }
            PyMem_Free(texts);
            return NULL;
        }
        texts[k] = PyObject_Str(PyList_GET_ITEM(list, k));",
            "for (j = 0; j < k; j++) {
                Py_DECREF(names[j]);
                Py_DECREF(texts[j]);
            }
            Py_DECREF(names[k]);",
        ),
    ] {
        let result = made_of_each(store, undo);
        let leaves = result.contains("== NULL) {\n+");
        assert!(!leaves, "{store}\n{undo}\n{result}");
    }
}

#[test]
fn a_line_about_another_failure_is_left_out() {
    let undo = "printf(\"no text\\n\");\n            for (j = 0; j < k; j++)
                Py_DECREF(texts[j]);";
    let result = made_of_each(EACH, undo);
    let exit = "+        if (item == NULL) {\n+            for (j = 0; j < k; j++)\n";
    assert!(result.contains(exit), "{result}");
}
