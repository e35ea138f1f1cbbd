//! What holds a borrowed value, or points into it, at each point of a function.

use std::collections::BTreeSet;

use fixedbitset::FixedBitSet;

use crate::ast::{LocalId, UnaryOp};
use crate::capi;
use crate::cfg::{
    Base, Block, BlockId, Callee, Instr, InstrKind, Op, Operand, Place, Point, TempId,
};

use super::flow::{Flow, Origin, address_of_local};

/// How a value goes from a function to its caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Handover {
    /// Whether it is the result.
    pub result: bool,
    /// The arguments through which it is stored: `*out = value;`.
    pub outs: BTreeSet<usize>,
}

/// What holds the value at one point; larger than the truth, never smaller.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    temps: FixedBitSet,
    locals: FixedBitSet,
    /// Parameters that point at it: `*out = value;`.
    outs: BTreeSet<usize>,
}

impl Held {
    pub(super) fn holds(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Temp(temp) => self.temps.contains(temp.0 as usize),
            _ => false,
        }
    }

    pub(super) fn has(&self, local: LocalId) -> bool {
        self.locals.contains(local.0 as usize)
    }

    /// The variables that hold it, ascending.
    pub(super) fn locals(&self) -> impl Iterator<Item = LocalId> {
        let id = |at| LocalId(u32::try_from(at).expect("local ids are u32"));
        self.locals.ones().map(id)
    }

    fn add(&mut self, temp: TempId) {
        self.temps.grow_and_insert(temp.0 as usize);
    }

    fn add_local(&mut self, local: LocalId) {
        self.locals.grow_and_insert(local.0 as usize);
    }

    fn remove_local(&mut self, local: LocalId) {
        if self.has(local) {
            self.locals.remove(local.0 as usize);
        }
    }

    /// Adds what `other` has; whether that is more.
    fn join(&mut self, other: &Self) -> bool {
        let is_more = !other.temps.is_subset(&self.temps)
            || !other.locals.is_subset(&self.locals)
            || !other.outs.is_subset(&self.outs);
        if is_more {
            self.temps.union_with(&other.temps);
            self.locals.union_with(&other.locals);
            self.outs.extend(&other.outs);
        }
        is_more
    }
}

/// The value that the call at `site` gives, followed along the paths from there.
#[derive(Debug)]
pub(super) struct Spread<'f> {
    flow: &'f Flow<'f>,
    site: Point,
    from: Handover,
    /// Calls that turn the value into a reference of its own. One to an item of it does not keep
    /// it.
    pub(super) adoptions: Vec<Point>,
    /// What holds the value at the entry of each block.
    inputs: Vec<Held>,
}

impl<'f> Spread<'f> {
    pub(super) fn new(flow: &'f Flow<'f>, site: Point, from: Handover) -> Self {
        let mut spread = Self {
            flow,
            site,
            from,
            adoptions: Vec::new(),
            inputs: vec![Held::default(); flow.cfg.blocks.len()],
        };
        spread.note_adoptions();
        let mut pending = BTreeSet::from([site.block]);
        while let Some(id) = pending.pop_first() {
            let block = flow.cfg.block(id);
            let held = spread.run(id, block, &mut |_, _, _| {});
            for &next in &block.successors {
                if spread.inputs[next.index()].join(&held) {
                    pending.insert(next);
                }
            }
        }
        spread
    }

    fn note_adoptions(&mut self) {
        for (point, _) in self.flow.instrs() {
            let Some((Some(name), [object, ..])) = self.flow.call(point) else {
                continue;
            };
            let takes = matches!(
                name,
                "Py_INCREF" | "Py_XINCREF" | "Py_NewRef" | "Py_XNewRef" | "Py_IncRef"
            );
            if takes && self.is_value_here(object, point) {
                self.adoptions.push(point);
            }
        }
    }

    /// Whether `object` is the value itself where a path from the site first comes to `point`: other
    /// calls that may have given it cannot come before that.
    ///
    /// ```c
    /// item = is_list ? PyList_GET_ITEM(seq, i) : PyTuple_GET_ITEM(seq, i);
    /// Py_INCREF(item);
    /// ```
    fn is_value_here(&self, object: &Operand, point: Point) -> bool {
        let origins = self.flow.origins(object);
        origins.iter().any(|origin| self.is_value(origin))
            && origins.iter().all(|origin| match origin {
                _ if self.is_value(origin) => true,
                Origin::Call(at) | Origin::Out(at, _) => {
                    !self.flow.reaches(self.site, *at, &[point])
                }
                _ => false,
            })
    }

    /// Whether something of this origin is the value itself.
    fn is_value(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Call(at) => *at == self.site && self.from.result,
            Origin::Out(at, arg) => *at == self.site && self.from.outs.contains(arg),
            _ => false,
        }
    }

    /// Calls `visit` for each step with what holds the value before it, and for each `return` that
    /// gives a value as `None` at the end of its block.
    pub(super) fn visit(&self, visit: &mut impl FnMut(Point, Option<&Instr>, &Held)) {
        for (id, block) in self.flow.cfg.iter() {
            if self.flow.cfg.is_reachable(id) {
                let held = self.run(id, block, &mut |point, instr, held| {
                    visit(point, Some(instr), held);
                });
                let index = block.instrs.len();
                visit(Point { block: id, index }, None, &held);
            }
        }
    }

    /// What holds the value before the step at `point`.
    pub(super) fn before(&self, point: Point) -> Held {
        let block = self.flow.cfg.block(point.block);
        let mut found = None;
        let end = self.run(point.block, block, &mut |at, _, held| {
            if at == point {
                found = Some(held.clone());
            }
        });
        found.unwrap_or(end)
    }

    /// All that ever holds the value.
    pub(super) fn anywhere(&self) -> Held {
        let mut all = Held::default();
        self.visit(&mut |_, _, held| {
            all.join(held);
        });
        all
    }

    /// Runs a block; gives what holds the value at its end.
    fn run(
        &self,
        id: BlockId,
        block: &Block,
        visit: &mut impl FnMut(Point, &Instr, &Held),
    ) -> Held {
        let mut held = self.inputs[id.index()].clone();
        for (index, instr) in block.instrs.iter().enumerate() {
            let point = Point { block: id, index };
            visit(point, instr, &held);
            self.step(point, instr, &mut held);
        }
        held
    }

    fn step(&self, point: Point, instr: &Instr, held: &mut Held) {
        if point == self.site {
            return self.begin(instr, held);
        }
        if self.adoptions.contains(&point) {
            *held = Held::default();
            return;
        }
        let holds = match &instr.kind {
            InstrKind::Store { place, value } => {
                let holds = held.holds(value) && !self.is_number(place, value);
                return self.store(place, holds, held);
            }
            InstrKind::Declare { local } => {
                held.remove_local(*local);
                return;
            }
            InstrKind::Load { place, .. } => match &place.base {
                Base::Local(local) => held.has(*local),
                Base::Deref(pointer) => {
                    let out = self.flow.parameter(pointer);
                    held.holds(pointer) || out.is_some_and(|out| held.outs.contains(&out))
                }
                Base::Global(_) | Base::Unnamed(_) => false,
            },
            InstrKind::Copy { src, .. } | InstrKind::Cast { src, .. } => held.holds(src),
            InstrKind::Op { op, operands, .. } => {
                !is_test(*op) && operands.iter().any(|operand| held.holds(operand))
            }
            InstrKind::Call { callee, args, .. } => {
                let derived = is_derived(callee, args, held);
                if derived {
                    let locals = args.iter().filter_map(address_of_local);
                    locals.for_each(|local| held.add_local(local));
                }
                derived && !self.flow.is_released(point)
            }
            InstrKind::ScopeEnd { .. } | InstrKind::Asm => false,
        };
        if let Some(dst) = instr.dst().filter(|_| holds) {
            held.add(dst);
        }
    }

    /// Whether a variable gets what is a number, and no pointer that was cast to one:
    /// `int n = count(v);`.
    fn is_number(&self, place: &Place, value: &Operand) -> bool {
        let is_number = |local| self.flow.function.tree.local(local).ty.is_number();
        place.as_local().is_some_and(is_number) && !self.flow.is_cast(value)
    }

    /// A place gets the value, or another one.
    fn store(&self, place: &Place, holds: bool, held: &mut Held) {
        match (&place.base, place.as_local()) {
            (Base::Local(local), _) if holds => held.add_local(*local),
            (_, Some(local)) => held.remove_local(local),
            (Base::Deref(pointer), _) if holds => held.outs.extend(self.flow.parameter(pointer)),
            _ => {}
        }
    }

    /// The value comes into the function.
    fn begin(&self, instr: &Instr, held: &mut Held) {
        if let Some(dst) = instr.dst().filter(|_| self.from.result) {
            held.add(dst);
        }
        if let InstrKind::Call { args, .. } = &instr.kind {
            let outs = self.from.outs.iter().filter_map(|&at| args.get(at));
            let locals = outs.filter_map(address_of_local);
            locals.for_each(|local| held.add_local(local));
        }
    }
}

/// Whether what the call gives may point into the value.
fn is_derived(callee: &Callee, args: &[Operand], held: &Held) -> bool {
    let any = || args.iter().any(|arg| held.holds(arg));
    let Callee::Named(name) = callee else {
        return any();
    };
    // The items that a format names live in the tuple.
    if name.starts_with("PyArg_") {
        return any();
    }
    let Some(effects) = capi::effects(name) else {
        return any();
    };
    let owner = effects
        .derived_from
        .and_then(|arg| args.get(usize::from(arg)));
    owner.is_some_and(|arg| held.holds(arg))
}

/// Whether the result is a truth value, which points nowhere.
pub(super) fn is_test(op: Op) -> bool {
    match op {
        Op::Unary(op) => op == UnaryOp::Not,
        Op::Binary(op) => op.is_comparison(),
        Op::VaArg | Op::Look => false,
    }
}
