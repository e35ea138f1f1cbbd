//! UG402: memory that goes back to another allocator than it came from.

use crate::declare_rule;
use crate::memory::{Family, Member, PYTHON_ALLOCATORS};
use crate::rule::{Finding, Outcome, PackageCx};

use super::note;

declare_rule! {
    /// ## What it does
    /// Finds memory that one family of functions allocates and another resizes or releases:
    /// `PyMem_Malloc` and `free`, `malloc` and `PyMem_Free`, `PyObject_Malloc` and `PyMem_Free`.
    ///
    /// ## Why
    /// Each family has its own heap. Memory that is released to the wrong heap corrupts both; debug
    /// builds of Python stop with "bad ID: Allocated using API". Some mixtures happen to work with the
    /// GIL, because `PyMem_` and `PyObject_` share an allocator there. On the free-threaded build they
    /// do not.
    ///
    /// ## Example
    /// ```c
    /// char *text = PyMem_Malloc(size);
    /// ...
    /// free(text);                     /* PyMem_Free(text) */
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: only the author knows which of the two functions was meant. A finding names
    /// both.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The same release may also get memory of the right kind, or a pointer from code that is not analysed | no finding | `free(p);  /* p is from malloc, or from PyMem_Malloc */` | Use one allocator for each pointer. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/memory.html#allocator-domains>
    pub static MISMATCHED_ALLOCATOR {
        code: "UG402",
        name: "mismatched-allocator",
        summary: "memory is released by another family of functions than allocated it",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: PYTHON_ALLOCATORS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if PYTHON_ALLOCATORS
        .iter()
        .all(|name| cx.calls_to(name).is_empty())
    {
        return;
    }
    for family in cx.memory() {
        let wrong = family.pairs.iter().filter(|pair| is_wrong(family, **pair));
        let mut named = Vec::new();
        for &(from, to) in wrong {
            // One finding a release, whatever number of allocations get there.
            if !named.contains(&to) {
                named.push(to);
                findings.push(finding(cx, &family.members[from], &family.members[to]));
            }
        }
    }
}

/// Whether the two cannot both be right: neither has a partner of its own domain, and all that
/// gets to the second is seen.
fn is_wrong(family: &Family, (from, to): (usize, usize)) -> bool {
    let domain = |at: usize| family.members[at].allocator.domain;
    let agree = |&&(a, b): &&(usize, usize)| domain(a) == domain(b);
    let has_partner = family
        .pairs
        .iter()
        .filter(agree)
        .any(|&(a, b)| a == from || b == to);
    domain(from) != domain(to) && !has_partner && !family.members[to].comes
}

fn finding(cx: &PackageCx<'_>, from: &Member, to: &Member) -> Finding {
    let (gives, takes) = (from.allocator, to.allocator);
    Finding {
        rule: &MISMATCHED_ALLOCATOR,
        file: to.place.0,
        span: to.place.1,
        function: cx.function(to.call.item).map(|f| f.name.clone()),
        api: Some(takes.name),
        message: format!(
            "`{}` gets memory that `{}` allocated; the two belong to different allocators",
            takes.name, gives.name
        ),
        notes: vec![note(from)],
        outcome: Outcome::Manual(format!(
            "release it with `{}`, or allocate it with the family of `{}`",
            gives.domain.release(),
            takes.name
        )),
    }
}
