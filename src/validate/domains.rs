//! Calls that allocate or release memory and that a change renamed: what one gives, the other must
//! still be able to take.
//!
//! Pointers are told apart by their names alone: a variable of a function, a field of a `struct`, a
//! variable of the file, and what is assigned from one to the other.

use std::collections::BTreeMap;

use super::Failure;
use super::original::Original;
use super::proof::{Failed, calls};
use crate::ast::{ExprId, ExprKind, Function, Init, Name, Tree};
use crate::edit::Applied;
use crate::preprocess::Spelling;
use crate::program::{ProgramItem, Types};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A function that deals with memory, by the parts of its name: `PyObject_`, `Malloc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allocator<'n> {
    domain: &'n str,
    act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Malloc,
    Calloc,
    Realloc,
    Free,
}

impl<'n> Allocator<'n> {
    fn of(name: &'n str) -> Option<Self> {
        let starts = ["PyObject_", "PyMem_Raw", "PyMem_"].iter();
        let (domain, act) = starts
            .filter(|start| name.starts_with(**start))
            .map(|start| name.split_at(start.len()))
            .next()
            .unwrap_or(("", name));
        let act = match act.to_ascii_lowercase().as_str() {
            "malloc" => Act::Malloc,
            "calloc" => Act::Calloc,
            "realloc" => Act::Realloc,
            "free" => Act::Free,
            "del" if !domain.is_empty() => Act::Free,
            _ => return None,
        };
        Some(Self { domain, act })
    }
}

/// A call of the original with the name that it has in the original and in the result.
struct Call {
    function: String,
    before: String,
    after: String,
    place: (FileId, ByteSpan),
    /// What its memory is kept in.
    gives: Option<Holder>,
    /// Whose memory it takes.
    takes: Option<Holder>,
}

impl Call {
    fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// What keeps a pointer, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// A variable of the function of this number.
    Local(usize, String),
    Global(String),
    /// A field, with the name of its `struct` where that is known.
    Field(Option<String>, String),
}

/// The pairs of calls that agreed on the allocator and no longer do, and calls that became
/// something else than the same call of another allocator.
pub(super) fn failures(
    original: &Original<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let mut package = Package {
        applied,
        types: Types::default(),
        calls: Vec::new(),
        same: Groups::default(),
    };
    let mut functions = original.program.functions();
    if !functions.any(|(item, function)| package.changes(item, function)) {
        return Vec::new();
    }
    package.types = Types::new(original.program);
    for (number, (item, function)) in original.program.functions().enumerate() {
        package.read(number, item, function);
    }
    package.failures()
}

struct Package<'a> {
    applied: &'a BTreeMap<FileId, Applied>,
    types: Types<'a>,
    calls: Vec<Call>,
    same: Groups,
}

impl Package<'_> {
    /// Whether the change gives a call of this function another allocator.
    fn changes(&self, item: &ProgramItem, function: &Function) -> bool {
        self.applied.contains_key(&item.place.0)
            && calls(function).any(|(call, name)| {
                Allocator::of(name).is_some()
                    && place(item, &function.tree, call)
                        .and_then(|place| self.name_after(place))
                        .is_some_and(|after| after != name)
            })
    }

    /// The allocator that the result calls where the word at `place` stood; `None` if it is gone.
    fn name_after(&self, (file, span): (FileId, ByteSpan)) -> Option<String> {
        let applied = self.applied.get(&file)?;
        let to_new = |at: u32| applied.map.to_new(ByteOffset(at)).map(ByteOffset::index);
        let first = (0..span.start().0)
            .rev()
            .find_map(to_new)
            .map_or(0, |at| at + 1);
        // The end of the original has a place in the result, so this ends.
        let last = (span.end().0..=u32::MAX).find_map(to_new)?;
        let text = String::from_utf8_lossy(applied.bytes.get(first..last)?);
        let mut words = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        words
            .find(|word| Allocator::of(word).is_some())
            .map(str::to_owned)
    }

    fn read(&mut self, number: usize, item: &ProgramItem, function: &Function) {
        let tree = &function.tree;
        let holders = Holders {
            number,
            tree,
            types: &self.types,
        };
        let stores = holders.stores();
        for (holder, value) in &stores {
            if let Some(from) = holders.of(*value) {
                self.same.join(holder, &from);
            }
        }
        for (call, name) in calls(function) {
            let (Some(allocator), Some(place)) = (Allocator::of(name), place(item, tree, call))
            else {
                continue;
            };
            let after = if self.applied.contains_key(&place.0) {
                self.name_after(place)
            } else {
                Some(name.to_owned())
            };
            // A call that is gone takes part no more.
            let Some(after) = after else { continue };
            let first = match &tree.expr(call).kind {
                ExprKind::Call { args, .. } => args.first().copied(),
                _ => None,
            };
            let kept = stores.iter().find(|(_, value)| bare(tree, *value) == call);
            self.calls.push(Call {
                function: function.name.clone(),
                before: name.to_owned(),
                after,
                place,
                gives: kept.map(|(holder, _)| holder.clone()),
                takes: first
                    .filter(|_| matches!(allocator.act, Act::Realloc | Act::Free))
                    .and_then(|first| holders.of(first)),
            });
        }
    }

    fn failures(&mut self) -> Vec<Failed> {
        let mut failures: Vec<Failed> = self.calls.iter().filter_map(other_act).collect();
        let calls = std::mem::take(&mut self.calls);
        let mut takers: BTreeMap<Holder, Vec<&Call>> = BTreeMap::new();
        for call in &calls {
            if let Some(holder) = &call.takes {
                takers.entry(self.same.root(holder)).or_default().push(call);
            }
        }
        for giver in &calls {
            let Some(holder) = &giver.gives else { continue };
            let takers = takers.get(&self.same.root(holder)).into_iter().flatten();
            failures.extend(takers.filter_map(|taker| torn(giver, taker)));
        }
        failures
    }
}

/// Where the name of the called function is spelled, which may be in the body of a macro.
fn place(item: &ProgramItem, tree: &Tree, call: ExprId) -> Option<(FileId, ByteSpan)> {
    let ExprKind::Call { callee, .. } = tree.expr(call).kind else {
        return None;
    };
    let token = tree.expr(callee).range.start;
    match item.tokens.tokens.get(token as usize)?.spelling {
        Spelling::File(file, span) => Some((file, span)),
        Spelling::Synthetic(_) => None,
    }
}

/// `PyObject_Malloc` that became `PyMem_Free`.
fn other_act(call: &Call) -> Option<Failed> {
    let act = |name| Allocator::of(name).map(|allocator| allocator.act);
    (act(&call.before) != act(&call.after)).then(|| {
        let (before, after, function) = (&call.before, &call.after, &call.function);
        failed(
            call,
            format!("in `{function}`, `{before}` became `{after}`"),
        )
    })
}

/// Two calls for the same pointer that used the same allocator and use two now.
fn torn(giver: &Call, taker: &Call) -> Option<Failed> {
    let agree = |a, b| Allocator::of(a).map(|a| a.domain) == Allocator::of(b).map(|b| b.domain);
    if !agree(&giver.before, &taker.before) || agree(&giver.after, &taker.after) {
        return None;
    }
    let changed = if giver.is_changed() { giver } else { taker };
    let (gives, takes) = (&giver.after, &taker.after);
    Some(failed(
        changed,
        format!(
            "memory that `{gives}` allocates in `{}` is passed to `{takes}` in `{}`",
            giver.function, taker.function
        ),
    ))
}

fn failed(call: &Call, reason: String) -> Failed {
    Failed {
        file: call.place.0,
        original: vec![call.place.1],
        result: call.place.1,
        failure: Failure::Wrong(reason),
    }
}

/// What keeps pointers in one function.
struct Holders<'a> {
    number: usize,
    tree: &'a Tree,
    types: &'a Types<'a>,
}

impl Holders<'_> {
    fn of(&self, expr: ExprId) -> Option<Holder> {
        match &self.tree.expr(bare(self.tree, expr)).kind {
            ExprKind::Name(Name::Local(local)) => {
                let name = self.tree.local(*local).name.clone();
                Some(Holder::Local(self.number, name))
            }
            // Not `NULL`, which says nothing of where a pointer came from.
            ExprKind::Name(Name::Global(name)) if self.types.is_variable(name) => {
                Some(Holder::Global(name.to_string()))
            }
            ExprKind::Member { base, field, arrow } => Some(Holder::Field(
                self.types.owner(self.tree, *base, *arrow),
                field.to_string(),
            )),
            _ => None,
        }
    }

    /// What is assigned to what, in declarations as well.
    fn stores(&self) -> Vec<(Holder, ExprId)> {
        let mut stores = Vec::new();
        for expr in &self.tree.exprs {
            if let ExprKind::Assign { op: None, lhs, rhs } = expr.kind {
                stores.extend(self.of(lhs).map(|holder| (holder, rhs)));
            }
        }
        for decl in self.tree.declarations() {
            if let Some(Init::Expr(value)) = decl.init {
                let name = self.tree.local(decl.local).name.clone();
                stores.push((Holder::Local(self.number, name), value));
            }
        }
        stores
    }
}

/// The expression without the casts and the assignments around it: of `(char *)(a = b)` that is
/// `b`.
fn bare(tree: &Tree, expr: ExprId) -> ExprId {
    let mut expr = expr;
    loop {
        expr = match tree.expr(expr).kind {
            ExprKind::Cast { operand, .. } => operand,
            ExprKind::Assign { op: None, rhs, .. } => rhs,
            _ => return expr,
        };
    }
}

/// Holders that may hold the same pointer.
#[derive(Debug, Default)]
struct Groups {
    parents: BTreeMap<Holder, Holder>,
}

impl Groups {
    fn root(&self, holder: &Holder) -> Holder {
        let mut at = holder;
        while let Some(parent) = self.parents.get(at) {
            at = parent;
        }
        at.clone()
    }

    fn join(&mut self, a: &Holder, b: &Holder) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parents.insert(a.clone().max(b.clone()), a.min(b));
        }
    }
}
