//! Rules about extension modules and what they say of the GIL.

mod gil_slot;
mod gil_slot_new;
mod set_gil;
mod set_gil_return;

pub use gil_slot::UNDECLARED_MULTI_PHASE_MODULE;
pub use set_gil::UNDECLARED_SINGLE_PHASE_MODULE;

use crate::edit::{Edit, Fix};
use crate::modules::{Declared, Module};
use crate::rule::{Finding, Note, Outcome, Rule};

/// The finding about `module` with the edits that declare it, or why there are none. What else is
/// open in the module lowers the fix once all rules have run.
fn finding(
    rule: &'static Rule,
    module: &Module,
    api: &'static str,
    message: String,
    edits: Result<(Vec<Edit>, String), String>,
    notes: Vec<Note>,
) -> Finding {
    let outcome = match edits {
        _ if module.declared == Declared::NeedsGil => Outcome::Safe(
            "it says `Py_MOD_GIL_USED`, and only its maintainers can change that".to_owned(),
        ),
        Ok((edits, title)) => {
            let mut fix = Fix::safe(title);
            fix.alternatives.extend(needs_gil(module, &edits));
            fix.edits = edits;
            Outcome::Fix(fix)
        }
        Err(reason) => Outcome::Manual(format!("{reason}: {}", by_hand(api))),
    };
    Finding {
        rule,
        file: module.place.0,
        span: module.place.1,
        function: Some(format!("PyInit_{}", module.name)),
        api: Some(api),
        message,
        notes,
        outcome,
    }
}

/// What to do where there is no fix.
fn by_hand(api: &str) -> &'static str {
    match api {
        "PyModuleDef_Init" => "add a `Py_mod_gil` slot by hand",
        _ => "call `PyUnstable_Module_SetGIL` by hand, after the module is created",
    }
}

/// The opposite answer to the same question; `None` where the text around it is no UTF-8.
fn needs_gil(module: &Module, edits: &[Edit]) -> Option<Fix> {
    let mut fix = Fix::safe(format!(
        "declare that module {} needs the GIL",
        module.in_words()
    ));
    let answer = |line: &str| match line.trim_start().starts_with('#') {
        // What is asked there is whether Python knows either answer.
        true => line.to_owned(),
        false => line.replace("Py_MOD_GIL_NOT_USED", "Py_MOD_GIL_USED"),
    };
    for edit in edits {
        let text = std::str::from_utf8(&edit.text).ok()?;
        let text: String = text.split_inclusive('\n').map(answer).collect();
        fix.replace(edit.file, edit.span, text);
    }
    Some(fix)
}

/// Adds `edits` that are not there yet: configurations that share a text ask for the same edits.
fn add_new(all: &mut Vec<Edit>, edits: Vec<Edit>) {
    for edit in edits {
        if !all.contains(&edit) {
            all.push(edit);
        }
    }
    all.sort();
}

#[cfg(test)]
mod tests;
