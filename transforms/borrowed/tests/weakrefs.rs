//! Weak references: a dead referent is `NULL` where it was `Py_None`.

use super::{all, int, object};
use crate::testing::run_triaged;
use crate::transforms::borrowed::weakref_object::BORROWED_WEAKREF_OBJECT;

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
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    return PyWeakref_GET_OBJECT(self) == key;
    +    int result;
    +    PyObject *referent;
    +    if (PyWeakref_GetRef(self, &referent) == 0) {
    +        referent = Py_NewRef(Py_None);
    +    }
    +    result = referent == key;
    +    Py_XDECREF(referent);
    +    return result;
     }
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
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GET_OBJECT(self);
        +    PyObject *o;
        +    if (PyWeakref_GetRef(self, &o) == 0) {
        +        o = Py_NewRef(Py_None);
        +    }
             use(o);
        +    Py_XDECREF(o);
             return 0;
         }
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
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GetObject(self);
        -    Py_XINCREF(o);
        +    PyObject *o;
        +    if (PyWeakref_GetRef(self, &o) == 0) {
        +        o = Py_NewRef(Py_None);
        +    }
             return o;
         }
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
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GET_OBJECT(self);
        +    PyObject *o;
        +    if (PyWeakref_GetRef(self, &o) == 0) {
        +        o = Py_NewRef(Py_None);
        +    }
             if (o == Py_None)
                 report(o);
        +    Py_XDECREF(o);
             return 0;
         }
        ");
}

#[test]
fn none_is_compared_with_another_object() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *o;
    int n = 0;
    while (--i >= 0 && !n) {
        o = PyWeakref_GetObject(PyList_GetItem(list, i));
        if (o == key) {
            if (PySequence_DelItem(list, i) < 0)
                return -1;
            n = 1;
        }
    }
    return n;
"#
    ), @"
        6: review: in `f`, `PySequence_DelItem(list, i)` (line 8) need not be undone at the new error exit (the function could not leave here before)
        6: review: in `f`, `PySequence_DelItem(list, i)` (line 8) need not be undone at the new error exit (the function could not leave here before)
        @@
             int n = 0;
             while (--i >= 0 && !n) {
        -        o = PyWeakref_GetObject(PyList_GetItem(list, i));
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        if (PyWeakref_GetRef(item, &o) == 0) {
        +            o = Py_NewRef(Py_None);
        +        }
        +        Py_DECREF(item);
                 if (o == key) {
        +            Py_XDECREF(o);
                     if (PySequence_DelItem(list, i) < 0)
                         return -1;
                     n = 1;
        +        } else {
        +            Py_XDECREF(o);
                 }
             }
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
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *o = PyWeakref_GetObject(self);
        +    PyObject *o;
        +    if (PyWeakref_GetRef(self, &o) == 0) {
        +        o = Py_NewRef(Py_None);
        +    }
             prepare();
             if (o == NULL)
                 return -1;
        +    Py_DECREF(o);
             return 0;
         }
        ");
}

#[test]
fn none_is_stolen() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple, *o;
    tuple = PyTuple_New(i);
    if (!tuple)
        return NULL;
    while (i-- > 0) {
        o = PyWeakref_GetObject(PyList_GetItem(list, i));
        Py_INCREF(o);
        PyTuple_SetItem(tuple, i, o);
    }
    return tuple;
"#
    ), @"
    @@
             return NULL;
         while (i-- > 0) {
    -        o = PyWeakref_GetObject(PyList_GetItem(list, i));
    -        Py_INCREF(o);
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        if (item == NULL) {
    +            Py_DECREF(tuple);
    +            return NULL;
    +        }
    +        if (PyWeakref_GetRef(item, &o) == 0) {
    +            o = Py_NewRef(Py_None);
    +        }
    +        Py_DECREF(item);
             PyTuple_SetItem(tuple, i, o);
         }
    ");
}

#[test]
fn none_in_a_condition() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *o;
    if (key == Py_True) {
        o = self;
        Py_INCREF(o);
    }
    else if (key == NULL)
        o = NULL;
    else if ((o = PyWeakref_GetObject(key)) == NULL)
        return NULL;
    else
        Py_INCREF(o);
    if (o == Py_None) {
        Py_DECREF(o);
        Py_RETURN_FALSE;
    }
    i += use(o);
    Py_XDECREF(o);
    return PyLong_FromSsize_t(i);
"#
    ), @"
        @@
             else if (key == NULL)
                 o = NULL;
        -    else if ((o = PyWeakref_GetObject(key)) == NULL)
        -        return NULL;
        -    else
        -        Py_INCREF(o);
        +    else {
        +        if (PyWeakref_GetRef(key, &o) == 0) {
        +            o = Py_NewRef(Py_None);
        +        }
        +        if (o == NULL)
        +            return NULL;
        +    }
             if (o == Py_None) {
                 Py_DECREF(o);
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
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    use(PyWeakref_GetObject(self));
        +    PyObject *referent;
        +    if (PyWeakref_GetRef(self, &referent) == 0) {
        +        referent = Py_NewRef(Py_None);
        +    }
        +    use(referent);
        +    Py_XDECREF(referent);
             return 0;
         }
        ");
}

#[test]
fn the_own_object_is_neither_null_nor_none() {
    insta::assert_snapshot!(run_triaged(&BORROWED_WEAKREF_OBJECT, r#"
typedef struct { PyObject_HEAD } List;
static int owns(List *self, PyObject *ref)
{
    PyObject *list = PyWeakref_GetObject(ref);
    if (list != (PyObject *)self)
        return 0;
    return 1;
}
static PyObject *add(List *self, PyObject *ref)
{
    return PyBool_FromLong(owns(self, ref));
}
static PyMethodDef methods[] = {{"add", (PyCFunction)add, METH_O}, {NULL}};
"#), @"
        5: `PyWeakref_GetObject` returns a borrowed reference from a weak reference, which does not keep its object alive; another thread can free the object
          safe: take a strong reference (`PyWeakref_GetObject` → `PyWeakref_GetRef`)
        @@
         static int owns(List *self, PyObject *ref)
         {
        -    PyObject *list = PyWeakref_GetObject(ref);
        -    if (list != (PyObject *)self)
        +    PyObject *list;
        +    if (PyWeakref_GetRef(ref, &list) == 0) {
        +        list = Py_NewRef(Py_None);
        +    }
        +    if (list != (PyObject *)self) {
        +        Py_XDECREF(list);
                 return 0;
        +    }
        +    Py_XDECREF(list);
             return 1;
         }
        ");
}

#[test]
fn a_slot_passes_its_own_object_on() {
    insta::assert_snapshot!(run_triaged(&BORROWED_WEAKREF_OBJECT, r#"
typedef struct { PyObject_HEAD } List;
static PyObject *drop(List *self, PyObject *ref)
{
    PyObject *list = PyWeakref_GetObject(ref);
    if (list != (PyObject *)self)
        return NULL;
    Py_RETURN_NONE;
}
static int set(PyObject *self, PyObject *ref, PyObject *value)
{
    List *list = (List *)self;
    PyObject *dropped = drop(list, ref);
    Py_XDECREF(dropped);
    return dropped != NULL ? 0 : -1;
}
static PyMethodDef methods[] = {{"drop", (PyCFunction)drop, METH_O}, {NULL}};
static PyMappingMethods mapping = {.mp_ass_subscript = set};
"#), @"
5: `PyWeakref_GetObject` returns a borrowed reference from a weak reference, which does not keep its object alive; another thread can free the object
  safe: take a strong reference (`PyWeakref_GetObject` → `PyWeakref_GetRef`)
@@
 static PyObject *drop(List *self, PyObject *ref)
 {
-    PyObject *list = PyWeakref_GetObject(ref);
-    if (list != (PyObject *)self)
+    PyObject *list;
+    if (PyWeakref_GetRef(ref, &list) == 0) {
+        list = Py_NewRef(Py_None);
+    }
+    if (list != (PyObject *)self) {
+        Py_XDECREF(list);
         return NULL;
+    }
+    Py_XDECREF(list);
     Py_RETURN_NONE;
 }
");
}

#[test]
fn a_static_method_passes_nothing_on() {
    insta::assert_snapshot!(run_triaged(&BORROWED_WEAKREF_OBJECT, r#"
static int is_same(PyObject *one, PyObject *ref)
{
    PyObject *list = PyWeakref_GetObject(ref);
    return list == one;
}
static PyObject *same(PyObject *self, PyObject *ref)
{
    PyObject *copy = self;
    return PyBool_FromLong(is_same(copy, ref));
}
static PyMethodDef methods[] = {{"same", same, METH_O | METH_STATIC}, {NULL}};
"#), @"
4: `PyWeakref_GetObject` returns a borrowed reference from a weak reference, which does not keep its object alive; another thread can free the object
  safe: take a strong reference (`PyWeakref_GetObject` → `PyWeakref_GetRef`)
@@
 static int is_same(PyObject *one, PyObject *ref)
 {
-    PyObject *list = PyWeakref_GetObject(ref);
-    return list == one;
+    PyObject *list;
+    int result;
+    if (PyWeakref_GetRef(ref, &list) == 0) {
+        list = Py_NewRef(Py_None);
+    }
+    result = list == one;
+    Py_XDECREF(list);
+    return result;
 }
 static PyObject *same(PyObject *self, PyObject *ref)
");
}

#[test]
fn a_static_method_has_no_own_object() {
    insta::assert_snapshot!(run_triaged(&BORROWED_WEAKREF_OBJECT, r#"
static PyObject *same(PyObject *self, PyObject *ref)
{
    PyObject *list = PyWeakref_GetObject(ref);
    if (list != self)
        return NULL;
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"same", same, METH_O | METH_STATIC}, {NULL}};
"#), @"
        4: `PyWeakref_GetObject` returns a borrowed reference from a weak reference, which does not keep its object alive; another thread can free the object
          safe: take a strong reference (`PyWeakref_GetObject` → `PyWeakref_GetRef`)
        @@
         static PyObject *same(PyObject *self, PyObject *ref)
         {
        -    PyObject *list = PyWeakref_GetObject(ref);
        -    if (list != self)
        +    PyObject *list;
        +    if (PyWeakref_GetRef(ref, &list) == 0) {
        +        list = Py_NewRef(Py_None);
        +    }
        +    if (list != self) {
        +        Py_XDECREF(list);
                 return NULL;
        +    }
        +    Py_XDECREF(list);
             Py_RETURN_NONE;
         }
        ");
}

#[test]
fn a_release_comes_in_the_place_of_a_count_in_a_block_on_one_line() {
    insta::assert_snapshot!(all("
PyObject *get(PyObject *self, PyObject *d, PyObject *o)
{
    PyObject *key, *ref, *obj;
    key = PyLong_FromVoidPtr(o);
    if (key == NULL || !PyDict_Check(d))
        return NULL;
    ref = PyDict_GetItem(d, key);
    if (ref && PyWeakref_Check(ref)) {
        obj = PyWeakref_GetObject(ref);
        if (obj != Py_None) { Py_DECREF(key); Py_INCREF(obj); return obj; }
        PyDict_DelItem(d, key);
    }
    Py_DECREF(key);
    return Py_NewRef(o);
}
"), @r#"
    @@
         if (key == NULL || !PyDict_Check(d))
             return NULL;
    -    ref = PyDict_GetItem(d, key);
    +    if (PyDict_GetItemRef(d, key, &ref) < 0) {
    +        Py_DECREF(key);
    +        return NULL;
    +    }
         if (ref && PyWeakref_Check(ref)) {
    -        obj = PyWeakref_GetObject(ref);
    -        if (obj != Py_None) { Py_DECREF(key); Py_INCREF(obj); return obj; }
    +        (void)PyWeakref_GetRef(ref, &obj);
    +        if (obj != NULL) { Py_DECREF(key); Py_DECREF(ref); return obj; }
             PyDict_DelItem(d, key);
         }
    +    Py_XDECREF(ref);
         Py_DECREF(key);
         return Py_NewRef(o);
    "#);
}

/// `Py_None` is of some type, `NULL` is not.
#[test]
fn a_dead_one_whose_type_is_asked_for_stays_none() {
    for test in [
        "!PyObject_TypeCheck(o, &PyLong_Type)",
        "!PyUnicode_Check(o)",
        "Py_TYPE(o) != &PyLong_Type",
    ] {
        let body = format!(
            "    PyObject *o = PyWeakref_GetObject(key);
    if (o == NULL)
        return NULL;
    if ({test}) {{
        PyErr_SetString(PyExc_ReferenceError, \"dead\");
        return NULL;
    }}
    return PyObject_Repr(o);"
        );
        let result = object(&body);
        assert!(
            result.contains("+        o = Py_NewRef(Py_None);"),
            "{result}"
        );
    }
}
