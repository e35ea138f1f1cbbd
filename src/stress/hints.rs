//! What an argument is, by what the function does with it.

use super::Kind;
use super::tables::Found;
use crate::ast::{ExprId, ExprKind, Name, Tree};
use crate::source::FileId;

/// How many calls deep an argument is followed.
const MAX_DEPTH: u32 = 3;

/// What functions whose names begin so take as their first argument.
const FAMILIES: &[(&str, &str)] = &[
    ("PyList_", "list"),
    ("PyDict_", "dict"),
    ("PyAnySet_", "set"),
    ("PyFrozenSet_", "set"),
    ("PySet_", "set"),
    ("PyTuple_", "tuple"),
    ("PyUnicode_", "str"),
    ("PyBytes_", "bytes"),
    ("PyByteArray_", "bytearray"),
    ("PyLong_", "int"),
    ("PyNumber_", "int"),
    ("PyIndex_", "int"),
    ("PyFloat_", "float"),
    ("PyCallable_", "callable"),
    ("PyObject_Call", "callable"),
    ("PyObject_GetIter", "iterable"),
    ("PyObject_GetBuffer", "buffer"),
    ("PyObject_CheckBuffer", "buffer"),
    ("PySequence_", "sequence"),
    ("PyMapping_", "dict"),
    ("PyType_", "type"),
];

/// The types of Python that C code names.
const TYPES: &[(&str, &str)] = &[
    ("PyList_Type", "list"),
    ("PyDict_Type", "dict"),
    ("PySet_Type", "set"),
    ("PyFrozenSet_Type", "set"),
    ("PyTuple_Type", "tuple"),
    ("PyUnicode_Type", "str"),
    ("PyBytes_Type", "bytes"),
    ("PyByteArray_Type", "bytearray"),
    ("PyLong_Type", "int"),
    ("PyFloat_Type", "float"),
    ("PyBool_Type", "bool"),
    ("PyType_Type", "type"),
    ("PyFunction_Type", "callable"),
];

/// What an object of the type is that `value` names: `&PyList_Type`.
pub(super) fn of_type(tree: &Tree, value: ExprId) -> Option<Kind> {
    let value = tree.without_address(value);
    let name = match &tree.expr(value).kind {
        ExprKind::Name(Name::Global(name)) => name,
        // state->Stack_Type
        ExprKind::Member { field, .. } => field,
        _ => return None,
    };
    let known = TYPES.iter().find(|(variable, _)| *variable == &**name);
    Some(known.map_or_else(
        || Kind::Own(name.to_string()),
        |(_, kind)| Kind::Known(kind),
    ))
}

/// What the values are for which `is_it` holds, by the calls that get them.
pub(super) fn of_value(
    found: &Found<'_>,
    unit: FileId,
    tree: &Tree,
    is_it: &dyn Fn(&Tree, ExprId) -> bool,
) -> Kind {
    of_uses((found, unit), tree, is_it, MAX_DEPTH).unwrap_or(Kind::ANY)
}

fn of_uses(
    (found, unit): (&Found<'_>, FileId),
    tree: &Tree,
    is_it: &dyn Fn(&Tree, ExprId) -> bool,
    depth: u32,
) -> Option<Kind> {
    let copies: Vec<_> = tree
        .stores()
        .filter(|(_, value)| is_it(tree, tree.without_casts(*value)))
        .map(|(local, _)| local)
        .collect();
    let is = |expr: ExprId| {
        let expr = tree.without_casts(expr);
        is_it(tree, expr) || tree.as_local(expr).is_some_and(|it| copies.contains(&it))
    };
    tree.calls().find_map(|(call, name)| {
        let args = tree.arguments(call);
        let at = args.iter().position(|&arg| is(arg))?;
        if at == 0 {
            // PyObject_TypeCheck(x, &Stack_Type), Py_IS_TYPE(x, &Stack_Type)
            let asks_type = matches!(
                name,
                "PyObject_TypeCheck" | "PyObject_IsInstance" | "Py_IS_TYPE"
            );
            if asks_type {
                return of_type(tree, *args.get(1)?);
            }
            let family = FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix));
            if let Some((_, kind)) = family {
                return Some(Kind::Known(kind));
            }
        }
        let (id, callee) = found.function(unit, name).filter(|_| depth > 0)?;
        let unit = found.item(id).unit;
        let param =
            |tree: &Tree, expr: ExprId| tree.as_local(expr).is_some_and(|it| it.0 as usize == at);
        of_uses((found, unit), &callee.tree, &param, depth - 1)
    })
}
