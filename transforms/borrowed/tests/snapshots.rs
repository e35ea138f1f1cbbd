//! `PySequence_Fast` as a snapshot.

use super::{int, object, of};

#[test]
fn all_reads_of_one_sequence() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    Py_ssize_t at;
    if (fast == NULL)
        return NULL;
    use(PySequence_Fast_GET_ITEM(fast, 0));
    for (at = 1; at < PySequence_Fast_GET_SIZE(fast); at++)
        check(PySequence_Fast_GET_ITEM(fast, at));
    Py_DECREF(fast);
    Py_RETURN_NONE;
"#
    ), @r#"
        @@
             PyObject *fast = PySequence_Fast(key, "expected a sequence");
             Py_ssize_t at;
        +    PyObject *item;
             if (fast == NULL)
                 return NULL;
        -    use(PySequence_Fast_GET_ITEM(fast, 0));
        -    for (at = 1; at < PySequence_Fast_GET_SIZE(fast); at++)
        -        check(PySequence_Fast_GET_ITEM(fast, at));
        +    item = PySequence_GetItem(fast, 0);
        +    if (item == NULL) {
        +        Py_DECREF(fast);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
        +    for (at = 1; at < PySequence_Fast_GET_SIZE(fast); at++) {
        +        PyObject *item2 = PySequence_GetItem(fast, at);
        +        if (item2 == NULL) {
        +            Py_DECREF(fast);
        +            return NULL;
        +        }
        +        check(item2);
        +        Py_DECREF(item2);
        +    }
             Py_DECREF(fast);
             Py_RETURN_NONE;
        "#);
}

#[test]
fn an_assignment_with_a_cleanup_label() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = NULL;
    int result = -1;
    if (!(fast = PySequence_Fast(
              key, "expected " "a sequence")))
        goto done;
    result = check(PySequence_Fast_GET_ITEM(fast, 0));
done:
    Py_XDECREF(fast);
    return result;
"#
    ), @r#"
        @@
             PyObject *fast = NULL;
             int result = -1;
        +    PyObject *item;
             if (!(fast = PySequence_Fast(
                       key, "expected " "a sequence")))
                 goto done;
        -    result = check(PySequence_Fast_GET_ITEM(fast, 0));
        +    item = PySequence_GetItem(fast, 0);
        +    if (item == NULL) {
        +        goto done;
        +    }
        +    result = check(item);
        +    Py_DECREF(item);
         done:
             Py_XDECREF(fast);
        "#);
}

#[test]
fn it_is_passed_on() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    change(fast);
    Py_DECREF(fast);
    return 0;
"#
    ), @"4: the checked call can fail where the macro could not: use `PySequence_GetItem`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn it_may_be_something_else() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = list;
    if (!PyList_Check(list))
        fast = PySequence_Fast(key, "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    return 0;
"#
    ), @"6: the checked call can fail where the macro could not: use `PySequence_GetItem`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn it_comes_from_the_caller() {
    insta::assert_snapshot!(int(
        r#"
    use(PySequence_Fast_GET_ITEM(list, 0));
    return 0;
"#
    ), @"3: the checked call can fail where the macro could not: use `PySequence_GetItem`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn an_argument_in_parentheses() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = PySequence_Fast((key), "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    return 0;
"#
    ), @"4: the checked call can fail where the macro could not: use `PySequence_GetItem`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn two_items_and_a_label() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *fast = NULL, *first, *second, *result = NULL;
    if (!(fast = PySequence_Fast(key, "not a pair")))
        goto done;
    first = PySequence_Fast_GET_ITEM(fast, 0);
    second = PySequence_Fast_GET_ITEM(fast, 1);
    result = PyTuple_Pack(2, first, second);
done:
    Py_XDECREF(fast);
    return result;
"#
    ), @r#"
        @@
             if (!(fast = PySequence_Fast(key, "not a pair")))
                 goto done;
        -    first = PySequence_Fast_GET_ITEM(fast, 0);
        -    second = PySequence_Fast_GET_ITEM(fast, 1);
        +    first = PySequence_GetItem(fast, 0);
        +    if (first == NULL) {
        +        goto done;
        +    }
        +    second = PySequence_GetItem(fast, 1);
        +    if (second == NULL) {
        +        Py_DECREF(first);
        +        goto done;
        +    }
             result = PyTuple_Pack(2, first, second);
        +    Py_DECREF(first);
        +    Py_DECREF(second);
         done:
             Py_XDECREF(fast);
        "#);
}

#[test]
fn a_function_that_cannot_fail_reads_from_a_copy() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    Py_ssize_t at, n;
    if (fast == NULL) {
        PyErr_Clear();
        return;
    }
    n = PySequence_Fast_GET_SIZE(fast);
    for (at = 0; at < n; at++)
        use(PySequence_Fast_GET_ITEM(fast, at));
    Py_DECREF(fast);
"#
    ), @r#"
        11: review: the text of the TypeError for what cannot be iterated may change; a list is copied, once
        @@
         static void f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *fast = PySequence_Fast(key, "expected a sequence");
        +    PyObject *fast = PySequence_Tuple(key);
             Py_ssize_t at, n;
             if (fast == NULL) {
        "#);
}

#[test]
fn a_sequence_of_the_caller() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list) || PyDict_SetItem(dict, key, list) < 0)
        return 0;
    if (PyDict_SetItem(dict, key, key) < 0)
        return -1;
    use(PySequence_Fast_GET_ITEM(list, 0));
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (!PyList_Check(list) || PyDict_SetItem(dict, key, list) < 0)
                 return 0;
             if (PyDict_SetItem(dict, key, key) < 0)
                 return -1;
        -    use(PySequence_Fast_GET_ITEM(list, 0));
        +    item = PyList_Check(list)
        +        ? PyList_GetItemRef(list, 0)
        +        : Py_NewRef(PyTuple_GET_ITEM(list, 0));
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}
