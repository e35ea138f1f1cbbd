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

use std::collections::BTreeSet;

use super::missed::{Missed, NULL, Step, Tells, tells};
use crate::ast::Function;
use crate::cfg::Terminator;
use crate::program::{CallSite, is_namesake};
use crate::rule::PackageCx;
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
    let mut unsure = None;
    for &site in cx.calls_to(&function.name) {
        let Some(caller) = cx.function(site.item) else {
            continue;
        };
        if is_namesake(cx.program, site, &function.name, unit) {
            continue;
        }
        let found = match told(cx, caller, site, error) {
            Ok(told) => {
                let mut told = told.into_iter();
                let caller = (caller, cx.item(site.item).unit);
                told.find_map(|error| unheard_of(cx, caller, error, seen))
            }
            Err(is_sure) => Some(Unheard { site, is_sure }),
        };
        if found.is_some_and(|it| it.is_sure) {
            return found;
        }
        unsure = unsure.or(found);
    }
    unsure
}

/// The numbers by which `caller` tells of the failure in turn, none where it deals with that.
///
/// # Errors
/// It comes back as if nothing had happened, which may be sure or not.
fn told(
    cx: &PackageCx<'_>,
    caller: &Function,
    site: CallSite,
    error: i64,
) -> Result<BTreeSet<i64>, bool> {
    let cfg = graph(caller);
    let scene = Scene::new(cx, site.item, caller, &cfg).ok_or(false)?;
    let missed = Missed::new(&scene, site.expr, error).ok_or(false)?;
    let own = ErrorValue::of(&scene, &branches(&scene));
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
            all = all.max(tells(&scene, own, end, state));
            told.extend(own.as_number().filter(|_| !caller.ret.is_void()));
        }
    });
    solved.ok_or(false)?;
    match all {
        Tells::Yes => Ok(told),
        Tells::Unknown => Err(false),
        Tells::No => Err(true),
    }
}
