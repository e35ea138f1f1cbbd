//! UG501: static pointers that are filled on first use.

use super::site::Site;
use super::{at_init, finding, guard, publish};
use crate::declare_rule;
use crate::edit::{Confidence, Edit, Fix};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::state::{Kind, Lazy, Variable, inventory};

declare_rule! {
    /// ## What it does
    /// Finds static pointers that a function fills if they are `NULL`: interned strings, imported modules, tables.
    ///
    /// ## Why
    /// Two threads may both find the pointer empty. Each makes a value, and callers that compare by identity
    /// see two objects. On processors with weak ordering, a thread may also see the pointer before
    /// the memory that it points to.
    ///
    /// ## Example
    /// ```c
    /// static PyObject *name = NULL;
    /// if (name == NULL) {
    ///     name = PyUnicode_InternFromString("name");
    ///     if (name == NULL)
    ///         return NULL;
    /// }
    /// ```
    /// becomes
    /// ```c
    /// static PyObject *name = NULL;
    /// static PyMutex name_mutex;
    /// PyMutex_Lock(&name_mutex);
    /// if (name == NULL) {
    ///     name = PyUnicode_InternFromString("name");
    /// }
    /// PyMutex_Unlock(&name_mutex);
    /// if (name == NULL)
    ///     return NULL;
    /// ```
    /// Code that may run Python code, such as an import, runs with the mutex released. A constant of
    /// literals may be filled when the module is made, without a mutex.
    ///
    /// ## Confidence
    /// `safe` if only functions that fill the variable use it, and if making the value runs no Python code,
    /// or only imports and attribute lookups.
    ///
    /// Otherwise `review`: two threads may make the value at the same time, or code under the mutex may call
    /// this function again, which then waits for itself.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The branch can be left after the value is made, or while other statics are half made | manual | `if (cache == NULL) { cache = make(); if (fill(cache) < 0) return NULL; }` | Fill a local variable, and store it last. |
    /// | The branch can be left in the middle, and stores a borrowed reference | manual | `if (type == NULL) { if (load() < 0) return NULL; type = PyDict_GetItem(d, k); }` | Store a new reference. |
    /// | The function returns early if the variable is filled, or one branch fills it in several ways | manual | `if (cache != NULL) return cache;` | Put what fills it into `if (cache == NULL) { … }`. |
    /// | The variable is declared in another file, or a macro makes the code | manual | `extern PyObject *cache;` | Fill it when the module is initialised. |
    ///
    /// ## References
    /// - [Shared state](../topics/shared-state.md): where the mutex is released
    pub static LAZY_STATIC_CACHE {
        code: "UG501",
        name: "lazy-static-cache",
        summary: "a static pointer is filled on first use without a lock",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: &[],
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    for variable in inventory(cx).iter().filter(|v| !v.late.is_empty()) {
        let Kind::Cache(lazies) = Kind::of(cx, variable) else {
            continue;
        };
        let message = format!(
            "`{}` is filled on first use; two threads may both fill it",
            variable.name
        );
        let outcome = match fix(cx, variable, &lazies) {
            Ok(fix) => Outcome::Fix(fix),
            Err(why) => Outcome::Manual(format!(
                "fill it during module initialisation, or make the value first and store it under \
                 a `PyMutex` if the variable is still empty (no automatic fix, because {why})"
            )),
        };
        findings.push(finding(cx, &LAZY_STATIC_CACHE, variable, message, outcome));
    }
}

/// The best of the repairs that the places allow, with the next one as its alternative.
fn fix(cx: &PackageCx<'_>, variable: &Variable, lazies: &[Lazy]) -> Result<Fix, &'static str> {
    let sites = Site::all(cx, variable, lazies)?;
    let mut forms = Vec::new();
    if let [site] = sites.as_slice() {
        forms.extend(at_init::fix(cx, variable, site));
    }
    match under_mutex(cx, variable, &sites) {
        Ok(more) => forms.extend(more),
        Err(why) if forms.is_empty() => return Err(why),
        Err(_) => {}
    }
    let mut best = forms.remove(0);
    best.alternatives = forms;
    Ok(best)
}

/// The repairs with a mutex, at least one: code that may run Python code runs with the mutex free
/// if that is possible.
fn under_mutex(
    cx: &PackageCx<'_>,
    variable: &Variable,
    sites: &[Site<'_>],
) -> Result<Vec<Fix>, &'static str> {
    let each = |make: fn(_, _, _) -> _| {
        let fixes = sites.iter().map(|site| make(cx, variable, site));
        fixes.collect::<Result<Vec<Fix>, _>>().map(together)
    };
    let guarded = each(guard::fix);
    let published = each(publish::fix);
    let waits = sites.iter().any(|site| guard::waits(cx, variable, site));
    match (guarded, published) {
        (Ok(guarded), Ok(published)) if waits => Ok(vec![published, guarded]),
        (Ok(fix), _) | (Err(_), Ok(fix)) => Ok(vec![fix]),
        (Err(_), Err(why)) => Err(why),
    }
}

/// One fix for all places that fill a variable: they share its mutex.
fn together(fixes: Vec<Fix>) -> Fix {
    let mut fixes = fixes.into_iter();
    let mut all = fixes.next().expect("a cache is filled somewhere");
    for fix in fixes {
        for assumption in &fix.assumptions {
            if !all.assumptions.contains(assumption) {
                all.assume(assumption.clone());
            }
        }
        all.edits.extend(fix.edits);
        all.needs.extend(fix.needs);
    }
    all.edits.sort_by_key(Edit::place);
    // Each declares the mutex.
    all.edits.dedup();
    all
}
