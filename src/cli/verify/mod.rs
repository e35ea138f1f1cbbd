//! `ungil verify`: proves what is in the files, whoever wrote it, and takes a write back that does
//! not hold.

mod baseline;
mod compile;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::Status;
use super::args::{AnalysisArgs, ChecksArgs, VerifyArgs, VerifyWriteArgs};
use super::interrupt::Interrupt;
use super::session::{Ledger, Session};
use super::store::Writes;
use super::talk::{Talk, counted, write_results};
use crate::engine::Bytes;
use baseline::Baseline;

pub(super) fn run(args: &VerifyArgs, talk: &Talk) -> anyhow::Result<Status> {
    let run = Session::read(&args.analysis, Ledger::AsAsked, talk)?;
    let baseline = Baseline::choose(&run, args)?;
    let report = verify(&run, &baseline, &args.checks, talk)?;
    write_results(report.text().as_bytes())?;
    let doubtful = report.steps.iter().any(Step::is_doubtful);
    Ok(match report.failure() {
        Some(_) => Status::Findings,
        None if run.settings.strict && doubtful => Status::CoverageGap,
        None => Status::Clean,
    })
}

/// Verifies the last of `writes` if `asked` wants it. If that fails, takes it back and gives the
/// reason. The caller holds `interrupt` off since before the write.
///
/// # Errors
/// If the files cannot be read or a command cannot be started; the write stays then.
pub(super) fn after_write(
    args: &AnalysisArgs,
    asked: &VerifyWriteArgs,
    writes: &Writes,
    talk: &Talk,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<String>> {
    let Some(checks) = asked.checks() else {
        return Ok(None);
    };
    let run = Session::read(args, Ledger::AsAsked, talk)?;
    let baseline = Baseline::last_write(&run, writes)?.context("the write has no journal")?;
    let report = verify(&run, &baseline, &checks, talk)?;
    for line in report.text().lines() {
        talk.info(line);
    }
    let interrupted = interrupt.is_requested().then_some("interrupted");
    let Some(failure) = report.failure().or(interrupted) else {
        return Ok(None);
    };
    // Of this nothing is to be left, even after Ctrl-C.
    writes.undo(&Interrupt::default())?;
    Ok(Some(failure.to_owned()))
}

/// The exit status of a script of `ungil stress` that has called nothing.
const NOTHING_RAN: i32 = 2;

/// What verification found, step by step.
#[derive(Debug, Default)]
struct Report {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    outcome: Outcome,
    /// What was looked at, and how.
    what: String,
    /// A line for each thing that is wrong or cannot be told.
    details: Vec<String>,
    /// Something could not be told.
    doubtful: bool,
    /// The exit status of a command.
    status: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ok,
    Failed,
    Skipped,
}

impl Step {
    fn new(outcome: Outcome, what: impl Into<String>) -> Self {
        Self {
            outcome,
            what: what.into(),
            details: Vec::new(),
            doubtful: false,
            status: None,
        }
    }
}

impl Step {
    /// Whether it left something open: what did not run proves nothing.
    fn is_doubtful(&self) -> bool {
        self.doubtful || self.outcome == Outcome::Skipped
    }
}

impl Report {
    /// What did not run is said first: all else is proven without it.
    fn text(&self) -> String {
        let step = |step: &Step| {
            let word = match step.outcome {
                Outcome::Ok => "ok",
                Outcome::Failed => "failed",
                Outcome::Skipped => "skipped",
            };
            let details: String = step
                .details
                .iter()
                .map(|line| format!("{line}\n"))
                .collect();
            format!("{details}{word:8}{}\n", step.what)
        };
        let mut steps: Vec<&Step> = self.steps.iter().collect();
        steps.sort_by_key(|step| step.outcome != Outcome::Skipped);
        steps.into_iter().map(step).collect()
    }

    /// What failed first.
    fn failure(&self) -> Option<&str> {
        let failed = self
            .steps
            .iter()
            .find(|step| step.outcome == Outcome::Failed)?;
        let detail = failed.details.first().unwrap_or(&failed.what);
        Some(detail.lines().next().unwrap_or_default())
    }
}

/// The steps up to the first that fails: what comes after it would fail for the same reason.
fn verify(
    run: &Session,
    baseline: &Baseline,
    checks: &ChecksArgs,
    talk: &Talk,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    report
        .steps
        .push(talk.while_waiting("verifying", || references(run, baseline)));
    let has_work = checks.compile.is_some() || !baseline.before.is_empty();
    if has_work && report.failure().is_none() {
        report.steps.push(match &checks.compile {
            Some(command) => shell("compile", command, &run.roots.project)?,
            None => compile::changed_files(run, &baseline.before),
        });
    }
    if let Some(command) = &checks.test
        && report.failure().is_none()
    {
        report
            .steps
            .push(shell("test", command, &run.roots.project)?);
    }
    if let Some(command) = &checks.stress
        && report.failure().is_none()
    {
        let mut step = shell("stress", command, &run.roots.project)?;
        step.outcome = match step.status {
            Some(NOTHING_RAN) => Outcome::Skipped,
            _ => step.outcome,
        };
        report.steps.push(step);
    }
    Ok(report)
}

/// Parses the files again, and follows references and critical sections through all that is new.
fn references(run: &Session, baseline: &Baseline) -> Step {
    let doubts = run.prove(&baseline.before, &Bytes::new());
    let what = match baseline.before.len() {
        0 => format!("nothing has changed, {}", baseline.what),
        files => {
            let files = counted(files, "file", "files");
            format!("parse, references, sections: {files}, {}", baseline.what)
        }
    };
    let wrong = doubts.iter().any(|doubt| doubt.wrong);
    let outcome = match wrong {
        true => Outcome::Failed,
        false => Outcome::Ok,
    };
    let view = run.view(false);
    let mut said = BTreeSet::new();
    let line = |doubt: &crate::validate::Doubt| {
        let file = run.package.files.get(doubt.file);
        let line = file.position(doubt.place.start()).line.0;
        let label = match doubt.wrong {
            true => "wrong",
            false => "not proven",
        };
        format!(
            "{}:{line}: {label}: {}",
            view.path(doubt.file),
            doubt.reason
        )
    };
    // What is wrong comes first.
    let mut lines: Vec<(bool, String)> = doubts.iter().map(|d| (!d.wrong, line(d))).collect();
    lines.sort_by_key(|(unsure, _)| *unsure);
    Step {
        doubtful: doubts.iter().any(|doubt| !doubt.wrong),
        details: lines
            .into_iter()
            .map(|(_, line)| line)
            .filter(|line| said.insert(line.clone()))
            .collect(),
        ..Step::new(outcome, what)
    }
}

/// Runs a command of the user in `folder`; what it says goes to stderr.
fn shell(name: &str, command: &str, folder: &Path) -> anyhow::Result<Step> {
    let (program, option) = match cfg!(windows) {
        true => ("cmd", "/C"),
        false => ("sh", "-c"),
    };
    let status = Command::new(program)
        .args([option, command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("cannot run `{command}`"))?;
    let step = match status.success() {
        true => Step::new(Outcome::Ok, format!("{name}: `{command}`")),
        false => Step::new(
            Outcome::Failed,
            format!("{name}: `{command}` ended with {status}"),
        ),
    };
    Ok(Step {
        status: status.code(),
        ..step
    })
}
