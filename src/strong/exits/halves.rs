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

use super::undone::ends;
use crate::ast::{ExprId, ExprKind, Name};
use crate::cfg::{Point, reaches};
use crate::provenance::may_change;
use crate::strong::scene::Scene;

/// Whether an exit at `call` that consists of `lines` leaves out the second half of something.
pub(super) fn parts_halves(scene: &Scene<'_>, call: ExprId, lines: &[String]) -> bool {
    let Some(at) = scene.cfg.call(call) else {
        return true;
    };
    let changes: Vec<Change<'_>> = changes(scene);
    let is_before = |one: &Change<'_>| reaches(scene.cfg, one.point.next(), at, &[]);
    let is_left_out = |one: &&Change<'_>| !lines.iter().any(|line| line.contains(one.name));
    let always = |ends: &[Point]| {
        let mut returns = scene.cfg.returns();
        !ends.is_empty() && !returns.any(|end| reaches(scene.cfg, at.next(), end, ends))
    };
    let halves = changes
        .iter()
        .filter(|one| one.of.is_some() && is_before(one));
    let of_place = halves.into_iter().any(|first| {
        let second = changes
            .iter()
            .filter(|one| one.of == first.of && one.point != first.point);
        let second: Vec<Point> = second.filter(is_left_out).map(|one| one.point).collect();
        always(&second)
    });
    let ending = changes.iter().filter(|one| one.ends && one.point != at);
    let ending: Vec<Point> = ending.filter(is_left_out).map(|one| one.point).collect();
    of_place || always(&ending)
}

/// A call that changes something which the function did not make.
struct Change<'s> {
    point: Point,
    name: &'s str,
    /// The object, as it is written.
    of: Option<String>,
    /// It ends something, as the name of this function of the package says.
    ends: bool,
}

fn changes<'s>(scene: &'s Scene<'_>) -> Vec<Change<'s>> {
    let of_call = |(call, name): (ExprId, &'s str)| {
        let point = scene.cfg.call(call)?;
        let first = scene.call(call).and_then(|(_, args)| args.first().copied());
        let of = first.filter(|&arg| may_change(name) && is_known_elsewhere(scene, arg));
        let of = of.and_then(|arg| Some(scene.text(scene.span(arg)?).to_owned()));
        let ends = scene.cx.definitions(name).next().is_some() && ends(name);
        (of.is_some() || ends).then_some(Change {
            point,
            name,
            of,
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
