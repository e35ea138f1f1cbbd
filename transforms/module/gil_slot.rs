//! UG201: a module initialised in two phases without a `Py_mod_gil` slot.

use super::gil_slot_new::new_array;
use super::{add_new, finding};
use crate::ast::{Designator, Init, InitEntry};
use crate::declare_rule;
use crate::edit::{Confidence, Edit};
use crate::modules::{Array, Declared, Lines, Module, Slots, TRIGGERS, find_modules, slot_guard};
use crate::rule::{Finding, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId, LineNumber};

declare_rule! {
    /// ## What it does
    /// Finds extension modules with two-phase initialisation (`PyModuleDef_Init`) that do not say whether
    /// they run without the GIL.
    ///
    /// ## Why
    /// When a free-threaded Python imports such a module, it turns the GIL on for the whole process and
    /// warns. The `Py_mod_gil` slot says that this is not necessary.
    ///
    /// ## Example
    /// ```c
    /// static PyModuleDef_Slot example_slots[] = {
    ///     {Py_mod_exec, example_exec},
    ///     {0, NULL}
    /// };
    /// ```
    /// becomes
    /// ```c
    /// static PyModuleDef_Slot example_slots[] = {
    ///     {Py_mod_exec, example_exec},
    /// #ifdef Py_MOD_GIL_NOT_USED
    ///     {Py_mod_gil, Py_MOD_GIL_NOT_USED},
    /// #endif
    ///     {0, NULL}
    /// };
    /// ```
    /// Python 3.12 and older reject a slot that they do not know, so the fix puts a guard around it. If the
    /// package already has a correct guard around such a slot, the fix uses the same one.
    ///
    /// ## Confidence
    /// The slot is a promise about the whole module. `safe` if all of this holds:
    ///
    /// - All race rules ran.
    /// - This run repairs everything that they found.
    /// - Every write that a method can reach goes to memory that no other thread has, or is atomic.
    ///
    /// Otherwise `review`, and the fix names the writes and calls that are still open. A
    /// module with locks of its own always asks for a review.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The slot array is filled at run time, has an explicit length or numbered entries, or comes out of a macro | manual | `static PyModuleDef_Slot slots[3] = { … };` | Add `{Py_mod_gil, Py_MOD_GIL_NOT_USED}` by hand. |
    /// | The module says `Py_MOD_GIL_USED` | no finding | `{Py_mod_gil, Py_MOD_GIL_USED},` | Change the answer when the module is ready. |
    ///
    /// ## Alternative
    /// `ungil review` also offers `Py_MOD_GIL_USED`. The GIL then stays on, as without a declaration, but the
    /// source says that this is intended.
    ///
    /// ## References
    /// - [Module declarations](../topics/module-declarations.md): which writes are accounted for, how to answer
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#module-initialization>
    pub static UNDECLARED_MULTI_PHASE_MODULE {
        code: "UG201",
        name: "undeclared-multi-phase-module",
        summary: "a module with two-phase initialisation does not declare that it runs without \
                  the GIL",
        severity: Portability,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: TRIGGERS,
        check: check,
    }
}

const SLOT: &str = "Py_mod_gil";

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let modules = find_modules(cx);
    let open = modules
        .iter()
        .filter(|module| module.declared != Declared::Already);
    findings.extend(
        open.filter(|module| !module.defs().is_empty())
            .map(|module| {
                let message = format!(
                    "module {} has no `Py_mod_gil` slot; importing it turns the GIL on",
                    module.in_words()
                );
                let title = format!("add a `Py_mod_gil` slot to module {}", module.in_words());
                let edits = edits(cx, module).map(|edits| (edits, title));
                let rule = &UNDECLARED_MULTI_PHASE_MODULE;
                finding(rule, module, "PyModuleDef_Init", message, edits, Vec::new())
            }),
    );
}

fn edits(cx: &PackageCx<'_>, module: &Module) -> Result<Vec<Edit>, String> {
    let guard = slot_guard(cx);
    let mut all = Vec::new();
    for def in module.defs() {
        for slots in def.slots.as_ref().map_err(Clone::clone)? {
            let edits = match slots {
                Slots::Array(array) => into_array(cx, array, guard.as_deref())?,
                Slots::None(def) => new_array(cx, def, guard.as_deref())?,
            };
            add_new(&mut all, edits);
        }
    }
    Ok(all)
}

/// Puts the slot before the terminator of `array`.
fn into_array(cx: &PackageCx<'_>, array: &Array, guard: Option<&str>) -> Result<Vec<Edit>, String> {
    let tree = cx
        .tree(array.item)
        .ok_or("the slot array could not be analysed")?;
    if array.sized {
        return Err(format!(
            "`{}` has an explicit length and no room for another slot",
            array.name
        ));
    }
    // [1] = {0, NULL}: an entry in front of it would be one with the same index.
    let is_numbered = |entry: &InitEntry| {
        let mut designators = entry.designators.iter();
        designators.any(|it| !matches!(it, Designator::Field(_)))
    };
    if array.list.entries.iter().any(is_numbered) {
        return Err(format!(
            "entries of `{}` have numbers, so the slot needs its own before the last entry",
            array.name
        ));
    }
    let terminator = array
        .terminator(tree)
        .ok_or_else(|| format!("`{}` does not end with an entry `{{0, NULL}}`", array.name))?;
    let tokens = &cx.item(array.item).tokens;
    let (Some(whole), Some((file, at))) = (
        tokens.file_span(array.list.range),
        tokens.file_span(terminator.range),
    ) else {
        return Err(format!("a macro makes the entries of `{}`", array.name));
    };
    let lines = Lines::new(cx, whole);
    // `{{Py_mod_exec, f}, {0, NULL}}`: the new lines are the first inside the braces.
    let one_line = line_of(cx, file, whole.1.start()) == line_of(cx, file, at.start());
    let outer = lines.indentation(at.start());
    let indentation = if one_line {
        lines.deeper(&outer)
    } else {
        outer
    };
    let entry = entry_like(cx, array).unwrap_or_else(|| "{Py_mod_gil, Py_MOD_GIL_NOT_USED}".into());
    let added = guarded(guard, format!("{indentation}{entry},"));
    Ok(vec![lines.before(at.start(), &added, &indentation)])
}

/// `lines` between the guard and its `#endif`.
pub(super) fn guarded(guard: Option<&str>, line: String) -> Vec<String> {
    match guard {
        Some(guard) => vec![guard.to_owned(), line, "#endif".to_owned()],
        None => vec![line],
    }
}

fn line_of(cx: &PackageCx<'_>, file: FileId, at: ByteOffset) -> LineNumber {
    cx.file(file).position(at).line
}

/// The new entry with the braces, blanks and designators of an entry of `array`.
fn entry_like(cx: &PackageCx<'_>, array: &Array) -> Option<String> {
    array
        .list
        .entries
        .iter()
        .find_map(|entry| spelled_like(cx, array, entry))
}

/// `{ .slot = Py_mod_gil, .value = Py_MOD_GIL_NOT_USED }` after an entry of that form.
fn spelled_like(cx: &PackageCx<'_>, array: &Array, entry: &InitEntry) -> Option<String> {
    let Init::List(inner) = &entry.value else {
        return None;
    };
    let [slot, value] = &inner.entries[..] else {
        return None;
    };
    let tokens = &cx.item(array.item).tokens;
    let tree = cx.tree(array.item)?;
    let value_of = |entry: &InitEntry| match &entry.value {
        Init::Expr(expr) => tokens.file_span(tree.expr(*expr).range),
        Init::List(_) => None,
    };
    let (file, whole) = tokens.file_span(inner.range)?;
    let (slot, value) = (value_of(slot)?.1, value_of(value)?.1);
    let gap = |from: u32, to: u32| {
        let text = cx
            .file(file)
            .text(ByteSpan::new(from, to.max(from)))
            .into_owned();
        let plain = |c: char| c.is_ascii_alphabetic() || " \t,.={}".contains(c);
        text.chars().all(plain).then_some(text)
    };
    let mut between = gap(slot.end().0, value.start().0)?;
    if between.ends_with("  ") {
        // Values stand in a column.
        between += &" ".repeat(slot.len().saturating_sub(SLOT.len()));
    }
    Some(format!(
        "{}{SLOT}{between}Py_MOD_GIL_NOT_USED{}",
        gap(whole.start().0, slot.start().0)?,
        gap(value.end().0, whole.end().0)?
    ))
}
