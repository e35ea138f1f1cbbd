//! Paths that end because the C API reads through `NULL`: it does so before a change and after.

use super::state::{State, Value};
use super::step::Stepper;
use crate::capi;
use crate::cfg::{Callee, Instr, InstrKind, Source};

impl Stepper<'_> {
    /// Whether the program crashes at `instr`, which reads what it gets, and gets `NULL`.
    pub(super) fn crashes(&self, state: &State, instr: &Instr) -> bool {
        let InstrKind::Call {
            callee: Callee::Named(name),
            args,
            ..
        } = &instr.kind
        else {
            return false;
        };
        let first = args.first().filter(|_| capi::reads_first(name));
        first.is_some_and(|first| self.value(state, first) == Value::Null)
            && !matches!(instr.source, Source::Expr(call) if self.facts.tree.is_asserted(call))
    }
}
