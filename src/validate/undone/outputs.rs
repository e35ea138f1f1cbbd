//! What a function sets through its arguments, and whether its callers had set that before.

use super::super::original::Original;
use super::acts::is_constant;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, StmtKind, Tree, UnaryOp};
use crate::capi::words_of;
use crate::program::{Body, CallSite};

/// How many functions an argument is followed through.
const MAX_DEPTH: usize = 3;

/// The arguments of a function.
#[derive(Clone, Copy)]
pub(super) struct Outputs<'a> {
    original: &'a Original<'a>,
    function: &'a Function,
    depth: usize,
}

/// Something that a parameter points at.
#[derive(Clone, Copy)]
pub(super) struct Output {
    pub(super) param: LocalId,
    /// Whether it is a part of a struct, as in `out->count`, or the struct.
    pub(super) is_part: bool,
}

impl<'a> Outputs<'a> {
    pub(super) fn new(original: &'a Original<'a>, function: &'a Function) -> Self {
        Self {
            original,
            function,
            depth: MAX_DEPTH,
        }
    }

    /// What an expression sets to `NULL` or another constant: `*out = NULL`, `out->count = 0`,
    /// `memset(out, 0, sizeof(*out))`, `init(out)`.
    pub(super) fn cleared(self, expr: ExprId) -> Vec<Output> {
        let tree = &self.function.tree;
        match &tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } if is_constant(tree, *rhs) => {
                self.output(*lhs).into_iter().collect()
            }
            ExprKind::Call { args, .. } => match (tree.called(expr), &args[..]) {
                (Some("memset"), &[memory, value, _]) if is_constant(tree, value) => {
                    let output = self.pointed(memory);
                    output.into_iter().map(Output::as_part).collect()
                }
                (Some(name), args) if self.depth > 0 => self.cleared_by(name, args),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// What a function of the package surely clears of what it gets.
    fn cleared_by(self, name: &str, args: &[ExprId]) -> Vec<Output> {
        let own = self.original.program.functions_named(name);
        let cleared = own.flat_map(|(_, function)| {
            let inner = Self {
                function,
                depth: self.depth - 1,
                ..self
            };
            let body = match &function.tree.stmt(function.body).kind {
                StmtKind::Block(stmts) => &stmts[..],
                _ => &[],
            };
            let steps = body
                .iter()
                .filter_map(|&stmt| match function.tree.stmt(stmt).kind {
                    StmtKind::Expr(expr) => Some(expr),
                    _ => None,
                });
            let cleared = steps.flat_map(move |expr| inner.cleared(expr));
            cleared.filter_map(move |output| {
                let at = function.params.iter().position(|&it| it == output.param)?;
                let given = self.pointed(*args.get(at)?)?;
                Some(Output {
                    is_part: given.is_part || output.is_part,
                    ..given
                })
            })
        });
        cleared.collect()
    }

    /// The part of an argument that a place is.
    pub(super) fn output(self, place: ExprId) -> Option<Output> {
        match self.function.tree.expr(place).kind {
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.pointed(operand),
            ExprKind::Index { base, .. } => self.pointed(base),
            ExprKind::Member { base, arrow, .. } => {
                let output = if arrow {
                    self.pointed(base)
                } else {
                    self.output(base)
                };
                output.map(Output::as_part)
            }
            _ => None,
        }
    }

    /// What a pointer points at, where it is a parameter or a variable that names one.
    pub(super) fn pointed(self, pointer: ExprId) -> Option<Output> {
        let tree = &self.function.tree;
        let pointer = tree.without_casts(pointer);
        match tree.expr(pointer).kind {
            ExprKind::Name(Name::Local(local)) => self.param(local).map(|param| Output {
                param,
                is_part: false,
            }),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.output(operand),
            _ => None,
        }
    }

    fn param(self, local: LocalId) -> Option<LocalId> {
        let tree = &self.function.tree;
        if tree.local(local).is_param {
            return Some(local);
        }
        let mut given = tree.stores().filter(|(given, _)| *given == local);
        let (_, first) = given.next()?;
        let param = tree.as_local(tree.without_casts(first))?;
        let is_object = self.original.types.is_object_pointer(&tree.local(local).ty);
        let is_plain = tree.local(param).is_param && given.next().is_none() && !is_object;
        is_plain.then_some(param)
    }

    /// Whether some caller may give a struct that holds nothing yet. Objects always hold something,
    /// and so does what comes with a callback.
    pub(super) fn may_be_unset(self, param: LocalId) -> bool {
        let tree = &self.function.tree;
        let mut params = self.function.params.iter();
        let Some(at) = params.position(|&it| it == param) else {
            return false;
        };
        let calls = self.original.calls();
        let name = &self.function.name;
        let sites = calls.calls_to(name);
        let is_object = self.original.types.is_object_pointer(&tree.local(param).ty);
        match sites.is_empty() {
            _ if is_object => false,
            true => !calls.is_mentioned(name),
            false => sites.iter().any(|&site| self.gets_unset(site, at)),
        }
    }

    fn gets_unset(self, site: CallSite, at: usize) -> bool {
        let item = &self.original.program.items[site.item.0 as usize];
        let Some(Body::Function(caller)) = &item.body else {
            return false;
        };
        let tree = &caller.tree;
        let ExprKind::Call { args, .. } = &tree.expr(site.expr).kind else {
            return false;
        };
        let Some(arg) = args.get(at).map(|&arg| tree.without_casts(arg)) else {
            return false;
        };
        let Some(local) = tree.as_address(arg).or_else(|| tree.as_local(arg)) else {
            return false;
        };
        let variable = tree.local(local);
        let is_empty = match variable.is_param {
            true => {
                let outer = Self {
                    function: caller,
                    depth: self.depth.saturating_sub(1),
                    ..self
                };
                self.depth > 0 && outer.may_be_unset(local)
            }
            false => variable.is_automatic() && holds_nothing(tree, local, arg),
        };
        is_empty && !is_set_before(tree, local, site.expr)
    }
}

impl Output {
    fn as_part(self) -> Self {
        Self {
            is_part: true,
            ..self
        }
    }
}

/// Whether a variable, or what it points at, gets no value where it is made.
fn holds_nothing(tree: &Tree, local: LocalId, arg: ExprId) -> bool {
    let mut stores = tree.stores().filter(|(given, _)| *given == local);
    let is_raw = |value: ExprId| {
        let name = tree.called(tree.without_casts(value)).unwrap_or_default();
        name == "PyMem_New" || words_of(name).any(|word| word == "malloc")
    };
    match tree.as_address(arg) {
        Some(_) => !tree
            .declarations()
            .any(|it| it.local == local && it.init.is_some()),
        None => stores.any(|(_, value)| is_raw(value)),
    }
}

/// Whether a caller sets a part of a variable, or gives it to another function, before a call.
fn is_set_before(tree: &Tree, local: LocalId, call: ExprId) -> bool {
    let start = tree.expr(call).range.start;
    let names = |expr: ExprId| {
        let expr = tree.without_casts(expr);
        tree.as_local(expr) == Some(local) || tree.as_address(expr) == Some(local)
    };
    let mut before = tree
        .expr_ids()
        .filter(|&id| tree.expr(id).range.end <= start);
    before.any(|id| match &tree.expr(id).kind {
        ExprKind::Assign { lhs, .. } => match tree.expr(*lhs).kind {
            ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => names(base),
            ExprKind::Unary { operand, .. } => names(operand),
            _ => false,
        },
        ExprKind::Call { args, .. } => args.iter().any(|&arg| names(arg)),
        _ => false,
    })
}
