//! No `PyErr_Clear` that came in drops the exception of an earlier call which nothing has tested, and
//! which the function would have left to its caller.
//!
//! ```c
//! for (i = 0; i < n; i++) {
//!     item = PyList_GetItemRef(list, i);
//!     if (item == NULL) {
//!         PyErr_Clear();                    /* that of the pass before goes with it */
//!         break;
//!     }
//!     total += PyLong_AsLong(item);         /* may raise */
//! }
//! ```

use std::collections::BTreeSet;

use super::Failure;
use super::changed::Changed;
use super::original::Original;
use super::proof::{self, calls, graph};
use crate::ast::{ExprId, Function, LocalId};
use crate::capi::{self, Returns};
use crate::cfg::{Block, Callee, Cfg, Instr, InstrKind, Operand, Point, Source, TempId, reaches};
use crate::program::CallSite;
use crate::source::ByteSpan;

const CLEAR: &str = "PyErr_Clear";

/// What may be wrong with the exceptions of before in a function.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let function = changed.function;
    let is_new = |call: ExprId| changed.is_inserted(function.tree.expr(call).range.start);
    let clears: BTreeSet<ExprId> = calls(function)
        .filter(|&(call, name)| name == CLEAR && is_new(call))
        .map(|(call, _)| call)
        .collect();
    if clears.is_empty() {
        return None;
    }
    let graph = graph(function);
    let is_left = |point| {
        let mut seen = BTreeSet::new();
        is_left(changed.original, function, &graph, point, &mut seen)
    };
    let (_, name) =
        raising(&graph).find(|(start, _)| start.is_cleared(&graph, &clears, &is_left))?;
    let reason = format!(
        "no item is missing while the exception of an earlier `{name}` is pending (that exception \
         would be dropped)"
    );
    Some((None, Failure::Unknown(reason.into())))
}

/// The calls that may raise and give something that tells of it.
fn raising(graph: &Cfg) -> impl Iterator<Item = (Start, &str)> {
    graph.steps().filter_map(|(point, instr)| {
        let InstrKind::Call {
            dst,
            callee: Callee::Named(name),
            ..
        } = &instr.kind
        else {
            return None;
        };
        let effects = capi::effects(name)?;
        let is_object = effects.returns == Returns::New;
        let may_raise = effects.converts || is_object && effects.runs_python;
        let start = Start {
            behind: point.next(),
            result: *dst,
            is_object,
        };
        may_raise.then_some((start, &**name))
    })
}

/// A call that has raised.
struct Start {
    behind: Point,
    result: TempId,
    is_object: bool,
}

/// What has the result of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Local(LocalId),
    Temp(TempId),
}

/// What a step does about an exception.
enum Step {
    Goes,
    /// It is asked for, or the result is.
    Ends,
    Clears,
}

impl Start {
    /// Whether a path leads to one of `clears`, and nothing asks for the exception on it.
    fn is_cleared(
        &self,
        graph: &Cfg,
        clears: &BTreeSet<ExprId>,
        is_left: &dyn Fn(Point) -> bool,
    ) -> bool {
        let mut entered = BTreeSet::new();
        let mut open = vec![(self.behind, BTreeSet::from([Holder::Temp(self.result)]))];
        while let Some((at, mut holders)) = open.pop() {
            let block = graph.block(at.block);
            let mut steps = block.instrs.iter().enumerate().skip(at.index);
            let end = steps.find_map(|(index, instr)| {
                let step = self.step(instr, clears, &mut holders);
                let here = Point { index, ..at };
                (!matches!(step, Step::Goes)).then_some((step, here.next()))
            });
            match end {
                Some((Step::Clears, clear)) if is_left(clear) => return true,
                Some(_) => continue,
                None if is_asked(graph, block, &holders) => continue,
                None => {}
            }
            let next = block.successors.iter().map(|&block| {
                let start = Point { block, index: 0 };
                (start, holders.clone())
            });
            open.extend(next.filter(|state| entered.insert(state.clone())));
        }
        false
    }

    fn step(
        &self,
        instr: &Instr,
        clears: &BTreeSet<ExprId>,
        holders: &mut BTreeSet<Holder>,
    ) -> Step {
        let is_held = |operand: &Operand| is_held(holders, operand);
        match &instr.kind {
            InstrKind::Call { callee, args, .. } => {
                let name = match callee {
                    Callee::Named(name) => &**name,
                    Callee::Indirect(_) => "",
                };
                let is_new = matches!(instr.source, Source::Expr(call) if clears.contains(&call));
                // To look into the object is to know that it is there.
                let takes_null = capi::counts(name).is_some() && name.contains("_X");
                return match name {
                    CLEAR if is_new => Step::Clears,
                    _ if name.starts_with("PyErr_") => Step::Ends,
                    _ if self.is_object && !takes_null && args.iter().any(is_held) => Step::Ends,
                    _ => Step::Goes,
                };
            }
            InstrKind::Store { place, value } => {
                let is_held = is_held(value);
                if let Some(local) = place.as_local() {
                    set(holders, Holder::Local(local), is_held);
                }
            }
            InstrKind::Load { dst, place } => {
                let local = place.as_local().map(Holder::Local);
                let is_held = local.is_some_and(|local| holders.contains(&local));
                set(holders, Holder::Temp(*dst), is_held);
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                let is_held = is_held(src);
                set(holders, Holder::Temp(*dst), is_held);
            }
            InstrKind::Op { dst, operands, .. } => {
                let is_held = operands.iter().any(is_held);
                set(holders, Holder::Temp(*dst), is_held);
            }
            InstrKind::Declare { .. } | InstrKind::ScopeEnd { .. } | InstrKind::Asm => {}
        }
        Step::Goes
    }
}

/// Whether the test at the end of a block is one of the result, or decides whether to ask.
///
/// ```c
/// if (point->x == -1 && PyErr_Occurred())
/// ```
fn is_asked(graph: &Cfg, block: &Block, holders: &BTreeSet<Holder>) -> bool {
    let asks = |instr: &Instr| {
        matches!(&instr.kind,
            InstrKind::Call { callee: Callee::Named(name), .. } if &**name == "PyErr_Occurred")
    };
    let mut operands = block.terminator.operands().into_iter();
    let mut next = block.successors.iter();
    operands.any(|operand| is_held(holders, operand))
        || block.successors.len() > 1 && next.any(|&it| graph.block(it).instrs.iter().any(asks))
}

/// Whether an exception that is pending at `point` may still be so where the function returns, and
/// in all that call it: Python sees it then.
fn is_left<'a>(
    original: &'a Original<'_>,
    function: &'a Function,
    graph: &Cfg,
    point: Point,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    let takers = calls(function).filter(|(_, name)| name.starts_with("PyErr_"));
    let takers: Vec<Point> = takers.filter_map(|(call, _)| graph.call(call)).collect();
    let mut ends = graph.returns();
    if !ends.any(|end| reaches(graph, point, end, &takers)) || !seen.insert(&function.name) {
        return false;
    }
    let sites = original.calls().calls_to(&function.name);
    let is_left_by = |site: &CallSite| {
        let Some(caller) = original.program.item(site.item).function() else {
            return true;
        };
        let graph = proof::graph(caller);
        let call = graph.call(site.expr);
        call.is_none_or(|call| is_left(original, caller, &graph, call.next(), seen))
    };
    sites.is_empty() || sites.iter().any(is_left_by)
}

fn is_held(holders: &BTreeSet<Holder>, operand: &Operand) -> bool {
    matches!(operand, Operand::Temp(temp) if holders.contains(&Holder::Temp(*temp)))
}

fn set(holders: &mut BTreeSet<Holder>, holder: Holder, is_held: bool) {
    match is_held {
        true => holders.insert(holder),
        false => holders.remove(&holder),
    };
}
