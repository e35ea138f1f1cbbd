//! What is to change: edits over original bytes, grouped into atomic fixes.

mod align;
mod apply;
mod assumption;
mod comments;
mod compose;
mod difference;
mod labels;
mod layout;
mod remove;
mod set;
mod spacing;
mod statement;

pub use apply::{Applied, OffsetMap, apply};
pub use assumption::{Assumption, keeps_no_pointer};
pub use compose::{Composed, compose};
pub use difference::difference;
pub use layout::{BraceStyle, Head, IndentStep, Layout, Style};
pub use set::{Conflict, EditSet, FixId};

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::facts::{Confirmed, Fact};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// One replacement in the original bytes of one file. Insertions have an empty span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edit {
    /// The file.
    pub file: FileId,
    /// The bytes that go.
    pub span: ByteSpan,
    /// What the new text belongs to.
    pub side: Side,
    /// The bytes that come.
    pub text: Vec<u8>,
}

/// What the text of an insertion belongs to: what ends at the offset, or what begins there. The first
/// comes first, whichever fix asks for it.
///
/// ```c
/// if (c) {
///     Py_DECREF(value);
///     continue;
/// }                                       /* one fix closes its block, … */
/// item = PyList_GetItemRef(list, 0);      /* … and another looks up what the next line needs */
/// use(item);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The statement that begins there and ends in front of the offset. Of several, the inner ones
    /// begin later and end first.
    Behind(Reverse<ByteOffset>),
    /// What follows.
    Ahead,
}

impl Edit {
    /// The replacement of `span` by `text`. An insertion belongs to what follows.
    #[must_use]
    pub fn new(file: FileId, span: ByteSpan, text: Vec<u8>) -> Self {
        Self {
            file,
            span,
            side: Side::Ahead,
            text,
        }
    }

    /// The same as a part of the statement that begins at `start` and ends in front of it.
    #[must_use]
    pub(crate) fn behind(mut self, start: ByteOffset) -> Self {
        self.side = Side::Behind(Reverse(start));
        self
    }

    /// Where it stands among other edits. Those of one place keep the order in which a fix made them.
    pub(crate) fn place(&self) -> (FileId, ByteSpan, Side) {
        (self.file, self.span, self.side)
    }
}

/// How sure a fix is. Only ever lowered, but by [`Fix::settle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Correct as far as can be seen; a person must confirm the named assumptions.
    Review,
    /// Behaviour under the GIL stays the same on every path, proven on the original and again on
    /// the result.
    Safe,
}

/// A helper that fixes of a package may need; made once for all fixes that ask for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// `function` must be available in `file` on every supported Python version, through the
    /// compatibility header where the version range asks for it.
    Compat {
        /// The file that uses it.
        file: FileId,
        /// The C-API function or macro.
        function: &'static str,
    },
}

/// An atomic change: all of its edits go in together, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, lower case, no full stop.
    pub title: String,
    /// Sorted, disjoint per file.
    pub edits: Vec<Edit>,
    /// How sure it is.
    pub confidence: Confidence,
    /// What a person must confirm; empty for [`Confidence::Safe`].
    pub assumptions: Vec<Assumption>,
    /// What the project has confirmed: the fix is as sure as its word.
    pub confirmed: Vec<Fact>,
    /// Helpers it relies on.
    pub needs: Vec<Need>,
    /// Whether a function leaves with an error that it swallowed before: a change of behaviour of
    /// which the user is told once.
    pub propagates: bool,
    /// Other fixes of the same finding, of which a person may take one in place of this. They
    /// have none of their own.
    pub alternatives: Vec<Fix>,
}

/// The title of a fix that replaces functions: "take a strong reference: `A` → `B`, `C` → `D`".
#[must_use]
pub fn replacing<'a>(what: &str, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: BTreeSet<_> = pairs.into_iter().collect();
    let pairs = pairs.iter().map(|(old, new)| format!("`{old}` → `{new}`"));
    format!("{what} ({})", pairs.collect::<Vec<_>>().join(", "))
}

impl Fix {
    /// A fix without edits, at the highest confidence.
    #[must_use]
    pub fn safe(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            edits: Vec::new(),
            confidence: Confidence::Safe,
            assumptions: Vec::new(),
            confirmed: Vec::new(),
            needs: Vec::new(),
            propagates: false,
            alternatives: Vec::new(),
        }
    }

    /// Lowers the fix to [`Confidence::Review`] and names what must be confirmed.
    pub fn assume(&mut self, assumption: impl Into<Assumption>) {
        let assumption = assumption.into();
        self.confidence = Confidence::Review;
        if !self.assumptions.contains(&assumption) {
            self.assumptions.push(assumption);
        }
    }

    /// Takes the project at its word: what it has confirmed is not asked any more, and with nothing
    /// left to ask the fix is as safe as that word. Nothing else raises a fix.
    pub fn settle(&mut self, by: &Confirmed) {
        let is_settled = |assumption: &mut Assumption| {
            let fact = assumption.fact();
            fact.is_some_and(|fact| by.has(fact))
        };
        let settled: Vec<Assumption> = self.assumptions.extract_if(.., is_settled).collect();
        if !settled.is_empty() && self.assumptions.is_empty() {
            self.confidence = Confidence::Safe;
        }
        let facts = settled.iter().filter_map(Assumption::fact);
        self.rest_on_word(facts.cloned());
    }

    /// Notes what the project has confirmed and the fix rests on.
    pub fn rest_on_word(&mut self, facts: impl IntoIterator<Item = Fact>) {
        for fact in facts {
            if !self.confirmed.contains(&fact) {
                self.confirmed.push(fact);
            }
        }
    }

    /// Adds all of another fix, but for edits that are there already.
    pub fn include(&mut self, other: &Self) {
        let known = self.edits.clone();
        let fresh = other.edits.iter().filter(|edit| !known.contains(edit));
        self.edits.extend(fresh.cloned());
        self.edits.sort_by_key(Edit::place);
        self.rest_on(other);
    }

    /// Takes over what another fix, which is a part of it now, needs and assumes.
    pub fn rest_on(&mut self, other: &Self) {
        for need in &other.needs {
            if !self.needs.contains(need) {
                self.needs.push(need.clone());
            }
        }
        for assumption in &other.assumptions {
            self.assume(assumption.clone());
        }
        self.rest_on_word(other.confirmed.iter().cloned());
        self.confidence = self.confidence.min(other.confidence);
        self.propagates |= other.propagates;
    }

    /// Adds the replacement of `span` by `text`.
    pub fn replace(&mut self, file: FileId, span: ByteSpan, text: impl Into<Vec<u8>>) {
        self.edits.push(Edit::new(file, span, text.into()));
    }

    /// Adds an insertion in front of `offset`.
    pub fn insert(&mut self, file: FileId, offset: ByteOffset, text: impl Into<Vec<u8>>) {
        self.replace(file, ByteSpan::empty(offset), text);
    }
}
