//! The states that were at the entry of one block.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::{State, Value};
use crate::ast::LocalId;

/// The states of a block, each as it was, or those with the same references as one.
///
/// ```c
/// if (verbose) level = 2;               /* two states, and no reference tells them apart */
/// v = PyDict_GetItemRef(…);
/// ```
#[derive(Debug, Default)]
pub(super) struct Crowd {
    exact: FxHashSet<State>,
    /// What is known of the other variables, by all that has to do with references.
    merged: FxHashMap<State, Values>,
}

type Values = BTreeMap<LocalId, Value>;

impl Crowd {
    pub(super) fn len(&self) -> usize {
        self.exact.len() + self.merged.len()
    }

    /// Adds a state as it is; the state if it was not there.
    pub(super) fn add(&mut self, state: State) -> Option<State> {
        self.exact.insert(state.clone()).then_some(state)
    }

    /// Makes one of the state and of those with the same references and the same values of
    /// `carriers`; what came of it if that was not there.
    ///
    /// It goes all ways that they go, and releases `NULL` where one of them does.
    pub(super) fn merge(
        &mut self,
        mut state: State,
        carriers: &FxHashSet<LocalId>,
    ) -> Option<State> {
        if self.exact.contains(&state) {
            return None;
        }
        let mut values = state.take_others(carriers);
        match self.merged.entry(state.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(values.clone());
            }
            Entry::Occupied(mut entry) => {
                values = join(entry.get(), &values);
                if values == *entry.get() {
                    return None;
                }
                entry.insert(values.clone());
            }
        }
        state.locals.extend(values);
        Some(state)
    }
}

/// What two paths both know.
fn join(left: &Values, right: &Values) -> Values {
    let unknown = Value::Unknown;
    let both = left.keys().chain(right.keys()).map(|local| {
        let value = |of: &Values| of.get(local).copied().unwrap_or(unknown);
        (*local, value(left).join(value(right)))
    });
    both.filter(|(_, value)| *value != unknown).collect()
}
