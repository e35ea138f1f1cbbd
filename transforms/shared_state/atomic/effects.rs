//! What functions that set the variable do beside, and others may see.

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, LocalId, Name, StmtKind, Tree, TypeKind, UnaryOp};
use crate::capi::{Acts, acts};
use crate::program::ItemId;
use crate::rule::PackageCx;
use crate::state::{Path, Variable, root};

/// How many calls deep functions of the package are followed.
const MAX_DEPTH: u32 = 3;

/// What `setters` do beside setting the `known` variables: places that are written, and calls.
pub(super) fn beside(
    cx: &PackageCx<'_>,
    known: &[&Variable],
    setters: &BTreeSet<ItemId>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for &item in setters {
        let mut search = Search {
            cx,
            known,
            setters,
            seen: BTreeSet::new(),
        };
        found.extend(search.first(item, MAX_DEPTH));
    }
    found
}

struct Search<'s, 'a> {
    cx: &'s PackageCx<'a>,
    known: &'s [&'s Variable],
    setters: &'s BTreeSet<ItemId>,
    seen: BTreeSet<ItemId>,
}

impl Search<'_, '_> {
    /// The first thing that others may see, where it stands.
    fn first(&mut self, item: ItemId, depth: u32) -> Option<String> {
        if !self.seen.insert(item) {
            return None;
        }
        let function = self.cx.function(item)?;
        let tree = &function.tree;
        let is_assembly = |kind: &StmtKind| matches!(kind, StmtKind::Asm);
        if tree.stmts.iter().any(|stmt| is_assembly(&stmt.kind)) {
            return Some(format!("assembly in `{}`", function.name));
        }
        let seen = tree
            .expr_ids()
            .find(|&expr| self.is_seen(tree, expr, depth))?;
        let text = self.cx.place(item, seen).map(|place| {
            let (file, span) = place.written_at();
            self.cx.file(file).text(span).into_owned()
        });
        let text = text.unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        Some(format!("`{line}` in `{}`", function.name))
    }

    fn is_seen(&mut self, tree: &Tree, expr: ExprId, depth: u32) -> bool {
        match &tree.expr(expr).kind {
            ExprKind::Assign { lhs, .. } => !self.is_own(tree, *lhs),
            ExprKind::Unary { op, operand } if op.is_step() => !self.is_own(tree, *operand),
            ExprKind::Call { callee, args } => match tree.callee_name(*callee) {
                Some(name) => self.call_is_seen(tree, name, args, depth),
                None => true,
            },
            _ => false,
        }
    }

    /// Whether a place is a known variable, or one of this call of the function.
    fn is_own(&self, tree: &Tree, place: ExprId) -> bool {
        let is_known = |name: &str| self.known.iter().any(|it| it.name == name);
        match root(tree, place) {
            Some((Name::Local(local), path)) => {
                is_of_call(tree, *local, path) || is_known(&tree.local(*local).name)
            }
            Some((Name::Global(name), _)) => is_known(name),
            None => false,
        }
    }

    fn call_is_seen(&mut self, tree: &Tree, name: &str, args: &[ExprId], depth: u32) -> bool {
        let known: Vec<ItemId> = self.cx.definitions(name).map(|(id, _)| id).collect();
        let lends = |arg: &ExprId| self.lends(tree, *arg);
        if !known.is_empty() {
            return depth == 0
                || args.iter().any(lends)
                || known
                    .iter()
                    .any(|&it| !self.setters.contains(&it) && self.first(it, depth - 1).is_some());
        }
        let is_of_call = |arg: ExprId| match &tree.expr(tree.without_casts(arg)).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.is_own(tree, *operand),
            ExprKind::Name(Name::Local(local)) => is_of_call(tree, *local, Path::Element),
            _ => false,
        };
        let act = acts(name).unwrap_or_default();
        let changes = |at: usize| act.changes(at) && !is_of_call(args[at]);
        act == Acts::UNKNOWN
            || act.elsewhere
            || act.opens && !act.gives_memory
            || (0..args.len()).any(changes)
            || args.iter().any(lends)
    }

    /// Whether an argument is the address of a variable of the package that others see.
    fn lends(&self, tree: &Tree, arg: ExprId) -> bool {
        let ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } = &tree.expr(tree.without_casts(arg)).kind
        else {
            return false;
        };
        match root(tree, *operand) {
            Some((Name::Local(local), path)) => !is_of_call(tree, *local, path),
            Some((Name::Global(name), _)) => {
                let types = self.cx.types();
                let ty = types.of(tree, *operand);
                let is_type = ty.is_some_and(|ty| ty.name() == Some("PyTypeObject"));
                types.is_variable(name) && !is_type && !ty.is_some_and(|ty| ty.is_const)
            }
            None => true,
        }
    }
}

/// Whether (a part of) a local variable is of one call, and nobody else's.
fn is_of_call(tree: &Tree, local: LocalId, path: Path) -> bool {
    let local = tree.local(local);
    local.is_automatic()
        && (path != Path::Element
            || matches!(local.ty.kind, TypeKind::Array(..)) && !local.is_param)
}
