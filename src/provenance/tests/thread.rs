//! The dict of the thread that runs.

use super::of;

const LOOK: &str = "    PyObject *v, *dict = PyThreadState_GetDict();
    if (dict == NULL) return NULL;
    v = PyDict_GetItem(dict, key);
";

/// A function that looks something up in the dict of its thread, with what follows.
fn with(rest: &str) -> String {
    of(&format!(
        "static PyObject *get(PyObject *key) {{\n{LOOK}{rest}}}\n\
         PyObject *f(Foo *self) {{ PyObject *v = get(name); use(v); return NULL; }}\n"
    ))
}

#[test]
fn no_other_thread_gets_it() {
    let made = "    if (v != NULL) return v;
    v = PyList_New(0);
    if (PyDict_SetItem(dict, key, v) < 0) return NULL;
    Py_DECREF(v);
    return v;
";
    insta::assert_snapshot!(
        [with("    return v;\n"), with(made), with("    return PyLong_FromVoidPtr(v);\n")].concat(),
        @"
        get: OwnThread, `PyThreadState_GetDict()` on line 2 returns the dict of this thread, which no other thread gets
        get: OwnThread, `PyThreadState_GetDict()` on line 2 returns the dict of this thread, which no other thread gets
        get: OwnThread, `PyThreadState_GetDict()` on line 2 returns the dict of this thread, which no other thread gets
        "
    );
}

#[test]
fn it_may_not_be_given_away() {
    let kept = [
        "    cached_dict = dict; return v;\n",
        "    publish(dict); return v;\n",
        "    return use(v) ? dict : NULL;\n",
    ];
    insta::assert_snapshot!(kept.map(with).concat(), @"
        get: shared, a dict of the interpreter
        get: shared, a dict of the interpreter
        get: shared, a dict of the interpreter
        ");
}

#[test]
fn nor_lose_the_value_while_that_is_in_use() {
    insta::assert_snapshot!(with("    PyDict_Clear(dict);\n    use(v);\n    return NULL;\n"), @"get: shared, a dict of the interpreter");
}

#[test]
fn nor_may_what_it_lends_be_kept_where_others_find_it() {
    let caller = |body: &str, open: &str| {
        of(&format!(
            "{open}PyObject *get(PyObject *key) {{\n{LOOK}    return v;\n}}\n\
             PyObject *f(Foo *self) {{ PyObject *v = get(name); {body} }}\n"
        ))
    };
    let kept = [
        with("    last = v;\n    return NULL;\n"),
        caller("self->last = v; return NULL;", "static "),
        caller("return v;", "static "),
        caller("use(v); return NULL;", ""),
        caller("Py_INCREF(v); self->last = v; return NULL;", "static "),
    ];
    insta::assert_snapshot!(kept.concat(), @"
        get: shared, a dict of the interpreter
        get: shared, a dict of the interpreter
        get: shared, a dict of the interpreter
        get: shared, a dict of the interpreter
        get: OwnThread, `PyThreadState_GetDict()` on line 2 returns the dict of this thread, which no other thread gets
        ");
}

#[test]
fn another_dict_in_its_place_is_shared() {
    let text = "PyObject *f(PyObject *key) {
    PyObject *dict = PyThreadState_GetDict();
    if (dict == NULL) dict = PyEval_GetBuiltins();
    use(PyDict_GetItem(dict, key));
    return NULL;
}
";
    insta::assert_snapshot!(of(text), @"f: shared, a dict of the interpreter");
}
