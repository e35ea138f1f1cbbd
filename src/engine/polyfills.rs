//! A package's stand-ins for newer functions of the C API: they are compiled only where there is
//! a GIL, and a fix would make them call themselves.

use crate::capi::{PyVersion, REPLACEMENTS};
use crate::rule::{Finding, Outcome};

/// The first Python without a GIL.
const FREE_THREADED: PyVersion = PyVersion::new(3, 13);

/// Takes back what rules propose for stand-ins:
///
/// ```c
/// #if PY_VERSION_HEX < 0x030D0000
/// static PyObject *PyList_GetItemRef(PyObject *list, Py_ssize_t i)
/// {
///     return Py_XNewRef(PyList_GetItem(list, i));
/// }
/// #endif
/// ```
pub(super) fn leave_alone(findings: &mut [Finding]) {
    for finding in findings {
        if finding.function.as_deref().is_some_and(is_polyfill) {
            let reason = "it provides a function of newer Pythons, so it is compiled only where \
                          there is a GIL";
            finding.outcome = Outcome::Safe(reason.to_owned());
        }
    }
}

/// Whether a function of a package with this name is for Pythons older than any without a GIL.
fn is_polyfill(function: &str) -> bool {
    let mut rows = REPLACEMENTS.iter();
    rows.any(|row| row.strong == function && row.since <= FREE_THREADED)
}
