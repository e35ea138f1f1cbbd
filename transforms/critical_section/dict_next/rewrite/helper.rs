//! The alternative to a section around the loop: the function keeps its exits and becomes a helper,
//! which is called in a section on the dict.
//!
//! ```c
//! static int
//! check_lock_held(PyObject *dict)
//! {
//!     while (PyDict_Next(dict, &pos, &key, &value)) {
//!         if (!PyUnicode_Check(key))
//!             return -1;
//!     }
//!     return 0;
//! }
//! ```

use super::{Rewrite, Section};
use crate::ast::ExprKind;
use crate::edit::{Edit, Fix, Need};
use crate::transforms::critical_section::dict_next::exits::{Exit, Exits};
use crate::transforms::critical_section::dict_next::plan::is_computed;
use crate::transforms::critical_section::dict_next::scope::inside;
use crate::transforms::critical_section::dict_next::text::gil_word;
use crate::transforms::critical_section::dict_next::thread::gives_up_unseen;
use crate::transforms::split::Split;

impl Section<'_> {
    /// The fix that makes a helper of the function; `None` if the loop has no exits, which are what
    /// it is for, or if the section cannot be held all the time that the function runs.
    pub(in super::super) fn helper(&self, exits: &Exits) -> Option<Fix> {
        let scope = self.scope;
        let dict = scope.local(self.site.dict)?;
        let locked = scope
            .function
            .params
            .iter()
            .position(|&param| param == dict)?;
        let whole = scope.function.range;
        if exits.out.is_empty() || scope.is_written(dict, whole, None) || self.has_sections() {
            return None;
        }
        let (file, place) = scope.cx.item(scope.item).place;
        let rewrite = Rewrite::new(self, file);
        if gil_word(rewrite.draft.bytes, rewrite.draft.tokens, place, &[]).is_some()
            || gives_up_unseen(scope)
        {
            return None;
        }
        let split = Split::new(scope.cx, scope.item, vec![locked]).ok()?;
        let mut fix = Fix::safe(format!(
            "lock `{}` in a critical section while `{}` runs",
            scope.name(dict),
            split.body_name
        ));
        fix.edits = split.edits(&[]);
        fix.edits.extend(self.held(rewrite, exits)?);
        fix.needs.push(Need::Compat {
            file,
            function: "Py_BEGIN_CRITICAL_SECTION",
        });
        fix.needs.extend(self.references.need(file));
        fix.assume(format!(
            "`{}` is not NULL when `{}` is called",
            scope.name(dict),
            scope.function.name
        ));
        Some(fix)
    }

    /// Whether the function enters a section of its own: inside of another it would suspend that.
    fn has_sections(&self) -> bool {
        let tree = self.scope.tree();
        tree.exprs.iter().any(|expr| match expr.kind {
            ExprKind::Call { callee, .. } => tree
                .callee_name(callee)
                .is_some_and(|name| name.starts_with("PyCriticalSection")),
            _ => false,
        })
    }

    /// The references to key and value, released in front of every exit as well; `None` if an
    /// exit computes its value with them.
    fn held(&self, mut rewrite: Rewrite<'_>, exits: &Exits) -> Option<Vec<Edit>> {
        let release = self.references.release();
        if !release.is_empty() {
            rewrite.references().ok()?;
            let body = self.site.body_range(self.scope);
            let in_body = |exit: &&Exit| inside(self.scope.range(exit.stmt), body);
            for exit in exits.out.iter().filter(in_body) {
                if is_computed(self.scope, self.site, exit) {
                    return None;
                }
                let span = rewrite.draft.span(exit.stmt).ok()?;
                rewrite.draft.surround(span, &release, &[]);
            }
        }
        Some(rewrite.draft.edits())
    }
}
