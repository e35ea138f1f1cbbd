//! Whether critical sections (and blocks that let other threads run, and `PyMutex` that are taken)
//! are closed on every path.
//!
//! ```c
//! Py_BEGIN_CRITICAL_SECTION(dict);
//! while (PyDict_Next(dict, &pos, &key, &value)) {
//!     if (check(key) < 0)
//!         return -1;                  /* left open here */
//! }
//! Py_END_CRITICAL_SECTION();
//! ```
//!
//! Each section has a record of its own, the variable `_py_cs` of the block that the macro opens,
//! so sections are told apart by it; of a mutex it is the variable that is the mutex. Compilers accept every one of the mistakes found here.

mod calls;
mod flow;
mod path;

use crate::ast::{LocalId, Tree};
use crate::cfg::{Cfg, Instr, InstrKind, Point, Terminator};
use calls::Event;
use flow::{Flow, State};

/// What tells one section from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The variable that a begin fills and the end reads.
    Record(LocalId),
    /// The mutex that is held, as it is spelled: `cache_mutex`, `state.lock`.
    Mutex(Box<str>),
}

/// What is wrong with a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is left without its end: by `return`, `goto`, `break` or `continue`.
    LeftOpen,
    /// It is ended where it is not open: jumped into, or ended twice.
    NotOpen,
    /// It begins again while it is open.
    OpenTwice,
    /// Its end is that of another kind of section, or stands outside of its block.
    WrongEnd,
}

/// One place where a section is not balanced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imbalance {
    /// What is wrong.
    pub fault: Fault,
    /// The section; `None` for an end without any.
    pub section: Option<Section>,
    /// Where it began, if it did.
    pub opened: Option<Point>,
    /// Where it goes wrong: the step that leaves, ends or begins it.
    pub at: Point,
    /// Branches taken between the two, on a shortest path: the point of each and whether its
    /// condition held.
    pub path: Vec<(Point, bool)>,
}

/// Every section of the function that some path does not close exactly once, in source order.
///
/// A section that is begun and ended under the same flag (`if (lock) Begin(…)` … `if (lock)
/// End(…)`) counts as balanced.
#[must_use]
pub fn check_balance(cfg: &Cfg, tree: &Tree) -> Vec<Imbalance> {
    let flow = Flow::new(cfg, tree);
    if !flow.has_sections() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (block, body) in cfg.iter().filter(|(block, _)| cfg.is_reachable(*block)) {
        let mut state = flow.at_start_of(block);
        for (index, instr) in body.instrs.iter().enumerate() {
            let at = Point { block, index };
            check_step(&flow, &state, at, instr, &mut found);
            flow.step(&mut state, instr);
        }
        if let Terminator::Return(..) = body.terminator {
            let index = body.instrs.len();
            let at = Point { block, index };
            for section in state.open.clone() {
                report(&flow, Fault::LeftOpen, Some(section), at, &mut found);
            }
        }
    }
    // `break` out of a section that a wrong end left open would be said twice.
    found.dedup_by(|b, a| a.section == b.section && a.fault == b.fault && a.at == b.at);
    found
}

fn check_step(
    flow: &Flow<'_>,
    state: &State,
    at: Point,
    instr: &Instr,
    found: &mut Vec<Imbalance>,
) {
    if let InstrKind::ScopeEnd { locals } = &instr.kind {
        let records = locals.iter().map(|local| Section::Record(*local));
        for record in records.filter(|record| state.open.contains(record)) {
            report(flow, Fault::LeftOpen, Some(record), at, found);
        }
        return;
    }
    let (fault, section) = match flow.event(instr) {
        Some(Event::Begin(section)) if state.open.contains(&section) => {
            (Fault::OpenTwice, Some(section))
        }
        Some(Event::End(section)) if state.closed.contains(&section) => {
            (Fault::NotOpen, Some(section))
        }
        Some(Event::StrayEnd) => (Fault::WrongEnd, None),
        _ => return,
    };
    report(flow, fault, section, at, found);
}

fn report(
    flow: &Flow<'_>,
    fault: Fault,
    section: Option<Section>,
    at: Point,
    found: &mut Vec<Imbalance>,
) {
    let opened = section.as_ref().and_then(|section| flow.begin_of(section));
    // What leads to an end that ends nothing is how the section was *not* entered: no path.
    let from = opened.filter(|_| fault != Fault::NotOpen);
    let path = from.map_or_else(Vec::new, |from| {
        let ends = |block| section.as_ref().is_some_and(|own| flow.ends(block, own));
        path::branches(flow.cfg(), from, at, &ends)
    });
    found.push(Imbalance {
        fault,
        section,
        opened,
        at,
        path,
    });
}

#[cfg(test)]
mod tests;
