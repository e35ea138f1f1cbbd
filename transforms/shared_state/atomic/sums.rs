//! Uses that only a lock keeps together: what is tested and then set, and what is set to something
//! that was computed from it.

use std::collections::BTreeSet;

use super::uses::{How, Use, Uses};
use crate::ast::{ExprId, Function, LocalId, StmtKind, TokenRange, Tree};
use crate::program::ItemId;
use crate::rule::PackageCx;

/// Another thread may change it after the test.
pub(super) const TESTED: &str = "it is tested and then changed";

/// What another thread sets meanwhile is lost.
pub(super) const COMPUTED: &str = "it is set to a value that is computed from it";

/// Whether no function needs the variable to stay as it is from a use to the next.
pub(super) fn check(cx: &PackageCx<'_>, uses: &Uses) -> Result<(), &'static str> {
    let items: BTreeSet<ItemId> = uses.all.iter().map(|it| it.item).collect();
    for item in items {
        let Some(function) = cx.function(item) else {
            continue;
        };
        let own: Vec<&Use> = uses.all.iter().filter(|it| it.item == item).collect();
        of_function(function, &own)?;
    }
    Ok(())
}

fn of_function(function: &Function, uses: &[&Use]) -> Result<(), &'static str> {
    let tree = &function.tree;
    let reads: Vec<ExprId> = uses
        .iter()
        .filter(|it| matches!(it.how, How::Read))
        .map(|it| it.name)
        .collect();
    let copies = copies(tree, &reads);
    for it in uses {
        let whole = tree.expr(it.whole).range;
        if !matches!(it.how, How::Read) && is_tested(function, &reads, whole) {
            return Err(TESTED);
        }
        if let How::Store(value) = it.how
            && holds_any(tree, tree.expr(value).range, &copies)
        {
            return Err(COMPUTED);
        }
    }
    Ok(())
}

/// The local variables that hold what was computed from it.
fn copies(tree: &Tree, reads: &[ExprId]) -> BTreeSet<LocalId> {
    let mut copies = BTreeSet::new();
    loop {
        let known = copies.len();
        for (local, value) in tree.stores() {
            let range = tree.expr(value).range;
            let is_read = reads
                .iter()
                .any(|&read| range.contains(tree.expr(read).range));
            if is_read || holds_any(tree, range, &copies) {
                copies.insert(local);
            }
        }
        if copies.len() == known {
            return copies;
        }
    }
}

fn holds_any(tree: &Tree, range: TokenRange, locals: &BTreeSet<LocalId>) -> bool {
    let mut parts = tree.exprs_in(range);
    parts.any(|(part, _)| tree.as_local(part).is_some_and(|it| locals.contains(&it)))
}

/// Whether a test that reads it decides whether one of the `setters` is called:
///
/// ```c
/// if (!ready)
///     prepare();
/// ```
pub(super) fn tests_for_setter(
    cx: &PackageCx<'_>,
    uses: &[&Use],
    setters: &BTreeSet<ItemId>,
) -> bool {
    let names: BTreeSet<&str> = setters
        .iter()
        .filter_map(|&item| Some(cx.function(item)?.name.as_str()))
        .collect();
    let reads = uses.iter().filter(|it| matches!(it.how, How::Read));
    reads.into_iter().any(|it| {
        let Some(function) = cx.function(it.item) else {
            return false;
        };
        let tree = &function.tree;
        let mut calls = tree.calls().filter(|(_, name)| names.contains(name));
        calls.any(|(call, _)| is_tested(function, &[it.name], tree.expr(call).range))
    })
}

/// Whether a test or loop around `whole` reads it.
fn is_tested(function: &Function, reads: &[ExprId], whole: TokenRange) -> bool {
    let tree = &function.tree;
    tree.stmts.iter().any(|stmt| {
        let condition = match &stmt.kind {
            StmtKind::If { cond, .. }
            | StmtKind::While { cond, .. }
            | StmtKind::DoWhile { cond, .. }
            | StmtKind::For {
                cond: Some(cond), ..
            }
            | StmtKind::Switch { value: cond, .. } => tree.expr(*cond).range,
            _ => return false,
        };
        let reads_it = || {
            let mut reads = reads.iter();
            reads.any(|&read| condition.contains(tree.expr(read).range))
        };
        stmt.range.contains(whole) && !condition.contains(whole) && reads_it()
    })
}
