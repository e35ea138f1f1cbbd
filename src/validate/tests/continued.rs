//! Blocks of macros that are not seen.

use super::{STRONG, wrong};

/// What is wrong if the item is released between the blocks of these macros.
fn released_between(first: &str, second: &str) -> Vec<String> {
    let before = format!(
        "
static int f(PyObject *l) {{
    PyObject *v = PyList_GetItem(l, 0);
    if (!v) return -1;
    {first} {{ use(v); }}
    {second} {{ done(); }}
    return 0;
}}
"
    );
    let released = ("{ use(v); }", "{ use(v); } Py_DECREF(v);");
    wrong(&before, &[STRONG, released])
}

#[test]
fn a_macro_may_continue_a_block() {
    assert_eq!(
        released_between("fz_try(ctx)", "fz_catch(ctx)"),
        [
            "in `f`, the macro `fz_catch`, whose definition was not found, may belong to the block before it (like `else`)"
        ]
    );
}

#[test]
fn what_stands_by_itself_does_not() {
    assert_eq!(released_between("fz_try(ctx)", "if (l)"), [""; 0]);
    assert_eq!(released_between("if (l)", "WITH_LOCK(l)"), [""; 0]);
    assert_eq!(released_between("FOREACH(l)", "LIST_FOREACH(l)"), [""; 0]);
}
