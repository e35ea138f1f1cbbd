//! `return PyModule_Create(&def);` with a variable for the module.

use super::set_gil::{not_null, wrap};
use crate::ast::{StmtId, StmtKind, Tree};
use crate::edit::Edit;
use crate::modules::{Create, Form, Lines, identifiers};
use crate::program::Body;
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

/// Stores the module, declares it, returns it.
pub(super) fn store_result(
    cx: &PackageCx<'_>,
    create: &Create,
    guard: &str,
) -> Result<Vec<Edit>, String> {
    let Form::Returned { stmt, value, block } = create.form else {
        return Err("the module is not returned immediately".to_owned());
    };
    let (Some((file, span)), Some((_, value)), Some(tree)) = (
        cx.stmt_span(create.item, stmt),
        cx.span(create.item, value),
        cx.tree(create.item),
    ) else {
        return Err("a macro makes and returns the module".to_owned());
    };
    let item = cx.item(create.item);
    let lines = Lines::new(cx, item.place);
    let name = free_name(cx, item.place).ok_or("there is no unused short name for the module")?;
    let prefix = cx.layout(file, item.place.1).pointer("PyObject *");
    let declared = format!("{prefix}{name}");
    let indentation = lines.indentation(span.start());
    let before = statements_before(tree, block, stmt);
    let at_top = before.iter().any(|&stmt| !is_declaration(tree, stmt)) && !mixes(cx, file);
    let target = if at_top { name } else { &declared };
    let mut edits = vec![assign(cx, file, span, value, target)];
    let call = format!("PyUnstable_Module_SetGIL({name}, Py_MOD_GIL_NOT_USED);");
    let mut after = wrap(guard, lines.block(&indentation, &not_null(name), &call));
    after.push(format!("{indentation}return {name};"));
    edits.push(lines.after(span.end(), &after));
    if at_top {
        edits.push(declare_at_top(cx, create, &lines, &before, &declared)?);
    }
    edits.sort();
    Ok(edits)
}

/// `return value;` to `target = value;`.
fn assign(cx: &PackageCx<'_>, file: FileId, stmt: ByteSpan, value: ByteSpan, target: &str) -> Edit {
    let head = ByteSpan::new(stmt.start().0, value.start().0);
    let plain = cx.file(file).text(head).trim_end() == "return";
    let (span, text) = if plain {
        (head, format!("{target} = "))
    } else {
        // `return (value);`: the parentheses go.
        (stmt, format!("{target} = {};", cx.file(file).text(value)))
    };
    Edit::new(file, span, text.into_bytes())
}

/// A usual name for a module that the function does not use, in any configuration.
fn free_name(cx: &PackageCx<'_>, (file, function): (FileId, ByteSpan)) -> Option<&'static str> {
    let words: Vec<&str> = identifiers(cx, file, function).collect();
    ["m", "module", "mod", "new_module"]
        .into_iter()
        .find(|name| !words.contains(name))
}

fn statements_before(tree: &Tree, block: StmtId, stmt: StmtId) -> Vec<StmtId> {
    match &tree.stmt(block).kind {
        StmtKind::Block(stmts) => stmts
            .iter()
            .copied()
            .take_while(|&other| other != stmt)
            .collect(),
        _ => Vec::new(),
    }
}

fn is_declaration(tree: &Tree, stmt: StmtId) -> bool {
    matches!(tree.stmt(stmt).kind, StmtKind::Decl(_))
}

/// Whether a function of `file` declares a variable behind a statement.
fn mixes(cx: &PackageCx<'_>, file: FileId) -> bool {
    let items = cx.program.items.iter().filter(|item| item.place.0 == file);
    let functions = items.filter_map(|item| match &item.body {
        Some(Body::Function(function)) => Some((item, function)),
        _ => None,
    });
    functions.into_iter().any(|(item, function)| {
        let tree = &function.tree;
        tree.stmts.iter().any(|stmt| match &stmt.kind {
            StmtKind::Block(stmts) => stmts.windows(2).any(|pair| {
                let written = item.tokens.file_span(tree.stmt(pair[1]).range).is_some();
                !is_declaration(tree, pair[0]) && is_declaration(tree, pair[1]) && written
            }),
            _ => false,
        })
    })
}

/// Declares the variable behind the declarations that the block begins with, else before its
/// first statement with a blank line between.
fn declare_at_top(
    cx: &PackageCx<'_>,
    create: &Create,
    lines: &Lines<'_>,
    before: &[StmtId],
    declared: &str,
) -> Result<Edit, String> {
    let tree = cx
        .tree(create.item)
        .ok_or("the function could not be analysed")?;
    let span = |stmt: StmtId| {
        let span = cx.stmt_span(create.item, stmt).map(|(_, span)| span);
        span.ok_or("the block begins with a macro, so there is no place for a declaration")
    };
    let last = before
        .iter()
        .copied()
        .take_while(|&stmt| is_declaration(tree, stmt))
        .last();
    if let Some(last) = last {
        let last = span(last)?;
        let line = format!("{}{declared};", lines.indentation(last.start()));
        return Ok(lines.after(last.end(), &[line]));
    }
    let first = span(*before.first().ok_or("the block is empty")?)?;
    let indentation = lines.indentation(first.start());
    let added = [format!("{indentation}{declared};"), String::new()];
    Ok(lines.before(first.start(), &added, &indentation))
}
