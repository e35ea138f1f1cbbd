//! Whether critical sections (and blocks that let other threads run) are closed on every path.
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
//! so sections are told apart by it. Compilers accept every one of the mistakes found here.

mod calls;
mod flow;
mod path;

use crate::ast::{LocalId, Tree};
use crate::cfg::{Cfg, Instr, InstrKind, Point, Terminator};
use calls::Event;
use flow::{Flow, State};

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
    /// The section's record; `None` for an end without any.
    pub record: Option<LocalId>,
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
            for record in state.open.clone() {
                report(&flow, Fault::LeftOpen, Some(record), at, &mut found);
            }
        }
    }
    // `break` out of a section that a wrong end left open would be said twice.
    found.dedup_by(|b, a| a.record == b.record && a.fault == b.fault && a.at == b.at);
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
        for record in locals.iter().filter(|local| state.open.contains(local)) {
            report(flow, Fault::LeftOpen, Some(*record), at, found);
        }
        return;
    }
    let (fault, record) = match flow.event(instr) {
        Some(Event::Begin(record)) if state.open.contains(&record) => {
            (Fault::OpenTwice, Some(record))
        }
        Some(Event::End(record)) if state.closed.contains(&record) => {
            (Fault::NotOpen, Some(record))
        }
        Some(Event::StrayEnd) => (Fault::WrongEnd, None),
        _ => return,
    };
    report(flow, fault, record, at, found);
}

fn report(
    flow: &Flow<'_>,
    fault: Fault,
    record: Option<LocalId>,
    at: Point,
    found: &mut Vec<Imbalance>,
) {
    let opened = record.and_then(|record| flow.begin_of(record));
    // What leads to an end that ends nothing is how the section was *not* entered: no path.
    let from = opened.filter(|_| fault != Fault::NotOpen);
    let path = from.map_or_else(Vec::new, |from| {
        let ends = |block| flow.ends(block, record);
        path::branches(flow.cfg(), from, at, &ends)
    });
    found.push(Imbalance {
        fault,
        record,
        opened,
        at,
        path,
    });
}

#[cfg(test)]
mod tests;
