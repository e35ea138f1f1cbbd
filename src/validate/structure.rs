//! What the edits leave alone stays under the tests and loops it was under.
//!
//! ```c
//! if (v == NULL) {                    if (v == NULL) {
//!     v = make();                         v = make();
//! } else {                            } else
//!     Py_INCREF(v);
//! }
//! Py_XDECREF(self->last);             Py_XDECREF(self->last);    /* now in the else */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, original_span};
use crate::ast::{Function, StmtId, StmtKind, Tree, Visitor, walk_stmt};
use crate::edit::Applied;
use crate::preprocess::Spelling;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// The tests, loops and `switch`es around a statement by their starts, outermost first.
type Around = Vec<ByteOffset>;

/// The statements of functions by their starts, with what is around them in each configuration.
type Statements = BTreeMap<ByteOffset, BTreeSet<Around>>;

/// Statements of `result` that come under another test or loop than in the original.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let mut failures = Vec::new();
    for (item, function) in result.functions() {
        let (file, place) = item.place;
        let Some(applied) = applied.get(&file) else {
            continue;
        };
        let span = original_span(applied, place);
        let after = statements(item, function);
        let Some((start, around)) = moved(&originals(original, file, span), &after, applied) else {
            continue;
        };
        let line = original.program.files.get(file).position(start).line.0;
        let from = around.last().copied().unwrap_or(span.start()).min(start);
        failures.push(Failed {
            file,
            original: vec![ByteSpan::new(from.0, start.0 + 1), span],
            result: place,
            failure: Failure::Wrong(format!(
                "in `{}`, the statement at line {line} moves into or out of a test or loop",
                function.name
            )),
        });
    }
    failures
}

/// The statements of the original functions within `span`.
fn originals(original: &Original<'_>, file: FileId, span: ByteSpan) -> Statements {
    let mut all = Statements::new();
    for (item, function) in original.functions_within(file, span) {
        for (start, around) in statements(item, function) {
            all.entry(start).or_default().extend(around);
        }
    }
    all
}

/// The first statement that moved, in offsets of the original, with what is around it now.
fn moved(
    before: &Statements,
    after: &Statements,
    applied: &Applied,
) -> Option<(ByteOffset, Around)> {
    let old = |at: &ByteOffset| applied.map.to_original(*at);
    // A test that an edit writes or removes is seen by those who follow references and sections.
    let stays = |at: &&ByteOffset| applied.map.to_new(**at).is_some();
    after.iter().find_map(|(start, now)| {
        let start = old(start)?;
        let kept = |around: &Around| around.iter().filter(stays).copied().collect::<Around>();
        let known: BTreeSet<Around> = before.get(&start)?.iter().map(kept).collect();
        let mut now = now
            .iter()
            .map(|around| around.iter().filter_map(old).collect::<Around>());
        let moved = now.find(|around| !known.contains(around))?;
        Some((start, moved))
    })
}

fn statements(item: &ProgramItem, function: &Function) -> Statements {
    let mut collect = Collect {
        item,
        around: Around::new(),
        found: Statements::new(),
    };
    collect.visit_stmt(&function.tree, function.body);
    collect.found
}

struct Collect<'a> {
    item: &'a ProgramItem,
    around: Around,
    found: Statements,
}

impl Collect<'_> {
    /// Where the statement starts in the text of the function, or the use of the macro that makes
    /// it.
    fn start(&self, tree: &Tree, id: StmtId) -> Option<ByteOffset> {
        let tokens = &self.item.tokens;
        let first = tokens.tokens.get(tree.stmt(id).range.start as usize)?;
        let (file, function) = self.item.place;
        let in_function = |at: &(FileId, ByteSpan)| at.0 == file && function.contains(at.1);
        let spelled = match first.spelling {
            Spelling::File(file, span) => Some((file, span)),
            Spelling::Synthetic(_) => None,
        };
        let used = || first.expansion.map(|id| tokens.root(id).call);
        let at = spelled
            .filter(in_function)
            .or_else(|| used().filter(in_function));
        at.map(|(_, span)| span.start())
    }
}

impl Visitor for Collect<'_> {
    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        let governs = match tree.stmt(id).kind {
            StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
            | StmtKind::For { .. }
            | StmtKind::Switch { .. } => true,
            StmtKind::Block(_) => return walk_stmt(self, tree, id),
            // That of `FAIL("no item");` comes into the braces of the `if` in front of it.
            StmtKind::Null => return,
            _ => false,
        };
        let Some(start) = self.start(tree, id) else {
            return walk_stmt(self, tree, id);
        };
        let around = self.around.clone();
        self.found.entry(start).or_default().insert(around);
        let depth = self.around.len();
        self.around.extend(governs.then_some(start));
        walk_stmt(self, tree, id);
        self.around.truncate(depth);
    }
}
