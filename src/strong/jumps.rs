//! Functions that a jump of the C library may come back into: what they own by then is not released,
//! or once more.
//!
//! ```c
//! if (setjmp(png_jmpbuf(png))) {
//!     png_destroy_write_struct(&png, &info);
//!     return NULL;                        /* `row` is still owned */
//! }
//! row = PyList_GetItemRef(rows, i);
//! png_write_row(png, PyBytes_AS_STRING(row));
//! Py_DECREF(row);
//! ```

use std::collections::BTreeSet;

use super::emit::Draft;
use super::pending::entered::exceptions;
use super::plan::Lookup;
use super::scene::Scene;
use crate::ast::{ExprId, Tree};
use crate::cfg::{Cfg, reaches};
use crate::rule::PackageCx;

/// What a jump of the C library comes back to.
const TARGETS: [&str; 5] = [
    "__builtin_setjmp",
    "__sigsetjmp",
    "_setjmp",
    "setjmp",
    "sigsetjmp",
];

/// What jumps there.
const JUMPS: [&str; 4] = ["__builtin_longjmp", "_longjmp", "longjmp", "siglongjmp"];

/// What the function around `call` may be jumped back to, while it does something from there on.
pub(crate) fn jumped_back<'t>(tree: &'t Tree, cfg: &Cfg, call: ExprId) -> Option<&'t str> {
    let at = cfg.call(call)?;
    let is_near = |target| reaches(cfg, target, at, &[]) || reaches(cfg, at, target, &[]);
    let mut calls = tree.calls().filter(|(_, name)| TARGETS.contains(name));
    let target = calls.find(|&(target, _)| cfg.call(target).is_some_and(is_near));
    target.map(|(_, name)| name)
}

impl Draft<'_, '_> {
    /// Notes what is open where a lookup gives a reference of its own: the order in which it runs, and
    /// whether the function may be jumped back into while it owns that.
    pub(in crate::strong) fn doubt(&mut self, lookup: &Lookup) {
        self.doubt_order(lookup);
        self.doubt_untested(lookup);
        self.doubt_gone(lookup);
        self.doubt_exception(lookup);
        if let Some(name) = jumped_back(self.scene.tree, self.scene.cfg, lookup.call) {
            self.fix.assume(format!(
                "nothing jumps back to `{name}` while the function owns the object: it would not be \
                 released, or twice"
            ));
        }
        if let Some(name) = jumps_over(self.scene, lookup.call) {
            self.fix.assume(format!(
                "`{name}` does not jump over the function while that owns the object: it would never \
                 be released"
            ));
        }
    }
}

/// What runs from `call` on and may end by a jump to a caller of the function.
fn jumps_over<'s>(scene: &'s Scene<'_>, call: ExprId) -> Option<&'s str> {
    let jumping = &scene.cx.exceptions(exceptions).jumping;
    if jumping.is_empty() {
        return None;
    }
    let at = scene.cfg.call(call)?;
    let runs = |other| {
        let other = scene.cfg.call(other);
        other.is_some_and(|other| reaches(scene.cfg, at.next(), other, &[]))
    };
    let mut calls = scene.tree.calls();
    let found = calls.find(|&(other, name)| jumping.contains(name) && runs(other));
    found.map(|(_, name)| name)
}

/// The functions that may end by a jump to one of their callers: those of the C library, and those of
/// the package that call them and that nothing jumps back into.
///
/// ```c
/// static void fail(Parser *p) { longjmp(p->env, 1); }
/// static void expect(Parser *p, int c) { if (next(p) != c) fail(p); }
/// ```
pub(super) fn jumping(cx: &PackageCx<'_>) -> BTreeSet<Box<str>> {
    let used = JUMPS.iter().filter(|name| !cx.calls_to(name).is_empty());
    let mut found: BTreeSet<Box<str>> = used.map(|&name| name.into()).collect();
    let mut open: Vec<Box<str>> = found.iter().cloned().collect();
    while let Some(name) = open.pop() {
        for site in cx.calls_to(&name) {
            let Some(caller) = cx.function(site.item) else {
                continue;
            };
            let mut calls = caller.tree.calls();
            let is_target = calls.any(|(_, name)| TARGETS.contains(&name));
            if !is_target && found.insert(caller.name.as_str().into()) {
                open.push(caller.name.as_str().into());
            }
        }
    }
    found
}
