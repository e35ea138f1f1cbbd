//! The package with some text written otherwise, and the fixes of it as fixes of the package.

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::{Edit, Fix, apply, compose};
use crate::engine::workspace::Workspace;
use crate::engine::{Config, prove_alone};
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A copy of the package.
pub(super) struct Edited<'e> {
    package: Package,
    written: &'e [Edit],
}

impl<'e> Edited<'e> {
    pub(super) fn new(package: &Package, written: &'e [Edit]) -> Self {
        let mut copy = package.clone();
        let files: BTreeSet<FileId> = written.iter().map(|edit| edit.file).collect();
        for file in files {
            let edits = written.iter().filter(|edit| edit.file == file);
            let applied = apply(package.files.get(file).bytes(), edits);
            copy.files.replace(file, applied.bytes);
        }
        Self {
            package: copy,
            written,
        }
    }

    /// The proven fixes that the rules have on the copy for open findings, by the numbers of all
    /// findings that they are the fixes of.
    pub(super) fn fixes(
        &self,
        config: &Config,
        open: &[usize],
        findings: &[Finding],
    ) -> BTreeMap<usize, Fix> {
        let start = |finding: &Finding| self.moved(finding.file, finding.span.start());
        let is_near = |finding: &Finding| {
            let mut open = open.iter().map(|&at| &findings[at]);
            open.any(|it| it.file == finding.file && it.function == finding.function)
        };
        let near = findings.iter().enumerate().filter(|(_, it)| is_near(it));
        let starts: Vec<(usize, ByteOffset)> = near.map(|(at, it)| (at, start(it))).collect();
        let number = |found: &Finding| {
            let same = starts.iter().find(|(at, start)| {
                let finding = &findings[*at];
                (finding.rule.code, finding.file, *start)
                    == (found.rule.code, found.file, found.span.start())
            });
            same.map(|(at, _)| *at)
        };
        let workspace = Workspace::new(&self.package, config);
        let found = prove_alone(&self.package, config, &workspace, &|found| {
            number(found).is_some()
        });
        let fixes = found.into_iter().filter_map(|found| {
            let at = number(&found)?;
            match found.outcome {
                Outcome::Fix(fix) => Some((at, fix)),
                Outcome::Safe(_) | Outcome::Manual(_) => None,
            }
        });
        let mut fixes: BTreeMap<usize, Fix> = fixes.collect();
        let asked = fixes.iter().filter(|(at, _)| open.contains(at));
        let asked: Vec<Fix> = asked.map(|(_, fix)| fix.clone()).collect();
        fixes.retain(|_, fix| asked.contains(fix));
        fixes
    }

    /// What the rules say of the text that was written otherwise, each fix proven.
    pub(super) fn found(&self, config: &Config) -> Vec<Finding> {
        let workspace = Workspace::new(&self.package, config);
        prove_alone(&self.package, config, &workspace, &|found| {
            self.written.iter().any(|edit| self.holds(edit, found))
        })
    }

    /// Whether a finding in the copy is about the text of `edit`.
    pub(super) fn holds(&self, edit: &Edit, found: &Finding) -> bool {
        let start = self.moved(edit.file, edit.span.start());
        let text = ByteSpan::new(start.0, start.0 + to_u32(edit.text.len()));
        edit.file == found.file && text.contains(found.span)
    }

    /// Where the byte at `offset` of the original went, which no edit replaced.
    fn moved(&self, file: FileId, offset: ByteOffset) -> ByteOffset {
        let before = self.written.iter();
        let before = before.filter(|edit| edit.file == file && edit.span.end() <= offset);
        let shift = before.fold(0i64, |shift, edit| shift + growth(edit));
        let new = i64::from(offset.0) + shift;
        ByteOffset(u32::try_from(new).expect("the copy is about as long"))
    }

    /// What was written otherwise and is changed inside by one of `fixes`.
    pub(super) fn touched<'f>(&self, fixes: impl Iterator<Item = &'f Fix> + Clone) -> Vec<Edit> {
        let is_touched = |written: &&Edit| {
            let start = self.moved(written.file, written.span.start());
            let end = start.0 + to_u32(written.text.len());
            let mut edits = fixes.clone().flat_map(|fix| &fix.edits);
            edits.any(|edit| {
                edit.file == written.file && start < edit.span.start() && edit.span.end().0 < end
            })
        };
        self.written.iter().filter(is_touched).cloned().collect()
    }

    /// A fix of the copy as one of `package`.
    pub(super) fn composed(&self, package: &Package, mut fix: Fix) -> Fix {
        // Stable: insertions at one place keep their order.
        fix.edits.sort_by_key(|edit| (edit.file, edit.span));
        let files: BTreeSet<FileId> = fix.edits.iter().map(|edit| edit.file).collect();
        let all = std::mem::take(&mut fix.edits);
        for file in files {
            let of_file = |edit: &&Edit| edit.file == file;
            let first: Vec<&Edit> = self.written.iter().filter(of_file).collect();
            let second: Vec<Edit> = all.iter().filter(of_file).cloned().collect();
            let composed = compose(package.files.get(file).bytes(), &first, &second);
            fix.edits.extend(composed.edits);
        }
        fix.alternatives.clear();
        fix
    }
}

fn growth(edit: &Edit) -> i64 {
    i64::from(to_u32(edit.text.len())) - i64::from(to_u32(edit.span.len()))
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("files are at most MAX_FILE_BYTES long")
}
