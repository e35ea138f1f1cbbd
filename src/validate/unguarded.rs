//! What clears a list of weak references without the test that was around it may do so in any case.
//!
//! ```c
//! if (self->weakrefs != NULL)                         PyObject_ClearWeakRefs(self);
//!     PyObject_ClearWeakRefs(self);
//! ```
//!
//! For an object that lives, or whose type has no list, the call raises an exception now where the
//! test was false.

use super::Failure;
use super::changed::Changed;
use super::original::Original;
use super::proof::{calls, graph, original_span};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Parent, Parents};
use crate::ast::{StmtId, StmtKind, UnaryOp};
use crate::capi;
use crate::cfg::{Callee, Cfg, Instr, InstrKind, Operand, Point, Projection, TempId, reaches};
use crate::program::ProgramItem;
use crate::roles::{COUNT_IS_ZERO, has_list};
use crate::source::ByteSpan;

/// What is not proven of such calls, each with the test that went.
pub(super) fn failures(changed: Changed<'_>) -> Vec<(Option<ByteSpan>, Failure)> {
    let now = calls(changed.function).filter(|(_, name)| capi::CLEARS_WEAK_LIST.contains(name));
    let mut failures = Vec::new();
    for (call, _) in now {
        let range = changed.function.tree.expr(call).range;
        let Some((_, span)) = changed.item.tokens.file_span(range) else {
            continue;
        };
        let place = original_span(changed.applied, span);
        for (item, function) in changed.befores() {
            let before = Before { item, function };
            failures.extend(before.call_at(place).into_iter().flat_map(|old| {
                let gone = before.tests_gone(&changed, old);
                let span = gone.first().and_then(|it| before.span(*it));
                let found = before.failures(&changed, old, call, &gone).into_iter();
                found.map(move |failure| (span, failure))
            }));
        }
    }
    failures.dedup();
    failures
}

/// The function before the change.
struct Before<'a> {
    item: &'a ProgramItem,
    function: &'a Function,
}

impl Before<'_> {
    /// The call that stands at `place`.
    fn call_at(&self, place: ByteSpan) -> Option<ExprId> {
        let mut all = calls(self.function);
        let is_it = |call: ExprId| {
            let range = self.function.tree.expr(call).range;
            let span = self.item.tokens.file_span(range);
            span.is_some_and(|(_, span)| span == place)
        };
        all.find(|(call, _)| is_it(*call)).map(|(call, _)| call)
    }

    fn span(&self, stmt: StmtId) -> Option<ByteSpan> {
        let range = self.function.tree.stmt(stmt).range;
        Some(self.item.tokens.file_span(range)?.1)
    }

    /// The tests around the call that the edits took out, the inner ones first.
    fn tests_gone(&self, changed: &Changed<'_>, call: ExprId) -> Vec<StmtId> {
        let tree = &self.function.tree;
        let parents = Parents::new(self.function);
        let mut gone = Vec::new();
        let mut at = parents.of_expr(call);
        while let Some(node) = at {
            at = match node {
                Parent::Expr(expr) => parents.of_expr(expr),
                Parent::Stmt(stmt) => {
                    let is_test = matches!(tree.stmt(stmt).kind, StmtKind::If { .. });
                    let start = self.span(stmt).filter(|_| is_test);
                    let is_gone =
                        start.is_some_and(|it| changed.applied.map.to_new(it.start()).is_none());
                    gone.extend(is_gone.then_some(stmt));
                    parents.of_stmt(stmt)
                }
            };
        }
        gone
    }

    /// What is not proven of the call, of which `now` is what it became.
    fn failures(
        &self,
        changed: &Changed<'_>,
        call: ExprId,
        now: ExprId,
        gone: &[StmtId],
    ) -> Vec<Failure> {
        let &[test] = gone else {
            let wrong = Failure::Wrong("several tests around a call were removed".to_owned());
            return gone.first().map(|_| wrong).into_iter().collect();
        };
        let Some(field) = self.tested(test, call) else {
            let reason = format!(
                "in `{}`, the test guarded more than one call",
                self.function.name
            );
            return vec![Failure::Wrong(reason)];
        };
        let mut failures = Vec::new();
        if !self.has_list(changed.original, call, field) {
            let claim = has_list(changed.path(), &self.function.name, field);
            failures.push(Failure::Unknown(claim.into()));
        }
        if !leaves_count(changed, now) {
            failures.push(Failure::Unknown(COUNT_IS_ZERO.into()));
        }
        failures
    }

    /// The field that the test asks for, if it asks for nothing else and governs only the call.
    fn tested(&self, test: StmtId, call: ExprId) -> Option<&str> {
        let tree = &self.function.tree;
        let StmtKind::If {
            cond,
            then,
            otherwise: None,
        } = tree.stmt(test).kind
        else {
            return None;
        };
        let only = match tree.stmt(then).kind {
            StmtKind::Block(ref stmts) if stmts.len() == 1 => stmts[0],
            _ => then,
        };
        let is_only = matches!(tree.stmt(only).kind, StmtKind::Expr(expr) if expr == call);
        let mut fields = Vec::new();
        let is_quiet = tree.exprs_in(tree.expr(cond).range).all(|(id, expr)| {
            if let ExprKind::Member { field, .. } = &expr.kind {
                fields.push(&**field);
            }
            let ne = BinaryOp::NotEquals;
            matches!(&expr.kind, ExprKind::Binary { op, .. } if *op == ne)
                || matches!(&expr.kind, ExprKind::Unary { op, .. } if *op == UnaryOp::Deref)
                || matches!(expr.kind, ExprKind::Member { .. } | ExprKind::Cast { .. })
                || tree.as_local(id).is_some()
                || tree.is_null(id)
        });
        match fields[..] {
            [field] if is_only && is_quiet => Some(field),
            _ => None,
        }
    }

    /// Whether the call gets the object that the function destroys, of a type whose list is `field`.
    fn has_list(&self, original: &Original<'_>, call: ExprId, field: &str) -> bool {
        let tree = &self.function.tree;
        let program = original.program;
        let lists = original.weak_lists();
        let lists = lists.destroyed_by(program, self.item, self.function);
        let lists = lists.unwrap_or_default();
        let given = tree.call(call).and_then(|(_, args)| args.first().copied());
        let given = given.and_then(|it| tree.as_local(tree.without_casts(it)));
        let calls = original.calls();
        given.is_some_and(|it| self.is_own(it))
            && !calls.may_be_called_unseen(&self.function.name)
            && !lists.is_empty()
            && lists.iter().all(|list| &*list.field == field)
    }

    /// Whether a variable is the first parameter, or a copy of it that never changes.
    fn is_own(&self, local: LocalId) -> bool {
        let tree = &self.function.tree;
        let own = self.function.params.first().copied();
        let values: Vec<ExprId> = tree
            .stores()
            .filter(|it| it.0 == local)
            .map(|it| it.1)
            .collect();
        match values[..] {
            [] => own == Some(local),
            [value] => {
                let source = tree.as_local(tree.without_casts(value));
                let is_set = |it: LocalId| tree.stores().any(|(set, _)| set == it);
                source.is_some_and(|it| own == Some(it) && !is_set(it))
            }
            _ => false,
        }
    }
}

/// Whether no step on a way to the call may change the count of an object that a variable holds.
fn leaves_count(changed: &Changed<'_>, call: ExprId) -> bool {
    let graph = graph(changed.function);
    let Some(goal) = graph.call(call) else {
        return false;
    };
    let comes = |point: Point| reaches(&graph, point.next(), goal, &[]);
    let mut steps = graph.steps();
    steps.all(|(point, instr)| is_quiet(changed.original, &graph, instr) || !comes(point))
}

fn is_quiet(original: &Original<'_>, graph: &Cfg, instr: &Instr) -> bool {
    match &instr.kind {
        InstrKind::Asm => false,
        InstrKind::Store { place, .. } => {
            let mut path = place.path.iter();
            !path.any(|it| matches!(it, Projection::Field(name) if &**name == "ob_refcnt"))
        }
        InstrKind::Call { callee, args, .. } => {
            let Callee::Named(name) = callee else {
                return false;
            };
            let is_own = original.program.functions_named(name).next().is_some();
            let mut given = args.iter().enumerate();
            let is_left = |(at, arg): (usize, &Operand)| {
                capi::leaves_count(name, at) || !holds_variable(graph, arg)
            };
            !is_own && capi::counts_nothing(name) && given.all(is_left)
        }
        _ => true,
    }
}

/// Whether a value is that of a variable, which may hold the object.
fn holds_variable(graph: &Cfg, value: &Operand) -> bool {
    let made = |temp: TempId| {
        graph
            .steps()
            .map(|(_, it)| it)
            .filter(move |it| it.dst() == Some(temp))
    };
    match value {
        Operand::Temp(temp) => made(*temp).any(|instr| match &instr.kind {
            InstrKind::Load { place, .. } => place.as_local().is_some(),
            InstrKind::Cast { src, .. } | InstrKind::Copy { src, .. } => holds_variable(graph, src),
            _ => false,
        }),
        _ => false,
    }
}
