//! Types that functions return, and a variable cannot have.

use super::diff;

fn text(ty: &str) -> String {
    format!(
        r#"
typedef const int constant;
{ty}
find(PyObject *d)
{{
    PyObject *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {{
        if (PyObject_IsTrue(value))
            return convert(pos);
    }}
    return 0;
}}
"#
    )
}

#[test]
fn no_variable_is_const_that_gets_its_value_later() {
    for (ty, declared) in [
        ("static const int", "+    int result = 0;"),
        ("static PyObject * const", "+    PyObject *result = NULL;"),
        ("static const char *", "+    const char *result = NULL;"),
    ] {
        let diff = diff(&text(ty));
        assert!(diff.contains(declared), "{diff}");
    }
    let diff = diff(&text("static constant"));
    assert!(diff.contains("a type that no new variable can"), "{diff}");
}
