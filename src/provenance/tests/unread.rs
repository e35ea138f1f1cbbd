//! Text that nobody analyses, and what it names.

use super::{of, verdicts};

const FROZEN: &str = "\
#include \"foo.h\"
static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    Foo *self = (Foo *)type->tp_alloc(type, 0);
    self->table = PyDict_New();
    return (PyObject *)self;
}
static PyObject *get(Foo *self, PyObject *k) { use(PyDict_GetItem(self->table, k)); return k; }
static PyTypeObject T = {.tp_new = new};
";

const CPP: &str = "\
#include \"foo.h\"
template <typename T> void fill(T *foo) { PyDict_SetItemString(foo->table, \"a\", Py_None); }
";

fn frozen_beside(path: &str, text: &str) -> String {
    let header = "typedef struct { PyObject_HEAD PyObject *table; } Foo;\n";
    verdicts(&[("a.c", FROZEN), ("foo.h", header), (path, text)])
}

#[test]
fn a_field_that_another_language_names_is_not_proven() {
    insta::assert_snapshot!(frozen_beside("b.cpp", CPP), @"get: shared, `self->table`, which also appears in `b.cpp`, a file that was not read");
}

#[test]
fn nor_is_one_that_a_template_names() {
    insta::assert_snapshot!(frozen_beside("b.c.src", CPP), @"get: shared, `self->table`, which also appears in `b.c.src`, a file that was not read");
}

#[test]
fn a_file_that_does_not_name_it_is_no_matter() {
    insta::assert_snapshot!(frozen_beside("b.cpp", "void fill(Foo *foo) { foo->list = 0; }"), @"get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes");
}

#[test]
fn nor_is_one_that_a_macro_of_other_files_names() {
    let texts = [
        ("a.c", FROZEN),
        ("push.hpp", "#define PUSH(o) PyDict_Clear((o)->table)\n"),
        (
            "b.cpp",
            "#include \"push.hpp\"\nvoid clear(Foo *foo) { PUSH(foo); }\n",
        ),
    ];
    insta::assert_snapshot!(verdicts(&texts), @"get: shared, `self->table`, which also appears in `push.hpp`, a file that was not read");
}

const HELPER: &str = "\
PyObject *pick(PyObject *d) { return PyDict_GetItemString(d, \"a\"); }
static PyObject *get(PyObject *self, PyObject *args) {
    PyObject *d = PyDict_New();
    use(pick(d));
    Py_RETURN_NONE;
}
";

#[test]
fn a_static_function_is_that_of_its_file() {
    let text = format!("static {HELPER}");
    let apart = "PyObject *pick(int); PyObject *f() { return pick(1); }";
    insta::assert_snapshot!(verdicts(&[("a.c", &text), ("b.cpp", apart)]), @"pick: Fresh, in `get()`: the container is made by `PyDict_New()` on line 3, and no other code has it while the value is in use");
}

#[test]
fn but_for_files_that_include_it() {
    let text = format!("static {HELPER}");
    let with = "#include \"a.c\"\nPyObject *f() { return pick(cache); }";
    insta::assert_snapshot!(verdicts(&[("a.c", &text), ("b.cpp", with)]), @"pick: shared, `d`, which the caller passes");
}

const ENTRY: &str = "\
static PyObject *names;
void fill(void) { use(PyDict_GetItemString(names, \"a\")); }
PyMODINIT_FUNC PyInit_m(void) { names = PyDict_New(); fill(); return PyModule_Create(&def); }
";

#[test]
fn a_function_of_module_creation_may_be_called_from_elsewhere() {
    let other = "extern \"C\" void fill(); void again() { fill(); }";
    insta::assert_snapshot!(of(ENTRY), @"fill: InitOnly, `fill()` runs only during module initialisation, and `names` belongs to that module");
    insta::assert_snapshot!(verdicts(&[("a.c", ENTRY), ("b.cpp", other)]), @"fill: shared, `names`, a variable that all threads share");
}

const KEYWORDS: &str = "\
static PyObject *one(PyObject *self, PyObject *args, PyObject *kwargs) {
    use(PyDict_GetItemString(kwargs, \"a\"));
    return args;
}
static PyObject *two(PyObject *self, PyObject *args, PyObject *kwargs) {
    odd(kwargs);
    use(PyDict_GetItemString(kwargs, \"a\"));
    return args;
}
static PyMethodDef methods[] = {
    {\"one\", (PyCFunction)one, METH_VARARGS | METH_KEYWORDS, NULL},
    {\"two\", (PyCFunction)two, METH_VARARGS | METH_KEYWORDS, NULL},
    {\"odd\", (PyCFunction)odd, METH_VARARGS | METH_KEYWORDS, NULL},
};
";

#[test]
fn a_function_that_is_not_understood_blocks_what_it_names() {
    let text = format!(
        "static void odd(PyObject *kwargs) {{ kwargs ) ; }}\n\
         static PyObject *other(PyObject *self, PyObject *args, PyObject *kwargs) {{ args ) ; }}\n\
         {KEYWORDS}"
    );
    insta::assert_snapshot!(of(&text), @"
    one: Kwargs, `kwargs` holds the keyword arguments, and is created for this call
    two: shared, `kwargs`, which the caller passes
    ");
}

#[test]
fn nor_does_a_variant_that_is_not_understood_tell_what_the_function_does() {
    let text = format!(
        "#ifdef A\nstatic void odd(PyObject *kwargs) {{ kwargs ) ; }}\n\
         #else\nstatic void odd(PyObject *kwargs) {{ }}\n#endif\n{KEYWORDS}"
    );
    insta::assert_snapshot!(of(&text), @"
    one: Kwargs, `kwargs` holds the keyword arguments, and is created for this call
    two: shared, `kwargs`, which the caller passes
    ");
}

#[test]
fn keyword_arguments_that_another_language_may_pass_on() {
    let method = "static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) { use(PyDict_GetItemString(kw, \"a\")); return self; }\n\
                  static PyMethodDef m[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}};\n";
    let beside = |text: &str| verdicts(&[("a.c", method), ("b.cpp", text)]);
    insta::assert_snapshot!(beside("int x;\n"), @"f: Kwargs, `kw` holds the keyword arguments, and is created for this call");
    insta::assert_snapshot!(beside("PyObject *go(Foo &foo) { return PyObject_Call(foo.f, foo.a, foo.d); }\n"), @"f: shared, `kw`, which the caller passes");
}
