//! `ungil verify` and `--verify` on temporary repositories: what holds, what does not, what is
//! taken back.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use support::run;

const CODE: &str = "#include <Python.h>\n\n\
    static PyObject *last;\n\n\
    PyObject *\nfirst(PyObject *list)\n{\n    \
    PyObject *item = PyList_GetItem(list, 0);\n    \
    if (item == NULL)\n        return NULL;\n    \
    return PyObject_Str(item);\n}\n";

/// A committed module for Pythons that need no header, and what a run of `ungil` in it gives.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        let pyproject = "[project]\nname = \"m\"\nrequires-python = \">=3.13\"\n";
        fs::write(repository.path().join("pyproject.toml"), pyproject).unwrap();
        fs::write(repository.path().join("m.c"), CODE).unwrap();
        repository.git(&["init", "-q"]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "all"]);
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        let mut git = Command::new("git");
        run(git.args(identity).args(arguments).current_dir(self.path()));
    }

    /// Exit status, stdout, stderr.
    fn ungil(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
        let output = command.args(arguments).current_dir(self.path()).output();
        let output = output.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn code(&self) -> String {
        fs::read_to_string(self.path().join("m.c")).unwrap()
    }

    fn edit(&self, from: &str, to: &str) {
        let code = self.code();
        assert!(code.contains(from), "{code}");
        fs::write(self.path().join("m.c"), code.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn what_ungil_wrote_holds_until_a_release_is_lost() {
    let repository = Repository::new();
    let (_, _, said) = repository.ungil(&["migrate"]);
    assert!(repository.code().contains("GetItemRef"), "{said}");
    let (status, report, _) = repository.ungil(&["verify"]);
    let last = report.lines().last().unwrap();
    assert_eq!(status, 0, "{report}");
    assert_eq!(
        last,
        "ok      parse, references, sections: 1 file, compared with what the last write replaced"
    );
    repository.edit("    Py_DECREF(item);\n", "");
    for baseline in [&["verify"][..], &["verify", "--since", "HEAD"]] {
        let (status, report, _) = repository.ungil(baseline);
        assert_eq!(status, 1, "{report}");
        assert!(
            report.starts_with(
                "m.c:5: wrong: in `first`, the reference from `PyList_GetItemRef` is not released \
                 on every path\nfailed  parse"
            ),
            "{report}"
        );
    }
}

#[test]
fn what_a_helper_gives_that_nobody_changed_is_known() {
    let repository = Repository::new();
    let text = "static PyObject *\nmade(PyObject *o)\n{\n    \
                return PyObject_GetAttrString(o, \"x\");\n}\n\n\
                PyObject *\nsecond(PyObject *list)\n{\n    \
                PyObject *item = PyList_GetItem(list, 1), *x, *text;\n    \
                if (item == NULL)\n        return NULL;\n    \
                x = made(item);\n    \
                if (x == NULL)\n        return NULL;\n    \
                text = PyObject_Str(x);\n    Py_DECREF(x);\n    return text;\n}\n";
    fs::write(repository.path().join("m.c"), CODE.to_owned() + text).unwrap();
    repository.git(&["commit", "-qam", "two"]);
    repository.ungil(&["migrate"]);
    let code = repository.code();
    assert!(
        code.contains("x = made(item);\n    Py_DECREF(item);"),
        "{code}"
    );
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 0, "{report}");
    assert!(!report.contains("not proven"), "{report}");
}

#[test]
fn what_a_person_wrote_is_compared_with_the_commit() {
    let repository = Repository::new();
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(
        (status, &report[..]),
        (0, "ok      nothing has changed, compared with HEAD\n")
    );
    // To set a variable of the file is no mistake; to release what is borrowed is.
    repository.edit(
        "    return PyObject_Str",
        "    last = list;\n    return PyObject_Str",
    );
    assert_eq!(repository.ungil(&["verify"]).0, 0);
    repository.edit("GetItem(", "GetItemRef(");
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 1, "{report}");
    repository.edit("return PyObject_Str(item)", "return PyObject_Str(item");
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 1, "{report}");
    assert!(report.contains("the result does not parse"), "{report}");
}

#[test]
fn commands_of_the_user_decide_and_run_in_the_project() {
    let repository = Repository::new();
    let compile = ["verify", "--compile", "test -f m.c", "--test", "exit 3"];
    let (status, report, _) = repository.ungil(&compile);
    assert_eq!(status, 1);
    assert!(
        report.contains("ok      compile: `test -f m.c`\n"),
        "{report}"
    );
    assert!(
        report.contains("failed  test: `exit 3` ended with"),
        "{report}"
    );
    let (status, _, said) = repository.ungil(&["verify", "--since", "nowhere"]);
    assert_eq!(status, 2);
    assert!(said.contains("`nowhere` is not a commit"), "{said}");
}

#[test]
fn a_stress_script_that_called_nothing_is_not_ok() {
    let repository = Repository::new();
    let stress = |status: &str| {
        let command = format!("exit {status}");
        let (status, report, _) = repository.ungil(&["verify", "--stress", &command]);
        let line = report.lines().find(|line| line.contains("stress:"));
        (status, line.unwrap_or_default().to_owned())
    };
    assert_eq!(stress("0"), (0, "ok      stress: `exit 0`".to_owned()));
    let (status, line) = stress("1");
    assert_eq!(status, 1);
    assert!(line.starts_with("failed  stress: `exit 1` ended"), "{line}");
    let (status, line) = stress("2");
    assert_eq!(status, 0);
    assert!(line.starts_with("skipped stress: `exit 2` ended"), "{line}");
    let (status, ..) = repository.ungil(&["verify", "--strict", "--stress", "exit 2"]);
    assert_eq!(status, 3);
}

#[test]
fn a_write_that_fails_its_test_is_taken_back() {
    let repository = Repository::new();
    // The test sees the new text.
    let test = "! grep -q GetItemRef m.c";
    let (status, _, said) = repository.ungil(&["migrate", "--verify", "--test", test]);
    assert_eq!(status, 4, "{said}");
    assert!(
        said.contains("all changes were undone: test: `! grep"),
        "{said}"
    );
    assert_eq!(repository.code(), CODE);
    let accepted = [
        "review", "--accept", "safe", "--write", "--verify", "--test", test,
    ];
    let (status, _, said) = repository.ungil(&accepted);
    assert_eq!((status, &repository.code()[..]), (4, CODE), "{said}");
    // The decision stands; without the test it is written.
    let (status, ..) = repository.ungil(&["review", "--write", "--verify"]);
    assert_eq!(status, 0);
    assert!(repository.code().contains("GetItemRef"));
    assert_eq!(repository.ungil(&["undo"]).0, 0);
    assert_eq!(repository.code(), CODE);
}

#[test]
fn an_interrupt_while_a_write_is_verified_takes_it_back() {
    let repository = Repository::new();
    // The parent of the shell is `ungil`.
    let test = "kill -INT $PPID; exit 1";
    let (status, _, said) = repository.ungil(&["migrate", "--verify", "--test", test]);
    // Whether the end of the run or the signal comes first is open.
    assert!(status == 4 || status == 130, "{status}: {said}");
    assert_eq!(repository.code(), CODE);
}

#[test]
fn a_write_that_is_killed_while_it_is_verified_can_be_verified_and_taken_back() {
    let repository = Repository::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let arguments = ["migrate", "--verify", "--test", "kill -9 $PPID"];
    let output = command
        .args(arguments)
        .current_dir(repository.path())
        .output();
    assert_eq!(output.unwrap().status.signal(), Some(9));
    assert!(repository.code().contains("GetItemRef"));
    assert_eq!(repository.ungil(&["verify"]).0, 0);
    assert_eq!(repository.ungil(&["undo"]).0, 0);
    assert_eq!(repository.code(), CODE);
}

#[test]
fn an_error_of_the_compiler_is_found_where_there_was_none() {
    let repository = Repository::new();
    let pyproject = "[project]\nname = \"m\"\nrequires-python = \">=3.6\"\n";
    fs::write(repository.path().join("pyproject.toml"), pyproject).unwrap();
    repository.edit("PyObject_Str(item)", "PyObject_Str(item, 1)");
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 1, "{report}");
    assert!(report.starts_with("ok"), "{report}");
    assert!(
        report.contains("m.c:11:12: error: too many arguments"),
        "{report}"
    );
    assert!(
        report.contains("\nfailed  compile: 1 file with cc for Python 3."),
        "{report}"
    );
    // What was broken before tells nothing.
    repository.git(&["commit", "-qam", "broken"]);
    repository.edit("static PyObject *last;\n", "static PyObject *latest;\n");
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 0, "{report}");
    assert!(
        report.contains("1 file did not compile before either"),
        "{report}"
    );
}

#[test]
fn a_step_that_did_not_run_is_said_first_and_is_not_enough_for_strict() {
    let repository = Repository::new();
    repository.edit(
        "#include <Python.h>",
        "#include <Python.h>\n#include \"not_here.h\"",
    );
    repository.git(&["commit", "-qam", "needs more"]);
    repository.ungil(&["migrate"]);
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 0, "{report}");
    let first = report.lines().next().unwrap();
    assert!(
        first.starts_with("skipped compile")
            || first.starts_with("not checked, because it did not compile before either: m.c:2"),
        "{report}"
    );
    let (status, report, _) = repository.ungil(&["verify", "--strict"]);
    assert_eq!(status, 3, "{report}");
}

/// A module that reads a template for each of two types.
fn with_template(template: &str) -> Repository {
    let repository = Repository::new();
    let code = "#include <Python.h>\n#define NAME(f) first_##f\n#include \"template.h\"\n\
        #undef NAME\n#define NAME(f) second_##f\n#include \"template.h\"\n\
        PyObject *\nboth(PyObject *o)\n{\n    \
        return PyLong_FromLong(first_size(o) + second_size(o));\n}\n";
    fs::write(repository.path().join("m.c"), code).unwrap();
    fs::write(repository.path().join("template.h"), template).unwrap();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "template"]);
    repository
}

#[test]
fn what_is_defined_twice_in_a_unit_is_wrong() {
    let template =
        "static long\nNAME(size)(PyObject *o)\n{\n    return (long)PyObject_Size(o);\n}\n";
    let write = |text: &str| {
        let repository = with_template(template);
        fs::write(repository.path().join("template.h"), text).unwrap();
        let (status, report, _) = repository.ungil(&["verify"]);
        let wrong = report.lines().filter(|line| line.contains(": wrong: "));
        (status, wrong.map(str::to_owned).collect::<Vec<_>>())
    };
    let split = |held: &str| {
        template.replace("NAME(size)", held)
            + "static long\nNAME(size)(PyObject *o)\n{\n    return "
            + held
            + "(o);\n}\n"
    };
    assert_eq!(write(&split("NAME(size_lock_held)")), (0, vec![]));
    assert_eq!(
        write(&split("size_lock_held")),
        (
            1,
            vec![
                "template.h:1: wrong: `size_lock_held` is defined twice in one translation unit: \
                 template.h:1 is read twice"
                    .to_owned()
            ]
        )
    );
    let (status, wrong) = write(&(template.to_owned() + "static PyMutex lock = {0};\n"));
    assert_eq!((status, wrong.len()), (1, 1), "{wrong:?}");
    // By its own text, and in the file that did not change.
    let repository = Repository::new();
    repository.edit("static PyObject *last;", "static PyObject *last;\n#define SIZE 1\n#define SIZE 2\nlong\nf(void)\n{\n    return SIZE;\n}\nlong\nf(void)\n{\n    return 3;\n}");
    let (status, report, _) = repository.ungil(&["verify"]);
    assert_eq!(status, 1, "{report}");
    assert!(
        report.starts_with(
            "m.c:5: wrong: `SIZE` is defined twice in one translation unit: m.c:4 and m.c:5\n\
             m.c:11: wrong: `f` is defined twice in one translation unit: m.c:6 and m.c:11\n"
        ),
        "{report}"
    );
}

/// A type and its method, whose names the file that includes it makes.
const TYPE: &str = "typedef struct {
    PyObject_HEAD
    long count;
} SELF;

static PyObject *
NAME(bump)(SELF *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(self->count++);
}

static PyMethodDef NAME(methods)[] = {
    {\"bump\", (PyCFunction)NAME(bump), METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static PyTypeObject NAME(Type) = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = \"m.T\",
    .tp_basicsize = sizeof(SELF),
    .tp_methods = NAME(methods),
};
";

#[test]
fn two_types_of_one_template_are_not_split() {
    let include = |name: &str| {
        format!(
            "#undef SELF\n#undef NAME\n#define SELF {name}\n#define NAME(f) {name}_##f\n\
             #include \"template.h\"\n"
        )
    };
    let repository = with_template(TYPE);
    let includes = include("First") + &include("Second");
    let code = format!("#include <Python.h>\n{includes}");
    fs::write(repository.path().join("m.c"), code).unwrap();
    let (status, report, _) = repository.ungil(&["check", "--select", "UG504"]);
    assert_eq!(status, 1, "{report}");
    for other in ["Second", "First"] {
        let reason = format!("`{other}` has the same methods: both include the same source text)");
        assert!(report.contains(&reason), "{report}");
    }
}
