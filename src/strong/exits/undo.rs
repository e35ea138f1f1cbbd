//! What an exit at a point has to undo: what the function began before, and undoes where it leaves
//! later.
//!
//! ```c
//! fd = open(path, O_RDONLY);
//! self->busy = 1;
//! item = PyList_GetItemRef(list, i);            /* an exit here closes and resets, too */
//! if (item == NULL)
//!     …
//! if (read_into(fd, item) < 0) {
//!     close(fd);
//!     self->busy = 0;
//!     return NULL;
//! }
//! ```

use super::branch::{Branch, branches, is_same, releases_all, stmts};
use super::error_value::ErrorValue;
use super::filled::{Filled, filled};
use super::guarded::is_guarded;
use super::moved::untold;
use super::read_behind::root;
use super::undone::{Undone, element_of, pointed, undone};
use crate::ast::{ExprId, ExprKind, LocalId, Parent, StmtId, StmtKind, UnaryOp};
use crate::cfg::{Base, Callee, Instr, InstrKind, Operand, Place, Point, Source, reaches};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// What an exit at a point has to do.
#[derive(Debug)]
pub(in crate::strong) struct Undo {
    /// These, in their order.
    pub due: Vec<StmtId>,
    /// Whether these, cannot be told.
    pub unsure: Vec<StmtId>,
    /// What these hold, is to be released.
    pub filled: Vec<Filled>,
    /// Where the exit is.
    pub(super) point: Point,
}

impl Undo {
    /// What an exit at `point` has to undo.
    pub(in crate::strong) fn new(scene: &Scene<'_>, point: Point, error: ErrorValue) -> Self {
        let all: Vec<Undone> = stmts(scene).filter_map(|id| undone(scene, id)).collect();
        let exits = in_exits(scene, error, &all);
        let branches = branches(scene);
        let mut undo = Self {
            due: Vec::new(),
            unsure: Vec::new(),
            filled: filled(scene, point),
            point,
        };
        let mut known: Vec<StmtId> = Vec::new();
        for one in &all {
            if known.contains(&one.stmt) {
                continue;
            }
            let same = all.iter().map(|other| other.stmt);
            let same: Vec<StmtId> = same
                .filter(|&stmt| same_text(scene, stmt, one.stmt))
                .collect();
            let facts = Facts::of(scene, point, one, &same, &exits);
            let is_spared = || !facts.begins && is_spared(scene, point, &same, &branches);
            match facts.verdict(scene, one) {
                Verdict::Unsure if is_spared() => {}
                Verdict::Due if is_guarded(scene, point, &same) => undo.unsure.push(one.stmt),
                Verdict::Due if ends_otherwise(scene, one, &all) => undo.unsure.push(one.stmt),
                // What a macro makes can be left to the label it stands behind.
                Verdict::Due if scene.stmt_span(one.stmt).is_none() && is_spared() => {}
                Verdict::Due => undo.due.push(one.stmt),
                Verdict::Unsure => undo.unsure.push(one.stmt),
                Verdict::Not => {}
            }
            known.extend(same);
        }
        undo.due.extend(untold(scene, point));
        undo
    }

    /// Whether an exit undoes what is due, once, and nothing else: the statements `done`, and the
    /// code from `label` on. What that does is fine as well if it asks first:
    /// `if (fd >= 0) close(fd);`.
    pub(in crate::strong) fn is_done_by(
        &self,
        scene: &Scene<'_>,
        done: &[StmtId],
        label: Option<StmtId>,
    ) -> bool {
        let (done, looped) = (undoing_all(scene, done), undoing_looped(scene, done));
        let behind = label.map_or_else(Vec::new, |label| behind(scene, label));
        let once = |&due: &StmtId| has(scene, &done, due) != has(scene, &behind, due);
        let is_asked = |stmt| undone(scene, stmt).is_none_or(|one| is_asked(scene, stmt, &one));
        let is_done = |&stmt: &StmtId| has(scene, &behind, stmt) || has(scene, &looped, stmt);
        let is_released = |filled: &Filled| {
            let here = looped
                .iter()
                .any(|&stmt| filled.is_released_by(scene, stmt));
            here || label.is_some_and(|label| filled.is_released_at(scene, self.point, label))
        };
        self.filled.iter().all(is_released)
            && self.due.iter().all(once)
            && self.unsure.iter().all(is_done)
            && done.iter().all(|&stmt| self.is_due(scene, stmt, &looped))
            && behind
                .iter()
                .all(|&stmt| has(scene, &self.due, stmt) || is_asked(stmt))
    }

    /// Whether the statements `done` undo nothing but what is due.
    pub(in crate::strong) fn asks_for(&self, scene: &Scene<'_>, done: &[StmtId]) -> bool {
        let looped = undoing_looped(scene, done);
        let mut all = undoing_all(scene, done).into_iter();
        all.all(|stmt| self.is_due(scene, stmt, &looped))
    }

    /// Whether `stmt` is due, or one of those in loops, which undo as much as there is.
    fn is_due(&self, scene: &Scene<'_>, stmt: StmtId, looped: &[StmtId]) -> bool {
        let is_counted = has(scene, &self.unsure, stmt) && has(scene, looped, stmt);
        has(scene, &self.due, stmt) || is_counted
    }
}

/// Those of the statements `done` that undo something, with those in loops.
fn undoing_all(scene: &Scene<'_>, done: &[StmtId]) -> Vec<StmtId> {
    let here = undoing(scene, done.iter().copied());
    here.chain(undoing_looped(scene, done)).collect()
}

/// What the loops among the statements `done` undo.
fn undoing_looped(scene: &Scene<'_>, done: &[StmtId]) -> Vec<StmtId> {
    let loops = done.iter().filter(|&&stmt| releases_all(scene, stmt));
    undoing(scene, loops.flat_map(|&stmt| scene.inner_stmts(stmt))).collect()
}

/// What the code from `label` on undoes.
fn behind(scene: &Scene<'_>, label: StmtId) -> Vec<StmtId> {
    let Some(start) = scene.cfg.before(label) else {
        return Vec::new();
    };
    let is_behind = |&stmt: &StmtId| {
        let at = scene.cfg.before(stmt);
        at.is_some_and(|at| reaches(scene.cfg, start, at, &[]))
    };
    undoing(scene, stmts(scene)).filter(is_behind).collect()
}

fn undoing(scene: &Scene<'_>, stmts: impl Iterator<Item = StmtId>) -> impl Iterator<Item = StmtId> {
    stmts.filter(|&stmt| undone(scene, stmt).is_some())
}

/// Whether `stmts` have one with the text of `stmt`.
fn has(scene: &Scene<'_>, stmts: &[StmtId], stmt: StmtId) -> bool {
    stmts.iter().any(|&other| same_text(scene, other, stmt))
}

/// Whether an exit stands between `point` and all of the statements `same` which does not undo what
/// they do: it has not begun by then.
fn is_spared(scene: &Scene<'_>, point: Point, same: &[StmtId], branches: &[Branch]) -> bool {
    let cfg = scene.cfg;
    let ends: Vec<Point> = same.iter().filter_map(|&stmt| cfg.before(stmt)).collect();
    let is_between = |branch: &Branch| {
        let (Some(test), Some(then)) = (cfg.before(branch.test), cfg.before(branch.then)) else {
            return false;
        };
        reaches(cfg, point, test, &[])
            && ends
                .iter()
                .all(|&end| !reaches(cfg, point, end, &[test]) && !reaches(cfg, then, end, &[]))
    };
    let mut evident = branches.iter().filter(|branch| branch.evident);
    evident.any(is_between)
}

/// Whether something else ends what `one` ends by its name: `UNPROTECT(2)` for `UNPROTECT(1)`.
fn ends_otherwise(scene: &Scene<'_>, one: &Undone, all: &[Undone]) -> bool {
    let mut others = all.iter().filter(|other| other.begun_by.is_some());
    others.any(|other| other.begun_by == one.begun_by && !same_text(scene, other.stmt, one.stmt))
}

enum Verdict {
    Due,
    Not,
    Unsure,
}

/// When something was begun, as seen from a point.
struct Facts {
    /// It is undone on some path from there.
    follows: bool,
    /// Something that may begin it can be seen.
    begins: bool,
    /// It may have begun before.
    before: bool,
    /// No way leads to the point without it: `if (!self->busy) { self->busy = 1; mine = 1; }`.
    surely: bool,
    /// It may begin behind the point, and before it is undone.
    after: bool,
    /// It may be undone already.
    undone: bool,
    /// The code asks first whether there is anything to undo.
    asks: bool,
    /// It is undone at the end of a failure exit.
    in_exit: bool,
    /// The function may go on from there and end without undoing it.
    stays: bool,
    /// It is in a struct of the caller's, or behind a pointer of the caller's.
    of_caller: bool,
}

impl Facts {
    fn of(
        scene: &Scene<'_>,
        point: Point,
        one: &Undone,
        same: &[StmtId],
        exits: &[StmtId],
    ) -> Self {
        let cfg = scene.cfg;
        let ends: Vec<Point> = same.iter().filter_map(|&stmt| cfg.before(stmt)).collect();
        let begins: Vec<Point> = begins(scene, one, same).collect();
        let start = cfg.before(scene.function.body);
        // A loop that fills an array, and one that gives back as much as there is.
        let mut exprs = scene.tree.expr_ids();
        let is_array = exprs.any(|expr| fills_element(scene, Source::Expr(expr), one));
        let mut from_ends = same.iter().filter_map(|&stmt| cfg.after(stmt));
        Self {
            follows: ends.iter().any(|&end| reaches(cfg, point, end, &[])),
            begins: !begins.is_empty(),
            before: begins
                .iter()
                .any(|&begin| reaches(cfg, begin, point, &ends)),
            surely: is_array || start.is_some_and(|start| !reaches(cfg, start, point, &begins)),
            after: begins
                .iter()
                .any(|&begin| reaches(cfg, point, begin, &ends)),
            undone: from_ends.any(|end| reaches(cfg, end, point, &begins)),
            asks: same.iter().any(|&stmt| is_asked(scene, stmt, one)),
            in_exit: same.iter().any(|stmt| exits.contains(stmt)),
            stays: {
                let ends = same.iter().map(|&stmt| whole(scene, stmt, point));
                let ends: Vec<Point> = ends.filter_map(|stmt| cfg.before(stmt)).collect();
                cfg.returns().any(|end| reaches(cfg, point, end, &ends))
            },
            of_caller: one.places.iter().any(|&place| is_of_caller(scene, place)),
        }
    }

    fn verdict(&self, scene: &Scene<'_>, one: &Undone) -> Verdict {
        let is_clear = self.begins && self.surely && !self.after && !self.undone && !self.asks;
        // An exit in front of the call shows what the caller does not release where this fails.
        let is_shown = one.frees && self.in_exit && self.of_caller && self.before && is_clear;
        if !self.follows && is_shown {
            return Verdict::Due;
        }
        if !self.follows || self.begins && !self.before {
            return Verdict::Not;
        }
        let is_number = |&local: &LocalId| is_number(&scene.tree.local(local).ty);
        let is_handle = one.frees && one.locals.iter().any(is_number);
        if !self.in_exit && !is_handle {
            // The end of the function undoes it, or succeeds.
            let begun = self.begins && (one.resets || !one.locals.is_empty());
            return if begun && !self.stays {
                Verdict::Unsure
            } else {
                Verdict::Not
            };
        }
        if is_clear {
            Verdict::Due
        } else {
            Verdict::Unsure
        }
    }
}

/// Whether a place is reached by a parameter that is no object: an object releases what it holds.
fn is_of_caller(scene: &Scene<'_>, place: ExprId) -> bool {
    let root = root(scene, place).and_then(|root| scene.as_local(root));
    root.is_some_and(|local| {
        let variable = scene.tree.local(local);
        let types = scene.cx.types();
        variable.is_param && !types.is_object_pointer(&variable.ty)
    })
}

/// The loop in which `stmt` undoes as much as there is, unless `point` is in it; else the statement.
fn whole(scene: &Scene<'_>, stmt: StmtId, point: Point) -> StmtId {
    let mut at = stmt;
    while let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(at) {
        let is_loop = matches!(
            scene.tree.stmt(outer).kind,
            StmtKind::For { .. } | StmtKind::While { .. }
        );
        let ways = scene.cfg.before(outer).zip(scene.cfg.after(outer));
        let is_around = ways.is_none_or(|(start, end)| reaches(scene.cfg, start, point, &[end]));
        match scene.tree.stmt(outer).kind {
            StmtKind::Block(_) => at = outer,
            _ if is_loop && !is_around => return outer,
            _ => break,
        }
    }
    stmt
}

/// The points behind the steps that may begin what `one` undoes: they set or fill the same
/// variable or place, and are not in the statements `same` that undo it.
fn begins<'s>(
    scene: &'s Scene<'_>,
    one: &'s Undone,
    same: &'s [StmtId],
) -> impl Iterator<Item = Point> + 's {
    let is_local = |place: &Place| match place.base {
        Base::Local(local) => one.locals.contains(&local),
        _ => false,
    };
    let is_place = |source: Source| match source {
        Source::Expr(expr) => scene.tree.changed(expr).is_some_and(|set| {
            let mut places = one.places.iter();
            places.any(|&it| is_same(scene, it, set) || is_one_array(scene, it, set))
        }),
        Source::Stmt(_) => false,
    };
    let begins = move |instr: &Instr| match &instr.kind {
        InstrKind::Store { place, .. } => {
            is_local(place) || is_place(instr.source) || fills_element(scene, instr.source, one)
        }
        InstrKind::Call { callee, args, .. } => {
            let mut args = args.iter();
            let is_given = args.any(|arg| matches!(arg, Operand::AddressOf(it) if is_local(it)));
            let begins_it = || match callee {
                Callee::Named(name) => one.begun_by.as_deref() == Some(name),
                Callee::Indirect(_) => false,
            };
            is_given || begins_it() || fills_element(scene, instr.source, one)
        }
        _ => false,
    };
    let is_end = move |source: Source| match source {
        Source::Expr(expr) => scene.stmt_of(expr).is_some_and(|stmt| same.contains(&stmt)),
        Source::Stmt(_) => false,
    };
    let blocks = scene.cfg.iter();
    blocks.flat_map(move |(block, content)| {
        let steps = (1..).zip(&content.instrs);
        let steps = steps.filter(move |(_, instr)| begins(instr) && !is_end(instr.source));
        steps.map(move |(index, _)| Point { block, index })
    })
}

/// Whether two places are reached by the same pointer of the function: `*end` and `*end++`.
fn is_one_array(scene: &Scene<'_>, one: ExprId, other: ExprId) -> bool {
    let pointer = |place: ExprId| match scene.tree.expr(place).kind {
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => scene.as_local(match scene.tree.expr(operand).kind {
            ExprKind::Unary { operand, .. } => operand,
            _ => operand,
        }),
        _ => None,
    };
    pointer(one).is_some_and(|local| pointer(other) == Some(local))
}

/// Whether a step fills an element of what `one` gives back: `texts[i] = v`, `get(&texts[i])`.
fn fills_element(scene: &Scene<'_>, source: Source, one: &Undone) -> bool {
    let Source::Expr(expr) = source else {
        return false;
    };
    let is_element =
        |place: ExprId| element_of(scene, place).is_some_and(|array| one.locals.contains(&array));
    match &scene.tree.expr(expr).kind {
        ExprKind::Assign { lhs, .. } => is_element(*lhs),
        ExprKind::Call { args, .. } => args.iter().any(|&arg| {
            let inner = pointed(scene, arg);
            inner != arg && is_element(inner)
        }),
        _ => false,
    }
}

/// Whether `stmt` stands in an `if` that asks for what it undoes, or in a loop that undoes as much
/// as there is.
fn is_asked(scene: &Scene<'_>, stmt: StmtId, one: &Undone) -> bool {
    let mut at = scene.parent_of_stmt(stmt);
    while let Some(Parent::Stmt(outer)) = at {
        match scene.tree.stmt(outer).kind {
            StmtKind::Block(_) => at = scene.parent_of_stmt(outer),
            StmtKind::If { cond, .. } => return asks_for(scene, cond, one),
            StmtKind::For { .. } | StmtKind::While { .. } => return true,
            _ => return false,
        }
    }
    false
}

/// Whether `cond` mentions a variable or place that `one` undoes.
fn asks_for(scene: &Scene<'_>, cond: ExprId, one: &Undone) -> bool {
    let within = scene.tree.expr(cond).range;
    scene.tree.exprs_in(within).any(|(expr, _)| {
        let is_place = one.places.iter().any(|&place| is_same(scene, place, expr));
        is_place
            || scene
                .as_local(expr)
                .is_some_and(|local| one.locals.contains(&local))
    })
}

/// The undoing statements that stand right in front of a `goto`, or of the `return` of an error.
fn in_exits(scene: &Scene<'_>, error: ErrorValue, all: &[Undone]) -> Vec<StmtId> {
    let is_jump = |&stmt: &StmtId| match scene.tree.stmt(stmt).kind {
        StmtKind::Goto(_) => true,
        StmtKind::Return(Some(value)) => error.is(scene, value),
        _ => false,
    };
    let undoes = |stmt: StmtId| all.iter().any(|one| one.stmt == stmt);
    let mut found = Vec::new();
    for jump in stmts(scene).filter(is_jump) {
        let Some((siblings, at)) = scene.siblings(jump) else {
            continue;
        };
        for &sibling in siblings[..at].iter().rev() {
            let before = scene.tree.unlabelled(sibling);
            match scene.tree.stmt(before).kind {
                StmtKind::Expr(_) => found.extend(undoes(before).then_some(before)),
                StmtKind::If {
                    otherwise: None, ..
                }
                | StmtKind::For { .. }
                | StmtKind::While { .. } => {
                    // Not what leaves before: `if (done) { *out = list; return 0; } return -1;`
                    let inner = scene.inner_stmts(before).into_iter();
                    found.extend(inner.filter(|&stmt| undoes(stmt) && leads_to(scene, stmt, jump)));
                }
                _ => break,
            }
            // What stands in front of a label runs where nothing failed: `self->ready = 1; done:`
            if before != sibling {
                break;
            }
        }
    }
    found
}

/// Whether a path leads from behind `stmt` to `jump`.
fn leads_to(scene: &Scene<'_>, stmt: StmtId, jump: StmtId) -> bool {
    let ends = (scene.cfg.after(stmt), scene.cfg.before(jump));
    matches!(ends, (Some(from), Some(to)) if reaches(scene.cfg, from, to, &[]))
}

fn same_text(scene: &Scene<'_>, one: StmtId, other: StmtId) -> bool {
    let text = |stmt| scene.stmt_span(stmt).map(|span| scene.text(span));
    let same_words = || text(one).is_some_and(|text_of_one| text(other) == Some(text_of_one));
    one == other || same_words() && scene.means_the_same(scene.tree.stmt(one).range, other)
}
