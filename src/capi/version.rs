//! A Python version as the C API sees it: major and minor.

use std::{fmt, str::FromStr};

/// A feature release of Python, ordered from older to newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PyVersion {
    /// The `3` of 3.13.
    pub major: u8,
    /// The `13` of 3.13.
    pub minor: u8,
}

impl PyVersion {
    /// The version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> PyVersion {
        PyVersion { major, minor }
    }

    /// `PY_VERSION_HEX` without patch level and release serial: 3.13 is `0x030D0000`.
    pub const fn hex(self) -> u32 {
        (self.major as u32) << 24 | (self.minor as u32) << 16
    }

    /// The release that a `PY_VERSION_HEX` or `Py_LIMITED_API` value belongs to.
    pub const fn from_hex(hex: u32) -> PyVersion {
        PyVersion {
            major: (hex >> 24) as u8,
            minor: (hex >> 16) as u8,
        }
    }
}

impl fmt::Display for PyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The text is not a Python version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Python version: write it as `3.9`")]
pub struct ParseVersionError(String);

impl FromStr for PyVersion {
    type Err = ParseVersionError;

    /// Reads `3.13`; a patch level (`3.13.5`) is checked and dropped.
    fn from_str(text: &str) -> Result<PyVersion, ParseVersionError> {
        let error = || ParseVersionError(text.to_owned());
        let numbers = text
            .split('.')
            .map(|part| part.parse::<u8>())
            .collect::<Result<Vec<u8>, _>>()
            .map_err(|_| error())?;
        match numbers[..] {
            [major, minor] | [major, minor, _] => Ok(PyVersion { major, minor }),
            _ => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_order_by_number_not_by_text() {
        assert!(PyVersion::new(3, 9) < PyVersion::new(3, 13));
        assert!("3.13".parse::<PyVersion>().unwrap() < "3.14.2".parse().unwrap());
    }

    #[test]
    fn hex_is_that_of_the_headers() {
        assert_eq!(PyVersion::new(3, 13).hex(), 0x030D_0000);
        assert_eq!(PyVersion::from_hex(0x030D_00A4), PyVersion::new(3, 13));
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "3", "3.x", "3.9.1.2", "3.-1", "3.999", ">=3.9"] {
            let error = text.parse::<PyVersion>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")));
        }
    }
}
