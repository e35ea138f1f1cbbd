//! What the functions of the package do with the references they are given.
//!
//! A function is summed up by following its parameters along every path. Callees come first, and
//! functions that call each other are followed again until nothing new is learnt.
//!
//! ```c
//! static int keep(Foo *self, PyObject *v) { self->v = v; return 0; }      /* keeps argument 1 */
//! static PyObject *first(PyObject *v) { return PyTuple_GET_ITEM(v, 0); }  /* points into it */
//! static int drop(PyObject *v) { Py_DECREF(v); return 0; }                /* takes it over */
//! ```

mod capsules;
mod function;
mod order;
mod outs;
#[cfg(test)]
mod tests;
mod unions;

use std::collections::{BTreeMap, BTreeSet};

use capsules::Capsules;
pub(crate) use order::callees_first;
use order::{Called, lenders};
pub(crate) use outs::Outs;
use unions::Unions;

use super::track::{Callees, Keeps, KnownCallees};
use crate::ast::{ExprId, Function, Tree, Type, TypeKind};
use crate::calls::{Count, Package};
use crate::capi::{self, REPLACEMENTS, Returns, StealWhen};
use crate::cfg::{self, Cfg};
use crate::facts::{Functions, Reference, Stated};
use crate::program::{Program, Types};

/// What becomes of an argument by the time the function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Param {
    /// It is used, and no more; what is stored of it has a reference of its own.
    #[default]
    Used,
    /// The function keeps it, or releases it, and takes no reference of its own.
    Taken(StealWhen),
    /// A reference to it is released on some paths, and none is kept: `remove(set, v)`.
    Released,
    /// It is stored on some paths where this parameter points, without a reference:
    /// `static int find(PyObject *v, Type **out) { … *out = (Type *)v; …`.
    At(usize),
    /// A pointer into it is stored.
    Inside,
    /// A pointer into it is stored, but only through other arguments: `*end = text + 1;`.
    Through(Outs),
    /// It depends on the path, or cannot be told.
    Unsure,
}

/// What one function does. What no path does is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    /// By position.
    pub(crate) params: Vec<Param>,
    /// What becomes of those behind `...`, or in a `va_list`.
    pub(crate) rest: Param,
    /// Positions of the parameters whose count of references matters.
    pub(crate) counted: BTreeSet<usize>,
    /// Positions of the parameters that the result may be, or point into.
    pub(crate) result_of: Vec<usize>,
    /// Whether the result is a plain pointer: no object that may be one of its own.
    pub(crate) gives_pointer: bool,
    /// Positions of the parameters that pointers are read through which are stored elsewhere.
    pub(crate) contents_of: BTreeSet<usize>,
}

/// Summaries of the functions that others call, by name: of namesakes in several files, and of
/// variants in several configurations, what any of them does.
#[derive(Debug, Default)]
pub struct Summaries {
    functions: BTreeMap<Box<str>, Summary>,
    /// Functions that nothing is known of so far, as they call each other: they are taken to do
    /// nothing until they are seen to.
    awaited: BTreeSet<Box<str>>,
    /// What the project says, which wins.
    facts: Functions,
    /// Names of types that have no pointers in them.
    plain: BTreeSet<Box<str>>,
    /// Dimensions of fields that are arrays, by name.
    dimensions: BTreeMap<Box<str>, usize>,
    unions: Unions,
    capsules: Capsules,
}

/// More parameters than a function has.
const MAX_PARAMS: usize = 32;

/// Most times that functions which call each other are followed.
const MAX_ROUNDS: usize = 4;

impl Summaries {
    /// Sums up the functions that those with a borrowed reference call, be it one that a function of
    /// the package hands on, and their callees.
    #[must_use]
    pub fn of_helpers(program: &Program<'_>) -> Self {
        let borrowed: Vec<&str> = REPLACEMENTS.iter().map(|row| row.borrowed).collect();
        let handed_on = lenders(program, &borrowed);
        let names = borrowed.iter().copied().chain(handed_on);
        let names: Vec<&str> = names.chain(["PyDict_Next"]).collect();
        Self::new(program, &names)
    }

    /// Sums up the functions that those with a call of `names` call, and their callees.
    #[must_use]
    pub fn new(program: &Program<'_>, names: &[&str]) -> Self {
        let called = callees_first(program, names);
        let types = Types::new(program);
        let mut summaries = Self {
            functions: broken(program),
            awaited: called.iter().map(|function| function.name.into()).collect(),
            facts: program.facts.clone(),
            plain: types.plain_structs().map(Into::into).collect(),
            dimensions: types.field_dimensions(),
            unions: Unions::new(program),
            capsules: Capsules::new(program),
        };
        let mut stale = vec![true; called.len()];
        for _ in 0..=MAX_ROUNDS {
            for (at, function) in called.iter().enumerate() {
                let is_stale = std::mem::take(&mut stale[at]);
                if is_stale && summaries.refine(function.name, &function.variants, &types) {
                    for &caller in &function.callers {
                        stale[caller] = true;
                    }
                }
            }
            if !stale.contains(&true) {
                return summaries;
            }
        }
        summaries.give_up(&called, stale);
        summaries
    }

    /// Follows the variants of a function once; whether anything new was learnt.
    fn refine(&mut self, name: &str, variants: &[(&Function, Cfg)], types: &Types<'_>) -> bool {
        let found = variants
            .iter()
            .map(|(function, graph)| function::sum_up(function, graph, self, types));
        let found = found.reduce(Summary::join).unwrap_or_default();
        let known = self.functions.get(name);
        let mut found = match known {
            Some(known) => known.clone().join(found),
            None => found,
        };
        if let Some(stated) = self.facts.of(name) {
            found.correct(stated);
        }
        let changed = known != Some(&found);
        self.functions.insert(name.into(), found);
        changed
    }

    /// Nothing is certain of functions whose calls of each other do not settle, and of who calls
    /// them.
    fn give_up(&mut self, called: &[Called<'_>], unsettled: Vec<bool>) {
        let first = (0..called.len()).filter(|&at| unsettled[at]);
        let mut waiting: Vec<usize> = first.collect();
        let mut seen = BTreeSet::new();
        while let Some(at) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            waiting.extend(&called[at].callers);
            let name = called[at].name;
            let Some(summary) = self.functions.get_mut(name) else {
                continue;
            };
            *summary = Summary {
                gives_pointer: summary.gives_pointer,
                ..Summary::unknown(summary.params.len())
            };
            if let Some(stated) = self.facts.of(name) {
                summary.correct(stated);
            }
        }
    }

    /// Whether anything is known of the function beside what the C API says.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.functions.contains_key(name) || self.facts.of(name).is_some()
    }

    /// Whether argument `arg` of a function of the package has a parameter of its own.
    pub(crate) fn names(&self, name: &str, arg: usize) -> bool {
        let summary = self.functions.get(name);
        summary.is_some_and(|summary| arg < summary.params.len())
    }

    /// Whether the function may take over what it gets in a `va_list`; `None` if it is not known.
    fn consumes_list(&self, name: &str) -> Option<bool> {
        let summary = self.functions.get(name);
        match summary {
            Some(summary) => Some(summary.rest != Param::Used),
            None => self.awaited.contains(name).then_some(false),
        }
    }

    /// What becomes of argument `arg`; `None` if nobody says so and the function's code was not
    /// looked at.
    pub(crate) fn param(&self, name: &str, arg: usize) -> Option<Param> {
        if let Some(summary) = self.functions.get(name) {
            return Some(summary.param(arg));
        }
        let stolen = self.facts.of(name)?.steals.as_ref()?;
        Some(match stolen.contains(&arg) {
            true => Param::Taken(StealWhen::Always),
            false => Param::Used,
        })
    }

    /// Positions of the parameters that the result may be, or point into; `None` as for
    /// [`Self::param`].
    pub(crate) fn result_of(&self, name: &str) -> Option<&[usize]> {
        match self.functions.get(name) {
            Some(summary) => Some(&summary.result_of),
            None if self.awaited.contains(name) => Some(&[]),
            None => (self.facts.returns(name)? == Reference::New).then_some(&[]),
        }
    }

    /// What a call of `name` evaluates to.
    pub(crate) fn returns(&self, name: &str) -> Option<Returns> {
        match self.facts.returns(name) {
            Some(Reference::New) => Some(Returns::New),
            Some(Reference::Borrowed) => Some(Returns::Borrowed),
            None => capi::effects(name).map(|effects| effects.returns),
        }
    }
}

impl Param {
    /// What either of two does.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Through(outs), Self::Used) | (Self::Used, Self::Through(outs)) => {
                Self::Through(outs)
            }
            (Self::Through(outs), Self::Through(others)) => Self::Through(outs.with(others)),
            _ if self == other => self,
            (Self::Used, Self::Released) | (Self::Released, Self::Used) => Self::Released,
            _ => Self::Unsure,
        }
    }
}

impl Summary {
    /// That of a function with so many parameters that may do anything with them.
    fn unknown(params: usize) -> Self {
        Self {
            params: vec![Param::Unsure; params],
            rest: Param::Unsure,
            counted: (0..params).collect(),
            result_of: (0..params).collect(),
            gives_pointer: false,
            contents_of: (0..params).collect(),
        }
    }

    /// What either of two does.
    fn join(mut self, other: Self) -> Self {
        let length = self.params.len().max(other.params.len());
        self.params.resize(length, Param::Used);
        for (at, &param) in other.params.iter().enumerate() {
            self.params[at] = self.params[at].join(param);
        }
        self.rest = self.rest.join(other.rest);
        self.counted.extend(other.counted);
        self.result_of.extend(other.result_of);
        self.result_of.sort_unstable();
        self.result_of.dedup();
        self.gives_pointer |= other.gives_pointer;
        self.contents_of.extend(other.contents_of);
        self
    }

    /// Makes it what the project says.
    fn correct(&mut self, stated: &Stated) {
        if let Some(stolen) = &stated.steals {
            let length = stolen.last().map_or(0, |last| last + 1);
            self.params
                .resize(length.max(self.params.len()), Param::Used);
            for (at, param) in self.params.iter_mut().enumerate() {
                if stolen.contains(&at) {
                    *param = Param::Taken(StealWhen::Always);
                } else if !matches!(param, Param::Inside | Param::Through(_)) {
                    *param = Param::Used;
                }
            }
            self.rest = Param::Used;
        }
        if stated.returns == Some(Reference::New) {
            self.result_of.clear();
        }
    }

    /// What becomes of argument `arg`.
    fn param(&self, arg: usize) -> Param {
        self.params.get(arg).copied().unwrap_or(self.rest)
    }
}

impl Package for Summaries {
    fn consumes(&self, name: &str, arg: usize) -> Option<Count> {
        Some(match self.param(name, arg)? {
            Param::Taken(when) => Count::Consumed(when),
            Param::Released | Param::At(_) | Param::Unsure => Count::Unknown,
            Param::Used | Param::Inside | Param::Through(_) => Count::Unchanged,
        })
    }

    fn counts_references(&self, name: &str, arg: usize) -> bool {
        let summary = self.functions.get(name);
        summary.is_some_and(|summary| summary.counted.contains(&arg))
    }
}

impl Callees for Summaries {
    fn derived_from(&self, name: &str) -> Option<usize> {
        match self.facts.returns(name) {
            Some(Reference::New) => None,
            Some(Reference::Borrowed) | None => KnownCallees.derived_from(name),
        }
    }

    fn fills(&self, name: &str, arg: usize) -> bool {
        KnownCallees.fills(name, arg)
    }

    fn may_derive(&self, name: &str, arg: usize) -> bool {
        match self.result_of(name) {
            Some(params) => params.contains(&arg),
            None => KnownCallees.may_derive(name, arg),
        }
    }

    fn gives_pointer(&self, name: &str) -> bool {
        let summary = self.functions.get(name);
        summary.is_some_and(|summary| summary.gives_pointer)
    }

    fn dimensions(&self, field: &str) -> Option<usize> {
        self.dimensions.get(field).copied()
    }

    fn share_memory(&self, field: &str, other: &str) -> bool {
        self.unions.have_both(field, other)
    }

    fn stores(&self, name: &str, arg: usize, out: usize) -> bool {
        match self.param(name, arg) {
            Some(Param::Through(outs)) => outs.contains(out),
            Some(Param::At(at)) => at == out,
            _ => false,
        }
    }

    fn keeps(&self, name: &str, arg: usize) -> Option<Keeps> {
        let Some(param) = self.param(name, arg) else {
            return KnownCallees.keeps(name, arg);
        };
        match param {
            Param::Used | Param::Through(_) => None,
            Param::Taken(_) => Some(Keeps::Reference),
            Param::Inside => Some(Keeps::Inside),
            Param::Unsure => Some(Keeps::Unsure),
            Param::Released => Some(Keeps::Less),
            Param::At(out) => Some(Keeps::At(out)),
        }
    }

    fn keeps_contents(&self, name: &str, arg: usize) -> bool {
        let summary = self.functions.get(name);
        summary.is_some_and(|summary| summary.contents_of.contains(&arg))
    }

    fn is_known(&self, name: &str) -> bool {
        self.functions.contains_key(name) || KnownCallees.is_known(name)
    }

    fn outlives_arguments(&self, tree: &Tree, call: ExprId) -> bool {
        self.capsules.is_opened_by(tree, call)
    }

    fn is_plain(&self, ty: &Type) -> bool {
        match &ty.kind {
            TypeKind::Named(name) => self.plain.contains(&**name),
            TypeKind::Struct(Some(tag)) => self.plain.contains(&*format!("struct {tag}")),
            _ => false,
        }
    }
}

/// The functions that were not understood in some variant: they may do anything.
fn broken(program: &Program<'_>) -> BTreeMap<Box<str>, Summary> {
    let names = program
        .gaps
        .iter()
        .filter_map(|gap| gap.function.as_deref());
    let unknown = |name: &str| {
        let mut summary = Summary::unknown(MAX_PARAMS);
        if let Some(stated) = program.facts.of(name) {
            summary.correct(stated);
        }
        (name.into(), summary)
    };
    names.map(unknown).collect()
}

fn graph(function: &Function) -> Cfg {
    cfg::build(function, &capi::never_returns)
}
