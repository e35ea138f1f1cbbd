//! The numbers with which functions of the package tell of an exception, as their bodies show.
//!
//! ```c
//! if (PyLong_Check(o) == 0) {
//!     PyErr_SetString(PyExc_TypeError, "no number");
//!     return 1;                                  /* 1 tells of it, if others return 0 */
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::pending::Pending;
use super::raising::{helpers, may_raise};
use super::types::is_number;
use super::worlds::Known;
use crate::ast::Function;
use crate::cfg::{Cfg, Point, Terminator};
use crate::ownership::summary::callees_first;
use crate::rule::{ErrorNumbers, PackageCx};

/// Those of the functions that functions with calls of `names` call, and of their callees.
pub(super) fn error_numbers(
    cx: &PackageCx<'_>,
    names: &[&str],
) -> BTreeMap<Box<str>, ErrorNumbers> {
    let mut known = BTreeMap::new();
    for called in callees_first(cx.program, names) {
        let variants = called.variants.iter();
        let found = variants
            .map(|(function, cfg)| of_function(cx, function, cfg, &known))
            .reduce(|one, other| one?.both(other?));
        if let Some(numbers) = found.flatten().and_then(Returned::errors) {
            known.insert(called.name.into(), numbers);
        }
    }
    known
}

/// What a function returns.
#[derive(Default)]
struct Returned {
    with_exception: BTreeSet<i64>,
    /// `None` for what is not known.
    without: BTreeSet<Option<i64>>,
}

impl Returned {
    fn both(mut self, other: Self) -> Option<Self> {
        self.with_exception.extend(other.with_exception);
        self.without.extend(other.without);
        Some(self)
    }

    /// `None` if nothing shows an exception, or 0 and another number come with one: then it is not
    /// the result that tells.
    fn errors(self) -> Option<ErrorNumbers> {
        let numbers = self.with_exception;
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

/// `None` if some result that comes with an exception is not known.
fn of_function(
    cx: &PackageCx<'_>,
    function: &Function,
    cfg: &Cfg,
    known: &BTreeMap<Box<str>, ErrorNumbers>,
) -> Option<Returned> {
    if function.ret.is_void() || !is_number(&function.ret) || !may_raise(function) {
        return None;
    }
    let helpers = helpers(cx, &function.tree, known);
    let pending = Pending::new(cfg, &function.tree, helpers, false);
    let mut returned = Returned::default();
    for (id, block) in cfg.iter() {
        let Terminator::Return(Some(value), _) = &block.terminator else {
            continue;
        };
        let index = block.instrs.len();
        let worlds = pending.state(Point { block: id, index })?;
        if let Some(world) = worlds.shown {
            let Some(Known::Number(number)) = world.known_of(value) else {
                return None;
            };
            returned.with_exception.insert(number);
        }
        if let Some(world) = worlds.clean {
            let said = world.of(value);
            if world.is_open(&said) {
                returned.with_exception.extend(said.signs.exact()?);
            }
            returned.without.insert(match world.known_of(value) {
                Some(Known::Number(number)) => Some(number),
                _ => None,
            });
        }
    }
    Some(returned)
}
