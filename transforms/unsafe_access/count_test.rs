//! UG703: the reference count is taken for a proof that nobody else has the object.

use crate::ast::{BinaryOp, ExprId, ExprKind, Tree};
use crate::declare_rule;
use crate::rule::{Finding, ItemId, Outcome, PackageCx};

use super::{is_asserted, settle, stands_for_api, told_at};

const TRIGGERS: &[&str] = &["Py_REFCNT", "ob_refcnt"];

declare_rule! {
    /// ## What it does
    /// Finds comparisons of a reference count with 1 or 2 that decide something:
    /// `Py_REFCNT(x) == 1`, `Py_REFCNT(x) > 1`.
    ///
    /// ## Why is this bad?
    /// On the free-threaded build the count is kept in two parts, and some references are not
    /// counted at all: 1 does not mean that nobody else can see the object, and from 3.14 on an
    /// argument of a function may have a count of 1 although the caller still uses it.
    ///
    /// ## Example
    /// ```c
    /// if (Py_REFCNT(result) == 1)
    ///     reuse(result);
    /// ```
    /// Use instead:
    /// ```c
    /// if (PyUnstable_Object_IsUniquelyReferenced(result))
    ///     reuse(result);
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the function is new in 3.14 (`pythoncapi_compat.h` has it for older
    /// Pythons), and an object that other threads reach through a container may be seen by them
    /// right after the test.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/object.html#c.PyUnstable_Object_IsUniquelyReferenced>
    pub static REFERENCE_COUNT_TEST {
        code: "UG703",
        name: "reference-count-test",
        summary: "a reference count is taken for a proof that nobody else has the object",
        since: "0.1.0",
        best: None,
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for (at, item) in (0u32..).zip(&cx.program.items) {
        let Some(crate::program::Body::Function(function)) = &item.body else {
            continue;
        };
        if cx.runs_at_init_only(&function.name) || stands_for_api(&function.name) {
            continue;
        }
        for (number, _) in (0u32..).zip(&function.tree.exprs) {
            let expr = ExprId(number);
            if is_test(&function.tree, expr) && !is_asserted(&function.tree, expr) {
                found.extend(finding(cx, ItemId(at), expr, &function.name));
            }
        }
    }
    settle(found, findings);
}

fn is_test(tree: &Tree, expr: ExprId) -> bool {
    let ExprKind::Binary { op, lhs, rhs } = &tree.expr(expr).kind else {
        return false;
    };
    let compares = matches!(
        op,
        BinaryOp::Equals
            | BinaryOp::NotEquals
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
    );
    let small = |side: ExprId| matches!(tree.expr(side).kind, ExprKind::Int(Some(1 | 2)));
    compares && (is_count(tree, *lhs) && small(*rhs) || small(*lhs) && is_count(tree, *rhs))
}

fn is_count(tree: &Tree, expr: ExprId) -> bool {
    match &tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => tree.callee_name(*callee) == Some("Py_REFCNT"),
        ExprKind::Member { field, .. } => &**field == "ob_refcnt",
        ExprKind::Cast { operand, .. } => is_count(tree, *operand),
        _ => false,
    }
}

fn finding(cx: &PackageCx<'_>, item: ItemId, expr: ExprId, function: &str) -> Option<Finding> {
    let (file, span) = told_at(cx, item, expr)?;
    Some(Finding {
        rule: &REFERENCE_COUNT_TEST,
        file,
        span,
        function: Some(function.to_owned()),
        api: None,
        message: "this count does not prove that nobody else has the object".to_owned(),
        notes: Vec::new(),
        outcome: Outcome::Manual(
            "use `PyUnstable_Object_IsUniquelyReferenced` (3.14, or `pythoncapi_compat.h`) if only \
             this thread can reach the object, else a lock"
                .to_owned(),
        ),
    })
}
