//! Whether the code behind a point still asks for the errors of calls before it.
//!
//! ```c
//! if (n < 0) …            if (n == -1 && PyErr_Occurred()) …      return result;
//! if (PyErr_Occurred()) … /* asks for the errors of all calls */
//! ```

use std::collections::BTreeSet;

use super::raising::Signs;
use crate::ast::LocalId;
use crate::cfg::{
    Block, BlockId, Callee, Cfg, Comparison, Condition, InstrKind, Operand, Point, TempId,
    Terminator,
};

/// What is asked for behind a point.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// Variables, with the tests of them.
    tests: Vec<(LocalId, Test)>,
    /// Whether it asks for errors without saying of what.
    pub asks: bool,
}

#[derive(Debug)]
enum Test {
    Compared(Comparison, Operand),
    /// It is returned, or decides whether to ask for an error.
    Handed,
}

impl Later {
    pub(super) fn new(cfg: &Cfg, from: Point) -> Self {
        let mut later = Self::default();
        later.block(cfg, from.block, from.index);
        let mut entered = BTreeSet::new();
        let mut open = cfg.block(from.block).successors.clone();
        while let Some(block) = open.pop() {
            if entered.insert(block) {
                later.block(cfg, block, 0);
                open.extend(&cfg.block(block).successors);
            }
        }
        later
    }

    /// Whether a variable that says `signs` of an error is asked for it.
    pub(super) fn tests(&self, local: LocalId, signs: &Signs) -> bool {
        let mut tests = self.tests.iter().filter(|(of, _)| *of == local);
        tests.any(|(_, test)| match test {
            Test::Handed => true,
            Test::Compared(comparison, rhs) => is_error_test(*comparison, rhs, signs),
        })
    }

    /// Notes what `block` asks for from the instruction `first` on.
    fn block(&mut self, cfg: &Cfg, id: BlockId, first: usize) {
        let block = cfg.block(id);
        match &block.terminator {
            Terminator::Branch { condition, .. } => {
                let compared = Test::Compared(condition.comparison, condition.rhs.clone());
                let local = local_of(block, &condition.lhs);
                self.tests.extend(local.map(|local| (local, compared)));
            }
            Terminator::Return(Some(value), _) => {
                let local = local_of(block, value);
                self.tests.extend(local.map(|local| (local, Test::Handed)));
            }
            _ => {}
        }
        let asks = block.instrs[first..].iter().any(|instr| {
            matches!(&instr.kind, InstrKind::Call { callee: Callee::Named(name), .. }
                if &**name == "PyErr_Occurred")
        });
        if asks {
            self.asks |= !self.is_guarded(cfg, block);
        }
    }

    /// Whether a test of some value leads to `block`: it asks for the error of that.
    fn is_guarded(&mut self, cfg: &Cfg, block: &Block) -> bool {
        let mut guarded = !block.predecessors.is_empty();
        for &before in &block.predecessors {
            let before = cfg.block(before);
            let Terminator::Branch {
                condition, then, ..
            } = &before.terminator
            else {
                guarded = false;
                continue;
            };
            let holds = std::ptr::eq(cfg.block(*then), block);
            guarded &= is_failure(condition, holds);
            let local = local_of(before, &condition.lhs);
            self.tests.extend(local.map(|local| (local, Test::Handed)));
        }
        guarded
    }
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
            InstrKind::Load { place, .. } => return place.as_local(),
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
