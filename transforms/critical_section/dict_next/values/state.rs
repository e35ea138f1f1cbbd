//! What variables hold of key and value at one point of the function.

use std::collections::BTreeMap;

use super::{KEY, OLD, OWNED, PART, Set, VALUE};
use crate::ast::LocalId;
use crate::cfg::{Base, Operand, Place, TempId};

/// More references than that are not told apart.
const MOST: u8 = 3;

/// Which variables hold borrowed values, and whether the section was held all the time since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) locals: BTreeMap<LocalId, Set>,
    pub(super) temps: BTreeMap<TempId, Set>,
    pub(super) was_suspended: bool,
    /// What the variables of key and value held when the next item was asked for.
    pub(super) before: [Set; 2],
    /// How many references the function has taken to the present key, and to its value.
    counts: [u8; 2],
    /// Whether any path was followed to here.
    is_reached: bool,
}

impl State {
    pub(super) fn start() -> Self {
        Self {
            is_reached: true,
            ..Self::default()
        }
    }

    /// What an operand is, or depends on, references of the function's own or not.
    pub(super) fn of(&self, operand: &Operand) -> Set {
        match operand {
            Operand::Temp(temp) => self.temps.get(temp).copied().unwrap_or(0),
            Operand::AddressOf(place) => self.of_place(place),
            Operand::Null | Operand::Int(_) | Operand::Str(_) | Operand::Unknown => 0,
        }
    }

    pub(super) fn of_place(&self, place: &Place) -> Set {
        match &place.base {
            Base::Local(local) => self.locals.get(local).copied().unwrap_or(0),
            Base::Deref(pointer) => self.of(pointer),
            Base::Global(_) | Base::Unnamed(_) => 0,
        }
    }

    /// What of `set` no reference of the function's own keeps alive.
    pub(super) fn borrowed(&self, set: Set) -> Set {
        match set {
            _ if set & OWNED != 0 => 0,
            _ if set & OLD != 0 => set,
            _ => set & !self.counted(),
        }
    }

    fn counted(&self) -> Set {
        let items = [KEY, VALUE].into_iter().zip(self.counts);
        items.fold(0, |all, (set, count)| all | if count > 0 { set } else { 0 })
    }

    pub(super) fn set_local(&mut self, local: LocalId, set: Set) {
        if set == 0 {
            self.locals.remove(&local);
        } else {
            self.locals.insert(local, set);
        }
    }

    pub(super) fn set_temp(&mut self, temp: TempId, set: Set) {
        if set == 0 {
            self.temps.remove(&temp);
        } else {
            self.temps.insert(temp, set);
        }
    }

    /// The reference count of what is `set` was raised: nothing that depends on it is borrowed until
    /// it is lowered again. False if that may be another object than the key or the value.
    pub(super) fn take(&mut self, set: Set) -> bool {
        let at = match set {
            KEY => 0,
            VALUE => 1,
            _ => return false,
        };
        self.counts[at] = (self.counts[at] + 1).min(MOST);
        true
    }

    /// A reference to what is `set` was given up, or handed on.
    ///
    /// ```c
    /// Py_INCREF(value);
    /// look(value);
    /// Py_DECREF(value);       /* lent again */
    /// ```
    pub(super) fn release(&mut self, set: Set) {
        let is_counted = matches!(set, KEY | VALUE) && set & self.counted() != 0;
        for (item, count) in [KEY, VALUE].into_iter().zip(&mut self.counts) {
            if set & item != 0 && set & OWNED == 0 {
                *count = count.saturating_sub(1);
            }
        }
        if is_counted {
            return;
        }
        let held = self.locals.values_mut().chain(self.temps.values_mut());
        held.filter(|held| **held & set & (KEY | VALUE) != 0)
            .for_each(|held| *held &= !OWNED);
    }

    /// Whatever holds one of `items` keeps the references that were taken to it from here on.
    fn keep(&mut self, items: Set) {
        let present = |held: &Set| held & OLD == 0;
        for held in self.locals.values_mut().filter(|held| present(held)) {
            *held &= !items;
        }
        for held in self.temps.values_mut().filter(|held| present(held)) {
            *held &= !items;
        }
        self.locals.retain(|_, held| *held & (KEY | VALUE) != 0);
    }

    /// References to `item` that the path to `other` lacks belong to those that hold it here only; to
    /// all if it has none.
    fn hand_out(&mut self, item: Set, least: u8, other: &Self) {
        if least == 0 {
            return self.keep(item);
        }
        for (local, held) in &mut self.locals {
            let others = other.locals.get(local).copied().unwrap_or(0);
            if *held & OLD == 0 && others & item == 0 {
                *held &= !item;
            }
        }
        self.locals.retain(|_, held| *held & (KEY | VALUE) != 0);
    }

    /// Another item comes in place of the present one.
    pub(super) fn end_turn(&mut self) {
        self.keep(self.counted());
        self.counts = [0; 2];
        self.temps.clear();
        self.locals.values_mut().for_each(|set| *set |= OLD);
        self.was_suspended = false;
    }

    /// Takes in what another path leads to the same point. A reference that one of them has only
    /// belongs to what it has stored.
    ///
    /// ```c
    /// if (is_wanted(key)) {
    ///     Py_INCREF(value);
    ///     found = value;
    /// }
    /// ```
    pub(super) fn join(&mut self, from: &Self) -> bool {
        if !from.is_reached {
            return false;
        }
        if !self.is_reached {
            *self = from.clone();
            return true;
        }
        let before = self.clone();
        let mut from = from.clone();
        for (at, item) in [KEY, VALUE].into_iter().enumerate() {
            let least = self.counts[at].min(from.counts[at]);
            if self.counts[at] > least {
                self.hand_out(item, least, &from);
            } else if from.counts[at] > least {
                from.hand_out(item, least, self);
            }
            self.counts[at] = least;
            from.counts[at] = least;
        }
        for (local, set) in from.locals {
            let into = self.locals.entry(local).or_insert(0);
            *into = either(*into, set);
        }
        for (temp, set) in from.temps {
            let into = self.temps.entry(temp).or_insert(0);
            *into = either(*into, set);
        }
        self.was_suspended |= from.was_suspended;
        for (into, from) in self.before.iter_mut().zip(from.before) {
            *into = either(*into, from);
        }
        *self != before
    }
}

/// What holds `one` or `other`: a reference of its own if both have one.
pub(super) fn either(one: Set, other: Set) -> Set {
    let is_owned = |set: Set| set == 0 || set & OWNED != 0;
    let owned = if is_owned(one) && is_owned(other) {
        OWNED
    } else {
        0
    };
    (one | other) & !OWNED | (one | other) & owned
}

/// What depends on `set` but is not the same object.
pub(super) fn part(set: Set) -> Set {
    match set & (KEY | VALUE | OLD) {
        set if set & (KEY | VALUE) != 0 => set | PART,
        _ => 0,
    }
}
