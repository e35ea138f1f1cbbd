//! Results that are kept in variables of other types.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::{int, object};
use crate::testing::{self, report};

#[test]
fn assigned() {
    insta::assert_snapshot!(int(
        r#"
    Thing *thing;
    thing = (Thing *)
        PyDict_GetItem(dict, key);
    if (thing)
        return weigh(thing);
    return 0;
"#
    ), @"
        @@
         {
             Thing *thing;
        -    thing = (Thing *)
        -        PyDict_GetItem(dict, key);
        -    if (thing)
        -        return weigh(thing);
        +    PyObject *object;
        +    if (PyDict_GetItemRef(dict, key, &object) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    thing = (Thing *) object;
        +    if (thing) {
        +        int result = weigh(thing);
        +        Py_DECREF(thing);
        +        return result;
        +    }
             return 0;
         }
        ");
}

#[test]
fn initialised() {
    insta::assert_snapshot!(int(
        r#"
    Thing *thing = (Thing *)PyDict_GetItemWithError(dict, key);
    int weight = 0;
    if (thing != NULL)
        weight = weigh(thing);
    return weight;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    Thing *thing = (Thing *)PyDict_GetItemWithError(dict, key);
        +    Thing *thing;
             int weight = 0;
        -    if (thing != NULL)
        +    PyObject *object;
        +    (void)PyDict_GetItemRef(dict, key, &object);
        +    thing = (Thing *)object;
        +    if (thing != NULL) {
                 weight = weigh(thing);
        +        Py_DECREF(thing);
        +    }
             return weight;
         }
        ");
}

#[test]
fn in_the_body_of_an_if() {
    insta::assert_snapshot!(int(
        r#"
    Thing *thing = NULL;
    void *other = NULL;
    if (i)
        thing = (Thing *)PyDict_GetItemString(dict, "a");
    else
        other = PyDict_GetItemString(dict, "b");
    return weigh(thing, other);
"#
    ), @r#"
        @@
             Thing *thing = NULL;
             void *other = NULL;
        -    if (i)
        -        thing = (Thing *)PyDict_GetItemString(dict, "a");
        -    else
        -        other = PyDict_GetItemString(dict, "b");
        -    return weigh(thing, other);
        +    int result;
        +    if (i) {
        +        PyObject *object;
        +        if (PyDict_GetItemStringRef(dict, "a", &object) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        thing = (Thing *)object;
        +    }
        +    else {
        +        PyObject *obj;
        +        if (PyDict_GetItemStringRef(dict, "b", &obj) < 0) {
        +            PyErr_WriteUnraisable(NULL);
        +        }
        +        other = obj;
        +    }
        +    result = weigh(thing, other);
        +    Py_XDECREF(thing);
        +    Py_XDECREF(other);
        +    return result;
         }
        "#);
}

#[test]
fn a_condition_or_a_constant_stays() {
    insta::assert_snapshot!(int(
        r#"
    Thing *thing;
    Thing *const other = (Thing *)PyDict_GetItem(dict, key);
    if ((thing = (Thing *)PyDict_GetItem(dict, self)) == NULL)
        return 0;
    return weigh(thing, other);
"#
    ), @"
        4: use a `PyObject *` variable instead of `other` (the strong function stores its result in a `PyObject *`)
        5: use a `PyObject *` variable instead of `thing` (the strong function stores its result in a `PyObject *`)
        ");
}

#[test]
fn one_that_the_address_would_lose_a_qualifier_of() {
    insta::assert_snapshot!(int(
        r#"
    const PyObject *value = PyDict_GetItem(dict, key);
    PyObject *volatile other;
    other = PyDict_GetItem(dict, self);
    return weigh(value, other);
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    const PyObject *value = PyDict_GetItem(dict, key);
    +    const PyObject *value;
         PyObject *volatile other;
    -    other = PyDict_GetItem(dict, self);
    -    return weigh(value, other);
    +    PyObject *object;
    +    PyObject *obj;
    +    int result;
    +    if (PyDict_GetItemRef(dict, key, &object) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    value = object;
    +    if (PyDict_GetItemRef(dict, self, &obj) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    other = obj;
    +    result = weigh(value, other);
    +    Py_XDECREF(value);
    +    Py_XDECREF(other);
    +    return result;
     }
    ");
}

#[test]
fn one_without_an_address() {
    let text = "
static int f(dict, key)
    register PyObject *dict, *key;
{
    register PyObject *value = PyDict_GetItem(dict, key);
    return weigh(value);
}
static int h(dict, key)
    register PyObject *dict, *key;
{
    dict = PyDict_GetItem(dict, key);
    return weigh(dict);
}
";
    insta::assert_snapshot!(testing::run(&[&BORROWED_DICT_ITEM], text), @"
    @@
         register PyObject *dict, *key;
     {
    -    register PyObject *value = PyDict_GetItem(dict, key);
    -    return weigh(value);
    +    register PyObject *value;
    +    PyObject *object;
    +    int result;
    +    if (PyDict_GetItemRef(dict, key, &object) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    value = object;
    +    result = weigh(value);
    +    Py_XDECREF(value);
    +    return result;
     }
     static int h(dict, key)
         register PyObject *dict, *key;
     {
    -    dict = PyDict_GetItem(dict, key);
    -    return weigh(dict);
    +    int result;
    +    PyObject *object;
    +    if (PyDict_GetItemRef(dict, key, &object) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    dict = object;
    +    result = weigh(dict);
    +    Py_XDECREF(dict);
    +    return result;
     }
    ");
}

#[test]
fn one_that_is_constant_by_the_name_of_its_type_stays() {
    insta::assert_snapshot!(report(
        &BORROWED_DICT_ITEM,
        r#"
typedef PyObject *const fixed;
static int f(PyObject *dict, PyObject *key)
{
    fixed value = PyDict_GetItem(dict, key);
    return weigh(value);
}
"#
    ), @"
    5: `PyDict_GetItem` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
      5: borrowed here
      6: used here, after another thread may have freed it
      by hand: use a `PyObject *` variable instead of `value` (the strong function stores its result in a `PyObject *`)
    ");
}

#[test]
fn a_dead_referent_is_null() {
    insta::assert_snapshot!(int(
        r#"
    Thing *thing = NULL;
    PyObject *ref = find(self);
    if (ref) {
        thing = (Thing *)PyWeakref_GetObject(ref);
        ref = NULL;
        if (thing && (PyObject *)thing != Py_None) {
            thing = NULL;
            PyErr_SetString(PyExc_AssertionError, "known already");
            return -1;
        }
    }
    thing = (Thing *)make(key);
    return keep(thing);
"#
    ), @r#"
        @@
             PyObject *ref = find(self);
             if (ref) {
        -        thing = (Thing *)PyWeakref_GetObject(ref);
        +        PyObject *object;
        +        if (PyWeakref_GetRef(ref, &object) == 0) {
        +            object = Py_NewRef(Py_None);
        +        }
        +        thing = (Thing *)object;
                 ref = NULL;
                 if (thing && (PyObject *)thing != Py_None) {
        +            Py_DECREF(thing);
                     thing = NULL;
                     PyErr_SetString(PyExc_AssertionError, "known already");
                     return -1;
                 }
        +        Py_XDECREF(thing);
             }
             thing = (Thing *)make(key);
        "#);
}

#[test]
fn a_dead_referent_stays_none() {
    insta::assert_snapshot!(int(
        r#"
    Thing *thing = (Thing *)PyWeakref_GetObject(self);
    if (thing == NULL)
        return -1;
    if ((PyObject *)thing == Py_None)
        return 0;
    return weigh(thing);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    Thing *thing = (Thing *)PyWeakref_GetObject(self);
        +    Thing *thing;
        +    PyObject *object;
        +    int result;
        +    if (PyWeakref_GetRef(self, &object) == 0) {
        +        object = Py_NewRef(Py_None);
        +    }
        +    thing = (Thing *)object;
             if (thing == NULL)
                 return -1;
        -    if ((PyObject *)thing == Py_None)
        +    if ((PyObject *)thing == Py_None) {
        +        Py_DECREF(thing);
                 return 0;
        -    return weigh(thing);
        +    }
        +    result = weigh(thing);
        +    Py_DECREF(thing);
        +    return result;
         }
        ");
}

#[test]
fn a_cast_stays_outside_of_the_new_reference() {
    insta::assert_snapshot!(object(
        r#"
    struct thing *thing = (struct thing *)PyDict_GetItemWithError(dict, key);
    if (thing == NULL)
        thing = (struct thing *)self;
    return PyObject_Repr((PyObject *)thing);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    struct thing *thing = (struct thing *)PyDict_GetItemWithError(dict, key);
        +    struct thing *thing;
        +    PyObject *object;
        +    PyObject *result;
        +    (void)PyDict_GetItemRef(dict, key, &object);
        +    thing = (struct thing *)object;
             if (thing == NULL)
        -        thing = (struct thing *)self;
        -    return PyObject_Repr((PyObject *)thing);
        +        thing = (struct thing *)Py_XNewRef(self);
        +    result = PyObject_Repr((PyObject *)thing);
        +    Py_XDECREF(thing);
        +    return result;
         }
        ");
}
