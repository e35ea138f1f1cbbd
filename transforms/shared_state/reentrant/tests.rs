//! Calls of functions with static state in, findings and patches out.

use super::NON_REENTRANT_CALL;
use crate::testing::{report, run_triaged};

/// Headers of a file that is for systems of POSIX.
const HEAD: &str = "#include <Python.h>\n#include <pwd.h>\n";

const METHODS: &str = "
static PyMethodDef methods[] = {{\"f\", f, METH_VARARGS, NULL}, {NULL}};
static int exec(PyObject *m) { return setup(m); }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
PyMODINIT_FUNC PyInit_m(void) { return PyModuleDef_Init(&def); }
";

/// `f` with this body.
fn method(body: &str) -> String {
    format!("{HEAD}static PyObject *f(PyObject *self, PyObject *args)\n{{\n{body}\n}}\n{METHODS}")
}

/// The outcome for each call of `text`, with what is to be confirmed, in a word each.
fn said(text: &str) -> String {
    let known = [
        ("by hand: ", "hand"),
        ("safe:", "safe"),
        ("is never `NULL`", "null"),
        ("may continue its sequence after", "helper"),
        ("could not be analysed", "unread"),
        ("on Windows", "windows"),
        ("headers declare", "declared"),
        ("`TZ`", "zone"),
        ("does not keep", "kept"),
        ("overwriting the result", "changed"),
    ];
    let all = report(&NON_REENTRANT_CALL, text);
    let word = |line: &str| known.iter().find(|(part, _)| line.trim().contains(part));
    let words = all.lines().filter_map(word).map(|(_, word)| *word);
    words.collect::<Vec<_>>().join(" ")
}

fn said_of(body: &str) -> String {
    said(&method(body))
}

#[test]
fn a_sequence_gets_its_place() {
    let body = "    char line[80];
    char *word;

    for (word = strtok(line, \" \"); word != NULL;
         word = strtok(NULL, \" \")) /* next */
        use(word);
    Py_RETURN_NONE;";
    insta::assert_snapshot!(run_triaged(&NON_REENTRANT_CALL, &method(body)), @r#"
    8: `strtok` keeps its place in the text in static memory, which all threads share
      9: `strtok` is also called here
      safe: call the reentrant function (`strtok` → `strtok_r`)
    @@
         char line[80];
         char *word;
    +    char *saveptr = NULL;
     
    -    for (word = strtok(line, " "); word != NULL;
    -         word = strtok(NULL, " ")) /* next */
    +    for (word = strtok_r(line, " ", &saveptr); word != NULL;
    +         word = strtok_r(NULL, " ", &saveptr)) /* next */
             use(word);
         Py_RETURN_NONE;
    "#);
}

#[test]
fn a_result_gets_its_struct() {
    let body = "    time_t now = time(NULL);
    struct tm *utc = gmtime(&now);
    if (utc == NULL)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromLong(utc->tm_hour + localtime(&now)->tm_hour);";
    insta::assert_snapshot!(run_triaged(&NON_REENTRANT_CALL, &method(body)), @r#"
    6: `gmtime` keeps its result in static memory, which all threads share
      review: call the reentrant function (`gmtime` → `gmtime_r`)
      assumes that no code relies on `localtime` overwriting the result of `gmtime` (before, both used the same memory)
    9: `localtime` keeps its result in static memory, which all threads share
      review: call the reentrant function (`localtime` → `localtime_r`)
      assumes that `TZ` does not change while the program runs, or `tzset` is called after each change (`localtime` reads `TZ` each time; `localtime_r` need not, and need not set `tzname` either)
      assumes that no code relies on `gmtime` overwriting the result of `localtime` (before, both used the same memory)
    @@
     {
         time_t now = time(NULL);
    -    struct tm *utc = gmtime(&now);
    +    struct tm utc_buf;
    +    struct tm *utc = gmtime_r(&now, &utc_buf);
    +    struct tm tm_buf;
         if (utc == NULL)
             return PyErr_SetFromErrno(PyExc_OSError);
    -    return PyLong_FromLong(utc->tm_hour + localtime(&now)->tm_hour);
    +    return PyLong_FromLong(utc->tm_hour + localtime_r(&now, &tm_buf)->tm_hour);
     }
    "#);
}

#[test]
fn where_a_sequence_begins_is_asked() {
    let begun = "char line[80]; strtok(line, \" \");";
    assert_eq!(said_of(begun), "safe");
    assert_eq!(said_of("strtok(NULL, \" \");"), "hand");
    assert_eq!(
        said_of(&format!("if (self) {{ {begun} }} strtok(NULL, \" \");")),
        "hand"
    );
    assert_eq!(
        said_of(&format!("do {{ {begun} }} while (0); strtok(NULL, \" \");")),
        "safe"
    );
    let chosen = "char *from = line; while (strtok(from, \" \")) from = NULL;";
    assert_eq!(said_of(chosen), "hand");
    let other = "static char *g(void) { return strtok(NULL, \" \"); }\n";
    assert_eq!(said(&(method(begun) + other)), "hand");
    let wrapper = "static char *g(char *s) { return strtok(s, \" \"); }\n";
    assert!(said(&(method(begun) + wrapper)).contains("null"));
    let helper = "static void g(char *s) { char line[9]; strtok(line, s); }\n";
    let meanwhile = format!("{begun} g(line); strtok(NULL, \" \");");
    assert_eq!(said(&(method(&meanwhile) + helper)), "helper safe");
}

#[test]
fn what_a_sequence_begins_with_is_no_null() {
    let with = |test: &str| said_of(&format!("char *s = strdup(t); {test} strtok(s, \" \");"));
    for tested in [
        "if (s == NULL) return NULL;",
        "if (!s) return NULL;",
        "if (s)",
        "if (s && n)",
        "if ((s = strdup(t)) == NULL) return NULL;",
    ] {
        assert_eq!(with(tested), "safe", "{tested}");
    }
    for open in [
        "",
        "if (!s) use(s);",
        "if (s) use(s);",
        "if (n) { if (!s) return NULL; }",
        "if (s) s = strdup(t);",
        "if (!s) return NULL; set(&s);",
    ] {
        assert_eq!(with(open), "null", "{open}");
    }
}

#[test]
fn where_a_result_goes_is_asked() {
    let with = |tail: &str| said_of(&format!("struct tm *tm = gmtime(&now); {tail}"));
    for stays in [
        "return PyLong_FromLong(tm->tm_hour);",
        "struct tm copy = *tm; return g(copy);",
        "if (!tm || tm->tm_mon > 3) return NULL;",
        "strftime(text, 9, \"%c\", tm);",
        "struct tm *same = tm; use(same->tm_mon);",
        "struct tm *other = n ? tm : NULL; use(other->tm_mon);",
    ] {
        assert_eq!(with(stays), "safe", "{stays}");
    }
    for leaves in [
        "last = tm;",
        "*out = tm;",
        "return tm;",
        "struct tm *same = tm; return same;",
        "static struct tm *kept; kept = tm;",
        "box.tm = tm;",
        "*out = &tm->tm_hour;",
        "*out = &(*tm).tm_hour;",
        "self->pick(tm);",
        "set(&tm);",
    ] {
        assert_eq!(with(leaves), "hand", "{leaves}");
    }
    let stand_in =
        "struct tm *my_gmtime_r(time_t *t, struct tm *to) { *to = *gmtime(t); return to; }\n";
    let user = method("struct tm tm; my_gmtime_r(&now, &tm);");
    assert_eq!(said(&(stand_in.to_owned() + &user)), "hand");
    assert_eq!(with("g(tm);"), "kept");
    assert_eq!(with("use(ctime(&now), tm->tm_hour);"), "changed hand");
    let helper = "static int hour(time_t at) { return gmtime(&at)->tm_hour; }\n";
    let both = method("struct tm *tm = gmtime(&now); use(hour(0), tm->tm_hour);");
    assert_eq!(said(&(helper.to_owned() + &both)), "safe changed");
}

#[test]
fn systems_are_asked_for() {
    let body = "char line[80]; strtok(line, \" \");";
    let with = |head: &str| said(&method(body).replace(HEAD, head));
    assert_eq!(with("#include <Python.h>\n"), "windows");
    assert_eq!(with("#include <pwd.h>\n#include <Python.h>\n"), "declared");
    assert_eq!(
        with("#include <Python.h>\n#ifdef UNIX\n#include <pwd.h>\n#endif\n"),
        "windows"
    );
    assert_eq!(said_of("int hour = localtime(&now)->tm_hour;"), "zone");
}

#[test]
fn calls_that_race_for_nothing_are_left() {
    assert_eq!(said_of("struct passwd *entry = getpwnam(\"me\");"), "hand");
    for innocent in [
        "PyMutex_Lock(&m); use(getpwnam(\"me\")); PyMutex_Unlock(&m);",
        "#ifndef Py_GIL_DISABLED\nuse(getpwnam(\"me\"));\n#endif",
        "#ifdef _WIN32\nuse(localtime(&now)->tm_hour);\n#endif",
        "struct dirent *entry = readdir(dir);",
        "mbstate_t state = {0}; mbrtowc(&c, text, n, &state);",
    ] {
        assert_eq!(said_of(innocent), "", "{innocent}");
    }
    assert_eq!(said_of("mbrtowc(&c, text, n, NULL);"), "hand");
    let early = "static int setup(PyObject *m) { srand(1); return 0; }\n";
    assert_eq!(said(&(early.to_owned() + &method("return NULL;"))), "");
    let program = "static void g(void) { srand(1); }\nint main(void) { g(); return rand(); }\n";
    assert_eq!(said(program), "");
    let own = "static int rand(void) { return 4; }\n";
    assert_eq!(
        said(&(own.to_owned() + &method("return PyLong_FromLong(rand());"))),
        ""
    );
    let stated = "/* ungil: thread-safe(rand) */\n";
    assert_eq!(
        said(&(stated.to_owned() + &method("return PyLong_FromLong(rand());"))),
        ""
    );
}
