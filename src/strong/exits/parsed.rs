//! What `PyArg_ParseTuple` and its kin store that the function has to release: by converters, and as
//! text in an encoding.
//!
//! ```c
//! if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &list))
//!     return NULL;
//! item = PyList_GetItemRef(list, 0);            /* `return NULL` leaks `path` */
//! ```

use super::held::frees;
use super::state::{Contents, GIVEN, NULL, OTHER, OWNED};
use crate::ast::{ExprId, LocalId};
use crate::capi::{OutKind, Stored, stored};
use crate::cfg::Source;
use crate::strong::scene::Scene;

/// What `local` holds after a call that parses arguments got its address as argument `at`; `None` if
/// that is nothing which the function owns.
pub(super) fn parsed(
    scene: &Scene<'_>,
    source: Source,
    at: usize,
    local: LocalId,
    before: Contents,
) -> Option<Contents> {
    let Source::Expr(call) = source else {
        return None;
    };
    let null = before & NULL;
    match kind(scene, call, at)? {
        // `es#` may fill a buffer of the caller's.
        OutKind::Memory => Some(before & OTHER | null | OWNED),
        OutKind::Converted if gives_new(scene, call, at) => Some(null | OWNED),
        OutKind::Converted if is_freed(scene, local) => Some(GIVEN | NULL | OWNED),
        _ => None,
    }
}

/// Whether a variable gets something that way.
pub(super) fn is_parsed(scene: &Scene<'_>, local: LocalId) -> bool {
    let mut calls = scene.tree.calls();
    calls.any(|(call, _)| {
        let args = scene.call(call).map_or(&[][..], |(_, args)| args);
        let mut args = args.iter().enumerate();
        args.any(|(at, &arg)| {
            let is_it = scene.tree.as_address(scene.tree.without_casts(arg)) == Some(local);
            let kind = || kind(scene, call, at);
            is_it && matches!(kind(), Some(OutKind::Memory | OutKind::Converted))
        })
    })
}

fn kind(scene: &Scene<'_>, call: ExprId, at: usize) -> Option<OutKind> {
    let (name, args) = scene.call(call)?;
    let format = |at: usize| scene.tree.as_string(*args.get(at)?);
    match stored(name, at, format) {
        Stored::Known(kind) => Some(kind),
        Stored::Nothing | Stored::Unknown => None,
    }
}

/// Whether the converter in front of argument `at` is one of Python's, which give new references.
fn gives_new(scene: &Scene<'_>, call: ExprId, at: usize) -> bool {
    let args = scene.call(call).map_or(&[][..], |(_, args)| args);
    let converter = at.checked_sub(1).and_then(|at| args.get(at));
    let name = converter.and_then(|&it| scene.tree.callee_name(scene.tree.without_casts(it)));
    matches!(name, Some("PyUnicode_FSConverter" | "PyUnicode_FSDecoder"))
}

/// Whether the function releases what a variable holds, or a part of that.
fn is_freed(scene: &Scene<'_>, local: LocalId) -> bool {
    let names_it = |&arg: &ExprId| {
        let mut inner = scene.tree.exprs_in(scene.tree.expr(arg).range);
        inner.any(|(expr, _)| scene.as_local(expr) == Some(local))
    };
    let mut calls = scene.tree.calls();
    calls.any(|(call, name)| {
        let args = scene.call(call).map_or(&[][..], |(_, args)| args);
        (frees(name) || name == "Py_CLEAR") && args.iter().any(names_it)
    })
}
