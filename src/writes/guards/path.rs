//! Places as paths from a variable, so that a lock and what it guards can be compared.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Storage, Tree, TypeKind, UnaryOp};

/// Pointers that are followed to where they came from.
const MAX_ALIASES: u32 = 8;

/// Where a path begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::writes) enum Root {
    /// A local that holds one value.
    Local(LocalId),
    /// A variable that all calls share.
    Static(Box<str>),
    /// What a function without arguments takes: `lock_all();`
    Of(Box<str>),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::writes) enum Step {
    Deref,
    Field(Box<str>),
    /// An element, no matter which.
    Element,
}

/// `self->state.lock`: `self`, then to what it points to, its `state`, and the `lock` of that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::writes) struct Path {
    pub(in crate::writes) root: Root,
    pub(in crate::writes) steps: Vec<Step>,
}

impl Path {
    fn of(root: Root) -> Self {
        Self {
            root,
            steps: Vec::new(),
        }
    }

    pub(in crate::writes) fn with(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The steps to the object that the place is a part of.
    pub(in crate::writes) fn object(&self) -> &[Step] {
        let last = self.steps.iter().rposition(|step| *step == Step::Deref);
        &self.steps[..last.map_or(0, |at| at + 1)]
    }
}

/// The paths of one function.
pub(in crate::writes) struct Paths<'a> {
    tree: &'a Tree,
    function: &'a str,
    /// How often a local is set, or its address is taken.
    changes: BTreeMap<LocalId, u32>,
    /// What locals that are set once are set to.
    values: FxHashMap<LocalId, ExprId>,
}

impl<'a> Paths<'a> {
    pub(in crate::writes) fn new(function: &'a Function) -> Self {
        let tree = &function.tree;
        let mut changes: BTreeMap<LocalId, u32> =
            function.params.iter().map(|&param| (param, 1)).collect();
        let mut values = FxHashMap::default();
        for (local, value) in tree.stores().filter(|(_, value)| !tree.is_null(*value)) {
            *changes.entry(local).or_default() += 1;
            values.insert(local, value);
        }
        for at in tree.expr_ids() {
            let stepped = match tree.expr(at).kind {
                ExprKind::Unary { op, operand } if op.is_step() => tree.as_local(operand),
                _ => tree.as_address(at),
            };
            if let Some(local) = stepped {
                *changes.entry(local).or_default() += 1;
            }
        }
        values.retain(|local, _| changes.get(local) == Some(&1));
        Self {
            tree,
            function: &function.name,
            changes,
            values,
        }
    }

    /// The path of a place; `None` if it cannot be told which one it is.
    pub(in crate::writes) fn place(&self, expr: ExprId) -> Option<Path> {
        self.place_in(expr, MAX_ALIASES)
    }

    /// What a pointer points to.
    pub(in crate::writes) fn pointee(&self, pointer: ExprId) -> Option<Path> {
        self.pointee_in(pointer, MAX_ALIASES)
    }

    /// Where a value comes from: `self->fd`, where `fd` is set once to that.
    pub(in crate::writes) fn origin(&self, value: ExprId) -> ExprId {
        let mut value = self.tree.without_casts(value);
        for _ in 0..MAX_ALIASES {
            let local = self.tree.as_local(value);
            match local.and_then(|local| self.values.get(&local)) {
                Some(&from) => value = self.tree.without_casts(from),
                None => break,
            }
        }
        value
    }

    fn place_in(&self, expr: ExprId, depth: u32) -> Option<Path> {
        let tree = self.tree;
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => Some(Path::of(Root::Static(name.clone()))),
            ExprKind::Name(Name::Local(local)) if !tree.local(*local).is_automatic() => {
                let variable = tree.local(*local);
                let name = match variable.storage {
                    Storage::Static => format!("{}.{}", self.function, variable.name),
                    _ => variable.name.clone(),
                };
                (!variable.thread_local).then(|| Path::of(Root::Static(name.into())))
            }
            ExprKind::Name(Name::Local(local)) => {
                let is_one = self.changes.get(local).is_none_or(|&times| times <= 1);
                is_one.then(|| Path::of(Root::Local(*local)))
            }
            ExprKind::Member { base, field, arrow } => {
                let base = match arrow {
                    true => self.pointee_in(*base, depth)?,
                    false => self.place_in(*base, depth)?,
                };
                Some(base.with(Step::Field(field.clone())))
            }
            ExprKind::Index { base, .. } => Some(match self.is_array(*base) {
                true => self.place_in(*base, depth)?.with(Step::Element),
                false => self.pointee_in(*base, depth)?.with(Step::Element),
            }),
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.pointee_in(*operand, depth),
            ExprKind::Cast { operand, .. } => self.place_in(*operand, depth),
            _ => None,
        }
    }

    fn pointee_in(&self, pointer: ExprId, depth: u32) -> Option<Path> {
        let tree = self.tree;
        let pointer = tree.without_casts(pointer);
        if let ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } = tree.expr(pointer).kind
        {
            return self.place_in(operand, depth);
        }
        if self.is_array(pointer) {
            return self.place_in(pointer, depth);
        }
        let origin = tree
            .as_local(pointer)
            .and_then(|local| self.values.get(&local))
            .filter(|_| depth > 0)
            .and_then(|&value| self.pointee_in(value, depth - 1));
        match origin {
            Some(path) => Some(path),
            None => Some(self.place_in(pointer, depth)?.with(Step::Deref)),
        }
    }

    fn is_array(&self, expr: ExprId) -> bool {
        let local = self.tree.as_local(expr).map(|it| self.tree.local(it));
        local.is_some_and(|it| !it.is_param && matches!(it.ty.kind, TypeKind::Array(..)))
    }
}
