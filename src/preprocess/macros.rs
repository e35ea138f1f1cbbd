//! Macro definitions.

use crate::lex::{Token, TokenKind};
use crate::source::{ByteSpan, FileId};

/// A `#define`.
#[derive(Debug, Clone)]
pub(crate) struct MacroDef {
    /// File of the definition.
    pub file: FileId,
    /// The name's bytes.
    pub name: ByteSpan,
    /// From the name to the end of the body.
    pub span: ByteSpan,
    /// The parameters of a function-like macro.
    pub params: Option<Params>,
    /// The replacement list.
    pub body: Vec<BodyToken>,
}

/// Parameters of a function-like macro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Params {
    /// Number of parameters, the variadic one included.
    pub count: usize,
    /// Whether the last one takes all remaining arguments.
    pub variadic: bool,
}

/// A token of a replacement list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyToken {
    /// Kind and bytes in the defining file.
    pub token: Token,
    /// The parameter it names.
    pub param: Option<u32>,
    /// Whether `#` stands in front of it (and it is a parameter).
    pub stringize: bool,
    /// Whether `##` glues it to the token before it.
    pub paste: bool,
}

/// Parses the tokens behind `#define`; `None` if there is no name.
pub(crate) fn parse_define(bytes: &[u8], tokens: &[Token], file: FileId) -> Option<MacroDef> {
    let (name, rest) = tokens.split_first()?;
    if name.kind != TokenKind::Ident {
        return None;
    }
    let text = |token: &Token| &bytes[token.span.range()];
    let function_like = rest
        .first()
        .is_some_and(|t| !t.space_before && text(t) == b"(");
    let mut names: Vec<&[u8]> = Vec::new();
    let mut params = None;
    let mut body = rest;
    if function_like {
        let close = rest.iter().position(|token| text(token) == b")")?;
        params = Some(parse_params(bytes, &rest[1..close], &mut names));
        body = &rest[close + 1..];
    }
    let end = tokens.last().map_or(name.span, |token| token.span);
    Some(MacroDef {
        file,
        name: name.span,
        span: name.span.join(end),
        params,
        body: parse_body(bytes, body, &names, function_like),
    })
}

/// Whether a compatibility header gives its stand-in a name of its own, which must not hide what
/// the function is:
///
/// ```c
/// #define PyDict_GetItemRef pyapi_compat_PyDict_GetItemRef
/// #define Py_NewRef(obj) _Py_NewRef(_PyObject_CAST(obj))
/// ```
pub(crate) fn is_own_name(bytes: &[u8], def: &MacroDef) -> bool {
    let name = &bytes[def.name.range()];
    let word = |token: &BodyToken| &bytes[token.token.span.range()];
    match (&def.params, &def.body[..]) {
        (None, [only]) => {
            let prefix = word(only).strip_suffix(name);
            name.starts_with(b"Py") && prefix.is_some_and(|prefix| prefix.ends_with(b"compat_"))
        }
        (Some(_), [first, ..]) => {
            name.starts_with(b"Py_") && word(first).strip_prefix(b"_") == Some(name)
        }
        _ => false,
    }
}

fn parse_params<'a>(bytes: &'a [u8], tokens: &[Token], names: &mut Vec<&'a [u8]>) -> Params {
    let mut variadic = false;
    for (i, token) in tokens.iter().enumerate() {
        match &bytes[token.span.range()] {
            b"," => {}
            b"..." => {
                variadic = true;
                // `args...` names the rest itself, a lone `...` is __VA_ARGS__.
                let named = i > 0 && tokens[i - 1].kind == TokenKind::Ident;
                if !named {
                    names.push(b"__VA_ARGS__");
                }
            }
            name => names.push(name),
        }
    }
    Params {
        count: names.len(),
        variadic,
    }
}

fn parse_body(
    bytes: &[u8],
    tokens: &[Token],
    names: &[&[u8]],
    function_like: bool,
) -> Vec<BodyToken> {
    let mut body: Vec<BodyToken> = Vec::with_capacity(tokens.len());
    let mut stringize = false;
    let mut paste = false;
    for (i, &token) in tokens.iter().enumerate() {
        let text = &bytes[token.span.range()];
        let param = names.iter().position(|name| *name == text).map(to_u32);
        match text {
            b"##" | b"%:%:" if i > 0 && i + 1 < tokens.len() => paste = true,
            b"#" | b"%:" if function_like && names_follow(bytes, tokens, i, names) => {
                stringize = true;
            }
            _ => body.push(BodyToken {
                token,
                param,
                stringize: std::mem::take(&mut stringize),
                paste: std::mem::take(&mut paste),
            }),
        }
    }
    body
}

fn names_follow(bytes: &[u8], tokens: &[Token], at: usize, names: &[&[u8]]) -> bool {
    tokens
        .get(at + 1)
        .is_some_and(|next| names.contains(&&bytes[next.span.range()]))
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a macro has fewer parameters than the file has bytes")
}
