//! Walks over the tree in source order.

use super::{Designator, Expr, ExprId, ExprKind, Init, InitList, Stmt, StmtId, StmtKind, Tree};

/// What to do at each node. The default of each method goes on to the children.
pub trait Visitor {
    /// Called for each expression, outer before inner.
    fn visit_expr(&mut self, tree: &Tree, id: ExprId) {
        walk_expr(self, tree, id);
    }

    /// Called for each statement, outer before inner.
    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        walk_stmt(self, tree, id);
    }
}

/// Visits the children of an expression in source order.
pub fn walk_expr<V: Visitor + ?Sized>(visitor: &mut V, tree: &Tree, id: ExprId) {
    let Expr { kind, .. } = tree.expr(id);
    match kind {
        ExprKind::Name(_)
        | ExprKind::Int(_)
        | ExprKind::Float
        | ExprKind::Char
        | ExprKind::Str(_)
        | ExprKind::TypeQuery(_) => {}
        ExprKind::Call { callee, args } => {
            visitor.visit_expr(tree, *callee);
            for &arg in args {
                visitor.visit_expr(tree, arg);
            }
        }
        ExprKind::Member { base: inner, .. }
        | ExprKind::Unary { operand: inner, .. }
        | ExprKind::Cast { operand: inner, .. }
        | ExprKind::SizeOfExpr(inner)
        | ExprKind::VaArg { list: inner, .. } => visitor.visit_expr(tree, *inner),
        ExprKind::Index {
            base: first,
            index: second,
        }
        | ExprKind::Binary {
            lhs: first,
            rhs: second,
            ..
        }
        | ExprKind::Assign {
            lhs: first,
            rhs: second,
            ..
        } => {
            visitor.visit_expr(tree, *first);
            visitor.visit_expr(tree, *second);
        }
        ExprKind::Conditional {
            cond,
            then,
            otherwise,
        } => {
            visitor.visit_expr(tree, *cond);
            if let Some(then) = then {
                visitor.visit_expr(tree, *then);
            }
            visitor.visit_expr(tree, *otherwise);
        }
        ExprKind::Compound { init, .. } => walk_init_list(visitor, tree, init),
        ExprKind::Stmt(stmt) => visitor.visit_stmt(tree, *stmt),
    }
}

/// Visits the children of a statement in source order.
pub fn walk_stmt<V: Visitor + ?Sized>(visitor: &mut V, tree: &Tree, id: StmtId) {
    let Stmt { kind, .. } = tree.stmt(id);
    match kind {
        StmtKind::Null
        | StmtKind::Goto(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(None)
        | StmtKind::Asm => {}
        StmtKind::Expr(expr) | StmtKind::ComputedGoto(expr) | StmtKind::Return(Some(expr)) => {
            visitor.visit_expr(tree, *expr);
        }
        StmtKind::Decl(decls) => {
            for init in decls.iter().filter_map(|decl| decl.init.as_ref()) {
                walk_init(visitor, tree, init);
            }
        }
        StmtKind::Block(stmts) => {
            for &stmt in stmts {
                visitor.visit_stmt(tree, stmt);
            }
        }
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            visitor.visit_expr(tree, *cond);
            visitor.visit_stmt(tree, *then);
            if let Some(otherwise) = otherwise {
                visitor.visit_stmt(tree, *otherwise);
            }
        }
        StmtKind::While { cond, body } | StmtKind::Switch { value: cond, body } => {
            visitor.visit_expr(tree, *cond);
            visitor.visit_stmt(tree, *body);
        }
        StmtKind::DoWhile { body, cond } => {
            visitor.visit_stmt(tree, *body);
            visitor.visit_expr(tree, *cond);
        }
        StmtKind::For { .. } => walk_for(visitor, tree, kind),
        StmtKind::Case { low, high, body } => {
            visitor.visit_expr(tree, *low);
            if let Some(high) = high {
                visitor.visit_expr(tree, *high);
            }
            visitor.visit_stmt(tree, *body);
        }
        StmtKind::Default { body } | StmtKind::Label { body, .. } => {
            visitor.visit_stmt(tree, *body);
        }
    }
}

fn walk_for<V: Visitor + ?Sized>(visitor: &mut V, tree: &Tree, kind: &StmtKind) {
    let StmtKind::For {
        init,
        cond,
        step,
        body,
    } = kind
    else {
        return;
    };
    if let Some(init) = init {
        visitor.visit_stmt(tree, *init);
    }
    for expr in [cond, step].into_iter().flatten() {
        visitor.visit_expr(tree, *expr);
    }
    visitor.visit_stmt(tree, *body);
}

fn walk_init<V: Visitor + ?Sized>(visitor: &mut V, tree: &Tree, init: &Init) {
    match init {
        Init::Expr(expr) => visitor.visit_expr(tree, *expr),
        Init::List(list) => walk_init_list(visitor, tree, list),
    }
}

fn walk_init_list<V: Visitor + ?Sized>(visitor: &mut V, tree: &Tree, list: &InitList) {
    for entry in &list.entries {
        for designator in &entry.designators {
            match designator {
                Designator::Field(_) => {}
                Designator::Index(index) => visitor.visit_expr(tree, *index),
                Designator::Range(from, to) => {
                    visitor.visit_expr(tree, *from);
                    visitor.visit_expr(tree, *to);
                }
            }
        }
        walk_init(visitor, tree, &entry.value);
    }
}
