//! An exit that the function does not have yet: the releases of what it owns.
//!
//! ```c
//! out = PyList_New(n);
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL) {
//!     Py_XDECREF(out);
//!     return NULL;
//! }
//! ```

use super::consumed::is_always_consumed;
use super::held::frees;
use super::owned_by::{counted_release, gives_new};
use super::parsed::is_parsed;
use super::state::Owned;
use crate::ast::{ExprId, ExprKind, LocalId, Parent, StmtKind, TypeKind, UnaryOp};
use crate::capi::{self, Returns};
use crate::ownership::summary::Param;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// The variables with what the function makes and returns: the `self` of a `tp_new`. It owns that
/// also when it is stored somewhere.
pub(in crate::strong) fn made_results(scene: &Scene<'_>) -> Vec<LocalId> {
    let is_call = |value: &ExprId| {
        let value = scene.tree.without_casts(*value);
        matches!(scene.tree.expr(value).kind, ExprKind::Call { .. })
    };
    results(scene)
        .filter(|&local| makers(scene, local).iter().any(is_call))
        .collect()
}

/// The statement that releases what a variable owns; `None` if it cannot be told how, or whether.
pub(in crate::strong) fn release(scene: &Scene<'_>, owned: Owned) -> Option<String> {
    let name = scene.name(owned.local);
    let is_pointer = scene.tree.local(owned.local).ty.pointee().is_some();
    if !owned.for_sure || !is_pointer || fate(scene, owned.local) != Fate::GivenUp {
        return None;
    }
    let makers = makers(scene, owned.local);
    let mut functions = makers
        .iter()
        .map(|&value| release_of(scene, value, owned.null));
    let first = match functions.next() {
        None if !is_always_consumed(scene, owned.local) && !is_parsed(scene, owned.local) => {
            return None;
        }
        first => first.flatten(),
    };
    let function = match first {
        Some(first) if functions.all(|other| other == Some(first)) => first,
        _ => own_release(scene, owned).or_else(|| counted_release(scene, owned))?,
    };
    Some(format!("{function}({name});"))
}

/// The function by which this one releases the variable elsewhere.
fn own_release<'s>(scene: &'s Scene<'_>, owned: Owned) -> Option<&'s str> {
    match calls_with(scene, owned.local).find(|name| frees(name))? {
        "Py_DECREF" | "Py_XDECREF" if owned.null => Some("Py_XDECREF"),
        "Py_DECREF" | "Py_XDECREF" => Some("Py_DECREF"),
        // Whether other functions take `NULL` is not known.
        name => (!owned.null || !is_tested(scene, owned.local)).then_some(name),
    }
}

/// The functions that are called with the variable as their only argument.
fn calls_with<'s>(scene: &'s Scene<'_>, local: LocalId) -> impl Iterator<Item = &'s str> {
    let exprs = scene.tree.expr_ids();
    exprs.filter_map(move |expr| match scene.call(expr)? {
        (name, [arg]) if scene.as_local(scene.tree.without_casts(*arg)) == Some(local) => {
            Some(name)
        }
        _ => None,
    })
}

/// Whether the function asks if the variable is `NULL`.
fn is_tested(scene: &Scene<'_>, local: LocalId) -> bool {
    uses(scene, local).any(|name| match scene.parent_of_expr(name) {
        Some(Parent::Stmt(stmt)) => matches!(scene.tree.stmt(stmt).kind, StmtKind::If { .. }),
        Some(Parent::Expr(outer)) => matches!(
            scene.tree.expr(outer).kind,
            ExprKind::Unary {
                op: UnaryOp::Not,
                ..
            } | ExprKind::Binary { .. }
        ),
        None => false,
    })
}

/// The function that releases what `value` makes.
fn release_of(scene: &Scene<'_>, value: ExprId, null: bool) -> Option<&'static str> {
    let (name, _) = scene.call(scene.tree.without_casts(value))?;
    let is_new = gives_new(scene, name);
    match name {
        "malloc" | "calloc" | "realloc" | "strdup" | "strndup" => Some("free"),
        _ if name.starts_with("PyMem_Raw") => Some("PyMem_RawFree"),
        _ if name.starts_with("PyMem_") => Some("PyMem_Free"),
        "PyObject_Malloc" | "PyObject_Calloc" | "PyObject_Realloc" => Some("PyObject_Free"),
        _ if is_new && null => Some("Py_XDECREF"),
        _ if is_new => Some("Py_DECREF"),
        _ => None,
    }
}

/// The variables that the function returns.
pub(in crate::strong) fn results<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = LocalId> + 's {
    let stmts = scene.tree.stmts.iter();
    stmts.filter_map(|stmt| match stmt.kind {
        StmtKind::Return(value) => scene.as_local(scene.tree.without_casts(value?)),
        _ => None,
    })
}

/// What `local` gets anywhere in the function, apart from `NULL`.
pub(super) fn makers(scene: &Scene<'_>, local: LocalId) -> Vec<ExprId> {
    let stores = scene.tree.stores().filter(|&(given, _)| given == local);
    let values = stores.map(|(_, value)| value);
    values.filter(|&value| !scene.is_null(value)).collect()
}

/// Variables with results of calls that the function neither releases nor gives away on any path:
/// it does not own them, or leaks them everywhere.
pub(in crate::strong) fn never_given_up(scene: &Scene<'_>) -> Vec<LocalId> {
    let locals = (0u32..).zip(&scene.tree.locals);
    locals
        .map(|(at, _)| LocalId(at))
        .filter(|&local| match fate(scene, local) {
            Fate::Kept => true,
            Fate::PassedOn => {
                let makers = makers(scene, local).into_iter();
                let mut calls =
                    makers.filter_map(|value| scene.call(scene.tree.without_casts(value)));
                calls.all(|(name, _)| only_gives_access(name))
            }
            Fate::GivenUp => false,
        })
        .collect()
}

/// What a function does with the value of a variable, on any path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// It only looks at it.
    Kept,
    /// It hands it to functions that may or may not take it over.
    PassedOn,
    /// It releases, returns or stores it, or hands it to a function that takes it over.
    GivenUp,
}

pub(super) fn fate(scene: &Scene<'_>, local: LocalId) -> Fate {
    let fates = uses(scene, local).map(|name| fate_of(scene, name));
    fates.max().unwrap_or(Fate::Kept)
}

/// Whether a function with this name may well give what its caller need not release.
fn only_gives_access(name: &str) -> bool {
    const WORDS: [&str; 9] = [
        "new", "create", "make", "alloc", "copy", "dup", "open", "build", "convert",
    ];
    let lower = name.to_ascii_lowercase();
    capi::effects(name).is_none_or(|effects| effects.returns != Returns::New)
        && !WORDS.iter().any(|word| lower.contains(word))
}

/// The places that name `local`.
pub(super) fn uses<'s>(scene: &'s Scene<'_>, local: LocalId) -> impl Iterator<Item = ExprId> + 's {
    scene
        .tree
        .expr_ids()
        .filter(move |&expr| scene.as_local(expr) == Some(local))
}

/// What becomes of the value of `name`.
pub(super) fn fate_of(scene: &Scene<'_>, mut name: ExprId) -> Fate {
    loop {
        let outer = match scene.parent_of_expr(name) {
            Some(Parent::Expr(outer)) => outer,
            Some(Parent::Stmt(stmt)) => match scene.tree.stmt(stmt).kind {
                StmtKind::Return(_) | StmtKind::Decl(_) => return Fate::GivenUp,
                _ => return Fate::Kept,
            },
            None => return Fate::Kept,
        };
        match &scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } | ExprKind::Conditional { .. } => name = outer,
            ExprKind::Assign { op: None, rhs, .. } if *rhs == name => return Fate::GivenUp,
            ExprKind::Unary { op, .. } if *op == UnaryOp::AddressOf => name = outer,
            ExprKind::Member { arrow: false, .. } => name = outer,
            ExprKind::Index { base, .. } if *base == name && is_array(scene, name) => name = outer,
            ExprKind::Call { args, .. } => {
                let at = args.iter().position(|&arg| arg == name);
                return at.map_or(Fate::Kept, |at| fate_in_call(scene, outer, at));
            }
            _ => return Fate::Kept,
        }
    }
}

/// Whether `name` is an array, so that its elements are the variable's own.
fn is_array(scene: &Scene<'_>, name: ExprId) -> bool {
    scene
        .as_local(name)
        .is_some_and(|local| matches!(scene.tree.local(local).ty.kind, TypeKind::Array(..)))
}

/// What `call` does with its argument `at`.
pub(super) fn fate_in_call(scene: &Scene<'_>, call: ExprId, at: usize) -> Fate {
    let Some((name, _)) = scene.call(call) else {
        return Fate::PassedOn;
    };
    let releases = matches!(
        name,
        "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF" | "Py_DecRef"
    );
    let moves = at == 0 && name.to_ascii_lowercase().contains("realloc");
    match capi::effects(name) {
        _ if releases || moves || frees(name) || takes_by_format(scene, call, at) => Fate::GivenUp,
        Some(effects) if effects.steals(at).is_some() => Fate::GivenUp,
        Some(_) => Fate::Kept,
        // A function of the package whose body only looks at it.
        None if scene.cx.summaries().param(name, at) == Some(Param::Used) => Fate::Kept,
        None => Fate::PassedOn,
    }
}

/// Whether `call` has a format and may take over its argument `at`: an object for `N`, as far as the
/// text of the format is known.
fn takes_by_format(scene: &Scene<'_>, call: ExprId, at: usize) -> bool {
    let Some((name, args)) = scene.call(call) else {
        return false;
    };
    let formats = ["BuildValue", "CallFunction", "CallMethod"];
    let format_at = formats.iter().position(|word| name.contains(word));
    let Some(format_at) = format_at.filter(|_| !name.contains("ObjArgs")) else {
        return false;
    };
    let format = args.get(format_at);
    let format = format.and_then(|&format| scene.tree.as_string(format));
    let lacks_n = format.is_some_and(|format| !format.contains(&b'N'));
    let local = scene.as_local(args[at]);
    let pointee = local.and_then(|local| scene.tree.local(local).ty.pointee());
    at > format_at && !lacks_n && !pointee.is_some_and(is_number)
}
