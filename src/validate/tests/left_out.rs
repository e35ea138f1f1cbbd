//! What a macro leaves out of its arguments in this build.

use super::wrong;

const TRACED: &str = "
#define TRACE(...)
static int f(PyObject *l) {
    PyObject *v = PyList_GetItem(l, 0);
    if (!v) return -1;
    use(v);
    TRACE(\"%s\", Py_TYPE(v)->tp_name);
    return 0;
}
";
const STRONG: (&str, &str) = ("PyList_GetItem", "PyList_GetItemRef");

#[test]
fn a_release_in_front_of_it_is_found() {
    assert_eq!(
        wrong(TRACED, &[STRONG, ("use(v);", "use(v); Py_DECREF(v);")]),
        ["in `f`, the reference from `PyList_GetItemRef` is used after its release on some path"]
    );
    let behind = ("return 0;", "Py_DECREF(v); return 0;");
    assert_eq!(wrong(TRACED, &[STRONG, behind]), [""; 0]);
}
