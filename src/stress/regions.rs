//! The parts of a script that are its owner's, and what becomes of them when it is written again.

use std::collections::BTreeMap;

use sha1::{Digest, Sha1};

const BEGIN: &str = "# >>> ";
const END: &str = "# <<<";

/// A part of the script that may be changed by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) name: String,
    /// Lines of comment in front of it.
    pub(super) about: Vec<String>,
    pub(super) body: String,
    /// Of what the program would write: by this the next run knows whether the body was changed.
    pub(super) mark: String,
}

impl Region {
    pub(super) fn new(name: String, about: Vec<String>, body: String) -> Self {
        Self {
            mark: mark(&body),
            name,
            about,
            body,
        }
    }
}

fn mark(body: &str) -> String {
    let digest = Sha1::digest(body.trim().as_bytes());
    digest[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The regions of the script `text` that differ from what was once written there, by name.
pub(super) fn changed(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((name, written)) = line.strip_prefix(BEGIN).and_then(|it| it.rsplit_once(" ["))
        else {
            continue;
        };
        let body: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim_end() != END)
            .collect();
        let body = body.join("\n");
        if mark(&body) != written.trim_end().trim_end_matches(']') {
            found.insert(name.to_owned(), body);
        }
    }
    found
}

/// Puts what was `changed` into the regions of that name. What no region has a name for any more
/// stays at the end.
pub(super) fn keep(regions: &mut Vec<Region>, mut changed: BTreeMap<String, String>) {
    for region in &mut *regions {
        if let Some(body) = changed.remove(&region.name) {
            region.body = body;
        }
    }
    for (name, body) in changed {
        regions.push(Region {
            name,
            about: vec!["No function asks for this any more; it may be deleted.".to_owned()],
            body,
            mark: "kept".to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str, body: &str) -> Region {
        Region::new(name.to_owned(), Vec::new(), body.to_owned())
    }

    fn written(regions: &[Region]) -> String {
        let text =
            |it: &Region| format!("{BEGIN}{} [{}]\n{}\n{END}\n\n", it.name, it.mark, it.body);
        regions.iter().map(text).collect()
    }

    #[test]
    fn what_was_filled_in_stays_over_any_number_of_runs() {
        let first = written(&[
            region("make A", "return FILL_IN"),
            region("make B", "return 1"),
        ]);
        assert!(changed(&first).is_empty());
        let mut text = first.replace("return FILL_IN", "x = A()\n\nreturn x");
        for _ in 0..3 {
            let mut next = vec![
                region("make A", "return FILL_IN"),
                region("make B", "return 2"),
            ];
            keep(&mut next, changed(&text));
            assert_eq!(next[0].body, "x = A()\n\nreturn x");
            assert_eq!(next[1].body, "return 2", "nobody had changed it");
            text = written(&next);
        }
    }

    #[test]
    fn what_nobody_asks_for_any_more_stays_at_the_end() {
        let text = written(&[region("make A", "return FILL_IN")]).replace("FILL_IN", "1");
        let mut text = text;
        for _ in 0..2 {
            let mut next = vec![region("make B", "return FILL_IN")];
            keep(&mut next, changed(&text));
            assert_eq!((&*next[1].name, &*next[1].body), ("make A", "return 1"));
            text = written(&next);
        }
        // It is asked for again.
        let mut next = vec![region("make A", "return FILL_IN")];
        keep(&mut next, changed(&text));
        assert_eq!((next.len(), &*next[0].body), (1, "return 1"));
    }
}
