//! Exits of functions without a result.

use super::Exits;
use super::branch::{is_failure, stmts};
use super::failing::REPORT;
use super::handled::leaves_exception;
use super::reported::notes_failure;
use crate::ast::{StmtId, StmtKind};
use crate::strong::pending::asked::{Asking, asking};
use crate::strong::scene::Scene;

impl Exits<'_, '_> {
    /// An exit of a function that has no way to tell its caller, or tells it by an exception alone;
    /// `None` where only some callers ask for one, or the function notes its failures elsewhere.
    pub(in crate::strong) fn stop(&self) -> Option<Vec<String>> {
        let scene = self.scene;
        let mut lines = self.undo()?;
        let point = scene.cfg.call(self.call)?;
        let asking = match leaves_exception(scene) {
            true => Asking::All,
            false if notes_failure(scene, point) => Asking::Some,
            false => asking(scene.cx, scene.function),
        };
        match asking {
            Asking::All => {}
            Asking::Some => return None,
            Asking::Nobody => lines.push(REPORT.to_owned()),
        }
        lines.push("return;".to_owned());
        (!self.loses(&lines)).then_some(lines)
    }

    /// An exit of a function without a result that leaves its exceptions to its caller.
    pub(in crate::strong) fn empty(&self) -> Option<Vec<String>> {
        let scene = self.scene;
        let leaves = |stmt: StmtId| match scene.tree.stmt(stmt).kind {
            StmtKind::If { cond, then, .. } => {
                is_failure(scene, stmt, cond) && only_returns(scene, then)
            }
            _ => false,
        };
        let hands_on = leaves_exception(scene) || stmts(scene).any(leaves);
        let mut lines = self.undo().filter(|_| hands_on)?;
        lines.push("return;".to_owned());
        (!self.loses(&lines)).then_some(lines)
    }
}

/// Whether a branch does nothing but `return;`.
fn only_returns(scene: &Scene<'_>, branch: StmtId) -> bool {
    match &scene.tree.stmt(branch).kind {
        StmtKind::Return(None) => true,
        StmtKind::Block(stmts) => matches!(stmts[..], [only] if only_returns(scene, only)),
        _ => false,
    }
}
