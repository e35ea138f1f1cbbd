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

use super::opened::leaves_open;
use super::set_back::leaves_set;
use super::undone::{ends, pointed};
use super::way_out::{WayOut, words};
use crate::ast::{ExprId, ExprKind, LocalId, Name};
use crate::capi::{self, words_of};
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
    let way_out = WayOut {
        scene,
        lookup,
        local,
        at,
        lines,
    };
    let changes = changes(&way_out);
    let is_before = |one: &&Change<'_>| reaches(scene.cfg, one.at.next(), at, &[]);
    let mut halves = changes.iter().filter(is_before);
    let of_place = halves.any(|first| {
        let second = changes
            .iter()
            .filter(|one| one.takes_up(first, &way_out) && !way_out.speaks_of_result(one.call));
        way_out.leaves_out(second.map(|one| one.call))
    });
    let ending = changes.iter().filter(|one| one.ends && one.at != at);
    of_place
        || way_out.leaves_out(ending.map(|one| one.call))
        || leaves_open(&way_out)
        || leaves_set(&way_out)
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
    /// Nothing is known of what it does.
    is_unknown: bool,
    /// Nothing is seen of what it does, either.
    is_unseen: bool,
    /// It gets nothing but what others have, too.
    of_others: bool,
    /// It ends something, as the name of this function of the package says.
    ends: bool,
}

impl Change<'_> {
    /// Whether this may undo what `first` has done. What the same function does once more is another
    /// thing, unless it gives the same place another value: `PyObject_SetAttrString(self, "busy", v)`.
    fn takes_up(&self, first: &Change<'_>, way_out: &WayOut<'_, '_>) -> bool {
        let is_set_anew = || match (&self.args[..], &first.args[..]) {
            ([keys @ .., value], [before @ .., old]) => keys == before && value != old,
            _ => false,
        };
        let is_same = self.name == first.name;
        match self.of_first && first.of_first {
            true if is_same => is_set_anew() && !only_adds(self.name),
            true => self.args.first() == first.args.first(),
            false if is_same => self.puts_back(first, way_out),
            false => self.is_other_half(first),
        }
    }

    /// Whether both are functions that are not seen, which get the same: `sem_wait(&sem)` and
    /// `sem_post(&sem)`. What the function itself holds is followed elsewhere.
    fn is_other_half(&self, first: &Change<'_>) -> bool {
        let is_shared = || self.of_others && self.args == first.args;
        self.is_unseen && first.is_unseen && is_shared()
    }

    /// Whether this gives what the function had asked for before `first`, or gets by it, or constants
    /// to the same handle: `old = umask(077); … umask(old);`, `exec(db, "BEGIN"); … exec(db,
    /// "COMMIT");`.
    fn puts_back(&self, first: &Change<'_>, way_out: &WayOut<'_, '_>) -> bool {
        let scene = way_out.scene;
        let start = |expr: ExprId| scene.tree.expr(expr).range.start;
        let args = scene.call(self.call).map_or(&[][..], |(_, args)| args);
        let pairs = self.args.iter().zip(&first.args).zip(args);
        let others = pairs.filter(|((one, other), _)| one != other);
        let others: Vec<ExprId> = others.map(|(_, &arg)| arg).collect();
        let is_saved = |&arg: &ExprId| self.is_saved(arg, first, scene);
        let is_told = || {
            let is_one_handle = others.len() < args.len() && !writes_on(self.name);
            others.iter().any(is_saved) || is_one_handle
        };
        // `PyEval_SetTrace(NULL, NULL)`
        let is_emptied = || args.iter().all(|&arg| scene.is_null(arg));
        let is_back = |arg: &ExprId| is_saved(arg) || is_constant(scene, *arg);
        !others.is_empty()
            // What another pass has done is no beginning.
            && start(first.call) < start(way_out.lookup)
            && self.args.len() == first.args.len()
            && (is_emptied() || self.is_unknown && others.iter().all(is_back) && is_told())
    }

    fn is_saved(&self, arg: ExprId, first: &Change<'_>, scene: &Scene<'_>) -> bool {
        let is_before = |call: ExprId| {
            let point = scene.cfg.call(scene.tree.without_casts(call));
            point.is_some_and(|point| reaches(scene.cfg, point, first.at.next(), &[]))
        };
        let Some(local) = scene.as_local(arg) else {
            return false;
        };
        let saved = |(given, from): (LocalId, ExprId)| given == local && is_before(from);
        // `pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old)`
        let is_filled = scene.call(first.call).is_some_and(|(_, args)| {
            args.iter()
                .any(|&arg| scene.tree.as_address(arg) == Some(local))
        });
        is_filled || scene.tree.stores().any(saved)
    }
}

fn changes<'s>(way_out: &WayOut<'s, '_>) -> Vec<Change<'s>> {
    let scene = way_out.scene;
    let of_call = |(call, name): (ExprId, &'s str)| {
        let (_, args) = scene.call(call)?;
        let is_known = args
            .first()
            .is_some_and(|&arg| is_known_elsewhere(scene, arg));
        let is_own = scene.cx.definitions(name).next().is_some();
        let ends = is_own && ends(name);
        let is_unknown = capi::is_unknown(name);
        let of_first = may_change(name) && is_known;
        Some(Change {
            call,
            at: scene.cfg.call(call)?,
            name,
            args: args.iter().map(|&arg| words(scene, arg)).collect(),
            of_first,
            is_unknown,
            is_unseen: is_unknown && !is_own,
            of_others: !args.is_empty() && args.iter().all(|&arg| is_of_others(scene, arg)),
            ends,
        })
    };
    scene.tree.calls().filter_map(of_call).collect()
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

/// Whether an argument is nothing that the function has made.
fn is_of_others(scene: &Scene<'_>, arg: ExprId) -> bool {
    let arg = pointed(scene, arg);
    is_known_elsewhere(scene, arg) || is_constant(scene, arg)
}

fn is_constant(scene: &Scene<'_>, arg: ExprId) -> bool {
    let arg = scene.tree.without_casts(arg);
    matches!(
        scene.tree.expr(arg).kind,
        ExprKind::Int(_) | ExprKind::Str(_)
    ) || scene.is_null(arg)
}

/// Whether the name of a function says that it puts one thing behind another: `write_text(out, "(")`.
fn writes_on(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "add", "append", "emit", "insert", "log", "print", "push", "put", "send", "write",
    ];
    words_of(name).any(|word| WORDS.contains(&&*word))
}
