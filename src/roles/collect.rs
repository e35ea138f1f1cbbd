//! Finds the tables and what they name.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::{name, named, values};
use super::{Convention, Role, Roles, is_slot};
use crate::ast::{ExprId, ExprKind, Function, Init, InitList, Tree, Type, TypeKind};
use crate::program::{Body, Program, ProgramItem};
use crate::source::FileId;

pub(super) fn collect(program: &Program<'_>, roles: &mut Roles) {
    let at_import = &called_at_import(program);
    for item in &program.items {
        match &item.body {
            Some(Body::Declaration(declaration)) => {
                for declarator in &declaration.declarators {
                    let unit = item.unit;
                    let tree = &declaration.tree;
                    let mut tables = Tables {
                        unit,
                        tree,
                        at_import,
                        roles,
                    };
                    tables.variable(&declarator.ty, declarator.init.as_ref());
                }
            }
            Some(Body::Function(function)) => {
                let is_init =
                    function.name.starts_with("PyInit_") || is_marked_init(program, item, function);
                if is_init && !function.tree.only_returns_null() {
                    roles.add(item.unit, &function.name, Role::ModuleInit);
                }
                let tree = &function.tree;
                in_function(Tables {
                    unit: item.unit,
                    tree,
                    at_import,
                    roles,
                });
            }
            None => {}
        }
    }
}

/// The names of methods that Python code calls as it is imported, and that no other string of the C
/// code is: `PyObject_CallMethod(module, "_set_up", NULL)`.
fn called_at_import<'p>(program: &'p Program<'_>) -> BTreeSet<&'p [u8]> {
    let wanted = program.unread.called_at_import();
    if wanted.is_empty() {
        return BTreeSet::new();
    }
    let trees = program.items.iter().filter_map(|item| item.tree());
    let strings = trees.flat_map(|tree| {
        let exprs = tree.expr_ids();
        exprs.filter_map(|expr| tree.as_string(expr))
    });
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for text in strings.filter(|text| wanted.contains(*text)) {
        *counts.entry(text).or_default() += 1;
    }
    let once = counts.into_iter().filter(|(_, count)| *count == 1);
    once.map(|(text, _)| text).collect()
}

/// `PyMODINIT_FUNC MODULE_INIT(name) {`, whose macro a build makes.
fn is_marked_init(program: &Program<'_>, item: &ProgramItem, function: &Function) -> bool {
    const MARK: &str = "PyMODINIT_FUNC";
    let tokens = &item.tokens;
    let body = function.tree.stmt(function.body).range.start;
    let is_in_head = |at: u32| at < body;
    let mut made = tokens.expansions.iter();
    made.any(|each| &*each.name == MARK && is_in_head(each.tokens.start))
        || (0..body).any(|at| tokens.text(program.files, at) == MARK.as_bytes())
}

/// Tables among the variables of a function, and slots that it fills: `Type.tp_init = init;`.
fn in_function(mut tables: Tables<'_>) {
    let (unit, tree) = (tables.unit, tables.tree);
    for decl in tree.declarations() {
        tables.variable(&tree.local(decl.local).ty, decl.init.as_ref());
    }
    for expr in &tree.exprs {
        if let ExprKind::Assign { op: None, lhs, rhs } = &expr.kind
            && let ExprKind::Member { field, .. } = &tree.expr(*lhs).kind
            && is_slot(field)
            && let Some(function) = named(tree, *rhs)
        {
            tables.roles.add(unit, function, Role::Slot(field.clone()));
        }
    }
}

struct Tables<'t> {
    unit: FileId,
    tree: &'t Tree,
    /// The names of methods that run only while the package is imported.
    at_import: &'t BTreeSet<&'t [u8]>,
    roles: &'t mut Roles,
}

impl<'t> Tables<'t> {
    fn variable(&mut self, ty: &Type, init: Option<&'t Init>) {
        let Some(Init::List(list)) = init else {
            return;
        };
        match &ty.kind {
            TypeKind::Array(element, _) => {
                for entry in &list.entries {
                    if let (Some(name), Init::List(row)) = (element.name(), &entry.value) {
                        self.row(name, row);
                    }
                }
            }
            _ => {
                if let Some(name) = ty.name() {
                    self.row(name, list);
                }
            }
        }
    }

    /// One table of several functions, or one line of a table.
    fn row(&mut self, type_name: &str, row: &'t InitList) {
        if let Some(values) = values(self.tree, type_name, row) {
            self.functions(type_name, &values);
        }
    }

    fn functions(&mut self, type_name: &str, values: &[(&str, ExprId)]) {
        let value = |name: &str| {
            let found = values.iter().find(|(member, _)| *member == name);
            found.map(|(_, value)| *value)
        };
        let roles: Vec<(Option<ExprId>, Role)> = match type_name {
            "PyMethodDef" => {
                let flags = value("ml_flags");
                let convention = flags.map_or(Convention::Unknown, |flags| {
                    Convention::of_flags(self.tree, flags)
                });
                let name = value("ml_name").and_then(|name| self.tree.as_string(name));
                let role = match name.is_some_and(|name| self.at_import.contains(name)) {
                    true => Role::AtImport(convention),
                    false => Role::Method(convention),
                };
                vec![(value("ml_meth"), role)]
            }
            "PyGetSetDef" => vec![(value("get"), Role::Getter), (value("set"), Role::Setter)],
            "PyType_Slot" | "PyModuleDef_Slot" => {
                let Some(slot) = value("slot").and_then(|slot| name(self.tree, slot)) else {
                    return;
                };
                let slot = slot.strip_prefix("Py_").unwrap_or(slot);
                let function = value("pfunc").or_else(|| value("value"));
                vec![(function, Role::Slot(slot.into()))]
            }
            _ => {
                let slot =
                    |(member, value): &(&str, ExprId)| (Some(*value), Role::Slot((*member).into()));
                values.iter().map(slot).collect()
            }
        };
        for (value, role) in roles {
            if let Some(name) = value.and_then(|value| named(self.tree, value)) {
                self.roles.add(self.unit, name, role);
            }
        }
    }
}
