//! Loops whose dict is emptied or replaced after them: what the loop has not seen would be lost.
//!
//! ```c
//! while (PyDict_Next(inv, &pos, &key, &value)) {
//!     if (invalidate(key) < 0)
//!         return NULL;
//! }
//! PyDict_Clear(inv);
//! ```

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Function, LocalId, StmtId, StmtKind, Tree, UnaryOp};
use crate::capi;
use crate::cfg::{self, Callee, Cfg, InstrKind, Point, Source, reaches};
use crate::rule::PackageCx;

use super::field::{names_in, sets, sets_one};
use super::operand::Operand;
use super::scope::Scope;
use super::site::{Region, Site};

/// What may empty the dict of `site`, or put another one in its place, on some path after its region,
/// or after a call of its function.
///
/// ```c
/// if (reset)
///     PyDict_Clear(self->stats);      /* `PyDict_Clear` */
/// flush(self);                        /* `flush`, which calls that */
/// Py_SETREF(self->stats, fresh);      /* `Py_SETREF` */
/// ```
pub(super) fn later(scope: &Scope<'_>, site: &Site) -> Option<String> {
    let from = scope.cfg.call(site.call)?;
    let (tree, range) = (scope.tree(), site.range(scope));
    let dict = scope.uncast(site.dict);
    let owner = owner(tree, dict);
    let is_same = |arg, of| scope.is_same_text(scope.uncast(arg), of);
    let names = holders(tree, dict);
    let behind = Behind {
        cx: scope.cx,
        tree,
        names: &names,
        is_dict: &|arg| is_same(arg, dict),
        is_owner: &|arg| owner.is_some_and(|owner| is_same(arg, owner)),
    };
    let is_own = |source| scope.is_inside(source, range);
    let found = behind.first(&scope.cfg, from, &is_own);
    found.or_else(|| in_callers(scope, dict, names.clone()))
}

/// The object with the field that holds the dict: `self` of `self->stats` and of `(*self).stats`.
fn owner(tree: &Tree, dict: ExprId) -> Option<ExprId> {
    let ExprKind::Member { base, .. } = tree.expr(dict).kind else {
        return None;
    };
    let base = tree.without_casts(base);
    Some(match tree.expr(base).kind {
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => tree.without_casts(operand),
        _ => base,
    })
}

/// The same behind the calls of the function, and of those that call it.
///
/// ```c
/// n = count_strings(d);
/// PyDict_Clear(d);
/// ```
fn in_callers<'s>(scope: &'s Scope<'_>, dict: ExprId, names: BTreeSet<&'s str>) -> Option<String> {
    let cx = scope.cx;
    let param = |function: &Function, dict: Option<LocalId>| {
        let mut params = function.params.iter();
        params.position(|&param| Some(param) == dict)
    };
    let function = scope.function;
    let mut open = vec![(
        function,
        param(function, scope.tree().as_local(dict)),
        names,
    )];
    let mut seen = BTreeSet::new();
    while let Some((function, at, names)) = open.pop() {
        let is_lost = at.is_none() && names.is_empty();
        if is_lost || !seen.insert((&*function.name, at)) {
            continue;
        }
        for site in cx.calls_to(&function.name) {
            let Some(caller) = cx.function(site.item) else {
                continue;
            };
            let (tree, (_, args)) = (&caller.tree, cx.call(*site));
            let given = at.and_then(|at| args.get(at));
            let given = given.map(|&arg| tree.without_casts(arg));
            let names = given.map_or_else(|| names.clone(), |arg| holders(tree, arg));
            let local = given.and_then(|arg| tree.as_local(arg));
            let behind = Behind {
                cx,
                tree,
                names: &names,
                is_dict: &|arg| local.is_some() && tree.as_local(tree.without_casts(arg)) == local,
                is_owner: &|_| false,
            };
            let cfg = cfg::build(caller, &capi::never_returns);
            let is_own = |source| source == Source::Expr(site.expr);
            let from = cfg.call(site.expr);
            if let Some(how) = from.and_then(|from| behind.first(&cfg, from, &is_own)) {
                return Some(format!("{how} in `{}`", caller.name));
            }
            open.push((caller, param(caller, local), names));
        }
    }
    None
}

/// What a function does behind the loop with what holds the dict.
struct Behind<'b> {
    cx: &'b PackageCx<'b>,
    tree: &'b Tree,
    /// The fields and variables of the file that hold the dict.
    names: &'b BTreeSet<&'b str>,
    is_dict: &'b dyn Fn(ExprId) -> bool,
    /// Whether an expression is the object with the field that holds the dict.
    is_owner: &'b dyn Fn(ExprId) -> bool,
}

impl Behind<'_> {
    /// The first step behind `from` that may empty or replace the dict.
    fn first(&self, cfg: &Cfg, from: Point, is_own: &dyn Fn(Source) -> bool) -> Option<String> {
        let exprs = cfg.steps().filter_map(|(at, step)| match step.source {
            Source::Expr(expr) if !is_own(step.source) => Some((at, expr)),
            _ => None,
        });
        let mut exprs = exprs.filter(|(at, _)| reaches(cfg, from, *at, &[]));
        exprs.find_map(|(_, expr)| self.at(expr))
    }

    fn at(&self, expr: ExprId) -> Option<String> {
        let kind = &self.tree.expr(expr).kind;
        let replaces = sets_one(self.tree, kind, self.names);
        match kind {
            ExprKind::Call { callee, args } => {
                let name = self.tree.callee_name(*callee);
                let empties = replaces || self.empties(expr, name, args);
                let name = || name.map(|name| format!("`{name}`"));
                empties.then(|| name().unwrap_or_else(|| "a call through a pointer".into()))
            }
            ExprKind::Assign { lhs, .. } if replaces || self.is_in_slot(*lhs) => {
                Some("the assignment of another dict".into())
            }
            _ if replaces => Some("the assignment of another dict".into()),
            _ => None,
        }
    }

    fn empties(&self, call: ExprId, name: Option<&str>, args: &[ExprId]) -> bool {
        let is_dict =
            |arg: ExprId| (self.is_dict)(arg) || !self.names.is_disjoint(&holders(self.tree, arg));
        let at = positions(args, is_dict);
        let gets = !at.is_empty();
        let is_handed = |&arg: &ExprId| self.is_slot(arg) || self.is_in_slot(arg);
        if args.iter().any(is_handed) {
            return true;
        }
        let Some(name) = name else {
            return gets || args.iter().any(|&arg| (self.is_owner)(arg));
        };
        sets_attribute(name)
            || gets && clears_itself(self.tree, call, name)
            || empties(self.cx, name, self.names, gets)
            || hands_on(self.cx, name, at)
    }

    /// Whether an expression is the address of what holds the dict: `&self->stats`, or a variable with
    /// that.
    fn is_slot(&self, expr: ExprId) -> bool {
        let tree = self.tree;
        let is_address = |expr: ExprId| {
            let kind = &tree.expr(tree.without_casts(expr)).kind;
            let takes = matches!(
                kind,
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    ..
                }
            );
            takes && sets_one(tree, kind, self.names)
        };
        let local = tree.as_local(tree.without_casts(expr));
        let holds = |local: LocalId| {
            let mut stores = tree.stores();
            stores.any(|(stored, value)| stored == local && is_address(value))
        };
        is_address(expr) || local.is_some_and(holds)
    }

    /// Whether an expression is what such a variable points at: `*slot`, `slot[0]`.
    fn is_in_slot(&self, expr: ExprId) -> bool {
        match self.tree.expr(self.tree.without_casts(expr)).kind {
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.is_slot(operand),
            ExprKind::Index { base, .. } => self.is_slot(base),
            _ => false,
        }
    }
}

/// Whether a function sets an attribute, which may be one that holds the dict.
fn sets_attribute(name: &str) -> bool {
    name.starts_with("PyObject_SetAttr")
}

/// The fields and file-scope variables that hold what an expression gives.
fn holders(tree: &Tree, expr: ExprId) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    names_in(tree, expr, &mut names);
    if let Some(local) = tree.as_local(tree.without_casts(expr)) {
        // `PyObject *d = NULL;`
        let stores = tree.stores().filter(|(_, value)| !tree.is_null(*value));
        for (_, value) in stores.filter(|(stored, _)| *stored == local) {
            names_in(tree, value, &mut names);
        }
    }
    names
}

/// Whether a call empties the dict that it gets: `PyDict_Clear(d)`, and the method `clear` by its name.
fn clears_itself(tree: &Tree, call: ExprId, name: &str) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let mut texts = args.iter().filter_map(|&arg| tree.as_string(arg));
    name == "PyDict_Clear" || texts.any(|text| text == b"clear")
}

/// Whether a function of the package, or one that it calls, sets one of `names` or empties what these
/// hold, or a dict that it gets if it `gets` this one.
fn empties(cx: &PackageCx<'_>, name: &str, names: &BTreeSet<&str>, gets: bool) -> bool {
    let mut open: Vec<(&str, bool)> = vec![(name, gets)];
    let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
    while let Some((name, gets)) = open.pop() {
        if !seen.insert((name, gets)) {
            continue;
        }
        for (_, function) in cx.definitions(name) {
            let tree = &function.tree;
            if sets(tree, function.range, names) {
                return true;
            }
            for (call, name) in tree.calls() {
                let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                    continue;
                };
                let is_dict = |&arg: &ExprId| {
                    let of = holders(tree, arg);
                    gets && of.is_empty() || !of.is_disjoint(names)
                };
                let gets = args.iter().any(is_dict);
                if gets && clears_itself(tree, call, name) {
                    return true;
                }
                open.push((name, gets));
            }
        }
    }
    false
}

/// Whether a function of the package, or one that it calls, hands the dict, its arguments `at`, to a
/// call through a pointer, or to a function that nobody knows.
fn hands_on(cx: &PackageCx<'_>, name: &str, at: Vec<usize>) -> bool {
    let mut open = vec![(name, at)];
    let mut seen = BTreeSet::new();
    while let Some((name, at)) = open.pop() {
        if at.is_empty() || !seen.insert((name, at.clone())) {
            continue;
        }
        let mut functions = cx.definitions(name).peekable();
        if functions.peek().is_none() && capi::is_unknown(name) {
            return true;
        }
        for (_, function) in functions {
            let tree = &function.tree;
            let params = at.iter().filter_map(|&at| function.params.get(at));
            let dicts: Vec<LocalId> = params.copied().collect();
            let is_dict = |arg: ExprId| {
                let local = tree.as_local(tree.without_casts(arg));
                local.is_some_and(|local| dicts.contains(&local))
            };
            for call in tree.expr_ids() {
                let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
                    continue;
                };
                let at = positions(args, is_dict);
                match tree.callee_name(*callee) {
                    None if !at.is_empty() => return true,
                    Some(name) => open.push((name, at)),
                    None => {}
                }
            }
        }
    }
    false
}

/// Which of the arguments are so.
fn positions(args: &[ExprId], is_so: impl Fn(ExprId) -> bool) -> Vec<usize> {
    let args = args.iter().enumerate();
    args.filter(|&(_, &arg)| is_so(arg))
        .map(|(at, _)| at)
        .collect()
}

/// `PyDict_Clear` of the dict of `site` as the next statement after its region, or the next but
/// exits after a failure.
pub(super) fn clear_behind(scope: &Scope<'_>, site: &Site) -> Option<StmtId> {
    let block = scope.parent(site.region.last)?;
    let StmtKind::Block(stmts) = scope.stmt(block) else {
        return None;
    };
    let at = stmts.iter().position(|&stmt| stmt == site.region.last)?;
    let mut after = stmts[at + 1..].iter().copied();
    let next = after.find(|&stmt| {
        !matches!(
            scope.stmt(stmt),
            StmtKind::If {
                otherwise: None,
                ..
            }
        )
    })?;
    clears(scope, site, next).then_some(next)
}

fn clears(scope: &Scope<'_>, site: &Site, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = scope.stmt(stmt) else {
        return false;
    };
    let ExprKind::Call { callee, args } = &scope.expr(*expr).kind else {
        return false;
    };
    let is_same = |&arg| {
        let (arg, dict) = (scope.uncast(arg), scope.uncast(site.dict));
        scope.is_same_text(arg, dict)
    };
    scope.tree().callee_name(*callee) == Some("PyDict_Clear") && args.first().is_some_and(is_same)
}

/// The site with a region that ends with `clear`; `None` if a section or the end of one stands in
/// between, or if the dict is not in a variable that stays what it is.
pub(super) fn up_to(scope: &Scope<'_>, site: &Site, clear: StmtId) -> Option<Site> {
    let all = Site {
        region: Region {
            first: site.region.first,
            last: clear,
        },
        ..*site
    };
    let from = scope.range(site.region.last).end;
    let mut steps = scope.steps_in(all.range(scope));
    let locks = steps.any(|step| {
        let is_behind = scope.source_range(step.source).start >= from;
        let name = match &step.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } => name,
            _ => return false,
        };
        is_behind && (name.starts_with("PyCriticalSection") || name.starts_with("PyMutex_"))
    });
    let operand = Operand::read(scope, &all, all.range(scope)).ok()?;
    (!locks && matches!(operand, Operand::Variable(_))).then_some(all)
}
