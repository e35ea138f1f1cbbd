//! Whether a list that was made with slots has an object in each of them.
//!
//! ```c
//! flags = PyList_New(2);
//! PyList_SET_ITEM(flags, 0, PyLong_FromLong(in));
//! PyList_SET_ITEM(flags, 1, PyLong_FromLong(out));
//! if (PyErr_Occurred())
//!     goto finally;
//! ```

use crate::cfg::{
    BlockId, Comparison, Condition, Dominators, Instr, Loop, Loops, Operand, Point, Terminator,
};

use super::flow::{Flow, Origin};

/// Most slots that are looked at.
const MAX_SLOTS: i64 = 16;

impl Flow<'_> {
    /// Whether every slot of the list that the call at `made` gives is filled when the step at
    /// `site` runs. One made with no items has none.
    pub(super) fn is_filled(&self, made: Point, site: Point) -> bool {
        let size = match self.call(made) {
            Some((Some("PyList_New"), [size])) if size.is_zero() => 0,
            Some((Some("PyList_New"), [Operand::Int(size)])) => *size,
            _ => return false,
        };
        size <= MAX_SLOTS && (0..size).all(|slot| self.is_slot_filled(made, slot, site))
    }

    /// Whether each path from `made` to `site` takes a loop over all slots that fills each of them.
    ///
    /// ```c
    /// list = PyList_New(n);
    /// for (i = 0; i < n; i++) { … PyList_SET_ITEM(list, i, item); }
    /// return list;
    /// ```
    pub(super) fn is_filled_by_loop(&self, made: Point, site: Point) -> bool {
        let Some((Some("PyList_New"), [size])) = self.call(made) else {
            return false;
        };
        let loops = Loops::new(&self.cfg, &Dominators::new(&self.cfg));
        let fills = |(point, _): (Point, &Instr)| {
            let (index, value) = self.stored_item(point, made)?;
            let around = loops.innermost(point.block)?;
            let is_stored = self.is_object(value, point) || self.is_checked(point, site);
            let is_whole = is_stored
                && self.is_counted_to(around.header, index, size)
                && self.is_in_each_turn(around, point);
            is_whole.then(|| self.end_of(around.header))
        };
        let fills: Vec<Point> = self.instrs().filter_map(fills).collect();
        !self.reaches(made, site, &fills)
    }

    /// Whether the loop with this header runs while `index` is less than `size`.
    fn is_counted_to(&self, header: BlockId, index: &Operand, size: &Operand) -> bool {
        let Terminator::Branch { condition, .. } = &self.cfg.block(header).terminator else {
            return false;
        };
        let is_same = |one: &Operand, other: &Operand| {
            one == other
                || self
                    .local(one)
                    .is_some_and(|it| self.local(other) == Some(it))
        };
        condition.comparison == Comparison::Less
            && is_same(&condition.lhs, index)
            && is_same(&condition.rhs, size)
    }

    /// Whether no turn of a loop ends without the step at `point`.
    fn is_in_each_turn(&self, around: &Loop, point: Point) -> bool {
        let start = Point {
            block: around.header,
            index: 0,
        };
        let mut latches = around.latches.iter();
        !latches.any(|&latch| self.reaches(start, self.end_of(latch), &[point]))
    }

    fn end_of(&self, block: BlockId) -> Point {
        let index = self.cfg.block(block).instrs.len();
        Point { block, index }
    }

    fn is_slot_filled(&self, made: Point, slot: i64, site: Point) -> bool {
        let fills: Vec<(Point, &Operand)> = self
            .instrs()
            .filter_map(|(point, _)| Some((point, self.value_for(point, made, slot)?)))
            .collect();
        let points: Vec<Point> = fills.iter().map(|(point, _)| *point).collect();
        !self.reaches(made, site, &points)
            && fills.iter().all(|(point, value)| {
                self.is_object(value, *point) || self.is_checked(*point, site)
            })
    }

    /// What the step at `point` stores in a slot of the list.
    fn value_for(&self, point: Point, made: Point, slot: i64) -> Option<&Operand> {
        let (index, value) = self.stored_item(point, made)?;
        let is_there = *index == Operand::Int(slot) || slot == 0 && index.is_zero();
        is_there.then_some(value)
    }

    /// The index and the value that the step at `point` stores in the list.
    fn stored_item(&self, point: Point, made: Point) -> Option<(&Operand, &Operand)> {
        let (Some("PyList_SET_ITEM" | "PyList_SetItem"), [list, index, value]) =
            self.call(point)?
        else {
            return None;
        };
        let is_it = self.origins(list) == [Origin::Call(made)];
        is_it.then_some((index, value))
    }

    /// Whether a value was found not to be `NULL` on every path to `to`.
    fn is_object(&self, value: &Operand, to: Point) -> bool {
        let origins = self.origins(value);
        !origins.is_empty()
            && origins.iter().all(|origin| {
                let Origin::Call(made) = origin else {
                    return false;
                };
                let asks = |condition: &Condition| {
                    self.origins(&condition.lhs) == [Origin::Call(*made)] && condition.rhs.is_zero()
                };
                !self.reaches(*made, to, &self.tests(to, Comparison::Equal, &asks))
            })
    }

    /// Whether every path from `from` to `to` finds that there is no exception.
    fn is_checked(&self, from: Point, to: Point) -> bool {
        let is_call = |name: &str, operand: &Operand| {
            let origins = self.origins(operand);
            let [Origin::Call(call)] = origins[..] else {
                return false;
            };
            matches!(self.call(call), Some((Some(called), _)) if called == name)
        };
        let asks = |condition: &Condition| {
            condition.rhs.is_zero() && is_call("PyErr_Occurred", &condition.lhs)
        };
        let tests = self.tests(to, Comparison::NotEqual, &asks);
        let drops = |(point, _)| {
            let called = self.call(point).and_then(|(name, _)| name);
            matches!(
                called,
                Some("PyErr_Clear" | "PyErr_Fetch" | "PyErr_GetRaisedException")
            ) && self.reaches(from, point, &tests)
        };
        !self.instrs().any(drops) && !self.reaches(from, to, &tests)
    }

    /// The ends of blocks that go on to `to` only where the comparison with zero does not hold.
    pub(super) fn tests(
        &self,
        to: Point,
        fails: Comparison,
        asks: &dyn Fn(&Condition) -> bool,
    ) -> Vec<Point> {
        let blocks = self.cfg.iter();
        let tests = blocks.filter_map(|(block, content)| {
            let Terminator::Branch {
                condition,
                then,
                otherwise,
            } = &content.terminator
            else {
                return None;
            };
            let failed = match condition.comparison {
                comparison if comparison == fails => *then,
                Comparison::Equal | Comparison::NotEqual => *otherwise,
                _ => return None,
            };
            let index = content.instrs.len();
            let is_test = asks(condition) && !self.leads(failed, to);
            is_test.then_some(Point { block, index })
        });
        tests.collect()
    }

    /// The block to which a test leads where what it asks for is zero.
    pub(super) fn where_zero(&self, asks: &dyn Fn(&Condition) -> bool) -> Option<BlockId> {
        let mut blocks = self.cfg.iter();
        blocks.find_map(|(_, content)| match &content.terminator {
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } if asks(condition) => match condition.comparison {
                Comparison::Equal => Some(*then),
                Comparison::NotEqual => Some(*otherwise),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether a path leads from the beginning of `block` to `to`.
    fn leads(&self, block: BlockId, to: Point) -> bool {
        block == to.block || self.reaches(Point { block, index: 0 }, to, &[])
    }
}
