//! Functions of the package that return a borrowed reference, changed together with all of their
//! callers.
//!
//! ```c
//! static PyObject *find(PyObject *key)          static PyObject *find(PyObject *key)
//! {                                             {
//!     return PyDict_GetItem(cache, key);            …  /* a new reference */
//! }                                             }
//! n += use(find(key));                          PyObject *value = find(key);
//!                                               n += use(value);
//!                                               Py_XDECREF(value);
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::comments::told;
use super::item::{Solved, solve};
use super::loans;
use super::reason::Reason;
use super::reason::named::{mentioned, place};
use super::variants;
use crate::ast::{ExprId, ExprKind};
use crate::capi::{Absent, Form, OldErrors, PyVersion, REPLACEMENTS, Replacement};
use crate::edit::{Edit, Fix};
use crate::facts::Reference;
use crate::facts::{Claim, Fact, Subject};
use crate::rule::{CallSite, ItemId, Lookups, Outcome, PackageCx};

/// The call of a function that is changed to return a new reference: its text stays.
pub(super) static OWN: Replacement = Replacement {
    borrowed: "",
    strong: "",
    form: Form::Return,
    absent: Absent::Null,
    errors: OldErrors::Raised,
    since: PyVersion::new(3, 6),
    limited_since: None,
    removed: None,
    caution: None,
};

/// Whether a lookup is the call of a function of the package.
pub(super) fn is_own(replacement: &Replacement) -> bool {
    replacement.borrowed.is_empty()
}

/// Most callers that a reason names.
const MAX_NAMED: usize = 4;

/// What becomes of the lookups of the package.
pub(super) fn outcomes(cx: &PackageCx<'_>) -> Lookups {
    let mut solved = alone(cx);
    let mut search = Search::new(cx, &solved);
    let together = search.run();
    let fixes = merge(cx, &search.helpers, &together);
    solved.extend(together);
    let plans = variants::plans(&solved);
    let filled = loans::fixes(cx, &solved);
    let mut lookups = Lookups::new();
    for (item, solved) in solved {
        let mut outcomes = solved.into_outcomes();
        for (call, outcome) in &mut outcomes {
            if let Some(merged) = fixes.get(&item).and_then(|merged| merged.get(call)) {
                *outcome = merged.clone();
            }
        }
        search.explain(item, &mut outcomes);
        lookups.insert(item, outcomes);
    }
    variants::join(cx, plans, &mut lookups);
    for (item, calls, fix) in filled {
        let calls = calls.into_iter();
        let outcomes = calls.map(|call| (call, Outcome::Fix(fix.clone())));
        lookups.entry(item).or_default().extend(outcomes);
    }
    lookups
}

/// All functions with lookups, as if each could change by itself only.
fn alone(cx: &PackageCx<'_>) -> BTreeMap<ItemId, Solved> {
    let calls = REPLACEMENTS
        .iter()
        .flat_map(|row| cx.calls_to(row.borrowed));
    let items = calls.map(|site| site.item).filter(|&it| cx.asks_for(it));
    let items: BTreeSet<ItemId> = items.collect();
    let none = BTreeSet::new();
    let solved = items.into_iter().map(|item| (item, solve(cx, item, &none)));
    solved.collect()
}

/// The search for the functions that can change.
struct Search<'c, 'a> {
    cx: &'c PackageCx<'a>,
    /// Those that return new references, as far as is known.
    helpers: BTreeSet<String>,
    /// Why a function goes on to return a borrowed reference.
    refused: BTreeMap<String, Reason>,
}

impl<'c, 'a> Search<'c, 'a> {
    fn new(cx: &'c PackageCx<'a>, alone: &BTreeMap<ItemId, Solved>) -> Self {
        let mut search = Self {
            cx,
            helpers: BTreeSet::new(),
            refused: BTreeMap::new(),
        };
        let names: BTreeSet<String> = alone
            .iter()
            .filter_map(|(&item, solved)| {
                let function = cx.function(item)?;
                let mut reasons = solved.declined.values();
                let hands_out = function.ret.is_py_object_pointer()
                    && reasons.any(|why| *why == Reason::ReturnedBorrowed);
                hands_out.then(|| function.name.clone())
            })
            .collect();
        names.into_iter().for_each(|name| search.add(name));
        search
    }

    /// Adds a function, or notes why it cannot change.
    fn add(&mut self, name: String) {
        let (calls, facts) = (self.cx.calls_to(&name), &self.cx.program.facts);
        let is_object =
            |(_, function): (ItemId, &crate::ast::Function)| function.ret.is_py_object_pointer();
        let mention = self.cx.mention(&name).map(|it| mentioned(self.cx, it));
        let why = if let Some(why) = &mention {
            why
        } else if calls.is_empty() && !self.is_unused(&name) {
            "no analysed code calls it"
        } else if !self.cx.definitions(&name).all(is_object) {
            "other functions of the same name return something else"
        } else if facts.returns(&name) == Some(Reference::Borrowed)
            && facts.borrowed_marks(&name).is_none()
        {
            "the project states that it returns a borrowed reference"
        } else {
            self.helpers.insert(name);
            return;
        };
        let why = format!("there is no automatic fix, because {why}");
        self.refuse(&name, &why);
    }

    /// Whether a function without calls is one that others could call, and cannot: nobody counts on
    /// what it returns.
    fn is_unused(&self, name: &str) -> bool {
        let mut definitions = self.cx.definitions(name);
        definitions.any(|(_, function)| !function.is_static)
            && self.cx.other_callers(name).is_none()
    }

    fn refuse(&mut self, name: &str, why: &str) {
        let places = self
            .cx
            .calls_to(name)
            .iter()
            .map(|&site| place(self.cx, site));
        let mut places: Vec<String> = places.collect();
        places.dedup();
        let more = places.len().saturating_sub(MAX_NAMED);
        places.truncate(MAX_NAMED);
        let mut callers = match places.is_empty() {
            true => String::new(),
            false => format!(" ({})", places.join(", ")),
        };
        if more > 0 {
            callers = format!("{}, and {more} more)", callers.trim_end_matches(')'));
        }
        let reason =
            format!("return a strong reference, and release it in the callers{callers}; {why}");
        self.helpers.remove(name);
        self.refused
            .insert(name.to_owned(), Reason::Contract(reason));
    }

    /// Says of lookups that a function returns why its callers cannot change.
    fn explain(&self, item: ItemId, outcomes: &mut BTreeMap<ExprId, Outcome>) {
        let function = self.cx.function(item);
        let Some(why) = function.and_then(|function| self.refused.get(&function.name)) else {
            return;
        };
        let plain = Outcome::Manual(Reason::ReturnedBorrowed.to_string());
        for outcome in outcomes.values_mut().filter(|outcome| **outcome == plain) {
            *outcome = Outcome::Manual(why.to_string());
        }
    }

    /// Takes out, and adds, functions until all that are left can change.
    fn run(&mut self) -> BTreeMap<ItemId, Solved> {
        loop {
            let items = self.items();
            let solved = items
                .into_iter()
                .map(|item| (item, solve(self.cx, item, &self.helpers)));
            let solved: BTreeMap<ItemId, Solved> = solved.collect();
            let (more, obstacles) = self.obstacles(&solved);
            if more.is_empty() && obstacles.is_empty() {
                return solved;
            }
            // What a new one makes possible is not refused before that is tried.
            if more.is_empty() {
                for (name, why) in obstacles {
                    self.refuse(&name, &why);
                }
            }
            more.into_iter().for_each(|name| self.add(name));
        }
    }

    /// The helpers and all who call them.
    fn items(&self) -> BTreeSet<ItemId> {
        let names = self.helpers.iter();
        names
            .flat_map(|name| {
                let definitions = self.cx.definitions(name).map(|(item, _)| item);
                let calls = self.cx.calls_to(name).iter().map(|site| site.item);
                definitions.chain(calls).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Functions that would have to return new references as well, and helpers that cannot.
    fn obstacles(
        &self,
        solved: &BTreeMap<ItemId, Solved>,
    ) -> (BTreeSet<String>, BTreeMap<String, String>) {
        let (mut more, mut obstacles) = (BTreeSet::new(), BTreeMap::new());
        for (&item, solved) in solved {
            let Some(function) = self.cx.function(item) else {
                // The value of a file-scope variable.
                continue;
            };
            let own = self.helpers.get(&function.name);
            for (call, why) in failures(solved) {
                let called = self.helper_of(item, call);
                let passes_on = *why == Reason::ReturnedBorrowed
                    && function.ret.is_py_object_pointer()
                    && !self.refused.contains_key(&function.name);
                if passes_on && called.is_some() && own.is_none() {
                    more.insert(function.name.clone());
                } else if let Some(name) = called.or(own) {
                    let at = place(self.cx, CallSite { item, expr: call });
                    let entry = obstacles.entry(name.clone());
                    entry.or_insert_with(|| format!("in `{}` at {at}, {why}", function.name));
                }
            }
            if let (Some(name), Some(Err(why))) = (own, &solved.returns) {
                if let Reason::ReturnsResultOf(other) = why
                    && self.may_change(other)
                {
                    more.insert(other.clone());
                    continue;
                }
                let entry = obstacles.entry(name.clone());
                entry.or_insert_with(|| format!("in `{}`, {why}", function.name));
            }
        }
        (more, obstacles)
    }

    /// Whether it is not known yet that the function of the package cannot change.
    fn may_change(&self, name: &str) -> bool {
        let is_known = self.helpers.contains(name) || self.refused.contains_key(name);
        !is_known && self.cx.definitions(name).next().is_some()
    }

    /// The helper that is called there.
    fn helper_of(&self, item: ItemId, call: ExprId) -> Option<&String> {
        let tree = self.cx.tree(item)?;
        let ExprKind::Call { callee, .. } = tree.expr(call).kind else {
            return None;
        };
        self.helpers.get(tree.callee_name(callee)?)
    }
}

/// Calls that cannot change, and why.
fn failures(solved: &Solved) -> impl Iterator<Item = (ExprId, &Reason)> {
    let declined = solved.declined.iter().map(|(call, why)| (*call, why));
    let groups = solved.groups.iter().filter_map(|group| match &group.fix {
        Ok(_) => None,
        Err(why) => Some((*group.calls.first()?, why)),
    });
    declined.chain(groups)
}

/// For each call that changes with a helper the one outcome for all of them.
fn merge(
    cx: &PackageCx<'_>,
    helpers: &BTreeSet<String>,
    solved: &BTreeMap<ItemId, Solved>,
) -> BTreeMap<ItemId, BTreeMap<ExprId, Outcome>> {
    let mut bundles: Vec<Bundle> = Vec::new();
    for (&item, solved) in solved {
        let Some(function) = cx.function(item) else {
            continue;
        };
        let own = helpers.get(&function.name);
        let name_of = |call: &ExprId| match function.tree.expr(*call).kind {
            ExprKind::Call { callee, .. } => helpers.get(function.tree.callee_name(callee)?),
            _ => None,
        };
        for group in &solved.groups {
            let called = group.calls.iter().filter_map(name_of);
            let names: BTreeSet<&String> = called.chain(own).collect();
            if let (Ok(fix), false) = (&group.fix, names.is_empty()) {
                bundles.push(Bundle {
                    names: names.into_iter().cloned().collect(),
                    calls: group.calls.iter().map(|call| (item, *call)).collect(),
                    parts: vec![fix.clone()],
                });
            }
        }
        if let (Some(name), Some(Ok(fix))) = (own, &solved.returns) {
            bundles.push(Bundle {
                names: BTreeSet::from([name.clone()]),
                calls: Vec::new(),
                parts: vec![fix.clone()],
            });
        }
    }
    let mut outcomes: BTreeMap<ItemId, BTreeMap<ExprId, Outcome>> = BTreeMap::new();
    for bundle in joined(bundles) {
        let fix = bundle.fix(cx);
        let outcome = match are_disjoint(&fix.edits) {
            true => Outcome::Fix(fix),
            false => Outcome::Manual(Reason::Uses.to_string()),
        };
        for (item, call) in bundle.calls {
            outcomes
                .entry(item)
                .or_default()
                .insert(call, outcome.clone());
        }
    }
    outcomes
}

fn are_disjoint(edits: &[Edit]) -> bool {
    edits
        .windows(2)
        .all(|pair| pair[0].file != pair[1].file || pair[0].span.end() <= pair[1].span.start())
}

/// Changes that need each other.
struct Bundle {
    names: BTreeSet<String>,
    calls: Vec<(ItemId, ExprId)>,
    parts: Vec<Fix>,
}

/// The bundles, those with a name in common as one.
fn joined(bundles: Vec<Bundle>) -> Vec<Bundle> {
    let mut joined: Vec<Bundle> = Vec::new();
    for mut bundle in bundles {
        let (same, other) = joined
            .into_iter()
            .partition(|known: &Bundle| !known.names.is_disjoint(&bundle.names));
        joined = other;
        let same: Vec<Bundle> = same;
        for known in same {
            bundle.names.extend(known.names);
            bundle.calls.extend(known.calls);
            bundle.parts.extend(known.parts);
        }
        joined.push(bundle);
    }
    joined
}

impl Bundle {
    fn fix(&self, cx: &PackageCx<'_>) -> Fix {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let mut fix = Fix::safe(format!("return new references from {}", names.join(", ")));
        for part in &self.parts {
            // Configurations of one function ask for the same edits.
            fix.include(part);
        }
        for name in &self.names {
            if let Some(assumption) = cx.other_callers(name) {
                fix.assume(assumption);
            } else if cx.calls_to(name).is_empty() {
                let places = cx.definitions(name).map(|(item, _)| cx.item(item).place.0);
                for file in places.collect::<BTreeSet<_>>() {
                    let function = Subject::in_file(cx.file(file).path(), name);
                    fix.assume(Fact::new(Claim::NotCalled, function));
                }
            }
            for (item, _) in cx.definitions(name) {
                fix.edits.extend(told::edits(cx, item));
            }
            let marks = cx.program.facts.borrowed_marks(name).unwrap_or_default();
            for &(file, span) in marks {
                fix.edits.push(cx.layout(file, span).remove(span));
            }
        }
        fix.edits.sort_by_key(Edit::place);
        // Variants of a function have one comment.
        fix.edits.dedup();
        fix
    }
}
