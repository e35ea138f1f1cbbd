//! Bodies of macros in blocks of their own, where the variable that a reference needs has no place.
//!
//! ```c
//! #define ADD(key) \
//!     add(PyDict_GetItem(d, key))          #define ADD(key) \
//!                                              do { \
//! ADD(a);                                          PyObject *value = …; \
//! ADD(b);                                          add(value); \
//!                                                  Py_XDECREF(value); \
//!                                              } while (0)
//! ```
//!
//! The fix is that of a copy of the package which has the block.

use std::collections::BTreeSet;

use super::edited::Edited;
use super::uses::{Target, targets};
use super::{continued, is_open};
use crate::ast::{ExprKind, Function, StmtId, StmtKind};
use crate::edit::{BraceStyle, Confidence, Edit};
use crate::engine::Config;
use crate::lex::lex;
use crate::package::Package;
use crate::preprocess::Expansion;
use crate::program::{Body, Program, ProgramItem};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};
use crate::validate::same_steps;

/// Looks again at what the uses of macros do not agree on, or have no place for.
pub(in crate::engine) fn solve(
    package: &Package,
    config: &Config,
    cx: &PackageCx<'_>,
    findings: &mut [Finding],
) {
    let open = |it: &Finding| it.rule.code.starts_with("UG1") && is_open(cx.program, it);
    let places = findings.iter().filter(|it| open(it));
    let places: BTreeSet<_> = places.map(|it| (it.file, it.span)).collect();
    let targets = targets(cx.program, &places);
    let enclosed = targets
        .iter()
        .filter_map(|target| Some((target, edits(cx, target)?)));
    let enclosed: Vec<(&Target<'_>, Vec<Edit>)> = enclosed.collect();
    if enclosed.is_empty() {
        return;
    }
    let mut written: Vec<Edit> = enclosed.iter().flat_map(|(_, it)| it).cloned().collect();
    written.sort_by_key(Edit::place);
    let copy = Edited::new(package, cx.program, &written);
    let mut same = Vec::new();
    let found = copy.found_in_macros(config, |copied| {
        let targets = enclosed.iter().map(|(target, _)| target);
        same.extend(targets.map(|target| Enclosed::new(cx, target, &copy).holds(copied)));
        same.contains(&true)
    });
    let near = findings.iter().enumerate().filter(|(_, it)| open(it));
    let near: Vec<(usize, &Finding)> = near.collect();
    let mut solved = Vec::new();
    for found in &found {
        let (Outcome::Fix(fix), Some(number)) = (&found.outcome, copy.number(&near, found)) else {
            continue;
        };
        // What is to confirm names lines of the copy.
        if fix.confidence != Confidence::Safe {
            continue;
        }
        let finding = &findings[number];
        let of_target = enclosed.iter().zip(&same).find(|((target, _), same)| {
            **same && (target.def.file, target.def.span) == (finding.file, finding.span)
        });
        if let Some(((_, edits), _)) = of_target {
            let edits: Vec<&Edit> = edits.iter().collect();
            solved.push((number, copy.completed(package, fix.clone(), &edits)));
        }
    }
    for (number, fix) in solved {
        findings[number].outcome = Outcome::Fix(fix);
    }
}

/// The edits that put the body of a macro into a block.
fn edits(cx: &PackageCx<'_>, target: &Target<'_>) -> Option<Vec<Edit>> {
    let def = target.def;
    let bytes = cx.file(def.file).bytes();
    let first = def.body.first()?.token.span;
    if matches!(&bytes[first.range()], b"do" | b"{") {
        return None;
    }
    let name_end = def.name.end().index();
    let start = match def.params {
        None => name_end,
        Some(_) => name_end + memchr::memchr(b')', &bytes[name_end..])? + 1,
    };
    let start = ByteOffset(u32::try_from(start).ok()?);
    let span = ByteSpan::new(start.0, def.span.end().0);
    let text = block(cx, target, span)?;
    Some(continued::edits(def, bytes, &vec![(span, text)]))
}

/// The body, which is at `span`, in a block.
fn block(cx: &PackageCx<'_>, target: &Target<'_>, span: ByteSpan) -> Option<Vec<u8>> {
    let bytes = cx.file(target.def.file).bytes();
    let layout = cx.layout(target.def.file, span);
    let ending = layout.line_ending(span.start()).as_bytes();
    let lines: Vec<&[u8]> = bytes[span.range()]
        .split(|&byte| byte == b'\n')
        .map(bare)
        .collect();
    let (outer, lines) = match &lines[..] {
        [only] => {
            let outer = layout.step().deeper(layout.indentation(span.start()));
            let line = [&outer, only.trim_ascii()].concat();
            (outer, vec![line])
        }
        [b"", rest @ ..] => {
            let outer = blanks(rest.iter().find(|line| !line.is_empty())?).to_vec();
            (outer, rest.iter().map(|line| line.to_vec()).collect())
        }
        _ => return None,
    };
    let is_statement = is_statement(cx, target)?;
    let opening: &[&[u8]] = match (is_statement, layout.braces()) {
        (true, BraceStyle::SameLine) => &[b"do {"],
        (true, BraceStyle::NextLine) => &[b"do", b"{"],
        (false, BraceStyle::SameLine | BraceStyle::NextLine) => &[b"{"],
        (_, BraceStyle::Indented) => return None,
    };
    let closing: &[u8] = match is_statement {
        true => b"} while (0)",
        false => b"}",
    };
    let mut new = Vec::new();
    for line in opening {
        new.extend([ending, &outer, line].concat());
    }
    for line in &lines {
        new.extend_from_slice(ending);
        if !line.is_empty() {
            let blanks = blanks(line);
            new.extend(layout.step().deeper(blanks));
            new.extend_from_slice(&line[blanks.len()..]);
        }
    }
    if !matches!(new.last(), Some(b';' | b'}')) {
        new.push(b';');
    }
    new.extend([ending, &outer, closing].concat());
    // A text over two lines would get other blanks.
    let words = |text: &[u8]| -> Vec<Vec<u8>> {
        let tokens = lex(text).into_iter();
        tokens.map(|it| text[it.span.range()].to_vec()).collect()
    };
    let body = words(&bytes[span.range()]);
    let new_words = words(&new);
    let opened = new_words.iter().position(|word| word == b"{")? + 1;
    new_words[opened..].starts_with(&body).then_some(new)
}

/// Whether a `;` stands behind each use, or behind none; `None` if they differ.
fn is_statement(cx: &PackageCx<'_>, target: &Target<'_>) -> Option<bool> {
    let ends = target.uses.iter().map(|used| {
        let tokens = cx.program.index[used.file.index()].tokens();
        let next = tokens.partition_point(|token| token.span.start() < used.span.end());
        let next = tokens.get(next).map(|token| token.span.range());
        next.is_some_and(|range| &cx.file(used.file).bytes()[range] == b";")
    });
    let ends: BTreeSet<bool> = ends.collect();
    match ends.len() {
        1 => ends.first().copied(),
        _ => None,
    }
}

/// A line without its backslash.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii_end();
    line.strip_suffix(b"\\").unwrap_or(line).trim_ascii_end()
}

fn blanks(line: &[u8]) -> &[u8] {
    &line[..line.len() - line.trim_ascii_start().len()]
}

/// A macro whose body is in a block in the copy.
struct Enclosed<'e> {
    cx: &'e PackageCx<'e>,
    target: &'e Target<'e>,
    /// Where its name is there.
    name: ByteOffset,
    copy: &'e Edited<'e>,
}

impl<'e> Enclosed<'e> {
    fn new(cx: &'e PackageCx<'e>, target: &'e Target<'e>, copy: &'e Edited<'e>) -> Self {
        let name = copy.moved(target.def.file, target.def.name.start());
        Self {
            cx,
            target,
            name,
            copy,
        }
    }

    /// Whether all uses are whole statements, and do in a block what they did without it.
    fn holds(&self, copied: &Program<'_>) -> bool {
        let old = using(
            self.cx.program,
            self.target.def.file,
            self.target.def.name.start(),
        );
        let new = using(copied, self.target.def.file, self.name);
        let mut pairs = old.iter().zip(&new);
        old.len() == new.len() && pairs.all(|((old, _), (new, uses))| self.is_same(old, new, uses))
    }

    fn is_same(&self, old: &ProgramItem, new: &ProgramItem, uses: &[&Expansion]) -> bool {
        let (Some(Body::Function(before)), Some(Body::Function(after))) = (&old.body, &new.body)
        else {
            return false;
        };
        let (file, span) = old.place;
        let place = (file, self.copy.moved(file, span.start()));
        (old.unit, old.config, place) == (new.unit, new.config, (new.place.0, new.place.1.start()))
            && uses.iter().all(|used| is_block(new, after, used))
            && same_steps(before, after)
    }
}

/// The items with uses of the macro that is defined at a place.
fn using<'p>(
    program: &'p Program<'_>,
    file: FileId,
    name: ByteOffset,
) -> Vec<(&'p ProgramItem, Vec<&'p Expansion>)> {
    let is_use = |it: &&Expansion| {
        let place = it.definition.map(|(of, span)| (of, span.start()));
        place == Some((file, name))
    };
    let items = program.items.iter();
    let items = items.map(|item| (item, item.tokens.expansions.iter().filter(is_use).collect()));
    items
        .filter(|(_, uses): &(_, Vec<_>)| !uses.is_empty())
        .collect()
}

/// Whether the use is a statement that nothing behind it reaches into: what lives in a block ends
/// with it.
///
/// ```c
/// #define TAKE(key) char text[8]; fill(text, PyDict_GetItem(d, key)); result = text;
/// ```
fn is_block(item: &ProgramItem, function: &Function, used: &Expansion) -> bool {
    let tree = &function.tree;
    let range = used.tokens;
    let is_last = |end: u32| {
        let token = item.tokens.tokens.get(range.end as usize);
        end == range.end || end == range.end + 1 && token.is_some_and(|it| it.expansion.is_none())
    };
    let stmts = tree.stmts.iter();
    let mut whole = stmts.filter(|it| it.range.start == range.start && is_last(it.range.end));
    let body = whole.find_map(|it| match &it.kind {
        StmtKind::DoWhile { body, .. } => match &tree.stmt(*body).kind {
            StmtKind::Block(stmts) => Some(stmts),
            _ => None,
        },
        StmtKind::Block(stmts) => Some(stmts),
        _ => None,
    });
    let is_declared = |&stmt: &StmtId| matches!(tree.stmt(stmt).kind, StmtKind::Decl(_));
    let mut exprs = tree.exprs.iter().filter(|it| range.contains(it.range));
    let has_literal = exprs.any(|it| matches!(it.kind, ExprKind::Compound { .. }));
    !has_literal && body.is_some_and(|stmts| !stmts.iter().any(is_declared))
}
