//! What an operand holds in a state.

use super::state::{State, Value};
use super::step::Stepper;
use crate::cfg::{Base, Operand};

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
}
