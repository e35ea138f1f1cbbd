//! What the code found out before a lookup, and what it asks for behind it, where the new call
//! answers otherwise.
//!
//! ```c
//! if (PyDict_Contains(d, k)) {
//!     v = PyDict_GetItem(d, k);                 /* the key may be gone */
//!     use(v);
//! }
//! item = PyList_GetItem(o, i);
//! if (item == NULL && PyErr_ExceptionMatches(PyExc_SystemError))        /* is a `TypeError` now */
//! ```

use super::Draft;
use crate::ast::{ExprId, ExprKind, Name, Tree};
use crate::capi::{self, Absent};
use crate::cfg::reaches;
use crate::rule::PackageCx;
use crate::strong::pending::missed::reads_missing;
use crate::strong::plan::Lookup;
use crate::strong::scene::Scene;

/// Calls behind which a key is there, or that say whether it is.
const SETTLING: [&str; 8] = [
    "PyDict_Contains",
    "PyDict_ContainsString",
    "PyDict_SetDefault",
    "PyDict_SetItem",
    "PyDict_SetItemString",
    "PyMapping_HasKey",
    "PyMapping_HasKeyString",
    "PySequence_Contains",
];

/// How many callers away somebody asks which exception there is.
const MAX_DEPTH: usize = 2;

impl Draft<'_, '_> {
    /// Notes that a key which was there when the code asked may be gone, and that nothing tests that.
    pub(in crate::strong) fn doubt_gone(&mut self, lookup: &Lookup) {
        if lookup.replacement.absent == Absent::Error {
            return;
        }
        if let Some(name) = settled(self.scene, lookup.call)
            && reads_missing(self.scene, lookup.call)
        {
            let strong = lookup.replacement.strong;
            self.fix.assume(format!(
                "no other thread takes the key out behind `{name}`: nothing tests whether \
                 `{strong}` finds it"
            ));
        }
    }

    /// Notes that the new call raises another exception for what is no list, and somebody asks which
    /// one there is.
    pub(in crate::strong) fn doubt_exception(&mut self, lookup: &Lookup) {
        let scene = self.scene;
        if lookup.replacement.borrowed == "PyList_GetItem"
            && let Some(name) = asking(scene.cx, &scene.function.name, scene.tree, MAX_DEPTH)
        {
            let strong = lookup.replacement.strong;
            self.fix.assume(format!(
                "`{name}`, which asks for `SystemError`, does not mean the one for what is no list: \
                 `{strong}` raises `TypeError` there"
            ));
        }
    }
}

/// What told, or made sure, before `call` that its key is in its dict.
fn settled<'s>(scene: &'s Scene<'_>, call: ExprId) -> Option<&'s str> {
    let (_, args) = scene.call(call)?;
    let text = |arg: &ExprId| {
        let span = scene.span(scene.tree.without_casts(*arg))?;
        Some(scene.text(span))
    };
    let key = |args: &[ExprId]| match args {
        [dict, key, ..] => text(dict).zip(text(key)),
        _ => None,
    };
    let (wanted, at) = (key(args)?, scene.cfg.call(call)?);
    let mut calls = scene.tree.calls();
    let found = calls.find(|&(other, name)| {
        let is_lookup = || name.starts_with("PyDict_") && capi::replacement(name).is_some();
        let is_same = || scene.call(other).and_then(|(_, args)| key(args)) == Some(wanted.clone());
        let is_before = || {
            scene
                .cfg
                .call(other)
                .is_some_and(|it| reaches(scene.cfg, it.next(), at, &[]))
        };
        other != call && (SETTLING.contains(&name) || is_lookup()) && is_same() && is_before()
    });
    found.map(|(_, name)| name)
}

/// The function, or one that calls it, that asks whether an exception is a `SystemError`.
fn asking(cx: &PackageCx<'_>, function: &str, tree: &Tree, depth: usize) -> Option<String> {
    let is_it = |expr: &ExprId| matches!(&tree.expr(*expr).kind, ExprKind::Name(Name::Global(name)) if &**name == "PyExc_SystemError");
    let mut calls = tree.calls();
    let asks = calls.any(|(call, name)| {
        let args = match &tree.expr(call).kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        name.ends_with("ExceptionMatches") && args.iter().any(is_it)
    });
    if asks {
        return Some(function.to_owned());
    }
    let depth = depth.checked_sub(1)?;
    let mut callers = cx.calls_to(function).iter();
    callers.find_map(|site| {
        let caller = cx.function(site.item)?;
        asking(cx, &caller.name, &caller.tree, depth)
    })
}
