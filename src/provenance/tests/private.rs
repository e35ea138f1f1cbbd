//! Containers made here, immutable ones, keyword arguments.

use super::of;

/// A function that makes `list`, runs `body`, and a method table that it is not in.
fn with_list(body: &str) -> String {
    of(&format!(
        "PyObject *f(PyObject *self, PyObject *p) {{\n    PyObject *list = PyList_New(0), *v;\n{body}}}\n"
    ))
}

/// A method with keyword arguments.
fn with_kwargs(body: &str) -> String {
    with_kwargs_and(body, "")
}

fn with_kwargs_and(body: &str, more: &str) -> String {
    of(&format!(
        "static PyObject *f(PyObject *self, PyObject *args, PyObject *kwargs) {{\n    PyObject *v;\n{body}}}\n\
         static PyMethodDef m[] = {{{{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, NULL}}}};\n{more}"
    ))
}

#[test]
fn a_new_list_is_private() {
    insta::assert_snapshot!(with_list("    fill(p);\n    v = PyList_GetItem(list, 0);\n    use(v);\n    Py_DECREF(list);\n    return NULL;\n"), @"
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    ");
}

#[test]
fn it_may_be_returned_after_the_last_use() {
    insta::assert_snapshot!(with_list("    v = PyList_GetItem(list, 0);\n    use(v);\n    return list;\n"), @"
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    ");
}

#[test]
fn it_may_not_be_given_away_before() {
    insta::assert_snapshot!(with_list("    self->list = list;\n    v = PyList_GetItem(list, 0);\n    return NULL;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 3");
}

#[test]
fn it_may_not_be_given_away_while_the_value_is_in_use() {
    insta::assert_snapshot!(with_list("    v = PyList_GetItem(list, 0);\n    publish(list);\n    use(v);\n    return NULL;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 4");
}

#[test]
fn its_reference_may_move_out_of_it() {
    let moved = |out: &str| {
        with_list(&format!(
            "    v = PyList_GET_ITEM(list, 0);\n    use(v);\n    {out}\n    return list;\n"
        ))
    };
    let all = [
        "PyList_SET_ITEM(list, 0, p); Py_DECREF(v);",
        "PyList_SET_ITEM(list, 0, NULL); PyTuple_SET_ITEM(p, 0, v);",
        "PyList_SET_ITEM(list, 0, p); use(v); Py_DECREF(v);",
        "PyList_SetItem(list, 0, p); Py_DECREF(v);",
    ];
    insta::assert_snapshot!(all.map(moved).concat(), @"
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    f: shared, a container that is made here, and passed on or emptied on line 5
    f: shared, a container that is made here, and passed on or emptied on line 5
    ");
}

#[test]
fn an_unknown_call_that_gets_both_uses_the_value() {
    insta::assert_snapshot!(with_list("    publish(list, PyList_GetItem(list, 0));\n    return NULL;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 3");
}

#[test]
fn it_may_be_given_away_once_the_value_has_its_own_reference() {
    insta::assert_snapshot!(with_list("    v = PyList_GetItem(list, 0);\n    Py_INCREF(v);\n    publish(list);\n    use(v);\n    return NULL;\n"), @"
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    ");
}

#[test]
fn a_pointer_into_the_value_is_a_use() {
    insta::assert_snapshot!(with_list("    const char *s = PyUnicode_AsUTF8(PyList_GetItem(list, 0));\n    publish(list);\n    use(s);\n    return NULL;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 4");
}

#[test]
fn an_object_that_is_released_is_no_pointer_into_the_value() {
    let with = |end: &str| {
        with_list(&format!(
            "    v = encode(PyList_GetItem(list, 0));\n    Py_DECREF(list);\n    use(v);\n{end}    return NULL;\n"
        ))
    };
    insta::assert_snapshot!(with("    Py_DECREF(v);\n"), @"
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        ");
    insta::assert_snapshot!(with(""), @"
        f: shared, a container that is made here, and passed on or emptied on line 4
        ");
}

#[test]
fn a_value_that_is_stored_is_in_use_for_ever() {
    insta::assert_snapshot!(with_list("    self->first = PyList_GetItem(list, 0);\n    return list;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 4");
}

#[test]
fn filling_a_container_does_not_share_it() {
    insta::assert_snapshot!(with_list("    PyList_Append(list, p);\n    v = PyList_GetItem(list, 0);\n    PyList_SetItem(list, 1, v);\n    return NULL;\n"), @"
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    ");
}

#[test]
fn putting_it_into_another_container_shares_it() {
    insta::assert_snapshot!(with_list("    PyDict_SetItemString(p, \"list\", list);\n    v = PyList_GetItem(list, 0);\n    return NULL;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 3");
}

#[test]
fn a_copy_of_the_variable_is_followed() {
    insta::assert_snapshot!(with_list("    PyObject *other = (PyObject *)list;\n    global = other;\n    v = PyList_GetItem(list, 0);\n    return NULL;\n"), @"f: shared, a container that is made here, and passed on or emptied on line 4");
}

#[test]
fn its_address_is_as_good_as_itself() {
    insta::assert_snapshot!(with_list("    publish(&list);\n    v = PyList_GetItem(list, 0);\n    return NULL;\n"), @"f: shared, the result of `publish()`");
}

#[test]
fn each_turn_of_a_loop_makes_another_one() {
    let body = "    for (int i = 0; i < 3; i++) {\n        PyObject *d = PyDict_New();\n        v = PyDict_GetItem(d, p);\n        publish(d);\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"
    f: Fresh, the container is made by `PyDict_New()` on line 4, and no other code has it while the value is in use
    ");
}

#[test]
fn one_turn_gives_away_what_the_next_one_looks_at() {
    let body = "    for (int i = 0; i < 3; i++) {\n        v = PyList_GetItem(list, i);\n        publish(list);\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"f: shared, a container that is made here, and passed on or emptied on line 5");
}

#[test]
fn both_branches_must_be_private() {
    insta::assert_snapshot!(with_list("    if (p) list = get(p);\n    v = PyList_GetItem(list, 0);\n    return NULL;\n"), @"f: shared, the result of `get()`");
}

#[test]
fn a_branch_that_leaves_null_does_not_count() {
    insta::assert_snapshot!(with_list("    PyObject *d = NULL;\n    if (p) d = PyDict_Copy(p);\n    v = PyDict_GetItem(d, p);\n    return NULL;\n"), @"
    f: Fresh, the container is made by `PyDict_Copy()` on line 4, and no other code has it while the value is in use
    ");
}

#[test]
fn dict_next_is_in_use_as_long_as_the_loop_reads_its_key() {
    let body = "    PyObject *d = PyDict_Copy(p), *k;\n    Py_ssize_t i = 0;\n    while (PyDict_Next(d, &i, &k, &v)) {\n        publish(d);\n        use(k);\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"f: shared, a container that is made here, and passed on or emptied on line 6");
}

#[test]
fn keyword_arguments_are_private_to_the_call() {
    insta::assert_snapshot!(with_kwargs("    PyArg_ParseTupleAndKeywords(args, kwargs, \"\", names);\n    v = PyDict_GetItemString(kwargs, \"a\");\n    return PyLong_FromLong(PyLong_AsLong(v));\n"), @"
    f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call
    ");
}

#[test]
fn keyword_arguments_that_are_kept_are_not() {
    insta::assert_snapshot!(with_kwargs("    self->kwargs = kwargs;\n    v = PyDict_GetItemString(kwargs, \"a\");\n    return NULL;\n"), @"f: shared, `kwargs`, which the caller passes");
}

#[test]
fn keyword_arguments_that_are_handed_on_are_not() {
    insta::assert_snapshot!(with_kwargs("    PyObject_Call(self, args, kwargs);\n    v = PyDict_GetItemString(kwargs, \"a\");\n    return NULL;\n"), @"f: shared, `kwargs`, which the caller passes");
}

#[test]
fn keyword_arguments_of_an_initialiser_may_be_those_of_others() {
    let text = "static int init(PyObject *self, PyObject *args, PyObject *kw) {\n    use(PyDict_GetItemString(kw, \"a\"));\n    return 0;\n}\n\
        static PyTypeObject T = {.tp_init = (initproc)init};\n";
    insta::assert_snapshot!(of(text), @"init: shared, `kw`, which the caller passes");
}

#[test]
fn items_of_the_argument_tuple_are_arguments() {
    let body = "    PyObject *fast = PySequence_Fast(args, \"\");\n    use(PySequence_Fast_GET_ITEM(fast, 0));\n    v = PyList_GetItem(PyTuple_GET_ITEM(args, 0), 0);\n    return NULL;\n";
    insta::assert_snapshot!(with_kwargs(body), @"
    f: Immutable, `args` is the tuple of the arguments
    f: shared, an argument that Python code passes
    ");
}

#[test]
fn a_sequence_is_itself_where_it_is_a_list() {
    let body = "    PyObject *a = PySequence_Fast(p, \"\"), *b = PySequence_Fast(list, \"\");\n    use(PySequence_Fast_GET_ITEM(a, 0));\n    use(PySequence_Fast_GET_ITEM(b, 0));\n    use(PySequence_Fast_GET_ITEM(PySequence_Tuple(p), 0));\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"
    f: shared, `p`, which the caller passes
    f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
    f: Immutable, `PySequence_Tuple()` on line 6 returns a tuple
    ");
}

/// What is known of the items of `p`, and of what `PySequence_Fast` makes of it, behind `check`.
fn behind(check: &str) -> String {
    let reads = "        use(PySequence_Fast_GET_ITEM(p, 0));\n        fast = PySequence_Fast(p, \"\");\n        use(PySequence_Fast_GET_ITEM(fast, 0));\n";
    with_list(&format!(
        "    PyObject *fast;\n    {check} {{\n{reads}    }}\n    return NULL;\n"
    ))
}

#[test]
fn a_tuple_is_checked_by_a_branch() {
    insta::assert_snapshot!(behind("if (PyTuple_CheckExact(p))"), @"
        f: Immutable, line 4 ensures that it is a tuple
        f: Immutable, line 4 ensures that it is a tuple
        ");
    insta::assert_snapshot!(behind("if (PyTuple_Check(p))"), @"
        f: Immutable, line 4 ensures that it is a tuple
        f: shared, `p`, which the caller passes
        ");
    insta::assert_snapshot!(behind("if (list && PyTuple_CheckExact(p) && v)"), @"
        f: Immutable, line 4 ensures that it is a tuple
        f: Immutable, line 4 ensures that it is a tuple
        ");
    let shared = behind("if (1)");
    assert_eq!(behind("if (PyTuple_CheckExact(p) || v)"), shared);
    assert_eq!(behind("if (!PyTuple_CheckExact(p))"), shared);
    assert_eq!(behind("if (PyTuple_CheckExact(list))"), shared);
    assert_eq!(behind("PyTuple_CheckExact(p);"), shared);
    let another = behind("if (PyTuple_CheckExact(p)) p = other(v);");
    assert!(!another.contains("Immutable"), "{another}");
    let again = "    while (PyTuple_CheckExact(p)) {\n        p = other(p);\n        use(PySequence_Fast_GET_ITEM(p, 0));\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(again), @"
        f: shared, the result of `other()`
        ");
}

#[test]
fn what_the_function_stores_for_its_caller_is_checked_by_a_branch() {
    let stored = |set: &str, between: &str| {
        let body = format!(
            "{{\n    PyObject *fast;\n    {set}\n    if (PyTuple_CheckExact(*out)) {{\n        {between}\n        fast = PySequence_Fast(*out, \"\");\n        use(PySequence_Fast_GET_ITEM(fast, 0));\n    }}\n}}\n"
        );
        of(&format!(
            "void f(PyObject **out, PyObject **other, PyObject *o)\n{body}"
        ))
    };
    insta::assert_snapshot!(stored("*out = o;", ""), @"
        f: Immutable, line 5 ensures that it is a tuple
        ");
    let shared = stored("", "");
    assert!(shared.contains("shared"), "{shared}");
    assert_eq!(stored("*other = o;", ""), shared);
    assert_eq!(stored("*out = o;", "*other = o;"), shared);
    assert_eq!(stored("*out = o;", "use(o);"), shared);
    assert_eq!(stored("*out = o;", "out = other;"), shared);
}

#[test]
fn a_parsed_tuple_is_checked_by_its_format() {
    let body = "    PyObject *t, *o;\n    PyArg_ParseTuple(args, \"O!O\", &PyTuple_Type, &t, &o);\n    use(PySequence_Fast_GET_ITEM(t, 0));\n    use(PySequence_Fast_GET_ITEM(o, 0));\n    return NULL;\n";
    insta::assert_snapshot!(with_kwargs(body), @"
    f: Immutable, `PyArg_ParseTuple()` on line 4 accepts only a tuple
    f: shared, an argument that Python code passes
    ");
}

#[test]
fn a_reference_to_an_item_of_the_value_does_not_keep_the_value() {
    let body = "    v = PyList_GetItem(list, 0);\n    Py_INCREF(PyTuple_GET_ITEM(v, 0));\n    publish(list);\n    use(v);\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"f: shared, a container that is made here, and passed on or emptied on line 5");
}

#[test]
fn a_second_variable_keeps_the_container_of_the_turn_before() {
    let body = "    PyObject *last = NULL, *d;\n    for (int i = 0; i < 3; i++) {\n        d = PyDict_New();\n        if (last) use(PyDict_GetItem(last, p));\n        last = d;\n        publish(d);\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"f: shared, a container that is made here, and passed on or emptied on line 8");
}

#[test]
fn a_key_is_not_kept_by_a_reference_to_its_value() {
    let body = "    PyObject *d = PyDict_Copy(p), *k;\n    Py_ssize_t i = 0;\n    while (PyDict_Next(d, &i, &k, &v)) {\n        Py_INCREF(v);\n        publish(d);\n        use(k);\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"f: shared, a container that is made here, and passed on or emptied on line 7");
}

/// What a type of Python does with the keywords is known; what another does is not.
#[test]
fn keyword_arguments_that_go_to_the_base_type_first() {
    insta::assert_snapshot!(with_kwargs("    PyList_Type.tp_new(type, args, kwargs);\n    v = PyDict_GetItemString(kwargs, \"a\");\n    return NULL;\n"), @"
        f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call
        ");
    insta::assert_snapshot!(with_kwargs("    type->tp_base->tp_new(type, args, kwargs);\n    v = PyDict_GetItemString(kwargs, \"a\");\n    return NULL;\n"), @"
        f: shared, `kwargs`, which the caller passes
        ");
}

#[test]
fn parts_of_a_string() {
    insta::assert_snapshot!(with_kwargs("    PyObject *parts = PyUnicode_RSplit(self, dot, 1);\n    v = PyList_GetItem(parts, 0);\n    return PyLong_FromLong(PyLong_AsLong(v));\n"), @"
        f: Fresh, the container is made by `PyUnicode_RSplit()` on line 3, and no other code has it while the value is in use
        ");
}

#[test]
fn a_helper_that_makes_a_list_or_no_container() {
    let with = |other: &str| {
        of(&format!(
            "static PyObject *made(int kind) {{\n    if (kind == 1) {{ {other} }}\n    \
             return PyList_New(0);\n}}\n\
             PyObject *f(int kind) {{\n    PyObject *list = made(kind);\n    \
             PyObject *v = PyList_GetItem(list, 0);\n    use(v);\n    return list;\n}}\n"
        ))
    };
    for other in [
        "return NULL;",
        "return PyLong_FromLong(1);",
        "Py_RETURN_NONE;",
    ] {
        assert!(
            with(other).starts_with("f: Fresh"),
            "{other}: {}",
            with(other)
        );
    }
    assert!(
        with("return known;").starts_with("f: shared"),
        "{}",
        with("return known;")
    );
}

#[test]
fn taking_items_out_shows_it_to_nobody() {
    insta::assert_snapshot!(with_list("    PyList_SetItem(list, 0, p);\n    PySequence_DelItem(list, 1);\n    PySequence_DelSlice(list, 0, 2);\n    PyObject_SetItem(list, p, p);\n    v = PyList_GetItem(list, 0);\n    use(v);\n    PyObject_DelItem(list, p);\n    return NULL;\n"), @"
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        ");
}

/// Whoever else has the item may release it then.
#[test]
fn an_item_may_not_be_taken_out_while_it_is_in_use() {
    for removes in [
        "PySequence_DelItem(list, 0)",
        "PyList_SetItem(list, 0, p)",
        "PyList_SetSlice(list, 0, 1, NULL)",
        "Py_DECREF(list)",
    ] {
        let body = format!(
            "    v = PyList_GetItem(list, 0);\n    {removes};\n    use(v);\n    return NULL;\n"
        );
        assert_eq!(
            with_list(&body).trim(),
            "f: shared, a container that is made here, and passed on or emptied on line 4"
        );
        let body = format!(
            "    v = PyList_GetItem(list, 0);\n    use(v);\n    {removes};\n    return NULL;\n"
        );
        assert!(with_list(&body).starts_with("f: Fresh"), "{removes}");
        let body = format!(
            "    v = PyList_GetItem(list, 0);\n    Py_INCREF(v);\n    {removes};\n    use(v);\n    return NULL;\n"
        );
        assert!(with_list(&body).starts_with("f: Fresh"), "{removes}");
    }
}

#[test]
fn more_items_may_come_while_one_is_in_use() {
    insta::assert_snapshot!(with_list("    v = PyList_GetItem(list, 0);\n    PyList_Append(list, p);\n    PyList_Insert(list, 0, p);\n    use(v);\n    return NULL;\n"), @"
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        ");
}

#[test]
fn an_item_of_what_may_be_no_list_is_shared() {
    insta::assert_snapshot!(with_list("    PySequence_DelItem(p, 0);\n    PyObject_SetItem(p, p, list);\n    v = PyList_GetItem(list, 0);\n    use(v);\n    return NULL;\n"), @"
        f: shared, a container that is made here, and passed on or emptied on line 4
        ");
}

#[test]
fn an_item_is_in_use_until_its_variable_gets_another_value() {
    insta::assert_snapshot!(with_list("    v = PyList_GetItem(list, 0);\n    if (!v)\n        v = PyLong_FromLong(0);\n    else\n        return NULL;\n    PyList_SetItem(list, 0, v);\n    use(v);\n    return NULL;\n"), @"
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        ");
}

#[test]
fn the_length_of_an_item_stays() {
    insta::assert_snapshot!(with_list("    long n = PyLong_AsLong(PyList_GetItem(list, 0));\n    size_t size = strlen(PyUnicode_AsUTF8(PyList_GetItem(list, 1)));\n    Py_DECREF(list);\n    use(n, size);\n    return NULL;\n"), @"
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        ");
}

#[test]
fn each_turn_of_a_loop_looks_up_another_item() {
    let body = "    for (int i = 0; i < 3; i++) {\n        v = PyList_GetItem(list, i);\n        if (v)\n            use(v);\n        else\n            PyList_SetItem(list, i, p);\n    }\n    return NULL;\n";
    insta::assert_snapshot!(with_list(body), @"
        f: Fresh, the container is made by `PyList_New()` on line 2, and no other code has it while the value is in use
        ");
}

/// Seen in CPython 3.13: `f(**d)` makes a dict, `PyObject_Call(f, args, d)` passes `d` on.
#[test]
fn keyword_arguments_that_the_package_itself_passes_to_what_it_calls() {
    let passing = |body: &str| {
        let helper = "static PyObject *via(PyObject *f, PyObject *a, PyObject *k) { return PyObject_Call(f, a, k); }";
        let call = format!(
            "static PyObject *call(Foo *self, PyObject *args, PyObject *kw) {{ PyObject *d; {body} }}"
        );
        let table = "static PyTypeObject T = {.tp_call = (ternaryfunc)call};";
        let reads = "    v = PyDict_GetItemString(kwargs, \"a\");\n    return PyLong_FromLong(PyLong_AsLong(v));\n";
        with_kwargs_and(reads, &format!("{helper}\n{call}\n{table}\n"))
    };
    insta::assert_snapshot!(passing("return PyObject_Call(self->f, args, kw);"), @"f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call");
    insta::assert_snapshot!(passing("return PyObject_Call(self->f, args, NULL);"), @"f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call");
    insta::assert_snapshot!(passing("return via(self->f, args, kw);"), @"f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call");
    insta::assert_snapshot!(passing("d = PyDict_New(); return via(self->f, args, d);"), @"f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call");
    insta::assert_snapshot!(passing("return PyObject_Call(self->f, args, self->kw);"), @"f: shared, `kwargs`, which the caller passes");
    insta::assert_snapshot!(passing("return via(self->f, args, self->kw);"), @"f: shared, `kwargs`, which the caller passes");
    insta::assert_snapshot!(passing("d = PyDict_New(); self->kw = d; return PyObject_Call(self->f, args, d);"), @"f: shared, `kwargs`, which the caller passes");
    insta::assert_snapshot!(passing("self->kw = kw; return PyObject_Call(self->f, args, kw);"), @"f: shared, `kwargs`, which the caller passes");
}

/// The same without the name of a function that is known to do so.
#[test]
fn keyword_arguments_that_the_package_passes_by_a_pointer() {
    let passing = |more: &str, body: &str| {
        let call =
            format!("static PyObject *call(Foo *self, PyObject *args, PyObject *kw) {{ {body} }}");
        let reads = "    v = PyDict_GetItemString(kwargs, \"a\");\n    return PyLong_FromLong(PyLong_AsLong(v));\n";
        let table = "static PyTypeObject T = {.tp_call = (ternaryfunc)call};";
        with_kwargs_and(reads, &format!("{more}\n{call}\n{table}\n"))
    };
    let shared = "f: shared, `kwargs`, which the caller passes";
    let own = "f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call";
    let local = "PyCFunctionWithKeywords p = PyCFunction_GetFunction(self->f);";
    let field = "typedef struct { PyObject_HEAD ternaryfunc go; PyObject *f, *kw; } Foo;";
    let cases = [
        ("", "return Py_TYPE(self->f)->tp_call(self->f, args, self->kw);".to_owned(), shared),
        ("", "return Py_TYPE(self->f)->tp_call(self->f, args, kw);".to_owned(), own),
        ("", format!("{local} return p(self->f, args, self->kw);"), shared),
        ("", format!("{local} return (*p)(self->f, args, self->kw);"), shared),
        ("", "return ((PyCFunctionWithKeywords)self->def->ml_meth)(self, args, self->kw);".to_owned(), shared),
        (field, "return self->go(self->f, args, self->kw);".to_owned(), shared),
        ("", "return self->setter(self->f, args, self->kw);".to_owned(), own),
        ("static PyObject *(*go)(PyObject *, PyObject *, PyObject *) = PyObject_Call;", "return go(self->f, args, self->kw);".to_owned(), shared),
        ("", "return PyObject_CallMethod(threads, \"start_new_thread\", \"OOO\", self->f, args, self->kw);".to_owned(), shared),
    ];
    for (more, body, expected) in cases {
        assert_eq!(passing(more, &body).trim_end(), expected, "{body}");
    }
}

/// What calls a type may have the dict from anywhere: `cls.__new__(cls, *args, **d)` of `pickle`.
#[test]
fn keyword_arguments_that_a_type_passes_on() {
    let passing = |slot: &str| {
        with_kwargs_and(
            "    v = PyDict_GetItemString(kwargs, \"a\");\n    return PyLong_FromLong(PyLong_AsLong(v));\n",
            &format!(
                "static PyObject *go(PyObject *self, PyObject *args, PyObject *kw) {{ return PyObject_Call(maker, args, kw); }}\n\
                 static PyTypeObject T = {{.{slot} = go}};\n"
            ),
        )
    };
    insta::assert_snapshot!(passing("tp_call"), @"f: Kwargs, `kwargs` holds the keyword arguments, and is created for this call");
    insta::assert_snapshot!(passing("tp_new"), @"f: shared, `kwargs`, which the caller passes");
}
