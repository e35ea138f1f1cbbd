//! What calls do to the counts of their arguments.

use crate::calls::{self, Count};
use crate::capi::{Counts, StealWhen};
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
    /// Takes the reference over, or not: the format is no literal, or that of a converter, or a
    /// function of the package hands on what it gets behind `...`.
    MaySteal,
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
    let summaries = scene.cx.summaries();
    let literal = |at: usize| match args.get(at)? {
        Operand::Str(text) => scene.tree.as_string(*text),
        _ => None,
    };
    let on = calls::effects_of(name, summaries, args.len(), literal).argument(arg);
    match on.count {
        Count::Counts(Counts::Take) => Effect::Take,
        Count::Counts(Counts::Copy) => Effect::Copy,
        Count::Counts(Counts::Release { .. }) => Effect::Release,
        Count::Counts(Counts::Clear) => Effect::Clear,
        Count::Counts(Counts::Replace) => Effect::Replace,
        Count::Consumed(StealWhen::Always) => Effect::Steal,
        Count::Consumed(StealWhen::Success) => Effect::StealOnSuccess,
        Count::Unchanged if summaries.param(name, arg) == Some(Param::Inside) => Effect::KeepInside,
        Count::Unchanged => Effect::Use,
        // A parameter of its own is the business of `may_keep`.
        Count::Unknown if summaries.names(name, arg) => Effect::Use,
        Count::Unknown => Effect::MaySteal,
    }
}
