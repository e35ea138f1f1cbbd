//! Checks changed files with a C compiler, where there is one with the headers of a Python.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{Outcome, Step};
use crate::capi::PyVersion;
use crate::cli::session::Session;
use crate::cli::talk::counted;
use crate::engine::Bytes;
use crate::package::FileKind;
use crate::source::SourceFile;

/// Prints the version and the folder of `Python.h`.
const ASK_PYTHON: &str = "import sys, sysconfig\n\
     print('%d.%d' % sys.version_info[:2])\nprint(sysconfig.get_path('include'))";

/// A compiler with headers.
struct Compiler<'a> {
    run: &'a Session,
    headers: String,
}

/// Compiles the C files of `before` without writing anything. A file that did not compile before
/// either, as it needs more than the headers of Python, says nothing about the change.
pub(super) fn changed_files(run: &Session, before: &Bytes) -> Step {
    let skipped = |why: String| Step::new(Outcome::Skipped, format!("compile: {why}"));
    let Some((version, headers)) = python() else {
        return skipped(
            "no `python3` with headers was found; give a command with `--compile CMD`".to_owned(),
        );
    };
    // Functions that its headers lack are not the fault of the change.
    if version < run.package.python.min {
        let oldest = run.package.python.min;
        return skipped(format!(
            "`python3` is {version}, but the package supports {oldest}"
        ));
    }
    let compiler = Compiler { run, headers };
    let (mut good, mut untold, mut details) = (0, Vec::new(), Vec::new());
    for (&id, old) in before {
        let file = run.package.files.get(id);
        if run.package.info(id).kind != FileKind::C {
            continue;
        }
        match compiler.accepts(file, file.bytes()) {
            Ok(()) => good += 1,
            Err(errors) => match compiler.accepts(file, old) {
                Ok(()) => details.push(errors),
                Err(before) => {
                    let first = before.lines().next().unwrap_or_default();
                    untold.push(format!(
                        "not checked, because it did not compile before either: {first}"
                    ));
                }
            },
        }
    }
    let count = |files| counted(files, "file", "files");
    let more = match untold.len() {
        0 => String::new(),
        files => format!("; {} did not compile before either", count(files)),
    };
    let outcome = match (details.is_empty(), good) {
        (false, _) => Outcome::Failed,
        (true, 0) => Outcome::Skipped,
        (true, _) if !untold.is_empty() => Outcome::Skipped,
        (true, _) => Outcome::Ok,
    };
    let good = count(good + details.len());
    Step {
        details: details.into_iter().chain(untold).collect(),
        ..Step::new(
            outcome,
            format!("compile: {good} with cc for Python {version}{more}"),
        )
    }
}

fn python() -> Option<(PyVersion, String)> {
    let output = Command::new("python3")
        .args(["-c", ASK_PYTHON])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (version, headers) = text.trim().split_once('\n')?;
    let found = Path::new(headers).join("Python.h").is_file();
    found.then_some((version.parse().ok()?, headers.to_owned()))
}

impl Compiler<'_> {
    /// What the compiler has against `bytes` in the place of `file`.
    fn accepts(&self, file: &SourceFile, bytes: &[u8]) -> Result<(), String> {
        let path = self.run.package.root.join(file.path());
        let output = self.run_on(&path, bytes);
        match output {
            Some(output) if output.status.success() => Ok(()),
            Some(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let errors = said.lines().filter(|line| line.contains("error:"));
                let errors: Vec<_> = errors.collect();
                let name = file.path().display().to_string();
                Err(errors.join("\n").replace("<stdin>", &name))
            }
            None => Err("cannot run `cc`".to_owned()),
        }
    }

    fn run_on(&self, path: &Path, bytes: &[u8]) -> Option<Output> {
        let engine = &self.run.settings.engine;
        let mut command = Command::new("cc");
        command.args([
            "-fsyntax-only",
            "-Werror=implicit-function-declaration",
            "-x",
            "c",
            "-iquote",
        ]);
        command.arg(path.parent().unwrap_or(Path::new(".")));
        command.args(engine.include_dirs.iter().map(|dir| format!("-I{dir}")));
        let defines = engine.defines.iter();
        command.args(defines.map(|(name, value)| format!("-D{name}={value}")));
        let mut child = command
            .args([&format!("-I{}", self.headers), "-"])
            .current_dir(&self.run.roots.project)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        // A compiler that has ended says by its status what it thinks.
        let _ = child.stdin.take()?.write_all(bytes);
        child.wait_with_output().ok()
    }
}
