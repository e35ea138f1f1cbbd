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
    assert!(
        diff.contains("whose type cannot be used for a new variable"),
        "{diff}"
    );
}

#[test]
fn a_comma_is_put_into_parentheses() {
    let text = r#"
static const int
has_none(PyObject *d)
{
    PyObject *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (value == Py_None)
            return PyErr_Clear(), PyUnicode_CheckExact(d);
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `PyErr_Clear` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *value;
         Py_ssize_t pos = 0;
    +    int stopped = 0;
    +    int result = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, &value)) {
    -        if (value == Py_None)
    -            return PyErr_Clear(), PyUnicode_CheckExact(d);
    +        if (value == Py_None) {
    +            result = (PyErr_Clear(), PyUnicode_CheckExact(d));
    +            stopped = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return result;
         return 0;
     }
    ");
}
