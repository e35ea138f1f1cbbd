//! What is linked together: files that define what others name, from those of a module on.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::symbols::{Symbols, Words};
use crate::build::Extent;
use crate::package::{FileKind, Package};
use crate::rule::PackageCx;
use crate::source::FileId;

pub(super) struct Linker<'a> {
    cx: &'a PackageCx<'a>,
    package: &'a Package,
    symbols: Symbols<'a>,
    /// The translation units with all that they include.
    units: Vec<(FileId, FxHashSet<FileId>)>,
    /// Headers that no file is seen to include: nobody knows whose they are.
    lone: FxHashSet<FileId>,
}

impl<'a> Linker<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>, package: &'a Package) -> Self {
        let symbols = Symbols::new(cx, package);
        let includes = &cx.program.includes;
        let mut roots: Vec<FileId> = cx.program.items.iter().map(|item| item.unit).collect();
        roots.sort_unstable();
        roots.dedup();
        let units = roots.into_iter().map(|root| {
            let mut reached = FxHashSet::default();
            includes.reach(root, &mut reached);
            (root, reached)
        });
        let units: Vec<_> = units.collect();
        let is_lone = |id: FileId| {
            let is_header = package.info(id).kind == FileKind::Header;
            is_header && !includes.is_included(id)
        };
        let lone = package.analysed().map(|(id, _)| id);
        let lone = lone.filter(|&id| is_lone(id)).collect();
        Self {
            cx,
            package,
            symbols,
            units,
            lone,
        }
    }

    /// The file with the translation units that hold it, and all that these include.
    pub(super) fn unit(&self, file: FileId) -> FxHashSet<FileId> {
        let mut own = FxHashSet::default();
        own.insert(file);
        self.join(file, &mut own);
        own
    }

    /// What the unit of a module is linked with.
    pub(super) fn of_unit(&self, file: FileId, own: FxHashSet<FileId>) -> FxHashSet<FileId> {
        let own = self.with_doubtful(own);
        self.close(own, &self.given_by([file], false), true)
    }

    /// What the sources of a module are linked with. Other files that include them as well are no
    /// part of it, such as one that makes a single module of all: `static.c`.
    pub(super) fn of_sources(
        &self,
        file: FileId,
        sources: BTreeSet<FileId>,
        extent: Extent,
    ) -> FxHashSet<FileId> {
        let mut own = FxHashSet::default();
        for &source in &sources {
            self.cx.program.includes.reach(source, &mut own);
        }
        if extent == Extent::Open {
            return self.of_unit(file, own);
        }
        let given = match extent {
            Extent::Exact => self.given_by(sources.into_iter().chain([file]), true),
            Extent::AtMost | Extent::Open => self.given_by([file], false),
        };
        let mut own = self.close(own, &given, false);
        if self.lacks_definition(&own) {
            own = self.close(self.with_doubtful(own), &given, false);
        }
        match self.calls_unread(&own) {
            true => self.close(own, &given, true),
            false => own,
        }
    }

    /// What these files, which are linked in every build, define for others, or what they include
    /// in every build; with variables that have no value if those `are_all`.
    fn given_by(&self, files: impl IntoIterator<Item = FileId>, are_all: bool) -> Words<'a> {
        let is_root = |file: &FileId| self.units.iter().any(|(root, _)| root == file);
        let mut open: Vec<FileId> = files.into_iter().filter(is_root).collect();
        let mut seen = FxHashSet::default();
        while let Some(file) = open.pop() {
            if !seen.insert(file) || self.package.info_of(file).is_none() {
                continue;
            }
            let index = &self.cx.program.index[file.index()];
            let included = self.cx.program.includes.targets(file).iter();
            let always = included.filter(|it| {
                let around = index.conditions_at(self.cx.file(file), it.at);
                around.is_empty()
            });
            open.extend(always.map(|it| it.file));
        }
        let given = seen.iter().flat_map(|file| {
            let tentative = self.symbols.tentative.get(file).filter(|_| are_all);
            let solid = self.symbols.solid_for_others.get(file);
            solid.into_iter().chain(tentative).flatten()
        });
        given.copied().collect()
    }

    /// With the files that may define any name, or run by themselves.
    fn with_doubtful(&self, mut own: FxHashSet<FileId>) -> FxHashSet<FileId> {
        for &file in &self.symbols.doubtful {
            own.insert(file);
            self.join(file, &mut own);
        }
        own
    }

    /// Whether the files name something that is declared and of which no definition was found: one
    /// that a macro makes is none.
    fn lacks_definition(&self, own: &FxHashSet<FileId>) -> bool {
        let named = own.iter().filter_map(|file| self.symbols.named.get(file));
        let mut named = named.flatten();
        let is_defined = |name: &&str| {
            self.symbols.defined.contains_key(name)
                || self.symbols.defined_inside.contains_key(name)
        };
        !self.symbols.knows_declared
            || named.any(|name| self.symbols.declared.contains(name) && !is_defined(name))
    }

    /// Whether the files may call text that was not read, or are such text.
    fn calls_unread(&self, own: &FxHashSet<FileId>) -> bool {
        let is_read = |file: FileId| {
            let info = self.package.info_of(file);
            info.is_none_or(|info| info.kind.is_analysed())
        };
        let named = own.iter().filter_map(|file| self.symbols.named.get(file));
        let is_elsewhere = |name: &&str| {
            let is_declared = self.symbols.declared.contains(name) || !self.symbols.knows_declared;
            is_declared
                && !self.symbols.defined.contains_key(name)
                && self.cx.program.unread.names(name)
        };
        own.iter().any(|&file| !is_read(file)) || named.flatten().any(is_elsewhere)
    }

    /// `own` with all files that define what these name, and what those name; what is `given` in
    /// any case is looked for in no other file. `with_unread`: text that was not read is linked as
    /// well, and names what it likes.
    fn close(
        &self,
        mut own: FxHashSet<FileId>,
        given: &Words<'a>,
        with_unread: bool,
    ) -> FxHashSet<FileId> {
        if self.cx.program.includes.has_computed() {
            own.extend(&self.lone);
        }
        let mut open: Vec<FileId> = own.iter().copied().collect();
        if with_unread {
            let unread = &self.cx.program.unread;
            let called = self
                .symbols
                .defined
                .keys()
                .filter(|name| unread.names(name));
            for name in called.filter(|name| !given.contains(*name)) {
                self.add(name, &mut own, &mut open);
            }
        }
        let mut seen = FxHashSet::default();
        while let Some(file) = open.pop() {
            let named = self.symbols.named.get(&file).into_iter().flatten();
            for name in named.filter(|name| !given.contains(*name)) {
                if seen.insert(*name) && (with_unread || !self.defines(&own, name)) {
                    self.add(name, &mut own, &mut open);
                }
            }
        }
        own.extend(&self.lone);
        own
    }

    /// Whether one of the files defines `name`, and no prototype lets a build without that definition
    /// take another one.
    fn defines(&self, own: &FxHashSet<FileId>, name: &str) -> bool {
        if self.symbols.declared.contains(name) {
            return false;
        }
        let all = [&self.symbols.defined, &self.symbols.defined_inside];
        let mut files = all.into_iter().filter_map(|it| it.get(name)).flatten();
        files.any(|file| own.contains(file))
    }

    /// Adds the units of the files that define `name`.
    fn add(&self, name: &str, own: &mut FxHashSet<FileId>, open: &mut Vec<FileId>) {
        for &file in self.symbols.defined.get(name).into_iter().flatten() {
            let solid = self.symbols.solid_for_others.get(&file);
            let has = |name: &str| solid.is_some_and(|names| names.contains(name));
            // A program beside the module, such as one for tests, is no part of it.
            if own.contains(&file) && has(name) || has("main") || name == "main" {
                continue;
            }
            let mut more = FxHashSet::default();
            more.insert(file);
            self.join(file, &mut more);
            open.extend(more.into_iter().filter(|&file| own.insert(file)));
        }
        // What is included by the name of a macro is of the file that includes it.
        if self.cx.program.includes.has_computed() {
            for &file in self.symbols.defined_inside.get(name).into_iter().flatten() {
                let mut more = FxHashSet::default();
                self.cx.program.includes.reach(file, &mut more);
                open.extend(more.into_iter().filter(|&file| own.insert(file)));
            }
        }
    }

    /// Adds the translation units that hold `file`.
    fn join(&self, file: FileId, own: &mut FxHashSet<FileId>) {
        for (_, unit) in self.units.iter().filter(|(_, unit)| unit.contains(&file)) {
            own.extend(unit);
        }
    }
}
