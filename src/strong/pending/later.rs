//! Whether the code behind a point still asks for the errors of calls before it.
//!
//! ```c
//! if (n < 0) …            if (n == -1 && PyErr_Occurred()) …      return result;
//! if (PyErr_Occurred()) … /* asks for the errors of all calls */
//! ```

use std::collections::BTreeSet;

use super::Pending;
use super::raising::Signs;
use super::worlds::compared;
use crate::ast::LocalId;
use crate::capi::{self, Returns};
use crate::cfg::{
    Block, BlockId, Callee, Cfg, Comparison, Condition, Instr, InstrKind, Operand, Place, Point,
    TempId, Terminator,
};

/// What is asked for behind a point.
#[derive(Debug)]
pub(in crate::strong) struct Later<'a> {
    pending: &'a Pending<'a>,
    cfg: &'a Cfg,
    from: Point,
    /// Whether it asks for errors without saying of what.
    pub asks: bool,
}

impl<'a> Later<'a> {
    pub(in crate::strong) fn new(pending: &'a Pending<'a>, from: Point) -> Self {
        let mut later = Self {
            pending,
            cfg: pending.flow.cfg,
            from,
            asks: false,
        };
        later.asks = later.walk(
            |block, instrs| match asks(instrs) && !later.is_guarded(block) {
                true => Found::Yes,
                false => Found::NotYet,
            },
        );
        later
    }

    /// Whether the value that `local` has at the point, which says `signs` of an error, is asked
    /// for it, before the variable gets another one.
    pub(in crate::strong) fn tests(&self, local: LocalId, signs: &Signs) -> bool {
        self.walk(|block, instrs| {
            for instr in instrs {
                match &instr.kind {
                    InstrKind::Store { place, .. } if place.as_local() == Some(local) => {
                        return Found::NoMore;
                    }
                    InstrKind::Declare { local: declared } if *declared == local => {
                        return Found::NoMore;
                    }
                    InstrKind::Op { op, operands, .. } => {
                        if let Some((tested, comparison, number)) = compared(*op, operands)
                            && local_of(block, tested) == Some(local)
                            && signs.asked_by(comparison, number)
                        {
                            return Found::Yes;
                        }
                    }
                    _ => {}
                }
            }
            match self.is_tested_by(block, local, signs) {
                true => Found::Yes,
                false => Found::NotYet,
            }
        })
    }

    /// Whether a function is called behind the point whose name `is_wanted`.
    pub(super) fn calls(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.walk(|_, instrs| {
            let wanted = |callee: &Callee| match callee {
                Callee::Named(name) => is_wanted(name),
                Callee::Indirect(_) => false,
            };
            match calls(instrs).any(wanted) {
                true => Found::Yes,
                false => Found::NotYet,
            }
        })
    }

    /// Whether all that is returned behind the point is an object, if memory is not missing.
    pub(in crate::strong) fn returns_object(&self) -> bool {
        !self.walk(|block, _| match &block.terminator {
            Terminator::Return(value, _) => match value {
                Some(Operand::Temp(value)) if is_new_object(block, *value) => Found::NotYet,
                _ => Found::Yes,
            },
            _ => Found::NotYet,
        })
    }

    /// Whether the end of `block` asks `local` for an error, or hands it on, or decides by it
    /// whether to ask.
    fn is_tested_by(&self, block: &Block, local: LocalId, signs: &Signs) -> bool {
        match &block.terminator {
            Terminator::Branch { condition, .. } => {
                let asked = |target: &BlockId| {
                    let target = self.cfg.block(*target);
                    asks(&target.instrs) && self.is_guarded(target)
                };
                local_of(block, &condition.lhs) == Some(local)
                    && (is_error_test(condition.comparison, &condition.rhs, signs)
                        || block.successors.iter().any(asked))
            }
            Terminator::Return(Some(value), _) => local_of(block, value) == Some(local),
            _ => false,
        }
    }

    /// Whether `block` asks for the error of a call's result, a test of which leads there, and of
    /// nothing that it calls itself.
    ///
    /// ```c
    /// if (n == -1 && PyErr_Occurred())
    /// if (PyList_Check(o) == 0 && PyErr_Occurred())       /* no: that is not asked for its error */
    /// ```
    fn is_guarded(&self, block: &Block) -> bool {
        calls(&block.instrs).next().is_none_or(is_asking)
            && !block.predecessors.is_empty()
            && block.predecessors.iter().all(|&it| self.guards(it, block))
    }

    /// Whether `before` ends with a test of a call's result, which fails where it leads to `block`.
    fn guards(&self, before: BlockId, block: &Block) -> bool {
        let end = self.cfg.block(before);
        let Terminator::Branch {
            condition, then, ..
        } = &end.terminator
        else {
            return false;
        };
        let holds = std::ptr::eq(self.cfg.block(*then), block);
        let index = end.instrs.len();
        let state = self.pending.state(Point {
            block: before,
            index,
        });
        is_failure(condition, holds)
            && state.is_some_and(|mut worlds| {
                let mut worlds = worlds.iter_mut();
                worlds.any(|world| {
                    let value = world.of(&condition.lhs);
                    value.signs.may_be_error(condition, holds)
                })
            })
    }

    /// Whether `look`, which gets each block behind the point with its steps there, finds it.
    fn walk(&self, mut look: impl FnMut(&Block, &[Instr]) -> Found) -> bool {
        let mut entered = BTreeSet::new();
        let mut open = vec![self.from];
        while let Some(Point { block, index }) = open.pop() {
            let block = self.cfg.block(block);
            match look(block, &block.instrs[index..]) {
                Found::Yes => return true,
                Found::NoMore => {}
                Found::NotYet => {
                    let next = block
                        .successors
                        .iter()
                        .filter(|&&next| entered.insert(next));
                    open.extend(next.map(|&block| Point { block, index: 0 }));
                }
            }
        }
        false
    }
}

/// Whether a walk has found what it looks for.
enum Found {
    Yes,
    NotYet,
    /// It is not there, nor behind it.
    NoMore,
}

pub(super) fn asks(instrs: &[Instr]) -> bool {
    calls(instrs).any(is_asking)
}

fn calls(instrs: &[Instr]) -> impl Iterator<Item = &Callee> {
    instrs.iter().filter_map(|instr| match &instr.kind {
        InstrKind::Call { callee, .. } => Some(callee),
        _ => None,
    })
}

pub(super) fn is_asking(callee: &Callee) -> bool {
    matches!(callee, Callee::Named(name) if &**name == "PyErr_Occurred")
}

/// Whether `value` is what a call in `block` makes, which fails for nothing but missing memory.
fn is_new_object(block: &Block, value: TempId) -> bool {
    block.instrs.iter().any(|instr| match &instr.kind {
        InstrKind::Call {
            dst,
            callee: Callee::Named(name),
            ..
        } if *dst == value => capi::effects(name)
            .is_some_and(|effects| effects.returns == Returns::New && !effects.runs_python),
        _ => false,
    })
}

/// Whether the outcome of a test may say of an error: equal to something, or less.
fn is_failure(condition: &Condition, holds: bool) -> bool {
    matches!(
        (condition.comparison, holds),
        (Comparison::Equal | Comparison::Less, true)
            | (Comparison::NotEqual | Comparison::GreaterOrEqual, false)
    )
}

/// Whether a comparison tells the errors of a value that says `signs` from its other values.
fn is_error_test(comparison: Comparison, rhs: &Operand, signs: &Signs) -> bool {
    match rhs {
        Operand::Null => signs.asked_by(comparison, 0),
        Operand::Int(number) => signs.asked_by(comparison, *number),
        _ => false,
    }
}

/// The variable that an operand of `block` was read from.
fn local_of(block: &Block, operand: &Operand) -> Option<LocalId> {
    read_from(block, operand)?.as_local()
}

/// Whether an operand of `block` was read from a number that is no variable of the function.
pub(super) fn is_from_memory(block: &Block, operand: &Operand) -> bool {
    read_from(block, operand).is_some_and(|place| place.as_local().is_none())
}

/// What an operand of `block` was read from.
fn read_from<'b>(block: &'b Block, operand: &Operand) -> Option<&'b Place> {
    let Operand::Temp(mut temp) = *operand else {
        return None;
    };
    let is_made = |kind: &InstrKind, temp: TempId| match kind {
        InstrKind::Load { dst, .. } | InstrKind::Copy { dst, .. } | InstrKind::Cast { dst, .. } => {
            *dst == temp
        }
        _ => false,
    };
    for instr in block.instrs.iter().rev() {
        match &instr.kind {
            kind if !is_made(kind, temp) => {}
            InstrKind::Load { place, .. } => return Some(place),
            InstrKind::Copy {
                src: Operand::Temp(from),
                ..
            }
            | InstrKind::Cast {
                src: Operand::Temp(from),
                ..
            } => temp = *from,
            _ => return None,
        }
    }
    None
}
