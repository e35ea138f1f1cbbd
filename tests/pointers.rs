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
        ["manual: ", "review fix"]
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
        if (put(sink, *(items + i)) < 0 || put(first, first) < 0) {
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
        -        if (put(sink, *(items + i)) < 0 || put(first, first) < 0) {
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
        +        if (put(sink, item) < 0 || put(first, first) < 0) {
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
        assert!(patch.starts_with("= help: manual: "), "{patch}");
    };
    stays("    sink->items = items;");
    stays("    sort(items, n);");
    stays("    items[0] = sink->all;");
    stays("    sink->first = &items[0];");
    stays("    items++;");
    stays("    list = sink->list;\n    put(sink, items[0]);");
    stays("    sink->last = items[0];");
    assert!(of_pointer("    put(sink, items[0]);").contains("PyList_GetItemRef(list, 0)"));
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
