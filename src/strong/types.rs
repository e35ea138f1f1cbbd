//! What the type of a variable says about the pointers it may hold.

use crate::ast::{Type, TypeKind};

/// Whether values of the type are numbers: they never keep anything alive.
pub(super) fn is_number(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Enum(_) => true,
        TypeKind::Named(name) => is_number_name(name),
        TypeKind::Struct(_)
        | TypeKind::Pointer(_)
        | TypeKind::Array(..)
        | TypeKind::Function(..)
        | TypeKind::Unknown => false,
    }
}

/// Whether a variable, which is no parameter, can hold a pointer: `char name[64];` cannot.
pub(super) fn can_hold_pointer(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Array(element, _) => can_hold_pointer(element),
        _ => !is_number(ty),
    }
}

fn is_number_name(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "void",
    ];
    let is_fixed_width = (name.starts_with("int") || name.starts_with("uint"))
        && name.ends_with("_t")
        && name.contains(|c: char| c.is_ascii_digit());
    is_fixed_width
        || name.split(' ').all(|word| WORDS.contains(&word))
        || matches!(
            name,
            "bool"
                | "size_t"
                | "ssize_t"
                | "ptrdiff_t"
                | "off_t"
                | "time_t"
                | "wchar_t"
                | "Py_ssize_t"
                | "Py_hash_t"
                | "Py_uhash_t"
                | "Py_UCS1"
                | "Py_UCS2"
                | "Py_UCS4"
                | "Py_UNICODE"
                | "PY_LONG_LONG"
        )
}

/// Whether a function of the project whose result has this type may give a pointer into its
/// arguments: a plain pointer may, an object is taken to be one of its own.
pub(super) fn may_point_inside(ty: &Type) -> bool {
    match ty.pointee() {
        Some(inner) => is_number(inner) || matches!(inner.kind, TypeKind::Pointer(_)),
        None => !is_number(ty),
    }
}

/// The type as it is written in a declaration of one variable, with the blank or star in front of
/// the name: `PyObject *`, `int `. `None` for what needs more than that.
pub(super) fn prefix(ty: &Type) -> Option<String> {
    let constant = if ty.is_const { "const " } else { "" };
    match &ty.kind {
        TypeKind::Named(name) => Some(format!("{constant}{name} ")),
        TypeKind::Struct(Some(tag)) => Some(format!("{constant}struct {tag} ")),
        TypeKind::Enum(Some(tag)) => Some(format!("{constant}enum {tag} ")),
        TypeKind::Pointer(inner) => Some(format!("{}*", prefix(inner)?)),
        TypeKind::Struct(None)
        | TypeKind::Enum(None)
        | TypeKind::Array(..)
        | TypeKind::Function(..)
        | TypeKind::Unknown => None,
    }
}
