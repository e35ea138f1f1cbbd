//! The blank between the name of a function and its arguments: `Py_DECREF (v);`, as GNU style has it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::Edit;
use super::layout::{Layout, most_voted};
use crate::lex::TokenKind;

/// Words in front of parentheses that call nothing.
const NO_CALLS: [&[u8]; 7] = [
    b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"defined",
];

/// Strings, calls of the C API, and what else matters to the lines behind.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""(?:[^"\\]|\\.)*"|\b_?Py\w*\(|[()\n]"#).expect("the pattern is right")
});

impl Layout<'_> {
    /// Whether most calls have a blank in front of their arguments.
    pub(super) fn vote_calls(&self, range: Range<usize>) -> Option<bool> {
        let mut votes = BTreeMap::<bool, usize>::new();
        for index in range.start..range.end.min(self.tokens.len().saturating_sub(1)) {
            let is_call = self.tokens[index].kind == TokenKind::Ident
                && self.text(index + 1) == b"("
                && !NO_CALLS.contains(&self.text(index));
            if is_call {
                let spaced = self.tokens[index + 1].space_before;
                *votes.entry(spaced).or_default() += 1;
            }
        }
        most_voted(&votes)
    }

    /// Writes new calls of the C API as the code around does. Those that stood in the place of the
    /// edit already stay as they are.
    pub fn space_calls(&self, edit: &mut Edit) {
        if self.spaces_calls() {
            edit.text = spaced(&edit.text, self.text_of(edit.span));
        }
    }
}

/// A blank in front of the arguments of each call that `old` has not. Lines aligned to them move.
fn spaced(text: &[u8], old: &[u8]) -> Vec<u8> {
    let mut new = Vec::new();
    // Of each open parenthesis, whether a blank came in front of it.
    let mut open: Vec<bool> = Vec::new();
    let mut at = 0;
    for part in PARTS.find_iter(text) {
        new.extend(&text[at..part.start()]);
        at = part.end();
        match part.as_bytes() {
            b"\n" => {
                new.push(b'\n');
                new.extend(open.iter().filter(|moved| **moved).map(|_| b' '));
            }
            b"(" => {
                open.push(false);
                new.push(b'(');
            }
            b")" => {
                open.pop();
                new.push(b')');
            }
            call @ [name @ .., b'('] if call[0] != b'"' => {
                let is_new = memchr::memmem::find(old, call).is_none();
                open.push(is_new);
                new.extend(name);
                new.extend(if is_new { &b" ("[..] } else { b"(" });
            }
            string => new.extend(string),
        }
    }
    new.extend(&text[at..]);
    new
}

#[cfg(test)]
mod tests {
    use super::spaced;

    #[test]
    fn new_calls_get_a_blank_and_lines_aligned_to_them_move() {
        let text = "if (PyDict_GetItemRef(d,\n                      make(k),\n                      &v) < 0)\n    PyErr_Clear();";
        let new = String::from_utf8(spaced(text.as_bytes(), b"")).unwrap();
        insta::assert_snapshot!(new, @"
            if (PyDict_GetItemRef (d,
                                   make(k),
                                   &v) < 0)
                PyErr_Clear ();
            ");
    }

    #[test]
    fn what_stood_there_stays() {
        let new = spaced(
            b"result = PyLong_AsLong(v); Py_DECREF(v);",
            b"return PyLong_AsLong(v);",
        );
        insta::assert_snapshot!(String::from_utf8(new).unwrap(), @"result = PyLong_AsLong(v); Py_DECREF (v);");
    }

    #[test]
    fn strings_are_no_code() {
        let new = spaced(br#"PyErr_SetString(e, "PyX( \" (");"#, b"");
        insta::assert_snapshot!(String::from_utf8(new).unwrap(), @r#"PyErr_SetString (e, "PyX( \" (");"#);
    }
}
