//! Files and sockets that methods share: where they stand is a state that calls change.
//!
//! ```c
//! fseek(self->file, at, SEEK_SET);         /* and another thread elsewhere */
//! fread(record, 1, 64, self->file);
//! ```
//!
//! One call is one step, for the system as for a stream; with the GIL so are all calls of a method.

use std::collections::BTreeMap;

use super::body::Body;
use super::guards::Path;
use super::{What, Why};
use crate::ast::{ExprId, ExprKind, Name};
use crate::capi::{acts, effects, writes};

/// A call that changes a handle.
struct Step {
    at: ExprId,
    /// The place that holds the handle.
    place: ExprId,
    only_adds: bool,
    what: What,
}

impl Body<'_, '_, '_> {
    /// Names the calls by which a function changes what is behind a handle in several steps.
    pub(super) fn check_handles(&mut self) {
        let mut by_place: BTreeMap<Option<Path>, Vec<Step>> = BTreeMap::new();
        for (at, name) in self.tree().calls() {
            for step in self.steps(at, name) {
                let path = self.known.paths.place(step.place);
                by_place.entry(path).or_default().push(step);
            }
        }
        let is_helper = self.walk.is_helper(self.function);
        for steps in by_place.into_values() {
            let again = |step: &Step| {
                let range = self.tree().expr(step.at).range;
                self.known.settled.is_in_loop(range)
            };
            let are_many = steps.len() > 1 || steps.iter().any(again);
            for step in steps {
                let is_left = are_many || is_helper && !step.only_adds;
                if !self.is_locked(step.at) && is_left {
                    self.leave(step.at, step.what, Why::Writes);
                } else {
                    self.note_handle(step.place, step.at, is_left);
                }
            }
        }
    }

    /// What a call does to handles that it gets.
    fn steps(&self, at: ExprId, name: &str) -> Vec<Step> {
        let is_known = writes(name).is_some() && effects(name).is_none();
        let acts = acts(name).filter(|acts| is_known && !acts.is_plain);
        let (Some(acts), Some((_, args))) = (acts, self.tree().call(at)) else {
            return Vec::new();
        };
        let is_own = !self.walk.callees(self.item, name).is_empty();
        let args = args.iter().enumerate().filter(|_| !is_own);
        let changed = args.filter(|(number, _)| acts.changes(*number));
        let steps = changed.filter_map(|(_, &arg)| {
            let place = self.handle(arg)?;
            Some(Step {
                at,
                place,
                only_adds: acts.only_adds,
                what: What::by(self.text(arg), name),
            })
        });
        steps.collect()
    }

    /// The shared place that the number of a file comes from, or the pointer to a stream.
    pub(super) fn handle(&self, arg: ExprId) -> Option<ExprId> {
        let (tree, types) = (self.tree(), self.walk.types);
        let place = self.known.paths.origin(arg);
        let ty = types.of(tree, place)?;
        let is_stream = types.pointee(ty).and_then(|to| to.name()) == Some("FILE");
        if !is_stream && !types.is_number(ty) {
            return None;
        }
        let is_shared = match &tree.expr(place).kind {
            ExprKind::Name(Name::Local(local)) if tree.local(*local).is_automatic() => {
                let at = self.function.params.iter().position(|it| it == local);
                at.is_some_and(|at| self.handles & (1 << at.min(31)) != 0)
            }
            ExprKind::Name(Name::Global(name)) => self.walk.variable_type(name).is_some(),
            ExprKind::Name(_) => true,
            ExprKind::Member { .. } | ExprKind::Index { .. } => {
                self.place(place).memory.points.is_open()
            }
            _ => false,
        };
        is_shared.then_some(place)
    }

    /// The arguments that are handles which methods share, a bit for each.
    pub(super) fn handles_given(&self, args: &[ExprId]) -> u32 {
        let args = args.iter().enumerate().take(32);
        let given = args.filter(|(_, arg)| self.handle(**arg).is_some());
        given.fold(0, |all, (at, _)| all | 1 << at)
    }
}
