//! `ungil stress`: writes scripts that call the functions of modules from several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::Status;
use super::args::StressArgs;
use super::interrupt::Interrupt;
use super::output::deliver;
use super::session::{Ledger, Session};
use super::talk::{Talk, counted};
use crate::edit::Confidence;
use crate::engine::{ModuleStatus, OpenKind};
use crate::review::groups;
use crate::rule::{Finding, Outcome, fingerprints};
use crate::source::FileId;
use crate::stress::{Reported, Scenario, Script, Surface, is_script, scenarios, script, unmade};

/// Letters of the id of a finding without a fix.
const ID_LETTERS: usize = 8;

pub(super) fn run(args: &StressArgs, talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let session = Session::counting(&args.analysis, Ledger::Full, talk)?;
    session.write_stats(&args.analysis.options)?;
    let modules = modules(args, &session)?;
    let surfaces = session.surfaces(&modules, talk);
    let paths: Vec<PathBuf> = modules
        .iter()
        .map(|module| path(args, &module.name))
        .collect();
    // Nothing is written if one of them is another file.
    let olds: Vec<Option<String>> = paths
        .iter()
        .map(|path| old(path, "choose another name with `--output-file`"))
        .collect::<Result<_, _>>()?;
    let reported = reported(&session);
    let _held = interrupt.hold();
    for (at, (module, surface)) in modules.iter().zip(&surfaces).enumerate() {
        let path = &paths[at];
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let old = olds[at].as_deref();
        let (text, scenarios) = made((module, surface), &reported, &file, args.pytest, old);
        deliver(text.as_bytes(), Some(path))?;
        tell(talk, path, surface, &scenarios);
    }
    session.report_coverage(talk);
    if session.settings.strict && session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(Status::Clean)
}

/// The text of the script `file` for a module, and what it calls; `old` is what is in the file.
pub(super) fn made(
    (module, surface): (&ModuleStatus, &Surface),
    reported: &[(FileId, Reported)],
    file: &str,
    pytest: bool,
    old: Option<&str>,
) -> (String, Vec<Scenario>) {
    let of_module = reported
        .iter()
        .filter(|(file, _)| module.files.contains(file));
    let of_module = merged(of_module.map(|(_, it)| it.clone()));
    let scenarios = scenarios(surface, &of_module);
    let text = script(&Script {
        surface,
        scenarios: &scenarios,
        reported: &of_module,
        file,
        pytest,
        old,
    });
    (text, scenarios)
}

/// The modules that scripts are asked for.
fn modules<'s>(args: &StressArgs, session: &'s Session) -> anyhow::Result<Vec<&'s ModuleStatus>> {
    let all = &session.analysis.modules;
    let is_wanted = |module: &&ModuleStatus| match &args.module {
        Some(name) => module.name == *name,
        None => true,
    };
    let wanted: Vec<&ModuleStatus> = all.iter().filter(is_wanted).collect();
    let names: BTreeSet<&str> = all.iter().map(|module| module.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    match (wanted.as_slice(), &args.module) {
        ([], _) if all.is_empty() => {
            bail!("no `PyInit_` function was found, so there is no module to call")
        }
        ([], Some(name)) => bail!("there is no module `{name}` but {}", names.join(", ")),
        ([_, _, ..], _) if args.output_file.is_some() => bail!(
            "`--output-file` is for one script, and there are several modules: choose one of them \
             with `--module`: {}",
            names.join(", ")
        ),
        _ => Ok(wanted),
    }
}

fn path(args: &StressArgs, module: &str) -> PathBuf {
    let prefix = if args.pytest { "test_" } else { "" };
    let default = || PathBuf::from(format!("{prefix}stress_{module}.py"));
    args.output_file.clone().unwrap_or_else(default)
}

/// What an earlier run has written to `path`.
///
/// # Errors
/// If that is another file, with the advice.
pub(super) fn old(path: &Path, advice: &str) -> anyhow::Result<Option<String>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A pipe or device is there to be written to.
        Ok(text) if text.is_empty() => return Ok(None),
        read => read.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    if !is_script(&text) {
        bail!(
            "`{}` was not written by `ungil stress` and stays as it is: {advice}",
            path.display()
        );
    }
    Ok(Some(text))
}

/// The findings about races that are not proven safe, with their files.
pub(super) fn reported(session: &Session) -> Vec<(FileId, Reported)> {
    let files = &session.package.files;
    let all = &session.analysis.findings;
    let fixes = groups(files, all);
    let mut ids: BTreeMap<*const Finding, &str> = BTreeMap::new();
    for fix in &fixes {
        ids.extend(
            fix.findings()
                .map(|it| (std::ptr::from_ref(it), &*fix.id.0)),
        );
    }
    let open = all.iter().filter(|finding| {
        OpenKind::of(finding.rule).is_some() && !matches!(finding.outcome, Outcome::Safe(_))
    });
    let open: Vec<&Finding> = open.collect();
    let names = fingerprints(files, &open);
    let one = |(finding, name): (&Finding, &String)| {
        let file = files.get(finding.file);
        let line = file.position(finding.span.start()).line.0;
        let id = ids.get(&std::ptr::from_ref(finding));
        let text = || file.text(finding.span).into_owned();
        let reported = Reported {
            id: id.map_or_else(|| name[..ID_LETTERS].to_owned(), ToString::to_string),
            rule: finding.rule.code.to_owned(),
            place: format!("{}:{line}", file.path().display()),
            state: state(finding).to_owned(),
            subjects: BTreeSet::from([finding.function.clone().unwrap_or_else(text)]),
        };
        (finding.file, reported)
    };
    open.iter().copied().zip(&names).map(one).collect()
}

/// One for each id: what one fix settles is one.
fn merged(all: impl Iterator<Item = Reported>) -> Vec<Reported> {
    let mut merged: Vec<Reported> = Vec::new();
    for it in all {
        match merged.iter_mut().find(|known| known.id == it.id) {
            Some(known) => known.subjects.extend(it.subjects),
            None => merged.push(it),
        }
    }
    merged
}

fn state(finding: &Finding) -> &'static str {
    match finding.fix().map(|fix| fix.confidence) {
        Some(Confidence::Safe) => "safe fix",
        Some(Confidence::Review) => "fix to review",
        None => "by hand",
    }
}

/// Says what was written, and what is to be filled in.
fn tell(talk: &Talk, path: &Path, surface: &Surface, scenarios: &[Scenario]) {
    let with = scenarios
        .iter()
        .filter(|it| !it.findings.is_empty())
        .count();
    talk.info(&format!(
        "Wrote `{}`: {} of `{}`, of which {with} reach a finding",
        path.display(),
        counted(scenarios.len(), "function", "functions"),
        surface.module,
    ));
    let unknown = scenarios.iter().filter(|it| it.args.is_err());
    let unknown: Vec<&str> = unknown.map(|it| it.name.as_str()).collect();
    if !unknown.is_empty() {
        talk.info(&format!(
            "The arguments of {} are not known; these are not called until you fill them in: {}",
            counted(unknown.len(), "function", "functions"),
            unknown.join(", ")
        ));
    }
    let types = unmade(surface, scenarios);
    if !types.is_empty() {
        talk.info(&format!(
            "How to make an object is not known of these types; fill it in to have their methods \
             called: {}",
            types.join(", ")
        ));
    }
}
