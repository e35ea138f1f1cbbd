//! The places of a function that write a variable.

use std::collections::BTreeSet;

use super::roots::{Path, handed, root};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};
use crate::capi::reads_unit;
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

    /// The places that the expression `id` writes, whatever they are part of.
    pub(super) fn places(&self, tree: &Tree, id: ExprId) -> Vec<ExprId> {
        match &tree.expr(id).kind {
            ExprKind::Assign { lhs, .. } => vec![*lhs],
            ExprKind::Unary { op, operand } if op.is_step() => vec![*operand],
            ExprKind::Call { callee, args } => {
                let Some(name) = tree.callee_name(*callee) else {
                    return Vec::new();
                };
                let is_written = |at: usize, arg: ExprId| {
                    matches!(name, "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF") && at == 0
                        || written_by_library(tree, name, args, at)
                        // What a pointer in a field points at is another object's.
                        || is_address(tree, arg) && self.0.contains(&(name.into(), at))
                };
                let args = args.iter().copied().enumerate();
                args.filter(|(at, arg)| is_written(*at, *arg))
                    .map(|(_, arg)| arg)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn call<'t>(&self, tree: &'t Tree, name: &str, args: &[ExprId]) -> Vec<Target<'t>> {
        if matches!(name, "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF") {
            let place = args.first().and_then(|&arg| root(tree, arg));
            return target(place, How::Replace).into_iter().collect();
        }
        let written = args.iter().enumerate().filter(|(at, _)| {
            written_by_library(tree, name, args, *at) || self.0.contains(&(name.into(), *at))
        });
        written
            .filter_map(|(_, &arg)| target(handed(tree, arg), How::Handed(name.into())))
            .collect()
    }
}

fn is_address(tree: &Tree, arg: ExprId) -> bool {
    match &tree.expr(arg).kind {
        ExprKind::Unary { op, .. } => *op == UnaryOp::AddressOf,
        ExprKind::Cast { operand, .. } => is_address(tree, *operand),
        _ => false,
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
fn written_by_library(tree: &Tree, name: &str, args: &[ExprId], at: usize) -> bool {
    let format = |at: usize| tree.as_string(*args.get(at)?);
    let is_written = match name {
        "memcpy" | "memmove" | "memset" | "strcpy" | "strncpy" | "strcat" | "strncat"
        | "sprintf" | "snprintf" | "vsprintf" | "vsnprintf" | "PyOS_snprintf"
        | "PyOS_vsnprintf" | "strftime" | "fgets" | "fread" | "gethostname" | "getcwd"
        | "gettimeofday" | "time" | "PyType_Ready" => at == 0,
        "read" | "recv" | "clock_gettime" | "localtime_r" | "gmtime_r" => at == 1,
        "sscanf" | "fscanf" | "PyArg_ParseTuple" | "PyArg_Parse" => at >= 2,
        "PyArg_ParseTupleAndKeywords" | "PyArg_UnpackTuple" => at >= 4,
        _ => false,
    };
    is_written && !reads_unit(name, at, format)
}
