//! UG504: what a body does that the lock of one object around it does not serve, and who else uses
//! the fields.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;

use rustc_hash::FxHashMap;

use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree, UnaryOp};
use crate::capi::{self, Returns};
use crate::program::Body;
use crate::roles::Role;
use crate::rule::{CallSite, ItemId, Method, ObjectState, PackageCx};
use crate::state::{Own, is_shared};
use crate::writes::Makers;

/// How many calls deep a body is followed.
const MAX_DEPTH: u32 = 3;

/// What is right in a method in which a lock around the whole body is not.
pub(super) struct ByHand {
    /// What to do, as an imperative.
    advice: Cow<'static, str>,
    why: Cow<'static, str>,
}

const LOCK_BOTH: &str = "lock both objects with `Py_BEGIN_CRITICAL_SECTION2`";

impl ByHand {
    fn new(advice: impl Into<Cow<'static, str>>, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            advice: advice.into(),
            why: why.into(),
        }
    }

    /// The lock is right, but cannot be written.
    pub(super) fn lock(why: &'static str) -> Self {
        Self::new("lock the object by hand", why)
    }
}

impl fmt::Display for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.advice, self.why)
    }
}

/// Why the lock around the whole body of `method` would be wrong, and what is right there. `None`
/// if nothing speaks against it.
///
/// ```c
/// Py_BEGIN_ALLOW_THREADS
/// n = read(self->fd, buffer, size);            /* lets the lock go exactly there */
/// Py_END_ALLOW_THREADS
/// result = PyObject_CallNoArgs(self->hook);    /* so does this, and others replace the hook */
/// ```
pub(super) fn unfit(cx: &PackageCx<'_>, state: &ObjectState, method: &Method) -> Option<ByHand> {
    let function = cx.function(method.item)?;
    let locked: Vec<usize> = method.objects.iter().copied().collect();
    if let Some(why) = unlockable(cx, function, method) {
        return Some(why);
    }
    if let Some((name, field)) = other_object(cx, function, state, &locked) {
        let why =
            format!("it also uses `{field}` of `{name}`, which is not known at its beginning");
        return Some(ByHand::new(LOCK_BOTH, why));
    }
    if detaches(cx, function, MAX_DEPTH) {
        return Some(ByHand::new(
            "read the fields in a critical section, take strong references, and leave the section \
             before the thread is detached",
            "detaching releases the lock",
        ));
    }
    let (callee, field) = python_on_field(cx, function, state)?;
    Some(ByHand::new(
        format!(
            "take a strong reference to `{field}` in a critical section, leave the section, and \
             then use the object; to replace the field, swap the pointer in a section and release \
             the old object afterwards"
        ),
        format!("`{callee}` runs Python code on `{field}`, which may release the lock"),
    ))
}

/// Why no section around the whole function can hold the objects that it gets: there are more than two,
/// or one may be `NULL`.
fn unlockable(cx: &PackageCx<'_>, function: &Function, method: &Method) -> Option<ByHand> {
    if method.objects.len() > 2 {
        return Some(ByHand::lock(
            "it uses fields of more than two objects, which one section cannot lock",
        ));
    }
    let is_object = |at: usize| {
        let roles = cx.roles().into_iter();
        let mut roles = roles.flat_map(|roles| roles.of(cx.item(method.item), function));
        let is_null = |call: &CallSite| {
            let given = cx.call(*call).1.get(at);
            let tree = cx.tree(call.item);
            tree.is_none_or(|tree| given.is_none_or(|&given| tree.is_null(given)))
        };
        roles.all(|role| role.is_object(at)) && !cx.calls_to(&function.name).iter().any(is_null)
    };
    let missing = method.objects.iter().find(|&&at| !is_object(at))?;
    let name = &function.tree.local(*function.params.get(*missing)?).name;
    let why = format!("it also uses fields of `{name}`, which may be `NULL`");
    Some(ByHand::new(
        format!("{LOCK_BOTH} if `{name}` is not `NULL`"),
        why,
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
/// over, as `Py_DECREF` does, is the end of its use, and a number is copied before the call.
fn python_on_field<'f>(
    cx: &PackageCx<'f>,
    function: &'f Function,
    state: &ObjectState,
) -> Option<(&'f str, &'f str)> {
    let tree = &function.tree;
    callees(tree).find_map(|(name, args)| {
        let effects = capi::effects(name).filter(|effects| effects.runs_python)?;
        if !effects.steals.is_empty() || cx.is_macro(name) {
            return None;
        }
        let types = cx.types();
        let is_number = |arg| types.of(tree, arg).is_some_and(|ty| types.is_number(ty));
        let mut args = args.iter().filter(|&&arg| !is_number(arg));
        let field = args.find_map(|&arg| field_of(cx, tree, arg, state))?;
        Some((name, field.1))
    })
}

/// The base and the name of the field of an object of the type that `expr` is.
pub(super) fn field_of<'t>(
    cx: &PackageCx<'t>,
    tree: &'t Tree,
    expr: ExprId,
    state: &ObjectState,
) -> Option<(ExprId, &'t str)> {
    let (ty, base, field) = field(cx, tree, expr)?;
    (ty == state.type_name).then_some((base, field))
}

/// The type of an object, the object, and the field of it that `expr` is.
fn field<'t>(
    cx: &PackageCx<'t>,
    tree: &'t Tree,
    expr: ExprId,
) -> Option<(&'t str, ExprId, &'t str)> {
    match &tree.expr(expr).kind {
        ExprKind::Cast { operand, .. } => field(cx, tree, *operand),
        ExprKind::Member {
            base,
            field,
            arrow: true,
        } => {
            let ty = cx.types().of(tree, *base)?;
            Some((ty.pointee()?.name()?, *base, field))
        }
        _ => None,
    }
}

/// An object of the type, other than those in `locked`, of which the function uses a field that
/// methods change, and the field. What a function has made is nobody else's.
///
/// ```c
/// if (!PyArg_ParseTuple(args, "O!", &Counter_Type, &other))
///     return NULL;
/// self->count += other->count;
/// ```
fn other_object<'f>(
    cx: &PackageCx<'f>,
    function: &'f Function,
    state: &ObjectState,
    locked: &[usize],
) -> Option<(&'f str, &'f str)> {
    let tree = &function.tree;
    let own: Vec<Own> = locked
        .iter()
        .filter_map(|&at| Own::new(function, at))
        .collect();
    tree.expr_ids().find_map(|expr| {
        let (base, field) = field_of(cx, tree, expr, state)?;
        let base = tree.without_casts(base);
        let (name, is_lent) = match (&tree.expr(base).kind, tree.as_local(base)) {
            (_, Some(local)) => (&*tree.local(local).name, is_lent(function, local)),
            // `((Counter *)self->next)->count`
            (ExprKind::Member { field, .. }, _) => (&**field, true),
            _ => return None,
        };
        let is_locked = own.iter().any(|own| own.is_object(tree, base));
        let is_other = !is_locked && is_lent && state.guards(field);
        is_other.then_some((name, field))
    })
}

/// Whether a variable may hold an object that others have: one that is passed in, parsed, read from a
/// place, or borrowed from a container.
fn is_lent(function: &Function, local: LocalId) -> bool {
    let tree = &function.tree;
    let is_parsed = tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => tree.as_local(operand) == Some(local),
        _ => false,
    });
    let mut values = tree.stores().filter(|(stored, _)| *stored == local);
    let is_lent = |value: ExprId| match tree.call(value) {
        Some((name, _)) => {
            capi::effects(name).is_some_and(|effects| effects.returns == Returns::Borrowed)
        }
        None => !tree.is_null(value) && !matches!(tree.expr(value).kind, ExprKind::Call { .. }),
    };
    is_parsed
        || function.params.contains(&local)
        || values.any(|(_, value)| is_lent(tree.without_casts(value)))
}

/// The functions of a package that use fields of objects, by the type and the field.
pub(super) struct FieldUsers<'c, 'p> {
    by_field: FxHashMap<(&'p str, &'p str), BTreeSet<ItemId>>,
    makers: OnceCell<Makers<'c, 'p>>,
}

impl<'c, 'p> FieldUsers<'c, 'p> {
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
            for (ty, _, field) in tree.expr_ids().filter_map(|expr| field(cx, tree, expr)) {
                users.entry((ty, field)).or_default().insert(ItemId(at));
            }
        }
        Self {
            by_field: users,
            makers: OnceCell::new(),
        }
    }

    /// The functions that use fields of the state, and that are neither its methods nor called by
    /// these only, nor have the object for themselves.
    pub(super) fn others(&self, cx: &'c PackageCx<'p>, state: &ObjectState) -> BTreeSet<String> {
        let methods: BTreeSet<ItemId> = state.methods.iter().map(|method| method.item).collect();
        let fields: BTreeSet<String> = &state.fields | &state.by_init;
        let users = fields.iter().flat_map(|field| {
            let all = self.by_field.get(&(&*state.type_name, &**field));
            let all = all.into_iter().flatten().copied();
            all.filter(|&id| !only_has_pointer(cx, id, state, field))
        });
        let users: BTreeSet<ItemId> = users.collect();
        let others = users.difference(&methods).filter_map(|&id| {
            let function = cx.function(id)?;
            let has_role = cx.roles().is_some_and(|roles| {
                let mut of = roles.of(cx.item(id), function);
                of.any(|role| matches!(role, Role::Slot(_)) && !is_shared(role))
            });
            let calls = cx.calls_to(&function.name);
            let by_methods =
                !calls.is_empty() && calls.iter().all(|call| methods.contains(&call.item));
            let makers = || self.makers.get_or_init(|| Makers::new(cx));
            let is_other = !has_role
                && !by_methods
                && !cx.runs_at_init_only(&function.name)
                && !makers().keeps_to_own(id, &fields);
            is_other.then(|| function.name.clone())
        });
        let sharing = state.sharing.iter().filter_map(|&id| cx.function(id));
        others.chain(sharing.map(|it| it.name.clone())).collect()
    }
}

/// Whether a method of the type reads a pointer from its object, and does not use what is there: else it
/// would be one of those in `state`.
///
/// ```c
/// return PyBool_FromLong(self->tree == NULL);
/// ```
fn only_has_pointer(cx: &PackageCx<'_>, id: ItemId, state: &ObjectState, name: &str) -> bool {
    let Some(function) = cx.function(id).filter(|_| !state.set.contains(name)) else {
        return false;
    };
    let tree = &function.tree;
    let roles = cx.roles().into_iter();
    let mut roles = roles.flat_map(|roles| roles.of(cx.item(id), function));
    let params = 0..function.params.len();
    let own: Vec<Own> = params.filter_map(|at| Own::new(function, at)).collect();
    let is_own = |base: ExprId| own.iter().any(|own| own.is_object(tree, base));
    let mut uses = tree
        .expr_ids()
        .filter_map(|expr| field_of(cx, tree, expr, state));
    state.behind.contains(name)
        && roles.any(is_shared)
        && uses.all(|(base, used)| used != name || is_own(base))
}
