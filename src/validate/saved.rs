//! Exceptions that new text puts away for a lookup come back right behind it, and what is called with
//! one puts it away.
//!
//! ```c
//! exc = PyErr_GetRaisedException();
//! if (PyDict_GetItemRef(dict, key, &value) < 0) {  /* no other call, and no other way out */
//!     PyErr_WriteUnraisable(NULL);
//! }
//! PyErr_SetRaisedException(exc);
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::original::Original;
use super::proof::{graph, is_inserted};
use crate::ast::{Function, LocalId};
use crate::capi::{self, Form, REPLACEMENTS};
use crate::cfg::{Callee, Cfg, Instr, InstrKind, Operand, Source, TempId};
use crate::edit::Applied;
use crate::program::ProgramItem;

const SAVE: &str = "PyErr_GetRaisedException";
const RESTORE: &str = "PyErr_SetRaisedException";
const REPORT: &str = "PyErr_WriteUnraisable";

/// What is wrong with the exceptions of before in a function.
pub(super) fn wrong(
    original: &Original<'_>,
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
) -> Option<String> {
    lost(item, function, applied).or_else(|| unkept(original, item, function, applied))
}

/// What is wrong with the exceptions that the edits put away in a function.
fn lost(item: &ProgramItem, function: &Function, applied: &Applied) -> Option<String> {
    let is_new = |instr: &Instr| match instr.source {
        Source::Expr(id) => is_inserted(item, applied, function.tree.expr(id).range.start),
        Source::Stmt(_) => false,
    };
    let mut calls = function.tree.calls();
    if !calls.any(|(_, name)| matches!(name, SAVE | RESTORE)) {
        return None;
    }
    let holds = holds(&graph(function), is_new, false);
    (!holds).then(|| {
        format!(
            "in `{}`, a saved exception is not restored after the lookup",
            function.name
        )
    })
}

/// What is wrong with a lookup of a function that Python, or a capsule, calls while an exception may be
/// pending: it reports its own without putting that one away, and nothing ran before that could have
/// dealt with it.
fn unkept(
    original: &Original<'_>,
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
) -> Option<String> {
    let is_new = |instr: &Instr| match instr.source {
        Source::Expr(id) => is_inserted(item, applied, function.tree.expr(id).range.start),
        Source::Stmt(_) => false,
    };
    let mut calls = function.tree.calls();
    let reports = calls.any(|(_, name)| name == REPORT) && original.meets_exception(item, function);
    let is_wrong = reports && !holds(&graph(function), is_new, true);
    is_wrong.then(|| {
        format!(
            "`{}` may be called with an exception set, which a lookup does not keep",
            function.name
        )
    })
}

/// Whether on every path what was put away comes back; if the function is `entered` with an exception,
/// whether that one is put away.
fn holds(graph: &Cfg, is_new: impl Fn(&Instr) -> bool, is_entered: bool) -> bool {
    let mut entered = BTreeSet::new();
    let start = Saved {
        is_met: is_entered,
        ..Saved::default()
    };
    let mut open = vec![(Cfg::ENTRY, start)];
    while let Some((id, mut saved)) = open.pop() {
        let block = graph.block(id);
        let mut instrs = block.instrs.iter();
        if !instrs.all(|instr| saved.step(instr, is_new(instr)))
            || saved.is_away() && block.successors.is_empty()
        {
            return false;
        }
        saved.loads.clear();
        let next = block.successors.iter().map(|&next| (next, saved.clone()));
        open.extend(next.filter(|state| entered.insert(state.clone())));
    }
    true
}

/// What is known along a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Saved {
    /// The result of the call that put the exception away, until it is back.
    away: Option<TempId>,
    /// The variable that holds it.
    holder: Option<LocalId>,
    /// Whether the lookup was made.
    looked_up: bool,
    /// Whether the exception that the function was called with is pending for sure.
    is_met: bool,
    /// The temporaries of the block that hold what a variable does.
    loads: BTreeMap<TempId, LocalId>,
}

impl Saved {
    fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Whether all is well so far with one more step, which `is_new` if an edit wrote it.
    fn step(&mut self, instr: &Instr, is_new: bool) -> bool {
        match &instr.kind {
            InstrKind::Call { dst, callee, args } => {
                let name = match callee {
                    Callee::Named(name) => &**name,
                    Callee::Indirect(_) => "",
                };
                self.call(*dst, name, args, is_new)
            }
            InstrKind::Load { dst, place } => {
                self.loads
                    .extend(place.as_local().map(|local| (*dst, local)));
                true
            }
            InstrKind::Store { place, value } => {
                let is_exception = self.away.is_some_and(|away| *value == Operand::Temp(away));
                if is_exception && self.holder.is_none() {
                    self.holder = place.as_local();
                    return self.holder.is_some();
                }
                !self.is_away() || place.as_local().is_none() || place.as_local() != self.holder
            }
            InstrKind::Asm | InstrKind::ScopeEnd { .. } => !self.is_away(),
            InstrKind::Copy { .. }
            | InstrKind::Cast { .. }
            | InstrKind::Op { .. }
            | InstrKind::Declare { .. } => true,
        }
    }

    fn call(&mut self, dst: TempId, name: &str, args: &[Operand], is_new: bool) -> bool {
        match (name, is_new) {
            (REPORT, true) if !self.is_away() => !self.is_met,
            (SAVE, true) => {
                let holds = !self.is_away();
                *self = Self {
                    away: Some(dst),
                    is_met: self.is_met,
                    ..Self::default()
                };
                holds
            }
            (RESTORE, true) => {
                let holder = match args {
                    [Operand::Temp(temp)] => self.loads.get(temp).copied(),
                    _ => None,
                };
                let holds = self.looked_up && holder.is_some() && holder == self.holder;
                *self = Self {
                    is_met: self.is_met,
                    ..Self::default()
                };
                holds
            }
            _ if !self.is_away() => {
                let is_quiet = || capi::effects(name).is_some_and(|it| !it.runs_python);
                self.is_met &= is_new || !name.starts_with("PyErr_") && is_quiet();
                true
            }
            _ if is_lookup(name) && is_new => !std::mem::replace(&mut self.looked_up, true),
            (REPORT, true) => self.looked_up,
            // The macros in the arguments of a lookup.
            _ => !self.looked_up && (name == "Py_TYPE" || name.contains("_GET_")),
        }
    }
}

fn is_lookup(name: &str) -> bool {
    let is_out = |form| matches!(form, Form::Out { .. });
    let gives = [
        "PyDict_Contains",
        "PyDict_ContainsString",
        "PyList_GetItemRef",
    ];
    gives.contains(&name)
        || REPLACEMENTS
            .iter()
            .any(|row| row.strong == name && is_out(row.form))
}
