//! What the function has begun where a new exit leaves, and goes on with on all of its other ways out.
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
use super::acts::{Act, is_output, roots};
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, Name, StmtKind, UnaryOp};
use crate::capi;
use crate::cfg::{Base, InstrKind, Point, reaches};
use crate::program::{Lasting, lasting};

/// An act with what it changes.
pub(super) struct Change<'a> {
    pub(super) act: &'a Act,
    pub(super) lasting: &'a [Lasting],
}

impl View<'_> {
    /// What the function does on all other ways, and may belong to what had begun where `exit`
    /// leaves.
    pub(super) fn obligations(&self, exit: &Exit) -> Vec<&Act> {
        let mut changes = self.all_changes();
        changes.retain(|it| !it.lasting.is_empty());
        let is_before = |it: &&Change<'_>| reaches(self.cfg, it.act.point.next(), exit.from, &[]);
        let begun: Vec<&Change<'_>> = changes.iter().filter(is_before).collect();
        let seen = changes
            .iter()
            .filter(|it| it.lasting.iter().any(Lasting::is_seen));
        let points: Vec<Point> = seen.map(|it| it.act.point).collect();
        let rest = changes.iter().filter(|it| self.is_left_out(it, exit));
        let owed = rest.filter(|rest| {
            let mut begun = begun.iter();
            begun.any(|it| {
                self.belongs_to(it, rest)
                    && self.is_open(it, rest, exit)
                    && !self.has_precedent((it, rest), exit, &points)
            })
        });
        owed.map(|it| it.act).collect()
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

    /// Whether the function had exits without `rest` where `begun` had begun as well: nothing is
    /// changed at `points` between them and `exit`, and they do not ask whether `begun` failed.
    fn has_precedent(
        &self,
        (begun, rest): (&Change<'_>, &Change<'_>),
        exit: &Exit,
        points: &[Point],
    ) -> bool {
        let points = [points, &self.ends(rest.act, exit)].concat();
        let points = &points[..];
        let others = || {
            let old = self.old.iter().filter(|old| !self.asks_for(begun.act, old));
            old.filter(|old| self.leaves_without(old, rest.act, exit))
        };
        if others().any(|old| reaches(self.cfg, exit.from, old.start, points)) {
            return true;
        }
        let ahead = others().filter(|old| reaches(self.cfg, old.from, exit.from, points));
        let ahead: Vec<Point> = ahead.map(|old| old.from).collect();
        let passed = [points, &ahead].concat();
        let is_last = |point: &Point| reaches(self.cfg, point.next(), exit.from, &passed);
        !ahead.is_empty() && !points.iter().any(is_last)
    }

    /// Whether the function may return after `old` without `act`, or without asking whether to do it:
    /// a `break` may lead there.
    fn leaves_without(&self, old: &Exit, act: &Act, exit: &Exit) -> bool {
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

    /// Whether the function does something on all of its ways out but `exit`.
    fn is_left_out(&self, it: &Change<'_>, exit: &Exit) -> bool {
        let act = it.act;
        it.lasting.iter().any(|it| !it.only_adds)
            && (!act.writes || act.may_undo && !self.is_element_or_output(act, exit))
            && self.goes_on_to(exit, act.point)
            && !self.speaks_of_result(act, exit)
            && !(act.writes && self.is_computed_from_result(act, exit))
            && !self.is_done_there(act, exit)
            && self.is_on_all_ways(act, exit)
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
    fn is_open(&self, begun: &Change<'_>, rest: &Change<'_>, exit: &Exit) -> bool {
        let mut ends = self.ends(rest.act, exit);
        ends.extend(self.turn_of(rest.act, exit));
        reaches(self.cfg, begun.act.point.next(), exit.from, &ends)
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
    fn is_computed_from_result(&self, act: &Act, exit: &Exit) -> bool {
        let mut known: Vec<LocalId> = exit.tested(self.tree);
        loop {
            let names_known = |value: ExprId| {
                let mut inner = self.tree.exprs_in(self.tree.expr(value).range);
                inner.any(|(id, _)| self.tree.as_local(id).is_some_and(|it| known.contains(&it)))
            };
            let stores = self.tree.stores();
            let more =
                stores.filter(|&(local, value)| !known.contains(&local) && names_known(value));
            let more: Vec<LocalId> = more.map(|(local, _)| local).collect();
            if more.is_empty() {
                break;
            }
            known.extend(more);
        }
        let ExprKind::Assign { rhs, .. } = self.tree.expr(act.expr).kind else {
            return false;
        };
        roots(self.tree, rhs)
            .iter()
            .any(|root| known.contains(root))
    }
}
