//! What an expression leaves behind, references apart: what an exit behind it would leave
//! half done if something later belongs to it.
//!
//! ```c
//! queue_lock(self->queue);                      /* `self->queue`, and all that is behind it */
//! self->depth++;                                /* `self->depth` */
//! old = umask(077);                             /* the process */
//! fd = open_it();                               /* `fd`, which is to be closed */
//! ```

mod held;
mod look;
mod own;

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::{ItemId, Program};
use crate::ast::{ExprId, LocalId, Name, Tree};
use look::Look;

/// How deep functions of the package are looked into, and variables that stand for others.
const MAX_DEPTH: usize = 4;

/// A place: a variable, or a field of it or of what it points at. Elements are their array.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    root: Name,
    fields: Vec<Box<str>>,
    /// Whether it is what a copy of the pointer in it points at, which may hold another by then.
    is_copied: bool,
}

/// How an object is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    No,
    /// By a call in the function.
    Here,
    /// By a function of the package: `hold(d)` for `Py_INCREF(d)`.
    Inside,
}

/// Something that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasting {
    /// `None` for the thread, the interpreter or the process.
    place: Option<Place>,
    /// Whether what lies behind the place may be changed, too.
    is_deep: bool,
    /// Whether nothing is taken away there, or overwritten.
    pub only_adds: bool,
    /// Whether it is what an assignment does: nothing has to be closed that was not there before.
    is_plain: bool,
    /// Whether it is the code of others that may do so.
    is_code: bool,
    /// Whether it puts an object or a handle there.
    holds: bool,
    /// Whether what it puts there is memory that is to be freed.
    is_memory: bool,
    /// Whether the place is a part of a variable of the function: what it holds is lost with it.
    is_own: bool,
    /// Whether it is that by a pointer, or an element: one of many.
    is_behind: bool,
    /// Whether it only counts the object there.
    counts: Count,
    /// Whether it is an object that is given, and not changed; without a place: whether the value of
    /// the expression is to be closed.
    opens: bool,
}

impl Lasting {
    const ELSEWHERE: Self = Self {
        place: None,
        is_deep: false,
        only_adds: false,
        is_plain: false,
        is_code: false,
        holds: false,
        is_memory: false,
        is_own: false,
        is_behind: false,
        counts: Count::No,
        opens: false,
    };

    /// Whether both may be about one thing.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.place, &other.place) else {
            return self.place == other.place;
        };
        if !self.goes_with(other) || !other.goes_with(self) {
            return false;
        }
        let is_set = self.is_plain && two.is_copied || other.is_plain && one.is_copied;
        let is_equal = one.fields == two.fields;
        let is_part = |of: &Place, part: &Place| part.fields.starts_with(&of.fields);
        let is_within = || {
            self.is_deep && !other.is_own && is_part(one, two)
                || other.is_deep && !self.is_own && is_part(two, one)
        };
        // An object that was made is released: only what the code of others began needs an end.
        let is_made = self.opens && !other.is_code || other.opens && !self.is_code;
        one.root == two.root && !is_made && !(is_set && is_equal) && (is_equal || is_within())
    }

    /// Whether this kind of change may be a half of something of which `other` is one, too. What
    /// the function counts itself is followed elsewhere, path by path.
    fn goes_with(&self, other: &Self) -> bool {
        let is_count = other.counts != Count::No;
        match self.counts {
            Count::No if self.is_own => {
                is_count || !other.is_plain && (!self.is_behind || self.is_memory)
            }
            Count::No => !is_count || self.holds,
            Count::Here => other.holds || other.counts == Count::Inside,
            Count::Inside => other.holds || is_count,
        }
    }

    /// The variable that is changed, or leads there.
    #[must_use]
    pub fn variable(&self) -> Option<LocalId> {
        match self.place.as_ref()?.root {
            Name::Local(local) => Some(local),
            Name::Global(_) => None,
        }
    }

    /// Whether it puts an object or a handle there.
    #[must_use]
    pub fn puts_object(&self) -> bool {
        self.holds
    }

    /// Whether it is up to the code of others what it changes.
    #[must_use]
    pub fn runs_code(&self) -> bool {
        self.is_code
    }

    /// Whether it puts memory into what only the function knows.
    #[must_use]
    pub fn is_kept_here(&self) -> bool {
        self.is_own && self.is_memory
    }

    /// The last field of the place.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.place.as_ref()?.fields.last().map(|it| &**it)
    }

    /// Whether it is more than a reference, which is followed elsewhere, or the doing of the code of
    /// others.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.is_seen() && !self.is_code && !self.is_own && !self.opens
    }

    /// Whether it is the variable itself, or a field of it, and nothing that lies behind a pointer in
    /// there.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.place.as_ref().is_some_and(|it| it.fields.len() <= 1)
    }

    /// Whether this is more than a count that is followed elsewhere.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.counts != Count::Here
    }
}

/// What functions leave behind, by how deep it was looked for.
pub(super) type Known = Mutex<FxHashMap<(ItemId, usize), Arc<[Lasting]>>>;

/// What `expr`, an assignment or a call, changes that is there after it.
#[must_use]
pub fn lasting(program: &Program<'_>, tree: &Tree, expr: ExprId) -> Vec<Lasting> {
    let look = Look { program, tree };
    let found = look.at(expr, MAX_DEPTH);
    let opens = found.iter().any(|it| it.opens);
    let opens = opens || look.gives_object(expr) || look.gives_filled(expr);
    let opened = opens.then(|| look.opened(expr)).flatten();
    let changed = found.into_iter().filter(|it| !it.opens);
    changed.chain(opened).collect()
}

impl Place {
    fn of(root: Name) -> Self {
        Self {
            root,
            fields: Vec::new(),
            is_copied: false,
        }
    }
}
