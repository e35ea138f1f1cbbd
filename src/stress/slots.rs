//! How Python code calls the slots of types.

/// Name, expression on the object `self` and the arguments `{0}`, `{1}`, and what these may be.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// What one expression calls. Slots that run when an object dies, or that only the collector calls,
/// are met by making objects.
const SLOTS: &[Row] = &[
    ("tp_repr", "repr(self)", &[]),
    ("tp_str", "str(self)", &[]),
    ("tp_hash", "hash(self)", &[]),
    ("tp_richcompare", "self == {0}", &["any"]),
    ("tp_iter", "list(zip(range(20), self))", &[]),
    ("tp_iternext", "next(self)", &[]),
    ("tp_call", "self(*args)", &[]),
    ("tp_getattro", "getattr(self, {0}, None)", &["str"]),
    ("tp_descr_get", "type(self).__get__(self, {0})", &["any"]),
    ("sq_length", "len(self)", &[]),
    ("sq_concat", "self + {0}", &["any"]),
    ("sq_repeat", "self * {0}", &["int"]),
    ("sq_item", "self[{0}]", &["int"]),
    (
        "sq_ass_item",
        "operator.setitem(self, {0}, {1})",
        &["int", "any"],
    ),
    ("sq_contains", "{0} in self", &["any"]),
    ("sq_inplace_concat", "operator.iadd(self, {0})", &["any"]),
    ("sq_inplace_repeat", "operator.imul(self, {0})", &["int"]),
    ("mp_length", "len(self)", &[]),
    ("mp_subscript", "self[{0}]", &["any"]),
    (
        "mp_ass_subscript",
        "operator.setitem(self, {0}, {1})",
        &["any", "any"],
    ),
    ("nb_add", "self + {0}", &["any"]),
    ("nb_subtract", "self - {0}", &["any"]),
    ("nb_multiply", "self * {0}", &["any"]),
    ("nb_remainder", "self % {0}", &["any"]),
    ("nb_divmod", "divmod(self, {0})", &["any"]),
    ("nb_power", "self ** {0}", &["any"]),
    ("nb_negative", "-self", &[]),
    ("nb_positive", "+self", &[]),
    ("nb_absolute", "abs(self)", &[]),
    ("nb_bool", "bool(self)", &[]),
    ("nb_invert", "~self", &[]),
    ("nb_lshift", "self << {0}", &["any"]),
    ("nb_rshift", "self >> {0}", &["any"]),
    ("nb_and", "self & {0}", &["any"]),
    ("nb_xor", "self ^ {0}", &["any"]),
    ("nb_or", "self | {0}", &["any"]),
    ("nb_int", "int(self)", &[]),
    ("nb_float", "float(self)", &[]),
    ("nb_index", "operator.index(self)", &[]),
    ("nb_inplace_add", "operator.iadd(self, {0})", &["any"]),
    ("nb_inplace_subtract", "operator.isub(self, {0})", &["any"]),
    ("nb_inplace_multiply", "operator.imul(self, {0})", &["any"]),
    ("nb_inplace_and", "operator.iand(self, {0})", &["any"]),
    ("nb_inplace_or", "operator.ior(self, {0})", &["any"]),
    ("nb_inplace_xor", "operator.ixor(self, {0})", &["any"]),
    ("nb_floor_divide", "self // {0}", &["any"]),
    ("nb_true_divide", "self / {0}", &["any"]),
    ("nb_matrix_multiply", "self @ {0}", &["any"]),
    ("bf_getbuffer", "bytes(memoryview(self))", &[]),
];

/// How the slot is called, and with what; `None` if no single expression calls it.
pub(super) fn call(slot: &str) -> Option<(&'static str, &'static [&'static str])> {
    let row = SLOTS.iter().find(|(name, ..)| *name == slot);
    row.map(|(_, expression, kinds)| (*expression, *kinds))
}
