//! The names that the `typedef`s of a file declare, found without parsing.

use std::collections::BTreeSet;

use crate::lex::{Token, TokenKind};

/// A name that a `typedef` declares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Typedef {
    /// The name.
    pub name: Box<str>,
    /// The words of its type if that is nothing else: `unsigned int`, `my_size`, `enum`, or one that
    /// a build fills in: `@INT@`. Empty for pointers, structs and the like.
    pub words: Vec<Box<str>>,
}

impl Typedef {
    /// Whether a build fills in what the name stands for: `typedef @INT@ my_int;`.
    #[must_use]
    pub fn is_template(&self) -> bool {
        matches!(&self.words[..], [word] if word.starts_with('@'))
    }
}

/// The names between each `typedef` and its `;`: the last identifier of each declarator, or the
/// one behind `(*`.
pub(super) fn typedefs(bytes: &[u8], tokens: &[&Token]) -> Vec<Typedef> {
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        if bytes[tokens[at].span.range()] == *b"typedef" {
            at = typedef_names(bytes, tokens, at + 1, &mut found);
        }
        at += 1;
    }
    found.into_iter().collect()
}

/// Collects the names one `typedef` declares and gives the index of its `;`.
fn typedef_names(
    bytes: &[u8],
    tokens: &[&Token],
    from: usize,
    found: &mut BTreeSet<Typedef>,
) -> usize {
    let mut braces = 0u32;
    let mut parens = 0u32;
    let mut last: Option<&[u8]> = None;
    let mut pointed = false;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        let text = &bytes[token.span.range()];
        match text {
            b"{" => braces += 1,
            b"}" => braces = braces.saturating_sub(1),
            b"(" => parens += 1,
            b")" => parens = parens.saturating_sub(1),
            b";" | b"," if braces == 0 && parens == 0 => {
                let words = match text {
                    b";" => words(bytes, &tokens[from..at]),
                    _ => Vec::new(),
                };
                let name = last.take().and_then(to_name);
                found.extend(name.map(|name| Typedef { name, words }));
                pointed = false;
                if text == b";" {
                    return at;
                }
            }
            _ if token.kind == TokenKind::Ident && braces == 0 => {
                if parens == 0 && !pointed && text != b"__attribute__" {
                    last = Some(text);
                } else if parens == 1 && !pointed && is_bracketed(bytes, tokens, at) {
                    last = Some(text);
                    pointed = true;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Whether the name at `at` is declared in brackets of its own, and stands not just anywhere in a
/// parameter list.
///
/// ```c
/// typedef int (*callback)(void *arg);
/// typedef int (function)(void *arg);
/// ```
fn is_bracketed(bytes: &[u8], tokens: &[&Token], at: usize) -> bool {
    let text = |at: usize| tokens.get(at).map(|token| &bytes[token.span.range()]);
    let before = |back: usize| at.checked_sub(back).and_then(text);
    match before(1) {
        Some(b"*") => before(2) == Some(b"("),
        Some(b"(") => text(at + 1) == Some(b")") && text(at + 2) == Some(b"("),
        _ => false,
    }
}

/// The words in front of the name if there is nothing but words; the list of an `enum` does not
/// count.
fn words(bytes: &[u8], tokens: &[&Token]) -> Vec<Box<str>> {
    let text = |token: &&Token| &bytes[token.span.range()];
    let is_enum = tokens.first().is_some_and(|first| text(first) == b"enum");
    let open = tokens.iter().position(|token| text(token) == b"{");
    let close = tokens.iter().rposition(|token| text(token) == b"}");
    let outside = match (open, close) {
        (Some(open), Some(close)) if is_enum && open < close => {
            [&tokens[..open], &tokens[close + 1..]].concat()
        }
        _ => tokens.to_vec(),
    };
    let texts: Vec<&[u8]> = outside.iter().map(text).collect();
    if let [b"@", word, b"@", _] = texts[..] {
        let word = to_name(word).map(|word| format!("@{word}@").into());
        return word.into_iter().collect();
    }
    let only_words = outside.iter().all(|token| token.kind == TokenKind::Ident);
    let Some((_, before)) = outside.split_last().filter(|_| only_words) else {
        return Vec::new();
    };
    let words = before.iter().map(text);
    words
        .filter(|word| !matches!(*word, b"const" | b"volatile" | b"__extension__"))
        .filter_map(to_name)
        .collect()
}

fn to_name(text: &[u8]) -> Option<Box<str>> {
    std::str::from_utf8(text).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::lex;

    #[test]
    fn words_stand_alone_or_not_at_all() {
        let text = "typedef unsigned long size; typedef const real *p, r;
            typedef enum { A, B = f(1) } e; typedef enum tag t, *q; typedef enum u v;
            typedef struct { int x; } s; typedef int (*call)(int a), n[4];
            typedef e (function)(size), plain(size);
            typedef @INT@ filled; typedef @INT@ *filled_pointer;";
        let tokens = lex(text.as_bytes());
        let tokens: Vec<&Token> = tokens.iter().collect();
        let found = typedefs(text.as_bytes(), &tokens);
        let lines: Vec<String> = found
            .iter()
            .map(|found| format!("{} ({})", found.name, found.words.join(" ")))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        call ()
        e (enum)
        filled (@INT@)
        filled_pointer ()
        function ()
        n ()
        p ()
        plain ()
        q ()
        r ()
        s ()
        size (unsigned long)
        t ()
        v (enum u)
        ");
    }
}
