//! What a call of `PyDict_Next` iterates over, and the statement that is the iteration.

use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtId, StmtKind, TokenRange};
use crate::source::{ByteSpan, FileId};

use super::late::Late;
use super::once;
use super::scope::{Scope, inside};

/// One iteration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    /// The call of `PyDict_Next`.
    pub(super) call: ExprId,
    /// Its first argument without casts.
    pub(super) dict: ExprId,
    /// The variable that gets the key, if any.
    pub(super) key: Option<LocalId>,
    /// The variable that gets the value, if any.
    pub(super) value: Option<LocalId>,
    /// The statement that iterates.
    pub(super) iteration: StmtId,
    /// The statements to put into a section.
    pub(super) region: Region,
    /// The size in front of them that the section asks for first.
    pub(super) late: Option<Late>,
    /// The statement that runs for each item; of a single call those behind it.
    pub(super) body: Region,
    /// The condition that holds the call.
    pub(super) cond: ExprId,
    /// `for (…; …; step)`.
    pub(super) step: Option<ExprId>,
    pub(super) kind: Kind,
    /// Whether the call is the first thing that the region does with the dict, whatever happens.
    pub(super) is_unconditional: bool,
    /// Whether the dict may be `NULL` where the section begins, and nothing crashed there before.
    pub(super) may_be_null: bool,
    /// Whether the call gives the item itself: `PyList_GET_ITEM(list, i)`.
    pub(super) gives_item: bool,
}

/// Statements of one block, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) first: StmtId,
    pub(super) last: StmtId,
}

/// Which statement iterates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `while` or `for`.
    Loop,
    /// `do … while`.
    DoLoop,
    /// `if`, for the first item only.
    If,
    /// The call alone, for the first item of a dict that has one, or where the function leaves if it
    /// has none.
    Once,
}

impl Site {
    /// Reads the call.
    ///
    /// # Errors
    /// What to do by hand where the call is no condition of a loop or `if`.
    pub(super) fn read(scope: &Scope<'_>, call: ExprId) -> Result<Self, String> {
        let args = match &scope.expr(call).kind {
            ExprKind::Call { args, .. } if args.len() >= 4 => args,
            _ => return Err("the call does not have the arguments of `PyDict_Next`".into()),
        };
        let position = scope.address(args[1]).ok_or(
            "put a critical section around the call, and take `Py_NewRef` of key and value before \
             the section ends (the position is stored outside this function)",
        )?;
        let iteration = scope
            .stmt_of(call)
            .ok_or("the call is not in a function body")?;
        let site = Self {
            call,
            dict: scope.uncast(args[0]),
            key: out_local(scope, args[2])?,
            value: out_local(scope, args[3])?,
            ..shape(scope, iteration, call)?
        };
        if site.kind == Kind::Once {
            return once::with_uses(scope, &site, position).ok_or_else(|| USED_AFTER.into());
        }
        if site.kind == Kind::If && !site.is_body_after_item(scope) {
            return Err(USED_AFTER.into());
        }
        if site.kind == Kind::If && is_stepped_by_outer_loop(scope, &site, position) {
            return Err(
                "write the loop as `while (PyDict_Next(…))`, or put the whole loop into a critical \
                 section (the call is not the condition of the loop)"
                    .into(),
            );
        }
        Ok(site)
    }

    /// The tokens of the region.
    pub(super) fn range(&self, scope: &Scope<'_>) -> TokenRange {
        TokenRange {
            start: scope.range(self.region.first).start,
            end: scope.range(self.region.last).end,
        }
    }

    /// The tokens of the call and of what it is made for.
    pub(super) fn turn(&self, scope: &Scope<'_>) -> TokenRange {
        let TokenRange { start, end } = scope.range(self.iteration);
        TokenRange {
            start,
            end: end.max(scope.range(self.body.last).end),
        }
    }

    /// The tokens of the body.
    pub(super) fn body_range(&self, scope: &Scope<'_>) -> TokenRange {
        TokenRange {
            start: scope.range(self.body.first).start,
            end: scope.range(self.body.last).end,
        }
    }

    /// The text of the region; `None` if a macro makes an end of it.
    pub(super) fn span(&self, scope: &Scope<'_>) -> Option<(FileId, ByteSpan)> {
        let (file, first) = scope.span(self.region.first)?;
        let (other, last) = scope.span(self.region.last)?;
        (file == other).then(|| (file, first.join(last)))
    }

    /// Whether the body runs only after the call gave an item.
    pub(super) fn is_body_after_item(&self, scope: &Scope<'_>) -> bool {
        self.kind != Kind::DoLoop && holds_only_after(scope, self.cond, self.call)
    }
}

const USED_AFTER: &str = "put a critical section around the call and the uses of key and value, \
                          and take `Py_NewRef` of what is needed after its end";

fn shape(scope: &Scope<'_>, iteration: StmtId, call: ExprId) -> Result<Site, String> {
    let (cond, body, step, kind) = match *scope.stmt(iteration) {
        StmtKind::While { cond, body } => (cond, body, None, Kind::Loop),
        StmtKind::For {
            cond: Some(cond),
            step,
            body,
            ..
        } if inside(scope.expr(call).range, scope.expr(cond).range) => {
            (cond, body, step, Kind::Loop)
        }
        StmtKind::DoWhile { body, cond } => (cond, body, None, Kind::DoLoop),
        StmtKind::If { .. } if once::leaves_without(scope, iteration, call) => {
            (call, iteration, None, Kind::Once)
        }
        StmtKind::If { cond, then, .. } => (cond, then, None, Kind::If),
        StmtKind::Expr(expr) if scope.uncast(expr) == call => (call, iteration, None, Kind::Once),
        _ => return Err(USED_AFTER.into()),
    };
    Ok(Site {
        call,
        dict: call,
        key: None,
        value: None,
        iteration,
        region: Region {
            first: iteration,
            last: iteration,
        },
        late: None,
        body: Region {
            first: body,
            last: body,
        },
        cond,
        step,
        kind,
        is_unconditional: kind != Kind::DoLoop && comes_first(scope, cond, call),
        may_be_null: false,
        gives_item: false,
    })
}

fn out_local(scope: &Scope<'_>, arg: ExprId) -> Result<Option<LocalId>, String> {
    let bare = scope.uncast(arg);
    let is_null = match &scope.expr(bare).kind {
        ExprKind::Int(value) => *value == Some(0),
        _ => scope.text(bare).is_some_and(|text| text == "NULL"),
    };
    match scope.address(bare) {
        Some(local) => Ok(Some(local)),
        None if is_null => Ok(None),
        None => Err(
            "put a critical section around the call, and take `Py_NewRef` of key and value before \
             the section ends (they are stored outside this function)"
                .into(),
        ),
    }
}

/// Whether an `if` stands in a loop that goes on with the same position.
pub(super) fn is_stepped_by_outer_loop(scope: &Scope<'_>, site: &Site, position: LocalId) -> bool {
    let mut ancestors = scope.ancestors(site.iteration);
    let around = ancestors.find(|&stmt| scope.is_loop(stmt));
    around.is_some_and(|outer| !scope.is_written(position, scope.range(outer), Some(site.call)))
}

/// Whether evaluating `cond` evaluates `call` before it decides anything.
fn comes_first(scope: &Scope<'_>, cond: ExprId, call: ExprId) -> bool {
    let mut at = cond;
    loop {
        at = match scope.expr(at).kind {
            _ if at == call => return true,
            ExprKind::Binary { lhs, .. } => lhs,
            ExprKind::Assign { rhs, .. } => rhs,
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => operand,
            _ => return false,
        };
    }
}

/// Whether `cond` can be true only if `call` was made and gave true.
fn holds_only_after(scope: &Scope<'_>, cond: ExprId, call: ExprId) -> bool {
    if cond == call {
        return true;
    }
    match scope.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd,
            lhs,
            rhs,
        } => holds_only_after(scope, lhs, call) || holds_only_after(scope, rhs, call),
        ExprKind::Binary {
            op: BinaryOp::NotEquals | BinaryOp::Greater,
            lhs,
            rhs,
        } => lhs == call && matches!(scope.expr(rhs).kind, ExprKind::Int(Some(0))),
        _ => false,
    }
}
