//! Expressions, for their value or only for their effect.

use crate::ast::{BinaryOp, ExprId, ExprKind, Name, Type, TypeKind, UnaryOp};
use crate::cfg::{Callee, InstrKind, Op, Operand, Source, Terminator};

use super::unseen::gives_or_leaves;
use super::{Builder, constant};

impl Builder<'_> {
    /// Runs `expr` and drops its value. A name alone is not read: `(void)unused;` is no use.
    pub(super) fn effect(&mut self, expr: ExprId) {
        let tree = self.tree;
        let expr = tree.without_casts(expr);
        match &tree.expr(expr).kind {
            ExprKind::Name(_) => {}
            ExprKind::Binary {
                op: BinaryOp::Comma,
                ..
            } => {
                let last = self.effect_of_front(expr);
                self.effect(last);
            }
            ExprKind::Binary {
                op: op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr),
                ..
            } => {
                self.effect_of_logical(expr, *op);
            }
            ExprKind::Conditional { .. } => self.effect_of_conditional(expr),
            _ => {
                self.value(expr);
            }
        }
    }

    /// Runs `expr` and gives its value.
    pub(super) fn value(&mut self, expr: ExprId) -> Operand {
        let tree = self.tree;
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => {
                constant::named(name).unwrap_or_else(|| self.load(expr))
            }
            ExprKind::Name(Name::Local(_))
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Compound { .. } => self.load(expr),
            ExprKind::Int(value) => value.map_or(Operand::Unknown, Operand::Int),
            ExprKind::Str(_) => Operand::Str(expr),
            ExprKind::Float | ExprKind::Char | ExprKind::TypeQuery(_) | ExprKind::SizeOfExpr(_) => {
                Operand::Unknown
            }
            ExprKind::Call { callee, args } => self.call(expr, *callee, args),
            ExprKind::Unary { op, operand } => self.unary(expr, *op, *operand),
            ExprKind::Binary {
                op: BinaryOp::Comma,
                ..
            } => {
                let last = self.effect_of_front(expr);
                self.value(last)
            }
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                ..
            } => self.value_of_logical(expr),
            ExprKind::Binary { .. } => self.arithmetic(expr),
            ExprKind::Assign { op, lhs, rhs } => self.assign(expr, *op, *lhs, *rhs),
            ExprKind::Conditional { .. } => self.value_of_conditional(expr),
            ExprKind::Cast { ty, operand } => self.cast(expr, ty, *operand),
            ExprKind::VaArg { list, .. } => {
                let list = self.address_of(*list);
                self.op(expr, Op::VaArg, vec![list])
            }
            ExprKind::Stmt(stmt) => self.stmt_expr(*stmt),
        }
    }

    fn op(&mut self, expr: ExprId, op: Op, operands: Vec<Operand>) -> Operand {
        self.emit_value(expr, |dst| InstrKind::Op { dst, op, operands })
    }

    fn call(&mut self, expr: ExprId, callee: ExprId, args: &[ExprId]) -> Operand {
        if let ([value, _], true) = (args, self.is_expect(callee)) {
            return self.value(*value);
        }
        let callee = self.callee(callee);
        let args = args.iter().map(|&arg| self.value(arg)).collect();
        let leaves = matches!(&callee, Callee::Named(name) if (self.never_returns)(name));
        let tries = matches!(&callee, Callee::Named(name) if gives_or_leaves(name));
        self.calls[expr.0 as usize] = Some(self.drafts.here());
        let value = self.emit_value(expr, |dst| InstrKind::Call { dst, callee, args });
        if leaves {
            self.drafts.end(Terminator::Unreachable);
        } else if let (true, Some(stmt)) = (tries, self.inner) {
            self.may_leave_at(stmt, expr, Operand::Unknown);
        }
        value
    }

    /// `(*f)(x)` and `(**f)(x)` call what `f(x)` calls.
    fn callee(&mut self, mut callee: ExprId) -> Callee {
        while let ExprKind::Unary {
            op: UnaryOp::Deref | UnaryOp::AddressOf,
            operand,
        } = self.tree.expr(callee).kind
        {
            callee = operand;
        }
        match self.tree.callee_name(callee) {
            Some(name) => Callee::Named(name.into()),
            None => Callee::Indirect(self.value(callee)),
        }
    }

    fn unary(&mut self, expr: ExprId, op: UnaryOp, operand: ExprId) -> Operand {
        match op {
            UnaryOp::PostIncrement => self.step(expr, BinaryOp::Plus, operand).0,
            UnaryOp::PostDecrement => self.step(expr, BinaryOp::Minus, operand).0,
            UnaryOp::PreIncrement => self.step(expr, BinaryOp::Plus, operand).1,
            UnaryOp::PreDecrement => self.step(expr, BinaryOp::Minus, operand).1,
            UnaryOp::AddressOf => self.address_of(operand),
            UnaryOp::Deref => self.load(expr),
            UnaryOp::LabelAddress => Operand::Unknown,
            UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Complement | UnaryOp::Not => {
                let value = self.value(operand);
                let folded = match value {
                    Operand::Int(value) => constant::unary(op, value),
                    _ => None,
                };
                match folded {
                    Some(value) => Operand::Int(value),
                    None => self.op(expr, Op::Unary(op), vec![value]),
                }
            }
        }
    }

    /// `++` and `--`: the values before and after.
    fn step(&mut self, expr: ExprId, op: BinaryOp, operand: ExprId) -> (Operand, Operand) {
        let place = self.place(operand);
        let read = place.clone();
        let before = self.emit_value(operand, |dst| InstrKind::Load { dst, place: read });
        let after = self.op(expr, Op::Binary(op), vec![before.clone(), Operand::Int(1)]);
        self.emit(
            Source::Expr(expr),
            InstrKind::Store {
                place,
                value: after.clone(),
            },
        );
        (before, after)
    }

    /// `a + b - c …`, which generated code writes with thousands of operands.
    fn arithmetic(&mut self, expr: ExprId) -> Operand {
        let tree = self.tree;
        let mut steps = Vec::new();
        let mut at = expr;
        while let ExprKind::Binary { op, lhs, rhs } = &tree.expr(at).kind {
            if matches!(
                op,
                BinaryOp::Comma | BinaryOp::LogicalAnd | BinaryOp::LogicalOr
            ) {
                break;
            }
            steps.push((at, *op, *rhs));
            at = *lhs;
        }
        let mut value = self.value(at);
        for (expr, op, rhs) in steps.into_iter().rev() {
            let rhs = self.value(rhs);
            let folded = match (&value, &rhs) {
                (Operand::Int(lhs), Operand::Int(rhs)) => constant::binary(op, *lhs, *rhs),
                _ => None,
            };
            value = match folded {
                Some(value) => Operand::Int(value),
                None => self.op(expr, Op::Binary(op), vec![value, rhs]),
            };
        }
        value
    }

    fn assign(&mut self, expr: ExprId, op: Option<BinaryOp>, lhs: ExprId, rhs: ExprId) -> Operand {
        let place = self.place(lhs);
        let mut value = self.value(rhs);
        if let Some(op) = op {
            let read = place.clone();
            let before = self.emit_value(lhs, |dst| InstrKind::Load { dst, place: read });
            value = self.op(expr, Op::Binary(op), vec![before, value]);
        }
        self.emit(
            Source::Expr(expr),
            InstrKind::Store {
                place,
                value: value.clone(),
            },
        );
        value
    }

    fn cast(&mut self, expr: ExprId, ty: &Type, operand: ExprId) -> Operand {
        if ty.is_void() {
            self.effect(operand);
            return Operand::Unknown;
        }
        let src = self.value(operand);
        if src.is_zero() && matches!(ty.kind, TypeKind::Pointer(_)) {
            return Operand::Null;
        }
        self.emit_value(expr, |dst| InstrKind::Cast {
            dst,
            ty: ty.clone(),
            src,
        })
    }
}
