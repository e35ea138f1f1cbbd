//! Items that no macro looks up any more, where the function owns something at the exit.

use super::{all, int, object};
use crate::testing::report;
use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;

#[test]
fn nothing_releases_what_is_owned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    if (tuple == NULL)
        return NULL;
    use(PyList_GET_ITEM(list, i));
    return tuple;
"#
    ), @"
        @@
         {
             PyObject *tuple = PyTuple_New(1);
        +    PyObject *item;
             if (tuple == NULL)
                 return NULL;
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(tuple);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return tuple;
         }
        ");
}

#[test]
fn the_label_would_release_twice() {
    insta::assert_snapshot!(int(
        r#"
    int result = -1;
    PyObject *name = PyObject_Str(key);
    if (name == NULL)
        goto done;
    Py_DECREF(name);
    use(PyList_GET_ITEM(list, i));
    result = 0;
    return result;
done:
    Py_XDECREF(name);
    return result;
"#
    ), @"
        8: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn what_the_label_would_return_is_released() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result = PyObject_Str(key);
    if (result == NULL)
        goto done;
    use(PyList_GET_ITEM(list, i));
done:
    return result;
"#
    ), @"
        @@
         {
             PyObject *result = PyObject_Str(key);
        +    PyObject *item;
             if (result == NULL)
                 goto done;
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(result);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
         done:
             return result;
        ");
}

#[test]
fn a_lock_is_held() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    take_lock(self);
    use(PyList_GET_ITEM(list, i));
    drop_lock(self);
    return 0;
"#
    ), @"
        6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

const VISITS: &str = r"
struct found { PyObject *all; PyObject *first; Py_ssize_t count; };

static int
count(PyObject *part, struct found *found)
{
    found->count++;
    return PySet_Add(found->all, part);
}

static int
f(PyObject *self, PyObject *list)
{
    struct found found = {NULL, NULL, 0};
    Py_ssize_t i;

    if ((found.all = PySet_New(NULL)) == NULL)
        return -1;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (Py_TYPE(item)->tp_traverse(item, (visitproc)count, &found) == -1)
            goto error;
    }
    show(found.all);
    Py_DECREF(found.all);
    return 0;
error:
    Py_DECREF(found.all);
    return -1;
}
";

#[test]
fn a_visitor_stores_nothing_of_the_item() {
    insta::assert_snapshot!(all(VISITS), @"
        19: review: in `f`, `Py_DECREF(found.all)` (line 27) is correct at the new error exit (the function could not leave here before)
        @@
                 return -1;
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        if (Py_TYPE(item)->tp_traverse(item, (visitproc)count, &found) == -1)
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            goto error;
        +        }
        +        if (Py_TYPE(item)->tp_traverse(item, (visitproc)count, &found) == -1) {
        +            Py_DECREF(item);
                     goto error;
        +        }
        +        Py_DECREF(item);
             }
             show(found.all);
        ");
}

#[test]
fn a_visitor_stores_a_part_of_the_item() {
    let keeps = [
        "found->first = part;",
        "keep(&found->first, part);",
        "store(found, part);",
    ];
    for keeps in keeps {
        let text = VISITS.replace("found->count++;", keeps);
        let found = report(&UNCHECKED_LIST_ITEM, &text);
        assert!(!found.contains("safe"), "{keeps}: {found}");
    }
}
