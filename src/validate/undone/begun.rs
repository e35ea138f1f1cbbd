//! Whether something that an exit undoes has begun at a lookup.

use super::View;
use super::acts::{self, Act, is_array, roots};
use super::spelling::Spelling;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, StmtId};
use crate::cfg::{Base, InstrKind, Operand, Place, Point, Source, reaches};

impl View<'_> {
    /// Whether what `act` undoes has begun where `exit` leaves, and was not undone since. Where
    /// nothing shows what begins it, it may have begun out of sight.
    pub(super) fn is_due(&self, act: &Act, exit: &Exit) -> bool {
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
        before || !partners.iter().any(is_between)
    }

    /// Whether what a variable holds at `exit` may be read by what else the function does.
    fn is_kept(&self, local: LocalId, exit: &Exit) -> bool {
        self.liveness.is_live(local, exit.from) || self.cfg.address_taken().contains(&local)
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
        let made = self
            .cfg
            .steps()
            .filter(|(_, instr)| makes(instr) && !same(instr.source));
        made.map(|(point, _)| point).collect()
    }

    /// What may begin what `act` undoes, by what it works on: another write of the place, a call
    /// with one of the arguments, a write of a place that is released: `*out = v`.
    fn partners<'s>(&'s self, act: &'s Act) -> impl Iterator<Item = &'s Act> {
        let args: Vec<Spelling<'_>> = self.arguments(act).collect();
        self.acts.iter().filter(move |other| match act.writes {
            true if other.writes => {
                let is_other = || {
                    self.spelling(other.expr) != self.spelling(act.expr)
                        || self.tree.toggles(act.expr)
                };
                other.key == act.key && other.expr != act.expr && is_other()
            }
            true => false,
            false if other.writes => self.sets_one_of(other, &args),
            false => other.key != act.key && self.shares(other, &args),
        })
    }

    /// Whether a write gives one of `args` something, where it is a place of others.
    pub(super) fn sets_one_of(&self, write: &Act, args: &[Spelling<'_>]) -> bool {
        let ExprKind::Assign { lhs, rhs, .. } = self.tree.expr(write.expr).kind else {
            return false;
        };
        !self.tree.is_null(rhs) && args.contains(&self.spelling(lhs))
    }

    /// Whether the test of `exit` calls something with an argument of `act`.
    pub(super) fn works_on_same(&self, exit: &Exit, act: &Act) -> bool {
        let asked = self.asked.get(&exit.test).into_iter().flatten();
        asked.map(|&at| &self.acts[at]).any(|other| {
            let mut theirs = self.arguments(other);
            theirs.any(|arg| self.arguments(act).any(|own| own == arg))
        })
    }

    /// Whether an exit goes by the result of a call.
    fn is_status(&self, call: &Act) -> bool {
        self.old.iter().any(|exit| exit.asks(self.tree, call))
    }

    /// Whether a call has one of these arguments, or none like `act`.
    fn shares(&self, other: &Act, args: &[Spelling<'_>]) -> bool {
        match args {
            [] => other.places.is_empty() && (other.may_undo || self.is_status(other)),
            _ => self.arguments(other).any(|arg| args.contains(&arg)),
        }
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
