//! Exits that leave out what the function does where it leaves otherwise: they ask for a review.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::{all, asks_for_state_only, findings, object};

#[test]
fn what_the_next_exit_ends() {
    insta::assert_snapshot!(object(
        r#"
    struct context context;
    context_init(&context);
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long number = PyLong_AsLong(item);
        if (number == -1 && PyErr_Occurred()) {
            context_drop(&context);
            return NULL;
        }
        feed(&context, number);
    }
    context_drop(&context);
    return PyList_New(0);
"#
    ), @"review in `f`, `context_drop(&context)` (line 11) is not needed if the item no longer exists");
}

#[test]
fn what_the_only_way_out_ends() {
    insta::assert_snapshot!(object(
        r#"
    struct context context;
    context_init(&context);
    print(PyList_GET_ITEM(list, i));
    context_drop(&context);
    return PyList_New(0);
"#
    ), @"review in `f`, `context_drop(&context)` (line 8) is not needed if the item no longer exists");
}

#[test]
fn what_the_end_of_the_loop_reaches() {
    insta::assert_snapshot!(object(
        r#"
    struct context context;
    context_init(&context);
    for (i = 0; i < PyList_GET_SIZE(list); i++)
        print(PyList_GET_ITEM(list, i));
    context_drop(&context);
    return PyList_New(0);
"#
    ), @"safe");
}

#[test]
fn what_is_ended_by_a_call_that_is_asked() {
    let said = |begin: &str, end: &str| {
        object(&format!(
            "PyObject *v; {begin} v = PyObject_Repr(PyList_GET_ITEM(list, 0)); {end} return v;"
        ))
    };
    let parsed = "PyObject *d; if (!PyArg_ParseTuple(key, \"O\", &d)) return NULL; \
        if (PyDict_SetItemString(d, \"busy\", Py_True) < 0) return NULL;";
    let all = [
        ("int fd = open_it();", "if (close(fd) < 0) Py_CLEAR(v);"),
        (
            "int fd = open_it();",
            "if (fd >= 0 && close(fd) < 0) Py_CLEAR(v);",
        ),
        ("void *p = map_it(40);", "if (unmap_it(p, 40)) Py_CLEAR(v);"),
        (
            "struct part *p; if (make(&p) < 0) return NULL;",
            "if (drop(&p) < 0) Py_CLEAR(v);",
        ),
        (
            "PyObject *file = PyObject_CallMethod(self, \"open\", NULL); if (!file) return NULL;",
            "Py_XDECREF(PyObject_CallMethod(file, \"close\", NULL)); Py_DECREF(file);",
        ),
        (
            "if (PyList_Append(dict, key) < 0) return NULL;",
            "if (PyList_SetSlice(dict, 0, 1, NULL) < 0) Py_CLEAR(v);",
        ),
        (
            "if (PyObject_SetAttrString(self, \"busy\", Py_True) < 0) return NULL;",
            "if (PyObject_SetAttrString(self, \"busy\", Py_False) < 0) Py_CLEAR(v);",
        ),
        (
            parsed,
            "if (PyDict_DelItemString(d, \"busy\") < 0) Py_CLEAR(v);",
        ),
        ("int n = count(self);", "Py_XSETREF(v, made_of(v, n));"),
        (
            "void *p = PyCapsule_GetPointer(key, NULL);",
            "if (apply(p) < 0) Py_CLEAR(v);",
        ),
    ];
    let all: Vec<String> = all.iter().map(|(begin, end)| said(begin, end)).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
        review in `f`, `close(fd)` (line 4) is not needed if the item no longer exists
        review in `f`, `close(fd)` (line 4) is not needed if the item no longer exists
        review in `f`, `unmap_it(p, 40)` (line 4) is not needed if the item no longer exists
        review in `f`, `drop(&p)` (line 4) is not needed if the item no longer exists
        review in `f`, `PyObject_CallMethod(file, "close", NULL)` (line 4) is not needed if the item no longer exists
        review in `f`, `PyList_SetSlice(dict, 0, 1, NULL)` (line 4) is not needed if the item no longer exists
        review in `f`, `PyObject_SetAttrString(self, "busy", Py_False)` (line 4) is not needed if the item no longer exists
        review in `f`, `PyDict_DelItemString(d, "busy")` (line 4) is not needed if the item no longer exists
        review in `f`, `count(self)` (line 4) need not be undone at the new error exit (the function could not leave here before)
        safe
        "#);
}

#[test]
fn what_is_set_back_in_other_words() {
    let functions = "
static int used;
static void table_clear(void) { while (used > 0) Py_DECREF(table[--used]); }
static int table_put(PyObject *v) { if (used == 8) return -1; table[used++] = v; return 0; }
";
    let said = |begin: &str, end: &str| {
        all(&format!(
            "{functions}
static PyObject *f(PyObject *self, PyObject *list, PyObject *key)
{{ PyObject *v;
{begin}
v = PyObject_Repr(PyList_GET_ITEM(list, 0));
{end}
return v; }}
"
        ))
    };
    let all = [
        ("struct frame f; f.outer = top; top = &f;", "top = f.outer;"),
        ("ses.flags ^= 4;", "ses.flags ^= 4;"),
        ("int old = errno; errno = 0;", "errno = old;"),
        ("errno = 0;", "errno = 0;"),
        (
            "long old = ftell(file); fseek(file, 0, 2);",
            "if (fseek(file, old, 0) < 0) Py_CLEAR(v);",
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
            "say(self, \"(\");",
            "if (say(self, \")\") < 0) Py_CLEAR(v);",
        ),
        (
            "PyEval_SetTrace(tracer, key);",
            "PyEval_SetTrace(NULL, NULL);",
        ),
        ("if (table_put(key) < 0) return NULL;", "table_clear();"),
    ];
    let all: Vec<String> = all.iter().map(|(begin, end)| said(begin, end)).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    review in `f`, `top = f.outer` (line 10) is not needed if the item no longer exists
    review in `f`, `ses.flags ^= 4` (line 10) is not needed if the item no longer exists
    review in `f`, `errno = old` (line 10) is not needed if the item no longer exists
    safe
    review in `f`, `fseek(file, old, 0)` (line 10) is not needed if the item no longer exists
    review in `f`, `set_state(old, NULL)` (line 10) is not needed if the item no longer exists
    review in `f`, `sqlite3_exec(db, "COMMIT")` (line 10) is not needed if the item no longer exists
    review in `f`, `say(self, ")")` (line 10) is not needed if the item no longer exists
    review in `f`, `PyEval_SetTrace(NULL, NULL)` (line 10) is not needed if the item no longer exists
    review in `f`, `table_clear()` (line 10) is not needed if the item no longer exists
    "#);
}

/// A loop that stands in a `switch`, up to `bound`, behind `told`.
fn counted(told: &str, bound: &str) -> String {
    all(&format!(
        "
static void fill(PyObject *list, struct numbers *out, int kind)
{{
    int i, n = PyList_GET_SIZE(list);
    {told}
    for (i = 0; i < {bound}; i++) {{
        switch (kind) {{
        case 1: {{
            PyObject *item = PyList_GET_ITEM(list, i);
            out->numbers[i] = PyFloat_AS_DOUBLE(item);
            break;
        }}
        }}
    }}
}}
"
    ))
}

#[test]
fn what_counts_the_elements_of_a_loop() {
    insta::assert_snapshot!(counted("out->count = n;", "out->count"), @"review in `fill`, `out->count = n` (line 5) need not be undone at the new error exit (the function could not leave here before)");
    insta::assert_snapshot!(counted("out->count = n;", "n"), @"review in `fill`, `out->count = n` (line 5) need not be undone at the new error exit (the function could not leave here before)");
    assert!(asks_for_state_only(&counted("out->kind = kind;", "n")));
}

#[test]
fn what_a_pointer_leads_to() {
    insta::assert_snapshot!(all(
        r#"
static void *
f(struct calls **env, PyObject *list)
{
    Py_ssize_t i;
    if (is_closed(env)) {
        PyErr_SetString(PyExc_ValueError, "closed");
        return NULL;
    }
    if ((*env)->push_frame(env, 16) != 0)
        return NULL;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (write_item(env, item) < 0 && PyErr_Occurred())
            return (*env)->pop_frame(env, NULL);
    }
    return (*env)->pop_frame(env, env);
}
"#
    ), @"review in `f`, `(*env)->pop_frame(env, NULL)` (line 15) is not needed if the item no longer exists; in `f`, `(*env)->pop_frame(env, env)` (line 17) is not needed if the item no longer exists");
}

#[test]
fn what_python_undoes() {
    insta::assert_snapshot!(object(
        r#"
    if (PySet_Add(dict, key) < 0)
        return NULL;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (PyObject_SetItem(self, key, item) < 0) {
            PySet_Discard(dict, key);
            return NULL;
        }
    }
    Py_RETURN_NONE;
"#
    ), @"review in `f`, `PySet_Discard(dict, key)` (line 10) is not needed if the item no longer exists");
}

#[test]
fn what_was_set_before() {
    insta::assert_snapshot!(object(
        r#"
    int before = mode;
    mode = 3;
    print(PyList_GET_ITEM(list, i));
    mode = before;
    return PyList_New(0);
"#
    ), @"review in `f`, `mode = before` (line 8) is not needed if the item no longer exists");
}

const COUNTED: &str = r#"
static int fill(PyObject *list, char **names, int *count) {
    for (int i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (PyObject_SetItem(list, item, item) < 0) {
            *count = i;
            return -1;
        }
        names[i] = strdup("name");
    }
    *count = 8;
    return 0;
}
"#;

#[test]
fn what_the_caller_counts_by() {
    insta::assert_snapshot!(all(COUNTED), @"review in `fill`, `*count = i` (line 6) is not needed if the item no longer exists");
}

#[test]
fn what_the_caller_gets() {
    insta::assert_snapshot!(all(
        r#"
static int load(PyObject *list, double **result) {
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    double *values = malloc(n);
    if (values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *result = values;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        values[i] = PyFloat_Check(item) ? PyFloat_AS_DOUBLE(item) : 0;
    }
    return 0;
}
"#
    ), @"review in `load`, `*result = values` (line 9) need not be undone at the new error exit (the function could not leave here before)");
}

#[test]
fn what_begins_without_an_argument_and_may_fail() {
    insta::assert_snapshot!(object(
        r#"
    int rc;
    PyObject *item;
    if (push_scope() < 0)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    rc = use(item);
    pop_scope();
    if (rc < 0)
        return NULL;
    return PyLong_FromLong(rc);
"#
    ), @"review in `f`, `pop_scope()` (line 11) is not needed if the item no longer exists");
}

#[test]
fn an_element_that_is_not_counted_yet() {
    insta::assert_snapshot!(object(
        r#"
    char *names[8];
    int used = 0;
    for (i = 0; i < 8; i++) {
        PyObject *item;
        names[used] = strdup("name");
        if (names[used] == NULL) {
            PyErr_NoMemory();
            goto fail;
        }
        item = PyList_GET_ITEM(list, i);
        print(item);
        used++;
    }
    return publish(names, used);
fail:
    while (used > 0)
        free(names[--used]);
    return NULL;
"#
    ), @"by hand");
}

/// The caller may look at what the function sets before it fails first.
#[test]
fn what_the_caller_finds_unset() {
    let of = |before: &str, between: &str, behind: &str| {
        all(&format!(
            "\nstatic int f(PyObject *list, PyObject **out, PyObject *key)\n{{
    PyObject *item;
    {before}
    item = PyList_GET_ITEM(list, 0);
    {between}
    if (PyObject_IsTrue(item) < 0)
        return -1;
    {behind}
    *out = Py_NewRef(item);
    return 0;\n}}\n"
        ))
    };
    insta::assert_snapshot!(of("", "*out = NULL;", ""), @"review in `f`, what `*out = NULL` (line 7) sets need not be set if the item no longer exists");
    assert_eq!(of("*out = NULL;", "", ""), "safe");
    assert_eq!(of("", "", "*out = NULL;"), "safe");
    // It fails without that already.
    let fails = "if (PyObject_IsTrue(key) < 0) return -1;";
    assert_eq!(of(fails, "*out = NULL;", ""), "safe");
}

/// Who gets what from whom goes round in circles.
#[test]
fn two_rows_change_places() {
    let result = object(
        "char *row = ((Foo *)self)->row, *other = ((Foo *)self)->other;
         Py_ssize_t n = PyList_GET_SIZE(list);
         for (i = 0; i < n; i++) {
             PyObject *item = PyList_GET_ITEM(list, i);
             char *next = row;
             print(item);
             row = other;
             other = next;
             ((Foo *)self)->rows[i] = row;
         }
         return PyList_New(0);",
    );
    assert!(asks_for_state_only(&result), "{result}");
}

/// What a function does is told by its body, and by its name only where that is not seen.
#[test]
fn what_names_hide() {
    let end = |functions: &str, begin: &str, end: &str| {
        all(&format!(
            "
{functions}
static PyObject *f(PyObject *self, PyObject *list) {{
    struct context context;
    PyObject *item, *res;
    {begin};
    item = PyList_GET_ITEM(list, 0);
    res = PyObject_Str(item);
    if (res == NULL) {{
        {end};
        return NULL;
    }}
    {end};
    return res;
}}
"
        ))
    };
    let body = "static void use(Foo *s) { PyMutex_Lock(&s->mutex); }
        static void done_with(Foo *s) { PyMutex_Unlock(&s->mutex); }
        static void take(Foo *s) { PyThread_acquire_lock(s->lock, 1); }
        static void give(Foo *s) { PyThread_release_lock(s->lock); }
        static void mark(Foo *s) { s->busy++; }
        static void traceback_add(Foo *s) { s->busy--; }
        static void keep(Foo *s) { s->state = PyList_New(0); }
        static void report_error(Foo *s) { Py_CLEAR(s->state); }
        static void forget(Foo *s) { PyDict_Clear(s->state); }
        static void unmark(Foo *s) { PyObject *d = s->dict; PyDict_SetItemString(d, \"busy\", Py_False); }
        static void trim(Foo *s) { PyList_SetSlice(s->state, 0, 1, NULL); }
        static void conn_error(Foo *s) { Py_XDECREF(PyObject_CallMethod(s->state, \"rollback\", NULL)); }
        static void io_error(Foo *s) { if (close(s->fd) < 0) puts(\"not closed\"); }
        static void start(Foo *s) { run(s); }";
    for (begin, last) in [
        ("use(self)", "done_with(self)"),
        ("take(self)", "give(self)"),
        ("mark(self)", "traceback_add(self)"),
        ("keep(self)", "report_error(self)"),
        ("keep(self)", "forget(self)"),
        ("start(self)", "unmark(self)"),
        ("keep(self)", "trim(self)"),
        ("start(self)", "conn_error(self)"),
        ("start(self)", "io_error(self)"),
        ("g_open(&context)", "g_clear_error(&context)"),
        ("addrs_init(&context)", "traceback_addrs_wipe(&context)"),
        ("strbuf_init(&context)", "strbuf_wipe(&context)"),
    ] {
        let result = end(body, begin, last);
        assert!(result.starts_with("review"), "{last}: {result}");
    }
}

#[test]
fn what_a_body_tells() {
    let sample = |end: &str| {
        all(&format!(
            "
static void add_traceback(PyObject *self, const char *text, ...) {{
    PyObject *type, *value, *tb;
    PyFrameObject *frame;
    va_list args;
    va_start(args, text);
    PyErr_Fetch(&type, &value, &tb);
    frame = PyFrame_New(PyThreadState_Get(), NULL, NULL, NULL);
    frame->f_lineno = 7;
    {end}
    va_end(args);
    PyTraceBack_Here(frame);
}}
static PyObject *f(PyObject *self, PyObject *list) {{
    PyObject *res, *item = PyList_GET_ITEM(list, 0);
    res = PyObject_Str(item);
    if (res == NULL) {{
        add_traceback(self, \"f\");
        return NULL;
    }}
    return res;
}}
"
        ))
    };
    assert_eq!(sample("PyErr_Restore(type, value, tb);"), "safe");
    let other = sample("((Foo *)self)->busy--; PyErr_Restore(type, value, tb);");
    assert!(other.starts_with("review"), "{other}");
}

/// What is written into an object is the caller's business only where the caller has the object.
#[test]
fn what_an_exception_carries() {
    let sample = |made: &str| {
        all(&format!(
            "
#define PyFrame_New(...) ({{ void *res = NULL; if (wanted) res = PyFrame_New(__VA_ARGS__); res; }})
static Foo *error_from(Foo *self, int code) {{
    Foo *error = {made};
    if (!error)
        return NULL;
    error->code = code;
    return error;
}}
static void raise_code(Foo *self, int code) {{
    Foo *error = error_from(self, code);
    if (!error)
        return;
    PyErr_SetObject(PyExc_ValueError, (PyObject *)error);
    Py_DECREF(error);
}}
static PyObject *f(Foo *self, PyObject *list) {{
    PyObject *item, *res;
    item = PyList_GET_ITEM(list, 0);
    res = PyObject_Str(item);
    if (res == NULL) {{
        raise_code(self, 3);
        return NULL;
    }}
    return res;
}}
"
        ))
    };
    for made in [
        "(Foo *)ErrorType.tp_alloc(&ErrorType, 0)",
        "PyObject_New(Foo, &ErrorType)",
        "PyFrame_New(PyThreadState_Get(), NULL, NULL, NULL)",
    ] {
        assert_eq!(sample(made), "safe", "{made}");
    }
    let known = sample("(Foo *)Py_NewRef(self)");
    assert!(known.starts_with("review"), "{known}");
}

/// Nothing of this has begun at the lookup, or it is no end of anything.
#[test]
fn nothing_is_left_out() {
    let samples = [
        // Begun and ended in each pass.
        "struct context context;
         long number;
         PyObject *item = PyList_GET_ITEM(list, i);
         context_init(&context);
         number = PyLong_AsLong(item);
         if (number == -1 && PyErr_Occurred()) { context_drop(&context); return NULL; }
         context_drop(&context);",
        "PyObject *item = PyList_GET_ITEM(list, i);
         ((Foo *)self)->busy = 1;
         if (PyObject_SetItem(dict, key, item) < 0) { ((Foo *)self)->busy = 0; return NULL; }
         ((Foo *)self)->busy = 0;",
        // It only tells of the error.
        "PyObject *item = PyList_GET_ITEM(list, i);
         if (PyObject_SetItem(dict, key, item) < 0) {
             fprintf(stderr, \"no item\"); PyErr_Format(PyExc_ValueError, \"%R\", self); return NULL;
         }",
        // It speaks of the item.
        "PyObject *item = PyList_GET_ITEM(list, i);
         if (PyObject_SetItem(dict, key, item) < 0) { forget(self, item); return NULL; }",
    ];
    for sample in samples {
        let result = object(&format!(
            "for (i = 0; i < PyList_GET_SIZE(list); i++) {{\n{sample}\n}}\nreturn PyList_New(0);"
        ));
        assert!(asks_for_state_only(&result), "{sample}: {result}");
    }
}

/// The ways in which a function may undo the same where it fails.
#[test]
fn what_other_exits_do_in_passing() {
    let exits = [
        "return context_lost(&context);",
        "return context_drop(&context), NULL;",
        "{ context_drop(&context); break; }",
        "{ (void)context_drop(&context); goto fail; }",
    ];
    for exit in exits {
        let result = object(&format!(
            "struct context context;
             Py_ssize_t n = PyList_GET_SIZE(list);
             context_init(&context);
             for (i = 0; i < n; i++) {{
                 PyObject *item = PyList_GET_ITEM(list, i);
                 long number = PyLong_AsLong(item);
                 if (number == -1 && PyErr_Occurred())
                     {exit}
                 feed(&context, number);
             }}
             if (PyErr_Occurred())
                 return NULL;
             context_drop(&context);
             return PyList_New(0);
             fail:
             return NULL;"
        ));
        assert!(
            result.starts_with("review in `f`, `context_"),
            "{exit}: {result}"
        );
    }
}

/// Exits that macros leave by, and what these undo.
#[test]
fn what_macros_undo() {
    let macros = "
        static int depth;
        #define ENTER() do { depth++; } while (0)
        #define LEAVE() do { depth--; } while (0)
        #define FAIL() do { LEAVE(); return NULL; } while (0)
        static PyObject *";
    let looped = all(&format!(
        "{macros}f(PyObject *self, PyObject *list)
        {{
            Py_ssize_t i;
            ENTER();
            for (i = 0; i < PyList_GET_SIZE(list); i++) {{
                PyObject *text = PyObject_Str(PyList_GET_ITEM(list, i));
                if (!text)
                    FAIL();
                Py_DECREF(text);
            }}
            LEAVE();
            return PyList_New(0);
        }}\n"
    ));
    assert_eq!(
        looped,
        "review in `f`, `depth --` is not needed if the item no longer exists"
    );
    let once = all(&format!(
        "{macros}f(PyObject *self, PyObject *args)
        {{
            PyObject *list, *text;
            if (!PyArg_ParseTuple(args, \"O\", &list)) return NULL;
            ENTER();
            text = PyObject_Str(PyList_GET_ITEM(list, 0));
            if (!text)
                FAIL();
            LEAVE();
            return text;
        }}\n"
    ));
    assert_eq!(once, looped);
}

#[test]
fn an_output_that_others_clear() {
    insta::assert_snapshot!(all(
        "
static int f(PyObject *list, PyObject **out)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    int stage = 0;
    *out = PyList_New(0);
    if (!*out) return -1;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        PyObject *text = PyObject_Str(item);
        if (!text) { stage = 2; goto fail; }
        Py_DECREF(text);
    }
    return 0;
fail:
    Py_CLEAR(*out);
    return -stage;
}
"
    ), @"review in `f`, `Py_CLEAR(*out)` (line 16) is not needed if the item no longer exists");
}

#[test]
fn an_exception_put_aside() {
    let aside = |take: &str, give: &str| {
        object(&format!(
            "PyObject *type, *kept, *trace, *made;
             {take}
             for (i = 0; i < PyList_GET_SIZE(list); i++) {{
                 PyObject *item = PyList_GET_ITEM(list, i);
                 made = PyObject_CallNoArgs(item);
                 if (!made) {{ PyErr_Clear(); continue; }}
                 Py_DECREF(made);
             }}
             {give}
             return PyList_New(0);"
        ))
    };
    let object = aside(
        "kept = PyErr_GetRaisedException();",
        "PyErr_SetRaisedException(kept);",
    );
    // The loop ends, and the exception is given back behind it.
    assert_eq!(object, "safe");
    let parts = aside(
        "PyErr_Fetch(&type, &kept, &trace);",
        "PyErr_Restore(type, kept, trace);",
    );
    assert_eq!(parts, "safe");
}

/// A method that moves the memory of its object, and then reads numbers out of a list.
fn moves(tell: &str, more: &str) -> String {
    all(&format!(
        r#"
typedef struct {{ double *data; }} Stream;
typedef struct {{ PyObject_HEAD double *data; int size; Stream *stream; }} Table;
static void set_data(Stream *stream, double *data) {{ stream->data = data; }}
static int find(Stream *stream, double *data) {{ return data[0] == 1.0; }}
static PyObject *fill(Table *self, PyObject *list)
{{
    self->size = PyList_GET_SIZE(list);
    self->data = realloc(self->data, (self->size + 1) * sizeof(double));
    {more}
    for (int i = 0; i < self->size; i++)
        self->data[i] = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
    {tell}
    return PyList_New(0);
}}
static PyMethodDef methods[] = {{{{"fill", (PyCFunction)fill, METH_O, NULL}}, {{NULL}}}};
"#
    ))
}

#[test]
fn memory_that_moved() {
    let told = [
        // The exit tells as well.
        moves("set_data(self->stream, self->data);", ""),
        moves("find(self->stream, self->data);", ""),
        moves(
            "set_data(self->stream, self->data);",
            "set_data(self->stream, self->data);",
        ),
        moves("self->stream->data = self->data;", ""),
        moves("library_set_data(self->stream, self->data);", ""),
        moves("Stream *s = self->stream; set_data(s, self->data);", ""),
        moves("if (self->size) set_data(self->stream, self->data);", ""),
        // The size of what it has.
        moves(
            "set_data(self->stream, self->data); set_size(self->stream, self->size);",
            "",
        ),
        moves(
            "set_data(self->stream, self->data); self->used = self->size;",
            "",
        ),
        moves(
            "set_data(self->stream, self->data); self->used = self->size;",
            "self->used = 0;",
        ),
        moves("set_data(self->stream, self->data); self->mode = 3;", ""),
    ];
    insta::assert_snapshot!(told.join("\n"), @"
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `set_data(self->stream, self->data)` (line 10) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `library_set_data(self->stream, self->data)` (line 13) is not needed if the item no longer exists
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `set_size(self->stream, self->size)` (line 13) is not needed if the item no longer exists
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        review in `fill`, `self->used = self->size` (line 13) is not needed if the item no longer exists
        review in `fill`, `self->data = realloc(self->data, (self->size + 1) * sizeof(double))` (line 9) need not be undone at the new error exit (the function could not leave here before)
        ");
}

/// A method that reads a list between two statements.
fn between(before: &str, behind: &str) -> String {
    all(&format!(
        r#"
typedef struct {{ PyObject_HEAD double *data; PyObject *seen; }} Table;
static PyObject *f(Table *self, PyObject *list, PyObject *made, int n)
{{
    double sum = 0, *fresh = NULL;
    {before}
    for (int i = 0; i < n; i++)
        sum += PyFloat_AsDouble(PyList_GET_ITEM(list, i));
    {behind}
    return PyList_New(sum);
}}
"#
    ))
}

#[test]
fn memory_that_is_gone() {
    let gone = [
        between("free(self->data);", "self->data = malloc(n);"),
        between("fresh = realloc(self->data, n);", "self->data = fresh;"),
        between("free(table);", "table = fresh;"),
        between("Py_XDECREF(self->seen);", "self->seen = Py_NewRef(made);"),
        // It is there again before the loop.
        between(
            "free(self->data); self->data = malloc(n);",
            "self->data = realloc(self->data, n / 2);",
        ),
        between("Py_CLEAR(self->seen);", "self->seen = Py_NewRef(made);"),
    ];
    insta::assert_snapshot!(gone.join("\n"), @"
    review in `f`, `self->data = malloc(n)` (line 9) is not needed if the item no longer exists
    review in `f`, `self->data = fresh` (line 9) is not needed if the item no longer exists
    review in `f`, `table = fresh` (line 9) is not needed if the item no longer exists
    review in `f`, `self->seen = Py_NewRef(made)` (line 9) is not needed if the item no longer exists
    review in `f`, `self->data = realloc(self->data, n / 2)` (line 9) is not needed if the item no longer exists
    review in `f`, `self->seen = Py_NewRef(made)` (line 9) is not needed if the item no longer exists
    ");
}

const ROWS: &str = r#"
typedef struct { PyObject_HEAD double **rows; int count; int size; } Rows;
static void dealloc(Rows *self)
{
    for (int i = 0; i < self->count; i++)
        free(self->rows[i]);
    free(self->rows);
    Py_TYPE(self)->tp_free((PyObject *)self);
}
static PyObject *fill(Rows *self, PyObject *list)
{
    for (int i = 0; i < self->count; i++)
        free(self->rows[i]);
    self->count = PyList_GET_SIZE(list);
    self->rows = realloc(self->rows, self->count * sizeof(double *));
    for (int i = 0; i < self->count; i++)
        self->rows[i] = malloc(sizeof(double));
    for (int i = 0; i < self->count; i++) {
        self->rows[i][0] = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
    }
    return PyList_New(0);
}
static PyMethodDef methods[] = {{"fill", (PyCFunction)fill, METH_O, NULL}, {NULL}};
static PyTypeObject type = {.tp_dealloc = (destructor)dealloc, .tp_methods = methods};
"#;

/// What `ROWS` asks for, with one part of it in another way.
fn rows(part: &str, other: &str) -> String {
    assert!(ROWS.contains(part), "{part}");
    all(&ROWS.replacen(part, other, 1))
}

#[test]
fn an_object_that_is_whole() {
    insta::assert_snapshot!(rows("", ""), @"review in `fill`, `self->rows = realloc(self->rows, self->count * sizeof(double *))` (line 15) need not be undone at the new error exit (the function could not leave here before)");
}

#[test]
fn an_object_that_is_not_whole() {
    let last = "    return PyList_New(0);";
    let asked = [
        rows(last, "    self->size = self->count; return PyList_New(0);"),
        rows(last, "    settle(self); return PyList_New(0);"),
        rows(
            "    for (int i = 0; i < self->count; i++) {",
            "    for (int i = 0; i < self->count; i++) { self->rows[i] = malloc(8);",
        ),
        rows(
            "self->rows[i][0] = ",
            "self->texts[i] = strdup(\"\"); self->rows[i][0] = ",
        ),
        // Nobody frees them.
        rows(
            "        free(self->rows[i]);\n    free(self->rows);",
            "        print(self->rows[i]);",
        ),
        // C code calls it as well.
        rows(
            "static PyMethodDef",
            "PyObject *load(Rows *it) { return fill(it, it->list); }\nstatic PyMethodDef",
        ),
    ];
    insta::assert_snapshot!(asked.join("\n"), @r#"
    review in `fill`, `self->rows = realloc(self->rows, self->count * sizeof(double *))` (line 15) need not be undone at the new error exit (the function could not leave here before)
    review in `fill`, `settle(self)` (line 21) is not needed if the item no longer exists
    review in `fill`, `self->rows[i] = malloc(8)` (line 18) need not be undone at the new error exit (the function could not leave here before)
    review in `fill`, `self->texts[i] = strdup("")` (line 19) need not be undone at the new error exit (the function could not leave here before)
    review in `fill`, `self->rows = realloc(self->rows, self->count * sizeof(double *))` (line 14) need not be undone at the new error exit (the function could not leave here before)
    review in `fill`, `self->rows = realloc(self->rows, self->count * sizeof(double *))` (line 15) need not be undone at the new error exit (the function could not leave here before)
    "#);
}

/// Exits behind `current = made`, where `old` has what was there.
fn taken_out(made: &str, end: &str) -> String {
    object(&format!(
        "
    PyObject *old = current;
    long number;
    current = {made};
    number = PyObject_Size(PyList_GET_ITEM(list, 0));
    {end}
    return PyLong_FromLong(number);
"
    ))
}

#[test]
fn what_is_taken_out_of_its_place() {
    insta::assert_snapshot!(taken_out("NULL", "Py_XDECREF(old);"), @"review in `f`, `current = NULL` (line 7) need not be undone at the new error exit (the function could not leave here before)");
    insta::assert_snapshot!(taken_out("Py_NewRef(list)", "Py_SETREF(current, old);"), @"review in `f`, `Py_SETREF(current, old)` (line 9) is not needed if the item no longer exists");
    insta::assert_snapshot!(taken_out("NULL", "if (number < 0) return old; Py_DECREF(old);"), @"review in `f`, `current = NULL` (line 7) need not be undone at the new error exit (the function could not leave here before)");
}

#[test]
fn what_is_only_read_out_of_its_place() {
    insta::assert_snapshot!(taken_out("NULL", "print(old);"), @"review in `f`, `current = NULL` (line 7) need not be undone at the new error exit (the function could not leave here before)");
    insta::assert_snapshot!(taken_out("NULL; Py_XDECREF(old)", ""), @"review in `f`, `current = NULL` (line 7) need not be undone at the new error exit (the function could not leave here before)");
    insta::assert_snapshot!(object(
        r#"
    PyObject *old = current, *result = NULL;
    current = NULL;
    if (PyObject_IsTrue(list) < 0)
        goto end;
    result = PyObject_Str(PyList_GET_ITEM(list, 0));
end:
    Py_XDECREF(old);
    return result;
"#
    ), @"safe");
}

#[test]
fn what_ends_right_before_its_release() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *session = PyObject_CallNoArgs(dict);
    if (session == NULL)
        return NULL;
    login(session);
    for (i = 0; i < PyList_GET_SIZE(list); i++)
        print(PyList_GET_ITEM(list, i));
    logout(session);
    Py_DECREF(session);
    return PyList_New(0);
"#
    ), @"safe");
}

#[test]
fn what_only_the_end_frees_in_an_array() {
    insta::assert_snapshot!(object(
        r#"
    Py_buffer *views = PyMem_New(Py_buffer, 8);
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (views == NULL)
        return NULL;
    for (i = 0; i < n; i++) {
        if (PyObject_GetBuffer(PyList_GET_ITEM(list, i), &views[i], PyBUF_SIMPLE) < 0)
            views[i].buf = NULL;
    }
    for (i = 0; i < n; i++)
        if (views[i].buf)
            PyBuffer_Release(&views[i]);
    PyMem_Free(views);
    return PyList_New(0);
"#
    ), @"review in `f`, `PyBuffer_Release(&views[i])` (line 15) is not needed if the item no longer exists");
}

/// The exit of a function that has nobody to tell, and is called so.
fn summed(call: &str) -> String {
    all(&format!(
        "
static long sum;
static void add_up(PyObject *list) {{
    Py_ssize_t n = PyList_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < n; i++) {{
        PyObject *item = PyList_GET_ITEM(list, i);
        sum += PyObject_Hash(item) % n;
    }}
}}
{call}
"
    ))
}

#[test]
fn an_exception_from_before_the_loop() {
    insta::assert_snapshot!(summed(
        r#"
static PyObject *f(PyObject *list) {
    PyObject *name = PyObject_GetAttrString(list, "name");
    add_up(list);
    return name;
}
"#
    ), @"review no item is missing while an exception is pending (that exception would be dropped); no item is missing when `add_up` is called with an exception set (that exception would be dropped, too); in `add_up`, `sum += PyObject_Hash(item) % n` (line 7) need not be undone at the new error exit (the function could not leave here before)");
    insta::assert_snapshot!(summed(
        r#"
static PyObject *f(PyObject *list) {
    add_up(list);
    return PyObject_GetAttrString(list, "name");
}
"#
    ), @"review no item is missing while an exception is pending (that exception would be dropped); in `add_up`, `sum += PyObject_Hash(item) % n` (line 7) need not be undone at the new error exit (the function could not leave here before)");
    insta::assert_snapshot!(summed(
        r#"
static void thing_dealloc(PyObject *self) {
    add_up(self);
    Py_TYPE(self)->tp_free(self);
}
static PyTypeObject Thing_Type = { .tp_dealloc = thing_dealloc };
"#
    ), @"review no item is missing while an exception is pending (that exception would be dropped); no item is missing when `add_up` is called with an exception set (that exception would be dropped, too); in `add_up`, `sum += PyObject_Hash(item) % n` (line 7) need not be undone at the new error exit (the function could not leave here before)");
}

/// Whether the exception of a vanished item is cleared, in a loop that sets a field to the number of the
/// item without a test.
fn clears(head: &str, behind: &str) -> bool {
    let text = format!(
        "#include <Python.h>
struct set {{ long value; }};
{head} {{
    Py_ssize_t n = PyList_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < n; i++) {{
        PyObject *item = PyList_GET_ITEM(list, i);
        set->value = PyLong_AsLong(item);
        send(set);
    }}
    {behind}
}}
static void g(PyObject *list) {{ add_up(list, &shared); PyErr_Clear(); }}
"
    );
    let findings = findings(&text, "UG106");
    let [finding] = &findings[..] else {
        panic!("{findings:?}");
    };
    assert_eq!(finding["outcome"]["confidence"], "safe");
    let edits = finding["outcome"]["edits"].as_array().unwrap();
    let mut texts = edits.iter().map(|edit| edit["text"].as_str().unwrap());
    texts.any(|text| text.contains("PyErr_Clear();"))
}

#[test]
fn an_exception_of_the_pass_before() {
    let callback = "void f(PyObject *list, struct set *set)";
    assert!(!clears(callback, ""));
    assert!(clears(callback, "PyErr_Clear();"));
    // Its only caller clears what it leaves.
    assert!(clears(
        "static void add_up(PyObject *list, struct set *set)",
        ""
    ));
}

/// Nothing says that the second call takes back what the first does, nor that it does not.
#[test]
fn what_may_belong_to_what_has_begun() {
    let said = |begin: &str, end: &str| {
        object(&format!(
            "PyObject *v; {begin} v = PyObject_Repr(PyList_GET_ITEM(list, 0)); {end} return v;"
        ))
    };
    let all = [
        // By pointers.
        (
            "if (ops.lock(&shelf) < 0) return NULL;",
            "if (ops.unlock(&shelf) < 0) Py_CLEAR(v);",
        ),
        (
            "if (mkdir(((Box *)self)->path, 0700) < 0) return NULL;",
            "if (rmdir(((Box *)self)->path) < 0) Py_CLEAR(v);",
        ),
        ("mix(self);", "blend(self);"),
        // By another name.
        (
            "struct queue *queue = ((Box *)self)->queue; enter(queue);",
            "leave(((Box *)self)->queue);",
        ),
        // What the call before asked for is not there where it failed.
        (
            "mix(self); if (PyObject_IsTrue(dict) < 0) return NULL;",
            "blend(self);",
        ),
        // Others.
        ("mix(self);", "blend(dict);"),
        ("mix(self);", "v = PyLong_FromLong(PyObject_Size(self));"),
        (
            "if (PyList_Append(dict, key) < 0) return NULL;",
            "if (PyList_Append(dict, list) < 0) Py_CLEAR(v);",
        ),
        ("((Box *)self)->n = 1;", "((Box *)self)->m = 2;"),
    ];
    let all: Vec<String> = all.iter().map(|(begin, end)| said(begin, end)).collect();
    insta::assert_snapshot!(all.join("\n"), @"
        review in `f`, `ops.unlock(&shelf)` (line 4) is not needed if the item no longer exists
        review in `f`, `rmdir(((Box *)self)->path)` (line 4) is not needed if the item no longer exists
        review in `f`, `blend(self)` (line 4) is not needed if the item no longer exists
        by hand
        safe
        review in `f`, `mix(self)` (line 4) need not be undone at the new error exit (the function could not leave here before)
        review in `f`, `mix(self)` (line 4) need not be undone at the new error exit (the function could not leave here before)
        review in `f`, `PyList_Append(dict, key)` (line 4) need not be undone at the new error exit (the function could not leave here before)
        review in `f`, `((Box *)self)->n = 1` (line 4) need not be undone at the new error exit (the function could not leave here before)
        ");
}

/// What a lookup in the middle of `begin` and `end` becomes, for which the exit is seen: a list item, in
/// a function that returns an object.
fn between_halves(helpers: &str, begin: &str, end: &str) -> String {
    all(&format!(
        "
typedef struct {{ PyObject *items[4]; int fd[4]; int n; }} Bag;
struct method {{ void (*on)(void); void (*off)(void); }};
extern struct method methods[2];
{helpers}
static PyObject *f(PyObject *self, PyObject *list) {{
    PyObject *v;
    {begin}
    v = PyObject_Repr(PyList_GET_ITEM(list, 0));
    {end}
    return v;
}}
"
    ))
}

#[test]
fn what_a_local_struct_holds_or_a_pointer_began() {
    let all = [
        between_halves(
            "static void put(Bag *b, PyObject *v) { Py_INCREF(v); b->items[b->n++] = v; }",
            "Bag b = {{0}}; put(&b, self);",
            "while (b.n > 0) Py_DECREF(b.items[--b.n]);",
        ),
        between_halves(
            "static void add(Bag *b) { int fd = open_it(); b->fd[b->n++] = fd; }",
            "Bag b; b.n = 0; add(&b);",
            "close(b.fd[0]);",
        ),
        between_halves(
            "",
            "PyObject *all[2] = {PyList_New(0), NULL};",
            "Py_XDECREF(all[0]);",
        ),
        between_halves(
            "static void hold(PyObject *o) { Py_INCREF(o); }",
            "hold(self);",
            "Py_DECREF(self);",
        ),
        between_halves(
            "static Bag bag_of(PyObject *v) { Bag b; b.items[0] = Py_NewRef(v); return b; }",
            "Bag b = bag_of(self);",
            "Py_DECREF(b.items[0]);",
        ),
        between_halves("", "methods[1].on();", "methods[1].off();"),
        // Numbers die with the function, and what is counted here is followed.
        between_halves("", "Bag b; b.n = 3;", "count(&b);"),
        between_halves("", "Py_INCREF(self);", "Py_DECREF(self);"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
        review in `f`, `Py_DECREF(b.items[--b.n])` (line 10) is not needed if the item no longer exists
        review in `f`, `close(b.fd[0])` (line 10) is not needed if the item no longer exists
        by hand
        review in `f`, `hold(self)` (line 8) need not be undone at the new error exit (the function could not leave here before)
        review in `f`, `Py_DECREF(b.items[0])` (line 10) is not needed if the item no longer exists
        review in `f`, `methods[1].off()` (line 10) is not needed if the item no longer exists
        safe
        by hand
        ");
}

/// Where a label returns an object in any case, it is no exit for an error.
#[test]
fn a_label_that_returns_an_object() {
    let labelled = |end: &str| {
        let text = format!(
            "#include <Python.h>
static PyObject *f(PyObject *self, PyObject *args)
{{
    PyObject *dict, *value, *made, *result = NULL;
    int found = 0;
    if (!PyArg_ParseTuple(args, \"O!\", &PyDict_Type, &dict))
        return NULL;
    made = PyList_New(0);
    if (!made)
        return NULL;
    value = PyDict_GetItemString(dict, \"x\");
    if (!value)
        goto end;
    found = 1;
{end}
}}
static PyMethodDef methods[] = {{{{\"f\", f, METH_VARARGS, 0}}, {{0}}}};
"
        );
        let findings = findings(&text, "UG102");
        let outcome = &findings[0]["outcome"];
        let reports = outcome["edits"]
            .to_string()
            .contains("PyErr_WriteUnraisable");
        let open = outcome["assumptions"][0].as_str();
        open.unwrap_or(if reports { "is reported" } else { "leaves" })
            .to_owned()
    };
    let all = [
        labelled("end:\n    Py_DECREF(made);\n    return PyBool_FromLong(found);"),
        labelled("end:\n    Py_DECREF(made);\n    return result ? result : Py_NewRef(self);"),
        // The function has an exit that comes there with an exception.
        labelled(
            "    if (!PyDict_Check(self)) {\n        PyErr_SetNone(PyExc_TypeError);\n        goto end;\n    }\n\
             end:\n    Py_DECREF(made);\n    return answer(self, found);",
        ),
        // The number that decides is known there.
        labelled(
            "end:\n    Py_DECREF(made);\n    if (found < 0)\n        return NULL;\n    Py_RETURN_NONE;",
        ),
        labelled("end:\n    Py_DECREF(made);\n    return found == 0 ? NULL : Py_NewRef(self);"),
        labelled("end:\n    Py_DECREF(made);\n    return result;"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
        is reported
        is reported
        leaves
        is reported
        leaves
        leaves
        ");
}

/// What a function begins, and how it ends that.
const BEGUN: &[(&str, &str)] = &[
    ("depth++, opens++;", "depth--, opens--;"),
    ("BEGIN(self);", "END(self);"),
    (
        "char *p = mmap(NULL, 96, 1, 2, -1, 0); if (p == MAP_FAILED) return NULL;",
        "munmap(p, 96);",
    ),
    (
        "int p[2]; if (pipe(p) < 0) return NULL;",
        "close(p[0]); close(p[1]);",
    ),
    ("int old = lib_set(1, 0);", "lib_set(1, old);"),
    // Where it is asked first whether there is anything to end.
    ("int was = PyGC_Disable();", "if (was) PyGC_Enable();"),
    ("if (opens) depth++;", "if (opens) depth--;"),
    ("if (opens) depth++;", "opens && depth--;"),
    ("if (opens) depth++;", "opens ? depth-- : 0;"),
    (
        "if (opens) depth++;",
        "switch (opens) { case 1: depth--; break; default: break; }",
    ),
    (
        "__atomic_fetch_add(&depth, 1, 0);",
        "__atomic_fetch_sub(&depth, 1, 0);",
    ),
    ("lib_push(handler);", "lib_pop();"),
    ("lib_current(self);", "lib_current(NULL);"),
    (
        "int on = 1; lib_option(3, &on);",
        "on = 0; lib_option(3, &on);",
    ),
    (
        "struct options saved = options; options.indent = 4;",
        "options = saved;",
    ),
    (
        "struct options saved; memcpy(&saved, &options, 8); options.indent = 4;",
        "memcpy(&options, &saved, 8);",
    ),
    (
        "Rec r; r.fd = open(\"x\", 0); if (r.fd < 0) return NULL;",
        "close(r.fd);",
    ),
];

#[test]
fn what_a_break_still_ends() {
    let said = |begin: &str, end: &str| {
        all(&format!(
            "
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
typedef struct {{ int fd; char *name; }} Rec;
typedef struct {{ PyObject_HEAD int busy; }} Foo;
static int depth, opens;
int lib_set(int, int); void lib_push(void (*)(int)); void lib_pop(void);
void lib_current(Foo *); void lib_option(int, int *);
static void handler(int code) {{ opens = code; }}
static struct options {{ int indent, width; }} options;
#define BEGIN(s) ((s)->busy = 1)
#define END(s) ((s)->busy = 0)
static PyObject *f(Foo *self, PyObject *list) {{
    Py_ssize_t i; long v, n = 0;
    {begin}
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        v = PyLong_AsLong(PyList_GET_ITEM(list, i));
        if (v == -1 && PyErr_Occurred())
            break;
        n += v;
    }}
    {end}
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(n);
}}
"
        ))
    };
    for (begin, end) in BEGUN {
        let said = said(begin, end);
        assert!(said.starts_with("review in `f`, `"), "{begin} {said}");
    }
    insta::assert_snapshot!(said("depth = 3;", "n++;"), @"safe");
}

/// A function of the package that frees what it gets, whatever its name is.
#[test]
fn memory_that_a_function_frees() {
    let said = |drop: &str| {
        all(&format!(
            "
static void forget(long *s) {{ {drop} }}
static PyObject *f(PyObject *self, PyObject *list) {{
    Py_ssize_t i;
    PyObject *v;
    long *s = calloc(10, sizeof *s);
    if (s == NULL)
        return PyErr_NoMemory();
    v = PyObject_Repr(PyList_GET_ITEM(list, 0));
    forget(s);
    return v;
}}
"
        ))
    };
    insta::assert_snapshot!(said("free(s);"), @"review in `f`, `forget(s)` (line 10) is not needed if the item no longer exists");
    insta::assert_snapshot!(said("printf(\"%ld\", *s);"), @"safe");
}

/// What is undone under a condition, or in some builds only, is not undone without it.
#[test]
fn what_is_undone_under_a_condition() {
    let said = |end: &str| {
        all(&format!(
            "
static int busy, count;
static PyObject *f(PyObject *self, PyObject *list) {{
    Py_ssize_t i;
    int nested = busy;
    busy = 1;
    count++;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        if (PyObject_IsTrue(PyList_GET_ITEM(list, i)) < 0) {{
            {end}
            return NULL;
        }}
    }}
    {end}
    Py_RETURN_NONE;
}}
"
        ))
    };
    let all = [
        said("count--; busy = 0;"),
        said("count--; if (!nested) busy = 0;"),
        said("busy = 0;\n#ifdef COUNTS\n    count--;\n#endif\n"),
        said("count--; if (nested) return NULL; busy = 0;"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    safe
    by hand
    review in `f`, `count--` (line 12) is not needed if the item no longer exists
    by hand
    ");
}

#[test]
fn what_nobody_learns_of() {
    // A function that returns nothing, and a test of its list under which it looks.
    let said = |before: &str, after: &str| {
        all(&format!(
            "#include <stdio.h>
static FILE *log; static int busy; static char *buffer;
void finish(PyObject *list, int quick) {{
    {before}
    if (PyList_GET_SIZE(list) > 1) {{
        PyObject *item = PyList_GET_ITEM(list, 1);
        if (PyUnicode_Check(item)) {{
            fputs(\"done\\n\", log);
        }}
    }}
    {after}
}}
"
        ))
    };
    let all = [
        said("", "fclose(log); log = NULL;"),
        said("", "busy = 0;"),
        said("", "free(buffer); buffer = NULL;"),
        // An exit of before says that it may be left out, unless it asks whether there is anything.
        said("if (quick) return;", "busy = 0;"),
        said("if (log == NULL) return;", "fclose(log);"),
        said("", "quick = 0;"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    review in `finish`, `fclose(log)` (line 11) is not needed if the item no longer exists
    review in `finish`, `busy = 0` (line 11) is not needed if the item no longer exists
    review in `finish`, `free(buffer)` (line 11) is not needed if the item no longer exists
    safe
    review in `finish`, `fclose(log)` (line 11) is not needed if the item no longer exists
    safe
    ");
}
