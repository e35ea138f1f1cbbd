//! Which identifiers are type names.

use rustc_hash::FxHashSet;

use super::builtin_types;

/// The type names of a package: those it defines itself, on top of the built-in list.
#[derive(Debug, Clone, Default)]
pub struct TypeNames {
    own: FxHashSet<Box<str>>,
}

impl TypeNames {
    /// Only the built-in names: C, POSIX, Windows, CPython.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name that a `typedef` of the package declares.
    pub fn add(&mut self, name: &str) {
        self.own.insert(name.into());
    }

    /// Whether `name` names a type where nothing shadows it.
    #[must_use]
    pub fn is_type(&self, name: &str) -> bool {
        builtin_types::contains(name) || self.own.contains(name)
    }
}
