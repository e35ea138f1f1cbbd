//! `ungil diff` and `ungil migrate`: the same changes, printed or written.

use super::Status;
use super::args::{AnalysisArgs, DiffArgs, MigrateArgs};
use super::changes::{Changes, guard};
use super::interrupt::Interrupt;
use super::session::{Session, roots};
use super::store::Store;
use super::talk::{Talk, counted, write_results};
use super::undo::repair;
use super::verify::after_write;
use crate::diff::{DEFAULT_CONTEXT, FileChange, patch};
use crate::edit::{Conflict, EditSet, FixId};
use crate::rule::{Finding, Outcome};

pub(super) fn diff(args: &DiffArgs, talk: &Talk) -> anyhow::Result<Status> {
    let plan = Plan::make(&args.analysis, talk)?;
    plan.print(args.context, talk)?;
    plan.session.report_coverage(talk);
    if plan.session.settings.strict && plan.session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(if plan.changes.is_empty() {
        Status::Clean
    } else {
        Status::Findings
    })
}

pub(super) fn migrate(
    args: &MigrateArgs,
    talk: &Talk,
    interrupt: &Interrupt,
) -> anyhow::Result<Status> {
    if let Some(store) = Store::find(&roots(&args.analysis.paths)?.project)? {
        repair(&store.writes(), talk, interrupt)?;
    }
    let plan = Plan::make(&args.analysis, talk)?;
    let changes = plan.list();
    if !changes.is_empty() {
        if let Err(refusal) = guard(&plan.session, args.guard, &changes) {
            plan.print(DEFAULT_CONTEXT, talk)?;
            talk.error(&format!("nothing was written: {refusal}"));
            return Ok(Status::Refused);
        }
        let store = Store::open(&plan.session.roots)?;
        let _held = interrupt.hold();
        store
            .writes()
            .write(&plan.session.package.root, &changes, interrupt)?;
        let writes = store.writes();
        if let Some(why) = after_write(&args.analysis, &args.verify, &writes, talk, interrupt)? {
            talk.error(&format!(
                "verification failed, so all was taken back: {why}"
            ));
            return Ok(Status::TakenBack);
        }
        for change in &changes {
            talk.detail(&format!("wrote {}", change.path.display()));
        }
    }
    talk.info(&format!(
        "{} written to {}",
        counted(plan.applied, "fix", "fixes"),
        counted(changes.len(), "file", "files")
    ));
    plan.tell_of_new_files(talk);
    plan.session.report_coverage(talk);
    if plan.session.settings.strict && plan.session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(if plan.open() == 0 {
        Status::Clean
    } else {
        Status::Findings
    })
}

/// The changes of a run, not yet written.
struct Plan {
    session: Session,
    changes: Changes,
    /// Fixes that take part.
    applied: usize,
}

impl Plan {
    /// Analyses and merges all fixes that the user wants.
    fn make(args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Self> {
        let session = Session::run(args, talk)?;
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
        let applied = wanted.len() - conflicts.len();
        let taken = |id: &FixId| !conflicts.iter().any(|conflict| conflict.rejected == *id);
        let fixes = wanted
            .iter()
            .filter(|(id, _)| taken(id))
            .map(|(_, fix)| *fix);
        let changes = Changes::new(&session, &edits, fixes);
        Ok(Self {
            session,
            changes,
            applied,
        })
    }

    fn list(&self) -> Vec<FileChange<'_>> {
        self.changes.list(&self.session)
    }

    /// A header that the sources include and a source distribution leaves out breaks every
    /// install from it.
    fn tell_of_new_files(&self, talk: &Talk) {
        for change in self.list().iter().filter(|change| change.old.is_none()) {
            let path = change.path.display();
            talk.info(&format!(
                "`{path}` is new: list it with what your source distribution packs"
            ));
        }
    }

    fn print(&self, context: usize, talk: &Talk) -> anyhow::Result<()> {
        let text = patch(&self.list(), context);
        let text = if talk.styles_results() {
            super::paint::diff(&text)
        } else {
            text
        };
        write_results(&text)?;
        if !self.changes.is_empty() {
            let root = self.session.package.root.display();
            talk.info(&format!(
                "{}; the patch applies in {root}",
                counted(self.applied, "fix", "fixes")
            ));
            self.tell_of_new_files(talk);
        }
        Ok(())
    }

    /// Findings that are still there after the changes.
    fn open(&self) -> usize {
        let is_open = |finding: &&Finding| !matches!(finding.outcome, Outcome::Safe(_));
        self.session
            .analysis
            .findings
            .iter()
            .filter(is_open)
            .count()
            - self.applied
    }
}

fn explain(session: &Session, conflict: &Conflict) -> String {
    let findings = &session.analysis.findings;
    let rule = |id: FixId| findings[id.0 as usize].rule.code;
    let file = session.package.files.get(conflict.file);
    let line = file.position(conflict.span.start()).line.0;
    format!(
        "{}:{line}: the fix of {} was left out: it wants other changes here than the fix of {}; \
         run again",
        session.view(false).path(conflict.file),
        rule(conflict.rejected),
        rule(conflict.kept),
    )
}
