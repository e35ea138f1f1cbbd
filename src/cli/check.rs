//! `ungil check`: findings for people and programs; writes nothing.

use super::Status;
use super::args::CheckArgs;
use super::session::{Ledger, Session};
use super::talk::{Talk, counted, write_results};
use crate::edit::Confidence;
use crate::engine::{Declared, ModuleStatus};
use crate::render::{OutputFormat, render};
use crate::rule::{Finding, Outcome};

pub(super) fn run(args: &CheckArgs, talk: &Talk) -> anyhow::Result<Status> {
    let ledger = if args.stats {
        Ledger::Full
    } else {
        Ledger::AsAsked
    };
    let session = Session::counting(&args.analysis, ledger, talk)?;
    session.write_stats(&args.analysis.options)?;
    let mut shown: Vec<_> = session.analysis.findings.iter().collect();
    shown.retain(|finding| args.show_safe || !is_safe(finding));
    shown.sort_by_key(|finding| (finding.file, finding.span, finding.rule.code));
    let styled = args.output_format == OutputFormat::Full && talk.styles_results();
    let text = render(args.output_format, session.view(styled), &shown);
    write_results(text.as_bytes())?;
    summarize(&session, talk);
    if args.stats {
        write_results(session.stats().to_text().as_bytes())?;
    }
    if session.settings.strict && session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    let clean = session.analysis.findings.iter().all(is_safe);
    Ok(if clean {
        Status::Clean
    } else {
        Status::Findings
    })
}

fn is_safe(finding: &Finding) -> bool {
    matches!(finding.outcome, Outcome::Safe(_))
}

fn summarize(session: &Session, talk: &Talk) {
    let (mut safe, mut review, mut manual, mut proven) = (0, 0, 0, 0);
    for finding in &session.analysis.findings {
        match &finding.outcome {
            Outcome::Fix(fix) if fix.confidence == Confidence::Safe => safe += 1,
            Outcome::Fix(_) => review += 1,
            Outcome::Manual(_) => manual += 1,
            Outcome::Safe(_) => proven += 1,
        }
    }
    let total = safe + review + manual;
    talk.info(&match total {
        0 => "No findings".to_owned(),
        _ => format!(
            "{}: {safe} with a safe fix, {review} with a fix to review, {manual} to do by hand",
            counted(total, "finding", "findings")
        ),
    });
    if proven > 0 {
        let uses = counted(proven, "use is", "uses are");
        talk.info(&format!("{uses} proven safe as is"));
    }
    session.report_coverage(talk);
    for module in &session.analysis.modules {
        talk.info(&readiness(module));
    }
}

/// Whether the module is ready to be declared, in one line.
fn readiness(module: &ModuleStatus) -> String {
    let name = &module.name;
    if module.open.count() > 0 {
        return format!("Module `{name}` is not ready: {}", module.open.in_words());
    }
    if !module.open.is_complete {
        return format!("Module `{name}`: not all rules about races ran");
    }
    let declared = match module.declared {
        Declared::Already => "and says so",
        Declared::Safe | Declared::Review => "and a fix makes it say so",
        Declared::No => "but does not say so",
    };
    format!("Module `{name}` is ready to run without the GIL, {declared}")
}
