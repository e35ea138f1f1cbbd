//! The Python versions a package supports, and the specifiers that choose among them.

use crate::capi::PyVersion;

/// The last minor version of Python 3 that specifiers are tried on.
const LAST_MINOR: u8 = 40;

/// The versions a package supports. Python 2 never counts: its branches are dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonRange {
    /// The oldest supported version.
    pub min: PyVersion,
    /// The newest supported version, if the package sets a limit.
    pub max: Option<PyVersion>,
    /// Where this was read, for messages: `requires-python in pyproject.toml`.
    pub source: String,
}

impl PythonRange {
    /// Taken when a package says nothing.
    pub const DEFAULT_MIN: PyVersion = PyVersion::new(3, 9);

    /// The versions that satisfy all specifiers of `text` (`>=3.8,<4`, `~=3.9`, `!=3.10.*`, and
    /// `^3.8` as Poetry writes it); `None` if it cannot be read or excludes all of Python 3.
    pub(super) fn from_specifiers(text: &str, source: &str) -> Option<Self> {
        let specifiers: Vec<_> = text
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(Specifier::parse)
            .collect::<Option<_>>()?;
        let allowed = |minor: &u8| specifiers.iter().all(|specifier| specifier.allows(*minor));
        let min = (0..=LAST_MINOR).find(allowed)?;
        let max = (0..=LAST_MINOR)
            .rev()
            .find(allowed)
            .filter(|&minor| minor < LAST_MINOR);
        Some(Self {
            min: PyVersion::new(3, min),
            max: max.map(|minor| PyVersion::new(3, minor)),
            source: source.to_owned(),
        })
    }
}

/// One comparison of a version specifier.
struct Specifier<'a> {
    operator: &'a str,
    major: u8,
    /// `None` for `3` and `3.*`.
    minor: Option<u8>,
    /// Whether a patch level other than `*` follows.
    has_patch: bool,
}

impl<'a> Specifier<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let digits = text.find(|c: char| c.is_ascii_digit())?;
        let (operator, version) = text.split_at(digits);
        let mut parts = version.trim().split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = match parts.next() {
            None | Some("*") => None,
            Some(minor) => Some(minor.parse().ok()?),
        };
        let has_patch = parts.next().is_some_and(|patch| patch != "*");
        Some(Self {
            operator: operator.trim(),
            major,
            minor,
            has_patch,
        })
    }

    /// Whether some release of Python 3.`minor` satisfies this.
    fn allows(&self, minor: u8) -> bool {
        let version = (3, minor);
        let bound = (self.major, self.minor.unwrap_or(0));
        match self.operator {
            ">=" => version >= bound,
            // `>3.7` does not speak of 3.7.1, `>3.7.0` does.
            ">" => version > bound || (self.has_patch && version == bound),
            "<" => version < bound || (self.has_patch && version == bound),
            "<=" => version <= bound,
            "~=" if self.has_patch => version == bound,
            "~=" | "^" => version >= bound && self.major == 3,
            "==" | "===" | "" | "~" => {
                self.major == 3 && self.minor.is_none_or(|only| only == minor)
            }
            "!=" => self.has_patch || self.major != 3 || self.minor.is_some_and(|no| no != minor),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PythonRange;

    fn range(text: &str) -> Option<(u8, Option<u8>)> {
        let range = PythonRange::from_specifiers(text, "test")?;
        Some((range.min.minor, range.max.map(|max| max.minor)))
    }

    #[test]
    fn specifiers_bound_the_range() {
        assert_eq!(range(">=3.8"), Some((8, None)));
        assert_eq!(range(">= 3.8, < 3.14"), Some((8, Some(13))));
        assert_eq!(range(">=3.8,<4"), Some((8, None)));
        assert_eq!(range(">=2.7, !=3.0.*, !=3.1.*, !=3.2.*"), Some((3, None)));
        assert_eq!(range("~=3.9"), Some((9, None)));
        assert_eq!(range("~=3.9.2"), Some((9, Some(9))));
        assert_eq!(range(">3.7"), Some((8, None)));
        assert_eq!(range(">=3.9.1"), Some((9, None)));
        assert_eq!(range("^3.10"), Some((10, None)));
        assert_eq!(range("==3.*"), Some((0, None)));
    }

    #[test]
    fn unreadable_or_impossible_specifiers_give_nothing() {
        assert_eq!(range("whatever"), None);
        assert_eq!(range("<3"), None);
    }
}
