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

use super::emit::Draft;
use super::plan::Lookup;
use crate::ast::{ExprId, Tree};
use crate::capi;
use crate::cfg::{Cfg, reaches};

/// What the function around `call` may be jumped back to, while it does something from there on.
pub(crate) fn jumped_back<'t>(tree: &'t Tree, cfg: &Cfg, call: ExprId) -> Option<&'t str> {
    let at = cfg.call(call)?;
    let is_near = |target| reaches(cfg, target, at, &[]) || reaches(cfg, at, target, &[]);
    let mut calls = tree.calls().filter(|(_, name)| capi::is_jumped_to(name));
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
        self.doubt_heard(lookup);
        self.doubt_exception(lookup);
        if let Some(name) = jumped_back(self.scene.tree, self.scene.cfg, lookup.call) {
            self.fix.assume(format!(
                "nothing jumps back to `{name}` while the function owns the object (the object \
                 would then not be released, or be released twice)"
            ));
        }
    }
}
