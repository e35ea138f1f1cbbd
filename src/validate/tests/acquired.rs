//! Functions split behind the reads of fields, which hold what they read for the time of the rest.

use super::wrong;

/// The function before.
const BEFORE: &str = "
struct event { PyObject *hook; int fd; };
static PyObject *f(struct event *self, PyObject *arg) {
    if (self->fd < 0) return NULL;
    return PyObject_CallOneArg(self->hook, arg);
}
/* first */
static PyMethodDef methods[] = {{\"f\", (PyCFunction)f, METH_O}, {NULL}};
";

const FIRST: &str = "static PyObject *f(struct event *self, PyObject *arg) {
    int fd;
    PyObject *hook;
    PyObject *result;
    Py_BEGIN_CRITICAL_SECTION(self);
    fd = self->fd;
    hook = Py_XNewRef(self->hook);
    Py_END_CRITICAL_SECTION();
    result = f_with_hook(self, arg, fd, hook);
    Py_XDECREF(hook);
    return result;
}";

/// What is wrong with a split in which each text of the halves is another.
fn split(first: &[(&str, &str)], second: &[(&str, &str)]) -> Vec<String> {
    let mut edits = vec![
        (
            "static PyObject *f(struct event *self, PyObject *arg) {\n",
            "static PyObject *f_with_hook(struct event *self, PyObject *arg, int fd, PyObject *hook) {\n",
        ),
        ("(self->fd", "(fd"),
        ("(self->hook", "(hook"),
    ];
    edits.extend(second);
    let mut text = FIRST.to_owned();
    for (old, new) in first {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    edits.push(("/* first */", &text));
    wrong(BEFORE, &edits)
}

#[test]
fn two_halves_that_do_what_the_function_did_are_fine() {
    assert_eq!(split(&[], &[]), [""; 0]);
}

#[test]
fn a_first_half_that_does_something_else_is_found() {
    let other =
        "`f` and `f_with_hook` do not read the fields in a section and release them after the call";
    let outside = "    fd = self->fd;\n    Py_BEGIN_CRITICAL_SECTION(self);\n";
    for change in [
        (
            "    Py_BEGIN_CRITICAL_SECTION(self);\n    fd = self->fd;\n",
            outside,
        ),
        ("SECTION(self)", "SECTION(arg)"),
        ("    fd = self->fd;\n", ""),
        ("fd, hook)", "fd, arg)"),
        ("(self, arg, fd", "(self, self, fd"),
        ("Py_XNewRef(self->hook)", "Py_XNewRef(arg)"),
        ("Py_XNewRef(self->hook)", "PyObject_Str(self->hook)"),
        ("    Py_XDECREF(hook);\n", ""),
        ("Py_XDECREF(hook)", "Py_XDECREF(arg)"),
        ("return result", "return arg"),
        ("    return result", "    self->fd = 1;\n    return result"),
    ] {
        let found = split(&[change], &[]);
        assert!(
            found.iter().any(|why| why == other),
            "{change:?}: {found:?}"
        );
    }
}

#[test]
fn a_second_half_that_does_something_else_is_found() {
    let other =
        "`f` and `f_with_hook` together do not do what the function did before it was split";
    let swapped = [("fd = self->fd", "fd = self->other")];
    assert_eq!(split(&swapped, &[]), [other]);
    assert_eq!(split(&[], &[("< 0", "<= 0")]), [other]);
    assert_eq!(split(&[], &[("NULL;", "Py_NewRef(hook);")]), [other]);
}
