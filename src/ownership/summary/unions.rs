//! Fields that share their memory.
//!
//! ```c
//! union { PyObject *object; void *pointer; } slot;
//! slot.object = v;
//! return slot.pointer;          /* `v` under another name */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::program::Program;

/// The unions of the package by the names of their members.
#[derive(Debug, Default)]
pub(super) struct Unions(BTreeMap<Box<str>, BTreeSet<usize>>);

impl Unions {
    pub(super) fn new(program: &Program<'_>) -> Self {
        let trees = program.items.iter().filter_map(|item| item.tree());
        let unions = trees.flat_map(|tree| &tree.unions);
        let mut all = Self::default();
        for (at, union) in unions.enumerate() {
            for member in union {
                all.0.entry(member.clone()).or_default().insert(at);
            }
        }
        all
    }

    pub(super) fn have_both(&self, field: &str, other: &str) -> bool {
        let [field, other] = [field, other].map(|name| self.0.get(name));
        field
            .zip(other)
            .is_some_and(|(one, other)| !one.is_disjoint(other))
    }
}
