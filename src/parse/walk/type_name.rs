//! Type names in parentheses and as arguments.

use super::Walker;
use super::declarator::Declares;
use super::specifiers::Context;
use crate::parse::words::Kind;

/// A stretch of tokens that reads as a type name.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypeNameFound {
    /// First position after it.
    pub(super) end: usize,
    /// Whether it can be nothing else, given that it ends where an expression would have to go on.
    pub(super) sure: bool,
}

impl Walker<'_> {
    /// The longest type name at `at`, if one can begin there.
    pub(super) fn type_name_end(&self, mut at: usize) -> Option<TypeNameFound> {
        let mut typed = false;
        let mut sure = false;
        loop {
            match self.kind(at) {
                Kind::Qualifier(_) => at += 1,
                Kind::TypeWord(_) => {
                    (typed, sure) = (true, true);
                    at += 1;
                }
                Kind::Tag(_) => {
                    (typed, sure) = (true, true);
                    at += 1;
                    if self.kind(at) == Kind::Name {
                        at += 1;
                    }
                    if self.is(at, "{") {
                        at = self.after_group(at);
                    }
                }
                Kind::TypeOf | Kind::Atomic => {
                    (typed, sure) = (true, true);
                    at = if self.is(at + 1, "(") {
                        self.after_group(at + 1)
                    } else {
                        at + 1
                    };
                }
                Kind::Name if !typed => {
                    (typed, sure) = (true, self.is_type(at));
                    at += 1;
                    // `STACK_OF(X509) *`
                    if !sure && self.is(at, "(") && self.is(self.after_group(at), "*") {
                        at = self.after_group(at);
                    }
                }
                // `T FAR *`
                Kind::Name if self.is(at + 1, "*") || self.kind(at + 1) == Kind::Name => at += 1,
                _ => break,
            }
        }
        typed.then(|| self.abstract_declarator_end(at, sure))
    }

    fn abstract_declarator_end(&self, mut at: usize, mut sure: bool) -> TypeNameFound {
        while self.is_any(at, &["*", "^"]) || matches!(self.kind(at), Kind::Qualifier(_)) {
            sure = true;
            at += 1;
        }
        // `T (*)(int)`, `T (WINAPI *)(int)`, `T (*)[3]`
        if self.is(at, "(") && self.is_abstract_pointer(at) {
            sure = true;
            at = self.after_group(at);
        }
        while self.is(at, "[") || (sure && self.is(at, "(") && self.is_parameter_list(at)) {
            at = self.after_group(at);
        }
        TypeNameFound { end: at, sure }
    }

    /// Whether the group at `open` is `()` or begins with a type: `T (int)`, and not `a * (b)`.
    fn is_parameter_list(&self, open: usize) -> bool {
        self.is(open + 1, ")") || self.type_name_end(open + 1).is_some_and(|found| found.sure)
    }

    /// Whether the group at `open` is `(*)`, `(* const)`, `(**)`, `(CALL *)`, `(*(*)(int))`.
    fn is_abstract_pointer(&self, open: usize) -> bool {
        let close = self.mate(open);
        let mut at = open + 1;
        let mut stars = 0;
        while at < close {
            match self.kind(at) {
                Kind::Qualifier(_) => at += 1,
                Kind::Name if stars == 0 => at += 1,
                Kind::Punct if self.is_any(at, &["*", "^"]) => {
                    stars += 1;
                    at += 1;
                }
                Kind::Punct if stars > 0 && self.is_any(at, &["(", "["]) => {
                    at = self.after_group(at);
                }
                _ => return false,
            }
        }
        stars > 0
    }

    /// Writes the type name at `at`, which ends at `end`.
    pub(super) fn type_name(&mut self, at: usize, end: usize) -> usize {
        let specifiers = self.specifiers(at, Context::TypeName);
        let mut at = self.declarator(specifiers.next, Declares::Nothing);
        while at < end {
            at = self.copy(at);
        }
        at
    }

    /// If the parentheses at `open` hold the type of a cast or compound literal: their end.
    pub(super) fn cast(&self, open: usize) -> Option<usize> {
        let close = self.mate(open);
        let found = self
            .type_name_end(open + 1)
            .filter(|found| found.end == close)?;
        let is_single_name = close == open + 2 && self.kind(open + 1) == Kind::Name;
        let is_cast = if !is_single_name {
            found.sure
        } else if self.is_variable(open + 1) {
            false
        } else {
            let likely =
                found.sure || self.is_cast_of_group(open + 1) || self.is_surely_cast(close + 1);
            self.operand_may_begin(close + 1, likely)
        };
        is_cast.then_some(close)
    }

    /// For an unknown `(A)(…)`: whether it is a cast. Few put the name of a function in
    /// parentheses, but a call that is missed is worse than a cast that is.
    fn is_cast_of_group(&self, name: usize) -> bool {
        let text = self.text(name);
        let says_type = [&b"_t"[..], b"_ty", b"_type", b"Ptr"]
            .iter()
            .any(|end| text.ends_with(end))
            || (text.first().is_some_and(u8::is_ascii_uppercase) && !text.starts_with(b"Py"));
        says_type && self.is(name + 2, "(") && self.holds_one_operand(name + 2)
    }

    /// Whether the group at `open` is not empty and has no comma of its own.
    fn holds_one_operand(&self, open: usize) -> bool {
        let close = self.mate(open);
        let mut at = open + 1;
        while at < close && !self.is(at, ",") {
            at = self.after_group(at);
        }
        at == close && close > open + 1
    }

    /// `(A)(void (*)(void))f`: two casts, as a call with a type for an argument would not go on.
    fn is_surely_cast(&self, open: usize) -> bool {
        if !self.is(open, "(") {
            return false;
        }
        let close = self.mate(open);
        let found = self
            .type_name_end(open + 1)
            .filter(|found| found.end == close);
        found.is_some_and(|found| found.sure) && self.operand_may_begin(close + 1, false)
    }

    /// Whether an operand begins at `at`. With `likely`, tokens that could also be an operator
    /// after an operand count too: `(T)-1` against `(x)-1`.
    pub(super) fn operand_may_begin(&self, at: usize, likely: bool) -> bool {
        match self.kind(at) {
            Kind::Name
            | Kind::Literal
            | Kind::Str
            | Kind::SizeOf(_)
            | Kind::Generic
            | Kind::VaArg
            | Kind::OffsetOf => true,
            Kind::Punct => {
                self.is_any(at, &["~", "!", "{"])
                    || (likely && self.is_any(at, &["(", "*", "&", "-", "+", "++", "--", "&&"]))
            }
            _ => false,
        }
    }
}
