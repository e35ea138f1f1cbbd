//! Proves fixes on their result: applies them in memory, runs the whole front end again on what
//! came out, and follows every reference that the new code owns along every path.
//!
//! Nothing here knows how a fix was made. A fix whose result does not parse, or does not balance,
//! is no fix any more: its finding says why.

mod acquired;
mod alternatives;
mod answered;
mod apart;
mod atomics;
mod balanced;
mod before;
mod borrowed;
mod braces;
mod changed;
mod cleared;
mod configurations;
mod continued;
mod contract;
mod domains;
mod ends;
mod forgotten;
mod freed;
mod kept;
mod left;
mod lent;
mod loans;
mod locked;
mod made;
mod original;
mod proof;
mod proven;
mod reentrant;
mod saved;
mod statics;
mod steps;
mod still;
mod structure;
mod twice;
mod undeclared;
mod undone;
mod unguarded;
mod unset;
mod variants;
mod words;
mod wrapper;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::edit::{Applied, Assumption, Confidence, EditSet, Fix, FixId, apply};
use crate::facts::Confirmed;
use crate::ownership::summary::Summaries;
use crate::program::{Places, Program};
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId, FileSet};
use original::Original;
use proof::{Author, Failed};
use proven::Proven;
pub(crate) use steps::same_steps;

/// How fixes fared when their result was analysed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Validation {
    /// Fixes whose result was proven.
    pub validated: usize,
    /// Fixes that lost confidence because it was not.
    pub demoted: usize,
}

/// Why the result of a fix is not proven.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    /// It is wrong: what is wrong with it.
    Wrong(String),
    /// It cannot be told: what would have to be confirmed.
    Unknown(Assumption),
}

static NOTHING: Confirmed = Confirmed::NONE;

/// Most rounds of leaving out what failed and proving the rest again.
const MAX_ROUNDS: usize = 6;

/// Runs the front end over changed files, parses the items that the places touch, and hands the
/// program to the last argument.
pub type Reload<'a> = dyn Fn(&FileSet, Places, &mut dyn FnMut(&Program<'_>)) + 'a;

/// Proves fixes of one package.
pub struct Validator<'a> {
    files: &'a FileSet,
    original: Original<'a>,
    reload: &'a Reload<'a>,
    proven: Proven<'a>,
    confirmed: &'a Confirmed,
}

impl<'a> Validator<'a> {
    /// `callees` is what the functions of the package do with their arguments; `reload` runs the
    /// front end over changed files.
    #[must_use]
    pub fn new(
        files: &'a FileSet,
        original: &'a Program<'a>,
        callees: &'a Summaries,
        reload: &'a Reload<'a>,
    ) -> Self {
        Self {
            files,
            original: Original::new(original, callees),
            reload,
            proven: Proven::new(original),
            confirmed: &NOTHING,
        }
    }

    /// The same, with what the project has confirmed: it needs no proof, and fixes that ask for
    /// nothing else are safe.
    #[must_use]
    pub fn with_confirmed(self, confirmed: &'a Confirmed) -> Self {
        Self { confirmed, ..self }
    }

    /// Validates all fixes among `findings`: first the safe ones by themselves, as they can be
    /// applied without the others, then all together.
    pub fn fixes(&mut self, findings: &mut [Finding]) -> Validation {
        for finding in &mut *findings {
            self.settle(finding);
        }
        let before = findings.iter().filter_map(Finding::fix).count();
        let mut demoted = 0;
        let mut all_hold = false;
        for least in [Confidence::Safe, Confidence::Review] {
            let mut fixes = findings.iter().filter_map(Finding::fix);
            if all_hold && fixes.all(|fix| fix.confidence > least) {
                // With nothing to review, all together are the safe ones by themselves.
                break;
            }
            for _ in 0..MAX_ROUNDS {
                let failures = self.round(findings, least);
                all_hold = failures.is_empty();
                if all_hold {
                    break;
                }
                demoted += failures.len();
                for (index, failure) in failures {
                    demote(&mut findings[index], failure);
                    self.settle(&mut findings[index]);
                }
            }
        }
        Validation {
            validated: before - demoted.min(before),
            demoted,
        }
    }

    /// Takes the project at its word in a fix and its alternatives.
    fn settle(&self, finding: &mut Finding) {
        if let Outcome::Fix(fix) = &mut finding.outcome {
            fix.settle(self.confirmed);
            for other in &mut fix.alternatives {
                other.settle(self.confirmed);
            }
        }
    }

    /// Proves all fixes of at least this confidence together; gives those that fail. What clashes
    /// with others is left out when these are applied, and proven with what it does not clash with.
    fn round(&mut self, findings: &[Finding], least: Confidence) -> BTreeMap<usize, Failure> {
        let fixes = (0u32..).zip(findings).filter_map(|(at, finding)| {
            let fix = finding.fix().filter(|fix| fix.confidence >= least)?;
            Some((FixId(at), fix))
        });
        let mut left: Vec<(FixId, &Fix)> = fixes.collect();
        let mut failures = BTreeMap::new();
        while !left.is_empty() {
            let (edits, conflicts) = EditSet::merge(left.iter().copied());
            let is_torn = |&(id, _): &(FixId, &Fix)| {
                let mut own = conflicts.iter().filter(|it| it.rejected == id);
                own.any(|it| it.kept == id)
            };
            let is_rejected =
                |&(id, _): &(FixId, &Fix)| conflicts.iter().any(|it| it.rejected == id);
            let (rejected, now): (Vec<_>, Vec<_>) = left.into_iter().partition(is_rejected);
            let (torn, later): (Vec<_>, Vec<_>) = rejected.into_iter().partition(is_torn);
            let wrong =
                || Failure::Wrong("it changes the same text in two different ways".to_owned());
            failures.extend(torn.iter().map(|(id, _)| (id.0 as usize, wrong())));
            failures.extend(self.prove_together(&now, &edits));
            left = later;
        }
        failures
    }

    /// The failures of `fixes`, which make `edits`.
    fn prove_together(
        &mut self,
        fixes: &[(FixId, &Fix)],
        edits: &EditSet,
    ) -> BTreeMap<usize, Failure> {
        let open = self.proven.open(fixes.iter().map(|(_, fix)| *fix));
        let change = Change {
            files: self.files,
            edits,
            is_open: &|file, span| open.contains(file, span),
            author: Author::Rule,
        };
        let failures = failures_of(&change, &self.original, self.reload);
        self.proven.add(open, &failures);
        guilty(fixes, &failures)
    }
}

/// The fixes that brought about what failed, each with the worst of it.
fn guilty(fixes: &[(FixId, &Fix)], failures: &[Failed]) -> BTreeMap<usize, Failure> {
    let mut guilty = BTreeMap::new();
    for failed in failures {
        let has_fix = |span: &&ByteSpan| {
            let mut fixes = fixes.iter();
            fixes.any(|(_, fix)| touches(fix, failed.file, **span))
        };
        let span = failed.original.iter().find(has_fix).copied();
        let span = span.unwrap_or_default();
        let touching = fixes
            .iter()
            .filter(|(_, fix)| touches(fix, failed.file, span));
        // The safe ones have been proven without those for review.
        let is_doubted = |(_, fix): &&(FixId, &Fix)| fix.confidence == Confidence::Review;
        let any_doubted = touching.clone().any(|fix| is_doubted(&fix));
        let blamed = touching.filter(|fix| !any_doubted || is_doubted(fix));
        for (id, _) in blamed.filter(|(_, fix)| !is_known(fix, &failed.failure)) {
            let kept = guilty
                .entry(id.0 as usize)
                .or_insert_with(|| failed.failure.clone());
            *kept = failed.failure.clone().min(kept.clone());
        }
    }
    guilty
}

/// Edits that are to be proven.
struct Change<'a> {
    files: &'a FileSet,
    edits: &'a EditSet,
    /// Which of them: those at these places of the original.
    is_open: &'a dyn Fn(FileId, ByteSpan) -> bool,
    author: Author,
}

/// Applies the edits, runs the front end over the result, and says what is not proven of it.
fn failures_of(change: &Change<'_>, original: &Original<'_>, reload: &Reload<'_>) -> Vec<Failed> {
    let mut changed = change.files.clone();
    let mut results: BTreeMap<FileId, Applied> = BTreeMap::new();
    for file in change.edits.files() {
        let applied = apply(change.files.get(file).bytes(), change.edits.edits(file));
        changed.replace(file, applied.bytes.clone());
        results.insert(file, applied);
    }
    let mut failures = Vec::new();
    let places = places(change);
    if places.values().any(|spans| !spans.is_empty()) {
        reload(&changed, places, &mut |program| {
            failures = proof::failures(original, program, &results, change.author);
        });
    }
    failures
}

/// Something that is not proven of a change that a person made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The file.
    pub file: FileId,
    /// The function in the result.
    pub place: ByteSpan,
    /// Whether it is wrong; else it cannot be told.
    pub wrong: bool,
    /// What is wrong, or what cannot be told: lower case, no full stop.
    pub reason: String,
}

/// Proves a change of `files`, whoever made it, with the same means as the fixes of the rules.
/// `callees` is what the functions of the package do with their arguments; what is `confirmed` needs
/// no proof. The doubts are in the order of their places.
pub fn prove(
    files: &FileSet,
    edits: &EditSet,
    callees: &Summaries,
    confirmed: &Confirmed,
    reload: &Reload<'_>,
) -> Vec<Doubt> {
    let spans = |file| edits.edits(file).map(|edit| edit.span).collect();
    let touched: Places = edits.files().map(|file| (file, spans(file))).collect();
    let mut failures = Vec::new();
    reload(files, touched, &mut |original| {
        let original = Original::new(original, callees);
        let change = Change {
            files,
            edits,
            is_open: &|_, _| true,
            author: Author::Person,
        };
        failures = failures_of(&change, &original, reload);
    });
    let is_settled = |failed: &Failed| match &failed.failure {
        Failure::Wrong(_) => false,
        Failure::Unknown(claim) => claim.fact().is_some_and(|fact| confirmed.has(fact)),
    };
    failures.retain(|failed| !is_settled(failed));
    let doubt = |failed: Failed| {
        let (wrong, reason) = match failed.failure {
            Failure::Wrong(reason) => (true, reason),
            Failure::Unknown(reason) => (false, reason.to_string()),
        };
        Doubt {
            file: failed.file,
            place: failed.result,
            wrong,
            reason,
        }
    };
    let mut doubts: Vec<Doubt> = failures.into_iter().map(doubt).collect();
    doubts.sort_by(|a, b| {
        let key = |d: &Doubt| (d.file, d.place, !d.wrong);
        key(a).cmp(&key(b)).then_with(|| a.reason.cmp(&b.reason))
    });
    // Configurations of one function share most of what is wrong with it.
    doubts.dedup();
    doubts
}

/// Where the new text that is to be proven stands in the result: no other item of it is of
/// interest.
fn places(change: &Change<'_>) -> Places {
    let mut places = Places::default();
    for file in change.edits.files() {
        let mut shift = 0i64;
        let mut spans = Vec::new();
        for edit in change.edits.edits(file) {
            let start = i64::from(edit.span.start().0) + shift;
            let length = i64::try_from(edit.text.len()).expect("texts of edits are short");
            shift += length - i64::try_from(edit.span.len()).expect("files fit");
            let offset = |at: i64| u32::try_from(at).expect("results are about as long as files");
            if (change.is_open)(file, edit.span) {
                spans.push(ByteSpan::new(offset(start), offset(start + length)));
            }
        }
        // None are open in some files, which have other tokens all the same.
        places.insert(file, spans);
    }
    places
}

/// Whether the fix already names what cannot be told of its result, or the project has confirmed it.
fn is_known(fix: &Fix, failure: &Failure) -> bool {
    let Failure::Unknown(reason) = failure else {
        return false;
    };
    let is_confirmed = || reason.fact().is_some_and(|it| fix.confirmed.contains(it));
    fix.assumptions.contains(reason) || is_confirmed()
}

/// Whether any edit of `fix` lies in `span` of the original `file`.
fn touches(fix: &Fix, file: FileId, span: ByteSpan) -> bool {
    fix.edits.iter().any(|edit| {
        edit.file == file && edit.span.start() < span.end() && span.start() < edit.span.end()
    })
}

fn demote(finding: &mut Finding, failure: Failure) {
    match (failure, &mut finding.outcome) {
        (Failure::Wrong(reason), outcome) => {
            *outcome = Outcome::Manual(format!(
                "change this function by hand (the automatic rewrite failed validation: {reason})"
            ));
        }
        (Failure::Unknown(reason), Outcome::Fix(fix)) => fix.assume(reason),
        (Failure::Unknown(_), Outcome::Safe(_) | Outcome::Manual(_)) => {}
    }
}
