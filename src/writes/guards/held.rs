//! Which locks a function holds, at each of its expressions, on every path there.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Guards;
use super::path::{Path, Paths, Root};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree};
use crate::capi;
use crate::cfg::{self, Cfg, Instr, InstrKind, Source};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::state::{begins_section, ends_section, releases_lock_by_name, takes_lock_by_name};

/// What is held at one point; the path is `None` if it cannot be told which lock it is.
type Held = BTreeSet<Lock>;

/// A lock that was taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lock {
    /// The record of a critical section.
    record: Option<LocalId>,
    path: Option<Path>,
}

/// The locks of one function.
#[derive(Debug, Default)]
pub(in crate::writes) struct Locked {
    at: FxHashMap<ExprId, Held>,
}

impl Locked {
    pub(in crate::writes) fn new(function: &Function) -> Self {
        let tree = &function.tree;
        if !tree.calls().any(|(_, name)| takes_lock_by_name(name)) {
            return Self::default();
        }
        let cfg = cfg::build(function, &capi::never_returns);
        let problem = Problem {
            cfg: &cfg,
            tree,
            paths: Paths::new(function),
        };
        let mut locked = Self::default();
        let Ok(solution) = dataflow::solve(&cfg, &problem) else {
            return locked;
        };
        for (block, body) in cfg.iter() {
            let Some(mut state) = solution.input(block.index()).clone() else {
                continue;
            };
            for instr in &body.instrs {
                if let Source::Expr(expr) = instr.source {
                    locked.note(expr, &state);
                }
                problem.step(&mut state, instr);
            }
        }
        locked
    }

    fn note(&mut self, expr: ExprId, state: &Held) {
        let known = self.at.entry(expr).or_insert_with(|| state.clone());
        known.retain(|lock| state.contains(lock));
    }

    /// The locks that are held where `expr` is evaluated.
    pub(in crate::writes) fn at(&self, tree: &Tree, expr: ExprId) -> Guards {
        let Some(held) = self.around(tree, expr) else {
            return Guards::default();
        };
        Guards {
            is_any: !held.is_empty(),
            paths: held.iter().filter_map(|lock| lock.path.clone()).collect(),
        }
    }

    /// Whether any lock is held there.
    pub(in crate::writes) fn is_any(&self, tree: &Tree, expr: ExprId) -> bool {
        let held = self.around(tree, expr);
        held.is_some_and(|held| !held.is_empty())
    }

    fn around(&self, tree: &Tree, expr: ExprId) -> Option<&Held> {
        if self.at.is_empty() {
            return None;
        }
        let range = tree.expr(expr).range;
        let length = |at: ExprId| {
            let around = tree.expr(at).range;
            around.end - around.start
        };
        let exact = self.at.get(&expr);
        exact.or_else(|| {
            let around = self.at.iter();
            let around = around.filter(|(at, _)| tree.expr(**at).range.contains(range));
            Some(around.min_by_key(|(at, _)| (length(**at), **at))?.1)
        })
    }
}

struct Problem<'a> {
    cfg: &'a Cfg,
    tree: &'a Tree,
    paths: Paths<'a>,
}

impl Problem<'_> {
    fn step(&self, held: &mut Held, instr: &Instr) {
        let (InstrKind::Call { .. }, Source::Expr(call)) = (&instr.kind, instr.source) else {
            return;
        };
        let ExprKind::Call { callee, args } = &self.tree.expr(call).kind else {
            return;
        };
        let Some(name) = self.tree.callee_name(*callee) else {
            return;
        };
        let record = || self.tree.as_address(*args.first()?);
        if begins_section(name) {
            let objects = args.iter().skip(1);
            held.extend(objects.map(|&object| Lock {
                record: record(),
                path: self.paths.pointee(object),
            }));
        } else if ends_section(name) {
            let record = record();
            held.retain(|lock| lock.record.is_some() && lock.record != record);
        } else if takes_lock_by_name(name) {
            // One that may come back without it does not count: `pthread_mutex_trylock`.
            held.insert(self.lock(name, args));
        } else if releases_lock_by_name(name) {
            let given_back = self.lock(name, args);
            let is_known = held.remove(&given_back);
            // It may be any of those that are held.
            held.retain(|lock| is_known || lock.record.is_some());
        }
    }

    fn lock(&self, name: &str, args: &[ExprId]) -> Lock {
        let path = match args.first() {
            Some(&lock) => self.paths.pointee(lock),
            None => Some(Path {
                root: Root::Of(family(name)),
                steps: Vec::new(),
            }),
        };
        Lock { record: None, path }
    }
}

/// What the names of the two functions share that take a lock and give it back: `lock_all`,
/// `unlock_all`.
fn family(name: &str) -> Box<str> {
    let mut name = name.to_ascii_lowercase();
    for word in ["unlock", "lock", "acquire", "release"] {
        name = name.replace(word, "");
    }
    name.into()
}

impl Analysis for Problem<'_> {
    /// `None` where no path leads.
    type Domain = Option<Held>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::Domain {
        None
    }

    fn boundary(&self) -> Self::Domain {
        Some(Held::new())
    }

    fn transfer(&self, node: NodeId, state: &mut Self::Domain) {
        if let Some(held) = state {
            for instr in &self.cfg.blocks[node].instrs {
                self.step(held, instr);
            }
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        match (into.as_mut(), from) {
            (_, None) => false,
            (None, Some(held)) => {
                *into = Some(held.clone());
                true
            }
            (Some(both), Some(held)) => {
                let before = both.len();
                both.retain(|lock| held.contains(lock));
                both.len() < before
            }
        }
    }
}
