//! C in, calls out.

use std::collections::BTreeSet;

use super::*;
use crate::program::testing::with_program;
use crate::stress::surface;

/// One line for each call: its name, the expression, the kinds of its arguments with those that may be
/// left out after a `|`, and the findings.
fn calls(text: &str, reported: &[Reported]) -> String {
    with_program(&[("m.c", text)], |program| {
        let files: BTreeSet<_> = program.files.iter().map(|(id, _)| id).collect();
        let surface = surface(program, "m", &files);
        let mut out = String::new();
        for it in scenarios(&surface, reported) {
            let args = match &it.args {
                Ok(args) => shown(args, it.required),
                Err(why) => format!("? {why}"),
            };
            let ids: String = it.findings.iter().map(|id| format!(" <{id}>")).collect();
            out += &format!("{}: {} ({args}){ids}\n", it.name, it.call);
        }
        for ty in &surface.types {
            let made = match &ty.make.params {
                Ok(params) => {
                    let kinds: Vec<_> = params.iter().map(|it| value(&surface, &it.kind)).collect();
                    shown(&kinds, kinds.len())
                }
                Err(why) => format!("? {why}"),
            };
            out += &format!("new {}({made})\n", ty.name);
        }
        out
    })
}

fn shown(args: &[Value], required: usize) -> String {
    let word = |value: &Value| match value {
        Value::Word(word) => word.clone(),
        Value::Object(name) => format!("object {name}"),
        Value::Tuple(values) => format!("({})", shown(values, values.len())),
    };
    let words: Vec<String> = args.iter().map(word).collect();
    let (given, left) = words.split_at(required);
    match left {
        [] => given.join(", "),
        _ => format!("{} | {}", given.join(", "), left.join(", ")),
    }
}

/// A module with one function that parses its arguments so.
fn parsed(call: &str) -> String {
    let text = format!(
        "static char *names[] = {{\"a\", \"b\", \"c\", NULL}};
         static PyTypeObject Stack_Type = {{PyVarObject_HEAD_INIT(NULL, 0) .tp_name = \"m.Stack\"}};
         static PyObject *f(PyObject *s, PyObject *args, PyObject *kw) {{
             PyObject *a, *b; int i; char *t; Py_ssize_t n; double d; Py_buffer v;
             if (!{call}) return NULL;
             Py_ssize_t size = PyList_Size(b);
             return PyLong_FromSsize_t(size);
         }}
         static PyMethodDef methods[] = {{{{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}}, {{NULL}}}};
         static struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, \"m\", NULL, 0, methods}};"
    );
    let all = calls(&text, &[]);
    all.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn formats_say_what_is_given() {
    let of = |call: &str| parsed(&format!("PyArg_ParseTuple(args, {call})"));
    insta::assert_snapshot!(of("\"iszy*:f\", &i, &t, &t, &v"), @"f: m.f(*args) (int, str, str, bytes)");
    insta::assert_snapshot!(of("\"O!O!O\", &PyDict_Type, &a, &Stack_Type, &a, &b"), @"f: m.f(*args) (dict, object Stack, list)");
    insta::assert_snapshot!(of("\"O|ds#;message\", &a, &d, &t, &n"), @"f: m.f(*args) (any | float, str)");
    insta::assert_snapshot!(of("\"(ii)O&p\", &i, &i, convert, &a, &i"), @"f: m.f(*args) ((int, int), any, bool)");
    insta::assert_snapshot!(of("\"es#w*c\", \"utf-8\", &t, &n, &v, &t"), @"f: m.f(*args) (str, bytearray, byte)");
    insta::assert_snapshot!(of("\"q\", &i"), @"f: m.f(*args) (? the format `q` is not known)");
    insta::assert_snapshot!(of("format, &i"), @"f: m.f(*args) (? its format is not a literal)");
    insta::assert_snapshot!(parsed("PyArg_ParseTupleAndKeywords(args, kw, \"i|O$O\", names, &i, &a, &b)"), @"f: m.f(*args[:2], c=args[2]) (int, any, list)");
    insta::assert_snapshot!(parsed("PyArg_UnpackTuple(args, \"f\", 1, 2, &a, &b)"), @"f: m.f(*args) (any | list)");
    insta::assert_snapshot!(parsed("PyObject_IsTrue(kw)"), @"f: m.f(*args) (? how `f` reads them is not known)");
}

#[test]
fn conventions_say_how_it_is_given() {
    let text = "\
static PyObject *none(PyObject *s, PyObject *x) { return s; }
static PyObject *one(PyObject *s, PyObject *x) { return PyDict_Copy(x); }
static PyObject *helped(PyObject *s, PyObject *x) { return help(1, x); }
static PyObject *help(int i, PyObject *x) { PyObject *l = (PyObject *)x; return PyList_AsTuple(l); }
static PyObject *fast(PyObject *s, PyObject *const *args, Py_ssize_t n) {
    if (n != 2) return NULL;
    return PyObject_CallOneArg(args[1], args[0]);
}
static PyObject *stack(PyObject *s, PyObject *const *args, Py_ssize_t n) {
    int i; if (!_PyArg_ParseStack(args, n, \"i:stack\", &i)) return NULL; return s;
}
static PyObject *items(PyObject *s, PyObject *args) {
    if (PyTuple_GET_SIZE(args) != 1) return NULL;
    return PyBytes_FromObject(PyTuple_GET_ITEM(args, 0));
}
static PyObject *inner(PyObject *s, PyObject *args, int up) {
    PyObject *o; if (!PyArg_ParseTuple(args, \"U\", &o)) return NULL; return o;
}
static PyObject *outer(PyObject *s, PyObject *args) { return inner(s, args, 1); }
static PyObject *unknown(PyObject *s, PyObject *args) { return args; }
static PyMethodDef table[] = {
    {\"none\", none, METH_NOARGS}, {\"one\", one, METH_O}, {\"helped\", helped, METH_O},
    {\"fast\", (PyCFunction)fast, METH_FASTCALL}, {\"stack\", (PyCFunction)stack, METH_FASTCALL},
    {\"items\", items, METH_VARARGS}, {\"outer\", outer, METH_VARARGS},
    {\"unknown\", unknown, METH_VARARGS}, {\"flags\", one, FLAGS}, {\"lost\", lost, METH_O}, {NULL}
};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, 0, table};
";
    insta::assert_snapshot!(calls(text, &[]), @"
    fast: m.fast(*args) (any, callable)
    flags: m.flags(*args) (? the flags of `one` are not written out)
    helped: m.helped(*args) (list)
    items: m.items(*args) (bytes)
    lost: m.lost(*args) (? `lost` was not found, or could not be analysed)
    none: m.none() ()
    one: m.one(*args) (dict)
    outer: m.outer(*args) (str)
    stack: m.stack(*args) (int)
    unknown: m.unknown(*args) (? how `unknown` reads them is not known)
    ");
}

const TYPES: &str = "\
static int last;
static PyObject *push(PyObject *self, PyObject *x) { last = 1; return keep(self, x); }
static PyObject *keep(PyObject *self, PyObject *x) { return x; }
static PyObject *size(PyObject *self, void *c) { return NULL; }
static int set_size(PyObject *self, PyObject *v, void *c) { return PyLong_AsLong(v); }
static PyObject *item(PyObject *self, Py_ssize_t i) { return NULL; }
static int init(PyObject *self, PyObject *args, PyObject *kw) {
    PyObject *o; return PyArg_ParseTuple(args, \"O!\", Spare_Type, &o) - 1;
}
static void dealloc(PyObject *self) { last = 0; }
static PyMethodDef methods[] = {{\"push\", push, METH_O}, {NULL}};
static PyGetSetDef attributes[] = {{\"size\", size, set_size}, {NULL}};
static PySequenceMethods sequence = {.sq_item = item};
static PyTypeObject Stack = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = \"pkg.m.Stack\", .tp_methods = methods,
    .tp_getset = attributes, .tp_as_sequence = &sequence, .tp_dealloc = dealloc,
};
static PyType_Slot slots[] = {{Py_tp_init, init}, {Py_tp_methods, methods}, {0, NULL}};
static PyType_Spec spare_spec = {\"pkg.m.Spare\", 16, 0, 0, slots};
static PyTypeObject Blank = {PyVarObject_HEAD_INIT(NULL, 0) .tp_name = \"Blank\"};
static int execute(PyObject *m) { Blank.tp_new = PyType_GenericNew; return 0; }
";

#[test]
fn types_have_methods_attributes_and_slots() {
    let finding = |id: &str, subject: &str| Reported {
        id: id.to_owned(),
        rule: "UG101".to_owned(),
        place: "m.c:1".to_owned(),
        state: "by hand".to_owned(),
        subjects: BTreeSet::from([subject.to_owned()]),
    };
    let reported = [
        finding("helper", "keep"),
        finding("variable", "last"),
        finding("other", "x"),
    ];
    insta::assert_snapshot!(calls(TYPES, &reported), @r#"
    Blank(): make(m, "Blank") ()
    Spare(): make(m, "Spare") ()
    Spare.__init__: self.__init__(*args) (object Spare)
    Spare.push: self.push(*args) (any) <helper> <variable>
    Stack(): make(m, "Stack") () <variable>
    Stack.push: self.push(*args) (any) <helper> <variable>
    Stack.size: self.size ()
    Stack.size=: setattr(self, "size", args[0]) (int)
    Stack.sq_item: self[args[0]] (int)
    new Blank()
    new Spare(object Spare)
    new Stack(? the type has no `tp_new`, so calling it makes no object)
    "#);
}

#[test]
fn the_name_to_import_is_the_longest_that_the_code_has() {
    let name = with_program(&[("m.c", TYPES)], |program| {
        let files: BTreeSet<_> = program.files.iter().map(|(id, _)| id).collect();
        surface(program, "m", &files).module
    });
    assert_eq!(name, "pkg.m");
}
