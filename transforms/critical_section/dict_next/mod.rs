//! UG301: iterations with `PyDict_Next` over dicts that other threads can change.

mod assume;
mod bound;
mod by_calls;
mod called;
mod copy;
mod draft;
mod emptied;
mod errno;
mod exits;
mod field;
mod fills;
mod late;
mod leaving;
mod lists;
mod nested;
mod null;
mod once;
mod operand;
mod owner;
mod path;
mod plan;
mod private;
mod references;
mod rewrite;
mod scope;
mod site;
mod size;
#[cfg(test)]
mod tests;
mod text;
mod thread;
mod unite;
mod values;
mod waiting;
mod wide;

use std::collections::BTreeMap;

use crate::ast::ExprId;
use crate::declare_rule;
use crate::edit::{Confidence, Fix};
use crate::preprocess::Place;
use crate::program::{CallSite, ItemId};
use crate::rule::{Finding, Outcome, PackageCx};

use assume::{assume_no_jump, assume_operand, assume_second, assume_values};
use copy::Copy;
use exits::Exits;
pub(crate) use exits::is_left_by_macro;
pub(crate) use lists::{hold_lists, holds_list};
use operand::Operand;
use plan::Plan;
use references::References;
use rewrite::{Names, Section};
use scope::{Scope, inside};
use site::{Kind, Site};
use unite::unite;

declare_rule! {
    /// ## What it does
    /// Finds iterations with `PyDict_Next` over a dict that other threads can reach. The fix puts the loop
    /// into a critical section, or iterates over a copy if a section does not protect the loop.
    ///
    /// ## Why
    /// `PyDict_Next` takes no lock. Another thread may change the dict between two calls, or free the borrowed
    /// key and value.
    ///
    /// ## Example
    /// ```c
    /// while (PyDict_Next(dict, &pos, &key, &value)) {
    ///     if (check(key, value) < 0)
    ///         return NULL;
    /// }
    /// ```
    /// becomes
    /// ```c
    /// int failed = 0;
    /// Py_BEGIN_CRITICAL_SECTION(dict);
    /// while (PyDict_Next(dict, &pos, &key, &value)) {
    ///     Py_INCREF(key);
    ///     Py_INCREF(value);
    ///     if (check(key, value) < 0) {
    ///         Py_DECREF(value);
    ///         Py_DECREF(key);
    ///         failed = 1;
    ///         break;
    ///     }
    ///     Py_DECREF(value);
    ///     Py_DECREF(key);
    /// }
    /// Py_END_CRITICAL_SECTION();
    /// if (failed)
    ///     return NULL;
    /// ```
    /// No `return` or `goto` may leave a section: the fix moves it.
    ///
    /// ## Confidence
    /// `safe` if it is proven that the section holds, or that the copy has the items of the dict and is
    /// released once on every path.
    ///
    /// `review` for a copy if a call before the last read may change the dict, or if the dict may be of a
    /// subclass with its own `__iter__`. `review` for a section if the loop may call code that replaces the
    /// dict, or if the size was read before the section.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The loop needs a copy, but changes other keys than the current one, or the function cannot return an error | manual | `while (PyDict_Next(d, &i, &k, &v)) PyDict_SetItem(d, other, v);` | Collect the keys first, and change the dict after the loop. |
    /// | The loop detaches the thread | manual | `while (PyDict_Next(d, &i, &k, &v)) { Py_BEGIN_ALLOW_THREADS … }` | Iterate over a copy: `PyDict_Copy`. |
    /// | The call is not the condition of a loop | manual | `more = PyDict_Next(d, &i, &k, &v);` | Write a `while` with the call as its condition. |
    ///
    /// ## Alternative
    /// If the dict is a parameter, `ungil review` may offer a helper function for the loop.
    ///
    /// ## References
    /// - [Loops over dicts](../topics/dict-loops.md): copies, and all conditions
    /// - <https://docs.python.org/3/c-api/dict.html#c.PyDict_Next>
    pub static UNLOCKED_DICT_ITERATION {
        code: "UG301",
        name: "unlocked-dict-iteration",
        summary: "iteration with `PyDict_Next` over a dict that other threads can change",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: &["PyDict_Next", "_PyDict_Next"],
        check: check,
    }
}

const API: &str = "PyDict_Next";

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut calls: BTreeMap<ItemId, Vec<ExprId>> = BTreeMap::new();
    for name in [API, "_PyDict_Next"] {
        for site in cx.calls_to(name) {
            calls.entry(site.item).or_default().push(site.expr);
        }
    }
    let (mut found, mut found_with_gil) = (Vec::new(), Vec::new());
    for (item, mut calls) in calls {
        if let Some(function) = cx.function(item) {
            let scope = Scope::new(cx, item, function);
            calls.sort_by_key(|&call| scope.expr(call).range.start);
            match cx.item(item).needs_gil {
                true => &mut found_with_gil,
                false => &mut found,
            }
            .extend(Sites::new(&scope, &calls).findings());
        }
    }
    findings.extend(unite(found, found_with_gil));
}

/// The iterations of one function.
struct Sites<'a> {
    scope: &'a Scope<'a>,
    calls: &'a [ExprId],
    /// What is known of each call: the site if it may get a section, else the outcome.
    read: Vec<Result<Site, Box<Outcome>>>,
}

impl<'a> Sites<'a> {
    fn new(scope: &'a Scope<'a>, calls: &'a [ExprId]) -> Self {
        let read = calls.iter().map(|&call| read(scope, call)).collect();
        Self { scope, calls, read }
    }

    fn findings(&self) -> Vec<Finding> {
        let mut names = Names::new(self.scope);
        let mut outcomes: Vec<Outcome> = Vec::new();
        // The calls that read from a copy, and the fix that makes it.
        let mut copied: BTreeMap<ExprId, Fix> = BTreeMap::new();
        for at in 0..self.calls.len() {
            let outcome = match &self.read[at] {
                Err(outcome) => (**outcome).clone(),
                Ok(site) => match self.outer(site) {
                    // `while (PyDict_Next(a, …) && PyDict_Next(b, …))`
                    Some(outer) if outer > at => Outcome::Manual(
                        "put the other call of `PyDict_Next` in the same condition in its own \
                         loop"
                            .into(),
                    ),
                    Some(outer) if !copied.contains_key(&self.calls[outer]) => {
                        self.inner_outcome(site, outer, &outcomes[outer])
                    }
                    _ if copied.contains_key(&site.call) => {
                        Outcome::Fix(copied[&site.call].clone())
                    }
                    outer => {
                        let (mut outcome, calls) = self.outcome(site, &mut names);
                        if let Some(outer) = outer {
                            self.assume_lent(site, &outcomes[outer], &mut outcome);
                        }
                        if let Outcome::Fix(fix) = &outcome {
                            copied.extend(calls.into_iter().map(|call| (call, fix.clone())));
                        }
                        outcome
                    }
                },
            };
            outcomes.push(outcome);
        }
        for (call, outcome) in self.calls.iter().zip(&mut outcomes) {
            // An earlier loop that counts for a later one.
            if let Some(fix) = copied.get(call) {
                *outcome = Outcome::Fix(fix.clone());
            }
        }
        let calls = self.calls.iter().zip(outcomes);
        calls
            .filter_map(|(&call, outcome)| self.finding(call, outcome))
            .collect()
    }

    /// What becomes of a loop: a section if that is safe, else a copy, whose calls come along.
    fn outcome(&self, site: &Site, names: &mut Names) -> (Outcome, Vec<ExprId>) {
        let mut tried = names.clone();
        let section = self.fix(site, &mut tried);
        let is_safe = matches!(&section, Ok(fix) if fix.confidence == Confidence::Safe);
        let copy = match is_safe {
            true => None,
            false => self.copy(site, names),
        };
        let (mut outcome, calls) = match copy {
            Some((fix, calls)) => (Outcome::Fix(fix), calls),
            None => {
                *names = tried;
                let outcome = section.map_or_else(Outcome::Manual, Outcome::Fix);
                (outcome, Vec::new())
            }
        };
        self.assume_seen(site, &mut outcome);
        (outcome, calls)
    }

    /// The fix that makes the loop, and those that have to see the same items, read from a copy.
    fn copy(&self, site: &Site, names: &mut Names) -> Option<(Fix, Vec<ExprId>)> {
        let sites = self.read.iter().filter_map(|site| site.as_ref().ok());
        let sites: Vec<&Site> = sites.collect();
        let site = sites.iter().find(|other| other.call == site.call)?;
        let copy = Copy::new(self.scope, site, &sites)?;
        let mut fix = copy.fix(names)?;
        let calls: Vec<ExprId> = copy.calls().collect();
        self.assume_count(site, &calls, &mut fix);
        assume_no_jump(self.scope, site, &mut fix);
        Some((fix, calls))
    }

    fn fix(&self, site: &Site, names: &mut Names) -> Result<Fix, String> {
        let mut fix = self.fix_with_clear(site, names)?;
        self.assume_count(site, &[], &mut fix);
        Ok(fix)
    }

    /// Assumes that another loop, which is none of `shared`, has counted the same items.
    fn assume_count(&self, site: &Site, shared: &[ExprId], fix: &mut Fix) {
        if let Some(dict) = self.scope.text(site.dict)
            && self.fills_what_was_counted(site, shared)
        {
            fix.assume(format!(
                "`{dict}` has the same items in this loop as in the loop that counted them"
            ));
        }
    }

    /// The fix that ends the section where the dict is emptied, if it can.
    fn fix_with_clear(&self, site: &Site, names: &mut Names) -> Result<Fix, String> {
        let scope = self.scope;
        let Some(clear) = emptied::clear_behind(scope, site) else {
            return self.fix_with_sizes(site, names);
        };
        let all = emptied::up_to(scope, site, clear);
        let mut tried = names.clone();
        match all.map(|all| self.fix_with_sizes(&all, &mut tried)) {
            Some(Ok(fix)) => {
                *names = tried;
                Ok(fix)
            }
            _ => self.fix_with_sizes(site, names),
        }
    }

    /// Assumes that nothing is added to a dict which is emptied or replaced after the loop. Up to 3.13
    /// `PyDict_Clear` in the section waits for the lock that its own thread has, and suspends it.
    fn assume_seen(&self, site: &Site, outcome: &mut Outcome) {
        let scope = self.scope;
        if let Outcome::Fix(fix) = outcome
            && let Some(dict) = scope.text(site.dict)
            && let Some(how) = emptied::later(scope, site)
        {
            fix.assume(format!(
                "no other thread adds to `{dict}` between the loop and {how}, which would drop an \
                 item that the loop has not seen"
            ));
        }
    }

    /// The fix that begins the section where the size of the dict is asked for, if it can.
    fn fix_with_sizes(&self, site: &Site, names: &mut Names) -> Result<Fix, String> {
        let scope = self.scope;
        let asked = size::asked_outside(scope, site);
        if let Some(wide) = wide::with_sizes(scope, site, &asked, self.calls) {
            let mut tried = names.clone();
            if let Ok(mut fix) = self.section(&wide, &mut tried) {
                *names = tried;
                self.assume_item(site, &asked, &mut fix);
                if let (Some(name), Some(dict)) =
                    (waiting::waits(scope, &wide), scope.text(site.dict))
                {
                    fix.assume(format!(
                        "no other thread adds to `{dict}` while {name} waits for a lock, because \
                         the section is suspended meanwhile"
                    ));
                }
                return Ok(fix);
            }
        }
        let mut fix = self.section(site, names)?;
        if site.kind == Kind::Once {
            self.assume_item(site, &[], &mut fix);
        } else if let (Some(asked), Some(dict)) = (asked.first(), scope.text(site.dict)) {
            fix.assume(format!(
                "`{dict}` has no more items in the loop than `{}` returned outside it",
                asked.name
            ));
        }
        Ok(fix)
    }

    /// Whether another loop over the same dict, which is none of `shared`, has counted what the loop of
    /// `site` fills.
    fn fills_what_was_counted(&self, site: &Site, shared: &[ExprId]) -> bool {
        let scope = self.scope;
        // Those that are in a section already as well.
        let sites = self.calls.iter().map(|&call| Site::read(scope, call));
        let mut others = sites.flatten().filter(|other| {
            !shared.contains(&other.call)
                && !inside(scope.range(other.iteration), site.range(scope))
                && !inside(scope.range(site.iteration), other.range(scope))
                && scope.is_same_text(other.dict, site.dict)
                && size::comes_to(scope, other.call, site.call)
        });
        others.any(|other| bound::fills_what_was_counted(scope, site, other.iteration))
    }

    /// Assumes that a single call finds an item if none of the sizes `asked`, which are asked for in
    /// the section, says so.
    fn assume_item(&self, site: &Site, asked: &[size::Asked<'_>], fix: &mut Fix) {
        if site.kind == Kind::Once
            && !once::has_item(self.scope, site, asked)
            && let Some(dict) = self.scope.text(site.dict)
        {
            fix.assume(format!(
                "`{dict}` is not empty when `PyDict_Next` is called"
            ));
        }
    }

    /// The fix that puts the region of `site` into a section.
    fn section(&self, site: &Site, names: &mut Names) -> Result<Fix, String> {
        let scope = self.scope;
        let operand = Operand::read(scope, site, site.range(scope))?.held(scope, site);
        let exits = Exits::collect(scope, site)?;
        let plan = Plan::new(scope, site, &exits)?;
        thread::stays_attached(scope, site, &exits, &plan)?;
        waiting::goes_on(scope, site)?;
        let uses = values::uses(scope, site);
        // The second checker knows of no reference to what is used on without one.
        let needed = uses.suspended & !uses.outlives;
        let references = References::new(scope, site, &exits, needed, names);
        let second = self.second(site);
        let none = References::default();
        let may_be_null = site.may_be_null && operand.is_object(scope, site);
        let section = Section {
            scope,
            site,
            operand: &operand,
            may_be_null,
            second: second.as_ref().map(|(_, operand)| operand),
            plan: &plan,
            references: references.as_ref().unwrap_or(&none),
        };
        let mut fix = section.fix(names)?;
        let held = if references.is_some() { needed } else { 0 };
        let unheld = uses.suspended & !held;
        assume_values(scope, site, uses, unheld, &mut fix);
        for inner in self.inner(site) {
            // The references of this loop are to its own key and value.
            let uses = values::uses(scope, inner);
            assume_values(scope, inner, uses, uses.suspended, &mut fix);
        }
        assume_operand(scope, site, &operand, &mut fix);
        errno::assume_kept(scope, site, &exits, &plan, &mut fix);
        assume_no_jump(scope, site, &mut fix);
        if let Some((inner, operand)) = &second {
            assume_operand(scope, inner, operand, &mut fix);
            assume_second(scope, site, inner, operand, &mut fix);
        }
        if !site.is_unconditional || site.may_be_null && !may_be_null {
            fix.assume(format!("`{}` is not NULL here", operand.text()));
        }
        if self.calls.len() == 1 && uses.outlives == 0 && unheld == 0 {
            fix.alternatives.extend(section.helper(&exits));
        }
        Ok(fix)
    }

    fn finding(&self, call: ExprId, outcome: Outcome) -> Option<Finding> {
        let scope = self.scope;
        let callee = scope.cx.call(CallSite {
            item: scope.item,
            expr: call,
        });
        let (file, span) = match scope.cx.place(scope.item, callee.0)? {
            Place::File(file, span) | Place::Argument { file, span, .. } => (file, span),
            Place::Macro {
                definition, call, ..
            } => definition.unwrap_or(call),
        };
        let dict = callee
            .1
            .first()
            .and_then(|&dict| scope.text(scope.uncast(dict)));
        let message = match dict {
            Some(dict) => format!(
                "`{dict}` is iterated over without its lock; another thread may change the dict \
                 meanwhile"
            ),
            None => "a dict is iterated over without its lock; another thread may change the dict \
                     meanwhile"
                .to_owned(),
        };
        Some(Finding {
            rule: &UNLOCKED_DICT_ITERATION,
            file,
            span,
            function: Some(scope.function.name.clone()),
            api: Some(API),
            message,
            notes: match outcome {
                Outcome::Safe(_) => Vec::new(),
                Outcome::Fix(_) | Outcome::Manual(_) => {
                    let mut sites = self.read.iter().filter_map(|site| site.as_ref().ok());
                    let site = sites.find(|site| site.call == call);
                    path::path(scope, call, site, (file, span))
                }
            },
            outcome,
        })
    }
}

/// The site if it may get a section, else the outcome.
fn read(scope: &Scope<'_>, call: ExprId) -> Result<Site, Box<Outcome>> {
    let safe = |reason| Err(Box::new(Outcome::Safe(reason)));
    let by_hand = |advice| Box::new(Outcome::Manual(advice));
    if let Some(reason) = private::is_private(scope, call) {
        return safe(reason);
    }
    let existing = private::existing_section(scope, call);
    if let Some(Ok(reason)) = existing {
        return safe(reason);
    }
    if private::may_traverse(scope) {
        return Err(by_hand(
            "the garbage collector may call this function while it stops all threads, and one of \
             them may hold the lock of the dict: write a separate loop for `tp_traverse`"
                .into(),
        ));
    }
    if scope.cx.span(scope.item, call).is_none() {
        return Err(by_hand(
            "the call is in a macro: put the critical section into the `#define`".into(),
        ));
    }
    let site = Site::read(scope, call).map_err(by_hand)?;
    match existing {
        Some(Err(advice)) => Err(by_hand(advice)),
        _ => Ok(site),
    }
}
