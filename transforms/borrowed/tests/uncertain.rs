//! Items that no macro looks up any more, where something else than a variable tells whether the
//! function owns what it holds, or has begun what it ends.

use super::object;

/// A function that makes a dict or takes that of `self`, looks an item up, and leaves as `exit` says.
fn owned_or_not(exit: &str) -> String {
    object(&format!(
        r#"
    int own = 0;
    PyObject *state = ((struct node *)self)->state;
    if (state == NULL) {{
        state = PyDict_New();
        if (state == NULL)
            return NULL;
        own = 1;
    }}
    if (PyObject_SetItem(state, key, PyList_GET_ITEM(list, i)) < 0) {{
        {exit}
    }}
    if (own)
        Py_DECREF(state);
    Py_RETURN_NONE;
"#
    ))
}

#[test]
fn no_exit_is_that_of_one_owner() {
    insta::assert_snapshot!(owned_or_not(
        r#"if (own) {
            Py_DECREF(state);
            return NULL;
        }
        return NULL;"#
    ), @"11: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn no_exit_is_that_of_one_owner_where_a_switch_tells() {
    insta::assert_snapshot!(owned_or_not(
        r#"switch (own) {
        case 1:
            Py_DECREF(state);
        }
        return NULL;"#
    ), @"11: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn a_label_that_asks_serves() {
    insta::assert_snapshot!(object(
        r#"
    int own = 0;
    PyObject *state = ((struct node *)self)->state;
    if (state == NULL) {
        state = PyDict_New();
        if (state == NULL)
            return NULL;
        own = 1;
    }
    if (PyObject_SetItem(state, key, PyList_GET_ITEM(list, i)) < 0)
        goto fail;
    if (own)
        Py_DECREF(state);
    Py_RETURN_NONE;
fail:
    if (own)
        Py_DECREF(state);
    return NULL;
"#
    ), @"
        @@
             int own = 0;
             PyObject *state = ((struct node *)self)->state;
        +    PyObject *item;
             if (state == NULL) {
                 state = PyDict_New();
        @@
                 own = 1;
             }
        -    if (PyObject_SetItem(state, key, PyList_GET_ITEM(list, i)) < 0)
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        goto fail;
        +    }
        +    if (PyObject_SetItem(state, key, item) < 0) {
        +        Py_DECREF(item);
                 goto fail;
        +    }
        +    Py_DECREF(item);
             if (own)
                 Py_DECREF(state);
        ");
}

#[test]
fn no_exit_releases_what_one_of_two_calls_lends() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *state = key == Py_None ? NULL : PyDict_New();
    if (key == Py_None)
        state = default_state();
    if (state == NULL)
        return NULL;
    if (PyObject_SetItem(state, key, PyList_GET_ITEM(list, i)) < 0) {
        if (key == Py_None)
            return NULL;
        Py_DECREF(state);
        return NULL;
    }
    if (key == Py_None)
        Py_RETURN_NONE;
    Py_DECREF(state);
    Py_RETURN_NONE;
"#
    ), @"8: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn no_exit_gives_back_a_buffer_that_may_not_be_there() {
    insta::assert_snapshot!(object(
        r#"
    Py_buffer view;
    int have = 0;
    if (PyObject_CheckBuffer(key)) {
        if (PyObject_GetBuffer(key, &view, PyBUF_SIMPLE) < 0)
            return NULL;
        have = 1;
    }
    if (PyObject_SetItem(self, key, PyList_GET_ITEM(list, i)) < 0) {
        if (have) {
            PyBuffer_Release(&view);
            return NULL;
        }
        return NULL;
    }
    if (have)
        PyBuffer_Release(&view);
    Py_RETURN_NONE;
"#
    ), @"10: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn no_exit_ends_what_may_be_of_a_caller() {
    insta::assert_snapshot!(object(
        r#"
    struct node *node = (struct node *)self;
    int mine = 0;
    if (!node->busy) {
        node->busy = 1;
        mine = 1;
    }
    if (PyObject_SetItem(self, key, PyList_GET_ITEM(list, i)) < 0) {
        if (mine)
            node->busy = 0;
        return NULL;
    }
    if (mine)
        node->busy = 0;
    Py_RETURN_NONE;
"#
    ), @"9: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `node->busy = 0;` on line 11 undoes what may have begun)");
}

#[test]
fn what_is_counted_behind_the_lookup_is_lent_there() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result, *state = peek(self);
    PyObject *item = PyList_GET_ITEM(list, i);
    Py_INCREF(state);
    result = PyObject_CallOneArg(state, item);
    Py_DECREF(state);
    return result;
"#
    ), @"4: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn memory_that_is_lent_first_is_not_freed() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result;
    char *text = ((struct node *)self)->name ? ((struct node *)self)->name : "none";
    PyObject *item = PyList_GET_ITEM(list, i);
    int rc = PyObject_IsTrue(item);
    text = strdup(text);
    result = PyObject_CallFunction(self, "si", text, rc);
    free(text);
    return result;
"#
    ), @r#"
    @@
         PyObject *result;
         char *text = ((struct node *)self)->name ? ((struct node *)self)->name : "none";
    -    PyObject *item = PyList_GET_ITEM(list, i);
    -    int rc = PyObject_IsTrue(item);
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    int rc;
    +    if (item == NULL) {
    +        return NULL;
    +    }
    +    rc = PyObject_IsTrue(item);
    +    Py_DECREF(item);
         text = strdup(text);
         result = PyObject_CallFunction(self, "si", text, rc);
    "#);
}

#[test]
fn an_object_without_its_fields_is_not_released() {
    insta::assert_snapshot!(object(
        r#"
    struct node *node = PyObject_New(struct node, &Node_Type);
    PyObject *item;
    if (node == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    node->name = Py_NewRef(item);
    node->key = Py_NewRef(key);
    return (PyObject *)node;
"#
    ), @"7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn an_object_is_released_as_nowhere_else() {
    insta::assert_snapshot!(object(
        r#"
    struct node *node = PyObject_New(struct node, &Node_Type);
    PyObject *item;
    if (node == NULL)
        return NULL;
    node->name = NULL;
    item = PyList_GET_ITEM(list, i);
    node->name = Py_NewRef(item);
    return (PyObject *)node;
"#
    ), @"
        8: review: in `f`, `Py_DECREF(node)` is correct at the new error exit (the function could not leave here before)
        @@
                 return NULL;
             node->name = NULL;
        -    item = PyList_GET_ITEM(list, i);
        -    node->name = Py_NewRef(item);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(node);
        +        return NULL;
        +    }
        +    node->name = item;
             return (PyObject *)node;
         }
        ");
}

#[test]
fn the_exit_of_the_call_that_fills_a_variable_is_not_taken() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *name = NULL, *item, *result;
    if (PyObject_GetOptionalAttr(self, key, &name) < 0)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    result = PyNumber_Add(name, item);
    Py_DECREF(name);
    return result;
"#
    ), @"6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn the_exit_of_an_element_that_is_not_there_is_not_taken() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item, *result, *made[2];
    made[0] = PyLong_FromLong(1);
    if (made[0] == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    result = PyNumber_Add(made[0], item);
    Py_DECREF(made[0]);
    return result;
"#
    ), @"7: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `made` (the checked call can fail where the macro could not)");
}

#[test]
fn what_replaces_a_variable_is_owned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *best = NULL;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        Py_INCREF(item);
        Py_XSETREF(best, item);
        if (PyObject_SetItem(self, key, best) < 0) {
            Py_DECREF(best);
            return NULL;
        }
    }
    return best ? best : Py_NewRef(Py_None);
"#
    ), @"
        @@
         {
             PyObject *best = NULL;
        +    int failed = 0;
        +    Py_BEGIN_CRITICAL_SECTION(list);
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
                 PyObject *item = PyList_GET_ITEM(list, i);
        @@
                 if (PyObject_SetItem(self, key, best) < 0) {
                     Py_DECREF(best);
        -            return NULL;
        +            failed = 1;
        +            break;
                 }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed) {
        +        return NULL;
        +    }
             return best ? best : Py_NewRef(Py_None);
         }
        ");
}
