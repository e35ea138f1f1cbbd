//! `cargo dev corpus`: runs `ungil` over real packages and reports what came of it.

use std::{
    collections::BTreeMap,
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};

use crate::{
    compile::{Compiler, Diagnostics, cut_short, new_diagnostics},
    offers::Offers,
    process::{Run, run as run_measured},
    report::{Compiled, Patch, Report, Stats, write_table},
    sandbox::Sandbox,
};

/// Run ungil over unpacked packages: coverage, findings, time, memory; do its patches apply,
/// converge, and compile?
///
/// Works on copies. Exits with 1 if anything that must hold does not.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that holds one folder a package.
    dir: PathBuf,
    /// Only these packages: the start of the folder's name; may be given more than once.
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// A folder with Python.h, to compile changed files against before and after.
    #[arg(long, value_name = "DIR")]
    python_include: Vec<PathBuf>,
    /// Further include folders for the compiler.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Write the full report as JSON to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Further arguments for ungil: `-- --unsafe-fixes`.
    #[arg(last = true)]
    ungil: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let ungil = ungil_binary()?;
    let mut reports = Vec::new();
    for package in packages(args)? {
        let name = package
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        writeln!(io::stderr(), "{name}")?;
        reports.push(examine(&package, name, &ungil, args)?);
    }
    if let Some(file) = &args.json {
        fs::write(file, serde_json::to_vec_pretty(&reports)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    write_table(&reports, &mut io::stdout().lock())?;
    let good = reports.iter().all(Report::is_good);
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The release build of `ungil` beside this program's profile, or the one of the same profile.
fn ungil_binary() -> Result<PathBuf> {
    let own = env::current_exe()?;
    // An example is at `target/PROFILE/examples`.
    let mut folders = own.ancestors().skip(2);
    let profile = folders.next().context("an example is in a folder")?;
    let target = folders
        .next()
        .context("cargo builds in a folder of the target folder")?;
    let name = format!("ungil{}", env::consts::EXE_SUFFIX);
    let candidates = [target.join("release").join(&name), profile.join(&name)];
    candidates
        .into_iter()
        .find(|path| path.exists())
        .context("build ungil first: cargo build")
}

fn packages(args: &Args) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(&args.dir)
        .with_context(|| format!("cannot read {}", args.dir.display()))?
        .collect::<io::Result<Vec<_>>>()?;
    let wanted = |name: &str| {
        args.package.is_empty() || args.package.iter().any(|start| name.starts_with(start))
    };
    let mut folders: Vec<PathBuf> = entries
        .into_iter()
        .filter(|entry| entry.path().is_dir() && wanted(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    ensure!(
        !folders.is_empty(),
        "no such package in {}",
        args.dir.display()
    );
    Ok(folders)
}

fn examine(package: &Path, name: String, ungil: &Path, args: &Args) -> Result<Report> {
    let sandbox = Sandbox::new(package)?;
    let mut report = Report {
        package: name,
        ..Report::default()
    };
    let ungil = Ungil {
        program: ungil,
        sandbox: &sandbox,
        more: &args.ungil,
    };

    let stats = tempfile::NamedTempFile::new()?;
    let (check, offers) = ungil.check(stats.path(), &mut report.crashes)?;
    report.wall_seconds = check.wall.as_secs_f64();
    report.peak_mib = check.peak_kib / 1024;
    report.stats = read_stats(stats.path());

    let diff = ungil.run(&["diff"], &mut report.crashes)?;
    if !diff.stdout.is_empty() {
        let mut patch = try_patch(&diff.stdout, &ungil, args, &mut report.crashes)?;
        if patch.git_applies {
            let (_, again) = ungil.check(stats.path(), &mut report.crashes)?;
            patch.offers = again.new_since(&offers);
        }
        report.patch = Some(patch);
    }
    report.findings = offers.count();
    Ok(report)
}

fn try_patch(
    diff: &[u8],
    ungil: &Ungil<'_>,
    args: &Args,
    crashes: &mut Vec<String>,
) -> Result<Patch> {
    let sandbox = ungil.sandbox;
    sandbox.set_patch(diff)?;
    let files = sandbox.changed_files()?;
    let mut patch = Patch {
        files: files.len(),
        git_applies: sandbox.git_applies()?,
        patch_applies: sandbox.patch_applies()?,
        converges: None,
        offers: Vec::new(),
        compiled: BTreeMap::new(),
    };
    if !patch.git_applies {
        return Ok(patch);
    }

    let compilers: Vec<Compiler<'_>> = args
        .python_include
        .iter()
        .map(|python_include| Compiler {
            root: &sandbox.root,
            python_include,
            includes: &args.include,
        })
        .collect();
    let check = || -> Result<Vec<Diagnostics>> {
        compilers
            .iter()
            .map(|compiler| compiler.check(&files))
            .collect()
    };
    let before = check()?;
    sandbox.apply()?;
    let after = check()?;
    for (compiler, (before, after)) in compilers.iter().zip(before.iter().zip(&after)) {
        let compiled = Compiled {
            new: new_diagnostics(before, after),
            cut_short: cut_short(after),
        };
        patch
            .compiled
            .insert(compiler.python_include.to_owned(), compiled);
    }

    let again = ungil.run(&["diff"], crashes)?;
    patch.converges = Some(again.stdout.is_empty());
    Ok(patch)
}

/// The program under test, run in a sandbox.
struct Ungil<'a> {
    program: &'a Path,
    sandbox: &'a Sandbox,
    more: &'a [String],
}

impl Ungil<'_> {
    /// The run of `check`, and what it found; nothing if it did not get so far.
    fn check(&self, stats: &Path, crashes: &mut Vec<String>) -> Result<(Run, Offers)> {
        let stats = stats.display().to_string();
        let args = ["check", "--output-format", "json", "--stats-file", &stats];
        let run = self.run(&args, crashes)?;
        let offers = Offers::read(&run.stdout).unwrap_or_else(|error| {
            crashes.push(format!("check: its JSON: {error}"));
            Offers::default()
        });
        Ok((run, offers))
    }

    /// Runs a command over the whole tree; a status that the command line does not promise is
    /// noted among the crashes.
    fn run(&self, args: &[&str], crashes: &mut Vec<String>) -> Result<Run> {
        let mut command = Command::new(self.program);
        command
            .current_dir(&self.sandbox.root)
            .args(args)
            .args(self.more)
            .arg(".");
        let run = run_measured(&mut command)?;
        let end = match run.status {
            Some(0 | 1 | 3) => return Ok(run),
            Some(status) => format!("status {status}"),
            None => "signal or out of time".to_owned(),
        };
        let words = run
            .stderr
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        crashes.push(format!("{}: {end}: {words}", args[0]));
        Ok(run)
    }
}

/// The statistics, or nothing counted if the run did not get so far: that is a crash already.
fn read_stats(file: &Path) -> Stats {
    let text = fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
