//! Functions that a fix split in two: the body under a new name, and a wrapper around it that has
//! the old one.
//!
//! ```c
//! static PyObject *get_lock_held(Box *self, PyObject *arg) { /* as it was */ }
//! static PyObject *get(Box *self, PyObject *arg)
//! {
//!     PyObject *result;
//!     Py_BEGIN_CRITICAL_SECTION(self);
//!     result = get_lock_held(self, arg);
//!     Py_END_CRITICAL_SECTION();
//!     return result;
//! }
//! ```
//! Whoever calls the wrapper must get what the old function gave for the same arguments. That the
//! section is balanced is looked at as in every function.

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, calls, is_inserted, original_span};
use crate::ast::{ExprId, ExprKind, Function, LocalId, StmtKind, Tree, Type};
use crate::edit::Applied;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteSpan, FileId};

/// A function that was split.
struct Split<'a> {
    /// As it was.
    old: &'a Function,
    /// The body as it is now, and where.
    body: &'a Function,
    item: &'a ProgramItem,
}

/// What is wrong with the two halves of functions that were split.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let splits = splits(original, result, applied);
    let names: BTreeMap<&str, &str> = splits
        .iter()
        .map(|split| (split.body.name.as_str(), split.old.name.as_str()))
        .collect();
    let mut failures = Vec::new();
    for split in &splits {
        let file = split.item.place.0;
        let mut wrappers = result.functions();
        let wrong = wrappers.find_map(|(item, wrapper)| {
            let is_wrapper = item.place.0 == file && wrapper.name == split.old.name;
            is_wrapper.then(|| split.wrong(item, wrapper)).flatten()
        });
        if let Some(reason) = wrong.or_else(|| foreign_call(split.body, &names)) {
            failures.push(Failed {
                file,
                original: vec![original_span(&applied[&file], split.item.place.1)],
                result: split.item.place.1,
                failure: Failure::Wrong(reason),
            });
        }
    }
    failures
}

/// The functions whose body stands, from brace to brace, under another name than before.
fn splits<'a>(
    original: &'a Original<'_>,
    result: &'a Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Split<'a>> {
    let mut splits = Vec::new();
    let mut bodies: BTreeMap<(FileId, ByteSpan), &Function> = BTreeMap::new();
    for (item, body) in result.functions() {
        let Some(applied) = applied.get(&item.place.0) else {
            continue;
        };
        if !is_inserted(item, applied, body.name_range.start) {
            continue;
        }
        if bodies.is_empty() {
            bodies.extend(
                original
                    .program
                    .functions()
                    .filter_map(|(item, old)| Some((body_place(item, old)?, old))),
            );
        }
        let place = body_place(item, body).map(|(file, span)| (file, original_span(applied, span)));
        let old = place.and_then(|place| bodies.get(&place).copied());
        splits.extend(
            old.filter(|old| old.name != body.name)
                .map(|old| Split { old, body, item }),
        );
    }
    splits
}

fn body_place(item: &ProgramItem, function: &Function) -> Option<(FileId, ByteSpan)> {
    let body = function.tree.stmt(function.body);
    item.tokens.file_span(body.range)
}

impl Split<'_> {
    /// What is wrong with the function that has the old name.
    fn wrong(&self, item: &ProgramItem, wrapper: &Function) -> Option<String> {
        let (old, new) = (&self.old.name, &self.body.name);
        let type_of_old = signature(self.old);
        if signature(self.body) != type_of_old || signature(wrapper) != type_of_old {
            return Some(format!(
                "`{old}` or `{new}` has another type than `{old}` had"
            ));
        }
        let Some(call) = self.only_call(item, wrapper) else {
            return Some(format!(
                "`{old}` does more than call `{new}` in a critical section"
            ));
        };
        if !self.locks(wrapper) {
            return Some(format!("`{old}` locks another object than `{new}` uses"));
        }
        if !hands_on(wrapper, call) {
            return Some(format!("`{old}` does not hand its arguments on to `{new}`"));
        }
        (!wrapper.ret.is_void() && !gives_back(wrapper, call))
            .then(|| format!("`{old}` does not return what `{new}` gives"))
    }

    /// Whether the section is on the object that the body is about: the first parameter of a method,
    /// or the dict that it iterates over.
    fn locks(&self, wrapper: &Function) -> bool {
        let tree = &wrapper.tree;
        calls(wrapper).all(|(call, name)| match &tree.expr(call).kind {
            ExprKind::Call { args, .. } if name == "PyCriticalSection_Begin" => {
                let object = args.get(1).and_then(|&object| local(tree, object));
                let mut params = wrapper.params.iter();
                let at = params.position(|&param| Some(param) == object);
                at.is_some_and(|at| at == 0 || is_iterated_over(self.body, at))
            }
            _ => true,
        })
    }

    /// The call of the body, if it stands in a section and nothing else is called or asked.
    fn only_call(&self, item: &ProgramItem, wrapper: &Function) -> Option<ExprId> {
        let tree = &wrapper.tree;
        let is_straight = tree.stmts.iter().all(|stmt| {
            matches!(
                stmt.kind,
                StmtKind::Block(_)
                    | StmtKind::Decl(_)
                    | StmtKind::Expr(_)
                    | StmtKind::Return(_)
                    | StmtKind::Null
            )
        });
        let mut others = calls(wrapper).filter(|(_, name)| !name.starts_with("PyCriticalSection_"));
        let (call, name) = others.next()?;
        let at = tree.expr(call).range.start;
        let macros = |start: &str, stands: &dyn Fn(u32) -> bool| {
            let mut uses = item.tokens.expansions.iter();
            uses.any(|each| each.name.starts_with(start) && stands(each.tokens.start))
        };
        let is_locked = macros("Py_BEGIN_CRITICAL_SECTION", &|begin| begin < at)
            && macros("Py_END_CRITICAL_SECTION", &|end| end > at);
        let is_only = is_straight && name == self.body.name && others.next().is_none();
        (is_only && is_locked).then_some(call)
    }
}

/// The types of the result and of the parameters.
fn signature(function: &Function) -> (&Type, Vec<&Type>, bool) {
    let params = function.params.iter();
    let types = params
        .map(|&param| &function.tree.local(param).ty)
        .collect();
    (&function.ret, types, function.variadic)
}

/// Whether the parameter at this position is the dict of every iteration of `body`.
fn is_iterated_over(body: &Function, at: usize) -> bool {
    let tree = &body.tree;
    let mut iterations = calls(body)
        .filter(|(_, name)| *name == "PyDict_Next")
        .peekable();
    let is_param = |dict: ExprId| local(tree, dict) == Some(body.params[at]);
    iterations.peek().is_some()
        && assigned(tree, body.params[at]).is_empty()
        && iterations.all(|(call, _)| match &tree.expr(call).kind {
            ExprKind::Call { args, .. } => args.first().is_some_and(|&dict| is_param(dict)),
            _ => false,
        })
}

/// Whether the arguments are the parameters, each at its place and as the caller gave it.
fn hands_on(wrapper: &Function, call: ExprId) -> bool {
    let tree = &wrapper.tree;
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let is_set = |param: LocalId| !assigned(tree, param).is_empty();
    args.len() == wrapper.params.len()
        && args
            .iter()
            .zip(&wrapper.params)
            .all(|(&arg, &param)| local(tree, arg) == Some(param) && !is_set(param))
}

/// Whether the one thing that is returned is the value of the call.
fn gives_back(wrapper: &Function, call: ExprId) -> bool {
    let tree = &wrapper.tree;
    let mut returned = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Return(value) => Some(value),
        _ => None,
    });
    let (Some(Some(value)), None) = (returned.next(), returned.next()) else {
        return false;
    };
    local(tree, value).is_some_and(|local| assigned(tree, local) == [call])
}

/// A call of the body of another function for another object than the one whose lock is held.
fn foreign_call(body: &Function, names: &BTreeMap<&str, &str>) -> Option<String> {
    let own: BTreeSet<LocalId> = same_object(body);
    calls(body).find_map(|(call, name)| {
        let ExprKind::Call { args, .. } = &body.tree.expr(call).kind else {
            return None;
        };
        let object = args.first().and_then(|&arg| local(&body.tree, arg));
        let is_own = object.is_some_and(|object| own.contains(&object));
        (names.contains_key(name) && !is_own).then(|| {
            format!(
                "`{}` calls `{name}` for an object that it has not locked",
                body.name
            )
        })
    })
}

/// The first parameter and the variables that never hold anything else.
fn same_object(function: &Function) -> BTreeSet<LocalId> {
    let tree = &function.tree;
    let Some(&object) = function.params.first() else {
        return BTreeSet::new();
    };
    let mut locals = (0u32..)
        .map(LocalId)
        .take(tree.locals.len())
        .collect::<BTreeSet<_>>();
    locals.retain(|&each| {
        let values = assigned(tree, each);
        let is_object = |&value: &ExprId| local(tree, value) == Some(object);
        if each == object {
            values.is_empty()
        } else {
            !values.is_empty() && values.iter().all(is_object)
        }
    });
    if locals.contains(&object) {
        locals
    } else {
        BTreeSet::new()
    }
}

/// The values that a variable is given.
fn assigned(tree: &Tree, variable: LocalId) -> Vec<ExprId> {
    let stores = tree.stores().filter(|&(local, _)| local == variable);
    stores.map(|(_, value)| value).collect()
}

/// The variable that an expression names, through casts.
fn local(tree: &Tree, expr: ExprId) -> Option<LocalId> {
    tree.as_local(tree.without_casts(expr))
}
