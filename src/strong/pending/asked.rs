//! Functions without a result that leave it to their callers to ask whether they have failed.
//!
//! ```c
//! static void get_point(PyObject *l, double *x, double *y)     get_point(list, &x, &y);
//! {                                                            if (PyErr_Occurred())
//!     *x = PyFloat_AsDouble(PyList_GET_ITEM(l, 0));                return NULL;
//!     *y = PyFloat_AsDouble(PyList_GET_ITEM(l, 1));
//! ```

use super::Pending;
use super::entered::exceptions;
use super::later::{Later, is_asking};
use super::raising::{Signs, helpers};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree, UnaryOp};
use crate::cfg::{Cfg, Instr, InstrKind, Operand, Point, Terminator, reaches};
use crate::program::CallSite;
use crate::rule::{Mention, PackageCx};
use crate::strong::scene::graph;
use crate::strong::types::is_number;

/// How many functions without a result are looked through.
const MAX_DEPTH: usize = 3;

/// Who asks whether a function has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Asking {
    Nobody,
    /// Some callers do, others do not.
    Some,
    /// All callers do.
    All,
}

/// Who asks, by `PyErr_Occurred` alone, whether `function` has failed.
pub(in crate::strong) fn asking(cx: &PackageCx<'_>, function: &Function) -> Asking {
    asking_within(cx, function, MAX_DEPTH)
}

fn asking_within(cx: &PackageCx<'_>, function: &Function, depth: usize) -> Asking {
    let sites = cx.calls_to(&function.name).iter();
    let is_named = matches!(cx.mention(&function.name), Some(Mention::Address(_)));
    let unknown = is_named.then_some(Asking::Nobody);
    let callers = sites.map(|site| asking_at(cx, function, site, depth));
    let both = |one, other| if one == other { one } else { Asking::Some };
    let all = callers.chain(unknown).reduce(both);
    all.unwrap_or(Asking::Nobody)
}

/// Who asks behind a call of `function`: the caller, or those that call it.
fn asking_at(cx: &PackageCx<'_>, function: &Function, site: &CallSite, depth: usize) -> Asking {
    let caller = cx.function(site.item).filter(|it| it.name != function.name);
    let Some(caller) = caller.filter(|_| depth > 0) else {
        return Asking::Nobody;
    };
    let cfg = graph(caller);
    let helpers = helpers(cx, &caller.tree, &cx.exceptions(exceptions).returns);
    let pending = Pending::new(&cfg, caller, helpers, false);
    let Some(point) = cfg.call(site.expr) else {
        return Asking::Nobody;
    };
    let later = Later::new(&pending, point);
    match later.asks {
        true if asks_always(&cfg, point) => Asking::All,
        true => Asking::Some,
        false if asks_otherwise(cx, caller, site.expr, &later) => Asking::Some,
        false if caller.ret.is_void() => asking_within(cx, caller, depth - 1),
        false => Asking::Nobody,
    }
}

/// Whether `caller` asks behind `call` by a function of the package, or looks at what the function
/// has left in a variable: -1, or `NULL`.
///
/// ```c
/// get_count(list, &count);
/// if (count < 0 || failed())
///     return NULL;
/// ```
fn asks_otherwise(cx: &PackageCx<'_>, caller: &Function, call: ExprId, later: &Later<'_>) -> bool {
    let tree = &caller.tree;
    let mut outs = outs(tree, call);
    let asks = |function: &Function| {
        let mut calls = function.tree.calls();
        !function.ret.is_void()
            && function.params.is_empty()
            && calls.any(|(_, name)| name == "PyErr_Occurred")
    };
    outs.any(|out| later.tests(out, &Signs::of_output(is_number(&tree.local(out).ty))))
        || later.calls(|name| cx.definitions(name).any(|(_, function)| asks(function)))
}

/// The variables whose addresses a call gets.
pub(super) fn outs(tree: &Tree, call: ExprId) -> impl Iterator<Item = LocalId> {
    let args = match &tree.expr(call).kind {
        ExprKind::Call { args, .. } => args.as_slice(),
        _ => &[],
    };
    args.iter().filter_map(|&arg| {
        let ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } = tree.expr(tree.without_casts(arg)).kind
        else {
            return None;
        };
        tree.as_local(operand)
    })
}

/// Whether all ways from `point` to a result come by a question for an exception. Those that do not
/// ask by what the function has left there, which an exit that is new leaves as it is:
///
/// ```c
/// get_x(list, &x);
/// if (x == -1.0 && PyErr_Occurred())
///     return NULL;
/// ```
fn asks_always(cfg: &Cfg, point: Point) -> bool {
    let asked: Vec<Point> = cfg
        .iter()
        .flat_map(|(block, content)| {
            let asks = |(_, instr): &(usize, &Instr)| {
                matches!(&instr.kind, InstrKind::Call { callee, .. } if is_asking(callee))
            };
            let indices = content.instrs.iter().enumerate().filter(asks);
            indices.map(move |(index, _)| Point { block, index })
        })
        .collect();
    let tells = |end: &Point| match cfg.block(end.block).terminator {
        Terminator::Return(Some(Operand::Null), _) => true,
        Terminator::Return(Some(Operand::Int(number)), _) => number < 0,
        _ => false,
    };
    let mut ends = cfg.returns().filter(|end| !tells(end));
    !ends.any(|end| reaches(cfg, point, end, &asked))
}
