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
