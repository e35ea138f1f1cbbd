//! The tables of a module, joined by their names.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, Function, Init, InitList, Tree, Type, TypeKind};
use crate::program::{Body, ItemId, Program, ProgramItem};
use crate::roles::{Convention, is_slot, name, named, spec_values, values};
use crate::source::FileId;

/// A line of a `PyMethodDef` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) convention: Convention,
}

/// A line of a `PyGetSetDef` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) get: Option<String>,
    pub(super) set: Option<String>,
}

/// A type, or the spec of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TypeTable {
    /// As Python says it: `pkg.Stack`.
    pub(super) name: String,
    /// The slots, and the tables among them, by what they name.
    pub(super) slots: Vec<(String, String)>,
    /// Whether a spec makes it: such a type inherits `tp_new`.
    pub(super) is_heap: bool,
}

/// What the files of one module define.
pub(super) struct Found<'p> {
    program: &'p Program<'p>,
    files: &'p BTreeSet<FileId>,
    methods: Lines<Method>,
    attributes: Lines<Attribute>,
    /// `PySequenceMethods` and kin, and arrays of `PyType_Slot`.
    groups: Lines<(String, String)>,
    /// By the name of the variable and its unit.
    types: BTreeMap<(String, FileId), TypeTable>,
    /// Unit, name and method table of each `PyModuleDef`.
    pub(super) modules: Vec<(FileId, String, String)>,
    /// Method tables that `PyModule_AddFunctions` gets.
    pub(super) added: Vec<(FileId, String)>,
}

/// The lines of tables by the names of these, each with its translation unit: a name that is `static`
/// may be that of several tables.
type Lines<T> = BTreeMap<String, Vec<(FileId, T)>>;

/// The lines of the table that `name` means in `unit`.
fn lines<'l, T>(all: &'l Lines<T>, unit: FileId, name: &str) -> Vec<&'l T> {
    let named = all.get(name).map_or(&[][..], Vec::as_slice);
    let is_own = named.iter().any(|(of, _)| *of == unit);
    let chosen = named.iter().filter(|(of, _)| !is_own || *of == unit);
    chosen.map(|(_, line)| line).collect()
}

impl<'p> Found<'p> {
    /// Reads what the items of `files` define.
    pub(super) fn new(program: &'p Program<'p>, files: &'p BTreeSet<FileId>) -> Self {
        let mut found = Self {
            program,
            files,
            methods: BTreeMap::new(),
            attributes: BTreeMap::new(),
            groups: BTreeMap::new(),
            types: BTreeMap::new(),
            modules: Vec::new(),
            added: Vec::new(),
        };
        for item in &program.items {
            if !found.has(item) {
                continue;
            }
            match &item.body {
                Some(Body::Declaration(declaration)) => {
                    let mut reader = Reader {
                        unit: item.unit,
                        tree: &declaration.tree,
                        found: &mut found,
                    };
                    for it in &declaration.declarators {
                        reader.variable(&it.name, &it.ty, it.init.as_ref());
                    }
                }
                Some(Body::Function(function)) => {
                    let mut reader = Reader {
                        unit: item.unit,
                        tree: &function.tree,
                        found: &mut found,
                    };
                    reader.in_function();
                }
                None => {}
            }
        }
        found
    }

    fn has(&self, item: &ProgramItem) -> bool {
        self.files.contains(&item.place.0) || self.files.contains(&item.unit)
    }

    /// The function that `name` means in `unit`, once for each configuration that has it.
    pub(super) fn variants(&self, unit: FileId, name: &str) -> Vec<(ItemId, &'p Function)> {
        let all = self.program.functions_named(name);
        let all: Vec<_> = all.filter(|(id, _)| self.has(self.item(*id))).collect();
        let is_near = |(id, _): &(ItemId, &Function)| {
            let item = self.item(*id);
            item.unit == unit || item.place.0 == unit
        };
        let is_own = all.iter().any(is_near);
        let chosen = all.into_iter().filter(|it| match is_own {
            true => is_near(it),
            false => !it.1.is_static,
        });
        chosen.collect()
    }

    /// The same in the first configuration.
    pub(super) fn function(&self, unit: FileId, name: &str) -> Option<(ItemId, &'p Function)> {
        self.variants(unit, name).into_iter().next()
    }

    pub(super) fn item(&self, id: ItemId) -> &'p ProgramItem {
        self.program.item(id)
    }

    /// `m.c:12`, where a function begins.
    pub(super) fn place(&self, unit: FileId, name: &str) -> Option<String> {
        let (file, span) = self.item(self.function(unit, name)?.0).place;
        let file = self.program.files.get(file);
        let line = file.position(span.start()).line.0;
        Some(format!("{}:{line}", file.path().display()))
    }

    /// The methods of the table that `name` means in `unit`.
    pub(super) fn methods(&self, unit: FileId, name: &str) -> Vec<&Method> {
        lines(&self.methods, unit, name)
    }

    /// The attributes of the table that `name` means in `unit`.
    pub(super) fn attributes(&self, unit: FileId, name: &str) -> Vec<&Attribute> {
        lines(&self.attributes, unit, name)
    }

    /// The strings of the array `name` that stands outside of functions: `kwlist`.
    pub(super) fn strings(&self, name: &str) -> Vec<String> {
        let declarations = self.program.declarations();
        let mut all = declarations.filter(|(item, _)| self.has(item));
        let found = all.find_map(|(_, declaration)| {
            let mut declarators = declaration.declarators.iter();
            let it = declarators.find(|it| it.name == name)?;
            Some(strings(&declaration.tree, it.init.as_ref()?))
        });
        found.unwrap_or_default()
    }

    /// The types with their variables and units, each with all of its slots.
    pub(super) fn types(&self) -> impl Iterator<Item = (&str, FileId, TypeTable)> {
        self.types.iter().map(|((variable, unit), table)| {
            let mut table = table.clone();
            for (_, named) in &self.types[&(variable.clone(), *unit)].slots {
                let group = lines(&self.groups, *unit, named);
                table.slots.extend(group.into_iter().cloned());
            }
            (&**variable, *unit, table)
        })
    }
}

/// Reads the tables of one item.
struct Reader<'r, 'p, 't> {
    unit: FileId,
    tree: &'t Tree,
    found: &'r mut Found<'p>,
}

impl Reader<'_, '_, '_> {
    /// Tables among the variables of a function, slots that it fills, and tables that it adds.
    fn in_function(&mut self) {
        let tree = self.tree;
        for decl in tree.declarations() {
            let local = tree.local(decl.local);
            self.variable(&local.name, &local.ty, decl.init.as_ref());
        }
        for expr in &tree.exprs {
            if let ExprKind::Assign { op: None, lhs, rhs } = &expr.kind
                && let ExprKind::Member { base, field, .. } = &tree.expr(*lhs).kind
                && is_slot(field)
                && !tree.is_null(*rhs)
                && let (Some(variable), Some(value)) = (name(tree, *base), named(tree, *rhs))
            {
                push_new(
                    &mut self.of_type(variable).slots,
                    (field.to_string(), value.to_owned()),
                );
            }
        }
        for (call, name) in tree.calls() {
            if name == "PyModule_AddFunctions"
                && let Some(table) = tree.arguments(call).get(1)
                && let Some(table) = named(tree, *table)
            {
                self.found.added.push((self.unit, table.to_owned()));
            }
        }
    }

    fn of_type(&mut self, variable: &str) -> &mut TypeTable {
        let key = (variable.to_owned(), self.unit);
        self.found.types.entry(key).or_default()
    }

    fn variable(&mut self, name: &str, ty: &Type, init: Option<&Init>) {
        let Some(Init::List(list)) = init else {
            return;
        };
        match &ty.kind {
            TypeKind::Array(element, _) => {
                let Some(type_name) = element.name() else {
                    return;
                };
                for entry in &list.entries {
                    if let Init::List(row) = &entry.value {
                        self.line(name, type_name, row);
                    }
                }
            }
            _ => match ty.name() {
                Some("PyType_Spec") => self.add_type(name, spec_values(list), true),
                Some(type_name) => self.table(name, type_name, list),
                None => {}
            },
        }
    }

    /// One line of a table of methods, attributes, slots.
    fn line(&mut self, table: &str, type_name: &str, row: &InitList) {
        let tree = self.tree;
        let Some(values) = values(tree, type_name, row) else {
            return;
        };
        let row = Row { tree, values };
        let (unit, found) = (self.unit, &mut *self.found);
        match type_name {
            "PyMethodDef" => {
                if let (Some(name), Some(function)) = (row.text("ml_name"), row.named("ml_meth")) {
                    let flags = row.value("ml_flags");
                    let convention = flags.map(|flags| Convention::of_flags(tree, flags));
                    let method = Method {
                        name,
                        function,
                        convention: convention.unwrap_or(Convention::Unknown),
                    };
                    add(&mut found.methods, table, unit, method);
                }
            }
            "PyGetSetDef" => {
                if let Some(name) = row.text("name") {
                    let (get, set) = (row.named("get"), row.named("set"));
                    add(
                        &mut found.attributes,
                        table,
                        unit,
                        Attribute { name, get, set },
                    );
                }
            }
            "PyType_Slot" => {
                let slot = row.value("slot").and_then(|slot| name(tree, slot));
                if let (Some(slot), Some(function)) = (slot, row.named("pfunc")) {
                    let slot = slot.strip_prefix("Py_").unwrap_or(slot).to_owned();
                    add(&mut found.groups, table, unit, (slot, function));
                }
            }
            _ => {}
        }
    }

    fn table(&mut self, name: &str, type_name: &str, list: &InitList) {
        let tree = self.tree;
        let Some(values) = values(tree, type_name, list) else {
            return;
        };
        match type_name {
            "PyTypeObject" | "_typeobject" => self.add_type(name, values, false),
            "PyModuleDef" => {
                let row = Row { tree, values };
                if let Some(methods) = row.named("m_methods") {
                    let name = row.text("m_name").unwrap_or_default();
                    push_new(&mut self.found.modules, (self.unit, name, methods));
                }
            }
            _ => {
                for (member, value) in values {
                    if let Some(function) = named(tree, value) {
                        let line = (member.to_owned(), function.to_owned());
                        add(&mut self.found.groups, name, self.unit, line);
                    }
                }
            }
        }
    }

    fn add_type(&mut self, variable: &str, values: Vec<(&str, ExprId)>, is_heap: bool) {
        let row = Row {
            tree: self.tree,
            values,
        };
        let table = self.of_type(variable);
        table.is_heap = is_heap;
        if let Some(text) = row.text(if is_heap { "name" } else { "tp_name" }) {
            table.name = text;
        }
        for (member, _) in &row.values {
            if let Some(value) = row.named(member) {
                push_new(&mut table.slots, ((*member).to_owned(), value));
            }
        }
    }
}

/// A line of a table by its members.
struct Row<'t> {
    tree: &'t Tree,
    values: Vec<(&'t str, ExprId)>,
}

impl Row<'_> {
    fn value(&self, member: &str) -> Option<ExprId> {
        let found = self.values.iter().find(|(name, _)| *name == member);
        found.map(|(_, value)| *value)
    }

    fn text(&self, member: &str) -> Option<String> {
        let value = self.tree.without_casts(self.value(member)?);
        let text = self.tree.as_string(value)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn named(&self, member: &str) -> Option<String> {
        let value = self.value(member)?;
        let is_null = self.tree.is_null(value);
        named(self.tree, value)
            .filter(|_| !is_null)
            .map(str::to_owned)
    }
}

/// The strings of an initialiser.
pub(super) fn strings(tree: &Tree, init: &Init) -> Vec<String> {
    let values = init.values().into_iter();
    let texts = values.filter_map(|value| tree.as_string(tree.without_casts(value)));
    texts
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect()
}

fn add<T: PartialEq>(all: &mut Lines<T>, table: &str, unit: FileId, line: T) {
    push_new(all.entry(table.to_owned()).or_default(), (unit, line));
}

/// Configurations repeat what they share.
fn push_new<T: PartialEq>(all: &mut Vec<T>, new: T) {
    if !all.contains(&new) {
        all.push(new);
    }
}
