//! UG804: modules of binding generators that do not say that they need no GIL.

use crate::build::{BuildFile, BuildKind, Content, Python};
use crate::declare_rule;
use crate::lex::{Token, lex};
use crate::rule::{BuildCx, Finding, Outcome};
use crate::source::{FileId, SourceFile};

use super::finding;

declare_rule! {
    /// ## What it does
    /// Finds modules that Cython, pybind11, nanobind or f2py make without their switch for
    /// free-threaded Python:
    ///
    /// | generator | from | switch |
    /// |---|---|---|
    /// | Cython | 3.1 | the directive `freethreading_compatible=True` |
    /// | pybind11 | 2.13 | `PYBIND11_MODULE(name, m, py::mod_gil_not_used())` |
    /// | nanobind | 2.2 | `nanobind_add_module(name FREE_THREADED …)` |
    /// | f2py | NumPy 2.1 | `--freethreading-compatible` |
    ///
    /// ## Why
    /// Importing one such module turns the GIL on for the whole process, whatever the others say.
    /// The C that the generators write is never edited here: the next build would undo it.
    ///
    /// ## Example
    /// ```python
    /// cythonize("fast.pyx", compiler_directives={"freethreading_compatible": True})
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the code of these languages is not analysed, so it is not known what it shares
    /// between threads. A Cython module may set the directive in its `.pyx`, which is not read; silence
    /// the finding with a comment then.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#building-extensions-for-the-free-threaded-build>
    /// - <https://pybind11.readthedocs.io/en/stable/advanced/misc.html>
    pub static UNDECLARED_BINDING {
        code: "UG804",
        name: "undeclared-binding",
        summary: "a module of a binding generator does not say that it needs no GIL",
        severity: Portability,
        since: "0.1.0",
        best: None,
        build: check,
    }
}

fn check(cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
    let holds = |file: &BuildFile<'_>, text: &str| {
        memchr::memmem::find(file.source.bytes(), text.as_bytes()).is_some()
    };
    let any = |text: &str| cx.files.iter().any(|file| holds(file, text));
    let (cython, f2py) = (
        any("freethreading_compatible"),
        any("freethreading-compatible"),
    );
    for file in cx.files {
        match (&file.content, file.kind) {
            (Content::Python(python), _) if !cython => findings.extend(cythonize(file, python)),
            (Content::Text, BuildKind::CMake) => findings.extend(nanobind(file)),
            _ => {}
        }
        if !f2py && matches!(file.kind, BuildKind::CMake | BuildKind::Meson) {
            findings.extend(f2py_command(file));
        }
    }
    for (id, file) in cx.package.program.files.iter() {
        let is_cpp = file
            .path()
            .extension()
            .and_then(|extension| extension.to_str());
        if matches!(is_cpp, Some("cc" | "cpp" | "cxx")) {
            findings.extend(pybind11(id, file));
        }
    }
}

fn undeclared(
    file: &BuildFile<'_>,
    range: std::ops::Range<usize>,
    who: &str,
    advice: &str,
) -> Finding {
    let message = format!("modules of {who} turn the GIL on unless they say otherwise");
    let outcome = Outcome::Manual(advice.to_owned());
    finding(&UNDECLARED_BINDING, file, range, message, outcome)
}

fn cythonize(file: &BuildFile<'_>, python: &Python) -> Option<Finding> {
    let bytes = file.source.bytes();
    let mut names = python.nodes().filter_map(|node| {
        let name = node.child_by_field_name("function")?;
        let text = name.utf8_text(bytes).ok()?;
        text.ends_with("cythonize").then(|| name.byte_range())
    });
    let advice = "set the directive `freethreading_compatible=True` of Cython 3.1 or later, here \
                  or in each `.pyx`, once its code is safe";
    Some(undeclared(file, names.next()?, "Cython", advice))
}

fn nanobind(file: &BuildFile<'_>) -> Vec<Finding> {
    let words = file.words();
    let calls = words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.text == "nanobind_add_module");
    let without = calls.filter(|(at, _)| {
        let rest = &words[at + 1..];
        let end = rest
            .iter()
            .position(|word| word.rest.trim_start().starts_with(')'));
        let arguments = &rest[..end.map_or(rest.len(), |end| end + 1)];
        !arguments.iter().any(|word| word.text == "FREE_THREADED")
    });
    let advice = "add `FREE_THREADED` (nanobind 2.2 or later) once its code is safe";
    without
        .map(|(_, word)| undeclared(file, word.range.clone(), "nanobind", advice))
        .collect()
}

fn f2py_command(file: &BuildFile<'_>) -> Option<Finding> {
    let words = file.words();
    let word = words.iter().find(|word| word.text == "f2py")?;
    let advice = "run f2py of NumPy 2.1 or later with `--freethreading-compatible`, once the \
                  Fortran code is safe";
    Some(undeclared(file, word.range.clone(), "f2py", advice))
}

/// `PYBIND11_MODULE(name, m)`.
fn pybind11(id: FileId, file: &SourceFile) -> Vec<Finding> {
    const MODULE: &[u8] = b"PYBIND11_MODULE";
    if memchr::memmem::find(file.bytes(), MODULE).is_none() {
        return Vec::new();
    }
    let tokens = lex(file.bytes());
    let text = |token: &Token| file.slice(token.span);
    let uses = (0..tokens.len()).filter(|&at| {
        let before = at.checked_sub(1).map(|before| text(&tokens[before]));
        text(&tokens[at]) == MODULE && before != Some(b"define")
    });
    let without = uses.filter(|&at| {
        let arguments = tokens[at..].iter().take_while(|token| text(token) != b"{");
        !arguments
            .into_iter()
            .any(|token| text(token) == b"mod_gil_not_used")
    });
    without
        .map(|at| Finding {
            rule: &UNDECLARED_BINDING,
            file: id,
            span: tokens[at].span,
            function: None,
            api: None,
            message: "modules of pybind11 turn the GIL on unless they say otherwise".to_owned(),
            notes: Vec::new(),
            outcome: Outcome::Manual(
                "add the argument `py::mod_gil_not_used()` (pybind11 2.13 or later) once its code \
                 is safe"
                    .to_owned(),
            ),
        })
        .collect()
}
