//! The statements that a section on a list holds: all that read it or ask for its size, as far as one
//! leads to the other.

use std::collections::BTreeSet;

use super::{Held, argument};
use crate::ast::{ExprId, LocalId, StmtKind, TokenRange};
use crate::capi::{self, LIST_SIZES, UNCHECKED_ITEMS};
use crate::cfg::{InstrKind, Point, reaches};
use crate::transforms::critical_section::dict_next::late::Late;
use crate::transforms::critical_section::dict_next::null::{may_be_null, points};
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};
use crate::transforms::critical_section::dict_next::site::{Kind, Region, Site};
use crate::transforms::critical_section::dict_next::wide::keeps_its_variables;

impl<'a> Held<'a> {
    /// The statements around `read`, and those of the reads in `open` that go by the same size; `None`
    /// if the list is no variable, or they are not those of one block.
    pub(super) fn new(scope: &'a Scope<'a>, read: ExprId, open: &[ExprId]) -> Option<Self> {
        let list: LocalId = scope.local(argument(scope, read, 0)?)?;
        let of_list = |names: &[&str]| -> Vec<ExprId> {
            let calls = scope.tree().calls();
            let calls = calls.filter(|(call, name)| {
                let object = argument(scope, *call, 0);
                names.contains(name) && object.and_then(|it| scope.local(it)) == Some(list)
            });
            calls.map(|(call, _)| call).collect()
        };
        let (reads, asks) = (of_list(&UNCHECKED_ITEMS), of_list(&LIST_SIZES));
        let stores = stores(scope, list);
        let mut held: BTreeSet<ExprId> = BTreeSet::from([read]);
        loop {
            let all: Vec<ExprId> = held.iter().copied().collect();
            let region = region(scope, &all)?;
            let range = range(scope, region);
            let is_inside = |call: &&ExprId| inside(scope.expr(**call).range, range);
            let is_asked = |ask: &&ExprId| {
                let mut reads = reads.iter().filter(is_inside);
                reads.any(|&read| meets(scope, **ask, read, &stores))
            };
            let goes_by = |read: &&ExprId| {
                let mut asks = asks.iter().filter(is_inside);
                open.contains(*read) && asks.any(|&ask| meets(scope, ask, **read, &stores))
            };
            let before = held.len();
            held.extend(reads.iter().chain(&asks).filter(is_inside));
            held.extend(asks.iter().filter(is_asked));
            held.extend(reads.iter().filter(goes_by));
            if held.len() == before {
                let within = |calls: &[ExprId]| -> Vec<ExprId> {
                    calls.iter().filter(is_inside).copied().collect()
                };
                return Some(Self {
                    scope,
                    reads: within(&reads),
                    asks: within(&asks),
                    region,
                });
            }
        }
    }
}

/// The steps that set a variable.
pub(super) fn stores(scope: &Scope<'_>, local: LocalId) -> Vec<Point> {
    let stores = points(scope).filter(|(_, step)| {
        matches!(&step.kind, InstrKind::Store { place, .. } if place.as_local() == Some(local))
    });
    stores.map(|(at, _)| at).collect()
}

/// Whether a path leads from one of two calls to the other, and the list stays the same variable.
fn meets(scope: &Scope<'_>, one: ExprId, other: ExprId, stores: &[Point]) -> bool {
    match (scope.cfg.call(one), scope.cfg.call(other)) {
        (Some(one), Some(other)) => {
            reaches(&scope.cfg, one, other, stores) || reaches(&scope.cfg, other, one, stores)
        }
        _ => true,
    }
}

/// The statements of the innermost block that has all of `calls`.
fn region(scope: &Scope<'_>, calls: &[ExprId]) -> Option<Region> {
    let within = |call: ExprId, range: TokenRange| inside(scope.expr(call).range, range);
    let holds_all = |range| calls.iter().all(|&call| within(call, range));
    let mut around = scope.ancestors(scope.stmt_of(*calls.first()?)?);
    let stmts = around.find_map(|stmt| match scope.stmt(stmt) {
        StmtKind::Block(stmts) if holds_all(scope.range(stmt)) => Some(stmts),
        _ => None,
    })?;
    let has_any = |stmt: &_| calls.iter().any(|&call| within(call, scope.range(*stmt)));
    let mut with = stmts.iter().copied().filter(has_any);
    let first = with.next()?;
    Some(Region {
        first,
        last: with.next_back().unwrap_or(first),
    })
}

/// The tokens of a region.
pub(super) fn range(scope: &Scope<'_>, region: Region) -> TokenRange {
    TokenRange {
        start: scope.range(region.first).start,
        end: scope.range(region.last).end,
    }
}

/// Whether a label that a `goto` may lead to stands in the region.
pub(super) fn has_labels(scope: &Scope<'_>, range: TokenRange) -> bool {
    let mut stmts = scope.tree().stmts.iter();
    stmts.any(|stmt| matches!(stmt.kind, StmtKind::Label { .. }) && inside(stmt.range, range))
}

/// Whether a macro of a header that is not seen may leave the region: `IGRAPH_ERROR("no list", 4);`.
pub(super) fn may_be_left_unseen(scope: &Scope<'_>, range: TokenRange) -> bool {
    let is_upper = |name: &str| !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut calls = scope.tree().calls();
    calls.any(|(call, name)| {
        is_upper(name)
            && inside(scope.expr(call).range, range)
            && capi::effects(name).is_none()
            && scope.cx.definitions(name).next().is_none()
    })
}

/// The site of a section around the region; `None` if the list may be `NULL` where it begins, or if it
/// declares what is used behind it.
pub(super) fn site(scope: &Scope<'_>, read: ExprId, list: ExprId, region: Region) -> Option<Site> {
    let is_loop = scope.is_loop(region.last);
    let mut site = Site {
        call: read,
        dict: list,
        key: None,
        value: None,
        iteration: region.last,
        region,
        late: None,
        body: region,
        cond: read,
        step: None,
        kind: if is_loop { Kind::Loop } else { Kind::Once },
        is_unconditional: true,
        may_be_null: false,
        gives_item: true,
    };
    if !keeps_its_variables(scope, &site) {
        let late = Late::new(scope, region.first)?;
        site.region.first = late.next;
        site.late = Some(late);
    }
    let begin = scope.cfg.before(region.first)?;
    let fits = keeps_its_variables(scope, &site) && !may_be_null(scope, list, begin);
    fits.then_some(site)
}
