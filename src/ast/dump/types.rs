//! Types as text, in prefix notation.

use crate::ast::{Type, TypeKind};

pub(super) fn type_text(ty: &Type) -> String {
    let mut text = String::new();
    if ty.is_const {
        text.push_str("const ");
    }
    if ty.is_volatile {
        text.push_str("volatile ");
    }
    let tag = |tag: &Option<Box<str>>| tag.as_deref().unwrap_or("_").to_owned();
    text + &match &ty.kind {
        TypeKind::Named(name) => name.to_string(),
        TypeKind::Struct(name) => format!("struct {}", tag(name)),
        TypeKind::Enum(name) => format!("enum {}", tag(name)),
        TypeKind::Pointer(inner) => format!("* {}", type_text(inner)),
        TypeKind::Array(inner, Some(length)) => format!("[{length}] {}", type_text(inner)),
        TypeKind::Array(inner, None) => format!("[] {}", type_text(inner)),
        TypeKind::Function(result, params) => {
            let params: Vec<_> = params.iter().map(type_text).collect();
            format!("fn({}) {}", params.join(", "), type_text(result))
        }
        TypeKind::Unknown => "?".to_owned(),
    }
}
