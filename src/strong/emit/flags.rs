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
use crate::ast::{ExprId, ExprKind, Init, LocalDecl, LocalId, Name, StmtId, StmtKind, Storage};
use crate::source::ByteSpan;
use crate::strong::scene::{Parent, Scene};
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
                for removal in removed {
                    match removal {
                        Removal::Stmt(span) => {
                            let edit = self.scene.layout.remove(span);
                            self.fix.edits.push(edit);
                        }
                        Removal::Text(span) => self.replace(span, ""),
                    }
                }
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

enum Removal {
    Stmt(ByteSpan),
    Text(ByteSpan),
}

/// The statements that set `flag` to constants; `None` if anything but them and `gone` names it.
fn stores(scene: &Scene<'_>, flag: LocalId, gone: &[ExprId]) -> Option<Vec<Removal>> {
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
        found.push(Removal::Stmt(with_comment(scene, scene.stmt_span(stmt)?)));
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

/// What declares `flag`, if it is a number that is declared with a constant or nothing.
fn declaration(scene: &Scene<'_>, flag: LocalId) -> Option<Removal> {
    let variable = scene.tree.local(flag);
    let stmt = variable.decl?;
    let StmtKind::Decl(decls) = &scene.tree.stmt(stmt).kind else {
        return None;
    };
    let at = decls.iter().position(|decl| decl.local == flag)?;
    let is_plain = variable.storage == Storage::None && is_number(&variable.ty);
    let is_idle = match &decls[at].init {
        Some(Init::Expr(value)) => is_constant(scene, *value),
        Some(_) => false,
        None => true,
    };
    if !is_plain || !is_idle || scene.cfg.address_taken().contains(&flag) {
        return None;
    }
    let tokens = &scene.cx.item(scene.item).tokens;
    let text = |decl: &LocalDecl| tokens.file_span(decl.range).map(|(_, span)| span);
    let own = text(&decls[at])?;
    Some(match (at.checked_sub(1), decls.get(at + 1)) {
        (Some(before), _) => {
            Removal::Text(ByteSpan::new(text(&decls[before])?.end().0, own.end().0))
        }
        (None, Some(next)) => Removal::Text(ByteSpan::new(own.start().0, text(next)?.start().0)),
        (None, None) => Removal::Stmt(scene.stmt_span(stmt)?),
    })
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
