//! Whether the thread is attached, and which locks it holds, at each call of a function.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, Function};
use crate::capi::{self, ATTACH_THREAD, DETACH_THREAD, END_ENSURE};
use crate::cfg::{self, Cfg, Instr};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::rule::{ItemId, PackageCx};

use super::calls::{LOCKS, Turn, turn};

/// Ways in which the thread may be attached at a point: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread(u8);

impl Thread {
    /// As when the function was called.
    const ENTRY: u8 = 1;
    const ATTACHED: u8 = 2;
    const DETACHED: u8 = 4;

    /// Nothing has changed since the function was called.
    pub(super) fn is_as_at_entry(self) -> bool {
        self.0 == Self::ENTRY
    }

    /// Attached on every path, if it was when the function was called.
    pub(super) fn is_attached(self) -> bool {
        self.0 & Self::DETACHED == 0
    }

    /// Detached on every path.
    pub(super) fn is_detached(self) -> bool {
        self.0 == Self::DETACHED
    }

    fn after(self, turn: Turn) -> Self {
        Self(match turn {
            Turn::Attaches => Self::ATTACHED,
            Turn::Detaches => Self::DETACHED,
            Turn::GoesBack => Self::ENTRY | Self::ATTACHED | Self::DETACHED,
        })
    }
}

/// A call by name with what is known before it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: Box<str>,
    pub(super) call: ExprId,
    pub(super) thread: Thread,
    /// Locks held on every path: the argument as written, and the call that took it.
    pub(super) held: BTreeMap<String, ExprId>,
    /// The lock that the call waits for.
    pub(super) waits_for: Option<String>,
}

/// What the functions of the package do to the thread of their caller, by name.
pub(super) type Helpers<'a> = BTreeMap<&'a str, Turn>;

/// Functions that only detach, or only attach: `release_gil(self)`, `acquire_gil(self)`; and those
/// that make a thread state, which they attach in one way or another.
pub(super) fn helpers<'a>(cx: &PackageCx<'a>) -> Helpers<'a> {
    let users = |names: &[&str]| -> BTreeSet<&'a str> {
        let sites = names.iter().flat_map(|name| cx.calls_to(name));
        let functions = sites.filter_map(|site| cx.function(site.item));
        functions.map(|function| function.name.as_str()).collect()
    };
    let without_ends = |name: &&&str| !capi::ends_ensure(name);
    let detaching: Vec<&str> = DETACH_THREAD.iter().filter(without_ends).copied().collect();
    let detach = users(&detaching);
    let attach = users(ATTACH_THREAD);
    let back = users(END_ENSURE);
    let only = |these: &BTreeSet<&'a str>, turn| {
        let others = [&detach, &attach, &back];
        let alone = |name: &&&str| others.iter().filter(|set| set.contains(**name)).count() == 1;
        let alone: Vec<_> = these
            .iter()
            .filter(alone)
            .map(|name| (*name, turn))
            .collect();
        alone
    };
    let mut helpers: Helpers<'a> = only(&detach, Turn::Detaches).into_iter().collect();
    helpers.extend(only(&attach, Turn::Attaches));
    helpers.extend(only(&back, Turn::GoesBack));
    let made = users(&["PyThreadState_New"]);
    helpers.extend(made.into_iter().map(|name| (name, Turn::GoesBack)));
    helpers
}

/// The calls by name that a function makes, in source order.
pub(super) fn steps(
    cx: &PackageCx<'_>,
    helpers: &Helpers<'_>,
    item: ItemId,
    function: &Function,
) -> Vec<Step> {
    let calls = plain_steps(function);
    let turns = |step: &Step| turn(&step.name).is_some() || helpers.contains_key(&*step.name);
    if calls.iter().any(|step| turns(step) || is_lock(&step.name)) {
        follow(cx, helpers, item, function)
    } else {
        calls
    }
}

/// The calls of a function that neither turns the thread nor takes a lock.
fn plain_steps(function: &Function) -> Vec<Step> {
    let exprs = (0u32..).zip(&function.tree.exprs);
    let calls = exprs.filter_map(|(at, expr)| match &expr.kind {
        ExprKind::Call { callee, .. } => Some((at, function.tree.callee_name(*callee)?)),
        _ => None,
    });
    calls
        .map(|(at, name)| Step {
            name: name.into(),
            call: ExprId(at),
            thread: Thread(Thread::ENTRY),
            held: BTreeMap::new(),
            waits_for: None,
        })
        .collect()
}

fn follow(
    cx: &PackageCx<'_>,
    helpers: &Helpers<'_>,
    item: ItemId,
    function: &Function,
) -> Vec<Step> {
    let graph = cfg::build(function, &capi::never_returns);
    let problem = Problem {
        cx,
        helpers,
        item,
        function,
        cfg: &graph,
    };
    let Ok(solution) = dataflow::solve(&graph, &problem) else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    for block in graph.reverse_post_order() {
        let mut state = solution.input(block.index()).clone();
        for instr in &graph.block(block).instrs {
            if let (Some((name, call)), Some(state)) = (instr.named_call(), &state) {
                steps.push(Step {
                    name: name.into(),
                    call,
                    thread: state.thread,
                    held: state.held.clone(),
                    waits_for: is_lock(name).then(|| problem.argument(call)).flatten(),
                });
            }
            problem.step(&mut state, instr);
        }
    }
    steps.sort_by_key(|step| step.call);
    steps
}

fn is_lock(name: &str) -> bool {
    LOCKS.iter().any(|(lock, _)| *lock == name)
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    thread: Thread,
    held: BTreeMap<String, ExprId>,
}

struct Problem<'a> {
    cx: &'a PackageCx<'a>,
    helpers: &'a Helpers<'a>,
    item: ItemId,
    function: &'a Function,
    cfg: &'a Cfg,
}

impl Problem<'_> {
    fn step(&self, state: &mut Option<State>, instr: &Instr) {
        let (Some(state), Some((name, call))) = (state, instr.named_call()) else {
            return;
        };
        if let Some(turn) = turn(name).or_else(|| self.helpers.get(name).copied()) {
            state.thread = state.thread.after(turn);
        } else if is_lock(name) {
            if let Some(lock) = self.argument(call) {
                state.held.entry(lock).or_insert(call);
            }
        } else if LOCKS.iter().any(|(_, unlock)| *unlock == name)
            && let Some(lock) = self.argument(call)
        {
            state.held.remove(&lock);
        }
    }

    /// The first argument as written, without blanks. `None` for an attempt that does not wait:
    /// `PyThread_acquire_lock(lock, 0)`.
    fn argument(&self, call: ExprId) -> Option<String> {
        let ExprKind::Call { args, .. } = &self.function.tree.expr(call).kind else {
            return None;
        };
        if let Some(wait) = args.get(1)
            && !matches!(self.function.tree.expr(*wait).kind, ExprKind::Int(Some(1)))
            && !self.text(*wait)?.ends_with("WAIT_LOCK")
        {
            return None;
        }
        let text = self.text(*args.first()?)?;
        (!text.is_empty()).then_some(text)
    }

    fn text(&self, expr: ExprId) -> Option<String> {
        let tokens = &self.cx.item(self.item).tokens;
        let range = self.function.tree.expr(expr).range;
        let words = (range.start..range.end)
            .map(|at| String::from_utf8_lossy(tokens.text(self.cx.program.files, at)).into_owned());
        let text: String = words.collect();
        (text != "NOWAIT_LOCK").then_some(text)
    }
}

impl Analysis for Problem<'_> {
    /// `None` where nothing flows.
    type Domain = Option<State>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::Domain {
        None
    }

    fn boundary(&self) -> Self::Domain {
        Some(State {
            thread: Thread(Thread::ENTRY),
            held: BTreeMap::new(),
        })
    }

    fn transfer(&self, node: NodeId, state: &mut Self::Domain) {
        for instr in &self.cfg.blocks[node].instrs {
            self.step(state, instr);
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        match (into, from) {
            (_, None) => false,
            (into @ None, Some(_)) => {
                into.clone_from(from);
                true
            }
            (Some(into), Some(from)) => {
                let before = (into.thread, into.held.len());
                into.thread.0 |= from.thread.0;
                into.held.retain(|lock, _| from.held.contains_key(lock));
                before != (into.thread, into.held.len())
            }
        }
    }
}
