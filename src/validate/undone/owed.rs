//! What the function has begun where a new exit leaves, and ends on its other ways out.
//!
//! ```c
//! queue_enter(self->queue);
//! item = PyList_GetItemRef(list, i);            /* an exit here leaves `self->queue` entered */
//! …
//! queue_leave(self->queue);
//! return result;
//! ```
//!
//! Nothing says that `queue_leave` undoes what `queue_enter` does, and nothing says that it does not.
//! An exit that the function had shows what is to be done there, if nothing is changed between the two.

use super::View;
use super::acts::{self, Act, clears_errno, is_array, is_count, is_output, roots};
use super::spelling::Spelling;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, Name, StmtId, StmtKind, UnaryOp};
use crate::capi;
use crate::cfg::{Base, InstrKind, Point, Source, reaches};
use crate::program::{Lasting, lasting};

/// An act with what it changes.
pub(super) struct Change<'a> {
    pub(super) act: &'a Act,
    pub(super) lasting: &'a [Lasting],
}

impl View<'_> {
    /// What the function does on its other ways, and may belong to what had begun where `exit` leaves.
    pub(super) fn owed(&self, exit: &Exit) -> Vec<&Act> {
        let mut changes = self.all_changes();
        changes.retain(|it| !it.lasting.is_empty());
        let next = self.next(exit);
        let mut owed: Vec<&Act> = Vec::new();
        for rest in &changes {
            let is_known = owed.iter().any(|it| it.key == rest.act.key);
            let range = self.tree.expr(rest.act.expr).range;
            // `self->data = realloc(self->data, n)` is one thing.
            let is_part = changes.iter().any(|it| {
                it.act.writes
                    && it.act.expr != rest.act.expr
                    && self.tree.expr(it.act.expr).range.contains(range)
            });
            if !is_known
                && !is_part
                && self.is_left_out(rest, exit, &next)
                && self.is_due(rest, &changes, exit, &next)
            {
                owed.push(rest.act);
            }
        }
        owed
    }

    pub(super) fn all_changes(&self) -> Vec<Change<'_>> {
        let lasting = self.lasting.get_or_init(|| {
            let program = self.changed.original.program;
            let all = self.acts.iter();
            all.map(|act| lasting(program, self.tree, act.expr))
                .collect()
        });
        let all = self.acts.iter().zip(lasting);
        all.map(|(act, lasting)| Change { act, lasting }).collect()
    }

    /// Whether the function does something on all of its ways out but `exit`, or on the next ones that
    /// fail.
    fn is_left_out(&self, it: &Change<'_>, exit: &Exit, next: &[&Exit]) -> bool {
        let act = it.act;
        let is_next = self.is_in(next, act, exit);
        let on_all = || {
            !(act.writes && self.is_element_or_output(act, exit))
                && self.goes_on_to(exit, act.point)
                && self.is_on_all_ways(act, exit)
        };
        let is_seen = |it: &Lasting| {
            // What is added takes nothing back; but an exit that adds to what others have may have to.
            let adds = it.only_adds && !(is_next && it.variable().is_some());
            // What it puts into its own memory is lost with that.
            !adds && (!act.writes || it.stays())
        };
        let is_done = || {
            clears_errno(self.tree, act.expr)
                || self.speaks_of_result(act, exit)
                || act.writes && self.is_computed_from_result(act, exit)
                || self.is_done_there(act, exit)
        };
        it.lasting.iter().any(is_seen) && !is_done() && (is_next || on_all())
    }

    fn is_in(&self, next: &[&Exit], act: &Act, exit: &Exit) -> bool {
        next.iter().any(|other| self.does(other, act, exit))
    }

    /// Whether what `rest` may undo has begun where `exit` leaves, be it out of sight, and no exit that
    /// the function had leaves it so.
    fn is_due(&self, rest: &Change<'_>, all: &[Change<'_>], exit: &Exit, next: &[&Exit]) -> bool {
        let seen = all
            .iter()
            .filter(|it| it.lasting.iter().any(Lasting::is_seen));
        let points: Vec<Point> = seen.map(|it| it.act.point).collect();
        let leads = |it: &&Change<'_>| reaches(self.cfg, it.act.point.next(), rest.act.point, &[]);
        let begun = all.iter().filter(|it| self.belongs_to(it, rest));
        let begun: Vec<&Change<'_>> = begun.filter(leads).collect();
        let is_open = begun.iter().any(|it| {
            self.is_open(it.act.point.next(), rest, (exit, next))
                && !self.has_precedent((Some(it.act), rest), exit, &points)
        });
        // It may have begun out of sight: the caller gave it, or nothing shows what begins it.
        let mut own = roots(self.tree, rest.act.expr);
        own.retain(|&root| !self.is_given(root));
        let is_there = || match own.is_empty() {
            true => begun.is_empty(),
            false => self.have_values(&own, rest.act, exit),
        };
        let is_unseen = || {
            !is_count(self.tree, rest.act.expr)
                && self.is_in(next, rest.act, exit)
                && is_there()
                && !self.has_precedent((None, rest), exit, &points)
        };
        is_open || is_unseen()
    }

    /// Whether variables that `act` works on have what they hold there where `exit` leaves.
    fn have_values(&self, locals: &[LocalId], act: &Act, exit: &Exit) -> bool {
        let ends = self.ends(act, exit);
        let has_it =
            |set: Point| !ends.contains(&set) && reaches(self.cfg, set.next(), exit.from, &ends);
        locals.iter().all(|&local| {
            let is_read = self.liveness.is_live(local, exit.from)
                || self.cfg.address_taken().contains(&local);
            is_read && self.given_to(local).into_iter().any(has_it)
        })
    }

    /// Whether the function had exits without `rest` where `begun` had begun as well: nothing is
    /// changed at `points` between them and `exit`, and they do not ask whether `begun` failed.
    fn has_precedent(
        &self,
        (begun, rest): (Option<&Act>, &Change<'_>),
        exit: &Exit,
        points: &[Point],
    ) -> bool {
        let points = [points, &self.ends(rest.act, exit)].concat();
        let points = &points[..];
        let asks = |old: &&Exit| begun.is_some_and(|begun| self.asks_for(begun, old));
        let others = || {
            let old = self.old.iter().filter(|old| !asks(old));
            old.filter(|old| self.leaves_without(old, rest.act, exit))
        };
        if others().any(|old| reaches(self.cfg, exit.from, old.start, points)) {
            return true;
        }
        let is_beside = |old: &Exit| begun.is_none_or(|begun| self.is_beside(begun, old, points));
        let ahead = others().filter(|old| reaches(self.cfg, old.from, exit.from, points));
        let ahead = ahead.filter(|old| is_beside(old));
        let ahead: Vec<Point> = ahead.map(|old| old.from).collect();
        let passed = [points, &ahead].concat();
        let is_last = |point: &Point| reaches(self.cfg, point.next(), exit.from, &passed);
        !ahead.is_empty() && !points.iter().any(is_last)
    }

    /// Whether the function may return after `old` without `act`, or without asking whether to do it:
    /// a `break` may lead there.
    pub(super) fn leaves_without(&self, old: &Exit, act: &Act, exit: &Exit) -> bool {
        let ends = self.ends(act, exit);
        let mut returns = self.cfg.returns();
        returns.any(|end| reaches(self.cfg, old.start, end, &ends))
    }

    /// Whether the test of an exit is about what `begun` gave, or wrote: `if (fd < 0)`, `if (!*out)`.
    pub(super) fn asks_for(&self, begun: &Act, old: &Exit) -> bool {
        let tree = self.tree;
        let StmtKind::If { cond, .. } = tree.stmt(old.test).kind else {
            return true;
        };
        let within = tree.expr(cond).range;
        let expr = begun.expr;
        let is_stored = |value: ExprId| tree.expr(value).range.contains(tree.expr(expr).range);
        let given = tree.stores().filter(|&(_, value)| is_stored(value));
        let given: Vec<LocalId> = given.map(|(local, _)| local).collect();
        let place = tree.changed(expr).map(|place| self.spelling(place));
        let is_about = |part: ExprId| {
            tree.as_local(part)
                .is_some_and(|local| given.contains(&local))
                || place.is_some_and(|place| place == self.spelling(part))
        };
        within.contains(tree.expr(expr).range)
            || tree.exprs_in(within).any(|(part, _)| is_about(part))
    }

    /// Whether `rest` may undo what `begun` does: they are about one thing, and it is not the same
    /// once more.
    fn belongs_to(&self, begun: &Change<'_>, rest: &Change<'_>) -> bool {
        let is_one = self.spelling(begun.act.expr) == self.spelling(rest.act.expr)
            && !self.is_given_another(begun.act, rest.act);
        let is_again = is_one && !self.tree.toggles(rest.act.expr)
            || self.is_about_another(begun.act, rest.act);
        let mut undone = rest.lasting.iter().filter(|it| !it.only_adds);
        !is_again
            && !self.sets_another_key(begun.act, rest.act)
            && undone.any(|it| {
                begun.lasting.iter().any(|begun| begun.meets(it))
                    || self.is_called_again(begun, rest)
            })
    }

    /// Whether a variable that both are about is set between them: `on = 1; set(fd, &on); …; on = 0;
    /// set(fd, &on);`.
    fn is_given_another(&self, begun: &Act, rest: &Act) -> bool {
        let about = roots(self.tree, rest.expr);
        let sets = self.cfg.steps().filter(|(_, instr)| {
            let place = match &instr.kind {
                InstrKind::Store { place, .. } => place,
                _ => return false,
            };
            matches!(place.base, Base::Local(local) if about.contains(&local))
        });
        let mut sets = sets.map(|(point, _)| point);
        !begun.writes
            && sets.any(|set| {
                reaches(self.cfg, begun.point.next(), set, &[])
                    && reaches(self.cfg, set, rest.point, &[])
            })
    }

    /// Whether the function may come from `begun` to `exit` without `rest`: each pass of a loop may
    /// begin and end it.
    fn is_open(&self, begun: Point, rest: &Change<'_>, (exit, next): (&Exit, &[&Exit])) -> bool {
        let mut ends = self.ends(rest.act, exit);
        if !self.is_in(next, rest.act, exit) {
            ends.extend(self.turn_of(rest.act, exit));
        }
        reaches(self.cfg, begun, exit.from, &ends)
    }

    /// Where a turn begins of the innermost loop around `exit` and `act`, if that may end before each
    /// turn: what the loop does with each item is no end of what had begun before.
    fn turn_of(&self, act: &Act, exit: &Exit) -> Option<Point> {
        let tree = self.tree;
        let act = tree.expr(act.expr).range;
        let mut at = self.loop_around(exit.test);
        while let Some(around) = at.filter(|&at| !tree.stmt(at).range.contains(act)) {
            at = self.loop_around(around);
        }
        let (StmtKind::For {
            cond: Some(cond),
            body,
            ..
        }
        | StmtKind::While { cond, body }) = tree.stmt(at?).kind
        else {
            return None;
        };
        let is_endless = matches!(tree.expr(cond).kind, ExprKind::Int(_));
        self.cfg.before(body).filter(|_| !is_endless)
    }

    /// Whether `exit` makes a call of the same function with the same first argument.
    fn is_done_there(&self, act: &Act, exit: &Exit) -> bool {
        let begins = |act: &Act| {
            let (name, args) = self.tree.call(act.expr)?;
            Some((name, args.first().map(|&arg| self.spelling(arg))))
        };
        let call = begins(act);
        let mut done = self.acts.iter();
        done.any(|it| {
            (it.key == act.key || call.is_some() && begins(it) == call)
                && reaches(self.cfg, exit.start, it.point, &[exit.from])
        })
    }

    /// Whether two calls of one function are about different things: `put(sink, items[i])` and
    /// `put(sink, items[0])`. A constant or a variable may be what was there before.
    fn is_about_another(&self, one: &Act, other: &Act) -> bool {
        let tree = self.tree;
        let calls = tree.call(one.expr).zip(tree.call(other.expr));
        let Some(((name, ones), (other_name, others))) = calls else {
            return false;
        };
        let is_part = |arg: ExprId| match tree.expr(tree.without_casts(arg)).kind {
            // It was `items[0]`.
            ExprKind::Name(Name::Local(local)) => self.is_added(local),
            ExprKind::Index { .. } => true,
            ExprKind::Unary { op, .. } => op == UnaryOp::Deref,
            _ => false,
        };
        let pairs = ones.iter().zip(others);
        let differing = pairs.filter(|(one, other)| self.spelling(**one) != self.spelling(**other));
        let mut differing = differing.peekable();
        name == other_name
            && differing.peek().is_some()
            && ones.len() == others.len()
            && differing.all(|(_, other)| is_part(*other))
    }

    /// `make_current(context)` and `make_current(NULL)`: one function may set and take back.
    fn is_called_again(&self, begun: &Change<'_>, rest: &Change<'_>) -> bool {
        let called = |it: &Change<'_>| self.tree.called(it.act.expr);
        let name = called(rest);
        name.is_some_and(capi::is_unknown) && called(begun) == name
    }

    /// `PyDict_SetItemString(d, "a", v)` and `PyDict_SetItemString(d, "b", w)`.
    fn sets_another_key(&self, one: &Act, other: &Act) -> bool {
        let calls = self.tree.call(one.expr).zip(self.tree.call(other.expr));
        let Some(((name, ones), (other_name, others))) = calls else {
            return false;
        };
        let runs_code = || capi::acts(name).is_some_and(|acts| acts.runs_code());
        let key = |args: &[ExprId]| args.get(1).map(|&key| self.spelling(key));
        name == other_name
            && ones.len() > 2
            && key(ones) != key(others)
            && capi::effects(name).is_some()
            && !runs_code()
    }

    /// Whether a write sets one of many elements in turn, or what a pointer of the caller's points
    /// at, which nobody reads after an error.
    pub(super) fn is_element_or_output(&self, act: &Act, exit: &Exit) -> bool {
        let place = self.tree.changed(act.expr);
        place.is_some_and(|place| {
            let is_element = match self.tree.expr(place).kind {
                ExprKind::Index { index, .. } => self.tree.as_local(index).is_some(),
                // `*end++`
                ExprKind::Unary { operand, .. } => self.tree.changed(operand).is_some(),
                _ => false,
            };
            is_element && self.is_in_loop(act, exit) || is_output(self.tree, place)
        })
    }

    /// Whether a write needs what the lookup gave: `n = PyLong_AsLong(item); self->n = n;`.
    pub(super) fn is_computed_from_result(&self, act: &Act, exit: &Exit) -> bool {
        let ExprKind::Assign { rhs, .. } = self.tree.expr(act.expr).kind else {
            return false;
        };
        let known = self.made_of(exit.tested(self.tree), None);
        let mut used = roots(self.tree, rhs).into_iter();
        used.any(|root| known.contains(&root))
    }

    /// Whether a variable came in with the change, for what stood in its place: `give(value)` was
    /// `give(PySys_GetObject("stdout"))`.
    pub(super) fn is_added(&self, local: LocalId) -> bool {
        acts::is_added(self.changed, local)
    }

    /// Whether a variable only names what the caller passed in.
    pub(super) fn is_given(&self, local: LocalId) -> bool {
        let tree = self.tree;
        let is_made = |value: ExprId| {
            matches!(
                tree.expr(tree.without_casts(value)).kind,
                ExprKind::Call { .. }
            )
        };
        let mut stores = tree.stores().filter(|(given, _)| *given == local);
        let is_parsed = |point: Point| match self.cfg.source(point) {
            Some(Source::Expr(call)) => {
                let name = tree.called(call);
                name.is_some_and(|name| name.starts_with("PyArg_"))
            }
            _ => false,
        };
        let variable = tree.local(local);
        let is_pointer = variable.ty.pointee().is_some() && !is_array(tree, local);
        let is_plain = is_pointer || variable.ty.is_number();
        variable.is_param
            || self.is_added(local)
            || is_plain
                && stores.all(|(_, value)| !is_made(value))
                && self.cfg.addressing(local).all(is_parsed)
    }

    /// Whether the test of `exit` calls something with an argument of `act`.
    pub(super) fn works_on_same(&self, exit: &Exit, act: &Act) -> bool {
        let asked = self.asked.get(&exit.test).into_iter().flatten();
        asked.map(|&at| &self.acts[at]).any(|other| {
            let mut theirs = self.arguments(other);
            theirs.any(|arg| self.arguments(act).any(|own| own == arg))
        })
    }

    /// The arguments of a call that are places.
    pub(super) fn arguments<'s>(&'s self, act: &'s Act) -> impl Iterator<Item = Spelling<'s>> {
        act.places.iter().map(|&place| self.spelling(place))
    }

    /// Whether `act` stands in the innermost loop around `exit`.
    pub(super) fn is_in_loop(&self, act: &Act, exit: &Exit) -> bool {
        let around = self.loop_around(exit.test);
        around.is_some_and(|around| {
            let range = self.tree.stmt(around).range;
            range.contains(self.tree.expr(act.expr).range)
        })
    }

    /// The innermost loop around a statement.
    pub(super) fn loop_around(&self, mut stmt: StmtId) -> Option<StmtId> {
        loop {
            stmt = self.nesting.around(stmt)?;
            let is_loop = self.tree.stmt(stmt).kind.is_loop();
            if is_loop {
                return Some(stmt);
            }
        }
    }
}
