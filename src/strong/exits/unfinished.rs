//! What the function is still putting together at a lookup: an exit from there finds less than one
//! from further on.
//!
//! ```c
//! self = PyObject_New(Thing, &Thing_Type);      /* its memory is not cleared */
//! item = PyList_GetItemRef(list, 0);            /* an exit here must not run the `tp_dealloc` */
//! self->name = Py_NewRef(item);
//! ```

use std::collections::BTreeSet;

use super::Exits;
use super::branch::{Branch, is_same, value_before};
use super::exit::null_tested;
use super::filled::{Filled, in_own_memory, loops_without, start_of};
use super::made_exit::{Fate, fate, makers};
use super::state::OWNED;
use super::undone::pointed;
use crate::ast::{Below, ExprId, ExprKind, LocalId, StmtKind, Tree};
use crate::cfg::{Point, reaches};
use crate::rule::PackageCx;
use crate::strong::given_up::names_of;
use crate::strong::scene::Scene;

impl Exits<'_, '_> {
    /// Whether `branch` finds what the function has at the call: neither more of an object whose
    /// fields are set since, nor less of what the call which it asks for has filled.
    pub(super) fn is_as_far(&self, branch: &Branch) -> bool {
        !self.asks_for_more(branch) && !self.is_finished_at(branch)
    }

    /// Whether the function owns an object at the call that it has not filled yet: its own exit
    /// would release it as if it had.
    pub(super) fn is_unfinished(&self) -> bool {
        self.unfinished().next().is_some()
    }

    fn is_finished_at(&self, branch: &Branch) -> bool {
        let start = self.scene.cfg.before(branch.then);
        start.is_none_or(|start| {
            let mut set = self.unfinished();
            set.any(|set| reaches(self.scene.cfg, set, start, &[]))
        })
    }

    /// Where fields are set behind the call that are not set on every way to it, of objects that are
    /// made without them.
    fn unfinished(&self) -> impl Iterator<Item = Point> {
        let scene = self.scene;
        let call = scene.cfg.call(self.call);
        let owned = self.state.owned().into_iter().map(|owned| owned.local);
        let at_call = move |local| call.map_or_else(Vec::new, |call| set_late(scene, local, call));
        owned.flat_map(at_call)
    }

    /// Whether `branch` is taken where a call has failed that fills what the function owns here, or
    /// where an element is not there that is by now.
    ///
    /// ```c
    /// if (make(self, &name) < 0)              a[0] = PyLong_FromLong(1);
    ///     return NULL;                        if (a[0] == NULL)
    ///                                             return NULL;
    /// ```
    fn asks_for_more(&self, branch: &Branch) -> bool {
        let scene = self.scene;
        let StmtKind::If { cond, .. } = scene.tree.stmt(branch.test).kind else {
            return false;
        };
        let is_owned = |local: LocalId| {
            self.state.of(local) & OWNED != 0 && fate(scene, local) == Fate::GivenUp
        };
        let within = scene.tree.expr(cond).range;
        let asked: Vec<ExprId> = scene.tree.exprs_in(within).map(|(expr, _)| expr).collect();
        let asked = asked.iter().copied();
        let told = asked
            .clone()
            .filter_map(|expr| value_before(scene, branch.test, expr));
        let mut filled = asked
            .clone()
            .chain(told)
            .flat_map(|value| filled(scene, value));
        // `while (--i >= 0) Py_DECREF(a[i]);` leaves `a[i]` out, which is not there here, either.
        let is_spared = |&place: &ExprId| {
            let loops = branch
                .releases
                .iter()
                .filter_map(|&it| Below::of(scene.tree, it));
            loops.into_iter().any(|below| {
                below.is_end(scene.tree, place, |one, other| is_same(scene, one, other))
                    && self.is_counted_behind(branch, &below)
            })
        };
        let empty = asked.filter_map(|expr| null_tested(scene, expr));
        let empty = empty.filter(|place| !is_spared(place));
        let mut elements = empty.filter_map(|place| in_own_memory(scene, place));
        let is_before = scene.cfg.before(branch.test).zip(scene.cfg.call(self.call));
        let is_before = is_before.is_some_and(|(test, call)| reaches(scene.cfg, test, call, &[]));
        // An array of the function is not given away, what it holds is.
        let is_held = |local: LocalId| is_owned(local) || self.undo.filled.contains(&Filled(local));
        filled.any(is_owned) || is_before && elements.any(is_held)
    }

    /// Whether the index that the elements are below is another one at the call, wherever that comes
    /// behind `branch`: `if (a[i] == NULL) { … } b[i] = f(PyList_GET_ITEM(list, i));` finds `a[i]`.
    fn is_counted_behind(&self, branch: &Branch, below: &Below) -> bool {
        let scene = self.scene;
        let test = scene.cfg.before(branch.test);
        let Some((test, call)) = test.zip(scene.cfg.call(self.call)) else {
            return false;
        };
        let changed = scene.tree.expr_ids().filter(|&expr| {
            let place = scene.tree.changed(expr);
            place.is_some_and(|place| is_same(scene, place, below.end))
        });
        let changed: Vec<Point> = changed.filter_map(|expr| scene.cfg.store(expr)).collect();
        !reaches(scene.cfg, test, call, &changed)
    }
}

/// The variables that get something through their address in a call.
fn filled(scene: &Scene<'_>, value: ExprId) -> Vec<LocalId> {
    match scene.call(scene.tree.without_casts(value)) {
        Some((_, args)) => {
            let args = args.iter().map(|&arg| scene.tree.without_casts(arg));
            let given = args.filter(|&arg| pointed(scene, arg) != arg);
            given
                .filter_map(|arg| scene.as_local(pointed(scene, arg)))
                .collect()
        }
        None => Vec::new(),
    }
}

/// Where fields of what `local` points at are set behind `call`, and not on every way to it.
fn set_late(scene: &Scene<'_>, local: LocalId, call: Point) -> Vec<Point> {
    let names = names_of(scene.tree, local);
    let made: Vec<Point> = names.iter().flat_map(|&it| made_raw(scene, it)).collect();
    let set = if made.is_empty() {
        Vec::new()
    } else {
        fields_set(scene, &names)
    };
    let loops = loops_without(scene, call);
    // All elements are set behind a loop that sets one each time.
    let whole = |store: &Store<'_>| {
        let start = start_of(scene, &loops, store.expr);
        start.filter(|_| store.is_element).unwrap_or(store.point)
    };
    let is_open = |field: &str| {
        let same = set.iter().filter(|store| store.field == field);
        let ends: Vec<Point> = same.map(whole).collect();
        let mut made = made.iter();
        made.any(|made| reaches(scene.cfg, made.next(), call, &ends))
    };
    let behind = set
        .iter()
        .filter(|store| reaches(scene.cfg, call, store.point, &[]));
    let open = behind.filter(|store| is_open(store.field));
    open.map(|store| store.point).collect()
}

/// Where a variable gets memory that is not cleared: that of `tp_alloc` is.
fn made_raw(scene: &Scene<'_>, local: LocalId) -> Vec<Point> {
    const RAW: [&str; 8] = [
        "PyObject_New",
        "PyObject_NewVar",
        "PyObject_NEW",
        "PyObject_NEW_VAR",
        "PyObject_GC_New",
        "PyObject_GC_NewVar",
        "_PyObject_New",
        "_PyObject_GC_New",
    ];
    let makes_raw = |name: &str| {
        let mut bodies = scene.cx.definitions(name);
        bodies.any(|(_, function)| function.tree.calls().any(|(_, name)| RAW.contains(&name)))
    };
    let values = makers(scene, local).into_iter();
    let values = values.map(|value| scene.tree.without_casts(value));
    let raw = values.filter(|&value| {
        let call = scene.call(value);
        call.is_some_and(|(name, _)| RAW.contains(&name) || makes_raw(name))
    });
    raw.filter_map(|value| scene.cfg.call(value)).collect()
}

/// A field that is set, or an element of it: `self->name = …`, `self->items[i] = …`.
struct Store<'s> {
    field: &'s str,
    is_element: bool,
    expr: ExprId,
    point: Point,
}

/// What is set of what the variables point at, here or by a function of the package:
/// `thing_init(self)`.
fn fields_set<'s>(scene: &'s Scene<'_>, names: &BTreeSet<LocalId>) -> Vec<Store<'s>> {
    let own = scene.tree.expr_ids().filter_map(|expr| {
        let place = scene.tree.changed(expr)?;
        Some(Store {
            field: field_of(scene.tree, place, names)?,
            is_element: matches!(scene.tree.expr(place).kind, ExprKind::Index { .. }),
            expr,
            point: scene.cfg.store(expr)?,
        })
    });
    let mut stores: Vec<Store<'s>> = own.collect();
    for (expr, name, at) in given(scene.tree, names) {
        let Some(point) = scene.cfg.call(expr) else {
            continue;
        };
        let mut fields = BTreeSet::new();
        set_by(scene.cx, name, at, MAX_DEPTH, &mut fields);
        stores.extend(fields.into_iter().map(|field| Store {
            field,
            is_element: false,
            expr,
            point,
        }));
    }
    stores
}

/// How many functions an object is followed through.
const MAX_DEPTH: usize = 3;

/// The fields that a function of the package, or one that it calls, sets of its argument `at`.
fn set_by<'c>(
    cx: &'c PackageCx<'_>,
    name: &str,
    at: usize,
    depth: usize,
    fields: &mut BTreeSet<&'c str>,
) {
    for (_, function) in cx.definitions(name) {
        let Some(&param) = function.params.get(at) else {
            continue;
        };
        let (tree, names) = (&function.tree, BTreeSet::from([param]));
        let changed = tree.expr_ids().filter_map(|expr| tree.changed(expr));
        fields.extend(changed.filter_map(|place| field_of(tree, place, &names)));
        if depth > 1 {
            for (_, name, at) in given(tree, &names) {
                set_by(cx, name, at, depth - 1, fields);
            }
        }
    }
}

/// The calls that get what one of the variables holds, and as which argument.
fn given<'t>(
    tree: &'t Tree,
    names: &BTreeSet<LocalId>,
) -> impl Iterator<Item = (ExprId, &'t str, usize)> {
    let is_it = |&arg: &ExprId| {
        let local = tree.as_local(tree.without_casts(arg));
        local.is_some_and(|local| names.contains(&local))
    };
    tree.calls().filter_map(move |(call, name)| {
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return None;
        };
        Some((call, name, args.iter().position(is_it)?))
    })
}

/// The field of what one of the variables points at that `place` is, or is a part of.
fn field_of<'t>(tree: &'t Tree, mut place: ExprId, names: &BTreeSet<LocalId>) -> Option<&'t str> {
    loop {
        match &tree.expr(place).kind {
            ExprKind::Member { base, field, arrow } => {
                let inner = tree.without_casts(*base);
                let local = tree.as_local(inner).filter(|_| *arrow);
                if local.is_some_and(|local| names.contains(&local)) {
                    return Some(&**field);
                }
                place = inner;
            }
            ExprKind::Index { base, .. } => place = *base,
            _ => return None,
        }
    }
}
