//! Weak references: a dead referent is `NULL` where it was `Py_None`.

use super::{int, object};

#[test]
fn dead_is_null() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o = PyWeakref_GET_OBJECT(self);
    if (o == Py_None)
        return 0;
    use(o);
    return 1;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GET_OBJECT(self);
        -    if (o == Py_None)
        +    PyObject *o;
        +    (void)PyWeakref_GetRef(self, &o);
        +    if (o == NULL)
                 return 0;
             use(o);
        +    Py_DECREF(o);
             return 1;
         }
        ");
}

#[test]
fn errors_are_asked_for() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o;
    o = PyWeakref_GetObject(self);
    if (o == NULL)
        return -1;
    if (o != Py_None)
        use(o);
    return 0;
"#
    ), @"
        @@
         {
             PyObject *o;
        -    o = PyWeakref_GetObject(self);
        -    if (o == NULL)
        +    if (PyWeakref_GetRef(self, &o) < 0)
                 return -1;
        -    if (o != Py_None)
        +    if (o != NULL) {
                 use(o);
        +        Py_DECREF(o);
        +    }
             return 0;
         }
        ");
}

#[test]
fn errors_of_an_initialiser() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *o = PyWeakref_GetObject(self);
    if (!o)
        return NULL;
    if (o == Py_None)
        Py_RETURN_NONE;
    Py_INCREF(o);
    return o;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GetObject(self);
        -    if (!o)
        +    PyObject *o;
        +    if (PyWeakref_GetRef(self, &o) < 0)
                 return NULL;
        -    if (o == Py_None)
        +    if (o == NULL)
                 Py_RETURN_NONE;
        -    Py_INCREF(o);
             return o;
         }
        ");
}

#[test]
fn both_tests_at_once() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o = PyWeakref_GetObject(self);
    if (o == NULL || o == Py_None)
        return 0;
    use(o);
    if (o && o != Py_None)
        use(o);
    return 1;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GetObject(self);
        -    if (o == NULL || o == Py_None)
        +    PyObject *o;
        +    (void)PyWeakref_GetRef(self, &o);
        +    if (o == NULL)
                 return 0;
             use(o);
        -    if (o && o != Py_None)
        +    if (o) {
                 use(o);
        +        Py_DECREF(o);
        +    }
             return 1;
         }
        ");
}

#[test]
fn in_a_loop() {
    insta::assert_snapshot!(int(
        r#"
    int n = 0;
    while (i--) {
        PyObject *o = PyWeakref_GET_OBJECT(next());
        if (o == Py_None)
            continue;
        n += check(o);
    }
    return n;
"#
    ), @"
        @@
             int n = 0;
             while (i--) {
        -        PyObject *o = PyWeakref_GET_OBJECT(next());
        -        if (o == Py_None)
        +        PyObject *o;
        +        (void)PyWeakref_GetRef(next(), &o);
        +        if (o == NULL)
                     continue;
                 n += check(o);
        +        Py_DECREF(o);
             }
             return n;
        ");
}

#[test]
fn only_compared() {
    insta::assert_snapshot!(int(
        r#"
    return PyWeakref_GET_OBJECT(self) == key;
"#
    ), @"
        3: safe: the pointer is only compared
        ");
}

#[test]
fn none_is_passed_on() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o = PyWeakref_GET_OBJECT(self);
    use(o);
    return 0;
"#
    ), @"
        3: a dead referent in `o` is `NULL` where it was `Py_None`, and is used as such: adapt each use by hand
        ");
}

#[test]
fn none_is_returned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *o = PyWeakref_GetObject(self);
    Py_XINCREF(o);
    return o;
"#
    ), @"
        3: a dead referent in `o` is `NULL` where it was `Py_None`, and is used as such: adapt each use by hand
        ");
}

#[test]
fn none_is_used_where_it_is_dead() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o = PyWeakref_GET_OBJECT(self);
    if (o == Py_None)
        report(o);
    return 0;
"#
    ), @"
        3: a dead referent in `o` is `NULL` where it was `Py_None`, and is used as such: adapt each use by hand
        ");
}

#[test]
fn null_means_an_error_later() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o = PyWeakref_GetObject(self);
    prepare();
    if (o == NULL)
        return -1;
    return 0;
"#
    ), @"
        3: a dead referent in `o` is `NULL` where it was `Py_None`, and is used as such: adapt each use by hand
        ");
}

#[test]
fn nested() {
    insta::assert_snapshot!(int(
        r#"
    use(PyWeakref_GetObject(self));
    return 0;
"#
    ), @"
        3: a dead referent is `NULL` where it was `Py_None`: use `PyWeakref_GetRef`, and adapt each use
        ");
}
