//! Pointers that are not `NULL` where they are used, as the function has asked for that.
//!
//! ```c
//! if (text == NULL)
//!     return NULL;
//! use(text);
//! ```

use super::{Cfg, Comparison, Condition, Instr, InstrKind, Operand, Point, Terminator, reaches};
use crate::ast::{ExprId, ExprKind, Function, LocalId, TypeKind, UnaryOp};

/// Whether a value is not `NULL` at `point`: an array, an address, or a variable that was asked since
/// it was set.
#[must_use]
pub fn is_never_null(graph: &Cfg, function: &Function, point: Point, given: ExprId) -> bool {
    let tree = &function.tree;
    let given = tree.without_casts(given);
    if matches!(
        &tree.expr(given).kind,
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            ..
        }
    ) {
        return true;
    }
    let Some(local) = tree.as_local(given) else {
        return false;
    };
    let variable = tree.local(local);
    if matches!(variable.ty.kind, TypeKind::Array(..)) && !variable.is_param {
        return true;
    }
    if !variable.is_automatic() || graph.address_taken().contains(&local) {
        return false;
    }
    let known = not_null_at(graph, local);
    let sets = graph.steps().filter_map(|(at, instr)| match &instr.kind {
        InstrKind::Store { place, .. } if place.as_local() == Some(local) => Some(at.next()),
        InstrKind::Declare { local: it } if *it == local => Some(at.next()),
        InstrKind::Asm => Some(at.next()),
        _ => None,
    });
    let start = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let mut sets = sets.chain([start]);
    !sets.any(|set| reaches(graph, set, point, &known))
}

/// Where branches begin in which a variable was found not to be `NULL`.
fn not_null_at(graph: &Cfg, local: LocalId) -> Vec<Point> {
    let branches = graph.iter().filter_map(|(_, block)| {
        let Terminator::Branch {
            condition,
            then,
            otherwise,
        } = &block.terminator
        else {
            return None;
        };
        let target = match condition.comparison {
            Comparison::NotEqual => *then,
            Comparison::Equal => *otherwise,
            _ => return None,
        };
        let is_only_way = graph.block(target).predecessors.len() == 1;
        let is_asked = condition.rhs.is_zero() && holds(&block.instrs, condition, local);
        (is_only_way && then != otherwise && is_asked).then_some(Point {
            block: target,
            index: 0,
        })
    });
    branches.collect()
}

/// Whether the value that is tested is that of the variable: it was read, or set, last.
fn holds(instrs: &[Instr], condition: &Condition, local: LocalId) -> bool {
    let Operand::Temp(tested) = condition.lhs else {
        return false;
    };
    let last = instrs.iter().rev().find_map(|instr| match &instr.kind {
        InstrKind::Load { dst, place } if *dst == tested => Some(place.as_local() == Some(local)),
        InstrKind::Store { place, value } if place.as_local() == Some(local) => {
            Some(*value == Operand::Temp(tested))
        }
        InstrKind::Asm => Some(false),
        _ => None,
    });
    last == Some(true)
}
