//! UG701: items are stored into lists that others can see, without a lock.

use crate::ast::{ExprId, ExprKind, StmtKind, Tree};
use crate::declare_rule;
use crate::edit::{Confidence, Fix, replacing};
use crate::program::Types;
use crate::provenance::{SharedKind, Verdict};
use crate::rule::{CallSite, Finding, Outcome, PackageCx};

use super::moved_items::Store;
use super::{settle, told_at, words};

/// Names without which the rule has nothing to say.
pub const NAMES: &[&str] = &["PyList_SET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyList_SET_ITEM` with `PyList_SetItem`, except for a list that the function has just
    /// made.
    ///
    /// ## Why
    /// The macro stores without a lock and without a check. Another thread can shorten the list at the
    /// same time, and the old item is not released.
    ///
    /// ## Example
    /// Before:
    ///
    ///     PyList_SET_ITEM(self->rows, i, row);
    ///
    /// After:
    ///
    ///     PyList_SetItem(self->rows, i, row);
    ///
    /// ## Confidence
    /// Review: `PyList_SetItem` releases the old item, so code that released it itself, or that moves
    /// items within the list, must change. It fails with an exception if the index is out of range.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The call is in the body of a macro, or its value is used | manual | `#define PUT(l, v) PyList_SET_ITEM(l, 0, v)` | Use `PyList_SetItem` in the macro. |
    /// | The item is `NULL`, or its index is past the last item: `PyList_SetItem` releases the old item, and rejects an index that is out of range | manual | `PyList_SET_ITEM(list, 0, NULL);` | Use `PyList_SetSlice`, or store `None`. |
    /// | The function reads items of the list itself: it moves them, or releases the old one. The fix removes a release right before the store | manual | `PyList_SET_ITEM(l, 0, PyList_GET_ITEM(l, 1));` | Put the moves into a critical section on the list. |
    /// | The function gets the list from its caller: helpers fill new lists in this way | no finding | `static void fill(PyObject *l) { PyList_SET_ITEM(l, 0, v); }` | Check that callers pass only new lists. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_SetItem>
    pub static UNLOCKED_LIST_STORE {
        code: "UG701",
        name: "unlocked-list-store",
        summary: "an item is stored into a shared list without a lock and without releasing the old one",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Review),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let sites = cx.calls_to("PyList_SET_ITEM");
    if sites.is_empty() {
        return;
    }
    let types = Types::new(cx.program);
    let found = sites.iter().filter_map(|site| finding(cx, &types, *site));
    settle(cx, found.collect(), findings);
}

fn finding(cx: &PackageCx<'_>, types: &Types<'_>, site: CallSite) -> Option<Finding> {
    let function = cx.function(site.item)?;
    let (file, span) = told_at(cx, site.item, site.expr)?;
    let (_, args) = cx.call(site);
    let list = *args.first()?;
    let outcome = match cx.provenance(site, 0) {
        Verdict::Safe(proof) => Outcome::Safe(proof.sentence),
        Verdict::Shared(_) if cx.runs_at_init_only(&function.name) => {
            Outcome::Safe("it runs only during module initialisation".to_owned())
        }
        // Helpers fill lists that their callers have just made.
        Verdict::Shared(SharedKind::Parameter(_) | SharedKind::Unknown) => return None,
        Verdict::Shared(_) if is_in_plain_struct(types, &function.tree, list) => return None,
        Verdict::Shared(_) if is_made_here(cx, site, &function.tree, list) => {
            Outcome::Safe("the list is made in this function and filled here".to_owned())
        }
        Verdict::Shared(_) => outcome(cx, site, &function.tree),
    };
    Some(Finding {
        rule: &UNLOCKED_LIST_STORE,
        file,
        span,
        function: Some(function.name.clone()),
        api: Some("PyList_SET_ITEM"),
        message: "`PyList_SET_ITEM` stores into a list that other threads may use; it takes no \
                  lock and does not release the old item"
            .to_owned(),
        notes: Vec::new(),
        outcome,
    })
}

/// `self->rows = PyList_New(n);` somewhere before in the same function, spelled the same.
fn is_made_here(cx: &PackageCx<'_>, site: CallSite, tree: &Tree, list: ExprId) -> bool {
    let spell = |expr: ExprId| words(cx, site.item, tree.expr(expr).range);
    let spelled = spell(list);
    let start = tree.expr(list).range.start;
    // PyObject *rows = PyList_New(n);
    let local = tree.as_local(tree.without_casts(list));
    let given = tree.stores().filter(|(to, _)| Some(*to) == local);
    let given: Vec<ExprId> = given.map(|(_, value)| value).collect();
    let is_declared = !given.is_empty() && given.iter().all(|&value| makes_list(tree, value));
    is_declared
        || tree.exprs.iter().any(|expr| match expr.kind {
            ExprKind::Assign { op: None, lhs, rhs } if expr.range.end <= start => {
                makes_list(tree, rhs) && spell(lhs) == spelled
            }
            _ => false,
        })
}

/// `context->result` where the type of `context` is a `struct` of the package that is no object.
fn is_in_plain_struct(types: &Types<'_>, tree: &Tree, list: ExprId) -> bool {
    match &tree.expr(list).kind {
        ExprKind::Cast { operand, .. } => is_in_plain_struct(types, tree, *operand),
        ExprKind::Member { base, arrow, .. } => {
            let known = types
                .owner(tree, *base, *arrow)
                .and_then(|key| types.definition(&key));
            let is_object = types
                .of(tree, *base)
                .is_some_and(|ty| types.is_object_pointer(ty));
            known.is_some() && !is_object
        }
        _ => false,
    }
}

fn makes_list(tree: &Tree, expr: ExprId) -> bool {
    match &tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => tree.callee_name(*callee) == Some("PyList_New"),
        ExprKind::Cast { operand, .. } => makes_list(tree, *operand),
        ExprKind::Assign { rhs, .. } => makes_list(tree, *rhs),
        _ => false,
    }
}

fn outcome(cx: &PackageCx<'_>, site: CallSite, tree: &Tree) -> Outcome {
    let store = Store::new(cx, site);
    if let Some(why) = store.as_ref().and_then(Store::obstacle) {
        return Outcome::Manual(why.to_owned());
    }
    let (callee, _) = cx.call(site);
    let is_statement = tree
        .stmts
        .iter()
        .any(|stmt| matches!(stmt.kind, StmtKind::Expr(expr) if expr == site.expr));
    let name = cx.span(site.item, callee).filter(|_| is_statement);
    let Some((file, span)) = name else {
        return Outcome::Manual(
            "use `PyList_SetItem`, which locks the list, checks the index and releases the old item"
                .to_owned(),
        );
    };
    let mut fix = Fix::safe(replacing(
        "lock the list and release the old item",
        [("PyList_SET_ITEM", "PyList_SetItem")],
    ));
    fix.replace(file, span, "PyList_SetItem");
    // Py_DECREF(PyList_GET_ITEM(list, i));
    let released = store.and_then(|store| store.released_before());
    match released.and_then(|(stmt, _)| cx.stmt_span(site.item, stmt)) {
        Some((file, span)) => fix.edits.push(cx.layout(file, span).remove(span)),
        None => fix.assume("nothing else releases or keeps the old item"),
    }
    fix.assume("the index is in range (otherwise `PyList_SetItem` sets an exception)");
    Outcome::Fix(fix)
}
