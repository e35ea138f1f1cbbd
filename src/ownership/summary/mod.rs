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

mod function;
mod order;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::track::{Callees, Keeps, KnownCallees};
use crate::ast::Function;
use crate::capi::{self, REPLACEMENTS, StealWhen};
use crate::cfg::{self, Cfg};
use crate::program::Program;

/// What becomes of an argument by the time the function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Param {
    /// It is used, and no more; what is stored of it has a reference of its own.
    #[default]
    Used,
    /// The function keeps it, or releases it, and takes no reference of its own.
    Taken(StealWhen),
    /// A pointer into it is stored.
    Inside,
    /// It depends on the path, or cannot be told.
    Unsure,
}

/// What one function does. What no path does is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    /// By position.
    pub(crate) params: Vec<Param>,
    /// Positions of the parameters that the result may be, or point into.
    pub(crate) result_of: Vec<usize>,
}

/// Summaries of the functions that others call, by name: of namesakes in several files, and of
/// variants in several configurations, what any of them does.
#[derive(Debug, Default)]
pub struct Summaries {
    functions: BTreeMap<Box<str>, Summary>,
}

/// Most times that functions which call each other are followed.
const MAX_ROUNDS: usize = 4;

impl Summaries {
    /// Sums up the functions that those with a borrowed reference call, and their callees.
    #[must_use]
    pub fn of_helpers(program: &Program<'_>) -> Self {
        let names: Vec<&str> = REPLACEMENTS.iter().map(|row| row.borrowed).collect();
        Self::new(program, &names)
    }

    /// Sums up the functions that those with a call of `names` call, and their callees.
    #[must_use]
    pub fn new(program: &Program<'_>, names: &[&str]) -> Self {
        let graphs = order::callees_first(program, names);
        let mut summaries = Self::default();
        for (name, variants) in &graphs {
            summaries.refine(name, variants);
        }
        let mut rounds = 0;
        let changed = |summaries: &mut Self| {
            let mut any = false;
            for (name, variants) in &graphs {
                any |= summaries.refine(name, variants);
            }
            any
        };
        while changed(&mut summaries) {
            rounds += 1;
            if rounds == MAX_ROUNDS {
                summaries.give_up();
                break;
            }
        }
        summaries
    }

    /// Follows the variants of a function once; whether anything new was learnt.
    fn refine(&mut self, name: &str, variants: &[(&Function, Cfg)]) -> bool {
        let found = variants
            .iter()
            .map(|(function, graph)| function::sum_up(function, graph, self));
        let found = found.reduce(Summary::join).unwrap_or_default();
        let known = self.functions.get(name);
        let found = match known {
            Some(known) => known.clone().join(found),
            None => found,
        };
        let changed = known != Some(&found);
        self.functions.insert(name.into(), found);
        changed
    }

    /// Nothing is certain of functions whose calls of each other do not settle.
    fn give_up(&mut self) {
        for summary in self.functions.values_mut() {
            let params = summary.params.len();
            summary.params = vec![Param::Unsure; params];
            summary.result_of = (0..params).collect();
        }
    }

    /// What the function of the package does; `None` if its code was not looked at.
    pub(crate) fn of(&self, name: &str) -> Option<&Summary> {
        self.functions.get(name)
    }
}

impl Summary {
    /// What either of two does.
    fn join(mut self, other: Self) -> Self {
        let length = self.params.len().max(other.params.len());
        self.params.resize(length, Param::Used);
        for (at, &param) in other.params.iter().enumerate() {
            if self.params[at] != param {
                self.params[at] = Param::Unsure;
            }
        }
        self.result_of.extend(other.result_of);
        self.result_of.sort_unstable();
        self.result_of.dedup();
        self
    }

    /// What becomes of argument `arg`; those behind `...` are used.
    pub(crate) fn param(&self, arg: usize) -> Param {
        self.params.get(arg).copied().unwrap_or_default()
    }
}

impl Callees for Summaries {
    fn steals(&self, name: &str, arg: usize) -> Option<StealWhen> {
        let Some(summary) = self.of(name) else {
            return KnownCallees.steals(name, arg);
        };
        match summary.param(arg) {
            Param::Taken(when) => Some(when),
            Param::Used | Param::Inside | Param::Unsure => None,
        }
    }

    fn derived_from(&self, name: &str) -> Option<usize> {
        KnownCallees.derived_from(name)
    }

    fn fills(&self, name: &str, arg: usize) -> bool {
        KnownCallees.fills(name, arg)
    }

    fn points_into(&self, name: &str, arg: usize) -> bool {
        KnownCallees.points_into(name, arg)
    }

    fn may_derive(&self, name: &str, arg: usize) -> bool {
        match self.of(name) {
            Some(summary) => summary.result_of.contains(&arg),
            None => KnownCallees.may_derive(name, arg),
        }
    }

    fn keeps(&self, name: &str, arg: usize) -> Option<Keeps> {
        match self.of(name)?.param(arg) {
            Param::Used => None,
            Param::Taken(_) => Some(Keeps::Reference),
            Param::Inside => Some(Keeps::Inside),
            Param::Unsure => Some(Keeps::Unsure),
        }
    }
}

fn graph(function: &Function) -> Cfg {
    cfg::build(function, &capi::never_returns)
}
