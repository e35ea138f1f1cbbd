//! The address in one function.

use std::collections::{BTreeMap, BTreeSet};

use super::{Beside, Lent, Reached};
use crate::ast::{ExprId, ExprKind, Function, LocalId};
use crate::cfg::{
    Base, Callee, Cfg, Instr, InstrKind, Op, Operand, Place, Projection, Source, TempId, Terminator,
};

/// What holds the address in a function, or leads to it.
pub(super) struct Flow<'a> {
    lent: &'a Lent<'a>,
    function: &'a Function,
    graph: &'a Cfg,
    /// The struct itself; more than one if others share its name.
    own: BTreeSet<LocalId>,
    locals: BTreeSet<LocalId>,
    temps: BTreeSet<TempId>,
    /// What temporaries are that were read from a variable, or name a function.
    read: BTreeMap<TempId, Place>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(
        lent: &'a Lent<'a>,
        function: &'a Function,
        graph: &'a Cfg,
        reached: &Reached,
    ) -> Self {
        let tree = &function.tree;
        let is_it = |local: &LocalId| tree.local(*local).name == lent.variable;
        let all = (0u32..).map(LocalId).take(tree.locals.len());
        let own = match function.name == lent.owner {
            true => all.filter(is_it).collect(),
            false => BTreeSet::new(),
        };
        let of_function = reached
            .params
            .iter()
            .filter(|(name, _)| **name == *function.name);
        let locals = of_function.filter_map(|(_, param)| function.params.get(*param).copied());
        let instrs = graph.iter().flat_map(|(_, block)| &block.instrs);
        let read = instrs.filter_map(|instr| match &instr.kind {
            InstrKind::Load { dst, place } => Some((*dst, place.clone())),
            _ => None,
        });
        Self {
            lent,
            function,
            graph,
            own,
            locals: locals.collect(),
            temps: BTreeSet::new(),
            read: read.collect(),
        }
    }

    /// Follows it to the end; whether nothing unknown gets it, and no field is written.
    pub(super) fn ends_well(mut self, reached: &mut Reached) -> bool {
        loop {
            let size = (self.locals.len(), self.temps.len(), reached.fields.len());
            for (_, block) in self.graph.iter() {
                if !block.instrs.iter().all(|instr| self.step(instr, reached)) {
                    return false;
                }
                if let Terminator::Return(Some(value), _) = &block.terminator
                    && self.is_hot(value, reached)
                {
                    return false;
                }
            }
            if size == (self.locals.len(), self.temps.len(), reached.fields.len()) {
                return true;
            }
        }
    }

    fn step(&mut self, instr: &Instr, reached: &mut Reached) -> bool {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                if self.gives(place, reached) {
                    self.temps.insert(*dst);
                }
                true
            }
            InstrKind::Store { place, value } => {
                !self.is_written(place, instr.source, reached)
                    && (!self.is_hot(value, reached) || self.keeps(place, reached))
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                if self.is_hot(src, reached) {
                    self.temps.insert(*dst);
                }
                true
            }
            InstrKind::Op { dst, op, operands } => {
                let is_truth = matches!(op, Op::Binary(op) if op.is_comparison());
                if !is_truth && operands.iter().any(|it| self.is_hot(it, reached)) {
                    self.temps.insert(*dst);
                }
                true
            }
            InstrKind::Call { callee, args, .. } => self.passes(callee, args, reached),
            InstrKind::Asm => false,
            InstrKind::Declare { .. } | InstrKind::ScopeEnd { .. } => true,
        }
    }

    /// Whether reading the place gives the address.
    fn gives(&self, place: &Place, reached: &Reached) -> bool {
        match place.path.last() {
            Some(Projection::Field(field)) => reached.fields.contains(field),
            Some(Projection::Index(_)) | None => match &place.base {
                Base::Local(local) => self.locals.contains(local),
                Base::Deref(pointer) => self.is_hot(pointer, reached),
                Base::Global(_) | Base::Unnamed(_) => false,
            },
        }
    }

    /// Whether the value is the address or leads to it.
    fn is_hot(&self, value: &Operand, reached: &Reached) -> bool {
        match value {
            Operand::Temp(temp) => self.temps.contains(temp),
            Operand::AddressOf(place) => {
                let leads = match place.path.last() {
                    Some(Projection::Field(field)) => reached.fields.contains(field),
                    _ => false,
                };
                let is_near = match &place.base {
                    Base::Local(local) => self.own.contains(local) || self.locals.contains(local),
                    Base::Deref(pointer) => self.is_hot(pointer, reached),
                    Base::Global(_) | Base::Unnamed(_) => false,
                };
                leads || is_near && self.is_on_the_way(place)
            }
            Operand::Null | Operand::Int(_) | Operand::Str(_) | Operand::Unknown => false,
        }
    }

    /// Whether all fields on the path may lead to those that are filled.
    fn is_on_the_way(&self, place: &Place) -> bool {
        place.path.iter().all(|step| match step {
            Projection::Field(field) => self.lent.parts.contains(&**field),
            Projection::Index(_) => true,
        })
    }

    /// Whether a store there may change the fields.
    fn is_written(&self, place: &Place, source: Source, reached: &Reached) -> bool {
        match &place.base {
            Base::Local(local) if self.own.contains(local) => {
                // `Args args = {0};` is no assignment.
                self.assigned(source).is_some() && self.is_on_the_way(place)
            }
            Base::Deref(pointer) if self.is_hot(pointer, reached) => {
                let kind = self.kind(source);
                kind.is_none_or(|kind| match self.lent.kinds.contains(&kind) {
                    true => self.is_on_the_way(place),
                    false => !reached.holders.contains(&kind),
                })
            }
            Base::Local(_) | Base::Deref(_) | Base::Global(_) | Base::Unnamed(_) => false,
        }
    }

    /// The left side of an assignment, or what `++` changes.
    fn assigned(&self, source: Source) -> Option<ExprId> {
        let Source::Expr(expr) = source else {
            return None;
        };
        match self.function.tree.expr(expr).kind {
            ExprKind::Assign { lhs: place, .. } | ExprKind::Unary { operand: place, .. } => {
                Some(place)
            }
            _ => None,
        }
    }

    /// The struct that an assignment reaches through a pointer: `Filter` for `f->tag = v` and for
    /// `f->texts[0] = v`.
    fn kind(&self, source: Source) -> Option<String> {
        let tree = &self.function.tree;
        let mut place = self.assigned(source)?;
        loop {
            match tree.expr(place).kind {
                ExprKind::Member { base, arrow, .. } if arrow => {
                    return self.lent.types.owner(tree, base, true);
                }
                ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => place = base,
                _ => return None,
            }
        }
    }

    /// The place gets the address; whether it can be followed from there.
    fn keeps(&mut self, place: &Place, reached: &mut Reached) -> bool {
        let Base::Local(local) = place.base else {
            return false;
        };
        let variable = self.function.tree.local(local);
        if !variable.is_automatic() || self.own.contains(&local) {
            return false;
        }
        match &place.path[..] {
            [] => drop(self.locals.insert(local)),
            [Projection::Field(field)] => {
                let (types, ty) = (self.lent.types, &variable.ty);
                let Some(key) = types.key(ty).filter(|key| types.is_struct(key)) else {
                    return false;
                };
                if self.lent.index.is_named_unread(field) || types.pointee(ty).is_some() {
                    return false;
                }
                self.locals.insert(local);
                reached.fields.insert(field.clone());
                reached.holders.insert(key);
            }
            _ => return false,
        }
        true
    }

    /// The call gets the address; whether all that it may call is known.
    fn passes(&self, callee: &Callee, args: &[Operand], reached: &mut Reached) -> bool {
        let hot: Vec<usize> = (0..args.len())
            .filter(|&at| self.is_hot(&args[at], reached) && !self.is_known(callee, args, at))
            .collect();
        if hot.is_empty() {
            return true;
        }
        let names = match callee {
            Callee::Named(name) => BTreeSet::from([name.clone()]),
            Callee::Indirect(pointer) => self.callbacks(pointer, reached),
        };
        let lent = self.lent;
        let is_read = |name: &str| {
            let mut functions = lent.program.functions_named(name);
            !lent.index.is_broken(name) && functions.next().is_some()
        };
        for name in &names {
            let params = hot.iter().map(|&at| (name.clone(), at));
            reached.params.extend(params);
            let beside = (0..args.len()).map(|at| (name.clone(), at, self.beside(&args[at])));
            reached.beside.extend(beside);
        }
        let takes_all = |name: &str| {
            let mut functions = lent.program.functions_named(name);
            functions.all(|(_, it)| hot.iter().all(|&at| at < it.params.len()))
        };
        !names.is_empty() && names.iter().all(|name| is_read(name) && takes_all(name))
    }

    /// The call that fills the struct, and the one that empties it.
    fn is_known(&self, callee: &Callee, args: &[Operand], at: usize) -> bool {
        let Callee::Named(name) = callee else {
            return false;
        };
        let place = match &args[at] {
            Operand::AddressOf(place) => Some(&**place),
            _ => None,
        };
        let is_own = place
            .is_some_and(|it| matches!(it.base, Base::Local(local) if self.own.contains(&local)));
        is_own && (**name == *self.lent.filler || &**name == "memset" && at == 0)
    }

    fn beside(&self, value: &Operand) -> Beside {
        let place = match value {
            Operand::Temp(temp) => self.read.get(temp),
            Operand::AddressOf(place) => Some(&**place),
            _ => None,
        };
        match place.map(|place| (&place.base, &place.path[..])) {
            Some((Base::Global(name), [])) => Beside::Function(name.clone()),
            _ => Beside::Other,
        }
    }

    /// The functions that a pointer may be which is called with the address: those that come as
    /// the same parameter wherever the address does. None if not all of them are known.
    fn callbacks(&self, pointer: &Operand, reached: &Reached) -> BTreeSet<Box<str>> {
        let none = BTreeSet::new();
        let local = match pointer {
            Operand::Temp(temp) => self.read.get(temp).and_then(Place::as_local),
            _ => None,
        };
        let is_param = |it: &LocalId| Some(*it) == local;
        let Some(param) = self.function.params.iter().position(is_param) else {
            return none;
        };
        let instrs = || self.graph.iter().flat_map(|(_, block)| &block.instrs);
        let is_set = instrs().any(|instr| {
            matches!(&instr.kind, InstrKind::Store { place, .. } if place.as_local() == local)
        });
        let reads_it = instrs().any(|instr| match &instr.kind {
            InstrKind::Load { place, .. } => matches!(place.path.last(),
                Some(Projection::Field(field)) if reached.fields.contains(field)),
            _ => false,
        });
        if is_set || reads_it {
            return none;
        }
        let name = self.function.name.as_str();
        let given = reached
            .beside
            .iter()
            .filter(|(to, at, _)| **to == *name && *at == param);
        let names: Option<BTreeSet<Box<str>>> = given
            .map(|(.., beside)| match beside {
                Beside::Function(name) => Some(name.clone()),
                Beside::Other => None,
            })
            .collect();
        names.unwrap_or(none)
    }
}
