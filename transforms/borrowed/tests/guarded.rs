//! Lookups behind `&&` or `||` in the condition of an `if`.

use super::{int, object, of};

#[test]
fn behind_or() {
    insta::assert_snapshot!(of("void",
        r#"
    if (i != 1 || !PyList_Check(PyList_GetItem(list, 0)))
        report("no list");
    else
        use(list);
"#
    ), @r#"
    @@
     static void f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (i != 1 || !PyList_Check(PyList_GetItem(list, 0)))
    +    int holds = i != 1;
    +    if (!holds) {
    +        PyObject *item = PyList_GetItemRef(list, 0);
    +        if (item == NULL) {
    +            PyErr_WriteUnraisable(NULL);
    +            return;
    +        }
    +        holds = !PyList_Check(item);
    +        Py_DECREF(item);
    +    }
    +    if (holds)
             report("no list");
         else
    "#);
}

#[test]
fn behind_or_and_and() {
    insta::assert_snapshot!(object(
        r#"
    if (PyObject_IsTrue(key) < 0)
        return NULL;
    if (!i || (i == 2 && key && PyList_Check(list) && Py_SIZE(PyList_GET_ITEM(list, 1)) == 3)) {
        Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    int holds;
             if (PyObject_IsTrue(key) < 0)
                 return NULL;
        -    if (!i || (i == 2 && key && PyList_Check(list) && Py_SIZE(PyList_GET_ITEM(list, 1)) == 3)) {
        +    holds = !i;
        +    if (!holds && i == 2 && key && PyList_Check(list)) {
        +        PyObject *item = PyList_GetItemRef(list, 1);
        +        if (item == NULL) {
        +            return NULL;
        +        }
        +        holds = Py_SIZE(item) == 3;
        +        Py_DECREF(item);
        +    }
        +    if (holds) {
                 Py_RETURN_TRUE;
             }
        ");
}

#[test]
fn a_pointer_and_a_number_decide() {
    insta::assert_snapshot!(int(
        r#"
    if (key && PyLong_Check(PyDict_GetItem(dict, key)))
        return 1;
    if (i && PyLong_Check(PyDict_GetItem(dict, self)))
        return 2;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (key && PyLong_Check(PyDict_GetItem(dict, key)))
        +    int holds2;
        +    int holds = key != NULL;
        +    if (holds) {
        +        PyObject *value;
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        holds = PyLong_Check(value);
        +        Py_XDECREF(value);
        +    }
        +    if (holds)
                 return 1;
        -    if (i && PyLong_Check(PyDict_GetItem(dict, self)))
        +    holds2 = i != 0;
        +    if (holds2) {
        +        PyObject *value;
        +        if (PyDict_GetItemRef(dict, self, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        holds2 = PyLong_Check(value);
        +        Py_XDECREF(value);
        +    }
        +    if (holds2)
                 return 2;
             return 0;
        ");
}

#[test]
fn what_is_looked_at_is_needed_behind() {
    insta::assert_snapshot!(int(
        r#"
    const char *text;
    if (i && (text = PyUnicode_AsUTF8(PyList_GetItem(list, 0))) != NULL)
        return check(text);
    return 0;
"#
    ), @"
        4: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn no_number_that_fits() {
    insta::assert_snapshot!(int(
        r#"
    if (i && PyLong_AsLong(PyList_GetItem(list, 0)))
        return 1;
    if (lookup(self) && PyList_Check(PyList_GetItem(list, 0)))
        return 2;
    while (i && PyList_Check(PyList_GetItem(list, 0)))
        i--;
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    5: put the lookup in its own statement (a condition runs before it in the same expression)
    7: move the call into the body of the loop (it is part of the condition)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (i && PyLong_AsLong(PyList_GetItem(list, 0)))
    +    int holds = i != 0;
    +    if (holds) {
    +        PyObject *item = PyList_GetItemRef(list, 0);
    +        holds = PyLong_AsLong(item) != 0;
    +        Py_XDECREF(item);
    +    }
    +    if (holds)
             return 1;
         if (lookup(self) && PyList_Check(PyList_GetItem(list, 0)))
    ");
}

#[test]
fn another_call_or_lookup_runs_before() {
    insta::assert_snapshot!(int(
        r#"
    if (i && check(self) == Py_SIZE(PyList_GetItem(list, 0)))
        return 1;
    if (i && Py_SIZE(PyList_GetItem(list, 1)) == Py_SIZE(PyList_GetItem(list, 0)))
        return 1;
    return 0;
"#
    ), @"
        3: put the lookup in its own statement (a condition runs before it in the same expression)
        5: put the lookup in its own statement (a condition runs before it in the same expression)
        5: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn behind_else() {
    insta::assert_snapshot!(int(
        r#"
    if (i == 1)
        return 1;
    else if (i && PyList_Check(PyList_GetItem(list, 0)))
        return 2;
    return 0;
"#
    ), @"
        5: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn what_stands_between_the_operands_would_get_lost() {
    insta::assert_snapshot!(int(
        r#"
    if (i != 1 || /* cheap first */ !PyList_Check(PyList_GetItem(list, 0)))
        return 1;
    if (i != 1 ||
#ifdef _WIN32
        i == -3 ||
#endif
        !PyList_Check(PyList_GetItem(list, 0)))
        return 1;
    return 0;
"#
    ), @"
        3: put the lookup in its own statement (a condition runs before it in the same expression)
        9: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn no_argument_is_added_behind_a_directive() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict,
#ifdef EXTRA
        Py_None
#else
        key
#endif
        );
    return v != NULL && PyList_Check(v);
"#
    ), @"
        3: change each branch of the `#if` by hand (its configurations at line 4 need different changes)
        ");
}

#[test]
fn an_assignment_behind_and() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **place = find(self), *v;
    if (place && *place && (v = PyDict_GetItem(*place, key)))
        return Py_NewRef(v);
    PyErr_SetObject(PyExc_AttributeError, key);
    return NULL;
"#
    ), @"
        4: review: in `f`, `find(self)` (line 3) need not be undone at the new error exit (the function could not leave here before)
        @@
         {
             PyObject **place = find(self), *v;
        -    if (place && *place && (v = PyDict_GetItem(*place, key)))
        -        return Py_NewRef(v);
        +    v = NULL;
        +    if (place && *place && PyDict_GetItemRef(*place, key, &v) < 0) {
        +        return NULL;
        +    }
        +    if (v)
        +        return v;
             PyErr_SetObject(PyExc_AttributeError, key);
             return NULL;
        ");
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = NULL;
    int n = 0;
    if ((i > 2 || i < -2) && (value = PyDict_GetItemString(dict, "n")) != NULL && PyLong_Check(value)) {
        n = use(value);
    } else {
        n = 1;
    }
    return n;
"#
    ), @r#"
        @@
             PyObject *value = NULL;
             int n = 0;
        -    if ((i > 2 || i < -2) && (value = PyDict_GetItemString(dict, "n")) != NULL && PyLong_Check(value)) {
        +    if ((i > 2 || i < -2) && PyDict_GetItemStringRef(dict, "n", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (value != NULL && PyLong_Check(value)) {
                 n = use(value);
             } else {
                 n = 1;
             }
        +    Py_XDECREF(value);
             return n;
         }
        "#);
}

#[test]
fn an_assignment_behind_and_that_is_read_on() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    if (i == 1) {
        return 1;
    } else if (i == 2 && (value = PyDict_GetItem(dict, key)) != NULL) {
        return use(value);
    }
    return 0;
"#
    ), @"
        @@
             if (i == 1) {
                 return 1;
        -    } else if (i == 2 && (value = PyDict_GetItem(dict, key)) != NULL) {
        -        return use(value);
        +    } else {
        +        value = NULL;
        +        if (i == 2 && PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        if (value != NULL) {
        +            int result = use(value);
        +            Py_DECREF(value);
        +            return result;
        +        }
             }
             return 0;
        ");
}

#[test]
fn an_assignment_behind_and_that_keeps_an_exception() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    PyDict_SetItem(list, key, list);
    if (i == 2 && (value = PyDict_GetItem(dict, key)) != NULL) {
        return use(value);
    }
    return 0;
"#
    ), @"
        5: review: in `f`, `PyDict_SetItem(list, key, list)` (line 4) need not be undone at the new error exit (the function could not leave here before)
        @@
         {
             PyObject *value;
        +    PyObject *exc;
             PyDict_SetItem(list, key, list);
        -    if (i == 2 && (value = PyDict_GetItem(dict, key)) != NULL) {
        -        return use(value);
        +    value = NULL;
        +    if (i == 2) {
        +        exc = PyErr_GetRaisedException();
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        PyErr_SetRaisedException(exc);
        +    }
        +    if (value != NULL) {
        +        int result = use(value);
        +        Py_DECREF(value);
        +        return result;
             }
             return 0;
        ");
}

#[test]
fn a_variable_that_is_needed_without_the_lookup() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = key;
    if (i && (value = PyDict_GetItem(dict, key)) != NULL)
        return 1;
    return use(value);
"#
    ), @"
        4: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    if (i && !(value = PyDict_GetItem(dict, key)))
        return 1;
    if (i || (value = PyDict_GetItem(dict, self)))
        return 2;
    if (i && (value = PyDict_GetItem(dict, list)) == NULL)
        return 3;
    return 0;
"#
    ), @"
        4: put the lookup in its own statement (a condition runs before it in the same expression)
        6: take the reference in `value` on all paths (only some paths own it)
        8: take the reference in `value` on all paths (only some paths own it)
        ");
}

#[test]
fn what_is_assigned_or_returned() {
    insta::assert_snapshot!(int(
        r#"
    int found, single = (PyList_GET_SIZE(list) > 0 && !PyList_Check(PyList_GetItem(list, 0)));
    int many = PyList_GET_SIZE(list) > 0 && PyList_Check(PyList_GetItem(list, 0));
    found = many || PyLong_AsLong(PyList_GetItem(list, 1));
    return found || single || i > 2 && (PyLong_Check(PyList_GetItem(list, 2)) || PyFloat_Check(PyList_GetItem(list, 2)));
"#
    ), @"
    3: put the lookup in its own statement (a condition runs before it in the same expression)
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         int found, single = (PyList_GET_SIZE(list) > 0 && !PyList_Check(PyList_GetItem(list, 0)));
    -    int many = PyList_GET_SIZE(list) > 0 && PyList_Check(PyList_GetItem(list, 0));
    -    found = many || PyLong_AsLong(PyList_GetItem(list, 1));
    -    return found || single || i > 2 && (PyLong_Check(PyList_GetItem(list, 2)) || PyFloat_Check(PyList_GetItem(list, 2)));
    +    int many = PyList_GET_SIZE(list) > 0;
    +    int holds;
    +    if (many) {
    +        PyObject *item = PyList_GetItemRef(list, 0);
    +        many = PyList_Check(item);
    +        Py_XDECREF(item);
    +    }
    +    found = many != 0;
    +    if (!found) {
    +        PyObject *item = PyList_GetItemRef(list, 1);
    +        found = PyLong_AsLong(item) != 0;
    +        Py_XDECREF(item);
    +    }
    +    holds = found || single;
    +    if (!holds && i > 2) {
    +        PyObject *item = PyList_GetItemRef(list, 2);
    +        holds = PyLong_Check(item) || PyFloat_Check(item);
    +        Py_XDECREF(item);
    +    }
    +    return holds;
     }
    ");
}

#[test]
fn conditions_behind_the_lookup() {
    insta::assert_snapshot!(int(
        r#"
    if (PyList_Check(list) && i > 0 && PyLong_Check(PyList_GetItem(list, 0)) && i < 10 && check(self))
        return 1;
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (PyList_Check(list) && i > 0 && PyLong_Check(PyList_GetItem(list, 0)) && i < 10 && check(self))
    +    int holds = PyList_Check(list) && i > 0;
    +    if (holds) {
    +        PyObject *item = PyList_GetItemRef(list, 0);
    +        holds = PyLong_Check(item) && i < 10 && check(self);
    +        Py_XDECREF(item);
    +    }
    +    if (holds)
             return 1;
         return 0;
    ");
}

#[test]
fn a_variable_that_is_needed_as_it_was() {
    insta::assert_snapshot!(super::all(
        r#"
static int seen;
static PyObject *
f(PyObject *self, PyObject *list, int n)
{
    int m = 0;
    n = n > 0 && PyLong_Check(PyList_GetItem(list, n));
    seen = n > 0 && PyLong_Check(PyList_GetItem(list, 0));
    m = n > 0 && PyLong_Check(PyList_GetItem(list, 0));
    note(&m);
    return n > 0 && PyLong_Check(PyList_GetItem(list, 0)) ? list : self;
}
"#
    ), @"
        6: put the lookup in its own statement (a condition runs before it in the same expression)
        7: put the lookup in its own statement (a condition runs before it in the same expression)
        8: put the lookup in its own statement (a condition runs before it in the same expression)
        10: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

/// `NULL` stands for what decides that the lookup does not run, too.
#[test]
fn an_assignment_behind_or() {
    insta::assert_snapshot!(object(r#"
    PyObject *v, *result;
    if (dict == NULL || ((v = PyDict_GetItem(dict, key)) == NULL)) {
        v = PyObject_GetAttr(self, key);
        if (v == NULL)
            return NULL;
    }
    else {
        Py_INCREF(v);
    }
    result = PyObject_Str(v);
    Py_DECREF(v);
    return result;
"#), @"
@@
 {
     PyObject *v, *result;
-    if (dict == NULL || ((v = PyDict_GetItem(dict, key)) == NULL)) {
+    v = NULL;
+    if (dict != NULL && PyDict_GetItemRef(dict, key, &v) < 0) {
+        return NULL;
+    }
+    if (v == NULL) {
         v = PyObject_GetAttr(self, key);
         if (v == NULL)
             return NULL;
-    }
-    else {
-        Py_INCREF(v);
     }
     result = PyObject_Str(v);
");
}

/// The test goes on behind it.
#[test]
fn an_assignment_behind_or_and_in_front_of_more() {
    insta::assert_snapshot!(object(r#"
    PyObject *v;
    if (i < 0 || !(v = PyDict_GetItemString(dict, "v")) || !PyUnicode_Check(v)) {
        PyErr_SetString(PyExc_ValueError, "no text");
        return NULL;
    }
    return PyNumber_Negative(v);
"#), @r#"
@@
 static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
 {
-    PyObject *v;
-    if (i < 0 || !(v = PyDict_GetItemString(dict, "v")) || !PyUnicode_Check(v)) {
+    PyObject *v = NULL;
+    PyObject *result;
+    if (i >= 0 && PyDict_GetItemStringRef(dict, "v", &v) < 0) {
+        return NULL;
+    }
+    if (!v || !PyUnicode_Check(v)) {
+        Py_XDECREF(v);
         PyErr_SetString(PyExc_ValueError, "no text");
         return NULL;
     }
-    return PyNumber_Negative(v);
+    result = PyNumber_Negative(v);
+    Py_DECREF(v);
+    return result;
 }
"#);
}

#[test]
fn an_assignment_behind_or_that_does_not_fit() {
    for cond in [
        // The one before is read where the lookup does not run.
        "i < 0 || (w = PyDict_GetItem(dict, key)) == NULL",
        // There, the variable is not asked for.
        "i < 0 || (v = PyDict_GetItem(dict, key)) != NULL",
        "i < 0 && (v = PyDict_GetItem(dict, key)) == NULL",
        "(i < 0 || (v = PyDict_GetItem(dict, key)) == NULL) && self",
        "v == NULL || (v = PyDict_GetItem(dict, key)) == NULL",
        "i < 0 || /* or not there */ (v = PyDict_GetItem(dict, key)) == NULL",
    ] {
        let result = object(&format!(
            "    PyObject *v = key, *w = self;
    if ({cond})
        return PyObject_Repr(w);
    return PyNumber_Add(v, w);"
        ));
        assert!(result.starts_with("4: "), "{cond}\n{result}");
    }
}
