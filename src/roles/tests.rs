//! Tables in, roles out.

use crate::program::testing::with_program;
use crate::program::{CallIndex, Program};

use super::{Roles, init_only};

/// One line a function: its name and its roles.
fn roles(text: &str) -> String {
    with_program(&[("a.c", text)], |program| {
        let roles = Roles::new(program);
        let mut out = String::new();
        for (item, function) in program.functions() {
            let of: Vec<_> = roles.of(item, function).collect();
            out += &format!("{}: {of:?}\n", function.name);
        }
        out
    })
}

fn only_at_init(program: &Program<'_>) -> String {
    let calls = CallIndex::new(program);
    let roles = Roles::new(program);
    let names: Vec<&str> = init_only(program, &calls, &roles).into_iter().collect();
    names.join(" ")
}

fn init_only_in(text: &str) -> String {
    with_program(&[("a.c", text)], only_at_init)
}

#[test]
fn method_tables_give_conventions() {
    let text = "\
static PyObject *a(PyObject *s, PyObject *x) { return x; }
static PyObject *b(PyObject *s, PyObject *x, PyObject *k) { return x; }
static PyObject *c(PyObject *s, PyObject *const *x, Py_ssize_t n, PyObject *k) { return k; }
static PyObject *d(PyObject *s, PyObject *x) { return x; }
static PyObject *e(PyObject *s, PyObject *x) { return x; }
static PyObject *unused(PyObject *s) { return s; }
static PyMethodDef methods[] = {
    {\"a\", a, METH_VARARGS, NULL},
    {\"b\", (PyCFunction)(void (*)(void))b, METH_VARARGS | METH_KEYWORDS},
    {\"c\", _PyCFunction_CAST(c), METH_CLASS | METH_FASTCALL | METH_KEYWORDS, NULL},
    {.ml_flags = METH_O, .ml_meth = d, .ml_name = \"d\"},
    {\"e\", e, FLAGS, NULL},
    {NULL, NULL, 0, NULL}
};
";
    insta::assert_snapshot!(roles(text), @"
    a: [Method(VarArgs)]
    b: [Method(VarArgsKeywords)]
    c: [Method(FastCallKeywords)]
    d: [Method(One)]
    e: [Method(Unknown)]
    unused: []
    ");
}

#[test]
fn type_slots_are_found_by_position_designator_and_assignment() {
    let text = "\
static void dealloc(PyObject *s) { }
static int init(PyObject *s, PyObject *a, PyObject *k) { return 0; }
static PyObject *call(PyObject *s, PyObject *a, PyObject *k) { return a; }
static PyObject *item(PyObject *s, Py_ssize_t i) { return s; }
static PyObject *get(PyObject *s, void *c) { return s; }
static int set(PyObject *s, PyObject *v, void *c) { return 0; }
static PyObject *make(PyTypeObject *t, PyObject *a, PyObject *k) { return a; }
static PyGetSetDef getset[] = {{\"x\", get, set, NULL, NULL}, {NULL}};
static PySequenceMethods sequence = {0, 0, 0, item};
static PyTypeObject A = {PyVarObject_HEAD_INIT(NULL, 0) \"A\", 8, 0, (destructor)dealloc};
static PyTypeObject B = {PyVarObject_HEAD_INIT(NULL, 0) .tp_init = (initproc)init};
static PyType_Slot slots[] = {{Py_tp_call, call}, {0, NULL}};
void f(void) { B.tp_new = make; }
";
    insta::assert_snapshot!(roles(text), @r#"
    dealloc: [Slot("tp_dealloc")]
    init: [Slot("tp_init")]
    call: [Slot("tp_call")]
    item: [Slot("sq_item")]
    get: [Getter]
    set: [Setter]
    make: [Slot("tp_new")]
    f: []
    "#);
}

#[test]
fn a_static_function_has_the_roles_of_its_own_unit() {
    let table = "static PyObject *f(PyObject *s, PyObject *a, PyObject *k) { return a; }\n\
        static PyMethodDef m[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}};";
    let helper = "static PyObject *f(PyObject *s, PyObject *a, PyObject *k) { return k; }";
    let shown = with_program(&[("a.c", table), ("b.c", helper)], |program| {
        let roles = Roles::new(program);
        let functions = program.functions();
        let of: Vec<_> = functions
            .map(|(item, f)| roles.of(item, f).count())
            .collect();
        format!("{of:?}")
    });
    insta::assert_snapshot!(shown, @"[1, 0]");
}

#[test]
fn what_only_initialisation_calls_is_found_through_helpers() {
    let text = "\
static int deep(PyObject *m) { return 0; }
static int helper(PyObject *m) { return deep(m); }
static int both(PyObject *m) { return 0; }
static int recursive(int n) { return recursive(n - 1); }
static int handler(void) { return 0; }
static int exec(PyObject *m) { hook(handler); return helper(m) + both(m); }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
PyObject *later(PyObject *m) { both(m); return m; }
PyMODINIT_FUNC PyInit_a(void) { return PyModuleDef_Init(&def); }
";
    insta::assert_snapshot!(init_only_in(text), @"PyInit_a deep exec helper");
}

#[test]
fn an_initialiser_that_is_called_again_does_not_count() {
    let text = "\
static int helper(PyObject *m) { return 0; }
static int exec(PyObject *m) { return helper(m); }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
PyObject *reload(PyObject *m) { exec(m); return m; }
";
    insta::assert_snapshot!(init_only_in(text), @"");
}

#[test]
fn a_variant_that_is_not_understood_does_not_name_itself() {
    let table = |more: &str| {
        init_only_in(&format!(
            "\
void fill(void)
{{
#ifdef ODD
    int odd[] = {{ ... }};
    {more}
#endif
}}
PyMODINIT_FUNC PyInit_a(void) {{ fill(); return 0; }}
"
        ))
    };
    assert_eq!(table(""), "PyInit_a fill");
    // Text that was not understood may hand it on.
    assert_eq!(table("keep(fill);"), "PyInit_a");
}

#[test]
fn an_initialiser_whose_name_a_macro_of_the_build_makes_is_known_by_its_type() {
    let text = |ty: &str| {
        format!(
            "static int fill(void) {{ return 0; }}\n{ty} MODULE_INIT(a) {{ fill(); return 0; }}\n"
        )
    };
    assert_eq!(init_only_in(&text("PyMODINIT_FUNC")), "MODULE_INIT fill");
    assert_eq!(init_only_in(&text("PyObject *")), "");
}

/// The functions that run at initialisation only, beside a file that is not read.
fn beside(path: &str, unread: &str) -> String {
    let text = "\
int fill(void) { return 0; }
int make_one(void) { return 0; }
PyMODINIT_FUNC PyInit_a(void) { fill(); make_one(); return 0; }
";
    with_program(&[("a.c", text), (path, unread)], only_at_init)
}

#[test]
fn what_a_template_calls_while_it_makes_a_module_runs_then() {
    let init = |head: &str| {
        format!("{head}\n{{\n    if (fill() < 0) {{ return NULL; }}\n    return m;\n}}\n")
    };
    let all = "PyInit_a fill make_one";
    assert_eq!(
        beside("b.c.src", &init("PyMODINIT_FUNC PyInit_b(void)")),
        all
    );
    assert_eq!(
        beside(
            "b.cpp",
            &init("extern \"C\" { int fill(void); }\nPyMODINIT_FUNC INIT(void)")
        ),
        all
    );
    // A helper of the template, which only its own initialisation calls.
    let helped = format!(
        "{}{}",
        init("static int help(void)"),
        "PyMODINIT_FUNC PyInit_b(void) { help(); }"
    );
    assert_eq!(beside("b.c.src", &helped), all);
}

#[test]
fn what_a_template_may_call_later_does_not_count() {
    let without_fill = "PyInit_a make_one";
    for text in [
        "static PyObject *get(PyObject *m) { fill(); return m; }",
        "static PyObject *@kind@_get(PyObject *m) { fill(); return m; }",
        "PyMODINIT_FUNC PyInit_b(void) { keep(fill); }",
        "#define READY fill()\n",
        "static hook hooks[] = {fill};",
        "hook it = fill;",
        "PyMODINIT_FUNC PyInit_b(void) { fill(); ",
        "{% for it in all %} PyMODINIT_FUNC PyInit_b(void) { fill(); } {% endfor %}",
    ] {
        assert_eq!(beside("b.c.src", text), without_fill, "{text}");
    }
    assert_eq!(beside("b.pyx", "def get():\n    fill()\n"), without_fill);
    // The name is made of parts.
    assert_eq!(
        beside("b.c.src", "static int @kind@(void) { make_@kind@(); }"),
        "PyInit_a fill"
    );
    let told = "/**begin repeat\n * #f = fill# */\nint @f@_all(void) { @f@(); }";
    assert_eq!(beside("b.c.src", told), without_fill);
}

#[test]
fn a_size_of_its_own_behind_the_head_moves_no_slot() {
    let text = "\
static void gone(Thing *self) { free(self); }
static PyTypeObject Thing_Type = {
    PyObject_HEAD_INIT(NULL)
    0,
    \"m.Thing\",
    sizeof(Thing),
    0,
    (destructor)gone,
};
";
    assert_eq!(roles(text), "gone: [Slot(\"tp_dealloc\")]\n");
}
