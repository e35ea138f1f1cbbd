//! Items of a sequence that are read through a pointer while Python code may run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::tree::Tree;

/// The patch of a function that returns -1 for an error, with `body`; the reasons where there is
/// none.
fn patch(body: &str) -> String {
    let text = format!(
        "#include <Python.h>
static int put(Sink *sink, PyObject *item) {{ return PyObject_SetItem(sink->all, item, item); }}
int fill(Sink *sink, PyObject *list)
{{
{body}
}}
"
    );
    let tree = Tree::new(&[("sink.c", text.as_bytes())]);
    let options = ["--select", "UG107", "--min-python", "3.13"];
    let patch = tree.ungil(&[&["diff"][..], &options].concat());
    let told = tree.ungil(&[&["check"][..], &options].concat());
    let (patch, told) = (patch.text(), told.text());
    let lines = patch.lines().skip_while(|line| !line.starts_with("@@"));
    let reasons = told.lines().filter(|line| {
        ["by hand: ", "review fix"]
            .iter()
            .any(|word| line.contains(word))
    });
    let all: Vec<&str> = lines
        .chain(reasons.map(str::trim))
        .map(str::trim_end)
        .collect();
    all.join("\n")
}

#[test]
fn items_by_their_index() {
    insta::assert_snapshot!(patch(r#"    PyObject *fast = PySequence_Fast(list, "no list"), **items, *first;
    Py_ssize_t i, n;
    if (fast == NULL)
        return -1;
    n = PySequence_Fast_GET_SIZE(fast);
    items = PySequence_Fast_ITEMS(fast);
    for (i = 0; i < n; i++) {
        first = *items;
        if (PyObject_Hash(*(items + i)) < 0 || PyObject_Hash(first) < 0) {
            Py_DECREF(fast);
            return -1;
        }
    }
    Py_DECREF(fast);
    return 0;"#), @r#"
        @@ -2,18 +2,32 @@
         static int put(Sink *sink, PyObject *item) { return PyObject_SetItem(sink->all, item, item); }
         int fill(Sink *sink, PyObject *list)
         {
        -    PyObject *fast = PySequence_Fast(list, "no list"), **items, *first;
        +    PyObject *fast = PySequence_Fast(list, "no list"), *first;
             Py_ssize_t i, n;
             if (fast == NULL)
                 return -1;
             n = PySequence_Fast_GET_SIZE(fast);
        -    items = PySequence_Fast_ITEMS(fast);
             for (i = 0; i < n; i++) {
        -        first = *items;
        -        if (PyObject_Hash(*(items + i)) < 0 || PyObject_Hash(first) < 0) {
        +        PyObject *item;
        +        first = PySequence_GetItem(fast, 0);
        +        if (first == NULL) {
        +            Py_DECREF(fast);
        +            return -1;
        +        }
        +        item = PySequence_GetItem(fast, i);
        +        if (item == NULL) {
        +            Py_DECREF(first);
                     Py_DECREF(fast);
                     return -1;
                 }
        +        if (PyObject_Hash(item) < 0 || PyObject_Hash(first) < 0) {
        +            Py_DECREF(item);
        +            Py_DECREF(first);
        +            Py_DECREF(fast);
        +            return -1;
        +        }
        +        Py_DECREF(item);
        +        Py_DECREF(first);
             }
             Py_DECREF(fast);
             return 0;
        "#);
}

#[test]
fn a_sequence_of_the_caller() {
    insta::assert_snapshot!(patch("    PyObject **items = PySequence_Fast_ITEMS(list);
    Py_ssize_t i, n = PySequence_Fast_GET_SIZE(list);
    for (i = 0; i < n; i++)
        if (put(sink, items[i]) < 0)
            return -1;
    return 0;"), @"
        @@ -2,10 +2,19 @@
         static int put(Sink *sink, PyObject *item) { return PyObject_SetItem(sink->all, item, item); }
         int fill(Sink *sink, PyObject *list)
         {
        -    PyObject **items = PySequence_Fast_ITEMS(list);
             Py_ssize_t i, n = PySequence_Fast_GET_SIZE(list);
        -    for (i = 0; i < n; i++)
        -        if (put(sink, items[i]) < 0)
        +    for (i = 0; i < n; i++) {
        +        PyObject *item = PyList_Check(list)
        +            ? PyList_GetItemRef(list, i)
        +            : Py_NewRef(PyTuple_GET_ITEM(list, i));
        +        if (item == NULL) {
                     return -1;
        +        }
        +        if (put(sink, item) < 0) {
        +            Py_DECREF(item);
        +            return -1;
        +        }
        +        Py_DECREF(item);
        +    }
             return 0;
         }
        ");
}

/// What becomes of the pointer `items` that is used by `uses`.
fn of_pointer(uses: &str) -> String {
    patch(&format!(
        "    PyObject **items = PySequence_Fast_ITEMS(list);
    Py_ssize_t i, n = PySequence_Fast_GET_SIZE(list);
    for (i = 0; i < n; i++)
        if (put(sink, items[i]) < 0)
            return -1;
{uses}
    return 0;"
    ))
}

#[test]
fn a_pointer_that_is_more_than_read() {
    let stays = |uses: &str| {
        let patch = of_pointer(uses);
        assert!(patch.starts_with("= by hand: "), "{patch}");
    };
    stays("    sink->items = items;");
    stays("    sort(items, n);");
    stays("    items[0] = sink->all;");
    stays("    sink->first = &items[0];");
    stays("    items++;");
    stays("    list = sink->list;\n    put(sink, items[0]);");
    stays("    sink->last = items[0];");
    assert!(
        of_pointer("    if (put(sink, items[0]) < 0)\n        return -1;")
            .contains("PyList_GetItemRef(list, 0)")
    );
}

#[test]
fn pointers_that_walk() {
    insta::assert_snapshot!(patch("    PyObject **keys = PySequence_Fast_ITEMS(list), **items, **to = sink->rows;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    for (items = PySequence_Fast_ITEMS(list); n > 0; n--, to++, items++)
        if (put(sink, to[0]) < 0)
            return -1;
    items = PySequence_Fast_ITEMS(list);
    for (n = PySequence_Fast_GET_SIZE(list); n > 0; n--, to++, ++keys) {
        if (PyObject_Hash(*keys) < 0)
            return -1;
        Py_INCREF(*items);
        *to = *items;
        items++;
    }
    return 0;"), @"
        @@ -2,18 +2,34 @@
         static int put(Sink *sink, PyObject *item) { return PyObject_SetItem(sink->all, item, item); }
         int fill(Sink *sink, PyObject *list)
         {
        -    PyObject **keys = PySequence_Fast_ITEMS(list), **items, **to = sink->rows;
        +    Py_ssize_t keys_index = 0, items_index;
        +    PyObject **to = sink->rows;
             Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
        -    for (items = PySequence_Fast_ITEMS(list); n > 0; n--, to++, items++)
        +    for (items_index = 0; n > 0; n--, to++, items_index++)
                 if (put(sink, to[0]) < 0)
                     return -1;
        -    items = PySequence_Fast_ITEMS(list);
        -    for (n = PySequence_Fast_GET_SIZE(list); n > 0; n--, to++, ++keys) {
        -        if (PyObject_Hash(*keys) < 0)
        +    items_index = 0;
        +    for (n = PySequence_Fast_GET_SIZE(list); n > 0; n--, to++, ++keys_index) {
        +        PyObject *item;
        +        item = PyList_Check(list)
        +            ? PyList_GetItemRef(list, keys_index)
        +            : Py_NewRef(PyTuple_GET_ITEM(list, keys_index));
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        if (PyObject_Hash(item) < 0) {
        +            Py_DECREF(item);
        +            return -1;
        +        }
        +        Py_DECREF(item);
        +        item = PyList_Check(list)
        +            ? PyList_GetItemRef(list, items_index)
        +            : Py_NewRef(PyTuple_GET_ITEM(list, items_index));
        +        if (item == NULL) {
                     return -1;
        -        Py_INCREF(*items);
        -        *to = *items;
        -        items++;
        +        }
        +        *to = item;
        +        items_index++;
             }
             return 0;
         }
        ");
}

/// What declares three pointers in the end, of which those of `names` are read by index.
fn declared(names: &str) -> String {
    let used = |name: char| match names.contains(name) {
        true => format!(
            "    {name} = PySequence_Fast_ITEMS(list);
    for (n = 0; n < 3; n++, {name}++)
        if (put(sink, *{name}) < 0)
            return -1;\n"
        ),
        false => format!("    {name} = sink->rows;\n    sort({name});\n"),
    };
    let uses: String = "abc".chars().map(used).collect();
    let declared = "    PyObject **a = NULL, **b, **c;\n    Py_ssize_t n;\n";
    let text = patch(&format!("{declared}{uses}    return 0;"));
    let lines = text.lines().filter_map(|line| line.strip_prefix('+'));
    let words = ["Py_ssize_t ", "PyObject **"];
    let lines = lines.filter(|line| words.iter().any(|word| line.trim().starts_with(word)));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_sequence_that_has_no_name_or_another_one_at_the_read() {
    let stays = |declared: &str, inner: &str| {
        let patch = patch(&format!(
            "    PyObject **items = NULL;
    Py_ssize_t n = 0;
{declared}
    if (PyList_Check(list)) {{
        PyObject *fast = list;
        items = PySequence_Fast_ITEMS(fast);
        n = PySequence_Fast_GET_SIZE(fast);
    }}
    for (; n > 0; n--) {{
{inner}
        if (put(sink, *items) < 0)
            return -1;
        items++;
    }}
    return 0;"
        ));
        assert!(patch.starts_with("= by hand: "), "{patch}");
    };
    stays("", "");
    stays("    PyObject *fast = sink->all;", "");
    stays("", "        PyObject *fast = sink->all;");
}

#[test]
fn pointers_beside_a_comment() {
    let noted = "/* what is read */ **b";
    let text = patch(&format!(
        "    PyObject **a = rows(sink), {noted};
    Py_ssize_t n;
    b = PySequence_Fast_ITEMS(list);
    for (n = 0; n < 3; n++, b++)
        if (put(sink, *b) < 0)
            return -1;
    return put(sink, a[0]);"
    ));
    assert!(text.starts_with("= by hand: "), "{text}");
}

#[test]
fn pointers_of_one_declaration() {
    let all = "Py_ssize_t a_index = 0, b_index, c_index;";
    assert_eq!(declared("abc"), all);
    assert_eq!(
        declared("ab"),
        "Py_ssize_t a_index = 0, b_index; PyObject **c;"
    );
    assert_eq!(
        declared("bc"),
        "Py_ssize_t b_index, c_index; PyObject **a = NULL;"
    );
    assert_eq!(
        declared("ac"),
        "Py_ssize_t a_index = 0, c_index; PyObject **b;"
    );
    assert_eq!(
        declared("b"),
        "Py_ssize_t b_index; PyObject **a = NULL, **c;"
    );
}

#[test]
fn a_pointer_whose_steps_are_looked_at() {
    let walks = |uses: &str| {
        let text = patch(&format!(
            "    PyObject **items = PySequence_Fast_ITEMS(list);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    while (n-- > 0) {{
        if (put(sink, *items) < 0)
            return -1;
        {uses}
    }}
    return 0;"
        ));
        text.contains("items_index")
    };
    assert!(walks("items++;"));
    assert!(walks("++items, sink->size++;"));
    assert!(!walks("items--;"));
    assert!(!walks("items += 2;"));
    assert!(!walks("sink->at = items++;"));
    assert!(!walks("if (items++) put(sink, list);"));
    assert!(!walks("put(sink, *items++);"));
    assert!(!walks("put(sink, items[0]); items++;"));
    assert!(!walks("items++; items = NULL;"));
}

#[test]
fn a_list_that_is_copied_stays_so() {
    let copied = |ret: &str, read: &str| {
        patch(&format!(
            "    PyObject *fast = PySequence_Fast(list, \"no list\");
    PyObject **items;
    Py_ssize_t i, n;
    if (fast == NULL)
        return -1;
    n = PySequence_Fast_GET_SIZE(fast);
    items = PySequence_Fast_ITEMS(fast);
    for (i = 0; i < n; i++)
        {read};
    Py_DECREF(fast);
    return {ret};"
        ))
    };
    let safe = copied("0", "sink->size += PyBytes_GET_SIZE(items[i])");
    assert!(safe.contains("+        ? PyList_AsTuple(list)"), "{safe}");
    assert!(!safe.contains("GetItem"), "{safe}");
}
