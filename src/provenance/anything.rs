//! Whether an argument may be whatever Python code hands in: a call that finds nothing in what is
//! no dict then answers where one that minds raises an error.
//!
//! ```c
//! self->expr = PyTuple_GetItem(args, 0);              /* a dict, or `None` */
//! v = PyDict_GetItemString(self->expr, "key");
//! ```

use crate::capi::{self, Returns};
use crate::cfg::{Condition, Dominators, Operand, Point};
use crate::program::{CallSite, members};
use crate::roles::Param;

use super::Cx;
use super::checked::{holds_from, unequal_from};
use super::dict::{gives_dict, parses_dict};
use super::flow::{Flow, Origin};
use super::traced::{Cell, Question, Value};

/// Whether nothing asks whether a value is a dict.
struct IsAnything;

impl Question for IsAnything {
    fn of_value(&self, cx: &Cx<'_>, value: Value<'_, '_>, depth: u32) -> Option<bool> {
        let Value { flow, operand, at } = value;
        if cx.holds_dict(flow, operand, at, depth) {
            return Some(false);
        }
        if let Some(cell) = cx.read(flow, operand) {
            return match cx.is_asked(flow, &cell, at) {
                true => Some(false),
                false => cx.is_member(&cell).then_some(true),
            };
        }
        let local = flow.local(operand);
        let is_it = |it: &Operand| local.is_some() && flow.local(it) == local;
        let is_none = flow.may_be_none(operand) && !is_told_from_none(flow, at, is_it);
        let origins = flow.origins(operand);
        let is_any = |origin: &Origin| cx.is_given(flow, origin, &origins);
        (is_none || origins.iter().any(is_any)).then_some(true)
    }

    fn of_store(&self, value: Value<'_, '_>) -> bool {
        value.flow.may_be_none(value.operand)
    }
}

impl Cx<'_> {
    /// Whether argument `arg` of the call `site` may be whatever Python code hands in, as nothing
    /// asks whether it is a dict.
    #[must_use]
    pub fn is_any_object(&self, site: CallSite, arg: usize) -> bool {
        self.may_be(&IsAnything, site, arg)
    }

    /// Whether a value of this origin, one of `origins`, is what Python code gave.
    fn is_given(&self, flow: &Flow<'_>, origin: &Origin, origins: &[Origin]) -> bool {
        let called = |origin: &Origin| match origin {
            Origin::Call(made) => flow.call(*made).and_then(|(name, _)| name),
            _ => None,
        };
        // v = PyDict_GetItem(cache, key); if (v == NULL) { v = PyDict_New(); … }: one of those that
        // the function puts there itself.
        let is_cached = || origins.iter().filter_map(called).any(gives_dict);
        let is_borrowed = |name: &str| {
            capi::effects(name).is_some_and(|effects| effects.returns == Returns::Borrowed)
        };
        match origin {
            Origin::Out(point, arg) => {
                let name = flow.call(*point).and_then(|(name, _)| name);
                name.is_some_and(|name| name.starts_with("PyArg_"))
                    && !parses_dict(flow, *point, *arg)
            }
            Origin::Call(_) => called(origin).is_some_and(|name| {
                gives_any(name) && !gives_dict(name) && !(is_borrowed(name) && is_cached())
            }),
            Origin::Global(name) | Origin::Address(name) => capi::is_singleton(name),
            Origin::Param(index) => {
                let mut roles = self.roles.of(flow.item, flow.function);
                roles.any(|role| role.param(*index) == Some(Param::Argument))
            }
            _ => false,
        }
    }

    fn is_member(&self, cell: &Cell) -> bool {
        let Cell::Field { name, .. } = cell else {
            return false;
        };
        members(self.program).any(|member| {
            let is_named = member.field.is_some_and(|(_, field)| *field == **name);
            is_named && member.is_object && !member.is_read_only
        })
    }

    /// Whether all ways to `at` come from where `PyDict_Check(cell)` said yes, or where the cell was
    /// compared with `None`: there the author thought of what is no dict.
    fn is_asked(&self, flow: &Flow<'_>, cell: &Cell, at: Point) -> bool {
        let is_read = |operand: &Operand| self.read(flow, operand).is_some_and(|it| it.meets(cell));
        let dominators = Dominators::new(&flow.cfg);
        let leads = |block| dominators.dominates(block, at.block);
        let checks = flow.instrs().any(|(check, _)| {
            let asks = matches!(flow.call(check),
                Some((Some("PyDict_Check" | "PyDict_CheckExact"), [arg])) if is_read(arg));
            asks && holds_from(flow, check).is_some_and(leads)
        });
        checks || is_told_from_none(flow, at, is_read)
    }
}

/// Whether what `is_it` was compared with `None` on all ways to `at`, and differs.
fn is_told_from_none(flow: &Flow<'_>, at: Point, is_it: impl Fn(&Operand) -> bool) -> bool {
    let differs = |condition: &Condition| {
        let (lhs, rhs) = (&condition.lhs, &condition.rhs);
        is_it(lhs) && flow.may_be_none(rhs) || is_it(rhs) && flow.may_be_none(lhs)
    };
    let dominators = Dominators::new(&flow.cfg);
    let mut blocks = flow.cfg.iter().map(|(_, block)| &block.terminator);
    blocks.any(|end| {
        let block = unequal_from(flow, end, differs);
        block.is_some_and(|block| dominators.dominates(block, at.block))
    })
}

/// Whether a function of the C API gives an object that may be no dict: an attribute, an item, what
/// a call returns, or an object of another type (`PyDictProxy_New`).
fn gives_any(name: &str) -> bool {
    let Some(effects) = capi::effects(name) else {
        return false;
    };
    match effects.returns {
        Returns::New => effects.counts.is_none(),
        Returns::Borrowed => effects.derived_from.is_some(),
        _ => false,
    }
}
