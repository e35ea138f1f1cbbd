//! What the destructors of a package change that outlives the object.
//!
//! ```c
//! static void dealloc(Cursor *self)
//! {
//!     n_open--;                                 /* a static variable */
//!     self->connection->busy--;                 /* a count in another object */
//!     pool[n_free++] = self;
//! }
//! ```

use std::collections::BTreeSet;

use super::PackageCx;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree};

/// The variables and fields, by name.
#[derive(Debug, Default)]
pub(super) struct Destroyed {
    globals: BTreeSet<Box<str>>,
    fields: BTreeSet<Box<str>>,
}

impl Destroyed {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let mut found = Self::default();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&Function> = destructors(cx).collect();
        while let Some(function) = open.pop() {
            if seen.insert(&function.name) {
                found.add(function);
                let called = function.tree.calls();
                open.extend(called.flat_map(|(_, name)| cx.definitions(name).map(|(_, it)| it)));
            }
        }
        found
    }

    /// Whether a function reads one of them.
    pub(super) fn is_read_in(&self, tree: &Tree) -> bool {
        if self.globals.is_empty() && self.fields.is_empty() {
            return false;
        }
        let written: BTreeSet<ExprId> = tree
            .expr_ids()
            .filter_map(|expr| tree.changed(expr))
            .flat_map(|place| way(tree, place))
            .collect();
        let is_one = |expr: ExprId| match &tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => self.globals.contains(name),
            ExprKind::Member { field, .. } => self.fields.contains(field),
            _ => false,
        };
        let mut exprs = tree.expr_ids();
        exprs.any(|expr| !written.contains(&expr) && is_one(expr))
    }

    /// Adds what a function changes, but for the object that it gets.
    fn add(&mut self, function: &Function) {
        let tree = &function.tree;
        let own = own(function);
        let changed = tree.expr_ids().filter_map(|expr| {
            let sets = matches!(tree.expr(expr).kind, ExprKind::Assign { op: None, .. });
            Some((tree.changed(expr)?, !sets))
        });
        for (place, counts) in changed {
            let mut way = way(tree, place).into_iter().rev();
            let Some(root) = way.next() else { continue };
            match &tree.expr(root).kind {
                ExprKind::Name(Name::Global(name)) => {
                    self.globals.insert(name.clone());
                }
                ExprKind::Name(Name::Local(local)) => {
                    let is_own = own.contains(local);
                    let field = |expr: ExprId| match &tree.expr(expr).kind {
                        ExprKind::Member { field, .. } => Some(field.clone()),
                        _ => None,
                    };
                    // `self->busy` dies, `self->connection->busy` and `connection->busy` do not.
                    let fields = way.filter_map(field);
                    let left = fields.skip(usize::from(is_own)).last();
                    self.fields.extend(left.filter(|_| counts));
                }
                _ => {}
            }
        }
    }
}

/// The functions that Python calls on an object that dies.
fn destructors<'a>(cx: &'a PackageCx<'a>) -> impl Iterator<Item = &'a Function> {
    let functions = cx.program.functions();
    let is_one = |item, function| {
        let mut roles = cx.roles().into_iter().flat_map(|it| it.of(item, function));
        roles.any(|role| role.may_meet_exception())
    };
    functions.filter_map(move |(item, function)| is_one(item, function).then_some(function))
}

/// The first parameter, and the variables that hold the same.
fn own(function: &Function) -> BTreeSet<LocalId> {
    let tree = &function.tree;
    let mut own: BTreeSet<LocalId> = function.params.first().copied().into_iter().collect();
    for (local, value) in tree.stores() {
        let given = tree.as_local(tree.without_casts(value));
        if given.is_some_and(|given| own.contains(&given)) {
            own.insert(local);
        }
    }
    own
}

/// The expressions from `place` to what it begins with: `p->a[i]`, `p->a`, `p`.
fn way(tree: &Tree, place: ExprId) -> Vec<ExprId> {
    let mut way = vec![place];
    let mut at = place;
    loop {
        at = match tree.expr(at).kind {
            ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => base,
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => operand,
            _ => return way,
        };
        way.push(at);
    }
}
