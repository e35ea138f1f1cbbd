//! Fields that never change after construction.

use super::of;

const NEW: &str = "\
static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    Foo *self = (Foo *)type->tp_alloc(type, 0);
    self->table = PyDict_New();
    PyDict_SetItemString(self->table, \"a\", args);
    return (PyObject *)self;
}
static PyObject *get(Foo *self, PyObject *k) { use(PyDict_GetItem(self->table, k)); return k; }
static void dealloc(Foo *self) { Py_CLEAR(self->table); self->table = NULL; }
static int traverse(Foo *self, visitproc visit, void *arg) { Py_VISIT(self->table); return 0; }
static PyTypeObject T = {.tp_new = new, .tp_dealloc = (destructor)dealloc, .tp_traverse = (traverseproc)traverse};
";

fn with(more: &str) -> String {
    of(&format!("{NEW}{more}"))
}

#[test]
fn a_field_that_only_construction_changes_is_frozen() {
    insta::assert_snapshot!(with(""), @"
    get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes
    ");
}

#[test]
fn reading_it_elsewhere_is_fine() {
    insta::assert_snapshot!(with("Py_ssize_t size(Foo *f) { return f->table ? PyDict_Size(f->table) : 0; }\n"), @"
    get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes
    ");
}

#[test]
fn a_later_change_of_what_it_holds_counts() {
    insta::assert_snapshot!(with("void add(Foo *f, PyObject *k) { PyDict_SetItem(f->table, k, k); }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn a_later_assignment_counts() {
    insta::assert_snapshot!(with("void reset(Foo *f) { f->table = PyDict_New(); }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn clearing_it_outside_of_a_destructor_counts() {
    insta::assert_snapshot!(with("void close(Foo *f) { Py_CLEAR(f->table); }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn handing_it_out_counts() {
    insta::assert_snapshot!(with("PyObject *table(Foo *f) { Py_INCREF(f->table); return f->table; }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn showing_it_as_a_member_counts() {
    insta::assert_snapshot!(with("static PyMemberDef members[] = {{\"table\", T_OBJECT, offsetof(Foo, table), 0, NULL}};\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn showing_it_by_a_number_counts() {
    insta::assert_snapshot!(with("static PyMemberDef members[] = {{\"t\", T_OBJECT, sizeof(PyObject), 1, NULL}, {NULL}};\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
    insta::assert_snapshot!(with("static PyMemberDef members[] = {{\"t\", T_OBJECT, offsetof(Foo, other), 1, NULL}, {NULL}};\n"), @"
    get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes
    ");
}

#[test]
fn computing_where_it_is_counts() {
    insta::assert_snapshot!(with("void m(Foo *f) { PyDict_Clear(*(PyObject **)((char *)f + offsetof(Foo, table))); }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn taking_its_address_counts() {
    insta::assert_snapshot!(with("int parse(Foo *f, PyObject *a) { return PyArg_ParseTuple(a, \"O\", &f->table); }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn a_mention_that_is_not_understood_counts() {
    insta::assert_snapshot!(with("void odd(Foo *f) { f->table ) ; }\n"), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn an_initialiser_can_run_again() {
    let text = "\
static int init(Foo *self, PyObject *args, PyObject *kw) { self->table = PyDict_New(); return 0; }
static PyObject *get(Foo *self, PyObject *k) { use(PyDict_GetItem(self->table, k)); return k; }
static PyTypeObject T = {.tp_init = (initproc)init};
";
    insta::assert_snapshot!(of(text), @"
    get: shared, `self->table`, a field that other threads can reach
    ");
}

#[test]
fn a_container_of_the_caller_is_not_frozen_with_the_field() {
    let text = "\
PyObject *make(PyObject *list) { Foo *self = PyObject_New(Foo, &T); Py_INCREF(list); self->items = list; return self; }
void get(Foo *self) { use(PyList_GetItem(self->items, 0)); }
";
    insta::assert_snapshot!(of(text), @"
    get: shared, `self->items`, a field that other threads can reach
    ");
}

#[test]
fn an_object_that_is_known_before_the_field_is_set_is_not_being_built() {
    let text = "\
PyObject *make(void) { Foo *self = PyObject_New(Foo, &T); last = self; self->items = PyList_New(0); return self; }
void get(Foo *self) { use(PyList_GetItem(self->items, 0)); }
";
    insta::assert_snapshot!(of(text), @"
    get: shared, `self->items`, a field that other threads can reach
    ");
}

const STRUCTS: &str = "\
typedef struct { PyObject_HEAD PyObject *table; } Foo;
typedef struct { PyObject_HEAD PyObject *raw; } View;
typedef struct { Foo base; PyObject *more; } Sub;
typedef struct { PyObject_HEAD PyObject *other; } Bar;
";

/// What is said of a field that would be frozen, with structs and `more` beside it.
fn with_structs(more: &str) -> String {
    of(&format!("{STRUCTS}{NEW}{more}\n"))
}

#[test]
fn an_object_that_is_overwritten_as_a_whole() {
    insta::assert_snapshot!(with_structs("void set(Foo *f, Foo *g) { *f = *g; }"), @"get: shared, `self->table`, a field that other threads can reach");
    insta::assert_snapshot!(with_structs("void set(Foo *f, Foo *g) { memcpy(f, g, sizeof(Foo)); }"), @"get: shared, `self->table`, a field that other threads can reach");
    insta::assert_snapshot!(with_structs("void set(PyObject *f, void *g) { memcpy(f, g, 2 * sizeof(Foo)); }"), @"get: shared, `self->table`, a field that other threads can reach");
    insta::assert_snapshot!(with_structs("void set(Sub *f, Sub *g) { f->base = g->base; }"), @"get: shared, `self->table`, a field that other threads can reach");
    insta::assert_snapshot!(with_structs("void set(Sub *f, Sub *g) { f[0] = *g; }"), @"get: shared, `self->table`, a field that other threads can reach");
}

#[test]
fn an_object_that_is_read_as_a_whole_or_another_that_is_overwritten() {
    insta::assert_snapshot!(with_structs("void look(Foo *f) { Foo copy = *f; copy = *f; memcpy(&copy, f, sizeof(Foo)); }"), @"get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes");
    insta::assert_snapshot!(with_structs("void set(Bar *f, Bar *g) { *f = *g; }"), @"get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes");
}

#[test]
fn an_object_that_another_struct_is_laid_over() {
    let view = "void set(PyObject *f) { View *v = (View *)f; Py_CLEAR(v->raw); }";
    insta::assert_snapshot!(with_structs(view), @"get: shared, `self->table`, a field that other threads can reach");
    // One that objects are made of is theirs.
    let own =
        format!("{view}\nPyObject *make(void) {{ return (PyObject *)PyObject_New(View, &V); }}");
    insta::assert_snapshot!(with_structs(&own), @"get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes");
    let cast = format!("{own}\nvoid wipe(Foo *f) {{ Py_CLEAR(((View *)f)->raw); }}");
    insta::assert_snapshot!(with_structs(&cast), @"get: shared, `self->table`, a field that other threads can reach");
    insta::assert_snapshot!(with_structs("void look(Sub *s) { PyDict_Size(((Foo *)s)->table); }"), @"get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes");
}

/// The same type with its object made by a helper, whose body is `body`.
fn made_by(body: &str) -> String {
    let helper = format!("static Foo *make(PyTypeObject *type) {{ {body} }}\n");
    of(&(helper + &NEW.replace("(Foo *)type->tp_alloc(type, 0)", "make(type)")))
}

#[test]
fn an_object_that_a_helper_makes_is_being_built() {
    let body = "Foo *self = (Foo *)type->tp_alloc(type, 0); if (!self) return NULL; self->n = 0; return self;";
    insta::assert_snapshot!(made_by(body), @"
    get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes
    ");
    for body in [
        "Foo *self = (Foo *)type->tp_alloc(type, 0); last = self; return self;",
        "if (pool) return pool; return (Foo *)type->tp_alloc(type, 0);",
        "return find(type);",
    ] {
        assert_eq!(
            made_by(body).trim(),
            "get: shared, `self->table`, a field that other threads can reach"
        );
    }
}

#[test]
fn a_new_object_may_share_what_another_has() {
    let copy = |store: &str| {
        with(&format!(
            "static PyObject *copy(Foo *old, PyObject *unused) {{
    Foo *self = (Foo *)T.tp_alloc(&T, 0);
    if (self == NULL) return NULL;
    Py_XINCREF(old->table);
    {store}
    return (PyObject *)self;
}}
"
        ))
    };
    insta::assert_snapshot!(copy("self->table = old->table;"), @"
    get: FrozenField, `self->table` is set only while `copy()` and `new()` build the object, and its content never changes
    ");
    let shared = "get: shared, `self->table`, a field that other threads can reach";
    for store in [
        "self->other = old->table;",
        "old->table = self->table;",
        "last = self; self->table = old->table;",
        "self->table = old->table; PyDict_SetItem(self->table, unused, unused);",
    ] {
        assert_eq!(copy(store).trim(), shared, "{store}");
    }
    // What a helper shares nobody fills.
    let filled = |body: &str| {
        with(&format!(
            "static Foo *copied(Foo *old) {{ {body} return self; }}
static PyObject *more(Foo *old, PyObject *k) {{
    Foo *self = copied(old);
    PyDict_SetItem(self->table, k, k);
    return (PyObject *)self;
}}
"
        ))
    };
    let body = "Foo *self = (Foo *)T.tp_alloc(&T, 0); self->table = ";
    assert_eq!(filled(&format!("{body} old->table;")).trim(), shared);
}

#[test]
fn a_member_of_a_union_has_other_names() {
    let with_union = |members: &str| {
        with(&format!(
            "typedef struct {{ PyObject_HEAD union {{ {members} }}; }} Foo;\n\
             void reset(Foo *f, void *p) {{ f->raw = p; }}\n"
        ))
    };
    insta::assert_snapshot!(with_union("PyObject *table; void *raw;"), @"get: shared, `self->table`, a field that other threads can reach");
    insta::assert_snapshot!(with_union("PyObject *other; void *raw;"), @"get: FrozenField, `self->table` is set only while `new()` builds the object, and its content never changes");
}
