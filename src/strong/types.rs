//! What the type of a variable says about the pointers it may hold.

use crate::ast::{Type, TypeKind};

/// Whether values of the type, or of nothing, are numbers: they never keep anything alive.
pub(super) fn is_number(ty: &Type) -> bool {
    ty.is_number() || ty.is_void()
}

/// Whether a variable, which is no parameter, can hold a pointer: `char name[64];` cannot.
pub(super) fn can_hold_pointer(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Array(element, _) => can_hold_pointer(element),
        _ => !is_number(ty),
    }
}

/// Whether a function of the project whose result has this type may give a pointer into its
/// arguments: a plain pointer may, an object is taken to be one of its own.
pub(super) fn may_point_inside(ty: &Type) -> bool {
    match ty.pointee() {
        Some(inner) => is_number(inner) || matches!(inner.kind, TypeKind::Pointer(_)),
        None => !is_number(ty),
    }
}

/// Whether a type of numbers has numbers below zero, as its name says.
pub(super) fn is_signed(ty: &Type) -> bool {
    let name = ty.name().unwrap_or_default().to_ascii_lowercase();
    let words = ["bool", "unsigned", "uint"];
    !words.iter().any(|word| name.contains(word)) && !name.starts_with('u') && name != "size_t"
}
