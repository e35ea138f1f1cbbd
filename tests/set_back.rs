//! Exits that leave a place as the function set it for a while, where all others set it back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::{all, asks_for_state_only};

/// A function that begins something, and ends it where it fails and at its end.
fn between(declared: &str, begin: &str, end: &str) -> String {
    all(&format!(
        "
{declared}
static PyObject *f(Foo *self, PyObject *list, PyObject *file) {{
    Py_ssize_t i;
    PyObject *item, *saved = PySys_GetObject(\"stdout\");
    struct state before;
    char text[32];
    char *end = text + 8;
    {begin};
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        item = PyList_GET_ITEM(list, i);
        if (PyFile_WriteObject(item, file, 0) < 0) {{
            {end};
            return NULL;
        }}
    }}
    {end};
    return PyList_New(0);
}}
"
    ))
}

#[test]
fn what_c_functions_write() {
    let copied = "memcpy(&before, &self->state, sizeof(before)); self->state.depth++";
    insta::assert_snapshot!(
        between("", copied, "memcpy(&self->state, &before, sizeof(before))"),
        @"review in `f`, `memcpy(&self->state, &before, sizeof(before))` (line 13) is not needed if the item no longer exists"
    );
    for (begin, end) in [
        (
            "derive(self->key)",
            "memset(self->key, 0, sizeof(self->key))",
        ),
        ("strcpy(text, self->name)", "strcpy(self->name, text)"),
        ("strcpy(text, self->name)", "strcpy(self->name, end)"),
        (
            "rename(self->name)",
            "snprintf(self->name, 8, \"%s\", \"idle\")",
        ),
        ("bcopy(name, text, 32)", "bcopy(text, name, 32)"),
    ] {
        let result = between("static char name[32];", begin, end);
        assert_ne!(result, "safe", "{end}");
    }
    // Nobody looks at it once the function ends.
    for end in [
        "memset(&before, 0, sizeof(before))",
        "snprintf(text, 8, \"%s\", \"idle\")",
        "strcpy(text + 2, self->name)",
        "strcpy(end, self->name)",
        "memset(before.key, 0, 8)",
    ] {
        let declared = "struct state { char key[8]; };";
        assert_eq!(between(declared, "", end), "safe", "{end}");
    }
}

#[test]
fn what_python_keeps_for_all() {
    insta::assert_snapshot!(
        between("", "PySys_SetObject(\"stdout\", file)", "PySys_SetObject(\"stdout\", saved)"),
        @"review in `f`, `PySys_SetObject(\"stdout\", saved)` (line 13) is not needed if the item no longer exists"
    );
    let given = between(
        "static void give(PyObject *out) { PySys_SetObject(\"stdout\", out); }",
        "PySys_SetObject(\"stdout\", file)",
        "give(PySys_GetObject(\"__stdout__\"))",
    );
    assert!(given.starts_with("review"), "{given}");
    let told = between("", "", "PySys_WriteStderr(\"no item\\n\")");
    assert_eq!(told, "safe");
}

/// What helpers without a telling name do is known to change nothing of others.
#[test]
fn what_helpers_set_back() {
    for body in [
        "Py_XSETREF(self->last, NULL)",
        "Py_SetRecursionLimit(1000)",
        "PyObject_GC_Track(self)",
        "strcpy(self->name, \"\")",
        "PyFile_WriteString(\"end\", self->last)",
        "PyRun_SimpleString(\"done()\")",
        "PyList_Reverse(self->last)",
    ] {
        let declared = format!("static void put(Foo *self) {{ {body}; }}");
        let result = between(&declared, "", "put(self)");
        assert!(result.starts_with("review"), "{body}: {result}");
    }
    let made = "static void put(Foo *self) {
        PySys_WriteStderr(\"%zd of %s\", PyList_GET_SIZE(self->last), Py_TYPE(self)->tp_name);
    }";
    assert_eq!(between(made, "", "put(self)"), "safe");
}

#[test]
fn what_macros_count() {
    let macros = "
        #define ENTER(s) ((s)->busy++)
        #define LEAVE(s) ((s)->busy--)
        #define OPEN(s) do { (s)->busy = 1; } while (0)
        #define SHUT(s) do { (s)->busy = 0; } while (0)";
    let once = |begin: &str, end: &str| {
        all(&format!(
            "{macros}
static PyObject *f(Foo *self, PyObject *list) {{
    int on;
    PyObject *item;
    {begin};
    item = PyList_GET_ITEM(list, 0);
    on = emit(self, item);
    {end};
    if (on < 0)
        return NULL;
    return PyLong_FromLong(on);
}}
"
        ))
    };
    insta::assert_snapshot!(
        once("ENTER(self)", "LEAVE(self)"),
        @"review in `f`, `( self ) -> busy --` is not needed if the item no longer exists"
    );
    let opened = once("OPEN(self)", "SHUT(self)");
    assert!(opened.starts_with("review"), "{opened}");
    // Where each pass begins and ends it, nothing is open at the lookup.
    let looped = all(&format!(
        "{macros}
static PyObject *f(Foo *self, PyObject *list) {{
    Py_ssize_t i;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        PyObject *item = PyList_GET_ITEM(list, i);
        ENTER(self);
        OPEN(self->next);
        print(item);
        SHUT(self->next);
        LEAVE(self);
    }}
    return PyList_New(0);
}}
"
    ));
    assert!(asks_for_state_only(&looped), "{looped}");
}

/// A function that begins something, and of which just the end takes it back.
fn at_the_end(begin: &str, end: &str) -> String {
    all(&format!(
        "
static PyObject *f(Foo *self, PyObject *list, PyObject *key, char *text) {{
    PyObject *item, *result;
    int used = 0;
    {begin}
    item = PyList_GET_ITEM(list, 0);
    result = PyObject_CallOneArg(item, list);
    {end}
    return result;
}}
"
    ))
}

#[test]
fn what_only_the_end_takes_back() {
    insta::assert_snapshot!(
        at_the_end("self->current = Py_NewRef(list);", "Py_CLEAR(self->current);"),
        @"review in `f`, `Py_CLEAR(self->current)` (line 8) is not needed if the item no longer exists"
    );
    for (begin, end) in [
        (
            "if (PySet_Add(self->seen, key) < 0) return NULL;",
            "PySet_Discard(self->seen, key);",
        ),
        (
            "PyList_Append(self->log, key);",
            "PySequence_DelItem(self->log, -1);",
        ),
        (
            "if (PyDict_SetItem(self->seen, key, key) < 0) return NULL;",
            "PyDict_DelItem(self->seen, key);",
        ),
        (
            "PyObject_SetAttrString(list, \"busy\", Py_True);",
            "PyObject_DelAttrString(list, \"busy\");",
        ),
        (
            "PyObject_SetAttrString(list, \"busy\", Py_True);",
            "PyObject_SetAttrString(list, \"busy\", Py_False);",
        ),
        (
            "PySys_SetObject(\"current\", list);",
            "PySys_SetObject(\"current\", Py_None);",
        ),
        (
            "Py_XSETREF(self->current, Py_NewRef(list));",
            "Py_CLEAR(self->current);",
        ),
        ("strcpy(self->name, \"busy\");", "self->name[0] = 0;"),
        (
            "self->state = (State){1, 2};",
            "self->state = (State){0, 0};",
        ),
        ("self->state = STATE_BUSY;", "self->state = STATE_IDLE;"),
        ("self->flags |= BUSY;", "self->flags &= ~BUSY;"),
        (
            "if (mark(self, list) < 0) return NULL;",
            "unmark(self, list);",
        ),
        ("self->handle = start(key);", "quit(self->handle);"),
    ] {
        let result = at_the_end(begin, end);
        assert!(result.starts_with("review"), "{end}: {result}");
        // It begins behind the lookup.
        let later = end.replace("self", "(self)");
        let later = at_the_end("", &format!("{begin} {later}"));
        assert_ne!(later.split(' ').next(), Some("review"), "{end}");
    }
}

/// What is at work on the same, and takes back nothing that had begun.
#[test]
fn what_takes_back_nothing() {
    for (begin, end) in [
        (
            "PyList_Append(self->log, key);",
            "PyList_Append(self->log, list);",
        ),
        (
            "PyDict_SetItem(self->seen, key, key);",
            "PyDict_SetItem(self->seen, list, key);",
        ),
        (
            "PyObject_Hash(self->seen);",
            "PyDict_DelItem(self->seen, key);",
        ),
        ("PyObject_Hash(self->current);", "Py_CLEAR(self->current);"),
        ("", "strcpy(self->name, \"done\");"),
        ("", "self->state = STATE_DONE;"),
        ("if (put(self, key) < 0) return NULL;", "put(self, key);"),
        ("*text++ = '(';", "*text++ = ',';"),
        ("text[used] = '(';", "used++; text[used] = ',';"),
    ] {
        assert!(asks_for_state_only(&at_the_end(begin, end)), "{end}");
    }
}

/// What is looked at like any other call, and takes back what had begun.
#[test]
fn what_the_end_asks_for() {
    for (begin, end) in [
        (
            "if (PyDict_SetItem(self->seen, key, Py_None) < 0) return NULL;",
            "if (PyDict_DelItem(self->seen, key) < 0) Py_CLEAR(result);",
        ),
        (
            "if (PyList_Append(self->log, key) < 0) return NULL;",
            "if (PySequence_DelItem(self->log, -1) < 0) Py_CLEAR(result);",
        ),
        (
            "PyObject *old = PySys_GetObject(\"out\"); PySys_SetObject(\"out\", list);",
            "if (PySys_SetObject(\"out\", old) < 0) Py_CLEAR(result);",
        ),
        (
            "PyOS_sighandler_t old = PyOS_setsig(SIGINT, SIG_IGN);",
            "PyOS_setsig(SIGINT, old);",
        ),
        (
            "PyObject_GC_UnTrack(self);",
            "PyObject_GC_Track((PyObject *)self);",
        ),
        ("int was = PyGC_Disable();", "if (was) PyGC_Enable();"),
        (
            "PyObject *token = PyContextVar_Set(self->mode, key);",
            "if (PyContextVar_Reset(self->mode, token) < 0) Py_CLEAR(result); Py_DECREF(token);",
        ),
        // Both may be set for good.
        (
            "PyOS_setsig(SIGINT, SIG_IGN);",
            "PyOS_setsig(SIGTERM, SIG_IGN);",
        ),
        (
            "if (PyObject_SetAttrString(list, \"last\", key) < 0) return NULL;",
            "if (PyObject_SetAttrString(list, \"last\", list) < 0) Py_CLEAR(result);",
        ),
        // Nothing says that the two keys are not equal.
        (
            "if (PyDict_SetItem(self->seen, key, Py_None) < 0) return NULL;",
            "if (PyDict_DelItem(self->seen, list) < 0) Py_CLEAR(result);",
        ),
    ] {
        let result = at_the_end(begin, end);
        assert!(result.starts_with("review"), "{end}: {result}");
    }
    // Behind a method of Python the error of the call need not be pending any more.
    assert_eq!(
        at_the_end(
            "PyObject *done = PyObject_CallMethod(self->lock, \"acquire\", NULL); Py_XDECREF(done);",
            "done = PyObject_CallMethod(self->lock, \"release\", NULL); Py_XDECREF(done);",
        ),
        "by hand"
    );
    let other = at_the_end("PyObject_GC_UnTrack(list);", "PyObject_GC_Track(self);");
    assert!(asks_for_state_only(&other), "{other}");
}

/// A function that fills a struct of its own from two items.
fn filled(declared: &str, fill: &str, freed: &str, end: &str) -> String {
    filled_with("", declared, fill, freed, end)
}

fn filled_with(helpers: &str, declared: &str, fill: &str, freed: &str, end: &str) -> String {
    all(&format!(
        "
{helpers}static record *f(PyObject *self, PyObject *list) {{
    PyObject *item;
    {declared}
    item = PyList_GET_ITEM(list, 0);
    if (!PyBytes_Check(item)) {{
        PyErr_SetString(PyExc_TypeError, \"bytes\");
        {freed}
        return NULL;
    }}
    {fill}
    item = PyList_GET_ITEM(list, 1);
    {end}
}}
"
    ))
}

#[test]
fn memory_of_a_struct_that_is_freed() {
    let made = "record *r = malloc(sizeof *r); if (r == NULL) { PyErr_NoMemory(); return NULL; }";
    let end = "r->size = PyObject_Size(item); return r;";
    insta::assert_snapshot!(filled(made, "r->key = strdup(\"text\");", "free(r);", end), @"
    safe
    by hand
    ");
    // It is freed with the struct, or is known elsewhere.
    for (fill, freed) in [
        ("r->key = strdup(\"text\");", "record_free(r);"),
        ("r->key = strdup(\"text\"); free(r->key);", "free(r);"),
        ("r->key = name_of(self);", "free(r);"),
    ] {
        let result = filled(made, fill, freed, end);
        assert!(asks_for_state_only(&result), "{fill}: {result}");
    }
}

#[test]
fn memory_that_comes_by_another_way() {
    let made = "record *r = malloc(sizeof *r); if (r == NULL) { PyErr_NoMemory(); return NULL; }";
    let end = "r->size = PyObject_Size(item); return r;";
    let helpers = "
static char *copy(const char *text) { char *it = malloc(9); strcpy(it, text); return it; }
static char *part(record *r) { return r->text; }
static int fill(record *r, const char *text) { r->key = strdup(text); return 0; }
static int link(record *r, char *text) { r->key = text; return 0; }
";
    let of = |fill: &str, freed: &str| filled_with(helpers, made, fill, freed, end);
    for (fill, freed, is_lost) in [
        (
            "char *key = strdup(\"text\"); r->key = key;",
            "free(r);",
            true,
        ),
        (
            "char *key = strdup(\"text\"); r->key = key; free(key);",
            "free(r);",
            false,
        ),
        ("char *key = self->key; r->key = key;", "free(r);", false),
        ("r->key = copy(\"text\");", "free(r);", true),
        ("r->key = part(r);", "free(r);", false),
        ("fill(r, \"text\");", "free(r);", true),
        ("fill(r, \"text\");", "record_free(r);", false),
        ("link(r, \"text\");", "free(r);", false),
    ] {
        assert_eq!(asks_for_state_only(&of(fill, freed)), !is_lost, "{fill}");
    }
}

#[test]
fn array_by_another_name() {
    let of = |one: &str, end: &str| {
        let end = end.replace("(z)", &format!("({one})"));
        filled("mpz_t z;", &format!("mpz_init({one});"), "", &end)
    };
    let is_alike = |end: &str| of("z", end) == of("&z", end).replace("&z", "z");
    // There is an exit that does it.
    let fails = "if (PyObject_Size(item) < 0) goto fail; mpz_clear(z); return made(); \
        fail: mpz_clear(z); return NULL;";
    assert_eq!(of("z", fails), "safe\nsafe");
    assert!(is_alike(fails));
    let goes_on = "long n = PyObject_Size(item); mpz_clear(z); return made(n);";
    insta::assert_snapshot!(of("z", goes_on), @r"
    safe
    review in `f`, `mpz_clear(z)` (line 13) is not needed if the item no longer exists
    ");
    assert!(is_alike(goes_on));
}
