//! Lookups that keep the exception of before.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::int;
use crate::testing::run_triaged;

/// A lookup behind a call whose exception nothing asks for.
fn behind_a_lost_one(declared: &str, body: &str) -> String {
    int(&format!(
        "
    int rc = 0;
    {declared}
    PyDict_SetItem(dict, key, list);
{}",
        body.trim_matches('\n')
    ))
}

#[test]
fn an_assignment() {
    insta::assert_snapshot!(behind_a_lost_one("PyObject *value;", "
    value = PyDict_GetItem(dict, key);
    if (value == NULL)
        return -1;
    use(value);
    return rc;"), @"
        @@
             int rc = 0;
             PyObject *value;
        +    PyObject *exc;
             PyDict_SetItem(dict, key, list);
        -    value = PyDict_GetItem(dict, key);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             if (value == NULL)
                 return -1;
             use(value);
        +    Py_DECREF(value);
             return rc;
         }
        ");
}

/// A lookup in a block that macros begin and end, so.
fn in_a_made_block(begin: &str, end: &str) -> String {
    super::all(&format!(
        "
#define ENSURE {begin} PyGILState_STATE state = PyGILState_Ensure();
#define RELEASE PyGILState_Release(state); {end}
static void called(void *data)
{{
    PyObject *value;
    ENSURE;
    value = PyDict_GetItem((PyObject *)data, Py_None);
    if (value != NULL)
        use(value);
    RELEASE;
}}
void f(void *library) {{ library_register(library, called); }}
"
    ))
}

#[test]
fn a_block_that_a_macro_begins() {
    let said = in_a_made_block("do {", "} while (0)");
    assert_eq!(said, in_a_made_block("(void)({", "})"));
    insta::assert_snapshot!(said, @"
        @@
         {
             PyObject *value;
        +    PyObject *exc;
             ENSURE;
        -    value = PyDict_GetItem((PyObject *)data, Py_None);
        -    if (value != NULL)
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef((PyObject *)data, Py_None, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    if (value != NULL) {
                 use(value);
        +        Py_DECREF(value);
        +    }
             RELEASE;
         }
        ");
}

#[test]
fn the_body_of_an_if() {
    insta::assert_snapshot!(behind_a_lost_one("PyObject *value = NULL;", "
    if (i > 3)
        value = PyDict_GetItem(dict, key);
    use(value);
    return rc;"), @"
        7: review: no other thread removes the key after `PyDict_SetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        @@
             PyObject *value = NULL;
             PyDict_SetItem(dict, key, list);
        -    if (i > 3)
        -        value = PyDict_GetItem(dict, key);
        +    if (i > 3) {
        +        PyObject *exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
        +    }
             use(value);
        +    Py_XDECREF(value);
             return rc;
         }
        ");
}

#[test]
fn lookups_of_one_block_share_a_variable() {
    insta::assert_snapshot!(behind_a_lost_one("PyObject *value, *other;", "
    value = PyDict_GetItem(dict, key);
    use(value);
    other = PyDict_GetItem(dict, self);
    use(other);
    if (PyDict_GetItem(dict, list) != NULL) {
        value = PyDict_GetItem(dict, list);
        use(value);
    }
    return rc;"), @"
        6: review: no other thread removes the key after `PyDict_SetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        10: safe: the code only asks whether the key is present
        11: review: no other thread removes the key after `PyDict_GetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        11: keep a strong reference to the first result until here; or use a copy that no other thread has for both lookups (`PySequence_Tuple`, `PyDict_Copy`)
        @@
             int rc = 0;
             PyObject *value, *other;
        +    PyObject *exc;
             PyDict_SetItem(dict, key, list);
        -    value = PyDict_GetItem(dict, key);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             use(value);
        -    other = PyDict_GetItem(dict, self);
        +    Py_XDECREF(value);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, self, &other) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             use(other);
        +    Py_XDECREF(other);
             if (PyDict_GetItem(dict, list) != NULL) {
        -        value = PyDict_GetItem(dict, list);
        +        exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, list, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
                 use(value);
        +        Py_XDECREF(value);
             }
             return rc;
        ");
}

#[test]
fn values_of_declarations() {
    insta::assert_snapshot!(behind_a_lost_one("", "
    if (i > 3) {
        PyObject *value = PyDict_GetItem(dict, key);
        use(value);
    }
    else {
        PyObject *value = PyDict_GetItem(dict, key);
        long n = 3;
        use(value);
        rc = n;
    }
    return rc;"), @"
        7: review: no other thread removes the key after `PyDict_SetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        11: review: no other thread removes the key after `PyDict_SetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        @@
             PyDict_SetItem(dict, key, list);
             if (i > 3) {
        -        PyObject *value = PyDict_GetItem(dict, key);
        +        PyObject *value;
        +        PyObject *exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
                 use(value);
        +        Py_XDECREF(value);
             }
             else {
        -        PyObject *value = PyDict_GetItem(dict, key);
        +        PyObject *value;
        +        PyObject *exc;
                 long n = 3;
        +        exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
                 use(value);
        +        Py_XDECREF(value);
                 rc = n;
             }
        ");
}

#[test]
fn declarations_among_statements() {
    insta::assert_snapshot!(behind_a_lost_one("", "
    PyObject *value = PyDict_GetItem(dict, key);
    use(value);
    long n = PyLong_AsLong(PyDict_GetItem(dict, self));
    return rc + n;"), @"
        6: review: no other thread removes the key after `PyDict_SetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        @@
             
             PyDict_SetItem(dict, key, list);
        -    PyObject *value = PyDict_GetItem(dict, key);
        +    PyObject *value;
        +    PyObject *exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             use(value);
        -    long n = PyLong_AsLong(PyDict_GetItem(dict, self));
        +    Py_XDECREF(value);
        +    PyObject *value2;
        +    PyObject *exc2 = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, self, &value2) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc2);
        +    long n = PyLong_AsLong(value2);
        +    Py_XDECREF(value2);
             return rc + n;
         }
        ");
}

#[test]
fn parts_of_conditions() {
    insta::assert_snapshot!(behind_a_lost_one("PyObject *value;", "
    if ((value = PyDict_GetItem(dict, key)) != NULL) {
        use(value);
    }
    if (i != 1 || !PyList_Check(PyDict_GetItem(dict, self))) {
        return -1;
    }
    return rc;"), @"
        @@
             int rc = 0;
             PyObject *value;
        +    PyObject *exc;
        +    int holds;
             PyDict_SetItem(dict, key, list);
        -    if ((value = PyDict_GetItem(dict, key)) != NULL) {
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    if (value != NULL) {
                 use(value);
        +        Py_DECREF(value);
             }
        -    if (i != 1 || !PyList_Check(PyDict_GetItem(dict, self))) {
        +    holds = i != 1;
        +    if (!holds) {
        +        PyObject *value2;
        +        exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, self, &value2) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
        +        holds = !PyList_Check(value2);
        +        Py_XDECREF(value2);
        +    }
        +    if (holds) {
                 return -1;
             }
        ");
}

#[test]
fn presence() {
    let text = "static int f(PyObject *args, PyObject *key)
{
    PyObject *dict;
    if (!PyArg_ParseTuple(args, \"O!\", &PyDict_Type, &dict))
        return -1;
    PyObject_SetItem(key, args, dict);
    if (PyDict_GetItem(dict, key) == NULL)
        return 1;
    return 0;
}
";
    insta::assert_snapshot!(run_triaged(&BORROWED_DICT_ITEM, text), @r#"
        7: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        @@
         {
             PyObject *dict;
        +    PyObject *exc;
        +    int found;
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
             PyObject_SetItem(key, args, dict);
        -    if (PyDict_GetItem(dict, key) == NULL)
        +    exc = PyErr_GetRaisedException();
        +    found = PyDict_Contains(dict, key);
        +    if (found < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    if (found != 1)
                 return 1;
             return 0;
        "#);
}

#[test]
fn arguments_that_are_lookups_themselves_come_first() {
    insta::assert_snapshot!(behind_a_lost_one("PyObject *value;", "
    value = PyDict_GetItem(dict, PyList_GetItem(list, i));
    use(value);
    return rc;"), @"
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         int rc = 0;
         PyObject *value;
    +    PyObject *item;
    +    PyObject *exc;
         PyDict_SetItem(dict, key, list);
    -    value = PyDict_GetItem(dict, PyList_GetItem(list, i));
    +    item = PyList_GetItemRef(list, i);
    +    exc = PyErr_GetRaisedException();
    +    if (PyDict_GetItemRef(dict, item, &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    PyErr_SetRaisedException(exc);
    +    Py_XDECREF(item);
         use(value);
    +    Py_XDECREF(value);
         return rc;
     }
    ");
}

#[test]
fn other_calls_among_the_arguments_may_meet_the_exception() {
    let kept = |key: &str| {
        let text = behind_a_lost_one(
            "PyObject *value;",
            &format!("value = PyDict_GetItem(dict, {key}); use(value); return rc;"),
        );
        let is_kept = text.contains("PyErr_SetRaisedException(exc);");
        let is_doubted = text.contains("is pending (that exception would be lost)");
        assert_ne!(is_kept, is_doubted, "{text}");
        is_kept
    };
    assert!(kept("(PyObject *)Py_TYPE(self)"));
    assert!(kept("PyTuple_GET_ITEM(list, 0)"));
    assert!(!kept("make(self)"));
    assert!(kept("PyTuple_GetItem(list, 0)"));
    assert!(!kept("i ? key : self"));
    assert!(!kept("i ? PyTuple_GetItem(list, 0) : self"));
}

#[test]
fn an_argument_that_may_raise_comes_first() {
    insta::assert_snapshot!(behind_a_lost_one("PyObject *value;", "
    value = PyDict_GetItem(dict, PyTuple_GetItem(list, i));
    use(value);
    return rc;"), @"
        @@
             int rc = 0;
             PyObject *value;
        +    PyObject *key2;
        +    PyObject *exc;
             PyDict_SetItem(dict, key, list);
        -    value = PyDict_GetItem(dict, PyTuple_GetItem(list, i));
        +    key2 = PyTuple_GetItem(list, i);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key2, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             use(value);
        +    Py_XDECREF(value);
             return rc;
         }
        ");
}

#[test]
fn an_argument_does_not_come_before_what_decides_on_it() {
    for (declared, lookup) in [
        (
            "PyObject *value = NULL;",
            "if (key != Py_None && (value = PyDict_GetItem(dict, PyTuple_GetItem(list, i))))
        use(value);",
        ),
        (
            "",
            "PyObject *keys = list, *value = PyDict_GetItem(dict, PyTuple_GetItem(keys, i));
    use(value);",
        ),
    ] {
        let body = format!("\n    {lookup}\n    return rc;");
        let said = behind_a_lost_one(declared, &body);
        assert!(!said.contains(" = PyTuple_GetItem"), "{said}");
        assert!(said.contains("is pending"), "{said}");
    }
}

#[test]
fn an_item_that_nobody_can_take_away_comes_first() {
    let text = "
static int
f(PyObject *key, PyObject *args)
{
    PyObject *dict, *keys = PyUnicode_Split(key, NULL, -1);
    if (!keys || !PyArg_ParseTuple(args, \"O!\", &PyDict_Type, &dict))
        return -1;
    PyObject_SetItem(key, args, dict);
    if (PyDict_GetItem(dict, PyList_GetItem(keys, 0)) != NULL)
        use(PyDict_GetItem(dict, PyList_GetItem(keys, 0)));
    Py_DECREF(keys);
    return 0;
}
";
    insta::assert_snapshot!(run_triaged(&BORROWED_DICT_ITEM, text), @r#"
        9: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        10: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          review: take a strong reference (`PyDict_GetItem` → `PyDict_GetItemRef`)
          assumes that no other thread removes the key after `PyDict_GetItem` (the code does not test whether `PyDict_GetItemRef` finds it)
        @@
         {
             PyObject *dict, *keys = PyUnicode_Split(key, NULL, -1);
        +    PyObject *key2;
        +    PyObject *exc;
        +    int found;
             if (!keys || !PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
             PyObject_SetItem(key, args, dict);
        -    if (PyDict_GetItem(dict, PyList_GetItem(keys, 0)) != NULL)
        -        use(PyDict_GetItem(dict, PyList_GetItem(keys, 0)));
        +    key2 = PyList_GetItem(keys, 0);
        +    exc = PyErr_GetRaisedException();
        +    found = PyDict_Contains(dict, key2);
        +    if (found < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    if (found == 1) {
        +        PyObject *key3 = PyList_GetItem(keys, 0);
        +        PyObject *value;
        +        exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, key3, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
        +        use(value);
        +        Py_XDECREF(value);
        +    }
             Py_DECREF(keys);
             return 0;
        "#);
}
