//! Functions and variables by name, seen from one translation unit.

use std::collections::BTreeMap;

use crate::ast::{Function, Init, LocalId, Name, StmtKind, TokenRange, Tree, Type};
use crate::program::Body;
use crate::rule::{ItemId, PackageCx};

/// Everything that was parsed, by name.
pub(super) struct Symbols<'a> {
    cx: &'a PackageCx<'a>,
    functions: BTreeMap<&'a str, Vec<ItemId>>,
    /// Item and index of the declarator.
    variables: BTreeMap<&'a str, Vec<(ItemId, usize)>>,
}

/// A variable with its initialiser, of a file or of a function.
#[derive(Debug, Clone)]
pub(super) struct Variable<'a> {
    pub(super) item: ItemId,
    pub(super) name: &'a str,
    pub(super) name_range: TokenRange,
    pub(super) ty: &'a Type,
    pub(super) init: &'a Init,
    /// The whole declaration.
    pub(super) declaration: TokenRange,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>) -> Self {
        let mut functions: BTreeMap<&str, Vec<ItemId>> = BTreeMap::new();
        let mut variables: BTreeMap<&str, Vec<(ItemId, usize)>> = BTreeMap::new();
        for (at, item) in (0u32..).zip(&cx.program.items) {
            let id = ItemId(at);
            match &item.body {
                Some(Body::Function(function)) => {
                    functions.entry(&function.name).or_default().push(id);
                }
                Some(Body::Declaration(declaration)) => {
                    for (index, declarator) in declaration.declarators.iter().enumerate() {
                        let found = variables.entry(&declarator.name).or_default();
                        found.push((id, index));
                    }
                }
                None => {}
            }
        }
        Self {
            cx,
            functions,
            variables,
        }
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = (ItemId, &'a Function)> {
        let ids = self.functions.values().flatten();
        ids.filter_map(|&id| Some((id, self.cx.function(id)?)))
    }

    /// The definitions of `name` that code of `from` can call: those of its own translation unit,
    /// else those of others that are not `static`.
    pub(super) fn callees(&self, from: ItemId, name: &str) -> Vec<(ItemId, &'a Function)> {
        let all = self.functions.get(name).into_iter().flatten();
        let all: Vec<_> = all
            .filter_map(|&id| Some((id, self.cx.function(id)?)))
            .collect();
        let (own, other): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(id, _)| self.near(from, *id));
        if !own.is_empty() {
            return own;
        }
        other
            .into_iter()
            .filter(|(_, function)| !function.is_static)
            .collect()
    }

    /// The initialised variables that `name` may mean in `from`; of several translation units
    /// only if all are the same text.
    pub(super) fn variables(&self, from: ItemId, name: &Name) -> Vec<Variable<'a>> {
        match name {
            Name::Local(local) => self.local(from, *local).into_iter().collect(),
            Name::Global(name) => self.globals(from, name),
        }
    }

    fn local(&self, from: ItemId, local: LocalId) -> Option<Variable<'a>> {
        let tree = self.cx.tree(from)?;
        let variable = tree.local(local);
        let stmt = tree.stmt(variable.decl?);
        let StmtKind::Decl(decls) = &stmt.kind else {
            return None;
        };
        let decl = decls.iter().find(|decl| decl.local == local)?;
        Some(Variable {
            item: from,
            name: &variable.name,
            name_range: variable.name_range,
            ty: &variable.ty,
            init: decl.init.as_ref()?,
            declaration: stmt.range,
        })
    }

    fn globals(&self, from: ItemId, name: &str) -> Vec<Variable<'a>> {
        let found = self.variables.get(name).into_iter().flatten();
        let all: Vec<_> = found.filter_map(|&(id, at)| self.global(id, at)).collect();
        let (own, other): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|variable| self.near(from, variable.item));
        let one_file = other
            .windows(2)
            .all(|pair| self.cx.item(pair[0].item).place.0 == self.cx.item(pair[1].item).place.0);
        match (own.is_empty(), one_file) {
            (false, _) => own,
            (true, true) => other,
            (true, false) => Vec::new(),
        }
    }

    fn global(&self, id: ItemId, at: usize) -> Option<Variable<'a>> {
        let Some(Body::Declaration(declaration)) = &self.cx.item(id).body else {
            return None;
        };
        let declarator = declaration.declarators.get(at)?;
        Some(Variable {
            item: id,
            name: &declarator.name,
            name_range: declarator.name_range,
            ty: &declarator.ty,
            init: declarator.init.as_ref()?,
            declaration: declaration.range,
        })
    }

    /// Whether `other` stands in the translation unit or in the file of `from`. An item of a file
    /// that several units include is listed with the first of them only.
    fn near(&self, from: ItemId, other: ItemId) -> bool {
        let (from, other) = (self.cx.item(from), self.cx.item(other));
        from.unit == other.unit || from.place.0 == other.place.0
    }
}

/// `name`, `base.field`, `base->field`, `*name`: an expression as the text that names the same
/// object anywhere in its scope. `None` for what has effects.
pub(super) fn designation(tree: &Tree, expr: crate::ast::ExprId) -> Option<String> {
    use crate::ast::{ExprKind, UnaryOp};
    match &tree.expr(expr).kind {
        ExprKind::Name(Name::Local(id)) => Some(tree.local(*id).name.clone()),
        ExprKind::Name(Name::Global(name)) => Some(name.to_string()),
        ExprKind::Member { base, field, arrow } => {
            let dot = if *arrow { "->" } else { "." };
            Some(format!("{}{dot}{field}", designation(tree, *base)?))
        }
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => Some(format!("*{}", designation(tree, *operand)?)),
        _ => None,
    }
}
