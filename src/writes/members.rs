//! Fields that Python reads, or sets, without the package: the members in tables, and `__dict__`.
//!
//! ```c
//! static PyMemberDef members[] = {
//!     {"name", T_OBJECT, offsetof(Item, name), 0, NULL},         /* item.name = other */
//!     {"size", T_INT, offsetof(Item, size), 0, NULL},            /* item.size = 3 */
//!     {"text", T_STRING, offsetof(Item, text), READONLY, NULL},  /* item.text */
//! ```
//!
//! CPython reads and replaces a reference in a critical section of the object: C that uses it with no
//! lock, or with one of its own, may use what was released. Text is read without any lock. A number
//! is set without one, so that it is no longer the same at a second look.

use std::collections::{BTreeMap, BTreeSet};

use super::body::Body;
use super::value::Kinds;
use super::walk::on_one_line;
use super::{Left, Why};
use crate::ast::{ExprId, ExprKind, Parent, Type, TypeKind};
use crate::capi;
use crate::cfg::{Place, Projection};
use crate::program::{dict_fields, members};
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

/// Structs and fields, as `offsetof` names them.
#[derive(Debug, Default)]
pub(super) struct Members {
    objects: BTreeSet<(String, String)>,
    pub(super) numbers: BTreeSet<(String, String)>,
    /// Those that Python reads.
    shown_objects: BTreeSet<(String, String)>,
    shown_texts: BTreeSet<(String, String)>,
    /// Rows of which it is not known what they let Python set.
    unknown: Vec<(FileId, ByteSpan)>,
}

impl Members {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let mut found = Self::default();
        for member in members(cx.program) {
            let Some((owner, field)) = member.field else {
                if !member.is_read_only {
                    found.unknown.push(member.place);
                }
                continue;
            };
            let key = (tag(cx, &owner), field);
            match () {
                () if member.is_object => {
                    found.shown_objects.insert(key.clone());
                    if !member.is_read_only {
                        found.objects.insert(key);
                    }
                }
                () if member.is_text => {
                    found.shown_texts.insert(key);
                }
                () if !member.is_read_only => {
                    found.numbers.insert(key);
                }
                () => {}
            }
        }
        for (owner, field) in dict_fields(cx.program) {
            found.objects.insert((tag(cx, &owner), field));
        }
        found
    }

    /// Whether Python may replace what any field refers to.
    pub(super) fn has_objects(&self) -> bool {
        !self.objects.is_empty()
    }

    /// Whether a place is one of the references that Python may replace, or part of it.
    pub(super) fn sets_object(&self, place: &Place) -> bool {
        is_among(&self.objects, place)
    }

    /// Whether a place is one of the numbers that Python may set.
    pub(super) fn sets_number(&self, place: &Place) -> bool {
        is_among(&self.numbers, place)
    }

    /// The rows of which it is not known what they let Python set.
    pub(super) fn unknown(&self, cx: &PackageCx<'_>) -> impl Iterator<Item = Left> {
        let left = |&(file, span): &(FileId, ByteSpan)| Left {
            file,
            span,
            function: String::new(),
            what: on_one_line(&cx.file(file).text(span)).into(),
            why: Why::Unproven,
        };
        self.unknown.iter().map(left)
    }

    /// Whether Python may replace what the field refers to. A struct that no table names may begin with
    /// one that a table names:
    ///
    /// ```c
    /// {"callback", T_OBJECT, offsetof(Base, callback), 0, NULL},
    /// typedef struct { BASE_HEAD int more; } Derived;       /* self->callback */
    /// ```
    fn is_object(&self, owner: Option<&str>, field: &str) -> bool {
        let owner = owner.map(|owner| key(owner, field));
        let named = |all: &BTreeSet<(String, String)>, key: &(String, String)| {
            all.iter().any(|(owner, _)| *owner == key.0)
        };
        match owner {
            Some(key) if named(&self.objects, &key) || named(&self.shown_objects, &key) => {
                self.objects.contains(&key)
            }
            _ => self.objects.iter().any(|(_, name)| name == field),
        }
    }
}

impl Body<'_, '_, '_> {
    /// Names a use of a field that Python may replace meanwhile: only the section of its object keeps
    /// the two apart.
    pub(super) fn check_member(&mut self, at: ExprId, base: ExprId, field: &str, arrow: bool) {
        let owner = self.walk.types.owner(self.tree(), base, arrow);
        // `self->base.callback`
        let Some(base) = (if arrow {
            Some(base)
        } else {
            self.held_by(base)
        }) else {
            return;
        };
        let is_shared = |body: &Self| body.value(base).points.has(Kinds::SHARED);
        let is_lent = capi::field(owner.as_deref(), field).is_some_and(|it| it.lends.is_some());
        if is_lent && is_shared(self) {
            self.leave(at, self.text(at), Why::Member);
        }
        let is_member = self.walk.members.is_object(owner.as_deref(), field);
        if is_member && is_shared(self) && !self.holds_section(base, at) {
            self.walk.leave(self.item, at, self.text(at), Why::Member);
        }
    }

    /// The pointer to the struct that a place is a part of: `self` of `self->base`.
    fn held_by(&self, place: ExprId) -> Option<ExprId> {
        match self.tree().expr(place).kind {
            ExprKind::Member { base, arrow, .. } if arrow => Some(base),
            ExprKind::Member { base, .. } => self.held_by(base),
            _ => None,
        }
    }

    /// Whether `at` writes what Python reads without a lock that is held there.
    pub(super) fn is_shown(&self, place: ExprId, at: ExprId) -> bool {
        let tree = self.tree();
        let place = match tree.expr(place).kind {
            ExprKind::Index { base, .. } => base,
            _ => place,
        };
        let members = &self.walk.members;
        self.field(place).is_some_and(|(base, key)| {
            members.shown_texts.contains(&key)
                || members.shown_objects.contains(&key) && !self.holds_section(base, at)
        })
    }

    /// The pointer, the struct and the field of `base->field`.
    fn field(&self, expr: ExprId) -> Option<(ExprId, (String, String))> {
        match &self.tree().expr(expr).kind {
            ExprKind::Member {
                base,
                field,
                arrow: true,
            } => {
                let owner = self.walk.types.owner(self.tree(), *base, true)?;
                Some((*base, key(&owner, field)))
            }
            _ => None,
        }
    }

    /// Whether the critical section of the object that `base` points to is held.
    fn holds_section(&self, base: ExprId, at: ExprId) -> bool {
        let object = self.known.paths.pointee(base);
        object.is_some_and(|object| self.guards(at).paths.contains(&object))
    }

    /// Names the numbers that Python may set and that the function looks at twice, or counts on.
    pub(super) fn check_numbers(&mut self) {
        let mut looks: BTreeMap<(String, String), Vec<ExprId>> = BTreeMap::new();
        let tree = self.tree();
        for at in tree.expr_ids() {
            let is_number = |(_, field): &(_, _)| self.walk.members.numbers.contains(field);
            if let Some((base, field)) = self.field(at).filter(is_number)
                && self.value(base).points.has(Kinds::SHARED)
            {
                looks.entry(field).or_default().push(at);
            }
        }
        for looks in looks.into_values() {
            let again = |&at: &ExprId| self.known.settled.is_in_loop(tree.expr(at).range);
            let is_counted = |&at: &ExprId| {
                let Some(Parent::Expr(outer)) = self.known.parents().of_expr(at) else {
                    return false;
                };
                let is_plain = matches!(tree.expr(outer).kind, ExprKind::Assign { op: None, .. });
                tree.changed(outer) == Some(at) && !is_plain
            };
            if looks.len() > 1 || looks.iter().any(|at| again(at) || is_counted(at)) {
                for at in looks {
                    self.walk.leave(self.item, at, self.text(at), Why::Member);
                }
            }
        }
    }
}

fn is_among(members: &BTreeSet<(String, String)>, place: &Place) -> bool {
    let is_it = |field: &str| members.iter().any(|(_, name)| name == field);
    place
        .path
        .iter()
        .any(|step| matches!(step, Projection::Field(field) if is_it(field)))
}

/// A struct by its tag, and a field of it.
pub(super) fn key(owner: &str, field: &str) -> (String, String) {
    let owner = owner.strip_prefix("struct ").unwrap_or(owner);
    (owner.to_owned(), field.to_owned())
}

/// `_item` of `typedef struct _item { … } Item`.
pub(super) fn tag(cx: &PackageCx<'_>, name: &str) -> String {
    let key = cx.types().key(&Type::plain(TypeKind::Named(name.into())));
    let key = key.unwrap_or_else(|| name.to_owned());
    key.strip_prefix("struct ").unwrap_or(&key).to_owned()
}
