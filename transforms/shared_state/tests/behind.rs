//! UG504: what the fields of objects lead to.

use super::UNLOCKED_OBJECT_STATE;
use super::run_triaged;

const TREE: &str = "\
#include <Python.h>
typedef struct node { struct node *next; long key; PyObject *data; } node;
typedef struct { node *head; } tree;
typedef struct { PyObject_HEAD tree *tree; const tree *shared; PyObject *items; struct Tree *parent; } Tree;
typedef struct { PyObject_HEAD node *node; Tree *tree; } Cursor;
";

/// What is said of a package with these functions, of which those that begin with `m_` are methods of
/// `Tree`, and those with `c_` of `Cursor`; without the patch.
fn told(text: &str) -> String {
    let names = |start: &str| -> String {
        let mut words = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        let mut found: Vec<&str> = words.by_ref().filter(|it| it.starts_with(start)).collect();
        found.sort_unstable();
        found.dedup();
        let rows = found
            .iter()
            .map(|it| format!("{{\"{it}\", (PyCFunction){it}, METH_O}}, "));
        rows.collect()
    };
    let tables = format!(
        "static PyMethodDef methods[] = {{{}{{NULL}}}};\n\
         static PyMethodDef cursor_methods[] = {{{}{{NULL}}}};\n\
         static PyTypeObject Tree_Type = {{.tp_methods = methods}};\n\
         static PyTypeObject Cursor_Type = {{.tp_methods = cursor_methods}};\n",
        names("m_"),
        names("c_")
    );
    let told = run_triaged(&UNLOCKED_OBJECT_STATE, &format!("{TREE}{text}{tables}"));
    let lines = told.lines().take_while(|line| !line.starts_with("@@"));
    let told: Vec<&str> = lines.filter(|line| !line.contains("review: ")).collect();
    told.join("\n")
}

/// The helpers: one that changes the tree, one that reads it, one that gives a part of it.
const HELPERS: &str = "\
static node *find(tree *t, long key)
{
    node *at = t->head;
    while (at != NULL && at->key != key)
        at = at->next;
    return at;
}
static void drop_first(tree *t)
{
    node *old = t->head;
    t->head = old->next;
    free(old);
}
static int locate(tree *t, long key, node **found)
{
    *found = find(t, key);
    return *found != NULL;
}
";

#[test]
fn helpers_are_followed_to_what_a_field_leads_to() {
    insta::assert_snapshot!(told(&format!("{HELPERS}\
static PyObject *m_drop(Tree *self, PyObject *arg) {{ drop_first(self->tree); Py_RETURN_NONE; }}
static PyObject *m_has(Tree *self, PyObject *arg) {{ return PyBool_FromLong(find(self->tree, 1) != NULL); }}
static PyObject *m_is_new(Tree *self, PyObject *arg) {{ return PyBool_FromLong(self->tree == NULL); }}
")), @r"
    24: methods of `Tree` use what its field `tree` points to without a lock; another thread may change it meanwhile
      24: `m_drop` changes `tree`
      25: `m_has` reads `tree`
      assumes that two threads that call methods of the same `Tree` may wait for each other
    ");
}

#[test]
fn parts_of_it_are_followed() {
    let changes = |body: &str| {
        let text = format!(
            "{HELPERS}static PyObject *m_do(Tree *self, PyObject *arg) {{ {body} Py_RETURN_NONE; }}\n"
        );
        told(&text).contains("`m_do` changes `tree`")
    };
    for body in [
        "find(self->tree, 1)->key++;",
        "node *at; if (locate(self->tree, 1, &at)) at->key = 2;",
        "struct { node *at; } s; s.at = self->tree->head; s.at->key = 2;",
        "node *stack[9], **sp = stack; *sp++ = self->tree->head; (*--sp)->key = 2;",
        "void *p = (char *)self->tree->head + 8; *(long *)p = 1;",
        "tree *t = arg ? self->tree : NULL; drop_first(t);",
        "lib_step(self->tree);",
        "memset(self->tree, 0, sizeof(tree));",
        "free(self->tree->head);",
    ] {
        assert!(changes(body), "{body}");
    }
    for body in [
        "find(self->tree, 1);",
        "node *at = malloc(9); at->key = find(self->tree, 1)->key;",
        "node *at; locate(self->tree, 1, &at); at = NULL;",
        "strlen((char *)self->tree);",
        "lib_look((const tree *)self->tree);",
        "if (0) drop_first(self->tree);",
        "use(sizeof(self->tree->head->key++));",
        "Py_BEGIN_CRITICAL_SECTION(self); drop_first(self->tree); Py_END_CRITICAL_SECTION();",
    ] {
        assert!(!changes(body), "{body}");
    }
}

#[test]
fn what_other_objects_and_constants_hold_is_not_the_state() {
    assert_eq!(
        told(
            "\
static PyObject *m_add(Tree *self, PyObject *arg) { PyList_Append(self->items, arg); return Py_NewRef(self->items); }
static PyObject *m_more(Tree *self, PyObject *arg) { ((Cursor *)arg)->tree->tree->head->key++; Py_RETURN_NONE; }
static PyObject *m_shared(Tree *self, PyObject *arg) { lib_use(self->shared); Py_RETURN_NONE; }
static PyObject *m_data(Tree *self, PyObject *arg) { Tree *t = self->tree->head->data; t->items = arg; Py_RETURN_NONE; }
"
        ),
        ""
    );
}

#[test]
fn recursion_and_callbacks_come_to_an_end() {
    insta::assert_snapshot!(told("\
static void walk(node *at, void (*visit)(node *, void *), void *arg)
{
    if (at == NULL)
        return;
    visit(at, arg);
    walk(at->next, visit, arg);
}
static void bump(node *at, void *arg) { at->key++; }
static PyObject *m_bump(Tree *self, PyObject *arg) { walk(self->tree->head, bump, NULL); Py_RETURN_NONE; }
"), @r"
    14: methods of `Tree` use what its field `tree` points to without a lock; another thread may change it meanwhile
      14: `m_bump` changes `tree`
      assumes that two threads that call methods of the same `Tree` may wait for each other
    ");
}

#[test]
fn who_else_gets_there_is_named() {
    insta::assert_snapshot!(told(&format!("{HELPERS}\
static PyObject *m_drop(Tree *self, PyObject *arg) {{ drop_first(self->tree); Py_RETURN_NONE; }}
static PyObject *c_key(Cursor *self, PyObject *arg) {{ return PyLong_FromLong(self->node->key); }}
static PyObject *c_first(Cursor *self, PyObject *arg) {{ return PyLong_FromLong(self->tree->tree->head->key); }}
static PyObject *c_tree(Cursor *self, PyObject *arg) {{ return Py_NewRef(self->tree); }}
")), @r"
    24: methods of `Tree` use what its field `tree` points to without a lock; another thread may change it meanwhile
      24: `m_drop` changes `tree`
      assumes that `c_first`, `c_key` may use the fields of `Tree` without the lock of the object
    ");
}

#[test]
fn a_second_init_is_locked_with_the_methods() {
    let said = |method: &str| {
        told(&format!(
            "{HELPERS}{method}\
static PyObject *m_has(Tree *self, PyObject *arg) {{ return PyBool_FromLong(find(self->tree, 1) != NULL); }}
static int init(Tree *self, PyObject *args, PyObject *kwargs) {{ self->items = args; drop_first(self->tree); return 0; }}
static PyObject *m_items(Tree *self, PyObject *arg) {{ return PyObject_Str(self->items); }}
static PyType_Slot slots[] = {{{{Py_tp_init, init}}, {{0, NULL}}}};
"
        ))
    };
    insta::assert_snapshot!(said("static PyObject *m_drop(Tree *self, PyObject *arg) { drop_first(self->tree); Py_RETURN_NONE; }\n"), @r"
    24: methods of `Tree` use what its field `tree` points to without a lock; another thread may change it meanwhile
      24: `m_drop` changes `tree`
      25: `m_has` reads `tree`
      26: `init` changes `items`, `tree`
      27: `m_items` reads `items`
      assumes that two threads that call methods of the same `Tree` may wait for each other
      assumes that `m_items` may continue with the value of `items` at its beginning, even if it changes while the method runs
    ");
    assert_eq!(said(""), "");
}
