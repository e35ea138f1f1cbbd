//! A new exit is not put in front of an answer that the function has for the same.
//!
//! ```c
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL) {                           /* takes what follows away */
//!     PyErr_Clear();
//!     break;
//! }
//! if (!item || !PyLong_Check(item))
//!     return fail(error, "no such item");
//! ```

use super::Failure;
use super::changed::Changed;
use super::proof::graph;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Nesting, StmtId, StmtKind, Tree, UnaryOp};
use crate::cfg::{Cfg, InstrKind, Point, reaches};
use crate::source::ByteSpan;

/// The first such exit of a function.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let tree = &changed.function.tree;
    let is_new = |stmt: StmtId| changed.is_inserted(tree.stmt(stmt).range.start);
    let stmts = (0u32..).map(StmtId).take(tree.stmts.len());
    let exits = stmts.filter(|&stmt| is_new(stmt));
    let exits: Vec<(StmtId, LocalId)> = exits
        .filter_map(|stmt| Some((stmt, leaves_for_null(tree, stmt)?)))
        .collect();
    if exits.is_empty() {
        return None;
    }
    let (cfg, nesting) = (graph(changed.function), Nesting::new(changed.function));
    let answers = |&(exit, local): &(StmtId, LocalId)| {
        // What was moved counts: `int missing = NULL == item;` has lost its type.
        let is_own = |it: ExprId| {
            let stmt = nesting.stmt_of(it).filter(|&stmt| is_new(stmt));
            stmt.is_some_and(|stmt| matches!(tree.stmt(stmt).kind, StmtKind::If { .. }))
        };
        let asked = tree.expr_ids().filter(|&it| asks(tree, it, local));
        let mut asked = asked.filter(|&it| !is_own(it));
        asked.any(|it| {
            let test = nesting.stmt_of(it).and_then(|stmt| cfg.before(stmt));
            test.is_some_and(|test| comes_by(&cfg, exit, local, test))
        })
    };
    let (_, local) = exits.iter().copied().find(|it| answers(it))?;
    let (variable, function) = (&tree.local(local).name, &changed.function.name);
    let claim = format!(
        "if the item no longer exists, `{function}` need not do what it does when `{variable}` is \
         `NULL`"
    );
    Some((None, Failure::Unknown(claim.into())))
}

/// Whether the function comes to `test` by `exit` only, and with what the variable held there.
fn comes_by(cfg: &Cfg, exit: StmtId, local: LocalId, test: Point) -> bool {
    let Some(from) = cfg.before(exit) else {
        return false;
    };
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let stores = cfg.steps().filter(|(_, instr)| match &instr.kind {
        InstrKind::Store { place, .. } => place.as_local() == Some(local),
        _ => false,
    });
    let stores: Vec<Point> = stores.map(|(point, _)| point).collect();
    reaches(cfg, from, test, &stores) && !reaches(cfg, entry, test, &[from])
}

/// Whether an expression asks whether a variable is `NULL`: `!item`, `NULL == item`, `item && f(item)`.
fn asks(tree: &Tree, expr: ExprId, local: LocalId) -> bool {
    let is_it = |part: ExprId| tree.as_local(tree.without_casts(part)) == Some(local);
    match tree.expr(expr).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => is_it(operand),
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::Equals | BinaryOp::NotEquals => {
                is_it(lhs) && tree.is_null(rhs) || tree.is_null(lhs) && is_it(rhs)
            }
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => is_it(lhs) || is_it(rhs),
            _ => false,
        },
        ExprKind::Conditional { cond, .. } => is_it(cond),
        _ => tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::If { cond, .. } | StmtKind::While { cond, .. } => cond == expr && is_it(cond),
            _ => false,
        }),
    }
}

/// The variable of which an `if` asks whether it is `NULL`, and leaves if so.
fn leaves_for_null(tree: &Tree, stmt: StmtId) -> Option<LocalId> {
    match tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            then,
            otherwise: None,
        } if tree.leaves(then) => asked_for_null(tree, cond),
        _ => None,
    }
}

fn asked_for_null(tree: &Tree, cond: ExprId) -> Option<LocalId> {
    let asked = match tree.expr(tree.without_casts(cond)).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => operand,
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } if tree.is_null(rhs) => lhs,
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } if tree.is_null(lhs) => rhs,
        _ => return None,
    };
    tree.as_local(tree.without_casts(asked))
}
