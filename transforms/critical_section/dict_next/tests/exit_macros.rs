//! Macros that leave the loop.

use super::diff;

const LEAVING: &str = r#"
#define FAIL(text) \
    do { \
        report(text, __LINE__); \
        return -1; \
    } while (0)
#define GO_ON goto next
static int
f(PyObject *d, int mode)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    int n = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key))
            FAIL("no name");
        for (n = 0; n < mode; n++) {
            if (value == Py_None)
                FAIL("this is None, "
                     "which cannot be");
            if (value == Py_True)
                GO_ON;
        }
    }
next:
    return n;
}
"#;

#[test]
fn macros_that_always_leave_are_used_behind_the_section() {
    insta::assert_snapshot!(diff(LEAVING), @r#"
        15: `d` is iterated over without its lock; another thread may change the dict meanwhile
          15: the dict is `d`, which the caller passes; another thread can change it between two calls
          safe: iterate over `d` in a critical section
        @@
             Py_ssize_t pos = 0;
             int n = 0;
        +    int outcome = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, &value)) {
        -        if (!PyUnicode_Check(key))
        -            FAIL("no name");
        +        if (!PyUnicode_Check(key)) {
        +            outcome = 1;
        +            break;
        +        }
                 for (n = 0; n < mode; n++) {
        -            if (value == Py_None)
        -                FAIL("this is None, "
        -                     "which cannot be");
        -            if (value == Py_True)
        -                GO_ON;
        +            if (value == Py_None) {
        +                outcome = 2;
        +                goto end_section;
        +            }
        +            if (value == Py_True) {
        +                outcome = 3;
        +                goto end_section;
        +            }
                 }
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (outcome == 1)
        +        FAIL("no name");
        +    if (outcome == 2)
        +        FAIL("this is None, "
        +             "which cannot be");
        +    if (outcome == 3)
        +        GO_ON;
         next:
             return n;
        "#);
}

#[test]
fn a_macro_that_leaves_for_the_label_behind_the_loop() {
    let text = r#"
#define GO_ON do { n++; goto next; } while (0)
static int
f(PyObject *d)
{
    PyObject *value;
    Py_ssize_t pos = 0;
    int n = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (value == Py_None)
            GO_ON;
    }
next:
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
        10: `d` is iterated over without its lock; another thread may change the dict meanwhile
          10: the dict is `d`, which the caller passes; another thread can change it between two calls
          safe: iterate over `d` in a critical section
        @@
             Py_ssize_t pos = 0;
             int n = 0;
        +    int stopped = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, NULL, &value)) {
        -        if (value == Py_None)
        -            GO_ON;
        +        if (value == Py_None) {
        +            stopped = 1;
        +            break;
        +        }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (stopped)
        +        GO_ON;
         next:
             return n;
        ");
}

/// The header with `MY_ERROR` is not found.
#[test]
fn a_macro_of_an_unseen_header_may_leave() {
    insta::assert_snapshot!(diff(r#"
#include "errors.h"
static int
f(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key))
            MY_ERROR("no name", -1);
        use(key, value);
    }
    return 0;
}
"#), @"
        9: `d` is iterated over without its lock; another thread may change the dict meanwhile
          9: the dict is `d`, which the caller passes; another thread can change it between two calls
          11: `MY_ERROR` can run Python code, which may also change the dict
          by hand: move the loop into a separate function and call that in the critical section, or iterate over a copy (`PyDict_Copy`), because the loop is left by `MY_ERROR`, if that is a macro
        ");
}
