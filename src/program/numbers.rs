//! How wide the numbers of a type are.

use super::Types;
use crate::ast::{Type, TypeKind};

/// Whole numbers of 4 bytes.
const HALVES: [&str; 4] = ["int", "int32_t", "uint32_t", "unsigned int"];

/// Whole numbers of the width of an address.
const WORDS: [&str; 12] = [
    "Py_hash_t",
    "Py_intptr_t",
    "Py_ssize_t",
    "Py_uhash_t",
    "Py_uintptr_t",
    "intptr_t",
    "long",
    "ptrdiff_t",
    "size_t",
    "ssize_t",
    "uintptr_t",
    "unsigned long",
];

/// Narrower ones.
const NARROW: [&str; 11] = [
    "_Bool",
    "bool",
    "char",
    "int16_t",
    "int8_t",
    "short",
    "signed char",
    "uint16_t",
    "uint8_t",
    "unsigned char",
    "unsigned short",
];

fn is_word(name: &str) -> bool {
    HALVES.contains(&name) || WORDS.contains(&name)
}

impl Types<'_> {
    /// Whether every processor reads and writes a number of this type at once: it is whole, and no
    /// wider than an address.
    #[must_use]
    pub fn fits_word(&self, ty: &Type) -> bool {
        match &self.resolved(ty).kind {
            TypeKind::Enum(_) => true,
            TypeKind::Named(name) => is_word(name) || NARROW.contains(&&**name),
            _ => false,
        }
    }

    /// Whether a number of this type is too narrow for an address.
    #[must_use]
    pub fn is_below_address(&self, ty: &Type) -> bool {
        match &self.resolved(ty).kind {
            TypeKind::Enum(_) => true,
            TypeKind::Named(name) => HALVES.contains(&&**name) || NARROW.contains(&&**name),
            _ => false,
        }
    }

    /// Whether every processor and compiler adds to a number of this type at once.
    #[must_use]
    pub fn adds_at_once(&self, ty: &Type) -> bool {
        matches!(&self.resolved(ty).kind, TypeKind::Named(name) if is_word(name))
    }
}
