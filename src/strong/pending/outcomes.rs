//! How functions of the package come back where something fails, as their bodies show: the numbers
//! with which they tell of an exception, and whether they tell of each.
//!
//! ```c
//! if (PyLong_Check(o) == 0) {
//!     PyErr_SetString(PyExc_TypeError, "no number");
//!     return 1;                                  /* 1 tells of it, if others return 0 */
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Pending;
use super::raising::{helpers, may_raise};
use super::worlds::{Known, World, Worlds};
use crate::ast::{Function, Type};
use crate::cfg::{Base, Callee, Cfg, InstrKind, Operand, Place, Point, TempId, Terminator};
use crate::ownership::summary::callees_first;
use crate::rule::{ErrorNumbers, ErrorReturn, PackageCx};
use crate::strong::scene::graph;
use crate::strong::types::{is_number, is_signed};

/// Those of the functions that functions with calls of `names` call, and of their callees.
pub(in crate::strong) fn error_returns(
    cx: &PackageCx<'_>,
    names: &[&str],
) -> BTreeMap<Box<str>, ErrorReturn> {
    let mut known = BTreeMap::new();
    for called in callees_first(cx.program, names) {
        let variants = called.variants.iter();
        let found = variants
            .map(|(function, cfg)| of_function(cx, function, cfg, &known))
            .reduce(|one, other| Some(one?.both(other?)));
        if let (Some(returned), Some((function, _))) = (found.flatten(), called.variants.first()) {
            known.insert(called.name.into(), returned.of(&function.ret));
        }
    }
    known
}

/// Whether a function may come back with an exception, whatever tells of it.
pub(super) fn may_leave(
    cx: &PackageCx<'_>,
    name: &str,
    known: &BTreeMap<Box<str>, ErrorReturn>,
) -> bool {
    let mut own = cx.definitions(name).filter(|(_, it)| may_raise(it));
    own.any(|(_, function)| {
        let returned = of_function(cx, function, &graph(function), known);
        returned.is_none_or(|returned| returned.leaves)
    })
}

/// What a function returns.
#[derive(Default)]
struct Returned {
    /// With an exception; `None` for what is not known.
    with_exception: BTreeSet<Option<i64>>,
    /// With one that something left of which nothing tells.
    with_lost: BTreeSet<Option<i64>>,
    without: BTreeSet<Option<i64>>,
    /// Whether it returns what a function that it calls gave, which told of an exception by -1.
    hands_on: bool,
    /// Whether there may be one on some path.
    leaves: bool,
    /// Whether nobody knows what it returns where a test shows one.
    is_unknown: bool,
    /// Whether there may be one of a function out of sight, but for those that gave the result.
    unseen: bool,
    /// What it stores where there is one, by parameter.
    outs: BTreeMap<usize, BTreeSet<i64>>,
}

impl Returned {
    fn both(mut self, other: Self) -> Self {
        self.with_exception.extend(other.with_exception);
        self.with_lost.extend(other.with_lost);
        self.without.extend(other.without);
        self.hands_on |= other.hands_on;
        self.leaves |= other.leaves;
        self.is_unknown |= other.is_unknown;
        self.unseen |= other.unseen;
        for (at, numbers) in other.outs {
            self.outs.entry(at).or_default().extend(numbers);
        }
        self
    }

    /// Adds what is returned as `value`.
    fn add(&mut self, value: Option<&Operand>, worlds: &Worlds, pending: &Pending<'_>) {
        let number = |world: &World| match world.known_of(value?) {
            Some(Known::Number(number)) => Some(number),
            _ => None,
        };
        if let Some(world) = &worlds.shown {
            self.with_exception.insert(number(world));
            self.is_unknown |= number(world).is_none();
        }
        let Some(world) = &worlds.clean else {
            return;
        };
        let said = value.map(|value| world.of(value)).unwrap_or_default();
        let mut unseen = world.unseen.iter();
        self.unseen |=
            unseen.any(|call| !(pending.flow.gives_pointer && said.calls.contains(&call)));
        if world.is_open(&said) {
            self.hands_on |= said.signs.is_negative();
            // What those out of sight mean by 0 or another number is a guess.
            let is_guess = said.calls.iter().any(|&call| world.unseen.contains(call));
            let exact = said.signs.exact().filter(|_| !is_guess);
            self.with_exception.extend(match exact {
                Some(numbers) => numbers.iter().copied().map(Some).collect(),
                None => vec![None],
            });
        }
        if !world.lost.is_empty() || pending.has_left_besides(world, &said) {
            self.with_lost.insert(number(world));
        }
        self.without.insert(number(world));
    }

    fn of(self, ret: &Type) -> ErrorReturn {
        let handed_on = self.hands_on.then_some(-1);
        let raised = self.with_exception.iter().copied().flatten();
        ErrorReturn {
            silent: self.is_silent(ret),
            always: self.is_always(ret),
            leaves: self.leaves,
            unsure: self.is_unsure(ret),
            outs: self.outs.clone(),
            raised: raised.chain(handed_on).collect(),
            numbers: self.numbers().filter(|_| !ret.is_void() && is_number(ret)),
        }
    }

    /// Whether the result does not tell of some exception.
    fn is_silent(&self, ret: &Type) -> bool {
        if ret.is_void() {
            return !self.with_exception.is_empty() || !self.with_lost.is_empty();
        }
        let is_told = |number: &Option<i64>| match number {
            Some(number) if is_number(ret) => {
                *number < 0 || self.with_exception.contains(&Some(*number))
            }
            Some(number) => *number == 0,
            None => false,
        };
        !self.with_lost.iter().all(is_told)
    }

    /// Whether there may be an exception of which the result does not tell for sure. What tells of
    /// some tells of all that the function has met.
    fn is_unsure(&self, ret: &Type) -> bool {
        let is_handed_on = || {
            let mut told = self.with_exception.iter();
            self.hands_on
                && !self.is_unknown
                && is_signed(ret)
                && told.all(|it| it.is_none_or(|it| it < 0))
        };
        let is_told = || ret.is_py_object_pointer() || self.numbers().is_some() || is_handed_on();
        (self.unseen || self.leaves) && !is_told()
    }

    /// Whether there is an exception on all paths.
    fn is_always(&self, ret: &Type) -> bool {
        let only_null = || self.without.iter().all(|number| *number == Some(0));
        !self.with_exception.is_empty()
            && (self.without.is_empty() || ret.is_py_object_pointer() && only_null())
    }

    /// `None` if nothing shows an exception, or what comes with one is not known, or 0 and another
    /// number come with one: then it is not the result that tells.
    fn numbers(&self) -> Option<ErrorNumbers> {
        let numbers = self.with_exception.iter().copied();
        let numbers: BTreeSet<i64> = numbers.collect::<Option<_>>()?;
        if numbers.contains(&0) && numbers.len() > 1 {
            return None;
        }
        // Where a test does not prove that there is one, the same `return` counts as both.
        let mut without = self.without.iter();
        let else_zero = without.all(|number| match number {
            Some(number) => *number == 0 || numbers.contains(number),
            None => false,
        });
        let else_zero = else_zero && !numbers.contains(&0);
        (!numbers.is_empty()).then_some(ErrorNumbers { numbers, else_zero })
    }
}

/// `None` if the function never raises, or it is not known what it does.
fn of_function(
    cx: &PackageCx<'_>,
    function: &Function,
    cfg: &Cfg,
    known: &BTreeMap<Box<str>, ErrorReturn>,
) -> Option<Returned> {
    if !may_raise(function) {
        return None;
    }
    let helpers = helpers(cx, &function.tree, known);
    let pending = Pending::new(cfg, function, helpers, false);
    let mut returned = Returned::default();
    for (id, block) in cfg.iter() {
        if let Terminator::Return(value, _) = &block.terminator {
            let index = block.instrs.len();
            let end = Point { block: id, index };
            returned.add(value.as_ref(), &pending.state(end)?, &pending);
            returned.leaves |= pending.is_left_at(end);
        }
    }
    returned.outs = outs(function, cfg, &pending, known);
    Some(returned)
}

/// The numbers that a function stores where its parameters point and an exception is pending, itself or
/// by what it calls.
///
/// ```c
/// if (value == -1 && PyErr_Occurred())
///     *err = 1;
/// ```
fn outs(
    function: &Function,
    cfg: &Cfg,
    pending: &Pending<'_>,
    known: &BTreeMap<Box<str>, ErrorReturn>,
) -> BTreeMap<usize, BTreeSet<i64>> {
    let mut outs: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
    for (id, block) in cfg.iter() {
        let mut params: FxHashMap<TempId, usize> = FxHashMap::default();
        for (index, instr) in block.instrs.iter().enumerate() {
            let param = |operand: &Operand| match operand {
                Operand::Temp(temp) => params.get(temp).copied(),
                _ => None,
            };
            match &instr.kind {
                InstrKind::Load { dst, place } => {
                    let local = place.as_local();
                    let at = function.params.iter().position(|it| Some(*it) == local);
                    params.extend(at.map(|at| (*dst, at)));
                }
                InstrKind::Store {
                    place: Place { base, path },
                    value: Operand::Int(number),
                } if path.is_empty() => {
                    let Base::Deref(pointer) = base else {
                        continue;
                    };
                    let at = Point { block: id, index };
                    let is_raised = || pending.state(at).is_some_and(|it| it.clean.is_none());
                    if let Some(param) = param(pointer).filter(|_| is_raised()) {
                        outs.entry(param).or_default().insert(*number);
                    }
                }
                InstrKind::Call {
                    callee: Callee::Named(name),
                    args,
                    ..
                } => {
                    let called = known.get(name).into_iter().flat_map(|it| &it.outs);
                    for (&at, numbers) in called {
                        if let Some(param) = args.get(at).and_then(param) {
                            outs.entry(param).or_default().extend(numbers);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    outs
}
