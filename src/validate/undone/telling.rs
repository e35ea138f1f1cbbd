//! Functions that only tell of something: what they do is no end of anything.

use super::super::original::Original;
use super::acts::{ignored, is_count, is_outside};
use super::memory::Memory;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree, UnaryOp};
use crate::capi::{self, words_of};

/// How deep functions of the package are looked into.
const MAX_DEPTH: usize = 5;

/// Whether a call just tells of something: raises an exception, or writes a line. A body that is
/// there comes before the name: `traceback_add` may set back a field on its way.
pub(super) fn only_tells(original: &Original<'_>, tree: &Tree, call: ExprId, depth: usize) -> bool {
    let Some(name) = tree.called(call) else {
        return false;
    };
    let mut own = own(original, name).peekable();
    if own.peek().is_none() {
        return says_so(name) && !writes_elsewhere(original, tree, call, name);
    }
    let is_one = |function: &Function| {
        body_only_tells(original, function, depth + 1)
            || says_so(name) && body_ends_nothing(original, function, depth + 1)
    };
    depth < MAX_DEPTH && own.all(is_one)
}

/// Whether the body of a function changes nothing but its variables, and calls only what tells, or
/// makes objects.
fn body_only_tells(original: &Original<'_>, function: &Function, depth: usize) -> bool {
    let tree = &function.tree;
    tree.expr_ids().all(|expr| match tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => tree.callee_name(callee).is_some_and(|name| {
            let of_python = name.starts_with("Py") && !ends(name) && !name.contains("Call");
            of_python && only_makes(tree, expr, name) || only_tells(original, tree, expr, depth)
        }),
        _ => tree
            .changed(expr)
            .is_none_or(|place| !is_outside(tree, place) || is_of_made(tree, place)),
    })
}

/// Whether the body of a function whose name says that it tells of something ends nothing of its
/// caller's: what it ends of its own, `PyErr_Restore` behind `PyErr_Fetch`, does not matter.
fn body_ends_nothing(original: &Original<'_>, function: &Function, depth: usize) -> bool {
    let tree = &function.tree;
    let ignored = ignored(tree);
    tree.expr_ids().all(|expr| match tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => {
            let name = tree.callee_name(callee);
            let is_harmless = |name: &str| {
                let of_python = name.trim_start_matches('_').starts_with("Py");
                let mut own = own(original, name).peekable();
                match own.peek() {
                    Some(_) => {
                        let is_one = |it: &Function| body_ends_nothing(original, it, depth + 1);
                        depth < MAX_DEPTH && own.all(is_one)
                    }
                    None if of_python => {
                        let is_harmless = !ends(name)
                            && !name.contains("Method")
                            && leaves_others_alone(tree, expr, name);
                        is_harmless || is_about_own(tree, expr)
                    }
                    None => {
                        let looks = !ignored.contains(&expr) && !says_end(name);
                        (says_so(name) || looks) && !writes_elsewhere(original, tree, expr, name)
                    }
                }
            };
            name.is_some_and(is_harmless) || makes(tree, expr)
        }
        ref kind => {
            let counts_on = matches!(
                kind,
                ExprKind::Unary {
                    op: UnaryOp::PreIncrement | UnaryOp::PostIncrement,
                    ..
                }
            );
            tree.changed(expr).is_none_or(|place| {
                counts_on || !is_outside(tree, place) || is_of_made(tree, place)
            })
        }
    })
}

/// Whether a call ends what the function itself holds in its variables, or began.
fn is_about_own(tree: &Tree, call: ExprId) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let is_own = |local: LocalId| {
        let variable = tree.local(local);
        !variable.is_param && variable.is_automatic()
    };
    let mut args = args
        .iter()
        .map(|&arg| tree.as_local(tree.without_casts(arg)));
    match args.len() {
        0 => tree
            .calls()
            .any(|(_, name)| name == "Py_EnterRecursiveCall"),
        _ => args.all(|arg| arg.is_some_and(is_own)),
    }
}

/// Whether a function of Python changes no object that its caller did not make: exceptions apart,
/// which are what telling is about.
fn leaves_others_alone(tree: &Tree, call: ExprId, name: &str) -> bool {
    const CHANGES: [&str; 13] = [
        "add", "append", "clear", "delete", "discard", "extend", "insert", "merge", "remove",
        "set", "setitem", "swap", "update",
    ];
    let is_plain = name.starts_with("PyErr_") || name.starts_with("Py_");
    let says_so = || words_of(name).any(|word| CHANGES.contains(&&*word));
    let changes = is_release(name) || !is_plain && says_so();
    !changes || is_count(tree, call) || is_about_made(tree, call)
}

/// Whether a function of Python is known to make or look at an object, or to tell of an exception,
/// and to change nothing that others have.
fn only_makes(tree: &Tree, call: ExprId, name: &str) -> bool {
    const MAKES: [&str; 32] = [
        "as",
        "build",
        "check",
        "concat",
        "contains",
        "count",
        "data",
        "decode",
        "encode",
        "err",
        "fast",
        "format",
        "from",
        "get",
        "has",
        "hash",
        "here",
        "import",
        "intern",
        "is",
        "join",
        "length",
        "lookup",
        "new",
        "pack",
        "ready",
        "repr",
        "size",
        "str",
        "substring",
        "true",
        "type",
    ];
    let makes = || words_of(name).any(|word| MAKES.contains(&&*word));
    is_count(tree, call)
        || is_about_made(tree, call)
        || capi::never_returns(name)
        || makes() && leaves_others_alone(tree, call, name)
}

/// Whether a call works on an object that the function made.
fn is_about_made(tree: &Tree, call: ExprId) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let first = args.first().map(|&arg| tree.without_casts(arg));
    first
        .and_then(|first| tree.as_local(first))
        .is_some_and(|local| is_made_here(tree, local))
}

fn is_release(name: &str) -> bool {
    matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_DecRef")
}

/// Whether a variable is one of the function's that gets what it makes.
pub(super) fn is_made_here(tree: &Tree, local: LocalId) -> bool {
    let is_new = |name: &str| {
        let words = ["New", "Call", "Build", "From"];
        name.starts_with("Py") && words.iter().any(|word| name.contains(word))
    };
    let is_made = |value: ExprId| {
        let name = tree.called(tree.without_casts(value));
        makes(tree, value) || name.is_some_and(is_new)
    };
    tree.local(local).is_automatic() && gets_only(tree, local, is_made)
}

/// Whether a variable, which is no parameter, gets values like that, and nothing else but `NULL`:
/// `PyArg_ParseTuple(args, "O", &dict)` gives it others.
fn gets_only(tree: &Tree, local: LocalId, is_like: impl Fn(ExprId) -> bool) -> bool {
    let stores = tree.stores().filter(|(given, _)| *given == local);
    let mut values = stores
        .map(|(_, value)| value)
        .filter(|&value| !tree.is_null(value))
        .peekable();
    !tree.local(local).is_param && values.peek().is_some() && values.all(is_like)
}

/// The functions of the package with this name.
pub(super) fn own<'a>(
    original: &'a Original<'_>,
    name: &'a str,
) -> impl Iterator<Item = &'a Function> {
    let named = original.program.functions_named(name);
    named.map(|(_, function)| function)
}

/// Whether a place is a field of an object that the function made: `frame->f_lineno` behind
/// `frame = PyFrame_New(…)`.
fn is_of_made(tree: &Tree, place: ExprId) -> bool {
    let ExprKind::Member { base, .. } = tree.expr(place).kind else {
        return false;
    };
    let makes = |value: ExprId| makes(tree, value);
    tree.as_local(base)
        .is_some_and(|local| gets_only(tree, local, makes))
}

/// Whether a value is an object that nobody else has: `PyFrame_New(…)`, `type->tp_alloc(type, 0)`,
/// or a block that a macro writes around such a call.
fn makes(tree: &Tree, value: ExprId) -> bool {
    let value = tree.without_casts(value);
    match tree.expr(value).kind {
        ExprKind::Call { callee, .. } => match &tree.expr(callee).kind {
            ExprKind::Member { field, .. } => &**field == "tp_alloc",
            _ => tree.callee_name(callee).is_some_and(|name| {
                name.trim_start_matches('_').starts_with("Py") && name.ends_with("_New")
            }),
        },
        ExprKind::Stmt(_) => {
            let within = tree.exprs_in(tree.expr(value).range);
            let mut calls = within.filter(|(expr, _)| tree.called(*expr).is_some());
            calls.any(|(call, _)| makes(tree, call))
        }
        _ => false,
    }
}

/// Whether a function of Python ends what another one began.
fn ends(name: &str) -> bool {
    const WORDS: [&str; 13] = [
        "Free", "Release", "release", "Del", "Leave", "Exit", "End", "Restore", "Reset", "Enable",
        "Discard", "Unlock", "Pop",
    ];
    sets_back_exception(name) || WORDS.iter().any(|word| name.contains(word))
}

/// Whether a function of Python gives back an exception that the code had taken away for a while.
fn sets_back_exception(name: &str) -> bool {
    matches!(
        name,
        "PyErr_Restore"
            | "PyErr_SetRaisedException"
            | "PyErr_SetExcInfo"
            | "PyErr_SetHandledException"
    )
}

/// Whether the name of a function that is not seen says that it only tells of something, or copies
/// memory.
fn says_so(name: &str) -> bool {
    const TELLS: [&str; 12] = [
        "print",
        "log",
        "warn",
        "warning",
        "debug",
        "assert",
        "err",
        "error",
        "raise",
        "exception",
        "fail",
        "abort",
    ];
    let words: Vec<String> = words_of(name).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    // `_PyTraceback_Add`, `__Pyx_AddTraceback`: where the exception came by.
    let adds_line = has("add") && (has("traceback") || has("trace") && has("back"));
    if capi::is_libc(name) {
        return name != "free";
    }
    if sets_back_exception(name) || says_end(name) {
        return name == "PyErr_Clear";
    }
    name.starts_with("PyErr_")
        || name.starts_with("PySys_Write")
        || name.starts_with("PySys_Format")
        || name == "PySys_Audit"
        || name.contains("printf")
        || adds_line
        || TELLS.iter().any(|word| has(word))
}

/// Whether a call of the C library writes memory that others have: `strcpy(self->name, saved)`.
fn writes_elsewhere(original: &Original<'_>, tree: &Tree, call: ExprId, name: &str) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let written = capi::written(name).and_then(|at| args.get(at));
    let memory = Memory { original, tree };
    written.is_some_and(|&written| !memory.is_own(written))
}

/// Whether the name of a function says that it ends something.
fn says_end(name: &str) -> bool {
    const ENDS: [&str; 21] = [
        "free",
        "clear",
        "close",
        "release",
        "leave",
        "exit",
        "end",
        "pop",
        "restore",
        "reset",
        "delete",
        "destroy",
        "done",
        "cancel",
        "disconnect",
        "drop",
        "finish",
        "rollback",
        "stop",
        "undo",
        "unlock",
    ];
    words_of(name).any(|word| ENDS.contains(&&*word))
}

#[cfg(test)]
mod tests {
    use super::says_so;

    #[test]
    fn names_tell_of_errors() {
        for name in [
            "PyErr_Format",
            "PySys_WriteStderr",
            "raise_from_errno",
            "setSQLError",
            "_PyTraceback_Add",
            "__Pyx_AddTraceback",
            "AddTraceBackHere",
            "fprintf",
            "memcpy",
            "strncpy",
        ] {
            assert!(says_so(name), "{name}");
        }
        for name in [
            "PyErr_Restore",
            "PySys_SetObject",
            "g_error_free",
            "clear_error",
            "traceback_addrs",
            "stream_deinit",
            "memory_unmap",
            "strbuf_fini",
        ] {
            assert!(!says_so(name), "{name}");
        }
    }
}
