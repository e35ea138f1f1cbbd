//! Structs of a caller that a function fills with borrowed references: the struct owns them from
//! then on, and the caller releases them where it is done.
//!
//! ```c
//! memset(&args, 0, sizeof(args));             …
//! if (!fill(dict, &args.filter))              if (!fill(dict, &args.filter)) {
//!                                                 Py_XDECREF(args.filter.tag);
//!     return NULL;                                return NULL;
//!                                             }
//! run(&args);                                 run(&args);
//!                                             Py_XDECREF(args.filter.tag);
//! return PyLong_FromLong(1);                  …
//! ```
//!
//! That is right where the struct begins empty, dies with its caller, and the fields hold at the
//! releases what the function stored: then each reference is released that was taken, whatever else
//! is done to the object. The function itself takes none, nobody who gets the address writes the
//! fields, and the thread stays attached.

mod caller;
mod fields;
mod holders;
mod quiet;

use std::collections::{BTreeMap, BTreeSet};

use super::item::{Solved, solve_filling};
use super::reason::Reason;
use super::scene::{Scene, graph};
use crate::ast::ExprId;
use crate::edit::{Edit, Fix};
use crate::rule::{ItemId, PackageCx};

pub(super) use fields::Fields;

/// For each function that fills a struct of its callers the calls that change with that, and the
/// fix for all of them.
pub(super) fn fixes(
    cx: &PackageCx<'_>,
    solved: &BTreeMap<ItemId, Solved>,
) -> Vec<(ItemId, BTreeSet<ExprId>, Fix)> {
    let fills = |solved: &Solved| {
        let groups = solved
            .groups
            .iter()
            .filter_map(|group| group.fix.as_ref().err());
        let mut reasons = solved.declined.values().chain(groups);
        reasons.any(|why| *why == Reason::StoredBorrowed)
    };
    let items = solved.iter().filter(|(_, solved)| fills(solved));
    let fixes = items.filter_map(|(&item, _)| {
        let (calls, fix) = fix(cx, item)?;
        Some((item, calls, fix))
    });
    fixes.collect()
}

fn fix(cx: &PackageCx<'_>, item: ItemId) -> Option<(BTreeSet<ExprId>, Fix)> {
    let function = cx.function(item)?;
    let cfg = graph(function);
    let scene = Scene::new(cx, item, function, &cfg)?;
    let fields = Fields::of(&scene)?;
    let name = &function.name;
    // What it counts itself may be what the code releases by way of another field.
    let counts = function.tree.calls().any(|(_, name)| takes_reference(name));
    let is_alone =
        !counts && cx.definitions(name).count() == 1 && !cx.call_index().is_mentioned(name);
    if !is_alone || cx.calls_to(name).is_empty() || fields.are_touched_elsewhere(cx, item) {
        return None;
    }
    let solved = solve_filling(cx, item, &fields);
    let groups = solved.groups.iter().filter_map(|group| {
        let fix = group.fix.as_ref().ok()?;
        Some((&group.calls, fix))
    });
    let groups: Vec<_> = groups.collect();
    let calls: BTreeSet<ExprId> = groups
        .iter()
        .flat_map(|(calls, _)| *calls)
        .copied()
        .collect();
    if !fields.come_from(&scene, &calls) {
        return None;
    }
    let mut fix = Fix::safe(format!(
        "let the struct that `{name}` fills own its references"
    ));
    if let Some(assumption) = cx.other_callers(name) {
        fix.assume(assumption);
    }
    for (_, part) in groups {
        fix.include(part);
    }
    for &site in cx.calls_to(name) {
        fix.include(&caller::fix(cx, site, &fields)?);
    }
    fix.edits.sort_by_key(Edit::place);
    fix.edits.dedup();
    Some((calls, fix))
}

fn takes_reference(name: &str) -> bool {
    name.starts_with("Py_") && (name.ends_with("INCREF") || name.ends_with("NewRef"))
}
