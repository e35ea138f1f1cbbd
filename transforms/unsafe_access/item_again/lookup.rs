//! The lookups of a function: where they look, and which variable has what they give.

use crate::ast::{ExprId, ExprKind, LocalId, Name, Tree};
use crate::rule::{ItemId, PackageCx};

use super::super::{Words, words};

/// Calls that give an item of their first argument, before and after it is made strong.
pub(super) const LOOKUPS: &[&str] = &[
    "PyList_GetItem",
    "PyList_GET_ITEM",
    "PyList_GetItemRef",
    "PySequence_Fast_GET_ITEM",
    "PyDict_GetItem",
    "PyDict_GetItemWithError",
    "PyDict_GetItemString",
    "PyDict_GetItemRef",
    "PyDict_GetItemStringRef",
];

/// Calls that only say whether there is one.
const QUESTIONS: &[&str] = &["PyDict_Contains", "PyDict_ContainsString"];

/// A call that gives an item.
pub(super) struct Lookup {
    pub call: ExprId,
    /// The first argument as written.
    pub container: Words,
    /// Container and key as written.
    pub words: Words,
    /// The variables that these name.
    pub named: Vec<LocalId>,
    /// The variable that gets the item, up to the token where it gets another value.
    pub held: Option<(LocalId, u32)>,
    /// Whether there may be no item at all, which is no error.
    pub is_in_dict: bool,
}

/// The lookups of a function in the order of the text.
pub(super) fn all(cx: &PackageCx<'_>, item: ItemId, tree: &Tree) -> Vec<Lookup> {
    let is_one = |name: &str| LOOKUPS.contains(&name) || QUESTIONS.contains(&name);
    let calls = tree.calls().filter(|(_, name)| is_one(name));
    let mut lookups: Vec<Lookup> = calls
        .filter_map(|(call, name)| {
            let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                return None;
            };
            let [container, key, rest @ ..] = args.as_slice() else {
                return None;
            };
            let range = |arg: &ExprId| tree.expr(*arg).range;
            let container = words(cx, item, range(container));
            let words = [&*container, &*words(cx, item, range(key))].concat();
            let inside = args[..2].iter().flat_map(|arg| tree.exprs_in(range(arg)));
            let named = inside.filter_map(|(_, expr)| match expr.kind {
                ExprKind::Name(Name::Local(local)) => Some(local),
                _ => None,
            });
            let target = match rest {
                [out] => tree.as_address(*out),
                _ => target(tree, call),
            };
            Some(Lookup {
                call,
                container,
                words,
                named: named.collect(),
                held: target.map(|local| (local, next_value(tree, local, call))),
                is_in_dict: name.starts_with("PyDict_"),
            })
        })
        .collect();
    lookups.sort_by_key(|it| tree.expr(it.call).range.start);
    lookups
}

/// The first argument of a call as written.
pub(super) fn container(
    cx: &PackageCx<'_>,
    item: ItemId,
    tree: &Tree,
    call: ExprId,
) -> Option<Words> {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return None;
    };
    Some(words(cx, item, tree.expr(*args.first()?).range))
}

/// The variable that a call's result is given to.
fn target(tree: &Tree, call: ExprId) -> Option<LocalId> {
    let mut stores = tree.stores();
    let found = stores.find(|&(_, value)| tree.without_casts(value) == call);
    found.map(|(local, _)| local)
}

/// The token behind `from` where a variable gets another value; the end if there is none.
fn next_value(tree: &Tree, local: LocalId, from: ExprId) -> u32 {
    let behind = tree.expr(from).range.end;
    let later = tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Assign { op: None, lhs, .. } if tree.as_local(*lhs) == Some(local) => {
            Some(expr.range.start)
        }
        ExprKind::Call { args, .. } => {
            let mut outs = args.iter().filter_map(|arg| tree.as_address(*arg));
            outs.any(|out| out == local).then_some(expr.range.start)
        }
        _ => None,
    });
    later.filter(|&at| at >= behind).min().unwrap_or(u32::MAX)
}
