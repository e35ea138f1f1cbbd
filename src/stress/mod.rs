//! A Python script that calls the functions of a module from several threads at once, made from what
//! is known of the module: method tables, slots, argument formats, findings.
//!
//! ```text
//! program ─ tables ─ surface ─────┐
//!             signature, hints    ├─ scenario ─ script
//!                      findings ──┘              regions of the old script
//! ```
//!
//! A [`Surface`] is what Python code can call of a module, and how. A [`Scenario`] is one such call
//! with what is known of its arguments. The script finds out the rest as it runs; what it cannot find
//! out stands in a region that is kept when the script is written again.

mod hints;
mod reach;
mod regions;
mod scenario;
mod script;
mod signature;
mod slots;
mod surface;
mod tables;

pub use scenario::{Reported, Scenario, Value, scenarios};
pub use script::{Script, is_script, script, unmade};
pub use surface::{Surface, TypeSurface, surface};

use std::collections::BTreeSet;

/// What Python code can call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name in Python: of a method or attribute, or of a slot.
    pub name: String,
    /// How it is called.
    pub act: Act,
    /// The C function.
    pub function: String,
    /// `m.c:12`, where that function begins; empty if it was not found.
    pub place: String,
    /// What it takes; why that is not known.
    pub params: Result<Vec<Param>, String>,
    /// The names of all functions that it reaches, and of the variables that these use.
    pub reaches: BTreeSet<String>,
}

/// How Python calls a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A function of the module, or a method of a type.
    Call,
    /// It reads an attribute.
    Get,
    /// It sets an attribute.
    Set,
    /// A slot of a type: the expression that calls it, with `{}` for each argument.
    Slot(&'static str),
    /// It makes an object of the type.
    Make,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// What may be given.
    pub kind: Kind,
    /// Whether it has to be given.
    pub need: Need,
}

/// Whether, and how, an argument has to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Always.
    Required,
    /// It may be left out.
    Optional,
    /// It has to be given by this name.
    Keyword(String),
}

/// What an argument may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One of these words, which the script knows: `list`, `int`, `any`.
    Known(&'static str),
    /// An object of the type whose variable in C has this name.
    Own(String),
    /// A tuple of these.
    Tuple(Vec<Kind>),
}

impl Kind {
    const ANY: Self = Self::Known("any");
}
