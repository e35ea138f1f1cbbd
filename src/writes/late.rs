//! What is used of memory that other methods let go, when the lock it was found with is no longer
//! held.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::Why;
use super::body::Body;
use super::guards::Found;
use super::lapsed::Origin;
use crate::ast::{ExprId, ExprKind, Type, TypeKind};
use crate::capi::{Counts, counts, effects, writes};
use crate::memory::lets_go;

/// What a pointer of some type points to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Pointee {
    Object,
    Other(String),
    /// `void *`, or a type that was not read.
    Unknown,
}

/// The types of memory that some method may let go.
#[derive(Debug, Default)]
pub(super) struct LetGo(BTreeSet<Pointee>);

impl LetGo {
    pub(super) fn has(&self, pointee: &Pointee) -> bool {
        let any = *pointee == Pointee::Unknown && !self.0.is_empty();
        any || self.0.contains(pointee) || self.0.contains(&Pointee::Unknown)
    }
}

impl Body<'_, '_, '_> {
    /// Notes what was found with a lock, and is used without.
    pub(super) fn check_late(&mut self) {
        let known = Rc::clone(&self.known);
        let lapses = known.lapses();
        for &(at, from) in &lapses.uses {
            for found in self.found(from) {
                if found.is_lapsed {
                    self.note_late(&found, from.source, at);
                }
            }
        }
        for &(at, from) in &lapses.values {
            self.check_number(from, at);
        }
        let returned = lapses.returned.iter().flat_map(|&from| self.found(from));
        let returned: Vec<Found> = returned.collect();
        self.walk
            .found
            .entry(self.item)
            .or_default()
            .extend(returned);
    }

    /// Names a number that was read with a lock, and is used when that, or another, is held again:
    /// another thread may have changed what it says.
    ///
    /// ```c
    /// PyMutex_Lock(&self->lock);   i = self->last;          PyMutex_Unlock(&self->lock);
    /// PyMutex_Lock(&self->lock);   self->items[i].n++;      PyMutex_Unlock(&self->lock);
    /// ```
    fn check_number(&mut self, from: Origin, at: ExprId) {
        let (tree, types, source) = (self.tree(), self.walk.types, from.source);
        let is_place = !matches!(tree.expr(source).kind, ExprKind::Call { .. });
        let is_number = types.of(tree, source).is_none_or(|ty| types.is_number(ty));
        if from.is_lapsed
            && is_place
            && is_number
            && self.place(source).memory.points.is_open()
            && self.is_locked(source)
            && self.is_locked(at)
        {
            let text = self.text(source);
            self.walk.leave(self.item, at, text, Why::Split);
        }
    }

    /// What a place holds that was read, or a function of the package gave.
    fn found(&self, from: Origin) -> Vec<Found> {
        let (tree, types) = (self.tree(), self.walk.types);
        if let ExprKind::Call { callee, .. } = &tree.expr(from.source).kind {
            let name = tree.callee_name(*callee).unwrap_or_default();
            let callees = self.walk.callees(self.item, name).into_iter();
            let found = callees.filter_map(|callee| self.walk.found.get(&callee));
            let mut found: Vec<Found> = found.flatten().map(Found::by_caller).collect();
            for found in &mut found {
                found.is_lapsed |= from.is_lapsed;
            }
            return found;
        }
        let pointee = types.of(tree, from.source).and_then(|ty| self.pointee(ty));
        let mut found = pointee.and_then(|pointee| self.found_at(from.source, pointee));
        if let Some(found) = &mut found {
            found.is_lapsed = from.is_lapsed;
        }
        found.into_iter().collect()
    }

    /// `None` for what is no pointer, or one to a function.
    fn pointee(&self, ty: &Type) -> Option<Pointee> {
        let types = self.walk.types;
        let to = types.pointee(ty)?;
        match &to.kind {
            TypeKind::Function(..) => None,
            _ if types.is_object(to) => Some(Pointee::Object),
            _ => Some(match types.key(to) {
                Some(key) if key != "void" => Pointee::Other(key),
                _ => Pointee::Unknown,
            }),
        }
    }

    /// Notes what a call of a function outside of the package may let go: what `free` gets, an
    /// object of which a reference is released, and all that is given to what is not known.
    pub(super) fn note_let_go(&mut self, name: &str, args: &[ExprId]) {
        let releases = matches!(
            counts(name),
            Some(Counts::Release { .. } | Counts::Clear | Counts::Replace)
        );
        let is_known = writes(name).is_some() || effects(name).is_some();
        let args = match (releases || lets_go(name), is_known) {
            (true, _) => args.get(..1).unwrap_or_default(),
            (false, true) => &[],
            (false, false) => args,
        };
        for &arg in args {
            let (tree, types) = (self.tree(), self.walk.types);
            let is_private = self.value(arg).points.is_private();
            if is_private || !is_known && self.is_read_only(arg) {
                continue;
            }
            let arg = tree.without_casts(arg);
            let pointee = match types.of(tree, arg) {
                Some(ty) if types.is_number(ty) => None,
                Some(ty) => self.pointee(ty),
                None => Some(Pointee::Unknown),
            };
            self.walk.let_go.0.extend(pointee);
        }
    }
}
