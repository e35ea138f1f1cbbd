//! The size of a dict that a declaration gives a variable, which gets it later: no statement comes in
//! front of it in C89, and what is declared in a section is gone behind it.
//!
//! ```c
//! Py_ssize_t n = PyDict_Size(d);      /* Py_ssize_t n;                */
//! Py_ssize_t pos = 0;                 /* Py_ssize_t pos = 0;          */
//!                                     /* n = PyDict_Size(d);          */
//! ```

use crate::ast::{ExprId, ExprKind, StmtId, StmtKind, UnaryOp};
use crate::source::ByteSpan;

use super::references::{is_behind_directive, late_value};
use super::scope::{Scope, inside};
use super::size::dict_of;

/// The declaration, which gets its value later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    pub(super) name: ByteSpan,
    pub(super) value: ByteSpan,
    /// The dict in the value.
    pub(super) dict: ExprId,
    /// The last declaration of the block, and the statement behind it.
    pub(super) last: StmtId,
    pub(super) next: StmtId,
}

impl Late {
    /// `None` if more than that has to wait, or a build may have the declaration alone:
    ///
    /// ```c
    /// Py_ssize_t n = PyDict_Size(d);
    /// #ifdef WITH_NAMES
    ///     names = PyMem_New(char *, n);   /* here the section begins */
    /// #else
    ///     total = n;
    /// ```
    pub(super) fn new(scope: &Scope<'_>, first: StmtId) -> Option<Self> {
        let (name, value) = late_value(scope, first)?;
        let StmtKind::Block(stmts) = scope.stmt(scope.parent(first)?) else {
            return None;
        };
        let is_decl = |stmt: &&StmtId| matches!(scope.stmt(**stmt), StmtKind::Decl(_));
        let leading = stmts.iter().take_while(is_decl).count();
        let at = stmts.iter().position(|&stmt| stmt == first)?;
        let StmtKind::Decl(decls) = scope.stmt(first) else {
            return None;
        };
        let local = decls.last()?.local;
        let within = scope.range(first);
        let mut calls = scope
            .tree()
            .calls()
            .filter(|(call, _)| inside(scope.expr(*call).range, within));
        let (call, asks) = calls.next()?;
        let waits = |&stmt: &StmtId| {
            scope.stmt_calls(stmt)
                || scope.stmt_mentions(stmt, local)
                || !asks.starts_with("PyDict_") && reads_memory(scope, stmt)
        };
        let next = *stmts.get(leading)?;
        let is_only = calls.next().is_none()
            && !stmts.get(at + 1..leading)?.iter().any(waits)
            && !is_behind_directive(scope, first, next);
        is_only.then_some(Self {
            name,
            value,
            dict: dict_of(scope, call)?,
            last: stmts[leading - 1],
            next,
        })
    }

    /// What is left out of the declaration.
    pub(super) fn initial(&self) -> ByteSpan {
        ByteSpan::new(self.name.end().0, self.value.end().0)
    }
}

/// Whether a statement reads what a `__len__` may change.
fn reads_memory(scope: &Scope<'_>, stmt: StmtId) -> bool {
    let mut exprs = scope.tree().exprs_in(scope.range(stmt));
    exprs.any(|(_, expr)| {
        let is_deref = matches!(
            expr.kind,
            ExprKind::Unary {
                op: UnaryOp::Deref,
                ..
            }
        );
        is_deref || matches!(expr.kind, ExprKind::Member { .. } | ExprKind::Index { .. })
    })
}
