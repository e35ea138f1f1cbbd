//! The rows of tables of members: `PyMemberDef`.
//!
//! ```c
//! static PyMemberDef members[] = {
//!     {"name", T_OBJECT, offsetof(Item, name), 0, NULL},
//!     {"size", T_INT, offsetof(Item, size), READONLY, NULL},
//! ```

use super::{Program, ProgramItem};
use crate::ast::{Declaration, Init, InitEntry, TypeKind};

/// What a table shows Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The type and its field, as `offsetof` names them; `None` for an offset that is computed
    /// otherwise.
    pub field: Option<(String, String)>,
    /// Whether it is a reference.
    pub is_object: bool,
    /// Whether Python may only read it.
    pub is_read_only: bool,
}

/// All rows of a program, but for those that end a table.
pub fn members<'p>(program: &'p Program<'_>) -> impl Iterator<Item = Member> + 'p {
    program.declarations().flat_map(move |(item, declaration)| {
        let rows = rows(declaration).into_iter();
        rows.filter_map(move |row| member(program, item, row))
    })
}

fn rows(declaration: &Declaration) -> Vec<&InitEntry> {
    let tables = declaration.declarators.iter().filter(
        |it| matches!(&it.ty.kind, TypeKind::Array(row, _) if row.name() == Some("PyMemberDef")),
    );
    let rows = tables.flat_map(|table| match &table.init {
        Some(Init::List(list)) => list.entries.as_slice(),
        _ => &[],
    });
    rows.collect()
}

fn member(program: &Program<'_>, item: &ProgramItem, row: &InitEntry) -> Option<Member> {
    const OBJECTS: [&str; 4] = ["T_OBJECT", "T_OBJECT_EX", "Py_T_OBJECT_EX", "_Py_T_OBJECT"];
    const READ_ONLY: [&str; 2] = ["READONLY", "Py_READONLY"];
    let range = row.range.start..row.range.end;
    let words = range.map(|at| String::from_utf8_lossy(item.tokens.text(program.files, at)));
    let words: Vec<_> = words.collect();
    let is_any = |names: &[&str]| words.iter().any(|word| names.contains(&&**word));
    let is_end = words
        .iter()
        .all(|word| matches!(&**word, "{" | "}" | "NULL" | "0" | ","));
    (!is_end).then(|| Member {
        field: field(&words),
        is_object: is_any(&OBJECTS),
        is_read_only: is_any(&READ_ONLY),
    })
}

fn field(words: &[std::borrow::Cow<'_, str>]) -> Option<(String, String)> {
    let at = words.iter().position(|word| word.ends_with("offsetof"))?;
    let rest = words.get(at + 1..)?;
    let comma = rest.iter().position(|word| word == ",")?;
    let owner = rest.get(comma.checked_sub(1)?)?;
    Some((owner.to_string(), rest.get(comma + 1)?.to_string()))
}
