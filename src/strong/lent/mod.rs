//! Splits a function behind a lookup where a macro leaves it while the reference is held, and
//! nothing can be released: the rest becomes a function of its own, which is lent the object.
//!
//! ```c
//! static int set_size_with_item(Box *box, PyObject *item) {
//!     if (item == NULL) FAIL("no such item");         /* returns */
//!     CHECK(resize(box, item));                       /* returns if that fails */
//!     return 0;
//! }
//!
//! int set_size(Box *box, const char *name) {
//!     PyObject *item;
//!     int result;
//!     if (PyDict_GetItemStringRef(box->items, name, &item) < 0) {
//!         PyErr_WriteUnraisable(NULL);
//!     }
//!     result = set_size_with_item(box, item);
//!     Py_XDECREF(item);
//!     return result;
//! }
//! ```

mod locals;
mod text;

use std::collections::BTreeMap;

use super::contract::is_own;
use super::emit;
use super::emit::names::name_fresh;
use super::exits::exit::Failure;
use super::follow::slots::Slots;
use super::plan::{Home, Lookup, Planned, takes_result};
use super::reason::Reason;
use super::releases::is_only_used;
use super::scene::Scene;
use super::shape::Shape;
use crate::ast::{ExprId, LocalId, StmtId, StmtKind, TokenRange};
use crate::capi::Absent;
use crate::edit::{Edit, Fix};
use crate::rule::Head;
use locals::Locals;
use text::Halves;

/// What the title of such a fix says.
const LENT: &str = ", and hold it while calling ";

/// Whether a fix splits a function, and lends what it looks up to one half.
#[must_use]
pub fn is_lent(fix: &Fix) -> bool {
    fix.title.contains(LENT)
}

/// A function, split behind a lookup that is a statement of its body.
pub(super) struct Split<'s, 'a> {
    scene: &'s Scene<'a>,
    head: Head<'a>,
    /// The statements up to the lookup.
    front: &'a [StmtId],
    /// The first statement behind it.
    next: StmtId,
    /// What the lookup gives.
    object: LocalId,
    locals: Locals,
}

/// The lookup of `home` with the fix that lends what it gives to a part of the function; `None` if
/// the function cannot be split behind it. `declined` are lookups that stay as they are.
pub(super) fn fix(
    scene: &Scene<'_>,
    home: &Home,
    declined: &BTreeMap<ExprId, Reason>,
) -> Option<(ExprId, Fix)> {
    let mut home = home.clone();
    let ([lookup], Some(object)) = (&mut home.lookups[..], home.local) else {
        return None;
    };
    // What it leaves by is written in the other half.
    if lookup.propagates() {
        lookup.failure = Failure::AsBefore;
    }
    let lookup = &home.lookups[0];
    let fits = !is_own(lookup.replacement)
        && lookup.replacement.absent != Absent::None
        && matches!(lookup.failure, Failure::AsBefore | Failure::Tested)
        && takes_result(scene, object)
        && !scene.hands_out;
    if !fits || !is_only_used(scene, &Slots::new(scene), &home) {
        return None;
    }
    let split = Split::new(scene, lookup, object)?;
    let call = lookup.call;
    let mut groups = [vec![Planned::only_lookups(home)]];
    name_fresh(scene, &mut groups, declined);
    let [planned] = groups;
    let mut fix = emit::fix(scene, &planned).ok()?;
    let halves = Halves::new(&split)?;
    fix.title = format!("{}{LENT}`{}`", fix.title, halves.name());
    let edits: Vec<Edit> = std::mem::take(&mut fix.edits);
    fix.edits = halves.edits(edits)?;
    Some((call, fix))
}

impl<'s, 'a> Split<'s, 'a> {
    fn new(scene: &'s Scene<'a>, lookup: &Lookup, object: LocalId) -> Option<Self> {
        let (Shape::Assigned(stmt, _) | Shape::Initialised(stmt, _)) = lookup.shape else {
            return None;
        };
        let head = Head::new(scene.cx, scene.item).ok()?;
        let StmtKind::Block(stmts) = &scene.tree.stmt(scene.function.body).kind else {
            return None;
        };
        let at = stmts.iter().position(|&other| other == stmt)?;
        let (front, rest) = stmts.split_at(at + 1);
        let is_straight = front.iter().all(|&stmt| !jumps(scene, stmt));
        let text = scene.text(head.whole);
        let has_directive = text.lines().any(|line| line.trim_start().starts_with('#'));
        if !is_straight || has_directive || names_function(scene, rest) {
            return None;
        }
        let locals = Locals::new(scene, front, rest, object)?;
        Some(Self {
            scene,
            head,
            front,
            next: *rest.first()?,
            object,
            locals,
        })
    }
}

/// Whether something in `stmt` jumps elsewhere, or is jumped to.
fn jumps(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let mut all = scene.inner_stmts(stmt);
    all.push(stmt);
    all.into_iter().any(|stmt| {
        matches!(
            scene.tree.stmt(stmt).kind,
            StmtKind::Label { .. } | StmtKind::Goto(_) | StmtKind::ComputedGoto(_) | StmtKind::Asm
        )
    })
}

/// Whether statements name the function: another one would stand there, or nothing yet.
fn names_function(scene: &Scene<'_>, stmts: &[StmtId]) -> bool {
    const OWN: [&[u8]; 3] = [b"__func__", b"__FUNCTION__", b"__PRETTY_FUNCTION__"];
    let tokens = &scene.cx.item(scene.item).tokens;
    let TokenRange { start, end } = range(scene, stmts);
    (start..end).any(|at| {
        let text = tokens.text(scene.cx.program.files, at);
        OWN.contains(&text) || text == scene.function.name.as_bytes()
    })
}

/// The tokens of statements in a row, of which there is at least one.
fn range(scene: &Scene<'_>, stmts: &[StmtId]) -> TokenRange {
    let of = |stmt: Option<&StmtId>| {
        stmt.map_or_else(TokenRange::default, |&stmt| scene.tree.stmt(stmt).range)
    };
    TokenRange {
        start: of(stmts.first()).start,
        end: of(stmts.last()).end,
    }
}
