//! Comments that state what the code cannot say: `/* ungil: guarded-by(lock) */`.

use std::collections::BTreeSet;

use memchr::memmem;

use super::comment::{MARK, covered_lines, directive, marks};
use crate::lex::{Token, TokenKind, lex};
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
    if memmem::find(file.bytes(), MARK).is_none() {
        return Vec::new();
    }
    let tokens = lex(file.bytes());
    let guard = |mark| {
        let lock = lock(&directive(file, mark))?.to_owned();
        let lines = covered_lines(file, &tokens, mark);
        Some(GuardedBy { lock, lines })
    };
    marks(file, &tokens).into_iter().filter_map(guard).collect()
}

/// The fields of structs that a comment of `file` names the lock of, each with a name of the
/// struct: its tag, without `struct`, and those that a `typedef` gives it.
#[must_use]
pub fn guarded_fields(file: &SourceFile) -> BTreeSet<(String, String)> {
    let guards = guards(file);
    if guards.is_empty() {
        return BTreeSet::new();
    }
    let tokens = lex(file.bytes());
    let text = |at: usize| {
        tokens
            .get(at)
            .map_or(&b""[..], |token| file.slice(token.span))
    };
    let is_guarded = |at: usize| {
        let line = file.position(tokens[at].span.start()).line;
        guards
            .iter()
            .any(|guard| guard.lines.0 <= line && line <= guard.lines.1)
    };
    let mut found = BTreeSet::new();
    // Guarded fields of each open brace, with where it stands.
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for at in 0..tokens.len() {
        match text(at) {
            b"{" => open.push((at, Vec::new())),
            b"}" => {
                let Some((start, fields)) = open.pop().filter(|(_, fields)| !fields.is_empty())
                else {
                    continue;
                };
                for name in struct_names(&tokens, &text, start, at) {
                    let owned = |at: usize| String::from_utf8_lossy(text(at)).into_owned();
                    found.extend(fields.iter().map(|&field| (owned(name), owned(field))));
                }
            }
            _ if tokens[at].kind == TokenKind::Ident
                && matches!(text(at + 1), b";" | b"," | b"[" | b":" | b")")
                && is_guarded(at) =>
            {
                open.last_mut()
                    .into_iter()
                    .for_each(|(_, fields)| fields.push(at));
            }
            _ => {}
        }
    }
    found
}

/// The tokens that name the struct between two braces; none if it is something else.
fn struct_names<'t>(
    tokens: &[Token],
    text: &impl Fn(usize) -> &'t [u8],
    start: usize,
    end: usize,
) -> Vec<usize> {
    let is_struct = |at: Option<usize>| at.is_some_and(|at| text(at) == b"struct");
    let tag = start
        .checked_sub(1)
        .filter(|_| is_struct(start.checked_sub(2)));
    if tag.is_none() && !is_struct(start.checked_sub(1)) {
        return Vec::new();
    }
    let behind = (end + 1..tokens.len()).take_while(|&at| text(at) != b";");
    let declared = behind.filter(|&at| tokens[at].kind == TokenKind::Ident);
    tag.into_iter().chain(declared).collect()
}

/// The lock that a directive names.
pub(super) fn lock(text: &str) -> Option<&str> {
    let (lock, _) = text.strip_prefix("guarded-by(")?.split_once(')')?;
    Some(lock.trim()).filter(|lock| !lock.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{guarded_fields, guards};
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

    #[test]
    fn guarded_fields_are_known_by_all_names_of_their_struct() {
        let text = "typedef struct pool {\n    PyObject_HEAD\n    int a; /* ungil: guarded-by(m) */\n\
                    \x20   // ungil: guarded-by(m)\n    char *b[2],\n        c;\n    int d;\n\
                    } Pool, *PoolRef;\n\
                    void f(void)\n{\n    int e; /* ungil: guarded-by(m) */\n}\n";
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let found = guarded_fields(&file);
        let of = |name: &str| -> Vec<&str> {
            let own = found.iter().filter(|(of, _)| of == name);
            own.map(|(_, field)| field.as_str()).collect()
        };
        assert_eq!(of("pool"), ["a", "b", "c"]);
        assert_eq!(of("Pool"), ["a", "b", "c"]);
        assert_eq!(of("PoolRef"), ["a", "b", "c"]);
        assert_eq!(found.len(), 9);
    }
}
