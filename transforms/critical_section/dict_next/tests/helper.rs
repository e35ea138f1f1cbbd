//! The alternative: a helper that is called with the dict held.

use super::{UNLOCKED_DICT_ITERATION, diff};
use crate::testing::run_alternative;

fn helper(text: &str) -> String {
    run_alternative(&UNLOCKED_DICT_ITERATION, text)
}

#[test]
fn exits_stay_as_they_are() {
    let text = r#"
static int
all_str(PyObject *self, PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (!PyUnicode_Check(key))
            return -1;
        if (value == Py_None)
            goto none;
    }
    return 0;
none:
    return 1;
}
"#;
    insta::assert_snapshot!(helper(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      review: lock `d` in a critical section while `all_str_lock_held` runs
      assumes that `d` is not NULL when `all_str` is called
    @@
     
     static int
    -all_str(PyObject *self, PyObject *d)
    +all_str_lock_held(PyObject *self, PyObject *d)
     {
         PyObject *key, *value;
    @@
         return 1;
     }
    +
    +static int
    +all_str(PyObject *self, PyObject *d)
    +{
    +    int result;
    +    Py_BEGIN_CRITICAL_SECTION(d);
    +    result = all_str_lock_held(self, d);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
    ");
}

#[test]
fn references_are_released_before_each_exit() {
    let text = r#"
int
call_all(PyObject *d, PyObject *f)
{
    PyObject *key, *result;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        result = PyObject_CallOneArg(f, key);
        if (!result)
            return -1;
        Py_DECREF(result);
        if (key == Py_None)
            break;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(helper(text), @"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      8: `PyObject_CallOneArg` can run Python code, which may also change the dict
      review: lock `d` in a critical section while `call_all_lock_held` runs
      assumes that `d` is not NULL when `call_all` is called
    @@
     
    -int
    -call_all(PyObject *d, PyObject *f)
    +static int
    +call_all_lock_held(PyObject *d, PyObject *f)
     {
         PyObject *key, *result;
         Py_ssize_t pos = 0;
         while (PyDict_Next(d, &pos, &key, NULL)) {
    +        Py_INCREF(key);
             result = PyObject_CallOneArg(f, key);
    -        if (!result)
    +        if (!result) {
    +            Py_DECREF(key);
                 return -1;
    +        }
             Py_DECREF(result);
    -        if (key == Py_None)
    +        if (key == Py_None) {
    +            Py_DECREF(key);
                 break;
    +        }
    +        Py_DECREF(key);
         }
         return 0;
     }
    +
    +int
    +call_all(PyObject *d, PyObject *f)
    +{
    +    int result;
    +    Py_BEGIN_CRITICAL_SECTION(d);
    +    result = call_all_lock_held(d, f);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
    ");
}

#[test]
fn parameters_stay_in_their_column() {
    let text = "
int has(PyObject *self,
        PyObject *d)
{
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, NULL))
        return 1;
    return 0;
}
";
    let text = helper(text);
    let head =
        "+static int has_lock_held(PyObject *self,\n+                         PyObject *d)\n";
    assert!(text.contains(head), "{text}");
}

#[test]
fn there_is_no_helper_where_it_would_not_hold() {
    let function = |head: &str, before: &str, body: &str| {
        format!(
            "static int f({head})\n{{\n    PyObject *key;\n    Py_ssize_t pos = 0;\n{before}    \
             while (PyDict_Next(d, &pos, &key, NULL)) {{\n{body}        PyObject_IsTrue(key);\n    }}\n    return 0;\n}}\n"
        )
    };
    let exit = "        if (key == Py_None)\n            return 1;\n";
    let computed = "        if (PyObject_Hash(key))\n            return PyObject_Hash(key) == 1;\n";
    for (why, text) in [
        ("no exit", function("PyObject *d", "", "        n++;\n")),
        (
            "no parameter",
            function("PyObject *o", "    PyObject *d = get(o);\n", exit),
        ),
        (
            "another dict",
            function("PyObject *d", "    if (!d) d = get();\n", exit),
        ),
        (
            "detaches",
            function("PyObject *d", "    RELEASE_GIL;\n", exit),
        ),
        (
            "taken",
            format!(
                "int f_lock_held(void);\n{}",
                function("PyObject *d", "", exit)
            ),
        ),
        ("computed", function("PyObject *d", "", computed)),
    ] {
        assert_eq!(helper(&text), diff(&text), "{why}");
    }
    let text = function("PyObject *d", "", exit);
    assert_ne!(helper(&text), diff(&text));
}

#[test]
fn a_helper_of_which_all_callers_hold_the_dict_is_safe() {
    let text = r#"
static int f(PyObject *d) {
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, NULL))
        return 1;
    return 0;
}
int g(PyObject *a) {
    int r;
    Py_BEGIN_CRITICAL_SECTION(a);
    r = f(a);
    Py_END_CRITICAL_SECTION();
    return r;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    4: `d` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: each caller locks `d` in a critical section
    ");
    let other = text
        .replace("f(a)", "f(b)")
        .replace("*a)", "*a, PyObject *b)");
    let unlocked = format!("{text}int h(PyObject *a) {{ return f(a); }}\n");
    let known = format!("{text}int (*h)(PyObject *) = f;\n");
    for text in [other, unlocked, known] {
        assert!(
            diff(&text).contains("Py_BEGIN_CRITICAL_SECTION(d)"),
            "{text}"
        );
    }
}
