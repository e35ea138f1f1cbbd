//! The state of objects that threads share.

use std::collections::BTreeSet;

use super::ItemId;

/// The state of the objects of one C type that threads share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectState {
    /// The struct, as methods name it.
    pub type_name: String,
    /// The fields that methods change, or that lead to what they change.
    pub fields: BTreeSet<String>,
    /// Those of them that methods set.
    pub set: BTreeSet<String>,
    /// Those of them that lead to what methods change.
    pub behind: BTreeSet<String>,
    /// Other fields that methods use and that only `__init__` changes.
    pub by_init: BTreeSet<String>,
    /// The methods that use one of them without a lock, in order of their items.
    pub methods: Vec<Method>,
    /// Methods of other types whose objects lead to memory of the kind that methods change:
    /// `Node.node` to a part of what `Tree.tree` leads to.
    pub sharing: BTreeSet<ItemId>,
}

impl ObjectState {
    /// Whether the lock of an object guards its field `name`, or what that leads to.
    #[must_use]
    pub fn guards(&self, name: &str) -> bool {
        self.fields.contains(name) || self.by_init.contains(name)
    }
}

/// A function that Python calls on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// The function.
    pub item: ItemId,
    /// Whether it is `tp_init`.
    pub is_init: bool,
    /// The fields that it changes.
    pub writes: BTreeSet<String>,
    /// Those that it only reads.
    pub reads: BTreeSet<String>,
    /// The parameters that are objects with these fields; the first one as a rule.
    pub objects: BTreeSet<usize>,
}
