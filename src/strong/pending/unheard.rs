//! Callers that do not notice that a function has failed.
//!
//! ```c
//! v = lookup(dict, key);                        /* NULL with an exception, */
//! if (v == NULL)
//!     v = PyLong_FromLong(0);                   /* which means "not there" to this one: */
//! return v;                                     /* a result with an exception */
//!
//! ctx = find(table, current_id());              /* nor does this one ask what 0 means */
//! ```

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::missed::{Missed, NULL, Step, Tells, tells};
use crate::ast::{ExprId, Function};
use crate::cfg::Terminator;
use crate::program::{CallSite, is_namesake};
use crate::rule::{PackageCx, Told};
use crate::source::FileId;
use crate::strong::exits::branch::branches;
use crate::strong::exits::error_value::ErrorValue;
use crate::strong::scene::{Scene, graph};

/// A call whose function does not notice a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) struct Unheard {
    pub site: CallSite,
    /// It comes back as if nothing had happened; else that is not known.
    pub is_sure: bool,
}

/// A call of `function`, or of one that tells of its failure in turn, whose function does not say so
/// where `function`, with its translation unit, returns `error` with an exception; one of which that is
/// sure, if there is any.
pub(in crate::strong) fn unheard(
    cx: &PackageCx<'_>,
    function: (&Function, FileId),
    error: i64,
) -> Option<Unheard> {
    let mut seen = BTreeSet::new();
    unheard_of(cx, function, error, &mut seen)
}

fn unheard_of<'a>(
    cx: &'a PackageCx<'a>,
    (function, unit): (&'a Function, FileId),
    error: i64,
    seen: &mut BTreeSet<(&'a str, i64)>,
) -> Option<Unheard> {
    if !seen.insert((&function.name, error)) {
        return None;
    }
    let sites = cx.calls_to(&function.name);
    let by_caller = sites.chunk_by(|one, other| one.item == other.item);
    let meant = by_caller.filter(|sites| !is_namesake(cx.program, sites[0], &function.name, unit));
    first_sure(meant.map(|sites| unheard_by(cx, sites, error, seen)))
}

/// The first of which it is sure, else the first.
fn first_sure(found: impl Iterator<Item = Option<Unheard>>) -> Option<Unheard> {
    let mut unsure = None;
    for found in found {
        if found.is_some_and(|it| it.is_sure) {
            return found;
        }
        unsure = unsure.or(found);
    }
    unsure
}

/// The same for `sites`, the calls that one function makes: what is asked of it is found once for all
/// of them.
fn unheard_by<'a>(
    cx: &'a PackageCx<'a>,
    sites: &'a [CallSite],
    error: i64,
    seen: &mut BTreeSet<(&'a str, i64)>,
) -> Option<Unheard> {
    let item = sites.first()?.item;
    let caller = cx.function(item)?;
    let cfg = LazyCell::new(|| graph(caller));
    let telling = LazyCell::new(|| {
        let scene = Scene::new(cx, item, caller, &cfg)?;
        let own = ErrorValue::of(&scene, &branches(&scene));
        Some((scene, own))
    });
    first_sure(sites.iter().map(|&site| {
        let told = cx.told(site, error, || {
            let (scene, own) = telling.as_ref().ok_or(false)?;
            told(scene, *own, site.expr, error)
        });
        match told {
            Ok(told) => {
                let caller = (caller, cx.item(item).unit);
                let mut told = told.into_iter();
                told.find_map(|error| unheard_of(cx, caller, error, seen))
            }
            Err(is_sure) => Some(Unheard { site, is_sure }),
        }
    }))
}

/// How the function of `scene`, whose error is `own`, tells in turn that `call` has failed.
fn told(scene: &Scene<'_>, own: ErrorValue, call: ExprId, error: i64) -> Told {
    let missed = Missed::new(scene, call, error).ok_or(false)?;
    let mut told = BTreeSet::new();
    let mut all = Tells::Yes;
    let solved = missed.visit(|step, state| {
        let (end, value) = match step {
            Step::End(end @ Terminator::Return(value, _)) => (end, value),
            // It reads through the `NULL`, without a test.
            Step::Instr(instr) if error == NULL && missed.reads(instr, state) => {
                all = all.max(Tells::Unknown);
                return;
            }
            Step::Instr(_) | Step::End(_) => return,
        };
        if state.shown.is_none() {
            return;
        }
        if value.as_ref().is_some_and(|it| missed.gives(state, it)) {
            told.insert(error);
        } else {
            all = all.max(tells(scene, own, end, state));
            told.extend(own.as_number().filter(|_| !scene.function.ret.is_void()));
        }
    });
    solved.ok_or(false)?;
    match all {
        Tells::Yes => Ok(told),
        Tells::Unknown => Err(false),
        Tells::No => Err(true),
    }
}
