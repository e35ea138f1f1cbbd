//! Where the address of a function goes.

use super::pointers::{Pointers, Way, place};
use crate::ast::{
    BinaryOp, Designator, ExprId, ExprKind, Function, Init, InitList, Name, Parent, Parents,
    StmtId, StmtKind, Tree, Type, TypeKind, UnaryOp,
};
use crate::capi::{self, CallsBack};
use crate::program::Types;
use crate::roles::{is_slot, is_table};

/// An address in the body of a function.
pub(super) struct Address<'p, 'a> {
    pointers: &'p mut Pointers<'a>,
    function: &'a Function,
    tree: &'a Tree,
    parents: &'p Parents,
}

impl<'p, 'a> Address<'p, 'a> {
    pub(super) fn new(
        pointers: &'p mut Pointers<'a>,
        function: &'a Function,
        parents: &'p Parents,
    ) -> Self {
        Self {
            pointers,
            function,
            tree: &function.tree,
            parents,
        }
    }

    /// Adds what becomes of the address of the function `name`, which `value` gives.
    pub(super) fn follow(&mut self, name: &'a str, value: ExprId) {
        match self.parents.of_expr(value) {
            Some(Parent::Expr(outer)) => self.within(name, value, outer),
            Some(Parent::Stmt(stmt)) => self.in_stmt(name, value, stmt),
            None => self.pointers.add(name, Way::Anything),
        }
    }

    fn within(&mut self, name: &'a str, value: ExprId, outer: ExprId) {
        match &self.tree.expr(outer).kind {
            ExprKind::Cast { .. }
            | ExprKind::Unary {
                op: UnaryOp::AddressOf | UnaryOp::Deref,
                ..
            } => self.follow(name, outer),
            ExprKind::Unary {
                op: UnaryOp::Not, ..
            } => {}
            ExprKind::Conditional { cond, .. } if *cond == value => {}
            ExprKind::Conditional { .. } => self.follow(name, outer),
            ExprKind::Binary { op, .. } if is_test(*op) => {}
            ExprKind::Assign { op: None, lhs, .. } => {
                let way = self.stored(name, *lhs);
                way.into_iter().for_each(|way| self.pointers.add(name, way));
                if let Some(Parent::Expr(_)) = self.parents.of_expr(outer) {
                    self.follow(name, outer);
                }
            }
            ExprKind::Call { callee, args } if *callee != value => {
                self.hand(name, outer, *callee, args.last() == Some(&value));
            }
            ExprKind::Compound { ty, init } => self.listed(name, value, init, ty),
            _ => self.pointers.add(name, Way::Pointer),
        }
    }

    fn in_stmt(&mut self, name: &'a str, value: ExprId, stmt: StmtId) {
        let StmtKind::Decl(decls) = &self.tree.stmt(stmt).kind else {
            if let StmtKind::Return(_) = self.tree.stmt(stmt).kind {
                self.pointers.add(name, Way::Pointer);
            }
            return;
        };
        let range = self.tree.expr(value).range;
        let around = decls.iter().find_map(|decl| match &decl.init {
            Some(Init::List(list)) if list.range.contains(range) => Some((list, decl.local)),
            _ => None,
        });
        match around {
            Some((list, local)) => self.listed(name, value, list, &self.tree.local(local).ty),
            None => self.pointers.add(name, Way::Pointer),
        }
    }

    /// Adds that it stands in a list for a value of this type.
    fn listed(&mut self, name: &'a str, value: ExprId, list: &'a InitList, ty: &Type) {
        for (leaf, place) in list_leaves(self.pointers.cx.types(), list, ty, None) {
            if leaf == value {
                let way = place.map_or(Way::Pointer, Way::Place);
                self.pointers.add(name, way);
            }
        }
    }

    /// Where an assignment to `lhs` puts it; nothing where Python has it then.
    fn stored(&self, name: &str, lhs: ExprId) -> Option<Way<'a>> {
        let tree = self.tree;
        match place(tree, lhs) {
            Some(field) if is_slot(field) && self.pointers.has_role(name) => None,
            Some(field) => Some(Way::Place(field)),
            None => Some(Way::Pointer),
        }
    }

    /// Adds what `call` does with it.
    fn hand(&mut self, name: &'a str, call: ExprId, callee: ExprId, is_last: bool) {
        let Some(called) = self.tree.callee_name(callee) else {
            return self.pointers.add(name, Way::Anything);
        };
        if self.pointers.is_function(called) {
            return self.pointers.add(name, Way::Pointer);
        }
        let cleans_up = || {
            let mut own = self.pointers.cx.definitions(name);
            own.any(|(_, function)| names(&function.tree, capi::CALLED_TO_CLEAN_UP))
        };
        let site = (self.function, call);
        match capi::calls_back(called) {
            Some(CallsBack::Apart) => {}
            Some(CallsBack::Within) => self.pointers.add_library_call(name, site, true),
            Some(CallsBack::UntilFailure) if !cleans_up() => {
                self.pointers.add_library_call(name, site, false);
            }
            // `{"f", _PyCFunction_CAST(f), METH_FASTCALL, NULL}`
            None if is_last && self.pointers.has_role(name) => {}
            Some(CallsBack::UntilFailure) | None => self.pointers.add(name, Way::Anything),
        }
    }
}

fn names(tree: &Tree, wanted: &str) -> bool {
    let mut exprs = tree.exprs.iter();
    exprs.any(|expr| matches!(&expr.kind, ExprKind::Name(Name::Global(name)) if **name == *wanted))
}

pub(super) fn is_test(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Equals | BinaryOp::NotEquals
    )
}

/// The values of an initialiser for a variable of this type, with the fields that get them, or the
/// variable; nothing of tables that Python reads.
pub(super) fn leaves<'a>(
    types: &Types<'a>,
    init: &'a Init,
    ty: &Type,
    place: Option<&'a str>,
) -> Vec<(ExprId, Option<&'a str>)> {
    match init {
        Init::Expr(value) => vec![(*value, place)],
        Init::List(list) => list_leaves(types, list, ty, place),
    }
}

fn list_leaves<'a>(
    types: &Types<'a>,
    list: &'a InitList,
    ty: &Type,
    place: Option<&'a str>,
) -> Vec<(ExprId, Option<&'a str>)> {
    if ty.name().is_some_and(is_table) {
        return Vec::new();
    }
    if let TypeKind::Array(element, _) = &ty.kind {
        let rows = list.entries.iter();
        return rows
            .flat_map(|row| leaves(types, &row.value, element, place))
            .collect();
    }
    let fields = types.key(ty).and_then(|key| types.definition(&key));
    let fields = fields.map_or(&[][..], |it| &it.fields);
    let mut next = 0;
    let mut found = Vec::new();
    for entry in &list.entries {
        let name = |designator: &'a Designator| match designator {
            Designator::Field(name) => Some(name.as_str()),
            _ => None,
        };
        let named = entry.designators.last().and_then(name);
        let at = match named {
            Some(name) => fields.iter().position(|field| *field.name == *name),
            None => Some(next),
        };
        next = at.map_or(next, |at| at + 1);
        let field = at.and_then(|at| fields.get(at));
        let place = named.or_else(|| field.map(|field| &*field.name));
        match field {
            Some(field) => found.extend(leaves(types, &entry.value, &field.ty, place)),
            None => found.extend(leaves(types, &entry.value, ty, place)),
        }
    }
    found
}
