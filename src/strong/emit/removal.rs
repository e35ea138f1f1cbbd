//! Takes statements out, with what was there for them alone.
//!
//! ```c
//! if (v != NULL)              if (v == NULL)      /* turned round */
//!     Py_INCREF(v);               v = missing();
//! else
//!     v = missing();
//! ```

use std::collections::BTreeSet;

use super::Draft;
use super::inside::with_parentheses;
use crate::ast::{BinaryOp, ExprId, ExprKind, Parent, StmtId, StmtKind, UnaryOp};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::comments::claims::says_more;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

impl Draft<'_, '_> {
    /// Takes the statements `call;` out. `name` is the variable, for messages.
    ///
    /// # Errors
    /// A call is part of something that stays.
    pub(in crate::strong) fn remove(
        &mut self,
        calls: &BTreeSet<ExprId>,
        name: &str,
    ) -> Result<(), Reason> {
        let no_place = || Reason::NoPlace(name.to_owned());
        let mut gone = BTreeSet::new();
        for &call in calls {
            let is_stmt = |stmt| matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Expr(_));
            match self.scene.parent_of_expr(call) {
                Some(Parent::Stmt(stmt)) if is_stmt(stmt) => gone.insert(stmt),
                _ => return Err(no_place()),
            };
        }
        let whole: BTreeSet<StmtId> = gone
            .iter()
            .map(|&stmt| self.outermost(stmt, &gone))
            .collect();
        let scene = self.scene;
        let conditions = whole
            .iter()
            .filter_map(|&stmt| match scene.tree.stmt(stmt).kind {
                StmtKind::If { cond, .. } => Some(cond),
                _ => None,
            });
        self.remove_flags(&conditions.collect::<Vec<ExprId>>());
        for &stmt in &whole {
            if self.around.contains_key(&stmt) && self.scene.siblings(stmt).is_none() {
                return Err(no_place());
            }
            if self.take_branch(stmt, &whole).is_some() {
                continue;
            }
            // A comment stays, and so do the braces around it.
            let inner = self.scene.inner_stmts(stmt).into_iter();
            let inner: Vec<StmtId> = inner.filter(|inner| gone.contains(inner)).collect();
            match self.is_half_of_if(stmt) {
                true if inner.is_empty() => {
                    let span = self.scene.stmt_span(stmt).ok_or_else(no_place)?;
                    self.replace(span, "{ }");
                }
                true => inner
                    .into_iter()
                    .try_for_each(|stmt| self.remove_stmt(stmt, name))?,
                false => self.remove_stmt(stmt, name)?,
            }
        }
        Ok(())
    }

    fn remove_stmt(&mut self, stmt: StmtId, name: &str) -> Result<(), Reason> {
        let span = self.scene.stmt_span(stmt);
        let span = span.ok_or_else(|| Reason::NoPlace(name.to_owned()))?;
        let mut edit = self.scene.layout.remove(self.with_comments(span));
        // `Py_INCREF(a); Py_INCREF(b);` on one line: both take the gap between them.
        while let Some(other) = self.removal_beside(edit.span) {
            let start = edit.span.start().min(other.start());
            let end = edit.span.end().max(other.end());
            edit = self.scene.layout.remove(ByteSpan::new(start.0, end.0));
        }
        self.fix.edits.push(edit);
        Ok(())
    }

    /// Takes the edit that takes out some of the text at `span` back.
    fn removal_beside(&mut self, span: ByteSpan) -> Option<ByteSpan> {
        let edits = &mut self.fix.edits;
        let at = edits.iter().position(|edit| {
            let is_beside = edit.span.start() < span.end() && span.start() < edit.span.end();
            is_beside && edit.text.is_empty()
        })?;
        Some(edits.remove(at).span)
    }

    /// The largest statement around `stmt` of which nothing is left.
    fn outermost(&self, mut stmt: StmtId, gone: &BTreeSet<StmtId>) -> StmtId {
        while let Some(Parent::Stmt(outer)) = self.scene.parent_of_stmt(stmt)
            && !self.gets_text_inside(outer)
            && self.is_branch(outer)
            && is_gone(self.scene, outer, gone)
        {
            stmt = outer;
        }
        stmt
    }

    /// An `if`, or the block that is one of its branches.
    fn is_branch(&self, stmt: StmtId) -> bool {
        let is_if = |stmt: StmtId| matches!(self.scene.tree.stmt(stmt).kind, StmtKind::If { .. });
        is_if(stmt)
            || matches!(self.scene.parent_of_stmt(stmt), Some(Parent::Stmt(outer)) if is_if(outer))
    }

    /// Whether `stmt` is one of the two branches of an `if`.
    fn is_half_of_if(&self, stmt: StmtId) -> bool {
        matches!(self.scene.parent_of_stmt(stmt), Some(Parent::Stmt(outer))
            if matches!(self.scene.tree.stmt(outer).kind,
                StmtKind::If { then, otherwise: Some(otherwise), .. }
                    if then == stmt || otherwise == stmt))
    }

    fn gets_text_inside(&self, stmt: StmtId) -> bool {
        let inner = self.scene.inner_stmts(stmt);
        inner.iter().any(|inner| self.around.contains_key(inner))
    }

    /// Takes `stmt` out if it is one of two branches of an `if`, of which the other may be among
    /// `whole`; `None` if that cannot be written.
    fn take_branch(&mut self, stmt: StmtId, whole: &BTreeSet<StmtId>) -> Option<()> {
        let Some(Parent::Stmt(outer)) = self.scene.parent_of_stmt(stmt) else {
            return None;
        };
        let StmtKind::If {
            cond,
            then,
            otherwise: Some(otherwise),
        } = self.scene.tree.stmt(outer).kind
        else {
            return None;
        };
        let [kept, span] = [then, otherwise].map(|stmt| self.scene.stmt_span(stmt));
        let (kept, span) = (kept?, span?);
        if stmt == then && self.scene.is_else_if(otherwise) {
            return self
                .join_else_if(outer, cond, otherwise)
                .or_else(|| self.turn_chain(cond, then, otherwise));
        }
        let removed = if stmt == otherwise {
            ByteSpan::new(kept.end().0, span.end().0)
        } else if whole.contains(&otherwise) {
            return None;
        } else {
            self.up_to_else(then, otherwise)?
        };
        let text = self.scene.text(removed);
        let gets_inside = self.gets_text_inside(stmt) || self.around.contains_key(&stmt);
        if text.contains('#') || says_more(&text) || gets_inside {
            return None;
        }
        if self.around.contains_key(&then) {
            return self.take_line_of_else(removed);
        }
        if stmt == then {
            let span = self.scene.span(cond)?;
            let negated = self.negated(cond)?;
            self.replace(span, negated);
        }
        self.replace(removed, "");
        Some(())
    }

    /// The first branch of an `if` and the `else` behind it.
    fn up_to_else(&self, then: StmtId, otherwise: StmtId) -> Option<ByteSpan> {
        let layout = &self.scene.layout;
        let [first, second] = [then, otherwise].map(|stmt| self.scene.stmt_span(stmt));
        let start = layout.token_end_before(first?.start());
        let end = layout.token_end_before(second?.start());
        Some(ByteSpan::new(start.0, end.0))
    }

    /// `if (v) … else if (c) a; else if (d) b;` turns into `if (!v) { if (c) a; else if (d) b; }`.
    fn turn_chain(&mut self, cond: ExprId, then: StmtId, chain: StmtId) -> Option<()> {
        let removed = self.up_to_else(then, chain)?;
        let has_note = self.scene.has_note(removed);
        let is_free = is_idle(self.scene, cond) && !self.around.contains_key(&then);
        if has_note || !is_free || self.gets_text_inside(then) {
            return None;
        }
        let span = self.scene.span(cond)?;
        let negated = self.negated(cond)?;
        self.replace(span, negated);
        self.replace(removed, "");
        self.needs_braces(chain);
        Some(())
    }

    /// Takes the end of `removed`, from an `else` that begins its line: the text in front of it gets
    /// a brace there.
    fn take_line_of_else(&mut self, removed: ByteSpan) -> Option<()> {
        let text = self.scene.text(removed);
        let from = text.trim_start();
        let offset = u32::try_from(text.len() - from.len()).expect("files are below 4 GiB");
        let keyword = ByteOffset(removed.start().0 + offset);
        let layout = &self.scene.layout;
        if !from.starts_with("else") || !layout.begins_line(keyword) {
            return None;
        }
        let edit = layout.remove(ByteSpan::new(keyword.0, removed.end().0));
        self.fix.edits.push(edit);
        Some(())
    }

    /// `if (v) … else if (c) a; else b;` turns into `if (!v && c) a; else if (!v) b;`.
    fn join_else_if(&mut self, outer: StmtId, cond: ExprId, inner: StmtId) -> Option<()> {
        let StmtKind::If {
            cond: second,
            otherwise,
            ..
        } = self.scene.tree.stmt(inner).kind
        else {
            return None;
        };
        let (first, last) = (self.scene.span(cond)?, self.scene.span(second)?);
        let between = ByteSpan::new(first.end().0, last.start().0);
        let is_chain = otherwise.is_some_and(|other| self.scene.is_else_if(other));
        let has_note = self.scene.has_note(between);
        if is_chain || has_note || self.gets_text_inside(outer) || !is_idle(self.scene, cond) {
            return None;
        }
        let negated = self.negated(cond)?;
        let text = self.scene.text(last);
        let binds = matches!(
            self.scene.tree.expr(second).kind,
            ExprKind::Name(_) | ExprKind::Call { .. } | ExprKind::Unary { .. }
        );
        let text = if binds { text } else { format!("({text})") };
        if let Some(other) = otherwise {
            let keyword = self.scene.stmt_span(other)?.start();
            let end = self.scene.layout.token_end_before(keyword);
            self.insert(end, format!(" if ({negated})"));
        }
        let whole = ByteSpan::new(first.start().0, last.end().0);
        self.replace(whole, format!("{negated} && {text}"));
        Some(())
    }

    /// The opposite of a condition.
    pub(super) fn negated(&self, cond: ExprId) -> Option<String> {
        // (flags & 4) == 0
        let text = |expr| {
            let span = self.scene.span(expr)?;
            Some(self.text(with_parentheses(self.scene, span)))
        };
        // `!(x < 0)` holds for what is no number, and `x >= 0` does not.
        let are_whole = |lhs, rhs| [lhs, rhs].into_iter().all(|it| is_whole(self.scene, it));
        let swapped = |op, lhs, rhs| match op {
            BinaryOp::Equals => Some("!="),
            BinaryOp::NotEquals => Some("=="),
            BinaryOp::Less if are_whole(lhs, rhs) => Some(">="),
            BinaryOp::LessOrEqual if are_whole(lhs, rhs) => Some(">"),
            BinaryOp::Greater if are_whole(lhs, rhs) => Some("<="),
            BinaryOp::GreaterOrEqual if are_whole(lhs, rhs) => Some("<"),
            _ => None,
        };
        Some(match self.scene.tree.expr(cond).kind {
            ExprKind::Name(_) | ExprKind::Member { .. } | ExprKind::Call { .. } => {
                format!("!{}", text(cond)?)
            }
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => text(operand)?,
            ExprKind::Binary { op, lhs, rhs } if swapped(op, lhs, rhs).is_some() => {
                let op = swapped(op, lhs, rhs)?;
                format!("{} {op} {}", text(lhs)?, text(rhs)?)
            }
            _ => format!("!({})", self.text(self.scene.span(cond)?)),
        })
    }
}

/// Whether an expression is an integer, as it stands there: a literal, or a variable of a type that
/// is one by its name.
fn is_whole(scene: &Scene<'_>, expr: ExprId) -> bool {
    const TYPES: [&str; 6] = ["int", "long", "unsigned", "size_t", "ssize_t", "Py_ssize_t"];
    let is_type = |local| {
        let name = scene.tree.local(local).ty.name();
        name.is_some_and(|name| TYPES.contains(&name))
    };
    match scene.tree.expr(expr).kind {
        ExprKind::Int(_) => true,
        _ => scene.as_local(expr).is_some_and(is_type),
    }
}

/// Whether nothing of `stmt` is left without `gone`.
fn is_gone(scene: &Scene<'_>, stmt: StmtId, gone: &BTreeSet<StmtId>) -> bool {
    match &scene.tree.stmt(stmt).kind {
        StmtKind::Expr(_) => gone.contains(&stmt),
        StmtKind::Block(stmts) => {
            !stmts.is_empty() && stmts.iter().all(|&inner| is_gone(scene, inner, gone))
        }
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            is_gone(scene, *then, gone)
                && otherwise.is_none_or(|stmt| is_gone(scene, stmt, gone))
                && is_idle(scene, *cond)
        }
        _ => false,
    }
}

/// Whether the expression does nothing but give a value.
fn is_idle(scene: &Scene<'_>, expr: ExprId) -> bool {
    match scene.tree.expr(expr).kind {
        ExprKind::Name(_) | ExprKind::Int(_) => true,
        ExprKind::Unary { op, operand } => {
            matches!(op, UnaryOp::Not | UnaryOp::Minus | UnaryOp::Deref) && is_idle(scene, operand)
        }
        ExprKind::Binary { lhs, rhs, .. } => is_idle(scene, lhs) && is_idle(scene, rhs),
        ExprKind::Member { base, .. } => is_idle(scene, base),
        ExprKind::Cast { operand, .. } => is_idle(scene, operand),
        _ => false,
    }
}
