//! Declaration specifiers: which word is the type, which is the name, which is noise.

use super::{Meaning, Walker};
use crate::parse::shadow::{NAME, TYPE};
use crate::parse::words::{Kind, looks_like_macro};

/// Where a declaration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    File,
    Block,
    Field,
    Param,
    TypeName,
}

/// What the specifiers said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Specifiers {
    /// First position after them.
    pub(super) next: usize,
    pub(super) is_typedef: bool,
}

/// What a name among the specifiers is, when no type was seen yet.
enum Role {
    Type,
    /// Noise up to the position.
    Noise(usize),
    /// `EXPORT(int) f`: the type stands in the parentheses.
    Inner,
    /// `STACK_OF(X509) *f`: the call, up to the position, is the type.
    Call(usize),
    /// The declared name; the type is an implicit `int`.
    Declared,
}

impl Walker<'_> {
    /// Writes the specifiers at `at`.
    pub(super) fn specifiers(&mut self, mut at: usize, context: Context) -> Specifiers {
        let mut typed = false;
        let mut is_typedef = false;
        loop {
            match self.kind(at) {
                Kind::Storage(word) => {
                    is_typedef |= word == "typedef";
                    at = self.copy(at);
                }
                Kind::Qualifier(_) => at = self.copy(at),
                Kind::TypeWord(_) => {
                    typed = true;
                    at = self.copy(at);
                }
                Kind::Tag(_) => {
                    typed = true;
                    at = self.tagged(at);
                }
                Kind::TypeOf | Kind::Atomic => {
                    typed |= self.is(at + 1, "(");
                    at = self.type_operator(at);
                }
                Kind::Name if typed => match self.noise_before_declarator(at) {
                    Some(next) => at = next,
                    None => break,
                },
                Kind::Name => match self.role(at, context) {
                    Role::Noise(next) => at = next,
                    Role::Declared => break,
                    role => {
                        typed = true;
                        at = self.typed_by(&role, at);
                    }
                },
                _ => break,
            }
        }
        if !typed {
            self.insert("int", at);
        }
        Specifiers {
            next: at,
            is_typedef,
        }
    }

    fn typed_by(&mut self, role: &Role, at: usize) -> usize {
        match *role {
            Role::Inner => {
                let close = self.mate(at + 1);
                self.type_name(at + 2, close);
                close + 1
            }
            Role::Call(next) => self.put_all(TYPE, at, next),
            Role::Type | Role::Noise(_) | Role::Declared => self.put_type(at),
        }
    }

    /// `typeof(…)`, `_Atomic(…)` or the bare qualifier `_Atomic`.
    fn type_operator(&mut self, at: usize) -> usize {
        let open = self.copy(at);
        if !self.is(open, "(") {
            return open;
        }
        let close = self.mate(open);
        let inside = self.copy(open);
        let next = match self.type_name_end(inside) {
            Some(found) if found.end == close && (found.sure || self.kind(at) == Kind::Atomic) => {
                self.type_name(inside, close)
            }
            _ => self.expression(inside),
        };
        self.finish_group(next, close)
    }

    /// `struct tag`, `union { … }`, `enum tag { … }`.
    fn tagged(&mut self, at: usize) -> usize {
        let is_enum = self.text(at) == b"enum";
        let mut at = self.copy(at);
        // `struct EXPORT tag {`
        while self.kind(at) == Kind::Name && self.kind(at + 1) == Kind::Name && self.tag_noise(at) {
            at += 1;
        }
        if self.kind(at) == Kind::Name {
            at = self.put(NAME, at);
        }
        // `enum tag : unsigned char {` of C23
        if is_enum && self.is(at, ":") {
            while !self.is_any(at, &["{", ";"]) && self.kind(at) != Kind::End {
                at += 1;
            }
        }
        match (self.is(at, "{"), is_enum) {
            (true, true) => self.enumerators(at),
            (true, false) => self.fields(at),
            (false, _) => at,
        }
    }

    fn tag_noise(&self, at: usize) -> bool {
        self.is(at + 2, "{") || (looks_like_macro(self.text(at)) && self.kind(at + 2) == Kind::Name)
    }

    fn enumerators(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let mut at = self.copy(open);
        while at < close {
            if self.kind(at) == Kind::Name {
                self.scopes.declare(self.text(at), Meaning::Variable);
                at = self.put(NAME, at);
            }
            at = self.skip_noise(at);
            if self.is(at, "=") {
                at = self.copy(at);
                at = self.assignment(at);
                at = self.skip_noise(at);
            }
            if at < close {
                at = self.copy(at);
            }
        }
        self.copy(close)
    }

    /// If the name at `at` is not the declared one though a type was seen: the position after it.
    pub(super) fn noise_before_declarator(&self, at: usize) -> Option<usize> {
        let next = at + 1;
        let is_noise = match self.kind(next) {
            // `int NOISE x`, `int x NOISE`
            Kind::Name => !looks_like_macro(self.text(next)) || looks_like_macro(self.text(at)),
            Kind::Qualifier(_) | Kind::TypeWord(_) | Kind::Tag(_) | Kind::Storage(_) => true,
            Kind::Punct if self.is(next, "*") => true,
            Kind::Punct if self.is(next, "(") => {
                // `int WINAPI (*f)(void)`
                if self.is(next + 1, "*") {
                    return Some(next);
                }
                // `int ALIGNED(8) x`, and not `int f(void) NOTHROW`
                let after = self.after_group(next);
                let noise = looks_like_macro(self.text(at))
                    && self.kind(after) == Kind::Name
                    && !looks_like_macro(self.text(after));
                return noise.then_some(after);
            }
            _ => false,
        };
        is_noise.then_some(next)
    }

    fn role(&self, at: usize, context: Context) -> Role {
        let known = self.is_type(at);
        let next = at + 1;
        match self.kind(next) {
            Kind::Name if !known && self.type_follows(at, next) => Role::Noise(next),
            Kind::Name => Role::Type,
            Kind::Qualifier(_) => {
                let mut past = next;
                while matches!(self.kind(past), Kind::Qualifier(_)) {
                    past += 1;
                }
                match self.kind(past) {
                    Kind::TypeWord(_) | Kind::Tag(_) | Kind::TypeOf => Role::Noise(next),
                    Kind::Name if !known && self.type_follows(at, past) => Role::Noise(next),
                    _ => Role::Type,
                }
            }
            Kind::TypeWord(_) | Kind::Tag(_) | Kind::TypeOf | Kind::Atomic => Role::Noise(next),
            Kind::Storage(_) if !known => Role::Noise(next),
            Kind::Punct if self.is(next, "(") => self.role_of_call(at, known),
            Kind::Punct if self.is(next, "*") => Role::Type,
            _ if known => Role::Type,
            _ => match context {
                Context::File | Context::Block => Role::Declared,
                Context::Field | Context::Param | Context::TypeName => Role::Type,
            },
        }
    }

    /// For two names `A B` with `A` no known type: whether `B` begins the type.
    fn type_follows(&self, first: usize, second: usize) -> bool {
        let next = second + 1;
        match self.kind(next) {
            // `A B c`, `A B const *c`
            Kind::Name | Kind::Qualifier(_) => {
                // `A c NOISE`
                self.is_type(second)
                    || !looks_like_macro(self.text(next))
                    || looks_like_macro(self.text(first))
            }
            // `A B *c`, and not `T FAR *c`
            Kind::Punct if self.is(next, "*") => {
                !looks_like_macro(self.text(second)) || looks_like_macro(self.text(first))
            }
            // `A B(int) f`, and not `T f(…)`
            Kind::Punct if self.is(next, "(") => {
                let after = self.after_group(next);
                looks_like_macro(self.text(second))
                    && (self.kind(after) == Kind::Name || self.is(after, "*"))
            }
            _ => false,
        }
    }

    /// The role of `A` in `A(…)`.
    fn role_of_call(&self, at: usize, known: bool) -> Role {
        let open = at + 1;
        let close = self.mate(open);
        let after = close + 1;
        // `T (*f)(void)`
        if self.is_any(open + 1, &["*", "^"]) && (known || self.is_any(after, &["(", "["])) {
            return Role::Type;
        }
        let goes_on = matches!(
            self.kind(after),
            Kind::Name
                | Kind::TypeWord(_)
                | Kind::Tag(_)
                | Kind::Storage(_)
                | Kind::Qualifier(_)
                | Kind::TypeOf
        ) || self.is(after, "*");
        if !goes_on || self.is_old_style_head(after) {
            return Role::Declared;
        }
        if self.own_type_follows(after) {
            return Role::Noise(after);
        }
        match self.type_name_end(open + 1) {
            Some(found) if found.end == close && found.sure => Role::Inner,
            _ => Role::Call(after),
        }
    }

    /// Whether the specifiers from `at` on name a type themselves.
    fn own_type_follows(&self, mut at: usize) -> bool {
        while matches!(self.kind(at), Kind::Storage(_) | Kind::Qualifier(_)) {
            at += 1;
        }
        match self.kind(at) {
            Kind::TypeWord(_) | Kind::Tag(_) | Kind::TypeOf => true,
            Kind::Name if self.is(at + 1, "(") => {
                // `A(1) B(int) f(void)`
                let after = self.after_group(at + 1);
                self.kind(after) == Kind::Name || self.is(after, "*")
            }
            Kind::Name => self.kind(at + 1) == Kind::Name || self.is(at + 1, "*"),
            _ => false,
        }
    }

    /// Whether parameter declarations of the old style begin at `at`: `f(a) int a; {`.
    pub(super) fn is_old_style_head(&self, mut at: usize) -> bool {
        while self.kind(at) != Kind::End {
            if self.is(at, "{") {
                return self.is(at - 1, ";");
            }
            at = self.after_group(at);
        }
        false
    }
}
