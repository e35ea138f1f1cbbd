//! Which functions code outside of the package, or a pointer, may call.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::value::Value;
use crate::ast::{
    ExprId, ExprKind, Function, Init, InitList, Name, Storage, StructDef, Tree, Type, TypeKind,
    UnaryOp,
};
use crate::program::Types;
use crate::roles::Role;
use crate::rule::{ItemId, PackageCx};
use crate::state::alone;
use crate::state::reachable;

/// Functions of which something other than a call has the address.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// By the number of their parameters.
    pub(super) by_arity: BTreeMap<usize, Vec<ItemId>>,
    /// Fields in which the package stores functions.
    pub(super) fields: BTreeSet<String>,
    /// Those of them that are more than arguments of calls: a table, a field or a variable has them,
    /// so that they may be called from elsewhere than what is seen.
    pub(super) kept: FxHashSet<ItemId>,
    /// Functions, by name, that run where no other thread can be.
    pub(super) alone: BTreeSet<String>,
    /// The functions that capsules are made with: nobody else has the capsule when they run.
    pub(super) destructors: BTreeSet<String>,
}

impl Targets {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let reached = reachable(cx);
        let alone = alone(cx, reached.as_ref());
        let mut targets = Self {
            alone: alone.iter().map(|name| (*name).to_owned()).collect(),
            destructors: destructors(cx),
            ..Self::default()
        };
        for (id, function) in functions(cx) {
            if is_address_taken(cx, function)
                && cx
                    .roles()
                    .is_some_and(|roles| roles.of(cx.item(id), function).next().is_none())
            {
                let same = targets.by_arity.entry(function.params.len()).or_default();
                same.push(id);
            }
        }
        let arguments = only_arguments(cx);
        let all = targets.by_arity.values().flatten().copied();
        targets.kept = all
            .filter(|&id| {
                !cx.function(id)
                    .is_some_and(|it| arguments.contains(&*it.name))
            })
            .collect();
        let functions: FxHashSet<&str> = cx
            .program
            .functions()
            .map(|(_, f)| f.name.as_str())
            .collect();
        let mut fields = Fields {
            types: cx.types(),
            functions,
            found: BTreeSet::new(),
            foreign: BTreeSet::new(),
        };
        for item in &cx.program.items {
            fields.item(item);
        }
        targets.fields = &fields.found - &fields.foreign;
        targets
    }
}

fn destructors(cx: &PackageCx<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, function) in functions(cx) {
        let tree = &function.tree;
        for (call, _) in tree.calls().filter(|(_, name)| DESTROYING.contains(name)) {
            let args = tree.call(call).map_or(&[][..], |(_, args)| args);
            let names = args
                .iter()
                .filter_map(|&arg| tree.callee_name(tree.without_casts(arg)));
            found.extend(names.map(str::to_owned));
        }
    }
    found
}

/// Functions that get the destructor of what they make.
pub(super) const DESTROYING: [&str; 3] = [
    "PyCapsule_New",
    "PyCObject_FromVoidPtr",
    "PyCObject_FromVoidPtrAndDesc",
];

/// The functions of which every mention is a call of it, an argument of a call, or an entry of a
/// table that only the package looks into.
fn only_arguments<'a>(cx: &PackageCx<'a>) -> FxHashSet<&'a str> {
    let mut found: FxHashSet<&str> = cx.program.functions().map(|(_, f)| &*f.name).collect();
    let mut handed = FxHashSet::default();
    for (_, function) in cx.program.functions() {
        for name in unpassed(&function.tree) {
            found.remove(name);
        }
        handed.extend(whole(&function.tree));
    }
    for (_, declaration) in cx.program.declarations() {
        let mut names = declaration.declarators.iter();
        let is_private = declaration.storage == Storage::Static
            && names.all(|it| !handed.contains(it.name.as_str()));
        if !is_private {
            for name in unpassed(&declaration.tree) {
                found.remove(name);
            }
        }
    }
    found
}

/// The names that stand elsewhere than as callee or argument of a call.
fn unpassed(tree: &Tree) -> impl Iterator<Item = &str> {
    let mut passed: FxHashSet<ExprId> = FxHashSet::default();
    for expr in &tree.exprs {
        if let ExprKind::Call { callee, args } = &expr.kind {
            passed.insert(*callee);
            passed.extend(
                args.iter()
                    .flat_map(|&arg| [arg, tree.without_address(arg)]),
            );
        }
    }
    let others = tree.expr_ids().filter(move |at| !passed.contains(at));
    others.filter_map(|at| global(tree, at))
}

/// The variables that are used as a whole, and not just by their parts: `lib_register(&table)`.
fn whole(tree: &Tree) -> impl Iterator<Item = &str> {
    let mut parts: FxHashSet<ExprId> = FxHashSet::default();
    for expr in &tree.exprs {
        match expr.kind {
            ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => parts.insert(base),
            ExprKind::SizeOfExpr(operand) => parts.insert(operand),
            _ => false,
        };
    }
    let others = tree.expr_ids().filter(move |at| !parts.contains(at));
    others.filter_map(|at| global(tree, at))
}

fn global(tree: &Tree, at: ExprId) -> Option<&str> {
    match &tree.expr(at).kind {
        ExprKind::Name(Name::Global(name)) => Some(name),
        _ => None,
    }
}

fn is_address_taken(cx: &PackageCx<'_>, function: &Function) -> bool {
    cx.call_index().is_mentioned(&function.name)
}

/// The functions of builds without the GIL.
pub(super) fn functions<'a>(cx: &PackageCx<'a>) -> Vec<(ItemId, &'a Function)> {
    let items = (0u32..).map(ItemId).take(cx.program.items.len());
    let own = items.filter(|&id| !cx.item(id).needs_gil);
    own.filter_map(|id| Some((id, cx.function(id)?))).collect()
}

/// The value of a parameter of a function that Python calls in this role; `None` if it is called
/// where no other thread can be.
pub(super) fn parameter(role: &Role, at: usize) -> Option<Value> {
    // Of `tp_finalize` Python makes `__del__`, which any code may call.
    const OWN: [&str; 5] = ["tp_init", "tp_dealloc", "tp_clear", "tp_free", "tp_del"];
    const NEVER: [&str; 5] = ["m_free", "m_clear", "m_traverse", "tp_traverse", "tp_is_gc"];
    // The caller's `Py_buffer`.
    const VIEWS: [&str; 2] = ["bf_getbuffer", "bf_releasebuffer"];
    match role {
        _ if role.is_module_init() => None,
        Role::Slot(slot) if at == 1 && VIEWS.contains(&&**slot) => Some(Value::OWN),
        Role::Slot(slot) if NEVER.contains(&&**slot) => None,
        Role::Slot(slot) if at == 0 && OWN.contains(&&**slot) => Some(Value::OWN),
        // A module, or an object that others may have.
        _ if at == 0 => Some(Value::KEPT),
        _ => Some(Value::SHARED),
    }
}

/// Finds the fields that hold functions.
struct Fields<'c, 'a> {
    types: &'c Types<'a>,
    functions: FxHashSet<&'c str>,
    found: BTreeSet<String>,
    /// Those that may hold a function which is not one of the package.
    foreign: BTreeSet<String>,
}

impl Fields<'_, '_> {
    fn item(&mut self, item: &crate::program::ProgramItem) {
        use crate::program::Body;
        match &item.body {
            Some(Body::Function(function)) => self.function(function),
            Some(Body::Declaration(declaration)) => {
                for declarator in &declaration.declarators {
                    if let Some(Init::List(list)) = &declarator.init {
                        let def = declaration.structs.first();
                        self.list(&declaration.tree, &declarator.ty, list, def);
                    }
                }
            }
            None => {}
        }
    }

    fn function(&mut self, function: &Function) {
        let tree = &function.tree;
        for expr in &tree.exprs {
            if let ExprKind::Assign { lhs, rhs, .. } = &expr.kind
                && let ExprKind::Member { field, .. } = &tree.expr(*lhs).kind
            {
                self.set(tree, field, *rhs);
            }
        }
        for decl in tree.declarations() {
            if let Some(Init::List(list)) = &decl.init {
                self.list(tree, &tree.local(decl.local).ty, list, None);
            }
        }
    }

    /// Notes that a field is given a value.
    fn set(&mut self, tree: &Tree, field: &str, value: ExprId) {
        let inner = tree.without_address(tree.without_casts(value));
        if self.is_function(tree, value) {
            self.found.insert(field.to_owned());
        } else if !tree.is_null(value) && self.is_foreign(tree, inner) {
            self.foreign.insert(field.to_owned());
        }
    }

    /// A function of a library: `s->read = dev_read;`, `s->read = dlsym(lib, "read");`.
    fn is_foreign(&self, tree: &Tree, value: ExprId) -> bool {
        let name = global(tree, value);
        let is_unknown =
            |name: &str| !self.functions.contains(name) && !self.types.is_variable(name);
        tree.called(value).is_some() || name.is_some_and(is_unknown)
    }

    /// A function of the package, or a parameter or variable that is a pointer to one.
    fn is_function(&self, tree: &Tree, value: crate::ast::ExprId) -> bool {
        match &tree.expr(value).kind {
            ExprKind::Name(Name::Global(name)) => self.functions.contains(&**name),
            ExprKind::Cast { operand, .. }
            | ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.is_function(tree, *operand),
            _ => false,
        }
    }

    /// The values of a list for a type; one without a name is `unnamed`.
    fn list(&mut self, tree: &Tree, ty: &Type, list: &InitList, unnamed: Option<&StructDef>) {
        if let TypeKind::Array(element, _) = &ty.kind {
            for entry in &list.entries {
                if let Init::List(inner) = &entry.value {
                    self.list(tree, element, inner, unnamed);
                }
            }
            return;
        }
        let def = match ty.kind {
            TypeKind::Struct(None) => unnamed,
            _ => self
                .types
                .key(ty)
                .and_then(|key| self.types.definition(&key)),
        };
        for (at, entry) in list.entries.iter().enumerate() {
            let name = match entry.designators.last() {
                Some(crate::ast::Designator::Field(name)) => Some(name.clone()),
                _ => def
                    .and_then(|def| def.fields.get(at))
                    .map(|field| field.name.clone()),
            };
            if let (Some(name), Init::Expr(value)) = (name, &entry.value) {
                self.set(tree, &name, *value);
            }
        }
    }
}
