//! Which names of the C API the free-threaded stable ABI leaves out.

use rustc_hash::FxHashSet;

/// The version that the ABI begins with, as `Py_TARGET_ABI3T` has it.
pub const FIRST_ABI3T: u32 = 0x030F_0000;

/// `struct`s of the C API that are known by name there, but not by their fields.
/// Source: <https://docs.python.org/3.15/howto/abi3t-migration.html>, and `sizeof` compiled with the
/// headers of 3.15.2.
const OPAQUE: &[&str] = &[
    "PyObject",
    "_object",
    "PyVarObject",
    "PyTypeObject",
    "_typeobject",
    "PyModuleDef",
    "PyLongObject",
    "PyCodeObject",
    "PyFrameObject",
    "PyThreadState",
    "PyInterpreterState",
    "PyWeakReference",
];

/// The names that `abi3t` does not have.
#[derive(Debug)]
pub struct OutsideAbi3t(FxHashSet<&'static str>);

impl OutsideAbi3t {
    /// Reads the table.
    #[must_use]
    pub fn read() -> Self {
        let lines = include_str!("outside_abi3t.txt").lines();
        Self(lines.filter(|line| !line.starts_with('#')).collect())
    }

    /// Whether `name` is a function, macro, variable or type of CPython that is not there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether the fields of the type `name` of CPython are not known there.
    #[must_use]
    pub fn hides_fields(&self, name: &str) -> bool {
        OPAQUE.contains(&name) || self.has(name)
    }
}

#[cfg(test)]
mod tests {
    use super::OutsideAbi3t;

    #[test]
    fn functions_stay_and_macros_that_look_inside_go() {
        let outside = OutsideAbi3t::read();
        for name in [
            "PyList_GetItemRef",
            "PyList_GetItem",
            "Py_SIZE",
            "PyObject",
            "Py_CLEAR",
        ] {
            assert!(!outside.has(name), "{name}");
        }
        for name in [
            "PyList_GET_ITEM",
            "PyObject_HEAD",
            "_PyDict_Next",
            "PyMutex_Lock",
        ] {
            assert!(outside.has(name), "{name}");
        }
        assert!(outside.hides_fields("PyTypeObject") && outside.hides_fields("PyListObject"));
        assert!(!outside.hides_fields("PyMethodDef"));
    }
}
