//! Objects that live longer than they did: as long as the reference of their own is there.
//!
//! ```c
//! item = PyList_GetItemRef(self->cursors, i);   /* a weak reference, which only the list had */
//! cursor = referent(item);
//! close(cursor);                                /* takes it out of the list: it lives on here */
//! Py_DECREF(item);
//! ```

use super::emit::Draft;
use super::follow::slots::Slot;
use super::jumps::jumped_back;
use super::plan::Planned;
use crate::ast::ExprId;
use crate::capi::Absent;
use crate::cfg::{Cfg, Point, Source, reaches};
use crate::edit::Assumption;
use crate::facts::{Claim, Fact};
use crate::rule::Asks;

impl Draft<'_, '_> {
    /// Notes what is open about the references that the code has now.
    pub(in crate::strong) fn doubt_ownership(&mut self, planned: &Planned) {
        self.doubt_repairs(planned);
        self.doubt_lifetime(planned);
        self.doubt_errno(&planned.decisions);
    }

    /// Notes a call, made while the reference is held, to which that makes a difference: it lets the
    /// container's own go and then asks whether something is dead, or does not come back.
    fn doubt_lifetime(&mut self, planned: &Planned) {
        let scene = self.scene;
        let lifetimes = scene.cx.lifetimes();
        let calls = self.held_over(planned);
        let names = calls.iter().map(|&call| scene.tree.called(call));
        // A weak reference keeps nothing alive: whoever drops the last reference to its referent
        // while that is in use frees it under the old code's feet.
        let mut rows = planned.home.lookups.iter().map(|it| it.replacement);
        let is_in_container = rows.any(|row| row.absent != Absent::None);
        let asked = names
            .clone()
            .find_map(|name| lifetimes.asked_by(scene.cx, name))
            .filter(|_| is_in_container);
        let name = &planned.home.name;
        if let Some((function, asks)) = asked {
            let how = match asks {
                Asks::WeakReferences => "it looks at weak references",
                Asks::Destroyed => "it reads what a destructor writes",
            };
            let text = || {
                format!(
                    "`{function}()` works if `{name}` is still alive (it may remove the object \
                     from its container while this function holds it, and {how})"
                )
            };
            let assumption = self.claim(Claim::LetsLive, function, Some(how), text);
            self.fix.assume(assumption);
        }
        let mut lookups = planned.home.lookups.iter();
        let is_target = lookups.any(|it| jumped_back(scene.tree, scene.cfg, it.call).is_some());
        let jumping = names.flatten().find(|name| lifetimes.may_jump(name));
        if let Some(function) = jumping.filter(|_| !is_target) {
            let text = || {
                format!(
                    "`{function}()` does not leave with `longjmp` while the function owns `{name}`, \
                     which would then not be released"
                )
            };
            let assumption = self.claim(Claim::NoLongjmp, function, None, text);
            self.fix.assume(assumption);
        }
    }

    /// The claim about all calls of `function`; `text` is about this call alone, if they differ.
    fn claim(
        &self,
        claim: Claim,
        function: &str,
        with: Option<&str>,
        text: impl Fn() -> String,
    ) -> Assumption {
        let program = self.scene.cx.program;
        match program.named_function(program.item(self.scene.item), function) {
            Some(function) => Fact::new(claim, function.with(with)).into(),
            None => text().into(),
        }
    }

    /// The calls that run on a path from a lookup of a home to a release.
    fn held_over(&self, planned: &Planned) -> Vec<ExprId> {
        let (tree, cfg) = (self.scene.tree, self.scene.cfg);
        let slots = planned.decisions.releases.keys();
        let ends: Vec<Point> = slots.filter_map(|slot| point_of(cfg, *slot)).collect();
        let lookups = planned.home.lookups.iter();
        let lookups: Vec<Point> = lookups.filter_map(|it| cfg.call(it.call)).collect();
        let is_held = |call: &ExprId| {
            let Some(at) = cfg.call(*call).filter(|at| !lookups.contains(at)) else {
                return false;
            };
            let mut begins = lookups.iter();
            begins.any(|begin| reaches(cfg, begin.next(), at, &ends))
                && ends
                    .iter()
                    .any(|end| reaches(cfg, at.next(), *end, &lookups))
        };
        tree.expr_ids().filter(is_held).collect()
    }
}

/// Where what is written at a slot runs, or what follows it where the way there is an edge.
pub(in crate::strong) fn point_of(cfg: &Cfg, slot: Slot) -> Option<Point> {
    match slot {
        Slot::Before(stmt) | Slot::Inside(stmt) => cfg.before(stmt),
        Slot::After(stmt) | Slot::Else(stmt) => cfg.after(stmt),
        Slot::InReturn(stmt) => {
            let mut returns = cfg.returns();
            returns.find(|&at| cfg.source(at) == Some(Source::Stmt(stmt)))
        }
    }
}
