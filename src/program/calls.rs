//! Who calls which function, and whose address is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::{Program, Unread};
use crate::ast::{ExprId, ExprKind, Name, Tree};

/// Names an item of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u32);

/// A call by name in some item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSite {
    /// The item it stands in.
    pub item: ItemId,
    /// The call expression.
    pub expr: ExprId,
}

/// All calls by name in the parsed items.
#[derive(Debug, Default)]
pub struct CallIndex {
    calls: BTreeMap<Box<str>, Vec<CallSite>>,
    /// Where each name first stands other than as what is called.
    mentioned: BTreeMap<Box<str>, CallSite>,
    /// Words of text that was not understood, and the index of the first such text.
    not_understood: BTreeMap<Box<str>, usize>,
    unread: OnceLock<Unread>,
}

/// Where a function is named without being called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mention {
    /// An expression takes its address.
    Address(CallSite),
    /// Text that was not understood has its name; the index of the gap.
    Gap(usize),
}

impl CallIndex {
    /// Indexes the calls of `program`.
    #[must_use]
    pub fn new(program: &Program<'_>) -> Self {
        let mut index = Self::default();
        for (at, item) in (0u32..).zip(&program.items) {
            if let Some(tree) = item.tree() {
                index.add(ItemId(at), tree);
            }
        }
        for (at, gap) in program.gaps.iter().enumerate() {
            let text = program.files.get(gap.file).text(gap.span);
            for word in text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()) {
                index.not_understood.entry(word.into()).or_insert(at);
            }
        }
        index
    }

    /// All calls of `name`, item by item in source order; also those that macro bodies make.
    #[must_use]
    pub fn calls_to(&self, name: &str) -> &[CallSite] {
        self.calls.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of all that is called, in order.
    pub fn called(&self) -> impl Iterator<Item = &str> {
        self.calls.keys().map(|name| &**name)
    }

    /// Whether the name stands somewhere without being called, in a method table or as a callback,
    /// or in text that was not understood.
    #[must_use]
    pub fn is_mentioned(&self, name: &str) -> bool {
        self.mention(name).is_some()
    }

    /// The first place for which [`Self::is_mentioned`] holds.
    #[must_use]
    pub fn mention(&self, name: &str) -> Option<Mention> {
        let address = self.mentioned.get(name).copied().map(Mention::Address);
        address.or_else(|| Some(Mention::Gap(*self.not_understood.get(name)?)))
    }

    /// Whether an expression of the parsed text takes the address of the function.
    #[must_use]
    pub fn is_address_taken(&self, name: &str) -> bool {
        self.mentioned.contains_key(name)
    }

    /// What text of `program` that is not parsed does with its functions.
    pub fn unread(&self, program: &Program<'_>) -> &Unread {
        self.unread.get_or_init(|| Unread::new(program))
    }

    /// Whether text that was not understood holds the word.
    #[must_use]
    pub fn is_in_gap(&self, word: &str) -> bool {
        self.not_understood.contains_key(word)
    }

    /// The order of the arena is source order.
    fn add(&mut self, item: ItemId, tree: &Tree) {
        let mut callees = BTreeSet::new();
        for (at, expr) in (0u32..).zip(&tree.exprs) {
            let ExprKind::Call { callee, .. } = &expr.kind else {
                continue;
            };
            let Some(name) = tree.callee_name(*callee) else {
                continue;
            };
            callees.insert(*callee);
            let expr = ExprId(at);
            let sites = self.calls.entry(name.into()).or_default();
            sites.push(CallSite { item, expr });
        }
        for (at, expr) in (0u32..).zip(&tree.exprs) {
            if let ExprKind::Name(Name::Global(name)) = &expr.kind
                && !callees.contains(&ExprId(at))
            {
                let expr = ExprId(at);
                let first = self.mentioned.entry(name.clone());
                first.or_insert(CallSite { item, expr });
            }
        }
    }
}
