//! What the function has given its caller by the time a new exit leaves it.
//!
//! ```c
//! *fd = open(path, O_RDONLY);
//! if (*fd < 0)
//!     return -1;                                /* nothing has been given */
//! if (PyDict_GetItemStringRef(options, "mode", &mode) < 0)
//!     return -1;                                /* the caller closes nothing where this fails */
//! ```
//!
//! An exit that the function had, and that leaves with the same given, shows who releases it.

use super::View;
use super::acts::Act;
use super::given::{Given, Giving, global, is_same, is_same_in, pointed};
use super::telling::{ends, frees, is_release, says_end};
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind, UnaryOp};
use crate::capi;
use crate::cfg::{Point, Source, reaches};

impl View<'_> {
    /// What gives the caller something that it has where `exit` leaves, and that nobody releases as
    /// far as the other exits show, nor by what `exit` leaves out besides.
    pub(super) fn handed_out(&self, exit: &Exit, left_out: &[&Act]) -> Option<ExprId> {
        let function = self.changed.function;
        let giving = Giving::new(self.changed.original, function);
        let given = self.tree.expr_ids().flat_map(|expr| giving.given(expr));
        // Who is told of no failure goes on.
        let mut given = given.filter(|_| !function.ret.is_void());
        let found = given.find(|given| self.is_forgotten(given, exit, left_out));
        found.map(|given| given.by)
    }

    fn is_forgotten(&self, given: &Given, exit: &Exit, left_out: &[&Act]) -> bool {
        let (cfg, by) = (self.cfg, given.by);
        let Some(point) = cfg.store(by).or_else(|| cfg.call(by)) else {
            return false;
        };
        let ends = self.ended(given, point);
        let has_it = |exit: &Exit| {
            reaches(cfg, point.next(), exit.from, &ends) && !self.is_about(exit, given, point)
        };
        if !has_it(exit) || self.gives_back(exit, given, point) || self.is_held_on(given, point) {
            return false;
        }
        let mut shown = self.old.iter().filter(|other| has_it(other)).peekable();
        let is_known =
            shown.peek().is_some() && !shown.any(|other| self.gives_back(other, given, point));
        let is_told = || left_out.iter().any(|act| self.gets(act, given, point));
        !is_known && !self.is_object_whole(by, exit) && !is_told()
    }

    /// The points from which on it is not there any more.
    fn ended(&self, given: &Given, point: Point) -> Vec<Point> {
        let is_over = |act: &&Act| match self.tree.changed(act.expr) {
            Some(place) => {
                let is_it = act.expr != given.by && is_same(self.tree, place, given.place);
                is_it && !self.is_element(given)
            }
            None => act.expr != given.by && self.ends_it(act) && self.gets(act, given, point),
        };
        let over = self.acts.iter().filter(is_over);
        over.map(|act| act.point).collect()
    }

    fn is_element(&self, given: &Given) -> bool {
        matches!(self.tree.expr(given.place).kind, ExprKind::Index { .. })
    }

    /// Whether an exit releases what is given.
    fn gives_back(&self, exit: &Exit, given: &Given, point: Point) -> bool {
        let mut acts = self.acts.iter().filter(|act| !act.writes);
        acts.any(|act| {
            (act.may_undo || self.ends_it(act))
                && self.gets(act, given, point)
                && reaches(self.cfg, exit.start, act.point, &[exit.from])
        })
    }

    /// Whether the name of what is called says that it ends something.
    pub(super) fn ends_it(&self, act: &Act) -> bool {
        let name = self.tree.called(act.expr);
        name.is_some_and(|name| match capi::effects(name) {
            Some(_) => is_release(name) || ends(name) || frees(name),
            None => frees(name) || says_end(name),
        })
    }

    /// Whether a call gets what is given, or what that is a part of.
    fn gets(&self, act: &Act, given: &Given, point: Point) -> bool {
        let tree = self.tree;
        let ExprKind::Call { args, .. } = &tree.expr(act.expr).kind else {
            return false;
        };
        args.iter().any(|&arg| {
            let arg = pointed(tree, arg);
            let is_other = given.other.is_some_and(|local| {
                let changes = self.changes(local);
                tree.as_local(arg) == Some(local)
                    && reaches(self.cfg, point.next(), act.point, &changes)
            });
            let mut at = Some(given.place);
            while let Some(place) = at {
                if is_same(tree, arg, place) {
                    return true;
                }
                at = match tree.expr(place).kind {
                    ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => Some(base),
                    ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => {
                        Some(operand)
                    }
                    _ => None,
                };
            }
            is_other || self.is_behind(arg, given)
        })
    }

    /// Whether `value` is `*out`, where a call got `out`.
    fn is_behind(&self, value: ExprId, given: &Given) -> bool {
        match self.tree.expr(value).kind {
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => is_same(self.tree, operand, given.place),
            ExprKind::Member { base, .. } => is_same(self.tree, base, given.place),
            _ => false,
        }
    }

    /// Whether the test of `exit` asks whether there is anything: `if (!*out)`, `if (fill(out) < 0)`.
    fn is_about(&self, exit: &Exit, given: &Given, point: Point) -> bool {
        let tree = self.tree;
        let StmtKind::If { cond, .. } = tree.stmt(exit.test).kind else {
            return false;
        };
        // Elements that came before are there all the same.
        if self.is_element(given) && reaches(self.cfg, point.next(), point, &[]) {
            return false;
        }
        let within = tree.expr(cond).range;
        let is_argument = |part: ExprId| {
            let range = tree.expr(part).range;
            let mut parts = tree.exprs_in(within);
            parts.any(|(call, kind)| {
                let is_call = matches!(kind.kind, ExprKind::Call { .. });
                is_call && call != part && tree.expr(call).range.contains(range)
            })
        };
        let names = |part: ExprId| {
            is_same(tree, part, given.place)
                || self.is_behind(part, given)
                || tree
                    .as_local(part)
                    .is_some_and(|local| self.tells_of(local, given, point, exit))
        };
        let mut parts = tree.exprs_in(within);
        within.contains(tree.expr(given.by).range)
            || parts.any(|(part, _)| names(part) && !is_argument(part))
            || self.asks_for_exception(cond) && self.is_first(exit, point)
    }

    /// Whether a variable holds what is given at `exit`, or how the call that gave it went.
    fn tells_of(&self, local: LocalId, given: &Given, point: Point, exit: &Exit) -> bool {
        let tree = self.tree;
        let by = tree.expr(given.by).range;
        let is_status = |at: &Point| match self.cfg.source(*at) {
            Some(Source::Expr(expr)) => tree.expr(expr).range.contains(by),
            Some(Source::Stmt(stmt)) => tree.stmt(stmt).range.contains(by),
            None => false,
        };
        let (own, changes): (Vec<Point>, Vec<Point>) =
            self.changes(local).into_iter().partition(is_status);
        let is_held = (given.other == Some(local)).then_some(point);
        let mut told = own.into_iter().chain(is_held);
        told.any(|at| reaches(self.cfg, at.next(), exit.from, &changes))
    }

    /// The steps that may give a variable another value.
    fn changes(&self, local: LocalId) -> Vec<Point> {
        let mut changes = self.steps_of(local);
        changes.extend(self.cfg.addressing(local));
        changes
    }

    fn asks_for_exception(&self, cond: ExprId) -> bool {
        self.tree.called(self.tree.without_casts(cond)) == Some("PyErr_Occurred")
    }

    /// Whether no other exit comes before.
    fn is_first(&self, exit: &Exit, point: Point) -> bool {
        let others = self.old.iter().filter(|other| other.test != exit.test);
        let others: Vec<Point> = others.map(|other| other.from).collect();
        reaches(self.cfg, point.next(), exit.from, &others)
    }

    /// Whether the place keeps what it gets: the function releases what it held before, or a
    /// variable of the package is asked whether it holds it already, or nobody ever releases that.
    fn is_held_on(&self, given: &Given, point: Point) -> bool {
        let Some(&entry) = self.cfg.reverse_post_order().first() else {
            return false;
        };
        let entry = Point {
            block: entry,
            index: 0,
        };
        let ends = self
            .acts
            .iter()
            .filter(|act| !act.writes && act.expr != given.by);
        let ends = ends.filter(|act| self.ends_it(act) && self.gets(act, given, point));
        let ends: Vec<Point> = ends.map(|act| act.point).collect();
        let is_replaced = !reaches(self.cfg, entry, point, &ends);
        let is_global = global(self.tree, given.place).is_some();
        is_replaced
            || is_global && (self.is_asked_before(given, point) || !self.is_released(given.place))
    }

    /// Whether a test in front of `point` names the place.
    fn is_asked_before(&self, given: &Given, point: Point) -> bool {
        let ids = (0u32..).map(StmtId).zip(&self.tree.stmts);
        let mut tests = ids.filter_map(|(id, stmt)| match stmt.kind {
            StmtKind::If { cond, .. } => Some((self.cfg.before(id)?, cond)),
            _ => None,
        });
        tests.any(|(at, cond)| {
            let mut parts = self.tree.exprs_in(self.tree.expr(cond).range);
            reaches(self.cfg, at, point, &[])
                && !reaches(self.cfg, point.next(), at, &[])
                && parts.any(|(part, _)| is_same(self.tree, part, given.place))
        })
    }

    /// Whether a function of the package releases what a variable of the package holds.
    fn is_released(&self, place: ExprId) -> bool {
        let mut functions = self.changed.original.program.functions();
        functions.any(|(_, function)| {
            let tree = &function.tree;
            let mut calls = tree.expr_ids().filter_map(|expr| tree.call(expr));
            calls.any(|(name, args)| {
                let is_end = is_release(name) || frees(name) || says_end(name);
                is_end
                    && args
                        .iter()
                        .any(|&arg| is_same_in((tree, pointed(tree, arg)), (self.tree, place)))
            })
        })
    }
}
