//! Whether what a function makes of the size of a dict has to do with the loop over it.
//!
//! ```c
//! copy = new_presized(PyDict_Size(d));                /* grows when it must */
//! while (PyDict_Next(d, &pos, &k, &v))
//!     PyDict_SetItem(copy, k, v);
//!
//! names = malloc(PyDict_Size(d) * sizeof(*names));    /* has room for so many */
//! while (PyDict_Next(d, &pos, &k, &v))
//!     names[i++] = k;
//! ```

use std::collections::BTreeSet;

use crate::ast::{
    BinaryOp, ExprId, ExprKind, Init, LocalId, StmtId, StmtKind, Tree, TypeKind, UnaryOp,
};
use crate::capi::{self, Returns};
use crate::cfg::reaches;

use super::fills::fills_nothing;
use super::scope::{Scope, inside};
use super::site::Site;
use super::size::size_call;

/// Whether the function is right whatever the call `size` of a function like `PyDict_Size` gave for
/// the dict of `site`: nothing that it makes of it has places that items are counted into. Where it
/// asks how large the size is, the loop may fill nothing at all, and must be behind.
pub(super) fn bounds_nothing(scope: &Scope<'_>, site: &Site, size: ExprId) -> bool {
    let sizes = Sizes::new(scope, size);
    let ids = || scope.tree().expr_ids();
    if sizes.leaves() || ids().any(|id| sizes.is_counted_by(id)) {
        return false;
    }
    let mut asked = ids().filter(|&id| sizes.is_asked(id, site)).peekable();
    asked.peek().is_none()
        || fills_nothing(scope, site) && asked.all(|id| is_ahead(scope, id, site))
}

/// Whether the loop of `site` counts its items into what was made of the numbers that another loop
/// over the same dict, the statement `other`, has counted.
///
/// ```c
/// while (PyDict_Next(d, &pos, &k, NULL))
///     length += PyBytes_GET_SIZE(k);
/// text = malloc(length);
/// pos = 0;
/// while (PyDict_Next(d, &pos, &k, NULL)) {
///     memcpy(text, PyBytes_AS_STRING(k), PyBytes_GET_SIZE(k));
///     text += PyBytes_GET_SIZE(k);
/// }
/// ```
pub(super) fn fills_what_was_counted(scope: &Scope<'_>, site: &Site, other: StmtId) -> bool {
    let (range, counting) = (site.turn(scope), scope.range(other));
    // What counts both is a size of its own where something is made of it between the loops.
    let is_made_of = |local: LocalId| {
        let mut ids = scope.tree().expr_ids();
        ids.any(|id| match &scope.expr(id).kind {
            ExprKind::Call { args, .. } => {
                let at = scope.expr(id).range;
                let is_between = counting.end <= at.start && at.end <= range.start;
                is_between && args.iter().any(|&arg| scope.mentions(arg, local))
            }
            _ => false,
        })
    };
    let is_count = |local: &LocalId| {
        scope.tree().local(*local).ty.is_number()
            && scope.is_written(*local, counting, None)
            && (!scope.is_written(*local, range, None) || is_made_of(*local))
    };
    let locals = (0..).map(LocalId).take(scope.tree().locals.len());
    let mut sizes = Sizes {
        scope,
        calls: BTreeSet::new(),
        locals: locals.filter(is_count).collect(),
    };
    sizes.close();
    let mut ids = scope.tree().expr_ids();
    ids.any(|id| inside(scope.expr(id).range, range) && sizes.is_counted_by(id))
}

/// What depends on the size of a dict.
struct Sizes<'s, 'a> {
    scope: &'s Scope<'a>,
    /// The call that gives it, and those of other sizes that it is compared with.
    calls: BTreeSet<ExprId>,
    /// Variables that depend on it.
    locals: BTreeSet<LocalId>,
}

impl<'s, 'a> Sizes<'s, 'a> {
    fn new(scope: &'s Scope<'a>, size: ExprId) -> Self {
        let mut sizes = Self {
            scope,
            calls: BTreeSet::from([size]),
            locals: BTreeSet::new(),
        };
        sizes.close();
        sizes
    }

    /// Adds what depends on what is known to.
    fn close(&mut self) {
        let tree = self.scope.tree();
        loop {
            let before = (self.calls.len(), self.locals.len());
            let given = tree.stores().filter(|&(_, value)| self.depends(value));
            let given: Vec<LocalId> = given.map(|(local, _)| local).collect();
            self.locals.extend(given);
            for expr in &tree.exprs {
                self.spread(&expr.kind);
            }
            if before == (self.calls.len(), self.locals.len()) {
                return;
            }
        }
    }

    /// Adds the sizes that one of these is compared with, `PyDict_Size(a) != PyDict_Size(b)`, and
    /// containers that get what depends on it.
    fn spread(&mut self, kind: &ExprKind) {
        let scope = self.scope;
        match kind {
            ExprKind::Binary { op, lhs, rhs }
                if op.is_comparison() && (self.depends(*lhs) || self.depends(*rhs)) =>
            {
                self.calls.extend(size_of(scope, *lhs));
                self.calls.extend(size_of(scope, *rhs));
            }
            ExprKind::Call { callee, args } => {
                let name = scope.tree().callee_name(*callee);
                if let Some((first, others)) = args.split_first()
                    && name.is_none_or(stores)
                    && others.iter().any(|&arg| self.depends(arg))
                {
                    let named = (0..).map(LocalId).take(scope.tree().locals.len());
                    let named = named.filter(|&local| scope.mentions(*first, local));
                    self.locals.extend(named);
                }
            }
            _ => {}
        }
    }

    /// Whether `expr` mentions the size or a variable that depends on it.
    fn depends(&self, expr: ExprId) -> bool {
        let range = self.scope.expr(expr).range;
        let is_in = |call: &ExprId| inside(self.scope.expr(*call).range, range);
        let is_named = |local: &LocalId| self.scope.mentions(expr, *local);
        self.calls.iter().any(is_in) || self.locals.iter().any(is_named)
    }

    /// Whether an expression may count items with what depends on the size, or puts that where
    /// it is not followed.
    fn is_counted_by(&self, id: ExprId) -> bool {
        let scope = self.scope;
        match &scope.expr(id).kind {
            ExprKind::Assign { lhs, rhs, .. } => {
                scope.local(*lhs).is_none() && (self.depends(*lhs) || self.depends(*rhs))
            }
            ExprKind::Unary { op, operand } => !is_value(*op) && self.depends(*operand),
            ExprKind::Index { base, index } => self.depends(*base) || self.depends(*index),
            ExprKind::Member { base, .. } => self.depends(*base),
            ExprKind::Compound { .. } | ExprKind::VaArg { .. } => self.depends(id),
            ExprKind::Call { callee, args } => {
                let name = scope.tree().callee_name(*callee);
                args.iter().any(|&arg| self.depends(arg))
                    && !name.is_some_and(|name| {
                        // A loop over a dict made of it counts nothing.
                        name == "PyDict_Next" || self.is_whole(name, args)
                    })
            }
            _ => false,
        }
    }

    /// Whether a call makes an object of the size, or has to do with one as a whole: it gets no
    /// number that changes.
    fn is_whole(&self, name: &str, args: &[ExprId]) -> bool {
        let scope = self.scope;
        let counts = |local: LocalId| {
            let is_pointer = scope.tree().local(local).ty.pointee().is_some();
            !is_pointer
                && args.iter().any(|&arg| scope.mentions(arg, local))
                && only_value(scope, local).is_none()
        };
        let mut numbers = args.iter().filter(|&&arg| !is_pointer(scope, arg));
        let gets_size = numbers.any(|&arg| self.depends(arg));
        let mut locals = (0..).map(LocalId).take(scope.tree().locals.len());
        match capi::effects(name).map(|effects| effects.returns) {
            Some(Returns::New | Returns::Null) => !locals.any(counts),
            // `PyList_GET_ITEM(list, n - 1)`
            Some(_) => !gets_size && !locals.any(counts),
            None => name == "__builtin_expect" || is_plain_helper(scope, name),
        }
    }

    /// Whether what depends on the size leaves the function as a number, or by a list of values, or
    /// may be the length of an array.
    fn leaves(&self) -> bool {
        let tree = self.scope.tree();
        let is_returned = tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::Return(Some(value)) => {
                self.scope.function.ret.pointee().is_none() && self.depends(value)
            }
            StmtKind::Switch { value, .. } => self.depends(value),
            _ => false,
        });
        let is_listed =
            tree.declarations().any(|decl| {
                let is_array = matches!(tree.local(decl.local).ty.kind, TypeKind::Array(_, None));
                match &decl.init {
                    Some(Init::Expr(_)) => false,
                    Some(Init::List(_)) => tree.exprs.iter().zip(0u32..).any(|(expr, id)| {
                        inside(expr.range, decl.range) && self.depends(ExprId(id))
                    }),
                    None => is_array,
                }
            });
        is_returned || is_listed
    }

    /// Whether an expression decides by how large the size is.
    fn is_asked(&self, id: ExprId, site: &Site) -> bool {
        match self.scope.expr(id).kind {
            ExprKind::Binary { op, lhs, rhs } if op.is_comparison() => {
                (self.depends(lhs) || self.depends(rhs))
                    && !self.is_harmless(op, lhs, rhs)
                    && !(op == BinaryOp::Equals && self.keeps_from(id, site))
            }
            _ => self.is_condition(id) && self.depends(id) && !self.is_truth(id),
        }
    }

    /// Whether a comparison says nothing of how large the size is: with 0 or less, with another
    /// size, of a pointer.
    fn is_harmless(&self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> bool {
        let scope = self.scope;
        let is_size = |side| size_of(scope, side).is_some();
        let is_equality = matches!(op, BinaryOp::Equals | BinaryOp::NotEquals);
        is_size(lhs) && (is_size(rhs) || is_zero(scope, rhs))
            || is_size(rhs) && is_zero(scope, lhs)
            || is_equality && (is_pointer(scope, lhs) || is_pointer(scope, rhs))
    }

    /// Whether the truth of an expression says nothing of how large the size is, or its parts are
    /// asked themselves.
    fn is_truth(&self, id: ExprId) -> bool {
        let scope = self.scope;
        let bare = scope.uncast(id);
        match &scope.expr(bare).kind {
            ExprKind::Binary { op, .. } => {
                op.is_comparison() || matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
            }
            ExprKind::Unary { op, .. } => *op == UnaryOp::Not,
            ExprKind::Call { callee, .. } => {
                let name = scope.tree().callee_name(*callee);
                name.is_some_and(|name| name == "__builtin_expect" || capi::effects(name).is_some())
            }
            _ => size_of(scope, bare).is_some() || is_pointer(scope, bare),
        }
    }

    /// Whether the truth of the expression `id` decides something.
    fn is_condition(&self, id: ExprId) -> bool {
        let tree = self.scope.tree();
        let by_stmt = tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::If { cond, .. }
            | StmtKind::While { cond, .. }
            | StmtKind::DoWhile { cond, .. } => cond == id,
            StmtKind::For { cond, .. } => cond == Some(id),
            _ => false,
        });
        by_stmt
            || tree.exprs.iter().any(|expr| match &expr.kind {
                ExprKind::Binary {
                    op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                    lhs,
                    rhs,
                } => *lhs == id || *rhs == id,
                ExprKind::Unary {
                    op: UnaryOp::Not,
                    operand,
                } => *operand == id,
                ExprKind::Conditional { cond, .. } => *cond == id,
                ExprKind::Call { callee, args } => {
                    tree.callee_name(*callee) == Some("__builtin_expect") && args.contains(&id)
                }
                _ => false,
            })
    }

    /// Whether the loop is not reached where the condition `id` holds: `if (n == 1) { …; return 0; }`.
    fn keeps_from(&self, id: ExprId, site: &Site) -> bool {
        let scope = self.scope;
        let Some(call) = scope.cfg.call(site.call) else {
            return false;
        };
        scope.tree().stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::If { cond, then, .. } if scope.uncast(cond) == id => {
                let then = scope.cfg.before(then);
                then.is_some_and(|then| !reaches(&scope.cfg, then, call, &[]))
            }
            _ => false,
        })
    }
}

/// Whether a call may put one of its arguments into the first.
fn stores(name: &str) -> bool {
    const WORDS: [&str; 6] = ["Set", "SET", "Append", "Add", "Insert", "Update"];
    capi::effects(name).is_none() || WORDS.iter().any(|word| name.contains(word))
}

/// Whether the expression `id` is evaluated before the loop, or in it, and not behind it.
fn is_ahead(scope: &Scope<'_>, id: ExprId, site: &Site) -> bool {
    if inside(scope.expr(id).range, site.turn(scope)) {
        return true;
    }
    let point = scope.stmt_of(id).and_then(|stmt| scope.cfg.before(stmt));
    let behind = scope.cfg.after(site.iteration);
    point.is_some_and(|point| behind.is_none_or(|behind| !reaches(&scope.cfg, behind, point, &[])))
}

/// The call of a function like `PyDict_Size` that `expr` is, or whose result the variable `expr`
/// holds and nothing else.
pub(super) fn size_of(scope: &Scope<'_>, expr: ExprId) -> Option<ExprId> {
    let tree = scope.tree();
    let is_size = |call: ExprId| size_call(tree, &scope.expr(call).kind).is_some();
    let bare = scope.uncast(expr);
    if is_size(bare) {
        return Some(bare);
    }
    let value = scope.uncast(only_value(scope, scope.local(bare)?)?);
    is_size(value).then_some(value)
}

/// What the variable gets, if it gets nothing else all through the function.
fn only_value(scope: &Scope<'_>, local: LocalId) -> Option<ExprId> {
    let tree = scope.tree();
    let steps = |kind: &ExprKind| match kind {
        ExprKind::Unary { op, operand } => !is_value(*op) && scope.local(*operand) == Some(local),
        ExprKind::Assign { op, lhs, .. } => op.is_some() && scope.local(*lhs) == Some(local),
        _ => false,
    };
    let mut given = tree.stores().filter(|(to, _)| *to == local);
    let (_, value) = given.next()?;
    let is_only = given.next().is_none() && !tree.exprs.iter().any(|expr| steps(&expr.kind));
    is_only.then_some(value)
}

/// A pointer, or the assignment of one.
fn is_pointer(scope: &Scope<'_>, expr: ExprId) -> bool {
    let bare = scope.uncast(expr);
    let local = match scope.expr(bare).kind {
        ExprKind::Assign { lhs, .. } => scope.local(lhs),
        _ => scope.local(bare),
    };
    local.is_some_and(|local| scope.tree().local(local).ty.pointee().is_some())
}

/// 0 or less.
fn is_zero(scope: &Scope<'_>, expr: ExprId) -> bool {
    match scope.expr(scope.uncast(expr)).kind {
        ExprKind::Int(value) => value == Some(0),
        // `-1`
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => matches!(scope.expr(operand).kind, ExprKind::Int(_)),
        _ => false,
    }
}

/// Operators that only compute.
fn is_value(op: UnaryOp) -> bool {
    matches!(
        op,
        UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Complement | UnaryOp::Not
    )
}

/// Whether the functions of this name only call the C API, and set nothing but their variables.
fn is_plain_helper(scope: &Scope<'_>, name: &str) -> bool {
    let mut functions = scope.cx.definitions(name).peekable();
    functions.peek().is_some() && functions.all(|(_, function)| is_plain(&function.tree))
}

fn is_plain(tree: &Tree) -> bool {
    let is_local = |expr: ExprId| tree.as_local(expr).is_some();
    tree.exprs.iter().all(|expr| match &expr.kind {
        ExprKind::Assign { lhs, .. } => is_local(*lhs),
        ExprKind::Unary { op, operand } => {
            is_value(*op) || is_local(*operand) && *op != UnaryOp::AddressOf
        }
        ExprKind::Call { callee, .. } => {
            let name = tree.callee_name(*callee);
            name.is_some_and(|name| capi::effects(name).is_some())
        }
        _ => true,
    })
}
