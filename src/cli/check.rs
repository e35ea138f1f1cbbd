//! `ungil check`: findings for people and programs; writes no source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Status;
use super::args::CheckArgs;
use super::baseline::Baseline;
use super::git;
use super::interrupt::Interrupt;
use super::output::deliver;
use super::rest::Rest;
use super::session::{Ledger, Session};
use super::silence::By;
use super::since::Since;
use super::talk::{Talk, counted, write_results};
use crate::engine::{Declared, ModuleStatus};
use crate::package::unread_callers;
use crate::render::{Named, OutputFormat, Results, Silence, render, statistics};
use crate::review::{Group, groups};
use crate::rule::{Finding, Outcome, Severity, fingerprints, fold};
use crate::source::{ByteSpan, FileId};

pub(super) fn run(args: &CheckArgs, talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let session = Session::counting(&args.analysis, ledger(args), talk)?;
    session.write_stats(&args.analysis.options)?;
    let all: Vec<&Finding> = with_silenced(&session)
        .map(|(finding, _)| finding)
        .collect();
    let names = fingerprints(&session.package.files, &all);
    let all_fixes = groups(&session.package.files, &session.analysis.findings);
    let fixes = ids(&all_fixes);
    let mut named: Vec<Named<'_>> = with_silenced(&session)
        .zip(&names)
        .map(|((finding, silenced), fingerprint)| Named {
            finding,
            fingerprint,
            silenced,
            fix: fixes.get(&std::ptr::from_ref(finding)).copied(),
        })
        .collect();
    named.sort_by_key(place);
    narrow(args, &session, &mut named, talk)?;
    let open = named.iter().copied();
    let open: Vec<Named<'_>> = open.filter(|named| named.silenced.is_none()).collect();
    let findings: Vec<&Finding> = open.iter().map(|named| named.finding).collect();
    let folds = fold(&session.package.files, &findings);
    let open = folded(&open, &folds);
    let silenced = named.iter().filter(|named| named.silenced.is_some());
    let mut named: Vec<Named<'_>> = open.iter().chain(silenced).copied().collect();
    named.sort_by_key(place);
    let written = match args.output_format {
        OutputFormat::Sarif => &named,
        _ => &open,
    };
    {
        let _held = args.output_file.as_ref().map(|_| interrupt.hold());
        write(args, &session, written, talk)?;
    }
    let unread = unread_callers(&session.package).collect::<Vec<_>>();
    if args.output_file.is_none() && args.output_format.is_for_people() {
        write_results(said_of(&session, &unread).as_bytes())?;
    }
    let shows_ids = args.output_format == OutputFormat::Full && !args.statistics;
    let paths = shows_ids.then_some(&args.analysis.paths[..]);
    summarize(&session, &open, paths, talk);
    session.tell_of_word(&all_fixes, talk);
    if args.stats {
        write_results(session.stats().to_text().as_bytes())?;
    }
    if session.settings.strict && session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    let all_read = unread.is_empty() && session.analysis.coverage.stopped.is_empty();
    let clean = args.write_baseline || all_read && open.iter().all(|named| is_safe(named.finding));
    Ok(if clean {
        Status::Clean
    } else {
        Status::Findings
    })
}

fn place(named: &Named<'_>) -> (FileId, ByteSpan, &'static str) {
    let finding = named.finding;
    (finding.file, finding.span, finding.rule.code)
}

/// What `ungil review` calls the fix of each finding that has one.
fn ids<'a>(fixes: &'a [Group<'_>]) -> BTreeMap<*const Finding, &'a str> {
    let each = |fix: &'a Group<'_>| {
        let of_it = fix.findings().map(std::ptr::from_ref);
        of_it.map(|finding| (finding, &*fix.id.0))
    };
    fixes.iter().flat_map(each).collect()
}

/// The findings with one in place of all that have one cause, under the name of the first of them.
fn folded<'a>(
    open: &[Named<'a>],
    folds: &'a BTreeMap<usize, (Finding, Vec<usize>)>,
) -> Vec<Named<'a>> {
    let told: BTreeSet<usize> = folds.values().flat_map(|(_, all)| all).copied().collect();
    let each = open.iter().enumerate().filter_map(|(at, named)| {
        let finding = match folds.get(&at) {
            Some((finding, _)) => finding,
            None if told.contains(&at) => return None,
            None => named.finding,
        };
        Some(Named { finding, ..*named })
    });
    let mut folded: Vec<Named<'_>> = each.collect();
    folded.sort_by_key(place);
    folded
}

/// All findings of a run; those that are silenced count for the names of the others, which so stay
/// the same when a comment comes or goes.
fn with_silenced(session: &Session) -> impl Iterator<Item = (&Finding, Option<Silence<'_>>)> {
    let open = session.analysis.findings.iter();
    let silenced = session.silenced.iter().map(|silenced| {
        let silence = match &silenced.by {
            By::Comment(reason) => Silence::Comment(reason.as_deref()),
            By::Configuration => Silence::Configuration,
        };
        (&silenced.finding, Some(silence))
    });
    open.map(|finding| (finding, None)).chain(silenced)
}

/// A report speaks of the whole package.
fn ledger(args: &CheckArgs) -> Ledger {
    if args.stats || is_report(args.output_format) {
        Ledger::Full
    } else {
        Ledger::AsAsked
    }
}

fn is_report(format: OutputFormat) -> bool {
    matches!(format, OutputFormat::Markdown | OutputFormat::Html)
}

/// Takes out the findings that the user does not want to hear of.
fn narrow(
    args: &CheckArgs,
    session: &Session,
    named: &mut Vec<Named<'_>>,
    talk: &Talk,
) -> anyhow::Result<()> {
    if let Some(revision) = &args.since {
        let files = named.iter().map(|named| named.finding.file).collect();
        let since = Since::new(session, revision, files)?;
        named.retain(|named| since.touches(named.finding));
    }
    let Some(path) = &args.baseline else {
        return Ok(());
    };
    if args.write_baseline {
        let is_open = |named: &&Named<'_>| named.silenced.is_none() && !is_safe(named.finding);
        let open = named.iter().filter(is_open);
        let baseline = Baseline::new(&session.package, open);
        baseline.write(path)?;
        let count = counted(baseline.len(), "finding", "findings");
        talk.info(&format!("{count} written to the baseline"));
        return Ok(());
    }
    let baseline = Baseline::read(path)?;
    let before = named.len();
    named.retain(|named| !baseline.knows(named.fingerprint));
    if before > named.len() {
        let known = counted(before - named.len(), "finding", "findings");
        talk.info(&format!("{known} known from the baseline"));
    }
    Ok(())
}

fn write(
    args: &CheckArgs,
    session: &Session,
    named: &[Named<'_>],
    talk: &Talk,
) -> anyhow::Result<()> {
    let format = args.output_format;
    let shows_safe = args.show_safe || is_report(format);
    let shown = named.iter().copied();
    let mut shown: Vec<Named<'_>> = shown
        .filter(|named| shows_safe || !is_safe(named.finding))
        .collect();
    if format.is_worst_first() {
        shown.sort_by_key(|named| (is_safe(named.finding), named.finding.rule.severity));
    }
    let path = args.output_file.as_deref();
    let text = if args.statistics {
        statistics(named.iter().map(|named| named.finding))
    } else {
        let styled = format == OutputFormat::Full && path.is_none() && talk.styles_results();
        let sources = match format {
            OutputFormat::Html => git::sources(&session.package.root),
            _ => String::new(),
        };
        let results = Results {
            sources: &sources,
            view: session.view(styled),
            findings: &shown,
            analysis: &session.analysis,
        };
        render(format, results)
    };
    deliver(text.as_bytes(), path)
}

/// That what these files do is not known: empty if there are none.
fn said_of(session: &Session, unread: &[FileId]) -> String {
    let Some(first) = unread.first() else {
        return String::new();
    };
    let first = session.view(false).path(*first);
    format!(
        "Not analysed: {} the C API, such as {first}; check these for races by hand\n",
        counted(
            unread.len(),
            "file of another language that uses",
            "files of other languages that use"
        ),
    )
}

fn is_safe(finding: &Finding) -> bool {
    matches!(finding.outcome, Outcome::Safe(_))
}

fn summarize(session: &Session, named: &[Named<'_>], paths: Option<&[PathBuf]>, talk: &Talk) {
    let rest = Rest::counting(named.iter().map(|named| named.finding));
    let (total, proven) = (rest.total(), named.len() - rest.total());
    let Rest {
        safe,
        review,
        manual,
    } = rest;
    talk.info(&match total {
        0 if unread_callers(&session.package).next().is_some() => {
            "No findings in the analysed files".to_owned()
        }
        0 => "No findings".to_owned(),
        _ => format!(
            "{}: {safe} with a safe fix, {review} with a fix to review, {manual} to do by hand",
            counted(total, "finding", "findings")
        ),
    });
    if total > 0 {
        let open = named.iter().map(|named| named.finding);
        let open = open.filter(|finding| !is_safe(finding));
        talk.info(&format!("Severity: {}", by_severity(open)));
    }
    if let Some(paths) = paths.filter(|_| safe + review > 0) {
        let paths = paths.iter().filter(|path| path.as_os_str() != ".");
        let paths: String = paths.map(|path| format!(" {}", path.display())).collect();
        talk.info(&format!(
            "Run `ungil review --show ID{paths}` to see what a fix changes"
        ));
    }
    if proven > 0 {
        let uses = counted(proven, "more use is", "more uses are");
        talk.info(&format!(
            "{uses} proven safe; `--show-safe` shows the proof"
        ));
    }
    session.report_coverage(talk);
    for module in &session.analysis.modules {
        talk.info(&readiness(module));
    }
}

/// `2 memory errors, 1 race`: the worst first.
fn by_severity<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let mut counts = BTreeMap::<Severity, usize>::new();
    for finding in findings {
        *counts.entry(finding.rule.severity).or_default() += 1;
    }
    let parts = counts.into_iter().map(|(it, count)| it.counted(count));
    parts.collect::<Vec<_>>().join(", ")
}

/// Whether the module is ready to be declared, in one line.
fn readiness(module: &ModuleStatus) -> String {
    let name = &module.name;
    let open = match module.declared {
        Declared::Already => module.open.of_declared(),
        _ => module.open.clone(),
    };
    if open.count() > 0 {
        return format!(
            "Module `{name}` is not ready because of {}",
            open.in_words()
        );
    }
    if !open.is_complete {
        return format!("Module `{name}` may or may not be ready: not all rules about races ran");
    }
    if let (Declared::Already, Some(left)) = (&module.declared, open.sentence()) {
        return format!("Module `{name}` declares that it runs without the GIL; check that {left}");
    }
    if open.has_left() {
        return format!(
            "Module `{name}` has no open findings, but its methods make writes or calls that were \
             not proven safe; the fix that declares the module lists them"
        );
    }
    let declared = match module.declared {
        Declared::Already => "and declares that",
        Declared::Safe | Declared::Review => "and a fix declares that",
        Declared::NeedsGil => "but says `Py_MOD_GIL_USED`, which keeps the GIL on",
        Declared::No => "but does not declare that",
    };
    format!("Module `{name}` is ready to run without the GIL, {declared}")
}
