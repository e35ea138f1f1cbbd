//! C against the headers of a Python, quickly: the headers are compiled ahead.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use ungil::capi::PyVersion;
use ungil::compat::{Style, header};

use super::{COMPAT_FUNCTIONS, headers, run};

/// Weak references are looked behind as one did before 3.13.
const WARNINGS: [&str; 4] = [
    "-Wall",
    "-Werror",
    "-Winvalid-pch",
    "-Wno-deprecated-declarations",
];

/// `Python.h` of one Python, with what newer ones have beside.
pub(crate) struct Headers {
    folder: TempDir,
    include: String,
    /// The version of the Python.
    pub(crate) version: PyVersion,
}

impl Headers {
    /// Compiles them ahead.
    pub(crate) fn of(python: &Path) -> Self {
        let headers = Self {
            folder: tempfile::tempdir().unwrap(),
            include: headers(python),
            version: version(python),
        };
        let style = Style {
            stem: "all_compat",
            full: None,
            limited: false,
        };
        let text = header(&COMPAT_FUNCTIONS.iter().copied().collect(), style);
        std::fs::write(headers.first(), text).unwrap();
        run(headers.gcc().args(["-x", "c-header", "first.h"]));
        headers
    }

    fn first(&self) -> std::path::PathBuf {
        self.folder.path().join("first.h")
    }

    fn gcc(&self) -> Command {
        let mut gcc = Command::new("gcc");
        gcc.current_dir(self.folder.path())
            .args(WARNINGS)
            .args(["-isystem", &self.include]);
        gcc
    }

    /// Looks at a file of C; a warning is an error.
    pub(crate) fn check(&self, file: &Path) -> Output {
        let mut gcc = self.gcc();
        gcc.args(["-fsyntax-only", "-include", "first.h"]).arg(file);
        gcc.output().unwrap()
    }
}

fn version(python: &Path) -> PyVersion {
    let code = "import sys; print(sys.version_info.minor)";
    let output = run(Command::new(python).args(["-c", code]));
    let minor = String::from_utf8(output.stdout).unwrap();
    PyVersion::new(3, minor.trim().parse().unwrap())
}
