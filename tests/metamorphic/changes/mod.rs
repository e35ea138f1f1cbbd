//! Ways to write the same C otherwise. Each gives nothing where there is nothing to write so.

mod conditions;
mod declared;
mod left;

use std::collections::BTreeMap;

use super::code::{Code, Edits, variables};
use conditions::{
    assigned_apart, assigned_in_condition, braces_around_branches, branches_swapped, null_by_truth,
    null_on_the_left,
};
use declared::{declared_apart, declared_at_first_use, declared_on_top};
use left::{macro_written_out, return_by_goto, return_by_nesting, return_in_macro};

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
