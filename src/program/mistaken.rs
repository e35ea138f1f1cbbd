//! Whether the callers of a function take what it returns for a failure.
//!
//! ```c
//! if (!fill(self, list))        /* -1 is a success here, like 1 */
//!     return NULL;
//! if (fill(self, list) < 0)     /* and a failure here */
//!     return NULL;
//! fill(self, list);             /* and this goes on as if nothing had happened */
//! ```

use std::collections::BTreeSet;

use super::{CallIndex, CallSite, Mention, Program};
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Init, LocalId, Parent, Parents, StmtId, StmtKind, Tree,
    UnaryOp,
};
use crate::capi::takes_null_for_value;
use crate::cfg::Comparison;
use crate::source::FileId;

/// A call of `function`, or of one that returns what it does, whose tests do not tell the number
/// `error`, or 0 for `NULL`, from those of a success.
/// `unit` is the translation unit of the function.
#[must_use]
pub fn mistaken(
    program: &Program<'_>,
    calls: &CallIndex,
    (function, unit): (&Function, FileId),
    error: i64,
) -> Option<CallSite> {
    let mut search = Search {
        program,
        calls,
        error,
        seen: BTreeSet::new(),
    };
    search.of(function, unit)
}

/// Whether the call means another function of that name: a `static` one of its own translation unit,
/// which is not `unit`.
#[must_use]
pub fn is_namesake(program: &Program<'_>, site: CallSite, name: &str, unit: FileId) -> bool {
    let here = program.item(site.item).unit;
    let mut own = program.functions_named(name);
    here != unit && own.any(|(id, it)| it.is_static && program.item(id).unit == here)
}

struct Search<'a> {
    program: &'a Program<'a>,
    calls: &'a CallIndex,
    error: i64,
    seen: BTreeSet<Box<str>>,
}

impl Search<'_> {
    fn of(&mut self, function: &Function, unit: FileId) -> Option<CallSite> {
        if !self.seen.insert(function.name.as_str().into()) {
            return None;
        }
        let successes = Successes::of(self.program, function, self.error);
        let sites = self.calls.calls_to(&function.name).iter();
        let program = self.program;
        let mut sites = sites.filter(|&&site| !is_namesake(program, site, &function.name, unit));
        let called = sites.find_map(|&site| self.at(function, site, &successes));
        called.or_else(|| self.converter(function))
    }

    /// Whether a function asks for an exception, or one does that calls it, where it has no result.
    fn asks(&self, function: &Function) -> bool {
        let asks = |function: &Function| {
            let mut calls = function.tree.calls();
            calls.any(|(_, name)| name == "PyErr_Occurred")
        };
        let mut sites = self.calls.calls_to(&function.name).iter();
        asks(function)
            || function.ret.is_void()
                && sites.any(|&site| function_of(self.program, site).is_some_and(asks))
    }

    /// The call itself, or one of its function, that takes the error for a success.
    fn at(
        &mut self,
        function: &Function,
        site: CallSite,
        successes: &BTreeSet<i64>,
    ) -> Option<CallSite> {
        let caller = function_of(self.program, site)?;
        let mut uses = Uses::new(caller);
        uses.follow(site.expr);
        let tells = |&(comparison, number): &(Comparison, i64)| {
            let side = comparison.holds(self.error, number);
            let mut others = successes.iter();
            others.all(|&other| comparison.holds(other, number) != side)
        };
        let is_taken = match uses.tests.is_empty() {
            true => !uses.is_returned && (uses.is_dropped || function.ret.is_number()),
            false => !uses.tests.iter().any(tells),
        };
        if is_taken && !self.asks(caller) {
            return Some(site);
        }
        let hands_on = uses.is_returned && !caller.ret.is_void();
        let unit = self.program.item(site.item).unit;
        hands_on.then(|| self.of(caller, unit)).flatten()
    }

    /// The place where the function is given to `PyArg_ParseTuple`, which takes 0 for a failure and
    /// everything else for a success.
    fn converter(&self, function: &Function) -> Option<CallSite> {
        let Some(Mention::Address(site)) = self.calls.mention(&function.name) else {
            return None;
        };
        let caller = function_of(self.program, site)?;
        let tree = &caller.tree;
        let mut calls = tree.calls();
        let converts = calls.any(|(call, name)| {
            name.starts_with("PyArg_") && tree.expr(call).range.contains(tree.expr(site.expr).range)
        });
        (converts && self.error != 0).then_some(site)
    }
}

fn function_of<'a>(program: &'a Program<'_>, site: CallSite) -> Option<&'a Function> {
    program.items[site.item.0 as usize].function()
}

/// What a function returns but for the error; 0 and 1 stand for what is not written down.
struct Successes<'a> {
    program: &'a Program<'a>,
    seen: BTreeSet<&'a str>,
    found: BTreeSet<i64>,
}

impl<'a> Successes<'a> {
    fn of(program: &'a Program<'a>, function: &'a Function, error: i64) -> BTreeSet<i64> {
        let mut all = Self {
            program,
            seen: BTreeSet::new(),
            found: BTreeSet::new(),
        };
        all.add_all(function);
        all.found.remove(&error);
        all.found
    }

    fn add_all(&mut self, function: &'a Function) {
        // One that calls itself returns nothing else by that.
        if !self.seen.insert(&function.name) {
            return;
        }
        let tree = &function.tree;
        for stmt in &tree.stmts {
            let StmtKind::Return(Some(value)) = stmt.kind else {
                continue;
            };
            match tree.as_local(tree.without_casts(value)) {
                Some(local) => {
                    let stores = tree.stores().filter(|&(given, _)| given == local);
                    stores.for_each(|(_, value)| self.add(tree, value));
                    if function.params.contains(&local) || is_reckoned(tree, local) {
                        self.found.extend([0, 1]);
                    }
                }
                None => self.add(tree, value),
            }
        }
    }

    fn add(&mut self, tree: &'a Tree, value: ExprId) {
        if let Some(number) = tree.as_number(value) {
            self.found.insert(number);
            return;
        }
        let value = tree.without_casts(value);
        if let ExprKind::Conditional {
            then: Some(then),
            otherwise,
            ..
        } = tree.expr(value).kind
        {
            self.add(tree, then);
            return self.add(tree, otherwise);
        }
        let called = tree.called(value).into_iter();
        let own: Vec<&Function> = called
            .flat_map(|name| self.program.functions_named(name))
            .map(|(_, function)| function)
            .collect();
        if own.is_empty() {
            self.found.extend([0, 1]);
        }
        own.into_iter().for_each(|function| self.add_all(function));
    }
}

/// Whether `local` gets values that no assignment writes down: `n++`, `fill(&n)`.
fn is_reckoned(tree: &Tree, local: LocalId) -> bool {
    tree.expr_ids().any(|expr| match tree.expr(expr).kind {
        ExprKind::Assign { op: None, .. } => false,
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => tree.as_local(operand) == Some(local),
        _ => {
            let place = tree.changed(expr);
            place.is_some_and(|place| tree.as_local(place) == Some(local))
        }
    })
}

/// What a function makes of what a call gives.
struct Uses<'f> {
    tree: &'f Tree,
    parents: Parents,
    tests: Vec<(Comparison, i64)>,
    is_returned: bool,
    /// Nothing looks at it where the call stands, or `NULL` is as good as another value there.
    is_dropped: bool,
}

/// How many of the numbers of `case 1 ... 9:` are looked at.
const MAX_RANGE: i64 = 64;

/// Anything but 0.
const TRUTH: (Comparison, i64) = (Comparison::NotEqual, 0);

impl<'f> Uses<'f> {
    fn new(function: &'f Function) -> Self {
        Self {
            tree: &function.tree,
            parents: Parents::new(function),
            tests: Vec::new(),
            is_returned: false,
            is_dropped: false,
        }
    }

    /// Adds what becomes of `value`.
    fn follow(&mut self, value: ExprId) {
        match self.parents.of_expr(value) {
            Some(Parent::Expr(outer)) => self.within(value, outer),
            Some(Parent::Stmt(stmt)) => self.in_stmt(value, stmt),
            None => {}
        }
    }

    fn within(&mut self, value: ExprId, outer: ExprId) {
        match self.tree.expr(outer).kind {
            ExprKind::Unary {
                op: UnaryOp::Not, ..
            } => self.tests.push((Comparison::Equal, 0)),
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                ..
            } => self.tests.push(TRUTH),
            ExprKind::Binary { op, lhs, rhs } => {
                let (other, is_left) = if lhs == value {
                    (rhs, true)
                } else {
                    (lhs, false)
                };
                let null = || self.tree.is_null(other).then_some(0);
                let number = self.tree.as_number(other).or_else(null);
                if let (Some(comparison), Some(number)) = (Comparison::of(op), number) {
                    let mirrored = comparison.mirrored();
                    let comparison = if is_left { comparison } else { mirrored };
                    self.tests.push((comparison, number));
                }
            }
            ExprKind::Conditional { cond, .. } if cond == value => self.tests.push(TRUTH),
            ExprKind::Cast { .. } | ExprKind::Conditional { .. } => self.follow(outer),
            ExprKind::Assign { op: None, lhs, rhs } if rhs == value => {
                self.follow(outer);
                if let Some(local) = self.tree.as_local(lhs) {
                    self.follow_local(local, value);
                }
            }
            ExprKind::Call { ref args, .. } => {
                let name = self.tree.called(outer).unwrap_or_default();
                let text = |at| args.get(at).and_then(|&arg| self.tree.as_string(arg));
                let at = args.iter().position(|&arg| arg == value);
                self.is_dropped |= at.is_some_and(|at| takes_null_for_value(name, at, text));
            }
            _ => {}
        }
    }

    fn in_stmt(&mut self, value: ExprId, stmt: StmtId) {
        match &self.tree.stmt(stmt).kind {
            StmtKind::Return(_) => self.is_returned = true,
            StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::DoWhile { .. } => {
                self.tests.push(TRUTH);
            }
            StmtKind::Switch { body, .. } => self.in_switch(*body),
            StmtKind::Expr(_) => self.is_dropped = true,
            StmtKind::For { cond, .. } if *cond == Some(value) => self.tests.push(TRUTH),
            StmtKind::Decl(decls) => {
                let gets =
                    |init: &Option<Init>| matches!(init, Some(Init::Expr(init)) if *init == value);
                if let Some(decl) = decls.iter().find(|decl| gets(&decl.init)) {
                    self.follow_local(decl.local, value);
                }
            }
            _ => {}
        }
    }

    /// Adds the numbers that the labels of a `switch` tell apart.
    fn in_switch(&mut self, body: StmtId) {
        let within = |outer: StmtId, inner: StmtId| {
            let range = self.tree.stmt(outer).range;
            outer != inner && range.contains(self.tree.stmt(inner).range)
        };
        let stmts = (0u32..).zip(&self.tree.stmts);
        let inner: Vec<(StmtId, &StmtKind)> = stmts
            .map(|(at, stmt)| (StmtId(at), &stmt.kind))
            .filter(|&(stmt, _)| within(body, stmt))
            .collect();
        let is_own = |stmt: StmtId| {
            let mut others = inner.iter();
            !others.any(|&(other, kind)| {
                matches!(kind, StmtKind::Switch { .. }) && within(other, stmt)
            })
        };
        let labels = inner.iter().filter_map(|&(stmt, kind)| match kind {
            StmtKind::Case { low, high, .. } if is_own(stmt) => Some((*low, high.unwrap_or(*low))),
            _ => None,
        });
        for (low, high) in labels {
            if let (Some(low), Some(high)) = (self.tree.as_number(low), self.tree.as_number(high)) {
                let numbers = low..=high.min(low.saturating_add(MAX_RANGE));
                let tests = numbers.map(|number| (Comparison::Equal, number));
                self.tests.extend(tests);
            }
        }
    }

    /// Adds what becomes of `local` between the call that gives it and the next that does.
    fn follow_local(&mut self, local: LocalId, given: ExprId) {
        let tree = self.tree;
        let end = |expr: ExprId| tree.expr(expr).range.end;
        let next = tree
            .stores()
            .filter(|&(other, value)| other == local && end(value) > end(given))
            .map(|(_, value)| tree.expr(value).range.start)
            .min();
        let is_read = |&expr: &ExprId| {
            let range = tree.expr(expr).range;
            tree.as_local(expr) == Some(local)
                && range.start >= end(given)
                && next.is_none_or(|next| range.start < next)
        };
        let reads: Vec<ExprId> = tree.expr_ids().filter(is_read).collect();
        reads.into_iter().for_each(|read| self.follow(read));
    }
}
