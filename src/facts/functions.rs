//! What is said of functions, by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{ByteSpan, FileId};

/// Who owns the reference that a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reference {
    /// Its caller.
    New,
    /// Somebody else.
    Borrowed,
}

/// What is said of one function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stated {
    /// What it returns, or `NULL`.
    pub returns: Option<Reference>,
    /// All arguments whose reference it takes over, from 0; it takes none of the others. Nothing
    /// is said of any if `None`.
    pub steals: Option<BTreeSet<usize>>,
}

impl Stated {
    /// Adds what `other` says; it wins.
    pub fn amend(&mut self, other: &Self) {
        self.returns = other.returns.or(self.returns);
        if other.steals.is_some() {
            self.steals.clone_from(&other.steals);
        }
    }

    /// Adds an argument, from 0, whose reference it takes over.
    pub fn add_stolen(&mut self, arg: usize) {
        self.steals.get_or_insert_default().insert(arg);
    }
}

/// The functions of which something is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions {
    by_name: BTreeMap<Box<str>, Stated>,
    /// Names, or their beginnings in front of a `*`, of functions that threads may call at once.
    thread_safe: BTreeSet<Box<str>>,
    /// Words that say no more than that a function returns a borrowed reference; `None` where it is
    /// also said in another way.
    marks: BTreeMap<Box<str>, Option<Vec<(FileId, ByteSpan)>>>,
}

impl Functions {
    /// Adds what is said of `name`; it wins over what was said before.
    pub fn amend(&mut self, name: &str, stated: &Stated) {
        self.by_name.entry(name.into()).or_default().amend(stated);
        if stated.returns.is_some() {
            self.marks.insert(name.into(), None);
        }
    }

    /// Notes a word that says no more than that `name` returns a borrowed reference.
    pub fn mark_borrowed(&mut self, name: &str, mark: (FileId, ByteSpan)) {
        let stated = self.by_name.entry(name.into()).or_default();
        stated.returns = Some(Reference::Borrowed);
        let marks = self.marks.entry(name.into());
        if let Some(marks) = marks.or_insert_with(|| Some(Vec::new())) {
            marks.push(mark);
        }
    }

    /// The words without which nothing is said of what `name` returns, if words say it.
    #[must_use]
    pub fn borrowed_marks(&self, name: &str) -> Option<&[(FileId, ByteSpan)]> {
        self.marks.get(name)?.as_deref()
    }

    /// Adds what `other` says; it wins.
    pub fn amend_all(&mut self, other: &Self) {
        for (name, stated) in &other.by_name {
            self.amend(name, stated);
        }
        self.thread_safe.extend(other.thread_safe.iter().cloned());
    }

    /// Notes that threads may call `name` at once, whatever they give it; `prefix_*` stands for all
    /// functions that begin so.
    pub fn add_thread_safe(&mut self, name: &str) {
        self.thread_safe.insert(name.into());
    }

    /// Whether it is said that threads may call the function at once.
    #[must_use]
    pub fn is_thread_safe(&self, name: &str) -> bool {
        self.thread_safe
            .iter()
            .any(|it| match it.strip_suffix('*') {
                Some(start) => !start.is_empty() && name.starts_with(start),
                None => **it == *name,
            })
    }

    /// What is said of `name`.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&Stated> {
        self.by_name.get(name)
    }

    /// Who owns what `name` returns, if it is said.
    #[must_use]
    pub fn returns(&self, name: &str) -> Option<Reference> {
        self.of(name)?.returns
    }
}

#[cfg(test)]
mod tests {
    use super::{Functions, Reference, Stated};

    #[test]
    fn what_is_said_last_wins_part_by_part() {
        let mut functions = Functions::default();
        let mut first = Stated {
            returns: Some(Reference::New),
            steals: None,
        };
        first.add_stolen(0);
        functions.amend("f", &first);
        let second = Stated {
            returns: Some(Reference::Borrowed),
            steals: None,
        };
        functions.amend("f", &second);
        assert_eq!(functions.returns("f"), Some(Reference::Borrowed));
        let steals = functions.of("f").and_then(|f| f.steals.clone());
        assert_eq!(steals, Some([0].into()));
        assert_eq!(functions.of("g"), None);
    }
}
