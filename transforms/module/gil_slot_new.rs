//! A slot array for a module definition that has none.

use super::gil_slot::guarded;
use crate::ast::{Init, InitEntry};
use crate::edit::{Edit, Layout};
use crate::modules::{Lines, NoSlots, identifiers};
use crate::rule::PackageCx;
use crate::source::{ByteOffset, ByteSpan, FileId};

/// Index of `m_methods`, the member before `m_slots`.
const METHODS: usize = 4;

/// Declares the array before `def` and points `m_slots` at it.
pub(super) fn new_array(
    cx: &PackageCx<'_>,
    def: &NoSlots,
    guard: Option<&str>,
) -> Result<Vec<Edit>, String> {
    let tokens = &cx.item(def.item).tokens;
    let (file, at) = tokens
        .file_span(def.declaration)
        .ok_or_else(|| format!("a macro makes `{}`", def.name))?;
    let name = free_name(cx, file, &def.name);
    let lines = Lines::new(cx, (file, at));
    let outer = lines.indentation(at.start());
    let inner = lines.deeper(&outer);
    let mut array = vec![format!("{outer}static PyModuleDef_Slot {name}[] = {{")];
    array.extend(guarded(
        guard,
        format!("{inner}{{Py_mod_gil, Py_MOD_GIL_NOT_USED}},"),
    ));
    array.extend([
        format!("{inner}{{0, NULL}}"),
        format!("{outer}}};"),
        String::new(),
    ]);
    let mut edits = match def.null() {
        Some(null) => vec![replace_null(cx, def, null, &name)?],
        None => add_member(cx, def, lines.layout(), &name)?,
    };
    edits.push(lines.before(at.start(), &array, &outer));
    Ok(edits)
}

/// `def_slots`, or with a number if the file already has that.
fn free_name(cx: &PackageCx<'_>, file: FileId, def: &str) -> String {
    let bytes = cx.file(file).bytes();
    let whole = ByteSpan::new(0, u32::try_from(bytes.len()).expect("files fit"));
    let words: Vec<&str> = identifiers(cx, file, whole).collect();
    let base = format!("{def}_slots");
    let numbered = (2..).map(|number| format!("{base}{number}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(|name| !words.contains(&name.as_str()))
        .expect("there are more numbers than words")
}

fn replace_null(
    cx: &PackageCx<'_>,
    def: &NoSlots,
    null: &InitEntry,
    name: &str,
) -> Result<Edit, String> {
    let tree = cx.tree(def.item);
    let range = match (&null.value, tree) {
        (Init::Expr(expr), Some(tree)) => tree.expr(*expr).range,
        _ => null.range,
    };
    let (file, span) = file_span(cx, def, range)?;
    Ok(Edit::new(file, span, name.as_bytes().to_vec()))
}

fn file_span(
    cx: &PackageCx<'_>,
    def: &NoSlots,
    range: crate::ast::TokenRange,
) -> Result<(FileId, ByteSpan), String> {
    let span = cx.item(def.item).tokens.file_span(range);
    span.ok_or_else(|| format!("a macro makes the members of `{}`", def.name))
}

/// Adds `m_slots` behind the last member before it, in the way of that member.
fn add_member(
    cx: &PackageCx<'_>,
    def: &NoSlots,
    layout: &Layout<'_>,
    name: &str,
) -> Result<Vec<Edit>, String> {
    let (index, last) = def.last_before().ok_or("the definition has no members")?;
    let (file, at) = file_span(cx, def, last.range)?;
    let bytes = cx.file(file).bytes();
    let positional = *index == METHODS && last.designators.is_empty();
    let member = if positional {
        name.to_owned()
    } else if cx.file(file).text(at).contains('=') && !cx.file(file).text(at).contains(" =") {
        format!(".m_slots={name}")
    } else {
        format!(".m_slots = {name}")
    };
    let tokens = &cx.program.index[file.index()].tokens;
    let next = tokens.partition_point(|token| token.span.start() < at.end());
    let comma = tokens
        .get(next)
        .filter(|token| &bytes[token.span.range()] == b",");
    let own_line = layout.indentation(at.start());
    let starts_line = bytes[..at.start().index()].ends_with(own_line)
        && tokens[..next]
            .iter()
            .rev()
            .find(|token| token.span.start() == at.start())
            .is_some_and(|token| token.first_on_line);
    if !starts_line {
        return Ok(vec![insertion(file, at.end(), format!(", {member}"))]);
    }
    let indentation = String::from_utf8_lossy(own_line);
    let (end, tail) = comma.map_or((at.end(), ""), |comma| (comma.span.end(), ","));
    let line = format!("{indentation}{member}{tail}");
    let mut edits = vec![layout.insert_line_after(ByteOffset(end.0 - 1), &line)];
    if comma.is_none() {
        edits.insert(0, insertion(file, at.end(), ",".to_owned()));
    }
    Ok(edits)
}

fn insertion(file: FileId, at: ByteOffset, text: String) -> Edit {
    Edit::new(file, ByteSpan::empty(at), text.into_bytes())
}
