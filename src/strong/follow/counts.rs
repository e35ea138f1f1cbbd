//! What calls do to the counts of their arguments.

use crate::ast::Tree;
use crate::capi::{self, StealWhen};
use crate::cfg::Operand;
use crate::ownership::summary::Param;
use crate::strong::scene::Scene;

/// The effect of a call on one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Effect {
    /// Takes a reference: `Py_INCREF`.
    Take,
    /// Takes a reference and gives its argument back: `Py_NewRef`.
    Copy,
    /// Releases one: `Py_DECREF`.
    Release,
    /// Releases one and sets the variable to `NULL`: `Py_CLEAR`.
    Clear,
    /// Releases one and assigns to the variable: `Py_SETREF`.
    Replace,
    /// Takes the reference over.
    Steal,
    /// Takes the reference over if it succeeds.
    StealOnSuccess,
    /// Keeps a pointer into it.
    KeepInside,
    /// Only looks.
    Use,
}

/// What the call of `name` does to argument `arg`.
pub(in crate::strong) fn effect(
    scene: &Scene<'_>,
    name: &str,
    args: &[Operand],
    arg: usize,
) -> Effect {
    match (name, arg) {
        ("Py_INCREF" | "Py_XINCREF" | "Py_IncRef", 0) => return Effect::Take,
        ("Py_NewRef" | "Py_XNewRef", 0) => return Effect::Copy,
        ("Py_DECREF" | "Py_XDECREF" | "Py_DecRef", 0) => return Effect::Release,
        ("Py_CLEAR", 0) => return Effect::Clear,
        ("Py_SETREF" | "Py_XSETREF", 0) => return Effect::Replace,
        _ => {}
    }
    if let Some(param) = scene.cx.summaries().param(name, arg) {
        return match param {
            Param::Taken(StealWhen::Always) => Effect::Steal,
            Param::Taken(StealWhen::Success) => Effect::StealOnSuccess,
            Param::Inside => Effect::KeepInside,
            Param::Used | Param::Released | Param::At(_) | Param::Through(_) | Param::Unsure => {
                Effect::Use
            }
        };
    }
    match capi::effects(name).and_then(|effects| effects.steals(arg)) {
        Some(StealWhen::Always) => Effect::Steal,
        Some(StealWhen::Success) => Effect::StealOnSuccess,
        None if is_formatted_n(scene.tree, name, args, arg) => Effect::Steal,
        None => Effect::Use,
    }
}

/// Whether `arg` stands for an `N` of the format: `Py_BuildValue("(Ni)", v, n)`.
fn is_formatted_n(tree: &Tree, name: &str, args: &[Operand], arg: usize) -> bool {
    let format = match name {
        "Py_BuildValue" => 0,
        "PyObject_CallFunction" => 1,
        "PyObject_CallMethod" => 2,
        _ => return false,
    };
    let (Some(Operand::Str(text)), Some(position)) =
        (args.get(format), arg.checked_sub(format + 1))
    else {
        return false;
    };
    let Some(text) = tree.as_string(*text) else {
        return false;
    };
    // `#` and `&` stand for one more argument each; brackets, commas and blanks for none.
    let mut units = text
        .iter()
        .filter(|unit| unit.is_ascii_alphabetic() || matches!(unit, b'#' | b'&'));
    units.nth(position) == Some(&b'N')
}
