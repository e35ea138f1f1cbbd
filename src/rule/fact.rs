//! Comments that state what the code cannot say: `/* ungil: guarded-by(lock) */`.

use memchr::memmem;

use super::suppression::{MARK, covered_lines, directive, is_in_token, to_offset};
use crate::lex::lex;
use crate::source::{LineNumber, SourceFile};

/// A variable or field that only who holds a lock reads or writes, as its author says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedBy {
    /// The lock, as it is written.
    pub lock: String,
    /// First and last line of the declarations that this is said of.
    pub lines: (LineNumber, LineNumber),
}

/// All comments of `file` that name the lock of a declaration: behind it on its line, or alone
/// before it.
#[must_use]
pub fn guards(file: &SourceFile) -> Vec<GuardedBy> {
    let marks: Vec<_> = memmem::find_iter(file.bytes(), MARK)
        .map(to_offset)
        .collect();
    if marks.is_empty() {
        return Vec::new();
    }
    let tokens = lex(file.bytes());
    let guard = |&mark: &_| {
        let lock = lock(&directive(file, mark))?.to_owned();
        let lines = covered_lines(file, &tokens, mark);
        Some(GuardedBy { lock, lines })
    };
    let in_comments = marks.iter().filter(|mark| !is_in_token(&tokens, **mark));
    in_comments.filter_map(guard).collect()
}

/// Whether the text of a directive states a fact.
pub(super) fn is_fact(text: &str) -> bool {
    lock(text).is_some()
}

fn lock(text: &str) -> Option<&str> {
    let (lock, _) = text.strip_prefix("guarded-by(")?.split_once(')')?;
    Some(lock.trim()).filter(|lock| !lock.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::guards;
    use crate::source::SourceFile;

    #[test]
    fn a_guard_is_of_the_declaration_beside_or_behind_it() {
        let text = "static int a; /* ungil: guarded-by(lock) */\n\
                    // ungil: guarded-by( self->mutex ) -- since 2.0\n\
                    static struct s\n    b;\n\
                    char *c = \"ungil: guarded-by(x)\"; /* ungil: guarded-by() */\n";
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let found = guards(&file);
        let found: Vec<_> = found
            .iter()
            .map(|guard| (guard.lock.as_str(), guard.lines.0.0, guard.lines.1.0))
            .collect();
        assert_eq!(found, [("lock", 1, 1), ("self->mutex", 2, 4)]);
    }
}
