//! Findings as text: for people, for editors, for programs that gather findings.

mod abi3t;
mod full;
mod github;
mod gitlab;
mod json;
mod junit;
mod place;
mod report;
mod sarif;
mod statistics;

pub use abi3t::{abi3t, abi3t_json};
pub use report::cell;
pub use statistics::statistics;

use std::path::{Path, PathBuf};

use crate::diff::slashed;
use crate::edit::Confidence;
use crate::engine::Analysis;
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::FileId;

/// How findings are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The lines of code with the places marked, and the steps that lead there.
    #[default]
    Full,
    /// One line for each finding: `path:line:col: CODE name: message [what to do]`.
    Concise,
    /// One JSON array.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines of a pull request.
    Github,
    /// A Code Quality report of GitLab.
    Gitlab,
    /// JUnit XML: a test case that fails for each finding.
    Junit,
    /// A report on the whole package, for a pull request or wiki.
    Markdown,
    /// The same report as one page without scripts.
    Html,
}

impl OutputFormat {
    /// Whether people read it as text, so that a sentence may follow.
    #[must_use]
    pub fn is_for_people(self) -> bool {
        matches!(self, Self::Full | Self::Concise)
    }

    /// Whether it is read from the top, perhaps not to the end, so that the worst comes first. The
    /// others go by file: programs and editors sort for themselves.
    #[must_use]
    pub fn is_worst_first(self) -> bool {
        matches!(
            self,
            Self::Full | Self::Github | Self::Markdown | Self::Html
        )
    }
}

/// Where findings are shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The package they are about.
    pub package: &'a Package,
    /// Absolute folder that shown paths are relative to.
    pub folder: &'a Path,
    /// Whether to use colours.
    pub styled: bool,
}

impl View<'_> {
    /// The path of `file` as the user would write it.
    #[must_use]
    pub fn path(&self, file: FileId) -> String {
        self.absent_path(self.package.files.get(file).path())
    }

    /// The same for a file that is not there yet; `path` is relative to the package's root.
    fn absent_path(&self, path: &Path) -> String {
        let absolute = self.package.root.join(path);
        relative_to(self.folder, &absolute).display().to_string()
    }

    /// The path of `file` from the top of the repository, with `/`; the same wherever the user is.
    fn root_path(&self, file: FileId) -> String {
        let path = slashed(self.package.files.get(file).path());
        String::from_utf8_lossy(&path).into_owned()
    }
}

/// A finding and its name.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Its name, of [`crate::rule::fingerprints`].
    pub fingerprint: &'a str,
    /// Why it is not to be reported; SARIF tells of such findings all the same.
    pub silenced: Option<Silence<'a>>,
    /// What `ungil review` calls its fix, if it has one.
    pub fix: Option<&'a str>,
}

/// What keeps a finding from being reported.
#[derive(Debug, Clone, Copy)]
pub enum Silence<'a> {
    /// A comment, which may say why.
    Comment(Option<&'a str>),
    /// The configuration.
    Configuration,
}

/// What there is to write.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// Where it is shown.
    pub view: View<'a>,
    /// The findings in the order they are to be written in.
    pub findings: &'a [Named<'a>],
    /// The run they are of.
    pub analysis: &'a Analysis,
    /// What paths of the repository are put behind for a link to them; empty for relative links.
    pub sources: &'a str,
}

/// Writes the findings of `results` in the given order.
#[must_use]
pub fn render(format: OutputFormat, results: Results<'_>) -> String {
    let Results { view, findings, .. } = results;
    let each = |write: fn(View<'_>, &Finding) -> String| {
        findings
            .iter()
            .map(|named| write(view, named.finding))
            .collect()
    };
    match format {
        OutputFormat::Full => {
            let whole = |named: &Named<'_>| full::finding(view, named.finding, named.fix);
            findings.iter().map(whole).collect()
        }
        OutputFormat::Concise => each(concise),
        OutputFormat::Json => json::findings(results),
        OutputFormat::Sarif => sarif::log(results),
        OutputFormat::Github => each(github::command),
        OutputFormat::Gitlab => gitlab::report(view, findings),
        OutputFormat::Junit => junit::report(view, findings),
        OutputFormat::Markdown => report::markdown(results),
        OutputFormat::Html => report::html(results),
    }
}

/// One finding with its code, in the style of compilers; ends with an empty line.
#[must_use]
pub fn excerpt(view: View<'_>, finding: &Finding) -> String {
    full::finding(view, finding, None)
}

fn concise(view: View<'_>, finding: &Finding) -> String {
    let file = view.package.files.get(finding.file);
    let position = file.position(finding.span.start());
    format!(
        "{}:{}:{}: {} {}: {} [{}]\n",
        view.path(finding.file),
        position.line.0,
        position.column,
        finding.rule.code,
        finding.rule.name,
        finding.message,
        what_to_do(&finding.outcome),
    )
}

/// Message and what to do about it.
fn whole_message(finding: &Finding) -> String {
    format!("{} [{}]", finding.message, what_to_do(&finding.outcome))
}

/// The end of a finding's line: `safe fix`, `by hand: advice`, `safe as is: why`.
fn what_to_do(outcome: &Outcome) -> String {
    let label = label(outcome);
    match outcome {
        Outcome::Fix(_) => label.to_owned(),
        Outcome::Manual(text) | Outcome::Safe(text) => format!("{label}: {text}"),
    }
}

/// What kind of answer a finding has.
fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Fix(fix) => match fix.confidence {
            Confidence::Safe if !fix.confirmed.is_empty() => "safe fix by your word",
            Confidence::Safe => "safe fix",
            Confidence::Review => "review fix",
        },
        Outcome::Manual(_) => "by hand",
        Outcome::Safe(_) => "safe as is",
    }
}

/// `path` seen from `folder`, with `..` where needed; both absolute.
fn relative_to(folder: &Path, path: &Path) -> PathBuf {
    let Some(common) = folder
        .ancestors()
        .find(|ancestor| path.starts_with(ancestor))
    else {
        return path.to_path_buf();
    };
    let up = folder.components().count() - common.components().count();
    let down = path.strip_prefix(common).unwrap_or(path);
    std::iter::repeat_n(Path::new(".."), up)
        .chain([down])
        .collect()
}

#[cfg(test)]
mod tests;
