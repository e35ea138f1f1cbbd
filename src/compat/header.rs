//! The generated header.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::shims::{Limited, NEVER, SHIMS, Shim};
use crate::capi::COMPAT_MARK;

/// Name of the header with all newer functions that packages take copies of.
pub const FULL_HEADER_NAME: &str = "pythoncapi_compat.h";

/// Name of the generated header, unless the user wants another one.
pub const HEADER_NAME: &str = "pyapi_compat.h";

/// How a generated header is written.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    /// The name of the file without its ending: what names of its own begin with.
    pub stem: &'a str,
    /// How to include a header that must have been read before.
    pub full: Option<&'a str>,
    /// Whether it is compiled for the limited API.
    pub limited: bool,
}

/// What a package is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// `PY_VERSION_HEX` of the oldest Python, or the value of `Py_LIMITED_API` if that is less.
    pub oldest: u32,
    /// Whether `Py_LIMITED_API` may be defined: newer headers then hide newer functions.
    pub limited: bool,
}

impl Target {
    /// Whether a package needs help to use `function`, and there is help.
    #[must_use]
    pub fn lacks(self, function: &str) -> bool {
        let is_hidden = |shim: &Shim| match shim.limited {
            Limited::All => false,
            Limited::Since(version) | Limited::Adjusted(version, _) => self.oldest < version,
            Limited::None | Limited::NoneWithGil => true,
        };
        SHIMS.iter().any(|shim| {
            shim.name == function && (self.oldest < shim.since || self.limited && is_hidden(shim))
        })
    }
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

/// The names that the stand-in of `function` defines: its own, or those of macros.
pub fn defined_with(function: &str) -> impl Iterator<Item = &'static str> {
    let shim = SHIMS.iter().find(|shim| shim.name == function);
    shim.into_iter().flat_map(|shim| {
        let macros = shim.text.lines().filter_map(|line| {
            let name = line.strip_prefix("#  define ")?;
            name.split('(').next().filter(|name| *name != shim.name)
        });
        std::iter::once(shim.name).chain(macros)
    })
}

/// `PY_VERSION_HEX` of the first Python that has the function.
#[must_use]
pub fn since(function: &str) -> Option<u32> {
    let shim = SHIMS.iter().find(|shim| shim.name == function);
    shim.map(|shim| shim.since)
}

/// Whether no Python has it: what uses it needs the definition everywhere.
#[must_use]
pub fn is_own(function: &str) -> bool {
    since(function) == Some(NEVER)
}

/// All functions for which there are stand-ins.
#[must_use]
pub fn all_functions() -> BTreeSet<&'static str> {
    SHIMS.iter().map(|shim| shim.name).collect()
}

/// Whether the header that packages take copies of has `function`, in a version of 2025 or later:
/// it knows no mutexes and atomics, and neither what frames have nor exceptions as one object.
#[must_use]
pub fn in_full(function: &str) -> bool {
    const LACKED: [&str; 7] = [
        "PyMutex",
        "PyEval_GetFrameGlobals",
        "PyEval_GetFrameBuiltins",
        "PyErr_GetRaisedException",
        "PyErr_SetRaisedException",
        "PYAPI_ATOMIC",
        "PYAPI_ATOMIC_ADD",
    ];
    !LACKED.contains(&function)
}

/// What a header of ours is for, after the mark.
const PURPOSE: &str = "\
: each is defined only where
 * the Python that is compiled for lacks it. `pythoncapi_compat.h` can take this file's
 * place. */
";

/// The same where `pythoncapi_compat.h`, which knows no limited API, does not compile.
const LIMITED_PURPOSE: &str = "\
: each is defined only where
 * the Python, or the limited API, that is compiled for lacks it. */
";

/// The same with what no Python has, and that other header neither.
const OWN_PURPOSE: &str = "\
, and what\n * no Python has: each is defined only where nothing else defines it. */
";

/// The stand-ins rely on the GIL.
const LIMITED_CHECK: &str = "\
#if defined(Py_LIMITED_API) && defined(Py_GIL_DISABLED) && Py_LIMITED_API+0 < 0x030F0000
#  error \"builds without the GIL need Py_LIMITED_API 0x030F0000 or newer, or none\"
#endif
";

/// The text of a header with `functions`, which know the limited API if `limited`.
///
/// Another header may define the same functions, such as a `pythoncapi_compat.h` that is updated
/// later, and the preprocessor does not see that. So each stand-in has a name of its own, which a
/// macro hides; `full` is how to include a header that must have been read before that macro is
/// defined.
#[must_use]
pub fn header(functions: &BTreeSet<&str>, style: Style<'_>) -> String {
    let Style { full, limited, .. } = style;
    let guard = format!("{}H", prefix(style.stem).to_ascii_uppercase());
    let purpose = match limited {
        _ if functions.iter().any(|name| is_own(name)) => OWN_PURPOSE,
        true => LIMITED_PURPOSE,
        false => PURPOSE,
    };
    let mut text =
        format!("{COMPAT_MARK}{purpose}#ifndef {guard}\n#define {guard}\n\n#include <Python.h>\n");
    if let Some(full) = full {
        let _ = writeln!(text, "#include \"{full}\"");
    }
    for stand_in in stand_ins(functions, style) {
        text.push('\n');
        text.push_str(&stand_in);
    }
    let _ = writeln!(text, "\n#endif /* {guard} */");
    text
}

/// What stands for each of `functions` where the Python that is compiled for lacks it, after those
/// that it uses. A second copy in the same translation unit is skipped.
#[must_use]
pub fn stand_ins(functions: &BTreeSet<&str>, style: Style<'_>) -> Vec<String> {
    let prefix = prefix(style.stem);
    let wanted = SHIMS.iter().filter(|shim| functions.contains(shim.name));
    let check = style.limited.then(|| LIMITED_CHECK.to_owned());
    let texts = wanted.map(|shim| stand_in(shim, &prefix, style.limited));
    check.into_iter().chain(texts).collect()
}

fn stand_in(shim: &Shim, prefix: &str, limited: bool) -> String {
    let mut text = String::new();
    if let (true, Limited::Adjusted(version, adjustment)) = (limited, &shim.limited) {
        let hidden = below(*version);
        let _ = write!(text, "#if {hidden}\n{adjustment}#endif\n");
    }
    let _ = writeln!(text, "#if {}", condition(shim, limited));
    if !shim.text.starts_with('#') {
        let _ = writeln!(text, "#  define {0} {prefix}{0}", shim.name);
    }
    let _ = writeln!(text, "{}#endif", shim.text);
    text
}

/// What names of a header's own begin with. It ends in `compat_`, by which they are known again.
fn prefix(stem: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut prefix: String = stem.chars().map(letter).collect();
    if prefix.starts_with(|c: char| c.is_ascii_digit()) {
        prefix.insert(0, '_');
    }
    let ending = if prefix.ends_with("compat") {
        "_"
    } else {
        "_compat_"
    };
    prefix + ending
}

/// When nothing has defined the name of `shim` yet.
fn condition(shim: &Shim, limited: bool) -> String {
    if shim.since == NEVER {
        return format!("!defined({})", shim.name);
    }
    let (name, old) = (shim.name, format!("PY_VERSION_HEX < 0x{:08X}", shim.since));
    let hidden = match shim.limited {
        Limited::Since(version) | Limited::Adjusted(version, _) if limited => below(version),
        Limited::None if limited => "defined(Py_LIMITED_API)".to_owned(),
        Limited::NoneWithGil if limited => {
            "defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)".to_owned()
        }
        _ => return format!("{old} && !defined({name})"),
    };
    format!("({old} \\\n     || ({hidden})) \\\n    && !defined({name})")
}

/// When the limited API is older than `version`.
fn below(version: u32) -> String {
    format!("defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x{version:08X}")
}

#[cfg(test)]
mod tests {
    use super::{Style, Target, header, with_uses};
    use crate::capi::{PyVersion, REPLACEMENTS};

    fn style(full: Option<&str>, limited: bool) -> Style<'_> {
        Style {
            stem: "pyapi_compat",
            full,
            limited,
        }
    }

    #[test]
    fn only_what_is_used_is_written() {
        let text = header(
            &with_uses(&["PyDict_GetItemStringRef"].into()),
            style(None, false),
        );
        assert!(text.contains("\nPyDict_GetItemRef("));
        assert!(!text.contains("PyList_GetItemRef"));
        assert!(text.find("\nPyDict_GetItemRef(") < text.find("\nPyDict_GetItemStringRef("));
    }

    #[test]
    fn functions_have_names_of_their_own_behind_a_full_header() {
        let functions = ["PyList_GetItemRef", "Py_BEGIN_CRITICAL_SECTION"].into();
        insta::assert_snapshot!(header(&functions, style(Some("../pythoncapi_compat.h"), false)), @r#"
        /* Functions of newer Pythons for older ones: each is defined only where
         * the Python that is compiled for lacks it. `pythoncapi_compat.h` can take this file's
         * place. */
        #ifndef PYAPI_COMPAT_H
        #define PYAPI_COMPAT_H

        #include <Python.h>
        #include "../pythoncapi_compat.h"

        #if PY_VERSION_HEX < 0x030D00A4 && !defined(PyList_GetItemRef)
        #  define PyList_GetItemRef pyapi_compat_PyList_GetItemRef
        static inline PyObject *
        PyList_GetItemRef(PyObject *list, Py_ssize_t index)
        {
            PyObject *item = PyList_GetItem(list, index);
            Py_XINCREF(item);
            return item;
        }
        #endif

        #if PY_VERSION_HEX < 0x030D00B3 && !defined(Py_BEGIN_CRITICAL_SECTION)
        #  define Py_BEGIN_CRITICAL_SECTION(object) {
        #  define Py_END_CRITICAL_SECTION() }
        #endif

        #endif /* PYAPI_COMPAT_H */
        "#);
    }

    #[test]
    fn the_limited_api_hides_what_newer_pythons_have() {
        let functions = ["Py_NewRef", "PyMutex", "Py_BEGIN_CRITICAL_SECTION"].into();
        insta::assert_snapshot!(header(&functions, style(None, true)), @r#"
        /* Functions of newer Pythons for older ones: each is defined only where
         * the Python, or the limited API, that is compiled for lacks it. */
        #ifndef PYAPI_COMPAT_H
        #define PYAPI_COMPAT_H

        #include <Python.h>

        #if defined(Py_LIMITED_API) && defined(Py_GIL_DISABLED) && Py_LIMITED_API+0 < 0x030F0000
        #  error "builds without the GIL need Py_LIMITED_API 0x030F0000 or newer, or none"
        #endif

        #if PY_VERSION_HEX < 0x030A00A3 && !defined(Py_NewRef)
        #  define Py_NewRef pyapi_compat_Py_NewRef
        static inline PyObject *
        Py_NewRef(PyObject *object)
        {
            Py_INCREF(object);
            return object;
        }
        #endif

        #if (PY_VERSION_HEX < 0x030D0000 \
             || (defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED))) \
            && !defined(PyMutex)
        #  define PyMutex pyapi_compat_PyMutex
        typedef struct { unsigned char bits; } PyMutex;
        #  define PyMutex_Lock(mutex) ((void)(mutex))
        #  define PyMutex_Unlock(mutex) ((void)(mutex))
        #endif

        #if defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x030F0000
        #  undef Py_BEGIN_CRITICAL_SECTION
        #  undef Py_END_CRITICAL_SECTION
        #endif
        #if (PY_VERSION_HEX < 0x030D00B3 \
             || (defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x030F0000)) \
            && !defined(Py_BEGIN_CRITICAL_SECTION)
        #  define Py_BEGIN_CRITICAL_SECTION(object) {
        #  define Py_END_CRITICAL_SECTION() }
        #endif

        #endif /* PYAPI_COMPAT_H */
        "#);
    }

    #[test]
    fn new_pythons_need_nothing() {
        let python = |oldest| Target {
            oldest,
            limited: false,
        };
        let is_needed = |name, oldest| python(oldest).lacks(name);
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
        let limited = Target {
            limited: true,
            ..python(0x030D_00F0)
        };
        assert!(!limited.lacks("PyList_GetItemRef"));
        assert!(limited.lacks("PyDict_SetDefaultRef"));
        assert!(limited.lacks("PyMutex"));
        assert!(!limited.lacks("Py_NewRef"));
    }
}
