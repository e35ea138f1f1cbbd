//! Errors that lookups swallowed: the function leaves with them, or reports them.

use crate::rule::Errors;
use crate::testing;
use crate::transforms::ALL;

fn run(text: &str) -> String {
    testing::run(ALL, text.trim_start_matches('\n'))
}

#[test]
fn they_are_reported_where_the_user_asks_for_that() {
    let text = "
static PyObject *get(PyObject *self, PyObject *key)
{
    PyObject *v = PyDict_GetItem(cache, key);
    if (v == NULL)
        return PyErr_Format(PyExc_KeyError, \"none\");
    return PyLong_FromLong(PyLong_AsLong(v));
}
";
    let run = |errors| testing::run_with(ALL, text.trim_start_matches('\n'), errors);
    insta::assert_snapshot!(run(Errors::Preserve), @r#"
    @@
     static PyObject *get(PyObject *self, PyObject *key)
     {
    -    PyObject *v = PyDict_GetItem(cache, key);
    +    PyObject *v;
    +    PyObject *result;
    +    if (PyDict_GetItemRef(cache, key, &v) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         if (v == NULL)
             return PyErr_Format(PyExc_KeyError, "none");
    -    return PyLong_FromLong(PyLong_AsLong(v));
    +    result = PyLong_FromLong(PyLong_AsLong(v));
    +    Py_DECREF(v);
    +    return result;
     }
    "#);
    insta::assert_snapshot!(run(Errors::Propagate), @r#"
    @@
     static PyObject *get(PyObject *self, PyObject *key)
     {
    -    PyObject *v = PyDict_GetItem(cache, key);
    +    PyObject *v;
    +    PyObject *result;
    +    if (PyDict_GetItemRef(cache, key, &v) < 0) {
    +        return NULL;
    +    }
         if (v == NULL)
             return PyErr_Format(PyExc_KeyError, "none");
    -    return PyLong_FromLong(PyLong_AsLong(v));
    +    result = PyLong_FromLong(PyLong_AsLong(v));
    +    Py_DECREF(v);
    +    return result;
     }
    "#);
}

#[test]
fn the_function_leaves_by_its_own_exit() {
    insta::assert_snapshot!(run("
static PyObject *get(PyObject *self, PyObject *key)
{
    PyObject *v, *text = PyObject_Str(key);
    if (text == NULL)
        return NULL;
    v = PyDict_GetItem(cache, text);
    if (v == NULL) {
        PyErr_SetString(PyExc_KeyError, \"none\");
        goto fail;
    }
    if (use(v) < 0)
        goto fail;
    Py_DECREF(text);
    Py_RETURN_NONE;
fail:
    Py_DECREF(text);
    return NULL;
}
"), @r#"
    @@
         if (text == NULL)
             return NULL;
    -    v = PyDict_GetItem(cache, text);
    +    if (PyDict_GetItemRef(cache, text, &v) < 0) {
    +        goto fail;
    +    }
         if (v == NULL) {
             PyErr_SetString(PyExc_KeyError, "none");
             goto fail;
         }
    -    if (use(v) < 0)
    +    if (use(v) < 0) {
    +        Py_DECREF(v);
             goto fail;
    +    }
    +    Py_DECREF(v);
         Py_DECREF(text);
         Py_RETURN_NONE;
    "#);
}

#[test]
fn what_is_held_there_is_released() {
    insta::assert_snapshot!(run("
static PyObject *count(PyObject *self, PyObject *list)
{
    PyObject *first, *v;
    first = PyList_GetItem(list, 0);
    if (first == NULL)
        return NULL;
    v = PyDict_GetItemString(cache, \"n\");
    if (v == NULL) {
        PyErr_SetString(PyExc_KeyError, \"n\");
        return NULL;
    }
    return PyTuple_Pack(2, v, first);
}
"), @r#"
    @@
     {
         PyObject *first, *v;
    -    first = PyList_GetItem(list, 0);
    +    PyObject *result;
    +    first = PyList_GetItemRef(list, 0);
         if (first == NULL)
             return NULL;
    -    v = PyDict_GetItemString(cache, "n");
    +    if (PyDict_GetItemStringRef(cache, "n", &v) < 0) {
    +        Py_DECREF(first);
    +        return NULL;
    +    }
         if (v == NULL) {
    +        Py_DECREF(first);
             PyErr_SetString(PyExc_KeyError, "n");
             return NULL;
         }
    -    return PyTuple_Pack(2, v, first);
    +    result = PyTuple_Pack(2, v, first);
    +    Py_DECREF(first);
    +    Py_DECREF(v);
    +    return result;
     }
    "#);
}

#[test]
fn presence_and_arguments() {
    insta::assert_snapshot!(run("
static PyObject *has(PyObject *self, PyObject *key)
{
    if (PyObject_Hash(key) == -1)
        return NULL;
    if (PyDict_GetItem(cache, key) != NULL)
        Py_RETURN_TRUE;
    return show(PyDict_GetItem(more, key));
}
"), @"
    5: safe: the code only asks whether the key is present
    7: review: in `has`, what a function made from the object that `PyDict_GetItemRef` returned stays valid after the object is released
    @@
     static PyObject *has(PyObject *self, PyObject *key)
     {
    +    PyObject *value;
    +    PyObject *result;
         if (PyObject_Hash(key) == -1)
             return NULL;
         if (PyDict_GetItem(cache, key) != NULL)
             Py_RETURN_TRUE;
    -    return show(PyDict_GetItem(more, key));
    +    if (PyDict_GetItemRef(more, key, &value) < 0) {
    +        return NULL;
    +    }
    +    result = show(value);
    +    Py_XDECREF(value);
    +    return result;
     }
    ");
}

#[test]
fn a_function_that_cannot_tell_reports_them() {
    insta::assert_snapshot!(run("
static void note(PyObject *key)
{
    PyObject *v = PyDict_GetItem(cache, key);
    if (v != NULL)
        use(v);
}

static PyObject *find(PyObject *key)
{
    PyObject *v = PyDict_GetItem(cache, key);
    if (v == NULL)
        return NULL;
    return show(v);
}
"), @"
    10: review: in `find`, what a function made from the object that `PyDict_GetItemRef` returned stays valid after the object is released
    @@
     static void note(PyObject *key)
     {
    -    PyObject *v = PyDict_GetItem(cache, key);
    -    if (v != NULL)
    +    PyObject *v;
    +    if (PyDict_GetItemRef(cache, key, &v) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    if (v != NULL) {
             use(v);
    +        Py_DECREF(v);
    +    }
     }
     
     static PyObject *find(PyObject *key)
     {
    -    PyObject *v = PyDict_GetItem(cache, key);
    +    PyObject *v;
    +    PyObject *result;
    +    if (PyDict_GetItemRef(cache, key, &v) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         if (v == NULL)
             return NULL;
    -    return show(v);
    +    result = show(v);
    +    Py_DECREF(v);
    +    return result;
     }
    ");
}

#[test]
fn a_variable_of_another_type_is_set_behind_the_exit() {
    insta::assert_snapshot!(run("
typedef struct { PyObject_HEAD int n; } Thing;

static PyObject *get(PyObject *self, PyObject *key)
{
    Thing *t = (Thing *)PyDict_GetItem(cache, key);
    if (t == NULL) {
        PyErr_SetString(PyExc_KeyError, \"none\");
        return NULL;
    }
    return PyLong_FromLong(t->n);
}
"), @r#"
    @@
     static PyObject *get(PyObject *self, PyObject *key)
     {
    -    Thing *t = (Thing *)PyDict_GetItem(cache, key);
    +    Thing *t;
    +    PyObject *object;
    +    PyObject *result;
    +    if (PyDict_GetItemRef(cache, key, &object) < 0) {
    +        return NULL;
    +    }
    +    t = (Thing *)object;
         if (t == NULL) {
             PyErr_SetString(PyExc_KeyError, "none");
             return NULL;
         }
    -    return PyLong_FromLong(t->n);
    +    result = PyLong_FromLong(t->n);
    +    Py_DECREF(t);
    +    return result;
     }
    "#);
}

#[test]
fn no_exit_reads_a_variable_of_another_type() {
    insta::assert_snapshot!(run("
typedef struct { PyObject_HEAD int n; } Thing;

static PyObject *next(PyObject *self, PyObject *key)
{
    Thing *t;
    PyObject *n = PyObject_Str(key);
    if (n == NULL)
        return NULL;
    t = (Thing *)PyDict_GetItem(cache, n);
    if (t == NULL) {
        PyErr_SetString(PyExc_KeyError, \"none\");
        goto fail;
    }
    if (t->n < 0) {
        PyErr_SetString(PyExc_ValueError, \"negative\");
        goto fail;
    }
    Py_DECREF(n);
    Py_RETURN_NONE;
fail:
    note(t == NULL);
    Py_DECREF(n);
    return NULL;
}
"), @r#"
    @@
         Thing *t;
         PyObject *n = PyObject_Str(key);
    +    PyObject *object;
         if (n == NULL)
             return NULL;
    -    t = (Thing *)PyDict_GetItem(cache, n);
    +    if (PyDict_GetItemRef(cache, n, &object) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    t = (Thing *)object;
         if (t == NULL) {
             PyErr_SetString(PyExc_KeyError, "none");
    @@
             goto fail;
         }
    +    Py_DECREF(t);
         Py_DECREF(n);
         Py_RETURN_NONE;
     fail:
         note(t == NULL);
    +    Py_XDECREF(t);
         Py_DECREF(n);
         return NULL;
    "#);
}

/// Whether a helper leaves with the error of its lookup, if `caller` calls it; else it is reported.
fn leaves(ret: &str, none: &str, caller: &str) -> bool {
    let said = run(&format!(
        "
static {ret}lookup(PyObject *dict, PyObject *key)
{{
    PyObject *v;
    if (PyObject_Hash(key) == -1)
        return {none};
    v = PyDict_GetItem(dict, key);
    if (v == NULL)
        return {none};
    return ({ret})PyNumber_Long(v);
}}
{caller}
"
    ));
    let reports = said.contains("+        PyErr_WriteUnraisable(NULL);\n");
    let new = format!("+    if (PyDict_GetItemRef(dict, key, &v) < 0) {{\n+        return {none};");
    assert_ne!(reports, said.contains(&new), "{said}");
    !reports
}

#[test]
fn what_the_callers_do_not_notice_is_reported() {
    let caller =
        |body: &str| format!("PyObject *get(PyObject *dict, PyObject *key)\n{{\n    {body}\n}}\n");
    let object = |body: &str| leaves("PyObject *", "NULL", &caller(body));
    assert!(object("return lookup(dict, key);"));
    assert!(object(
        "PyObject *v = lookup(dict, key); if (v == NULL) return NULL; return v;"
    ));
    assert!(object(
        "PyObject *v = lookup(dict, key);
    if (v == NULL && PyErr_Occurred()) return NULL;
    return v ? v : PyLong_FromLong(0);"
    ));
    assert!(object(
        "PyObject *v = lookup(dict, key);
    if (v == NULL) { PyErr_Clear(); v = PyLong_FromLong(0); }
    return v;"
    ));
    for silent in [
        "PyObject *v = lookup(dict, key); if (v == NULL) v = PyLong_FromLong(0); return v;",
        "Py_XDECREF(lookup(dict, key)); Py_RETURN_NONE;",
        "if (lookup(dict, key)) Py_RETURN_TRUE; Py_RETURN_FALSE;",
    ] {
        assert!(!object(silent), "{silent}");
    }
    // `NULL` is `None` there.
    let text = |body: &str| leaves("const char *", "NULL", &caller(body));
    assert!(!text("return Py_BuildValue(\"z\", lookup(dict, key));"));
    assert!(!text(
        "return Py_BuildValue(\"(is#)\", 1, lookup(dict, key), 2);"
    ));
    assert!(object(
        "return Py_BuildValue(\"(iO)\", 1, lookup(dict, key));"
    ));
    // Nor where the next caller does not.
    let twice = |body: &str| {
        let next = "static PyObject *next(PyObject *dict, PyObject *key)
{
    PyObject *v = lookup(dict, key);
    if (v == NULL)
        return NULL;
    return v;
}
";
        leaves("PyObject *", "NULL", &format!("{next}{}", caller(body)))
    };
    assert!(twice("return next(dict, key);"));
    assert!(!twice(
        "PyObject *v = next(dict, key); if (v == NULL) Py_RETURN_NONE; return v;"
    ));
}

#[test]
fn an_exit_between_two_halves_leaves_the_first_alone() {
    let halves = |first: &str, second: &str| {
        run(&format!(
            "
static PyObject *stack;
static int enter(PyObject *o) {{ return PyList_Append(stack, o); }}
static int leave_it(void) {{ return PySequence_DelItem(stack, PyList_GET_SIZE(stack) - 1); }}
PyObject *get(PyObject *self, PyObject *dict, PyObject *key)
{{
    PyObject *v;
    if ({first} < 0)
        return NULL;
    v = PyDict_GetItem(dict, key);
    v = PyObject_Repr(v ? v : Py_None);
    {second}
    return v;
}}
"
        ))
    };
    let is_left = |first: &str, second: &str| {
        let said = halves(first, second);
        let reports = said.contains("+        PyErr_WriteUnraisable(NULL);\n");
        let leaves = said.contains("< 0) {\n+        return NULL;");
        assert_ne!(reports, leaves, "{said}");
        leaves
    };
    let push = "PyList_Append(stack, key)";
    for (first, second) in [
        (push, "PyList_SetSlice(stack, 0, 1, NULL);"),
        (push, "if (PySequence_DelItem(stack, 0) < 0) Py_CLEAR(v);"),
        ("enter(key)", "if (leave_it() < 0) Py_CLEAR(v);"),
        (
            "PyDict_SetItemString(dict, \"busy\", Py_True)",
            "if (PyDict_DelItemString(dict, \"busy\") < 0) PyErr_Clear();",
        ),
        (
            "PyObject_SetAttrString(self, \"busy\", Py_True)",
            "if (PyObject_SetAttrString(self, \"busy\", Py_False) < 0) Py_CLEAR(v);",
        ),
    ] {
        assert!(!is_left(first, second), "{first} {second}");
    }
    assert!(is_left(push, ""));
    assert!(is_left(
        push,
        "if (v == NULL) PyList_SetSlice(stack, 0, 1, NULL);"
    ));
    assert!(is_left(push, "PyList_Append(self, v);"));
}

/// What the function does about the error of a lookup between `open` and `close`.
fn told_between(open: &str, close: &str) -> String {
    told_with("", open, close)
}

/// The same in a file with this text before it.
fn told_with(before: &str, open: &str, close: &str) -> String {
    let said = run(&format!(
        "{before}
PyObject *get(PyObject *self, PyObject *dict, PyObject *key)
{{
    PyObject *v;
    if (PyDict_Contains(dict, key) < 0)
        return PyErr_NoMemory();
    {open}
    v = PyDict_GetItem(dict, key);
    v = PyObject_Repr(v ? v : Py_None);
    {close}
    return v;
}}
"
    ));
    let start = said.find("< 0) {\n+").expect("the lookup tells of it");
    let lines = said[start..].lines().skip(1);
    let lines = lines.take_while(|line| *line != "+    }");
    let lines: Vec<&str> = lines
        .map(|line| line.trim_start_matches(['+', ' ']))
        .collect();
    lines.join(" ")
}

#[test]
fn no_exit_leaves_open_what_all_others_close() {
    let old = "PyObject *old = get_old(dict); if (!old) return NULL; \
        if (PyDict_SetItemString(dict, \"a\", Py_None) < 0) { Py_DECREF(old); return NULL; }";
    for (open, close) in [
        ("int fd = open_it();", "if (close(fd) < 0) Py_CLEAR(v);"),
        (
            "int fd = open_it();",
            "if (fd >= 0 && close(fd) < 0) Py_CLEAR(v);",
        ),
        (
            "int fd = open_it();",
            "if (fd >= 0) { if (close(fd) < 0) Py_CLEAR(v); }",
        ),
        ("void *p = map_it(40);", "if (unmap_it(p, 40)) Py_CLEAR(v);"),
        (
            "struct writer *w = start_writer(); if (!w) return NULL;",
            "PyObject *s = finish(w); if (!s) Py_CLEAR(v); Py_XDECREF(s);",
        ),
        (
            "struct part *p; if (make(&p) < 0) return NULL;",
            "if (drop(&p) < 0) Py_CLEAR(v);",
        ),
        (
            "PyUnicodeWriter *w = PyUnicodeWriter_Create(0); if (!w) return NULL;",
            "PyObject *s = PyUnicodeWriter_Finish(w); if (!s) Py_CLEAR(v); Py_XDECREF(s);",
        ),
        (
            "PyObject *file = PyObject_CallMethod(self, \"open\", NULL); if (!file) return NULL;",
            "Py_XDECREF(PyObject_CallMethod(file, \"close\", NULL)); Py_DECREF(file);",
        ),
        (
            "int mode = get_mode(); set_mode(3);",
            "if (set_mode(mode)) Py_CLEAR(v);",
        ),
        ("set_mode(3);", "set_mode(4);"),
        ("write_text(file, \"(\");", "write_text(file, \")\");"),
        (
            old,
            "if (old && PyDict_SetItemString(dict, \"a\", old) < 0) Py_CLEAR(v); Py_DECREF(old);",
        ),
    ] {
        let told = told_between(open, close);
        assert_eq!(told, "PyErr_WriteUnraisable(NULL);", "{open} {close}");
    }
}

#[test]
fn no_exit_leaves_set_what_all_others_set_back() {
    for (open, close) in [
        ("struct frame f; f.outer = top; top = &f;", "top = f.outer;"),
        ("sem_wait(&sem);", "if (sem_post(&sem) < 0) Py_CLEAR(v);"),
        ("ses.flags ^= 4;", "ses.flags ^= 4;"),
        ("int old = errno; errno = 0;", "errno = old;"),
        ("int old = dup(1); dup2(2, 1);", "dup2(old, 1); close(old);"),
        (
            "long old = ftell(file); fseek(file, 0, 2);",
            "fseek(file, old, 0);",
        ),
        (
            "int old; set_state(3, &old);",
            "if (set_state(old, NULL) < 0) Py_CLEAR(v);",
        ),
        (
            "if (sqlite3_exec(db, \"BEGIN\") != 0) return NULL;",
            "sqlite3_exec(db, \"COMMIT\");",
        ),
        (
            "PyEval_SetTrace(tracer, key);",
            "PyEval_SetTrace(NULL, NULL);",
        ),
        (
            "if (PySet_Add(seen, key) < 0) return NULL;",
            "if (PySet_Discard(seen, key) < 0) Py_CLEAR(v);",
        ),
    ] {
        let told = told_between(open, close);
        assert_eq!(told, "PyErr_WriteUnraisable(NULL);", "{open} {close}");
    }
}

#[test]
fn an_exit_does_what_own_functions_set_back() {
    let functions = "
static PyObject *table[8];
static int used;
static void table_clear(void) { while (used > 0) Py_DECREF(table[--used]); }
static int table_put(PyObject *v) { if (used == 8) return -1; table[used++] = v; return 0; }
static void table_sort(void) { used = sorted(table); }
static void mark(Node *node) { node->depth = 1; }
static int unmark(Node *node) { node->depth = 0; return 0; }
";
    let told = |open: &str, close: &str| told_with(functions, open, close);
    for (open, close) in [
        ("if (table_put(dict) < 0) return NULL;", "table_clear();"),
        (
            "if (table_put(dict) < 0) return NULL;",
            "if (v) table_clear(); else table_clear();",
        ),
        ("used = 3;", "table_clear();"),
        ("mark(&root);", "if (unmark(&root) < 0) Py_CLEAR(v);"),
        ("mark(&root);", "root.depth = 0;"),
        // It may be sorted as it has to be.
        ("if (table_put(dict) < 0) return NULL;", "table_sort();"),
    ] {
        let told = told(open, close);
        assert_eq!(told, "PyErr_WriteUnraisable(NULL);", "{open} {close}");
    }
    // Other places, and what sets nothing back.
    for (open, close) in [
        ("mark(&root);", "if (unmark(&other) < 0) Py_CLEAR(v);"),
        ("mark(&root);", "table_clear();"),
    ] {
        assert_eq!(told(open, close), "return NULL;", "{open} {close}");
    }
}

#[test]
fn an_exit_that_closes_all_fits() {
    let open = "int fd = open_it(); if (fd < 0) return NULL;";
    let to_label = format!("{open} v = PyObject_Repr(key); if (!v) goto end; Py_DECREF(v);");
    for (open, close, exit) in [
        (open, "close(fd);", "close(fd); return NULL;"),
        (
            &to_label,
            "end: if (close(fd) < 0) Py_CLEAR(v);",
            "goto end;",
        ),
        // A number like any other.
        (
            "int n = count(self);",
            "if (v) Py_XSETREF(v, made_of(v, n));",
            "return NULL;",
        ),
    ] {
        assert_eq!(told_between(open, close), exit, "{open} {close}");
    }
}
