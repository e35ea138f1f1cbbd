//! Decisions about fixes that a write gave other ids.

use std::collections::BTreeMap;

use super::decision::GroupId;
use super::group::Group;
use super::session::Session;
use crate::edit::OffsetMap;
use crate::rule::{Finding, Rule};
use crate::source::ByteOffset;

/// Old and new ids of fixes that were not written and that have another id in `after`, which was
/// made from the written files: another fix may have changed the function around them.
///
/// `maps` tell by path where the bytes of the written files went.
#[must_use]
pub fn renamed(
    before: &Session<'_>,
    maps: &BTreeMap<String, OffsetMap>,
    after: &[Group<'_>],
) -> Vec<(GroupId, GroupId)> {
    let place = |path: &str, rule: &Rule, offset: ByteOffset| (path.to_owned(), rule.code, offset);
    let places = |group: &'_ Group<'_>| -> Vec<_> {
        let place = |it: &Finding| place(&group.path, it.rule, it.span.start());
        group.findings().map(place).collect()
    };
    let after: BTreeMap<_, _> = after
        .iter()
        .flat_map(|group| places(group).into_iter().map(|place| (place, &group.id)))
        .collect();
    before
        .groups()
        .iter()
        .filter_map(|group| {
            let map = maps.get(&group.path)?;
            let offset = map.to_new(group.finding.span.start())?;
            let id = *after.get(&place(&group.path, group.finding.rule, offset))?;
            (*id != group.id).then(|| (group.id.clone(), id.clone()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::renamed;
    use crate::edit::{EditSet, FixId, apply};
    use crate::review::testing::Sample;
    use crate::review::{Ledger, groups};
    use crate::source::FileId;

    #[test]
    fn a_rejected_neighbour_of_a_written_fix_is_known_again() {
        let text = "int f(void) { x(1); x(2); }\nint g(void) { x(3); }\n";
        let sample = Sample::renames(text, "x", "longer");
        let session = sample.session(Ledger::default());
        let mut set = EditSet::default();
        set.add(FixId(0), session.groups()[0].fix).unwrap();
        let applied = apply(text.as_bytes(), set.edits(FileId(0)));
        let text = String::from_utf8(applied.bytes).unwrap();
        let after = Sample::renames(&text, "x", "longer");
        let after = groups(&after.files, &after.findings);
        let maps = BTreeMap::from([("src/m.c".to_owned(), applied.map)]);
        let expected = [(session.groups()[1].id.clone(), after[0].id.clone())];
        assert_eq!(renamed(&session, &maps, &after), expected);
    }
}
