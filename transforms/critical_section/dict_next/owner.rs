//! What keeps a dict alive that the function only borrows.
//!
//! ```c
//! PyArg_ParseTuple(result, "O!", &PyDict_Type, &options);
//! while (PyDict_Next(options, &pos, &key, &value)) {
//!     if (set_option(key, value) < 0) {
//!         Py_DECREF(result);              /* may free `options`, which the section still locks */
//!         return -1;
//!     }
//! }
//! ```

use std::collections::BTreeSet;

use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, Name, TokenRange, UnaryOp};
use crate::capi::{self, Returns};
use crate::cfg::{Cfg, Point, reaches};
use crate::ownership::summary::Param;
use crate::program::ItemId;
use crate::strong::Body;

use super::field::may_be_set;
use super::scope::{Scope, inside};
use super::site::Site;

/// Whether a reference to `object` keeps the dict of `site` alive: it is the dict, or what the dict
/// was taken out of.
pub(super) fn keeps_dict(scope: &Scope<'_>, site: &Site, object: ExprId) -> bool {
    if scope.is_same_text(object, site.dict) {
        return true;
    }
    let local = scope.local(scope.uncast(object));
    local.is_some_and(|local| owners(scope, site).contains(&local))
}

/// The variables whose objects may own the dict of `site`, itself included.
fn owners(scope: &Scope<'_>, site: &Site) -> BTreeSet<LocalId> {
    let mut seen: BTreeSet<LocalId> = BTreeSet::new();
    let mut open: Vec<LocalId> = scope.local(site.dict).into_iter().collect();
    while let Some(local) = open.pop() {
        if seen.insert(local) {
            open.extend(sources(scope, local));
        }
    }
    seen
}

/// Whether a section needs a reference of its own to the dict of `site`, a variable.
pub(super) fn needs_reference(scope: &Scope<'_>, site: &Site) -> bool {
    borrows_what_others_set(scope, site) || may_be_let_go(scope, site)
}

/// Whether what keeps the dict alive may be released in the region other than by its name:
/// `drop(result);`, `cleanup(&ctx);`, `Py_DECREF(ctx->result);`.
fn may_be_let_go(scope: &Scope<'_>, site: &Site) -> bool {
    let tree = scope.tree();
    let owners = owners(scope, site);
    tree.exprs_in(site.range(scope)).any(|(_, expr)| {
        let ExprKind::Call { callee, args } = &expr.kind else {
            return false;
        };
        let name = tree.callee_name(*callee);
        if name.is_some_and(|name| RELEASES.contains(&name)) {
            let place = args
                .first()
                .filter(|&&arg| scope.local(scope.uncast(arg)).is_none());
            let mut named = place.into_iter().flat_map(|&place| named_in(scope, place));
            return named.any(|local| owners.contains(&local));
        }
        let is_known =
            name.is_some_and(|name| capi::effects(name).is_some() || capi::is_libc(name));
        let mut args = args.iter().enumerate();
        !is_known && args.any(|(at, &arg)| lets_go(scope, &owners, name, (at, arg)))
    })
}

const RELEASES: [&str; 5] = [
    "Py_CLEAR",
    "Py_DECREF",
    "Py_SETREF",
    "Py_XDECREF",
    "Py_XSETREF",
];

/// Whether a call that gets an argument may release what `owners` hold; what a parameter is, the
/// caller holds.
fn lets_go(
    scope: &Scope<'_>,
    owners: &BTreeSet<LocalId>,
    name: Option<&str>,
    (at, arg): (usize, ExprId),
) -> bool {
    let arg = scope.uncast(arg);
    if let Some(local) = scope.address(arg) {
        return owners.contains(&local);
    }
    let Some(local) = scope.local(arg).filter(|local| owners.contains(local)) else {
        return false;
    };
    let (types, variable) = (scope.cx.types(), scope.tree().local(local));
    if !types.is_object_pointer(&variable.ty) {
        return !types.is_number(&variable.ty);
    }
    let is_callers = variable.is_param && !scope.is_written(local, scope.function.range, None);
    let param = name.and_then(|name| scope.cx.summaries().param(name, at));
    !is_callers && !matches!(param, Some(Param::Used | Param::Inside | Param::Through(_)))
}

/// Whether the dict of `site` is a variable that borrows what other code may take away:
/// `PyObject *dict = is_first ? first : second;`. What the function owns, or its caller, stays.
fn borrows_what_others_set(scope: &Scope<'_>, site: &Site) -> bool {
    match hold(scope, site) {
        (Hold::Kept, _) => false,
        (Hold::Lent, local) => local.is_none_or(|local| !is_counted(scope, site, local)),
        (Hold::Gone, _) => true,
    }
}

/// Whether the function, or its caller, has made the dict of `site` and given its reference up again
/// where the region begins: what keeps the dict alive from there on, other threads may take away.
///
/// ```c
/// d = PyObject_GetAttrString(o, "__dict__");
/// Py_DECREF(d);                               /* `o` keeps it, until another thread sets `__dict__` */
/// while (PyDict_Next(d, …
/// ```
pub(super) fn is_let_go(scope: &Scope<'_>, site: &Site) -> bool {
    hold(scope, site).0 == Hold::Gone
}

/// Who keeps an object alive, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    /// The function, or its caller.
    Kept,
    /// What other code may set.
    Lent,
    /// Others than the function, which has made it and given it up.
    Gone,
}

/// Who keeps the dict of `site` alive, and the variable that it is.
fn hold(scope: &Scope<'_>, site: &Site) -> (Hold, Option<LocalId>) {
    let local = scope.local(scope.uncast(site.dict));
    let at = Where {
        region: site.range(scope),
        begin: scope.cfg.before(site.region.first),
    };
    let hold = local.map_or(Hold::Kept, |local| {
        of_variable(scope, at, local, &mut BTreeSet::new())
    });
    (hold, local)
}

/// Where an object is needed.
#[derive(Debug, Clone, Copy)]
struct Where {
    region: TokenRange,
    /// The step that it begins with.
    begin: Option<Point>,
}

/// Variables of functions that were asked already.
type Seen = BTreeSet<(ItemId, LocalId)>;

fn of_variable(scope: &Scope<'_>, at: Where, local: LocalId, seen: &mut Seen) -> Hold {
    if !seen.insert((scope.item, local)) {
        return Hold::Kept;
    }
    let values = values(scope, local).chain(given_to(scope, local));
    let mut hold = values.map(|value| of_value(scope, at, value, seen)).max();
    if scope.tree().local(local).is_param {
        hold = hold.max(of_arguments(scope, local, seen));
    }
    let body = Body {
        cx: scope.cx,
        tree: scope.tree(),
        cfg: &scope.cfg,
    };
    let is_gone = at.begin.is_some_and(|begin| body.is_given_up(local, begin));
    hold.max(is_gone.then_some(Hold::Gone))
        .unwrap_or(Hold::Kept)
}

/// Who keeps `value` alive, if the region, or other code, sets what it may.
fn of_value(scope: &Scope<'_>, at: Where, value: ExprId, seen: &mut Seen) -> Hold {
    let value = scope.uncast(value);
    match &scope.expr(value).kind {
        _ if scope.tree().is_null(value) => Hold::Kept,
        ExprKind::Conditional {
            then, otherwise, ..
        } => {
            let either = then.iter().chain([otherwise]);
            let either = either.map(|&value| of_value(scope, at, value, seen));
            either.max().unwrap_or(Hold::Kept)
        }
        // d = known = self->dict;
        ExprKind::Assign { rhs: value, .. }
        | ExprKind::Binary {
            op: BinaryOp::Comma,
            rhs: value,
            ..
        } => of_value(scope, at, *value, seen),
        // PyObject *reg = registry; d = reg;
        ExprKind::Name(Name::Local(other)) if !scope.tree().is_static(*other) => {
            of_variable(scope, at, *other, seen)
        }
        ExprKind::Call { callee, args } => match lent_by(scope, *callee, args) {
            Lent::Out(of) => of.map_or(Hold::Kept, |of| of_value(scope, at, of, seen)),
            Lent::Unknown => Hold::Lent,
        },
        ExprKind::Index { base, .. } if is_argument_array(scope, *base) => Hold::Kept,
        // PyModule_GetDict(PyState_FindModule(&module)), PyImport_AddModule("__main__")
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            ..
        }
        | ExprKind::Str(_)
        | ExprKind::VaArg { .. } => Hold::Kept,
        _ if may_be_set(scope, at.region, value) => Hold::Lent,
        _ => Hold::Kept,
    }
}

/// Who keeps alive what the package calls the function with: `any_true(self->dict)`.
fn of_arguments(scope: &Scope<'_>, param: LocalId, seen: &mut Seen) -> Option<Hold> {
    let cx = scope.cx;
    let mut params = scope.function.params.iter();
    let at = params.position(|&other| other == param)?;
    let holds = cx.calls_to(&scope.function.name).iter().map(|call| {
        let Some(caller) = cx.function(call.item) else {
            return Hold::Lent;
        };
        let scope = Scope::new(cx, call.item, caller);
        match &scope.expr(call.expr).kind {
            ExprKind::Call { args, .. } => args.get(at).map_or(Hold::Kept, |&arg| {
                let region = scope.expr(arg).range;
                let begin = scope.cfg.call(call.expr);
                of_value(&scope, Where { region, begin }, arg, seen)
            }),
            _ => Hold::Lent,
        }
    });
    holds.max()
}

/// `args` of a function that Python calls: `PyObject *const *args`.
fn is_argument_array(scope: &Scope<'_>, array: ExprId) -> bool {
    let Some(local) = scope.local(scope.uncast(array)) else {
        return false;
    };
    let local = scope.tree().local(local);
    local.is_param && local.ty.pointee().is_some_and(|item| item.is_const)
}

/// The places that get the reference of a variable: `self->dict = d;`. A parameter is the caller's.
fn given_to<'s>(scope: &'s Scope<'_>, local: LocalId) -> impl Iterator<Item = ExprId> + 's {
    let tree = scope.tree();
    let is_it = move |value: ExprId| scope.local(scope.uncast(value)) == Some(local);
    let places = tree.exprs.iter().filter_map(move |expr| match &expr.kind {
        ExprKind::Assign { lhs, rhs, .. } if is_it(*rhs) => Some(*lhs),
        ExprKind::Call { callee, args } => match (tree.callee_name(*callee)?, &args[..]) {
            ("Py_SETREF" | "Py_XSETREF", [place, value]) if is_it(*value) => Some(*place),
            _ => None,
        },
        _ => None,
    });
    let is_variable = move |place: &ExprId| {
        let local = scope.local(*place);
        local.is_some_and(|local| !tree.is_static(local))
    };
    let is_param = tree.local(local).is_param;
    places.filter(move |place| !is_param && !is_variable(place))
}

/// What a call gives.
enum Lent {
    /// A reference of its own, or what one of the arguments keeps alive.
    Out(Option<ExprId>),
    Unknown,
}

/// A function of the package may lend what it returns:
/// `static PyObject *pick(Options *self) { return self->defaults; }`.
fn lent_by(scope: &Scope<'_>, callee: ExprId, args: &[ExprId]) -> Lent {
    let Some(name) = scope.tree().callee_name(callee) else {
        return Lent::Unknown;
    };
    if scope.cx.summaries().returns(name) == Some(Returns::New) {
        return Lent::Out(None);
    }
    let is_own = scope.cx.definitions(name).next().is_some();
    let Some(effects) = capi::effects(name).filter(|_| !is_own) else {
        return Lent::Unknown;
    };
    let owner = match effects.derived_from {
        // Out of a list or dict; whether the lookup gets a reference is not known here.
        _ if capi::replacement(name).is_some() => return Lent::Unknown,
        Some(owner) => Some(owner),
        None => name.contains("PyArg_").then_some(0),
    };
    Lent::Out(owner.and_then(|owner| args.get(usize::from(owner)).copied()))
}

const TAKES: [&str; 4] = ["Py_INCREF", "Py_XINCREF", "Py_NewRef", "Py_XNewRef"];

/// Whether the function takes a reference through `local` on every path to the section: one that it
/// takes behind the loop, `Py_INCREF(d); return d;`, comes too late.
fn is_counted(scope: &Scope<'_>, site: &Site, local: LocalId) -> bool {
    let takes = |kind: &ExprKind| match kind {
        ExprKind::Call { callee, args } => {
            let name = scope.tree().callee_name(*callee);
            let arg = args.first().map(|&arg| scope.uncast(arg));
            name.is_some_and(|name| TAKES.contains(&name))
                && arg.and_then(|arg| scope.local(arg)) == Some(local)
        }
        _ => false,
    };
    let ids = scope.tree().expr_ids();
    let taken = ids.filter(|&id| takes(&scope.expr(id).kind));
    let taken: Vec<Point> = taken.filter_map(|id| scope.cfg.call(id)).collect();
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let region = scope.cfg.before(site.region.first);
    region.is_some_and(|region| !reaches(&scope.cfg, entry, region, &taken))
}

/// What is assigned to `local`, and the calls that get its address.
pub(super) fn values<'s>(
    scope: &'s Scope<'_>,
    local: LocalId,
) -> impl Iterator<Item = ExprId> + 's {
    let tree = scope.tree();
    let ids = (0u32..).map(ExprId).zip(&tree.exprs);
    let givers = ids.filter_map(move |(id, expr)| match &expr.kind {
        ExprKind::Assign { lhs, rhs, .. } if scope.local(*lhs) == Some(local) => Some(*rhs),
        // `&local`
        ExprKind::Call { args, .. } => {
            let is_address = |arg: &ExprId| scope.address(*arg) == Some(local);
            args.iter().any(is_address).then_some(id)
        }
        _ => None,
    });
    let values = tree.declarations().filter_map(move |decl| match decl.init {
        Some(Init::Expr(value)) if decl.local == local => Some(value),
        _ => None,
    });
    givers.chain(values)
}

/// Variables whose object may own what `local` holds.
fn sources(scope: &Scope<'_>, local: LocalId) -> Vec<LocalId> {
    let all = values(scope, local).filter(|&value| !gives_new(scope, value));
    all.flat_map(|value| named_in(scope, value)).collect()
}

/// Whether `value` is a reference of its own.
fn gives_new(scope: &Scope<'_>, value: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = scope.expr(scope.uncast(value)).kind else {
        return false;
    };
    let effects = scope.tree().callee_name(callee).and_then(capi::effects);
    effects.is_some_and(|effects| effects.returns == Returns::New)
}

/// The variables whose values `expr` uses: not those that it only fills.
fn named_in(scope: &Scope<'_>, expr: ExprId) -> Vec<LocalId> {
    let exprs = &scope.tree().exprs;
    let filled = exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => Some(operand),
        _ => None,
    });
    let filled: BTreeSet<ExprId> = filled.collect();
    let range = scope.expr(expr).range;
    let ids = scope.tree().expr_ids();
    let used = ids.filter(|id| inside(scope.expr(*id).range, range) && !filled.contains(id));
    used.filter_map(|id| scope.local(id)).collect()
}
