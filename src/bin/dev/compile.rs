//! What the C compiler says about a file: compared before and after a rewrite, because few
//! packages compile without the libraries they wrap.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use anyhow::Result;
use regex::Regex;

use crate::process::run;

/// How often the compiler said each thing; lines and columns are left out, since a rewrite moves
/// them.
pub(crate) type Diagnostics = BTreeMap<String, u32>;

/// A compiler set up for one package and one Python.
pub(crate) struct Compiler<'a> {
    pub(crate) root: &'a Path,
    /// Where `Python.h` is.
    pub(crate) python_include: &'a Path,
    /// Further `-I` folders.
    pub(crate) includes: &'a [PathBuf],
}

impl Compiler<'_> {
    /// The diagnostics of `files`, which are given from the root; other files than C and C++ have
    /// none.
    pub(crate) fn check(&self, files: &[PathBuf]) -> Result<Diagnostics> {
        let folders = header_folders(self.root);
        let mut all = Diagnostics::new();
        for file in files {
            let Some(language) = language(file) else {
                continue;
            };
            let mut gcc = Command::new("gcc");
            gcc.current_dir(self.root)
                .env("LC_ALL", "C")
                .args(["-fsyntax-only", "-Wall", "-x"]);
            gcc.arg(language).arg("-I").arg(self.python_include);
            for include in self.includes {
                gcc.arg("-I").arg(include);
            }
            // After the system's, where a package's `string.h` would be in the way.
            for folder in &folders {
                gcc.arg("-idirafter").arg(folder);
            }
            if file.extension().is_some_and(|extension| extension == "h") {
                gcc.args(["-include", "Python.h"]);
            }
            for line in run(gcc.arg(file))?.stderr.lines() {
                if let Some(diagnostic) = without_position(line) {
                    *all.entry(diagnostic).or_default() += 1;
                }
            }
        }
        Ok(all)
    }
}

/// What is said more often after than before.
pub(crate) fn new_diagnostics(before: &Diagnostics, after: &Diagnostics) -> Vec<String> {
    let count = |text| before.get(text).copied().unwrap_or(0);
    let new = after.iter().filter(|&(text, &times)| times > count(text));
    new.map(|(text, _)| text.clone()).collect()
}

/// How many compilations gave up for want of a header: about the rest of their file, "nothing new"
/// says nothing.
pub(crate) fn cut_short(diagnostics: &Diagnostics) -> u32 {
    let fatal = diagnostics
        .iter()
        .filter(|(text, _)| text.contains(": fatal error: "));
    fatal.map(|(_, times)| times).sum()
}

fn language(file: &Path) -> Option<&'static str> {
    match file.extension()?.to_str()? {
        "c" | "h" => Some("c"),
        "cc" | "cpp" | "cxx" | "hpp" => Some("c++"),
        _ => None,
    }
}

/// `a.c:3:5: warning: unused variable 'x'` is `a.c: warning: unused variable 'x'`.
fn without_position(line: &str) -> Option<String> {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(.*?):\d+:(?:\d+:)? ((?:warning|error|fatal error): .*)$")
            .expect("the pattern is constant")
    });
    LINE.captures(line)
        .map(|found| format!("{}: {}", &found[1], &found[2]))
}

fn header_folders(root: &Path) -> BTreeSet<PathBuf> {
    let files = ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .build();
    let headers = files.flatten().filter(|entry| {
        let extension = entry.path().extension();
        extension.is_some_and(|extension| extension == "h" || extension == "hpp")
    });
    headers
        .filter_map(|entry| entry.path().parent().map(Path::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_go_and_other_lines_are_no_diagnostics() {
        let text = |line| without_position(line).unwrap();
        assert_eq!(
            text("src/a.c:3:5: warning: unused 'x'"),
            "src/a.c: warning: unused 'x'"
        );
        assert_eq!(text("a.h:7: error: bad"), "a.h: error: bad");
        assert_eq!(without_position("src/a.c: In function 'f':"), None);
        assert_eq!(without_position("a.c:3:5: note: declared here"), None);
    }

    #[test]
    fn a_diagnostic_is_new_when_it_comes_more_often() {
        let before = Diagnostics::from([("a".into(), 1), ("gone".into(), 1)]);
        let after = Diagnostics::from([("a".into(), 2), ("b".into(), 1)]);
        assert_eq!(new_diagnostics(&before, &after), ["a", "b"]);
        assert_eq!(new_diagnostics(&after, &after), [""; 0]);
    }

    #[test]
    fn only_fatal_errors_cut_a_compilation_short() {
        let fatal = "a.c: fatal error: x.h: No such file or directory";
        let seen = Diagnostics::from([(fatal.into(), 2), ("a.c: error: bad".into(), 1)]);
        assert_eq!(cut_short(&seen), 2);
    }
}
