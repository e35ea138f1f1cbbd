use super::{fixed, report};

const DEF: &str = "static struct PyModuleDef def = {\n    PyModuleDef_HEAD_INIT,\n    .m_name = \"m\",\n    .m_slots = slots,\n};\n";
const INIT: &str = "PyMODINIT_FUNC PyInit_m(void)\n{\n    return PyModuleDef_Init(&def);\n}\n";

/// What becomes of a module with this array.
fn array(text: &str) -> String {
    fixed(&format!("{text}\n{DEF}{INIT}"))
}

#[test]
fn the_slot_stands_before_the_terminator() {
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    {Py_mod_exec, m_exec},\n    {0, NULL}\n};"), @"
     static PyModuleDef_Slot slots[] = {
         {Py_mod_exec, m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
         {0, NULL}
     };
    ");
    insta::assert_snapshot!(array("struct PyModuleDef_Slot slots[] = {\n\t{ Py_mod_exec, (void *)m_exec }, /* runs\n\t   later */\n\n\t/* sentinel */\n\t{ 0 },\n};"), @"
     	   later */
     
    +#ifdef Py_MOD_GIL_NOT_USED
    +	{ Py_mod_gil, Py_MOD_GIL_NOT_USED },
    +#endif
     	/* sentinel */
     	{ 0 },
    ");
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n  {.slot = Py_mod_exec, .value = m_exec},\n  {}\n};"), @"
     static PyModuleDef_Slot slots[] = {
       {.slot = Py_mod_exec, .value = m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +  {.slot = Py_mod_gil, .value = Py_MOD_GIL_NOT_USED},
    +#endif
       {}
     };
    ");
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    {NULL},\n};"), @"
     static PyModuleDef_Slot slots[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
         {NULL},
     };
    ");
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    {Py_mod_exec,m_exec},\n    {0, nullptr}};"), @"
     static PyModuleDef_Slot slots[] = {
         {Py_mod_exec,m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil,Py_MOD_GIL_NOT_USED},
    +#endif
         {0, nullptr}};
     static struct PyModuleDef def = {
    ");
}

#[test]
fn an_array_on_one_line_is_broken() {
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {{Py_mod_exec, m_exec}, {0, NULL}};"), @"
    -static PyModuleDef_Slot slots[] = {{Py_mod_exec, m_exec}, {0, NULL}};
    +static PyModuleDef_Slot slots[] = {{Py_mod_exec, m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
    +    {0, NULL}};
     static struct PyModuleDef def = {
         PyModuleDef_HEAD_INIT,
    ");
}

#[test]
fn columns_and_odd_layouts_are_kept() {
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    {Py_mod_exec,    m_exec},\n    {0,              NULL}\n};"), @"
     static PyModuleDef_Slot slots[] = {
         {Py_mod_exec,    m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil,     Py_MOD_GIL_NOT_USED},
    +#endif
         {0,              NULL}
     };
    ");
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    {Py_mod_exec, m_exec}, {0, NULL}};"), @"
     static PyModuleDef_Slot slots[] = {
    -    {Py_mod_exec, m_exec}, {0, NULL}};
    +    {Py_mod_exec, m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
    +    {0, NULL}};
     static struct PyModuleDef def = {
         PyModuleDef_HEAD_INIT,
    ");
}

#[test]
fn line_ends_are_kept() {
    let text = format!("static PyModuleDef_Slot slots[] = {{\n    {{0, NULL}}\n}};\n{DEF}{INIT}");
    let after = fixed(&text.replace('\n', "\r\n"));
    assert_eq!(after.matches("\r\n").count(), after.matches('\n').count());
    assert_eq!(after.matches("\n+").count(), 3);
}

#[test]
fn entries_under_conditions_stay_under_them() {
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    {Py_mod_exec, m_exec},\n#if PY_VERSION_HEX >= 0x030C0000\n    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},\n#endif\n    {0, NULL}\n};"), @"
         {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
     #endif
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
         {0, NULL}
     };
    ");
    insta::assert_snapshot!(array("#ifdef _WIN32\nstatic PyModuleDef_Slot slots[] = {\n    {0, NULL}\n};\n#else\nstatic PyModuleDef_Slot slots[] = {\n    {Py_mod_exec, m_exec},\n    {0, NULL}\n};\n#endif"), @"
     #ifdef _WIN32
     static PyModuleDef_Slot slots[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
         {0, NULL}
     };
     static PyModuleDef_Slot slots[] = {
         {Py_mod_exec, m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
         {0, NULL}
     };
    ");
}

#[test]
fn local_arrays_and_literals() {
    insta::assert_snapshot!(fixed("PyMODINIT_FUNC PyInit_m(void)\n{\n    static PyModuleDef_Slot slots[] = {\n        {Py_mod_exec, m_exec},\n        {0, NULL}\n    };\n    static PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, 0, NULL, slots};\n    return PyModuleDef_Init(&def);\n}\n"), @"
         static PyModuleDef_Slot slots[] = {
             {Py_mod_exec, m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +        {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
             {0, NULL}
         };
    ");
    insta::assert_snapshot!(fixed(&format!("static PyModuleDef def = {{\n    .m_base = PyModuleDef_HEAD_INIT,\n    .m_name = \"m\",\n    .m_slots = (PyModuleDef_Slot[]){{\n        {{Py_mod_exec, m_exec}},\n        {{0, NULL}},\n    }},\n}};\n{INIT}")), @"
         .m_slots = (PyModuleDef_Slot[]){
             {Py_mod_exec, m_exec},
    +#ifdef Py_MOD_GIL_NOT_USED
    +        {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
             {0, NULL},
         },
    ");
}

#[test]
fn a_definition_without_slots_gets_an_array() {
    insta::assert_snapshot!(fixed(&format!("/* The module. */\nstatic struct PyModuleDef def = {{\n    PyModuleDef_HEAD_INIT,\n    \"m\",\n    NULL,\n    0,\n    methods\n}};\n\n{INIT}")), @"
    +static PyModuleDef_Slot def_slots[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
    +    {0, NULL}
    +};
    +
     /* The module. */
     static struct PyModuleDef def = {
         NULL,
         0,
    -    methods
    +    methods,
    +    def_slots
     };
    ");
    insta::assert_snapshot!(fixed(&format!("static struct PyModuleDef def = {{\n\tPyModuleDef_HEAD_INIT,\n\t.m_name=\"m\",\n\t.m_methods=methods, /* all */\n\t.m_free=m_free,\n}};\n\n{INIT}")), @r#"
    +static PyModuleDef_Slot def_slots[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +	{Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
    +	{0, NULL}
    +};
    +
     static struct PyModuleDef def = {
     	PyModuleDef_HEAD_INIT,
     	.m_name="m",
     	.m_methods=methods, /* all */
    +	.m_slots=def_slots,
     	.m_free=m_free,
     };
    "#);
    insta::assert_snapshot!(fixed(&format!("static struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, \"m\", doc, 0, methods, NULL, NULL, NULL, NULL}};\n\n{INIT}")), @r#"
    -static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", doc, 0, methods, NULL, NULL, NULL, NULL};
    +static PyModuleDef_Slot def_slots[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
    +    {0, NULL}
    +};
    +
    +static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", doc, 0, methods, def_slots, NULL, NULL, NULL};
     
     PyMODINIT_FUNC PyInit_m(void)
    "#);
    insta::assert_snapshot!(fixed(&format!("static int def_slots;\nstatic struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, \"m\"}};\n{INIT}")), @r#"
     static int def_slots;
    -static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m"};
    +static PyModuleDef_Slot def_slots2[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
    +    {0, NULL}
    +};
    +
    +static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", .m_slots = def_slots2};
     PyMODINIT_FUNC PyInit_m(void)
     {
    "#);
}

#[test]
fn a_guard_of_the_package_is_taken_if_it_is_right() {
    let other = |guard: &str| {
        format!(
            "static PyModuleDef_Slot other[] = {{\n{guard}\n    {{Py_mod_gil, Py_MOD_GIL_NOT_USED}},\n#endif\n    {{0, NULL}}\n}};\nstatic PyModuleDef_Slot slots[] = {{\n    {{0, NULL}}\n}};"
        )
    };
    let line = |text: &str| array(text).lines().nth(2).unwrap().to_owned();
    assert_eq!(
        line(&other("#if PY_VERSION_HEX >= 0x030D0000")),
        "+#if PY_VERSION_HEX >= 0x030D0000"
    );
    assert_eq!(line(&other("# ifdef  Py_mod_gil")), "+#ifdef  Py_mod_gil");
    assert_eq!(
        line(&other("#if Py_GIL_DISABLED")),
        "+#ifdef Py_MOD_GIL_NOT_USED"
    );
    let limited = format!(
        "#define Py_LIMITED_API 0x030A0000\n{}",
        other("#ifdef Py_mod_gil")
    );
    assert_eq!(line(&limited), "+#ifdef Py_MOD_GIL_NOT_USED");
}

#[test]
fn no_guard_where_every_python_knows_the_slot() {
    let text = format!("static PyModuleDef_Slot slots[] = {{\n    {{0, NULL}}\n}};\n{DEF}{INIT}");
    insta::assert_snapshot!(report(&[("m.c", &text)], 0x030D_0000), @"
     static PyModuleDef_Slot slots[] = {
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
         {0, NULL}
     };
    ");
}

#[test]
fn declared_modules_are_left_alone() {
    for entry in [
        "#ifdef Py_mod_gil\n{Py_mod_gil, Py_MOD_GIL_NOT_USED},\n#endif",
        "#ifdef NOBODY_DEFINES_THIS\n{Py_mod_gil, Py_MOD_GIL_NOT_USED},\n#endif",
        "NOGIL_SLOT",
    ] {
        let text = format!(
            "#define NOGIL_SLOT {{Py_mod_gil, Py_MOD_GIL_NOT_USED}},\nstatic PyModuleDef_Slot slots[] = {{\n{entry}\n{{0, NULL}}\n}};"
        );
        assert_eq!(array(&text), "");
    }
    for entry in [
        "{Py_mod_gil, Py_MOD_GIL_USED},",
        "#ifdef Py_MOD_GIL_NOT_USED\n{Py_mod_gil, Py_MOD_GIL_USED},\n#endif",
    ] {
        let slots = format!("static PyModuleDef_Slot slots[] = {{\n{entry}\n{{0, NULL}}\n}};");
        assert_eq!(
            array(&slots),
            "UG201 safe: it says `Py_MOD_GIL_USED`, and only its maintainers can change that\n"
        );
    }
}

#[test]
fn what_cannot_be_edited_has_a_reason() {
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[2] = {\n    {Py_mod_exec, m_exec},\n    {0, NULL}\n};"), @"UG201 manual: `slots` has an explicit length and no room for another slot: add a `Py_mod_gil` slot by hand");
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {\n    [0] = {Py_mod_exec, m_exec},\n    [1] = {0, NULL}\n};"), @"UG201 manual: entries of `slots` have numbers, so the slot needs its own before the last entry: add a `Py_mod_gil` slot by hand");
    insta::assert_snapshot!(array("static PyModuleDef_Slot slots[] = {Py_mod_exec, m_exec, 0, NULL};"), @"UG201 manual: `slots` does not end with an entry `{0, NULL}`: add a `Py_mod_gil` slot by hand");
    insta::assert_snapshot!(array("extern PyModuleDef_Slot slots[];"), @"UG201 manual: the slot array and its initialiser were not found in this package: add a `Py_mod_gil` slot by hand");
    insta::assert_snapshot!(array("#define ARRAY(name) static PyModuleDef_Slot name[] = {{0, NULL}};\nARRAY(slots)"), @"UG201 manual: a macro makes the entries of `slots`: add a `Py_mod_gil` slot by hand");
}

#[test]
fn an_array_in_another_file_is_edited_there() {
    let header = "static PyModuleDef_Slot slots[] = {\n    {0, NULL}\n};\n";
    let text = format!("#include \"slots.h\"\n{DEF}{INIT}");
    insta::assert_snapshot!(report(&[("m.c", &text), ("slots.h", header)], 0x0309_0000), @"
    +++ b/slots.h
     static PyModuleDef_Slot slots[] = {
    +#ifdef Py_MOD_GIL_NOT_USED
    +    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    +#endif
         {0, NULL}
     };
    ");
}
