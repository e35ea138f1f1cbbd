//! One analysis from the command line: settings, files, findings.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;

use super::args::{AnalysisArgs, OptionArgs};
use super::config::Settings;
use super::git;
use super::output::deliver;
use super::silence::{Silenced, silence};
use super::stats::Stats;
use super::talk::{Talk, counted};
use crate::edit::{Confidence, Fix};
use crate::engine::{
    Abi3t, Analysis, Bytes, ModuleStatus, Stopped, Whereabouts, abi3t, analyze, analyze_after,
    open_findings, prove, surfaces, whereabouts,
};
use crate::package::{
    Package, Request, Roots, SkipReason, find_roots, load, not_analysed, unread_callers,
};
use crate::render::View;
use crate::rule::{Finding, Outcome, Rule};
use crate::source::{FileId, LineNumber};
use crate::stress::Surface;
use crate::validate::Doubt;

/// Stack of a worker thread in bytes: the parser recurses as deep as the code is nested.
const PARSER_STACK: usize = 64 << 20;

/// A finished analysis and what it was made with.
pub(super) struct Session {
    pub(super) package: Package,
    pub(super) settings: Settings,
    pub(super) analysis: Analysis,
    /// Findings that a comment or the configuration silences.
    pub(super) silenced: Vec<Silenced>,
    /// The project and the repository it is in.
    pub(super) roots: Roots,
    /// The folder the user is in.
    folder: PathBuf,
    threads: rayon::ThreadPool,
    started: Instant,
}

/// What a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ledger {
    /// What the rules had to look at; everything if an option needs it.
    AsAsked,
    /// Every function.
    Full,
}

impl Session {
    /// Reads what `args` ask for and analyses it.
    pub(super) fn run(args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Self> {
        Self::counting(args, Ledger::AsAsked, talk)
    }

    /// As [`Session::run`], with the coverage counted as `ledger` says.
    pub(super) fn counting(
        args: &AnalysisArgs,
        ledger: Ledger,
        talk: &Talk,
    ) -> anyhow::Result<Self> {
        Self::read(args, ledger, talk)?.analysed(talk)
    }

    /// As [`Session::run`], with the alternatives of fixes.
    pub(super) fn with_alternatives(args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Self> {
        let mut session = Self::read(args, Ledger::AsAsked, talk)?;
        session.settings.engine.alternatives = true;
        session.analysed(talk)
    }

    fn analysed(mut self, talk: &Talk) -> anyhow::Result<Self> {
        let mut analysis = talk.while_waiting("analysing", || {
            let (package, config) = (&self.package, &self.settings.engine);
            self.threads.install(|| analyze(package, config))
        });
        analysis
            .findings
            .retain(|finding| self.package.info(finding.file).selected);
        self.silenced = silence(&self.package, &self.settings, &mut analysis, talk);
        self.analysis = analysis;
        self.report_stopped(talk);
        self.report_unused_word(talk);
        Ok(self)
    }

    /// What keeps the modules from the stable ABI `abi3t`.
    pub(super) fn abi3t(&self, talk: &Talk) -> Abi3t {
        let (package, config) = (&self.package, &self.settings.engine);
        talk.while_waiting("analysing", || {
            self.threads.install(|| abi3t(package, config))
        })
    }

    /// What Python code can call of `modules`.
    pub(super) fn surfaces(&self, modules: &[&ModuleStatus], talk: &Talk) -> Vec<Surface> {
        let (package, config) = (&self.package, &self.settings.engine);
        talk.while_waiting("analysing", || {
            self.threads.install(|| surfaces(package, config, modules))
        })
    }

    /// Reads what `args` ask for; nothing is analysed yet.
    pub(super) fn read(args: &AnalysisArgs, ledger: Ledger, talk: &Talk) -> anyhow::Result<Self> {
        let started = Instant::now();
        let folder = env::current_dir().context("the current folder cannot be read")?;
        let folder = fs::canonicalize(&folder).unwrap_or(folder);
        let paths = existing(&args.paths)?;
        let roots = find_roots(&paths);
        let mut settings = Settings::resolve(&args.options, &roots, &folder)?;
        settings.engine.full_coverage |= ledger == Ledger::Full;
        if let Some(file) = &settings.file {
            talk.detail(&format!("configuration from {}", file.display()));
        }
        let request = Request {
            paths,
            roots: roots.clone(),
            include_dirs: settings
                .engine
                .include_dirs
                .iter()
                .map(PathBuf::from)
                .collect(),
            exclude: settings.exclude.clone(),
            min_python: settings.min_python,
            tracked: tracked(&roots),
        };
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(args.options.jobs)
            .stack_size(PARSER_STACK)
            .build()
            .context("cannot start threads")?;
        let package = talk.while_waiting("reading", || threads.install(|| load(&request)))?;
        let session = Self {
            package,
            settings,
            analysis: Analysis::default(),
            silenced: Vec::new(),
            roots,
            folder,
            threads,
            started,
        };
        session.report_skipped(talk);
        Ok(session)
    }

    /// How findings and paths are shown.
    pub(super) fn view(&self, styled: bool) -> View<'_> {
        View {
            package: &self.package,
            folder: &self.folder,
            styled,
        }
    }

    /// What is not proven of the way from `before` to `after`, as [`prove`] has it.
    pub(super) fn prove(&self, before: &Bytes, after: &Bytes) -> Vec<Doubt> {
        let (package, config) = (&self.package, &self.settings.engine);
        self.threads
            .install(|| prove(package, config, before, after))
    }

    /// What `rule` still has to say once the files are as `after` has them, as [`open_findings`]
    /// has it.
    pub(super) fn open_findings(&self, rule: &'static Rule, after: &Bytes) -> Vec<Finding> {
        let (package, config) = (&self.package, &self.settings.engine);
        self.threads
            .install(|| open_findings(package, config, rule, after))
    }

    /// What is found once the files are as `after` has them.
    pub(super) fn analysis_after(&self, after: &Bytes, talk: &Talk) -> Analysis {
        let (package, config) = (&self.package, &self.settings.engine);
        talk.while_waiting("analysing the result", || {
            self.threads
                .install(|| analyze_after(package, config, after))
        })
    }

    /// What the front end made of `line` of the analysed file `file`.
    pub(super) fn whereabouts(&self, file: FileId, line: LineNumber) -> Whereabouts {
        let (package, config) = (&self.package, &self.settings.engine);
        self.threads
            .install(|| whereabouts(package, config, file, line))
    }

    /// The fix of `finding`, if the user wants fixes of its confidence.
    pub(super) fn applicable<'a>(&self, finding: &'a Finding) -> Option<&'a Fix> {
        match &finding.outcome {
            Outcome::Fix(fix) => {
                let wanted = fix.confidence == Confidence::Safe || self.settings.unsafe_fixes;
                wanted.then_some(fix)
            }
            Outcome::Safe(_) | Outcome::Manual(_) => None,
        }
    }

    /// Whether something was not looked at that should have been.
    pub(super) fn has_coverage_gap(&self) -> bool {
        let unread = |reason: &SkipReason| !matches!(reason, SkipReason::Binary);
        !self.analysis.coverage.not_understood.is_empty()
            || !self.analysis.coverage.stopped.is_empty()
            || unread_callers(&self.package).next().is_some()
            || self
                .package
                .skipped
                .iter()
                .any(|skipped| unread(&skipped.reason))
    }

    /// The numbers of this run so far.
    pub(super) fn stats(&self) -> Stats {
        Stats::new(&self.package, &self.analysis, self.started.elapsed())
    }

    /// Writes the statistics file if one is asked for.
    pub(super) fn write_stats(&self, args: &OptionArgs) -> anyhow::Result<()> {
        let Some(path) = &args.stats_file else {
            return Ok(());
        };
        deliver(self.stats().to_json().as_bytes(), Some(path))
    }

    /// One line on what was and what was not understood.
    pub(super) fn report_coverage(&self, talk: &Talk) {
        let coverage = &self.analysis.coverage;
        let lost = coverage.not_understood.len();
        talk.info(&format!(
            "Coverage: {} of {} functions in {} analysed",
            coverage.functions.saturating_sub(lost),
            coverage.functions,
            counted(coverage.files, "file", "files"),
        ));
        let view = self.view(false);
        for gap in &coverage.not_understood {
            talk.detail(&format!(
                "{}:{}: `{}` not analysed: {}",
                view.path(gap.file),
                gap.line.0,
                gap.function,
                gap.reason
            ));
        }
        for (file, reason) in &coverage.build_files_not_read {
            talk.detail(&format!("{}: not read: {reason}", view.path(*file)));
        }
        for header in &coverage.headers_not_found {
            talk.detail(&format!(
                "header \"{header}\" not found; add its folder with `-I`"
            ));
        }
        for line in not_analysed(&self.package) {
            talk.info(&format!("Not analysed: {line}"));
        }
    }

    fn report_stopped(&self, talk: &Talk) {
        for Stopped { rule, reason } in &self.analysis.coverage.stopped {
            talk.warning(&format!(
                "`{rule}` stopped because of a defect in `ungil` and reports nothing here \
                 ({reason}); please report this together with the C code"
            ));
        }
    }

    fn report_skipped(&self, talk: &Talk) {
        for skipped in &self.package.skipped {
            let path = skipped.path.display();
            match &skipped.reason {
                SkipReason::Unreadable(error) => {
                    talk.warning(&format!("cannot read `{path}`: {error}"));
                }
                SkipReason::TooLarge(length) => {
                    talk.warning(&format!(
                        "`{path}` is too large to analyse ({length} bytes)"
                    ));
                }
                SkipReason::Binary | SkipReason::Name | SkipReason::Products | SkipReason::Link => {
                    talk.detail(&format!("`{path}` was not read"))
                }
            }
        }
    }
}

/// The project that `paths` belong to.
pub(super) fn roots(paths: &[PathBuf]) -> anyhow::Result<Roots> {
    Ok(find_roots(&existing(paths)?))
}

/// The files of the project that git tracks; none where there is no repository, or no git.
fn tracked(roots: &Roots) -> Vec<PathBuf> {
    let listed = match roots.repository {
        Some(_) => git::output(&roots.project, ["ls-files", "-z"]).unwrap_or_default(),
        None => Vec::new(),
    };
    let names = listed.split(|&byte| byte == 0).filter(|it| !it.is_empty());
    names
        .map(|name| roots.project.join(git::path(name)))
        .collect()
}

fn existing(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let absolute = |path: &PathBuf| {
        fs::canonicalize(path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    paths.iter().map(absolute).collect()
}
