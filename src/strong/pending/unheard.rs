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

use super::missed::Missed;
use crate::ast::Function;
use crate::cfg::Terminator;
use crate::dataflow;
use crate::program::CallSite;
use crate::rule::PackageCx;
use crate::strong::exits::branch::branches;
use crate::strong::exits::error_value::ErrorValue;
use crate::strong::scene::{Scene, graph};

/// A call of `function`, or of one that tells of its failure in turn, whose function comes back
/// without its own error where `function` returns `error` with an exception; and each call of which
/// that is not known.
pub(in crate::strong) fn unheard(
    cx: &PackageCx<'_>,
    function: &Function,
    error: i64,
) -> Option<CallSite> {
    let mut seen = BTreeSet::new();
    unheard_of(cx, function, error, &mut seen)
}

fn unheard_of<'a>(
    cx: &'a PackageCx<'a>,
    function: &'a Function,
    error: i64,
    seen: &mut BTreeSet<&'a str>,
) -> Option<CallSite> {
    if !seen.insert(&function.name) {
        return None;
    }
    let mut sites = cx.calls_to(&function.name).iter();
    sites.find_map(|&site| {
        let caller = cx.function(site.item)?;
        match answer(cx, caller, site, error) {
            Answer::Silent => Some(site),
            Answer::Caught => None,
            Answer::Told(error) => unheard_of(cx, caller, error, seen),
        }
    })
}

/// What a caller makes of the failure.
enum Answer {
    /// It comes back as if nothing had happened, or that is not known.
    Silent,
    /// Nothing of the exception is left where it comes back, or who gets it is not a caller in C.
    Caught,
    /// It comes back with its own error, which is this number.
    Told(i64),
}

fn answer(cx: &PackageCx<'_>, caller: &Function, site: CallSite, error: i64) -> Answer {
    let cfg = graph(caller);
    let Some(scene) = Scene::new(cx, site.item, caller, &cfg) else {
        return Answer::Silent;
    };
    let Some(missed) = Missed::new(&scene, site.expr, error) else {
        return Answer::Silent;
    };
    let Ok(solution) = dataflow::solve(&cfg, &missed) else {
        return Answer::Silent;
    };
    let own = ErrorValue::of(&scene, &branches(&scene));
    let mut is_told = false;
    for (id, block) in cfg.iter() {
        let Terminator::Return(..) = block.terminator else {
            continue;
        };
        let mut state = solution.input(id.index()).clone();
        missed.run(id, &mut state, |_, _| {});
        if super::missed::is_silent(&scene, own, &block.terminator, &state) {
            return Answer::Silent;
        }
        is_told |= state.shown.is_some();
    }
    match own {
        _ if !is_told || caller.ret.is_void() => Answer::Caught,
        ErrorValue::Null => Answer::Told(0),
        ErrorValue::Number(number) => Answer::Told(number),
        ErrorValue::Named(_) => Answer::Caught,
    }
}
