//! Critical sections that cover a borrowed value from the call to its last use.

use crate::capi;
use crate::cfg::{Operand, Point};

use super::Cx;
use super::borrow::Borrow;
use super::flow::{Flow, Origin};

impl Cx<'_> {
    /// Why the container is locked as long as the value is in use; `None` if it is not.
    ///
    /// A section counts if every path to the call opens it on the same variable, and nothing that
    /// may suspend or end it runs while the value is in use. Locks of other kinds do not count:
    /// nobody knows whether those who change the container take them.
    pub(super) fn guard(
        &self,
        flow: &Flow<'_>,
        container: &Operand,
        site: Point,
        borrow: &Borrow<'_>,
    ) -> Option<String> {
        let locked = flow.origins(container);
        if locked.len() != 1 || !locked.iter().all(is_stable) {
            return None;
        }
        let begins = calls(
            flow,
            &["PyCriticalSection_Begin", "PyCriticalSection2_Begin"],
        );
        let begin = begins.into_iter().find(|&begin| {
            let args = flow.call(begin).map_or(&[][..], |(_, args)| args);
            args.iter().skip(1).any(|arg| flow.origins(arg) == locked) && is_open(flow, begin, site)
        })?;
        if borrow.escapes() || self.is_suspended(flow, site, borrow) {
            return None;
        }
        let line = self.line(flow, begin);
        Some(format!(
            "the critical section that begins on line {line} locks the container while the value \
             is in use"
        ))
    }

    fn is_suspended(&self, flow: &Flow<'_>, site: Point, borrow: &Borrow<'_>) -> bool {
        flow.instrs().any(|(point, _)| {
            let suspends = match flow.call(point) {
                None => false,
                Some((None, _)) => true,
                Some((Some(name), _)) => may_suspend(name),
            };
            suspends
                && flow.reaches(site, point, borrow.adoptions())
                && borrow.is_live_at(point)
                && point != site
        })
    }
}

/// Whether the value of such an origin is the same at each use.
fn is_stable(origin: &Origin) -> bool {
    matches!(origin, Origin::Param(_) | Origin::Call(_) | Origin::Out(..))
}

/// Whether the section that begins at `begin` is open at `site` on every path.
fn is_open(flow: &Flow<'_>, begin: Point, site: Point) -> bool {
    let entry = Point {
        block: crate::cfg::Cfg::ENTRY,
        index: 0,
    };
    let skipped = begin != entry && flow.reaches(entry, site, &[begin]);
    let ends = calls(flow, &["PyCriticalSection_End", "PyCriticalSection2_End"]);
    !skipped
        && !ends
            .into_iter()
            .any(|end| flow.reaches(end, site, &[begin]))
}

fn calls(flow: &Flow<'_>, names: &[&str]) -> Vec<Point> {
    flow.instrs()
        .map(|(point, _)| point)
        .filter(|&point| {
            let call = flow.call(point);
            matches!(call, Some((Some(name), _)) if names.contains(&name))
        })
        .collect()
}

/// Whether the lock may be let go during the call, or by it.
fn may_suspend(name: &str) -> bool {
    if name.starts_with("PyCriticalSection") {
        return true;
    }
    capi::effects(name).is_none_or(|effects| effects.runs_python || effects.locks.is_some())
}
