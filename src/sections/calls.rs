//! Which steps of a flow graph begin and end sections.

use super::Section;
use crate::ast::{LocalId, Tree};
use crate::cfg::{Base, Callee, Instr, InstrKind, Operand, Place, Projection};

/// What a step does to a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// The section begins.
    Begin(Section),
    /// It ends.
    End(Section),
    /// An end whose record is not in scope: `Py_END_CRITICAL_SECTION2` for a
    /// `Py_BEGIN_CRITICAL_SECTION`.
    StrayEnd,
}

pub(super) fn event(instr: &Instr, tree: &Tree) -> Option<Event> {
    // `_save = PyEval_SaveThread()` and `PyEval_RestoreThread(_save)`: the access, because the
    // call does not name the variable.
    if let Some(local) = instr.place().and_then(|place| place.as_local()) {
        return match instr.kind {
            InstrKind::Store { .. } if is_save(tree, local) => {
                Some(Event::Begin(Section::Record(local)))
            }
            InstrKind::Load { .. } if is_save(tree, local) => {
                Some(Event::End(Section::Record(local)))
            }
            _ => None,
        };
    }
    let InstrKind::Call {
        callee: Callee::Named(name),
        args,
        ..
    } = &instr.kind
    else {
        return None;
    };
    match &**name {
        "PyCriticalSection_Begin"
        | "PyCriticalSection2_Begin"
        | "PyCriticalSection_BeginMutex"
        | "PyCriticalSection2_BeginMutex" => match record(args.first()?)? {
            Record::Local(local) => Some(Event::Begin(Section::Record(local))),
            Record::NotInScope => None,
        },
        "PyCriticalSection_End" | "PyCriticalSection2_End" => match record(args.first()?)? {
            Record::Local(local) => Some(Event::End(Section::Record(local))),
            Record::NotInScope => Some(Event::StrayEnd),
        },
        "PyMutex_Lock" => mutex(args.first()?, tree).map(Event::Begin),
        "PyMutex_Unlock" => mutex(args.first()?, tree).map(Event::End),
        _ => None,
    }
}

/// Whether the local is the one that `Py_BEGIN_ALLOW_THREADS` declares. Thread states kept by
/// hand may be restored elsewhere.
pub(super) fn is_save(tree: &Tree, local: LocalId) -> bool {
    tree.local(local).name == "_save"
}

/// The mutex whose address is passed, if it is (in) a variable. `None` for one behind a pointer:
/// `&self->mutex` may be another one at each step.
fn mutex(operand: &Operand, tree: &Tree) -> Option<Section> {
    let Operand::AddressOf(place) = operand else {
        return None;
    };
    let Place { base, path } = &**place;
    let mut name = match base {
        Base::Local(local) => tree.local(*local).name.clone(),
        Base::Global(name) => name.to_string(),
        Base::Deref(_) | Base::Unnamed(_) => return None,
    };
    for step in path {
        let Projection::Field(field) = step else {
            return None;
        };
        name += ".";
        name += field;
    }
    Some(Section::Mutex(name.into()))
}

enum Record {
    Local(LocalId),
    /// The name that the macros use, where no block declares it.
    NotInScope,
}

/// The record whose address is passed. `None` for a record in a `struct` or behind a pointer,
/// which another function may end.
fn record(operand: &Operand) -> Option<Record> {
    let Operand::AddressOf(place) = operand else {
        return None;
    };
    match &place.base {
        Base::Local(local) if place.path.is_empty() => Some(Record::Local(*local)),
        Base::Global(name) if matches!(&**name, "_py_cs" | "_py_cs2") => Some(Record::NotInScope),
        Base::Local(_) | Base::Global(_) | Base::Deref(_) | Base::Unnamed(_) => None,
    }
}
