//! How much changes, file by file, as `git diff --stat` shows it.

use super::hunk::counts;
use super::name::{quoted, slashed};
use super::{FileChange, sorted};

/// The most columns that a row of `+` and `-` takes.
const MAX_BAR: usize = 40;

/// A line for each file that changes and one for all of them, at most `width` columns wide where
/// names allow; empty if nothing changes.
#[must_use]
pub fn stat(changes: &[FileChange<'_>], width: usize) -> String {
    let rows: Vec<(String, (usize, usize))> = sorted(changes)
        .map(|change| {
            let name = quoted(b"", &slashed(change.path));
            let counts = counts(change.old.unwrap_or_default(), change.new);
            (String::from_utf8_lossy(&name).into_owned(), counts)
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let name_width = widest(&mut rows.iter().map(|(name, _)| name.chars().count()));
    let most = widest(&mut rows.iter().map(|(_, (added, gone))| added + gone));
    let digits = most.to_string().len();
    let room = width
        .saturating_sub(name_width + digits + 5)
        .clamp(8, MAX_BAR);
    let mut out = String::new();
    for (name, (added, gone)) in &rows {
        let bar = |count: usize| match most <= room {
            true => count,
            // At least one sign for what there is.
            false => (count * room / most).max(usize::from(count > 0)),
        };
        let (plus, minus) = ("+".repeat(bar(*added)), "-".repeat(bar(*gone)));
        let total = added + gone;
        out += format!(" {name:<name_width$} | {total:>digits$} {plus}{minus}").trim_end();
        out.push('\n');
    }
    let sum = |side: fn(&(usize, usize)) -> usize| rows.iter().map(|(_, both)| side(both)).sum();
    out + &summary(rows.len(), sum(|both| both.0), sum(|both| both.1))
}

fn summary(files: usize, added: usize, gone: usize) -> String {
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let mut out = format!(" {} changed", counted(files, "file"));
    if added > 0 || gone == 0 {
        out += &format!(", {}(+)", counted(added, "insertion"));
    }
    if gone > 0 || added == 0 {
        out += &format!(", {}(-)", counted(gone, "deletion"));
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{FileChange, FileMode};
    use super::stat;

    fn change<'a>(path: &'a str, old: Option<&'a str>, new: &'a str) -> FileChange<'a> {
        FileChange {
            path: Path::new(path),
            old: old.map(str::as_bytes),
            new: new.as_bytes(),
            mode: FileMode::Regular,
        }
    }

    #[test]
    fn bars_are_as_long_as_changes_or_in_proportion() {
        let long = "x\n".repeat(300);
        let changes = [
            change("b.c", Some("a\nb\n"), "a\nc\nd\n"),
            change("a name.h", None, &long),
            change("same.c", Some("x"), "x"),
        ];
        insta::assert_snapshot!(stat(&changes[..1], 80), @"
        b.c | 3 ++-
        1 file changed, 2 insertions(+), 1 deletion(-)
        ");
        insta::assert_snapshot!(stat(&changes, 40), @"
        a name.h | 300 ++++++++++++++++++++++++
        b.c      |   3 +-
        2 files changed, 302 insertions(+), 1 deletion(-)
        ");
        assert_eq!(stat(&[], 80), "");
    }
}
