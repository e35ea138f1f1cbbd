//! Items that the code gives away as if it owned them.
//!
//! ```c
//! PyTuple_SET_ITEM(pair, 0, PyList_GET_ITEM(list, i));     /* the tuple releases it one day */
//!
//! PyObject *item = PyList_GetItemRef(list, i);
//! PyTuple_SET_ITEM(pair, 0, item);
//! ```
//!
//! The new reference is the one that was missing, unless other code has always taken one too many
//! to make up for it: that only a person can tell.

use crate::ast::ExprId;
use crate::capi::{REPLACEMENTS, Returns, acts, effects, is_unknown, keeps_pointer};
use crate::cfg::reaches;
use crate::strong::emit::Draft;
use crate::strong::exits::branch::is_same;
use crate::strong::follow::hold::State;
use crate::strong::follow::{Decisions, Follower, Mode, Repair};
use crate::strong::plan::{Home, Lookup, Planned};
use crate::strong::scene::Scene;

/// Whether it may be by mistake that the items of `home` are given away: no slot of their container
/// gets another item behind the back of the counts. Nor do lookups look into the items, which would
/// have to wait for what a person says.
///
/// ```c
/// Py_DECREF(PyList_GET_ITEM(list, 0));     /* the reference of the list … */
/// PyList_SET_ITEM(list, 0, NULL);          /* … which does not release it */
/// ```
pub(in crate::strong) fn may_mend(scene: &Scene<'_>, home: &Home) -> bool {
    let is_lookup = |name: &str| {
        let mut rows = REPLACEMENTS.iter();
        rows.any(|row| row.borrowed == name || row.strong == name)
    };
    let mut calls = scene.tree.expr_ids();
    !calls.any(|call| match scene.call(call) {
        Some(("PyList_SET_ITEM", [filled, ..])) => is_container(scene, home, *filled),
        Some((name, [first, ..])) if is_lookup(name) => {
            home.local.is_some() && scene.as_local(*first) == home.local
        }
        _ => false,
    })
}

/// Whether items are looked up in what `arg` names.
fn is_container(scene: &Scene<'_>, home: &Home, arg: ExprId) -> bool {
    let container = |lookup: &Lookup| scene.call(lookup.call)?.1.first().copied();
    let mut containers = home.lookups.iter().filter_map(container);
    containers.any(|container| is_same(scene, container, arg))
}

impl Follower<'_, '_> {
    /// Whether existing counts stay as they are.
    pub(in crate::strong) fn keeps_counting(&self) -> bool {
        matches!(
            self.mode,
            Mode::Keep | Mode::Mend | Mode::Lent | Mode::Apart
        )
    }

    /// Notes that the code gives away the object, to which it holds `count` references;
    /// whether the new one is taken for it.
    pub(in crate::strong) fn presumes(
        &self,
        count: u8,
        state: &mut State,
        sink: &mut Decisions,
    ) -> bool {
        let presumes = self.mode == Mode::Mend && count == 0;
        if presumes {
            sink.repairs.insert(Repair::Presumed);
            state.clear();
        }
        presumes
    }
}

impl Draft<'_, '_> {
    /// Notes that a reference which the code gives away may be made up for elsewhere, or one that it
    /// loses released there.
    pub(in crate::strong) fn doubt_repairs(&mut self, planned: &Planned) {
        let (repairs, name) = (&planned.decisions.repairs, &planned.home.name);
        let is_missing = repairs.contains(&Repair::Missing);
        if repairs.contains(&Repair::Presumed) || is_missing && self.may_retain(&planned.home) {
            self.fix.assume(format!(
                "no other code takes an extra reference for `{name}`, which is given away here \
                 without an owned reference"
            ));
        }
        if repairs.contains(&Repair::Lost)
            && let Some(keeper) = self.keeper()
        {
            self.fix.assume(format!(
                "what `{keeper}` keeps does not release `{name}`, which is released here as well"
            ));
        }
    }

    /// Whether what nobody here sees may take a reference to what the lookups give, or the reference of
    /// their container moves to the code:
    ///
    /// ```c
    /// void (*retain)(PyObject *) = Py_IncRef;
    /// PyList_SET_ITEM(list, i, Py_NewRef(Py_None));       /* does not release the old item */
    /// ```
    fn may_retain(&self, home: &Home) -> bool {
        let (scene, tree) = (self.scene, self.scene.tree);
        let is_item = |arg: &ExprId| {
            let ty = scene.cx.types().of(tree, *arg);
            let is_object = ty.is_none_or(|ty| scene.cx.types().is_object_pointer(ty));
            let called = tree.called(*arg).and_then(effects);
            let is_object = is_object && called.is_none_or(|it| it.returns != Returns::Plain);
            let local = scene.as_local(*arg);
            let is_set = |local| tree.stores().any(|(stored, _)| stored == local);
            is_object && (local.is_none_or(is_set) || local == home.local)
        };
        let is_seen = |call: ExprId| tree.called(call).is_some_and(|it| !is_unknown(it));
        let lookups = || home.lookups.iter().filter_map(|it| scene.cfg.call(it.call));
        let is_after = |call: ExprId| {
            let at = scene.cfg.call(call);
            at.is_none_or(|at| lookups().any(|from| reaches(scene.cfg, from.next(), at, &[])))
        };
        let calls = tree.expr_ids().filter(|&id| tree.callee(id).is_some());
        let mut calls = calls.filter(|&call| is_after(call));
        let gets_item = |call: &ExprId| tree.arguments(*call).iter().any(is_item);
        calls.any(|call| !is_seen(call) && gets_item(&call) || self.changes(call, home))
            || !may_mend(scene, home)
    }

    /// Whether a call changes what is in a container that items are looked up in, and does not release what
    /// was there: `Py_SET_SIZE(list, n - 1)`.
    fn changes(&self, call: ExprId, home: &Home) -> bool {
        let scene = self.scene;
        let Some((name, args)) = scene.call(call) else {
            return false;
        };
        let releases = effects(name).is_none_or(|it| it.runs_python);
        let act = acts(name).filter(|act| !releases && !act.only_adds);
        let mut changed = (0..).zip(args);
        changed.any(|(at, &arg)| {
            act.is_some_and(|act| act.changes(at)) && is_container(scene, home, arg)
        })
    }

    /// A function that the code hands a pointer to keep.
    fn keeper(&self) -> Option<&str> {
        let tree = self.scene.tree;
        let mut calls = tree.calls();
        calls.find_map(|(call, name)| {
            let mut args = 0..tree.arguments(call).len();
            args.any(|at| keeps_pointer(name, at)).then_some(name)
        })
    }
}
