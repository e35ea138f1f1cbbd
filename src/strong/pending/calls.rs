//! Sets of calls.

use fixedbitset::FixedBitSet;

use crate::cfg::TempId;

/// Calls, named by their results.
#[derive(Debug, Clone, Default)]
pub(in crate::strong) struct Calls(FixedBitSet);

impl Calls {
    pub(in crate::strong) fn insert(&mut self, call: TempId) {
        self.0.grow_and_insert(call.0 as usize);
    }

    pub(super) fn remove(&mut self, call: TempId) {
        if self.contains(call) {
            self.0.remove(call.0 as usize);
        }
    }

    pub(super) fn remove_all(&mut self, calls: &Self) {
        self.0.difference_with(&calls.0);
    }

    pub(in crate::strong) fn contains(&self, call: TempId) -> bool {
        self.0.contains(call.0 as usize)
    }

    pub(in crate::strong) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds those of `from`; whether any is new.
    pub(super) fn join(&mut self, from: &Self) -> bool {
        let grows = !from.0.is_subset(&self.0);
        if grows {
            self.0.union_with(&from.0);
        }
        grows
    }

    pub(in crate::strong) fn is_empty(&self) -> bool {
        self.0.is_clear()
    }

    /// The calls, in the order of the function's text.
    pub(in crate::strong) fn iter(&self) -> impl Iterator<Item = TempId> {
        let name = |call| TempId(u32::try_from(call).expect("temporaries are u32"));
        self.0.ones().map(name)
    }
}
