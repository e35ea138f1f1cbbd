//! UG109: the result of a call that gives a strong reference is used although there may be none.

mod asked;
mod walk;

use crate::ast::ExprId;
use crate::capi::{self, Form, Replacement};
use crate::cfg;
use crate::declare_rule;
use crate::provenance::Verdict;
use crate::rule::{CallSite, Finding, Note, Outcome, PackageCx};

use asked::Asked;
use walk::Mind;

/// The strong functions of `capi::REPLACEMENTS` that give nothing once another thread has changed
/// what they look into, and `capi::FINDERS`.
const TRIGGERS: &[&str] = &[
    "PyDict_GetItemRef",
    "PyDict_GetItemStringRef",
    "PyIter_Next",
    "PyList_GetItemRef",
    "PyMapping_GetItemString",
    "PyObject_GetAttr",
    "PyObject_GetAttrString",
    "PyObject_GetItem",
    "PySequence_GetItem",
    "PySequence_ITEM",
    "PySet_Pop",
    "PyWeakref_GetRef",
];

declare_rule! {
    /// ## What it does
    /// Finds results of `PyList_GetItemRef`, `PyDict_GetItemRef`, `PyDict_GetItemStringRef` and
    /// `PyWeakref_GetRef` that some path uses without a test of the result or the status. Results of
    /// `PySequence_GetItem`, `PyObject_GetItem`, `PyObject_GetAttr`, `PySet_Pop`, `PyIter_Next` and
    /// similar calls are reported only if the function relies on an earlier test: of the size
    /// (`PySequence_Size(o)`), the key (`PyMapping_HasKeyString(o, "a")`) or the attribute
    /// (`PyObject_HasAttrString(o, "a")`).
    ///
    /// ## Why
    /// These calls return `NULL` if the list has become shorter, the key was removed or the referent is
    /// dead. Another thread can cause that at any time, also right after a test of the size or the key.
    /// `Py_DECREF` and the macros that read an object crash on `NULL`.
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
    /// There is no fix: only the author knows how the function should leave at that point.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | No other thread can reach the container | no finding | `PyObject *mine = PyList_New(0);` | |
    /// | The code runs only while a module is initialised | no finding | `PyMODINIT_FUNC PyInit_m(void) { … }` | |
    /// | For `PySequence_GetItem` and similar calls: the function never tested before whether the item exists. Such a lookup can fail with the GIL as well | no finding | `item = PySequence_GetItem(o, 0); use(item);` | Test the result for `NULL`. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_GetItemRef>
    /// - <https://docs.python.org/3/c-api/dict.html#c.PyDict_GetItemRef>
    /// - <https://docs.python.org/3/c-api/weakref.html#c.PyWeakref_GetRef>
    pub static UNCHECKED_RESULT {
        code: "UG109",
        name: "unchecked-strong-reference",
        summary: "the result of a call that gives a strong reference is used without a test for NULL",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for &name in TRIGGERS {
        let sites = cx.calls_to(name).iter();
        found.extend(sites.filter_map(|&site| finding(cx, name, site)));
    }
    // Variants of a function for other configurations say the same again.
    found.sort_by_key(|finding| (finding.file, finding.span));
    found.dedup_by_key(|finding| (finding.file, finding.span));
    findings.append(&mut found);
}

fn finding(cx: &PackageCx<'_>, name: &'static str, site: CallSite) -> Option<Finding> {
    let function = cx.function(site.item)?;
    if cx.runs_at_init_only(&function.name) {
        return None;
    }
    let is_finder = capi::FINDERS.contains(&name);
    let row = capi::replacement_by(name).filter(|_| !is_finder);
    let asked = match row {
        Some(_) => Asked::nothing(site),
        None => Asked::before(cx, site)?,
    };
    let graph = cfg::build(function, &capi::never_returns);
    let question = asked.question(&graph, site.expr);
    if row.is_none() && question.is_none() {
        return None;
    }
    let (form, mind) = match row {
        Some(row) => (row.form, Mind::Crashes),
        None => (Form::Return, Mind::Unknown),
    };
    let used = walk::first_use(&graph, &function.tree, form, mind, site.expr)?;
    // Nobody else can change a private container; a dead referent needs no other thread.
    let is_container = row.is_none_or(|row| row.absent != capi::Absent::None);
    if is_container && matches!(cx.provenance(asked.container, 0), Verdict::Safe(_)) {
        return None;
    }
    let (file, span) = cx.place(site.item, site.expr)?.written_at();
    let told = |at: ExprId, text: &str| {
        let (file, span) = cx.place(site.item, at)?.written_at();
        let text = text.to_owned();
        Some(Note { file, span, text })
    };
    let question = question.and_then(|at| told(at, "this may no longer be true at this point"));
    let notes = question.into_iter().chain(told(used, "it is read here"));
    Some(Finding {
        rule: &UNCHECKED_RESULT,
        file,
        span,
        function: Some(function.name.clone()),
        api: Some(name),
        message: format!("`{name}` may return `NULL`; the result is used without a test"),
        notes: notes.collect(),
        outcome: Outcome::Manual(advice(row).to_owned()),
    })
}

fn advice(row: Option<&Replacement>) -> &'static str {
    match row.map(|row| row.form) {
        None => "test the result, and leave the function if it is `NULL`",
        Some(Form::Return) => {
            "test the result, and if it is `NULL`, leave the function with the exception that is \
             then set"
        }
        Some(Form::Out { .. }) => {
            "test the result of the call (1 means that the object was found, 0 that it was not, \
             and -1 that an exception is set)"
        }
    }
}

#[cfg(test)]
mod tests;
