//! Releases at the end of each branch of an `#if`, written once behind its `#endif`.
//!
//! ```c
//! #if PY_MAJOR_VERSION >= 3                #if PY_MAJOR_VERSION >= 3
//!     n = PyLong_AsLong(v);                    n = PyLong_AsLong(v);
//!     Py_DECREF(v);                        #else
//! #else                                        n = PyInt_AsLong(v);
//!     n = PyInt_AsLong(v);                 #endif
//! #endif                                       Py_DECREF(v);
//! ```
//!
//! Whoever compiles a branch sees nothing between its end and what stands behind the `#endif`. A
//! branch that no supported Python compiles would be left leaking what the others release: there
//! it is the text that must allow the release.

use std::collections::{BTreeMap, BTreeSet};

use super::{Plans, Shared};
use crate::edit::Edit;
use crate::lex::Token;
use crate::preprocess::Conditional;
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteSpan, FileId};

/// What a plan asks for at the end of a branch.
type Ends<'p> = Vec<(ItemId, &'p Edit)>;

/// Which edits of `plans` turn into which.
pub(in crate::strong) fn moves(
    cx: &PackageCx<'_>,
    shared: &Shared<'_, '_>,
    plans: &Plans,
) -> BTreeMap<Edit, Edit> {
    let mut asked: BTreeMap<(FileId, Conditional, &[u8]), Ends<'_>> = BTreeMap::new();
    for (&item, edits) in plans {
        for edit in edits.iter().filter(|edit| released(edit).is_some()) {
            let index = &cx.program.index[edit.file.index()];
            if let Some(conditional) = index.conditional_ending_at(edit.span.start()) {
                let ends = asked.entry((edit.file, conditional, &edit.text));
                ends.or_default().push((item, edit));
            }
        }
    }
    let mut moves = BTreeMap::new();
    for ((file, conditional, _), ends) in asked {
        let place = Behind {
            cx,
            shared,
            file,
            ends,
        };
        if let Some(edit) = place.edit(&conditional) {
            let from = place.ends.iter().map(|(_, edit)| (*edit).clone());
            moves.extend(from.map(|from| (from, edit.clone())));
        }
    }
    moves
}

/// The variables that an edit releases, if it does nothing else.
fn released(edit: &Edit) -> Option<Vec<&str>> {
    let text = std::str::from_utf8(&edit.text).ok()?;
    if !edit.span.is_empty() || !text.ends_with('\n') {
        return None;
    }
    text.lines().map(released_by).collect()
}

/// The variable that a line releases.
fn released_by(line: &str) -> Option<&str> {
    let (function, name) = line.trim().strip_suffix(");")?.split_once('(')?;
    matches!(function, "Py_DECREF" | "Py_XDECREF").then_some(name)
}

/// The place behind a conditional.
struct Behind<'p, 'c, 'a> {
    cx: &'p PackageCx<'a>,
    shared: &'p Shared<'c, 'a>,
    file: FileId,
    /// The same text at the ends of branches.
    ends: Ends<'p>,
}

impl Behind<'_, '_, '_> {
    /// The text of all ends behind the `#endif`; `None` if it does not belong there.
    fn edit(&self, conditional: &Conditional) -> Option<Edit> {
        let (_, first) = self.ends.first()?;
        let names = released(first)?;
        let mut all_compiled = true;
        for branch in &conditional.branches {
            // What stands at the next directive belongs to this branch.
            let is_end = |edit: &Edit| {
                let at = edit.span.start();
                branch.start() < at && at <= branch.end()
            };
            let ends = self.ends.iter().filter(|(_, edit)| is_end(edit));
            let ends: BTreeSet<ItemId> = ends.map(|(item, _)| *item).collect();
            if !self
                .shared
                .compiling(first, *branch)
                .all(|item| ends.contains(&item))
            {
                return None;
            }
            let compiled = !ends.is_empty();
            all_compiled &= compiled;
            if !compiled && !self.allows(*branch, &names) {
                return None;
            }
        }
        let gives = |branch: &ByteSpan| self.assigns(*branch, &names);
        if !all_compiled && conditional.branches.iter().any(gives) {
            return None;
        }
        let layout = self.cx.layout(self.file, first.span);
        let text = std::str::from_utf8(&first.text).ok()?;
        Some(layout.insert_line_after(conditional.endif, text.trim_end()))
    }

    fn tokens(&self, branch: ByteSpan) -> &[Token] {
        let tokens = self.cx.program.index[self.file.index()].tokens();
        let from = tokens.partition_point(|token| token.span.start() < branch.start());
        let to = tokens.partition_point(|token| token.span.start() < branch.end());
        &tokens[from..to]
    }

    /// Whether all paths that enter a branch come to its end, with the references they had.
    fn allows(&self, branch: ByteSpan, names: &[&str]) -> bool {
        let file = self.cx.file(self.file);
        let tokens = self.tokens(branch);
        let text = |at: usize| file.slice(tokens[at].span);
        (0..tokens.len()).all(|at| match text(at) {
            b"return" | b"goto" | b"break" | b"continue" => false,
            name if at > 1 && is_one_of(name, names) => {
                let counts = |word: &[u8]| word.ends_with(b"REF") || word.ends_with(b"CLEAR");
                !(text(at - 1) == b"(" && counts(text(at - 2)))
            }
            _ => true,
        })
    }

    /// Whether a branch gives one of the variables a value.
    fn assigns(&self, branch: ByteSpan, names: &[&str]) -> bool {
        let file = self.cx.file(self.file);
        let tokens = self.tokens(branch);
        let text = |at: usize| {
            tokens
                .get(at)
                .map_or(&b""[..], |token| file.slice(token.span))
        };
        (1..tokens.len())
            .any(|at| is_one_of(text(at), names) && (text(at + 1) == b"=" || text(at - 1) == b"&"))
    }
}

fn is_one_of(word: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| name.as_bytes() == word)
}
