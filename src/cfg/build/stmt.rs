//! Statements.

use crate::ast::{ExprId, LocalDecl, LocalId, StmtId, StmtKind, TypeKind};
use crate::cfg::{Base, InstrKind, Op, Operand, Place, Source};

use super::Builder;

impl<'a> Builder<'a> {
    pub(super) fn stmt(&mut self, id: StmtId) {
        let (inner, labelled) = self.labels_of(id);
        self.enter(inner);
        self.unlabelled(inner);
        self.left_out(inner);
        self.leave(inner);
        for outer in labelled {
            self.leave(outer);
        }
    }

    /// The variables that a macro leaves out count as read: other builds define it otherwise.
    fn left_out(&mut self, stmt: StmtId) {
        let tree = self.tree;
        let first = tree.left_out.partition_point(|(of, _)| *of < stmt);
        let left_out = tree.left_out[first..].iter();
        for &(_, local) in left_out.take_while(|(of, _)| *of == stmt) {
            if !self.drafts.is_open() {
                return;
            }
            let (value, dst) = (self.temp(), self.temp());
            let place = Place::whole(Base::Local(local));
            let load = InstrKind::Load { dst: value, place };
            let operands = vec![Operand::Temp(value)];
            let op = Op::Look;
            self.emit(Source::Stmt(stmt), load);
            self.emit(Source::Stmt(stmt), InstrKind::Op { dst, op, operands });
        }
    }

    /// Places the labels in front of a statement; gives the statement behind them, and those that
    /// wrap it. A `switch` may have thousands: `case 1: case 2: …`.
    fn labels_of(&mut self, mut id: StmtId) -> (StmtId, Vec<StmtId>) {
        let mut labelled = Vec::new();
        loop {
            let body = match &self.tree.stmt(id).kind {
                StmtKind::Case { low, high, body } => {
                    self.case_label(*low, *high);
                    *body
                }
                StmtKind::Default { body } => {
                    self.default_label();
                    *body
                }
                StmtKind::Label { name, body } => {
                    self.label(name);
                    *body
                }
                _ => return (id, labelled),
            };
            self.enter(id);
            labelled.push(id);
            id = body;
        }
    }

    fn unlabelled(&mut self, id: StmtId) {
        let tree = self.tree;
        self.inner = Some(id);
        match &tree.stmt(id).kind {
            StmtKind::Null
            | StmtKind::Case { .. }
            | StmtKind::Default { .. }
            | StmtKind::Label { .. } => {}
            StmtKind::Expr(expr) => self.whole_statement(id, *expr),
            StmtKind::Decl(decls) => {
                for decl in decls {
                    self.declare(id, decl);
                }
            }
            StmtKind::Block(stmts) => {
                self.scopes.open();
                for &stmt in stmts {
                    self.stmt(stmt);
                }
                self.close_scope(id);
            }
            StmtKind::If { .. } => self.if_chain(id),
            StmtKind::While { cond, body } => self.while_loop(*cond, *body),
            StmtKind::DoWhile { body, cond } => self.do_while_loop(*body, *cond),
            StmtKind::For {
                init,
                cond,
                step,
                body,
            } => {
                self.scopes.open();
                if let Some(init) = init {
                    self.stmt(*init);
                }
                self.for_loop(*cond, *step, *body);
                self.close_scope(id);
            }
            StmtKind::Switch { value, body } => self.switch(id, *value, *body),
            StmtKind::Goto(name) => self.goto_stmt(id, name),
            StmtKind::ComputedGoto(target) => self.computed_goto(*target),
            StmtKind::Break => self.break_stmt(id),
            StmtKind::Continue => self.continue_stmt(id),
            StmtKind::Return(value) => self.return_stmt(id, *value),
            StmtKind::Asm => self.emit(Source::Stmt(id), InstrKind::Asm),
        }
    }

    fn close_scope(&mut self, stmt: StmtId) {
        let locals = self.scopes.close();
        if self.drafts.is_open() && !locals.is_empty() {
            self.emit(Source::Stmt(stmt), InstrKind::ScopeEnd { locals });
        }
    }

    fn declare(&mut self, stmt: StmtId, decl: &LocalDecl) {
        if !self.is_automatic(decl.local) {
            return;
        }
        self.scopes.declare(decl.local);
        self.emit(Source::Stmt(stmt), InstrKind::Declare { local: decl.local });
        if let Some(init) = &decl.init {
            self.init_local(stmt, decl.local, init);
        }
    }

    fn is_automatic(&self, local: LocalId) -> bool {
        let local = self.tree.local(local);
        local.is_automatic() && !matches!(local.ty.kind, TypeKind::Function(..))
    }

    /// `if … else if … else …`, of which programs have chains of thousands.
    fn if_chain(&mut self, id: StmtId) {
        let mut chain = vec![(id, self.drafts.reserve())];
        let mut at = id;
        while let StmtKind::If {
            cond,
            then,
            otherwise,
        } = &self.tree.stmt(at).kind
        {
            let join = chain[chain.len() - 1].1;
            let then_block = self.drafts.reserve();
            let else_block = otherwise.map_or(join, |_| self.drafts.reserve());
            self.branch(*cond, then_block, else_block);
            self.drafts.start(then_block);
            self.stmt(*then);
            let Some(otherwise) = *otherwise else { break };
            self.drafts.goto(join);
            self.drafts.start(else_block);
            if matches!(self.tree.stmt(otherwise).kind, StmtKind::If { .. }) {
                self.enter(otherwise);
                chain.push((otherwise, self.drafts.reserve()));
            } else {
                self.stmt(otherwise);
            }
            at = otherwise;
        }
        while let Some((nested, join)) = chain.pop() {
            self.drafts.land(join);
            if nested != id {
                self.leave(nested);
            }
        }
    }

    fn while_loop(&mut self, cond: ExprId, body: StmtId) {
        let (body_block, exit) = (self.drafts.reserve(), self.drafts.reserve());
        let head = self.drafts.start_new();
        self.branch(cond, body_block, exit);
        self.drafts.start(body_block);
        self.loop_body(body, exit, head);
        self.drafts.goto(head);
        self.drafts.land(exit);
    }

    /// `do { … } while (0)`, the shape of statement macros, runs once and is no loop.
    fn do_while_loop(&mut self, body: StmtId, cond: ExprId) {
        let (next, exit) = (self.drafts.reserve(), self.drafts.reserve());
        if self.constant(cond) == Some(0) {
            self.loop_body(body, exit, next);
            self.drafts.land(next);
            self.effect(cond);
        } else {
            let head = self.drafts.start_new();
            self.loop_body(body, exit, next);
            self.drafts.land(next);
            self.branch(cond, head, exit);
        }
        self.drafts.land(exit);
    }

    fn for_loop(&mut self, cond: Option<ExprId>, step: Option<ExprId>, body: StmtId) {
        let (next, exit) = (self.drafts.reserve(), self.drafts.reserve());
        let head = self.drafts.start_new();
        if let Some(cond) = cond {
            let body_block = self.drafts.reserve();
            self.branch(cond, body_block, exit);
            self.drafts.start(body_block);
        }
        self.loop_body(body, exit, next);
        self.drafts.land(next);
        if let Some(step) = step {
            self.effect(step);
        }
        self.drafts.goto(head);
        self.drafts.land(exit);
    }

    /// `({ … })`, whose value is that of the last statement if that is an expression.
    pub(super) fn stmt_expr(&mut self, id: StmtId) -> Operand {
        let tree = self.tree;
        let StmtKind::Block(stmts) = &tree.stmt(id).kind else {
            self.stmt(id);
            return Operand::Unknown;
        };
        self.enter(id);
        self.scopes.open();
        let mut value = Operand::Unknown;
        if let Some((&last, front)) = stmts.split_last() {
            for &stmt in front {
                self.stmt(stmt);
            }
            value = self.value_of_stmt(last);
        }
        self.close_scope(id);
        self.leave(id);
        value
    }

    fn value_of_stmt(&mut self, id: StmtId) -> Operand {
        let StmtKind::Expr(expr) = self.tree.stmt(id).kind else {
            self.stmt(id);
            return Operand::Unknown;
        };
        self.enter(id);
        let value = self.value(expr);
        self.leave(id);
        value
    }
}
