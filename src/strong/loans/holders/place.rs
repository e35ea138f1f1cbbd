//! Which expressions may be the address, and which places hold what the fields do.

use super::{At, Holders};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, UnaryOp};

impl Holders<'_, '_> {
    /// Whether the value may be the address, or a struct or pointer that leads to it.
    pub(super) fn points(&self, at: At<'_>, expr: ExprId) -> bool {
        let of = |expr: ExprId| self.points(at, expr);
        match &at.tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => self.locals.contains(&(at.item, *local)),
            ExprKind::Member { field, .. } => self.fields.contains(field),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.is_around(at, *operand) || of(*operand) || self.is_beside(at, *operand),
            // `filter = *pointer;` copies the struct.
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand: base,
            }
            | ExprKind::Index { base, .. } => of(*base) && !self.is_copy(at, expr),
            ExprKind::Unary {
                op: UnaryOp::Not | UnaryOp::LabelAddress,
                ..
            } => false,
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => of(*operand),
            ExprKind::Binary { op, lhs, rhs } => match op {
                BinaryOp::Comma => of(*rhs),
                BinaryOp::LogicalAnd | BinaryOp::LogicalOr => false,
                _ if op.is_comparison() => false,
                _ => of(*lhs) || of(*rhs),
            },
            ExprKind::Assign { op, lhs, rhs } => of(*rhs) || op.is_some() && of(*lhs),
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => of(then.unwrap_or(*cond)) || of(*otherwise),
            // The value is that of a statement somewhere in it.
            ExprKind::Stmt(_) => true,
            // No function returns the address, and what a list holds is asked for there.
            ExprKind::Call { .. } | ExprKind::Compound { .. } => false,
            ExprKind::Name(Name::Global(_))
            | ExprKind::Int(_)
            | ExprKind::Float
            | ExprKind::Char
            | ExprKind::Str(_)
            | ExprKind::TypeQuery(_)
            | ExprKind::SizeOfExpr(_)
            | ExprKind::VaArg { .. } => false,
        }
    }

    /// Whether the value is the struct itself, or one around it.
    fn is_copy(&self, at: At<'_>, expr: ExprId) -> bool {
        let types = self.cx.types();
        let key = types.of(at.tree, expr).and_then(|ty| types.key(ty));
        key.is_some_and(|key| self.filled.kinds.contains(&key))
    }

    /// Whether a place may be one of the fields, or hold them.
    pub(super) fn is_around(&self, at: At<'_>, place: ExprId) -> bool {
        match &at.tree.expr(place).kind {
            ExprKind::Name(Name::Local(local)) => self.is_variable(at, *local),
            ExprKind::Member { base, field, arrow } => {
                let owner = self.cx.types().owner(at.tree, *base, *arrow);
                self.filled.parts.contains(field)
                    && owner.is_none_or(|owner| self.filled.kinds.contains(&owner))
                    && match arrow {
                        true => self.points(at, *base),
                        false => self.is_around(at, *base),
                    }
            }
            ExprKind::Index { base, .. } => self.points(at, *base) || self.is_around(at, *base),
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.points(at, *operand),
            _ => false,
        }
    }

    /// Whether it is another struct in one that holds the fields, from whose address that of the
    /// outer one can be had: `container_of(node, Args, node)`.
    fn is_beside(&self, at: At<'_>, place: ExprId) -> bool {
        let types = self.cx.types();
        let ExprKind::Member { base, arrow, .. } = at.tree.expr(place).kind else {
            return false;
        };
        let is_within = match arrow {
            true => self.points(at, base),
            false => self.is_around(at, base) || self.is_beside(at, base),
        };
        let ty = types.of(at.tree, place);
        is_within && ty.is_none_or(|ty| types.key(ty).is_some_and(|key| types.is_struct(&key)))
    }

    /// Whether writing a place may change the fields.
    pub(super) fn is_written(&self, at: At<'_>, place: ExprId) -> bool {
        self.is_around(at, place) || self.is_whole(at, place) || self.is_foreign(at, place)
    }

    /// Whether it is a struct like the filled one, or like one around it, that is no variable.
    ///
    /// ```c
    /// state->args = args;
    /// ```
    fn is_whole(&self, at: At<'_>, place: ExprId) -> bool {
        at.tree.as_local(place).is_none() && self.is_copy(at, place)
    }

    /// Whether it is part of what the address points at under the name of another struct.
    ///
    /// ```c
    /// ((struct head *)arg)->first = NULL;
    /// ```
    fn is_foreign(&self, at: At<'_>, place: ExprId) -> bool {
        match &at.tree.expr(place).kind {
            ExprKind::Member { base, arrow, .. } if *arrow && self.points(at, *base) => {
                let owner = self.cx.types().owner(at.tree, *base, true);
                owner
                    .is_none_or(|it| !self.filled.kinds.contains(&it) && !self.owners.contains(&it))
            }
            ExprKind::Member {
                base, arrow: false, ..
            }
            | ExprKind::Index { base, .. } => self.is_foreign(at, *base),
            _ => false,
        }
    }

    /// Whether the argument is the address of all of the variable.
    pub(super) fn is_all_of_it(&self, at: At<'_>, arg: ExprId) -> bool {
        let variable = at.tree.as_address(at.tree.without_casts(arg));
        variable.is_some_and(|local| self.is_variable(at, local))
    }

    fn is_variable(&self, at: At<'_>, local: LocalId) -> bool {
        at.item == self.filled.site.item && local == self.filled.variable
    }
}
