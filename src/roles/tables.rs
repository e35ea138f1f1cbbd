//! What the lines of tables say.

use super::layout::{SPEC, members};
use crate::ast::{Designator, ExprId, ExprKind, Init, InitEntry, InitList, Name, Tree, UnaryOp};

/// The function, or the table, that a value names, through casts and `&`.
#[must_use]
pub fn named(tree: &Tree, value: ExprId) -> Option<&str> {
    match &tree.expr(value).kind {
        ExprKind::Cast { operand, .. }
        | ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => named(tree, *operand),
        // `_PyCFunction_CAST(f)`, `_Py_CAST(PyCFunction, f)` and what else casts are called.
        ExprKind::Call { args, .. } => named(tree, *args.last()?),
        _ => name(tree, value),
    }
}

/// The name that a value is.
#[must_use]
pub fn name(tree: &Tree, value: ExprId) -> Option<&str> {
    match &tree.expr(value).kind {
        ExprKind::Name(Name::Global(name)) => Some(name),
        _ => None,
    }
}

/// The names in `A | B`.
pub(super) fn names(tree: &Tree, value: ExprId) -> Vec<&str> {
    match &tree.expr(value).kind {
        ExprKind::Binary { lhs, rhs, .. } => {
            let mut found = names(tree, *lhs);
            found.extend(names(tree, *rhs));
            found
        }
        ExprKind::Cast { operand, .. } => names(tree, *operand),
        _ => name(tree, value).into_iter().collect(),
    }
}

/// The values of a table of the type `type_name`, or of one line of it, by their members; `None` if
/// that is no table which Python reads.
pub fn values<'t>(
    tree: &Tree,
    type_name: &str,
    row: &'t InitList,
) -> Option<Vec<(&'t str, ExprId)>> {
    let has_size = type_name == "PyTypeObject";
    let is_left_out =
        |(at, entry): &(usize, &InitEntry)| *at == 1 && has_size && is_size(tree, &entry.value);
    let entries = row.entries.iter().enumerate();
    let entries = entries
        .filter(|it| !is_left_out(it))
        .map(|(_, entry)| entry);
    Some(by_member(members(type_name)?, entries))
}

/// The values of a `PyType_Spec` by their members.
#[must_use]
pub fn spec_values(row: &InitList) -> Vec<(&str, ExprId)> {
    by_member(SPEC, row.entries.iter())
}

fn by_member<'t>(
    members: &[&'static str],
    entries: impl Iterator<Item = &'t InitEntry>,
) -> Vec<(&'t str, ExprId)> {
    let mut next = 0;
    let mut values = Vec::new();
    for entry in entries {
        let name = match entry.designators.as_slice() {
            [Designator::Field(name)] => name.as_str(),
            [] => members.get(next).copied().unwrap_or_default(),
            _ => continue,
        };
        let at = members.iter().position(|member| *member == name);
        next = at.map_or(next, |at| at + 1);
        if let Init::Expr(value) = entry.value {
            values.push((name, value));
        }
    }
    values
}

/// The `0` of `PyObject_HEAD_INIT(NULL) 0, "name", …`, which stands where the name of a type would.
fn is_size(tree: &Tree, value: &Init) -> bool {
    matches!(value, Init::Expr(value) if matches!(tree.expr(*value).kind, ExprKind::Int(_)))
}
