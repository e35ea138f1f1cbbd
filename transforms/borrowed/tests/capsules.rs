//! Pointers out of capsules: they outlive a capsule that frees nothing.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::all;
use crate::testing::report;

/// What becomes of the lookup of a capsule whose pointer `open` gives and the function returns, in a
/// package that makes capsules by `make`.
fn outcome(make: &str, open: &str) -> String {
    let text = format!(
        "static PyObject *make(Thread *thread, Loop *loop, void *any, const char *name)
{{
    {make}
}}
static void *f(PyObject *dict, PyObject *key)
{{
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return NULL;
    {open}
}}
"
    );
    let report = report(&BORROWED_DICT_ITEM, &text);
    report.lines().last().unwrap_or_default().trim().to_owned()
}

const NAMED: &str = "return PyCapsule_GetPointer(v, \"demo.thread\");";
const UNNAMED: &str = "Thread *thread = PyCapsule_GetPointer(v, NULL); return thread;";
const CAST: &str = "return ((Thread *)PyCapsule_GetPointer(v, NULL))->next;";

#[test]
fn what_a_capsule_without_a_destructor_holds_outlives_it() {
    for (make, open) in [
        (
            "return PyCapsule_New(thread, \"demo.thread\", NULL);",
            NAMED,
        ),
        (
            "return PyCapsule_New(any, \"demo.\" \"thread\", (PyCapsule_Destructor)0);",
            NAMED,
        ),
        (
            "free_with(PyCapsule_New(any, \"demo.loop\", free)); return PyCapsule_New(any, \"demo.thread\", 0);",
            NAMED,
        ),
        ("return PyCapsule_New((void *)thread, NULL, NULL);", UNNAMED),
        ("return PyCapsule_New(thread, NULL, NULL);", CAST),
        (
            "free_with(PyCapsule_New(any, \"demo.loop\", free)); return PyCapsule_New(thread, 0, 0);",
            UNNAMED,
        ),
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome(make, open), @"safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)");
        }
    }
}

#[test]
fn what_a_capsule_may_free_does_not() {
    for (make, open) in [
        // Another one, or nobody's.
        ("return NULL;", NAMED),
        ("return PyCapsule_New(thread, \"demo.loop\", NULL);", NAMED),
        ("return PyCapsule_New(thread, NULL, NULL);", NAMED),
        ("return PyCapsule_New(thread, name, NULL);", NAMED),
        (
            "return PyCapsule_New(thread, \"demo.thread\", NULL);",
            UNNAMED,
        ),
        // By a destructor.
        (
            "return PyCapsule_New(thread, \"demo.thread\", free);",
            NAMED,
        ),
        (
            "return name ? PyCapsule_New(thread, \"demo.thread\", NULL) : PyCapsule_New(thread, \"demo.thread\", free);",
            NAMED,
        ),
        (
            "return name ? PyCapsule_New(thread, \"demo.thread\", NULL) : PyCapsule_New(thread, name, free);",
            NAMED,
        ),
        (
            "PyObject *v = PyCapsule_New(thread, \"demo.thread\", NULL); PyCapsule_SetDestructor(v, free); return v;",
            NAMED,
        ),
        (
            "PyObject *v = PyCapsule_New(thread, \"demo.thread\", NULL); PyCapsule_SetName(v, name); return v;",
            NAMED,
        ),
        (
            "use(PyCapsule_New); return PyCapsule_New(thread, \"demo.thread\", NULL);",
            NAMED,
        ),
        // Of one without a name only the type tells.
        ("return PyCapsule_New(any, NULL, NULL);", UNNAMED),
        ("return PyCapsule_New(loop, NULL, NULL);", UNNAMED),
        (
            "return PyCapsule_New(thread, NULL, NULL);",
            "void *p = PyCapsule_GetPointer(v, NULL); return p;",
        ),
        (
            "return PyCapsule_New(thread, NULL, NULL);",
            "return PyCapsule_GetPointer(v, NULL);",
        ),
        (
            "free_with(PyCapsule_New(loop, NULL, free)); return PyCapsule_New(thread, NULL, NULL);",
            UNNAMED,
        ),
        // What else is in it is its own.
        (
            "return PyCapsule_New(thread, \"demo.thread\", NULL);",
            "return (void *)PyCapsule_GetName(v);",
        ),
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome(make, open), @"by hand: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)");
        }
    }
}

#[test]
fn the_capsule_is_released_before_its_pointer_is_used() {
    insta::assert_snapshot!(all(r#"
static int add(PyObject *dict, Thread *thread)
{
    PyObject *v = PyCapsule_New(thread, "demo.thread", NULL);
    int rc = v == NULL ? -1 : PyDict_SetItemString(dict, "thread", v);
    Py_XDECREF(v);
    return rc;
}
static int leave(PyObject *dict, Info *info)
{
    PyObject *v = PyDict_GetItemString(dict, "thread");
    if (v == NULL)
        return 0;
    info->thread = PyCapsule_GetPointer(v, "demo.thread");
    return info->thread->depth;
}
"#), @r#"
    @@
     static int leave(PyObject *dict, Info *info)
     {
    -    PyObject *v = PyDict_GetItemString(dict, "thread");
    +    PyObject *v;
    +    if (PyDict_GetItemStringRef(dict, "thread", &v) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         if (v == NULL)
             return 0;
         info->thread = PyCapsule_GetPointer(v, "demo.thread");
    +    Py_DECREF(v);
         return info->thread->depth;
     }
    "#);
}
