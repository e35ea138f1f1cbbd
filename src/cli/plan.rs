//! What all fixes that the user wants make of the files, not yet written.

use super::args::AnalysisArgs;
use super::changes::Changes;
use super::rest::Rest;
use super::session::Session;
use super::talk::{Talk, counted};
use crate::diff::FileChange;
use crate::edit::{Conflict, EditSet, FixId};
use crate::engine::NewFile;
use crate::rule::Finding;
use crate::series::Part;

/// The changes of a run, not yet written.
pub(super) struct Plan {
    pub(super) session: Session,
    pub(super) changes: Changes,
    /// Findings whose fixes take part, by run order.
    taken: Vec<FixId>,
}

impl Plan {
    /// Analyses and merges all fixes that the user wants.
    pub(super) fn make(args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Self> {
        Self::of(Session::run(args, talk)?, args, talk)
    }

    /// Merges all fixes of `session` that the user wants.
    pub(super) fn of(session: Session, args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Self> {
        session.write_stats(&args.options)?;
        let findings = &session.analysis.findings;
        let wanted: Vec<_> = (0..)
            .map(FixId)
            .zip(findings)
            .filter_map(|(id, finding)| Some((id, session.applicable(finding)?)))
            .collect();
        let (edits, conflicts) = EditSet::merge(wanted.iter().copied());
        for conflict in &conflicts {
            talk.warning(&explain(&session, conflict));
        }
        let is_taken = |id: &FixId| !conflicts.iter().any(|conflict| conflict.rejected == *id);
        let taken = wanted.iter().filter(|(id, _)| is_taken(id));
        let changes = Changes::new(&session, &edits, taken.clone().map(|(_, fix)| *fix));
        Ok(Self {
            changes,
            taken: taken.map(|(id, _)| *id).collect(),
            session,
        })
    }

    /// How many fixes take part.
    pub(super) fn applied(&self) -> usize {
        self.taken.len()
    }

    /// The findings whose fixes take part.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let part = |id: &FixId| {
            let finding = &self.session.analysis.findings[id.0 as usize];
            let fix = self.session.applicable(finding)?;
            Some(Part {
                id: *id,
                finding,
                fix,
            })
        };
        self.taken.iter().filter_map(part).collect()
    }

    /// The files that come with them.
    pub(super) fn new_files(&self) -> Vec<NewFile> {
        let parts = self.parts();
        let all = self.session.analysis.new_files.iter();
        all.filter_map(|file| file.of(parts.iter().map(|part| part.fix)))
            .collect()
    }

    /// Where older Pythons get what the changes use of newer ones, a line for each place.
    pub(super) fn about_older_pythons(&self) -> Vec<String> {
        let parts = self.parts();
        let fixes = parts.iter().map(|part| part.fix);
        self.changes.about_older_pythons(&self.session, fixes)
    }

    /// Each file that changes, before and after.
    pub(super) fn list(&self) -> Vec<FileChange<'_>> {
        self.changes.list(&self.session)
    }

    /// Says where older Pythons get what the changes use of newer ones.
    pub(super) fn tell_of_compat(&self, talk: &Talk) {
        for line in self.about_older_pythons() {
            talk.info(&line);
        }
    }

    /// Says what the printed patch holds, and where it applies.
    pub(super) fn summarize(&self, talk: &Talk) {
        if !self.changes.is_empty() {
            let root = self.session.package.root.display();
            talk.info(&format!(
                "{}; the patch applies in {root}",
                counted(self.applied(), "fix", "fixes")
            ));
            self.tell_of_errors(talk);
            self.tell_of_compat(talk);
        }
        self.session.tell_of_all_word(talk);
    }

    /// A function that leaves where it went on before does something else than it did.
    pub(super) fn tell_of_errors(&self, talk: &Talk) {
        let count = self.parts().iter().filter(|it| it.fix.propagates).count();
        if count > 0 {
            talk.info(&format!(
                "{} functions return errors that lookups swallowed before; with `--errors \
                 preserve` they report these errors and continue",
                counted(count, "fix lets", "fixes let"),
            ));
        }
    }

    /// What is still there after the changes.
    pub(super) fn rest(&self) -> Rest {
        let findings = (0..).map(FixId).zip(&self.session.analysis.findings);
        let is_left = |(id, _): &(FixId, &Finding)| self.taken.binary_search(id).is_err();
        let left: Vec<_> = findings.filter(is_left).map(|(_, it)| it).collect();
        Rest::of(&self.session, &left)
    }
}

fn explain(session: &Session, conflict: &Conflict) -> String {
    let findings = &session.analysis.findings;
    let rule = |id: FixId| findings[id.0 as usize].rule.code;
    let file = session.package.files.get(conflict.file);
    let line = file.position(conflict.span.start()).line.0;
    format!(
        "{}:{line}: the fix of {} was left out, because it changes the same text as the fix of \
         {}; run `ungil` again",
        session.view(false).path(conflict.file),
        rule(conflict.rejected),
        rule(conflict.kept),
    )
}
