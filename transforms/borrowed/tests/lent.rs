//! Functions that macros leave while a reference is held: the rest of them is lent the object.

use super::all;

/// `text` behind macros that leave the function, always or where something fails.
fn run(text: &str) -> String {
    const MACROS: &str = "\
#define CHECK(x) do { if ((x) < 0) return -1; } while (0)
#define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
";
    all(&format!("{MACROS}{}", text.trim_start_matches('\n')))
}

#[test]
fn the_rest_of_the_function_is_lent_the_object() {
    insta::assert_snapshot!(run("
int set_size(struct box *box, const char *name, long *out)
{
    PyObject *item, *unused;
    long size = 0;
    int i;

    /* Its type is known. */
    item = PyDict_GetItemString(box->items, name);
    if (!item)
        FAIL(\"no such item\");
    CHECK(resize(box, 1));
    for (i = 0; i < 3; i++)
        size += PyLong_AsLong(item);
    *out = size;
    return 0;
}
"), @r#"
        @@
         #define CHECK(x) do { if ((x) < 0) return -1; } while (0)
         #define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
        -int set_size(struct box *box, const char *name, long *out)
        +static int set_size_with_item(struct box *box, long *out, PyObject *item)
         {
        -    PyObject *item, *unused;
             long size = 0;
             int i;
         
        -    /* Its type is known. */
        -    item = PyDict_GetItemString(box->items, name);
             if (!item)
                 FAIL("no such item");
        @@
             return 0;
         }
        +
        +int set_size(struct box *box, const char *name, long *out)
        +{
        +    PyObject *item, *unused;
        +    int result;
        +
        +    /* Its type is known. */
        +    if (PyDict_GetItemStringRef(box->items, name, &item) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    result = set_size_with_item(box, out, item);
        +    Py_XDECREF(item);
        +    return result;
        +}
        "#);
}

#[test]
fn values_of_the_first_half_are_handed_on() {
    insta::assert_snapshot!(run("
static int f(PyObject *dict,
             PyObject *key,
             struct box *box)
{
    Py_ssize_t size = PyDict_Size(dict);
    PyObject *value;
    if (size < 0)
        return -1;
    value = PyDict_GetItem(dict, key);
    CHECK(resize(box, size));
    CHECK(store(box, value));
    return 0;
}
"), @"
    @@
     #define CHECK(x) do { if ((x) < 0) return -1; } while (0)
     #define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
    +static int f_with_value(struct box *box, Py_ssize_t size, PyObject *value)
    +{
    +    CHECK(resize(box, size));
    +    CHECK(store(box, value));
    +    return 0;
    +}
    +
     static int f(PyObject *dict,
                  PyObject *key,
    @@
         Py_ssize_t size = PyDict_Size(dict);
         PyObject *value;
    +    int result;
         if (size < 0)
             return -1;
    -    value = PyDict_GetItem(dict, key);
    -    CHECK(resize(box, size));
    -    CHECK(store(box, value));
    -    return 0;
    +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    result = f_with_value(box, size, value);
    +    Py_XDECREF(value);
    +    return result;
     }
    ");
}

#[test]
fn a_function_without_result_is_split_as_well() {
    insta::assert_snapshot!(run("
#define STOP_IF(x) if (x) return
static void f(PyObject *dict, PyObject *key) {
    PyObject *value = PyDict_GetItem(dict, key);
    STOP_IF(value == NULL);
    STOP_IF(use(value) < 0);
    print(value);
}
"), @"
        @@
         #define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
         #define STOP_IF(x) if (x) return
        -static void f(PyObject *dict, PyObject *key) {
        -    PyObject *value = PyDict_GetItem(dict, key);
        +static void f_with_value(PyObject *value) {
             STOP_IF(value == NULL);
             STOP_IF(use(value) < 0);
             print(value);
         }
        +
        +static void f(PyObject *dict, PyObject *key) {
        +    PyObject *value;
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    f_with_value(value);
        +    Py_XDECREF(value);
        +}
        ");
}

/// What another variable counts is its own business.
#[test]
fn another_variable_may_own_the_object_too() {
    insta::assert_snapshot!(run("
static int f(PyObject *dict, PyObject *key) {
    PyObject *o, *text;
    o = PyDict_GetItem(dict, key);
    if (!o) FAIL(\"no such item\");
    if (PyBytes_Check(o)) {
        text = o;
        Py_INCREF(text);
    } else {
        text = PyObject_Bytes(o);
        if (!text) FAIL(\"no text\");
    }
    CHECK(store(PyBytes_AS_STRING(text), Py_TYPE(o)));
    Py_DECREF(text);
    return 0;
}
"), @r#"
        @@
         #define CHECK(x) do { if ((x) < 0) return -1; } while (0)
         #define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
        -static int f(PyObject *dict, PyObject *key) {
        -    PyObject *o, *text;
        -    o = PyDict_GetItem(dict, key);
        +static int f_with_o(PyObject *o) {
        +    PyObject *text;
             if (!o) FAIL("no such item");
             if (PyBytes_Check(o)) {
        @@
             return 0;
         }
        +
        +static int f(PyObject *dict, PyObject *key) {
        +    PyObject *o;
        +    int result;
        +    if (PyDict_GetItemRef(dict, key, &o) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    result = f_with_o(o);
        +    Py_XDECREF(o);
        +    return result;
        +}
        "#);
}

/// Why the rest of a function with it needs the object for longer than a call: the reason, the
/// type of its result, and the rest.
const BEHIND: &[(&str, &str, &str)] = &[
    ("returned", "PyObject *", "CHECK(n); return o;"),
    (
        "pointer returned",
        "char *",
        "CHECK(n); return PyUnicode_AsUTF8(o);",
    ),
    (
        "pointer stored",
        "int",
        "CHECK(n); self->text = PyUnicode_AsUTF8(o); return 0;",
    ),
    ("stored", "int", "CHECK(n); self->o = o; return 0;"),
    (
        "released",
        "int",
        "CHECK(n); use(o); Py_DECREF(o); return 0;",
    ),
    ("address", "int", "CHECK(n); keep(&o); return 0;"),
    ("macro returns it", "PyObject *", "GIVE(o); return NULL;"),
    (
        "detached",
        "int",
        "CHECK(n); use(o); PyGILState_Release(state); return 0;",
    ),
    (
        "names itself",
        "int",
        "CHECK(use(o)); return f(self, dict, NULL, n);",
    ),
    (
        "tells its name",
        "int",
        "CHECK(use(o)); report(__func__); return 0;",
    ),
    (
        "jumped to",
        "int",
        "again: CHECK(use(o)); if (n--) goto start; return 0;",
    ),
];

/// How the title of a fix ends that splits a function.
const HELD: &str = ", and hold it while calling ";

#[test]
fn what_leaves_something_of_the_object_behind_is_not_split() {
    for &(why, result, rest) in BEHIND {
        let text = format!(
            "
#define GIVE(x) if (x) return x
static {result} f(struct box *self, PyObject *dict, PyObject *key, int n) {{
    PyObject *o;
    if (n > 100) goto again_;
start:
again_:
    o = PyDict_GetItem(dict, key);
    {rest}
}}
"
        );
        let text = match why {
            "jumped to" => text.replace("again: ", ""),
            _ => text.replace("    if (n > 100) goto again_;\nstart:\nagain_:\n", ""),
        };
        let text = run(&text);
        assert!(!text.contains(HELD), "{why}: {text}");
    }
}

#[test]
fn what_the_halves_cannot_share_is_not_split() {
    for (why, front) in [
        ("array", "char name[8]; PyObject *o; fill(name);"),
        ("address", "int size; PyObject *o; register_size(&size);"),
        ("static", "static int size; PyObject *o; size++;"),
        (
            "branch",
            "int size = 0; PyObject *o;\n#ifdef X\n    size = 1;\n#endif\n",
        ),
    ] {
        let rest = if why == "array" { "name" } else { "size" };
        let text = run(&format!(
            "
static int f(PyObject *dict, PyObject *key) {{
    {front}
    o = PyDict_GetItem(dict, key);
    CHECK(use(o, {rest}));
    return 0;
}}
"
        ));
        assert!(!text.contains(HELD), "{why}: {text}");
    }
}

/// Only one configuration has a macro that leaves: the fix is right in both.
#[test]
fn a_macro_that_leaves_in_one_configuration_only() {
    insta::assert_snapshot!(run("
#ifdef STRICT
#define TRY(x) do { if ((x) < 0) return -1; } while (0)
#else
#define TRY(x) (void)(x)
#endif
static int f(PyObject *dict, PyObject *key) {
    PyObject *o;
    o = PyDict_GetItem(dict, key);
    TRY(use(o));
    return 0;
}
"), @"
        @@
         #define TRY(x) (void)(x)
         #endif
        +static int f_with_o(PyObject *o) {
        +    TRY(use(o));
        +    return 0;
        +}
        +
         static int f(PyObject *dict, PyObject *key) {
             PyObject *o;
        -    o = PyDict_GetItem(dict, key);
        -    TRY(use(o));
        -    return 0;
        +    int result;
        +    if (PyDict_GetItemRef(dict, key, &o) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    result = f_with_o(o);
        +    Py_XDECREF(o);
        +    return result;
         }
        ");
}

#[test]
fn an_exception_of_before_is_kept() {
    insta::assert_snapshot!(run("
int set_size(struct box *box, PyObject *name, long *out)
{
    PyObject *item;
    long size = 0;
    PyObject_SetAttr(box->owner, name, Py_None);
    item = PyDict_GetItem(box->items, name);
    if (!item)
        FAIL(\"no such item\");
    CHECK(resize(box, 1));
    size += PyLong_AsLong(item);
    *out = size;
    return 0;
}
"), @r#"
    @@
     #define CHECK(x) do { if ((x) < 0) return -1; } while (0)
     #define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
    -int set_size(struct box *box, PyObject *name, long *out)
    +static int set_size_with_item(struct box *box, long *out, PyObject *item)
     {
    -    PyObject *item;
         long size = 0;
    -    PyObject_SetAttr(box->owner, name, Py_None);
    -    item = PyDict_GetItem(box->items, name);
         if (!item)
             FAIL("no such item");
    @@
         return 0;
     }
    +
    +int set_size(struct box *box, PyObject *name, long *out)
    +{
    +    PyObject *item;
    +    PyObject *exc;
    +    int result;
    +    PyObject_SetAttr(box->owner, name, Py_None);
    +    exc = PyErr_GetRaisedException();
    +    if (PyDict_GetItemRef(box->items, name, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    PyErr_SetRaisedException(exc);
    +    result = set_size_with_item(box, out, item);
    +    Py_XDECREF(item);
    +    return result;
    +}
    "#);
}
