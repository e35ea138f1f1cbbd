//! Memory that moved, and that the function has yet to tell others of: an exit does that as well.
//!
//! ```c
//! self->data = PyMem_RawRealloc(self->data, n * sizeof(double));
//! item = PyList_GetItemRef(list, i);           /* an exit here tells the stream, too */
//! if (item == NULL)
//!     …
//! stream_set_data(self->stream, self->data);   /* which has the old memory up to here */
//! ```

use super::branch::{is_same, stmts};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, StmtId, StmtKind};
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;

/// The statements that tell others, on all ways from `point`, of memory that moved before.
pub(super) fn untold(scene: &Scene<'_>, point: Point) -> Vec<StmtId> {
    let is_due = |&stmt: &StmtId| {
        let (StmtKind::Expr(call), Some(at)) =
            (&scene.tree.stmt(stmt).kind, scene.cfg.before(stmt))
        else {
            return false;
        };
        let mut ends = scene.cfg.returns();
        let told = told(scene, *call);
        told.is_some_and(|memory| {
            has_moved(scene, memory, point, *call) && is_settled(scene, *call, memory)
        }) && !ends.any(|end| reaches(scene.cfg, point, end, &[at]))
    };
    stmts(scene).filter(is_due).collect()
}

/// The field that `call` passes to a function of the package which only stores what it gets.
fn told(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let (name, args) = scene.call(call)?;
    let mut definitions = scene.cx.definitions(name).peekable();
    let is_field = |arg: ExprId| {
        matches!(
            scene.tree.expr(arg).kind,
            ExprKind::Member { arrow: true, .. }
        )
    };
    definitions.peek()?;
    let only_stores = definitions.all(|(_, function)| only_stores(function));
    // stream_set_data(self->stream, self->data);
    match args {
        &[_, memory] if only_stores && is_field(memory) => Some(memory),
        _ => None,
    }
}

/// Whether a function does nothing but to set fields of its first argument to its others.
fn only_stores(function: &Function) -> bool {
    let tree = &function.tree;
    let param = |expr: ExprId| {
        let local = tree.as_local(tree.without_casts(expr))?;
        function.params.iter().position(|&param| param == local)
    };
    let sets = |expr: ExprId| match tree.expr(expr).kind {
        ExprKind::Assign { op: None, lhs, rhs } => match tree.expr(lhs).kind {
            ExprKind::Member { base, .. } => param(base) == Some(0) && param(rhs) > Some(0),
            _ => false,
        },
        _ => false,
    };
    match &tree.stmt(function.body).kind {
        StmtKind::Block(stmts) => {
            let mut stmts = stmts.iter();
            stmts.all(|&stmt| matches!(tree.stmt(stmt).kind, StmtKind::Expr(expr) if sets(expr)))
        }
        _ => false,
    }
}

/// Whether `memory` may have moved by `point`, and nobody was told by such a call since.
fn has_moved(scene: &Scene<'_>, memory: ExprId, point: Point, tell: ExprId) -> bool {
    let calls = |like: ExprId| {
        let same = scene
            .tree
            .expr_ids()
            .filter(move |&it| is_same(scene, it, like));
        same.filter_map(|call| scene.cfg.call(call))
    };
    let told: Vec<Point> = calls(tell).collect();
    let moving = scene.tree.expr_ids().filter(|&expr| {
        let Some((name, [first, ..])) = scene.call(expr) else {
            return false;
        };
        moves(name) && is_same(scene, scene.tree.without_casts(*first), memory)
    });
    let mut moving = moving.filter_map(|call| scene.cfg.call(call));
    moving.any(|moved| reaches(scene.cfg, moved.next(), point, &told))
}

/// Whether a function frees memory, or gives it another place.
fn moves(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["realloc", "resize", "free"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether nothing in `call` changes on the way: parameters and the variable of `memory` that are
/// never set again, and their fields.
fn is_settled(scene: &Scene<'_>, call: ExprId, memory: ExprId) -> bool {
    let local = |expr: ExprId| match scene.tree.expr(expr).kind {
        ExprKind::Name(Name::Local(local)) => Some(local),
        _ => None,
    };
    let parts = |expr: ExprId| scene.tree.exprs_in(scene.tree.expr(expr).range);
    let own: Vec<LocalId> = parts(memory).filter_map(|(expr, _)| local(expr)).collect();
    let is_kept = |local: LocalId| {
        let is_param = scene.tree.local(local).is_param;
        let stores = scene.tree.stores().filter(|(given, _)| *given == local);
        let is_set_once = stores.count() == usize::from(!is_param);
        let is_known = is_param || own.contains(&local);
        is_known && is_set_once && !scene.cfg.address_taken().contains(&local)
    };
    parts(call).all(|(expr, part)| match part.kind {
        ExprKind::Name(Name::Local(local)) => is_kept(local),
        ExprKind::Call { .. } => expr == call,
        ExprKind::Member { .. } | ExprKind::Cast { .. } | ExprKind::Name(_) => true,
        _ => false,
    })
}
