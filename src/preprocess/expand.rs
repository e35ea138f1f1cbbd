//! Macro expansion that notes for every token which use of which macro made it.
//!
//! The algorithm is that of C11 6.10.3: arguments are expanded on their own unless `#` or `##`
//! touches them, the result is scanned again together with the text behind it, and a macro is not
//! expanded inside its own expansion.

use std::sync::Arc;

use super::macros::{BodyToken, MacroDef};
use super::origin::{Expansion, ExpansionId, PpToken, Spelling};
use super::stream::{MacroTable, Stream};
use crate::ast::TokenRange;
use crate::lex::{self, TokenKind};
use crate::source::{ByteSpan, FileId, FileSet};

/// Deepest nesting of macro calls in arguments of macro calls.
const MAX_DEPTH: u32 = 200;

/// Most tokens that one use of a macro in a file may make; hostile macros stop here.
const MAX_MADE_BY_USE: usize = 400_000;

/// Most tokens that all uses of one translation unit may make.
const MAX_MADE: usize = 20_000_000;

/// Where unexpanded tokens come from.
pub(crate) trait Source<'a> {
    /// Takes the next token.
    fn take(&mut self) -> Option<PpToken>;
    /// Looks at the next token.
    fn look(&mut self) -> Option<PpToken>;
    /// Macros as of now.
    fn find(&self, name: &[u8]) -> Option<&'a MacroDef>;
    /// Notes that a brace opened (+1) or closed (-1) at file scope.
    fn brace(&mut self, _by: i32) {}
}

impl<'a> Source<'a> for Stream<'a> {
    fn take(&mut self) -> Option<PpToken> {
        self.next()
    }

    fn look(&mut self) -> Option<PpToken> {
        self.peek()
    }

    fn find(&self, name: &[u8]) -> Option<&'a MacroDef> {
        self.macros.get(name).copied()
    }

    fn brace(&mut self, by: i32) {
        self.braces = self.braces.saturating_add_signed(by);
    }
}

/// Expands tokens as they are asked for.
pub(crate) struct Expander<'a, S> {
    files: &'a FileSet,
    pub(crate) source: S,
    contexts: Vec<Context<'a>>,
    pub(crate) expansions: Vec<Expansion>,
    pub(crate) synthetic: Vec<u8>,
    depth: u32,
    made: usize,
    /// `made` when the outermost use that is being expanded began.
    made_before: usize,
}

/// Tokens that wait to be scanned again.
struct Context<'a> {
    tokens: Vec<Scanned>,
    at: usize,
    /// The macro they came out of, which they must not name.
    of: Option<&'a MacroDef>,
    /// Nothing below may be read while this stands: an argument is expanded on its own.
    barrier: bool,
}

/// A token, and whether it has lost the right to be expanded.
#[derive(Clone, Copy)]
struct Scanned {
    token: PpToken,
    blue: bool,
}

impl<'a, S: Source<'a>> Expander<'a, S> {
    pub(crate) fn new(files: &'a FileSet, source: S) -> Self {
        Self {
            files,
            source,
            contexts: Vec::new(),
            expansions: Vec::new(),
            synthetic: Vec::new(),
            depth: 0,
            made: 0,
            made_before: 0,
        }
    }

    /// The bytes of a token.
    pub(crate) fn text<'t>(&'t self, token: &PpToken) -> &'t [u8] {
        text_of(self.files, &self.synthetic, token)
    }

    /// The next fully expanded token.
    pub(crate) fn next(&mut self) -> Option<PpToken> {
        self.next_scanned().map(|scanned| scanned.token)
    }

    fn next_scanned(&mut self) -> Option<Scanned> {
        loop {
            let scanned = self.read()?;
            if scanned.blue || scanned.token.kind != TokenKind::Ident {
                return Some(scanned);
            }
            let Some(def) = self
                .source
                .find(text_of(self.files, &self.synthetic, &scanned.token))
            else {
                return Some(scanned);
            };
            if self
                .contexts
                .iter()
                .any(|context| context.of.is_some_and(|of| std::ptr::eq(of, def)))
            {
                return Some(Scanned {
                    blue: true,
                    ..scanned
                });
            }
            if self.is_exhausted() || !self.expand(scanned.token, def) {
                return Some(scanned);
            }
        }
    }

    fn is_exhausted(&mut self) -> bool {
        if self.contexts.is_empty() {
            self.made_before = self.made;
        }
        self.made > MAX_MADE || self.made - self.made_before > MAX_MADE_BY_USE
    }

    fn read(&mut self) -> Option<Scanned> {
        while let Some(context) = self.contexts.last_mut() {
            if let Some(&scanned) = context.tokens.get(context.at) {
                context.at += 1;
                return Some(scanned);
            }
            if context.barrier {
                return None;
            }
            self.contexts.pop();
        }
        self.source
            .take()
            .map(|token| Scanned { token, blue: false })
    }

    fn opening_follows(&mut self) -> bool {
        for context in self.contexts.iter().rev() {
            if let Some(next) = context.tokens.get(context.at) {
                return text_of(self.files, &self.synthetic, &next.token) == b"(";
            }
            if context.barrier {
                return false;
            }
        }
        let next = self.source.look();
        next.is_some_and(|token| text_of(self.files, &self.synthetic, &token) == b"(")
    }

    /// Expands the use of `def` at `name`. Gives `false` if it is no use (a function-like macro
    /// without arguments).
    fn expand(&mut self, name: PpToken, def: &'a MacroDef) -> bool {
        let mut args = Vec::new();
        let mut end = None;
        if let Some(params) = &def.params {
            if !self.opening_follows() || self.depth >= MAX_DEPTH {
                return false;
            }
            (args, end) = self.arguments(params.count, params.variadic);
        }
        let id = self.begin(name, def, end);
        let tokens = self.substitute(def, &args, id);
        self.made += tokens.len();
        self.contexts.push(Context {
            tokens,
            at: 0,
            of: Some(def),
            barrier: false,
        });
        true
    }

    fn begin(&mut self, name: PpToken, def: &MacroDef, end: Option<PpToken>) -> ExpansionId {
        let call = self.call_site(&name, end);
        let text = String::from_utf8_lossy(self.text(&name)).into_owned();
        let id = ExpansionId(to_u32(self.expansions.len()));
        self.expansions.push(Expansion {
            name: Arc::from(text),
            definition: Some((def.file, def.span)),
            call,
            parent: name.expansion,
            tokens: TokenRange::default(),
        });
        id
    }

    /// The use as written in a file: for a use inside an expansion, that of the outermost one.
    fn call_site(&self, name: &PpToken, end: Option<PpToken>) -> (FileId, ByteSpan) {
        if let (None, Spelling::File(file, span)) = (name.expansion, name.spelling) {
            let whole = match end.map(|token| (token.expansion, token.spelling)) {
                Some((None, Spelling::File(last_file, last)))
                    if last_file == file && last >= span =>
                {
                    span.join(last)
                }
                _ => span,
            };
            return (file, whole);
        }
        match name.expansion {
            Some(parent) => self.expansions[parent.0 as usize].call,
            None => (FileId(0), ByteSpan::default()),
        }
    }

    /// Reads `( arg, … )`; gives the arguments and the closing parenthesis.
    fn arguments(&mut self, count: usize, variadic: bool) -> (Vec<Vec<Scanned>>, Option<PpToken>) {
        let mut args = vec![Vec::new()];
        let mut depth = 0u32;
        let mut end = None;
        let _open = self.read();
        while let Some(scanned) = self.read() {
            let text = text_of(self.files, &self.synthetic, &scanned.token);
            match text {
                b"(" => depth += 1,
                b")" if depth == 0 => {
                    end = Some(scanned.token);
                    break;
                }
                b")" => depth -= 1,
                b"," if depth == 0 && !(variadic && args.len() >= count) => {
                    args.push(Vec::new());
                    continue;
                }
                b"{" if self.contexts.is_empty() => self.source.brace(1),
                b"}" if self.contexts.is_empty() => self.source.brace(-1),
                _ => {}
            }
            args.last_mut().expect("starts with one").push(scanned);
        }
        args.resize_with(count.max(args.len()), Vec::new);
        (args, end)
    }

    fn substitute(
        &mut self,
        def: &MacroDef,
        args: &[Vec<Scanned>],
        id: ExpansionId,
    ) -> Vec<Scanned> {
        let mut expanded: Vec<Option<Vec<Scanned>>> = vec![None; args.len()];
        let mut out: Vec<Scanned> = Vec::with_capacity(def.body.len());
        let mut glue_to_nothing = false;
        for (at, body) in def.body.iter().enumerate() {
            let pasted = body.paste || def.body.get(at + 1).is_some_and(|next| next.paste);
            let param = body
                .param
                .map(|param| param as usize)
                .filter(|p| *p < args.len());
            let mut piece = match param {
                Some(param) if body.stringize => vec![self.stringize(&args[param], id)],
                Some(param) if pasted => self.adopt(&args[param], id),
                Some(param) => {
                    if expanded[param].is_none() {
                        expanded[param] = Some(self.expand_argument(&args[param], id));
                    }
                    expanded[param].clone().expect("filled above")
                }
                None => vec![body_token(def, body, id)],
            };
            if body.paste && !glue_to_nothing {
                self.paste(&mut out, &mut piece, def, body, id);
            }
            glue_to_nothing = pasted && piece.is_empty() && out.is_empty();
            out.append(&mut piece);
        }
        out
    }

    /// Marks the unexpanded tokens of an argument as coming from it.
    fn adopt(&mut self, arg: &[Scanned], id: ExpansionId) -> Vec<Scanned> {
        let tokens = arg.iter().map(|scanned| match scanned.token.expansion {
            None => {
                let token = PpToken {
                    expansion: Some(id),
                    from_argument: true,
                    ..scanned.token
                };
                Scanned { token, ..*scanned }
            }
            Some(_) => *scanned,
        });
        tokens.collect()
    }

    fn expand_argument(&mut self, arg: &[Scanned], id: ExpansionId) -> Vec<Scanned> {
        let first_new = self.expansions.len();
        let tokens = arg.to_vec();
        self.contexts.push(Context {
            tokens,
            at: 0,
            of: None,
            barrier: true,
        });
        self.depth += 1;
        let mut out = Vec::with_capacity(arg.len());
        while let Some(scanned) = self.next_scanned() {
            out.push(scanned);
        }
        self.depth -= 1;
        self.contexts.pop();
        self.made += out.len();
        for expansion in &mut self.expansions[first_new..] {
            expansion.parent.get_or_insert(id);
        }
        self.adopt(&out, id)
    }

    /// `#param`: the argument's spelling as a string literal.
    fn stringize(&mut self, arg: &[Scanned], id: ExpansionId) -> Scanned {
        let mut text = vec![b'"'];
        for (at, scanned) in arg.iter().enumerate() {
            if at > 0 {
                text.push(b' ');
            }
            for &byte in self.text(&scanned.token) {
                if matches!(byte, b'"' | b'\\') {
                    text.push(b'\\');
                }
                text.push(byte);
            }
        }
        text.push(b'"');
        self.made_token(&text, TokenKind::Str, id)
    }

    /// `left ## right`: replaces the last token of `out` and the first of `piece` by their union.
    fn paste(
        &mut self,
        out: &mut Vec<Scanned>,
        piece: &mut Vec<Scanned>,
        def: &MacroDef,
        body: &BodyToken,
        id: ExpansionId,
    ) {
        let variadic = def.params.as_ref().is_some_and(|params| {
            params.variadic && body.param.is_some_and(|p| p as usize + 1 == params.count)
        });
        let ends_in_comma = out
            .last()
            .is_some_and(|last| self.text(&last.token) == b",");
        if variadic && ends_in_comma {
            // `, ## __VA_ARGS__`: the comma goes when there is no argument, and stays as it is.
            if piece.is_empty() {
                out.pop();
            }
            return;
        }
        if piece.is_empty() || out.is_empty() {
            return;
        }
        let right = piece.remove(0);
        let left = out.pop().expect("checked above");
        let mut text = self.text(&left.token).to_vec();
        text.extend_from_slice(self.text(&right.token));
        for token in lex::lex(&text) {
            let part = &text[token.span.range()];
            out.push(self.made_token(part, token.kind, id));
        }
    }

    fn made_token(&mut self, text: &[u8], kind: TokenKind, id: ExpansionId) -> Scanned {
        let start = to_u32(self.synthetic.len());
        self.synthetic.extend_from_slice(text);
        let spelling = Spelling::Synthetic(ByteSpan::new(start, to_u32(self.synthetic.len())));
        let token = PpToken {
            kind,
            spelling,
            expansion: Some(id),
            from_argument: false,
        };
        Scanned { token, blue: false }
    }
}

fn body_token(def: &MacroDef, body: &BodyToken, id: ExpansionId) -> Scanned {
    let token = PpToken {
        kind: body.token.kind,
        spelling: Spelling::File(def.file, body.token.span),
        expansion: Some(id),
        from_argument: false,
    };
    Scanned { token, blue: false }
}

/// The bytes of a token whose made text, if it is made, stands in `synthetic`.
pub(crate) fn text_of<'t>(files: &'t FileSet, synthetic: &'t [u8], token: &PpToken) -> &'t [u8] {
    match token.spelling {
        Spelling::File(file, span) => files.get(file).slice(span),
        Spelling::Synthetic(span) => &synthetic[span.range()],
    }
}

/// Expands a closed list of tokens and gives the words.
pub(crate) fn expand_slice(
    files: &FileSet,
    macros: &MacroTable<'_>,
    tokens: Vec<PpToken>,
) -> Vec<Vec<u8>> {
    let mut expander = Expander::new(
        files,
        Slice {
            macros,
            tokens: tokens.into_iter().peekable(),
        },
    );
    let mut words = Vec::new();
    while let Some(token) = expander.next() {
        words.push(expander.text(&token).to_vec());
    }
    words
}

struct Slice<'m, 'a> {
    macros: &'m MacroTable<'a>,
    tokens: std::iter::Peekable<std::vec::IntoIter<PpToken>>,
}

impl<'a> Source<'a> for Slice<'_, 'a> {
    fn take(&mut self) -> Option<PpToken> {
        self.tokens.next()
    }

    fn look(&mut self) -> Option<PpToken> {
        self.tokens.peek().copied()
    }

    fn find(&self, name: &[u8]) -> Option<&'a MacroDef> {
        self.macros.get(name).copied()
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("MAX_MADE keeps expansions far below 2^32")
}
