//! Borrowed references in functions of many shapes, before and after the rewrite, in a
//! free-threaded debug build of CPython: the same results, no reference lost or left behind, and
//! objects that leave their container while they are in use survive.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{free_threaded_python, headers, run};

const MODULES: [&str; 16] = [
    "lists",
    "exits",
    "leaves",
    "dicts",
    "presence",
    "mixed",
    "jumps",
    "variants",
    "owners",
    "paths",
    "saved",
    "sequences",
    "lent",
    "helpers",
    "operands",
    "choices",
];
/// Functions with lookups of shared containers that must be rewritten, of those there are.
const REWRITTEN_AT_LEAST: usize = 140;
/// Functions that lose references before. All but one lose none after.
const LOSING: [&str; 6] = [
    "owners.made_and_lost",
    "owners.made_and_counted",
    "owners.in_a_switch",
    "owners.forgotten",
    "owners.waiting",
    STILL_LOSING,
];
/// A function that loses as many after.
const STILL_LOSING: &str = "owners.forgotten_in_a_macro";
/// What the interpreter's own caches may add to the count of references in 300 calls.
const NOISE: i64 = 60;

/// Copies the modules into `folder`.
fn copy(folder: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/execution");
    for module in MODULES {
        let name = format!("{module}.c");
        fs::copy(from.join(&name), folder.join(&name)).unwrap();
    }
    fs::copy(from.join("drive.py"), folder.join("drive.py")).unwrap();
}

/// Compiles the modules; a warning fails.
fn build(folder: &Path) {
    let headers = headers(&free_threaded_python());
    let compilers = MODULES.map(|module| {
        let mut gcc = Command::new("gcc");
        gcc.current_dir(folder).args([
            "-Wall",
            "-Wextra",
            "-Werror",
            // No function uses `self`, and `PyWeakref_GetObject` is there to be found.
            "-Wno-unused-parameter",
            "-Wno-missing-field-initializers",
            "-Wno-deprecated-declarations",
        ]);
        if matches!(
            module,
            "lists" | "exits" | "leaves" | "dicts" | "saved" | "lent" | "helpers"
        ) {
            gcc.arg("-Wdeclaration-after-statement");
        }
        gcc.args(["-shared", "-fPIC", "-O1", "-g", "-isystem", &headers])
            .args(["-o", &format!("{module}.so"), &format!("{module}.c")]);
        gcc
    });
    for mut compiler in compilers {
        run(&mut compiler);
    }
}

/// The findings of the rules about borrowed references.
fn check(folder: &Path) -> Vec<Value> {
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let output = ungil
        .args(["check", "--select", "UG1", "--output-format", "json", "."])
        .current_dir(folder)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Rewrites what can be rewritten; a second run must find nothing more. `errors` is the value of
/// `--errors`.
fn migrate(folder: &Path, errors: &str) {
    let ungil = |command: &str, more: &[&str]| {
        let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
        ungil
            .args([command, "--select", "UG1", "--unsafe-fixes"])
            .args(["--errors", errors])
            .args(more)
            .arg(".")
            .current_dir(folder)
            .output()
            .unwrap()
    };
    let first = ungil("migrate", &["--allow-no-vcs", "--allow-dirty"]);
    let said = String::from_utf8_lossy(&first.stderr);
    assert!(said.contains("fixes written to 17 files"), "{said}");
    let second = ungil("diff", &[]);
    assert!(second.status.success(), "{second:?}");
    assert!(second.stdout.is_empty(), "{second:?}");
}

/// `module.function` of each finding that `chosen` takes, as `drive.py` calls them.
fn functions(findings: &[Value], chosen: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let chosen = findings
        .iter()
        .filter(|finding| chosen(&finding["outcome"]));
    chosen
        .filter_map(|finding| {
            let module = finding["location"]["path"].as_str()?.strip_suffix(".c")?;
            let name = finding["function"].as_str()?.strip_prefix("t_")?;
            Some(format!("{module}.{name}"))
        })
        .collect()
}

fn drive(folder: &Path, what: &str, names: &BTreeSet<String>) -> Vec<Value> {
    let mut python = Command::new(free_threaded_python());
    python.args(["-X", "gil=0", "drive.py", what]).args(names);
    let output = run(python.current_dir(folder));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What `saved.raised` gives for a key that cannot be hashed, and the exception behind the lookup.
fn unhashable(folder: &Path) -> String {
    let script = "import saved; print(saved.raised({}, []))";
    let mut python = Command::new(free_threaded_python());
    python.args(["-X", "gil=0", "-c", script]);
    String::from_utf8(run(python.current_dir(folder)).stdout).unwrap()
}

/// Whether two results are equal, or differ as the documentation of the functions says:
/// `PyList_GetItem` raises `SystemError` for what is no list, `PyList_GetItemRef` `TypeError`.
fn agree(before: &Value, after: &Value) -> bool {
    let mut expected = before.clone();
    if before["result"] == "SystemError" && after["result"] == "TypeError: expected a list" {
        expected["result"] = after["result"].clone();
    }
    expected == *after
}

/// No function but those that are `losing` references leaves any behind.
fn check_drift(folder: &Path, trusting: &BTreeSet<String>, losing: &[&str]) {
    for line in drive(folder, "drift", trusting) {
        let drift = line["drift"].as_i64().unwrap();
        if losing.contains(&line["name"].as_str().unwrap()) {
            assert!(drift > NOISE, "{line}");
        } else {
            assert!(drift.abs() <= NOISE, "{line}");
        }
    }
}

#[test]
fn rewritten_functions_keep_results_and_references() {
    let before = tempfile::tempdir().unwrap();
    let after = tempfile::tempdir().unwrap();
    for folder in [before.path(), after.path()] {
        copy(folder);
    }
    migrate(after.path(), "preserve");
    build(before.path());
    build(after.path());

    let found = check(before.path());
    let remaining = check(after.path());
    let left = functions(&remaining, |_| true);
    let all = functions(&found, |_| true);
    let rewritten = all.difference(&left).count();
    assert!(
        rewritten >= REWRITTEN_AT_LEAST,
        "{rewritten} of {} functions are rewritten, not {left:?}",
        all.len()
    );

    let trusting = functions(&found, |outcome| {
        outcome["assumptions"]
            .as_array()
            .is_some_and(|assumptions| !assumptions.is_empty())
    });
    let old = drive(before.path(), "results", &trusting);
    let new = drive(after.path(), "results", &trusting);
    assert!(old.len() > 1500, "{}", old.len());
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(&new) {
        assert!(agree(old, new), "{old:#}\n{new:#}");
    }

    // The old function dropped the exception that was pending together with its own.
    assert_eq!(unhashable(before.path()), "(None, None)\n");
    assert_eq!(unhashable(after.path()), "(None, ValueError('older'))\n");

    check_drift(before.path(), &trusting, &LOSING);
    check_drift(after.path(), &trusting, &[STILL_LOSING]);

    // What is left as it was may still crash.
    let survived = drive(after.path(), "callbacks", &left);
    assert!(survived.len() > 500, "{}", survived.len());
    for line in &survived {
        assert_eq!(line["kept"], 0, "{line}");
        assert_ne!(line["result"], "BufferError: left open");
    }
    for line in drive(after.path(), "strain", &left) {
        assert!(line["drift"].as_i64().unwrap().abs() <= NOISE, "{line}");
    }
    // A pointer into text that the function itself takes out of its container.
    for (name, result) in [
        ("lists.derived_text", "b'fresh text'"),
        ("dicts.derived_text", "'text fresh text'"),
        ("paths.slices", "3357"),
        ("paths.pointed_slice", "1119"),
        ("paths.text_on_some_paths", "b'fresh bytes'"),
        ("paths.found_in_a_loop", "b'fresh bytes'"),
        ("paths.two_labels", "b'fresh bytes text'"),
    ] {
        let mut lines = survived.iter().filter(|line| line["name"] == name);
        assert!(lines.any(|line| line["result"] == result), "{name}");
    }
}

/// What `dicts.local` raises for a key that cannot be hashed, and for one that is not there, what is
/// reported meanwhile, and whether 300 such calls leave no references behind.
const SWALLOWED: &str = "
import dicts, sys
def raised(key):
    try:
        dicts.local({}, key)
    except Exception as error:
        return type(error).__name__
key = []
reports = []
sys.unraisablehook = lambda report: reports.append(report.exc_type.__name__)
print(raised(key), raised('none'), *reports)
sys.unraisablehook = lambda report: None
before = sys.gettotalrefcount()
for _ in range(300):
    raised(key)
print(abs(sys.gettotalrefcount() - before) < 60)
";

#[test]
fn swallowed_errors_are_propagated_or_reported() {
    for (errors, expected) in [
        ("preserve", "KeyError KeyError TypeError"),
        ("propagate", "TypeError KeyError"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        copy(folder.path());
        migrate(folder.path(), errors);
        build(folder.path());
        let mut python = Command::new(free_threaded_python());
        python.args(["-X", "gil=0", "-c", SWALLOWED]);
        let output = run(python.current_dir(folder.path()));
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("{expected}\nTrue\n"), "{errors}");
    }
}
