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
    assert!(said.contains("`nowhere` is no commit"), "{said}");
}

#[test]
fn a_write_that_fails_its_test_is_taken_back() {
    let repository = Repository::new();
    // The test sees the new text.
    let test = "! grep -q GetItemRef m.c";
    let (status, _, said) = repository.ungil(&["migrate", "--verify", "--test", test]);
    assert_eq!(status, 4, "{said}");
    assert!(said.contains("all was taken back: test: `! grep"), "{said}");
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
            || first.starts_with("not compiled, before neither: m.c:2"),
        "{report}"
    );
    let (status, report, _) = repository.ungil(&["verify", "--strict"]);
    assert_eq!(status, 3, "{report}");
}
