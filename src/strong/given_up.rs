//! Whether a function has no reference left to what it made.
//!
//! ```c
//! d = PyDict_New();                           /* one */
//! if (PyList_Append(list, d) < 0) {
//!     Py_DECREF(d);
//!     return NULL;
//! }
//! Py_DECREF(d);                               /* none: `list` keeps it */
//! while (PyDict_Next(d, …
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, StmtKind, Tree, UnaryOp};
use crate::calls::{self, Count};
use crate::capi::Counts;
use crate::capi::{self, Returns};
use crate::cfg::{Cfg, Point};
use crate::provenance;
use crate::rule::PackageCx;

/// References to one object beyond this number are not told apart.
const MANY: i8 = 8;

/// What a step does to the references that the function has through a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Takes,
    GivesUp,
    /// The variable gets another value.
    Set,
}

/// A function and its steps.
#[derive(Clone, Copy)]
pub(crate) struct Body<'s, 'a> {
    pub(crate) cx: &'s PackageCx<'a>,
    pub(crate) tree: &'s Tree,
    pub(crate) cfg: &'s Cfg,
}

impl Body<'_, '_> {
    /// Whether a path leads to `begin` on which `local` holds what the function has made, and has
    /// given up all its references to.
    pub(crate) fn is_given_up(self, local: LocalId, begin: Point) -> bool {
        self.runs_out_at(local, begin, &|_, _| false)
    }

    /// The same, where what some calls are given stays what the function has.
    fn runs_out_at(
        self,
        local: LocalId,
        begin: Point,
        keeps: &dyn Fn(&str, &[ExprId]) -> bool,
    ) -> bool {
        let names = names_of(self.tree, local);
        let changes = self.changes(&names, keeps);
        let gives_up = changes.values().any(|change| *change == Change::GivesUp);
        gives_up
            && self
                .made(&names)
                .any(|made| self.runs_out(&changes, made, begin))
    }

    /// The same of what lends `local` what it holds: `list = PyTuple_GET_ITEM(t, 0); Py_DECREF(t);`.
    /// A module that was imported has others who keep it.
    pub(super) fn is_let_go(self, local: LocalId, begin: Point) -> bool {
        let lender = |value: ExprId| {
            let ExprKind::Call { callee, args } = &self.tree.expr(value).kind else {
                return None;
            };
            let name = self.tree.callee_name(*callee)?;
            let lends = name != "PyModule_GetDict" && capi::replacement(name).is_none();
            let owner = capi::effects(name)?.derived_from.filter(|_| lends)?;
            let owner = self.tree.without_casts(*args.get(usize::from(owner))?);
            self.tree.as_local(owner)
        };
        let names = names_of(self.tree, local);
        let values = self.tree.stores().filter(|(it, _)| names.contains(it));
        let mut lenders = values.filter_map(|(_, value)| lender(self.tree.without_casts(value)));
        // As long as the function has a container, it has what is in there.
        let keeps = |name: &str, args: &[ExprId]| self.is_kept_by_own(name, args, begin);
        self.runs_out_at(local, begin, &keeps)
            || lenders.any(|owner| self.runs_out_at(owner, begin, &keeps))
    }

    /// Whether a call puts something into a container that the function still has at `begin`, and out
    /// of which nobody else takes it: a tuple, or what only the function knows.
    ///
    /// ```c
    /// PyDict_SetItemString(result, "names", names);
    /// Py_DECREF(names);                       /* `result` keeps it */
    /// ```
    fn is_kept_by_own(self, name: &str, args: &[ExprId], begin: Point) -> bool {
        let container = args.first().map(|&arg| self.tree.without_casts(arg));
        let Some(container) = container.and_then(|it| self.tree.as_local(it)) else {
            return false;
        };
        let is_own = match name {
            "PyTuple_SET_ITEM" | "PyTuple_SetItem" => true,
            "PyDict_SetItem"
            | "PyDict_SetItemString"
            | "PyList_Append"
            | "PyList_SET_ITEM"
            | "PyList_SetItem" => self.is_private(container),
            _ => false,
        };
        is_own && !self.is_given_up(container, begin)
    }

    /// Whether a variable gets nothing but what the function makes, and it does nothing with it but to
    /// fill it, to ask for it, and to return it.
    fn is_private(self, local: LocalId) -> bool {
        let tree = self.tree;
        let is_it = |expr: ExprId| tree.as_local(tree.without_casts(expr)) == Some(local);
        let names = BTreeSet::from([local]);
        let is_made = |value: ExprId| {
            let name = tree.called(tree.without_casts(value));
            tree.is_null(value) || name.is_some_and(provenance::makes_container)
        };
        let mut stores = self.stores(&names);
        if tree.local(local).is_param || !stores.all(|(_, value)| is_made(value)) {
            return false;
        }
        let plain = tree.expr_ids().map(|expr| match &tree.expr(expr).kind {
            ExprKind::Call { args, .. } => {
                let first = args.first().is_some_and(|&first| is_it(first));
                usize::from(first && tree.called(expr).is_some_and(is_about_container))
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let asks = matches!(op, BinaryOp::Equals | BinaryOp::NotEquals);
                usize::from(asks && is_it(*lhs)) + usize::from(asks && is_it(*rhs))
            }
            ExprKind::Unary { op, operand } => usize::from(*op == UnaryOp::Not && is_it(*operand)),
            ExprKind::Assign { lhs, .. } => usize::from(is_it(*lhs)),
            _ => 0,
        });
        let plain: usize = plain.sum();
        let asked = tree.stmts.iter().filter(|stmt| match stmt.kind {
            StmtKind::If { cond, .. } => is_it(cond),
            StmtKind::Return(Some(value)) => is_it(value),
            _ => false,
        });
        let named = tree
            .expr_ids()
            .filter(|&expr| tree.as_local(expr) == Some(local));
        named.count() == plain + asked.count()
    }

    /// Where a variable gets a reference of its own.
    fn made(self, names: &BTreeSet<LocalId>) -> impl Iterator<Item = Point> {
        let made = move |value: ExprId| {
            let name = self.tree.called(self.tree.without_casts(value));
            name.is_some_and(|name| self.cx.summaries().returns(name) == Some(Returns::New))
        };
        let made = self.stores(names).filter(move |(_, value)| made(*value));
        made.filter_map(move |(at, _)| self.cfg.store(at))
            .map(Point::next)
    }

    /// The expressions that set a variable, and what it gets, if it is not what another one holds.
    fn stores(self, names: &BTreeSet<LocalId>) -> impl Iterator<Item = (ExprId, ExprId)> {
        let tree = self.tree;
        let assigned = tree
            .expr_ids()
            .filter_map(move |id| match tree.expr(id).kind {
                ExprKind::Assign { lhs, rhs, .. } => {
                    names.contains(&tree.as_local(lhs)?).then_some((id, rhs))
                }
                _ => None,
            });
        let declared = tree.declarations().filter_map(move |decl| match decl.init {
            Some(Init::Expr(value)) if names.contains(&decl.local) => Some((value, value)),
            _ => None,
        });
        let is_copy = move |value: ExprId| {
            let local = tree.as_local(tree.without_casts(value));
            local.is_some_and(|local| names.contains(&local))
        };
        assigned
            .chain(declared)
            .filter(move |(_, value)| !is_copy(*value))
    }

    /// Whether a path from `made`, where the function has one reference, leads to `begin` with none.
    fn runs_out(self, changes: &BTreeMap<Point, Change>, made: Point, begin: Point) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![(made, 1_i8)];
        while let Some((from, mut held)) = open.pop() {
            let block = self.cfg.block(from.block);
            let mut is_set = false;
            for index in from.index..=block.instrs.len() {
                let here = Point { index, ..from };
                if here == begin && held == 0 {
                    return true;
                }
                match changes.get(&here) {
                    Some(Change::Takes) => held = (held + 1).min(MANY),
                    Some(Change::GivesUp) => held = (held - 1).max(0),
                    Some(Change::Set) => {
                        is_set = true;
                        break;
                    }
                    None => {}
                }
            }
            if !is_set {
                let next = block.successors.iter();
                let next = next.map(|&block| (Point { block, index: 0 }, held));
                open.extend(next.filter(|state| seen.insert(*state)));
            }
        }
        false
    }

    /// The steps that change what the function has through the variables.
    fn changes(
        self,
        names: &BTreeSet<LocalId>,
        keeps: &dyn Fn(&str, &[ExprId]) -> bool,
    ) -> BTreeMap<Point, Change> {
        let is_kept = |call: ExprId, name: &str| match &self.tree.expr(call).kind {
            ExprKind::Call { args, .. } => keeps(name, args),
            _ => false,
        };
        let calls = self.tree.calls().filter_map(|(call, name)| {
            let change = self.of_call(call, name, names);
            // What is stolen stays what the function has, and what is counted is one more.
            let change = match change {
                Some(Change::GivesUp) if is_kept(call, name) => return None,
                None if is_kept(call, name) && self.is_given(call, names) => Change::Takes,
                change => change?,
            };
            Some((self.cfg.call(call)?, change))
        });
        let stores = self.stores(names);
        let stores = stores.filter_map(|(at, _)| Some((self.cfg.store(at)?, Change::Set)));
        calls.chain(stores).collect()
    }

    /// Whether a call gets what a variable holds, behind its first argument.
    fn is_given(self, call: ExprId, names: &BTreeSet<LocalId>) -> bool {
        let is_it = |&arg: &ExprId| {
            let local = self.tree.as_local(self.tree.without_casts(arg));
            local.is_some_and(|local| names.contains(&local))
        };
        match &self.tree.expr(call).kind {
            ExprKind::Call { args, .. } => args.iter().skip(1).any(is_it),
            _ => false,
        }
    }

    fn of_call(self, call: ExprId, name: &str, names: &BTreeSet<LocalId>) -> Option<Change> {
        let tree = self.tree;
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return None;
        };
        let is_one = |local: Option<LocalId>| local.is_some_and(|local| names.contains(&local));
        let is_it = |arg: &ExprId| is_one(tree.as_local(tree.without_casts(*arg)));
        let is_address = |arg: &ExprId| is_one(tree.as_address(tree.without_casts(*arg)));
        let replaces = matches!(name, "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF");
        if args.iter().any(is_address) || replaces && args.first().is_some_and(is_it) {
            return Some(Change::Set);
        }
        let at = args.iter().position(is_it)?;
        match calls::effects_at(tree, call, self.cx.summaries())?.count(at) {
            Count::Counts(Counts::Take | Counts::Copy) => Some(Change::Takes),
            // What it may give up counts as given up.
            count => count.may_lose().then_some(Change::GivesUp),
        }
    }
}

/// Whether a call only fills its first argument, a container, asks for what is in it, or releases it:
/// nobody else comes to have it. So not `Py_NewRef(list)`, nor `PyObject_GetIter(list)`.
fn is_about_container(name: &str) -> bool {
    const OF: [&str; 4] = ["PyDict_", "PyList_", "PyTuple_", "PySet_"];
    const COUNTING: [&str; 4] = ["Py_INCREF", "Py_DECREF", "Py_XDECREF", "Py_CLEAR"];
    OF.iter().any(|of| name.starts_with(of)) || COUNTING.contains(&name)
}

/// The variables that hold nothing but what `local` holds, or that it gets all it holds from:
/// `object = (PyObject *)PyObject_New(…); thing = (Thing *)object;`.
pub(super) fn names_of(tree: &Tree, local: LocalId) -> BTreeSet<LocalId> {
    // The one variable that each gets all it holds from; `None` if there are others, or values.
    let mut sources: BTreeMap<LocalId, Option<LocalId>> = BTreeMap::new();
    for (given, value) in tree.stores().filter(|&(_, value)| !tree.is_null(value)) {
        let source = tree.as_local(tree.without_casts(value));
        let known = sources.entry(given).or_insert(source);
        *known = known.filter(|_| *known == source);
    }
    let own = sources.get(&local).copied().flatten();
    let copies = sources
        .into_iter()
        .filter(|&(_, source)| source == Some(local));
    copies
        .map(|(copy, _)| copy)
        .chain(own)
        .chain([local])
        .collect()
}
