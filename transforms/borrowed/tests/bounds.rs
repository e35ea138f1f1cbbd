//! Loops that remember the size of the list from before.

use super::{all, of};

#[test]
fn nobody_else_asks_for_the_size() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    Py_ssize_t n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        use(item);
    }
"#
    ), @"
        @@
             Py_ssize_t n = PyList_Size(list);
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
                 use(item);
        +        Py_DECREF(item);
             }
         }
        ");
}

#[test]
fn a_field_tells_how_many_there_are() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    struct numbers *all = (struct numbers *)self;
    PyObject *pair;

    all->count = (int)PyList_Size(list);
    all->values = PyMem_Realloc(all->values, all->count * sizeof(double));

    for (i = 0; i < all->count; i++) {
        pair = PyList_GET_ITEM(list, i);
        all->values[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(pair, 0));
    }
"#
    ), @"
    @@
     
         for (i = 0; i < all->count; i++) {
    -        pair = PyList_GET_ITEM(list, i);
    +        PyObject *exc = PyErr_GetRaisedException();
    +        pair = PyList_GetItemRef(list, i);
    +        PyErr_SetRaisedException(exc);
    +        if (pair == NULL) {
    +            all->count = i;
    +            break;
    +        }
             all->values[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(pair, 0));
    +        Py_DECREF(pair);
         }
     }
    ");
}

#[test]
fn a_variable_is_read_behind_the_loop() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    Py_ssize_t k, n = PyList_Size(list);
    double values[n];
    for (k = 0; k < n; k++)
        values[k] = PyFloat_AsDouble(PyList_GET_ITEM(list, k));
    use_all(values, n);
"#
    ), @"
    @@
         Py_ssize_t k, n = PyList_Size(list);
         double values[n];
    -    for (k = 0; k < n; k++)
    -        values[k] = PyFloat_AsDouble(PyList_GET_ITEM(list, k));
    +    for (k = 0; k < n; k++) {
    +        PyObject *exc = PyErr_GetRaisedException();
    +        PyObject *item = PyList_GetItemRef(list, k);
    +        PyErr_SetRaisedException(exc);
    +        if (item == NULL) {
    +            n = k;
    +            break;
    +        }
    +        values[k] = PyFloat_AsDouble(item);
    +        Py_DECREF(item);
    +    }
         use_all(values, n);
     }
    ");
}

/// What stands before the loop, in its body before the lookup, and behind it.
const SIZES: [(&str, &str, &str); 18] = [
    ("Py_ssize_t n = PyList_Size(list);", "", ""),
    (
        "Py_ssize_t n = PyList_Size(list); char *p = malloc(n + 1);",
        "",
        "free(p);",
    ),
    (
        "Py_ssize_t n = PyList_Size(list); if (n < 2) return;",
        "",
        "",
    ),
    ("Py_ssize_t n = PyList_Size(list); told(self, n);", "", ""),
    (
        "Py_ssize_t n = PyList_Size(list), m = n;",
        "",
        "told(self, m);",
    ),
    (
        "Py_ssize_t n = PyList_Size(list), m = PyList_Size(list);",
        "",
        "told(self, m);",
    ),
    (
        "Py_ssize_t n = PyList_Size(list); PyObject *made = PyList_New(n);",
        "",
        "told(made);",
    ),
    ("static Py_ssize_t n; n = PyList_Size(list);", "", ""),
    (
        "const Py_ssize_t n = PyList_Size(list);",
        "",
        "told(self, n);",
    ),
    (
        "Py_ssize_t n = PyList_Size(list), *p = &n;",
        "",
        "told(self, p);",
    ),
    ("Py_ssize_t n = PyList_Size(key);", "", ""),
    ("Py_ssize_t n; if (key) { n = PyList_Size(list); }", "", ""),
    (
        "Py_ssize_t n; if (key) { n = 3; goto on; } n = PyList_Size(list); on: ;",
        "",
        "",
    ),
    ("Py_ssize_t n = PyList_Size(list); list = key;", "", ""),
    (
        "Py_ssize_t n = PyList_Size(list);",
        "((struct foo *)self)->done++;",
        "",
    ),
    ("Py_ssize_t n = PyList_Size(list);", "told(self, i);", ""),
    (
        "Py_ssize_t n = PyList_Size(list);",
        "if (i == n - 1) break_off();",
        "",
    ),
    ("Py_ssize_t n = PyList_Size(list);", "n--;", ""),
];

/// What becomes of a loop over a list of `n` items: what it leaves if one is gone.
fn outcome(before: &str, in_front: &str, after: &str) -> String {
    let body = format!(
        "{before}\n    for (i = 0; i < n; i++) {{\n        {in_front}\n        \
         use(PyList_GET_ITEM(list, i));\n    }}\n    {after}"
    );
    let text = of("void", &body);
    if text.contains("break;") {
        return "ends the loop".to_owned();
    }
    if text.contains("return;\n+") {
        return "leaves the function".to_owned();
    }
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn something_else_depends_on_the_size() {
    let lines = SIZES.map(|(before, in_front, after)| {
        format!(
            "{before} {in_front} {after}: {}",
            outcome(before, in_front, after)
        )
    });
    insta::assert_snapshot!(lines.join("\n"), @"
        Py_ssize_t n = PyList_Size(list);  : ends the loop
        Py_ssize_t n = PyList_Size(list); char *p = malloc(n + 1);  free(p);: ends the loop
        Py_ssize_t n = PyList_Size(list); if (n < 2) return;  : leaves the function
        Py_ssize_t n = PyList_Size(list); told(self, n);  : leaves the function
        Py_ssize_t n = PyList_Size(list), m = n;  told(self, m);: leaves the function
        Py_ssize_t n = PyList_Size(list), m = PyList_Size(list);  told(self, m);: leaves the function
        Py_ssize_t n = PyList_Size(list); PyObject *made = PyList_New(n);  told(made);: 6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        static Py_ssize_t n; n = PyList_Size(list);  : leaves the function
        const Py_ssize_t n = PyList_Size(list);  told(self, n);: leaves the function
        Py_ssize_t n = PyList_Size(list), *p = &n;  told(self, p);: leaves the function
        Py_ssize_t n = PyList_Size(key);  : leaves the function
        Py_ssize_t n; if (key) { n = PyList_Size(list); }  : leaves the function
        Py_ssize_t n; if (key) { n = 3; goto on; } n = PyList_Size(list); on: ;  : leaves the function
        Py_ssize_t n = PyList_Size(list); list = key;  : leaves the function
        Py_ssize_t n = PyList_Size(list); ((struct foo *)self)->done++; : leaves the function
        Py_ssize_t n = PyList_Size(list); told(self, i); : leaves the function
        Py_ssize_t n = PyList_Size(list); if (i == n - 1) break_off(); : leaves the function
        Py_ssize_t n = PyList_Size(list); n--; : leaves the function
        ");
}

/// The first item goes until there is none.
#[test]
fn the_list_is_emptied() {
    insta::assert_snapshot!(of(
        "int",
        r#"
    struct queue *queue = (struct queue *)self;
    while (queue->waiting && PyList_GET_SIZE(queue->waiting)) {
        PyObject *done = NULL, *first = PyList_GET_ITEM(queue->waiting, 0);
        done = PyObject_CallNoArgs(first);
        Py_XDECREF(done);
        PyList_SetSlice(queue->waiting, 0, 1, NULL);
    }
    return 0;
"#
    ), @"
    @@
         struct queue *queue = (struct queue *)self;
         while (queue->waiting && PyList_GET_SIZE(queue->waiting)) {
    -        PyObject *done = NULL, *first = PyList_GET_ITEM(queue->waiting, 0);
    +        PyObject *exc = PyErr_GetRaisedException();
    +        PyObject *done = NULL, *first = PyList_GetItemRef(queue->waiting, 0);
    +        PyErr_SetRaisedException(exc);
    +        if (first == NULL) {
    +            break;
    +        }
             done = PyObject_CallNoArgs(first);
    +        Py_DECREF(first);
             Py_XDECREF(done);
             PyList_SetSlice(queue->waiting, 0, 1, NULL);
    ");
}

/// The pass has done something already, or the size says nothing of the first item.
#[test]
fn the_list_is_not_just_emptied() {
    insta::assert_snapshot!(of(
        "int",
        r#"
    struct queue *queue = (struct queue *)self;
    while (PyList_GET_SIZE(list) > 0) {
        queue->taken++;
        use(PyList_GET_ITEM(list, 0));
        PyList_SetSlice(list, 0, 1, NULL);
    }
    while (queue->open || PyList_GET_SIZE(list)) {
        use(PyList_GET_ITEM(list, 0));
        PyList_SetSlice(list, 0, 1, NULL);
    }
    while (PyList_GET_SIZE(dict)) {
        use(PyList_GET_ITEM(list, 0));
        PyList_SetSlice(list, 0, 1, NULL);
    }
    while (PyList_GET_SIZE(list) > 0) {
        use(PyList_GET_ITEM(list, 1));
        PyList_SetSlice(list, 0, 1, NULL);
    }
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        queue->taken++;
        use(PyList_GET_ITEM(list, i));
    }
    return 0;
"#
    ), @"
        6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        10: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        14: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        18: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        23: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn what_the_pass_made_is_released() {
    insta::assert_snapshot!(of(
        "PyObject *",
        r#"
    PyObject *row;
    Py_ssize_t k, n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        row = PyList_New(2);
        for (k = 0; k < 2; k++)
            PyList_SET_ITEM(row, k, PyLong_FromLong(0));
        PyDict_SetItem(dict, PyList_GET_ITEM(list, i), row);
        Py_DECREF(row);
    }
    Py_RETURN_NONE;
"#
    ), @"
    @@
         Py_ssize_t k, n = PyList_Size(list);
         for (i = 0; i < n; i++) {
    +        PyObject *exc;
    +        PyObject *item;
             row = PyList_New(2);
             for (k = 0; k < 2; k++)
                 PyList_SET_ITEM(row, k, PyLong_FromLong(0));
    -        PyDict_SetItem(dict, PyList_GET_ITEM(list, i), row);
    +        exc = PyErr_GetRaisedException();
    +        item = PyList_GetItemRef(list, i);
    +        PyErr_SetRaisedException(exc);
    +        if (item == NULL) {
    +            Py_XDECREF(row);
    +            break;
    +        }
    +        PyDict_SetItem(dict, item, row);
    +        Py_DECREF(item);
             Py_DECREF(row);
         }
    ");
}

/// Others have seen it, or it is read behind the loop.
#[test]
fn what_the_pass_made_is_not_its_own() {
    insta::assert_snapshot!(of(
        "PyObject *",
        r#"
    PyObject *row = NULL;
    Py_ssize_t k = 0, n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        row = PyList_New(2);
        publish(row);
        PyDict_SetItem(dict, PyList_GET_ITEM(list, i), row);
        Py_DECREF(row);
    }
    n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        PyList_SET_ITEM(row, 0, PyLong_FromLong(0));
        use(PyList_GET_ITEM(list, i));
    }
    n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        k++;
        use(PyList_GET_ITEM(list, i));
    }
    use_number(k);
    n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        row = PyList_New(2);
        PyDict_SetItem(dict, PyList_GET_ITEM(list, i), row);
    }
    return row;
"#
    ), @"
        8: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        14: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        19: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        25: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn the_other_branch_does_not_run_before() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    int found = 0;
    Py_ssize_t n = PyList_Size(list);
    for (i = 0; i < n; i++) {
        if (self == NULL) {
            if (matches(PyList_GET_ITEM(list, i))) {
                found = 1;
                break;
            }
        }
        else {
            if (matches(PyUnicode_AsUTF8(PyList_GET_ITEM(list, i)))) {
                found = 1;
                break;
            }
        }
    }
    tell(found);
"#
    ), @"
    @@
         for (i = 0; i < n; i++) {
             if (self == NULL) {
    -            if (matches(PyList_GET_ITEM(list, i))) {
    +            PyObject *exc = PyErr_GetRaisedException();
    +            PyObject *item = PyList_GetItemRef(list, i);
    +            PyErr_SetRaisedException(exc);
    +            if (item == NULL) {
    +                break;
    +            }
    +            if (matches(item)) {
    +                Py_DECREF(item);
                     found = 1;
                     break;
                 }
    +            Py_DECREF(item);
             }
             else {
    -            if (matches(PyUnicode_AsUTF8(PyList_GET_ITEM(list, i)))) {
    +            PyObject *exc = PyErr_GetRaisedException();
    +            PyObject *item = PyList_GetItemRef(list, i);
    +            PyErr_SetRaisedException(exc);
    +            if (item == NULL) {
    +                break;
    +            }
    +            if (matches(PyUnicode_AsUTF8(item))) {
    +                Py_DECREF(item);
                     found = 1;
                     break;
                 }
    +            Py_DECREF(item);
             }
         }
    ");
}

#[test]
fn a_search_that_ends_without_a_match_finds_nothing() {
    insta::assert_snapshot!(of(
        "enum outcome",
        r#"
    PyObject *callable = NULL;
    enum outcome ret;
    Py_ssize_t n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        callable = PyList_GET_ITEM(list, i);
        if (callable == key) {
            Py_INCREF(callable);
            break;
        }
        else {
            callable = NULL;
        }
    }
    if (!callable) {
        ret = NOT_HANDLED;
        goto out;
    }
    ret = handle(self, callable);
out:
    Py_CLEAR(callable);
    return ret;
"#
    ), @"
        @@
             Py_ssize_t n = PyList_GET_SIZE(list);
             for (i = 0; i < n; i++) {
        -        callable = PyList_GET_ITEM(list, i);
        +        callable = PyList_GetItemRef(list, i);
        +        if (callable == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
                 if (callable == key) {
        -            Py_INCREF(callable);
                     break;
                 }
                 else {
        +            Py_DECREF(callable);
                     callable = NULL;
                 }
        ");
}

#[test]
fn a_search_that_ends_with_the_last_item_finds_something() {
    insta::assert_snapshot!(of(
        "enum outcome",
        r#"
    PyObject *callable = NULL;
    Py_ssize_t n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        callable = PyList_GET_ITEM(list, i);
        if (callable == key)
            break;
    }
    return handle(self, callable);
"#
    ), @"
        6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn an_array_of_the_caller_is_filled_to_its_end() {
    let fill = |end: &str| {
        let fixed = all(&format!(
            "static Py_ssize_t fill(PyObject *list, double *out, Py_ssize_t *count)\n{{\n    \
             Py_ssize_t i, n = PyList_GET_SIZE(list);\n    for (i = 0; i < n; i++) {{\n        \
             PyObject *item = PyList_GET_ITEM(list, i);\n        \
             out[i] = PyFloat_CheckExact(item) ? PyFloat_AS_DOUBLE(item) : 0;\n    }}\n    \
             {end}\n}}\n"
        ));
        let is_held = fixed.contains("Py_BEGIN_CRITICAL_SECTION(list);");
        let breaks = fixed.contains("            break;\n");
        (is_held, breaks)
    };
    assert_eq!(fill("return 0;"), (true, false));
    assert_eq!(fill("return n;"), (false, true));
    assert_eq!(fill("*count = i; return 0;"), (false, true));
    assert_eq!(
        fill("for (i = 0; i < n; i++) out[i] *= 2; return 1;"),
        (true, false)
    );
}
