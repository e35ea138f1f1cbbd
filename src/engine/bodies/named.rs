//! Functions whose names go through a macro: one configuration has the function there, another what
//! the macro makes of the name.
//!
//! ```c
//! #ifdef INJECT_FAULTS
//! #define F(name) name##_custom
//! #define PyList_GetItem_custom(...) (fails() ? NULL : PyList_GetItem(__VA_ARGS__))
//! #else
//! #define F(name) name
//! #endif
//!
//! v = F(PyList_GetItem)(list, i);          v = F(PyList_GetItemRef)(list, i);
//! ```
//!
//! The fix is that of a copy of the package without the macro. What the macro makes of the strong
//! name is defined beside what it makes of the old one: `NULL`, or just what the function gives.

use std::collections::BTreeSet;

use super::edited::Edited;
use crate::capi::{Form, replacement};
use crate::edit::{Edit, Fix};
use crate::engine::Config;
use crate::lex::{TokenKind, lex};
use crate::package::Package;
use crate::preprocess::MacroDef;
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::strong;

/// Looks again at lookups that have no fix because a macro gets the name of the function.
pub(in crate::engine) fn solve(
    package: &Package,
    config: &Config,
    cx: &PackageCx<'_>,
    findings: &mut [Finding],
) {
    let is_open = |finding: &Finding| matches!(&finding.outcome, Outcome::Manual(reason) if strong::is_name_in_macro(reason));
    let open: Vec<usize> = (0..findings.len())
        .filter(|&at| is_open(&findings[at]))
        .collect();
    let named = open.iter().filter_map(|&at| Named::new(cx, &findings[at]));
    let mut named: Vec<Named> = named.collect();
    named.sort_by_key(|named| (named.file, named.span));
    named.dedup();
    if named.is_empty() {
        return;
    }
    let bare: Vec<Edit> = named.iter().map(Named::bare).collect();
    let copy = Edited::new(package, cx.program, &bare);
    for (at, fix) in copy.fixes(config, &open, findings) {
        if let Some(fix) = with_macro(cx, copy.composed(package, fix), &named) {
            findings[at].outcome = Outcome::Fix(fix);
        }
    }
}

/// `F(PyList_GetItem)`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    file: FileId,
    span: ByteSpan,
    /// `F`
    by: Box<[u8]>,
    borrowed: &'static str,
    strong: &'static str,
}

impl Named {
    /// The name that the call of a finding begins with.
    fn new(cx: &PackageCx<'_>, finding: &Finding) -> Option<Self> {
        let file = cx.file(finding.file);
        let tokens = cx.program.index[finding.file.index()].tokens();
        let first = tokens.partition_point(|token| token.span.start() < finding.span.start());
        let [by, open, name, close] = tokens.get(first..first + 4)? else {
            return None;
        };
        let is_call = by.kind == TokenKind::Ident
            && file.slice(open.span) == b"("
            && file.slice(close.span) == b")";
        let replacement = replacement(std::str::from_utf8(file.slice(name.span)).ok()?)?;
        (is_call && replacement.form == Form::Return).then(|| Self {
            file: finding.file,
            span: by.span.join(close.span),
            by: file.slice(by.span).into(),
            borrowed: replacement.borrowed,
            strong: replacement.strong,
        })
    }

    /// The name without the macro.
    fn bare(&self) -> Edit {
        Edit::new(self.file, self.span, self.borrowed.into())
    }
}

/// A fix of the copy, with the macro around the new names; `None` if it is not known what the macro
/// makes of them.
fn with_macro(cx: &PackageCx<'_>, mut fix: Fix, named: &[Named]) -> Option<Fix> {
    let is_changed = |named: &&Named| {
        let mut edits = fix.edits.iter();
        edits.any(|edit| edit.file == named.file && edit.span.contains(named.span))
    };
    let changed: Vec<&Named> = named.iter().filter(is_changed).collect();
    let first = *changed.first()?;
    let is_alike = |it: &&Named| it.by == first.by && it.borrowed == first.borrowed;
    let mut written = 0;
    for edit in &mut fix.edits {
        let (text, count) = wrapped(&edit.text, &first.by, first.strong.as_bytes());
        edit.text = text;
        written += count;
    }
    fix.edits.extend(definitions(cx, first)?);
    fix.edits.sort_by_key(Edit::place);
    (changed.iter().all(is_alike) && written == changed.len()).then_some(fix)
}

/// `text` with `by(name)` for `name`, and how often it stands there.
fn wrapped(text: &[u8], by: &[u8], name: &[u8]) -> (Vec<u8>, usize) {
    let (mut new, mut at, mut count) = (Vec::new(), 0, 0);
    for token in lex(text) {
        let word = token.span.range();
        if token.kind == TokenKind::Ident && &text[word.clone()] == name {
            new.extend_from_slice(&text[at..word.start]);
            new.extend_from_slice(&[by, b"(", name, b")"].concat());
            at = word.end;
            count += 1;
        }
    }
    new.extend_from_slice(&text[at..]);
    (new, count)
}

/// The definitions of what the macro makes of the strong name that there are not by now.
fn definitions(cx: &PackageCx<'_>, named: &Named) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut known = BTreeSet::new();
    for def in defines(cx, &named.by) {
        let made = |name: &str| made_of(cx.file(def.file).bytes(), def, name.as_bytes());
        let (old, new) = (made(named.borrowed)?, made(named.strong)?);
        let is_there = cx.is_macro(std::str::from_utf8(&new).ok()?);
        if old == named.borrowed.as_bytes() || is_there || !known.insert(old.clone()) {
            continue;
        }
        let around = defines(cx, &old);
        if around.is_empty() {
            return None;
        }
        for around in around {
            edits.push(beside(cx, around, &new, named)?);
        }
    }
    Some(edits)
}

fn defines<'a>(cx: &PackageCx<'a>, name: &[u8]) -> Vec<&'a MacroDef> {
    let files = cx.program.files.iter().zip(cx.program.index);
    let found = files.flat_map(|((_, file), index)| {
        let defines = index.defines(file, name).into_iter();
        defines.filter_map(|define| index.define_at(define.name.join(define.body)))
    });
    found.collect()
}

/// What a macro makes of a name that it gets: the name, or one with more at one end.
fn made_of(bytes: &[u8], def: &MacroDef, name: &[u8]) -> Option<Vec<u8>> {
    let params = def.params.as_ref()?;
    if params.count != 1 || params.variadic {
        return None;
    }
    let words = def.body.iter().map(|it| match it.param {
        Some(_) => name,
        None => &bytes[it.token.span.range()],
    });
    let words: Vec<&[u8]> = words.collect();
    let is_name = |at: usize| def.body[at].param.is_some() && !def.body[at].stringize;
    match def.body.len() {
        1 if is_name(0) => Some(name.to_vec()),
        2 if def.body[1].paste && is_name(0) != is_name(1) => Some(words.concat()),
        _ => None,
    }
}

/// The definition of `new` beside `def`, which it is like but for the function; `None` if that gives
/// more than what the function does, or `NULL`.
fn beside(cx: &PackageCx<'_>, def: &MacroDef, new: &[u8], named: &Named) -> Option<Edit> {
    let bytes = cx.file(def.file).bytes();
    if !gives_the_same(bytes, def, named.borrowed.as_bytes()) {
        return None;
    }
    let start = memchr::memrchr(b'\n', &bytes[..def.span.start().index()]);
    let start = start.map_or(0, |newline| newline + 1);
    let end = def.span.end().index();
    let end = end + memchr::memchr(b'\n', &bytes[end..])?;
    // A comment behind it may run on, over the new lines.
    if memchr::memmem::find(&bytes[def.span.end().index()..end], b"/*").is_some() {
        return None;
    }
    let mut lines = [&bytes[start..def.name.start().index()], new].concat();
    let mut at = def.name.end().index();
    for it in &def.body {
        let word = it.token.span.range();
        if &bytes[word.clone()] == named.borrowed.as_bytes() {
            lines.extend_from_slice(&bytes[at..word.start]);
            lines.extend_from_slice(named.strong.as_bytes());
            at = word.end;
        }
    }
    lines.extend_from_slice(&bytes[at..=end]);
    let rest = &bytes[end + 1..];
    let blank = rest.iter().position(|&byte| byte == b'\n');
    let blank = blank.filter(|&newline| rest[..newline].trim_ascii().is_empty());
    let before = blank.map_or(&b""[..], |newline| &rest[..=newline]);
    let place = u32::try_from(end + 1).expect("files are small");
    Some(Edit::new(
        def.file,
        ByteSpan::new(place, place),
        [before, &lines].concat(),
    ))
}

/// Whether a macro gives what `function` does, which it calls last, or `NULL`.
fn gives_the_same(bytes: &[u8], def: &MacroDef, function: &[u8]) -> bool {
    let words = def.body.iter().map(|it| &bytes[it.token.span.range()]);
    let words: Vec<&[u8]> = words.collect();
    let words = match &words[..] {
        [b"(", inner @ .., b")"] if is_one(inner) => inner,
        all => all,
    };
    let Some(at) = words.iter().position(|&word| word == function) else {
        return false;
    };
    let (before, call) = (&words[..at], &words[at + 1..]);
    let calls =
        matches!(call, [b"(", args @ .., b")"] if is_one(args) && !args.contains(&function));
    let is_plain = match before {
        [] => true,
        [condition @ .., b"?", b"NULL", b":"] => {
            is_one(condition)
                && !condition
                    .iter()
                    .any(|word| matches!(*word, b"?" | b"," | b"="))
        }
        _ => false,
    };
    calls && is_plain
}

/// Whether the parentheses of `words` are its own.
fn is_one(words: &[&[u8]]) -> bool {
    let mut depth = 0i32;
    let closes = |word: &&[u8]| {
        match *word {
            b"(" => depth += 1,
            b")" => depth -= 1,
            _ => {}
        }
        depth < 0
    };
    !words.iter().any(closes) && depth == 0
}
