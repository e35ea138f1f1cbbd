//! Destructors in, findings and patches out.

use super::WEAK_REFERENCE_LIST_TEST;
use crate::testing::{report, run_triaged};

const NODE: &str = "typedef struct { PyObject_HEAD int open; PyObject *weakrefs; } Node;\n";

/// A type whose objects `Node_dealloc` destroys.
const TYPE: &str = "static PyTypeObject Node_Type = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = \"Node\", .tp_dealloc = (destructor)Node_dealloc,
    .tp_weaklistoffset = offsetof(Node, weakrefs),
};\n";

/// `Node_dealloc` with this body, and its type.
fn destructor(body: &str) -> String {
    format!("{NODE}static void Node_dealloc(Node *self)\n{{\n{body}\n}}\n{TYPE}")
}

/// The outcome for each test of `text`, with what is to be confirmed, in a word each.
fn said(text: &str) -> String {
    let word = |line: &str| {
        let line = line.trim();
        let known = [
            ("safe:", "safe"),
            ("has a type whose list", "type"),
            ("reference count of the object", "count"),
            ("PyPy", "PyPy"),
        ];
        let word = known.iter().find(|(part, _)| line.contains(part));
        let by_hand = || line.strip_prefix("by hand: ");
        word.map(|(_, word)| *word)
            .or_else(by_hand)
            .map(str::to_owned)
    };
    let all = report(&WEAK_REFERENCE_LIST_TEST, text);
    let words: Vec<String> = all.lines().filter_map(word).collect();
    words.join(" ")
}

fn said_of(body: &str) -> String {
    said(&destructor(body))
}

const CLEAR: &str = "    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);";

#[test]
fn the_call_stands_where_the_test_stood() {
    let body = "    PyObject_GC_UnTrack(self);
    if (self->open)
        if (NULL != self->weakrefs) {
            // Callbacks run here.
            PyObject_ClearWeakRefs(
                (PyObject *)self);      /* all */
        };
    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self); /* again */
    PyObject_Free(self);";
    insta::assert_snapshot!(run_triaged(&WEAK_REFERENCE_LIST_TEST, &destructor(body)), @r"
    6: `weakrefs` is read without a lock while other threads may change it
      safe: clear the list of weak references without the test
    11: `weakrefs` is read without a lock while other threads may change it
      8: this may take a reference to the object: its code is not known
      review: clear the list of weak references without the test
      assumes that the reference count of the object is 0 at the call (`PyObject_ClearWeakRefs` raises `SystemError` for an object that is alive)
    @@
         PyObject_GC_UnTrack(self);
         if (self->open)
    -        if (NULL != self->weakrefs) {
    -            // Callbacks run here.
    -            PyObject_ClearWeakRefs(
    -                (PyObject *)self);      /* all */
    -        };
    -    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self); /* again */
    +        // Callbacks run here.
    +        PyObject_ClearWeakRefs(
    +            (PyObject *)self);      /* all */
    +    PyObject_ClearWeakRefs((PyObject *)self); /* again */
         PyObject_Free(self);
     }
    ");
}

#[test]
fn what_may_count_the_object_is_asked_for() {
    let after = |before: &str| said_of(&format!("{before}\n{CLEAR}"));
    for harmless in [
        "",
        "PyMem_Free(self->text);",
        "if (!self->open) abort();",
        "do { PyObject_GC_UnTrack((PyObject *)self); } while (0);",
    ] {
        assert_eq!(after(harmless), "safe", "{harmless}");
    }
    for counting in [
        "Py_CLEAR(self->other);",
        "Py_INCREF(self);",
        "Node *own = self; PyList_Append(all, (PyObject *)own);",
        "((PyObject *)self)->ob_refcnt = 1;",
        "self->close(1);",
        "PyCFunction_New(&def, (PyObject *)self);",
        "__asm__(\"nop\");",
    ] {
        assert_eq!(after(counting), "count", "{counting}");
    }
    let later =
        |head: &str, tail: &str| said_of(&format!("{head}\n{CLEAR}\nPy_INCREF(self); {tail}"));
    assert_eq!(later("do {", "} while (0);"), "safe");
    assert_eq!(later("while (self->open) {", "}"), "count");
    assert_eq!(later("again:", "goto again;"), "count");
    let trash = format!("Py_TRASHCAN_BEGIN(self, Node_dealloc)\n{CLEAR}\nPy_TRASHCAN_END");
    assert_eq!(said_of(&trash), "safe");
}

#[test]
fn whose_objects_come_is_asked_for() {
    let with = |more: &str| said(&(destructor(CLEAR) + more));
    assert_eq!(
        with("void g(PyObject *o) { PyUnicode_Type.tp_dealloc(o); }"),
        "safe"
    );
    let slot = ".tp_dealloc = (destructor)Node_dealloc";
    let other =
        format!("static PyTypeObject T = {{{slot}, .tp_weaklistoffset = offsetof(Node, open)}};");
    for more in [
        &*other,
        &format!("static PyTypeObject T = {{{slot}}};"),
        "void drop(Node *node) { Node_dealloc(node); }",
        "void g(PyObject *o) { Py_TYPE(o)->tp_base->tp_dealloc(o); }",
        "void g(PyObject *o) { Node_Type.tp_dealloc(o); }",
        "void g(void) { Node_Type.tp_weaklistoffset = 0; }",
        "void g(PyTypeObject *type) { type->tp_dealloc = (destructor)Node_dealloc; }",
    ] {
        assert_eq!(with(more), "type", "{more}");
    }
    assert_eq!(with("#ifdef PYPY_VERSION\nint old;\n#endif\n"), "PyPy");
    let helper = format!("{NODE}void forget(Node *self) {{\n{CLEAR}\n}}\n");
    assert_eq!(said(&helper), "type");
    let method = "static PyObject *Node_close(Node *self, PyObject *none) { forget(self); return NULL; }
static PyMethodDef methods[] = {{\"close\", (PyCFunction)Node_close, METH_NOARGS, NULL}, {NULL}};\n";
    assert_eq!(
        said(&(helper + method)),
        "clear the list only in `tp_dealloc`, and without a test (`Node_close` also runs for objects that are alive, for which the call raises `SystemError`)"
    );
}

#[test]
fn a_list_that_some_configuration_lacks_is_asked_for() {
    let type_with = |offset: &str| {
        let table = TYPE.replace(".tp_weaklistoffset = offsetof(Node, weakrefs),", offset);
        said(&format!(
            "{NODE}static void Node_dealloc(Node *self)\n{{\n{CLEAR}\n}}\n{table}"
        ))
    };
    let offset = ".tp_weaklistoffset = offsetof(Node, weakrefs),\n";
    assert_eq!(type_with(offset), "safe");
    assert_eq!(
        type_with(&format!("\n#ifdef WEAK\n{offset}#endif\n")),
        "type"
    );
    assert_eq!(type_with(".tp_weaklistoffset = sizeof(Node),"), "type");
}

#[test]
fn slots_name_the_members() {
    let with = |member: &str, table: &str| {
        said(&format!(
            "{NODE}static void Node_dealloc(Node *self)\n{{\n{CLEAR}\n}}
static PyMemberDef members[] = {{
    {{\"open\", T_INT, offsetof(Node, open), READONLY}},
    {{\"{member}\", T_PYSSIZET, offsetof(Node, weakrefs), READONLY}},
    {{NULL}},
}};\n{table}"
        ))
    };
    let list = "__weaklistoffset__";
    let dealloc = "{Py_tp_dealloc, (void *)Node_dealloc}";
    let slots = format!("PyType_Slot slots[] = {{{dealloc}, {{Py_tp_members, members}}, {{0}}}};");
    assert_eq!(with(list, &slots), "safe");
    assert_eq!(
        with(
            list,
            &format!("int make(void) {{ {slots} return use(slots); }}")
        ),
        "safe"
    );
    assert_eq!(with("__dictoffset__", &slots), "type");
    assert_eq!(
        with(
            list,
            &format!("PyType_Slot slots[] = {{{dealloc}, {{0}}}};")
        ),
        "type"
    );
}

#[test]
fn other_tests_stay() {
    let call = "PyObject_ClearWeakRefs((PyObject *)self);";
    let tested = |test: &str| said_of(&format!("{test} {call}"));
    assert_eq!(tested("if (self->open)"), "");
    assert_eq!(tested("if (Py_TYPE(self)->tp_weaklistoffset)"), "");
    assert_eq!(tested("Node *next = self->next; if (next->weakrefs)"), "");
    assert_eq!(tested("if (self->weakrefs == NULL) return;"), "");
    let comment = "remove the test by hand (it contains a comment)";
    assert_eq!(tested("if (self->weakrefs /* any */)"), comment);
    assert_eq!(tested("if (/* any */ self->weakrefs)"), comment);
    assert_eq!(tested("if (self->weakrefs) /* any */"), "safe");
    assert_eq!(
        tested("if (self->open) self->open = 0; else if (self->weakrefs)"),
        "check by hand when the list must be cleared (the test follows an `else`)"
    );
    let unused = "static void Node_dealloc(PyObject *op)
{
    Node *self = (Node *)op;
    if (self->weakrefs)
        PyObject_ClearWeakRefs(op);
}\n";
    let unused = said(&format!("{NODE}{unused}{TYPE}"));
    assert_eq!(
        unused,
        "remove the test, and the variable that nothing else uses"
    );
}
