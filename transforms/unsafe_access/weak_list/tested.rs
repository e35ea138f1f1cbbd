//! Which test stands in front of a call.

use super::{Look, Tested};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, Parents};
use crate::ast::{StmtId, StmtKind, UnaryOp};

impl Look<'_> {
    /// The test around `call` that looks at the list of the object.
    pub(super) fn tested(&self, call: ExprId) -> Option<Tested> {
        let tree = &self.function.tree;
        let (_, [object]) = tree.call(call)? else {
            return None;
        };
        let object = tree.as_local(tree.without_casts(*object))?;
        let parents = Parents::new(self.function);
        let mut at = parents.of_expr(call);
        while let Some(node) = at {
            let Parent::Stmt(stmt) = node else {
                at = self.above(&parents, node);
                continue;
            };
            if let StmtKind::If { cond, .. } = tree.stmt(stmt).kind
                && !tree.expr(cond).range.contains(tree.expr(call).range)
                && let Some(tested) = self.of_list(stmt, cond, object, call)
            {
                return Some(tested);
            }
            at = self.above(&parents, node);
        }
        None
    }

    fn above(&self, parents: &Parents, node: Parent) -> Option<Parent> {
        match node {
            Parent::Expr(expr) => parents.of_expr(expr),
            Parent::Stmt(stmt) => parents.of_stmt(stmt),
        }
    }

    /// `cond` as a test that looks at the list of `object`.
    fn of_list(&self, test: StmtId, cond: ExprId, object: LocalId, call: ExprId) -> Option<Tested> {
        let tree = &self.function.tree;
        let same = self.names_of(object);
        let mut fields = tree.exprs_in(tree.expr(cond).range);
        let (object, owner, field) = fields.find_map(|(id, _)| {
            let (pointer, field) = self.field_of(id)?;
            let local = tree.as_local(tree.without_casts(pointer))?;
            let owner = self.types.owner(tree, pointer, true);
            let is_list = self.is_list(owner.as_deref(), field);
            (same.contains(&local) && is_list).then(|| (local, owner, field.into()))
        })?;
        Some(Tested {
            test,
            cond,
            object,
            owner,
            field,
            call,
        })
    }

    /// `object->field`, or `(*object).field`.
    fn field_of(&self, expr: ExprId) -> Option<(ExprId, &str)> {
        let tree = &self.function.tree;
        let ExprKind::Member { base, field, arrow } = &tree.expr(expr).kind else {
            return None;
        };
        match tree.expr(*base).kind {
            _ if *arrow => Some((*base, field)),
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => Some((operand, field)),
            _ => None,
        }
    }

    /// Whether a field is the list of weak references: a table says so, or its name lets one think
    /// it, which is enough to report it.
    fn is_list(&self, owner: Option<&str>, field: &str) -> bool {
        owner.is_some_and(|owner| self.lists.has(owner, field)) || field.contains("weak")
    }

    /// Whether a test asks whether the list is there, and nothing else.
    pub(super) fn is_plain(&self, cond: ExprId) -> bool {
        let tree = &self.function.tree;
        let is_field = |expr: ExprId| {
            let pointer = self
                .field_of(tree.without_casts(expr))
                .map(|(pointer, _)| pointer);
            pointer.is_some_and(|it| tree.as_local(tree.without_casts(it)).is_some())
        };
        match tree.expr(cond).kind {
            ExprKind::Binary {
                op: BinaryOp::NotEquals,
                lhs,
                rhs,
            } => is_field(lhs) && tree.is_null(rhs) || is_field(rhs) && tree.is_null(lhs),
            _ => is_field(cond),
        }
    }

    /// The variables that hold the same object as `local`, and nothing else ever.
    pub(super) fn names_of(&self, local: LocalId) -> Vec<LocalId> {
        let tree = &self.function.tree;
        let stores: Vec<(LocalId, ExprId)> = tree.stores().collect();
        let value = |local: LocalId| {
            let mut own = stores.iter().filter(|(it, _)| *it == local);
            match (own.next(), own.next()) {
                (Some((_, value)), None) => tree.as_local(tree.without_casts(*value)),
                _ => None,
            }
        };
        let is_set_otherwise = |local: LocalId| {
            let mut exprs = tree.expr_ids();
            exprs.any(|expr| tree.as_address(expr) == Some(local))
        };
        // From one variable to the one it is a copy of.
        let root = |mut local: LocalId| {
            for _ in 0..tree.locals.len() {
                match value(local).filter(|_| !is_set_otherwise(local)) {
                    Some(next) => local = next,
                    None => break,
                }
            }
            local
        };
        let wanted = root(local);
        let mut names = vec![local];
        if stores.iter().any(|(it, _)| *it == wanted) || is_set_otherwise(wanted) {
            // `other = self; self = next(self);` has another object in each.
            return names;
        }
        let count = u32::try_from(tree.locals.len()).expect("locals are indexed by u32");
        let all = (0..count).map(LocalId);
        names.extend(all.filter(|&it| it != local && root(it) == wanted));
        names
    }
}
