//! What functions of the package do with the error number of what was called before.

use std::collections::BTreeSet;

use super::{Around, Errno, READERS};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, StmtKind};
use crate::capi;
use crate::cfg::{self, Cfg, Point};
use crate::rule::{ErrnoFunctions, ItemId, PackageCx, spread};

/// Looks at all functions of the package that may read `errno`, and at what they call.
pub(crate) fn errno_functions<'c>(cx: &'c PackageCx<'_>) -> &'c ErrnoFunctions {
    cx.errno_functions(|cx| {
        let named = naming_errno(cx).into_iter();
        let keeps = |item: &ItemId| cx.function(*item).is_some_and(|it| keeps_errno(cx, it));
        let (keeping, others): (BTreeSet<ItemId>, _) = named.partition(keeps);
        let keeping = keeping.into_iter().filter_map(|item| cx.function(item));
        let keeping = keeping.map(|it| (*it.name).into()).collect();
        let wants = |function: &Function, reading: &BTreeSet<Box<str>>| {
            let cfg = cfg::build(function, &capi::never_returns);
            let entry = Point {
                block: Cfg::ENTRY,
                index: 0,
            };
            let around = Around {
                reading,
                keeping: &keeping,
                is_awaited: false,
            };
            Errno::new(&cfg, around).is_wanted(entry)
        };
        let reading = spread(cx, &READERS, others.clone(), wants);
        let awaited = awaited(cx, (&reading, &keeping), others);
        ErrnoFunctions {
            reading,
            keeping,
            awaited,
        }
    })
}

/// The functions after whose calls a caller reads the number: `if (remove_all(path) < 0) return
/// PyErr_SetFromErrno(PyExc_OSError);`.
fn awaited(
    cx: &PackageCx<'_>,
    (reading, keeping): (&BTreeSet<Box<str>>, &BTreeSet<Box<str>>),
    naming: BTreeSet<ItemId>,
) -> BTreeSet<Box<str>> {
    let callers = |name: &str| cx.calls_to(name).iter().map(|site| site.item);
    let readers = READERS.into_iter().chain(reading.iter().map(|it| &**it));
    let mut open = naming;
    open.extend(readers.flat_map(callers));
    let mut awaited: BTreeSet<Box<str>> = BTreeSet::new();
    while let Some(item) = open.pop_first() {
        let Some(function) = cx.function(item) else {
            continue;
        };
        let cfg = cfg::build(function, &capi::never_returns);
        let around = Around {
            reading,
            keeping,
            is_awaited: awaited.contains(&*function.name),
        };
        let errno = Errno::new(&cfg, around);
        for (at, step) in cfg.steps() {
            let Some((name, _)) = step.named_call() else {
                continue;
            };
            let mut own = cx.definitions(name).map(|(item, _)| item).peekable();
            if own.peek().is_some() && errno.is_wanted(at.next()) && awaited.insert(name.into()) {
                open.extend(own);
            }
        }
    }
    awaited
}

/// Whether all that a function does with the error number is to put it back.
///
/// ```c
/// int saved = errno;
/// free(*p);
/// errno = saved;
/// ```
fn keeps_errno(cx: &PackageCx<'_>, function: &Function) -> bool {
    let tree = &function.tree;
    let is_errno = |id: &ExprId| matches!(&tree.expr(*id).kind, ExprKind::Name(Name::Global(name)) if &**name == "errno");
    let saved = tree.stores().filter(|(_, value)| is_errno(value));
    let (locals, reads): (BTreeSet<LocalId>, BTreeSet<ExprId>) = saved.unzip();
    let is_saved = |id: ExprId| {
        let local = tree.as_local(id);
        local.is_some_and(|local| locals.contains(&local))
    };
    let whole = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Expr(expr) => Some(&tree.expr(expr).kind),
        _ => None,
    });
    let assigned = whole.filter_map(|kind| match *kind {
        ExprKind::Assign { op: None, lhs, rhs } => Some((lhs, rhs)),
        _ => None,
    });
    let mut known = reads;
    for (lhs, rhs) in assigned {
        if is_errno(&lhs) && is_saved(rhs) {
            known.extend([lhs, rhs]);
        } else if is_saved(lhs) {
            known.insert(lhs);
        }
    }
    let mut ids = tree.expr_ids();
    let mut calls = tree.calls();
    !locals.is_empty()
        && ids.all(|id| known.contains(&id) || !is_errno(&id) && !is_saved(id))
        && calls.all(|(_, name)| !super::reads(name) && cx.definitions(name).next().is_none())
}

/// The functions in which the word `errno` stands.
fn naming_errno(cx: &PackageCx<'_>) -> BTreeSet<ItemId> {
    let items = (0u32..).map(ItemId).take(cx.program.items.len());
    let names = |item: &ItemId| {
        let exprs = cx.function(*item).map(|function| &function.tree.exprs);
        exprs.is_some_and(|exprs| {
            let is_errno = |kind: &ExprKind| matches!(kind, ExprKind::Name(Name::Global(name)) if &**name == "errno");
            exprs.iter().any(|expr| is_errno(&expr.kind))
        })
    };
    items.filter(names).collect()
}
