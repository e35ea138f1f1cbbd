//! Structs of a caller that a function fills with what it looks up.

use crate::testing;
use crate::transforms::ALL;

const FILL: &str = r#"
typedef struct { PyObject *tag, *name; int n; } Filter;
typedef struct { int n; Filter filter; } Args;

static int fill(PyObject *dict, Filter *filter)
{
    PyObject *v = PyDict_GetItemString(dict, "tag");
    if (v != NULL) {
        if (!PyLong_Check(v)) {
            filter->tag = NULL;
            return -1;
        }
        filter->tag = v;
        filter->n++;
    }
    v = PyDict_GetItemString(dict, "name");
    if (v != NULL)
        filter->name = v;
    return 0;
}

static int check(Filter *filter) { return filter->n; }

static void run(Args *args) { show(args->filter.tag, check(&args->filter)); }
"#;

/// What is said where nobody can own what is stored.
const DECLINED: &str = "decide who owns the reference";

/// The only caller of `fill`.
const CALLER: &str = "
static PyObject *f(PyObject *dict)
{
    Args args;
    memset(&args, 0, sizeof(Args));
    if (fill(dict, &args.filter) < 0)
        return NULL;
    run(&args);
    Py_RETURN_NONE;
}
";

/// The result for callers behind [`FILL`].
fn with_callers(callers: &str) -> String {
    testing::run(ALL, &(FILL.trim_start().to_owned() + callers))
}

#[test]
fn the_caller_releases_the_fields_where_it_leaves() {
    insta::assert_snapshot!(with_callers(CALLER), @r#"
        @@
         static int fill(PyObject *dict, Filter *filter)
         {
        -    PyObject *v = PyDict_GetItemString(dict, "tag");
        +    PyObject *v;
        +    if (PyDict_GetItemStringRef(dict, "tag", &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v != NULL) {
                 if (!PyLong_Check(v)) {
        +            Py_DECREF(v);
                     filter->tag = NULL;
                     return -1;
        @@
                 filter->n++;
             }
        -    v = PyDict_GetItemString(dict, "name");
        +    if (PyDict_GetItemStringRef(dict, "name", &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v != NULL)
                 filter->name = v;
        @@
             Args args;
             memset(&args, 0, sizeof(Args));
        -    if (fill(dict, &args.filter) < 0)
        +    if (fill(dict, &args.filter) < 0) {
        +        Py_XDECREF(args.filter.tag);
        +        Py_XDECREF(args.filter.name);
                 return NULL;
        +    }
             run(&args);
        +    Py_XDECREF(args.filter.tag);
        +    Py_XDECREF(args.filter.name);
             Py_RETURN_NONE;
         }
        "#);
}

#[test]
fn a_struct_that_is_declared_empty() {
    insta::assert_snapshot!(with_callers("
static int g(PyObject *dict)
{
    Filter filter = {NULL};
    int result;
    if (dict == NULL)
        return -1;
    fill(dict, &filter);
    result = check(&filter);
    return result;
}
"), @r#"
        @@
         static int fill(PyObject *dict, Filter *filter)
         {
        -    PyObject *v = PyDict_GetItemString(dict, "tag");
        +    PyObject *v;
        +    if (PyDict_GetItemStringRef(dict, "tag", &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v != NULL) {
                 if (!PyLong_Check(v)) {
        +            Py_DECREF(v);
                     filter->tag = NULL;
                     return -1;
        @@
                 filter->n++;
             }
        -    v = PyDict_GetItemString(dict, "name");
        +    if (PyDict_GetItemStringRef(dict, "name", &v) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (v != NULL)
                 filter->name = v;
        @@
             fill(dict, &filter);
             result = check(&filter);
        +    Py_XDECREF(filter.tag);
        +    Py_XDECREF(filter.name);
             return result;
         }
        "#);
}

#[test]
fn a_struct_that_outlives_the_caller() {
    insta::assert_snapshot!(with_callers("
static int f(Args *args, PyObject *dict)
{
    return fill(dict, &args->filter);
}
"), @"
        6: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        15: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn a_struct_that_may_hold_something_else() {
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    Filter filter;
    return fill(dict, &filter);
}
"), @"
        6: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        15: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn fields_that_are_counted_elsewhere() {
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    Filter filter = {NULL};
    fill(dict, &filter);
    Py_XINCREF(filter.tag);
    return 0;
}
"), @"
        6: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        15: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn a_struct_that_is_needed_for_what_is_returned_or_out_of_scope() {
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    Filter filter = {NULL};
    fill(dict, &filter);
    return use(filter.tag);
}
"), @"
        6: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        15: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
    insta::assert_snapshot!(with_callers("
static int f(PyObject *dict)
{
    {
        Filter filter = {NULL};
        fill(dict, &filter);
    }
    return 0;
}
"), @"
        6: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        15: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

/// Whether the fields own what they get if this code is in front of the only caller, whose call of
/// `run` is another one.
#[track_caller]
fn check_with(more: &str, call: &str, is_changed: bool) {
    let caller = CALLER.replace("run(&args);", call);
    let result = with_callers(&(more.to_owned() + &caller));
    assert!(!result.contains("6: review"), "{result}");
    let is_declined = result.contains(DECLINED);
    assert_eq!(is_declined, !is_changed, "{result}");
    let is_released = result.contains("+    Py_XDECREF(args.filter.tag);\n");
    assert_eq!(is_released, is_changed, "{result}");
}

#[test]
fn the_address_is_followed_through_functions_and_structs() {
    let walk = "
typedef struct { Args *args; int tag; } State;
static int each(int item, void *arg)
{
    State *state = (State *)arg;
    Filter copy = state->args->filter;
    state->tag = item;
    return copy.tag != NULL;
}
static int other(int item, void *arg) { return forget(arg, item); }
static void walk(int (*function)(int, void *), void *arg) { function(1, arg); }
static void start(void *arg)
{
    State state;
    state.args = (Args *)arg;
    walk(each, &state);
}
static void stop(int *n) { walk(other, n); }
";
    check_with(walk, "start(&args);", true);
    check_with(walk, "walk(each, &args);", false);
    check_with(walk, "walk(other, &args);", false);
    check_with(walk, "walk(unknown, &args);", false);
    check_with(
        &walk.replace("state->tag = item", "state->args->filter.tag = NULL"),
        "start(&args);",
        false,
    );
    check_with(
        &walk.replace("state->tag = item", "forget(state->args)"),
        "start(&args);",
        false,
    );
    check_with(
        &walk.replace("state->tag = item", "function = other"),
        "start(&args);",
        true,
    );
    check_with(
        &walk.replace("{ function(1", "{ function = other; function(1"),
        "start(&args);",
        false,
    );
    let kept = "static Args *last; static void keep(Args *args) { last = args; }";
    check_with(kept, "keep(&args);", false);
    check_with(
        "static Args *same(Args *args) { return args; }",
        "run(same(&args));",
        false,
    );
}

#[test]
fn memory_that_is_written_as_a_whole() {
    check_with("", "memset(&args.filter, 0, sizeof(Filter));", false);
    check_with("", "count(&args.n); run(&args);", true);
    check_with("", "memcpy(&args, &empty, sizeof(args));", false);
    check_with("", "args = empty;", false);
    check_with("", "void *p = &args; memset(p, 0, sizeof(args));", false);
    check_with("", "char *p = (char *)&args; p[8] = 0;", false);
    check_with("", "Args *p = &args; *p = empty;", false);
    check_with(
        "",
        "PyObject **p = (PyObject **)&args.filter; Py_CLEAR(p[0]);",
        false,
    );
    check_with("", "unseen(&args);", false);
    let wipe = "static void wipe(void *p, size_t n) { memset(p, 0, n); }";
    check_with(wipe, "wipe(&args, sizeof(args));", false);
    check_with(
        wipe,
        "Args other; wipe(&other, sizeof(other)); run(&args);",
        true,
    );
    let outer = "typedef struct { Args args; int m; } Outer;
static void reset(Args *args) { Outer *outer = (Outer *)args; outer->args = empty; }";
    check_with(outer, "reset(&args);", false);
    let beside = "static void wipe(Args *args) { clear_around(&args->filter.n); }";
    check_with(beside, "wipe(&args);", true);
    let node = "typedef struct { int next; } Node;
typedef struct { Node node; Filter filter; } Linked;
static int h(PyObject *dict)
{
    Linked linked = {{0}};
    fill(dict, &linked.filter);
    link(&linked.node);
    return 0;
}";
    check_with(node, "run(&args);", false);
    let head = "typedef struct { int n; PyObject *first; } Head;
static void drop(Args *args) { ((Head *)args)->first = NULL; }";
    check_with(head, "drop(&args);", false);
}

#[test]
fn a_thread_that_is_detached_at_the_end() {
    check_with("", "run(&args); PyGILState_Release(state);", false);
    let leave = "static void leave(int state) { PyGILState_Release(state); }";
    check_with(leave, "run(&args); leave(1);", false);
    check_with(
        "",
        "PyThreadState *save = PyEval_SaveThread(); run(&args);",
        false,
    );
    check_with(leave, "hooks->leave(1); run(&args);", false);
    let pause = "static void pause(void) { Py_BEGIN_ALLOW_THREADS sleep(1); Py_END_ALLOW_THREADS }";
    check_with(pause, "run(&args);", true);
    check_with(pause, "pause(); run(&args);", false);
}

#[test]
fn counts_that_the_function_or_others_look_after() {
    check_with("", "if (Py_REFCNT(dict) == 1) run(&args);", false);
    check_with(
        "static void end(Args *args) { PyObject *tag = args->filter.tag; Py_XDECREF(tag); }",
        "end(&args);",
        true,
    );
    let owning = FILL.replace("filter->name = v;", "Py_INCREF(v), filter->name = v;");
    let result = testing::run(ALL, &(owning + CALLER));
    assert!(!result.starts_with("@@"), "{result}");
}

#[test]
fn members_that_share_their_memory() {
    let shared =
        "typedef struct { union { PyObject *tag; void *raw; }; PyObject *name; int n; } Filter;";
    let text = FILL.replace(
        "typedef struct { PyObject *tag, *name; int n; } Filter;",
        shared,
    );
    assert_ne!(text, FILL);
    let result = testing::run(ALL, &(text + CALLER));
    assert!(!result.starts_with("@@"), "{result}");
}
