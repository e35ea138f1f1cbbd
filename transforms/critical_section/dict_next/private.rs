//! Dicts that no other thread can change while the loop runs.

use crate::ast::{ExprId, ExprKind, Name, StmtId, StmtKind, TokenRange};
use crate::program::CallSite;
use crate::provenance::{SafeReason, Verdict};
use crate::roles::{Role, reached_only_from};

use super::by_calls::by_calls;
use super::scope::Scope;
use super::site::Site;
use super::values::{self, KEY, VALUE};

/// Why no other thread can change the dict of `call` during the iteration; `None` if one can as
/// far as is known.
pub(super) fn is_private(scope: &Scope<'_>, call: ExprId) -> Option<String> {
    if only_traverses(scope) {
        return Some("the garbage collector stops all other threads during a traversal".into());
    }
    if argument(scope, call, 0).is_some_and(|dict| is_copy_or_no_dict(scope, dict)) {
        return Some("it is a copy, or not a dict".into());
    }
    proof(scope, call, false)
}

/// Whether a collector may call the function while it holds all threads still: one of them may have
/// been stopped with the lock that a section waits for.
pub(super) fn may_traverse(scope: &Scope<'_>) -> bool {
    let traversing = &by_calls(scope.cx).traversing;
    traversing.contains(&*scope.function.name)
}

/// Whether the function runs only while a collector holds all threads still.
fn only_traverses(scope: &Scope<'_>) -> bool {
    let mut params = scope.function.params.iter();
    if params.any(|&param| scope.tree().local(param).ty.name() == Some("visitproc")) {
        return true;
    }
    let (cx, name) = (scope.cx, &*scope.function.name);
    let is_entry = |_: &str, of: &[&Role]| !of.is_empty() && of.iter().all(|it| it.is_traverse());
    may_traverse(scope)
        && cx.roles().is_some_and(|roles| {
            let (program, calls) = (cx.program, cx.call_index());
            reached_only_from(program, calls, roles, &is_entry).contains(name)
        })
}

/// Why the dict of `call` is as it was, in a section of the author or not.
fn proof(scope: &Scope<'_>, call: ExprId, in_section: bool) -> Option<String> {
    let site = CallSite {
        item: scope.item,
        expr: call,
    };
    match scope.cx.provenance(site, 0) {
        Verdict::Safe(proof) => {
            let is_section = proof.reason == SafeReason::Guarded;
            (is_section == in_section).then_some(proof.sentence)
        }
        Verdict::Shared(_) => None,
    }
}

/// Whether a variable gets nothing but `PyDict_Check(d) ? PyDict_Copy(d) : Py_NewRef(d)`.
fn is_copy_or_no_dict(scope: &Scope<'_>, dict: ExprId) -> bool {
    let Some(local) = scope.local(dict) else {
        return false;
    };
    let named = |expr: ExprId| match &scope.expr(scope.uncast(expr)).kind {
        ExprKind::Call { callee, args } => {
            Some((scope.tree().callee_name(*callee)?, *args.first()?))
        }
        _ => None,
    };
    let is_copy = |value: ExprId| match scope.expr(scope.uncast(value)).kind {
        ExprKind::Conditional {
            cond,
            then: Some(then),
            otherwise,
        } => match (named(cond), named(then), named(otherwise)) {
            (
                Some(("PyDict_Check", asked)),
                Some(("PyDict_Copy", copied)),
                Some(("Py_NewRef", other)),
            ) => scope.is_same_text(asked, copied) && scope.is_same_text(asked, other),
            _ => false,
        },
        ExprKind::Int(Some(0)) => true,
        _ => false,
    };
    let mut values = scope
        .tree()
        .stores()
        .filter(|(to, _)| *to == local)
        .peekable();
    values.peek().is_some() && values.all(|(_, value)| is_copy(value))
}

/// Whether the region already runs in a section on its dict: why it is safe, or what is wrong
/// with the section around it.
pub(super) fn existing_section(scope: &Scope<'_>, call: ExprId) -> Option<Result<String, String>> {
    let dict = argument(scope, call, 0)?;
    let own = proof(scope, call, true).map(Ok);
    let own = own.or_else(|| section_around(scope, call, dict));
    let held = own.or_else(|| held_by_callers(scope, dict).map(Ok))?;
    Some(held.and_then(|reason| match lends_too_long(scope, call) {
        Some(advice) => Err(advice),
        None => Ok(reason),
    }))
}

/// What to do where the section around `call` does not keep alive what it lends.
///
/// ```c
/// Py_BEGIN_CRITICAL_SECTION(d);
/// while (PyDict_Next(d, &pos, &key, &value)) {
///     PyList_Append(list, key);       /* may wait for the lock of the list */
///     n += PyObject_Size(value);      /* which another thread has replaced by then */
/// }
/// Py_END_CRITICAL_SECTION();
/// ```
fn lends_too_long(scope: &Scope<'_>, call: ExprId) -> Option<String> {
    let is_null = |at| argument(scope, call, at).is_some_and(|out| scope.tree().is_null(out));
    if is_null(2) && is_null(3) {
        return None;
    }
    let Ok(site) = Site::read(scope, call) else {
        return Some(
            "hold key and value with `Py_NewRef` while they are used (calls that run Python code \
             or wait for a lock may suspend the critical section around the loop)"
                .into(),
        );
    };
    let uses = values::uses_in(scope, &site, section_range(scope, call));
    let lent = uses.suspended | uses.outlives;
    let names = [(site.key, KEY), (site.value, VALUE)].into_iter();
    let names = names.filter_map(|(local, set)| local.filter(|_| lent & set != 0));
    let names: Vec<String> = names.map(|it| format!("`{}`", scope.name(it))).collect();
    (!names.is_empty()).then(|| {
        format!(
            "take references at the top of the loop, and release them wherever its body is left \
             (calls that run Python code or wait for a lock suspend the critical section, and then \
             nothing keeps {} alive)",
            names.join(" and ")
        )
    })
}

/// The tokens of the section around `call`; of the whole function if its callers have it.
fn section_range(scope: &Scope<'_>, call: ExprId) -> TokenRange {
    let around = |stmt| scope.ancestors(stmt);
    let mut blocks = scope.stmt_of(call).into_iter().flat_map(around);
    let at = scope.expr(call).range.start;
    let section = blocks.find_map(|block| {
        let StmtKind::Block(stmts) = scope.stmt(block) else {
            return None;
        };
        let is_begin = |stmt: &&StmtId| locked_by(scope, **stmt).is_some();
        let mut before = stmts.iter().rev();
        let begin = before.find(|stmt| scope.range(**stmt).end <= at && is_begin(stmt))?;
        let mut behind = stmts.iter().filter(|stmt| scope.range(**stmt).start > at);
        let end = behind.find(|&&stmt| ends_section(scope, stmt));
        Some(TokenRange {
            start: scope.range(*begin).start,
            end: end.map_or(scope.range(block).end, |&end| scope.range(end).start),
        })
    });
    section.unwrap_or(scope.function.range)
}

fn ends_section(scope: &Scope<'_>, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = *scope.stmt(stmt) else {
        return false;
    };
    matches!(
        scope.expr(expr).kind,
        ExprKind::Call { callee, .. } if matches!(
            scope.tree().callee_name(callee),
            Some("PyCriticalSection_End" | "PyCriticalSection2_End")
        )
    )
}

/// Why the dict is held by each caller of a function that nobody else knows: the helper that
/// `_lock_held` functions are.
fn held_by_callers(scope: &Scope<'_>, dict: ExprId) -> Option<String> {
    let (cx, function) = (scope.cx, scope.function);
    let local = scope.local(dict)?;
    let at = function.params.iter().position(|&param| param == local)?;
    let calls = cx.calls_to(&function.name);
    let is_known = function.is_static && !cx.call_index().is_mentioned(&function.name);
    let holds = |site: &CallSite| {
        let caller = cx.function(site.item);
        caller.is_some_and(|caller| {
            let scope = Scope::new(cx, site.item, caller);
            let dict = argument(&scope, site.expr, at);
            dict.is_some_and(|dict| matches!(section_around(&scope, site.expr, dict), Some(Ok(_))))
        })
    };
    let is_held = is_known
        && !calls.is_empty()
        && !scope.is_written(local, function.range, None)
        && calls.iter().all(holds);
    is_held.then(|| {
        format!(
            "each caller locks `{}` in a critical section",
            scope.name(local)
        )
    })
}

/// Whether a section on `dict` stands around `call`: why that is safe, or what is wrong with the
/// section that does.
fn section_around(scope: &Scope<'_>, call: ExprId, dict: ExprId) -> Option<Result<String, String>> {
    let stmt = scope.stmt_of(call)?;
    let mut other = false;
    for block in scope.ancestors(stmt) {
        let StmtKind::Block(stmts) = scope.stmt(block) else {
            continue;
        };
        let start = scope.range(stmt).start;
        let before = stmts
            .iter()
            .take_while(|stmt| scope.range(**stmt).end <= start);
        for locked in before.filter_map(|&stmt| locked_by(scope, stmt)) {
            other = true;
            if locked.iter().any(|&object| names(scope, object, dict)) {
                let dict = scope.text(dict).unwrap_or_else(|| "the dict".to_owned());
                return Some(Ok(format!("the critical section around it locks `{dict}`")));
            }
        }
    }
    other.then(|| {
        Err(
            "lock both objects with `Py_BEGIN_CRITICAL_SECTION2` (the critical section around the \
             loop locks another object, and an inner section would suspend it)"
                .into(),
        )
    })
}

/// Whether `object` is `dict`, or that where there is one: `d != NULL ? d : Py_None`.
fn names(scope: &Scope<'_>, object: ExprId, dict: ExprId) -> bool {
    match scope.expr(scope.uncast(object)).kind {
        ExprKind::Conditional {
            then: Some(then),
            otherwise,
            ..
        } => scope.is_same_text(then, dict) && is_none(scope, otherwise),
        _ => scope.is_same_text(object, dict),
    }
}

fn is_none(scope: &Scope<'_>, object: ExprId) -> bool {
    matches!(&scope.expr(scope.uncast(object)).kind, ExprKind::Name(Name::Global(name))
        if &**name == "Py_None")
}

/// The objects that a section which `stmt` begins locks.
fn locked_by<'a>(scope: &Scope<'a>, stmt: StmtId) -> Option<&'a [ExprId]> {
    let StmtKind::Expr(expr) = scope.stmt(stmt) else {
        return None;
    };
    let ExprKind::Call { callee, args } = &scope.expr(*expr).kind else {
        return None;
    };
    let begins = matches!(
        scope.tree().callee_name(*callee)?,
        "PyCriticalSection_Begin" | "PyCriticalSection2_Begin"
    );
    begins.then(|| args.get(1..).unwrap_or_default())
}

/// An argument of a call, without casts.
fn argument(scope: &Scope<'_>, call: ExprId, at: usize) -> Option<ExprId> {
    match &scope.expr(call).kind {
        ExprKind::Call { args, .. } => Some(scope.uncast(*args.get(at)?)),
        _ => None,
    }
}
