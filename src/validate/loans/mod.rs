//! Structs of a caller that own from now on what another function stores in their fields.
//!
//! ```c
//! memset(&args, 0, sizeof(args));
//! fill(dict, &args.filter);                /* args.filter.tag = a reference of its own */
//! run(&args);
//! Py_XDECREF(args.filter.tag);             /* comes, on every path behind the call */
//! ```

mod filler;
mod owner;
mod pointers;

use std::collections::{BTreeMap, BTreeSet};

use self::pointers::Lent;
use super::Failure;
use super::original::Original;
use super::proof::{Failed, calls, is_inserted, original_span};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};
use crate::edit::Applied;
use crate::program::{Body, CallIndex, CallSite, Program, ProgramItem, Types};
use crate::source::FileId;

/// A variable of the function and the names of fields behind it.
type Path = (LocalId, Vec<Box<str>>);

/// A struct with fields that the edits release.
struct Owner<'a> {
    item: &'a ProgramItem,
    function: &'a Function,
    applied: &'a Applied,
    at: Path,
    /// The fields, and the releases of each.
    fields: BTreeMap<Box<str>, Vec<ExprId>>,
}

/// The functions of `result` with such a struct which may not be released once and for all.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let changed = result.functions().filter_map(|(item, function)| {
        let applied = applied.get(&item.place.0)?;
        Some(owners_of(item, function, applied))
    });
    let owners: Vec<Owner<'_>> = changed.flatten().collect();
    if owners.is_empty() {
        return Vec::new();
    }
    let index = CallIndex::new(original.program);
    let types = Types::new(original.program);
    let wrong = |owner: &Owner<'_>| {
        let Some((name, param, call)) = owner.filling(result) else {
            return Some("is not filled by one function");
        };
        let is_filled_so = |other: &&Owner<'_>| {
            let filling = other.filling(result);
            filling.is_some_and(|(other, at, _)| (other, at) == (name, param))
        };
        let callers = owners.iter().filter(is_filled_so);
        let known: BTreeSet<&str> = callers.map(|it| it.function.name.as_str()).collect();
        let function_of = |site: &CallSite| match &original.program.items[site.item.0 as usize].body
        {
            Some(Body::Function(function)) => Some(function.name.as_str()),
            _ => None,
        };
        let mut sites = index.calls_to(name).iter();
        let fills = |(item, function): (&ProgramItem, &Function)| {
            let applied = applied.get(&item.place.0);
            applied.is_some_and(|it| filler::is_right(item, function, it, param, &owner.fields))
        };
        let mut fillers = result
            .functions()
            .filter(|(_, it)| it.name == *name)
            .peekable();
        if index.is_mentioned(name)
            || !sites.all(|site| function_of(site).is_some_and(|it| known.contains(it)))
        {
            Some("is filled by a function that has other callers")
        } else if fillers.peek().is_none()
            || !fillers.all(fills)
            || filler::drops_a_reference(original, result, name)
        {
            Some("gets something other than new references")
        } else if owner::is_touched(original, result, applied, &types, owner, name) {
            Some("is also set or counted elsewhere")
        } else if let Some(wrong) = owner.changed(original, &index, &types, name) {
            Some(wrong)
        } else if !owner.is_released_once(call) {
            Some("is not released exactly once on every path")
        } else {
            None
        }
    };
    let failed = owners.iter();
    failed
        .filter_map(|owner| Some(owner.failed(wrong(owner)?)))
        .collect()
}

fn owners_of<'a>(
    item: &'a ProgramItem,
    function: &'a Function,
    applied: &'a Applied,
) -> Vec<Owner<'a>> {
    let tree = &function.tree;
    let mut found: BTreeMap<Path, BTreeMap<Box<str>, Vec<ExprId>>> = BTreeMap::new();
    let mut known: BTreeSet<Path> = BTreeSet::new();
    for (call, name) in calls(function).filter(|(_, name)| name.ends_with("DECREF")) {
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            continue;
        };
        let Some((local, mut fields)) = args.first().and_then(|&arg| path(tree, arg)) else {
            continue;
        };
        let Some(field) = fields.pop() else {
            continue;
        };
        let at = (local, fields);
        match name == "Py_XDECREF" && is_inserted(item, applied, tree.expr(call).range.start) {
            true => found
                .entry(at)
                .or_default()
                .entry(field)
                .or_default()
                .push(call),
            // What the code releases itself is no loan.
            false => drop(known.insert(at)),
        }
    }
    found.retain(|at, _| !known.contains(at));
    let owner = |(at, fields)| Owner {
        item,
        function,
        applied,
        at,
        fields,
    };
    found.into_iter().map(owner).collect()
}

impl Owner<'_> {
    fn failed(&self, what: &str) -> Failed {
        let name = &self.function.tree.local(self.at.0).name;
        let (file, place) = self.item.place;
        let reason = format!("in `{}`, `{name}` {what}", self.function.name);
        Failed {
            file,
            original: vec![original_span(self.applied, place)],
            result: place,
            failure: Failure::Wrong(reason),
        }
    }

    /// What may become of the fields before they are released.
    fn changed(
        &self,
        original: &Original<'_>,
        index: &CallIndex,
        types: &Types<'_>,
        filler: &str,
    ) -> Option<&'static str> {
        let lent = self.lent(original, index, types, filler);
        if !lent.as_ref().is_some_and(Lent::is_left_alone) {
            return Some("may be changed by code that gets its address");
        }
        let may_detach = lent.is_some_and(|lent| lent.may_detach());
        may_detach.then_some(
            "may be released while the thread is detached, or its references may be counted",
        )
    }

    /// What to follow of it in the package as it was; `None` if the struct is not known.
    fn lent<'a>(
        &'a self,
        original: &'a Original<'_>,
        index: &'a CallIndex,
        types: &'a Types<'a>,
        filler: &'a str,
    ) -> Option<Lent<'a>> {
        let tree = &self.function.tree;
        let mut parts: BTreeSet<&str> = self.fields.keys().map(|field| &**field).collect();
        let mut kinds = BTreeSet::new();
        let release = *self.fields.values().flatten().next()?;
        let ExprKind::Call { args, .. } = &tree.expr(release).kind else {
            return None;
        };
        let mut place = *args.first()?;
        while let ExprKind::Member { base, field, .. } = &tree.expr(place).kind {
            parts.insert(field);
            kinds.insert(types.key(types.of(tree, *base)?)?);
            place = *base;
        }
        kinds
            .iter()
            .all(|kind| types.is_struct(kind))
            .then(|| Lent {
                program: original.program,
                index,
                types,
                owner: &self.function.name,
                variable: &tree.local(self.at.0).name,
                filler,
                parts,
                kinds,
            })
    }

    /// The only call that gets the address of the struct and sets fields of it: what it calls, and
    /// as which argument.
    fn filling(&self, result: &Program<'_>) -> Option<(&str, usize, ExprId)> {
        let tree = &self.function.tree;
        let mut found = calls(self.function).filter_map(|(call, name)| {
            let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                return None;
            };
            let is_it = |&arg: &ExprId| match tree.expr(arg).kind {
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } => path(tree, operand).as_ref() == Some(&self.at),
                _ => false,
            };
            let param = args.iter().position(is_it)?;
            let mut called = result.functions_named(name);
            let sets = called.any(|(_, it)| filler::sets(it, param, &self.fields));
            sets.then_some((name, param, call))
        });
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }
}

/// The place in a variable that an expression names.
fn path(tree: &Tree, expr: ExprId) -> Option<Path> {
    match &tree.expr(expr).kind {
        ExprKind::Name(Name::Local(local)) => Some((*local, Vec::new())),
        ExprKind::Member {
            base,
            field,
            arrow: false,
        } => {
            let (local, mut fields) = path(tree, *base)?;
            fields.push(field.clone());
            Some((local, fields))
        }
        _ => None,
    }
}
