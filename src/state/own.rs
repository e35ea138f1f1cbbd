//! The names under which a function knows the object that it was called on.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree, Type};

/// The parameter that holds the object, and the locals that are copies of it:
/// `Foo *self = (Foo *)op;`.
#[derive(Debug)]
pub struct Own {
    names: BTreeSet<LocalId>,
    types: BTreeMap<LocalId, String>,
}

impl Own {
    /// The names of parameter `param`; `None` if it is given another value.
    #[must_use]
    pub fn new(function: &Function, param: usize) -> Option<Self> {
        let tree = &function.tree;
        let mut own = Self {
            names: BTreeSet::from([*function.params.get(param)?]),
            types: BTreeMap::new(),
        };
        let values = values(tree);
        loop {
            let more: Vec<LocalId> = values
                .iter()
                .filter(|(local, all)| {
                    !own.names.contains(local)
                        // A parameter has a value already.
                        && !function.params.contains(local)
                        && all.iter().all(|&value| own.is_object(tree, value))
                })
                .map(|(local, _)| *local)
                .collect();
            if more.is_empty() {
                break;
            }
            own.names.extend(more);
        }
        let given_anew = |local: &LocalId| {
            let all = values.get(local);
            all.is_some_and(|all| !all.iter().all(|&value| own.is_object(tree, value)))
        };
        if own.names.iter().any(given_anew) {
            return None;
        }
        let types = own
            .names
            .iter()
            .filter_map(|&local| Some((local, struct_name(&tree.local(local).ty)?.to_owned())));
        own.types = types.collect();
        Some(own)
    }

    /// Whether a variable is one of the names.
    pub(super) fn names(&self, local: LocalId) -> bool {
        self.names.contains(&local)
    }

    /// Whether `expr` is the object, under any type.
    #[must_use]
    pub fn is_object(&self, tree: &Tree, expr: ExprId) -> bool {
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => self.names.contains(local),
            ExprKind::Cast { operand, .. } => self.is_object(tree, *operand),
            _ => false,
        }
    }

    /// The struct and the field that `expr` names of the object: `self->field`,
    /// `((Foo *)op)->field`.
    #[must_use]
    pub fn field<'t>(&'t self, tree: &'t Tree, expr: ExprId) -> Option<(&'t str, &'t str)> {
        let ExprKind::Member {
            base,
            field,
            arrow: true,
        } = &tree.expr(expr).kind
        else {
            return None;
        };
        let name = match &tree.expr(*base).kind {
            ExprKind::Name(Name::Local(local)) => self.types.get(local)?,
            ExprKind::Cast { ty, operand } if self.is_object(tree, *operand) => struct_name(ty)?,
            _ => return None,
        };
        Some((name, field))
    }
}

/// The struct behind a pointer; `None` for those that every object has.
pub(super) fn struct_name(ty: &Type) -> Option<&str> {
    const COMMON: &[&str] = &["PyObject", "_object", "PyVarObject", "PyTypeObject", "void"];
    let name = ty.pointee()?.name()?;
    (!COMMON.contains(&name)).then_some(name)
}

/// All values that locals are given, by local.
pub(super) fn values(tree: &Tree) -> BTreeMap<LocalId, Vec<ExprId>> {
    let mut values: BTreeMap<LocalId, Vec<ExprId>> = BTreeMap::new();
    for (local, value) in tree.stores() {
        values.entry(local).or_default().push(value);
    }
    values
}
