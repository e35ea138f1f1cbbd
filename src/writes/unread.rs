//! Functions that Python calls and that no file which was read defines.

use super::calls::is_hidden;
use super::{Left, Why};
use crate::capi::{effects, writes};
use crate::roles::Role;
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};
use crate::state::inventory;

/// Members of tables that hold something else than a function of the package.
const DATA: [&str; 25] = [
    "head",
    "tp_as_async",
    "tp_as_buffer",
    "tp_as_mapping",
    "tp_as_number",
    "tp_as_sequence",
    "tp_base",
    "tp_bases",
    "tp_basicsize",
    "tp_cache",
    "tp_dict",
    "tp_dictoffset",
    "tp_doc",
    "tp_flags",
    "tp_getset",
    "tp_itemsize",
    "tp_members",
    "tp_methods",
    "tp_mro",
    "tp_name",
    "tp_subclasses",
    "tp_token",
    "tp_vectorcall_offset",
    "tp_weaklist",
    "tp_weaklistoffset",
];

/// The functions of tables that are defined elsewhere: in C++, or nowhere that was read.
pub(super) fn unread(cx: &PackageCx<'_>) -> Vec<Left> {
    let Some(roles) = cx.roles() else {
        return Vec::new();
    };
    let named = roles.functions().filter(|(_, name, role)| {
        is_function(role)
            && !is_of_python(name)
            && !cx.is_macro(name)
            && !cx.types().is_variable(name)
            && cx.definitions(name).next().is_none()
    });
    let left = named.map(|(file, name, _)| Left {
        file,
        span: place(cx, file, name),
        function: String::new(),
        what: name.to_owned().into(),
        why: Why::Unread,
    });
    left.chain(variables(cx)).chain(hidden(cx)).collect()
}

/// The variables that files name which were not read, and may write.
fn variables(cx: &PackageCx<'_>) -> Vec<Left> {
    let shared = inventory(cx).into_iter().filter(|variable| {
        let is_open = !variable.is_static && variable.local.is_none() && !variable.is_guarded;
        let is_type = variable.ty.name() == Some("PyTypeObject");
        is_open && !is_type && cx.program.unread.names(&variable.name)
    });
    let left = shared.map(|variable| Left {
        file: variable.place.0,
        span: variable.place.1,
        function: String::new(),
        what: variable.name.into(),
        why: Why::Unread,
    });
    left.collect()
}

/// The functions with state of their own that tables have: `{"random", random}`.
fn hidden<'a>(cx: &PackageCx<'a>) -> impl Iterator<Item = Left> {
    let named = cx.program.declarations().flat_map(|(item, declaration)| {
        let values = declaration.tree.expr_ids();
        let names = values.filter_map(|at| declaration.tree.callee_name(at));
        names.map(move |name| (item.place.0, name))
    });
    let hidden = named.filter(|(_, name)| {
        is_hidden(cx, name)
            && cx.definitions(name).next().is_none()
            && !cx.types().is_variable(name)
    });
    hidden.map(|(file, name)| Left {
        file,
        span: place(cx, file, name),
        function: String::new(),
        what: name.to_owned().into(),
        why: Why::Calls,
    })
}

fn is_function(role: &Role) -> bool {
    match role {
        Role::Slot(slot) => {
            let is_of_module = slot.starts_with("m_") || slot.starts_with("mod_");
            !is_of_module && !DATA.contains(&&**slot)
        }
        Role::Method(_) | Role::Getter | Role::Setter => true,
        Role::ModuleInit | Role::AtImport(_) => false,
    }
}

fn is_of_python(name: &str) -> bool {
    matches!(name, "NULL" | "nullptr") || effects(name).is_some() || writes(name).is_some()
}

/// Where the file names it first.
fn place(cx: &PackageCx<'_>, file: FileId, name: &str) -> ByteSpan {
    let tokens = cx.program.index[file.index()].tokens();
    let text = cx.file(file);
    let named = tokens
        .iter()
        .find(|token| text.slice(token.span) == name.as_bytes());
    named.map_or(ByteSpan::empty(crate::source::ByteOffset(0)), |token| {
        token.span
    })
}
