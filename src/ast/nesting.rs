//! Which statement is around what.

use super::{ExprId, Function, StmtId, Tree, Visitor, walk_expr, walk_stmt};

/// The statement around each node of a function.
#[derive(Debug)]
pub struct Nesting {
    exprs: Vec<Option<StmtId>>,
    stmts: Vec<Option<StmtId>>,
    stack: Vec<StmtId>,
}

impl Nesting {
    /// Looks at all of the function.
    #[must_use]
    pub fn new(function: &Function) -> Self {
        let tree = &function.tree;
        let mut nesting = Self {
            exprs: vec![None; tree.exprs.len()],
            stmts: vec![None; tree.stmts.len()],
            stack: Vec::new(),
        };
        nesting.visit_stmt(tree, function.body);
        nesting
    }

    /// The innermost statement that holds `expr`.
    #[must_use]
    pub fn stmt_of(&self, expr: ExprId) -> Option<StmtId> {
        self.exprs[expr.0 as usize]
    }

    /// The statement around `stmt`.
    #[must_use]
    pub fn around(&self, stmt: StmtId) -> Option<StmtId> {
        self.stmts[stmt.0 as usize]
    }
}

impl Visitor for Nesting {
    fn visit_expr(&mut self, tree: &Tree, id: ExprId) {
        self.exprs[id.0 as usize] = self.stack.last().copied();
        walk_expr(self, tree, id);
    }

    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        self.stmts[id.0 as usize] = self.stack.last().copied();
        self.stack.push(id);
        walk_stmt(self, tree, id);
        self.stack.pop();
    }
}
