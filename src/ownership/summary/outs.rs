//! Pointers into a parameter that are stored through other parameters.
//!
//! ```c
//! static void word(char *text, char **end) { *end = strchr(text, ' '); }
//! static int field(PyObject *tuple, PyObject **type) { *type = PyTuple_GET_ITEM(tuple, 0); … }
//! ```
//!
//! Where they go is the caller's business: to a variable of its own, mostly.

use std::fmt;

use super::Summaries;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};
use crate::capi::stored;
use crate::ownership::track::Callees;

/// Positions of parameters that pointers are stored through; those up to 63.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outs(u64);

impl fmt::Debug for Outs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let positions = (0..64).filter(|&at| self.contains(at));
        f.debug_set().entries(positions).finish()
    }
}

impl Outs {
    pub(super) fn contains(self, at: usize) -> bool {
        at < 64 && self.0 & 1 << at != 0
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn of(at: usize) -> Option<Self> {
        (at < 64).then(|| Self(1 << at))
    }
}

/// The parameters through which pointers are stored at `steps`, if all of them are such stores.
pub(super) fn outs(
    function: &Function,
    steps: impl Iterator<Item = ExprId>,
    known: &Summaries,
) -> Option<Outs> {
    let stores = Stores { function, known };
    steps
        .map(|step| stores.at(step))
        .try_fold(Outs::default(), |outs, more| Some(outs.with(more?)))
}

struct Stores<'a> {
    function: &'a Function,
    known: &'a Summaries,
}

impl Stores<'_> {
    fn at(&self, step: ExprId) -> Option<Outs> {
        let tree = &self.function.tree;
        match &tree.expr(step).kind {
            ExprKind::Assign { op: None, lhs, .. } => self.place(tree.without_casts(*lhs)),
            ExprKind::Call { callee, args } => self.by_call(tree.callee_name(*callee)?, args),
            _ => None,
        }
    }

    /// The same for a call, which must keep nothing itself.
    fn by_call(&self, name: &str, args: &[ExprId]) -> Option<Outs> {
        let positions = 0..args.len();
        if positions
            .clone()
            .any(|at| self.known.keeps(name, at).is_some())
        {
            return None;
        }
        let mut outs = Outs::default();
        for (at, &arg) in args.iter().enumerate() {
            let mut from = positions.clone();
            let format = |at: usize| self.function.tree.as_string(*args.get(at)?);
            let is_out = stored(name, at, format).is_pointer(name)
                || from.any(|from| from != at && self.known.stores(name, from, at));
            if is_out {
                outs = outs.with(self.target(arg)?);
            }
        }
        Some(outs)
    }

    /// The parameter that `place` is reached through: `*end`, `found->text`, `ends[1]`.
    fn place(&self, place: ExprId) -> Option<Outs> {
        match self.function.tree.expr(place).kind {
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand: pointer,
            }
            | ExprKind::Index { base: pointer, .. }
            | ExprKind::Member {
                base: pointer,
                arrow: true,
                ..
            } => self.param(pointer),
            ExprKind::Member { base, .. } => self.place(base),
            _ => None,
        }
    }

    /// The parameter that `pointer` is, if it is the caller's still.
    fn param(&self, pointer: ExprId) -> Option<Outs> {
        let tree = &self.function.tree;
        let local = tree.as_local(tree.without_casts(pointer))?;
        let mut params = self.function.params.iter();
        let at = params.position(|&param| param == local)?;
        is_fixed(tree, local).then(|| Outs::of(at)).flatten()
    }

    /// The same for an argument that a pointer is stored through; none if that is a variable of the
    /// function, or `NULL`.
    fn target(&self, arg: ExprId) -> Option<Outs> {
        let tree = &self.function.tree;
        let arg = tree.without_casts(arg);
        match tree.expr(arg).kind {
            _ if tree.is_null(arg) => Some(Outs::default()),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => match tree.as_local(operand) {
                Some(local) if tree.local(local).is_automatic() => Some(Outs::default()),
                Some(_) => None,
                None => self.place(operand),
            },
            _ => self.param(arg),
        }
    }
}

/// Whether nothing assigns to `local`, by its name or otherwise.
fn is_fixed(tree: &Tree, local: LocalId) -> bool {
    let is_it = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Name(Name::Local(of)) if of == local);
    !tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Assign { lhs, .. } => is_it(lhs),
        ExprKind::Unary { op, operand } => {
            let reads = matches!(
                op,
                UnaryOp::Deref
                    | UnaryOp::Not
                    | UnaryOp::Plus
                    | UnaryOp::Minus
                    | UnaryOp::Complement
            );
            !reads && is_it(operand)
        }
        _ => false,
    })
}
