//! What parameters hold where the function begins: some functions release what their callers pass.
//!
//! Only a release of the object that came in tells so. A parameter may get another one first:
//!
//! ```c
//! item = PyDict_GetItem(dict, key);        /* here `args` is the caller's */
//! args = Py_BuildValue("O", key);
//! if (args != NULL) {
//!     PyErr_SetObject(PyExc_KeyError, args);
//!     Py_DECREF(args);                     /* this is the new one */
//! }
//! ```

use super::held::frees;
use super::made_exit::uses;
use super::state::{Contents, LENT, NULL, OTHER, OWNED};
use crate::ast::{ExprId, ExprKind, LocalId, Parent, UnaryOp};
use crate::capi::{self, Counts};
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;

/// What `param` holds where the function begins.
pub(super) fn on_entry(scene: &Scene<'_>, param: LocalId) -> Contents {
    let own = OwnObject::of(scene, param);
    match own.start {
        None => OTHER | LENT,
        Some(start) if own.may_be_replaced(start) => OWNED | OTHER,
        Some(_) if own.releases.iter().any(|it| !it.takes_null) => OWNED,
        Some(_) => OWNED | NULL,
    }
}

/// Whether each path through the function releases what the caller gave away with a parameter: some
/// functions take it over only where they succeed.
pub(super) fn is_always_consumed(scene: &Scene<'_>, param: LocalId) -> bool {
    let own = OwnObject::of(scene, param);
    let releases = own.released_at();
    let mut ends = scene.cfg.returns();
    let start = own.start.filter(|_| scene.tree.local(param).is_param);
    start.is_some_and(|start| !ends.any(|end| reaches(scene.cfg, start, end, &releases)))
}

/// What becomes of the object that a parameter has where the function begins.
struct OwnObject<'s, 'a> {
    scene: &'s Scene<'a>,
    /// Where the function begins, if it releases the object on some path.
    start: Option<Point>,
    releases: Vec<Release>,
    /// Where the parameter gets another object, or a reference of its own to this one.
    changes: Vec<Point>,
}

/// Where an object is released by the name of its variable.
struct Release {
    at: Point,
    takes_null: bool,
}

impl<'s, 'a> OwnObject<'s, 'a> {
    fn of(scene: &'s Scene<'a>, param: LocalId) -> Self {
        let mut releases = Vec::new();
        let mut changes = Vec::new();
        for name in uses(scene, param) {
            match use_of(scene, name) {
                Use::Release(release) => releases.push(release),
                Use::Change(at) => changes.push(at),
                Use::Other => {}
            }
        }
        let start = scene.cfg.before(scene.function.body);
        let reached = |at| start.is_some_and(|start| reaches(scene.cfg, start, at, &changes));
        releases.retain(|release: &Release| reached(release.at));
        Self {
            scene,
            start: start.filter(|_| !releases.is_empty()),
            releases,
            changes,
        }
    }

    fn released_at(&self) -> Vec<Point> {
        self.releases.iter().map(|release| release.at).collect()
    }

    /// Whether the parameter may get another object while the function still has the one that came
    /// in: then a flag may tell whose it is.
    fn may_be_replaced(&self, start: Point) -> bool {
        let releases = self.released_at();
        let mut changes = self.changes.iter();
        changes.any(|&change| reaches(self.scene.cfg, start, change, &releases))
    }
}

/// What a place that names a parameter does with it.
enum Use {
    Release(Release),
    Change(Point),
    Other,
}

fn use_of(scene: &Scene<'_>, name: ExprId) -> Use {
    let (named, is_address) = whole(scene, name);
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(named) else {
        return Use::Other;
    };
    if scene.tree.changed(outer) == Some(named) {
        return scene.cfg.store(outer).map_or(Use::Other, Use::Change);
    }
    let (Some((called, args)), Some(at)) = (scene.call(outer), scene.cfg.call(outer)) else {
        return Use::Other;
    };
    let takes_null = match capi::counts(called).filter(|_| args.first() == Some(&named)) {
        Some(Counts::Take) => return Use::Change(at),
        Some(Counts::Release { null }) => null,
        Some(Counts::Clear | Counts::Replace) => true,
        None if frees(called) && args.len() == 1 => false,
        _ if is_address => return Use::Change(at),
        _ => return Use::Other,
    };
    Use::Release(Release { at, takes_null })
}

/// The expression that is `name` but for casts, and whether it is its address.
fn whole(scene: &Scene<'_>, name: ExprId) -> (ExprId, bool) {
    let (mut named, mut is_address) = (name, false);
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(named) {
        match scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } => {}
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                ..
            } => is_address = true,
            _ => break,
        }
        named = outer;
    }
    (named, is_address)
}
