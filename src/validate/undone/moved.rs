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
use super::acts::{Act, is_outside, words};
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, Name};
use crate::capi;
use crate::cfg::{Point, reaches};
use crate::ownership::summary::Param;

impl View<'_> {
    /// Whether `act`, which the function does on all of its ways out, passes on what moved before
    /// `exit`, or puts something else in its place.
    pub(super) fn tells_of_moved(&self, act: &Act, exit: &Exit) -> bool {
        let told: Vec<String> = self.passed_on(act).map(|it| self.words_of(it)).collect();
        let same = self.acts.iter().filter(|other| other.key == act.key);
        let since: Vec<Point> = same.map(|other| other.point).collect();
        let mut moves = self
            .acts
            .iter()
            .filter(|other| self.moves_any(other, &told));
        moves.any(|moved| reaches(self.cfg, moved.point.next(), exit.from, &since))
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

    fn moves_any(&self, act: &Act, places: &[String]) -> bool {
        let tree = self.tree;
        let ExprKind::Call { args, .. } = &tree.expr(act.expr).kind else {
            return false;
        };
        let first = args
            .first()
            .map(|&arg| self.words_of(tree.without_casts(arg)));
        tree.called(act.expr).is_some_and(moves) && first.is_some_and(|it| places.contains(&it))
    }

    fn words_of(&self, expr: ExprId) -> String {
        words(self.changed, self.files, expr)
    }
}

/// Whether a function frees memory or an object, or gives memory another place.
fn moves(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["realloc", "resize", "free", "decref"];
    words.iter().any(|word| name.contains(word))
}
