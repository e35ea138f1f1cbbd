//! What the variables of a function hold at one point.
//!
//! ```c
//! thing = PyObject_New(Thing, &Thing_Type);
//! result = (PyObject *)thing;             /* one object, which is released once */
//! ```

use std::collections::BTreeMap;

use super::error_value::ErrorValue;
use crate::ast::LocalId;
use crate::cfg::{Operand, TempId};

/// What a variable may hold: the union of these over all paths.
pub(in crate::strong) type Contents = u8;

pub(in crate::strong) const UNSET: Contents = 1;
/// `NULL`, or the number 0.
pub(in crate::strong) const NULL: Contents = 2;
/// Something that the function has to release.
pub(in crate::strong) const OWNED: Contents = 4;
/// The number -1.
pub(in crate::strong) const ERROR: Contents = 8;
pub(in crate::strong) const OTHER: Contents = 16;
/// A pointer that was released.
pub(in crate::strong) const GONE: Contents = 32;
/// With [`OWNED`]: a function of which it is not known gave it, and it may as well be lent.
pub(in crate::strong) const GIVEN: Contents = 64;
/// With [`OTHER`]: the function does not own it, for sure. It is the caller's.
pub(in crate::strong) const LENT: Contents = 128;

/// Contents of all variables at a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::strong) struct State {
    locals: Vec<Contents>,
    /// The first variable that holds the same object.
    same: Vec<LocalId>,
    /// Temporaries of the block that hold the value of a variable.
    pub(in crate::strong) temps: BTreeMap<TempId, LocalId>,
    /// Something is released that may be `NULL`, or read that is not there.
    pub(in crate::strong) broken: bool,
}

impl State {
    pub(in crate::strong) fn new(locals: Vec<Contents>) -> Self {
        let same = (0u32..).take(locals.len()).map(LocalId).collect();
        Self {
            locals,
            same,
            temps: BTreeMap::new(),
            broken: false,
        }
    }

    /// Whether `local` holds nothing, or nothing any more, on all paths.
    pub(in crate::strong) fn is_surely_unset(&self, local: LocalId) -> bool {
        let contents = self.of(local);
        contents != 0 && contents & !(UNSET | GONE) == 0
    }

    /// Whether `local` holds what the function must not release, on all paths that it holds
    /// anything on.
    pub(in crate::strong) fn is_lent(&self, local: LocalId) -> bool {
        let contents = self.of(local);
        contents & LENT != 0 && contents & OWNED == 0
    }

    /// Takes note that `local` holds this, and nothing that another variable holds.
    pub(in crate::strong) fn set(&mut self, local: LocalId, contents: Contents) {
        self.locals[local.0 as usize] = contents;
        self.part(local);
    }

    /// The same for a variable that still holds what it did.
    pub(in crate::strong) fn refine(&mut self, local: LocalId, contents: Contents) {
        self.locals[local.0 as usize] = contents;
    }

    /// The same for all variables with the object of `local`, which was released or given away.
    pub(in crate::strong) fn give_up(&mut self, local: LocalId, contents: Contents) {
        let first = self.same[local.0 as usize];
        for (contents_of, same) in self.locals.iter_mut().zip(&self.same) {
            if *same == first {
                *contents_of = contents;
            }
        }
    }

    /// Takes note that `local` now holds the object of `from`.
    pub(in crate::strong) fn copy(&mut self, local: LocalId, from: LocalId) {
        if local == from {
            return;
        }
        let contents = self.of(from);
        self.set(local, contents);
        if contents & OWNED != 0 {
            self.same[local.0 as usize] = self.same[from.0 as usize];
        }
    }

    /// Takes note that no other variable holds what `local` does.
    fn part(&mut self, local: LocalId) {
        let mut others = (0u32..).map(LocalId).zip(&self.same);
        let next = others.find(|(other, same)| **same == local && *other != local);
        if let Some((next, _)) = next {
            for same in self.same.iter_mut().filter(|same| **same == local) {
                *same = next;
            }
        }
        self.same[local.0 as usize] = local;
    }

    pub(in crate::strong) fn of(&self, local: LocalId) -> Contents {
        self.locals[local.0 as usize]
    }

    pub(in crate::strong) fn local(&self, operand: &Operand) -> Option<LocalId> {
        match operand {
            Operand::Temp(temp) => self.temps.get(temp).copied(),
            _ => None,
        }
    }

    /// The state in which `local` is `NULL`.
    pub(in crate::strong) fn with_null(mut self, local: Option<LocalId>) -> Self {
        if let Some(local) = local {
            self.set(local, NULL);
        }
        self.broken = false;
        self
    }

    /// Whether the function has nothing to release.
    pub(in crate::strong) fn owns_nothing(&self) -> bool {
        self.locals.iter().all(|contents| contents & OWNED == 0)
    }

    /// What the function may have to release, each object once, in the order of declarations.
    pub(in crate::strong) fn owned(&self) -> Vec<Owned> {
        let locals = (0u32..).map(LocalId).zip(&self.locals);
        let owned = locals.filter(|(_, contents)| *contents & OWNED != 0);
        owned
            .filter(|(local, _)| self.same[local.0 as usize] == *local)
            .map(|(local, contents)| Owned {
                local,
                for_sure: contents & !(OWNED | GIVEN | NULL) == 0,
                known: contents & !(OWNED | NULL) == 0,
                null: contents & NULL != 0,
            })
            .collect()
    }

    /// Takes note that the function does not own what these variables hold.
    pub(in crate::strong) fn disown_all(&mut self, locals: &[LocalId]) {
        for &local in locals {
            let contents = self.of(local);
            if contents & OWNED != 0 {
                self.refine(local, contents & !OWNED | OTHER);
            }
        }
    }

    /// Takes note that the function may own what these variables hold, if they hold anything.
    pub(in crate::strong) fn may_own_all(&mut self, locals: &[LocalId]) {
        for &local in locals {
            let contents = self.of(local);
            if contents & OTHER != 0 && !self.is_lent(local) {
                self.refine(local, contents | OWNED);
            }
        }
    }

    /// Whether `local` holds this error and nothing else. Numbers are known if they are 0 or -1.
    pub(in crate::strong) fn is_error(&self, local: LocalId, error: ErrorValue) -> bool {
        match error {
            ErrorValue::Null | ErrorValue::Number(0) => self.of(local) == NULL,
            ErrorValue::Number(-1) => self.of(local) == ERROR,
            ErrorValue::Number(_) | ErrorValue::Named(_) => false,
        }
    }

    /// Whether `local` holds the same in both states.
    pub(in crate::strong) fn agrees(&self, other: &Self, local: LocalId) -> bool {
        self.of(local) == other.of(local)
    }

    /// Adds what another path knows; whether that is more.
    pub(in crate::strong) fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (one, more) in self.locals.iter_mut().zip(&other.locals) {
            *one |= more;
        }
        for at in (0u32..).map(LocalId).take(self.locals.len()) {
            // Which object it holds depends on the path.
            if self.same[at.0 as usize] != other.same[at.0 as usize] {
                self.part(at);
                self.locals[at.0 as usize] |= OTHER;
            }
            if before.leaves_to_another(other, at) || other.leaves_to_another(&before, at) {
                self.locals[at.0 as usize] &= !OWNED;
            }
        }
        self.broken |= other.broken;
        *self != before
    }
}

impl State {
    /// Whether `local` only holds what another variable holds as well and has to be released by that
    /// one, as it is where `other` is the state: `if (name != NULL) out = Py_NewRef(name); else out =
    /// make(); … Py_DECREF(out);`.
    fn leaves_to_another(&self, other: &Self, local: LocalId) -> bool {
        let first = self.same[local.0 as usize];
        let mut others = (0u32..).map(LocalId).zip(&self.same);
        let is_owned = |state: &Self, local| state.of(local) & OWNED != 0;
        is_owned(self, local)
            && !is_owned(other, local)
            && others.any(|(it, same)| it != local && *same == first && is_owned(other, it))
    }
}

/// A variable with something that the function has to release.
#[derive(Debug, Clone, Copy)]
pub(in crate::strong) struct Owned {
    pub local: LocalId,
    /// It is so on all paths, but for those where it is `NULL`.
    pub for_sure: bool,
    /// The same, and what gave it is known to give what has to be released.
    pub known: bool,
    /// It may be `NULL`.
    pub null: bool,
}
