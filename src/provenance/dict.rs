//! Whether an argument is a dict for sure: a call that does not check it may take the place of one
//! that does.

use crate::cfg::{Base, Instr, Operand, Place, Point};
use crate::program::{Body, CallSite, ItemId};
use crate::roles::Param;

use super::Cx;
use super::checked::checked_by;
use super::flow::{Flow, Origin, last_field};
use super::own::is_address_of;

/// How many calls, fields and variables deep a value is followed.
const MAX_DEPTH: u32 = 3;

impl Cx<'_> {
    /// Whether argument `arg` of the call `site` is a dict or `NULL`.
    #[must_use]
    pub fn is_dict(&self, site: CallSite, arg: usize) -> bool {
        let Some(flow) = self.flow(site.item) else {
            return false;
        };
        let Some(point) = flow.cfg.call(site.expr) else {
            return false;
        };
        let operand = flow.call(point).and_then(|(_, args)| args.get(arg));
        operand.is_some_and(|operand| self.holds_dict(flow, operand, point, MAX_DEPTH))
    }

    pub(super) fn holds_dict(
        &self,
        flow: &Flow<'_>,
        operand: &Operand,
        at: Point,
        depth: u32,
    ) -> bool {
        if checked_by(flow, operand, at, &["PyDict_Check", "PyDict_CheckExact"]).is_some() {
            return true;
        }
        let origins = flow.origins(operand);
        let gives_dict = |origin| self.origin_is_dict(flow, origin, depth);
        depth > 0
            && !origins.is_empty()
            && origins.iter().all(gives_dict)
            && !flow.may_be_none(operand)
    }

    fn origin_is_dict(&self, flow: &Flow<'_>, origin: &Origin, depth: u32) -> bool {
        match origin {
            Origin::Call(made) => match flow.call(*made) {
                Some((Some(name), _)) => gives_dict(name) || self.returns_dict(name, depth),
                _ => false,
            },
            Origin::Out(point, arg) => parses_dict(flow, *point, *arg),
            Origin::Param(index) => self.param_is_dict(flow, *index, depth),
            Origin::Field(name, _) if &**name == "tp_dict" => true,
            Origin::Field(name, _) => self.field_is_dict(name, depth),
            Origin::Global(name) => self.global_is_dict(name, depth),
            Origin::Element(_) | Origin::Address(_) | Origin::Unknown => false,
        }
    }

    /// Whether every definition of the package's function `name` returns a dict.
    fn returns_dict(&self, name: &str, depth: u32) -> bool {
        let mut definitions = self.definitions(name).peekable();
        definitions.peek().is_some()
            && !self.calls.is_broken(name)
            && definitions.all(|item| {
                self.flow(item).is_some_and(|flow| {
                    let mut returns = flow.returns().filter(|(_, value)| !value.is_zero());
                    returns.all(|(at, value)| self.holds_dict(flow, value, at, depth - 1))
                })
            })
    }

    /// Whether all callers of a function that Python does not know pass a dict.
    fn param_is_dict(&self, flow: &Flow<'_>, index: usize, depth: u32) -> bool {
        let function = flow.function;
        let mut roles = self.roles.of(flow.item, function);
        let from_python = roles.all(|role| role.param(index) == Some(Param::Keywords));
        let has_role = self.roles.of(flow.item, function).next().is_some();
        let sites = self.calls.calls_to(&function.name);
        let closed = function.is_static && !self.calls.is_mentioned(&function.name);
        let known = if has_role {
            from_python
        } else {
            closed && !sites.is_empty()
        };
        known
            && sites.iter().all(|call| {
                let Some(caller) = self.flow(call.item) else {
                    return false;
                };
                let Some(site) = caller.cfg.call(call.expr) else {
                    return false;
                };
                let passed = caller.call(site).and_then(|(_, args)| args.get(index));
                passed.is_some_and(|arg| self.holds_dict(caller, arg, site, depth - 1))
            })
    }

    /// Whether every field of this name only ever gets dicts, and Python cannot set it.
    fn field_is_dict(&self, name: &str, depth: u32) -> bool {
        if self.calls.is_named_unread(name) || self.is_in_union(name) {
            return false;
        }
        let mut any = false;
        for (at, item) in (0u32..).zip(&self.program.items) {
            match &item.body {
                Some(Body::Function(_)) if self.has_word(item, name) => {
                    if self.has_offset(item) {
                        return false;
                    }
                    let Some(flow) = self.flow(ItemId(at)) else {
                        return false;
                    };
                    let sets = |place: &Place| last_field(place) == Some(name);
                    match self.stores_dicts(flow, depth, sets, |op| has_field(op, name)) {
                        Some(found) => any |= found,
                        None => return false,
                    }
                }
                // `{"name", T_OBJECT, offsetof(Foo, field)}` lets Python set the field.
                Some(Body::Declaration(declaration))
                    if declaration.declarators.iter().any(|one| one.init.is_some())
                        && self.has_word(item, name) =>
                {
                    return false;
                }
                _ => {}
            }
        }
        any
    }

    /// Whether the variable of file scope only ever gets dicts.
    fn global_is_dict(&self, name: &str, depth: u32) -> bool {
        if self.calls.is_named_unread(name) {
            return false;
        }
        let mut any = false;
        for &item in self.definitions.values().flatten() {
            let Some(flow) = self.flow(item) else {
                return false;
            };
            let sets = |place: &Place| {
                matches!(&place.base, Base::Global(base) if &**base == name)
                    && place.path.is_empty()
            };
            match self.stores_dicts(flow, depth, sets, |op| is_address_of(op, name)) {
                Some(found) => any |= found,
                None => return false,
            }
        }
        any
    }

    /// Whether the function sets one of these places; `None` if to what may be no dict, or if it
    /// gives its address away.
    fn stores_dicts(
        &self,
        flow: &Flow<'_>,
        depth: u32,
        sets: impl Fn(&Place) -> bool,
        shows: impl Fn(&Operand) -> bool,
    ) -> Option<bool> {
        let mut any = false;
        for (point, instr) in flow.instrs() {
            if instr.operands().any(&shows) {
                return None;
            }
            if let Some((at, value)) = flow.assigned(point)
                && flow.cfg.instr(at).and_then(Instr::place).is_some_and(&sets)
                && !value.is_zero()
            {
                if !self.holds_dict(flow, value, point, depth - 1) {
                    return None;
                }
                any = true;
            }
        }
        Some(any)
    }
}

pub(super) fn gives_dict(name: &str) -> bool {
    matches!(
        name,
        "PyDict_New"
            | "PyDict_Copy"
            | "PyModule_GetDict"
            | "PyEval_GetBuiltins"
            | "PyEval_GetGlobals"
            | "PyImport_GetModuleDict"
            | "PyThreadState_GetDict"
            | "PyInterpreterState_GetDict"
            | "PyType_GetDict"
    )
}

/// Whether `PyArg_ParseTuple(args, "O!", &PyDict_Type, &d)` stores through its argument `arg`.
pub(super) fn parses_dict(flow: &Flow<'_>, point: Point, arg: usize) -> bool {
    let Some((Some(name), args)) = flow.call(point) else {
        return false;
    };
    let checked = arg.checked_sub(1).and_then(|before| args.get(before));
    let types = checked.map(|ty| flow.origins(ty)).unwrap_or_default();
    name.starts_with("PyArg_")
        && matches!(&types[..], [Origin::Address(ty)] if &**ty == "PyDict_Type")
}

fn has_field(operand: &Operand, name: &str) -> bool {
    matches!(operand, Operand::AddressOf(place) if last_field(place) == Some(name))
}
