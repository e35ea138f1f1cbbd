//! Exits that release an object of which some fields are not set yet.

use super::{all, object};

/// What becomes of the lookup in a loop that fills an object.
fn filled_by(before: &str, fill: &str) -> String {
    object(&format!(
        "    int k;
    PyObject *item;
    Node *node = PyObject_New(Node, &Node_Type);
    if (node == NULL)
        return NULL;
    {before}
    for (k = 0; k < 2; k++) {{
        item = PyList_GET_ITEM(list, k);
        Py_INCREF(item);
        {fill}
    }}
    return (PyObject *)node;"
    ))
}

#[test]
fn the_first_pass_finds_less_than_the_second() {
    let each = "if (k == 0) node->name = item; else node->value = item;";
    let exit =
        "+        if (item == NULL) {\n+            Py_DECREF(node);\n+            return NULL;\n";
    for before in [
        "",
        "node->name = NULL;",
        "if (i) { node->name = NULL; node->value = NULL; }",
        "if (i) node->name = NULL; node->value = NULL;",
    ] {
        let result = filled_by(before, each);
        assert!(!result.contains(exit), "{before}\n{result}");
    }
    for before in [
        "node->name = NULL; node->value = NULL;",
        "node->name = node->value = NULL;",
        "if (i) node->name = NULL; else node->name = Py_NewRef(self); node->value = NULL;",
    ] {
        let result = filled_by(before, each);
        assert!(result.contains(exit), "{before}\n{result}");
    }
}

#[test]
fn elements_are_cleared_by_a_loop() {
    let each = "node->items[k] = item;";
    let exit = "+            Py_DECREF(node);\n+            return NULL;\n";
    let cleared = "for (k = 0; k < 2; k++) node->items[k] = NULL;";
    assert!(filled_by(cleared, each).contains(exit));
    assert!(!filled_by("", each).contains(exit));
}

#[test]
fn another_name_for_the_object() {
    let exit = "+    if (item == NULL) {\n+        Py_DECREF(made);\n";
    for (before, is_changed) in [("", false), ("node->name = NULL;", true)] {
        let result = object(&format!(
            "    PyObject *item, *made;
    Node *node;
    made = (PyObject *)PyObject_New(Node, &Node_Type);
    if (made == NULL)
        return NULL;
    node = (Node *)made;
    {before}
    item = PyList_GET_ITEM(list, 0);
    node->name = Py_NewRef(item);
    return made;"
        ));
        assert_eq!(result.contains(exit), is_changed, "{result}");
    }
}

#[test]
fn helper_that_sets_a_field() {
    let exit = "+    if (item == NULL) {\n+        Py_DECREF(node);\n";
    for (before, is_changed) in [("", false), ("clear(node);", true), ("empty(node);", true)] {
        let result = all(&format!(
            "
static void clear(Node *it) {{ it->name = NULL; }}
static void empty(Node *it) {{ clear(it); }}
static void name(Node *it, PyObject *item) {{ it->name = Py_NewRef(item); }}
static PyObject *f(PyObject *list)
{{
    PyObject *item;
    Node *node = PyObject_New(Node, &Node_Type);
    if (node == NULL)
        return NULL;
    {before}
    item = PyList_GET_ITEM(list, 0);
    name(node, item);
    return (PyObject *)node;
}}"
        ));
        assert_eq!(result.contains(exit), is_changed, "{result}");
    }
}
