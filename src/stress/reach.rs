//! What a function reaches.

use std::collections::BTreeSet;

use super::tables::Found;
use crate::ast::{ExprKind, Name};
use crate::source::FileId;

/// The names of all functions that `function` reaches by calls, of those whose addresses these take,
/// and of the variables that they use; its own included.
pub(super) fn reach(found: &Found<'_>, unit: FileId, function: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::from([function.to_owned()]);
    let mut open = vec![(unit, function.to_owned())];
    while let Some((unit, name)) = open.pop() {
        for (id, function) in found.variants(unit, &name) {
            // A variable of a function is found by its own name.
            let locals = function.tree.locals.iter().filter(|it| !it.is_param);
            reached.extend(locals.map(|it| it.name.clone()));
            for expr in &function.tree.exprs {
                if let ExprKind::Name(Name::Global(name)) = &expr.kind
                    && reached.insert(name.to_string())
                {
                    open.push((found.item(id).unit, name.to_string()));
                }
            }
        }
    }
    reached
}
