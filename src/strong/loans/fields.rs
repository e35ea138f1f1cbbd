//! The fields of a caller's struct that a function fills.

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, LocalId, Name, Tree, UnaryOp};
use crate::cfg::{Place, Point, Projection, Source, reaches};
use crate::rule::{ItemId, PackageCx};
use crate::strong::follow::web::{Given, definitions};
use crate::strong::scene::Scene;

/// Fields that a function sets through one of its parameters: `filter->tag = v;`.
#[derive(Debug)]
pub(in crate::strong) struct Fields {
    /// Which parameter it is.
    pub param: usize,
    /// Those that get an object, in the order in which they do.
    pub names: Vec<Box<str>>,
    /// The type of the struct.
    owner: String,
    stores: Vec<Store>,
}

#[derive(Debug)]
struct Store {
    field: Box<str>,
    /// `None` for `NULL`.
    value: Option<LocalId>,
    at: Point,
}

impl Fields {
    /// The only struct that the function fills, if all that it does with the address is that.
    pub(super) fn of(scene: &Scene<'_>) -> Option<Self> {
        let params = scene.function.params.iter().enumerate();
        let mut found = params.filter_map(|(param, &local)| Self::through(scene, param, local));
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }

    fn through(scene: &Scene<'_>, param: usize, local: LocalId) -> Option<Self> {
        let tree = scene.tree;
        let is_field = |expr: ExprId| match &tree.expr(expr).kind {
            ExprKind::Member {
                base,
                field,
                arrow: true,
            } if tree.as_local(*base) == Some(local) => Some(field.clone()),
            _ => None,
        };
        let uses = tree
            .expr_ids()
            .filter(|&expr| tree.as_local(expr) == Some(local));
        let members = tree.expr_ids().filter(|&expr| is_field(expr).is_some());
        if uses.count() != members.count() {
            return None;
        }
        let mut stores = Vec::new();
        for expr in tree.expr_ids() {
            match tree.expr(expr).kind {
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } if is_field(operand).is_some() => return None,
                ExprKind::Assign { op, lhs, rhs } => {
                    let Some(field) = is_field(lhs) else {
                        continue;
                    };
                    let ty = scene.cx.types().of(tree, lhs)?;
                    if !ty.is_py_object_pointer() {
                        continue;
                    }
                    if op.is_some() {
                        return None;
                    }
                    let value = match scene.is_null(rhs) {
                        true => None,
                        false => Some(tree.as_local(rhs)?),
                    };
                    let at = scene.cfg.store(expr)?;
                    stores.push(Store { field, value, at });
                }
                _ => {}
            }
        }
        let owner = scene.cx.types().key(tree.local(local).ty.pointee()?)?;
        let mut names: Vec<Box<str>> = Vec::new();
        for store in stores.iter().filter(|store| store.value.is_some()) {
            if !names.contains(&store.field) {
                names.push(store.field.clone());
            }
        }
        let fields = Self {
            param,
            names,
            owner,
            stores,
        };
        (!fields.names.is_empty() && fields.are_set_once(scene)).then_some(fields)
    }

    /// Whether no field that has an object gets another value.
    fn are_set_once(&self, scene: &Scene<'_>) -> bool {
        let leads = |from: &Store, to: &Store| {
            from.field == to.field && reaches(scene.cfg, from.at.next(), to.at, &[])
        };
        let mut set = self.stores.iter().filter(|store| store.value.is_some());
        set.all(|from| !self.stores.iter().any(|to| leads(from, to)))
    }

    /// Whether a place is one of the fields.
    pub(in crate::strong) fn contains(
        &self,
        scene: &Scene<'_>,
        place: &Place,
        source: Source,
    ) -> bool {
        let Source::Expr(assignment) = source else {
            return false;
        };
        let ExprKind::Assign { lhs, .. } = scene.tree.expr(assignment).kind else {
            return false;
        };
        let param = scene.function.params.get(self.param);
        let base = match scene.tree.expr(lhs).kind {
            ExprKind::Member {
                base, arrow: true, ..
            } => scene.as_local(base),
            _ => None,
        };
        base.as_ref() == param
            && matches!(&place.path[..], [Projection::Field(field)] if self.names.contains(field))
    }

    /// Whether each of them gets nothing but what the lookups `calls` give.
    pub(super) fn come_from(&self, scene: &Scene<'_>, calls: &BTreeSet<ExprId>) -> bool {
        let mut values = self.stores.iter().filter_map(|store| store.value);
        values.all(|local| {
            let defs = definitions(scene, local, calls);
            let mut given = defs.iter().map(|(_, given)| given);
            given.all(|given| matches!(given, Given::Lookup(_) | Given::Null))
        })
    }

    /// Whether other code of the package sets the fields, counts what they hold, takes their
    /// address, or overwrites the struct as a whole.
    pub(super) fn are_touched_elsewhere(&self, cx: &PackageCx<'_>, item: ItemId) -> bool {
        let mut functions = cx.program.functions();
        let is_gap = self.names.iter().any(|name| cx.is_named_unread(name));
        let here = cx.item(item).place;
        is_gap
            || functions.any(|(other, function)| {
                let tree = &function.tree;
                let is_here = other.place == here;
                tree.expr_ids()
                    .any(|expr| self.is_touched(cx, tree, expr, is_here))
            })
    }

    fn is_touched(&self, cx: &PackageCx<'_>, tree: &Tree, expr: ExprId, is_here: bool) -> bool {
        let is_field = |expr: ExprId| match &tree.expr(tree.without_casts(expr)).kind {
            ExprKind::Member { base, field, arrow } => {
                let owner = cx.types().owner(tree, *base, *arrow);
                self.names.contains(field) && owner.is_none_or(|owner| owner == self.owner)
            }
            _ => false,
        };
        match &tree.expr(expr).kind {
            ExprKind::Assign { lhs, .. } => {
                !is_here && is_field(*lhs) || self.is_whole(cx, tree, *lhs)
            }
            ExprKind::Unary { op, operand } => *op != UnaryOp::Not && is_field(*operand),
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee).unwrap_or_default();
                let counts =
                    name.starts_with("Py_") || name.starts_with("Py") && name.contains("Set");
                counts && args.iter().any(|&arg| is_field(arg))
            }
            _ => false,
        }
    }

    /// Whether an assignment to `lhs` sets all of such a struct that is not a variable of its own:
    /// a copy in one is only looked at.
    fn is_whole(&self, cx: &PackageCx<'_>, tree: &Tree, lhs: ExprId) -> bool {
        let key = cx.types().of(tree, lhs).and_then(|ty| cx.types().key(ty));
        let is_variable = matches!(tree.expr(lhs).kind, ExprKind::Name(Name::Local(_)));
        key.as_ref() == Some(&self.owner) && !is_variable
    }
}
