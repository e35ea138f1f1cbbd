//! What is known of locks at one point of a function.

use std::collections::{BTreeMap, BTreeSet};

use super::path::Path;
use crate::ast::LocalId;
use crate::capi::Had;
use crate::cfg::{Operand, TempId};

/// A lock that was taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lock {
    /// The record of a critical section.
    pub(super) record: Option<LocalId>,
    /// `None` if it cannot be told which lock it is.
    pub(super) path: Option<Path>,
    /// Whether others may have it as well.
    pub(super) is_shared: bool,
}

/// What a number is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Local(LocalId),
    Temp(TempId),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct State {
    /// What is held, whatever path led here.
    pub(super) held: BTreeSet<Lock>,
    /// What is held as well if a value is as said: the result of `pthread_mutex_trylock`.
    pub(super) tried: BTreeSet<(Value, Had, Lock)>,
    /// What may have been given back that the caller held.
    pub(super) gave: BTreeSet<Option<Path>>,
    /// Values of which it is known whether they are zero.
    zero: BTreeMap<Value, bool>,
}

impl State {
    /// What is known of locks, whatever values are.
    pub(super) fn locks(&self) -> Self {
        Self {
            held: self.held.clone(),
            gave: self.gave.clone(),
            ..Self::default()
        }
    }

    pub(super) fn forget(&mut self, value: Value) {
        self.tried.retain(|(of, _, _)| *of != value);
        self.zero.remove(&value);
    }

    pub(super) fn copy(&mut self, to: Value, from: Value) {
        let tried = self.tried.iter().filter(|(of, _, _)| *of == from);
        let tried: Vec<_> = tried
            .map(|(_, had, lock)| (to, *had, lock.clone()))
            .collect();
        let zero = self.zero.get(&from).copied();
        self.forget(to);
        self.tried.extend(tried);
        self.zero.extend(zero.map(|zero| (to, zero)));
    }

    pub(super) fn set(&mut self, to: Value, from: &Operand) {
        match from {
            Operand::Temp(temp) => self.copy(to, Value::Temp(*temp)),
            Operand::Int(_) | Operand::Null => {
                self.forget(to);
                self.zero.insert(to, from.is_zero());
            }
            _ => self.forget(to),
        }
    }

    pub(super) fn give_back(&mut self, path: Option<Path>) {
        let before = self.held.len();
        self.held
            .retain(|lock| lock.record.is_some() || lock.path != path);
        self.tried.retain(|(_, _, lock)| lock.path != path);
        if self.held.len() == before {
            // It may be any of those that are held.
            self.held.retain(|lock| lock.record.is_some());
            self.tried.clear();
            self.gave.insert(path);
        }
    }

    /// What is held if a value that is returned is zero, or is not; `None` if it never is.
    pub(super) fn held_if(&self, value: Option<&Operand>, is: Had) -> Option<BTreeSet<Lock>> {
        let value = match value {
            Some(Operand::Temp(temp)) => Value::Temp(*temp),
            Some(number @ (Operand::Int(_) | Operand::Null)) => {
                return (number.is_zero() == (is == Had::Zero)).then(|| self.held.clone());
            }
            _ => return Some(self.held.clone()),
        };
        if self.excludes(value, is) {
            return None;
        }
        let tried = self.tried.iter();
        let tried = tried.filter(|(of, had, _)| (*of, *had) == (value, is));
        let tried = tried.map(|(_, _, lock)| lock.clone());
        Some(self.held.iter().cloned().chain(tried).collect())
    }

    fn excludes(&self, value: Value, is: Had) -> bool {
        let zero = self.zero.get(&value);
        zero.is_some_and(|&zero| zero != (is == Had::Zero) && !matches!(is, Had::Named(_)))
    }

    /// Whether a lock is held if a value is as said.
    fn implies(&self, (value, is, lock): &(Value, Had, Lock)) -> bool {
        let tried = || self.tried.contains(&(*value, *is, lock.clone()));
        self.held.contains(lock) || self.excludes(*value, *is) || tried()
    }

    /// What both hold, where two paths meet; whether that is less than before.
    ///
    /// ```c
    /// if (pthread_mutex_trylock(&mutex) == 0) { ok = 1; } else { ok = 0; }
    /// if (ok) { … }                            /* held */
    /// ```
    pub(super) fn meet(&mut self, other: &Self) -> bool {
        let before = self.clone();
        let known = self.tried_by(other).into_iter().chain(other.tried_by(self));
        let known: BTreeSet<_> = known
            .filter(|it| self.implies(it) && other.implies(it))
            .collect();
        self.held.retain(|lock| other.held.contains(lock));
        self.tried = known;
        self.tried.retain(|(_, _, lock)| !self.held.contains(lock));
        self.zero
            .retain(|value, zero| other.zero.get(value) == Some(zero));
        self.gave.extend(other.gave.iter().cloned());
        *self != before
    }

    /// What may be known where this and `other` meet.
    fn tried_by(&self, other: &Self) -> BTreeSet<(Value, Had, Lock)> {
        let mut known = self.tried.clone();
        let lost = self.held.iter().filter(|lock| !other.held.contains(lock));
        for lock in lost {
            for (&value, &zero) in &self.zero {
                let is = if zero { Had::Zero } else { Had::NotZero };
                known.insert((value, is, lock.clone()));
            }
        }
        known
    }
}
