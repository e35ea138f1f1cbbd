//! Static variables that keep references from now on: nothing else sets them, counts what they hold,
//! or takes their address.
//!
//! ```c
//! Py_XSETREF(state.spawn, spawn);           /* comes */
//! state.spawn = other;                      /* would not release what it holds */
//! Py_DECREF(state.spawn);                   /* releases what it keeps */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, calls, is_inserted, original_span};
use crate::ast::{ExprId, ExprKind, Name, Tree, UnaryOp};
use crate::edit::Applied;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteSpan, FileId};

/// A variable of file scope and the names of fields behind it.
type Path = Vec<Box<str>>;

/// The functions of `result` that give a reference to a static variable which is not only theirs.
/// What the edits did not touch is read in `original`.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let kept = kept(result, applied);
    if kept.is_empty() {
        return Vec::new();
    }
    let before = |(file, place): (FileId, ByteSpan)| {
        let applied = applied.get(&file);
        (file, applied.map_or(place, |it| original_span(it, place)))
    };
    let read: BTreeSet<(FileId, ByteSpan)> =
        trees(result).map(|(item, _)| before(item.place)).collect();
    let rest = trees(original.program).filter(|(item, _)| !read.contains(&item.place));
    let all = trees(result).chain(rest);
    let changed: Vec<Path> = all.flat_map(|(_, tree)| changed(tree)).collect();
    let is_changed = |path: &Path| {
        let overlaps = |other: &Path| path.iter().zip(other).all(|(one, other)| one == other);
        changed.iter().any(overlaps)
    };
    let mut failures = Vec::new();
    for (path, (file, place)) in kept {
        if is_changed(&path) {
            let reason = format!("`{}` is also set or counted elsewhere", path.join("."));
            failures.push(Failed {
                file,
                original: vec![original_span(&applied[&file], place)],
                result: place,
                failure: Failure::Wrong(reason),
            });
        }
    }
    failures
}

/// The functions, and the values of variables.
fn trees<'p>(program: &'p Program<'_>) -> impl Iterator<Item = (&'p ProgramItem, &'p Tree)> {
    let functions = program
        .functions()
        .map(|(item, function)| (item, &function.tree));
    let declarations = program.declarations();
    functions.chain(declarations.map(|(item, declaration)| (item, &declaration.tree)))
}

/// What gets a reference by a `Py_XSETREF` that the edits brought in, and where.
fn kept(
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<(Path, (FileId, ByteSpan))> {
    let mut kept = Vec::new();
    for (item, function) in result.functions() {
        let Some(applied) = applied.get(&item.place.0) else {
            continue;
        };
        for (call, name) in calls(function) {
            let ExprKind::Call { args, .. } = &function.tree.expr(call).kind else {
                continue;
            };
            let first = function.tree.expr(call).range.start;
            if name == "Py_XSETREF"
                && is_inserted(item, applied, first)
                && let Some(path) = args.first().and_then(|&arg| path(&function.tree, arg))
            {
                kept.push((path, item.place));
            }
        }
    }
    kept
}

/// What is set, counted, or has its address taken.
fn changed(tree: &Tree) -> impl Iterator<Item = Path> {
    const COUNTING: [&str; 9] = [
        "Py_INCREF",
        "Py_XINCREF",
        "Py_NewRef",
        "Py_XNewRef",
        "Py_DECREF",
        "Py_XDECREF",
        "Py_CLEAR",
        "Py_SETREF",
        "Py_DecRef",
    ];
    tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Assign { lhs, .. } => path(tree, *lhs),
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => path(tree, *operand),
        ExprKind::Call { callee, args } => {
            let counts = tree
                .callee_name(*callee)
                .is_some_and(|it| COUNTING.contains(&it));
            path(tree, *args.first().filter(|_| counts)?)
        }
        _ => None,
    })
}

/// The static place that an expression names.
fn path(tree: &Tree, expr: ExprId) -> Option<Path> {
    match &tree.expr(tree.without_casts(expr)).kind {
        ExprKind::Name(Name::Global(name)) => Some(vec![name.clone()]),
        ExprKind::Member {
            base,
            field,
            arrow: false,
        } => {
            let mut path = path(tree, *base)?;
            path.push(field.clone());
            Some(path)
        }
        _ => None,
    }
}
