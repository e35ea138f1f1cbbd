//! UG503: static variables that are written while other threads may use them.

use std::collections::BTreeMap;

use super::atomic::{Atomics, needs_lock};
use super::finding;
use crate::ast::Function;
use crate::declare_rule;
use crate::edit::Confidence;
use crate::program::ItemId;
use crate::rule::{Finding, Outcome, PackageCx};
use crate::state::{Kind, Variable, inventory};

declare_rule! {
    /// ## What it does
    /// Finds static variables that functions write without a lock after import:
    /// counters, options, hooks, free lists, tables, static types, replaced references. A finding names
    /// the variables and the places that write them.
    ///
    /// ## Why
    /// Without the GIL, two threads may write at the same time. A count gets lost, an entry of a free list is
    /// handed out twice, or a reference is released while another thread uses it.
    ///
    /// ## Example
    /// ```c
    /// static int strict;
    /// static unsigned long calls;
    ///
    /// strict = value;
    /// calls++;
    /// ```
    /// becomes
    /// ```c
    /// static PYAPI_ATOMIC(int) strict;
    /// static PYAPI_ATOMIC(unsigned long) calls;
    ///
    /// strict = value;
    /// PYAPI_ATOMIC_ADD(calls, 1);
    /// ```
    /// The compatibility header defines these macros for every Python.
    ///
    /// ## Confidence
    /// Always `review`: only the authors know whether the number must agree with other data. The fix names
    /// what else to confirm. For pointers, tables, structs and flags there is no fix; the finding names the
    /// repairs that fit.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The variable is not a static integer in a `.c` file with `Python.h`, or is wider than a pointer | manual | `static double total;` | Use a lock, or one of the repairs that the finding names. |
    /// | It is `volatile`, or some of its writes hold a lock | manual | `static volatile int stop;` | Hold the lock at every use. |
    /// | One call tests it and then changes it, sets it to a value computed from it, or counts it and reads it. These need a lock | manual | `if (depth < 10) depth++;` | Hold a lock around both. |
    /// | It is set together with two others, or with something else | manual | `width = w; height = h; depth = d;` | Guard all of them with one lock. |
    /// | Its address is taken, `sizeof` is applied to it, it is an array index, or the value of `n++` is used | manual | `return next_id++;` | Use a lock, or an atomic function of your own. |
    /// | A macro declares or counts it, or code with its name could not be analysed | manual | `#define COUNT() calls++` | Write the macro out. |
    ///
    /// ## References
    /// - [Shared state](../topics/shared-state.md): what is not reported, choosing a repair
    pub static SHARED_STATIC_VARIABLE {
        code: "UG503",
        name: "shared-static-variable",
        summary: "a static variable is written while other threads may use it",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Review),
        triggers: &[],
        check: check,
    }
}

/// From how many variables on a function gets one finding for all of them.
const MANY: usize = 4;

/// How many of these the finding names.
const NAMED: usize = 3;

/// What to do with a number of which an atomic type keeps too little.
const LOCK: &str = "hold a `PyMutex` from the first of these uses to the last, or keep one \
                    variable for each thread";

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let rule = &SHARED_STATIC_VARIABLE;
    let inventory = inventory(cx);
    let late = inventory
        .iter()
        .filter(|variable| !variable.late.is_empty());
    let mut scratch: BTreeMap<ItemId, Vec<&Variable>> = BTreeMap::new();
    let mut others = Vec::new();
    for (variable, kind) in late.map(|variable| (variable, Kind::of(cx, variable))) {
        if variable.local.is_some() && is_plain(&kind) {
            scratch.entry(variable.item).or_default().push(variable);
        } else {
            others.push((variable, kind));
        }
    }
    for (item, variables) in scratch {
        match cx.function(item).filter(|_| variables.len() >= MANY) {
            Some(function) => findings.push(together(cx, function, &variables)),
            None => others.extend(variables.iter().map(|&it| (it, Kind::of(cx, it)))),
        }
    }
    let atomics = Atomics::new(cx, &inventory);
    for (variable, kind) in others {
        if let Some((message, advice)) = describe(&kind, variable) {
            let outcome = match kind {
                Kind::Counter | Kind::Option => match atomics.fix(variable) {
                    Ok(fix) => Outcome::Fix(fix),
                    Err(why) if needs_lock(why) => {
                        Outcome::Manual(format!("{LOCK} (no automatic fix, because {why})"))
                    }
                    Err(why) => {
                        Outcome::Manual(format!("{advice} (no automatic fix, because {why})"))
                    }
                },
                _ => Outcome::Manual(advice.to_owned()),
            };
            findings.push(finding(cx, rule, variable, message, outcome));
        }
    }
}

/// Numbers and structs, which no reference depends on.
fn is_plain(kind: &Kind) -> bool {
    matches!(kind, Kind::Option | Kind::Counter | Kind::Struct)
}

/// One finding for a function that keeps all of its variables static, as translated Fortran does.
fn together(cx: &PackageCx<'_>, function: &Function, variables: &[&Variable]) -> Finding {
    let names = variables.iter().take(NAMED);
    let names: Vec<_> = names
        .map(|variable| format!("`{}`", variable.name))
        .collect();
    let message = format!(
        "all threads write {1} static variables of `{0}` without a lock ({2} and {3} more); values \
         get lost or mixed",
        function.name,
        variables.len(),
        names.join(", "),
        variables.len() - NAMED
    );
    let advice = "remove `static` if no value has to last from one call to the next, or hold a \
                  `PyMutex` around each call of the function";
    let outcome = Outcome::Manual(advice.to_owned());
    finding(cx, &SHARED_STATIC_VARIABLE, variables[0], message, outcome)
}

/// What is wrong with a variable of this kind, and what can be done; `None` if another rule says.
fn describe(kind: &Kind, variable: &Variable) -> Option<(String, &'static str)> {
    let name = &variable.name;
    Some(match kind {
        Kind::Cache(_) | Kind::Buffer => return None,
        Kind::Once => (
            format!(
                "`{name}` says whether something is set up; two threads may set it up at the same \
                 time, or one may use it half done"
            ),
            "set it up during module initialisation, or hold a `PyMutex` from the test to the end \
             of the setup",
        ),
        Kind::Counter => (
            format!("all threads change the counter `{name}` without a lock; counts get lost"),
            "make it atomic, keep one counter for each thread, or hold a `PyMutex` around each use",
        ),
        Kind::Type => (
            format!(
                "the static type `{name}` is changed after import; other threads may already use \
                 it"
            ),
            "call `PyType_Ready` and fill the slots during module initialisation",
        ),
        Kind::Pointer => (
            format!(
                "the pointer `{name}` is replaced without a lock; another thread may still use \
                 what it points to"
            ),
            "hold a `PyMutex` where the pointer is replaced, and where it is read until the reader \
             has a strong reference or a copy; if it is not meant for all interpreters, move it to \
             the module state",
        ),
        Kind::Hook => (
            format!(
                "the function pointer `{name}` is replaced without a lock; other threads may call \
                 it at the same time"
            ),
            "make it atomic; if other data belongs to the function, copy both under a `PyMutex` \
             and release that before the call",
        ),
        Kind::Option => (
            format!("`{name}` is set without a lock; other threads may read it at the same time"),
            "make it atomic, keep one variable for each thread, or hold a `PyMutex` around each \
             use",
        ),
        Kind::Table => (
            format!(
                "all threads change entries of `{name}` without a lock; changes get lost or mixed"
            ),
            "hold a `PyMutex` around each use; for a free list, keep one for each thread, or \
             compile it only if `Py_GIL_DISABLED` is not defined",
        ),
        Kind::Struct => (
            format!(
                "all threads change the struct `{name}` without a lock; others may read it half \
                 changed"
            ),
            "keep one for each thread, or move it to the module state and hold a `PyMutex` around \
             each use",
        ),
    })
}
