//! Where variables are declared.

use std::ops::Range;

use super::applied;
use crate::code::{Body, Code, Edits, variables};

/// A declaration `type *name = value;` of one variable in a function.
struct Declared<'t> {
    /// `type *`.
    ty: &'t str,
    name: &'t str,
    /// The token of the name.
    at: usize,
    statement: Range<usize>,
}

fn declarations<'t>(code: &Code<'t>, body: Body) -> Vec<Declared<'t>> {
    let starts = (body.open + 1..body.close).filter(|&at| code.begins_statement(at));
    let found = starts.filter_map(|start| {
        let stars = (start + 1..).take_while(|&at| code.word(at) == "*").count();
        let at = start + 1 + stars;
        let behind = code.behind(start);
        let is_one = code.is_name(start) && code.has(at, &["_", "="]) && code.word(at + 2) != "{";
        // The first word of a line behind a macro that is a statement declares nothing.
        let is_one = is_one && code.find(at..behind, ",").is_none() && !code.begins_line(at);
        is_one.then(|| Declared {
            ty: code.written(start..at),
            name: code.word(at),
            at,
            statement: start..behind,
        })
    });
    found.collect()
}

/// `type *name = value;` → `type *name; name = value;`.
pub(super) fn declared_apart(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for body in code.functions() {
        for it in declarations(&code, body) {
            let at = code.bytes(it.at..it.at + 1).end;
            edits.insert(at, format!(";\n{}", it.name));
        }
    }
    applied(text, edits)
}

/// The same with the declaration at the top of the function.
pub(super) fn declared_on_top(text: &str) -> Option<String> {
    let code = Code::new(text);
    let variables = variables(text);
    let mut edits = Edits::default();
    for body in code.functions() {
        let Some(names) = variables.get(code.word(body.name)) else {
            continue;
        };
        for it in declarations(&code, body) {
            if names.iter().filter(|name| *name == it.name).count() == 1 {
                let top = code.bytes(body.open..body.open + 1).end;
                edits.insert(top, format!("\n{} {};", it.ty, it.name));
                edits.put(code.bytes(it.statement.start..it.at), "");
            }
        }
    }
    applied(text, edits)
}

/// A variable that is declared without a value gets its first one where it is declared, if that is
/// the next statement that names it, right in the body of the function. Macros like
/// `Py_BEGIN_ALLOW_THREADS` open blocks that do not show: where there is one, nothing is moved.
pub(super) fn declared_at_first_use(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for body in code.functions() {
        if (body.open..body.close).any(|at| code.word(at).starts_with("Py_BEGIN_")) {
            continue;
        }
        let statements = code.statements(body);
        for statement in &statements {
            let start = statement.start;
            let declares =
                code.is_name(start) && (code.word(start + 1) == "*" || code.is_name(start + 1));
            if !declares || !edits.is_empty() {
                continue;
            }
            if let Some((declarator, name)) = unset(&code, statement)
                && let Some(first) = (statement.end..body.close).find(|&at| code.word(at) == name)
                && statements.iter().any(|it| it.start == first)
                && code.word(first + 1) == "="
            {
                let ty = format!("{} {}", code.word(start), "*".repeat(declarator.len() - 1));
                edits.insert(code.bytes(first..first + 1).start, ty);
                remove(&code, &mut edits, statement, &declarator);
            }
        }
    }
    applied(text, edits)
}

/// The first declarator of a declaration that is a plain `*name`, by its tokens and its name.
fn unset<'t>(code: &Code<'t>, statement: &Range<usize>) -> Option<(Range<usize>, &'t str)> {
    let mut start = statement.start + 1;
    let end = statement.end - 1;
    while start < end {
        let behind = code.find(start..end, ",").unwrap_or(end);
        let is_plain = (start..behind - 1).all(|at| code.word(at) == "*");
        if is_plain && code.is_name(behind - 1) && !code.word(behind - 1).is_empty() {
            let name = code.word(behind - 1);
            let later = (statement.end..code.len()).find(|&at| code.word(at) == name);
            if later.is_some_and(|at| code.word(at + 1) == "=" && code.begins_statement(at)) {
                return Some((start..behind, name));
            }
        }
        start = behind + 1;
    }
    None
}

fn remove(code: &Code<'_>, edits: &mut Edits, statement: &Range<usize>, declarator: &Range<usize>) {
    let is_first = declarator.start == statement.start + 1;
    let is_last = declarator.end == statement.end - 1;
    let gone = match (is_first, is_last) {
        (true, true) => statement.clone(),
        (_, false) => declarator.start..declarator.end + 1,
        (false, true) => declarator.start - 1..declarator.end,
    };
    edits.put(code.bytes(gone), "");
}
