//! UG401: buffers on the heap of the objects.

use crate::declare_rule;
use crate::edit::{Confidence, Fix, replacing};
use crate::memory::{Act, Domain, Family, Member, OBJECT_ALLOCATORS, in_mem_domain};
use crate::rule::{Finding, Outcome, PackageCx};

use super::note;

declare_rule! {
    /// ## What it does
    /// Finds memory that `PyObject_Malloc`, `PyObject_Calloc` or `PyObject_Realloc` allocates and that
    /// does not hold a Python object. The fix replaces these functions with `PyMem_Malloc` and its
    /// family. It changes every call that may allocate, resize or release the same memory, in all
    /// functions and files, in one step.
    ///
    /// ## Why
    /// The free-threaded build has a separate heap for Python objects. The garbage collector walks that
    /// heap, and other threads read from it without locks. Its memory must hold objects and nothing
    /// else.
    ///
    /// ## Example
    /// Before:
    ///
    ///     self->data = PyObject_Malloc(size);
    ///     ...
    ///     PyObject_Free(self->data);
    ///
    /// After:
    ///
    ///     self->data = PyMem_Malloc(size);
    ///     ...
    ///     PyMem_Free(self->data);
    ///
    /// ## Confidence
    /// Safe if every place that the pointer can reach is analysed: with the GIL, both families use the
    /// same allocator. Review if the pointer is passed to code outside the package.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A pointer of the family may be a Python object, or memory of another allocator | manual | `p = is_big ? malloc(n) : PyObject_Malloc(n);` | Use one allocator for each pointer. |
    /// | A call is in the body of a macro | manual | `#define NEW(n) PyObject_Malloc(n)` | Change the macro and the calls that release its memory together. |
    /// | No call is found that releases it | manual | `return PyObject_Malloc(n);` | Find the code that releases it, and change both. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#memory-allocation-apis>
    /// - <https://docs.python.org/3/c-api/memory.html#allocator-domains>
    pub static BUFFER_IN_OBJECT_DOMAIN {
        code: "UG401",
        name: "buffer-in-object-domain",
        summary: "a buffer is allocated on the heap of Python objects",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: OBJECT_ALLOCATORS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if OBJECT_ALLOCATORS
        .iter()
        .all(|name| cx.calls_to(name).is_empty())
    {
        return;
    }
    findings.extend(cx.memory().iter().filter_map(|family| finding(cx, family)));
}

fn finding(cx: &PackageCx<'_>, family: &Family) -> Option<Finding> {
    let gives = |member: &&Member| {
        member.allocator.act != Act::Release && member.allocator.domain == Domain::Object
    };
    let first = family.members.iter().find(gives)?;
    if family.makes_objects {
        return None;
    }
    let others = family.members.iter();
    let notes = others
        .filter(|member| member.place != first.place)
        .map(note);
    let name = first.allocator.name;
    Some(Finding {
        rule: &BUFFER_IN_OBJECT_DOMAIN,
        file: first.place.0,
        span: first.place.1,
        function: cx.function(first.call.item).map(|f| f.name.clone()),
        api: Some(name),
        message: format!(
            "`{name}` allocates memory that does not hold a Python object; the free-threaded \
             build needs the object allocator for objects only"
        ),
        notes: notes.collect(),
        outcome: outcome(family),
    })
}

fn outcome(family: &Family) -> Outcome {
    let acts = [Act::Allocate, Act::Resize, Act::Release];
    if let Some(other) = family.domains(&acts).iter().find(|d| **d != Domain::Object) {
        return Outcome::Manual(format!(
            "allocate and release all of this memory with one family, `PyMem_Malloc` and \
             `PyMem_Free` (the same pointer may hold memory that `{}` releases)",
            other.release()
        ));
    }
    if family.takes_objects {
        return Outcome::Manual(
            "release the buffer with a separate call, and use the `PyMem_` functions for it (a \
             call that releases it also releases Python objects)"
                .to_owned(),
        );
    }
    let in_macro = family.members.iter().find_map(|m| m.from_macro.as_ref());
    if let Some(name) = in_macro {
        return Outcome::Manual(format!(
            "use the `PyMem_` functions in the macro `{name}` and at the other places together (a \
             call is in the macro)"
        ));
    }
    if family.domains(&[Act::Release, Act::Resize]).is_empty() {
        return Outcome::Manual(
            "change this call and the one that releases the memory to the `PyMem_` functions \
             together (no call was found that releases it)"
                .to_owned(),
        );
    }
    Outcome::Fix(fix(family))
}

fn fix(family: &Family) -> Fix {
    let members = family.members.iter().map(|member| member.allocator.name);
    let pairs = members.filter_map(|old| Some((old, in_mem_domain(old)?)));
    let mut fix = Fix::safe(replacing("allocate outside the object domain", pairs));
    for member in &family.members {
        if let Some(new) = in_mem_domain(member.allocator.name) {
            fix.replace(member.place.0, member.place.1, new);
        }
    }
    fix.edits.sort();
    for what in &family.leaves {
        fix.assume(format!("nothing else releases or resizes it ({what})"));
    }
    if family.leaves.is_empty() && family.members.iter().any(|member| member.comes) {
        fix.assume("pointers that come from other code were not allocated with `PyObject_Malloc`");
    }
    fix
}
