//! Top-level items out of the stream of expanded tokens.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::expand::{Expander, Source};
use super::origin::{ExpansionId, ItemTokens, PpToken, Spelling};
use crate::ast::TokenRange;
use crate::lex::TokenKind;
use crate::source::{ByteSpan, FileId, FileSet};

/// One top-level item before parsing.
#[derive(Debug)]
pub struct RawItem {
    /// Its tokens.
    pub tokens: ItemTokens,
    /// The token with the function's name, if it looks like a function definition.
    pub function: Option<u32>,
    /// File and span of its text as written, from the first token (or the use of the macro that
    /// made it) to the last.
    pub place: (FileId, ByteSpan),
    /// Equal for items with the same tokens from the same places.
    pub key: u64,
    /// Whether its brackets do not balance and it was cut off by layout.
    pub broken: bool,
}

/// Splits the whole stream into items and hands each to `sink`.
pub(crate) fn split<'a, S: Source<'a>>(
    files: &FileSet,
    expander: &mut Expander<'a, S>,
    mut sink: impl FnMut(RawItem),
) {
    let mut splitter = Splitter::default();
    while let Some(token) = expander.next() {
        let text = expander.text(&token);
        if token.expansion.is_none() {
            match text {
                b"{" => expander.source.brace(1),
                b"}" => expander.source.brace(-1),
                _ => {}
            }
        }
        splitter.push(token, expander.text(&token));
        if splitter.finished {
            let item = splitter.take(files, expander);
            item.into_iter().for_each(&mut sink);
        }
    }
    let rest = std::mem::take(&mut splitter.tokens);
    if splitter.braces > 0 || splitter.parens > 0 {
        recover(files, expander, rest, &mut sink);
    } else if !rest.is_empty() {
        splitter.tokens = rest;
        splitter
            .take(files, expander)
            .into_iter()
            .for_each(&mut sink);
    }
}

/// Splits tokens whose brackets do not balance by layout: a `}` in column 1 ends an item. So a
/// stray bracket costs one function and not the rest of the file.
fn recover<'a, S: Source<'a>>(
    files: &FileSet,
    expander: &Expander<'a, S>,
    tokens: Vec<PpToken>,
    sink: &mut impl FnMut(RawItem),
) {
    let mut splitter = Splitter::default();
    for token in tokens {
        let text = expander.text(&token);
        splitter.push(token, text);
        if !splitter.finished && text == b"}" && in_first_column(files, &token) {
            splitter.broken = true;
            splitter.finished = true;
        }
        if splitter.finished {
            splitter
                .take(files, expander)
                .into_iter()
                .for_each(&mut *sink);
        }
    }
    splitter.broken = true;
    splitter
        .take(files, expander)
        .into_iter()
        .for_each(&mut *sink);
}

fn in_first_column(files: &FileSet, token: &PpToken) -> bool {
    let (Spelling::File(file, span), None) = (token.spelling, token.expansion) else {
        return false;
    };
    let start = span.range().start;
    start == 0 || files.get(file).bytes()[start - 1] == b'\n'
}

#[derive(Default)]
struct Splitter {
    tokens: Vec<PpToken>,
    braces: u32,
    parens: u32,
    /// `extern "C" {` blocks around the item.
    linkage: u32,
    /// What the tokens at depth 0 have shown so far.
    seen: Seen,
    finished: bool,
    broken: bool,
    /// The first token of the next item, if it showed that this one is done.
    next: Option<PpToken>,
}

/// What is known of the item's head.
#[derive(Default)]
struct Seen {
    /// An `=` at depth 0: what follows in braces is an initialiser.
    assign: bool,
    /// The token before was that.
    after_assign: bool,
    /// The open brace belongs to a function body.
    body: bool,
    /// Index of the last identifier in front of a parenthesis at depth 0.
    name: Option<u32>,
    /// Index of the `)` of the last closed parenthesis at depth 0.
    close: Option<u32>,
    /// A tag keyword whose `{` has not come.
    tag: bool,
    /// The identifier tokens behind `close`: K&R declarations or attribute words.
    behind: u32,
    /// The parentheses hold nothing but names and commas, and are those of a name.
    names_only: bool,
    /// The token before begins a specifier with parentheses: `_Atomic(int)`.
    specifier: bool,
    /// `extern "C"` so far.
    extern_words: u32,
    typedef: bool,
}

impl Splitter {
    fn push(&mut self, token: PpToken, text: &[u8]) {
        let at = u32::try_from(self.tokens.len()).expect("items have fewer tokens than 2^32");
        self.tokens.push(token);
        if self.braces > 0 {
            self.inside_braces(text);
            return;
        }
        let after_assign = std::mem::take(&mut self.seen.after_assign);
        match text {
            // `static char doc[] =` with a value that a generator of code fills in.
            b"static" if after_assign => {
                self.next = self.tokens.pop();
                self.finished = true;
            }
            b"(" | b"[" => {
                if self.parens == 0 && text == b"(" {
                    self.open_paren(at);
                }
                self.parens += 1;
            }
            b")" | b"]" => {
                self.parens = self.parens.saturating_sub(1);
                if self.parens == 0 && text == b")" {
                    self.seen.close = Some(at);
                    self.seen.behind = 0;
                }
            }
            _ if self.parens > 0 => {
                self.seen.names_only &= token.kind == TokenKind::Ident || text == b",";
            }
            b"{" => self.open_brace(at),
            b"}" => {
                // The end of an `extern "C"` block, or a stray brace.
                self.linkage = self.linkage.saturating_sub(1);
                self.tokens.pop();
                self.finished = !self.tokens.is_empty();
            }
            b";" => self.finished = !self.is_old_style_head(),
            b"=" => (self.seen.assign, self.seen.after_assign) = (true, true),
            b"struct" | b"union" | b"enum" => self.seen.tag = true,
            b"typedef" => self.seen.typedef = true,
            _ => self.word(at, token, text),
        }
    }

    fn word(&mut self, at: u32, token: PpToken, text: &[u8]) {
        self.seen.specifier = is_specifier(text);
        if text == b"extern" && at == 0 || token.kind == TokenKind::Str && at == 1 {
            self.seen.extern_words += 1;
        }
        if token.kind == TokenKind::Ident && self.seen.close.is_some() {
            self.seen.behind += 1;
        }
    }

    fn open_paren(&mut self, at: u32) {
        self.seen.names_only = !std::mem::take(&mut self.seen.specifier);
        // __attribute__((…)) in front of a body does not name the function.
        self.seen.tag = false;
        if at > 0 && !self.seen.assign {
            self.seen.name = Some(at - 1);
        }
    }

    fn open_brace(&mut self, at: u32) {
        if self.seen.extern_words == 2 && at == 2 {
            self.tokens.clear();
            self.linkage += 1;
            self.seen = Seen::default();
            return;
        }
        self.braces = 1;
        self.seen.body =
            !self.seen.assign && !self.seen.tag && self.seen.close.is_some() && !self.seen.typedef;
        self.seen.tag = false;
    }

    fn inside_braces(&mut self, text: &[u8]) {
        match text {
            b"{" => self.braces += 1,
            b"}" => {
                self.braces -= 1;
                self.finished = self.braces == 0 && self.seen.body;
            }
            _ => {}
        }
    }

    /// Whether a `;` at depth 0 ends a parameter declaration of `int f(a, b) int a; char *b; {}`.
    fn is_old_style_head(&self) -> bool {
        self.seen.close.is_some()
            && self.seen.names_only
            && self.seen.behind >= 2
            && !self.seen.assign
            && !self.seen.typedef
    }

    fn take<'a, S: Source<'a>>(
        &mut self,
        files: &FileSet,
        expander: &Expander<'a, S>,
    ) -> Option<RawItem> {
        let following = self.next.take().into_iter().collect();
        let tokens = std::mem::replace(&mut self.tokens, following);
        let seen = std::mem::take(&mut self.seen);
        let broken = std::mem::take(&mut self.broken);
        self.finished = false;
        (self.braces, self.parens) = (0, 0);
        let function = seen.name.filter(|_| seen.body);
        let lone = tokens.len() == 1 && expander.text(&tokens[0]) == b";";
        if tokens.is_empty() || lone {
            return None;
        }
        let place = place_of(&tokens, expander);
        let tokens = gather(tokens, expander);
        let key = key_of(files, &tokens);
        Some(RawItem {
            tokens,
            function,
            place,
            key,
            broken,
        })
    }
}

/// Whether a word stands in front of parentheses that are no parameters.
fn is_specifier(word: &[u8]) -> bool {
    matches!(
        word,
        b"_Alignas"
            | b"_Atomic"
            | b"__attribute"
            | b"__attribute__"
            | b"__declspec"
            | b"__typeof__"
            | b"typeof"
    )
}

fn place_of<'a, S: Source<'a>>(
    tokens: &[PpToken],
    expander: &Expander<'a, S>,
) -> (FileId, ByteSpan) {
    let place = |token: &PpToken| match (token.expansion, token.spelling) {
        (None, Spelling::File(file, span)) => (file, span),
        (Some(id), _) => root_call(expander, id),
        (None, Spelling::Synthetic(_)) => (FileId(0), ByteSpan::default()),
    };
    let first = place(&tokens[0]);
    let last = place(&tokens[tokens.len() - 1]);
    if first.0 == last.0 {
        (first.0, first.1.join(last.1))
    } else {
        first
    }
}

fn root_call<'a, S: Source<'a>>(expander: &Expander<'a, S>, id: ExpansionId) -> (FileId, ByteSpan) {
    let mut expansion = &expander.expansions[id.0 as usize];
    while let Some(parent) = expansion.parent {
        expansion = &expander.expansions[parent.0 as usize];
    }
    expansion.call
}

/// Copies the expansions and made texts that `tokens` need, with ids of their own.
fn gather<'a, S: Source<'a>>(mut tokens: Vec<PpToken>, expander: &Expander<'a, S>) -> ItemTokens {
    let mut out = ItemTokens::default();
    let mut ids: FxHashMap<ExpansionId, ExpansionId> = FxHashMap::default();
    for (at, token) in (0u32..).zip(&mut tokens) {
        if let Spelling::Synthetic(span) = token.spelling {
            let start = u32::try_from(out.synthetic.len()).expect("below MAX_MADE");
            out.synthetic
                .extend_from_slice(&expander.synthetic[span.range()]);
            let len = u32::try_from(span.len()).expect("a part of it");
            token.spelling = Spelling::Synthetic(ByteSpan::new(start, start + len));
        }
        let mut next = token.expansion;
        if let Some(id) = next {
            token.expansion = Some(own_id(id, &mut ids, &mut out, expander));
        }
        while let Some(id) = next {
            let own = own_id(id, &mut ids, &mut out, expander);
            let range = &mut out.expansions[own.0 as usize].tokens;
            if range.end == 0 {
                range.start = at;
            }
            range.end = at + 1;
            next = expander.expansions[id.0 as usize].parent;
        }
    }
    for at in 0..out.expansions.len() {
        let parent = out.expansions[at].parent;
        out.expansions[at].parent = parent.and_then(|id| ids.get(&id).copied());
    }
    out.tokens = tokens;
    out
}

fn own_id<'a, S: Source<'a>>(
    id: ExpansionId,
    ids: &mut FxHashMap<ExpansionId, ExpansionId>,
    out: &mut ItemTokens,
    expander: &Expander<'a, S>,
) -> ExpansionId {
    *ids.entry(id).or_insert_with(|| {
        let own = ExpansionId(u32::try_from(out.expansions.len()).expect("below MAX_MADE"));
        let mut expansion = expander.expansions[id.0 as usize].clone();
        expansion.tokens = TokenRange::default();
        out.expansions.push(expansion);
        own
    })
}

fn key_of(files: &FileSet, item: &ItemTokens) -> u64 {
    let mut hasher = FxHasher::default();
    for (at, token) in (0u32..).zip(&item.tokens) {
        match token.spelling {
            Spelling::File(file, span) => (file, span).hash(&mut hasher),
            Spelling::Synthetic(_) => item.text(files, at).hash(&mut hasher),
        }
    }
    hasher.finish()
}
