//! What calls give.

use super::carriers::addressed;
use super::state::{Instance, State, Value};
use super::step::Stepper;
use super::{Gives, Seed};
use crate::ast::ExprKind;
use crate::capi::{self, Returns};
use crate::cfg::{Operand, Source, TempId};

impl Stepper<'_> {
    /// Whether what a call gives lives by itself: that of some slots,
    /// `Py_TYPE(v)->tp_descr_get(v, o, type)`, for one.
    pub(super) fn gives_apart(&self, source: Source) -> bool {
        let Source::Expr(call) = source else {
            return false;
        };
        if self.callees.outlives_arguments(self.facts.tree, call) {
            return true;
        }
        match &self.facts.tree.expr(call).kind {
            ExprKind::Call { callee, .. } => match &self.facts.tree.expr(*callee).kind {
                ExprKind::Member { field, .. } => capi::slot_gives_new(field),
                _ => false,
            },
            _ => false,
        }
    }

    pub(super) fn result(&self, name: &str, values: &[Value]) -> Value {
        if matches!(name, "Py_NewRef" | "Py_XNewRef") {
            // Py_NewRef(PyTuple_GET_ITEM(v, 0)) lives by itself.
            return match values.first() {
                Some(Value::Derived(_) | Value::MaybeDerived(_)) | None => Value::Unknown,
                Some(value) => *value,
            };
        }
        if capi::effects(name).is_some_and(|effects| effects.returns == Returns::Null) {
            return Value::Null;
        }
        let derived = self
            .callees
            .derived_from(name)
            .and_then(|arg| values.get(arg)?.instance());
        if let Some(id) = derived {
            return Value::Derived(id);
        }
        let mut args = values.iter().enumerate();
        let made_of = args.find_map(|(at, value)| {
            let id = value.instance()?;
            self.callees.may_derive(name, at).then_some(id)
        });
        match made_of {
            Some(id) if self.callees.gives_pointer(name) => Value::Derived(id),
            Some(id) => Value::MaybeDerived(id),
            None => Value::Unknown,
        }
    }

    /// A seed runs: one state for each of its outcomes.
    pub(super) fn give(
        &mut self,
        state: State,
        seed: usize,
        dst: TempId,
        args: &[Operand],
        out: &mut Vec<State>,
    ) {
        let Seed { gives, owned, .. } = self.seeds[seed];
        let mut success = state.clone();
        let id = success.instances.len();
        success.instances.push(Instance::new(seed, owned));
        if let Some(arg) = gives.out() {
            let local = args.get(usize::from(arg)).and_then(addressed);
            let (missing, given): (&[i64], &[i64]) = match gives {
                Gives::OutAlways(_) => (&[-1], &[0, 1]),
                _ => (&[0, -1], &[1]),
            };
            for &status in missing {
                let mut failed = state.clone();
                failed.set_temp(dst, Value::Int(status), None);
                local
                    .into_iter()
                    .for_each(|local| failed.set_local(local, Value::Null));
                out.push(failed);
            }
            match local {
                Some(local) => success.set_local(local, Value::Instance(id)),
                // `&self->field`: memory takes the reference over.
                None => success.instances[id].count -= 1,
            }
            return out.extend(given.iter().map(|&status| {
                let mut given = success.clone();
                given.set_temp(dst, Value::Int(status), None);
                given
            }));
        }
        success.set_temp(dst, Value::Instance(id), None);
        out.push(success);
        let others: &[Value] = match gives {
            Gives::Result => &[Value::Null],
            Gives::ResultOrNone => &[Value::Null, Value::None],
            Gives::Always | Gives::Out(_) | Gives::OutAlways(_) => &[],
        };
        for &value in others {
            let mut other = state.clone();
            other.set_temp(dst, value, None);
            out.push(other);
        }
    }
}
