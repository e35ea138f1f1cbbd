//! Uses of macros that leave the function on some path, written out where a reference has to be
//! released on it.
//!
//! ```c
//! #define CHECK(call) do { int failed = (call); if (failed) return failed; } while (0)
//!
//! CHECK(resize(v, 1));                 {
//! total = PyObject_Size(item);             int failed = resize(v, 1);
//!                                          if (failed) {
//!                                              Py_DECREF(item);
//!                                              return failed;
//!                                          }
//!                                      }
//!                                      total = PyObject_Size(item);
//!                                      Py_DECREF(item);
//! ```
//! So it is in a loop that a critical section is for. A function that could be split instead is, where more than a few uses would be written out.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edited;
use super::uses::{Use, used};
use crate::ast::{StmtId, StmtKind, Tree};
use crate::edit::{BraceStyle, Edit, Fix, Layout};
use crate::engine::Config;
use crate::lex::lex;
use crate::package::Package;
use crate::program::ProgramItem;
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};
use crate::strong;
use crate::transforms::critical_section::dict_next;

/// Most uses that are written out in a function that can be split.
const MAX_WRITTEN_OUT: usize = 2;

/// Looks again at lookups that have no fix because a macro leaves the function.
pub(in crate::engine) fn solve(
    package: &Package,
    config: &Config,
    cx: &PackageCx<'_>,
    findings: &mut [Finding],
) {
    let mut open: Vec<usize> = (0..findings.len())
        .filter(|&at| is_open(&findings[at]))
        .collect();
    let places = open
        .iter()
        .map(|&at| (findings[at].file, findings[at].span));
    let mut written = leaving(cx, &places.collect::<Vec<_>>());
    // Of all uses first, then of those alone in which something is released.
    for is_last in [false, true] {
        if written.is_empty() {
            return;
        }
        let copy = Edited::new(package, cx.program, &written);
        let fixes = copy.fixes(config, &open, findings);
        if is_last {
            for (at, fix) in fixes {
                findings[at].outcome = Outcome::Fix(copy.composed(package, fix));
            }
            return;
        }
        open.retain(|&at| {
            let fix = fixes.get(&at);
            let count = fix.map(|fix| copy.touched(std::iter::once(fix)).len());
            !is_split(&findings[at]) || count.is_some_and(|count| count <= MAX_WRITTEN_OUT)
        });
        let asked: Vec<&Fix> = open.iter().filter_map(|at| fixes.get(at)).collect();
        let asked = fixes.values().filter(|fix| asked.contains(fix));
        written = copy.touched(asked);
    }
}

fn is_open(finding: &Finding) -> bool {
    let is_left =
        |reason: &str| strong::is_left_by_macro(reason) || dict_next::is_left_by_macro(reason);
    matches!(&finding.outcome, Outcome::Manual(reason) if is_left(reason)) || is_split(finding)
}

/// Whether the function is split so that the reference is released where no macro leaves it.
fn is_split(finding: &Finding) -> bool {
    matches!(&finding.outcome, Outcome::Fix(fix) if strong::is_lent(fix))
}

/// The uses of macros in the functions around `places` that can be written out, as edits.
fn leaving(cx: &PackageCx<'_>, places: &[(FileId, ByteSpan)]) -> Vec<Edit> {
    let mut edits: BTreeMap<(FileId, ByteSpan), BTreeSet<Option<Edit>>> = BTreeMap::new();
    for (item, function) in cx.program.functions() {
        let (file, span) = item.place;
        if !places
            .iter()
            .any(|(of, at)| *of == file && span.contains(*at))
        {
            continue;
        }
        let stmts = (0u32..).zip(&function.tree.stmts);
        for (at, _) in stmts {
            if let Some((place, edit)) = written_out(cx, item, &function.tree, StmtId(at)) {
                edits.entry(place).or_default().insert(edit);
            }
        }
    }
    let mut all: Vec<Edit> = Vec::new();
    for (_, mut edits) in edits {
        // Configurations agree on what the macro is, and no use holds another.
        if let (1, Some(Some(edit))) = (edits.len(), edits.pop_first())
            && all
                .last()
                .is_none_or(|last| last.file != edit.file || last.span.end() <= edit.span.start())
        {
            all.push(edit);
        }
    }
    all
}

/// Where `stmt` is the use of a macro that may leave, and the use written out if that is possible.
fn written_out(
    cx: &PackageCx<'_>,
    item: &ProgramItem,
    tree: &Tree,
    stmt: StmtId,
) -> Option<((FileId, ByteSpan), Option<Edit>)> {
    let range = tree.stmt(stmt).range;
    let (first, last) = (
        item.tokens.tokens.get(range.start as usize)?,
        item.tokens.tokens.get(range.end.checked_sub(1)? as usize)?,
    );
    let root = item.tokens.root(first.expansion?);
    let is_use = root.tokens.start == range.start
        && root.tokens.end + 1 == range.end
        && last.expansion.is_none();
    let (file, span) = item.tokens.file_span(range)?;
    if !is_use || !may_leave(tree, stmt) || file != item.place.0 {
        return None;
    }
    let text = || {
        let (of, define) = root.definition?;
        let def = cx.program.index[of.index()].define_at(define)?;
        if !is_defined_once(cx, cx.file(of).slice(def.name)) {
            return None;
        }
        let is_plain = def
            .body
            .iter()
            .all(|token| !token.paste && !token.stringize);
        let used = used(cx.program, def, root.call).filter(|_| is_plain)?;
        Some(in_place(&cx.layout(file, span), span, &used))
    };
    let edit = text()
        .flatten()
        .map(|(span, text)| Edit::new(file, span, text));
    Some(((file, span), edit))
}

/// Whether the package defines the macro in one place: what is written out is what every build
/// has there.
fn is_defined_once(cx: &PackageCx<'_>, name: &[u8]) -> bool {
    let files = cx.program.files.iter().zip(cx.program.index);
    let defines = files.map(|((_, file), index)| index.defines(file, name).len());
    defines.sum::<usize>() == 1
}

/// The edit that writes out the statement at `span`: as the body of an `if` without braces it goes
/// where its braces go.
fn in_place(layout: &Layout<'_>, span: ByteSpan, used: &Use) -> Option<(ByteSpan, Vec<u8>)> {
    let head = layout.braceless_head(span).filter(|head| {
        let between = layout.text_of(ByteSpan::new(head.end.0, span.start().0));
        between.iter().all(u8::is_ascii_whitespace)
    });
    let Some(head) = head.filter(|_| layout.braces() != BraceStyle::Indented) else {
        let block = block(used)?;
        let is_body = layout.braceless_head(span).is_some();
        let alone = alone(&block).filter(|_| !is_body);
        let lines = alone.and_then(|text| lines(text, layout.braces()));
        let lines = lines.or_else(|| self::lines(&block, layout.braces()))?;
        return Some((span, indented(layout, span.start(), &lines)));
    };
    let lines = lines(&block(used)?, layout.braces())?;
    let block = indented(layout, head.start, &lines);
    let outer = layout.indentation(head.start);
    let ending = layout.line_ending(head.start).as_bytes();
    let before = match layout.braces() {
        BraceStyle::NextLine => [ending, outer].concat(),
        BraceStyle::SameLine | BraceStyle::Indented => b" ".to_vec(),
    };
    let text = [before, block].concat();
    Some((ByteSpan::new(head.end.0, span.end().0), text))
}

/// Whether `stmt` returns or jumps on some path only, and can be written without its `do` and
/// `while (0)`.
fn may_leave(tree: &Tree, stmt: StmtId) -> bool {
    let outer = tree.stmt(stmt);
    if always_leaves(tree, stmt) {
        return false;
    }
    let stmts = tree.stmts.iter();
    let inside = stmts.filter(|inner| outer.range.contains(inner.range));
    let mut leaves = false;
    for inner in inside {
        match inner.kind {
            StmtKind::Return(_) | StmtKind::Goto(_) => leaves = true,
            StmtKind::Break | StmtKind::Continue | StmtKind::Label { .. } => return false,
            _ => {}
        }
    }
    leaves && matches!(outer.kind, StmtKind::DoWhile { .. })
}

/// Whether `stmt` ends in a jump: what has to be released can be released in front of it.
fn always_leaves(tree: &Tree, stmt: StmtId) -> bool {
    match &tree.stmt(stmt).kind {
        StmtKind::Return(_) | StmtKind::Goto(_) => true,
        StmtKind::Block(stmts) => stmts.last().is_some_and(|&last| always_leaves(tree, last)),
        StmtKind::DoWhile { body, .. } => always_leaves(tree, *body),
        _ => false,
    }
}

/// The block of `do { … } while (0)`.
fn block(used: &Use) -> Option<Vec<u8>> {
    let text = &used.written.text;
    let tokens = lex(text);
    let words: Vec<&[u8]> = tokens
        .iter()
        .map(|token| &text[token.span.range()])
        .collect();
    let [b"do", b"{", .., b"}", b"while", b"(", b"0" | b"false", b")"] = words[..] else {
        return None;
    };
    let (open, close) = (
        tokens[1].span.start().index(),
        tokens[tokens.len() - 5].span.end().index(),
    );
    Some(without_parentheses(&text[open..close], &used.arguments))
}

/// The statement of `{ if (failed) return failed; }`, which needs no block.
fn alone(block: &[u8]) -> Option<&[u8]> {
    let tokens = lex(block);
    let [open, inside @ .., close] = &tokens[..] else {
        return None;
    };
    let word = |at: usize| inside.get(at).map(|token| &block[token.span.range()]);
    if word(0) != Some(b"if") {
        return None;
    }
    let mut depth = 0u32;
    let ends = (1..inside.len()).filter(|&at| {
        match word(at) {
            Some(b"(" | b"{") => depth += 1,
            Some(b")" | b"}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(word(at), Some(b";" | b"}"))
    });
    let is_one = ends.collect::<Vec<_>>() == [inside.len() - 1];
    let text = &block[open.span.end().index()..close.span.start().index()];
    is_one.then(|| text.trim_ascii())
}

/// The lines of a statement, each with how far it is indented.
fn lines(text: &[u8], braces: BraceStyle) -> Option<Vec<(usize, Vec<u8>)>> {
    match text.contains(&b'\n') {
        true => its_lines(text),
        false => broken(text, braces),
    }
}

/// `lines` where the line of `place` is.
fn indented(layout: &Layout<'_>, place: ByteOffset, lines: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let outer = layout.indentation(place);
    let indented = lines.iter().enumerate().map(|(at, (levels, line))| {
        let deeper = |blanks: Vec<u8>, _| layout.step().deeper(&blanks);
        let indentation = (0..*levels).fold(outer.to_vec(), deeper);
        // The first one goes where the use was.
        let before = if at == 0 { Vec::new() } else { indentation };
        [before, line.clone()].concat()
    });
    let lines: Vec<Vec<u8>> = indented.collect();
    lines.join(layout.line_ending(place).as_bytes())
}

/// The lines of a body that is written on several, each with how far it is indented.
fn its_lines(text: &[u8]) -> Option<Vec<(usize, Vec<u8>)>> {
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let blanks = |line: &[u8]| line.iter().take_while(|byte| **byte == b' ').count();
    let [first, middle @ .., last] = &lines[..] else {
        return None;
    };
    let base = blanks(last);
    let step = blanks(middle.first()?)
        .checked_sub(base)
        .filter(|&step| step > 0)?;
    let rest = middle.iter().chain([last]).map(|line| {
        let levels = blanks(line).checked_sub(base)? / step;
        Some((levels, line.trim_ascii().to_vec()))
    });
    let first = Some((0, first.trim_ascii_end().to_vec()));
    std::iter::once(first).chain(rest).collect()
}

/// The same of one that is written on a single line, `{ if (failed) { return failed; } }`: each
/// statement gets its own. `None` if it has braces or comments that belong into a statement.
fn broken(text: &[u8], braces: BraceStyle) -> Option<Vec<(usize, Vec<u8>)>> {
    let tokens = lex(text);
    let word = |at: usize| tokens.get(at).map(|token| &text[token.span.range()]);
    let mut lines = vec![(0, Vec::new())];
    let (mut level, mut inside, mut end) = (0usize, 0usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        let this = word(at)?;
        let before = at.checked_sub(1).and_then(word);
        let gap = &text[end..token.span.start().index()];
        end = token.span.end().index();
        level = level.checked_sub(usize::from(this == b"}"))?;
        let opens_block = matches!(
            before,
            None | Some(b")" | b"{" | b"}" | b";" | b"else" | b"do")
        );
        if this == b"{" && !(opens_block && inside == 0) {
            return None;
        }
        let is_own = match braces {
            BraceStyle::NextLine => this == b"{" || before == Some(b"}"),
            BraceStyle::SameLine => before == Some(b"}") && this != b"else",
            BraceStyle::Indented => return None,
        };
        let ends = matches!(before, Some(b"{" | b";")) && inside == 0;
        if at > 0 && (is_own || ends || this == b"}") {
            if !gap.iter().all(u8::is_ascii_whitespace) {
                return None;
            }
            lines.push((level, this.to_vec()));
        } else {
            lines.last_mut()?.1.extend([gap, this].concat());
        }
        level += usize::from(this == b"{");
        inside = match this {
            b"(" => inside + 1,
            b")" => inside.checked_sub(1)?,
            _ => inside,
        };
    }
    Some(lines)
}

/// `failed = (f(x)); return (NULL);` as `failed = f(x); return NULL;`
fn without_parentheses(text: &[u8], arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut text = text.to_vec();
    for argument in arguments {
        for before in [&b"= "[..], b"return "] {
            let guarded = [before, b"(", argument, b");"].concat();
            while let Some(at) = memchr::memmem::find(&text, &guarded) {
                let bare = [before, argument, b";"].concat();
                text.splice(at..at + guarded.len(), bare);
            }
        }
    }
    text
}
