//! Names of nested scopes.

use rustc_hash::FxHashMap;

/// What each name means at the current place.
#[derive(Debug)]
pub(crate) struct Scopes<'a, V> {
    meanings: FxHashMap<&'a [u8], V>,
    /// Names declared since the start with what they meant before, to be put back.
    undo: Vec<(&'a [u8], Option<V>)>,
}

/// A place to go back to with [`Scopes::leave`].
#[derive(Debug)]
pub(crate) struct Mark(usize);

impl<'a, V: Copy> Scopes<'a, V> {
    pub(crate) fn new() -> Self {
        Self {
            meanings: FxHashMap::default(),
            undo: Vec::new(),
        }
    }

    /// Opens a scope.
    pub(crate) fn enter(&self) -> Mark {
        Mark(self.undo.len())
    }

    /// Closes the scope opened at `mark` and all inside it.
    pub(crate) fn leave(&mut self, mark: &Mark) {
        while self.undo.len() > mark.0 {
            let Some((name, before)) = self.undo.pop() else {
                return;
            };
            match before {
                Some(before) => self.meanings.insert(name, before),
                None => self.meanings.remove(name),
            };
        }
    }

    /// Gives `name` a meaning until the scope ends.
    pub(crate) fn declare(&mut self, name: &'a [u8], meaning: V) {
        let before = self.meanings.insert(name, meaning);
        self.undo.push((name, before));
    }

    /// The innermost meaning of `name`.
    pub(crate) fn get(&self, name: &[u8]) -> Option<V> {
        self.meanings.get(name).copied()
    }
}
