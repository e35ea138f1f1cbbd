//! Releases that came in where a lock of C is held: what they free may want that lock.
//!
//! ```c
//! pthread_mutex_lock(&self->lock);
//! item = PyList_GetItemRef(self->items, 0);
//! self->size = item == NULL ? 0 : size_of(item);
//! Py_XDECREF(item);                    /* its destructor may call `Pool_remove`, … */
//! pthread_mutex_unlock(&self->lock);   /* … which waits for the lock for ever */
//! ```
//!
//! While the reference was borrowed nothing could end there. A critical section is no such lock:
//! whoever waits gives it up. But who waits for a section keeps the locks of C that it holds:
//!
//! ```c
//! PyThread_acquire_lock(cache_lock, WAIT_LOCK);
//! Py_BEGIN_CRITICAL_SECTION(dict);     /* another thread clears the dict, and a destructor of … */
//! while (PyDict_Next(dict, &pos, &key, &value))     /* … an item waits for `cache_lock` */
//! ```

use std::collections::BTreeSet;

use super::Failure;
use super::changed::Changed;
use super::proof::{beside, calls, graph, is_inserted};
use crate::ast::{ExprId, Function, Tree};
use crate::capi;
use crate::cfg::{Cfg, Instr};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::ownership::track;
use crate::program::Program;
use crate::source::{ByteOffset, ByteSpan};
use crate::state::{begins_section, holds_lock_by_name, releases_lock_by_name};

/// What is not proven of the first such release or section, with the place in the original where it
/// came in.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let function = changed.function;
    calls(function).find_map(|(call, name)| {
        let (at, waits) = brought_in(changed, call, name)?;
        let why = match held_at(function, call) {
            Some(lock) => format!("that `{lock}` took"),
            None => {
                let under_lock = changed.original.under_lock();
                under_lock
                    .contains(&*function.name)
                    .then(|| "that its callers hold".to_owned())?
            }
        };
        let reason = format!("in `{}`, {waits} waits for the lock {why}", function.name);
        let place = beside(changed.applied, at);
        Some((Some(place), Failure::Unknown(reason.into())))
    })
}

/// Where a call stands in the result that the edits brought in, and what must not wait for a lock
/// there; `None` for all calls but releases and the begin of sections.
fn brought_in(changed: Changed<'_>, call: ExprId, name: &str) -> Option<(ByteOffset, String)> {
    let range = changed.function.tree.expr(call).range;
    if capi::counts(name).is_some_and(|counts| !counts.takes())
        && is_inserted(changed.item, changed.applied, range.start)
    {
        let (_, span) = changed.item.tokens.file_span(range)?;
        return Some((span.start(), format!("nothing that `{name}` frees")));
    }
    if !begins_section(name) {
        return None;
    }
    let at = changed.new_macro(call)?;
    let what = "no thread that holds the object of the new critical section";
    Some((at, what.to_owned()))
}

/// The functions of the package that some function calls while it holds a lock, and those which
/// they call.
pub(super) fn called_under_lock(program: &Program<'_>) -> BTreeSet<Box<str>> {
    let functions: Vec<&Function> = program.functions().map(|(_, function)| function).collect();
    let mut found: BTreeSet<Box<str>> = BTreeSet::new();
    for function in &functions {
        for (name, held) in calls_with_locks(function) {
            if held.is_some() {
                found.insert(name);
            }
        }
    }
    let mut known = 0;
    while known < found.len() {
        known = found.len();
        for function in &functions {
            if found.contains(&*function.name) {
                found.extend(calls(function).map(|(_, name)| name.into()));
            }
        }
    }
    found
}

/// The function that took a lock which is held at `at` on some path.
fn held_at(function: &Function, at: ExprId) -> Option<String> {
    let problem = Held::new(function)?;
    problem.calls().into_iter().find_map(|(call, held)| {
        let lock = held.filter(|_| call == at)?;
        function.tree.called(lock).map(str::to_owned)
    })
}

/// The calls of a function by name, with a lock that is held at each.
fn calls_with_locks(function: &Function) -> Vec<(Box<str>, Option<ExprId>)> {
    let Some(problem) = Held::new(function) else {
        return Vec::new();
    };
    let name = |call: ExprId| function.tree.called(call).map(Box::from);
    let calls = problem.calls().into_iter();
    calls
        .filter_map(|(call, held)| Some((name(call)?, held)))
        .collect()
}

/// Which locks a path holds: the calls that took them.
struct Held<'a> {
    tree: &'a Tree,
    cfg: Cfg,
}

impl<'a> Held<'a> {
    /// `None` for a function that takes no lock.
    fn new(function: &'a Function) -> Option<Self> {
        calls(function).find(|(_, name)| holds_lock_by_name(name))?;
        Some(Self {
            tree: &function.tree,
            cfg: graph(function),
        })
    }

    /// All calls by name that some path reaches, each with the first lock that is held before it.
    fn calls(&self) -> Vec<(ExprId, Option<ExprId>)> {
        let Ok(solution) = dataflow::solve(&self.cfg, self) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for block in self.cfg.reverse_post_order() {
            let mut held = solution.input(block.index()).clone();
            for instr in &self.cfg.block(block).instrs {
                if let Some((_, call)) = instr.named_call() {
                    found.push((call, held.first().copied()));
                }
                self.step(&mut held, instr);
            }
        }
        found
    }

    fn step(&self, held: &mut BTreeSet<ExprId>, instr: &Instr) {
        match instr.named_call() {
            Some((name, call)) if holds_lock_by_name(name) => {
                held.insert(call);
            }
            Some((name, call)) if releases_lock_by_name(name) => {
                held.retain(|&taken| !self.is_same_lock(taken, call));
            }
            _ => {}
        }
    }

    /// Whether two calls have the same first argument, or none.
    fn is_same_lock(&self, taken: ExprId, given_back: ExprId) -> bool {
        let lock = |call| self.tree.call(call).map(|(_, args)| args.first().copied());
        match (lock(taken), lock(given_back)) {
            (Some(Some(taken)), Some(Some(given_back))) => {
                track::is_same(self.tree, taken, given_back)
            }
            (taken, given_back) => taken == given_back,
        }
    }
}

impl Analysis for Held<'_> {
    type Domain = BTreeSet<ExprId>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::Domain {
        BTreeSet::new()
    }

    fn boundary(&self) -> Self::Domain {
        BTreeSet::new()
    }

    fn transfer(&self, node: NodeId, held: &mut Self::Domain) {
        for instr in &self.cfg.blocks[node].instrs {
            self.step(held, instr);
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        let before = into.len();
        into.extend(from);
        into.len() > before
    }
}
