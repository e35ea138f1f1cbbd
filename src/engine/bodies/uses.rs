//! The macros whose bodies may be changed: every use of them is seen, and written in a function.

use std::collections::{BTreeMap, BTreeSet};

use super::Place;
use super::written_out::WrittenOut;
use crate::lex::{Token, TokenKind};
use crate::preprocess::MacroDef;
use crate::program::Program;
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A macro with all of its uses.
#[derive(Debug)]
pub(super) struct Target<'p> {
    pub(super) def: &'p MacroDef,
    pub(super) uses: Vec<Use>,
}

/// One use, as written in a file.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) file: FileId,
    /// The name and the arguments.
    pub(super) span: ByteSpan,
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) written: WrittenOut,
}

/// The macros defined at `places` that may be changed, but for those that are used in arguments of
/// each other.
pub(super) fn targets<'p>(program: &Program<'p>, places: &BTreeSet<Place>) -> Vec<Target<'p>> {
    if places.is_empty() {
        return Vec::new();
    }
    let mut calls: BTreeMap<Place, BTreeSet<(Place, bool)>> = BTreeMap::new();
    let mut definitions: BTreeMap<Place, BTreeSet<Option<Place>>> = BTreeMap::new();
    let items = program.items.iter();
    for expansion in items.flat_map(|item| &item.tokens.expansions) {
        let is_written = expansion.parent.is_none();
        if let Some(place) = expansion.definition.filter(|place| places.contains(place)) {
            let known = calls.entry(place).or_default();
            known.insert((expansion.call, is_written));
        }
        if is_written {
            let known = definitions.entry(expansion.call).or_default();
            known.insert(expansion.definition);
        }
    }
    let starts = definitions.keys().map(|(file, span)| (*file, span.start()));
    let seen: BTreeSet<(FileId, ByteOffset)> = starts.collect();
    let all = calls.into_iter().filter_map(|((file, span), calls)| {
        let def = program.index[file.index()].define_at(span)?;
        let is_only = |(call, is_written): &(Place, bool)| {
            *is_written && definitions.get(call).is_some_and(|known| known.len() == 1)
        };
        if !calls.iter().all(is_only) {
            return None;
        }
        if !is_complete(program, def, &seen) {
            return None;
        }
        let calls = calls.into_iter().map(|(call, _)| call);
        let uses = calls.map(|call| used(program, def, call));
        Some(Target {
            def,
            uses: uses.collect::<Option<_>>()?,
        })
    });
    apart(all.collect())
}

/// Whether the name stands only where macros were `seen` in use: other text may be code that was
/// not understood, or that no build compiles.
fn is_complete(
    program: &Program<'_>,
    def: &MacroDef,
    seen: &BTreeSet<(FileId, ByteOffset)>,
) -> bool {
    let name = program.files.get(def.file).slice(def.name);
    program.files.iter().all(|(id, file)| {
        let uses = program.index[id.index()].uses_of(file, name);
        uses.is_some_and(|uses| uses.iter().all(|&at| seen.contains(&(id, at))))
    })
}

/// The use of `def` at a place; `None` where it cannot be written out.
pub(super) fn used(program: &Program<'_>, def: &MacroDef, (file, span): Place) -> Option<Use> {
    let bytes = program.files.get(file).bytes();
    let arguments = match &def.params {
        None => Vec::new(),
        Some(params) if params.variadic => return None,
        Some(_) => arguments(bytes, program.index[file.index()].tokens(), span),
    };
    Some(Use {
        file,
        span,
        written: WrittenOut::new(program.files.get(def.file).bytes(), def, &arguments)?,
        arguments,
    })
}

/// The texts of the arguments of the use of a macro.
fn arguments(bytes: &[u8], tokens: &[Token], used: ByteSpan) -> Vec<Vec<u8>> {
    let first = tokens.partition_point(|token| token.span.start() < used.start());
    let inside = tokens[first..].iter();
    let inside = inside.take_while(|token| token.span.end() <= used.end());
    let mut depth = 0;
    let mut spans: Vec<Option<ByteSpan>> = vec![None];
    for token in inside.skip(1) {
        let text = &bytes[token.span.range()];
        match text {
            b"(" | b"[" | b"{" => depth += 1,
            b")" | b"]" | b"}" => depth -= 1,
            _ => {}
        }
        let is_border = depth == 0 || depth == 1 && text == b"(" && spans == [None];
        match text {
            b"," if depth == 1 && token.kind == TokenKind::Punct => spans.push(None),
            _ if is_border => {}
            _ => {
                let last = spans.last_mut().expect("there is always one");
                *last = Some(last.map_or(token.span, |span| span.join(token.span)));
            }
        }
    }
    let texts = spans.into_iter();
    texts
        .map(|span| span.map_or(Vec::new(), |span| bytes[span.range()].to_vec()))
        .collect()
}

/// Those whose uses lie in no use of another, or of themselves.
fn apart(targets: Vec<Target<'_>>) -> Vec<Target<'_>> {
    let mut places: Vec<Place> = targets
        .iter()
        .flat_map(|target| target.uses.iter().map(|used| (used.file, used.span)))
        .collect();
    places.sort_unstable();
    let pairs = places.windows(2);
    let clash = pairs.filter(|pair| pair[0].0 == pair[1].0 && pair[1].1.start() < pair[0].1.end());
    let clash: BTreeSet<Place> = clash.flatten().copied().collect();
    let is_free = |used: &Use| !clash.contains(&(used.file, used.span));
    let mut targets = targets;
    targets.retain(|target| target.uses.iter().all(is_free));
    targets
}
