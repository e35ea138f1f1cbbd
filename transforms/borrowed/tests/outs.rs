//! Pointers into the object that calls store through the addresses they get.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::{all, int};
use crate::testing::report;

/// What becomes of the lookup in a function with this head and body.
fn outcome(head: &str, body: &str) -> String {
    let text = format!(
        "{head}\n{{\n    PyObject *v = PyDict_GetItemWithError(dict, key);\n    if (v == NULL)\n        return -1;\n{body}}}\n"
    );
    let report = report(&BORROWED_DICT_ITEM, &text);
    report.lines().last().unwrap_or_default().trim().to_owned()
}

const HEAD: &str =
    "static int f(Info *info, char **out, Info *infos, PyObject *dict, PyObject *key)";

#[test]
fn pointers_in_memory_of_others_are_left_to_a_person() {
    for call in [
        "PyBytes_AsStringAndSize(v, &info->data, &info->size)",
        "PyBytes_AsStringAndSize(v, (char **)&infos[2].data, NULL)",
        "PyBytes_AsStringAndSize(v, out, NULL)",
        "PyArg_Parse(v, \"s\", &info->name)",
        "PyArg_ParseTuple(v, \"iO\", &info->size, &info->object)",
        "PyArg_ParseTuple(v, formats[0], &info->size)",
        "PyArg_UnpackTuple(v, \"v\", 1, 1, &info->object)",
    ] {
        let text = format!("    return {call};\n");
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome(HEAD, &text), @"by hand: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)");
        }
    }
}

#[test]
fn numbers_in_memory_of_others_are_no_pointers() {
    for call in [
        "PyArg_ParseTuple(v, \"ii\", &info->size, &info->count)",
        "PyArg_Parse(v, \"d\", &info->value)",
        "PyObject_GetBuffer(v, &info->buffer, PyBUF_SIMPLE)",
    ] {
        let text = format!("    return {call};\n");
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome(HEAD, &text), @"safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)");
        }
    }
}

#[test]
fn what_a_static_variable_points_at_outlives_the_call() {
    insta::assert_snapshot!(outcome(HEAD, "    static char *last;\n    return PyBytes_AsStringAndSize(v, &last, NULL);\n"), @"by hand: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)");
}

/// What becomes of the lookup in a callback that stores a pointer, with `body` behind that.
fn in_callback(body: &str) -> String {
    let text = format!(
        "static int f(Import *import, PyObject *dict)
{{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *v = PyDict_GetItemString(dict, import->name);
    if (v != NULL)
        PyBytes_AsStringAndSize(v, &import->data, &import->size);
{body}
}}
"
    );
    report(&BORROWED_DICT_ITEM, &text)
}

#[test]
fn who_uses_a_pointer_once_the_thread_is_detached_has_the_object_from_elsewhere() {
    insta::assert_snapshot!(in_callback(
        "    PyGILState_Release(state);
    return 0;"
    ), @"
        4: `PyDict_GetItemString` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          4: borrowed here
          6: used here, after another thread may have freed it
          safe: take a strong reference (`PyDict_GetItemString` → `PyDict_GetItemStringRef`)
        ");
    // Until then it may be the reference of the function that is counted on.
    insta::assert_snapshot!(in_callback(
        "    int status = read(import);
    PyGILState_Release(state);
    return status;"
    ), @"
        4: `PyDict_GetItemString` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          4: borrowed here
          6: used here, after another thread may have freed it
          safe: take a strong reference (`PyDict_GetItemString` → `PyDict_GetItemStringRef`)
        ");
    insta::assert_snapshot!(in_callback(
        "    if (import->done)
        return 1;
    PyGILState_Release(state);
    return 0;"
    ), @"
        4: `PyDict_GetItemString` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          4: borrowed here
          6: used here, after another thread may have freed it
          by hand: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)
        ");
    insta::assert_snapshot!(in_callback(
        "    Py_BEGIN_ALLOW_THREADS
    sync();
    Py_END_ALLOW_THREADS
    return read(import);"
    ), @"
        4: `PyDict_GetItemString` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          4: borrowed here
          6: used here, after another thread may have freed it
          safe: take a strong reference (`PyDict_GetItemString` → `PyDict_GetItemStringRef`)
        ");
}

#[test]
fn code_that_runs_beside_other_threads_has_the_object_from_elsewhere() {
    insta::assert_snapshot!(report(&BORROWED_DICT_ITEM, "
static void keep(Stream *stream, char *data) { stream->next = data; }
static int f(Stream *stream, PyObject *dict, PyObject *key)
{
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return -1;
    char *data = PyBytes_AS_STRING(v);
    Py_BEGIN_ALLOW_THREADS
    keep(stream, data);
    Py_END_ALLOW_THREADS
    return 0;
}
"), @"
        5: `PyDict_GetItemWithError` returns a borrowed reference from `dict`, which the caller passes; another thread can free the object
          5: borrowed here
          8: used here, after another thread may have freed it
          safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)
        ");
}

#[test]
fn structs_and_arrays_of_the_function_are_followed() {
    insta::assert_snapshot!(int(
        r#"
    struct text text;
    char *parts[2];
    PyObject *v = PyList_GetItem(list, i);
    if (v == NULL || PyBytes_AsStringAndSize(v, (char **)&text.data, &text.size) < 0)
        return -1;
    PyList_SetSlice(list, 0, 1, NULL);
    puts(text.data);
    v = PyList_GetItem(list, i);
    if (v == NULL || !PyArg_ParseTuple(v, "ss", &parts[0], &parts[1]))
        return -1;
    PyList_SetSlice(list, 0, 1, NULL);
    puts(parts[1]);
    return 0;
"#
    ), @r#"
        @@
             struct text text;
             char *parts[2];
        -    PyObject *v = PyList_GetItem(list, i);
        -    if (v == NULL || PyBytes_AsStringAndSize(v, (char **)&text.data, &text.size) < 0)
        +    PyObject *v = PyList_GetItemRef(list, i);
        +    if (v == NULL || PyBytes_AsStringAndSize(v, (char **)&text.data, &text.size) < 0) {
        +        Py_XDECREF(v);
                 return -1;
        +    }
             PyList_SetSlice(list, 0, 1, NULL);
             puts(text.data);
        -    v = PyList_GetItem(list, i);
        -    if (v == NULL || !PyArg_ParseTuple(v, "ss", &parts[0], &parts[1]))
        +    Py_DECREF(v);
        +    v = PyList_GetItemRef(list, i);
        +    if (v == NULL || !PyArg_ParseTuple(v, "ss", &parts[0], &parts[1])) {
        +        Py_XDECREF(v);
                 return -1;
        +    }
             PyList_SetSlice(list, 0, 1, NULL);
             puts(parts[1]);
        +    Py_DECREF(v);
             return 0;
         }
        "#);
}

#[test]
fn helpers_that_store_pointers_are_summed_up() {
    let head = |store: &str| {
        format!(
            "static char *text(PyObject *v) {{ return PyBytes_AsString(v); }}
static int get(PyObject *v, char **out, long *number) {{ {store} }}
static int f(PyObject *dict, PyObject *key)"
        )
    };
    let body = "    char *found;\n    long number;\n    get(v, &found, &number);\n    PyDict_Clear(dict);\n    return found[0] + number;\n";
    let of = |store: &str| outcome(&head(store), body);
    insta::assert_snapshot!(of("*out = text(v); return 0;"), @"safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)");
    insta::assert_snapshot!(of("return PyBytes_AsStringAndSize(v, out, NULL);"), @"safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)");
    insta::assert_snapshot!(of("*out = strdup(PyBytes_AsString(v)); return 0;"), @"safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)");
    insta::assert_snapshot!(of("*number = PyLong_AsLong(v); return 0;"), @"safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)");
}

/// `PyDict_Next` has the variable on paths of its own.
#[test]
fn the_address_is_passed_where_the_lookup_never_comes() {
    insta::assert_snapshot!(crate::testing::run(super::ALL, r#"
static int f(PyObject *all)
{
    PyObject *key, *item;
    Py_ssize_t pos = 0;

    if (PyTuple_Check(all)) {
        while (next_pair(all, &pos, &key, &item)) {
            if (use(key, item) < 0)
                return -1;
        }
    }
    else {
        for (pos = 0; pos < PyList_GET_SIZE(all); pos++) {
            item = PyList_GET_ITEM(all, pos);
            use(NULL, item);
        }
    }
    return 0;
}
"#), @"
        @@
             else {
                 for (pos = 0; pos < PyList_GET_SIZE(all); pos++) {
        -            item = PyList_GET_ITEM(all, pos);
        +            item = PyList_GetItemRef(all, pos);
        +            if (item == NULL) {
        +                PyErr_Clear();
        +                break;
        +            }
                     use(NULL, item);
        +            Py_DECREF(item);
                 }
             }
        ");
}

/// Other code may read or replace what the variable holds.
#[test]
fn the_address_is_known_at_the_lookup() {
    insta::assert_snapshot!(crate::testing::run(super::ALL, r#"
static int before(PyObject *list)
{
    PyObject *item = NULL;
    remember(&item);
    item = PyList_GetItem(list, 0);
    return use(item);
}

static int later(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0), **place;
    place = &item;
    *place = NULL;
    return use(item);
}

static int in_loop(PyObject *list, Py_ssize_t n)
{
    PyObject *item;
    for (Py_ssize_t i = 0; i < n; i++) {
        item = PyList_GetItem(list, i);
        if (use(item) < 0)
            return -1;
        item = NULL;
        fill(&item);
    }
    return 0;
}

static int replaced(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (use(item) < 0)
        return -1;
    item = NULL;
    return fill(&item);
}
"#), @"
    6: use a separate variable for the lookup (other code may read or replace `item`, because its address is passed on)
    12: use a separate variable for the lookup (other code may read or replace `item`, because its address is passed on)
    22: use a separate variable for the lookup (other code may read or replace `item`, because its address is passed on)
    33: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int replaced(PyObject *list)
     {
    -    PyObject *item = PyList_GetItem(list, 0);
    -    if (use(item) < 0)
    +    PyObject *item;
    +    PyObject *item_ref = NULL;
    +    item_ref = PyList_GetItemRef(list, 0);
    +    item = item_ref;
    +    if (use(item) < 0) {
    +        Py_XDECREF(item_ref);
             return -1;
    +    }
    +    Py_XDECREF(item_ref);
         item = NULL;
         return fill(&item);
    ");
}

/// What the call may leave as it was is not read by it, and what it stores for sure is over with the
/// next pass.
#[test]
fn the_next_pass_parses_the_next_tuple() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v, *object, *title;
    int size, total = 0;
    for (; i < 9; i++) {
        v = PyList_GetItem(list, i);
        if (v == NULL || !PyArg_ParseTuple(v, "Oi|O", &object, &size, &title)) {
            PyErr_Clear();
            continue;
        }
        if (total != size)
            return -1;
        total += use(object);
    }
    return total;
"#
    ), @r#"
        @@
             int size, total = 0;
             for (; i < 9; i++) {
        -        v = PyList_GetItem(list, i);
        +        v = PyList_GetItemRef(list, i);
                 if (v == NULL || !PyArg_ParseTuple(v, "Oi|O", &object, &size, &title)) {
        +            Py_XDECREF(v);
                     PyErr_Clear();
                     continue;
                 }
        -        if (total != size)
        +        if (total != size) {
        +            Py_DECREF(v);
                     return -1;
        +        }
                 total += use(object);
        +        Py_DECREF(v);
             }
             return total;
        "#);
}

/// Where the call does not ask for its failure, or what an earlier pass left is read behind that, the
/// pointer may outlive the object.
#[test]
fn what_an_earlier_pass_left_may_still_be_read() {
    let of = |call: &str| {
        let body = format!(
            "    PyObject *object = NULL;
    for (;;) {{
        v = PyDict_GetItemWithError(dict, key);
        if (v == NULL)
            return -1;
        {call}
        use(object);
    }}
"
        );
        format!("{call}\n    {}", outcome(HEAD, &body))
    };
    let calls = [
        "if (!PyArg_ParseTuple(v, \"O\", &object)) return -1;",
        "if (PyArg_ParseTuple(v, \"O\", &object) == 0) return -1;",
        "if (!PyArg_ParseTuple(v, \"O\", &object)) return use(object);",
        "if (!PyArg_ParseTuple(v, \"|O\", &object)) return -1;",
        "if (!PyArg_ParseTuple(v, \"O&\", convert, &object)) return -1;",
        "if (!PyArg_ParseTuple(v, formats[0], &object)) return -1;",
        "PyArg_ParseTuple(v, \"O\", &object);",
        "if (PyArg_ParseTuple(v, \"O\", &object) < use(object)) return -1;",
    ];
    insta::assert_snapshot!(calls.map(of).join("\n"), @r#"
        if (!PyArg_ParseTuple(v, "O", &object)) return -1;
            safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)
        if (PyArg_ParseTuple(v, "O", &object) == 0) return -1;
            safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)
        if (!PyArg_ParseTuple(v, "O", &object)) return use(object);
            by hand: take the reference in `v` on all paths (only some paths own it)
        if (!PyArg_ParseTuple(v, "|O", &object)) return -1;
            by hand: take the reference in `v` on all paths (only some paths own it)
        if (!PyArg_ParseTuple(v, "O&", convert, &object)) return -1;
            by hand: take the reference in `v` on all paths (only some paths own it)
        if (!PyArg_ParseTuple(v, formats[0], &object)) return -1;
            by hand: take the reference in `v` on all paths (only some paths own it)
        PyArg_ParseTuple(v, "O", &object);
            by hand: take the reference in `v` on all paths (only some paths own it)
        if (PyArg_ParseTuple(v, "O", &object) < use(object)) return -1;
            by hand: take the reference in `v` on all paths (only some paths own it)
        "#);
}

#[test]
fn memory_is_copied_with_the_pointers_in_it() {
    let text = |copy: &str| {
        let text = format!(
            "typedef struct {{ const char *text; int size; }} Part;
static void push(Part *parts, const Part *part)
{{
    parts[0] = *part;
}}

static int f(Part *parts, PyObject *list)
{{
    Part part, other, *p = &part;
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    part.text = PyBytes_AsString(item);
    {copy}
    return 0;
}}
"
        );
        crate::testing::run(crate::transforms::ALL, &text)
    };
    let dangles = "10: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)\n";
    for copy in [
        "memcpy(parts, &part, sizeof part);",
        "memcpy(parts, p, sizeof *p);",
        "push(parts, &part);",
        "push(parts, p);",
    ] {
        assert_eq!(text(copy), dangles, "{copy}");
    }
    insta::assert_snapshot!(text("memcpy(&other, &part, sizeof part);
    part.text = NULL;
    puts(other.text);"), @"
        @@
         {
             Part part, other, *p = &part;
        -    PyObject *item = PyList_GetItem(list, 0);
        +    PyObject *item = PyList_GetItemRef(list, 0);
             if (item == NULL)
                 return -1;
        @@
             part.text = NULL;
             puts(other.text);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn what_is_added_to_a_pointer_is_a_number() {
    insta::assert_snapshot!(crate::testing::run(
        crate::transforms::ALL,
        r#"
static char *joined(PyObject *list, char *end, char *limit)
{
    int at;
    for (at = 0; at < 3; at++) {
        PyObject *item = PyList_GetItem(list, at);
        const char *text = item ? PyUnicode_AsUTF8(item) : NULL;
        if (text == NULL)
            return NULL;
        end += put_text(end, limit - end, "%s", text);
    }
    return end;
}
"#
    ), @r#"
        @@
             int at;
             for (at = 0; at < 3; at++) {
        -        PyObject *item = PyList_GetItem(list, at);
        +        PyObject *item = PyList_GetItemRef(list, at);
                 const char *text = item ? PyUnicode_AsUTF8(item) : NULL;
        -        if (text == NULL)
        +        if (text == NULL) {
        +            Py_XDECREF(item);
                     return NULL;
        +        }
                 end += put_text(end, limit - end, "%s", text);
        +        Py_XDECREF(item);
             }
             return end;
        "#);
}

#[test]
fn a_pointer_that_outlives_some_paths_is_told() {
    let text = |step: &str| {
        let text = format!(
            "static const char *name(PyObject *dict, PyObject *key, int is_there)
{{
    const char *found = NULL;
    if (is_there) {{
        PyObject *item = PyDict_GetItem(dict, key);
        if (item != NULL) {{
            {step}
        }}
    }}
    return found;
}}
"
        );
        crate::testing::run(crate::transforms::ALL, &text)
    };
    let told = "5: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)\n";
    assert_eq!(text("found = PyUnicode_AsUTF8(item);"), told);
}

/// A segment is read by a helper that gives both ends references of their own.
fn ends_of_segment(helper: &str) -> String {
    all(&format!(
        "static int unpack(PyObject *seg, PyObject **lo, PyObject **hi)
{{
    if (lo) {{
        *lo = PyTuple_GetItem(seg, 0);
        {helper}
        Py_INCREF(*lo);
    }}
    if (hi) {{
        *hi = PyTuple_GetItem(seg, 1);
        if (!*hi) {{
            if (lo) {{
                Py_XDECREF(*lo);
                *lo = NULL;
            }}
            return -1;
        }}
        Py_INCREF(*hi);
    }}
    return 0;
}}

static PyObject *extent(PyObject *self, PyObject *nothing)
{{
    PyObject *lo, *hi;
    PyObject *seg = PyList_GetItem(self, 0);
    if (seg == NULL || unpack(seg, &lo, &hi))
        return NULL;
    return make_segment(lo, hi);
}}
"
    ))
}

#[test]
fn what_an_out_gets_with_a_reference_lives_by_itself() {
    let tested = "if (!*lo) { if (hi) *hi = NULL; return -1; }";
    insta::assert_snapshot!(ends_of_segment(tested), @"
        @@
         {
             PyObject *lo, *hi;
        -    PyObject *seg = PyList_GetItem(self, 0);
        -    if (seg == NULL || unpack(seg, &lo, &hi))
        +    PyObject *seg = PyList_GetItemRef(self, 0);
        +    if (seg == NULL || unpack(seg, &lo, &hi)) {
        +        Py_XDECREF(seg);
                 return NULL;
        +    }
        +    Py_DECREF(seg);
             return make_segment(lo, hi);
         }
        ");
    // The reference may be for what `other` has put there.
    insta::assert_snapshot!(ends_of_segment("other(lo);"), @"
    25: review: in `extent`, what a function made from the object that `PyList_GetItemRef` returned stays valid after the object is released
    @@
     {
         PyObject *lo, *hi;
    -    PyObject *seg = PyList_GetItem(self, 0);
    -    if (seg == NULL || unpack(seg, &lo, &hi))
    +    PyObject *seg = PyList_GetItemRef(self, 0);
    +    PyObject *result;
    +    if (seg == NULL || unpack(seg, &lo, &hi)) {
    +        Py_XDECREF(seg);
             return NULL;
    -    return make_segment(lo, hi);
    +    }
    +    result = make_segment(lo, hi);
    +    Py_DECREF(seg);
    +    return result;
     }
    ");
}

/// The paths differ in whether there is an object, but what stands against a release is the pointer.
#[test]
fn pointers_that_a_loop_stores_before_the_thread_is_detached() {
    insta::assert_snapshot!(int(r#"
    for (i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyUnicode_Check(item))
            goto end;
        names[i] = PyUnicode_AsUTF8(item);
    }
    Py_BEGIN_ALLOW_THREADS
    look_up(names);
    Py_END_ALLOW_THREADS
end:
    return 0;
"#), @"4: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)");
}
