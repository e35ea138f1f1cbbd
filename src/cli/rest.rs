//! What remains once fixes are written.

use std::collections::BTreeSet;

use super::session::Session;
use super::talk::{Talk, counted};
use crate::edit::Confidence;
use crate::rule::{Finding, Outcome, fold};

/// Findings by what is to be done about them; what has one cause counts once, as `check` lists it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) safe: usize,
    pub(super) review: usize,
    pub(super) manual: usize,
}

impl Rest {
    /// Counts `findings` of `session`; those that are safe as they are need nothing.
    pub(super) fn of(session: &Session, findings: &[&Finding]) -> Self {
        let folds = fold(&session.package.files, findings);
        let folded: BTreeSet<usize> = folds.values().flat_map(|(_, all)| all).copied().collect();
        let counts = |at: &usize| folds.contains_key(at) || !folded.contains(at);
        let kept = (0..findings.len()).filter(counts);
        Self::counting(kept.map(|at| findings[at]))
    }

    /// Counts each of `findings`.
    pub(super) fn counting<'f>(findings: impl Iterator<Item = &'f Finding>) -> Self {
        let mut rest = Self::default();
        for finding in findings {
            match &finding.outcome {
                Outcome::Fix(fix) if fix.confidence == Confidence::Safe => rest.safe += 1,
                Outcome::Fix(_) => rest.review += 1,
                Outcome::Manual(_) => rest.manual += 1,
                Outcome::Safe(_) => {}
            }
        }
        rest
    }

    pub(super) fn total(&self) -> usize {
        self.safe + self.review + self.manual
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Says what remains, and which command shows it.
    pub(super) fn tell(&self, talk: &Talk) {
        talk.info(&self.sentence());
    }

    fn sentence(&self) -> String {
        let kinds = [
            (self.safe, "with a safe fix"),
            (self.review, "with a fix to review"),
            (self.manual, "to do by hand"),
        ];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<_> = kinds
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        let total = counted(self.total(), "finding remains", "findings remain");
        let shown = match self.safe + self.review {
            0 => "see `ungil check`",
            _ => "see `ungil check`, or decide fix by fix with `ungil review`",
        };
        match kinds.is_empty() {
            true => "No findings remain".to_owned(),
            false => format!("{total}: {}; {shown}", kinds.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rest;

    #[test]
    fn what_remains_is_counted_by_what_is_to_be_done() {
        let said = |safe, review, manual| {
            Rest {
                safe,
                review,
                manual,
            }
            .sentence()
        };
        assert_eq!(said(0, 0, 0), "No findings remain");
        assert_eq!(
            said(0, 0, 1),
            "1 finding remains: 1 to do by hand; see `ungil check`"
        );
        assert_eq!(
            said(1, 2, 0),
            "3 findings remain: 1 with a safe fix, 2 with a fix to review; see `ungil check`, or \
             decide fix by fix with `ungil review`"
        );
    }
}
