//! Type checks that every path to a step passes: `if (PyTuple_CheckExact(v)) { … v … }`.

use super::Cx;
use super::flow::{Flow, address_of_local};
use super::verdict::{SafeReason, Verdict, safe};
use crate::ast::{LocalId, Storage};
use crate::cfg::{
    Base, BlockId, Comparison, Condition, Dominators, Instr, InstrKind, Operand, Place, Point,
    Terminator,
};

/// What is checked and read: a variable, or what one points at that the function itself has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Local(LocalId),
    /// `*out`
    Behind(LocalId),
}

impl Cx<'_> {
    /// The verdict where one of `checks` makes sure that the step at `site` gets a tuple.
    pub(super) fn tuple(
        &self,
        flow: &Flow<'_>,
        operand: &Operand,
        site: Point,
        checks: &[&str],
    ) -> Option<Verdict> {
        let check = checked_by(flow, operand, site, checks)?;
        let line = self.line(flow, check);
        let sentence = format!("line {line} ensures that it is a tuple");
        Some(safe(SafeReason::Immutable, sentence))
    }
}

/// A call of one of `checks` that said yes on every path to `at`, of the variable that
/// `operand` was read from, which has not changed since.
pub(super) fn checked_by(
    flow: &Flow<'_>,
    operand: &Operand,
    at: Point,
    checks: &[&str],
) -> Option<Point> {
    let subject = subject(flow, operand)?;
    let writes: Vec<Point> = flow
        .instrs()
        .filter(|(_, instr)| may_write(flow, instr, subject))
        .map(|(point, _)| point)
        .collect();
    let dominators = Dominators::new(&flow.cfg);
    let is_set = |check: Point| {
        let sets = |&write: &Point| {
            let behind = match flow.cfg.instr(write).map(|instr| &instr.kind) {
                Some(InstrKind::Store { place, .. }) => pointer(flow, place),
                _ => None,
            };
            behind.map(Subject::Behind) == Some(subject) && dominators.dominates_point(write, check)
        };
        matches!(subject, Subject::Local(_)) || writes.iter().any(sets)
    };
    let holds = |&check: &Point| {
        let is_check = matches!(flow.call(check), Some((Some(name), [arg]))
            if checks.contains(&name) && self::subject(flow, arg) == Some(subject));
        is_check
            && holds_from(flow, check).is_some_and(|block| dominators.dominates(block, at.block))
            && is_set(check)
            && !writes.iter().any(|&write| {
                write != check
                    && flow.reaches(check, write, &[])
                    && flow.reaches(write, at, &[check])
            })
    };
    flow.instrs().map(|(point, _)| point).find(holds)
}

fn subject(flow: &Flow<'_>, operand: &Operand) -> Option<Subject> {
    let plain = |local: LocalId| flow.function.tree.local(local).storage == Storage::None;
    match flow.local(operand) {
        Some(local) => plain(local).then_some(Subject::Local(local)),
        None => {
            let place = flow.place_of(operand)?;
            let local = pointer(flow, place)?;
            plain(local).then_some(Subject::Behind(local))
        }
    }
}

/// `out` of `*out`.
fn pointer(flow: &Flow<'_>, place: &Place) -> Option<LocalId> {
    match &place.base {
        Base::Deref(pointer) if place.path.is_empty() => flow.local(pointer),
        _ => None,
    }
}

fn may_write(flow: &Flow<'_>, instr: &Instr, subject: Subject) -> bool {
    let (Subject::Local(local) | Subject::Behind(local)) = subject;
    let is_behind = matches!(subject, Subject::Behind(_));
    match &instr.kind {
        InstrKind::Store { place, .. } => {
            place.as_local() == Some(local) || is_behind && pointer(flow, place).is_some()
        }
        InstrKind::Call { .. } if is_behind => true,
        _ => instr
            .operands()
            .any(|operand| address_of_local(operand) == Some(local)),
    }
}

/// The block that is reached only if the check at the end of a block says yes.
pub(super) fn holds_from(flow: &Flow<'_>, check: Point) -> Option<BlockId> {
    let answer = flow.cfg.instr(check)?.dst()?;
    let is_answer =
        |condition: &Condition| condition.lhs == Operand::Temp(answer) && condition.rhs.is_zero();
    unequal_from(flow, &flow.cfg.block(check.block).terminator, is_answer)
}

/// The block that is reached only if the two sides of such a condition differ.
pub(super) fn unequal_from(
    flow: &Flow<'_>,
    end: &Terminator,
    is_such: impl Fn(&Condition) -> bool,
) -> Option<BlockId> {
    let Terminator::Branch {
        condition,
        then,
        otherwise,
    } = end
    else {
        return None;
    };
    let block = match condition.comparison {
        Comparison::NotEqual => *then,
        Comparison::Equal => *otherwise,
        _ => return None,
    };
    let is_only_way = flow.cfg.block(block).predecessors.len() == 1;
    (is_only_way && is_such(condition)).then_some(block)
}
