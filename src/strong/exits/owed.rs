//! Exits that leave out what all other ways out do about something that had begun by then.
//!
//! ```c
//! PyList_Append(stack, key);
//! value = PyDict_GetItem(dict, key);            /* an exit here leaves `key` on the stack */
//! …
//! PyList_SetSlice(stack, n, n + 1, NULL);
//! return result;
//! ```

use super::bound::loop_around;
use super::way_out::{WayOut, words};
use crate::ast::{ExprId, LocalId};
use crate::cfg::{Point, reaches};
use crate::program::{Lasting, lasting};
use crate::strong::scene::Scene;

/// Whether an exit at `lookup`, whose result `local` gets, leaves out the rest of something that has
/// begun if it consists of `lines`.
pub(super) fn leaves_owed(
    scene: &Scene<'_>,
    lookup: ExprId,
    local: Option<LocalId>,
    lines: &[String],
) -> bool {
    let Some(at) = scene.cfg.call(lookup) else {
        return true;
    };
    let way_out = WayOut {
        scene,
        lookup,
        local,
        at,
        lines,
    };
    let around = loop_around(scene, lookup).map(|(around, ..)| scene.tree.stmt(around).range);
    let is_inside = |it: &Change| {
        let range = scene.tree.expr(it.expr).range;
        around.is_some_and(|around| around.contains(range))
    };
    let changes = scene.changes.get_or_init(|| changes(scene));
    // What is done to the result of the lookup is done where it has one.
    let counts = |rest: &Change| !way_out.speaks_of_result(rest.expr);
    let counts: Vec<bool> = changes.iter().map(counts).collect();
    changes.iter().any(|begun| {
        // What the loop does with each item is no end of what had begun before.
        let is_end = |at: &&usize| counts[**at] && (!is_inside(&changes[**at]) || is_inside(begun));
        let rest = begun.ends.iter().filter(is_end).map(|&at| &changes[at]);
        let rest: Vec<&Change> = rest.collect();
        let ends: Vec<Point> = rest.iter().map(|rest| rest.point).collect();
        !rest.is_empty()
            && reaches(scene.cfg, begun.point.next(), at, &ends)
            && way_out.leaves_out(rest.iter().map(|rest| rest.expr))
    })
}

/// A call or a write, with what it leaves behind.
#[derive(Debug)]
pub(in crate::strong) struct Change {
    expr: ExprId,
    point: Point,
    lasting: Vec<Lasting>,
    /// Those that may be the end of what it begins.
    ends: Vec<usize>,
}

impl Change {
    fn is_about_the_same(&self, rest: &Self) -> bool {
        let mut undone = rest.lasting.iter().filter(|it| !it.only_adds);
        undone.any(|it| self.lasting.iter().any(|begun| begun.meets(it)))
    }
}

fn changes(scene: &Scene<'_>) -> Vec<Change> {
    let change = |expr: ExprId| {
        let lasting = lasting(scene.cx.program, scene.tree, expr);
        if lasting.is_empty() {
            return None;
        }
        let point = scene.cfg.call(expr).or_else(|| scene.cfg.store(expr))?;
        Some(Change {
            expr,
            point,
            lasting,
            ends: Vec::new(),
        })
    };
    let mut changes: Vec<Change> = scene.tree.expr_ids().filter_map(change).collect();
    let words: Vec<String> = changes.iter().map(|it| words(scene, it.expr)).collect();
    for begun in 0..changes.len() {
        let may_end = |&rest: &usize| {
            let toggles = || rest != begun && scene.tree.toggles(changes[rest].expr);
            changes[begun].is_about_the_same(&changes[rest])
                && (words[begun] != words[rest] || toggles())
        };
        changes[begun].ends = (0..changes.len()).filter(may_end).collect();
    }
    changes
}
