//! Rule cases under `tests/fixtures/<rule-name>`: a C file, or a folder that holds a package; and
//! what the program makes of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ungil::capi::PyVersion;
use ungil::edit::{Confidence, EditSet, Fix, FixId, apply};
use ungil::engine::{Analysis, Config, analyze};
use ungil::package::{Package, Request, find_roots, load};
use ungil::rule::{Finding, Outcome, Rule};
use ungil::transforms::ALL;

use super::tree::Tree;

/// Files of a package: path below its folder, and text.
pub(crate) type Files = BTreeMap<PathBuf, String>;

/// Cases that free-threaded Pythons before 3.15 do not compile, which is what the rules say of
/// them: the first neither before nor after.
pub(crate) const REFUSED_BEFORE: [&str; 2] = [
    "unconditional-limited-api/declines_in_c",
    "direct-object-field/review_count_set",
];

/// One case.
pub(crate) struct Case {
    /// The rule whose folder it is in.
    pub(crate) rule: &'static Rule,
    /// `safe_converted`.
    pub(crate) name: String,
    /// Its file under its own name, or all files of its folder.
    pub(crate) files: Files,
}

impl Case {
    /// `borrowed-list-item/safe_converted`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.rule.name, self.name)
    }
}

/// The folder with the folders of the rules.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// All cases, by the order of the rules and their own names.
pub(crate) fn all() -> Vec<Case> {
    ALL.iter().flat_map(|rule| of(rule)).collect()
}

fn of(rule: &'static Rule) -> Vec<Case> {
    let folder = folder().join(rule.name);
    let cases = entries(&folder).into_iter().map(|path| Case {
        rule,
        name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        files: files(&path),
    });
    cases.collect()
}

/// What is in a folder, sorted; nothing if there is no such folder.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn files(path: &Path) -> Files {
    let paths = match path.is_dir() {
        true => entries(path),
        false => vec![path.to_path_buf()],
    };
    let read = paths.into_iter().map(|path| {
        let name = PathBuf::from(path.file_name().unwrap());
        (name, fs::read_to_string(path).unwrap())
    });
    read.collect()
}

/// Runs `work` on threads whose stacks are as deep as the parser needs.
pub(crate) fn on_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let threads = rayon::ThreadPoolBuilder::new().stack_size(64 << 20);
    threads.build().unwrap().install(work)
}

/// The oldest Python that cases are for: its API has all that most fixes need.
pub(crate) const OLDEST: PyVersion = PyVersion::new(3, 13);

/// A package, and what the program says of it with all rules.
pub(crate) struct Ran {
    pub(crate) package: Package,
    pub(crate) analysis: Analysis,
}

impl Ran {
    /// Reads and analyses `files` as `ungil` does.
    pub(crate) fn new(files: &Files) -> Self {
        Self::since(OLDEST, files)
    }

    /// As [`Ran::new`] for a package that supports Pythons since `oldest`.
    pub(crate) fn since(oldest: PyVersion, files: &Files) -> Self {
        let files = files.iter();
        let files = files.map(|(path, text)| (path.to_str().unwrap(), text.as_bytes()));
        let tree = Tree::new(&files.collect::<Vec<_>>());
        let path = fs::canonicalize(tree.path()).unwrap();
        let request = Request {
            roots: find_roots(std::slice::from_ref(&path)),
            paths: vec![path],
            include_dirs: Vec::new(),
            exclude: Vec::new(),
            min_python: Some(oldest),
            tracked: Vec::new(),
        };
        let package = load(&request).unwrap();
        let config = Config {
            build_files: true,
            full_coverage: true,
            ..Config::default()
        };
        let analysis = analyze(&package, &config);
        Self { package, analysis }
    }

    /// The findings in the order of their places.
    pub(crate) fn findings(&self) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> = self.analysis.findings.iter().collect();
        findings.sort_by_key(|finding| (finding.file, finding.span, finding.rule.code));
        findings
    }

    /// The files with all fixes of at least this confidence applied, and those that came in.
    pub(crate) fn result(&self, least: Confidence) -> Files {
        let fixes = self.analysis.findings.iter().filter_map(fix);
        let fixes = fixes.filter(|fix| fix.confidence >= least);
        let (edits, conflicts) = EditSet::merge((0..).map(FixId).zip(fixes.clone()));
        assert_eq!(conflicts, [], "fixes clash");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let files = self.package.files.iter().map(|(id, file)| {
            let new = apply(file.bytes(), edits.edits(id)).bytes;
            (file.path().to_path_buf(), text(new))
        });
        let made = self.analysis.new_files.iter();
        let made = made.filter_map(|file| file.of(fixes.clone()));
        files
            .chain(made.map(|file| (file.path, text(file.bytes))))
            .collect()
    }

    /// Asserts that a second run, over what the first has made of the files by fixes of at least
    /// this confidence, has no more such fixes; gives the files.
    pub(crate) fn settled(&self, least: Confidence) -> Files {
        let result = self.result(least);
        let again = Self::new(&result);
        let fixes = again.analysis.findings.iter().filter_map(fix);
        let more: Vec<&Fix> = fixes.filter(|fix| fix.confidence >= least).collect();
        assert!(more.is_empty(), "a second run: {more:#?}\n{result:#?}");
        result
    }
}

/// The fix of a finding, if it has one.
pub(crate) fn fix(finding: &Finding) -> Option<&Fix> {
    match &finding.outcome {
        Outcome::Fix(fix) => Some(fix),
        Outcome::Safe(_) | Outcome::Manual(_) => None,
    }
}

/// What is to be done about a finding, in a word or two.
pub(crate) fn kind(finding: &Finding) -> &'static str {
    match &finding.outcome {
        Outcome::Fix(fix) if fix.confidence == Confidence::Safe => "safe",
        Outcome::Fix(_) => "review",
        Outcome::Safe(_) => "safe as it is",
        Outcome::Manual(_) => "by hand",
    }
}
