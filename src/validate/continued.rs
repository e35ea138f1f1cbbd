//! Nothing comes between a block and a macro that continues it, where the macro is not seen.
//!
//! ```c
//! fz_try(context) {
//!     use(item);
//! }
//! Py_DECREF(item);                              /* does not compile, or ends the block */
//! fz_catch(context) {
//!     return NULL;
//! }
//! ```

use std::collections::BTreeMap;

use super::Failure;
use super::proof::{Failed, is_inserted, original_span};
use crate::ast::{Function, StmtId, StmtKind};
use crate::edit::Applied;
use crate::program::{Program, ProgramItem};
use crate::source::{FileId, FileSet};

/// Functions of `result` in which a statement came in front of such a macro.
pub(super) fn failures(result: &Program<'_>, applied: &BTreeMap<FileId, Applied>) -> Vec<Failed> {
    let failures = result.functions().filter_map(|(item, function)| {
        let (file, place) = item.place;
        let applied = applied.get(&file)?;
        let heads = Heads {
            item,
            files: result.files,
            function,
        };
        let stmts = function.tree.stmts.iter();
        let mut blocks = stmts.filter_map(|stmt| match &stmt.kind {
            StmtKind::Block(stmts) => Some(&stmts[..]),
            _ => None,
        });
        let name = blocks.find_map(|stmts| heads.parted(stmts, applied))?;
        Some(Failed {
            file,
            original: vec![original_span(applied, place)],
            result: place,
            failure: Failure::Wrong(format!(
                "in `{}`, the macro `{name}`, whose definition was not found, may belong to the \
                 block before it (like `else`)",
                function.name
            )),
        })
    });
    failures.collect()
}

struct Heads<'a> {
    item: &'a ProgramItem,
    files: &'a FileSet,
    function: &'a Function,
}

impl Heads<'_> {
    /// The macro with a block that may continue another one's, and has something new in front of it.
    fn parted(&self, stmts: &[StmtId], applied: &Applied) -> Option<String> {
        let mut before: Option<String> = None;
        let mut is_parted = false;
        for &stmt in stmts {
            let start = self.function.tree.stmt(stmt).range.start;
            if is_inserted(self.item, applied, start) {
                is_parted = true;
                continue;
            }
            let head = self.macro_of(stmt);
            if is_parted && head.is_some() && before.is_some() && head != before {
                return head;
            }
            (before, is_parted) = (head, false);
        }
        None
    }

    /// The macro that heads a block, other than one whose name says that it is a loop.
    fn macro_of(&self, stmt: StmtId) -> Option<String> {
        let stmt = self.function.tree.stmt(stmt);
        let word = self.item.tokens.text(self.files, stmt.range.start);
        let word = String::from_utf8_lossy(word).into_owned();
        let lower = word.to_ascii_lowercase();
        let is_loop = ["for", "while", "each", "loop"]
            .iter()
            .any(|name| lower.contains(name));
        (matches!(stmt.kind, StmtKind::While { .. }) && !is_loop).then_some(word)
    }
}
