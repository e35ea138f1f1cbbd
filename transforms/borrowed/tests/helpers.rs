//! What functions of the package do with the reference.

use crate::testing;
use crate::transforms::ALL;

/// The result for a file with `helper` in front of a function with this body.
fn with_helper(helper: &str, body: &str) -> String {
    let text = format!(
        "{}\n\nstatic int f(Foo *self, PyObject *list)\n{{\n{}\n}}\n",
        helper.trim(),
        body.trim_matches('\n')
    );
    testing::run(ALL, &text)
}

const LOOK_AND_PASS: &str = "
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    helper(self, item);
    return 0;";

#[test]
fn a_helper_that_stores_without_a_reference() {
    let helper = "static void helper(Foo *self, PyObject *v) { self->v = v; }";
    insta::assert_snapshot!(with_helper(helper, LOOK_AND_PASS), @"5: decide who owns the reference, and take a strong reference for it (`helper` keeps or releases its argument, which the function does not own)");
}

#[test]
fn a_helper_that_stores_a_pointer_into_the_object() {
    let helper = "static void helper(Foo *self, PyObject *v) { self->name = PyUnicode_AsUTF8(v); }";
    insta::assert_snapshot!(with_helper(helper, LOOK_AND_PASS), @"5: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)");
    let body = LOOK_AND_PASS.replace("item);", "PyUnicode_AsUTF8(item));");
    let helper = "static void helper(Foo *self, const char *name) { self->name = name; }";
    insta::assert_snapshot!(with_helper(helper, &body), @"5: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)");
}

#[test]
fn a_helper_that_copies_a_struct() {
    let outcome = |field: &str| {
        let helper = format!(
            "typedef struct {{ int count; {field}; }} Part;
typedef struct {{ PyObject_HEAD Part part; }} Outer;
static void helper(Foo *self, PyObject *v) {{ self->part = ((Outer *)v)->part; }}"
        );
        with_helper(&helper, LOOK_AND_PASS)
    };
    let with_text = outcome("const char *name");
    assert!(with_text.contains("would dangle"), "{with_text}");
    let with_number = outcome("double number");
    assert!(with_number.contains("PyList_GetItemRef"), "{with_number}");
}

#[test]
fn a_helper_that_stores_a_pointer_where_it_is_told() {
    let helper = "static int helper(PyObject *v, PyObject **type) { *type = PyTuple_GET_ITEM(v, 0); return 0; }";
    let body = "
    PyObject *type, *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    if (helper(item, &type) < 0)
        return -1;
    return visit(type);";
    insta::assert_snapshot!(with_helper(helper, body), @"
        @@
         static int f(Foo *self, PyObject *list)
         {
        -    PyObject *type, *item = PyList_GetItem(list, 0);
        +    PyObject *type, *item = PyList_GetItemRef(list, 0);
        +    int result;
             if (item == NULL)
                 return -1;
        -    if (helper(item, &type) < 0)
        +    if (helper(item, &type) < 0) {
        +        Py_DECREF(item);
                 return -1;
        -    return visit(type);
        +    }
        +    result = visit(type);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
    let body = body.replace("&type", "&self->type");
    insta::assert_snapshot!(with_helper(helper, &body), @"
        5: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)
        ");
}

#[test]
fn a_helper_that_takes_its_own_reference() {
    let helper = "static void helper(Foo *self, PyObject *v) { Py_INCREF(v); self->v = v; }";
    insta::assert_snapshot!(with_helper(helper, LOOK_AND_PASS), @r"
    @@
     static int f(Foo *self, PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return -1;
         helper(self, item);
    +    Py_DECREF(item);
         return 0;
     }
    ");
}

#[test]
fn a_helper_that_takes_over_the_reference_of_its_caller() {
    let helper = "static void helper(Foo *self, PyObject *v) { self->v = v; }";
    let body = LOOK_AND_PASS.replace("    helper", "    Py_INCREF(item);\n    helper");
    insta::assert_snapshot!(with_helper(helper, &body), @r"
    @@
     static int f(Foo *self, PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return -1;
    -    Py_INCREF(item);
         helper(self, item);
         return 0;
    ");
}

#[test]
fn a_helper_that_keeps_it_on_some_paths() {
    let helper = "static void helper(Foo *self, PyObject *v) { if (self->on) self->v = v; }";
    insta::assert_snapshot!(with_helper(helper, LOOK_AND_PASS), @"
    5: review: in `f`, no function keeps the object from `PyList_GetItemRef` that it gets
    @@
     static int f(Foo *self, PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return -1;
         helper(self, item);
    +    Py_DECREF(item);
         return 0;
     }
    ");
}

#[test]
fn what_a_helper_makes_of_it_is_used_after_the_release() {
    let body = "
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    PyObject *part = helper(item);
    return use(part);";
    let part = "static PyObject *helper(PyObject *v) { return ((Foo *)v)->part; }";
    insta::assert_snapshot!(with_helper(part, body), @r"
    @@
     static int f(Foo *self, PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return -1;
         PyObject *part = helper(item);
    -    return use(part);
    +    int result = use(part);
    +    Py_DECREF(item);
    +    return result;
     }
    ");
    let new = "static PyObject *helper(PyObject *v) { return PyNumber_Long(v); }";
    insta::assert_snapshot!(with_helper(new, body), @r"
    @@
     static int f(Foo *self, PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         if (item == NULL)
             return -1;
         PyObject *part = helper(item);
    +    Py_DECREF(item);
         return use(part);
     }
    ");
}
