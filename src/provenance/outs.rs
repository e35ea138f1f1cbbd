//! Parameters through which a function gives values to its caller.
//!
//! ```c
//! static int parse(PyObject *kwargs, PyObject **key) { *key = PyDict_GetItem(kwargs, name); … }
//! ```

use std::collections::BTreeSet;

use crate::cfg::{Base, Instr, InstrKind, Operand, Place, TempId};

use super::Cx;
use super::flow::Flow;
use super::held::is_test;

impl Cx<'_> {
    /// Whether the function of the package only stores to what it gets the address of.
    pub(super) fn only_fills(&self, name: &str, arg: usize) -> bool {
        let mut definitions = self.definitions(name).peekable();
        definitions.peek().is_some()
            && definitions.all(|item| {
                let flow = self.flow(item);
                flow.is_some_and(|flow| flow.is_only_filled(arg))
            })
    }
}

impl Flow<'_> {
    /// The parameter that `operand` was just read from.
    pub(super) fn parameter(&self, operand: &Operand) -> Option<usize> {
        let local = self.local(operand)?;
        let mut params = self.function.params.iter();
        params.position(|&param| param == local)
    }

    /// Whether all that the function does with parameter `index` is to read and write what it points
    /// at: `*out = value; if (*out == NULL)`.
    pub(super) fn is_only_followed(&self, index: usize) -> bool {
        let is_it = |operand: &Operand| match operand {
            // `&*out`
            Operand::AddressOf(place) => place
                .operands()
                .any(|part| self.parameter(part) == Some(index)),
            _ => self.parameter(operand) == Some(index),
        };
        let local = self.function.params.get(index);
        let is_changed = |instr: &Instr| {
            let place = instr.place().and_then(Place::as_local);
            let is_stored = matches!(instr.kind, InstrKind::Store { .. });
            is_stored && place.as_ref() == local
        };
        let mut steps = self.instrs();
        let mut returns = self.returns();
        local.is_some_and(|&local| self.cfg.addressing(local).next().is_none())
            && steps.all(|(_, instr)| match &instr.kind {
                InstrKind::Load { .. } => true,
                InstrKind::Op { op, .. } if is_test(*op) => true,
                InstrKind::Store { value, .. } => !is_it(value) && !is_changed(instr),
                _ => !instr.operands().any(is_it),
            })
            && !returns.any(|(_, value)| is_it(value))
    }

    /// Whether no more than that is done, and what is read there is only compared.
    pub(super) fn is_only_filled(&self, index: usize) -> bool {
        let read: BTreeSet<TempId> = self
            .instrs()
            .filter_map(|(_, instr)| match &instr.kind {
                InstrKind::Load { dst, place } => match &place.base {
                    Base::Deref(pointer) if self.parameter(pointer) == Some(index) => Some(*dst),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let is_read =
            |operand: &Operand| matches!(operand, Operand::Temp(temp) if read.contains(temp));
        let mut steps = self.instrs();
        let mut returns = self.returns();
        self.is_only_followed(index)
            && steps.all(|(_, instr)| match &instr.kind {
                InstrKind::Op { op, .. } if is_test(*op) => true,
                _ => !instr.operands().any(is_read),
            })
            && !returns.any(|(_, value)| is_read(value))
    }
}
