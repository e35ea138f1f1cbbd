//! What a module has for itself while it is made: its variables, its types, its dict.

use crate::cfg::{Base, Instr, InstrKind, Operand, Projection};

use super::Cx;
use super::api::{Gives, gives};
use super::flow::{Flow, Origin};

impl Cx<'_> {
    /// Whether the variable only ever holds containers that the package made.
    pub(super) fn is_filled_here(&self, name: &str) -> bool {
        let mut any = false;
        for item in self.definitions.values().flatten() {
            let Some(flow) = self.flow(*item) else {
                continue;
            };
            for (_, instr) in flow.instrs() {
                if instr.operands().any(|op| is_address_of(op, name)) {
                    return false;
                }
                let Some(value) = stored_to(instr, name) else {
                    continue;
                };
                for origin in flow.origins(value) {
                    let Origin::Call(made) = origin else {
                        return false;
                    };
                    match flow.call(made) {
                        Some((Some(call), _)) if gives(call) == Some(Gives::Fresh) => any = true,
                        _ => return false,
                    }
                }
            }
        }
        any
    }

    /// Whether the package defines the type: it stands in a table of its own.
    pub(super) fn is_own_type(&self, name: &str) -> bool {
        self.program.declarations().any(|(_, declaration)| {
            let mut names = declaration.declarators.iter();
            names.any(|declarator| declarator.name == name && declarator.init.is_some())
        })
    }

    /// Whether `module` is the module that is being made here.
    pub(super) fn is_own_module(&self, flow: &Flow<'_>, module: &Operand, depth: u32) -> bool {
        if !self.is_init_only(flow) || depth == 0 {
            return false;
        }
        let origins = flow.origins(module);
        !origins.is_empty()
            && origins.iter().all(|origin| match origin {
                Origin::Call(point) => matches!(
                    flow.call(*point),
                    Some((
                        Some("PyModule_Create" | "PyModule_Create2" | "PyModule_New"),
                        _
                    ))
                ),
                Origin::Param(index) => {
                    let mut roles = self.roles.of(flow.item, flow.function);
                    let calls = self.calls.calls_to(&flow.function.name);
                    let passed = calls.iter().all(|call| {
                        let Some(caller) = self.flow(call.item) else {
                            return false;
                        };
                        let Some(site) = caller.cfg.call(call.expr) else {
                            return false;
                        };
                        let args = caller.call(site).map_or(&[][..], |(_, args)| args);
                        args.get(*index)
                            .is_some_and(|arg| self.is_own_module(caller, arg, depth - 1))
                    });
                    passed && (!calls.is_empty() || roles.any(|_| *index == 0))
                }
                _ => false,
            })
    }
}

pub(super) fn is_address_of(operand: &Operand, global: &str) -> bool {
    matches!(operand, Operand::AddressOf(place) if matches!(&place.base, Base::Global(name) if &**name == global))
}

/// The value that the step writes to the file-scope variable.
fn stored_to<'i>(instr: &'i Instr, global: &str) -> Option<&'i Operand> {
    match &instr.kind {
        InstrKind::Store { place, value } => {
            let named = matches!(&place.base, Base::Global(name) if &**name == global);
            let whole = !matches!(place.path.last(), Some(Projection::Field(_)));
            (named && whole).then_some(value)
        }
        _ => None,
    }
}
