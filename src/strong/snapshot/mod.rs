//! A list that is read through `PySequence_Fast` turns into a tuple: a copy that never changes.
//!
//! ```c
//! fast = PySequence_Fast(arg, "no sequence");      fast = PyList_CheckExact(arg)
//!                                                      ? PyList_AsTuple(arg)
//!                                                      : PySequence_Fast(arg, "no sequence");
//! ```
//!
//! What is no list gives a tuple or a new list, which nobody else has.

mod size;
mod there;

use super::items::{ITEMS, kept_in};
use super::scene::Scene;
use super::unchanged;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Init, LocalDecl, LocalId, Parent, StmtKind, Storage, Tree, UnaryOp,
};
use crate::calls::counts_asked;
use crate::capi::Returns;
use crate::cfg::{Cfg, Point, reaches};
use crate::edit::{Assumption, Fix, replacing};
use crate::facts::{Claim, Fact};
use crate::ownership::summary::Summaries;
use size::Size;

/// The fix that makes `read`, a `PySequence_Fast_GET_ITEM` or `PySequence_Fast_ITEMS`, read from a
/// tuple; `None` if the sequence is not made in this function, or is not only read.
///
/// It is the same for all reads of one variable.
pub(super) fn fix(scene: &Scene<'_>, read: ExprId) -> Option<Fix> {
    let ("PySequence_Fast_GET_ITEM" | ITEMS, [sequence, ..]) = scene.call(read)? else {
        return None;
    };
    let local = scene.as_local(*sequence)?;
    let variable = scene.tree.local(local);
    let is_plain = variable.storage == Storage::None && !variable.is_param;
    if !is_plain || scene.cfg.address_taken().contains(&local) {
        return None;
    }
    let made = makers(scene, local)?;
    // A tuple has references to items.
    let looks = looks_at_counts(scene.tree, scene.tree.expr_ids(), scene.cx.summaries());
    let is_open = looks || unchanged::reaches_for_items(scene.cx, scene.tree);
    if made.is_empty() || !is_only_read(scene, local) || is_open {
        return None;
    }
    let size = Size::of(scene, local, &made);
    if size == Size::Earlier {
        return None;
    }
    let mut fix = Fix::safe(replacing(
        "copy the list to a tuple",
        [("PySequence_Fast", "PyList_AsTuple")],
    ));
    for &call in &made {
        copy_list(scene, call, &mut fix)?;
    }
    if size == Size::Unseen {
        let name = scene.name(local);
        fix.assume(format!(
            "`{name}` has all items that are read from it (the code does not ask for its size \
             first)"
        ));
    }
    if let Some(name) = changer(scene, local, &made) {
        fix.assume(keeps_lists(scene, &name));
    }
    Some(fix)
}

/// Of a function with a name of its own this is one question for all lists.
fn keeps_lists(scene: &Scene<'_>, name: &str) -> Assumption {
    let program = scene.cx.program;
    match program.named_function(program.item(scene.item), name) {
        Some(function) => Fact::new(Claim::KeepsLists, function).into(),
        None => format!(
            "`{name}` does not change the list while its items are read (the copy would not show \
             that)"
        )
        .into(),
    }
}

/// Copies the argument of `call`, a `PySequence_Fast`, if it is a list.
fn copy_list(scene: &Scene<'_>, call: ExprId, fix: &mut Fix) -> Option<()> {
    let ("PySequence_Fast", [argument, _]) = scene.call(call)? else {
        return None;
    };
    // It is evaluated twice.
    scene.as_local(*argument)?;
    let is_there = there::is_there(scene, call, *argument);
    let (whole, argument) = (scene.span(call)?, scene.span(*argument)?);
    let stmt = scene.stmt_span(scene.stmt_of(call)?)?;
    let takes_all = match scene.parent_of_expr(call)? {
        Parent::Stmt(_) => true,
        Parent::Expr(outer) => matches!(scene.tree.expr(outer).kind, ExprKind::Assign { .. }),
    };
    if !takes_all {
        return None;
    }
    let layout = &scene.layout;
    let outer = layout.indentation(stmt.start());
    let line = [
        layout.line_ending(stmt.start()).as_bytes(),
        &layout.step().deeper(outer),
    ]
    .concat();
    let line = String::from_utf8_lossy(&line);
    let argument = scene.text(argument);
    let asked = match is_there {
        true => String::new(),
        false => format!("{argument} != NULL && "),
    };
    let text =
        format!("{asked}PyList_CheckExact({argument}){line}? PyList_AsTuple({argument}){line}: ");
    fix.insert(scene.file, whole.start(), text);
    Some(())
}

/// Whether one of `exprs` looks at the reference count of an object that the function did not make.
pub fn looks_at_counts(
    tree: &Tree,
    exprs: impl Iterator<Item = ExprId>,
    summaries: &Summaries,
) -> bool {
    let is_new = |value: ExprId| {
        let name = tree.called(tree.without_casts(value));
        name.is_some_and(|name| summaries.returns(name) == Some(Returns::New))
    };
    let is_made_here = |object: ExprId| {
        let object = tree.as_local(tree.without_casts(object));
        object.is_some_and(|local| {
            let values = tree.stores().filter(|(stored, _)| *stored == local);
            let mut values = values.map(|(_, value)| value).peekable();
            values.peek().is_some() && values.all(|value| tree.is_null(value) || is_new(value))
        })
    };
    let mut asked = exprs.flat_map(|expr| counts_asked(tree, expr, summaries));
    asked.any(|object| !is_made_here(object))
}

/// A call between one of the calls `made` and a read of `local` that may change the list.
fn changer(scene: &Scene<'_>, local: LocalId, made: &[ExprId]) -> Option<String> {
    let cfg = scene.cfg;
    let made: Vec<Point> = made.iter().filter_map(|&call| cfg.call(call)).collect();
    let exprs = || scene.tree.expr_ids();
    let of_local = |expr: ExprId, name: &str| match scene.call(expr) {
        Some((callee, [sequence, ..])) => {
            callee == name && scene.as_local(*sequence) == Some(local)
        }
        _ => false,
    };
    let reads =
        exprs().filter(|&expr| of_local(expr, "PySequence_Fast_GET_ITEM") || of_local(expr, ITEMS));
    let reads_it = |expr: ExprId| matches!(scene.call(expr), Some((name, _)) if is_read(name) && of_local(expr, name));
    let pointers = exprs().filter(|&expr| of_local(expr, ITEMS));
    let pointers: Vec<LocalId> = pointers.filter_map(|call| kept_in(scene, call)).collect();
    let reads: Vec<Point> = reads.filter_map(|read| cfg.call(read)).collect();
    let is_between = |at: Point| {
        let follows = |&from: &Point| reaches(cfg, from.next(), at, &made);
        let leads = |&read: &Point| reaches(cfg, at.next(), read, &made);
        let is_live = |&pointer: &LocalId| scene.liveness.is_live(pointer, at.next());
        let is_read = reads.iter().any(leads) || pointers.iter().any(is_live);
        !made.contains(&at) && made.iter().any(follows) && is_read
    };
    let mut steps = cfg.steps();
    steps.find_map(|(at, instr)| {
        unchanged::changer(scene, instr, reads_it).filter(|_| is_between(at))
    })
}

/// Whether `read` is a `PySequence_Fast_GET_ITEM` of what only `PySequence_Fast` made: a list or a
/// tuple, and of no subclass with items of its own.
pub(super) fn is_made_here(scene: &Scene<'_>, read: ExprId) -> bool {
    let Some((_, [sequence, _])) = scene.call(read) else {
        return false;
    };
    let Some((local, read)) = scene.as_local(*sequence).zip(scene.cfg.call(read)) else {
        return false;
    };
    let made = makers(scene, local).unwrap_or_default();
    let points: Option<Vec<_>> = made.iter().map(|&call| scene.cfg.call(call)).collect();
    // `items = PySequence_Fast(items, "no sequence");`
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let is_passed_in = scene.tree.local(local).is_param
        && points.is_none_or(|points| reaches(scene.cfg, entry, read, &points));
    !made.is_empty() && !is_passed_in
}

/// The calls whose results `local` gets; `None` if it gets anything else but `NULL`.
fn makers(scene: &Scene<'_>, local: LocalId) -> Option<Vec<ExprId>> {
    let is_list = |decl: &LocalDecl| matches!(decl.init, Some(Init::List(_)));
    let mut declared = scene.tree.declarations();
    if declared.any(|decl| decl.local == local && is_list(decl)) {
        return None;
    }
    let stores = scene.tree.stores();
    let stores = stores.filter(|&(to, value)| to == local && !scene.is_null(value));
    let made: Vec<ExprId> = stores.map(|(_, value)| value).collect();
    let is_made = |&value: &ExprId| matches!(scene.call(value), Some(("PySequence_Fast", _)));
    made.iter().all(is_made).then_some(made)
}

/// Whether nothing is done with the variable but reading items, testing and releasing it.
fn is_only_read(scene: &Scene<'_>, local: LocalId) -> bool {
    scene
        .tree
        .expr_ids()
        .filter(|&expr| scene.as_local(expr) == Some(local))
        .all(|name| match scene.parent_of_expr(name) {
            Some(Parent::Stmt(stmt)) => {
                matches!(scene.tree.stmt(stmt).kind, StmtKind::If { .. })
            }
            Some(Parent::Expr(outer)) => is_harmless(scene, name, outer),
            // It is no part of the function's body: the size of a type.
            None => true,
        })
}

fn is_harmless(scene: &Scene<'_>, name: ExprId, outer: ExprId) -> bool {
    match scene.tree.expr(outer).kind {
        ExprKind::Call { .. } => scene.call(outer).is_some_and(|(callee, _)| {
            is_read(callee) || matches!(callee, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR")
        }),
        ExprKind::Assign { lhs, .. } => lhs == name,
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::Equals | BinaryOp::NotEquals => scene.is_null(lhs) || scene.is_null(rhs),
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => true,
            _ => false,
        },
        _ => false,
    }
}

/// Whether a call reads the size or an item of a list or tuple.
fn is_read(name: &str) -> bool {
    matches!(
        name,
        "PySequence_Fast_GET_ITEM"
            | "PySequence_Fast_GET_SIZE"
            | ITEMS
            | "PySequence_Length"
            | "PySequence_Size"
    )
}
