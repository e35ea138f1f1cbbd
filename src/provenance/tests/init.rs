//! Code that runs only while a module is made.

use super::of;

/// An exec slot with this body and its table.
fn exec(body: &str, more: &str) -> String {
    of(&format!(
        "static PyObject *registry;\nstatic PyTypeObject T = {{0}};\n\
         static int exec(PyObject *m) {{\n{body}    return 0;\n}}\n\
         static PyModuleDef_Slot slots[] = {{{{Py_mod_exec, exec}}, {{0, NULL}}}};\n{more}"
    ))
}

#[test]
fn the_dict_of_the_module_is_its_own_while_it_is_made() {
    insta::assert_snapshot!(exec("    use(PyDict_GetItemString(PyModule_GetDict(m), \"a\"));\n", ""), @"
    exec: InitOnly, `exec()` runs only during module initialisation, and the dict belongs to that module
    ");
}

#[test]
fn the_dict_of_another_module_is_not() {
    insta::assert_snapshot!(exec("    use(PyDict_GetItemString(PyModule_GetDict(PyImport_ImportModule(\"os\")), \"a\"));\n", ""), @"exec: shared, the dict of a module or type");
}

#[test]
fn single_phase_modules_have_a_dict_too() {
    let text = "PyMODINIT_FUNC PyInit_a(void) { PyObject *m = PyModule_Create(&def); use(PyDict_GetItemString(PyModule_GetDict(m), \"a\")); return m; }\n";
    insta::assert_snapshot!(of(text), @"
    PyInit_a: InitOnly, `PyInit_a()` runs only during module initialisation, and the dict belongs to that module
    ");
}

#[test]
fn a_function_that_is_called_later_is_not_initialisation() {
    insta::assert_snapshot!(exec("    later(m);\n", "static void later(PyObject *m) { use(PyDict_GetItemString(PyModule_GetDict(m), \"a\")); }\nvoid again(PyObject *m) { later(m); }\n"), @"later: shared, the dict of a module or type");
}

#[test]
fn a_registry_that_the_module_made_is_its_own_at_first() {
    insta::assert_snapshot!(exec("    registry = PyDict_New();\n    use(PyDict_GetItem(registry, m));\n", ""), @"
    exec: InitOnly, `exec()` runs only during module initialisation, and `registry` belongs to that module
    ");
}

#[test]
fn a_registry_that_comes_from_elsewhere_is_not() {
    insta::assert_snapshot!(exec("    registry = PyObject_GetAttrString(m, \"x\");\n    use(PyDict_GetItem(registry, m));\n", ""), @"exec: shared, `registry`, a variable that all threads share");
}

#[test]
fn the_dict_of_a_type_of_the_module_is_its_own() {
    insta::assert_snapshot!(exec("    use(PyDict_GetItem((&T)->tp_dict, m));\n    use(PyDict_GetItem(T.tp_dict, m));\n    use(PyDict_GetItem(PyFloat_Type.tp_dict, m));\n", ""), @"
    exec: InitOnly, `exec()` runs only during module initialisation, and the type belongs to that module
    exec: InitOnly, `exec()` runs only during module initialisation, and the type belongs to that module
    exec: shared, the dict of a module or type
    ");
}
