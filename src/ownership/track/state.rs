//! What is known at one point of one path.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::facts::Facts;
use super::lent::Spot;
use super::owed::Cell;
use super::{Origin, Seed};
use crate::ast::LocalId;
use crate::cfg::{Source, TempId};

/// Index of an instance in [`State::instances`].
pub(super) type InstanceId = usize;

/// A value as far as the proof cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    Unknown,
    /// A variable of a seed that is declared and has no value yet.
    Unset,
    Null,
    /// `NULL` on some of the paths that are followed as one.
    MaybeNull,
    /// Some pointer that is not `NULL`.
    NonNull,
    /// `Py_None`.
    None,
    Int(i64),
    Instance(InstanceId),
    /// An instance that memory holds without a reference of its own.
    Owed(InstanceId),
    /// A pointer into an instance that memory holds, without a reference of its own.
    OwedPart(InstanceId),
    /// Points into an instance, or is kept alive by it.
    Derived(InstanceId),
    /// Made by an unknown function out of an instance: derived if it is a plain pointer.
    MaybeDerived(InstanceId),
}

impl Value {
    pub(super) fn instance(self) -> Option<InstanceId> {
        match self {
            Self::Instance(id) | Self::Derived(id) | Self::MaybeDerived(id) => Some(id),
            Self::Unknown
            | Self::Unset
            | Self::Null
            | Self::MaybeNull
            | Self::NonNull
            | Self::None
            | Self::Owed(_)
            | Self::OwedPart(_)
            | Self::Int(_) => None,
        }
    }

    /// The instance that the value says anything of.
    fn mentions(self) -> Option<InstanceId> {
        match self {
            Self::Owed(id) | Self::OwedPart(id) => Some(id),
            other => other.instance(),
        }
    }

    /// What is known if it is one or the other, where neither has to do with an instance.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (left, right) if left == right => left,
            (Self::Null | Self::MaybeNull, _) | (_, Self::Null | Self::MaybeNull) => {
                Self::MaybeNull
            }
            _ => Self::Unknown,
        }
    }

    fn with_instance(self, id: InstanceId) -> Self {
        match self {
            Self::Instance(_) => Self::Instance(id),
            Self::Owed(_) => Self::Owed(id),
            Self::OwedPart(_) => Self::OwedPart(id),
            Self::Derived(_) => Self::Derived(id),
            Self::MaybeDerived(_) => Self::MaybeDerived(id),
            other => other,
        }
    }
}

/// One reference that a seed handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Instance {
    pub seed: usize,
    /// References the function holds: taken minus released and given away.
    pub count: i8,
    /// Whether the function ever had one.
    pub taken: bool,
    /// How often memory of the function got it: each time a reference may have gone there.
    pub lent: i8,
    /// Whether the last reference went by a release, and not by being given away.
    pub released: bool,
    /// The release, as long as something is left that a function made of the object.
    pub released_at: Option<Source>,
    /// Whether a test showed it to be `Py_None`, which other names stand for as well.
    pub none: bool,
    /// Where a pointer into it was stored, if the thread was attached ever since.
    pub kept: Option<Source>,
}

impl Instance {
    pub(super) fn new(seed: usize, owned: bool) -> Self {
        Self {
            seed,
            count: i8::from(owned),
            taken: owned,
            lent: 0,
            released: false,
            released_at: None,
            none: false,
            kept: None,
        }
    }
}

/// A temporary's value and the variable it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Temp {
    pub value: Value,
    pub from: Option<LocalId>,
}

/// A point of a path. States that are equal have equal futures.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct State {
    pub instances: Vec<Instance>,
    /// Variables with something known of them.
    pub locals: BTreeMap<LocalId, Value>,
    pub temps: BTreeMap<TempId, Temp>,
    /// Memory that got an instance, or a pointer into one, without a reference.
    pub owed: BTreeMap<Cell, Value>,
    /// Memory of the function that has an instance.
    pub lent: BTreeMap<Spot, InstanceId>,
    /// Whether the thread is detached: other threads run.
    pub detached: bool,
}

impl State {
    /// Where the function begins: its parameters hold what is followed of them. Text is no
    /// object, but may be part of one.
    pub(super) fn entry(seeds: &[Seed], facts: &Facts<'_>) -> Self {
        let mut state = Self::default();
        for (seed, &Seed { origin, owned, .. }) in seeds.iter().enumerate() {
            if let Origin::Param(local) = origin {
                let id = state.instances.len();
                let value = match facts.is_text(local) {
                    true => Value::Derived(id),
                    false => Value::Instance(id),
                };
                state.set_local(local, value);
                state.instances.push(Instance::new(seed, owned));
            }
        }
        state
    }

    pub(super) fn local(&self, local: LocalId) -> Value {
        self.locals.get(&local).copied().unwrap_or(Value::Unknown)
    }

    pub(super) fn set_local(&mut self, local: LocalId, value: Value) {
        if value == Value::Unknown {
            self.locals.remove(&local);
        } else {
            self.locals.insert(local, value);
        }
    }

    pub(super) fn set_temp(&mut self, temp: TempId, value: Value, from: Option<LocalId>) {
        if value == Value::Unknown && from.is_none() {
            self.temps.remove(&temp);
        } else {
            self.temps.insert(temp, Temp { value, from });
        }
    }

    /// Takes out the values of variables that have nothing to do with an instance and are not in
    /// `carriers`.
    pub(super) fn take_others(
        &mut self,
        carriers: &FxHashSet<LocalId>,
    ) -> BTreeMap<LocalId, Value> {
        let locals = std::mem::take(&mut self.locals).into_iter();
        let (references, others) = locals
            .partition(|(local, value)| value.instance().is_some() || carriers.contains(local));
        self.locals = references;
        others
    }

    /// Whether anything still names the instance.
    pub(super) fn is_named(&self, id: InstanceId) -> bool {
        if self.instances[id].none || self.is_lent(id) {
            return true;
        }
        self.values().any(|value| value == Value::Instance(id))
    }

    /// An instance that is known to be `Py_None`: one that is owned, else one that was.
    pub(super) fn owned_none(&self) -> Option<Value> {
        let position = |is_owned: bool| {
            let mut instances = self.instances.iter();
            instances.position(|instance| {
                let was_owned = instance.count > 0 || instance.released;
                instance.none && was_owned && (instance.count > 0) == is_owned
            })
        };
        position(true)
            .or_else(|| position(false))
            .map(Value::Instance)
    }

    fn is_mentioned(&self, id: InstanceId) -> bool {
        let mut values = self.values().chain(self.owed.values().copied());
        values.any(|value| value.mentions() == Some(id)) || self.is_lent(id)
    }

    fn values(&self) -> impl Iterator<Item = Value> {
        let temps = self.temps.values().map(|temp| temp.value);
        self.locals.values().copied().chain(temps)
    }

    /// Drops balanced instances that nothing mentions, and of those with the same end all but one,
    /// and numbers the others in a fixed order.
    pub(super) fn normalize(&mut self) {
        for id in 0..self.instances.len() {
            if !self.values().any(|value| value == Value::MaybeDerived(id)) {
                self.instances[id].released_at = None;
            }
        }
        let mut ended: Vec<Instance> = Vec::new();
        let keep = (0..self.instances.len()).filter(|&id| {
            let instance = self.instances[id];
            if self.is_mentioned(id) {
                return true;
            }
            let is_over = instance.count == 0 && instance.kept.is_none();
            let is_kept = !is_over && !ended.contains(&instance);
            ended.push(instance);
            is_kept
        });
        let mut order: Vec<InstanceId> = keep.collect();
        order.sort_by_key(|&id| (self.instances[id], self.first_mention(id)));
        let renamed: BTreeMap<InstanceId, InstanceId> = order
            .iter()
            .enumerate()
            .map(|(new, &old)| (old, new))
            .collect();
        self.instances = order.iter().map(|&id| self.instances[id]).collect();
        let rename = |value: Value| match value.mentions() {
            Some(id) => value.with_instance(renamed[&id]),
            None => value,
        };
        for value in self.locals.values_mut().chain(self.owed.values_mut()) {
            *value = rename(*value);
        }
        for temp in self.temps.values_mut() {
            temp.value = rename(temp.value);
        }
        for id in self.lent.values_mut() {
            *id = renamed[id];
        }
    }

    fn first_mention(&self, id: InstanceId) -> Option<LocalId> {
        self.locals
            .iter()
            .find(|(_, value)| value.instance() == Some(id))
            .map(|(&local, _)| local)
    }
}
