//! What calls do to the references they get.

use super::state::Value;
use crate::ast::{ExprId, Tree, Type};
use crate::calls::{Count, Package};
use crate::capi::{self, Counts, OutKind};
use crate::cfg::{Place, Projection};

/// What is known of a called function, beside what becomes of the references that it gets.
pub trait Callees: Package {
    /// The argument that the result points into or is kept alive by.
    fn derived_from(&self, name: &str) -> Option<usize>;

    /// Whether argument `arg` is the address of a variable that gets a reference, whatever it held.
    fn fills(&self, name: &str, arg: usize) -> bool;

    /// Whether the result may be argument `arg`, or a pointer into it, for all that is known.
    fn may_derive(&self, name: &str, arg: usize) -> bool;

    /// Whether the result is known to be a plain pointer, and no object that may be one of its own.
    fn gives_pointer(&self, name: &str) -> bool;

    /// Whether a pointer into argument `arg` of a function of the package is stored through argument
    /// `out`.
    fn stores(&self, name: &str, arg: usize, out: usize) -> bool;

    /// What is left of argument `arg` when the function is done; `None` if nothing is.
    fn keeps(&self, name: &str, arg: usize) -> Option<Keeps>;

    /// Whether pointers that the function reads through argument `arg` may be elsewhere when it is
    /// done.
    fn keeps_contents(&self, name: &str, arg: usize) -> bool;

    /// Whether it is known what the function does with its arguments.
    fn is_known(&self, name: &str) -> bool;

    /// Whether what `call` gives lives longer than its arguments, although it comes out of one: the
    /// pointer of a capsule that frees nothing.
    fn outlives_arguments(&self, tree: &Tree, call: ExprId) -> bool;

    /// Whether nothing in a `struct` of the package, which a variable of this type is, can be a
    /// pointer.
    fn is_plain(&self, ty: &Type) -> bool;

    /// How many dimensions a field of this name has if it is an array, at the most; `None` if no
    /// struct of the package says so.
    fn dimensions(&self, field: &str) -> Option<usize>;

    /// Whether some union of the package has both fields: what is stored in one is read from the
    /// other.
    fn share_memory(&self, field: &str, other: &str) -> bool;
}

/// Whether a load of `place` reads memory: the name of an array only gives its address.
///
/// ```c
/// text = self->name;               /* char name[8]: nothing is read */
/// first = self->name[0];
/// ```
pub fn is_read(callees: &dyn Callees, place: &Place) -> bool {
    let named = place
        .path
        .iter()
        .rposition(|step| matches!(step, Projection::Field(_)));
    let Some((at, Projection::Field(name))) = named.map(|at| (at, &place.path[at])) else {
        return true;
    };
    let indexed = place.path.len() - at - 1;
    callees
        .dimensions(name)
        .is_some_and(|dimensions| indexed >= dimensions)
}

/// What a function keeps of an argument without a reference of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// The reference it was given.
    Reference,
    /// A pointer into the object.
    Inside,
    /// On some paths something, or for all that is known.
    Unsure,
    /// Nothing, but on some paths it releases a reference.
    Less,
    /// Nothing, but on some paths it stores the object where this argument points.
    At(usize),
}

/// The C API alone: functions of the package are taken to use their arguments and no more.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownCallees;

impl Package for KnownCallees {
    fn consumes(&self, _: &str, _: usize) -> Option<Count> {
        None
    }

    fn counts_references(&self, _: &str, _: usize) -> bool {
        false
    }
}

impl Callees for KnownCallees {
    fn derived_from(&self, name: &str) -> Option<usize> {
        capi::effects(name)?.derived_from.map(usize::from)
    }

    fn fills(&self, name: &str, arg: usize) -> bool {
        out_kind(name, arg) == Some(OutKind::New)
    }

    fn may_derive(&self, name: &str, _: usize) -> bool {
        !capi::gives_other_memory(name) && capi::effects(name).is_none()
    }

    fn gives_pointer(&self, _: &str) -> bool {
        false
    }

    fn is_known(&self, name: &str) -> bool {
        name.starts_with("Py") || capi::effects(name).is_some()
    }

    fn outlives_arguments(&self, _: &Tree, _: ExprId) -> bool {
        false
    }

    fn is_plain(&self, _: &Type) -> bool {
        false
    }

    fn dimensions(&self, _: &str) -> Option<usize> {
        None
    }

    fn share_memory(&self, _: &str, _: &str) -> bool {
        false
    }

    fn stores(&self, _: &str, _: usize, _: usize) -> bool {
        false
    }

    fn keeps(&self, name: &str, arg: usize) -> Option<Keeps> {
        capi::keeps_pointer(name, arg).then_some(Keeps::Inside)
    }

    fn keeps_contents(&self, _: &str, _: usize) -> bool {
        false
    }
}

/// What the function of the C API stores through argument `arg`; `None` if that is no address of a
/// variable, or is not known.
pub(super) fn out_kind(name: &str, arg: usize) -> Option<OutKind> {
    capi::effects(name)?.out(arg)
}

/// Whether what may be a part of a followed object lives by itself from here on.
///
/// ```c
/// Py_INCREF(PyTuple_GET_ITEM(v, 0));
/// PyTuple_SET_ITEM(t, 0, made);       /* the code has a reference of its own to give */
/// ```
pub(super) fn lives_by_itself(count: Count, value: Value) -> bool {
    match count {
        Count::Counts(Counts::Take | Counts::Copy) => {
            matches!(value, Value::Derived(_) | Value::MaybeDerived(_))
        }
        Count::Consumed(_) => matches!(value, Value::MaybeDerived(_)),
        _ => false,
    }
}
