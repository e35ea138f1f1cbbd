//! What was true of an object that others have, and may no longer be when it is used.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Why;
use super::body::Body;
use super::guards::Path;
use super::value::Kinds;
use crate::ast::{BinaryOp, ExprId, ExprKind, Parent, Parents, StmtKind, Tree, UnaryOp};
use crate::capi::{self, Returns};

/// What a function asks of one container.
#[derive(Debug, Default)]
struct Looks {
    /// Its size.
    sizes: Vec<ExprId>,
    /// Whether there is anything in it.
    any: Vec<ExprId>,
    copies: Vec<ExprId>,
}

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
        let mut looks: BTreeMap<Path, Looks> = BTreeMap::new();
        for (call, name) in tree.calls() {
            let (is_size, is_copy) = (capi::asks_size(name), capi::copies(name));
            let container = tree.call(call).and_then(|(_, args)| args.first().copied());
            let container = container.filter(|_| is_size || is_copy);
            let Some(path) = container.and_then(|it| self.shared_path(it)) else {
                continue;
            };
            let looks = looks.entry(path).or_default();
            match is_copy {
                true => looks.copies.push(call),
                false if is_asked_for_any(tree, known.parents(), call) => looks.any.push(call),
                false => looks.sizes.push(call),
            }
        }
        for Looks { sizes, any, copies } in looks.into_values() {
            let is_trusted = |&copy: &ExprId| is_read_unmeasured(tree, known.parents(), copy);
            let any = any.into_iter().filter(|_| copies.iter().any(is_trusted));
            let with_copies = sizes.into_iter().filter(|_| !copies.is_empty());
            let all = with_copies.chain(any).chain(copies.iter().copied().skip(1));
            for at in all.collect::<Vec<_>>() {
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

/// Whether an item of a copy is read, and nothing asks whether there is one.
///
/// ```c
/// if (PyDict_Size(d) == 0) Py_RETURN_NONE;
/// keys = PyDict_Keys(d);                    /* may be empty by now */
/// first = PyList_GET_ITEM(keys, 0);
/// ```
fn is_read_unmeasured(tree: &Tree, parents: &Parents, copy: ExprId) -> bool {
    let mut stores = tree.stores();
    let stored = stores.find(|&(_, value)| tree.without_casts(value) == copy);
    let Some((local, _)) = stored else {
        return false;
    };
    let of_it = tree.calls().filter(|&(call, _)| {
        let first = tree.call(call).and_then(|(_, args)| args.first());
        first.is_some_and(|&arg| tree.as_local(tree.without_casts(arg)) == Some(local))
    });
    let (mut is_read, mut is_measured) = (false, false);
    for (call, name) in of_it {
        is_measured |= capi::measures(name);
        is_read |= gives_item(tree, call) && !is_tested(tree, parents, call);
    }
    is_read && !is_measured
}

/// Whether a call gives an item by its index, without a reference.
fn gives_item(tree: &Tree, call: ExprId) -> bool {
    tree.call(call).is_some_and(|(name, args)| {
        let effects = capi::effects(name).filter(|_| args.len() == 2);
        effects.is_some_and(|it| it.returns == Returns::Borrowed && it.derived_from == Some(0))
    })
}

/// Whether something asks whether a call gave anything: `item = …; if (item == NULL)`.
fn is_tested(tree: &Tree, parents: &Parents, call: ExprId) -> bool {
    let is_it = |value: ExprId| tree.without_casts(value) == call;
    let mut stores = tree.stores();
    let local = stores.find(|&(_, value)| is_it(value)).map(|(to, _)| to);
    let is_result = |at: ExprId| match tree.expr(at).kind {
        ExprKind::Assign { rhs, .. } => is_it(rhs),
        _ => local.is_some() && tree.as_local(at) == local,
    };
    let mut results = tree.expr_ids().filter(|&at| at == call || is_result(at));
    results.any(|at| is_asked_for_any(tree, parents, at))
}
