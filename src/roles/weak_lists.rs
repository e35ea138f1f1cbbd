//! The types with a list of weak references in their objects, and the functions that destroy these.
//!
//! ```c
//! static PyTypeObject Node_Type = {
//!     .tp_dealloc = Node_dealloc,
//!     .tp_weaklistoffset = offsetof(Node, weakrefs),
//! };
//!
//! static PyMemberDef members[] = {
//!     {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY},
//!     {NULL},
//! };
//! static PyType_Slot slots[] = {
//!     {Py_tp_dealloc, Node_dealloc},
//!     {Py_tp_members, members},
//!     {0, NULL},
//! };
//! ```

use std::path::Path;

use rustc_hash::FxHashSet;

use super::tables::values;
use crate::ast::{ExprId, ExprKind, Function, Init, InitList, Name, Tree, Type, TypeKind};
use crate::capi::PyVersion;
use crate::facts::{Claim, Fact, Subject};
use crate::program::{Body, ItemId, Program, ProgramItem, Types};

/// The first Python that takes the list from a table of members.
const MEMBERS_SINCE: PyVersion = PyVersion::new(3, 9);

/// What must hold for a call that clears the list of an object, whatever the list has in it.
pub const COUNT_IS_ZERO: &str = "the reference count of the object is 0 at the call \
                                 (`PyObject_ClearWeakRefs` raises `SystemError` for an object that \
                                 is alive)";

/// The same of the objects that the function `name` of the file at `path` gets.
#[must_use]
pub fn has_list(path: &Path, name: &str, field: &str) -> Fact {
    let function = Subject::in_file(path, name).with([field]);
    Fact::new(Claim::HasWeakList, function)
}

/// Where the objects of a type have their list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakList {
    /// The struct, as [`Types::key`] names it.
    pub owner: String,
    /// Its field.
    pub field: Box<str>,
    /// The first Python with which the type has it; `None` if all do.
    pub since: Option<PyVersion>,
}

/// A type that a table describes.
#[derive(Debug)]
struct Described {
    item: ItemId,
    /// The variable with the table.
    name: Box<str>,
    /// The function in `tp_dealloc`.
    dealloc: Option<Box<str>>,
    list: Option<WeakList>,
}

/// All types that tables describe.
#[derive(Debug)]
pub struct WeakLists {
    types: Vec<Described>,
    /// Whether code sets a list apart from the tables, or calls destructors by their slot: what the
    /// tables say is not all.
    is_open: bool,
}

impl WeakLists {
    /// Reads the tables of the parsed items.
    #[must_use]
    pub fn new(program: &Program<'_>, types: &Types<'_>) -> Self {
        let mut found: Vec<Described> = Vec::new();
        for (at, item) in (0u32..).zip(&program.items) {
            let Some(tree) = item.tree() else {
                continue;
            };
            let reader = Reader {
                program,
                types,
                id: ItemId(at),
                item,
                tree,
            };
            let tables = tables(item).into_iter();
            found.extend(tables.filter_map(|(name, ty, list)| reader.read(name, ty, list)));
        }
        let is_described = |name: &str| found.iter().any(|it| &*it.name == name);
        let mut functions = program.functions();
        Self {
            is_open: functions.any(|(_, function)| opens(&function.tree, &is_described)),
            types: found,
        }
    }

    /// Whether the objects of some type have their list in this field.
    #[must_use]
    pub fn has(&self, owner: &str, field: &str) -> bool {
        let mut lists = self.types.iter().filter_map(|it| it.list.as_ref());
        lists.any(|list| list.owner == owner && &*list.field == field)
    }

    /// The lists of the objects that `function` destroys, if its name stands nowhere but in tables
    /// of types that have one: nobody else calls it, and not with another object.
    ///
    /// A type that inherits the function inherits the list, or has one of its own.
    #[must_use]
    pub fn destroyed_by<'l>(
        &'l self,
        program: &Program<'_>,
        unit: &ProgramItem,
        function: &Function,
    ) -> Option<Vec<&'l WeakList>> {
        let name = function.name.as_str();
        let mut seen = FxHashSet::default();
        program.includes.reach(unit.unit, &mut seen);
        let mut lists = Vec::new();
        for (at, item) in (0u32..).zip(&program.items) {
            // Other `static` functions of that name are other functions. An item of a header counts
            // for one unit, whoever includes it.
            let is_seen = item.unit == unit.unit || seen.contains(&item.place.0);
            if function.is_static && !is_seen {
                continue;
            }
            let uses = item.tree().map_or(0, |tree| uses(tree, name));
            let own = self.types.iter().filter(|it| it.item == ItemId(at));
            let own = own.filter(|it| it.dealloc.as_deref() == Some(name));
            let own: Vec<&WeakList> = own.filter_map(|it| it.list.as_ref()).collect();
            if own.len() != uses {
                return None;
            }
            lists.extend(own);
        }
        (!lists.is_empty() && !self.is_open).then_some(lists)
    }
}

fn uses(tree: &Tree, name: &str) -> usize {
    let is_use = |id: &ExprId| as_global(tree, *id) == Some(name);
    tree.expr_ids().filter(is_use).count()
}

/// `Node_Type.tp_weaklistoffset = 0;`, `Py_TYPE(self)->tp_base->tp_dealloc(self);`
fn opens(tree: &Tree, is_described: &dyn Fn(&str) -> bool) -> bool {
    let base_of = |expr: ExprId, name: &str| match &tree.expr(tree.without_casts(expr)).kind {
        ExprKind::Member { base, field, .. } if &**field == name => Some(*base),
        _ => None,
    };
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Assign { lhs, .. } => base_of(*lhs, "tp_weaklistoffset").is_some(),
        ExprKind::Call { callee, .. } => base_of(*callee, "tp_dealloc").is_some_and(|base| {
            // `PyUnicode_Type.tp_dealloc(self)` is the function of another type.
            as_global(tree, base).is_none_or(is_described)
        }),
        _ => false,
    })
}

/// A declaration that may be a table.
struct Reader<'a> {
    program: &'a Program<'a>,
    types: &'a Types<'a>,
    id: ItemId,
    item: &'a ProgramItem,
    tree: &'a Tree,
}

impl Reader<'_> {
    fn read(&self, name: &str, ty: &Type, list: &InitList) -> Option<Described> {
        let tree = self.tree;
        let (dealloc, list) = match &ty.kind {
            TypeKind::Array(row, _) if row.name() == Some("PyType_Slot") => self.slots(list),
            _ => {
                let values = values(tree, ty.name().filter(|name| is_type(name))?, list)?;
                let value = |name: &str| Some(values.iter().find(|(it, _)| *it == name)?.1);
                let field = value("tp_weaklistoffset").and_then(|it| self.field(it));
                let list = field.map(|(owner, field)| WeakList {
                    owner,
                    field,
                    since: None,
                });
                (value("tp_dealloc"), list)
            }
        };
        let dealloc = dealloc.and_then(|it| as_global(tree, tree.without_casts(it)));
        Some(Described {
            item: self.id,
            name: name.into(),
            dealloc: dealloc.map(Box::from),
            list,
        })
    }

    /// The destructor and the list of the type that an array of slots makes.
    fn slots(&self, rows: &InitList) -> (Option<ExprId>, Option<WeakList>) {
        let tree = self.tree;
        let find = |slot: &str| {
            let mut rows = rows.entries.iter().filter_map(|entry| match &entry.value {
                Init::List(row) => values(tree, "PyType_Slot", row),
                Init::Expr(_) => None,
            });
            rows.find_map(|row| match row[..] {
                [(_, name), (_, value)] if as_global(tree, name) == Some(slot) => Some(value),
                _ => None,
            })
        };
        let members = find("Py_tp_members").and_then(|it| as_global(tree, tree.without_casts(it)));
        (
            find("Py_tp_dealloc"),
            members.and_then(|it| self.of_members(it)),
        )
    }

    /// The list that the table of members `name` tells of, in each configuration.
    fn of_members(&self, name: &str) -> Option<WeakList> {
        let mut found: Option<WeakList> = None;
        let of_unit = self
            .program
            .items
            .iter()
            .filter(|it| it.unit == self.item.unit);
        for item in of_unit.filter(|it| it.function().is_none()) {
            let own = tables(item).into_iter();
            for (_, _, rows) in own.filter(|it| it.0 == name && is_member_table(it.1)) {
                let reader = Reader {
                    item,
                    tree: item.tree()?,
                    ..*self
                };
                let list = reader.list_member(rows)?;
                if found.as_ref().is_some_and(|it| *it != list) {
                    return None;
                }
                found = Some(list);
            }
        }
        found
    }

    fn list_member(&self, rows: &InitList) -> Option<WeakList> {
        let tree = self.tree;
        let row = rows.entries.iter().find_map(|entry| {
            let Init::List(row) = &entry.value else {
                return None;
            };
            let mut values = row.entries.iter().map(|it| match it.value {
                Init::Expr(value) => Some(value),
                Init::List(_) => None,
            });
            let name = values.next()??;
            let is_list = tree.as_string(tree.without_casts(name)) == Some(b"__weaklistoffset__");
            is_list.then(|| values.flatten().find_map(|value| self.field(value)))
        });
        let (owner, field) = row??;
        Some(WeakList {
            owner,
            field,
            since: Some(MEMBERS_SINCE),
        })
    }

    /// `offsetof(Node, weakrefs)`.
    fn field(&self, value: ExprId) -> Option<(String, Box<str>)> {
        let tree = self.tree;
        let value = tree.expr(tree.without_casts(value));
        let ExprKind::TypeQuery(ty) = &value.kind else {
            return None;
        };
        let (first, end) = (value.range.start, value.range.end);
        let word = |at: u32| self.item.tokens.text(self.program.files, at);
        // `offsetof ( type , field )`: no `sizeof(type)`, and no field of a field.
        let is_offset = first + 6 <= end
            && word(first).ends_with(b"offsetof")
            && word(end - 1) == b")"
            && word(end - 3) == b",";
        let field = String::from_utf8_lossy(word(end.checked_sub(2)?)).into_owned();
        let owner = self.types.key(ty)?;
        is_offset.then(|| (owner, field.into()))
    }
}

/// The variables of an item that have a list for their value.
fn tables(item: &ProgramItem) -> Vec<(&str, &Type, &InitList)> {
    let list = |init| match init {
        &Some(Init::List(ref list)) => Some(list),
        _ => None,
    };
    match &item.body {
        Some(Body::Declaration(declaration)) => {
            let all = declaration.declarators.iter();
            all.filter_map(|it| Some((it.name.as_str(), &it.ty, list(&it.init)?)))
                .collect()
        }
        Some(Body::Function(function)) => {
            let tree = &function.tree;
            let all = tree.declarations();
            all.filter_map(|it| {
                let local = tree.local(it.local);
                Some((local.name.as_str(), &local.ty, list(&it.init)?))
            })
            .collect()
        }
        None => Vec::new(),
    }
}

fn is_type(name: &str) -> bool {
    matches!(name, "PyTypeObject" | "_typeobject")
}

fn is_member_table(ty: &Type) -> bool {
    matches!(&ty.kind, TypeKind::Array(row, _) if row.name() == Some("PyMemberDef"))
}

fn as_global(tree: &Tree, expr: ExprId) -> Option<&str> {
    match &tree.expr(expr).kind {
        ExprKind::Name(Name::Global(name)) => Some(name),
        _ => None,
    }
}
