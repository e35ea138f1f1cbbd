//! What is known where paths meet, and the flags that tell them apart behind that.
//!
//! ```c
//! rc = (a != NULL && b != NULL);
//! if (rc)                                       /* here `b` was tested, whatever `rc == 0` means */
//! ```

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::calls::Calls;
use super::raising::Signs;
use super::worlds::{Known, Value, World};
use crate::cfg::TempId;
use crate::strong::follow::hold::Carrier;

impl World {
    pub(super) fn join(&mut self, from: &Self) -> bool {
        let flags = [self.flags_apart(from), from.flags_apart(self)].concat();
        let one_sided = [
            self.said_elsewhere(&from.values, &from.open),
            from.said_elsewhere(&self.values, &self.open),
        ]
        .concat();
        let mut grew = extend(&mut self.values, from.values.iter());
        grew |= extend(
            &mut self.values,
            one_sided.iter().map(|(it, value)| (it, value)),
        );
        grew |= extend(&mut self.flags, from.flags.iter());
        grew |= extend(&mut self.flags, flags.iter().map(|(it, value)| (it, value)));
        grew |= self.open.join(&from.open) | self.lost.join(&from.lost);
        grew |= self.unseen.join(&from.unseen) | self.kept.join(&from.kept);
        self.known.retain(|carrier, known| {
            let both = from.known.get(carrier).and_then(|&it| known.join(it));
            grew |= both != Some(*known);
            both.inspect(|&both| *known = both).is_some()
        });
        grew
    }

    /// What variables are here if calls have failed that may not have failed in `other`, where the
    /// variables are something else, or for which only `other` has flags.
    ///
    /// ```c
    /// rc = (a != NULL && b != NULL);                /* 0 where `b` was not tested */
    /// ```
    fn flags_apart(&self, other: &Self) -> Vec<(Carrier, Rc<Value>)> {
        let mut flags = self.said_elsewhere(&other.flags, &other.open);
        let failed = self.open.iter().filter(|&call| !other.open.contains(call));
        let mut failed = failed.peekable();
        if failed.peek().is_none() {
            return flags;
        }
        let apart = self
            .known
            .iter()
            .filter_map(|(&carrier, &known)| match known {
                Known::Number(number) => {
                    let is_apart = other.known.get(&carrier).is_some_and(|&it| it != known);
                    is_apart.then_some((carrier, number))
                }
                Known::NonZero | Known::Negative => None,
            });
        let apart: Vec<(Carrier, i64)> = apart.collect();
        for call in failed {
            let flag = |&(carrier, number): &(Carrier, i64)| {
                (carrier, Value::of_call(call, &[number].into()))
            };
            flags.extend(apart.iter().map(flag));
        }
        flags
    }

    /// What variables are here if calls have failed of which `values`, of other paths with the calls
    /// `open`, say something, and not those here.
    ///
    /// ```c
    /// n = PyObject_IsTrue(o); if (i) n = 5;         /* 5 may be an error as well */
    /// ```
    fn said_elsewhere(
        &self,
        values: &BTreeMap<Carrier, Rc<Value>>,
        open: &Calls,
    ) -> Vec<(Carrier, Rc<Value>)> {
        let says = |of: &BTreeMap<Carrier, Rc<Value>>, carrier, call| {
            of.get(carrier)
                .is_some_and(|it: &Rc<Value>| it.calls.contains(call))
        };
        let mut said = Vec::new();
        for (carrier, value) in values {
            for call in &value.calls {
                let is_silent =
                    !says(&self.values, carrier, call) && !says(&self.flags, carrier, call);
                if is_silent && self.open.contains(*call) && open.contains(*call) {
                    let numbers = match self.known.get(carrier) {
                        Some(Known::Number(number)) => [*number].into(),
                        _ => [-1, 0, 1].into(),
                    };
                    said.push((*carrier, Value::of_call(*call, &numbers)));
                }
            }
        }
        said
    }

    /// `to` gets the value of `from`.
    pub(in crate::strong) fn copy_flag(&mut self, from: Carrier, to: Carrier) {
        if let Some(flag) = self.flags.get(&from).cloned() {
            self.flags.insert(to, flag);
        }
    }

    /// `call` is made again: flags tell of the time before.
    pub(in crate::strong) fn call_again(&mut self, call: TempId) {
        for flag in self.flags.values_mut() {
            if flag.calls.contains(&call) {
                Rc::make_mut(flag).calls.remove(&call);
            }
        }
    }
}

/// Adds what carriers say; whether any of that is new.
fn extend<'v>(
    values: &mut BTreeMap<Carrier, Rc<Value>>,
    with: impl Iterator<Item = (&'v Carrier, &'v Rc<Value>)>,
) -> bool {
    let mut grew = false;
    for (&carrier, value) in with {
        match values.entry(carrier) {
            Entry::Vacant(entry) => {
                entry.insert(Rc::clone(value));
                grew = true;
            }
            Entry::Occupied(mut entry) if !entry.get().holds(value) => {
                Rc::make_mut(entry.get_mut()).extend(value);
                grew = true;
            }
            Entry::Occupied(_) => {}
        }
    }
    grew
}

impl Value {
    /// What a value says that is one of these numbers where `call` has failed.
    fn of_call(call: TempId, numbers: &BTreeSet<i64>) -> Rc<Self> {
        let signs = Signs::of_these(numbers);
        let calls = [call].into();
        Rc::new(Self { signs, calls })
    }
}
