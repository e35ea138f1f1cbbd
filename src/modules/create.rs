//! What becomes of the result of `PyModule_Create`, and where it is known not to be `NULL`.

use super::null_check::check;
use super::symbols::designation;
use crate::ast::{ExprId, ExprKind, Init, StmtId, StmtKind, TokenRange, Tree};
use crate::rule::{ItemId, PackageCx};

/// One `PyModule_Create` call in one configuration.
#[derive(Debug, Clone)]
pub struct Create {
    /// The function it stands in.
    pub item: ItemId,
    /// The call.
    pub call: ExprId,
    /// What becomes of the module.
    pub form: Form,
}

/// What becomes of the new module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// It is stored in `target`.
    Stored {
        /// What names the module from then on.
        target: String,
        /// The statement after which it is stored.
        stored: StmtId,
        /// The test that follows at once.
        check: NullCheck,
    },
    /// `return PyModule_Create(&def);`
    Returned {
        /// The `return`.
        stmt: StmtId,
        /// The returned value with its casts.
        value: ExprId,
        /// The block it stands in.
        block: StmtId,
    },
    /// Anything else: why nothing can be put after it.
    Other(String),
}

/// How the code tests whether the module was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullCheck {
    /// `if (m == NULL) return NULL;`: behind this statement it is there.
    Leaves(StmtId),
    /// `if (m != NULL) {`: it is there from this statement on, the first of the block.
    Inside(StmtId),
    /// Not at once.
    None,
}

/// Looks at each call.
pub(super) fn creates(cx: &PackageCx<'_>, calls: &[(ItemId, ExprId)]) -> Vec<Create> {
    let form = |item, call| match form(cx, item, call) {
        Ok(form) => form,
        Err(reason) => Form::Other(reason.to_owned()),
    };
    calls
        .iter()
        .map(|&(item, call)| Create {
            item,
            call,
            form: form(item, call),
        })
        .collect()
}

fn form(cx: &PackageCx<'_>, item: ItemId, call: ExprId) -> Result<Form, &'static str> {
    let function = cx.function(item).ok_or("the call is outside a function")?;
    let tree = &function.tree;
    let call = whole_call(cx, item, tree, call);
    let path = path_to(tree, function.body, tree.expr(call).range);
    let (&stmt, outer) = path.split_last().ok_or("the call is not in a statement")?;
    let parent = outer.last().copied();
    match &tree.stmt(stmt).kind {
        StmtKind::Return(Some(value)) if tree.without_casts(*value) == call => {
            match parent.filter(|&parent| is_block(tree, parent)) {
                Some(block) => Ok(Form::Returned {
                    stmt,
                    value: *value,
                    block,
                }),
                None => Err("the `return` is not a statement of a block"),
            }
        }
        StmtKind::Expr(expr) => stored(cx, item, tree, &path, &targets(tree, *expr, call)),
        StmtKind::Decl(decls) => {
            let is_value =
                |init: &Init| matches!(init, Init::Expr(e) if tree.without_casts(*e) == call);
            let decl = decls
                .iter()
                .find(|decl| decl.init.as_ref().is_some_and(is_value));
            match decl {
                Some(decl) => stored(
                    cx,
                    item,
                    tree,
                    &path,
                    &[tree.local(decl.local).name.clone()],
                ),
                None => Err("the result of the call is not stored in a variable"),
            }
        }
        StmtKind::If { cond, .. } => tested(tree, stmt, *cond, call),
        _ => Err("the call is part of a larger expression"),
    }
}

/// The statement expression around the call where the package wraps `PyModule_Create` in a macro
/// of the same name: `#define PyModule_Create(...) ({ … PyModule_Create(__VA_ARGS__); … })`.
fn whole_call(cx: &PackageCx<'_>, item: ItemId, tree: &Tree, call: ExprId) -> ExprId {
    let inner = tree.expr(call).range;
    let tokens = &cx.item(item).tokens;
    let is_wrapper = |at: u32| {
        let expansion = tokens.tokens[at as usize].expansion;
        expansion.is_some_and(|id| tokens.root(id).name.starts_with("PyModule_Create"))
    };
    let ids = tree.expr_ids();
    let around = ids.filter(|&id| {
        let range = tree.expr(id).range;
        matches!(tree.expr(id).kind, ExprKind::Stmt(_))
            && range.contains(inner)
            && is_wrapper(range.start)
    });
    around
        .max_by_key(|&id| tree.expr(id).range.end - tree.expr(id).range.start)
        .unwrap_or(call)
}

/// `if ((m = PyModule_Create(&def)) == NULL) return NULL;` and the opposite.
fn tested(tree: &Tree, stmt: StmtId, cond: ExprId, call: ExprId) -> Result<Form, &'static str> {
    let target = inner_target(tree, cond, call, 0)
        .ok_or("the call is in a condition, and its result is not stored in a variable")?;
    match check(tree, stmt, &target) {
        NullCheck::None => Err("the condition around the call is not a plain test for `NULL`"),
        check => Ok(Form::Stored {
            target,
            stored: stmt,
            check,
        }),
    }
}

fn stored(
    cx: &PackageCx<'_>,
    item: ItemId,
    tree: &Tree,
    path: &[StmtId],
    targets: &[String],
) -> Result<Form, &'static str> {
    // A macro may make the statement and blocks around it: `do { m = …; } while (0)`. What comes
    // next in the file comes after the outermost of those.
    let mut at = path.len() - 1;
    while at > 0 && !is_file_block(cx, item, tree, path[at - 1]) {
        let made_by_macro = cx.stmt_span(item, path[at]).is_none();
        if !made_by_macro && !is_block(tree, path[at - 1]) {
            return Err("the call is the only statement of an `if` or loop without braces");
        }
        at -= 1;
    }
    let block = *path[..at]
        .last()
        .ok_or("the call is not in a block of the file")?;
    let StmtKind::Block(stmts) = &tree.stmt(block).kind else {
        return Err("the call is not in a block of the file");
    };
    let first = path[at];
    let mut stored = first;
    let nearest = targets
        .first()
        .ok_or("the result of the call is not stored in a variable")?;
    let mut tested = (nearest, NullCheck::None);
    for &next in stmts.iter().skip_while(|&&stmt| stmt != first).skip(1) {
        match tree.stmt(next).kind {
            StmtKind::Null => {}
            // No statement stands between declarations in C89, and none of these leaves.
            StmtKind::Decl(_) if is_declaration(tree, stored) => stored = next,
            _ => {
                let tests = targets
                    .iter()
                    .map(|target| (target, check(tree, next, target)));
                let mut tests = tests.filter(|(_, check)| *check != NullCheck::None);
                tested = tests.next().unwrap_or(tested);
                break;
            }
        }
    }
    Ok(Form::Stored {
        target: tested.0.clone(),
        stored,
        check: tested.1,
    })
}

/// Whether `stmt` is a block whose braces stand in the file.
fn is_file_block(cx: &PackageCx<'_>, item: ItemId, tree: &Tree, stmt: StmtId) -> bool {
    is_block(tree, stmt) && cx.stmt_span(item, stmt).is_some() && {
        let range = tree.stmt(stmt).range;
        let brace = TokenRange {
            start: range.start,
            end: range.start + 1,
        };
        cx.item(item).tokens.file_span(brace).is_some()
    }
}

pub(super) fn is_declaration(tree: &Tree, stmt: StmtId) -> bool {
    matches!(tree.stmt(stmt).kind, StmtKind::Decl(_))
}

fn is_block(tree: &Tree, stmt: StmtId) -> bool {
    matches!(tree.stmt(stmt).kind, StmtKind::Block(_))
}

/// The statements around the tokens of `range`, outermost first.
fn path_to(tree: &Tree, body: StmtId, range: TokenRange) -> Vec<StmtId> {
    let holds = |stmt: StmtId| tree.stmt(stmt).range.contains(range);
    let mut path = vec![body];
    let mut current = body;
    loop {
        let inner: Vec<StmtId> = match &tree.stmt(current).kind {
            StmtKind::Block(stmts) => stmts.clone(),
            StmtKind::If {
                then, otherwise, ..
            } => std::iter::once(*then).chain(*otherwise).collect(),
            StmtKind::While { body, .. }
            | StmtKind::DoWhile { body, .. }
            | StmtKind::Switch { body, .. }
            | StmtKind::For { body, .. }
            | StmtKind::Case { body, .. }
            | StmtKind::Default { body }
            | StmtKind::Label { body, .. } => vec![*body],
            _ => Vec::new(),
        };
        match inner.into_iter().find(|&stmt| holds(stmt)) {
            Some(next) => {
                path.push(next);
                current = next;
            }
            None => return path,
        }
    }
}

/// What `m = a = (T)call` stores the result in, the variable nearest to the call first.
fn targets(tree: &Tree, expr: ExprId, call: ExprId) -> Vec<String> {
    let mut targets = Vec::new();
    let mut value = tree.without_casts(expr);
    while let ExprKind::Assign { op: None, lhs, rhs } = tree.expr(value).kind {
        targets.extend(designation(tree, lhs));
        value = tree.without_casts(rhs);
    }
    if value != call {
        targets.clear();
    }
    targets.reverse();
    targets
}

/// The assignment of `call` inside a condition.
fn inner_target(tree: &Tree, cond: ExprId, call: ExprId, depth: u32) -> Option<String> {
    let inner = |expr: ExprId| {
        (depth < 16)
            .then(|| inner_target(tree, expr, call, depth + 1))
            .flatten()
    };
    match &tree.expr(cond).kind {
        ExprKind::Assign { .. } => targets(tree, cond, call).into_iter().next(),
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => inner(*operand),
        ExprKind::Binary { lhs, rhs, .. } => inner(*lhs).or_else(|| inner(*rhs)),
        ExprKind::Call { args, .. } => args.iter().find_map(|&arg| inner(arg)),
        _ => None,
    }
}
