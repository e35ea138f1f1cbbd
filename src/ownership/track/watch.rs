//! Variables that are followed wherever their values come from.

use super::state::{Instance, State, Value};
use super::step::Stepper;
use super::{Origin, Problem, Trouble};
use crate::cfg::{Operand, Place, Source};

impl Stepper<'_> {
    /// Gives what a variable of [`Origin::Local`] holds an instance where that is not followed yet;
    /// the other state is that in which it is `NULL`.
    pub(super) fn watch(
        &mut self,
        state: &mut State,
        place: &Place,
        source: Source,
    ) -> Option<State> {
        let local = place.as_local()?;
        let mut seeds = self.seeds.iter();
        let seed = seeds.position(|seed| seed.origin == Origin::Local(local))?;
        let value = state.local(local);
        match value {
            Value::Instance(_) | Value::Null | Value::Int(_) => return None,
            Value::Unset => {
                let trouble = Trouble {
                    seed,
                    problem: Problem::UseOfUnset,
                    at: Some(source),
                    since: None,
                };
                if !self.troubles.contains(&trouble) {
                    self.troubles.push(trouble);
                }
                return None;
            }
            _ if !self.holds_pointer(local) => return None,
            Value::Unknown
            | Value::MaybeNull
            | Value::NonNull
            | Value::None
            | Value::Owed(_)
            | Value::OwedPart(_)
            | Value::Derived(_)
            | Value::MaybeDerived(_) => {}
        }
        let null = matches!(value, Value::Unknown | Value::MaybeNull).then(|| {
            let mut null = state.clone();
            null.set_local(local, Value::Null);
            null
        });
        let id = state.instances.len();
        state.instances.push(Instance::new(seed, false));
        state.set_local(local, Value::Instance(id));
        null
    }

    /// Whether a path ends in a call because a variable of [`Origin::Local`] is `NULL` on it, which
    /// it may be only for all that is known: `Py_INCREF(v)` looks into the object.
    pub(super) fn dies_of_null(&self, state: &State, name: &str, args: &[Operand]) -> bool {
        let [Operand::Temp(temp)] = args else {
            return false;
        };
        let Some(known) = state.temps.get(temp).filter(|_| name == "Py_INCREF") else {
            return false;
        };
        let mut seeds = self.seeds.iter();
        known.value == Value::Null
            && seeds.any(|seed| known.from.map(Origin::Local) == Some(seed.origin))
    }
}
