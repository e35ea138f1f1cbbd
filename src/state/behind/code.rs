//! What is the same at each look at a function: the types of its places, and what its calls mean.

use rustc_hash::FxHashMap;

use super::{Behind, Field};
use crate::ast::{
    ExprId, ExprKind, Function, LocalId, Name, StmtKind, TokenRange, Tree, Type, TypeKind, UnaryOp,
};
use crate::capi::is_for_threads_by_name;
use crate::program::{ItemId, Types};
use crate::roles::is_slot;
use crate::state::own::{Own, struct_name};
use crate::state::variables::is_lock;

/// A function with what its text says.
pub(super) struct Code<'a> {
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    /// The places behind pointers.
    pub(super) places: FxHashMap<ExprId, Place>,
    /// What calls go to.
    pub(super) calls: Vec<(ExprId, Callee<'a>)>,
    /// By variable.
    pub(super) locals: Vec<Holds>,
}

/// What a variable may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// No pointer that is followed.
    Nothing,
    /// The object that is this parameter.
    Object(usize),
    /// What is stored in it.
    Stored,
    /// The same, and it is an array: its name is its address.
    Array,
}

/// A member, an element, or what a pointer leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Of an object that a pointer leads to.
    pub(super) field: Option<Field>,
    pub(super) leads: Leads,
    /// Whether it is data, and no lock, nor atomic, nor guarded by a lock that a comment names.
    pub(super) is_data: bool,
}

/// Where that leads which is read from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// Nowhere that is followed: it is a number, an object, a function.
    Nowhere,
    /// To where the pointer leads that is there.
    On,
    /// The same, to what cannot be written by it.
    ToConstant,
    /// To the place itself: it is an array.
    Here,
}

/// What a call goes to.
#[derive(Debug, Clone)]
pub(super) enum Callee<'a> {
    /// Functions of the package.
    Own(Vec<ItemId>),
    /// Functions of the package of which one may be what a pointer leads to.
    Pointed(Vec<ItemId>),
    /// A function that was not read.
    Outside(&'a str),
    /// Nobody knows what.
    Unknown,
    /// What Python has in a slot.
    Slot,
}

impl<'a> Code<'a> {
    pub(super) fn new(behind: &mut Behind<'_, 'a>, item: ItemId, function: &'a Function) -> Self {
        let tree = &function.tree;
        let unread = unevaluated(tree);
        let is_read = |range: TokenRange| !unread.iter().any(|it| it.contains(range));
        let mut places = FxHashMap::default();
        let mut calls = Vec::new();
        for at in tree.expr_ids().filter(|&at| is_read(tree.expr(at).range)) {
            match &tree.expr(at).kind {
                ExprKind::Call { callee, args } => {
                    calls.push((at, callee_of(behind, item, tree, *callee, args)));
                }
                ExprKind::Member { .. }
                | ExprKind::Index { .. }
                | ExprKind::Unary {
                    op: UnaryOp::Deref, ..
                } => {
                    places.insert(at, place(behind, tree, at));
                }
                _ => {}
            }
        }
        Self {
            item,
            function,
            places,
            calls,
            locals: locals(behind.cx.types(), function),
        }
    }

    /// The functions of the package that it calls.
    pub(super) fn callees(&self) -> impl Iterator<Item = ItemId> {
        self.calls.iter().flat_map(|(_, callee)| match callee {
            Callee::Own(items) | Callee::Pointed(items) => items.iter().copied(),
            _ => [].iter().copied(),
        })
    }
}

/// The operands of `sizeof`, and the branches that a constant leaves out.
///
/// ```c
/// #define LOCK_IS_ACTIVE(self) 1
/// if (LOCK_IS_ACTIVE(self)) { … } else { /* never */ }
/// ```
fn unevaluated(tree: &Tree) -> Vec<TokenRange> {
    let operands = tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::SizeOfExpr(operand) => Some(tree.expr(operand).range),
        _ => None,
    });
    let branches = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => match tree.as_number(cond)? {
            0 => Some(tree.stmt(then).range),
            _ => Some(tree.stmt(otherwise?).range),
        },
        _ => None,
    });
    operands.chain(branches).collect()
}

fn place(behind: &mut Behind<'_, '_>, tree: &Tree, at: ExprId) -> Place {
    let types = behind.cx.types();
    let ty = types.of(tree, at);
    let is_data = ty.is_none_or(|ty| !is_for_threads(ty) && !types.is_atomic(ty));
    let mut place = Place {
        field: None,
        leads: ty.map_or(Leads::On, |ty| leads(types, ty)),
        is_data,
    };
    if let ExprKind::Member {
        base,
        field,
        arrow: true,
    } = &tree.expr(at).kind
        && let Some(owner) = object_struct(types, tree, *base)
    {
        let is_state = is_state(field) && !behind.is_guarded(owner, field);
        if is_state {
            place.field = Some(behind.number(owner, field));
        } else {
            place.leads = Leads::Nowhere;
            place.is_data = false;
        }
    }
    place
}

/// Whether a type is a lock, or another thing that threads share as it is.
pub(super) fn is_for_threads(ty: &Type) -> bool {
    is_lock(ty) || ty.name().is_some_and(is_for_threads_by_name)
}

/// The struct of an object that `base` points to; one that is not defined here may be one.
fn object_struct<'t>(types: &'t Types<'_>, tree: &'t Tree, base: ExprId) -> Option<&'t str> {
    let to = types.of(tree, base)?;
    let name = struct_name(to)?;
    let to = to.pointee()?;
    let key = types.key(to);
    let is_defined = key.is_some_and(|key| types.definition(&key).is_some());
    let may_be = match is_defined {
        true => types.is_object(to),
        false => !is_for_threads(to),
    };
    may_be.then_some(name)
}

/// Whether a field may be state: no lock, no counter of references.
fn is_state(field: &str) -> bool {
    let lower = field.to_ascii_lowercase();
    !lower.contains("lock") && !lower.contains("mutex") && !field.starts_with("ob_")
}

fn leads(types: &Types<'_>, ty: &Type) -> Leads {
    if types.is_array(ty) {
        return Leads::Here;
    }
    match types.pointee(ty) {
        _ if types.is_plain(ty) || types.is_object_pointer(ty) => Leads::Nowhere,
        Some(to) if matches!(to.kind, TypeKind::Function(..)) => Leads::Nowhere,
        Some(to) if to.is_const || types.is_const_by_name(to) => Leads::ToConstant,
        _ => Leads::On,
    }
}

fn locals(types: &Types<'_>, function: &Function) -> Vec<Holds> {
    let tree = &function.tree;
    let is_object = |ty: &Type| types.is_object_pointer(ty);
    let may_be_object = |ty: &Type| {
        let to = types.pointee(ty);
        is_object(ty) || to.is_some_and(Type::is_void)
    };
    let params = function.params.iter().enumerate();
    let objects = params.filter(|(_, param)| may_be_object(&tree.local(**param).ty));
    let objects: Vec<(usize, Own)> = objects
        .filter_map(|(at, _)| Some((at, Own::new(function, at)?)))
        .collect();
    let locals = tree.locals.iter().zip(0u32..);
    let holds = locals.map(|(local, at)| {
        let ty = &local.ty;
        match ty.kind {
            _ if !local.is_automatic() || types.is_plain(ty) => Holds::Nothing,
            _ if is_object(ty) => {
                let mut of = objects.iter();
                let of = of.find(|(_, own)| own.names(LocalId(at)));
                of.map_or(Holds::Nothing, |(param, _)| Holds::Object(*param))
            }
            TypeKind::Array(..) if !local.is_param => Holds::Array,
            _ => Holds::Stored,
        }
    });
    holds.collect()
}

fn callee_of<'a>(
    behind: &Behind<'_, 'a>,
    item: ItemId,
    tree: &'a Tree,
    callee: ExprId,
    args: &[ExprId],
) -> Callee<'a> {
    let callee = tree.without_casts(callee);
    match &tree.expr(callee).kind {
        ExprKind::Name(Name::Global(name)) => {
            let own = behind.callees(item, name);
            match () {
                () if !own.is_empty() => Callee::Own(own),
                () if behind.cx.types().is_variable(name) => by_pointer(behind, tree, args),
                () => Callee::Outside(name),
            }
        }
        ExprKind::Member { field, .. } if is_slot(field) => Callee::Slot,
        _ => by_pointer(behind, tree, args),
    }
}

/// The struct that a pointer leads to, if it is none of an object.
pub(super) fn struct_of(types: &Types<'_>, ty: &Type) -> Option<String> {
    let to = types.pointee(ty).filter(|to| !types.is_object(to))?;
    types.key(to).filter(|key| types.definition(key).is_some())
}

/// What a pointer to a function may be: those that take such structs.
fn by_pointer<'a>(behind: &Behind<'_, 'a>, tree: &Tree, args: &[ExprId]) -> Callee<'a> {
    let types = behind.cx.types();
    let given = args.iter();
    let given = given.map(|&arg| struct_of(types, types.of(tree, arg)?));
    let given: Vec<Option<String>> = given.collect();
    if given.iter().all(Option::is_none) {
        return Callee::Unknown;
    }
    let takes = |taken: &[Option<String>]| {
        let mut both = taken.iter().zip(&given);
        both.all(|(taken, given)| taken.is_none() || given.is_none() || taken == given)
            && taken
                .iter()
                .zip(&given)
                .any(|(taken, given)| taken.is_some() && taken == given)
    };
    let all = behind.pointed.get(&args.len()).into_iter().flatten();
    let own = all.filter(|(_, taken)| takes(taken));
    let own: Vec<ItemId> = own.map(|(id, _)| *id).collect();
    match own.is_empty() {
        true => Callee::Unknown,
        false => Callee::Pointed(own),
    }
}
