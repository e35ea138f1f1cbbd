//! What was read of a package, for another run over nearly the same files: fixes are tried on copies
//! in which a few functions are written otherwise, and nothing else is to be read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Body;
use crate::parse::TypeNames;
use crate::preprocess::{Includes, ItemTokens, Twice, VersionRange};
use crate::source::{ByteSpan, FileId, FileSet};

/// All translation units of a program that was parsed in whole.
#[derive(Debug)]
pub struct Kept {
    pub(super) files: FileSet,
    pub(super) ground: Ground,
    pub(super) units: FxHashMap<FileId, Arc<KeptUnit>>,
    /// By [`Entry::key`].
    pub(super) items: FxHashMap<u64, KeptItem>,
}

/// What a translation unit is read with beside its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ground {
    pub(super) types: TypeNames,
    pub(super) range: VersionRange,
    pub(super) before: Vec<FileId>,
}

/// A translation unit in all of its configurations.
#[derive(Debug)]
pub(super) struct KeptUnit {
    /// Its items in the order of first appearance.
    pub(super) entries: Vec<Entry>,
    /// Branches that were read, and whether only builds with the GIL read them.
    pub(super) branches: BTreeMap<(FileId, u32), bool>,
    /// What it defines twice.
    pub(super) twice: Vec<Twice>,
}

/// An item of a translation unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Equal for items with the same tokens from the same places.
    pub(super) key: u64,
    /// The number of the first configuration that has it.
    pub(super) config: usize,
    /// Whether that is one of a build with the GIL only.
    pub(super) needs_gil: bool,
}

/// An item as it was parsed, wherever it is met.
#[derive(Debug, Clone)]
pub(super) struct KeptItem {
    pub(super) tokens: Arc<ItemTokens>,
    pub(super) place: (FileId, ByteSpan),
    pub(super) body: Option<Body>,
    /// The name of the function that it is.
    pub(super) function: Option<String>,
    /// Why it was not understood.
    pub(super) error: Option<String>,
}

impl KeptItem {
    /// Whether one of its tokens was made where `is_changed`.
    fn comes_from(&self, is_changed: impl Fn(FileId) -> bool) -> bool {
        self.tokens.expansions.iter().any(|expansion| {
            let mut places = expansion.definition.iter().chain([&expansion.call]);
            places.any(|(file, _)| is_changed(*file))
        })
    }
}

/// What still holds of an earlier run.
pub(super) struct Known<'k> {
    kept: &'k Kept,
    includes: &'k Includes,
    changed: FxHashSet<FileId>,
    /// Items that are the same, but whose macros stand in files that are not.
    stale: FxHashSet<u64>,
}

impl<'k> Known<'k> {
    /// What holds for `files`; `None` if other files or types are there than were.
    pub(super) fn new(
        kept: &'k Kept,
        files: &FileSet,
        includes: &'k Includes,
        ground: &Ground,
    ) -> Option<Self> {
        if kept.ground != *ground {
            return None;
        }
        let changed = kept.files.changed_in(files)?;
        if ground.before.iter().any(|file| changed.contains(file)) {
            return None;
        }
        let items = kept.items.iter();
        let stale = items.filter(|(_, item)| item.comes_from(|file| changed.contains(&file)));
        Some(Self {
            kept,
            includes,
            stale: stale.map(|(&key, _)| key).collect(),
            changed,
        })
    }

    /// The translation unit of `root`, if nothing that it reads has changed.
    pub(super) fn unit(&self, root: FileId) -> Option<&'k Arc<KeptUnit>> {
        let mut reached = FxHashSet::default();
        self.includes.reach(root, &mut reached);
        let unit = self.kept.units.get(&root)?;
        let is_same = self.changed.is_disjoint(&reached)
            && !unit.entries.iter().any(|it| self.stale.contains(&it.key));
        is_same.then_some(unit)
    }

    /// The item of an entry of such a unit.
    pub(super) fn item(&self, entry: Entry) -> &'k KeptItem {
        &self.kept.items[&entry.key]
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::facts::Functions;
    use crate::preprocess::FileIndex;
    use crate::program::{Demand, Options, load};
    use crate::source::SourceFile;

    const RANGE: VersionRange = VersionRange {
        min: 0x0309_0000,
        max: 0x030F_00F0,
    };

    const FILES: [(&str, &str); 5] = [
        ("a.h", "int shared(int);\n#define GET(v) take(v)\n"),
        ("b.h", "int shared(int);\n#define GET(v) take(v)\n"),
        ("a.c", "#include \"a.h\"\nint a(int v) { return GET(v); }\n"),
        ("b.c", "#include \"b.h\"\nint b(int v) { return GET(v); }\n"),
        ("c.c", "int c(int v) { return v; }\n"),
    ];

    fn files(texts: &[(&str, &str)]) -> FileSet {
        let mut files = FileSet::default();
        for (path, text) in texts {
            files.add(SourceFile::new(
                PathBuf::from(path),
                text.as_bytes().to_vec(),
            ));
        }
        files
    }

    /// What is read of `files`, and the names of the functions that were taken over from `known`.
    fn read(files: &FileSet, known: Option<Arc<Kept>>) -> (String, Vec<String>, Arc<Kept>) {
        let index: Vec<FileIndex> = files
            .iter()
            .map(|(id, file)| FileIndex::new(id, file))
            .collect();
        let includes = Includes::new(files, &index, &[]);
        let options = Options {
            range: RANGE,
            roots: files.iter().map(|(id, _)| id).collect(),
            before: Vec::new(),
            demand: Demand::Everything,
            headers: false,
            facts: Functions::default(),
            unread: std::sync::Arc::default(),
            known: known.clone(),
        };
        let program = load(files, &index, &includes, &options);
        let is_old = |item: &&Arc<ItemTokens>| {
            let mut old = known.iter().flat_map(|kept| kept.items.values());
            old.any(|old| Arc::ptr_eq(&old.tokens, item))
        };
        let functions = program.functions();
        let taken = functions.filter(|(item, _)| is_old(&&item.tokens));
        let taken = taken.map(|(_, function)| function.name.clone()).collect();
        let seen = format!("{:?} {:?}", program.items, program.gaps);
        (seen, taken, program.kept.expect("everything is asked for"))
    }

    #[test]
    fn only_units_that_read_a_changed_file_are_read_again() {
        let (_, _, kept) = read(&files(&FILES), None);
        for (changed, taken) in [
            (0, ["b", "c"].as_slice()),
            (2, &["b", "c"]),
            (4, &["a", "b"]),
        ] {
            let mut texts = FILES;
            let text = format!("int fresh(int);\n{}", texts[changed].1);
            texts[changed].1 = &text;
            let (seen, from_known, _) = read(&files(&texts), Some(Arc::clone(&kept)));
            assert_eq!(from_known, taken);
            assert_eq!(seen, read(&files(&texts), None).0);
        }
    }

    #[test]
    fn other_files_or_types_are_all_read_again() {
        let (_, _, kept) = read(&files(&FILES), None);
        let mut typed = FILES;
        typed[4].1 = "typedef int take;\nint c(int v) { return v; }\n";
        let more = [FILES.as_slice(), &[("d.c", "int d;\n")]].concat();
        for texts in [typed.as_slice(), &more] {
            let (seen, from_known, _) = read(&files(texts), Some(Arc::clone(&kept)));
            assert_eq!(from_known, [""; 0]);
            assert_eq!(seen, read(&files(texts), None).0);
        }
    }

    /// ```c
    /// FUNCTION        /* its tokens come from common.h, in both units */
    /// ```
    #[test]
    fn an_item_that_a_changed_file_asks_for_is_read_again() {
        let texts = [
            ("common.h", "#define BODY int common(void) { return 1; }\n"),
            ("a.h", "#include \"common.h\"\n#define FUNCTION BODY\n"),
            ("b.h", "#include \"common.h\"\n#define FUNCTION BODY\n"),
            ("a.c", "#include \"a.h\"\nFUNCTION\n"),
            ("b.c", "#include \"b.h\"\nFUNCTION\n"),
        ];
        let (_, _, kept) = read(&files(&texts), None);
        let mut changed = texts;
        changed[1].1 = "#include \"common.h\"\n/* shorter */\n";
        changed[3].1 = "#include \"a.h\"\n";
        let (seen, from_known, _) = read(&files(&changed), Some(kept));
        assert_eq!(from_known, [""; 0]);
        assert_eq!(seen, read(&files(&changed), None).0);
    }
}
