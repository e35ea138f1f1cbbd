//! Edits of a text and of what came out of them, as edits of the text.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use super::{Edit, Side, apply};
use crate::source::{ByteOffset, ByteSpan};

/// What [`compose`] gives.
#[derive(Debug, PartialEq, Eq)]
pub struct Composed {
    /// The second edits as edits of the original, with the first ones they touch.
    pub edits: Vec<Edit>,
    /// Which of the first edits are part of them, by index.
    pub absorbed: BTreeSet<usize>,
}

/// New text of a first edit, in the text that came out.
struct New {
    at: Range<u32>,
    old: ByteSpan,
    side: Side,
}

/// Some of the second edits, with the first ones they touch.
struct Cluster<'e> {
    edits: Vec<&'e Edit>,
    absorbed: BTreeSet<usize>,
    /// In the text between.
    at: Range<u32>,
}

/// `second`, edits of what `first` makes of `original`, as edits of `original`.
///
/// Both are disjoint and of one file, the first ones sorted. Together with the first edits that are not absorbed
/// they do what `first` and `second` do one after the other.
#[must_use]
pub fn compose(original: &[u8], first: &[&Edit], second: &[Edit]) -> Composed {
    let between = apply(original, first.iter().copied()).bytes;
    let news = news(first);
    let mut second: Vec<&Edit> = second.iter().collect();
    // Stable: insertions at one place keep the order in which the rule made them.
    second.sort_by_key(|edit| edit.place());
    let mut clusters: Vec<Cluster<'_>> = Vec::new();
    for edit in second {
        let next = cluster(edit, &news);
        match clusters.last_mut() {
            Some(last) if !last.absorbed.is_disjoint(&next.absorbed) => {
                last.edits.push(edit);
                last.absorbed.extend(next.absorbed);
                last.at = last.at.start.min(next.at.start)..last.at.end.max(next.at.end);
            }
            _ => clusters.push(next),
        }
    }
    Composed {
        edits: clusters
            .iter()
            .map(|cluster| cluster.edit(&between, &news))
            .collect(),
        absorbed: clusters
            .iter()
            .flat_map(|cluster| cluster.absorbed.iter().copied())
            .collect(),
    }
}

fn news(first: &[&Edit]) -> Vec<New> {
    let mut shift = 0i64;
    let place = |edit: &&Edit| {
        let start = offset(i64::from(edit.span.start().0) + shift);
        let length = u32::try_from(edit.text.len()).expect("texts of edits are short");
        shift += i64::from(length) - i64::from(edit.span.end().0 - edit.span.start().0);
        New {
            at: start..start + length,
            old: edit.span,
            side: edit.side,
        }
    };
    first.iter().map(place).collect()
}

fn offset(at: i64) -> u32 {
    u32::try_from(at).expect("results are about as long as files")
}

fn cluster<'e>(edit: &'e Edit, news: &[New]) -> Cluster<'e> {
    let (start, end) = (edit.span.start().0, edit.span.end().0);
    // An insertion beside new text goes before or behind it, which is lost in the original.
    let touches = |new: &New| match edit.span.is_empty() {
        true => new.at.start <= end && start <= new.at.end,
        false => new.at.start < end && start < new.at.end,
    };
    let touched = || news.iter().enumerate().filter(|(_, new)| touches(new));
    let starts = touched().map(|(_, new)| new.at.start).chain([start]);
    let ends = touched().map(|(_, new)| new.at.end).chain([end]);
    Cluster {
        edits: vec![edit],
        absorbed: touched().map(|(at, _)| at).collect(),
        at: starts.min().unwrap_or(start)..ends.max().unwrap_or(end),
    }
}

impl Cluster<'_> {
    fn edit(&self, between: &[u8], news: &[New]) -> Edit {
        let absorbed = || self.absorbed.iter().map(|&at| &news[at]);
        let first = absorbed().find(|new| new.at.start == self.at.start);
        let last = absorbed().rfind(|new| new.at.end == self.at.end);
        let before = |new: &&New| new.at.end <= self.at.start;
        let start = first.map_or_else(
            || original(self.at.start, news.iter().filter(before)),
            |new| new.old.start().0,
        );
        let inside = |new: &&New| new.at.start < self.at.end;
        let end = last.map_or_else(
            || original(self.at.end, news.iter().filter(inside)),
            |new| new.old.end().0,
        );
        let file = self.edits[0].file;
        let own = self.edits.iter().map(|edit| side(edit, news));
        let sides = absorbed().map(|new| new.side).chain(own);
        Edit {
            file,
            span: ByteSpan::new(start, end),
            side: sides.min().unwrap_or(Side::Ahead),
            text: self.text(between),
        }
    }

    fn text(&self, between: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut at = self.at.start as usize;
        for edit in &self.edits {
            text.extend(&between[at..edit.span.start().index()]);
            text.extend(&edit.text);
            at = edit.span.end().index();
        }
        text.extend(&between[at..self.at.end as usize]);
        text
    }
}

/// The side in the original of an edit of the text that came out. What ends new text stands beside it.
fn side(edit: &Edit, news: &[New]) -> Side {
    let Side::Behind(Reverse(ByteOffset(start))) = edit.side else {
        return edit.side;
    };
    let start = match news.iter().find(|new| new.at.contains(&start)) {
        Some(new) if new.old.is_empty() && edit.span.start().0 <= new.at.end => return new.side,
        Some(new) => new.old.start().0,
        None => original(start, news.iter().filter(|new| new.at.end <= start)),
    };
    Side::Behind(Reverse(ByteOffset(start)))
}

/// The offset in the original of one in kept text, behind `news`.
fn original<'n>(at: u32, news: impl Iterator<Item = &'n New>) -> u32 {
    let shift: i64 = news
        .map(|new| i64::from(new.at.end - new.at.start) - new.old.len() as i64)
        .sum();
    offset(i64::from(at) - shift)
}

#[cfg(test)]
mod tests {
    use super::compose;
    use crate::edit::{Edit, apply};
    use crate::source::{ByteOffset, ByteSpan, FileId};

    fn edits(spec: &[(u32, u32, &str)]) -> Vec<Edit> {
        let edit = |&(start, end, text): &(u32, u32, &str)| {
            Edit::new(
                FileId(0),
                ByteSpan::new(start, end),
                text.as_bytes().to_vec(),
            )
        };
        spec.iter().map(edit).collect()
    }

    /// Both one after the other, and at once; with the indices that are absorbed.
    fn both(first: &[(u32, u32, &str)], second: &[(u32, u32, &str)]) -> (String, Vec<usize>) {
        let original = b"0123456789";
        let (first, second) = (edits(first), edits(second));
        let between = apply(original, &first).bytes;
        let mut sorted = second.clone();
        sorted.sort_by_key(Edit::place);
        let expected = apply(&between, &sorted).bytes;
        let first: Vec<&Edit> = first.iter().collect();
        let composed = compose(original, &first, &second);
        let rest = first.iter().enumerate();
        let rest = rest.filter(|(at, _)| !composed.absorbed.contains(at));
        let mut all: Vec<Edit> = rest.map(|(_, edit)| (*edit).clone()).collect();
        all.extend(composed.edits);
        all.sort_by_key(Edit::place);
        assert_eq!(apply(original, &all).bytes, expected);
        let text = String::from_utf8(expected).unwrap();
        (text, composed.absorbed.into_iter().collect())
    }

    #[test]
    fn edits_far_from_each_other_stay_apart() {
        let (text, absorbed) = both(&[(2, 3, "ab")], &[(6, 7, "x"), (9, 9, "y")]);
        assert_eq!((&*text, absorbed), ("01ab34x67y89", vec![]));
    }

    #[test]
    fn what_is_inserted_at_one_place_keeps_its_order() {
        let (text, absorbed) = both(&[(4, 4, "ab")], &[(4, 4, "x"), (6, 6, "y")]);
        assert_eq!((&*text, absorbed), ("0123xaby456789", vec![0]));
        let (text, absorbed) = both(&[(4, 5, "")], &[(4, 4, "x")]);
        assert_eq!((&*text, absorbed), ("0123x56789", vec![0]));
    }

    #[test]
    fn what_ends_new_text_stays_behind_what_stands_in_front_of_that() {
        // `if (c) break;` begins at 1, `break;` at 2.
        let mut first = edits(&[(4, 4, "}"), (4, 4, "release a;")]);
        first[0] = first[0].clone().behind(ByteOffset(2));
        first[1] = first[1].clone().behind(ByteOffset(1));
        let second = edits(&[(15, 15, "release b;")]);
        let second: Vec<Edit> = second
            .into_iter()
            .map(|edit| edit.behind(ByteOffset(5)))
            .collect();
        let composed = compose(b"0123456789", &[&first[0], &first[1]], &second);
        let place = |edit: &Edit| (edit.side, String::from_utf8_lossy(&edit.text).into_owned());
        let both = (first[1].side, "release a;release b;".to_owned());
        assert_eq!(composed.edits.iter().map(place).collect::<Vec<_>>(), [both]);
        assert_eq!(composed.absorbed.into_iter().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_second_edits_need_not_be_sorted() {
        let (text, absorbed) = both(&[(4, 4, "abc")], &[(6, 6, "-"), (4, 4, "}")]);
        assert_eq!((&*text, absorbed), ("0123}ab-c456789", vec![0]));
    }

    #[test]
    fn new_text_can_be_replaced_in_part_and_with_what_is_beside_it() {
        let (text, absorbed) = both(&[(4, 5, "abc"), (8, 8, "d")], &[(5, 8, "-")]);
        assert_eq!((&*text, absorbed), ("0123a-67d89", vec![0]));
        let (text, absorbed) = both(&[(4, 5, "abc"), (8, 8, "d")], &[(3, 12, "-")]);
        assert_eq!((&*text, absorbed), ("012-9", vec![0, 1]));
        let (text, absorbed) = both(&[(4, 4, "abc")], &[(2, 4, ""), (7, 8, "-")]);
        assert_eq!((&*text, absorbed), ("01abc-56789", vec![]));
    }
}
