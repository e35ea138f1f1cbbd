//! What the statements of a function's own block do, to compare the first half of a function with
//! what it was.

use super::Halves;
use crate::ast::{
    ExprId, ExprKind, Function, Init, LocalId, Stmt, StmtId, StmtKind, TokenRange, Tree,
};
use crate::capi::{self, Absent, Form, OldErrors, REPLACEMENTS};
use crate::program::ProgramItem;
use crate::source::FileSet;
use crate::validate::wrapper::local;

/// One step of a function's own block: what is assigned to, and the text.
pub(super) struct Step<'t> {
    pub(super) stmt: StmtId,
    pub(super) target: Option<&'t str>,
    pub(super) value: Option<ExprId>,
    pub(super) words: Vec<&'t [u8]>,
}

impl Halves<'_> {
    /// Whether a step of the first half looks up what one of the function did; `is_kept` if what it
    /// raises gives way to the exception of before.
    pub(super) fn is_same_lookup(
        &self,
        before: &Step<'_>,
        after: &Step<'_>,
        is_kept: bool,
    ) -> bool {
        let (Some(value), Some(target)) = (before.value, before.target) else {
            return false;
        };
        let tree = &self.split.old.tree;
        let Some((call, row)) =
            called(tree, value).and_then(|(call, name)| Some((call, row_of(name)?)))
        else {
            return false;
        };
        let text = words(self.split.old_item, self.old_files, tree.expr(call).range);
        let strong = row.strong.as_bytes();
        let args = &text[1..text.len() - 1];
        let is_reported = row.errors == OldErrors::Swallowed;
        let out = [&[strong], args, &[b",", b"&", target.as_bytes(), b")"]].concat();
        let expected: Vec<&[u8]> = match row.form {
            Form::Return if is_kept => return false,
            Form::Return => {
                let renamed =
                    before
                        .words
                        .iter()
                        .map(|word| match *word == row.borrowed.as_bytes() {
                            true => strong,
                            false => word,
                        });
                renamed.collect()
            }
            Form::Out { .. } if is_reported => {
                let report: [&[u8]; 9] = [
                    b"<",
                    b"0",
                    b")",
                    b"{",
                    b"PyErr_WriteUnraisable",
                    b"(",
                    b"NULL",
                    b")",
                    b";",
                ];
                let braced = [&[b"if".as_slice(), b"("], &out[..], &report, &[b"}"]].concat();
                let bare = braced.iter().filter(|word| !matches!(**word, b"{" | b"}"));
                if bare.copied().eq(after.words.iter().copied()) {
                    return true;
                }
                braced
            }
            Form::Out { .. } => {
                let discarded: [&[u8]; 3] = [b"(", b"void", b")"];
                let is_discarded = after.words.starts_with(&discarded);
                let before: &[&[u8]] = if is_discarded { &discarded } else { &[] };
                [before, &out[..], &[b";"]].concat()
            }
        };
        expected == after.words
    }
}

/// What statements do, with declarations as the assignments that they make.
pub(super) fn steps<'t>(
    function: &'t Function,
    item: &'t ProgramItem,
    files: &'t FileSet,
    stmts: &[StmtId],
) -> Vec<Step<'t>> {
    let tree = &function.tree;
    let name = |local: LocalId| Some(&*tree.local(local).name);
    let mut steps = Vec::new();
    for &stmt in stmts {
        let Stmt { kind, range } = tree.stmt(stmt);
        let mut add = |target, value, words| {
            steps.push(Step {
                stmt,
                target,
                value,
                words,
            });
        };
        match kind {
            StmtKind::Decl(decls) => {
                for decl in decls.iter().filter(|decl| decl.init.is_some()) {
                    let value = match decl.init {
                        Some(Init::Expr(value)) => Some(value),
                        _ => None,
                    };
                    let mut words = words(item, files, decl.range);
                    let stars = words.iter().take_while(|word| **word == b"*").count();
                    words.drain(..stars);
                    words.push(b";");
                    add(name(decl.local), value, words);
                }
            }
            StmtKind::Expr(expr) => {
                let (target, value) = match tree.expr(*expr).kind {
                    ExprKind::Assign { op: None, lhs, rhs } => {
                        (local(tree, lhs).and_then(name), Some(rhs))
                    }
                    _ => (None, None),
                };
                add(target, value, words(item, files, *range));
            }
            _ => add(None, None, words(item, files, *range)),
        }
    }
    steps
}

pub(in crate::validate) fn words<'t>(
    item: &'t ProgramItem,
    files: &'t FileSet,
    range: TokenRange,
) -> Vec<&'t [u8]> {
    let tokens = range.start..range.end;
    tokens.map(|at| item.tokens.text(files, at)).collect()
}

/// The call that a value is, under casts or not.
pub(super) fn called(tree: &Tree, value: ExprId) -> Option<(ExprId, &str)> {
    let call = tree.without_casts(value);
    match tree.expr(call).kind {
        ExprKind::Call { callee, .. } => Some((call, tree.callee_name(callee)?)),
        _ => None,
    }
}

pub(super) fn row_of(name: &str) -> Option<&'static capi::Replacement> {
    let mut rows = REPLACEMENTS.iter();
    rows.find(|row| row.borrowed == name && row.absent != Absent::None)
}
