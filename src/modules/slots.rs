//! From `PyModuleDef_Init(&def)` to the slot array of `def`.

use super::symbols::{Symbols, Variable};
use crate::ast::{
    Designator, ExprId, ExprKind, Init, InitEntry, InitList, Name, TokenRange, Tree, UnaryOp,
};
use crate::rule::{ItemId, PackageCx};

/// The members of `PyModuleDef` in order.
const MEMBERS: &[&str] = &[
    "m_base",
    "m_name",
    "m_doc",
    "m_size",
    "m_methods",
    "m_slots",
    "m_traverse",
    "m_clear",
    "m_free",
];

/// Index of `m_slots`, which was `m_reload` before 3.5.
const SLOTS: usize = 5;

/// What a `PyModuleDef_Init` call is given.
#[derive(Debug, Clone)]
pub struct Def {
    /// The slots in each configuration of the definition; why they are not known.
    pub slots: Result<Vec<Slots>, String>,
}

/// The slots of one definition in one configuration.
#[derive(Debug, Clone)]
pub enum Slots {
    /// An array with a braced initialiser.
    Array(Array),
    /// `m_slots` is left out or `NULL`.
    None(NoSlots),
}

/// A slot array.
#[derive(Debug, Clone)]
pub struct Array {
    /// The item it stands in.
    pub item: ItemId,
    /// Its name; empty for a compound literal.
    pub name: String,
    /// Its entries.
    pub list: InitList,
    /// Whether its length is written: `x[2] = {…}` has no room for another entry.
    pub sized: bool,
}

/// A definition without slots.
#[derive(Debug, Clone)]
pub struct NoSlots {
    /// The item it stands in.
    pub item: ItemId,
    /// Its name.
    pub name: String,
    /// Its declaration.
    pub declaration: TokenRange,
    /// Its members with their indices.
    pub members: Vec<(usize, InitEntry)>,
}

impl NoSlots {
    /// The `m_slots` member that is `NULL`.
    #[must_use]
    pub fn null(&self) -> Option<&InitEntry> {
        self.members
            .iter()
            .find(|(at, _)| *at == SLOTS)
            .map(|(_, entry)| entry)
    }

    /// The last member before `m_slots`.
    #[must_use]
    pub fn last_before(&self) -> Option<&(usize, InitEntry)> {
        self.members.iter().rfind(|(at, _)| *at < SLOTS)
    }
}

/// Finds the slots of the definition that `call` is given.
pub(super) fn def(cx: &PackageCx<'_>, symbols: &Symbols<'_>, item: ItemId, call: ExprId) -> Def {
    Def {
        slots: find(cx, symbols, item, call),
    }
}

fn find(
    cx: &PackageCx<'_>,
    symbols: &Symbols<'_>,
    item: ItemId,
    call: ExprId,
) -> Result<Vec<Slots>, String> {
    let name =
        argument(cx, item, call).ok_or("the argument of `PyModuleDef_Init` is not `&name`")?;
    let defs = symbols.variables(item, name);
    if defs.is_empty() {
        return Err("its `PyModuleDef` was not found".to_owned());
    }
    let mut found = Vec::new();
    for def in &defs {
        found.extend(slots_of(cx, symbols, item, def)?);
    }
    // `#if` around `.m_slots`: where it is left out, an older Python is compiled for.
    if found.iter().any(|slots| matches!(slots, Slots::Array(_))) {
        found.retain(|slots| matches!(slots, Slots::Array(_)));
    }
    Ok(found)
}

/// `def` of `PyModuleDef_Init(&def)`.
fn argument<'a>(cx: &PackageCx<'a>, item: ItemId, call: ExprId) -> Option<&'a Name> {
    let tree = cx.tree(item)?;
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return None;
    };
    match &tree.expr(tree.without_casts(*args.first()?)).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => match &tree.expr(*operand).kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn slots_of(
    cx: &PackageCx<'_>,
    symbols: &Symbols<'_>,
    user: ItemId,
    def: &Variable<'_>,
) -> Result<Vec<Slots>, String> {
    let Init::List(list) = def.init else {
        return Err(format!("`{}` has no braced initialiser", def.name));
    };
    let tree = cx
        .tree(def.item)
        .ok_or("the `PyModuleDef` could not be analysed")?;
    let members = members(list);
    let value = members
        .iter()
        .find(|(at, _)| *at == SLOTS)
        .map(|(_, entry)| &entry.value);
    let Some(value) = value.filter(|value| !is_zero(tree, value)) else {
        if let Some(value) = assigned_slots(cx, user, def.name) {
            return named_arrays(cx, symbols, user, value);
        }
        return Ok(vec![Slots::None(NoSlots {
            item: def.item,
            name: def.name.to_owned(),
            declaration: def.declaration,
            members,
        })]);
    };
    match value {
        Init::Expr(value) => named_arrays(cx, symbols, def.item, *value),
        Init::List(_) => Err(format!("`m_slots` of `{}` is a braced list", def.name)),
    }
}

/// The array that `value` names, in all of its configurations.
fn named_arrays(
    cx: &PackageCx<'_>,
    symbols: &Symbols<'_>,
    item: ItemId,
    value: ExprId,
) -> Result<Vec<Slots>, String> {
    let tree = cx
        .tree(item)
        .ok_or("the `PyModuleDef` could not be analysed")?;
    let name = match &tree.expr(tree.without_casts(value)).kind {
        ExprKind::Name(name) => name,
        ExprKind::Compound { init, .. } => {
            let array = Array {
                item,
                name: String::new(),
                list: init.clone(),
                sized: false,
            };
            return Ok(vec![Slots::Array(array)]);
        }
        _ => return Err("`m_slots` is not the name of an array".to_owned()),
    };
    let arrays = symbols.variables(item, name);
    if arrays.is_empty() {
        return Err("the slot array and its initialiser were not found in this package".to_owned());
    }
    arrays
        .iter()
        .map(|array| slot_array(cx, array).map(Slots::Array))
        .collect()
}

fn slot_array(cx: &PackageCx<'_>, array: &Variable<'_>) -> Result<Array, String> {
    let Init::List(list) = array.init else {
        return Err(format!("`{}` has no braced initialiser", array.name));
    };
    let between = array.name_range.end..list.range.start;
    let tokens = &cx.item(array.item).tokens;
    let text = |at| tokens.text(cx.program.files, at);
    let is_length = |at| text(at) == b"[" && text(at + 1) != b"]";
    Ok(Array {
        item: array.item,
        name: array.name.to_owned(),
        list: list.clone(),
        sized: array.ty.pointee().is_some() && between.clone().any(is_length),
    })
}

/// `x` of `def.m_slots = x;` in the function `user`.
fn assigned_slots(cx: &PackageCx<'_>, user: ItemId, def: &str) -> Option<ExprId> {
    let tree = cx.tree(user)?;
    tree.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::Assign { op: None, lhs, rhs } => match &tree.expr(*lhs).kind {
            ExprKind::Member {
                base,
                field,
                arrow: false,
            } if &**field == "m_slots"
                && super::symbols::designation(tree, *base).as_deref() == Some(def) =>
            {
                Some(*rhs)
            }
            _ => None,
        },
        _ => None,
    })
}

/// The entries of a `PyModuleDef` with the indices of their members. A positional entry is for
/// the member after that of the entry before it.
fn members(list: &InitList) -> Vec<(usize, InitEntry)> {
    let mut next = 0;
    let mut found = Vec::new();
    for entry in &list.entries {
        let named = match entry.designators.first() {
            Some(Designator::Field(field)) => {
                let field = if field == "m_reload" {
                    "m_slots"
                } else {
                    field
                };
                MEMBERS.iter().position(|member| *member == field)
            }
            _ => None,
        };
        let at = named.unwrap_or(next);
        found.push((at, entry.clone()));
        next = at + 1;
    }
    found
}

/// Whether an initialiser is `0` or `NULL`.
fn is_zero(tree: &Tree, value: &Init) -> bool {
    match value {
        Init::Expr(expr) => tree.is_null(*expr),
        Init::List(_) => false,
    }
}

impl Array {
    /// The entry that ends the array.
    #[must_use]
    pub fn terminator(&self, tree: &Tree) -> Option<&InitEntry> {
        let entry = self.list.entries.last()?;
        let Init::List(inner) = &entry.value else {
            return None;
        };
        let slot = inner
            .entries
            .iter()
            .find(|entry| match entry.designators.first() {
                Some(Designator::Field(field)) => field == "slot",
                _ => true,
            });
        slot.is_none_or(|slot| is_zero(tree, &slot.value))
            .then_some(entry)
    }
}
