//! Writing what is accepted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::desk::{Desk, counted};
use crate::cli::Status;
use crate::cli::args::ReviewArgs;
use crate::cli::changes::{Changes, guard};
use crate::cli::interrupt::Interrupt;
use crate::cli::store::Writes;
use crate::cli::talk::Talk;
use crate::cli::verify::after_write;
use crate::cli::write::WriteError;
use crate::edit::{EditSet, Fix, FixId, OffsetMap, apply};
use crate::review::{Group, slashed};

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Written {
        fixes: usize,
        /// Where bytes went, by path of the written file.
        maps: BTreeMap<String, OffsetMap>,
        /// Where older Pythons get what the fixes use of newer ones.
        notes: Vec<String>,
    },
    /// A file is not what was analysed.
    Changed,
    /// Nothing was written, and why.
    Refused(String),
    /// Verification failed, and why; the files are as they were.
    TakenBack(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written { fixes, maps, notes } => {
                let files = maps.len();
                let files_word = if files == 1 { "file" } else { "files" };
                write!(f, "{} written to {files} {files_word}", counted(*fixes))?;
                notes.iter().try_for_each(|note| write!(f, "\n{note}"))
            }
            Self::Changed => f.write_str(
                "nothing was written, because files have changed since they were analysed; review \
                 the changes, then write again",
            ),
            Self::Refused(why) => write!(f, "nothing was written: {why}"),
            Self::TakenBack(why) => {
                write!(f, "verification failed, and all changes were undone: {why}")
            }
        }
    }
}

impl Outcome {
    /// How a run ends with it.
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Written { .. } => Status::Clean,
            Self::Changed | Self::Refused(_) => Status::Refused,
            Self::TakenBack(_) => Status::TakenBack,
        }
    }
}

/// Writes all accepted fixes, or none.
///
/// # Errors
/// If a journal cannot be written, or the disk fails.
pub(super) fn accepted(
    desk: &mut Desk<'_>,
    args: &ReviewArgs,
    writes: &Writes,
    talk: &Talk,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    let (accepted, edits) = match merged(desk) {
        Ok(merged) => merged,
        Err(refusal) => return Ok(Outcome::Refused(refusal)),
    };
    let fixes = accepted.iter().map(|(_, fix)| &**fix);
    let changes = Changes::new(desk.run, &edits, fixes.clone());
    let notes = changes.about_older_pythons(desk.run, fixes);
    let changes = changes.list(desk.run);
    let foreign = writes.foreign(&changes)?;
    if let Err(refusal) = guard(desk.run, args.guard, &foreign) {
        return Ok(Outcome::Refused(refusal.to_string()));
    }
    let package = &desk.run.package;
    let _held = interrupt.hold();
    if let Err(error) = writes.write(&package.root, &changes, interrupt) {
        return match error.downcast_ref() {
            Some(WriteError::Changed(_)) => Ok(Outcome::Changed),
            Some(_) => Ok(Outcome::Refused(error.to_string())),
            None => Err(error),
        };
    }
    if let Some(why) = after_write(&args.analysis, &args.verify, writes, talk, interrupt)? {
        return Ok(Outcome::TakenBack(why));
    }
    let fixes = accepted.len();
    let map = |id| {
        let file = package.files.get(id);
        (
            slashed(file.path()),
            apply(file.bytes(), edits.edits(id)).map,
        )
    };
    let maps = edits.files().map(map).collect();
    let record = desk.session.written();
    desk.keep(&[record])?;
    Ok(Outcome::Written { fixes, maps, notes })
}

/// A fix with what it changes, as the person may have edited it.
type Accepted<'d, 'a> = (&'d Group<'a>, Cow<'a, Fix>);

/// The accepted fixes and all their edits; or why they cannot be written together.
fn merged<'d, 'a>(desk: &'d Desk<'a>) -> Result<(Vec<Accepted<'d, 'a>>, EditSet), String> {
    let groups = desk.session.groups();
    let accepted = desk.session.accepted();
    let mut accepted: Vec<Accepted<'d, 'a>> = accepted
        .map(|at| (&groups[at], desk.session.fix(at)))
        .collect();
    // Insertions at one place stand in the run order of rules, as `migrate` has them.
    accepted.sort_by_key(|(group, _)| group.order);
    let fixes = accepted
        .iter()
        .map(|(group, fix)| (FixId(group.order), &**fix));
    let (edits, conflicts) = EditSet::merge(fixes);
    let Some(conflict) = conflicts.first() else {
        return Ok((accepted, edits));
    };
    let id = |fix: FixId| {
        let group = accepted.iter().find(|(group, _)| group.order == fix.0);
        group
            .map(|(group, _)| group.id.to_string())
            .unwrap_or_default()
    };
    let (kept, rejected) = (id(conflict.kept), id(conflict.rejected));
    Err(format!(
        "{rejected} and {kept} change the same text in different ways; reject one of them"
    ))
}
