//! Exits that undo more than references: descriptors, flags, handles.

use super::{int, object, of};

#[test]
fn a_descriptor_is_closed() {
    insta::assert_snapshot!(object(
        r#"
    int fd = open("/dev/null", O_WRONLY);
    if (fd < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (PyObject_SetItem(dict, key, item) < 0) {
            close(fd);
            return NULL;
        }
    }
    close(fd);
    Py_RETURN_NONE;
"#
    ), @"
        @@
                 return PyErr_SetFromErrno(PyExc_OSError);
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            close(fd);
        +            return NULL;
        +        }
                 if (PyObject_SetItem(dict, key, item) < 0) {
        +            Py_DECREF(item);
                     close(fd);
                     return NULL;
                 }
        +        Py_DECREF(item);
             }
             close(fd);
        ");
}

#[test]
fn a_flag_is_reset() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GET_ITEM(list, 0);
    if (PyObject_SetItem(dict, key, item) < 0)
        return -1;
    ((Foo *)self)->busy = 1;
    item = PyList_GET_ITEM(list, 1);
    if (PyObject_SetItem(dict, key, item) < 0) {
        ((Foo *)self)->busy = 0;
        return -1;
    }
    ((Foo *)self)->busy = 0;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, 0);
        -    if (PyObject_SetItem(dict, key, item) < 0)
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
                 return -1;
        +    }
        +    if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
        +        return -1;
        +    }
        +    Py_DECREF(item);
             ((Foo *)self)->busy = 1;
        -    item = PyList_GET_ITEM(list, 1);
        +    item = PyList_GetItemRef(list, 1);
        +    if (item == NULL) {
        +        ((Foo *)self)->busy = 0;
        +        return -1;
        +    }
             if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
                 ((Foo *)self)->busy = 0;
                 return -1;
             }
        +    Py_DECREF(item);
             ((Foo *)self)->busy = 0;
             return 0;
        ");
}

#[test]
fn a_label_that_asks_first_fits_everywhere() {
    insta::assert_snapshot!(int(
        r#"
    int fd = -1;
    PyObject *item = PyList_GET_ITEM(list, 0);
    if (PyObject_SetItem(dict, key, item) < 0)
        goto error;
    fd = open("/dev/null", O_WRONLY);
    item = PyList_GET_ITEM(list, 1);
    if (PyObject_SetItem(dict, key, item) < 0)
        goto error;
    close(fd);
    return 0;
error:
    if (fd >= 0)
        close(fd);
    return -1;
"#
    ), @r#"
        @@
         {
             int fd = -1;
        -    PyObject *item = PyList_GET_ITEM(list, 0);
        -    if (PyObject_SetItem(dict, key, item) < 0)
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        goto error;
        +    }
        +    if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
                 goto error;
        +    }
        +    Py_DECREF(item);
             fd = open("/dev/null", O_WRONLY);
        -    item = PyList_GET_ITEM(list, 1);
        -    if (PyObject_SetItem(dict, key, item) < 0)
        +    item = PyList_GetItemRef(list, 1);
        +    if (item == NULL) {
        +        goto error;
        +    }
        +    if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
                 goto error;
        +    }
        +    Py_DECREF(item);
             close(fd);
             return 0;
        "#);
}

#[test]
fn a_label_is_better_than_its_releases_again() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item, *copy = PyList_New(0);
    if (copy == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    if (PyList_Append(copy, item) < 0) {
        Py_DECREF(copy);
        return NULL;
    }
    if (PyList_Append(copy, key) < 0)
        goto error;
    return copy;
error:
    Py_DECREF(copy);
    return NULL;
"#
    ), @"
        @@
             if (copy == NULL)
                 return NULL;
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        goto error;
        +    }
             if (PyList_Append(copy, item) < 0) {
        +        Py_DECREF(item);
                 Py_DECREF(copy);
                 return NULL;
             }
        +    Py_DECREF(item);
             if (PyList_Append(copy, key) < 0)
                 goto error;
        ");
}

#[test]
fn a_variable_of_the_file_is_reset() {
    insta::assert_snapshot!(crate::testing::run(&[&super::super::list_macro::UNCHECKED_LIST_ITEM], r#"static int depth;
static PyObject *f(PyObject *self, PyObject *list)
{
    PyObject *item;
    depth = 1;
    item = PyList_GET_ITEM(list, 0);
    if (PyObject_SetItem(self, item, item) < 0) {
        depth = 0;
        return NULL;
    }
    depth = 0;
    Py_RETURN_NONE;
}
"#), @"
        @@
             PyObject *item;
             depth = 1;
        -    item = PyList_GET_ITEM(list, 0);
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        depth = 0;
        +        return NULL;
        +    }
             if (PyObject_SetItem(self, item, item) < 0) {
        +        Py_DECREF(item);
                 depth = 0;
                 return NULL;
             }
        +    Py_DECREF(item);
             depth = 0;
             Py_RETURN_NONE;
        ");
}

#[test]
fn a_count_goes_down_again() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item;
    ((Foo *)self)->level++;
    item = PyList_GET_ITEM(list, i);
    if (PyObject_SetItem(dict, key, item) < 0) {
        ((Foo *)self)->level--;
        return NULL;
    }
    ((Foo *)self)->level--;
    Py_RETURN_NONE;
"#
    ), @"
        @@
             PyObject *item;
             ((Foo *)self)->level++;
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        ((Foo *)self)->level--;
        +        return NULL;
        +    }
             if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
                 ((Foo *)self)->level--;
                 return NULL;
             }
        +    Py_DECREF(item);
             ((Foo *)self)->level--;
             Py_RETURN_NONE;
        ");
}

#[test]
fn what_cannot_be_told_is_left() {
    // It may be open, or not.
    insta::assert_snapshot!(object(
        r#"
    PyObject *item;
    int fd = -1;
    if (i > 3)
        fd = open("/dev/null", O_WRONLY);
    item = PyList_GET_ITEM(list, i);
    if (PyObject_SetItem(dict, key, item) < 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    Py_RETURN_NONE;
"#
    ), @"7: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `close(fd);` on line 10 undoes what may have begun)");
    // Nothing tells what began it.
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    if (PyObject_SetItem(dict, key, item) < 0) {
        rollback(self);
        return NULL;
    }
    Py_RETURN_NONE;
"#
    ), @"3: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `rollback(self);` on line 5 undoes what may have begun)");
}

#[test]
fn a_number_with_a_point_may_be_the_error() {
    insta::assert_snapshot!(of(
        "double",
        r#"
    double sum = 0, x;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        x = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
        if (x == -1.0 && PyErr_Occurred())
            return -1.0;
        sum += x;
    }
    return sum;
"#
    ), @"
        @@
             double sum = 0, x;
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        x = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            return -1.0;
        +        }
        +        x = PyFloat_AsDouble(item);
        +        Py_DECREF(item);
                 if (x == -1.0 && PyErr_Occurred())
                     return -1.0;
        ");
}

/// Where the function may end without it, an exit may as well.
#[test]
fn what_the_function_leaves_as_it_is() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    struct voices *all = (struct voices *)self;
    Py_ssize_t k;
    for (k = 0; k < all->count; k++) {
        if (is_over(PyList_GET_ITEM(list, k)))
            all->busy[i] = 0;
        else
            all->busy[i] = 1;
    }
"#
    ), @"
        6: review: in `f`, `is_over(item)` (line 6) need not be undone at the new error exit (the function could not leave here before)
        @@
             Py_ssize_t k;
             for (k = 0; k < all->count; k++) {
        -        if (is_over(PyList_GET_ITEM(list, k)))
        +        PyObject *item = PyList_GetItemRef(list, k);
        +        if (item == NULL) {
        +            PyErr_WriteUnraisable(NULL);
        +            return;
        +        }
        +        if (is_over(item))
                     all->busy[i] = 0;
                 else
                     all->busy[i] = 1;
        +        Py_DECREF(item);
             }
         }
        ");
}

#[test]
fn what_the_function_sets_back_in_any_case() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    struct voices *all = (struct voices *)self;
    Py_ssize_t k;
    all->busy = 1;
    for (k = 0; k < all->count; k++) {
        use(PyList_GET_ITEM(list, k));
    }
    all->busy = 0;
"#
    ), @"
        7: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `all->busy = 0;` on line 9 undoes what may have begun)
        ");
}

/// A loop that stores items, does `more`, and counts them behind it.
fn counted_behind(more: &str) -> String {
    int(&format!(
        r#"
    struct node *node = (struct node *)self;
    if (!PyList_CheckExact(list)) {{
        PyErr_SetString(PyExc_TypeError, "no list");
        return -1;
    }}
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        PyObject *child = PyList_GET_ITEM(list, i);
        if (Py_TYPE(child) == &Node_Type)
            node->leaf = 0;
        node->children[i] = child;
        Py_INCREF(child);
        {more}
    }}
    node->count = PyList_GET_SIZE(list);
    return 0;
"#
    ))
}

#[test]
fn no_exit_leaves_a_loop_that_stores_what_is_counted_behind_it() {
    insta::assert_snapshot!(counted_behind("look(i);"), @"
        9: use `PyList_GetItemRef`, and on `NULL` release the references that have been stored (the checked call can fail where the macro could not, and `node->count = PyList_GET_SIZE(list);` on line 16 records only after the loop how many there are)
        ");
}

#[test]
fn a_loop_that_stores_what_is_counted_behind_it_is_held_still() {
    insta::assert_snapshot!(counted_behind(""), @"
        @@
                 return -1;
             }
        +    Py_BEGIN_CRITICAL_SECTION(list);
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
                 PyObject *child = PyList_GET_ITEM(list, i);
        @@
             }
             node->count = PyList_GET_SIZE(list);
        +    Py_END_CRITICAL_SECTION();
             return 0;
         }
        ");
}

#[test]
fn an_exit_leaves_a_loop_that_counts_what_it_stores() {
    insta::assert_snapshot!(int(
        r#"
    struct node *node = (struct node *)self;
    if (!PyList_CheckExact(list)) {
        PyErr_SetString(PyExc_TypeError, "no list");
        return -1;
    }
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *child = PyList_GET_ITEM(list, i);
        if (Py_TYPE(child) == &Node_Type)
            node->leaf = 0;
        node->children[i] = child;
        Py_INCREF(child);
        node->count = i + 1;
    }
    return 0;
"#
    ), @"
    9: review: in `f`, `node->count = i + 1` (line 14) need not be undone at the new error exit (the function could not leave here before)
    @@
         }
         for (i = 0; i < PyList_GET_SIZE(list); i++) {
    -        PyObject *child = PyList_GET_ITEM(list, i);
    +        PyObject *child = PyList_GetItemRef(list, i);
    +        if (child == NULL) {
    +            return -1;
    +        }
             if (Py_TYPE(child) == &Node_Type)
                 node->leaf = 0;
             node->children[i] = child;
    -        Py_INCREF(child);
             node->count = i + 1;
         }
    ");
}

#[test]
fn a_loop_that_checks_has_not_filled_what_another_one_frees() {
    insta::assert_snapshot!(object(
        r#"
    Py_ssize_t n = PyList_GET_SIZE(list);
    char **texts = PyMem_Calloc(n, sizeof(char *));
    if (texts == NULL)
        return PyErr_NoMemory();
    for (i = 0; i < n; i++) {
        if (check(texts, i) < 0) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    for (i = 0; i < n; i++)
        texts[i] = strdup(PyUnicode_AsUTF8(PyList_GET_ITEM(list, i)));
    for (i = 0; i < n; i++)
        free(texts[i]);
    PyMem_Free(texts);
    Py_RETURN_NONE;
"#
    ), @"14: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `free(texts[i]);` on line 16 undoes what may have begun)");
}
