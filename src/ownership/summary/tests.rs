//! C functions in, what they do with their parameters out.

use super::{Param, Summaries, graph};
use crate::ast::{ExprId, ExprKind};
use crate::ownership::track::{Callees, Gives, Origin, Problem, Seed, follow};
use crate::program::testing::with_program;

/// Sums up the functions of `text`, which `f` calls, and says what each parameter comes to.
fn summary(text: &str) -> String {
    with_program(&[("a.c", text)], |program| {
        assert!(program.gaps.is_empty(), "{:?}", program.gaps);
        let summaries = Summaries::new(program, &["PyList_GetItem"]);
        let lines = summaries.functions.iter().map(|(name, summary)| {
            let params = summary.params.iter().enumerate().map(|(at, param)| {
                let result = if summaries.may_derive(name, at) {
                    " and in the result"
                } else {
                    ""
                };
                format!("{param:?}{result}")
            });
            format!("{name}: {}\n", params.collect::<Vec<_>>().join(", "))
        });
        lines.collect()
    })
}

/// A caller of `names` that looks something up.
fn with_caller(text: &str, calls: &str) -> String {
    format!("{text}\nvoid f(PyObject *l) {{ PyObject *v = PyList_GetItem(l, 0); {calls} }}")
}

#[test]
fn what_is_stored_without_a_reference_is_taken() {
    let text = "
        static int keep(Foo *self, PyObject *v) { self->v = v; return 0; }
        static int own(Foo *self, PyObject *v) { Py_INCREF(v); self->v = v; return 0; }
        static void drop(PyObject *v) { Py_DECREF(v); }
        static void put(PyObject *t, PyObject *v) { PyTuple_SET_ITEM(t, 0, v); }
        static long look(PyObject *v) { return PyLong_AsLong(v); }";
    insta::assert_snapshot!(summary(&with_caller(text, "keep(s, v); own(s, v); drop(v); put(t, v); look(v);")), @r"
    drop: Taken(Always)
    keep: Used, Taken(Always)
    look: Used
    own: Used, Used
    put: Used, Taken(Always)
    ");
}

/// What is handed in may be `NULL`, and then another argument takes its place.
#[test]
fn a_summary_is_over_all_values_of_the_arguments() {
    let text = "
        static PyObject *pick(PyObject *a, PyObject *b) { return a ? a : b; }
        static PyObject *coalesce(PyObject *a, PyObject *b) { if (a == NULL) a = b; return a; }
        static PyObject *third(PyObject *a, PyObject *b, PyObject *c) {
            if (!a && !b) return c;
            return NULL;
        }
        static void out(PyObject *a, PyObject *b, PyObject **v) { if (a) *v = a; else *v = b; }
        static void field(Foo *self, PyObject *a, PyObject *b) { if (!a) self->v = b; }
        static void drop(PyObject *a, PyObject *b) { if (!a) Py_DECREF(b); }
        static PyObject *none(PyObject *a, PyObject *b) { if (!b) return NULL; return b; }";
    let calls = "pick(v, l); coalesce(v, l); third(v, l, s); out(v, l, &w); field(s, v, l); \
                 drop(v, l); none(v, l);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @"
    coalesce: Used and in the result, Used and in the result
    drop: Used, Released
    field: Used, Used, Unsure
    none: Used, Used and in the result
    out: Taken(Always), At(2), Used
    pick: Used and in the result, Used and in the result
    third: Used, Used, Used and in the result
    ");
}

/// What becomes of the argument behind `...` of the function `name` in `text`.
fn rest(text: &str) -> Param {
    let text = with_caller(text, "helper(1, v);");
    with_program(&[("a.c", &text)], |program| {
        assert!(program.gaps.is_empty(), "{:?}", program.gaps);
        let summaries = Summaries::new(program, &["PyList_GetItem"]);
        summaries.param("helper", 1).expect("summed up")
    })
}

/// The function that gets its arguments in a list and hands that to `body`.
fn handing(body: &str) -> String {
    format!(
        "static void helper(int n, ...) {{ va_list rest; va_start(rest, n); {body} va_end(rest); }}"
    )
}

#[test]
fn what_is_handed_on_in_a_list_may_be_taken() {
    let used = |body: &str| rest(&handing(body)) == Param::Used;
    assert!(used("vfprintf(stderr, \"%d\", rest);"));
    assert!(used("PyErr_FormatV(PyExc_ValueError, \"%R\", rest);"));
    assert!(!used("keep(Py_VaBuildValue(format, rest));"));
    assert!(!used("of_another_library(format, &rest);"));
    let deeper =
        "static PyObject *make(const char *f, va_list list) { return Py_VaBuildValue(f, list); }";
    let through = handing("keep(make(format, rest));");
    assert_eq!(rest(&format!("{deeper}\n{through}")), Param::Unsure);
    let printing = "static void show(const char *f, va_list list) { vfprintf(stderr, f, list); }";
    let through = handing("show(format, rest);");
    assert_eq!(rest(&format!("{printing}\n{through}")), Param::Used);
}

#[test]
fn what_is_read_of_a_list_is_followed() {
    let used = |body: &str| rest(&handing(body)) == Param::Used;
    assert!(used("PyObject_Print(va_arg(rest, PyObject *), stderr, 0);"));
    assert!(used("int size = va_arg(rest, int); keep(size);"));
    assert!(used(
        "PyObject *v; while ((v = va_arg(rest, PyObject *)) != NULL) { Py_INCREF(v); PyTuple_SET_ITEM(t, 0, v); }"
    ));
    assert!(!used(
        "PyObject *v; while ((v = va_arg(rest, PyObject *)) != NULL) { PyTuple_SET_ITEM(t, 0, v); }"
    ));
    assert!(!used("Py_DECREF(va_arg(rest, PyObject *));"));
    assert!(!used("state->last = va_arg(rest, PyObject *);"));
}

#[test]
fn taking_on_success_is_told_from_taking_sometimes() {
    let text = "
        static int put(Foo *self, PyObject *v) { if (self->v) return -1; self->v = v; return 0; }
        static int some(Foo *self, PyObject *v) { if (self->v) self->v = v; return 0; }";
    insta::assert_snapshot!(summary(&with_caller(text, "put(s, v); some(s, v);")), @r"
    put: Used, Taken(Success)
    some: Used, Unsure
    ");
}

#[test]
fn functions_that_turn_one_object_into_another_take_it_and_give_one() {
    let text = "
        static PyObject *bytes(PyObject *v) {
            if (PyBytes_Check(v)) return v;
            PyObject *b = PyObject_Bytes(v);
            Py_DECREF(v);
            return b;
        }
        static PyObject *checked(PyObject *v) {
            if (PyLong_Check(v)) return v;
            Py_DECREF(v);
            return NULL;
        }
        static PyObject *lent(PyObject *v) { return PyLong_Check(v) ? v : NULL; }
        static PyObject *some(PyObject *v) {
            if (PyLong_Check(v)) return v;
            if (PyBytes_Check(v)) return NULL;
            Py_DECREF(v);
            return NULL;
        }
        static PyObject *ref(PyObject *v) { Py_INCREF(v); return bytes(v); }";
    insta::assert_snapshot!(summary(&with_caller(text, "bytes(v); checked(v); lent(v); some(v); ref(v);")), @"
        bytes: Taken(Always)
        checked: Taken(Always)
        lent: Used and in the result
        ref: Used
        some: Unsure and in the result
        ");
}

#[test]
fn fields_get_their_references_behind_the_store() {
    let text = "
        static void own(Foo *self, PyObject *v) { self->v = v; Py_INCREF(self->v); }
        static void put(Foo *self, PyObject *v) { self->v = v; if (self->v) Py_INCREF(self->v); }
        static void other(Foo *self, PyObject *v) { self->v = v; Py_INCREF(self->w); }";
    insta::assert_snapshot!(summary(&with_caller(text, "own(s, v); put(s, v); other(s, v);")), @"
        other: Used, Taken(Always)
        own: Used, Used
        put: Used, Used
        ");
}

#[test]
fn pointers_into_an_argument_are_told_from_copies() {
    let text = "
        static int name(Foo *self, PyObject *v) { self->name = PyUnicode_AsUTF8(v); return 0; }
        static const char *text(PyObject *v) { return PyUnicode_AsUTF8(v); }
        static PyObject *field(Foo *v) { return v->field; }
        static PyObject *inner(PyObject *v) { return (PyObject *)&((Foo *)v)->inner; }
        static PyObject *field_ref(Foo *v) { Py_INCREF(v->field); return v->field; }
        static PyObject *new_field(Foo *v) { return Py_NewRef(v->field); }
        static PyObject *same(PyObject *v) { return v; }
        static PyObject *made(PyObject *v) { return PyNumber_Long(v); }
        static Py_ssize_t size(Foo *v) { return v->size; }";
    let calls = "name(s, v); text(v); field(v); inner(v); field_ref(v); new_field(v); same(v); made(v); size(v);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @r"
    field: Used and in the result
    field_ref: Used and in the result
    inner: Used and in the result
    made: Used
    name: Used, Through({0})
    new_field: Used
    same: Used and in the result
    size: Used
    text: Used and in the result
    ");
}

#[test]
fn a_result_with_a_reference_of_its_own_lives_by_itself() {
    let text = "
        static PyObject *own(PyObject *v) { Py_INCREF(v); return v; }
        static PyObject *new(PyObject *v) { return Py_NewRef(v); }
        static PyObject *some(PyObject *v, int n) { if (n) Py_INCREF(v); return v; }
        static PyObject *back(PyObject *v) { Py_INCREF(v); use(v); Py_DECREF(v); return v; }
        static PyObject *kept(Foo *self, PyObject *v) { Py_INCREF(v); self->v = v; return v; }";
    let calls = "own(v); new(v); some(v, 1); back(v); kept(s, v);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @"
        back: Used and in the result
        kept: Used, Used and in the result
        new: Used
        own: Used
        some: Used and in the result, Used
        ");
}

#[test]
fn callees_are_summed_up_first_and_circles_settle() {
    let text = "
        static int inner(Foo *self, PyObject *v) { self->v = v; return 0; }
        static int outer(Foo *self, PyObject *v) { return inner(self, v); }
        static int even(PyObject *v, int n) { return n ? odd(v, n - 1) : 1; }
        static int odd(PyObject *v, int n) { if (n) return even(v, n - 1); Py_DECREF(v); return 0; }";
    insta::assert_snapshot!(summary(&with_caller(text, "outer(s, v); even(v, 3);")), @r"
    even: Released, Used
    inner: Used, Taken(Always)
    odd: Released, Used
    outer: Used, Taken(Always)
    ");
}

#[test]
fn results_of_functions_that_call_each_other_live_by_themselves() {
    let text = "
        static PyObject *all(PyObject *v) {
            if (PyTuple_Check(v)) return each(v);
            Py_INCREF(v);
            return v;
        }
        static PyObject *each(PyObject *v) { return all(PyTuple_GET_ITEM(v, 0)); }
        static PyObject *most(PyObject *v) { return PyTuple_Check(v) ? first(v) : NULL; }
        static PyObject *first(PyObject *v) {
            PyObject *w = most(v);
            return w ? w : PyTuple_GET_ITEM(v, 0);
        }";
    insta::assert_snapshot!(summary(&with_caller(text, "all(v); most(v);")), @"
        all: Used
        each: Used
        first: Used and in the result
        most: Used and in the result
        ");
}

#[test]
fn parameters_are_followed_by_themselves_where_there_are_many_paths() {
    let tests = |name: &str| -> String {
        let test = |at| format!("if (test({at})) {{ Py_INCREF({name}); {name}{at} = {name}; }}\n");
        (0..4).map(test).collect()
    };
    let locals = (0..4).map(|at| format!("PyObject *v{at} = NULL, *w{at} = NULL;\n"));
    let locals: String = locals.collect();
    let releases = (0..4).map(|at| format!("Py_XDECREF(v{at}); Py_XDECREF(w{at});\n"));
    let releases: String = releases.collect();
    let text = format!(
        "static int many(Foo *self, PyObject *v, PyObject *w) {{
            {locals}{}{}{releases}
            self->v = v;
            return 0;
        }}",
        tests("v"),
        tests("w")
    );
    insta::assert_snapshot!(summary(&with_caller(&text, "many(s, v, w);")), @"
        many: Used, Taken(Always), Used
        ");
}

#[test]
fn namesakes_count_together() {
    let keeps = "static void put(Foo *s, PyObject *v) { s->v = v; }";
    let uses = "static void put(Foo *s, PyObject *v) { use(v); }";
    let (a, b) = (
        with_caller(keeps, "put(s, v);"),
        with_caller(uses, "put(s, v);"),
    );
    with_program(&[("a.c", &a), ("b.c", &b)], |program| {
        let summaries = Summaries::new(program, &["PyList_GetItem"]);
        let summary = &summaries.functions["put"];
        assert_eq!(summary.params, [Param::Used, Param::Unsure]);
    });
}

#[test]
fn callers_are_followed_with_what_their_callees_do() {
    let text = "
        static void put(Foo *s, PyObject *v) { s->v = v; }
        static void maybe(Foo *s, PyObject *v) { if (s->on) s->v = v; }
        static void name(Foo *s, PyObject *v) { s->name = PyUnicode_AsUTF8(v); }
        static void text(Foo *s, const char *v) { s->name = v; }
        static long look(PyObject *v) { return PyLong_AsLong(v); }";
    let problems = |calls: &str| problems(&with_caller(text, calls));
    assert_eq!(problems("put(s, v);"), []);
    assert_eq!(problems("look(v); Py_DECREF(v);"), []);
    assert_eq!(problems("PyTuple_SET_ITEM(t, 0, v);"), []);
    assert_eq!(problems("maybe(s, v); Py_DECREF(v);"), [Problem::MayBeKept]);
    assert_eq!(
        problems("name(s, v); Py_DECREF(v);"),
        [Problem::DerivedEscapes]
    );
    let inside = "text(s, PyUnicode_AsUTF8(v)); Py_DECREF(v);";
    assert_eq!(problems(inside), [Problem::DerivedEscapes]);
}

#[test]
fn what_is_read_through_a_pointer_may_be_kept() {
    let text = "
        typedef struct { const char *text; int size; } Part;
        static void push(Foo *s, const Part *part) { s->parts[0] = *part; }
        static void copy(Foo *s, const Part *part) { memcpy(s->parts, part, sizeof *part); }
        static void both(Foo *s, const Part *part) { s->on = 1; push(s, part); }
        static void size(Foo *s, const Part *part) { s->size = part->size; show(part->text); }";
    let problems = |call: &str| {
        let fill = "Part part; part.text = PyUnicode_AsUTF8(v);";
        problems(&with_caller(text, &format!("{fill} {call} Py_DECREF(v);")))
    };
    for call in ["push(s, &part);", "copy(s, &part);", "both(s, &part);"] {
        assert_eq!(problems(call), [Problem::DerivedEscapes], "{call}");
    }
    assert_eq!(problems("size(s, &part);"), []);
}

#[test]
fn a_reference_of_a_container_is_released() {
    let text = "
        static int discard(Set *s, PyObject *v) {
            if (!clear_bit(s, v)) return 0;
            if (s->owns) Py_DECREF(v);
            return 1;
        }
        static int toggle(Set *s, PyObject *v) {
            return has_bit(s, v) ? discard(s, v) : 0;
        }
        static void swap(Foo *s, PyObject *v) { if (s->on) Py_DECREF(v); else s->v = v; }";
    assert_eq!(
        problems(&with_caller(text, "discard(s, v); Py_DECREF(v);")),
        [Problem::MayBePassedOn]
    );
    insta::assert_snapshot!(summary(&with_caller(text, "toggle(s, v); swap(s, v);")), @"
        discard: Used, Released
        swap: Used, Taken(Always)
        toggle: Used, Released
        ");
}

#[test]
fn an_object_is_stored_where_a_parameter_points() {
    let text = "
        static int find(PyObject *v, int *kind, Type **type) {
            if (Py_TYPE(v) == &Type_Type) { *kind = 1; *type = (Type *)v; return 0; }
            *type = NULL;
            return PyErr_Occurred() ? -1 : 0;
        }";
    let problems = |calls: &str| {
        let calls = format!("Type *type; int kind; {calls}");
        problems(&with_caller(text, &calls))
    };
    let then = |rest: &str| problems(&format!("find(v, &kind, &type); {rest}"));
    assert_eq!(then("use(type); Py_DECREF(v);"), [Problem::MayBePassedOn]);
    assert_eq!(
        then("Py_DECREF(v); use(type);"),
        [Problem::UseAfterRelease, Problem::MayBePassedOn]
    );
    let memory = "find(v, &s->kind, &s->type); Py_DECREF(v);";
    let kept = [Problem::DerivedEscapes, Problem::MayBeKept];
    assert_eq!(problems(memory), kept);
}

#[test]
fn what_is_computed_of_a_part_is_a_number() {
    let text = "
        static void put(limb *to, part *from, int n) { limb d = from[n] << n; to[0] = d; }
        static void keep(limb *to, part *from, int n) { limb d = from[n]; to[0] = d; }";
    let calls = "put(s, ((Foo *)v)->parts, 1); keep(s, ((Foo *)v)->parts, 1);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @"
        keep: Used, Through({0}), Used
        put: Used, Used, Used
        ");
}

#[test]
fn a_frozenset_is_filled_while_nobody_else_has_it() {
    let add = "PySet_Add(v, s); Py_DECREF(v);";
    assert_eq!(problems(&with_caller("", add)), [Problem::CountMatters]);
}

/// What is wrong with the lookup of the last function.
fn problems(text: &str) -> Vec<Problem> {
    with_program(&[("a.c", text)], |program| {
        let summaries = Summaries::new(program, &["PyList_GetItem"]);
        let (_, f) = program.functions().last().expect("the caller");
        let lookup = (0u32..).zip(&f.tree.exprs).find_map(|(at, expr)| {
            matches!(&expr.kind, ExprKind::Call { callee, .. }
                if f.tree.callee_name(*callee) == Some("PyList_GetItem"))
            .then_some(ExprId(at))
        });
        let seed = Seed {
            origin: Origin::Call(lookup.expect("a lookup")),
            gives: Gives::Always,
            owned: true,
        };
        let followed = follow(&graph(f), &f.tree, &[seed], &summaries);
        let troubles = followed.expect("few paths").troubles;
        troubles.iter().map(|trouble| trouble.problem).collect()
    })
}

#[test]
fn pointers_that_are_stored_through_parameters_are_told_from_kept_ones() {
    let text = "
        static int word(char *text, char **end) { while (*text > 32) text++; *end = text; return 0; }
        static int words(char *text, char **end) { return word(text, end); }
        static int own(char *text) { char *end; word(text, &end); return *end; }
        static int first(PyObject *t, PyObject **v) { *v = PyTuple_GET_ITEM(t, 0); return 0; }
        static int bytes(PyObject *v, struct text *at) {
            return PyBytes_AsStringAndSize(v, &at->start, NULL);
        }
        static int text(PyObject *v, char **at) { return PyBytes_AsStringAndSize(v, at, NULL); }
        static void scan(struct text *at) { at->start = at->start + 1; }";
    let calls = "words(s, &e); own(s); first(v, &w); bytes(v, &t); text(v, &s); scan(&t);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @"
    bytes: Through({1}), Through({1})
    first: Through({1}), Used
    own: Used
    scan: Used
    text: Through({1}), Through({1})
    word: Through({1}), Used
    words: Through({1}), Used
    ");
}

#[test]
fn what_is_stored_elsewhere_is_kept() {
    let text = "
        static char *last;
        static int moved(char *text, char **end) { end++; *end = text; return 0; }
        static int deeper(char *text, struct list *l) { l->next->text = text; return 0; }
        static int both(char *text, char **end) { last = text; *end = text; return 0; }
        static int local(char *text) { static char *at; return PyArg_Parse(text, \"s\", &at); }
        static int object(PyObject *v, PyObject **at) { *at = v; return 0; }";
    let calls = "moved(s, &e); deeper(s, l); both(s, &e); local(s); object(v, &w);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @r"
    both: Inside, Used
    deeper: Inside, Used
    local: Inside
    moved: Inside, Used
    object: Taken(Always), Used
    ");
}

#[test]
fn a_part_that_is_stored_points_into_its_object() {
    let text = "
        static void text(Outer *v, const char **out) { *out = v->text; }
        static int object(PyObject *v, PyObject **out) { *out = ((Outer *)v)->object; return 0; }
        static void counted(PyObject *v, PyObject **out) { *out = ((Outer *)v)->object; Py_INCREF(*out); }
        static void taken(Foo *self, Outer *v) { Py_INCREF(v->object); self->object = v->object; }
        static void field(Foo *self, Outer *v) { self->text = v->text; }
        static void last(Outer *v) { last_text = v->text; }
        static void size(Outer *v, int *out) { *out = v->size; }
        static int look(Outer *v) { int size; size = v->size; return size; }";
    let types = "typedef struct { PyObject_HEAD char *text; PyObject *object; int size; } Outer;";
    let calls = "text(v, &s); object(v, &o); counted(v, &o); taken(s, v); field(s, v); last(v); \
                 size(v, &n); look(v);";
    insta::assert_snapshot!(summary(&with_caller(&format!("{types}{text}"), calls)), @"
        counted: Used, Used
        field: Used, Through({0})
        last: Inside
        look: Used
        object: Used, Used
        size: Used, Used
        taken: Used, Used
        text: Through({1}), Used
        ");
}

#[test]
fn memory_of_the_function_holds_an_object_for_a_call() {
    let text = "
        static int show(Pair *p) { return PyObject_Print(p->key, stdout, 0); }
        static int push(List *l, Pair *p) { l->pairs[l->n++] = *p; return 0; }
        static int keep(List *l, Pair *p) { l->last = p->key; return 0; }
        static int args(PyObject *v) { PyObject *all[1] = {v}; return run(all, 1); }
        static int pair(PyObject *v) { Pair p; p.key = v; return show(&p); }
        static int pushed(List *l, PyObject *v) { Pair p; p.key = v; return push(l, &p); }
        static int kept(List *l, PyObject *v) { Pair p; p.key = v; return keep(l, &p); }
        static int copied(List *l, PyObject *v) { Pair p; p.key = v; memcpy(l->pairs, &p, sizeof p); return 0; }
        static int stored(List *l, PyObject *v) { Pair p; p.key = v; l->pairs[0] = p; return 0; }
        static Pair given(PyObject *v) { Pair p; p.key = v; return p; }
        static int unseen(List *l, PyObject *v) { Pair p; p.key = v; return add(l, (void *)&p); }
        static int slot(List *l, PyObject *v) { Pair p; p.key = v; return l->add(l, &p); }
        static int other(List *l, PyObject *v) { Pair p; Pair *q = &p; q->key = v; l->q = *q; return 0; }
        static int taken(List *l, PyObject *v) { Pair p; p.key = v; Py_INCREF(v); return add(l, &p); }
        static int less(PyObject *v) { Pair p; p.key = v; Py_DECREF(p.key); return 0; }";
    let calls = "args(v); pair(v); pushed(s, v); kept(s, v); copied(s, v); stored(s, v); given(v); \
                 unseen(s, v); slot(s, v); other(s, v); taken(s, v); less(v);";
    insta::assert_snapshot!(summary(&with_caller(text, calls)), @"
        args: Used
        copied: Used, Taken(Always)
        given: Taken(Always)
        keep: Used, Used
        kept: Used, Taken(Always)
        less: Taken(Always)
        other: Used, Taken(Always)
        pair: Used
        push: Used, Used
        pushed: Used, Taken(Always)
        show: Used
        slot: Used, Taken(Always)
        stored: Used, Taken(Always)
        taken: Used, Used
        unseen: Used, Taken(Always)
        ");
}

#[test]
fn a_helper_of_a_helper_keeps_what_a_struct_holds() {
    let text = "
        static int set(List *l, PyObject *key) { l->last = key; return 0; }
        static int own(List *l, PyObject *key) { l->last = Py_NewRef(key); return 0; }
        static int first(List *l, Pair *p) { return set(l, p->key); }
        static int second(List *l, Pair *p) { if (first(l, p) < 0) return -1; return 0; }
        static int owning(List *l, Pair *p) { return own(l, p->key); }
        static int kept(List *l, PyObject *v) { Pair p; p.key = v; return first(l, &p); }
        static int deep(List *l, PyObject *v) { Pair p; p.key = v; return second(l, &p); }
        static int owned(List *l, PyObject *v) { Pair p; p.key = v; return owning(l, &p); }";
    insta::assert_snapshot!(summary(&with_caller(text, "kept(s, v); deep(s, v); owned(s, v);")), @"
    deep: Used, Taken(Always)
    first: Used, Used
    kept: Used, Taken(Always)
    own: Used, Used
    owned: Used, Used
    owning: Used, Used
    second: Used, Used
    set: Used, Taken(Always)
    ");
}

#[test]
fn text_in_a_struct_of_the_function_is_lent_to_it() {
    let text = "
        static int define(List *l, const char *name) { External e; e.name = name; return push(l, &e); }
        static int own(List *l, PyObject *v) { External e; e.object = v; return push(l, &e); }";
    insta::assert_snapshot!(summary(&with_caller(text, "define(s, PyUnicode_AsUTF8(v)); own(s, v);")), @"
        define: Used, Used
        own: Used, Taken(Always)
        ");
}

#[test]
fn a_function_that_is_not_understood_may_do_anything() {
    let texts = "
        #ifdef OLD
        static PyObject *pick(PyObject *v) { return v ) ; }
        #else
        static PyObject *pick(PyObject *v) { return PyLong_FromLong(1); }
        #endif";
    with_program(&[("a.c", &with_caller(texts, "pick(v);"))], |program| {
        assert_eq!(program.gaps.len(), 1);
        let summaries = Summaries::new(program, &["PyList_GetItem"]);
        assert_eq!(summaries.param("pick", 0), Some(Param::Unsure));
        assert!(summaries.may_derive("pick", 0));
    });
}

/// Seen in a converter from `void *` to `PyObject *`: the object was released before its last use.
#[test]
fn members_of_a_union_are_one_object_under_several_names() {
    let unions = "\
        typedef union { PyObject *object; void *pointer; } Slot;
        typedef struct { int kind; union { PyObject *in; void *inside; } u; } Tagged;
        typedef struct { int kind; union { PyObject *here; struct { void *there; }; }; } Open;
        typedef struct { PyObject *key, *value; } Pair;
        void *named(PyObject *v) { Slot s; s.object = v; return s.pointer; }
        void *tagged(PyObject *v) { Tagged s; s.u.in = v; return s.u.inside; }
        void *open(PyObject *v) { Open s; s.here = v; return s.there; }
        void *own(PyObject *v) { union { PyObject *a; void *b; } s; s.a = v; return s.b; }
        void *pair(PyObject *v) { Pair s; s.key = v; return s.value; }";
    insta::assert_snapshot!(summary(&with_caller(
        unions,
        "named(v); tagged(v); open(v); own(v); pair(v);"
    )), @"
    named: Used and in the result
    open: Used and in the result
    own: Used and in the result
    pair: Used
    tagged: Used and in the result
    ");
}
