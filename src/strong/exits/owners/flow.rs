//! Where the value of an expression goes, through arithmetic as well: `p + 16`, `&self->base`,
//! `(uintptr_t)p | 1`.

use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, Parent, StmtId, StmtKind, UnaryOp};
use crate::strong::scene::Scene;

/// What gets a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A variable of the function.
    Into(LocalId),
    /// Memory that a variable of the function is, or points at.
    Inside(LocalId, ExprId),
    /// A variable that is initialised with a list.
    Listed(LocalId),
    /// A call, as this argument.
    Call(ExprId, usize),
    /// The caller of the function.
    Returned(StmtId),
    /// Memory elsewhere, by this assignment.
    Elsewhere(ExprId),
    /// Nothing.
    Looked,
}

/// The way of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) end: End,
    /// It is calculated with.
    pub(super) bent: bool,
    /// It is counted on or back: what results may be a length.
    pub(super) counted: bool,
    /// It is what is read from there that goes on.
    pub(super) read: bool,
    /// It is a part of what is written as a literal.
    pub(super) part: bool,
}

impl Flow {
    /// Where the value of `expr` goes.
    pub(super) fn of(scene: &Scene<'_>, mut expr: ExprId) -> Self {
        let mut flow = Self {
            end: End::Looked,
            bent: false,
            counted: false,
            read: false,
            part: false,
        };
        loop {
            match scene.parent_of_expr(expr) {
                Some(Parent::Expr(outer)) => match flow.through(scene, outer, expr) {
                    Some(end) => flow.end = end,
                    None => {
                        expr = outer;
                        continue;
                    }
                },
                Some(Parent::Stmt(stmt)) => match value_of(scene, stmt) {
                    Some(outer) => {
                        expr = outer;
                        continue;
                    }
                    None => flow.end = in_stmt(scene, stmt, expr),
                },
                None => {}
            }
            return flow;
        }
    }

    /// Where `expr` ends in `outer`; `None` if it is the value of that, or leads to it.
    fn through(&mut self, scene: &Scene<'_>, outer: ExprId, expr: ExprId) -> Option<End> {
        match &scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } => None,
            ExprKind::Compound { .. } => {
                self.part = true;
                None
            }
            ExprKind::Conditional { cond, then, .. } => {
                (*cond == expr && then.is_some()).then_some(End::Looked)
            }
            ExprKind::Binary { op, rhs, .. } => self.through_binary(*op, *rhs == expr),
            ExprKind::Unary { op, .. } => self.through_unary(*op),
            ExprKind::Member { .. } => self.reads(),
            ExprKind::Index { base, .. } if *base == expr => self.reads(),
            ExprKind::Call { args, .. } => {
                let at = args.iter().position(|&arg| arg == expr);
                Some(at.map_or(End::Looked, |at| End::Call(outer, at)))
            }
            ExprKind::Assign { op: None, lhs, rhs } if *rhs == expr => {
                Some(into(scene, outer, *lhs))
            }
            _ => Some(End::Looked),
        }
    }

    fn through_binary(&mut self, op: BinaryOp, is_right: bool) -> Option<End> {
        match op {
            BinaryOp::Comma => (!is_right).then_some(End::Looked),
            BinaryOp::Plus | BinaryOp::Minus => {
                (self.bent, self.counted) = (true, true);
                None
            }
            BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => {
                self.bent = true;
                None
            }
            _ => Some(End::Looked),
        }
    }

    fn through_unary(&mut self, op: UnaryOp) -> Option<End> {
        match op {
            UnaryOp::AddressOf => {
                (self.bent, self.read) = (true, false);
                None
            }
            UnaryOp::Deref => self.reads(),
            UnaryOp::Complement => {
                self.bent = true;
                None
            }
            _ if op.is_step() => {
                self.bent = true;
                None
            }
            _ => Some(End::Looked),
        }
    }

    /// A second look goes to memory of others.
    fn reads(&mut self) -> Option<End> {
        self.read = true;
        None
    }
}

/// The expression of which the value is that of its last statement `stmt`: `({ …; p; })`.
fn value_of(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    let StmtKind::Expr(_) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    let Some(Parent::Stmt(block)) = scene.parent_of_stmt(stmt) else {
        return None;
    };
    let StmtKind::Block(stmts) = &scene.tree.stmt(block).kind else {
        return None;
    };
    match scene.parent_of_stmt(block) {
        Some(Parent::Expr(outer)) if stmts.last() == Some(&stmt) => Some(outer),
        _ => None,
    }
}

fn in_stmt(scene: &Scene<'_>, stmt: StmtId, expr: ExprId) -> End {
    match &scene.tree.stmt(stmt).kind {
        StmtKind::Return(_) => End::Returned(stmt),
        StmtKind::Decl(decls) => {
            let mut ends = decls.iter().filter_map(|decl| match &decl.init {
                Some(Init::Expr(value)) => (*value == expr).then_some(End::Into(decl.local)),
                Some(Init::List(list)) => {
                    let is_there = list.values().contains(&expr);
                    is_there.then_some(End::Listed(decl.local))
                }
                None => None,
            });
            ends.next().unwrap_or(End::Looked)
        }
        _ => End::Looked,
    }
}

/// What `store` changes, which is `place`.
fn into(scene: &Scene<'_>, store: ExprId, place: ExprId) -> End {
    match scene.as_local(place) {
        Some(local) if scene.tree.local(local).is_automatic() => End::Into(local),
        Some(_) => End::Elsewhere(store),
        None => memory_of(scene, place)
            .filter(|&root| is_own_memory(scene, root, &mut Vec::new()))
            .map_or(End::Elsewhere(store), |root| End::Inside(root, store)),
    }
}

/// The variable that `place` is a part of, or in the memory of which it is.
fn memory_of(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    match scene.tree.expr(place).kind {
        ExprKind::Member { base, arrow, .. } if !arrow => {
            scene.as_local(base).or_else(|| memory_of(scene, base))
        }
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => pointer_in(scene, base),
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => pointer_in(scene, operand),
        _ => None,
    }
}

/// The variable that a pointer leads into.
fn pointer_in(scene: &Scene<'_>, pointer: ExprId) -> Option<LocalId> {
    match scene.tree.expr(pointer).kind {
        ExprKind::Cast { operand, .. } => pointer_in(scene, operand),
        ExprKind::Unary { op, operand } if op.is_step() => pointer_in(scene, operand),
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => scene
            .as_local(operand)
            .or_else(|| memory_of(scene, operand)),
        ExprKind::Binary {
            op: BinaryOp::Plus | BinaryOp::Minus,
            lhs,
            rhs,
        } => pointer_in(scene, lhs).or_else(|| pointer_in(scene, rhs)),
        ExprKind::Member { arrow: false, .. } => memory_of(scene, pointer),
        _ => scene.as_local(pointer),
    }
}

/// Whether a variable is an array or a struct of the function, or points into one, or into memory
/// that the function made: what is stored there is still its own.
fn is_own_memory(scene: &Scene<'_>, local: LocalId, seen: &mut Vec<LocalId>) -> bool {
    let variable = scene.tree.local(local);
    if variable.is_param || !variable.is_automatic() || seen.contains(&local) {
        return false;
    }
    seen.push(local);
    if variable.ty.pointee().is_none() || super::is_array(scene, local) {
        return true;
    }
    let mut values = super::makers(scene, local).into_iter();
    values.any(|value| {
        let value = scene.tree.without_address(value);
        match scene.call(value) {
            Some((name, _)) => super::allocates(name),
            None if matches!(scene.tree.expr(value).kind, ExprKind::Compound { .. }) => true,
            None => pointer_in(scene, value).is_some_and(|it| is_own_memory(scene, it, seen)),
        }
    })
}
