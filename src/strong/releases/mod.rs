//! Where the releases of one home go: behind the last uses, once behind an `if` for both of its
//! branches, or at the label where the function cleans up.
//!
//! ```c
//! PyObject *v = NULL;                   /* for those who come to the label before the lookup */
//! if (!(key = make_key()))
//!     goto cleanup;
//! v = PyList_GetItemRef(list, i);
//! if (prepare(key) < 0)
//!     goto cleanup;
//! n = use(v);
//! cleanup:
//!     Py_XDECREF(v);
//! ```

mod labels;
mod mend;
mod merge;
mod placing;

use std::collections::BTreeSet;

use crate::ast::ExprId;
use crate::capi::Absent;
use crate::strong::exits::joined::entered_with_null;
use crate::strong::follow::apart::named;
use crate::strong::follow::arms;
use crate::strong::follow::slots::Slots;
use crate::strong::follow::web::Given;
use crate::strong::follow::{Decisions, Follower, Leaves, Mode, Strong};
use crate::strong::plan::{Home, Lookup};
use crate::strong::reason::Reason;
use crate::strong::reason::why::truer;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;
use crate::strong::weak::{Weak, adapt};
use labels::at_label;
use mend::may_mend;
use merge::{length, merged};

/// What must change for the lookups of `home`.
///
/// # Errors
/// Why no change is correct; of all ways to treat existing counting, what stopped the first.
pub(in crate::strong) fn follow(
    scene: &Scene<'_>,
    slots: &Slots,
    home: &Home,
    strong: &Strong<'_>,
) -> Result<Decisions, Reason> {
    if matches!(
        home.lookups[0].shape,
        Shape::Presence(..) | Shape::Guarded(_)
    ) {
        return Ok(Decisions::default());
    }
    let follow_as = |mode, leaves, weak| {
        let mut follower = follower(mode, scene, slots, home, strong, weak);
        follower.leaves = leaves;
        follow_as(follower, home)
    };
    if home.is_apart {
        return follow_as(Mode::Apart, Leaves::Nothing, None);
    }
    if home.web.values().any(|given| *given == Given::Parameter) {
        return Err(Reason::OverwritesParameter(home.name.clone()));
    }
    let follow_with = |weak: Option<Weak>| {
        let as_mode = |mode| follow_as(mode, Leaves::Nothing, weak.clone());
        let mended = |reason| match may_mend(scene, home) {
            true => as_mode(Mode::Mend),
            false => Err(reason),
        };
        let others = |_| {
            let counted = as_mode(Mode::Keep).or_else(|_| as_mode(Mode::Own));
            counted.or_else(mended)
        };
        // What a function hands out must be its own on every path.
        let leaving = |leaves, reason| match scene.hands_out {
            true => Err(reason),
            false => follow_as(Mode::Adopt, leaves, weak.clone()).map_err(|_| reason),
        };
        let taken = |reason| match takes_for_others(scene, home) {
            true => leaving(Leaves::Taken, reason),
            false => Err(reason),
        };
        let settled = |reason| leaving(Leaves::Definitions, reason);
        let adopted = as_mode(Mode::Adopt).or_else(taken).or_else(settled);
        adopted.or_else(|reason| others(()).map_err(|_| reason))
    };
    match adapt(scene, home).and_then(follow_with) {
        // `return o;` must still give `Py_None`.
        Err(Reason::NoneEscapes(_)) => {
            let mut decisions = follow_with(None)?;
            decisions.keeps_none = true;
            Ok(decisions)
        }
        other => other,
    }
}

/// Whether the function takes references by other names than that of `home`.
fn takes_for_others(scene: &Scene<'_>, home: &Home) -> bool {
    let mut calls = scene.tree.expr_ids();
    calls.any(|call| match scene.call(call) {
        Some(("Py_INCREF" | "Py_XINCREF", [taken])) => {
            let local = named(scene, *taken);
            local.is_some() && local != home.local
        }
        _ => false,
    })
}

/// What each way to treat existing counting comes to.
pub(in crate::strong) fn modes(
    scene: &Scene<'_>,
    slots: &Slots,
    home: &Home,
    strong: &Strong<'_>,
) -> Vec<(Mode, Result<Decisions, Reason>)> {
    let all = [Mode::Adopt, Mode::Keep, Mode::Own, Mode::Mend, Mode::Apart];
    let each = all.into_iter().map(|mode| {
        let follower = follower(mode, scene, slots, home, strong, None);
        (mode, follow_as(follower, home))
    });
    each.collect()
}

fn follow_as(mut follower: Follower<'_, '_>, home: &Home) -> Result<Decisions, Reason> {
    let direct = meeting(&mut follower).or_else(|_| {
        follower.suppressed.clear();
        meeting(&mut follower)
    });
    let direct = direct.or_else(|reason| {
        if !follower.is_apart() {
            return Err(reason);
        }
        follower.cleared = follower.in_loops();
        meeting(&mut follower).map_err(|_| reason)
    });
    let direct = direct.map(|decisions| merged(&mut follower, decisions));
    if direct.as_ref().is_ok_and(|it| it.releases.len() < 2) {
        return direct;
    }
    let at_label = at_label(&mut follower, home);
    match (direct, at_label) {
        (Ok(direct), Some(other))
            if length(&other) >= length(&direct)
                || other.replaced.len() > direct.replaced.len() =>
        {
            Ok(direct)
        }
        (_, Some(other)) => Ok(other),
        (Ok(direct), None) => Ok(direct),
        (Err(reason), None) => {
            follower.suppressed.clear();
            match starting_null(&mut follower).or_else(|| landing_held(&mut follower)) {
                Some(found) => Ok(merged(&mut follower, found)),
                None => Err(truer(&mut follower, reason, |it| meeting(it).err())),
            }
        }
    }
}

fn follower<'s, 'a>(
    mode: Mode,
    scene: &'s Scene<'a>,
    slots: &'s Slots,
    home: &'s Home,
    strong: &'s Strong<'s>,
    weak: Option<Weak>,
) -> Follower<'s, 'a> {
    let may_be_null = |lookup: &Lookup| {
        lookup.replacement.absent != Absent::Error || !lookup.failure.leaves_for_null()
    };
    let lookups = home.lookups.iter();
    let others = lookups
        .clone()
        .filter_map(|lookup| arms::other(scene, lookup.call));
    Follower {
        scene,
        slots,
        weak,
        others: others.collect(),
        lookups: lookups
            .map(|lookup| (lookup.call, may_be_null(lookup)))
            .collect(),
        again: home
            .lookups
            .iter()
            .flat_map(|lookup| lookup.again.clone())
            .collect(),
        with_null: entered_with_null(scene, &home.lookups),
        strong,
        home: home.local,
        name: &home.name,
        web: home.web.clone(),
        mode,
        starts_null: false,
        supposes_null: false,
        leaves: Leaves::Nothing,
        lands_held: false,
        suppressed: slots.last_choices().clone(),
        cleared: BTreeSet::new(),
    }
}

/// Whether the function only uses what the lookups of `home` give, and nothing of it is left when
/// it is done: a caller could hold the reference.
pub(in crate::strong) fn is_only_used(scene: &Scene<'_>, slots: &Slots, home: &Home) -> bool {
    let calls: BTreeSet<ExprId> = home.lookups.iter().map(|lookup| lookup.call).collect();
    let strong = Strong::new(&calls, [home]);
    let decisions = follower(Mode::Lent, scene, slots, home, &strong, None).run();
    decisions.is_ok_and(|decisions| decisions == Decisions::default())
}

/// Most times that releases move to where paths meet.
const MAX_MOVES: usize = 32;

/// Decisions that release on every path; what one path needs no more is kept up to where it meets
/// another that still needs it.
///
/// ```c
/// if (PyUnicode_Check(v)) {
///     text = PyUnicode_AsUTF8(v);           /* points into v */
/// } else {
///     text = "other";                       /* v is needed no more, but released below */
/// }
/// n = strlen(text);
/// Py_DECREF(v);
/// ```
///
/// # Errors
/// Why no change is correct.
fn meeting(follower: &mut Follower<'_, '_>) -> Result<Decisions, Reason> {
    let before = follower.suppressed.clone();
    let mut first = None;
    for _ in 0..MAX_MOVES {
        let declined = match follower.run() {
            Ok(decisions) => return Ok(decisions),
            Err(declined) => declined,
        };
        let stuck = declined.early.is_subset(&follower.suppressed);
        follower.suppressed.extend(declined.early);
        first.get_or_insert(declined.reason);
        if stuck {
            break;
        }
    }
    follower.suppressed = before;
    Err(first.expect("the first run, which failed, gave a reason"))
}

/// With exits of other lookups that go to a label where the release stands.
fn landing_held(follower: &mut Follower<'_, '_>) -> Option<Decisions> {
    if !follower.strong.any_lands() {
        return None;
    }
    (follower.lands_held, follower.starts_null) = (true, false);
    follower.suppressed.clear();
    let found = meeting(follower).ok().or_else(|| starting_null(follower));
    if found.is_none() {
        (follower.lands_held, follower.starts_null) = (false, false);
    }
    found
}

/// With a variable that is `NULL` from its declaration on, where it holds nothing now.
pub(in crate::strong) fn starting_null(follower: &mut Follower<'_, '_>) -> Option<Decisions> {
    let local = follower.home?;
    follower.scene.undefined_at_declaration(local)?;
    follower.starts_null = true;
    meeting(follower).ok()
}
