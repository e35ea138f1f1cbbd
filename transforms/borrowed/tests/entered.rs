//! Loops that just end at an item that is gone, where an exception may be pending: it stays.

use super::all;

/// The loop over `list`, in a function that is called with an exception.
fn entered(body: &str) -> String {
    all(&format!(
        "
static void each(PyObject *list)
{{
{}
}}
static PyObject *g(PyObject *list)
{{
    PyObject *name = PyObject_GetAttrString(list, \"name\");
    each(list);
    return name;
}}
",
        body.trim_matches('\n')
    ))
}

#[test]
fn an_assignment() {
    insta::assert_snapshot!(entered(
        r#"
    Py_ssize_t i;
    PyObject *item;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        item = PyList_GET_ITEM(list, i);
        use(item);
    }
"#
    ), @"
        @@
             PyObject *item;
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        item = PyList_GET_ITEM(list, i);
        +        PyObject *exc = PyErr_GetRaisedException();
        +        item = PyList_GetItemRef(list, i);
        +        PyErr_SetRaisedException(exc);
        +        if (item == NULL) {
        +            break;
        +        }
                 use(item);
        +        Py_DECREF(item);
             }
         }
        ");
}

#[test]
fn the_only_statement() {
    insta::assert_snapshot!(entered(
        r#"
    Py_ssize_t i;
    for (i = 0; i < PyList_GET_SIZE(list); i++)
        use(PyList_GET_ITEM(list, i));
"#
    ), @"
        @@
         {
             Py_ssize_t i;
        -    for (i = 0; i < PyList_GET_SIZE(list); i++)
        -        use(PyList_GET_ITEM(list, i));
        +    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        PyErr_SetRaisedException(exc);
        +        if (item == NULL) {
        +            break;
        +        }
        +        use(item);
        +        Py_DECREF(item);
        +    }
         }
         static PyObject *g(PyObject *list)
        ");
}

#[test]
fn a_declaration() {
    insta::assert_snapshot!(entered(
        r#"
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        PyObject *other = NULL;
        use(item, &other);
    }
"#
    ), @"
        @@
         {
             for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *item = PyList_GetItemRef(list, i);
                 PyObject *other = NULL;
        +        PyErr_SetRaisedException(exc);
        +        if (item == NULL) {
        +            break;
        +        }
                 use(item, &other);
        +        Py_DECREF(item);
             }
         }
        ");
}

#[test]
fn declarations_of_c89() {
    insta::assert_snapshot!(entered(
        r#"
    Py_ssize_t i;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        int size = weigh(item);
        use(item, size);
    }
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        int size = weigh(PyList_GET_ITEM(list, i));
        use(size);
    }
"#
    ), @"
        @@
             Py_ssize_t i;
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        int size = weigh(item);
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        int size;
        +        PyErr_SetRaisedException(exc);
        +        if (item == NULL) {
        +            break;
        +        }
        +        size = weigh(item);
                 use(item, size);
        +        Py_DECREF(item);
             }
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        int size = weigh(PyList_GET_ITEM(list, i));
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *item2 = PyList_GetItemRef(list, i);
        +        int size;
        +        PyErr_SetRaisedException(exc);
        +        if (item2 == NULL) {
        +            break;
        +        }
        +        size = weigh(item2);
        +        Py_DECREF(item2);
                 use(size);
             }
        ");
}

#[test]
fn lookups_of_items() {
    insta::assert_snapshot!(entered(
        r#"
    Py_ssize_t i, j;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *row = PyList_GET_ITEM(list, i);
        for (j = 0; j < PyList_GET_SIZE(row); j++)
            use(PyList_GET_ITEM(row, j));
    }
"#
    ), @"
        @@
             Py_ssize_t i, j;
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *row = PyList_GET_ITEM(list, i);
        -        for (j = 0; j < PyList_GET_SIZE(row); j++)
        -            use(PyList_GET_ITEM(row, j));
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *row = PyList_GetItemRef(list, i);
        +        PyErr_SetRaisedException(exc);
        +        if (row == NULL) {
        +            break;
        +        }
        +        for (j = 0; j < PyList_GET_SIZE(row); j++) {
        +            PyObject *exc2 = PyErr_GetRaisedException();
        +            PyObject *item = PyList_GetItemRef(row, j);
        +            PyErr_SetRaisedException(exc2);
        +            if (item == NULL) {
        +                break;
        +            }
        +            use(item);
        +            Py_DECREF(item);
        +        }
        +        Py_DECREF(row);
             }
         }
        ");
}

#[test]
fn an_exception_of_an_earlier_pass() {
    insta::assert_snapshot!(all(
        r#"
static double total;
static void f(PyObject *self, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        total += PyFloat_AsDouble(item);
    }
    if (PyErr_Occurred())
        log_error(self);
}
"#
    ), @"
        @@
         {
             for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        PyErr_SetRaisedException(exc);
        +        if (item == NULL) {
        +            break;
        +        }
                 total += PyFloat_AsDouble(item);
        +        Py_DECREF(item);
             }
             if (PyErr_Occurred())
        ");
}

#[test]
fn an_exception_that_only_the_caller_asks_for() {
    insta::assert_snapshot!(all(
        r#"
static double total;
static void add_up(PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        total += PyFloat_AsDouble(item);
    }
}
static int g(PyObject *list)
{
    add_up(list);
    return PyErr_Occurred() ? -1 : 0;
}
"#
    ), @"
        @@
         {
             for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *exc = PyErr_GetRaisedException();
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        PyErr_SetRaisedException(exc);
        +        if (item == NULL) {
        +            break;
        +        }
                 total += PyFloat_AsDouble(item);
        +        Py_DECREF(item);
             }
         }
        ");
}

/// What gives the list may raise an exception of its own, which has to be told.
#[test]
fn a_list_that_a_call_gives() {
    insta::assert_snapshot!(all(
        r#"
static long f(PyObject *self)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows(self)); i++) {
        PyObject *item = PyList_GET_ITEM(rows(self), i);
        total += PyFloat_AsDouble(item);
    }
    if (PyErr_Occurred())
        log_error(self);
    return 0;
}
"#
    ), @"4: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn a_function_that_is_called_by_a_pointer_may_be_called_with_an_exception() {
    let said = |test: &str| {
        super::all(&format!(
            "
typedef void (*fail_t)(PyObject *dict, const char *what);
struct ops {{ fail_t fail; }};
static void warn(PyObject *dict, const char *what)
{{
    PyObject *v = PyDict_GetItemString(dict, what);
    if (v != NULL)
        use(v);
}}
static const struct ops OPS = {{warn}};
PyObject *f(PyObject *dict, PyObject *key)
{{
    PyObject *number = PyNumber_Index(key);
    if ({test})
        OPS.fail(dict, \"b\");
    return number;
}}
"
        ))
    };
    let keeps = |test: &str| {
        let said = said(test);
        assert!(said.contains("PyDict_GetItemStringRef"), "{said}");
        said.contains("PyErr_GetRaisedException()")
    };
    assert!(keeps("number == NULL"));
    assert!(!keeps("number != NULL"));
}

#[test]
fn the_destructor_of_a_capsule_may_be_called_with_an_exception() {
    let said = |third: &str| {
        super::all(&format!(
            "
static void drop(PyObject *capsule)
{{
    PyObject *v = PyDict_GetItemString(cache, \"b\");
    if (v != NULL)
        use(v);
}}
PyObject *make(PyObject *self, PyObject *dict)
{{
    if (callback == drop)
        return NULL;
    return PyCapsule_New(dict, NULL, {third});
}}
"
        ))
    };
    let keeps = |third: &str| {
        let said = said(third);
        assert!(said.contains("PyDict_GetItemStringRef"), "{said}");
        said.contains("PyErr_GetRaisedException()")
    };
    assert!(keeps("drop"));
    assert!(keeps("(PyCapsule_Destructor)drop"));
    assert!(!keeps("NULL"));
}

/// Whether the lookup of a function, of which the address is taken, keeps an exception of before.
fn keeps(head: &str, function: &str, body: &str, behind: &str) -> bool {
    let said = super::all(&format!(
        "{head}
static {function}
{{
    PyObject *v = PyDict_GetItemString(cache, \"b\");
    {body}
}}
{behind}
"
    ));
    assert!(said.contains("PyDict_GetItemStringRef"), "{said}");
    said.contains("PyErr_GetRaisedException()")
}

#[test]
fn a_comparator_that_fails_is_called_again() {
    let keeps = |body: &str, before: &str, call: &str| {
        let behind = format!(
            "
static PyObject *f(PyObject *self, PyObject *o)
{{
    PyObject *r = PyObject_CallNoArgs(o);
    {before}
    {call};
    return r;
}}"
        );
        keeps(
            "static PyObject *cache;",
            "int cmp(const void *a, const void *b)",
            body,
            &behind,
        )
    };
    let fails = "return v ? (int)PyLong_AsLong(v) : 0;";
    let holds = "return v != NULL && PyList_Check(v);";
    let tested = "if (r == NULL) return NULL;";
    let sort = "qsort(items, n, sizeof *items, cmp)";
    assert!(keeps(fails, tested, sort));
    assert!(keeps(
        "return v ? PyObject_IsTrue(v) : 0;",
        tested,
        "items = bsearch(self, items, n, sizeof *items, cmp)"
    ));
    assert!(!keeps(holds, tested, sort));
    assert!(!keeps(
        "if (v && PyLong_AsLong(v) == -1 && PyErr_Occurred()) PyErr_Clear(); return 0;",
        tested,
        sort
    ));
    // Behind a call that has failed it begins with an exception.
    assert!(keeps(holds, "", sort));
    // Others may keep it, and call it whenever they like.
    assert!(keeps(holds, tested, "library_set_compare(items, &cmp)"));
    assert!(keeps(holds, tested, "self->ops->set(items, cmp)"));
    assert!(!keeps(holds, tested, "Py_AtExit((void (*)(void))cmp)"));
}

#[test]
fn a_visitor_is_called_again_after_it_has_failed() {
    let keeps = |body: &str, call: &str| {
        let behind = format!(
            "
static int each(PyObject *t, int (*f)(PyObject *, void *), void *arg)
{{
    Py_ssize_t i;
    int r = 0;
    for (i = 0; i < PyTuple_GET_SIZE(t); i++) {{
        {call}
    }}
    return r;
}}
static PyObject *f(PyObject *self, PyObject *t)
{{
    int r = each(t, visit, NULL);
    if (r < 0 || PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(r);
}}"
        );
        keeps(
            "static PyObject *cache;",
            "int visit(PyObject *k, void *arg)",
            body,
            &behind,
        )
    };
    let call = "f(PyTuple_GET_ITEM(t, i), arg)";
    let goes_on = format!("r |= {call};");
    let stops = format!("if ({call} < 0) return -1;");
    let fails = "return v && PyLong_AsLong(v) == 7;";
    let tells = "return v ? PyObject_IsTrue(v) : 0;";
    assert!(keeps(fails, &goes_on));
    assert!(keeps(tells, &goes_on));
    assert!(keeps(tells, &format!("{call};")));
    assert!(!keeps(tells, &stops));
    assert!(!keeps("return v != NULL && PyList_Check(v);", &goes_on));
}

#[test]
fn a_pointer_in_a_field_is_called_behind_a_failed_call() {
    let keeps = |set: &str, call: &str, test: &str| {
        let head = "
typedef struct node { PyObject *d; void (*drop)(struct node *); void (*other)(struct node *); } node;
static void (*hook)(struct node *);
static void (*hooks[2])(struct node *);
static PyObject *cache;";
        let behind = format!(
            "
static void drop_all(node *n)
{{
    {call};
}}
static PyObject *f(PyObject *self, PyObject *c)
{{
    node *n = calloc(1, sizeof *n);
    PyObject *r;
    {set}
    r = PyObject_CallNoArgs(c);
    {test}
    drop_all(n);
    return r;
}}"
        );
        keeps(
            head,
            "void drop(node *n)",
            "if (v == Py_None) use(v);",
            &behind,
        )
    };
    let tested = "if (r == NULL) return NULL;";
    assert!(keeps("n->drop = drop;", "n->drop(n)", ""));
    assert!(keeps("n->drop = drop;", "(*n->drop)(n)", ""));
    assert!(!keeps("n->drop = drop;", "n->drop(n)", tested));
    assert!(keeps("hook = drop;", "hook(n)", ""));
    assert!(!keeps("hook = drop;", "hook(n)", tested));
    assert!(keeps("hooks[1] = drop;", "hooks[1](n)", ""));
    assert!(keeps("*n = (node){c, drop};", "n->drop(n)", ""));
    assert!(!keeps("*n = (node){c, drop};", "n->drop(n)", tested));
    // What is called is another field, so nobody knows who calls this one.
    assert!(keeps("n->drop = drop;", "n->other(n)", tested));
    // Unless it goes from the one to the other.
    assert!(!keeps(
        "n->drop = drop; n->other = n->drop;",
        "n->other(n)",
        tested
    ));
    assert!(keeps(
        "n->drop = drop; n->other = n->drop;",
        "n->other(n)",
        ""
    ));
}
