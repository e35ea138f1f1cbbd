//! Whether two functions take the same steps on all paths: what is `x = c ? a : b;` in one may be an
//! `if` in the other, and a new variable may hold a value in between.
//!
//! Both run side by side. Where they call, store, branch or return, they must do the same with the
//! same values. Variables whose address nobody takes, and temporaries, stand for what they hold.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Function, LocalId};
use crate::capi;
use crate::cfg::{
    self, Base, BlockId, Callee, Cfg, Instr, InstrKind, LiveTemps, Liveness, Operand, Place, Point,
    Projection, TempId, Terminator,
};

/// Most steps that are compared.
const MAX_STEPS: usize = 20_000;

/// Most states in which it is remembered which variables hold the same value.
const MAX_EXACT_STATES: usize = 1000;

/// Whether `new`, which may have more variables, does what `old` does.
pub(crate) fn same_steps(old: &Function, new: &Function) -> bool {
    let (old, new) = (Side::new(old), Side::new(new));
    let mut open = vec![[old.entry(), new.entry()]];
    let mut seen = BTreeSet::new();
    let mut steps = 0;
    while let Some(mut pair) = open.pop() {
        if seen.len() > MAX_EXACT_STATES {
            part(&mut pair);
        }
        rename(&mut pair);
        if !seen.insert(pair.clone()) {
            continue;
        }
        let [one, other] = &mut pair;
        let ways = loop {
            steps += 1;
            let step = old.next(one).filter(|_| steps < MAX_STEPS);
            if step.is_none() || step != new.next(other) {
                return false;
            }
            match (old.ways(one), new.ways(other)) {
                (None, None) => {}
                (Some(ways), Some(others)) if ways.len() == others.len() => {
                    break ways.into_iter().zip(others);
                }
                _ => return false,
            }
            one.index += 1;
            other.index += 1;
        };
        open.extend(ways.map(|(way, same)| [old.at(one, way), new.at(other, same)]));
    }
    true
}

/// How far one of them is.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    block: u32,
    index: usize,
    locals: BTreeMap<String, String>,
    temps: BTreeMap<TempId, String>,
    /// Steps since the last branch, any of which may write memory.
    steps: usize,
}

/// Gives the values that both hold the names of their order, so that a loop comes back to the same.
/// Numbers stay what they are.
fn rename(pair: &mut [State; 2]) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for state in pair {
        let values = state.locals.values_mut().chain(state.temps.values_mut());
        for value in values.filter(|value| value.parse::<i64>().is_err()) {
            let number = names.len();
            let name = names.entry(value.clone());
            value.clone_from(name.or_insert_with(|| format!("v{number}")));
        }
        state.steps = 0;
    }
}

/// Forgets what the variables hold that hold the same in both: with several of them that are set in
/// branches of a loop, there are too many ways for their values to be the same or not.
fn part(pair: &mut [State; 2]) {
    let [one, other] = pair;
    for (name, value) in &mut one.locals {
        if let Some(same) = other.locals.get_mut(name).filter(|same| *same == value) {
            *value = format!("now {name}");
            same.clone_from(value);
        }
    }
}

/// One of the functions.
struct Side<'f> {
    function: &'f Function,
    cfg: Cfg,
    live: LiveTemps,
    /// The variables that are read from the start of each block on.
    read: Vec<BTreeSet<String>>,
    /// Variables that only their names lead to.
    own: BTreeSet<LocalId>,
}

impl<'f> Side<'f> {
    fn new(function: &'f Function) -> Self {
        let cfg = cfg::build(function, &capi::never_returns);
        let pointed_at = cfg.address_taken().to_vec();
        let is_own = |local: &LocalId| {
            function.tree.local(*local).is_automatic() && !pointed_at.contains(local)
        };
        let count = u32::try_from(function.tree.locals.len()).expect("locals are indexed by u32");
        let mut side = Self {
            function,
            live: LiveTemps::new(&cfg),
            read: Vec::new(),
            own: (0..count).map(LocalId).filter(is_own).collect(),
            cfg,
        };
        side.read = side.read_from_blocks();
        side
    }

    fn read_from_blocks(&self) -> Vec<BTreeSet<String>> {
        let liveness = Liveness::new(&self.cfg, self.function.tree.locals.len());
        let read = |(block, _)| {
            let start = Point { block, index: 0 };
            let own = self
                .own
                .iter()
                .filter(|&&local| liveness.is_live(local, start));
            own.map(|&local| self.name(local)).collect()
        };
        self.cfg.iter().map(read).collect()
    }

    fn entry(&self) -> State {
        let params = self.function.params.iter();
        let names = params.map(|&param| self.name(param));
        State {
            locals: names.map(|name| (name.clone(), name)).collect(),
            ..State::default()
        }
    }

    /// Runs up to the next step that others can see, and says what it is.
    fn next(&self, state: &mut State) -> Option<String> {
        for _ in 0..MAX_STEPS {
            let block = self.cfg.block(BlockId(state.block));
            if let Some(instr) = block.instrs.get(state.index) {
                if let Some(step) = self.run(instr, state) {
                    return Some(step);
                }
                state.index += 1;
            } else if let Terminator::Goto(target) = &block.terminator {
                *state = self.at(state, *target);
            } else {
                return self.end(&block.terminator, state);
            }
        }
        None
    }

    /// Where to go on, if the function is at the end of a block.
    fn ways(&self, state: &State) -> Option<Vec<BlockId>> {
        let block = self.cfg.block(BlockId(state.block));
        (state.index == block.instrs.len()).then(|| block.terminator.targets())
    }

    fn at(&self, state: &State, block: BlockId) -> State {
        let mut state = State {
            block: block.0,
            index: 0,
            ..state.clone()
        };
        state
            .temps
            .retain(|&temp, _| self.live.is_live_into(temp, block));
        let read = &self.read[block.index()];
        state.locals.retain(|name, _| read.contains(name));
        state
    }

    /// What a step is, if others can see it.
    fn run(&self, instr: &Instr, state: &mut State) -> Option<String> {
        let (value, step) = match &instr.kind {
            InstrKind::Declare { local } => {
                state
                    .locals
                    .insert(self.name(*local), "undefined".to_owned());
                (String::new(), None)
            }
            InstrKind::ScopeEnd { .. } => (String::new(), None),
            InstrKind::Asm => (String::new(), Some("asm".to_owned())),
            InstrKind::Load { place, .. } => (self.load(place, state), None),
            InstrKind::Copy { src, .. } => (self.value(src, state), None),
            InstrKind::Cast { ty, src, .. } => {
                (format!("({ty:?}){}", self.value(src, state)), None)
            }
            InstrKind::Op { op, operands, .. } => {
                let value = format!("{op:?}({})", self.values(operands, state));
                let is_step = matches!(op, cfg::Op::VaArg);
                (value.clone(), is_step.then_some(value))
            }
            InstrKind::Store { place, value } => {
                let value = self.value(value, state);
                match place.as_local().filter(|local| self.own.contains(local)) {
                    Some(local) => {
                        state.locals.insert(self.name(local), value);
                        (String::new(), None)
                    }
                    None => {
                        let step = format!("{} = {value}", self.place(place, state));
                        (String::new(), Some(step))
                    }
                }
            }
            InstrKind::Call { callee, args, .. } => {
                let callee = match callee {
                    Callee::Named(name) => name.to_string(),
                    Callee::Indirect(callee) => format!("*{}", self.value(callee, state)),
                };
                let step = format!("{callee}({})", self.values(args, state));
                (format!("step {}", state.steps), Some(step))
            }
        };
        state.steps += usize::from(step.is_some());
        if let Some(dst) = instr.dst() {
            state.temps.insert(dst, value);
        }
        step
    }

    fn end(&self, terminator: &Terminator, state: &State) -> Option<String> {
        let values = terminator.operands().into_iter();
        let values: Vec<String> = values.map(|it| self.value(it, state)).collect();
        Some(match terminator {
            Terminator::Branch { condition, .. } => {
                format!("if {:?} {values:?}", condition.comparison)
            }
            Terminator::Switch { .. } => format!("switch {values:?}"),
            Terminator::Return(..) => format!("return {values:?}"),
            Terminator::Unreachable => "unreachable".to_owned(),
            Terminator::Goto(_) | Terminator::Indirect(_) => return None,
        })
    }

    fn load(&self, place: &Place, state: &State) -> String {
        match place.as_local().filter(|local| self.own.contains(local)) {
            Some(local) => {
                let name = self.name(local);
                state.locals.get(&name).cloned().unwrap_or(name)
            }
            None => format!("{} after {}", self.place(place, state), state.steps),
        }
    }

    fn place(&self, place: &Place, state: &State) -> String {
        let mut text = match &place.base {
            Base::Local(local) => self.name(*local),
            Base::Global(name) => name.to_string(),
            Base::Deref(pointer) => format!("*{}", self.value(pointer, state)),
            Base::Unnamed(_) => "unnamed".to_owned(),
        };
        for step in &place.path {
            text += &match step {
                Projection::Field(field) => format!(".{field}"),
                Projection::Index(index) => format!("[{}]", self.value(index, state)),
            };
        }
        text
    }

    fn values(&self, operands: &[Operand], state: &State) -> String {
        let values = operands.iter().map(|it| self.value(it, state));
        values.collect::<Vec<_>>().join(", ")
    }

    fn value(&self, operand: &Operand, state: &State) -> String {
        match operand {
            Operand::Temp(temp) => match state.temps.get(temp) {
                Some(value) => value.clone(),
                None => format!("{temp:?} of {:p}", self.function),
            },
            Operand::Null | Operand::Int(0) => "0".to_owned(),
            Operand::Int(number) => number.to_string(),
            Operand::Str(text) => format!("{:?}", self.function.tree.as_string(*text)),
            Operand::AddressOf(place) => format!("&{}", self.place(place, state)),
            Operand::Unknown => "?".to_owned(),
        }
    }

    /// A name that no other variable of the function has.
    fn name(&self, local: LocalId) -> String {
        let locals = &self.function.tree.locals;
        let name = &self.function.tree.local(local).name;
        let before = locals[..local.0 as usize].iter();
        let number = before.filter(|it| it.name == *name).count();
        format!("{name} {number}")
    }
}
