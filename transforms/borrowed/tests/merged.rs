//! One release behind an `if` rather than one in each branch.

use super::int;

#[test]
fn at_the_ends_of_branches() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (PyList_Check(item)) {
        for (i = 0; i < 3; i++)
            check(item);
    } else {
        if (check(item))
            i = 5;
        check(item);
    }
    return i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (PyList_Check(item)) {
             for (i = 0; i < 3; i++)
    @@
             check(item);
         }
    +    Py_DECREF(item);
         return i;
     }
    ");
}

#[test]
fn anywhere_in_a_chain() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (PyLong_Check(item)) {
        i = check(item);
        i++;
    } else if (PyFloat_Check(item)) {
        i = 2;
    }
    return i;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
                 i = 2;
             }
        +    Py_DECREF(item);
             return i;
         }
        ");
}

#[test]
fn exits_keep_theirs() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (i) {
        for (; i < 3; i++) {
            if (check(item))
                return -1;
        }
    }
    return i + 1;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (i) {
             for (; i < 3; i++) {
    -            if (check(item))
    +            if (check(item)) {
    +                Py_XDECREF(item);
                     return -1;
    +            }
             }
         }
    +    Py_XDECREF(item);
         return i + 1;
     }
    ");
}

#[test]
fn a_release_in_one_branch_stays_there() {
    insta::assert_snapshot!(int(
        r#"
    if (i) {
        PyObject *item = PyList_GetItem(list, i);
        if (check(item))
            i = 3;
    }
    return i + 1;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         if (i) {
    -        PyObject *item = PyList_GetItem(list, i);
    +        PyObject *item = PyList_GetItemRef(list, i);
             if (check(item))
                 i = 3;
    +        Py_XDECREF(item);
         }
         return i + 1;
    ");
}

#[test]
fn in_the_middle_of_a_branch_that_some_path_leaves() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (i == 1) {
        i = check(item);
    } else if (i == 2) {
        Py_ssize_t n;
        if (find(item, &n) < 0) {
            log_it("not found");
            return -1;
        }
        note(n);
        i = 3;
    } else {
        i = check(item) + 1;
    }
    return i;
"#
    ), @r#"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (item == NULL)
             return -1;
    @@
             if (find(item, &n) < 0) {
                 log_it("not found");
    +            Py_DECREF(item);
                 return -1;
             }
    @@
             i = check(item) + 1;
         }
    +    Py_DECREF(item);
         return i;
     }
    "#);
}

#[test]
fn at_the_end_of_one_branch_and_in_the_middle_of_another() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (i == 1)
        i = check(item);
    else {
        Py_ssize_t n;
        if (find(item, &n) < 0)
            return -1;
        note(n);
        i = 3;
    }
    return i;
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (item == NULL)
             return -1;
    @@
         else {
             Py_ssize_t n;
    -        if (find(item, &n) < 0)
    +        if (find(item, &n) < 0) {
    +            Py_DECREF(item);
                 return -1;
    +        }
             note(n);
             i = 3;
         }
    +    Py_DECREF(item);
         return i;
     }
    ");
}

#[test]
fn behind_a_switch() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    switch (i) {
    case 0:
        i = PyLong_Check(item);
        break;
    case 1:
        if (check(item) < 0)
            return -1;
        i = 5;
        break;
    case 2:
        while (i < 9) {
            if (check(item) == i)
                break;
            i++;
        }
        break;
    default:
        i = 0;
    }
    return i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         switch (i) {
         case 0:
    @@
             break;
         case 1:
    -        if (check(item) < 0)
    +        if (check(item) < 0) {
    +            Py_XDECREF(item);
                 return -1;
    +        }
             i = 5;
             break;
    @@
             i = 0;
         }
    +    Py_XDECREF(item);
         return i;
     }
    ");
}
