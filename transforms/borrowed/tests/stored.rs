//! Lookups whose result goes straight to a field or a static variable.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::{all, int};
use crate::testing;

#[test]
fn a_field_that_takes_the_reference_has_it_at_once() {
    insta::assert_snapshot!(int(
        r#"
    struct box *box = (struct box *)self;
    box->first = PyList_GetItem(list, 0);
    Py_XINCREF(box->first);
    box->value = PyDict_GetItem(dict, key);
    if (box->value != NULL) {
        Py_INCREF(box->value);
        box->count = 1;
    }
    return 0;
}
struct box { PyObject *first, *value; int count; };
void g(void)
{
"#
    ), @"
        @@
         {
             struct box *box = (struct box *)self;
        -    box->first = PyList_GetItem(list, 0);
        -    Py_XINCREF(box->first);
        -    box->value = PyDict_GetItem(dict, key);
        +    box->first = PyList_GetItemRef(list, 0);
        +    if (PyDict_GetItemRef(dict, key, &box->value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (box->value != NULL) {
        -        Py_INCREF(box->value);
                 box->count = 1;
             }
        ");
}

#[test]
fn a_field_that_is_empty_is_left_before_it_takes_the_reference() {
    insta::assert_snapshot!(int(
        r#"
    struct box *box = (struct box *)self;
    box->value = PyDict_GetItemWithError(dict, key);
    if (!box->value) {
        return -1;
    }
    Py_INCREF(box->value);
    return 0;
}
struct box { PyObject *value; };
void g(void)
{
"#
    ), @"
        @@
         {
             struct box *box = (struct box *)self;
        -    box->value = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &box->value);
             if (!box->value) {
                 return -1;
             }
        -    Py_INCREF(box->value);
             return 0;
         }
        ");
}

/// The last three: other code runs before the reference is taken, it is taken of something else, and
/// the field may be somewhere else when the lookup is done.
#[test]
fn a_field_that_is_counted_elsewhere_is_left_alone() {
    insta::assert_snapshot!(int(
        r#"
    struct box *box = (struct box *)self;
    box->value = PyDict_GetItem(dict, key);
    box->value = PyDict_GetItem(dict, key);
    use(box);
    Py_XINCREF(box->value);
    box->value = PyDict_GetItem(dict, key);
    Py_XINCREF(box->other);
    box->all[i] = PyDict_GetItem(dict, key);
    Py_XINCREF(box->all[i]);
    return 0;
}
struct box { PyObject *value, *other, **all; };
void g(void)
{
"#
    ), @"
        4: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        5: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        8: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        10: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        ");
}

const STATE: &str = "
static struct state { PyObject *spawn, *other; int on; } state;
static PyObject *last;
static PyObject *f(PyObject *self, PyObject *dict)
{
    state.spawn = PyDict_GetItemString(dict, \"spawn\");
    if (!state.spawn)
        state.spawn = PyDict_GetItemString(dict, \"start\");
    last = PyList_GetItem(self, 0);
    return PyObject_CallNoArgs(state.spawn);
}
static PyObject *call(PyObject *self, PyObject *args)
{
    return PyObject_Call(state.spawn, args, last);
}
";

#[test]
fn a_static_variable_keeps_what_it_holds() {
    insta::assert_snapshot!(all(STATE), @r#"
    5: review: no other thread uses `state.spawn` while `f` replaces it (the old object is released)
    7: review: no other thread uses `state.spawn` while `f` replaces it (the old object is released)
    8: review: no other thread uses `last` while `f` replaces it (the old object is released)
    @@
     static PyObject *f(PyObject *self, PyObject *dict)
     {
    -    state.spawn = PyDict_GetItemString(dict, "spawn");
    -    if (!state.spawn)
    -        state.spawn = PyDict_GetItemString(dict, "start");
    -    last = PyList_GetItem(self, 0);
    +    PyObject *new_spawn;
    +    if (PyDict_GetItemStringRef(dict, "spawn", &new_spawn) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    Py_XSETREF(state.spawn, new_spawn);
    +    if (!state.spawn) {
    +        if (PyDict_GetItemStringRef(dict, "start", &new_spawn) < 0) {
    +            PyErr_WriteUnraisable(NULL);
    +        }
    +        Py_XSETREF(state.spawn, new_spawn);
    +    }
    +    Py_XSETREF(last, PyList_GetItemRef(self, 0));
         return PyObject_CallNoArgs(state.spawn);
     }
    "#);
}

#[test]
fn a_static_variable_that_is_set_while_the_module_is_made_needs_no_lock() {
    let set_by = |head: &str| {
        let text = format!(
            "#include <Python.h>
static PyObject *spawn;
static struct PyModuleDef def;
static void set(PyObject *module)
{{
    spawn = PyDict_GetItemString(PyImport_GetModuleDict(), \"spawn\");
}}
{head}(void)
{{
    PyObject *module = PyModule_Create(&def);
    set(module);
    return module;
}}
PyObject *call(PyObject *self, PyObject *args) {{ return PyObject_CallObject(spawn, args); }}
"
        );
        let said = testing::report(&BORROWED_DICT_ITEM, &text);
        assert!(
            said.contains("let `spawn` own the object that it holds"),
            "{said}"
        );
        said.contains("no other thread uses `spawn` while `set` replaces it")
    };
    assert!(!set_by("PyMODINIT_FUNC PyInit_m"));
    assert!(set_by("PyObject *another"));
}

/// Each of these may release what the variable holds, store something without a reference, or give
/// its address away.
#[test]
fn a_static_variable_that_is_used_otherwise_is_left_alone() {
    assert!(all(STATE).contains("Py_XSETREF(state.spawn, "));
    for other in [
        "void g(void) { Py_CLEAR(state.spawn); }",
        "void g(void) { Py_XDECREF(state.spawn); }",
        "void g(void) { Py_INCREF(state.spawn); }",
        "PyObject *g(void) { return Py_NewRef(state.spawn); }",
        "void g(void) { state.spawn = NULL; }",
        "void g(PyObject *v) { state.spawn = v; }",
        "void g(PyObject *v) { state.spawn = PyDict_GetItem(v, v); }",
        "void g(void) { use(&state.spawn); }",
        "void g(void) { use(&state); }",
        "void g(void) { memset(&state, 0, sizeof(state)); }",
        "void g(struct state *other) { state = *other; }",
        "PyObject **all[] = {&state.spawn};",
        "struct state *here = &state;",
    ] {
        let text = all(&format!("{STATE}{other}\n"));
        assert!(
            !text.contains("Py_XSETREF(state.spawn, "),
            "{other}: {text}"
        );
    }
}

#[test]
fn a_static_variable_that_begins_with_an_object_is_left_alone() {
    for (from, to) in [
        ("} state;", "} state = {Py_None};"),
        ("struct state {", "union state {"),
        ("static struct state {", "extern struct state {"),
    ] {
        let text = all(&STATE.replace(from, to));
        assert!(!text.contains("Py_XSETREF(state.spawn, "), "{to}: {text}");
    }
}

#[test]
fn other_fields_may_be_used_otherwise() {
    let other = "void g(void) { Py_CLEAR(state.other); use(&state.on); }";
    assert!(all(&format!("{STATE}{other}\n")).contains("Py_XSETREF(state.spawn, "));
}

#[test]
fn copies_of_text_are_pointers_of_their_own() {
    insta::assert_snapshot!(testing::run_triaged(
        &BORROWED_DICT_ITEM,
        "
static int f(PyObject *dict, PyObject *key, struct names *names)
{
    PyObject *v = PyDict_GetItem(dict, key);
    char *copy;
    if (v == NULL)
        return 0;
    copy = strdup(PyUnicode_AsUTF8(v));
    names->first = copy;
    return 1;
}
"
    ), @"
        4: `PyDict_GetItem` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          4: borrowed here
          8: used here, after another thread may have freed it
          safe: take a strong reference (`PyDict_GetItem` → `PyDict_GetItemRef`)
        @@
         static int f(PyObject *dict, PyObject *key, struct names *names)
         {
        -    PyObject *v = PyDict_GetItem(dict, key);
        +    PyObject *v;
             char *copy;
        +    if (PyDict_GetItemRef(dict, key, &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v == NULL)
                 return 0;
             copy = strdup(PyUnicode_AsUTF8(v));
        +    Py_DECREF(v);
             names->first = copy;
             return 1;
        ");
}

#[test]
fn a_caller_gets_the_reference_through_a_pointer() {
    insta::assert_snapshot!(int(
        r#"
    PyObject **out = place_of(self);
    *out = PyDict_GetItem(dict, key);
    if (*out == NULL) {
        PyErr_SetObject(PyExc_KeyError, key);
        return -1;
    }
    Py_INCREF(*out);
    return 0;
"#
    ), @"
        @@
         {
             PyObject **out = place_of(self);
        -    *out = PyDict_GetItem(dict, key);
        +    if (PyDict_GetItemRef(dict, key, out) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (*out == NULL) {
                 PyErr_SetObject(PyExc_KeyError, key);
                 return -1;
             }
        -    Py_INCREF(*out);
             return 0;
         }
        ");
    insta::assert_snapshot!(int(
        r#"
    PyObject **out = place_of(self);
    *out++ = PyDict_GetItem(dict, key);
    Py_XINCREF(*out);
    return 0;
"#
    ), @"
        4: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        ");
}

#[test]
fn memory_of_the_function_is_lent_the_object() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *argv[2];
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        return -1;
    }
    argv[0] = value;
    argv[1] = key;
    PyObject *result = PyObject_Vectorcall(self, argv, 2, NULL);
    if (result == NULL) {
        return -1;
    }
    Py_DECREF(result);
    return 0;
}
"#
    ), @"
        @@
         {
             PyObject *argv[2];
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 return -1;
        @@
             argv[1] = key;
             PyObject *result = PyObject_Vectorcall(self, argv, 2, NULL);
        +    Py_DECREF(value);
             if (result == NULL) {
                 return -1;
        ");
}

#[test]
fn a_struct_of_the_function_is_lent_the_object() {
    insta::assert_snapshot!(int(
        r#"
    struct walk walk = {NULL, 0};
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        return -1;
    }
    walk.value = value;
    if (each(self, visit, &walk) < 0) {
        return -1;
    }
    return walk.count;
}
struct walk { PyObject *value; int count; };
"#
    ), @"
        @@
         {
             struct walk walk = {NULL, 0};
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    int result;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 return -1;
        @@
             walk.value = value;
             if (each(self, visit, &walk) < 0) {
        +        Py_DECREF(value);
                 return -1;
             }
        -    return walk.count;
        +    result = walk.count;
        +    Py_DECREF(value);
        +    return result;
         }
         struct walk { PyObject *value; int count; };
        ");
}

/// The memory outlives the function, is read by another name, or has what it releases.
#[test]
fn memory_that_may_have_a_reference_is_not_lent() {
    insta::assert_snapshot!(int(
        r#"
    static struct walk kept;
    struct walk walk, *other = &walk, released;
    PyObject *value = PyDict_GetItemWithError(dict, key);
    kept.value = value;
    value = PyDict_GetItemWithError(dict, key);
    walk.value = value;
    value = PyDict_GetItemWithError(dict, key);
    released.value = value;
    each(self, visit, other);
    Py_XDECREF(released.value);
    return 0;
}
struct walk { PyObject *value; int count; };
"#
    ), @"
        5: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        7: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        9: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn a_pointer_that_outlives_the_reference_as_before() {
    insta::assert_snapshot!(int(
        r#"
    struct box *box = (struct box *)self;
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        return -1;
    }
    Py_INCREF(value);
    box->trace = ((struct entry *)value)->trace;
    use(value);
    Py_DECREF(value);
    return 0;
}
struct box { PyObject *trace; };
struct entry { PyObject head; PyObject *trace; };
"#
    ), @"
        @@
         {
             struct box *box = (struct box *)self;
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 return -1;
             }
        -    Py_INCREF(value);
             box->trace = ((struct entry *)value)->trace;
             use(value);
        ");
}

/// In the first the reference comes too late. In the second some path never releases it, for the sake
/// of the pointer perhaps: none does now.
#[test]
fn a_pointer_that_must_not_dangle_sooner_than_before() {
    insta::assert_snapshot!(int(
        r#"
    struct box *box = (struct box *)self;
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        return -1;
    }
    box->trace = ((struct entry *)value)->trace;
    Py_INCREF(value);
    use(value);
    Py_DECREF(value);
    return 0;
}
struct box { PyObject *trace; };
struct entry { PyObject head; PyObject *trace; };
"#
    ), @"
        4: keep a strong reference as long as the pointer (a pointer into the object in `value` is returned or stored, and would dangle)
        ");
    insta::assert_snapshot!(int(
        r#"
    struct box *box = (struct box *)self;
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL) {
        return -1;
    }
    Py_INCREF(value);
    box->trace = ((struct entry *)value)->trace;
    if (use(value) < 0) {
        Py_DECREF(value);
        return -1;
    }
    return 0;
}
struct box { PyObject *trace; };
struct entry { PyObject head; PyObject *trace; };
"#
    ), @"
        @@
         {
             struct box *box = (struct box *)self;
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL) {
                 return -1;
             }
        -    Py_INCREF(value);
             box->trace = ((struct entry *)value)->trace;
             if (use(value) < 0) {
        ");
}

#[test]
fn a_part_of_its_text_is_kept() {
    insta::assert_snapshot!(testing::run_triaged(
        &BORROWED_DICT_ITEM,
        "
static int f(PyObject *dict, PyObject *key, struct names *names)
{
    PyObject *v = PyDict_GetItem(dict, key);
    if (v == NULL)
        return 0;
    names->first = strrchr(PyUnicode_AsUTF8(v), '/');
    return 1;
}
struct names { const char *first; };
"
    ), @"
        4: `PyDict_GetItem` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          4: borrowed here
          7: used here, after another thread may have freed it
          by hand: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)
        ");
}

/// The function `f` with this body, which fills the fields of a box.
fn boxed(body: &str) -> String {
    all(&format!(
        "struct box {{ PyObject *first, *value; int count; }};
static int f(struct box *box, PyObject **out, PyObject *dict, PyObject *key)
{{
{}
    return 0;
}}
",
        body.trim_matches('\n')
    ))
}

#[test]
fn a_field_is_tested_without_braces() {
    insta::assert_snapshot!(boxed(
        r#"
    box->first = PyDict_GetItemWithError(dict, key);
    if (box->first == NULL)
        return -1;
    Py_INCREF(box->first);
    *out = PyDict_GetItemWithError(dict, key);
    if (*out)
        Py_INCREF(*out);
"#
    ), @"
        @@
         static int f(struct box *box, PyObject **out, PyObject *dict, PyObject *key)
         {
        -    box->first = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &box->first);
             if (box->first == NULL)
                 return -1;
        -    Py_INCREF(box->first);
        -    *out = PyDict_GetItemWithError(dict, key);
        -    if (*out)
        -        Py_INCREF(*out);
        +    (void)PyDict_GetItemRef(dict, key, out);
             return 0;
         }
        ");
}

#[test]
fn a_field_is_empty_in_the_other_branch() {
    insta::assert_snapshot!(boxed(
        r#"
    box->first = PyDict_GetItemWithError(dict, key);
    if (box->first) {
        Py_INCREF(box->first);
    } else {
        box->count = 0;
    }
    box->value = PyDict_GetItemWithError(dict, key);
    if (!box->value)
        box->value = PyList_New(0);
    else
        Py_INCREF(box->value);
"#
    ), @"
        @@
         static int f(struct box *box, PyObject **out, PyObject *dict, PyObject *key)
         {
        -    box->first = PyDict_GetItemWithError(dict, key);
        -    if (box->first) {
        -        Py_INCREF(box->first);
        -    } else {
        +    (void)PyDict_GetItemRef(dict, key, &box->first);
        +    if (!box->first) {
                 box->count = 0;
             }
        -    box->value = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &box->value);
             if (!box->value)
                 box->value = PyList_New(0);
        -    else
        -        Py_INCREF(box->value);
             return 0;
         }
        ");
}

#[test]
fn a_field_gets_a_reference_to_another_object() {
    insta::assert_snapshot!(boxed(
        r#"
    box->first = PyDict_GetItemWithError(dict, key);
    if (box->first == NULL)
        box->first = Py_None;
    Py_INCREF(box->first);
    box->value = PyDict_GetItemWithError(dict, key);
    if (!box->value) {
        box->value = (PyObject *)&PyDict_Type;
    }
    Py_XINCREF(box->value);
"#
    ), @"
        @@
         static int f(struct box *box, PyObject **out, PyObject *dict, PyObject *key)
         {
        -    box->first = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &box->first);
             if (box->first == NULL)
        -        box->first = Py_None;
        -    Py_INCREF(box->first);
        -    box->value = PyDict_GetItemWithError(dict, key);
        +        box->first = Py_NewRef(Py_None);
        +    (void)PyDict_GetItemRef(dict, key, &box->value);
             if (!box->value) {
        -        box->value = (PyObject *)&PyDict_Type;
        +        box->value = Py_NewRef((PyObject *)&PyDict_Type);
             }
        -    Py_XINCREF(box->value);
             return 0;
         }
        ");
}

/// A field that may be empty, one that is counted where it has another object only, one where more
/// is done about the other object, and one that is left with an object in it.
#[test]
fn a_field_with_more_to_it_is_left_alone() {
    for behind in [
        "if (box->first == NULL)\n        box->first = box->value;\n    Py_INCREF(box->first);",
        "if (box->first == NULL) {\n        box->first = Py_None;\n        Py_INCREF(box->first);\n    }",
        "if (box->first == NULL) {\n        box->first = Py_None;\n        use(box);\n    }\n    Py_INCREF(box->first);",
        "if (box->first != NULL)\n        return -1;\n    Py_INCREF(box->first);",
        "if (box->first == NULL || box->count)\n        return -1;\n    Py_INCREF(box->first);",
    ] {
        let body = format!("    box->first = PyDict_GetItemWithError(dict, key);\n    {behind}");
        let left = boxed(&body);
        assert!(
            left.contains("decide who owns the reference"),
            "{behind}: {left}"
        );
    }
}

/// Its reference may be taken in front of the store or right behind it.
#[test]
fn a_field_gets_its_reference_while_the_variable_is_used_further_on() {
    let stored = |steps: &str| {
        let text = format!(
            "\n    struct box *box = (struct box *)self;\n    PyObject *v = PyList_GetItem(list, 0);\n    \
             if (v == NULL)\n        return -1;\n    {steps}\n    return use(v);\n}}\n\
             struct box {{ PyObject *value; }};\nvoid g(void)\n{{\n"
        );
        int(&text)
    };
    insta::assert_snapshot!(stored("box->value = v;\n    Py_INCREF(v);"), @"
    @@
     {
         struct box *box = (struct box *)self;
    -    PyObject *v = PyList_GetItem(list, 0);
    +    PyObject *v = PyList_GetItemRef(list, 0);
    +    int result;
         if (v == NULL)
             return -1;
         box->value = v;
         Py_INCREF(v);
    -    return use(v);
    +    result = use(v);
    +    Py_DECREF(v);
    +    return result;
     }
     struct box { PyObject *value; };
    ");
    insta::assert_snapshot!(stored("Py_INCREF(v);\n    box->value = v;"), @"
    @@
     {
         struct box *box = (struct box *)self;
    -    PyObject *v = PyList_GetItem(list, 0);
    +    PyObject *v = PyList_GetItemRef(list, 0);
    +    int result;
         if (v == NULL)
             return -1;
         Py_INCREF(v);
         box->value = v;
    -    return use(v);
    +    result = use(v);
    +    Py_DECREF(v);
    +    return result;
     }
     struct box { PyObject *value; };
    ");
    insta::assert_snapshot!(stored("box->value = v;\n    run();\n    Py_INCREF(v);"), @"4: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)");
    insta::assert_snapshot!(stored("box->value = v;"), @"4: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)");
}

#[test]
fn a_field_that_is_not_tested_is_read_no_more() {
    let text = "struct box { PyObject *first; };
int f(struct box *box, PyObject *dict, PyObject *key)
{
    box->first = PyDict_GetItemWithError(dict, key);
    Py_INCREF(box->first);
    return 0;
}
";
    insta::assert_snapshot!(testing::report(&BORROWED_DICT_ITEM, text), @r#"
    4: `PyDict_GetItemWithError` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
      review: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)
      assumes that no other thread removes the item first (the code does not test `box->first`, which is `NULL` if `PyDict_GetItemRef` finds nothing)
    "#);
}
