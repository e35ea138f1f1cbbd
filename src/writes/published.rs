//! From where on others may have what a local points to.
//!
//! ```c
//! Item *it = PyObject_New(Item, &ItemType);
//! PyObject *op = (PyObject *)it;              /* the same object */
//! it->name = name;                            /* nobody has it */
//! PyList_Append(self->items, op);
//! it->n = 3;                                  /* others may read it now */
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::body::{Body, Summary};
use crate::ast::{
    BinaryOp, ExprId, ExprKind, LocalId, Name, StmtKind, TokenRange, Tree, TypeKind, UnaryOp,
};
use crate::capi::{Gives, Returns, effects, keeps_pointer, writes};

/// Which locals were handed on, and which lead to which.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// From which expression on.
    since: FxHashMap<LocalId, ExprId>,
    /// What can be reached from the first can be reached from the second, from this expression on.
    from: BTreeMap<(LocalId, LocalId), ExprId>,
    /// The parameters, a bit for each, by which what a call gives can be reached.
    pub(super) ways: FxHashMap<ExprId, u32>,
}

impl Published {
    /// Forgets all but what calls told.
    pub(super) fn forget(&mut self) {
        self.since.clear();
        self.from.clear();
    }

    fn hand_on(&mut self, local: LocalId, at: ExprId) {
        let since = self.since.entry(local).or_insert(at);
        *since = (*since).min(at);
    }

    fn lead(&mut self, from: LocalId, to: LocalId, at: ExprId) {
        let since = self.from.entry((from, to)).or_insert(at);
        *since = (*since).min(at);
    }

    /// What leads to `local`, itself included, with where that begins.
    fn ways_to(&self, local: LocalId) -> BTreeMap<LocalId, ExprId> {
        let mut found = BTreeMap::from([(local, ExprId(0))]);
        let mut open = vec![local];
        while let Some(local) = open.pop() {
            let so_far = found[&local];
            let ways = (local, LocalId(0))..=(local, LocalId(u32::MAX));
            for (&(_, holder), &at) in self.from.range(ways) {
                let since = so_far.max(at);
                if found.get(&holder).is_none_or(|known| since < *known) {
                    found.insert(holder, since);
                    open.push(holder);
                }
            }
        }
        found
    }
}

impl Body<'_, '_, '_> {
    /// Others may have what `from` points to once `at` has run.
    pub(super) fn publish(&mut self, from: Option<ExprId>, at: ExprId) {
        for local in self.pointers(from) {
            self.published.hand_on(local, at);
        }
    }

    /// What a function of the package handed on.
    pub(super) fn publish_given(&mut self, summary: &Summary, args: &[ExprId], at: ExprId) {
        for (number, &arg) in args.iter().enumerate().take(32) {
            if summary.published & (1 << number) != 0 {
                self.publish(Some(arg), at);
            }
        }
    }

    /// A call keeps its arguments from `first` on, in the first of all if that is another one.
    pub(super) fn keep(&mut self, at: ExprId, first: usize, args: &[ExprId]) {
        let holder = args.first().copied().filter(|_| first > 0);
        let private = holder.filter(|&it| self.value(it).points.is_private());
        for &array in args.iter().skip(first) {
            if self.points_to_objects(array) {
                self.publish_elements(array, at);
            }
        }
        let objects = args.iter().skip(first);
        let objects: Vec<ExprId> = objects.copied().filter(|&it| self.is_object(it)).collect();
        for object in objects {
            match private {
                Some(holder) => self.holds(holder, Some(object), at),
                None => self.publish(Some(object), at),
            }
        }
    }

    /// Others may have what was stored in an array, which is not kept itself.
    fn publish_elements(&mut self, array: ExprId, at: ExprId) {
        let arrays = self.roots(array, true);
        let held = self.published.from.keys();
        let held = held.filter(|(_, holder)| arrays.contains(holder));
        let held: Vec<LocalId> = held.map(|(element, _)| *element).collect();
        for element in held {
            self.published.hand_on(element, at);
        }
    }

    /// Whether an argument is an array of objects: `PyObject_Vectorcall(callback, args, 1, NULL)`.
    fn points_to_objects(&self, arg: ExprId) -> bool {
        let types = self.walk.types;
        let ty = types.of(self.tree(), self.tree().without_casts(arg));
        let to = ty.and_then(|ty| types.pointee(ty));
        to.is_some_and(|to| types.is_object_pointer(to))
    }

    /// `local` points to what `value` leads to.
    pub(super) fn names_too(&mut self, local: LocalId, value: ExprId) {
        for other in self.pointers(Some(value)) {
            self.published.lead(other, local, value);
        }
        if !self.walk.types.is_number(&self.tree().local(local).ty) {
            for other in self.roots(value, true) {
                self.published.lead(local, other, value);
            }
        }
    }

    /// What `value` points to can be reached through `holder` once `at` has run.
    pub(super) fn holds(&mut self, holder: ExprId, value: Option<ExprId>, at: ExprId) {
        let values = self.pointers(value);
        for holder in self.place_roots(holder, true) {
            for &value in &values {
                self.published.lead(value, holder, at);
            }
        }
    }

    /// The locals that point into what `value` points to.
    fn pointers(&self, value: Option<ExprId>) -> Vec<LocalId> {
        let types = self.walk.types;
        let value = value.filter(|&value| {
            let ty = types.of(self.tree(), value);
            ty.is_none_or(|ty| !types.is_number(ty))
        });
        let Some(value) = value else {
            return Vec::new();
        };
        let mut found = self.roots(value, false);
        for arg in self.kept_in_result(value) {
            found.extend(self.pointers(Some(arg)));
        }
        found
    }

    /// What the new object holds that a call makes: `PyTuple_Pack(1, item)`, `PyCapsule_New(p, …)`.
    fn kept_in_result(&self, value: ExprId) -> Vec<ExprId> {
        let tree = self.tree();
        let call = tree.call(tree.without_casts(value));
        let made =
            call.filter(|(name, _)| effects(name).is_some_and(|it| it.returns == Returns::New));
        let Some((name, args)) = made else {
            return Vec::new();
        };
        let is_kept = |at: usize, arg| self.is_object(arg) || keeps_pointer(name, at);
        let args = args.iter().enumerate();
        let kept = args.filter(|&(at, &arg)| is_kept(at, arg));
        kept.map(|(_, &arg)| arg).collect()
    }

    /// The locals that point into what `expr` points to; with `is_deep` also those that lead there
    /// by other pointers: `it` of `it->text`.
    fn roots(&self, expr: ExprId, is_deep: bool) -> Vec<LocalId> {
        let tree = self.tree();
        let roots = |expr| self.roots(expr, is_deep);
        if let Some(operand) = self.addressed(expr) {
            return self.place_roots(operand, is_deep);
        }
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) if tree.local(*local).is_automatic() => {
                vec![*local]
            }
            ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref, ..
            } => match is_deep || self.is_array(expr) {
                true => self.place_roots(expr, is_deep),
                false => Vec::new(),
            },
            ExprKind::Cast { operand, .. } | ExprKind::Unary { operand, .. } => roots(*operand),
            ExprKind::Assign { lhs, rhs, .. }
            | ExprKind::Binary {
                op: BinaryOp::Plus | BinaryOp::Minus,
                lhs,
                rhs,
            } => [roots(*lhs), roots(*rhs)].concat(),
            ExprKind::Binary {
                op: BinaryOp::Comma,
                rhs,
                ..
            } => roots(*rhs),
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => [roots(then.unwrap_or(*cond)), roots(*otherwise)].concat(),
            ExprKind::Call { callee, args } => {
                let args = self.through(expr, *callee, args, is_deep).into_iter();
                args.flat_map(roots).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The locals that the memory of a place is reached by.
    fn place_roots(&self, place: ExprId, is_deep: bool) -> Vec<LocalId> {
        let tree = self.tree();
        match &tree.expr(place).kind {
            ExprKind::Member {
                base, arrow: false, ..
            } => self.place_roots(*base, is_deep),
            ExprKind::Index { base, .. } if self.is_array(*base) => {
                self.place_roots(*base, is_deep)
            }
            ExprKind::Cast { operand, .. } => self.place_roots(*operand, is_deep),
            ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => {
                self.roots(*base, is_deep)
            }
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.roots(*operand, is_deep),
            // `Py_SIZE(self) = n`
            ExprKind::Call { callee, args }
                if self.through(place, *callee, args, is_deep).is_empty() =>
            {
                args.first()
                    .map(|&arg| self.roots(arg, is_deep))
                    .unwrap_or_default()
            }
            _ => self.roots(place, is_deep),
        }
    }

    /// The arguments of a call that what it gives is, or is a part of; with `is_deep` also those of a
    /// function of the package by which it can be reached.
    fn through(&self, at: ExprId, callee: ExprId, args: &[ExprId], is_deep: bool) -> Vec<ExprId> {
        if let Some(ways) = self.published.ways.get(&at).filter(|_| is_deep) {
            let args = args.iter().enumerate().take(32);
            let led = args.filter(|(number, _)| ways & (1 << number) != 0);
            return led.map(|(_, &arg)| arg).collect();
        }
        let name = self.tree().callee_name(callee).unwrap_or_default();
        let at = match (writes(name), effects(name)) {
            (Some(row), _) => match row.gives {
                Gives::Argument(at) | Gives::Part(at) => Some(at),
                _ => None,
            },
            (None, Some(effects)) => effects.derived_from.map(usize::from),
            (None, None) => None,
        };
        at.and_then(|at| args.get(at))
            .copied()
            .into_iter()
            .collect()
    }

    /// The parameters by which what the function returns can be reached.
    pub(super) fn ways_out(&self, returned: &[ExprId]) -> u32 {
        let roots = returned.iter().flat_map(|&value| self.roots(value, true));
        let ways = roots.flat_map(|local| self.published.ways_to(local).into_keys());
        let params = &self.function.params;
        let params = ways.filter_map(|way| params.iter().take(32).position(|&it| it == way));
        params.fold(0, |all, at| all | 1 << at)
    }

    /// The parameters that others may have afterwards.
    pub(super) fn published_params(&self) -> u32 {
        let params = self.function.params.iter().enumerate().take(32);
        let open = params.filter(|(_, param)| !self.since(**param).is_empty());
        open.fold(0, |all, (at, _)| all | 1 << at)
    }

    /// Where others get what `local` points to.
    fn since(&self, local: LocalId) -> Vec<ExprId> {
        let ways = self.published.ways_to(local).into_iter();
        let since = ways.filter_map(|(holder, at)| {
            let since = self.published.since.get(&holder)?;
            Some(at.max(*since))
        });
        since.collect()
    }

    /// Whether others may have what the place `place` lies in when `at` runs: a local points to it
    /// that was handed on before.
    pub(super) fn is_published(&self, place: ExprId, at: ExprId) -> bool {
        // `pair.first = 1` where a copy of `pair` was handed on.
        if self
            .part_of(place)
            .is_some_and(|local| self.is_memory(local))
        {
            return false;
        }
        let each = self.place_roots(place, true).into_iter();
        let mut each =
            each.flat_map(|local| self.since(local).into_iter().map(move |it| (local, it)));
        each.any(|(local, since)| {
            let value = self.known.settled.value(self.tree(), local, at);
            let is_before = since < at && value.is_none_or(|value| value < since);
            is_before || self.comes_back(local, since, at)
        })
    }

    /// Whether others may have what `value` points to when the function returns it.
    pub(super) fn is_handed_on(&self, value: ExprId) -> bool {
        let mut roots = self.roots(value, true).into_iter();
        roots.any(|local| !self.since(local).is_empty())
    }

    /// Whether the local is memory itself, not a pointer.
    fn is_memory(&self, local: LocalId) -> bool {
        let variable = self.tree().local(local);
        let is_array = matches!(variable.ty.kind, TypeKind::Array(..)) && !variable.is_param;
        is_array || self.walk.types.pointee(&variable.ty).is_none()
    }

    /// Whether a loop comes from `since` to `at` again with the same value of the local.
    fn comes_back(&self, local: LocalId, since: ExprId, at: ExprId) -> bool {
        let tree = self.tree();
        let range = |expr: ExprId| tree.expr(expr).range;
        let loops = tree.stmts.iter().filter(|stmt| stmt.kind.is_loop());
        let loops = loops.map(|stmt| stmt.range).chain(jumps_back(tree));
        let mut around = loops.filter(|it| it.contains(range(since)) && it.contains(range(at)));
        let is_set = |within: TokenRange| {
            let mut stores = tree.stores();
            stores.any(|(to, value)| to == local && within.contains(range(value)))
        };
        around.any(|it| !is_set(it))
    }
}

/// What `goto` runs again: from a label to a jump further on that goes there.
fn jumps_back(tree: &Tree) -> impl Iterator<Item = TokenRange> {
    let labels = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Label { name, .. } => Some((name, stmt.range.start)),
        _ => None,
    });
    labels.flat_map(|(name, start)| {
        let jumps = tree.stmts.iter().filter(move |stmt| {
            matches!(&stmt.kind, StmtKind::Goto(to) if to == name) && stmt.range.start > start
        });
        jumps.map(move |jump| TokenRange {
            start,
            end: jump.range.end,
        })
    })
}
