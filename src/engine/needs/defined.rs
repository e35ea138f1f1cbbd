//! Which newer functions a package itself defines for older Pythons.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Wanted;
use crate::compat;
use crate::engine::workspace::Workspace;
use crate::lex::{Token, TokenKind};
use crate::package::Package;
use crate::preprocess::{Condition, FileIndex, Includes};
use crate::source::{ByteOffset, FileId, SourceFile};

/// The definitions of newer functions in files that are no compatibility headers of others.
pub(super) struct Defined<'a> {
    includes: &'a Includes,
    by_file: FxHashMap<FileId, Vec<Definition>>,
}

/// A definition of a newer function.
struct Definition {
    function: &'static str,
    at: ByteOffset,
    /// Whether all Pythons without the function compile it.
    is_sure: bool,
}

impl<'a> Defined<'a> {
    /// Those of `functions`.
    pub(super) fn new(
        package: &Package,
        workspace: &'a Workspace,
        functions: &BTreeSet<&'static str>,
    ) -> Self {
        let written = package.files.iter().filter(|(id, file)| {
            !package.compat_headers.contains(id) && !crate::capi::stands_in(file.bytes())
        });
        let by_file = written.filter_map(|(id, file)| {
            let found = definitions(file, &workspace.index[id.index()], functions);
            (!found.is_empty()).then_some((id, found))
        });
        Self {
            by_file: by_file.collect(),
            includes: &workspace.includes,
        }
    }

    /// Whether all units that hold `file` define `function` above `before`.
    ///
    /// ```c
    /// #if PY_VERSION_HEX < 0x030A00A3
    /// static inline PyObject *Py_NewRef(PyObject *o) { Py_INCREF(o); return o; }
    /// #endif
    /// ```
    pub(super) fn is_above(&self, (file, function): Wanted, before: ByteOffset) -> bool {
        if self.by_file.is_empty() {
            return false;
        }
        in_all_units(self.includes, file, before, |id, before| {
            self.has(id, function, before) || self.comes_before(id, function, before)
        })
    }

    fn comes_before(&self, id: FileId, function: &str, before: ByteOffset) -> bool {
        let mut reached = FxHashSet::default();
        let above = self.includes.targets(id).iter().filter(|to| to.at < before);
        above.for_each(|to| self.includes.reach(to.file, &mut reached));
        let end = ByteOffset(u32::MAX);
        reached
            .into_iter()
            .any(|file| self.has(file, function, end))
    }

    fn has(&self, file: FileId, function: &str, before: ByteOffset) -> bool {
        let mut found = self.by_file.get(&file).into_iter().flatten();
        found.any(|it| it.function == function && it.at < before && it.is_sure)
    }

    /// Whether no unit with `file` defines any of the functions elsewhere.
    pub(super) fn are_in(&self, file: FileId) -> bool {
        let mut defining = self.by_file.keys().filter(|id| **id != file).peekable();
        if defining.peek().is_none() {
            return true;
        }
        let reached = in_units(self.includes, file);
        defining.all(|id| !reached.contains(id))
    }

    /// The functions that some unit with `file` defines anywhere.
    pub(super) fn in_units_of(&self, file: FileId) -> BTreeSet<&'static str> {
        if self.by_file.is_empty() {
            return BTreeSet::new();
        }
        let reached = in_units(self.includes, file);
        let found = self.by_file.iter().filter(|(id, _)| reached.contains(*id));
        found
            .flat_map(|(_, names)| names.iter().map(|name| name.function))
            .collect()
    }
}

/// All files of the units that hold `file`.
pub(super) fn in_units(includes: &Includes, file: FileId) -> FxHashSet<FileId> {
    let (mut units, mut reached) = (FxHashSet::default(), FxHashSet::default());
    let mut waiting = vec![file];
    while let Some(unit) = waiting.pop() {
        if units.insert(unit) {
            includes.reach(unit, &mut reached);
            waiting.extend(includes.includers(unit).iter().map(|by| by.file));
        }
    }
    reached
}

/// Whether `holds` for the file, or for all that include it at their `#include`, or for all that
/// include those.
///
/// ```c
/// #include <Python.h>      /* core.c */
/// #include "cache.c"       /* a part of it, without an #include */
/// ```
pub(super) fn in_all_units(
    includes: &Includes,
    file: FileId,
    before: ByteOffset,
    mut holds: impl FnMut(FileId, ByteOffset) -> bool,
) -> bool {
    let mut waiting = vec![(file, before)];
    let mut seen = FxHashSet::default();
    let mut at = 0;
    while let Some(&(id, before)) = waiting.get(at) {
        at += 1;
        if !seen.insert(id) || holds(id, before) {
            continue;
        }
        let includers = includes.includers(id);
        if includers.is_empty() {
            return false;
        }
        waiting.extend(includers.iter().map(|by| (by.file, by.at)));
    }
    true
}

fn definitions(
    file: &SourceFile,
    index: &FileIndex,
    functions: &BTreeSet<&'static str>,
) -> Vec<Definition> {
    let words: FxHashSet<&[u8]> = index.identifiers(file).collect();
    let mut found = Vec::new();
    for function in functions {
        let names = compat::defined_with(function);
        for name in names.filter(|name| words.contains(name.as_bytes())) {
            let macros = index.defines(file, name.as_bytes());
            let macros = macros.into_iter().map(|define| define.name.start());
            let bodies = bodies(file, index.tokens(), name.as_bytes());
            found.extend(macros.chain(bodies).map(|at| Definition {
                function,
                at,
                is_sure: is_sure(file, index, function, at),
            }));
        }
    }
    found
}

/// Whether what stands at `at` is compiled for all Pythons that lack `function`.
///
/// ```c
/// #if PY_VERSION_HEX < 0x03090000     /* not for 3.9, which lacks it as well */
/// #define Py_NewRef(o) (Py_INCREF(o), (o))
/// #endif
/// ```
fn is_sure(file: &SourceFile, index: &FileIndex, function: &str, at: ByteOffset) -> bool {
    // What an earlier run wrote into the file.
    let text = || String::from_utf8_lossy(file.bytes());
    if compat::is_own(function) && compat::provided(&text()).contains(function) {
        return true;
    }
    // The releases of one minor version: an alpha that lacks it is no matter.
    let minor = |hex: i64| hex >> 16;
    let since = compat::since(function).map(i64::from).map(minor);
    let mut around = index.conditions_at(file, at).into_iter();
    around.all(|condition| match condition {
        Condition::NotDefined(name) => compat::defined_with(function).any(|own| *own == *name),
        Condition::Below(version) => since.is_some_and(|since| minor(version) >= since),
        Condition::Other => false,
    })
}

/// Where functions called `name` begin: `PyObject *name(…) {`
fn bodies(file: &SourceFile, tokens: &[Token], name: &[u8]) -> Vec<ByteOffset> {
    let text = |token: &Token| file.slice(token.span);
    let is_definition = |at: &usize| {
        let follows_type = at.checked_sub(1).is_some_and(|before| {
            tokens[before].kind == TokenKind::Ident || text(&tokens[before]) == b"*"
        });
        let rest = &tokens[at + 1..];
        let opens = rest.first().is_some_and(|token| text(token) == b"(");
        text(&tokens[*at]) == name && follows_type && opens && has_body(rest, &text)
    };
    let found = (0..tokens.len()).filter(is_definition);
    found.map(|at| tokens[at].span.start()).collect()
}

/// Whether a `{` follows what the first `(` opens.
fn has_body<'t>(tokens: &[Token], text: &impl Fn(&Token) -> &'t [u8]) -> bool {
    let mut depth = 0u32;
    for (at, token) in tokens.iter().enumerate() {
        match text(token) {
            b"(" => depth += 1,
            b")" if depth == 1 => {
                return tokens.get(at + 1).is_some_and(|next| text(next) == b"{");
            }
            b")" => depth -= 1,
            _ => {}
        }
    }
    false
}
