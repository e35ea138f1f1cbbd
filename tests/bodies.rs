//! Borrowed references in the bodies of macros.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::tree::patch;

const TABLE: &str = r#"#include <Python.h>
#define SET_DATA \
    Py_ssize_t i; \
    if (!PyList_Check(arg)) { \
        PyErr_SetString(PyExc_TypeError, "no list"); \
        return NULL; \
    } \
    for (i = 0; i < self->size; i++) \
        self->data[i] = PyFloat_AsDouble(PyList_GetItem(arg, i)); \
    Py_RETURN_NONE;
typedef struct { PyObject_HEAD Py_ssize_t size; double *data; } Table;
"#;

#[test]
fn the_body_of_functions_is_changed_once() {
    let user = r#"#include "table.h"
static PyObject *one(Table *self, PyObject *arg) { SET_DATA }
static PyObject *two(Table *self, PyObject *arg) { SET_DATA }
"#;
    insta::assert_snapshot!(patch(&[("table.h", TABLE), ("one.c", user)]), @r#"
        --- a/table.h
        +++ b/table.h
        @@ -5,7 +5,13 @@
                 PyErr_SetString(PyExc_TypeError, "no list"); \
                 return NULL; \
             } \
        -    for (i = 0; i < self->size; i++) \
        -        self->data[i] = PyFloat_AsDouble(PyList_GetItem(arg, i)); \
        +    for (i = 0; i < self->size; i++) { \
        +        PyObject *item = PyList_GetItemRef(arg, i); \
        +        if (item == NULL) { \
        +            return NULL; \
        +        } \
        +        self->data[i] = PyFloat_AsDouble(item); \
        +        Py_DECREF(item); \
        +    } \
             Py_RETURN_NONE;
         typedef struct { PyObject_HEAD Py_ssize_t size; double *data; } Table;
        "#);
}

#[test]
fn backslashes_stay_in_their_column() {
    let text = r#"#include <Python.h>
#define TAKE(into, what)                              \
    do {                                              \
        PyObject *found = PyDict_GetItem(dict, what); \
        if (!found)                                   \
            goto missing;                             \
        into += PyTuple_GET_SIZE(found);              \
    } while (0)
Py_ssize_t sizes(PyObject *dict, PyObject *a, PyObject *b)
{
    Py_ssize_t n = 0;
    TAKE(n, a);
    TAKE(n, b);
    return n;
missing:
    return -1;
}
"#;
    insta::assert_snapshot!(patch(&[("m.c", text)]), @r#"
        --- a/m.c
        +++ b/m.c
        @@ -1,10 +1,14 @@
         #include <Python.h>
         #define TAKE(into, what)                              \
             do {                                              \
        -        PyObject *found = PyDict_GetItem(dict, what); \
        +        PyObject *found;                              \
        +        if (PyDict_GetItemRef(dict, what, &found) < 0) { \
        +            PyErr_WriteUnraisable(NULL);              \
        +        }                                             \
                 if (!found)                                   \
                     goto missing;                             \
                 into += PyTuple_GET_SIZE(found);              \
        +        Py_DECREF(found);                             \
             } while (0)
         Py_ssize_t sizes(PyObject *dict, PyObject *a, PyObject *b)
         {
        "#);
}

#[test]
fn what_the_uses_do_not_agree_on_is_left() {
    let text = r#"#include <Python.h>
#define SIZE(list) \
    item = PyList_GetItem(list, 0); \
    if (item == NULL) \
        return -1; \
    n = PyObject_Size(item);
Py_ssize_t one(PyObject *l)
{
    PyObject *item;
    Py_ssize_t n;
    SIZE(l)
    return n;
}
Py_ssize_t two(PyObject *l)
{
    PyObject *item;
    Py_ssize_t n;
    SIZE(l)
    return n + PyObject_Hash(item);
}
"#;
    insta::assert_snapshot!(patch(&[("m.c", text)]), @"
           = by hand: write the call in the functions that use the macro `SIZE`, without the macro (these functions have to change around the call)
        ");
}

#[test]
fn an_expression_is_to_be_written_out() {
    let text = r#"#include <Python.h>
#define GET(list, i) PyList_GetItem(list, i)
Py_ssize_t one(PyObject *l)
{
    PyObject *item = GET(l, 0);
    return item ? PyObject_Size(item) : -1;
}
"#;
    insta::assert_snapshot!(patch(&[("m.c", text)]), @"
          = by hand: write the call here without the macro `GET` (the macro makes the call, but the function uses its result)
        ");
}

#[test]
fn code_that_was_not_seen_may_use_the_macro() {
    let user = r#"#include "table.h"
static PyObject *one(Table *self, PyObject *arg) { SET_DATA }
#if 0
static PyObject *two(Table *self, PyObject *arg) { SET_DATA }
#endif
"#;
    insta::assert_snapshot!(patch(&[("table.h", TABLE), ("one.c", user)]), @"
          = by hand: change the macro `SET_DATA` together with its uses (the call is in the macro)
        ");
    let user = r#"#include "table.h"
static PyObject *one(Table *self, PyObject *arg) { SET_DATA }
#define TWICE SET_DATA
static PyObject *two(Table *self, PyObject *arg) { TWICE }
"#;
    insta::assert_snapshot!(patch(&[("table.h", TABLE), ("one.c", user)]), @"
          = by hand: change the macro `SET_DATA` together with its uses (the call is in the macro)
        ");
}

const MAY_LEAVE: &str = r#"#include <Python.h>
#define FAIL(code) do { report(code); return code; } while (0)
#define CHECK(call) \
        do { \
                int failed = (call); \
                if (failed) { \
                        FAIL(failed); \
                } \
        } while (0)
int prepare(void);
void report(int code);
int one(PyObject *dict, PyObject *key, Py_ssize_t *size)
{
    PyObject *item;
    CHECK(prepare());
    item = PyDict_GetItem(dict, key);
    if (item == NULL)
        FAIL(-1);
    CHECK(prepare());
    if (*size < 0)
        CHECK(prepare());
    else
        *size = PyObject_Size(item);
    CHECK(prepare());
    return 0;
}
"#;

#[test]
fn a_macro_that_may_leave_is_written_out_around_the_release() {
    insta::assert_snapshot!(patch(&[("m.c", MAY_LEAVE)]), @"
        --- a/m.c
        +++ b/m.c
        @@ -13,14 +13,29 @@ int one(PyObject *dict, PyObject *key, Py_ssize_t *size)
         {
             PyObject *item;
             CHECK(prepare());
        -    item = PyDict_GetItem(dict, key);
        +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (item == NULL)
                 FAIL(-1);
        -    CHECK(prepare());
        -    if (*size < 0)
        -        CHECK(prepare());
        -    else
        +    {
        +        int failed = prepare();
        +        if (failed) {
        +            Py_DECREF(item);
        +            FAIL(failed);
        +        }
        +    }
        +    if (*size < 0) {
        +        int failed = prepare();
        +        Py_DECREF(item);
        +        if (failed) {
        +            FAIL(failed);
        +        }
        +    }
        +    else {
                 *size = PyObject_Size(item);
        +        Py_DECREF(item);
        +    }
             CHECK(prepare());
             return 0;
         }
        ");
}

/// The change of a function with a macro of this body.
fn with_check(body: &str) -> String {
    let (before, rest) = MAY_LEAVE.split_once("#define CHECK").unwrap();
    let (_, rest) = rest.split_once("while (0)\n").unwrap();
    let text = format!("{before}#define CHECK(call) {body}\n{rest}");
    let patch = patch(&[("m.c", &text)]);
    let (_, hunk) = patch.split_once(" @@ ").unwrap_or(("", &patch));
    hunk.to_owned()
}

/// However many lines the definition has, the uses get the same.
#[test]
fn a_macro_on_one_line_is_written_out_as_well() {
    let many = patch(&[("m.c", MAY_LEAVE)]);
    let (_, many) = many.split_once(" @@ ").unwrap();
    let one = "do { int failed = (call); if (failed) { FAIL(failed); } } while (0)";
    assert_eq!(with_check(one), many);
    let other = with_check("do { if ((call) < 0) { return -1; } else { report(0); } } while (0)");
    insta::assert_snapshot!(other, @"
    int one(PyObject *dict, PyObject *key, Py_ssize_t *size)
     {
         PyObject *item;
         CHECK(prepare());
    -    item = PyDict_GetItem(dict, key);
    +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         if (item == NULL)
             FAIL(-1);
    -    CHECK(prepare());
    -    if (*size < 0)
    -        CHECK(prepare());
    -    else
    +    {
    +        if ((prepare()) < 0) {
    +            Py_DECREF(item);
    +            return -1;
    +        } else {
    +            report(0);
    +        }
    +    }
    +    if (*size < 0) {
    +        Py_DECREF(item);
    +        if ((prepare()) < 0) {
    +            return -1;
    +        } else {
    +            report(0);
    +        }
    +    }
    +    else {
             *size = PyObject_Size(item);
    +        Py_DECREF(item);
    +    }
         CHECK(prepare());
         return 0;
     }
    ");
}

#[test]
fn a_statement_of_such_a_macro_has_a_line_of_its_own() {
    let plain = with_check("do { if ((call) < 0) return -1; } while (0)");
    assert!(
        plain.contains(
            "+    if ((prepare()) < 0) {\n+        Py_DECREF(item);\n+        return -1;\n+    }\n"
        ),
        "{plain}"
    );
    // What is no list of statements stays on its line.
    let array = "do { int one[] = {1}; if ((call) < one[0]) return -1; } while (0)";
    assert!(
        !with_check(array).contains("int one[]"),
        "{}",
        with_check(array)
    );
}

const LOOPS: &str = r#"#include <Python.h>
#define CHECK(call) \
    do { \
        int failed = (call); \
        if (failed) \
            return failed; \
    } while (false)
static int
walk(PyObject *d, int (*look)(PyObject *))
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    CHECK(look(d));
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (value == Py_None)
            continue;
        CHECK(look(key));
    }
    CHECK(look(Py_None));
    return 0;
}
"#;

#[test]
fn a_macro_that_may_leave_is_written_out_in_a_section() {
    insta::assert_snapshot!(patch(&[("m.c", LOOPS)]), @"
    --- a/m.c
    +++ b/m.c
    @@ -10,12 +10,30 @@ walk(PyObject *d, int (*look)(PyObject *))
     {
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    int stopped = 0;
    +    int result = 0;
         CHECK(look(d));
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
    -        if (value == Py_None)
    +        Py_INCREF(key);
    +        if (value == Py_None) {
    +            Py_DECREF(key);
                 continue;
    -        CHECK(look(key));
    +        }
    +        {
    +            int failed = look(key);
    +            if (failed) {
    +                result = failed;
    +                Py_DECREF(key);
    +                stopped = 1;
    +                break;
    +            }
    +        }
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return result;
         CHECK(look(Py_None));
         return 0;
     }
    ");
}

/// What is written out would be what one of the builds has.
#[test]
fn a_macro_with_two_definitions_stays() {
    let verified = "#ifdef VERIFY\n#define CHECK(call) verify(call)\n#else\n#define CHECK(call) \\";
    let text = MAY_LEAVE.replacen("#define CHECK(call) \\", verified, 1);
    let text = text.replacen("while (0)\n", "while (0)\n#endif\n", 1);
    assert!(text.contains("#endif"), "{text}");
    let patch = patch(&[("m.c", &text)]);
    assert!(!patch.contains("int failed = prepare()"), "{patch}");
}

/// A package that gives the names of functions to `F`, and has `wrapper` around one.
fn through_a_macro(wrapper: &str) -> String {
    let faults = format!(
        "#include <Python.h>
#ifdef INJECT_FAULTS
#  define F(name) name##_custom
#  define PyList_Size_custom(list) (fails() ? -1 : PyList_Size(list))
{wrapper}
#else
#  define F(name) name
#endif
"
    );
    let user = r#"#include "faults.h"
static PyObject *keep(PyObject *list, Py_ssize_t i)
{
    PyObject *item = F(PyList_GetItem)(list, i);
    if (item != NULL)
        Py_INCREF(item);
    return item;
}
static Py_ssize_t size(PyObject *list, Py_ssize_t i)
{
    if (i >= F(PyList_Size)(list))
        return 0;
    return PyObject_Size(F(PyList_GetItem)(list, i));
}
PyObject *first(PyObject *self, PyObject *list) { return size(list, 0) ? keep(list, 0) : NULL; }
"#;
    patch(&[("faults.h", &faults), ("use.c", user)])
}

#[test]
fn a_macro_that_gets_the_name_of_the_function() {
    insta::assert_snapshot!(through_a_macro(
        "#  define PyList_GetItem_custom(...) (fails() ? NULL : PyList_GetItem(__VA_ARGS__))"
    ), @r#"
    --- a/faults.h
    +++ b/faults.h
    @@ -3,6 +3,7 @@
     #  define F(name) name##_custom
     #  define PyList_Size_custom(list) (fails() ? -1 : PyList_Size(list))
     #  define PyList_GetItem_custom(...) (fails() ? NULL : PyList_GetItem(__VA_ARGS__))
    +#  define PyList_GetItemRef_custom(...) (fails() ? NULL : PyList_GetItemRef(__VA_ARGS__))
     #else
     #  define F(name) name
     #endif
    --- a/use.c
    +++ b/use.c
    @@ -1,15 +1,18 @@
     #include "faults.h"
     static PyObject *keep(PyObject *list, Py_ssize_t i)
     {
    -    PyObject *item = F(PyList_GetItem)(list, i);
    -    if (item != NULL)
    -        Py_INCREF(item);
    +    PyObject *item = F(PyList_GetItemRef)(list, i);
         return item;
     }
     static Py_ssize_t size(PyObject *list, Py_ssize_t i)
     {
    +    PyObject *item;
    +    Py_ssize_t result;
         if (i >= F(PyList_Size)(list))
             return 0;
    -    return PyObject_Size(F(PyList_GetItem)(list, i));
    +    item = F(PyList_GetItemRef)(list, i);
    +    result = PyObject_Size(item);
    +    Py_XDECREF(item);
    +    return result;
     }
     PyObject *first(PyObject *self, PyObject *list) { return size(list, 0) ? keep(list, 0) : NULL; }
    "#);
}

#[test]
fn a_macro_around_the_function_that_does_more() {
    let by_hand = |wrapper: &str| {
        let patch = through_a_macro(wrapper);
        assert_eq!(
            patch.matches("the macro `F` gets the name").count(),
            2,
            "{patch}"
        );
        assert!(!patch.contains("+++ b/"), "{patch}");
    };
    by_hand("#  define PyList_GetItem_custom(l, i) noted(PyList_GetItem(l, i))");
    by_hand("#  define PyList_GetItem_custom(l, i) (fails() ? last : PyList_GetItem(l, i))");
    by_hand("#  define PyList_GetItem_custom(l, i) (n++, PyList_GetItem(l, i))");
    by_hand("#  define PyList_GetItem_custom(l, i) Py_XNewRef(PyList_GetItem(l, i))");
    by_hand("PyObject *PyList_GetItem_custom(PyObject *list, Py_ssize_t i);");
}
