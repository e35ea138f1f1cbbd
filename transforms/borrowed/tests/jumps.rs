//! Functions that a jump of the C library comes back into.

use super::int;

#[test]
fn nothing_may_jump_back_while_an_item_is_owned() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *row;
    if (setjmp(png_jmpbuf(png)))
        return -1;
    row = PyList_GetItem(list, i);
    if (row == NULL)
        return -1;
    png_write_row(png, PyBytes_AsString(row));
    return 0;
"#
    ), @"
    6: review: nothing jumps back to `setjmp` while the function owns the object: it would not be released, or twice
    @@
         if (setjmp(png_jmpbuf(png)))
             return -1;
    -    row = PyList_GetItem(list, i);
    +    row = PyList_GetItemRef(list, i);
         if (row == NULL)
             return -1;
         png_write_row(png, PyBytes_AsString(row));
    +    Py_DECREF(row);
         return 0;
     }
    ");
}

#[test]
fn another_way_may_jump_back() {
    let result = int(r#"
    PyObject *row;
    if (i == 0) {
        if (setjmp(png_jmpbuf(png)))
            return -1;
        return png_write_all(png);
    }
    row = PyList_GetItem(list, i);
    if (row == NULL)
        return -1;
    return use(row);
"#);
    assert!(!result.contains("review"), "{result}");
}

/// A function that looks at an item with `use`, after helpers.
fn with_helpers(uses: &str) -> String {
    let text = format!(
        "static jmp_buf back;\n\
         static void fail(const char *why) {{ if (why) longjmp(back, 1); }}\n\
         static void check(PyObject *v) {{ if (!PyLong_Check(v)) fail(\"no number\"); }}\n\
         static long number(PyObject *v) {{ return PyLong_AsLong(v); }}\n\
         long f(PyObject *list)\n{{\n    PyObject *v = PyList_GetItem(list, 0);\n    \
         if (v == NULL)\n        return -1;\n    {uses}\n    return number(v);\n}}\n"
    );
    crate::testing::report(
        &crate::transforms::borrowed::list_item::BORROWED_LIST_ITEM,
        &text,
    )
}

#[test]
fn a_helper_may_jump_out_of_its_callers() {
    insta::assert_snapshot!(with_helpers("check(v);"), @"
    7: `PyList_GetItem` gives a borrowed reference out of `list`, which the caller passes in: another thread can free it
      7: borrowed here
      11: used here, when another thread may have freed it
      review: own the reference: `PyList_GetItemRef`
      assumes that `check()` does not leave by `longjmp` while the function owns `v`, which would not be released
    ");
    insta::assert_snapshot!(with_helpers("number(v);"), @"
    7: `PyList_GetItem` gives a borrowed reference out of `list`, which the caller passes in: another thread can free it
      7: borrowed here
      11: used here, when another thread may have freed it
      safe: own the reference: `PyList_GetItemRef`
    ");
}
