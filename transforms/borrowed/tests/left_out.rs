//! Macros that read nothing in this build, and may in another.

use super::all;

/// A function that uses an item, with `behind` after that, and these macros.
fn used(macros: &str, behind: &str) -> String {
    all(&format!(
        "{macros}
static long f(PyObject *list, Py_ssize_t i) {{
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    const char *text = PyUnicode_AsUTF8(item);
    long number = measure(text);
{behind}
    return number;
}}
"
    ))
}

const TRACE: &str = "#ifdef TRACING
#define TRACE(...) fprintf(stderr, __VA_ARGS__)
#else
#define TRACE(...)
#endif";

#[test]
fn an_argument_of_a_macro_without_a_body() {
    insta::assert_snapshot!(used(TRACE, "    TRACE(\"%s\", Py_TYPE(item)->tp_name);"), @r#"
        @@
         #endif
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             long number = measure(text);
             TRACE("%s", Py_TYPE(item)->tp_name);
        +    Py_DECREF(item);
             return number;
         }
        "#);
    insta::assert_snapshot!(used(TRACE, "    if (number > 3)\n        TRACE(\"%s\", text);"), @r#"
        @@
         #endif
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             if (number > 3)
                 TRACE("%s", text);
        +    Py_DECREF(item);
             return number;
         }
        "#);
}

#[test]
fn an_argument_of_a_macro_with_an_empty_body() {
    let block = "#define TRACE(...) do {} while (0)";
    let zero = "#define TRACE(...) ((void)0)";
    insta::assert_snapshot!(used(block, "    TRACE(\"%s\", text);"), @r#"
        @@
         #define TRACE(...) do {} while (0)
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             long number = measure(text);
             TRACE("%s", text);
        +    Py_DECREF(item);
             return number;
         }
        "#);
    insta::assert_snapshot!(used(zero, "    TRACE(\"%s\", text);"), @r#"
        @@
         #define TRACE(...) ((void)0)
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             long number = measure(text);
             TRACE("%s", text);
        +    Py_DECREF(item);
             return number;
         }
        "#);
}

#[test]
fn other_arguments_are_no_matter() {
    let early = used(TRACE, "    TRACE(\"%ld\", number);");
    insta::assert_snapshot!(early, @r#"
        @@
         #endif
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             const char *text = PyUnicode_AsUTF8(item);
             long number = measure(text);
        +    Py_DECREF(item);
             TRACE("%ld", number);
             return number;
        "#);
}

#[test]
fn a_branch_that_another_setting_runs() {
    let verbose = "#define VERBOSE 0";
    let print = "    if (VERBOSE && number > 3)\n        puts(text);";
    insta::assert_snapshot!(used(verbose, print), @"
        @@
         #define VERBOSE 0
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             if (VERBOSE && number > 3)
                 puts(text);
        +    Py_DECREF(item);
             return number;
         }
        ");
    // A release within the branch would be missing without it.
    insta::assert_snapshot!(used("#define VERBOSE (1)", "    if (VERBOSE)\n        puts(text);"), @"
        @@
         #define VERBOSE (1)
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             if (VERBOSE)
                 puts(text);
        +    Py_DECREF(item);
             return number;
         }
        ");
    let trace = "#define TRACE(...) if (0) fprintf(stderr, __VA_ARGS__)";
    insta::assert_snapshot!(used(trace, "    TRACE(\"%s\", text);"), @r#"
        @@
         #define TRACE(...) if (0) fprintf(stderr, __VA_ARGS__)
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
             long number = measure(text);
             TRACE("%s", text);
        +    Py_DECREF(item);
             return number;
         }
        "#);
}

#[test]
fn a_branch_that_nothing_runs_is_no_matter() {
    insta::assert_snapshot!(used("", "    if (0)\n        puts(text);"), @"
        @@
         static long f(PyObject *list, Py_ssize_t i) {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             const char *text = PyUnicode_AsUTF8(item);
             long number = measure(text);
        +    Py_DECREF(item);
             if (0)
                 puts(text);
        ");
}
