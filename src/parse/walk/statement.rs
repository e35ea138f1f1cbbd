//! Statements, as a flat list: after `if (…)`, `else`, a label, … another statement begins.

use super::Walker;
use super::specifiers::Context;
use crate::parse::shadow::COMPUTED_GOTO;
use crate::parse::words::{Flow, Kind, looks_like_macro};

impl Walker<'_> {
    /// Writes the block at `open`.
    pub(super) fn block(&mut self, open: usize) -> usize {
        let scope = self.scopes.enter();
        let close = self.mate(open);
        let mut at = self.copy(open);
        while at < close {
            at = self.statement_start(at, close);
        }
        self.scopes.leave(&scope);
        self.copy(close)
    }

    /// Writes a whole simple statement, or the head of a compound one.
    fn statement_start(&mut self, at: usize, close: usize) -> usize {
        match self.kind(at) {
            Kind::Punct if self.is(at, "{") => self.block(at),
            Kind::Punct if self.is(at, ";") => self.copy(at),
            Kind::Flow(flow) => self.flow(flow, at, close),
            Kind::Asm => {
                let next = self.copy(at);
                self.semicolon(next)
            }
            // They have no effect; the `;` stays, as a statement may be needed here.
            Kind::StaticAssert => self.after_group(at + 1),
            Kind::LabelDeclaration => {
                let mut at = at;
                while at < close && !self.is(at, ";") {
                    at += 1;
                }
                at
            }
            Kind::Name if self.is(at + 1, ":") => {
                let next = self.copy(at);
                self.colon(next, close)
            }
            _ if self.starts_declaration(at) => self.declaration(at, Context::Block),
            _ => self.expression_statement(at),
        }
    }

    fn flow(&mut self, flow: Flow, at: usize, close: usize) -> usize {
        let next = match flow {
            Flow::Goto => return self.goto(at),
            _ => self.copy(at),
        };
        match flow {
            Flow::If | Flow::While | Flow::Switch => self.condition(next),
            Flow::For => self.for_head(next),
            Flow::Else | Flow::Do => next,
            Flow::Return => {
                let next = self.expression(next);
                self.semicolon(next)
            }
            Flow::Break | Flow::Continue | Flow::Goto => self.semicolon(next),
            Flow::Default => self.colon(next, close),
            Flow::Case => {
                let mut at = self.expression(next);
                if self.is(at, "...") {
                    at = self.copy(at);
                    at = self.expression(at);
                }
                self.colon(at, close)
            }
        }
    }

    fn condition(&mut self, at: usize) -> usize {
        if self.is(at, "(") {
            let close = self.mate(at);
            let inside = self.copy(at);
            let at = self.expression(inside);
            return self.finish_group(at, close);
        }
        // `if likely(x) {`
        self.insert("(", at);
        let next = self.expression(at);
        self.insert(")", next);
        next
    }

    fn for_head(&mut self, open: usize) -> usize {
        if !self.is(open, "(") {
            return open;
        }
        let close = self.mate(open);
        let mut at = self.copy(open);
        if self.starts_declaration(at) {
            at = self.declaration(at, Context::Block);
        } else {
            at = self.expression(at);
            at = self.semicolon(at);
        }
        at = self.expression(at);
        at = self.semicolon(at);
        at = self.expression(at);
        self.finish_group(at, close)
    }

    fn goto(&mut self, at: usize) -> usize {
        if !self.is(at + 1, "*") {
            let mut at = self.copy(at);
            if self.kind(at) == Kind::Name {
                at = self.copy(at);
            }
            return self.semicolon(at);
        }
        self.put_all(COMPUTED_GOTO, at, at + 2);
        self.insert("(", at + 2);
        let next = self.expression(at + 2);
        self.insert(")", next);
        self.semicolon(next)
    }

    /// Writes the `:` of a label, and an empty statement where C wants one after it.
    fn colon(&mut self, at: usize, close: usize) -> usize {
        if !self.is(at, ":") {
            return at;
        }
        let next = self.copy(at);
        let no_statement = next >= close
            || matches!(self.kind(next), Kind::StaticAssert | Kind::LabelDeclaration)
            || (!(self.kind(next) == Kind::Name && self.is(next + 1, ":"))
                && self.starts_declaration(next));
        if no_statement {
            self.insert(";", next);
        }
        next
    }

    fn semicolon(&mut self, at: usize) -> usize {
        if self.is(at, ";") {
            return self.copy(at);
        }
        self.insert(";", at);
        at
    }

    fn expression_statement(&mut self, at: usize) -> usize {
        if let Some(head) = self.loop_head(at) {
            self.insert("while(", at);
            let next = self.expression(at);
            self.insert(")", next);
            return next.max(head);
        }
        let next = self.expression(at);
        if self.is(next, ";") {
            return self.copy(next);
        }
        if next == at {
            return self.copy(at);
        }
        // `CHECK(x)` without `;`; anything else is an error for `lang-c` to find.
        let is_macro = self.kind(at) == Kind::Name
            && (next == at + 1 || (self.is(at + 1, "(") && self.after_group(at + 1) == next));
        if is_macro {
            self.insert(";", next);
        }
        next
    }

    /// `FOREACH(x) {`, `FOREVER {`: the body runs any number of times.
    fn loop_head(&self, at: usize) -> Option<usize> {
        if self.kind(at) != Kind::Name {
            return None;
        }
        let after = if self.is(at + 1, "(") {
            self.after_group(at + 1)
        } else {
            at + 1
        };
        let name = self.text(at).to_ascii_lowercase();
        let says_so = [&b"foreach"[..], b"for_each"]
            .iter()
            .any(|word| memchr::memmem::find(&name, word).is_some());
        let is_head = self.is(after, "{")
            || (says_so && self.kind(after) != Kind::End && !self.is_any(after, &[";", ",", ")"]));
        (is_head && !self.is_any(after, &["=", "."])).then_some(after)
    }

    /// Whether a declaration, and no statement, begins at `at`.
    pub(super) fn starts_declaration(&self, at: usize) -> bool {
        match self.kind(at) {
            Kind::TypeWord(_)
            | Kind::Qualifier(_)
            | Kind::Storage(_)
            | Kind::Tag(_)
            | Kind::TypeOf
            | Kind::Atomic => true,
            Kind::Name if self.is_variable(at) => false,
            Kind::Name => self.name_starts_declaration(at),
            _ => false,
        }
    }

    fn name_starts_declaration(&self, at: usize) -> bool {
        let known = self.is_type(at);
        let next = at + 1;
        match self.kind(next) {
            Kind::Name
            | Kind::TypeWord(_)
            | Kind::Tag(_)
            | Kind::Storage(_)
            | Kind::Qualifier(_)
                if known =>
            {
                true
            }
            // A macro on a line of its own
            _ if !known && self.newline_before(next) => false,
            Kind::Name => self.name_is_declared(next),
            Kind::TypeWord(_) | Kind::Tag(_) | Kind::Storage(_) | Kind::Qualifier(_) => true,
            Kind::Punct if self.is(next, "*") => known || self.pointer_is_declared(next),
            Kind::Punct if self.is(next, "(") => self.call_starts_declaration(next, known),
            _ => false,
        }
    }

    /// For `A B` on one line: whether `B` looks declared, or like the type of what is.
    fn name_is_declared(&self, name: usize) -> bool {
        self.is_any(name + 1, &["=", ";", ",", "[", "*"]) || self.kind(name + 1) == Kind::Name
    }

    /// `a * b;` is an expression without effect, so a declaration of a pointer.
    fn pointer_is_declared(&self, mut at: usize) -> bool {
        while self.is(at, "*") || matches!(self.kind(at), Kind::Qualifier(_)) {
            at += 1;
        }
        while self.kind(at) == Kind::Name && self.kind(at + 1) == Kind::Name {
            at += 1;
        }
        self.kind(at) == Kind::Name && self.is_any(at + 1, &["=", ";", ",", "[", "("])
    }

    fn call_starts_declaration(&self, open: usize, known: bool) -> bool {
        let after = self.after_group(open);
        if self.is(open + 1, "*") {
            // `T (*f)(void) = …`
            return known
                || (self.is(after, "(") && self.is_any(self.after_group(after), &["=", ";"]));
        }
        // `STACK_OF(X509) *chain = …`
        if self.is(after, "*") {
            return self.pointer_is_declared(after);
        }
        // `STACK_OF(X509) chain;`, and not `CHECK(x) y = 1;`
        self.kind(after) == Kind::Name
            && !self.is_variable(after)
            && !self.newline_before(after)
            && !looks_like_macro(self.text(after))
            && self.is_any(after + 1, &["=", ";", "["])
    }
}
