//! Branches that are compiled only for builds with the GIL.
//!
//! ```c
//! #if PY_VERSION_HEX >= 0x030D0000
//!     if (PyDict_GetItemRef(d, k, &v) < 0)
//!         return NULL;
//! #else
//!     v = PyDict_GetItemWithError(d, k);       /* no other thread can free it */
//! #endif
//! ```

use super::condition::{Cond, binary};
use super::config::NEVER;

/// `PY_VERSION_HEX` of the first release that can be built without the GIL, 3.13.0.
const FIRST: i64 = 0x030D_00F0;

/// The first version whose limited API such a build has, 3.15: any release of it.
const FIRST_LIMITED: i64 = 0x030F_0000;

/// The last version that `PY_VERSION_HEX` is taken for.
const LAST: i64 = 0x03FF_FFFF;

/// Interpreters that have a GIL.
const WITH_GIL: &[&str] = &[
    "PYPY_VERSION",
    "PYPY_VERSION_NUM",
    "GRAALVM_PYTHON",
    "GRAALPY_VERSION_NUM",
];

/// Whether a word of C asks for an interpreter other than CPython.
#[must_use]
pub fn is_other_interpreter(word: &[u8]) -> bool {
    WITH_GIL.iter().any(|name| name.as_bytes() == word)
}

/// The conditions around a place, outermost first, each with the truth that it must have.
#[derive(Debug, Default)]
pub(super) struct Path {
    conds: Vec<(Cond, bool)>,
    /// Whether the conditions up to each cannot hold without a GIL, with the limited API or not.
    ruled_out: Vec<[bool; 2]>,
}

impl Path {
    pub(super) fn conds(&self) -> &[(Cond, bool)] {
        &self.conds
    }

    pub(super) fn push(&mut self, cond: Cond, wanted: bool) {
        let outer = self.ruled_out.last().copied().unwrap_or_default();
        let contradicts = |limited| cond.without_gil(limited).truth() == Some(!wanted);
        self.ruled_out.push([
            outer[0] || contradicts(false),
            outer[1] || contradicts(true),
        ]);
        self.conds.push((cond, wanted));
    }

    pub(super) fn pop(&mut self, count: usize) {
        let left = self.conds.len() - count;
        self.conds.truncate(left);
        self.ruled_out.truncate(left);
    }

    /// Whether the conditions can only have the truth that each must have if there is a GIL.
    pub(super) fn needs_gil(&self) -> bool {
        self.ruled_out.last() == Some(&[true; 2])
    }
}

/// The values that a condition may have: all from one to the other.
#[derive(Debug, Clone, Copy)]
struct Values {
    low: i64,
    high: i64,
}

const ANY: Values = Values {
    low: i64::MIN,
    high: i64::MAX,
};

impl Values {
    fn one(value: i64) -> Self {
        Self::new(value, value)
    }

    fn new(low: i64, high: i64) -> Self {
        Self { low, high }
    }

    fn of_truth(truth: Option<bool>) -> Self {
        match truth {
            Some(truth) => Self::one(i64::from(truth)),
            None => Self::new(0, 1),
        }
    }

    /// Whether they count as true, if it is the same for all.
    fn truth(self) -> Option<bool> {
        match (self.low, self.high) {
            (0, 0) => Some(false),
            (low, high) if low <= 0 && high >= 0 => None,
            _ => Some(true),
        }
    }

    fn join(self, other: Self) -> Self {
        Self::new(self.low.min(other.low), self.high.max(other.high))
    }

    /// Whether `self op other`, if it is the same for all.
    fn compare(self, op: &str, other: Self) -> Option<bool> {
        let less = |a: Self, b: Self, equal: bool| {
            let holds = if equal {
                a.high <= b.low
            } else {
                a.high < b.low
            };
            let fails = if equal {
                a.low > b.high
            } else {
                a.low >= b.high
            };
            (holds || fails).then_some(holds)
        };
        match op {
            "<" => less(self, other, false),
            "<=" => less(self, other, true),
            ">" => less(other, self, false),
            ">=" => less(other, self, true),
            _ => {
                let apart = self.high < other.low || other.high < self.low;
                let same = self.low == self.high && other.low == other.high && !apart;
                (apart || same).then_some(same == (op == "=="))
            }
        }
    }
}

impl Cond {
    /// The values on builds without the GIL, with the limited API or not.
    fn without_gil(&self, limited: bool) -> Values {
        match self {
            Self::Int(value) => Values::one(*value),
            Self::Name(name) => value(name, limited).unwrap_or(Values::one(0)),
            Self::Defined(name) => {
                let values = value(name, limited);
                let is_open =
                    values.is_some_and(|values| (values.low, values.high) == (ANY.low, ANY.high));
                Values::of_truth((!is_open).then_some(values.is_some()))
            }
            Self::Not(inner) => {
                Values::of_truth(inner.without_gil(limited).truth().map(|truth| !truth))
            }
            Self::Binary(op @ ("&&" | "||"), left, right) => {
                let sides = [left, right].map(|side| side.without_gil(limited).truth());
                let decides = *op == "||";
                let truth = if sides.contains(&Some(decides)) {
                    Some(decides)
                } else if sides == [Some(!decides); 2] {
                    Some(!decides)
                } else {
                    None
                };
                Values::of_truth(truth)
            }
            Self::Binary(op @ ("==" | "!=" | "<" | ">" | "<=" | ">="), left, right) => {
                let (left, right) = (left.without_gil(limited), right.without_gil(limited));
                Values::of_truth(left.compare(op, right))
            }
            Self::Binary(op, left, right) => {
                let (left, right) = (left.without_gil(limited), right.without_gil(limited));
                match (left.low == left.high, right.low == right.high) {
                    (true, true) => Values::one(binary(op, left.low, right.low)),
                    // Py_LIMITED_API + 0 < 0x030D0000
                    (false, true) if *op == "+" && right.low == 0 => left,
                    _ => ANY,
                }
            }
            Self::Ternary(cond, then, otherwise) => {
                let (then, otherwise) = (then.without_gil(limited), otherwise.without_gil(limited));
                match cond.without_gil(limited).truth() {
                    Some(true) => then,
                    Some(false) => otherwise,
                    None => then.join(otherwise),
                }
            }
            Self::Unary(b'-', inner) => match inner.without_gil(limited) {
                Values { low, high } if low == high => Values::one(low.wrapping_neg()),
                _ => ANY,
            },
            Self::Unary(b'+', inner) => inner.without_gil(limited),
            Self::Unary(..) => ANY,
        }
    }
}

/// What a name that the package does not define may stand for; `None` if it is not defined.
fn value(name: &str, limited: bool) -> Option<Values> {
    let first = if limited { FIRST_LIMITED } else { FIRST };
    match name {
        "Py_GIL_DISABLED" => Some(Values::one(1)),
        "PY_VERSION_HEX" => Some(Values::new(first, LAST)),
        "PY_MAJOR_VERSION" => Some(Values::one(3)),
        "PY_MINOR_VERSION" => Some(Values::new(first >> 16 & 0xFF, LAST >> 16 & 0xFF)),
        "Py_LIMITED_API" => limited.then_some(Values::new(FIRST_LIMITED, LAST)),
        _ if WITH_GIL.contains(&name) || NEVER.contains(&name) => None,
        _ => Some(ANY),
    }
}

#[cfg(test)]
mod tests {
    use super::Path;
    use crate::preprocess::condition::{CondToken, parse};

    /// Whether text under the condition, and text under its opposite, is only compiled with a GIL.
    fn sides(text: &str) -> [bool; 2] {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace();
        let mut tokens = Vec::new();
        while let Some(word) = words.next() {
            tokens.push(match word {
                "defined" => CondToken::Defined(words.next().expect("a name").into()),
                _ => CondToken::Text(word.into()),
            });
        }
        [true, false].map(|wanted| {
            let mut path = Path::default();
            path.push(parse(&tokens), wanted);
            path.needs_gil()
        })
    }

    #[test]
    fn old_versions_and_other_interpreters_have_one() {
        for text in [
            "PY_VERSION_HEX < 0x030D0000",
            "PY_VERSION_HEX < 0x030D00A1",
            "PY_VERSION_HEX <= 0x030C00F0",
            "PY_MINOR_VERSION < 13",
            "PY_MAJOR_VERSION == 3 && PY_MINOR_VERSION <= 12",
            "PY_MAJOR_VERSION < 3 || PY_VERSION_HEX < 0x030D0000",
            "! defined Py_GIL_DISABLED",
            "! Py_GIL_DISABLED",
            "defined PYPY_VERSION",
            "defined Py_LIMITED_API && Py_LIMITED_API < 0x030D0000",
            "defined Py_LIMITED_API && Py_LIMITED_API + 0 < 0x030F0000",
            "defined PYPY_VERSION || ( FOO && PY_VERSION_HEX < 0x030D0000 )",
        ] {
            assert_eq!(sides(text), [true, false], "{text}");
        }
    }

    #[test]
    fn what_a_build_without_one_can_have_is_told_apart() {
        for text in [
            "PY_VERSION_HEX < 0x030E0000",
            "PY_VERSION_HEX >= 0x030E0000",
            "PY_MINOR_VERSION == 13",
            "defined Py_LIMITED_API",
            "defined Py_LIMITED_API && Py_LIMITED_API >= 0x030F0000",
            "Py_LIMITED_API < 0x030D0000 || BAR",
            "! defined Py_GIL_DISABLED || FOO",
            "defined HAVE_GETITEMREF",
            "FOO",
            "FOO < 3",
            "( FOO ? 1 : 0 )",
        ] {
            assert_eq!(sides(text), [false, false], "{text}");
        }
        assert_eq!(sides("defined Py_GIL_DISABLED"), [false, true]);
        assert_eq!(sides("PY_VERSION_HEX >= 0x030D0000"), [false, true]);
    }
}
