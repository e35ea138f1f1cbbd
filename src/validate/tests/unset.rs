//! Lookups where no path leads, and variables without a value.

use super::wrong;

const LOOP: &str = "static int f(PyObject *list, PyObject *dict) {
    PyObject *key, *item;
    for (int i = 0; i < 9; i++) {
        key = next(list);
        if (key == NULL)
            continue;
        item = PyDict_GetItemWithError(dict, key);
        if (item == NULL)
            return -1;
        use(item);
    }
    return 0;
}";
const LOOKUP: &str = "if (PyDict_GetItemRef(dict, key, &item) < 0) return -1;";
const RELEASE: (&str, &str) = ("use(item);", "use(item); Py_DECREF(item);");

#[test]
fn a_lookup_behind_a_jump_is_found() {
    let gone = ("item = PyDict_GetItemWithError(dict, key);", "");
    let inside = format!("{{ continue; {LOOKUP} }}");
    assert_eq!(
        wrong(LOOP, &[("continue;", &inside), gone, RELEASE]),
        ["in `f`, no path leads to a new lookup"]
    );
    let right = ("item = PyDict_GetItemWithError(dict, key);", LOOKUP);
    assert_eq!(wrong(LOOP, &[right, RELEASE]), [""; 0]);
}

#[test]
fn a_variable_without_a_value_on_a_path_is_found() {
    let gone = ("item = PyDict_GetItemWithError(dict, key);", "");
    let inside = format!("{{ {LOOKUP} Py_XDECREF(item); }}");
    let found = wrong(LOOP, &[("continue;", &inside), gone]);
    let unset = "in `f`, `item` may be read before a lookup has set it";
    assert!(found.iter().any(|reason| reason == unset), "{found:?}");
}

#[test]
fn what_was_without_a_value_before_may_stay_so() {
    let asked = "static int f(PyObject *list, int c) {
        PyObject *item;
        if (c)
            item = PyList_GetItem(list, 0);
        if (c)
            use(item);
        return 0;
    }";
    let strong = ("PyList_GetItem", "PyList_GetItemRef");
    let found = wrong(
        asked,
        &[strong, ("use(item);", "{ use(item); Py_XDECREF(item); }")],
    );
    assert!(
        !found.iter().any(|reason| reason.contains("may be read")),
        "{found:?}"
    );
}
