//! `PySequence_Fast` as a snapshot.

use super::{int, object};

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
        7: review: the text of the TypeError for what cannot be iterated may change; a list is copied, once
        9: review: the text of the TypeError for what cannot be iterated may change; a list is copied, once
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *fast = PySequence_Fast(key, "expected a sequence");
        +    PyObject *fast = PySequence_Tuple(key);
             Py_ssize_t at;
             if (fast == NULL)
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
        8: review: the text of the TypeError for what cannot be iterated may change; a list is copied, once
        @@
             PyObject *fast = NULL;
             int result = -1;
        -    if (!(fast = PySequence_Fast(
        -              key, "expected " "a sequence")))
        +    if (!(fast = PySequence_Tuple(
        +              key)))
                 goto done;
             result = check(PySequence_Fast_GET_ITEM(fast, 0));
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
    ), @"
        4: a list is not copied by `PySequence_Fast`: take a snapshot by `PySequence_Tuple`, or lock the list around the loop
        ");
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
    ), @"
        6: a list is not copied by `PySequence_Fast`: take a snapshot by `PySequence_Tuple`, or lock the list around the loop
        ");
}

#[test]
fn it_comes_from_the_caller() {
    insta::assert_snapshot!(int(
        r#"
    use(PySequence_Fast_GET_ITEM(list, 0));
    return 0;
"#
    ), @"
        3: a list is not copied by `PySequence_Fast`: take a snapshot by `PySequence_Tuple`, or lock the list around the loop
        ");
}

#[test]
fn an_argument_in_parentheses() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = PySequence_Fast((key), "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    return 0;
"#
    ), @"
        4: a list is not copied by `PySequence_Fast`: take a snapshot by `PySequence_Tuple`, or lock the list around the loop
        ");
}
