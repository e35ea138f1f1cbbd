//! Sections that hold a list still while its items are read: each read finds the list as the test of
//! its index did, and nothing that it lends is used once others may change the list.
//!
//! ```c
//! Py_BEGIN_CRITICAL_SECTION(list);
//! for (i = 0; i < PyList_GET_SIZE(list); i++) {
//!     item = PyList_GET_ITEM(list, i);
//!     PyList_Append(seen, item);      /* may wait, and let others change `list` meanwhile */
//!     if (PyUnicode_Check(item))      /* freed by then */
//!         n++;
//! }
//! Py_END_CRITICAL_SECTION();
//! ```

mod flow;
mod state;

use super::Failure;
use super::changed::Changed;
use super::proof::{beside, calls, graph};
use crate::ast::{ExprId, ExprKind, Function, LocalId, StmtKind, TokenRange};
use crate::capi::{self, LIST_SIZES, UNCHECKED_ITEMS};
use crate::cfg::{Cfg, InstrKind, Point, Terminator, reaches};
use crate::dataflow;
use crate::program::Types;
use crate::source::{ByteOffset, ByteSpan};
use flow::Flow;

/// A section that came in.
struct Section {
    begin: ExprId,
    /// Where it begins in the result.
    place: ByteOffset,
    list: LocalId,
    /// The block that the macro opens.
    block: TokenRange,
}

/// What is wrong with a section that came in around reads of a list.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let function = changed.function;
    let sections: Vec<Section> = sections(changed).collect();
    if sections.is_empty() {
        return None;
    }
    let cfg = graph(function);
    sections.iter().find_map(|section| {
        let proof = Proof {
            function,
            types: &changed.original.types,
            cfg: &cfg,
            section,
        };
        let wrong = proof.fault()?;
        let reason = format!("in `{}`, {wrong}", function.name);
        // What else comes into the section has nothing to do with it.
        let place = beside(changed.applied, section.place);
        Some((Some(place), Failure::Wrong(reason)))
    })
}

/// The sections on variables that the edits brought in, with a read of an item inside.
fn sections(changed: Changed<'_>) -> impl Iterator<Item = Section> {
    let function = changed.function;
    let begins = calls(function).filter(|(_, name)| *name == "PyCriticalSection_Begin");
    begins.filter_map(move |(begin, _)| {
        let block = block_around(function, begin)?;
        let is_read = |(call, name): (ExprId, &str)| {
            UNCHECKED_ITEMS.contains(&name) && block.contains(function.tree.expr(call).range)
        };
        let list = argument(function, begin, 1)?;
        let iterates = |(call, name): (ExprId, &str)| {
            name.ends_with("PyDict_Next") && block.contains(function.tree.expr(call).range)
        };
        let place = changed.new_macro(begin)?;
        (calls(function).any(is_read) && !calls(function).any(iterates)).then_some(Section {
            begin,
            place,
            list,
            block,
        })
    })
}

/// The innermost block around a call.
fn block_around(function: &Function, call: ExprId) -> Option<TokenRange> {
    let at = function.tree.expr(call).range;
    let blocks = function.tree.stmts.iter();
    let blocks = blocks.filter(|stmt| matches!(stmt.kind, StmtKind::Block(_)));
    let around = blocks.filter(|stmt| stmt.range.contains(at));
    around
        .map(|stmt| stmt.range)
        .min_by_key(|range| range.end - range.start)
}

/// The variable that an argument of a call is.
fn argument(function: &Function, call: ExprId, at: usize) -> Option<LocalId> {
    let tree = &function.tree;
    match &tree.expr(call).kind {
        ExprKind::Call { args, .. } => tree.as_local(tree.without_casts(*args.get(at)?)),
        _ => None,
    }
}

/// Whether other threads may run during a call: it runs Python code, waits for a lock, or nobody
/// knows.
fn lets_in(name: &str) -> bool {
    match capi::effects(name) {
        Some(effects) => effects.runs_python || effects.locks.is_some(),
        None => !capi::is_libc(name),
    }
}

/// One section under proof.
struct Proof<'a> {
    function: &'a Function,
    types: &'a Types<'a>,
    cfg: &'a Cfg,
    section: &'a Section,
}

impl Proof<'_> {
    /// What is wrong with the section.
    fn fault(&self) -> Option<String> {
        let list = &self.function.tree.local(self.section.list).name;
        let reads = self.calls_on_list(&UNCHECKED_ITEMS);
        let reads: Vec<ExprId> = reads.into_iter().filter(|&it| self.is_inside(it)).collect();
        if reads.is_empty() {
            return Some(format!(
                "the section on `{list}` locks another list than the one that is read in it"
            ));
        }
        if self.is_nested() {
            return Some(format!(
                "the section on `{list}` is inside another section, or contains one"
            ));
        }
        if self.is_list_let_go() {
            return Some(format!(
                "`{list}` is set or released in the section that locks it"
            ));
        }
        if self.asks_elsewhere(&reads) {
            return Some(format!(
                "the size of `{list}` is read where the section does not protect the list"
            ));
        }
        reads.iter().find_map(|&read| self.fault_of(read, list))
    }

    /// The calls whose first argument is the list.
    fn calls_on_list(&self, names: &[&str]) -> Vec<ExprId> {
        let calls = calls(self.function).filter(|(call, name)| {
            names.contains(name) && argument(self.function, *call, 0) == Some(self.section.list)
        });
        calls.map(|(call, _)| call).collect()
    }

    fn is_inside(&self, call: ExprId) -> bool {
        self.section
            .block
            .contains(self.function.tree.expr(call).range)
    }

    /// Whether another section or lock may suspend this one, or this one another.
    fn is_nested(&self) -> bool {
        calls(self.function).any(|(call, name)| {
            let is_lock = (name.starts_with("PyCriticalSection") && name.contains("Begin"))
                || matches!(name, "PyMutex_Lock" | "PyThread_acquire_lock");
            let block = block_around(self.function, call);
            let begin = self.function.tree.expr(self.section.begin).range;
            let is_around = block.is_some_and(|block| block.contains(begin));
            is_lock && call != self.section.begin && (is_around || self.is_inside(call))
        })
    }

    /// Whether the section loses the list that it locks.
    fn is_list_let_go(&self) -> bool {
        let tree = &self.function.tree;
        let releases = |name: &str| {
            matches!(
                name,
                "Py_CLEAR" | "Py_DECREF" | "Py_DecRef" | "Py_SETREF" | "Py_XDECREF" | "Py_XSETREF"
            )
        };
        let released = calls(self.function).any(|(call, name)| {
            let object = argument(self.function, call, 0);
            releases(name) && self.is_inside(call) && object == Some(self.section.list)
        });
        let set = tree.exprs.iter().any(|expr| {
            let target = match expr.kind {
                ExprKind::Assign { lhs, .. } => tree.as_local(lhs),
                _ => None,
            };
            target == Some(self.section.list) && self.section.block.contains(expr.range)
        });
        released || set || self.cfg.pointed_at().contains(&self.section.list) && self.is_filled()
    }

    /// Whether the address of the list's variable is passed on in the section.
    fn is_filled(&self) -> bool {
        let mut at = self.cfg.addressing(self.section.list);
        at.any(|at| match self.cfg.source(at) {
            Some(crate::cfg::Source::Expr(expr)) => self.is_inside(expr),
            _ => true,
        })
    }

    /// Whether a size that goes with a read is asked for outside, or where a lock is waited for in
    /// between, during which the GIL was kept.
    fn asks_elsewhere(&self, reads: &[ExprId]) -> bool {
        let sets = self.points(|kind| {
            matches!(kind, InstrKind::Store { place, .. }
                if place.as_local() == Some(self.section.list))
        });
        let waits: Vec<Point> = calls(self.function)
            .filter(|(call, name)| {
                let runs = capi::effects(name).is_some_and(|effects| effects.runs_python);
                self.is_inside(*call) && lets_in(name) && !runs
            })
            .filter_map(|(call, _)| self.cfg.call(call))
            .collect();
        let mut pairs = self.calls_on_list(&LIST_SIZES).into_iter().flat_map(|ask| {
            let reads = reads.iter();
            reads.map(move |&read| (ask, read))
        });
        pairs.any(|(ask, read)| {
            let (Some(asked), Some(read)) = (self.cfg.call(ask), self.cfg.call(read)) else {
                return true;
            };
            let comes = |from, to| reaches(self.cfg, from, to, &sets);
            let passes = |from, to| {
                waits.iter().any(|&wait| {
                    reaches(self.cfg, from, wait, &[]) && reaches(self.cfg, wait, to, &[from])
                })
            };
            match self.is_inside(ask) {
                true => passes(asked, read) || passes(read, asked),
                false => comes(asked, read) || comes(read, asked),
            }
        })
    }

    fn points(&self, wanted: impl Fn(&InstrKind) -> bool) -> Vec<Point> {
        let mut points = Vec::new();
        for (block, body) in self.cfg.iter() {
            for (index, instr) in body.instrs.iter().enumerate() {
                if wanted(&instr.kind) {
                    points.push(Point { block, index });
                }
            }
        }
        points
    }

    /// What is wrong with a read, or with what becomes of its item.
    fn fault_of(&self, read: ExprId, list: &str) -> Option<String> {
        let flow = Flow::new(self, self.cfg.call(read)?);
        let Ok(solution) = dataflow::solve(self.cfg, &flow) else {
            return Some(format!(
                "it is not known what happens to the items of `{list}`"
            ));
        };
        let mut fault = None;
        for (block, body) in self.cfg.iter() {
            let mut state = solution.input(block.index()).clone();
            if !state.is_reached {
                continue;
            }
            for (index, instr) in body.instrs.iter().enumerate() {
                let found = flow.step(&mut state, Point { block, index }, instr);
                fault = fault.or(found);
            }
            if let Terminator::Return(Some(value), _) = &body.terminator
                && state.is_lent(value)
            {
                fault = fault.or(Some(flow::Fault::Outlives));
            }
        }
        Some(fault?.say(list))
    }
}
