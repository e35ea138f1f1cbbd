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
    6: review: nothing jumps back to `setjmp` while the function owns the object (the object would then not be released, or be released twice)
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
    7: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      7: borrowed here
      11: used here, after another thread may have freed it
      review: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
      assumes that `check()` does not leave with `longjmp` while its caller owns an object, which would then not be released
    ");
    insta::assert_snapshot!(with_helpers("number(v);"), @"
    7: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      7: borrowed here
      11: used here, after another thread may have freed it
      safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    ");
}

/// What runs while the reference is there is not what stands between in the text.
#[test]
fn a_helper_may_jump_out_on_any_path_to_the_release() {
    let doubts = |body: &str| {
        let text = format!(
            "static jmp_buf back;\n\
             static void fail(const char *why) {{ longjmp(back, 1); }}\n\
             long f(PyObject *list, int n)\n{{\n    PyObject *v = NULL;\n    int i;\n{body}}}\n"
        );
        let report = crate::testing::report(
            &crate::transforms::borrowed::list_item::BORROWED_LIST_ITEM,
            &text,
        );
        let doubts = report
            .matches("`fail()` does not leave with `longjmp`")
            .count();
        let fixes = report.matches(": take a strong reference").count();
        assert_eq!(fixes, 1, "{report}");
        doubts
    };
    let lookup = "    v = PyList_GetItem(list, 0);\n    if (v == NULL)\n        return -1;\n";
    let back =
        "back:\n    if (n) {\n        fail(\"x\");\n        return PyLong_AsLong(v);\n    }\n";
    let again = "    n = 1;\n    goto back;\n";
    assert_eq!(doubts(&format!("{back}{lookup}    run(v);\n{again}")), 1);
    let cold = "    goto start;\ncold:\n    fail(\"x\");\n    return PyLong_AsLong(v);\nstart:\n";
    assert_eq!(doubts(&format!("{cold}{lookup}    goto cold;\n")), 1);
    let held = "    for (i = 0; i < n; i++) {\n        if (v != NULL) {\n            fail(\"x\");\n            run(v);\n        }\n        v = PyList_GetItem(list, i);\n        if (v == NULL)\n            return -1;\n        run(v);\n    }\n    return 0;\n";
    assert_eq!(doubts(held), 1);
    let each = "    for (i = 0; i < n; i++) {\n        fail(\"x\");\n        v = PyList_GetItem(list, i);\n        if (v == NULL)\n            return -1;\n        run(v);\n    }\n    return 0;\n";
    assert_eq!(doubts(each), 0);
    // Between lookup and release in the text only.
    let aside = "    goto start;\naside:\n    fail(\"x\");\n    return 0;\n";
    let twice = "start:\n    if (n) {\n        v = PyList_GetItem(list, 0);\n        if (v == NULL)\n            return -1;\n        return PyLong_AsLong(v);\n    }\n    goto aside;\n";
    assert_eq!(doubts(&format!("{aside}{twice}")), 0);
    let apart = "    if (n) {\n        v = PyList_GetItem(list, 0);\n        if (v == NULL)\n            return -1;\n        if (i)\n            return PyLong_AsLong(v);\n        goto last;\n    }\n    fail(\"x\");\n    return 0;\nlast:\n    return PyLong_AsLong(v);\n";
    assert_eq!(doubts(apart), 0);
}
