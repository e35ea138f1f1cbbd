//! Where the `#include` of a compatibility header goes: into the file that needs it, or into those
//! that include that file.

use rustc_hash::FxHashSet;

use crate::compat::{self, FULL_HEADER_NAME, Include, Places};
use crate::edit::Edit;
use crate::engine::workspace::Workspace;
use crate::package::{FileKind, Package};
use crate::source::{ByteOffset, FileId};

use super::Header;

/// Finds places for one header.
pub(super) struct Placer<'a> {
    pub package: &'a Package,
    pub workspace: &'a Workspace,
    pub header: &'a Header,
}

impl Placer<'_> {
    /// The edits after which the header stands above `before` in `file`, in all units that hold
    /// the file; none if it does already. `None` if there is no place.
    pub(super) fn edits(&self, file: FileId, before: ByteOffset) -> Option<Vec<Edit>> {
        if self.in_all_units(file, before, |id, before| self.is_there(id, before)) {
            return Some(Vec::new());
        }
        let mut edits = Vec::new();
        let found = self.in_all_units(file, before, |id, before| {
            self.is_there(id, before)
                || self.edit(id, before).map(|edit| edits.push(edit)).is_some()
        });
        match found {
            true => Some(edits),
            false => self.above_all(file).map(|edit| vec![edit]),
        }
    }

    /// The edit at the top of a part that includes nothing itself: whoever includes it does so behind
    /// `Python.h`, without which the part does not compile. A file of another kind that nobody
    /// includes is one that a program puts together with others.
    fn above_all(&self, id: FileId) -> Option<Edit> {
        let (file, info) = (self.workspace.files.get(id), self.package.info(id));
        let tokens = self.workspace.index[id.index()].tokens();
        let is_included = !self.workspace.includes.includers(id).is_empty();
        let is_part = compat::places(file, tokens).includes.is_empty()
            && (is_included || info.kind == FileKind::Header);
        let edit = || compat::include_above(id, file, tokens, &self.operand(id));
        is_part.then(edit).flatten()
    }

    /// Whether `holds` for the file, or for all that include it at their `#include`, or for all
    /// that include those.
    ///
    /// ```c
    /// #include <Python.h>      /* core.c */
    /// #include "cache.c"       /* a part of it, without an #include */
    /// ```
    fn in_all_units(
        &self,
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
            let includers = self.workspace.includes.includers(id);
            if includers.is_empty() {
                return false;
            }
            waiting.extend(includers.iter().map(|by| (by.file, by.at)));
        }
        true
    }

    /// Whether a line above `before` includes the header, directly or not.
    fn is_there(&self, id: FileId, before: ByteOffset) -> bool {
        let includes = &self.workspace.includes;
        if let Header::Unseen { by, .. } = self.header {
            let mut reached = FxHashSet::default();
            includes.reach(id, &mut reached);
            return by.iter().any(|file| reached.contains(file));
        }
        let (Header::Full(header) | Header::Own(header, _)) = self.header else {
            return false;
        };
        let above = includes.targets(id).iter().filter(|to| to.at < before);
        let mut reached = FxHashSet::default();
        above.for_each(|to| includes.reach(to.file, &mut reached));
        reached.contains(header)
    }

    fn edit(&self, id: FileId, before: ByteOffset) -> Option<Edit> {
        if !self.package.info(id).kind.is_analysed() {
            return None;
        }
        let file = self.workspace.files.get(id);
        let tokens = self.workspace.index[id.index()].tokens();
        let place = self.place(id, &compat::places(file, tokens))?;
        (place < before).then(|| compat::include_below(place, id, file, tokens, &self.operand(id)))
    }

    /// How `id` includes the header: as it includes another one of the same folder, if it does.
    pub(super) fn operand(&self, id: FileId) -> String {
        let (file, path) = (
            self.workspace.files.get(id),
            self.header.path(self.workspace),
        );
        if let Header::Unseen { operand, .. } = self.header {
            return operand.clone();
        }
        let plain = compat::operand(file, path);
        let name = path.file_name().map(|name| name.to_string_lossy());
        let (true, Some(name)) = (plain.contains('/'), name) else {
            return plain;
        };
        let places = compat::places(file, self.workspace.index[id.index()].tokens());
        let beside = self.workspace.includes.targets(id).iter().find_map(|to| {
            let target = self.workspace.files.get(to.file).path();
            let line = places.includes.iter().find(|line| line.at == to.at)?;
            let is_direct = line.quoted && target.ends_with(&line.operand);
            (target.parent() == path.parent() && is_direct).then_some(&line.operand)
        });
        beside.map_or(plain, |operand| match operand.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{name}"),
            None => name.into_owned(),
        })
    }

    /// The line to follow in `id`, whatever needs the header there: that of the header it adds to,
    /// of `Python.h`, or the last that includes a header; the include guard where there is none.
    /// The last above all code is enough if `Python.h` came by then.
    fn place<'p>(&self, id: FileId, places: &'p Places) -> Option<ByteOffset> {
        let named = |name: &str| {
            let mut includes = places.includes.iter();
            includes.find(|include| include.operand.ends_with(name))
        };
        let headers = places.includes.iter().take_while(|line| line.is_header());
        let headers: Vec<&Include> = headers.collect();
        let last_of = |headers: &[&'p Include]| {
            let brings = headers.iter().any(|line| self.may_bring_python(id, line));
            headers.last().copied().filter(|_| brings)
        };
        let above_code = headers.partition_point(|line| !line.below_code);
        let last_header = last_of(&headers[..above_code]).or_else(|| last_of(&headers));
        let include = named(FULL_HEADER_NAME)
            .or_else(|| named("Python.h"))
            .or(last_header)
            .or(places.includes.last());
        include.map(|include| include.end).or(places.guard)
    }

    /// Whether `Python.h` is included below `line` of `id`, with the macros that the package
    /// defines in front of it: the header, which includes `Python.h` itself, must come later.
    fn may_bring_python(&self, id: FileId, line: &Include) -> bool {
        let includes = &self.workspace.includes;
        let target = includes.targets(id).iter().find(|to| to.at == line.at);
        target.map_or(line.quoted, |to| includes.brings_python(to.file))
    }
}
