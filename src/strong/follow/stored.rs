//! What a store into memory does to the followed object.
//!
//! ```c
//! self->items[i] = v;                     /* gives the reference away, with one counted before … */
//! Py_INCREF(v);                           /* … or right behind */
//! self->text = PyUnicode_AsUTF8(v);       /* a pointer that would dangle */
//! ((struct item *)v)->uses += 1;          /* neither */
//! ```

use super::apart::stored;
use super::hold::{Carrier, Hold, Kind, State};
use super::step::kind_of;
use super::{Follower, Mode};
use crate::ast::{ExprKind, UnaryOp};
use crate::cfg::{Base, Instr, InstrKind, Place, Point, Source};
use crate::strong::reason::Reason;

impl Follower<'_, '_> {
    pub(in crate::strong) fn store_in_memory(
        &self,
        point: Point,
        place: &Place,
        kind: Option<Kind>,
        source: Source,
        state: &mut State,
    ) {
        match kind {
            Some(Kind::Inside) if self.is_number(source) || self.updates(source) => {}
            Some(Kind::Inside) => match &place.base {
                &Base::Local(local) if !self.is_static(local) => {
                    let part = self.scene.liveness.part(place);
                    match part {
                        Some(part) => drop(state.parts.insert(part)),
                        None => drop(state.carriers.insert(Carrier::Local(local), Kind::Inside)),
                    }
                }
                // `((PyLongObject *)v)->ob_digit[0] += 1`: it lives as long as the object.
                Base::Deref(pointer) if kind_of(state, pointer) == Some(Kind::Same) => {}
                _ => state.fail(Reason::DerivedEscapes(self.name.to_owned())),
            },
            Some(_) if self.lacks_reference(state) => state.fail(Reason::StoredBorrowed),
            Some(_) if self.is_apart() => {
                self.give_apart(stored(self.scene, source), Reason::StoredBorrowed, state);
            }
            // The `Py_INCREF` that goes is that of what is stored.
            Some(Kind::Same) if self.is_counted_next(point, state) => {}
            Some(kind) => {
                let needed = self.is_needed_after(state, point);
                self.give(needed, kind, Reason::StoredBorrowed, state);
            }
            None => {
                let part = self.scene.liveness.part(place);
                part.map(|part| state.parts.remove(&part));
            }
        }
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
    /// object is not used any more: `self->items[i] = v; Py_INCREF(v);`.
    fn is_counted_next(&self, point: Point, state: &State) -> bool {
        let instrs = &self.scene.cfg.block(point.block).instrs;
        let mut next = (point.index + 1..).zip(&instrs[point.index + 1..]);
        let acts = |instr: &Instr| {
            let idle = matches!(instr.kind, InstrKind::Load { .. } | InstrKind::Cast { .. });
            !idle
        };
        let Some((index, instr)) = next.find(|(_, instr)| acts(instr)) else {
            return false;
        };
        let taken = match instr.source {
            Source::Expr(call) => match self.scene.call(call) {
                Some(("Py_INCREF" | "Py_XINCREF", [arg])) => self.scene.as_local(*arg),
                _ => None,
            },
            Source::Stmt(_) => None,
        };
        let is_same =
            taken.is_some_and(|local| state.kind(Carrier::Local(local)) == Some(Kind::Same));
        let after = Point { index, ..point };
        let is_first = matches!(state.hold, Hold::Held { count: 0, .. });
        self.mode == Mode::Adopt && is_first && is_same && !self.is_needed_after(state, after)
    }
}
