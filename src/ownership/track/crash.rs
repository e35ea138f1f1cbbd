//! Paths on which the program ends: because it reads through `NULL`, or the C API does, before a
//! change and after, or because the code says so.

use super::effects::is_read;
use super::state::{State, Value};
use super::step::Stepper;
use crate::capi;
use crate::cfg::{Base, Block, Callee, Cfg, Instr, InstrKind, Source};

impl Stepper<'_> {
    /// Whether the program crashes at `instr`, which reads what it gets, and gets `NULL`.
    pub(super) fn crashes(&self, state: &State, instr: &Instr) -> bool {
        let read = match &instr.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                args,
                ..
            } => args.first().filter(|_| capi::reads_first(name)),
            // ((Method *)v)->name
            InstrKind::Load { place, .. } => match &place.base {
                Base::Deref(pointer) => Some(pointer).filter(|_| is_read(self.callees, place)),
                _ => None,
            },
            _ => None,
        };
        read.is_some_and(|read| self.value(state, read) == Value::Null)
            && !matches!(instr.source, Source::Expr(expr) if self.facts.tree.is_asserted(expr))
    }
}

/// The blocks from which every path ends the program, so that nothing is lost of what is held there.
///
/// ```c
/// if (PyDict_SetItemString(globals, "self", self) < 0) {
///     fprintf(stderr, "%s\n", verbose ? name : "");
///     Py_FatalError("no memory");
/// }
/// Py_DECREF(globals);
/// ```
pub(super) fn doomed(cfg: &Cfg) -> Vec<bool> {
    let stops = |block: &Block| block.stopped_by().is_some_and(capi::ends_program);
    let mut doomed: Vec<bool> = cfg.blocks.iter().map(stops).collect();
    loop {
        let leads = |block: &Block| {
            let mut next = block.successors.iter();
            !block.successors.is_empty() && next.all(|next| doomed[next.index()])
        };
        let blocks = cfg.blocks.iter().enumerate().rev();
        let mut blocks = blocks.filter(|(at, block)| !doomed[*at] && leads(block));
        let Some((at, _)) = blocks.next() else {
            return doomed;
        };
        doomed[at] = true;
    }
}
