//! What functions of the package do to the thread of their caller.
//!
//! ```c
//! static void leave(Connection *c) { if (c->shared) c->state = PyEval_SaveThread(); }
//! ```

use std::collections::BTreeSet;

use super::PackageCx;
use crate::ast::Function;
use crate::capi::{self, ATTACH_THREAD, DETACH_THREAD, GIVE_UP_THREAD};
use crate::cfg::{self, BlockId, Callee, Cfg, InstrKind};
use crate::program::ItemId;

/// How the thread stands, compared with the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadState {
    /// Whether it may be detached.
    pub detached: bool,
    /// How many more calls of `PyGILState_Ensure` there were than of `PyGILState_Release`, at least.
    pub ensured: i8,
}

impl ThreadState {
    /// Attached.
    pub const BEGIN: Self = Self {
        detached: false,
        ensured: 0,
    };

    /// Whether a thread that was attached in the beginning may not be any more.
    #[must_use]
    pub fn is_given_up(self) -> bool {
        self.detached || self.ensured < 0
    }

    /// Follows a call of `name`, which may detach the thread or give it up in another way.
    pub fn call(&mut self, name: &str, gives_up: impl Fn(&str) -> bool) {
        match name {
            // Behind the outermost one the thread is detached.
            _ if capi::ends_ensure(name) => {
                self.ensured = (self.ensured - 1).max(-1);
            }
            _ if capi::ensures_thread(name) => {
                self.ensured = (self.ensured + 1).min(8);
            }
            _ if capi::attaches(name) => {
                self.detached = false;
                self.ensured = self.ensured.max(0);
            }
            _ => self.detached |= gives_up(name),
        }
    }
}

/// The functions of a package that turn the thread of their caller, by name.
#[derive(Debug, Default)]
pub struct Threads {
    /// Those behind which a thread that was attached may have no state, or another one.
    pub giving_up: BTreeSet<Box<str>>,
    /// Those of them behind which it may be detached.
    detaching: BTreeSet<Box<str>>,
    /// Those behind which a thread that was detached may be attached.
    attaching: BTreeSet<Box<str>>,
}

impl Threads {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let without = |seeds: &[&str]| {
            spread(cx, seeds, BTreeSet::new(), |function, known| {
                let step = |state: &mut ThreadState, name: &str| {
                    state.call(name, |it| seeds.contains(&it) || known.contains(it));
                };
                returns(function, ThreadState::BEGIN, step, ThreadState::is_given_up)
            })
        };
        let (giving_up, detaching) = (without(GIVE_UP_THREAD), without(DETACH_THREAD));
        let attaching = spread(cx, ATTACH_THREAD, BTreeSet::new(), |function, known| {
            let detached = ThreadState {
                detached: true,
                ..ThreadState::BEGIN
            };
            let step = |state: &mut ThreadState, name: &str| {
                state.call(name, |it| capi::detaches(it) || detaching.contains(it));
                state.detached &= !known.contains(name);
            };
            let is_attached = |it: ThreadState| !it.detached || it.ensured > 0;
            returns(function, detached, step, is_attached)
        });
        Self {
            giving_up,
            detaching,
            attaching,
        }
    }

    /// Whether the thread may have no state behind a call of `name`, or another one.
    #[must_use]
    pub fn gives_up(&self, name: &str) -> bool {
        capi::gives_up_thread(name) || self.giving_up.contains(name)
    }

    /// Whether the thread may be detached behind a call of `name`. What attaches one that was not
    /// is called by such: it may let a state go to take another one.
    #[must_use]
    pub fn detaches(&self, name: &str) -> bool {
        let may_detach = capi::detaches(name) || self.detaching.contains(name);
        may_detach && !self.attaching.contains(name)
    }

    /// Whether a thread that was detached may be attached behind a call of `name`.
    #[must_use]
    pub fn attaches(&self, name: &str) -> bool {
        capi::attaches(name) || self.attaching.contains(name)
    }
}

/// Whether the function may return in such a state, entered in `state`.
fn returns(
    function: &Function,
    state: ThreadState,
    step: impl Fn(&mut ThreadState, &str),
    is_so: impl Fn(ThreadState) -> bool,
) -> bool {
    let cfg = cfg::build(function, &capi::never_returns);
    let ends: BTreeSet<BlockId> = cfg.returns().map(|point| point.block).collect();
    let mut open = vec![(Cfg::ENTRY, state)];
    let mut seen: BTreeSet<(BlockId, ThreadState)> = open.iter().copied().collect();
    while let Some((at, mut state)) = open.pop() {
        let block = cfg.block(at);
        for instr in &block.instrs {
            if let InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } = &instr.kind
            {
                step(&mut state, name);
            }
        }
        if ends.contains(&at) && is_so(state) {
            return true;
        }
        let next = block.successors.iter().map(|&next| (next, state));
        open.extend(next.filter(|next| seen.insert(*next)));
    }
    false
}

/// The names of functions for which `holds`, which may ask for those that are known: the callers
/// of `seeds`, those in `items`, and their callers in turn.
pub fn spread(
    cx: &PackageCx<'_>,
    seeds: &[&str],
    items: BTreeSet<ItemId>,
    holds: impl Fn(&Function, &BTreeSet<Box<str>>) -> bool,
) -> BTreeSet<Box<str>> {
    let callers = |name: &str| cx.calls_to(name).iter().map(|site| site.item);
    let mut known: BTreeSet<Box<str>> = BTreeSet::new();
    let mut open = items;
    open.extend(seeds.iter().flat_map(|name| callers(name)));
    while let Some(item) = open.pop_first() {
        let Some(function) = cx.function(item) else {
            continue;
        };
        let name = &*function.name;
        if !known.contains(name) && holds(function, &known) {
            known.insert(name.into());
            open.extend(callers(name));
        }
    }
    known
}
