//! What can be confirmed once for all fixes that rest on it.

use std::collections::BTreeMap;

use super::group::Group;
use crate::edit::Assumption;
use crate::facts::Fact;

/// What the fixes of `groups` ask for, apart from what each asks of its own place, with the positions
/// of those that ask.
#[must_use]
pub fn questions(groups: &[Group<'_>]) -> BTreeMap<Fact, Vec<usize>> {
    let asked = groups.iter().enumerate().flat_map(|(at, group)| {
        let all = group.assumptions();
        let facts = all.into_iter().filter_map(Assumption::fact);
        facts.map(move |fact| (fact, at))
    });
    gathered(asked)
}

/// What the project has confirmed of that, with the positions of the fixes that rest on it.
#[must_use]
pub fn settled(groups: &[Group<'_>]) -> BTreeMap<Fact, Vec<usize>> {
    let fixes = groups.iter().enumerate();
    gathered(fixes.flat_map(|(at, group)| group.confirmed().map(move |fact| (fact, at))))
}

fn gathered<'f>(facts: impl Iterator<Item = (&'f Fact, usize)>) -> BTreeMap<Fact, Vec<usize>> {
    let mut gathered: BTreeMap<Fact, Vec<usize>> = BTreeMap::new();
    for (fact, at) in facts {
        let fixes = gathered.entry(fact.clone()).or_default();
        if fixes.last() != Some(&at) {
            fixes.push(at);
        }
    }
    gathered
}
