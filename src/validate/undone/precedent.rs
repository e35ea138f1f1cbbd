//! Whether the function had an exit of its own in the state in which a new one leaves: that one shows
//! what may stay as it is, and what has to be undone.
//!
//! ```c
//! self->depth++;
//! item = PyDict_GetItemRef(…);                  /* the first that can fail: and `depth`? */
//! ```

use std::cell::OnceCell;

use super::super::changed::Changed;
use super::super::proof::seeds;
use super::View;
use super::acts::{Act, roots};
use super::ways::Exit;
use crate::ast::{Expr, ExprId, ExprKind, LocalId, Name, Nesting, StmtId, StmtKind, TokenRange};
use crate::capi::{self, Counts};
use crate::cfg::{Cfg, InstrKind, Point, Reach, reaches};
use crate::ownership::track::Origin;
use crate::program::Lasting;

/// The lookups that came in whose result is returned as it is: that is an exit where there is nothing.
///
/// ```c
/// self->busy = 1;
/// item = PyList_GetItemRef(self->items, 0);
/// return item;
/// ```
pub(super) fn untested(changed: Changed<'_>, cfg: &Cfg, nesting: &Nesting) -> Vec<(ExprId, Exit)> {
    let tree = &changed.function.tree;
    let seeds = seeds(
        changed.item,
        changed.function,
        changed.applied,
        changed.handing,
    )
    .into_iter();
    let lookups = seeds.filter_map(|seed| match seed.origin {
        Origin::Call(call) => Some(call),
        Origin::Param(_) | Origin::Local(_) => None,
    });
    // `Py_NewRef(item)` finds nothing.
    let is_lookup = |call: &ExprId| {
        let name = tree.called(*call);
        changed.is_inserted(tree.expr(*call).range.start)
            && name.is_some_and(|name| capi::counts(name).is_none())
    };
    let lookups: Vec<ExprId> = lookups.filter(is_lookup).collect();
    let ids = (0u32..).map(StmtId).zip(&tree.stmts);
    let is_tested = |local: LocalId| {
        tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::If { cond, .. } => roots(tree, cond).contains(&local),
            _ => false,
        })
    };
    let returned = ids.filter_map(|(id, stmt)| match stmt.kind {
        StmtKind::Return(Some(value)) => Some((id, tree.without_casts(value))),
        _ => None,
    });
    let returned = returned.filter(|(_, value)| !tree.as_local(*value).is_some_and(is_tested));
    let exits = returned.flat_map(|(jump, value)| {
        let gets = |call: &ExprId| {
            let mut stores = tree.stores();
            *call == value
                || stores.any(|(local, it)| {
                    tree.as_local(value) == Some(local) && tree.without_casts(it) == *call
                })
        };
        let own: Vec<ExprId> = lookups.iter().copied().filter(gets).collect();
        own.into_iter().filter_map(move |call| {
            let (from, start) = (cfg.call(call)?, cfg.before(jump)?);
            let test = nesting.stmt_of(call)?;
            let exit = Exit {
                test,
                then: jump,
                jump,
                from,
                start,
                onward: OnceCell::new(),
            };
            reaches(cfg, from.next(), start, &[]).then_some((call, exit))
        })
    });
    exits.collect()
}

impl View<'_> {
    /// What has to be true for a lookup whose result is returned as it is.
    pub(super) fn claim_of_untested(&self, exit: &Exit) -> Option<String> {
        let act = self.told(self.without_precedent(exit)?.expr);
        Some(may_stay(&self.changed.function.name, &act))
    }

    /// What the function had changed where `exit` leaves, if it had no exit in that state, or just such
    /// that change more.
    pub(super) fn without_precedent(&self, exit: &Exit) -> Option<&Act> {
        let changes = self.all_changes();
        let changes = changes.into_iter().filter(|it| self.stays(it, exit));
        let changes: Vec<&Act> = changes.map(|it| it.act).collect();
        // What counts a reference to what was stored before must not hide the store.
        let open = self.unshown(exit, &changes);
        let counts = self.outer_counts();
        if open.is_some() || counts.is_empty() {
            return open;
        }
        self.unshown(exit, &[changes, counts].concat())
    }

    /// The acts that count references outside of the function's variables.
    fn outer_counts(&self) -> Vec<&Act> {
        let find = || {
            let all = self.acts.iter().enumerate();
            let counts = all.filter(|(_, act)| self.counts_outside(act));
            counts.map(|(at, _)| at).collect()
        };
        let counts: &Vec<usize> = self.counts.get_or_init(find);
        counts.iter().map(|&at| &self.acts[at]).collect()
    }

    /// The last of `changes` where `exit` leaves, if no exit that the function had shows that it may
    /// stay.
    fn unshown<'s>(&'s self, exit: &Exit, changes: &[&'s Act]) -> Option<&'s Act> {
        let is_last = |act: &&&Act| {
            let others = changes.iter().map(|it| it.point);
            let others: Vec<Point> = others.filter(|&point| point != act.point).collect();
            reaches(self.cfg, act.point.next(), exit.from, &others)
        };
        let open = *changes.iter().find(is_last)?;
        let mut old = self.old.iter();
        let shows = |old: &Exit| {
            self.is_in_state_of(old, exit, changes) && self.does_no_more(old, exit, changes)
        };
        (!old.any(shows)).then_some(open)
    }

    /// Whether `old` leaves in the state in which `exit` does: none of `changes` is made between the
    /// two, but for one with the item, where `old` tells that it failed.
    fn is_in_state_of(&self, old: &Exit, exit: &Exit, changes: &[&Act]) -> bool {
        let of_item = self.made_of(exit.tested(self.tree), None);
        let made = changes
            .iter()
            .filter(|it| !(self.asks_for(it, old) && self.works_on(it, &of_item)));
        let made: Vec<Point> = made.map(|it| it.point).collect();
        if reaches(self.cfg, exit.from, old.start, &made) {
            return true;
        }
        let all: Vec<Point> = changes.iter().map(|it| it.point).collect();
        let passed = [&all[..], &[old.from]].concat();
        let is_last = |point: &Point| reaches(self.cfg, point.next(), exit.from, &passed);
        reaches(self.cfg, old.from, exit.from, &all)
            && !all.iter().any(is_last)
            && changes.iter().all(|it| self.is_beside(it, old, &all))
    }

    /// Whether the test of `old`, which comes after `change`, cannot be about whether that failed.
    ///
    /// ```c
    /// begin(self, &err);
    /// if (err)                                  /* nothing has begun */
    ///     return NULL;
    /// ```
    pub(super) fn is_beside(&self, change: &Act, old: &Exit, all: &[Point]) -> bool {
        let others: Vec<Point> = all
            .iter()
            .copied()
            .filter(|&it| it != change.point)
            .collect();
        if !reaches(self.cfg, change.point.next(), old.from, &others) {
            return true;
        }
        let StmtKind::If { cond, .. } = self.tree.stmt(old.test).kind else {
            return false;
        };
        let told = self.told_by(change);
        let within = self.tree.expr(cond).range;
        let parts: Vec<(ExprId, &Expr)> = self.tree.exprs_in(within).collect();
        // Whether a function of the C API fails is its own affair.
        let known = parts.iter().filter(|(expr, _)| {
            let name = self.tree.called(*expr);
            name.is_some_and(|name| name != "PyErr_Occurred" && capi::effects(name).is_some())
        });
        let known: Vec<TokenRange> = known.map(|(_, part)| part.range).collect();
        let mut open = parts
            .iter()
            .filter(|(_, part)| !known.iter().any(|call| call.contains(part.range)));
        // `*out = malloc(n); if (!*out) return -1;`
        let place = self.tree.changed(change.expr);
        let place = place.map(|place| self.spelling(place));
        let is_place = |expr: ExprId| place.is_some_and(|it| it == self.spelling(expr));
        !within.contains(self.tree.expr(change.expr).range)
            && open.all(|(expr, part)| match &part.kind {
                _ if is_place(*expr) => false,
                ExprKind::Call { .. } => self.tree.called(*expr) != Some("PyErr_Occurred"),
                ExprKind::Member { .. } | ExprKind::Index { .. } => false,
                ExprKind::Name(Name::Local(local)) => !told.contains(local),
                _ => true,
            })
    }

    /// The variables that may tell how `change` went: its result, what it sets, what it puts where it
    /// is to be released, and what is made of these.
    fn told_by(&self, change: &Act) -> Vec<LocalId> {
        let tree = self.tree;
        let args = tree.call(change.expr).map_or(&[][..], |(_, args)| args);
        let outs = args.iter().filter_map(|&arg| tree.as_address(arg));
        let all = self.all_changes();
        let mut same = all.iter().filter(|it| it.act.expr == change.expr);
        let puts = same.any(|it| it.lasting.iter().any(Lasting::puts_object));
        // `made = malloc(n); *out = made; if (!made) return -1;`
        let value = match tree.expr(change.expr).kind {
            ExprKind::Assign { rhs, .. } if puts => tree.as_local(tree.without_casts(rhs)),
            _ => None,
        };
        self.made_of(outs.chain(value), Some(change.expr))
    }

    /// Whether all that `old` changes is changed by `exit` as well, but for what is about the failure
    /// that `old` tells of.
    fn does_no_more(&self, old: &Exit, exit: &Exit, changes: &[&Act]) -> bool {
        let own = self.done_from(exit.start, exit.from);
        let reach = Reach::new(self.cfg, old.start, &[exit.from]);
        let about: Vec<LocalId> = [old.tested(self.tree), exit.tested(self.tree)].concat();
        let mut more = changes.iter().filter(|act| reach.contains(act.point));
        more.all(|act| own.contains(&act.key) || self.works_on(act, &about))
            && self.releases_no_more(old, exit, &about)
    }

    /// Whether `exit` releases what `old` releases, and has that as well.
    ///
    /// ```c
    /// self->current = list;
    /// …
    /// if (!fast) { Py_DECREF(list); return NULL; }
    /// ```
    fn releases_no_more(&self, old: &Exit, exit: &Exit, about: &[LocalId]) -> bool {
        let is_before = reaches(self.cfg, old.from, exit.from, &[]);
        let (first, then) = if is_before { (old, exit) } else { (exit, old) };
        let between = Reach::new(self.cfg, first.from, &[first.start, then.from]);
        let gets_or_gives = |local: LocalId| match is_before {
            true => {
                let mut others = self.acts.iter();
                others.any(|it| between.contains(it.point) && self.gives_away(it, local))
            }
            false => {
                let has_one = |point: &Point| reaches(self.cfg, point.next(), exit.from, &[]);
                let set = self.given_to(local);
                set.iter().any(|&point| between.contains(point))
                    || !self.tree.local(local).is_param && !set.iter().any(has_one)
            }
        };
        let reach = Reach::new(self.cfg, old.start, &[exit.from]);
        let own = Reach::new(self.cfg, exit.start, &[exit.from]);
        let mut owed = self.acts.iter().filter(|act| reach.contains(act.point));
        owed.all(|act| {
            let Some(local) = self.released(act).filter(|local| !about.contains(local)) else {
                return true;
            };
            let mut all = self.acts.iter();
            all.any(|it| own.contains(it.point) && self.released(it) == Some(local))
                || gets_or_gives(local)
        })
    }

    /// The variable whose object a call releases.
    fn released(&self, act: &Act) -> Option<LocalId> {
        self.counted(act, Counts::releases)
    }

    /// The variable to whose object a call counts references in such a way.
    pub(super) fn counted(&self, act: &Act, is_one: fn(Counts) -> bool) -> Option<LocalId> {
        let (name, args) = self.tree.call(act.expr)?;
        capi::counts(name).filter(|&counts| is_one(counts))?;
        self.tree.as_local(*args.first()?)
    }

    /// Whether a call releases the object of a variable, or may take it over.
    fn gives_away(&self, act: &Act, local: LocalId) -> bool {
        let named = self.tree.call(act.expr);
        named.is_some_and(|(name, args)| {
            let keeps = capi::effects(name).is_some_and(|it| it.steals.is_empty());
            let is_given = args
                .iter()
                .any(|&arg| roots(self.tree, arg).contains(&local));
            is_given && (!keeps || self.released(act) == Some(local))
        })
    }

    /// The steps that may give a variable something that is not `NULL`.
    pub(super) fn given_to(&self, local: LocalId) -> Vec<Point> {
        let set = self
            .cfg
            .steps()
            .filter_map(|(point, instr)| match &instr.kind {
                InstrKind::Store { place, value } => {
                    (place.as_local() == Some(local) && !value.is_zero()).then_some(point)
                }
                _ => None,
            });
        set.chain(self.cfg.addressing(local)).collect()
    }
}

/// That what `act` did may stay.
pub(super) fn may_stay(function: &str, act: &str) -> String {
    format!(
        "in `{function}`, {act} need not be undone at the new error exit (the function could not \
         leave here before)"
    )
}
