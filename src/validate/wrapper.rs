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
//! A wrapper without a section looks up an object for the body: `lent` has more of that. Whoever calls the wrapper must get what the old function gave for the same arguments. That the
//! section is balanced is looked at as in every function.

use std::collections::{BTreeMap, BTreeSet};

use super::original::Original;
use super::proof::{Failed, calls, is_inserted, original_span};
use super::{Failure, acquired, lent};
use crate::ast::{ExprId, ExprKind, Function, LocalId, StmtKind, Tree, Type};
use crate::edit::Applied;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteSpan, FileId, FileSet};
use crate::state::{Own, begins_section};

/// A function that was split.
pub(super) struct Split<'a> {
    /// As it was, and where.
    pub(super) old: &'a Function,
    pub(super) old_item: &'a ProgramItem,
    /// The body as it is now, and where.
    pub(super) body: &'a Function,
    pub(super) item: &'a ProgramItem,
    /// Whether the body stands, from brace to brace, where that of the function was.
    is_whole: bool,
}

/// What is wrong with the two halves of functions that were split.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let splits = splits(original, result, applied);
    let names: BTreeMap<&str, Vec<usize>> = splits
        .iter()
        .map(|split| (split.body.name.as_str(), split.locked_in(result)))
        .collect();
    let mut failures = Vec::new();
    for split in &splits {
        let file = split.item.place.0;
        let mut wrappers = result.functions();
        let wrong = wrappers.find_map(|(item, wrapper)| {
            let is_wrapper = item.place.0 == file && wrapper.name == split.old.name;
            match is_wrapper {
                true if split.is_lent(wrapper) && has_section(wrapper) => {
                    acquired::failure(split, wrapper, original, result.files)
                }
                true if split.is_lent(wrapper) => {
                    let change = (result.files, &applied[&file]);
                    split.failure_of_lent(item, wrapper, original, change)
                }
                true if split.is_whole => split.wrong(item, wrapper).map(Failure::Wrong),
                _ => None,
            }
        });
        let foreign = || {
            let foreign = foreign_call(split.body, &names).filter(|_| split.is_whole);
            foreign.map(Failure::Wrong)
        };
        if let Some(failure) = wrong.or_else(foreign) {
            failures.push(Failed {
                file,
                original: vec![original_span(&applied[&file], split.item.place.1)],
                result: split.item.place.1,
                failure,
            });
        }
    }
    failures
}

/// The functions with a new name whose body stands, all or a part of it, where a function with another
/// name was.
fn splits<'a>(
    original: &'a Original<'_>,
    result: &'a Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Split<'a>> {
    let mut splits = Vec::new();
    for (item, body) in result.functions() {
        let Some(applied) = applied.get(&item.place.0) else {
            continue;
        };
        if !is_inserted(item, applied, body.name_range.start) {
            continue;
        }
        let Some((file, span)) = body_place(item, body) else {
            continue;
        };
        let span = original_span(applied, span);
        let mut olds = original.program.functions();
        let is_known =
            olds.any(|(old_item, old)| old_item.place.0 == file && old.name == body.name);
        let mut olds = original.program.functions();
        let old = olds.find(|(old_item, old)| {
            // The text of the item is known; where its body stands is looked up in its tokens.
            let (of, text) = old_item.place;
            of == file && text.start() <= span.start() && holds(old_item, old, (file, span))
        });
        splits.extend(old.filter(|_| !is_known).map(|(old_item, old)| Split {
            old,
            old_item,
            body,
            item,
            is_whole: body_place(old_item, old) == Some((file, span)),
        }));
    }
    splits
}

/// Whether the body of `function` stands around the place.
fn holds(item: &ProgramItem, function: &Function, (file, span): (FileId, ByteSpan)) -> bool {
    body_place(item, function).is_some_and(|(of, place)| of == file && place.contains(span))
}

fn body_place(item: &ProgramItem, function: &Function) -> Option<(FileId, ByteSpan)> {
    let body = function.tree.stmt(function.body);
    item.tokens.file_span(body.range)
}

impl Split<'_> {
    /// The positions of the parameters that a wrapper locks around the body.
    fn locked_in(&self, result: &Program<'_>) -> Vec<usize> {
        let mut wrappers = result.functions().filter(|(item, wrapper)| {
            item.place.0 == self.item.place.0 && wrapper.name == self.old.name
        });
        let wrapper = wrappers.next().map(|(_, wrapper)| wrapper);
        // The lock is free while the body runs.
        if wrapper.is_some_and(|wrapper| self.is_lent(wrapper)) {
            return Vec::new();
        }
        let locked = wrapper.and_then(locked);
        locked.filter(|at| !at.is_empty()).unwrap_or(vec![0])
    }

    /// Whether `wrapper` calls the body, which has a parameter that the function had not: an object.
    fn is_lent(&self, wrapper: &Function) -> bool {
        let has = |function: &Function, name: &str| {
            let mut params = function.params.iter();
            params.any(|&param| function.tree.local(param).name == name)
        };
        let mut params = self.body.params.iter();
        calls(wrapper).any(|(_, name)| name == self.body.name)
            && params.any(|&param| !has(self.old, &self.body.tree.local(param).name))
    }

    /// What is wrong with the halves if the second is lent an object; `None` if the function was
    /// that in one of its configurations.
    fn failure_of_lent(
        &self,
        item: &ProgramItem,
        wrapper: &Function,
        original: &Original<'_>,
        change: (&FileSet, &Applied),
    ) -> Option<Failure> {
        let olds = original.program.functions();
        let olds = olds.filter(|(old_item, _)| old_item.place == self.old_item.place);
        let mut found = None;
        for (old_item, old) in olds {
            let split = Split {
                old,
                old_item,
                ..*self
            };
            found = Some(lent::failure(&split, wrapper, item, original, change)?);
        }
        found
    }

    /// What is wrong with the function that has the old name.
    fn wrong(&self, item: &ProgramItem, wrapper: &Function) -> Option<String> {
        let (old, new) = (&self.old.name, &self.body.name);
        let type_of_old = signature(self.old);
        if signature(self.body) != type_of_old || signature(wrapper) != type_of_old {
            return Some(format!(
                "`{old}` or `{new}` has another type than `{old}` had before"
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
            return Some(format!("`{old}` does not pass its arguments on to `{new}`"));
        }
        (!wrapper.ret.is_void() && !gives_back(wrapper, call))
            .then(|| format!("`{old}` does not return the result of `{new}`"))
    }

    /// Whether the section is on the objects that the body is about: the first parameter of a method,
    /// another whose fields it uses, or the dict that it iterates over.
    fn locks(&self, wrapper: &Function) -> bool {
        locked(wrapper).is_some_and(|positions| {
            let mut positions = positions.into_iter();
            positions.all(|at| {
                at == 0 || is_iterated_over(self.body, at) || is_looked_into(self.body, at)
            })
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
        let mut others = calls(wrapper).filter(|(_, name)| !name.starts_with("PyCriticalSection"));
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

/// The positions of the parameters that the sections of a wrapper hold; `None` if one holds something
/// else.
fn locked(wrapper: &Function) -> Option<Vec<usize>> {
    let tree = &wrapper.tree;
    let begins = calls(wrapper).filter(|(_, name)| begins_section(name));
    let objects = begins.filter_map(|(call, _)| tree.call(call)?.1.get(1..));
    let position = |&object: &ExprId| {
        let object = local(tree, object)?;
        wrapper.params.iter().position(|&param| param == object)
    };
    objects.flatten().map(position).collect()
}

pub(super) fn has_section(wrapper: &Function) -> bool {
    calls(wrapper).any(|(_, name)| begins_section(name))
}

/// Whether the function reads fields of its parameter at this position, or hands it on.
fn is_looked_into(function: &Function, at: usize) -> bool {
    let tree = &function.tree;
    let own = Own::new(function, at);
    own.is_some_and(|own| {
        tree.expr_ids().any(|expr| match &tree.expr(expr).kind {
            ExprKind::Call { args, .. } => args.iter().any(|&arg| own.is_object(tree, arg)),
            _ => own.field(tree, expr).is_some(),
        })
    })
}

/// The types of the result and of the parameters.
pub(super) fn signature(function: &Function) -> (&Type, Vec<&Type>, bool) {
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

/// A call of the body of another function for another object than those whose locks are held; `names`
/// are the bodies, with the positions of the parameters that are locked around them.
fn foreign_call(body: &Function, names: &BTreeMap<&str, Vec<usize>>) -> Option<String> {
    let own = names.get(body.name.as_str()).into_iter().flatten();
    let own: BTreeSet<LocalId> = own.flat_map(|&at| same_object(body, at)).collect();
    calls(body).find_map(|(call, name)| {
        let (_, args) = body.tree.call(call)?;
        let is_own = |at: &usize| {
            let object = args.get(*at).and_then(|&arg| local(&body.tree, arg));
            object.is_some_and(|object| own.contains(&object))
        };
        let is_foreign = !names.get(name)?.iter().all(is_own);
        is_foreign.then(|| {
            format!(
                "`{}` calls `{name}` for an object that it has not locked",
                body.name
            )
        })
    })
}

/// The parameter at this position and the variables that never hold anything else.
fn same_object(function: &Function, at: usize) -> BTreeSet<LocalId> {
    let tree = &function.tree;
    let Some(&object) = function.params.get(at) else {
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
pub(super) fn assigned(tree: &Tree, variable: LocalId) -> Vec<ExprId> {
    let stores = tree.stores().filter(|&(local, _)| local == variable);
    stores.map(|(_, value)| value).collect()
}

/// The variable that an expression names, through casts.
pub(super) fn local(tree: &Tree, expr: ExprId) -> Option<LocalId> {
    tree.as_local(tree.without_casts(expr))
}
