//! `goto`, `break`, `continue`, `return`, and the scopes they leave.

use crate::ast::{ExprId, ExprKind, Name, StmtId, UnaryOp};
use crate::cfg::{BlockId, Instr, InstrKind, Source, Terminator};

use super::Builder;
use super::scope::{ScopeId, ScopePoint};

/// Where `break` or `continue` leads.
pub(super) struct JumpTarget {
    block: BlockId,
    scope: Option<ScopeId>,
}

/// A label of the function.
pub(super) struct Label {
    block: BlockId,
    /// Known when the label was met.
    scope: Option<ScopeId>,
}

impl Label {
    pub(super) fn new(block: BlockId) -> Self {
        Self { block, scope: None }
    }
}

/// A `goto` whose left scopes are known only when its label was met.
pub(super) struct PendingGoto<'a> {
    label: &'a str,
    block: BlockId,
    from: ScopePoint,
    stmt: StmtId,
}

impl<'a> Builder<'a> {
    pub(super) fn label(&mut self, name: &str) {
        let label = self
            .labels
            .get_mut(name)
            .expect("all labels were collected at the start");
        label.scope = self.scopes.current();
        self.drafts.start(label.block);
    }

    pub(super) fn goto_stmt(&mut self, stmt: StmtId, name: &'a str) {
        let Some(label) = self.labels.get(name) else {
            self.drafts.end(Terminator::Unreachable);
            return;
        };
        let target = label.block;
        let block = self.drafts.here().block;
        self.gotos.push(PendingGoto {
            label: name,
            block,
            from: self.scopes.here(),
            stmt,
        });
        self.drafts.end(Terminator::Goto(target));
    }

    pub(super) fn end_scopes_of_gotos(&mut self) {
        for goto in &self.gotos {
            let locals = self.scopes.left(goto.from, self.labels[goto.label].scope);
            if !locals.is_empty() {
                let kind = InstrKind::ScopeEnd { locals };
                self.drafts.push_late(
                    goto.block,
                    Instr {
                        kind,
                        source: Source::Stmt(goto.stmt),
                    },
                );
            }
        }
    }

    /// `goto *e;` may lead to each label of which `&&label` stands anywhere in the function, also
    /// in a static table.
    pub(super) fn computed_goto(&mut self, target: ExprId) {
        self.effect(target);
        let operands = self.tree.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Unary {
                op: UnaryOp::LabelAddress,
                operand,
            } => Some(operand),
            _ => None,
        });
        let blocks = operands.filter_map(|operand| match &self.tree.expr(operand).kind {
            ExprKind::Name(Name::Global(name)) => Some(self.labels.get(&**name)?.block),
            _ => None,
        });
        let mut targets: Vec<BlockId> = blocks.collect();
        targets.sort_unstable();
        targets.dedup();
        self.drafts.end(Terminator::Indirect(targets));
    }

    pub(super) fn break_stmt(&mut self, stmt: StmtId) {
        if let Some(&JumpTarget { block, scope }) = self.break_targets.last() {
            self.end_scopes(scope, stmt);
            self.drafts.end(Terminator::Goto(block));
        }
    }

    pub(super) fn continue_stmt(&mut self, stmt: StmtId) {
        if let Some(&JumpTarget { block, scope }) = self.continue_targets.last() {
            self.end_scopes(scope, stmt);
            self.drafts.end(Terminator::Goto(block));
        }
    }

    pub(super) fn return_stmt(&mut self, stmt: StmtId, value: Option<ExprId>) {
        let value = value.map(|value| self.value(value));
        self.end_scopes(None, stmt);
        self.drafts.end(Terminator::Return(value, stmt));
    }

    /// Runs `body` with `break` leading to `exit`.
    pub(super) fn with_break(&mut self, exit: BlockId, body: impl FnOnce(&mut Self)) {
        self.break_targets.push(JumpTarget {
            block: exit,
            scope: self.scopes.current(),
        });
        body(self);
        self.break_targets.pop();
    }

    /// Lowers the body of a loop, with `break` leading to `exit` and `continue` to `next`.
    pub(super) fn loop_body(&mut self, body: StmtId, exit: BlockId, next: BlockId) {
        self.continue_targets.push(JumpTarget {
            block: next,
            scope: self.scopes.current(),
        });
        self.with_break(exit, |builder| builder.stmt(body));
        self.continue_targets.pop();
    }

    /// Ends what lives between here and `target`.
    fn end_scopes(&mut self, target: Option<ScopeId>, stmt: StmtId) {
        let locals = self.scopes.left(self.scopes.here(), target);
        if !locals.is_empty() {
            self.emit(Source::Stmt(stmt), InstrKind::ScopeEnd { locals });
        }
    }
}
