//! Variables that the function releases on some ways and leaves alone on others: something else than
//! the variable tells whether it owns what they hold.
//!
//! ```c
//! state = self->state;
//! if (state == NULL) {
//!     state = PyDict_New();
//!     own = 1;
//! }
//! item = PyList_GetItemRef(list, i);            /* an exit here has to ask as well */
//! …
//! if (own)
//!     Py_DECREF(state);
//! ```

use super::Exits;
use super::branch::Branch;
use super::held::frees;
use super::made_exit::{Fate, fate_of, uses};
use super::undone::pointed;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, StmtId, StmtKind, UnaryOp};
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;

impl Exits<'_, '_> {
    /// Whether `branch` asks what tells if the function owns the variables of which that is not
    /// clear: from there on one way releases them, and one does not.
    pub(super) fn asks_who_owns(&self, branch: &Branch) -> bool {
        let start = self.scene.cfg.before(branch.then);
        start.is_some_and(|start| {
            let mut uncertain = self.uncertain().iter();
            uncertain.all(|&local| {
                let ways = Ways::of(self.scene, local);
                ways.keeps(start) && ways.gives_up(start)
            })
        })
    }

    /// The variables of which the function may own what they hold at the call, and it depends on
    /// something else whether it does.
    pub(super) fn uncertain(&self) -> &[LocalId] {
        self.uncertain.get_or_init(|| {
            let scene = self.scene;
            let Some(point) = scene.cfg.call(self.call) else {
                return Vec::new();
            };
            let owned = self.state.owned().into_iter();
            let unknown = owned.filter(|owned| !owned.known).map(|owned| owned.local);
            unknown
                .filter(|&local| is_released(scene, local) && Ways::of(scene, local).keeps(point))
                .collect()
        })
    }
}

/// Whether the function releases a variable of its own by its name.
fn is_released(scene: &Scene<'_>, local: LocalId) -> bool {
    let is_it = |arg: &ExprId| scene.as_local(pointed(scene, *arg)) == Some(local);
    let mut calls = scene.tree.calls();
    !scene.tree.local(local).is_param
        && calls.any(|(call, name)| {
            let args = scene.call(call).map_or(&[][..], |(_, args)| args);
            (frees(name) || name == "Py_CLEAR") && args.iter().any(is_it)
        })
}

/// What becomes of a variable on the ways through a function.
struct Ways<'s, 'a> {
    scene: &'s Scene<'a>,
    /// Where its value is released or given away.
    given_up: Vec<Point>,
    /// Where it is known to be `NULL`.
    null: Vec<Point>,
    /// Where it gets another value, or a reference is taken to the one it has, which had none.
    set: Vec<Point>,
}

impl<'s, 'a> Ways<'s, 'a> {
    fn of(scene: &'s Scene<'a>, local: LocalId) -> Self {
        let given_up = uses(scene, local).filter(|&name| fate_of(scene, name) == Fate::GivenUp);
        let given_up = given_up.filter_map(|name| end_of(scene, name));
        let is_it = |place| scene.as_local(place) == Some(local);
        let set = scene
            .tree
            .expr_ids()
            .filter_map(|expr| match scene.call(expr) {
                Some(("Py_INCREF" | "Py_XINCREF", [arg])) if is_it(*arg) => scene.cfg.call(expr),
                _ if scene.tree.changed(expr).is_some_and(is_it) => scene.cfg.store(expr),
                _ => None,
            });
        let null = scene
            .tree
            .stmts
            .iter()
            .zip(0u32..)
            .filter_map(|(_, at)| null_way(scene, StmtId(at), local));
        Self {
            scene,
            given_up: given_up.collect(),
            null: null.collect(),
            set: set.collect(),
        }
    }

    /// Whether a way from `point` ends, or sets the variable or counts what it has, with its value
    /// not given up.
    fn keeps(&self, point: Point) -> bool {
        let cfg = self.scene.cfg;
        let done = [&*self.given_up, &*self.null].concat();
        let mut ends = cfg.returns().chain(self.set.iter().copied());
        ends.any(|end| reaches(cfg, point, end, &done))
    }

    /// Whether the value is given up on a way from `point`.
    fn gives_up(&self, point: Point) -> bool {
        let mut ends = self.given_up.iter();
        ends.any(|&end| reaches(self.scene.cfg, point, end, &[]))
    }
}

/// Where the value of a variable goes that is named here.
fn end_of(scene: &Scene<'_>, name: ExprId) -> Option<Point> {
    let mut at = name;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(at) {
        let point = match scene.tree.expr(outer).kind {
            ExprKind::Call { .. } => scene.cfg.call(outer),
            ExprKind::Assign { .. } => scene.cfg.store(outer),
            _ => None,
        };
        if point.is_some() {
            return point;
        }
        at = outer;
    }
    scene.cfg.before(scene.stmt_of(name)?)
}

/// Where `test` goes on with the variable known to be `NULL`; in front of the test, if only its
/// other branch is there, and gives the value up: `if (v) Py_DECREF(v);`.
fn null_way(scene: &Scene<'_>, test: StmtId, local: LocalId) -> Option<Point> {
    let StmtKind::If {
        cond,
        then,
        otherwise,
    } = scene.tree.stmt(test).kind
    else {
        return None;
    };
    if is_null_test(scene, cond, local)? {
        return scene.cfg.before(then);
    }
    match otherwise {
        Some(otherwise) => scene.cfg.before(otherwise),
        None => {
            let within = scene.tree.stmt(then).range;
            let mut names = uses(scene, local);
            let releases = names.any(|name| {
                within.contains(scene.tree.expr(name).range)
                    && fate_of(scene, name) == Fate::GivenUp
            });
            releases.then(|| scene.cfg.before(test))?
        }
    }
}

/// Whether a condition says that the variable is `NULL`, or that it is not; `None` if it asks for
/// something else.
fn is_null_test(scene: &Scene<'_>, cond: ExprId, local: LocalId) -> Option<bool> {
    let is_it = |expr: ExprId| scene.as_local(scene.tree.without_casts(expr)) == Some(local);
    match scene.tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => is_it(operand).then_some(true),
        ExprKind::Binary { op, lhs, rhs } => {
            let is_asked = is_it(lhs) && scene.is_null(rhs) || is_it(rhs) && scene.is_null(lhs);
            match op {
                BinaryOp::Equals => is_asked.then_some(true),
                BinaryOp::NotEquals => is_asked.then_some(false),
                _ => None,
            }
        }
        _ => is_it(cond).then_some(false),
    }
}
