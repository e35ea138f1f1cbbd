//! Whether something that an exit undoes has begun at a lookup.

use super::View;
use super::acts::{Act, is_array, is_constant, roots, words};
use super::telling::{ends, frees, is_release, sets_back_exception};
use super::ways::Exit;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, StmtId, StmtKind, UnaryOp};
use crate::capi;
use crate::cfg::{Base, InstrKind, Operand, Place, Point, Source, reaches};

impl View<'_> {
    /// Whether what `act` undoes has begun where `exit` leaves, and was not undone since. Where
    /// nothing shows what begins it, that is so if it `may` have begun out of sight.
    pub(super) fn is_due(&self, act: &Act, exit: &Exit, may: bool) -> bool {
        let ends = self.ends(act, exit);
        let has_begun = |begin: Point| reaches(self.cfg, begin.next(), exit.from, &ends);
        let mut roots = roots(self.tree, act.expr);
        roots.retain(|&root| !self.is_given(root));
        if !roots.is_empty() {
            return roots.iter().all(|&root| {
                self.is_kept(root, exit) && self.makers(root, act).into_iter().any(has_begun)
            });
        }
        let partners: Vec<&Act> = self.partners(act).collect();
        let is_between = |partner: &&Act| {
            reaches(self.cfg, exit.from, partner.point, &[exit.start])
                && reaches(self.cfg, partner.point.next(), act.point, &[exit.from])
        };
        let before = partners.iter().any(|partner| has_begun(partner.point));
        before || may && !partners.iter().any(is_between)
    }

    /// Whether what a variable holds at `exit` may be read by what else the function does.
    fn is_kept(&self, local: LocalId, exit: &Exit) -> bool {
        self.liveness.is_live(local, exit.from) || self.cfg.address_taken().contains(&local)
    }

    /// Whether a variable came in with the change, for what stood in its place: `give(value)` was
    /// `give(PySys_GetObject("stdout"))`.
    fn is_added(&self, local: LocalId) -> bool {
        let name = self.tree.local(local).name_range;
        self.changed.is_inserted(name.start)
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

    /// The steps that give a variable something to be undone.
    fn makers(&self, root: LocalId, act: &Act) -> Vec<Point> {
        let is_root = |place: &Place| matches!(place.base, Base::Local(local) if local == root);
        let same = |source: Source| match source {
            Source::Expr(expr) => {
                let mut acts = self.acts.iter().filter(|other| other.key == act.key);
                acts.any(|other| other.expr == expr)
            }
            Source::Stmt(_) => false,
        };
        let makes = |instr: &crate::cfg::Instr| match &instr.kind {
            InstrKind::Store { place, value } => is_root(place) && !value.is_zero(),
            InstrKind::Call { args, .. } => {
                let mut args = args.iter();
                args.any(|arg| matches!(arg, Operand::AddressOf(place) if is_root(place)))
            }
            _ => false,
        };
        let steps = self.cfg.iter().flat_map(|(block, content)| {
            let steps = (0..).zip(&content.instrs);
            steps.map(move |(index, instr)| (Point { block, index }, instr))
        });
        let made = steps.filter(|(_, instr)| makes(instr) && !same(instr.source));
        made.map(|(point, _)| point).collect()
    }

    /// What may begin what `act` undoes, by what it works on: another write of the place, a call
    /// with one of the arguments, a write of a place that is released: `*out = v`.
    fn partners<'s>(&'s self, act: &'s Act) -> impl Iterator<Item = &'s Act> {
        let args = self.arguments(act);
        self.acts.iter().filter(move |other| match act.writes {
            true if other.writes => {
                let is_other = || other.text != act.text || self.toggles(act);
                other.key == act.key && other.expr != act.expr && is_other()
            }
            true => self.fills(other, act),
            false if other.writes => self.sets_one_of(other, &args),
            false => other.key != act.key && self.shares(other, &args),
        })
    }

    /// Whether a write gives one of `args` something, where it is a place of others.
    pub(super) fn sets_one_of(&self, write: &Act, args: &[String]) -> bool {
        let ExprKind::Assign { lhs, rhs, .. } = self.tree.expr(write.expr).kind else {
            return false;
        };
        let place = words(self.changed, self.files, lhs);
        !self.tree.is_null(rhs) && args.contains(&place)
    }

    /// Whether the test of `exit` calls something with an argument of `act`.
    pub(super) fn works_on_same(&self, exit: &Exit, act: &Act) -> bool {
        let args = self.arguments(act);
        let mut calls = self.acts.iter().filter(|other| !other.writes);
        calls.any(|other| {
            let mut theirs = self.arguments(other).into_iter();
            self.is_asked(other, exit) && theirs.any(|arg| args.contains(&arg))
        })
    }

    /// Whether the test of `exit` makes a call: `if (begin(self) < 0) return NULL;`.
    fn is_asked(&self, call: &Act, exit: &Exit) -> bool {
        let StmtKind::If { cond, .. } = self.tree.stmt(exit.test).kind else {
            return false;
        };
        let within = self.tree.expr(cond).range;
        within.contains(self.tree.expr(call.expr).range)
    }

    /// Whether an exit goes by the result of a call.
    fn is_status(&self, call: &Act) -> bool {
        self.old.iter().any(|exit| self.is_asked(call, exit))
    }

    /// Whether a call has one of these arguments, or none like `act`.
    fn shares(&self, other: &Act, args: &[String]) -> bool {
        let theirs = self.arguments(other);
        match args {
            [] => theirs.is_empty() && (other.may_undo || self.is_status(other)),
            _ => theirs.iter().any(|arg| args.contains(arg)),
        }
    }

    /// The words of the arguments of a call that are places.
    pub(super) fn arguments(&self, act: &Act) -> Vec<String> {
        let tree = self.tree;
        let ExprKind::Call { args, .. } = &tree.expr(act.expr).kind else {
            return Vec::new();
        };
        let place = |mut arg: ExprId| loop {
            match tree.expr(arg).kind {
                ExprKind::Cast { operand, .. }
                | ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } => arg = operand,
                ExprKind::Name(_)
                | ExprKind::Member { .. }
                | ExprKind::Index { .. }
                | ExprKind::Unary {
                    op: UnaryOp::Deref, ..
                } => {
                    let mut roots = roots(tree, arg).into_iter();
                    let is_added = roots.any(|root| self.is_added(root));
                    return (!is_added && !tree.is_null(arg)).then_some(arg);
                }
                _ => return None,
            }
        };
        let places = args.iter().filter_map(|&arg| place(arg));
        places
            .map(|place| words(self.changed, self.files, place))
            .collect()
    }

    /// Whether `act`, which the function does on all of its ways out, looks like the end of something
    /// that has begun at `exit`: it sets back what was set before, or is the last that is done with
    /// what another call began.
    pub(super) fn undoes(&self, act: &Act, exit: &Exit) -> bool {
        let is_end = || match act.writes {
            true => self.sets_back(act, exit),
            false => !self.is_of_python(act) && self.is_last(act) && self.is_half(act, exit),
        };
        self.takes_back(act, exit)
            || self.is_apart(act, exit) && is_end() && self.is_due(act, exit, false)
    }

    /// Whether `act` works on a variable of the function that is no number beside others, or on just
    /// the same as a call before it.
    fn is_half(&self, act: &Act, exit: &Exit) -> bool {
        let mut roots = roots(self.tree, act.expr).into_iter();
        let args = self.arguments(act);
        let mut partners = self.partners(act);
        let is_number = |root: LocalId| self.tree.local(root).ty.is_number();
        // `PyErr_Fetch`, which is the other half, may also just look at the exception.
        self.tree.called(act.expr).is_some_and(sets_back_exception)
            || roots.any(|root| !self.is_given(root) && (args.len() == 1 || !is_number(root)))
            || self.is_written_by_c(act)
            || partners
                .any(|other| self.is_other_half(other, act) && self.has_begun(other, exit, act))
    }

    /// Whether `other` sets what a call gets, or works on just the same, and gives at most a status.
    fn is_other_half(&self, other: &Act, act: &Act) -> bool {
        let called = |act: &Act| self.tree.called(act.expr);
        let begins = || other.may_undo || called(other) != called(act) && self.is_status(other);
        other.writes || self.arguments(other) == self.arguments(act) && begins()
    }

    /// Whether `act` calls a function of Python that ends nothing.
    fn is_of_python(&self, act: &Act) -> bool {
        let name = self.tree.called(act.expr);
        name.is_some_and(|name| capi::effects(name).is_some() && !ends(name))
    }

    /// Whether `act` is no part of what the loop around `exit` does with each item: it stands behind
    /// the loop, or ends in it what began in it.
    pub(super) fn is_apart(&self, act: &Act, exit: &Exit) -> bool {
        let mut partners = self.partners(act);
        !self.is_in_loop(act, exit)
            || partners
                .any(|partner| self.is_in_loop(partner, exit) && self.has_begun(partner, exit, act))
    }

    /// Whether `act` stands in the innermost loop around `exit`.
    pub(super) fn is_in_loop(&self, act: &Act, exit: &Exit) -> bool {
        let around = self.loop_around(exit.test);
        around.is_some_and(|around| {
            let range = self.tree.stmt(around).range;
            range.contains(self.tree.expr(act.expr).range)
        })
    }

    pub(super) fn has_begun(&self, partner: &Act, exit: &Exit, act: &Act) -> bool {
        reaches(
            self.cfg,
            partner.point.next(),
            exit.from,
            &self.ends(act, exit),
        )
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

    /// Whether the function names no variable of `act` behind it any more, other than to release
    /// it: `logout(session); Py_DECREF(session);`.
    pub(super) fn is_last(&self, act: &Act) -> bool {
        let mut roots = roots(self.tree, act.expr);
        roots.retain(|&root| !self.is_given(root));
        let mut calls = self
            .acts
            .iter()
            .filter(|other| !other.writes && other.key != act.key && !self.releases_one(other));
        !calls.any(|other| {
            let mut names = self::roots(self.tree, other.expr).into_iter();
            names.any(|name| roots.contains(&name))
                && reaches(self.cfg, act.point.next(), other.point, &[])
        })
    }

    /// Whether a call releases the whole of what a variable holds, or what another call gives.
    fn releases_one(&self, act: &Act) -> bool {
        let ExprKind::Call { callee, args } = &self.tree.expr(act.expr).kind else {
            return false;
        };
        let name = self.tree.callee_name(*callee).unwrap_or_default();
        let releases = is_release(name) || frees(name);
        // `Py_XDECREF(PyObject_CallMethod(file, "close", NULL));`
        let is_result = |arg: ExprId| matches!(self.tree.expr(arg).kind, ExprKind::Call { .. });
        let is_whole = |&arg: &ExprId| {
            let arg = self.tree.without_casts(arg);
            self.tree.as_local(arg).is_some() || is_release(name) && is_result(arg)
        };
        releases && args.iter().all(is_whole)
    }

    /// Whether a write sets a place to a constant, counts it down, takes bits out of it, or gives it what it held before.
    fn sets_back(&self, act: &Act, exit: &Exit) -> bool {
        let tree = self.tree;
        let words = |expr: ExprId| words(self.changed, self.files, expr);
        // `frame.outer = top; top = &frame; … top = frame.outer;`
        let is_saved = |value: ExprId| {
            let value = tree.without_casts(value);
            let place = tree.changed(act.expr).map(words);
            let is_it = |held: ExprId| Some(words(held)) == place;
            let mut stores = tree.stores();
            let mut exprs = tree.expr_ids();
            stores.any(|(given, held)| tree.as_local(value) == Some(given) && is_it(held))
                || exprs.any(|expr| {
                    matches!(tree.expr(expr).kind, ExprKind::Assign { op: None, lhs, rhs }
                        if is_it(rhs) && words(lhs) == words(value))
                })
        };
        match tree.expr(act.expr).kind {
            ExprKind::Assign { op: None, rhs, .. } => {
                let is_end = || is_constant(tree, rhs) && self.is_last_write(act, exit);
                tree.is_null(rhs) || self.is_false(rhs) || is_saved(rhs) || is_end()
            }
            ExprKind::Assign { op, .. } => {
                matches!(op, Some(BinaryOp::Minus | BinaryOp::BitAnd)) || self.toggles(act)
            }
            ExprKind::Unary { op, .. } => {
                matches!(op, UnaryOp::PreDecrement | UnaryOp::PostDecrement)
            }
            _ => false,
        }
    }

    /// Whether a write takes back what the same write does: `flags ^= BUSY`.
    fn toggles(&self, act: &Act) -> bool {
        matches!(self.tree.expr(act.expr).kind,
            ExprKind::Assign { op, .. } if op == Some(BinaryOp::BitXor))
    }

    /// Whether nothing else sets the place before the lookup is made again, or the function ends.
    fn is_last_write(&self, act: &Act, exit: &Exit) -> bool {
        let tree = self.tree;
        let place = tree.changed(act.expr).unwrap_or(act.expr);
        // `*end++` and `text[used]` are other places each time.
        let mut parts = tree.exprs_in(tree.expr(place).range);
        let moves = parts.any(|(_, part)| match part.kind {
            ExprKind::Unary { op, .. } => op.is_step(),
            ExprKind::Index { index, .. } => tree.as_local(index).is_some(),
            _ => false,
        });
        let mut others = self.partners(act);
        !moves
            && !others.any(|other| reaches(self.cfg, act.point.next(), other.point, &[exit.from]))
    }

    fn is_false(&self, value: ExprId) -> bool {
        matches!(&self.tree.expr(value).kind, ExprKind::Name(Name::Global(name))
            if matches!(&**name, "false" | "FALSE" | "Py_False"))
    }
}
