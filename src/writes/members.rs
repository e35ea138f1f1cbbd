//! Fields that Python may replace: the references in tables of members.
//!
//! ```c
//! static PyMemberDef members[] = {
//!     {"name", T_OBJECT, offsetof(Item, name), 0, NULL},     /* item.name = other */
//! ```
//!
//! CPython replaces such a reference in a critical section of the object: C that uses it without
//! one may use what was released.

use std::collections::BTreeSet;

use crate::ast::{Declaration, Init, InitEntry, Type, TypeKind};
use crate::program::ProgramItem;
use crate::rule::PackageCx;

/// Structs and fields, as `offsetof` names them.
pub(super) fn replaced(cx: &PackageCx<'_>) -> BTreeSet<(String, String)> {
    let declarations = cx.program.declarations();
    let rows = declarations.flat_map(|(item, declaration)| {
        let rows = rows(declaration);
        rows.into_iter()
            .filter_map(move |row| replaced_by(cx, item, row))
    });
    rows.collect()
}

/// The rows of the tables in a declaration.
fn rows(declaration: &Declaration) -> Vec<&InitEntry> {
    let tables = declaration.declarators.iter().filter(
        |it| matches!(&it.ty.kind, TypeKind::Array(row, _) if row.name() == Some("PyMemberDef")),
    );
    let rows = tables.flat_map(|table| match &table.init {
        Some(Init::List(list)) => list.entries.as_slice(),
        _ => &[],
    });
    rows.collect()
}

fn replaced_by(
    cx: &PackageCx<'_>,
    item: &ProgramItem,
    row: &InitEntry,
) -> Option<(String, String)> {
    const OBJECTS: [&str; 4] = ["T_OBJECT", "T_OBJECT_EX", "Py_T_OBJECT_EX", "_Py_T_OBJECT"];
    const READ_ONLY: [&str; 2] = ["READONLY", "Py_READONLY"];
    let range = row.range.start..row.range.end;
    let words = range.map(|at| String::from_utf8_lossy(item.tokens.text(cx.program.files, at)));
    let words: Vec<_> = words.collect();
    let is_any = |names: &[&str]| words.iter().any(|word| names.contains(&&**word));
    if !is_any(&OBJECTS) || is_any(&READ_ONLY) {
        return None;
    }
    let at = words.iter().position(|word| word.ends_with("offsetof"))?;
    let rest = words.get(at + 1..)?;
    let comma = rest.iter().position(|word| word == ",")?;
    let owner = rest.get(comma.checked_sub(1)?)?;
    Some((tag(cx, owner), rest.get(comma + 1)?.to_string()))
}

/// `_item` of `typedef struct _item { … } Item`.
fn tag(cx: &PackageCx<'_>, name: &str) -> String {
    let key = cx.types().key(&Type::plain(TypeKind::Named(name.into())));
    let key = key.unwrap_or_else(|| name.to_owned());
    key.strip_prefix("struct ").unwrap_or(&key).to_owned()
}
