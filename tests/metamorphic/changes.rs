//! Ways to write the same C otherwise. Each gives nothing where there is nothing to write so.

use std::collections::BTreeMap;
use std::ops::Range;

use super::code::{Body, Code, Edits, variables};

/// A way to write a text, by its name.
pub(crate) type Change = (&'static str, fn(&str) -> Option<String>);

pub(crate) const ALL: &[Change] = &[
    ("locals-renamed", locals_renamed),
    ("functions-renamed", |text| {
        functions_renamed(text, "helper")
    }),
    ("functions-renamed-after-acts", |text| {
        functions_renamed(text, "close_log_free")
    }),
    ("counts-by-functions", counts_by_functions),
    ("counted-by-new-ref", counted_by_new_ref),
    ("new-ref-by-count", new_ref_by_count),
    ("for-by-while", |text| repeated(text, for_by_while)),
    ("while-by-for", while_by_for),
    ("declared-apart", declared_apart),
    ("declared-on-top", declared_on_top),
    ("declared-at-first-use", |text| {
        repeated(text, declared_at_first_use)
    }),
    ("return-in-macro", return_in_macro),
    ("macro-written-out", macro_written_out),
    ("return-by-goto", return_by_goto),
    ("return-by-nesting", return_by_nesting),
    ("null-by-truth", null_by_truth),
    ("null-on-the-left", null_on_the_left),
    ("assigned-in-condition", assigned_in_condition),
    ("assigned-apart", assigned_apart),
    ("branches-swapped", |text| repeated(text, branches_swapped)),
    ("x-counts-by-test", x_counts_by_test),
    ("braces-around-branches", braces_around_branches),
    ("arrow-by-star", arrow_by_star),
];

/// Most steps of a change that is made one by one.
const MOST_STEPS: usize = 30;

/// Makes a change as often as it goes.
fn repeated(text: &str, step: fn(&str) -> Option<String>) -> Option<String> {
    let mut steps = std::iter::successors(step(text), |text| step(text));
    steps.by_ref().take(MOST_STEPS).last()
}

fn applied(text: &str, edits: Edits) -> Option<String> {
    (!edits.is_empty()).then(|| edits.apply(text))
}

fn locals_renamed(text: &str) -> Option<String> {
    let code = Code::new(text);
    let shared = code.shared_names();
    let variables = variables(text);
    let mut locals: Vec<&str> = variables.values().flatten().map(String::as_str).collect();
    locals.sort_unstable();
    locals.dedup();
    locals.retain(|name| !shared.contains(name));
    let names = (0..).zip(locals);
    let names: BTreeMap<&str, String> = names
        .map(|(n, name)| (name, format!("local_{n}")))
        .collect();
    (!names.is_empty()).then(|| code.renamed(&names))
}

/// All functions of the file have other names, but for those that Python looks for.
fn functions_renamed(text: &str, start: &str) -> Option<String> {
    let code = Code::new(text);
    let functions = code.functions();
    let names = functions.iter().map(|it| code.word(it.name));
    let names = (0..).zip(names.filter(|name| !name.starts_with("PyInit_")));
    let names: BTreeMap<&str, String> = names
        .map(|(n, name)| (name, format!("{start}_{n}")))
        .collect();
    (!names.is_empty()).then(|| code.renamed(&names))
}

/// `Py_INCREF(x)` → `Py_IncRef(x)`.
fn counts_by_functions(text: &str) -> Option<String> {
    const WORDS: [(&str, &str); 4] = [
        ("Py_INCREF", "Py_IncRef"),
        ("Py_XINCREF", "Py_IncRef"),
        ("Py_DECREF", "Py_DecRef"),
        ("Py_XDECREF", "Py_DecRef"),
    ];
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if let Some((_, new)) = WORDS.iter().find(|(old, _)| code.word(at) == *old) {
            edits.put(code.bytes(at..at + 1), *new);
        }
    }
    applied(text, edits)
}

/// `Py_INCREF(x); return x;` → `return Py_NewRef(x);`, and so for an assignment right behind.
fn counted_by_new_ref(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if !code.has(at, &["Py_INCREF", "(", "_", ")", ";"]) {
            continue;
        }
        let (name, next) = (code.word(at + 2), at + 5);
        let end = code.behind(next) - 1;
        let takes = code.word(next) == "return" && end == next + 2
            || end > 2 && code.word(end - 2) == "=" && code.is_name(next);
        if takes && code.word(end - 1) == name {
            edits.put(code.bytes(at..next), "");
            edits.put(code.bytes(end - 1..end), format!("Py_NewRef({name})"));
        }
    }
    applied(text, edits)
}

/// `return Py_NewRef(x);` → `{ Py_INCREF(x); return x; }`.
fn new_ref_by_count(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if code.has(at, &["return", "Py_NewRef", "("]) {
            let close = code.closing(at + 2);
            let value = code.written(at + 3..close);
            if !value.contains('(') && code.word(close + 1) == ";" {
                let new = format!("{{ Py_INCREF({value}); return {value}; }}");
                edits.put(code.bytes(at..close + 2), new);
            }
        }
    }
    applied(text, edits)
}

/// The first `for` without `continue`: `{ init; while (condition) { body step; } }`.
fn for_by_while(text: &str) -> Option<String> {
    let code = Code::new(text);
    let loops = (0..code.len()).filter(|&at| code.has(at, &["for", "("]));
    let (at, behind) = loops
        .map(|at| (at, code.behind(at)))
        .find(|&(at, behind)| !(at..behind).any(|at| code.word(at) == "continue"))?;
    let close = code.closing(at + 1);
    let first = code.find(at + 2..close, ";")?;
    let second = code.find(first + 1..close, ";")?;
    let (start, step) = (code.written(at + 2..first), code.written(second + 1..close));
    let condition = match code.written(first + 1..second) {
        "" => "1",
        condition => condition,
    };
    let body = code.written(close + 1..behind);
    let start = if start.is_empty() {
        String::new()
    } else {
        format!("{start};\n")
    };
    let step = if step.is_empty() {
        String::new()
    } else {
        format!("{step};\n")
    };
    let mut edits = Edits::default();
    let new = format!("{{\n{start}while ({condition}) {{\n{body}\n{step}}}\n}}");
    edits.put(code.bytes(at..behind), new);
    applied(text, edits)
}

/// `while (c)` → `for (; c; )`.
fn while_by_for(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        if code.has(at, &["while", "("]) {
            let close = code.closing(at + 1);
            if code.word(close + 1) != ";" {
                edits.put(code.bytes(at..at + 2), "for (; ");
                edits.put(code.bytes(close..close + 1), "; )");
            }
        }
    }
    applied(text, edits)
}

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
fn declared_apart(text: &str) -> Option<String> {
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
fn declared_on_top(text: &str) -> Option<String> {
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
fn declared_at_first_use(text: &str) -> Option<String> {
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

/// `return NULL;` → `LEAVE;`.
fn return_in_macro(text: &str) -> Option<String> {
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
fn macro_written_out(text: &str) -> Option<String> {
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
fn return_by_goto(text: &str) -> Option<String> {
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
fn return_by_nesting(text: &str) -> Option<String> {
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

/// `x == NULL` → `!x`, `x != NULL` → `x`, where that is a whole condition.
fn null_by_truth(text: &str) -> Option<String> {
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

fn braces_around_branches(text: &str) -> Option<String> {
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

/// `a->b` → `(*a).b`.
fn arrow_by_star(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 1..code.len() {
        let is_inner = matches!(code.word(at - 1), "." | "->");
        if code.has(at, &["_", "->", "_"]) && !is_inner {
            edits.put(code.bytes(at..at + 2), format!("(*{}).", code.word(at)));
        }
    }
    applied(text, edits)
}

/// `x == NULL` → `NULL == x`.
fn null_on_the_left(text: &str) -> Option<String> {
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
fn assigned_in_condition(text: &str) -> Option<String> {
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
fn assigned_apart(text: &str) -> Option<String> {
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
fn branches_swapped(text: &str) -> Option<String> {
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

/// `Py_XDECREF(x);` → `if (x != NULL) { Py_DECREF(x); }`.
fn x_counts_by_test(text: &str) -> Option<String> {
    let code = Code::new(text);
    let mut edits = Edits::default();
    for at in 0..code.len() {
        for (old, new) in [("Py_XDECREF", "Py_DECREF"), ("Py_XINCREF", "Py_INCREF")] {
            if code.has(at, &[old, "(", "_", ")", ";"]) {
                let name = code.word(at + 2);
                let new = format!("if ({name} != NULL) {{ {new}({name}); }}");
                edits.put(code.bytes(at..at + 5), new);
            }
        }
    }
    applied(text, edits)
}
