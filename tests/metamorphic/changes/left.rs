//! How functions are left.

use std::ops::Range;

use super::applied;
use crate::code::{Body, Code, Edits};

/// `return NULL;` → `LEAVE;`.
pub(super) fn return_in_macro(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    let last = text.rfind("#include ")?;
    let line = last + text[last..].find('\n')? + 1;
    for (value, name) in [(&["NULL"][..], "LEAVE"), (&["-", "1"], "LEAVE_WITH_STATUS")] {
        let words = [&["return"][..], value, &[";"]].concat();
        let uses: Vec<usize> = (0..code.len()).filter(|&at| code.has(at, &words)).collect();
        if !uses.is_empty() {
            edits.insert(line, format!("#define {name} return {}\n", value.concat()));
        }
        for at in uses {
            edits.put(code.bytes(at..at + words.len() - 1), name);
        }
    }
    applied(text, edits)
}

/// `Py_RETURN_NONE;` → `return Py_NewRef(Py_None);`.
pub(super) fn macro_written_out(text: &str) -> Option<String> {
    const MACROS: [(&str, &str); 3] = [
        ("Py_RETURN_NONE", "return Py_NewRef(Py_None)"),
        ("Py_RETURN_TRUE", "return Py_NewRef(Py_True)"),
        ("Py_RETURN_FALSE", "return Py_NewRef(Py_False)"),
    ];
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if let Some((_, new)) = MACROS.iter().find(|(old, _)| code.word(at) == *old) {
            edits.put(code.bytes(at..at + 1), *new);
        }
    }
    applied(text, edits)
}

/// The last statement of a function, if that is a `return`.
fn last_return(code: &Code<'_>, body: Body) -> Option<Range<usize>> {
    let last = code.statements(body).pop()?;
    let leaves = [
        "return",
        "Py_RETURN_NONE",
        "Py_RETURN_TRUE",
        "Py_RETURN_FALSE",
    ];
    leaves.contains(&code.word(last.start)).then_some(last)
}

/// `return NULL;` → `goto leave;` with `leave: return NULL;` at the end of the function.
pub(super) fn return_by_goto(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for body in code.functions() {
        let Some(last) = last_return(&code, body) else {
            continue;
        };
        let uses = (body.open..last.start).filter(|&at| code.has(at, &["return", "NULL", ";"]));
        let uses: Vec<usize> = uses.collect();
        if !uses.is_empty() {
            let end = code.bytes(body.close..body.close + 1).start;
            edits.insert(end, "leave:\n    return NULL;\n");
        }
        for at in uses {
            edits.put(code.bytes(at..at + 2), "goto leave");
        }
    }
    applied(text, edits)
}

/// The first `if (x == NULL) return y;` of a function: `if (x != NULL) { … } return y;`.
pub(super) fn return_by_nesting(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for body in code.functions() {
        if last_return(&code, body).is_none() {
            continue;
        }
        let statements = code.statements(body);
        let is_test = |it: &&Range<usize>| {
            let at = it.start;
            code.has(at, &["if", "(", "_", "==", "NULL", ")", "return"])
                && code.behind(at + 6) == it.end
        };
        if let Some(test) = statements.iter().find(is_test) {
            let at = test.start;
            edits.put(code.bytes(at + 3..at + 4), "!=");
            edits.put(code.bytes(at + 6..test.end), "{");
            let leave = code.written(at + 6..test.end);
            let end = code.bytes(body.close..body.close + 1).start;
            edits.insert(end, format!("    }}\n    {leave}\n"));
        }
    }
    applied(text, edits)
}
