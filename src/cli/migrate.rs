//! `ungil migrate`: all changes written in one go.

use super::Status;
use super::args::MigrateArgs;
use super::changes::guard;
use super::interrupt::Interrupt;
use super::paint;
use super::plan::Plan;
use super::session::roots;
use super::store::Store;
use super::talk::{Talk, counted, write_results};
use super::undo::repair;
use super::verify::after_write;
use crate::diff::{DEFAULT_CONTEXT, patch};

pub(super) fn run(
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
            show(&plan, talk)?;
            talk.error(&format!("nothing was written: {refusal}"));
            return Ok(Status::Refused);
        }
        let store = Store::open(&plan.session.roots)?;
        let _held = interrupt.hold();
        let writes = store.writes();
        writes.write(&plan.session.package.root, &changes, interrupt)?;
        if let Some(why) = after_write(&args.analysis, &args.verify, &writes, talk, interrupt)? {
            talk.error(&format!(
                "verification failed, and all changes were undone: {why}"
            ));
            return Ok(Status::TakenBack);
        }
        for change in &changes {
            talk.detail(&format!("wrote {}", change.path.display()));
        }
    }
    talk.info(&format!(
        "{} written to {}",
        counted(plan.applied(), "fix", "fixes"),
        counted(changes.len(), "file", "files")
    ));
    plan.tell_of_errors(talk);
    plan.tell_of_compat(talk);
    plan.session.tell_of_all_word(talk);
    let rest = plan.rest();
    rest.tell(talk);
    plan.session.report_coverage(talk);
    if plan.session.settings.strict && plan.session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(if rest.is_empty() {
        Status::Clean
    } else {
        Status::Findings
    })
}

/// The patch in place of the write that was refused.
fn show(plan: &Plan, talk: &Talk) -> anyhow::Result<()> {
    let text = patch(&plan.list(), DEFAULT_CONTEXT);
    write_results(&match talk.styles_results() {
        true => paint::diff(&text),
        false => text,
    })?;
    plan.summarize(talk);
    Ok(())
}
