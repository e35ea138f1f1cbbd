//! Fields that Python may set: the members in tables that are not read-only.
//!
//! ```c
//! static PyMemberDef members[] = {
//!     {"name", T_OBJECT, offsetof(Item, name), 0, NULL},     /* item.name = other */
//!     {"size", T_INT, offsetof(Item, size), 0, NULL},        /* item.size = 3 */
//! ```
//!
//! CPython replaces such a reference in a critical section of the object: C that uses it without
//! one may use what was released. A number is no longer the same at a second look.

use std::collections::{BTreeMap, BTreeSet};

use super::Why;
use super::body::Body;
use super::value::Kinds;
use crate::ast::{Declaration, ExprId, ExprKind, Init, InitEntry, Type, TypeKind};
use crate::program::ProgramItem;
use crate::rule::PackageCx;

/// Structs and fields, as `offsetof` names them.
#[derive(Debug, Default)]
pub(super) struct Members {
    objects: BTreeSet<(String, String)>,
    pub(super) numbers: BTreeSet<(String, String)>,
}

impl Members {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let mut members = Self::default();
        for (item, declaration) in cx.program.declarations() {
            for row in rows(declaration) {
                members.extend(set_by(cx, item, row));
            }
        }
        members
    }

    /// Whether Python may replace what the field refers to.
    pub(super) fn is_object(&self, owner: &str, field: &str) -> bool {
        self.objects.contains(&key(owner, field))
    }

    fn extend(&mut self, found: Option<((String, String), bool)>) {
        match found {
            Some((field, true)) => self.objects.insert(field),
            Some((field, false)) => self.numbers.insert(field),
            None => false,
        };
    }
}

impl Body<'_, '_, '_> {
    /// Names the numbers that Python may set and that the function looks at twice.
    pub(super) fn check_numbers(&mut self) {
        let mut looks: BTreeMap<(String, String), Vec<ExprId>> = BTreeMap::new();
        let tree = self.tree();
        for at in tree.expr_ids() {
            let ExprKind::Member {
                base,
                field,
                arrow: true,
            } = &tree.expr(at).kind
            else {
                continue;
            };
            let owner = self.walk.types.owner(tree, *base, true);
            let field = owner.map(|owner| key(&owner, field));
            let field = field.filter(|field| self.walk.members.numbers.contains(field));
            if let Some(field) = field.filter(|_| self.value(*base).points.has(Kinds::SHARED)) {
                looks.entry(field).or_default().push(at);
            }
        }
        for looks in looks.into_values() {
            let again = |&at: &ExprId| self.settled.is_in_loop(tree.expr(at).range);
            if looks.len() > 1 || looks.iter().any(again) {
                for at in looks {
                    self.leave(at, self.text(at), Why::Member);
                }
            }
        }
    }
}

fn key(owner: &str, field: &str) -> (String, String) {
    let owner = owner.strip_prefix("struct ").unwrap_or(owner);
    (owner.to_owned(), field.to_owned())
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

/// The field that a row lets Python set, and whether it is an object.
fn set_by(
    cx: &PackageCx<'_>,
    item: &ProgramItem,
    row: &InitEntry,
) -> Option<((String, String), bool)> {
    const OBJECTS: [&str; 4] = ["T_OBJECT", "T_OBJECT_EX", "Py_T_OBJECT_EX", "_Py_T_OBJECT"];
    const READ_ONLY: [&str; 2] = ["READONLY", "Py_READONLY"];
    let range = row.range.start..row.range.end;
    let words = range.map(|at| String::from_utf8_lossy(item.tokens.text(cx.program.files, at)));
    let words: Vec<_> = words.collect();
    let is_any = |names: &[&str]| words.iter().any(|word| names.contains(&&**word));
    if is_any(&READ_ONLY) {
        return None;
    }
    let at = words.iter().position(|word| word.ends_with("offsetof"))?;
    let rest = words.get(at + 1..)?;
    let comma = rest.iter().position(|word| word == ",")?;
    let owner = rest.get(comma.checked_sub(1)?)?;
    let field = (tag(cx, owner), rest.get(comma + 1)?.to_string());
    Some((field, is_any(&OBJECTS)))
}

/// `_item` of `typedef struct _item { … } Item`.
fn tag(cx: &PackageCx<'_>, name: &str) -> String {
    let key = cx.types().key(&Type::plain(TypeKind::Named(name.into())));
    let key = key.unwrap_or_else(|| name.to_owned());
    key.strip_prefix("struct ").unwrap_or(&key).to_owned()
}
