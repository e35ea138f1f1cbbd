//! Helpers whose result, or what they store, may be any of several arguments: what they get is
//! held as long as that is used.

use crate::testing::run;
use crate::transforms::borrowed::list_item::BORROWED_LIST_ITEM;

/// What is written where an item goes through `helper`, which `call` calls, and its outcome `r` is
/// used later.
fn through(helper: &str, call: &str) -> String {
    let text = format!(
        "typedef struct {{ PyObject *v; PyObject *w; }} Pair;
{helper}
int f(Pair *p, PyObject *list, PyObject *b)
{{
    PyObject *v = PyList_GetItem(list, 0);
    PyObject *r = NULL, *q = NULL;
    if (v == NULL)
        return -1;
    {call}
    run();
    return PyObject_IsTrue(r);
}}
"
    );
    run(&[&BORROWED_LIST_ITEM], &text)
}

/// Whether the reference is released before `run()`.
fn is_early(text: &str) -> bool {
    let (before, _) = text.split_once("     run();").unwrap_or_default();
    before.contains("Py_DECREF(v);")
}

/// It is, or a person is asked whether the function keeps it.
fn is_held(helper: &str, call: &str) {
    const ASKED: &str = "review: in `f`, no function keeps the object from `PyList_GetItemRef`";
    let text = through(helper, call);
    assert!(!is_early(&text) || text.contains(ASKED), "{text}");
}

#[test]
fn what_has_nothing_to_do_with_it_is_no_reason() {
    let text = through(
        "static PyObject *pick(PyObject *a, PyObject *b) { return a && b ? Py_True : Py_False; }",
        "r = pick(b, v);",
    );
    assert!(is_early(&text), "{text}");
}

#[test]
fn a_result_that_may_be_any() {
    let pick = |body: &str| {
        let helper = format!("static PyObject *pick(PyObject *a, PyObject *b) {{ {body} }}");
        is_held(&helper, "r = pick(b, v);");
        is_held(&helper, "r = pick(v, b);");
        is_held(
            &format!("{helper} static PyObject *via(PyObject *a) {{ return pick(NULL, a); }}"),
            "r = via(v);",
        );
    };
    pick("return a ? a : b;");
    pick("return a ?: b;");
    pick("if (a != NULL) return a; return b;");
    pick("PyObject *r = a; if (r == NULL) r = b; return r;");
    pick("while (a == NULL) a = b; return a;");
    pick("switch (PyObject_IsTrue(Py_None)) { case 0: return a; default: return b; }");
    pick("PyObject *both[2] = {a, b}; return both[a == NULL];");
    pick("PyObject *both[2]; both[0] = a; both[1] = b; return both[a == NULL];");
    pick("PyObject *both[2] = {a, b}; return *(both + (a == NULL));");
    pick("PyObject **which = a ? &a : &b; return *which;");
    pick("Pair pair = {a, b}; return pair.v ? pair.v : pair.w;");
    pick("PyObject *r; memcpy(&r, a ? &a : &b, sizeof(r)); return r;");
}

#[test]
fn an_output_that_may_be_any() {
    let out = |body: &str| {
        let helper = format!(
            "static void pick(PyObject *a, PyObject *b, PyObject **o, PyObject **q) {{ {body} }}"
        );
        is_held(&helper, "pick(b, v, &r, &q);");
        is_held(&helper, "pick(v, b, &r, &q);");
    };
    out("*o = a ? a : b; *q = NULL;");
    out("if (!a) a = b; *o = a;");
    out("if (a) { *o = a; *q = b; } else { *o = b; *q = a; }");
    out("PyObject *both[2] = {a, b}; *o = both[a == NULL];");
    out("if (*o == NULL) *o = a; if (*o == NULL) *o = b;");
}

#[test]
fn a_field_that_may_be_any() {
    let set = "static void set(Pair *p, PyObject *a, PyObject *b) { p->v = a ? a : b; }";
    is_held(set, "set(p, b, v); r = p->v;");
    is_held(set, "Pair own; set(&own, b, v); r = own.v;");
    let get = "static PyObject *get(Pair *p, PyObject *b) { return p->v ? p->v : b; }";
    is_held(get, "r = get(p, v);");
}

#[test]
fn any_of_the_arguments_of_a_list() {
    let pick = "static PyObject *pick(int n, ...) { va_list ap; PyObject *r = NULL; va_start(ap, n); \
                while (r == NULL && n-- > 0) r = va_arg(ap, PyObject *); va_end(ap); return r; }";
    is_held(pick, "r = pick(2, b, v);");
    let out = "static void pick(PyObject **o, ...) { va_list ap; va_start(ap, o); \
               *o = va_arg(ap, PyObject *); va_end(ap); }";
    is_held(out, "pick(&r, v);");
    let set = "static void set(Pair *p, ...) { va_list ap; va_start(ap, p); \
               p->v = va_arg(ap, PyObject *); p->w = va_arg(ap, PyObject *); va_end(ap); }";
    is_held(set, "set(p, b, v); r = p->w;");
    let through = "static void inner(Pair *p, va_list ap) { p->v = va_arg(ap, PyObject *); } \
                   static void set(Pair *p, ...) { va_list ap; va_start(ap, p); inner(p, ap); va_end(ap); }";
    is_held(through, "set(p, v); r = p->v;");
    let by_outs = "static void set(int n, ...) { va_list ap; va_start(ap, n); \
                   PyObject **o = va_arg(ap, PyObject **); *o = va_arg(ap, PyObject *); va_end(ap); }";
    is_held(by_outs, "set(2, &r, v);");
}
