//! What one call does to the followed object.

use super::apart::named;
use super::counts::{Effect, effect};
use super::forgotten::keeps_bare;
use super::hold::{Carrier, Hold, Kind, State};
use super::step::kind_of;
use super::{Decisions, Follower, Leaves, Mode, Repair};
use crate::ast::{ExprId, ExprKind, LocalId, Parent, StmtKind};
use crate::capi;
use crate::cfg::{Callee, Operand, Point, Source, TempId};
use crate::ownership::summary::Param;
use crate::ownership::track::{Callees, is_given_back};
use crate::strong::reason::Reason;
use crate::strong::types::may_point_inside;

impl Follower<'_, '_> {
    #[allow(clippy::too_many_arguments, reason = "the parts of one call")]
    pub(in crate::strong) fn call(
        &self,
        point: Point,
        dst: TempId,
        callee: &Callee,
        args: &[Operand],
        source: Source,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        let Source::Expr(expr) = source else { return };
        state.awaited.remove(&expr);
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(_) => "",
        };
        self.attach(name, state);
        if let Some(&null) = self.lookups.get(&expr) {
            if state.is_held() && !self.replace(expr, state, sink) {
                return state.fail(self.unless_pinned(state, Reason::TwoAtOnce));
            }
            state.clear();
            state.sources.looked_up = true;
            state.hold = Hold::Held { count: 0, null };
            state.carriers.insert(Carrier::Temp(dst), Kind::Same);
            return;
        }
        if self.again.contains(&expr) {
            return self.serve_again(dst, state);
        }
        if matches!(state.hold, Hold::Nothing | Hold::Broken(_)) {
            return;
        }
        if self.strong.leaves(expr) {
            self.at_exit(expr, state, sink);
        }
        let kinds: Vec<Option<Kind>> = args.iter().map(|arg| kind_of(state, arg)).collect();
        if kinds.first() == Some(&Some(Kind::Same)) && self.reads_first(name, expr) {
            self.read_first(state);
        }
        for (at, kind) in kinds.iter().enumerate() {
            if let Some(kind @ (Kind::Same | Kind::MaybeSame)) = kind {
                let effect = effect(self.scene, name, args, at);
                if self.owns(state) && effect == Effect::Use && self.may_keep(name, at) {
                    return state.fail(Reason::KeptBorrowed(name.to_owned()));
                }
                if effect == Effect::Take && self.is_other_owner(expr, at, state) {
                    continue;
                }
                state.sources.passed_on |=
                    effect == Effect::Use && (self.may_keep(name, at) || keeps_bare(name));
                let local = self.local_argument(expr, at);
                self.argument(point, name, expr, effect, *kind, local, state, sink);
            }
            let kept = *kind == Some(Kind::Inside) && self.keeps(name, at);
            if (kept || self.keeps_contents(name, expr, args, at, state)) && !self.pins(state) {
                return;
            }
            if *kind == Some(Kind::Inside)
                && effect(self.scene, name, args, at) == Effect::Take
                && let Some(local) = self.local_argument(expr, at)
                && !self.gives_back(local)
            {
                // `Py_INCREF(first);`: from here on the tuple element lives by itself.
                state.carriers.remove(&Carrier::Local(local));
            }
        }
        self.outs(name, expr, args, &kinds, state);
        if matches!(state.hold, Hold::Null | Hold::Held { .. }) && !self.strong.contains(expr) {
            self.result(name, dst, expr, &kinds, state);
        }
    }

    /// A function reads the object, so that is there; but `Py_None` was read, which is `NULL` by now.
    fn read_first(&self, state: &mut State) {
        self.check_alive(state);
        state.is_read();
    }

    /// Whether a part of the object loses its own reference while it is used yet.
    fn gives_back(&self, local: LocalId) -> bool {
        let scene = self.scene;
        is_given_back(scene.cfg, scene.tree, scene.cx.summaries(), local)
    }

    /// What the first lookup gave takes the place of the result.
    fn serve_again(&self, dst: TempId, state: &mut State) {
        match state.hold {
            Hold::Held { .. } | Hold::Null => {
                state.carriers.insert(Carrier::Temp(dst), Kind::Same);
            }
            _ => state.fail(Reason::NoPlace(self.name.to_owned())),
        }
    }

    /// Whether `call` of `name` reads its first argument, in the new code as in the old.
    fn reads_first(&self, name: &str, call: ExprId) -> bool {
        capi::reads_first(name) && !self.is_passed_on(call) && !self.scene.tree.is_asserted(call)
    }

    /// Whether `read` looks into the result of a lookup whose `NULL` is passed on around it:
    /// `item2 = item == NULL ? NULL : PyList_GetItemRef(item, k)`.
    fn is_passed_on(&self, read: ExprId) -> bool {
        let scene = self.scene;
        let Some((_, [container, ..])) = scene.call(read) else {
            return false;
        };
        self.strong.passes_on(scene.tree.without_casts(*container))
    }

    /// Whether `call` takes a reference for another variable than that of the lookup, whose own
    /// business the object is from then on: the caller has a reference for the lookup.
    fn is_other_owner(&self, call: ExprId, at: usize, state: &mut State) -> bool {
        let local = self.local_argument(call, at);
        let other = local.filter(|_| self.mode == Mode::Lent && local != self.home);
        other.is_some_and(|other| state.carriers.remove(&Carrier::Local(other)).is_some())
    }

    /// Whether the function of the package keeps what it gets as argument `at`, or releases it.
    fn keeps(&self, name: &str, at: usize) -> bool {
        let param = self.scene.cx.summaries().param(name, at);
        matches!(param, Some(Param::Taken(_) | Param::Inside))
    }

    /// The variable that is argument `at` of a call.
    pub(in crate::strong) fn local_argument(&self, call: ExprId, at: usize) -> Option<LocalId> {
        match &self.scene.tree.expr(call).kind {
            ExprKind::Call { args, .. } => named(self.scene, *args.get(at)?),
            _ => None,
        }
    }

    /// What becomes of a reference that the code takes itself, its `count`th.
    fn existing_count(
        &self,
        expr: ExprId,
        effect: Effect,
        count: u8,
        state: &State,
        sink: &mut Decisions,
    ) {
        if self.owns(state) && state.sources.unreleased {
            sink.repairs.insert(Repair::Lost);
        }
        if !self.keeps_counting() && count == 0 {
            match effect {
                Effect::Take => sink.removed.insert(expr),
                _ => sink.unwrapped.insert(expr),
            };
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one call")]
    fn argument(
        &self,
        point: Point,
        name: &str,
        expr: ExprId,
        effect: Effect,
        kind: Kind,
        local: Option<LocalId>,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        if self.is_apart() && effect != Effect::KeepInside {
            return self.argument_apart(name, (expr, effect), kind, local, state);
        }
        let adopted = matches!(state.hold, Hold::Held { count: 0, .. });
        match effect {
            Effect::Take if adopted && !self.keeps_counting() => {}
            Effect::Clear => {}
            Effect::Release if name == "Py_XDECREF" => {}
            _ => self.check_alive(state),
        }
        if effect == Effect::Use {
            return;
        }
        if effect == Effect::KeepInside {
            self.pins(state);
            return;
        }
        if effect == Effect::Clear && state.hold == Hold::Null {
            return;
        }
        let Hold::Held { count, null } = state.hold else {
            return;
        };
        if kind == Kind::MaybeSame {
            return state.fail(Reason::Alias(self.name.to_owned()));
        }
        match effect {
            Effect::Use | Effect::KeepInside => {}
            // It may be for something that is not followed.
            Effect::Take | Effect::Copy if self.owns(state) && !state.sources.looked_up => {
                state.fail(Reason::OwnedOnSomePaths(self.name.to_owned()));
            }
            Effect::Take if self.pays_store(point, state) => {}
            Effect::Take | Effect::Copy => {
                self.existing_count(expr, effect, count, state, sink);
                let count = count.saturating_add(1);
                state.hold = Hold::Held { count, null };
                let taken = local.filter(|_| effect == Effect::Take);
                if let Some(local) = taken.filter(|_| self.leaves == Leaves::Taken) {
                    self.hand_over(local, point.next(), state);
                }
            }
            Effect::Release => self.existing_release(point, expr, count, null, state, sink),
            Effect::Clear if self.is_last(count, state) => {
                let home = self.home.map(Carrier::Local);
                state.clear();
                state.hold = Hold::Null;
                state.carriers.extend(home.map(|home| (home, Kind::Same)));
            }
            Effect::Clear | Effect::Replace => {
                state.fail(Reason::ClearedByMacro(self.name.to_owned()));
            }
            // What the code has no reference to, it does not give away.
            Effect::MaySteal if count == 0 && !self.owns(state) => {}
            Effect::MaySteal => state.fail(Reason::may_consume(name)),
            Effect::Steal => self.stolen(point, name, expr, kind, state, sink),
            Effect::StealOnSuccess => state.fail(Reason::StealsOnSuccess(name.to_owned())),
        }
    }

    /// The same, where a variable of its own holds the reference.
    fn argument_apart(
        &self,
        name: &str,
        (expr, effect): (ExprId, Effect),
        kind: Kind,
        local: Option<LocalId>,
        state: &mut State,
    ) {
        if effect == Effect::StealOnSuccess {
            return state.fail(Reason::StealsOnSuccess(name.to_owned()));
        }
        let reason = match effect {
            Effect::MaySteal => Reason::may_consume(name),
            _ => self.not_given(name),
        };
        self.count_apart((expr, effect), kind, local, reason, state);
    }

    /// Why a function that takes over a reference cannot get one that there is not.
    fn not_given(&self, name: &str) -> Reason {
        match self.scene.cx.summaries().knows(name) {
            true => Reason::KeptBorrowed(name.to_owned()),
            false => Reason::StolenBorrowed(name.to_owned()),
        }
    }

    /// `name` takes over the reference.
    fn stolen(
        &self,
        point: Point,
        name: &str,
        expr: ExprId,
        kind: Kind,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        let Hold::Held { count, .. } = state.hold else {
            return;
        };
        let own = self.scene.cx.summaries().knows(name);
        if !own && self.is_counted_next(point, state) {
            return;
        }
        let needed = self.is_used_after(state, point);
        if !own && !needed && self.presumes(count, state, sink) {
            return;
        }
        if self.mode == Mode::Adopt && count == 1 && !own {
            let taken = self.released_though_taken(state, point, expr).into_iter();
            sink.taken.extend(taken.map(|call| (call, name.to_owned())));
        }
        let lacks = self.lacks_reference(state);
        sink.repairs.extend(lacks.then_some(Repair::Missing));
        self.give(needed, kind, self.not_given(name), state);
    }

    fn existing_release(
        &self,
        point: Point,
        expr: ExprId,
        count: u8,
        null: bool,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        if self.is_last(count, state) {
            let lacks = self.lacks_reference(state);
            let flagged = lacks && self.is_flagged(expr);
            if !flagged && !self.is_needed_after(state, point) {
                sink.repairs.extend(lacks.then_some(Repair::Missing));
                return state.clear();
            }
            sink.removed.insert(expr);
            state.sources.unreleased = false;
        }
        match count.checked_sub(1) {
            Some(left) => state.hold = Hold::Held { count: left, null },
            None if self.owns(state) => {}
            // Py_DECREF(PyWeakref_GetObject(r)); drops a count on purpose: it would need two.
            None => state.fail(Reason::OverRelease(self.name.to_owned())),
        }
    }

    fn result(
        &self,
        name: &str,
        dst: TempId,
        expr: ExprId,
        kinds: &[Option<Kind>],
        state: &mut State,
    ) {
        let carrier = Carrier::Temp(dst);
        if matches!(name, "Py_NewRef" | "Py_XNewRef") {
            if self.is_apart() {
                // It has a reference of its own.
                return;
            }
            // `return Py_NewRef(PyTuple_GET_ITEM(v, 0));`: the element has a reference of its own.
            if let Some(Some(kind @ (Kind::Same | Kind::MaybeSame))) = kinds.first() {
                state.carriers.insert(carrier, *kind);
            }
            return;
        }
        let summaries = self.scene.cx.summaries();
        let inside = match capi::effects(name) {
            Some(_) if summaries.outlives_arguments(self.scene.tree, expr) => false,
            Some(effects) => effects
                .derived_from
                .is_some_and(|arg| kinds.get(usize::from(arg)).is_some_and(Option::is_some)),
            None => {
                let mut of = (0..).zip(kinds).filter_map(|(at, kind)| kind.map(|_| at));
                of.any(|at| summaries.may_derive(name, at))
                    && (summaries.result_of(name).is_some() || self.may_give_pointer(name, expr))
            }
        };
        if inside {
            state.carriers.insert(carrier, Kind::Inside);
        }
    }

    /// Whether the result of a function of the project may point into its arguments: its type
    /// says so if its definition is known, else that of the variable which gets the result.
    fn may_give_pointer(&self, name: &str, expr: ExprId) -> bool {
        if let Some((_, function)) = self.scene.cx.definitions(name).next() {
            return may_point_inside(&function.ret) && !self.scene.is_plain(&function.ret);
        }
        let mut target = self.scene.parent_of_expr(expr);
        while let Some(Parent::Expr(outer)) = target {
            match &self.scene.tree.expr(outer).kind {
                // `text += sprintf(text, "%s", name);`
                ExprKind::Assign { op: Some(_), .. } => return false,
                ExprKind::Assign { lhs, .. } => {
                    return match self.scene.as_local(*lhs) {
                        Some(local) => may_point_inside(&self.scene.tree.local(local).ty),
                        // `self->name = strrchr(text, '/');`, but not `self->handle = open(text);`
                        None => {
                            let types = self.scene.cx.types();
                            let ty = types.of(self.scene.tree, *lhs);
                            let of = ty.and_then(|ty| types.pointee(ty));
                            of.is_some_and(|of| types.is_number(of))
                        }
                    };
                }
                ExprKind::Cast { .. } => target = self.scene.parent_of_expr(outer),
                _ => return false,
            }
        }
        match target {
            Some(Parent::Stmt(stmt)) => match &self.scene.tree.stmt(stmt).kind {
                StmtKind::Decl(decls) => decls
                    .iter()
                    .any(|decl| may_point_inside(&self.scene.tree.local(decl.local).ty)),
                _ => false,
            },
            _ => false,
        }
    }

    /// `Py_BEGIN_ALLOW_THREADS` and the like detach the thread, and so does `leave(connection)` of the
    /// package: no object may be touched then.
    fn attach(&self, name: &str, state: &mut State) {
        let threads = self.scene.cx.threads();
        if threads.detaches(name) {
            state.detached = true;
            state.pinned = false;
        } else if threads.attaches(name) {
            state.detached = false;
        }
    }
}
