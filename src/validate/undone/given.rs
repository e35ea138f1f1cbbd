//! What a function puts where its caller finds it, and has to be released.
//!
//! ```c
//! *fd = open(path, O_RDONLY);
//! out->map = Py_NewRef(map);
//! if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0)
//!     return -1;
//! ```

use super::super::original::Original;
use super::acts::is_outside;
use super::memory::allocates;
use super::outputs::Outputs;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, StmtKind, Tree, Type, UnaryOp};
use crate::capi::{self, Counts, OutKind, Returns};

/// How many functions an argument is followed through.
const MAX_DEPTH: usize = 3;

/// What a function gives its caller.
#[derive(Clone, Copy)]
pub(super) struct Giving<'a> {
    original: &'a Original<'a>,
    function: &'a Function,
    outputs: Outputs<'a>,
    depth: usize,
}

/// Something that is given to the caller.
pub(super) struct Given {
    /// What gives it: an assignment, or a call.
    pub(super) by: ExprId,
    /// Where it is, or the pointer to there: `*out` in `*out = v`, `out` in `fill(out)`.
    pub(super) place: ExprId,
    /// The variable that holds it as well.
    pub(super) other: Option<LocalId>,
}

impl<'a> Giving<'a> {
    pub(super) fn new(original: &'a Original<'a>, function: &'a Function) -> Self {
        Self {
            original,
            function,
            outputs: Outputs::new(original, function),
            depth: MAX_DEPTH,
        }
    }

    /// What an expression gives.
    pub(super) fn given(self, expr: ExprId) -> Vec<Given> {
        let tree = &self.function.tree;
        match &tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, rhs }
                if self.is_outer(*lhs) && self.is_owned(*rhs, *lhs) =>
            {
                vec![Given {
                    by: expr,
                    place: *lhs,
                    other: tree.as_local(tree.without_casts(*rhs)),
                }]
            }
            ExprKind::Call { args, .. } => {
                let filled = (0..).zip(args).filter(|&(at, &arg)| {
                    self.leads_outside(arg) && self.fills(expr, at, tree.without_casts(arg))
                });
                let given = filled.map(|(_, &arg)| Given {
                    by: expr,
                    place: pointed(tree, arg),
                    other: None,
                });
                given.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a place is the caller's, or is a variable of the package. What an object holds is
    /// released with it, but for the elements of what it points at.
    fn is_outer(self, place: ExprId) -> bool {
        let tree = &self.function.tree;
        let is_element = match tree.expr(place).kind {
            ExprKind::Index { base, .. } => is_outside(tree, base),
            _ => false,
        };
        let given = self.outputs.output(place);
        let is_given = given.is_some_and(|output| !self.is_object(output.param));
        is_element || is_given || global(tree, place).is_some()
    }

    fn is_object(self, param: LocalId) -> bool {
        let ty = &self.function.tree.local(param).ty;
        self.original.types.is_object_pointer(ty)
    }

    /// Whether a pointer leads to such a place.
    fn leads_outside(self, pointer: ExprId) -> bool {
        let tree = &self.function.tree;
        let pointer = tree.without_casts(pointer);
        match tree.expr(pointer).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.is_outer(operand),
            _ => {
                let given = self.outputs.pointed(pointer);
                given.is_some_and(|output| !self.is_object(output.param))
            }
        }
    }

    /// Whether a call stores something to be released where its argument `at` points.
    fn fills(self, call: ExprId, at: usize, arg: ExprId) -> bool {
        let Some(name) = self.function.tree.called(call) else {
            return false;
        };
        if let Some(effects) = capi::effects(name) {
            let out = effects.out(at);
            return matches!(
                out,
                Some(OutKind::New | OutKind::Inout | OutKind::Buffer | OutKind::Memory)
            );
        }
        let mut own = self.original.program.functions_named(name).peekable();
        if own.peek().is_some() {
            return self.depth > 0 && own.any(|(_, function)| self.inner(function).gives_by(at));
        }
        capi::is_unknown(name) && self.is_pointer_to_pointer(arg)
    }

    fn inner(self, function: &'a Function) -> Self {
        Self {
            depth: self.depth - 1,
            ..Self::new(self.original, function)
        }
    }

    /// Whether the function gives something by its argument `at`.
    fn gives_by(self, at: usize) -> bool {
        let Some(&param) = self.function.params.get(at) else {
            return false;
        };
        let mut exprs = self.function.tree.expr_ids();
        exprs.any(|expr| {
            let mut given = self.given(expr).into_iter();
            given.any(|given| {
                let at = self.outputs.output(given.place);
                let at = at.or_else(|| self.outputs.pointed(given.place));
                at.is_some_and(|output| output.param == param)
            })
        })
    }

    fn is_pointer_to_pointer(self, arg: ExprId) -> bool {
        let tree = &self.function.tree;
        let types = &self.original.types;
        let is_pointer = |ty: &Type| ty.pointee().is_some();
        match tree.expr(arg).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => types.of(tree, operand).is_some_and(is_pointer),
            _ => {
                let ty = types.of(tree, arg);
                let inner = ty.and_then(Type::pointee);
                inner.is_some_and(is_pointer)
            }
        }
    }

    /// Whether a value that goes to `place` is to be released: a call made it, or it is counted.
    fn is_owned(self, value: ExprId, place: ExprId) -> bool {
        let tree = &self.function.tree;
        let value = tree.without_casts(value);
        match tree.expr(value).kind {
            ExprKind::Assign { op: None, rhs, .. } => self.is_owned(rhs, place),
            ExprKind::Conditional {
                then: Some(then),
                otherwise,
                ..
            } => self.is_owned(then, place) || self.is_owned(otherwise, place),
            ExprKind::Call { .. } => self.makes(value, place) || self.is_counted(place),
            ExprKind::Name(Name::Local(local)) => {
                self.gets_owned(local, place) || self.is_counted(value) || self.is_counted(place)
            }
            _ => !tree.is_null(value) && (self.is_counted(value) || self.is_counted(place)),
        }
    }

    /// Whether a variable gets what a call makes.
    fn gets_owned(self, local: LocalId, place: ExprId) -> bool {
        let tree = &self.function.tree;
        let mut stores = tree.stores().filter(|(given, _)| *given == local);
        let is_made = stores.any(|(_, value)| self.makes(tree.without_casts(value), place));
        let is_out = |call: ExprId| {
            let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                return false;
            };
            let effects = tree.called(call).and_then(capi::effects);
            let mut args = (0..).zip(args);
            args.any(|(at, &arg)| {
                let out = effects.and_then(|effects| effects.out(at));
                tree.as_address(arg) == Some(local)
                    && matches!(out, Some(OutKind::New | OutKind::Memory))
            })
        };
        is_made || tree.expr_ids().any(is_out)
    }

    /// Whether the function takes a reference to what it has there: `Py_INCREF(out->map);`.
    fn is_counted(self, place: ExprId) -> bool {
        let tree = &self.function.tree;
        let mut calls = tree.expr_ids().filter_map(|expr| tree.call(expr));
        calls.any(|(name, args)| {
            capi::counts(name) == Some(Counts::Take)
                && args.first().is_some_and(|&arg| {
                    is_same(tree, tree.without_casts(arg), tree.without_casts(place))
                })
        })
    }

    /// Whether a call gives what has to be released, as far as is known.
    fn makes(self, call: ExprId, place: ExprId) -> bool {
        let tree = &self.function.tree;
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return false;
        };
        // `out->text = realloc(out->text, size)`
        let is_other = |&arg: &ExprId| !is_same(tree, tree.without_casts(arg), place);
        if !args.iter().all(is_other) {
            return false;
        }
        let ty = self.original.types.of(tree, place);
        let is_number = ty.is_some_and(|ty| self.original.types.is_number(ty));
        let may_open = !is_number || self.is_tested(place);
        let Some(name) = tree.called(call) else {
            return may_open;
        };
        if let Some(effects) = capi::effects(name) {
            let memory = allocates(name) || name.to_ascii_lowercase().contains("lloc");
            return effects.returns == Returns::New || memory;
        }
        let mut own = self.original.program.functions_named(name).peekable();
        if own.peek().is_some() {
            return own.any(|(_, function)| match is_number {
                true => may_open && self.depth > 0 && self.inner(function).returns_unknown(),
                false => self.original.callees.returns(name) != Some(Returns::Borrowed),
            });
        }
        allocates(name)
            || name.to_ascii_lowercase().contains("dup")
            || capi::is_unknown(name) && may_open
    }

    /// Whether the function asks whether what is there is what tells of a failure:
    /// `if (*fd < 0)`.
    fn is_tested(self, place: ExprId) -> bool {
        let tree = &self.function.tree;
        let mut conds = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
            StmtKind::If { cond, .. } => Some(cond),
            _ => None,
        });
        conds.any(|cond| {
            let mut parts = tree.exprs_in(tree.expr(cond).range);
            parts.any(|(part, _)| is_same(tree, part, place))
        })
    }

    /// Whether the function returns the number that one gives of which nothing is known.
    fn returns_unknown(self) -> bool {
        let tree = &self.function.tree;
        let is_unknown = |value: ExprId| {
            let called = tree.called(tree.without_casts(value));
            called.is_some_and(|name| {
                let mut own = self.original.program.functions_named(name);
                capi::is_unknown(name) && own.next().is_none()
            })
        };
        tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::Return(Some(value)) => {
                let local = tree.as_local(tree.without_casts(value));
                let mut stores = tree.stores();
                is_unknown(value)
                    || stores.any(|(given, value)| Some(given) == local && is_unknown(value))
            }
            _ => false,
        })
    }
}

/// An argument without casts and `&`.
pub(super) fn pointed(tree: &Tree, arg: ExprId) -> ExprId {
    let arg = tree.without_casts(arg);
    match tree.expr(arg).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => operand,
        _ => arg,
    }
}

/// The variable of the package whose value, or field, a place is.
pub(super) fn global(tree: &Tree, place: ExprId) -> Option<&str> {
    match &tree.expr(place).kind {
        ExprKind::Name(Name::Global(name)) => Some(name),
        ExprKind::Member {
            base, arrow: false, ..
        } => global(tree, *base),
        _ => None,
    }
}

/// Whether two expressions are the same place, or elements of the same array.
pub(super) fn is_same(tree: &Tree, one: ExprId, other: ExprId) -> bool {
    is_same_in((tree, one), (tree, other))
}

/// The same for two functions.
pub(super) fn is_same_in(one: (&Tree, ExprId), other: (&Tree, ExprId)) -> bool {
    let inner = |one_inner, other_inner| is_same_in((one.0, one_inner), (other.0, other_inner));
    match (&one.0.expr(one.1).kind, &other.0.expr(other.1).kind) {
        (ExprKind::Name(one), ExprKind::Name(other)) => one == other,
        (
            &ExprKind::Member {
                base, ref field, ..
            },
            &ExprKind::Member {
                base: other_base,
                field: ref other_field,
                ..
            },
        ) => field == other_field && inner(base, other_base),
        (&ExprKind::Index { base, .. }, &ExprKind::Index { base: other, .. }) => inner(base, other),
        (
            &ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            },
            &ExprKind::Unary {
                op: UnaryOp::Deref,
                operand: other,
            },
        ) => inner(operand, other),
        (&ExprKind::Cast { operand, .. }, _) => is_same_in((one.0, operand), other),
        (_, &ExprKind::Cast { operand, .. }) => is_same_in(one, (other.0, operand)),
        _ => false,
    }
}
