//! Rules about macros and fields that look past the API: stores without a lock, fields of
//! objects, counts as proofs, lists of weak references.

pub mod count_test;
pub mod item_again;
pub mod list_store;
mod moved_items;
pub mod object_field;
pub mod size_again;
pub mod weak_list;

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Function, TokenRange, Tree};
use crate::rule::{Finding, ItemId, Note, PackageCx};
use crate::source::{ByteSpan, FileId};

/// Where an expression is told of: its text, or the `#define` whose body made it. `None` if the
/// macro stands in for the API itself (`Py_TYPE` for old Pythons) or is not in the package.
fn told_at(cx: &PackageCx<'_>, item: ItemId, expr: ExprId) -> Option<(FileId, ByteSpan)> {
    let last = cx.tree(item)?.expr(expr).range.end.checked_sub(1)?;
    let tokens = &cx.item(item).tokens;
    let token = tokens.tokens.get(last as usize)?;
    let made_by = token.expansion.filter(|_| !token.from_argument);
    if let Some(expansion) = made_by.and_then(|id| tokens.expansions.get(id.0 as usize)) {
        let is_api = expansion.name.trim_start_matches('_').starts_with("Py");
        return expansion.definition.filter(|_| !is_api);
    }
    Some(cx.place(item, expr)?.written_at())
}

/// Whether a function of the package is the API function of a newer Python for older ones:
/// `static inline void _Py_SET_TYPE(PyObject *ob, PyTypeObject *type)`. Its body is what the macros
/// stand for; to use them there would never end.
fn stands_for_api(function: &str) -> bool {
    function.trim_start_matches('_').starts_with("Py") || function.contains("Py_SET_")
}

/// Whether the expression is asserted: it decides nothing.
fn is_asserted(tree: &Tree, expr: ExprId) -> bool {
    let inner = tree.expr(expr).range;
    tree.exprs.iter().any(|outer| match &outer.kind {
        ExprKind::Call { callee, .. } => {
            let name = tree.callee_name(*callee).unwrap_or_default();
            name.to_ascii_lowercase().contains("assert") && outer.range.contains(inner)
        }
        _ => false,
    })
}

/// Tokens as written.
type Words = Vec<Vec<u8>>;

fn words(cx: &PackageCx<'_>, item: ItemId, range: TokenRange) -> Words {
    let tokens = &cx.item(item).tokens;
    let words = range.start..range.end;
    words
        .map(|at| tokens.text(cx.program.files, at).to_vec())
        .collect()
}

/// The functions in which something calls one of `names`.
fn callers<'a>(cx: &PackageCx<'a>, names: &[&str]) -> Vec<(ItemId, &'a Function)> {
    let sites = names.iter().flat_map(|name| cx.calls_to(name));
    let items: BTreeSet<ItemId> = sites.map(|site| site.item).collect();
    let items = items.into_iter();
    items
        .filter_map(|item| Some((item, cx.function(item)?)))
        .collect()
}

/// A note at the text of an expression, or where the macro is used that makes it.
fn note_at(cx: &PackageCx<'_>, item: ItemId, expr: ExprId, text: &str) -> Option<Note> {
    let (file, span) = cx.place(item, expr)?.written_at();
    let text = text.to_owned();
    Some(Note { file, span, text })
}

/// Sorts the findings by place, but for those in text that only builds with the GIL compile;
/// variants for other configurations, and uses of one macro, say the
/// same again.
fn settle(cx: &PackageCx<'_>, mut found: Vec<Finding>, findings: &mut Vec<Finding>) {
    found.retain(|finding| !cx.program.needs_gil(finding.file, finding.span.start()));
    found.sort_by(|a, b| (a.file, a.span, &a.message).cmp(&(b.file, b.span, &b.message)));
    found.dedup_by(|b, a| (a.file, a.span) == (b.file, b.span));
    findings.append(&mut found);
}

#[cfg(test)]
mod tests;
