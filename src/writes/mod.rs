//! The writes that methods can reach and that nothing accounts for.
//!
//! From the method tables, slots and callbacks on, over all functions of the package that these
//! reach, each store is asked in which memory it lies:
//!
//! ```c
//! static PyObject *
//! step(Ring *self, PyObject *unused)
//! {
//!     struct scan scan = {0};            /* private: the stack of this call */
//!     slot *next = &ring[self->at];      /* shared: an element of a static array */
//!     scan.left = 3;                     /* accounted for */
//!     next->uses++;                      /* left */
//!     lib_advance(self->handle);         /* left: nobody here sees what it writes */
//! ```
//!
//! Inline assembly is left as well. What lies on a stack, was allocated and not published, is atomic
//! or of one thread is accounted for; so is what a rule reports. All else is [`Left`]: a declaration that the module runs without the GIL names
//! it. Every path counts and no order of statements but that of publishing and of locks, so what is
//! accounted for is so whatever happens. Locks only tell which question to ask: whether the steps
//! under them belong together no analysis knows.

mod body;
mod calls;
mod copied;
mod decided;
mod entries;
mod guards;
mod handles;
mod loans;
mod lost;
mod members;
mod outside;
mod owned;
mod plain;
mod published;
mod reached;
mod reads;
mod released;
mod settled;
mod shape;
mod stale;
mod targets;
mod text;
mod unread;
mod value;
mod walk;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};
pub use plain::Makers;
use walk::Walk;

/// What is left of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It writes what threads share.
    Writes,
    /// It uses what Python code may set meanwhile: a member, an attribute.
    Member,
    /// It calls what was not read with what threads share, or a function with state of its own.
    Calls,
    /// It is assembly, of which nobody here sees what it writes.
    Assembly,
    /// It asks for an atomic number, which may be another one when what was decided is done.
    Decides,
    /// It uses, without a lock or with another one, what is written elsewhere with a lock held.
    Unguarded,
    /// It is written with a lock held: what belongs together, and what a decision rests on, has to
    /// be used while the lock is held once.
    Guarded,
    /// It runs once, by a flag: who uses what it sets has to come by there.
    Once,
    /// It is filled in by `__init__`, which Python code may call on an object that others have.
    Again,
    /// It uses what was true of an object that others have, and may no longer be.
    Stale,
    /// It is not shown that nobody else has what it changes.
    Unproven,
    /// It was not read.
    Unread,
}

/// A write, or a call, that nothing accounts for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Left {
    /// The file.
    pub file: FileId,
    /// Where.
    pub span: ByteSpan,
    /// The function it stands in; empty outside of functions.
    pub function: String,
    /// What is written or called.
    pub what: What,
    /// Why it is left.
    pub why: Why,
}

/// What is written or called: `s->n`, or `s->text` by `strcpy`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct What {
    /// As it stands in the source, or [`IN_MACRO`].
    pub text: String,
    /// The function that writes it.
    pub by: Option<String>,
}

impl What {
    fn by(text: String, function: &str) -> Self {
        Self {
            text,
            by: Some(function.to_owned()),
        }
    }
}

impl From<String> for What {
    fn from(text: String) -> Self {
        Self { text, by: None }
    }
}

/// What is written where the text of a macro has no name for it.
pub const IN_MACRO: &str = "a place of a macro";

/// What is left, with the files whose functions reach it that Python calls, or code that is not seen.
pub type Places = BTreeMap<Rc<Left>, BTreeSet<FileId>>;

/// What methods may do, and what is not proven of it.
pub struct Reach<'c, 'a> {
    walk: Walk<'c, 'a>,
    left: Places,
    unproven: OnceCell<Places>,
}

impl<'c, 'a> Reach<'c, 'a> {
    /// All items must have been parsed.
    #[must_use]
    pub fn new(cx: &'c PackageCx<'a>) -> Self {
        let mut walk = Walk::new(cx);
        walk.run();
        walk.reached.spread();
        let mut left = walk.reached.left();
        for unread in unread::unread(cx) {
            let file = unread.file;
            left.entry(unread.into()).or_default().insert(file);
        }
        Self {
            walk,
            left,
            unproven: OnceCell::new(),
        }
    }

    /// What nothing accounts for.
    #[must_use]
    pub const fn left(&self) -> &Places {
        &self.left
    }

    /// What is not shown to be private, be it accounted for: [`Why::Unproven`]. It is looked for when
    /// first asked.
    pub fn unproven(&self) -> &Places {
        self.unproven.get_or_init(|| {
            let files = self.walk.files();
            let mut places = Places::new();
            for (item, left) in plain::Plain::check(&self.walk) {
                let reached = files.get(&item).into_iter().flatten();
                places.entry(left.into()).or_default().extend(reached);
            }
            for row in self.walk.members.unknown(self.walk.cx) {
                let file = row.file;
                places.entry(row.into()).or_default().insert(file);
            }
            places
        })
    }
}
