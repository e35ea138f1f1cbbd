//! What the function does between a call and a jump to the exit that is taken over for it: nothing
//! of that may matter to the exit. It is one there is a jump to before or behind the call.
//!
//! ```c
//! int err = 0, busy = 0;
//! item = PyList_GetItemRef(list, i);            /* an exit here must not go to `end` */
//! grab(self);
//! err = PyList_Append(out, item);
//! if (err < 0)
//!     goto end;
//! …
//! end:
//!     let_go(self);
//!     return err < 0 ? NULL : out;
//! ```

use super::Exits;
use super::begun::{ends_again, may_begin};
use super::branch::{Branch, value_before};
use super::read_behind::{Reads, compared};
use super::steady::{Way, is_idle, start};
use super::undone::undone;
use crate::ast::{ExprId, StmtId, StmtKind};
use crate::cfg::{Instr, Point, Source, reaches};
use crate::strong::scene::Scene;

/// A jump to an exit, by the `if` that asks for the failure.
#[derive(Clone, Copy)]
struct Jump {
    test: StmtId,
    then: StmtId,
}

impl<'s, 'a> Exits<'s, 'a> {
    /// Whether what the function does between the call and the exit `branch`, or another one that
    /// goes to the same label after a failure, is nothing to what is taken over, and the exit asks
    /// what has to be asked.
    pub(super) fn is_apart_from(&self, branch: &Branch) -> bool {
        self.asks_who_owns(branch) && self.is_as_far(branch) && self.is_free_from(branch)
    }

    fn is_free_from(&self, branch: &Branch) -> bool {
        let Some(start) = start(self.scene, branch) else {
            return false;
        };
        let reads = Reads { exits: self, start };
        let others = self.others_to(branch).map(|other| Jump {
            test: other.test,
            then: other.then,
        });
        let own = Jump {
            test: branch.test,
            then: branch.then,
        };
        [own].into_iter().chain(others).any(|jump| {
            let Some(to) = self.scene.cfg.before(jump.then) else {
                return false;
            };
            !self.tells_apart(&reads, jump) && self.is_free(&reads, jump, to)
        })
    }

    /// The other branches that just release and go to the label of `branch`, after a failure.
    fn others_to(&self, branch: &Branch) -> impl Iterator<Item = &Branch> {
        let scene = self.scene;
        let label = self.label(branch);
        let test = branch.test;
        self.branches.iter().filter(move |other| {
            let mut releases = other.releases.iter();
            label.is_some()
                && other.evident
                && other.test != test
                && self.label(other) == label
                && releases.all(|&stmt| undone(scene, stmt).is_none())
        })
    }

    /// Whether nothing that matters from the exit on happens between the call and `jump`, which
    /// is at `to`, or the other way round.
    fn is_free(&self, reads: &Reads<'_, 's, 'a>, jump: Jump, to: Point) -> bool {
        let scene = self.scene;
        let cfg = scene.cfg;
        let (Some(from), Some(call)) = (cfg.before(jump.test), cfg.call(self.call)) else {
            return false;
        };
        let is_asked = |call: ExprId| is_asked_for(scene, jump.test, call);
        let begins = |it: &Instr| may_begin(scene, it, reads.start, is_asked);
        let sets = |it: &Instr| reads.is_set_by(it);
        let sets_or_ends = |it: &Instr| reads.is_set_by(it) || ends_again(scene, it, reads.start);
        let behind = reaches(cfg, call.next(), to, &[]);
        let before = reaches(cfg, from, call, &[]);
        let entry = scene.cfg.before(scene.function.body);
        let is_passed_always = || entry.is_some_and(|entry| !reaches(cfg, entry, call, &[from]));
        // What is asked for has not failed where the call is.
        let is_passed = |at: Point| {
            let asks = match cfg.source(at) {
                Some(Source::Expr(expr)) => is_asked(expr),
                _ => false,
            };
            asks || reaches(cfg, from, at, &[]) && reaches(cfg, at.next(), call, &[from])
        };
        let leads = |at: Point, to: Point| reaches(cfg, at.next(), to, &[]);
        let way = Way::from(self, to);
        behind
            && way.is_some_and(|way| {
                let is_steady = !way.passes(sets)
                    || !way.passes(|it| reads.is_first_set_by(it))
                        && is_idle(&way, reads.start, sets);
                is_steady && !way.passes(begins)
            })
            || before
                && is_passed_always()
                && !any(scene, |at, it| sets_or_ends(it) && is_passed(at))
            || !behind
                && !before
                && !any(scene, |at, it| match (leads(at, call), leads(at, to)) {
                    (true, false) => sets_or_ends(it),
                    (false, true) => sets(it) || begins(it),
                    _ => false,
                })
    }

    /// Whether the test of `branch`, right before the call, finds nothing that matters to the exit.
    pub(super) fn finds_the_same(&self, branch: &Branch) -> bool {
        start(self.scene, branch).is_some_and(|start| {
            let reads = Reads { exits: self, start };
            let jump = Jump {
                test: branch.test,
                then: branch.then,
            };
            !self.tells_apart(&reads, jump)
        })
    }

    /// Whether the test of `jump` compares what is read from the exit on: it is not the same where
    /// the jump is taken and where the call is.
    fn tells_apart(&self, reads: &Reads<'_, 's, 'a>, jump: Jump) -> bool {
        let StmtKind::If { cond, .. } = self.scene.tree.stmt(jump.test).kind else {
            return true;
        };
        let compared = compared(self.scene, cond);
        compared.into_iter().any(|place| reads.is_read(place))
    }
}

/// Whether a step of the function is like that.
fn any(scene: &Scene<'_>, is_like: impl Fn(Point, &Instr) -> bool) -> bool {
    scene.cfg.iter().any(|(block, content)| {
        let mut steps = (0..).zip(&content.instrs);
        steps.any(|(index, instr)| is_like(Point { block, index }, instr))
    })
}

/// Whether the condition of `test` is about the result of `call`.
fn is_asked_for(scene: &Scene<'_>, test: StmtId, call: ExprId) -> bool {
    let StmtKind::If { cond, .. } = scene.tree.stmt(test).kind else {
        return false;
    };
    let is_in = |whole: ExprId| {
        let whole = scene.tree.expr(whole).range;
        whole.contains(scene.tree.expr(call).range)
    };
    let mut parts = scene.tree.exprs_in(scene.tree.expr(cond).range);
    is_in(cond) || parts.any(|(part, _)| value_before(scene, test, part).is_some_and(is_in))
}
