//! Static variables that are filled in another way, or elsewhere.

use super::wrong;

const CACHE: &str = "
static PyObject *made;
static PyObject *f(PyObject *m) {
    if (made == NULL) {
        made = PyObject_GetAttrString(m, \"a\");
        if (made == NULL) return NULL;
    }
    return Py_NewRef(made);
}
PyObject *PyInit_m(void) { PyObject *m = 0; m = create(); return m; }
";
const LOCAL: (&str, &str) = (
    "    if (made",
    "    PyObject *new_made = NULL;\n    if (made",
);
const MADE: (&str, &str) = ("        made =", "        new_made =");
const TESTED: (&str, &str) = ("(made == NULL) return", "(new_made == NULL) return");
const STORED: (&str, &str) = (
    "\n    }\n",
    "\n        if (made == NULL) made = Py_NewRef(new_made);\n    }\n    \
     Py_XDECREF(new_made);\n",
);

#[test]
fn a_value_that_a_new_variable_holds_first_is_followed() {
    assert_eq!(wrong(CACHE, &[LOCAL, MADE, TESTED, STORED]), [""; 0]);
    let dropped = STORED.1.replace("Py_XDECREF(new_made);", "");
    let found = wrong(CACHE, &[LOCAL, MADE, TESTED, (STORED.0, &dropped)]);
    assert!(
        found[0].contains("from `PyObject_GetAttrString` is not released"),
        "{found:?}"
    );
}

#[test]
fn a_variable_that_is_filled_elsewhere_is_filled_on_every_path_there() {
    let fill = "made = PyUnicode_InternFromString(\"a\");";
    let lazy = "        made = PyObject_GetAttrString(m, \"a\");\n        if (made == NULL) return NULL;\n";
    let moved = |there: &str| wrong(CACHE, &[(lazy, "        ;\n"), ("m = create();", there)]);
    assert_eq!(moved(&format!("{fill} m = create();")), [""; 0]);
    let lost = ["in `f`, `made` is no longer filled"];
    assert_eq!(moved("m = create(); "), lost);
    assert_eq!(moved(&format!("m = create(); if (m) {fill}")), lost);
    let others = moved(&format!("if (!made) {{ {fill} }} m = create();"));
    assert_eq!(others, [""; 0]);
    assert_eq!(
        moved(&format!("if (made) {{ {fill} }} m = create();")),
        lost
    );
}
