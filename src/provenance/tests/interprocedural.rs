//! Parameters and results of helpers.

use super::{of, verdicts};

const HELPER: &str = "static void look(PyObject *list) { use(PyList_GetItem(list, 0)); }\n";

#[test]
fn a_helper_that_only_gets_private_containers_is_private() {
    let text =
        format!("{HELPER}void f(PyObject *p) {{ PyObject *l = PySequence_List(p); look(l); }}\n");
    insta::assert_snapshot!(of(&text), @"
    look: Fresh, in `f()`: the container is made by `PySequence_List()` on line 2, and no other code has it while the value is in use
    ");
}

#[test]
fn one_caller_that_shares_spoils_it() {
    let text = format!(
        "{HELPER}void f(PyObject *p) {{ look(PySequence_List(p)); }}\nvoid g(PyObject *p) {{ look(p); }}\n"
    );
    insta::assert_snapshot!(of(&text), @"look: shared, `p`, which the caller passes");
}

#[test]
fn a_helper_that_no_caller_gives_a_container_reads_none() {
    let text = format!("{HELPER}void f(void) {{ look(NULL); }}\nvoid g(void) {{ look(0); }}\n");
    insta::assert_snapshot!(of(&text), @"look: Absent, all callers of `look()` pass `NULL`");
    let shared = format!("{HELPER}void f(PyObject *p) {{ look(NULL); look(p); }}\n");
    insta::assert_snapshot!(of(&shared), @"look: shared, `p`, which the caller passes");
    let called = format!("{HELPER}void f(void) {{ look(NULL); hook(look); }}\n");
    insta::assert_snapshot!(of(&called), @"look: shared, `list`, which the caller passes");
}

#[test]
fn a_helper_whose_address_is_taken_has_callers_nobody_knows() {
    let text = format!("{HELPER}void f(PyObject *p) {{ look(PySequence_List(p)); hook(look); }}\n");
    insta::assert_snapshot!(of(&text), @"look: shared, `list`, which the caller passes");
}

#[test]
fn a_helper_that_others_can_link_to_too() {
    let text = "void look(PyObject *list) { use(PyList_GetItem(list, 0)); }\nvoid f(PyObject *p) { look(PyList_New(0)); }\n";
    insta::assert_snapshot!(of(text), @"look: shared, `list`, which the caller passes");
}

#[test]
fn a_helper_that_text_nobody_understands_may_call() {
    let text = format!(
        "{HELPER}void f(PyObject *p) {{ look(PySequence_List(p)); }}\nvoid g(PyObject *p) {{ look(p) ) ; }}\n"
    );
    insta::assert_snapshot!(of(&text), @"look: shared, `list`, which the caller passes");
}

#[test]
fn the_helper_may_give_the_container_away_itself() {
    let text = "static PyObject *look(PyObject *d) { global = d; return PyDict_GetItem(d, d); }\nvoid f(void) { look(PyDict_New()); }\n";
    insta::assert_snapshot!(of(text), @"look: shared, a container that is made here, and passed on or emptied on line 1");
}

#[test]
fn a_helper_that_returns_the_value_keeps_it_in_use() {
    let text = "\
static PyObject *look(PyObject *d) { return PyDict_GetItem(d, d); }
void f(void) { PyObject *d = PyDict_New(); PyObject *v = look(d); publish(d); use(v); }
";
    insta::assert_snapshot!(of(text), @"look: shared, a container that is made here, and passed on or emptied on line 2");
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
    f: Fresh, the container is made by `PyDict_New()` on line 3, and no other code has it while the value is in use
    g: shared, a container that is made here, and passed on or emptied on line 4
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
    f: Fresh, the container is made by `make()` on line 4, and no other code has it while the value is in use
    g: shared, the result of `make_shared()`
    h: shared, the result of `cached()`
    ");
}

#[test]
fn recursion_ends_without_a_proof() {
    let text = "static void look(PyObject *d) { use(PyDict_GetItem(d, d)); look(d); }\nvoid f(void) { look(PyDict_New()); }\n";
    insta::assert_snapshot!(of(text), @"look: shared, `d`, which the caller passes");
}

#[test]
fn keyword_arguments_are_followed_into_helpers() {
    let text = "\
static void look(PyObject *kw) { use(PyDict_GetItemString(kw, \"a\")); }
static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) { look(kw); return NULL; }
static PyMethodDef m[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}};
";
    insta::assert_snapshot!(of(text), @"
    look: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
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
fn a_caller_without_a_container_does_not_count() {
    let text = format!(
        "{HELPER}void f(PyObject *p) {{ PyObject *l = PySequence_List(p); look(l); }}\nvoid g(void) {{ look(NULL); }}\n"
    );
    insta::assert_snapshot!(of(&text), @"
        look: Fresh, in `f()`: the container is made by `PySequence_List()` on line 2, and no other code has it while the value is in use
        ");
}

/// A helper that takes arguments apart, and a method that calls it.
const PARSE: &str = "\
static int parse(PyObject *args, PyObject *kw, PyObject **a, PyObject **b) {
    *a = PyDict_GetItemString(kw, \"a\");
    if (*a == NULL) return 0;
    PyObject *tmp = PyDict_GetItemString(kw, \"b\");
    if (tmp != NULL) *b = tmp;
    return 1;
}
static PyMethodDef m[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}};
";

#[test]
fn keyword_arguments_are_handed_out_by_a_helper() {
    let text = format!(
        "{PARSE}
static PyObject *slow(PyObject *args, PyObject *kw) {{ return PyObject_Call(func, args, kw); }}
static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) {{
    PyObject *a_obj = NULL, *b_obj = Py_None, *array;
    if (!parse(args, kw, &a_obj, &b_obj)) return NULL;
    if (Array_Check(a_obj)) {{ array = a_obj; Py_INCREF(array); }}
    else {{ array = to_array(a_obj); }}
    if (count(b_obj)) {{ Py_DECREF(array); return slow(args, kw); }}
    PyObject *result = compute(array);
    Py_DECREF(array);
    return result;
}}
"
    );
    insta::assert_snapshot!(of(&text), @"
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        ");
}

#[test]
fn what_a_helper_hands_out_is_in_use_as_long_as_the_callers_variable() {
    let method = |body: &str| {
        of(&format!(
            "{PARSE}static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) {{
    PyObject *a, *b;
    parse(args, kw, &a, &b);
{body}
}}
"
        ))
    };
    // Each of these can lose `b`, `a` or both.
    insta::assert_snapshot!(method("publish(kw); return use(b);"), @"
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        parse: shared, `kw`, which the caller passes
        ");
    insta::assert_snapshot!(method("PyDict_Clear(kw); return use(a);"), @"
        parse: shared, `kw`, which the caller passes
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        ");
    insta::assert_snapshot!(method("publish(kw); forget(); return NULL;"), @"
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        ");
    insta::assert_snapshot!(method("keep(&b); publish(kw); return NULL;"), @"
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        parse: shared, `kw`, which the caller passes
        ");
    insta::assert_snapshot!(method("last = a; publish(kw); return NULL;"), @"
        parse: shared, `kw`, which the caller passes
        parse: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        ");
}

#[test]
fn an_out_parameter_that_the_helper_keeps_or_that_is_no_variable() {
    let helper = |look: &str, call: &str| {
        of(&format!(
            "static void look(PyObject *kw, PyObject **out) {{ {look} }}
static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) {{
    PyObject *v;
    {call};
    publish(kw);
    return NULL;
}}
static PyMethodDef m[] = {{{{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}}}};
"
        ))
    };
    let plain = "*out = PyDict_GetItemString(kw, \"a\");";
    insta::assert_snapshot!(helper(plain, "look(kw, &v)"), @"
        look: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        ");
    insta::assert_snapshot!(helper(plain, "look(kw, &self->v)"), @"
        look: shared, `kw`, which the caller passes
        ");
    insta::assert_snapshot!(helper("*out = PyDict_GetItemString(kw, \"a\"); kept = out;", "look(kw, &v)"), @"
        look: shared, `kw`, which the caller passes
        ");
    insta::assert_snapshot!(helper("*out = PyDict_GetItemString(kw, \"a\"); kept = *out;", "look(kw, &v)"), @"
        look: shared, `kw`, which the caller passes
        ");
    insta::assert_snapshot!(helper("out++; *out = PyDict_GetItemString(kw, \"a\");", "look(kw, &v)"), @"
        look: shared, `kw`, which the caller passes
        ");
}

#[test]
fn several_helpers_may_fill_the_same_variable() {
    let text = "\
static void by_name(PyObject *kw, PyObject **v) { *v = PyDict_GetItemString(kw, \"a\"); }
static void or_not(PyObject *kw, PyObject **v) { if (*v == NULL) *v = PyDict_GetItemString(kw, \"b\"); }
static void and_keep(PyObject *kw, PyObject **v) { *v = PyDict_GetItemString(kw, \"c\"); last = *v; }
static PyObject *f(PyObject *self, PyObject *args, PyObject *kw) {
    PyObject *v = NULL;
    if (by_name_only) { by_name(kw, &v); } else { or_not(kw, &v); }
    Py_INCREF(v);
    publish(kw);
    return v;
}
static PyObject *g(PyObject *self, PyObject *args, PyObject *kw) {
    PyObject *v = NULL;
    and_keep(kw, &v);
    or_not(kw, &v);
    publish(kw);
    return NULL;
}
static PyMethodDef m[] = {
    {\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL},
    {\"g\", (PyCFunction)g, METH_VARARGS | METH_KEYWORDS, NULL},
};
";
    insta::assert_snapshot!(of(text), @"
        by_name: Kwargs, in `f()`: `kw` holds the keyword arguments, and is created for this call
        or_not: shared, `kw`, which the caller passes
        and_keep: shared, `kw`, which the caller passes
        ");
}

#[test]
fn a_static_function_of_another_file_is_called_there() {
    let look = "static void look(PyObject *d) { use(PyDict_GetItem(d, d)); }\n";
    let own = format!("{look}void f(void) {{ look(PyDict_New()); }}\n");
    let other = format!("{look}void g(void) {{ look(shared); }}\n");
    insta::assert_snapshot!(verdicts(&[("a.c", &own), ("b.c", &other)]), @"
        look: Fresh, in `f()`: the container is made by `PyDict_New()` on line 2, and no other code has it while the value is in use
        look: shared, `shared`, a variable that all threads share
        ");
    // A header's function may be what is called, by `#if`.
    let other =
        format!("#include \"a.h\"\n#ifdef OWN\n{look}#endif\nvoid g(void) {{ look(shared); }}\n");
    insta::assert_snapshot!(verdicts(&[("a.h", &own), ("b.c", &other)]), @"
        look: shared, `shared`, a variable that all threads share
        look: shared, `shared`, a variable that all threads share
        ");
}
