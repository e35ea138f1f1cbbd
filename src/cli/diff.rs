//! `ungil diff`: what `migrate` would write, as a patch, a series, or a picture for people.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::Status;
use super::args::{DiffArgs, DiffFormat};
use super::folder::{NewFile, check_empty, put_all};
use super::git::author;
use super::interrupt::Interrupt;
use super::pager::page;
use super::paint;
use super::plan::Plan;
use super::talk::{Talk, counted};
use crate::diff::{patch, side_by_side, stat};
use crate::series::{Letter, Patch, Split, message, series};

/// Columns where there is no terminal to ask.
const WIDTH: usize = 80;

pub(super) fn run(args: &DiffArgs, talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<Status> {
    if let Some(folder) = &args.output_dir {
        check_empty(folder, "")?;
    }
    let plan = Plan::make(&args.analysis, talk)?;
    match &args.output_dir {
        Some(folder) => {
            let written = {
                let _held = interrupt.hold();
                write_series(&plan, args, folder)?
            };
            page(written.as_bytes(), false, interrupt)?;
        }
        None => page(&shown(&plan, args, talk), !args.no_pager, interrupt)?,
    }
    plan.summarize(talk);
    plan.session.report_coverage(talk);
    if plan.session.settings.strict && plan.session.has_coverage_gap() {
        return Ok(Status::CoverageGap);
    }
    Ok(if plan.changes.is_empty() {
        Status::Clean
    } else {
        Status::Findings
    })
}

/// What goes to the standard output.
fn shown(plan: &Plan, args: &DiffArgs, talk: &Talk) -> Vec<u8> {
    let changes = plan.list();
    let styled = talk.styles_results();
    if args.stat {
        return stat(&changes, width()).into_bytes();
    }
    if args.side_by_side {
        let rows = side_by_side(&changes, args.context, width());
        return paint::sides(&rows, styled).into_bytes();
    }
    let bytes = match split(args) {
        None => patch(&changes, args.context),
        Some(split) => files(plan, args, split)
            .into_iter()
            .flat_map(|file| file.bytes)
            .collect(),
    };
    match styled {
        true => paint::diff(&bytes),
        false => bytes,
    }
}

/// A letter has a subject of its own, so there is one for each rule unless the user says more.
fn split(args: &DiffArgs) -> Option<Split> {
    let default = (args.format == DiffFormat::Mbox).then_some(Split::Rule);
    args.split_by.or(default)
}

fn files(plan: &Plan, args: &DiffArgs, split: Split) -> Vec<NewFile> {
    let package = &plan.session.package;
    let parts = plan.parts();
    let new_files = plan.new_files();
    let patches = series(package, &parts, &new_files, split);
    let author = match args.format {
        DiffFormat::Mbox => author(&package.root),
        DiffFormat::Patch => String::new(),
    };
    let count = patches.len();
    let file = |(number, change): (usize, &Patch<'_>)| NewFile {
        name: format!("{number:04}-{}.patch", change.slug),
        bytes: match args.format {
            DiffFormat::Patch => plain(plan, change, (number, count), args.context),
            DiffFormat::Mbox => {
                let letter = Letter {
                    author: &author,
                    number: (number, count),
                    context: args.context,
                };
                message(package, change, letter)
            }
        },
    };
    (1..).zip(&patches).map(file).collect()
}

/// The patch after a line that `git apply` and `patch` skip.
fn plain(plan: &Plan, change: &Patch<'_>, number: (usize, usize), context: usize) -> Vec<u8> {
    let fixes = counted(change.parts.len(), "finding", "findings");
    let head = format!("# {}/{}: {}: {fixes}\n", number.0, number.1, change.subject);
    let changes = change.changes(&plan.session.package);
    [head.into_bytes(), patch(&changes, context)].concat()
}

/// Writes all patches or none; returns their paths, a line each.
fn write_series(plan: &Plan, args: &DiffArgs, folder: &Path) -> anyhow::Result<String> {
    let Some(split) = split(args) else {
        bail!("`--output-dir` needs `--split-by` or `--format mbox`");
    };
    let files = files(plan, args, split);
    put_all(&files, folder)?;
    let paths = files.iter().map(|file| folder.join(&file.name));
    Ok(paths
        .map(|path: PathBuf| format!("{}\n", path.display()))
        .collect())
}

/// Columns of the terminal.
fn width() -> usize {
    let asked = env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let terminal = || {
        crossterm::terminal::size()
            .ok()
            .map(|(columns, _)| columns.into())
    };
    asked.or_else(terminal).unwrap_or(WIDTH)
}
