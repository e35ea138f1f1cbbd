//! What an operand holds in a state, and what operations make of operands.

use super::run::compare;
use super::state::{State, Value};
use super::step::Stepper;
use crate::ast::BinaryOp;
use crate::cfg::{Base, Comparison, Op, Operand};

impl Stepper<'_> {
    pub(super) fn value(&self, state: &State, operand: &Operand) -> Value {
        match operand {
            Operand::Temp(temp) => state
                .temps
                .get(temp)
                .map_or(Value::Unknown, |temp| temp.value),
            Operand::Null => Value::Null,
            Operand::Int(number) => Value::Int(*number),
            // &((Outer *)v)->inner
            Operand::AddressOf(place) => match &place.base {
                Base::Deref(pointer) => match self.value(state, pointer) {
                    Value::Instance(id) | Value::Derived(id) => Value::Derived(id),
                    value @ Value::MaybeDerived(_) => value,
                    _ => Value::NonNull,
                },
                _ => Value::NonNull,
            },
            Operand::Str(_) => Value::NonNull,
            Operand::Unknown => Value::Unknown,
        }
    }

    /// What an operation gives.
    pub(super) fn computed(&self, state: &State, op: Op, operands: &[Operand]) -> Value {
        let mut pointers = self.facts.pointers(op, operands);
        let derived = pointers.find_map(|operand| match self.value(state, operand) {
            // (char *)v + sizeof(PyObject)
            Value::Derived(id) | Value::MaybeDerived(id) | Value::Instance(id) => {
                Some(Value::MaybeDerived(id))
            }
            _ => None,
        });
        let known = self.outcome(state, op, operands).or(derived);
        known.unwrap_or(Value::Unknown)
    }

    /// What a comparison gives that is no condition, if that is known: `found = v != NULL;`.
    fn outcome(&self, state: &State, op: Op, operands: &[Operand]) -> Option<Value> {
        let comparison = match op {
            Op::Binary(BinaryOp::Equals) => Comparison::Equal,
            Op::Binary(BinaryOp::NotEquals) => Comparison::NotEqual,
            _ => return None,
        };
        let [left, right] = operands else {
            return None;
        };
        let [left, right] = [left, right].map(|side| self.value(state, side));
        compare(left, comparison, right).map(|holds| Value::Int(i64::from(holds)))
    }
}
