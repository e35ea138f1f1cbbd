//! Configurations: what is assumed about names that the package does not define.

use std::collections::BTreeMap;

/// `PY_VERSION_HEX` of the first and the last Python a package supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// Lowest, such as `0x03090000`.
    pub min: u32,
    /// Highest, such as `0x030F00F0`.
    pub max: u32,
}

/// The name under which a configuration holds the Python version.
const VERSION: &str = "PY_VERSION_HEX";

/// What one run of the preprocessor assumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    range: VersionRange,
    /// Values of names that no `#define` gives; `None` means the name is not defined.
    assumed: BTreeMap<Box<str>, Option<i64>>,
}

impl Config {
    /// The configuration in which nothing is assumed: defaults decide everything.
    #[must_use]
    pub fn base(range: VersionRange) -> Self {
        Self {
            range,
            assumed: BTreeMap::new(),
        }
    }

    /// The value of `name`: `None` if it is not defined.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<i64> {
        match self.assumed.get(name) {
            Some(value) => *value,
            None => self.default_value(name),
        }
    }

    /// Whether the build has no GIL.
    #[must_use]
    pub fn is_free_threaded(&self) -> bool {
        self.value("Py_GIL_DISABLED").is_some()
    }

    fn default_value(&self, name: &str) -> Option<i64> {
        let version = || self.value(VERSION).unwrap_or(i64::from(self.range.max));
        match name {
            "PY_VERSION_HEX" => Some(i64::from(self.range.max)),
            "PY_MAJOR_VERSION" => Some(3),
            "PY_MINOR_VERSION" => Some((version() >> 16) & 0xff),
            "PY_MICRO_VERSION" => Some((version() >> 8) & 0xff),
            "PYTHON_API_VERSION" | "PYTHON_ABI_VERSION" => Some(1013),
            "PY_RELEASE_LEVEL" => Some(0xF),
            "PY_SSIZE_T_MAX" | "LONG_MAX" | "LLONG_MAX" | "SSIZE_MAX" => Some(i64::MAX),
            "INT_MAX" => Some(i64::from(i32::MAX)),
            "UINT_MAX" => Some(i64::from(u32::MAX)),
            "CHAR_BIT" => Some(8),
            "SIZEOF_INT" | "SIZEOF_WCHAR_T" | "SIZEOF_FLOAT" => Some(4),
            "SIZEOF_SHORT" => Some(2),
            "__GNUC__" => Some(12),
            "__GNUC_MINOR__" => Some(2),
            "__STDC_VERSION__" => Some(201_710),
            // The free-threaded build is what this is all about.
            "Py_GIL_DISABLED" if version() >= 0x030D_0000 => Some(1),
            _ if IS_DEFINED.contains(&name) || ALWAYS.contains(&name) => Some(1),
            _ if name.starts_with("SIZEOF_") => Some(8),
            _ if name.starts_with("HAVE_") => Some(1),
            _ => None,
        }
    }

    /// Assumes that `name` has `value`. Gives whether that fits what is assumed already.
    pub(crate) fn assume(&mut self, name: &str, value: Option<i64>) -> bool {
        match name {
            "PY_VERSION_HEX" | "PY_MAJOR_VERSION" => return self.value(name) == value,
            _ if FIXED.contains(&name) => return self.value(name) == value,
            _ if NEVER.contains(&name) && value.is_some() => return false,
            _ if ALWAYS.contains(&name) && value.is_none() => return false,
            _ => {}
        }
        let known = self.assumed.entry(name.into()).or_insert(value);
        *known == value
    }

    /// Assumes that the Python version lies in `low..=high` (as `PY_VERSION_HEX`).
    pub(crate) fn assume_version(&mut self, low: i64, high: i64) -> bool {
        let low = low.max(i64::from(self.range.min));
        let high = high.min(i64::from(self.range.max));
        match self.assumed.get(VERSION) {
            Some(known) => known.is_some_and(|version| (low..=high).contains(&version)),
            None if low > high => false,
            None => {
                self.assumed.insert(VERSION.into(), Some(high));
                true
            }
        }
    }

    /// Whether a value is assumed for `name`.
    pub(crate) fn is_assumed(&self, name: &str) -> bool {
        self.assumed.contains_key(name)
    }
}

/// Names that are defined wherever an extension is compiled for the first configuration.
const IS_DEFINED: &[&str] = &[
    "__linux__",
    "__linux",
    "linux",
    "__unix__",
    "unix",
    "__STDC__",
    "__x86_64__",
    "__amd64__",
    "__LP64__",
    "_LP64",
    "__ELF__",
    "USE_STACKCHECK",
    "Py_UNICODE_WIDE",
    "EOF",
    "SEEK_SET",
    "PATH_MAX",
    "INFINITY",
    "NAN",
    "va_copy",
    "Py_PRINTF_PARENS",
];

/// Names that are never defined in the code we analyse: another language, another Python.
pub(super) const NEVER: &[&str] = &[
    "__cplusplus",
    "IS_PY2",
    "PYTHON2",
    "PY2",
    "SWIG",
    "DOXYGEN",
    "DOXYGEN_SHOULD_SKIP_THIS",
    "_PREFAST_",
    "__CODE_CHECKER__",
    "__clang_analyzer__",
    "__COVERITY__",
];

/// Names that are defined with every supported Python; of functions that once were macros none.
const ALWAYS: &[&str] = &[
    "NULL",
    "PY_LONG_LONG",
    "PyDoc_STRVAR",
    "PyMODINIT_FUNC",
    "PyObject_HEAD",
    "PyObject_HEAD_INIT",
    "PyObject_VAR_HEAD",
    "PyVarObject_HEAD_INIT",
    "Py_BEGIN_ALLOW_THREADS",
    "Py_CLEAR",
    "Py_False",
    "Py_None",
    "Py_PYTHON_H",
    "Py_RETURN_FALSE",
    "Py_RETURN_NONE",
    "Py_RETURN_TRUE",
    "Py_True",
    "Py_USING_UNICODE",
    "Py_VISIT",
    "WITH_THREAD",
];

/// Names that have the same value on every platform that Python runs on.
const FIXED: &[&str] = &[
    "CHAR_BIT",
    "SIZEOF_SHORT",
    "SIZEOF_INT",
    "SIZEOF_LONG_LONG",
    "SIZEOF_FLOAT",
    "SIZEOF_DOUBLE",
];

#[cfg(test)]
mod tests {
    use super::{Config, VersionRange};

    #[test]
    fn versions_stay_in_the_supported_range() {
        let range = VersionRange {
            min: 0x0309_0000,
            max: 0x030F_00F0,
        };
        let mut config = Config::base(range);
        assert!(!config.clone().assume_version(0, 0x0308_FFFF));
        assert!(config.assume_version(0, 0x030B_FFFF));
        assert_eq!(config.value("PY_MINOR_VERSION"), Some(11));
        assert_eq!(config.value("Py_GIL_DISABLED"), None);
        assert!(config.assume("SIZEOF_LONG", Some(4)));
        assert!(!config.assume("SIZEOF_INT", Some(2)));
        assert_eq!(config.value("Py_True"), Some(1));
        assert!(
            !config.assume("Py_True", None),
            "`#ifdef Py_True` has no other branch"
        );
    }
}
