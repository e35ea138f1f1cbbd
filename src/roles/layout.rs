//! Members of the tables of `<Python.h>` in order, for initialisers without designators.

/// The members of a table type that may hold functions; `None` if it is no such type.
///
/// `head` counts as one member: `PyVarObject_HEAD_INIT` makes one entry.
pub(super) fn members(type_name: &str) -> Option<&'static [&'static str]> {
    Some(match type_name {
        "PyTypeObject" | "_typeobject" => TYPE,
        "PyMethodDef" => &["ml_name", "ml_meth", "ml_flags", "ml_doc"],
        "PyGetSetDef" => &["name", "get", "set", "doc", "closure"],
        "PyType_Slot" => &["slot", "pfunc"],
        "PyModuleDef_Slot" => &["slot", "value"],
        "PyModuleDef" => &[
            "m_base",
            "m_name",
            "m_doc",
            "m_size",
            "m_methods",
            "m_slots",
            "m_traverse",
            "m_clear",
            "m_free",
        ],
        "PyMappingMethods" => &["mp_length", "mp_subscript", "mp_ass_subscript"],
        "PySequenceMethods" => SEQUENCE,
        "PyNumberMethods" => NUMBER,
        "PyBufferProcs" => &["bf_getbuffer", "bf_releasebuffer"],
        "PyAsyncMethods" => &["am_await", "am_aiter", "am_anext", "am_send"],
        _ => return None,
    })
}

/// Whether a type, or one of its tables of functions, has a member of this name.
pub(super) fn is_slot(field: &str) -> bool {
    const TABLES: [&str; 6] = [
        "PyTypeObject",
        "PyMappingMethods",
        "PySequenceMethods",
        "PyNumberMethods",
        "PyBufferProcs",
        "PyAsyncMethods",
    ];
    let mut tables = TABLES.iter().filter_map(|table| members(table));
    tables.any(|members| members.contains(&field))
}

/// The members of a `PyType_Spec`, which names no functions itself.
pub(super) const SPEC: &[&str] = &["name", "basicsize", "itemsize", "flags", "slots"];

const TYPE: &[&str] = &[
    "head",
    "tp_name",
    "tp_basicsize",
    "tp_itemsize",
    "tp_dealloc",
    "tp_vectorcall_offset",
    "tp_getattr",
    "tp_setattr",
    "tp_as_async",
    "tp_repr",
    "tp_as_number",
    "tp_as_sequence",
    "tp_as_mapping",
    "tp_hash",
    "tp_call",
    "tp_str",
    "tp_getattro",
    "tp_setattro",
    "tp_as_buffer",
    "tp_flags",
    "tp_doc",
    "tp_traverse",
    "tp_clear",
    "tp_richcompare",
    "tp_weaklistoffset",
    "tp_iter",
    "tp_iternext",
    "tp_methods",
    "tp_members",
    "tp_getset",
    "tp_base",
    "tp_dict",
    "tp_descr_get",
    "tp_descr_set",
    "tp_dictoffset",
    "tp_init",
    "tp_alloc",
    "tp_new",
    "tp_free",
    "tp_is_gc",
    "tp_bases",
    "tp_mro",
    "tp_cache",
    "tp_subclasses",
    "tp_weaklist",
    "tp_del",
    "tp_version_tag",
    "tp_finalize",
    "tp_vectorcall",
];

const SEQUENCE: &[&str] = &[
    "sq_length",
    "sq_concat",
    "sq_repeat",
    "sq_item",
    "sq_slice",
    "sq_ass_item",
    "sq_ass_slice",
    "sq_contains",
    "sq_inplace_concat",
    "sq_inplace_repeat",
];

const NUMBER: &[&str] = &[
    "nb_add",
    "nb_subtract",
    "nb_multiply",
    "nb_remainder",
    "nb_divmod",
    "nb_power",
    "nb_negative",
    "nb_positive",
    "nb_absolute",
    "nb_bool",
    "nb_invert",
    "nb_lshift",
    "nb_rshift",
    "nb_and",
    "nb_xor",
    "nb_or",
    "nb_int",
    "nb_reserved",
    "nb_float",
    "nb_inplace_add",
    "nb_inplace_subtract",
    "nb_inplace_multiply",
    "nb_inplace_remainder",
    "nb_inplace_power",
    "nb_inplace_lshift",
    "nb_inplace_rshift",
    "nb_inplace_and",
    "nb_inplace_xor",
    "nb_inplace_or",
    "nb_floor_divide",
    "nb_true_divide",
    "nb_inplace_floor_divide",
    "nb_inplace_true_divide",
    "nb_index",
    "nb_matrix_multiply",
    "nb_inplace_matrix_multiply",
];
