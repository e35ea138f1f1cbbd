//! The places of a function that write a variable.

use std::collections::BTreeSet;

use super::roots::{Path, handed, root};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};
use crate::capi;
use crate::program::Program;

/// How a variable is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// `x = value`.
    Set(ExprId),
    /// `x++`, `x -= n`.
    Step,
    /// `x |= bit` and the like.
    Update,
    /// `Py_CLEAR(x)`, `Py_XSETREF(x, value)`: the old reference is released.
    Replace,
    /// A function writes through a pointer to it; its name.
    Handed(Box<str>),
}

/// A place that is written.
#[derive(Debug)]
pub(super) struct Target<'t> {
    pub(super) name: &'t Name,
    pub(super) path: Path,
    pub(super) how: How,
}

/// Functions of the package that write through a pointer parameter, by name and index.
#[derive(Debug, Default)]
pub(super) struct Writers(BTreeSet<(Box<str>, usize)>);

impl Writers {
    pub(super) fn new(program: &Program<'_>) -> Self {
        let mut found = BTreeSet::new();
        for (_, function) in program.functions() {
            let written = written_params(function);
            found.extend(written.map(|at| (Box::from(function.name.as_str()), at)));
        }
        Self(found)
    }

    /// What the expression `id` writes.
    pub(super) fn targets<'t>(&self, tree: &'t Tree, id: ExprId) -> Vec<Target<'t>> {
        match &tree.expr(id).kind {
            ExprKind::Assign { op, lhs, rhs } => {
                let how = match op {
                    None => How::Set(*rhs),
                    Some(BinaryOp::Plus | BinaryOp::Minus) => How::Step,
                    Some(_) => How::Update,
                };
                target(root(tree, *lhs), how).into_iter().collect()
            }
            ExprKind::Unary { op, operand } if op.is_step() => {
                target(root(tree, *operand), How::Step)
                    .into_iter()
                    .collect()
            }
            ExprKind::Call { callee, args } => match tree.callee_name(*callee) {
                Some(name) => self.call(tree, name, args),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn call<'t>(&self, tree: &'t Tree, name: &str, args: &[ExprId]) -> Vec<Target<'t>> {
        if capi::writes(name).is_some_and(|row| row.place(0)) {
            let place = args.first().and_then(|&arg| root(tree, arg));
            return target(place, How::Replace).into_iter().collect();
        }
        let written = args.iter().enumerate().filter(|(at, _)| {
            written_outside(tree, name, args, *at) || self.0.contains(&(name.into(), *at))
        });
        written
            .filter_map(|(_, &arg)| target(handed(tree, arg), How::Handed(name.into())))
            .collect()
    }
}

fn target(place: Option<(&Name, Path)>, how: How) -> Option<Target<'_>> {
    let (name, path) = place?;
    Some(Target { name, path, how })
}

/// The pointer parameters that a function writes through: `*p = …`, `p[i] = …`, `p->f = …`.
fn written_params(function: &Function) -> impl Iterator<Item = usize> {
    let tree = &function.tree;
    let mut locals: BTreeSet<LocalId> = BTreeSet::new();
    for expr in &tree.exprs {
        let place = match &expr.kind {
            ExprKind::Assign { lhs, .. } => *lhs,
            ExprKind::Unary { op, operand } if op.is_step() => *operand,
            _ => continue,
        };
        locals.extend(pointer_behind(tree, place));
    }
    let params = function.params.iter().enumerate();
    params.filter_map(move |(at, param)| locals.contains(param).then_some(at))
}

/// The local that `place` is reached through.
fn pointer_behind(tree: &Tree, place: ExprId) -> Option<LocalId> {
    let base = match &tree.expr(place).kind {
        ExprKind::Index { base, .. }
        | ExprKind::Member {
            base, arrow: true, ..
        }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand: base,
        } => *base,
        ExprKind::Member { base, .. } => return pointer_behind(tree, *base),
        _ => return None,
    };
    pointer(tree, base)
}

fn pointer(tree: &Tree, expr: ExprId) -> Option<LocalId> {
    match &tree.expr(expr).kind {
        ExprKind::Name(Name::Local(local)) => Some(*local),
        // `*p++ = c`
        ExprKind::Unary { op, operand } if op.is_step() => pointer(tree, *operand),
        _ => None,
    }
}

/// Whether a function of C or of the C API writes through argument `at`; not so the type that a
/// format asks for with `O!`.
fn written_outside(tree: &Tree, name: &str, args: &[ExprId], at: usize) -> bool {
    let format = |at: usize| tree.as_string(*args.get(at)?);
    let is_written = match capi::writes(name) {
        Some(row) => row.behind(at),
        // `PyType_Ready(&Type)`
        None => {
            let acts = capi::acts(name).filter(|_| capi::effects(name).is_some());
            acts.is_some_and(|acts| acts.changes_only(at))
        }
    };
    is_written && !capi::reads_unit(name, at, format)
}
