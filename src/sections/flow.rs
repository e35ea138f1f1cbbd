//! Which sections may be open, and which may be closed, at each point.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{LocalId, Tree};
use crate::cfg::{
    BlockId, Callee, Cfg, Comparison, Instr, InstrKind, Operand, Point, TempId, Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};

use super::Section;
use super::calls::{Event, event, is_save};

/// What may be at one point. A section that is in both sets is open on some paths only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) open: BTreeSet<Section>,
    pub(super) closed: BTreeSet<Section>,
}

/// The solved problem for one function.
pub(super) struct Flow<'a> {
    problem: Problem<'a>,
    solution: Option<Solution<State>>,
    begins: BTreeMap<Section, Point>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(cfg: &'a Cfg, tree: &'a Tree) -> Self {
        let mut begins = BTreeMap::new();
        let mut sections = BTreeSet::new();
        let mut flags = BTreeMap::new();
        let by_hand = kept_by_hand(cfg, tree);
        for (block, body) in cfg.iter() {
            for (index, instr) in body.instrs.iter().enumerate() {
                match known_event(instr, tree, &by_hand) {
                    Some(Event::Begin(section)) => {
                        let at = Point { block, index };
                        begins.entry(section.clone()).or_insert(at);
                        sections.insert(section.clone());
                        flags.extend(guard(cfg, block).map(|flag| (section, flag)));
                    }
                    Some(Event::End(section)) => {
                        sections.insert(section);
                    }
                    Some(Event::StrayEnd) | None => {}
                }
            }
        }
        let problem = Problem {
            cfg,
            tree,
            by_hand,
            sections,
            flags,
        };
        let solution = dataflow::solve(cfg, &problem).ok();
        Self {
            problem,
            solution,
            begins,
        }
    }

    pub(super) fn cfg(&self) -> &'a Cfg {
        self.problem.cfg
    }

    /// What `instr` does to a section.
    pub(super) fn event(&self, instr: &Instr) -> Option<Event> {
        self.problem.event(instr)
    }

    /// Whether there is anything to check; a lone end without a record is.
    pub(super) fn has_sections(&self) -> bool {
        let stray = |instr: &Instr| self.event(instr) == Some(Event::StrayEnd);
        let mut instrs = self.problem.cfg.blocks.iter().flat_map(|b| &b.instrs);
        !self.problem.sections.is_empty() || instrs.any(stray)
    }

    pub(super) fn begin_of(&self, section: &Section) -> Option<Point> {
        self.begins.get(section).copied()
    }

    pub(super) fn at_start_of(&self, block: BlockId) -> State {
        let solution = self.solution.as_ref();
        solution.map_or_else(State::default, |s| s.input(block.index()).clone())
    }

    /// Whether `block` ends the section.
    pub(super) fn ends(&self, block: BlockId, section: &Section) -> bool {
        let instrs = &self.problem.cfg.block(block).instrs;
        instrs.iter().any(|instr| match &instr.kind {
            InstrKind::ScopeEnd { locals } => {
                matches!(section, Section::Record(record) if locals.contains(record))
            }
            _ => matches!(self.event(instr), Some(Event::End(ended)) if ended == *section),
        })
    }

    /// The state after `instr`.
    pub(super) fn step(&self, state: &mut State, instr: &Instr) {
        self.problem.step(state, instr);
    }
}

struct Problem<'a> {
    cfg: &'a Cfg,
    tree: &'a Tree,
    /// Thread states that are not just saved and restored.
    by_hand: BTreeSet<LocalId>,
    sections: BTreeSet<Section>,
    /// The flag under which a section begins: `if (should_lock) { PyCriticalSection_Begin(…); }`.
    flags: BTreeMap<Section, LocalId>,
}

impl Problem<'_> {
    fn event(&self, instr: &Instr) -> Option<Event> {
        known_event(instr, self.tree, &self.by_hand)
    }

    fn step(&self, state: &mut State, instr: &Instr) {
        match self.event(instr) {
            Some(Event::Begin(section)) => {
                state.closed.remove(&section);
                state.open.insert(section);
            }
            Some(Event::End(section)) => {
                state.open.remove(&section);
                state.closed.insert(section);
            }
            Some(Event::StrayEnd) | None => {}
        }
        if let InstrKind::ScopeEnd { locals } = &instr.kind {
            let records = locals.iter().map(|local| Section::Record(*local));
            for record in records.filter(|record| self.sections.contains(record)) {
                state.open.remove(&record);
                state.closed.insert(record);
            }
        }
    }
}

impl Analysis for Problem<'_> {
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::default()
    }

    fn boundary(&self) -> State {
        State {
            open: BTreeSet::new(),
            closed: self.sections.clone(),
        }
    }

    fn transfer(&self, node: NodeId, state: &mut State) {
        for instr in &self.cfg.blocks[node].instrs {
            self.step(state, instr);
        }
    }

    fn join(&self, into: &mut State, from: &State) -> bool {
        let before = (into.open.len(), into.closed.len());
        into.open.extend(from.open.iter().cloned());
        into.closed.extend(from.closed.iter().cloned());
        before != (into.open.len(), into.closed.len())
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut State) {
        let Some((flag, set)) = decided_flag(self.cfg, node, edge) else {
            return;
        };
        for (section, _) in self.flags.iter().filter(|(_, guard)| **guard == flag) {
            if set {
                state.closed.remove(section);
            } else {
                state.open.remove(section);
            }
        }
    }
}

fn known_event(instr: &Instr, tree: &Tree, by_hand: &BTreeSet<LocalId>) -> Option<Event> {
    event(instr, tree).filter(|event| match event {
        Event::Begin(Section::Record(record)) | Event::End(Section::Record(record)) => {
            !by_hand.contains(record)
        }
        Event::Begin(_) | Event::End(_) | Event::StrayEnd => true,
    })
}

/// Variables called `_save` that get other values than saved thread states, or are read other than
/// to restore them: whether such a block is open is kept in the value itself.
///
/// ```c
/// PyThreadState *_save = NULL;
/// if (is_long)
///     _save = PyEval_SaveThread();
/// ```
fn kept_by_hand(cfg: &Cfg, tree: &Tree) -> BTreeSet<LocalId> {
    let mut by_hand = BTreeSet::new();
    for block in &cfg.blocks {
        for (index, instr) in block.instrs.iter().enumerate() {
            let Some(local) = instr.place().and_then(|place| place.as_local()) else {
                continue;
            };
            // Value and variable meet in neighbouring steps in what the macros make.
            let partner = match instr.kind {
                InstrKind::Store { .. } => index.checked_sub(1).and_then(|at| block.instrs.get(at)),
                _ => block.instrs.get(index + 1),
            };
            if is_save(tree, local) && !partner.is_some_and(saves_or_restores) {
                by_hand.insert(local);
            }
        }
    }
    by_hand
}

fn saves_or_restores(instr: &Instr) -> bool {
    matches!(&instr.kind, InstrKind::Call { callee: Callee::Named(name), .. }
        if matches!(&**name, "PyEval_SaveThread" | "PyEval_RestoreThread"))
}

/// The flag that decides whether `block` runs, if it does only where the flag is set.
fn guard(cfg: &Cfg, block: BlockId) -> Option<LocalId> {
    let [from] = cfg.block(block).predecessors[..] else {
        return None;
    };
    let edge = cfg
        .block(from)
        .successors
        .iter()
        .position(|to| *to == block)?;
    let (flag, set) = decided_flag(cfg, from.index(), edge)?;
    set.then_some(flag)
}

/// The local that the branch at the end of `node` tests, and whether it is set along `edge`.
fn decided_flag(cfg: &Cfg, node: NodeId, edge: usize) -> Option<(LocalId, bool)> {
    let block = &cfg.blocks[node];
    let Terminator::Branch { condition, .. } = &block.terminator else {
        return None;
    };
    let Operand::Temp(temp) = condition.lhs else {
        return None;
    };
    if !condition.rhs.is_zero() {
        return None;
    }
    let set_if_true = match condition.comparison {
        Comparison::NotEqual => true,
        Comparison::Equal => false,
        _ => return None,
    };
    let flag = block
        .instrs
        .iter()
        .rev()
        .find_map(|instr| loaded(instr, temp))?;
    Some((flag, set_if_true == (edge == 0)))
}

fn loaded(instr: &Instr, temp: TempId) -> Option<LocalId> {
    match &instr.kind {
        InstrKind::Load { dst, place } if *dst == temp => place.as_local(),
        _ => None,
    }
}
