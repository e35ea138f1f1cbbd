//! Parameters and results of helpers.

use super::{of, verdicts};

const HELPER: &str = "static void look(PyObject *list) { use(PyList_GetItem(list, 0)); }\n";

#[test]
fn a_helper_that_only_gets_private_containers_is_private() {
    let text =
        format!("{HELPER}void f(PyObject *p) {{ PyObject *l = PySequence_List(p); look(l); }}\n");
    insta::assert_snapshot!(of(&text), @"
    look: Fresh, in `f()`: the container is made by `PySequence_List()` on line 2 and nobody else has it while the value is in use
    ");
}

#[test]
fn one_caller_that_shares_spoils_it() {
    let text = format!(
        "{HELPER}void f(PyObject *p) {{ look(PySequence_List(p)); }}\nvoid g(PyObject *p) {{ look(p); }}\n"
    );
    insta::assert_snapshot!(of(&text), @"look: shared, `p`, which the caller passes in");
}

#[test]
fn a_helper_whose_address_is_taken_has_callers_nobody_knows() {
    let text = format!("{HELPER}void f(PyObject *p) {{ look(PySequence_List(p)); hook(look); }}\n");
    insta::assert_snapshot!(of(&text), @"look: shared, `list`, which the caller passes in");
}

#[test]
fn a_helper_that_others_can_link_to_too() {
    let text = "void look(PyObject *list) { use(PyList_GetItem(list, 0)); }\nvoid f(PyObject *p) { look(PyList_New(0)); }\n";
    insta::assert_snapshot!(of(text), @"look: shared, `list`, which the caller passes in");
}

#[test]
fn a_helper_that_text_nobody_understands_may_call() {
    let text = format!(
        "{HELPER}void f(PyObject *p) {{ look(PySequence_List(p)); }}\nvoid g(PyObject *p) {{ look(p) ) ; }}\n"
    );
    insta::assert_snapshot!(of(&text), @"look: shared, `list`, which the caller passes in");
}

#[test]
fn the_helper_may_give_the_container_away_itself() {
    let text = "static PyObject *look(PyObject *d) { global = d; return PyDict_GetItem(d, d); }\nvoid f(void) { look(PyDict_New()); }\n";
    insta::assert_snapshot!(of(text), @"look: shared, a container made here, and given away or emptied on line 1");
}

#[test]
fn a_helper_that_returns_the_value_keeps_it_in_use() {
    let text = "\
static PyObject *look(PyObject *d) { return PyDict_GetItem(d, d); }
void f(void) { PyObject *d = PyDict_New(); PyObject *v = look(d); publish(d); use(v); }
";
    insta::assert_snapshot!(of(text), @"look: shared, a container made here, and given away or emptied on line 2");
}

#[test]
fn a_call_of_a_helper_that_only_reads_shares_nothing() {
    let text = "\
static int count(PyObject *d) { return PyDict_Size(d); }
static void keep(PyObject *d) { kept = d; }
void f(PyObject *k) { PyObject *d = PyDict_New(); count(d); use(PyDict_GetItem(d, k)); }
void g(PyObject *k) { PyObject *d = PyDict_New(); keep(d); use(PyDict_GetItem(d, k)); }
";
    insta::assert_snapshot!(of(text), @"
    f: Fresh, the container is made by `PyDict_New()` on line 3 and nobody else has it while the value is in use
    g: shared, a container made here, and given away or emptied on line 4
    ");
}

#[test]
fn a_helper_may_make_the_container() {
    let text = "\
static PyObject *make(void) { PyObject *d = PyDict_New(); if (!d) return NULL; return d; }
static PyObject *make_shared(void) { PyObject *d = PyDict_New(); kept = d; return d; }
static PyObject *cached(void) { if (!kept) kept = PyDict_New(); return kept; }
void f(PyObject *k) { use(PyDict_GetItem(make(), k)); }
void g(PyObject *k) { use(PyDict_GetItem(make_shared(), k)); }
void h(PyObject *k) { use(PyDict_GetItem(cached(), k)); }
";
    insta::assert_snapshot!(of(text), @"
    f: Fresh, the container is made by `make()` on line 4 and nobody else has it while the value is in use
    g: shared, the result of `make_shared()`
    h: shared, the result of `cached()`
    ");
}

#[test]
fn recursion_ends_without_a_proof() {
    let text = "static void look(PyObject *d) { use(PyDict_GetItem(d, d)); look(d); }\nvoid f(void) { look(PyDict_New()); }\n";
    insta::assert_snapshot!(of(text), @"look: shared, `d`, which the caller passes in");
}

#[test]
fn keyword_arguments_are_followed_into_helpers() {
    let text = "\
static void look(PyObject *kw) { use(PyDict_GetItemString(kw, \"a\")); }
static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) { look(kw); return NULL; }
static PyMethodDef m[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}};
";
    insta::assert_snapshot!(of(text), @"
    look: Kwargs, in `f()`: `kw` holds the keyword arguments and is made for this call
    ");
}

#[test]
fn a_method_that_c_calls_too_has_more_than_keyword_arguments() {
    let text = "\
static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) { return PyDict_GetItemString(kw, \"a\"); }
static PyMethodDef m[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}};
PyObject *g(PyObject *self) { return f(self, NULL, shared); }
";
    insta::assert_snapshot!(of(text), @"f: shared, `shared`, a variable that all threads share");
}

#[test]
fn namesakes_in_other_files_are_other_functions_with_the_same_risk() {
    let a = "static void look(PyObject *d) { use(PyDict_GetItem(d, d)); }\nvoid f(void) { look(PyDict_New()); }\n";
    let b = "static void look(PyObject *d) { }\nvoid g(PyObject *p) { look(p); }\n";
    insta::assert_snapshot!(verdicts(&[("a.c", a), ("b.c", b)]), @"look: shared, `p`, which the caller passes in");
}

#[test]
fn a_caller_without_a_container_does_not_count() {
    let text = format!(
        "{HELPER}void f(PyObject *p) {{ PyObject *l = PySequence_List(p); look(l); }}\nvoid g(void) {{ look(NULL); }}\n"
    );
    insta::assert_snapshot!(of(&text), @"
        look: Fresh, in `f()`: the container is made by `PySequence_List()` on line 2 and nobody else has it while the value is in use
        ");
    insta::assert_snapshot!(of(&format!("{HELPER}void g(void) {{ look(NULL); }}\n")), @"
        look: shared, a container of unknown origin
        ");
}
