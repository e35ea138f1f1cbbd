//! The numbers of a run: `--stats-file` for programs, `check --stats` for people.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use crate::edit::Confidence;
use crate::engine::{Analysis, Declared, Init};
use crate::package::{FileInfo, FileKind, Package};
use crate::rule::Outcome;

/// One run; the JSON names are those of the schema `ungil-stats/1`.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    schema: &'static str,
    files: Files,
    functions: Functions,
    not_understood: Vec<NotUnderstood>,
    call_sites: BTreeMap<&'static str, CallSites>,
    modules: Vec<Module>,
    fixes: Fixes,
    elapsed_ms: u128,
}

#[derive(Debug, Default, Serialize)]
struct Files {
    /// All files asked for that may hold C.
    seen: usize,
    /// Of these, made by a tool.
    generated: usize,
    /// Of these, C++, Objective-C, templates, and what could not be read as text.
    not_c: usize,
}

#[derive(Debug, Serialize)]
struct Functions {
    total: usize,
    understood: usize,
}

#[derive(Debug, Serialize)]
struct NotUnderstood {
    file: String,
    line: u32,
    function: String,
    reason: String,
}

/// What became of the calls of one C-API function.
#[derive(Debug, Default, Serialize)]
struct CallSites {
    rewritten: usize,
    safe_as_is: usize,
    review: usize,
    manual: usize,
}

#[derive(Debug, Serialize)]
struct Module {
    name: String,
    file: String,
    init: &'static str,
    declared: &'static str,
    open: usize,
}

#[derive(Debug, Default, Serialize)]
struct Fixes {
    safe: usize,
    review: usize,
    validated: usize,
    demoted: usize,
}

impl Stats {
    pub(super) fn new(package: &Package, analysis: &Analysis, elapsed: Duration) -> Self {
        let path = |file| package.files.get(file).path().display().to_string();
        let coverage = &analysis.coverage;
        let not_understood = coverage.not_understood.iter().map(|gap| NotUnderstood {
            file: path(gap.file),
            line: gap.line.0,
            function: gap.function.clone(),
            reason: gap.reason.clone(),
        });
        let modules = analysis.modules.iter().map(|module| Module {
            name: module.name.clone(),
            file: path(module.file),
            init: init_name(module.init),
            declared: declared_name(module.declared),
            open: module.open.count(),
        });
        Self {
            schema: "ungil-stats/1",
            files: files(package),
            functions: Functions {
                total: coverage.functions,
                understood: coverage
                    .functions
                    .saturating_sub(coverage.not_understood.len()),
            },
            not_understood: not_understood.collect(),
            call_sites: call_sites(analysis),
            modules: modules.collect(),
            fixes: fixes(analysis),
            elapsed_ms: elapsed.as_millis(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("strings and numbers serialise");
        text + "\n"
    }

    pub(super) fn to_text(&self) -> String {
        let Files {
            seen,
            generated,
            not_c,
        } = self.files;
        let Functions { total, understood } = self.functions;
        let mut out = format!("files      {seen} seen, {generated} generated, {not_c} not C\n");
        let mut line = |text: String| writeln!(out, "{text}").expect("a string takes all");
        line(format!("functions  {understood} of {total} analysed"));
        let Fixes { safe, review, .. } = self.fixes;
        line(format!("fixes      {safe} safe, {review} to review"));
        for (name, sites) in &self.call_sites {
            let CallSites {
                rewritten,
                safe_as_is,
                review,
                manual,
            } = sites;
            line(format!(
                "{name}: {rewritten} rewritten, {safe_as_is} safe as is, {review} to review, \
                 {manual} by hand"
            ));
        }
        for Module {
            name,
            init,
            declared,
            open,
            ..
        } in &self.modules
        {
            line(format!(
                "module {name}: {init}-phase, declared: {declared}, {open} open findings"
            ));
        }
        out
    }
}

fn files(package: &Package) -> Files {
    let unread = package.skipped.len();
    let mut files = Files {
        seen: unread,
        not_c: unread,
        ..Files::default()
    };
    // Build files hold no code to be counted.
    let is_code = |info: &&FileInfo| !matches!(info.kind, FileKind::Build(_));
    let selected = package.infos.iter().filter(|info| info.selected);
    for info in selected.filter(is_code) {
        files.seen += 1;
        match info.kind {
            FileKind::C | FileKind::Header | FileKind::Build(_) => {}
            FileKind::Generated(_) => files.generated += 1,
            FileKind::Cpp | FileKind::ObjectiveC | FileKind::Template => files.not_c += 1,
        }
    }
    files
}

fn call_sites(analysis: &Analysis) -> BTreeMap<&'static str, CallSites> {
    let mut sites = BTreeMap::<_, CallSites>::new();
    for finding in &analysis.findings {
        let Some(api) = finding.api else { continue };
        let entry = sites.entry(api).or_default();
        match &finding.outcome {
            Outcome::Fix(fix) if fix.confidence == Confidence::Safe => entry.rewritten += 1,
            Outcome::Fix(_) => entry.review += 1,
            Outcome::Safe(_) => entry.safe_as_is += 1,
            Outcome::Manual(_) => entry.manual += 1,
        }
    }
    sites
}

fn fixes(analysis: &Analysis) -> Fixes {
    let mut fixes = Fixes {
        validated: analysis.validation.validated,
        demoted: analysis.validation.demoted,
        ..Fixes::default()
    };
    for finding in &analysis.findings {
        if let Outcome::Fix(fix) = &finding.outcome {
            match fix.confidence {
                Confidence::Safe => fixes.safe += 1,
                Confidence::Review => fixes.review += 1,
            }
        }
    }
    fixes
}

fn init_name(init: Init) -> &'static str {
    match init {
        Init::Single => "single",
        Init::Multi => "multi",
    }
}

fn declared_name(declared: Declared) -> &'static str {
    match declared {
        Declared::Already => "already",
        Declared::Safe => "safe",
        Declared::Review => "review",
        Declared::NeedsGil => "needs-gil",
        Declared::No => "no",
    }
}
