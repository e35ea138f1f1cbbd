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
    /// none. Parts that `#include "part.c"` brings into another file are compiled as that file.
    pub(crate) fn check(&self, files: &[PathBuf]) -> Result<Diagnostics> {
        let folders = header_folders(self.root);
        let mut all = Diagnostics::new();
        for file in whole_units(self.root, files) {
            let Some(language) = language(&file) else {
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

/// `files` with those replaced that other C files include by these.
fn whole_units(root: &Path, files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let includers = includers(root);
    let mut units = BTreeSet::new();
    let mut open: Vec<PathBuf> = files.to_vec();
    let mut seen = BTreeSet::new();
    while let Some(file) = open.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let name = Path::new(file.file_name().unwrap_or_default());
        match includers.get(name) {
            Some(by) if !by.contains(&file) => open.extend(by.iter().cloned()),
            _ => {
                units.insert(file);
            }
        }
    }
    units
}

/// The C files that include C files, from the root, by the name of the included file.
fn includers(root: &Path) -> BTreeMap<PathBuf, Vec<PathBuf>> {
    static INCLUDE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?m)^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?([^"/\n]+\.c)""#)
            .expect("the pattern is constant")
    });
    let mut all: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for entry in walk(root).filter(|entry| language(entry.path()) == Some("c")) {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let file = entry.path().strip_prefix(root).unwrap_or(entry.path());
        for found in INCLUDE.captures_iter(&text) {
            let by = all.entry(found[1].into()).or_default();
            by.push(file.to_owned());
        }
    }
    all
}

fn walk(root: &Path) -> impl Iterator<Item = ignore::DirEntry> {
    let files = ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .build();
    files.flatten().filter(|entry| entry.path().is_file())
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
    let headers = walk(root).filter(|entry| {
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
    fn parts_are_compiled_as_what_includes_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "src/all.c",
            "#include <Python.h>\n# include \"parts/part.c\"\n",
        );
        write("src/parts/part.c", "int x;\n");
        write("own.c", "#include \"own.h\"\n");
        let units = |name: &str| whole_units(folder.path(), &[name.into()]);
        assert_eq!(
            units("src/parts/part.c"),
            [PathBuf::from("src/all.c")].into()
        );
        assert_eq!(units("own.c"), [PathBuf::from("own.c")].into());
    }

    #[test]
    fn only_fatal_errors_cut_a_compilation_short() {
        let fatal = "a.c: fatal error: x.h: No such file or directory";
        let seen = Diagnostics::from([(fatal.into(), 2), ("a.c: error: bad".into(), 1)]);
        assert_eq!(cut_short(&seen), 2);
    }
}
