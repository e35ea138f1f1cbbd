//! What takes the place of a function with static state gets a variable of the caller, and nobody
//! misses the state.
//!
//! ```c
//! word = strtok(NULL, " ");                word = strtok_r(NULL, " ", &saveptr);
//! return gmtime(&now);                     return gmtime_r(&now, &utc_buf);
//! ```
//!
//! The first is wrong where another function has begun the sequence, the second in any case.

use rustc_hash::FxHashSet;

use super::Failure;
use super::changed::Changed;
use super::proof::{calls, graph};
use crate::ast::{ExprId, Function, LocalId, UnaryOp};
use crate::capi::{self, Lends, Sibling};
use crate::cfg::{
    Base, Callee, Cfg, Instr, InstrKind, Op, Operand, Place, Point, TempId, Terminator, reaches,
};
use crate::edit::keeps_no_pointer;
use crate::source::ByteSpan;

/// What is not proven of such calls, each with the call in the original.
pub(super) fn failures(changed: Changed<'_>) -> Vec<(Option<ByteSpan>, Failure)> {
    let tree = &changed.function.tree;
    let mut failures = Vec::new();
    let is_new = |call: ExprId| changed.is_inserted(tree.expr(call).range.start);
    let new = calls(changed.function).filter(|(call, _)| is_new(*call));
    let new: Vec<New<'_>> = new
        .filter_map(|(call, name)| {
            let (old, sibling) = capi::sibling_of(name)?;
            Some(New { call, old, sibling })
        })
        .collect();
    if new.is_empty() {
        return failures;
    }
    let graph = graph(changed.function);
    for it in &new {
        let failure = match it.sibling.lends() {
            Lends::Place => it.sequence(&changed, &graph),
            Lends::Result => it.result(&graph, &changed),
        };
        let failure = it.variable(&changed, &graph).or(failure);
        failures.extend(failure.map(|failure| (changed.place_of(it.call), failure)));
    }
    failures
}

/// A call that an edit brought in.
struct New<'t> {
    call: ExprId,
    /// The function whose place it takes.
    old: &'t str,
    sibling: Sibling,
}

impl New<'_> {
    fn wrong(&self, function: &Function, what: &str) -> Failure {
        Failure::Wrong(format!(
            "in `{}`, {what} (it called `{}` before)",
            function.name, self.old
        ))
    }

    /// What is wrong with the variable that it gets, which nothing else may use.
    fn variable(&self, changed: &Changed<'_>, graph: &Cfg) -> Option<Failure> {
        let function = changed.function;
        let wrong = || Some(self.wrong(function, "a call does not get its own variable"));
        let point = graph.call(self.call)?;
        let Some(InstrKind::Call { args, .. }) = graph.instr(point).map(|it| &it.kind) else {
            return wrong();
        };
        let local = args.last().and_then(whole_local);
        let Some(local) = local.filter(|it| function.tree.local(*it).is_automatic()) else {
            return wrong();
        };
        let had = changed.befores().any(|(_, before)| {
            let arguments = |(call, name): (ExprId, &str)| {
                (name == self.old).then(|| before.tree.call(call).map_or(0, |it| it.1.len()))
            };
            calls(before)
                .filter_map(arguments)
                .any(|count| count + 1 == args.len())
        });
        let is_used_else = graph.steps().any(|(_, instr)| self.uses(instr, local));
        let is_place = self.sibling.lends() == Lends::Place;
        let is_of_type = function.tree.local(local).ty.pointee().is_some() == is_place;
        match had && !is_used_else && is_of_type {
            true => None,
            false => wrong(),
        }
    }

    /// Whether a step uses the variable for something else.
    fn uses(&self, instr: &Instr, local: LocalId) -> bool {
        let is_part = |place: &Place| matches!(place.base, Base::Local(it) if it == local);
        match &instr.kind {
            InstrKind::Call { callee, args, .. } => {
                let is_sibling = callee.name() == Some(self.sibling.name);
                let others = if is_sibling {
                    args.len() - 1
                } else {
                    args.len()
                };
                args[..others]
                    .iter()
                    .any(|arg| whole_local(arg) == Some(local))
            }
            InstrKind::Store { place, value } => {
                let is_cleared = is_part(place) && !value.is_zero();
                is_cleared || whole_local(value) == Some(local)
            }
            InstrKind::Load { place, .. } => is_part(place),
            InstrKind::Asm => true,
            _ => false,
        }
    }

    /// What is wrong with the sequence that a call begins or goes on with.
    fn sequence(&self, changed: &Changed<'_>, graph: &Cfg) -> Option<Failure> {
        let function = changed.function;
        if calls(function).any(|(_, name)| name == self.old) {
            return Some(self.wrong(function, "some calls are not replaced"));
        }
        if goes_on_first(graph, self.sibling.name) {
            return Some(self.wrong(
                function,
                "a call continues a sequence that the function has not begun",
            ));
        }
        let others = changed.original.calls().calls_to(self.old);
        let mut others = others.iter().filter_map(|site| {
            let item = changed.original.program.item(site.item);
            item.function()
        });
        let other = others.find(|other| goes_on_first(&super::proof::graph(other), self.old))?;
        let what = format!(
            "`{}` continues a sequence that other functions have begun",
            other.name
        );
        Some(self.wrong(function, &what))
    }

    /// Where the result goes.
    fn result(&self, graph: &Cfg, changed: &Changed<'_>) -> Option<Failure> {
        let function = changed.function;
        let mut known = Lent::default();
        while graph.steps().fold(false, |grows, (_, instr)| {
            known.follow(instr, self) || grows
        }) {}
        let leaves = |instr: &Instr| match &instr.kind {
            InstrKind::Store { place, value } => known.is_it(value) && place.as_local().is_none(),
            InstrKind::Call {
                callee: Callee::Indirect(_),
                args,
                ..
            } => args.iter().any(|arg| known.is_it(arg)),
            InstrKind::Asm => true,
            _ => false,
        };
        let is_static = |local: &LocalId| !function.tree.local(*local).is_automatic();
        let is_returned = graph.blocks.iter().any(|block| {
            matches!(&block.terminator, Terminator::Return(Some(value), _) if known.is_it(value))
        });
        let steps = || graph.steps().map(|(_, instr)| instr);
        if is_returned || steps().any(leaves) || known.locals.iter().any(is_static) {
            return Some(self.wrong(function, "a result leaves the function"));
        }
        steps().find_map(|instr| known.may_be_kept(instr, self, changed))
    }
}

/// Whether some path leads to a call that goes on, and to none that begins before it.
fn goes_on_first(graph: &Cfg, name: &str) -> bool {
    let first_argument = |instr: &Instr| match &instr.kind {
        InstrKind::Call { callee, args, .. } if callee.name() == Some(name) => {
            args.first().cloned()
        }
        _ => None,
    };
    let all = graph.steps();
    let all: Vec<(Point, bool)> = all
        .filter_map(|(point, instr)| Some((point, first_argument(instr)?.is_zero())))
        .collect();
    let of = |goes_on: bool| all.iter().filter(move |it| it.1 == goes_on).map(|it| it.0);
    let begins: Vec<Point> = of(false).collect();
    let start = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    of(true).any(|point| reaches(graph, start, point, &begins))
}

fn whole_local(operand: &Operand) -> Option<LocalId> {
    match operand {
        Operand::AddressOf(place) => place.as_local(),
        _ => None,
    }
}

/// The values and variables that are the result, or a pointer into it.
#[derive(Default)]
struct Lent {
    temps: FxHashSet<TempId>,
    locals: FxHashSet<LocalId>,
}

impl Lent {
    fn is_it(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Temp(temp) => self.temps.contains(temp),
            Operand::AddressOf(place) => match &place.base {
                Base::Local(local) => self.locals.contains(local),
                Base::Deref(pointer) => self.is_it(pointer),
                Base::Global(_) | Base::Unnamed(_) => false,
            },
            _ => false,
        }
    }

    /// Notes what a step makes of it; whether that is more than before.
    fn follow(&mut self, instr: &Instr, new: &New<'_>) -> bool {
        let temp = match &instr.kind {
            InstrKind::Call { dst, callee, .. } if callee.name() == Some(new.sibling.name) => *dst,
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } if self.is_it(src) => {
                *dst
            }
            InstrKind::Load { dst, place }
                if place.as_local().is_some_and(|it| self.locals.contains(&it)) =>
            {
                *dst
            }
            InstrKind::Op { dst, op, operands } if operands.iter().any(|it| self.is_it(it)) => {
                match op {
                    Op::Binary(op) if op.is_comparison() => return false,
                    Op::Unary(UnaryOp::Not) => return false,
                    _ => *dst,
                }
            }
            InstrKind::Store { place, value } if self.is_it(value) => {
                return place.as_local().is_some_and(|it| self.locals.insert(it));
            }
            _ => return false,
        };
        self.temps.insert(temp)
    }

    /// What a call of another function may do with it.
    fn may_be_kept(&self, instr: &Instr, new: &New<'_>, changed: &Changed<'_>) -> Option<Failure> {
        let InstrKind::Call { callee, args, .. } = &instr.kind else {
            return None;
        };
        let name = callee.name().filter(|name| *name != new.sibling.name)?;
        let mut given = args.iter().enumerate().filter(|(_, arg)| self.is_it(arg));
        let is_left = |at: usize| {
            let gives_other = |it: &capi::Writes| it.gives != capi::Gives::Argument(at);
            let row = capi::writes(name).filter(|it| it.keeps.is_none() && gives_other(it));
            row.is_some() && !capi::keeps_pointer(name, at)
        };
        let kept = given.any(|(at, _)| !is_left(at));
        let function = || changed.original.program.named_function(changed.item, name);
        kept.then(|| Failure::Unknown(keeps_no_pointer(name, function())))
    }
}
