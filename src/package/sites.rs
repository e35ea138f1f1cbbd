//! Borrowed-reference calls in files whose C is not analysed, counted from plain tokens.

use std::collections::BTreeMap;

use crate::lex::{TokenKind, lex};

/// Calls that give a borrowed reference which another thread can take away.
static BORROWED: &[&str] = &[
    "PyCell_GET",
    "PyDict_GetItem",
    "PyDict_GetItemString",
    "PyDict_GetItemWithError",
    "PyDict_Next",
    "PyDict_SetDefault",
    "PyImport_AddModule",
    "PyList_GET_ITEM",
    "PyList_GetItem",
    "PySequence_Fast_GET_ITEM",
    "PyWeakref_GET_OBJECT",
    "PyWeakref_GetObject",
];

/// How often each borrowed-reference call stands in `bytes`, outside of comments and strings.
#[must_use]
pub fn borrowed_call_sites(bytes: &[u8]) -> BTreeMap<&'static str, usize> {
    let tokens = lex(bytes);
    let mut counts = BTreeMap::new();
    for pair in tokens.windows(2) {
        if pair[0].kind != TokenKind::Ident || &bytes[pair[1].span.range()] != b"(" {
            continue;
        }
        let name = &bytes[pair[0].span.range()];
        if let Ok(index) = BORROWED.binary_search_by(|known| known.as_bytes().cmp(name)) {
            *counts.entry(BORROWED[index]).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::{BORROWED, borrowed_call_sites};

    #[test]
    fn only_calls_count() {
        let text = b"f(PyDict_GetItem (d, k)); /* PyDict_GetItem(d) */ g = PyList_GetItem;\n\
                     s = \"PyDict_Next(\"; PyDict_GetItem(d, k); MyPyDict_GetItem(d);";
        let counts: Vec<_> = borrowed_call_sites(text).into_iter().collect();
        assert_eq!(counts, [("PyDict_GetItem", 2)]);
    }

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(BORROWED.is_sorted());
    }
}
