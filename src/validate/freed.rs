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
use crate::ast::{ExprId, ExprKind, LocalId, Tree};
use crate::capi;
use crate::cfg::{InstrKind, Point, reaches};
use crate::program::Program;
use crate::source::ByteSpan;

/// How deep functions of the package are looked into.
const MAX_DEPTH: usize = 4;

/// The first such release that came into a function.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let tree = &changed.function.tree;
    let program = changed.original.program;
    let freed: Vec<(ExprId, LocalId)> = tree
        .expr_ids()
        .flat_map(|call| freed_by(program, tree, call, MAX_DEPTH))
        .collect();
    if freed.is_empty() {
        return None;
    }
    let cfg = graph(changed.function);
    let is_released = |&(call, local): &(ExprId, LocalId)| {
        let Some(from) = cfg.call(call) else {
            return false;
        };
        let sets = cfg.steps().filter_map(|(point, instr)| match &instr.kind {
            InstrKind::Store { place, .. } if place.as_local() == Some(local) => Some(point),
            _ => None,
        });
        let sets: Vec<Point> = sets.collect();
        tree.calls().any(|(release, name)| {
            let args = tree.call(release).map_or(&[][..], |(_, args)| args);
            capi::counts(name).is_some_and(|it| matches!(it, capi::Counts::Release { .. }))
                && changed.is_inserted(tree.expr(release).range.start)
                && args.first().and_then(|&arg| tree.as_local(arg)) == Some(local)
                && cfg
                    .call(release)
                    .is_some_and(|to| reaches(&cfg, from.next(), to, &sets))
        })
    };
    let (call, local) = freed.into_iter().find(is_released)?;
    let function = &changed.function.name;
    let (variable, name) = (
        &tree.local(local).name,
        tree.called(call).unwrap_or("a slot"),
    );
    let claim =
        format!("in `{function}`, `{name}` does not free the memory of `{variable}` itself");
    Some((None, Failure::Unknown(claim)))
}

/// The variables whose objects a call frees without asking for their counts.
fn freed_by(
    program: &Program<'_>,
    tree: &Tree,
    call: ExprId,
    depth: usize,
) -> Vec<(ExprId, LocalId)> {
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return Vec::new();
    };
    let local = |arg: ExprId| tree.as_local(tree.without_casts(arg));
    let first = || args.first().and_then(|&arg| local(arg));
    if let ExprKind::Member { field, .. } = &tree.expr(*callee).kind {
        let frees = matches!(&**field, "tp_free" | "tp_dealloc");
        return first()
            .filter(|_| frees)
            .map(|it| (call, it))
            .into_iter()
            .collect();
    }
    let Some(name) = tree.callee_name(*callee) else {
        return Vec::new();
    };
    let mut own = program.functions_named(name).peekable();
    if own.peek().is_none() {
        let frees = capi::acts(name).is_some_and(|acts| acts.frees);
        return first()
            .filter(|_| frees)
            .map(|it| (call, it))
            .into_iter()
            .collect();
    }
    let Some(depth) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let params = own.flat_map(|(_, function)| {
        let tree = &function.tree;
        let inner = tree.expr_ids();
        let freed = inner.flat_map(|inner| freed_by(program, tree, inner, depth));
        let freed = freed.flat_map(|(_, local)| stands_for(tree, local));
        let at = freed.filter_map(|local| function.params.iter().position(|it| *it == local));
        at.collect::<Vec<usize>>()
    });
    let freed = params.filter_map(|at| Some((call, local(*args.get(at)?)?)));
    freed.collect()
}

/// A variable, and those that it was set to: `Host *host = (Host *)self;`.
fn stands_for(tree: &Tree, local: LocalId) -> Vec<LocalId> {
    let stores = tree.stores().filter(|(given, _)| *given == local);
    let values = stores.filter_map(|(_, value)| tree.as_local(tree.without_casts(value)));
    std::iter::once(local).chain(values).collect()
}
