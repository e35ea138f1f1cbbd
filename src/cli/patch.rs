//! `ungil diff` and `ungil migrate`: the same changes, printed or written.

use super::Status;
use super::args::{AnalysisArgs, DiffArgs, MigrateArgs};
use super::interrupt::Interrupt;
use super::session::Session;
use super::talk::{Talk, write_results};
use super::vcs::{Refusal, check_clean};
use super::write::write_all;
use crate::diff::{DEFAULT_CONTEXT, FileChange, FileMode, patch};
use crate::edit::{Conflict, EditSet, FixId, apply};
use crate::engine::NewFile;
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::FileId;

pub(super) fn diff(args: &DiffArgs, talk: &Talk) -> anyhow::Result<Status> {
    let plan = Plan::make(&args.analysis, talk)?;
    plan.print(args.context, talk)?;
    plan.session.report_coverage(talk);
    if plan.session.settings.strict && plan.session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(if plan.changed.is_empty() {
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
    let plan = Plan::make(&args.analysis, talk)?;
    let changes = plan.changes();
    if !changes.is_empty() {
        if let Err(refusal) = plan.guard(args, &changes) {
            plan.print(DEFAULT_CONTEXT, talk)?;
            talk.error(&format!("nothing was written: {refusal}"));
            return Ok(Status::Refused);
        }
        write_all(&plan.session.package.root, &changes, interrupt)?;
        for change in &changes {
            talk.detail(&format!("wrote {}", change.path.display()));
        }
    }
    talk.info(&format!(
        "{} fixes written to {} files",
        plan.applied,
        changes.len()
    ));
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
    /// Files that change, with their new bytes, in order of their paths.
    changed: Vec<(FileId, Vec<u8>)>,
    /// A file that comes with them.
    new_file: Option<NewFile>,
    /// Fixes that take part.
    applied: usize,
}

impl Plan {
    /// Analyses and merges all fixes that the user wants.
    fn make(args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Self> {
        let session = Session::run(args, talk)?;
        session.write_stats(args)?;
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
        let changed = new_bytes(&session.package, &edits);
        let taken = |id: &FixId| !conflicts.iter().any(|conflict| conflict.rejected == *id);
        let in_need = wanted
            .iter()
            .any(|(id, fix)| taken(id) && !fix.needs.is_empty());
        let new_file = session.analysis.new_file.clone().filter(|_| in_need);
        Ok(Self {
            session,
            changed,
            new_file,
            applied,
        })
    }

    fn changes(&self) -> Vec<FileChange<'_>> {
        self.changed
            .iter()
            .map(|(id, new)| {
                let file = self.session.package.files.get(*id);
                let mode = self.session.package.info(*id).mode;
                FileChange {
                    path: file.path(),
                    old: Some(file.bytes()),
                    new,
                    mode,
                }
            })
            .chain(self.new_file.iter().map(|file| FileChange {
                path: &file.path,
                old: None,
                new: &file.bytes,
                mode: FileMode::Regular,
            }))
            .collect()
    }

    fn print(&self, context: usize, talk: &Talk) -> anyhow::Result<()> {
        let text = patch(&self.changes(), context);
        let text = if talk.styles_results() {
            super::paint::diff(&text)
        } else {
            text
        };
        write_results(&text)?;
        if !self.changed.is_empty() {
            let root = self.session.package.root.display();
            talk.info(&format!(
                "{} fixes; the patch applies in {root}",
                self.applied
            ));
        }
        Ok(())
    }

    fn guard(&self, args: &MigrateArgs, changes: &[FileChange<'_>]) -> Result<(), Refusal> {
        let paths: Vec<_> = changes.iter().map(|change| change.path).collect();
        match (
            &self.session.repository,
            args.allow_dirty,
            args.allow_no_vcs,
        ) {
            (None, _, true) | (Some(_), true, _) => Ok(()),
            (repository, _, _) => check_clean(repository.as_deref(), &paths),
        }
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

fn new_bytes(package: &Package, edits: &EditSet) -> Vec<(FileId, Vec<u8>)> {
    let apply_to = |id| {
        (
            id,
            apply(package.files.get(id).bytes(), edits.edits(id)).bytes,
        )
    };
    edits.files().map(apply_to).collect()
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
