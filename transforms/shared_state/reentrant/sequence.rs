//! Sequences of calls of which each goes on where the one before it has stopped.
//!
//! ```c
//! word = strtok(line, " ");           /* begins */
//! while (word != NULL)
//!     word = strtok(NULL, " ");       /* goes on */
//! ```

use super::calls::Calls;
use super::{callers, functions_calling};
use crate::ast::{ExprId, ExprKind, Function, LocalId};
use crate::capi::never_returns;
use crate::cfg::{Cfg, Point, build, is_never_null, reaches};

impl Calls<'_> {
    /// What a person has to confirm for the place in the text to be one of the function.
    pub(super) fn sequence_doubts(&self) -> Result<Vec<String>, String> {
        let mut doubts = Vec::new();
        for (function, exprs) in functions_calling(self.cx, self.name) {
            doubts.extend(asked_of(function, &exprs)?);
        }
        let goes_on = |expr: &ExprId| {
            self.given(*expr)
                .is_some_and(|it| self.function.tree.is_null(it))
        };
        if self.exprs.iter().any(goes_on) {
            let callers = callers(self.cx, self.name);
            let mut called = self.function.tree.calls().map(|(_, name)| name);
            doubts.extend(called.find(|name| callers.contains(name)).map(|helper| {
                format!(
                    "`{}` may continue its sequence after the call of `{helper}`, which calls \
                     `{}` as well and so ended the sequence before this change",
                    self.function.name, self.name
                )
            }));
        }
        if self.cx.is_named_unread(self.name) || self.cx.mention(self.name).is_some() {
            doubts.push(format!(
                "no code that could not be analysed continues a sequence of `{}` that another \
                 function has begun",
                self.name
            ));
        }
        Ok(doubts)
    }

    fn given(&self, call: ExprId) -> Option<ExprId> {
        let (_, args) = self.function.tree.call(call)?;
        args.first().copied()
    }
}

/// What has to hold for all sequences of a function to begin in it.
fn asked_of(function: &Function, calls: &[ExprId]) -> Result<Vec<String>, String> {
    let tree = &function.tree;
    let graph = build(function, &never_returns);
    let (mut begins, mut goes_on, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    for &call in calls {
        let given = tree.call(call).and_then(|(_, args)| args.first().copied());
        let (Some(point), Some(given)) = (graph.call(call), given) else {
            continue;
        };
        if tree.is_null(given) {
            goes_on.push(point);
            continue;
        }
        if is_chosen(function, given) {
            return Err(format!(
                "in `{}`, a variable decides whether a call begins a sequence",
                function.name
            ));
        }
        begins.push(point);
        if !is_never_null(&graph, function, point, given) {
            doubts.push(format!(
                "the first argument that begins a sequence of `{}` is never `NULL` (the call would \
                 continue another sequence)",
                function.name
            ));
        }
    }
    let start = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    if goes_on
        .iter()
        .any(|&point| reaches(&graph, start, point, &begins))
    {
        return Err(format!(
            "`{}` continues a sequence that it has not begun",
            function.name
        ));
    }
    Ok(doubts)
}

/// Whether an argument is `NULL` by intention in some cases: `c ? text : NULL`, a variable that is
/// set to it.
fn is_chosen(function: &Function, given: ExprId) -> bool {
    let tree = &function.tree;
    let is_null =
        |(_, expr): (ExprId, &crate::ast::Expr)| matches!(expr.kind, ExprKind::Conditional { .. });
    let within = tree.expr(given).range;
    tree.exprs_in(within).any(is_null)
        || tree
            .as_local(tree.without_casts(given))
            .is_some_and(|local| {
                let is_first = |value: ExprId| is_initialiser(function, local, value);
                tree.stores()
                    .any(|(set, value)| set == local && tree.is_null(value) && !is_first(value))
            })
}

/// `char *text = NULL;`: a value that is set later.
fn is_initialiser(function: &Function, local: LocalId, value: ExprId) -> bool {
    use crate::ast::Init;
    let mut all = function.tree.declarations();
    all.any(|decl| {
        decl.local == local && matches!(decl.init, Some(Init::Expr(init)) if init == value)
    })
}
