//! Statements that undo something: what a failure exit does beside references and memory of its
//! own variables.

use super::held::frees;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, Parent, StmtId, StmtKind, UnaryOp};
use crate::capi::{self, words_of};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// `close(fd);`, `self->busy = 0;`, `PyMem_Free(self->items);`
#[derive(Debug, Clone)]
pub(in crate::strong) struct Undone {
    pub stmt: StmtId,
    /// Variables of the function whose contents it gives back, and arrays of which it gives
    /// elements back.
    pub locals: Vec<LocalId>,
    /// Places outside of the function's variables that it gives back or sets.
    pub places: Vec<ExprId>,
    /// Whether it sets a place to 0.
    pub resets: bool,
    /// Whether it is a call that gives back what its argument holds.
    pub frees: bool,
    /// The function that begins what it ends, if their names alone say so: `UNPROTECT(1)`.
    pub begun_by: Option<String>,
}

/// What `stmt` undoes, if it is a statement of that kind.
pub(in crate::strong) fn undone(scene: &Scene<'_>, stmt: StmtId) -> Option<Undone> {
    let StmtKind::Expr(expr) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    let mut undone = Undone {
        stmt,
        locals: Vec::new(),
        places: Vec::new(),
        resets: false,
        frees: false,
        begun_by: None,
    };
    if let Some(place) = scene.tree.changed(expr) {
        undone
            .places
            .extend(is_outside(scene, place).then_some(place));
        undone.resets = resets(scene, expr);
        return (!undone.places.is_empty()).then_some(undone);
    }
    let (name, args) = scene.call(expr)?;
    if capi::never_returns(name) {
        return None;
    }
    let releases = matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR") || frees(name);
    for &arg in args {
        let arg = pointed(scene, arg);
        let element = element_of(scene, arg).filter(|_| releases);
        match scene.as_local(arg) {
            None if element.is_some() => undone.locals.extend(element),
            Some(local) if scene.tree.local(local).is_param => {}
            Some(local) => undone.locals.push(local),
            None if is_outside(scene, arg) => undone.places.push(arg),
            None => {}
        }
    }
    // `free(buffer)`: such variables are followed.
    let is_followed = args.first().is_some_and(|&arg| {
        let local = scene.as_local(pointed(scene, arg));
        local.is_some_and(|local| {
            !is_number(&scene.tree.local(local).ty) && !is_stepped(scene, stmt, local)
        })
    });
    undone.frees = releases;
    let has_argument = !undone.locals.is_empty() || !undone.places.is_empty();
    let is_plain = |&arg: &ExprId| matches!(scene.tree.expr(arg).kind, ExprKind::Int(_));
    if !has_argument && args.iter().all(is_plain) {
        undone.begun_by = begun_by(scene, name);
    }
    let undoes = match releases {
        _ if undone.begun_by.is_some() => true,
        true => has_argument && !is_followed,
        // What takes more does more than to end something.
        false => args.len() <= 2 && !name.starts_with("Py") && ends(name),
    };
    undoes.then_some(undone)
}

/// Whether `stmt` stands in a loop that steps the pointer `local` through an array:
/// `for (; view >= views; view--) PyBuffer_Release(view);`.
fn is_stepped(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> bool {
    let mut at = scene.parent_of_stmt(stmt);
    while let Some(Parent::Stmt(outer)) = at {
        let outer_stmt = scene.tree.stmt(outer);
        let is_loop = outer_stmt.kind.is_loop();
        let mut inner = scene.tree.expr_ids().filter(|&id| {
            let range = scene.tree.expr(id).range;
            outer_stmt.range.start <= range.start && range.end <= outer_stmt.range.end
        });
        if is_loop && inner.any(|id| steps(scene, id, local)) {
            return true;
        }
        at = scene.parent_of_stmt(outer);
    }
    false
}

/// Whether an expression counts the pointer `local` on or back.
fn steps(scene: &Scene<'_>, expr: ExprId, local: LocalId) -> bool {
    let is_count = match scene.tree.expr(expr).kind {
        ExprKind::Unary { .. } => true,
        ExprKind::Assign { op, .. } => op.is_some(),
        _ => false,
    };
    is_count
        && scene
            .tree
            .changed(expr)
            .is_some_and(|place| scene.as_local(place) == Some(local))
}

/// Whether an expression sets a place to 0, or counts down what it counted up.
fn resets(scene: &Scene<'_>, expr: ExprId) -> bool {
    match scene.tree.expr(expr).kind {
        ExprKind::Assign { op: None, rhs, .. } => scene.is_null(rhs) || is_false(scene, rhs),
        ExprKind::Assign { op, .. } => op == Some(BinaryOp::Minus),
        ExprKind::Unary { op, .. } => {
            matches!(op, UnaryOp::PreDecrement | UnaryOp::PostDecrement)
        }
        _ => false,
    }
}

/// Whether a place lies outside of the function's variables.
pub(super) fn is_outside(scene: &Scene<'_>, place: ExprId) -> bool {
    match scene.tree.expr(place).kind {
        ExprKind::Name(Name::Local(_)) => false,
        ExprKind::Name(Name::Global(ref name)) => is_variable(name),
        ExprKind::Member { arrow: true, .. } => true,
        ExprKind::Unary {
            op: UnaryOp::Deref, ..
        } => true,
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => is_outside(scene, base),
        _ => false,
    }
}

/// Whether a name from outside of the function may be a variable of the package: constants are in
/// capitals, and `Py_None` is none.
pub(super) fn is_variable(name: &str) -> bool {
    !name.starts_with("Py") && name.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_false(scene: &Scene<'_>, value: ExprId) -> bool {
    matches!(&scene.tree.expr(value).kind, ExprKind::Name(Name::Global(name))
        if matches!(&**name, "false" | "FALSE" | "False"))
}

/// The variable `texts` of `texts[i]`, where loops fill and release the elements.
pub(in crate::strong) fn element_of(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    match scene.tree.expr(place).kind {
        ExprKind::Index { base, index } => {
            let is_fixed = matches!(scene.tree.expr(index).kind, ExprKind::Int(_));
            scene.as_local(base).filter(|_| !is_fixed)
        }
        _ => None,
    }
}

/// `arg` without casts and `&`.
pub(in crate::strong) fn pointed(scene: &Scene<'_>, arg: ExprId) -> ExprId {
    match scene.tree.expr(arg).kind {
        ExprKind::Cast { operand, .. }
        | ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => pointed(scene, operand),
        _ => arg,
    }
}

/// Whether the name is that of a function which ends what another began.
pub(super) fn ends(name: &str) -> bool {
    const WORDS: [&str; 23] = [
        "end", "finish", "finalize", "fini", "deinit", "leave", "exit", "unlock", "rollback",
        "abort", "restore", "reset", "pop", "stop", "delete", "del", "cleanup", "dispose", "term",
        "detach", "unmap", "unref", "unlink",
    ];
    words_of(name).any(|word| WORDS.contains(&&*word))
}

/// The function called here whose name is that of `name` without its `un`: `PROTECT`, `Pool_Lock`.
pub(super) fn begun_by(scene: &Scene<'_>, name: &str) -> Option<String> {
    let calls = scene.tree.expr_ids().filter_map(|expr| scene.call(expr));
    let mut names = calls.map(|(name, _)| name);
    names
        .find(|begin| capi::is_un(name, begin))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_ends_something() {
        for name in [
            "sqlite3_finalize",
            "XML_StopParser",
            "endScan",
            "stream_deinit",
        ] {
            assert!(ends(name), "{name}");
        }
        for name in ["append", "extend", "send_reply", "popcount", "model_of"] {
            assert!(!ends(name), "{name}");
        }
    }
}
