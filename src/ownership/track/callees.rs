//! What functions of the package keep of their arguments.

use super::Problem;
use super::effects::{Keeps, lives_by_itself};
use super::state::{InstanceId, State, Value};
use super::step::Stepper;
use crate::ast::LocalId;
use crate::calls::{CallEffects, Count};
use crate::cfg::{Operand, Source};

impl Stepper<'_> {
    /// A function of the package may keep its arguments without a reference to them.
    pub(super) fn hand_to_callee(
        &mut self,
        state: &mut State,
        (name, effects): (&str, &CallEffects<'_>),
        args: &[Operand],
        values: &[Value],
        source: Source,
    ) {
        for (at, &value) in values.iter().enumerate() {
            let count = effects.count(at);
            let unknown = (count == Count::Unknown).then_some(Keeps::Unsure);
            let Some(keeps) = self.callees.keeps(name, at).or(unknown) else {
                continue;
            };
            if lives_by_itself(count, value) {
                continue;
            }
            match (keeps, value) {
                // What becomes of `object` in `find(v, &object)` is seen.
                (Keeps::At(out), Value::Derived(_)) if self.variable_at(args, out).is_some() => {}
                (Keeps::At(out), Value::Instance(id)) if self.variable_at(args, out).is_some() => {
                    self.passed_on(state, id, source);
                }
                (_, Value::Derived(id)) | (Keeps::Inside, Value::Instance(id)) => {
                    self.keep(state, id, source);
                }
                (Keeps::Unsure | Keeps::At(_), Value::Instance(id)) => {
                    self.trouble(state, id, Problem::MayBeKept, Some(source));
                }
                (Keeps::Less, Value::Instance(id)) => self.passed_on(state, id, source),
                _ => {}
            }
        }
    }

    fn passed_on(&mut self, state: &State, id: InstanceId, source: Source) {
        let problem = match state.instances[id].count {
            1.. => Problem::MayBePassedOn,
            _ => Problem::BorrowedPassedOn,
        };
        self.trouble(state, id, problem, Some(source));
    }

    /// The variable of the function whose address is argument `at`.
    fn variable_at(&self, args: &[Operand], at: usize) -> Option<LocalId> {
        let place = self.facts.addressed(args.get(at)?)?;
        place
            .as_local()
            .filter(|_| self.facts.own_memory(place).is_some())
    }
}
