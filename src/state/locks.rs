//! Whether a place is reached with a lock held, as far as names and order of calls show.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ast::{ExprId, ExprKind, Tree};
use crate::capi::{LockAct, words_of};
use crate::program::{Body, ItemId};
use crate::rule::PackageCx;

/// How many callers up a lock is looked for.
const MAX_DEPTH: u32 = 3;

/// The calls of a package that take and release locks.
#[derive(Debug)]
pub struct Locks<'c, 'a> {
    cx: &'c PackageCx<'a>,
    calls: BTreeMap<ItemId, LockCalls>,
    /// Functions that are only called with a lock held, as far as they were asked for.
    held_by_callers: RefCell<FxHashMap<ItemId, bool>>,
}

#[derive(Debug, Default)]
struct LockCalls {
    taken: Vec<ExprId>,
    released: Vec<ExprId>,
}

impl<'c, 'a> Locks<'c, 'a> {
    /// Looks for the calls.
    #[must_use]
    pub fn new(cx: &'c PackageCx<'a>) -> Self {
        let mut calls = BTreeMap::new();
        for (at, item) in (0u32..).zip(&cx.program.items) {
            if let Some(Body::Function(function)) = &item.body {
                let found = lock_calls(&function.tree);
                if !found.taken.is_empty() {
                    calls.insert(ItemId(at), found);
                }
            }
        }
        Self {
            cx,
            calls,
            held_by_callers: RefCell::default(),
        }
    }

    /// Whether a lock is held at `expr`: one is taken before it and released behind it, here or
    /// around every call of the function in the package. Which lock is not asked.
    #[must_use]
    pub fn is_held(&self, item: ItemId, expr: ExprId) -> bool {
        self.is_held_at(item, expr, MAX_DEPTH)
    }

    fn is_held_at(&self, item: ItemId, expr: ExprId, depth: u32) -> bool {
        let here = self.calls.get(&item).is_some_and(|calls| {
            calls.taken.iter().any(|&at| at < expr) && calls.released.iter().any(|&at| at > expr)
        });
        here || self.callers_hold_once(item, depth)
    }

    fn callers_hold_once(&self, item: ItemId, depth: u32) -> bool {
        if let Some(&known) = self.held_by_callers.borrow().get(&item) {
            return known;
        }
        // Recursion proves nothing.
        self.held_by_callers.borrow_mut().insert(item, false);
        let held = self.callers_hold(item, depth);
        self.held_by_callers.borrow_mut().insert(item, held);
        held
    }

    fn callers_hold(&self, item: ItemId, depth: u32) -> bool {
        let Some(function) = self.cx.function(item) else {
            return false;
        };
        let name = function.name.as_str();
        if ["_lock_held", "_locked", "_nolock", "_unlocked"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            return true;
        }
        let index = self.cx.call_index();
        let sites = index.calls_to(name);
        depth > 0
            && !sites.is_empty()
            && !index.is_mentioned(name)
            && sites
                .iter()
                .all(|site| self.is_held_at(site.item, site.expr, depth - 1))
    }
}

fn lock_calls(tree: &Tree) -> LockCalls {
    let mut found = LockCalls::default();
    for (at, expr) in (0u32..).zip(&tree.exprs) {
        let ExprKind::Call { callee, .. } = &expr.kind else {
            continue;
        };
        match tree.callee_name(*callee).map(effect) {
            Some(Some(Effect::Takes)) => found.taken.push(ExprId(at)),
            Some(Some(Effect::Releases)) => found.released.push(ExprId(at)),
            _ => {}
        }
    }
    found
}

/// Whether a function takes a lock by its name, and waits for it: `pthread_mutex_trylock` does not.
#[must_use]
pub fn takes_lock_by_name(name: &str) -> bool {
    effect(name) == Some(Effect::Takes) && !name.to_ascii_lowercase().contains("try")
}

/// What a function that was not read does to a lock, by its name: one that may come back without
/// the lock takes none.
#[must_use]
pub fn lock_act_by_name(name: &str) -> Option<LockAct> {
    const SHARED: [&str; 7] = [
        "read", "reader", "readlock", "rd", "rdlock", "rlock", "shared",
    ];
    match effect(name)? {
        Effect::Releases => Some(LockAct::Gives),
        Effect::Takes if !takes_lock_by_name(name) => None,
        Effect::Takes if words_of(name).any(|word| SHARED.contains(&&*word)) => {
            Some(LockAct::Shares)
        }
        Effect::Takes => Some(LockAct::Takes),
    }
}

/// Whether a function takes a lock by its name, maybe without waiting, which stays taken until it is
/// given back: a critical section does not while its thread waits.
#[must_use]
pub fn holds_lock_by_name(name: &str) -> bool {
    effect(name) == Some(Effect::Takes) && !begins_section(name)
}

/// Whether a function of the C API begins a critical section.
#[must_use]
pub fn begins_section(name: &str) -> bool {
    matches!(
        name,
        "PyCriticalSection_Begin"
            | "PyCriticalSection2_Begin"
            | "PyCriticalSection_BeginMutex"
            | "PyCriticalSection2_BeginMutex"
    )
}

/// Whether a function of the C API ends a critical section.
#[must_use]
pub fn ends_section(name: &str) -> bool {
    matches!(name, "PyCriticalSection_End" | "PyCriticalSection2_End")
}

/// Whether a function releases a lock by its name.
#[must_use]
pub fn releases_lock_by_name(name: &str) -> bool {
    effect(name) == Some(Effect::Releases)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Takes,
    Releases,
}

/// What a call does to a lock by its name: `PyMutex_Lock`, `pthread_mutex_lock`,
/// `PyThread_acquire_lock`, `EnterCriticalSection`, and what packages call theirs.
fn effect(name: &str) -> Option<Effect> {
    match name {
        "EnterCriticalSection" => return Some(Effect::Takes),
        _ if begins_section(name) => return Some(Effect::Takes),
        "LeaveCriticalSection" => return Some(Effect::Releases),
        _ if ends_section(name) => return Some(Effect::Releases),
        // The GIL.
        _ if name.starts_with("PyEval_") || name.starts_with("PyGILState_") => return None,
        _ => {}
    }
    let lower = name.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let is_other = [
        "block",
        "clock",
        "flock",
        "alloc",
        "free",
        "init",
        "interlocked",
        "destroy",
        "is_locked",
    ]
    .iter()
    .any(|part| has(part));
    if is_other || !has("lock") && !has("mutex") {
        None
    } else if has("unlock") || has("release") {
        Some(Effect::Releases)
    } else if has("lock") || has("acquire") {
        Some(Effect::Takes)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, effect};

    #[test]
    fn names_of_locks_are_told_from_others() {
        for name in [
            "PyMutex_Lock",
            "PyThread_acquire_lock",
            "pool_mutex_acquire",
            "LOCK",
        ] {
            assert_eq!(effect(name), Some(Effect::Takes), "{name}");
        }
        for name in [
            "PyMutex_Unlock",
            "PyThread_release_lock",
            "pthread_mutex_unlock",
        ] {
            assert_eq!(effect(name), Some(Effect::Releases), "{name}");
        }
        for name in [
            "clock_gettime",
            "PyThread_allocate_lock",
            "PyEval_AcquireLock",
            "InterlockedIncrement",
            "flock",
        ] {
            assert_eq!(effect(name), None, "{name}");
        }
    }
}
