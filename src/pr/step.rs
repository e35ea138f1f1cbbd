//! The patches of a pull request, in order.

use std::path::Path;

use super::safety::Standing;
use super::subject::part;
use super::{Ci, Extra, Material, text};
use crate::diff::{FileChange, FileMode, counts};
use crate::package::Package;
use crate::series::{Chapter, Letter, Part, Patch, intent, mail, slug, staged};

/// One patch.
#[derive(Debug)]
pub struct Step<'a> {
    /// Its subject.
    pub subject: String,
    text: String,
    fixes: Option<Patch<'a>>,
    extras: Vec<Extra>,
}

impl Step<'_> {
    /// Each file before and after.
    #[must_use]
    pub fn changes<'s>(&'s self, package: &'s Package) -> Vec<FileChange<'s>> {
        let of_fixes = self.fixes.iter().flat_map(|patch| patch.changes(package));
        let of_extras = self.extras.iter().map(|extra| FileChange {
            path: &extra.path,
            old: extra.old.as_deref(),
            new: &extra.new,
            mode: mode(package, &extra.path),
        });
        of_fixes.chain(of_extras).collect()
    }

    /// The letter that `git am` takes.
    #[must_use]
    pub fn letter(&self, package: &Package, letter: Letter<'_>) -> Vec<u8> {
        mail(&self.subject, &self.text, &self.changes(package), letter)
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(&self, number: usize) -> String {
        format!("{number:04}-{}.patch", slug(&self.subject))
    }

    /// The findings that it settles.
    pub(super) fn settles(&self) -> impl Iterator<Item = &Part<'_>> {
        self.fixes.iter().flat_map(|patch| &patch.parts)
    }

    /// What must be confirmed before it is merged.
    pub(super) fn to_confirm(&self) -> Vec<String> {
        self.fixes.iter().flat_map(text::to_confirm).collect()
    }

    /// How many lines come, and how many go.
    pub(super) fn lines(&self, package: &Package) -> (usize, usize) {
        let each = self.changes(package);
        let each = each
            .iter()
            .map(|change| counts(change.old.unwrap_or_default(), change.new));
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    pub(super) fn declares(&self) -> bool {
        self.fixes
            .as_ref()
            .is_some_and(|patch| chapter(patch) == Chapter::Declaration)
    }
}

fn mode(package: &Package, path: &Path) -> FileMode {
    let mut files = package.files.iter();
    let known = files.find(|(_, file)| file.path() == path);
    known.map_or(FileMode::Regular, |(id, _)| package.info(id).mode)
}

/// The last chapter that fixes of `patch` belong to: some only fit together with later ones.
fn chapter(patch: &Patch<'_>) -> Chapter {
    let chapters = patch.parts.iter().map(|it| intent(it.finding.rule).chapter);
    chapters.max().unwrap_or(Chapter::Build)
}

/// The patches of `material`; none without fixes.
#[must_use]
pub fn steps<'a>(material: Material<'a>) -> Vec<Step<'a>> {
    let patches = staged(material.package, material.parts, material.new_files);
    if patches.is_empty() {
        return Vec::new();
    }
    let extras = [tests(material), workflow(material)];
    let mut steps: Vec<Step<'a>> = extras.into_iter().flatten().collect();
    steps.extend(patches.into_iter().map(|patch| step(material, patch)));
    if let (Some(last), Some(extra)) = (steps.last_mut(), material.changelog)
        && last.declares()
        && Standing::new(material).left.is_empty()
    {
        last.extras.push(extra.clone());
    }
    number_equal_subjects(&mut steps);
    steps
}

fn tests<'a>(material: Material<'a>) -> Option<Step<'a>> {
    (!material.tests.is_empty()).then(|| Step {
        subject: "tests: call functions from several threads".to_owned(),
        text: text::tests(),
        fixes: None,
        extras: material.tests.to_vec(),
    })
}

fn workflow<'a>(material: Material<'a>) -> Option<Step<'a>> {
    let Ci::Changed(id, new) = material.ci else {
        return None;
    };
    let file = material.package.files.get(*id);
    let extra = Extra {
        path: file.path().to_path_buf(),
        old: Some(file.bytes().to_vec()),
        new: new.clone(),
    };
    Some(Step {
        subject: "ci: test with free-threaded Python".to_owned(),
        text: text::workflow(),
        fixes: None,
        extras: vec![extra],
    })
}

fn step<'a>(material: Material<'a>, patch: Patch<'a>) -> Step<'a> {
    let Material {
        package, analysis, ..
    } = material;
    let last = patch
        .parts
        .iter()
        .max_by_key(|it| (intent(it.finding.rule).chapter, it.finding.rule.code));
    let what = last.map_or("", |it| intent(it.finding.rule).subject);
    // What the change is about, not where a header comes in.
    let files = patch
        .parts
        .iter()
        .filter(|it| chapter(&patch) != Chapter::Declaration || !it.finding.rule.check.is_build())
        .map(|it| it.finding.file);
    let part = part(package, &analysis.modules, &files.collect());
    Step {
        subject: format!("{part}: {what}"),
        text: text::fixes(package, &patch),
        fixes: Some(patch),
        extras: Vec::new(),
    }
}

/// Patches that were too long for one have one subject.
fn number_equal_subjects(steps: &mut [Step<'_>]) {
    let subjects: Vec<String> = steps.iter().map(|step| step.subject.clone()).collect();
    for (at, step) in steps.iter_mut().enumerate() {
        let equal = |subject: &&String| **subject == subjects[at];
        let all = subjects.iter().filter(equal).count();
        if all > 1 {
            let number = subjects[..=at].iter().filter(equal).count();
            step.subject += &format!(" ({number} of {all})");
        }
    }
}
