//! Fixes with names that survive edits elsewhere.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha1::{Digest, Sha1};

use super::clash::clashes;
use super::decision::{GroupId, Mark};
use super::items::Items;
use crate::edit::{Assumption, Confidence, Edit, Fix};
use crate::facts::Fact;
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
    /// Other findings that the same changes take away.
    pub also: Vec<&'a Finding>,
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

    /// All findings that its changes take away.
    pub fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        std::iter::once(self.finding).chain(self.also.iter().copied())
    }

    /// What must be confirmed for the findings that share the fix, beyond what the fix itself asks.
    #[must_use]
    pub fn more_assumptions(&self) -> Vec<&'a Assumption> {
        let mut more = Vec::new();
        for assumption in self.others().flat_map(|fix| &fix.assumptions) {
            if !self.fix.assumptions.contains(assumption) && !more.contains(&assumption) {
                more.push(assumption);
            }
        }
        more
    }

    /// All that must be confirmed.
    #[must_use]
    pub fn assumptions(&self) -> Vec<&'a Assumption> {
        let own = self.fix.assumptions.iter();
        own.chain(self.more_assumptions()).collect()
    }

    /// What the project has confirmed of it.
    pub fn confirmed(&self) -> impl Iterator<Item = &'a Fact> {
        let fixes = std::iter::once(self.fix).chain(self.others());
        fixes.flat_map(|fix| &fix.confirmed)
    }

    /// The fixes of the other findings, which make the same changes.
    fn others(&self) -> impl Iterator<Item = &'a Fix> {
        self.also.iter().filter_map(|finding| fix_of(finding))
    }

    /// Whether its fix needs no confirmation.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.fix.confidence == Confidence::Safe
    }

    /// Takes a finding in whose fix makes the same changes. The fix that asks for more stands for
    /// both.
    fn join(&mut self, mut other: Self) {
        let caution = |fix: &Fix| (Reverse(fix.confidence), fix.assumptions.len());
        if caution(other.fix) > caution(self.fix) {
            std::mem::swap(self, &mut other);
        }
        self.also.push(other.finding);
        self.also.append(&mut other.also);
        self.also
            .sort_by_key(|finding| (finding.file, finding.span));
    }

    /// The alternative with this title.
    #[must_use]
    pub fn alternative(&self, title: &str) -> Option<&'a Fix> {
        let mut alternatives = self.fix.alternatives.iter();
        alternatives.find(|other| other.title == title)
    }
}

/// The fixes among `findings`, by file, place and rule. Findings whose fixes make the same changes
/// share one: of the same text there cannot be two decisions.
///
/// ```c
/// v = PyDict_GetItem(d, a);       /* both lookups define `v`, so that both become strong */
/// if (v == NULL)                  /* references or none */
///     v = PyDict_GetItem(d, b);
/// ```
///
/// An id is made of the rule, the path of the file, the tokens of the function around the finding,
/// and the ordinal among those that are equal in all of this. So it stays the same when other
/// functions change, when the function moves or is laid out anew, and on other machines.
#[must_use]
pub fn groups<'a>(files: &FileSet, findings: &'a [Finding]) -> Vec<Group<'a>> {
    let mut found: Vec<Found<'a>> = (0..)
        .zip(findings)
        .filter_map(|(order, finding)| Some((order, finding, fix_of(finding)?)))
        .collect();
    found.sort_by_key(|(order, finding, _)| (finding.file, finding.span, *order));
    let mut namer = Namer::default();
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known = BTreeMap::<_, usize>::new();
    for (order, finding, fix) in found {
        let file = files.get(finding.file);
        let (id, item) = namer.name(files, finding);
        let group = Group {
            id,
            order,
            finding,
            also: Vec::new(),
            fix,
            item,
            path: slashed(file.path()),
            line: file.position(finding.span.start()).line.0,
            clashes: Vec::new(),
        };
        match known.entry(changes(fix)) {
            Entry::Occupied(at) => groups[*at.get()].join(group),
            Entry::Vacant(new) => {
                new.insert(groups.len());
                groups.push(group);
            }
        }
    }
    groups.sort_by_key(|group| (group.finding.file, group.finding.span, group.order));
    let clashing = clashes(&groups.iter().map(|group| group.fix).collect::<Vec<_>>());
    for (group, of_it) in groups.iter_mut().zip(clashing) {
        group.clashes = of_it;
    }
    groups
}

/// A finding with its position in the run order and its fix.
type Found<'a> = (u32, &'a Finding, &'a Fix);

fn fix_of(finding: &Finding) -> Option<&Fix> {
    match &finding.outcome {
        Outcome::Fix(fix) => Some(fix),
        Outcome::Safe(_) | Outcome::Manual(_) => None,
    }
}

/// All that a decision for the fix can write: its edits, and those of each alternative.
fn changes(fix: &Fix) -> Vec<&[Edit]> {
    let forms = std::iter::once(fix).chain(&fix.alternatives);
    forms.map(|form| &form.edits[..]).collect()
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
    use super::super::testing::{RISKY, SAFE, Sample};
    use super::groups;
    use crate::edit::Fix;
    use crate::review::Ledger;
    use crate::source::{ByteSpan, FileId};

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
    fn findings_with_the_same_changes_share_a_fix() {
        let mut sample = Sample::new(TEXT);
        let places = [15, 21].map(|at| ByteSpan::new(at, at + 1));
        for (rule, place) in [(&SAFE, places[0]), (&RISKY, places[1]), (&SAFE, places[1])] {
            let mut fix = Fix::safe("rename both");
            for place in places {
                fix.replace(FileId(0), place, "y");
            }
            if std::ptr::eq(rule, &RISKY) {
                fix.assume("it is not shared");
            }
            sample.add(rule, place, fix);
        }
        let session = sample.session(Ledger::default());
        let [group] = session.groups() else {
            panic!("{:?}", session.groups());
        };
        // What must be confirmed is confirmed for all of them.
        assert_eq!((group.finding.rule.code, group.is_safe()), ("UG902", false));
        let also: Vec<_> = group.also.iter().map(|it| it.span).collect();
        assert_eq!(also, places);
        assert_eq!(session.counts().open, 1);
        assert!(group.clashes.is_empty());
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
