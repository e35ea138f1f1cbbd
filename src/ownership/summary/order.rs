//! Which functions are summed up, callees first.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::graph;
use crate::ast::{ExprId, ExprKind, Function, LocalId, StmtKind};
use crate::cfg::Cfg;
use crate::program::Program;

/// A function that others call.
pub(crate) struct Called<'p> {
    pub(crate) name: &'p str,
    /// Its definitions.
    pub(crate) variants: Vec<(&'p Function, Cfg)>,
    /// Which of the list call it, itself included where it does.
    pub(crate) callers: BTreeSet<usize>,
}

/// The functions of the package that are called, directly or not, by those that call one of
/// `names`; each behind its callees, but where they call each other.
pub(crate) fn callees_first<'p>(program: &'p Program<'_>, names: &[&str]) -> Vec<Called<'p>> {
    let mut definitions: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
    for (_, function) in program.functions() {
        definitions
            .entry(&function.name)
            .or_default()
            .push(function);
    }
    let callers = program.functions().map(|(_, function)| function);
    let callers = callers.filter(|function| calls(function, names));
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for root in callers.flat_map(callees) {
        visit(root, &definitions, &mut seen, &mut order);
    }
    let mut callers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, name) in order.iter().enumerate() {
        for callee in definitions[name].iter().copied().flat_map(callees) {
            callers.entry(callee).or_default().insert(at);
        }
    }
    let called = order.into_iter().map(|name| Called {
        name,
        variants: definitions[name]
            .iter()
            .map(|&function| (function, graph(function)))
            .collect(),
        callers: callers.remove(name).unwrap_or_default(),
    });
    called.collect()
}

/// The functions of the package that return what one of `names` gives, or one of each other: who
/// calls them may be changed with them.
///
/// ```c
/// static PyObject *find(PyObject *key) { return PyDict_GetItem(cache, key); }
/// ```
pub(super) fn lenders<'p>(program: &'p Program<'_>, names: &[&'p str]) -> BTreeSet<&'p str> {
    let mut known: FxHashSet<&str> = names.iter().copied().collect();
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for (_, function) in program.functions() {
            let is_open = !found.contains(&*function.name) && function.ret.is_py_object_pointer();
            if is_open
                && callees(function).any(|name| known.contains(name))
                && hands_on(function, &known)
            {
                found.insert(&*function.name);
            }
        }
        if found.len() == before {
            return found;
        }
        known.extend(&found);
    }
}

/// Whether the function returns the result of a call of one of `names`, perhaps by a variable.
fn hands_on(function: &Function, names: &FxHashSet<&str>) -> bool {
    let tree = &function.tree;
    let mut holders: BTreeSet<LocalId> = BTreeSet::new();
    let gives = |value: ExprId, holders: &BTreeSet<LocalId>| {
        let value = tree.without_casts(value);
        match tree.expr(value).kind {
            ExprKind::Call { callee, .. } => tree
                .callee_name(callee)
                .is_some_and(|name| names.contains(name)),
            _ => tree
                .as_local(value)
                .is_some_and(|local| holders.contains(&local)),
        }
    };
    loop {
        let stores = tree.stores().filter(|&(_, value)| gives(value, &holders));
        let more: Vec<LocalId> = stores.map(|(local, _)| local).collect();
        let before = holders.len();
        holders.extend(more);
        if holders.len() == before {
            break;
        }
    }
    tree.stmts.iter().any(|stmt| match stmt.kind {
        StmtKind::Return(Some(value)) => gives(value, &holders),
        _ => false,
    })
}

/// Adds what `root` calls, then `root` itself. Without recursion: chains of calls may be long.
fn visit<'p>(
    root: &'p str,
    definitions: &BTreeMap<&'p str, Vec<&'p Function>>,
    seen: &mut BTreeSet<&'p str>,
    order: &mut Vec<&'p str>,
) {
    enum Step<'p> {
        Enter(&'p str),
        Leave(&'p str),
    }
    let mut steps = vec![Step::Enter(root)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Leave(name) => order.push(name),
            Step::Enter(name) => {
                let Some(variants) = definitions.get(name).filter(|_| seen.insert(name)) else {
                    continue;
                };
                steps.push(Step::Leave(name));
                let called = variants.iter().copied().flat_map(callees);
                steps.extend(called.map(Step::Enter));
            }
        }
    }
}

/// Whether any function of the package calls one of `names`.
pub(super) fn calls_any(program: &Program<'_>, names: &[&str]) -> bool {
    program
        .functions()
        .any(|(_, function)| calls(function, names))
}

fn calls(function: &Function, names: &[&str]) -> bool {
    callees(function).any(|name| names.contains(&name))
}

fn callees(function: &Function) -> impl Iterator<Item = &str> {
    let exprs = function.tree.exprs.iter();
    exprs.filter_map(|expr| match expr.kind {
        ExprKind::Call { callee, .. } => function.tree.callee_name(callee),
        _ => None,
    })
}
