//! A Python version as the C API sees it: major and minor.

use std::fmt;
use std::str::FromStr;

/// A feature release of Python, ordered from older to newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct PyVersion {
    /// The `3` of 3.13.
    pub major: u8,
    /// The `13` of 3.13.
    pub minor: u8,
}

impl PyVersion {
    /// The version `major.minor`.
    #[must_use]
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The value that `PY_VERSION_HEX` has for the first final release: `0x030D00F0` for 3.13.
    #[must_use]
    pub const fn hex(self) -> u32 {
        (self.major as u32) << 24 | (self.minor as u32) << 16 | 0xf0
    }
}

impl fmt::Display for PyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no version of Python 3.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Python 3 version; write it like `3.9`")]
pub struct BadVersion(String);

impl FromStr for PyVersion {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion(text.to_owned());
        let minor = text.trim().strip_prefix("3.").ok_or_else(bad)?;
        Ok(Self::new(3, minor.parse().map_err(|_| bad())?))
    }
}

impl TryFrom<String> for PyVersion {
    type Error = BadVersion;

    fn try_from(text: String) -> Result<Self, BadVersion> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::PyVersion;

    #[test]
    fn versions_order_by_number_not_by_text() {
        assert!(PyVersion::new(3, 9) < PyVersion::new(3, 13));
        assert!("3.9".parse::<PyVersion>().unwrap() < "3.13".parse().unwrap());
    }

    #[test]
    fn versions_are_read_and_shown() {
        let version: PyVersion = "3.13".parse().unwrap();
        assert_eq!(
            (version.to_string(), version.hex()),
            ("3.13".into(), 0x030d_00f0)
        );
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "2.7", "3", "3.x", "3.9.1", "3.-1", "3.999", ">=3.9"] {
            let error = text.parse::<PyVersion>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")));
        }
    }
}
