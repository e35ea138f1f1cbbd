//! Which half of a split function needs which variable.

use std::collections::BTreeSet;

use super::range;
use crate::ast::{
    ExprId, ExprKind, Init, LocalDecl, LocalId, Name, Parent, StmtId, StmtKind, TokenRange, UnaryOp,
};
use crate::capi;
use crate::ownership::summary::Param;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// Most variables beside the parameters that the first half hands to the second.
const MAX_HANDED_ON: usize = 3;

/// The variables of a split function by the half that needs them.
pub(super) struct Locals {
    /// Parameters that the second half gets as they are, in their order.
    pub(super) params: Vec<LocalId>,
    /// Variables of the first half whose values the second one gets, without the object.
    pub(super) handed_on: Vec<LocalId>,
    /// Variables that are declared in front and that only the second half uses.
    pub(super) moved: BTreeSet<LocalId>,
}

impl Locals {
    /// `None` if a variable cannot be handed on by its value.
    pub(super) fn new(
        scene: &Scene<'_>,
        front: &[StmtId],
        rest: &[StmtId],
        object: LocalId,
    ) -> Option<Self> {
        let (in_front, in_rest) = (named(scene, front), named(scene, rest));
        let mut locals = Self {
            params: Vec::new(),
            handed_on: Vec::new(),
            moved: BTreeSet::new(),
        };
        for &param in &scene.function.params {
            if in_rest.contains(&param) {
                locals.params.push(param);
            }
        }
        let declared = front
            .iter()
            .flat_map(|&stmt| match &scene.tree.stmt(stmt).kind {
                StmtKind::Decl(decls) => &decls[..],
                _ => &[],
            });
        for decl in declared.filter(|decl| in_rest.contains(&decl.local) && decl.local != object) {
            match in_front.contains(&decl.local) || !is_constant(scene, decl) {
                true => locals.handed_on.push(decl.local),
                false => {
                    locals.moved.insert(decl.local);
                }
            }
        }
        let both = locals.params.iter().chain(&locals.handed_on);
        let can_go = both
            .clone()
            .all(|&local| stays_with_itself(scene, local, front))
            && locals.handed_on.iter().all(|&local| is_value(scene, local))
            && locals.handed_on.len() <= MAX_HANDED_ON;
        can_go.then_some(locals)
    }
}

/// The variables that statements name.
fn named(scene: &Scene<'_>, stmts: &[StmtId]) -> BTreeSet<LocalId> {
    let TokenRange { start, end } = range(scene, stmts);
    let exprs = scene.tree.exprs.iter();
    let inside = exprs.filter(|expr| start <= expr.range.start && expr.range.end <= end);
    inside
        .filter_map(|expr| match expr.kind {
            ExprKind::Name(Name::Local(local)) => Some(local),
            _ => None,
        })
        .collect()
}

/// Whether a variable gets nothing, or a constant, where it is declared: no matter when.
fn is_constant(scene: &Scene<'_>, decl: &LocalDecl) -> bool {
    match &decl.init {
        None => true,
        Some(Init::Expr(value)) => is_constant_value(scene, *value),
        Some(Init::List(_)) => false,
    }
}

fn is_constant_value(scene: &Scene<'_>, value: ExprId) -> bool {
    match scene.tree.expr(value).kind {
        ExprKind::Int(_) | ExprKind::Str(_) => true,
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        }
        | ExprKind::Cast { operand, .. } => is_constant_value(scene, operand),
        _ => scene.is_null(value),
    }
}

/// Whether the second half can get the value of a variable, as a parameter of its own.
fn is_value(scene: &Scene<'_>, local: LocalId) -> bool {
    let variable = scene.tree.local(local);
    let ty = &variable.ty;
    variable.is_automatic() && (is_number(ty) || ty.pointee().is_some())
}

/// Whether nothing but the variable's name leads to it behind `front`: its address goes to no
/// function there that may keep it.
fn stays_with_itself(scene: &Scene<'_>, local: LocalId, front: &[StmtId]) -> bool {
    let TokenRange { start, end } = range(scene, front);
    let exprs = (0u32..).map(ExprId).zip(&scene.tree.exprs);
    let mut addresses = exprs.filter(|(_, expr)| {
        let is_address = matches!(expr.kind, ExprKind::Unary { op: UnaryOp::AddressOf, operand }
            if owner(scene, operand) == Some(local));
        is_address && start <= expr.range.start && expr.range.end <= end
    });
    addresses.all(|(address, _)| match scene.parent_of_expr(address) {
        Some(Parent::Expr(call)) => scene.call(call).is_some_and(|(name, args)| {
            let at = args.iter().position(|&arg| arg == address);
            let own = at.and_then(|at| scene.cx.summaries().param(name, at));
            let is_own = own == Some(Param::Used);
            is_own || name.starts_with("PyArg_") || capi::effects(name).is_some()
        }),
        _ => false,
    })
}

/// The variable that a place is, or is a part of.
fn owner(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    match scene.tree.expr(place).kind {
        ExprKind::Name(Name::Local(local)) => Some(local),
        ExprKind::Member {
            base, arrow: false, ..
        }
        | ExprKind::Index { base, .. } => owner(scene, base),
        _ => None,
    }
}
