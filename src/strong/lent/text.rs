//! The text of the two halves: the second one stays where it is, the first one comes behind it
//! under the old name.

use super::Split;
use crate::ast::{LocalDecl, LocalId, StmtId, StmtKind, TokenRange};
use crate::edit::{Edit, apply};
use crate::source::{ByteOffset, ByteSpan};

/// The halves of a function, and where its text is cut.
pub(super) struct Halves<'s, 'a> {
    split: &'s Split<'s, 'a>,
    /// What is behind the name of the second half.
    suffix: String,
    /// How many statements in front only declare variables, and of which some go to the second half.
    shared: usize,
    /// The lines that only the first half has.
    cut: ByteSpan,
}

impl<'s, 'a> Halves<'s, 'a> {
    /// `None` if the text cannot be cut there.
    pub(super) fn new(split: &'s Split<'s, 'a>) -> Option<Self> {
        let suffix = format!("_with_{}", split.scene.name(split.object));
        let shared = split.front.iter().rposition(|&stmt| {
            let mut decls = split.declared(stmt).iter();
            decls.any(|decl| split.locals.moved.contains(&decl.local))
        });
        let shared = shared.map_or(0, |last| last + 1);
        let only_declares = |&stmt: &StmtId| !split.declared(stmt).is_empty();
        let mut halves = Self {
            split,
            suffix,
            shared,
            cut: ByteSpan::default(),
        };
        let fits =
            split.front[..shared].iter().all(only_declares) && split.head.is_free(&halves.name());
        halves.cut = halves.lines_in_front().filter(|_| fits)?;
        Some(halves)
    }

    /// What the second half is called.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.split.scene.function.name, self.suffix)
    }

    /// The lines of the statements that only the first half has, up to the lookup: with the comments
    /// above them. `None` if something else stands on the last one.
    fn lines_in_front(&self) -> Option<ByteSpan> {
        let Split { scene, front, .. } = self.split;
        let bytes = scene.cx.file(scene.file).bytes();
        let line_behind = |at: ByteOffset| {
            let newline = memchr::memchr(b'\n', &bytes[at.index()..])?;
            Some(at.index() + newline + 1)
        };
        let before = match self.shared.checked_sub(1) {
            Some(last) => scene.stmt_span(front[last])?.end(),
            None => ByteOffset(scene.stmt_span(scene.function.body)?.start().0 + 1),
        };
        let lookup = scene.stmt_span(*front.last()?)?;
        let mut start = line_behind(before)?;
        let first = scene.stmt_span(*front.get(self.shared)?)?;
        while let Some(next) = line_behind(offset(start))
            && next <= first.start().index()
            && bytes[start..next].trim_ascii().is_empty()
        {
            start = next;
        }
        let mut end = line_behind(lookup.end())?;
        let behind = &bytes[lookup.end().index()..end];
        let is_alone =
            behind.trim_ascii().is_empty() || scene.layout.comment_behind(lookup.end()).is_some();
        if !is_alone || start > first.start().index() {
            return None;
        }
        // No blank line where there is one already, or behind the brace.
        let above = bytes[..start].trim_ascii_end();
        let is_blank = memchr::memchr_iter(b'\n', &bytes[above.len()..start]).count() > 1;
        if let Some(next) = line_behind(offset(end))
            && bytes[end..next].trim_ascii().is_empty()
            && (is_blank || above.ends_with(b"{"))
        {
            end = next;
        }
        Some(ByteSpan::new(offset(start).0, offset(end).0))
    }

    /// The edits of the fix; `own` are those that make the lookup strong.
    pub(super) fn edits(&self, own: Vec<Edit>) -> Option<Vec<Edit>> {
        let head = &self.split.head;
        // `if (PyDict_GetItemRef(dict, key, &item) < 0) {` may stand in front of what comes next.
        let behind = self.split.scene.stmt_span(self.split.next)?.start();
        let (in_front, mut edits): (Vec<Edit>, Vec<Edit>) = own.into_iter().partition(|edit| {
            edit.span.start() < self.cut.end() || edit.span.is_empty() && edit.span.end() <= behind
        });
        let parameters = self.parameters()?;
        let goes = |edit: &Edit| {
            let mut gone = parameters.iter().map(|edit| edit.span);
            gone.any(|span| span.start() < edit.span.start() && edit.span.end() <= span.end())
        };
        let renamed = head.renamed(&self.suffix).into_iter();
        edits.extend(renamed.filter(|edit| !goes(edit)));
        edits.extend(parameters);
        edits.extend(self.declarations(&|local| !self.is_moved(local))?);
        edits.push(head.edit(self.cut, ""));
        let first = self.first(in_front)?;
        edits.push(head.edit(ByteSpan::empty(head.whole.end()), first));
        edits.sort_by_key(Edit::place);
        are_disjoint(&edits).then_some(edits)
    }

    fn is_moved(&self, local: LocalId) -> bool {
        self.split.locals.moved.contains(&local)
    }

    /// The parameters of the second half: those that it uses, and what it gets beside them.
    fn parameters(&self) -> Option<Vec<Edit>> {
        let Split {
            scene,
            head,
            locals,
            object,
            ..
        } = self.split;
        let all = self.parameter_spans()?;
        let is_kept = |at: usize| locals.params.contains(&scene.function.params[at]);
        let removed = removals(&all, &is_kept).into_iter();
        let mut edits: Vec<Edit> = removed.map(|span| head.edit(span, "")).collect();
        let declared = |local: &LocalId| {
            let prefix = scene.tree.local(*local).ty.prefix()?;
            Some(format!(
                "{}{}",
                scene.layout.pointer(&prefix),
                scene.name(*local)
            ))
        };
        let new = locals.handed_on.iter().chain([object]).map(declared);
        let new: Vec<String> = new.collect::<Option<_>>()?;
        if locals.params.is_empty() {
            let inside = ByteSpan::new(head.name.end().0 + 1, head.span.end().0 - 1);
            return Some(vec![head.edit(inside, new.join(", "))]);
        }
        let last = *all.last()?;
        let ending = head.line_ending();
        // One below the other, as those in front of it.
        let is_below = scene.layout.begins_line(last.start()) && (0..all.len() - 1).any(is_kept);
        let text: String = match is_below {
            true => {
                let blanks = self.blanks_before(last);
                let lines = new.iter().map(|new| format!(",{ending}{blanks}{new}"));
                lines.collect()
            }
            false => format!(", {}", new.join(", ")),
        };
        edits.push(head.edit(ByteSpan::empty(last.end()), text));
        Some(edits)
    }

    /// What the line of a parameter begins with, once the name is longer.
    fn blanks_before(&self, parameter: ByteSpan) -> String {
        let Split { scene, head, .. } = self.split;
        let line = scene.layout.line_start(parameter.start());
        let renamed = head.renamed(&self.suffix);
        let more = renamed.iter().filter(|edit| edit.span.start() == line);
        let more: String = more.map(|edit| " ".repeat(edit.text.len())).collect();
        more + &String::from_utf8_lossy(scene.layout.indentation(parameter.start()))
    }

    /// The text of each parameter; `None` if that cannot be told.
    fn parameter_spans(&self) -> Option<Vec<ByteSpan>> {
        let Split { scene, .. } = self.split;
        let tokens = &scene.cx.item(scene.item).tokens;
        let text = |at: u32| tokens.text(scene.cx.program.files, at);
        let start = scene.function.name_range.end;
        let end = scene.tree.stmt(scene.function.body).range.start;
        if start >= end || text(start) != b"(" || text(end - 1) != b")" {
            return None;
        }
        let mut borders = vec![start];
        let mut depth = 0;
        for at in start..end - 1 {
            match text(at) {
                b"(" => depth += 1,
                b")" => depth -= 1,
                b"," if depth == 1 => borders.push(at),
                _ => {}
            }
        }
        borders.push(end - 1);
        let between = borders.windows(2).map(|pair| TokenRange {
            start: pair[0] + 1,
            end: pair[1],
        });
        let spans: Option<Vec<ByteSpan>> = between
            .filter(|range| range.start < range.end)
            .map(|range| Some(tokens.file_span(range)?.1))
            .collect();
        let count = scene.function.params.len();
        spans.filter(|spans| spans.len() == count || count == 0)
    }

    /// Takes variables out of the declarations that both halves begin with.
    fn declarations(&self, goes: &dyn Fn(LocalId) -> bool) -> Option<Vec<Edit>> {
        let Split { scene, .. } = self.split;
        let tokens = &scene.cx.item(scene.item).tokens;
        let mut edits = Vec::new();
        for &stmt in &self.split.front[..self.shared] {
            let decls = self.split.declared(stmt);
            if decls.iter().all(|decl| goes(decl.local)) {
                edits.push(scene.layout.remove(scene.stmt_span(stmt)?));
                continue;
            }
            let spans = decls
                .iter()
                .map(|decl| Some(tokens.file_span(decl.range)?.1));
            let spans: Vec<ByteSpan> = spans.collect::<Option<_>>()?;
            let removed = removals(&spans, &|at| !goes(decls[at].local));
            edits.extend(
                removed
                    .into_iter()
                    .map(|span| self.split.head.edit(span, "")),
            );
        }
        Some(edits)
    }

    /// The first half: the text up to the lookup, then the call of the second.
    fn first(&self, own: Vec<Edit>) -> Option<String> {
        let Split {
            scene,
            head,
            locals,
            object,
            ..
        } = self.split;
        let (step, ending) = (head.indentation(), head.line_ending());
        let names = locals
            .params
            .iter()
            .chain(&locals.handed_on)
            .chain([object]);
        let names: Vec<&str> = names.map(|&local| scene.name(local)).collect();
        let call = format!("{}({});", self.name(), names.join(", "));
        let result = self.free_name()?;
        let variable = head.result_variable(result);
        let gone = self.declarations(&|local| self.is_moved(local))?;
        let (mut edits, mut new) = apart(own, &gone);
        edits.extend(gone);
        let mut lines = Vec::new();
        match &variable {
            None => lines.push(call),
            Some(variable) if scene.mixes_declarations() => {
                lines.push(format!("{} = {call}", variable.trim_end_matches(';')));
            }
            Some(variable) => {
                new.push(variable.clone());
                lines.push(format!("{result} = {call}"));
            }
        }
        if !new.is_empty() {
            edits.push(self.declared(&new)?);
        }
        lines.push(format!("Py_XDECREF({});", scene.name(*object)));
        lines.extend(variable.map(|_| format!("return {result};")));
        edits.sort_by_key(Edit::place);
        if !are_disjoint(&edits) {
            return None;
        }
        let lookup = scene.stmt_span(*self.split.front.last()?)?;
        let last = edits.iter().map(|edit| edit.span.end());
        let end = last
            .max()
            .map_or(lookup.end(), |last| last.max(lookup.end()));
        let bytes = &scene.cx.file(scene.file).bytes()[..end.index()];
        let applied = apply(bytes, &edits).bytes;
        let body = applied[head.span.end().index()..].trim_ascii_end();
        let body = String::from_utf8_lossy(body);
        let mut text = format!("{ending}{ending}{}{body}", head.text());
        for line in lines {
            text += &format!("{ending}{step}{line}");
        }
        Some(text + ending + "}")
    }

    /// A name for the result that nothing in the first half has.
    fn free_name(&self) -> Option<&'static str> {
        let Split { scene, front, .. } = self.split;
        let tokens = &scene.cx.item(scene.item).tokens;
        let moved = self.split.locals.moved.iter();
        let moved: Vec<u32> = moved
            .map(|&local| scene.tree.local(local).name_range.start)
            .collect();
        let end = scene.tree.stmt(*front.last()?).range.end;
        let is_taken = |name: &str| {
            let mut tokens_in_front = scene.function.range.start..end;
            scene.cx.is_macro(name)
                || tokens_in_front.any(|at| {
                    tokens.text(scene.cx.program.files, at) == name.as_bytes()
                        && !moved.contains(&at)
                })
        };
        let names = ["result", "ret", "retval", "rv"];
        names.into_iter().find(|name| !is_taken(name))
    }

    /// Declarations behind the others.
    fn declared(&self, new: &[String]) -> Option<Edit> {
        let new: Vec<&str> = new.iter().map(String::as_str).collect();
        let Split { scene, front, .. } = self.split;
        let stays = |&&stmt: &&StmtId| {
            let decls = self.split.declared(stmt);
            decls.iter().any(|decl| !self.is_moved(decl.local))
        };
        let lookup = scene.stmt_span(*front.last()?)?;
        let leading = front
            .iter()
            .take_while(|&&stmt| !self.split.declared(stmt).is_empty());
        let declared = leading
            .filter(stays)
            .filter_map(|&stmt| scene.stmt_span(stmt));
        Some(match declared.filter(|span| *span != lookup).last() {
            Some(last) => scene.layout.declare_after(last, &new),
            None => scene.layout.declare_before(lookup, &new),
        })
    }
}

impl Split<'_, '_> {
    /// The variables that a statement declares.
    fn declared(&self, stmt: StmtId) -> &[LocalDecl] {
        match &self.scene.tree.stmt(stmt).kind {
            StmtKind::Decl(decls) => decls,
            _ => &[],
        }
    }
}

/// Takes out of `edits` what they declare behind declarations that are `gone`.
///
/// ```c
/// long size = 0;                /* goes to the second half */
/// PyObject *exc;
/// ```
fn apart(edits: Vec<Edit>, gone: &[Edit]) -> (Vec<Edit>, Vec<String>) {
    let stays = |edit: &Edit| {
        let at = edit.span.start();
        let mut gone = gone.iter().map(|gone| gone.span);
        !edit.span.is_empty() || !gone.any(|gone| gone.start() < at && at <= gone.end())
    };
    let (edits, lost): (Vec<Edit>, Vec<Edit>) = edits.into_iter().partition(stays);
    let lines = lost
        .iter()
        .map(|edit| String::from_utf8_lossy(edit.text.trim_ascii()).into());
    (edits, lines.collect())
}

/// Whether no edit changes what another one does; all are in their order.
fn are_disjoint(edits: &[Edit]) -> bool {
    let mut pairs = edits.windows(2);
    pairs.all(|pair| pair[0].span.end() <= pair[1].span.start())
}

/// What to take out of a list with commas to keep some of it only.
fn removals(all: &[ByteSpan], is_kept: &dyn Fn(usize) -> bool) -> Vec<ByteSpan> {
    let mut spans: Vec<ByteSpan> = Vec::new();
    let mut has_kept = false;
    for (at, span) in all.iter().enumerate() {
        if is_kept(at) {
            has_kept = true;
            continue;
        }
        let removed = match all.get(at + 1) {
            _ if has_kept => ByteSpan::new(all[at - 1].end().0, span.end().0),
            Some(next) => ByteSpan::new(span.start().0, next.start().0),
            None => *span,
        };
        match spans
            .last_mut()
            .filter(|last| last.end() == removed.start())
        {
            Some(last) => *last = last.join(removed),
            None => spans.push(removed),
        }
    }
    spans
}

fn offset(index: usize) -> ByteOffset {
    ByteOffset(u32::try_from(index).expect("files are indexed by u32"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_list_keeps_its_commas() {
        let all: Vec<ByteSpan> = [(0, 1), (3, 4), (6, 7)]
            .map(|(start, end)| ByteSpan::new(start, end))
            .to_vec();
        let text = |kept: &[usize]| {
            let mut text = "a, b, c".to_owned();
            for span in removals(&all, &|at| kept.contains(&at)).into_iter().rev() {
                text.replace_range(span.range(), "");
            }
            text
        };
        assert_eq!(text(&[0]), "a");
        assert_eq!(text(&[1]), "b");
        assert_eq!(text(&[2]), "c");
        assert_eq!(text(&[0, 2]), "a, c");
        assert_eq!(text(&[0, 1, 2]), "a, b, c");
    }
}
