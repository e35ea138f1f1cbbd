//! Who calls which function, and whose address is taken.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Program, Unread, UnreadUsers};
use crate::ast::{ExprId, ExprKind, Name, Tree};

/// Names an item of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u32);

/// A call by name in some item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallSite {
    /// The item it stands in.
    pub item: ItemId,
    /// The call expression.
    pub expr: ExprId,
}

/// All calls by name in the parsed items.
#[derive(Debug, Default)]
pub struct CallIndex {
    calls: FxHashMap<Box<str>, Vec<CallSite>>,
    /// The keys of `calls`, in order.
    called: Vec<Box<str>>,
    /// Where each name first stands other than as what is called.
    mentioned: FxHashMap<Box<str>, CallSite>,
    /// Words of text that was not understood, and the index of the first such text.
    not_understood: FxHashMap<Box<str>, usize>,
    /// Functions that were not understood in all of their variants.
    broken: FxHashSet<Box<str>>,
    /// Names of functions all of whose definitions are `static`.
    statics: FxHashSet<Box<str>>,
    /// Words of files that nobody analyses.
    unread: Arc<Unread>,
    unread_users: OnceLock<UnreadUsers>,
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
        let mut index = Self {
            unread: Arc::clone(&program.unread),
            statics: statics(program),
            ..Self::default()
        };
        for (at, item) in (0u32..).zip(&program.items) {
            if let Some(tree) = item.tree() {
                index.add(ItemId(at), tree);
            }
        }
        index.called = index.calls.keys().cloned().collect();
        index.called.sort_unstable();
        for (at, gap) in program.gaps.iter().enumerate() {
            let text = program.files.get(gap.file).text(gap.span);
            index.broken.extend(gap.function.as_deref().map(Box::from));
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
        self.called.iter().map(|name| &**name)
    }

    /// Whether the function of this name stands somewhere without being called, in a method table
    /// or as a callback, or in text that was not understood, or that nobody analyses.
    #[must_use]
    pub fn is_mentioned(&self, name: &str) -> bool {
        self.mention(name).is_some() || self.may_be_called_unread(name)
    }

    /// Where the name first stands without being called, or in text that was not understood.
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
    pub fn unread_users(&self, program: &Program<'_>) -> &UnreadUsers {
        self.unread_users.get_or_init(|| UnreadUsers::new(program))
    }

    /// Whether text in another language than C may call the function.
    #[must_use]
    pub fn may_be_called_foreign(&self, name: &str) -> bool {
        self.unread.names_foreign(name) && self.may_be_called_unread(name)
    }

    /// Whether text that was not understood, or that nobody analyses, holds the word: whatever is
    /// to be proven of the field, variable or function of this name for the whole package is not.
    #[must_use]
    pub fn is_named_unread(&self, word: &str) -> bool {
        self.not_understood.contains_key(word) || self.unread.names(word)
    }

    /// Whether a variant of the function was not understood.
    #[must_use]
    pub fn is_broken(&self, function: &str) -> bool {
        self.broken.contains(function)
    }

    /// The file that nobody analyses, and that holds the word.
    #[must_use]
    pub fn unread_by(&self, word: &str) -> Option<&Path> {
        self.unread.by(word)
    }

    /// Whether text that was not understood, or that nobody analyses, may call the function.
    #[must_use]
    pub fn may_be_called_unseen(&self, name: &str) -> bool {
        self.not_understood.contains_key(name) || self.may_be_called_unread(name)
    }

    /// Whether files that nobody analyses may mean the function: one that is `static` only where
    /// they are compiled together with it.
    #[must_use]
    pub fn may_be_called_unread(&self, name: &str) -> bool {
        match self.statics.contains(name) {
            true => self.unread.names_static(name),
            false => self.unread.names(name),
        }
    }

    /// The order of the arena is source order.
    fn add(&mut self, item: ItemId, tree: &Tree) {
        let mut callees = FxHashSet::default();
        for (at, expr) in (0u32..).zip(&tree.exprs) {
            let ExprKind::Call { callee, .. } = &expr.kind else {
                continue;
            };
            let Some(name) = tree.callee_name(*callee) else {
                continue;
            };
            callees.insert(*callee);
            let expr = ExprId(at);
            let site = CallSite { item, expr };
            match self.calls.get_mut(name) {
                Some(sites) => sites.push(site),
                None => drop(self.calls.insert(name.into(), vec![site])),
            }
        }
        for (at, expr) in (0u32..).zip(&tree.exprs) {
            if let ExprKind::Name(Name::Global(name)) = &expr.kind
                && !callees.contains(&ExprId(at))
                && !self.mentioned.contains_key(name)
            {
                let expr = ExprId(at);
                self.mentioned.insert(name.clone(), CallSite { item, expr });
            }
        }
    }
}

fn statics(program: &Program<'_>) -> FxHashSet<Box<str>> {
    let all = program.functions().map(|(_, function)| function);
    let (own, open): (Vec<_>, Vec<_>) = all.partition(|function| function.is_static);
    let open: FxHashSet<&str> = open.iter().map(|function| function.name.as_str()).collect();
    let own = own.into_iter().map(|function| function.name.as_str());
    own.filter(|name| !open.contains(name))
        .map(Box::from)
        .collect()
}
