//! `errno` and variables of the file, which are read behind the section.

use super::diff;

/// A function with a loop that fails by `fail`, and `behind` it. No copy helps, as the position does
/// not begin with 0.
fn text(above: &str, fail: &str, behind: &str) -> String {
    format!(
        r#"
{above}
static void
close_all(PyObject *self, PyObject *d)
{{
    PyObject *value;
    Py_ssize_t pos = 1;

    while (PyDict_Next(d, &pos, NULL, &value)) {{
        if (close(PyLong_AsLong(value)) < 0)
            {fail}
    }}
    {behind}
}}
"#
    )
}

const CLAIM: &str = "the releases before `errno` is read do not run code that changes it";

#[test]
fn errno_behind_the_loop_is_asked_for() {
    let set = "PyErr_SetFromErrno(PyExc_OSError)";
    let helper = format!("static void io_error(void) {{ {set}; }}");
    let fail = format!("#define FAIL() do {{ {set}; return; }} while (0)");
    for (above, leave, behind) in [
        (
            "",
            "goto io_error;",
            &*format!("return;\nio_error:\n {set};"),
        ),
        (&*helper, "goto error;", "return;\nerror:\n io_error();"),
        ("", "break;", &format!("if (errno) {set};\n return;")),
        ("", "break;", "perror(\"close\");\n return;"),
        (&fail, "FAIL();", "return;"),
    ] {
        let diff = diff(&text(above, leave, behind));
        assert!(diff.contains(CLAIM), "{diff}");
    }
}

#[test]
fn errno_that_is_read_in_the_loop_or_set_anew_is_not() {
    for (fail, behind) in [
        ("{ PyErr_SetFromErrno(PyExc_OSError); return; }", "return;"),
        (
            "goto retry;",
            "return;\nretry:\n if (close(0) < 0) PyErr_SetFromErrno(PyExc_OSError);\n return;",
        ),
    ] {
        let diff = diff(&text("", fail, behind));
        assert!(diff.contains("safe: iterate over `d`"), "{diff}");
    }
}

#[test]
fn errno_that_a_function_puts_back_is_not_read_by_it() {
    let helper = |body: &str| format!("static void drop(char *p) {{ int saved = 0; {body} }}");
    let said = |body: &str, behind: &str| {
        let leave = "goto error;";
        diff(&text(
            &helper(body),
            leave,
            &format!("return;\nerror:\n {behind}"),
        ))
    };
    let keeps = "saved = errno; free(p); errno = saved;";
    let plain = said(keeps, "drop(NULL);");
    assert!(plain.contains("safe: iterate over `d`"), "{plain}");
    let read = "PyErr_SetFromErrno(PyExc_OSError);";
    for (body, behind) in [
        // The number that `drop` puts back is that of `close`.
        (keeps, &*format!("drop(NULL); {read}")),
        (
            "saved = errno; free(p); errno = saved; log_number(saved);",
            "drop(NULL);",
        ),
        (
            "saved = errno; free(p); errno = saved; if (errno) log_it();",
            "drop(NULL);",
        ),
        ("saved = errno; log_number(errno = saved);", "drop(NULL);"),
        (
            &*format!("saved = errno; {read} errno = saved;"),
            "drop(NULL);",
        ),
        ("saved = errno; free(p); errno = saved + 1;", "drop(NULL);"),
        (
            "int *kept = &saved; saved = errno; free(p); errno = saved;",
            "drop(NULL);",
        ),
    ] {
        let said = said(body, behind);
        assert!(said.contains(CLAIM), "{body} {behind}: {said}");
    }
}

#[test]
fn a_variable_of_the_file_that_a_moved_macro_reads_is_asked_for() {
    let above = |value: &str| {
        format!(
            "static int last_error; static PyObject *Error;\n\
            #define FAIL() do {{ PyErr_Format(Error, \"%d\", {value}); return; }} while (0)"
        )
    };
    let moved = diff(&text(&above("last_error"), "FAIL();", "return;"));
    let claim = "no code that the releases run sets `last_error`";
    assert!(moved.contains(claim), "{moved}");
    let constant = diff(&text(&above("1"), "FAIL();", "return;"));
    assert!(constant.contains("safe: iterate over `d`"), "{constant}");
}
