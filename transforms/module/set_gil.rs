//! UG202: a module initialised in one phase without a call of `PyUnstable_Module_SetGIL`.

use super::{add_new, finding};
use crate::ast::{StmtId, StmtKind};
use crate::declare_rule;
use crate::edit::{Confidence, Edit};
use crate::modules::{
    Create, Declared, Form, Lines, Module, NullCheck, Route, TRIGGERS, find_modules, set_gil_guard,
};
use crate::rule::{Finding, Note, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};

declare_rule! {
    /// ## What it does
    /// Finds extension modules with single-phase initialisation (`PyModule_Create`) that do not say whether
    /// they run without the GIL. A module whose initialisation cannot be analysed is reported as well.
    ///
    /// ## Why
    /// When a free-threaded Python imports such a module, it turns the GIL on for the whole process and
    /// warns. `PyUnstable_Module_SetGIL` says that this is not necessary.
    ///
    /// ## Example
    /// ```c
    /// PyObject *m = PyModule_Create(&module_def);
    /// if (m == NULL) {
    ///     return NULL;
    /// }
    /// ```
    /// becomes
    /// ```c
    /// PyObject *m = PyModule_Create(&module_def);
    /// if (m == NULL) {
    ///     return NULL;
    /// }
    /// #if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
    /// PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
    /// #endif
    /// ```
    /// The call comes after the test for `NULL`. If there is no test, the fix adds one.
    ///
    /// ## Confidence
    /// The call is a promise about the whole module. `safe` if all of this holds:
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
    /// | The new module is not stored in a plain variable, or a macro stores and tests it | manual | `state.module = PyModule_Create(&def);` | Store it in a variable of the function. |
    /// | No call of `PyModule_Create` is found that makes the module | manual | `PyMODINIT_FUNC PyInit_m(void) { return make_module(); }` | Call `PyUnstable_Module_SetGIL` on the module. |
    /// | The module says `Py_MOD_GIL_USED` | no finding | `PyUnstable_Module_SetGIL(m, Py_MOD_GIL_USED);` | Change the answer when the module is ready. |
    ///
    /// ## Alternative
    /// `ungil review` also offers `Py_MOD_GIL_USED`. The GIL then stays on, as without a declaration, but the
    /// source says that this is intended.
    ///
    /// ## References
    /// - [Module declarations](../topics/module-declarations.md): which writes are accounted for, how to answer
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#module-initialization>
    pub static UNDECLARED_SINGLE_PHASE_MODULE {
        code: "UG202",
        name: "undeclared-single-phase-module",
        summary: "a module with single-phase initialisation does not declare that it runs without \
                  the GIL",
        severity: Portability,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let modules = find_modules(cx);
    for module in modules
        .iter()
        .filter(|module| module.declared != Declared::Already)
    {
        let edits = match &module.route {
            Route::Multi(_) => continue,
            Route::Unknown(reason) => Err(reason.clone()),
            Route::Single(creates) | Route::Both(_, creates) => edits(cx, creates),
        };
        let message = format!(
            "module {} does not declare that it runs without the GIL; importing it turns the GIL \
             on",
            module.in_words()
        );
        let title = format!(
            "declare that module {} runs without the GIL",
            module.in_words()
        );
        let rule = &UNDECLARED_SINGLE_PHASE_MODULE;
        let edits = edits.map(|edits| (edits, title));
        findings.push(finding(
            rule,
            module,
            "PyModule_Create",
            message,
            edits,
            notes(cx, module),
        ));
    }
}

/// Where the module is created, if that is not in the `PyInit_` function itself.
fn notes(cx: &PackageCx<'_>, module: &Module) -> Vec<Note> {
    let mut notes = Vec::new();
    for create in module.creates() {
        let inits = cx
            .function(create.item)
            .is_some_and(|f| f.name.starts_with("PyInit"));
        if let Some((file, span)) = cx.span(create.item, create.call).filter(|_| !inits) {
            let note = Note {
                file,
                span,
                text: "the module is created here".to_owned(),
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// The edits behind every call. Where configurations see one call in different surroundings, the
/// form that needs none of them is taken.
fn edits(cx: &PackageCx<'_>, creates: &[Create]) -> Result<Vec<Edit>, String> {
    let guard = set_gil_guard(cx);
    let mut all = Vec::new();
    let mut done: Vec<(FileId, ByteSpan)> = Vec::new();
    for create in creates {
        let place = call_place(cx, create);
        if done.contains(&place) {
            continue;
        }
        done.push(place);
        let same: Vec<&Create> = creates
            .iter()
            .filter(|other| call_place(cx, other) == place)
            .collect();
        let edits = match agreed(cx, &same, &guard, true)? {
            Some(edits) => edits,
            None => agreed(cx, &same, &guard, false)?
                .ok_or("the call has different surroundings in different configurations")?,
        };
        add_new(&mut all, edits);
    }
    Ok(all)
}

/// The edits behind one call, if all configurations ask for the same.
fn agreed(
    cx: &PackageCx<'_>,
    variants: &[&Create],
    guard: &str,
    use_check: bool,
) -> Result<Option<Vec<Edit>>, String> {
    let all: Result<Vec<_>, _> = variants
        .iter()
        .map(|create| after_create(cx, create, guard, use_check))
        .collect();
    let mut all = all?;
    all.dedup();
    Ok(all.pop().filter(|_| all.is_empty()))
}

/// The text of the call, or the use of the macro that makes it.
fn call_place(cx: &PackageCx<'_>, create: &Create) -> (FileId, ByteSpan) {
    use crate::preprocess::Place;
    match cx.place(create.item, create.call) {
        Some(
            Place::File(file, span)
            | Place::Argument { file, span, .. }
            | Place::Macro {
                call: (file, span), ..
            },
        ) => (file, span),
        None => cx.item(create.item).place,
    }
}

fn after_create(
    cx: &PackageCx<'_>,
    create: &Create,
    guard: &str,
    use_check: bool,
) -> Result<Vec<Edit>, String> {
    match &create.form {
        Form::Other(reason) => Err(reason.clone()),
        Form::Returned { .. } => super::set_gil_return::store_result(cx, create, guard),
        Form::Stored {
            target,
            stored,
            check,
        } => {
            let check = if use_check { *check } else { NullCheck::None };
            let tested = matches!(tree_kind(cx, create, *stored), Some(StmtKind::If { .. }));
            if tested && check == NullCheck::None {
                return Err(
                    "the call is in a condition that differs between configurations".into(),
                );
            }
            after_store(cx, create, target, *stored, check, guard).map(|edit| vec![edit])
        }
    }
}

fn tree_kind<'a>(cx: &PackageCx<'a>, create: &Create, stmt: StmtId) -> Option<&'a StmtKind> {
    Some(&cx.tree(create.item)?.stmt(stmt).kind)
}

fn after_store(
    cx: &PackageCx<'_>,
    create: &Create,
    target: &str,
    stored: StmtId,
    check: NullCheck,
    guard: &str,
) -> Result<Edit, String> {
    let (file, span) = stmt_text(cx, create, stored)?;
    let lines = Lines::new(cx, cx.item(create.item).place);
    let call = format!("PyUnstable_Module_SetGIL({target}, Py_MOD_GIL_NOT_USED);");
    let plain = |at: ByteOffset| wrap(guard, vec![format!("{}{call}", lines.indentation(at))]);
    match check {
        NullCheck::Leaves(test) => {
            let (test_file, test) = stmt_text(cx, create, test)?;
            if test_file != file {
                return Err("the call and its test are in different files".to_owned());
            }
            Ok(lines.after(test.end(), &plain(test.start())))
        }
        NullCheck::Inside(first) => {
            let (_, first) = stmt_text(cx, create, first)?;
            Ok(lines.before(
                first.start(),
                &plain(first.start()),
                &lines.indentation(first.start()),
            ))
        }
        NullCheck::None => {
            let block = lines.block(&lines.indentation(span.start()), &not_null(target), &call);
            Ok(lines.after(span.end(), &wrap(guard, block)))
        }
    }
}

pub(super) fn not_null(target: &str) -> String {
    format!("if ({target} != NULL)")
}

/// `lines` between the guard and its `#endif`.
pub(super) fn wrap(guard: &str, mut lines: Vec<String>) -> Vec<String> {
    lines.insert(0, guard.to_owned());
    lines.push("#endif".to_owned());
    lines
}

/// The text of a statement, or the use of the macro that makes it.
fn stmt_text(
    cx: &PackageCx<'_>,
    create: &Create,
    stmt: StmtId,
) -> Result<(FileId, ByteSpan), String> {
    use crate::preprocess::Place;
    let range = cx
        .tree(create.item)
        .map(|tree| tree.stmt(stmt).range)
        .unwrap_or_default();
    if range.start >= range.end {
        return Err("a macro makes the statement with the call".to_owned());
    }
    match cx.item(create.item).tokens.place(range) {
        Place::File(file, span)
        | Place::Macro {
            call: (file, span), ..
        } => Ok((file, span)),
        Place::Argument { name, .. } => {
            Err(format!("the call is in an argument of the macro `{name}`"))
        }
    }
}
