//! Declarators and parameter lists.

use super::specifiers::Context;
use super::{Meaning, Walker};
use crate::parse::shadow::{NAME, TYPEDEF};
use crate::parse::words::Kind;

/// What the name in a declarator becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declares {
    /// A file-scope function or variable; its parameter list may be of the old style.
    Global,
    Variable,
    Type,
    Field,
    /// A parameter; there may be no name.
    Param,
    /// There is no name.
    Nothing,
}

impl Walker<'_> {
    /// Writes the declarator at `at`, without attributes after it.
    pub(super) fn declarator(&mut self, at: usize, declares: Declares) -> usize {
        let at = self.pointers(at);
        let at = if self.is_declared_name(at) && declares != Declares::Nothing {
            self.declared_name(at, declares)
        } else if self.is(at, "(") && self.is_nested_declarator(at, declares) {
            let close = self.mate(at);
            let at = self.copy(at);
            // Parameters of `int (f)(a) int a; {` are not looked for: nobody writes that.
            let at = self.declarator(at, declares);
            let at = self.skip_noise(at);
            self.finish_group(at, close)
        } else {
            at
        };
        self.suffixes(at, declares)
    }

    fn pointers(&mut self, mut at: usize) -> usize {
        loop {
            match self.kind(at) {
                Kind::Punct if self.is(at, "*") => at = self.copy(at),
                // An Apple block is a pointer to the analyses.
                Kind::Punct if self.is(at, "^") => at = self.put("*", at),
                Kind::Qualifier(_) => at = self.copy(at),
                Kind::Atomic if !self.is(at + 1, "(") => at = self.copy(at),
                Kind::Name => match self.noise_before_declarator(at) {
                    Some(next) => at = next,
                    // `T * FAR)`: no name follows
                    None => return at,
                },
                _ => return at,
            }
        }
    }

    /// A name, or one pasted badly: `PyInit_ ## MODULE` where `MODULE` is a string.
    fn is_declared_name(&self, at: usize) -> bool {
        match self.kind(at) {
            Kind::Name => true,
            Kind::Str => self.is(at + 1, "(") && !self.text(at).ends_with(b"\""),
            _ => false,
        }
    }

    fn declared_name(&mut self, at: usize, declares: Declares) -> usize {
        let (text, meaning) = match declares {
            Declares::Type => (TYPEDEF, Some(Meaning::Type)),
            Declares::Global | Declares::Variable | Declares::Param => {
                (NAME, Some(Meaning::Variable))
            }
            Declares::Field | Declares::Nothing => (NAME, None),
        };
        if let Some(meaning) = meaning {
            self.scopes.declare(self.text(at), meaning);
        }
        self.put(text, at)
    }

    fn is_nested_declarator(&self, open: usize, declares: Declares) -> bool {
        let inside = open + 1;
        match self.kind(inside) {
            Kind::Punct => {
                self.is_any(inside, &["*", "^"])
                    || (self.is(inside, "(") && self.is_nested_declarator(inside, declares))
            }
            // `(WINAPI *f)`
            Kind::Name if self.is(inside + 1, "*") => {
                self.is_any(self.after_group(open), &["(", "["])
            }
            Kind::Name => match declares {
                Declares::Nothing => false,
                Declares::Param => !self.is_type(inside) && self.mate(open) == inside + 1,
                Declares::Global | Declares::Variable | Declares::Type | Declares::Field => true,
            },
            _ => false,
        }
    }

    fn suffixes(&mut self, mut at: usize, declares: Declares) -> usize {
        loop {
            if self.is(at, "[") {
                at = self.array_length(at);
            } else if self.is(at, "(") && self.are_parameters(at) {
                at = self.parameters(at, declares);
            } else if self.is(at, "(") {
                // `static PyObject *CACHED("name", 3);` of an unknown macro
                at = self.after_group(at);
            } else {
                return at;
            }
        }
    }

    fn array_length(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let mut at = self.copy(open);
        // `int a[static const 3]`, `int a[*]`
        while matches!(self.kind(at), Kind::Storage(_) | Kind::Qualifier(_)) {
            at += 1;
        }
        if self.is(at, "*") && at + 1 == close {
            at += 1;
        }
        if at < close {
            at = self.expression(at);
        }
        self.finish_group(at, close)
    }

    fn are_parameters(&self, open: usize) -> bool {
        match self.kind(open + 1) {
            Kind::Literal | Kind::Str | Kind::SizeOf(_) => false,
            Kind::Punct => self.is_any(open + 1, &[")", "...", "(", ","]),
            _ => true,
        }
    }

    fn parameters(&mut self, open: usize, declares: Declares) -> usize {
        let close = self.mate(open);
        if declares == Declares::Global && self.is_name_list(open) {
            return self.name_list(open);
        }
        // The parameters of the function that is defined here are variables of its body.
        let scope = (declares != Declares::Global).then(|| self.scopes.enter());
        let mut at = self.copy(open);
        while at < close {
            if self.is(at, "...") {
                at = self.copy(at);
            } else if !self.is(at, ",") {
                at = self.parameter(at);
            }
            while at < close && !self.is(at, ",") {
                at = self.copy(at);
            }
            if at < close {
                at = self.copy(at);
            }
        }
        if let Some(scope) = scope {
            self.scopes.leave(&scope);
        }
        self.copy(close)
    }

    fn parameter(&mut self, at: usize) -> usize {
        let specifiers = self.specifiers(at, Context::Param);
        let at = self.declarator(specifiers.next, Declares::Param);
        self.skip_noise(at)
    }

    /// Whether the parameter list at `open` has names only: `f(a, b) int a; char *b; {`.
    fn is_name_list(&self, open: usize) -> bool {
        let close = self.mate(open);
        let mut at = open + 1;
        while at < close {
            let ends = self.is(at + 1, ",") || at + 1 == close;
            if self.kind(at) != Kind::Name || !ends || self.is_type(at) {
                return false;
            }
            at += 2;
        }
        let after = close + 1;
        at > open + 1 && !self.is_any(after, &[";", ",", "=", ")"]) && self.kind(after) != Kind::End
    }

    fn name_list(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let mut at = self.copy(open);
        while at < close {
            if self.kind(at) == Kind::Name {
                self.scopes.declare(self.text(at), Meaning::Variable);
            }
            at = self.copy(at);
        }
        self.copy(close)
    }

    /// Leaves out unknown words after a declarator: `int f(void) NOTHROW FORMAT(1, 2);`
    pub(super) fn skip_noise(&self, mut at: usize) -> usize {
        while self.kind(at) == Kind::Name {
            at += 1;
            if self.is(at, "(") {
                at = self.after_group(at);
            }
        }
        at
    }
}
