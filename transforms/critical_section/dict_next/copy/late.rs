//! A copy in a block of C89 whose declarations ask for the size.
//!
//! ```c
//! Py_ssize_t n = PyDict_Size(d);      /* Py_ssize_t n;                */
//! Py_ssize_t pos = 0;                 /* Py_ssize_t pos = 0;          */
//!                                     /* PyObject *d_copy = …;        */
//!                                     /* if (d_copy == NULL) …        */
//!                                     /* n = PyDict_Size(d_copy);     */
//! ```

use super::text::{Writer, dict_of};
use crate::ast::{ExprId, StmtId, StmtKind};
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::draft::Variable;
use crate::transforms::critical_section::dict_next::references::late_value;
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};

/// The declaration, which gets its value later.
pub(super) struct Late {
    name: ByteSpan,
    value: ByteSpan,
    /// The dict in the value.
    dict: ExprId,
    /// The last declaration of the block, and the statement behind it.
    last: StmtId,
    next: StmtId,
}

impl Late {
    /// `None` if more than that has to wait.
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
        let waits = |&stmt: &StmtId| scope.stmt_calls(stmt) || scope.stmt_mentions(stmt, local);
        let within = scope.range(first);
        let mut calls = scope
            .tree()
            .calls()
            .filter(|(call, _)| inside(scope.expr(*call).range, within));
        let (call, _) = calls.next()?;
        let is_only = calls.next().is_none() && !stmts.get(at + 1..leading)?.iter().any(waits);
        is_only.then_some(Self {
            name,
            value,
            dict: dict_of(scope, call)?,
            last: stmts[leading - 1],
            next: *stmts.get(leading)?,
        })
    }
}

impl Writer<'_, '_> {
    /// Makes the copy behind the declarations, and gives the late one its value.
    pub(super) fn make_late(
        &mut self,
        late: &Late,
        variables: &[Variable],
        test: String,
        name: &str,
    ) -> Option<()> {
        let scope = self.copy.scope;
        let declared: Vec<String> = variables.iter().map(Variable::declared).collect();
        let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
        let above = self.draft.span(late.last).ok()?;
        let edit = self.draft.layout.declare_after(above, &declared);
        self.draft.openers.push(edit);
        let (_, dict) = scope.cx.span(scope.item, late.dict)?;
        let file = scope.cx.file(self.draft.file);
        let text = |start, end| file.text(ByteSpan::new(start, end)).into_owned();
        let value = [
            text(late.value.start().0, dict.start().0),
            name.to_owned(),
            text(dict.end().0, late.value.end().0),
        ];
        let variable = file.text(late.name).into_owned();
        let assigned = format!("{variable} = {};", value.concat());
        let next = self.draft.span(late.next).ok()?;
        self.draft.surround(next, &[test, assigned], &[]);
        let initial = ByteSpan::new(late.name.end().0, late.value.end().0);
        self.draft.replace(initial, String::new());
        Some(())
    }
}
