//! What is known of a list and of one item of it at a point of the function.

use std::collections::BTreeSet;

use crate::ast::LocalId;
use crate::cfg::{Operand, TempId};

/// What holds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Local(LocalId),
    Temp(TempId),
}

impl Value {
    pub(super) fn of(operand: &Operand) -> Option<Self> {
        match operand {
            Operand::Temp(temp) => Some(Self::Temp(*temp)),
            _ => None,
        }
    }
}

/// A set of values.
pub(super) type Values = BTreeSet<Value>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) is_reached: bool,
    /// On every path: whether the list is locked, and is no `NULL`.
    pub(super) is_locked: bool,
    pub(super) is_object: bool,
    /// On every path: its size, asked for since others could last change it, and what is below that.
    pub(super) sizes: Values,
    pub(super) below: Values,
    /// On some path: the item, lent by the list, and what lives as long as it.
    pub(super) item: Values,
    pub(super) parts: Values,
    /// The same with a reference of the function's own.
    pub(super) owned: Values,
    /// The same where the item may be gone.
    pub(super) gone: Values,
    /// Whether memory has the item, to which no reference was taken yet.
    pub(super) is_stored: bool,
}

impl State {
    /// Other threads may change the list.
    pub(super) fn let_in(&mut self) {
        self.sizes.clear();
        self.below.clear();
        self.end_loan();
    }

    /// Nothing keeps the item for the function any more.
    pub(super) fn end_loan(&mut self) {
        self.gone.append(&mut self.item);
        self.gone.append(&mut self.parts);
    }

    /// The function takes a reference to the item.
    pub(super) fn take(&mut self) {
        self.owned.append(&mut self.item);
        self.owned.append(&mut self.parts);
        self.is_stored = false;
    }

    /// The function gives up a reference of its own.
    pub(super) fn release(&mut self) {
        self.gone.append(&mut self.owned);
    }

    /// What goes with a value goes with another.
    pub(super) fn copy(&mut self, from: Option<Value>, to: Value) {
        for set in self.sets() {
            match from.is_some_and(|from| set.contains(&from)) {
                true => set.insert(to),
                false => set.remove(&to),
            };
        }
    }

    /// Nothing is known of a value.
    pub(super) fn forget(&mut self, value: Value) {
        self.copy(None, value);
    }

    fn sets(&mut self) -> [&mut Values; 6] {
        [
            &mut self.sizes,
            &mut self.below,
            &mut self.item,
            &mut self.parts,
            &mut self.owned,
            &mut self.gone,
        ]
    }

    fn has(set: &Values, operand: &Operand) -> bool {
        Value::of(operand).is_some_and(|value| set.contains(&value))
    }

    pub(super) fn is_size(&self, operand: &Operand) -> bool {
        Self::has(&self.sizes, operand)
    }

    pub(super) fn is_below(&self, operand: &Operand) -> bool {
        Self::has(&self.below, operand)
    }

    pub(super) fn is_item(&self, operand: &Operand) -> bool {
        Self::has(&self.item, operand)
    }

    pub(super) fn is_owned(&self, operand: &Operand) -> bool {
        Self::has(&self.owned, operand)
    }

    pub(super) fn is_gone(&self, operand: &Operand) -> bool {
        Self::has(&self.gone, operand)
    }

    /// Whether only the list keeps what the operand is, or nothing.
    pub(super) fn is_lent(&self, operand: &Operand) -> bool {
        self.is_item(operand) || Self::has(&self.parts, operand) || self.is_gone(operand)
    }

    pub(super) fn join(&mut self, from: &Self) -> bool {
        if !from.is_reached {
            return false;
        }
        if !self.is_reached {
            *self = from.clone();
            return true;
        }
        let before = self.clone();
        self.is_locked &= from.is_locked;
        self.is_object &= from.is_object;
        self.sizes.retain(|value| from.sizes.contains(value));
        self.below.retain(|value| from.below.contains(value));
        self.item.extend(&from.item);
        self.parts.extend(&from.parts);
        self.owned.extend(&from.owned);
        self.gone.extend(&from.gone);
        self.is_stored |= from.is_stored;
        *self != before
    }
}
