//! Where `#include` leads: to a file of the tree, or nowhere.

use std::path::{Component, Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use super::directive::Segment;
use super::index::FileIndex;
use crate::lex::{Token, TokenKind};
use crate::source::{ByteOffset, FileId, FileSet, SourceFile};

/// Who includes whom.
#[derive(Debug, Default)]
pub struct Includes {
    by_path: FxHashMap<PathBuf, FileId>,
    by_name: FxHashMap<Box<str>, Vec<FileId>>,
    search: Vec<PathBuf>,
    /// Where the operands of each file lead, by [`FileId`] and text: every translation unit asks
    /// again in every configuration.
    resolved: Vec<FxHashMap<Box<[u8]>, Option<FileId>>>,
    /// What each file includes, by [`FileId`].
    targets: Vec<Vec<Inclusion>>,
    /// Who includes each file, by [`FileId`].
    includers: Vec<Vec<Inclusion>>,
    /// Whether each file names `Python.h`, by [`FileId`].
    python: Vec<bool>,
    missing: Vec<MissingHeader>,
    /// The operands that are macros.
    computed: Vec<Computed>,
}

/// `#include FT_FREETYPE_H`.
#[derive(Debug)]
struct Computed {
    file: FileId,
    /// The operand, if it is one word.
    name: Option<Box<[u8]>>,
    /// Whether the package may say what it stands for. What nothing in it defines, a header from
    /// outside does, which names other headers from outside.
    is_own: bool,
}

/// One `#include`, seen from one of its two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inclusion {
    /// The file at the other end.
    pub file: FileId,
    /// Where the operand of the directive begins, in the file that has the directive.
    pub at: ByteOffset,
}

/// A quoted header that is not in the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingHeader {
    /// The file that names it.
    pub file: FileId,
    /// The operand, without quotes.
    pub name: String,
}

impl Includes {
    /// Resolves every `#include` of the files. `search` are the folders of `-I`, relative to the
    /// root of the run.
    #[must_use]
    pub fn new(files: &FileSet, index: &[FileIndex], search: &[PathBuf]) -> Self {
        let mut includes = Self {
            search: search.to_vec(),
            ..Self::default()
        };
        for (id, file) in files.iter() {
            includes.by_path.insert(file.path().to_path_buf(), id);
            if let Some(name) = file.path().file_name().and_then(|name| name.to_str()) {
                includes.by_name.entry(name.into()).or_default().push(id);
            }
        }
        includes.python = vec![false; files.len()];
        includes.resolved = vec![FxHashMap::default(); files.len()];
        includes.targets = vec![Vec::new(); files.len()];
        includes.includers = vec![Vec::new(); files.len()];
        for (id, file) in files.iter() {
            let index = &index[id.index()];
            for segment in &index.segments {
                let Segment::Include(range) = segment else {
                    continue;
                };
                let operand = &index.tokens[range.start as usize..range.end as usize];
                let Some((name, quoted)) = operand_name(file.bytes(), operand) else {
                    let name = word_of(file.bytes(), operand);
                    includes.computed.push(Computed {
                        file: id,
                        is_own: name.is_none(),
                        name: name.map(Box::from),
                    });
                    continue;
                };
                includes.python[id.index()] |= name == "Python.h" || name.ends_with("/Python.h");
                let found = includes.find(files, id, &name, quoted);
                if let Some(text) = operand_text(file.bytes(), operand) {
                    includes.resolved[id.index()].insert(text.into(), found);
                }
                match found {
                    Some(target) if target != id => {
                        let at = operand[0].span.start();
                        includes.targets[id.index()].push(Inclusion { file: target, at });
                        includes.includers[target.index()].push(Inclusion { file: id, at });
                    }
                    None if quoted && !is_python_header(&name) => {
                        includes.missing.push(MissingHeader { file: id, name });
                    }
                    Some(_) | None => {}
                }
            }
        }
        for computed in includes.computed.iter_mut().filter(|it| !it.is_own) {
            let name = computed.name.as_deref().unwrap_or_default();
            computed.is_own = files.iter().zip(index).any(|((_, file), index)| {
                index.macros(file).any(|it| it == name) || !is_c(file) && names(file, name)
            });
        }
        includes
    }

    /// Takes into account that `texts`, which are no C, may say what macros stand for: `-DNAME=…`.
    pub fn add_texts(&mut self, texts: &FileSet) {
        for computed in self.computed.iter_mut().filter(|it| !it.is_own) {
            let name = computed.name.as_deref().unwrap_or_default();
            computed.is_own = texts.iter().any(|(_, text)| names(text, name));
        }
    }

    /// Whether any other file includes this one.
    #[must_use]
    pub fn is_included(&self, file: FileId) -> bool {
        !self.includers[file.index()].is_empty()
    }

    /// What `file` includes, in the order of its lines.
    #[must_use]
    pub fn targets(&self, file: FileId) -> &[Inclusion] {
        &self.targets[file.index()]
    }

    /// Who includes `file`, in the order of the files.
    #[must_use]
    pub fn includers(&self, file: FileId) -> &[Inclusion] {
        &self.includers[file.index()]
    }

    /// Whether to include `file` is to include `Python.h`.
    #[must_use]
    pub fn brings_python(&self, file: FileId) -> bool {
        let mut reached = FxHashSet::default();
        self.reach(file, &mut reached);
        reached.iter().any(|file| self.python[file.index()])
    }

    /// Adds `from` and all files it includes, directly or not, to `reached`.
    pub fn reach(&self, from: FileId, reached: &mut FxHashSet<FileId>) {
        let mut waiting = vec![from];
        while let Some(file) = waiting.pop() {
            if reached.insert(file) {
                waiting.extend(self.targets(file).iter().map(|target| target.file));
            }
        }
    }

    /// The files of which an `#include` leads where a macro of the package says, so that it is not
    /// seen.
    pub fn computed(&self) -> impl Iterator<Item = FileId> {
        let own = self.computed.iter().filter(|it| it.is_own);
        own.map(|it| it.file)
    }

    /// Quoted headers that were not found, in the order of the files.
    #[must_use]
    pub fn missing(&self) -> &[MissingHeader] {
        &self.missing
    }

    pub(crate) fn resolve(
        &self,
        files: &FileSet,
        from: FileId,
        operand: &[Token],
    ) -> Option<FileId> {
        let bytes = files.get(from).bytes();
        if let Some(known) = self.resolved[from.index()].get(operand_text(bytes, operand)?) {
            return *known;
        }
        // A fix that is being tried may have added the line.
        let (name, quoted) = operand_name(bytes, operand)?;
        self.find(files, from, &name, quoted)
    }

    fn find(&self, files: &FileSet, from: FileId, name: &str, quoted: bool) -> Option<FileId> {
        if is_python_header(name) {
            return None;
        }
        let here = files.get(from).path().parent().unwrap_or(Path::new(""));
        let beside = quoted.then_some(here);
        let folders = beside
            .into_iter()
            .chain(self.search.iter().map(PathBuf::as_path));
        let mut direct = folders.filter_map(|folder| self.by_path.get(&normal(&folder.join(name))));
        if let Some(&found) = direct.next() {
            return Some(found);
        }
        if !quoted && is_system_header(name) {
            return None;
        }
        self.nearest(files, here, name)
    }

    /// The file whose path ends in `name`; of several, the one that shares the most leading
    /// folders with `here`, of those the first.
    fn nearest(&self, files: &FileSet, here: &Path, name: &str) -> Option<FileId> {
        let wanted: PathBuf = normal(Path::new(name));
        let last = wanted.file_name()?.to_str()?;
        let candidates = self.by_name.get(last)?.iter().copied();
        let fitting = candidates.filter(|id| files.get(*id).path().ends_with(&wanted));
        let shared = |id: FileId| {
            let path = files.get(id).path();
            path.components()
                .zip(here.components())
                .take_while(|(a, b)| a == b)
                .count()
        };
        fitting.max_by_key(|id| (shared(*id), std::cmp::Reverse(*id)))
    }
}

/// The operand of `#include` as it is written.
fn operand_text<'b>(bytes: &'b [u8], operand: &[Token]) -> Option<&'b [u8]> {
    let (first, last) = (operand.first()?, operand.last()?);
    bytes.get(first.span.range().start..last.span.range().end)
}

/// The operand of `#include` and whether it is quoted; `None` if it is a macro.
pub(super) fn operand_name(bytes: &[u8], operand: &[Token]) -> Option<(String, bool)> {
    let (first, last) = (operand.first()?, operand.last()?);
    let text = |from: usize, to: usize| String::from_utf8_lossy(&bytes[from..to]).into_owned();
    if first.kind == TokenKind::Str {
        let span = first.span.range();
        return Some((
            text(span.start + 1, (span.end - 1).max(span.start + 1)),
            true,
        ));
    }
    let close = operand
        .iter()
        .find(|token| bytes[token.span.range()] == *b">")?;
    let angle = bytes[first.span.range()] == *b"<" && last.span >= close.span;
    angle.then(|| {
        (
            text(first.span.range().end, close.span.range().start),
            false,
        )
    })
}

/// The operand of `#include`, if it is one word.
fn word_of<'b>(bytes: &'b [u8], operand: &[Token]) -> Option<&'b [u8]> {
    match operand {
        [word] if word.kind == TokenKind::Ident => Some(&bytes[word.span.range()]),
        _ => None,
    }
}

/// Whether the file is C, where only a `#define` says what a macro stands for.
fn is_c(file: &SourceFile) -> bool {
    const ENDINGS: &[&str] = &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "inc", "m", "mm"];
    let ending = file.path().extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

fn names(file: &SourceFile, name: &[u8]) -> bool {
    memchr::memmem::find(file.bytes(), name).is_some()
}

/// `a/./b/../c` as `a/c`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Headers of CPython: the built-in model stands for them, even where a copy is in the tree.
fn is_python_header(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "Python.h",
        "structmember.h",
        "datetime.h",
        "frameobject.h",
        "pythread.h",
        "pymem.h",
        "pyconfig.h",
        "patchlevel.h",
        "marshal.h",
        "longintrepr.h",
        "bytesobject.h",
        "unicodeobject.h",
        "object.h",
        "node.h",
        "code.h",
        "compile.h",
        "eval.h",
        "import.h",
        "ceval.h",
        "descrobject.h",
        "methodobject.h",
        "modsupport.h",
        "osdefs.h",
        "pyport.h",
        "pystate.h",
        "structseq.h",
        "symtable.h",
        "token.h",
        "cellobject.h",
        "funcobject.h",
        "listobject.h",
        "dictobject.h",
        "tupleobject.h",
        "weakrefobject.h",
        "traceback.h",
        "opcode.h",
        "bytes_methods.h",
        "cStringIO.h",
        "py_curses.h",
        "opcode_ids.h",
    ];
    let last = name.rsplit('/').next().unwrap_or(name);
    (NAMES.contains(&last) && !name.contains('/'))
        || name.starts_with("python/")
        || name.starts_with("internal/pycore_")
        || name.starts_with("cpython/")
        || last.starts_with("pycore_")
}

/// Headers of C, POSIX and Windows that a file of the same name in the tree must not stand for.
fn is_system_header(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "assert.h",
        "complex.h",
        "ctype.h",
        "errno.h",
        "fcntl.h",
        "float.h",
        "inttypes.h",
        "io.h",
        "iso646.h",
        "limits.h",
        "locale.h",
        "malloc.h",
        "math.h",
        "memory.h",
        "poll.h",
        "process.h",
        "pthread.h",
        "sched.h",
        "semaphore.h",
        "setjmp.h",
        "signal.h",
        "stdarg.h",
        "stdatomic.h",
        "stdbool.h",
        "stddef.h",
        "stdint.h",
        "stdio.h",
        "stdlib.h",
        "string.h",
        "strings.h",
        "tchar.h",
        "threads.h",
        "time.h",
        "unistd.h",
        "wchar.h",
        "windows.h",
    ];
    NAMES.contains(&name.to_ascii_lowercase().as_str())
}
