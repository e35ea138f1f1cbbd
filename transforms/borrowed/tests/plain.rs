//! Structs of numbers that are copied out of the object: no pointer into it is left.

use super::super::list_item::BORROWED_LIST_ITEM;
use super::all;
use crate::testing::report;

/// What becomes of the lookup in a function that takes a `Node` out of the object by `body`, with a
/// `Node` of these `fields`.
fn outcome(fields: &str, body: &str) -> String {
    let text = format!(
        "typedef struct {{ int x, y; }} Point;
typedef struct node {{ {fields} }} Node;
typedef struct {{ PyObject_HEAD Node node; }} PyNode;
static Node node_of(PyObject *o) {{ return ((PyNode *)o)->node; }}
Node f(PyObject *list, Node *nodes, Py_ssize_t i)
{{
    Node node = {{ 0 }};
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return node;
{body}}}
"
    );
    let report = report(&BORROWED_LIST_ITEM, &text);
    report.lines().last().unwrap_or_default().trim().to_owned()
}

const TAKEN: [&str; 6] = [
    "    nodes[i] = ((PyNode *)item)->node;\n    return node;\n",
    "    node = ((PyNode *)item)->node;\n    nodes[i] = node;\n    return node;\n",
    "    Node *inner = &((PyNode *)item)->node;\n    nodes[i] = *inner;\n    return node;\n",
    "    nodes[i] = node_of(item);\n    return node;\n",
    "    if (fill_node(item, &node) == 0)\n        nodes[i] = node;\n    return node;\n",
    "    return ((PyNode *)item)->node;\n",
];

#[test]
fn a_struct_of_numbers_needs_the_object_no_more() {
    for fields in [
        "int left, right; double distance;",
        "Point from, to; char name[16];",
        "Point points[2]; struct { unsigned bits; };",
        "union { double number; long bits; };",
        "jlong size; Uint8 tag; gboolean is_open; sqlite3_int64 row;",
        "Py_complex at; struct timespec when; _Dcomplex other;",
    ] {
        for body in TAKEN {
            insta::allow_duplicates! {
                insta::assert_snapshot!(outcome(fields, body), @"safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)");
            }
        }
    }
}

#[test]
fn a_struct_with_a_pointer_somewhere_does() {
    for fields in [
        "int count; char *name;",
        "int count; struct node *next;",
        "Point at; void (*call)(void);",
        "union { double number; void *data; };",
        "int count; char *names[2];",
        "struct timeval when; struct addrinfo where;",
        "jlong size; jobject where;",
        "Unknown inner; int count;",
        // A pointer by another name.
        "uintptr_t address; int count;",
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome(fields, TAKEN[0]), @"by hand: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)");
        }
    }
}

#[test]
fn an_array_is_a_pointer_where_it_is_read() {
    let text = "typedef struct { PyObject_HEAD char name[16]; } PyNode;
char *f(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 0);
    return item == NULL ? NULL : ((PyNode *)item)->name;
}
";
    let report = report(&BORROWED_LIST_ITEM, text);
    assert!(report.contains("would dangle"), "{report}");
}

#[test]
fn the_address_of_an_array_says_nothing_of_null() {
    let body = |value: &str| {
        format!(
            "typedef struct {{ PyObject_HEAD long x; char name[8]; }} PyNode;
PyObject *f(PyObject *dict)
{{
    PyNode *node = (PyNode *)PyImport_AddModule(\"nodes\");
    long x = (long){value};
    if (node != NULL && x)
        return PyLong_FromLong(x);
    return NULL;
}}
"
        )
    };
    let releases = |value: &str| {
        let diff = all(&body(value));
        let lines = diff.lines().filter(|line| line.contains("DECREF"));
        lines
            .map(|line| line.trim_matches(['+', ' ']).to_owned())
            .collect::<Vec<_>>()
    };
    let (there, perhaps) = ("Py_DECREF(node);", "Py_XDECREF(node);");
    assert_eq!(releases("node->x"), [there, there]);
    assert_eq!(releases("node->name"), [there, perhaps]);
    assert_eq!(releases("node->unknown"), [there, perhaps]);
}

#[test]
fn of_two_structs_of_one_name_both_must_be_plain() {
    let one = "typedef struct { int x; } Node;\ntypedef struct { char *x; } Node;\ntypedef struct { PyObject_HEAD Node node; } PyNode;\n";
    let f = "void f(PyObject *list, Node *nodes)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (item != NULL)
        nodes[0] = ((PyNode *)item)->node;
}
";
    let report = report(&BORROWED_LIST_ITEM, &format!("{one}{f}"));
    assert!(report.contains("would dangle"), "{report}");
}

#[test]
fn each_item_is_released_behind_its_pass() {
    insta::assert_snapshot!(all(r#"
typedef struct { int left, right; double distance; } Node;
typedef struct { PyObject_HEAD Node node; } PyNode;
static int
f(PyObject *list, Node *nodes)
{
    Py_ssize_t i;
    for (i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyObject_TypeCheck(item, &PyNode_Type)) {
            PyErr_SetString(PyExc_TypeError, "no node");
            return -1;
        }
        nodes[i] = ((PyNode *)item)->node;
    }
    return 0;
}
"#), @r#"
    @@
         Py_ssize_t i;
         for (i = 0; i < PyList_Size(list); i++) {
    -        PyObject *item = PyList_GetItem(list, i);
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        if (item == NULL) {
    +            return -1;
    +        }
             if (!PyObject_TypeCheck(item, &PyNode_Type)) {
    +            Py_DECREF(item);
                 PyErr_SetString(PyExc_TypeError, "no node");
                 return -1;
             }
             nodes[i] = ((PyNode *)item)->node;
    +        Py_DECREF(item);
         }
         return 0;
    "#);
}
