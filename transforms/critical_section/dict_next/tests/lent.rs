//! Key and value where the section is suspended: loops in loops, sections of the author's, and
//! references that are released again.

use super::diff;

#[test]
fn what_an_inner_loop_lends_is_not_held_by_the_outer_one() {
    let text = r#"
static PyObject *
add_all(PyObject *list, PyObject *d)
{
    PyObject *k, *v, *k2, *v2;
    Py_ssize_t p = 0, q;
    long n = 0;

    while (PyDict_Next(d, &p, &k, &v)) {
        q = p;
        while (PyDict_Next(d, &q, &k2, &v2)) {
            if (PyList_Append(list, k2) < 0)
                return NULL;
            n += PyObject_Size(v2);
        }
    }
    return PyLong_FromLong(n);
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      14: `PyObject_Size` can run Python code, which may also change the dict
      review: iterate over `d` in a critical section
      assumes that another reference keeps `k2` alive in the loop while calls run Python code
      assumes that another reference keeps `v2` alive in the loop while calls run Python code
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      14: `PyObject_Size` can run Python code, which may also change the dict
      review: iterate over `d` in a critical section
      assumes that another reference keeps `k2` alive in the loop while calls run Python code
      assumes that another reference keeps `v2` alive in the loop while calls run Python code
    @@
         Py_ssize_t p = 0, q;
         long n = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &p, &k, &v)) {
             q = p;
             while (PyDict_Next(d, &q, &k2, &v2)) {
    -            if (PyList_Append(list, k2) < 0)
    -                return NULL;
    +            if (PyList_Append(list, k2) < 0) {
    +                failed = 1;
    +                goto end_section;
    +            }
                 n += PyObject_Size(v2);
             }
         }
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return NULL;
         return PyLong_FromLong(n);
     }
    "##);
}

#[test]
fn a_section_of_the_author_may_be_suspended() {
    let text = r#"
static long
sum(PyObject *list, PyObject *d)
{
    PyObject *k, *v;
    Py_ssize_t p = 0;
    long n = 0;

    Py_BEGIN_CRITICAL_SECTION(d);
    while (PyDict_Next(d, &p, &k, &v)) {
        PyList_Append(list, k);
        n += PyObject_Size(v);
    }
    Py_END_CRITICAL_SECTION();
    return n;
}

static long
sum_of_held(PyObject *list, PyObject *d)
{
    PyObject *k, *v;
    Py_ssize_t p = 0;
    long n = 0;

    Py_BEGIN_CRITICAL_SECTION(d);
    while (PyDict_Next(d, &p, &k, &v)) {
        PyObject *dict_value = Py_NewRef(v);
        if (!PyUnicode_Check(v))
            v = PyObject_Str(v);
        else
            Py_INCREF(v);
        PyList_Append(list, v);
        Py_DECREF(v);
        Py_DECREF(dict_value);
    }
    Py_END_CRITICAL_SECTION();
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r#"
    10: `d` is iterated over without its lock; another thread may change the dict meanwhile
      10: the dict is `d`, which the caller passes; another thread can change it between two calls
      by hand: take references at the top of the loop, and release them wherever its body is left (calls that run Python code or wait for a lock suspend the critical section, and then nothing keeps `k` and `v` alive)
    26: `d` is iterated over without its lock; another thread may change the dict meanwhile
      safe as it is: the critical section that begins on line 25 locks the container while the value is in use
    "#);
}

#[test]
fn a_reference_that_is_released_holds_nothing_behind_that() {
    let text = r#"
static PyObject *
sum(PyObject *list, PyObject *d)
{
    PyObject *k, *v;
    Py_ssize_t p = 0;
    double n = 0;

    while (PyDict_Next(d, &p, &k, &v)) {
        Py_INCREF(v);
        if (PyList_Append(list, v) < 0) {
            Py_DECREF(v);
            return NULL;
        }
        Py_DECREF(v);
        if (PyList_Append(list, Py_None) < 0)
            return NULL;
        n += PyFloat_AS_DOUBLE(v);
    }
    return PyFloat_FromDouble(n);
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      12: `Py_DECREF` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t p = 0;
         double n = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &p, &k, &v)) {
             Py_INCREF(v);
    +        Py_INCREF(v);
             if (PyList_Append(list, v) < 0) {
                 Py_DECREF(v);
    -            return NULL;
    +            Py_DECREF(v);
    +            failed = 1;
    +            break;
             }
             Py_DECREF(v);
    -        if (PyList_Append(list, Py_None) < 0)
    -            return NULL;
    +        if (PyList_Append(list, Py_None) < 0) {
    +            Py_DECREF(v);
    +            failed = 1;
    +            break;
    +        }
             n += PyFloat_AS_DOUBLE(v);
    +        Py_DECREF(v);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return NULL;
         return PyFloat_FromDouble(n);
     }
    "##);
}

#[test]
fn a_reference_to_a_part_holds_no_more_than_the_part() {
    let text = r#"
static long
sum(PyObject *list, PyObject *d)
{
    PyObject *v;
    Py_ssize_t p = 0;
    long n = 0;

    while (PyDict_Next(d, &p, NULL, &v)) {
        PyObject *first = PyTuple_GET_ITEM(v, 0);
        Py_INCREF(first);
        PyList_Append(list, first);
        Py_DECREF(first);
        n += PyTuple_GET_SIZE(v);
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      13: `Py_DECREF` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         long n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &p, NULL, &v)) {
    -        PyObject *first = PyTuple_GET_ITEM(v, 0);
    +        PyObject *first;
    +        Py_INCREF(v);
    +        first = PyTuple_GET_ITEM(v, 0);
             Py_INCREF(first);
             PyList_Append(list, first);
             Py_DECREF(first);
             n += PyTuple_GET_SIZE(v);
    +        Py_DECREF(v);
         }
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn an_item_that_is_released_too_often_is_not_the_value() {
    let said = |released: &str| {
        diff(&format!(
            "
static int
copy(PyObject *d, PyObject *list)
{{
    PyObject *value, *item;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {{
        item = PyTuple_GetItem(value, 0);
        Py_XINCREF(item);
        if (PyList_SetItem(list, 0, item)) {{
            Py_DECREF({released});
            return -1;
        }}
    }}
    return 0;
}}
"
        ))
    };
    // `PyList_SetItem` has released it: wrong as before, and nothing that the loop holds.
    let item = said("item");
    assert!(item.contains("safe: iterate over `d`"), "{item}");
    let value = said("value");
    assert!(
        value.contains("another reference keeps `value` alive"),
        "{value}"
    );
}

#[test]
fn a_dict_that_others_may_set_is_held() {
    let held = |signature: &str, dict: &str| {
        let changed = diff(&format!(
            "
typedef struct {{ PyObject_HEAD PyObject *dicts[2], *dict, *pair; }} Obj;
static PyObject *registry, *tables[4];
static struct {{ PyObject *dict; }} state;
static PyObject *reset(Obj *self, PyObject *to)
{{
    Py_INCREF(to); Py_XSETREF(registry, to);
    Py_INCREF(to); Py_XSETREF(state.dict, to);
    Py_INCREF(to); Py_XSETREF(tables[0], to);
    Py_INCREF(to); Py_XSETREF(self->dicts[0], to);
    Py_INCREF(to); Py_XSETREF(self->dict, to);
    Py_INCREF(to); Py_XSETREF(self->pair, to);
    Py_RETURN_NONE;
}}
static long f({signature})
{{
    {dict}
    PyObject *value;
    Py_ssize_t pos = 0;
    long n = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        n += PyObject_Hash(value);
    return n;
}}
"
        ));
        assert!(changed.contains("SECTION(d);"), "{changed}");
        changed.contains("+    Py_INCREF(d);")
    };
    for dict in [
        "PyObject *d = registry;",
        "PyObject *d = state.dict;",
        "PyObject *d = tables[1];",
        "PyObject *d = self->dicts[0];",
        "PyObject *known = registry, *d = known;",
        "PyObject **slot = _PyObject_GetDictPtr((PyObject *)self), *d = *slot;",
        "PyObject *d = *_PyObject_GetDictPtr((PyObject *)self);",
        "PyObject **dicts = self->dicts, *d = dicts[0];",
        "PyObject *d = (*self).dict;",
        "PyObject *d, *known; d = known = self->dict;",
        "PyObject *d = (touch(), self->dict);",
        "PyObject *d = PyTuple_GetItem(self->pair, 0);",
        "PyObject *d = find_table(0);",
    ] {
        assert!(held("Obj *self", dict), "{dict}");
    }
    assert!(held("PyObject **slots", "PyObject *d = slots[0];"));
    assert!(!held("PyObject *const *args", "PyObject *d = args[0];"));
    assert!(!held(
        "PyObject *args",
        "PyObject *d = PyTuple_GetItem(args, 0);"
    ));
    assert!(!held("PyObject *d", ""));
    assert!(!held("PyObject *arg", "PyObject *d = arg;"));
}

#[test]
fn a_static_variable_of_the_function_is_held() {
    let text = "
static long
count(PyObject *arg)
{
    static PyObject *cache;
    PyObject *value;
    Py_ssize_t pos = 0;
    long n = 0;
    if (arg != NULL)
        Py_XSETREF(cache, Py_NewRef(arg));
    while (PyDict_Next(cache, &pos, NULL, &value))
        n += PyObject_IsTrue(value);
    return n;
}
";
    insta::assert_snapshot!(diff(text), @"
        11: `cache` is iterated over without its lock; another thread may change the dict meanwhile
          11: the dict is `cache`, a variable that all threads share; another thread can change it between two calls
          12: `PyObject_IsTrue` can run Python code, which may also change the dict
          safe: iterate over `cache` in a critical section
        @@
             Py_ssize_t pos = 0;
             long n = 0;
        +    PyObject *dict;
             if (arg != NULL)
                 Py_XSETREF(cache, Py_NewRef(arg));
        -    while (PyDict_Next(cache, &pos, NULL, &value))
        +    dict = Py_NewRef(cache);
        +    Py_BEGIN_CRITICAL_SECTION(dict);
        +    while (PyDict_Next(dict, &pos, NULL, &value)) {
        +        Py_INCREF(value);
                 n += PyObject_IsTrue(value);
        +        Py_DECREF(value);
        +    }
        +    Py_END_CRITICAL_SECTION();
        +    Py_DECREF(dict);
             return n;
         }
        ");
}

#[test]
fn a_dict_whose_owner_goes_by_a_helper_is_held() {
    let held = |helper: &str, call: &str| {
        let changed = diff(&format!(
            "
typedef struct {{ PyObject *result; int n; }} Ctx;
{helper}
static int f(PyObject *func)
{{
    Ctx ctx;
    PyObject *result = PyObject_CallNoArgs(func), *options, *value;
    Py_ssize_t pos = 0;
    if (!PyArg_ParseTuple(result, \"O!\", &PyDict_Type, &options))
        return -1;
    while (PyDict_Next(options, &pos, NULL, &value)) {{
        if (PyObject_IsTrue(value)) {{
            {call}
            return -1;
        }}
    }}
    Py_DECREF(result);
    return 0;
}}
"
        ));
        assert!(changed.contains("SECTION(options);"), "{changed}");
        changed.contains("+    Py_INCREF(options);")
    };
    let drop = "static void drop(PyObject *a, PyObject *b) { Py_XDECREF(a); Py_XDECREF(b); }";
    assert!(held(drop, "drop(result, NULL);"));
    assert!(!held(drop, "drop(func, NULL);"));
    let look = "static int look(PyObject *a) { return PyTuple_Check(a); }";
    assert!(!held(look, "if (look(result)) PyErr_Clear();"));
    let clear = "static void clear(PyObject **a) { Py_CLEAR(*a); }";
    assert!(held(clear, "clear(&result);"));
    assert!(held("", "unseen(result);"));
    // Done behind the section.
    assert!(!held("", "Py_DECREF(result);"));
}

#[test]
fn a_parameter_is_held_if_a_caller_lends_a_field() {
    let held = |arg: &str| {
        let changed = diff(&format!(
            "
typedef struct {{ PyObject_HEAD PyObject *dict; }} Obj;
static int any_true(PyObject *d)
{{
    PyObject *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value)) {{
        if (PyObject_IsTrue(value))
            return 1;
    }}
    return 0;
}}
static PyObject *set(Obj *self, PyObject *to)
{{
    Py_XSETREF(self->dict, Py_NewRef(to));
    return PyLong_FromLong(any_true({arg}));
}}
"
        ));
        assert!(changed.contains("SECTION(d);"), "{changed}");
        changed.contains("+    Py_INCREF(d);")
    };
    assert!(held("self->dict"));
    assert!(!held("to"));
}

#[test]
fn a_section_waits_only_for_a_dict_that_is_alive() {
    let said = diff(
        "
static PyObject *
count(PyObject *self, PyObject *d)
{
    PyObject *k, *v; Py_ssize_t pos = 0;
    long n = 0;
    while (PyDict_Next(d, &pos, &k, &v)) {
        PyObject *k2, *v2; Py_ssize_t pos2 = 0;
        if (!PyDict_Check(v))
            continue;
        while (PyDict_Next(v, &pos2, &k2, &v2)) {
            if (v2 == Py_None)
                goto out;
            if (PyLong_Check(v2))
                n += PyLong_AsLong(v2);
        }
    }
out:
    return PyLong_FromLong(n);
}
",
    );
    let inner: Vec<&str> = said
        .lines()
        .skip_while(|line| !line.contains("`v` is iterated over"))
        .collect();
    insta::assert_snapshot!(inner[..5].join("\n"), @r#"
    11: `v` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is the result of `PyDict_Next()`; another thread can change it between two calls
      15: `PyLong_AsLong` can run Python code, which may also change the dict
      review: iterate over `v` in a critical section
      assumes that `v`, which is borrowed from the outer loop, stays alive while the section waits for its lock
    "#);
}
