//! How a function goes on behind a new exit, as far as numbers decide that are known there.
//!
//! ```c
//! int err = 0;
//! …
//! if (PyDict_GetItemRef(d, k, &v) < 0)
//!     goto out;
//! …
//! out:
//!     if (err) return NULL;                     /* it is still 0 */
//!     Py_RETURN_NONE;
//! ```

use super::View;
use super::ways::Exit;
use crate::ast::{ExprId, LocalId, StmtKind};
use crate::cfg::{
    Block, BlockId, CaseLabel, Comparison, Condition, InstrKind, Operand, Point, Terminator,
    reaches,
};

/// Variables with the numbers that they hold.
pub(super) type Numbers = Vec<(LocalId, i64)>;

impl View<'_> {
    /// The values that the function may return behind `exit`, if it goes there by `numbers`.
    pub(super) fn ends_of(&self, exit: &Exit, numbers: &Numbers) -> Vec<(ExprId, Point)> {
        let mut seen: Vec<BlockId> = Vec::new();
        let mut open = vec![exit.start.block];
        let mut ends = Vec::new();
        while let Some(block) = open.pop() {
            if seen.contains(&block) {
                continue;
            }
            seen.push(block);
            let content = self.cfg.block(block);
            if let Terminator::Return(_, stmt) = content.terminator {
                let index = content.instrs.len();
                if let StmtKind::Return(Some(value)) = self.tree.stmt(stmt).kind {
                    ends.push((value, Point { block, index }));
                }
            }
            open.extend(targets(content, numbers));
        }
        ends
    }

    /// The numbers that variables hold where `exit` leaves, and that nothing changes behind it.
    pub(super) fn numbers_at(&self, exit: &Exit) -> Numbers {
        let stores: Vec<(LocalId, Point, Option<i64>)> = self.stores_of_numbers();
        let mut locals: Vec<LocalId> = stores.iter().map(|(local, ..)| *local).collect();
        locals.sort();
        locals.dedup();
        let taken = self.cfg.address_taken();
        locals.retain(|local| !self.tree.local(*local).is_param && !taken.contains(local));
        let number = |local: LocalId| {
            let own = || stores.iter().filter(move |(given, ..)| *given == local);
            let points: Vec<Point> = own().map(|(_, point, _)| *point).collect();
            let comes = |from: Point| reaches(self.cfg, from, exit.from, &points);
            let mut held = own().filter(|(_, point, _)| comes(point.next()));
            let (.., first) = held.next()?;
            let is_same = held.all(|(.., other)| other == first);
            let mut points = points.iter();
            let is_kept = !points.any(|&point| reaches(self.cfg, exit.start, point, &[]));
            first.filter(|_| is_same && is_kept)
        };
        let known = locals.iter().map(|&local| Some((local, number(local)?)));
        known.flatten().collect()
    }

    fn stores_of_numbers(&self) -> Vec<(LocalId, Point, Option<i64>)> {
        let stores = self
            .cfg
            .steps()
            .filter_map(|(point, instr)| match &instr.kind {
                InstrKind::Store { place, value } => {
                    Some((place.as_local()?, point, as_number(value)))
                }
                _ => None,
            });
        stores.collect()
    }

    /// Whether a condition holds, where numbers decide that.
    pub(super) fn holds(&self, cond: ExprId, numbers: &Numbers) -> Option<bool> {
        let cond = self.tree.without_casts(cond);
        self.cfg
            .iter()
            .find_map(|(_, content)| match &content.terminator {
                Terminator::Branch { condition, .. } if condition.expr == cond => {
                    decided(content, condition, numbers)
                }
                _ => None,
            })
    }
}

/// Where a block may go on.
fn targets(content: &Block, numbers: &Numbers) -> Vec<BlockId> {
    match &content.terminator {
        Terminator::Branch {
            condition,
            then,
            otherwise,
        } => match decided(content, condition, numbers) {
            Some(true) => vec![*then],
            Some(false) => vec![*otherwise],
            None => vec![*then, *otherwise],
        },
        Terminator::Switch {
            value,
            cases,
            default,
            ..
        } => {
            let all_told = cases
                .iter()
                .all(|(label, _)| matches!(label, CaseLabel::Int(_)));
            let number = number_of(content, value, numbers).filter(|_| all_told);
            let Some(number) = number else {
                return content.terminator.targets();
            };
            let case = cases
                .iter()
                .find(|(label, _)| *label == CaseLabel::Int(number));
            vec![case.map_or(*default, |(_, block)| *block)]
        }
        other => other.targets(),
    }
}

fn decided(content: &Block, condition: &Condition, numbers: &Numbers) -> Option<bool> {
    let one = number_of(content, &condition.lhs, numbers)?;
    let other = number_of(content, &condition.rhs, numbers)?;
    Some(match condition.comparison {
        Comparison::Equal => one == other,
        Comparison::NotEqual => one != other,
        Comparison::Less => one < other,
        Comparison::LessOrEqual => one <= other,
        Comparison::Greater => one > other,
        Comparison::GreaterOrEqual => one >= other,
    })
}

/// The number that a value is: a constant, or that of a variable which the block has read for it.
fn number_of(content: &Block, value: &Operand, numbers: &Numbers) -> Option<i64> {
    let Operand::Temp(temp) = value else {
        return as_number(value);
    };
    let instr = content
        .instrs
        .iter()
        .find(|instr| instr.dst() == Some(*temp))?;
    match &instr.kind {
        InstrKind::Load { place, .. } => {
            let local = place.as_local()?;
            let known = numbers.iter().find(|(known, _)| *known == local);
            known.map(|(_, number)| *number)
        }
        _ => None,
    }
}

fn as_number(value: &Operand) -> Option<i64> {
    match value {
        Operand::Int(number) => Some(*number),
        Operand::Null => Some(0),
        _ => None,
    }
}
