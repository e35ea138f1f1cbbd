//! Which object is locked, and which dicts need no lock.

use super::diff;

#[test]
fn the_dict_of_a_field_is_held_by_a_reference() {
    let text = r#"
static int
count(Cache *self)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int n = 0;
    while (PyDict_Next(self->data, &pos, &key, NULL))
        n++;
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `self->data` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `self->data`, a field that other threads can reach; another thread can change it between two calls
      safe: iterate over `self->data` in a critical section
    @@
         Py_ssize_t pos = 0;
         int n = 0;
    -    while (PyDict_Next(self->data, &pos, &key, NULL))
    +    PyObject *data = Py_NewRef(self->data);
    +    Py_BEGIN_CRITICAL_SECTION(data);
    +    while (PyDict_Next(data, &pos, &key, NULL))
             n++;
    +    Py_END_CRITICAL_SECTION();
    +    Py_DECREF(data);
         return n;
     }
    ");
}

#[test]
fn a_field_that_the_loop_sets_is_declined() {
    let text = r#"
static void
count(Cache *self)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    while (PyDict_Next(self->data, &pos, &key, NULL))
        self->data = key;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `self->data` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `self->data`, a field that other threads can reach; another thread can change it between two calls
      by hand: iterate over a copy (`PyDict_Copy`), because `self->data` is assigned in the loop and no single section can lock it
    "##);
}

#[test]
fn a_computed_dict_is_kept_in_a_variable() {
    let text = r#"
static int
count(PyObject *module)
{
    Py_ssize_t pos = 0;
    int n = 0;
    setup();
    while (PyDict_Next(PyModule_GetDict(module), &pos, NULL, NULL))
        n++;
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `PyModule_GetDict(module)` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is the dict of a module or type; another thread can change it between two calls
      review: iterate over `PyModule_GetDict(module)` in a critical section
      assumes that `PyModule_GetDict(module)` returns the same dict each time, and the dict stays alive
    @@
         Py_ssize_t pos = 0;
         int n = 0;
    +    PyObject *dict;
         setup();
    -    while (PyDict_Next(PyModule_GetDict(module), &pos, NULL, NULL))
    +    dict = PyModule_GetDict(module);
    +    Py_BEGIN_CRITICAL_SECTION(dict);
    +    while (PyDict_Next(dict, &pos, NULL, NULL))
             n++;
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn a_cast_dict_is_locked_without_the_cast() {
    let text = r#"
static int
count(DictObject *d)
{
    Py_ssize_t pos = 0;
    int n = 0;
    while (PyDict_Next((PyObject *)d, &pos, NULL, NULL))
        n++;
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
         int n = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next((PyObject *)d, &pos, NULL, NULL))
             n++;
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn a_dict_that_may_be_null_needs_review() {
    let text = r#"
static int
count(PyObject *d)
{
    Py_ssize_t pos = 0;
    int n = 0;
    while (d && PyDict_Next(d, &pos, NULL, NULL))
        n++;
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      review: iterate over `d` in a critical section
      assumes that `d` is not NULL here
    @@
         Py_ssize_t pos = 0;
         int n = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (d && PyDict_Next(d, &pos, NULL, NULL))
             n++;
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn nested_loops_over_two_dicts_lock_both() {
    let text = r#"
static int
common(PyObject *a, PyObject *b)
{
    PyObject *k, *l;
    Py_ssize_t i = 0, j;
    int n = 0;

    while (PyDict_Next(a, &i, &k, NULL)) {
        j = 0;
        while (PyDict_Next(b, &j, &l, NULL)) {
            if (k == l)
                n++;
        }
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `a` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `a`, which the caller passes; another thread can change it between two calls
      safe: iterate over `a` and `b` in a critical section
    11: `b` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `b`, which the caller passes; another thread can change it between two calls
      safe: iterate over `a` and `b` in a critical section
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION2(a, b);
         while (PyDict_Next(a, &i, &k, NULL)) {
             j = 0;
    @@
             }
         }
    +    Py_END_CRITICAL_SECTION2();
         return n;
     }
    "##);
}

#[test]
fn an_inner_dict_is_locked_before_its_loop_is_known_to_run() {
    let is_safe = |dict: &str, before: &str| {
        let changed = diff(&format!(
            "
static PyObject *registry;
static PyObject *set_registry(PyObject *self, PyObject *to) {{ registry = to; return to; }}
static PyMethodDef methods[] = {{{{\"set_registry\", set_registry, METH_O, NULL}}, {{NULL}}}};
static int
common(PyObject *args)
{{
    PyObject *k, *l, *a, *b = {dict};
    Py_ssize_t i = 0, j;
    int n = 0;
    if (!PyArg_ParseTuple(args, \"O|O\", &a, &b))
        return -1;
    {before}
    while (PyDict_Next(a, &i, &k, NULL)) {{
        if (b == NULL)
            continue;
        j = 0;
        while (PyDict_Next(b, &j, &l, NULL)) {{
            if (k == l)
                n++;
        }}
    }}
    return n;
}}
"
        ));
        changed.contains("safe: iterate over `a` and `b` in a critical section")
    };
    assert!(!is_safe("NULL", ""));
    assert!(is_safe("NULL", "if (b == NULL) return 0;"));
    assert!(!is_safe("registry", "if (b == NULL) return 0;"));
}

#[test]
fn nested_loops_over_one_dict_lock_it_once() {
    let text = r#"
static int
pairs(PyObject *d)
{
    PyObject *k, *l;
    Py_ssize_t i = 0, j;

    while (PyDict_Next(d, &i, &k, NULL)) {
        j = i;
        while (PyDict_Next(d, &j, &l, NULL)) {
            if (k == l)
                return 1;
        }
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    10: `d` is iterated over without its lock; another thread may change the dict meanwhile
      10: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *k, *l;
         Py_ssize_t i = 0, j;
    +    int stopped = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &i, &k, NULL)) {
             j = i;
             while (PyDict_Next(d, &j, &l, NULL)) {
    -            if (k == l)
    -                return 1;
    +            if (k == l) {
    +                stopped = 1;
    +                goto end_section;
    +            }
             }
         }
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return 1;
         return 0;
     }
    "##);
}

#[test]
fn a_dict_of_dicts_locks_the_outer_one_only() {
    let text = r#"
static int
deep(PyObject *d)
{
    PyObject *inner;
    Py_ssize_t i = 0, j;
    int n = 0;

    while (PyDict_Next(d, &i, NULL, &inner)) {
        j = 0;
        while (PyDict_Next(inner, &j, NULL, NULL))
            n++;
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    11: `inner` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is the result of `PyDict_Next()`; another thread can change it between two calls
      by hand: iterate over a copy (`PyDict_Copy`), because a separate section would suspend the outer one in each iteration of the outer loop
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &i, NULL, &inner)) {
             j = 0;
    @@
                 n++;
         }
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn private_dicts_need_no_section() {
    let text = r#"
static PyObject *
f(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *key, *copy;
    Py_ssize_t pos = 0;

    while (PyDict_Next(kwargs, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            return NULL;
    }
    copy = PyDict_Copy(kwargs);
    pos = 0;
    while (PyDict_Next(copy, &pos, &key, NULL))
        PyDict_SetItem(copy, key, Py_None);
    return copy;
}

static PyMethodDef methods[] = {
    {"f", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `kwargs` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: `kwargs` holds the keyword arguments, and is created for this call
    14: `copy` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: the container is made by `PyDict_Copy()` on line 12, and no other code has it while the value is in use
    "##);
}

#[test]
fn a_published_dict_is_not_private() {
    let text = r#"
static int
f(Cache *self)
{
    PyObject *d = PyDict_New();
    Py_ssize_t pos = 0;

    self->dict = d;
    while (PyDict_Next(d, &pos, NULL, NULL))
        pos++;
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is a container that is made here, and passed on or emptied on line 8; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
     
         self->dict = d;
    +    Py_INCREF(d);
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, NULL))
             pos++;
    +    Py_END_CRITICAL_SECTION();
    +    Py_DECREF(d);
         return 0;
     }
    "##);
}

#[test]
fn existing_sections_are_seen() {
    let text = r#"
static int
f(PyObject *d, PyObject *e)
{
    Py_ssize_t pos = 0;
    int n = 0;

    Py_BEGIN_CRITICAL_SECTION(d);
    while (PyDict_Next(d, &pos, NULL, NULL))
        n++;
    while (PyDict_Next(e, &pos, NULL, NULL))
        n++;
    Py_END_CRITICAL_SECTION();
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: the critical section that begins on line 8 locks the container while the value is in use
    11: `e` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `e`, which the caller passes; another thread can change it between two calls
      by hand: lock both objects with `Py_BEGIN_CRITICAL_SECTION2` (the critical section around the loop locks another object, and an inner section would suspend it)
    "##);
}

#[test]
fn pythons_with_the_gil_ask_for_nothing() {
    let text = r#"
#if PY_VERSION_HEX < 0x030D0000
#define Py_BEGIN_CRITICAL_SECTION(op)
#define Py_END_CRITICAL_SECTION()
#endif
static int
f(PyObject *d)
{
    Py_ssize_t pos = 0;
    int n = 0;
    Py_BEGIN_CRITICAL_SECTION(d);
    while (PyDict_Next(d, &pos, NULL, NULL))
        n++;
    Py_END_CRITICAL_SECTION();
#if PY_VERSION_HEX < 0x030D0000
    while (PyDict_Next(d, &pos, NULL, NULL))
        n++;
#endif
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    12: `d` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: the critical section that begins on line 11 locks the container while the value is in use
    16: `d` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: it is compiled only for builds with the GIL
    ");
}

#[test]
fn traversal_stops_the_world() {
    let text = r#"
static int
traverse(Cache *self, visitproc visit, void *arg)
{
    PyObject *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(self->data, &pos, NULL, &value))
        Py_VISIT(value);
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `self->data` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: the garbage collector stops all other threads during a traversal
    "##);
}

const CACHE: &str = r#"
static int
cache_init(Cache *self, PyObject *args, PyObject *kwargs)
{
    self->data = PyDict_New();
    return 0;
}

static void
cache_dealloc(Cache *self)
{
    Py_CLEAR(self->data);
}

static PyObject *
cache_show(Cache *self, PyObject *data)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(self->data, &pos, &key, NULL)) {
        if (PyObject_CallOneArg(data, key) == NULL)
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyType_Slot slots[] = {
    {Py_tp_init, cache_init},
    {Py_tp_dealloc, cache_dealloc},
    {0, NULL},
};
"#;

#[test]
fn a_field_that_only_builders_set_needs_no_review() {
    insta::assert_snapshot!(diff(CACHE), @"
    21: `self->data` is iterated over without its lock; another thread may change the dict meanwhile
      21: the dict is `self->data`, a field that other threads can reach; another thread can change it between two calls
      22: `PyObject_CallOneArg` can run Python code, which may also change the dict
      safe: iterate over `self->data` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    PyObject *dict = Py_NewRef(self->data);
    +    int failed = 0;
     
    -    while (PyDict_Next(self->data, &pos, &key, NULL)) {
    -        if (PyObject_CallOneArg(data, key) == NULL)
    -            return NULL;
    +    Py_BEGIN_CRITICAL_SECTION(dict);
    +    while (PyDict_Next(dict, &pos, &key, NULL)) {
    +        Py_INCREF(key);
    +        if (PyObject_CallOneArg(data, key) == NULL) {
    +            Py_DECREF(key);
    +            failed = 1;
    +            break;
    +        }
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    Py_DECREF(dict);
    +    if (failed)
    +        return NULL;
         Py_RETURN_NONE;
     }
    ");
}

#[test]
fn a_field_that_a_method_sets_is_copied() {
    let method = r#"
static PyObject *
cache_reset(Cache *self, PyObject *data)
{
    Py_XSETREF(self->data, PyDict_New());
    Py_RETURN_NONE;
}
"#;
    let said = diff(&format!("{CACHE}{method}"));
    assert!(said.contains("review: iterate over a copy of `self->data`"));
}

/// A loop over `self->data` in a type whose `reset()` sets that field.
fn loop_with(body: &str) -> String {
    format!(
        "
typedef struct {{ PyObject_HEAD PyObject *data; int n; }} Cache;
static PyObject *
cache_reset(Cache *self, PyObject *data)
{{
    Py_XSETREF(self->data, PyDict_New());
    Py_RETURN_NONE;
}}
static PyMethodDef methods[] = {{{{\"reset\", (PyCFunction)cache_reset, METH_NOARGS, NULL}}, {{NULL}}}};
static int reset(Cache *self) {{ cache_reset(self, NULL); return 0; }}
static int count(Cache *self, PyObject *value) {{ self->n += PyLong_AsLong(value); return 0; }}
static int again(Cache *self, PyObject *value) {{ return count(self, value) + again(self, value); }}
static int call(Cache *self, PyObject *f) {{ PyObject_CallNoArgs(f); return count(self, f); }}
static int by_pointer(int (*f)(Cache *), Cache *self) {{ return f(self); }}
static int
total(Cache *self, PyObject *out)
{{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    int n;
    if (out == NULL) {{
        PyErr_BadInternalCall();
        return -1;
    }}
    while (PyDict_Next(self->data, &pos, &key, &value)) {{
        {body}
    }}
    return 0;
}}
"
    )
}

#[test]
fn what_a_loop_calls_on_purpose_may_set_the_field() {
    let said = |body: &str| diff(&loop_with(body));
    let is_held = |body: &str| said(body).contains("safe: iterate over `");
    let is_copied = |body: &str| said(body).contains("review: iterate over a copy");
    let needs_review = |body: &str| said(body).contains("no other code sets `self->data`");
    assert!(is_held("self->n++;"));
    assert!(is_held("if (PyList_Append(out, key) < 0) return -1;"));
    assert!(is_held(
        "if (!PyArg_ParseTuple(value, \"Oi\", &key, &n)) return -1;"
    ));
    assert!(is_held("count(self, value);"));
    assert!(is_held("again(self, value);"));
    assert!(is_copied("PyObject_CallNoArgs(value);"));
    assert!(is_copied("call(self, value);"));
    assert!(needs_review("reset(self);"));
    assert!(is_copied("elsewhere(value);"));
    assert!(is_copied("Py_TYPE(value)->tp_iternext(value);"));
    assert!(needs_review("by_pointer(reset, self);"));
    assert!(is_copied("PyObject_GetAttr(value, key);"));
    assert!(needs_review(
        "if (!PyArg_ParseTuple(value, \"O&\", reset, self)) return -1;"
    ));
    assert!(needs_review("Py_XSETREF(self->data, Py_NewRef(out));"));
    assert!(needs_review(
        "if (PyArg_Parse(value, \"O\", &self->data)) n = 0;"
    ));
    // What is called right before the loop ends sets the field of no further turn.
    assert!(is_held("if (key == out) { reset(self); return -1; }"));
    assert!(is_held("PyObject_CallNoArgs(value); break;"));
    assert!(needs_review("if (key == out) { reset(self); continue; }"));
}

#[test]
fn a_field_that_only_new_objects_get_needs_no_review() {
    let text = |made: &str| {
        let text = loop_with("PyObject_CallNoArgs(value);").replace(
            "Py_XSETREF(self->data, PyDict_New());",
            &format!("Cache *new = {made};\n    new->data = PyDict_New();"),
        );
        diff(&text).contains("iterate over a copy")
    };
    assert!(!text("PyObject_New(Cache, &Cache_Type)"));
    assert!(!text("(Cache *)type->tp_alloc(type, 0)"));
    assert!(text("self"));
    assert!(text("find(data)"));
}

#[test]
fn an_array_that_the_loop_fills_holds_no_dict_for_long() {
    let text = |index: &str| {
        diff(&format!(
            "
static int
count(PyObject **tables, PyObject **others, PyObject *other)
{{
    Py_ssize_t pos = 0;
    int n = 0;
    while (PyDict_Next(tables[0], &pos, NULL, NULL)) {{
        n++;
        {index}[0] = other;
    }}
    return n;
}}
"
        ))
    };
    assert!(text("tables").contains("`tables[0]` is assigned in the loop"));
    assert!(!text("others").contains("is assigned in the loop"));
}

#[test]
fn a_field_that_python_code_can_set_is_copied() {
    let member = |flags| {
        let text = format!(
            "static PyMemberDef members[] = {{\n    {{\"data\", T_OBJECT, \
             offsetof(Cache, data), {flags}}},\n    {{NULL}},\n}};\n"
        );
        diff(&format!("{CACHE}{text}")).contains("iterate over a copy of `self->data`")
    };
    assert!(member("0"));
    assert!(!member("READONLY"));
}

#[test]
fn a_field_that_a_helper_of_a_builder_and_of_a_method_sets_is_copied() {
    let text = CACHE
        .replace("self->data = PyDict_New();", "fill(self);")
        .replace("Py_RETURN_NONE;", "fill(self);\n    Py_RETURN_NONE;");
    let fill = "static void fill(Cache *self) { self->data = PyDict_New(); }";
    assert!(diff(&format!("{fill}{text}")).contains("iterate over a copy of `self->data`"));
    let text = CACHE.replace("self->data = PyDict_New();", "fill(self);");
    assert!(!diff(&format!("{fill}{text}")).contains("iterate over a copy"));
}

#[test]
fn a_variable_of_the_file_is_held_under_another_name() {
    let text = r#"
static PyObject *types;

int
forget(PyObject *type)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    if (type == NULL)
        return 0;
    while (PyDict_Next(types, &pos, &key, &value)) {
        if (key == type)
            return 1;
    }
    Py_CLEAR(types);
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    11: `types` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `types`, a variable that all threads share; another thread can change it between two calls
      review: iterate over `types` in a critical section
      assumes that no other thread adds to `types` between the loop and `Py_CLEAR`, which would drop an item that the loop has not seen
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    PyObject *dict;
    +    int stopped = 0;
         if (type == NULL)
             return 0;
    -    while (PyDict_Next(types, &pos, &key, &value)) {
    -        if (key == type)
    -            return 1;
    +    dict = Py_NewRef(types);
    +    Py_BEGIN_CRITICAL_SECTION(dict);
    +    while (PyDict_Next(dict, &pos, &key, &value)) {
    +        if (key == type) {
    +            stopped = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    Py_DECREF(dict);
    +    if (stopped)
    +        return 1;
         Py_CLEAR(types);
         return 0;
    ");
}

/// It may be set where nothing of an object is built.
#[test]
fn a_variable_of_the_file_that_is_assigned_is_held() {
    let text = r#"
static PyObject *types;

static PyObject *
set_types(PyObject *self, PyObject *dict)
{
    Py_XDECREF(types);
    types = dict;
    Py_INCREF(dict);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"set_types", set_types, METH_O, ""}, {NULL}};

int
count(PyObject *type)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    PyObject *dict = types;
    int n = 0;
    while (PyDict_Next(dict, &pos, &key, &value)) {
        if (key == type)
            n++;
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    22: `dict` is iterated over without its lock; another thread may change the dict meanwhile
      22: the dict is `types`, a variable that all threads share; another thread can change it between two calls
      safe: iterate over `dict` in a critical section
    @@
         PyObject *dict = types;
         int n = 0;
    +    Py_INCREF(dict);
    +    Py_BEGIN_CRITICAL_SECTION(dict);
         while (PyDict_Next(dict, &pos, &key, &value)) {
             if (key == type)
                 n++;
         }
    +    Py_END_CRITICAL_SECTION();
    +    Py_DECREF(dict);
         return n;
     }
    ");
}

#[test]
fn a_first_item_is_held_with_its_dict() {
    let text = r#"
static PyObject *
first(Cache *self)
{
    PyObject *key, *value, *result = NULL;
    Py_ssize_t pos = 0;

    if (PyDict_Next(self->data, &pos, &key, &value)) {
        result = PyObject_CallOneArg(key, value);
    }
    return result;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `self->data` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `self->data`, a field that other threads can reach; another thread can change it between two calls
      9: `PyObject_CallOneArg` can run Python code, which may also change the dict
      safe: iterate over `self->data` in a critical section
    @@
         PyObject *key, *value, *result = NULL;
         Py_ssize_t pos = 0;
    +    PyObject *data = Py_NewRef(self->data);
     
    -    if (PyDict_Next(self->data, &pos, &key, &value)) {
    +    Py_BEGIN_CRITICAL_SECTION(data);
    +    if (PyDict_Next(data, &pos, &key, &value)) {
    +        Py_INCREF(key);
    +        Py_INCREF(value);
             result = PyObject_CallOneArg(key, value);
    +        Py_DECREF(value);
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    Py_DECREF(data);
         return result;
     }
    ");
}

#[test]
fn a_first_item_may_have_an_alternative() {
    let text = r#"
static int
first(PyObject *d, PyObject *other)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (PyDict_Next(d, &pos, &key, &value)) {
        if (PyObject_IsTrue(value) < 0)
            return -1;
        take(key);
    } else if (PyObject_IsTrue(other) < 0) {
        return -1;
    } else {
        other = NULL;
    }
    return other != NULL;
}
"#;
    insta::assert_snapshot!(diff(text), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyObject_IsTrue` can run Python code, which may also change the dict
          safe: iterate over `d` in a critical section
        @@
             PyObject *key, *value;
             Py_ssize_t pos = 0;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             if (PyDict_Next(d, &pos, &key, &value)) {
        -        if (PyObject_IsTrue(value) < 0)
        -            return -1;
        +        Py_INCREF(key);
        +        Py_INCREF(value);
        +        if (PyObject_IsTrue(value) < 0) {
        +            Py_DECREF(value);
        +            Py_DECREF(key);
        +            failed = 1;
        +            goto end_section;
        +        }
                 take(key);
        +        Py_DECREF(value);
        +        Py_DECREF(key);
             } else if (PyObject_IsTrue(other) < 0) {
        -        return -1;
        +        failed = 1;
             } else {
                 other = NULL;
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
             return other != NULL;
         }
        ");
}

#[test]
fn an_exit_in_front_of_the_release_jumps_over_it() {
    let text = r#"
static int
drop_first(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    if (PyDict_Next(d, &pos, &key, NULL)) {
        if (PyDict_DelItem(d, key) < 0)
            goto error;
    }
    return 0;
error:
    return -1;
}
"#;
    let said = diff(text);
    let jump = "Py_DECREF(key);\n+            failed = 1;\n+            goto end_section;";
    assert!(said.contains(jump), "{said}");
}

#[test]
fn an_alternative_that_the_size_rules_out_stays_so() {
    let text = |condition: &str| {
        diff(&format!(
            "
static int
first(PyObject *d)
{{
    PyObject *key;
    Py_ssize_t pos = 0;
    int n = 0;
    {condition} {{
        if (PyDict_Next(d, &pos, &key, NULL))
            n = PyObject_IsTrue(key);
        else
            abort();
    }}
    return n;
}}
"
        ))
    };
    // It may be `NULL` where nothing reads it before.
    let skipped = text("if (n == 0 && PyDict_Size(d) == 1)");
    assert!(skipped.contains("`d` has no more items"), "{skipped}");
    for first in ["PyDict_Size", "PyDict_CheckExact(d) && PyDict_Size"] {
        let sized = text(&format!("if ({first}(d) == 1)"));
        let begin = format!("SECTION(d);\n     if ({first}(d)");
        assert!(sized.contains(&begin), "{sized}");
        assert!(sized.contains("safe: iterate over `d`"), "{sized}");
    }
}

#[test]
fn a_private_dict_in_a_macro_needs_no_section() {
    let text = r#"
#define COUNT(dict) \
    while (PyDict_Next(dict, &pos, NULL, NULL)) \
        n++

static PyObject *
f(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t pos = 0, n = 0;

    COUNT(kwargs);
    return PyLong_FromSsize_t(n);
}

static PyMethodDef methods[] = {
    {"f", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};
"#;
    insta::assert_snapshot!(diff(text), @"
    2: a dict is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: `kwargs` holds the keyword arguments, and is created for this call
    ");
    let shared = text.replace("COUNT(kwargs);", "COUNT(kwargs);\n    COUNT(self);");
    let said = diff(&shared);
    assert!(said.contains("the call is in a macro"), "{said}");
}

#[test]
fn a_type_keeps_its_name() {
    let text = r#"
typedef struct { PyObject *entries; } data;
typedef struct { PyObject *data; } Cache;

static PyObject *
count(Cache *self)
{
    Py_ssize_t pos = 0, n = 0;

    while (PyDict_Next(self->data, &pos, NULL, NULL))
        n++;
    ((data *)self)->entries = NULL;
    return PyLong_FromSsize_t(n);
}
"#;
    let said = diff(text);
    assert!(
        said.contains("PyObject *dict = Py_NewRef(self->data);"),
        "{said}"
    );
}

#[test]
fn a_dict_that_is_emptied_behind_the_loop_is_held_until_then() {
    let text = "
static PyObject *
drain(PyObject *self, PyObject *inv)
{
    Py_ssize_t pos = 0;
    PyObject *key, *value;

    while (PyDict_Next(inv, &pos, &key, &value)) {
        if (invalidate(self, key) < 0)
            return NULL;
    }
    PyDict_Clear(inv);
    Py_RETURN_NONE;
}
";
    insta::assert_snapshot!(diff(text), @"
        8: `inv` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `inv`, which the caller passes; another thread can change it between two calls
          9: `invalidate` can run Python code, which may also change the dict
          review: iterate over `inv` in a critical section
          assumes that no other thread adds to `inv` between the loop and `PyDict_Clear`, which would drop an item that the loop has not seen
        @@
             Py_ssize_t pos = 0;
             PyObject *key, *value;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(inv);
             while (PyDict_Next(inv, &pos, &key, &value)) {
        -        if (invalidate(self, key) < 0)
        -            return NULL;
        +        Py_INCREF(key);
        +        if (invalidate(self, key) < 0) {
        +            Py_DECREF(key);
        +            failed = 1;
        +            goto end_section;
        +        }
        +        Py_DECREF(key);
             }
             PyDict_Clear(inv);
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return NULL;
             Py_RETURN_NONE;
         }
        ");
}

#[test]
fn a_test_may_stand_between_the_loop_and_the_clear() {
    let text = "
static int
drain(PyObject *inv)
{
    Py_ssize_t pos = 0;
    PyObject *key;
    long sum = 0;

    while (PyDict_Next(inv, &pos, &key, NULL))
        sum += (long)key;
    if (sum < 0)
        return -1;
    PyDict_Clear(inv);
    return 0;
}
";
    insta::assert_snapshot!(diff(text), @"
        9: `inv` is iterated over without its lock; another thread may change the dict meanwhile
          9: the dict is `inv`, which the caller passes; another thread can change it between two calls
          review: iterate over `inv` in a critical section
          assumes that another reference keeps `key` alive where it is used after the section (line 11)
          assumes that another reference keeps `key` alive in the loop for a later iteration (line 10)
          assumes that no other thread adds to `inv` between the loop and `PyDict_Clear`, which would drop an item that the loop has not seen
        @@
             PyObject *key;
             long sum = 0;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(inv);
             while (PyDict_Next(inv, &pos, &key, NULL))
                 sum += (long)key;
        -    if (sum < 0)
        +    if (sum < 0) {
        +        failed = 1;
        +        goto end_section;
        +    }
        +    PyDict_Clear(inv);
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
                 return -1;
        -    PyDict_Clear(inv);
             return 0;
         }
        ");
}

#[test]
fn a_dict_that_may_be_emptied_or_replaced_after_the_loop_is_for_review() {
    let ends = [
        "if (sum > 0) PyDict_Clear(self->inv);",
        "if (sum > 0) flush(self);",
        "Py_SETREF(self->inv, PyDict_New());",
        "PyObject *old = self->inv; self->inv = PyDict_New(); Py_DECREF(old);",
        "PyObject *all = self->inv; PyDict_Clear(all);",
        "Py_XDECREF(PyObject_CallMethod(self->inv, \"clear\", NULL));",
        "keep(self);",
    ];
    let said = ends.map(|end| {
        let text = format!(
            "
typedef struct {{ PyObject_HEAD PyObject *inv, *other; }} Jar;
static void drop(PyObject *all) {{ PyDict_Clear(all); }}
static void flush(Jar *self) {{ drop(self->inv); }}
static void keep(Jar *self) {{ PyDict_Clear(self->other); self->other = NULL; }}
static int
drain(Jar *self)
{{
    Py_ssize_t pos = 0, sum = 0;

    while (PyDict_Next(self->inv, &pos, NULL, NULL))
        sum++;
    {end}
    return 0;
}}
"
        );
        let said = diff(&text);
        let assumed = said.lines().find(|line| line.contains("assumes"));
        let assumed = assumed.map_or("safe", |it| it.split(" between ").last().unwrap_or(it));
        format!("{end}  /* {assumed} */")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    if (sum > 0) PyDict_Clear(self->inv);  /* the loop and `PyDict_Clear`, which would drop an item that the loop has not seen */
    if (sum > 0) flush(self);  /* the loop and `flush`, which would drop an item that the loop has not seen */
    Py_SETREF(self->inv, PyDict_New());  /* the loop and `Py_SETREF`, which would drop an item that the loop has not seen */
    PyObject *old = self->inv; self->inv = PyDict_New(); Py_DECREF(old);  /* the loop and the assignment of another dict, which would drop an item that the loop has not seen */
    PyObject *all = self->inv; PyDict_Clear(all);  /* the loop and `PyDict_Clear`, which would drop an item that the loop has not seen */
    Py_XDECREF(PyObject_CallMethod(self->inv, "clear", NULL));  /* the loop and `PyObject_CallMethod`, which would drop an item that the loop has not seen */
    keep(self);  /* safe */
    "#);
}

#[test]
fn a_field_that_is_emptied_behind_the_loop_is_for_review() {
    let text = "
typedef struct { PyObject_HEAD PyObject *inv; } Jar;
static int
drain(Jar *self)
{
    Py_ssize_t pos = 0;
    PyObject *key;
    long sum = 0;

    while (PyDict_Next(self->inv, &pos, &key, NULL))
        sum += (long)key;
    PyDict_Clear(self->inv);
    return sum > 0;
}
";
    insta::assert_snapshot!(diff(text), @"
        10: `self->inv` is iterated over without its lock; another thread may change the dict meanwhile
          10: the dict is `self->inv`, a field that other threads can reach; another thread can change it between two calls
          review: iterate over `self->inv` in a critical section
          assumes that another reference keeps `key` alive where it is used after the section (line 13)
          assumes that another reference keeps `key` alive in the loop for a later iteration (line 11)
          assumes that no other thread adds to `self->inv` between the loop and `PyDict_Clear`, which would drop an item that the loop has not seen
        @@
             PyObject *key;
             long sum = 0;
        +    PyObject *inv = Py_NewRef(self->inv);
         
        -    while (PyDict_Next(self->inv, &pos, &key, NULL))
        +    Py_BEGIN_CRITICAL_SECTION(inv);
        +    while (PyDict_Next(inv, &pos, &key, NULL))
                 sum += (long)key;
        +    Py_END_CRITICAL_SECTION();
        +    Py_DECREF(inv);
             PyDict_Clear(self->inv);
             return sum > 0;
        ");
}

#[test]
fn a_variable_that_borrows_from_one_of_the_file_gets_a_reference() {
    let text = "
static PyObject *first, *second;
static PyObject *
set_first(PyObject *self, PyObject *dict)
{
    Py_XSETREF(first, Py_NewRef(dict));
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{\"set_first\", set_first, METH_O, NULL}, {NULL}};
static long
total(int mode)
{
    Py_ssize_t pos = 0;
    PyObject *key;
    long sum = 0;
    PyObject *dict = mode ? first : second;

    while (PyDict_Next(dict, &pos, &key, NULL)) {
        if (key == Py_None)
            return -1;
        sum += (long)key;
    }
    return sum;
}
";
    insta::assert_snapshot!(diff(text), @"
        18: `dict` is iterated over without its lock; another thread may change the dict meanwhile
          18: the dict is `first`, a variable that all threads share; another thread can change it between two calls
          review: iterate over `dict` in a critical section
          assumes that another reference keeps `key` alive where it is used after the section (line 23)
          assumes that another reference keeps `key` alive in the loop for a later iteration (line 21)
        @@
             long sum = 0;
             PyObject *dict = mode ? first : second;
        +    int failed = 0;
         
        +    Py_INCREF(dict);
        +    Py_BEGIN_CRITICAL_SECTION(dict);
             while (PyDict_Next(dict, &pos, &key, NULL)) {
        -        if (key == Py_None)
        -            return -1;
        +        if (key == Py_None) {
        +            failed = 1;
        +            break;
        +        }
                 sum += (long)key;
             }
        +    Py_END_CRITICAL_SECTION();
        +    Py_DECREF(dict);
        +    if (failed)
        +        return -1;
             return sum;
         }
        ");
}

#[test]
fn a_variable_with_a_reference_of_its_own_gets_no_other() {
    let text = "
static PyObject *first;
static PyObject *
set_first(PyObject *self, PyObject *dict)
{
    Py_XSETREF(first, Py_NewRef(dict));
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{\"set_first\", set_first, METH_O, NULL}, {NULL}};
static long
total(void)
{
    Py_ssize_t pos = 0;
    PyObject *key;
    long sum = 0;
    PyObject *dict = first;
    Py_INCREF(dict);
    while (PyDict_Next(dict, &pos, &key, NULL))
        sum += (long)key;
    Py_DECREF(dict);
    return sum;
}
";
    insta::assert_snapshot!(diff(text), @"
        18: `dict` is iterated over without its lock; another thread may change the dict meanwhile
          18: the dict is `first`, a variable that all threads share; another thread can change it between two calls
          review: iterate over `dict` in a critical section
          assumes that another reference keeps `key` alive where it is used after the section (line 21)
          assumes that another reference keeps `key` alive in the loop for a later iteration (line 19)
        @@
             PyObject *dict = first;
             Py_INCREF(dict);
        +    Py_BEGIN_CRITICAL_SECTION(dict);
             while (PyDict_Next(dict, &pos, &key, NULL))
                 sum += (long)key;
        +    Py_END_CRITICAL_SECTION();
             Py_DECREF(dict);
             return sum;
        ");
}

#[test]
fn a_reference_that_is_taken_behind_the_loop_comes_too_late() {
    let text = |first: &str, last: &str| {
        format!(
            "
static PyObject *first;
static PyObject *
set_first(PyObject *self, PyObject *dict)
{{
    Py_XSETREF(first, Py_NewRef(dict));
    Py_RETURN_NONE;
}}
static PyMethodDef methods[] = {{{{\"set_first\", set_first, METH_O, NULL}}, {{NULL}}}};
static PyObject *
last(PyObject *list)
{{
    Py_ssize_t pos = 0;
    PyObject *key;
    PyObject *dict = first;
    {first}
    while (PyDict_Next(dict, &pos, &key, NULL))
        PyList_Append(list, key);
    {last}
    return dict;
}}
"
        )
    };
    let behind = diff(&text("", "Py_INCREF(dict);"));
    assert!(behind.contains("+    Py_INCREF(dict);"), "{behind}");
    assert!(behind.contains("+    Py_DECREF(dict);"), "{behind}");
    let some = diff(&text("if (list) Py_INCREF(dict);", ""));
    assert!(some.contains("+    Py_INCREF(dict);"), "{some}");
    let before = diff(&text("Py_INCREF(dict);", ""));
    assert!(
        before.contains("+    Py_BEGIN_CRITICAL_SECTION(dict);"),
        "{before}"
    );
    assert!(!before.contains("+    Py_INCREF(dict);"), "{before}");
}

#[test]
fn a_dict_that_a_function_of_the_package_lends_is_held() {
    let text = |returned: &str| {
        format!(
            r#"
static PyObject *pick(Options *self) {{ return {returned}; }}
static PyObject *
run(Options *self, PyObject *list)
{{
    PyObject *value, *d = pick(self);
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {{
        if (PyList_Append(list, value) < 0)
            return NULL;
    }}
    Py_RETURN_NONE;
}}
static void set(Options *self, PyObject *d) {{ Py_XSETREF(self->defaults, Py_NewRef(d)); }}
"#
        )
    };
    let lent = diff(&text("self->defaults"));
    assert!(lent.contains("+    Py_INCREF(d);"), "{lent}");
    assert!(lent.contains("+    Py_DECREF(d);"), "{lent}");
}
