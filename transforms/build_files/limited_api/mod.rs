//! UG801: builds that ask for the limited API, whatever the interpreter is.

mod code;
mod python;
mod rewrite;
mod sites;

use crate::build::{BuildFile, BuildKind, Content, Word};
use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{BuildCx, Finding, Outcome};

use super::finding;

/// What the free-threaded build makes of the limited API.
const MESSAGE: &str = "requests the limited API, which free-threaded Python 3.13 and 3.14 reject";

declare_rule! {
    /// ## What it does
    /// Finds builds that ask for the limited API on every Python: `py_limited_api` of extensions
    /// and of `bdist_wheel`, the macro `Py_LIMITED_API` in build files and in C, `limited_api` of
    /// Meson, `USE_SABI` of CMake. In `setup.py` it makes them ask only on builds with the GIL.
    ///
    /// ## Why
    /// On the free-threaded Pythons 3.13 and 3.14 the headers stop the compiler with an error when
    /// `Py_LIMITED_API` is defined, and setuptools 75.0 to 84.1 refuses `py_limited_api`. Nobody
    /// can build the package there.
    ///
    /// ## Example
    /// Before:
    ///
    ///     Extension("fast", ["fast.c"], py_limited_api=True)
    ///
    /// After:
    ///
    ///     Extension("fast", ["fast.c"],
    ///               py_limited_api=not sysconfig.get_config_var("Py_GIL_DISABLED"))
    ///
    /// ## Confidence
    /// Safe: with the GIL, the variable is 0 or not set, and all values stay as they were. Either all
    /// places of a file change, or none. Written only with `--build-files`.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The value comes from elsewhere: a parameter, a variable that is set more than once, a string of several options | manual | `Extension("m", ["m.c"], define_macros=macros)` | Put the condition where the value is set. |
    /// | `setup.cfg`, `pyproject.toml`, Meson and CMake cannot express this condition; the finding says what to do instead | manual | `limited_api: '3.11'` | Do what the finding says. |
    /// | C code defines `Py_LIMITED_API`: a fix would have to include `pyconfig.h` before it, which on Windows decides what is linked | manual | `#define Py_LIMITED_API 0x030B0000` | Define it in the build. |
    ///
    /// ## Python 3.15
    /// There `Py_LIMITED_API` gives the stable ABI `abi3t` on the free-threaded build, which
    /// setuptools builds from 84.2. The condition may then be
    /// `sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 15)`, after all static
    /// types and uses of `PyObject_HEAD` have been removed from the code.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#limited-c-api-and-stable-abi>
    pub static UNCONDITIONAL_LIMITED_API {
        code: "UG801",
        name: "unconditional-limited-api",
        summary: "the build requests the limited API on free-threaded Python too",
        severity: Packaging,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        build: check,
    }
}

fn check(cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
    for file in cx.files {
        match (&file.content, file.kind) {
            (Content::Python(python), _) => findings.extend(python::finding_of(file, python)),
            (Content::Toml(toml), _) => findings.extend(in_toml(file, toml)),
            (Content::Text, BuildKind::SetupCfg) => findings.extend(in_setup_cfg(file)),
            (Content::Text, BuildKind::Meson) => findings.extend(in_meson(file)),
            (Content::Text, BuildKind::CMake) => findings.extend(in_cmake(file)),
            (Content::Text, _) => {}
            (Content::Broken(reason), _) => findings.extend(in_broken(file, reason)),
        }
    }
    code::add(cx, findings);
}

fn manual(file: &BuildFile<'_>, range: std::ops::Range<usize>, advice: &str) -> Finding {
    let outcome = Outcome::Manual(advice.to_owned());
    let rule = &UNCONDITIONAL_LIMITED_API;
    finding(rule, file, range, format!("this {MESSAGE}"), outcome)
}

fn in_toml(file: &BuildFile<'_>, toml: &crate::build::Toml) -> Vec<Finding> {
    const SETUP: &str = "set it in `setup.py`, where it can depend on \
                         `sysconfig.get_config_var(\"Py_GIL_DISABLED\")`";
    const MESON: &str = "build for free-threaded Python with \
                         `-Csetup-args=-Dpython.allow_limited_api=false` and without this option; \
                         meson-python 0.21 supports `abi3t` of Python 3.15";
    let options = [
        (
            &["tool", "distutils", "bdist_wheel", "py-limited-api"][..],
            SETUP,
        ),
        (
            &["tool", "distutils", "bdist_wheel", "py_limited_api"][..],
            SETUP,
        ),
        (&["tool", "meson-python", "limited-api"][..], MESON),
    ];
    let is_off = |path: &[&str]| toml.get(path).and_then(toml_edit::Item::as_bool) == Some(false);
    options
        .into_iter()
        .filter(|(path, _)| !is_off(path))
        .filter_map(|(path, advice)| Some(manual(file, toml.place(path)?, advice)))
        .collect()
}

/// `py_limited_api = cp39` under `[bdist_wheel]`.
fn in_setup_cfg(file: &BuildFile<'_>) -> Vec<Finding> {
    let words = file.words().into_iter();
    let options = words.filter(|word| matches!(word.text, "py_limited_api" | "py-limited-api"));
    options
        .map(|word| {
            manual(
                file,
                word.range,
                "move it to `options={\"bdist_wheel\": …}` of `setup.py`, where it can depend on \
                 `sysconfig.get_config_var(\"Py_GIL_DISABLED\")`",
            )
        })
        .collect()
}

/// `limited_api: '3.9'`.
fn in_meson(file: &BuildFile<'_>) -> Vec<Finding> {
    let words = file.words().into_iter();
    let options =
        words.filter(|word| word.text == "limited_api" && word.rest.trim_start().starts_with(':'));
    options
        .map(|word| {
            manual(
                file,
                word.range,
                "build for free-threaded Python with `-Dpython.allow_limited_api=false`",
            )
        })
        .collect()
}

/// `USE_SABI 3.9` or a definition of the macro, in a file without a condition.
fn in_cmake(file: &BuildFile<'_>) -> Vec<Finding> {
    let words = file.words();
    let is_condition = |word: &Word<'_>| {
        word.text.ends_with("_FREE_THREADED") || word.text.contains("Py_GIL_DISABLED")
    };
    if words.iter().any(is_condition) {
        return Vec::new();
    }
    let asks = |word: &Word<'_>| {
        word.text == "USE_SABI" || word.text.trim_start_matches("-D") == "Py_LIMITED_API"
    };
    let words = words.into_iter().filter(asks);
    words
        .map(|word| {
            manual(
                file,
                word.range,
                "leave it out if the interpreter reports \
                 `sysconfig.get_config_var(\"Py_GIL_DISABLED\")`",
            )
        })
        .collect()
}

fn in_broken(file: &BuildFile<'_>, reason: &str) -> Option<Finding> {
    let text = String::from_utf8_lossy(file.source.bytes());
    let at = text.to_ascii_lowercase().find("py_limited_api")?;
    // Replacement characters may have moved it.
    let at = at.min(file.source.bytes().len());
    let advice = format!("check this by hand (only the name was found here, because {reason})");
    Some(manual(file, at..at, &advice))
}
