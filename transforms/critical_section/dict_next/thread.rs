//! Whether the thread still has its state where a section ends and references are released.
//!
//! ```c
//! #define END_CALLBACK() PyGILState_Release(state)
//!
//! while (PyDict_Next(dict, &pos, &key, &value)) {
//!     if (PyObject_IsTrue(value)) {
//!         END_CALLBACK();                 /* no section may end behind it */
//!         return 1;
//!     }
//! }
//! ```

use std::collections::BTreeSet;

use super::exits::Exits;
use super::plan::Plan;
use super::scope::{Scope, inside};
use super::site::Site;
use super::text::is_gil_word;
use crate::ast::{ExprKind, StmtKind, TokenRange};
use crate::capi;
use crate::cfg::{Callee, Cfg, Instr, InstrKind, Point};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};
use crate::rule::{ThreadState as State, Threads};

/// What calls do to the thread.
#[derive(Debug, Clone, Copy)]
struct Calls<'a> {
    threads: &'a Threads,
    /// Whether a call through a pointer may be of such a function.
    indirect: bool,
}

impl Calls<'_> {
    fn step(&self, state: &mut State, instr: &Instr) {
        let InstrKind::Call { callee, .. } = &instr.kind else {
            return;
        };
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(_) => {
                state.detached |= self.indirect;
                return;
            }
        };
        state.call(name, |it| self.gives_up(it));
    }

    fn gives_up(&self, name: &str) -> bool {
        self.threads.gives_up(name)
    }
}

/// Follows the thread through the steps that `counts` says.
struct Flow<'a> {
    cfg: &'a Cfg,
    calls: Calls<'a>,
    counts: &'a dyn Fn(&Instr) -> Counts,
}

/// What a step of the function is for what is asked.
enum Counts {
    Yes,
    No,
    /// What is asked begins anew.
    Outside,
}

impl Flow<'_> {
    fn step(&self, state: &mut Option<State>, instr: &Instr) {
        let Some(state) = state else {
            return;
        };
        match (self.counts)(instr) {
            Counts::Yes => self.calls.step(state, instr),
            Counts::No => {}
            Counts::Outside => *state = State::BEGIN,
        }
    }

    /// Whether the thread may be given up at `point`.
    fn is_given_up(&self, solution: &Solution<Option<State>>, point: Point) -> bool {
        let mut state = *solution.input(point.block.index());
        for instr in &self.cfg.block(point.block).instrs[..point.index] {
            self.step(&mut state, instr);
        }
        state.is_some_and(State::is_given_up)
    }
}

impl Analysis for Flow<'_> {
    type Domain = Option<State>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::Domain {
        None
    }

    fn boundary(&self) -> Self::Domain {
        Some(State::BEGIN)
    }

    fn transfer(&self, node: NodeId, state: &mut Self::Domain) {
        for instr in &self.cfg.blocks[node].instrs {
            self.step(state, instr);
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        let joined = match (*into, *from) {
            (Some(one), Some(other)) => Some(State {
                detached: one.detached || other.detached,
                ensured: one.ensured.min(other.ensured),
            }),
            (one, other) => one.or(other),
        };
        let grows = joined != *into;
        *into = joined;
        grows
    }
}

/// An error if the section of `site` may end, or a reference of it be released, when the thread has
/// no state.
pub(super) fn stays_attached(
    scope: &Scope<'_>,
    site: &Site,
    exits: &Exits,
    plan: &Plan,
) -> Result<(), String> {
    let region = site.range(scope);
    let departures = plan.exits.iter();
    let later = departures.flat_map(|departure| {
        let own = (!departure.has_value).then_some(departure.exit.stmt);
        departure.moved.iter().copied().chain(own)
    });
    let later: Vec<TokenRange> = later.map(|stmt| scope.range(stmt)).collect();
    let mut ends: Vec<Option<Point>> = Vec::new();
    for departure in &plan.exits {
        ends.push(scope.cfg.before(departure.exit.stmt));
    }
    ends.extend(exits.own.iter().map(|&stmt| scope.cfg.before(stmt)));
    ends.extend([site.region.last, site.body.last].map(|stmt| scope.cfg.after(stmt)));
    let computed = plan.exits.iter().filter(|departure| departure.has_value);
    let computed: Vec<TokenRange> = computed.map(|it| scope.range(it.exit.stmt)).collect();
    let ends: Vec<Point> = ends.into_iter().flatten().collect();
    match culprit(scope, region, &later, &computed, &ends) {
        Some(word) => Err(format!(
            "iterate over a copy (`PyDict_Copy`), because `{word}` in the loop may detach the \
             thread and a critical section must not end without a thread state"
        )),
        None => Ok(()),
    }
}

/// What may have given the thread up at one of the points `ends`, or in one of the ranges `never`,
/// among the steps of `region` outside of `later`.
fn culprit(
    scope: &Scope<'_>,
    region: TokenRange,
    later: &[TokenRange],
    never: &[TokenRange],
    ends: &[Point],
) -> Option<String> {
    let is_later = |range: TokenRange| later.iter().any(|other| inside(range, *other));
    if let Some(word) = word_of_macro(scope, region, &is_later) {
        return Some(word);
    }
    let calls = calls(scope);
    let name = |instr: &Instr| match &instr.kind {
        InstrKind::Call {
            callee: Callee::Named(name),
            ..
        } => calls.gives_up(name).then(|| name.to_string()),
        InstrKind::Call { .. } => calls
            .indirect
            .then(|| String::from("a call through a pointer")),
        _ => None,
    };
    let own = scope.steps_in(region);
    let mut own = own.filter(|instr| !is_later(scope.source_range(instr.source)));
    let first = own.find_map(name);
    if let Some(name) = handed_on(scope, region, &calls.threads.giving_up) {
        return Some(name);
    }
    let first = first?;
    let mut steps = never.iter().flat_map(|&range| scope.steps_in(range));
    if let Some(name) = steps.find_map(name) {
        return Some(name);
    }
    let counts = |instr: &Instr| match scope.source_range(instr.source) {
        range if !inside(range, region) => Counts::Outside,
        range if is_later(range) => Counts::No,
        _ => Counts::Yes,
    };
    let flow = Flow {
        cfg: &scope.cfg,
        calls,
        counts: &counts,
    };
    let Ok(solution) = dataflow::solve(&scope.cfg, &flow) else {
        return Some(first);
    };
    let mut ends = ends.iter();
    ends.any(|&end| flow.is_given_up(&solution, end))
        .then_some(first)
}

fn calls<'s>(scope: &Scope<'s>) -> Calls<'s> {
    let threads = scope.cx.threads();
    let index = scope.cx.call_index();
    Calls {
        threads,
        indirect: threads
            .giving_up
            .iter()
            .any(|name| index.is_mentioned(name)),
    }
}

/// A function of `helpers` that a call in `region` gets to call: `each(list, leave)`.
fn handed_on(
    scope: &Scope<'_>,
    region: TokenRange,
    helpers: &BTreeSet<Box<str>>,
) -> Option<String> {
    let tree = scope.tree();
    let mut args = tree
        .exprs_in(region)
        .flat_map(|(_, expr)| match &expr.kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        });
    args.find_map(|&arg| {
        let name = tree.callee_name(tree.without_casts(arg))?;
        helpers.contains(name).then(|| name.to_owned())
    })
}

/// A word that tells of the GIL in what macros of the region stand for, outside of what is done
/// `later`: `#define LEAVE() UWSGI_RELEASE_GIL`.
fn word_of_macro(
    scope: &Scope<'_>,
    region: TokenRange,
    is_later: &dyn Fn(TokenRange) -> bool,
) -> Option<String> {
    let tokens = &scope.cx.item(scope.item).tokens;
    let is_own = |range: TokenRange| inside(range, region) && !is_later(range);
    let is_made = |at: u32| tokens.tokens[at as usize].expansion.is_some();
    let text = |at: u32| tokens.text(scope.cx.program.files, at);
    let targets = scope
        .tree()
        .stmts
        .iter()
        .filter_map(|stmt| match stmt.kind {
            StmtKind::Goto(_) => Some(stmt.range),
            _ => None,
        });
    let targets: Vec<TokenRange> = targets.collect();
    let mut words = (region.start..region.end).filter(|&at| {
        let range = TokenRange {
            start: at,
            end: at + 1,
        };
        let is_target = targets.iter().any(|target| inside(range, *target));
        is_made(at) && !is_target && is_own(range) && is_unknown(text(at))
    });
    let used = tokens.expansions.iter();
    let mut used = used.filter(|used| is_own(used.tokens) && is_unknown(used.name.as_bytes()));
    let name = used.next().map(|used| used.name.to_string());
    let word = || {
        words
            .next()
            .map(|at| String::from_utf8_lossy(text(at)).into_owned())
    };
    name.or_else(word)
}

/// Whether a word tells of the GIL, and is none that the tree shows for what it does.
fn is_unknown(word: &[u8]) -> bool {
    !capi::gives_up_thread(&String::from_utf8_lossy(word)) && is_gil_word(word)
}

/// Whether the function gives the thread up where its text does not say so: by a function of the
/// package, or in a macro of its own.
pub(super) fn gives_up_unseen(scope: &Scope<'_>) -> bool {
    let calls = calls(scope);
    let tokens = &scope.cx.item(scope.item).tokens;
    scope.tree().calls().any(|(call, name)| {
        let at = scope.expr(call).range.start;
        let used = tokens.tokens[at as usize].expansion;
        let is_own = used.is_some_and(|used| tokens.root(used).definition.is_some());
        calls.threads.giving_up.contains(name) || capi::gives_up_thread(name) && is_own
    })
}
