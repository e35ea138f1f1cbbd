//! Paths on which the program ends: because the C API reads through `NULL`, which it does before a
//! change and after, or because the code says so.

use super::state::{State, Value};
use super::step::Stepper;
use crate::capi;
use crate::cfg::{BlockId, Callee, Instr, InstrKind, Source, Terminator};

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

    /// Whether the program ends in `block`, so that nothing is lost of what is held there.
    ///
    /// ```c
    /// if (PyDict_SetItemString(globals, "self", self) < 0)
    ///     Py_FatalError("no memory");
    /// Py_DECREF(globals);
    /// ```
    pub(super) fn ends_program(&self, block: BlockId) -> bool {
        let block = self.facts.cfg.block(block);
        let ends = |instr: &Instr| match &instr.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } => capi::ends_program(name),
            _ => false,
        };
        block.terminator == Terminator::Unreachable && block.instrs.last().is_some_and(ends)
    }
}
