//! Whether the container, and what is looked up, is still there for the lookup.
//!
//! ```c
//! names = PyObject_GetAttrString(o, "names");
//! Py_DECREF(names);                           /* `o` keeps it, until another thread sets `names` */
//! item = PyList_GetItemRef(names, 0);
//! ```

use super::Draft;
use crate::capi::{OldErrors, Replacement};
use crate::program::CallSite;
use crate::strong::exits::exit::Failure;
use crate::strong::given_up::Body;
use crate::strong::pending::missed::asks_for_error;
use crate::strong::plan::Lookup;

impl Draft<'_, '_> {
    /// Notes that nothing tests whether the lookup gave something, and that the function has no exit
    /// for that.
    pub(in crate::strong) fn doubt_untested(&mut self, lookup: &Lookup) {
        if lookup.failure == Failure::Untested {
            let strong = lookup.replacement.strong;
            self.fix.assume(format!(
                "no other thread makes the list shorter (if one does, `{strong}` returns `NULL`, \
                 which the function does not handle)"
            ));
        }
    }

    /// Notes that nobody but others keeps the container, which the function has given up.
    pub(in crate::strong) fn doubt_container(&mut self, lookup: &Lookup) {
        let scene = self.scene;
        let container = scene.call(lookup.call).and_then(|(_, args)| args.first());
        let container = container.and_then(|&it| scene.as_local(scene.tree.without_casts(it)));
        let body = Body {
            cx: scene.cx,
            tree: scene.tree,
            cfg: scene.cfg,
        };
        if let Some((local, call)) = container.zip(scene.cfg.call(lookup.call))
            && body.is_let_go(local, call)
        {
            let name = &scene.tree.local(local).name;
            let strong = lookup.replacement.strong;
            self.fix.assume(format!(
                "something else keeps `{name}` alive until `{strong}` is called (the function has \
                 already given up its reference)"
            ));
        }
    }

    /// Notes that the old function found nothing in what is no dict, and the new one minds.
    ///
    /// ```c
    /// d = PyObject_GetAttrString(cls, "__dict__");    /* of a class: a mappingproxy */
    /// v = PyDict_GetItemString(d, "x");
    /// ```
    pub(in crate::strong) fn doubt_dict(&mut self, lookup: &Lookup) {
        let site = CallSite {
            item: self.scene.item,
            expr: lookup.call,
        };
        let Replacement {
            borrowed, strong, ..
        } = lookup.replacement;
        let is_swallowed = lookup.replacement.errors == OldErrors::Swallowed;
        if is_swallowed && self.scene.cx.is_any_object(site, 0) {
            self.fix.assume(format!(
                "the first argument is a dict (for other objects `{borrowed}` found nothing, but \
                 `{strong}` raises `SystemError`)"
            ));
        }
    }

    /// Notes that a slot of the list may not be filled yet: the old function gave `NULL` for it
    /// without an exception, and the new one must not read it.
    pub(in crate::strong) fn doubt_gaps(&mut self, lookup: &Lookup) {
        let replacement = lookup.replacement;
        if !replacement.reads_list() {
            return;
        }
        let site = CallSite {
            item: self.scene.item,
            expr: lookup.call,
        };
        let asks = || asks_for_error(self.scene, lookup.call);
        let asks = replacement.errors == OldErrors::Raised && asks();
        let why = match asks {
            true => "the function tests whether `NULL` is an error",
            false if self.scene.cx.may_have_gaps(site) => {
                "it is created with empty slots, and the function continues with `NULL`"
            }
            false => return,
        };
        self.fix.assume(format!(
            "all slots of the list are filled (`{}` crashes on an empty slot, and {why})",
            replacement.strong
        ));
    }
}
