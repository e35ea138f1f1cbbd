//! UG505: functions of C with static state.

mod calls;
mod lent;
mod sequence;
mod systems;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, Function};
use crate::capi::{KeepsState, Lends, keeping_state, tells_windows, writes};
use crate::declare_rule;
use crate::edit::{Assumption, Confidence, Fix};
use crate::facts::{Claim, Fact, Subject};
use crate::program::CallSite;
use crate::rule::{Finding, ItemId, Note, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::state::{Meetings, Phase};

use calls::Calls;

declare_rule! {
    /// ## What it does
    /// Finds calls of C library functions that keep static state, or return a pointer to it:
    /// `strtok`, `localtime`, `getpwnam`, `rand`, `setlocale`, …
    ///
    /// ## Why
    /// Without the GIL, two threads may call it at the same time. One then reads what the other left.
    ///
    /// ## Example
    /// ```c
    /// for (word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
    /// ```
    /// becomes
    /// ```c
    /// char *saveptr = NULL;
    /// …
    /// for (word = strtok_r(line, " ", &saveptr); word != NULL; word = strtok_r(NULL, " ", &saveptr))
    /// ```
    ///
    /// ## Confidence
    /// There are fixes for `strtok`, `gmtime` and `localtime`. For all others, the finding names the function
    /// to call instead. A comment `ungil: thread-safe(rand)` says that the state does no harm.
    ///
    /// Safe if all of this holds:
    ///
    /// - For `strtok`, every sequence of calls begins and ends in one function.
    /// - For `gmtime`, its result does not leave the function.
    /// - The file is not compiled on Windows, and its headers declare the POSIX function.
    ///
    /// The fix of `localtime` is always for review: `localtime` reads `TZ` at each call, `localtime_r` perhaps
    /// only after `tzset`.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A sequence continues in another function, or a variable decides whether a call begins one | manual | `static char *next(void) { return strtok(NULL, " "); }` | Call `strtok_r`, and pass its pointer on. |
    /// | The result of `gmtime` or `localtime` is returned or stored | manual | `return gmtime(&t);` | Let the caller pass a `struct tm`. |
    /// | A macro makes the call, or another configuration has other calls | manual | `#define NEXT() strtok(NULL, ",")` | Write the call out where the macro is used. |
    /// | The call is in a `gmtime_r` of the package | manual | `struct tm *gmtime_r(const time_t *t, struct tm *out) { *out = *gmtime(t); … }` | Use the function of the system where it exists. |
    /// | The file may be compiled on Windows | review | `#include <stdlib.h>` and no header of POSIX | Confirm that no compiler for Windows builds the file. |
    /// | Static state of other libraries; a stream of `readdir` that threads share; calls through pointers | not seen | `lib_last_error();` | Look at these calls by hand. |
    ///
    /// ## References
    /// - [Shared state](../topics/shared-state.md): all conditions
    /// - <https://pubs.opengroup.org/onlinepubs/9699919799/functions/V2_chap02.html#tag_15_09_01>
    /// - <https://learn.microsoft.com/en-us/cpp/c-runtime-library/reference/strtok-s-strtok-s-l-wcstok-s-wcstok-s-l-mbstok-s-mbstok-s-l>
    pub static NON_REENTRANT_CALL {
        code: "UG505",
        name: "non-reentrant-call",
        summary: "a function of the C library is called whose static state all threads share",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: &[],
        check: check,
    }
}

/// The text of a function, which has several items where it has branches.
type Place = (FileId, u32);

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut meetings = None;
    let mut found: Vec<Finding> = Vec::new();
    for (name, row) in keeping_state() {
        let sites = cx.calls_to(name);
        let is_stated = || cx.program.facts.is_thread_safe(name);
        if sites.is_empty() || cx.program.has_function(name) || is_stated() {
            continue;
        }
        let meetings = meetings.get_or_insert_with(|| Meetings::new(cx));
        let mut by_function: BTreeMap<Place, BTreeMap<ItemId, Vec<ExprId>>> = BTreeMap::new();
        for site in sites.iter().filter(|site| races(cx, name, row, **site)) {
            let (file, span) = cx.item(site.item).place;
            let items = by_function.entry((file, span.start().0)).or_default();
            items.entry(site.item).or_default().push(site.expr);
        }
        for items in by_function.values() {
            let all = items.iter().filter_map(|(&item, exprs)| {
                let calls = Calls::new(cx, name, item, exprs)?;
                Some(calls)
            });
            let all: Vec<Calls<'_>> = all.collect();
            found.extend(finding(cx, (name, row), &all, meetings));
        }
    }
    // A function with several heads is one text for each of them.
    found.sort_by(|a, b| {
        let key = |it: &Finding| (it.file, it.span, it.function.clone(), it.fix().is_some());
        key(a).cmp(&key(b))
    });
    found.dedup_by(|b, a| (a.file, a.span, &a.function) == (b.file, b.span, &b.function));
    findings.append(&mut found);
}

/// Whether a call uses the static state, on a system where threads share it.
fn races(cx: &PackageCx<'_>, name: &str, row: &KeepsState, site: CallSite) -> bool {
    let Some(tree) = cx.tree(site.item) else {
        return false;
    };
    let (_, args) = cx.call(site);
    let is_null = |at: usize| args.get(at).is_some_and(|&arg| tree.is_null(arg));
    let Some(place) = cx.place(site.item, site.expr) else {
        return false;
    };
    let (file, span) = place.written_at();
    let index = &cx.program.index[file.index()];
    writes(name).is_some_and(|writes| writes.is_hidden(is_null))
        && !cx.program.place_needs_gil(&place)
        && !(row.is_threads_own_on_windows
            && index.is_only_with(cx.file(file), span.start(), tells_windows))
}

/// One finding for all calls in the text of one function.
fn finding(
    cx: &PackageCx<'_>,
    (name, row): (&'static str, &KeepsState),
    all: &[Calls<'_>],
    meetings: &Meetings<'_, '_>,
) -> Option<Finding> {
    let mut places: Vec<(FileId, ByteSpan)> = Vec::new();
    for calls in all {
        let (item, function) = (calls.item, calls.function);
        let is_late = |expr: &&ExprId| meetings.phase(item, function, **expr) == Phase::Late;
        let met = calls
            .exprs
            .iter()
            .filter(|_| meetings.is_met(item, function));
        let late = met.filter(is_late).filter_map(|&expr| cx.place(item, expr));
        places.extend(late.map(|place| place.written_at()));
    }
    places.sort_unstable();
    places.dedup();
    let (&(file, span), more) = places.split_first()?;
    let note = |&(file, span): &(FileId, ByteSpan)| Note {
        file,
        span,
        text: format!("`{name}` is also called here"),
    };
    let outcome = match fix(all, row) {
        Ok(fix) => Outcome::Fix(fix),
        Err(why) if why.is_empty() => Outcome::Manual(row.advice.to_owned()),
        Err(why) => Outcome::Manual(format!("{why}: {}", row.advice)),
    };
    Some(Finding {
        rule: &NON_REENTRANT_CALL,
        file,
        span,
        function: all.first().map(|calls| calls.function.name.clone()),
        api: Some(name),
        message: format!(
            "`{name}` keeps {} in static memory, which all threads share",
            row.keeps
        ),
        notes: more.iter().map(note).collect(),
        outcome,
    })
}

/// The calls of what takes the place of the function; else why not, nothing if nothing does.
fn fix(all: &[Calls<'_>], row: &KeepsState) -> Result<Fix, String> {
    let sibling = row.sibling.ok_or_else(String::new)?;
    let mut found: Option<Fix> = None;
    for calls in all {
        let mut fix = calls.renamed(sibling)?;
        let doubts = match sibling.lends() {
            Lends::Place => {
                let doubts = calls.sequence_doubts()?.into_iter();
                doubts.map(Assumption::from).collect()
            }
            Lends::Result => calls.result_doubts()?,
        };
        if let Some(claim) = sibling
            .same_if
            .map(|key| Claim::of_key(key).expect("a claim"))
        {
            let function = Subject::elsewhere(calls.name).with([sibling.name]);
            fix.assume(Fact::new(claim, function));
        }
        for doubt in doubts.into_iter().chain(calls.system_doubts(sibling)) {
            fix.assume(doubt);
        }
        match &mut found {
            None => found = Some(fix),
            Some(old) if old.edits == fix.edits => {
                for doubt in &fix.assumptions {
                    if !old.assumptions.contains(doubt) {
                        old.assume(doubt.clone());
                    }
                }
            }
            Some(_) => return Err("another configuration of the function has other calls".into()),
        }
    }
    found.ok_or_else(String::new)
}

/// The functions, by name, that call `name`, or one that does.
fn callers<'a>(cx: &'a PackageCx<'_>, name: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        let functions = cx
            .calls_to(name)
            .iter()
            .filter_map(|site| cx.function(site.item));
        for function in functions {
            if found.insert(function.name.as_str()) {
                open.push(&function.name);
            }
        }
    }
    found
}

/// The functions with calls of `name`, each configuration by itself.
fn functions_calling<'a>(cx: &PackageCx<'a>, name: &str) -> Vec<(&'a Function, Vec<ExprId>)> {
    let mut by_item: BTreeMap<ItemId, Vec<ExprId>> = BTreeMap::new();
    for site in cx.calls_to(name) {
        by_item.entry(site.item).or_default().push(site.expr);
    }
    let all = by_item.into_iter();
    all.filter_map(|(item, exprs)| Some((cx.function(item)?, exprs)))
        .collect()
}
