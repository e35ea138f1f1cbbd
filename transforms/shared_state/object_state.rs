//! UG504: fields of objects, and memory behind them, that methods change without a lock.

use std::collections::BTreeSet;

use super::object_acquire::Acquire;
use super::object_body::{ByHand, FieldUsers, unfit};
use crate::declare_rule;
use crate::edit::{Confidence, Edit, Fix, Need};
use crate::facts::{Claim, Fact, Subject, listed};
use crate::rule::{Finding, ItemId, Method, Note, ObjectState, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::state::object_states;
use crate::transforms::split::Split;

declare_rule! {
    /// ## What it does
    /// Finds types whose methods change fields of their objects, or memory that these point to, without a
    /// lock, and the methods that use the same. There is one finding for each type.
    ///
    /// ## Why
    /// Two threads may run methods of one object at the same time. One may replace a field and release the old
    /// object while the other uses it.
    ///
    /// ## Example
    /// ```c
    /// static PyObject *
    /// counter_next(Counter *self, PyObject *Py_UNUSED(ignored))
    /// {
    ///     return PyLong_FromLong(self->count++);
    /// }
    /// ```
    /// becomes, with the old body in `counter_next_lock_held`,
    /// ```c
    /// static PyObject *
    /// counter_next(Counter *self, PyObject *ignored)
    /// {
    ///     PyObject *result;
    ///     Py_BEGIN_CRITICAL_SECTION(self);
    ///     result = counter_next_lock_held(self, ignored);
    ///     Py_END_CRITICAL_SECTION();
    ///     return result;
    /// }
    /// ```
    /// All methods of the type that use such a field are split, because a lock protects only against code that
    /// takes it; a `tp_init` as well, which Python code may call again.
    ///
    /// ## Confidence
    /// `review`: only methods take the lock, and only of the objects that they get. A body that runs Python code
    /// or waits lets other threads run at that point, as it did with the GIL.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A macro makes the method or its head, or the head has no parameter names | manual | `METHOD(thing_count) { self->n++; … }` | Write the head out. |
    /// | A tool wrote the method: use `@critical_section` in the input of Argument Clinic | manual | `/*[clinic input]` | Change the input, and run the tool. |
    /// | The lock is released while a method uses a field, and the method does more than read objects and numbers | manual | `self->n = 1; Py_BEGIN_ALLOW_THREADS` | Read what you need in a section, leave it, then use it. |
    /// | The body uses fields of an object that is not known at its beginning | manual | `PyArg_ParseTuple(args, "O", &other); ((Thing *)other)->n++;` | Put a section on that object around the use. |
    /// | Other objects, or functions, use the same memory | review | `node->next` | Lock the owner. |
    /// | None of the methods that change a field can be split | manual | `static PyObject *set_n(Thing *, PyObject *);` | Guard the field by hand. |
    ///
    /// ## References
    /// - [Shared state](../topics/shared-state.md): fields that are not reported, two objects, other cases
    pub static UNLOCKED_OBJECT_STATE {
        code: "UG504",
        name: "unlocked-object-state",
        summary: "methods change fields of their object, or what these point to, without a lock",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Review),
        triggers: &[],
        check: check,
    }
}

/// Most names that a sentence lists.
const SHOWN: usize = 4;

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let states = object_states(cx);
    if states.is_empty() {
        return;
    }
    let users = FieldUsers::new(cx);
    for state in states {
        findings.extend(finding(cx, state, states, &users));
    }
}

fn finding<'c, 'p>(
    cx: &'c PackageCx<'p>,
    state: &ObjectState,
    all: &[ObjectState],
    users: &FieldUsers<'c, 'p>,
) -> Option<Finding> {
    let writer = state
        .methods
        .iter()
        .find(|method| !method.writes.is_empty() && !method.is_init)?;
    let (file, span) = name_place(cx, writer.item)?;
    let outcome = match fix(cx, state, all, users) {
        Ok(fix) => Outcome::Fix(fix),
        Err(rest) => Outcome::Manual(format!(
            "use these fields between `Py_BEGIN_CRITICAL_SECTION(self)` and \
             `Py_END_CRITICAL_SECTION()`{rest}"
        )),
    };
    Some(Finding {
        rule: &UNLOCKED_OBJECT_STATE,
        file,
        span,
        function: None,
        api: None,
        message: format!(
            "methods of `{}` use {} without a lock; another thread may change {} meanwhile",
            state.type_name,
            used(state),
            match state.fields.len() {
                1 => "it",
                _ => "them",
            },
        ),
        notes: notes(cx, state),
        outcome,
    })
}

/// What methods of the type use, and change.
fn used(state: &ObjectState) -> String {
    let word = match state.fields.len() {
        1 => "field",
        _ => "fields",
    };
    let names = listed(&state.fields, SHOWN);
    match (state.set.is_empty(), state.fields.len()) {
        (false, _) => format!("its {word} {names}"),
        (true, 1) => format!("what its {word} {names} points to"),
        (true, _) => format!("what its {word} {names} point to"),
    }
}

fn notes(cx: &PackageCx<'_>, state: &ObjectState) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for method in &state.methods {
        let (Some(function), Some((file, span))) =
            (cx.function(method.item), name_place(cx, method.item))
        else {
            continue;
        };
        if notes.iter().any(|old| (old.file, old.span) == (file, span)) {
            continue;
        }
        let (verb, names) = if method.writes.is_empty() {
            ("reads", &method.reads)
        } else {
            ("changes", &method.writes)
        };
        let names = listed(names, SHOWN);
        let text = format!("`{}` {verb} {names}", function.name);
        notes.push(Note { file, span, text });
    }
    let more = super::shorten(&mut notes, 2 * SHOWN);
    if let Some(last) = notes.last_mut().filter(|_| more > 0) {
        last.text += &match more {
            1 => "; 1 more method uses these fields".to_owned(),
            _ => format!("; {more} more methods use these fields"),
        };
    }
    notes
}

fn name_place(cx: &PackageCx<'_>, item: ItemId) -> Option<(FileId, ByteSpan)> {
    let range = cx.function(item)?.name_range;
    if range.start >= range.end {
        return None;
    }
    Some(cx.item(item).tokens.place(range).written_at())
}

/// Another type of which a method of `state` is a method as well: it stands in a file that is
/// included once for each type.
///
/// ```c
/// #define SELF IntMap
/// #include "map_template.h"
/// #define SELF StrMap
/// #include "map_template.h"
/// ```
fn twin<'s>(cx: &PackageCx<'_>, state: &ObjectState, all: &'s [ObjectState]) -> Option<&'s str> {
    let items = |state: &ObjectState| -> BTreeSet<ItemId> {
        state.methods.iter().map(|method| method.item).collect()
    };
    let places = |items: &BTreeSet<ItemId>| -> BTreeSet<_> {
        let places = items.iter().filter_map(|&item| name_place(cx, item));
        places.collect()
    };
    let own = items(state);
    let mut others = all
        .iter()
        .filter(|other| other.type_name != state.type_name);
    let twin = others.find(|other| {
        // A function that both types have is one text: all who lock its object lock the same.
        let theirs = items(other);
        let (own, theirs) = (&own - &theirs, &theirs - &own);
        !places(&theirs).is_disjoint(&places(&own))
    })?;
    Some(&twin.type_name)
}

/// What a person has to confirm of the methods, and of those that use the fields as well.
fn methods_may_wait<'c, 'p>(
    cx: &'c PackageCx<'p>,
    state: &ObjectState,
    users: &FieldUsers<'c, 'p>,
) -> Fact {
    let (file, _) = cx.item(state.methods[0].item).place;
    let own = Subject::in_file(cx.file(file).path(), &state.type_name);
    Fact::new(Claim::MethodsMayWait, own.with(users.others(cx, state)))
}

/// Splits all methods of the type that can be split.
fn fix<'c, 'p>(
    cx: &'c PackageCx<'p>,
    state: &ObjectState,
    all: &[ObjectState],
    users: &FieldUsers<'c, 'p>,
) -> Result<Fix, String> {
    if let Some(other) = twin(cx, state, all) {
        return Err(format!(
            " (no automatic fix, because `{other}` has the same methods: both include the same \
             source text)"
        ));
    }
    let mut splits: Vec<Split<'_>> = Vec::new();
    let mut acquired: Vec<Acquire<'_>> = Vec::new();
    let mut refused: Vec<(String, ByHand)> = Vec::new();
    let mut first = None;
    for method in &state.methods {
        if let Some(why) = unfit(cx, state, method) {
            match Acquire::new(cx, state, method) {
                Some(acquire) => acquired.push(acquire),
                None => refused.push((name_of(cx, method), why)),
            }
            continue;
        }
        let locked = method.objects.iter().copied().collect();
        match Split::new(cx, method.item, locked) {
            // Variants of other configurations share their text.
            Ok(split) if splits.iter().any(|old| old.is_same_text(&split)) => {}
            Ok(split) => {
                splits.push(split);
                first = first.or((!method.writes.is_empty() && !method.is_init).then_some(()));
            }
            Err(why) => refused.push((name_of(cx, method), ByHand::lock(why))),
        }
    }
    if first.is_none() {
        return Err(refused.first().map_or_else(
            || " (no automatic fix, because no method could be analysed)".to_owned(),
            |(name, by_hand)| format!("; in `{name}`, {by_hand}"),
        ));
    }
    let mut fix = Fix::safe(format!(
        "lock the object in the methods of `{}`",
        state.type_name
    ));
    for split in &splits {
        fix.edits.extend(split.edits(&splits));
    }
    for acquire in &acquired {
        fix.edits.extend(acquire.edits());
        fix.needs.extend(acquire.needs());
    }
    fix.edits.sort_by_key(Edit::place);
    let sections = splits.iter().map(|split| (split.file, split.section()));
    let sections: BTreeSet<(FileId, &'static str)> = sections.collect();
    let section = |(file, function)| Need::Compat { file, function };
    fix.needs.extend(sections.into_iter().map(section));
    fix.assume(methods_may_wait(cx, state, users));
    for acquire in acquired {
        fix.assume(acquire.assumption());
    }
    for (name, by_hand) in refused {
        fix.assume(format!("in `{name}`, you {by_hand}"));
    }
    Ok(fix)
}

fn name_of(cx: &PackageCx<'_>, method: &Method) -> String {
    let function = cx.function(method.item);
    function.map_or_else(String::new, |function| function.name.clone())
}
