//! The stages in order, for a whole package; pure.

mod abi3t;
mod bodies;
mod build;
mod config;
mod converge;
mod dump;
mod imports;
mod installed;
mod limited;
mod modules;
mod needs;
mod outside;
mod plan;
mod polyfills;
mod prove;
mod readiness;
mod reported;
mod run;
mod starts;
mod surfaces;
mod trace;
mod whereabouts;
mod whose;
mod workspace;

pub use abi3t::{Abi3t, ModuleAbi, Obstacle, ObstacleKind, abi3t};
pub use config::{Compat, Config, GivenHeader};
pub use dump::{Stage, dump};
pub use needs::{NewFile, Origin, Origins};
pub use prove::{Bytes, analyze_after, open_findings, prove};
pub use readiness::{Open, OpenKind};
pub use surfaces::surfaces;
pub use trace::trace;
pub use whereabouts::{FunctionLines, LineKind, Whereabouts, lines_of, whereabouts};

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::build::BuildFile;
use crate::capi::REPLACEMENTS;
use crate::edit::Assumption;
use crate::facts::Fact;
use crate::package::{FileKind, Package};
use crate::program::{CallIndex, Demand, Program};
use crate::provenance;
use crate::roles::Roles;
use crate::rule::{Finding, Outcome, PackageCx, Rule};
use crate::source::{FileId, LineNumber};
use crate::transforms;
use crate::validate::{Reload, Validation};
use outside::Others;
use plan::Scope;
use readiness::Readiness;
pub use run::Stopped;
use run::{rules, run};
use workspace::Workspace;

/// What a run found.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Findings of all selected rules in run order; also those proven safe as they are.
    pub findings: Vec<Finding>,
    /// What was looked at, and what was not understood.
    pub coverage: Coverage,
    /// The extension modules of the package, by file and name.
    pub modules: Vec<ModuleStatus>,
    /// All that fixes ask for which can be confirmed once, or is confirmed, also of alternatives.
    pub asked: BTreeSet<Fact>,
    /// How fixes fared in validation.
    pub validation: Validation,
    /// Files that fixes with [`crate::edit::Need`]s ask for, to be written with the first of
    /// them.
    pub new_files: Vec<NewFile>,
    /// Where functions come from that not all supported Pythons have.
    pub origins: Origins,
}

/// The coverage ledger: silence about a function that is not listed here means "looked at".
#[derive(Debug, Default)]
pub struct Coverage {
    /// Files whose C was looked at.
    pub files: usize,
    /// Functions met.
    pub functions: usize,
    /// Functions that rules could not look at, by file and line.
    pub not_understood: Vec<NotUnderstood>,
    /// Build files that could not be parsed, by file, and why: lower case, no full stop.
    pub build_files_not_read: Vec<(FileId, String)>,
    /// Names of quoted headers that are in no folder of the run, sorted.
    pub headers_not_found: Vec<String>,
    /// Rules that a defect of this program ended: nothing that they would say is known.
    pub stopped: Vec<Stopped>,
}

/// One function that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUnderstood {
    /// Its file.
    pub file: FileId,
    /// Where it begins.
    pub line: LineNumber,
    /// Its name; empty if not even that is known.
    pub function: String,
    /// Why: lower case, no full stop.
    pub reason: String,
}

/// How a module says, or is made to say, that it runs without the GIL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// The source already says so.
    Already,
    /// A safe fix makes it say so.
    Safe,
    /// A fix makes it say so once a person has confirmed what is left.
    Review,
    /// The source says that it needs the GIL: `Py_MOD_GIL_USED`.
    NeedsGil,
    /// It does not say so.
    No,
}

/// How a module is initialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    /// `PyModule_Create`.
    Single,
    /// `PyModuleDef_Init`.
    Multi,
}

/// One extension module of the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleStatus {
    /// Its name, from `PyInit_name`.
    pub name: String,
    /// The file with its `PyInit_` function.
    pub file: FileId,
    /// All files that it is made of.
    pub files: BTreeSet<FileId>,
    /// How it is initialised.
    pub init: Init,
    /// Whether it says that it runs without the GIL.
    pub declared: Declared,
    /// What stands against that.
    pub open: Open,
}

/// Runs every selected rule over `package`.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn analyze(package: &Package, config: &Config) -> Analysis {
    let workspace = Workspace::new(package, config);
    examine(config, &workspace, |cx, rules| {
        let scope = Scope {
            package,
            config,
            workspace: &workspace,
            cx,
        };
        let reload: &Reload<'_> = &|files, places, look| workspace.reload(files, places, look);
        let mut validator = scope.validator(reload);
        let (mut findings, stopped) = run(rules, cx, package, config);
        scope.plan(&mut validator, &mut findings);
        let mut asked = asked(&findings);
        if !config.alternatives {
            forget_alternatives(&mut findings);
        }
        let served = scope.serve(&mut validator, &mut findings);
        validator.alternatives(&mut findings);
        let readiness = Readiness::new(cx, package, config, &stopped);
        readiness.tell(&mut findings);
        let modules = modules::statuses(cx, package, &readiness, &findings);
        let build_files = build::files(package);
        let about_builds = build::findings(&build_files, cx, config, rules, &modules);
        findings.extend(
            about_builds
                .into_iter()
                .filter(|finding| is_written(package, finding)),
        );
        asked.append(&mut self::asked(&findings));
        Analysis {
            asked,
            validation: served.validation,
            new_files: served.new_files,
            origins: served.origins,
            coverage: Coverage {
                stopped,
                ..coverage(package, cx.program, &build_files)
            },
            modules,
            findings,
        }
    })
}

/// What the rules say of `package`, whose workspace is known: fixes as they were made, without what
/// they need beside.
fn find(package: &Package, config: &Config, workspace: &Workspace) -> Vec<Finding> {
    examine(config, workspace, |cx, rules| {
        run(rules, cx, package, config).0
    })
}

/// Loads what the rules ask for, and looks at it with all that is known of the whole package.
fn examine<R>(
    config: &Config,
    workspace: &Workspace,
    look: impl FnOnce(&PackageCx<'_>, &[&'static Rule]) -> R,
) -> R {
    let rules = rules(config);
    let (demand, headers) = demand(workspace, &rules, config);
    let program = workspace.load(demand, headers);
    let calls = CallIndex::new(&program);
    let roles = Roles::new(&program);
    let triage = provenance::Cx::new(&program, &calls, &roles);
    let others = Others::new(workspace);
    let cx = PackageCx::new(&program, workspace.range)
        .with_triage(&triage)
        .with_outside(&others)
        .with_errors(config.errors);
    look(&cx, &rules)
}

/// What is parsed, and whether headers without code are.
///
/// Triage follows containers through helpers, fields and method tables, and takes what was never
/// parsed for not there; so do the rules that follow calls. So a package with a single borrowed
/// reference is parsed in whole; others only where a rule has a word to say. Rules that follow
/// memory, and triage, ask for the types as well.
fn demand(workspace: &Workspace, rules: &[&Rule], config: &Config) -> (Demand, bool) {
    let words: FxHashSet<&str> = rules
        .iter()
        .flat_map(|rule| rule.triggers.iter().copied())
        .collect();
    let mentions = |names: &mut dyn Iterator<Item = &'static str>| {
        let names = names.filter(|name| words.contains(name));
        workspace.mentions(&names.map(str::as_bytes).collect())
    };
    if mentions(&mut transforms::TYPED.iter().copied().flatten().copied()) {
        return (Demand::Everything, true);
    }
    // Who writes a static variable stands under no word that is known before.
    let reads_all = rules
        .iter()
        .any(|rule| rule.triggers.is_empty() && !rule.check.is_build());
    let triaged = REPLACEMENTS.iter().map(|row| row.borrowed);
    let followed = transforms::FOLLOWED.iter().copied().flatten().copied();
    let mut triaged = triaged
        .chain(["PyDict_Next", "_PyDict_Next"])
        .chain(followed);
    if mentions(&mut triaged) {
        return (Demand::Everything, true);
    }
    // When it does depends on the tables of methods, which may stand in headers.
    if config.full_coverage || reads_all {
        return (Demand::Everything, reads_all);
    }
    // The statistics name every module, whatever rules run.
    let words = words.iter().chain(crate::modules::TRIGGERS);
    (
        Demand::Words(words.map(ToString::to_string).collect()),
        false,
    )
}

/// What the fixes of `findings`, and their alternatives, ask for that can be confirmed once.
fn asked(findings: &[Finding]) -> BTreeSet<Fact> {
    let fixes = findings.iter().filter_map(Finding::fix);
    let forms = fixes.flat_map(|fix| std::iter::once(fix).chain(&fix.alternatives));
    let facts = forms.flat_map(|fix| {
        let open = fix.assumptions.iter().filter_map(Assumption::fact);
        open.chain(&fix.confirmed)
    });
    facts.cloned().collect()
}

fn forget_alternatives(findings: &mut [Finding]) {
    for finding in findings {
        if let Outcome::Fix(fix) = &mut finding.outcome {
            fix.alternatives.clear();
        }
    }
}

fn is_wanted(package: &Package, config: &Config, finding: &Finding) -> bool {
    let function = |name: &String| config.functions.contains(name);
    let info = package.info_of(finding.file);
    info.is_some_and(|info| info.kind.is_analysed())
        && (config.functions.is_empty() || finding.function.as_ref().is_some_and(function))
}

/// Whether the finding is about text that a person wrote.
fn is_written(package: &Package, finding: &Finding) -> bool {
    let info = package.info_of(finding.file);
    info.is_some_and(|info| !matches!(info.kind, FileKind::Generated(_)))
}

fn coverage(package: &Package, program: &Program<'_>, build_files: &[BuildFile<'_>]) -> Coverage {
    let gaps = program.gaps.iter().filter(|gap| gap.function.is_some());
    let mut not_understood: Vec<NotUnderstood> = gaps
        .map(|gap| NotUnderstood {
            file: gap.file,
            line: program.files.get(gap.file).position(gap.span.start()).line,
            function: gap.function.clone().unwrap_or_default(),
            reason: gap.reason.clone(),
        })
        .collect();
    // Variants of other configurations may fail for other reasons.
    not_understood.dedup_by(|b, a| (a.file, a.line, &a.function) == (b.file, b.line, &b.function));
    let mut headers: Vec<String> = program
        .missing_headers()
        .iter()
        .map(|missing| missing.name.clone())
        .collect();
    headers.sort();
    headers.dedup();
    Coverage {
        files: package.analysed().count(),
        functions: program.functions_total,
        not_understood,
        build_files_not_read: build::not_read(build_files),
        headers_not_found: headers,
        stopped: Vec::new(),
    }
}
