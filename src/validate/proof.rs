//! What is wrong with the functions of a result.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::before::Before;
use super::changed::Changed;
use super::original::Original;
use super::words::{claim, describe};
use super::{
    Failure, acquired, answered, apart, atomics, balanced, borrowed, braces, cleared, continued,
    contract, domains, freed, kept, left, loans, locked, made, reentrant, saved, statics, still,
    structure, twice, undeclared, undone, unguarded, unset, variants, wrapper,
};
use crate::ast::{ExprId, ExprKind, Function};
use crate::capi::{self, Absent, Form, REPLACEMENTS};
use crate::cfg;
use crate::edit::Applied;
use crate::ownership::track::{self, Callees, Gives, Origin, Problem, Report, Seed, Trouble};
use crate::preprocess::Spelling;
use crate::program::{Gap, Program, ProgramItem};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A part of the result that is not proven.
pub(super) struct Failed {
    pub(super) file: FileId,
    /// Where it came from in the original, more and more of it: the fixes in the first span that
    /// has any brought it about.
    pub(super) original: Vec<ByteSpan>,
    /// Where it is in the result.
    pub(super) result: ByteSpan,
    pub(super) failure: Failure,
}

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// Its variables are its own.
    Rule,
    /// It may set any variable of the file.
    Person,
}

/// All that is not proven of `result`, which `applied` tells how it came from `original`.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
    author: Author,
) -> Vec<Failed> {
    let mut failures = Vec::new();
    for gap in &result.gaps {
        if let Some(applied) = applied.get(&gap.file)
            && !is_old(original.program, gap)
        {
            failures.push(Failed {
                file: gap.file,
                original: vec![original_span(applied, gap.span)],
                result: gap.span,
                failure: Failure::Wrong(format!("the result does not parse ({})", gap.reason)),
            });
        }
    }
    let handing = contract::changed(original, result, applied);
    let functions: Vec<_> = result.functions().collect();
    failures.par_extend(functions.par_iter().flat_map_iter(|&(item, function)| {
        let (file, place) = item.place;
        let changed = applied.get(&file).map(|applied| Changed {
            original,
            item,
            function,
            applied,
            handing: &handing,
        });
        let failures = changed.map(|changed| (changed, of_function(changed, result, author)));
        failures.into_iter().flat_map(move |(changed, failures)| {
            let span = original_span(changed.applied, place);
            failures.into_iter().map(move |(call, failure)| Failed {
                file,
                original: call.into_iter().chain([span]).collect(),
                result: place,
                failure,
            })
        })
    }));
    failures.extend(contract::failures(original, result, applied, &handing));
    failures.extend(variants::failures(original, result, applied, &handing));
    failures.extend(domains::failures(original, applied));
    failures.extend(twice::failures(original, result, applied));
    if author == Author::Rule {
        failures.extend(statics::failures(original, result, applied));
        failures.extend(atomics::failures(original, result, applied));
        failures.extend(kept::failures(original, result, applied));
        failures.extend(loans::failures(original, result, applied));
        failures.extend(structure::failures(original, result, applied));
        failures.extend(braces::failures(original, applied));
        failures.extend(continued::failures(result, applied));
        failures.extend(wrapper::failures(original, result, applied));
    }
    failures
}

/// What is not proven of a function, with the call in the original if it is about that alone.
fn of_function(
    changed: Changed<'_>,
    result: &Program<'_>,
    author: Author,
) -> Vec<(Option<ByteSpan>, Failure)> {
    let Changed {
        original,
        item,
        function,
        applied,
        ..
    } = changed;
    let (misplaced, undone, still, cleared, answered, unguarded) = match author {
        Author::Rule => (
            undeclared::undeclared(original, result, item, function, applied)
                .or_else(|| undeclared::declared_twice(item, function, applied))
                .or_else(|| undeclared::unused(item, function, applied))
                .or_else(|| saved::wrong(original, item, function, applied))
                .or_else(|| unset::wrong(changed)),
            undone::failures(changed, result.files),
            still::failure(changed),
            cleared::failure(changed),
            answered::failure(changed),
            [unguarded::failures(changed), reentrant::failures(changed)].concat(),
        ),
        // Sections of a person may be for something else.
        Author::Person => (None, Vec::new(), None, None, None, Vec::new()),
    };
    let wrong = misplaced.or_else(|| balanced::wrong(item, function, applied));
    let wrong = wrong.map(|reason| (None, Failure::Wrong(reason)));
    let found = wrong.into_iter().chain(unreleased(changed));
    let found = found.chain(made::failure(changed)).chain(still);
    let found = found.chain(cleared).chain(locked::failure(changed));
    let found = found.chain(borrowed::failure(changed)).chain(undone);
    let found = found.chain(freed::failure(changed)).chain(answered);
    let found = found.chain(left::failure(changed));
    found.chain(unguarded).collect()
}

/// What is wrong with the references that the edits brought into a function, with the call in the
/// original if it is a doubt about that alone. What is wrong may be the doing of a fix beside it.
fn unreleased(changed: Changed<'_>) -> Vec<(Option<ByteSpan>, Failure)> {
    let Changed {
        original,
        item,
        function,
        applied,
        handing,
    } = changed;
    let seeds = seeds(item, function, applied, handing);
    if seeds.is_empty() {
        return Vec::new();
    }
    let before = LazyCell::new(|| Before::new(changed));
    let counts = |trouble: &Trouble| {
        let seed = &seeds[trouble.seed];
        let is_old = || trouble.problem == Problem::Leak && changed.forgets_no_more(seed);
        let is_owned = || trouble.problem == Problem::MayOutlive && acquired::owns_result(changed);
        is_new(item, function, applied, trouble)
            && !is_old()
            && !before.is_same(trouble)
            && !before.only_lends(seed, trouble)
            && !is_owned()
    };
    let Report::Complete(troubles) = follow(function, &seeds, original.callees, &counts) else {
        let reason = "each reference is released exactly once (the function has too many paths for \
                      a proof)";
        return vec![(None, Failure::Unknown(reason.into()))];
    };
    if troubles.is_empty() {
        return Vec::new();
    }
    if apart::is_balanced(changed, &seeds, &troubles) {
        return Vec::new();
    }
    let mut all = troubles.iter();
    if let Some(trouble) = all.find(|t| before.at(t).is_none() && !t.problem.is_doubt()) {
        let reason = describe(function, &seeds, trouble);
        return vec![(changed.ended_late(trouble), Failure::Wrong(reason))];
    }
    let mut first: BTreeMap<usize, &Trouble> = BTreeMap::new();
    for trouble in &troubles {
        first.entry(trouble.seed).or_insert(trouble);
    }
    let doubts = first.into_values().map(|trouble| {
        let old = before.at(trouble).filter(|_| !trouble.problem.is_doubt());
        let reason = old.map_or_else(
            || claim(function, &seeds, trouble),
            |at| {
                let line = original.program.files.get(item.place.0).position(at).line.0;
                let what = describe(function, &seeds, trouble);
                format!("{what}, as in the original code (line {line}), and this is intended")
            },
        );
        let call = changed.call_of(&seeds[trouble.seed]);
        (call, Failure::Unknown(reason.into()))
    });
    doubts.collect()
}

/// The call that made a reference.
pub(super) fn span_of(item: &ProgramItem, function: &Function, seed: &Seed) -> Option<ByteSpan> {
    let Origin::Call(call) = seed.origin else {
        return None;
    };
    let (_, span) = item.tokens.file_span(function.tree.expr(call).range)?;
    Some(span)
}

/// What is wrong with the seeds, of what `counts`.
pub(super) fn follow(
    function: &Function,
    seeds: &[Seed],
    callees: &dyn Callees,
    counts: &dyn Fn(&Trouble) -> bool,
) -> Report {
    let graph = graph(function);
    track::run(&graph, &function.tree, seeds, callees, counts)
}

/// The lookups of the original, and its calls of functions that give new references since.
pub(super) fn borrowed_seeds(function: &Function, handing: &BTreeSet<String>) -> Vec<Seed> {
    let borrowed = |name: &str| REPLACEMENTS.iter().any(|row| row.borrowed == name);
    let calls = calls(function).filter(|(_, name)| borrowed(name) || handing.contains(*name));
    let seed = |call| Seed {
        origin: Origin::Call(call),
        gives: Gives::Result,
        owned: false,
    };
    calls.map(|(call, _)| seed(call)).collect()
}

/// All calls by name.
pub(super) fn calls(function: &Function) -> impl Iterator<Item = (ExprId, &str)> {
    let exprs = (0u32..).zip(&function.tree.exprs);
    exprs.filter_map(|(at, expr)| match expr.kind {
        ExprKind::Call { callee, .. } => Some((ExprId(at), function.tree.callee_name(callee)?)),
        _ => None,
    })
}

pub(super) fn graph(function: &Function) -> cfg::Cfg {
    cfg::build(function, &capi::never_returns)
}

/// Where the step begins at which a trouble shows; for what a macro makes, where it is used.
pub(super) fn start_of(
    item: &ProgramItem,
    function: &Function,
    trouble: &Trouble,
) -> Option<ByteOffset> {
    start_of_source(item, function, trouble.at?)
}

/// Where a step begins; for what a macro makes, where it is used.
pub(super) fn start_of_source(
    item: &ProgramItem,
    function: &Function,
    source: cfg::Source,
) -> Option<ByteOffset> {
    let range = match source {
        cfg::Source::Expr(id) => function.tree.expr(id).range,
        cfg::Source::Stmt(id) => function.tree.stmt(id).range,
    };
    if range.start >= range.end {
        return None;
    }
    let (file, span) = item.tokens.place(range).written_at();
    (file == item.place.0).then(|| span.start())
}

fn is_old(original: &Program<'_>, gap: &Gap) -> bool {
    original
        .gaps
        .iter()
        .any(|old| old.file == gap.file && old.function == gap.function)
}

/// The calls that hand out a reference of their own, but did not before: what the edits brought
/// in, those whose result goes to a variable that they brought in, and the functions `handing`.
pub(super) fn seeds(
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
    handing: &BTreeSet<String>,
) -> Vec<Seed> {
    let first = |call: ExprId| function.tree.expr(call).range.start;
    let is_inserted = |call: ExprId| is_inserted(item, applied, first(call));
    let is_new = |call| is_inserted(call) || is_of_new_use(item, applied, first(call));
    let kept = statics::Kept::new(function, &is_inserted);
    let seed = |(call, name): (ExprId, &str)| {
        let gives = match gives(name) {
            // What is kept is followed from where it was made.
            Some(_) if kept.uses.contains(&call) => return None,
            Some(gives) if is_new(call) => gives,
            None if kept.calls.contains(&call) => Gives::Result,
            _ if handing.contains(name) => Gives::Result,
            _ => return None,
        };
        Some(Seed {
            origin: Origin::Call(call),
            gives,
            owned: true,
        })
    };
    calls(function).filter_map(seed).collect()
}

fn gives(name: &str) -> Option<Gives> {
    match name {
        "Py_NewRef" => return Some(Gives::Always),
        "PyDict_Copy"
        | "PyList_AsTuple"
        | "PySequence_GetItem"
        | "PySequence_ITEM"
        | "PyCell_Get"
        | "PyErr_GetRaisedException"
        | "Py_XNewRef" => return Some(Gives::Result),
        _ => {}
    }
    let row = REPLACEMENTS.iter().find(|row| row.strong == name)?;
    Some(match row.form {
        Form::Return => Gives::Result,
        Form::Out { arg } if row.absent == Absent::Error => Gives::OutAlways(arg),
        Form::Out { arg } => Gives::Out(arg),
    })
}

/// Whether the token stands in text that an edit brought in, in whole or by its end.
pub(super) fn is_inserted(item: &ProgramItem, applied: &Applied, token: u32) -> bool {
    let token = item.tokens.tokens.get(token as usize);
    match token.map(|token| token.spelling) {
        Some(Spelling::File(file, span)) if file == item.place.0 => {
            let last = ByteOffset(span.end().0 - 1);
            [span.start(), last]
                .into_iter()
                .any(|at| applied.map.to_original(at).is_none())
        }
        _ => false,
    }
}

/// Whether a macro of another file makes the token, and its use holds text that an edit brought in:
/// `F(PyList_GetItemRef)(list, i)`, where `F` gives the name of a macro around the function.
fn is_of_new_use(item: &ProgramItem, applied: &Applied, token: u32) -> bool {
    let token = item.tokens.tokens.get(token as usize);
    let Some(expansion) = token.and_then(|token| token.expansion) else {
        return false;
    };
    let (file, used) = item.tokens.root(expansion).call;
    let mut bytes = (used.start().0..used.end().0).map(ByteOffset);
    file == item.place.0 && bytes.any(|at| applied.map.to_original(at).is_none())
}

/// A release of what is not there, in code that was there before, is not the fix's doing.
pub(super) fn is_new(
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
    trouble: &Trouble,
) -> bool {
    match trouble.at {
        Some(cfg::Source::Expr(at)) if releases_nothing(trouble) => {
            is_inserted(item, applied, function.tree.expr(at).range.start)
        }
        _ => true,
    }
}

/// Whether a release is of what is not there.
pub(super) fn releases_nothing(trouble: &Trouble) -> bool {
    matches!(
        trouble.problem,
        Problem::ReleaseOfNull | Problem::ReleaseOfUnset
    )
}

/// The original bytes that `span` of the result came from, made wider where its ends are new; those
/// beside the place where it came in if all of it is new.
pub(super) fn original_span(applied: &Applied, span: ByteSpan) -> ByteSpan {
    let (start, end) = (span.start().0, span.end().0);
    let first = (start..end).find_map(|at| applied.map.to_original(ByteOffset(at)));
    let last = (start..end)
        .rev()
        .find_map(|at| applied.map.to_original(ByteOffset(at)));
    match (first, last) {
        (Some(first), Some(last)) => ByteSpan::new(first.0, last.0 + 1),
        _ => beside(applied, span.start()),
    }
}

/// The original bytes on both sides of what stands at `at` of the result.
pub(super) fn beside(applied: &Applied, at: ByteOffset) -> ByteSpan {
    let original = |at: u32| applied.map.to_original(ByteOffset(at));
    let length = u32::try_from(applied.bytes.len()).expect("files are indexed by u32");
    let first = (0..at.0).rev().find_map(original);
    let last = (at.0..length).find_map(original);
    ByteSpan::new(
        first.map_or(0, |first| first.0),
        last.map_or(u32::MAX, |last| last.0 + 1),
    )
}

/// The bytes of the original that `span` of the result stands for, with what edits at its ends
/// replaced.
pub(super) fn changed_span(applied: &Applied, span: ByteSpan) -> ByteSpan {
    let original = |at: u32| applied.map.to_original(ByteOffset(at));
    let length = u32::try_from(applied.bytes.len()).expect("files are indexed by u32");
    let first = (0..span.start().0).rev().find_map(original);
    let last = (span.end().0..length).find_map(original);
    ByteSpan::new(
        first.map_or(0, |first| first.0 + 1),
        last.map_or(u32::MAX, |last| last.0),
    )
}
