//! Whether a loop fills something item by item.

use crate::ast::{ExprKind, LocalId, TokenRange};
use crate::capi;
use crate::cfg::{Base, Callee, Instr, InstrKind, Operand, Place, Projection, Source};

use super::scope::Scope;
use super::site::Site;

/// Whether the loop writes nothing whose place counts with the items: `keys[i++] = key;`.
pub(super) fn fills_nothing(scope: &Scope<'_>, site: &Site) -> bool {
    let range = site.turn(scope);
    let is_written = |local| scope.is_written(local, range, Some(site.call));
    let steady = |pointer: &Operand| {
        let mut loads = scope.steps_in(range).filter_map(|step| match &step.kind {
            InstrKind::Load { dst, place } if *pointer == Operand::Temp(*dst) => Some(place),
            _ => None,
        });
        let place = loads.next().and_then(Place::as_local);
        place.is_some_and(|local| !is_written(local))
    };
    let is_one_place = |place: &Place| {
        let is_field = |part: &Projection| matches!(part, Projection::Field(_));
        let is_steady = match &place.base {
            Base::Local(_) | Base::Global(_) => true,
            Base::Deref(pointer) => steady(pointer),
            Base::Unnamed(_) => false,
        };
        is_steady && place.path.iter().all(is_field)
    };
    scope.steps_in(range).all(|step| match &step.kind {
        InstrKind::Store { place, .. } => is_one_place(place),
        InstrKind::Call { callee, .. } => {
            step.source == Source::Expr(site.call) || counts_nothing(scope, callee, step, range)
        }
        _ => true,
    })
}

/// Whether a function of the C API gets no number that changes in the loop.
fn counts_nothing(scope: &Scope<'_>, callee: &Callee, step: &Instr, range: TokenRange) -> bool {
    let (Callee::Named(name), Source::Expr(call)) = (callee, step.source) else {
        return false;
    };
    let changes = |local: LocalId| {
        let is_pointer = scope.tree().local(local).ty.pointee().is_some();
        !is_pointer && scope.is_written(local, range, None)
    };
    let args = match &scope.expr(call).kind {
        ExprKind::Call { args, .. } => args.iter(),
        _ => return false,
    };
    let locals = (0..).map(LocalId).take(scope.tree().locals.len());
    let mut changing = locals.filter(|&local| changes(local));
    capi::effects(name).is_some()
        && !changing.any(|local| args.clone().any(|&arg| scope.mentions(arg, local)))
}
