//! The edits that one change makes to a function, in its style.

mod branch;
mod declare;

use crate::ast::{StmtId, StmtKind};
use crate::edit::{Edit, Layout};
use crate::lex::Token;
use crate::source::{ByteSpan, FileId};

use super::scope::Scope;

pub(super) use declare::Variable;

/// Edits in the making.
pub(super) struct Draft<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) file: FileId,
    pub(super) layout: Layout<'a>,
    pub(super) bytes: &'a [u8],
    pub(super) tokens: &'a [Token],
    /// Edits in front of statements, those of outer statements first.
    pub(super) openers: Vec<Edit>,
    /// Edits behind statements, in the order in which they were asked for: outer before inner.
    pub(super) closers: Vec<Edit>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(scope: &'a Scope<'a>, file: FileId) -> Self {
        let cx = scope.cx;
        let (_, function) = cx.item(scope.item).place;
        Self {
            scope,
            file,
            layout: cx.layout(file, function),
            bytes: cx.file(file).bytes(),
            tokens: &cx.program.index[file.index()].tokens,
            openers: Vec::new(),
            closers: Vec::new(),
        }
    }

    /// All edits, in the order in which insertions at one place have to stand.
    pub(super) fn edits(mut self) -> Vec<Edit> {
        self.closers.reverse();
        self.closers.append(&mut self.openers);
        let mut sorted = self.closers.clone();
        sorted.sort_by_key(Edit::place);
        self.closers.extend(self.layout.realign(&sorted));
        self.closers
    }

    /// The text of a statement.
    ///
    /// # Errors
    /// A macro makes it.
    pub(super) fn span(&self, stmt: StmtId) -> Result<ByteSpan, String> {
        let span = self.scope.span(stmt);
        span.map(|(_, span)| span)
            .ok_or_else(|| "a part of the loop is in a macro".to_owned())
    }

    /// Puts lines around a statement.
    pub(super) fn surround(&mut self, span: ByteSpan, before: &[String], after: &[String]) {
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        if before.is_empty() && after.is_empty() {
            return;
        }
        let edits = self.layout.surround(span, &before, &after);
        let (mut behind, mut front): (Vec<Edit>, Vec<Edit>) = edits
            .into_iter()
            .partition(|edit| edit.span.start() >= span.end());
        self.openers.append(&mut front);
        // `closers` is turned round at the end.
        behind.reverse();
        self.closers.append(&mut behind);
    }

    pub(super) fn replace(&mut self, span: ByteSpan, text: String) {
        self.openers
            .push(Edit::new(self.file, span, text.into_bytes()));
    }

    /// `return f(x);` becomes `result = f(x);`, whatever comments stand in it, and `return f(), x;`
    /// becomes `result = (f(), x);`.
    pub(super) fn keep_result(&mut self, stmt: StmtId, exit: ByteSpan, result: &str) {
        let text = self.scope.cx.file(self.file).text(exit).into_owned();
        let blanks = text["return".len()..]
            .bytes()
            .take_while(u8::is_ascii_whitespace)
            .count();
        let keyword = "return".len() + blanks;
        let keyword = u32::try_from(keyword).expect("files are small");
        let keyword = ByteSpan::new(exit.start().0, exit.start().0 + keyword);
        let StmtKind::Return(Some(value)) = self.scope.tree().stmt(stmt).kind else {
            return self.replace(keyword, format!("{result} = "));
        };
        let span = self.scope.cx.span(self.scope.item, value);
        match span.filter(|_| self.scope.tree().is_comma(value)) {
            Some((_, span)) if span.start() == keyword.end() => {
                self.replace(keyword, format!("{result} = ("));
                self.replace(ByteSpan::empty(span.end()), ")".to_owned());
            }
            _ => self.replace(keyword, format!("{result} = ")),
        }
    }
}
