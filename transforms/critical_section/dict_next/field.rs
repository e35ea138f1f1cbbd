//! Whether code that the loop runs may set the field or variable that holds its dict.

use std::collections::BTreeSet;

use crate::ast::{Declaration, ExprId, ExprKind, Name, TokenRange, Tree, UnaryOp};
use crate::program::{Body, ItemId, ProgramItem};
use crate::roles::{Role, reached_only_from};

use super::called::{may_set, sets_itself};
use super::scope::{Scope, inside};
use super::site::Site;

/// Fields of objects of Python itself that Python code can set: `f.__dict__ = {}`.
const SET_BY_PYTHON: [&str; 5] = [
    "func_dict",
    "func_kwdefaults",
    "func_annotations",
    "cm_dict",
    "sm_dict",
];

/// Whether nothing sets what the dict of `site` is read from as long as its loop runs: nothing that
/// the loop calls does, or only functions that build or destroy objects or the module do.
///
/// An `__init__` counts as one that builds, though Python can call it again in the middle of the
/// loop: that loop would go on in another dict with the position of the first.
pub(super) fn keeps_its_dict(scope: &Scope<'_>, site: &Site) -> bool {
    let mut names = BTreeSet::new();
    names_in(scope.tree(), site.dict, &mut names);
    let is_set = || sets(scope.tree(), site.range(scope), &names) || may_set(scope, site, &names);
    !is_unknown(scope, &names) && (!is_set() || is_built_only(scope, &names))
}

/// Whether the loop of `site`, or code of the package that it calls, itself sets what the dict is
/// read from.
pub(super) fn sets_its_dict(scope: &Scope<'_>, site: &Site) -> bool {
    let mut names = BTreeSet::new();
    names_in(scope.tree(), site.dict, &mut names);
    !names.is_empty()
        && (sets(scope.tree(), site.range(scope), &names) || sets_itself(scope, site, &names))
}

/// Whether `region`, or more than what builds or destroys objects or the module, may set
/// what `value` reads, or that cannot be told: `slots[i]`.
pub(super) fn may_be_set(scope: &Scope<'_>, region: TokenRange, value: ExprId) -> bool {
    let mut names = BTreeSet::new();
    names_in(scope.tree(), value, &mut names);
    names.is_empty()
        || is_unknown(scope, &names)
        || sets(scope.tree(), region, &names)
        || !is_built_only(scope, &names)
}

fn is_unknown(scope: &Scope<'_>, names: &BTreeSet<&str>) -> bool {
    let unknown = |name: &&str| SET_BY_PYTHON.contains(name) || scope.cx.is_named_unread(name);
    names.iter().any(unknown)
}

/// Whether only functions that build or destroy objects or the module set one of these fields and
/// variables.
fn is_built_only(scope: &Scope<'_>, names: &BTreeSet<&str>) -> bool {
    let cx = scope.cx;
    let (Some(roles), program) = (cx.roles(), cx.program) else {
        return false;
    };
    let mut shown = program.declarations();
    if shown.any(|(item, declaration)| is_shown(scope, item, declaration, names)) {
        return false;
    }
    let builds =
        |_: &str, of: &[&Role]| !of.is_empty() && of.iter().all(|role| builds_or_ends(role));
    let builders = reached_only_from(program, cx.call_index(), roles, &builds);
    (0u32..).zip(&program.items).all(|(at, item)| {
        let Some(Body::Function(function)) = &item.body else {
            return true;
        };
        builders.contains(&*function.name)
            || !sets(&function.tree, function.range, names)
            || sets_new_only(scope, ItemId(at), &function.tree, names)
    })
}

fn builds_or_ends(role: &Role) -> bool {
    let builds = matches!(role, Role::Slot(slot) if matches!(&**slot, "tp_new" | "tp_init"));
    builds || role.is_destructor() || role.is_module_init()
}

/// Whether a table shows one of the fields to Python, which may then set it:
/// `{"data", T_OBJECT, offsetof(Cache, data)}`.
fn is_shown(
    scope: &Scope<'_>,
    item: &ProgramItem,
    declaration: &Declaration,
    names: &BTreeSet<&str>,
) -> bool {
    if declaration
        .declarators
        .iter()
        .all(|each| each.init.is_none())
    {
        return false;
    }
    let files = scope.cx.program.files;
    let count = u32::try_from(item.tokens.tokens.len()).expect("items fit");
    let text = |at| item.tokens.text(files, at);
    let is_name = |at| std::str::from_utf8(text(at)).is_ok_and(|word| names.contains(word));
    let is_fixed = |at| {
        let row = (at..count).map(text).take_while(|word| *word != b"}");
        row.into_iter()
            .any(|word| matches!(word, b"READONLY" | b"Py_READONLY"))
    };
    (0..count).any(|at| is_name(at) && !is_fixed(at))
}

/// Whether what stands in `range` sets one of the fields or variables, or lets others do so.
pub(super) fn sets(tree: &Tree, range: TokenRange, names: &BTreeSet<&str>) -> bool {
    let mut exprs = tree.exprs.iter().filter(|expr| inside(expr.range, range));
    exprs.any(|expr| sets_one(tree, &expr.kind, names))
}

/// Whether the function only assigns to such fields, of objects that it makes itself and that
/// nobody else knows by then.
fn sets_new_only(scope: &Scope<'_>, item: ItemId, tree: &Tree, names: &BTreeSet<&str>) -> bool {
    let assigns = |kind: &ExprKind| matches!(kind, ExprKind::Assign { .. });
    let mut setting = tree.exprs.iter().map(|expr| &expr.kind);
    setting.all(|kind| assigns(kind) || !sets_one(tree, kind, names))
        && names.iter().all(|name| scope.cx.sets_new_only(item, name))
}

/// Whether one expression sets one of the fields or variables, or lets others do so.
pub(super) fn sets_one(tree: &Tree, kind: &ExprKind, names: &BTreeSet<&str>) -> bool {
    let target = match kind {
        ExprKind::Assign { lhs, .. } => Some(*lhs),
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => Some(*operand),
        ExprKind::Call { callee, args } => {
            let replaces = matches!(
                tree.callee_name(*callee),
                Some("Py_CLEAR" | "Py_SETREF" | "Py_XSETREF")
            );
            args.first().copied().filter(|_| replaces)
        }
        _ => None,
    };
    let mut found = BTreeSet::new();
    if let Some(target) = target {
        target_in(tree, target, &mut found);
    }
    found.iter().any(|name| names.contains(name))
}

/// The field or variable that an assignment to `expr` sets, or whose elements it sets.
fn target_in<'t>(tree: &'t Tree, expr: ExprId, names: &mut BTreeSet<&'t str>) {
    match &tree.expr(expr).kind {
        ExprKind::Name(name) => names.extend(lasting(tree, name)),
        ExprKind::Member { field, .. } => {
            names.insert(field);
        }
        ExprKind::Index { base, .. } => target_in(tree, *base, names),
        ExprKind::Cast { operand, .. } => target_in(tree, *operand, names),
        _ => {}
    }
}

/// The fields and file-scope variables that an expression reads.
pub(super) fn names_in<'t>(tree: &'t Tree, expr: ExprId, names: &mut BTreeSet<&'t str>) {
    match &tree.expr(expr).kind {
        ExprKind::Name(name) => names.extend(lasting(tree, name)),
        ExprKind::Member { base, field, .. } => {
            names.insert(field);
            names_in(tree, *base, names);
        }
        ExprKind::Index { base, .. } => names_in(tree, *base, names),
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => {
            names_in(tree, *operand, names);
        }
        _ => {}
    }
}

/// The name of a variable that lasts longer than the function: a `static` one of its own is shared by
/// all of its calls.
fn lasting<'t>(tree: &'t Tree, name: &'t Name) -> Option<&'t str> {
    match name {
        Name::Global(name) => Some(name),
        Name::Local(local) => tree.is_static(*local).then(|| &*tree.local(*local).name),
    }
}
