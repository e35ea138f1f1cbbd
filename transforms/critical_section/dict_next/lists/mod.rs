//! Sections around unchecked reads of list items: from where the size is asked that bounds the index
//! to the last use of an item, where no exit serves for a checked read.
//!
//! ```c
//! Py_BEGIN_CRITICAL_SECTION(list);
//! n = PyList_GET_SIZE(list);
//! for (i = 0; i < n; i++)
//!     if (PyList_GET_ITEM(list, i) == Py_None)
//!         found = 1;
//! Py_END_CRITICAL_SECTION();
//! ```

mod bound;
mod region;

use std::collections::BTreeMap;

use crate::ast::{ExprId, ExprKind, TokenRange};
use crate::capi::UNCHECKED_ITEMS;
use crate::cfg::{Instr, InstrKind, Point};
use crate::edit::{Confidence, Fix};
use crate::preprocess::Place;
use crate::program::{CallSite, ItemId};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::strong;

use super::assume::assume_no_jump;
use super::errno;
use super::exits::Exits;
use super::null::points;
use super::operand::Operand;
use super::owner::is_let_go;
use super::plan::Plan;
use super::private;
use super::references::{References, looks_at_counts};
use super::rewrite::{Names, Section};
use super::scope::Scope;
use super::site::Region;
use super::thread;
use super::values;
use super::waiting;

/// How the title ends of a fix that holds a list.
const TITLE: &str = "in a critical section while its items are read";

/// Whether a fix, which may do more, puts reads of a list into a section.
pub(crate) fn holds_list(fix: &Fix) -> bool {
    fix.title.contains(TITLE)
}

/// Gives the findings that have no exit for a checked read a section, where that holds the list still.
pub(crate) fn hold_lists(cx: &PackageCx<'_>, findings: &mut [Finding]) {
    let open = findings.iter().zip(0..).filter_map(|(finding, at)| {
        let is_open =
            matches!(&finding.outcome, Outcome::Manual(reason) if strong::has_no_exit(reason));
        is_open.then_some(((finding.file, finding.span), at))
    });
    let open: BTreeMap<(FileId, ByteSpan), usize> = open.collect();
    let mut reads: BTreeMap<ItemId, Vec<(ExprId, usize)>> = BTreeMap::new();
    for site in UNCHECKED_ITEMS.iter().flat_map(|name| cx.calls_to(name)) {
        if let Some(&finding) = place(cx, *site).and_then(|place| open.get(&place)) {
            reads
                .entry(site.item)
                .or_default()
                .push((site.expr, finding));
        }
    }
    // What each configuration makes of a place.
    let mut fixes: BTreeMap<usize, Vec<Option<Fix>>> = BTreeMap::new();
    for (item, reads) in reads {
        let Some(function) = cx.function(item) else {
            continue;
        };
        let scope = Scope::new(cx, item, function);
        let open = reads.iter().map(|&(read, _)| read).collect();
        let mut lists = Lists::new(&scope, open);
        for (read, finding) in reads {
            fixes.entry(finding).or_default().push(lists.fix(read));
        }
    }
    for (at, fixes) in fixes {
        if let [Some(fix), others @ ..] = &fixes[..]
            && others.iter().all(|other| other.as_ref() == Some(fix))
        {
            findings[at].outcome = Outcome::Fix(fix.clone());
        }
    }
}

/// Where the finding about a call stands, if no macro makes it.
fn place(cx: &PackageCx<'_>, site: CallSite) -> Option<(FileId, ByteSpan)> {
    match cx.place(site.item, site.expr)? {
        Place::File(file, span) | Place::Argument { file, span, .. } => Some((file, span)),
        Place::Macro { .. } => None,
    }
}

/// The sections of one function.
struct Lists<'a> {
    scope: &'a Scope<'a>,
    /// The reads that get a section or nothing.
    open: Vec<ExprId>,
    names: Names<'a>,
    /// What came of each region, by its first and last read.
    known: BTreeMap<(ExprId, ExprId), Option<Fix>>,
}

impl<'a> Lists<'a> {
    fn new(scope: &'a Scope<'a>, open: Vec<ExprId>) -> Self {
        Self {
            scope,
            open,
            names: Names::new(scope),
            known: BTreeMap::new(),
        }
    }

    /// The section that holds the list still which `read` reads.
    fn fix(&mut self, read: ExprId) -> Option<Fix> {
        if !may_have_sections(self.scope) {
            return None;
        }
        let held = Held::new(self.scope, read, &self.open)?;
        let key = (*held.reads.first()?, *held.reads.last()?);
        if let Some(fix) = self.known.get(&key) {
            return fix.clone();
        }
        let mut names = self.names.clone();
        let fix = held.fix(&mut names);
        if fix.is_some() {
            self.names = names;
        }
        self.known.insert(key, fix.clone());
        fix
    }
}

/// Whether nothing in the function may stand in the way of a section: another one, which it would
/// suspend or which would suspend it, a lock, a collector that holds all threads still.
fn may_have_sections(scope: &Scope<'_>) -> bool {
    let locks = |name: &str| {
        name.starts_with("PyCriticalSection")
            || name.starts_with("PyMutex_")
            || name.ends_with("PyDict_Next")
            || matches!(name, "PySet_Next" | "_PySet_NextEntry")
            || waiting::may_stop(name)
    };
    !private::may_traverse(scope) && !scope.tree().calls().any(|(_, name)| locks(name))
}

/// A list and the statements that it has to stay the same in.
struct Held<'a> {
    scope: &'a Scope<'a>,
    /// All unchecked reads of the list in the region, in order.
    reads: Vec<ExprId>,
    /// All calls that ask for its size there.
    asks: Vec<ExprId>,
    region: Region,
}

impl<'a> Held<'a> {
    /// The fix that puts the region into a section, if nothing can change the list in it where the
    /// function relies on that.
    fn fix(&self, names: &mut Names<'_>) -> Option<Fix> {
        let scope = self.scope;
        if !self.is_still() {
            return None;
        }
        let site = region::site(
            scope,
            self.reads[0],
            self.list_of(self.reads[0])?,
            self.region,
        )?;
        let range = site.range(scope);
        let operand = Operand::read(scope, &site, range).ok()?.held(scope, &site);
        if !matches!(operand, Operand::Variable(_) | Operand::Borrowed(_)) {
            return None;
        }
        if is_let_go(scope, &site) {
            return None;
        }
        let exits = Exits::collect(scope, &site).ok()?;
        let plan = Plan::new(scope, &site, &exits).ok()?;
        thread::stays_attached(scope, &site, &exits, &plan).ok()?;
        waiting::goes_on(scope, &site).ok()?;
        let section = Section {
            scope,
            site: &site,
            operand: &operand,
            may_be_null: false,
            second: None,
            plan: &plan,
            references: &References::default(),
        };
        let mut fix = section.fix(names).ok()?;
        fix.title = format!("hold `{}` {TITLE}", operand.text());
        errno::assume_kept(scope, &site, &exits, &plan, &mut fix);
        assume_no_jump(scope, &site, &mut fix);
        (fix.confidence == Confidence::Safe).then_some(fix)
    }

    /// Whether each read finds the list as the test of its index did, and each item is there as long
    /// as it is used.
    fn is_still(&self) -> bool {
        let scope = self.scope;
        let range = self.range();
        let is_held = |&read: &ExprId| {
            let site = self
                .list_of(read)
                .and_then(|list| region::site(scope, read, list, self.region));
            site.is_some_and(|site| {
                let uses = values::uses_in(scope, &site, range);
                uses.suspended | uses.outlives | uses.released == 0
            })
        };
        !looks_at_counts(scope, range)
            && !region::has_labels(scope, range)
            && !region::may_be_left_unseen(scope, range)
            && self.reads.iter().all(|&read| bound::is_bounded(self, read))
            && bound::sizes_hold(self)
            && self.reads.iter().all(is_held)
    }

    fn range(&self) -> TokenRange {
        region::range(self.scope, self.region)
    }

    /// The list as a read names it.
    fn list_of(&self, read: ExprId) -> Option<ExprId> {
        argument(self.scope, read, 0)
    }

    /// The steps of the region after which the list may be another: calls that let other threads in.
    fn suspensions(&self) -> Vec<(Point, &Instr)> {
        let scope = self.scope;
        let range = self.range();
        let points = points(scope);
        let suspends = points.filter(|(_, step)| match &step.kind {
            InstrKind::Call { callee, args, .. } => {
                scope.is_inside(step.source, range) && values::suspends(scope, callee, args)
            }
            InstrKind::Asm => true,
            _ => false,
        });
        suspends.collect()
    }
}

/// An argument of a call, without casts.
fn argument(scope: &Scope<'_>, call: ExprId, at: usize) -> Option<ExprId> {
    match &scope.expr(call).kind {
        ExprKind::Call { args, .. } => Some(scope.uncast(*args.get(at)?)),
        _ => None,
    }
}
