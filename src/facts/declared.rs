//! What attributes and comments at prototypes and definitions say of functions.

use std::collections::BTreeSet;

use memchr::memmem;

use super::comment::{MARK, covered_lines, directive, marks, stated, thread_safe};
use super::{Functions, Reference, Stated};
use crate::lex::{Token, TokenKind};
use crate::preprocess::FileIndex;
use crate::source::{FileId, FileSet, LineNumber, SourceFile};

/// The functions of `files` of which a comment or an attribute says something.
#[must_use]
pub fn declared(files: &FileSet, index: &[FileIndex]) -> Functions {
    let all = || {
        files
            .iter()
            .map(|(id, file)| (id, file, &index[id.index()]))
    };
    let words = Words::of(all().map(|(_, file, index)| (file, index)));
    let mut functions = Functions::default();
    for (id, file, index) in all().filter(|(_, file, _)| words.may_be_in(file)) {
        for head in heads(file, index) {
            head.note(id, &words, &mut functions);
        }
    }
    for (_, file, index) in all().filter(|(_, file, _)| memmem::find(file.bytes(), MARK).is_some())
    {
        comments(file, index, &mut functions);
    }
    functions
}

/// What says in a head that a function returns a borrowed reference, or takes one over: the
/// attributes of cpychecker, its macros, and what a package calls them.
///
/// ```c
/// #define BORROWED CPYCHECKER_RETURNS_BORROWED_REF
/// #define STEALS(n) CPYCHECKER_STEALS_REFERENCE_TO_ARG(n)
/// ```
struct Words {
    borrowed: BTreeSet<Vec<u8>>,
    steals: BTreeSet<Vec<u8>>,
}

impl Words {
    fn of<'f>(files: impl Iterator<Item = (&'f SourceFile, &'f FileIndex)>) -> Self {
        let set = |words: [&str; 2]| words.map(|word| word.as_bytes().to_vec()).into();
        let mut words = Self {
            borrowed: set([
                "cpychecker_returns_borrowed_ref",
                "CPYCHECKER_RETURNS_BORROWED_REF",
            ]),
            steals: set([
                "cpychecker_steals_reference_to_arg",
                "CPYCHECKER_STEALS_REFERENCE_TO_ARG",
            ]),
        };
        let files: Vec<_> = files.filter(|(file, _)| words.may_be_in(file)).collect();
        // A word may stand for another word.
        while files.iter().any(|(file, index)| words.learn(file, index)) {}
        words
    }

    fn may_be_in(&self, file: &SourceFile) -> bool {
        let mut words = self.borrowed.iter().chain(&self.steals);
        words.any(|word| memmem::find(file.bytes(), word).is_some())
    }

    /// Adds macros of `file` that hold one of the words; whether there was a new one.
    fn learn(&mut self, file: &SourceFile, index: &FileIndex) -> bool {
        let text = |token: &Token| file.slice(token.span);
        let mut any = false;
        for line in index.tokens().chunk_by(|_, next| !next.first_on_line) {
            let [hash, define, name, body @ ..] = line else {
                continue;
            };
            if text(hash) != b"#" || text(define) != b"define" {
                continue;
            }
            for set in [&mut self.borrowed, &mut self.steals] {
                if body.iter().any(|token| set.contains(text(token))) {
                    any |= set.insert(text(name).to_vec());
                }
            }
        }
        any
    }
}

/// A declaration, or the head of a definition.
struct Head<'f> {
    file: &'f SourceFile,
    tokens: Vec<&'f Token>,
}

/// The heads of all that stands outside of braces.
fn heads<'f>(file: &'f SourceFile, index: &'f FileIndex) -> Vec<Head<'f>> {
    let mut heads = Vec::new();
    let mut tokens: Vec<&Token> = Vec::new();
    let mut depth = 0u32;
    for token in index.text_tokens() {
        match file.slice(token.span) {
            // extern "C" { … }
            b"{" if depth == 0 && tokens.last().is_some_and(|t| t.kind == TokenKind::Str) => {
                tokens.clear();
            }
            b"{" => {
                depth += 1;
                if depth == 1 {
                    let tokens = std::mem::take(&mut tokens);
                    heads.push(Head { file, tokens });
                }
            }
            b"}" => {
                depth = depth.saturating_sub(1);
                tokens.clear();
            }
            _ if depth > 0 => {}
            b";" => {
                let tokens = std::mem::take(&mut tokens);
                heads.push(Head { file, tokens });
            }
            _ => tokens.push(token),
        }
    }
    heads
}

impl Head<'_> {
    fn text(&self, at: usize) -> &[u8] {
        self.tokens
            .get(at)
            .map_or(&[], |token| self.file.slice(token.span))
    }

    /// The name in front of the parameters.
    fn function(&self, words: Option<&Words>) -> Option<String> {
        const ATTRIBUTES: &[&[u8]] = &[b"__attribute__", b"__declspec", b"PyAPI_FUNC"];
        let mut depth = 0u32;
        for at in 0..self.tokens.len() {
            match self.text(at) {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                text if depth == 0
                    && self.tokens[at].kind == TokenKind::Ident
                    && self.text(at + 1) == b"("
                    && !ATTRIBUTES.contains(&text)
                    && !words.is_some_and(|words| words.steals.contains(text)) =>
                {
                    return std::str::from_utf8(text).ok().map(str::to_owned);
                }
                _ => {}
            }
        }
        None
    }

    /// Adds what the words in the head say.
    fn note(&self, id: FileId, words: &Words, functions: &mut Functions) {
        let mut stated = Stated::default();
        let mut marks = Vec::new();
        let mut depth = 0u32;
        for at in 0..self.tokens.len() {
            let text = self.text(at);
            match text {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                // `BORROWED PyObject *f(void);`, not `__attribute__((…))`
                _ if words.borrowed.contains(text) && depth == 0 => {
                    marks.push((id, self.tokens[at].span));
                }
                _ if words.borrowed.contains(text) => stated.returns = Some(Reference::Borrowed),
                _ => {}
            }
            let number = || {
                std::str::from_utf8(self.text(at + 2))
                    .ok()?
                    .parse::<usize>()
                    .ok()
            };
            if words.steals.contains(text)
                && let Some(arg) = number().and_then(|number| number.checked_sub(1))
            {
                stated.add_stolen(arg);
            }
        }
        if stated == Stated::default() && marks.is_empty() {
            return;
        }
        if let Some(name) = self.function(Some(words)) {
            for mark in marks {
                functions.mark_borrowed(&name, mark);
            }
            functions.amend(&name, &stated);
        }
    }

    fn lines(&self) -> Option<(LineNumber, LineNumber)> {
        let line = |token: &&Token| self.file.position(token.span.start()).line;
        Some((line(self.tokens.first()?), line(self.tokens.last()?)))
    }
}

/// Adds what comments of `file` say: each of the first function whose head shares a line with
/// what the comment is about.
fn comments(file: &SourceFile, index: &FileIndex, functions: &mut Functions) {
    let tokens = index.tokens();
    for mark in marks(file, tokens) {
        for name in thread_safe(&directive(file, mark)).into_iter().flatten() {
            functions.add_thread_safe(name);
        }
    }
    let said = marks(file, tokens).into_iter().filter_map(|mark| {
        let stated = stated(&directive(file, mark))?;
        Some((covered_lines(file, tokens, mark), stated))
    });
    let said: Vec<_> = said.collect();
    if said.is_empty() {
        return;
    }
    let heads = heads(file, index);
    for ((first, last), stated) in said {
        let mut near = heads.iter().filter(|head| {
            let lines = head.lines();
            lines.is_some_and(|(begin, end)| begin <= last && first <= end)
        });
        if let Some(name) = near.find_map(|head| head.function(None)) {
            functions.amend(&name, &stated);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Functions, declared};
    use crate::preprocess::FileIndex;
    use crate::source::{FileSet, SourceFile};

    fn facts(text: &str) -> Functions {
        let mut files = FileSet::default();
        files.add(SourceFile::new("m.c".into(), text.into()));
        let index: Vec<FileIndex> = files
            .iter()
            .map(|(id, file)| FileIndex::new(id, file))
            .collect();
        declared(&files, &index)
    }

    fn said(text: &str, name: &str) -> String {
        match facts(text).of(name) {
            Some(stated) => format!("{:?} {:?}", stated.returns, stated.steals),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn attributes_of_cpychecker_are_read_before_and_behind_the_name() {
        let text = "
            extern PyObject *peek(Queue *q)
                __attribute__((cpychecker_returns_borrowed_ref));
            CPYCHECKER_STEALS_REFERENCE_TO_ARG(2) CPYCHECKER_STEALS_REFERENCE_TO_ARG(3)
            static int give(Queue *q, PyObject *a, PyObject *b) { return take(q, a, b); }
            PyAPI_FUNC(PyObject *) look(void) CPYCHECKER_RETURNS_BORROWED_REF;
            int take(Queue *, PyObject *, PyObject *);";
        assert_eq!(said(text, "peek"), "Some(Borrowed) None");
        assert_eq!(said(text, "give"), "None Some({1, 2})");
        assert_eq!(said(text, "look"), "Some(Borrowed) None");
        assert_eq!(said(text, "take"), "nothing");
    }

    #[test]
    fn macros_that_stand_for_the_attributes_are_read() {
        let text = "
            #ifdef WITH_CPYCHECKER
            #define BORROWED SHARED
            #define SHARED __attribute__((cpychecker_returns_borrowed_ref))
            #define STEALS(n) \\
                __attribute__((cpychecker_steals_reference_to_arg(n)))
            #else
            #define BORROWED
            #define STEALS(n)
            #endif
            extern \"C\" {
            BORROWED PyObject *peek(Queue *q);
            STEALS(1) int give(PyObject *a);
            }";
        assert_eq!(said(text, "peek"), "Some(Borrowed) None");
        assert_eq!(said(text, "give"), "None Some({0})");
        // A word that stands for something else says nothing.
        let other = "#define BORROWED 1\nBORROWED PyObject *peek(Queue *q);";
        assert_eq!(said(other, "peek"), "nothing");
    }

    #[test]
    fn comments_are_about_the_function_beside_or_behind_them() {
        let text = "
            PyObject *one(void); /* ungil: borrowed */
            PyObject *two(void);
            // ungil: new, steals(1) -- whatever the name says
            static PyObject *
            three(PyObject *a)
            {
                return four(a); /* ungil: new */
            }
            PyObject *four(PyObject *a);
            static int n; /* ungil: borrowed */";
        assert_eq!(said(text, "one"), "Some(Borrowed) None");
        assert_eq!(said(text, "two"), "nothing");
        assert_eq!(said(text, "three"), "Some(New) Some({0})");
        assert_eq!(said(text, "four"), "nothing");
    }
}
