//! Functions that types have in their slots.

/// Slots whose functions give a new reference, whatever they are called with.
const NEW: &[&str] = &[
    "tp_alloc",
    "tp_call",
    "tp_descr_get",
    "tp_getattr",
    "tp_getattro",
    "tp_iter",
    "tp_iternext",
    "tp_new",
    "tp_repr",
    "tp_richcompare",
    "tp_str",
    "mp_subscript",
    "sq_concat",
    "sq_item",
    "sq_repeat",
];

/// Whether a function in the slot `field` gives a new reference: `tp_descr_get`.
#[must_use]
pub fn slot_gives_new(field: &str) -> bool {
    NEW.contains(&field)
}
