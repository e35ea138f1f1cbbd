//! What was true of an object that others have, and may no longer be when it is used.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Why;
use super::body::Body;
use super::guards::Path;
use super::value::Kinds;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, LocalId, Parent, Parents, StmtKind, Tree, UnaryOp,
};
use crate::capi::{self, Counts, OutKind, Returns};
use crate::cfg::{
    self, Base, Cfg, Dominators, InstrKind, Operand, Point, Source, TempId, Terminator, reaches,
};

impl Body<'_, '_, '_> {
    /// Names sizes that are asked apart from the copy they are used with, and copies that are made
    /// one after the other.
    ///
    /// ```c
    /// n = PyList_GET_SIZE(list);
    /// copy = PyList_GetSlice(list, 0, n);       /* may be shorter by now */
    /// for (i = 0; i < n; i++) use(PyList_GET_ITEM(copy, i));
    /// ```
    pub(super) fn check_sizes(&mut self) {
        let tree = self.tree();
        let known = Rc::clone(&self.known);
        let mut looks: BTreeMap<Path, (Vec<ExprId>, Vec<ExprId>)> = BTreeMap::new();
        for (call, name) in tree.calls() {
            let (is_size, is_copy) = (capi::asks_size(name), capi::copies(name));
            let container = tree.call(call).and_then(|(_, args)| args.first().copied());
            let container = container.filter(|_| is_size || is_copy);
            let Some(path) = container.and_then(|it| self.shared_path(it)) else {
                continue;
            };
            let (sizes, copies) = looks.entry(path).or_default();
            match is_copy {
                true => copies.push(call),
                false if is_asked_for_any(tree, known.parents(), call) => {}
                false => sizes.push(call),
            }
        }
        for (sizes, copies) in looks.into_values() {
            let with_copies = sizes.into_iter().filter(|_| !copies.is_empty());
            for at in with_copies.chain(copies.iter().copied().skip(1)) {
                self.leave(at, self.text(at), Why::Stale);
            }
        }
    }

    fn shared_path(&self, container: ExprId) -> Option<Path> {
        let is_shared = self.value(container).points.has(Kinds::SHARED);
        is_shared
            .then(|| self.known.paths.pointee(container))
            .flatten()
    }

    /// Names uses of an object by a variable whose own reference has been released.
    ///
    /// ```c
    /// next = PyObject_GetAttrString(o, "next");
    /// Py_DECREF(next);                          /* `o` has it, until another thread sets it */
    /// return PyObject_Repr(next);
    /// ```
    pub(super) fn check_released(&mut self) {
        let known = Rc::clone(&self.known);
        for &at in known.released() {
            self.leave(at, self.text(at), Why::Stale);
        }
    }
}

/// Uses of objects of which the function has released the only reference that it had.
pub(super) fn released(function: &Function) -> Vec<ExprId> {
    let tree = &function.tree;
    let releases = tree.calls().filter_map(|(call, name)| {
        let is_release = matches!(capi::counts(name), Some(Counts::Release { .. }));
        let arg = tree.call(call)?.1.first().copied()?;
        let local = tree.as_local(tree.without_casts(arg))?;
        (is_release && is_only_owner(tree, local)).then_some((call, local))
    });
    let releases: Vec<_> = releases.collect();
    if releases.is_empty() {
        return Vec::new();
    }
    let cfg = cfg::build(function, &capi::never_returns);
    let dominators = Dominators::new(&cfg);
    let uses = releases.into_iter().filter_map(|(call, local)| {
        let release = cfg.call(call)?;
        Some(uses_after(&cfg, &dominators, release, local))
    });
    uses.flatten().collect()
}

/// Whether nothing but that there is any matters of a size: `PyList_GET_SIZE(list) == 0`,
/// `if (PyDict_Size(d))`.
fn is_asked_for_any(tree: &Tree, parents: &Parents, size: ExprId) -> bool {
    let outer = match parents.of_expr(size) {
        Some(Parent::Expr(outer)) => outer,
        Some(Parent::Stmt(stmt)) => return matches!(tree.stmt(stmt).kind, StmtKind::If { .. }),
        None => return false,
    };
    match tree.expr(outer).kind {
        ExprKind::Binary { op, lhs, rhs } => {
            let other = if lhs == size { rhs } else { lhs };
            let joins = matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr);
            joins || op.is_comparison() && tree.is_null(other)
        }
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        _ => false,
    }
}

/// Whether all that a local holds are new references of the C API, which nothing else in the
/// function keeps.
fn is_only_owner(tree: &Tree, local: LocalId) -> bool {
    let it = tree.local(local);
    let given: Vec<ExprId> = tree
        .stores()
        .filter(|(to, value)| *to == local && !tree.is_null(*value))
        .map(|(_, value)| tree.without_casts(value))
        .collect();
    let is_new = |&value: &ExprId| {
        let effects = tree.called(value).and_then(capi::effects);
        effects.is_some_and(|it| it.returns == Returns::New)
    };
    let is_it = |expr: ExprId| tree.as_local(tree.without_casts(expr)) == Some(local);
    let is_address = |arg: ExprId| tree.as_address(tree.without_casts(arg)) == Some(local);
    let has_out = tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { args, .. } => args.iter().any(|&arg| is_address(arg)),
        _ => false,
    });
    let mut exprs = tree.exprs.iter();
    !it.is_param
        && it.is_automatic()
        && (has_out || !given.is_empty())
        && given.iter().all(is_new)
        && !exprs.any(|expr| match &expr.kind {
            ExprKind::Assign { rhs, .. } => is_it(*rhs),
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee);
                let effects = name.and_then(capi::effects);
                let is_new = |at| effects.and_then(|it| it.out(at)) == Some(OutKind::New);
                let mut args = args.iter().enumerate();
                args.any(|(at, &arg)| {
                    is_it(arg) && name.is_none_or(|name| may_keep(name, at))
                        || is_address(arg) && !is_new(at)
                })
            }
            _ => false,
        })
}

/// Whether a call may take, or keep, a reference to its argument `arg`.
fn may_keep(name: &str, arg: usize) -> bool {
    if let Some(counts) = capi::counts(name) {
        return !matches!(counts, Counts::Release { .. } | Counts::Clear);
    }
    let keeps = capi::writes(name).and_then(|row| row.keeps);
    capi::effects(name).is_none_or(|effects| {
        effects.steals(arg).is_some()
            || effects.format.is_some()
            || keeps.is_some_and(|first| first <= arg)
    })
}

/// The expressions that use what `local` held at its `release`, on every path to which that runs.
fn uses_after(cfg: &Cfg, dominators: &Dominators, release: Point, local: LocalId) -> Vec<ExprId> {
    let points = || {
        cfg.iter().flat_map(|(block, body)| {
            let instrs = body.instrs.iter().enumerate();
            instrs.map(move |(index, instr)| (Point { block, index }, instr))
        })
    };
    let sets = points().filter(|(_, instr)| match &instr.kind {
        InstrKind::Store { place, .. } => place.as_local() == Some(local),
        InstrKind::Declare { local: declared } => *declared == local,
        _ => false,
    });
    let sets: Vec<Point> = sets.map(|(at, _)| at).collect();
    let loads = points().filter_map(|(at, instr)| match (&instr.kind, instr.source) {
        (InstrKind::Load { dst, place }, Source::Expr(expr)) if place.as_local() == Some(local) => {
            Some((at, *dst, expr))
        }
        _ => None,
    });
    let after = Point {
        index: release.index + 1,
        ..release
    };
    let stale = loads.filter(|(at, temp, _)| {
        dominators.dominates_point(release, *at)
            && reaches(cfg, after, *at, &sets)
            && is_used(cfg, *temp)
    });
    stale.map(|(_, _, expr)| expr).collect()
}

/// Whether a call or a caller gets a temporary, or the code reads through it.
fn is_used(cfg: &Cfg, temp: TempId) -> bool {
    let is_it = |operand: &Operand| *operand == Operand::Temp(temp);
    cfg.blocks.iter().any(|block| {
        let is_returned = matches!(&block.terminator, Terminator::Return(Some(it), _) if is_it(it));
        let mut instrs = block.instrs.iter();
        is_returned
            || instrs.any(|instr| match &instr.kind {
                InstrKind::Call { args, callee, .. } => {
                    let is_count = || callee.name().and_then(capi::counts).is_some();
                    args.iter().any(is_it) && !is_count()
                }
                InstrKind::Cast { dst, src, .. } => is_it(src) && is_used(cfg, *dst),
                _ => instr
                    .place()
                    .is_some_and(|place| matches!(&place.base, Base::Deref(it) if is_it(it))),
            })
    })
}
