//! What the source says of a module and the GIL, whatever `#if` it stands under.

use super::Declared;
use super::lines::code_identifiers;
use crate::ast::TokenRange;
use crate::rule::{ItemId, PackageCx};

/// What the functions that make a module say: a call of `PyUnstable_Module_SetGIL`, their own, of
/// a macro they use, or of a function they call.
pub(super) fn by_call(cx: &PackageCx<'_>, items: &[ItemId], callees: &[ItemId]) -> Declared {
    let calls = cx.calls_to("PyUnstable_Module_SetGIL");
    let helpers = calls.iter().map(|site| site.item);
    let helpers = helpers.filter(|item| callees.contains(item));
    let items: Vec<ItemId> = items.iter().copied().chain(helpers).collect();
    say(items.into_iter().map(|item| {
        let words = words(cx, item, None);
        has(&words, "PyUnstable_Module_SetGIL").then_some(words)
    }))
}

/// What the entries under `range` say: a `Py_mod_gil` slot.
pub(super) fn by_slot(cx: &PackageCx<'_>, item: ItemId, range: TokenRange) -> Declared {
    let words = words(cx, item, Some(range));
    say([has(&words, "Py_mod_gil").then_some(words)].into_iter())
}

/// Sums up the words of each place that speaks of the GIL at all.
fn say(places: impl Iterator<Item = Option<Vec<String>>>) -> Declared {
    let mut result = Declared::No;
    for words in places.flatten() {
        let needs = has(&words, "Py_MOD_GIL_USED") && !has(&words, "Py_MOD_GIL_NOT_USED");
        match (needs, result) {
            (false, _) => return Declared::Already,
            (true, _) => result = Declared::NeedsGil,
        }
    }
    result
}

fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|other| other == word)
}

/// All words of `range` of an item (of the whole item if `None`): expanded, and as written with
/// the branches that no configuration takes.
fn words(cx: &PackageCx<'_>, id: ItemId, range: Option<TokenRange>) -> Vec<String> {
    let item = cx.item(id);
    let count = u32::try_from(item.tokens.tokens.len()).expect("items fit");
    let range = range.unwrap_or(TokenRange {
        start: 0,
        end: count,
    });
    let mut words: Vec<String> = (range.start..range.end.min(count))
        .map(|at| String::from_utf8_lossy(item.tokens.text(cx.program.files, at)).into_owned())
        .collect();
    let written = if range.end - range.start == count {
        Some(item.place)
    } else {
        item.tokens.file_span(range)
    };
    if let Some((file, span)) = written {
        words.extend(code_identifiers(cx, file, span).map(str::to_owned));
    }
    words
}
