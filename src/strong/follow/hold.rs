//! What is known of one followed object at a point.
//!
//! The object is the result of the latest lookup, or of another definition of the same web. The
//! original code *counts* references of its own to it (`Py_INCREF`, `Py_DECREF`, stealing calls);
//! the new code has one from the start.

use std::collections::{BTreeMap, BTreeSet};

use super::slots::Slot;
use crate::ast::{ExprId, LocalId};
use crate::cfg::{Part, TempId};
use crate::strong::reason::Reason;

/// Something that holds the object or a pointer into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::strong) enum Carrier {
    Local(LocalId),
    Temp(TempId),
}

/// How a carrier depends on the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Kind {
    /// It is the object.
    Same,
    /// On some of the paths here it is.
    MaybeSame,
    /// It points into the object, or dies with it.
    Inside,
}

/// Who has a reference to the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::strong) enum Hold {
    /// There is no object, or it is none of our business any more.
    Nothing,
    /// The variable is `NULL`.
    Null,
    /// The object is another one, which the code has a reference of its own to, or never counts:
    /// what it does about it is right as it is.
    Settled,
    /// The object is there.
    Held {
        /// References that the original code holds.
        count: u8,
        /// Whether it may be `NULL` instead.
        null: bool,
    },
    /// No change is correct.
    Broken(Reason),
}

/// Where the followed object may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::strong) struct Sources {
    /// A lookup, or another place that gives no reference.
    pub looked_up: bool,
    /// A call that gives a new reference.
    pub made: bool,
    /// Such a call, behind which the code has not released the reference on some path.
    pub unreleased: bool,
    /// The object was passed to code that may keep it or release it.
    pub passed_on: bool,
}

/// A point of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::strong) struct State {
    /// Whether some path leads here.
    pub reached: bool,
    /// Whether the thread is not attached on some path: nothing can be released there.
    pub detached: bool,
    pub hold: Hold,
    /// Where the object may come from, if there is one.
    pub sources: Sources,
    pub carriers: BTreeMap<Carrier, Kind>,
    /// Those of them that point at text, in which no other pointers live.
    pub texts: BTreeSet<Carrier>,
    /// Fields of variables that point into the object: `in.src`.
    pub parts: BTreeSet<Part>,
    /// Numbers that are zero wherever the object is `NULL`.
    pub flags: BTreeSet<Carrier>,
    /// Where the last object was released on the paths that lead here.
    pub released: BTreeSet<Slot>,
    /// Variables that own a reference of the code's own, if they are the object.
    pub owned: BTreeSet<LocalId>,
    /// Whether variables that are the object may be another one where there is none.
    pub mixed: bool,
    /// Whether a pointer into the object was stored where others may use it, and the thread was
    /// attached ever since.
    pub pinned: bool,
    /// Calls to come that take a reference to a part of the object that was stored, with the name
    /// of where: until then the part needs the object.
    pub awaited: BTreeMap<ExprId, ExprId>,
}

impl State {
    pub(in crate::strong) const UNREACHED: Self = Self {
        reached: false,
        detached: false,
        hold: Hold::Nothing,
        sources: Sources {
            looked_up: false,
            made: false,
            unreleased: false,
            passed_on: false,
        },
        carriers: BTreeMap::new(),
        texts: BTreeSet::new(),
        parts: BTreeSet::new(),
        flags: BTreeSet::new(),
        released: BTreeSet::new(),
        owned: BTreeSet::new(),
        mixed: false,
        pinned: false,
        awaited: BTreeMap::new(),
    };

    pub(in crate::strong) fn entry() -> Self {
        Self {
            reached: true,
            ..Self::UNREACHED
        }
    }

    pub(in crate::strong) fn kind(&self, carrier: Carrier) -> Option<Kind> {
        self.carriers.get(&carrier).copied()
    }

    /// Variables that carry something.
    pub(in crate::strong) fn locals(&self) -> impl Iterator<Item = (LocalId, Kind)> {
        self.carriers
            .iter()
            .filter_map(|(carrier, &kind)| match carrier {
                Carrier::Local(local) => Some((*local, kind)),
                Carrier::Temp(_) => None,
            })
    }

    /// Whether a variable has pointers into the object, in whatever field.
    pub(in crate::strong) fn points_inside(&self, local: LocalId) -> bool {
        self.kind(Carrier::Local(local)) == Some(Kind::Inside)
            || self.parts.iter().any(|part| part.local == local)
    }

    /// Forgets what a variable holds, that of its fields included.
    pub(in crate::strong) fn drop_local(&mut self, local: LocalId) {
        self.carriers.remove(&Carrier::Local(local));
        self.texts.remove(&Carrier::Local(local));
        self.owned.remove(&local);
        self.parts.retain(|part| part.local != local);
    }

    pub(in crate::strong) fn is_held(&self) -> bool {
        matches!(self.hold, Hold::Held { .. })
    }

    /// The object is read, so it is there: the code crashes where it is not, before the change and
    /// after.
    pub(in crate::strong) fn is_read(&mut self) {
        // A variable may be another object, where there is none of ours.
        if let Hold::Held { null, .. } = &mut self.hold
            && !self.mixed
        {
            *null = false;
        }
    }

    /// Forgets the object: released, given away, or gone with its path.
    pub(in crate::strong) fn clear(&mut self) {
        self.hold = Hold::Nothing;
        self.sources = Sources::default();
        self.carriers.clear();
        self.texts.clear();
        self.parts.clear();
        self.flags.clear();
        self.released.clear();
        self.owned.clear();
        self.mixed = false;
        self.pinned = false;
        self.awaited.clear();
    }

    /// There is no object.
    pub(in crate::strong) fn clear_to_null(&mut self) {
        self.clear();
        self.hold = Hold::Null;
    }

    /// Keeps the first reason.
    pub(in crate::strong) fn fail(&mut self, reason: Reason) {
        if !matches!(self.hold, Hold::Broken(_)) {
            self.hold = Hold::Broken(reason);
            self.carriers.clear();
            self.parts.clear();
        }
    }

    /// Adds what another path knows; whether anything changed. `name` is for the message where the
    /// paths do not go together; without one they are taken to. Where a variable of its own holds
    /// the reference (`apart`), no other depends on the object where there is none.
    pub(in crate::strong) fn join(
        &mut self,
        other: &Self,
        name: Option<&str>,
        apart: bool,
    ) -> bool {
        if !other.reached {
            return false;
        }
        if !self.reached {
            *self = other.clone();
            return true;
        }
        let before = self.clone();
        self.flags = self.joined_flags(other);
        self.join_texts(other);
        if apart {
            self.join_apart(other);
        }
        self.detached |= other.detached;
        self.pinned |= other.pinned;
        self.awaited.extend(&other.awaited);
        self.released.extend(&other.released);
        self.hold = join_holds(&self.hold, &other.hold, name);
        // What stands against a release on all paths is the pointer, not that they differ.
        if let (true, Hold::Broken(Reason::OwnedOnSomePaths(name))) = (self.pinned, &self.hold) {
            self.hold = Hold::Broken(Reason::DerivedEscapes(name.clone()));
        }
        self.sources.looked_up |= other.sources.looked_up;
        self.sources.made |= other.sources.made;
        self.sources.unreleased |= other.sources.unreleased;
        self.sources.passed_on |= other.sources.passed_on;
        match self.hold {
            Hold::Nothing | Hold::Broken(_) => {
                self.carriers.clear();
                self.parts.clear();
                self.owned.clear();
            }
            Hold::Held { .. } if apart && before.hold == Hold::Null => {
                self.carriers.clone_from(&other.carriers);
                self.parts.clone_from(&other.parts);
            }
            Hold::Held { .. } if apart && other.hold == Hold::Null => {}
            Hold::Null | Hold::Settled | Hold::Held { .. } => {
                self.join_carriers(&other.carriers);
                self.parts.extend(&other.parts);
            }
        }
        *self != before
    }

    /// A pointer is one at text if it is on all paths that have it.
    fn join_texts(&mut self, other: &Self) {
        let is_other = |state: &Self, carrier: &Carrier| {
            state.carriers.contains_key(carrier) && !state.texts.contains(carrier)
        };
        let mut texts = &self.texts | &other.texts;
        texts.retain(|carrier| !is_other(self, carrier) && !is_other(other, carrier));
        self.texts = texts;
    }

    fn join_apart(&mut self, other: &Self) {
        let is_null = self.hold == Hold::Null || other.hold == Hold::Null;
        self.mixed |= other.mixed || is_null && self.hold != other.hold;
        let lacks = |state: &Self, local: &LocalId| {
            state.kind(Carrier::Local(*local)).is_some() && !state.owned.contains(local)
        };
        let mut owned = &self.owned | &other.owned;
        owned.retain(|local| !lacks(self, local) && !lacks(other, local));
        self.owned = owned;
    }

    fn join_carriers(&mut self, other: &BTreeMap<Carrier, Kind>) {
        let unsure = |kind: Kind| match kind {
            Kind::Inside => Kind::Inside,
            Kind::Same | Kind::MaybeSame => Kind::MaybeSame,
        };
        for (carrier, kind) in &mut self.carriers {
            if other.get(carrier) != Some(kind) {
                *kind = unsure(*kind);
            }
        }
        for (&carrier, &kind) in other {
            self.carriers.entry(carrier).or_insert(unsure(kind));
        }
    }
}

fn join_holds(left: &Hold, right: &Hold, name: Option<&str>) -> Hold {
    let (left, right) = if rank(left) <= rank(right) {
        (left, right)
    } else {
        (right, left)
    };
    match (left, right) {
        (_, Hold::Broken(_)) => right.clone(),
        (Hold::Nothing, Hold::Nothing | Hold::Null | Hold::Settled) => Hold::Nothing,
        (Hold::Null, Hold::Null) => Hold::Null,
        (Hold::Null | Hold::Settled, Hold::Settled) => Hold::Settled,
        // The new reference took the place of one of the code's: here, too, nothing changes.
        (Hold::Settled, &Hold::Held { count, .. }) if count > 0 => Hold::Held { count, null: true },
        (Hold::Null, Hold::Held { count, .. }) => Hold::Held {
            count: *count,
            null: true,
        },
        (Hold::Held { count, null }, Hold::Held { count: c, null: n }) if count == c => {
            Hold::Held {
                count: *count,
                null: *null || *n,
            }
        }
        _ => match (name, left, right) {
            (Some(name), ..) => Hold::Broken(Reason::OwnedOnSomePaths(name.to_owned())),
            (None, Hold::Held { count, .. }, &Hold::Held { count: c, .. }) => Hold::Held {
                count: c.max(*count),
                null: true,
            },
            (None, ..) => right.clone(),
        },
    }
}

fn rank(hold: &Hold) -> u8 {
    match hold {
        Hold::Nothing => 0,
        Hold::Null => 1,
        Hold::Settled => 2,
        Hold::Held { .. } => 3,
        Hold::Broken(_) => 4,
    }
}
