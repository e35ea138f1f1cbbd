//! Fields that are written, or seen, without being named.
//!
//! ```c
//! *self = *other;                                       /* all fields of `self` */
//! memcpy(self, other, sizeof(Foo));
//! ((View *)self)->raw = list;                           /* the one that stands at that place */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, Name, StructDef, Tree, Type, UnaryOp};
use crate::capi;
use crate::program::{Program, Types};

use super::api::allocates;

/// How many structs that stand in each other are looked through.
const MAX_NESTED: usize = 8;

/// What the code of a package does to structs as a whole, and through others.
#[derive(Debug, Default)]
pub(super) struct Overwrites {
    /// Structs with the names of their fields.
    fields: BTreeMap<String, BTreeSet<Box<str>>>,
    /// Structs that stand in others, by the outer one.
    parts: BTreeMap<String, BTreeSet<String>>,
    /// Structs that something is copied to as a whole.
    copied_to: BTreeSet<String>,
    /// Structs that a pointer to another one is cast to, after that one.
    casts: BTreeSet<(String, String)>,
    /// Structs of objects that are looked into, and that nobody makes: what they are laid over is
    /// not known.
    views: BTreeSet<String>,
}

impl Overwrites {
    pub(super) fn new(program: &Program<'_>) -> Self {
        let types = Types::new(program);
        let mut found = Self::default();
        for (key, def) in types.structs() {
            found.add_struct(&types, key, def);
        }
        let mut search = Search {
            types: &types,
            found,
            looked_into: BTreeSet::new(),
            made: BTreeSet::new(),
        };
        for tree in program.items.iter().filter_map(|item| item.tree()) {
            tree.expr_ids().for_each(|expr| search.expr(tree, expr));
        }
        let Search {
            mut found,
            looked_into,
            made,
            ..
        } = search;
        found.views = looked_into.difference(&made).cloned().collect();
        found
    }

    /// Whether something may write the field `name` of a struct of the package, or take what it
    /// holds, without naming it.
    pub(super) fn reaches(&self, name: &str) -> bool {
        let all = self.fields.keys();
        let owners: BTreeSet<&String> = all.filter(|key| self.has(key, name)).collect();
        let is_other = |view: &String| {
            let is_part = |owner: &&String| self.is_in(view, owner, MAX_NESTED);
            !self.has(view, name) && !owners.iter().any(is_part)
        };
        let casts = self.casts.iter();
        let mut laid_over = casts
            .filter(|(from, _)| owners.contains(from))
            .map(|(_, to)| to)
            .chain(&self.views);
        owners.iter().any(|owner| self.copied_to.contains(*owner))
            || !owners.is_empty() && laid_over.any(is_other)
    }

    /// Whether the struct, or one that stands in it, has the field.
    fn has(&self, key: &str, name: &str) -> bool {
        let own = self.fields.get(key);
        let is_own = own.is_some_and(|fields| fields.contains(name));
        let mut all = self.fields.iter();
        is_own
            || all.any(|(part, fields)| fields.contains(name) && self.is_in(part, key, MAX_NESTED))
    }

    /// Whether the struct `part` stands in `key`.
    fn is_in(&self, part: &str, key: &str, depth: usize) -> bool {
        let parts = self.parts.get(key).into_iter().flatten();
        depth > 0
            && parts
                .into_iter()
                .any(|it| it == part || self.is_in(part, it, depth - 1))
    }

    fn add_struct(&mut self, types: &Types<'_>, key: String, def: &StructDef) {
        let parts = def.fields.iter().filter_map(|field| types.key(&field.ty));
        self.parts.entry(key.clone()).or_default().extend(parts);
        let names = def.fields.iter().map(|field| field.name.as_str().into());
        self.fields.entry(key).or_default().extend(names);
    }
}

struct Search<'t> {
    types: &'t Types<'t>,
    found: Overwrites,
    looked_into: BTreeSet<String>,
    made: BTreeSet<String>,
}

impl Search<'_> {
    fn expr(&mut self, tree: &Tree, expr: ExprId) {
        match &tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, .. } if !is_own(tree, *lhs) => {
                let copied = self.types.of(tree, *lhs).and_then(|ty| self.types.key(ty));
                self.found.copied_to.extend(copied);
            }
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee);
                let written = name.and_then(capi::copies_memory);
                let to = written.and_then(|copied| args.get(copied.to));
                let is_own = |&to: &ExprId| pointed_at(tree, to).is_some_and(|at| is_own(tree, at));
                if to.is_some_and(|to| !is_own(to)) {
                    let copied = args.iter().filter_map(|&arg| self.copied(tree, arg));
                    let copied: Vec<String> = copied.collect();
                    self.found.copied_to.extend(copied);
                }
            }
            ExprKind::Member { base, field, arrow } if !field.starts_with("ob_") => {
                let owner = self.types.owner(tree, *base, *arrow);
                let is_object = |key: &String| {
                    let def = self.types.definition(key);
                    let first = def.and_then(|def| def.fields.first());
                    first.is_some_and(|first| self.types.is_object(&first.ty))
                };
                self.looked_into.extend(owner.filter(is_object));
            }
            ExprKind::Cast { ty, operand } => self.cast(tree, ty, *operand),
            ExprKind::TypeQuery(ty) => self.made.extend(self.types.key(ty)),
            ExprKind::SizeOfExpr(operand) => {
                let of = self.types.of(tree, *operand);
                self.made.extend(of.and_then(|ty| self.types.key(ty)));
            }
            _ => {}
        }
    }

    fn cast(&mut self, tree: &Tree, ty: &Type, operand: ExprId) {
        let key = |ty| self.types.key(self.types.pointee(ty)?);
        let Some(to) = key(ty) else {
            return;
        };
        let is_made = match &tree.expr(operand).kind {
            ExprKind::Call { callee, .. } => tree.callee_name(*callee).is_none_or(allocates),
            _ => false,
        };
        if is_made {
            self.made.insert(to.clone());
        }
        if let Some(from) = self.types.of(tree, operand).and_then(key)
            && from != to
            && self.found.fields.contains_key(&to)
        {
            self.found.casts.insert((from, to));
        }
    }

    /// The struct that an argument of a copy points at, or whose size it is.
    fn copied(&self, tree: &Tree, arg: ExprId) -> Option<String> {
        let ty = match &tree.expr(arg).kind {
            ExprKind::TypeQuery(ty) => ty,
            ExprKind::SizeOfExpr(operand) => self.types.of(tree, *operand)?,
            ExprKind::Binary { lhs, rhs, .. } => {
                return self.copied(tree, *lhs).or_else(|| self.copied(tree, *rhs));
            }
            _ => match pointed_at(tree, arg) {
                Some(at) => self.types.of(tree, at)?,
                None => self
                    .types
                    .pointee(self.types.of(tree, tree.without_casts(arg))?)?,
            },
        };
        self.types.key(ty)
    }
}

/// `x` for `&x`.
fn pointed_at(tree: &Tree, pointer: ExprId) -> Option<ExprId> {
    match tree.expr(tree.without_casts(pointer)).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => Some(operand),
        _ => None,
    }
}

/// Whether an expression is a variable of the function itself.
fn is_own(tree: &Tree, expr: ExprId) -> bool {
    matches!(&tree.expr(expr).kind, ExprKind::Name(Name::Local(_)))
}
