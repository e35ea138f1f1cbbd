//! Expressions: operands and operators in turn.

use super::Walker;
use crate::parse::shadow::{ELVIS, LABEL_ADDRESS, NAME};
use crate::parse::words::Kind;

const PREFIX_OPERATORS: &[&str] = &["*", "&", "!", "-", "+", "~", "++", "--"];

const INFIX_OPERATORS: &[&str] = &[
    "=", "==", "&&", "||", "+", "-", "*", "&", "<", ">", "!=", "|", "<=", ">=", "/", "%", "<<",
    ">>", "^", "+=", "-=", "|=", "&=", "*=", "/=", "%=", "^=", "<<=", ">>=",
];

/// What was found where an operand must stand.
enum Operand {
    /// An operand, up to the position.
    Whole(usize),
    /// A prefix operator or a cast: the operand is still to come.
    Prefix(usize),
    Nothing,
}

impl Walker<'_> {
    /// Writes the expression at `at`, commas included, and stops at what cannot belong to it.
    pub(super) fn expression(&mut self, at: usize) -> usize {
        self.operators_and_operands(at, true)
    }

    /// Writes the expression at `at` up to a comma.
    pub(super) fn assignment(&mut self, at: usize) -> usize {
        self.operators_and_operands(at, false)
    }

    fn operators_and_operands(&mut self, mut at: usize, commas: bool) -> usize {
        // `?` whose `:` is still to come
        let mut questions = 0_usize;
        loop {
            match self.operand(at) {
                Operand::Prefix(next) => {
                    at = next;
                    continue;
                }
                Operand::Whole(next) => at = self.postfix(next),
                Operand::Nothing => return at,
            }
            if self.is(at, "?") {
                at = self.copy(at);
                if self.is(at, ":") {
                    self.insert(ELVIS, at);
                    at = self.copy(at);
                } else {
                    questions += 1;
                }
            } else if self.is(at, ":") && questions > 0 {
                questions -= 1;
                at = self.copy(at);
            } else if let Some(operator) = self.named_operator(at) {
                at = self.put(operator, at);
            } else if self.is_any(at, INFIX_OPERATORS)
                || (self.is(at, ",") && (commas || questions > 0))
            {
                at = self.copy(at);
            } else {
                return at;
            }
        }
    }

    /// The infix operators of `<iso646.h>`.
    fn named_operator(&self, at: usize) -> Option<&'static str> {
        Some(match self.text(at) {
            b"and" => "&&",
            b"or" => "||",
            b"not_eq" => "!=",
            b"bitand" => "&",
            b"bitor" => "|",
            b"xor" => "^",
            b"and_eq" => "&=",
            b"or_eq" => "|=",
            b"xor_eq" => "^=",
            _ => return None,
        })
    }

    fn operand(&mut self, at: usize) -> Operand {
        match self.kind(at) {
            // `<iso646.h>`
            Kind::Name if self.text(at) == b"not" && self.operand_may_begin(at + 1, true) => {
                Operand::Prefix(self.put("!", at))
            }
            Kind::Name if self.text(at) == b"compl" && self.operand_may_begin(at + 1, true) => {
                Operand::Prefix(self.put("~", at))
            }
            Kind::Name => Operand::Whole(self.put(NAME, at)),
            Kind::Literal | Kind::Str => Operand::Whole(self.copy(at)),
            Kind::SizeOf(_) => self.size_of(at),
            Kind::Generic => Operand::Whole(self.generic(at)),
            Kind::VaArg | Kind::OffsetOf if self.is(at + 1, "(") => {
                Operand::Whole(self.type_call(at))
            }
            Kind::Punct if self.is(at, "(") => self.parenthesised(at),
            Kind::Punct if self.is(at, "&&") && self.kind(at + 1) == Kind::Name => {
                self.put(LABEL_ADDRESS, at);
                self.insert("(", at + 1);
                self.put(NAME, at + 1);
                self.insert(")", at + 2);
                Operand::Whole(at + 2)
            }
            Kind::Punct if self.is_any(at, PREFIX_OPERATORS) => Operand::Prefix(self.copy(at)),
            _ => Operand::Nothing,
        }
    }

    fn postfix(&mut self, mut at: usize) -> usize {
        loop {
            if self.is(at, "(") {
                at = self.arguments(at);
            } else if self.is(at, "[") {
                let close = self.mate(at);
                at = self.copy(at);
                at = self.expression(at);
                at = self.finish_group(at, close);
            } else if self.is_any(at, &["->", "."]) {
                at = self.copy(at);
                if self.kind(at) == Kind::Name {
                    at = self.put(NAME, at);
                }
            } else if self.is_any(at, &["++", "--"]) {
                at = self.copy(at);
            } else {
                return at;
            }
        }
    }

    fn parenthesised(&mut self, open: usize) -> Operand {
        if let Some(close) = self.cast(open) {
            let inside = self.copy(open);
            self.type_name(inside, close);
            let next = self.copy(close);
            return if self.is(next, "{") {
                Operand::Whole(self.initializer_list(next))
            } else {
                Operand::Prefix(next)
            };
        }
        let close = self.mate(open);
        let inside = self.copy(open);
        let at = if self.is(inside, "{") {
            self.block(inside)
        } else {
            self.expression(inside)
        };
        Operand::Whole(self.finish_group(at, close))
    }

    fn size_of(&mut self, at: usize) -> Operand {
        let open = at + 1;
        let is_align = self.text(at) != b"sizeof";
        let found = self
            .is(open, "(")
            .then(|| self.type_name_end(open + 1))
            .flatten();
        let close = self.mate(open);
        match found {
            Some(found) if found.end == close && (found.sure || is_align) => {}
            _ => return Operand::Prefix(self.copy(at)),
        }
        if self.is(close + 1, "{") {
            // `sizeof (T){…}`
            let open = self.copy(at);
            self.insert("(", open);
            let next = match self.parenthesised(open) {
                Operand::Whole(next) | Operand::Prefix(next) => next,
                Operand::Nothing => open,
            };
            self.insert(")", next);
            return Operand::Whole(next);
        }
        let open = self.copy(at);
        let inside = self.copy(open);
        let at = self.type_name(inside, close);
        Operand::Whole(self.finish_group(at, close))
    }

    /// `va_arg(list, type)`, `offsetof(type, member)`: one argument is a type, whatever it says.
    fn type_call(&mut self, at: usize) -> usize {
        let is_offset = self.kind(at) == Kind::OffsetOf;
        let open = self.copy(at);
        let close = self.mate(open);
        let mut at = self.copy(open);
        let mut comma = at;
        while comma < close && !self.is(comma, ",") {
            comma = self.after_group(comma);
        }
        at = if is_offset {
            self.type_name(at, comma)
        } else {
            self.assignment(at)
        };
        if self.is(at, ",") {
            at = self.copy(at);
            at = if is_offset {
                self.expression(at)
            } else {
                self.type_name(at, close)
            };
        }
        self.finish_group(at, close)
    }

    /// `_Generic(value, type: expression, default: expression)`
    fn generic(&mut self, at: usize) -> usize {
        let open = self.copy(at);
        if !self.is(open, "(") {
            return open;
        }
        let close = self.mate(open);
        let mut at = self.copy(open);
        at = self.assignment(at);
        while at < close && self.is(at, ",") {
            at = self.copy(at);
            let mut colon = at;
            while colon < close && !self.is(colon, ":") {
                colon = self.after_group(colon);
            }
            at = match self.kind(at) {
                Kind::Flow(_) => self.copy(at),
                _ => self.type_name(at, colon),
            };
            if self.is(at, ":") {
                at = self.copy(at);
                at = self.assignment(at);
            }
        }
        self.finish_group(at, close)
    }

    fn arguments(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let mut at = self.copy(open);
        if at == close {
            return self.copy(close);
        }
        loop {
            at = self.argument(at, close);
            if !self.is(at, ",") {
                return self.finish_group(at, close);
            }
            at = self.copy(at);
        }
    }

    fn argument(&mut self, at: usize, close: usize) -> usize {
        let ends = |walker: &Self, at: usize| at == close || walker.is(at, ",");
        if ends(self, at) {
            // `MACRO(a, )`
            self.insert(NAME, at);
            return at;
        }
        let found = self
            .type_name_end(at)
            .filter(|found| found.sure && ends(self, found.end));
        if let Some(found) = found.filter(|_| !self.is_variable(at)) {
            // `PyObject_New(Foo, &Foo_Type)`
            self.insert("sizeof(", at);
            let next = self.type_name(at, found.end);
            self.insert(")", next);
            return next;
        }
        if self.kind(at) == Kind::Punct && ends(self, at + 1) && self.mate(at) == at {
            // `MACRO(a, <, b)`
            return self.put(NAME, at);
        }
        self.assignment(at)
    }
}
