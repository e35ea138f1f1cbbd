//! Structs of a caller that a function fills with what it looks up.

use crate::testing;
use crate::transforms::ALL;

const FILL: &str = r#"
typedef struct { PyObject *tag, *name; int n; } Filter;
typedef struct { int n; Filter filter; } Args;

static int fill(PyObject *dict, Filter *filter)
{
    PyObject *v = PyDict_GetItemString(dict, "tag");
    if (v != NULL) {
        if (!PyLong_Check(v)) {
            filter->tag = NULL;
            return -1;
        }
        filter->tag = v;
        filter->n++;
    }
    v = PyDict_GetItemString(dict, "name");
    if (v != NULL)
        filter->name = v;
    return 0;
}
"#;

/// The result for callers behind [`FILL`].
fn with_callers(callers: &str) -> String {
    testing::run(ALL, &(FILL.trim_start().to_owned() + callers))
}

#[test]
fn the_caller_releases_the_fields_where_it_leaves() {
    insta::assert_snapshot!(with_callers("
static PyObject *f(PyObject *dict)
{
    Args args;
    memset(&args, 0, sizeof(Args));
    if (fill(dict, &args.filter) < 0)
        return NULL;
    run(&args);
    Py_RETURN_NONE;
}
"), @r#"
        6: review: only `fill` and its callers set, release or give away the fields that it fills, and no caller lets go of its thread state before it returns
        15: review: only `fill` and its callers set, release or give away the fields that it fills, and no caller lets go of its thread state before it returns
        @@
         static int fill(PyObject *dict, Filter *filter)
         {
        -    PyObject *v = PyDict_GetItemString(dict, "tag");
        +    PyObject *v;
        +    if (PyDict_GetItemStringRef(dict, "tag", &v) < 0) {
        +        PyErr_Clear();
        +    }
             if (v != NULL) {
                 if (!PyLong_Check(v)) {
        +            Py_DECREF(v);
                     filter->tag = NULL;
                     return -1;
        @@
                 filter->n++;
             }
        -    v = PyDict_GetItemString(dict, "name");
        +    if (PyDict_GetItemStringRef(dict, "name", &v) < 0) {
        +        PyErr_Clear();
        +    }
             if (v != NULL)
                 filter->name = v;
        @@
             Args args;
             memset(&args, 0, sizeof(Args));
        -    if (fill(dict, &args.filter) < 0)
        +    if (fill(dict, &args.filter) < 0) {
        +        Py_XDECREF(args.filter.tag);
        +        Py_XDECREF(args.filter.name);
                 return NULL;
        +    }
             run(&args);
        +    Py_XDECREF(args.filter.tag);
        +    Py_XDECREF(args.filter.name);
             Py_RETURN_NONE;
         }
        "#);
}

#[test]
fn a_struct_that_is_declared_empty() {
    insta::assert_snapshot!(with_callers("
static int g(PyObject *dict)
{
    Filter filter = {NULL};
    int result;
    if (dict == NULL)
        return -1;
    fill(dict, &filter);
    result = check(&filter);
    return result;
}
"), @r#"
        6: review: only `fill` and its callers set, release or give away the fields that it fills, and no caller lets go of its thread state before it returns
        15: review: only `fill` and its callers set, release or give away the fields that it fills, and no caller lets go of its thread state before it returns
        @@
         static int fill(PyObject *dict, Filter *filter)
         {
        -    PyObject *v = PyDict_GetItemString(dict, "tag");
        +    PyObject *v;
        +    if (PyDict_GetItemStringRef(dict, "tag", &v) < 0) {
        +        PyErr_Clear();
        +    }
             if (v != NULL) {
                 if (!PyLong_Check(v)) {
        +            Py_DECREF(v);
                     filter->tag = NULL;
                     return -1;
        @@
                 filter->n++;
             }
        -    v = PyDict_GetItemString(dict, "name");
        +    if (PyDict_GetItemStringRef(dict, "name", &v) < 0) {
        +        PyErr_Clear();
        +    }
             if (v != NULL)
                 filter->name = v;
        @@
             fill(dict, &filter);
             result = check(&filter);
        +    Py_XDECREF(filter.tag);
        +    Py_XDECREF(filter.name);
             return result;
         }
        "#);
}

#[test]
fn a_struct_that_outlives_the_caller() {
    insta::assert_snapshot!(with_callers("
static int f(Args *args, PyObject *dict)
{
    return fill(dict, &args->filter);
}
"), @"
        6: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        15: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        ");
}

#[test]
fn a_struct_that_may_hold_something_else() {
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    Filter filter;
    return fill(dict, &filter);
}
"), @"
        6: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        15: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        ");
}

#[test]
fn fields_that_are_counted_elsewhere() {
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    Filter filter = {NULL};
    fill(dict, &filter);
    Py_XINCREF(filter.tag);
    return 0;
}
"), @"
        6: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        15: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        ");
}

#[test]
fn a_struct_that_is_needed_for_what_is_returned_or_out_of_scope() {
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    Filter filter = {NULL};
    fill(dict, &filter);
    return use(filter.tag);
}
"), @"
        6: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        15: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        ");
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    {
        Filter filter = {NULL};
        fill(dict, &filter);
    }
    return 0;
}
"), @"
        6: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        15: the borrowed reference is stored in memory: decide who owns it, and take a reference with it
        ");
}
