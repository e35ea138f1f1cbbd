//! Referents of weak references: a dead one is `NULL` where it was `Py_None`.
//!
//! ```c
//! o = PyWeakref_GetObject(w);       if (PyWeakref_GetRef(w, &o) < 0)
//! if (o == NULL)                        return -1;
//!     return -1;                    if (o == NULL)
//! if (o == Py_None)                     return 0;
//!     return 0;
//! ```
//!
//! Where the code does more with it than to test it, a dead one turns into `Py_None` again:
//!
//! ```c
//! use(PyWeakref_GetObject(w));      PyObject *o;
//!                                   if (PyWeakref_GetRef(w, &o) == 0) {
//!                                       o = Py_NewRef(Py_None);
//!                                   }
//!                                   use(o);
//!                                   Py_XDECREF(o);
//! ```

use std::collections::BTreeSet;

use super::follow::web::Given;
use super::pending::missed::reads_missing;
use super::plan::{Home, Lookup, takes_result};
use super::reason::Reason;
use super::scene::Scene;
use super::shape::Shape;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, Parent, StmtId, StmtKind, UnaryOp};
use crate::capi::Absent;

/// What must change about the tests of a referent.
#[derive(Debug, Clone, Default)]
pub(super) struct Weak {
    /// Comparisons with `Py_None`, and the `Py_None` in each.
    pub none_tests: Vec<(ExprId, ExprId)>,
    /// Pairs of tests for `NULL` and for `Py_None`, which turn into one; the one that stays.
    pub pairs: Vec<(ExprId, ExprId)>,
    /// The condition behind the lookup that asks whether it failed, with the lookup's statement.
    pub error_test: Option<(StmtId, ExprId)>,
}

impl Weak {
    pub(super) fn is_none_test(&self, test: ExprId) -> bool {
        self.none_tests.iter().any(|(known, _)| *known == test)
    }

    /// Whether `test`, or what it negates, asks for an error.
    pub(super) fn is_error_test(&self, scene: &Scene<'_>, test: ExprId) -> bool {
        self.error_test.is_some_and(|(_, cond)| {
            cond == test
                || matches!(scene.tree.expr(cond).kind,
                ExprKind::Unary { operand, .. } if operand == test)
        })
    }
}

/// How the tests of the variable of `home` change; `None` if it holds no referents.
///
/// # Errors
/// A test whose new form is not known.
pub(super) fn adapt(scene: &Scene<'_>, home: &Home) -> Result<Option<Weak>, Reason> {
    let is_weak = |absent: Absent| absent == Absent::None;
    if !home
        .lookups
        .iter()
        .any(|lookup| is_weak(lookup.replacement.absent))
    {
        return Ok(None);
    }
    let unclear = || Reason::NoneEscapes(home.name.clone());
    let local = home.local.ok_or_else(unclear)?;
    let in_condition = |lookup: &Lookup| matches!(lookup.shape, Shape::Inside(..));
    if home.lookups.iter().any(in_condition) {
        return Err(unclear());
    }
    let own = |given: &Given| matches!(given, Given::Lookup(_) | Given::Null);
    let all_weak = home
        .lookups
        .iter()
        .all(|lookup| is_weak(lookup.replacement.absent));
    if !all_weak || !home.web.values().all(own) || is_assigned_elsewhere(scene, local, home) {
        return Err(unclear());
    }
    let mut weak = Weak {
        error_test: error_test(scene, home, local),
        ..Weak::default()
    };
    let tests = tests(scene, local);
    for &(test, none) in &tests {
        if let Some(none) = none {
            weak.none_tests.push((test, none));
        }
    }
    let mut paired = BTreeSet::new();
    for &(test, none) in &tests {
        let is_error = weak.error_test.is_some_and(|(_, cond)| cond == test);
        if none.is_some() || is_error {
            continue;
        }
        // `if (o == NULL || o == Py_None)`
        let pair = pair_of(scene, test).ok_or_else(unclear)?;
        if !weak.none_tests.iter().any(|(other, _)| pair.1 == *other) || !paired.insert(pair.0) {
            return Err(unclear());
        }
        weak.pairs.push((pair.0, test));
    }
    // What is no weak reference gives `NULL` as well: only code that would crash with that may take it for
    // one that is dead.
    let goes_on = |lookup: &Lookup| !reads_missing(scene, lookup.call);
    if weak.error_test.is_none() && weak.pairs.is_empty() && home.lookups.iter().any(goes_on) {
        return Err(unclear());
    }
    Ok(Some(weak))
}

fn is_assigned_elsewhere(scene: &Scene<'_>, local: LocalId, home: &Home) -> bool {
    let lookups: Vec<ExprId> = home.lookups.iter().map(|lookup| lookup.call).collect();
    scene.tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Assign { lhs, rhs, .. } if scene.as_local(lhs) == Some(local) => {
            !scene.is_null(rhs) && !lookups.contains(&scene.tree.without_casts(rhs))
        }
        _ => false,
    })
}

/// The condition of the `if` right behind the only lookup, if it is that the variable is `NULL`.
fn error_test(scene: &Scene<'_>, home: &Home, local: LocalId) -> Option<(StmtId, ExprId)> {
    let [lookup] = &home.lookups[..] else {
        return None;
    };
    let (Shape::Assigned(stmt, _) | Shape::Initialised(stmt, _)) = lookup.shape else {
        return None;
    };
    // The result comes through another variable, which is cast behind the lookup.
    if !takes_result(scene, local) {
        return None;
    }
    let StmtKind::If { cond, .. } = scene.tree.stmt(scene.next_sibling(stmt)?).kind else {
        return None;
    };
    let is_test = match scene.tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => scene.as_local(operand) == Some(local),
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } => scene.as_local(lhs) == Some(local) && scene.is_null(rhs),
        _ => false,
    };
    is_test.then_some((stmt, cond))
}

/// The tests of `local` for `NULL` and for `Py_None`, with the latter's `Py_None`.
fn tests(scene: &Scene<'_>, local: LocalId) -> Vec<(ExprId, Option<ExprId>)> {
    let mut tests = Vec::new();
    let is_local = |expr| scene.as_local(scene.tree.without_casts(expr)) == Some(local);
    for (at, expr) in (0u32..).zip(&scene.tree.exprs) {
        let test = ExprId(at);
        match expr.kind {
            ExprKind::Binary {
                op: BinaryOp::Equals | BinaryOp::NotEquals,
                lhs,
                rhs,
            } if is_local(lhs) || is_local(rhs) => {
                let other = if is_local(lhs) { rhs } else { lhs };
                if is_none(scene, other) {
                    tests.push((test, Some(other)));
                } else if scene.is_null(other) {
                    tests.push((test, None));
                }
            }
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } if is_local(operand) => tests.push((test, None)),
            ExprKind::Name(_) if is_local(test) && is_condition(scene, test) => {
                tests.push((test, None));
            }
            _ => {}
        }
    }
    tests
}

pub(super) fn is_none(scene: &Scene<'_>, expr: ExprId) -> bool {
    let named = &scene.tree.expr(scene.tree.without_casts(expr)).kind;
    matches!(named, ExprKind::Name(Name::Global(name)) if &**name == "Py_None")
}

fn is_condition(scene: &Scene<'_>, expr: ExprId) -> bool {
    match scene.parent_of_expr(expr) {
        Some(Parent::Stmt(stmt)) => !matches!(
            scene.tree.stmt(stmt).kind,
            StmtKind::Return(_) | StmtKind::Expr(_) | StmtKind::Decl(_)
        ),
        Some(Parent::Expr(outer)) => match scene.tree.expr(outer).kind {
            ExprKind::Binary { op, .. } => {
                matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
            }
            ExprKind::Conditional { .. } => true,
            _ => false,
        },
        None => false,
    }
}

/// The `||` or `&&` of which `test` is the left side, and its right side.
fn pair_of(scene: &Scene<'_>, test: ExprId) -> Option<(ExprId, ExprId)> {
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(test) else {
        return None;
    };
    match scene.tree.expr(outer).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
            lhs,
            rhs,
        } if lhs == test => Some((outer, rhs)),
        _ => None,
    }
}
