//! What functions of the package do by what they call.

use std::collections::BTreeSet;

use super::errno::{keeps_errno, wants_errno};
use super::thread::gives_up_thread;
use crate::ast::{ExprKind, Function, Name};
use crate::capi::GIVE_UP_THREAD;
use crate::program::ItemId;
use crate::rule::{ByCalls, PackageCx};
use crate::strong::ERRNO_READERS;

/// Looks at all functions of the package that may give up the thread state, or read `errno`.
pub(super) fn by_calls<'c>(cx: &'c PackageCx<'_>) -> &'c ByCalls {
    cx.by_calls(|cx| {
        let named = naming_errno(cx).into_iter();
        let keeps = |item: &ItemId| cx.function(*item).is_some_and(|it| keeps_errno(cx, it));
        let (keeping, others): (BTreeSet<ItemId>, _) = named.partition(keeps);
        let keeping = keeping.into_iter().filter_map(|item| cx.function(item));
        let keeping_errno = keeping.map(|function| (*function.name).into()).collect();
        let wants = |function: &Function, known: &_| wants_errno(function, known, &keeping_errno);
        ByCalls {
            giving_up_thread: spread(cx, GIVE_UP_THREAD, BTreeSet::new(), gives_up_thread),
            reading_errno: spread(cx, &ERRNO_READERS, others, wants),
            keeping_errno,
        }
    })
}

/// The names of functions for which `holds`, which may ask for those that are known: the callers
/// of `seeds`, those in `items`, and their callers in turn.
fn spread(
    cx: &PackageCx<'_>,
    seeds: &[&str],
    items: BTreeSet<ItemId>,
    holds: impl Fn(&Function, &BTreeSet<Box<str>>) -> bool,
) -> BTreeSet<Box<str>> {
    let callers = |name: &str| cx.calls_to(name).iter().map(|site| site.item);
    let mut known: BTreeSet<Box<str>> = BTreeSet::new();
    let mut open = items;
    open.extend(seeds.iter().flat_map(|name| callers(name)));
    while let Some(item) = open.pop_first() {
        let Some(function) = cx.function(item) else {
            continue;
        };
        let name = &*function.name;
        if !known.contains(name) && holds(function, &known) {
            known.insert(name.into());
            open.extend(callers(name));
        }
    }
    known
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
