//! Conditions of `#if`: parsed, evaluated under a configuration, solved for a wanted outcome.

use super::config::Config;

/// A parsed condition in which every project macro is expanded already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cond {
    Int(i64),
    /// A name that no `#define` gives.
    Name(Box<str>),
    /// `defined(name)` of such a name.
    Defined(Box<str>),
    Not(Box<Cond>),
    Unary(u8, Box<Cond>),
    Binary(&'static str, Box<Cond>, Box<Cond>),
    Ternary(Box<Cond>, Box<Cond>, Box<Cond>),
}

/// A token of a condition: its text, or the outcome of `defined X` for a known `X`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CondToken {
    Text(Box<str>),
    Known(i64),
    Defined(Box<str>),
}

/// Binary operators by precedence, weakest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The tokens of `words`, with `defined X` answered by `defined`.
pub(super) fn tokens(words: &[&[u8]], defined: impl Fn(&[u8]) -> CondToken) -> Vec<CondToken> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at] == b"defined" {
            let parens = usize::from(words.get(at + 1) == Some(&&b"("[..]));
            out.push(defined(
                words.get(at + 1 + parens).copied().unwrap_or_default(),
            ));
            at += 2 + 2 * parens;
        } else {
            out.push(CondToken::Text(String::from_utf8_lossy(words[at]).into()));
            at += 1;
        }
    }
    out
}

/// `defined name`, of which nothing is known.
pub(super) fn unknown(name: &[u8]) -> CondToken {
    CondToken::Defined(String::from_utf8_lossy(name).into())
}

/// Longest condition that is read, in tokens: a limit on the depth of the tree.
const MAX_TOKENS: usize = 4096;

/// Parses a condition; what cannot be read counts as 0, as for an undefined name.
pub(crate) fn parse(tokens: &[CondToken]) -> Cond {
    if tokens.len() > MAX_TOKENS {
        return Cond::Int(0);
    }
    Parser {
        tokens,
        at: 0,
        depth: 0,
    }
    .ternary()
}

struct Parser<'a> {
    tokens: &'a [CondToken],
    at: usize,
    depth: u32,
}

impl Parser<'_> {
    fn text(&self) -> &str {
        match self.tokens.get(self.at) {
            Some(CondToken::Text(text)) => text,
            _ => "",
        }
    }

    fn eat(&mut self, text: &str) -> bool {
        let here = self.text() == text;
        self.at += usize::from(here);
        here
    }

    fn ternary(&mut self) -> Cond {
        // Parentheses nest through here; a limit keeps hostile input off the stack.
        self.depth += 1;
        if self.depth > 200 {
            self.at = self.tokens.len();
            return Cond::Int(0);
        }
        let cond = self.binary(0);
        let result = if self.eat("?") {
            let then = self.ternary();
            self.eat(":");
            let otherwise = self.ternary();
            Cond::Ternary(Box::new(cond), Box::new(then), Box::new(otherwise))
        } else {
            cond
        };
        self.depth -= 1;
        result
    }

    fn binary(&mut self, level: usize) -> Cond {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1);
        while let Some(operator) = operators.iter().find(|op| self.text() == **op) {
            self.at += 1;
            let right = self.binary(level + 1);
            left = Cond::Binary(operator, Box::new(left), Box::new(right));
        }
        left
    }

    fn unary(&mut self) -> Cond {
        let mut negations = 0u32;
        let mut signs = Vec::new();
        loop {
            if self.eat("!") {
                negations += 1;
            } else if let operator @ ("-" | "+" | "~") = self.text() {
                signs.push(operator.as_bytes()[0]);
                self.at += 1;
            } else {
                break;
            }
        }
        let mut cond = self.primary();
        for operator in signs.into_iter().rev() {
            cond = Cond::Unary(operator, Box::new(cond));
        }
        for _ in 0..negations {
            cond = Cond::Not(Box::new(cond));
        }
        cond
    }

    fn primary(&mut self) -> Cond {
        if self.eat("(") {
            let inner = self.ternary();
            self.eat(")");
            return inner;
        }
        let Some(token) = self.tokens.get(self.at) else {
            return Cond::Int(0);
        };
        self.at += 1;
        match token {
            CondToken::Known(value) => Cond::Int(*value),
            CondToken::Defined(name) => Cond::Defined(name.clone()),
            CondToken::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                Cond::Int(parse_int(text))
            }
            CondToken::Text(text) if text.starts_with('\'') => Cond::Int(0),
            CondToken::Text(text) => self.name(text),
        }
    }

    /// A name, or a call such as `__has_include(<x.h>)` or `Py_PACK_VERSION(3, 14)`.
    fn name(&mut self, name: &str) -> Cond {
        if self.text() != "(" {
            return match name {
                "true" => Cond::Int(1),
                "false" => Cond::Int(0),
                _ => Cond::Name(name.into()),
            };
        }
        self.at += 1;
        let mut whole = format!("{name}(");
        let mut depth = 1u32;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            let CondToken::Text(text) = token else {
                continue;
            };
            match &**text {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            whole.push_str(text);
        }
        pack_version(&whole).unwrap_or_else(|| Cond::Name(whole.into()))
    }
}

/// `Py_PACK_VERSION(3, 14)` and `Py_PACK_FULL_VERSION(3, 14, …)` as numbers.
fn pack_version(call: &str) -> Option<Cond> {
    let args = call
        .strip_prefix("Py_PACK_VERSION(")
        .or_else(|| call.strip_prefix("Py_PACK_FULL_VERSION("))?;
    let mut numbers = args.split(',').map(parse_int);
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some(Cond::Int(major << 24 | minor << 16))
}

/// The value of an integer constant; suffixes are skipped, what does not fit is 0.
pub(super) fn parse_int(text: &str) -> i64 {
    let digits = text
        .trim_end_matches(['u', 'U', 'l', 'L'])
        .replace('\'', "");
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = if let Some(hex) = lower.strip_prefix("0x") {
        (hex, 16)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (binary, 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (&*lower, 10)
    };
    i64::from_str_radix(digits, radix).unwrap_or(0)
}

impl Cond {
    /// The value under `config`, defaults included.
    pub(crate) fn eval(&self, config: &Config) -> i64 {
        match self {
            Self::Int(value) => *value,
            Self::Name(name) => config.value(name).unwrap_or(0),
            Self::Defined(name) => i64::from(config.value(name).is_some()),
            Self::Not(inner) => i64::from(inner.eval(config) == 0),
            Self::Unary(b'-', inner) => inner.eval(config).wrapping_neg(),
            Self::Unary(b'~', inner) => !inner.eval(config),
            Self::Unary(_, inner) => inner.eval(config),
            Self::Binary("&&", left, right) => {
                i64::from(left.eval(config) != 0 && right.eval(config) != 0)
            }
            Self::Binary("||", left, right) => {
                i64::from(left.eval(config) != 0 || right.eval(config) != 0)
            }
            Self::Binary(op, left, right) => binary(op, left.eval(config), right.eval(config)),
            Self::Ternary(cond, then, otherwise) => {
                if cond.eval(config) != 0 {
                    then.eval(config)
                } else {
                    otherwise.eval(config)
                }
            }
        }
    }

    /// Adds assumptions to `config` under which the condition's truth is `wanted`. Gives whether
    /// it found some; `config` may hold a part of them if not.
    pub(crate) fn solve(&self, wanted: bool, config: &mut Config) -> bool {
        match self {
            Self::Int(value) => (*value != 0) == wanted,
            Self::Defined(name) => {
                if config.is_assumed(name) {
                    return config.value(name).is_some() == wanted;
                }
                config.assume(name, wanted.then_some(1))
            }
            Self::Not(inner) => inner.solve(!wanted, config),
            Self::Name(_) => self.solve_compare(if wanted { "!=" } else { "==" }, 0, config),
            Self::Binary("&&", left, right) if wanted => solve_both([left, right], true, config),
            Self::Binary("||", left, right) if !wanted => solve_both([left, right], false, config),
            Self::Binary("&&" | "||", left, right) => [left, right].into_iter().any(|side| {
                let mut attempt = config.clone();
                let solved = side.solve(wanted, &mut attempt);
                if solved {
                    *config = attempt;
                }
                solved
            }),
            Self::Binary(op @ ("==" | "!=" | "<" | ">" | "<=" | ">="), left, right) => {
                let op = if wanted { op } else { negated(op) };
                match (&**left, &**right) {
                    (name, Self::Int(value)) => name.solve_compare(op, *value, config),
                    (Self::Int(value), name) => name.solve_compare(mirrored(op), *value, config),
                    _ => (self.eval(config) != 0) == wanted,
                }
            }
            Self::Unary(..) | Self::Binary(..) | Self::Ternary(..) => {
                (self.eval(config) != 0) == wanted
            }
        }
    }

    /// Assumes that `self op value` holds.
    fn solve_compare(&self, op: &str, value: i64, config: &mut Config) -> bool {
        let Self::Name(name) = self else {
            return binary(op, self.eval(config), value) != 0;
        };
        let bounds = match op {
            "<" => (i64::MIN, value.saturating_sub(1)),
            "<=" => (i64::MIN, value),
            ">" => (value.saturating_add(1), i64::MAX),
            ">=" => (value, i64::MAX),
            "==" => (value, value),
            _ => return self.solve_unequal(name, value, config),
        };
        match &**name {
            "PY_VERSION_HEX" => config.assume_version(bounds.0, bounds.1),
            "PY_MINOR_VERSION" => config.assume_version(
                bounds.0.clamp(0, 0xff) << 16 | 0x0300_0000,
                bounds.1.clamp(-1, 0xff).wrapping_shl(16) + 0x0300_FFFF,
            ),
            name if config.is_assumed(name) => {
                binary(op, config.value(name).unwrap_or(0), value) != 0
            }
            name => {
                let near = 0i64.clamp(bounds.0, bounds.1);
                config.assume(name, (near != 0).then_some(near))
            }
        }
    }

    fn solve_unequal(&self, name: &str, value: i64, config: &mut Config) -> bool {
        if self.eval(config) != value && !matches!(name, "PY_VERSION_HEX" | "PY_MINOR_VERSION") {
            return config.assume(name, config.value(name));
        }
        config.assume(name, (value == 0).then_some(1))
    }
}

/// Solves both sides. The order matters: `defined(X) && X > 2` has to begin with the comparison,
/// which tells a value and not only that there is one.
fn solve_both(sides: [&Cond; 2], wanted: bool, config: &mut Config) -> bool {
    let [left, right] = sides;
    [[left, right], [right, left]].into_iter().any(|order| {
        let mut attempt = config.clone();
        let solved = order
            .into_iter()
            .all(|side| side.solve(wanted, &mut attempt));
        if solved {
            *config = attempt;
        }
        solved
    })
}

pub(super) fn binary(op: &str, left: i64, right: i64) -> i64 {
    let shift = u32::try_from(right).unwrap_or(0);
    match op {
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<<" => left.wrapping_shl(shift),
        ">>" => left.wrapping_shr(shift),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right).unwrap_or(0),
        "%" => left.checked_rem(right).unwrap_or(0),
        _ => 0,
    }
}

fn negated(op: &str) -> &'static str {
    match op {
        "==" => "!=",
        "!=" => "==",
        "<" => ">=",
        ">" => "<=",
        "<=" => ">",
        _ => "<",
    }
}

fn mirrored(op: &str) -> &'static str {
    match op {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        "==" => "==",
        _ => "!=",
    }
}

#[cfg(test)]
mod tests {
    use super::{CondToken, parse};
    use crate::preprocess::config::{Config, VersionRange};

    fn base() -> Config {
        Config::base(VersionRange {
            min: 0x0309_0000,
            max: 0x030F_00F0,
        })
    }

    fn cond(text: &str) -> super::Cond {
        let tokens: Vec<CondToken> = text
            .split_whitespace()
            .map(|word| CondToken::Text(word.into()))
            .collect();
        parse(&tokens)
    }

    #[test]
    fn values_follow_precedence() {
        assert_eq!(cond("1 + 2 * 3 == 7 && ! 0").eval(&base()), 1);
        assert_eq!(cond("PY_VERSION_HEX >= 0x03080000").eval(&base()), 1);
        assert_eq!(cond("( 1 ? 2 : 3 ) << 4").eval(&base()), 32);
        assert_eq!(
            cond("Py_PACK_VERSION ( 3 , 14 ) == 0x030E0000").eval(&base()),
            1
        );
    }

    #[test]
    fn branches_that_no_supported_build_takes_have_no_solution() {
        for dead in [
            "PY_MAJOR_VERSION < 3",
            "PY_MAJOR_VERSION == 2",
            "PY_VERSION_HEX < 0x03000000",
            "PY_VERSION_HEX < 0x03090000",
            "PY_MINOR_VERSION < 9",
            "0",
            "__cplusplus",
        ] {
            assert!(!cond(dead).solve(true, &mut base()), "{dead}");
        }
    }

    #[test]
    fn a_solution_makes_the_condition_hold() {
        for live in [
            "PY_VERSION_HEX < 0x030B0000",
            "PY_MINOR_VERSION <= 10",
            "FOO",
            "FOO > 3 && BAR == 2",
            "! FOO || BAR",
            "FOO && FOO > 2",
            "5 <= FOO",
            "_WIN32",
        ] {
            for wanted in [true, false] {
                let mut config = base();
                assert!(cond(live).solve(wanted, &mut config), "{live} {wanted}");
                assert_eq!(cond(live).eval(&config) != 0, wanted, "{live} {wanted}");
            }
        }
    }
}
