//! Fixes with names that survive edits elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha1::{Digest, Sha1};

use super::clash::clashes;
use super::decision::{GroupId, Mark};
use super::items::Items;
use crate::edit::{Confidence, Fix};
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId, FileSet};

/// Letters of an id where no other fix wants the same ones.
const ID_LETTERS: usize = 6;
/// Letters in a whole fingerprint: 26^13 is just below 2^64.
const MAX_LETTERS: usize = 13;

/// A fix under review: all of its edits are accepted or rejected together.
#[derive(Debug)]
pub struct Group<'a> {
    /// Its name.
    pub id: GroupId,
    /// Position of the finding in the run order of rules.
    pub order: u32,
    /// What it is about.
    pub finding: &'a Finding,
    /// What it changes.
    pub fix: &'a Fix,
    /// The function or declaration around the finding.
    pub item: ByteSpan,
    /// Path of the finding's file with `/`, relative to the package's root.
    pub path: String,
    /// Line of the finding, from 1.
    pub line: u32,
    /// Positions of the groups that want other changes of the same bytes.
    pub clashes: Vec<usize>,
}

impl<'a> Group<'a> {
    /// How records name it.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            id: self.id.clone(),
            rule: self.finding.rule.code.to_owned(),
            file: self.path.clone(),
            function: self.finding.function.clone().unwrap_or_default(),
        }
    }

    /// Whether its fix needs no confirmation.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.fix.confidence == Confidence::Safe
    }

    /// The alternative with this title.
    #[must_use]
    pub fn alternative(&self, title: &str) -> Option<&'a Fix> {
        let mut alternatives = self.fix.alternatives.iter();
        alternatives.find(|other| other.title == title)
    }
}

/// The fixes among `findings`, by file, place and rule.
///
/// An id is made of the rule, the path of the file, the tokens of the function around the finding,
/// and the ordinal among those that are equal in all of this. So it stays the same when other
/// functions change, when the function moves or is laid out anew, and on other machines.
#[must_use]
pub fn groups<'a>(files: &FileSet, findings: &'a [Finding]) -> Vec<Group<'a>> {
    let mut found: Vec<(u32, &Finding, &Fix)> = (0..)
        .zip(findings)
        .filter_map(|(order, finding)| match &finding.outcome {
            Outcome::Fix(fix) => Some((order, finding, fix)),
            Outcome::Safe(_) | Outcome::Manual(_) => None,
        })
        .collect();
    found.sort_by_key(|(order, finding, _)| (finding.file, finding.span, *order));
    let mut clashing = clashes(&found.iter().map(|(_, _, fix)| *fix).collect::<Vec<_>>());
    let mut namer = Namer::default();
    let group = |(at, (order, finding, fix)): (usize, (u32, &'a Finding, &'a Fix))| {
        let file = files.get(finding.file);
        let (id, item) = namer.name(files, finding);
        Group {
            id,
            order,
            finding,
            fix,
            item,
            path: slashed(file.path()),
            line: file.position(finding.span.start()).line.0,
            clashes: std::mem::take(&mut clashing[at]),
        }
    };
    found.into_iter().enumerate().map(group).collect()
}

/// `path` with `/` between its parts, on every system.
#[must_use]
pub fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// Gives ids to findings in their order.
#[derive(Default)]
struct Namer {
    items: BTreeMap<FileId, Items>,
    /// Hashes of items that findings stand in, by file and position.
    hashes: BTreeMap<(FileId, usize), [u8; 20]>,
    /// Findings so far by everything else their id is made of.
    ordinals: BTreeMap<[u8; 20], u32>,
    taken: BTreeSet<GroupId>,
}

impl Namer {
    fn name(&mut self, files: &FileSet, finding: &Finding) -> (GroupId, ByteSpan) {
        let file = files.get(finding.file);
        let items = self
            .items
            .entry(finding.file)
            .or_insert_with(|| Items::new(file));
        let item = items.around(finding.span);
        let code = *self
            .hashes
            .entry((finding.file, item))
            .or_insert_with(|| items.hash(file, item));
        let span = items.span(item);
        let path = slashed(file.path());
        let parts = [finding.rule.code.as_bytes(), path.as_bytes(), &code[..]];
        let common: [u8; 20] = Sha1::digest(parts.join(&0)).into();
        let ordinal = self.ordinals.entry(common).or_default();
        let own = Sha1::digest([&common[..], &ordinal.to_le_bytes()].concat());
        *ordinal += 1;
        let number = own[..8]
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        (self.free(number), span)
    }

    /// The shortest id of `number` that is not taken.
    fn free(&mut self, number: u64) -> GroupId {
        let letters = letters(number);
        let id = (ID_LETTERS..=MAX_LETTERS)
            .map(|length| GroupId(letters[..length].to_owned()))
            .find(|id| !self.taken.contains(id))
            .unwrap_or_else(|| GroupId(letters.clone()));
        self.taken.insert(id.clone());
        id
    }
}

fn letters(mut number: u64) -> String {
    (0..MAX_LETTERS)
        .map(|_| {
            let letter = u8::try_from(number % 26).expect("a remainder of 26 is below 26");
            number /= 26;
            char::from(b'a' + letter)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Sample;
    use super::groups;

    const TEXT: &str = "int a(void) { x(1); x(2); }\nint b(void) { x(1); }\n";

    fn ids(text: &str) -> Vec<String> {
        let sample = Sample::renames(text, "x", "y");
        let groups = groups(&sample.files, &sample.findings);
        groups.into_iter().map(|group| group.id.0).collect()
    }

    #[test]
    fn ids_survive_edits_elsewhere_and_layout() {
        let before = ids(TEXT);
        assert_eq!(before.len(), 3);
        assert!(before.iter().all(|id| id.len() == 6), "{before:?}");
        let moved = format!(
            "/* more */\nint other;\n\n{}",
            TEXT.replace("x(1); ", "x(1);\n\t")
        );
        assert_eq!(ids(&moved), before);
        let changed = ids(&TEXT.replace("int b(void) { ", "int b(void) { int i; "));
        assert_eq!(changed[..2], before[..2]);
        assert_ne!(changed[2], before[2]);
    }

    #[test]
    fn ids_are_unique() {
        let mut all = ids(&"int a(void) { x(1); }\n".repeat(500));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 500);
    }

    #[test]
    fn a_group_knows_its_function() {
        let sample = Sample::renames(TEXT, "x", "y");
        let groups = groups(&sample.files, &sample.findings);
        let file = sample.files.get(groups[2].finding.file);
        assert_eq!(file.text(groups[2].item), "int b(void) { x(1); }");
        assert_eq!((groups[2].path.as_str(), groups[2].line), ("src/m.c", 2));
    }
}
