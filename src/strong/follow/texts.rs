//! Pointers at text of the object: what is read through one is no pointer into the object.
//!
//! ```c
//! char *data = PyBytes_AS_STRING(v);
//! Node *saved = (Node *)(data + 8);
//! node->next = saved->next;        /* of whoever made the text: no business of `v` */
//! ```

use super::hold::{Carrier, State};
use crate::capi;
use crate::cfg::{Callee, Instr, InstrKind, Operand};

/// Functions that give a pointer at the text of their argument.
const GIVE_TEXT: [&str; 7] = [
    "PyBytes_AS_STRING",
    "PyBytes_AsString",
    "PyByteArray_AS_STRING",
    "PyByteArray_AsString",
    "PyUnicode_AsUTF8",
    "PyUnicode_AsUTF8AndSize",
    "PyUnicode_1BYTE_DATA",
];

/// Notes whether what a step made is a pointer at text.
pub(super) fn follow_text(instr: &Instr, state: &mut State) {
    let (made, is_text) = match &instr.kind {
        InstrKind::Call { dst, callee, .. } => {
            let is_text = matches!(callee, Callee::Named(name) if gives_text(name));
            (Some(Carrier::Temp(*dst)), is_text)
        }
        InstrKind::Load { dst, place } => {
            let local = place.as_local().map(Carrier::Local);
            let is_text = local.is_some_and(|local| state.texts.contains(&local));
            (Some(Carrier::Temp(*dst)), is_text)
        }
        InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
            (Some(Carrier::Temp(*dst)), is_text(state, src))
        }
        InstrKind::Op { dst, operands, .. } => {
            let is_plain = |operand| is_text(state, operand) || !is_carrier(state, operand);
            let is_text = operands.iter().all(is_plain);
            (Some(Carrier::Temp(*dst)), is_text)
        }
        InstrKind::Store { place, value } => {
            let made = place.as_local().map(Carrier::Local);
            (made, is_text(state, value))
        }
        InstrKind::Declare { .. } | InstrKind::ScopeEnd { .. } | InstrKind::Asm => return,
    };
    if let Some(made) = made {
        match is_text && state.carriers.contains_key(&made) {
            true => state.texts.insert(made),
            false => state.texts.remove(&made),
        };
    }
}

fn gives_text(name: &str) -> bool {
    GIVE_TEXT.contains(&name) && capi::effects(name).is_some()
}

/// Whether a pointer is one at text.
pub(super) fn is_text(state: &State, operand: &Operand) -> bool {
    matches!(operand, Operand::Temp(temp) if state.texts.contains(&Carrier::Temp(*temp)))
}

fn is_carrier(state: &State, operand: &Operand) -> bool {
    matches!(operand, Operand::Temp(temp) if state.kind(Carrier::Temp(*temp)).is_some())
}
