//! The extension modules of a package: where each is initialised, and whether it says that it runs
//! without the GIL.

mod create;
mod declared;
mod find;
mod guard;
mod lines;
mod null_check;
mod slots;
mod symbols;

pub use create::{Create, Form, NullCheck};
pub use find::find_modules;
pub use guard::{set_gil_guard, slot_guard};
pub use lines::{Lines, identifiers};
pub use slots::{Array, Def, NoSlots, Slots};

use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// Words of the functions and declarations that make modules: rules over modules trigger on them.
pub static TRIGGERS: &[&str] = &[
    "PyModuleDef",
    "PyModuleDef_Init",
    "PyModuleDef_Slot",
    "PyModule_Create",
    "PyModule_Create2",
    "PyUnstable_Module_SetGIL",
    "Py_mod_gil",
];

/// An extension module: one `PyInit_` function, in all of its configurations. Files that include one
/// text with that function, and give it other names, make several modules of it.
#[derive(Debug, Clone)]
pub struct Module {
    /// `name` of `PyInit_name`; of several the first.
    pub name: String,
    /// The names of all, each with the file that tells it apart.
    pub made: Vec<Made>,
    /// The name of the function, or of the macro use that makes it.
    pub place: (FileId, ByteSpan),
    /// What the function does to make a module.
    pub route: Route,
    /// Whether the module says that it runs without the GIL.
    pub declared: Declared,
}

/// A name of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// `name` of `PyInit_name`.
    pub name: String,
    /// The file of the function, or the one that includes it and gives it this name.
    pub file: FileId,
}

/// How a module is initialised.
#[derive(Debug, Clone)]
pub enum Route {
    /// `PyModuleDef_Init`, once for each definition that some configuration uses.
    Multi(Vec<Def>),
    /// `PyModule_Create`, once for each call that some configuration makes.
    Single(Vec<Create>),
    /// Configurations differ: some do the one, some the other.
    Both(Vec<Def>, Vec<Create>),
    /// It is not known; why.
    Unknown(String),
}

impl Module {
    /// `` `_speedups` ``, or how many others there are: `` `_OOBTree` (and 21 others of this text) ``.
    #[must_use]
    pub fn in_words(&self) -> String {
        let others = match self.made.len() {
            0 | 1 => String::new(),
            2 => " (and another one of this text)".to_owned(),
            n => format!(" (and {} others of this text)", n - 1),
        };
        format!("`{}`{others}", self.name)
    }

    /// The definitions it is initialised from in two phases.
    #[must_use]
    pub fn defs(&self) -> &[Def] {
        match &self.route {
            Route::Multi(defs) | Route::Both(defs, _) => defs,
            Route::Single(_) | Route::Unknown(_) => &[],
        }
    }

    /// The calls that create it in one phase.
    #[must_use]
    pub fn creates(&self) -> &[Create] {
        match &self.route {
            Route::Single(creates) | Route::Both(_, creates) => creates,
            Route::Multi(_) | Route::Unknown(_) => &[],
        }
    }
}

/// What the source says of the module and the GIL, in any configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// That it runs without the GIL.
    Already,
    /// `Py_MOD_GIL_USED`: its maintainers decided that it needs the GIL.
    NeedsGil,
    /// Nothing.
    No,
}

/// Where the text of `range` begins in a file: its first token, or the macro use that made it.
fn start_of(cx: &PackageCx<'_>, item: ItemId, token: u32) -> Option<(FileId, ByteOffset)> {
    let place = place_of(
        cx,
        item,
        crate::ast::TokenRange {
            start: token,
            end: token + 1,
        },
    )?;
    Some((place.0, place.1.start()))
}

/// The text that `range` stands for; the outermost use of the macro that made (a part of) it.
fn place_of(
    cx: &PackageCx<'_>,
    item: ItemId,
    range: crate::ast::TokenRange,
) -> Option<(FileId, ByteSpan)> {
    if range.start >= range.end {
        return None;
    }
    Some(cx.item(item).tokens.place(range).written_at())
}
