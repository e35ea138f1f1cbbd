//! The nodes of a function body or an initialiser, and plain questions about them.

use super::{
    BinaryOp, Expr, ExprId, ExprKind, Init, Local, LocalDecl, LocalId, Name, Stmt, StmtId,
    StmtKind, Storage, TokenRange, UnaryOp,
};

/// The nodes of one item.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Expressions by [`ExprId`].
    pub exprs: Vec<Expr>,
    /// Statements by [`StmtId`].
    pub stmts: Vec<Stmt>,
    /// Parameters first, in order, then block-scope variables, by [`LocalId`].
    pub locals: Vec<Local>,
    /// Pointers that macros leave out of their arguments here and may read in other builds, each
    /// with the statement that such a macro is; in the order of the statements.
    pub left_out: Vec<(StmtId, LocalId)>,
    /// The members of each union that is defined here, those of inner structs without a name among
    /// them.
    pub unions: Vec<Vec<Box<str>>>,
    /// Whether an expression ends before one with a smaller id.
    is_unordered: bool,
}

impl Tree {
    /// Adds an expression.
    ///
    /// # Panics
    /// If there are more of them than a `u32` counts.
    pub fn push_expr(&mut self, kind: ExprKind, range: TokenRange) -> ExprId {
        let id = u32::try_from(self.exprs.len()).expect("an item has fewer nodes than bytes");
        let last = self.exprs.last();
        self.is_unordered |= last.is_some_and(|last| last.range.end > range.end);
        self.exprs.push(Expr { kind, range });
        ExprId(id)
    }

    /// The expression `id`.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The statement `id`.
    #[must_use]
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize]
    }

    /// The variable `id`.
    #[must_use]
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.0 as usize]
    }

    /// The statement behind the labels in front of it.
    #[must_use]
    pub fn unlabelled(&self, stmt: StmtId) -> StmtId {
        match self.stmt(stmt).kind {
            StmtKind::Label { body, .. }
            | StmtKind::Case { body, .. }
            | StmtKind::Default { body } => self.unlabelled(body),
            _ => stmt,
        }
    }

    /// Whether a branch ends in a jump.
    #[must_use]
    pub fn leaves(&self, branch: StmtId) -> bool {
        match &self.stmt(branch).kind {
            StmtKind::Block(stmts) => stmts.last().is_some_and(|&last| self.leaves(last)),
            StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => true,
            _ => false,
        }
    }

    /// An expression without the casts around it.
    #[must_use]
    pub fn without_casts(&self, mut expr: ExprId) -> ExprId {
        while let ExprKind::Cast { operand, .. } = self.expr(expr).kind {
            expr = operand;
        }
        expr
    }

    /// An expression without `&` and the casts around that and behind it: `(cmp_fn *)&compare`.
    #[must_use]
    pub fn without_address(&self, expr: ExprId) -> ExprId {
        let inner = self.without_casts(expr);
        match self.expr(inner).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.without_casts(operand),
            _ => inner,
        }
    }

    /// The name of the called function and its arguments, if an expression is a call by name.
    #[must_use]
    pub fn call(&self, expr: ExprId) -> Option<(&str, &[ExprId])> {
        match &self.expr(expr).kind {
            ExprKind::Call { callee, args } => Some((self.callee_name(*callee)?, args)),
            _ => None,
        }
    }

    /// What a call calls; `None` for other expressions.
    #[must_use]
    pub fn callee(&self, call: ExprId) -> Option<ExprId> {
        match self.expr(call).kind {
            ExprKind::Call { callee, .. } => Some(callee),
            _ => None,
        }
    }

    /// The arguments of a call; none for other expressions.
    #[must_use]
    pub fn arguments(&self, call: ExprId) -> &[ExprId] {
        match &self.expr(call).kind {
            ExprKind::Call { args, .. } => args,
            _ => &[],
        }
    }

    /// Whether another variable has the same name.
    #[must_use]
    pub fn has_namesake(&self, local: LocalId) -> bool {
        let name = &self.local(local).name;
        self.locals.iter().filter(|it| it.name == *name).count() > 1
    }

    /// The variable that an expression names, if it is nothing but a name.
    #[must_use]
    pub fn as_local(&self, expr: ExprId) -> Option<LocalId> {
        match self.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => Some(local),
            _ => None,
        }
    }

    /// The variable whose address an expression is: `&local`.
    #[must_use]
    pub fn as_address(&self, expr: ExprId) -> Option<LocalId> {
        match self.expr(expr).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.as_local(operand),
            _ => None,
        }
    }

    /// What a string literal stands for.
    #[must_use]
    pub fn as_string(&self, expr: ExprId) -> Option<&[u8]> {
        match &self.expr(expr).kind {
            ExprKind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The block-scope declarations, in the order of their statements.
    pub fn declarations(&self) -> impl Iterator<Item = &LocalDecl> {
        self.stmts.iter().flat_map(|stmt| match &stmt.kind {
            StmtKind::Decl(decls) => decls.as_slice(),
            _ => &[],
        })
    }

    /// Whether a variable lasts longer than the function that declares it.
    #[must_use]
    pub fn is_static(&self, local: LocalId) -> bool {
        self.local(local).storage == Storage::Static
    }

    /// The whole number that is written down: `-1`, `(int)0`, `false`.
    #[must_use]
    pub fn as_number(&self, expr: ExprId) -> Option<i64> {
        match &self.expr(expr).kind {
            ExprKind::Int(number) => *number,
            ExprKind::Name(Name::Global(name)) => match &**name {
                "false" | "FALSE" => Some(0),
                "true" | "TRUE" => Some(1),
                _ => None,
            },
            ExprKind::Unary {
                op: UnaryOp::Minus,
                operand,
            } => self.as_number(*operand)?.checked_neg(),
            ExprKind::Cast { operand, .. } => self.as_number(*operand),
            _ => None,
        }
    }

    /// What variables are given, by assignments (`+=` is one) and then by their declarations.
    pub fn stores(&self) -> impl Iterator<Item = (LocalId, ExprId)> {
        let assigned = self.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Assign { lhs, rhs, .. } => Some((self.as_local(lhs)?, rhs)),
            _ => None,
        });
        let declared = self.declarations().filter_map(|decl| match decl.init {
            Some(Init::Expr(value)) => Some((decl.local, value)),
            _ => None,
        });
        assigned.chain(declared)
    }

    /// Whether an expression is `NULL`, `0` or one of them under a cast.
    #[must_use]
    pub fn is_null(&self, expr: ExprId) -> bool {
        match &self.expr(self.without_casts(expr)).kind {
            ExprKind::Int(Some(0)) => true,
            ExprKind::Name(Name::Global(name)) => matches!(&**name, "NULL" | "nullptr"),
            _ => false,
        }
    }

    /// Whether the function does nothing but return `NULL`, or nothing at all.
    #[must_use]
    pub fn only_returns_null(&self) -> bool {
        self.stmts.iter().all(|stmt| match &stmt.kind {
            StmtKind::Return(Some(value)) => self.is_null(*value),
            kind => matches!(kind, StmtKind::Block(_) | StmtKind::Null),
        })
    }

    /// The ids of all expressions, in order.
    pub fn expr_ids(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0u32..).map(ExprId).take(self.exprs.len())
    }

    /// The expressions in a range of tokens, in the order of their ids.
    pub fn exprs_in(&self, range: TokenRange) -> impl Iterator<Item = (ExprId, &Expr)> {
        let all = 0..self.exprs.len();
        // Operands come before what they are part of, so that ends only grow.
        let within = || {
            let at = |end| self.exprs.partition_point(|expr| expr.range.end < end);
            let from = at(range.start);
            from..at(range.end.saturating_add(1)).max(from)
        };
        let ids = if self.is_unordered { all } else { within() };
        let exprs = self.exprs[ids.clone()].iter();
        exprs
            .zip(ids)
            .map(|(expr, id)| (ExprId(id as u32), expr))
            .filter(move |(_, expr)| range.contains(expr.range))
    }

    /// Whether an expression stands in an `assert`, which a build without assertions leaves out.
    #[must_use]
    pub fn is_asserted(&self, expr: ExprId) -> bool {
        let range = self.expr(expr).range;
        let mut asserts = self.calls().filter(|(_, name)| *name == "assert");
        asserts.any(|(call, _)| call != expr && self.expr(call).range.contains(range))
    }

    /// The calls that name a function, in the order of their ids, with that name.
    pub fn calls(&self) -> impl Iterator<Item = (ExprId, &str)> {
        self.expr_ids()
            .zip(&self.exprs)
            .filter_map(|(id, expr)| match expr.kind {
                ExprKind::Call { callee, .. } => Some((id, self.callee_name(callee)?)),
                _ => None,
            })
    }

    /// Whether an expression is `a, b`.
    #[must_use]
    pub fn is_comma(&self, expr: ExprId) -> bool {
        matches!(
            self.expr(expr).kind,
            ExprKind::Binary {
                op: BinaryOp::Comma,
                ..
            }
        )
    }

    /// Name of the function that an expression calls directly; see [`Self::callee_name`].
    #[must_use]
    pub fn called(&self, expr: ExprId) -> Option<&str> {
        match self.expr(expr).kind {
            ExprKind::Call { callee, .. } => self.callee_name(callee),
            _ => None,
        }
    }

    /// The place that an expression sets or counts: `self->busy = 0`, `level--`.
    #[must_use]
    pub fn changed(&self, expr: ExprId) -> Option<ExprId> {
        match self.expr(expr).kind {
            ExprKind::Assign { lhs, .. } => Some(lhs),
            ExprKind::Unary { op, operand } => op.is_step().then_some(operand),
            _ => None,
        }
    }

    /// Whether an assignment takes back what the same one has done: `flags ^= BUSY`.
    #[must_use]
    pub fn toggles(&self, expr: ExprId) -> bool {
        matches!(self.expr(expr).kind, ExprKind::Assign { op, .. } if op == Some(BinaryOp::BitXor))
    }

    /// Name of the function that the call `callee(…)` names directly, through parentheses but
    /// not through a pointer; `None` for locals.
    #[must_use]
    pub fn callee_name(&self, callee: ExprId) -> Option<&str> {
        match &self.expr(callee).kind {
            ExprKind::Name(Name::Global(name)) => Some(name),
            _ => None,
        }
    }
}
