//! Whether what is copied is a dict: `PyDict_Copy` raises `SystemError` for anything else, where
//! `PyDict_Next` finds nothing.

use super::life::Life;
use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId, StmtKind};
use crate::program::CallSite;
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};

/// What is known of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It is a dict.
    Dict,
    /// It is no null pointer, and may be anything: there is nothing to iterate over then.
    Object,
    /// The same, and it may have a size.
    Sized,
    /// It is a dict if the function is right.
    Assumed,
}

impl Known {
    pub(super) fn new(scope: &Scope<'_>, life: &Life) -> Self {
        let callee = match scope.expr(life.reader).kind {
            ExprKind::Call { callee, .. } => scope.tree().callee_name(callee),
            _ => None,
        };
        let site = CallSite {
            item: scope.item,
            expr: life.reader,
        };
        // What is no dict has no such size: `((PyDictObject *)d)->ma_used`.
        let is_read = callee == Some("PyDict_GET_SIZE");
        if is_read || scope.cx.is_dict(site, 0) || is_asked(scope, life) {
            return Self::Dict;
        }
        match callee {
            Some("PyDict_Next" | "_PyDict_Next") => Self::Object,
            _ if is_object(scope, life) => Self::Sized,
            _ => Self::Assumed,
        }
    }
}

/// Whether an `if` around it asks for a dict, and nothing is called or set before it is read.
///
/// ```c
/// if (PyDict_Check(self->fields)) {
///     pos = 0;
///     while (PyDict_Next(self->fields, &pos, &key, &value))
/// ```
fn is_asked(scope: &Scope<'_>, life: &Life) -> bool {
    is_asked_by(scope, life, &["PyDict_Check", "PyDict_CheckExact"])
}

/// The same, of a dict that is of no subclass.
pub(super) fn asks_exactly(scope: &Scope<'_>, life: &Life) -> bool {
    is_asked_by(scope, life, &["PyDict_CheckExact"])
}

fn is_asked_by(scope: &Scope<'_>, life: &Life, checks: &[&str]) -> bool {
    let first = life.site.region.first;
    let mut inner = first;
    for stmt in scope.ancestors(first) {
        match scope.stmt(stmt) {
            StmtKind::Block(stmts) => {
                let mut before = stmts.iter().take_while(|&&stmt| stmt != inner);
                if before.any(|&stmt| scope.stmt_calls(stmt) || sets(scope, stmt, life.dict)) {
                    return false;
                }
            }
            StmtKind::If { cond, then, .. } => {
                return is_in(scope, first, *then) && says_dict(scope, *cond, life.dict, checks);
            }
            _ => return false,
        }
        inner = stmt;
    }
    false
}

/// Whether a statement assigns to `place`, or others jump to it.
fn sets(scope: &Scope<'_>, stmt: StmtId, place: ExprId) -> bool {
    let range = scope.range(stmt);
    let assigns = |id: ExprId| {
        let expr = scope.expr(id);
        matches!(expr.kind, ExprKind::Assign { lhs, .. }
            if inside(expr.range, range) && scope.is_same_text(lhs, place))
    };
    matches!(scope.stmt(stmt), StmtKind::Label { .. }) || scope.tree().expr_ids().any(assigns)
}

/// Whether something in front of it asks for another type, which a null pointer has not.
///
/// ```c
/// if (PyList_Check(value))
///     return write_list(value);
/// size = PyMapping_Length(value);
/// ```
fn is_object(scope: &Scope<'_>, life: &Life) -> bool {
    let first = life.site.region.first;
    let whole = scope.function.range;
    let is_same = |local| !scope.is_written(local, whole, None);
    let mut inner = first;
    scope.local(life.dict).is_some_and(is_same)
        && scope.ancestors(first).any(|stmt| {
            let before: Vec<StmtId> = match scope.stmt(stmt) {
                StmtKind::Block(stmts) => {
                    let before = stmts.iter().take_while(|&&stmt| stmt != inner);
                    before.copied().collect()
                }
                _ => vec![stmt],
            };
            inner = stmt;
            before.into_iter().any(|stmt| match scope.stmt(stmt) {
                StmtKind::If { cond, .. } => asks_for_type(scope, *cond, life.dict),
                _ => false,
            })
        })
}

/// Whether a condition begins with a look at the type of `object`.
fn asks_for_type(scope: &Scope<'_>, cond: ExprId, object: ExprId) -> bool {
    const TYPES: [&str; 8] = [
        "Bool", "Bytes", "Dict", "Float", "List", "Long", "Tuple", "Unicode",
    ];
    match &scope.expr(scope.uncast(cond)).kind {
        ExprKind::Binary { lhs, .. } => asks_for_type(scope, *lhs, object),
        ExprKind::Unary { operand, .. } => asks_for_type(scope, *operand, object),
        ExprKind::Call { callee, args } => {
            let name = scope.tree().callee_name(*callee).unwrap_or_default();
            let asked = name.strip_prefix("Py").and_then(|name| {
                let ends = ["_Check", "_CheckExact"].iter();
                ends.filter_map(|end| name.strip_suffix(end)).next()
            });
            asked.is_some_and(|ty| TYPES.contains(&ty))
                && args
                    .first()
                    .is_some_and(|&arg| scope.is_same_text(arg, object))
        }
        _ => false,
    }
}

fn is_in(scope: &Scope<'_>, stmt: StmtId, outer: StmtId) -> bool {
    inside(scope.range(stmt), scope.range(outer))
}

/// Whether `cond` holds only for what one of `checks` is true of.
fn says_dict(scope: &Scope<'_>, cond: ExprId, dict: ExprId, checks: &[&str]) -> bool {
    match &scope.expr(scope.uncast(cond)).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd,
            lhs,
            rhs,
        } => says_dict(scope, *lhs, dict, checks) || says_dict(scope, *rhs, dict, checks),
        ExprKind::Call { callee, args } => {
            let name = scope.tree().callee_name(*callee);
            name.is_some_and(|name| checks.contains(&name))
                && args
                    .first()
                    .is_some_and(|&arg| scope.is_same_text(arg, dict))
        }
        _ => false,
    }
}
