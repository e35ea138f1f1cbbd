//! Whether what a loop calls may set the field that holds its dict: functions of the package do, and
//! Python code that is called for what it does.
//!
//! ```c
//! while (PyDict_Next(self->handlers, &pos, &key, &handler)) {
//!     if (PyObject_CallNoArgs(handler) == NULL)       /* may call `self.reset()` */
//!         return NULL;
//! }
//! ```

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Tree};
use crate::capi;
use crate::cfg::{Callee, InstrKind, Source, reaches};

use super::field::sets;
use super::scope::Scope;
use super::site::Site;

/// Whether something that the loop of `site` calls, and comes back from to ask for the next item, may
/// set one of the fields and variables `names`.
///
/// Python code that the C API runs of its own accord does not count: `__eq__` and `__hash__` of keys,
/// `__index__` of numbers, `__repr__`, `__del__`. If that gave an object another dict, the loop went
/// on in it with the position of the old one, and with a key and a value that are gone.
pub(super) fn may_set(scope: &Scope<'_>, site: &Site, names: &BTreeSet<&str>) -> bool {
    let Some(next) = scope.cfg.call(site.call) else {
        return true;
    };
    let tree = scope.tree();
    let comes_back = |call: ExprId| {
        let from = scope.cfg.call(call);
        from.is_none_or(|from| reaches(&scope.cfg, from, next, &[]))
    };
    let calls = scope.steps_in(site.range(scope)).filter_map(|step| {
        let InstrKind::Call { callee, .. } = &step.kind else {
            return None;
        };
        match (callee, step.source) {
            (_, Source::Expr(call)) if call == site.call || !comes_back(call) => None,
            (Callee::Named(name), Source::Expr(call)) => Some(Some((tree, call, &**name))),
            (Callee::Indirect(_), _) | (_, Source::Stmt(_)) => Some(None),
        }
    });
    let Some(mut open) = calls.collect::<Option<Vec<_>>>() else {
        return true;
    };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some((tree, call, name)) = open.pop() {
        if capi::effects(name).is_some_and(|effects| effects.runs_python) {
            if calls_on_purpose(tree, call, name) {
                return true;
            }
        } else if capi::is_unknown(name) && seen.insert(name) {
            let mut functions = scope.cx.definitions(name).peekable();
            if functions.peek().is_none() {
                return true;
            }
            for (_, function) in functions {
                let tree = &function.tree;
                let Some(calls) = named_calls(tree).filter(|_| !sets(tree, function.range, names))
                else {
                    return true;
                };
                open.extend(calls);
            }
        }
    }
    false
}

/// Whether code of the package that the loop of `site` calls sets one of `names` itself, without
/// Python code in between: the loop may count on it.
///
/// ```c
/// while (PyDict_Next(self->open, &pos, &key, &value)) {
///     if (key == wanted)
///         reset(self);                /* Py_SETREF(self->open, PyDict_New()): ends the loop */
/// }
/// ```
pub(super) fn sets_itself(scope: &Scope<'_>, site: &Site, names: &BTreeSet<&str>) -> bool {
    let tree = scope.tree();
    let range = site.range(scope);
    let inside = tree.exprs_in(range);
    let mut open: Vec<&str> = inside.flat_map(|(id, _)| reached(tree, id)).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        for (_, function) in scope.cx.definitions(name) {
            let tree = &function.tree;
            if sets(tree, function.range, names) {
                return true;
            }
            open.extend(tree.expr_ids().flat_map(|id| reached(tree, id)));
        }
    }
    false
}

/// The names that a call calls or hands on: `walk(node, visit)`.
fn reached(tree: &Tree, call: ExprId) -> Vec<&str> {
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return Vec::new();
    };
    let named = |&arg: &ExprId| tree.callee_name(tree.without_casts(arg));
    let callee = tree.callee_name(*callee);
    callee
        .into_iter()
        .chain(args.iter().filter_map(named))
        .collect()
}

/// The calls of a function; `None` if one goes through a pointer.
fn named_calls(tree: &Tree) -> Option<Vec<(&Tree, ExprId, &str)>> {
    let ids = tree.expr_ids().zip(&tree.exprs);
    let calls = ids.filter_map(|(id, expr)| match expr.kind {
        ExprKind::Call { callee, .. } => {
            Some(tree.callee_name(callee).map(|name| (tree, id, name)))
        }
        _ => None,
    });
    calls.collect()
}

/// Whether a function of the C API that may run Python code is there to do so, or calls a function
/// that it gets; else it only runs what a comparison, a conversion or a release brings with it.
fn calls_on_purpose(tree: &Tree, call: ExprId, name: &str) -> bool {
    const BUILTIN: [&str; 11] = [
        "PyByteArray_",
        "PyBytes_",
        "PyComplex_",
        "PyDict_",
        "PyFloat_",
        "PyList_",
        "PyLong_",
        "PySet_",
        "PyTuple_",
        "PyUnicode_",
        "_PyDict_",
    ];
    const SINGLE: [&str; 20] = [
        "PyErr_Clear",
        "PyErr_Format",
        "PyErr_Restore",
        "PyErr_SetNone",
        "PyErr_SetObject",
        "PyErr_SetString",
        "PyObject_ASCII",
        "PyObject_Hash",
        "PyObject_IsTrue",
        "PyObject_Not",
        "PyObject_Repr",
        "PyObject_RichCompare",
        "PyObject_RichCompareBool",
        "PyObject_Str",
        "Py_CLEAR",
        "Py_DECREF",
        "Py_DecRef",
        "Py_SETREF",
        "Py_XDECREF",
        "Py_XSETREF",
    ];
    let by_format = ["PyArg_Parse", "Py_BuildValue"];
    let comes_with_it = SINGLE.contains(&name)
        || BUILTIN.iter().any(|prefix| name.starts_with(prefix))
        || by_format.iter().any(|prefix| name.starts_with(prefix)) && has_plain_format(tree, call);
    !comes_with_it
}

/// Whether a call has a format, which names no function to call: `"O&"`.
fn has_plain_format(tree: &Tree, call: ExprId) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let mut formats = args.iter().filter_map(|&arg| tree.as_string(arg));
    formats.next().is_some_and(|format| !format.contains(&b'&'))
}
