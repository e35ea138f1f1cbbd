//! The ways out of a function: those that it had, and those that came in.

use std::cell::OnceCell;

use super::super::changed::Changed;
use super::super::proof::seeds;
use super::acts::Act;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, LocalId, Name, StmtId, StmtKind, TokenRange, Tree,
    UnaryOp,
};
use crate::capi::{self, Returns};
use crate::cfg::{Cfg, Point, Reach, Terminator, reaches};
use crate::ownership::track::Origin;

/// `if (failed) { …; jump; }`
pub(super) struct Exit {
    pub(super) test: StmtId,
    pub(super) then: StmtId,
    pub(super) jump: StmtId,
    /// In front of the test.
    pub(super) from: Point,
    /// In front of what is done where it fails.
    pub(super) start: Point,
    /// What the function gets to from `from` by none of the new exits.
    pub(super) onward: OnceCell<Reach>,
}

/// All branches that end in a jump out of the function: those that came in, and those that the
/// function had and that leave it with an error.
pub(super) fn exits(changed: Changed<'_>, cfg: &Cfg) -> (Vec<Exit>, Vec<Exit>) {
    let tree = &changed.function.tree;
    let ids = (0u32..).map(StmtId).zip(&tree.stmts);
    let branches = ids.flat_map(|(id, stmt)| match stmt.kind {
        StmtKind::If {
            then, otherwise, ..
        } => [Some((id, then)), otherwise.map(|it| (id, it))],
        _ => [None, None],
    });
    let exits = branches.flatten().filter_map(|(test, then)| {
        let jump = jump(tree, then)?;
        Some(Exit {
            test,
            then,
            jump,
            from: cfg.before(test)?,
            start: cfg.before(then)?,
            onward: OnceCell::new(),
        })
    });
    let is_new = |exit: &Exit| changed.is_inserted(tree.stmt(exit.jump).range.start);
    let (new, old): (Vec<Exit>, Vec<Exit>) = exits.partition(is_new);
    // Others lead from behind a section to where the code went before, or just end a loop.
    let (new, others): (Vec<Exit>, Vec<Exit>) = new
        .into_iter()
        .partition(|exit| !exit.ends_loop(tree) && exit.lookup(changed).is_some());
    // `if (failed) return -1;` is `if (failed) { Py_DECREF(item); return -1; }` by now.
    let was_there = |exit: &Exit| {
        !exit.ends_loop(tree) && !changed.is_inserted(tree.stmt(exit.test).range.start)
    };
    let function = changed.function;
    let old = old.into_iter().chain(others.into_iter().filter(was_there));
    let old = old.filter(|exit| fails(function, exit) && may_fail(function, cfg, exit));
    (new, old.collect())
}

/// The jump at the end of a branch, be it that of a macro: `do { LEAVE(); return NULL; } while (0)`.
fn jump(tree: &Tree, then: StmtId) -> Option<StmtId> {
    let is_empty = |stmt: StmtId| matches!(tree.stmt(stmt).kind, StmtKind::Null);
    match &tree.stmt(then).kind {
        StmtKind::Block(stmts) => {
            let mut stmts = stmts.iter().copied().rev();
            jump(tree, stmts.find(|&stmt| !is_empty(stmt))?)
        }
        // A `break` there just ends what the macro does.
        StmtKind::DoWhile { body, cond } if tree.is_null(*cond) => {
            jump(tree, *body).filter(|&jump| !matches!(tree.stmt(jump).kind, StmtKind::Break))
        }
        StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break => Some(then),
        _ => None,
    }
}

/// Whether a branch that leaves does so with an error, as far as its end and its test show.
fn fails(function: &Function, exit: &Exit) -> bool {
    let tree = &function.tree;
    let is_shown = || raises(tree, exit.then) || is_failure(tree, exit.test);
    match tree.stmt(exit.jump).kind {
        StmtKind::Return(Some(value)) => {
            let is_own = is_call(tree, value)
                && tells_of(tree, value).is_none_or(|name| capi::effects(name).is_none());
            // Some functions give 0 for success, some for failure.
            let is_plain = function.ret.is_number() && tree.is_null(value);
            match is_own || is_plain {
                true => is_shown(),
                false => is_error(tree, value) || raises(tree, exit.then),
            }
        }
        StmtKind::Break => is_shown(),
        _ => true,
    }
}

/// Whether an error may be returned behind a branch: what is no constant may be one.
fn may_fail(function: &Function, cfg: &Cfg, exit: &Exit) -> bool {
    let tree = &function.tree;
    cfg.iter().any(|(block, content)| {
        let Terminator::Return(_, stmt) = content.terminator else {
            return false;
        };
        let index = content.instrs.len();
        let fails = match tree.stmt(stmt).kind {
            StmtKind::Return(Some(value)) => {
                is_error(tree, value)
                    || !matches!(
                        tree.expr(value).kind,
                        ExprKind::Int(_) | ExprKind::Name(Name::Global(_))
                    )
            }
            _ => true,
        };
        fails && reaches(cfg, exit.start, Point { block, index }, &[])
    })
}

/// Whether a value is the result of a call, be it one through a pointer:
/// `(*env)->PopLocalFrame(env, NULL)`.
fn is_call(tree: &Tree, value: ExprId) -> bool {
    matches!(
        tree.expr(tree.without_casts(value)).kind,
        ExprKind::Call { .. }
    )
}

/// The function whose result a value is.
fn tells_of(tree: &Tree, value: ExprId) -> Option<&str> {
    tree.called(tree.without_casts(value))
}

/// Whether a test asks whether something failed: `!v`, `v == NULL`, `status < 0`,
/// `PyErr_Occurred()`.
fn is_failure(tree: &Tree, test: StmtId) -> bool {
    let StmtKind::If { cond, .. } = tree.stmt(test).kind else {
        return false;
    };
    let mut inner = tree.exprs_in(tree.expr(cond).range);
    inner.any(|(expr, part)| match part.kind {
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        ExprKind::Binary { op, rhs, .. } => match op {
            BinaryOp::Equals => is_error(tree, rhs),
            BinaryOp::Less => tree.is_null(rhs),
            _ => false,
        },
        _ => tells_of(tree, expr) == Some("PyErr_Occurred"),
    })
}

/// `NULL`, `0`, a negative number, or what a call gives that raises.
fn is_error(tree: &Tree, value: ExprId) -> bool {
    let value = tree.without_casts(value);
    match &tree.expr(value).kind {
        ExprKind::Call { .. } => tells_of(tree, value).is_some_and(is_raising),
        ExprKind::Unary { op, .. } => *op == UnaryOp::Minus,
        ExprKind::Binary { op, rhs, .. } => *op == BinaryOp::Comma && is_error(tree, *rhs),
        ExprKind::Name(Name::Global(name)) => &**name == "false" || tree.is_null(value),
        _ => tree.is_null(value),
    }
}

/// Whether a branch raises an exception itself.
pub(super) fn raises(tree: &Tree, then: StmtId) -> bool {
    let range = tree.stmt(then).range;
    let mut calls = tree.calls();
    calls.any(|(call, name)| range.contains(tree.expr(call).range) && is_raising(name))
}

fn is_raising(name: &str) -> bool {
    name.starts_with("PyErr_") && name != "PyErr_Clear" && name != "PyErr_Occurred"
}

impl Exit {
    /// Whether it just ends a loop: what comes behind that is no part of it.
    pub(super) fn ends_loop(&self, tree: &Tree) -> bool {
        matches!(tree.stmt(self.jump).kind, StmtKind::Break)
    }

    /// Whether its test makes a call: `if (begin(self) < 0) return NULL;`.
    pub(super) fn asks(&self, tree: &Tree, call: &Act) -> bool {
        let StmtKind::If { cond, .. } = tree.stmt(self.test).kind else {
            return false;
        };
        let within = tree.expr(cond).range;
        within.contains(tree.expr(call.expr).range)
    }

    /// The lookup that came in, and whose failure the test asks for: one that gives a reference, or
    /// one that just tells whether there is anything, as in `if (PyDict_ContainsString(d, "x") < 0)`.
    pub(super) fn lookup(&self, changed: Changed<'_>) -> Option<ExprId> {
        let Changed {
            item,
            function,
            applied,
            handing,
            ..
        } = changed;
        let tree = &function.tree;
        let StmtKind::If { cond, .. } = tree.stmt(self.test).kind else {
            return None;
        };
        let (end, cond) = (tree.stmt(self.then).range.start, tree.expr(cond).range);
        let tested = self.tested(tree);
        let is_asked = |&call: &ExprId| {
            let range = tree.expr(call).range;
            let mut stores = tree.stores();
            let args = tree.call(call).map_or(&[][..], |(_, args)| args);
            let mut outs = args.iter().filter_map(|&arg| tree.as_address(arg));
            let within = |value| tree.expr(value).range.contains(range);
            range.start < end
                && (cond.contains(range)
                    || outs.any(|out| tested.contains(&out))
                    || stores.any(|(local, value)| tested.contains(&local) && within(value)))
        };
        let start = |call: &ExprId| tree.expr(*call).range.start;
        let seeds = seeds(item, function, applied, handing).into_iter();
        let lookups = seeds.filter_map(|seed| match seed.origin {
            Origin::Call(call) => Some(call),
            Origin::Param(_) | Origin::Local(_) => None,
        });
        let tells = |(call, name): (ExprId, &str)| {
            let is_known = capi::effects(name).is_some_and(|it| it.returns == Returns::Plain);
            let is_new = changed.is_inserted(start(&call));
            (is_known && is_new && !name.starts_with("PyErr_")).then_some(call)
        };
        let lookup = lookups.filter(is_asked).max_by_key(start);
        lookup.or_else(|| {
            tree.calls()
                .filter_map(tells)
                .filter(is_asked)
                .max_by_key(start)
        })
    }

    /// The variables that the test names; of a call that stores what it finds, those that get it:
    /// `if (PyDict_GetItemRef(self->map, key, &item) < 0)`.
    pub(super) fn tested(&self, tree: &Tree) -> Vec<LocalId> {
        let StmtKind::If { cond, .. } = tree.stmt(self.test).kind else {
            return Vec::new();
        };
        let within = tree.expr(cond).range;
        let is_given = |&arg: &ExprId| tree.as_address(arg).is_none();
        let storing = tree
            .exprs_in(within)
            .filter_map(|(expr, _)| tree.call(expr));
        let storing = storing.filter(|(name, args)| {
            (0..args.len()).any(|at| capi::effects(name).is_some_and(|it| it.out(at).is_some()))
        });
        let given = storing.flat_map(|(_, args)| args.iter().copied().filter(is_given));
        let given: Vec<TokenRange> = given.map(|arg| tree.expr(arg).range).collect();
        let inner = tree.exprs_in(within);
        let inner = inner.filter(|(_, part)| !given.iter().any(|it| it.contains(part.range)));
        inner.filter_map(|(id, _)| tree.as_local(id)).collect()
    }
}
