//! Whole declarations: external ones, those of blocks, fields of structs.

use super::Walker;
use super::declarator::Declares;
use super::specifiers::Context;
use crate::parse::words::Kind;

impl Walker<'_> {
    /// Writes the external declaration at `at`.
    pub(super) fn external(&mut self, at: usize) -> usize {
        if self.is(at, ";") {
            return at + 1;
        }
        match self.skip_generator(at) {
            Some(next) => next,
            None => self.declaration(at, Context::File),
        }
    }

    /// `_Static_assert(…);`, `asm(…);`, `MODULE_STATE(foo)`: nothing the analyses know.
    fn skip_generator(&self, at: usize) -> Option<usize> {
        let next = match self.kind(at) {
            Kind::Asm => at + 1,
            Kind::Name | Kind::StaticAssert if self.is(at + 1, "(") => self.after_group(at + 1),
            Kind::Name => at + 1,
            _ => return None,
        };
        match self.kind(next) {
            Kind::End => Some(next),
            Kind::Punct if self.is(next, ";") => Some(next + 1),
            _ => None,
        }
    }

    /// Writes the declaration at `at` with its `;` or body.
    pub(super) fn declaration(&mut self, start: usize, context: Context) -> usize {
        let specifiers = self.specifiers(start, context);
        let declares = match context {
            _ if specifiers.is_typedef => Declares::Type,
            Context::File => Declares::Global,
            Context::Field => Declares::Field,
            Context::Block | Context::Param | Context::TypeName => Declares::Variable,
        };
        let mut at = specifiers.next;
        if !self.is_any(at, &[";", "}"]) {
            at = self.init_declarators(at, declares);
        }
        if context == Context::File && !self.is_any(at, &[";", "{"]) {
            while self.starts_declaration(at) {
                at = self.declaration(at, Context::Block);
            }
        }
        match context {
            _ if self.is(at, ";") => self.copy(at),
            Context::File if self.is(at, "{") => self.function_body(at),
            Context::File if self.kind(at) != Kind::End => self.copy(at).max(start + 1),
            Context::Block if self.is(at, "{") => {
                self.fail(at, "a function inside a function");
                self.after_group(at)
            }
            _ => {
                self.insert(";", at);
                // What stopped the declaration is for the caller, unless nothing was taken.
                if at == start { self.copy(at) } else { at }
            }
        }
    }

    fn init_declarators(&mut self, mut at: usize, declares: Declares) -> usize {
        loop {
            at = self.declarator(at, declares);
            if !self.is_old_style(at, declares) {
                at = self.skip_noise(at);
            }
            if declares == Declares::Field && self.is(at, ":") {
                at = self.copy(at);
                at = self.assignment(at);
                at = self.skip_noise(at);
            }
            if self.is(at, "=") {
                at = self.copy(at);
                let value = at;
                at = self.initializer(at);
                if at == value {
                    // `int errors[] =` and then a header that is not here
                    self.insert("0", at);
                }
            }
            if !self.is(at, ",") {
                return at;
            }
            at = self.copy(at);
        }
    }

    /// Whether `at` stands between an old-style head and its parameter declarations, and not
    /// before attributes.
    fn is_old_style(&self, at: usize, declares: Declares) -> bool {
        declares == Declares::Global
            && at > 0
            && self.is(at - 1, ")")
            && self.starts_declaration(at)
            && self.is_old_style_head(at)
    }

    fn function_body(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let scope = self.scopes.enter();
        self.block(open);
        self.scopes.leave(&scope);
        close + 1
    }

    /// Writes the body of a struct or union.
    pub(super) fn fields(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let mut at = self.copy(open);
        while at < close {
            at = self.field(at);
        }
        self.copy(close)
    }

    fn field(&mut self, at: usize) -> usize {
        if self.is(at, ";") {
            return at + 1;
        }
        if matches!(self.kind(at), Kind::Name | Kind::StaticAssert) && self.is(at + 1, "(") {
            let after = self.after_group(at + 1);
            // `EXTRA_FIELDS(foo);`
            if self.is_any(after, &[";", "}"]) && !self.is(at + 2, "*") {
                return if self.is(after, ";") {
                    after + 1
                } else {
                    after
                };
            }
        }
        self.declaration(at, Context::Field)
    }
}
