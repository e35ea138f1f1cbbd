//! UG703: the reference count is taken for a proof that nobody else has the object.

use crate::ast::{BinaryOp, ExprId, ExprKind, Function, Tree, Type};
use crate::declare_rule;
use crate::edit::{Confidence, Fix, Need, replacing};
use crate::program::{Body, Types};
use crate::rule::{Finding, ItemId, Outcome, PackageCx};

use super::{is_asserted, settle, stands_for_api, told_at};

const TRIGGERS: &[&str] = &["Py_REFCNT", "ob_refcnt"];

const UNIQUE: &str = "PyUnstable_Object_IsUniquelyReferenced";

declare_rule! {
    /// ## What it does
    /// Finds comparisons of a reference count with 1 or 2 that decide something, and turns
    /// `Py_REFCNT(x) == 1` and `Py_REFCNT(x) > 1` into calls of
    /// `PyUnstable_Object_IsUniquelyReferenced`.
    ///
    /// ## Why
    /// On the free-threaded build, the count has two parts, and some references are not counted at
    /// all. A count of 1 does not mean that no other code has the object. Since Python 3.14, an argument
    /// of a function may have a count of 1 although the caller still uses it.
    ///
    /// ## Example
    /// Before:
    ///
    ///     if (Py_REFCNT(result) == 1)
    ///         reuse(result);
    ///
    /// After:
    ///
    ///     if (PyUnstable_Object_IsUniquelyReferenced(result))
    ///         reuse(result);
    ///
    /// ## Confidence
    /// Review. With the GIL, the new function gives the same answer as the old test. Without the GIL, it
    /// is true only if this thread made the object and holds its only reference. If that reference is in a
    /// container that other threads can reach, they may use the object right after the test. The function
    /// is new in 3.14; older Pythons get it from the compatibility header.
    ///
    /// For an argument of the function on Python 3.14 and newer, use
    /// `PyUnstable_Object_IsUniqueReferencedTemporary` instead: the caller may still use the object.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The comparison is with 2: it is not known which of the two references other code may use | manual | `if (Py_REFCNT(list) == 2)` | Decide without the count, or always make a copy. |
    /// | The comparison is in the body of a macro | manual | `#define IS_ONLY(o) (Py_REFCNT(o) == 1)` | Call `PyUnstable_Object_IsUniquelyReferenced` in the macro. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/object.html#c.PyUnstable_Object_IsUniquelyReferenced>
    pub static REFERENCE_COUNT_TEST {
        code: "UG703",
        name: "reference-count-test",
        summary: "a reference count is used as a proof that no other code has the object",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Review),
        triggers: TRIGGERS,
        check: check,
    }
}

/// The function that is looked at.
#[derive(Clone, Copy)]
struct Look<'a> {
    types: &'a Types<'a>,
    item: ItemId,
    function: &'a Function,
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let types = Types::new(cx.program);
    let mut found = Vec::new();
    for (at, item) in (0u32..).zip(&cx.program.items) {
        let Some(Body::Function(function)) = &item.body else {
            continue;
        };
        if cx.runs_at_init_only(&function.name) || stands_for_api(&function.name) {
            continue;
        }
        let look = Look {
            types: &types,
            item: ItemId(at),
            function,
        };
        for (number, _) in (0u32..).zip(&function.tree.exprs) {
            let expr = ExprId(number);
            let test = test_of(&function.tree, expr);
            if let Some(test) = test.filter(|_| !is_asserted(&function.tree, expr)) {
                found.extend(finding(cx, look, expr, test));
            }
        }
    }
    settle(cx, found, findings);
}

/// What a comparison says of a count.
#[derive(Debug, Clone, Copy)]
struct Test {
    /// The count: a call of `Py_REFCNT`, or the field.
    count: ExprId,
    /// Whether the comparison holds for a count of 1 and for no other, or for all others; `None`
    /// if it tells other counts apart.
    is_one: Option<bool>,
    /// Whether a count of 0 is told apart from 1 as well.
    is_exact: bool,
}

fn test_of(tree: &Tree, expr: ExprId) -> Option<Test> {
    let ExprKind::Binary { op, lhs, rhs } = &tree.expr(expr).kind else {
        return None;
    };
    let small = |side: ExprId| match tree.expr(side).kind {
        ExprKind::Int(Some(number @ (1 | 2))) => Some(number),
        _ => None,
    };
    let (count, op, number) = match (small(*lhs), small(*rhs)) {
        (None, Some(number)) => (*lhs, *op, number),
        (Some(number), None) => (*rhs, mirrored(*op), number),
        _ => return None,
    };
    let is_one = match (op, number) {
        (BinaryOp::Equals | BinaryOp::LessOrEqual, 1) | (BinaryOp::Less, 2) => Some(true),
        (BinaryOp::NotEquals | BinaryOp::Greater, 1) | (BinaryOp::GreaterOrEqual, 2) => Some(false),
        // Whether the object is alive at all.
        (BinaryOp::GreaterOrEqual | BinaryOp::Less, 1) => return None,
        (
            BinaryOp::Equals
            | BinaryOp::NotEquals
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual,
            _,
        ) => None,
        _ => return None,
    };
    object_of(tree, count)?;
    Some(Test {
        count,
        is_one,
        is_exact: matches!(op, BinaryOp::Equals | BinaryOp::NotEquals),
    })
}

/// The operator for the sides the other way round.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        same => same,
    }
}

/// The object whose count an expression is, or the `struct` that holds it.
fn object_of(tree: &Tree, count: ExprId) -> Option<ExprId> {
    match &tree.expr(count).kind {
        ExprKind::Call { callee, args } if tree.callee_name(*callee) == Some("Py_REFCNT") => {
            args.first().copied()
        }
        ExprKind::Member { base, field, .. } if &**field == "ob_refcnt" => Some(*base),
        ExprKind::Cast { operand, .. } => object_of(tree, *operand),
        _ => None,
    }
}

fn finding(cx: &PackageCx<'_>, look: Look<'_>, expr: ExprId, test: Test) -> Option<Finding> {
    let (file, span) = told_at(cx, look.item, expr)?;
    let by_hand = || {
        "use `PyUnstable_Object_IsUniquelyReferenced` (3.14, or `pythoncapi_compat.h`) if only \
         this thread can reach the object; otherwise use a lock"
            .to_owned()
    };
    let fix = fix(cx, look, expr, test);
    Some(Finding {
        rule: &REFERENCE_COUNT_TEST,
        file,
        span,
        function: Some(look.function.name.clone()),
        api: None,
        message: "a reference count of 1 does not prove that only this code has the object; other \
                  threads may have it, too"
            .to_owned(),
        notes: Vec::new(),
        outcome: fix.map_or_else(|| Outcome::Manual(by_hand()), Outcome::Fix),
    })
}

/// A comparison with 1, written as a question for the only reference.
fn fix(cx: &PackageCx<'_>, look: Look<'_>, expr: ExprId, test: Test) -> Option<Fix> {
    let tree = &look.function.tree;
    let is_one = test.is_one?;
    let object = object_of(tree, test.count)?;
    if matches!(
        tree.expr(test.count).kind,
        ExprKind::Member { arrow: false, .. }
    ) {
        return None; // `self->ob_base.ob_refcnt`: no pointer to pass on.
    }
    let (file, span) = cx.span(look.item, expr)?;
    let (_, inner) = cx.span(look.item, object)?;
    let mut text = cx.file(file).text(inner).into_owned();
    let ty = look.types.of(tree, object);
    if !ty.is_some_and(Type::is_py_object_pointer) {
        let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        text = match is_plain {
            true => format!("(PyObject *){text}"),
            false => format!("(PyObject *)({text})"),
        };
    }
    let not = if is_one { "" } else { "!" };
    let mut fix = Fix::safe(replacing(
        "test for the only reference",
        [("Py_REFCNT", UNIQUE)],
    ));
    fix.replace(file, span, format!("{not}{UNIQUE}({text})"));
    fix.assume(
        "no other thread can reach the object (through a container, a field or a weak reference) \
         while this code treats it as its own",
    );
    if !test.is_exact {
        fix.assume("the object is not being destroyed (its reference count is not 0)");
    }
    fix.needs.push(Need::Compat {
        file,
        function: UNIQUE,
    });
    Some(fix)
}
