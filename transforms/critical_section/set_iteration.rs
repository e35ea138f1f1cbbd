//! UG303: iterations over sets with private functions.

use crate::declare_rule;
use crate::program::CallSite;
use crate::provenance::Verdict;
use crate::rule::{Finding, Outcome, PackageCx};

declare_rule! {
    /// ## What it does
    /// Finds iterations with the private functions `_PySet_NextEntry` and `_PySet_Next` over a set
    /// that other threads can reach.
    ///
    /// ## Why
    /// These functions take no lock, and they return a borrowed key. On the free-threaded build, another thread may
    /// change the set between two calls, or free the key.
    ///
    /// ## Example
    /// ```c
    /// while (_PySet_NextEntry(set, &pos, &key, &hash))
    ///     total += hash;
    /// ```
    ///
    /// ## Confidence
    /// There is no fix. Use the public functions `PyObject_GetIter` and `PyIter_Next`: the iteration then
    /// fails if the set changes. A critical section around the loop works with the private functions, but
    /// newer Pythons no longer have them.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The loop already holds a critical section on the set | no finding | `Py_BEGIN_CRITICAL_SECTION(set);` | |
    pub static UNLOCKED_SET_ITERATION {
        code: "UG303",
        name: "unlocked-set-iteration",
        summary: "iteration with private functions over a set that other threads can change",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: NAMES,
        check: check,
    }
}

const NAMES: &[&str] = &["_PySet_NextEntry", "_PySet_Next"];

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let sites = |name| cx.calls_to(name).iter().map(move |&site| (name, site));
    let found = NAMES.iter().flat_map(|&name| sites(name));
    let mut found: Vec<Finding> = found
        .filter(|(_, site)| !cx.item(site.item).needs_gil)
        .filter_map(|(name, site)| finding(cx, name, site))
        .collect();
    // Variants of a function for other configurations say the same again.
    found.sort_by_key(|finding| (finding.file, finding.span));
    found.dedup_by_key(|finding| (finding.file, finding.span));
    findings.extend(found);
}

fn finding(cx: &PackageCx<'_>, name: &'static str, site: CallSite) -> Option<Finding> {
    let (file, span) = cx.place(site.item, site.expr)?.written_at();
    let outcome = match cx.provenance(site, 0) {
        Verdict::Safe(proof) => Outcome::Safe(proof.sentence),
        Verdict::Shared(_) => Outcome::Manual(
            "iterate with `PyObject_GetIter` and `PyIter_Next`, or over a copy made with \
             `PyFrozenSet_New`"
                .to_owned(),
        ),
    };
    Some(Finding {
        rule: &UNLOCKED_SET_ITERATION,
        file,
        span,
        function: cx.function(site.item).map(|function| function.name.clone()),
        api: Some(name),
        message: format!(
            "`{name}` iterates over a set without a lock; another thread may change the set \
             meanwhile"
        ),
        notes: Vec::new(),
        outcome,
    })
}
