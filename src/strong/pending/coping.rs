//! Functions of the package that deal with an object which is not there.

use crate::ast::{ExprId, Function, LocalId, StmtKind, UnaryOp};
use crate::capi::{OnNull, on_null, takes_exception};
use crate::cfg::{Cfg, InstrKind, Op, Operand, Terminator};
use crate::rule::PackageCx;
use crate::strong::scene::graph;

/// How many functions an object is followed through.
const MAX_DEPTH: u32 = 3;

/// Whether a function of the package tests its parameter `at` for `NULL`, and then whether it looks
/// after exceptions as well.
///
/// ```c
/// static long as_long_or(PyObject *o, long other)
/// {
///     if (o == NULL) {
///         PyErr_Clear();
///         return other;
///     }
/// ```
pub(super) fn copes(cx: &PackageCx<'_>, name: &str, at: usize) -> Option<bool> {
    copes_within(cx, name, at, MAX_DEPTH)
}

fn copes_within(cx: &PackageCx<'_>, name: &str, at: usize, depth: u32) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    let mut own = cx.definitions(name).peekable();
    own.peek()?;
    let each = own.map(|(_, function)| {
        let param = *function.params.get(at)?;
        let mut calls = function.tree.calls();
        let is_tested = tests(&graph(function), param);
        let clears = is_tested.then(|| calls.any(|(_, name)| takes_exception(name)));
        clears.or_else(|| handed_on(cx, function, param, depth))
    });
    each.reduce(both).flatten()
}

/// The same of what a function hands its parameter on to, which is all that it does with it, but for
/// giving it back: `Py_XINCREF(o); return o;`.
fn handed_on(cx: &PackageCx<'_>, function: &Function, param: LocalId, depth: u32) -> Option<bool> {
    let tree = &function.tree;
    let is_param = |arg: &ExprId| tree.as_local(tree.without_casts(*arg)) == Some(param);
    let mut handed = Vec::new();
    for (call, name) in tree.calls() {
        let args = tree.call(call).map_or(&[][..], |(_, args)| args);
        let given = args.iter().enumerate().filter(|(_, arg)| is_param(arg));
        handed.extend(given.map(|(at, _)| (name, at)));
    }
    let uses = tree
        .expr_ids()
        .filter(|&expr| tree.as_local(expr) == Some(param));
    let returned = tree.stmts.iter().filter(|stmt| match &stmt.kind {
        StmtKind::Return(Some(value)) => is_param(value),
        _ => false,
    });
    if handed.len() + returned.count() != uses.count() {
        return None;
    }
    let takes = |name: &str, at| matches!(on_null(name, at), Some(OnNull::Takes | OnNull::Gives));
    let each = handed.into_iter().map(|(name, at)| match takes(name, at) {
        true => Some(false),
        false => copes_within(cx, name, at, depth),
    });
    each.reduce(both).flatten()
}

fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    Some(one? && other?)
}

/// Whether a branch of a function goes by whether `local` is `NULL`.
fn tests(cfg: &Cfg, local: LocalId) -> bool {
    let instrs = || cfg.iter().flat_map(|(_, block)| &block.instrs);
    let is_it = |operand: &Operand| {
        instrs().any(|instr| match &instr.kind {
            InstrKind::Load { dst, place } => {
                *operand == Operand::Temp(*dst) && place.as_local() == Some(local)
            }
            _ => false,
        })
    };
    let is_tested = |operand: &Operand, other: &Operand| other.is_zero() && is_it(operand);
    let by_value = instrs().any(|instr| match &instr.kind {
        InstrKind::Op { op, operands, .. } => match &operands[..] {
            [only] => matches!(op, Op::Unary(UnaryOp::Not)) && is_it(only),
            [one, other] => is_tested(one, other) || is_tested(other, one),
            _ => false,
        },
        _ => false,
    });
    by_value
        || cfg.iter().any(|(_, block)| match &block.terminator {
            Terminator::Branch { condition, .. } => is_tested(&condition.lhs, &condition.rhs),
            _ => false,
        })
}
