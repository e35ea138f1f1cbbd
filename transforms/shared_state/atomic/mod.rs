//! Makes a static number atomic, where each use of it stands by itself.
//!
//! ```c
//! static int strict;                      static PYAPI_ATOMIC(int) strict;
//! static long hits;                       static PYAPI_ATOMIC(long) hits;
//! hits++;                                 PYAPI_ATOMIC_ADD(hits, 1);
//! ```
//!
//! That settles a number of which nothing else depends: an option that each call reads at most once,
//! a count that is only told. A call that reads an option twice may find two values, and one that sets
//! more than the number may be seen half done: these are questions for a person. What is tested and
//! then set needs a lock.

mod declaration;
mod effects;
mod sums;
mod touches;
mod uses;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::ast::ExprKind;
use crate::capi::{effects, is_libc, shows_number, writes};
use crate::edit::{Edit, Fix, Need};
use crate::facts::{Claim, Fact, listed};
use crate::program::ItemId;
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};
use crate::state::{Variable, alone};
use declaration::Declaration;
use touches::Touches;
use uses::{How, Mentions, Use, Uses};

/// It is counted, and a call that counts asks for the number as well.
const COUNTED: &str = "one call both counts it and reads it";

/// What its setters set has to fit together.
const TOGETHER: &str = "it is set together with other variables";

/// Whether that is for a lock, which an atomic type does not replace.
pub(super) fn needs_lock(why: &str) -> bool {
    [COUNTED, TOGETHER, sums::TESTED, sums::COMPUTED].contains(&why)
}

/// Up to how many names a question lists.
const NAMED: usize = 3;

/// What is known of the package.
pub(super) struct Atomics<'c, 'a> {
    cx: &'c PackageCx<'a>,
    inventory: &'c [Variable],
    /// Functions that no other thread can meet.
    alone: OnceCell<BTreeSet<&'a str>>,
    /// The items that name each variable.
    mentions: OnceCell<Mentions<'c>>,
}

impl<'c, 'a> Atomics<'c, 'a> {
    pub(super) fn new(cx: &'c PackageCx<'a>, inventory: &'c [Variable]) -> Self {
        Self {
            cx,
            inventory,
            alone: OnceCell::new(),
            mentions: OnceCell::new(),
        }
    }

    /// The fix for `variable`, a number, or why there is none. All that one declaration declares is
    /// one fix.
    pub(super) fn fix(&self, variable: &Variable) -> Result<Fix, &'static str> {
        let declaration = Declaration::new(self.cx, self.inventory, variable)?;
        let all = &declaration.variables;
        let names = listed(all.iter().map(|it| it.name.as_str()), NAMED);
        let mut fix = Fix::safe(format!("make {names} atomic"));
        declaration.edit(&mut fix);
        fix.needs.push(Need::Compat {
            file: variable.place.0,
            function: "PYAPI_ATOMIC",
        });
        for (at, variable) in all.iter().enumerate() {
            self.add(variable, &all[..at], &mut fix)?;
        }
        fix.edits.sort_by_key(Edit::place);
        // Slots that one call of Python runs, and helpers, may carry a relation that is not seen.
        for variable in all {
            fix.assume(Fact::new(Claim::StandsAlone, variable.subject(self.cx)));
        }
        Ok(fix)
    }

    /// Adds what `variable` needs beside its type; `asked` are those of which it was told already.
    fn add(
        &self,
        variable: &Variable,
        asked: &[&Variable],
        fix: &mut Fix,
    ) -> Result<(), &'static str> {
        let mentions = self
            .mentions
            .get_or_init(|| Mentions::new(self.cx, self.inventory));
        let uses = Uses::new(self.cx, mentions, variable)?;
        sums::check(self.cx, &uses)?;
        self.add_steps(variable, &uses, fix)?;
        if variable.late.is_empty() {
            return Ok(());
        }
        let beside = self.set_beside(variable);
        let is_number = |it: &&Variable| self.cx.types().is_number(&it.ty);
        if beside.len() > 1 || !beside.iter().all(is_number) {
            return Err(TOGETHER);
        }
        let is_new = |other: &&&Variable| asked.iter().all(|it| it.place != other.place);
        for other in beside.iter().filter(is_new) {
            fix.assume(format!(
                "no code goes wrong if it reads the new `{}` and the old `{}`, or the old one and \
                 the new one",
                variable.name, other.name
            ));
        }
        let late: Vec<&Use> = uses.all.iter().filter(|it| self.is_late(it.item)).collect();
        self.doubt_macros(&late, fix);
        let is_read = late.iter().any(|it| matches!(it.how, How::Read));
        if is_read && !self.is_only_told(&late) {
            self.doubt((variable, &beside), &late, fix)?;
        }
        Ok(())
    }

    /// `hits++` becomes one operation.
    fn add_steps(
        &self,
        variable: &Variable,
        uses: &Uses,
        fix: &mut Fix,
    ) -> Result<(), &'static str> {
        let mut texts: BTreeSet<(FileId, ByteSpan, String)> = BTreeSet::new();
        for (it, number) in uses.all.iter().filter_map(|it| Some((it, it.how.step()?))) {
            let types = self.cx.types();
            if !types.adds_at_once(&variable.ty) {
                return Err("not every compiler can add to a value of its type atomically");
            }
            let (file, span) = self
                .cx
                .span(it.item, it.whole)
                .ok_or("a macro changes it")?;
            if file != variable.place.0 {
                return Err("another file counts it");
            }
            let number = uses::number_text(self.cx, it.item, number)?;
            let text = format!("PYAPI_ATOMIC_ADD({}, {number})", variable.name);
            texts.insert((file, span, text));
        }
        if !texts.is_empty() {
            fix.needs.push(Need::Compat {
                file: variable.place.0,
                function: "PYAPI_ATOMIC_ADD",
            });
        }
        for (file, span, text) in texts {
            fix.replace(file, span, text);
        }
        Ok(())
    }

    /// Whether other threads may be there while the function runs.
    fn is_late(&self, item: ItemId) -> bool {
        let name = self.cx.function(item).map(|it| it.name.as_str());
        // What is never called in the package, a library may call.
        let alone = self.alone.get_or_init(|| alone(self.cx, None));
        !self.cx.item(item).needs_gil && name.is_none_or(|name| !alone.contains(name))
    }

    /// Other static variables that functions set which set this one.
    fn set_beside(&self, variable: &Variable) -> Vec<&Variable> {
        let own: BTreeSet<ItemId> = variable.late.iter().map(|write| write.item).collect();
        let others = self.inventory.iter().filter(|other| {
            let mut late = other.late.iter();
            other.place != variable.place && late.any(|write| own.contains(&write.item))
        });
        others.collect()
    }

    /// Whether the number is counted, and its value goes nowhere but to Python or into text; by a
    /// call that does not count, since two that do may tell the same number.
    fn is_only_told(&self, uses: &[&Use]) -> bool {
        let is_step = |it: &Use| it.how.step().is_some();
        let (steps, others): (Vec<&Use>, Vec<&Use>) = uses.iter().partition(|it| is_step(it));
        let is_told = |it: &&Use| matches!(it.how, How::Store(_)) || self.is_told(it);
        if steps.is_empty() || !others.iter().all(is_told) {
            return false;
        }
        let touches = Touches::new(self.cx, &|item| self.is_late(item), &others);
        let counting = touches::reaching(self.cx, steps.iter().map(|it| it.item));
        let telling = touches::reaching(self.cx, others.iter().map(|it| it.item));
        let is_both = |&item: &ItemId| telling.contains(&item) && self.is_late(item);
        touches.twice().is_empty() && !counting.iter().any(is_both)
    }

    /// `return PyLong_FromLong(hits);`
    fn is_told(&self, it: &Use) -> bool {
        let Some(tree) = self.cx.tree(it.item) else {
            return false;
        };
        tree.calls().any(|(call, name)| {
            let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                return false;
            };
            let is_it = |&arg| tree.without_casts(arg) == it.name;
            shows_number(name) && args.iter().any(is_it)
        })
    }

    /// Asks what the uses of an option do not show.
    fn doubt(
        &self,
        (variable, asked): (&Variable, &[&Variable]),
        uses: &[&Use],
        fix: &mut Fix,
    ) -> Result<(), &'static str> {
        let name = &variable.name;
        let sets = uses.iter().filter(|it| !matches!(it.how, How::Read));
        let mut setters = touches::reaching(self.cx, sets.map(|it| it.item));
        setters.retain(|&item| self.is_late(item));
        if sums::tests_for_setter(self.cx, uses, &setters) {
            return Err(sums::TESTED);
        }
        let touches = Touches::new(self.cx, &|item| self.is_late(item), uses);
        let twice = touches.twice();
        if !twice.is_empty() {
            if uses.iter().any(|it| it.how.step().is_some()) {
                return Err(COUNTED);
            }
            if twice.len() > NAMED {
                return Err("many functions read it more than once");
            }
            fix.assume(format!(
                "it is harmless if another thread sets `{name}` between two uses in {}",
                listed(twice.iter(), NAMED)
            ));
        }
        let pointed = touches.called_by_pointer();
        if !pointed.is_empty() {
            fix.assume(format!(
                "no signal handler calls {} through a pointer, and callers do not expect two calls to \
                 read the same `{name}`",
                listed(pointed.iter(), NAMED)
            ));
        }
        let others = touches.called_elsewhere();
        if !others.is_empty() {
            fix.assume(format!(
                "code outside the analysed files that calls {} does not expect two calls to read the \
                 same `{name}`",
                listed(others.iter(), NAMED)
            ));
        }
        let known: Vec<&Variable> = asked.iter().copied().chain([variable]).collect();
        let beside: Vec<String> = effects::beside(self.cx, &known, &setters)
            .into_iter()
            .take(NAMED)
            .collect();
        if !beside.is_empty() {
            fix.assume(format!(
                "code that reads the new value of `{name}` does not rely on other work of the \
                 function that sets it: {}",
                beside.join(", ")
            ));
        }
        Ok(())
    }

    /// `CHECK(strict)` in a header that is not there may be a macro that sets its argument.
    fn doubt_macros(&self, uses: &[&Use], fix: &mut Fix) {
        let is_function = |name: &str| {
            effects(name).is_some()
                || writes(name).is_some_and(|row| !row.place(0))
                || is_libc(name)
                || self.cx.definitions(name).next().is_some()
                || self.cx.types().is_function(name)
        };
        for it in uses {
            let Some(tree) = self.cx.tree(it.item) else {
                continue;
            };
            for (call, name) in tree.calls() {
                let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                    continue;
                };
                if args.contains(&it.name) && !is_function(name) {
                    fix.assume(format!("`{name}` is not a macro that sets its argument"));
                }
            }
        }
    }
}
