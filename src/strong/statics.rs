//! Static variables that hold nothing but what lookups gave, without a reference of their own.
//!
//! ```c
//! static struct { PyObject *spawn; } state;
//! state.spawn = PyDict_GetItemString(dict, "spawn");       /* the only writes are like this one */
//! PyObject_CallNoArgs(state.spawn);                        /* anything but taking its address, … */
//! Py_DECREF(state.spawn);                                  /* … or counting what it holds */
//! ```

use std::collections::BTreeSet;

use super::item::replacement_of;
use super::kept::{Stored, stored};
use super::scene::Scene;
use crate::ast::{ExprId, ExprKind, Init, Name, Storage, Tree, UnaryOp};
use crate::capi::{Absent, OldErrors, Replacement};

/// A static variable, or a field of one, all writes of which are lookups of one function.
pub(super) struct Static {
    /// As it is written: `state.spawn`.
    pub text: String,
    /// The last word of that.
    pub name: String,
    pub stores: Vec<(Stored, &'static Replacement)>,
}

impl Static {
    /// The strong functions that fill it.
    pub(super) fn functions(&self) -> BTreeSet<&'static str> {
        let stores = self.stores.iter();
        stores.map(|(_, replacement)| replacement.strong).collect()
    }
}

/// The static variable that is `place`, if it may keep references.
pub(super) fn kept_by(scene: &Scene<'_>, place: ExprId) -> Option<Static> {
    let wanted = Wanted::of(scene.tree, place)?;
    if let ExprKind::Member { base, .. } = scene.tree.expr(place).kind {
        let owner = scene.cx.types().owner(scene.tree, base, false)?;
        scene
            .cx
            .types()
            .definition(&owner)
            .filter(|it| !it.overlaps)?;
    }
    let program = scene.cx.program;
    if scene.cx.is_named_unread(&wanted.variable) || !is_declared_empty(scene, &wanted.variable) {
        return None;
    }
    let mut declarations = program
        .declarations()
        .map(|(_, declaration)| &declaration.tree);
    if !declarations.all(|tree| wanted.writes(tree).is_some_and(|writes| writes.is_empty())) {
        return None;
    }
    let here = scene.cx.item(scene.item).place;
    for (item, function) in program.functions() {
        let writes = wanted.writes(&function.tree)?;
        if !writes.is_empty() && item.place != here {
            return None;
        }
    }
    let writes = wanted.writes(scene.tree)?;
    let stores: Option<Vec<_>> = writes
        .into_iter()
        .map(|value| {
            let replacement = replacement_of(scene.cx, scene.item, value)?;
            let is_plain = replacement.errors != OldErrors::Unchecked
                && replacement.absent != Absent::None
                && replacement.caution.is_none();
            Some((stored(scene, value)?, replacement)).filter(|_| is_plain)
        })
        .collect();
    Some(Static {
        text: scene.text(scene.span(place)?),
        name: wanted.field.unwrap_or(wanted.variable),
        stores: stores?,
    })
}

/// Whether the package declares the variable, and it begins with nothing.
fn is_declared_empty(scene: &Scene<'_>, variable: &str) -> bool {
    let mut is_declared = false;
    for (_, declaration) in scene.cx.program.declarations() {
        for declarator in &declaration.declarators {
            if declarator.name != variable {
                continue;
            }
            let is_empty = match &declarator.init {
                None => true,
                Some(Init::Expr(value)) => declaration.tree.is_null(*value),
                Some(_) => false,
            };
            if !is_empty || declaration.thread_local {
                return false;
            }
            is_declared |= matches!(declaration.storage, Storage::None | Storage::Static);
        }
    }
    is_declared
}

/// A variable of file scope, or a field of one.
struct Wanted {
    variable: String,
    field: Option<String>,
}

impl Wanted {
    fn of(tree: &Tree, place: ExprId) -> Option<Self> {
        match &tree.expr(place).kind {
            ExprKind::Name(Name::Global(name)) => Some(Self {
                variable: name.to_string(),
                field: None,
            }),
            ExprKind::Member {
                base,
                field,
                arrow: false,
            } => match &tree.expr(*base).kind {
                ExprKind::Name(Name::Global(name)) => Some(Self {
                    variable: name.to_string(),
                    field: Some(field.to_string()),
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// What `tree` assigns to it; `None` if it does more with it than to read it: takes its
    /// address, counts what it holds, or names all of the variable.
    fn writes(&self, tree: &Tree) -> Option<Vec<ExprId>> {
        if !tree.exprs.iter().any(|expr| self.names(&expr.kind)) {
            return Some(Vec::new());
        }
        let is_it = |expr: ExprId| {
            let it = Self::of(tree, tree.without_casts(expr));
            it.is_some_and(|it| it.variable == self.variable && it.field == self.field)
        };
        let mut writes = Vec::new();
        let (mut named, mut members) = (0, 0);
        for expr in &tree.exprs {
            named += usize::from(self.names(&expr.kind));
            match &expr.kind {
                ExprKind::Member { base, .. } if self.names(&tree.expr(*base).kind) => members += 1,
                ExprKind::Assign { op: None, lhs, rhs } if is_it(*lhs) => writes.push(*rhs),
                ExprKind::Assign { lhs, .. } if is_it(*lhs) => return None,
                ExprKind::Unary { op, operand } if *op != UnaryOp::Not && is_it(*operand) => {
                    return None;
                }
                ExprKind::Call { callee, args } => {
                    let name = tree.callee_name(*callee).unwrap_or_default();
                    if args.iter().any(|&arg| is_it(arg)) && counts(name) {
                        return None;
                    }
                }
                _ => {}
            }
        }
        // `memset(&state, 0, sizeof(state))` names the struct as a whole.
        (self.field.is_none() || named == members).then_some(writes)
    }

    fn names(&self, kind: &ExprKind) -> bool {
        matches!(kind, ExprKind::Name(Name::Global(name)) if **name == *self.variable)
    }
}

/// Whether a function takes or releases references of what it gets.
fn counts(name: &str) -> bool {
    matches!(
        name,
        "Py_INCREF"
            | "Py_XINCREF"
            | "Py_IncRef"
            | "Py_NewRef"
            | "Py_XNewRef"
            | "Py_DECREF"
            | "Py_XDECREF"
            | "Py_DecRef"
            | "Py_CLEAR"
            | "Py_SETREF"
            | "Py_XSETREF"
            | "Py_VISIT"
    )
}
