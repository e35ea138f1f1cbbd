//! What is said of files whose C is not analysed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{FileKind, Package, SkipReason, Skipped, borrowed_call_sites};
use crate::source::FileId;

impl FileKind {
    /// What the file is ("a file …"), and what to do about it; `None` for files whose C is
    /// analysed, and for those without.
    #[must_use]
    pub fn why_not_analysed(self) -> Option<(String, String)> {
        let what = |what: &str| Some((what.to_owned(), String::new()));
        match self {
            Self::C | Self::Header | Self::Build(_) => None,
            Self::Cpp => what("of C++"),
            Self::ObjectiveC => what("of Objective-C"),
            Self::Template => what("that a tool translates to C"),
            Self::Generated(generator) => {
                let made_by = format!("made by {}", generator.name);
                Some((made_by, format!("; {}", generator.advice)))
            }
        }
    }
}

impl SkipReason {
    /// What such a file is ("a file …"), and what to do about it; `None` for those of which each is
    /// warned.
    fn why_in_ledger(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Unreadable(_) | Self::TooLarge(_) => None,
            Self::Binary => Some(("that is not text", "")),
            Self::Name => Some((
                "with a name that is not UTF-8",
                "; rename it to include it in the analysis",
            )),
            Self::Products => Some((
                "that git tracks in a folder for build products",
                "; give its name as an argument to include it, or leave it out with `--exclude`",
            )),
            Self::Link => Some((
                "that is a symbolic link to a file that was not read",
                "; give its name as an argument to include it, or leave it out with `--exclude`",
            )),
        }
    }
}

/// The files that were asked for, call the C API, and are not analysed, although people write them:
/// what they do nobody looked at. Generated files are their generators' business.
///
/// Comments count as code here: what is not read is not known.
pub fn unread_callers(package: &Package) -> impl Iterator<Item = FileId> {
    static CALL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bPy[A-Z_][0-9A-Za-z_]*\s*\(").expect("a constant"));
    package.files.iter().filter_map(|(id, file)| {
        let info = package.info(id);
        let is_source = matches!(
            info.kind,
            FileKind::Cpp | FileKind::ObjectiveC | FileKind::Template
        );
        (info.selected && is_source && CALL.is_match(file.bytes())).then_some(id)
    })
}

/// The files that were asked for and are not analysed, a line for each reason, with the
/// borrowed-reference calls in them.
#[must_use]
pub fn not_analysed(package: &Package) -> Vec<String> {
    let mut reasons = BTreeMap::<_, (usize, usize)>::new();
    for (id, file) in package.files.iter() {
        let info = package.info(id);
        if let Some(reason) = info.kind.why_not_analysed().filter(|_| info.selected) {
            let (files, calls) = reasons.entry(reason).or_default();
            *files += 1;
            *calls += borrowed_call_sites(file.bytes()).values().sum::<usize>();
        }
    }
    let mut skipped = BTreeMap::<_, Vec<&Path>>::new();
    for Skipped { path, reason } in &package.skipped {
        if let Some(why) = reason.why_in_ledger() {
            skipped.entry(why).or_default().push(path);
        }
    }
    let skipped = skipped.into_iter().map(|((what, advice), paths)| {
        let files_word = if paths.len() == 1 { "file" } else { "files" };
        let (count, first) = (paths.len(), paths[0].display());
        format!("{count} {files_word} {what}, such as `{first}`{advice}")
    });
    let line = |((what, advice), (files, calls)): ((String, String), (usize, usize))| {
        let files_word = if files == 1 { "file" } else { "files" };
        let with_calls = match calls {
            0 => String::new(),
            1 => " (with 1 borrowed reference)".to_owned(),
            _ => format!(" (with {calls} borrowed references)"),
        };
        format!("{files} {files_word} {what}{with_calls}{advice}")
    };
    reasons.into_iter().map(line).chain(skipped).collect()
}
