//! Loops that remember the size of the list from before.

use super::of;

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
        +        pair = PyList_GetItemRef(list, i);
        +        if (pair == NULL) {
        +            PyErr_Clear();
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
        +        PyObject *item = PyList_GetItemRef(list, k);
        +        if (item == NULL) {
        +            PyErr_Clear();
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
        Py_ssize_t n = PyList_Size(list); PyObject *made = PyList_New(n);  told(made);: 6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
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
