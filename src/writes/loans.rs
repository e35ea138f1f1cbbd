//! What the variables of a function have of an object without a reference to it: the text that it
//! lends, the items of a tuple, the bytes of a buffer.
//!
//! ```c
//! text = PyUnicode_AsUTF8(name);            /* goes with `name` */
//! PyArg_ParseTuple(pair, "Os", &key, &names[i]);
//! end = text + strlen(text);
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::released::keeps;
use crate::ast::{BinaryOp, LocalId, Tree};
use crate::capi::{self, OutKind, Stored};
use crate::cfg::{Base, Cfg, Instr, InstrKind, Op, Operand, Place, Point, Projection, TempId};

/// What has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Keeper {
    Local(LocalId),
    /// Memory that is reached by a variable, in a field if there is one: `names[i]`, `conf.name`.
    Memory(LocalId, Option<Box<str>>),
    /// Memory of others.
    Outside,
}

/// Something that an object lends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loan {
    /// The step that stores it.
    pub(super) from: Point,
    pub(super) keeper: Keeper,
}

/// The steps of one function.
pub(super) struct Steps<'c> {
    pub(super) cfg: &'c Cfg,
    tree: &'c Tree,
    /// The variables that pointers come from.
    roots: BTreeMap<TempId, LocalId>,
}

/// Which variables and temporaries have something of one object.
#[derive(Debug)]
struct Lent {
    lender: LocalId,
    /// The object itself.
    owner: BTreeSet<TempId>,
    temps: BTreeSet<TempId>,
    holders: BTreeSet<LocalId>,
    loans: Vec<Loan>,
}

impl Lent {
    fn has(&self, operand: &Operand) -> bool {
        has(&self.owner, operand) || has(&self.temps, operand)
    }
}

impl<'c> Steps<'c> {
    pub(super) fn new(cfg: &'c Cfg, tree: &'c Tree) -> Self {
        let mut steps = Self {
            cfg,
            tree,
            roots: BTreeMap::new(),
        };
        for instr in cfg.blocks.iter().flat_map(|block| &block.instrs) {
            let root = match &instr.kind {
                InstrKind::Load { place, .. } => steps.root(place),
                InstrKind::Cast { src, .. } | InstrKind::Copy { src, .. } => steps.root_of(src),
                InstrKind::Op { operands, .. } => {
                    operands.iter().find_map(|operand| steps.root_of(operand))
                }
                _ => None,
            };
            if let (Some(dst), Some(root)) = (instr.dst(), root) {
                steps.roots.insert(dst, root);
            }
        }
        steps
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Point, &'c Instr)> {
        self.cfg.steps()
    }

    /// The variable by which a place is reached.
    pub(super) fn root(&self, place: &Place) -> Option<LocalId> {
        match &place.base {
            Base::Local(local) => Some(*local),
            Base::Deref(pointer) => self.root_of(pointer),
            Base::Global(_) | Base::Unnamed(_) => None,
        }
    }

    pub(super) fn root_of(&self, value: &Operand) -> Option<LocalId> {
        match value {
            Operand::Temp(temp) => self.roots.get(temp).copied(),
            Operand::AddressOf(place) => self.root(place),
            _ => None,
        }
    }

    /// All that is had of the object in the variable `lender`.
    pub(super) fn loans(&self, lender: LocalId) -> Vec<Loan> {
        let mut holders = BTreeSet::new();
        loop {
            let mut lent = Lent {
                lender,
                owner: BTreeSet::new(),
                temps: BTreeSet::new(),
                holders,
                loans: Vec::new(),
            };
            let before = lent.holders.len();
            for (at, instr) in self.all() {
                self.follow(&mut lent, at, instr);
            }
            if lent.holders.len() == before {
                return lent.loans;
            }
            holders = lent.holders;
        }
    }

    fn follow(&self, lent: &mut Lent, at: Point, instr: &Instr) {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                let local = place.as_local();
                if local == Some(lent.lender) {
                    lent.owner.insert(*dst);
                }
                let is_lent = local.is_some_and(|local| lent.holders.contains(&local));
                if is_lent || place.base == Base::Local(lent.lender) && is_bytes(place) {
                    lent.temps.insert(*dst);
                }
            }
            InstrKind::Cast { dst, src, .. } | InstrKind::Copy { dst, src } => {
                if has(&lent.owner, src) {
                    lent.owner.insert(*dst);
                }
                if has(&lent.temps, src) {
                    lent.temps.insert(*dst);
                }
            }
            InstrKind::Op {
                dst,
                op: Op::Binary(BinaryOp::Plus | BinaryOp::Minus),
                operands,
            } if operands.iter().any(|it| has(&lent.temps, it)) => {
                lent.temps.insert(*dst);
            }
            InstrKind::Call { dst, callee, args } => {
                let name = callee.name().unwrap_or_default();
                let owner = capi::lives_in(name).and_then(|at| args.get(at));
                if owner.is_some_and(|it| lent.has(it)) {
                    lent.temps.insert(*dst);
                }
                if args.first().is_some_and(|it| lent.has(it)) {
                    let outs = args.iter().enumerate().skip(1);
                    let outs = outs.filter(|(number, _)| self.lends(name, *number, args));
                    for place in outs.filter_map(|(_, arg)| addressed(arg)) {
                        self.lend(lent, at, place);
                    }
                }
            }
            InstrKind::Store { place, value } if has(&lent.temps, value) => {
                self.lend(lent, at, place);
            }
            _ => {}
        }
    }

    /// Whether a call stores something of its first argument behind argument `number`.
    fn lends(&self, name: &str, number: usize, args: &[Operand]) -> bool {
        let text = |at: usize| match args.get(at) {
            Some(&Operand::Str(text)) => self.tree.as_string(text),
            _ => None,
        };
        let kinds = [OutKind::Pointer, OutKind::Borrowed];
        matches!(capi::stored(name, number, text), Stored::Known(kind) if kinds.contains(&kind))
    }

    fn lend(&self, lent: &mut Lent, from: Point, place: &Place) {
        let keeper = match (place.as_local(), self.root(place)) {
            (Some(local), _) if local == lent.lender => return,
            (Some(local), _) if self.tree.local(local).is_automatic() => {
                lent.holders.insert(local);
                Keeper::Local(local)
            }
            (None, Some(root)) if self.is_own(root) => Keeper::Memory(root, field(place)),
            _ => Keeper::Outside,
        };
        lent.loans.push(Loan { from, keeper });
    }

    /// Whether memory that a variable leads to may be of this call alone.
    fn is_own(&self, local: LocalId) -> bool {
        let it = self.tree.local(local);
        it.is_automatic() && !it.is_param
    }

    /// The steps behind which a variable has something else, or a reference of its own.
    pub(super) fn ends(&self, local: LocalId) -> Vec<Point> {
        let is_it = |operand: &Operand| {
            self.root_of(operand) == Some(local) && !matches!(operand, Operand::AddressOf(_))
        };
        let is_end = |instr: &Instr| match &instr.kind {
            InstrKind::Store { place, .. } => place.as_local() == Some(local),
            InstrKind::Declare { local: declared } => *declared == local,
            InstrKind::Call { callee, args, .. } => {
                let name = callee.name().unwrap_or_default();
                let mut args = args.iter().enumerate();
                args.any(|(at, arg)| {
                    let is_set = addressed(arg).and_then(Place::as_local) == Some(local);
                    is_set || is_it(arg) && keeps(name, at)
                })
            }
            _ => false,
        };
        let ends = self.all().filter(|(_, instr)| is_end(instr));
        ends.map(|(at, _)| at).collect()
    }
}

/// `buf` of a `Py_buffer`.
pub(super) fn is_bytes(place: &Place) -> bool {
    matches!(place.path.as_slice(), [Projection::Field(field)] if &**field == "buf")
}

/// The field that a place is, or an element of which.
pub(super) fn field(place: &Place) -> Option<Box<str>> {
    place.path.iter().rev().find_map(|step| match step {
        Projection::Field(field) => Some(field.clone()),
        Projection::Index(_) => None,
    })
}

pub(super) fn addressed(operand: &Operand) -> Option<&Place> {
    match operand {
        Operand::AddressOf(place) => Some(place),
        _ => None,
    }
}

fn has(temps: &BTreeSet<TempId>, operand: &Operand) -> bool {
    matches!(operand, Operand::Temp(temp) if temps.contains(temp))
}
