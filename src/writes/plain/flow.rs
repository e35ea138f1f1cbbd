//! Where pointers of a function come from.
//!
//! Every store counts, whatever the order. What is not followed is foreign.

use std::collections::BTreeMap;

use super::code::Frame;
use super::escape::Escapes;
use super::origin::{Foreign, Origin, Origins, Root};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, UnaryOp};
use crate::capi::{Gives, Returns, effects, writes};
use crate::cfg::{
    Base, Callee, Instr, InstrKind, Op, Operand, Place, Point, Projection, Source, TempId,
};

impl Origins {
    /// `out` is what is known of where others get memory.
    pub(super) fn find(frame: Frame<'_, '_, '_, '_>, out: Escapes) -> Self {
        let code = frame.code;
        let mut found = Self {
            temps: vec![Origin::default(); code.cfg.temps as usize],
            locals: vec![Origin::default(); code.function.tree.locals.len()],
            contents: BTreeMap::new(),
            out,
        };
        for &param in &code.function.params {
            found.locals[param.0 as usize] = frame.param(param);
        }
        while frame.round(&mut found) {}
        found
    }
}

impl Frame<'_, '_, '_, '_> {
    /// Takes each step into account once; whether anything was new.
    fn round(&self, found: &mut Origins) -> bool {
        let mut grows = false;
        for (at, instr) in self.code.cfg.steps() {
            if let Some(TempId(dst)) = instr.dst() {
                let value = self.made_by(found, at, instr);
                grows |= found.temps[dst as usize].add(value);
            }
            if let InstrKind::Store { place, value } = &instr.kind {
                let mut value = self.stored(found, instr.source, value);
                if self.is_number_of(instr.source) && !self.code.is_tracked(place) {
                    // Who finds the number there finds no address that is followed.
                    value = match self.is_raw(place) {
                        true => value.bytes(),
                        false => value.foreign.into(),
                    };
                }
                grows |= self.keep(found, place, value);
            }
            if let Some((place, value)) = self.code.set(instr) {
                let value = value.map_or(Foreign::GIVEN.into(), |it| self.of(found, it));
                grows |= self.keep(found, place, value);
            }
            grows |= self.keep_called(found, instr);
        }
        grows
    }

    pub(super) fn of(&self, found: &Origins, operand: &Operand) -> Origin {
        match operand {
            Operand::Temp(temp) => found.temps[temp.0 as usize].clone(),
            Operand::AddressOf(place) => self.address(found, place),
            Operand::Null | Operand::Int(_) | Operand::Str(_) => Origin::default(),
            Operand::Unknown => Origin::UNKNOWN,
        }
    }

    /// The memory that a place lies in.
    fn address(&self, found: &Origins, place: &Place) -> Origin {
        match &place.base {
            Base::Local(local) if self.code.is_automatic(*local) => Origin::of(Root::Stack(*local)),
            Base::Global(name) if self.plain.is_type(name) => Foreign::SELF.into(),
            Base::Global(name) if self.plain.is_constant(name) => Origin::of(Root::Constant),
            Base::Local(_) | Base::Global(_) => Foreign::KEPT.into(),
            Base::Deref(pointer) => self.of(found, pointer),
            Base::Unnamed(expr) => Origin::of(Root::Literal(*expr)),
        }
    }

    fn made_by(&self, found: &Origins, at: Point, instr: &Instr) -> Origin {
        let ty = self.type_at(instr.source);
        match &instr.kind {
            InstrKind::Load { dst, place } => self.load(found, at, instr, (*dst, place)),
            InstrKind::Copy { src, .. } => self.of(found, src),
            InstrKind::Cast { src, ty, .. } => match self.of(found, src) {
                origin if self.types().is_below_address(ty) => origin.bytes(),
                origin if self.types().is_number(ty) => origin,
                // `(char *)PyLong_AsSize_t(address)`
                origin => origin.into_address(),
            },
            InstrKind::Op { op, operands, .. } => match op {
                Op::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
                | Op::Unary(UnaryOp::Not) => Origin::default(),
                Op::Binary(op) if op.is_comparison() => Origin::default(),
                Op::VaArg | Op::Look => Foreign::GIVEN.into(),
                // The distance of two pointers.
                Op::Binary(BinaryOp::Minus) if self.are_pointers(found, operands) => {
                    Origin::default()
                }
                Op::Binary(_) | Op::Unary(_) => self.computed(found, instr.source, operands),
            },
            InstrKind::Call { dst, callee, args } => {
                let all = self.call(found, *dst, callee, args);
                let is_own = callee
                    .name()
                    .is_some_and(|it| !self.code.own(it).is_empty());
                match ty {
                    Some(ty) if !is_own && self.types().is_number(ty) => Origin::NUMBER,
                    _ => all,
                }
            }
            InstrKind::Store { .. }
            | InstrKind::Declare { .. }
            | InstrKind::ScopeEnd { .. }
            | InstrKind::Asm => Foreign::GIVEN.into(),
        }
    }

    fn load(
        &self,
        found: &Origins,
        at: Point,
        instr: &Instr,
        (dst, place): (TempId, &Place),
    ) -> Origin {
        let ty = self.type_at(instr.source);
        // `unsigned char key[4]` is a pointer if it is a parameter.
        let is_param = |local| self.code.function.params.contains(&local);
        if ty.is_some_and(|ty| self.types().is_array(ty)) && !place.as_local().is_some_and(is_param)
        {
            return self.address(found, place);
        }
        let is_number = ty.is_some_and(|ty| self.types().is_number(ty));
        let value = match &place.base {
            Base::Local(local) if self.code.is_automatic(*local) => {
                self.loaded(found, at, (dst, *local, is_number))
            }
            // `Py_None`, `PyUnicode_FSConverter`, a function of the package
            Base::Global(name) if self.plain.is_named_by_python(name) => Origin::default(),
            // `SEEK_SET`
            Base::Global(name) if self.plain.is_macro(name) => Origin::NUMBER,
            _ if is_number => Origin::NUMBER,
            Base::Local(_) | Base::Global(_) => Foreign::KEPT.into(),
            Base::Deref(pointer) => self.read(found, (pointer, at)),
            Base::Unnamed(expr) => self.content(found, Root::Literal(*expr)),
        };
        if is_number {
            value
        } else {
            value.into_address()
        }
    }

    /// What is computed of operands: in `text + n` the pointer counts, in `(size_t)text & ~(size_t)63` what
    /// comes from one.
    fn computed(&self, found: &Origins, source: Source, operands: &[Operand]) -> Origin {
        if let Some(pointer) = self.pointer_of(source)
            && let Some(operand) = operands.get(pointer)
        {
            return self.of(found, operand);
        }
        let mut all = Origin::default();
        let mut is_address = false;
        for operand in operands {
            let origin = self.of(found, operand);
            is_address |= !origin.number && origin.is_followed();
            all.add(origin);
        }
        all.number &= !is_address;
        all
    }

    /// The operand that is a pointer, where only one is.
    fn pointer_of(&self, source: Source) -> Option<usize> {
        let Source::Expr(expr) = source else {
            return None;
        };
        let sides = match self.code.function.tree.expr(expr).kind {
            ExprKind::Binary { lhs, rhs, .. } => [lhs, rhs],
            ExprKind::Assign { lhs, rhs, .. } => [lhs, rhs],
            _ => return None,
        };
        let is_pointer = |side: ExprId| Some(self.types().pointee(self.type_of(side)?).is_some());
        match [is_pointer(sides[0])?, is_pointer(sides[1])?] {
            [true, false] => Some(0),
            [false, true] => Some(1),
            _ => None,
        }
    }

    fn are_pointers(&self, found: &Origins, operands: &[Operand]) -> bool {
        let mut origins = operands.iter().map(|it| self.of(found, it));
        origins.all(|origin| !origin.roots.is_empty())
    }

    /// What a load of a variable gives.
    fn loaded(
        &self,
        found: &Origins,
        at: Point,
        (dst, local, is_number): (TempId, LocalId, bool),
    ) -> Origin {
        let mut all = Origin::default();
        let Some(definitions) = self.code.definitions(dst) else {
            if is_number {
                return Origin::NUMBER;
            }
            all.add(self.content(found, Root::Stack(local)));
            if found.out.is_out(self.code, Root::Stack(local), at, &[]) {
                all.add(Foreign::KEPT.into());
            }
            return all;
        };
        for definition in definitions {
            let Some(at) = *definition else {
                all.add(self.param(local));
                continue;
            };
            let instr = self.code.cfg.instr(at);
            let set = instr.and_then(|it| self.code.set(it));
            let value = set.map_or_else(|| self.code.stored(at), |(_, value)| value);
            if let (Some(value), Some(instr)) = (value, instr) {
                all.add(self.stored(found, instr.source, value));
            }
        }
        all
    }

    /// What a parameter has at the entry.
    fn param(&self, local: LocalId) -> Origin {
        let ty = &self.code.function.tree.local(local).ty;
        let mut params = self.code.function.params.iter();
        let at = params.position(|&param| param == local);
        match at {
            _ if self.types().is_below_address(ty) => Origin::NUMBER,
            Some(at) => Origin {
                number: self.types().is_number(ty),
                ..self.plain.param(self.code.item, at)
            },
            None => Foreign::GIVEN.into(),
        }
    }

    /// What a step stores.
    fn stored(&self, found: &Origins, source: Source, value: &Operand) -> Origin {
        match value {
            // `p = _Generic(i, int: &shared, default: &own);`
            Operand::Unknown if !self.is_number_of(source) => Foreign::GIVEN.into(),
            _ => self.of(found, value),
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
                all.add(self.given_back(found, dst, self.plain.does(item).result, args));
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
                Gives::Number => Origin::NUMBER,
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
    pub(super) fn like_objects(&self, found: &Origins, call: Source, args: &[Operand]) -> Origin {
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

    /// Whether a place is not a member by its name, so that what is stored there may be a part of anything:
    /// `text[i]`, `*word`.
    pub(super) fn is_raw(&self, place: &Place) -> bool {
        match (&place.path[..], &place.base) {
            // `struct range all = {0, n};`
            ([Projection::Index(_)], Base::Local(local)) => {
                let ty = &self.code.function.tree.local(*local).ty;
                self.types().is_array(ty) || self.types().pointee(ty).is_some()
            }
            ([.., Projection::Index(_)], _) => true,
            ([.., Projection::Field(_)], _) | ([], Base::Local(_) | Base::Global(_)) => false,
            ([], Base::Deref(_) | Base::Unnamed(_)) => true,
        }
    }
}
