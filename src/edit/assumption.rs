//! What a review fix rests on.

use std::borrow::Cow;
use std::fmt;

use crate::facts::{Claim, Fact, Subject};

/// What a person must confirm: lower case, no full stop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assumption {
    /// It is about the place of the fix: in another place the same words ask for something else.
    Here(String),
    /// It is about something with a name, and holds for all fixes or for none.
    Named(Fact),
}

impl Assumption {
    /// What is asked.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Here(text) => Cow::Borrowed(text),
            Self::Named(fact) => Cow::Owned(fact.to_string()),
        }
    }

    /// What can be confirmed for all fixes at once.
    #[must_use]
    pub fn fact(&self) -> Option<&Fact> {
        match self {
            Self::Here(_) => None,
            Self::Named(fact) => Some(fact),
        }
    }
}

/// That a function does not keep a pointer which is good for one call of its caller only; `function`
/// is `None` if its calls differ.
#[must_use]
pub fn keeps_no_pointer(name: &str, function: Option<Subject>) -> Assumption {
    match function {
        Some(function) => Fact::new(Claim::KeepsNoPointer, function).into(),
        None => format!(
            "`{name}` does not keep the pointer that it gets, and does not return a part of it"
        )
        .into(),
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl From<String> for Assumption {
    fn from(text: String) -> Self {
        Self::Here(text)
    }
}

impl From<&str> for Assumption {
    fn from(text: &str) -> Self {
        Self::Here(text.to_owned())
    }
}

impl From<Fact> for Assumption {
    fn from(fact: Fact) -> Self {
        Self::Named(fact)
    }
}
