//! What calls do, by what is known of them.

use super::{CallEffects, Count, Evidence, OnArgument, effects_of};
use crate::capi::{Counts, StealWhen};
use crate::ownership::track::KnownCallees;

fn call<'c>(name: &'c str, literals: &[Option<&'c str>]) -> CallEffects<'c> {
    effects_of(name, &KnownCallees, literals.len(), |at| {
        literals[at].map(str::as_bytes)
    })
}

const CONSUMED: Count = Count::Consumed(StealWhen::Always);

#[test]
fn literal_formats_say_it_for_each_argument() {
    for (name, at) in [
        ("Py_BuildValue", 0),
        ("_Py_BuildValue_SizeT", 0),
        ("PyObject_CallFunction", 1),
        ("_PyObject_CallFunction_SizeT", 1),
        ("PyObject_CallMethod", 2),
        ("_PyObject_CallMethod_SizeT", 2),
        ("_PyObject_CallMethodId", 2),
        ("PyEval_CallFunction", 1),
        ("PyEval_CallMethod", 2),
    ] {
        let mut literals = vec![None; at + 6];
        literals[at] = Some("(O{s:N}O&)");
        let effects = call(name, &literals);
        let counts: Vec<Count> = (0..5).map(|value| effects.count(at + 1 + value)).collect();
        let used = Count::Unchanged;
        assert_eq!(
            counts,
            [used, used, CONSUMED, used, Count::Unknown],
            "{name}"
        );
        assert_eq!(effects.argument(at + 1).evidence, Evidence::Format);
    }
}

#[test]
fn other_formats_may_consume_every_value() {
    let unknown = OnArgument {
        count: Count::Unknown,
        evidence: Evidence::Nothing,
    };
    let effects = call("Py_BuildValue", &[None, None, None]);
    assert_eq!(effects.argument(1), unknown);
    assert_eq!(effects.argument(2), unknown);
    assert_eq!(effects.count(0), Count::Unchanged);
    let refused = call("Py_BuildValue", &[Some("(N"), None]);
    assert_eq!(refused.argument(1), unknown);
    let pointer = call("", &[None, Some("N"), None]);
    assert_eq!(pointer.count(0), Count::Unchanged);
    assert_eq!(pointer.argument(2), unknown);
}

#[test]
fn the_table_says_it_for_the_rest() {
    let of = |name| call(name, &[None, None, None]);
    assert_eq!(of("PyTuple_SET_ITEM").count(2), CONSUMED);
    assert_eq!(
        of("PyModule_AddObject").count(2),
        Count::Consumed(StealWhen::Success)
    );
    assert_eq!(of("Py_INCREF").count(0), Count::Counts(Counts::Take));
    assert_eq!(of("Py_XSETREF").count(0), Count::Counts(Counts::Replace));
    assert_eq!(of("Py_XSETREF").count(1), CONSUMED);
    assert!(of("PyTuple_SetItem").counts_references(0));
    assert!(of("PySet_Add").counts_references(0));
    assert!(!of("PyTuple_SetItem").counts_references(2));
}
