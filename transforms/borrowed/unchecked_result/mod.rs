//! UG109: the result of a call that gives a strong reference is used although there may be none.

mod walk;

use crate::ast::{ExprId, Function};
use crate::capi::{self, Form, Replacement};
use crate::cfg;
use crate::declare_rule;
use crate::provenance::Verdict;
use crate::rule::{CallSite, Finding, Note, Outcome, PackageCx};

/// The strong functions of `capi::REPLACEMENTS` that give nothing once another thread has changed
/// what they look into.
const TRIGGERS: &[&str] = &[
    "PyDict_GetItemRef",
    "PyDict_GetItemStringRef",
    "PyList_GetItemRef",
    "PyWeakref_GetRef",
];

declare_rule! {
    /// ## What it does
    /// Finds results of `PyList_GetItemRef`, `PyDict_GetItemRef`, `PyDict_GetItemStringRef` and
    /// `PyWeakref_GetRef` that are used, on some path, although neither the result nor the status
    /// was tested.
    ///
    /// ## Why is this bad?
    /// These calls give `NULL` where the list got shorter, the key is gone or the referent is dead.
    /// Another thread can bring that about at any time, also right after a test of the size or of
    /// the key. `Py_DECREF` and the macros that read an object crash on `NULL`.
    ///
    /// ## Example
    /// ```c
    /// for (i = 0; i < PyList_Size(list); i++) {
    ///     item = PyList_GetItemRef(list, i);
    ///     if (!PyBytes_Check(item)) {
    ///         Py_DECREF(item);
    ///         return NULL;
    ///     }
    /// ```
    /// Use instead:
    /// ```c
    /// for (i = 0; i < PyList_Size(list); i++) {
    ///     item = PyList_GetItemRef(list, i);
    ///     if (item == NULL)
    ///         return NULL;
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: how the function leaves there is for the author to say.
    ///
    /// ## Declines
    /// A container that no other thread can reach is not reported, nor code that runs while a
    /// module is initialised.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_GetItemRef>
    /// - <https://docs.python.org/3/c-api/dict.html#c.PyDict_GetItemRef>
    /// - <https://docs.python.org/3/c-api/weakref.html#c.PyWeakref_GetRef>
    pub static UNCHECKED_RESULT {
        code: "UG109",
        name: "unchecked-strong-reference",
        summary: "the result of a call that gives a strong reference is used without a test for NULL",
        since: "0.1.0",
        best: None,
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for name in TRIGGERS {
        let Some(row) = capi::replacement_by(name) else {
            continue;
        };
        let sites = cx.calls_to(name).iter();
        found.extend(sites.filter_map(|&site| finding(cx, row, site)));
    }
    // Variants of a function for other configurations say the same again.
    found.sort_by_key(|finding| (finding.file, finding.span));
    found.dedup_by_key(|finding| (finding.file, finding.span));
    findings.append(&mut found);
}

fn finding(cx: &PackageCx<'_>, row: &'static Replacement, site: CallSite) -> Option<Finding> {
    let function = cx.function(site.item)?;
    if cx.runs_at_init_only(&function.name) {
        return None;
    }
    let used = first_use(function, row, site.expr)?;
    // Nobody else can change a private container; a dead referent needs no other thread.
    let is_container = row.absent != capi::Absent::None;
    if is_container && matches!(cx.provenance(site, 0), Verdict::Safe(_)) {
        return None;
    }
    let (file, span) = cx.place(site.item, site.expr)?.written_at();
    let note = cx.place(site.item, used).map(|place| place.written_at());
    let note = note.map(|(file, span)| Note {
        file,
        span,
        text: "it is read here".to_owned(),
    });
    Some(Finding {
        rule: &UNCHECKED_RESULT,
        file,
        span,
        function: Some(function.name.clone()),
        api: Some(row.strong),
        message: format!(
            "`{}` may give `NULL`; the result is used without a test",
            row.strong
        ),
        notes: note.into_iter().collect(),
        outcome: Outcome::Manual(advice(row).to_owned()),
    })
}

fn first_use(function: &Function, row: &Replacement, call: ExprId) -> Option<ExprId> {
    let graph = cfg::build(function, &capi::never_returns);
    walk::first_use(&graph, &function.tree, row.form, call)
}

fn advice(row: &Replacement) -> &'static str {
    match row.form {
        Form::Return => "test the result for `NULL`, and leave with the exception that is set then",
        Form::Out { .. } => {
            "test the result of the call: 1 means that there is an object, 0 that there is none, \
             and -1 that an exception is set"
        }
    }
}

#[cfg(test)]
mod tests;
