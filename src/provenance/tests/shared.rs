//! Containers that other threads can reach.

use super::of;

#[test]
fn where_a_shared_container_comes_from_is_named() {
    let text = "\
static PyObject *cache;
PyObject *f(Foo *self, PyObject *p) {
    static PyObject *memo;
    PyObject *parsed;
    PyArg_Parse(p, \"O\", &parsed);
    use(PyList_GetItem(parsed, 0));
    use(PyList_GetItem(p, 0));
    use(PyDict_GetItem(cache, p));
    use(PyDict_GetItem(memo, p));
    use(PyDict_GetItem(self->dict, p));
    use(PyDict_GetItem(PyObject_GetAttrString(p, \"x\"), p));
    use(PyDict_GetItem(PyModule_GetDict(p), p));
    use(PyDict_GetItem(Py_TYPE(p)->tp_dict, p));
    use(PyDict_GetItem(PyEval_GetBuiltins(), p));
    use(PyDict_GetItem(self->slots->get(), p));
    use(PyImport_AddModule(\"a\"));
    use(PyWeakref_GetObject(PyWeakref_NewRef(p, NULL)));
    return NULL;
}
";
    insta::assert_snapshot!(of(text), @"
    f: shared, an argument that Python code passes
    f: shared, `p`, which the caller passes
    f: shared, `cache`, a variable that all threads share
    f: shared, `memo`, a variable that all threads share
    f: shared, `self->dict`, a field that other threads can reach
    f: shared, the result of `PyObject_GetAttrString()`
    f: shared, the dict of a module or type
    f: shared, the dict of a module or type
    f: shared, a dict of the interpreter
    f: shared, a container of unknown origin
    f: shared, a dict of the interpreter
    f: shared, a weak reference, which does not keep its object alive
    ");
}

#[test]
fn modules_that_nothing_reads_may_go() {
    let text = "\
int made(void) { PyImport_AddModule(\"a\"); (void)PyImport_AddModule(\"b\"); return 0; }
void asked(void) { if (!PyImport_AddModule(\"a\")) PyErr_Clear(); }
int compared(void) { if (PyImport_AddModule(\"a\") == NULL) return -1; return PyImport_AddModule(\"b\") != NULL; }
int known(PyObject *m) { return PyImport_AddModule(\"a\") == m; }
PyObject *given(void) { return PyImport_AddModule(\"a\"); }
int kept(void) { PyObject *m; if ((m = PyImport_AddModule(\"a\")) == NULL) return -1; return use(m); }
";
    insta::assert_snapshot!(of(text), @"
    made: Unread, nothing reads the module that `PyImport_AddModule()` returns
    made: Unread, nothing reads the module that `PyImport_AddModule()` returns
    asked: Unread, nothing reads the module that `PyImport_AddModule()` returns
    compared: Unread, nothing reads the module that `PyImport_AddModule()` returns
    compared: Unread, nothing reads the module that `PyImport_AddModule()` returns
    known: shared, a dict of the interpreter
    given: shared, a dict of the interpreter
    kept: shared, a dict of the interpreter
    ");
}

#[test]
fn arguments_come_as_one_object_and_as_an_array() {
    let text = "\
static PyObject *one(PyObject *self, PyObject *list) { return PyList_GetItem(list, 0); }
static PyObject *fast(PyObject *self, PyObject *const *args, Py_ssize_t n) { return PyList_GetItem(args[0], 0); }
static PyMethodDef m[] = {{\"a\", one, METH_O}, {\"b\", (PyCFunction)fast, METH_FASTCALL}};
";
    insta::assert_snapshot!(of(text), @"
    one: shared, an argument that Python code passes
    fast: shared, an argument that Python code passes
    ");
}

#[test]
fn what_a_container_holds_is_not_private_with_it() {
    let text = "PyObject *f(PyObject *p) {\n    PyObject *d = PyDict_New();\n    PyObject *list = PyDict_GetItem(d, p);\n    return PyList_GetItem(list, 0);\n}\n";
    insta::assert_snapshot!(of(text), @"
    f: Fresh, the container is made by `PyDict_New()` on line 2, and no other code has it while the value is in use
    f: shared, the result of `PyDict_GetItem()`
    ");
}

#[test]
fn a_pointer_to_a_variable_hides_what_it_holds() {
    let text = "PyObject *f(PyObject *p) {\n    PyObject *d = PyDict_New(), **q = &d;\n    *q = p;\n    return PyDict_GetItem(d, p);\n}\n";
    insta::assert_snapshot!(of(text), @"f: shared, a container of unknown origin");
}
