//! How Python calls the functions of an extension: method tables, type slots, module slots.

mod collect;
mod init_only;
mod layout;
mod tables;
mod weak_lists;

pub use init_only::{init_only, reached_only_from};
pub use tables::{name, named, spec_values, values};
pub use weak_lists::{COUNT_IS_ZERO, WeakList, WeakLists, has_list};

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, Function, Tree};
use crate::program::{Program, ProgramItem};
use crate::source::FileId;

/// What a function is to Python.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// In a `PyMethodDef` table.
    Method(Convention),
    /// The same, and all that calls it is the Python code of the package, once, as it is imported.
    AtImport(Convention),
    /// In a slot: `tp_init`, `nb_add`, `m_free`, `mod_exec`. Names as in C, without `Py_`.
    Slot(Box<str>),
    /// Reads an attribute of a `PyGetSetDef` table.
    Getter,
    /// Writes one.
    Setter,
    /// `PyInit_name`.
    ModuleInit,
}

/// How the arguments of a method come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Convention {
    /// `METH_VARARGS`: a tuple.
    VarArgs,
    /// `METH_VARARGS | METH_KEYWORDS`: a tuple, and a dict or `NULL`.
    VarArgsKeywords,
    /// `METH_NOARGS`: nothing.
    NoArgs,
    /// `METH_O`: one object.
    One,
    /// `METH_FASTCALL`: an array and its length.
    FastCall,
    /// `METH_FASTCALL | METH_KEYWORDS`: the same, and a tuple of names or `NULL`.
    FastCallKeywords,
    /// `METH_METHOD | METH_FASTCALL | METH_KEYWORDS`: the same after the defining class.
    Method,
    /// Flags that are not written out.
    Unknown,
}

impl Convention {
    /// The convention of the flags in a line of a method table, whatever `METH_STATIC` and
    /// `METH_CLASS` say of the first argument.
    #[must_use]
    pub fn of_flags(tree: &Tree, flags: ExprId) -> Self {
        Self::of(tables::names(tree, flags).into_iter())
    }

    fn of<'n>(flags: impl Iterator<Item = &'n str>) -> Self {
        let flags: BTreeSet<&str> = flags.collect();
        let has = |name| flags.contains(name);
        match (
            has("METH_VARARGS"),
            has("METH_FASTCALL"),
            has("METH_KEYWORDS"),
        ) {
            (true, false, false) => Self::VarArgs,
            // Python 2 let `METH_KEYWORDS` stand alone.
            (_, false, true) => Self::VarArgsKeywords,
            (false, true, false) => Self::FastCall,
            (false, true, true) if has("METH_METHOD") => Self::Method,
            (false, true, true) => Self::FastCallKeywords,
            (false, false, false) if has("METH_NOARGS") => Self::NoArgs,
            (false, false, false) if has("METH_O") => Self::One,
            _ => Self::Unknown,
        }
    }
}

/// What Python hands to a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Param {
    /// The object, type or module.
    Own,
    /// A tuple that nobody else changes: the arguments, or the names of those given by name.
    Tuple,
    /// The dict of the arguments given by name, or `NULL`: made for this call if Python makes it.
    Keywords,
    /// An argument of the Python call itself.
    Argument,
}

impl Role {
    /// What parameter `index` (from 0) is; `None` if nothing is known of it.
    #[must_use]
    pub fn param(&self, index: usize) -> Option<Param> {
        match (self, index) {
            (Self::Slot(slot), 0) if slot.starts_with("mod_") => Some(Param::Own),
            (Self::ModuleInit, _) => None,
            (_, 0) => Some(Param::Own),
            (Self::Method(convention) | Self::AtImport(convention), _) => {
                method_param(*convention, index)
            }
            (Self::Slot(slot), _) if takes_keywords(slot) => match index {
                1 => Some(Param::Tuple),
                2 => Some(Param::Keywords),
                _ => None,
            },
            (Self::Slot(_) | Self::Setter, _) => Some(Param::Argument),
            (Self::Getter, _) => None,
        }
    }

    /// Whether Python calls it for any of its two first parameters: `nb_add` for `1 + object` as well.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        const UNARY: [&str; 10] = [
            "nb_negative",
            "nb_positive",
            "nb_absolute",
            "nb_invert",
            "nb_bool",
            "nb_nonzero",
            "nb_int",
            "nb_float",
            "nb_index",
            "nb_long",
        ];
        matches!(self, Self::Slot(slot) if slot.starts_with("nb_")
            && !slot.starts_with("nb_inplace_") && !UNARY.contains(&&**slot))
    }

    /// Whether Python hands an object to parameter `index`, and never `NULL`.
    #[must_use]
    pub fn is_object(&self, index: usize) -> bool {
        const SECOND: [&str; 6] = [
            "mp_subscript",
            "sq_concat",
            "sq_contains",
            "sq_inplace_concat",
            "tp_getattro",
            "tp_richcompare",
        ];
        match (self, index) {
            (Self::ModuleInit, _) => false,
            (_, 0) => true,
            (Self::Method(convention), 1) => *convention == Convention::One,
            (Self::Slot(slot), 1) => slot.starts_with("nb_") || SECOND.contains(&&**slot),
            _ => false,
        }
    }

    /// Whether it runs only on an object that nobody can reach any more.
    #[must_use]
    pub fn is_destructor(&self) -> bool {
        const DESTRUCTORS: [&str; 5] = ["tp_dealloc", "tp_clear", "tp_free", "m_clear", "m_free"];
        matches!(self, Self::Slot(slot) if DESTRUCTORS.contains(&&**slot))
    }

    /// Whether Python calls it also while an exception is pending: where an object dies, or gives a
    /// buffer back, on the way out of code that has failed.
    #[must_use]
    pub fn may_meet_exception(&self) -> bool {
        const MEETING: [&str; 3] = ["tp_finalize", "tp_del", "bf_releasebuffer"];
        let meets = matches!(self, Self::Slot(slot) if MEETING.contains(&&**slot));
        meets || self.is_destructor()
    }

    /// Whether calling a type calls it.
    #[must_use]
    pub fn makes_object(&self) -> bool {
        matches!(self, Self::Slot(slot) if matches!(&**slot, "tp_new" | "tp_init"))
    }

    /// Whether it shows the collector what an object holds.
    #[must_use]
    pub fn is_traverse(&self) -> bool {
        matches!(self, Self::Slot(slot) if matches!(&**slot, "tp_traverse" | "m_traverse"))
    }

    /// Whether a table of methods has it.
    #[must_use]
    pub fn is_method(&self) -> bool {
        matches!(self, Self::Method(_) | Self::AtImport(_))
    }

    /// Whether it runs while the module is being made, or the package around it imported.
    #[must_use]
    pub fn is_module_init(&self) -> bool {
        match self {
            Self::ModuleInit | Self::AtImport(_) => true,
            Self::Slot(slot) => matches!(&**slot, "mod_exec" | "mod_create"),
            Self::Method(_) | Self::Getter | Self::Setter => false,
        }
    }
}

fn takes_keywords(slot: &str) -> bool {
    matches!(slot, "tp_init" | "tp_new" | "tp_call")
}

fn method_param(convention: Convention, index: usize) -> Option<Param> {
    match (convention, index) {
        (Convention::VarArgs | Convention::VarArgsKeywords, 1) => Some(Param::Tuple),
        (Convention::VarArgsKeywords, 2) => Some(Param::Keywords),
        (Convention::One, 1) => Some(Param::Argument),
        (Convention::FastCallKeywords, 3) | (Convention::Method, 4) => Some(Param::Tuple),
        _ => None,
    }
}

/// Whether a field of this name is a slot of a type.
#[must_use]
pub fn is_slot(field: &str) -> bool {
    layout::is_slot(field)
}

/// Whether a variable of this type is a table that Python reads.
#[must_use]
pub fn is_table(type_name: &str) -> bool {
    layout::members(type_name).is_some()
}

/// The roles of all functions of a package.
#[derive(Debug, Default)]
pub struct Roles {
    by_unit: BTreeMap<(FileId, Box<str>), BTreeSet<Role>>,
    by_name: BTreeMap<Box<str>, BTreeSet<Role>>,
}

impl Roles {
    /// Reads the tables of the parsed items.
    #[must_use]
    pub fn new(program: &Program<'_>) -> Self {
        let mut roles = Self::default();
        collect::collect(program, &mut roles);
        roles
    }

    /// The roles of a function of `item`, in a fixed order; none if only C calls it.
    ///
    /// A `static` function has those that its own translation unit gives it: others of that name
    /// are other functions.
    pub fn of<'r>(
        &'r self,
        item: &ProgramItem,
        function: &Function,
    ) -> impl Iterator<Item = &'r Role> + use<'r> {
        let name = function.name.as_str();
        let found = if function.is_static {
            self.by_unit.get(&(item.unit, name.into()))
        } else {
            self.by_name.get(name)
        };
        found.into_iter().flatten()
    }

    /// All functions that tables and slots name, with the file of the translation unit and each of
    /// their roles.
    pub fn functions(&self) -> impl Iterator<Item = (FileId, &str, &Role)> {
        let all = self.by_unit.iter();
        all.flat_map(|((unit, name), roles)| roles.iter().map(move |role| (*unit, &**name, role)))
    }

    fn add(&mut self, unit: FileId, function: &str, role: Role) {
        let unit = (unit, function.into());
        self.by_unit.entry(unit).or_default().insert(role.clone());
        self.by_name
            .entry(function.into())
            .or_default()
            .insert(role);
    }
}

#[cfg(test)]
mod tests;
