//! Types with fields that the package defines.

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;

use crate::ast::{StructDef, Type};

/// A type with fields, by a name that all of its spellings share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key<'k> {
    /// `struct tag`, or a union.
    Tag(&'k str),
    Named(&'k str),
}

impl<'k> Key<'k> {
    pub(super) fn new(key: &'k str) -> Self {
        match key.strip_prefix("struct ") {
            Some(tag) => Self::Tag(tag),
            None => Self::Named(key),
        }
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "struct {tag}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// All that the package defines by one name.
#[derive(Debug, Default)]
struct Struct<'a> {
    defs: Vec<&'a StructDef>,
    /// The types of the fields; `None` for one to which several are given.
    fields: FxHashMap<&'a str, Option<&'a Type>>,
}

impl<'a> Struct<'a> {
    fn add(&mut self, def: &'a StructDef) {
        self.defs.push(def);
        for field in &def.fields {
            let known = self.fields.entry(&field.name).or_insert(Some(&field.ty));
            *known = known.filter(|&ty| *ty == field.ty);
        }
    }
}

/// All structs and unions of the package.
#[derive(Debug, Default)]
pub(super) struct Structs<'a> {
    tagged: FxHashMap<&'a str, Struct<'a>>,
    /// Those without a tag, by their `typedef`.
    named: FxHashMap<&'a str, Struct<'a>>,
}

impl<'a> Structs<'a> {
    pub(super) fn add(&mut self, key: Key<'a>, def: &'a StructDef) {
        let known = match key {
            Key::Tag(tag) => self.tagged.entry(tag),
            Key::Named(name) => self.named.entry(name),
        };
        known.or_default().add(def);
    }

    fn get(&self, key: Key<'_>) -> Option<&Struct<'a>> {
        match key {
            Key::Tag(tag) => self.tagged.get(tag),
            Key::Named(name) => self.named.get(name),
        }
    }

    /// The definitions of a type.
    pub(super) fn defs(&self, key: Key<'_>) -> &[&'a StructDef] {
        self.get(key).map_or(&[], |it| &it.defs)
    }

    /// The type that all definitions give a field.
    pub(super) fn field(&self, key: Key<'_>, field: &str) -> Option<&'a Type> {
        *self.get(key)?.fields.get(field)?
    }

    pub(super) fn tags(&self) -> impl Iterator<Item = &'a str> {
        self.tagged.keys().copied()
    }

    /// All definitions, by the names of their types.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, &'a StructDef)> {
        let tagged = self.tagged.iter().map(|(tag, it)| (Key::Tag(tag), it));
        let named = self.named.iter().map(|(name, it)| (Key::Named(name), it));
        let all = tagged.chain(named);
        let all: BTreeMap<String, &Struct<'a>> =
            all.map(|(key, it)| (key.to_string(), it)).collect();
        all.into_iter()
            .flat_map(|(key, it)| it.defs.iter().map(move |&def| (key.clone(), def)))
    }
}
