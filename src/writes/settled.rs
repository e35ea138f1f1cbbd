//! Which call gave a local what it holds at one place, where no path has another answer.
//!
//! ```c
//! static PyObject *
//! join(PyObject *self, PyObject *args)
//! {
//!     …
//!     args = PyTuple_New(1);               /* no longer what the caller gave */
//!     PyTuple_SET_ITEM(args, 0, text);
//! ```

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Init, LocalId, Nesting, StmtId, StmtKind, TokenRange,
    Tree, UnaryOp,
};
use crate::capi::{Counts, effects};

/// The assignments of a function whose statement comes before all others of its block.
#[derive(Debug, Default)]
pub(super) struct Settled {
    stores: FxHashMap<LocalId, Vec<Store>>,
    /// Where a jump may come in.
    labels: Vec<u32>,
    loops: Vec<TokenRange>,
}

#[derive(Debug, Clone, Copy)]
struct Store {
    /// First token after it.
    end: u32,
    value: ExprId,
    /// The block in which it is not left out, if it stores what a call gives.
    block: Option<TokenRange>,
}

impl Settled {
    pub(super) fn new(function: &Function) -> Self {
        let tree = &function.tree;
        let nesting = Nesting::new(function);
        let mut settled = Self::default();
        let addressed = addressed(tree);
        for (local, all) in stores(tree, &nesting) {
            let is_param = tree.local(local).is_param;
            if (is_param || all.len() > 1) && !addressed.contains(&local) {
                let all = all.into_iter();
                let all = all.map(|(value, stmt)| store(tree, &nesting, value, stmt));
                settled.stores.insert(local, all.collect());
            }
        }
        for stmt in &tree.stmts {
            match stmt.kind {
                StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. } => {
                    settled.labels.push(stmt.range.start);
                }
                _ if stmt.kind.is_loop() => settled.loops.push(stmt.range),
                _ => {}
            }
        }
        settled
    }

    /// Whether a place runs more than once.
    pub(super) fn is_in_loop(&self, place: TokenRange) -> bool {
        self.loops.iter().any(|around| around.contains(place))
    }

    /// The value that `local` surely has in the expression `at`: a call, under casts.
    pub(super) fn value(&self, tree: &Tree, local: LocalId, at: ExprId) -> Option<ExprId> {
        let stores = self.stores.get(&local)?;
        let place = tree.expr(at).range;
        let before = stores.iter().filter(|it| it.end <= place.start);
        let last = before.max_by_key(|it| it.end)?;
        let is_between = |token: u32| last.end <= token && token <= place.start;
        let is_other = |around: &TokenRange| {
            let is_inside = |it: &Store| around.start <= it.end && it.end <= around.end;
            around.start >= last.end && around.contains(place) && stores.iter().any(is_inside)
        };
        let is_sure = last.block?.contains(place)
            && !self.labels.iter().any(|&label| is_between(label))
            && !self.loops.iter().any(is_other);
        is_sure.then_some(last.value)
    }
}

/// The values that locals get, with the statements that run whenever these are reached.
fn stores(tree: &Tree, nesting: &Nesting) -> BTreeMap<LocalId, Vec<(ExprId, Option<StmtId>)>> {
    let mut stores: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for decl in tree.declarations() {
        if let Some(Init::Expr(value)) = decl.init {
            let at = tree.local(decl.local).decl;
            stores.entry(decl.local).or_default().push((value, at));
        }
    }
    for at in tree.expr_ids() {
        let (local, value, stmt) = match &tree.expr(at).kind {
            ExprKind::Assign { lhs, rhs, op } => {
                let stmt = nesting.stmt_of(at).filter(|_| op.is_none());
                (tree.as_local(*lhs), *rhs, stmt)
            }
            ExprKind::Call { callee, args } if replaces(tree, *callee) => {
                let local = args.first().and_then(|&arg| tree.as_local(arg));
                (local, at, None)
            }
            _ => continue,
        };
        if let Some(local) = local {
            let stmt = stmt.filter(|&stmt| always_runs(tree, stmt, at));
            stores.entry(local).or_default().push((value, stmt));
        }
    }
    stores
}

fn store(tree: &Tree, nesting: &Nesting, value: ExprId, stmt: Option<StmtId>) -> Store {
    let given = &tree.expr(tree.without_casts(value)).kind;
    let stmt = stmt.filter(|_| matches!(given, ExprKind::Call { .. }));
    let block = stmt.and_then(|stmt| nesting.around(stmt));
    let block = block.filter(|&it| matches!(tree.stmt(it).kind, StmtKind::Block(_)));
    Store {
        end: tree.expr(value).range.end,
        value,
        block: block.map(|block| tree.stmt(block).range),
    }
}

/// Whether `at` is evaluated whenever its statement is: it is all of it, or in the condition of an
/// `if` and not behind `&&`.
fn always_runs(tree: &Tree, stmt: StmtId, at: ExprId) -> bool {
    let range = tree.expr(at).range;
    let whole = tree.stmt(stmt);
    let is_first = match whole.kind {
        StmtKind::Expr(_) => true,
        StmtKind::If { cond, .. } => tree.expr(cond).range.contains(range),
        _ => false,
    };
    let mut around = tree.exprs_in(whole.range);
    is_first
        && !around.any(|(_, expr)| {
            let chooses = matches!(
                expr.kind,
                ExprKind::Conditional { .. }
                    | ExprKind::Stmt(_)
                    | ExprKind::Binary {
                        op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                        ..
                    }
            );
            chooses && expr.range.contains(range)
        })
}

/// Whether the macro stores its second argument in the variable that is its first.
pub(super) fn replaces(tree: &Tree, callee: ExprId) -> bool {
    let effects = tree.callee_name(callee).and_then(effects);
    effects.is_some_and(|it| it.counts == Some(Counts::Replace))
}

fn addressed(tree: &Tree) -> FxHashSet<LocalId> {
    let operands = tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => tree.as_local(operand),
        _ => None,
    });
    operands.collect()
}
