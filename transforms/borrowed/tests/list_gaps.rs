//! Lists with slots that are not filled yet.

use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;

const HELPER: &str = "static PyObject *new_table(Py_ssize_t n) { return PyList_New(n); }";

const FULL: &str = "static PyObject *new_table(Py_ssize_t n)
{
    Py_ssize_t i;
    PyObject *list = PyList_New(n);
    if (list == NULL)
        return NULL;
    for (i = 0; i < n; i++) {
        PyObject *number = PyLong_FromSsize_t(i);
        if (number == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, i, number);
    }
    return list;
}";

/// What is said of an item of a list that `new_table` makes, and that is given away.
fn given_away(new_table: &str) -> String {
    let text = format!(
        "{new_table}

static PyObject *f(PyObject *self, PyObject *key, long at)
{{
    PyObject *item, *known, *table = new_table(4);
    if (table == NULL)
        return NULL;
    if (PyObject_SetAttr(self, key, table) < 0)
        goto failed;
    item = PyList_GET_ITEM(table, at);
    known = PyObject_Str(item);
    Py_DECREF(table);
    return known;
failed:
    Py_DECREF(table);
    return NULL;
}}
"
    );
    crate::testing::report(&UNCHECKED_LIST_ITEM, &text)
}

#[test]
fn a_helper_fills_the_list_or_does_not() {
    insta::assert_snapshot!(given_away(HELPER), @"
        10: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 8; another thread can free the object
          10: borrowed here
          11: used here, after another thread may have freed it
          by hand: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
    insta::assert_snapshot!(given_away(FULL), @"
        25: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 23; another thread can free the object
          25: borrowed here
          26: used here, after another thread may have freed it
          review: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
          assumes that in `f`, `PyObject_SetAttr(self, key, table)` (line 23) need not be undone at the new error exit (the function could not leave here before)
        ");
    let half = FULL.replace("PyList_SET_ITEM(", "if (i & 1) PyList_SET_ITEM(");
    insta::assert_snapshot!(given_away(&half), @"
        25: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 23; another thread can free the object
          25: borrowed here
          26: used here, after another thread may have freed it
          by hand: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
}

/// What is said of an item of a list in a static variable, where `rest` comes after the lookup.
fn in_static(new_table: &str, rest: &str) -> String {
    let text = format!(
        "{new_table}

static PyObject *table;

int set_up(void)
{{
    table = new_table(4);
    return table == NULL ? -1 : 0;
}}

static PyObject *f(PyObject *self, long at)
{{
    PyObject *item = PyList_GET_ITEM(table, at);
    {rest}
    return PyObject_Str(item);
}}
"
    );
    crate::testing::report(&UNCHECKED_LIST_ITEM, &text)
}

#[test]
fn a_list_in_a_variable_may_have_gaps_that_the_function_minds() {
    let minds = "if (item == NULL) return PyLong_FromLong(at);";
    insta::assert_snapshot!(in_static(HELPER, minds), @"
        13: `PyList_GET_ITEM` returns a borrowed reference from `table`, a variable that all threads share; another thread can free the object
          13: borrowed here
          15: used here, after another thread may have freed it
          review: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
          assumes that all slots of the list are filled (`PyList_GetItemRef` crashes on an empty slot, and it is created with empty slots, and the function continues with `NULL`)
          assumes that if the item no longer exists, `f` need not do what it does when `item` is `NULL`
        ");
    insta::assert_snapshot!(in_static(FULL, minds), @"
        28: `PyList_GET_ITEM` returns a borrowed reference from `table`, a variable that all threads share; another thread can free the object
          28: borrowed here
          30: used here, after another thread may have freed it
          review: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
          assumes that if the item no longer exists, `f` need not do what it does when `item` is `NULL`
        ");
    // Where an empty slot crashes as it is, there is none.
    let reads = "Py_INCREF(item); Py_DECREF(item);";
    insta::assert_snapshot!(in_static(HELPER, reads), @"
        13: `PyList_GET_ITEM` returns a borrowed reference from `table`, a variable that all threads share; another thread can free the object
          13: borrowed here
          14: used here, after another thread may have freed it
          review: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
          assumes that all slots of the list are filled (`PyList_GetItemRef` crashes on an empty slot, and it is created with empty slots, and the function continues with `NULL`)
        ");
}
