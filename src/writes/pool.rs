//! Values that many functions have, each kept once and named by a number.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

#[derive(Debug)]
pub(super) struct Pool<T> {
    numbers: BTreeMap<T, usize>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        let numbers = BTreeMap::new();
        Self { numbers }
    }
}

impl<T: Ord> Pool<T> {
    /// The number of a value.
    pub(super) fn number(&mut self, value: T) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(value).or_insert(next)
    }

    /// The values with these numbers, ascending.
    pub(super) fn of<'s>(&'s self, numbers: &'s FixedBitSet) -> impl Iterator<Item = &'s T> {
        let all = self.numbers.iter();
        all.filter_map(|(value, &number)| numbers.contains(number).then_some(value))
    }
}
