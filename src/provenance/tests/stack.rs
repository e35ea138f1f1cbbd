//! Containers in a `struct` on the stack.

use super::of;

const BUFFER: &str = "\
typedef struct { PyObject *list; Py_ssize_t size; } Buffer;
static int start(Buffer *b) {
    if (b == NULL) return -1;
    b->list = PyList_New(1);
    b->size = 1;
    return b->list ? 0 : -1;
}
static void stop(Buffer *b) { Py_CLEAR(b->list); }
static PyObject *finish(Buffer *b) {
    PyObject *item = PyList_GET_ITEM(b->list, 0);
    Py_INCREF(item);
    stop(b);
    return item;
}
";

const CALLER: &str = "\
PyObject *f(PyObject *self, PyObject *arg) {
    Buffer buffer = {NULL, 0};
    memset(&buffer, 0, sizeof buffer);
    if (start(&buffer) < 0) return NULL;
    PyList_Append(buffer.list, arg);
    return finish(&buffer);
}
";

/// The verdict with a caller that is fine, and with `more`.
fn with(more: &str) -> String {
    of(&format!("{BUFFER}{CALLER}{more}"))
}

/// The verdict where the caller has a step `more` while the struct is in use.
fn inside(more: &str) -> String {
    let caller = CALLER.replace(
        "    return finish",
        &format!("    {more}\n    return finish"),
    );
    assert_ne!(caller, CALLER);
    of(&format!("{BUFFER}{caller}"))
}

#[test]
fn the_functions_of_a_struct_on_the_stack_know_it_alone() {
    insta::assert_snapshot!(with(""), @"finish: Fresh, `b->list` is in a struct on the stack, and only its own functions get it");
}

#[test]
fn a_namesake_of_the_field_elsewhere_is_another_container() {
    let text = "PyObject *g(Object *o) { keep(o->list); return o->list; }\n";
    assert_eq!(with(text), with(""));
}

#[test]
fn a_namesake_of_the_function_for_another_struct_is_not_called() {
    let text = "typedef struct { PyObject *o; } Other;\n\
                static void stop(Other *b) { keep(b); }\n\
                void g(void) { Other other = {NULL}; stop(&other); }\n";
    assert_eq!(with(text), with(""));
    let text = "static void stop(void *b) { keep(b); }\n";
    assert_shared(&with(text));
}

#[track_caller]
fn assert_shared(verdicts: &str) {
    let shared = "finish: shared, `b->list`, a field that other threads can reach";
    assert!(verdicts.lines().any(|line| line == shared), "{verdicts}");
}

#[test]
fn a_caller_with_another_struct_counts() {
    assert_shared(&with(
        "static Buffer all;\nPyObject *g(void) { return finish(&all); }\n",
    ));
    assert_shared(&with(
        "PyObject *g(void) { static Buffer b; return finish(&b); }\n",
    ));
    assert_shared(&with(
        "PyObject *g(Object *o) { return finish(&o->buffer); }\n",
    ));
    assert_shared(&with(
        "PyObject *g(void) { return finish(PyMem_Malloc(9)); }\n",
    ));
    assert_shared(&with("PyObject *g(Buffer *b) { return finish(b); }\n"));
    assert_shared(&with(
        "static PyObject *g(Buffer *b) { b = all; return finish(b); }\n\
                         PyObject *h(void) { Buffer b = {0}; return g(&b); }\n",
    ));
}

#[test]
fn a_function_that_is_called_through_a_pointer_counts() {
    assert_shared(&with("void g(void) { on_exit(finish); }\n"));
    assert_shared(&with("PyObject *(*fn)(Buffer *) = finish;\n"));
    assert_shared(&with("void g(void) { finish ) ; }\n"));
}

#[test]
fn an_address_that_is_kept_counts() {
    assert_shared(&inside("last = &buffer;"));
    assert_shared(&inside("Buffer *p = &buffer;"));
    assert_shared(&inside("((Object *)self)->buffer = &buffer;"));
    assert_shared(&inside("register_buffer(&buffer);"));
    assert_shared(&inside("visit(arg, call, (void *)&buffer);"));
    assert_shared(&inside("((Object *)self)->hook(&buffer);"));
    assert_shared(&inside("read(&buffer.size);"));
    assert_shared(&inside("read(&buffer.list);"));
    assert_shared(&inside("return (PyObject *)&buffer;"));
}

#[test]
fn an_address_that_a_function_of_the_struct_keeps_counts() {
    let keeping = |step: &str| {
        let text = BUFFER.replace("Py_CLEAR(b->list);", step);
        assert_ne!(text, BUFFER);
        of(&format!("{text}{CALLER}"))
    };
    assert_shared(&keeping("last = b;"));
    assert_shared(&keeping("all->buffer = b;"));
    assert_shared(&keeping("b->next = b;"));
    assert_shared(&keeping("register_buffer(b);"));
    assert_shared(&keeping("all = *b;"));
    assert_shared(&keeping("*b = all;"));
    assert_shared(&keeping("parse(&b->list);"));
    assert_shared(&keeping("parse(&b);"));
    assert_shared(&keeping("use((b + 1)->size);"));
    assert_shared(&keeping("use(b[1].list);"));
    assert_shared(&keeping("__asm__(\"\" : : : \"memory\");"));
}

#[test]
fn a_copy_of_the_struct_counts() {
    assert_shared(&inside("all = buffer;"));
    assert_shared(&inside("buffer = all;"));
    assert_shared(&inside("Buffer other = buffer;"));
    assert_shared(&inside("use(buffer);"));
}

#[test]
fn a_container_that_others_have_counts() {
    assert_shared(&inside("buffer.list = arg;"));
    assert_shared(&inside("buffer.list = everything;"));
    assert_shared(&inside("buffer.list = make_list();"));
    assert_shared(&inside(
        "PyObject *l = PyList_New(0); buffer.list = l; everything = l;",
    ));
    assert_shared(&inside("everything = buffer.list;"));
    assert_shared(&inside("PyObject_CallFunction(arg, \"O\", buffer.list);"));
    assert_shared(&inside("if (arg) return buffer.list;"));
    assert_shared(&of(&format!(
        "{BUFFER}{}",
        CALLER.replace("{NULL, 0}", "{arg, 0}")
    )));
    assert_shared(&of(&format!(
        "{BUFFER}{}",
        CALLER.replace("{NULL, 0}", "{.list = arg}")
    )));
    assert_shared(&of(&format!(
        "{BUFFER}{}",
        CALLER.replace("{NULL, 0}", "all")
    )));
}

#[test]
fn a_parameter_stored_by_another_function_counts() {
    let text = "static void put(Buffer *b, PyObject *list) { b->list = list; }\n";
    let caller = CALLER.replace("PyList_Append(buffer.list, arg)", "put(&buffer, arg)");
    assert_shared(&of(&format!("{BUFFER}{text}{caller}")));
}

#[test]
fn a_member_of_a_union_may_be_the_container_under_another_name() {
    let text = BUFFER.replace(
        "PyObject *list;",
        "union { PyObject *list; PyObject *alias; };",
    );
    assert_ne!(text, BUFFER);
    assert_shared(&of(&format!("{text}{CALLER}")));
}

#[test]
fn a_struct_with_functions_of_its_own_counts() {
    let text = BUFFER.replace("Py_ssize_t size;", "Py_ssize_t size; ~Buffer();");
    assert_ne!(text, BUFFER);
    assert_shared(&of(&format!("{text}{CALLER}")));
}

#[test]
fn a_struct_that_is_declared_out_of_sight_counts() {
    let text = BUFFER.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_shared(&of(&format!("{text}\n{CALLER}")));
}
