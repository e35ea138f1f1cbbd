//! The item that one read lends, along the paths of the function.

use super::state::{State, Value};
use super::{Proof, argument, lets_in};
use crate::ast::{ExprKind, LocalId};
use crate::capi::{self, PLAIN_LIST_SIZES};
use crate::cfg::{
    Base, BlockId, Callee, Comparison, Instr, InstrKind, Op, Operand, Place, Point, Source, TempId,
    Terminator,
};
use crate::dataflow::{Analysis, Direction, NodeId};

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    Unlocked,
    Unbounded,
    MayBeNull,
    Outlives,
    Released,
    LetsIn(String),
}

impl Fault {
    pub(super) fn say(&self, list: &str) -> String {
        match self {
            Self::Unlocked => {
                format!("an item of `{list}` is read where the section does not protect the list")
            }
            Self::Unbounded => format!(
                "an item of `{list}` is read with an index that is not compared with the size in \
                 the section"
            ),
            Self::MayBeNull => format!("`{list}` may be NULL where the section begins"),
            Self::Outlives => {
                format!("an item of `{list}` is used where the section no longer protects the list")
            }
            Self::Released => format!("an item that is borrowed from `{list}` is released"),
            Self::LetsIn(name) => {
                format!("`{name}` gets an item of `{list}` and may let other threads change it")
            }
        }
    }
}

pub(super) struct Flow<'a> {
    proof: &'a Proof<'a>,
    read: Point,
    list: LocalId,
    /// Whether the function compares the list with `NULL` anywhere.
    asks_null: bool,
}

impl<'a> Flow<'a> {
    pub(super) fn new(proof: &'a Proof<'a>, read: Point) -> Self {
        let mut flow = Self {
            proof,
            read,
            list: proof.section.list,
            asks_null: false,
        };
        let mut blocks = proof.cfg.iter();
        flow.asks_null = blocks.any(|(block, _)| flow.null_edge(block).is_some());
        flow
    }

    /// Takes a step; gives what is wrong with it.
    pub(super) fn step(&self, state: &mut State, at: Point, instr: &Instr) -> Option<Fault> {
        match &instr.kind {
            InstrKind::Load { dst, place } => return self.load(state, instr.source, *dst, place),
            InstrKind::Store { place, value } => {
                return self.store(state, (at, instr.source), place, value);
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                state.copy(Value::of(src), Value::Temp(*dst));
            }
            InstrKind::Op { dst, op, operands } => {
                let is_part = operands.iter().any(|operand| state.is_lent(operand));
                let fault = operands.iter().any(|operand| state.is_gone(operand));
                state.forget(Value::Temp(*dst));
                if is_part && !is_test(*op) {
                    state.parts.insert(Value::Temp(*dst));
                }
                return fault.then_some(Fault::Outlives);
            }
            InstrKind::Call { dst, callee, args } => {
                let name = match callee {
                    Callee::Named(name) => &**name,
                    Callee::Indirect(_) => "",
                };
                return self.call(state, (at, instr.source, *dst), name, args);
            }
            InstrKind::Declare { local } => state.forget(Value::Local(*local)),
            InstrKind::ScopeEnd { locals } => {
                for local in locals {
                    state.forget(Value::Local(*local));
                }
            }
            InstrKind::Asm => state.let_in(),
        }
        None
    }

    fn load(&self, state: &mut State, source: Source, dst: TempId, place: &Place) -> Option<Fault> {
        let to = Value::Temp(dst);
        match &place.base {
            Base::Local(local) => {
                state.copy(Some(Value::Local(*local)), to);
                if place.as_local().is_none() && self.is_number(source) {
                    state.forget(to);
                }
            }
            Base::Deref(pointer) => {
                let (is_lent, is_gone) = (state.is_lent(pointer), state.is_gone(pointer));
                state.forget(to);
                if is_lent && !self.is_number(source) {
                    state.parts.insert(to);
                }
                return is_gone.then_some(Fault::Outlives);
            }
            Base::Global(_) | Base::Unnamed(_) => state.forget(to),
        }
        None
    }

    /// Whether what an expression is can be no pointer.
    fn is_number(&self, source: Source) -> bool {
        let Source::Expr(expr) = source else {
            return false;
        };
        let tree = &self.proof.function.tree;
        let expr = match tree.expr(expr).kind {
            ExprKind::Assign { lhs, .. } => lhs,
            _ => expr,
        };
        let ty = self.proof.types.of(tree, expr);
        ty.is_some_and(|ty| self.proof.types.is_number(ty))
    }

    fn store(
        &self,
        state: &mut State,
        (at, source): (Point, Source),
        place: &Place,
        value: &Operand,
    ) -> Option<Fault> {
        let tree = &self.proof.function.tree;
        if let Some(local) = place.as_local() {
            let from = Value::of(value);
            let is_number = tree.local(local).ty.is_number();
            let is_size = state.is_size(value);
            state.copy(from.filter(|_| !is_number || is_size), Value::Local(local));
            state.below.remove(&Value::Local(local));
            if local == self.list {
                state.is_object = self.gives_object(at, value);
                state.let_in();
            }
            return None;
        }
        if !state.is_lent(value) || self.is_number(source) {
            return None;
        }
        if state.is_gone(value) {
            return Some(Fault::Outlives);
        }
        match &place.base {
            Base::Local(local) => drop(state.parts.insert(Value::Local(*local))),
            _ if state.is_item(value) => state.is_stored = true,
            _ => return Some(Fault::Outlives),
        }
        None
    }

    /// Whether the value that the list's variable gets is what a call gives that never fails.
    fn gives_object(&self, at: Point, value: &Operand) -> bool {
        let Operand::Temp(temp) = value else {
            return false;
        };
        let body = self.proof.cfg.block(at.block);
        body.instrs.iter().any(|instr| {
            instr.dst() == Some(*temp)
                && match &instr.kind {
                    InstrKind::Call {
                        callee: Callee::Named(name),
                        ..
                    } => matches!(
                        &**name,
                        "PyTuple_GET_ITEM" | "PyList_GET_ITEM" | "Py_NewRef"
                    ),
                    InstrKind::Cast { src, .. } => self.gives_object(at, src),
                    _ => false,
                }
        })
    }

    fn call(
        &self,
        state: &mut State,
        (at, source, dst): (Point, Source, TempId),
        name: &str,
        args: &[Operand],
    ) -> Option<Fault> {
        let is_on = |at| match source {
            Source::Expr(call) => argument(self.proof.function, call, at) == Some(self.list),
            Source::Stmt(_) => false,
        };
        if at == self.read {
            return self.read(state, dst, args);
        }
        if is_on(0) && (capi::reads_first(name) || name == "Py_INCREF") {
            state.is_object = true;
        }
        self.fill(state, source, name, args);
        match name {
            "PyCriticalSection_Begin" if is_on(1) => {
                state.let_in();
                state.is_locked = true;
                return (!state.is_object).then_some(Fault::MayBeNull);
            }
            "Py_INCREF" | "Py_XINCREF" | "Py_NewRef" | "Py_XNewRef"
                if args.first().is_some_and(|arg| state.is_item(arg)) =>
            {
                state.take();
                return None;
            }
            "Py_DECREF" | "Py_XDECREF" if args.first().is_some_and(|arg| state.is_owned(arg)) => {
                state.release();
                state.let_in();
                return None;
            }
            _ if PLAIN_LIST_SIZES.contains(&name) && is_on(0) => {
                state.forget(Value::Temp(dst));
                if state.is_locked {
                    state.sizes.insert(Value::Temp(dst));
                }
                return None;
            }
            _ => {}
        }
        let fault = self.pass(state, dst, name, args);
        if lets_in(name) {
            let is_stored = std::mem::take(&mut state.is_stored);
            state.let_in();
            state.is_locked &= !name.contains("CriticalSection");
            return fault.or(is_stored.then_some(Fault::Outlives));
        }
        fault
    }

    /// The read lends an item.
    fn read(&self, state: &mut State, dst: TempId, args: &[Operand]) -> Option<Fault> {
        let is_bounded = args.get(1).is_some_and(|index| state.is_below(index));
        let is_stored = std::mem::take(&mut state.is_stored);
        state.end_loan();
        state.forget(Value::Temp(dst));
        state.item.insert(Value::Temp(dst));
        match (state.is_locked, is_bounded) {
            (false, _) => Some(Fault::Unlocked),
            (_, false) => Some(Fault::Unbounded),
            _ => is_stored.then_some(Fault::Outlives),
        }
    }

    /// The item, or a part of it, is passed to a call.
    fn pass(&self, state: &mut State, dst: TempId, name: &str, args: &[Operand]) -> Option<Fault> {
        let effects = capi::effects(name);
        let lent: Vec<usize> = (0..)
            .zip(args)
            .filter(|(_, arg)| state.is_lent(arg))
            .map(|(at, _)| at)
            .collect();
        let is_gone = args.iter().any(|arg| state.is_gone(arg));
        let owner = effects.map(|effects| effects.derived_from.map(usize::from));
        let is_part = match owner {
            Some(owner) => owner.is_some_and(|owner| lent.contains(&owner)),
            None => !lent.is_empty(),
        };
        state.forget(Value::Temp(dst));
        if is_part {
            state.parts.insert(Value::Temp(dst));
        }
        if lent.is_empty() {
            return None;
        }
        let outs = args.iter().filter_map(crate::cfg::addressed_local);
        state.parts.extend(outs.map(Value::Local));
        if is_gone {
            return Some(Fault::Outlives);
        }
        if matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_DecRef" | "Py_CLEAR") {
            return Some(Fault::Released);
        }
        if lets_in(name) {
            let name = if name.is_empty() { "a callback" } else { name };
            return Some(Fault::LetsIn(name.to_owned()));
        }
        let is_stolen = |at: &usize| effects.is_some_and(|effects| effects.steals(*at).is_some());
        state.is_stored |= lent.iter().any(is_stolen);
        None
    }

    /// A call gets the address of the list's variable: `PyArg_ParseTuple(args, "O", &list)`.
    fn fill(&self, state: &mut State, source: Source, name: &str, args: &[Operand]) {
        let is_address = |arg: &Operand| crate::cfg::addressed_local(arg) == Some(self.list);
        let (Some(at), Source::Expr(call)) = (args.iter().position(is_address), source) else {
            return;
        };
        let tree = &self.proof.function.tree;
        let exprs = match &tree.expr(call).kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        let format = |at: usize| tree.as_string(*exprs.get(at)?);
        match capi::overwrites(name, at, format) {
            Some(true) => state.is_object = true,
            Some(false) => {}
            None => state.is_object = false,
        }
    }

    /// The edge on which the list is `NULL`, of a branch that asks for that.
    fn null_edge(&self, block: BlockId) -> Option<usize> {
        let Terminator::Branch { condition, .. } = &self.proof.cfg.block(block).terminator else {
            return None;
        };
        if !condition.rhs.is_zero() || self.loaded(block, &condition.lhs) != Some(self.list) {
            return None;
        }
        match condition.comparison {
            Comparison::Equal => Some(0),
            Comparison::NotEqual => Some(1),
            _ => None,
        }
    }

    /// The variable that an operand is at the end of a block, and was since it was read.
    fn loaded(&self, block: BlockId, operand: &Operand) -> Option<LocalId> {
        let Operand::Temp(temp) = operand else {
            return None;
        };
        let instrs = &self.proof.cfg.block(block).instrs;
        let at = instrs.iter().position(|instr| instr.dst() == Some(*temp))?;
        let local = match &instrs[at].kind {
            InstrKind::Load { place, .. } => place.as_local()?,
            InstrKind::Cast { src, .. } => return self.loaded(block, src),
            _ => return None,
        };
        let is_set = |instr: &Instr| match &instr.kind {
            InstrKind::Store { place, .. } => matches!(place.base, Base::Local(it) if it == local),
            _ => false,
        };
        (!instrs[at..].iter().any(is_set)).then_some(local)
    }
}

/// Whether an operation gives a truth value.
fn is_test(op: Op) -> bool {
    match op {
        Op::Unary(op) => op == crate::ast::UnaryOp::Not,
        Op::Binary(op) => op.is_comparison(),
        Op::VaArg | Op::Look => false,
    }
}

impl Analysis for Flow<'_> {
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::default()
    }

    fn boundary(&self) -> State {
        let params = &self.proof.function.params;
        State {
            is_reached: true,
            is_object: params.contains(&self.list) && !self.asks_null,
            ..State::default()
        }
    }

    fn transfer(&self, node: NodeId, state: &mut State) {
        if !state.is_reached {
            return;
        }
        let block = BlockId(u32::try_from(node).expect("block ids are u32"));
        for (index, instr) in self.proof.cfg.block(block).instrs.iter().enumerate() {
            self.step(state, Point { block, index }, instr);
        }
    }

    fn join(&self, into: &mut State, from: &State) -> bool {
        into.join(from)
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut State) {
        let block = BlockId(u32::try_from(node).expect("block ids are u32"));
        if let Some(null) = self.null_edge(block) {
            state.is_object |= edge != null;
        }
        let Terminator::Branch { condition, .. } = &self.proof.cfg.block(block).terminator else {
            return;
        };
        let (lhs, rhs) = (&condition.lhs, &condition.rhs);
        let sides = [
            (condition.comparison, lhs, rhs),
            (condition.comparison.mirrored(), rhs, lhs),
        ];
        for (comparison, index, size) in sides {
            let is_less = match comparison {
                Comparison::Less => edge == 0,
                Comparison::GreaterOrEqual => edge == 1,
                _ => false,
            };
            if is_less
                && state.is_size(size)
                && let Some(local) = self.loaded(block, index)
            {
                state.below.insert(Value::Local(local));
            }
        }
    }
}
