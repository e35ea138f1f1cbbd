//! Which fixes cannot both be written.

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::{Edit, EditSet, Fix, FixId};

/// For each of `fixes` the positions of those that want other changes of the same bytes, in order.
///
/// [`EditSet::add`] decides; only fixes whose edits meet are shown to it in pairs, so that ten
/// thousand fixes that share an `#include` cost no more than their number.
pub(super) fn clashes(fixes: &[&Fix]) -> Vec<Vec<usize>> {
    let mut clashes = vec![Vec::new(); fixes.len()];
    for (a, b) in meetings(fixes) {
        if clash(fixes[a], fixes[b]) {
            clashes[a].push(b);
            clashes[b].push(a);
        }
    }
    for of_one in &mut clashes {
        of_one.sort_unstable();
    }
    clashes
}

/// Whether two fixes want other changes of the same bytes.
pub(super) fn clash(a: &Fix, b: &Fix) -> bool {
    let mut set = EditSet::default();
    // A fix that contradicts itself is met when it is written.
    let first = set.add(FixId(0), a);
    first.is_ok() && set.add(FixId(1), b).is_err_and(|c| c.kept == FixId(0))
}

/// Pairs of fixes of which some edits overlap, or are the same and hold braces.
fn meetings(fixes: &[&Fix]) -> BTreeSet<(usize, usize)> {
    // Equal edits of several fixes are one entry.
    let mut owners: BTreeMap<&Edit, BTreeSet<usize>> = BTreeMap::new();
    for (at, fix) in fixes.iter().enumerate() {
        for edit in &fix.edits {
            owners.entry(edit).or_default().insert(at);
        }
    }
    let mut pairs = BTreeSet::new();
    // Edits that may reach what comes next, in order of their starts.
    let mut open: Vec<(&Edit, &BTreeSet<usize>)> = Vec::new();
    for (edit, at) in &owners {
        if edit.text.iter().any(|byte| b"{}".contains(byte)) {
            add_pairs(at, at, &mut pairs);
        }
        open.retain(|(before, _)| {
            before.file == edit.file && before.span.end() > edit.span.start()
        });
        for (_, before) in &open {
            add_pairs(before, at, &mut pairs);
        }
        open.push((edit, at));
    }
    pairs
}

fn add_pairs(a: &BTreeSet<usize>, b: &BTreeSet<usize>, pairs: &mut BTreeSet<(usize, usize)>) {
    for &x in a {
        pairs.extend(b.iter().filter(|&&y| x != y).map(|&y| (x.min(y), x.max(y))));
    }
}

#[cfg(test)]
mod tests {
    use super::clashes;
    use crate::edit::Fix;
    use crate::source::{ByteSpan, FileId};

    fn fix(edits: &[(u32, u32, &str)]) -> Fix {
        let mut fix = Fix::safe("test");
        for &(start, end, text) in edits {
            fix.replace(FileId(0), ByteSpan::new(start, end), text);
        }
        fix
    }

    fn of(fixes: &[Fix]) -> Vec<Vec<usize>> {
        clashes(&fixes.iter().collect::<Vec<_>>())
    }

    #[test]
    fn overlapping_edits_clash_both_ways() {
        let fixes = [
            fix(&[(0, 9, "a")]),
            fix(&[(2, 3, "b")]),
            fix(&[(4, 5, "c"), (20, 21, "c")]),
            fix(&[(9, 9, "d")]),
        ];
        assert_eq!(of(&fixes), [vec![1, 2], vec![0], vec![0], vec![]]);
    }

    #[test]
    fn equal_edits_and_insertions_at_one_place_do_not() {
        let include = |own| fix(&[(0, 0, "#include\n"), (own, own + 1, "x")]);
        let fixes = [include(5), include(6), fix(&[(0, 0, "#define\n")])];
        assert!(of(&fixes).iter().all(Vec::is_empty));
        let many: Vec<_> = (0..10_000).map(|n| include(5 + n)).collect();
        assert!(of(&many).iter().all(Vec::is_empty));
    }

    #[test]
    fn a_brace_that_two_would_share_is_a_clash() {
        // `if (a) if (b) s;`
        let inner = fix(&[(14, 14, "{ "), (16, 16, " }")]);
        let outer = fix(&[(7, 7, "{ "), (16, 16, " }")]);
        assert_eq!(of(&[inner, outer]), [vec![1], vec![0]]);
    }
}
