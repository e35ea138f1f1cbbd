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
use super::undone::ends;
use super::way_out::{WayOut, words};
use crate::ast::{ExprId, ExprKind, LocalId, Name};
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
            .filter(|one| one.takes_up(first, scene) && !way_out.speaks_of_result(one.call));
        way_out.leaves_out(second.map(|one| one.call))
    });
    let ending = changes.iter().filter(|one| one.ends && one.at != at);
    of_place || way_out.leaves_out(ending.map(|one| one.call)) || leaves_open(&way_out)
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

fn changes<'s>(way_out: &WayOut<'s, '_>) -> Vec<Change<'s>> {
    let scene = way_out.scene;
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
