//! Paths that end because the program reads through `NULL`: it does so before a change and after.

use super::state::{State, Value};
use super::step::Stepper;
use crate::capi;
use crate::cfg::{Base, Callee, Instr, InstrKind};

impl Stepper<'_> {
    /// Whether the program crashes at `instr`: it reads through `NULL`.
    pub(super) fn crashes(&self, state: &State, instr: &Instr) -> bool {
        let read = match &instr.kind {
            InstrKind::Load { place, .. } => match &place.base {
                Base::Deref(pointer) => Some(pointer),
                _ => None,
            },
            InstrKind::Call {
                callee: Callee::Named(name),
                args,
                ..
            } => args.first().filter(|_| capi::reads_first(name)),
            _ => None,
        };
        read.is_some_and(|pointer| self.value(state, pointer) == Value::Null)
    }
}
