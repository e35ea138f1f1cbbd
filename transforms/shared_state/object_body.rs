//! UG504: what a body does that the lock of one object around it does not serve, and who else uses
//! the fields.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::ast::{ExprId, ExprKind, Function, Name, Tree};
use crate::capi;
use crate::program::Body;
use crate::roles::Role;
use crate::rule::{ItemId, PackageCx};
use crate::state::{Method, ObjectState};

/// How many calls deep a body is followed.
const MAX_DEPTH: u32 = 3;

/// Why the lock around the whole body of `method` would be wrong, and what is right there. `None`
/// if nothing speaks against it.
///
/// ```c
/// Py_BEGIN_ALLOW_THREADS
/// n = read(self->fd, buffer, size);            /* lets the lock go exactly there */
/// Py_END_ALLOW_THREADS
/// result = PyObject_CallNoArgs(self->hook);    /* so does this, and others replace the hook */
/// ```
pub(super) fn unfit(cx: &PackageCx<'_>, state: &ObjectState, method: &Method) -> Option<String> {
    let function = cx.function(method.item)?;
    if other_object(function, state) {
        return Some(
            "it uses fields of two objects: `Py_BEGIN_CRITICAL_SECTION2` holds both".into(),
        );
    }
    if detaches(cx, function, MAX_DEPTH) {
        return Some(
            "its body detaches the thread, which lets the lock go there: read the fields in a \
             section, keep what they hold by a strong reference, and leave the section before"
                .into(),
        );
    }
    let (callee, field) = python_on_field(cx, function, state)?;
    Some(format!(
        "`{callee}` runs Python code on `{field}`, which lets the lock go there: read the field in \
         a section, take a strong reference, leave the section, and then use it; replace it by an \
         exchange in a section"
    ))
}

/// Whether a call of the body, or of what it calls, lets other threads run by detaching.
fn detaches(cx: &PackageCx<'_>, function: &Function, depth: u32) -> bool {
    let tree = &function.tree;
    callees(tree).any(|(name, _)| {
        let mut definitions = cx.definitions(name);
        capi::detaches(name)
            || depth > 0 && definitions.any(|(_, inner)| detaches(cx, inner, depth - 1))
    })
}

fn callees(tree: &Tree) -> impl Iterator<Item = (&str, &[ExprId])> {
    tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Call { callee, args } => Some((tree.callee_name(*callee)?, &args[..])),
        _ => None,
    })
}

/// A call that runs Python code on what a field of the object holds, be it one that methods
/// change, or have changed without a lock so far. One that takes the reference
/// over, as `Py_DECREF` does, is the end of its use.
fn python_on_field<'f>(
    cx: &PackageCx<'_>,
    function: &'f Function,
    state: &ObjectState,
) -> Option<(&'f str, &'f str)> {
    let tree = &function.tree;
    callees(tree).find_map(|(name, args)| {
        let effects = capi::effects(name).filter(|effects| effects.runs_python)?;
        if !effects.steals.is_empty() || cx.is_macro(name) {
            return None;
        }
        let field = args.iter().find_map(|&arg| field_of(tree, arg, state))?;
        Some((name, field.1))
    })
}

/// The base and the name of the field of an object of the type that `expr` is.
fn field_of<'t>(tree: &'t Tree, expr: ExprId, state: &ObjectState) -> Option<(ExprId, &'t str)> {
    let (ty, base, field) = field(tree, expr)?;
    (ty == state.type_name).then_some((base, field))
}

/// The type of an object, the object, and the field of it that `expr` is.
fn field(tree: &Tree, expr: ExprId) -> Option<(&str, ExprId, &str)> {
    match &tree.expr(expr).kind {
        ExprKind::Cast { operand, .. } => field(tree, *operand),
        ExprKind::Member {
            base,
            field,
            arrow: true,
        } => {
            let ty = match &tree.expr(*base).kind {
                ExprKind::Name(Name::Local(local)) => &tree.local(*local).ty,
                ExprKind::Cast { ty, .. } => ty,
                _ => return None,
            };
            Some((ty.pointee()?.name()?, *base, field))
        }
        _ => None,
    }
}

/// Whether the function uses fields of an object of the type that another one of its parameters
/// is: `self->n += ((Counter *)other)->n`.
fn other_object(function: &Function, state: &ObjectState) -> bool {
    let tree = &function.tree;
    let others = function.params.get(1..).unwrap_or_default();
    tree.expr_ids().any(|expr| {
        let base = field_of(tree, expr, state).map(|(base, _)| base);
        let base = base.map(|base| match &tree.expr(base).kind {
            ExprKind::Cast { operand, .. } => *operand,
            _ => base,
        });
        base.is_some_and(|base| match &tree.expr(base).kind {
            ExprKind::Name(Name::Local(local)) => others.contains(local),
            _ => false,
        })
    })
}

/// The functions of a package that use fields of objects, by the type and the field.
pub(super) struct FieldUsers<'p>(FxHashMap<(&'p str, &'p str), BTreeSet<ItemId>>);

impl<'p> FieldUsers<'p> {
    pub(super) fn new(cx: &PackageCx<'p>) -> Self {
        let mut users: FxHashMap<_, BTreeSet<ItemId>> = FxHashMap::default();
        for (item, at) in cx.program.items.iter().zip(0u32..) {
            let Some(Body::Function(function)) = &item.body else {
                continue;
            };
            if item.needs_gil {
                continue;
            }
            let tree = &function.tree;
            for (ty, _, field) in tree.expr_ids().filter_map(|expr| field(tree, expr)) {
                users.entry((ty, field)).or_default().insert(ItemId(at));
            }
        }
        Self(users)
    }

    /// The functions that use fields of the state, and that are neither its methods nor called by
    /// these only, nor have the object for themselves.
    pub(super) fn others(&self, cx: &PackageCx<'_>, state: &ObjectState) -> BTreeSet<String> {
        let methods: BTreeSet<ItemId> = state.methods.iter().map(|method| method.item).collect();
        let fields = state.fields.iter();
        let users = fields.filter_map(|field| self.0.get(&(&*state.type_name, &**field)));
        let users: BTreeSet<ItemId> = users.flatten().copied().collect();
        let others = users.difference(&methods).filter_map(|&id| {
            let function = cx.function(id)?;
            let has_role = cx.roles().is_some_and(|roles| {
                let mut of = roles.of(cx.item(id), function);
                of.any(|role| matches!(role, Role::Slot(_)))
            });
            let calls = cx.calls_to(&function.name);
            let by_methods =
                !calls.is_empty() && calls.iter().all(|call| methods.contains(&call.item));
            let is_other = !has_role && !by_methods && !cx.runs_at_init_only(&function.name);
            is_other.then(|| function.name.clone())
        });
        others.collect()
    }
}
