//! Lookups in the conditions of `else if`.

use super::{int, object};

#[test]
fn the_rest_of_the_chain_gets_braces() {
    insta::assert_snapshot!(int(
        r#"
    if (i == 0) {
        return 0;
    } else if (check(PyList_GetItem(list, i))) {
        /* found */
        log_it("a",
               i);

        i = 1;
    } else if (i == 7)
        i = 2;
    else {
        i = 3;
    }
    return i;
"#
    ), @r#"
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         if (i == 0) {
             return 0;
    -    } else if (check(PyList_GetItem(list, i))) {
    -        /* found */
    -        log_it("a",
    -               i);
    +    } else {
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        if (check(item)) {
    +            /* found */
    +            log_it("a",
    +                   i);
     
    -        i = 1;
    -    } else if (i == 7)
    -        i = 2;
    -    else {
    -        i = 3;
    +            i = 1;
    +        } else if (i == 7)
    +            i = 2;
    +        else {
    +            i = 3;
    +        }
    +        Py_XDECREF(item);
         }
         return i;
    "#);
}

#[test]
fn chains_in_chains() {
    insta::assert_snapshot!(int(
        r#"
    if (i == 0)
    {
        i = 1;
    }
    else if (check(PyList_GetItem(list, i)))
    {
        i = check(PyList_GetItem(list, 0));
    }
    else if (check(PyList_GetItem(list, 1)))
    {
        i = 2;
    }
    return i;
"#
    ), @"
    7: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    9: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    11: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
             i = 1;
         }
    -    else if (check(PyList_GetItem(list, i)))
    +    else
         {
    -        i = check(PyList_GetItem(list, 0));
    -    }
    -    else if (check(PyList_GetItem(list, 1)))
    -    {
    -        i = 2;
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        if (check(item))
    +        {
    +            PyObject *item2 = PyList_GetItemRef(list, 0);
    +            i = check(item2);
    +            Py_XDECREF(item2);
    +        }
    +        else
    +        {
    +            PyObject *item3 = PyList_GetItemRef(list, 1);
    +            if (check(item3))
    +            {
    +                i = 2;
    +            }
    +            Py_XDECREF(item3);
    +        }
    +        Py_XDECREF(item);
         }
         return i;
    ");
}

#[test]
fn a_value_that_the_chain_uses_later() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = NULL;
    if (i == 0)
        i = 1;
    else if ((value = PyDict_GetItemWithError(dict, key)) != NULL)
        Py_INCREF(value);
    else if (PyErr_Occurred())
        return NULL;
    return value;
"#
    ), @"
        @@
             if (i == 0)
                 i = 1;
        -    else if ((value = PyDict_GetItemWithError(dict, key)) != NULL)
        -        Py_INCREF(value);
        +    else if (PyDict_GetItemRef(dict, key, &value) > 0)
        +        { }
             else if (PyErr_Occurred())
                 return NULL;
        ");
}

#[test]
fn a_directive_in_the_chain_stops_the_fix() {
    insta::assert_snapshot!(int(
        r#"
    if (i == 0)
        i = 1;
    else if (check(PyList_GetItem(list, i)))
        i = 2;
#ifdef MORE
    else
        i = 3;
#endif
    return i;
"#
    ), @"5: change the `else if` to an `else` with an `if` inside, or do the lookup before the chain (statements cannot stand before an `else if`)");
}

#[test]
fn both_of_a_chain() {
    insta::assert_snapshot!(int(
        r#"
    if (check(PyList_GetItem(list, i))) {
        i = 1;
    }
    else if (check(PyList_GetItem(list, 0))) {
        i = 2;
    }
    return i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (check(PyList_GetItem(list, i))) {
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (check(item)) {
             i = 1;
         }
    -    else if (check(PyList_GetItem(list, 0))) {
    -        i = 2;
    +    else {
    +        PyObject *item2 = PyList_GetItemRef(list, 0);
    +        if (check(item2)) {
    +            i = 2;
    +        }
    +        Py_XDECREF(item2);
         }
    +    Py_XDECREF(item);
         return i;
     }
    ");
}

#[test]
fn an_if_on_a_line_of_its_own_stays_there() {
    insta::assert_snapshot!(int(
        r#"
    if (i == 0)
        return 0;
    else /* why */
        if (check(PyList_GetItem(list, i)))
            i = 1;
        else
            i = 2;
    return i;
"#
    ), @"
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         if (i == 0)
             return 0;
    -    else /* why */
    -        if (check(PyList_GetItem(list, i)))
    +    else { /* why */
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        if (check(item))
                 i = 1;
             else
                 i = 2;
    +        Py_XDECREF(item);
    +    }
         return i;
     }
    ");
}

#[test]
fn flags_that_gather_what_was_found() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *first, *second;
    int ok = PyDict_Check(dict);
    ok = ok && (first = PyDict_GetItem(dict, key));
    ok = ok && (second = PyDict_GetItemString(dict, "b")) != NULL && PyLong_Check(second);
    ok = ok && PyLong_Check(first);
    if (!ok)
        return NULL;
    return PyNumber_Add(first, second);
"#
    ), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *first, *second;
        +    PyObject *first = NULL, *second = NULL;
             int ok = PyDict_Check(dict);
        -    ok = ok && (first = PyDict_GetItem(dict, key));
        -    ok = ok && (second = PyDict_GetItemString(dict, "b")) != NULL && PyLong_Check(second);
        +    PyObject *result;
        +    if (ok && PyDict_GetItemRef(dict, key, &first) < 0) {
        +        return NULL;
        +    }
        +    ok = first != NULL;
        +    if (ok && PyDict_GetItemStringRef(dict, "b", &second) < 0) {
        +        Py_DECREF(first);
        +        return NULL;
        +    }
        +    ok = second != NULL && PyLong_Check(second);
             ok = ok && PyLong_Check(first);
        -    if (!ok)
        +    if (!ok) {
        +        Py_XDECREF(first);
        +        Py_XDECREF(second);
                 return NULL;
        -    return PyNumber_Add(first, second);
        +    }
        +    result = PyNumber_Add(first, second);
        +    Py_DECREF(first);
        +    Py_DECREF(second);
        +    return result;
         }
        "#);
}

#[test]
fn flags_that_gather_in_another_way() {
    let with = |line: &str| {
        object(&format!(
            "    PyObject *v = NULL;
    int ok = PyDict_Check(dict);
    {line}
    if (!ok)
        return NULL;
    return PyNumber_Negative(v);"
        ))
    };
    let lines = [
        "self->ok = ok && (v = PyDict_GetItem(dict, key));",
        "ok = ok || (v = PyDict_GetItem(dict, key));",
        "ok = !(ok && (v = PyDict_GetItem(dict, key)));",
        "ok = ok && (v = PyDict_GetItem(dict, key)) == NULL;",
        "ok &= ok && (v = PyDict_GetItem(dict, key));",
        "ok = ok && (v = PyDict_GetItem(dict, key)) && (v = PyDict_GetItem(v, key));",
        "ok = v != NULL && (v = PyDict_GetItem(dict, key));",
        "ok = (ok && /* for what */ (v = PyDict_GetItem(dict, key)));",
    ];
    insta::assert_snapshot!(lines.map(with).join("\n---\n"), @"
        5: put the lookup in its own statement (a condition runs before it in the same expression)

        ---
        5: put the lookup in its own statement (a condition runs before it in the same expression)

        ---
        5: put the lookup in its own statement (a condition runs before it in the same expression)

        ---
        5: put the lookup in its own statement (a condition runs before it in the same expression)

        ---
        5: put the lookup in its own statement (a condition runs before it in the same expression)

        ---
        5: use a separate variable for each object (the object of an earlier iteration or lookup is still in use when `v` gets the next one)
        5: use a separate variable for each object (the object of an earlier iteration or lookup is still in use when `v` gets the next one)

        ---
        5: put the lookup in its own statement (a condition runs before it in the same expression)

        ---
        5: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}
