//! What one step of the function does to the followed object.

use super::apart::stored;
use super::forgotten::gives_number;
use super::hold::{Carrier, Hold, Kind, Sources, State};
use super::itself::names_itself;
use super::leave::returned_for;
use super::texts::{follow_text, is_text};
use super::web::Given;
use super::{Decisions, Follower, Leaves, Mode};
use crate::ast::{BinaryOp, ExprId, LocalId, StmtKind};
use crate::cfg::{
    Base, Comparison, Condition, Instr, InstrKind, Op, Operand, Place, Point, Source, TempId,
};
use crate::ownership::track::is_read;
use crate::strong::reason::Reason;
use crate::strong::types::is_number;

impl Follower<'_, '_> {
    pub(in crate::strong) fn step(
        &self,
        point: Point,
        instr: &Instr,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        // No later definition mends it.
        if matches!(state.hold, Hold::Broken(_)) {
            return;
        }
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                if let Base::Deref(pointer) = &place.base
                    && let Some(kind) = kind_of(state, pointer)
                {
                    self.check_alive(state);
                    let is_read = is_read(self.scene.cx.summaries(), place);
                    if kind == Kind::Same && is_read && !self.is_asserted(instr.source) {
                        state.is_read();
                    }
                }
                if !self.is_number(instr.source) {
                    load(*dst, place, state);
                }
            }
            InstrKind::Store { place, value } => {
                self.store(point, place, value, instr, state, sink)
            }
            InstrKind::Copy { dst, .. } if self.other_arm(instr).is_some() => {
                self.choose_other(*dst, instr, state, sink);
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                if let Some(kind) = kind_of(state, src) {
                    state.carriers.insert(Carrier::Temp(*dst), kind);
                    state.sources.passed_on |= gives_number(instr);
                }
            }
            InstrKind::Op { dst, op, operands } => {
                self.operation(*dst, *op, operands, instr.source, state);
            }
            InstrKind::Call { dst, callee, args } => {
                self.call(point, *dst, callee, args, instr.source, state, sink);
            }
            InstrKind::Declare { local } => {
                self.end(&[*local], state);
                if self.starts_null && self.home == Some(*local) {
                    state.clear();
                    state.hold = Hold::Null;
                    state.carriers.insert(Carrier::Local(*local), Kind::Same);
                }
            }
            InstrKind::ScopeEnd { locals } => {
                // A `return` ends scopes after its value is computed; the release comes there.
                let returns = matches!(instr.source, Source::Stmt(stmt)
                    if matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Return(_)));
                if !returns {
                    self.end(locals, state);
                }
            }
            InstrKind::Asm => {}
        }
        follow_text(instr, state);
        self.follow_flag(instr, state);
    }

    /// Whether a read stands in an `assert`, and says nothing of builds without.
    fn is_asserted(&self, source: Source) -> bool {
        matches!(source, Source::Expr(expr) if self.scene.tree.is_asserted(expr))
    }

    /// `dst` gets what `op` makes of the operands.
    fn operation(
        &self,
        dst: TempId,
        op: Op,
        operands: &[Operand],
        source: Source,
        state: &mut State,
    ) {
        if let Op::Binary(BinaryOp::Equals | BinaryOp::NotEquals) = op
            && let Source::Expr(test) = source
        {
            self.compared(test, operands, state);
        }
        let pointer = matches!(op, Op::Binary(BinaryOp::Plus | BinaryOp::Minus));
        let inside = operands
            .iter()
            .any(|operand| kind_of(state, operand) == Some(Kind::Inside));
        if pointer && inside {
            state.carriers.insert(Carrier::Temp(dst), Kind::Inside);
        }
    }

    fn end(&self, locals: &[LocalId], state: &mut State) {
        for local in locals {
            state.drop_local(*local);
        }
        let reason = self.unless_pinned(state, Reason::NoPlace);
        self.check_kept(state, || reason);
    }

    /// Fails if no variable holds the object any more. A fresh variable always does.
    fn check_kept(&self, state: &mut State, reason: impl FnOnce() -> Reason) {
        let kept = self.home.is_none()
            || self.mode == Mode::Lent
            || state
                .carriers
                .values()
                .any(|kind| matches!(kind, Kind::Same | Kind::MaybeSame));
        if !kept {
            match state.hold {
                Hold::Held { .. } => state.fail(reason()),
                Hold::Null => state.clear(),
                Hold::Nothing | Hold::Settled | Hold::Broken(_) => {}
            }
        }
    }

    fn store(
        &self,
        point: Point,
        place: &Place,
        value: &Operand,
        instr: &Instr,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        let kind = kind_of(state, value);
        let Some(local) = place.as_local() else {
            return self.store_in_memory(point, place, kind, instr.source, state, sink);
        };
        let carrier = Carrier::Local(local);
        match kind {
            Some(Kind::Same | Kind::MaybeSame) if self.is_static(local) => {
                state.fail(Reason::Static(self.scene.name(local).to_owned()));
            }
            Some(Kind::Same)
                if self.home.is_some_and(|home| home != local)
                    && returned_for(self.scene, local) == self.home =>
            {
                self.give_to_caller(self.home, Kind::Same, state, sink);
            }
            Some(kind @ (Kind::Same | Kind::MaybeSame)) => {
                if Some(local) != self.home {
                    self.check_alive(state);
                }
                state.carriers.insert(carrier, kind);
                let after = point.next();
                self.pass_on(stored(self.scene, instr.source), local, after, state);
                self.hand_over(local, after, state);
            }
            Some(Kind::Inside)
                if !is_number(&self.scene.tree.local(local).ty)
                    || self.keeps_address(local, instr.source) =>
            {
                if self.is_static(local) && !self.stores_inside(point, instr.source, state) {
                    return;
                }
                state.carriers.insert(carrier, Kind::Inside);
                self.redefined(point, local, instr, state, sink, true);
            }
            Some(Kind::Inside) | None => self.redefined(point, local, instr, state, sink, false),
        }
    }

    /// A reference that the code took is that of another variable from now on, and its own business.
    pub(in crate::strong) fn hand_over(&self, local: LocalId, after: Point, state: &mut State) {
        let counted = matches!(state.hold, Hold::Held { count: 1.., .. });
        let others = self.is_needed_beside(local, state, after);
        if self.mode == Mode::Adopt && counted && Some(local) != self.home && !others {
            state.clear();
        }
    }

    /// `local` gets a value that has nothing to do with the object.
    fn redefined(
        &self,
        point: Point,
        local: LocalId,
        instr: &Instr,
        state: &mut State,
        sink: &mut Decisions,
        inside: bool,
    ) {
        let is_home = Some(local) == self.home;
        if inside && is_home {
            // `v = PyTuple_GET_ITEM(v, 0)`: what is needed is lost.
            return self.check_kept(state, || Reason::DerivedOutlives(self.name.to_owned()));
        }
        if is_home && self.mode == Mode::Lent {
            state.carriers.remove(&Carrier::Local(local));
            return;
        }
        if is_home && state.is_held() {
            let value = super::web::assigned(self.scene, instr.source, local);
            if !value.is_some_and(|value| self.replace(value, state, sink)) {
                return state.fail(self.unless_pinned(state, Reason::TwoAtOnce));
            }
        }
        if !inside {
            state.drop_local(local);
        }
        if !is_home {
            return;
        }
        let null = matches!(&instr.kind, InstrKind::Store { value, .. } if value.is_zero());
        let given = match self.web.get(&Some(point)) {
            Some(given) => given,
            // `PyObject *v = NULL;` for the sake of a cleanup label.
            None if null => &Given::Null,
            None => return state.clear(),
        };
        let some_paths = || Reason::OwnedOnSomePaths(self.name.to_owned());
        let hold = match given {
            Given::Lookup(_) | Given::Parameter => return,
            Given::Null => Hold::Null,
            Given::New if self.keeps_counting() => return state.fail(some_paths()),
            Given::New if self.mode == Mode::Own && !self.makes(local, instr.source) => {
                return state.fail(some_paths());
            }
            Given::New => Hold::Held {
                count: u8::from(self.mode == Mode::Adopt),
                null: true,
            },
            Given::Borrowed(_) if self.leaves == Leaves::Definitions => Hold::Settled,
            Given::Borrowed(_) => {
                let Some(value) = super::web::assigned(self.scene, instr.source, local) else {
                    return state.fail(some_paths());
                };
                sink.owned.insert(value);
                let null = !self.scene.is_never_null(value);
                Hold::Held { count: 0, null }
            }
        };
        state.clear();
        state.sources = Sources {
            looked_up: matches!(given, Given::Borrowed(_)),
            made: *given == Given::New,
            unreleased: *given == Given::New,
            // A release that the code forgets is none of a settled object.
            passed_on: hold == Hold::Settled,
        };
        state.hold = hold;
        carry(local, instr, state);
    }

    /// Fails if the object is the referent of a weak reference and may be dead: the code gets
    /// `NULL` where it got `Py_None`.
    pub(in crate::strong) fn check_alive(&self, state: &mut State) {
        let may_be_dead = matches!(state.hold, Hold::Null | Hold::Held { null: true, .. });
        if self.weak.is_some() && may_be_dead {
            state.fail(Reason::NoneEscapes(self.name.to_owned()));
        }
    }

    /// `o == other`: that may be `Py_None`, too, if it is not the function's own object.
    fn compared(&self, test: ExprId, operands: &[Operand], state: &mut State) {
        let weak = self.weak.as_ref();
        let is_rewritten = weak.is_some_and(|weak| weak.is_none_test(test));
        let is_object = |operand| kind_of(state, operand) == Some(Kind::Same);
        let is_free = is_rewritten || weak.is_some() && names_itself(self.scene, test);
        if !is_free && operands.iter().any(is_object) {
            self.check_alive(state);
        }
    }

    /// Whether what is read or assigned is a number, or made of numbers only, as far as the
    /// declarations of the package tell: `child->count`, `node->box` of `struct box { int x, y; }`.
    pub(in crate::strong) fn is_number(&self, source: Source) -> bool {
        let Source::Expr(expr) = source else {
            return false;
        };
        let types = self.scene.cx.types();
        let ty = types.of(self.scene.tree, expr);
        ty.is_some_and(|ty| self.scene.is_plain(ty))
    }

    /// Adds what the outcome of a test says; whether it can be at all.
    pub(in crate::strong) fn refine(
        &self,
        condition: &Condition,
        holds: bool,
        state: &mut State,
    ) -> bool {
        let zero = match condition.comparison {
            Comparison::Equal => holds,
            Comparison::NotEqual => !holds,
            _ => return true,
        };
        if !condition.rhs.is_zero() {
            let operands = [condition.lhs.clone(), condition.rhs.clone()];
            self.compared(condition.expr, &operands, state);
        }
        if condition.rhs.is_zero() {
            self.refine_flag(condition, zero, state);
        }
        let weak = self.weak.as_ref();
        let for_none = weak.is_some_and(|weak| weak.is_none_test(condition.expr));
        let is_null_test = condition.rhs.is_zero() || for_none;
        if !is_null_test || kind_of(state, &condition.lhs) != Some(Kind::Same) {
            return true;
        }
        if !zero && weak.is_some_and(|weak| weak.is_error_test(self.scene, condition.expr)) {
            // Not failed, but perhaps dead.
            return true;
        }
        match (&state.hold, zero) {
            (Hold::Held { null: true, .. }, true) if self.is_apart() => state.clear_to_null(),
            (Hold::Held { null: true, .. }, true) => state.hold = Hold::Null,
            // It may be another object, where there is none of ours.
            (Hold::Held { .. }, false) if state.mixed => {}
            (Hold::Held { count, .. }, false) => {
                let count = *count;
                state.hold = Hold::Held { count, null: false };
            }
            (Hold::Held { null: false, .. }, true) | (Hold::Null, false) => return false,
            (Hold::Null, true) | (Hold::Nothing | Hold::Settled | Hold::Broken(_), _) => {}
        }
        true
    }

    pub(in crate::strong) fn is_static(&self, local: LocalId) -> bool {
        !self.scene.tree.local(local).is_automatic()
    }
}

/// `local` is the object, and so is what `instr` stores in it, which comes to be tested:
/// `if ((v = PyDict_New()) == NULL)`.
fn carry(local: LocalId, instr: &Instr, state: &mut State) {
    state.carriers.insert(Carrier::Local(local), Kind::Same);
    if let InstrKind::Store {
        value: Operand::Temp(value),
        ..
    } = &instr.kind
    {
        state.carriers.insert(Carrier::Temp(*value), Kind::Same);
    }
}

pub(in crate::strong) fn kind_of(state: &State, operand: &Operand) -> Option<Kind> {
    match operand {
        Operand::Temp(temp) => state.kind(Carrier::Temp(*temp)),
        Operand::AddressOf(place) => match &place.base {
            // `&v->field`
            Base::Deref(pointer) => kind_of(state, pointer).map(|_| Kind::Inside),
            // A local array or struct with pointers into the object.
            Base::Local(local) => state.points_inside(*local).then_some(Kind::Inside),
            Base::Global(_) | Base::Unnamed(_) => None,
        },
        Operand::Null | Operand::Int(_) | Operand::Str(_) | Operand::Unknown => None,
    }
}

fn load(dst: TempId, place: &Place, state: &mut State) {
    let kind = match &place.base {
        Base::Local(local) => {
            let kind = state.kind(Carrier::Local(*local));
            let inside = state.points_inside(*local).then_some(Kind::Inside);
            match place.path[..] {
                [] => kind.or(inside),
                _ => kind.and(Some(Kind::Inside)).or(inside),
            }
        }
        Base::Deref(pointer) if is_text(state, pointer) => None,
        Base::Deref(pointer) => kind_of(state, pointer).map(|_| Kind::Inside),
        Base::Global(_) | Base::Unnamed(_) => None,
    };
    if let Some(kind) = kind {
        state.carriers.insert(Carrier::Temp(dst), kind);
    }
}
