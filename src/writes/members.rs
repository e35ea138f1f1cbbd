//! Fields that Python may set: the members in tables that are not read-only, and `__dict__`.
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
use crate::ast::{ExprId, ExprKind, Type, TypeKind};
use crate::program::{dict_fields, members};
use crate::rule::PackageCx;

/// Structs and fields, as `offsetof` names them.
#[derive(Debug, Default)]
pub(super) struct Members {
    objects: BTreeSet<(String, String)>,
    pub(super) numbers: BTreeSet<(String, String)>,
}

impl Members {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let mut found = Self::default();
        for member in members(cx.program).filter(|it| !it.is_read_only) {
            if let Some((owner, field)) = member.field {
                let kind = match member.is_object {
                    true => &mut found.objects,
                    false => &mut found.numbers,
                };
                kind.insert((tag(cx, &owner), field));
            }
        }
        for (owner, field) in dict_fields(cx.program) {
            found.objects.insert((tag(cx, &owner), field));
        }
        found
    }

    /// Whether Python may replace what the field refers to.
    pub(super) fn is_object(&self, owner: &str, field: &str) -> bool {
        self.objects.contains(&key(owner, field))
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
            let again = |&at: &ExprId| self.known.settled.is_in_loop(tree.expr(at).range);
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

/// `_item` of `typedef struct _item { … } Item`.
fn tag(cx: &PackageCx<'_>, name: &str) -> String {
    let key = cx.types().key(&Type::plain(TypeKind::Named(name.into())));
    let key = key.unwrap_or_else(|| name.to_owned());
    key.strip_prefix("struct ").unwrap_or(&key).to_owned()
}
