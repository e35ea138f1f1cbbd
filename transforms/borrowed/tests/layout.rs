//! How the new text stands in the old.

use super::{all, int, object};
use crate::testing::run;
use crate::transforms::ALL;

#[test]
fn lookups_of_one_expression_move_out_together() {
    insta::assert_snapshot!(object(
        r#"
    return PyNumber_Add(PyList_GetItem(list, i), PyList_GetItem(list, 0));
"#
    ), @"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    return PyNumber_Add(PyList_GetItem(list, i), PyList_GetItem(list, 0));
    +    PyObject *item2;
    +    PyObject *result;
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (item == NULL) {
    +        return NULL;
    +    }
    +    item2 = PyList_GetItemRef(list, 0);
    +    if (item2 == NULL) {
    +        Py_DECREF(item);
    +        return NULL;
    +    }
    +    result = PyNumber_Add(item, item2);
    +    Py_DECREF(item);
    +    Py_DECREF(item2);
    +    return result;
     }
    ");
}

#[test]
fn an_if_without_branches_goes() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item != NULL && i > 0)
        Py_INCREF(item);
    else {
        Py_XINCREF(item);
    }
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        -    if (item != NULL && i > 0)
        -        Py_INCREF(item);
        -    else {
        -        Py_XINCREF(item);
        -    }
        +    PyObject *item = PyList_GetItemRef(list, i);
             return item;
         }
        ");
}

#[test]
fn an_if_without_its_first_branch_is_turned_round() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item) {
        Py_INCREF(item);
    } else {
        log_it("missing");
    }
    return item;
"#
    ), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        -    if (item) {
        -        Py_INCREF(item);
        -    } else {
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    if (!item) {
                 log_it("missing");
             }
        "#);
}

#[test]
fn an_else_goes_alone() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        PyErr_Clear();
    else
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
                 PyErr_Clear();
        -    else
        -        Py_INCREF(item);
             return item;
         }
        ");
}

#[test]
fn conditions_with_effects_stay() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (count_it(list))
        Py_XINCREF(item);
    else
        Py_XINCREF(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (count_it(list))
        -        Py_XINCREF(item);
        -    else
        -        Py_XINCREF(item);
        +        { }
             return item;
         }
        ");
}

#[test]
fn the_new_argument_follows_the_last_one() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value;
    value = PyDict_GetItem(
        dict,
        key  /* interned */
    );
    Py_XINCREF(value);
    return value;
"#
    ), @"
        @@
         {
             PyObject *value;
        -    value = PyDict_GetItem(
        +    if (PyDict_GetItemRef(
                 dict,
        -        key  /* interned */
        -    );
        -    Py_XINCREF(value);
        +        key, &value  /* interned */
        +    ) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             return value;
         }
        ");
}

#[test]
fn gnu_braces_are_indented() {
    insta::assert_snapshot!(int(
        r#"
  PyObject *value;
  if (i)
    {
      value = PyDict_GetItem (dict, key);
      if (value)
        return check (value,
                      i);
    }
  return 0;
"#
    ), @"
        @@
           if (i)
             {
        -      value = PyDict_GetItem (dict, key);
        +      if (PyDict_GetItemRef (dict, key, &value) < 0)
        +        {
        +          PyErr_WriteUnraisable (NULL);
        +        }
               if (value)
        -        return check (value,
        -                      i);
        +        {
        +          int result = check (value,
        +                              i);
        +          Py_DECREF (value);
        +          return result;
        +        }
             }
           return 0;
        ");
}

#[test]
fn a_function_on_one_line_stays_on_it() {
    let text = "static int f(PyObject *d, PyObject *k) { PyObject *v = PyDict_GetItem(d, k); \
                return v != NULL; }\n";
    insta::assert_snapshot!(run(ALL, text), @"
        @@
        -static int f(PyObject *d, PyObject *k) { PyObject *v = PyDict_GetItem(d, k); return v != NULL; }
        +static int f(PyObject *d, PyObject *k) { PyObject *v; int result; if (PyDict_GetItemRef(d, k, &v) < 0) { PyErr_WriteUnraisable(NULL); } result = v != NULL; Py_XDECREF(v); return result; }
        ");
}

#[test]
fn new_names_are_no_macros() {
    let text = "#define item (*the_item())\n#define result 7\nstatic int f(PyObject *list)\n{\n    \
                return PyObject_IsTrue(PyList_GetItem(list, 0));\n}\n";
    insta::assert_snapshot!(run(ALL, text), @"
    @@
     static int f(PyObject *list)
     {
    -    return PyObject_IsTrue(PyList_GetItem(list, 0));
    +    int ret;
    +    PyObject *item2 = PyList_GetItemRef(list, 0);
    +    if (item2 == NULL) {
    +        return -1;
    +    }
    +    ret = PyObject_IsTrue(item2);
    +    Py_DECREF(item2);
    +    return ret;
     }
    ");
}

#[test]
fn errno_is_read_before_the_release() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    int rc;
    if (item == NULL)
        return -1;
    if (write(1, PyBytes_AS_STRING(item), 3) < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    rc = chdir(PyBytes_AS_STRING(item));
    if (rc < 0)
        rc = errno;
    return rc;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             int rc;
             if (item == NULL)
        @@
             if (write(1, PyBytes_AS_STRING(item), 3) < 0) {
                 PyErr_SetFromErrno(PyExc_OSError);
        +        Py_DECREF(item);
                 return -1;
             }
        @@
             if (rc < 0)
                 rc = errno;
        +    Py_DECREF(item);
             return rc;
         }
        ");
}

#[test]
fn a_release_behind_a_macro_with_a_semicolon() {
    let text = r#"#define FAIL_IF(c) if (c) goto error;
static int f(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    FAIL_IF(check(item) < 0);
    return 0;
error:
    return -1;
}
"#;
    insta::assert_snapshot!(run(ALL, text), @"
        @@
         static int f(PyObject *list)
         {
        -    PyObject *item = PyList_GetItem(list, 0);
        +    PyObject *item = PyList_GetItemRef(list, 0);
             if (item == NULL)
                 return -1;
             FAIL_IF(check(item) < 0);
        +    Py_DECREF(item);
             return 0;
         error:
        +    Py_DECREF(item);
             return -1;
         }
        ");
}

#[test]
fn results_behind_a_case_are_declared_outside_of_the_switch() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    switch (i) {
    case 1:
        return PyObject_IsTrue(value);
    default:
        break;
    }
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    int result;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             switch (i) {
             case 1:
        -        return PyObject_IsTrue(value);
        +        result = PyObject_IsTrue(value);
        +        Py_XDECREF(value);
        +        return result;
             default:
        +        Py_XDECREF(value);
                 break;
             }
        ");
}

#[test]
fn an_else_if_takes_the_condition_of_an_emptied_branch() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value != NULL)
        Py_INCREF(value);
    else if (PyErr_Occurred())
        return NULL;
    else
        value = PyUnicode_FromString("");
    return value;
"#
    ), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        -    if (value != NULL)
        -        Py_INCREF(value);
        -    else if (PyErr_Occurred())
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
        +    if (value == NULL && PyErr_Occurred())
                 return NULL;
        -    else
        +    else if (value == NULL)
                 value = PyUnicode_FromString("");
             return value;
        "#);
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value) { Py_INCREF(value); } else if (i > 1 || !PyErr_Occurred()) { value = PyLong_FromLong(0); }
    return value;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        -    if (value) { Py_INCREF(value); } else if (i > 1 || !PyErr_Occurred()) { value = PyLong_FromLong(0); }
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
        +    if (!value && (i > 1 || !PyErr_Occurred())) { value = PyLong_FromLong(0); }
             return value;
         }
        ");
}

#[test]
fn references_taken_behind_a_test_are_never_null() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        if (list)
            value = list;
        else
            value = PyExc_KeyError;
    }
    Py_INCREF(value);
    return value;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 if (list)
        -            value = list;
        +            value = Py_NewRef(list);
                 else
        -            value = PyExc_KeyError;
        +            value = Py_NewRef(PyExc_KeyError);
             }
        -    Py_INCREF(value);
             return value;
         }
        ");
}

/// New `if`s look like those of the function, and parentheses that are left go.
#[test]
fn no_blank_between_if_and_its_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v;
    PyObject *last = PyList_GET_ITEM(list, i);
    if(! ((v = PyDict_GetItem(dict, key)))) {
        return -1;
    }
    if(PyDict_GetItem(dict, last)) {
        return 1;
    }
    return use(v);
"#
    ), @"
        4: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        8: safe: the code only asks whether the key is present
        @@
             PyObject *v;
             PyObject *last = PyList_GET_ITEM(list, i);
        -    if(! ((v = PyDict_GetItem(dict, key)))) {
        +    int result;
        +    if(PyDict_GetItemRef(dict, key, &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if(! v) {
                 return -1;
             }
             if(PyDict_GetItem(dict, last)) {
        +        Py_DECREF(v);
                 return 1;
             }
        -    return use(v);
        +    result = use(v);
        +    Py_DECREF(v);
        +    return result;
         }
        ");
}

#[test]
fn a_release_behind_a_label_gets_a_line() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = NULL, *r = NULL;
    v = PyDict_GetItemWithError(dict, key);
    if (!v) return NULL;
    if (check(v)) goto done;
    r = make(self,
             v);
done:if (!r)
        log_failure(self,
                    key);
    return r;
"#
    ), @"
    4: review: in `f`, what a function made from the object that `PyDict_GetItemRef` returned stays valid after the object is released
    @@
     {
         PyObject *v = NULL, *r = NULL;
    -    v = PyDict_GetItemWithError(dict, key);
    +    (void)PyDict_GetItemRef(dict, key, &v);
         if (!v) return NULL;
         if (check(v)) goto done;
         r = make(self,
                  v);
    -done:if (!r)
    +done:
    +    Py_DECREF(v);
    +    if (!r)
             log_failure(self,
                         key);
    ");
}

#[test]
fn the_last_branch_of_a_count_turns_round() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItem(dict, key);
    if (v)
        Py_INCREF(v);
    else {
        v = make(key);
    }
    return v;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItem(dict, key);
        -    if (v)
        -        Py_INCREF(v);
        -    else {
        +    PyObject *v;
        +    if (PyDict_GetItemRef(dict, key, &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (!v) {
                 v = make(key);
             }
        ");
}

#[test]
fn a_chain_behind_a_count_gets_braces() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v) { Py_INCREF(v); }
    else if (PyErr_Occurred()) return NULL;
    else if (key == Py_None) v = NULL;
    else {
        v = make(key);
    }
    return v;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItemWithError(dict, key);
        -    if (v) { Py_INCREF(v); }
        -    else if (PyErr_Occurred()) return NULL;
        -    else if (key == Py_None) v = NULL;
        -    else {
        -        v = make(key);
        +    PyObject *v;
        +    (void)PyDict_GetItemRef(dict, key, &v);
        +    if (!v) {
        +        if (PyErr_Occurred()) return NULL;
        +        else if (key == Py_None) v = NULL;
        +        else {
        +            v = make(key);
        +        }
             }
             return v;
        ");
}

#[test]
fn statements_of_a_block_share_a_variable() {
    insta::assert_snapshot!(int(
        r#"
    double x, y, z;
    if (PyList_Size(list) != 3)
        return -1;
    x = PyFloat_AsDouble(PyList_GetItem(list, 0));
    y = PyFloat_AsDouble(PyList_GetItem(list, 1));
    z = scale(PyList_GetItem(list, 2), PyList_GetItem(list, 3));
    return x + y + z < 0;
"#
    ), @"
    8: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    8: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         double x, y, z;
    +    PyObject *item;
    +    PyObject *item2;
    +    PyObject *item3;
         if (PyList_Size(list) != 3)
             return -1;
    -    x = PyFloat_AsDouble(PyList_GetItem(list, 0));
    -    y = PyFloat_AsDouble(PyList_GetItem(list, 1));
    -    z = scale(PyList_GetItem(list, 2), PyList_GetItem(list, 3));
    +    item = PyList_GetItemRef(list, 0);
    +    x = PyFloat_AsDouble(item);
    +    Py_XDECREF(item);
    +    item = PyList_GetItemRef(list, 1);
    +    y = PyFloat_AsDouble(item);
    +    Py_XDECREF(item);
    +    item2 = PyList_GetItemRef(list, 2);
    +    item3 = PyList_GetItemRef(list, 3);
    +    z = scale(item2, item3);
    +    Py_XDECREF(item2);
    +    Py_XDECREF(item3);
         return x + y + z < 0;
     }
    ");
}

#[test]
fn lines_of_a_call_that_moves_stay_aligned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *v = PyDict_GetItem(dict, key);
    if (v != NULL) {
        v = PyUnicode_FromFormat("%s: %s",
                                 name_of(self),
                                 PyUnicode_AsUTF8(v));
    }
    else
        v = PyObject_Str(key);
    return v;
"#
    ), @r#"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *v = PyDict_GetItem(dict, key);
        +    PyObject *v;
        +    if (PyDict_GetItemRef(dict, key, &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v != NULL) {
        -        v = PyUnicode_FromFormat("%s: %s",
        -                                 name_of(self),
        -                                 PyUnicode_AsUTF8(v));
        +        PyObject *next = PyUnicode_FromFormat("%s: %s",
        +                                              name_of(self),
        +                                              PyUnicode_AsUTF8(v));
        +        Py_DECREF(v);
        +        v = next;
             }
             else
        "#);
}

#[test]
fn in_front_of_a_macro_that_gives_nothing() {
    insta::assert_snapshot!(all("\
#define DEBUG(text, ...)
static int f(PyObject *dict, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == known && other(dict)) {
        DEBUG(\"known: \"
              \"%s\", name);
        value = NULL;
    }
    return value == NULL;
}
"), @r#"
        @@
         static int f(PyObject *dict, PyObject *key)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    int result;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == known && other(dict)) {
        +        Py_XDECREF(value);
                 DEBUG("known: "
                       "%s", name);
                 value = NULL;
             }
        -    return value == NULL;
        +    result = value == NULL;
        +    Py_XDECREF(value);
        +    return result;
         }
        "#);
}

#[test]
fn calls_have_a_blank_where_the_file_writes_one() {
    let source = r#"#include <Python.h>
static int check (PyObject *key, int i);

static int
f (PyObject *dict, PyObject *key)
{
  PyObject *value = PyDict_GetItem (dict,
                                    key);
  if (value == NULL)
    return -1;
  return check (value, PyLong_AsLong(value));
}
"#;
    insta::assert_snapshot!(run(ALL, source), @"
        @@
         f (PyObject *dict, PyObject *key)
         {
        -  PyObject *value = PyDict_GetItem (dict,
        -                                    key);
        +  PyObject *value;
        +  int result;
        +  if (PyDict_GetItemRef (dict,
        +                         key, &value) < 0) {
        +    PyErr_WriteUnraisable (NULL);
        +  }
           if (value == NULL)
             return -1;
        -  return check (value, PyLong_AsLong(value));
        +  result = check (value, PyLong_AsLong(value));
        +  Py_DECREF (value);
        +  return result;
         }
        ");
}

#[test]
fn a_macro_may_say_more_than_the_type_of_a_function() {
    insta::assert_snapshot!(all(
        "#define API(type) __declspec(dllexport) __stdcall type
API(int) ask(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    return PyObject_IsTrue(item);
}
#define TWICE(name) int name##_first(PyObject *list) { return list != NULL; } int name
TWICE(count)(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    return PyObject_IsTrue(item);
}
"
    ), @"
        @@
         API(int) ask(PyObject *list)
         {
        -    PyObject *item = PyList_GetItem(list, 0);
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    int result;
             if (item == NULL)
                 return -1;
        -    return PyObject_IsTrue(item);
        +    result = PyObject_IsTrue(item);
        +    Py_DECREF(item);
        +    return result;
         }
         #define TWICE(name) int name##_first(PyObject *list) { return list != NULL; } int name
         TWICE(count)(PyObject *list)
         {
        -    PyObject *item = PyList_GetItem(list, 0);
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    int result;
             if (item == NULL)
                 return -1;
        -    return PyObject_IsTrue(item);
        +    result = PyObject_IsTrue(item);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn eight_columns_are_a_tab_where_the_function_has_it_so() {
    let said = super::all(
        "
static PyObject *f(PyObject *self, PyObject *list)
{
  Py_ssize_t i;
  if (list) {
    for (i = 0; i < PyList_Size (list); i++) {
      PyObject *item = PyList_GetItem (list, i);
      if (!PyLong_Check (item)) {
\tPyErr_SetString (PyExc_TypeError, \"no number\");
\treturn NULL;
      }
    }
  }
  Py_RETURN_NONE;
}
",
    );
    assert!(
        said.contains("+      if (item == NULL) {\n+\treturn NULL;\n+      }\n"),
        "{said}"
    );
}
