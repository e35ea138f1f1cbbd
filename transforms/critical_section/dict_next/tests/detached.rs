//! Exits that detach the thread: a section has to end first.

use super::diff;

fn text(leave: &str) -> String {
    format!(
        r#"
#define RELEASE_GIL up.release();
static void *
watch(PyObject *modules, struct context *context)
{{
    PyObject *name, *module, *last = NULL;
    Py_ssize_t pos = 0;

    while (PyDict_Next(modules, &pos, &name, &module)) {{
        last = module;
        if (is_old(module)) {{
            {leave}
        }}
    }}
    return context;
}}
"#
    )
}

#[test]
fn what_detaches_before_an_exit_moves_behind_the_section() {
    let leave = "note(context, \"old\");\n            RELEASE_GIL;\n            stop_all(context);\n            return NULL;";
    insta::assert_snapshot!(diff(&text(leave)), @r#"
    9: `modules` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `modules`, which the caller passes; another thread can change it between two calls
      11: `is_old` can run Python code, which may also change the dict
      safe: iterate over `modules` in a critical section
    @@
         PyObject *name, *module, *last = NULL;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(modules);
         while (PyDict_Next(modules, &pos, &name, &module)) {
    +        Py_INCREF(module);
             last = module;
             if (is_old(module)) {
                 note(context, "old");
    -            RELEASE_GIL;
    -            stop_all(context);
    -            return NULL;
    +            Py_DECREF(module);
    +            failed = 1;
    +            break;
             }
    +        Py_DECREF(module);
    +    }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed) {
    +        RELEASE_GIL;
    +        stop_all(context);
    +        return NULL;
         }
         return context;
    "#);
}

#[test]
fn what_needs_the_item_cannot_move() {
    for leave in [
        "RELEASE_GIL;\n forget(module);\n return NULL;",
        "RELEASE_GIL;\n if (context)\n stop(context);\n return NULL;",
        "RELEASE_GIL;\n return wait_for(context);",
        "RELEASE_GIL;",
    ] {
        let diff = diff(&text(leave));
        assert!(diff.contains("because `RELEASE_GIL` in the loop"), "{diff}");
    }
}

#[test]
fn behind_what_takes_the_gil_the_thread_was_detached_before() {
    let diff = diff(&text("wait_for(context);\n TAKE_GIL;\n return NULL;"));
    assert!(diff.contains("because `TAKE_GIL` in the loop"), "{diff}");
}

#[test]
fn the_name_of_a_label_detaches_nothing() {
    let text = r#"
static int
check(PyObject *d)
{
    PyObject *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (value == Py_None)
            goto release_gil;
    }
    return 0;
release_gil:
    UNLOCK_GIL;
    return -1;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *value;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, &value)) {
    -        if (value == Py_None)
    -            goto release_gil;
    +        if (value == Py_None) {
    +            failed = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        goto release_gil;
         return 0;
     release_gil:
    ");
}
