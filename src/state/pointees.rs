//! Which structs the pointers in a struct lead to.

use std::collections::BTreeSet;

use crate::ast::{Type, TypeKind};
use crate::program::Types;

/// The structs of which the fields `names` of the struct `owner` lead to all there are: those that they
/// point to, and parts of these, from which nothing leads back.
pub(super) fn parts(types: &Types<'_>, owner: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let tops = names.iter().filter_map(|name| pointee(types, owner, name));
    let tops: BTreeSet<String> = tops.collect();
    let mut found = reached(types, tops.iter().cloned().collect());
    found.retain(|key| tops.contains(key) || reached(types, vec![key.clone()]).is_disjoint(&tops));
    found
}

/// The structs that can be reached from others, and these, without those of objects.
fn reached(types: &Types<'_>, mut open: Vec<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    while let Some(key) = open.pop() {
        let Some(def) = types.definition(&key).filter(|_| found.insert(key.clone())) else {
            continue;
        };
        open.extend(
            def.fields
                .iter()
                .filter_map(|field| target(types, &field.ty)),
        );
    }
    found
}

/// The struct that the field `name` of the struct `owner` leads to.
pub(super) fn pointee(types: &Types<'_>, owner: &str, name: &str) -> Option<String> {
    let key = types.key(&Type::plain(TypeKind::Named(owner.into())));
    let key = key.filter(|key| types.definition(key).is_some());
    let def = types.definition(&key.unwrap_or_else(|| format!("struct {owner}")))?;
    let field = def.fields.iter().find(|field| field.name == name)?;
    target(types, &field.ty)
}

/// The struct that a pointer, or an array of pointers, leads to in the end, or that a member is.
fn target(types: &Types<'_>, ty: &Type) -> Option<String> {
    let mut ty = ty;
    while let Some(to) = types.pointee(ty) {
        ty = to;
    }
    if ty.is_const || types.is_object(ty) {
        return None;
    }
    types.key(ty).filter(|key| types.definition(key).is_some())
}
