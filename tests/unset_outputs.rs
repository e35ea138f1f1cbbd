//! Exits that leave in front of what a function sets for its caller, who may look at it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::all;

const HELPERS: &str = "
enum { MODE_NONE = 7 };
typedef struct { PyObject **items; Py_ssize_t count; } Items;
typedef struct { PyObject_HEAD Items items; } Foo;
static void init(PyObject **one, PyObject **other) { *one = NULL; *other = NULL; }
static void start(Items *made) { made->items = NULL; }
static void look(Items *made) { if (made->items) made->count++; }
";

/// A function with these parameters that sets something before it fails first.
fn sets(params: &str, set: &str, behind: &str) -> String {
    all(&format!(
        "{HELPERS}
static int f(PyObject *list, {params})
{{
    PyObject *item = PyList_GET_ITEM(list, 0);
    {set};
    if (PyObject_IsTrue(item) < 0)
        return -1;
    return 0;
}}
{behind}
"
    ))
}

#[test]
fn what_pointers_and_arrays_get() {
    insta::assert_snapshot!(sets("const char *out[2]", "out[0] = NULL", ""), @"review in `f`, what `out[0] = NULL` (line 12) sets need not be set if the item no longer exists");
    insta::assert_snapshot!(sets("int *mode", "*mode = MODE_NONE", ""), @"review in `f`, what `*mode = MODE_NONE` (line 12) sets need not be set if the item no longer exists");
    for (params, set) in [
        ("PyObject **what", "*what = Py_None"),
        ("PyObject **what", "*what = (PyObject *)NULL"),
        ("char *text", "text[0] = '\\0'"),
        ("void *closure", "int *out = closure; *out = 0"),
        ("PyObject **one, PyObject **other", "init(one, other)"),
    ] {
        let result = sets(params, set, "");
        assert!(result.starts_with("review"), "{set}: {result}");
    }
    for (params, set) in [
        ("PyObject **what", "look(*what)"),
        ("int *out", "int here = 3; here = 0"),
        ("Items *out", "look(out)"),
    ] {
        assert_eq!(sets(params, set, ""), "safe", "{set}");
    }
}

/// A struct is set by who makes it, or by who fills it: its callers show which.
#[test]
fn what_structs_get() {
    let of = |set: &str, before: &str, given: &str| {
        let caller = format!(
            "static PyObject *g(Foo *self, PyObject *list) {{
    Items items;
    Items *made = PyMem_Malloc(sizeof(*made));
    PyObject *res = NULL;
    {before}
    if (f(list, {given}) == 0)
        res = PyLong_FromLong(1);
    drop({given});
    return res;
}}"
        );
        sets("Items *out", set, &caller)
    };
    insta::assert_snapshot!(of("out->items = NULL", "", "&items"), @"review in `f`, what `out->items = NULL` (line 12) sets need not be set if the item no longer exists");
    insta::assert_snapshot!(of("memset(out, 0, sizeof(*out))", "", "&items"), @"review in `f`, what `memset(out, 0, sizeof(*out))` (line 12) sets need not be set if the item no longer exists");
    assert!(of("start(out)", "", "&items").starts_with("review"));
    assert!(of("out->items = NULL", "", "made").starts_with("review"));
    for (before, given) in [
        ("items.items = NULL;", "&items"),
        ("start(&items);", "&items"),
        ("made->items = NULL;", "made"),
        ("", "&self->items"),
    ] {
        assert_eq!(
            of("out->items = NULL", before, given),
            "safe",
            "{before} {given}"
        );
    }
    // An object holds something from the start.
    let called = "static int g(Foo *self, PyObject *list) { return f(list, self); }";
    assert_eq!(sets("Foo *self", "self->items.count = 0", called), "safe");
}
