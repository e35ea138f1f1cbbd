//! Bytes before and after to a patch that `git apply` and `patch -p1` take.

mod blob;
mod hunk;
mod name;
mod side;
mod stat;

pub use hunk::{changed_lines, counts};
pub use name::slashed;
pub use side::{Block, Row, Side, blocks, side_by_side};
pub use stat::stat;

use std::path::Path;

/// Permission bits that git tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileMode {
    /// `100644`.
    #[default]
    Regular,
    /// `100755`.
    Executable,
}

impl FileMode {
    fn digits(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
        }
    }
}

/// One file before and after.
#[derive(Debug, Clone, Copy)]
pub struct FileChange<'a> {
    /// Path relative to the folder the patch is applied in.
    pub path: &'a Path,
    /// The bytes before; `None` for a new file.
    pub old: Option<&'a [u8]>,
    /// The bytes after.
    pub new: &'a [u8],
    /// The file's mode, which a patch never changes.
    pub mode: FileMode,
}

/// Lines of context around a change unless the user asks for another number.
pub const DEFAULT_CONTEXT: usize = 3;

/// The patch for `changes`, sorted by path, with `context` lines around each change.
///
/// Files that do not change are left out, so no change gives an empty patch.
#[must_use]
pub fn patch(changes: &[FileChange<'_>], context: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for change in sorted(changes) {
        file_header(&slashed(change.path), change, &mut out);
        hunk::write(
            change.old.unwrap_or_default(),
            change.new,
            context,
            &mut out,
        );
    }
    out
}

/// The files that change, by path.
fn sorted<'s, 'a>(changes: &'s [FileChange<'a>]) -> impl Iterator<Item = &'s FileChange<'a>> {
    let changed = changes
        .iter()
        .filter(|change| change.old != Some(change.new));
    let mut sorted: Vec<_> = changed.collect();
    sorted.sort_by_cached_key(|change| slashed(change.path));
    sorted.into_iter()
}

fn file_header(path: &[u8], change: &FileChange<'_>, out: &mut Vec<u8>) {
    let (old_name, new_name) = (name::quoted(b"a/", path), name::quoted(b"b/", path));
    out.extend([&b"diff --git "[..], &old_name, b" ", &new_name, b"\n"].concat());
    let mode = change.mode.digits();
    let new_id = blob::short_id(change.new);
    match change.old {
        Some(old) => {
            let old_id = blob::short_id(old);
            out.extend(format!("index {old_id}..{new_id} {mode}\n").into_bytes());
        }
        None => {
            let old_id = blob::NO_ID;
            out.extend(format!("new file mode {mode}\nindex {old_id}..{new_id}\n").into_bytes());
        }
    }
    if change.old.is_none() && change.new.is_empty() {
        return; // An empty file is created by its mode line alone; there is no hunk.
    }
    // A TAB ends a name with blanks; without it `patch` would take the rest for a date.
    let tab: &[u8] = if path.contains(&b' ') { b"\t" } else { b"" };
    match change.old {
        Some(_) => out.extend([b"--- ", &old_name[..], tab, b"\n"].concat()),
        None => out.extend(b"--- /dev/null\n"),
    }
    out.extend([b"+++ ", &new_name[..], tab, b"\n"].concat());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FileChange, FileMode, patch};

    fn change<'a>(path: &'a str, old: Option<&'a str>, new: &'a str) -> FileChange<'a> {
        FileChange {
            path: Path::new(path),
            old: old.map(str::as_bytes),
            new: new.as_bytes(),
            mode: FileMode::Regular,
        }
    }

    fn text(changes: &[FileChange<'_>], context: usize) -> String {
        String::from_utf8(patch(changes, context)).unwrap()
    }

    #[test]
    fn a_hunk_names_its_function() {
        let old = "int f(void)\n{\n    a();\n    b();\n    c();\n    d();\n    e();\n}\n";
        let new = old.replace("e();", "E();");
        insta::assert_snapshot!(text(&[change("m.c", Some(old), &new)], 3), @"
        diff --git a/m.c b/m.c
        index 311375cec413..b6fdaa45e1a4 100644
        --- a/m.c
        +++ b/m.c
        @@ -4,5 +4,5 @@ int f(void)
             b();
             c();
             d();
        -    e();
        +    E();
         }
        ");
    }

    #[test]
    fn files_are_sorted_and_equal_ones_left_out() {
        let changes = [
            change("b.c", None, "b\n"),
            change("same.c", Some("x"), "x"),
            change("a b.c", None, ""),
        ];
        insta::assert_snapshot!(text(&changes, 3), @"
        diff --git a/a b.c b/a b.c
        new file mode 100644
        index 000000000000..e69de29bb2d1
        diff --git a/b.c b/b.c
        new file mode 100644
        index 000000000000..61780798228d
        --- /dev/null
        +++ b/b.c
        @@ -0,0 +1 @@
        +b
        ");
    }

    #[test]
    fn a_missing_final_newline_is_marked_on_its_side() {
        let changes = [
            change("a.c", Some("x\ny"), "x\ny\n"),
            change("b.c", Some("x\ny"), "z\ny"),
        ];
        insta::assert_snapshot!(text(&changes, 3), @r"
        diff --git a/a.c b/a.c
        index 1b322989b6ee..b77b4eb1d946 100644
        --- a/a.c
        +++ b/a.c
        @@ -1,2 +1,2 @@
         x
        -y
        \ No newline at end of file
        +y
        diff --git a/b.c b/b.c
        index 1b322989b6ee..2ff7d1e17448 100644
        --- a/b.c
        +++ b/b.c
        @@ -1,2 +1,2 @@
        -x
        +z
         y
        \ No newline at end of file
        ");
    }

    #[test]
    fn distant_changes_are_separate_hunks() {
        let old: String = ('a'..='j').map(|c| format!("{c}\n")).collect();
        let new = old.replace("b\n", "").replace("i\n", "i\n+\n");
        insta::assert_snapshot!(text(&[change("a.c", Some(&old), &new)], 1), @"
        diff --git a/a.c b/a.c
        index 92dfa216416a..620ee953574b 100644
        --- a/a.c
        +++ b/a.c
        @@ -1,3 +1,2 @@
         a
        -b
         c
        @@ -9,2 +8,3 @@ h
         i
        ++
         j
        ");
        insta::assert_snapshot!(text(&[change("a.c", Some(&old), &new)], 0), @"
        diff --git a/a.c b/a.c
        index 92dfa216416a..620ee953574b 100644
        --- a/a.c
        +++ b/a.c
        @@ -2 +1,0 @@ a
        -b
        @@ -9,0 +9 @@ i
        ++
        ");
    }

    #[test]
    fn odd_names_are_quoted_as_git_does() {
        let name = "na\u{ef}ve \"x\"\t.c";
        insta::assert_snapshot!(text(&[change(name, Some("a\n"), "b\n")], 0), @"
        diff --git \"a/na\\303\\257ve \\\"x\\\"\\t.c\" \"b/na\\303\\257ve \\\"x\\\"\\t.c\"
        index 78981922613b..61780798228d 100644
        --- \"a/na\\303\\257ve \\\"x\\\"\\t.c\"\t
        +++ \"b/na\\303\\257ve \\\"x\\\"\\t.c\"\t
        @@ -1 +1 @@
        -a
        +b
        ");
    }
}
