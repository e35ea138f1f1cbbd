//! What functions of the package may set, as their bodies show.

use super::held::frees;
use crate::ast::{ExprId, ExprKind, Name, Tree, UnaryOp};
use crate::capi;
use crate::strong::scene::Scene;

/// How deep functions of the package are looked into.
const MAX_DEPTH: usize = 3;

/// Whether the function `name` may set the field, or the variable of the package, that `place` is.
pub(super) fn may_set(scene: &Scene<'_>, name: &str, place: ExprId) -> bool {
    let is_it =
        |tree: &Tree, expr: ExprId| match (&scene.tree.expr(place).kind, &tree.expr(expr).kind) {
            (ExprKind::Member { field, .. }, ExprKind::Member { field: other, .. }) => {
                field == other
            }
            (ExprKind::Name(Name::Global(one)), ExprKind::Name(Name::Global(other))) => {
                one == other
            }
            _ => false,
        };
    sets(scene, name, &is_it, 0)
}

fn sets(
    scene: &Scene<'_>,
    name: &str,
    is_it: &impl Fn(&Tree, ExprId) -> bool,
    depth: usize,
) -> bool {
    let mut definitions = scene.cx.definitions(name).peekable();
    if definitions.peek().is_none() {
        let of_python = name.trim_start_matches('_').starts_with("Py");
        return !(capi::is_libc(name) || of_python || frees(name));
    }
    depth >= MAX_DEPTH
        || definitions.any(|(_, function)| {
            let tree = &function.tree;
            tree.expr_ids().any(|expr| {
                let is_set = tree.changed(expr).is_some_and(|set| is_it(tree, set));
                is_set
                    || match tree.expr(expr).kind {
                        ExprKind::Unary {
                            op: UnaryOp::AddressOf,
                            operand,
                        } => is_it(tree, operand),
                        ExprKind::Call { callee, .. } => match tree.callee_name(callee) {
                            Some(name) => sets(scene, name, is_it, depth + 1),
                            None => true,
                        },
                        _ => false,
                    }
            })
        })
}
