//! Functions that a fix split behind a lookup: the first half, under the old name, holds the
//! reference while the second uses the object.
//!
//! ```c
//! static int set_with_item(Box *box, PyObject *item) { /* the rest, as it was */ }
//! int set(Box *box, PyObject *key)
//! {
//!     PyObject *item;
//!     int result;
//!     prepare(box);                                    /* what stood in front, as it was */
//!     item = PyList_GetItemRef(box->items, 0);         /* the same lookup */
//!     result = set_with_item(box, item);
//!     Py_XDECREF(item);
//!     return result;
//! }
//! ```
//! That the first half releases what it looks up is followed as in every function. Here: both
//! together do what the function did, and the second one leaves nothing of the object behind.

mod steps;
mod variables;

use std::collections::BTreeSet;

use super::Failure;
use super::original::Original;
use super::proof::{borrowed_seeds, calls, graph};
pub(super) use steps::words;
use steps::{Step, called, row_of, steps};

use super::wrapper::{Split, assigned, local, signature};
use crate::ast::{ExprKind, Function, LocalDecl, LocalId, Stmt, StmtId, StmtKind, Tree};
use crate::edit::Applied;
use crate::ownership::summary::Summaries;
use crate::ownership::track::{self, Gives, Handed, Origin, Problem, Seed, is_number};
use crate::program::ProgramItem;
use crate::source::{ByteOffset, FileSet};

/// What is wrong with the halves of a function; `first` has its old name.
pub(super) fn failure(
    split: &Split<'_>,
    first: &Function,
    first_item: &ProgramItem,
    original: &Original<'_>,
    (files, applied): (&FileSet, &Applied),
) -> Option<Failure> {
    let halves = Halves {
        split,
        first,
        first_item,
        old_files: original.program.files,
        files,
        callees: original.callees,
        applied,
    };
    let (old, new) = (&split.old.name, &split.body.name);
    let wrong = |what: &str| Some(Failure::Wrong(format!("`{old}` and `{new}` {what}")));
    let is_static = split.body.is_static && first.is_static == split.old.is_static;
    if !is_static || signature(first) != signature(split.old) {
        return wrong("do not have the declaration of the original function");
    }
    let Some(end) = halves.end() else {
        return wrong("do not end with one call of the other function and a release");
    };
    let Some(lookup) = halves.lookup(end.object) else {
        return wrong("do not begin like the original function");
    };
    if !halves.is_cut_at(lookup) {
        return wrong("do not have each statement of the original function once");
    }
    if !halves.have_same_variables(&end, lookup) {
        return wrong("do not have the same values in their variables");
    }
    if detaches(split.body) {
        return wrong("may release the object while the thread is detached");
    }
    keeps(split, end.object, original)
}

/// A function in two halves: `split.body` is the second.
struct Halves<'a> {
    split: &'a Split<'a>,
    first: &'a Function,
    first_item: &'a ProgramItem,
    /// The files before the change, and after it.
    old_files: &'a FileSet,
    files: &'a FileSet,
    /// What the functions of the package did with their arguments.
    callees: &'a Summaries,
    /// What the changes of the file did.
    applied: &'a Applied,
}

/// How the first half ends.
struct End {
    /// The variables that the second half gets.
    handed: Vec<LocalId>,
    /// The position of the object among them.
    object: usize,
    /// The variable for the result of the second half.
    result: Option<LocalId>,
}

impl<'a> Halves<'a> {
    /// How the first half ends; `None` if it does anything but call the second, release what it
    /// lent, and return the result.
    fn end(&self) -> Option<End> {
        let tree = &self.first.tree;
        let stmts = own_stmts(self.first);
        let count = if self.first.ret.is_void() { 2 } else { 3 };
        let tail = &stmts[stmts.len().checked_sub(count)?..];
        let mut inner = calls(self.first).filter(|(_, name)| *name == self.split.body.name);
        let (Some((call, _)), None) = (inner.next(), inner.next()) else {
            return None;
        };
        let result = match &tree.stmt(tail[0]).kind {
            StmtKind::Expr(expr) => match tree.expr(*expr).kind {
                ExprKind::Assign { op: None, lhs, rhs } if rhs == call => local(tree, lhs),
                _ if *expr == call => None,
                _ => return None,
            },
            // `int result = set_with_item(box, item);`
            StmtKind::Decl(decls) => decls.first().map(|decl| decl.local),
            _ => return None,
        };
        if let Some(stmt) = tail.get(2) {
            let StmtKind::Return(Some(value)) = tree.stmt(*stmt).kind else {
                return None;
            };
            let returned = local(tree, value).filter(|value| Some(*value) == result)?;
            if assigned(tree, returned) != [call] {
                return None;
            }
        }
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return None;
        };
        let handed: Vec<LocalId> = args
            .iter()
            .map(|&arg| local(tree, arg))
            .collect::<Option<_>>()?;
        let released = released(tree, tail[1])?;
        let object = handed.iter().position(|&each| each == released)?;
        Some(End {
            handed,
            object,
            result,
        })
    }

    /// The statement of the function with the lookup, if the first half does what stands in front,
    /// and the same lookup, for the parameter at `object`.
    fn lookup(&self, object: usize) -> Option<usize> {
        let Split {
            old,
            old_item,
            body,
            ..
        } = self.split;
        let name = &*body.tree.local(*body.params.get(object)?).name;
        let moved = self.declared_by_second();
        let jumps = |stmt: &Stmt| {
            matches!(
                stmt.kind,
                StmtKind::Label { .. } | StmtKind::Goto(_) | StmtKind::ComputedGoto(_)
            )
        };
        if self.first.tree.stmts.iter().any(jumps) {
            return None;
        }
        let before = steps(old, old_item, self.old_files, &own_stmts(old));
        let at = before.iter().position(|step| {
            let call = step.value.and_then(|value| called(&old.tree, value));
            step.target == Some(name) && call.is_some_and(|(_, name)| row_of(name).is_some())
        })?;
        let stmts = own_stmts(self.first);
        let tail = if self.first.ret.is_void() { 2 } else { 3 };
        let stmts = &stmts[..stmts.len() - tail];
        let after = steps(self.first, self.first_item, self.files, stmts);
        let mut front = before[..at]
            .iter()
            .filter(|step| step.target.is_none_or(|target| !moved.contains(target)));
        let (looked_up, others, is_kept) = match &after[..] {
            [others @ .., save, looked_up, restore] if keep_exception(save, restore) => {
                (looked_up, others, true)
            }
            [others @ .., looked_up] => (looked_up, others, false),
            [] => return None,
        };
        let is_same = others
            .iter()
            .all(|step| front.next().is_some_and(|old| old.words == step.words))
            && front.next().is_none();
        let stmt = before[at].stmt;
        let is_same = is_same && self.is_same_lookup(&before[at], looked_up, is_kept);
        is_same.then(|| own_stmts(old).iter().position(|&other| other == stmt))?
    }

    /// Whether the second half has all statements behind the lookup, and none up to it but
    /// declarations.
    fn is_cut_at(&self, lookup: usize) -> bool {
        let Split {
            old,
            old_item,
            item,
            ..
        } = self.split;
        let stays = |stmt: StmtId| {
            let tokens = &old_item.tokens;
            let span = tokens.file_span(old.tree.stmt(stmt).range)?;
            let place = item.place.1;
            let mut bytes = span.1.start().0..span.1.end().0;
            Some(bytes.any(|at| {
                let new = self.applied.map.to_new(ByteOffset(at));
                new.is_some_and(|new| place.start() <= new && new < place.end())
            }))
        };
        let is_decl = |stmt: StmtId| matches!(old.tree.stmt(stmt).kind, StmtKind::Decl(_));
        let mut stmts = own_stmts(old).into_iter().enumerate();
        stmts.all(|(at, stmt)| match at > lookup {
            true => stays(stmt) == Some(true),
            false => stays(stmt) == Some(false) || is_decl(stmt) && at < lookup,
        })
    }

    /// The variables that the second half declares in its own block.
    fn declared_by_second(&self) -> BTreeSet<&'a str> {
        let body = self.split.body;
        let decls = declared(body, &own_stmts(body));
        decls
            .into_iter()
            .map(|decl| &*body.tree.local(decl.local).name)
            .collect()
    }
}

/// Whether the second half of a function may leave the thread detached, with the object to be released yet.
pub(super) fn detaches(body: &Function) -> bool {
    let count = |wanted: &[&str]| {
        calls(body)
            .filter(|(_, name)| wanted.contains(name))
            .count()
    };
    let left = count(&["PyEval_SaveThread", "PyEval_ReleaseThread"]);
    let back = count(&["PyEval_RestoreThread", "PyEval_AcquireThread"]);
    left != back || count(&["PyGILState_Release"]) > 0
}

/// Whether the second half leaves something of its parameter at `object` behind: it is stored or
/// returned, or released though it was only lent.
pub(super) fn keeps(split: &Split<'_>, object: usize, original: &Original<'_>) -> Option<Failure> {
    let Split { old, body, .. } = *split;
    let seed = Seed {
        origin: Origin::Param(body.params[object]),
        gives: Gives::Always,
        owned: false,
    };
    let name = &body.name;
    let follow = |function: &Function, seeds: &[Seed]| {
        track::follow(&graph(function), &function.tree, seeds, original.callees)
    };
    let Some(followed) = follow(body, &[seed]) else {
        let reason = format!("`{name}` keeps nothing of the object that it borrows");
        return Some(Failure::Unknown(reason.into()));
    };
    let wrong = || {
        let reason = format!("`{name}` keeps or releases the object that it borrows");
        Some(Failure::Wrong(reason))
    };
    let is_in_result = followed.exits.iter().any(|exit| match exit.value {
        Handed::Instance { .. } | Handed::Inside(_) => !is_number(&body.ret),
        Handed::Null | Handed::Int(_) | Handed::Other => false,
    });
    let mut counts = followed.exits.iter().flat_map(|exit| &exit.counts);
    if is_in_result || counts.any(|(_, count)| *count < 0) {
        return wrong();
    }
    let leaked_before = || {
        let seeds = borrowed_seeds(old, &BTreeSet::new());
        let before = follow(old, &seeds);
        before.is_some_and(|it| it.troubles.iter().any(|t| t.problem == Problem::Leak))
    };
    let mut doubted = false;
    for trouble in &followed.troubles {
        match trouble.problem {
            Problem::Leak if leaked_before() => {}
            // The caller still has a reference then.
            Problem::UseAfterRelease | Problem::MayOutlive => {}
            problem if problem.is_doubt() => doubted = true,
            _ => return wrong(),
        }
    }
    doubted.then(|| {
        let claim = format!(
            "`{name}` neither keeps the object that it borrows nor looks at its reference count"
        );
        Failure::Unknown(claim.into())
    })
}

/// Whether two steps put the exception away and back, as [`super::saved`] wants it.
///
/// ```c
/// exc = PyErr_GetRaisedException();
/// PyErr_SetRaisedException(exc);
/// ```
fn keep_exception(save: &Step<'_>, restore: &Step<'_>) -> bool {
    let Some(name) = save.target.map(str::as_bytes) else {
        return false;
    };
    let saved: [&[u8]; 6] = [name, b"=", b"PyErr_GetRaisedException", b"(", b")", b";"];
    let restored: [&[u8]; 5] = [b"PyErr_SetRaisedException", b"(", name, b")", b";"];
    save.words == saved && restore.words == restored
}

/// The statements of a function's own block.
pub(super) fn own_stmts(function: &Function) -> Vec<StmtId> {
    match &function.tree.stmt(function.body).kind {
        StmtKind::Block(stmts) => stmts.clone(),
        _ => Vec::new(),
    }
}

/// The variables that statements declare.
fn declared<'t>(function: &'t Function, stmts: &[StmtId]) -> Vec<&'t LocalDecl> {
    let decls = stmts
        .iter()
        .map(|&stmt| match &function.tree.stmt(stmt).kind {
            StmtKind::Decl(decls) => &decls[..],
            _ => &[],
        });
    decls.flatten().collect()
}

/// The variable that `Py_XDECREF(v);` releases.
pub(super) fn released(tree: &Tree, stmt: StmtId) -> Option<LocalId> {
    let StmtKind::Expr(expr) = tree.stmt(stmt).kind else {
        return None;
    };
    match (called(tree, expr)?, &tree.expr(expr).kind) {
        ((_, "Py_XDECREF"), ExprKind::Call { args, .. }) => local(tree, *args.first()?),
        _ => None,
    }
}
