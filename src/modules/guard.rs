//! The `#if` around a declaration: the package's own spelling where it has a correct one.

use crate::lex::TokenKind;
use crate::preprocess::FileIndex;
use crate::rule::PackageCx;
use crate::source::SourceFile;

/// `PY_VERSION_HEX` of the first Python with `Py_mod_gil`.
const FIRST: u32 = 0x030D_0000;

/// The directive before a `Py_mod_gil` slot; `None` if every supported Python knows the slot.
#[must_use]
pub fn slot_guard(cx: &PackageCx<'_>) -> Option<String> {
    let limited = uses_limited_api(cx);
    let own = own_spelling(cx, b"Py_mod_gil", |guard| {
        matches!(
            guard,
            "#ifdefPy_MOD_GIL_NOT_USED" | "#ifdefined(Py_MOD_GIL_NOT_USED)"
        ) || is_gil_disabled(guard)
            || !limited && (is_slot_defined(guard) || is_version_test(guard))
    });
    match own {
        Some(own) => Some(own),
        None if cx.range.min >= FIRST && !limited => None,
        // The one test that is right for every version, with and without the limited API.
        None => Some("#ifdef Py_MOD_GIL_NOT_USED".to_owned()),
    }
}

/// The directive before a call of `PyUnstable_Module_SetGIL`.
#[must_use]
pub fn set_gil_guard(cx: &PackageCx<'_>) -> String {
    let limited = uses_limited_api(cx);
    let own = own_spelling(cx, b"PyUnstable_Module_SetGIL", |guard| {
        is_gil_disabled(guard) && (!limited || guard.contains("!defined(Py_LIMITED_API)"))
    });
    // The function is hidden by the limited API, which the builds of 3.15 may use without the GIL.
    own.unwrap_or_else(|| "#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)".to_owned())
}

fn is_gil_disabled(guard: &str) -> bool {
    matches!(
        guard,
        "#ifdefPy_GIL_DISABLED"
            | "#ifdefined(Py_GIL_DISABLED)"
            | "#ifdefined(Py_GIL_DISABLED)&&!defined(Py_LIMITED_API)"
            | "#if!defined(Py_LIMITED_API)&&defined(Py_GIL_DISABLED)"
    )
}

fn is_slot_defined(guard: &str) -> bool {
    matches!(guard, "#ifdefPy_mod_gil" | "#ifdefined(Py_mod_gil)")
}

/// `PY_VERSION_HEX >= 0x030D0000` and later pre-releases of 3.13.
fn is_version_test(guard: &str) -> bool {
    let number = guard.strip_prefix("#ifPY_VERSION_HEX>=0x");
    number
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .is_some_and(|version| (FIRST..=FIRST + 0xFF).contains(&version))
}

/// Whether a file of the package defines `Py_LIMITED_API`.
fn uses_limited_api(cx: &PackageCx<'_>) -> bool {
    let mut files = cx.program.files.iter();
    files.any(|(id, file)| {
        let tokens = &cx.program.index[id.index()].tokens;
        memchr::memmem::find(file.bytes(), b"Py_LIMITED_API").is_some()
            && tokens.windows(2).any(|pair| {
                file.slice(pair[0].span) == b"define"
                    && file.slice(pair[1].span) == b"Py_LIMITED_API"
            })
    })
}

/// The first guard in the package around the text `word` that `is_right` (asked without blanks).
fn own_spelling(
    cx: &PackageCx<'_>,
    word: &[u8],
    is_right: impl Fn(&str) -> bool,
) -> Option<String> {
    cx.program
        .files
        .iter()
        .filter(|(_, file)| memchr::memmem::find(file.bytes(), word).is_some())
        .flat_map(|(id, file)| guards(&cx.program.index[id.index()], file, word))
        .find(|guard| is_right(&guard.replace(char::is_whitespace, "")))
}

/// The innermost directive around each use of `word`, in one line.
fn guards(index: &FileIndex, file: &SourceFile, word: &[u8]) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    let text = |at: usize| file.slice(index.tokens[at].span);
    let mut at = 0;
    while at < index.tokens.len() {
        let token = index.tokens[at];
        if !token.first_on_line || text(at) != b"#" {
            if token.kind == TokenKind::Ident && text(at) == word {
                found.extend(open.last().filter(|guard| !guard.is_empty()).cloned());
            }
            at += 1;
            continue;
        }
        let rest = &index.tokens[at + 1..];
        let length = rest.iter().take_while(|token| !token.first_on_line).count();
        match rest
            .first()
            .filter(|_| length > 0)
            .map(|token| file.slice(token.span))
        {
            Some(b"if" | b"ifdef" | b"ifndef") => {
                let span = rest[0].span.join(rest[length - 1].span);
                open.push(format!("#{}", file.text(span).replace("\\\n", " ")));
            }
            // The other branches are under more than their own condition.
            Some(b"else" | b"elif") => open.last_mut().into_iter().for_each(String::clear),
            Some(b"endif") => drop(open.pop()),
            _ => {}
        }
        at += 1 + length;
    }
    found
}
