//! `ungil pr`: a pull request in a folder. Nothing is sent.

mod declared;
mod project;

use std::ffi::OsStr;
use std::path::Path;

use anyhow::bail;

use super::Status;
use super::args::PrArgs;
use super::folder::{NewFile, check_empty, check_own, put_all};
use super::git;
use super::interrupt::Interrupt;
use super::plan::Plan;
use super::session::{Ledger, Session};
use super::talk::{Talk, counted, write_results};
use crate::diff::DEFAULT_CONTEXT;
use crate::pr::{Material, Step, ci, description, steps};
use crate::series::Letter;
use project::Project;

/// The description.
const DESCRIPTION: &str = "pull-request.md";

pub(super) fn run(args: &PrArgs, talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<Status> {
    check(args)?;
    let mut analysis = args.analysis.clone();
    // A pull request without them would be half of one.
    analysis.options.build_files = true;
    let session = Session::counting(&analysis, Ledger::Full, talk)?;
    let plan = Plan::of(session, &analysis, talk)?;
    let (files, count) = files(&plan, args, talk)?;
    if count == 0 {
        talk.info("No fix applies, so there is nothing to propose; `ungil check` lists findings");
    } else {
        let _held = interrupt.hold();
        put_all(&files, &args.output_dir)?;
        let paths = files.iter().map(|file| args.output_dir.join(&file.name));
        let paths: String = paths.map(|path| format!("{}\n", path.display())).collect();
        write_results(paths.as_bytes())?;
        talk.info(&format!(
            "{} for {}; apply with `git am` in {}. Nothing was sent",
            counted(count, "patch", "patches"),
            counted(plan.applied(), "fix", "fixes"),
            plan.session.package.root.display()
        ));
    }
    plan.tell_of_errors(talk);
    plan.rest().tell(talk);
    plan.session.report_coverage(talk);
    if plan.session.settings.strict && plan.session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(Status::Clean)
}

/// Refuses what cannot be written before the long work begins.
fn check(args: &PrArgs) -> anyhow::Result<()> {
    if let Some(author) = &args.author
        && !is_author(author)
    {
        bail!("`{author}` does not name an author: write `Name <address>`");
    }
    match args.force {
        true => check_own(&args.output_dir, is_own),
        false => check_empty(
            &args.output_dir,
            ": choose another folder, or replace an earlier series with `--force`",
        ),
    }
}

/// `Name <address>`, in one line.
fn is_author(text: &str) -> bool {
    let address = text
        .strip_suffix('>')
        .and_then(|text| text.split_once(" <"));
    let has_both = |(name, address): (&str, &str)| {
        !name.trim().is_empty() && address.contains('@') && !address.contains(['<', '>', ' '])
    };
    address.is_some_and(has_both) && !text.contains(char::is_control)
}

/// Whether an earlier run may have written a file of this name.
fn is_own(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_patch = name.ends_with(".patch")
        && name.split('-').next().is_some_and(|number| {
            number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    let is_script = name.starts_with("stress_") && name.ends_with(".py");
    is_patch || is_script || name == DESCRIPTION
}

/// The files of the pull request, and how many of them are patches.
fn files(plan: &Plan, args: &PrArgs, talk: &Talk) -> anyhow::Result<(Vec<NewFile>, usize)> {
    let (package, analysis) = (&plan.session.package, &plan.session.analysis);
    let roots = &plan.session.roots;
    let project = Project::read(&plan.session, &args.output_dir, talk)?;
    let (ci, new_files) = (ci(package), plan.new_files());
    let revised = declared::revised(plan, talk);
    let parts = declared::with(plan.parts(), &revised);
    let material = Material {
        package,
        project: roots
            .project
            .strip_prefix(roots.base())
            .unwrap_or(&roots.project),
        analysis,
        parts: &parts,
        new_files: &new_files,
        tests: &project.tests,
        ci: &ci,
        changelog: project.changelog.as_ref(),
        compat: &plan.about_older_pythons(),
        by_hand: &project.by_hand(&ci),
    };
    let steps = steps(material);
    let author = match &args.author {
        Some(author) => author.clone(),
        None => git::author(&package.root),
    };
    let letter = |(number, step): (usize, &Step<'_>)| NewFile {
        name: step.file_name(number),
        bytes: step.letter(
            package,
            Letter {
                author: &author,
                number: (number, steps.len()),
                context: DEFAULT_CONTEXT,
            },
        ),
    };
    let mut files: Vec<NewFile> = (1..).zip(&steps).map(letter).collect();
    let text = description(material, &steps);
    files.push(file(DESCRIPTION, text));
    let scripts = project.scripts.into_iter();
    files.extend(scripts.map(|(name, text)| file(&name, text)));
    Ok((files, steps.len()))
}

fn file(name: impl AsRef<Path>, text: String) -> NewFile {
    NewFile {
        name: name.as_ref().to_string_lossy().into_owned(),
        bytes: text.into_bytes(),
    }
}
