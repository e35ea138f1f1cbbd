//! What a store into memory does to the followed object.
//!
//! ```c
//! self->items[i] = v;                     /* gives the reference away, with one counted before … */
//! Py_INCREF(v);                           /* … or right behind, by this name or the other one */
//! self->text = PyUnicode_AsUTF8(v);       /* a pointer that would dangle */
//! ((struct item *)v)->uses += 1;          /* neither */
//! argv[0] = v;                            /* lends it to memory of the function */
//! ```

use super::apart::stored;
use super::hold::{Carrier, Hold, Kind, State};
use super::step::kind_of;
use super::{Decisions, Follower, Mode};
use crate::ast::{ExprId, ExprKind, LocalId, Tree, UnaryOp};
use crate::cfg::{Base, Instr, InstrKind, Operand, Place, Point, Projection, Source};
use crate::strong::exits::branch::is_same;
use crate::strong::reason::Reason;

impl Follower<'_, '_> {
    pub(in crate::strong) fn store_in_memory(
        &self,
        point: Point,
        place: &Place,
        kind: Option<Kind>,
        source: Source,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        match kind {
            Some(Kind::Inside) if self.is_number(source) || self.updates(source) => {}
            Some(Kind::Inside) => match &place.base {
                &Base::Local(local) if !self.is_static(local) => {
                    self.carry(local, place, state);
                }
                // `((PyLongObject *)v)->ob_digit[0] += 1`: it lives as long as the object.
                Base::Deref(pointer) if kind_of(state, pointer) == Some(Kind::Same) => {}
                _ => {
                    self.stores_inside(point, source, state);
                }
            },
            Some(Kind::Same) if self.fills(point, place, source, state) => state.clear(),
            Some(_) if self.lacks_reference(state) => state.fail(Reason::StoredBorrowed),
            Some(_) if self.is_apart() => {
                self.give_apart(stored(self.scene, source), Reason::StoredBorrowed, state);
            }
            // The `Py_INCREF` that goes is that of what is stored.
            Some(Kind::Same) if self.is_counted_next(point, state) => {}
            Some(Kind::Same) if self.is_paid_behind(point, place, state) => {}
            Some(Kind::Same) if self.is_only_released(point, state) => {
                state.sources.passed_on = true;
            }
            Some(kind) => {
                if kind == Kind::Same
                    && let Some(call) = self.counted_by_place(point, source, state)
                {
                    sink.removed.insert(call);
                    return state.clear();
                }
                if let Some(local) = self.borrower(place, state) {
                    return self.carry(local, place, state);
                }
                let needed = self.is_needed_after(state, point);
                self.give(needed, kind, Reason::StoredBorrowed, state);
            }
            None => {
                let part = self.scene.liveness.part(place);
                part.map(|part| state.parts.remove(&part));
            }
        }
    }

    /// Whether a field of the caller's gets the reference, which it owns from then on.
    fn fills(&self, point: Point, place: &Place, source: Source, state: &State) -> bool {
        let is_own = matches!(state.hold, Hold::Held { count: 0, .. });
        let fields = self.scene.fills;
        self.mode == Mode::Adopt
            && is_own
            && !self.is_needed_after(state, point)
            && fields.is_some_and(|fields| fields.contains(self.scene, place, source))
    }

    /// A variable depends on the object by one of its parts.
    fn carry(&self, local: LocalId, place: &Place, state: &mut State) {
        match self.scene.liveness.part(place) {
            Some(part) => drop(state.parts.insert(part)),
            None => drop(state.carriers.insert(Carrier::Local(local), Kind::Inside)),
        }
    }

    /// The struct or array of the function that the object is stored in without a reference, and
    /// that the code takes to have none: `argv[0] = v;`.
    fn borrower(&self, place: &Place, state: &State) -> Option<LocalId> {
        let Base::Local(local) = place.base else {
            return None;
        };
        let is_plain = |step: &Projection| {
            matches!(
                step,
                Projection::Field(_) | Projection::Index(Operand::Int(_))
            )
        };
        let lacks = matches!(self.mode, Mode::Adopt | Mode::Keep)
            && matches!(state.hold, Hold::Held { count: 0, .. });
        let is_own = lacks
            && !self.is_static(local)
            && place.path.iter().all(is_plain)
            && !self.scene.cfg.pointed_at().contains(&local)
            && !self.releases_part(local);
        is_own.then_some(local)
    }

    /// Whether the code releases something that the struct or array holds: `Py_DECREF(argv[i])`.
    fn releases_part(&self, local: LocalId) -> bool {
        let scene = self.scene;
        let mut exprs = scene.tree.expr_ids();
        exprs.any(|call| match scene.call(call) {
            Some(("Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF", args)) => {
                let arg = args.first().map(|&arg| scene.tree.without_casts(arg));
                arg.is_some_and(|arg| part_of(scene.tree, arg) == Some(local))
            }
            _ => false,
        })
    }

    /// Whether the code has a reference of its own, which it only releases behind the store at
    /// `point`: memory gets none with it.
    ///
    /// ```c
    /// v = PyDict_GetItem(cache, key);       v = PyDict_GetItemRef(…);
    /// Py_INCREF(v);
    /// self->last = v;                       /* as safe as it was: the reference is the same */
    /// Py_DECREF(v);
    /// ```
    fn is_only_released(&self, point: Point, state: &State) -> bool {
        let is_own = matches!(state.hold, Hold::Held { count: 1, .. });
        let is_needed = || self.is_needed_after(state, point);
        self.mode == Mode::Adopt && is_own && is_needed() && !self.is_used_after(state, point)
    }

    /// Whether a place gets a value made of its own and a number: `child->count += 1`,
    /// `--child->count`. No pointer comes to be where there was none.
    fn updates(&self, source: Source) -> bool {
        let Source::Expr(expr) = source else {
            return false;
        };
        matches!(
            self.scene.tree.expr(expr).kind,
            ExprKind::Assign { op: Some(_), .. }
                | ExprKind::Unary {
                    op: UnaryOp::PreIncrement
                        | UnaryOp::PreDecrement
                        | UnaryOp::PostIncrement
                        | UnaryOp::PostDecrement,
                    ..
                }
        )
    }

    /// Whether the step behind the store at `point` takes the reference that is stored, and the
    /// object is not used any more: `self->items[i] = v; Py_INCREF(v);`. It may come behind a call
    /// that takes over what there is not yet as well: `PyList_SET_ITEM(list, i, v); Py_INCREF(v);`.
    pub(super) fn is_counted_next(&self, point: Point, state: &State) -> bool {
        self.counted_next(point, state).is_some_and(|(_, taken)| {
            let local = self.scene.as_local(taken);
            local.is_some_and(|it| state.kind(Carrier::Local(it)) == Some(Kind::Same))
        })
    }

    /// The call right behind the store at `point` that takes the reference by the name of the
    /// place, if the object is not used any more: `self->item = v; Py_INCREF(self->item);`.
    fn counted_by_place(&self, point: Point, source: Source, state: &State) -> Option<ExprId> {
        let Source::Expr(assignment) = source else {
            return None;
        };
        let ExprKind::Assign { op: None, lhs, .. } = self.scene.tree.expr(assignment).kind else {
            return None;
        };
        let (call, taken) = self.counted_next(point, state)?;
        is_same(self.scene, lhs, taken).then_some(call)
    }

    /// The call right behind `point` that takes a reference, and to what, if it may be the one that
    /// the lookup gives now and the object is not used behind it.
    fn counted_next(&self, point: Point, state: &State) -> Option<(ExprId, ExprId)> {
        let (after, call, taken) = self.taken_behind(point)?;
        let is_first = matches!(state.hold, Hold::Held { count: 0, .. });
        let fits = self.mode == Mode::Adopt && is_first && !self.is_needed_after(state, after);
        fits.then_some((call, taken))
    }

    /// The call right behind `point` that takes a reference, with where it stands and to what.
    fn taken_behind(&self, point: Point) -> Option<(Point, ExprId, ExprId)> {
        let instrs = &self.scene.cfg.block(point.block).instrs;
        let mut next = (point.index + 1..).zip(&instrs[point.index + 1..]);
        let (index, instr) = next.find(|(_, instr)| acts(instr))?;
        let Source::Expr(call) = instr.source else {
            return None;
        };
        match self.scene.call(call) {
            Some(("Py_INCREF" | "Py_XINCREF", [taken])) => {
                Some((Point { index, ..point }, call, *taken))
            }
            _ => None,
        }
    }

    /// Whether memory that outlives the function gets its reference right behind the store, by the
    /// name of the variable, which is used further on: `self->item = v; Py_INCREF(v); use(v);`. Both
    /// steps together leave the count as it is where it is kept.
    fn is_paid_behind(&self, point: Point, place: &Place, state: &State) -> bool {
        let taken = self.taken_behind(point).map(|(_, _, taken)| taken);
        let local = taken.and_then(|taken| self.scene.as_local(taken));
        self.mode == Mode::Keep
            && self.is_of_others(place)
            && local.is_some_and(|it| state.kind(Carrier::Local(it)) == Some(Kind::Same))
    }

    /// The same of the call at `point` that takes the reference.
    pub(super) fn pays_store(&self, point: Point, state: &State) -> bool {
        let instrs = &self.scene.cfg.block(point.block).instrs[..point.index];
        let before = instrs.iter().rfind(|instr| acts(instr));
        self.mode == Mode::Keep
            && before.is_some_and(|instr| match &instr.kind {
                InstrKind::Store { place, value } => {
                    self.is_of_others(place) && kind_of(state, value) == Some(Kind::Same)
                }
                _ => false,
            })
    }

    /// Whether a place is in memory that the function does not have to itself.
    fn is_of_others(&self, place: &Place) -> bool {
        match place.base {
            Base::Local(local) => self.is_static(local) && !place.path.is_empty(),
            Base::Global(_) | Base::Deref(_) | Base::Unnamed(_) => true,
        }
    }
}

/// Whether a step does more than to read.
fn acts(instr: &Instr) -> bool {
    !matches!(instr.kind, InstrKind::Load { .. } | InstrKind::Cast { .. })
}

/// The variable that a place is part of.
fn part_of(tree: &Tree, place: ExprId) -> Option<LocalId> {
    match tree.expr(place).kind {
        ExprKind::Member {
            base, arrow: false, ..
        }
        | ExprKind::Index { base, .. } => tree.as_local(base).or_else(|| part_of(tree, base)),
        _ => None,
    }
}
