//! Static numbers that become atomic, and those that do not.

use super::{METHODS, SHARED_STATIC_VARIABLE};
use crate::testing::report;

/// What is said of the fix for the variables of `text`, which has a method `f`.
fn said(text: &str) -> Vec<String> {
    let report = report(
        &SHARED_STATIC_VARIABLE,
        &format!("#include <Python.h>\n{text}{METHODS}"),
    );
    let outcomes = report.lines().map(str::trim);
    let is_outcome = |line: &&str| {
        let mut starts = ["safe:", "review:", "by hand:", "assumes", "to confirm"].iter();
        starts.any(|start| line.starts_with(start))
    };
    let outcomes = outcomes.filter(is_outcome);
    let others =
        outcomes.filter(|line| !line.contains("no other data has to agree with the value of"));
    others.map(str::to_owned).collect()
}

/// The reason without a fix.
fn reason(text: &str) -> String {
    let said = said(text);
    let [only] = &said[..] else {
        panic!("{text}{said:?}");
    };
    let only = only.strip_prefix("by hand: ").expect("there is no fix");
    let why = only.split_once(" (no automatic fix, because ");
    why.map_or(only, |(_, why)| why.trim_end_matches(')'))
        .to_owned()
}

/// A method that sets `level`, and `more` code.
fn set(declared: &str, more: &str) -> String {
    format!(
        "{declared}
static PyObject *
f(PyObject *self, PyObject *arg)
{{
    int value = PyObject_IsTrue(arg);
    if (value < 0)
        return NULL;
    level = value;
    Py_RETURN_NONE;
}}
{more}
"
    )
}

/// The same with another method, which has this body.
fn get(body: &str) -> String {
    set(
        "static int level;",
        &format!(
            "static PyObject *get(PyObject *self, PyObject *arg) {{ {body} }}
static PyMethodDef more[] = {{{{\"get\", get, METH_O, NULL}}, {{NULL}}}};"
        ),
    )
}

/// No more to confirm than always.
const ALONE: [&str; 1] = ["review: make `level` atomic"];

#[test]
fn an_option_that_is_met_once_stands_by_itself() {
    assert_eq!(said(&set("static int level;", "")), ALONE);
    assert_eq!(said(&get("return PyLong_FromLong(level);")), ALONE);
    assert_eq!(
        said(&get("if (level) return NULL; return PyObject_Str(arg);")),
        ALONE
    );
    assert_eq!(
        said(&get(
            "if (arg == Py_None) return PyLong_FromLong(level); return PyLong_FromLong(-level);"
        )),
        ALONE
    );
    for kind in [
        "unsigned char",
        "Py_ssize_t",
        "unsigned",
        "bool",
        "long unsigned int",
    ] {
        assert_eq!(
            said(&set(&format!("static {kind} level;"), "")),
            ALONE,
            "{kind}"
        );
    }
}

#[test]
fn a_file_that_does_not_know_of_the_gil_is_no_fix() {
    let text = format!("{}{METHODS}", set("static int level;", ""));
    let report = report(&SHARED_STATIC_VARIABLE, &text);
    assert!(report.contains("because its file does not include `Python.h`"));
}

#[test]
fn who_meets_it_twice_asks() {
    for body in [
        "if (level) return PyLong_FromLong(level); return NULL;",
        "while (level) { wait(arg); } return NULL;",
        "int n = level + level; return PyLong_FromLong(n);",
        "return PyLong_FromLong(level > 1 && level < 5);",
    ] {
        let said = said(&get(body));
        assert!(said[0].starts_with("review:"), "{body}: {said:?}");
    }
}

#[test]
fn what_others_may_do_with_it_is_no_fix() {
    for (body, why) in [
        ("return read(&level);", "its address is taken"),
        (
            "return PyLong_FromLong(sizeof(level));",
            "`sizeof` is applied to it",
        ),
        ("return names[level];", "it is used as an index"),
        ("return names[2 * (int)level];", "it is used as an index"),
        (
            "level = level + 1; return NULL;",
            "it is set to a value that is computed from it",
        ),
        (
            "level = !level; return NULL;",
            "it is set to a value that is computed from it",
        ),
        (
            "int n = level, m = n * 2; level = m; return NULL;",
            "it is set to a value that is computed from it",
        ),
        (
            "if (!level) level = 1; return NULL;",
            "it is tested and then changed",
        ),
        (
            "while (level < 3) { level = 4; } return NULL;",
            "it is tested and then changed",
        ),
        (
            "return PyLong_FromLong(level = 2);",
            "the result of the assignment is used",
        ),
        (
            "return PyLong_FromLong(level++);",
            "the result of the assignment is used",
        ),
        (
            "level |= 2; return NULL;",
            "it is changed in another way than by adding a whole number",
        ),
        (
            "level += 0.5; return NULL;",
            "it is changed in another way than by adding a whole number",
        ),
    ] {
        assert_eq!(reason(&get(body)), why, "{body}");
    }
}

#[test]
fn text_that_is_not_followed_is_no_fix() {
    for (body, why) in [
        (
            "extern int level; return read(level);",
            "some code that contains its name could not be analysed",
        ),
        (
            "__asm__(\"nop\" : : \"r\"(level)); return NULL;",
            "some code that contains its name could not be analysed",
        ),
    ] {
        assert_eq!(reason(&get(body)), why, "{body}");
    }
}

#[test]
fn a_declaration_that_says_more_is_no_fix() {
    for (declared, why) in [
        (
            "static volatile int level;",
            "it is `volatile`, perhaps for a signal handler",
        ),
        (
            "static double level;",
            "not every processor stores a value of its type in one step",
        ),
        (
            "static long long level;",
            "not every processor stores a value of its type in one step",
        ),
        (
            "static int64_t level;",
            "not every processor stores a value of its type in one step",
        ),
        (
            "static int level, *at;",
            "not every processor stores a value of its type in one step",
        ),
        (
            "static int level, all[3];",
            "not every processor stores a value of its type in one step",
        ),
        ("int level;", "other files may use it"),
        (
            "static __attribute__((unused)) int level;",
            "its declaration has more than `static` and a type",
        ),
        (
            "int static level;",
            "its declaration has more than `static` and a type",
        ),
        (
            "static int level;\nstatic int *at = &level;",
            "the value of another variable is computed from it",
        ),
        (
            "#define NUMBER(name) static int name\nNUMBER(level);",
            "a macro makes its declaration",
        ),
        (
            "#ifdef SMALL\nstatic int level;\n#else\nstatic int level = 2;\n#endif",
            "some code that contains its name could not be analysed",
        ),
    ] {
        assert_eq!(reason(&set(declared, "")), why, "{declared}");
    }
}

#[test]
fn a_test_for_the_setter_is_no_fix() {
    let text = get("if (!level) { lib_set(1); } if (!level) prepare(arg); return NULL;");
    let prepare = "static int level;
static void prepare(PyObject *arg) { lib_set(arg); level = 1; }";
    let text = text.replacen("static int level;", prepare, 1);
    assert_eq!(reason(&text), "it is tested and then changed");
}

#[test]
fn what_a_setter_does_beside_asks() {
    for (more, asks) in [
        ("PyList_Append(arg, Py_None);", true),
        ("lib_set(value);", true),
        ("((int *)arg)[3] = value;", true),
        ("int own = value; own++;", false),
        ("char own[8]; memset(own, 0, sizeof own);", false),
        ("PyErr_Clear();", false),
        ("Py_XDECREF(PyObject_Repr(arg));", false),
    ] {
        let text = get("return PyBool_FromLong(level);");
        let text = text.replace("level = value;", &format!("level = value; {more}"));
        assert_eq!(said(&text).len() > 1, asks, "{more}");
    }
}

#[test]
fn counts_are_told_by_calls_that_do_not_count() {
    let count = |body: &str| {
        let text = get(body);
        text.replace("level = value;", "level++;")
    };
    assert_eq!(said(&count("return PyLong_FromLong(level);")), ALONE);
    assert_eq!(said(&count("level += 2; level--; return NULL;")), ALONE);
    assert_eq!(
        reason(&count("level++; return PyLong_FromLong(level);")),
        "one call both counts it and reads it"
    );
    // Its value decides something, and the method that counts does more.
    let decides = count("if (level > 100) return NULL; return PyObject_Str(arg);");
    let decides = decides.replace("level++;", "level++; lib_set(value);");
    assert!(said(&decides)[0].starts_with("review:"));
    // Not every compiler adds to a `char` at once.
    let small = count("return PyLong_FromLong(level);").replace("static int", "static char");
    assert_eq!(
        reason(&small),
        "not every compiler can add to a value of its type atomically"
    );
}

#[test]
fn a_test_is_a_use_whatever_it_decides() {
    for body in [
        "for (int n = 0; n < 9; n++) if (level > n) { fprintf(stderr, \"%d\", n); } return NULL;",
        // Another thread may set it to 0 between the two.
        "if (level && value % level == 0) fprintf(stderr, \"a\"); return NULL;",
        "if (level) { fprintf(stderr, \"a\"); return NULL; } return PyLong_FromLong(level);",
    ] {
        assert_eq!(said(&get(body)).len(), 2, "{body}");
    }
}
