//! Containers in a `struct` that lives on the stack of one chain of calls.
//!
//! ```c
//! static int grow(Buffer *b) { b->list = PyList_New(0); return b->list ? 0 : -1; }
//! PyObject *f(void) { Buffer buffer = {NULL}; if (grow(&buffer) < 0) …
//! ```
//!
//! Nobody gets at the `struct` but by its address. So this looks at the variables that are such a
//! `struct`, and at the parameters that hold the address of one: each parameter gets nothing else,
//! and no address goes anywhere else.

use crate::ast::{BinaryOp, LocalId, Storage, TypeKind, UnaryOp};
use crate::cfg::{Base, Callee, Instr, InstrKind, Op, Operand, Place, Point, Projection};

use super::Cx;
use super::api::{Gives, Use, gives};
use super::flow::{Flow, Origin};
use super::sharing::Root;

/// How deep helpers that get the container itself are followed.
const DEPTH: u32 = 3;

/// A `struct` that more variables and parameters know is not followed.
const MAX_HOLDERS: usize = 64;

/// A variable that is the `struct`, or a parameter that points to it.
#[derive(Clone, Copy)]
struct Holder<'f> {
    flow: &'f Flow<'f>,
    local: LocalId,
}

impl PartialEq for Holder<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.flow.function, other.flow.function) && self.local == other.local
    }
}

impl<'f> Holder<'f> {
    /// What `operand` points to, if it is `&variable` or the value of a parameter.
    fn behind(flow: &'f Flow<'f>, operand: &Operand) -> Option<Self> {
        let local = match operand {
            Operand::AddressOf(place) => place.as_local(),
            operand => flow.local(operand),
        }?;
        let holder = Self { flow, local };
        let variable = flow.function.tree.local(local);
        let is_address = matches!(operand, Operand::AddressOf(_));
        let is_known = match &variable.ty.kind {
            TypeKind::Pointer(_) => variable.is_param && !is_address,
            TypeKind::Named(_) | TypeKind::Struct(_) => !variable.is_param && is_address,
            _ => false,
        };
        (is_known && variable.is_automatic()).then_some(holder)
    }

    /// The type of the `struct`.
    fn of_type(&self) -> &'f TypeKind {
        match &self.flow.function.tree.local(self.local).ty.kind {
            TypeKind::Pointer(target) if self.index().is_some() => &target.kind,
            kind => kind,
        }
    }

    /// Which parameter it is.
    fn index(&self) -> Option<usize> {
        let mut params = self.flow.function.params.iter();
        params.position(|&param| param == self.local)
    }

    /// Whether the operand is the address of the `struct`.
    fn is_address(&self, operand: &Operand) -> bool {
        match operand {
            Operand::AddressOf(place) => {
                self.index().is_none() && place.as_local() == Some(self.local)
            }
            operand => self.index().is_some() && self.flow.local(operand) == Some(self.local),
        }
    }

    /// Whether the place is the `struct` or in it.
    fn contains(&self, place: &Place) -> bool {
        match &place.base {
            Base::Local(local) => self.index().is_none() && *local == self.local,
            Base::Deref(pointer) => self.is_address(pointer),
            Base::Global(_) | Base::Unnamed(_) => false,
        }
    }

    /// Whether an address in the `struct`, or of the parameter, is in the operand.
    fn is_in(&self, operand: &Operand) -> bool {
        self.is_address(operand)
            || match operand {
                Operand::AddressOf(place) => {
                    place.base == Base::Local(self.local)
                        || place.operands().any(|operand| self.is_in(operand))
                }
                _ => false,
            }
    }
}

impl Cx<'_> {
    /// Whether the container in `base->name`, read in `flow`, is known only to the functions that
    /// get a `struct` on the stack, each of which keeps it to itself.
    pub(super) fn is_on_stack(&self, flow: &Flow<'_>, base: &Operand, name: &str) -> bool {
        let first = Holder::behind(flow, base);
        let Some(first) = first.filter(|first| self.is_plain_struct(first.of_type())) else {
            return false;
        };
        // All of the same type.
        let mut holders = vec![first];
        let mut next = 0;
        while let Some(&holder) = holders.get(next) {
            let Some(more) = self.neighbours(holder, name) else {
                return false;
            };
            for found in more {
                if !holders.contains(&found) {
                    holders.push(found);
                }
            }
            if holders.len() > MAX_HOLDERS {
                return false;
            }
            next += 1;
        }
        // Of a function that nothing calls it is not known what it gets.
        holders.iter().any(|holder| holder.index().is_none())
    }

    /// Where the address comes from and where it goes to; `None` if that is not known, or if the
    /// function of the holder does with the field what nobody may.
    fn neighbours<'f>(&'f self, holder: Holder<'f>, name: &str) -> Option<Vec<Holder<'f>>> {
        let mut found = match holder.index() {
            Some(index) => self.passed(holder, index)?,
            None => Vec::new(),
        };
        for (point, instr) in holder.flow.instrs() {
            if let InstrKind::Call { callee, args, .. } = &instr.kind {
                found.extend(self.receivers(holder, callee, args)?);
            } else if !self.is_good_step(holder, point, instr, name) {
                return None;
            }
        }
        let mut returns = holder.flow.returns();
        (!returns.any(|(_, value)| holder.is_in(value))).then_some(found)
    }

    /// Whether the type is a `struct` whose definition is known, and has no union, a member of
    /// which may be the container under another name, and no functions and bases as in C++.
    fn is_plain_struct(&self, kind: &TypeKind) -> bool {
        let (TypeKind::Named(name) | TypeKind::Struct(Some(name))) = kind else {
            return false;
        };
        let mut is_defined = false;
        for (item, declaration) in self.program.declarations() {
            let is_named = declaration.storage == Storage::Typedef
                && declaration
                    .declarators
                    .iter()
                    .any(|each| *each.name == **name);
            let mut tags = declaration.structs.iter().map(|def| def.tag.as_deref());
            if !is_named && !tags.any(|tag| tag == Some(&**name)) {
                continue;
            }
            // `typedef struct buffer Buffer;` with the definition elsewhere is not followed.
            let declined = ["union", "(", ":"];
            if declaration.structs.is_empty()
                || declined.iter().any(|word| self.has_word(item, word))
            {
                return false;
            }
            is_defined = true;
        }
        is_defined
    }

    /// What all callers pass as parameter `index`.
    fn passed<'f>(&'f self, holder: Holder<'f>, index: usize) -> Option<Vec<Holder<'f>>> {
        let function = holder.flow.function;
        if !function.is_static || self.calls.is_mentioned(&function.name) {
            return None;
        }
        let mut found = Vec::new();
        for site in self.calls.calls_to(&function.name) {
            let caller = self.flow(site.item)?;
            let (_, args) = caller.call(caller.cfg.call(site.expr)?)?;
            let passed = Holder::behind(caller, args.get(index)?)?;
            // A namesake for another `struct` in another file or behind an `#if` is what is called.
            self.parameters(&function.name, index, passed.of_type())?;
            if passed.of_type() == holder.of_type() {
                found.push(passed);
            }
        }
        Some(found)
    }

    /// The parameters that get the address from a call.
    fn receivers<'f>(
        &'f self,
        holder: Holder<'f>,
        callee: &Callee,
        args: &[Operand],
    ) -> Option<Vec<Holder<'f>>> {
        let mut found = Vec::new();
        if matches!(callee, Callee::Indirect(function) if holder.is_in(function)) {
            return None;
        }
        for (at, arg) in args.iter().enumerate().filter(|(_, arg)| holder.is_in(arg)) {
            match callee {
                Callee::Named(name) if holder.is_address(arg) => {
                    let clears = &**name == "memset" && at == 0 && args[1..].first()?.is_zero();
                    if !clears {
                        found.extend(self.parameters(name, at, holder.of_type())?);
                    }
                }
                _ => return None,
            }
        }
        Some(found)
    }

    /// Parameter `index` of each definition of the function that takes such a `struct` there;
    /// `None` if there is none, or one that may take any.
    fn parameters<'f>(
        &'f self,
        name: &str,
        index: usize,
        of_type: &TypeKind,
    ) -> Option<Vec<Holder<'f>>> {
        if self.calls.is_broken(name) {
            return None;
        }
        let mut found = Vec::new();
        for item in self.definitions(name) {
            let flow = self.flow(item)?;
            let &local = flow.function.params.get(index)?;
            let parameter = Holder { flow, local };
            if parameter.of_type() == of_type {
                found.push(parameter);
            } else if !self.is_plain_struct(parameter.of_type()) {
                return None;
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Whether a step that is no call leaves the address where it is, and the container in `name`
    /// to the `struct`.
    fn is_good_step(&self, holder: Holder<'_>, point: Point, instr: &Instr, name: &str) -> bool {
        let is_field = |place: &Place| match place.path.as_slice() {
            [Projection::Field(field)] => Some(&**field == name),
            // A member of a union may be the field under another name; an item, another `struct`.
            _ => None,
        };
        match &instr.kind {
            InstrKind::Load { place, .. } if holder.contains(place) => match is_field(place) {
                Some(true) => self.keeps(holder.flow, Root::Step(point), None),
                Some(false) => true,
                None => false,
            },
            InstrKind::Load { place, .. } => !place.operands().any(|it| holder.is_in(it)),
            InstrKind::Store { place, value } if holder.contains(place) => match is_field(place) {
                Some(true) => self.is_fresh_store(holder.flow, point, value),
                Some(false) => !holder.is_in(value),
                // `Buffer buffer = {NULL, 0};`
                None => value.is_zero() && holder.index().is_none(),
            },
            InstrKind::Store { place, .. } => {
                place.base != Base::Local(holder.local)
                    && !instr.operands().any(|it| holder.is_in(it))
            }
            InstrKind::Op { op, .. } => {
                is_test(*op) || !instr.operands().any(|it| holder.is_in(it))
            }
            InstrKind::Asm => false,
            _ => !instr.operands().any(|it| holder.is_in(it)),
        }
    }

    /// Whether the value is `NULL` or a new container that is given to nobody but this field.
    fn is_fresh_store(&self, flow: &Flow<'_>, point: Point, value: &Operand) -> bool {
        flow.origins(value).iter().all(|origin| {
            let Origin::Call(made) = origin else {
                return false;
            };
            let name = flow.call(*made).and_then(|(name, _)| name);
            name.and_then(gives) == Some(Gives::Fresh)
                && self.keeps(flow, Root::Step(*made), Some(point))
        })
    }

    /// Whether the container becomes known to nobody, but by the store at `except`.
    fn keeps(&self, flow: &Flow<'_>, root: Root, except: Option<Point>) -> bool {
        let shares = self.uses_above(flow, root, Use::Change, DEPTH);
        shares.into_iter().all(|share| Some(share) == except)
    }
}

/// Whether the operation only compares a pointer.
fn is_test(op: Op) -> bool {
    matches!(
        op,
        Op::Unary(UnaryOp::Not) | Op::Binary(BinaryOp::Equals | BinaryOp::NotEquals)
    )
}
