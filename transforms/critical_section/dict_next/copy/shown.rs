//! What a loop over the dict itself may see that one over a copy does not.

use super::Copy;
use super::dict::{Known, asks_exactly};
use crate::ast::{ExprId, ExprKind, Init, LocalId, StmtId, StmtKind};
use crate::edit::Assumption;
use crate::facts::{Claim, Fact};
use crate::strong::may_change;
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};
use crate::transforms::critical_section::dict_next::site::Site;
use crate::transforms::critical_section::dict_next::size::comes_to;

/// What must be true for the loops to see the same.
pub(super) fn doubts(copy: &Copy<'_>) -> Vec<Assumption> {
    let Some(dict) = copy.scope.text(copy.life.dict) else {
        return Vec::new();
    };
    let changer = changer(copy).map(|name| keeps_dict(copy.scope, name, &dict));
    let subclass = (!asks_exactly(copy.scope, &copy.life)).then(|| {
        format!(
            "`{dict}` is a plain dict (for a subclass, `PyDict_Copy` uses the results of its \
             methods)"
        )
    });
    let other = (copy.known == Known::Assumed).then(|| {
        format!(
            "`{dict}` is a dict (for other objects `PyDict_Copy` fails, but `PyDict_Next` finds \
             nothing)"
        )
    });
    let others = subclass.into_iter().chain(other).map(Assumption::from);
    changer.into_iter().chain(others).collect()
}

/// Of a function with a name of its own this is one question for all dicts.
fn keeps_dict(scope: &Scope<'_>, changer: Option<&str>, dict: &str) -> Assumption {
    let program = scope.cx.program;
    let function = changer.and_then(|it| program.named_function(program.item(scope.item), it));
    if let Some(function) = function {
        return Fact::new(Claim::KeepsDicts, function).into();
    }
    let name = changer.map_or("a callback".to_owned(), |name| format!("`{name}`"));
    format!(
        "{name} does not change `{dict}` before the last read (the copy would not show the change)"
    )
    .into()
}

/// What is called before the last read of the copy, and may change the dict; without a name if it
/// is called by a pointer.
fn changer<'a>(copy: &Copy<'a>) -> Option<Option<&'a str>> {
    let scope = copy.scope;
    let region = copy.life.site.range(scope);
    let sizes = copy.asked.iter().map(|asked| asked.call);
    let reads: Vec<ExprId> = copy.calls().chain(sizes).collect();
    scope.tree().expr_ids().find_map(|id| {
        let expr = scope.expr(id);
        let ExprKind::Call { callee, .. } = expr.kind else {
            return None;
        };
        let comes_before = |&read: &ExprId| comes_to(scope, id, read);
        if !inside(expr.range, region) || reads.contains(&id) || !reads.iter().any(comes_before) {
            return None;
        }
        match scope.tree().callee_name(callee) {
            Some(name) => may_change(scope.cx, name).then_some(Some(name)),
            None => Some(None),
        }
    })
}

/// Whether the position is 0 where a loop begins, and only `PyDict_Next` moves it: positions in a
/// copy are others than in a dict that items were removed from.
pub(super) fn begins_at_zero(scope: &Scope<'_>, site: &Site) -> bool {
    let ExprKind::Call { args, .. } = &scope.expr(site.call).kind else {
        return false;
    };
    let Some(pos) = args.get(1).and_then(|&arg| scope.address(arg)) else {
        return false;
    };
    let mut inner = site.iteration;
    for stmt in scope.ancestors(site.iteration) {
        match scope.stmt(stmt) {
            StmtKind::Block(stmts) => {
                let before = stmts.iter().take_while(|&&other| other != inner);
                let last = before.filter(|&&other| names(scope, other, pos)).last();
                if let Some(&last) = last {
                    return sets_to_zero(scope, last, pos) && is_left_alone(scope, site, pos);
                }
            }
            StmtKind::If { .. } => {}
            _ => return false,
        }
        inner = stmt;
    }
    false
}

/// Whether the loop names its position nowhere but in its call.
fn is_left_alone(scope: &Scope<'_>, site: &Site, pos: LocalId) -> bool {
    let (call, whole) = (scope.expr(site.call).range, scope.range(site.iteration));
    !scope.is_named_in(whole, pos, call)
}

fn names(scope: &Scope<'_>, stmt: StmtId, local: LocalId) -> bool {
    declared(scope, stmt, local).is_some() || scope.stmt_mentions(stmt, local)
}

/// What a variable gets in its declaration, if `stmt` is that.
fn declared<'a>(scope: &Scope<'a>, stmt: StmtId, local: LocalId) -> Option<Option<&'a Init>> {
    match scope.stmt(stmt) {
        StmtKind::Decl(decls) => {
            let decl = decls.iter().find(|decl| decl.local == local)?;
            Some(decl.init.as_ref())
        }
        _ => None,
    }
}

fn sets_to_zero(scope: &Scope<'_>, stmt: StmtId, local: LocalId) -> bool {
    let is_zero =
        |value: ExprId| matches!(scope.expr(scope.uncast(value)).kind, ExprKind::Int(Some(0)));
    if let Some(init) = declared(scope, stmt, local) {
        return matches!(init, Some(Init::Expr(value)) if is_zero(*value));
    }
    match scope.stmt(stmt) {
        StmtKind::Expr(expr) => {
            matches!(scope.expr(*expr).kind, ExprKind::Assign { op: None, lhs, rhs }
            if scope.local(lhs) == Some(local) && is_zero(rhs))
        }
        StmtKind::Label { body, .. } => sets_to_zero(scope, *body, local),
        _ => false,
    }
}
