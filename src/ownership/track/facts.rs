//! What of a function is worth remembering along a path.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::buffers::buffers;
use super::carriers::addressed;
use super::crash::doomed;
use super::effects::out_kind;
use crate::ast::{BinaryOp, LocalId, Tree, Type, TypeKind};
use crate::capi::OutKind;
use crate::cfg::{
    Base, BlockId, Callee, Cfg, Instr, InstrKind, LiveTemps, Liveness, Op, Operand, Outs, Place,
    Point, Source, TempId, addressed_local,
};

/// Facts about the function that every path shares.
pub(super) struct Facts<'a> {
    pub tree: &'a Tree,
    pub cfg: &'a Cfg,
    liveness: Liveness<'a>,
    address_taken: FxHashSet<LocalId>,
    live_temps: LiveTemps,
    /// Temporaries that are the address of a place: `(char **)&text`.
    addresses: FxHashMap<TempId, &'a Place>,
    /// Temporaries that are an address in variables: `array + i`, `first ? &a : &b`.
    inner: BTreeMap<TempId, BTreeSet<LocalId>>,
    /// Variables with memory that only the function knows.
    buffers: FxHashSet<LocalId>,
    /// Variables that are read through others, too.
    pointed_at: BTreeSet<LocalId>,
    /// Temporaries that were read from pointers to numbers.
    at_numbers: FxHashSet<TempId>,
    /// Temporaries that calls gave.
    given: FxHashSet<TempId>,
    /// Assignments of what gets a reference of its own right behind.
    counted_next: FxHashSet<Source>,
    /// Whether the program ends from there, by block.
    doomed: Vec<bool>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(cfg: &'a Cfg, tree: &'a Tree) -> Self {
        let address_taken = addressed_for_good(cfg);
        Self {
            tree,
            cfg,
            liveness: Liveness::with_outs(cfg, tree.locals.len(), filled(cfg)),
            buffers: buffers(cfg, tree, &address_taken),
            address_taken,
            pointed_at: cfg.pointed_at(),
            live_temps: LiveTemps::new(cfg),
            addresses: addresses(cfg),
            inner: cfg.inner_addresses(),
            at_numbers: at_numbers(cfg, tree),
            given: given(cfg),
            counted_next: counted_next(cfg),
            doomed: doomed(cfg),
        }
    }

    /// Whether every path from the beginning of `block` ends the program.
    pub(super) fn is_doomed(&self, block: BlockId) -> bool {
        self.doomed[block.index()]
    }

    /// Whether the code takes a reference to what `source` assigns as the next thing that it does:
    /// `table[i] = item; Py_INCREF(item);`.
    pub(super) fn is_counted_next(&self, source: Source) -> bool {
        self.counted_next.contains(&source)
    }

    /// The place whose address an operand is.
    pub(super) fn addressed<'o>(&self, operand: &'o Operand) -> Option<&'o Place>
    where
        'a: 'o,
    {
        match operand {
            Operand::AddressOf(place) => Some(place),
            Operand::Temp(temp) => self.addresses.get(temp).copied(),
            _ => None,
        }
    }

    /// The variables that an operand may be an address in.
    pub(super) fn points_into(&self, operand: &Operand) -> impl Iterator<Item = LocalId> {
        let locals = match operand {
            Operand::Temp(temp) => self.inner.get(temp),
            _ => None,
        };
        locals.into_iter().flatten().copied()
    }

    /// The text of an operand that is a string literal.
    pub(super) fn text(&self, operand: &Operand) -> Option<&'a [u8]> {
        match operand {
            Operand::Str(text) => self.tree.as_string(*text),
            _ => None,
        }
    }

    /// The variable that a place is all of, or a part of, if it dies with the function.
    pub(super) fn own_memory(&self, place: &Place) -> Option<LocalId> {
        let Base::Local(local) = place.base else {
            return None;
        };
        self.tree.local(local).is_automatic().then_some(local)
    }

    /// Whether `local` holds memory that the function allocates, or nothing, and no other variable
    /// or memory does.
    pub(super) fn is_buffer(&self, local: LocalId) -> bool {
        self.buffers.contains(&local)
    }

    /// Whether others have the address of `local`, or of a part, which outlives a call.
    pub(super) fn is_pointed_at(&self, local: LocalId) -> bool {
        self.pointed_at.contains(&local)
    }

    /// Whether what `local` holds can still be read by name.
    pub(super) fn is_live(&self, local: LocalId, at: Point) -> bool {
        self.address_taken.contains(&local) || self.liveness.is_live(local, at)
    }

    /// Whether a temporary is used in `block`, or behind it.
    pub(super) fn is_temp_live(&self, temp: TempId, block: BlockId) -> bool {
        self.live_temps.is_live_into(temp, block)
    }

    /// Whether a variable can hold a pointer into an object: numbers and arrays of them cannot.
    pub(super) fn holds_pointer(&self, local: LocalId) -> bool {
        let variable = self.tree.local(local);
        let mut ty = &variable.ty;
        // A parameter `char name[]` is a pointer.
        while let TypeKind::Array(element, _) = &ty.kind
            && !variable.is_param
        {
            ty = element;
        }
        !is_number(ty)
    }

    /// Whether a variable is an array of pointers: `PyObject *args[2]`.
    pub(super) fn is_pointers(&self, local: LocalId) -> bool {
        let ty = &self.tree.local(local).ty;
        matches!(&ty.kind, TypeKind::Array(element, _) if element.pointee().is_some())
    }

    /// Whether a variable is a pointer to numbers or to pointers: what lives inside of something.
    pub(super) fn holds_plain_pointer(&self, local: LocalId) -> bool {
        is_plain_pointer(&self.tree.local(local).ty)
    }

    /// Whether a variable is a pointer to text: `const char *name`.
    pub(super) fn is_text(&self, local: LocalId) -> bool {
        let pointee = self.tree.local(local).ty.pointee();
        pointee.is_some_and(|ty| matches!(ty.name(), Some("char" | "unsigned char")))
    }

    /// Whether what is read through `pointer` is a number: `text[i]`.
    pub(super) fn gives_number(&self, pointer: &Operand) -> bool {
        matches!(pointer, Operand::Temp(temp) if self.at_numbers.contains(temp))
    }

    /// The operands that may be the pointer which an operation gives: what a call gives and is added
    /// to a pointer, `text += copy(text, name)`, is a number.
    pub(super) fn pointers<'o>(
        &self,
        op: Op,
        operands: &'o [Operand],
    ) -> impl Iterator<Item = &'o Operand> {
        let adds = matches!(op, Op::Binary(BinaryOp::Plus | BinaryOp::Minus));
        let adds = adds && operands.first().is_some_and(|to| self.gives_number(to));
        let is_given =
            |it: &Operand| matches!(it, Operand::Temp(temp) if self.given.contains(temp));
        let all = operands.iter().filter(move |_| !makes_number(op));
        all.filter(move |it| !(adds && is_given(it)))
    }

    /// Whether a variable holds an object or a struct that an API hands out as one.
    pub(super) fn holds_object(&self, local: LocalId) -> bool {
        let ty = &self.tree.local(local).ty;
        ty.pointee().is_some() && !is_plain_pointer(ty)
    }
}

/// The assignments of a variable's value that come right before `Py_INCREF` of that variable.
fn counted_next(cfg: &Cfg) -> FxHashSet<Source> {
    let mut found = FxHashSet::default();
    for (_, block) in cfg.iter() {
        let mut loaded: FxHashMap<TempId, LocalId> = FxHashMap::default();
        // What the last assignments stored, and where.
        let mut stored: Vec<(LocalId, Source)> = Vec::new();
        for instr in &block.instrs {
            match &instr.kind {
                InstrKind::Load { dst, place } => {
                    loaded.extend(place.as_local().map(|local| (*dst, local)));
                }
                InstrKind::Store {
                    value: Operand::Temp(temp),
                    ..
                } => stored.extend(loaded.get(temp).map(|&local| (local, instr.source))),
                InstrKind::Call { callee, args, .. } => {
                    let taken = match (callee, &args[..]) {
                        (Callee::Named(name), [Operand::Temp(temp)])
                            if matches!(&**name, "Py_INCREF" | "Py_XINCREF") =>
                        {
                            loaded.get(temp)
                        }
                        _ => None,
                    };
                    let own = stored.iter().filter(|(local, _)| Some(local) == taken);
                    found.extend(own.map(|(_, source)| *source));
                    stored.clear();
                }
                _ => {}
            }
        }
    }
    found
}

/// Variables whose addresses others get than functions of the C API that set them: these forget the
/// address when they return.
fn addressed_for_good(cfg: &Cfg) -> FxHashSet<LocalId> {
    let mut found = FxHashSet::default();
    for (_, block) in cfg.iter() {
        for instr in &block.instrs {
            match &instr.kind {
                InstrKind::Call {
                    callee: Callee::Named(name),
                    args,
                    ..
                } => {
                    let args = args.iter().enumerate();
                    let kept = args.filter(|(at, _)| out_kind(name, *at).is_none());
                    found.extend(kept.filter_map(|(_, arg)| addressed_local(arg)));
                }
                _ => found.extend(instr.operands().filter_map(addressed_local)),
            }
        }
        let last = block.terminator.operands().into_iter();
        found.extend(last.filter_map(addressed_local));
    }
    found
}

/// The calls that set a variable whatever comes of them: `PyDict_GetItemRef(dict, key, &v)`.
fn filled(cfg: &Cfg) -> Outs {
    let mut filled = Outs::default();
    for (block, content) in cfg.iter() {
        for (index, instr) in content.instrs.iter().enumerate() {
            if let InstrKind::Call {
                callee: Callee::Named(name),
                args,
                ..
            } = &instr.kind
            {
                let args = args.iter().enumerate();
                let set = args.filter(|(at, _)| out_kind(name, *at) == Some(OutKind::New));
                let locals = set.filter_map(|(_, arg)| addressed(arg));
                filled
                    .overwritten
                    .extend(locals.map(|local| (Point { block, index }, local)));
            }
        }
    }
    filled
}

fn addresses(cfg: &Cfg) -> FxHashMap<TempId, &Place> {
    let mut addresses = FxHashMap::default();
    for instr in cfg.iter().flat_map(|(_, block)| &block.instrs) {
        let place = match &instr.kind {
            InstrKind::Cast {
                src: Operand::AddressOf(place),
                ..
            } => Some(&**place),
            InstrKind::Cast {
                src: Operand::Temp(temp),
                ..
            } => addresses.get(temp).copied(),
            _ => None,
        };
        addresses.extend(instr.dst().zip(place));
    }
    addresses
}

fn at_numbers(cfg: &Cfg, tree: &Tree) -> FxHashSet<TempId> {
    let instrs = cfg.iter().flat_map(|(_, block)| &block.instrs);
    let loaded = instrs.filter_map(|instr| match &instr.kind {
        InstrKind::Load { dst, place } => Some((*dst, place.as_local()?)),
        _ => None,
    });
    let at_numbers = loaded.filter(|&(_, local)| points_at_numbers(tree, local));
    at_numbers.map(|(temp, _)| temp).collect()
}

fn given(cfg: &Cfg) -> FxHashSet<TempId> {
    let instrs = cfg.iter().flat_map(|(_, block)| &block.instrs);
    let calls = instrs.filter(|instr| matches!(instr.kind, InstrKind::Call { .. }));
    calls.filter_map(Instr::dst).collect()
}

fn points_at_numbers(tree: &Tree, local: LocalId) -> bool {
    let pointee = tree.local(local).ty.pointee();
    pointee.is_some_and(Type::is_number)
}

/// Whether what an operation gives points nowhere, whatever it is made of: `digit << 15`.
fn makes_number(op: Op) -> bool {
    match op {
        Op::Binary(
            BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Modulo
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight,
        )
        | Op::Look => true,
        Op::Binary(op) => op.is_comparison(),
        Op::Unary(_) | Op::VaArg => false,
    }
}

/// Whether values of the type are numbers, which point nowhere; `void` counts as one.
pub fn is_number(ty: &Type) -> bool {
    ty.is_number() || ty.is_void()
}

/// Whether values of the type point at numbers or at pointers.
pub fn is_plain_pointer(ty: &Type) -> bool {
    ty.pointee()
        .is_some_and(|inner| is_number(inner) || matches!(inner.kind, TypeKind::Pointer(_)))
}
