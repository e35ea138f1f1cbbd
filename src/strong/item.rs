//! What becomes of the lookups of one function.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::OWN;
use super::emit;
use super::emit::hand_out;
use super::emit::presence;
use super::kept;
use super::lent;
use super::loans::Fields;
use super::plan;
use super::plan::Planned;
use super::reason::Reason;
use super::scene::{Scene, graph};
use super::shape::{Shape, shape};
use super::snapshot;
use crate::ast::{BinaryOp, ExprId, ExprKind, Parent};
use crate::capi::{self, Absent, Form, Replacement};
use crate::edit::Fix;
use crate::provenance::{SharedKind, Verdict};
use crate::rule::{CallSite, ItemId, Outcome, PackageCx};

/// The lookups of a function and what it takes to own what they give.
#[derive(Default)]
pub(super) struct Solved {
    /// Lookups that need no group.
    outcomes: BTreeMap<ExprId, Outcome>,
    /// Lookups, and calls of functions that give new references from now on, without a change.
    pub declined: BTreeMap<ExprId, Reason>,
    /// Changes that go together, with the calls they are about.
    pub groups: Vec<Group>,
    /// What the function's other returns need to give new references as well; `None` if it is not
    /// changed to do that.
    pub returns: Option<Result<Fix, Reason>>,
}

/// Calls that change together.
pub(super) struct Group {
    pub calls: Vec<ExprId>,
    pub fix: Result<Fix, Reason>,
}

impl Solved {
    /// All changes.
    pub(super) fn fixes(&self) -> impl Iterator<Item = &Fix> {
        let alone = self.outcomes.values().filter_map(|outcome| match outcome {
            Outcome::Fix(fix) => Some(fix),
            Outcome::Safe(_) | Outcome::Manual(_) => None,
        });
        let groups = self.groups.iter().map(|group| &group.fix);
        let parts = groups.chain(&self.returns);
        alone.chain(parts.filter_map(|fix| fix.as_ref().ok()))
    }

    /// What becomes of each call.
    pub(super) fn into_outcomes(self) -> BTreeMap<ExprId, Outcome> {
        let mut outcomes = self.outcomes;
        let declined = self.declined.iter();
        outcomes.extend(declined.map(|(&call, why)| (call, manual(why))));
        for group in self.groups {
            let outcome = match group.fix {
                Ok(fix) => Outcome::Fix(fix),
                Err(reason) => manual(&reason),
            };
            let calls = group.calls.into_iter();
            outcomes.extend(calls.map(|call| (call, outcome.clone())));
        }
        outcomes
    }
}

/// Where the container of each lookup of a function comes from.
fn verdicts(cx: &PackageCx<'_>, item: ItemId) -> BTreeMap<ExprId, Verdict> {
    let exprs = cx.tree(item).map_or(&[][..], |tree| &tree.exprs);
    let exprs = (0u32..).zip(exprs).map(|(at, _)| ExprId(at));
    exprs
        .filter(|&expr| replacement_of(cx, item, expr).is_some())
        .map(|expr| (expr, cx.provenance(CallSite { item, expr }, 0)))
        .collect()
}

pub(super) fn replacement_of(
    cx: &PackageCx<'_>,
    item: ItemId,
    call: ExprId,
) -> Option<&'static Replacement> {
    let tree = cx.tree(item)?;
    let ExprKind::Call { callee, .. } = tree.expr(call).kind else {
        return None;
    };
    capi::replacement(tree.callee_name(callee)?)
}

/// What becomes of each lookup of a function if the functions called `helpers` return new
/// references from now on.
pub(super) fn solve(cx: &PackageCx<'_>, item: ItemId, helpers: &BTreeSet<String>) -> Solved {
    solve_with(cx, item, helpers, None)
}

/// What becomes of them if the struct of a caller owns what the function stores in `fields`.
pub(super) fn solve_filling(cx: &PackageCx<'_>, item: ItemId, fields: &Fields) -> Solved {
    solve_with(cx, item, &BTreeSet::new(), Some(fields))
}

fn solve_with(
    cx: &PackageCx<'_>,
    item: ItemId,
    helpers: &BTreeSet<String>,
    fields: Option<&Fields>,
) -> Solved {
    let mut solved = Solved::default();
    let Some(function) = cx.function(item) else {
        return solved;
    };
    let mut calls = shared(cx, item, &mut solved.outcomes);
    let exprs = (0u32..).zip(&function.tree.exprs);
    calls.extend(exprs.filter_map(|(at, expr)| match expr.kind {
        ExprKind::Call { callee, .. } => {
            let name = function.tree.callee_name(callee)?;
            helpers.contains(name).then_some((ExprId(at), &OWN))
        }
        _ => None,
    }));
    let cfg = graph(function);
    let Some(mut scene) = Scene::new(cx, item, function, &cfg) else {
        let made = Reason::InMacro(function.name.clone());
        solved.declined = calls
            .iter()
            .map(|(call, _)| (*call, made.clone()))
            .collect();
        return solved;
    };
    scene.fills = fields;
    scene.hands_out = helpers.contains(&function.name);
    calls.retain(|&(call, replacement)| {
        let outcome = without_group(&scene, call, replacement);
        let is_open = outcome.is_none();
        solved
            .outcomes
            .extend(outcome.map(|outcome| (call, outcome)));
        is_open
    });
    let plan = plan::plan(&scene, &calls);
    let lent = plan
        .stuck
        .iter()
        .filter_map(|home| lent::fix(&scene, home, &plan.declined));
    let lent: BTreeMap<ExprId, Fix> = lent.collect();
    for (call, why) in plan.declined {
        let row = replacement_of(cx, item, call).filter(|_| matches!(why, Reason::Field));
        let in_place = || kept::fix(&scene, call, row?);
        let fix = lent
            .get(&call)
            .cloned()
            .or_else(|| snapshot::fix(&scene, call));
        match fix.or_else(in_place) {
            Some(fix) => solved.outcomes.insert(call, Outcome::Fix(fix)).map(drop),
            None => solved.declined.insert(call, why).map(drop),
        };
    }
    solved.groups = plan
        .groups
        .iter()
        .map(|group| emitted(&scene, group))
        .collect();
    if scene.hands_out {
        let strong = calls.iter().map(|(call, _)| *call).collect();
        solved.returns = Some(hand_out::fix(&scene, &strong));
    }
    solved
}

const NEVER_RUN: &str = "no path through the function reaches the call";
pub(super) const WITH_GIL: &str =
    "only builds with the GIL compile it, because of the `#if` around it";

/// Whether only builds with the GIL compile a call.
pub(super) fn needs_gil(cx: &PackageCx<'_>, site: CallSite) -> bool {
    let place = cx.place(site.item, site.expr);
    place.is_some_and(|place| cx.program.place_needs_gil(&place))
}

/// The lookups in containers that other threads may change; what the others come to goes to
/// `outcomes`.
pub(super) fn shared(
    cx: &PackageCx<'_>,
    item: ItemId,
    outcomes: &mut BTreeMap<ExprId, Outcome>,
) -> Vec<(ExprId, &'static Replacement)> {
    let mut calls = Vec::new();
    for (expr, verdict) in verdicts(cx, item) {
        let Some(replacement) = replacement_of(cx, item, expr) else {
            continue;
        };
        match verdict {
            _ if needs_gil(cx, CallSite { item, expr }) => {
                outcomes.insert(expr, Outcome::Safe(WITH_GIL.to_owned()));
            }
            // What does not compile is rewritten, be it safe or not.
            Verdict::Safe(proof) if !replacement.is_gone_by(cx.range.max) => {
                outcomes.insert(expr, Outcome::Safe(proof.sentence));
            }
            Verdict::Shared(SharedKind::Published { has_gaps: true, .. })
                if replacement.reads_list() =>
            {
                outcomes.insert(expr, manual(&Reason::Unfilled));
            }
            Verdict::Safe(_) | Verdict::Shared(_) => calls.push((expr, replacement)),
        }
    }
    calls
}

/// The outcome of a lookup that needs no look at what becomes of its result.
fn without_group(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
) -> Option<Outcome> {
    if is_never_run(scene, call) && replacement_of(scene.cx, scene.item, call).is_some() {
        return Some(Outcome::Safe(NEVER_RUN.to_owned()));
    }
    // Lists and macros read memory that another thread may free meanwhile.
    let is_again = scene.is_repeated(call) || scene.repeats().contains_key(&call);
    let is_guarded = replacement.absent == Absent::None || replacement.form == Form::Out { arg: 2 };
    let is_gone = replacement.is_gone_by(scene.cx.range.max);
    if !is_guarded || is_again || is_gone || replacement.caution.is_some() {
        return None;
    }
    let why = match shape(scene, call, replacement, &BTreeSet::new()) {
        Ok(Shape::Presence(..)) => {
            let better = presence::is_possible(scene, call, replacement);
            (!better).then_some("the code only asks whether the key is present")
        }
        _ => is_compared(scene, call).then_some("the pointer is only compared"),
    };
    why.map(|why| Outcome::Safe(why.to_owned()))
}

fn emitted(scene: &Scene<'_>, group: &[Planned]) -> Group {
    let lookups = group.iter().flat_map(|planned| &planned.home.lookups);
    let calls = lookups.flat_map(|lookup| {
        let counted = lookup.counted.map(|counted| counted.lookup);
        let again = lookup.again.iter().copied();
        [lookup.call].into_iter().chain(counted).chain(again)
    });
    Group {
        calls: calls.collect(),
        fix: emit::fix(scene, group),
    }
}

/// Whether no path leads to `call` in this configuration: `return;` in an `#ifdef` in front of it.
/// Others are looked at by themselves.
fn is_never_run(scene: &Scene<'_>, call: ExprId) -> bool {
    let at = scene.cfg.call(call);
    at.is_some_and(|at| !scene.cfg.is_reachable(at.block))
}

/// Whether the result of `call` is compared with what is no result of a call itself.
fn is_compared(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(call) else {
        return false;
    };
    match scene.tree.expr(outer).kind {
        ExprKind::Binary {
            op: BinaryOp::Equals | BinaryOp::NotEquals,
            lhs,
            rhs,
        } => {
            let other = if lhs == call { rhs } else { lhs };
            !matches!(scene.tree.expr(other).kind, ExprKind::Call { .. })
        }
        _ => false,
    }
}

fn manual(reason: &Reason) -> Outcome {
    Outcome::Manual(reason.to_string())
}
