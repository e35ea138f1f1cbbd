//! UG403: Python objects outside of the heap of the objects.

use crate::declare_rule;
use crate::memory::{Act, Domain, INITIALISERS, Member};
use crate::rule::{Finding, Outcome, PackageCx};

declare_rule! {
    /// ## What it does
    /// Finds memory from `malloc` or the `PyMem_` functions that `PyObject_Init` or
    /// `PyObject_InitVar` turns into a Python object.
    ///
    /// ## Why
    /// The free-threaded build finds objects by walking the heap that the `PyObject_` functions
    /// allocate from, and delays the reuse of its memory while other threads may still read it.
    /// Neither is true for an object in other memory. In addition, the `tp_free` that its type inherits
    /// returns the memory to the wrong heap.
    ///
    /// ## Example
    /// ```c
    /// Thing *thing = PyMem_Malloc(sizeof(Thing));
    /// PyObject_Init((PyObject *)thing, &Thing_Type);
    /// ```
    /// Use instead:
    /// ```c
    /// Thing *thing = PyObject_New(Thing, &Thing_Type);
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the release, often in `tp_dealloc`, must change together with the allocation.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#memory-allocation-apis>
    /// - <https://docs.python.org/3/c-api/allocation.html>
    pub static OBJECT_OUTSIDE_OBJECT_DOMAIN {
        code: "UG403",
        name: "object-outside-object-domain",
        summary: "a Python object is made in memory of another allocator",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: INITIALISERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if INITIALISERS.iter().all(|name| cx.calls_to(name).is_empty()) {
        return;
    }
    let members = cx.memory().iter().flat_map(|family| &family.members);
    findings.extend(members.filter_map(|member| finding(cx, member)));
}

fn finding(cx: &PackageCx<'_>, member: &Member) -> Option<Finding> {
    let by = member.made_by.as_ref()?;
    let allocator = member.allocator;
    if allocator.domain == Domain::Object || allocator.act == Act::Release {
        return None;
    }
    Some(Finding {
        rule: &OBJECT_OUTSIDE_OBJECT_DOMAIN,
        file: member.place.0,
        span: member.place.1,
        function: cx.function(member.call.item).map(|f| f.name.clone()),
        api: Some(allocator.name),
        message: format!(
            "`{}` allocates memory that `{by}` turns into a Python object; the free-threaded build \
             needs the object allocator for it",
            allocator.name
        ),
        notes: Vec::new(),
        outcome: Outcome::Manual(
            "allocate it with `PyObject_New`, `PyObject_GC_New` or `tp_alloc`, and release it \
             with `PyObject_Free`, `PyObject_GC_Del` or `tp_free`"
                .to_owned(),
        ),
    })
}
