//! The exits that a function may take where a call fails that could not fail before.
//!
//! An exit is taken over from the function itself, if it is right there too: it releases all that
//! the function owns at the call, and returns an error. Else it is made of the same parts.

pub(super) mod begun;
mod beside;
mod between;
mod block;
mod bound;
pub(super) mod branch;
mod consumed;
mod counted;
mod earlier;
pub(in crate::strong) mod error_value;
pub(super) mod exit;
pub(super) mod failing;
mod filled;
mod guarded;
mod handled;
pub(super) mod held;
pub(super) mod joined;
mod kept_apart;
mod later;
mod locks;
mod made_exit;
mod may_set;
mod moved;
mod noted;
pub(super) mod owed;
mod owned_by;
pub(super) mod owners;
mod parsed;
pub(super) mod passed_on;
mod read_behind;
mod reported;
mod state;
mod steady;
mod text;
mod to_label;
mod told;
mod told_before;
mod trace;
mod uncertain;
mod undo;
pub(super) mod undone;
mod unfinished;
mod way_out;
mod without_result;

use std::cell::OnceCell;

use crate::ast::{ExprId, LocalId, Parent, StmtId, StmtKind};
use crate::cfg::{BlockId, Point};
use crate::program::{CallSite, mistaken};
use crate::strong::emit::saved::loses_exception;
use crate::strong::pending::unheard::{Unheard, unheard};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;
use bound::bounded_loop;
use branch::{Branch, branches, nearest_first, stmts};
use earlier::{goes_to_error, raises_behind};
use error_value::{ErrorValue, raised_returns};
use held::{Held, fails_cleanly, gives_only_errors};
use locks::{Taken, asks_for_lock, taken_at};
use made_exit::{made_results, never_given_up, results};
use state::{NULL, Owned, State};
use steady::{is_steady, start};
pub(in crate::strong) use text::{line, text};
use undo::Undo;

/// What the exits of a function are good for at one call.
pub(in crate::strong) struct Exits<'s, 'a> {
    pub(in crate::strong) scene: &'s Scene<'a>,
    pub(in crate::strong) call: ExprId,
    /// Gets the result of the call.
    local: Option<LocalId>,
    held: Held<'s, 'a>,
    /// What the function holds if the call fails.
    state: State,
    unowned: Vec<LocalId>,
    /// What else an exit has to undo.
    undo: Undo,
    /// The locks that it has to give back: what is made here gives none back.
    locks: Taken,
    error: ErrorValue,
    /// The function is known to return that value after it raised.
    returns: bool,
    /// Branches that leave with an error, the nearest first.
    pub branches: Vec<Branch>,
    uncertain: OnceCell<Vec<LocalId>>,
}

impl<'s, 'a> Exits<'s, 'a> {
    /// `None` where no path leads.
    pub(in crate::strong) fn new(
        scene: &'s Scene<'a>,
        call: ExprId,
        local: Option<LocalId>,
    ) -> Option<Self> {
        Self::at(scene, scene.cfg.call(call)?, call, local)
    }

    /// The same for a call at `point` that is not there yet, in the statement of `call`.
    pub(in crate::strong) fn at(
        scene: &'s Scene<'a>,
        point: Point,
        call: ExprId,
        local: Option<LocalId>,
    ) -> Option<Self> {
        let here = scene.written(call)?.start();
        let held = Held::new(scene);
        let mut state = held.at(point)?.with_null(local);
        let unowned = never_given_up(scene);
        state.disown_all(&unowned);
        state.may_own_all(&made_results(scene));
        let mut branches = branches(scene);
        let error = ErrorValue::of(scene, &branches);
        branches.retain(|branch| match scene.tree.stmt(branch.jump).kind {
            StmtKind::Return(Some(value)) => error.is(scene, value),
            _ => true,
        });
        // `if (number == NULL) { PyErr_Clear(); return NULL; }`: there is none, and no exception.
        let swallows = |branch: &Branch| branch.clears && leads_to(scene, branch, error);
        let returns = scene.cx.reports_errors(scene.item)
            || error.is_handed_on(scene) && !branches.iter().any(swallows)
            || raised_returns(scene)
                .iter()
                .any(|&value| error.is(scene, value))
            || branches
                .iter()
                .any(|branch| branch.evident && leads_to(scene, branch, error));
        let returns = returns && mistaken_at(scene, error).is_none();
        let labels: Vec<String> = branches
            .iter()
            .filter(|branch| branch.evident)
            .filter_map(|branch| line(scene, branch.jump))
            .collect();
        branches.retain(|branch| match scene.tree.stmt(branch.jump).kind {
            StmtKind::Goto(_) if !scene.cx.reports_errors(scene.item) => {
                line(scene, branch.jump).is_some_and(|jump| labels.contains(&jump))
                    || returns && goes_to_error(scene, branch, error)
            }
            StmtKind::Goto(_) => true,
            _ => returns,
        });
        branches.retain(|branch| !branch.clears && !raises_behind(scene, branch));
        nearest_first(scene, here, &mut branches);
        Some(Self {
            scene,
            call,
            local,
            held,
            state,
            unowned,
            undo: Undo::new(scene, point, error),
            locks: taken_at(scene, point),
            error,
            returns,
            branches,
            uncertain: OnceCell::new(),
        })
    }

    /// Whether the function returns what would be its error without one, as far as is known.
    pub(in crate::strong) fn say_none(&self) -> bool {
        let is_error = |stmt: StmtId| match self.scene.tree.stmt(stmt).kind {
            StmtKind::Return(Some(value)) => self.error.is(self.scene, value),
            _ => false,
        };
        !self.returns && stmts(self.scene).any(is_error)
    }

    /// Whether all that `branch` leads to returns the error.
    pub(in crate::strong) fn ends_with_error(&self, branch: &Branch) -> bool {
        let start = self.scene.cfg.before(branch.then);
        start.is_some_and(|start| {
            gives_only_errors(self.scene, self.error, start.block, self.state.clone())
        })
    }

    /// These exits where no lock has to be given back.
    pub(in crate::strong) fn unlocked(&self) -> Option<&Self> {
        self.locks.is_empty().then_some(self)
    }

    /// The exit of a branch, with its releases or without, that is right here: one that is a jump
    /// and no more if there is any, else the nearest.
    pub(in crate::strong) fn copied(&self) -> Option<Vec<String>> {
        let branches = || self.branches.iter();
        let bare = branches().find_map(|branch| self.bare(branch));
        bare.or_else(|| branches().find_map(|branch| self.whole(branch)))
    }

    /// The jump of `branch` without its releases.
    fn bare(&self, branch: &Branch) -> Option<Vec<String>> {
        let label = self.label(branch);
        let fits = match label {
            Some(label) => {
                let start = self.scene.cfg.before(label)?;
                start.index == 0 && self.fails_cleanly(start.block)
            }
            None => self.state.owns_nothing() && is_return(self.scene, branch.jump),
        };
        let fits =
            fits && self.undo.is_done_by(self.scene, &[], label) && self.is_apart_from(branch);
        if fits {
            Some(vec![self.line(branch.jump)?])
        } else {
            None
        }
    }

    /// `branch` with its releases.
    fn whole(&self, branch: &Branch) -> Option<Vec<String>> {
        let start = self.scene.cfg.before(branch.then)?;
        let fits = start.index == 0
            && self.fails_cleanly(start.block)
            && self.undoes(branch)
            && self.is_apart_from(branch);
        if fits { self.text(branch) } else { None }
    }

    /// Whether `branch` undoes what is to be undone here, and nothing else.
    pub(in crate::strong) fn undoes(&self, branch: &Branch) -> bool {
        let label = self.label(branch);
        self.undo.is_done_by(self.scene, &branch.releases, label) && is_steady(self, branch)
    }

    /// The label that `branch` jumps to.
    fn label(&self, branch: &Branch) -> Option<StmtId> {
        match &self.scene.tree.stmt(branch.jump).kind {
            StmtKind::Goto(label) => label_of(self.scene, label),
            _ => None,
        }
    }

    /// The state with what is known of the whole function.
    fn known(&self, mut state: State) -> State {
        state.disown_all(&self.unowned);
        state.may_own_all(&made_results(self.scene));
        state
    }

    fn fails_cleanly(&self, block: BlockId) -> bool {
        fails_cleanly(self.scene, self.error, block, self.state.clone())
    }

    /// A jump to a label that is jumped to before the call, with the same things to release, and
    /// behind it.
    pub(in crate::strong) fn common_label(&self) -> Option<Vec<String>> {
        let scene = self.scene;
        let here = scene.written(self.call)?.start();
        let at = |branch: &Branch| scene.stmt_span(branch.jump).map(|span| span.start());
        let gotos = self
            .branches
            .iter()
            .filter(|branch| matches!(scene.tree.stmt(branch.jump).kind, StmtKind::Goto(_)));
        let gotos: Vec<&Branch> = gotos.collect();
        let before = gotos.iter().find(|branch| at(branch) < Some(here))?;
        let jump = line(scene, before.jump)?;
        let again = gotos.iter().find(|branch| {
            at(branch) > Some(here) && line(scene, branch.jump).as_ref() == Some(&jump)
        })?;
        let label = self.label(before)?;
        let unread = self.unread_at(label);
        // What the label returns depends on more than variables: `if (self->ready) return self;`
        let tells = before.evident && again.evident && !self.reads_numbers(label);
        let same = before.releases.is_empty()
            && (self.is_same_at(before, &unread) || tells && self.agrees_at(before, &unread));
        (same && self.undoes(before) && self.is_apart_from(before)).then(|| vec![jump])
    }

    /// Whether numbers that the function keeps in variables are read from `label` on.
    fn reads_numbers(&self, label: StmtId) -> bool {
        let scene = self.scene;
        let Some(start) = scene.cfg.before(label) else {
            return true;
        };
        let mut locals = (0u32..).zip(&scene.tree.locals);
        locals.any(|(at, local)| is_number(&local.ty) && scene.liveness.is_live(LocalId(at), start))
    }

    /// The variables that are not read from `label` on and need no release here.
    fn unread_at(&self, label: StmtId) -> Vec<LocalId> {
        let start = self.scene.cfg.before(label);
        start.map_or_else(Vec::new, |start| self.unread_from(start))
    }

    /// The same for what is taken over from `branch`.
    fn unread_by(&self, branch: &Branch) -> Vec<LocalId> {
        start(self.scene, branch).map_or_else(Vec::new, |start| self.unread_from(start))
    }

    fn unread_from(&self, start: Point) -> Vec<LocalId> {
        let scene = self.scene;
        let owned = self.state.owned();
        let is_owned = |local| owned.iter().any(|owned| owned.local == local);
        let locals = (0u32..).zip(&scene.tree.locals);
        let locals = locals.map(|(at, _)| LocalId(at));
        locals
            .filter(|&local| !scene.liveness.is_live(local, start) && !is_owned(local))
            .collect()
    }

    /// Whether the function holds the same at the start of `branch`. What numbers and the
    /// variables `apart` hold does not matter, but for an error that a label returns.
    pub(in crate::strong) fn is_same_at(&self, branch: &Branch, apart: &[LocalId]) -> bool {
        let jumps = matches!(self.scene.tree.stmt(branch.jump).kind, StmtKind::Goto(_));
        let fails = |local| self.fails_with(branch, local);
        let fails = !jumps
            || goes_to_error(self.scene, branch, self.error)
            || results(self.scene).all(fails);
        fails && self.agrees_at(branch, apart)
    }

    /// The same without a look at what a label returns.
    pub(in crate::strong) fn agrees_at(&self, branch: &Branch, apart: &[LocalId]) -> bool {
        let scene = self.scene;
        let Some(start) = scene.cfg.before(branch.then) else {
            return false;
        };
        let Some(then) = self.held.at(start) else {
            return false;
        };
        let then = self.known(then);
        // `if (Py_EnterRecursiveCall(where)) return NULL;` has not taken what it asks for.
        let locked = || {
            taken_at(scene, start) == self.locks
                && (self.locks.is_empty() || !asks_for_lock(scene, branch.test))
        };
        locked()
            && (0u32..).zip(&scene.tree.locals).all(|(at, local)| {
                let id = LocalId(at);
                is_number(&local.ty)
                    || Some(id) == self.local
                    || apart.contains(&id)
                    || self.state.agrees(&then, id)
            })
    }

    /// The end of a loop through all of the list: what it would have done, had it asked for the
    /// size a moment later. What this pass made is released.
    pub(in crate::strong) fn end_of_loop(&self) -> Option<(StmtId, Vec<String>)> {
        let scene = self.scene;
        let bound = bounded_loop(scene, self.call)?;
        let (outer, at) = (bound.outer, scene.stmt_of(self.call)?);
        let is_hidden = |size| !scene.means_the_same(scene.tree.expr(size).range, at);
        let (start, end) = (scene.cfg.before(bound.body)?, scene.cfg.after(outer)?);
        // What is locked around the loop is given back behind it.
        let is_locked = taken_at(scene, start) != self.locks;
        if is_locked || loses_exception(scene, self.call) || bound.size.is_some_and(is_hidden) {
            return None;
        }
        let start = self.known(self.held.at(start)?);
        let here = declared(scene, &scene.inner_stmts(outer));
        let is_read = |local: LocalId| scene.liveness.is_live(local, end);
        let owned_before = |local: LocalId| start.owned().iter().any(|it| it.local == local);
        let locals = (0u32..).zip(&scene.tree.locals).map(|(at, _)| LocalId(at));
        let changed = locals.filter(|&local| {
            let is_own = Some(local) == self.local;
            !is_own && (here.contains(&local) || !self.state.agrees(&start, local))
        });
        let changed: Vec<LocalId> = changed.collect();
        let mut outer_ones = changed.iter().filter(|local| !here.contains(local));
        let stays = outer_ones.all(|&local| !is_read(local) && !owned_before(local));
        let made = self.state.owned().into_iter();
        let made: Vec<Owned> = made
            .filter(|owned| changed.contains(&owned.local))
            .collect();
        let undone = made.is_empty() || bound.is_untouched(scene, self.call);
        // A pass that finds nothing may leave `NULL` behind as well.
        let is_missed = |local| is_read(local) && start.of(local) != NULL;
        if !stays || !undone || self.local.is_some_and(is_missed) {
            return None;
        }
        let releases: Option<Vec<String>> =
            made.into_iter().map(|owned| self.release(owned)).collect();
        let mut lines = releases?;
        lines.push("PyErr_Clear();".to_owned());
        lines.extend(bound.correction(scene));
        lines.push("break;".to_owned());
        Some((outer, lines))
    }

    /// An exit that releases what the function owns, and returns its error.
    pub(in crate::strong) fn made(&self) -> Option<Vec<String>> {
        let mut lines = self.undo().filter(|_| self.returns)?;
        lines.push(format!("return {};", self.error.text(self.scene)));
        Some(lines)
    }

    /// The statements that undo all that is to be undone, and release what the function owns.
    fn undo(&self) -> Option<Vec<String>> {
        let is_clear = self.undo.unsure.is_empty() && self.undo.filled.is_empty();
        if !is_clear || !self.uncertain().is_empty() || self.is_unfinished() {
            return None;
        }
        let lines = self.undo.due.iter().map(|&stmt| self.line(stmt));
        let owned = self.state.owned().into_iter();
        lines
            .chain(owned.map(|owned| self.release(owned)))
            .collect()
    }

    /// The function with a call that takes the error of this one for a success, and the error.
    pub(in crate::strong) fn mistaken(&self) -> Option<(String, String)> {
        let scene = self.scene;
        let site = mistaken_at(scene, self.error)?;
        let caller = scene.cx.function(site.item)?;
        Some((caller.name.clone(), self.error.text(scene)))
    }

    /// A call whose function may not notice that this one fails.
    pub(in crate::strong) fn unheard(&self) -> Option<Unheard> {
        unheard_at(self.scene, self.error)
    }

    /// A statement of other exits of which cannot be told whether this one needs it, too.
    pub(in crate::strong) fn unsure(&self) -> Option<StmtId> {
        self.undo.unsure.first().copied()
    }

    /// The name of a variable whose elements hold references at the call.
    pub(in crate::strong) fn filled(&self) -> Option<&str> {
        let filled = self.undo.filled.first()?;
        Some(self.scene.name(filled.0))
    }
}

/// A call that takes `error`, which the function returns, for a success, or whose function does not
/// tell of it.
pub(super) fn mistaken_at(scene: &Scene<'_>, error: ErrorValue) -> Option<CallSite> {
    let number = error.as_number()?;
    let function = (scene.function, scene.cx.item(scene.item).unit);
    let find = || mistaken(scene.cx.program, scene.cx.call_index(), function, number);
    let sure = || Some(unheard_at(scene, error).filter(|it| it.is_sure)?.site);
    (*scene.mistaken.get_or_init(find)).or_else(sure)
}

/// A call whose function does not notice `error`, as far as is known.
pub(in crate::strong) fn unheard_at(scene: &Scene<'_>, error: ErrorValue) -> Option<Unheard> {
    let number = error.as_number()?;
    let function = (scene.function, scene.cx.item(scene.item).unit);
    let find = || unheard(scene.cx, function, number);
    *scene.unheard.get_or_init(find)
}

/// Whether `branch` returns the error, be it behind a label.
fn leads_to(scene: &Scene<'_>, branch: &Branch, error: ErrorValue) -> bool {
    let StmtKind::Goto(label) = &scene.tree.stmt(branch.jump).kind else {
        return true;
    };
    let Some(Parent::Stmt(block)) =
        label_of(scene, label).and_then(|label| scene.parent_of_stmt(label))
    else {
        return false;
    };
    let StmtKind::Block(stmts) = &scene.tree.stmt(block).kind else {
        return false;
    };
    matches!(stmts.last().map(|&last| &scene.tree.stmt(last).kind),
        Some(StmtKind::Return(Some(value))) if error.is(scene, *value))
}

fn is_return(scene: &Scene<'_>, stmt: StmtId) -> bool {
    matches!(scene.tree.stmt(stmt).kind, StmtKind::Return(_))
}

/// The variables that a block declares: no label outside of it sees them.
pub(in crate::strong) fn declared(scene: &Scene<'_>, stmts: &[StmtId]) -> Vec<LocalId> {
    let decls = stmts
        .iter()
        .flat_map(|&stmt| match &scene.tree.stmt(stmt).kind {
            StmtKind::Decl(decls) => &decls[..],
            _ => &[],
        });
    decls.map(|decl| decl.local).collect()
}

pub(in crate::strong) fn label_of(scene: &Scene<'_>, label: &str) -> Option<StmtId> {
    stmts(scene).find(
        |&id| matches!(&scene.tree.stmt(id).kind, StmtKind::Label { name, .. } if &**name == label),
    )
}
