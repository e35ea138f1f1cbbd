//! Takes out flags that nothing asks for any more.
//!
//! ```c
//! int is_new = 0;
//! if (v == NULL) {                if (v == NULL) {
//!     v = PyList_New(0);              v = PyList_New(0);
//!     is_new = 1;                 }
//! }
//! if (is_new)                     Py_DECREF(v);
//!     Py_DECREF(v);
//! ```

use super::Draft;
use super::declarations::undeclare;
use crate::ast::{ExprId, ExprKind, LocalId, Name, Parent, StmtId, StmtKind, Storage};
use crate::edit::Edit;
use crate::source::ByteSpan;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

impl Draft<'_, '_> {
    /// Takes out the variables that only the conditions `gone` asked for, which were taken out.
    pub(in crate::strong) fn remove_flags(&mut self, gone: &[ExprId]) {
        let flags = gone.iter().filter_map(|&cond| self.scene.as_local(cond));
        let mut flags: Vec<LocalId> = flags.collect();
        flags.sort_unstable();
        flags.dedup();
        for flag in flags {
            if is_named_elsewhere(self.scene, flag) {
                continue;
            }
            let Some(mut removed) = stores(self.scene, flag, gone) else {
                continue;
            };
            removed.extend(declaration(self.scene, flag));
            // Without its declaration nothing may set it.
            if removed.len() > 1 {
                self.fix.edits.extend(removed);
            }
        }
    }
}

/// Whether the text of the function names `flag` where this configuration does not: in another
/// branch of an `#if`, or in a macro.
fn is_named_elsewhere(scene: &Scene<'_>, flag: LocalId) -> bool {
    let name = scene.name(flag);
    let text = scene.text(scene.cx.item(scene.item).place.1);
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let named = words.filter(|word| *word == name).count();
    let is_use =
        |kind: &ExprKind| matches!(kind, ExprKind::Name(Name::Local(local)) if *local == flag);
    let exprs = scene.tree.exprs.iter();
    let used = exprs.filter(|expr| is_use(&expr.kind)).count();
    named != used + 1
}

/// Takes out the statements that set `flag` to constants; `None` if anything but them and `gone`
/// names it.
fn stores(scene: &Scene<'_>, flag: LocalId, gone: &[ExprId]) -> Option<Vec<Edit>> {
    let mut found = Vec::new();
    for (at, expr) in (0u32..).zip(&scene.tree.exprs) {
        let id = ExprId(at);
        if !matches!(expr.kind, ExprKind::Name(Name::Local(local)) if local == flag)
            || gone.contains(&id)
        {
            continue;
        }
        let Some(Parent::Expr(store)) = scene.parent_of_expr(id) else {
            return None;
        };
        let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(store).kind else {
            return None;
        };
        let Some(Parent::Stmt(stmt)) = scene.parent_of_expr(store) else {
            return None;
        };
        let is_stmt = matches!(scene.tree.stmt(stmt).kind, StmtKind::Expr(_));
        if lhs != id || !is_constant(scene, rhs) || !is_stmt || !is_one_of_more(scene, stmt) {
            return None;
        }
        let span = with_comment(scene, scene.stmt_span(stmt)?);
        found.push(scene.layout.remove(span));
    }
    Some(found)
}

/// The statement with the comment behind it, which is about nothing else.
fn with_comment(scene: &Scene<'_>, span: ByteSpan) -> ByteSpan {
    let behind = scene.layout.comment_behind(span.end());
    behind.map_or(span, |behind| span.join(behind))
}

fn is_one_of_more(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let siblings = scene.siblings(stmt);
    siblings.is_some_and(|(stmts, _)| stmts.len() > 1)
}

/// Takes out what declares `flag`, if it is a number that is declared with a constant or nothing.
fn declaration(scene: &Scene<'_>, flag: LocalId) -> Option<Edit> {
    let variable = scene.tree.local(flag);
    let is_plain = variable.storage == Storage::None && is_number(&variable.ty);
    if !is_plain || scene.cfg.address_taken().contains(&flag) {
        return None;
    }
    undeclare(scene, flag, |value| is_constant(scene, value))
}

fn is_constant(scene: &Scene<'_>, value: ExprId) -> bool {
    match scene.tree.expr(value).kind {
        ExprKind::Int(_) => true,
        ExprKind::Name(Name::Global(ref name)) => {
            matches!(&**name, "true" | "false" | "TRUE" | "FALSE")
        }
        _ => false,
    }
}
