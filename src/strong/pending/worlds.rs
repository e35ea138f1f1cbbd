//! What is known of exceptions at a point, apart for the paths on which one is pending.
//!
//! Two worlds, because the same flag that says of an exception keeps code from running with it:
//!
//! ```c
//! ok = first(o, &i) == 0;
//! if (ok && lookup(dict, key) …                  /* never in the world with the exception */
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::calls::Calls;
use super::raising::Signs;
use crate::ast::{LocalId, UnaryOp};
use crate::cfg::{BlockId, CaseLabel, Comparison, Condition, Op, Operand, TempId};
use crate::strong::follow::hold::Carrier;

/// What is known at a point.
#[derive(Debug, Clone, Default)]
pub(in crate::strong) struct Worlds {
    /// On the paths on which nothing shows an exception; `None` without such a path.
    pub clean: Option<World>,
    /// On those on which a test shows one, or the function raised it.
    pub shown: Option<World>,
}

/// What is known on some of the paths that lead to a point.
#[derive(Debug, Clone, Default)]
pub(in crate::strong) struct World {
    /// Calls that may have failed, and whose results no test has shown to be fine.
    pub open: Calls,
    /// Calls that may have failed without that anything tells of it.
    pub lost: Calls,
    /// Calls that may have failed in a way that nobody knows: of functions out of sight.
    pub unseen: Calls,
    /// Calls whose results are where nothing follows them: in a field, in an element.
    pub kept: Calls,
    pub(super) values: BTreeMap<Carrier, Rc<Value>>,
    /// What variables are where calls have failed that may have: other numbers say nothing of them.
    pub(super) flags: BTreeMap<Carrier, Rc<Value>>,
    pub(super) known: BTreeMap<Carrier, Known>,
}

/// What a variable or temporary says of the calls that gave it.
#[derive(Debug, Clone, Default)]
pub(in crate::strong) struct Value {
    pub signs: Signs,
    pub calls: BTreeSet<TempId>,
}

/// What a variable or temporary is on all paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Known {
    /// `NULL` is 0.
    Number(i64),
    NonZero,
    Negative,
}

/// What a branch says of a world.
enum Followed {
    /// None of its paths goes there.
    Impossible,
    /// Nothing new.
    Possible,
    /// The outcome says that there is an exception; but -1 may be a number like any other.
    Shown,
    /// There is one.
    Certain,
}

impl Worlds {
    /// Those of a function that may be called with an exception if it is `entered` so.
    pub(in crate::strong) fn at_entry(entered: bool) -> Self {
        Self {
            clean: Some(World::default()),
            shown: entered.then(World::default),
        }
    }

    pub(in crate::strong) fn iter_mut(&mut self) -> impl Iterator<Item = &mut World> {
        self.clean.iter_mut().chain(&mut self.shown)
    }

    /// No exception is pending any more.
    pub(in crate::strong) fn clear(&mut self) {
        join(&mut self.clean, self.shown.take().as_ref());
        if let Some(world) = &mut self.clean {
            world.settle();
        }
    }

    /// One is pending from here on; maybe, if it is not `certain`.
    pub(in crate::strong) fn raise(&mut self, certain: bool) {
        join(&mut self.shown, self.clean.as_ref());
        if certain {
            self.clean = None;
        }
    }

    /// Adds the paths of `from`; whether that changes anything.
    pub(in crate::strong) fn join(&mut self, from: &Self) -> bool {
        let clean = join(&mut self.clean, from.clean.as_ref());
        join(&mut self.shown, from.shown.as_ref()) | clean
    }

    /// Keeps the paths on which `condition`, of which `carriers` are the left side, turns out so.
    pub(in crate::strong) fn follow(
        &mut self,
        condition: &Condition,
        carriers: &[Carrier],
        holds: bool,
    ) {
        let number = match condition.rhs {
            Operand::Null => 0,
            Operand::Int(number) => number,
            _ => return,
        };
        let test = (condition.comparison, number);
        self.follow_number(&condition.lhs, test, carriers, holds);
    }

    /// The same for a comparison of `tested` with a number.
    fn follow_number(
        &mut self,
        tested: &Operand,
        test: (Comparison, i64),
        carriers: &[Carrier],
        holds: bool,
    ) {
        if let Some(world) = &mut self.shown
            && matches!(
                world.follow(tested, test, carriers, holds),
                Followed::Impossible
            )
        {
            self.shown = None;
        }
        let Some(mut world) = self.clean.take() else {
            return;
        };
        match world.follow(tested, test, carriers, holds) {
            Followed::Impossible => {}
            Followed::Possible => self.clean = Some(world),
            Followed::Shown => {
                join(&mut self.shown, Some(&world));
                let tested = world.of(tested);
                world.fine(&tested);
                self.clean = Some(world);
            }
            Followed::Certain => {
                join(&mut self.shown, Some(&world));
            }
        }
    }

    /// Keeps the paths on which a `switch` goes this way.
    pub(in crate::strong) fn choose(
        &mut self,
        value: &Operand,
        cases: &[(CaseLabel, BlockId)],
        edge: usize,
    ) {
        let goes = |world: &World| match world.known_of(value) {
            Some(Known::Number(number)) => {
                chosen(cases, number).is_none_or(|chosen| chosen == edge)
            }
            Some(Known::NonZero | Known::Negative) | None => true,
        };
        self.clean = self.clean.take().filter(goes);
        self.shown = self.shown.take().filter(goes);
        let carriers: Vec<Carrier> = match value {
            Operand::Temp(temp) => vec![Carrier::Temp(*temp)],
            _ => return,
        };
        let is_default = edge == cases.len();
        for (at, (label, _)) in cases.iter().enumerate() {
            if let CaseLabel::Int(number) = *label
                && (at == edge || is_default)
            {
                let test = (Comparison::Equal, number);
                self.follow_number(value, test, &carriers, at == edge);
            }
        }
    }
}

/// The edge that a `switch` takes for a number; `None` if it may be one of several.
fn chosen(cases: &[(CaseLabel, BlockId)], number: i64) -> Option<usize> {
    let mut holds = cases.iter().map(|(label, _)| match *label {
        CaseLabel::Int(own) => Some(own == number),
        CaseLabel::Range(low, high) => Some((low..=high).contains(&number)),
        CaseLabel::Expr(_) => None,
    });
    match holds.position(|holds| holds != Some(false)) {
        Some(at) => matches!(cases[at].0, CaseLabel::Int(_) | CaseLabel::Range(..)).then_some(at),
        None => Some(cases.len()),
    }
}

/// Adds the paths of `from`; whether that changes anything.
fn join(into: &mut Option<World>, from: Option<&World>) -> bool {
    match (into.as_mut(), from) {
        (_, None) => false,
        (None, Some(from)) => {
            *into = Some(from.clone());
            true
        }
        (Some(into), Some(from)) => into.join(from),
    }
}

impl World {
    /// What is known where a test of `carriers`, all of which hold its left side, turns out so.
    fn follow(
        &mut self,
        tested: &Operand,
        (comparison, number): (Comparison, i64),
        carriers: &[Carrier],
        holds: bool,
    ) -> Followed {
        let mut known = carriers.iter().filter_map(|it| self.known.get(it));
        if known.any(|known| known.holds(comparison, number) == Some(!holds)) {
            return Followed::Impossible;
        }
        let is_equal = (comparison == Comparison::Equal) == holds;
        let learnt = match comparison {
            Comparison::Equal | Comparison::NotEqual if is_equal => Some(Known::Number(number)),
            Comparison::Equal | Comparison::NotEqual => (number == 0).then_some(Known::NonZero),
            _ if comparison.holds(0, number) == holds => None,
            Comparison::Less | Comparison::LessOrEqual if holds => Some(Known::Negative),
            Comparison::Greater | Comparison::GreaterOrEqual if !holds => Some(Known::Negative),
            _ => Some(Known::NonZero),
        };
        if let Some(learnt) = learnt {
            self.known
                .extend(carriers.iter().map(|&carrier| (carrier, learnt)));
        }
        for carrier in carriers {
            if let Some(flag) = self.flags.get(carrier).cloned() {
                self.refute(&flag, comparison, number, holds);
            }
        }
        self.tell(tested, comparison, number, holds)
    }

    /// What such a test of `tested` says of exceptions.
    fn tell(
        &mut self,
        tested: &Operand,
        comparison: Comparison,
        number: i64,
        holds: bool,
    ) -> Followed {
        let value = self.of(tested);
        if value.signs.asks() {
            if value.signs.shown_by(comparison, number, holds) {
                return Followed::Certain;
            }
            if number == 0 {
                self.settle();
            }
            return Followed::Possible;
        }
        if !self.is_open(&value) {
            return Followed::Possible;
        }
        self.refute(&value, comparison, number, holds);
        match value.signs.shown_by(comparison, number, holds) {
            true => Followed::Shown,
            false => Followed::Possible,
        }
    }

    /// The calls that gave `value` have not failed if that is no error where a test turns out so.
    fn refute(&mut self, value: &Value, comparison: Comparison, number: i64, holds: bool) {
        let mut errors = value.signs.errors();
        if errors.all(|error| comparison.holds(error, number) != holds) {
            self.fine(value);
        }
    }

    /// What the result of a comparison says, and what it is: `ok = f(o) == 0`.
    pub(in crate::strong) fn outcome(
        &self,
        tested: &Operand,
        comparison: Comparison,
        number: i64,
    ) -> (Rc<Value>, Option<Known>) {
        let tested_value = self.of(tested);
        let holds = self
            .known_of(tested)
            .and_then(|known| known.holds(comparison, number));
        let value = Value {
            signs: tested_value.signs.compared(comparison, number),
            calls: tested_value.calls.clone(),
        };
        let known = holds.map(|holds| Known::Number(i64::from(holds)));
        (Rc::new(value), known)
    }

    /// Whether the calls that gave `value` are among those that may have failed.
    pub(in crate::strong) fn is_open(&self, value: &Value) -> bool {
        value.calls.iter().any(|&call| self.open.contains(call))
    }

    /// No call has failed.
    fn settle(&mut self) {
        self.open.clear();
        self.lost.clear();
        self.unseen.clear();
        self.kept.clear();
    }

    /// The results of the calls that gave `value` go where nothing follows them.
    pub(in crate::strong) fn keep_apart(&mut self, value: &Value) {
        value.calls.iter().for_each(|&call| self.kept.insert(call));
    }

    /// Calls whose results are where nothing follows them have not failed, as far as the code asks.
    pub(in crate::strong) fn answer_kept(&mut self) {
        self.open.remove_all(&self.kept);
        self.kept.clear();
    }

    /// What `a | b` says: whatever either does.
    pub(in crate::strong) fn either(&self, operands: &[Operand]) -> Rc<Value> {
        let mut value = Value::default();
        for operand in operands {
            value.extend(&self.of(operand));
        }
        match value.signs.joined() {
            true => Rc::new(value),
            false => Rc::default(),
        }
    }

    /// What a variable says from now on that `call` may have set: one of these numbers, if it failed.
    pub(in crate::strong) fn tell_by(&mut self, local: LocalId, call: TempId, signs: Signs) {
        let carrier = Carrier::Local(local);
        let mut value = Value::clone(&self.of_carrier(carrier));
        let calls = [call].into();
        value.extend(&Value { signs, calls });
        self.set(carrier, Rc::new(value), None);
    }

    /// The calls that gave `value` have not failed.
    pub(in crate::strong) fn fine(&mut self, value: &Value) {
        value.calls.iter().for_each(|&call| self.open.remove(call));
    }

    /// Forgets all variables and temporaries but these.
    pub(in crate::strong) fn keep(&mut self, stays: impl Fn(&Carrier) -> bool) {
        self.values.retain(|carrier, _| stays(carrier));
        self.flags.retain(|carrier, _| stays(carrier));
        self.known.retain(|carrier, _| stays(carrier));
    }

    /// The variables and temporaries that say something.
    pub(in crate::strong) fn values(&self) -> impl Iterator<Item = (Carrier, &Value)> {
        let values = self.values.iter();
        values.map(|(&carrier, value)| (carrier, &**value))
    }

    /// What an operand says.
    pub(in crate::strong) fn of(&self, operand: &Operand) -> Rc<Value> {
        match operand {
            Operand::Temp(temp) => self.of_carrier(Carrier::Temp(*temp)),
            _ => Rc::default(),
        }
    }

    /// What a variable says.
    pub(in crate::strong) fn of_carrier(&self, carrier: Carrier) -> Rc<Value> {
        self.values.get(&carrier).cloned().unwrap_or_default()
    }

    pub(in crate::strong) fn known(&self, carrier: Carrier) -> Option<Known> {
        self.known.get(&carrier).copied()
    }

    /// What an operand is.
    pub(in crate::strong) fn known_of(&self, operand: &Operand) -> Option<Known> {
        match operand {
            Operand::Temp(temp) => self.known(Carrier::Temp(*temp)),
            Operand::Null => Some(Known::Number(0)),
            Operand::Int(number) => Some(Known::Number(*number)),
            _ => None,
        }
    }

    pub(in crate::strong) fn set(
        &mut self,
        carrier: Carrier,
        value: Rc<Value>,
        known: Option<Known>,
    ) {
        self.flags.remove(&carrier);
        if value.signs.is_empty() {
            self.values.remove(&carrier);
        } else {
            self.values.insert(carrier, value);
        }
        match known {
            Some(known) => self.known.insert(carrier, known),
            None => self.known.remove(&carrier),
        };
    }
}

impl Value {
    /// What a variable says that gets the value.
    pub(in crate::strong) fn stored(self: Rc<Self>, in_object: bool) -> Rc<Self> {
        let signs = self.signs.clone().stored(in_object);
        if signs == self.signs {
            return self;
        }
        let calls = self.calls.clone();
        Rc::new(Self { signs, calls })
    }

    /// Whether it says all that `other` does.
    pub(super) fn holds(&self, other: &Rc<Self>) -> bool {
        std::ptr::eq(self, &**other)
            || self.signs.holds(&other.signs) && self.calls.is_superset(&other.calls)
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.signs.extend(&other.signs);
        self.calls.extend(&other.calls);
    }
}

/// The value that an operation compares with a number: `!rc`, `rc == 0`.
pub(in crate::strong) fn compared(
    op: Op,
    operands: &[Operand],
) -> Option<(&Operand, Comparison, i64)> {
    let (comparison, number) = match (op, operands) {
        (Op::Unary(UnaryOp::Not), _) => (Comparison::Equal, 0),
        (Op::Binary(op), [_, Operand::Int(number)]) => (Comparison::of(op)?, *number),
        (Op::Binary(op), [_, Operand::Null]) => (Comparison::of(op)?, 0),
        _ => return None,
    };
    Some((operands.first()?, comparison, number))
}

impl Known {
    pub(super) fn join(self, other: Self) -> Option<Self> {
        let is_zero = |known| known == Self::Number(0);
        match (self, other) {
            _ if self == other => Some(self),
            _ if is_zero(self) || is_zero(other) => None,
            (Self::Negative, Self::Number(number)) | (Self::Number(number), Self::Negative)
                if number < 0 =>
            {
                Some(Self::Negative)
            }
            _ => Some(Self::NonZero),
        }
    }

    /// Whether the comparison with `number` holds, if that is known.
    pub(in crate::strong) fn holds(self, comparison: Comparison, number: i64) -> Option<bool> {
        match (self, comparison) {
            (Self::Number(own), _) => Some(comparison.holds(own, number)),
            (Self::NonZero, Comparison::Equal) if number == 0 => Some(false),
            (Self::NonZero, Comparison::NotEqual) if number == 0 => Some(true),
            // All negative numbers compare with 0 and above as -1 does.
            (Self::Negative, _) if number >= 0 => Some(comparison.holds(-1, number)),
            _ => None,
        }
    }
}
