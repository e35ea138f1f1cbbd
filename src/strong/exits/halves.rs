//! Exits between two halves of one thing: what the function changes before the lookup, and changes
//! again on each way out after it.
//!
//! ```c
//! PyList_Append(stack, key);
//! value = PyDict_GetItem(dict, key);            /* an exit here leaves `key` on the stack */
//! …
//! PyList_SetSlice(stack, n, n + 1, NULL);
//! return result;
//! ```

use super::label_of;
use super::opened::leaves_open;
use super::undone::ends;
use crate::ast::{ExprId, ExprKind, LocalId, Name, Parent, StmtKind};
use crate::capi;
use crate::cfg::{Point, reaches};
use crate::provenance::{may_change, only_adds};
use crate::strong::scene::Scene;

/// Whether an exit at `lookup`, whose result `local` gets, leaves out the second half of something
/// if it consists of `lines`.
pub(super) fn parts_halves(
    scene: &Scene<'_>,
    lookup: ExprId,
    local: Option<LocalId>,
    lines: &[String],
) -> bool {
    let Some(at) = scene.cfg.call(lookup) else {
        return true;
    };
    let between = Between {
        scene,
        lookup,
        local,
        at,
        lines,
    };
    let changes = changes(&between);
    let is_before = |one: &&Change<'_>| reaches(scene.cfg, one.at.next(), at, &[]);
    let mut halves = changes.iter().filter(is_before);
    let of_place = halves.any(|first| {
        let second = changes
            .iter()
            .filter(|one| one.takes_up(first, scene) && !between.speaks_of_result(one.call));
        between.leaves_out(second.map(|one| one.call))
    });
    let ending = changes.iter().filter(|one| one.ends && one.at != at);
    of_place || between.leaves_out(ending.map(|one| one.call)) || leaves_open(&between)
}

/// An exit at a lookup.
pub(super) struct Between<'s, 'a> {
    pub(super) scene: &'s Scene<'a>,
    pub(super) lookup: ExprId,
    /// Gets its result.
    local: Option<LocalId>,
    pub(super) at: Point,
    lines: &'s [String],
}

impl Between<'_, '_> {
    /// Whether the exit makes none of `calls`, of which all other ways make one, or ask whether to.
    pub(super) fn leaves_out(&self, calls: impl Iterator<Item = ExprId>) -> bool {
        let calls: Vec<ExprId> = calls.collect();
        let scene = self.scene;
        let made = calls.iter().filter_map(|&call| self.asked_at(call));
        let made: Vec<Point> = made.collect();
        let mut returns = scene.cfg.returns();
        !made.is_empty()
            && !calls.iter().any(|&call| self.makes(call))
            && !returns.any(|end| reaches(scene.cfg, self.at.next(), end, &made))
    }

    /// Whether an expression names the variable with the result of the lookup.
    fn speaks_of_result(&self, expr: ExprId) -> bool {
        let tree = self.scene.tree;
        let mut inner = tree.exprs_in(tree.expr(expr).range);
        inner.any(|(id, _)| self.local.is_some() && tree.as_local(id) == self.local)
    }

    /// Whether the exit makes a call with the first argument of `call`, itself or at its label.
    fn makes(&self, call: ExprId) -> bool {
        let scene = self.scene;
        let Some((name, args)) = scene.call(call) else {
            return false;
        };
        let first = args
            .first()
            .map_or_else(String::new, |&arg| words(scene, arg));
        let begin = format!("{name}({first}");
        let makes = |line: &String| {
            let line: String = line.split_whitespace().collect();
            line.match_indices(&begin).any(|(at, _)| {
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                !line[..at].ends_with(is_name) && !line[at + begin.len()..].starts_with(is_name)
            })
        };
        let label = self.lines.last().and_then(|line| {
            let label = line.strip_prefix("goto ")?.strip_suffix(';')?;
            scene.cfg.before(label_of(scene, label)?)
        });
        let is_behind = |label| {
            let point = scene.cfg.call(call);
            point.is_some_and(|point| reaches(scene.cfg, label, point, &[]))
        };
        self.lines.iter().any(makes) || label.is_some_and(is_behind)
    }

    /// Where the function comes by `call`, or asks whether to make it:
    /// `if (old != NULL && put_back(old) < 0)`.
    fn asked_at(&self, call: ExprId) -> Option<Point> {
        let scene = self.scene;
        let within = scene.tree.expr(self.lookup).range;
        let mut point = scene.cfg.call(call)?;
        let mut stmt = scene.stmt_of(call)?;
        while !scene.tree.stmt(stmt).range.contains(within) {
            match scene.tree.stmt(stmt).kind {
                StmtKind::Block(_) => {}
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let is_cond = scene
                        .tree
                        .expr(cond)
                        .range
                        .contains(scene.tree.expr(call).range);
                    let leaves = |branch| scene.tree.leaves(branch);
                    let leaves = leaves(then) || otherwise.is_some_and(leaves);
                    if !is_cond && (leaves || self.speaks_of_result(cond)) {
                        break;
                    }
                    point = scene.cfg.before(stmt)?;
                }
                _ => point = scene.cfg.before(stmt)?,
            }
            match scene.parent_of_stmt(stmt) {
                Some(Parent::Stmt(outer)) => stmt = outer,
                _ => break,
            }
        }
        Some(point)
    }
}

/// A call that changes something which the function did not make.
struct Change<'s> {
    call: ExprId,
    at: Point,
    name: &'s str,
    /// The arguments, as they are written.
    args: Vec<String>,
    /// It changes its first argument.
    of_first: bool,
    /// It ends something, as the name of this function of the package says.
    ends: bool,
}

impl Change<'_> {
    /// Whether this may undo what `first` has done. What the same function does once more is another
    /// thing, unless it gives the same place another value: `PyObject_SetAttrString(self, "busy", v)`.
    fn takes_up(&self, first: &Change<'_>, scene: &Scene<'_>) -> bool {
        let is_set_anew = || match (&self.args[..], &first.args[..]) {
            ([keys @ .., value], [before @ .., old]) => keys == before && value != old,
            _ => false,
        };
        let is_same = self.name == first.name;
        match self.of_first && first.of_first {
            true if is_same => is_set_anew() && !only_adds(self.name),
            true => self.args.first() == first.args.first(),
            false => is_same && is_set_anew() && self.puts_back(first, scene),
        }
    }

    /// Whether this gives what the function had asked for before `first`, or gets by it:
    /// `old = umask(077); … umask(old);`.
    fn puts_back(&self, first: &Change<'_>, scene: &Scene<'_>) -> bool {
        let Some((_, [.., value])) = scene.call(self.call) else {
            return false;
        };
        let saved = |(local, from): (LocalId, ExprId)| {
            let call = scene.tree.without_casts(from);
            let point = scene.cfg.call(call);
            scene.as_local(*value) == Some(local)
                && point.is_some_and(|point| reaches(scene.cfg, point, first.at.next(), &[]))
        };
        scene.tree.stores().any(saved)
    }
}

fn changes<'s>(between: &Between<'s, '_>) -> Vec<Change<'s>> {
    let scene = between.scene;
    let of_call = |(call, name): (ExprId, &'s str)| {
        let (_, args) = scene.call(call)?;
        let is_known = args
            .first()
            .is_some_and(|&arg| is_known_elsewhere(scene, arg));
        let ends = scene.cx.definitions(name).next().is_some() && ends(name);
        let is_unknown = capi::effects(name).is_none() && !capi::is_libc(name);
        let of_first = may_change(name) && is_known;
        let at = scene.cfg.call(call)?;
        (of_first || ends || is_unknown).then(|| Change {
            call,
            at,
            name,
            args: args.iter().map(|&arg| words(scene, arg)).collect(),
            of_first,
            ends,
        })
    };
    scene.tree.calls().filter_map(of_call).collect()
}

/// The text of an expression without blanks.
fn words(scene: &Scene<'_>, expr: ExprId) -> String {
    let text = scene.span(expr).map(|span| scene.text(span));
    text.unwrap_or_default().split_whitespace().collect()
}

/// Whether a place is a variable of the file, a parameter, or a field.
fn is_known_elsewhere(scene: &Scene<'_>, arg: ExprId) -> bool {
    let arg = scene.tree.without_casts(arg);
    match scene.tree.expr(arg).kind {
        ExprKind::Name(Name::Local(local)) => {
            let is_parsed = || scene.cfg.addressing(local).next().is_some();
            scene.function.params.contains(&local) || is_parsed()
        }
        ExprKind::Name(Name::Global(_)) | ExprKind::Member { .. } => true,
        _ => false,
    }
}
