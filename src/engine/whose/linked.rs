//! What is linked together: files that define what others name, from those of a module on.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::programs::Programs;
use super::symbols::{Symbols, Words};
use crate::build::Extent;
use crate::package::{FileKind, Package};
use crate::rule::PackageCx;
use crate::source::{FileId, SourceFile};

pub(super) struct Linker<'a> {
    cx: &'a PackageCx<'a>,
    package: &'a Package,
    symbols: Symbols<'a>,
    /// The translation units with all that they include.
    units: Vec<(FileId, FxHashSet<FileId>)>,
    /// Headers that no file is seen to include: nobody knows whose they are.
    lone: FxHashSet<FileId>,
    /// The files of units that include what a macro says, which may be any file.
    computing: FxHashSet<FileId>,
    programs: Programs,
}

impl<'a> Linker<'a> {
    /// `modules` are the files of `PyInit_` functions.
    pub(super) fn new(
        cx: &'a PackageCx<'a>,
        package: &'a Package,
        modules: &BTreeSet<FileId>,
    ) -> Self {
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
        let lone = package.analysed().map(|(id, _)| id);
        let lone: FxHashSet<FileId> = lone.filter(|&id| is_lone(cx, package, id)).collect();
        let computed: FxHashSet<FileId> = includes.computed().collect();
        let computing = units
            .iter()
            .filter(|(_, unit)| !unit.is_disjoint(&computed))
            .flat_map(|(_, unit)| unit)
            .chain(lone.iter().filter(|_| !computed.is_empty()));
        Self {
            cx,
            package,
            computing: computing.copied().collect(),
            programs: Programs::new(&symbols, &units, modules),
            symbols,
            units,
            lone,
        }
    }

    /// The files of `package` that may be linked into a module, for all that is known: not those of
    /// other programs, and what only these use, unless a build `names` it.
    pub(super) fn all(&self, names: impl Fn(FileId) -> bool) -> FxHashSet<FileId> {
        let all = self.package.analysed().map(|(id, _)| id);
        let unread = &self.cx.program.unread;
        let is_free = |file: FileId, defined: &[&str]| {
            names(file) || defined.iter().any(|name| unread.names(name))
        };
        let of_programs = self.programs.with_used(&self.symbols, &is_free);
        all.filter(|id| !of_programs.contains(id)).collect()
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
        let given = self.given_by([file], false);
        self.close(own, &given, &BTreeSet::new(), true).own
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
            Extent::Exact => self.given_by(sources.iter().copied().chain([file]), true),
            Extent::AtMost | Extent::Open => self.given_by([file], false),
        };
        let mut found = self.close(own, &given, &sources, false);
        if self.lacks_definition(&found) {
            let own = self.with_doubtful(found.own);
            found = self.close(own, &given, &sources, false);
        }
        match self.calls_unread(&found) {
            true => self.close(found.own, &given, &sources, true).own,
            false => found.own,
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
        let of_none = |file: &&FileId| !self.programs.contains(**file);
        for &file in self.symbols.doubtful.iter().filter(of_none) {
            own.insert(file);
            self.join(file, &mut own);
        }
        own
    }

    /// Whether the files name something that is declared and of which no definition was found: one
    /// that a macro makes is none.
    fn lacks_definition(&self, found: &Found) -> bool {
        let mut named = self.names_of_all(found);
        let is_defined = |name: &&str| {
            self.symbols.defined.contains_key(name)
                || self.symbols.defined_inside.contains_key(name)
        };
        !self.symbols.knows_declared
            || named.any(|name| self.symbols.declared.contains(name) && !is_defined(&name))
    }

    /// Whether the files may call text that was not read, or are such text.
    fn calls_unread(&self, found: &Found) -> bool {
        // What macros of a generated header stand for is known.
        let is_read = |file: FileId| {
            let info = self.package.info_of(file);
            info.is_none_or(|info| info.kind.is_analysed())
                || !self.cx.program.index[file.index()].has_code()
        };
        let is_elsewhere = |name: &&str| {
            let is_declared = self.symbols.declared.contains(name) || !self.symbols.knows_declared;
            is_declared
                && !self.symbols.defined.contains_key(name)
                && self.cx.program.unread.names(name)
        };
        found.own.iter().any(|&file| !is_read(file))
            || self.names_of_all(found).any(|name| is_elsewhere(&name))
    }

    /// `own` with all files that define what these name, and what those name; what is `given` in
    /// any case is looked for in no other file. `sources` are compiled by themselves. `with_unread`:
    /// text that was not read is linked as well, and names what it likes.
    fn close(
        &self,
        own: FxHashSet<FileId>,
        given: &Words<'a>,
        sources: &BTreeSet<FileId>,
        with_unread: bool,
    ) -> Found {
        let mut found = Found {
            open: own.iter().copied().collect(),
            own,
            apart: sources.iter().copied().collect(),
        };
        if with_unread {
            let unread = &self.cx.program.unread;
            let called = self
                .symbols
                .defined
                .keys()
                .filter(|name| unread.names(name));
            for name in called.filter(|name| !given.contains(*name)) {
                self.add(name, &mut found);
            }
        }
        let mut seen = FxHashSet::default();
        let mut seen_inside = FxHashSet::default();
        while let Some(file) = found.open.pop() {
            let named = self.names_of(file, found.apart.contains(&file));
            for name in named.filter(|name| !given.contains(name)) {
                if seen.insert(name) && (with_unread || !self.defines(&found.own, name)) {
                    self.add(name, &mut found);
                }
            }
            if self.computing.contains(&file) {
                self.add_included(file, &mut seen_inside, &mut found);
            }
        }
        found.own.extend(&self.lone);
        found
    }

    /// What the files of a module name.
    fn names_of_all(&self, found: &Found) -> impl Iterator<Item = &'a str> {
        let files = found.own.iter();
        files.flat_map(|&file| self.names_of(file, found.apart.contains(&file)))
    }

    /// What the file names, as a part of other units or apart.
    fn names_of(&self, file: FileId, is_apart: bool) -> impl Iterator<Item = &'a str> {
        let left_out = self.symbols.when_included.get(&file).filter(|_| is_apart);
        let named = self.symbols.named.get(&file).into_iter().flatten();
        named
            .copied()
            .filter(move |name| left_out.is_none_or(|names| !names.contains(name)))
    }

    /// What is included by the name of a macro is of the file that includes it: adds the headers that
    /// nobody is seen to include, and the files with what `file` names and only who includes them has.
    fn add_included(&self, file: FileId, seen: &mut FxHashSet<&'a str>, found: &mut Found) {
        found.extend(self.lone.iter().copied());
        let named = self.symbols.named.get(&file).into_iter().flatten();
        for name in named.filter(|name| seen.insert(**name)) {
            for &file in self.symbols.defined_inside.get(name).into_iter().flatten() {
                let mut more = FxHashSet::default();
                self.cx.program.includes.reach(file, &mut more);
                found.extend(more.into_iter());
            }
        }
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

    /// Adds the units of the files that define `name`: those of programs only if it is declared, and
    /// nothing else defines it.
    fn add(&self, name: &str, found: &mut Found) {
        let defined = self.symbols.defined.get(name).into_iter().flatten();
        let is_program = |file: &FileId| self.programs.contains(*file);
        let may_be_program = defined.clone().all(is_program)
            && (self.symbols.declared.contains(name) || !self.symbols.knows_declared);
        for &file in defined {
            let solid = self.symbols.solid_for_others.get(&file);
            let is_solid = || solid.is_some_and(|names| names.contains(name));
            if found.own.contains(&file) && is_solid()
                || name == "main"
                || is_program(&file) && !may_be_program
            {
                continue;
            }
            let mut more = FxHashSet::default();
            more.insert(file);
            self.join(file, &mut more);
            found.extend(more.into_iter());
        }
    }

    /// Adds the translation units that hold `file`, other than programs that include it.
    fn join(&self, file: FileId, own: &mut FxHashSet<FileId>) {
        for (root, unit) in self.units.iter().filter(|(_, unit)| unit.contains(&file)) {
            match self.programs.begins(*root) {
                true => self.cx.program.includes.reach(file, own),
                false => own.extend(unit),
            }
        }
    }
}

/// The files of a module as they are found.
struct Found {
    own: FxHashSet<FileId>,
    /// Those whose names were not looked at yet.
    open: Vec<FileId>,
    /// Those that are compiled by themselves, and are part of no other unit.
    apart: FxHashSet<FileId>,
}

impl Found {
    fn extend(&mut self, files: impl Iterator<Item = FileId>) {
        for file in files {
            // What it names as a part of another unit was not looked at.
            if self.own.insert(file) || self.apart.remove(&file) {
                self.open.push(file);
            }
        }
    }
}

/// Whether no file is seen to include the header, or another one with the same text.
fn is_lone(cx: &PackageCx<'_>, package: &Package, id: FileId) -> bool {
    let includes = &cx.program.includes;
    let is_bare = |id| package.info(id).kind == FileKind::Header && !includes.is_included(id);
    let file = package.files.get(id);
    let is_same = |(other, it): (FileId, &SourceFile)| {
        it.path().file_name() == file.path().file_name()
            && includes.is_included(other)
            && it.bytes() == file.bytes()
    };
    is_bare(id) && !package.files.iter().any(is_same)
}
