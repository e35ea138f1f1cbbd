//! The call without its test.

use super::{Look, Tested};
use crate::ast::{ExprId, LocalId, StmtId, StmtKind};
use crate::edit::Fix;
use crate::source::{ByteOffset, ByteSpan, FileId};

type Place = (FileId, ByteSpan);

impl Look<'_> {
    /// A fix that leaves of `if (list) clear(object);` what stands in the branch.
    pub(super) fn without_test(&self, tested: &Tested) -> Result<Fix, &'static str> {
        let tree = &self.function.tree;
        let StmtKind::If {
            then, otherwise, ..
        } = tree.stmt(tested.test).kind
        else {
            return Err("call `PyObject_ClearWeakRefs` without a test");
        };
        if !self.is_plain(tested.cond) {
            return Err(
                "test only the rest, and let `PyObject_ClearWeakRefs` check the list (the test \
                 checks more than the list)",
            );
        }
        let call = self
            .only_statement(then, tested.call)
            .filter(|_| otherwise.is_none());
        let call = call.ok_or(
            "call `PyObject_ClearWeakRefs` without the test, and check whether the other \
             statements under the test still need it",
        )?;
        let mut stmts = tree.stmts.iter();
        if stmts.any(|stmt| is_else_of(&stmt.kind, tested.test)) {
            return Err("check by hand when the list must be cleared (the test follows an `else`)");
        }
        let by_macro = "remove the test from the macro by hand (a macro makes the test)";
        let whole = self.cx.stmt_span(self.item, tested.test).ok_or(by_macro)?;
        let branch = self.cx.stmt_span(self.item, then).ok_or(by_macro)?;
        let call = self.cx.stmt_span(self.item, call).ok_or(by_macro)?;
        if whole.0 != branch.0 || whole.0 != call.0 || !whole.1.contains(call.1) {
            return Err(by_macro);
        }
        if self.is_used_in_test_only(tested) {
            return Err("remove the test, and the variable that nothing else uses");
        }
        self.written(whole, branch.1, call.1)
    }

    /// The statement that is the call, if there is nothing else in the branch.
    fn only_statement(&self, branch: StmtId, call: ExprId) -> Option<StmtId> {
        let tree = &self.function.tree;
        match &tree.stmt(branch).kind {
            StmtKind::Block(stmts) => match stmts[..] {
                [only] if self.is_call(only, call) => Some(only),
                _ => None,
            },
            _ => self.is_call(branch, call).then_some(branch),
        }
    }

    fn is_call(&self, stmt: StmtId, call: ExprId) -> bool {
        matches!(self.function.tree.stmt(stmt).kind, StmtKind::Expr(expr) if expr == call)
    }

    /// Whether the variable that the test looks at would be unused without it.
    fn is_used_in_test_only(&self, tested: &Tested) -> bool {
        let tree = &self.function.tree;
        let cond = tree.expr(tested.cond).range;
        let is_use = |expr: ExprId| -> Option<LocalId> {
            tree.as_local(expr)
                .filter(|_| !cond.contains(tree.expr(expr).range))
        };
        let is_param = tree.local(tested.object).is_param;
        !is_param
            && !tree
                .expr_ids()
                .any(|expr| is_use(expr) == Some(tested.object))
    }

    fn written(&self, whole: Place, branch: ByteSpan, call: ByteSpan) -> Result<Fix, &'static str> {
        let (file, span) = whole;
        let source = self.cx.file(file);
        let text = source.text(span);
        if text.lines().any(|line| line.trim_start().starts_with('#')) {
            return Err(
                "remove the test by hand (a directive stands between the test and the call)",
            );
        }
        let layout = self.cx.layout(file, span);
        let comments = layout.comments_in(span);
        let outside = |it: &&ByteSpan| !call.contains(**it);
        let kept: Vec<ByteSpan> = comments.iter().filter(outside).copied().collect();
        // The brace, or the `)` of the condition.
        let has_brace = call.start() > branch.start();
        let head = match has_brace {
            true => branch.start(),
            false => layout.token_end_before(branch.start()),
        };
        if kept.iter().any(|it| it.start() < head) {
            return Err("remove the test by hand (it contains a comment)");
        }
        // `if (list) { clear(object); };`
        let stray = source.bytes().get(span.end().index()) == Some(&b';');
        let end = ByteOffset(span.end().0 + u32::from(stray));
        if !kept.is_empty() && !layout.ends_line(end) {
            return Err("remove the test by hand (it has comments and code next to it)");
        }
        let inner = kept.iter().fold(call, |inner, it| inner.join(*it));
        let mut fix = Fix::safe("clear the list of weak references without the test");
        fix.replace(file, ByteSpan::new(span.start().0, inner.start().0), "");
        fix.edits
            .extend(layout.moved_out(inner, call.start(), span.start()));
        if inner.end() < end {
            fix.replace(file, ByteSpan::new(inner.end().0, end.0), "");
        }
        Ok(fix)
    }
}

/// Whether `branch` stands behind the `else` of a statement.
fn is_else_of(stmt: &StmtKind, branch: StmtId) -> bool {
    matches!(stmt, StmtKind::If { otherwise, .. } if *otherwise == Some(branch))
}
