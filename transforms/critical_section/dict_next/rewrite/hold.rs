//! Strong references in the body of the loop: where the text takes and releases them.

use super::Rewrite;
use crate::ast::{StmtId, StmtKind};
use crate::source::{ByteOffset, ByteSpan};
use crate::transforms::critical_section::dict_next::references::{At, late_value};
use crate::transforms::critical_section::dict_next::site::{Kind, Region};
use crate::transforms::critical_section::dict_next::text::token_before_comment;

impl Rewrite<'_> {
    /// Takes strong references to the items that need them for as long as the body runs.
    ///
    /// # Errors
    /// A macro makes a part of the body.
    pub(super) fn references(&mut self) -> Result<(), String> {
        let references = self.section.references;
        if references.held.is_empty() {
            return Ok(());
        }
        let release = references.release();
        let scope = self.section.scope;
        let Region { first, last } = self.section.site.body;
        let span = self.draft.span(first)?.join(self.draft.span(last)?);
        let is_once = self.section.site.kind == Kind::Once;
        if let StmtKind::Block(stmts) = scope.stmt(first)
            && !is_once
        {
            let first = match references.at {
                At::Statement(index) => self.take_before(stmts, index)?,
                At::Brace => self.take_behind_brace(span, stmts)?,
                At::Value(index) => self.take_before_value(stmts[index])?,
            };
            if references.falls_through {
                self.insert_last(span, first, stmts[stmts.len() - 1], &release)?;
            }
        } else {
            let release = if references.falls_through {
                &release[..]
            } else {
                &[]
            };
            let take = self.taking(first, span);
            self.draft.surround(span, &take, release);
        }
        for &jump in &references.jumps {
            let span = self.draft.span(jump)?;
            self.draft.surround(span, &release, &[]);
        }
        Ok(())
    }

    /// Declarations and statements that take the references in front of the first `statement`, with
    /// a blank line behind the declarations.
    fn taking(&self, statement: StmtId, span: ByteSpan) -> Vec<String> {
        let references = self.section.references;
        let is_decl = matches!(self.section.scope.stmt(statement), StmtKind::Decl(_));
        let mut lines = references.declare(&self.draft.layout);
        if let Some(last) = lines.last_mut()
            && self.draft.layout.begins_line(span.start())
            && !is_decl
        {
            *last += self.draft.layout.line_ending(span.start());
        }
        lines.extend(references.acquire());
        lines
    }

    fn take_before(&mut self, stmts: &[StmtId], index: usize) -> Result<ByteSpan, String> {
        let first = self.draft.span(stmts[index])?;
        if index == 0 {
            let lines = self.taking(stmts[0], first);
            self.insert_first(first, &lines);
            return Ok(first);
        }
        let references = self.section.references;
        let declared = references.declare(&self.draft.layout);
        if !declared.is_empty() {
            let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
            let above = self.draft.span(stmts[index - 1])?;
            self.draft
                .openers
                .push(self.draft.layout.declare_after(above, &declared));
        }
        self.insert_first(first, &references.acquire());
        Ok(first)
    }

    fn take_behind_brace(&mut self, block: ByteSpan, stmts: &[StmtId]) -> Result<ByteSpan, String> {
        let first = self.draft.span(stmts[0])?;
        let references = self.section.references;
        let lines = [references.declare(&self.draft.layout), references.acquire()].concat();
        let text = self.indented(first, &lines);
        self.draft
            .openers
            .push(self.draft.layout.insert_line_after(block.start(), &text));
        Ok(first)
    }

    /// `int n = check(key);` becomes `int n;`, the references, and `n = check(key);`.
    fn take_before_value(&mut self, declaration: StmtId) -> Result<ByteSpan, String> {
        let (name, value) = late_value(self.section.scope, declaration)
            .ok_or("a declaration calls a function before references can be taken")?;
        let whole = self.draft.span(declaration)?;
        let references = self.section.references;
        let mut lines = references.declare(&self.draft.layout);
        if self.draft.layout.is_blank_line_behind(whole.end()) {
            lines.push(String::new());
        }
        lines.extend(references.acquire());
        let assigned = format!(
            "{} = ",
            String::from_utf8_lossy(self.draft.layout.text_of(name))
        );
        let shift = self.column(value) - self.draft.layout.indentation(whole.start()).len();
        self.move_lines(value, shift.saturating_sub(assigned.len()));
        lines.push(assigned);
        let ending = self.draft.layout.line_ending(whole.start());
        let text = format!(";{ending}{}", self.indented(whole, &lines));
        self.draft
            .replace(ByteSpan::new(name.end().0, value.start().0), text);
        Ok(whole)
    }

    /// Bytes in front of `span` on its line.
    fn column(&self, span: ByteSpan) -> usize {
        span.start().index() - self.draft.layout.line_start(span.start()).index()
    }

    /// Moves the lines of `span` behind the first to the left, as far as blanks stand there.
    fn move_lines(&mut self, span: ByteSpan, shift: usize) {
        let shift = u32::try_from(shift).expect("lines are short");
        for at in self.draft.layout.text_lines(span) {
            let blanks = ByteSpan::new(at.0.saturating_sub(shift), at.0);
            if shift > 0
                && self.draft.bytes[blanks.range()]
                    .iter()
                    .all(|byte| *byte == b' ')
            {
                self.draft.replace(blanks, String::new());
            }
        }
    }

    /// Inserts `lines` at the end of `block`, also where its last statement stands in an `#if`.
    fn insert_last(
        &mut self,
        block: ByteSpan,
        first: ByteSpan,
        last: StmtId,
        lines: &[String],
    ) -> Result<(), String> {
        let last = self.draft.span(last)?;
        let rest = ByteSpan::new(last.end().0, block.end().0);
        let has_directive = self.draft.bytes[rest.range()].contains(&b'#');
        if !has_directive {
            self.draft.surround(last, &[], lines);
            return Ok(());
        }
        let brace = ByteOffset(block.end().0 - 1);
        let text = self.indented(first, lines);
        self.draft
            .closers
            .push(self.draft.layout.insert_line_before(brace, &text));
        Ok(())
    }

    /// Inserts `lines` in front of the first statement of a block, and of the comment on it.
    fn insert_first(&mut self, statement: ByteSpan, lines: &[String]) {
        let Some(before) = token_before_comment(self.draft.bytes, self.draft.tokens, statement)
        else {
            self.draft.surround(statement, lines, &[]);
            return;
        };
        let at = before.span.start();
        let text = self.indented(statement, lines);
        self.draft
            .openers
            .push(self.draft.layout.insert_line_after(at, &text));
    }

    /// Lines indented as `statement` is.
    fn indented(&self, statement: ByteSpan, lines: &[String]) -> String {
        let indentation = self.draft.layout.indentation(statement.start());
        let indentation = String::from_utf8_lossy(indentation);
        let lines = lines.iter().map(|line| match line.is_empty() {
            true => String::new(),
            false => format!("{indentation}{line}"),
        });
        let lines: Vec<String> = lines.collect();
        lines.join(self.draft.layout.line_ending(statement.start()))
    }
}
