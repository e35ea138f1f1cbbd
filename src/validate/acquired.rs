//! Functions that a fix split behind the reads of some fields: the first half, under the old name, reads
//! them in a section and holds what they hold; the second uses what was read.
//!
//! ```c
//! static PyObject *call_with_hook(Event *self, PyObject *arg, PyObject *hook) { /* the rest */ }
//! static PyObject *call(Event *self, PyObject *arg)
//! {
//!     PyObject *hook;
//!     PyObject *result;
//!     Py_BEGIN_CRITICAL_SECTION(self);
//!     hook = Py_XNewRef(self->hook);
//!     Py_END_CRITICAL_SECTION();
//!     result = call_with_hook(self, arg, hook);
//!     Py_XDECREF(hook);
//!     return result;
//! }
//! ```

use std::collections::BTreeMap;

use super::Failure;
use super::changed::Changed;
use super::lent::{detaches, keeps, own_stmts, released, words};
use super::original::Original;
use super::proof::calls;
use super::wrapper::{Split, assigned, has_section, local, signature};
use crate::ast::{
    ExprId, ExprKind, Function, Init, LocalId, StmtId, StmtKind, TokenRange, UnaryOp,
};
use crate::capi::{self, Returns};
use crate::source::FileSet;
use crate::state::{Own, begins_section};

/// What is wrong with the halves of a function; `first` has its old name.
pub(super) fn failure(
    split: &Split<'_>,
    first: &Function,
    original: &Original<'_>,
    files: &FileSet,
) -> Option<Failure> {
    let (old, new) = (&split.old.name, &split.body.name);
    let wrong = |what: &str| Some(Failure::Wrong(format!("`{old}` and `{new}` {what}")));
    let is_static = split.body.is_static && first.is_static == split.old.is_static;
    if !is_static || signature(first) != signature(split.old) {
        return wrong("do not have the declaration of the original function");
    }
    let Some(read) = read_before(split, first) else {
        return wrong("do not read the fields in a section and release them after the call");
    };
    if !is_same_but(split, &read, original.program.files, files) {
        return wrong("together do not do what the function did before it was split");
    }
    if detaches(split.body) && read.iter().any(|read| read.is_held) {
        return wrong("may release what they hold while the thread is detached");
    }
    let mut held = read.iter().filter(|read| read.is_held);
    held.find_map(|read| keeps(split, read.param, original))
}

/// Whether a function is a first half whose result is an object of its own: that of the second, which
/// [`failure`] follows, and which was a reference before.
pub(super) fn owns_result(changed: Changed<'_>) -> bool {
    let Changed {
        original,
        item,
        function,
        ..
    } = changed;
    let is_new = |name: &str| {
        let mut known = original.program.functions();
        capi::effects(name).is_none() && !known.any(|(_, known)| known.name == name)
    };
    let is_reference = original.callees.returns(&function.name) == Some(Returns::New)
        || original.is_method(item, function);
    let mut called = calls(function);
    is_reference && has_section(function) && called.any(|(_, name)| is_new(name))
}

/// A field that the first half reads for the second.
struct Read {
    /// The struct and the field.
    field: (String, String),
    /// The position of the parameter that gets it,
    param: usize,
    /// and whether the first half holds a reference to it.
    is_held: bool,
}

/// The fields that the first half reads; `None` if it does anything else but call the second, release
/// what it holds and return the result.
fn read_before(split: &Split<'_>, first: &Function) -> Option<Vec<Read>> {
    let tree = &first.tree;
    let own = Own::new(first, 0)?;
    let is_plain = |stmt: &StmtId| match &tree.stmt(*stmt).kind {
        StmtKind::Decl(decls) => decls.iter().all(|decl| decl.init.is_none()),
        _ => false,
    };
    // `Py_END_CRITICAL_SECTION();` ends in a `;` of its own.
    let is_null = |stmt: &StmtId| matches!(tree.stmt(*stmt).kind, StmtKind::Null);
    let whole = |stmts: Vec<StmtId>| stmts.into_iter().filter(|stmt| !is_null(stmt));
    let stmts: Vec<StmtId> = whole(own_stmts(first)).collect();
    let declared = stmts.iter().take_while(|stmt| is_plain(stmt)).count();
    let [section, called, behind @ ..] = &stmts[declared..] else {
        return None;
    };
    let StmtKind::Block(section) = &tree.stmt(*section).kind else {
        return None;
    };
    let section: Vec<StmtId> = whole(section.clone()).collect();
    let [_, begin, reads @ .., end] = &section[..] else {
        return None;
    };
    let (begun, args) = tree.call(expr_of(first, *begin)?)?;
    let (ended, _) = tree.call(expr_of(first, *end)?)?;
    let is_section = begins_section(begun) && ended == "PyCriticalSection_End";
    if !is_section || !own.is_object(tree, *args.get(1)?) {
        return None;
    }
    let handed = handed(split, first, *called)?;
    let mut found = Vec::new();
    let mut held: Vec<LocalId> = Vec::new();
    for &stmt in reads {
        let (to, value) = assignment(first, stmt)?;
        let (place, is_held) = match tree.call(value) {
            Some(("Py_XNewRef", [place])) => (tree.without_casts(*place), true),
            Some(_) => return None,
            None => (value, false),
        };
        let (ty, field) = own.field(tree, place)?;
        let param = handed.iter().position(|&local| local == to)?;
        held.extend(is_held.then_some(to));
        found.push(Read {
            field: (ty.to_owned(), field.to_owned()),
            param,
            is_held,
        });
    }
    let count = first.params.len();
    let are_given = (count..handed.len()).all(|at| found.iter().any(|read| read.param == at));
    let (released_behind, result) = match behind.split_last() {
        Some((last, rest)) if !first.ret.is_void() => (rest, Some(*last)),
        _ => (behind, None),
    };
    let gone: Option<Vec<LocalId>> = released_behind
        .iter()
        .map(|&stmt| released(tree, stmt))
        .collect();
    let is_end = result.is_none_or(|stmt| gives_back(first, stmt, *called));
    (found.len() == handed.len() - count && are_given && gone? == held && is_end).then_some(found)
}

/// The variables that the call of the second half gets: the parameters of the function, and others.
fn handed(split: &Split<'_>, first: &Function, stmt: StmtId) -> Option<Vec<LocalId>> {
    let tree = &first.tree;
    let call = match first.ret.is_void() {
        true => expr_of(first, stmt)?,
        false => assignment(first, stmt)?.1,
    };
    let (name, args) = tree.call(call)?;
    let handed: Option<Vec<LocalId>> = args.iter().map(|&arg| local(tree, arg)).collect();
    let handed = handed.filter(|handed| handed.starts_with(&first.params))?;
    let is_body = name == split.body.name && handed.len() == split.body.params.len();
    let is_set = |param: &LocalId| !assigned(tree, *param).is_empty();
    (is_body && !first.params.iter().any(is_set)).then_some(handed)
}

/// Whether a statement returns what the call gave that `called` stores.
fn gives_back(first: &Function, stmt: StmtId, called: StmtId) -> bool {
    let StmtKind::Return(Some(value)) = first.tree.stmt(stmt).kind else {
        return false;
    };
    let result = assignment(first, called).map(|(to, _)| to);
    result.is_some() && local(&first.tree, value) == result
}

fn expr_of(function: &Function, stmt: StmtId) -> Option<ExprId> {
    match function.tree.stmt(stmt).kind {
        StmtKind::Expr(expr) => Some(expr),
        _ => None,
    }
}

/// The variable and the value of `variable = value;`.
fn assignment(function: &Function, stmt: StmtId) -> Option<(LocalId, ExprId)> {
    let tree = &function.tree;
    match tree.expr(expr_of(function, stmt)?).kind {
        ExprKind::Assign { op: None, lhs, rhs } => Some((tree.as_local(lhs)?, rhs)),
        _ => None,
    }
}

/// Where a field begins, where it ends, and the name that it has now.
type Places<'t> = BTreeMap<u32, (u32, &'t str)>;

/// Whether the second half is the function, but for the names in place of the fields, which nothing
/// sets.
fn is_same_but(split: &Split<'_>, read: &[Read], old_files: &FileSet, files: &FileSet) -> bool {
    let (old, body) = (split.old, split.body);
    let Some(own) = Own::new(old, 0) else {
        return false;
    };
    let name = |read: &Read| &*body.tree.local(body.params[read.param]).name;
    let mut places = Places::new();
    for expr in old.tree.expr_ids() {
        let field = own.field(&old.tree, expr);
        let field = field.map(|(ty, field)| (ty.to_owned(), field.to_owned()));
        if let Some(read) = read.iter().find(|read| Some(&read.field) == field.as_ref()) {
            let range = old.tree.expr(expr).range;
            places.insert(range.start, (range.end, name(read)));
        }
    }
    let gone = unused(old, &own, &places);
    let whole = old.tree.stmt(old.body).range;
    let mut expected: Vec<&[u8]> = Vec::new();
    let mut start = whole.start;
    while start < whole.end {
        let next = TokenRange {
            start,
            end: start + 1,
        };
        start = match (gone.get(&start), places.get(&start)) {
            (Some(&end), _) => end,
            (None, Some(&(end, name))) => {
                expected.push(name.as_bytes());
                end
            }
            (None, None) => {
                expected.extend(words(split.old_item, old_files, next));
                next.end
            }
        };
    }
    let now = words(split.item, files, body.tree.stmt(body.body).range);
    expected == now
        && !read
            .iter()
            .any(|read| is_set(body, body.params[read.param]))
}

/// Declarations of names of the object that nothing but the fields in `places` uses: where each begins,
/// and where it ends.
fn unused(old: &Function, own: &Own, places: &Places<'_>) -> BTreeMap<u32, u32> {
    let tree = &old.tree;
    let is_read = |range: TokenRange| {
        let mut read = places.iter();
        read.any(|(&start, &(end, _))| TokenRange { start, end }.contains(range))
    };
    let is_gone = |local: LocalId| {
        let named = tree.expr_ids();
        let mut named = named
            .filter(|&at| tree.as_local(at) == Some(local))
            .peekable();
        named.peek().is_some() && named.all(|at| is_read(tree.expr(at).range))
    };
    let declared = tree.stmts.iter().filter(|stmt| match &stmt.kind {
        StmtKind::Decl(decls) => match &decls[..] {
            [decl] => {
                let is_object =
                    matches!(decl.init, Some(Init::Expr(value)) if own.is_object(tree, value));
                is_object && is_gone(decl.local)
            }
            _ => false,
        },
        _ => false,
    });
    declared
        .map(|stmt| (stmt.range.start, stmt.range.end))
        .collect()
}

/// Whether a variable is set, or its address is taken.
fn is_set(function: &Function, variable: LocalId) -> bool {
    let tree = &function.tree;
    tree.expr_ids().any(|expr| {
        let place = match tree.expr(expr).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => Some(operand),
            _ => tree.changed(expr),
        };
        place.is_some_and(|place| tree.as_local(place) == Some(variable))
    })
}
