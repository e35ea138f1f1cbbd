//! UG805: packages that do not say how far they support free-threaded Python.

use std::ops::Range;

use crate::build::{BuildFile, Content, Python, Toml};
use crate::declare_rule;
use crate::edit::{Confidence, Fix};
use crate::rule::{BuildCx, Finding, Outcome};

use super::finding;

const ALL: &str = "Programming Language :: Python :: Free Threading";
const FIRST: &str = "Programming Language :: Python :: Free Threading :: 1 - Unstable";
const LANGUAGE: &str = "Programming Language :: Python";

declare_rule! {
    /// ## What it does
    /// Adds `Programming Language :: Python :: Free Threading :: 1 - Unstable` to classifiers in
    /// `pyproject.toml` and `setup.py`, once every module of the package says that it needs no
    /// GIL.
    ///
    /// ## Why
    /// Users look at the classifier, and so do the lists of ported packages. `2 - Beta`, `3 - Stable`
    /// and `4 - Resilient` promise more, step by step.
    ///
    /// ## Example
    /// After:
    ///
    ///     classifiers = [
    ///         "Programming Language :: Python :: 3.13",
    ///         "Programming Language :: Python :: Free Threading :: 1 - Unstable",
    ///     ]
    ///
    /// ## Confidence
    /// Review: the maintainers decide what they promise. Written only with `--build-files`.
    ///
    /// ## References
    /// - <https://pypi.org/classifiers/>
    pub static MISSING_CLASSIFIER {
        code: "UG805",
        name: "missing-free-threading-classifier",
        summary: "the classifiers do not mention free-threaded Python",
        severity: Packaging,
        since: "0.1.0",
        best: Some(Confidence::Review),
        build: check,
    }
}

fn check(cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
    if !cx.is_declared {
        return;
    }
    for file in cx.files {
        let classifiers = match &file.content {
            Content::Python(python) => in_python(file, python),
            Content::Toml(toml) => in_toml(file, toml),
            Content::Text | Content::Broken(_) => continue,
        };
        if classifiers.iter().any(|(text, _)| text.starts_with(ALL)) {
            continue;
        }
        let of_python = classifiers.iter().rev();
        let last = of_python
            .clone()
            .find(|(text, _)| text.starts_with(LANGUAGE));
        if let Some((_, at)) = last {
            findings.push(missing(file, at.clone()));
        }
    }
}

fn missing(file: &BuildFile<'_>, behind: Range<usize>) -> Finding {
    let mut fix = Fix::safe(format!("add the classifier `{FIRST}`"));
    fix.assume("the package may be used with free-threaded Python, at least for testing");
    let (at, text) = entry(file.source.bytes(), &behind);
    fix.insert(file.id, file.span(at..at).start(), text);
    let message = "the classifiers do not say how well free-threaded Python is supported; users \
                   cannot see it on PyPI";
    finding(
        &MISSING_CLASSIFIER,
        file,
        behind,
        message,
        Outcome::Fix(fix),
    )
}

/// The text of the new entry, with the quotes and the layout of the one at `behind`, and where it
/// goes.
fn entry(bytes: &[u8], behind: &Range<usize>) -> (usize, String) {
    let line = memchr::memrchr(b'\n', &bytes[..behind.start]).map_or(0, |at| at + 1);
    let quote = char::from(bytes[behind.end - 1]);
    let new = format!("{quote}{FIRST}{quote}");
    let indent = std::str::from_utf8(&bytes[line..behind.start]).unwrap_or("[");
    if line == 0 || !indent.trim().is_empty() {
        return (behind.end, format!(", {new}"));
    }
    let newline = if bytes[..line].ends_with(b"\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let rest = &bytes[behind.end..];
    let rest = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    // `"…",  # newest`: the new line comes behind the comment.
    let is_comment = |text: &[u8]| {
        let text = text.trim_ascii();
        text.is_empty() || text.starts_with(b"#")
    };
    match rest.strip_prefix(b",").map(is_comment) {
        Some(true) => (behind.end + rest.len(), format!("{newline}{indent}{new},")),
        _ => (behind.end, format!(",{newline}{indent}{new}")),
    }
}

fn in_toml<'f>(_: &BuildFile<'f>, toml: &Toml) -> Vec<(String, Range<usize>)> {
    let strings = toml.strings(&["project", "classifiers"]).into_iter();
    strings.map(|(text, at)| (text.to_owned(), at)).collect()
}

/// Classifiers are the only strings of a `setup.py` that look like one; those that stand in a list.
fn in_python(file: &BuildFile<'_>, python: &Python) -> Vec<(String, Range<usize>)> {
    let in_list = python.nodes().filter(|node| {
        let parent = node.parent();
        parent.is_some_and(|parent| matches!(parent.kind(), "list" | "tuple"))
    });
    in_list
        .filter_map(|node| {
            let text = Python::string(node, file.source.bytes())?;
            text.contains(" :: ")
                .then(|| (text.to_owned(), node.byte_range()))
        })
        .collect()
}
