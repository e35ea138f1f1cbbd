//! Scripts as they are written, and written again.

use super::*;
use crate::program::testing::with_program;
use crate::stress::{scenarios, surface};

const TEXT: &str = "\
static PyObject *first(PyObject *m, PyObject *names) { return PyList_GetItem(names, 0); }
static PyObject *odd(PyObject *m, PyObject *args) { return args; }
static PyObject *take(PyObject *self, PyObject *args) {
    int i, j; if (!PyArg_ParseTuple(args, \"i|(ii)\", &i, &i, &j)) return NULL; return self;
}
static PyTypeObject Cursor_Type = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = \"m.Cursor\"};
static PyObject *cursor(PyObject *m, PyObject *unused) { return PyObject_New(PyObject, &Cursor_Type); }
static PyMethodDef methods[] = {
    {\"cursor\", cursor, METH_NOARGS}, {\"first\", first, METH_O}, {\"odd\", odd, METH_VARARGS}, {NULL}
};
static PyMethodDef own[] = {{\"take\", take, METH_VARARGS}, {NULL}};
static PyTypeObject Stack_Type = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = \"m.Stack\", .tp_methods = own};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, 0, methods};
";

fn write(reported: &[Reported], old: Option<&str>) -> String {
    with_program(&[("m.c", TEXT)], |program| {
        let files: BTreeSet<_> = program.files.iter().map(|(id, _)| id).collect();
        let surface = surface(program, "m", &files);
        script(&Script {
            surface: &surface,
            scenarios: &scenarios(&surface, reported),
            reported,
            file: "stress_m.py",
            pytest: false,
            old,
        })
    })
}

fn finding() -> Reported {
    Reported {
        id: "abcdef".to_owned(),
        rule: "UG101".to_owned(),
        place: "m.c:1".to_owned(),
        state: "safe fix".to_owned(),
        subjects: BTreeSet::from(["first".to_owned()]),
    }
}

/// The text from one mark to another.
fn part<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    &text[text.find(from).unwrap()..text.find(to).unwrap()]
}

#[test]
fn a_script_marks_what_to_fill_in() {
    let text = write(&[finding()], None);
    assert!(is_script(&text));
    assert!(!is_script("import m\n"));
    insta::assert_snapshot!(part(&text, "MODULE = ", "# ---- What is called"), @r#"
    MODULE = "m"
    FILL_IN = object()  # stands where something has to be filled in

    # The module: change this if it has another name, or needs something before.
    # >>> import [6aea8294]
    def import_module():
        return importlib.import_module(MODULE)
    # <<<


    # Functions that must not be called, by name: SKIP = {"remove_all"}
    # Better arguments for a function than those that are made up:
    # ARGS["Stack.push"] = lambda m: ([1, 2], "key")
    # >>> yours [bf8302a9]
    SKIP = set()
    ARGS = {}
    # <<<


    # A `Cursor` for the threads to share: the type has no `tp_new`, so calling it makes no object.
    # What these functions return is taken.
    # >>> make Cursor [8b90cb25]
    def make_Cursor(m):
        return from_call(m, "Cursor", "cursor")
    # <<<


    # A new `Stack` for the threads to share; put something in, if it can.
    # It is not known how: the type has no `tp_new`, so calling it makes no object.
    # >>> make Stack [d8c5af6d]
    def make_Stack(m):
        return FILL_IN  # fill in: an object
    # <<<


    # The arguments of `odd` (m.c:2) cannot be guessed: how `odd` reads them is not known.
    # >>> arguments of odd [f8448718]
    def args_of_odd(m):
        return FILL_IN  # fill in: a tuple with the arguments
    # <<<


    ARGS.setdefault("odd", args_of_odd)
    "#);
}

#[test]
fn a_script_lists_findings_and_calls() {
    let text = write(&[finding()], None);
    let calls = part(&text, "# ---- What is called", "# ---- What follows");
    insta::assert_snapshot!(calls, @r#"
    # ---- What is called ----

    # The findings of `ungil check` by their ids, with the functions that reach them.
    FINDINGS = {
        "abcdef": {"rule":"UG101","place":"m.c:1","state":"safe fix","functions":["first"]},
    }

    # Each function: how it is called with the module `m`, an object `self` of the type `on`, and `args`,
    # whose kinds are those of KINDS below. `args` is None where they have to be filled in.
    SCENARIOS = {
        "cursor": dict(
            call=lambda m, self, args: m.cursor(),
            on=None, args=[], required=0, place="m.c:7",
        ),
        "first": dict(
            call=lambda m, self, args: m.first(*args),
            on=None, args=["list"], required=1, place="m.c:1",
        ),
        "odd": dict(
            call=lambda m, self, args: m.odd(*args),
            on=None, args=None, required=0, place="m.c:2",
        ),
        "Cursor()": dict(
            call=lambda m, self, args: make(m, "Cursor"),
            on=None, args=[], required=0, place="",
        ),
        "Stack()": dict(
            call=lambda m, self, args: make(m, "Stack"),
            on=None, args=[], required=0, place="",
        ),
        "Stack.take": dict(
            call=lambda m, self, args: self.take(*args),
            on="Stack", args=["int", ["int", "int"]], required=1, place="m.c:3",
        ),
    }
    "#);
}

#[test]
fn what_was_filled_in_stays() {
    let first = write(&[finding()], None);
    assert_eq!(write(&[finding()], Some(&first)), first);
    let filled = first
        .replace("FILL_IN  # fill in: an object", "m.stack()")
        .replace("FILL_IN  # fill in: a tuple with the arguments", "(1, 2)")
        .replace("SKIP = set()", "SKIP = {\"first\"}");
    assert_ne!(filled, first);
    assert_eq!(write(&[finding()], Some(&filled)), filled);
}

#[test]
fn what_is_no_longer_reported_is_called_still() {
    let first = write(&[finding()], None);
    let again = write(&[], Some(&first));
    let row = |text: &str| {
        text.lines()
            .find(|it| it.contains("abcdef"))
            .map(str::to_owned)
    };
    insta::assert_snapshot!(row(&again).unwrap_or_default(), @r#"    "abcdef": {"rule":"UG101","place":"m.c:1","state":"no longer reported","functions":["first"]},"#);
    assert_eq!(row(&write(&[], Some(&again))), row(&again));
}
