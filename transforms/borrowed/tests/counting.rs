//! Existing reference counting: what goes, what stays.

use super::{int, object};

#[test]
fn adopting_incref_goes() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    Py_INCREF(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return NULL;
        -    Py_INCREF(item);
             return item;
         }
        ");
}

#[test]
fn adopting_xincref_goes() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    Py_XINCREF(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        -    Py_XINCREF(item);
        +    PyObject *item = PyList_GetItemRef(list, i);
             return item;
         }
        ");
}

#[test]
fn guarded_incref_goes() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item != NULL)
        Py_INCREF(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        -    if (item != NULL)
        -        Py_INCREF(item);
        +    PyObject *item = PyList_GetItemRef(list, i);
             return item;
         }
        ");
}

#[test]
fn new_ref_turns_into_its_argument() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    return Py_NewRef(item);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return NULL;
        -    return Py_NewRef(item);
        +    return item;
         }
        ");
}

#[test]
fn pair_around_a_call() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    int n;
    Py_INCREF(item);
    n = call(item);
    Py_DECREF(item);
    return n;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         int n;
    -    Py_INCREF(item);
         n = call(item);
         Py_DECREF(item);
    ");
}

#[test]
fn pair_with_later_use() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    int n;
    Py_INCREF(item);
    n = call(item);
    Py_DECREF(item);
    use(item);
    return n;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         int n;
    -    Py_INCREF(item);
         n = call(item);
    -    Py_DECREF(item);
         use(item);
    +    Py_XDECREF(item);
         return n;
     }
    ");
}

#[test]
fn stolen_and_used_later() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    PyObject *item = PyList_GetItem(list, i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(tuple, 0, item);
    use(item);
    return tuple;
"#
    ), @"
    @@
     {
         PyObject *tuple = PyTuple_New(1);
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (item == NULL) {
    +        Py_XDECREF(tuple);
    +        return NULL;
    +    }
         Py_INCREF(item);
         PyTuple_SET_ITEM(tuple, 0, item);
         use(item);
    +    Py_DECREF(item);
         return tuple;
     }
    ");
}

#[test]
fn stored_in_a_field() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    Py_INCREF(item);
    ((Foo *)self)->item = item;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        -    Py_INCREF(item);
             ((Foo *)self)->item = item;
             return 0;
        ");
}

#[test]
fn stored_before_it_is_counted() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    ((Foo *)self)->items[i] = item;
    Py_INCREF(item);
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             ((Foo *)self)->items[i] = item;
        -    Py_INCREF(item);
             return 0;
         }
        ");
}

#[test]
fn stored_twice_before_it_is_counted() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    ((Foo *)self)->first = item;
    ((Foo *)self)->last = item;
    Py_INCREF(item);
    return 0;
"#
    ), @"
        3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn used_after_it_was_stored_and_counted() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    ((Foo *)self)->item = item;
    Py_INCREF(item);
    return check(item);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    int result;
             if (item == NULL)
                 return -1;
             ((Foo *)self)->item = item;
             Py_INCREF(item);
        -    return check(item);
        +    result = check(item);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn a_number_inside_is_changed() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    ((PyLongObject *)item)->long_value.ob_digit[0] += 1;
    return --((struct Foo *)item)->head.uses;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    int result;
             if (item == NULL)
                 return -1;
             ((PyLongObject *)item)->long_value.ob_digit[0] += 1;
        -    return --((struct Foo *)item)->head.uses;
        +    result = --((struct Foo *)item)->head.uses;
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn build_value_o_and_n() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (i)
        return Py_BuildValue("(O)", item);
    Py_INCREF(item);
    return Py_BuildValue("(N)", item);
"#
    ), @r#"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    -    if (i)
    -        return Py_BuildValue("(O)", item);
    -    Py_INCREF(item);
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (item == NULL) {
    +        return NULL;
    +    }
    +    if (i) {
    +        PyObject *result = Py_BuildValue("(O)", item);
    +        Py_DECREF(item);
    +        return result;
    +    }
         return Py_BuildValue("(N)", item);
     }
    "#);
}

#[test]
fn incref_on_one_path() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    if (check(item)) {
        Py_INCREF(item);
        return item;
    }
    Py_RETURN_NONE;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return NULL;
             if (check(item)) {
        -        Py_INCREF(item);
                 return item;
             }
        +    Py_DECREF(item);
             Py_RETURN_NONE;
         }
        ");
}

#[test]
fn alias_takes_the_reference() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result = NULL;
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        goto done;
    Py_INCREF(item);
    result = item;
done:
    return result;
"#
    ), @"
        @@
         {
             PyObject *result = NULL;
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 goto done;
        -    Py_INCREF(item);
             result = item;
         done:
        ");
}

#[test]
fn a_branch_goes_with_what_it_says_about_counts_alone() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyDict_GetItem(dict, key);
    if (item == NULL) {
        item = PyDict_New();
    }
    else {
        /* PyDict_GetItem gives a borrowed reference. Own it. */
        Py_INCREF(item);
    }
    check(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyDict_GetItem(dict, key);
        +    PyObject *item;
        +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (item == NULL) {
                 item = PyDict_New();
        -    }
        -    else {
        -        /* PyDict_GetItem gives a borrowed reference. Own it. */
        -        Py_INCREF(item);
             }
             check(item);
        ");
}

#[test]
fn a_branch_goes_although_the_other_gets_a_release() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    if (item != Py_None)
        Py_INCREF(item);
    else
        item = PyList_New(0);
    return item;
"#
    ), @"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (item == NULL)
             return NULL;
    -    if (item != Py_None)
    -        Py_INCREF(item);
    -    else
    +    if (item == Py_None) {
    +        Py_DECREF(item);
             item = PyList_New(0);
    +    }
         return item;
     }
    ");
}

#[test]
fn each_branch_releases_in_front_of_the_next_object() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    if (item != Py_None)
        Py_INCREF(item);
    else if (i == 0)
        item = PyList_New(0);
    else
        item = PyDict_New();
    return item;
"#
    ), @"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (item == NULL)
             return NULL;
    -    if (item != Py_None)
    -        Py_INCREF(item);
    -    else if (i == 0)
    -        item = PyList_New(0);
    -    else
    -        item = PyDict_New();
    +    if (item == Py_None) {
    +        if (i == 0) {
    +            Py_DECREF(item);
    +            item = PyList_New(0);
    +        }
    +        else {
    +            Py_DECREF(item);
    +            item = PyDict_New();
    +        }
    +    }
         return item;
     }
    ");
}

#[test]
fn other_comments_of_a_branch_stay_in_it() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyDict_GetItem(dict, key);
    if (item != NULL) {
        /* the usual case */
        Py_INCREF(item);
    } else {
        item = PyDict_New();
    }
    check(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyDict_GetItem(dict, key);
        +    PyObject *item;
        +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (item != NULL) {
                 /* the usual case */
        -        Py_INCREF(item);
             } else {
                 item = PyDict_New();
        ");
}

#[test]
fn the_note_above_an_incref_goes_with_it() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *a = PyList_GetItem(list, 0);
    PyObject *b = PyList_GetItem(list, 1);
    PyObject *c = PyList_GetItem(list, 2);
    if (!a || !b || !c)
        return NULL;
    // convert borrowed reference to new reference
    Py_INCREF(a);
    /* Numbers are borrowed from the list,
       so take one. */
    Py_INCREF(b);
    use(b);      /* borrowed */
    /* The caller wants the last one, too. */
    Py_INCREF(c);
    Py_DECREF(b);
    Py_DECREF(c);
    return a;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GetItem(list, 0);
        -    PyObject *b = PyList_GetItem(list, 1);
        -    PyObject *c = PyList_GetItem(list, 2);
        -    if (!a || !b || !c)
        +    PyObject *a = PyList_GetItemRef(list, 0);
        +    PyObject *b = PyList_GetItemRef(list, 1);
        +    PyObject *c = PyList_GetItemRef(list, 2);
        +    if (!a || !b || !c) {
        +        Py_XDECREF(a);
        +        Py_XDECREF(b);
        +        Py_XDECREF(c);
                 return NULL;
        -    // convert borrowed reference to new reference
        -    Py_INCREF(a);
        -    /* Numbers are borrowed from the list,
        -       so take one. */
        -    Py_INCREF(b);
        +    }
             use(b);      /* borrowed */
             /* The caller wants the last one, too. */
        -    Py_INCREF(c);
             Py_DECREF(b);
             Py_DECREF(c);
        ");
}

#[test]
fn a_branch_goes_with_its_note_although_the_other_changes() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *a = PyList_GetItem(list, 0);
    if (a) {
        if (a == Py_None) {
            PyErr_SetString(PyExc_ValueError, "none");
            a = NULL;
        } else {
            // convert borrowed reference to new reference
            Py_INCREF(a);
        }
    }
    return a;
"#
    ), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GetItem(list, 0);
        +    PyObject *a = PyList_GetItemRef(list, 0);
             if (a) {
                 if (a == Py_None) {
        +            Py_DECREF(a);
                     PyErr_SetString(PyExc_ValueError, "none");
                     a = NULL;
        -        } else {
        -            // convert borrowed reference to new reference
        -            Py_INCREF(a);
                 }
             }
        "#);
}

#[test]
fn what_is_counted_anyway_is_not_null() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        v = key;
    Py_INCREF(v);
    return v;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        +    PyObject *v;
        +    (void)PyDict_GetItemRef(dict, key, &v);
             if (v == NULL)
        -        v = key;
        -    Py_INCREF(v);
        +        v = Py_NewRef(key);
             return v;
         }
        ");
}

#[test]
fn what_may_not_be_counted_may_be_null() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL) {
        v = key;
        if (i)
            v = list;
    }
    Py_INCREF(v);
    return v;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        +    PyObject *v;
        +    (void)PyDict_GetItemRef(dict, key, &v);
             if (v == NULL) {
        -        v = key;
        -        if (i)
        -            v = list;
        +        v = Py_XNewRef(key);
        +        if (i) {
        +            Py_XDECREF(v);
        +            v = Py_NewRef(list);
        +        }
             }
        -    Py_INCREF(v);
             return v;
         }
        ");
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL && list != NULL)
        v = list;
    Py_XINCREF(v);
    return v;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        +    PyObject *v;
        +    (void)PyDict_GetItemRef(dict, key, &v);
             if (v == NULL && list != NULL)
        -        v = list;
        -    Py_XINCREF(v);
        +        v = Py_NewRef(list);
             return v;
         }
        ");
}

/// Memory gets no reference: the code releases the one that it took.
#[test]
fn what_is_stored_beside_a_reference_stays_without_one() {
    insta::assert_snapshot!(int(
        r#"
    int status;
    PyObject *item = PyDict_GetItem(dict, key);
    if (item == NULL) {
        item = PyList_New(0);
        if (item == NULL)
            return -1;
    }
    else
        Py_INCREF(item);
    status = use(item);
    ((struct box *)self)->last = item;
    Py_DECREF(item);
    return status;
}
struct box { PyObject *last; };
void g(void)
{
"#
    ), @"
    4: review: in `f`, the reference from `PyDict_GetItemRef` is released or given away once too often on some path, as in the original code (line 14), and this is intended
    @@
     {
         int status;
    -    PyObject *item = PyDict_GetItem(dict, key);
    +    PyObject *item;
    +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
    +        return -1;
    +    }
         if (item == NULL) {
             item = PyList_New(0);
    @@
                 return -1;
         }
    -    else
    -        Py_INCREF(item);
         status = use(item);
         ((struct box *)self)->last = item;
    ");
}

#[test]
fn what_is_stored_beside_a_reference_and_used_is_left_alone() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyDict_GetItem(dict, key);
    if (item == NULL)
        return -1;
    ((struct box *)self)->last = item;
    use(item);
    Py_INCREF(item);
    Py_DECREF(item);
    return 0;
}
struct box { PyObject *last; };
void g(void)
{
"#
    ), @"
        3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn a_reference_that_is_taken_behind_its_theft_goes() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *copy = PyList_New(1);
    PyObject *item;
    if (copy == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    PyList_SET_ITEM(copy, 0, item);
    Py_INCREF(item);
    return copy;
"#
    ), @"
        @@
             if (copy == NULL)
                 return NULL;
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(copy);
        +        return NULL;
        +    }
             PyList_SET_ITEM(copy, 0, item);
        -    Py_INCREF(item);
             return copy;
         }
        ");
    insta::assert_snapshot!(object(
        r#"
    PyObject *pair = PyTuple_New(1);
    PyObject *item;
    if (pair == NULL)
        return NULL;
    item = PyList_GetItem(list, i);
    if (item == NULL) {
        Py_DECREF(pair);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, item);
    PyObject_Hash(key);
    Py_INCREF(item);
    return pair;
"#
    ), @"7: correct the original code first (`PyTuple_SET_ITEM` takes over a reference that the function does not own)");
}

#[test]
fn a_reference_that_another_variable_takes_is_the_new_one() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i), *text, *result;
    if (item == NULL)
        return NULL;
    if (PyUnicode_Check(item)) {
        text = PyUnicode_AsUTF8String(item);
        if (text == NULL)
            return NULL;
    } else {
        text = item;
        Py_INCREF(text);
    }
    result = PyObject_Repr(text);
    Py_DECREF(text);
    return result;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i), *text, *result;
        +    PyObject *item = PyList_GetItemRef(list, i), *text, *result;
             if (item == NULL)
                 return NULL;
             if (PyUnicode_Check(item)) {
                 text = PyUnicode_AsUTF8String(item);
        +        Py_DECREF(item);
                 if (text == NULL)
                     return NULL;
             } else {
                 text = item;
        -        Py_INCREF(text);
             }
             result = PyObject_Repr(text);
        ");
}

#[test]
fn a_reference_that_may_be_taken_for_another_variable() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value, *text = NULL;
    value = PyDict_GetItemWithError(dict, key);
    if (value != NULL && PyBytes_Check(value)) {
        text = value;
        Py_INCREF(text);
    } else if (value != NULL) {
        text = PyObject_Str(value);
    }
    return text;
"#
    ), @"
        @@
         {
             PyObject *value, *text = NULL;
        -    value = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value != NULL && PyBytes_Check(value)) {
                 text = value;
        -        Py_INCREF(text);
             } else if (value != NULL) {
                 text = PyObject_Str(value);
        +        Py_DECREF(value);
             }
             return text;
        ");
}

#[test]
fn one_that_the_other_variable_releases_before_its_use_is_kept() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i), *other;
    if (item == NULL)
        return NULL;
    other = item;
    Py_INCREF(other);
    Py_DECREF(other);
    return PyObject_Repr(other);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i), *other;
        +    PyObject *item = PyList_GetItemRef(list, i), *other;
        +    PyObject *result;
             if (item == NULL)
                 return NULL;
             other = item;
        -    Py_INCREF(other);
        -    Py_DECREF(other);
        -    return PyObject_Repr(other);
        +    result = PyObject_Repr(other);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn a_part_whose_reference_is_given_back_needs_the_item() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i), *part, *text;
    if (item == NULL)
        return NULL;
    part = PyTuple_GET_ITEM(item, 0);
    Py_INCREF(part);
    text = PyObject_Str(part);
    Py_DECREF(part);
    if (text == NULL)
        return NULL;
    Py_DECREF(text);
    return PyObject_Repr(part);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i), *part, *text;
        +    PyObject *item = PyList_GetItemRef(list, i), *part, *text;
        +    PyObject *result;
             if (item == NULL)
                 return NULL;
        @@
             text = PyObject_Str(part);
             Py_DECREF(part);
        -    if (text == NULL)
        +    if (text == NULL) {
        +        Py_DECREF(item);
                 return NULL;
        +    }
             Py_DECREF(text);
        -    return PyObject_Repr(part);
        +    result = PyObject_Repr(part);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

/// What is said of an item that a helper, or one that it calls, asks for its count, and what of one
/// of which it asks something else.
#[test]
fn a_helper_that_looks_at_the_count() {
    let said = |uses: &str| {
        let text = format!(
            "static int alone(PyObject *v) {{ return Py_REFCNT(v) == 1; }}\n\
             static int free_to_change(PyObject *v) {{ return PyTuple_Check(v) && alone(v); }}\n\
             static int put(PyObject *t) {{ return PyTuple_SetItem(t, 0, PyLong_FromLong(3)); }}\n\
             static int old(PyObject *v) {{ return v->ob_refcnt > 1; }}\n\
             static int number(PyObject *v) {{ return PyLong_Check(v); }}\n\
             int f(PyObject *list)\n{{\n    PyObject *v = PyList_GetItem(list, 0);\n    \
             if (v == NULL)\n        return -1;\n    return {uses};\n}}\n"
        );
        crate::testing::report(
            &crate::transforms::borrowed::list_item::BORROWED_LIST_ITEM,
            &text,
        )
    };
    let counted = said("alone(v)");
    insta::assert_snapshot!(counted, @"
    8: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      8: borrowed here
      11: used here, after another thread may have freed it
      review: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
      assumes that in `f`, no code relies on the reference count of the object from `PyList_GetItemRef`, which is now one higher
    ");
    for uses in ["free_to_change(v)", "put(v)", "old(v)"] {
        assert_eq!(said(uses), counted, "{uses}");
    }
    insta::assert_snapshot!(said("number(v)"), @"
    8: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      8: borrowed here
      11: used here, after another thread may have freed it
      safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    ");
}

#[test]
fn a_reference_that_is_taken_after_a_release_may_be_to_what_that_frees() {
    insta::assert_snapshot!(super::object(
        "
    PyObject *n, *v;
    int hops = 0;
    n = PyDict_GetItemWithError(dict, key);
    while (n != NULL && hops < 10) {
        v = PyDict_GetItemWithError(dict, n);
        if (v == NULL) break;
        n = v;
        hops++;
    }
    if (!n) return NULL;
    return Py_BuildValue(\"iO\", hops, n);"
    ), @r#"
    5: take a strong reference to `v` first (it is assigned next, nothing owns it, and releasing the object in `n` may free it)
    7: take the reference in `v` on all paths (only some paths own it)
    "#);
}
