//! The dict that each thread has for itself: what a thread borrows from it, only that thread can
//! take away, with a GIL or without.
//!
//! ```c
//! dict = PyThreadState_GetDict();
//! context = PyDict_GetItemWithError(dict, context_key);
//! ```

use crate::cfg::Point;

use super::Cx;
use super::api::Use;
use super::borrow::{Borrow, Later};
use super::container::At;
use super::flow::Flow;
use super::sharing::{Root, Until};
use super::verdict::{SafeReason, SharedKind, Verdict, safe};

impl Cx<'_> {
    /// The verdict on the dict that the call of `name` at `point` gives.
    pub(super) fn thread_dict(&self, at: At<'_, '_>, point: Point, name: &str) -> Verdict {
        let root = Root::Step(point);
        let stays = match at.until {
            Until::Site => true,
            Until::LastUse(borrow) => self.stays_at_hand(at.flow, borrow, at.depth),
            Until::Forever => false,
        };
        let is_shared = || {
            let given = self.uses_above(at.flow, root, Use::Change, at.depth);
            let lost = self.shared_at(at.flow, root, at.site, at.until, at.depth);
            !given.is_empty() || lost.is_some()
        };
        if !stays || is_shared() {
            return Verdict::Shared(SharedKind::Interpreter);
        }
        let line = self.line(at.flow, point);
        safe(
            SafeReason::OwnThread,
            format!(
                "`{name}()` on line {line} returns the dict of this thread, which no other thread \
                 gets"
            ),
        )
    }

    /// Whether the value is in use only in the function and in those that it is returned to, all
    /// of which are known.
    fn stays_at_hand(&self, flow: &Flow<'_>, borrow: &Borrow<'_>, depth: u32) -> bool {
        let handed = match borrow.later() {
            Later::Nowhere => return true,
            Later::Anywhere => return false,
            Later::InCaller(handed) => handed,
        };
        let function = flow.function;
        let is_open = !function.is_static || self.calls.is_mentioned(&function.name);
        !is_open
            && depth > 0
            && self.calls_of(flow).into_iter().all(|call| {
                let caller = self.flow(call.item);
                caller.is_some_and(|caller| match caller.cfg.call(call.expr) {
                    Some(site) => {
                        let borrow = Borrow::through(self, caller, site, handed.clone());
                        self.stays_at_hand(caller, &borrow, depth - 1)
                    }
                    // Never evaluated.
                    None => true,
                })
            })
    }
}
