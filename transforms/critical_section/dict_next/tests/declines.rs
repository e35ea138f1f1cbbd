//! Loops that get no section, and what to do about them.

use super::diff;

#[test]
fn a_dict_released_in_the_loop_is_declined() {
    let text = r#"
static void
names(PyObject *d)
{
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, NULL)) {
        Py_DECREF(d);
        free(NULL);
    }
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      8: `Py_DECREF` can run Python code, which may also change the dict
      by hand: release the dict after the loop (a critical section needs it until its end)
    "##);
}

#[test]
fn macros_that_leave_are_named() {
    let text = r#"
#define CHECK(x) do { if ((x) < 0) return -1; } while (0)
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        CHECK(PyUnicode_Check(key));
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: move the loop into a separate function and call that in the critical section, or iterate over a copy (`PyDict_Copy`), because the loop is left by the macro `CHECK`
    "##);
}

#[test]
fn what_a_macro_that_leaves_does_may_belong_to_the_item() {
    let loop_with = |macros: &str, body: &str| {
        diff(&format!(
            r#"
{macros}
static int
f(PyObject *d)
{{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    const char *name = NULL;

    while (PyDict_Next(d, &pos, &key, &value)) {{
        int own = PyUnicode_Check(key);
        name = PyUnicode_AsUTF8(key);
        if (value != Py_None)
            continue;
        {body}
    }}
    return 0;
}}
"#
        ))
    };
    let fail = "#define FAIL(what) do { report(what); return -1; } while (0)";
    let cases = [
        (fail, "FAIL(key);"),
        (fail, "FAIL(name);"),
        (fail, "FAIL(own);"),
        (
            "#define FAIL do { report(value); return -1; } while (0)",
            "FAIL;",
        ),
        ("#define FAIL { report(0); return -1; }", "FAIL"),
        ("#define FAIL { report(0); return -1; }", "FAIL;"),
        (
            "#define FAIL do { if (pos) break; return -1; } while (0)",
            "FAIL;",
        ),
        (
            "#define FAIL do { goto next; } while (0)",
            "FAIL; next: pos++;",
        ),
        ("#define FAIL if (pos) return -1", "FAIL;"),
        (
            "#define FAIL if (pos) return -1; else return 2",
            "pos++; FAIL;",
        ),
    ];
    let fixed = cases.map(|(macros, body)| loop_with(macros, body).contains("safe: "));
    assert_eq!(
        fixed,
        [
            false, false, false, false, false, false, false, true, false, true
        ]
    );
}

#[test]
fn loops_in_macros_are_told_at_their_definition() {
    let text = r#"
#define EACH(d) while (PyDict_Next(d, &pos, &key, NULL)) n++
static int
f(PyObject *d, PyObject *e)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int n = 0;

    EACH(d);
    EACH(e);
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    2: a dict is iterated over without its lock; another thread may change the dict meanwhile
      2: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: the call is in a macro: put the critical section into the `#define`
    "##);
}

#[test]
fn iteration_by_hand_is_declined() {
    let text = r#"
static int
f(Iter *self, PyObject *d, int n)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (PyDict_Next(self->dict, &self->pos, &key, &value))
        return 1;
    while (n--) {
        if (PyDict_Next(d, &pos, &key, &value))
            free(NULL);
    }
    PyDict_Next(d, &pos, &key, &value);
    n = PyDict_Next(d, &pos, &key, &value);
    visit(key);
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `self->dict` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `self->dict`, a field that other threads can reach; another thread can change it between two calls
      by hand: put a critical section around the call, and take `Py_NewRef` of key and value before the section ends (the position is stored outside this function)
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: write the loop as `while (PyDict_Next(…))`, or put the whole loop into a critical section (the call is not the condition of the loop)
    14: `d` is iterated over without its lock; another thread may change the dict meanwhile
      14: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: put a critical section around the call and the uses of key and value, and take `Py_NewRef` of what is needed after its end
    15: `d` is iterated over without its lock; another thread may change the dict meanwhile
      15: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: put a critical section around the call and the uses of key and value, and take `Py_NewRef` of what is needed after its end
    "##);
}

#[test]
fn jumps_into_the_loop_are_declined() {
    let text = r#"
static int
f(PyObject *d, int n)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    if (n)
        goto inside;
    while (PyDict_Next(d, &pos, &key, NULL)) {
inside:
        n++;
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    10: `d` is iterated over without its lock; another thread may change the dict meanwhile
      10: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: move the label out of the loop first (`goto inside` jumps into the loop, but nothing may jump into a critical section)
    "##);
}

#[test]
fn branches_of_the_preprocessor_around_the_head_are_declined() {
    let text = r#"
static int
f(PyObject *d, PyObject *e)
{
    Py_ssize_t pos = 0;
    int n = 0;

#ifdef OTHER
    while (PyDict_Next(e, &pos, NULL, NULL)) {
#else
    while (PyDict_Next(d, &pos, NULL, NULL)) {
#endif
        n++;
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `e` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `e`, which the caller passes; another thread can change it between two calls
      by hand: put the loop into a critical section by hand, in each branch of the `#if` (it begins or ends in an `#if`)
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: put the loop into a critical section by hand, in each branch of the `#if` (it begins or ends in an `#if`)
    "##);
}

#[test]
fn loops_that_detach_are_declined() {
    let text = r#"
static void *
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key)) {
            RELEASE_GIL();
            sleep(1);
            GET_GIL();
        }
    }
    return d;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `RELEASE_GIL` can run Python code, which may also change the dict
      by hand: iterate over a copy (`PyDict_Copy`), because `RELEASE_GIL` in the loop may detach the thread and a critical section must not end without a thread state
    "##);
}

#[test]
fn a_dict_that_the_loop_replaces_is_declined() {
    let text = "
static void
names(PyObject *d)
{
    Py_ssize_t pos = 0;
    PyObject *key;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        Py_SETREF(d, PyDict_New());
    }
}
";
    insta::assert_snapshot!(diff(text), @"
        7: `d` is iterated over without its lock; another thread may change the dict meanwhile
          7: the dict is `d`, which the caller passes; another thread can change it between two calls
          8: `Py_SETREF` can run Python code, which may also change the dict
          by hand: iterate over a copy (`PyDict_Copy`), because `d` is assigned in the loop and no single section can lock it
        ");
}

#[test]
fn two_dicts_in_one_condition() {
    let text = r"
static int
count(PyObject *a, PyObject *b)
{
    PyObject *k, *v;
    Py_ssize_t p = 0, q = 0;
    int n = 0;
    while (PyDict_Next(a, &p, &k, &v) && PyDict_Next(b, &q, &k, &v))
        n++;
    return n;
}
";
    insta::assert_snapshot!(diff(text), @"
        8: `a` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `a`, which the caller passes; another thread can change it between two calls
          by hand: put the other call of `PyDict_Next` in the same condition in its own loop
        8: `b` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `b`, which the caller passes; another thread can change it between two calls
          by hand: put the other call of `PyDict_Next` in the same condition in its own loop
        ");
}

/// A loop that does `body`, in a file with an `other` function and those that take a lock.
fn with_locks(other: &str, body: &str) -> String {
    diff(&format!(
        "
static PyThread_type_lock lock;
{other}
static void enter(void) {{ PyThread_acquire_lock(lock, WAIT_LOCK); }}
static void enter_freely(void)
{{
    if (!PyThread_acquire_lock(lock, NOWAIT_LOCK)) {{
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }}
}}
static int
f(PyObject *d)
{{
    PyObject *key;
    Py_ssize_t pos = 0;
    int seen = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {{
        {body}
        seen += PyUnicode_Check(key);
    }}
    return seen;
}}
"
    ))
}

#[test]
fn no_lock_of_c_is_waited_for_in_a_section() {
    let put = "static void put(PyObject *d)
{ pthread_mutex_lock(&mutex); PyDict_Clear(d); pthread_mutex_unlock(&mutex); }";
    let said = |body: &str| with_locks(put, body);
    for body in [
        "PyThread_acquire_lock(lock, WAIT_LOCK);",
        "pthread_mutex_lock(&mutex);",
        "mtx_lock(&mutex);",
        "sem_wait(&sem);",
        "EnterCriticalSection(&section);",
        "uv_mutex_lock(&mutex);",
        "enter();",
    ] {
        let said = said(body);
        assert!(!said.contains("SECTION(d);"), "{said}");
        assert!(
            said.contains("_copy") || said.contains("waits for the dict"),
            "{said}"
        );
    }
    for body in [
        "PyThread_acquire_lock(lock, NOWAIT_LOCK);",
        "pthread_mutex_trylock(&mutex); pthread_mutex_unlock(&mutex);",
        "pthread_mutex_unlock(&mutex);",
        "InterlockedIncrement(&seen);",
        "enter_freely();",
        "PyMutex_Lock(&mutex); PyMutex_Unlock(&mutex);",
    ] {
        let said = said(body);
        assert!(said.contains("safe: iterate over `d`"), "{body}: {said}");
    }
}

#[test]
fn a_lock_that_nobody_holds_in_python_is_waited_for() {
    let count = "static void count(void)
{ pthread_mutex_lock(&mutex); n++; pthread_mutex_unlock(&mutex); }";
    let counted = with_locks(count, "count();");
    assert!(counted.contains("safe: iterate over `d`"), "{counted}");
    let left = with_locks(count, "sem_wait(&sem);");
    assert!(!left.contains("SECTION(d);"), "{left}");
}

#[test]
fn a_jump_of_the_c_library_leaves_no_section_open() {
    let said = |body: &str| {
        diff(&format!(
            "
static void die(Ctx *ctx) {{ ctx->n = 1; longjmp(ctx->env, 1); }}
static int f(Ctx *ctx, PyObject *d)
{{
    PyObject *key;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {{
        if (!PyUnicode_Check(key))
            {body}
    }}
    return 0;
}}
"
        ))
    };
    for body in ["die(ctx);", "siglongjmp(ctx->env, 1);"] {
        let said = said(body);
        assert!(
            said.contains("by hand") && said.contains("longjmp"),
            "{said}"
        );
    }
    assert!(said("return 1;").contains("safe: iterate over `d`"));
}

#[test]
fn no_function_is_jumped_back_into() {
    let result = diff(
        "
static int f(Ctx *ctx, PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    if (setjmp(ctx->env))
        return -1;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            return 1;
    }
    return 0;
}
",
    );
    let doubt = "nothing in the loop jumps back to `setjmp`";
    assert!(
        result.contains("review") && result.contains(doubt),
        "{result}"
    );
}

#[test]
fn no_section_comes_into_what_a_collector_calls() {
    let said = |also: &str| {
        diff(&format!(
            "
typedef int (*visitor)(PyObject *, void *);
typedef struct {{ PyObject_HEAD PyObject *dict; }} Obj;
static int visit_all(PyObject *d, visitor visit, void *arg)
{{
    PyObject *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        visit(value, arg);
    return 0;
}}
static int Obj_traverse(Obj *self, visitproc visit, void *arg)
{{
    return visit_all(self->dict, visit, arg);
}}
static PyTypeObject Obj_Type = {{ .tp_traverse = (traverseproc)Obj_traverse }};
{also}
"
        ))
    };
    let only = said("");
    assert!(only.contains("collector stops all other threads"), "{only}");
    let also = said("int each(PyObject *d, visitor f) { return visit_all(d, f, NULL); }");
    assert!(!also.contains("_SECTION("), "{also}");
    assert!(
        also.contains("by hand: the garbage collector may call"),
        "{also}"
    );
}
