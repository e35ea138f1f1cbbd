//! Where pointers of a function come from.
//!
//! ```c
//! struct box b;                   &b              the stack
//! char *out = malloc(n);          out + 1         what `malloc` made
//! node *next = self->next;        next            foreign: whatever others have
//! ```
//!
//! Every store counts, whatever the order. What is not followed is foreign.

use std::collections::BTreeSet;
use std::ops::BitOrAssign;

use super::code::Frame;
use crate::ast::{BinaryOp, ExprId, LocalId, TypeKind, UnaryOp};
use crate::capi::{Gives, OutKind, Returns, effects, writes};
use crate::cfg::{
    Base, Callee, Instr, InstrKind, Op, Operand, Place, Source, TempId, addressed_local,
};
use crate::writes::value::{Kinds, Value};

/// Memory that a function has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Root {
    /// A variable on the stack.
    Stack(LocalId),
    /// `(T){…}`
    Literal(ExprId),
    /// What a call made.
    Made(TempId),
    /// What the caller gives, which it has for itself: see [`Plain::given`].
    Param(usize),
}

/// Whose a pointer may be, besides the function's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::writes) struct Foreign {
    /// Others may have it.
    pub(super) given: bool,
    /// It is the object, or the module, whose method runs, or a type or a module by its name.
    pub(super) is_self: bool,
    /// The package keeps it where other threads find it.
    pub(super) kept: bool,
}

impl Foreign {
    pub(in crate::writes) const NOT: Self = Self {
        given: false,
        is_self: false,
        kept: false,
    };
    pub(in crate::writes) const GIVEN: Self = Self {
        given: true,
        is_self: false,
        kept: false,
    };
    pub(in crate::writes) const KEPT: Self = Self {
        given: true,
        is_self: false,
        kept: true,
    };
    pub(super) const SELF: Self = Self {
        given: true,
        is_self: true,
        kept: false,
    };

    /// Whether what is known of it, or asked of it, is so for other threads as well.
    pub(super) const fn is_known(self) -> bool {
        self.kept || self.is_self
    }

    /// The same of what Python gives.
    pub(in crate::writes) fn of(value: Value) -> Self {
        match value.points {
            points if points.has(Kinds::KEPT) => Self::SELF,
            points if points.is_private() => Self::NOT,
            _ => Self::GIVEN,
        }
    }
}

impl BitOrAssign for Foreign {
    fn bitor_assign(&mut self, other: Self) {
        self.given |= other.given;
        self.is_self |= other.is_self;
        self.kept |= other.kept;
    }
}

/// All that a pointer may point into.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Origin {
    pub(super) foreign: Foreign,
    pub(super) roots: BTreeSet<Root>,
}

impl Origin {
    pub(super) fn of(root: Root) -> Self {
        Self {
            foreign: Foreign::NOT,
            roots: [root].into(),
        }
    }

    /// Adds what another path gives; whether that is new.
    fn add(&mut self, other: Self) -> bool {
        let before = (self.foreign, self.roots.len());
        self.foreign |= other.foreign;
        self.roots.extend(other.roots);
        before != (self.foreign, self.roots.len())
    }
}

impl From<Foreign> for Origin {
    fn from(foreign: Foreign) -> Self {
        Self {
            foreign,
            roots: BTreeSet::new(),
        }
    }
}

/// What a function of the package gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Result {
    /// Whether that may be memory which it made.
    pub(super) made: bool,
    pub(super) foreign: Foreign,
    /// The parameters that it may be, a bit for each.
    pub(super) params: u32,
}

impl Result {
    pub(super) const UNKNOWN: Self = Self {
        made: false,
        foreign: Foreign::KEPT,
        params: 0,
    };
}

/// What the temporaries and variables of one function may point into.
#[derive(Debug)]
pub(super) struct Origins {
    temps: Vec<Origin>,
    locals: Vec<Origin>,
}

impl Origins {
    pub(super) fn find(frame: Frame<'_, '_, '_, '_>) -> Self {
        let code = frame.code;
        let mut found = Self {
            temps: vec![Origin::default(); code.cfg.temps as usize],
            locals: vec![Origin::default(); code.function.tree.locals.len()],
        };
        for (at, param) in code.function.params.iter().enumerate() {
            found.locals[param.0 as usize] = frame.plain.param(code.item, at);
        }
        while frame.round(&mut found) {}
        found
    }
}

impl Frame<'_, '_, '_, '_> {
    /// Takes each step into account once; whether anything was new.
    fn round(&self, found: &mut Origins) -> bool {
        let mut grows = false;
        for (_, instr) in self.code.cfg.steps() {
            if let Some(TempId(dst)) = instr.dst() {
                let value = self.made_by(found, instr);
                grows |= found.temps[dst as usize].add(value);
            }
            if let InstrKind::Store { place, value } = &instr.kind
                && let Base::Local(local) = place.base
            {
                let value = self.stored(found, local, value);
                grows |= found.locals[local.0 as usize].add(value);
            }
            if let Some((local, Some(value))) = self.code.set(instr) {
                let value = self.stored(found, local, value);
                grows |= found.locals[local.0 as usize].add(value);
            }
            for local in instr.operands().filter_map(addressed_local) {
                let value = self.stored_by(found, instr, local);
                grows |= found.locals[local.0 as usize].add(value);
            }
        }
        grows
    }

    fn is_pointer(&self, local: LocalId) -> bool {
        let ty = &self.code.function.tree.local(local).ty;
        self.types().pointee(ty).is_some()
    }

    pub(super) fn of(&self, found: &Origins, operand: &Operand) -> Origin {
        match operand {
            Operand::Temp(temp) => found.temps[temp.0 as usize].clone(),
            Operand::AddressOf(place) => self.address(found, place),
            Operand::Null | Operand::Int(_) | Operand::Str(_) | Operand::Unknown => {
                Origin::default()
            }
        }
    }

    /// The memory that a place lies in.
    fn address(&self, found: &Origins, place: &Place) -> Origin {
        match &place.base {
            Base::Local(local) if self.code.is_automatic(*local) => Origin::of(Root::Stack(*local)),
            Base::Global(name) if self.plain.is_type(name) => Foreign::SELF.into(),
            Base::Global(name) if self.plain.is_constant(name) => Origin::default(),
            Base::Local(_) | Base::Global(_) => Foreign::KEPT.into(),
            Base::Deref(pointer) => self.of(found, pointer),
            Base::Unnamed(expr) => Origin::of(Root::Literal(*expr)),
        }
    }

    fn made_by(&self, found: &Origins, instr: &Instr) -> Origin {
        match &instr.kind {
            InstrKind::Load { place, .. } if self.is_array(instr) => self.address(found, place),
            InstrKind::Load { dst, place } => match place.base {
                Base::Local(local) if self.code.is_automatic(local) => {
                    self.loaded(found, *dst, local)
                }
                // `Py_None`, `PyUnicode_FSConverter`, a function of the package
                Base::Global(ref name) if !self.plain.is_variable(name) => Origin::default(),
                _ => Foreign::KEPT.into(),
            },
            InstrKind::Copy { src, .. } | InstrKind::Cast { src, .. } => self.of(found, src),
            InstrKind::Op { op, operands, .. } => match op {
                Op::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
                | Op::Unary(UnaryOp::Not) => Origin::default(),
                Op::Binary(op) if op.is_comparison() => Origin::default(),
                Op::VaArg | Op::Look => Foreign::GIVEN.into(),
                // The distance of two pointers.
                Op::Binary(BinaryOp::Minus) if self.are_pointers(found, operands) => {
                    Origin::default()
                }
                Op::Binary(_) | Op::Unary(_) => {
                    let mut all = Origin::default();
                    for operand in operands {
                        all.add(self.of(found, operand));
                    }
                    all
                }
            },
            InstrKind::Call { dst, callee, args } => self.call(found, *dst, callee, args),
            InstrKind::Store { .. }
            | InstrKind::Declare { .. }
            | InstrKind::ScopeEnd { .. }
            | InstrKind::Asm => Foreign::GIVEN.into(),
        }
    }

    fn are_pointers(&self, found: &Origins, operands: &[Operand]) -> bool {
        let mut origins = operands.iter().map(|it| self.of(found, it));
        origins.all(|origin| !origin.roots.is_empty())
    }

    /// What a load of a variable gives.
    fn loaded(&self, found: &Origins, dst: TempId, local: LocalId) -> Origin {
        let Some(definitions) = self.code.definitions(dst) else {
            return found.locals[local.0 as usize].clone();
        };
        let mut all = Origin::default();
        for definition in definitions {
            let Some(at) = *definition else {
                all.add(self.param(local));
                continue;
            };
            let set = self.code.cfg.instr(at).and_then(|it| self.code.set(it));
            let value = set.map_or_else(|| self.code.stored(at), |(_, value)| value);
            if let Some(value) = value {
                all.add(self.stored(found, local, value));
            }
        }
        all
    }

    /// What a parameter has at the entry.
    fn param(&self, local: LocalId) -> Origin {
        let mut params = self.code.function.params.iter();
        let at = params.position(|&param| param == local);
        at.map_or(Foreign::GIVEN.into(), |at| {
            self.plain.param(self.code.item, at)
        })
    }

    fn stored(&self, found: &Origins, local: LocalId, value: &Operand) -> Origin {
        match value {
            // `p = _Generic(i, int: &shared, default: &own);`
            Operand::Unknown if self.is_pointer(local) => Foreign::GIVEN.into(),
            _ => self.of(found, value),
        }
    }

    /// Whether a step gives the address of an array in a struct: `self->name`.
    fn is_array(&self, instr: &Instr) -> bool {
        let Source::Expr(expr) = instr.source else {
            return false;
        };
        let ty = self.type_of(expr);
        ty.is_some_and(|ty| matches!(ty.kind, TypeKind::Array(..)))
    }

    /// What a step that uses the address of `local` stores there.
    fn stored_by(&self, found: &Origins, instr: &Instr, local: LocalId) -> Origin {
        let InstrKind::Call {
            dst,
            callee: Callee::Named(name),
            args,
        } = &instr.kind
        else {
            // `p->at = &local;`, `n = sizeof local;`
            return match &instr.kind {
                InstrKind::Load { .. } => Origin::default(),
                _ => Foreign::GIVEN.into(),
            };
        };
        let is_own = !self.code.own(name).is_empty();
        let is_it = |arg: &Operand| addressed_local(arg) == Some(local);
        let kinds = args.iter().enumerate().filter(|(_, arg)| is_it(arg));
        let mut all = Origin::default();
        for (at, _) in kinds {
            let effects = effects(name);
            let out = effects.and_then(|it| it.out(at));
            let lender = effects.and_then(|it| it.derived_from).map(usize::from);
            let lender = lender.and_then(|lender| args.get(lender));
            all.add(match out {
                // `PyBytes_AsStringAndSize(bytes, &text, &n)`
                Some(OutKind::Pointer) if lender.is_some() => {
                    lender.map_or(Foreign::GIVEN.into(), |it| self.of(found, it))
                }
                // `_PyBytes_Resize(&bytes, n)`
                Some(OutKind::Inout | OutKind::Memory) => Origin::of(Root::Made(*dst)),
                // `memcpy(buffer, text, n)`: no pointers are stored in an array of numbers.
                _ if self.holds_numbers(local) => Origin::default(),
                // `pool_of(self, &pool)`
                _ if is_own => Foreign::KEPT.into(),
                _ => self.like_objects(found, instr.source, args),
            });
        }
        all
    }

    /// Whether others may have what a variable on the stack holds: `stream.next_out = shared;`.
    pub(super) fn holds_given(&self, found: &Origins, root: Root) -> bool {
        match root {
            Root::Stack(local) => found.locals[local.0 as usize].foreign.given,
            _ => true,
        }
    }

    /// Whether the package keeps something that a variable on the stack holds: `args[0] = self->pool;`.
    pub(super) fn holds_kept(&self, found: &Origins, root: Root) -> bool {
        matches!(root, Root::Stack(local) if found.locals[local.0 as usize].foreign.kept)
    }

    fn holds_numbers(&self, local: LocalId) -> bool {
        let types = self.types();
        let ty = &self.code.function.tree.local(local).ty;
        match &ty.kind {
            TypeKind::Array(element, _) => {
                types.is_number(element) && element.name().is_some_and(|it| it.contains("char"))
            }
            _ => false,
        }
    }

    /// What a call gives.
    fn call(&self, found: &Origins, dst: TempId, callee: &Callee, args: &[Operand]) -> Origin {
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(pointer) => return self.by_pointer(dst, pointer),
        };
        let own = self.code.own(name);
        if !own.is_empty() {
            let mut all = Origin::default();
            for &item in own {
                all.add(self.given_back(found, dst, self.plain.result(item), args));
            }
            return all;
        }
        let argument = |at: usize| match args.get(at) {
            Some(arg) => self.of(found, arg),
            None => Foreign::GIVEN.into(),
        };
        match (writes(name), effects(name)) {
            (Some(row), _) => match row.gives {
                Gives::Fresh => Origin::of(Root::Made(dst)),
                Gives::Argument(at) | Gives::Part(at) => argument(at),
                Gives::Number => Origin::default(),
                Gives::Shared | Gives::Lent | Gives::Held(_) | Gives::Attributes => {
                    self.like_arguments(found, args)
                }
            },
            (None, Some(effects)) if effects.gives_global => Foreign::SELF.into(),
            (None, Some(effects)) => match (effects.returns, effects.derived_from) {
                (Returns::Plain, Some(at)) => argument(usize::from(at)),
                (Returns::Void | Returns::Null, _) => Origin::default(),
                // `PyState_FindModule(&def)`
                (Returns::Borrowed, None) => Foreign::KEPT.into(),
                _ => self.like_arguments(found, args),
            },
            (None, None) => Foreign::GIVEN.into(),
        }
    }

    /// What others have; what comes from something that the package keeps, it keeps as well.
    fn like_arguments(&self, found: &Origins, args: &[Operand]) -> Origin {
        let mut origins = args.iter().map(|arg| self.of(found, arg));
        match origins.any(|origin| origin.foreign.is_known()) {
            true => Foreign::KEPT.into(),
            false => Foreign::GIVEN.into(),
        }
    }

    /// The same of what a call stores, which comes from an object: `PyDict_GetItemRef(self->all, key, &item)`.
    fn like_objects(&self, found: &Origins, call: Source, args: &[Operand]) -> Origin {
        let is_object = |number: usize| {
            let Source::Expr(call) = call else {
                return true;
            };
            let arg = self.argument(call, number);
            let ty = arg.and_then(|arg| self.type_of(arg));
            ty.is_none_or(|ty| self.types().is_object_pointer(ty))
        };
        let mut args = (0..).zip(args);
        let is_known = |arg| self.of(found, arg).foreign.is_known();
        match args.any(|(number, arg)| is_known(arg) && is_object(number)) {
            true => Foreign::KEPT.into(),
            false => Foreign::GIVEN.into(),
        }
    }

    /// `type->tp_alloc(type, 0)` gives a new object.
    fn by_pointer(&self, dst: TempId, pointer: &Operand) -> Origin {
        match self.slot(pointer) {
            Some("tp_alloc") if !self.plain.walk.allocates => Origin::of(Root::Made(dst)),
            _ => Foreign::GIVEN.into(),
        }
    }

    fn given_back(&self, found: &Origins, dst: TempId, result: Result, args: &[Operand]) -> Origin {
        let mut all = Origin::from(result.foreign);
        if result.made {
            all.roots.insert(Root::Made(dst));
        }
        for (at, arg) in args.iter().enumerate().take(32) {
            if result.params & (1 << at) != 0 {
                all.add(self.of(found, arg));
            }
        }
        all
    }
}
