//! What the fixes of each rule are for, in the words of a commit, and when reviewers want to see
//! them.

use crate::rule::Rule;

/// The parts of a pull request, in the order in which reviewers accept them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chapter {
    /// The package can be built and tested without the GIL.
    Build,
    /// Calls that are right on all Pythons take the place of older ones.
    Modern,
    /// Borrowed references become strong.
    Ownership,
    /// Locks and critical sections.
    Locks,
    /// Static variables and fields of objects.
    State,
    /// The promise that all of this is for.
    Declaration,
}

/// What a fix is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// Where its patch stands.
    pub chapter: Chapter,
    /// What it does: the subject of a commit without the part of the program.
    pub subject: &'static str,
    /// Why it cannot go wrong any more: sentences.
    pub now: &'static str,
}

/// What the fixes of `rule` are for.
#[must_use]
pub fn intent(rule: &Rule) -> Intent {
    let row = INTENTS.iter().find(|row| row.0 == rule.name);
    let (_, chapter, subject, now) = *row.unwrap_or(&OTHER);
    Intent {
        chapter,
        subject,
        now,
    }
}

type Row = (&'static str, Chapter, &'static str, &'static str);

/// For fixes of which nothing better is known.
const OTHER: Row = ("", Chapter::State, "make it safe without the GIL", "");

const OWNED: &str = "The function now owns a reference until after the last use, so the object \
                     lives that long whatever other threads do.";

const DECLARED: &str = "This change says so. The others of this series come first, because it \
                        removes the protection of the GIL.";

const DECLARE: &str = "declare that the GIL is not needed";

/// By name of the rule.
const INTENTS: &[Row] = &[
    (
        "unconditional-limited-api",
        Chapter::Build,
        "request the limited API only where it can be built",
        "The limited API is now requested on the other Pythons only, which are built as before.",
    ),
    (
        "no-free-threaded-wheels",
        Chapter::Build,
        "remove an option that cibuildwheel does not have any more",
        "cibuildwheel 3.1 and later build these wheels unasked.",
    ),
    (
        "direct-object-field",
        Chapter::Modern,
        "use API functions instead of fields of objects",
        "The API functions are right on both builds, and compile to the same code with the GIL.",
    ),
    (
        "buffer-in-object-domain",
        Chapter::Modern,
        "allocate buffers with PyMem functions",
        "Buffers now come from the allocator that is meant for them, and everything that resizes \
         or releases them has changed with it.",
    ),
    (
        "non-reentrant-call",
        Chapter::Modern,
        "call reentrant functions of the C library",
        "The reentrant function keeps its state in a variable of the caller.",
    ),
    (
        "weak-reference-list-test",
        Chapter::Modern,
        "clear lists of weak references without a test",
        "The call does nothing if the list is empty, so the test is not needed.",
    ),
    (
        "borrowed-list-item",
        Chapter::Ownership,
        "own list items while they are used",
        OWNED,
    ),
    (
        "borrowed-dict-item",
        Chapter::Ownership,
        "own dict values while they are used",
        OWNED,
    ),
    (
        "borrowed-dict-set-default",
        Chapter::Ownership,
        "own results of PyDict_SetDefault while they are used",
        OWNED,
    ),
    (
        "borrowed-weakref-object",
        Chapter::Ownership,
        "own referents of weak references while they are used",
        OWNED,
    ),
    (
        "borrowed-imported-module",
        Chapter::Ownership,
        "own imported modules while they are used",
        OWNED,
    ),
    (
        "unchecked-list-item",
        Chapter::Ownership,
        "check list items and own them while they are used",
        "The index is now checked by the read itself, and the function owns a reference until after \
         the last use.",
    ),
    (
        "borrowed-sequence-fast-item",
        Chapter::Ownership,
        "own items of sequences while they are used",
        OWNED,
    ),
    (
        "borrowed-cell-content",
        Chapter::Ownership,
        "own contents of cells while they are used",
        OWNED,
    ),
    (
        "reference-count-test",
        Chapter::Ownership,
        "ask whether an object is shared instead of reading its count",
        "The call is true only if this thread holds the only reference. With the GIL it reads the \
         count as before.",
    ),
    (
        "unlocked-dict-iteration",
        Chapter::Locks,
        "keep dicts unchanged while loops go over them",
        "The loop now holds the lock of the dict, or goes over a copy of it. With the GIL, a \
         critical section does nothing.",
    ),
    (
        "unlocked-list-store",
        Chapter::Locks,
        "store list items under the lock of the list",
        "The function takes the lock, checks the index and releases the old item.",
    ),
    (
        "lazy-static-cache",
        Chapter::State,
        "fill caches once",
        "Only one value is now kept, and threads see the pointer only when the value is complete.",
    ),
    (
        "static-buffer",
        Chapter::State,
        "give each thread its own buffer",
        "Each thread now has a buffer of its own.",
    ),
    (
        "shared-static-variable",
        Chapter::State,
        "make shared static variables atomic",
        "Reads and writes are now atomic, so no update is lost.",
    ),
    (
        "unlocked-object-state",
        Chapter::State,
        "lock objects while their methods run",
        "The methods that use these fields now hold the lock of their object. With the GIL, a \
         critical section does nothing.",
    ),
    (
        "undeclared-multi-phase-module",
        Chapter::Declaration,
        DECLARE,
        DECLARED,
    ),
    (
        "undeclared-single-phase-module",
        Chapter::Declaration,
        DECLARE,
        DECLARED,
    ),
    (
        "missing-free-threading-classifier",
        Chapter::Declaration,
        DECLARE,
        "",
    ),
];

#[cfg(test)]
mod tests {
    use super::{INTENTS, OTHER, intent};
    use crate::transforms::ALL;

    #[test]
    fn each_rule_with_fixes_has_an_intent_and_no_other_has() {
        for rule in ALL {
            let is_known = intent(rule).subject != OTHER.2;
            assert_eq!(is_known, rule.best.is_some(), "{}", rule.name);
        }
        assert!(INTENTS.iter().all(|row| row.2.len() <= 60));
    }
}
