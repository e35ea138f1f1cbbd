//! What a new exit at a lookup does, beside all other ways out from there.

use super::exit::jumps_to;
use super::label_of;
use crate::ast::{ExprId, LocalId, Parent, StmtKind};
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;

/// An exit at a lookup.
pub(super) struct WayOut<'s, 'a> {
    pub(super) scene: &'s Scene<'a>,
    pub(super) lookup: ExprId,
    /// Gets its result.
    pub(super) local: Option<LocalId>,
    pub(super) at: Point,
    pub(super) lines: &'s [String],
}

impl WayOut<'_, '_> {
    /// Whether the exit makes none of `calls`, of which all other ways make one, or ask whether to.
    pub(super) fn leaves_out(&self, calls: impl Iterator<Item = ExprId>) -> bool {
        let calls: Vec<ExprId> = calls.collect();
        let scene = self.scene;
        let made = calls.iter().filter_map(|&call| self.asked_at(call));
        let made: Vec<Point> = made.collect();
        let mut returns = scene.cfg.returns();
        !made.is_empty()
            && !calls.iter().any(|&call| self.makes(call))
            && !returns.any(|end| reaches(scene.cfg, self.at.next(), end, &made))
    }

    /// Whether an expression names the variable with the result of the lookup.
    pub(super) fn speaks_of_result(&self, expr: ExprId) -> bool {
        let tree = self.scene.tree;
        let mut inner = tree.exprs_in(tree.expr(expr).range);
        inner.any(|(id, _)| self.local.is_some() && tree.as_local(id) == self.local)
    }

    /// Whether the exit makes a call with the first argument of `call`, itself or at its label, or
    /// sets a place to the same.
    fn makes(&self, call: ExprId) -> bool {
        let scene = self.scene;
        let begin = scene.call(call).map_or_else(
            || words(scene, call),
            |(name, args)| {
                let first = args.first().map(|&arg| words(scene, arg));
                format!("{name}({}", first.unwrap_or_default())
            },
        );
        let makes = |line: &String| {
            let line: String = line.split_whitespace().collect();
            line.match_indices(&begin).any(|(at, _)| {
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                !line[..at].ends_with(is_name) && !line[at + begin.len()..].starts_with(is_name)
            })
        };
        let label =
            jumps_to(self.lines).and_then(|label| scene.cfg.before(label_of(scene, label)?));
        let is_behind = |label| {
            let point = self.point_of(call);
            point.is_some_and(|point| reaches(scene.cfg, label, point, &[]))
        };
        self.lines.iter().any(makes) || label.is_some_and(is_behind)
    }

    fn point_of(&self, expr: ExprId) -> Option<Point> {
        let cfg = self.scene.cfg;
        cfg.call(expr).or_else(|| cfg.store(expr))
    }

    /// Where the function comes by `call`, or asks whether to make it:
    /// `if (old != NULL && put_back(old) < 0)`.
    fn asked_at(&self, call: ExprId) -> Option<Point> {
        let scene = self.scene;
        let within = scene.tree.expr(self.lookup).range;
        let mut point = self.point_of(call)?;
        let mut stmt = scene.stmt_of(call)?;
        while !scene.tree.stmt(stmt).range.contains(within) {
            match scene.tree.stmt(stmt).kind {
                StmtKind::Block(_) => {}
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let is_cond = scene
                        .tree
                        .expr(cond)
                        .range
                        .contains(scene.tree.expr(call).range);
                    let leaves = |branch| scene.tree.leaves(branch);
                    let leaves = leaves(then) || otherwise.is_some_and(leaves);
                    if !is_cond && (leaves || self.speaks_of_result(cond)) {
                        break;
                    }
                    point = scene.cfg.before(stmt)?;
                }
                _ => point = scene.cfg.before(stmt)?,
            }
            match scene.parent_of_stmt(stmt) {
                Some(Parent::Stmt(outer)) => stmt = outer,
                _ => break,
            }
        }
        Some(point)
    }
}

/// The text of an expression without blanks.
pub(super) fn words(scene: &Scene<'_>, expr: ExprId) -> String {
    let text = scene.span(expr).map(|span| scene.text(span));
    text.unwrap_or_default().split_whitespace().collect()
}
