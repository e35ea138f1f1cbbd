//! The failure exit for a call that could not fail before.
//!
//! An exit is taken over from the function itself, and only if it is clean there too: it releases
//! all that the function owns at the call, and returns an error.

use super::held::{Held, fails_cleanly, frees, is_error, is_minus_one};
use super::reason::Reason;
use super::scene::{Parent, Scene};
use super::shape::Shape;
use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, StmtId, StmtKind, UnaryOp};
use crate::capi::{self, Absent, OldErrors, Replacement, Returns};
use crate::cfg::InstrKind;

/// What happens if the strong function gives `NULL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// What happens if the borrowed one does.
    AsBefore,
    /// The borrowed one could not, but the code tests for it.
    Tested,
    /// The borrowed one could not: the statements that leave the function.
    Exit(Vec<String>),
}

/// What to do about `NULL` from the strong function.
///
/// # Errors
/// The borrowed one never gives `NULL`, and nothing tells what to do about it.
pub(super) fn failure(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
    shape: Shape,
) -> Result<Failure, Reason> {
    if replacement.errors != OldErrors::Unchecked || replacement.absent != Absent::Error {
        return Ok(Failure::AsBefore);
    }
    let stmt = scene.stmt_of(call).ok_or(Reason::Unreachable)?;
    if shape
        .local()
        .is_some_and(|local| is_tested(scene, stmt, local))
    {
        return Ok(Failure::Tested);
    }
    let is_init = matches!(scene.parent_of_stmt(stmt), Some(Parent::Stmt(outer))
        if matches!(scene.tree.stmt(outer).kind, StmtKind::For { init, .. } if init == Some(stmt)));
    if is_init {
        return Err(Reason::LoopCondition);
    }
    if matches!(shape, Shape::Inside(..)) {
        return Err(Reason::NoSwap(
            "the checked call can fail where the macro could not: give it a statement of its own, \
             and test its result for `NULL`",
        ));
    }
    exit(scene, call, shape.local())
        .map(Failure::Exit)
        .ok_or(Reason::NoSwap(
            "the checked call can fail where the macro could not: use `PyList_GetItemRef`, and \
             do on `NULL` what the function does about its other errors",
        ))
}

/// `if (failed) { releases; jump; }`
struct Branch {
    then: StmtId,
    releases: Vec<StmtId>,
    jump: StmtId,
    /// It is taken with an exception set, for all to see.
    evident: bool,
}

/// The statements that leave the function with an error from `call`, whose result goes to `local`;
/// `None` if no exit of the function fits.
fn exit(scene: &Scene<'_>, call: ExprId, local: Option<LocalId>) -> Option<Vec<String>> {
    if holds_locks(scene) {
        return None;
    }
    let here = scene.span(call)?.start().0;
    let state = Held::new(scene).at(scene.cfg.call(call)?)?.with_null(local);
    let mut branches = branches(scene);
    let evident: Vec<String> = branches
        .iter()
        .filter(|branch| branch.evident)
        .filter_map(|branch| line(scene, branch.jump))
        .collect();
    branches.retain(|branch| line(scene, branch.jump).is_some_and(|jump| evident.contains(&jump)));
    branches.sort_by_key(|branch| {
        let at = scene.stmt_span(branch.jump);
        at.map(|span| span.start().0.abs_diff(here))
    });
    branches.iter().find_map(|branch| {
        let jump = line(scene, branch.jump)?;
        let bare = match &scene.tree.stmt(branch.jump).kind {
            StmtKind::Goto(label) => {
                let start = scene.cfg.before(label_of(scene, label)?)?;
                start.index == 0 && fails_cleanly(scene, start.block, state.clone())
            }
            _ => state.owns_nothing(),
        };
        if bare {
            return Some(vec![jump]);
        }
        let start = scene.cfg.before(branch.then)?;
        if start.index != 0 || !fails_cleanly(scene, start.block, state.clone()) {
            return None;
        }
        let stmts = branch.releases.iter().chain([&branch.jump]);
        stmts.map(|&stmt| line(scene, stmt)).collect()
    })
}

/// Whether the function takes a lock or the like, which an exit must give back.
fn holds_locks(scene: &Scene<'_>) -> bool {
    const WORDS: [&str; 6] = ["lock", "begin", "enter", "ensure", "acquire", "savethread"];
    let mut instrs = scene.cfg.iter().flat_map(|(_, block)| &block.instrs);
    instrs.any(|instr| match &instr.kind {
        InstrKind::Call {
            callee: crate::cfg::Callee::Named(name),
            ..
        } => {
            let name = name.to_ascii_lowercase();
            WORDS.iter().any(|word| name.contains(word))
        }
        _ => false,
    })
}

/// The statement's own text if it is one line of the file.
fn line(scene: &Scene<'_>, stmt: StmtId) -> Option<String> {
    let text = scene.text(scene.stmt_span(stmt)?);
    (!text.contains('\n')).then_some(text)
}

fn stmts<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = StmtId> + 's {
    let count = u32::try_from(scene.tree.stmts.len()).expect("arenas are indexed by u32");
    (0..count).map(StmtId)
}

fn label_of(scene: &Scene<'_>, label: &str) -> Option<StmtId> {
    stmts(scene).find(
        |&id| matches!(&scene.tree.stmt(id).kind, StmtKind::Label { name, .. } if &**name == label),
    )
}

fn branches(scene: &Scene<'_>) -> Vec<Branch> {
    stmts(scene)
        .filter_map(|stmt| match scene.tree.stmt(stmt).kind {
            StmtKind::If { cond, then, .. } => {
                let mut branch = branch(scene, then)?;
                branch.evident |= is_failure(scene, stmt, cond);
                Some(branch)
            }
            _ => None,
        })
        .collect()
}

/// The branch `then` if it does nothing but raise, release and leave.
fn branch(scene: &Scene<'_>, then: StmtId) -> Option<Branch> {
    let body = match &scene.tree.stmt(then).kind {
        StmtKind::Block(stmts) => &stmts[..],
        _ => &[then],
    };
    let (&jump, before) = body.split_last()?;
    match scene.tree.stmt(jump).kind {
        StmtKind::Goto(_) => {}
        StmtKind::Return(Some(value)) if is_error(scene, value) => {}
        _ => return None,
    }
    let mut branch = Branch {
        then,
        releases: Vec::new(),
        jump,
        evident: false,
    };
    for &stmt in before {
        let StmtKind::Expr(expr) = scene.tree.stmt(stmt).kind else {
            return None;
        };
        match scene.call(expr)?.0 {
            name if raises(name) => branch.evident = true,
            "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" => branch.releases.push(stmt),
            name if frees(name) => branch.releases.push(stmt),
            _ => return None,
        }
    }
    Some(branch)
}

fn raises(name: &str) -> bool {
    ["PyErr_Set", "PyErr_Format", "PyErr_NoMemory", "PyErr_Bad"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether the condition of `stmt` is that a function of the C API raised an exception.
fn is_failure(scene: &Scene<'_>, stmt: StmtId, cond: ExprId) -> bool {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalOr,
            lhs,
            rhs,
        } => is_failure(scene, stmt, lhs) && is_failure(scene, stmt, rhs),
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => failed(scene, stmt, operand, true),
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::Equals if scene.is_null(rhs) => failed(scene, stmt, lhs, true),
            BinaryOp::Equals if is_minus_one(scene, rhs) => failed(scene, stmt, lhs, false),
            BinaryOp::Less if scene.is_null(rhs) => failed(scene, stmt, lhs, false),
            _ => false,
        },
        _ => scene
            .call(cond)
            .is_some_and(|(name, _)| name == "PyErr_Occurred"),
    }
}

/// Whether `value`, found to be zero or else negative, is the result of a call that raised.
fn failed(scene: &Scene<'_>, stmt: StmtId, value: ExprId, zero: bool) -> bool {
    let value = match scene.tree.expr(value).kind {
        ExprKind::Assign { op: None, rhs, .. } => rhs,
        _ => match scene.as_local(value) {
            Some(local) => match value_before(scene, stmt, local) {
                Some(value) => value,
                None => return false,
            },
            None => value,
        },
    };
    let Some((name, _)) = scene.call(value) else {
        return false;
    };
    let returns = capi::effects(name).map(|effects| effects.returns);
    match returns {
        Some(Returns::New) => zero,
        Some(Returns::Plain) => zero == name.starts_with("PyArg_"),
        _ => false,
    }
}

/// What the statement in front of `stmt` assigns to `local`.
fn value_before(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> Option<ExprId> {
    let (siblings, at) = scene.siblings(stmt)?;
    let before = *siblings.get(at.checked_sub(1)?)?;
    match &scene.tree.stmt(before).kind {
        StmtKind::Expr(expr) => match scene.tree.expr(*expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } if scene.as_local(lhs) == Some(local) => {
                Some(rhs)
            }
            _ => None,
        },
        StmtKind::Decl(decls) => decls
            .iter()
            .find(|decl| decl.local == local)
            .and_then(|decl| match decl.init {
                Some(Init::Expr(value)) => Some(value),
                _ => None,
            }),
        _ => None,
    }
}

/// Whether the code already leaves with an error if the result, in `local`, is `NULL`: the test is
/// the statement behind `stmt`, or `stmt` itself.
fn is_tested(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> bool {
    let next = scene
        .siblings(stmt)
        .and_then(|(stmts, at)| stmts.get(at + 1).copied());
    [Some(stmt), next].into_iter().flatten().any(|stmt| {
        let StmtKind::If { cond, then, .. } = scene.tree.stmt(stmt).kind else {
            return false;
        };
        let tested = match scene.tree.expr(cond).kind {
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => operand,
            ExprKind::Binary {
                op: BinaryOp::Equals,
                lhs,
                rhs,
            } if scene.is_null(rhs) => lhs,
            _ => return false,
        };
        let tested = match scene.tree.expr(tested).kind {
            ExprKind::Assign { op: None, lhs, .. } => lhs,
            _ => tested,
        };
        scene.as_local(tested) == Some(local) && branch(scene, then).is_some()
    })
}
