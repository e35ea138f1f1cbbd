//! The package with some text written otherwise, and the fixes of it as fixes of the package.

use std::collections::{BTreeMap, BTreeSet};

use super::Place;
use crate::edit::{Edit, Fix, apply, compose};
use crate::engine::plan::{Effort, prove_alone};
use crate::engine::workspace::Workspace;
use crate::engine::{Config, examine, run};
use crate::package::Package;
use crate::program::Program;
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};
use crate::validate::same_steps;

/// A copy of the package.
pub(super) struct Edited<'e> {
    package: Package,
    /// The package as it is.
    original: &'e Program<'e>,
    written: &'e [Edit],
}

impl<'e> Edited<'e> {
    pub(super) fn new(package: &Package, original: &'e Program<'e>, written: &'e [Edit]) -> Self {
        let mut copy = package.clone();
        let files: BTreeSet<FileId> = written.iter().map(|edit| edit.file).collect();
        for file in files {
            let edits = written.iter().filter(|edit| edit.file == file);
            let applied = apply(package.files.get(file).bytes(), edits);
            copy.files.replace(file, applied.bytes);
        }
        Self {
            package: copy,
            original,
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
        let is_near = |finding: &Finding| {
            let mut open = open.iter().map(|&at| &findings[at]);
            open.any(|it| it.file == finding.file && it.function == finding.function)
        };
        let near = findings.iter().enumerate().filter(|(_, it)| is_near(it));
        let near: Vec<(usize, &Finding)> = near.collect();
        let number = |found: &Finding| self.number(&near, found);
        let found = self.found_in(config, &|found| number(found).is_some());
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

    /// The number of that one of `near`, findings with their numbers, which a finding in the copy is.
    pub(super) fn number(&self, near: &[(usize, &Finding)], found: &Finding) -> Option<usize> {
        let same = near.iter().find(|(_, finding)| {
            let start = self.moved(finding.file, finding.span.start());
            (finding.rule.code, finding.file, start)
                == (found.rule.code, found.file, found.span.start())
        });
        same.map(|(at, _)| *at)
    }

    /// The functions with text that was written otherwise, and does not take the same steps then.
    pub(super) fn unlike(&self, config: &Config, cx: &PackageCx<'_>) -> Vec<Place> {
        let is_written = |(file, span): Place| {
            let mut edits = self.written.iter();
            edits.any(|edit| edit.file == file && span.contains(edit.span))
        };
        let workspace = Workspace::near(&self.package, config, self.original);
        examine(config, &workspace, |copied, _| {
            let functions = cx.program.functions();
            let written = functions.filter(|(item, _)| is_written(item.place));
            let unlike = written.filter(|(item, old)| {
                let (file, span) = item.place;
                let start = self.moved(file, span.start());
                let is_it = |(of, at): Place| (of, at.start()) == (file, start);
                let mut new = copied.program.functions();
                !new.any(|(item, new)| is_it(item.place) && same_steps(old, new))
            });
            unlike.map(|(item, _)| item.place).collect()
        })
    }

    /// What the rules say of the macros of the copy if it is worth to ask them.
    pub(super) fn found_in_macros(
        &self,
        config: &Config,
        is_worth: impl FnOnce(&Program<'_>) -> bool,
    ) -> Vec<Finding> {
        let package = &self.package;
        let workspace = Workspace::near(package, config, self.original);
        examine(config, &workspace, |cx, rules| {
            if !is_worth(cx.program) {
                return Vec::new();
            }
            let (mut findings, _) = run(rules, cx, package, config);
            findings.retain(|found| super::is_open(cx.program, found));
            super::solve(package, config, &workspace, cx.program, &mut findings);
            findings
        })
    }

    /// What the rules say of some functions, each fix proven.
    pub(super) fn found_in(
        &self,
        config: &Config,
        is_there: &dyn Fn(&Finding) -> bool,
    ) -> Vec<Finding> {
        self.proven(config, Effort::Rules, is_there)
    }

    /// What a run makes of some functions, each fix proven.
    pub(super) fn planned(
        &self,
        config: &Config,
        is_there: &dyn Fn(&Finding) -> bool,
    ) -> Vec<Finding> {
        self.proven(config, Effort::Plan, is_there)
    }

    fn proven(
        &self,
        config: &Config,
        effort: Effort,
        is_there: &dyn Fn(&Finding) -> bool,
    ) -> Vec<Finding> {
        let workspace = Workspace::near(&self.package, config, self.original);
        prove_alone(&self.package, config, &workspace, effort, is_there)
    }

    /// What the rules say of the text that was written otherwise, each fix proven.
    pub(super) fn found(&self, config: &Config) -> Vec<Finding> {
        self.found_in(config, &|found| {
            self.written.iter().any(|edit| self.holds(edit, found))
        })
    }

    /// Whether a finding in the copy is about the text of `edit`.
    pub(super) fn holds(&self, edit: &Edit, found: &Finding) -> bool {
        edit.file == found.file && self.text_of(edit).contains(found.span)
    }

    /// Where the byte at `offset` of the original went, which no edit replaced.
    pub(super) fn moved(&self, file: FileId, offset: ByteOffset) -> ByteOffset {
        let before = self.written.iter();
        shifted(
            before.filter(|edit| edit.file == file && edit.span.end() <= offset),
            offset,
        )
    }

    /// Where the text of `edit` is, which was written otherwise.
    fn text_of(&self, edit: &Edit) -> ByteSpan {
        let before = self.written.iter().take_while(|it| *it != edit);
        let start = shifted(before.filter(|it| it.file == edit.file), edit.span.start());
        ByteSpan::new(start.0, start.0 + to_u32(edit.text.len()))
    }

    /// What was written otherwise and is changed inside by one of `fixes`.
    pub(super) fn touched<'f>(&self, fixes: impl Iterator<Item = &'f Fix> + Clone) -> Vec<Edit> {
        let is_touched = |written: &&Edit| {
            let text = self.text_of(written);
            let mut edits = fixes.clone().flat_map(|fix| &fix.edits);
            edits.any(|edit| {
                let is_inside = text.start() < edit.span.start() && edit.span.end() < text.end();
                edit.file == written.file && is_inside
            })
        };
        self.written.iter().filter(is_touched).cloned().collect()
    }

    /// A fix of the copy as one of `package`, with all of `edits`, which were made for it.
    pub(super) fn completed(&self, package: &Package, mut fix: Fix, edits: &[&Edit]) -> Fix {
        for edit in edits.iter().filter(|edit| !edit.text.is_empty()) {
            let span = self.text_of(edit);
            let touches = |it: &Edit| match it.span.is_empty() {
                true => it.span.start() <= span.end() && span.start() <= it.span.start(),
                false => it.span.start() < span.end() && span.start() < it.span.end(),
            };
            let mut same = fix.edits.iter().filter(|it| it.file == edit.file);
            if !same.any(touches) {
                // It stays as it is.
                fix.replace(edit.file, span, edit.text.clone());
            }
        }
        let deleted = edits.iter().filter(|edit| edit.text.is_empty());
        let mut fix = self.composed(package, fix);
        let has = |fix: &Fix, edit: &Edit| {
            let mut all = fix.edits.iter();
            all.any(|it| it.file == edit.file && it.span.contains(edit.span))
        };
        let left: Vec<Edit> = deleted
            .filter(|it| !has(&fix, it))
            .map(|&it| it.clone())
            .collect();
        fix.edits.extend(left);
        fix.edits.sort_by_key(Edit::place);
        fix
    }

    /// Whether a fix of the copy changes text that `edits` wrote.
    pub(super) fn changes(&self, fix: &Fix, edits: &[Edit]) -> bool {
        edits.iter().any(|edit| {
            let text = self.text_of(edit);
            let mut changed = fix.edits.iter().filter(|it| it.file == edit.file);
            changed.any(|it| it.span.start() <= text.end() && text.start() <= it.span.end())
        })
    }

    /// A fix of the copy as one of `package`.
    pub(super) fn composed(&self, package: &Package, mut fix: Fix) -> Fix {
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

/// Where the byte at `offset` went by the edits `before` it.
fn shifted<'e>(before: impl Iterator<Item = &'e Edit>, offset: ByteOffset) -> ByteOffset {
    let shift = before.fold(0i64, |shift, edit| shift + growth(edit));
    let new = i64::from(offset.0) + shift;
    ByteOffset(u32::try_from(new).expect("the copy is about as long"))
}

fn growth(edit: &Edit) -> i64 {
    i64::from(to_u32(edit.text.len())) - i64::from(to_u32(edit.span.len()))
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("files are at most MAX_FILE_BYTES long")
}
