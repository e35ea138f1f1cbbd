//! How conditions are written, and what hangs on them.

use super::applied;
use crate::code::{Code, Edits};

/// `x == NULL` → `!x`, `x != NULL` → `x`, where that is a whole condition.
pub(super) fn null_by_truth(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 1..code.len() {
        let is_condition = matches!(code.word(at - 1), "(" | "&&" | "||")
            && matches!(code.word(at + 3), ")" | "&&" | "||");
        let is_call = at > 1 && code.word(at - 1) == "(" && code.is_name(at - 2);
        for (operator, not) in [("==", "!"), ("!=", "")] {
            if is_condition && !is_call && code.has(at, &["_", operator, "NULL"]) {
                edits.put(code.bytes(at..at + 3), format!("{not}{}", code.word(at)));
            }
        }
    }
    applied(text, edits)
}

pub(super) fn braces_around_branches(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        let branch = match code.word(at) {
            "if" | "for" => code.closing(at + 1) + 1,
            "else" if code.word(at + 1) != "if" => at + 1,
            _ => continue,
        };
        if code.word(branch) != "{" {
            let bytes = code.bytes(branch..code.behind(branch));
            edits.insert(bytes.start, "{ ");
            edits.insert(bytes.end, " }");
        }
    }
    applied(text, edits)
}

/// `x == NULL` → `NULL == x`.
pub(super) fn null_on_the_left(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 1..code.len() {
        let is_whole = matches!(code.word(at - 1), "(" | "&&" | "||");
        for operator in ["==", "!="] {
            if is_whole && code.has(at, &["_", operator, "NULL"]) {
                edits.put(
                    code.bytes(at..at + 3),
                    format!("NULL {operator} {}", code.word(at)),
                );
            }
        }
    }
    applied(text, edits)
}

/// `x = f(); if (x == NULL)` → `if ((x = f()) == NULL)`.
pub(super) fn assigned_in_condition(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if !(code.begins_statement(at) && code.has(at, &["_", "="])) {
            continue;
        }
        let test = code.behind(at);
        let name = code.word(at);
        if code.has(test, &["if", "(", name, "==", "NULL", ")"]) {
            let assignment = code.written(at..test - 1);
            edits.put(code.bytes(at..test), "");
            edits.put(code.bytes(test + 2..test + 3), format!("({assignment})"));
        }
    }
    applied(text, edits)
}

/// `if ((x = f()) == NULL)` → `x = f(); if (x == NULL)`.
pub(super) fn assigned_apart(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if code.begins_statement(at) && code.has(at, &["if", "(", "(", "_", "="]) {
            let close = code.closing(at + 2);
            let start = code.bytes(at..at + 1).start;
            edits.insert(start, format!("{};\n", code.written(at + 3..close)));
            edits.put(code.bytes(at + 2..close + 1), code.word(at + 3));
        }
    }
    applied(text, edits)
}

/// The first `if (c) a else b` with a plain condition: `if (!(c)) b else a`.
pub(super) fn branches_swapped(text: &str) -> Option<String> {
    let code = Code::new(text);
    for at in 0..code.len() {
        if !code.has(at, &["if", "("]) || code.has(at + 2, &["!", "("]) {
            continue;
        }
        let close = code.closing(at + 1);
        let otherwise = code.behind(close + 1);
        if code.word(otherwise) == "else" {
            let end = code.behind(otherwise + 1);
            let condition = code.written(at + 2..close);
            let (then, other) = (close + 1..otherwise, otherwise + 1..end);
            let (then, other) = (code.written(then), code.written(other));
            let mut edits = Edits::default();
            let new = format!("if (!({condition})) {{ {other} }} else {{ {then} }}");
            edits.put(code.bytes(at..end), new);
            return applied(text, edits);
        }
    }
    None
}
