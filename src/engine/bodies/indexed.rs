//! Items that are read through a pointer, owned as items of the sequence.
//!
//! ```c
//! items = PySequence_Fast_ITEMS(fast);
//! for (i = 0; i < n; i++)                      for (i = 0; i < n; i++) {
//!     if (add(items[i]) < 0)                       PyObject *item = PySequence_GetItem(fast, i);
//!         return NULL;                             if (item == NULL)
//!                                                      return NULL;
//!                                                  …
//! ```
//!
//! The fix is that of a copy of the package which reads the sequence. A safe copy of the list is
//! shorter, and stays.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edited;
use super::together;
use crate::edit::{Confidence, Edit};
use crate::engine::Config;
use crate::package::Package;
use crate::rule::{CallSite, Finding, Outcome, PackageCx};
use crate::source::FileId;
use crate::strong;

/// The call that gives the pointer.
const ITEMS: &str = "PySequence_Fast_ITEMS";

/// The reads through pointers of one function.
#[derive(Default)]
struct Reads {
    /// The findings about the pointers.
    findings: Vec<usize>,
    /// What writes them as reads of the sequences.
    edits: BTreeSet<Edit>,
}

/// Looks again at pointers to items of a list that may change.
pub(in crate::engine) fn solve(
    package: &Package,
    config: &Config,
    cx: &PackageCx<'_>,
    findings: &mut [Finding],
) {
    let mut reads: BTreeMap<(FileId, Option<String>), Reads> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate().filter(|(_, it)| is_open(it)) {
        let of_function = reads.entry((finding.file, finding.function.clone()));
        of_function.or_default().findings.push(at);
    }
    for reads in reads.values_mut() {
        reads.write(cx, findings);
    }
    reads.retain(|_, reads| !reads.findings.is_empty());
    if reads.is_empty() {
        return;
    }
    let written = reads.values().flat_map(|reads| &reads.edits);
    let mut written: Vec<Edit> = written.cloned().collect();
    written.sort_by_key(Edit::place);
    let copy = Edited::new(package, cx.program, &written);
    let found = copy.found(config);
    for reads in reads.values() {
        let Some(outcome) = outcome(package, &copy, &found, &reads.edits) else {
            continue;
        };
        for &at in &reads.findings {
            // A fix for review says more than a reason.
            let is_new = matches!(
                (&findings[at].outcome, &outcome),
                (_, Outcome::Fix(_)) | (Outcome::Manual(_), Outcome::Manual(_))
            );
            if is_new {
                findings[at].outcome = outcome.clone();
            }
        }
    }
}

impl Reads {
    /// Finds the edits of those pointers that can go together.
    fn write(&mut self, cx: &PackageCx<'_>, findings: &[Finding]) {
        loop {
            let sites = |&at: &usize| sites(cx, &findings[at]);
            let all: Vec<CallSite> = self.findings.iter().flat_map(sites).collect();
            let edits = self.findings.iter();
            let edits = edits.map(|at| Some((*at, by_index(cx, &findings[*at], &all)?)));
            let edits: Vec<_> = edits.flatten().collect();
            // Those that stay may be declared with one that goes.
            let is_done = edits.len() == self.findings.len();
            self.findings = edits.iter().map(|(at, _)| *at).collect();
            if is_done {
                self.edits = edits.into_iter().flat_map(|(_, edits)| edits).collect();
                return;
            }
        }
    }
}

fn is_open(finding: &Finding) -> bool {
    let is_safe = match &finding.outcome {
        Outcome::Safe(_) => true,
        Outcome::Fix(fix) => fix.confidence == Confidence::Safe,
        Outcome::Manual(_) => false,
    };
    finding.api == Some(ITEMS) && !is_safe
}

/// The reads through the pointer that a finding is about, with the pointers of `all`, as reads of the
/// sequence, where all configurations agree on them.
fn by_index(cx: &PackageCx<'_>, finding: &Finding, all: &[CallSite]) -> Option<Vec<Edit>> {
    let edits = sites(cx, finding).map(|site| strong::by_index(cx, site, all));
    let mut edits = edits.collect::<BTreeSet<_>>().into_iter();
    edits.next().filter(|_| edits.next().is_none())?
}

/// The calls that a finding is about, one in each configuration.
fn sites(cx: &PackageCx<'_>, finding: &Finding) -> impl Iterator<Item = CallSite> {
    let place = Some((finding.file, finding.span));
    let sites = cx.calls_to(ITEMS).iter().copied();
    sites.filter(move |site| cx.span(site.item, site.expr) == place)
}

/// Whether an edit reads the sequence, and is not about the index.
fn is_read(edit: &Edit) -> bool {
    memchr::memmem::find(&edit.text, b"PySequence_Fast_GET_ITEM").is_some()
}

/// What the rules say in the copy of the items that are read by `edits`: why one of them cannot be
/// owned, or the fix that owns all of them, with what else is changed.
fn outcome(
    package: &Package,
    copy: &Edited<'_>,
    found: &[Finding],
    edits: &BTreeSet<Edit>,
) -> Option<Outcome> {
    let is_here = |found: &&Finding| edits.iter().any(|edit| copy.holds(edit, found));
    let here: Vec<&Finding> = found.iter().filter(is_here).collect();
    let is_manual = |it: &&&Finding| matches!(it.outcome, Outcome::Manual(_));
    if let Some(manual) = here.iter().find(is_manual) {
        return Some(manual.outcome.clone());
    }
    let mut fix = copy.composed(package, together(&here)?);
    let is_done = |edit: &Edit| {
        let mut done = fix.edits.iter();
        done.any(|it| it.file == edit.file && it.span.contains(edit.span))
    };
    let left: Vec<Edit> = edits.iter().filter(|it| !is_done(it)).cloned().collect();
    // Where a read is left, it is the list that was copied.
    let is_left = left.iter().any(is_read);
    fix.edits.extend(left);
    fix.edits.sort_by_key(Edit::place);
    (fix.confidence == Confidence::Safe && !is_left).then_some(Outcome::Fix(fix))
}
