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
use crate::capi::{asks_size, counts, effects, raises_exception};
use crate::cfg::{InstrKind, Operand, Point, Source, reaches};

/// What a function does with objects that the package keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Touch {
    /// It looks at what is in one.
    looks: bool,
    /// It runs code of one, which may do anything.
    runs: bool,
}

impl BitOrAssign for Touch {
    fn bitor_assign(&mut self, other: Self) {
        self.looks |= other.looks;
        self.runs |= other.runs;
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

/// The calls that run code of such an object before or after another call with one.
pub(super) fn apart(frame: Frame<'_, '_, '_, '_>, found: (&Origins, &Escapes)) -> Vec<ExprId> {
    let all = touches(frame, found);
    let cfg = &frame.code.cfg;
    let is_apart = |at: Point| {
        let others = all.iter().filter(|(other, _, _)| *other != at);
        let mut ends = others.flat_map(|(other, _, _)| [(*other, at), (at, *other)]);
        ends.any(|(from, to)| reaches(cfg, from.next(), to, &[]))
    };
    let runs = all
        .iter()
        .filter(|(at, _, touch)| touch.runs && is_apart(*at));
    runs.map(|(_, call, _)| *call).collect()
}

fn touches(
    frame: Frame<'_, '_, '_, '_>,
    found: (&Origins, &Escapes),
) -> Vec<(Point, ExprId, Touch)> {
    let mut all = Vec::new();
    for (at, instr) in frame.code.cfg.steps() {
        let (Some((name, _)), InstrKind::Call { args, .. }, Source::Expr(call)) =
            (instr.named_call(), &instr.kind, instr.source)
        else {
            continue;
        };
        let own = frame.code.own(name);
        let mut touch = Touch::default();
        for &item in own {
            touch |= frame.plain.touch(item);
        }
        if own.is_empty() && args.iter().any(|arg| is_kept(frame, found, (arg, at))) {
            touch = by(name);
        }
        if touch.looks || touch.runs {
            all.push((at, call, touch));
        }
    }
    all
}

/// What a function of Python does with an object among its arguments.
fn by(name: &str) -> Touch {
    let effects = effects(name).filter(|_| counts(name).is_none() && !raises_exception(name));
    Touch {
        looks: asks_size(name) || effects.is_some_and(|it| it.locks.is_some()),
        runs: effects.is_some_and(|it| it.runs_python),
    }
}

/// Whether the package keeps the object that an argument is, or that a variable holds whose address
/// it is: `PyObject *args[] = {self->pool};`.
fn is_kept(
    frame: Frame<'_, '_, '_, '_>,
    (origins, escapes): (&Origins, &Escapes),
    (arg, at): (&Operand, Point),
) -> bool {
    let held = || frame.of(origins, arg).roots.into_iter();
    escapes.foreign(frame, origins, (arg, at)).kept
        || held().any(|root| frame.holds_kept(origins, root))
}
