//! The generated header.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Name of the generated file.
pub const HEADER_NAME: &str = "ungil_compat.h";

/// Name of the header with all newer functions that packages take copies of.
pub const FULL_HEADER_NAME: &str = "pythoncapi_compat.h";

/// What stands for one name below the version that has it.
struct Shim {
    name: &'static str,
    /// `PY_VERSION_HEX` of the first Python that has it.
    since: u32,
    /// Other shims its text calls.
    uses: &'static [&'static str],
    text: &'static str,
}

/// In the order in which they stand in the header: a shim after those it uses.
///
/// Each keeps the conventions of the native function on the Pythons it is compiled for: 1, 0 or -1,
/// and `*result` always written. Those Pythons have a GIL, but for what is newer than 3.13. Facts:
/// the C-API pages of Python 3.15 on list, dict, weakref, import, object, synchronization.
const SHIMS: &[Shim] = &[
    Shim {
        name: "Py_NewRef",
        since: 0x030A_00A3,
        uses: &[],
        text: "\
static inline PyObject *
Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
",
    },
    Shim {
        name: "Py_XNewRef",
        since: 0x030A_00A3,
        uses: &[],
        text: "\
static inline PyObject *
Py_XNewRef(PyObject *object)
{
    Py_XINCREF(object);
    return object;
}
",
    },
    Shim {
        name: "Py_SET_REFCNT",
        since: 0x0309_00A4,
        uses: &[],
        text: "\
#  define Py_SET_REFCNT(object, count) ((void)(Py_REFCNT(object) = (count)))
",
    },
    Shim {
        name: "Py_SET_TYPE",
        since: 0x0309_00A4,
        uses: &[],
        text: "\
#  define Py_SET_TYPE(object, type) ((void)(Py_TYPE(object) = (type)))
",
    },
    Shim {
        name: "Py_SET_SIZE",
        since: 0x0309_00A4,
        uses: &[],
        text: "\
#  define Py_SET_SIZE(object, size) ((void)(Py_SIZE(object) = (size)))
",
    },
    Shim {
        name: "PyList_GetItemRef",
        since: 0x030D_00A4,
        uses: &[],
        text: "\
static inline PyObject *
PyList_GetItemRef(PyObject *list, Py_ssize_t index)
{
    PyObject *item = PyList_GetItem(list, index);
    Py_XINCREF(item);
    return item;
}
",
    },
    Shim {
        name: "PyDict_GetItemRef",
        since: 0x030D_00A1,
        uses: &[],
        text: "\
static inline int
PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **result)
{
    int pending = PyErr_Occurred() != NULL;
    *result = PyDict_GetItemWithError(dict, key);
    if (*result != NULL) {
        Py_INCREF(*result);
        return 1;
    }
    return !pending && PyErr_Occurred() ? -1 : 0;
}
",
    },
    Shim {
        name: "PyDict_GetItemStringRef",
        since: 0x030D_00A1,
        uses: &["PyDict_GetItemRef"],
        text: "\
static inline int
PyDict_GetItemStringRef(PyObject *dict, const char *key, PyObject **result)
{
    int found;
    PyObject *name = PyUnicode_FromString(key);
    if (name == NULL) {
        *result = NULL;
        return -1;
    }
    found = PyDict_GetItemRef(dict, name, result);
    Py_DECREF(name);
    return found;
}
",
    },
    Shim {
        name: "PyDict_SetDefaultRef",
        since: 0x030D_00A4,
        uses: &["PyDict_GetItemRef"],
        text: "\
static inline int
PyDict_SetDefaultRef(PyObject *dict, PyObject *key, PyObject *value,
                     PyObject **result)
{
    PyObject *existing;
    int found = PyDict_GetItemRef(dict, key, &existing);
    if (found == 0) {
        if (PyDict_SetItem(dict, key, value) < 0) {
            found = -1;
        }
        else {
            Py_INCREF(value);
            existing = value;
        }
    }
    if (result != NULL) {
        *result = existing;
    }
    else {
        Py_XDECREF(existing);
    }
    return found;
}
",
    },
    Shim {
        name: "PyDict_ContainsString",
        since: 0x030D_00A1,
        uses: &[],
        text: "\
static inline int
PyDict_ContainsString(PyObject *dict, const char *key)
{
    int found;
    PyObject *name = PyUnicode_FromString(key);
    if (name == NULL) {
        return -1;
    }
    found = PyDict_Contains(dict, name);
    Py_DECREF(name);
    return found;
}
",
    },
    Shim {
        name: "PyWeakref_GetRef",
        since: 0x030D_0000,
        uses: &[],
        text: "\
static inline int
PyWeakref_GetRef(PyObject *ref, PyObject **object)
{
    if (ref == NULL || !PyWeakref_Check(ref)) {
        *object = NULL;
        PyErr_SetString(PyExc_TypeError, \"expected a weakref\");
        return -1;
    }
    *object = PyWeakref_GetObject(ref);
    if (*object == NULL || *object == Py_None) {
        int failed = *object == NULL;
        *object = NULL;
        return failed ? -1 : 0;
    }
    Py_INCREF(*object);
    return 1;
}
",
    },
    Shim {
        name: "PyImport_AddModuleRef",
        since: 0x030D_00A1,
        uses: &[],
        text: "\
static inline PyObject *
PyImport_AddModuleRef(const char *name)
{
    PyObject *module = PyImport_AddModule(name);
    Py_XINCREF(module);
    return module;
}
",
    },
    Shim {
        name: "PyEval_GetFrameGlobals",
        since: 0x030D_00B1,
        uses: &[],
        text: "\
static inline PyObject *
PyEval_GetFrameGlobals(void)
{
    PyObject *globals = PyEval_GetGlobals();
    Py_XINCREF(globals);
    return globals;
}
",
    },
    Shim {
        name: "PyEval_GetFrameBuiltins",
        since: 0x030D_00B1,
        uses: &[],
        text: "\
static inline PyObject *
PyEval_GetFrameBuiltins(void)
{
    PyObject *builtins = PyEval_GetBuiltins();
    Py_XINCREF(builtins);
    return builtins;
}
",
    },
    Shim {
        name: "PySys_GetOptionalAttrString",
        since: 0x030F_00A1,
        uses: &[],
        text: "\
static inline int
PySys_GetOptionalAttrString(const char *name, PyObject **result)
{
    *result = PySys_GetObject(name);
    Py_XINCREF(*result);
    return *result != NULL;
}
",
    },
    // The free-threaded 3.13 keeps the count of the thread that made the object apart from that of
    // all others, with flags in the latter.
    Shim {
        name: "PyUnstable_Object_IsUniquelyReferenced",
        since: 0x030E_00B1,
        uses: &[],
        text: "\
static inline int
PyUnstable_Object_IsUniquelyReferenced(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    if (!_Py_IsOwnedByCurrentThread(object)) {
        return 0;
    }
    return _Py_atomic_load_ssize_relaxed(&object->ob_ref_shared) == 0
        && _Py_atomic_load_uint32_relaxed(&object->ob_ref_local) == 1;
#else
    return Py_REFCNT(object) == 1;
#endif
}
",
    },
    // Where there is a GIL, a mutex that is held while no Python code runs does nothing.
    Shim {
        name: "PyMutex",
        since: 0x030D_0000,
        uses: &[],
        text: "\
typedef struct { unsigned char bits; } PyMutex;
#  define PyMutex_Lock(mutex) ((void)(mutex))
#  define PyMutex_Unlock(mutex) ((void)(mutex))
",
    },
    Shim {
        name: "Py_BEGIN_CRITICAL_SECTION",
        since: 0x030D_00B3,
        uses: &[],
        text: "\
#  define Py_BEGIN_CRITICAL_SECTION(object) {
#  define Py_END_CRITICAL_SECTION() }
",
    },
    Shim {
        name: "Py_BEGIN_CRITICAL_SECTION2",
        since: 0x030D_00B3,
        uses: &[],
        text: "\
#  define Py_BEGIN_CRITICAL_SECTION2(first, second) {
#  define Py_END_CRITICAL_SECTION2() }
",
    },
];

/// Whether a package that supports Pythons from `min` (as `PY_VERSION_HEX`) needs help to use
/// `function`, and there is help.
#[must_use]
pub fn is_needed(function: &str, min: u32) -> bool {
    SHIMS
        .iter()
        .any(|shim| shim.name == function && min < shim.since)
}

/// The functions that the text of a generated header provides.
#[must_use]
pub fn provided(text: &str) -> BTreeSet<&'static str> {
    let defines = |shim: &&Shim| text.contains(shim.text);
    SHIMS.iter().filter(defines).map(|shim| shim.name).collect()
}

/// `functions`, and those that their stand-ins call.
#[must_use]
pub fn with_uses(functions: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let mut wanted = functions.clone();
    for shim in SHIMS.iter().rev() {
        if wanted.contains(shim.name) {
            wanted.extend(shim.uses);
        }
    }
    wanted
}

/// The text of a header with `functions`.
///
/// Another header may define the same functions, such as a `pythoncapi_compat.h` that is updated
/// later, and the preprocessor does not see that. So each stand-in has a name of its own, which a
/// macro hides; `full` is how to include a header that must have been read before that macro is
/// defined.
#[must_use]
pub fn header(functions: &BTreeSet<&str>, full: Option<&str>) -> String {
    let mut text = String::from(
        "/* Stands in for functions of newer Pythons on older ones. Written by ungil, which adds\n\
         \x20* to it what its changes use; `pythoncapi_compat.h` can take its place. */\n\
         #ifndef UNGIL_COMPAT_H\n#define UNGIL_COMPAT_H\n\n#include <Python.h>\n",
    );
    if let Some(full) = full {
        let _ = writeln!(text, "#include \"{full}\"");
    }
    for shim in SHIMS.iter().filter(|shim| functions.contains(shim.name)) {
        let (name, since) = (shim.name, shim.since);
        if shim.text.starts_with('#') {
            let _ = write!(text, "\n#if !defined({name})\n{}#endif\n", shim.text);
        } else {
            let _ = write!(
                text,
                "\n#if PY_VERSION_HEX < 0x{since:08X} && !defined({name})\n\
                 #  define {name} ungil_{name}\n{}#endif\n",
                shim.text
            );
        }
    }
    text.push_str("\n#endif /* UNGIL_COMPAT_H */\n");
    text
}

#[cfg(test)]
mod tests {
    use super::{header, is_needed, with_uses};
    use crate::capi::{PyVersion, REPLACEMENTS};

    #[test]
    fn only_what_is_used_is_written() {
        let text = header(&with_uses(&["PyDict_GetItemStringRef"].into()), None);
        assert!(text.contains("\nPyDict_GetItemRef("));
        assert!(!text.contains("PyList_GetItemRef"));
        assert!(text.find("\nPyDict_GetItemRef(") < text.find("\nPyDict_GetItemStringRef("));
    }

    #[test]
    fn functions_have_names_of_their_own_behind_a_full_header() {
        let functions = ["PyList_GetItemRef", "Py_BEGIN_CRITICAL_SECTION"].into();
        insta::assert_snapshot!(header(&functions, Some("../pythoncapi_compat.h")), @r#"
        /* Stands in for functions of newer Pythons on older ones. Written by ungil, which adds
         * to it what its changes use; `pythoncapi_compat.h` can take its place. */
        #ifndef UNGIL_COMPAT_H
        #define UNGIL_COMPAT_H

        #include <Python.h>
        #include "../pythoncapi_compat.h"

        #if PY_VERSION_HEX < 0x030D00A4 && !defined(PyList_GetItemRef)
        #  define PyList_GetItemRef ungil_PyList_GetItemRef
        static inline PyObject *
        PyList_GetItemRef(PyObject *list, Py_ssize_t index)
        {
            PyObject *item = PyList_GetItem(list, index);
            Py_XINCREF(item);
            return item;
        }
        #endif

        #if !defined(Py_BEGIN_CRITICAL_SECTION)
        #  define Py_BEGIN_CRITICAL_SECTION(object) {
        #  define Py_END_CRITICAL_SECTION() }
        #endif

        #endif /* UNGIL_COMPAT_H */
        "#);
    }

    #[test]
    fn new_pythons_need_nothing() {
        for row in REPLACEMENTS {
            let is_new = row.caution.is_none() && row.since > PyVersion::new(3, 9);
            assert!(
                !is_new || is_needed(row.strong, 0x0309_0000),
                "{}",
                row.strong
            );
        }
        assert!(is_needed("PyList_GetItemRef", 0x0309_0000));
        assert!(!is_needed("PyList_GetItemRef", 0x030D_00F0));
        assert!(!is_needed("PyDict_Contains", 0x0306_0000));
    }
}
