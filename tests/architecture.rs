//! The shape of the code: stages know only the stages before them, files stay small.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The modules from the bottom up: each may use those before it and itself.
const LAYERS: &[&str] = &[
    "source",
    "lex",
    "diff",
    "template",
    "capi",
    "ast",
    "dataflow",
    "preprocess",
    "facts",
    "parse",
    "lower",
    "cfg",
    "calls",
    "edit",
    "compat",
    "program",
    "memory",
    "ownership",
    "roles",
    "provenance",
    "build",
    "rule",
    "modules",
    "sections",
    "state",
    "writes",
    "strong",
    "validate",
    "package",
    "testing",
    "transforms",
    "stress",
    "engine",
    "review",
    "series",
    "render",
    "pr",
    "cli",
];

/// Uses that go up on purpose.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Most lines of code in a file, without comments, blank lines and tests.
const MAX_LINES: usize = 400;

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder of the project")
        .map(|entry| entry.expect("readable").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    rust_files(&root.join("transforms"), &mut files);
    let read = files.into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("UTF-8");
        (
            path.strip_prefix(root)
                .expect("below the root")
                .to_path_buf(),
            text,
        )
    });
    read.collect()
}

/// The text without its `#[cfg(test)] mod tests { … }`; empty for files of tests.
fn without_tests<'t>(path: &Path, text: &'t str) -> &'t str {
    let is_tests = path.components().any(|part| part.as_os_str() == "tests")
        || path.file_name().is_some_and(|name| name == "tests.rs");
    match text.find("#[cfg(test)]\nmod tests {") {
        _ if is_tests => "",
        Some(at) => &text[..at],
        None => text,
    }
}

fn module_of(path: &Path) -> String {
    let mut parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let first = parts.next().expect("src or transforms");
    if first == "transforms" {
        return first;
    }
    parts
        .next()
        .expect("a file or folder")
        .trim_end_matches(".rs")
        .to_owned()
}

#[test]
fn stages_know_only_earlier_stages() {
    let rank: BTreeMap<&str, usize> = LAYERS
        .iter()
        .zip(0..)
        .map(|(name, at)| (*name, at))
        .collect();
    let used = Regex::new(r"\bcrate::(\w+)").expect("a fixed pattern");
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        if matches!(module.as_str(), "lib" | "main" | "bin") {
            continue;
        }
        let own = *rank
            .get(module.as_str())
            .unwrap_or_else(|| panic!("`{module}` has no layer"));
        for found in used.captures_iter(without_tests(&path, &text)) {
            let target = &found[1];
            let allowed = rank.get(target).is_none_or(|target| *target <= own)
                || EXCEPTIONS.contains(&(module.as_str(), target));
            if !allowed {
                wrong.push(format!("{} uses crate::{target}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_parser_stays_behind_its_wall() {
    for (path, text) in sources() {
        let module = module_of(&path);
        if !matches!(module.as_str(), "parse" | "lower") {
            let code = without_tests(&path, &text);
            assert!(
                !code.contains("lang_c::"),
                "{} names lang_c",
                path.display()
            );
        }
    }
}

#[test]
fn every_rule_has_its_page_its_cases_and_their_snapshots() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for rule in ungil::transforms::ALL {
        let name = rule.name;
        assert!(
            root.join("docs/rules")
                .join(name)
                .with_extension("md")
                .is_file(),
            "{name}"
        );
        for folder in ["tests/fixtures", "snapshots"] {
            assert!(
                root.join(folder).join(name).is_dir(),
                "{name} has no {folder}"
            );
        }
    }
    for folder in ["snapshots/cli", "snapshots/stages"] {
        assert!(root.join(folder).is_dir(), "{folder}");
    }
}

#[test]
fn files_stay_small() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        let lines = without_tests(&path, &text).lines().map(str::trim);
        let code = lines
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .count();
        if code > MAX_LINES {
            long.push(format!("{}: {code} lines", path.display()));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}
