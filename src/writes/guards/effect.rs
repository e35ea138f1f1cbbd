//! What calls do to locks: those outside of the package by a table, its own by their bodies.
//!
//! ```c
//! #ifdef USE_THREADS
//! static void enter(Db *db) { pthread_mutex_lock(&db->mutex); }     /* takes it */
//! #else
//! static void enter(Db *db) {}             /* nor does a call of `enter` then */
//! #endif
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::held::exits;
use super::path::{Path, Paths, Root, Step};
use crate::ast::{ExprId, Function, Tree};
use crate::capi::{Had, LockAct, LockCall, lock_call, writes};
use crate::rule::{ItemId, PackageCx};
use crate::state::{begins_section, lock_act_by_name};

/// A lock, as the caller of a function finds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// What an argument points to, and a way from there.
    Argument(usize, Vec<Step>),
    Fixed(Path),
}

impl Way {
    /// The way of a lock that the parameters of `function` lead to.
    pub(super) fn new(function: &Function, path: &Path) -> Option<Self> {
        let Root::Local(local) = path.root else {
            return Some(Self::Fixed(path.clone()));
        };
        let at = function.params.iter().position(|&param| param == local)?;
        match path.steps.split_first()? {
            (Step::Deref, rest) => Some(Self::Argument(at, rest.to_vec())),
            _ => None,
        }
    }

    /// The path of the lock in the function with the call.
    pub(super) fn path(&self, paths: &Paths<'_>, args: &[ExprId]) -> Option<Path> {
        match self {
            Self::Argument(at, steps) => {
                let mut path = paths.pointee(*args.get(*at)?)?;
                path.steps.extend(steps.iter().cloned());
                Some(path)
            }
            Self::Fixed(path) => Some(path.clone()),
        }
    }
}

impl Way {
    /// Two locks that no build has both.
    fn or(&self, other: &Self) -> Option<Self> {
        let (Self::Fixed(one), Self::Fixed(two)) = (self, other) else {
            return None;
        };
        let root = Root::Of(format!("{one:?} {two:?}").into());
        let either = Path {
            root,
            steps: Vec::new(),
        };
        Some(Self::Fixed(if one == two { one.clone() } else { either }))
    }
}

/// What is held in each of two builds, which may have locks of their own:
/// `EnterCriticalSection(&section)` here, `pthread_mutex_lock(&mutex)` there.
fn taken_by_both(had: BTreeSet<Taken>, other: &BTreeSet<Taken>) -> BTreeSet<Taken> {
    if let (1, 1, Some(one), Some(two)) = (had.len(), other.len(), had.first(), other.first())
        && let (Some(way), Some(of_two)) = (&one.way, &two.way)
        && let Some(either) = way.or(of_two)
    {
        return BTreeSet::from([Taken {
            way: Some(either),
            is_shared: one.is_shared || two.is_shared,
        }]);
    }
    &had & other
}

/// A lock that was taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taken {
    pub(super) way: Option<Way>,
    /// Whether others may have it as well.
    pub(super) is_shared: bool,
}

/// What is done to locks once a call comes back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Effect {
    /// What is held if the call gives zero, and if it gives anything else; `None` if it never does.
    pub(super) had: [Option<BTreeSet<Taken>>; 2],
    /// With a call of which the result has this name.
    pub(super) named: Option<(&'static str, Taken)>,
    /// What may have been given back that the caller held.
    pub(super) gave: BTreeSet<Option<Way>>,
}

impl Effect {
    /// What is held whatever the call gives.
    pub(super) fn always(&self) -> BTreeSet<Taken> {
        match &self.had {
            [Some(zero), Some(other)] => zero & other,
            [had, other] => had.as_ref().or(other.as_ref()).cloned().unwrap_or_default(),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        let had = self.had.iter().flatten();
        self.named.is_none() && self.gave.is_empty() && had.into_iter().all(BTreeSet::is_empty)
    }

    /// Nothing, whatever the call gives.
    pub(super) fn nothing() -> Self {
        Self {
            had: [Some(BTreeSet::new()), Some(BTreeSet::new())],
            ..Self::default()
        }
    }

    fn taken(taken: Taken, had: Had) -> Self {
        let one = || Some(BTreeSet::from([taken.clone()]));
        let none = || Some(BTreeSet::new());
        let mut effect = Self::default();
        match had {
            Had::Always => effect.had = [one(), one()],
            Had::Zero => effect.had = [one(), none()],
            Had::NotZero => effect.had = [none(), one()],
            Had::Named(name) => {
                effect.had = [none(), none()];
                effect.named = Some((name, taken));
            }
        }
        effect
    }

    /// What a function does of which a build has one of two.
    fn or(mut self, other: &Self) -> Self {
        let one = |gave: &BTreeSet<Option<Way>>| match gave.len() {
            1 => gave.first().cloned().flatten(),
            _ => None,
        };
        let gave = one(&self.gave).zip(one(&other.gave));
        match gave.and_then(|(gave, other)| gave.or(&other)) {
            Some(either) => self.gave = BTreeSet::from([Some(either)]),
            None => self.gave.extend(other.gave.iter().cloned()),
        }
        for (had, other) in self.had.iter_mut().zip(&other.had) {
            *had = match (had.take(), other) {
                (Some(had), Some(other)) => Some(taken_by_both(had, other)),
                (had, other) => had.or_else(|| other.clone()),
            };
        }
        self.named = self.named.filter(|it| other.named.as_ref() == Some(it));
        self
    }
}

/// The functions of a package that take locks, or give them back.
pub(in crate::writes) struct Helpers<'c, 'a> {
    cx: &'c PackageCx<'a>,
    /// `None` while it is being found.
    known: RefCell<FxHashMap<ItemId, Option<Rc<Effect>>>>,
}

impl<'c, 'a> Helpers<'c, 'a> {
    pub(in crate::writes) fn new(cx: &'c PackageCx<'a>) -> Self {
        Self {
            cx,
            known: RefCell::default(),
        }
    }

    /// Whether a function of the package takes any lock.
    pub(in crate::writes) fn take_any(&self) -> bool {
        let mut calls = self
            .cx
            .program
            .functions()
            .flat_map(|(_, it)| it.tree.calls());
        calls.any(|(_, name)| begins_section(name) || self.act(name).is_some())
    }

    /// The functions of this name that code of the same translation unit calls, where there is no
    /// GIL.
    pub(in crate::writes) fn callees(&self, item: ItemId, name: &str) -> Vec<ItemId> {
        let unit = self.cx.item(item).unit;
        let all = self.cx.definitions(name);
        let seen = all.filter(|(id, it)| {
            let other = self.cx.item(*id);
            !other.needs_gil && (!it.is_static || other.unit == unit)
        });
        seen.map(|(id, _)| id).collect()
    }

    /// What a function that is not one of the package does to a lock.
    fn act(&self, name: &str) -> Option<LockAct> {
        let is_own = self.cx.definitions(name).next().is_some();
        let known = lock_call(name).map(|call| call.act);
        known.or_else(|| lock_act_by_name(name).filter(|_| !is_own))
    }

    /// What a call does.
    pub(super) fn of(&self, item: ItemId, tree: &Tree, call: ExprId) -> Rc<Effect> {
        let Some((name, args)) = tree.call(call) else {
            return Rc::default();
        };
        let own = self.callees(item, name);
        match own.split_first() {
            Some((&first, [])) => self.of_own(first),
            Some((&first, others)) => {
                let others = others.iter().map(|&other| self.of_own(other));
                let first = Effect::clone(&self.of_own(first));
                Rc::new(others.fold(first, |all, other| all.or(&other)))
            }
            None => Rc::new(self.outside(name, tree, args).unwrap_or_default()),
        }
    }

    fn outside(&self, name: &str, tree: &Tree, args: &[ExprId]) -> Option<Effect> {
        let row = lock_call(name);
        // `mlock` is no lock.
        if row.is_none() && writes(name).is_some() {
            return None;
        }
        let way = match args.get(row.map_or(0, |row| row.lock)) {
            Some(_) => Way::Argument(row.map_or(0, |row| row.lock), Vec::new()),
            None => Way::Fixed(Path {
                root: Root::Of(family(name)),
                steps: Vec::new(),
            }),
        };
        let taken = |is_shared| Taken {
            way: Some(way.clone()),
            is_shared,
        };
        let had = row.map_or(Had::Always, |row| had(row, tree, args));
        match self.act(name)? {
            LockAct::Takes => Some(Effect::taken(taken(false), had)),
            LockAct::Shares => Some(Effect::taken(taken(true), had)),
            LockAct::Gives => Some(Effect {
                gave: BTreeSet::from([Some(way)]),
                ..Effect::default()
            }),
            LockAct::Makes => None,
        }
    }

    fn of_own(&self, item: ItemId) -> Rc<Effect> {
        if let Some(known) = self.known.borrow().get(&item) {
            // What recursion takes and gives back is seen where it is not recursion.
            return known.clone().unwrap_or_default();
        }
        self.known.borrow_mut().insert(item, None);
        let function = self.cx.function(item);
        let effect = function.map(|function| exits(self, item, function));
        let effect = Rc::new(effect.unwrap_or_default());
        self.known
            .borrow_mut()
            .insert(item, Some(Rc::clone(&effect)));
        effect
    }
}

/// When a lock is had: where the call is told to wait, always.
fn had(row: &LockCall, tree: &Tree, args: &[ExprId]) -> Had {
    let waiting = row.waiting().and_then(|at| args.get(at));
    let waits = waiting.is_some_and(|&arg| {
        let name = tree.callee_name(tree.without_casts(arg));
        row.waits(tree.as_number(arg), name)
    });
    if waits { Had::Always } else { row.had }
}

/// What the names of the two functions share that take a lock and give it back: `lock_all`,
/// `unlock_all`.
fn family(name: &str) -> Box<str> {
    let mut name = name.to_ascii_lowercase();
    for word in ["unlock", "lock", "acquire", "release"] {
        name = name.replace(word, "");
    }
    name.into()
}
