//! The rows of tables of members: `PyMemberDef`.
//!
//! ```c
//! static PyMemberDef members[] = {
//!     {"name", T_OBJECT, offsetof(Item, name), 0, NULL},
//!     {"size", T_INT, offsetof(Item, size), READONLY, NULL},
//! ```

use std::borrow::Cow;

use super::{Program, ProgramItem};
use crate::ast::{Declaration, Init, InitEntry, TypeKind};
use crate::source::{ByteSpan, FileId};

/// What a table shows Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The type and its field, as `offsetof` names them; `None` for an offset that is computed
    /// otherwise.
    pub field: Option<(String, String)>,
    /// Whether it is a reference.
    pub is_object: bool,
    /// Whether it is text, be it in the object or behind a pointer.
    pub is_text: bool,
    /// Whether Python may only read it.
    pub is_read_only: bool,
    /// Where the row stands.
    pub place: (FileId, ByteSpan),
}

/// All rows of a program, but for those that end a table.
pub fn members<'p>(program: &'p Program<'_>) -> impl Iterator<Item = Member> + 'p {
    program.declarations().flat_map(move |(item, declaration)| {
        let rows = rows(declaration).into_iter();
        rows.filter_map(move |row| member(program, item, row))
    })
}

/// The fields for the `__dict__` of objects, if Python code may set it: types and fields, as
/// `offsetof` names them.
///
/// ```c
/// {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}
/// .tp_dictoffset = offsetof(Item, dict),
/// {"__dictoffset__", T_PYSSIZET, offsetof(Item, dict), READONLY}
/// ```
pub fn dict_fields(program: &Program<'_>) -> Vec<(String, String)> {
    const OTHERS: [&str; 2] = ["tp_weaklistoffset", "tp_vectorcall_offset"];
    let is_settable = program.declarations().any(|(item, declaration)| {
        let mut rows = entries(declaration, "PyGetSetDef").into_iter();
        rows.any(|row| words(program, item, row).any(|word| word == "PyObject_GenericSetDict"))
    });
    if !is_settable {
        return Vec::new();
    }
    let fields = program.declarations().flat_map(|(item, declaration)| {
        let types = entries(declaration, "PyTypeObject").into_iter();
        let rows = entries(declaration, "PyMemberDef").into_iter();
        let named = rows.filter(move |row| {
            words(program, item, row).any(|word| word.contains("__dictoffset__"))
        });
        let all = types.chain(named).filter_map(move |entry| {
            let words: Vec<_> = words(program, item, entry).collect();
            let is_other = words.iter().any(|word| OTHERS.contains(&&**word));
            field(&words).filter(|_| !is_other)
        });
        all.collect::<Vec<_>>()
    });
    fields.collect()
}

fn rows(declaration: &Declaration) -> Vec<&InitEntry> {
    entries(declaration, "PyMemberDef")
}

/// The entries of what is declared of a type, or as an array of it.
fn entries<'d>(declaration: &'d Declaration, of: &str) -> Vec<&'d InitEntry> {
    let all = declaration.declarators.iter();
    let tables = all.filter(|it| match &it.ty.kind {
        TypeKind::Array(row, _) => row.name() == Some(of),
        _ => it.ty.name() == Some(of),
    });
    let rows = tables.flat_map(|table| match &table.init {
        Some(Init::List(list)) => list.entries.as_slice(),
        _ => &[],
    });
    rows.collect()
}

fn words<'p>(
    program: &'p Program<'_>,
    item: &'p ProgramItem,
    row: &InitEntry,
) -> impl Iterator<Item = Cow<'p, str>> {
    let range = row.range.start..row.range.end;
    range.map(|at| String::from_utf8_lossy(item.tokens.text(program.files, at)))
}

fn member(program: &Program<'_>, item: &ProgramItem, row: &InitEntry) -> Option<Member> {
    const OBJECTS: [&str; 4] = ["T_OBJECT", "T_OBJECT_EX", "Py_T_OBJECT_EX", "_Py_T_OBJECT"];
    const TEXTS: [&str; 4] = [
        "T_STRING",
        "T_STRING_INPLACE",
        "Py_T_STRING",
        "Py_T_STRING_INPLACE",
    ];
    const READ_ONLY: [&str; 2] = ["READONLY", "Py_READONLY"];
    let words: Vec<_> = words(program, item, row).collect();
    let is_any = |names: &[&str]| words.iter().any(|word| names.contains(&&**word));
    let has_type = words.iter().any(|word| {
        word.trim_start_matches("_")
            .trim_start_matches("Py_")
            .starts_with("T_")
    });
    let is_end = words
        .iter()
        .all(|word| matches!(&**word, "{" | "}" | "NULL" | "0" | ","));
    (!is_end).then(|| Member {
        field: field(&words),
        // A type by another name, or by its number, may be any.
        is_object: is_any(&OBJECTS) || !has_type,
        is_text: is_any(&TEXTS),
        is_read_only: is_any(&READ_ONLY),
        place: item.tokens.place(row.range).written_at(),
    })
}

/// `Item` and `name` of `offsetof(Item, name)`; a field in a field is none of these.
fn field(words: &[Cow<'_, str>]) -> Option<(String, String)> {
    let at = words.iter().position(|word| word.ends_with("offsetof"))?;
    let rest = words.get(at + 1..)?;
    let comma = rest.iter().position(|word| word == ",")?;
    let owner = rest.get(comma.checked_sub(1)?)?;
    let is_within = rest.get(comma + 2).is_some_and(|word| word == ".");
    let field = rest.get(comma + 1).filter(|_| !is_within)?;
    Some((owner.to_string(), field.to_string()))
}
