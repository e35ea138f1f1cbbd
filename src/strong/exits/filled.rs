//! Arrays and structs of a function that hold references at a call: an exit has to release them.
//!
//! ```c
//! for (i = 0; i < n; i++) {
//!     items[i] = PyTuple_GET_ITEM(args, i);
//!     Py_INCREF(items[i]);
//! }
//! first = PyList_GetItemRef(list, 0);       /* `return NULL` leaks what `items` holds */
//! ```

use super::branch::{is_same, stmts};
use super::made_exit::makers;
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind, TokenRange, TypeKind, UnaryOp};
use crate::capi::Returns;
use crate::cfg::{InstrKind, Place, Point, Source, reaches};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// A variable whose elements or fields, in memory of the function, hold references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) struct Filled(pub LocalId);

/// What holds references in front of the step at `point`.
pub(in crate::strong) fn filled(scene: &Scene<'_>, point: Point) -> Vec<Filled> {
    let mut found = Vec::new();
    for store in exprs(scene) {
        let Some(root) = stored_into(scene, store) else {
            continue;
        };
        let reaches_call = || {
            let after = stored_at(scene, store)?;
            let ends = released_at(scene, root, store, point);
            reaches(scene.cfg, after, point, &ends).then_some(())
        };
        if !found.contains(&Filled(root))
            && is_counted(scene, store, root)
            && reaches_call().is_some()
        {
            found.push(Filled(root));
        }
    }
    found
}

impl Filled {
    /// Whether the code from `label` on releases what is held at `point`: a jump that the function
    /// has leads there with the same elements filled.
    pub(in crate::strong) fn is_released_at(
        self,
        scene: &Scene<'_>,
        point: Point,
        label: StmtId,
    ) -> bool {
        let (cfg, StmtKind::Label { name, .. }) = (scene.cfg, &scene.tree.stmt(label).kind) else {
            return false;
        };
        let Some(start) = cfg.before(label) else {
            return false;
        };
        let released: Vec<ExprId> = releases(scene, self.0).collect();
        let mut releases = released.iter().filter_map(|&call| cfg.call(call));
        // Elements that are not filled yet do not matter: `Py_XDECREF(NULL)`.
        let is_whole = is_zeroed(scene, self.0, point)
            && released
                .iter()
                .all(|&call| matches!(scene.call(call), Some(("Py_XDECREF" | "Py_CLEAR", _))));
        let changes: Vec<Point> = self.changes(scene, start, is_whole).collect();
        let jumps = stmts(scene).filter(
            |&stmt| matches!(&scene.tree.stmt(stmt).kind, StmtKind::Goto(to) if to == name),
        );
        let mut jumps = jumps.filter_map(|jump| cfg.before(jump));
        releases.any(|release| reaches(cfg, start, release, &[]))
            && jumps.any(|jump| {
                let mut changes_between = changes.iter();
                reaches(cfg, point, jump, &changes)
                    || changes_between.all(|&change| !reaches(cfg, change, point, &[jump]))
            })
    }

    /// Whether `stmt` releases an element.
    pub(in crate::strong) fn is_released_by(self, scene: &Scene<'_>, stmt: StmtId) -> bool {
        elements_released(scene, self.0).any(|call| scene.stmt_of(call) == Some(stmt))
    }

    /// The steps that fill another element, if it matters which are, or change a number that the code
    /// from `label` on goes by.
    fn changes(
        self,
        scene: &Scene<'_>,
        label: Point,
        is_whole: bool,
    ) -> impl Iterator<Item = Point> {
        let matters = move |place: &Place| match place.as_local() {
            Some(local) if is_number(&scene.tree.local(local).ty) => {
                scene.liveness.is_live(local, label)
            }
            Some(local) => local == self.0,
            None => false,
        };
        let fills = move |source: Source| match source {
            Source::Expr(store) => !is_whole && stored_into(scene, store) == Some(self.0),
            Source::Stmt(_) => false,
        };
        points(scene).filter_map(move |(point, kind, source)| match kind {
            InstrKind::Store { place, .. } if matters(place) || fills(source) => Some(point),
            _ => None,
        })
    }
}

/// Whether `store` fills memory of the function with a reference that is released element by element.
pub(super) fn is_followed(scene: &Scene<'_>, store: ExprId) -> bool {
    stored_into(scene, store).is_some_and(|root| is_counted(scene, store, root))
}

/// The variable in whose memory `store` puts a pointer.
fn stored_into(scene: &Scene<'_>, store: ExprId) -> Option<LocalId> {
    let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(store).kind else {
        return None;
    };
    in_own_memory(scene, lhs).filter(|_| !scene.is_null(rhs))
}

/// The variable of the function in whose memory `place` is an element or a field.
pub(super) fn in_own_memory(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    root(scene, place).filter(|&root| is_own_memory(scene, root))
}

/// `items` in `items[i]`, `*items++`, `items->first` and `items.first`.
fn root(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    let base = match scene.tree.expr(place).kind {
        ExprKind::Index { base, .. } | ExprKind::Member { base, .. } => base,
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => match scene.tree.expr(operand).kind {
            ExprKind::Unary { operand, .. } => operand,
            ExprKind::Binary { lhs, .. } => lhs,
            _ => operand,
        },
        _ => return None,
    };
    let base = scene.tree.without_casts(base);
    scene.as_local(base).or_else(|| root(scene, base))
}

/// Whether the variable is an array or struct of the function, or points at one or at memory that
/// is no object.
fn is_own_memory(scene: &Scene<'_>, local: LocalId) -> bool {
    let variable = scene.tree.local(local);
    if variable.is_param {
        return false;
    }
    if variable.ty.pointee().is_none() || matches!(variable.ty.kind, TypeKind::Array(..)) {
        return true;
    }
    let values = makers(scene, local).into_iter();
    let mut values = values.map(|value| scene.tree.without_casts(value));
    values.any(|value| match scene.call(value) {
        Some((name, _)) => allocates(name),
        None => scene
            .as_local(value)
            .is_some_and(|array| matches!(scene.tree.local(array).ty.kind, TypeKind::Array(..))),
    })
}

/// Whether a function gives plain memory: what it holds is not released with it.
pub(super) fn allocates(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let of_object = name.starts_with("pyobject_gc") || name.contains("genericalloc");
    !of_object && (name.contains("alloc") || name.starts_with("pymem_new"))
}

/// Whether the reference that `store` puts into the memory of `root` is one of its own.
fn is_counted(scene: &Scene<'_>, store: ExprId, root: LocalId) -> bool {
    let ExprKind::Assign { lhs, rhs, .. } = scene.tree.expr(store).kind else {
        return false;
    };
    let value = scene.tree.without_casts(rhs);
    let is_made = scene.call(value).is_some_and(|(name, _)| {
        matches!(name, "Py_NewRef" | "Py_XNewRef")
            || scene.cx.summaries().returns(name) == Some(Returns::New)
    });
    let is_taken = || {
        exprs(scene).any(|call| match scene.call(call) {
            Some(("Py_INCREF" | "Py_XINCREF" | "Py_IncRef", [arg])) => {
                let arg = scene.tree.without_casts(*arg);
                is_same(scene, arg, value) || is_same(scene, arg, lhs)
            }
            _ => false,
        })
    };
    is_made || is_taken() || elements_released(scene, root).next().is_some()
}

/// Whether the memory of `root` is set to 0 on every path from where it is made to `point`.
fn is_zeroed(scene: &Scene<'_>, root: LocalId, point: Point) -> bool {
    let clears = |call: ExprId| match scene.call(call) {
        Some(("memset", [memory, value, _])) => {
            scene.as_local(scene.tree.without_casts(*memory)) == Some(root) && scene.is_null(*value)
        }
        _ => false,
    };
    let cleared = exprs(scene).filter(|&call| clears(call));
    let cleared: Vec<Point> = cleared.filter_map(|call| scene.cfg.call(call)).collect();
    let mut made = makers(scene, root).into_iter().peekable();
    made.peek().is_some()
        && made.all(|value| {
            let made = scene.cfg.call(scene.tree.without_casts(value));
            made.is_some_and(|made| !reaches(scene.cfg, made, point, &cleared))
        })
}

/// The calls that release an element of `root`.
fn elements_released<'s>(scene: &'s Scene<'_>, of: LocalId) -> impl Iterator<Item = ExprId> + 's {
    exprs(scene).filter(move |&call| match scene.call(call) {
        Some(("Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_DecRef", [arg])) => {
            let arg = scene.tree.without_casts(*arg);
            let element = |value| root(scene, scene.tree.without_casts(value)) == Some(of);
            // `item = items[i]; Py_DECREF(item);`
            let held = scene.as_local(arg);
            let mut stores = scene.tree.stores();
            element(arg) || stores.any(|(local, value)| Some(local) == held && element(value))
        }
        _ => false,
    })
}

/// The calls that may release what `of` holds: one of an element, or a function of the package
/// that is given all.
fn releases<'s>(scene: &'s Scene<'_>, of: LocalId) -> impl Iterator<Item = ExprId> + 's {
    let own = exprs(scene).filter(move |&call| {
        scene.call(call).is_some_and(|(name, args)| {
            let is_own = scene.cx.definitions(name).next().is_some();
            let mut args = args.iter().map(|&arg| scene.tree.without_casts(arg));
            is_own && super::held::frees(name) && args.any(|arg| scene.as_local(arg) == Some(of))
        })
    });
    elements_released(scene, of).chain(own)
}

/// The points from which on nothing of `store` is held in `root` any more: in front of the loops
/// that release it.
fn released_at(scene: &Scene<'_>, root: LocalId, store: ExprId, point: Point) -> Vec<Point> {
    let holds_store = |range: TokenRange| range.contains(scene.tree.expr(store).range);
    let mut loops = loops_without(scene, point);
    loops.retain(|&stmt| !holds_store(scene.tree.stmt(stmt).range));
    let start = |call: ExprId| start_of(scene, &loops, call).or_else(|| scene.cfg.call(call));
    releases(scene, root).filter_map(start).collect()
}

/// The loops of the function that do not hold the step at `point`.
pub(super) fn loops_without(scene: &Scene<'_>, point: Point) -> Vec<StmtId> {
    let holds_point = |stmt: StmtId| {
        let ends = (scene.cfg.before(stmt), scene.cfg.after(stmt));
        matches!(ends, (Some(start), Some(end)) if reaches(scene.cfg, start, point, &[end]))
    };
    let loops = stmts(scene).filter(|&stmt| scene.tree.stmt(stmt).kind.is_loop());
    loops.filter(|&stmt| !holds_point(stmt)).collect()
}

/// In front of the outermost of `loops` around an expression.
pub(super) fn start_of(scene: &Scene<'_>, loops: &[StmtId], expr: ExprId) -> Option<Point> {
    let range = scene.tree.expr(expr).range;
    let around = loops.iter().copied();
    let around = around.filter(|&stmt| scene.tree.stmt(stmt).range.contains(range));
    scene
        .cfg
        .before(around.min_by_key(|&stmt| scene.tree.stmt(stmt).range.start)?)
}

/// The point behind the step of an assignment.
fn stored_at(scene: &Scene<'_>, store: ExprId) -> Option<Point> {
    scene.cfg.store(store).map(Point::next)
}

/// All steps of the function, each with the point behind it.
fn points<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = (Point, &'s InstrKind, Source)> + 's {
    let steps = scene.cfg.steps();
    steps.map(|(point, instr)| (point.next(), &instr.kind, instr.source))
}

fn exprs<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = ExprId> + 's {
    scene.tree.expr_ids()
}
