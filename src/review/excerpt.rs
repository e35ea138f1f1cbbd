//! The part of the diff that is one fix, with the words that differ.

use std::collections::BTreeMap;

use similar::{ChangeTag, InlineChangeOptions, TextDiff};

use super::group::{Group, slashed};
use crate::edit::{Edit, Fix, apply};
use crate::source::{ByteOffset, ByteSpan, FileId, FileSet, SourceFile};

/// How much of the words of changed lines is the same where the others are worth marking.
const MIN_ALIKE: f32 = 0.25;

/// Most lines of a hunk that are above the finding where a person begins to read.
const ABOVE: usize = 6;

/// How much around the changes is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// This many lines before and after each change.
    Lines(u32),
    /// The whole function the finding is in, and three lines around changes elsewhere.
    Function,
}

/// What a line of an excerpt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Name of a file.
    File,
    /// `@@ -a,b +c,d @@`.
    Hunk,
    /// Stays.
    Context,
    /// Goes.
    Old,
    /// Comes.
    New,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Whether it is what differs within the line.
    pub differs: bool,
    /// The text, without the end of the line; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// A line of an excerpt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: LineKind,
    /// Its number in the old text, from 1; 0 for what is not there.
    pub number: u32,
    /// Its text in pieces.
    pub parts: Vec<Part>,
}

impl Line {
    fn new(kind: LineKind, text: String) -> Self {
        let part = Part {
            differs: false,
            text,
        };
        Self {
            kind,
            number: 0,
            parts: vec![part],
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// What `fix`, that of `group` or an edited one, changes, file by file. Costs no more than the text that is shown.
#[must_use]
pub fn excerpt(files: &FileSet, group: &Group<'_>, fix: &Fix, extent: Extent) -> Vec<Line> {
    let mut by_file = BTreeMap::<FileId, Vec<&Edit>>::new();
    for edit in &fix.edits {
        by_file.entry(edit.file).or_default().push(edit);
    }
    let mut out = Vec::new();
    for (id, mut edits) in by_file {
        edits.sort_by_key(|edit| edit.place());
        let file = files.get(id);
        out.push(Line::new(LineKind::File, slashed(file.path())));
        let whole = (id == group.finding.file && extent == Extent::Function).then_some(group.item);
        let context = match extent {
            Extent::Lines(lines) => lines,
            Extent::Function => 3,
        };
        let mut shift = 0;
        for (region, edits) in regions(file, &edits, whole, context) {
            shift += hunk(file, region, &edits, shift, &mut out);
        }
    }
    out
}

/// Where in the excerpt `lines` of `group` a person begins to read: at the head of the hunk that is
/// nearest to the finding, not at an `#include` at the top of the file.
#[must_use]
pub fn beginning(lines: &[Line], group: &Group<'_>) -> usize {
    let (mut in_file, mut hunk, mut nearest) = (false, 0, None);
    for (at, line) in lines.iter().enumerate() {
        match line.kind {
            LineKind::File => in_file = line.text() == group.path,
            LineKind::Hunk => hunk = at,
            _ if in_file && line.number > 0 => {
                let found = (line.number.abs_diff(group.line), at, hunk);
                nearest = nearest.min(Some(found)).or(Some(found));
            }
            LineKind::Context | LineKind::Old | LineKind::New => {}
        }
    }
    // A long hunk is entered a little above the finding.
    nearest.map_or(0, |(_, at, hunk)| hunk.max(at.saturating_sub(ABOVE)))
}

/// Whole lines around edits that stand together, in order.
fn regions<'e>(
    file: &SourceFile,
    edits: &[&'e Edit],
    whole: Option<ByteSpan>,
    context: u32,
) -> Vec<(ByteSpan, Vec<&'e Edit>)> {
    let mut regions: Vec<(ByteSpan, Vec<&Edit>)> = Vec::new();
    for &edit in edits {
        let mut around = widened(file, edit.span, context);
        if let Some(whole) = whole.filter(|whole| whole.contains(edit.span)) {
            around = file.lines().whole_lines(whole).join(around);
        }
        match regions.last_mut() {
            Some((last, of_last)) if around.start() <= last.end() => {
                *last = last.join(around);
                of_last.push(edit);
            }
            _ => regions.push((around, vec![edit])),
        }
    }
    regions
}

fn widened(file: &SourceFile, span: ByteSpan, lines: u32) -> ByteSpan {
    let mut span = file.lines().whole_lines(span);
    let end = u32::try_from(file.bytes().len()).expect("files are at most MAX_FILE_BYTES long");
    for _ in 0..lines {
        let before = span.start().0.saturating_sub(1);
        let after = span.end().0.min(end);
        span = file
            .lines()
            .whole_lines(ByteSpan::new(before, after))
            .join(span);
        if after < end {
            span = span.join(file.lines().whole_lines(ByteSpan::empty(ByteOffset(after))));
        }
    }
    span
}

/// Adds one hunk; returns how many lines it adds to the file. `shift` is that of the hunks before.
fn hunk(
    file: &SourceFile,
    region: ByteSpan,
    edits: &[&Edit],
    shift: i64,
    out: &mut Vec<Line>,
) -> i64 {
    let start = region.start().0;
    let within = |edit: &&Edit| Edit {
        span: ByteSpan::new(edit.span.start().0 - start, edit.span.end().0 - start),
        ..(*edit).clone()
    };
    let edits: Vec<_> = edits.iter().map(within).collect();
    let old = file.text(region);
    let new = apply(file.slice(region), &edits).bytes;
    let new = String::from_utf8_lossy(&new);
    let (old_lines, new_lines) = (count_lines(&old), count_lines(&new));
    let first = file.position(region.start()).line.0;
    let line = i64::from(first);
    let head = format!("@@ -{line},{old_lines} +{},{new_lines} @@", line + shift);
    out.push(Line::new(LineKind::Hunk, head));
    let diff = TextDiff::from_lines::<_, _, str>(&*old, &*new);
    let mut options = InlineChangeOptions::new();
    options.min_ratio(MIN_ALIKE);
    for op in diff.ops() {
        // Without a deadline the result does not depend on how busy the machine is.
        for change in diff.iter_inline_changes_with_options_deadline(op, options, None) {
            let kind = match change.tag() {
                ChangeTag::Equal => LineKind::Context,
                ChangeTag::Delete => LineKind::Old,
                ChangeTag::Insert => LineKind::New,
            };
            let part = |(differs, text): (bool, std::borrow::Cow<'_, str>)| Part {
                differs,
                text: text.trim_end_matches(['\n', '\r']).to_owned(),
            };
            let mut parts: Vec<_> = change.iter_strings_lossy().map(part).collect();
            parts.retain(|part| !part.text.is_empty());
            let below = change.old_index().and_then(|at| u32::try_from(at).ok());
            let number = below.map_or(0, |below| first + below);
            out.push(Line {
                kind,
                number,
                parts,
            });
        }
    }
    new_lines - old_lines
}

fn count_lines(text: &str) -> i64 {
    i64::try_from(text.split_inclusive('\n').count()).expect("lines are fewer than bytes")
}

#[cfg(test)]
mod tests {
    use super::{Extent, LineKind, beginning, excerpt};
    use crate::edit::Fix;
    use crate::review::groups;
    use crate::review::testing::{SAFE, Sample};
    use crate::source::{ByteSpan, FileId};

    const TEXT: &str = "int before;\n\nint f(void)\n{\n    one();\n    old(1);\n    two();\n    \
                        three();\n    old(2);\n}\n";

    fn shown(extent: Extent) -> String {
        let mut sample = Sample::new(TEXT);
        let mut fix = Fix::safe("rename");
        for (at, _) in TEXT.match_indices("old") {
            let at = u32::try_from(at).unwrap();
            fix.replace(FileId(0), ByteSpan::new(at, at + 3), "brand");
        }
        let at = u32::try_from(TEXT.find("    old(1)").unwrap()).unwrap();
        fix.replace(FileId(0), ByteSpan::new(at, at), "    more();\n");
        sample.add(&SAFE, ByteSpan::new(at + 4, at + 7), fix);
        let groups = groups(&sample.files, &sample.findings);
        let line = |line: &super::Line| {
            let sign = match line.kind {
                LineKind::File => "=== ",
                LineKind::Hunk => "",
                LineKind::Context => " ",
                LineKind::Old => "-",
                LineKind::New => "+",
            };
            let part = |part: &super::Part| match part.differs {
                true => format!("[{}]", part.text),
                false => part.text.clone(),
            };
            let text: String = line.parts.iter().map(part).collect();
            format!("{sign}{text}\n")
        };
        excerpt(&sample.files, &groups[0], groups[0].fix, extent)
            .iter()
            .map(line)
            .collect()
    }

    #[test]
    fn reading_begins_at_the_hunk_of_the_finding() {
        let text = format!("#include <a.h>\n\n{TEXT}");
        let mut sample = Sample::new(&text);
        let at = u32::try_from(text.find("old(2)").unwrap()).unwrap();
        let mut fix = Fix::safe("rename");
        fix.replace(FileId(0), ByteSpan::new(0, 0), "#include <b.h>\n");
        fix.replace(FileId(0), ByteSpan::new(at, at + 3), "brand");
        sample.add(&SAFE, ByteSpan::new(at, at + 3), fix);
        let groups = groups(&sample.files, &sample.findings);
        for (extent, expected) in [
            (Extent::Lines(0), "@@ -11,1 +12,1 @@"),
            (Extent::Function, "int f(void)"),
        ] {
            let lines = excerpt(&sample.files, &groups[0], groups[0].fix, extent);
            let first = beginning(&lines, &groups[0]);
            assert_eq!(lines[first].text(), expected);
        }
    }

    #[test]
    fn hunks_are_apart_where_there_is_little_context() {
        insta::assert_snapshot!(shown(Extent::Lines(0)), @r"
        === src/m.c
        @@ -6,1 +6,2 @@
        -    [old](1);
        +    [more();]
        +[    brand](1);
        @@ -9,1 +10,1 @@
        -    [old](2);
        +    [brand](2);
        ");
    }

    #[test]
    fn context_joins_hunks() {
        insta::assert_snapshot!(shown(Extent::Lines(1)), @r"
        === src/m.c
        @@ -5,6 +5,7 @@
             one();
        -    [old](1);
        +    [more();]
        +[    brand](1);
             two();
             three();
        -    [old](2);
        +    [brand](2);
         }
        ");
    }

    #[test]
    fn the_whole_function_is_one_hunk() {
        insta::assert_snapshot!(shown(Extent::Function), @r"
        === src/m.c
        @@ -3,8 +3,9 @@
         int f(void)
         {
             one();
        -    [old](1);
        +    [more();]
        +[    brand](1);
             two();
             three();
        -    [old](2);
        +    [brand](2);
         }
        ");
    }
}
