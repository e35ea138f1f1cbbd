//! What is not shown to be the function's own: a proof in the other direction.
//!
//! The analysis of `body.rs` looks for memory that threads may share. This one only lets pass what a
//! short argument shows to be private, whatever the rest of the package does:
//!
//! ```c
//! char *out = PyMem_Malloc(n);             /* made here, and nobody got it so far */
//! out[0] = 'x';                            /* its own */
//! self->count++;                           /* not its own */
//! lib_run(out);                            /* nothing is known of the function */
//! ```
//!
//! A pointer is the function's own if all that it may hold is the address of a variable on the
//! stack, memory that a call made, or what all callers have for themselves; and if no path leads from
//! where others get it to where it is written. What is stored in memory of its own is followed, and what
//! is read from other memory is not its own.

mod code;
mod contents;
mod escape;
mod flow;
mod makers;
mod order;
mod origin;
mod steps;
mod touches;

use std::collections::BTreeSet;
use std::ops::BitOrAssign;

use rustc_hash::FxHashMap;

use super::walk::Walk;
use crate::ast::Type;
use crate::capi::{self, writes};
use crate::cfg::TempId;
use crate::roles::is_table;
use crate::rule::ItemId;
use code::{Code, Frame};
use escape::Escapes;
pub use makers::Makers;
pub(super) use origin::Foreign;
use origin::{Origin, Origins, Result, Root};
use touches::Touch;

/// What is known of the functions that run after import.
pub(super) struct Plain<'w, 'c, 'a> {
    walk: &'w Walk<'c, 'a>,
    /// Whose the parameters of functions may be, as far as calls were looked at.
    given: FxHashMap<ItemId, Vec<Given>>,
    /// What they do.
    results: FxHashMap<ItemId, Summary>,
}

/// Whose an argument is, and what can be reached from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::writes) struct Given {
    pub(in crate::writes) memory: Foreign,
    pub(in crate::writes) within: Foreign,
}

impl Given {
    pub(in crate::writes) const KEPT: Self = Self {
        memory: Foreign::KEPT,
        within: Foreign::KEPT,
    };
}

impl BitOrAssign for Given {
    fn bitor_assign(&mut self, other: Self) {
        self.memory |= other.memory;
        self.within |= other.within;
    }
}

/// What a function does, as far as its callers see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Summary {
    result: Result,
    /// What there is in memory that it makes.
    inside: Result,
    /// What it stores in memory of its callers.
    stores: Result,
    /// Whether it stores bytes, of which addresses may be put together, where those lead to.
    bytes_within: bool,
    /// The parameters behind which it does, a bit for each.
    stored: u32,
    /// The parameters that others may have after a call, a bit for each.
    escapes: u32,
    /// The parameters from which can be reached what others may have then, a bit for each.
    escapes_within: u32,
    touch: Touch,
}

impl BitOrAssign for Summary {
    fn bitor_assign(&mut self, other: Self) {
        self.result |= other.result;
        self.inside |= other.inside;
        self.stores |= other.stores;
        self.bytes_within |= other.bytes_within;
        self.stored |= other.stored;
        self.escapes |= other.escapes;
        self.escapes_within |= other.escapes_within;
        self.touch |= other.touch;
    }
}

impl Summary {
    const UNKNOWN: Self = Self {
        result: Result::UNKNOWN,
        inside: Result::UNKNOWN,
        stores: Result::UNKNOWN,
        bytes_within: true,
        stored: u32::MAX,
        escapes: u32::MAX,
        escapes_within: u32::MAX,
        touch: Touch::NONE,
    };

    /// Whether it stores something behind parameter `at`.
    fn stored_into(&self, at: usize) -> bool {
        has(self.stored, at)
    }

    fn lets_out(&self, at: usize) -> bool {
        has(self.escapes, at)
    }

    fn lets_out_within(&self, at: usize) -> bool {
        has(self.escapes_within, at)
    }
}

/// The bit of parameter `at`; there are 32.
const fn bit(at: usize) -> u32 {
    if at < 32 { 1 << at } else { 0 }
}

/// Whether the bit of parameter `at` is set; one that has none counts as set.
const fn has(bits: u32, at: usize) -> bool {
    at >= 32 || bits & (1 << at) != 0
}

/// What was found of one function.
type Solved = (Origins, Escapes);

impl<'w, 'c, 'a> Plain<'w, 'c, 'a> {
    /// Looks at all functions that were met, until nothing new is found of their parameters and
    /// results.
    pub(super) fn check(walk: &'w Walk<'c, 'a>) -> Vec<(ItemId, super::Left)> {
        let items: BTreeSet<ItemId> = walk.contexts.keys().copied().collect();
        let functions = items
            .iter()
            .filter_map(|&item| Some((item, walk.cx.function(item)?)));
        let codes: Vec<Code<'a>> = functions
            .map(|(item, function)| Code::new(walk, item, function))
            .collect();
        let given = |code: &Code<'a>| {
            let mut params = walk.entry_parameters(code.item, code.function);
            for (known, &param) in params.iter_mut().zip(&code.function.params) {
                let ty = &code.function.tree.local(param).ty;
                if walk.types.pointee(ty).and_then(Type::name) == Some("PyTypeObject") {
                    known.memory |= Foreign::SELF;
                }
            }
            (code.item, params)
        };
        let mut plain = Self {
            walk,
            given: codes.iter().map(given).collect(),
            results: FxHashMap::default(),
        };
        let solved = plain.solve(&codes);
        let functions = codes.iter().zip(&solved);
        functions
            .flat_map(|(code, (origins, escapes))| {
                steps::unproven(plain.frame(code), (origins, escapes))
            })
            .collect()
    }

    fn frame<'p>(&'p self, code: &'p Code<'a>) -> Frame<'p, 'w, 'c, 'a> {
        Frame { plain: self, code }
    }

    /// Looks at functions again until nothing new is found of what they get and give.
    fn solve(&mut self, codes: &[Code<'a>]) -> Vec<Solved> {
        let numbers: FxHashMap<ItemId, usize> = codes
            .iter()
            .enumerate()
            .map(|(at, code)| (code.item, at))
            .collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); codes.len()];
        for (at, code) in codes.iter().enumerate() {
            let callees = code.callees().into_iter();
            for callee in callees.filter_map(|item| numbers.get(&item)) {
                callers[*callee].push(at);
            }
        }
        let mut solved: Vec<Option<Solved>> = codes.iter().map(|_| None).collect();
        let mut open: BTreeSet<usize> = (0..codes.len()).collect();
        while let Some(at) = open.pop_first() {
            let (item, frame) = (codes[at].item, self.frame(&codes[at]));
            let (origins, escapes) = frame.solved();
            let summary = Summary {
                touch: touches::of(frame, (&origins, &escapes)),
                ..frame.summary(&origins, &escapes)
            };
            let given = steps::given(frame, (&origins, &escapes));
            solved[at] = Some((origins, escapes));
            // What was found of it stays, so that this comes to an end.
            let known = self.results.entry(item).or_default();
            let before = *known;
            *known |= summary;
            if *known != before {
                open.extend(&callers[at]);
            }
            for (item, number, arg) in given {
                let known = self.given.get_mut(&item);
                if let Some(known) = known.and_then(|known| known.get_mut(number)) {
                    let before = *known;
                    *known |= arg;
                    if *known != before {
                        open.extend(numbers.get(&item));
                    }
                }
            }
        }
        let solved = solved.into_iter();
        solved.map(|it| it.expect("each was open once")).collect()
    }

    /// What parameter `at` of a function may point into.
    fn param(&self, item: ItemId, at: usize) -> Origin {
        Origin {
            foreign: self.given(item, at).memory,
            ..Origin::of(Root::Param(at))
        }
    }

    /// What can be reached from there.
    fn within(&self, item: ItemId, at: usize) -> Origin {
        Origin {
            foreign: self.given(item, at).within,
            ..Origin::of(Root::Within(at))
        }
    }

    fn given(&self, item: ItemId, at: usize) -> Given {
        let params = self.given.get(&item);
        params
            .and_then(|params| params.get(at))
            .copied()
            .unwrap_or(Given::KEPT)
    }

    /// What a function does: nothing so far, if it is still to be looked at.
    fn does(&self, item: ItemId) -> Summary {
        match self.results.get(&item) {
            Some(summary) => *summary,
            None if self.given.contains_key(&item) => Summary::default(),
            None => Summary::UNKNOWN,
        }
    }

    /// Whether a call gives nothing but what it made, and so something else each time.
    fn only_makes(&self, code: &Code<'a>, dst: TempId) -> bool {
        let name = code.call(dst).and_then(|instr| Some(instr.named_call()?.0));
        let mut own = name.map_or(&[][..], |name| code.own(name)).iter();
        own.all(|&item| {
            let result = self.does(item).result;
            result.params | result.within == 0
        })
    }

    /// What a function does with objects that the package keeps.
    fn touch(&self, item: ItemId) -> Touch {
        let summary = self.results.get(&item);
        summary.map_or_else(Touch::default, |it| it.touch)
    }

    /// How many parameters a function has by name.
    fn parameters(&self, item: ItemId) -> usize {
        let function = self.walk.cx.function(item);
        function.map_or(0, |function| function.params.len())
    }

    /// Whether a name of file scope is a type.
    fn is_type(&self, name: &str) -> bool {
        let ty = self.walk.variable_type(name);
        ty.and_then(Type::name) == Some("PyTypeObject")
    }

    /// Whether a name that no file declares is one of Python or the C library: `Py_None`, `PyList_Type`, `free`.
    fn is_named_by_python(&self, name: &str) -> bool {
        let is_known = || !capi::is_unknown(name) || writes(name).is_some();
        let is_python = || name.starts_with("Py") || name.starts_with("_Py");
        self.walk.is_function(name)
            || self.walk.variable_type(name).is_none() && (is_python() || is_known())
    }

    /// Whether a name that no file declares is written as constants are: `SEEK_SET`.
    fn is_macro(&self, name: &str) -> bool {
        let is_declared = self.walk.variable_type(name).is_some();
        !is_declared && !name.contains(|c: char| c.is_ascii_lowercase())
    }

    /// Whether a name of file scope is a function, a table that Python reads, or cannot be written.
    fn is_constant(&self, name: &str) -> bool {
        match self.walk.variable_type(name) {
            Some(ty) => ty.is_const || ty.name().is_some_and(is_table),
            None => self.is_named_by_python(name) || self.is_macro(name),
        }
    }
}
