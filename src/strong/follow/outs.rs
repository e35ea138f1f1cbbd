//! Where calls store pointers into the followed object.
//!
//! ```c
//! PyBytes_AsStringAndSize(v, &text, &length);            /* a variable: `v` is needed as long */
//! PyBytes_AsStringAndSize(v, &self->text, &self->size);  /* memory: nobody knows how long */
//! ```

use super::Follower;
use super::hold::{Carrier, Kind, State};
use super::visits::keeps_nothing;
use crate::ast::{ExprId, ExprKind, LocalId, Name, TypeKind, UnaryOp};
use crate::capi::{self, Copied, Stored, copies_memory, stored};
use crate::cfg::{Base, Callee, InstrKind, Operand, Part, Place, Point, Projection, reaches};
use crate::ownership::track::Callees;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::types::{can_hold_pointer, is_number, may_point_inside};

/// What the argument of a call is the address of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A variable.
    Local(LocalId),
    /// A part of a variable: `&s.text`, `&texts[i]`.
    Part(LocalId),
    /// Memory that other code may reach.
    Memory,
}

impl Follower<'_, '_> {
    /// The callee may store pointers into some arguments through others.
    pub(in crate::strong) fn outs(
        &self,
        name: &str,
        call: ExprId,
        args: &[Operand],
        kinds: &[Option<Kind>],
        state: &mut State,
    ) {
        let ExprKind::Call { args: written, .. } = &self.scene.tree.expr(call).kind else {
            return;
        };
        state.sources.passed_on |= self.passes_inside(name, kinds, state);
        self.copied(name, call, args, state);
        let from_object = kinds.iter().any(Option::is_some) && !keeps_nothing(self.scene, call);
        for (at, &arg) in written.iter().enumerate() {
            let format = |at: usize| self.scene.tree.as_string(*written.get(at)?);
            let stored = stored(name, at, format);
            let summaries = self.scene.cx.summaries();
            let mut of = kinds.iter().enumerate();
            let is_pointer = stored.is_pointer(name)
                || of.any(|(from, kind)| {
                    kind.is_some() && from != at && summaries.stores(name, from, at)
                });
            // What the package's own functions keep is summed up.
            let may_be_pointer = stored == Stored::Unknown && !summaries.knows(name);
            let target = target(self.scene, arg);
            if let Target::Local(local) = target
                && matches!(
                    state.kind(Carrier::Local(local)),
                    Some(Kind::Same | Kind::MaybeSame)
                )
            {
                return state.fail(Reason::AddressTaken(self.scene.name(local).to_owned()));
            }
            if !from_object || args.get(at).is_some_and(Operand::is_constant) {
                continue;
            }
            match target {
                Target::Local(local) | Target::Part(local)
                    if is_pointer && self.is_static(local) =>
                {
                    if !self.pins(state) {
                        return;
                    }
                }
                Target::Local(local) if !self.may_point(local) => {}
                // `make(v, &object)`: what it makes is taken to be an object of its own.
                Target::Local(local) if !is_pointer && !self.may_point_inside(local) => {}
                Target::Local(local) | Target::Part(local) if is_pointer || may_be_pointer => {
                    match self.pointer_field(local) {
                        Some(part) => drop(state.parts.insert(part)),
                        None => drop(state.carriers.insert(Carrier::Local(local), Kind::Inside)),
                    }
                }
                Target::Memory if is_pointer => {
                    if !self.pins(state) {
                        return;
                    }
                }
                Target::Local(_) | Target::Part(_) | Target::Memory => {}
            }
        }
    }

    /// Whether a call copies pointers into the object out of the memory whose address is its
    /// argument `at`, to where they outlive the function.
    pub(in crate::strong) fn keeps_contents(
        &self,
        name: &str,
        call: ExprId,
        args: &[Operand],
        at: usize,
        state: &State,
    ) -> bool {
        let kept = match copies_memory(name) {
            Some(Copied { to, from }) => at == from && self.target_of(call, to).is_none(),
            None => self.scene.cx.summaries().keeps_contents(name, at),
        };
        kept && self.has_pointers(call, args, at, state)
    }

    /// The variable of the function that the memory, whose address is argument `at`, is a part of.
    fn target_of(&self, call: ExprId, at: usize) -> Option<LocalId> {
        let ExprKind::Call { args, .. } = &self.scene.tree.expr(call).kind else {
            return None;
        };
        match target(self.scene, *args.get(at)?) {
            Target::Local(local) | Target::Part(local) => {
                Some(local).filter(|&local| !self.is_static(local))
            }
            Target::Memory => None,
        }
    }

    /// Whether argument `at` is the address of a variable with pointers into the object.
    ///
    /// ```c
    /// Part part, *p = &part;
    /// part.text = PyBytes_AS_STRING(v);
    /// ```
    fn has_pointers(&self, call: ExprId, args: &[Operand], at: usize, state: &State) -> bool {
        if let Some(Operand::AddressOf(place)) = args.get(at) {
            return matches!(place.base, Base::Local(local) if state.points_inside(local));
        }
        let Some(pointer) = self.local_argument(call, at) else {
            return false;
        };
        let pointee = self.scene.tree.local(pointer).ty.pointee();
        let leads_to_struct = pointee.is_some_and(|ty| !is_number(ty) && !ty.is_void());
        let mut pointed_at = self.scene.cfg.pointed_at().into_iter();
        leads_to_struct && pointed_at.any(|local| state.points_inside(local))
    }

    /// `memcpy(&other, &part, sizeof part)`: `other` gets the pointers that `part` has.
    fn copied(&self, name: &str, call: ExprId, args: &[Operand], state: &mut State) {
        if let Some(Copied { to, from }) = copies_memory(name)
            && self.has_pointers(call, args, from, state)
            && let Some(local) = self.target_of(call, to)
        {
            state.carriers.insert(Carrier::Local(local), Kind::Inside);
        }
    }

    /// The only field of a variable that can hold a pointer, if the function stores to it by
    /// itself: `in.src` of `struct { const void *src; size_t size, pos; } in;`.
    fn pointer_field(&self, local: LocalId) -> Option<Part> {
        let types = self.scene.cx.types();
        let def = types.definition(&types.key(&self.scene.tree.local(local).ty)?)?;
        let is_number = |ty| types.is_number(ty);
        let mut pointers = def.fields.iter().filter(|field| !is_number(&field.ty));
        let (Some(field), None) = (pointers.next(), pointers.next()) else {
            return None;
        };
        let place = Place {
            base: Base::Local(local),
            path: vec![Projection::Field(field.name.as_str().into())],
        };
        self.scene.liveness.part(&place)
    }

    /// Whether a function of the project may store a pointer into its arguments in a variable.
    fn may_point_inside(&self, local: LocalId) -> bool {
        may_point_inside(&self.scene.tree.local(local).ty)
    }

    /// Whether a variable whose address is passed may get a pointer.
    fn may_point(&self, local: LocalId) -> bool {
        let variable = self.scene.tree.local(local);
        let is_plain = || self.scene.is_plain(&variable.ty);
        !is_number(&variable.ty)
            && (variable.is_param || can_hold_pointer(&variable.ty) && !is_plain())
    }
}

/// Whether other code may know the address of `local` while it holds the result of `call`. What a
/// call gets later is found on the way there.
///
/// ```c
/// if (PyDict_Check(all)) {
///     while (PyDict_Next(all, &pos, &key, &item))     /* never meets the lookup */
///         …
/// } else {
///     item = PyList_GET_ITEM(all, i);
/// ```
pub(in crate::strong) fn is_shared(scene: &Scene<'_>, local: LocalId, call: ExprId) -> bool {
    let Some(lookup) = scene.cfg.call(call) else {
        return true;
    };
    let callee = |at: Point| {
        let instr = scene.cfg.block(at.block).instrs.get(at.index)?;
        match &instr.kind {
            InstrKind::Call { callee, .. } => Some(callee),
            _ => None,
        }
    };
    // PyDict_Next(d, &pos, &key, &item) keeps no address.
    let keeps =
        |callee: &Callee| !matches!(callee, Callee::Named(name) if capi::effects(name).is_some());
    let mut points = scene.cfg.addressing(local);
    points.any(|at| match callee(at) {
        Some(callee) => keeps(callee) && reaches(scene.cfg, at, lookup, &[]),
        None => reaches(scene.cfg, at, lookup, &[]) || reaches(scene.cfg, lookup, at, &[]),
    })
}

/// What `arg` points at.
fn target(scene: &Scene<'_>, arg: ExprId) -> Target {
    match scene.tree.expr(arg).kind {
        ExprKind::Cast { operand, .. } => target(scene, operand),
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => match scene.as_local(operand) {
            Some(local) => Target::Local(local),
            None => owner(scene, operand).map_or(Target::Memory, Target::Part),
        },
        // `texts` of `char *texts[2];`
        ExprKind::Name(Name::Local(local)) if is_array(scene, local) => Target::Local(local),
        _ => Target::Memory,
    }
}

/// The variable that `place` is a part of.
fn owner(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    match scene.tree.expr(place).kind {
        ExprKind::Name(Name::Local(local)) => Some(local),
        ExprKind::Member {
            base, arrow: false, ..
        } => owner(scene, base),
        ExprKind::Index { base, .. } => owner(scene, base).filter(|&local| is_array(scene, local)),
        _ => None,
    }
}

fn is_array(scene: &Scene<'_>, local: LocalId) -> bool {
    let variable = scene.tree.local(local);
    !variable.is_param && matches!(variable.ty.kind, TypeKind::Array(..))
}
