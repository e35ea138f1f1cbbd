//! Static variables that a change fills somewhere else: they are filled still, on every path there.
//!
//! ```c
//! static PyObject *name;
//! /* f() */  if (name == NULL) name = PyUnicode_InternFromString("name");     /* goes */
//! /* exec */ if (name == NULL) name = PyUnicode_InternFromString("name");     /* comes */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, calls, original_span};
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, LocalId, Name, StmtId, StmtKind, Storage, Tree, UnaryOp,
};
use crate::capi::{self, Returns};
use crate::edit::Applied;
use crate::program::Program;
use crate::source::{ByteSpan, FileId};

/// Variables that functions of `original` fill and no function of `result` does.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let mut filled: BTreeMap<FileId, BTreeSet<&str>> = BTreeMap::new();
    // Of the variants of a function, one may fill what another does not have.
    let mut here: BTreeMap<(FileId, ByteSpan), BTreeSet<&str>> = BTreeMap::new();
    for (item, function) in result.functions() {
        let all = filled.entry(item.place.0).or_default();
        all.extend(on_every_path(function));
        let all = here.entry(item.place).or_default();
        all.extend(fills(&function.tree).map(|(name, _)| name));
    }
    let mut failures = Vec::new();
    for (item, function) in result.functions() {
        let (file, place) = item.place;
        let Some(applied) = applied.get(&file) else {
            continue;
        };
        let span = original_span(applied, place);
        let is_filled =
            |name: &str| here[&item.place].contains(name) || filled[&file].contains(name);
        let mut before = original
            .functions_within(file, span)
            .flat_map(|(_, before)| fills(&before.tree));
        if let Some((name, _)) = before.find(|(name, _)| !is_filled(name)) {
            failures.push(Failed {
                file,
                original: vec![span],
                result: place,
                failure: Failure::Wrong(format!(
                    "in `{}`, `{name}` is no longer filled",
                    function.name
                )),
            });
        }
    }
    failures
}

/// The static variables that a function assigns to, gives a reference, or whose address it takes.
fn fills(tree: &Tree) -> impl Iterator<Item = (&str, ExprId)> {
    (0u32..)
        .map(ExprId)
        .zip(&tree.exprs)
        .filter_map(|(id, expr)| {
            let place = match &expr.kind {
                ExprKind::Assign { lhs, .. } => *lhs,
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } => *operand,
                ExprKind::Call { callee, args } => match tree.callee_name(*callee)? {
                    "Py_XSETREF" => *args.first()?,
                    _ => return None,
                },
                _ => return None,
            };
            match &tree.expr(place).kind {
                ExprKind::Name(Name::Global(name)) => Some((&**name, id)),
                ExprKind::Name(Name::Local(local)) => {
                    let local = tree.local(*local);
                    (local.storage == Storage::Static).then_some((local.name.as_str(), id))
                }
                _ => None,
            }
        })
}

/// Those that the statements of its own block assign to: in no loop, and under no test but whether
/// they are empty.
fn on_every_path(function: &Function) -> impl Iterator<Item = &str> {
    let tree = &function.tree;
    let own = statements(tree, function.body);
    fills(tree)
        .filter(move |(name, id)| own.iter().any(|&stmt| is_filled_by(tree, stmt, name, *id)))
        .map(|(name, _)| name)
}

/// `name = value;`, alone or first behind `if (name == NULL)`.
fn is_filled_by(tree: &Tree, stmt: StmtId, name: &str, fill: ExprId) -> bool {
    let assigns = |stmt| matches!(tree.stmt(stmt).kind, StmtKind::Expr(expr) if expr == fill);
    match tree.stmt(stmt).kind {
        StmtKind::If { cond, then, .. } => {
            let first = statements(tree, then).first().copied();
            is_empty_test(tree, cond, name) && first.is_some_and(assigns)
        }
        _ => assigns(stmt),
    }
}

/// The statements of a block, or the one that stands in its place.
fn statements(tree: &Tree, stmt: StmtId) -> Vec<StmtId> {
    match &tree.stmt(stmt).kind {
        StmtKind::Block(stmts) => stmts.clone(),
        _ => vec![stmt],
    }
}

/// `name == NULL`, `NULL == name`, `!name`.
fn is_empty_test(tree: &Tree, cond: ExprId, name: &str) -> bool {
    let is_it = |expr| match &tree.expr(expr).kind {
        ExprKind::Name(Name::Global(global)) => **global == *name,
        _ => false,
    };
    match tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => is_it(operand),
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } => is_it(lhs) && tree.is_null(rhs) || tree.is_null(lhs) && is_it(rhs),
        _ => false,
    }
}

/// New references that static variables held at once, and that new variables hold first:
/// `made = f(); … x = Py_NewRef(made);` where it was `x = f();`.
pub(super) struct Kept {
    /// `f()`
    pub(super) calls: Vec<ExprId>,
    /// `Py_NewRef(made)`
    pub(super) uses: Vec<ExprId>,
    /// `made`
    pub(super) locals: Vec<LocalId>,
}

impl Kept {
    /// Looks for them in `function`, of which `is_inserted` knows the new expressions.
    pub(super) fn new(function: &Function, is_inserted: &dyn Fn(ExprId) -> bool) -> Self {
        let tree = &function.tree;
        let mut kept = Self {
            calls: Vec::new(),
            uses: Vec::new(),
            locals: Vec::new(),
        };
        let news: Vec<(ExprId, LocalId)> = calls(function)
            .filter(|(call, name)| {
                matches!(*name, "Py_NewRef" | "Py_XNewRef") && is_inserted(*call)
            })
            .filter_map(|(call, _)| match &tree.expr(call).kind {
                ExprKind::Call { args, .. } => Some((call, tree.as_local(*args.first()?)?)),
                _ => None,
            })
            .collect();
        for expr in &tree.exprs {
            let ExprKind::Assign { op: None, lhs, rhs } = expr.kind else {
                continue;
            };
            let call = made_by(tree, tree.without_casts(rhs));
            let held = tree
                .as_local(lhs)
                .filter(|_| is_inserted(lhs) && !is_inserted(call));
            let uses = news.iter().filter(|(_, local)| Some(*local) == held);
            let uses: Vec<ExprId> = uses.map(|(call, _)| *call).collect();
            if !uses.is_empty() && gives_new(tree, call) {
                kept.calls.push(call);
                kept.uses.extend(uses);
                kept.locals.extend(held);
            }
        }
        kept
    }
}

/// The call that makes what `value` names, if only one does: `module = f(); made = module;`.
fn made_by(tree: &Tree, value: ExprId) -> ExprId {
    let Some(held) = tree.as_local(value) else {
        return value;
    };
    let all = tree
        .stores()
        .filter(|&(local, _)| local == held)
        .map(|(_, made)| tree.without_casts(made));
    let mut calls = all.filter(|&made| gives_new(tree, made));
    match (calls.next(), calls.next()) {
        (Some(only), None) => only,
        _ => value,
    }
}

fn gives_new(tree: &Tree, call: ExprId) -> bool {
    match tree.expr(call).kind {
        ExprKind::Call { callee, .. } => tree
            .callee_name(callee)
            .and_then(capi::effects)
            .is_some_and(|effects| effects.returns == Returns::New),
        _ => false,
    }
}
