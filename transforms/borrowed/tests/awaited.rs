//! Parts of an object that memory gets, and a reference right behind.

use super::int;

/// A function that keeps the dict of a module in a field, with `behind` right after that.
fn stored(behind: &str) -> String {
    let stored = format!(
        "
    Box *box = (Box *)self;
    PyObject *m = PyDict_GetItemWithError(dict, key);
    if (m == NULL)
        return -1;
    box->dict = PyModule_GetDict(m);
{behind}
    return 0;"
    );
    int(&stored)
}

#[test]
fn a_part_with_a_reference_of_its_own() {
    insta::assert_snapshot!(stored("    Py_INCREF(box->dict);\n    run(box);"), @"
        @@
         {
             Box *box = (Box *)self;
        -    PyObject *m = PyDict_GetItemWithError(dict, key);
        +    PyObject *m;
        +    (void)PyDict_GetItemRef(dict, key, &m);
             if (m == NULL)
                 return -1;
             box->dict = PyModule_GetDict(m);
             Py_INCREF(box->dict);
        +    Py_DECREF(m);
             run(box);
             return 0;
        ");
    insta::assert_snapshot!(stored(
        "    if (!box->dict)\n        return -1;\n    Py_XINCREF(box->dict);"
    ), @"
        @@
         {
             Box *box = (Box *)self;
        -    PyObject *m = PyDict_GetItemWithError(dict, key);
        +    PyObject *m;
        +    (void)PyDict_GetItemRef(dict, key, &m);
             if (m == NULL)
                 return -1;
             box->dict = PyModule_GetDict(m);
        -    if (!box->dict)
        +    if (!box->dict) {
        +        Py_DECREF(m);
                 return -1;
        +    }
             Py_XINCREF(box->dict);
        +    Py_DECREF(m);
             return 0;
         }
        ");
    insta::assert_snapshot!(stored(
        "    if (box->dict != NULL)\n        Py_INCREF(box->dict);"
    ), @"
        @@
         {
             Box *box = (Box *)self;
        -    PyObject *m = PyDict_GetItemWithError(dict, key);
        +    PyObject *m;
        +    (void)PyDict_GetItemRef(dict, key, &m);
             if (m == NULL)
                 return -1;
        @@
             if (box->dict != NULL)
                 Py_INCREF(box->dict);
        +    Py_DECREF(m);
             return 0;
         }
        ");
}

#[test]
fn a_part_in_a_variable_of_the_file() {
    insta::assert_snapshot!(int(
        "
    static PyObject *first;
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return -1;
    first = PyTuple_GET_ITEM(v, 0);
    Py_INCREF(first);
    return 0;"
    ), @"
        @@
         {
             static PyObject *first;
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        +    PyObject *v;
        +    (void)PyDict_GetItemRef(dict, key, &v);
             if (v == NULL)
                 return -1;
             first = PyTuple_GET_ITEM(v, 0);
             Py_INCREF(first);
        +    Py_DECREF(v);
             return 0;
         }
        ");
}

#[test]
fn a_part_whose_reference_may_not_come() {
    for behind in [
        "",
        "run(box); Py_INCREF(box->dict);",
        "if (i) Py_INCREF(box->dict);",
        "if (i) return -1; Py_INCREF(box->dict);",
        "if (box->name == NULL) return -1; Py_INCREF(box->dict);",
        "box = (Box *)key; Py_INCREF(box->dict);",
        "box->dict = key; Py_INCREF(box->dict);",
        "Py_INCREF(box->name);",
        "Py_INCREF(m); box->dict = NULL;",
    ] {
        let text = stored(behind);
        assert!(text.contains("would dangle"), "{behind}: {text}");
    }
    for part in [
        "(PyObject *)&((Outer *)v)->inner",
        "((Outer *)v)->pair",
        "inner_of(v)",
    ] {
        let inner = int(&format!(
            "
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return -1;
    ((Box *)self)->dict = {part};
    Py_INCREF(((Box *)self)->dict);
    return 0;
}}
typedef struct {{ PyObject *dict; }} Box;
typedef struct {{ PyObject head; PyObject inner, pair[2]; }} Outer;
static PyObject *inner_of(PyObject *v) {{ return PyTuple_GET_ITEM(v, 0);"
        ));
        assert!(inner.contains("would dangle"), "{inner}");
    }
}
