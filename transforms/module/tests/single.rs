use super::{fixed, report};

/// What becomes of a module whose `PyInit_` function has this body.
fn body(text: &str) -> String {
    let before = "static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\"};\n";
    fixed(&format!(
        "{before}PyMODINIT_FUNC\nPyInit_m(void)\n{{\n{text}}}\n"
    ))
}

#[test]
fn the_call_stands_behind_the_test_for_null() {
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n    if (m == NULL) {\n        return NULL;\n    }\n    add(m);\n    return m;\n"), @"
             return NULL;
         }
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         add(m);
         return m;
    ");
    insta::assert_snapshot!(body("\tPyObject *m;\n\n\tm = (PyObject *)PyModule_Create2(&def, 1013);\n\tif (!m) return NULL; /* no memory */\n\treturn m;\n"), @"
     	m = (PyObject *)PyModule_Create2(&def, 1013);
     	if (!m) return NULL; /* no memory */
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +	PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
     	return m;
     }
    ");
    insta::assert_snapshot!(body("    self->m = module = PyModule_Create(&def);\n    if (NULL == module || add(module) < 0)\n        goto error;\n    return module;\nerror:\n    return NULL;\n"), @"
         if (NULL == module || add(module) < 0)
             goto error;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    +#endif
         return module;
     error:
    ");
    insta::assert_snapshot!(body("    m = module = PyModule_Create(&def);\n\n    if (m == NULL)\n        return NULL;\n    return m;\n"), @"
         if (m == NULL)
             return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
    insta::assert_snapshot!(body("    if ((m = PyModule_Create(&def)) == NULL)\n        return NULL;\n    return m;\n"), @"
         if ((m = PyModule_Create(&def)) == NULL)
             return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
    insta::assert_snapshot!(body("    PyObject *m;\n    if (unlikely(!(m = PyModule_Create(&def)))) return NULL;\n    return m;\n"), @"
         PyObject *m;
         if (unlikely(!(m = PyModule_Create(&def)))) return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
}

#[test]
fn the_call_stands_in_the_block_of_a_positive_test() {
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n    if (m) {\n        int n = 1;\n        add(m, n);\n    }\n    return m;\n"), @"
         if (m) {
             int n = 1;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
             add(m, n);
         }
    ");
}

#[test]
fn without_a_test_the_call_gets_one() {
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n    add(m);\n    return m;\n"), @"
     {
         PyObject *m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
         add(m);
         return m;
    ");
    insta::assert_snapshot!(body("    m = PyModule_Create(&def);\n    if (m == NULL) { log(); } else { add(m); }\n    if (x)\n    {\n        return m;\n    }\n    return m;\n"), @"
     {
         m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
         if (m == NULL) { log(); } else { add(m); }
         if (x)
    ");
}

#[test]
fn declarations_stay_together() {
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n    PyObject *d;\n    if (m == NULL)\n        return NULL;\n    return m;\n"), @"
         if (m == NULL)
             return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n    int n = 0;\n    add(m, n);\n    return m;\n"), @"
         PyObject *m = PyModule_Create(&def);
         int n = 0;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
         add(m, n);
         return m;
    ");
}

#[test]
fn a_macro_around_the_call_is_seen_through() {
    insta::assert_snapshot!(fixed("#ifdef TESTING\n#define PyModule_Create(...) ({ PyObject *r = fail() ? 0 : PyModule_Create(__VA_ARGS__); r; })\n#endif\nPyMODINIT_FUNC PyInit_m(void)\n{\n    PyObject *m;\n    m = PyModule_Create(&def);\n    if (!m)\n        return NULL;\n    return m;\n}\n"), @"
         if (!m)
             return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
}

#[test]
fn a_module_returned_at_once_gets_a_variable() {
    insta::assert_snapshot!(body("    return PyModule_Create(&def);\n"), @"
     PyInit_m(void)
     {
    -    return PyModule_Create(&def);
    +    PyObject *m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
    +    return m;
     }
    ");
    insta::assert_snapshot!(body("\tint rc;\n\trc = prepare();\n\tif (rc < 0)\n\t\treturn NULL;\n\treturn (PyModule_Create(&def));\n"), @"
     {
     	int rc;
    +	PyObject *m;
     	rc = prepare();
     	if (rc < 0)
     		return NULL;
    -	return (PyModule_Create(&def));
    +	m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +	if (m != NULL) {
    +		PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +	}
    +#endif
    +	return m;
     }
    ");
}

#[test]
fn the_variable_gets_a_free_name_in_the_style_of_the_file() {
    insta::assert_snapshot!(body("    prepare(m);\n    return PyModule_Create(&def);\n"), @"
     PyInit_m(void)
     {
    +    PyObject *module;
    +
         prepare(m);
    -    return PyModule_Create(&def);
    +    module = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (module != NULL) {
    +        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
    +    return module;
     }
    ");
    insta::assert_snapshot!(body("    prepare();\n    int rc = 1;\n    return PyModule_Create(&def);\n"), @"
         prepare();
         int rc = 1;
    -    return PyModule_Create(&def);
    +    PyObject *m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
    +    return m;
     }
    ");
    insta::assert_snapshot!(fixed("PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }\n"), @"
    -PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }
    +PyMODINIT_FUNC PyInit_m(void) { PyObject *m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +if (m != NULL) {
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +}
    +#endif
    +return m;
    +}
    ");
}

#[test]
fn helpers_are_followed() {
    insta::assert_snapshot!(fixed("static PyObject *init(void)\n{\n    PyObject *m = PyModule_Create(&def);\n    if (m == NULL)\n        return NULL;\n    return m;\n}\nPyMODINIT_FUNC PyInit_m(void)\n{\n    PyObject *result = init();\n    return result;\n}\n"), @"
         if (m == NULL)
             return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
}

#[test]
fn of_several_modules_the_returned_one_is_declared() {
    insta::assert_snapshot!(body("    PyObject *sub = PyModule_Create(&sub_def);\n    PyObject *m = PyModule_Create(&def);\n    PyModule_AddObject(m, \"sub\", sub);\n    return m;\n"), @r#"
         PyObject *sub = PyModule_Create(&sub_def);
         PyObject *m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
         PyModule_AddObject(m, "sub", sub);
         return m;
    "#);
}

#[test]
fn macros_that_make_the_function_or_the_module() {
    let head = "#define MOD_INIT(name) PyMODINIT_FUNC PyInit_##name(void)\n#define MOD_DEF(ob, methods) \\\n    static struct PyModuleDef d = {PyModuleDef_HEAD_INIT, \"m\", NULL, -1, methods}; \\\n    ob = PyModule_Create(&d);\n";
    insta::assert_snapshot!(fixed(&format!("{head}MOD_INIT(m)\n{{\n    PyObject *module;\n    MOD_DEF(module, methods);\n    if (module == NULL)\n        return NULL;\n    return module;\n}}\n")), @"
         if (module == NULL)
             return NULL;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    +#endif
         return module;
     }
    ");
    insta::assert_snapshot!(fixed(&format!("{head}MOD_INIT(m)\n{{\n    PyObject *module;\n    MOD_DEF(module, methods)\n    return module;\n}}\n")), @"
         PyObject *module;
         MOD_DEF(module, methods)
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (module != NULL) {
    +        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
         return module;
     }
    ");
    insta::assert_snapshot!(fixed("#define MAKE(d) return PyModule_Create(&d)\nPyMODINIT_FUNC PyInit_m(void)\n{\n    MAKE(def);\n}\n"), @"UG202 manual: a macro makes and returns the module: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
}

#[test]
fn python_2_stays_as_it_is() {
    insta::assert_snapshot!(fixed("PyMODINIT_FUNC\n#if PY_MAJOR_VERSION >= 3\n#define INITERROR return NULL\nPyInit_m(void)\n#else\n#define INITERROR return\ninitm(void)\n#endif\n{\n    PyObject *m;\n#if PY_MAJOR_VERSION >= 3\n    m = PyModule_Create(&def);\n#else\n    m = Py_InitModule3(\"m\", methods, doc);\n#endif\n    if (m == NULL)\n        INITERROR;\n    return m;\n}\n"), @"
         if (m == NULL)
             INITERROR;
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
}

#[test]
fn variants_of_a_function_give_one_fix() {
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n#ifdef _WIN32\n    if (m == NULL) return NULL;\n#endif\n    return m;\n"), @"
     {
         PyObject *m = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (m != NULL) {
    +        PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
     #ifdef _WIN32
         if (m == NULL) return NULL;
    ");
    insta::assert_snapshot!(fixed("#ifndef __CYGWIN__\nPyObject *PyInit_m\n#else\nPyObject *PyInit_cygm\n#endif\n(void)\n{\n    PyObject *module = PyModule_Create(&def);\n    return module;\n}\n"), @"
     {
         PyObject *module = PyModule_Create(&def);
    +#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    +    if (module != NULL) {
    +        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    +    }
    +#endif
         return module;
     }
    ");
}

#[test]
fn a_guard_of_the_package_is_taken() {
    let other = "int f(PyObject *m)\n{\n#ifdef Py_GIL_DISABLED\n    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);\n#endif\n}\n";
    let text = "PyMODINIT_FUNC PyInit_m(void)\n{\n    PyObject *m = PyModule_Create(&def);\n    if (m == NULL) return NULL;\n    return m;\n}\n";
    insta::assert_snapshot!(report(&[("m.c", text), ("n.c", other)], 0x0309_0000), @"
    +++ b/m.c
         PyObject *m = PyModule_Create(&def);
         if (m == NULL) return NULL;
    +#ifdef Py_GIL_DISABLED
    +    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    +#endif
         return m;
     }
    ");
}

#[test]
fn declared_modules_are_left_alone() {
    assert_eq!(
        body(
            "    PyObject *m = PyModule_Create(&def);\n#ifdef Py_GIL_DISABLED\n    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);\n#endif\n    return m;\n"
        ),
        ""
    );
    assert_eq!(
        body(
            "    PyObject *m = PyModule_Create(&def);\n#ifdef NOBODY_DEFINES_THIS\n    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);\n#endif\n    return m;\n"
        ),
        ""
    );
    assert_eq!(
        fixed(
            "static void declare(PyObject *m) { PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED); }\nPyMODINIT_FUNC PyInit_m(void) { PyObject *m = PyModule_Create(&def); declare(m); return m; }\n"
        ),
        ""
    );
    insta::assert_snapshot!(body("    PyObject *m = PyModule_Create(&def);\n    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_USED);\n    return m;\n"), @"UG202 safe: it says `Py_MOD_GIL_USED`, and only its maintainers can change that");
}

#[test]
fn what_cannot_be_edited_has_a_reason() {
    insta::assert_snapshot!(body("    if (again) return PyModule_Create(&def);\n    return NULL;\n"), @"UG202 manual: the `return` is not a statement of a block: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
    insta::assert_snapshot!(body("    return finish(PyModule_Create(&def));\n"), @"UG202 manual: the call is part of a larger expression: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
    insta::assert_snapshot!(body("    return PyState_FindModule(&def);\n"), @"UG202 manual: its module comes from `PyState_FindModule`, not from `PyModule_Create`: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
    insta::assert_snapshot!(body("    return elsewhere();\n"), @"UG202 manual: it has no visible call of `PyModule_Create` or `PyModuleDef_Init`: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
    insta::assert_snapshot!(body("    modules[n++] = PyModule_Create(&def);\n    return modules[0];\n"), @"UG202 manual: the result of the call is not stored in a variable: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
    insta::assert_snapshot!(body("    if ((m = PyModule_Create(&def)) == NULL) log(); else add(m);\n    return m;\n"), @"UG202 manual: the condition around the call is not a plain test for `NULL`: call `PyUnstable_Module_SetGIL` by hand, after the module is created");
}
