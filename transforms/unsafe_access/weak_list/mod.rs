//! UG706: a list of weak references is tested before it is cleared.

mod before;
mod shape;
mod tested;
mod whose;

#[cfg(test)]
mod tests;

use crate::ast::{ExprId, Function, LocalId, StmtId};
use crate::capi::CLEARS_WEAK_LIST;
use crate::declare_rule;
use crate::edit::{Confidence, Fix};
use crate::program::Types;
use crate::roles::WeakLists;
use crate::rule::{Finding, ItemId, Note, Outcome, PackageCx};

use super::{settle, told_at};

declare_rule! {
    /// ## What it does
    /// Finds tests of the field with the list of weak references before `PyObject_ClearWeakRefs`, and removes
    /// them.
    ///
    /// ## Why
    /// On the free-threaded build, another thread may release a weak reference to the object while the object
    /// is being destroyed, and write the field. The test reads the field without a lock and without an atomic
    /// operation. `PyObject_ClearWeakRefs` itself checks whether there is something to clear, on every Python,
    /// and does so safely.
    ///
    /// ## Example
    /// ```c
    /// if (self->weakreflist != NULL)
    ///     PyObject_ClearWeakRefs((PyObject *)self);
    /// ```
    /// becomes
    /// ```c
    /// PyObject_ClearWeakRefs((PyObject *)self);
    /// ```
    ///
    /// ## Confidence
    /// Safe if all of this holds:
    ///
    /// - The function is the `tp_dealloc` of types whose tables name this field (`tp_weaklistoffset`, or the
    ///   member `__weaklistoffset__` with Python 3.9 or newer), and nothing else calls it.
    /// - Nothing before the test can take a reference to the object.
    ///
    /// Otherwise review: `PyObject_ClearWeakRefs` raises `SystemError` for an object that is alive, or whose
    /// type has no list. Review also if the package has code for PyPy, which never sets the field: the call is
    /// new there.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The condition tests more than the list, the `if` has or follows an `else`, or it guards other statements | manual | `if (self->weakreflist != NULL && self->open)` | Test the list in an `if` of its own. |
    /// | A macro makes the test or the call, a directive stands between them, or the condition has a comment | manual | `#define HAS_WEAK(o) ((o)->weakreflist != NULL)` | Remove the test by hand. |
    /// | Python calls the function, or a caller of it, as a method or in another slot than `tp_dealloc`: the object may be alive, and its list must then not be cleared | manual | `{Py_tp_clear, thing_clear},` | Clear the list in `tp_dealloc` only. |
    /// | A type inherits its list through `tp_base`, code sets `tp_weaklistoffset`, or a call before the test runs Python code or is not known | review | `type->tp_weaklistoffset = offset;` | Confirm that the list is the object's own. |
    /// | A field without `weak` in its name that no table names | not seen | `if (self->refs != NULL)` | Remove the test by hand. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/weakref.html#c.PyObject_ClearWeakRefs>
    /// - <https://github.com/python/cpython/issues/135607>
    pub static WEAK_REFERENCE_LIST_TEST {
        code: "UG706",
        name: "weak-reference-list-test",
        summary: "a list of weak references is tested without a lock before it is cleared",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: CLEARS_WEAK_LIST,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let sites = CLEARS_WEAK_LIST.iter().flat_map(|name| cx.calls_to(name));
    let sites: Vec<_> = sites.copied().collect();
    if sites.is_empty() {
        return;
    }
    let types = cx.types();
    let lists = WeakLists::new(cx.program, types);
    let mut found = Vec::new();
    for site in sites {
        if let Some(function) = cx.function(site.item) {
            let look = Look {
                cx,
                types,
                lists: &lists,
                item: site.item,
                function,
            };
            found.extend(look.finding(site.expr));
        }
    }
    // What holds in one configuration of a function only, or for one use of a macro, does not hold.
    found.sort_by_key(|(rank, _)| *rank);
    let found = found.into_iter().map(|(_, finding)| finding).collect();
    settle(cx, found, findings);
}

/// What a finding comes to, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The call itself is wrong.
    Living,
    Manual,
    Review,
    Safe,
}

/// The function that is looked at.
struct Look<'a> {
    cx: &'a PackageCx<'a>,
    types: &'a Types<'a>,
    lists: &'a WeakLists,
    item: ItemId,
    function: &'a Function,
}

/// A test of a list, and the call that clears it.
struct Tested {
    /// The `if`.
    test: StmtId,
    cond: ExprId,
    /// The variable whose object has the list.
    object: LocalId,
    /// The struct with the field, if it is known, and the field.
    owner: Option<String>,
    field: Box<str>,
    call: ExprId,
}

impl Look<'_> {
    fn finding(&self, call: ExprId) -> Option<(Rank, Finding)> {
        let tested = self.tested(call)?;
        let (file, span) = told_at(self.cx, self.item, tested.cond)?;
        let mut notes = Vec::new();
        let (rank, outcome) = match self.called_for_living() {
            Some(caller) => (Rank::Living, Outcome::Manual(not_for_living(caller))),
            None => match self.fix(&tested, &mut notes) {
                Ok(fix) if fix.confidence == Confidence::Safe => (Rank::Safe, Outcome::Fix(fix)),
                Ok(fix) => (Rank::Review, Outcome::Fix(fix)),
                Err(why) => (Rank::Manual, Outcome::Manual(why.to_owned())),
            },
        };
        let finding = Finding {
            rule: &WEAK_REFERENCE_LIST_TEST,
            file,
            span,
            function: Some(self.function.name.clone()),
            api: Some(CLEARS_WEAK_LIST[0]),
            message: format!(
                "`{}` is read without a lock while other threads may change it",
                tested.field
            ),
            notes,
            outcome,
        };
        Some((rank, finding))
    }

    fn fix(&self, tested: &Tested, notes: &mut Vec<Note>) -> Result<Fix, &'static str> {
        let mut fix = self.without_test(tested)?;
        let counting = self.may_count(tested);
        for doubt in self.doubts(tested, counting.is_some()) {
            fix.assume(doubt);
        }
        let told = "this may take a reference to the object: its code is not known";
        notes.extend(counting.and_then(|range| self.note(range, told)));
        Ok(fix)
    }
}

fn not_for_living(caller: &str) -> String {
    format!(
        "clear the list only in `tp_dealloc`, and without a test (`{caller}` also runs for objects \
         that are alive, for which the call raises `SystemError`)"
    )
}
