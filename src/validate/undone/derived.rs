//! Which variables are made of which: what the result of a lookup, or of a call, decides.
//!
//! ```c
//! n = PyLong_AsLong(item);                  /* `n` of `item` */
//! to_number(item, &x);                      /* `x` too */
//! if (begin(self) < 0) bad = 1;             /* `bad` of what `begin` gives */
//! ```

use std::collections::BTreeSet;

use super::View;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtKind, TokenRange, Tree};

/// Values, with the variables that are made of them.
struct Step {
    values: Vec<TokenRange>,
    /// The variables that the values name.
    named: BTreeSet<LocalId>,
    made: Vec<LocalId>,
}

impl Step {
    fn new(tree: &Tree, values: Vec<TokenRange>, made: Vec<LocalId>) -> Option<Self> {
        let parts = values.iter().flat_map(|&value| tree.exprs_in(value));
        let named = parts.filter_map(|(part, _)| tree.as_local(part)).collect();
        (!made.is_empty()).then_some(Self {
            values,
            named,
            made,
        })
    }
}

/// The steps of one function.
pub(super) struct Derived(Vec<Step>);

impl Derived {
    fn new(tree: &Tree) -> Self {
        let range = |expr: ExprId| tree.expr(expr).range;
        let set_in = |within: TokenRange| {
            let parts = tree.exprs_in(within);
            parts.filter_map(|(part, _)| tree.as_local(tree.changed(part)?))
        };
        let stores = tree.stores();
        let stores = stores.map(|(local, value)| (vec![range(value)], vec![local]));
        let decided = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                let branches = [Some(then), otherwise].into_iter().flatten();
                let made = branches.flat_map(|branch| set_in(tree.stmt(branch).range));
                Some((vec![range(cond)], made.collect()))
            }
            _ => None,
        });
        let others = tree.exprs.iter().filter_map(|expr| match &expr.kind {
            ExprKind::Call { callee, args } => {
                tree.callee_name(*callee)?;
                let made = args.iter().filter_map(|&arg| tree.as_address(arg));
                let values = args.iter().map(|&arg| range(arg));
                Some((values.collect(), made.collect()))
            }
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                lhs,
                rhs,
            } => Some((vec![range(*lhs)], set_in(range(*rhs)).collect())),
            ExprKind::Conditional { cond, .. } => {
                Some((vec![range(*cond)], set_in(expr.range).collect()))
            }
            _ => None,
        });
        let steps = stores.chain(decided).chain(others);
        let steps = steps.filter_map(|(values, made)| Step::new(tree, values, made));
        Self(steps.collect())
    }

    /// These variables, those that are made of what stands at `source`, and those that are made of them.
    fn from(&self, mut found: BTreeSet<LocalId>, source: Option<TokenRange>) -> Vec<LocalId> {
        let is_source =
            |step: &Step| source.is_some_and(|it| step.values.iter().any(|all| all.contains(it)));
        let (mut ready, mut open): (Vec<&Step>, Vec<&Step>) =
            self.0.iter().partition(|step| is_source(step));
        loop {
            let more = ready.iter().flat_map(|step| &step.made);
            found.extend(more);
            (ready, open) = open
                .into_iter()
                .partition(|step| !step.named.is_disjoint(&found));
            if ready.is_empty() {
                return found.into_iter().collect();
            }
        }
    }
}

impl View<'_> {
    /// These variables, those that get what `call` gives, and those that are made of them.
    pub(super) fn made_of(
        &self,
        found: impl IntoIterator<Item = LocalId>,
        call: Option<ExprId>,
    ) -> Vec<LocalId> {
        let derived = self.derived.get_or_init(|| Derived::new(self.tree));
        let source = call.map(|call| self.tree.expr(call).range);
        derived.from(found.into_iter().collect(), source)
    }
}
