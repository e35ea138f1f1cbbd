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

use std::collections::BTreeSet;

use super::exit::Failure;
use super::follow::{Decisions, Follower, Mode, Strong};
use super::merge::merged;
use super::plan::{Home, Lookup};
use super::reason::Reason;
use super::scene::Scene;
use super::shape::Shape;
use super::slots::{Slot, Slots};
use super::weak::adapt;
use super::web::Given;
use crate::ast::{StmtId, StmtKind};
use crate::capi::{Absent, OldErrors};

/// What must change for the lookups of `home`.
///
/// # Errors
/// Why no change is correct; of both ways to treat existing counting, what stopped the first.
pub(super) fn follow(
    scene: &Scene<'_>,
    slots: &Slots,
    home: &Home,
    strong: &Strong<'_>,
) -> Result<Decisions, Reason> {
    if matches!(home.lookups[0].shape, Shape::Presence(..)) {
        return Ok(Decisions::default());
    }
    if home.web.values().any(|given| *given == Given::Parameter) {
        return Err(Reason::OverwritesParameter(home.name.clone()));
    }
    follow_as(Mode::Adopt, scene, slots, home, strong)
        .or_else(|reason| follow_as(Mode::Keep, scene, slots, home, strong).map_err(|_| reason))
}

fn follow_as(
    mode: Mode,
    scene: &Scene<'_>,
    slots: &Slots,
    home: &Home,
    strong: &Strong<'_>,
) -> Result<Decisions, Reason> {
    let may_be_null = |lookup: &Lookup| {
        lookup.failure == Failure::Tested
            || lookup.replacement.errors != OldErrors::Unchecked
            || lookup.replacement.absent != Absent::Error
    };
    let lookups = home.lookups.iter();
    let mut follower = Follower {
        scene,
        slots,
        weak: adapt(scene, home)?,
        lookups: lookups
            .map(|lookup| (lookup.call, may_be_null(lookup)))
            .collect(),
        strong,
        home: home.local,
        name: &home.name,
        web: home.web.clone(),
        mode,
        starts_null: false,
        suppressed: slots.last_choices().clone(),
    };
    let direct = meeting(&mut follower).or_else(|_| {
        follower.suppressed.clear();
        meeting(&mut follower)
    });
    let direct = direct.map(|decisions| merged(&mut follower, decisions));
    if direct.as_ref().is_ok_and(|it| it.releases.len() < 2) {
        return direct;
    }
    let at_label = at_label(&mut follower, home);
    match (direct, at_label) {
        (Ok(_), Some(one)) if one.releases.len() == 1 => Ok(one),
        (Err(_), Some(one)) => Ok(one),
        (Ok(direct), _) => Ok(direct),
        (Err(reason), None) => {
            follower.suppressed.clear();
            let found = starting_null(&mut follower);
            found.map(|it| merged(&mut follower, it)).ok_or(reason)
        }
    }
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

/// Releases behind the last label alone.
fn at_label(follower: &mut Follower<'_, '_>, home: &Home) -> Option<Decisions> {
    // A fresh variable may be out of scope at the label.
    home.local?;
    follower.suppressed = slots_before_label(follower.scene)?;
    let found = follower.run().ok().or_else(|| starting_null(follower));
    // New exits of lookups that can fail now jump to the label as well, or release by themselves.
    let new_exit = |lookup: &Lookup| matches!(lookup.failure, Failure::Exit(_));
    found.filter(|it| it.held.is_empty() && !home.lookups.iter().any(new_exit))
}

/// The slots of all statements in front of the last label.
fn slots_before_label(scene: &Scene<'_>) -> Option<BTreeSet<Slot>> {
    let labels = scene.tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Label { body, .. } => scene.stmt_span(body),
        _ => None,
    });
    let last = labels.map(|span| span.start()).max()?;
    let stmts = (0u32..).zip(&scene.tree.stmts).map(|(at, _)| StmtId(at));
    let before = stmts.filter(|&stmt| {
        let span = scene.stmt_span(stmt);
        span.is_some_and(|span| span.start() < last)
    });
    let slots = before.flat_map(|stmt| [Slot::Before(stmt), Slot::After(stmt), Slot::Else(stmt)]);
    Some(slots.collect())
}

/// With a variable that is `NULL` from its declaration on, where it holds nothing now.
fn starting_null(follower: &mut Follower<'_, '_>) -> Option<Decisions> {
    let local = follower.home?;
    follower.scene.undefined_at_declaration(local)?;
    follower.starts_null = true;
    meeting(follower).ok()
}
