//! Expressions: which holder they name, or which pointer they give.

use crate::ast::{BinaryOp, ExprId, ExprKind, Name, StmtId, StmtKind, Tree, Type, UnaryOp};

use super::{Here, Holder, Mark, Node, Walk};

impl Walk<'_, '_> {
    /// The holder that an expression names, or the class of its value; `None` for what is no
    /// pointer.
    pub(super) fn value(&mut self, here: Here<'_>, expr: ExprId) -> Option<Node> {
        match &here.tree.expr(expr).kind {
            ExprKind::Name(name) => self.name(here, name),
            ExprKind::Int(_)
            | ExprKind::Float
            | ExprKind::Char
            | ExprKind::Str(_)
            | ExprKind::TypeQuery(_)
            | ExprKind::SizeOfExpr(_) => None,
            ExprKind::Call { callee, args } => self.call(here, expr, *callee, args),
            ExprKind::Member { base, field, arrow } => {
                self.value(here, *base);
                let owner = self.types.owner(here.tree, *base, *arrow);
                Some(self.graph().holder(Holder::Field(owner, field.clone())))
            }
            ExprKind::Index { base, index } => {
                self.value(here, *index);
                let base = self.value(here, *base)?;
                self.steps(Some(base));
                self.reads(here, expr, base);
                Some(self.graph().pointee(base))
            }
            ExprKind::Unary { op, operand } => self.unary(here, expr, *op, *operand),
            ExprKind::Binary { op, lhs, rhs } => self.binary(here, *op, *lhs, *rhs),
            ExprKind::Assign { op, lhs, rhs } => {
                let (to, from) = (self.value(here, *lhs), self.value(here, *rhs));
                match op {
                    None => self.flows(to, self.types.of(here.tree, *lhs), from),
                    Some(_) => self.steps(to),
                }
                to
            }
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => {
                let cond = self.value(here, *cond);
                let then = then.map_or(cond, |then| self.value(here, then));
                let otherwise = self.value(here, *otherwise);
                self.either(then, otherwise)
            }
            ExprKind::Cast { ty, operand } => self.cast(here, ty, *operand),
            ExprKind::VaArg { list, .. } => {
                self.value(here, *list);
                Some(self.unknown())
            }
            ExprKind::Compound { ty, init } => {
                let node = self.graph().fresh();
                self.list(here, Some(node), ty, init);
                Some(node)
            }
            ExprKind::Stmt(stmt) => match last_value(here.tree, *stmt) {
                Some(last) => self.value(here, last),
                None => Some(self.unknown()),
            },
        }
    }

    fn binary(&mut self, here: Here<'_>, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Option<Node> {
        let (left, right) = (self.value(here, lhs), self.value(here, rhs));
        let ty = self.types.of(here.tree, lhs);
        let left_is_number = ty.is_some_and(|ty| self.types.is_number(ty));
        match op {
            BinaryOp::Comma => right,
            BinaryOp::Plus if left.is_none() || left_is_number => {
                self.steps(right);
                right
            }
            // The distance of two pointers.
            BinaryOp::Minus if self.types.is_pointer(here.tree, rhs) => None,
            BinaryOp::Plus | BinaryOp::Minus => {
                self.steps(left);
                left
            }
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => None,
            _ if op.is_comparison() => None,
            // `(Py_uintptr_t)p | 1`: what is made of it, nothing here finds out.
            _ => {
                for (operand, value) in [(lhs, left), (rhs, right)] {
                    let ty = self.types.of(here.tree, operand);
                    if !ty.is_some_and(|ty| self.types.is_number(ty)) {
                        self.leaves_as_number(value);
                    }
                }
                None
            }
        }
    }

    fn leaves_as_number(&mut self, value: Option<Node>) {
        if let Some(value) = value {
            self.mark(value, Mark::Leaves("it is converted to a number".into()));
        }
    }

    fn either(&mut self, a: Option<Node>, b: Option<Node>) -> Option<Node> {
        let (Some(a), Some(b)) = (a, b) else {
            return a.or(b);
        };
        let both = self.graph().fresh();
        self.graph().flow(a, both);
        self.graph().flow(b, both);
        Some(both)
    }

    fn name(&mut self, here: Here<'_>, name: &Name) -> Option<Node> {
        match name {
            Name::Local(local) => Some(self.graph().holder(Holder::Local(here.item, local.0))),
            Name::Global(name) if self.functions.contains_key(&**name) => {
                self.open(name);
                None
            }
            Name::Global(name) if self.types.is_variable(name) => {
                Some(self.graph().holder(Holder::Global(name.clone())))
            }
            Name::Global(name) if matches!(&**name, "NULL" | "nullptr") => None,
            Name::Global(name) => {
                let what = format!("it is stored in `{name}`, which another library defines");
                let node = self.unknown();
                self.mark(node, Mark::Leaves(what));
                Some(node)
            }
        }
    }

    /// A function whose address is taken: who calls it, and with what, is not seen.
    fn open(&mut self, name: &str) {
        let Some(definitions) = self.functions.get(name) else {
            return;
        };
        let count = definitions.iter().map(|(_, f)| f.params.len()).max();
        for index in 0..count.unwrap_or(0) {
            let param = self.graph().holder(Holder::Param(name.into(), index));
            self.mark(param, Mark::Comes);
            // static int convert(PyObject *o, void *out) { …; *(char **)out = text; return 1; }
            let inner = self.graph().pointee(param);
            let what = format!("`{name}()`, which is called through a pointer, stores it");
            self.mark(inner, Mark::Leaves(what));
            self.mark(inner, Mark::Comes);
        }
        let result = self.graph().holder(Holder::Result(name.into()));
        let what = format!("`{name}()`, which is called through a pointer, returns it");
        self.mark(result, Mark::Leaves(what));
    }

    fn unary(
        &mut self,
        here: Here<'_>,
        expr: ExprId,
        op: UnaryOp,
        operand: ExprId,
    ) -> Option<Node> {
        if op != UnaryOp::AddressOf {
            let value = self.value(here, operand);
            return match op {
                UnaryOp::Deref => value.map(|value| {
                    self.reads(here, expr, value);
                    self.graph().pointee(value)
                }),
                UnaryOp::PostIncrement
                | UnaryOp::PostDecrement
                | UnaryOp::PreIncrement
                | UnaryOp::PreDecrement => {
                    self.steps(value);
                    value
                }
                _ => None,
            };
        }
        match &here.tree.expr(operand).kind {
            // `&p[i]` and `&*p` point where `p` does.
            ExprKind::Index { base, index } => {
                self.value(here, *index);
                self.value(here, *base)
            }
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.value(here, *operand),
            _ => {
                let inner = self.value(here, operand)?;
                let node = self.graph().fresh();
                self.graph().points_at(node, inner);
                if let ExprKind::Member { base, arrow, .. } = &here.tree.expr(operand).kind
                    && let Some(owner) = self.types.owner(here.tree, *base, *arrow)
                {
                    self.is_part(node, owner);
                }
                // `PyObject_Free(&it->head)` releases what `it` points at.
                if let Some(block) = self.block_of(here, operand) {
                    self.graph().leads(block, node);
                }
                Some(node)
            }
        }
    }

    /// The pointer to the struct that a place is a part of: `it` of `it->part.count`.
    fn block_of(&mut self, here: Here<'_>, place: ExprId) -> Option<Node> {
        match here.tree.expr(place).kind {
            ExprKind::Member {
                base, arrow: true, ..
            } => self.value(here, base),
            ExprKind::Member { base, .. } => self.block_of(here, base),
            _ => None,
        }
    }

    fn cast(&mut self, here: Here<'_>, ty: &Type, operand: ExprId) -> Option<Node> {
        let value = self.value(here, operand)?;
        if self.types.is_number(ty) {
            let was = self.types.of(here.tree, operand);
            if !was.is_some_and(|was| self.types.is_number(was)) {
                self.leaves_as_number(Some(value));
            }
            return None;
        }
        self.typed(value, ty);
        Some(value)
    }
}

/// The expression whose value a statement expression has.
fn last_value(tree: &Tree, block: StmtId) -> Option<ExprId> {
    let StmtKind::Block(stmts) = &tree.stmt(block).kind else {
        return None;
    };
    match tree.stmt(*stmts.last()?).kind {
        StmtKind::Expr(expr) => Some(expr),
        _ => None,
    }
}
