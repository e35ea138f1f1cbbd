//! Items that functions of the package release or store.

use super::{STRONG, wrong};

const RELEASE: (&str, &str) = ("/* done */", "Py_XDECREF(v);");

fn released(taken: &str) -> String {
    format!(
        "
static int discard(Set *s, PyObject *v) {{
    if (!clear_bit(s, v)) return 0;
    Py_DECREF(v);
    return 1;
}}
static int f(Set *s, PyObject *l) {{
    PyObject *v = PyList_GetItem(l, 0);
    {taken}
    discard(s, v); /* done */
    return 0;
}}
"
    )
}

#[test]
fn a_container_may_release_its_own_reference() {
    assert_eq!(wrong(&released(""), &[STRONG, RELEASE]), [""; 0]);
}

#[test]
fn a_reference_that_the_code_took_may_be_the_one_that_is_released() {
    let doubt = "in `f`, no function that gets the object from `PyList_GetItemRef` releases it or passes it on";
    let taken = ("Py_XINCREF(v);", "");
    assert_eq!(
        wrong(&released("Py_XINCREF(v);"), &[STRONG, taken, RELEASE]),
        [format!("unknown: {doubt}")]
    );
}

#[test]
fn what_is_stored_in_a_variable_is_used_before_the_release() {
    let before = "
static int find(PyObject *v, Type **out) {
    if (Py_TYPE(v) == &Type_Type) { *out = (Type *)v; return 0; }
    *out = NULL;
    return PyErr_Occurred() ? -1 : 0;
}
static int f(Set *s, PyObject *l) {
    Type *type;
    PyObject *v = PyList_GetItem(l, 0);
    if (v == NULL) return -1;
    find(v, &type);
    use(type);
    return 0;
}
";
    let late = ("use(type);", "use(type); Py_DECREF(v);");
    assert_eq!(wrong(before, &[STRONG, late]), [""; 0]);
    let early = ("use(type);", "Py_DECREF(v); use(type);");
    assert_eq!(
        wrong(before, &[STRONG, early]),
        ["in `f`, the reference from `PyList_GetItemRef` is used after its release on some path"]
    );
}
