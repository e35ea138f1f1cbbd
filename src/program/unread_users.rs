//! Who uses the functions of a package in text that is not parsed: functions that were not
//! understood, other languages, templates that a tool turns into C.
//!
//! Tokens and braces tell which function a call stands in. Whatever does not fit that is a use by
//! nobody known.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::Program;
use crate::lex::{Token, TokenKind, lex};
use crate::source::{FileId, SourceFile};

/// Endings of files whose functions have bodies in braces: `a.cpp`, `a.c.src`, `a.h.in`.
const BRACED: &[&str] = &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "inc", "m", "mm"];

/// What stands in front of the braces of a function that makes a module.
const INIT: &[u8] = b"PyMODINIT_FUNC";

/// What uses a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// This function calls it.
    Function(Box<str>),
    /// It is handed on, or it is not known which function calls it.
    Unknown,
}

/// The uses in text that is not parsed, by the name that is used.
#[derive(Debug, Default)]
pub struct UnreadUsers {
    users: BTreeMap<Box<str>, BTreeSet<User>>,
    /// The functions that have bodies there; whether Python calls them to make a module.
    functions: BTreeMap<Box<str>, bool>,
}

impl UnreadUsers {
    pub(super) fn new(program: &Program<'_>) -> Self {
        let gaps = program.gaps.iter().map(|gap| {
            let bytes = program.files.get(gap.file).slice(gap.span);
            let is_braced = gap.function.is_some();
            (gap.file, bytes, Cow::from(lex(bytes)), is_braced)
        });
        let files = program.unread.files().iter().map(|&id| {
            let file = program.files.get(id);
            let tokens = program.index[id.index()].tokens();
            (id, file.bytes(), Cow::from(tokens), is_braced(file))
        });
        let (gaps, files): (Vec<_>, Vec<_>) = (gaps.collect(), files.collect());
        let mut unread = Self::default();
        // What they define themselves calls on.
        for (_, bytes, tokens, is_braced) in gaps.iter().chain(&files) {
            let names = &FxHashSet::default();
            unread.add(Text { bytes, names }, tokens, *is_braced);
        }
        let own: Vec<Box<str>> = unread.functions.keys().cloned().collect();
        let own = || own.iter().map(|name| name.as_bytes());
        // A `static` function of another file, or of another unit, is no business of theirs.
        let names = |units: &BTreeSet<FileId>| {
            let open = program.functions().filter(|(item, it)| {
                !it.is_static || item.place.0 != item.unit || units.contains(&item.unit)
            });
            let open = open.map(|(_, it)| it.name.as_bytes());
            open.chain(own()).collect::<FxHashSet<&[u8]>>()
        };
        let units = units_with(program, gaps.iter().map(|(file, ..)| *file).collect());
        let of_gaps = units.iter().map(|(file, units)| (*file, names(units)));
        let of_gaps: BTreeMap<FileId, FxHashSet<&[u8]>> = of_gaps.collect();
        for (file, bytes, tokens, is_braced) in &gaps {
            let names = &of_gaps[file];
            unread.add(Text { bytes, names }, tokens, *is_braced);
        }
        let names = &names(&BTreeSet::new());
        for (_, bytes, tokens, is_braced) in &files {
            unread.add(Text { bytes, names }, tokens, *is_braced);
        }
        unread
    }

    /// What uses the function `name`.
    pub fn users(&self, name: &str) -> impl Iterator<Item = &User> {
        self.users.get(name).into_iter().flatten()
    }

    /// The functions with bodies in such text; whether Python calls them to make a module.
    pub fn functions(&self) -> impl Iterator<Item = (&str, bool)> {
        self.functions
            .iter()
            .map(|(name, is_init)| (&**name, *is_init))
    }

    fn add(&mut self, text: Text<'_>, tokens: &[Token], is_braced: bool) {
        let mut reader = Reader::new(text, tokens);
        let is_whole = is_braced && !text.is_generated() && reader.bodies();
        if !is_whole {
            reader.users.clear();
            reader.all_unknown();
        }
        reader.fragments();
        for (name, user) in reader.users {
            self.users.entry(name).or_default().insert(user);
        }
        for (name, is_init) in reader.functions {
            *self.functions.entry(name).or_insert(true) &= is_init;
        }
    }
}

/// The translation units that hold each of `files`, by their roots.
fn units_with(
    program: &Program<'_>,
    files: BTreeSet<FileId>,
) -> BTreeMap<FileId, BTreeSet<FileId>> {
    let mut found: BTreeMap<FileId, BTreeSet<FileId>> = BTreeMap::new();
    for file in files {
        found.entry(file).or_default().insert(file);
    }
    if found.is_empty() {
        return found;
    }
    let roots: BTreeSet<FileId> = program.items.iter().map(|item| item.unit).collect();
    for root in roots {
        let mut reached = FxHashSet::default();
        program.includes.reach(root, &mut reached);
        for (_, units) in found.iter_mut().filter(|(file, _)| reached.contains(file)) {
            units.insert(root);
        }
    }
    found
}

fn is_braced(file: &SourceFile) -> bool {
    let path = file.path();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.')
        .skip(1)
        .any(|ending| BRACED.contains(&ending))
}

/// A text, and the names that matter in it.
#[derive(Clone, Copy)]
struct Text<'t> {
    bytes: &'t [u8],
    names: &'t FxHashSet<&'t [u8]>,
}

impl<'t> Text<'t> {
    fn of(&self, token: &Token) -> &'t [u8] {
        let span = token.span;
        let range = span.start().0 as usize..span.end().0 as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    /// Whether a template language with blocks of its own may make any of it.
    fn is_generated(&self) -> bool {
        let mut pairs = self.bytes.windows(2);
        pairs.any(|pair| matches!(pair, b"{%" | b"<%" | b"${"))
    }
}

struct Reader<'t> {
    text: Text<'t>,
    tokens: &'t [Token],
    users: Vec<(Box<str>, User)>,
    functions: Vec<(Box<str>, bool)>,
}

impl<'t> Reader<'t> {
    fn new(text: Text<'t>, tokens: &'t [Token]) -> Self {
        Self {
            text,
            tokens,
            users: Vec::new(),
            functions: Vec::new(),
        }
    }

    fn word(&self, at: usize) -> &'t [u8] {
        let token = self.tokens.get(at);
        token.map_or(b"", |token| self.text.of(token))
    }

    /// The name at `at`, if it is one that matters.
    fn name(&self, at: usize) -> Option<Box<str>> {
        let word = self.word(at);
        let word = self.text.names.get(word)?;
        Some(String::from_utf8_lossy(word).into())
    }

    fn note(&mut self, at: usize, user: User) {
        if let Some(name) = self.name(at) {
            self.users.push((name, user));
        }
    }

    fn all_unknown(&mut self) {
        for at in 0..self.tokens.len() {
            self.note(at, User::Unknown);
        }
    }

    /// Reads heads and bodies; not so if the braces do not match.
    fn bodies(&mut self) -> bool {
        // Of each open brace whether it only groups: `extern "C" {`, `namespace a {`.
        let mut open: Vec<bool> = Vec::new();
        let mut owner = User::Unknown;
        let mut head = 0;
        let mut at = 0;
        while at < self.tokens.len() {
            let end = self.directive(at);
            if end > at {
                (at, head) = (end, if head == at { end } else { head });
                continue;
            }
            let is_inside = open.iter().any(|groups| !groups);
            match self.word(at) {
                b"{" if is_inside => open.push(false),
                b"{" => {
                    let groups = self.groups(head, at);
                    owner = if groups { owner } else { self.head(head, at) };
                    open.push(groups);
                    head = at + 1;
                }
                b"}" => {
                    if open.pop().is_none() {
                        return false;
                    }
                    head = at + 1;
                }
                b";" if !is_inside => {
                    self.declaration(head, at);
                    head = at + 1;
                }
                _ if is_inside => {
                    let user = if self.is_call(at) {
                        owner.clone()
                    } else {
                        User::Unknown
                    };
                    self.note(at, user);
                }
                _ => {}
            }
            at += 1;
        }
        self.declaration(head, self.tokens.len());
        open.is_empty()
    }

    /// The end of the directive that begins at `at`; the body of a macro is used by nobody known.
    fn directive(&mut self, at: usize) -> usize {
        if !(self.tokens[at].first_on_line && self.word(at) == b"#") {
            return at;
        }
        let rest = &self.tokens[at + 1..];
        let length = rest.iter().take_while(|token| !token.first_on_line).count();
        let end = at + 1 + length;
        for at in at..end {
            self.note(at, User::Unknown);
        }
        end
    }

    fn groups(&self, head: usize, brace: usize) -> bool {
        let words = (head..brace).map(|at| self.word(at));
        let words: Vec<&[u8]> = words.collect();
        matches!(words.as_slice(), [b"extern", b"\"C\""])
            || matches!(words.first(), Some(&b"namespace"))
    }

    /// The function whose body begins at `brace`.
    fn head(&mut self, head: usize, brace: usize) -> User {
        let names: Vec<usize> = self.before_parentheses(head, brace).collect();
        let user = match names.as_slice() {
            [at] if self.is_whole_name(*at) => {
                let name: Box<str> = String::from_utf8_lossy(self.word(*at)).into();
                let is_init =
                    name.starts_with("PyInit_") || (head..*at).any(|at| self.word(at) == INIT);
                self.functions.push((name.clone(), is_init));
                User::Function(name)
            }
            _ => User::Unknown,
        };
        let own = names.first().copied();
        for at in (head..brace).filter(|at| own != Some(*at)) {
            self.note(at, User::Unknown);
        }
        user
    }

    /// `int f(void);` uses nothing; `x = f;` and `ENTRY(f);` do.
    fn declaration(&mut self, head: usize, end: usize) {
        let is_plain = (head..end).all(|at| self.word(at) != b"=");
        let declared = self.before_parentheses(head, end).next();
        let declared = declared.filter(|at| is_plain && *at > head);
        for at in (head..end).filter(|at| declared != Some(*at)) {
            self.note(at, User::Unknown);
        }
    }

    /// The words in front of parentheses that are in no others.
    fn before_parentheses(&self, head: usize, end: usize) -> impl Iterator<Item = usize> {
        let mut depth = 0u32;
        (head..end).filter_map(move |at| {
            match self.word(at) {
                b"(" => {
                    depth += 1;
                    let before = at.checked_sub(1).filter(|before| *before >= head)?;
                    let is_attribute = self.word(before).starts_with(b"__attribute");
                    return (depth == 1 && !is_attribute).then_some(before);
                }
                b")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            None
        })
    }

    fn is_call(&self, at: usize) -> bool {
        self.word(at + 1) == b"(" && self.is_whole_name(at)
    }

    /// Not so of `@kind@_make`, of `Kind::make` and of `it->make`.
    fn is_whole_name(&self, at: usize) -> bool {
        let is = |at: usize, kind| self.tokens.get(at).is_some_and(|it| it.kind == kind);
        let before = at.checked_sub(1);
        let is_part = before.is_some_and(|at| {
            is(at, TokenKind::Other) || matches!(self.word(at), b"." | b"->" | b"::" | b"&" | b"~")
        });
        is(at, TokenKind::Ident) && !is_part && !is(at + 1, TokenKind::Other)
    }

    /// Names that a template puts together, as `make_@kind@` does, and those that it is told in
    /// its comments: `#func = make_one, make_two#`.
    fn fragments(&mut self) {
        let is_mark = |token: &Token| self.text.of(token) == b"@";
        if !self.tokens.iter().any(is_mark) {
            return;
        }
        let is_word = |token: &Token| token.kind == TokenKind::Ident;
        let pairs = self.tokens.windows(2).filter(|pair| !pair[1].space_before);
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for pair in pairs {
            if is_word(&pair[0]) && is_mark(&pair[1]) {
                starts.push(self.text.of(&pair[0]));
            } else if is_mark(&pair[0]) && is_word(&pair[1]) {
                ends.push(self.text.of(&pair[1]));
            }
        }
        let told = self.comments();
        let is_made = |name: &&&[u8]| {
            starts.iter().any(|start| name.starts_with(start))
                || ends.iter().any(|end| name.ends_with(end))
                || told.contains(**name)
        };
        let made = self.text.names.iter().filter(is_made);
        let made = made.map(|name| String::from_utf8_lossy(name).into());
        self.users.extend(made.map(|name| (name, User::Unknown)));
    }

    /// The words between the tokens.
    fn comments(&self) -> FxHashSet<&'t [u8]> {
        let starts = self.tokens.iter().map(|token| token.span.start().0);
        let ends = self.tokens.iter().map(|token| token.span.end().0);
        let between = std::iter::once(0).chain(ends).zip(starts);
        let texts =
            between.filter_map(|(start, end)| self.text.bytes.get(start as usize..end as usize));
        texts
            .flat_map(|text| text.split(|&byte| byte != b'_' && !byte.is_ascii_alphanumeric()))
            .collect()
    }
}
