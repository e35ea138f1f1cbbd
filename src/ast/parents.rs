//! What every node of a function hangs on.

use super::{ExprId, Function, StmtId, Tree, Visitor, walk_expr, walk_stmt};

/// What a node hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// An expression, for its operands and arguments.
    Expr(ExprId),
    /// A statement, for the expressions and statements directly in it.
    Stmt(StmtId),
}

/// The node around each node of a function.
#[derive(Debug)]
pub struct Parents {
    exprs: Vec<Option<Parent>>,
    stmts: Vec<Option<Parent>>,
    stack: Vec<Parent>,
}

impl Parents {
    /// Looks at all of the function.
    #[must_use]
    pub fn new(function: &Function) -> Self {
        let tree = &function.tree;
        let mut parents = Self {
            exprs: vec![None; tree.exprs.len()],
            stmts: vec![None; tree.stmts.len()],
            stack: Vec::new(),
        };
        parents.visit_stmt(tree, function.body);
        parents
    }

    /// What `expr` hangs on.
    #[must_use]
    pub fn of_expr(&self, expr: ExprId) -> Option<Parent> {
        self.exprs[expr.0 as usize]
    }

    /// What `stmt` hangs on; `None` for the body of the function.
    #[must_use]
    pub fn of_stmt(&self, stmt: StmtId) -> Option<Parent> {
        self.stmts[stmt.0 as usize]
    }
}

impl Visitor for Parents {
    fn visit_expr(&mut self, tree: &Tree, id: ExprId) {
        self.exprs[id.0 as usize] = self.stack.last().copied();
        self.stack.push(Parent::Expr(id));
        walk_expr(self, tree, id);
        self.stack.pop();
    }

    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        self.stmts[id.0 as usize] = self.stack.last().copied();
        self.stack.push(Parent::Stmt(id));
        walk_stmt(self, tree, id);
        self.stack.pop();
    }
}
