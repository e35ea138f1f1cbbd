//! Exits that give the thread state up where their text does not say so.

use super::diff;

/// A loop that is left by `leave`, behind `above`.
fn text(above: &str, leave: &str) -> String {
    format!(
        r#"
{above}
int
watch(PyObject *d, PyGILState_STATE state)
{{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {{
        if (PyObject_IsTrue(value)) {{
            {leave}
        }}
    }}
    return 0;
}}
"#
    )
}

#[track_caller]
fn assert_manual(above: &str, leave: &str, word: &str) {
    let diff = diff(&text(above, leave));
    let reason = format!("because `{word}` in the loop may detach the thread");
    assert!(diff.contains(&reason), "{diff}");
}

#[test]
fn macros_are_looked_into() {
    for above in [
        "#define END_CALLBACK() PyGILState_Release(state)",
        "#define END_CALLBACK() do { PyGILState_Release(state); } while (0)",
    ] {
        assert_manual(above, "END_CALLBACK();\n return 1;", "PyGILState_Release");
        let leave = "if (key == Py_None)\n END_CALLBACK();\n return 1;";
        assert_manual(above, leave, "PyGILState_Release");
    }
    let above = "static PyThreadState *saved;\n\
        #define STOP do { saved = PyEval_SaveThread(); } while (0)\n\
        #define GO do { if (saved) PyEval_RestoreThread(saved); } while (0)";
    assert_manual(
        above,
        "STOP;\n run();\n GO;\n return 1;",
        "PyEval_SaveThread",
    );
    assert_manual(
        "#define STOP() GIL_RELEASE\n#define GIL_RELEASE up.release()",
        "STOP();\n return 1;",
        "GIL_RELEASE",
    );
    assert_manual("", "NPY_BEGIN_THREADS;\n return 1;", "NPY_BEGIN_THREADS");
}

#[test]
fn functions_of_the_package_are_looked_into() {
    let release = "PyGILState_Release(state);";
    for body in [
        release.to_owned(),
        format!("if (held) {{ {release} }}"),
        format!("{release} run();"),
    ] {
        let above =
            format!("static int leave(PyGILState_STATE state, int held) {{ {body} return held; }}");
        assert_manual(&above, "leave(state, 1);\n return 1;", "leave");
        assert_manual(&above, "return leave(state, 1);", "leave");
        assert_manual(&above, "each(value, leave);\n return 1;", "leave");
        let above = format!("{above}\nstatic void end(PyGILState_STATE s) {{ leave(s, 0); }}");
        assert_manual(&above, "end(state);\n return 1;", "end");
        assert_manual(&above, "end(state);\n break;", "end");
        assert_manual(&above, "end(state);\n continue;", "end");
    }
    let above = "static PyThreadState *saved;\n\
        static void stop(void) { saved = PyEval_SaveThread(); }";
    assert_manual(above, "stop();\n return 1;", "stop");
}

#[test]
fn whatever_leaves_the_thread_without_its_state_counts() {
    for call in [
        "PyThreadState_DeleteCurrent()",
        "PyThreadState_Swap(NULL)",
        "Py_EndInterpreter(other)",
        "PyEval_ReleaseLock()",
    ] {
        let (name, _) = call.split_once('(').expect("it is a call");
        let leave = format!("{call};\n return PyObject_IsTrue(key);");
        assert_manual("", &leave, name);
    }
}

#[test]
fn what_attaches_again_is_fine() {
    let above = "static void note(const char *text)\n\
        { PyGILState_STATE own = PyGILState_Ensure(); print(text); PyGILState_Release(own); }\n\
        static void wait_for(int fd)\n\
        { Py_BEGIN_ALLOW_THREADS close(fd); Py_END_ALLOW_THREADS }";
    for leave in [
        "note(\"end\");\n return 1;",
        "wait_for(1);\n return 1;",
        "Py_BEGIN_ALLOW_THREADS\n close(1);\n Py_END_ALLOW_THREADS\n return 1;",
    ] {
        let diff = diff(&text(above, leave));
        assert!(
            diff.contains("safe: iterate over `d` in a critical"),
            "{diff}"
        );
    }
}

#[test]
fn no_copy_is_released_without_a_thread_state() {
    let text = r#"
#define END_CALLBACK() PyGILState_Release(state)
static int
last(PyObject *d, PyObject **found)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    PyGILState_STATE state = PyGILState_Ensure();

    if (d == NULL) {
        END_CALLBACK();
        return -1;
    }
    while (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_IsTrue(value)) {
            END_CALLBACK();
            return -1;
        }
    }
    END_CALLBACK();
    return 0;
}
"#;
    let diff = diff(text);
    assert!(
        diff.contains("because `PyGILState_Release` in the"),
        "{diff}"
    );
}
