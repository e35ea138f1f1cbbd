//! A package as the rules see it: every distinct top-level item, parsed where it is asked for.

mod calls;
mod handed;
mod kept;
mod lasting;
mod load;
mod members;
mod mistaken;
mod named;
mod numbers;
mod structs;
#[cfg(test)]
pub(crate) mod testing;
mod types;
mod unread;
mod unread_users;
mod with_gil;

pub use calls::{CallIndex, CallSite, ItemId, Mention};
pub use handed::{Handed, Hands};
pub use kept::Kept;
pub use lasting::{Lasting, lasting};
pub use load::{Demand, Options, Places, load};
pub use members::{Member, dict_fields, members};
pub use mistaken::{is_namesake, mistaken};
pub use types::Types;
pub use unread::{Reading, Unread};
pub use unread_users::{UnreadUsers, User};
pub use with_gil::WithGil;

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::ast::{Declaration, Function, Tree};
use crate::facts::Functions;
use crate::parse::TypeNames;
use crate::preprocess::{FileIndex, Includes, ItemTokens, MissingHeader, Twice};
use crate::source::{ByteSpan, FileId, FileSet};

/// All items of a package.
#[derive(Debug)]
pub struct Program<'a> {
    /// The files.
    pub files: &'a FileSet,
    /// Their indices, by [`FileId`].
    pub index: &'a [FileIndex],
    /// Who includes whom.
    pub includes: &'a Includes,
    /// Names that are types somewhere in the package.
    pub types: TypeNames,
    /// What the project says of its functions.
    pub facts: Functions,
    /// Items in a fixed order: by translation unit, then by appearance.
    pub items: Vec<ProgramItem>,
    /// What could not be understood.
    pub gaps: Vec<Gap>,
    /// Words of text that nobody analyses.
    pub unread: Arc<Unread>,
    /// Text that only builds with the GIL compile.
    pub with_gil: WithGil,
    /// What translation units define twice.
    pub twice: Vec<Twice>,
    /// All of it for another run over nearly the same files, if it was parsed in whole.
    pub kept: Option<Arc<Kept>>,
    /// Distinct functions as written: variants of other configurations are not counted again.
    pub functions_total: usize,
    /// Of those, how many were understood in all of their variants.
    pub functions_understood: usize,
    /// The functions by their names, when first asked for.
    named: OnceLock<FxHashMap<Box<str>, Vec<ItemId>>>,
    /// What functions leave behind, by how deep it was looked for.
    left_behind: lasting::Known,
}

/// One item of one translation unit in the configurations that share its tokens.
#[derive(Debug)]
pub struct ProgramItem {
    /// The translation unit: its root file.
    pub unit: FileId,
    /// The configuration's number in that unit; 0 is the base.
    pub config: usize,
    /// Whether that configuration is one of a build with the GIL only: `#ifndef Py_GIL_DISABLED`.
    pub needs_gil: bool,
    /// Its tokens.
    pub tokens: Arc<ItemTokens>,
    /// Its text as written.
    pub place: (FileId, ByteSpan),
    /// Its tree; `None` if nobody asked for it or it was not understood.
    pub body: Option<Body>,
}

impl ProgramItem {
    /// What it is, if that is a function which was parsed.
    #[must_use]
    pub fn function(&self) -> Option<&Function> {
        match self.body.as_ref()? {
            Body::Function(function) => Some(function),
            Body::Declaration(_) => None,
        }
    }

    /// Its tree, if it was parsed.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        match self.body.as_ref()? {
            Body::Function(function) => Some(&function.tree),
            Body::Declaration(declaration) => Some(&declaration.tree),
        }
    }
}

/// A parsed item.
#[derive(Debug, Clone)]
pub enum Body {
    /// A function definition.
    Function(Arc<Function>),
    /// A declaration.
    Declaration(Arc<Declaration>),
}

/// A place that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The file.
    pub file: FileId,
    /// Where.
    pub span: ByteSpan,
    /// The function, if it is one.
    pub function: Option<String>,
    /// Why.
    pub reason: String,
}

impl Program<'_> {
    /// The item with this id.
    #[must_use]
    pub fn item(&self, id: ItemId) -> &ProgramItem {
        &self.items[id.0 as usize]
    }

    /// The parsed functions.
    pub fn functions(&self) -> impl Iterator<Item = (&ProgramItem, &Function)> {
        self.items.iter().filter_map(|item| match &item.body {
            Some(Body::Function(function)) => Some((item, &**function)),
            Some(Body::Declaration(_)) | None => None,
        })
    }

    /// Whether the package defines a function of this name.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        self.functions_named(name).next().is_some()
    }

    /// The parsed functions with this name, variants of other configurations included.
    pub fn functions_named(&self, name: &str) -> impl Iterator<Item = (ItemId, &Function)> {
        let named = self.named.get_or_init(|| self.index_names());
        let items = named.get(name).map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(|&id| match &self.item(id).body {
            Some(Body::Function(function)) => Some((id, &**function)),
            Some(Body::Declaration(_)) | None => None,
        })
    }

    fn index_names(&self) -> FxHashMap<Box<str>, Vec<ItemId>> {
        let mut named = FxHashMap::<Box<str>, Vec<ItemId>>::default();
        for (at, item) in (0u32..).zip(&self.items) {
            if let Some(Body::Function(function)) = &item.body {
                let items = named.entry(function.name.as_str().into());
                items.or_default().push(ItemId(at));
            }
        }
        named
    }

    /// The parsed declarations.
    pub fn declarations(&self) -> impl Iterator<Item = (&ProgramItem, &Declaration)> {
        self.items.iter().filter_map(|item| match &item.body {
            Some(Body::Declaration(declaration)) => Some((item, &**declaration)),
            Some(Body::Function(_)) | None => None,
        })
    }

    /// Quoted headers that are not in the tree.
    #[must_use]
    pub fn missing_headers(&self) -> &[MissingHeader] {
        self.includes.missing()
    }
}
