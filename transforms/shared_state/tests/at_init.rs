//! Constants that are made while the module is made.

use super::LAZY_STATIC_CACHE;
use crate::testing::{run_alternative, run_triaged};

const SINGLE: &str = "
static PyMethodDef methods[] = {{\"f\", f, METH_NOARGS, NULL}, {NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, -1, methods};
PyMODINIT_FUNC
PyInit_m(void)
{
    PyObject *module;

    module = PyModule_Create(&def);
    return module;
}
";

const MULTI: &str = "
static PyMethodDef methods[] = {{\"f\", f, METH_NOARGS, NULL}, {NULL}};
static int exec(PyObject *m)
{
    /* A constant of the module. */
    return PyModule_AddIntConstant(m, \"one\", 1);
}
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
static struct PyModuleDef def = {
    PyModuleDef_HEAD_INIT, .m_name = \"m\", .m_methods = methods, .m_slots = slots,
};
PyMODINIT_FUNC PyInit_m(void) { return PyModuleDef_Init(&def); }
";

const NAME: &str = "\
/* Attributes. */
static PyObject *
f(PyObject *self, PyObject *unused)
{
    static PyObject *str_name = NULL;

    if (str_name == NULL) {
        str_name = PyUnicode_InternFromString(\"name\");
        if (str_name == NULL) {
            return NULL;
        }
    }

    return PyObject_GetAttr(self, str_name);
}
";

fn cache(text: &str, module: &str) -> String {
    run_triaged(&LAZY_STATIC_CACHE, &format!("{text}{module}"))
}

#[test]
fn an_interned_string_is_made_with_its_module() {
    insta::assert_snapshot!(cache(NAME, SINGLE), @r#"
        5: `str_name` is filled on first use; two threads may both fill it
          8: `f` writes it here
          safe: fill `str_name` during module initialisation
        @@
        +static PyObject *str_name = NULL;
        +
         /* Attributes. */
         static PyObject *
         f(PyObject *self, PyObject *unused)
         {
        -    static PyObject *str_name = NULL;
        -
        -    if (str_name == NULL) {
        -        str_name = PyUnicode_InternFromString("name");
        -        if (str_name == NULL) {
        -            return NULL;
        -        }
        -    }
        -
             return PyObject_GetAttr(self, str_name);
         }
        @@
             PyObject *module;
         
        +    if (str_name == NULL) {
        +        str_name = PyUnicode_InternFromString("name");
        +        if (str_name == NULL) {
        +            return NULL;
        +        }
        +    }
             module = PyModule_Create(&def);
             return module;
        "#);
}

#[test]
fn the_function_that_executes_the_module_fails_with_a_number() {
    insta::assert_snapshot!(cache("\
static PyObject *one;
static PyObject *other;
static PyObject *f(PyObject *self, PyObject *unused)
{
    if (!one)
        one = PyLong_FromLong(-1);
    if (!other)
        if (!(other = PyUnicode_FromString(\"other\")))
            return NULL;
    return PyTuple_Pack(2, one, other);
}
", MULTI), @r#"
        1: `one` is filled on first use; two threads may both fill it
          6: `f` writes it here
          safe: fill `one` during module initialisation
        2: `other` is filled on first use; two threads may both fill it
          8: `f` writes it here
          safe: fill `other` during module initialisation
        @@
         static PyObject *f(PyObject *self, PyObject *unused)
         {
        -    if (!one)
        -        one = PyLong_FromLong(-1);
        -    if (!other)
        -        if (!(other = PyUnicode_FromString("other")))
        -            return NULL;
             return PyTuple_Pack(2, one, other);
         }
        @@
         static int exec(PyObject *m)
         {
        +    if (!one) {
        +        one = PyLong_FromLong(-1);
        +        if (!one)
        +            return -1;
        +    }
        +    if (!other) {
        +        other = PyUnicode_FromString("other");
        +        if (!other)
        +            return -1;
        +    }
             /* A constant of the module. */
             return PyModule_AddIntConstant(m, "one", 1);
        "#);
}

#[test]
fn a_mutex_is_the_alternative() {
    let said = run_alternative(&LAZY_STATIC_CACHE, &format!("{NAME}{SINGLE}"));
    assert!(
        said.contains("safe: fill `str_name` under a mutex"),
        "{said}"
    );
}

/// What is done where the text differs in `from`, which becomes `to`.
fn title_with(from: &str, to: &str) -> String {
    let text = format!("{NAME}{SINGLE}");
    assert!(text.contains(from));
    let said = run_triaged(&LAZY_STATIC_CACHE, &text.replacen(from, to, 1));
    let mut lines = said.lines();
    lines.nth(2).unwrap_or_default().trim().to_owned()
}

#[test]
fn what_runs_before_the_module_is_made_keeps_its_test() {
    let moved = "safe: fill `str_name` during module initialisation";
    let guarded = "safe: fill `str_name` under a mutex";
    assert_eq!(title_with("/* Attributes. */", ""), moved);
    for (from, to) in [
        // Something is made that an exit would have to release.
        ("*module;", "*module = PyList_New(0);"),
        ("*module;", "*module = f(NULL, NULL);"),
        // The body stands on one line.
        (
            "{\n    PyObject *module;\n\n    module =",
            "{ PyObject *module; module =",
        ),
        // Another function has a variable of that name.
        (
            "/* Attributes. */",
            "static int g(int str_name) { return str_name; }",
        ),
        ("/* Attributes. */", "#define str_name 3\n#undef str_name"),
        // What is said of the statement would stay behind.
        (
            "    if (str_name == NULL) {\n        str_name",
            "    /* Once. */\n    if (str_name == NULL) {\n        str_name",
        ),
        (
            "            return NULL;",
            "            /* no memory */\n            return NULL;",
        ),
        ("name = NULL;", "name = NULL; /* interned */"),
        ("name = NULL;", "name = NULL, *other;"),
        // It may be reset through a pointer, or fail for what it says.
        ("(self, str_name)", "(self, *where(&str_name))"),
        ("(\"name\")", "(\"n\\xe9\")"),
        // Not everybody makes it.
        (
            "        str_name = PyUnicode",
            "#ifdef X\n        other();\n#endif\n        str_name = PyUnicode",
        ),
        // The value is not always the same.
        ("String(\"name\")", "String(getenv(\"name\"))"),
    ] {
        assert_eq!(title_with(from, to), guarded, "{to}");
    }
}

#[test]
fn a_branch_that_ends_before_the_module_is_made_keeps_its_variable() {
    let text = format!(
        "#ifdef HAVE_F\n{NAME}#endif\n{}",
        SINGLE.replace("\"f\", f", "\"f\", g")
    );
    let text = text.replace(
        "static PyMethodDef",
        "static PyObject *g(PyObject *self, PyObject *arg)\n{\n#ifdef HAVE_F\n    return f(self, arg);\n\
         #else\n    return NULL;\n#endif\n}\nstatic PyMethodDef",
    );
    let said = run_triaged(&LAZY_STATIC_CACHE, &text);
    assert!(
        said.contains("safe: fill `str_name` under a mutex"),
        "{said}"
    );
}

/// What the declaration of the module declares stands above.
#[test]
fn a_module_that_is_declared_as_well() {
    insta::assert_snapshot!(crate::testing::run(crate::transforms::ALL, r#"
static PyObject *f(PyObject *self, PyObject *unused)
{
    static PyObject *str_name;
    if (str_name == NULL) {
        str_name = PyUnicode_InternFromString("name");
        if (str_name == NULL)
            return NULL;
    }
    return Py_NewRef(str_name);
}
static PyMethodDef methods[] = {{"f", f, METH_NOARGS, NULL}, {NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", NULL, -1, methods};
PyMODINIT_FUNC PyInit_m(void)
{
    /* Once a process. */
    puts("m");
    return PyModule_Create(&def);
}
"#), @r#"
        @@
         
        +static PyObject *str_name;
        +
         static PyObject *f(PyObject *self, PyObject *unused)
         {
        -    static PyObject *str_name;
        -    if (str_name == NULL) {
        -        str_name = PyUnicode_InternFromString("name");
        -        if (str_name == NULL)
        -            return NULL;
        -    }
             return Py_NewRef(str_name);
         }
        @@
         PyMODINIT_FUNC PyInit_m(void)
         {
        +    PyObject *m;
        +
        +    if (str_name == NULL) {
        +        str_name = PyUnicode_InternFromString("name");
        +        if (str_name == NULL) {
        +            return NULL;
        +        }
        +    }
             /* Once a process. */
             puts("m");
        -    return PyModule_Create(&def);
        +    m = PyModule_Create(&def);
        +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
        +    if (m != NULL) {
        +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
        +    }
        +#endif
        +    return m;
         }
        "#);
}
