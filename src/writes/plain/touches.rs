//! Calls with objects that the package keeps: what one of them finds may not be so when the next one
//! runs.
//!
//! ```c
//! if (PyList_GET_SIZE(self->pool) > 0)
//!     item = PyObject_CallMethod(self->pool, "pop", NULL);
//! ```

use std::ops::BitOrAssign;

use super::code::Frame;
use super::escape::Escapes;
use super::origin::Origins;
use crate::ast::ExprId;
use crate::capi::{
    Calls, FINDERS, Returns, counts, effects, finds_attributes, replacement, tells_of_items,
};
use crate::cfg::{InstrKind, Operand, Point, Source, reaches};

/// What a function does with objects that the package keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Touch {
    /// It looks at what is in one, be it to give it.
    looks: bool,
    /// It tells how much is in one, or whether something is.
    tells: bool,
    /// It looks at one by its code, which may do anything.
    runs: bool,
    /// It calls one.
    calls: bool,
}

impl Touch {
    pub(super) const NONE: Self = Self {
        looks: false,
        tells: false,
        runs: false,
        calls: false,
    };

    /// Whether another thread may run between this and another one, which belong together. Functions that
    /// are called one after the other do not: `state->loads`, `state->dumps`; what is called may be what was
    /// found.
    const fn parts(self, other: Self) -> bool {
        self.runs && other.looks || self.calls && other.tells
    }

    pub(super) const fn is_any(self) -> bool {
        self.looks || self.calls
    }

    /// What a function of Python does with its first argument.
    pub(super) fn by(name: &str) -> Self {
        let Some(effects) = effects(name).filter(|_| counts(name).is_none()) else {
            return Self::default();
        };
        let gives = effects.returns != Returns::Plain || !effects.outs.is_empty();
        let settles = effects.settles_key && !finds_attributes(name);
        let tells = tells_of_items(name)
            || settles && !gives
            || matches!(effects.calls, Some(Calls::Method | Calls::MethodIn(_)));
        let finds = FINDERS.contains(&name) && !finds_attributes(name);
        let finds = finds || settles || replacement(name).is_some();
        let looks = tells || finds || effects.locks.is_some();
        Self {
            looks,
            tells,
            runs: looks && effects.runs_python,
            calls: effects.calls == Some(Calls::Itself),
        }
    }
}

impl BitOrAssign for Touch {
    fn bitor_assign(&mut self, other: Self) {
        self.looks |= other.looks;
        self.tells |= other.tells;
        self.runs |= other.runs;
        self.calls |= other.calls;
    }
}

/// All that a function does with such objects.
pub(super) fn of(frame: Frame<'_, '_, '_, '_>, found: (&Origins, &Escapes)) -> Touch {
    let mut all = Touch::default();
    for (_, _, touch) in touches(frame, found) {
        all |= touch;
    }
    all
}

/// The calls that run code of such an object before or after another call looks at one.
pub(super) fn apart(frame: Frame<'_, '_, '_, '_>, found: (&Origins, &Escapes)) -> Vec<ExprId> {
    let all = touches(frame, found);
    let cfg = &frame.code.cfg;
    let is_apart = |at: Point, touch: Touch| {
        let others = all.iter();
        let others = others.filter(|(other, _, it)| *other != at && touch.parts(*it));
        let mut ends = others.flat_map(|(other, _, _)| [(*other, at), (at, *other)]);
        ends.any(|(from, to)| reaches(cfg, from.next(), to, &[]))
    };
    let apart = all.iter().filter(|(at, _, touch)| is_apart(*at, *touch));
    apart.map(|(_, call, _)| *call).collect()
}

fn touches(
    frame: Frame<'_, '_, '_, '_>,
    found: (&Origins, &Escapes),
) -> Vec<(Point, ExprId, Touch)> {
    let code = frame.code;
    let touching = code.touching.iter().filter_map(|&(at, mut touch)| {
        let instr = code.cfg.instr(at)?;
        let (Some((name, _)), InstrKind::Call { args, .. }, Source::Expr(call)) =
            (instr.named_call(), &instr.kind, instr.source)
        else {
            return None;
        };
        let own = code.own(name);
        for &item in own {
            touch |= frame.plain.touch(item);
        }
        let is_touch =
            touch.is_any() && (!own.is_empty() || is_kept(frame, found, (name, args, at)));
        is_touch.then_some((at, call, touch))
    });
    touching.collect()
}

/// Whether the package keeps the object of which a function calls a method, or which it looks at.
fn is_kept(
    frame: Frame<'_, '_, '_, '_>,
    (origins, escapes): (&Origins, &Escapes),
    (name, args, at): (&str, &[Operand], Point),
) -> bool {
    // `PyObject *args[] = {self->pool}; PyObject_VectorcallMethod(name, args, 1, NULL);`
    if let Some(Calls::MethodIn(number)) = effects(name).and_then(|it| it.calls) {
        let array = args.get(usize::from(number));
        let mut held = array
            .into_iter()
            .flat_map(|array| frame.of(origins, array).roots);
        return held.any(|root| frame.content(origins, root).foreign.kept);
    }
    let first = args.first();
    first.is_some_and(|arg| escapes.foreign(frame, origins, (arg, at)).is_known())
}
