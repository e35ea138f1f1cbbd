//! Which lock guards what: a field or variable that is written with a lock held has to be read, and
//! written, with the same lock everywhere.
//!
//! ```c
//! Py_BEGIN_CRITICAL_SECTION(self);
//! Py_XSETREF(self->name, Py_NewRef(name));
//! Py_END_CRITICAL_SECTION();
//! …
//! return Py_NewRef(self->name);            /* another method: left */
//! ```
//!
//! Locks are compared by the way that leads from the object with the field to them, so that `self`
//! here is the `item` of another function.

mod effect;
mod held;
mod path;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashSet;

pub(super) use effect::Helpers;
pub(super) use held::Locked;
pub(super) use path::{Path, Paths};
use path::{Root, Step};
use state::{Lock, State};

use super::body::Body;
use super::{Left, Why};
use crate::ast::{ExprId, ExprKind, LocalId, Name, Parent, Tree, TypeKind, UnaryOp};
use crate::capi::lock_call;
use crate::state::lock_act_by_name;

/// Locks that are held.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Guards {
    /// Whether there is any that nobody else may have.
    pub(super) is_any: bool,
    /// Those of them of which it is known which.
    pub(super) paths: BTreeSet<Path>,
    /// Those that others may have as well: they keep what is read as it is.
    shared: BTreeSet<Path>,
}

impl Guards {
    /// With what a function does to locks itself that is called with these held.
    fn with(mut self, own: &State) -> Self {
        let is_held = |path: &Option<Path>| {
            let mut paths = self.paths.iter().chain(&self.shared);
            path.as_ref().is_some_and(|path| paths.any(|it| it == path))
        };
        if own.gave.iter().all(is_held) {
            let before = self.paths.len() + self.shared.len();
            let is_kept = |path: &Path| !own.gave.contains(&Some(path.clone()));
            self.paths.retain(is_kept);
            self.shared.retain(is_kept);
            self.is_any &= self.paths.len() + self.shared.len() == before;
        } else {
            self = Self::default();
        }
        let (shared, alone): (Vec<&Lock>, Vec<&Lock>) =
            own.held.iter().partition(|lock| lock.is_shared);
        self.is_any |= !alone.is_empty() || !self.paths.is_empty();
        self.paths
            .extend(alone.iter().filter_map(|it| it.path.clone()));
        self.shared
            .extend(shared.iter().filter_map(|it| it.path.clone()));
        self
    }
}

/// What a lock guards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cell {
    /// A field of a type.
    Field(String, Box<str>),
    /// A variable that all calls share.
    Static(Box<str>),
    /// All fields of a struct of this type.
    Whole(String),
    /// The file behind a number or a stream that is kept there.
    Behind(Box<Cell>),
}

/// A lock, as seen from what it guards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Relation {
    /// One and the same for all.
    Fixed(Path),
    /// The way up from the object to where both are found, and down to the lock.
    Own(Vec<Step>, Vec<Step>),
}

/// A use of what threads share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Use {
    cell: Cell,
    is_write: bool,
    guards: BTreeSet<Relation>,
    left: Rc<Left>,
}

impl Body<'_, '_, '_> {
    /// The locks that are held at `at`, here or by the caller.
    pub(super) fn guards(&self, at: ExprId) -> Guards {
        let held = self.held.clone();
        match self.known.locked.around(self.tree(), at) {
            Some(own) => held.with(own),
            None => held,
        }
    }

    /// Whether a lock is held that nobody else may have.
    pub(super) fn is_locked(&self, at: ExprId) -> bool {
        match self.known.locked.around(self.tree(), at) {
            Some(own) => self.held.clone().with(own).is_any,
            None => self.held.is_any,
        }
    }

    /// The locks of `guards` as a callee finds them by its parameters.
    pub(super) fn handed_on(&self, guards: &Guards, params: &[LocalId], args: &[ExprId]) -> Guards {
        if guards.paths.is_empty() && guards.shared.is_empty() {
            return guards.clone();
        }
        let given: Vec<(LocalId, Path)> = params
            .iter()
            .zip(args)
            .filter_map(|(&param, &arg)| Some((param, self.known.paths.pointee(arg)?)))
            .collect();
        let by_param = |guard: &Path| {
            given.iter().find_map(|(param, object)| {
                let is_part = guard.root == object.root && guard.steps.starts_with(&object.steps);
                let rest = is_part.then(|| &guard.steps[object.steps.len()..])?;
                let steps = std::iter::once(Step::Deref).chain(rest.iter().cloned());
                Some(Path {
                    root: Root::Local(*param),
                    steps: steps.collect(),
                })
            })
        };
        let handed_on = |guard: &Path| match guard.root {
            Root::Local(_) => by_param(guard),
            Root::Static(_) | Root::Of(_) => Some(guard.clone()),
        };
        Guards {
            is_any: guards.is_any,
            paths: guards.paths.iter().filter_map(handed_on).collect(),
            shared: guards.shared.iter().filter_map(handed_on).collect(),
        }
    }

    /// Notes what is read of what threads share.
    pub(super) fn note_reads(&mut self) {
        let (tree, known) = (self.tree(), Rc::clone(&self.known));
        let not_read = known.not_read();
        for at in tree.expr_ids().filter(|at| !not_read.contains(at)) {
            match tree.expr(at).kind {
                ExprKind::Name(_) | ExprKind::Member { .. } => self.note_use(at, at, false),
                // Who gets the address may write there as well.
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } if !self.is_left_whole(at, operand) && !self.is_handed_over(at, operand) => {
                    self.note_use(operand, at, true);
                }
                _ => {}
            }
        }
    }

    /// Whether it can be told which place this is, to compare its locks with those of other uses.
    pub(super) fn is_known(&self, place: ExprId) -> bool {
        self.cell(place).is_some()
    }

    /// Notes that `place` is used at `at`, if threads share it.
    pub(super) fn note_use(&mut self, place: ExprId, at: ExprId, is_write: bool) {
        let Some((cell, within)) = self.cell(place) else {
            return;
        };
        let memory = self.place(within).memory.points;
        if !memory.is_open() || self.is_atomic(within) {
            return;
        }
        if let Some(key) = self.struct_of(place) {
            self.note_cell(Cell::Whole(key), (place, within), at, is_write);
        }
        self.note_cell(cell, (place, within), at, is_write);
    }

    /// Whether nobody writes a place by its address: it is a lock, or an object of Python.
    fn is_left_whole(&self, address: ExprId, place: ExprId) -> bool {
        let types = self.walk.types;
        let ty = types.of(self.tree(), place);
        let call = match self.known.parents().of_expr(address) {
            Some(Parent::Expr(call)) => self.tree().called(call),
            _ => None,
        };
        let takes = |name: &str| lock_call(name).is_some() || lock_act_by_name(name).is_some();
        self.is_lock(place) || call.is_some_and(takes) || ty.is_some_and(|ty| types.is_object(ty))
    }

    /// The struct that a place is.
    fn struct_of(&self, place: ExprId) -> Option<String> {
        let types = self.walk.types;
        let ty = types.of(self.tree(), place)?;
        let key = types.key(ty)?;
        (!types.is_object(ty) && types.pointee(ty).is_none() && types.is_struct(&key))
            .then_some(key)
    }

    /// Whether the address of `place` is just handed to functions of the package, which say
    /// themselves what they use of it.
    fn is_handed_over(&self, address: ExprId, place: ExprId) -> bool {
        let call = self.known.parents().of_expr(address);
        let Some(Parent::Expr(call)) = call.filter(|_| self.struct_of(place).is_some()) else {
            return false;
        };
        let name = self.tree().called(call);
        name.is_some_and(|name| !self.walk.callees(self.item, name).is_empty())
    }

    /// Notes that what is behind the handle in `place` is used at `at`.
    pub(super) fn note_handle(&mut self, place: ExprId, at: ExprId, is_write: bool) {
        if let Some((cell, within)) = self.cell(place) {
            self.note_cell(Cell::Behind(Box::new(cell)), (place, within), at, is_write);
        }
    }

    fn note_cell(
        &mut self,
        cell: Cell,
        (place, within): (ExprId, ExprId),
        at: ExprId,
        is_write: bool,
    ) {
        let path = self.known.paths.place(within);
        let guards = self.relations(path.as_ref(), at, is_write);
        let text = self.text(place);
        if let Some(left) = self.walk.place_of(self.item, at, text, Why::Unguarded) {
            self.walk.note_use(Use {
                cell,
                is_write,
                guards,
                left: left.into(),
            });
        }
    }

    /// The locks that are held at `at`, as seen from a place.
    fn relations(&self, path: Option<&Path>, at: ExprId, is_write: bool) -> BTreeSet<Relation> {
        let held = self.guards(at);
        let shared = held.shared.iter().filter(|_| !is_write);
        let guards = held.paths.iter().chain(shared);
        let guards = guards.filter(|guard| self.is_one_lock(guard));
        let mut found: BTreeSet<Relation> =
            guards.filter_map(|guard| relation(path, guard)).collect();
        if path.is_some_and(|path| self.leads_out(path)) {
            found.retain(|it| matches!(it, Relation::Fixed(_)));
        }
        found
    }

    /// Whether a lock is the same for all who take it by this name.
    fn is_one_lock(&self, guard: &Path) -> bool {
        match &guard.root {
            // A `static` one of a function has the name of that as well.
            Root::Static(name) => name.contains('.') || self.walk.is_single(name),
            Root::Local(_) | Root::Of(_) => true,
        }
    }

    /// Whether the way to a place goes through a field of an object that may hold what others have
    /// by another way: `self->ring->at`, and `self->lock` for one of many that have the ring.
    fn leads_out(&self, path: &Path) -> bool {
        let steps = path.object().windows(2);
        let mut fields = steps.filter_map(|pair| match pair {
            [Step::Field(field), Step::Deref] => Some(field),
            _ => None,
        });
        fields.any(|field| self.walk.lent.has(field))
    }

    /// The field or variable that a place lies in, and the expression that names it.
    fn cell(&self, place: ExprId) -> Option<(Cell, ExprId)> {
        let tree = self.tree();
        match &tree.expr(place).kind {
            ExprKind::Name(Name::Global(name)) => {
                let ty = self.walk.variable_type(name)?;
                let is_data = !ty.is_const && !matches!(ty.kind, TypeKind::Function(..));
                (is_data && !self.walk.is_guarded(name))
                    .then(|| (Cell::Static(name.clone()), place))
            }
            ExprKind::Name(Name::Local(local)) => {
                let local = tree.local(*local);
                let is_shared = !local.is_automatic() && !local.thread_local;
                is_shared.then(|| (Cell::Static(local.name.as_str().into()), place))
            }
            ExprKind::Member { base, field, arrow } => {
                match self.walk.types.owner(tree, *base, *arrow) {
                    Some(owner) => Some((Cell::Field(owner, field.clone()), place)),
                    None => self.cell(*base),
                }
            }
            ExprKind::Index { base: of, .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref | UnaryOp::AddressOf,
                operand: of,
            }
            | ExprKind::Cast { operand: of, .. } => self.cell(*of),
            _ => None,
        }
    }
}

/// Expressions that are named without being read: what is set, what only leads to a member, what
/// has its address taken.
pub(super) fn not_read(tree: &Tree) -> FxHashSet<ExprId> {
    let named = tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Assign { lhs, op: None, .. } => Some(lhs),
        ExprKind::Member {
            base, arrow: false, ..
        } => Some(base),
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => Some(operand),
        ExprKind::Call { callee, .. } => Some(callee),
        _ => None,
    });
    named.collect()
}

/// How `guard` is found from the object that `place` is a part of; `None` if it is not.
fn relation(place: Option<&Path>, guard: &Path) -> Option<Relation> {
    match guard.root {
        // One of many.
        _ if guard.steps.contains(&Step::Element) => None,
        Root::Static(_) | Root::Of(_) => Some(Relation::Fixed(guard.clone())),
        Root::Local(_) => {
            let place = place.filter(|place| place.root == guard.root)?;
            let object = place.object();
            let pairs = object.iter().zip(&guard.steps);
            let shared = pairs.take_while(|(a, b)| a == b).count();
            let (up, down) = (&object[shared..], &guard.steps[shared..]);
            Some(Relation::Own(up.to_vec(), down.to_vec()))
        }
    }
}

/// A use, with the files from which it is reached.
type Reached<'u> = (&'u Use, FixedBitSet);

/// What is written with a lock held, once each, and the uses of it without that lock, with the files
/// from which both are reached.
pub(super) fn guarded(uses: Vec<Reached<'_>>) -> Vec<(Rc<Left>, FixedBitSet)> {
    let mut cells: BTreeMap<&Cell, Vec<&Reached<'_>>> = BTreeMap::new();
    // `now = self->stat;` reads all of its fields.
    let mut wholes: BTreeMap<&str, Vec<&Reached<'_>>> = BTreeMap::new();
    for it in &uses {
        cells.entry(&it.0.cell).or_default().push(it);
        if let Cell::Whole(owner) = &it.0.cell {
            wholes.entry(owner).or_default().push(it);
        }
    }
    let mut found = Vec::new();
    for (cell, mut uses) in cells {
        if let Cell::Field(owner, _) = cell {
            uses.extend(wholes.get(owner.as_str()).into_iter().flatten());
        }
        for (numbers, files) in by_files(&uses) {
            let uses: Vec<&Use> = numbers.ones().map(|at| uses[at].0).collect();
            // What is written without a lock is left already.
            if uses.iter().any(|it| it.is_write) {
                let left = with_lock(&uses).into_iter().chain(without_lock(&uses));
                found.extend(left.map(|left| (left, files.clone())));
            }
        }
    }
    found
}

/// The numbers of the uses that are reached from the same files, with these.
fn by_files(uses: &[&Reached<'_>]) -> BTreeMap<FixedBitSet, FixedBitSet> {
    let mut of_file: BTreeMap<usize, FixedBitSet> = BTreeMap::new();
    for (at, (_, files)) in uses.iter().enumerate() {
        for file in files.ones() {
            let numbers = of_file.entry(file).or_default();
            numbers.grow_and_insert(at);
        }
    }
    let mut found: BTreeMap<FixedBitSet, FixedBitSet> = BTreeMap::new();
    for (file, numbers) in of_file {
        let files = found.entry(numbers).or_default();
        files.grow_and_insert(file);
    }
    found
}

/// The first of the writes for which a lock accounts.
fn with_lock(uses: &[&Use]) -> Option<Rc<Left>> {
    let locked = uses
        .iter()
        .filter(|it| it.is_write && !it.guards.is_empty());
    let first = locked.map(|it| &it.left).min()?;
    Some(Rc::new(Left {
        why: Why::Guarded,
        ..(**first).clone()
    }))
}

fn without_lock(uses: &[&Use]) -> Vec<Rc<Left>> {
    let mut counts: BTreeMap<&Relation, usize> = BTreeMap::new();
    for guard in uses.iter().flat_map(|it| &it.guards) {
        *counts.entry(guard).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let has_most = |it: &Use| most.is_some_and(|(guard, _)| it.guards.contains(guard));
    let others = uses.iter().filter(|it| !has_most(it));
    others.map(|it| Rc::clone(&it.left)).collect()
}
