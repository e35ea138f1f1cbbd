//! What a person confirms once: said after each run, kept in the configuration.

use super::session::Session;
use super::talk::{Talk, counted};
use crate::facts::Fact;
use crate::review::{Group, groups, questions, settled};
use crate::transforms;

impl Session {
    /// Says what several fixes rest on, and what rests on the word of the project.
    pub(super) fn tell_of_word(&self, fixes: &[Group<'_>], talk: &Talk) {
        for (fact, on) in questions(fixes) {
            if on.len() > 1 {
                talk.info(&format!("{}; {}", rests(&fact, on.len()), how(&fact)));
            }
        }
        for (fact, on) in settled(fixes) {
            let fixes = counted(on.len(), "fix", "fixes");
            talk.info(&format!(
                "Confirmed in {}: {fact} ({fixes})",
                self.settings.name()
            ));
        }
    }

    /// The same of all fixes of the run.
    pub(super) fn tell_of_all_word(&self, talk: &Talk) {
        let fixes = groups(&self.package.files, &self.analysis.findings);
        self.tell_of_word(&fixes, talk);
    }

    /// Warns of what is confirmed and no fix asks for, if all that may ask was analysed.
    pub(super) fn report_unused_word(&self, talk: &Talk) {
        let engine = &self.settings.engine;
        let is_whole = self.package.is_whole
            && engine.functions.is_empty()
            && self.analysis.coverage.stopped.is_empty()
            && transforms::ALL
                .iter()
                .all(|rule| engine.selection.includes(rule));
        let is_asked = |claim, subject: &str| {
            let mut asked = self.analysis.asked.iter();
            asked.any(|fact| fact.claim() == claim && fact.subject() == subject)
        };
        for (claim, subject) in engine.confirmed.iter().filter(|_| is_whole) {
            if !is_asked(claim, subject) {
                talk.warning(&format!(
                    "{}: no fix asks any more whether `confirmed.{}` is true of `{subject}`; remove it",
                    self.settings.name(),
                    claim.key()
                ));
            }
        }
    }
}

/// How many fixes rest on a fact.
pub(super) fn rests(fact: &Fact, fixes: usize) -> String {
    let fixes = counted(fixes, "fix is", "fixes are");
    format!("{fixes} correct only if {fact}")
}

/// How to confirm it.
pub(super) fn how(fact: &Fact) -> String {
    format!(
        "if this is true, run `ungil review --confirm '{}'`",
        fact.key()
    )
}
