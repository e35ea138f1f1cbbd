//! Text around the branches of an `#if` belongs to several configurations of a function: what is
//! right in the one with the lookup may be wrong in another.
//!
//! ```c
//! #ifdef Py_LIMITED_API
//!     v = PySequence_GetItem(l, i);
//! #else
//!     v = PyList_GetItem(l, i);        /* becomes strong: */
//! #endif
//!     r = PyNumber_Long(v);
//!     Py_DECREF(v);                    /* … and this is new in both */
//! ```
//!
//! Each configuration is compared with what it was: what becomes of the variables whose counts the
//! change touches must be the same at each way out, but for what new calls give.

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::configurations::tokens;
use super::ends::Ends;
use super::made::made_seeds;
use super::original::Original;
use super::proof::{Failed, beside, borrowed_seeds, calls, is_inserted, original_span, seeds};
use super::statics::Kept;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree};
use crate::calls::{self as model, Count};
use crate::edit::Applied;
use crate::ownership::track::Seed;
use crate::preprocess::Spelling;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A function in one configuration.
pub(super) type Variant<'p> = (&'p ProgramItem, &'p Function);

/// What is wrong with configurations that share text which `applied` changes.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
    handing: &BTreeSet<String>,
) -> Vec<Failed> {
    let mut failures = Vec::new();
    for (&file, applied) in applied {
        let news = functions_of(result, file);
        let olds = functions_of(original.program, file);
        let change = Change {
            original,
            result,
            applied,
            file,
            handing,
        };
        for &new in &news {
            let beside = |other: &&Variant<'_>| overlap(other.0.place.1, new.0.place.1);
            let siblings: Vec<Variant<'_>> = news.iter().filter(beside).copied().collect();
            if siblings.len() > 1 {
                failures.extend(change.undeclared(new, &siblings));
                failures.extend(change.unequal(new, &olds));
            } else {
                failures.extend(change.taken(new, &olds));
            }
        }
    }
    failures
}

fn functions_of<'p>(program: &'p Program<'_>, file: FileId) -> Vec<Variant<'p>> {
    let functions = program.functions();
    functions.filter(|(item, _)| item.place.0 == file).collect()
}

fn overlap(one: ByteSpan, other: ByteSpan) -> bool {
    one.start() < other.end() && other.start() < one.end()
}

/// A change of one file.
pub(super) struct Change<'a> {
    pub(super) original: &'a Original<'a>,
    pub(super) result: &'a Program<'a>,
    pub(super) applied: &'a Applied,
    pub(super) file: FileId,
    handing: &'a BTreeSet<String>,
}

impl Change<'_> {
    /// New text that names a variable which only other configurations declare.
    fn undeclared(&self, new: Variant<'_>, siblings: &[Variant<'_>]) -> Option<Failed> {
        let others = siblings.iter().flat_map(|other| self.new_names(*other));
        let locals = others.filter(|(_, name)| matches!(name, Name::Local(_)));
        let locals: BTreeSet<ByteOffset> = locals.map(|(at, _)| at).collect();
        self.new_names(new).into_iter().find_map(|(at, name)| {
            let Name::Global(name) = name else {
                return None;
            };
            let reason = format!(
                "in `{}`, `{name}` is declared only in other branches of an `#if`",
                new.1.name
            );
            let failed = || self.failed(new, at, Failure::Wrong(reason));
            locals.contains(&at).then(failed)
        })
    }

    /// The names in new text by their place.
    fn new_names<'p>(&self, (item, function): Variant<'p>) -> BTreeMap<ByteOffset, &'p Name> {
        let names = function.tree.exprs.iter().filter_map(|expr| {
            let ExprKind::Name(name) = &expr.kind else {
                return None;
            };
            if !is_inserted(item, self.applied, expr.range.start) {
                return None;
            }
            Some((written(item, self.file, expr.range.start)?, name))
        });
        names.collect()
    }

    fn is_inserted(&self, (item, function): Variant<'_>, expr: ExprId) -> bool {
        is_inserted(item, self.applied, function.tree.expr(expr).range.start)
    }

    /// Variables that end otherwise than before.
    fn unequal(&self, new: Variant<'_>, olds: &[Variant<'_>]) -> Vec<Failed> {
        let span = original_span(self.applied, new.0.place.1);
        let near = |old: &&Variant<'_>| overlap(old.0.place.1, span) && self.is_same(**old, new);
        let mut failures = Vec::new();
        if !olds.iter().any(|old| near(&old)) {
            failures.extend(self.unknown(new));
        }
        // What only new variables hold is followed from where it is made.
        let is_inserted = |expr| self.is_inserted(new, expr);
        let kept = Kept::new(new.1, &is_inserted).locals;
        let is_kept = |name: &str| {
            let mut names = kept.iter().map(|&local| &new.1.tree.local(local).name);
            names.any(|kept| kept == name)
        };
        for &old in olds.iter().filter(near) {
            let counted = self.counted(old, new).into_iter();
            for (name, at) in counted.filter(|(name, _)| !is_kept(name)) {
                let failure = match self.compare(old, new, name) {
                    Some(true) => continue,
                    Some(false) => Failure::Wrong(format!(
                        "in `{}`, the `Py_INCREF` and `Py_DECREF` calls for `{name}` do not \
                         balance as before {}",
                        new.1.name,
                        self.side(old, olds)
                    )),
                    None => Failure::Unknown(format!(
                        "in `{}`, the `Py_INCREF` and `Py_DECREF` calls for `{name}` balance as \
                         before {} (it has too many paths for a proof)",
                        new.1.name,
                        self.side(old, olds)
                    ).into()),
                };
                failures.push(self.failed(new, at, failure));
            }
        }
        failures
    }

    /// Keys and values that new text takes a reference to, and that end otherwise than before.
    fn taken(&self, new: Variant<'_>, olds: &[Variant<'_>]) -> Vec<Failed> {
        let came = |at: ByteOffset| self.applied.map.to_original(at).is_none().then_some(at);
        let mut taken = self.counts(new, &["Py_INCREF"], &came);
        taken.retain(|name, _| is_lent(new.1, name));
        if taken.is_empty() {
            return Vec::new();
        }
        let span = original_span(self.applied, new.0.place.1);
        let Some(&old) = olds.iter().find(|old| overlap(old.0.place.1, span)) else {
            return Vec::new();
        };
        let taken = taken.into_iter();
        taken
            .filter_map(|(name, at)| Some(self.failed(new, at, self.doubt_about(old, new, name)?)))
            .collect()
    }

    /// What is wrong with the variables of a name that new text takes references to.
    fn doubt_about(&self, old: Variant<'_>, new: Variant<'_>, name: &str) -> Option<Failure> {
        let function = &new.1.name;
        let ends = |(_, function): Variant<'_>, seeds: &[Seed]| {
            Ends::rough(self.original, function, name, seeds)
        };
        // The variable may hold the result of a lookup elsewhere.
        let borrowed = borrowed_seeds(old.1, self.handing);
        let owned = seeds(new.0, new.1, self.applied, self.handing);
        let (Some(before), Some(after)) = (ends(old, &borrowed), ends(new, &owned)) else {
            let claim = format!(
                "in `{function}`, the `Py_INCREF` and `Py_DECREF` calls for `{name}` balance as \
                 before (it has too many paths for a proof)"
            );
            return Some(Failure::Unknown(claim.into()));
        };
        if before.count_matters() {
            let claim = format!(
                "in `{function}`, no code relies on the reference count of `{name}`, which is now \
                 one higher"
            );
            return Some(Failure::Unknown(claim.into()));
        }
        let reason = || {
            format!(
                "in `{function}`, the `Py_INCREF` and `Py_DECREF` calls for `{name}` do not \
                 balance as before"
            )
        };
        (!before.has_counts_of(&after)).then(|| Failure::Wrong(reason()))
    }

    /// Counts that the fix changes in a configuration without anything of its own, of which it is
    /// not known what it was.
    fn unknown(&self, new: Variant<'_>) -> Option<Failed> {
        let (item, function) = new;
        if !seeds(item, function, self.applied, self.handing).is_empty() {
            return None;
        }
        let came = |at: ByteOffset| self.applied.map.to_original(at).is_none().then_some(at);
        let (name, at) = self.counts(new, &[], &came).into_iter().next()?;
        let reason = format!(
            "the `Py_INCREF` and `Py_DECREF` calls for `{name}` balance as before in each \
             configuration of `{}`",
            function.name
        );
        Some(self.failed(new, at, Failure::Unknown(reason.into())))
    }

    /// Where a configuration is compiled that another one is not, for messages.
    fn side(&self, old: Variant<'_>, olds: &[Variant<'_>]) -> String {
        let own: BTreeSet<ByteOffset> = tokens(old.0, self.file).into_iter().collect();
        let program = self.original.program;
        let index = &program.index[self.file.index()];
        let near = |other: &&Variant<'_>| overlap(other.0.place.1, old.0.place.1);
        let branch = olds.iter().filter(near).find_map(|other| {
            let other = tokens(other.0, self.file).into_iter().collect();
            let mut different = own.symmetric_difference(&other);
            different.find_map(|at| Some((index.branch_at(*at)?, own.contains(at))))
        });
        let Some((branch, is_inside)) = branch else {
            return "where other macros are defined".to_owned();
        };
        let place = index.branch_offset(branch);
        let line = program.files.get(self.file).position(place).line.0;
        match is_inside {
            true => format!("where the branch at line {line} is compiled"),
            false => format!("where the branch at line {line} is not compiled"),
        }
    }

    /// A failure that new text at `at` of the result brought about.
    fn failed(&self, (item, _): Variant<'_>, at: ByteOffset, failure: Failure) -> Failed {
        let place = item.place.1;
        Failed {
            file: self.file,
            original: vec![beside(self.applied, at), original_span(self.applied, place)],
            result: place,
            failure,
        }
    }

    /// The variables of which calls that came or went take or release a reference, with a place
    /// in the result.
    fn counted<'p>(&self, old: Variant<'p>, new: Variant<'p>) -> BTreeMap<&'p str, ByteOffset> {
        let came = |at: ByteOffset| self.applied.map.to_original(at).is_none().then_some(at);
        let went = |at: ByteOffset| {
            let map = &self.applied.map;
            let before = || (0..at.0).rev().find_map(|at| map.to_new(ByteOffset(at)));
            match map.to_new(at) {
                Some(_) => None,
                None => Some(before().unwrap_or_default()),
            }
        };
        let mut names = self.counts(new, &[], &came);
        for (name, at) in self.counts(old, &[], &went) {
            names.entry(name).or_insert(at);
        }
        names
    }

    /// The variables that are counted by calls (of these functions, or of any if there are none)
    /// of which a token is `changed`.
    fn counts<'p>(
        &self,
        (item, function): Variant<'p>,
        only: &[&str],
        changed: &dyn Fn(ByteOffset) -> Option<ByteOffset>,
    ) -> BTreeMap<&'p str, ByteOffset> {
        let tree = &function.tree;
        let changed = |expr: ExprId| {
            let at = written(item, self.file, tree.expr(expr).range.start)?;
            changed(at)
        };
        let mut names = BTreeMap::new();
        let wanted = |name: &str| only.is_empty() || only.contains(&name);
        for (call, _) in calls(function).filter(|(_, name)| wanted(name)) {
            let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
                continue;
            };
            let Some(effects) = model::effects_at(tree, call, self.original.callees) else {
                continue;
            };
            for (at, &arg) in args.iter().enumerate() {
                if let Some(local) = variable(tree, arg)
                    && effects.count(at) != Count::Unchanged
                    && let Some(at) = changed(*callee).or_else(|| changed(arg))
                {
                    names.entry(&*tree.local(local).name).or_insert(at);
                }
            }
        }
        names
    }

    /// Whether the variables called `name` end as before, where it is not the fix that gives them
    /// a reference; `None` if there are too many paths.
    fn compare(&self, old: Variant<'_>, new: Variant<'_>, name: &str) -> Option<bool> {
        let owned = seeds(new.0, new.1, self.applied, self.handing);
        let ends = |(_, function): Variant<'_>, seeds: &[Seed]| {
            Ends::new(self.original, function, name, seeds)
        };
        if owned.is_empty() {
            let (before, mut after) = (ends(old, &[])?, ends(new, &[])?);
            if !self.counts(old, &[], &Some).contains_key(name) {
                after.lend();
            }
            return Some(before.are_those_of(&after));
        }
        let borrowed = borrowed_seeds(old.1, self.handing);
        let holds = |borrowed: &[Seed], owned: &[Seed]| {
            let (before, after) = (ends(old, borrowed)?, ends(new, owned)?);
            Some(after.counts.is_subset(&before.counts))
        };
        // What is made where a lookup found none is followed elsewhere, too: it may have been lost.
        let with_made = |(_, function): Variant<'_>, lookups: &[Seed]| {
            [lookups, &made_seeds(function, lookups)].concat()
        };
        // The references of the fix are followed elsewhere.
        let all_hold = holds(&borrowed, &owned) != Some(false)
            || holds(&with_made(old, &borrowed), &with_made(new, &owned)) == Some(true);
        Some(all_hold)
    }
}

/// Whether `PyDict_Next` fills a variable of this name.
fn is_lent(function: &Function, name: &str) -> bool {
    let tree = &function.tree;
    let mut loops = calls(function).filter(|(_, callee)| *callee == "PyDict_Next");
    loops.any(|(call, _)| {
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return false;
        };
        args.iter().any(|&arg| match &tree.expr(arg).kind {
            ExprKind::Unary { operand, .. } => {
                variable(tree, *operand).is_some_and(|local| tree.local(local).name == name)
            }
            _ => false,
        })
    })
}

/// Where a token is written in `file`.
fn written(item: &ProgramItem, file: FileId, token: u32) -> Option<ByteOffset> {
    match item.tokens.tokens.get(token as usize)?.spelling {
        Spelling::File(of, span) if of == file => Some(span.start()),
        Spelling::File(..) | Spelling::Synthetic(_) => None,
    }
}

/// The variable that an argument is, under casts or not.
fn variable(tree: &Tree, arg: ExprId) -> Option<LocalId> {
    tree.as_local(tree.without_casts(arg))
}
