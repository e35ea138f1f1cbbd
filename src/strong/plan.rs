//! Which lookups of a function become strong, and what that takes.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::inside::front;
use super::emit::names::{name_fresh, wished};
use super::emit::saved::Saved;
use super::exits::exit::{Failure, failure};
use super::follow::outs::is_shared;
use super::follow::slots::Slots;
use super::follow::web::{Given, Web, webs};
use super::follow::{Decisions, Strong};
use super::order::runs_first;
use super::reason::Reason;
use super::reason::why::is_count_asked;
use super::releases::follow;
use super::scene::Scene;
use super::shape::{Shape, shape};
use super::together::group;
use super::twice::{Counted, counted, settled};
use crate::ast::{ExprId, LocalId, StmtId};
use crate::capi::{Absent, Form, OldErrors, Replacement};

/// A lookup that may become strong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lookup {
    pub call: ExprId,
    pub replacement: &'static Replacement,
    pub shape: Shape,
    pub failure: Failure,
    /// What keeps an exception that may be pending before it.
    pub saved: Option<Saved>,
    /// The same lookup behind it in its statement.
    pub again: Vec<ExprId>,
    /// Where the reference is taken that the result is given away with.
    pub counted: Option<Counted>,
}

impl Lookup {
    /// Whether the function leaves with an error that the borrowed form swallowed.
    pub(super) fn propagates(&self) -> bool {
        self.replacement.errors == OldErrors::Swallowed && matches!(self.failure, Failure::Exit(_))
    }
}

/// Lookups whose results share a variable, or one that gets a fresh variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    pub local: Option<LocalId>,
    /// The variable's name; for a fresh one what it is called if that is free.
    pub name: String,
    pub lookups: Vec<Lookup>,
    pub web: Web,
    /// Whether others of the block use the fresh variable as well.
    pub is_shared: bool,
    /// Whether a fresh variable of the whole function holds what the lookups' own gets as before.
    pub is_apart: bool,
}

/// A home and what must change around it.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub home: Home,
    pub decisions: Decisions,
    /// Lookups of other homes that must be strong for that.
    pub needs: BTreeSet<ExprId>,
}

/// What becomes of the lookups of a function.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Homes that can only change together.
    pub groups: Vec<Vec<Planned>>,
    pub declined: BTreeMap<ExprId, Reason>,
    /// Homes that cannot release what they hold everywhere in the function.
    pub stuck: Vec<Home>,
}

impl Home {
    pub(super) fn calls(&self) -> Vec<ExprId> {
        let lookups = self.lookups.iter();
        let calls = lookups.flat_map(|lookup| [&[lookup.call], &*lookup.again].concat());
        calls.collect()
    }
}

impl Planned {
    /// A home of which nothing changes but the lookups.
    pub(super) fn only_lookups(home: Home) -> Self {
        Self {
            home,
            decisions: Decisions::default(),
            needs: BTreeSet::new(),
        }
    }
}

pub(super) fn plan(scene: &Scene<'_>, calls: &[(ExprId, &'static Replacement)]) -> Plan {
    let mut plan = Plan::default();
    let slots = Slots::new(scene);
    let counted = counted(scene, calls);
    let is_counted = |call: ExprId| counted.values().any(|it| it.lookup == call);
    let mut calls = calls.to_vec();
    calls.retain(|(call, _)| !is_counted(*call));
    calls.sort_by_key(|(call, _)| scene.cfg.call(*call));
    let mut known = Vec::new();
    let mut apart: BTreeMap<ExprId, Reason> = BTreeMap::new();
    loop {
        let held = apart.keys().copied().collect();
        let mut lookups = lookups(scene, &calls, &mut plan.declined);
        for lookup in &mut lookups {
            lookup.counted = counted.get(&lookup.call).copied();
        }
        let homes = homes(scene, &lookups, &held);
        let strong: BTreeSet<ExprId> = homes.iter().flat_map(Home::calls).collect();
        let slots = slots.with_braces(braced(scene, &homes));
        let (done, failed) = follow_all(scene, &slots, &homes, &strong, &known);
        known = done;
        if failed.is_empty() {
            let declined = &plan.declined;
            let is_declined = |call: &ExprId| declined.contains_key(call);
            plan.stuck
                .retain(|home| home.calls().iter().all(is_declined));
            plan.groups = group(scene, &slots, known, &strong);
            name_fresh(scene, &mut plan.groups, &plan.declined);
            for (call, counted) in counted {
                let reason = plan.declined.get(&call).cloned();
                plan.declined
                    .extend(reason.map(|why| (counted.lookup, why)));
            }
            return plan;
        }
        for (at, reason) in failed {
            let home = &homes[at];
            let tries_apart = may_be_apart(scene, home);
            for call in home.calls() {
                match apart.remove(&call) {
                    // What stood against the change at first is what a person can act on.
                    Some(first) => drop(plan.declined.insert(call, first)),
                    None if tries_apart => drop(apart.insert(call, reason.clone())),
                    None => drop(plan.declined.insert(call, reason.clone())),
                }
            }
            let is_stuck = lacks_place(&reason) && !home.is_apart;
            plan.stuck.extend(is_stuck.then(|| home.clone()));
        }
        calls.retain(|(call, _)| strong.contains(call) && !plan.declined.contains_key(call));
    }
}

/// The lookups that can be rewritten where they stand, in the order in which they run.
pub(super) fn lookups(
    scene: &Scene<'_>,
    calls: &[(ExprId, &'static Replacement)],
    declined: &mut BTreeMap<ExprId, Reason>,
) -> Vec<Lookup> {
    let mut lookups: Vec<Lookup> = Vec::new();
    let mut moved = BTreeSet::new();
    for &(call, replacement) in calls {
        let first = scene.repeats().get(&call);
        let first = lookups.iter_mut().find(|it| Some(&it.call) == first);
        if let Some(first) = first
            && matches!(first.shape, Shape::Nested(_) | Shape::Guarded(_))
        {
            first.again.push(call);
            moved.insert(call);
            continue;
        }
        match lookup(scene, call, replacement, &moved) {
            Ok(lookup) => {
                if matches!(lookup.shape, Shape::Nested(_)) {
                    moved.insert(call);
                }
                lookups.push(lookup);
            }
            Err(reason) => {
                declined.insert(call, reason);
            }
        }
    }
    lookups
}

/// `moved` are lookups that move in front of their statements.
fn lookup(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
    moved: &BTreeSet<ExprId>,
) -> Result<Lookup, Reason> {
    let shape = fits(
        scene,
        call,
        replacement,
        shape(scene, call, replacement, moved)?,
    )?;
    Ok(Lookup {
        call,
        replacement,
        shape,
        failure: failure(scene, call, replacement, shape)?,
        saved: None,
        again: Vec::new(),
        counted: None,
    })
}

/// The `if` statements of `else if` that get braces, because a lookup moves in front of them.
fn braced(scene: &Scene<'_>, homes: &[Home]) -> BTreeSet<StmtId> {
    let lookups = homes.iter().flat_map(|home| &home.lookups);
    let moved = lookups.filter_map(|lookup| match lookup.shape {
        Shape::Nested(stmt) => Some(stmt),
        Shape::Inside(stmt, ..) if moves_in_front(lookup.replacement) => Some(stmt),
        _ => None,
    });
    moved.filter(|&stmt| scene.is_else_if(stmt)).collect()
}

/// Whether the lookup takes a statement of its own where it is part of a condition.
pub(super) fn moves_in_front(replacement: &Replacement) -> bool {
    replacement.errors == OldErrors::Swallowed || replacement.absent == Absent::None
}

/// Whether the object is only used, as far as `reason` tells, but cannot be released where the
/// function leaves it.
fn lacks_place(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::ExitInMacro(_)
            | Reason::Detached(_)
            | Reason::OwnedOnSomePaths(_)
            | Reason::NoPlace(_)
    )
}

/// Whether the strong function can stand where the borrowed one does.
fn fits(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
    shape: Shape,
) -> Result<Shape, Reason> {
    if let Some(why) = replacement.caution {
        return Err(Reason::NoSwap(why));
    }
    if is_traverse(scene) {
        return Err(Reason::NoSwap(
            "visit the container itself (a traverse function must not change reference counts, \
             because it runs while all threads are stopped)",
        ));
    }
    if matches!(shape, Shape::Presence(..)) && replacement.form != (Form::Out { arg: 2 }) {
        return Err(Reason::NotEvaluatedFirst("the condition".to_owned()));
    }
    let is_stored = matches!(shape, Shape::Assigned(..) | Shape::Initialised(..));
    let Some(local) = shape.local() else {
        return Ok(shape);
    };
    let variable = scene.tree.local(local);
    if !variable.is_automatic() {
        return Err(Reason::Static(variable.name.clone()));
    }
    if is_shared(scene, local, call) {
        return Err(Reason::AddressTaken(variable.name.clone()));
    }
    // bool has = PyList_GetItem(l, 0);  uintptr_t address = (uintptr_t)PyDict_GetItem(d, k);
    if scene.cx.types().pointee(&variable.ty).is_none() {
        return Err(Reason::NoPointer(variable.name.clone()));
    }
    let out = matches!(replacement.form, Form::Out { .. });
    // The result comes through another variable, and is cast.
    let is_const = variable.ty.is_const || scene.cx.types().is_const_by_name(&variable.ty);
    let whole = is_stored && !is_const;
    if out && !takes_result(scene, local) && !whole {
        return Err(Reason::OutParameterType(variable.name.clone()));
    }
    Ok(shape)
}

/// Whether a strong function can store its result in the variable: it is a `PyObject *` with an
/// address.
pub(super) fn takes_result(scene: &Scene<'_>, local: LocalId) -> bool {
    let variable = scene.tree.local(local);
    variable.ty.takes_object() && !variable.is_register
}

/// Whether the function is a `tp_traverse`: it takes a `visitproc`.
fn is_traverse(scene: &Scene<'_>) -> bool {
    let mut params = scene.function.params.iter();
    params.any(|&param| scene.tree.local(param).ty.name() == Some("visitproc"))
}

/// `apart` are lookups whose results other variables hold.
pub(super) fn homes(scene: &Scene<'_>, lookups: &[Lookup], apart: &BTreeSet<ExprId>) -> Vec<Home> {
    let mut homes = Vec::new();
    let mut by_local: BTreeMap<LocalId, Vec<Lookup>> = BTreeMap::new();
    for lookup in lookups {
        match lookup.shape.local() {
            Some(local) => by_local.entry(local).or_default().push(lookup.clone()),
            None => homes.push(Home {
                local: None,
                name: wished(lookup).to_owned(),
                lookups: vec![lookup.clone()],
                web: Web::new(),
                is_shared: false,
                is_apart: false,
            }),
        }
    }
    for (local, lookups) in by_local {
        let calls = lookups.iter().map(|lookup| lookup.call).collect();
        for web in webs(scene, local, &calls) {
            let of_web = |lookup: &&Lookup| {
                web.values()
                    .any(|given| *given == Given::Lookup(lookup.call))
            };
            let lookups: Vec<Lookup> = lookups.iter().filter(of_web).cloned().collect();
            if lookups.iter().any(|lookup| apart.contains(&lookup.call)) {
                homes.push(held_apart(scene, local, &lookups));
                continue;
            }
            homes.push(Home {
                local: Some(local),
                name: scene.name(local).to_owned(),
                lookups,
                web,
                is_shared: false,
                is_apart: false,
            });
        }
    }
    homes
}

/// The lookups of one web of `local`, whose results a variable of its own holds.
fn held_apart(scene: &Scene<'_>, local: LocalId, lookups: &[Lookup]) -> Home {
    let moved = lookups.iter().map(|lookup| Lookup {
        shape: match lookup.shape {
            Shape::Assigned(stmt, _) | Shape::Inside(stmt, ..) => Shape::Nested(stmt),
            shape => shape,
        },
        ..lookup.clone()
    });
    Home {
        local: None,
        name: format!("{}_ref", scene.name(local)),
        lookups: moved.collect(),
        web: Web::new(),
        is_shared: false,
        is_apart: true,
    }
}

/// Whether a variable of its own may hold the results of the lookups of a home that cannot: those
/// of weak references change their tests with it.
fn may_be_apart(scene: &Scene<'_>, home: &Home) -> bool {
    let can_move = |lookup: &Lookup| match lookup.shape {
        Shape::Assigned(..) | Shape::Initialised(..) => true,
        Shape::Inside(stmt, _, assignment) => {
            runs_first(scene, stmt, lookup.call, &BTreeSet::new()).is_ok()
                || matches!(lookup.replacement.form, Form::Out { .. })
                    && front(scene, (stmt, assignment)).is_some()
        }
        Shape::Nested(_) | Shape::Guarded(_) | Shape::Returned | Shape::Presence(..) => false,
    };
    let fits = |lookup: &Lookup| lookup.replacement.absent != Absent::None && can_move(lookup);
    let is_counted = |local| is_count_asked(scene, local);
    home.local.is_some_and(|local| !is_counted(local)) && home.lookups.iter().all(fits)
}

type Failures = Vec<(usize, Reason)>;

/// Follows all homes; those `known` from an attempt with more strong calls only where one of these
/// made a difference.
fn follow_all(
    scene: &Scene<'_>,
    slots: &Slots,
    homes: &[Home],
    strong: &BTreeSet<ExprId>,
    known: &[Planned],
) -> (Vec<Planned>, Failures) {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (at, home) in homes.iter().enumerate() {
        let mut same = known.iter().filter(|old| old.home == *home);
        if let Some(old) = same.find(|old| old.needs.is_subset(strong)) {
            done.push(old.clone());
            continue;
        }
        let met = Strong::new(strong, homes);
        let decisions = follow(scene, slots, home, &met).and_then(|decisions| {
            settled(home, decisions).ok_or_else(|| Reason::NoPlace(home.name.clone()))
        });
        match decisions {
            Ok(decisions) => done.push(Planned {
                home: home.clone(),
                decisions,
                needs: met.into_met(),
            }),
            Err(reason) => failed.push((at, reason)),
        }
    }
    (done, failed)
}
