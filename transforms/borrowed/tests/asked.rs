//! Functions without a result, and who asks whether they have failed.

use super::all;

/// The result for a function that reads a point, which `callers` call.
fn point(between: &str, callers: &str) -> String {
    all(&format!(
        "
static void
f(PyObject *list, double *x, double *y)
{{
    *x = PyFloat_AsDouble(PyList_GET_ITEM(list, 0));
    {between}
    *y = PyFloat_AsDouble(PyList_GET_ITEM(list, 1));
}}
{callers}"
    ))
}

const ASKING: &str = "
PyObject *g(PyObject *list)
{
    double x, y;
    f(list, &x, &y);
    if (PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(x + y);
}";

const LOUD: &str = "PyErr_WriteUnraisable(NULL);";

#[test]
fn all_callers_ask() {
    insta::assert_snapshot!(point("use(x);", ASKING), @"
        4: review: in `f`, `use(x)` (line 5) need not be undone at the new error exit (the function could not leave here before)
        6: review: in `f`, `use(x)` (line 5) need not be undone at the new error exit (the function could not leave here before)
        @@
         f(PyObject *list, double *x, double *y)
         {
        -    *x = PyFloat_AsDouble(PyList_GET_ITEM(list, 0));
        +    PyObject *item;
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        return;
        +    }
        +    *x = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
             use(x);
        -    *y = PyFloat_AsDouble(PyList_GET_ITEM(list, 1));
        +    item = PyList_GetItemRef(list, 1);
        +    if (item == NULL) {
        +        return;
        +    }
        +    *y = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
         }
        ");
    let through = "
static void h(PyObject *list, double *x, double *y)
{
    f(list, x, y);
    *x += *y;
}";
    let asking = ASKING.replace("f(list", "h(list");
    let result = point("", &[through, &asking].concat());
    assert!(!result.contains(LOUD), "{result}");
}

#[test]
fn nobody_asks() {
    let of = |callers: &str| point("", callers).contains(LOUD);
    assert!(of(""));
    assert!(of(
        "void g(PyObject *list, double *xy) { f(list, xy, xy + 1); }"
    ));
    // What is asked is what the caller's own call says.
    assert!(of("PyObject *g(PyObject *list)
{
    double x, y;
    long n;
    f(list, &x, &y);
    n = PyLong_AsLong(list);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(x + y);
}"));
}

#[test]
fn some_callers_ask() {
    let other = "void h(PyObject *list, double *xy) { f(list, xy, xy + 1); }";
    let result = point("", &[ASKING, other].concat());
    assert!(!result.contains(LOUD), "{result}");
    // As an item that is no number.
    assert!(!result.contains("if (item == NULL)"), "{result}");
    assert!(result.contains("Py_XDECREF(item);"), "{result}");
}

#[test]
fn a_caller_asks_only_where_the_result_looks_like_an_error() {
    let result = point("", &ASKING.replace("if (Py", "if (y == -1.0 && Py"));
    // The new exit would leave `y` as it is, where `PyFloat_AsDouble(NULL)` gives -1.
    assert!(!result.contains(LOUD), "{result}");
    assert!(!result.contains("if (item == NULL)"), "{result}");
    // One that fails for another reason tells of that.
    let fails = ASKING.replace("if (Py", "if (list == NULL) return NULL; if (Py");
    let result = point("", &fails);
    assert!(result.contains("        return;"), "{result}");
}

#[test]
fn callers_that_ask_by_other_means() {
    let of = |question: &str| point("", &ASKING.replace("PyErr_Occurred()", question));
    let loud = |result: &str| result.contains(LOUD);
    assert!(!loud(&of("y < 0")), "{}", of("y < 0"));
    assert!(loud(&of("list == NULL")));
    let helper = "static int failed(void) { return PyErr_Occurred() != NULL; }";
    let asking = ASKING.replace("PyErr_Occurred()", "failed()");
    let result = point("", &[helper, &asking].concat());
    assert!(!loud(&result), "{result}");
}

#[test]
fn failures_that_are_noted_elsewhere() {
    let between = |between: &str| point(between, "");
    let noted = between("if (PyErr_Occurred()) failed = 1;");
    // Behind the question nothing notes what fails.
    assert_eq!(noted.matches(LOUD).count(), 1, "{noted}");
    let cleared = between("if (PyErr_Occurred()) PyErr_Clear();");
    assert_eq!(cleared.matches(LOUD).count(), 2, "{cleared}");
}

#[test]
fn it_asks_itself() {
    let between = |between: &str| point(between, "");
    let asked = between("if (PyErr_Occurred()) return;");
    assert!(!asked.contains(LOUD), "{asked}");
    let printed = between("if (PyErr_Occurred()) { PyErr_Print(); return; }");
    assert!(printed.contains(LOUD), "{printed}");
}

#[test]
fn an_exception_of_before_is_not_dropped() {
    let of = |before: &str| {
        let between = format!("Py_XDECREF({before});");
        point(&between, ASKING).contains("that exception would be dropped")
    };
    assert!(of("PyObject_CallNoArgs(list)"));
    assert!(!of("list"));
}
