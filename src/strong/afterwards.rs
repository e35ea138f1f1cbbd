//! What the code does with a variable from a point on.

use std::collections::BTreeSet;

use super::scene::Scene;
use crate::ast::LocalId;
use crate::cfg::{Base, BlockId, Callee, Instr, InstrKind, Operand, Point};

/// Whether every read of `local` behind `point` is for its release. What it held is given away
/// there, so that release is one too many, with the new reference as without it:
///
/// ```c
/// Py_INCREF(item);
/// if (PyList_SetItem(list, i, item) < 0) {   /* takes the item even if it fails */
///     Py_DECREF(item);
///     return -1;
/// }
/// ```
pub(super) fn is_only_released(scene: &Scene<'_>, local: LocalId, point: Point) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![point];
    while let Some(point) = waiting.pop() {
        let block = scene.cfg.block(point.block);
        match walk(&block.instrs[point.index..], local) {
            Walk::Used => return false,
            Walk::Ended => {}
            Walk::GoesOn => {
                let next = block.terminator.targets().into_iter();
                let new: Vec<BlockId> = next.filter(|&target| seen.insert(target)).collect();
                waiting.extend(new.into_iter().map(|block| Point { block, index: 0 }));
            }
        }
    }
    true
}

enum Walk {
    Used,
    /// The variable gets another value or goes out of scope.
    Ended,
    GoesOn,
}

fn walk(instrs: &[Instr], local: LocalId) -> Walk {
    for (at, instr) in instrs.iter().enumerate() {
        match &instr.kind {
            InstrKind::Load { dst, place } if place.base == Base::Local(local) => {
                let releases = instrs.get(at + 1).is_some_and(|next| {
                    matches!(&next.kind, InstrKind::Call { callee: Callee::Named(name), args, .. }
                        if matches!(&**name, "Py_DECREF" | "Py_XDECREF")
                            && matches!(args[..], [Operand::Temp(arg)] if arg == *dst))
                });
                if !releases {
                    return Walk::Used;
                }
            }
            InstrKind::Store { place, .. } if place.as_local() == Some(local) => {
                return Walk::Ended;
            }
            InstrKind::Declare { local: ended } if *ended == local => return Walk::Ended,
            InstrKind::ScopeEnd { locals } if locals.contains(&local) => return Walk::Ended,
            _ => {}
        }
    }
    Walk::GoesOn
}
