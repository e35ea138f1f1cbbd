//! Where a file gets what it needs of newer Pythons: the `#include` of a compatibility header, or
//! what stands for the functions, goes into that file, or into those that include it.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::compat::{self, FULL_HEADER_NAME, Include, Places, Style};
use crate::edit::Edit;
use crate::engine::workspace::Workspace;
use crate::package::{FileKind, Package};
use crate::source::{ByteOffset, FileId};

use super::Header;
use super::defined::in_all_units;

/// Finds places for one header.
pub(super) struct Placer<'a> {
    pub package: &'a Package,
    pub workspace: &'a Workspace,
    pub header: &'a Header,
    /// What is needed of it.
    pub functions: &'a BTreeSet<&'static str>,
    /// Whether it is compiled for the limited API.
    pub limited: bool,
}

/// What names of stand-ins in a C file begin with, but for a `_`.
const STEM: &str = "compat";

impl Placer<'_> {
    /// The edits after which the header stands above `before` in `file`, in all units that hold
    /// the file; none if it does already. `None` if there is no place.
    pub(super) fn edits(&self, file: FileId, before: ByteOffset) -> Option<Vec<Edit>> {
        let includes = &self.workspace.includes;
        let is_there = |id, before| self.is_there(id, before);
        match (in_all_units(includes, file, before, is_there), self.header) {
            (true, Header::Grown(header)) => return self.written(*header, ByteOffset(u32::MAX)),
            (false, Header::Grown(_)) => return None,
            (true, _) => return Some(Vec::new()),
            (false, _) => {}
        }
        let mut edits = Vec::new();
        let found = in_all_units(includes, file, before, |id, before| {
            let made = || self.made(id, before);
            is_there(id, before) || made().map(|made| edits.extend(made)).is_some()
        });
        match found {
            true => Some(edits),
            false => self.above_all(file).map(|edit| vec![edit]),
        }
    }

    /// What a person has to see to where there is no place.
    pub(super) fn misplaced(&self) -> String {
        match self.header {
            Header::InFile(_) => {
                let names: Vec<&str> = self.functions.iter().copied().collect();
                format!("`{}` must be defined after `Python.h`", names.join("`, `"))
            }
            header => {
                let path = header.path(self.workspace);
                format!("`{}` must be included after `Python.h`", path.display())
            }
        }
    }

    fn made(&self, id: FileId, before: ByteOffset) -> Option<Vec<Edit>> {
        match self.header {
            Header::InFile(_) => self.written(id, before),
            _ => self.edit(id, before).map(|edit| vec![edit]),
        }
    }

    /// The edits that write what stands for the functions into `id`, below its includes: a
    /// `pythoncapi_compat.h` further down would define what is a macro by then.
    fn written(&self, id: FileId, before: ByteOffset) -> Option<Vec<Edit>> {
        if !self.package.info_of(id)?.kind.is_analysed() {
            return None;
        }
        let file = self.workspace.files.get(id);
        let tokens = self.workspace.index[id.index()].tokens();
        let places = compat::places(file, tokens);
        let place = self.last_header(id, &places)?;
        let is_clear = place < before && !self.brings_full_header(id, &places, place);
        let stem = match self.header {
            Header::Grown(_) => file.path().file_stem()?.to_string_lossy(),
            _ => STEM.into(),
        };
        let style = Style {
            stem: &stem,
            full: None,
            limited: self.limited,
        };
        let texts = compat::stand_ins(self.functions, style);
        is_clear.then(|| compat::written_below(place, id, file, tokens, &texts))
    }

    /// Whether `id` includes a `pythoncapi_compat.h`, be it there or not, below `place`.
    fn brings_full_header(&self, id: FileId, places: &Places, place: ByteOffset) -> bool {
        let includes = &self.workspace.includes;
        let mut reached = FxHashSet::default();
        let below = includes.targets(id).iter().filter(|to| to.at > place);
        below.for_each(|to| includes.reach(to.file, &mut reached));
        let is_full = |name: &str| name.ends_with(FULL_HEADER_NAME);
        let mut above = places.includes.iter().filter(|line| line.end <= place);
        let comes_above = above.any(|line| is_full(&line.operand));
        let mut headers = self.package.compat_headers.iter();
        let mut missing = includes
            .missing()
            .iter()
            .filter(|missing| is_full(&missing.name));
        headers.any(|header| reached.contains(header))
            || missing.any(|missing| {
                missing.file == id && !comes_above || reached.contains(&missing.file)
            })
    }

    /// The edit at the top of a part that includes nothing itself: whoever includes it does so behind
    /// `Python.h`, without which the part does not compile. A file of another kind that nobody
    /// includes is one that a program puts together with others.
    fn above_all(&self, id: FileId) -> Option<Edit> {
        if let Header::InFile(_) = self.header {
            return None;
        }
        let (file, info) = (self.workspace.files.get(id), self.package.info(id));
        let tokens = self.workspace.index[id.index()].tokens();
        let is_included = !self.workspace.includes.includers(id).is_empty();
        let is_part = compat::places(file, tokens).includes.is_empty()
            && (is_included || info.kind == FileKind::Header);
        let edit = || compat::include_above(id, file, tokens, &self.operand(id));
        is_part.then(edit).flatten()
    }

    /// Whether a line above `before` includes the header, directly or not.
    fn is_there(&self, id: FileId, before: ByteOffset) -> bool {
        let includes = &self.workspace.includes;
        if let Header::Unseen { by, .. } = self.header {
            let mut reached = FxHashSet::default();
            includes.reach(id, &mut reached);
            return by.iter().any(|file| reached.contains(file));
        }
        let (Header::Full(header) | Header::Own(header, _) | Header::Grown(header)) = self.header
        else {
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
        if let Header::Unseen { operand, .. } = self.header {
            return operand.clone();
        }
        let file = self.workspace.files.get(id);
        let path = self.header.path(self.workspace);
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
    fn place(&self, id: FileId, places: &Places) -> Option<ByteOffset> {
        let named = |name: &str| {
            let mut includes = places.includes.iter();
            let found = includes.find(|include| include.operand.ends_with(name));
            found.map(|include| include.end)
        };
        named(FULL_HEADER_NAME)
            .or_else(|| named("Python.h"))
            .or_else(|| self.last_header(id, places))
            .or(places.includes.last().map(|include| include.end))
            .or(places.guard)
    }

    /// The last line of `id` that includes a header, all above code if `Python.h` came by then.
    /// Others may be of parts of the file, or come in between.
    fn last_header(&self, id: FileId, places: &Places) -> Option<ByteOffset> {
        let last_of = |headers: &[Include]| {
            let brings = headers.iter().any(|line| self.may_bring_python(id, line));
            headers.last().filter(|_| brings).map(|line| line.end)
        };
        let mut runs = places.includes.split(|line| !line.is_header());
        runs.find_map(|headers| {
            let above_code = headers.partition_point(|line| !line.below_code);
            last_of(&headers[..above_code]).or_else(|| last_of(headers))
        })
    }

    /// Whether `Python.h` is included below `line` of `id`, with the macros that the package
    /// defines in front of it: the header, which includes `Python.h` itself, must come later.
    fn may_bring_python(&self, id: FileId, line: &Include) -> bool {
        let includes = &self.workspace.includes;
        let target = includes.targets(id).iter().find(|to| to.at == line.at);
        let is_python = line.operand.ends_with("Python.h");
        is_python || target.map_or(line.quoted, |to| includes.brings_python(to.file))
    }
}
