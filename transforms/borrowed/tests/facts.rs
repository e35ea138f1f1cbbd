//! What the project says of its functions.

use crate::transforms::ALL;

/// All rules over `text`, once without its comments and once with them.
fn without_and_with(text: &str) -> String {
    let run = |text: &str| crate::testing::run(ALL, text);
    let silent = text.replace("ungil:", "");
    format!("{}----\n{}", run(&silent), run(text))
}

#[test]
fn a_stolen_reference_must_be_owned() {
    insta::assert_snapshot!(without_and_with("\
/* ungil: steals(2) */
void give(Queue *queue, PyObject *item);
static int f(Queue *self, PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    give(self, item);
    return 0;
}
"), @"
    @@
     static int f(Queue *self, PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return -1;
         give(self, item);
    +    Py_DECREF(item);
         return 0;
     }
    ----
    5: decide who owns the reference, and take a strong reference for it (`give` keeps or releases its argument, which the function does not own)
    ");
}

#[test]
fn a_borrowed_default_gets_a_reference_of_its_own() {
    insta::assert_snapshot!(without_and_with("\
PyObject *fallback(void); /* ungil: borrowed */
static PyObject *f(PyObject *self, PyObject *dict, PyObject *key)
{
    PyObject *item = PyDict_GetItemWithError(dict, key);
    if (item == NULL)
        item = fallback();
    return PyObject_Str(item);
}
"), @"
        @@
         static PyObject *f(PyObject *self, PyObject *dict, PyObject *key)
         {
        -    PyObject *item = PyDict_GetItemWithError(dict, key);
        +    PyObject *item;
        +    PyObject *item_ref = NULL;
        +    PyObject *result;
        +    (void)PyDict_GetItemRef(dict, key, &item_ref);
        +    item = item_ref;
             if (item == NULL)
                 item = fallback();
        -    return PyObject_Str(item);
        +    result = PyObject_Str(item);
        +    Py_XDECREF(item_ref);
        +    return result;
         }
        ----
        @@
         static PyObject *f(PyObject *self, PyObject *dict, PyObject *key)
         {
        -    PyObject *item = PyDict_GetItemWithError(dict, key);
        +    PyObject *item;
        +    PyObject *result;
        +    (void)PyDict_GetItemRef(dict, key, &item);
             if (item == NULL)
        -        item = fallback();
        -    return PyObject_Str(item);
        +        item = Py_XNewRef(fallback());
        +    result = PyObject_Str(item);
        +    Py_XDECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn a_function_that_is_said_to_return_a_borrowed_reference_goes_on_to() {
    insta::assert_snapshot!(without_and_with("\
/* ungil: borrowed */
static PyObject *find(PyObject *dict, PyObject *key)
{
    return PyDict_GetItemWithError(dict, key);
}
static PyObject *f(PyObject *self, PyObject *dict)
{
    return PyObject_Str(find(dict, self));
}
"), @"
    @@
     static PyObject *find(PyObject *dict, PyObject *key)
     {
    -    return PyDict_GetItemWithError(dict, key);
    +    PyObject *value;
    +    (void)PyDict_GetItemRef(dict, key, &value);
    +    return value;
     }
     static PyObject *f(PyObject *self, PyObject *dict)
     {
    -    return PyObject_Str(find(dict, self));
    +    PyObject *value = find(dict, self);
    +    PyObject *result = PyObject_Str(value);
    +    Py_XDECREF(value);
    +    return result;
     }
    ----
    4: return a strong reference, and release it in the callers (m.c:8); there is no automatic fix, because the project states that it returns a borrowed reference
    ");
}

#[test]
fn a_mark_that_is_true_no_more_goes() {
    insta::assert_snapshot!(crate::testing::run(ALL, "\
#define BORROWED __attribute__((cpychecker_returns_borrowed_ref))
static BORROWED PyObject *find(PyObject *dict, PyObject *key);
/* What KEY stands for, as a *borrowed reference*; NULL if
 * there is nothing. */
BORROWED
static PyObject *
find(PyObject *dict, PyObject *key)
{
    return PyDict_GetItemWithError(dict, key);
}
static PyObject *f(PyObject *self, PyObject *dict)
{
    return PyObject_Str(find(dict, self));
}
"), @"
        @@
         #define BORROWED __attribute__((cpychecker_returns_borrowed_ref))
        -static BORROWED PyObject *find(PyObject *dict, PyObject *key);
        -/* What KEY stands for, as a *borrowed reference*; NULL if
        +static PyObject *find(PyObject *dict, PyObject *key);
        +/* What KEY stands for, as a *new reference*; NULL if
          * there is nothing. */
        -BORROWED
         static PyObject *
         find(PyObject *dict, PyObject *key)
         {
        -    return PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
        +    return value;
         }
         static PyObject *f(PyObject *self, PyObject *dict)
         {
        -    return PyObject_Str(find(dict, self));
        +    PyObject *value = find(dict, self);
        +    PyObject *result = PyObject_Str(value);
        +    Py_XDECREF(value);
        +    return result;
         }
        ");
}
