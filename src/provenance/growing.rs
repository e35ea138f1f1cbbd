//! Dicts in fields that only ever get more items: what they lend lives as long as their object.
//!
//! ```c
//! PyThread_acquire_lock(self->lock, 1);
//! key = PyLong_FromLong(level);
//! made = PyDict_GetItemWithError(self->cache, key);
//! if (made == NULL)
//!     PyDict_SetItem(self->cache, key, make(level));   /* takes the place of nothing */
//! PyThread_release_lock(self->lock);
//! ```

use std::collections::BTreeSet;

use crate::capi;
use crate::cfg::{Base, Cfg, Comparison, InstrKind, Operand, Place, Point, Projection, reaches};
use crate::program::ItemId;

use super::Cx;
use super::api::{Use, only_adds};
use super::field::{Contents, mentions};
use super::flow::{Flow, Origin};
use super::sharing::Root;

/// A step that puts an item into a dict, and never in the place of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Addition {
    /// By itself: `PyDict_SetDefault`.
    Plain,
    /// Where nothing was found, with the lock in this field held from the search on.
    Locked(Box<str>),
}

impl Cx<'_> {
    /// Why the dict `container`, out of which the call `name` looks something up, never loses what
    /// it has; `None` if it may.
    pub(super) fn growing(
        &self,
        flow: &Flow<'_>,
        name: &str,
        container: &Operand,
    ) -> Option<String> {
        let is_lookup = matches!(
            name,
            "PyDict_GetItem" | "PyDict_GetItemWithError" | "PyDict_GetItemString"
        );
        let origins = flow.origins(container);
        let [Origin::Field(field, base)] = &origins[..] else {
            return None;
        };
        // `child = self->child;` may be gone, and its dict with it; who calls holds what it passes.
        let is_kept = matches!(flow.origins(base)[..], [Origin::Param(_)]);
        let object = flow.variable(base).filter(|_| is_lookup && is_kept)?;
        let grows = self.known_field(field, Contents::Grows)?;
        Some(format!("`{object}->{field}` {grows}"))
    }

    /// The rest of a sentence about a dict in the field `name` that `makers` set: by whom, and how,
    /// it only ever gets more items; `None` where different locks are held.
    pub(super) fn grows(&self, name: &str, makers: &str) -> Option<String> {
        let mut functions = BTreeSet::new();
        let mut additions = BTreeSet::new();
        for at in 0u32..self.program.items.len().try_into().ok()? {
            let Some(flow) = self.flow(ItemId(at)) else {
                continue;
            };
            for (point, instr) in flow.instrs() {
                let InstrKind::Load { place, .. } = &instr.kind else {
                    continue;
                };
                if mentions(place, name) {
                    let found = self.additions(flow, point).unwrap_or_default();
                    if !found.is_empty() {
                        functions.insert(&flow.function.name);
                    }
                    additions.extend(found);
                }
            }
        }
        let mut locks = additions.iter().filter_map(|addition| match addition {
            Addition::Locked(lock) => Some(lock),
            Addition::Plain => None,
        });
        let lock = locks.next();
        // A default may have a key that compares as it likes.
        let is_mixed = lock.is_some() && additions.contains(&Addition::Plain);
        if functions.is_empty() || is_mixed || locks.next().is_some() {
            return None;
        }
        let functions: Vec<&str> = functions.into_iter().map(String::as_str).collect();
        let functions = functions.join("()` and `");
        let held = lock.map_or_else(String::new, |lock| format!(", with `{lock}` held"));
        Some(format!(
            "is set only while `{makers}()` builds the object, and `{functions}()` only adds keys \
             that are not there yet{held}"
        ))
    }

    /// What the function does to the dict that it loads at `load`, if it is nothing but additions.
    pub(super) fn additions(&self, flow: &Flow<'_>, load: Point) -> Option<Vec<Addition>> {
        const DEPTH: u32 = 3;
        let root = Root::Step(load);
        let is_shared = !self.uses_above(flow, root, Use::Change, DEPTH).is_empty();
        if is_shared {
            return None;
        }
        let changes = self.uses_above(flow, root, Use::Read, DEPTH).into_iter();
        changes.map(|at| self.addition(flow, at)).collect()
    }

    fn addition(&self, flow: &Flow<'_>, at: Point) -> Option<Addition> {
        let (Some(name), args) = flow.call(at)? else {
            return None;
        };
        if only_adds(name) {
            return Some(Addition::Plain);
        }
        let search = flow
            .instrs()
            .map(|(point, _)| point)
            .find(|&search| is_search(flow, search, name, args) && is_missed(flow, search, at))?;
        let object = object_of(flow, args.first()?)?;
        let lock = self.lock_held(flow, object, search, at)?;
        Some(Addition::Locked(lock))
    }

    /// The lock of the object `object` that is held from the step at `from` to the one at `to`.
    fn lock_held(
        &self,
        flow: &Flow<'_>,
        object: usize,
        from: Point,
        to: Point,
    ) -> Option<Box<str>> {
        let steps = flow.instrs().map(|(point, _)| point);
        let takes: Vec<(Point, &str)> = steps
            .filter_map(|point| Some((point, lock_of(flow, point, object)?)))
            .collect();
        let mut locks: Vec<&str> = takes.iter().map(|(_, lock)| *lock).collect();
        locks.dedup();
        let lock = locks.into_iter().find(|lock| {
            let own = takes.iter().filter(|(_, other)| other == lock);
            let own: Vec<Point> = own.map(|(point, _)| *point).collect();
            is_held(flow, object, &own, from, to)
        })?;
        // A lock in the place of another one would let two threads in.
        if self.calls.is_named_unread(lock) {
            return None;
        }
        let items = 0u32..self.program.items.len().try_into().ok()?;
        let mut items = items.filter_map(|at| self.flow(ItemId(at)));
        items
            .all(|flow| self.keeps_lock(flow, lock))
            .then(|| lock.into())
    }

    fn keeps_lock(&self, flow: &Flow<'_>, lock: &str) -> bool {
        flow.instrs().all(|(point, instr)| match &instr.kind {
            InstrKind::Store { place, value } if mentions(place, lock) => {
                self.is_being_built(flow, place, point) || value.is_zero() && self.ends(flow)
            }
            _ => true,
        })
    }
}

/// Whether the step at `search` looks for what a call of `name` with these arguments adds.
fn is_search(flow: &Flow<'_>, search: Point, name: &str, args: &[Operand]) -> bool {
    let (Some((Some(searches), [dict, key])), [other, added, _]) = (flow.call(search), args) else {
        return false;
    };
    let searches = matches!(searches, "PyDict_GetItem" | "PyDict_GetItemWithError");
    let field = |dict: &Operand| match &flow.origins(dict)[..] {
        [Origin::Field(field, _)] => Some((field.clone(), object_of(flow, dict)?)),
        _ => None,
    };
    name == "PyDict_SetItem"
        && searches
        && field(dict).is_some_and(|it| field(other) == Some(it))
        && is_plain(flow, key, added)
}

/// Whether two keys are the same number or text, which compare without Python code.
fn is_plain(flow: &Flow<'_>, key: &Operand, other: &Operand) -> bool {
    const MAKERS: [&str; 5] = [
        "PyLong_From",
        "PyUnicode_FromString",
        "PyUnicode_FromFormat",
        "PyBytes_FromString",
        "PyBytes_FromFormat",
    ];
    let origins = flow.origins(key);
    let [Origin::Call(made)] = origins[..] else {
        return false;
    };
    let name = flow.call(made).and_then(|(name, _)| name);
    flow.origins(other) == origins
        && name.is_some_and(|name| MAKERS.iter().any(|start| name.starts_with(start)))
}

/// The parameter that points at the object out of whose field a value was loaded.
fn object_of(flow: &Flow<'_>, value: &Operand) -> Option<usize> {
    match flow.place_of(value) {
        Some(place) => param_of(flow, place),
        None => None,
    }
}

/// The parameter that points at the object with the field `place`.
fn param_of(flow: &Flow<'_>, place: &Place) -> Option<usize> {
    let (Base::Deref(base), [Projection::Field(_)]) = (&place.base, &place.path[..]) else {
        return None;
    };
    match flow.origins(base)[..] {
        [Origin::Param(object)] => Some(object),
        _ => None,
    }
}

/// Whether every path to the step at `at` comes from the search, which found nothing, and nothing
/// was added since.
fn is_missed(flow: &Flow<'_>, search: Point, at: Point) -> bool {
    let asks = |lhs: &Operand| flow.origins(lhs) == [Origin::Call(search)];
    let tests = flow.tests(at, Comparison::NotEqual, &|condition| {
        asks(&condition.lhs) && condition.rhs.is_zero()
    });
    let adds = |point: Point| {
        let name = flow.call(point).and_then(|(name, _)| name);
        name.is_some_and(|name| name.starts_with("PyDict_Set"))
    };
    let again = flow.instrs().any(|(point, _)| {
        let renews_key = flow.call(search).is_some_and(|(_, args)| {
            args.iter()
                .any(|arg| flow.origins(arg) == [Origin::Call(point)])
        });
        (adds(point) || renews_key) && is_between(flow, search, point, at)
    });
    !reaches(&flow.cfg, entry(), at, &[search]) && !flow.reaches(search, at, &tests) && !again
}

/// Whether a path from `from` to `to` comes by the step at `point`. Only what is done again counts
/// where that is `to`.
fn is_between(flow: &Flow<'_>, from: Point, point: Point, to: Point) -> bool {
    let first = match point == to {
        true => &[][..],
        false => &[to][..],
    };
    flow.reaches(from, point, first) && flow.reaches(point, to, &[from])
}

fn entry() -> Point {
    Point {
        block: Cfg::ENTRY,
        index: 0,
    }
}

/// The field with the lock of `object` that the step at `point` takes, or tries to take.
fn lock_of<'f>(flow: &'f Flow<'_>, point: Point, object: usize) -> Option<&'f str> {
    // Others may be taken twice by one thread.
    let (Some("PyThread_acquire_lock" | "PyMutex_Lock"), [lock, ..]) = flow.call(point)? else {
        return None;
    };
    let place = match lock {
        Operand::AddressOf(place) => place,
        loaded => flow.place_of(loaded)?,
    };
    let is_own = param_of(flow, place) == Some(object);
    super::flow::last_field(place).filter(|_| is_own)
}

/// Whether one of the steps `takes` has taken the lock on every path to `from`, and nothing may
/// release it before `to`.
fn is_held(flow: &Flow<'_>, object: usize, takes: &[Point], from: Point, to: Point) -> bool {
    let waits = |point: &Point| match flow.call(*point) {
        Some((Some("PyThread_acquire_lock"), [_, wait])) => {
            matches!(wait, Operand::Int(wait) if *wait != 0)
        }
        _ => true,
    };
    let (mut taken, tried): (Vec<Point>, Vec<Point>) = takes.iter().partition(|&it| waits(it));
    // `if (!PyThread_acquire_lock(lock, 0)) PyThread_acquire_lock(lock, 1);`
    let surely = tried.into_iter().filter(|&point| {
        let asks = |lhs: &Operand| flow.origins(lhs) == [Origin::Call(point)];
        let failed = flow.where_zero(&|condition| asks(&condition.lhs) && condition.rhs.is_zero());
        failed.is_some_and(|block| !reaches(&flow.cfg, Point { block, index: 0 }, from, &taken))
    });
    let surely: Vec<Point> = surely.collect();
    taken.extend(surely);
    let may_release = |point: &Point| may_release(flow, *point, object);
    let mut releases = flow.instrs().map(|(point, _)| point).filter(may_release);
    !reaches(&flow.cfg, entry(), from, &taken)
        && releases.all(|release| {
            !flow.reaches(release, from, &taken) && !is_between(flow, from, release, to)
        })
}

/// Whether a step releases a lock, or may, because it gets the object.
fn may_release(flow: &Flow<'_>, point: Point, object: usize) -> bool {
    let Some((name, args)) = flow.call(point) else {
        return false;
    };
    let lower = name.unwrap_or_default().to_ascii_lowercase();
    let is_given = || {
        let mut args = args.iter();
        args.any(|arg| flow.origins(arg).contains(&Origin::Param(object)))
    };
    let is_known = name.is_some_and(|name| capi::effects(name).is_some());
    lower.contains("unlock") || lower.contains("release") || !is_known && is_given()
}
