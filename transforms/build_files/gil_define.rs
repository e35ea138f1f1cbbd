//! UG803: builds that define `Py_GIL_DISABLED` always, or never where they must.

use tree_sitter::Node;

use crate::build::{BuildFile, Content, Python, Toml};
use crate::declare_rule;
use crate::rule::{BuildCx, Finding, Outcome};

use super::finding;

declare_rule! {
    /// ## What it does
    /// Finds `Py_GIL_DISABLED` among the macros of a `setup.py` without a condition, and build
    /// requirements of `pyproject.toml` that keep setuptools below 75.7 or Meson below 1.5.
    ///
    /// ## Why
    /// The macro says which of the two builds the headers describe. If it is defined for a build with the
    /// GIL, every object has the wrong layout, and the module crashes. On Windows, one `pyconfig.h` serves
    /// both builds and does not define the macro. setuptools 75.7 and Meson 1.5 define it for free-threaded
    /// Python; older versions compile for a Python with the GIL.
    ///
    /// ## Example
    /// ```python
    /// Extension("fast", ["fast.c"], define_macros=[("Py_GIL_DISABLED", "1")])
    /// ```
    /// Use instead, if old setuptools must be supported on Windows:
    /// ```python
    /// if sysconfig.get_config_var("Py_GIL_DISABLED"):
    ///     macros.append(("Py_GIL_DISABLED", "1"))
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the author of the macro or of the version bound may have had a reason for it.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#windows>
    pub static UNCONDITIONAL_GIL_DEFINE {
        code: "UG803",
        name: "wrong-gil-define",
        summary: "the build defines `Py_GIL_DISABLED` for the wrong Python",
        severity: Memory,
        since: "0.1.0",
        best: None,
        build: check,
    }
}

fn check(cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
    for file in cx.files {
        match &file.content {
            Content::Python(python) => findings.extend(in_python(file, python)),
            Content::Toml(toml) => findings.extend(in_toml(file, toml)),
            Content::Text | Content::Broken(_) => {}
        }
    }
}

fn in_python<'f>(
    file: &'f BuildFile<'_>,
    python: &'f Python,
) -> impl Iterator<Item = Finding> + use<'f> {
    let bytes = file.source.bytes();
    let defines = move |node: &Node<'_>| match Python::string(*node, bytes) {
        Some("Py_GIL_DISABLED") => node.parent().is_some_and(|parent| parent.kind() == "tuple"),
        Some(text) => {
            text.starts_with("-DPy_GIL_DISABLED") || text.starts_with("/DPy_GIL_DISABLED")
        }
        None => false,
    };
    // What a condition asks is not looked at: whoever wrote one has thought about it.
    let is_free = |node: &Node<'_>| {
        Python::around(*node).all(|around| {
            !matches!(
                around.kind(),
                "if_statement" | "conditional_expression" | "boolean_operator"
            )
        })
    };
    let found = python.nodes().filter(defines).filter(is_free);
    found.map(|node| {
        let message = "`Py_GIL_DISABLED` is also defined for Pythons with the GIL; the module then \
                       does not match the interpreter";
        let advice = "let setuptools 75.7 or later define it, or define it only if \
                      `sysconfig.get_config_var(\"Py_GIL_DISABLED\")` is true";
        let outcome = Outcome::Manual(advice.to_owned());
        finding(
            &UNCONDITIONAL_GIL_DEFINE,
            file,
            node.byte_range(),
            message,
            outcome,
        )
    })
}

fn in_toml(file: &BuildFile<'_>, toml: &Toml) -> Vec<Finding> {
    let requirements = toml.strings(&["build-system", "requires"]).into_iter();
    let old = requirements.filter_map(|(text, at)| Some((too_old(text)?, at)));
    old.map(|((tool, first), at)| {
        let message = format!(
            "{tool} before {first} compiles for Pythons with the GIL on Windows, even when a \
             free-threaded Python runs it"
        );
        let advice = format!("allow {tool} {first} or later");
        let outcome = Outcome::Manual(advice);
        finding(&UNCONDITIONAL_GIL_DEFINE, file, at, message, outcome)
    })
    .collect()
}

/// The tool of a requirement that its bounds keep below the version that knows both builds, and
/// that version: `setuptools<75`.
fn too_old(requirement: &str) -> Option<(&'static str, &'static str)> {
    let (requirement, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
    if excludes_free_threading(marker) {
        return None;
    }
    let end = requirement.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let (name, bounds) = requirement.split_at(end?);
    let (tool, first, known) = match name {
        "setuptools" => ("setuptools", "75.7", (75, 7)),
        "meson" => ("Meson", "1.5", (1, 5)),
        _ => return None,
    };
    let ends_below = |bound: &str| {
        let bound = bound.trim();
        let version = |text: &str| super::cibuildwheel::version(text);
        let below = bound
            .strip_prefix("<=")
            .or_else(|| bound.strip_prefix("=="))
            .and_then(version)
            .is_some_and(|(major, minor, _)| (major, minor) < known);
        let under = bound.strip_prefix('<').and_then(version);
        below || under.is_some_and(|(major, minor, _)| (major, minor) <= known)
    };
    bounds.split(',').any(ends_below).then_some((tool, first))
}

/// Whether no free-threaded Python for Windows meets an environment marker:
/// `python_version < "3.9"`, `sys_platform != "win32" and …`.
fn excludes_free_threading(marker: &str) -> bool {
    // Parentheses and `not` are left alone.
    let is_plain = !marker.is_empty() && !marker.contains(['(', ')']);
    let mut ways = marker.split(" or ");
    is_plain && ways.all(|way| way.split(" and ").any(is_never))
}

/// Whether `name op "value"` is false for free-threaded CPython, 3.13 or later, on Windows.
fn is_never(test: &str) -> bool {
    let test = test.trim();
    let end = test.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
    let Some((name, rest)) = end.map(|end| test.split_at(end)) else {
        return false;
    };
    let rest = rest.trim_start();
    let quote = rest.find(['"', '\'']).unwrap_or(rest.len());
    let (operator, value) = rest.split_at(quote);
    let value = value.trim_matches(['"', '\'']);
    let own = match name {
        "python_version" | "python_full_version" => {
            let version = super::cibuildwheel::version(value);
            let Some((major, minor, _)) = version else {
                return false;
            };
            return match operator.trim() {
                "<" => (major, minor) <= (3, 13),
                "<=" | "==" | "~=" => (major, minor) < (3, 13),
                _ => false,
            };
        }
        "sys_platform" => "win32",
        "os_name" => "nt",
        "platform_system" => "Windows",
        "implementation_name" => "cpython",
        "platform_python_implementation" => "CPython",
        _ => return false,
    };
    match operator.trim() {
        "==" => value != own,
        "!=" => value == own,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::too_old;

    #[test]
    fn only_bounds_above_count() {
        let is_old = |text| too_old(text).is_some();
        assert!(is_old("setuptools<75"));
        assert!(is_old("setuptools >= 61, < 70.1"));
        assert!(is_old("setuptools==68.2.2"));
        assert!(!is_old("setuptools<75.7; python_version < '3.9'"));
        assert!(is_old("setuptools<75.7; python_version >= '3.9'"));
        assert!(!is_old(
            "setuptools<75; sys_platform != \"win32\" and python_version > '3'"
        ));
        assert!(is_old(
            "setuptools<75; sys_platform != 'win32' or python_version > '3'"
        ));
        assert!(is_old("setuptools<75; python_version < '3.14'"));
        assert!(!is_old(
            "setuptools<75; platform_python_implementation == 'PyPy'"
        ));
        assert!(is_old("meson<=1.4.2"));
        assert!(!is_old("setuptools>=61"));
        assert!(!is_old("setuptools<81"));
        assert!(!is_old("setuptools!=70.0"));
        assert!(!is_old("setuptools_scm<8"));
        assert!(!is_old("setuptools"));
    }
}
