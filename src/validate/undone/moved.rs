//! Memory that moved where a new exit leaves, and that others are told of behind it.
//!
//! ```c
//! self->data = realloc(self->data, n);
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL)
//!     return NULL;                               /* the stream has the old memory */
//! …
//! stream_set_data(self->stream, self->data);
//! ```
//!
//! The same holds where `free(self->data);` stands before, and `self->data = made;` behind.

use super::View;
use super::acts::{Act, is_outside};
use super::spelling::Spelling;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, Name, Tree};
use crate::capi;
use crate::cfg::{Point, reaches};
use crate::ownership::summary::Param;

impl View<'_> {
    /// Whether `act`, which the function does on all of its ways out, passes on what moved before
    /// `exit`, puts something else in its place, or tells of something else that goes with it.
    pub(super) fn tells_of_moved(&self, act: &Act, exit: &Exit) -> bool {
        if self.moves().is_empty() {
            return false;
        }
        let told = self.passed_on(act).map(|it| self.spelling(it));
        let told: Vec<Spelling<'_>> = told.collect();
        let same = self.acts.iter().filter(|other| other.key == act.key);
        let since: Vec<Point> = same.map(|other| other.point).collect();
        self.moves().iter().any(|&(moved, place)| {
            let moved = &self.acts[moved];
            let is_about =
                told.contains(&self.spelling(place)) || self.goes_with(act, moved, place);
            is_about && reaches(self.cfg, moved.point.next(), exit.from, &since)
        })
    }

    /// Whether `act` sets a field beside `place` by what `moved` got, or works on what is told of
    /// `place`: `self->size = n;`, `set_size(self->stream, n);`.
    fn goes_with(&self, act: &Act, moved: &Act, place: ExprId) -> bool {
        let tree = self.tree;
        if let ExprKind::Assign { lhs, .. } = tree.expr(act.expr).kind {
            let object = |it: ExprId| object_of(tree, it).map(|it| self.spelling(it));
            let sizes = self.parts(moved.expr, place);
            let mut set = self.parts(act.expr, place).into_iter();
            return object(lhs).is_some()
                && object(lhs) == object(place)
                && set.any(|part| sizes.contains(&part));
        }
        let place = self.spelling(place);
        let mut tells = self.acts.iter().filter(|tell| {
            !tell.writes && self.passed_on(tell).any(|it| self.spelling(it) == place)
        });
        tells.any(|tell| {
            let mut theirs = self.arguments(tell);
            theirs.any(|arg| arg != place && self.arguments(act).any(|own| own == arg))
        })
    }

    /// The words of the variables and fields in `whole`, but for `place` and its object.
    fn parts(&self, whole: ExprId, place: ExprId) -> Vec<Spelling<'_>> {
        let tree = self.tree;
        let inner = tree.exprs_in(tree.expr(whole).range);
        let parts = inner.filter(|(_, part)| {
            let kind = &part.kind;
            matches!(
                kind,
                ExprKind::Member { .. } | ExprKind::Name(Name::Local(_))
            )
        });
        let parts = parts.map(|(part, _)| self.spelling(part));
        let object = object_of(tree, place).map(|it| self.spelling(it));
        let place = self.spelling(place);
        parts
            .filter(|part| *part != place && Some(part) != object.as_ref())
            .collect()
    }

    /// The fields that `act` sets, or gives to others, who may keep what they hold.
    fn passed_on(&self, act: &Act) -> impl Iterator<Item = ExprId> {
        let tree = self.tree;
        let values = match &tree.expr(act.expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } => vec![*lhs, *rhs],
            ExprKind::Call { args, .. } => {
                let name = tree.called(act.expr).unwrap_or_default();
                let keeps = |at: usize| self.may_keep(name, at);
                let args = args.iter().enumerate().filter(|(at, _)| keeps(*at));
                args.map(|(_, arg)| *arg).collect()
            }
            _ => Vec::new(),
        };
        let values = values.into_iter().map(|value| tree.without_casts(value));
        values.filter(|&value| match tree.expr(value).kind {
            ExprKind::Member { .. } | ExprKind::Name(Name::Global(_)) => is_outside(tree, value),
            _ => false,
        })
    }

    fn may_keep(&self, name: &str, at: usize) -> bool {
        let is_known = capi::effects(name).is_some() || capi::is_libc(name) || moves(name);
        !is_known && self.changed.original.callees.param(name, at) != Some(Param::Used)
    }

    /// The place whose memory `act` frees or moves.
    fn moved(&self, act: &Act) -> Option<ExprId> {
        let ExprKind::Call { args, .. } = &self.tree.expr(act.expr).kind else {
            return None;
        };
        let is_one = self.tree.called(act.expr).is_some_and(moves);
        let first = args.first().filter(|_| is_one)?;
        Some(self.tree.without_casts(*first))
    }

    /// The acts that free or move memory, with its place.
    fn moves(&self) -> &[(usize, ExprId)] {
        self.moves.get_or_init(|| {
            let acts = self.acts.iter().enumerate();
            acts.filter_map(|(at, act)| Some((at, self.moved(act)?)))
                .collect()
        })
    }
}

/// The object of a field: `self` of `self->size`.
fn object_of(tree: &Tree, place: ExprId) -> Option<ExprId> {
    match tree.expr(place).kind {
        ExprKind::Member { base, .. } => Some(base),
        _ => None,
    }
}

/// Whether a function frees memory or an object, or gives memory another place.
fn moves(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["realloc", "resize", "free", "decref"];
    words.iter().any(|word| name.contains(word))
}
