//! Scripts of `ungil stress`, run with a free-threaded debug build of CPython on a module with races,
//! and on the same module without them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{free_threaded_python, headers, run};

const SOURCE: &str = include_str!("stress/racy.c");
const SCRIPT: &str = "stress_racy.py";

/// A folder with the source, the script for it, and the module built with these options.
fn build(options: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("racy.c"), SOURCE).unwrap();
    let include = headers(&free_threaded_python());
    let mut compiler = Command::new("gcc");
    compiler.current_dir(folder.path()).args(options);
    compiler.args([
        "-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-isystem", &include,
    ]);
    run(compiler.args(["-o", "racy.so", "racy.c"]));
    write(folder.path(), &[]);
    folder
}

fn ungil(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command.arg("stress").args(arguments).current_dir(folder);
    command.output().unwrap()
}

fn write(folder: &Path, arguments: &[&str]) {
    let output = ungil(folder, arguments);
    assert!(output.status.success(), "{output:?}");
}

/// What the script prints, and its exit status.
fn stressed(folder: &Path, python: &Path, arguments: &str) -> (String, Option<i32>) {
    let mut command = Command::new(python);
    command
        .arg(SCRIPT)
        .args(arguments.split(' '))
        .current_dir(folder);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

/// Function and result of each line of the table, and finding and result.
fn results(text: &str) -> Vec<String> {
    let two = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?))
    };
    text.lines().filter_map(two).collect()
}

#[test]
fn races_are_found_before_the_repair_and_not_after_it() {
    let racy = build(&[]);
    let arguments = "--rounds 500";
    let (text, status) = stressed(racy.path(), &free_threaded_python(), arguments);
    assert_eq!(status, Some(1), "{text}");
    let found = results(&text);
    for line in ["count_letters crash", "Tickets.take differs"] {
        assert!(found.iter().any(|it| it == line), "{text}");
    }
    let finding = |text: &str, words: [&str; 3]| {
        let mut lines = text.lines();
        let is_it = |line: &str| words.iter().all(|word| line.contains(word));
        lines.any(is_it)
    };
    assert!(
        finding(&text, ["UG101", "crash", "count_letters"]),
        "{text}"
    );
    assert!(
        finding(&text, ["UG504", "differs", "Tickets.take"]),
        "{text}"
    );

    // The script of before: the repaired module has no findings to name what is to be called.
    let repaired = build(&["-DREPAIRED"]);
    fs::copy(racy.path().join(SCRIPT), repaired.path().join(SCRIPT)).unwrap();
    let (text, status) = stressed(repaired.path(), &free_threaded_python(), arguments);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("2 passed, 0 failed, 0 not run"), "{text}");
}

#[test]
fn what_is_filled_in_is_called_and_stays() {
    let folder = build(&["-DREPAIRED"]);
    let arguments = "--rounds 20 --only spread";
    let (text, status) = stressed(folder.path(), &free_threaded_python(), arguments);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("fill in `arguments of spread`"), "{text}");
    assert!(text.contains("Nothing was run"), "{text}");

    let path = folder.path().join(SCRIPT);
    let filled = fs::read_to_string(&path).unwrap();
    let filled = filled.replace("FILL_IN  # fill in: a tuple with the arguments", "(1, 2)");
    fs::write(&path, &filled).unwrap();
    write(folder.path(), &[]);
    assert_eq!(fs::read_to_string(&path).unwrap(), filled);
    let (text, status) = stressed(folder.path(), &free_threaded_python(), arguments);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("1 passed, 0 failed, 0 not run"), "{text}");
}

#[test]
fn with_the_gil_nothing_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("racy.c"), SOURCE).unwrap();
    write(folder.path(), &[]);
    let (text, status) = stressed(folder.path(), Path::new("python3"), "--all");
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("proves nothing about races"), "{text}");
    let (text, _) = stressed(folder.path(), Path::new("python3"), "--anyway");
    assert!(text.contains("the module cannot be imported"), "{text}");
}

#[test]
fn other_files_are_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("racy.c"), SOURCE).unwrap();
    fs::write(path.join("mine.py"), "import racy\n").unwrap();
    let refused = ungil(path, &["-o", "mine.py"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("was not written by `ungil stress`"), "{said}");
    assert_eq!(
        fs::read_to_string(path.join("mine.py")).unwrap(),
        "import racy\n"
    );

    let none = ungil(path, &["--module", "other"]);
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(
        said.contains("there is no module `other` but racy"),
        "{said}"
    );
}

#[test]
fn pytest_finds_the_functions_with_findings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("racy.c"), SOURCE).unwrap();
    write(folder.path(), &["--pytest"]);
    let ask = "
import test_stress_racy as script
class Function:
    fixturenames = ['name']
    def parametrize(self, name, values):
        print(name, *values)
script.pytest_generate_tests(Function())
print(*[name for name in vars(script) if name.startswith('test_') and getattr(vars(script)[name], '__test__', True)])
";
    let mut python = Command::new("python3");
    let output = run(python.args(["-c", ask]).current_dir(folder.path()));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "name count_letters Tickets.take\ntest_stress\n");
}
