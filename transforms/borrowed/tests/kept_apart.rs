//! Loops through a list whose length is kept apart from it.

use super::all;

/// A function with this loop under a lock, after all rules.
fn f(body: &str) -> String {
    all(&format!(
        "static void f(Server *server, double *out)
{{
    int i, j;
    double buffer[64] = {{0}};
    double *data;
    PyObject *item;
    PyGILState_STATE state = PyGILState_Ensure();
{}
    PyGILState_Release(state);
}}
",
        body.trim_matches('\n')
    ))
}

#[test]
fn what_a_shorter_list_leads_to() {
    insta::assert_snapshot!(f(
        r"
    for (i = 0; i < server->count; i++) {
        item = PyList_GET_ITEM(server->items, i);
        data = samples(item);
        for (j = 0; j < server->size; j++)
            buffer[j] += *data++;
    }
"
    ), @"
        @@
             PyGILState_STATE state = PyGILState_Ensure();
             for (i = 0; i < server->count; i++) {
        -        item = PyList_GET_ITEM(server->items, i);
        +        item = PyList_GetItemRef(server->items, i);
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
                 data = samples(item);
                 for (j = 0; j < server->size; j++)
                     buffer[j] += *data++;
        +        Py_DECREF(item);
             }
             PyGILState_Release(state);
        ");
}

/// The rest of the function would miss the passes that are left out.
#[test]
fn passes_that_are_missed() {
    let bodies = [
        // Elements of `out` would have no value.
        r"
    for (i = 0; i < server->count; i++) {
        item = PyList_GET_ITEM(server->items, i);
        *out = weight(item);
        out += 1;
    }
",
        r"
    for (i = 0; i < server->count; i++) {
        item = PyList_GET_ITEM(server->items, i);
        weigh(item, out);
        out++;
    }
",
        r"
    for (i = 0; i < server->count; i++) {
        item = PyList_GET_ITEM(server->items, i);
        out[i] = weight(item);
    }
",
        // The count says of more passes.
        r"
    for (i = 0; i < server->count; i++) {
        item = PyList_GET_ITEM(server->items, i);
        buffer[0] += weight(item);
    }
    finish(server->count);
",
        // The first of them did something already.
        r"
    for (i = 0; i < server->count; i++) {
        begin(server);
        item = PyList_GET_ITEM(server->items, i);
        buffer[0] += weight(item);
    }
",
        // The last item is used again.
        r"
    for (i = 0; i < server->count; i++) {
        item = PyList_GET_ITEM(server->items, i);
        buffer[0] += weight(item);
    }
    finish(item);
",
    ];
    for body in bodies {
        let result = f(body);
        assert!(!result.contains("break;"), "{body}\n{result}");
    }
}
