//! Rules about data that threads share without a lock: static variables and fields of objects.

mod at_init;
mod atomic;
mod branch;
mod fill;
mod guard;
pub mod lazy_cache;
mod object_acquire;
mod object_body;
pub mod object_state;
mod publish;
pub mod reentrant;
mod site;
pub mod static_buffer;
pub mod static_variable;

use std::collections::BTreeSet;

use crate::rule::{Finding, Note, Outcome, PackageCx, Rule};
use crate::state::{Variable, Write, root};

/// Most places that a finding shows.
const SHOWN: usize = 4;

/// The finding about `variable`, at its declaration, with the places that write it.
fn finding(
    cx: &PackageCx<'_>,
    rule: &'static Rule,
    variable: &Variable,
    message: String,
    outcome: Outcome,
) -> Finding {
    Finding {
        rule,
        file: variable.place.0,
        span: variable.place.1,
        function: variable
            .local
            .and_then(|_| cx.function(variable.item))
            .map(|function| function.name.clone()),
        api: None,
        message,
        notes: notes(cx, variable),
        outcome,
    }
}

/// The places that write `variable` after import; how many more there are.
fn notes(cx: &PackageCx<'_>, variable: &Variable) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for write in &variable.late {
        let Some(note) = note(cx, write) else {
            continue;
        };
        if !notes
            .iter()
            .any(|old| (old.file, old.span) == (note.file, note.span))
        {
            notes.push(note);
        }
    }
    let more = shorten(&mut notes, SHOWN);
    if let Some(last) = notes.last_mut().filter(|_| more > 0) {
        last.text.push_str(&match more {
            1 => ", and in 1 more place".to_owned(),
            _ => format!(", and in {more} more places"),
        });
    }
    notes
}

/// Leaves the first `most` notes, and the first in each file: a finding counts for the modules of
/// all its files. Returns how many went.
fn shorten(notes: &mut Vec<Note>, most: usize) -> usize {
    let all = notes.len();
    let mut files = BTreeSet::new();
    let mut at = 0;
    notes.retain(|note| {
        at += 1;
        files.insert(note.file) || at <= most
    });
    all - notes.len()
}

fn note(cx: &PackageCx<'_>, write: &Write) -> Option<Note> {
    let function = cx.function(write.item)?;
    let (file, span) = text_at(cx, write)?;
    Some(Note {
        file,
        span,
        text: format!("`{}` writes it here", function.name),
    })
}

fn text_at(
    cx: &PackageCx<'_>,
    write: &Write,
) -> Option<(crate::source::FileId, crate::source::ByteSpan)> {
    Some(cx.place(write.item, write.expr)?.written_at())
}

/// Whether a function other than those that write `variable` after import names it.
fn is_used_elsewhere(cx: &PackageCx<'_>, variable: &Variable) -> bool {
    use crate::ast::Name;
    if variable.local.is_some() {
        return false;
    }
    let writes_it = |item| {
        let mut all = variable.late.iter().chain(&variable.early);
        all.any(|write| write.item == item)
    };
    (0u32..).zip(&cx.program.items).any(|(at, _)| {
        let item = crate::rule::ItemId(at);
        let Some(function) = cx.function(item).filter(|_| !writes_it(item)) else {
            return false;
        };
        let tree = &function.tree;
        tree.expr_ids().any(|expr| {
            matches!(root(tree, expr), Some((Name::Global(name), _)) if **name == *variable.name)
        })
    })
}

#[cfg(test)]
mod tests;
