//! Comments that tell of a borrowed reference which a function returns no more.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::edit::Edit;
use crate::rule::{ItemId, PackageCx};
use crate::source::ByteSpan;

/// How comments say it, and where in that the word `borrowed` stands.
const SAID: [(&[u8], usize); 2] = [(b"borrowed ref", 0), (b"reference is borrowed", 13)];

/// How they forbid a release that the caller must make now, and what goes of that: `don't DECREF it`,
/// `must not be freed`, `need not be released`.
static FORBIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    let denied =
        r"(?<do>(?:do not|don't|never)[\s*]+)|(?:must|should)(?<not>n't| not)[\s*]+(?:be[\s*]+)?";
    let needless = r"(?<need>need(?:n't| not))[\s*]+(?:be[\s*]+)?";
    let release = r"(?:Py_)?X?(?:DECREF|release|free)";
    let pattern = format!(r"(?i)\b(?:{denied}|{needless}){release}");
    Regex::new(&pattern).expect("the pattern is right")
});

/// How they deny that the reference is the caller's.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"\b(?<denied>[Dd]oes(?:n't| not)[\s*]+return)[\s*]+a[\s*]+(?:new|strong)[\s*]+ref";
    Regex::new(pattern).expect("the pattern is right")
});

/// Makes the comment right above a function say `new` where it said `borrowed`.
///
/// ```c
/// /* The value of KEY: a borrowed reference. */
/// BORROWED static PyObject *
/// find(PyObject *key)
/// ```
pub(in crate::strong) fn edits(cx: &PackageCx<'_>, item: ItemId) -> Vec<Edit> {
    let (file, span) = cx.item(item).place;
    let layout = cx.layout(file, span);
    let head = layout.words_before(span.start());
    let above = layout.token_end_before(head);
    let gap = ByteSpan::new(above.0, head.0);
    let text = cx.file(file).slice(gap);
    let many = memchr::memmem::find_iter(text, b"/*").count() > 1;
    // A comment with a blank line below it, or one behind a brace, is about something else.
    let lines = text.split(|byte| *byte == b'\n');
    let blanks = lines.filter(|line| line.trim_ascii().is_empty()).count();
    let is_apart = text.trim_ascii_end().len() + 2 < text.len();
    if many || is_apart || blanks < 2 && above.0 > 0 {
        return Vec::new();
    }
    let words = SAID.iter().flat_map(|(said, at)| {
        let found = memchr::memmem::find_iter(text, said);
        found.map(move |start| (start + at..start + at + 8, "new"))
    });
    let denied = DENIED.captures_iter(text).filter_map(|found| {
        let denied = found.name("denied")?;
        let returns = if denied.as_bytes().starts_with(b"D") {
            "Returns"
        } else {
            "returns"
        };
        Some((denied.range(), returns))
    });
    let mut words: Vec<(Range<usize>, &str)> = words.chain(denied).collect();
    if !words.is_empty() {
        words.extend(FORBIDDEN.captures_iter(text).flat_map(|found| {
            let told = [("do", ""), ("not", ""), ("need", "must")];
            told.map(|(name, now)| Some((found.name(name)?.range(), now)))
                .into_iter()
                .flatten()
        }));
    }
    let edits = words.into_iter().map(|(range, now)| {
        let at = |offset: usize| above.0 + u32::try_from(offset).expect("files are below 4 GiB");
        Edit::new(
            file,
            ByteSpan::new(at(range.start), at(range.end)),
            now.into(),
        )
    });
    edits.collect()
}
