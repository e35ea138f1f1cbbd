//! Whether a change of a `#define` makes of every use what was proven on the copy: both results
//! are read, and their tokens compared.

use std::collections::{BTreeMap, BTreeSet};

use super::Solver;
use super::uses::Target;
use crate::edit::{Applied, Edit, apply};
use crate::engine::workspace::Workspace;
use crate::program::{Places, Program};
use crate::source::{ByteSpan, FileId, FileSet};

/// The tokens of the items around one use, in each configuration.
type Made = BTreeMap<usize, BTreeSet<Vec<Vec<u8>>>>;

/// Whether `on_define` does in the package what `on_copy` does in the copy.
pub(super) fn holds(
    solver: &Solver<'_, '_>,
    target: &Target<'_>,
    on_define: &[Edit],
    on_copy: &[Edit],
) -> bool {
    let define = Changed::new(solver.program.files, on_define);
    let copy = Changed::new(&solver.copied.files, on_copy);
    let uses = || target.uses.iter().enumerate();
    let in_define = uses().map(|(_, used)| define.moved(used.file, used.span));
    let in_copy = uses().map(|(number, used)| {
        let region = solver.copy.region(target, number)?;
        copy.around(used.file, region.span)
    });
    let (Some(in_define), Some(in_copy)) = (
        in_define.collect::<Option<Vec<_>>>(),
        in_copy.collect::<Option<Vec<_>>>(),
    ) else {
        return false;
    };
    let define = define.made(solver.workspace, &in_define, on_define);
    let copy = copy.made(solver.copied, &in_copy, on_copy);
    define.len() == target.uses.len() && define == copy
}

/// Files after some edits.
struct Changed {
    files: FileSet,
    results: BTreeMap<FileId, Applied>,
}

impl Changed {
    fn new(files: &FileSet, edits: &[Edit]) -> Self {
        let mut changed = Self {
            files: files.clone(),
            results: BTreeMap::new(),
        };
        let ids: BTreeSet<FileId> = edits.iter().map(|edit| edit.file).collect();
        for id in ids {
            let of_file = edits.iter().filter(|edit| edit.file == id);
            let applied = apply(files.get(id).bytes(), of_file);
            changed.files.replace(id, applied.bytes.clone());
            changed.results.insert(id, applied);
        }
        changed
    }

    /// Where text that stays as it is went.
    fn moved(&self, file: FileId, span: ByteSpan) -> Option<(FileId, ByteSpan)> {
        let start = match self.results.get(&file) {
            Some(applied) => applied.map.to_new(span.start())?.0,
            None => span.start().0,
        };
        Some((file, ByteSpan::new(start, start + 1)))
    }

    /// Where the byte in front of text went.
    fn around(&self, file: FileId, span: ByteSpan) -> Option<(FileId, ByteSpan)> {
        let before = span.start().0.checked_sub(1)?;
        self.moved(file, ByteSpan::new(before, before + 1))
    }

    /// The tokens of the items at `places`, one for each use.
    fn made(self, workspace: &Workspace, places: &[(FileId, ByteSpan)], edits: &[Edit]) -> Made {
        let mut look = Places::default();
        for &(file, span) in places {
            look.entry(file).or_default().push(span);
        }
        for edit in edits {
            look.entry(edit.file).or_default();
        }
        look.values_mut().for_each(|spans| spans.sort_unstable());
        let mut made = Made::new();
        workspace.reload(&self.files, look, &mut |program| {
            made = items(program, places);
        });
        made
    }
}

fn items(program: &Program<'_>, places: &[(FileId, ByteSpan)]) -> Made {
    let mut made = Made::new();
    for (item, _) in program.functions() {
        let (file, span) = item.place;
        let here = places.iter().enumerate();
        let here = here.filter(|(_, (of, at))| *of == file && span.contains(*at));
        for (number, _) in here {
            let count = u32::try_from(item.tokens.tokens.len()).expect("items fit");
            let words = (0..count).map(|at| item.tokens.text(program.files, at).to_vec());
            made.entry(number).or_default().insert(words.collect());
        }
    }
    made
}
