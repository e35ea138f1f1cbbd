//! Nothing is released whose memory the function, or one that it calls, has freed by then.
//!
//! ```c
//! PyDict_GetItemRef(hosts, alias, &item);
//! PyDict_DelItemString(hosts, alias);
//! host_free(item);                              /* ends in `PyObject_Del(item)` */
//! Py_DECREF(item);
//! ```

use super::Failure;
use super::changed::Changed;
use super::proof::graph;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree};
use crate::capi::{self, Counts};
use crate::cfg::{InstrKind, Point, reaches};
use crate::program::Program;
use crate::source::ByteSpan;

/// How deep functions of the package are looked into.
const MAX_DEPTH: usize = 4;

/// The first such release that came into a function.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let tree = &changed.function.tree;
    let program = changed.original.program;
    let released = tree.calls().filter_map(|(release, name)| {
        let releases = matches!(capi::counts(name), Some(Counts::Release { .. }));
        let is_new = changed.is_inserted(tree.expr(release).range.start);
        let (_, args) = tree.call(release).filter(|_| releases && is_new)?;
        Some((release, tree.as_local(*args.first()?)?))
    });
    let mut freed = released.flat_map(|(release, local)| {
        let calls = tree.expr_ids();
        let freeing = calls.filter(move |&call| frees(program, tree, call, local, MAX_DEPTH));
        freeing.map(move |free| (free, local, release))
    });
    let (free, local, _) = freed.find(|&it| is_before(changed.function, it))?;
    let function = &changed.function.name;
    let variable = &tree.local(local).name;
    let name = tree.called(free).unwrap_or("a slot");
    let claim =
        format!("in `{function}`, `{name}` does not itself free the memory of `{variable}`");
    Some((None, Failure::Unknown(claim.into())))
}

/// Whether the function comes from one call to another, and `local` holds the same.
fn is_before(function: &Function, (free, local, release): (ExprId, LocalId, ExprId)) -> bool {
    let cfg = graph(function);
    let sets = cfg.steps().filter_map(|(point, instr)| match &instr.kind {
        InstrKind::Store { place, .. } if place.as_local() == Some(local) => Some(point),
        _ => None,
    });
    let sets: Vec<Point> = sets.collect();
    let ways = cfg.call(free).zip(cfg.call(release));
    ways.is_some_and(|(from, to)| reaches(&cfg, from.next(), to, &sets))
}

/// Whether a call frees the object that a variable holds without asking for its count.
fn frees(program: &Program<'_>, tree: &Tree, call: ExprId, local: LocalId, depth: usize) -> bool {
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return false;
    };
    let gets = |arg: &ExprId| tree.as_local(tree.without_casts(*arg)) == Some(local);
    let is_first = || args.first().is_some_and(gets);
    if let ExprKind::Member { field, .. } = &tree.expr(*callee).kind {
        return is_first() && matches!(&**field, "tp_free" | "tp_dealloc");
    }
    let Some(name) = tree.callee_name(*callee) else {
        return false;
    };
    let Some(at) = args.iter().position(gets) else {
        return false;
    };
    let mut own = program.functions_named(name).peekable();
    match (own.peek(), depth.checked_sub(1)) {
        (None, _) => is_first() && capi::acts(name).is_some_and(|acts| acts.frees),
        (Some(_), None) => false,
        (Some(_), Some(depth)) => own.any(|(_, function)| {
            let param = function.params.get(at);
            param.is_some_and(|&param| frees_inside(program, &function.tree, param, depth))
        }),
    }
}

/// Whether a function frees what a parameter, or a variable that is set to it, holds:
/// `Host *host = (Host *)self;`.
fn frees_inside(program: &Program<'_>, tree: &Tree, param: LocalId, depth: usize) -> bool {
    let same = tree.stores().filter_map(|(local, value)| {
        (tree.as_local(tree.without_casts(value)) == Some(param)).then_some(local)
    });
    let mut same = std::iter::once(param).chain(same);
    same.any(|local| {
        let mut calls = tree.expr_ids();
        calls.any(|call| frees(program, tree, call, local, depth))
    })
}
