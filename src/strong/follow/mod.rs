//! Follows one object along the paths of a function and finds what must change.
//!
//! Five ways to fit the new reference to what the code does already are tried. In
//! [`Mode::Adopt`] the first `Py_INCREF` on a path is what the new call does already: it goes, and
//! so does a `Py_DECREF` behind which the object is still used. In [`Mode::Keep`] all of them
//! stay, and the new reference lives beside theirs. In [`Mode::Own`] the variable owns what a
//! lookup gave just as what another call made, where the two come together. Where none of them fits,
//! the code gives away or releases what it does not have, and in [`Mode::Mend`] has from then on,
//! or in [`Mode::Apart`] a variable of its own holds the new reference.
//! In [`Mode::Lent`] the caller holds the reference: the code must only use the object.

mod addresses;
mod afterwards;
pub(super) mod apart;
pub(super) mod arms;
mod awaited;
pub(super) mod counts;
mod flags;
mod forgotten;
pub(super) mod hold;
mod itself;
mod landing;
pub(super) mod leave;
pub(super) mod outs;
mod own;
mod pinned;
pub(super) mod slots;
mod step;
mod step_call;
mod stored;
mod strong;
mod texts;
mod visits;
pub(super) mod web;

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, LocalId, StmtId};
use crate::capi;
use crate::cfg::{BlockId, Point, Terminator};
use crate::ownership::track::only_releases;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::weak::Weak;
use hold::{Carrier, Hold, Kind, State};
use slots::{Slot, Slots};
pub(super) use strong::Strong;
use web::Given;

/// How existing reference counting is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Mode {
    /// The new reference takes the place of the first one the code takes.
    Adopt,
    /// The new reference is one more.
    Keep,
    /// The variable owns an object that was made as well as one that was looked up.
    Own,
    /// The new reference is that which the code gives away or releases without having it.
    Mend,
    /// The new reference is the caller's, who releases it when the function is done.
    Lent,
    /// The new reference is that of a variable of its own, which begins as `NULL`.
    Apart,
}

/// What is left to the code as it is, in [`Mode::Adopt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Leaves {
    Nothing,
    /// What other definitions of the variable give.
    Definitions,
    /// The reference that it takes for another variable: `text = item; Py_INCREF(text);`.
    Taken,
}

/// What is followed.
pub(in crate::strong) struct Follower<'s, 'a> {
    pub scene: &'s Scene<'a>,
    pub slots: &'s Slots,
    /// Lookups whose result is followed; whether it may be `NULL`.
    pub lookups: BTreeMap<ExprId, bool>,
    /// Lookups whose result is that of an earlier one.
    pub again: BTreeSet<ExprId>,
    /// Blocks that are entered with `NULL` as well once the lookups are asked for failure.
    pub with_null: Vec<BlockId>,
    /// Calls whose results are owned after the change, those above included.
    pub strong: &'s Strong<'s>,
    /// What is chosen where a lookup is not: `None` of `ok ? lookup() : Py_None`.
    pub others: BTreeSet<ExprId>,
    /// The variable the lookups assign to; `None` if a fresh one gets the result.
    pub home: Option<LocalId>,
    /// Its name.
    pub name: &'s str,
    /// Definitions of the variable that belong together with the lookups.
    pub web: BTreeMap<Option<Point>, Given>,
    pub mode: Mode,
    /// How tests change if the lookups give referents of weak references.
    pub weak: Option<Weak>,
    /// Whether the variable gets `NULL` in its declaration.
    pub starts_null: bool,
    /// Whether paths without an object are taken to have `NULL`, or what others have that they meet:
    /// so what else stands against a change comes to light.
    pub supposes_null: bool,
    pub leaves: Leaves,
    /// Whether an exit of another lookup that goes to a label leaves the release to what stands
    /// there.
    pub lands_held: bool,
    /// Slots not to be used.
    pub suppressed: BTreeSet<Slot>,
    /// Statements at which a release leaves `NULL` in the variable.
    pub cleared: BTreeSet<StmtId>,
}

/// What a change mends beside the borrowed reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::strong) enum Repair {
    /// What was made in place of it was never released on some path.
    Lost,
    /// On some path the code released or returned a reference that it did not have.
    Missing,
    /// The code gave away or released a reference that it did not have, as if it had one.
    Presumed,
    /// On some path the code never released the reference that it had taken.
    Forgotten,
}

/// What must change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::strong) struct Decisions {
    /// Releases: the variable (`None` for the fresh one), and whether it may be `NULL`.
    pub releases: BTreeMap<Slot, (Option<LocalId>, bool)>,
    /// Those of them that leave `NULL` in the variable.
    pub cleared: BTreeSet<Slot>,
    /// Those behind an `#endif` up to which some configuration reads what the variable holds.
    pub behind_endif: BTreeSet<Slot>,
    /// Calls of `Py_INCREF` and `Py_DECREF` that go.
    pub removed: BTreeSet<ExprId>,
    /// Calls of `Py_NewRef` that turn into their argument.
    pub unwrapped: BTreeSet<ExprId>,
    /// Expressions that turn into `Py_NewRef` of themselves, with their variable.
    pub owned: BTreeSet<ExprId>,
    /// Calls that get a failure exit while the reference is held: the variable to release there
    /// (`None` for the fresh one), and whether it may be `NULL`.
    pub held: BTreeMap<ExprId, (Option<LocalId>, bool)>,
    /// Assignments of a new object that release the one before it; whether that may be `NULL`.
    pub replaced: BTreeMap<StmtId, bool>,
    /// What else is mended.
    pub repairs: BTreeSet<Repair>,
    /// Whether the declaration of the variable gets `= NULL`.
    pub starts_null: bool,
    /// Releases that go because the function of this name took the reference before, although it
    /// failed.
    pub taken: BTreeMap<ExprId, String>,
    /// Whether a dead referent turns into `Py_None` again, as the code around expects it.
    pub keeps_none: bool,
    /// New `else` branches which some path enters with `NULL`.
    else_null: BTreeSet<Slot>,
    /// New `else` branches which some path enters without anything to release.
    else_mixed: BTreeSet<Slot>,
}

/// Why no change is correct.
#[derive(Debug)]
pub(in crate::strong) struct Declined {
    pub reason: Reason,
    /// Releases on paths that meet others there, which still hold the reference.
    pub early: BTreeSet<Slot>,
}

impl From<Reason> for Declined {
    fn from(reason: Reason) -> Self {
        let early = BTreeSet::new();
        Self { reason, early }
    }
}

/// Most visits of one block, beyond which the analysis gives up.
const MAX_VISITS: usize = 200;

impl Follower<'_, '_> {
    /// Follows the object along all paths.
    ///
    /// # Errors
    /// The first reason, in source order, for which no change is correct.
    pub(in crate::strong) fn run(&self) -> Result<Decisions, Declined> {
        let cfg = self.scene.cfg;
        let order = cfg.reverse_post_order();
        let mut inputs = vec![State::UNREACHED; cfg.blocks.len()];
        if let Some(first) = inputs.first_mut() {
            *first = State::entry();
            if self.supposes_null || self.is_apart() {
                first.hold = Hold::Null;
            }
        }
        let name = (!self.supposes_null).then_some(self.name);
        let mut dirty: BTreeSet<usize> = (0..order.len()).collect();
        let rank: BTreeMap<BlockId, usize> = order.iter().copied().zip(0..).collect();
        let mut visits = vec![0usize; cfg.blocks.len()];
        while let Some(at) = dirty.pop_first() {
            let block = order[at];
            visits[block.index()] += 1;
            if visits[block.index()] > MAX_VISITS {
                return Err(Reason::NoPlace(self.name.to_owned()).into());
            }
            let input = inputs[block.index()].clone();
            for (target, state) in self.block(block, input, &mut Decisions::default()) {
                // More may be known of the block in the end.
                let is_broken = matches!(state.hold, Hold::Broken(_));
                if !is_broken && inputs[target.index()].join(&state, name, self.is_apart()) {
                    dirty.extend(rank.get(&target));
                }
            }
        }
        self.decide(&order, &inputs)
    }

    /// The decisions of the final states, if all paths agree.
    fn decide(&self, order: &[BlockId], inputs: &[State]) -> Result<Decisions, Declined> {
        let mut decisions = Decisions {
            starts_null: self.starts_null,
            ..Decisions::default()
        };
        for &block in order {
            let state = &inputs[block.index()];
            if let Hold::Broken(reason) = &state.hold {
                return Err(Declined {
                    reason: reason.clone(),
                    early: state.released.clone(),
                });
            }
            for (_, end) in self.block(block, state.clone(), &mut decisions) {
                if let Hold::Broken(reason) = end.hold {
                    return Err(Declined {
                        reason,
                        early: end.released,
                    });
                }
            }
        }
        for (slot, (_, null)) in &mut decisions.releases {
            if decisions.else_mixed.contains(slot) {
                return Err(Reason::NoPlace(self.name.to_owned()).into());
            }
            *null |= decisions.else_null.contains(slot);
        }
        Ok(decisions)
    }

    /// Runs a block; gives the states on its edges. A path that ends in trouble is reported as an
    /// edge to the block itself.
    fn block(&self, id: BlockId, mut state: State, sink: &mut Decisions) -> Vec<(BlockId, State)> {
        if !state.reached {
            return Vec::new();
        }
        let block = self.scene.cfg.block(id);
        let mut out = Vec::new();
        for index in 0..=block.instrs.len() {
            let point = Point { block: id, index };
            let behind = self.behind_endif(point, &state);
            let slot = behind.or_else(|| self.slots.at(point, &self.suppressed));
            if let Some(slot) = slot {
                self.at_slot(slot, point, &mut state, sink);
            }
            if let Some(slot) = behind.filter(|slot| sink.releases.contains_key(slot)) {
                sink.behind_endif.insert(slot);
            }
            if let Some(instr) = block.instrs.get(index) {
                self.step(point, instr, &mut state, sink);
                out.extend(self.landing(instr, &state));
            }
        }
        // No temporary but the result of `?:`, `&&` and `||` outlives its block.
        out.extend(self.leave(id, &block.terminator, state, sink));
        out
    }

    fn leave(
        &self,
        id: BlockId,
        terminator: &Terminator,
        mut state: State,
        sink: &mut Decisions,
    ) -> Vec<(BlockId, State)> {
        if let Terminator::Return(value, stmt) = terminator {
            self.leave_function(value.as_ref(), *stmt, &mut state, sink);
            return vec![(id, state)]
                .into_iter()
                .filter(|(_, state)| matches!(state.hold, Hold::Broken(_)))
                .collect();
        }
        let mut out = Vec::new();
        for (edge, target) in terminator.targets().into_iter().enumerate() {
            let mut next = state.clone();
            if let Terminator::Branch { condition, .. } = terminator
                && !self.refine(condition, edge == 0, &mut next)
            {
                continue;
            }
            if let Terminator::Branch { condition, .. } = terminator {
                self.refine_awaited(condition, edge, &mut next);
            }
            if self.with_null.contains(&target)
                && let Hold::Held { null, .. } = &mut next.hold
            {
                *null = true;
                next.flags.clear();
            }
            if let Some(slot) = self.slots.on_edge(id, edge) {
                let point = Point {
                    block: target,
                    index: 0,
                };
                self.at_else(slot, point, &mut next, sink);
            }
            out.push((target, next));
        }
        out
    }

    /// The slot at a point behind an `#endif`, if some configuration reads something up to there that
    /// depends on the object.
    fn behind_endif(&self, point: Point, state: &State) -> Option<Slot> {
        let read = self.scene.elsewhere(point)?;
        let mut locals = state.locals();
        let is_read = locals.any(|(local, _)| read.locals.contains(&local));
        (is_read && self.slots.has(point, read.slot)).then_some(read.slot)
    }

    /// One of the edges that an `else` would collect.
    fn at_else(&self, slot: Slot, point: Point, state: &mut State, sink: &mut Decisions) {
        let held = state.is_held();
        self.at_slot(slot, point, state, sink);
        let released = held && state.hold == Hold::Nothing;
        if state.hold == Hold::Null {
            sink.else_null.insert(slot);
        } else if !released {
            sink.else_mixed.insert(slot);
        }
    }

    /// Releases the object here if nothing needs it any more.
    fn at_slot(&self, slot: Slot, point: Point, state: &mut State, sink: &mut Decisions) {
        let Hold::Held { count, null } = state.hold else {
            return;
        };
        if self.mode == Mode::Lent {
            return;
        }
        let unfit = state.detached || self.suppressed.contains(&slot) || self.ends_at(point.block);
        let is_returned = self.is_returned_own(slot, point, state);
        let is_needed = self.is_needed(state, point) && !is_returned;
        let is_needed = is_needed || self.is_pinned(state, point);
        if unfit || is_needed || self.scene.is_errno_wanted(point) {
            return;
        }
        if !self.keeps_counting() && count > 0 && !self.forgets(count, state, sink) {
            // The code has given its own reference to something that is not followed.
            return state.clear();
        }
        if !is_returned && !state.owned.is_empty() {
            // The code loses a reference that it took, or makes up for it in a way of its own.
            return state.fail(Reason::OwnedOnSomePaths(self.name.to_owned()));
        }
        self.release(slot, null, state, sink);
    }

    /// Whether the program ends in the block: `if (!v) { log_it(v); abort(); }`.
    fn ends_at(&self, block: BlockId) -> bool {
        let stopped_by = self.scene.cfg.block(block).stopped_by();
        stopped_by.is_some_and(capi::ends_program)
    }

    pub(in crate::strong) fn release(
        &self,
        slot: Slot,
        null: bool,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        if let Some(variable) = self.holder(state) {
            if self.owns(state) && state.sources.unreleased {
                sink.repairs.insert(Repair::Lost);
            }
            sink.releases.insert(slot, (variable, null));
            state.clear();
            if !self.clears(slot, state, sink) {
                state.released.insert(slot);
            }
        }
    }

    /// The variable that holds the object, `None` for the fresh one.
    fn holder(&self, state: &mut State) -> Option<Option<LocalId>> {
        let same = |local: &LocalId| state.kind(Carrier::Local(*local)) == Some(Kind::Same);
        match self.home {
            None => Some(None),
            Some(home) if same(&home) => Some(Some(home)),
            Some(_) => {
                // uintptr_t address = (uintptr_t)v;
                let types = self.scene.cx.types();
                let is_pointer = |local: LocalId| {
                    let ty = &self.scene.tree.local(local).ty;
                    types.pointee(ty).is_some()
                };
                let same = state.locals().filter(|(_, kind)| *kind == Kind::Same);
                let other = same.map(|(local, _)| local).find(|&it| is_pointer(it));
                let other = other.map(Some);
                if other.is_none() {
                    state.fail(Reason::Alias(self.name.to_owned()));
                }
                other
            }
        }
    }

    /// Notes that the call at `expr` may leave the function while the reference is held, unless
    /// the code's own exits release it already.
    pub(in crate::strong) fn at_exit(&self, expr: ExprId, state: &mut State, sink: &mut Decisions) {
        if let Hold::Held { count, null } = state.hold
            && !(self.lands_held && self.strong.label(expr).is_some())
            && (count == 0 || self.keeps_counting())
            && let Some(variable) = self.holder(state)
        {
            sink.held.insert(expr, (variable, null));
        }
    }

    pub(in crate::strong) fn is_needed_after(&self, state: &State, point: Point) -> bool {
        let index = point.index + 1;
        self.is_needed(state, Point { index, ..point })
    }

    /// The same without reads for a release that is wrong with or without the new reference.
    pub(in crate::strong) fn is_used_after(&self, state: &State, point: Point) -> bool {
        let index = point.index + 1;
        let after = Point { index, ..point };
        let mut parts = state.parts.iter();
        let mut locals = state.locals();
        locals.any(|(local, _)| {
            self.scene.is_live(local, after)
                && only_releases(self.scene.cfg, local, after).is_none()
        }) || parts.any(|&part| self.scene.is_part_live(part, after))
    }

    /// Whether something that depends on the object may still be read.
    pub(in crate::strong) fn is_needed(&self, state: &State, point: Point) -> bool {
        let mut parts = state.parts.iter();
        let mut locals = state.locals();
        !state.awaited.is_empty()
            || locals.any(|(local, _)| self.scene.is_live(local, point))
            || parts.any(|&part| self.scene.is_part_live(part, point))
    }

    /// Whether something else than `local` that depends on the object may still be read.
    pub(in crate::strong) fn is_needed_beside(
        &self,
        local: LocalId,
        state: &State,
        point: Point,
    ) -> bool {
        let mut others = state.clone();
        others.drop_local(local);
        self.is_needed(&others, point)
    }
}
