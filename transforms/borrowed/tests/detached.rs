//! Functions of the package that detach the thread of their caller.

use super::all;

/// What becomes of the lookup of a function with this body, with helpers in front of it.
fn of_body(body: &str) -> String {
    all(&format!(
        "
static void leave(Link *link) {{ if (link->shared) link->state = PyEval_SaveThread(); }}
static void enter(Link *link) {{ if (link->shared) PyEval_RestoreThread(link->state); }}
static void finish(Link *link, PyObject *item) {{ link->done = item == Py_None; leave(link); }}
static PyGILState_STATE hold(void) {{ return PyGILState_Ensure(); }}
static void release(PyGILState_STATE state) {{ PyGILState_Release(state); }}
static void note(int n) {{ PyGILState_STATE it = hold(); count(n); release(it); }}
void each(Link *link, PyObject *list)
{{
    PyObject *item;
    {}
}}
",
        body.trim()
    ))
}

const LEFT: &str = "take a strong reference, and release it before the thread is detached (after the last use of `item` the thread may be detached, and may not release references)";

#[test]
fn nothing_is_released_behind_a_function_that_detaches() {
    let end = "item = PyList_GetItem(list, 0);\n    finish(link, item);";
    let behind = "PyGILState_STATE state = hold();
    item = PyList_GetItem(list, 0);
    release(state);
    show((void *)item);";
    for body in [&format!("enter(link);\n    {end}"), behind] {
        let result = of_body(body);
        assert!(result.contains(LEFT), "{result}");
    }
}

#[test]
fn a_function_that_takes_another_state_attaches() {
    let result = all("
static void take(Link *link)
{
    PyGILState_STATE state = PyGILState_Ensure();
    link->state = Py_NewInterpreter();
    PyGILState_Release(state);
    if (link->state)
        PyEval_AcquireThread(link->state);
}
void each(Link *link, PyObject *list)
{
    PyObject *item;
    take(link);
    item = PyList_GetItem(list, 0);
    use(item);
}
");
    assert!(result.contains("+    Py_DECREF(item);"), "{result}");
}

#[test]
fn the_reference_is_released_before() {
    let result = of_body(
        "enter(link);
    item = PyList_GetItem(list, 0);
    if (item == NULL) {
        leave(link);
        return;
    }
    use(item);
    leave(link);",
    );
    assert!(
        result.contains("     use(item);\n+    Py_DECREF(item);\n     leave(link);"),
        "{result}"
    );
}

#[test]
fn or_when_the_thread_is_attached_again() {
    for (attach, is_attached) in [("enter(link);", true), ("note(1);", false)] {
        let result = of_body(&format!(
            "item = PyList_GetItem(list, 0);
    leave(link);
    show((void *)item);
    {attach}"
        ));
        let released = format!("     {attach}\n+    Py_DECREF(item);");
        assert_eq!(result.contains(&released), is_attached, "{result}");
        assert_eq!(result.contains(LEFT), !is_attached, "{result}");
    }
}
