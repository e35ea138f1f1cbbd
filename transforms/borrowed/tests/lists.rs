//! List items in locals: where the release goes.

use super::{int, object};

#[test]
fn released_after_the_last_use() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    int n = check(item);
    return n;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             int n = check(item);
        +    Py_DECREF(item);
             return n;
         }
        ");
}

#[test]
fn existing_local() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    int n;
    item = PyList_GetItem(list, i);
    if (!item) {
        return -1;
    }
    n = check(item);
    other(n);
    return n;
"#
    ), @"
        @@
             PyObject *item;
             int n;
        -    item = PyList_GetItem(list, i);
        +    item = PyList_GetItemRef(list, i);
             if (!item) {
                 return -1;
             }
             n = check(item);
        +    Py_DECREF(item);
             other(n);
             return n;
        ");
}

#[test]
fn no_null_test() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    item = PyList_GetItem(list, i);
    visit(item);
    return 0;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         PyObject *item;
    -    item = PyList_GetItem(list, i);
    +    item = PyList_GetItemRef(list, i);
         visit(item);
    +    Py_XDECREF(item);
         return 0;
     }
    ");
}

#[test]
fn loop_releases_each_time() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t n;
    for (n = 0; n < i; n++) {
        PyObject *item = PyList_GetItem(list, n);
        if (item == NULL)
            return -1;
        if (skip(item))
            continue;
        if (stop(item))
            break;
        use(item);
    }
    return 0;
"#
    ), @"
        @@
             Py_ssize_t n;
             for (n = 0; n < i; n++) {
        -        PyObject *item = PyList_GetItem(list, n);
        +        PyObject *item = PyList_GetItemRef(list, n);
                 if (item == NULL)
                     return -1;
        -        if (skip(item))
        +        if (skip(item)) {
        +            Py_DECREF(item);
                     continue;
        -        if (stop(item))
        +        }
        +        if (stop(item)) {
        +            Py_DECREF(item);
                     break;
        +        }
                 use(item);
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

#[test]
fn variable_reused() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    item = PyList_GetItem(list, 0);
    use(item);
    item = PyList_GetItem(list, 1);
    use(item);
    return 0;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         PyObject *item;
    -    item = PyList_GetItem(list, 0);
    +    item = PyList_GetItemRef(list, 0);
         use(item);
    -    item = PyList_GetItem(list, 1);
    +    Py_XDECREF(item);
    +    item = PyList_GetItemRef(list, 1);
         use(item);
    +    Py_XDECREF(item);
         return 0;
     }
    ");
}

#[test]
fn found_in_loop_used_after_it() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = NULL;
    Py_ssize_t n;
    for (n = 0; n < i; n++) {
        item = PyList_GetItem(list, n);
        if (wanted(item))
            break;
    }
    use(item);
    return 0;
"#
    ), @"
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         Py_ssize_t n;
         for (n = 0; n < i; n++) {
    -        item = PyList_GetItem(list, n);
    +        Py_XDECREF(item);
    +        item = PyList_GetItemRef(list, n);
             if (wanted(item))
                 break;
         }
         use(item);
    +    Py_XDECREF(item);
         return 0;
     }
    ");
}

#[test]
fn derived_string_delays_release() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    const char *name;
    if (item == NULL)
        return -1;
    name = PyUnicode_AsUTF8(item);
    if (name == NULL)
        return -1;
    puts(name);
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             const char *name;
             if (item == NULL)
                 return -1;
             name = PyUnicode_AsUTF8(item);
        -    if (name == NULL)
        +    if (name == NULL) {
        +        Py_DECREF(item);
                 return -1;
        +    }
             puts(name);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn tuple_element_delays_release() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *pair, *first;
    pair = PyList_GetItem(list, i);
    first = PyTuple_GET_ITEM(pair, 0);
    if (!PyLong_Check(first)) {
        return -1;
    }
    return PyObject_IsTrue(first);
"#
    ), @"
    @@
     {
         PyObject *pair, *first;
    -    pair = PyList_GetItem(list, i);
    +    int result;
    +    pair = PyList_GetItemRef(list, i);
    +    if (pair == NULL) {
    +        return -1;
    +    }
         first = PyTuple_GET_ITEM(pair, 0);
         if (!PyLong_Check(first)) {
    +        Py_DECREF(pair);
             return -1;
         }
    -    return PyObject_IsTrue(first);
    +    result = PyObject_IsTrue(first);
    +    Py_DECREF(pair);
    +    return result;
     }
    ");
}

#[test]
fn tuple_element_gets_a_reference() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *pair = PyList_GetItem(list, i);
    if (pair == NULL)
        return NULL;
    return Py_NewRef(PyTuple_GET_ITEM(pair, 0));
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *pair = PyList_GetItem(list, i);
        +    PyObject *pair = PyList_GetItemRef(list, i);
        +    PyObject *result;
             if (pair == NULL)
                 return NULL;
        -    return Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        +    result = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        +    Py_DECREF(pair);
        +    return result;
         }
        ");
}

#[test]
fn what_the_code_counts_itself_stays() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item, *result;
    if (i < 0) {
        item = PyTuple_GET_ITEM(key, 0);
        Py_INCREF(item);
    } else {
        item = PyList_GetItem(list, i);
        if (item == NULL)
            return NULL;
        Py_INCREF(item);
    }
    result = PyObject_Str(item);
    Py_DECREF(item);
    return result;
"#
    ), @"
        @@
                 Py_INCREF(item);
             } else {
        -        item = PyList_GetItem(list, i);
        +        item = PyList_GetItemRef(list, i);
                 if (item == NULL)
                     return NULL;
        -        Py_INCREF(item);
             }
             result = PyObject_Str(item);
        ");
}

#[test]
fn counted_tuple_element_lives_by_itself() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *first, *pair = PyList_GetItem(list, i);
    if (pair == NULL)
        return NULL;
    first = PyTuple_GET_ITEM(pair, 0);
    Py_INCREF(first);
    return first;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *first, *pair = PyList_GetItem(list, i);
        +    PyObject *first, *pair = PyList_GetItemRef(list, i);
             if (pair == NULL)
                 return NULL;
             first = PyTuple_GET_ITEM(pair, 0);
             Py_INCREF(first);
        +    Py_DECREF(pair);
             return first;
         }
        ");
}

#[test]
fn field_through_cast_delays_release() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    struct node *inner = ((Node *)item)->inner;
    visit(inner);
    done();
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         struct node *inner = ((Node *)item)->inner;
         visit(inner);
    +    Py_XDECREF(item);
         done();
         return 0;
    ");
}

#[test]
fn alias_delays_release() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    Foo *foo = (Foo *)item;
    use(foo);
    done();
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         Foo *foo = (Foo *)item;
         use(foo);
    +    Py_XDECREF(item);
         done();
         return 0;
    ");
}

#[test]
fn two_lists_two_items() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyList_GetItem(list, 0);
    PyObject *b = PyList_GetItem(list, 1);
    if (a == NULL || b == NULL)
        return -1;
    return PyObject_RichCompareBool(a, b, Py_EQ);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GetItem(list, 0);
        -    PyObject *b = PyList_GetItem(list, 1);
        -    if (a == NULL || b == NULL)
        +    PyObject *a = PyList_GetItemRef(list, 0);
        +    PyObject *b = PyList_GetItemRef(list, 1);
        +    int result;
        +    if (a == NULL || b == NULL) {
        +        Py_XDECREF(a);
        +        Py_XDECREF(b);
                 return -1;
        -    return PyObject_RichCompareBool(a, b, Py_EQ);
        +    }
        +    result = PyObject_RichCompareBool(a, b, Py_EQ);
        +    Py_DECREF(a);
        +    Py_DECREF(b);
        +    return result;
         }
        ");
}

#[test]
fn item_of_item() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *row, *cell;
    row = PyList_GetItem(list, 0);
    if (row == NULL)
        return -1;
    cell = PyList_GetItem(row, 0);
    if (cell == NULL)
        return -1;
    use(cell);
    return 0;
"#
    ), @"
        @@
         {
             PyObject *row, *cell;
        -    row = PyList_GetItem(list, 0);
        +    row = PyList_GetItemRef(list, 0);
             if (row == NULL)
                 return -1;
        -    cell = PyList_GetItem(row, 0);
        +    cell = PyList_GetItemRef(row, 0);
        +    Py_DECREF(row);
             if (cell == NULL)
                 return -1;
             use(cell);
        +    Py_DECREF(cell);
             return 0;
         }
        ");
}

#[test]
fn nested_argument() {
    insta::assert_snapshot!(int(
        r#"
    double x;
    x = PyFloat_AsDouble(PyList_GetItem(list, i));
    if (x < 0)
        return -1;
    return 0;
"#
    ), @"
        @@
         {
             double x;
        -    x = PyFloat_AsDouble(PyList_GetItem(list, i));
        +    PyObject *item;
        +    item = PyList_GetItemRef(list, i);
        +    x = PyFloat_AsDouble(item);
        +    Py_XDECREF(item);
             if (x < 0)
                 return -1;
        ");
}

#[test]
fn assigned_in_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    if ((item = PyList_GetItem(list, i)) == NULL || bad(item))
        return -1;
    use(item);
    return 0;
"#
    ), @"
        @@
         {
             PyObject *item;
        -    if ((item = PyList_GetItem(list, i)) == NULL || bad(item))
        +    if ((item = PyList_GetItemRef(list, i)) == NULL || bad(item)) {
        +        Py_XDECREF(item);
                 return -1;
        +    }
             use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn cast_of_the_result() {
    insta::assert_snapshot!(int(
        r#"
    Foo *foo = (Foo *)PyList_GetItem(list, i);
    use(foo);
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    Foo *foo = (Foo *)PyList_GetItem(list, i);
    +    Foo *foo = (Foo *)PyList_GetItemRef(list, i);
         use(foo);
    +    Py_XDECREF(foo);
         return 0;
     }
    ");
}

#[test]
fn lookup_in_a_lookup() {
    insta::assert_snapshot!(int(
        r#"
    use(PyList_GetItem(PyList_GetItem(list, 0), i));
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    use(PyList_GetItem(PyList_GetItem(list, 0), i));
    +    PyObject *item = PyList_GetItemRef(list, 0);
    +    PyObject *item2 = PyList_GetItemRef(item, i);
    +    use(item2);
    +    Py_DECREF(item);
    +    Py_XDECREF(item2);
         return 0;
     }
    ");
}

#[test]
fn no_release_while_detached() {
    insta::assert_snapshot!(int(
        r#"
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *item = PyList_GetItem(list, i);
    int n;
    Py_BEGIN_ALLOW_THREADS
    n = wait(((Foo *)item)->fd);
    Py_END_ALLOW_THREADS
    log_it(n);
    PyGILState_Release(state);
    return n;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         PyGILState_STATE state = PyGILState_Ensure();
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         int n;
         Py_BEGIN_ALLOW_THREADS
         n = wait(((Foo *)item)->fd);
         Py_END_ALLOW_THREADS
    +    Py_XDECREF(item);
         log_it(n);
         PyGILState_Release(state);
    ");
}

#[test]
fn names_are_reused_in_other_blocks() {
    insta::assert_snapshot!(int(
        r#"
    if (i) {
        use(PyList_GetItem(list, 0));
    } else {
        use(PyList_GetItem(list, 1));
    }
    return 0;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         if (i) {
    -        use(PyList_GetItem(list, 0));
    +        PyObject *item = PyList_GetItemRef(list, 0);
    +        use(item);
    +        Py_XDECREF(item);
         } else {
    -        use(PyList_GetItem(list, 1));
    +        PyObject *item = PyList_GetItemRef(list, 1);
    +        use(item);
    +        Py_XDECREF(item);
         }
         return 0;
    ");
}

#[test]
fn releases_of_two_variables_share_a_new_else() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *first = PyList_GetItem(list, 0);
    PyObject *second = PyList_GetItem(list, 1);
    if (first != NULL && second != NULL) {
        keep(first);
        if (i) {
            return steal(first) + steal(second);
        }
        i = pair(first, second);
    }
    return i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *first = PyList_GetItem(list, 0);
    -    PyObject *second = PyList_GetItem(list, 1);
    +    PyObject *first = PyList_GetItemRef(list, 0);
    +    PyObject *second = PyList_GetItemRef(list, 1);
         if (first != NULL && second != NULL) {
             keep(first);
             if (i) {
    -            return steal(first) + steal(second);
    +            int result = steal(first) + steal(second);
    +            Py_DECREF(first);
    +            Py_DECREF(second);
    +            return result;
             }
             i = pair(first, second);
         }
    +    Py_XDECREF(first);
    +    Py_XDECREF(second);
         return i;
     }
    ");
}

#[test]
fn chosen_by_a_condition() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *out = PyList_New(1), *item;
    item = i > 0 ? PyList_GetItem(list, i) : Py_None;
    if (item == NULL) {
        Py_DECREF(out);
        return NULL;
    }
    Py_INCREF(item);
    PyList_SET_ITEM(out, 0, item);
    return out;
"#
    ), @"
        @@
         {
             PyObject *out = PyList_New(1), *item;
        -    item = i > 0 ? PyList_GetItem(list, i) : Py_None;
        +    item = i > 0 ? PyList_GetItemRef(list, i) : Py_NewRef(Py_None);
             if (item == NULL) {
                 Py_DECREF(out);
                 return NULL;
             }
        -    Py_INCREF(item);
             PyList_SET_ITEM(out, 0, item);
             return out;
        ");
}

#[test]
fn chosen_by_a_condition_in_a_declaration() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = self ? NULL : (PyObject *)PyList_GetItem(list, i);
    PyObject *other = self ? key : PyList_GetItem(list, i + 1);
    if (item == NULL || other == NULL)
        return -1;
    return use(item, other);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = self ? NULL : (PyObject *)PyList_GetItem(list, i);
        -    PyObject *other = self ? key : PyList_GetItem(list, i + 1);
        -    if (item == NULL || other == NULL)
        +    PyObject *item = self ? NULL : (PyObject *)PyList_GetItemRef(list, i);
        +    PyObject *other = self ? Py_XNewRef(key) : PyList_GetItemRef(list, i + 1);
        +    int result;
        +    if (item == NULL || other == NULL) {
        +        Py_XDECREF(item);
        +        Py_XDECREF(other);
                 return -1;
        -    return use(item, other);
        +    }
        +    result = use(item, other);
        +    Py_DECREF(item);
        +    Py_DECREF(other);
        +    return result;
         }
        ");
}

/// The other value is owned already, another lookup, or of another type.
#[test]
fn chosen_among_others() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = self ? PyLong_FromLong(0) : PyList_GetItem(list, i);
    PyObject *third = self ? PyList_GetItem(list, 0) : PyList_GetItem(list, 1);
    PyObject *last = self ? key : i ? dict : PyList_GetItem(list, 2);
    use(self ? key : PyList_GetItem(list, 3));
    struct node *node = self ? root : (struct node *)PyList_GetItem(list, 4);
    struct node *next = self ? node : (struct node *)PyList_GetItem(list, 5);
    return use(item, third, last, node, next);
"#
    ), @"
        3: put the lookup in its own statement (a condition runs before it in the same expression)
        4: put the lookup in its own statement (a condition runs before it in the same expression)
        4: put the lookup in its own statement (a condition runs before it in the same expression)
        5: put the lookup in its own statement (a condition runs before it in the same expression)
        6: put the lookup in its own statement (a condition runs before it in the same expression)
        7: put the lookup in its own statement (a condition runs before it in the same expression)
        8: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn counting_of_both_on_one_line() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyList_GetItem(list, 0);
    PyObject *b = PyList_GetItem(list, 1);
    if (!a || !b)
        return -1;
    Py_INCREF(a); Py_INCREF(b);
    if (PyList_SetItem(list, 0, b) < 0) {
        Py_DECREF(a);
        return -1;
    }
    return PyList_SetItem(list, 1, a);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GetItem(list, 0);
        -    PyObject *b = PyList_GetItem(list, 1);
        -    if (!a || !b)
        +    PyObject *a = PyList_GetItemRef(list, 0);
        +    PyObject *b = PyList_GetItemRef(list, 1);
        +    if (!a || !b) {
        +        Py_XDECREF(a);
        +        Py_XDECREF(b);
                 return -1;
        -    Py_INCREF(a); Py_INCREF(b);
        +    }
             if (PyList_SetItem(list, 0, b) < 0) {
                 Py_DECREF(a);
        ");
}
