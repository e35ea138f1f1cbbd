//! What becomes of the borrowed key and value: whether they are used where the section may have
//! been suspended, or after it.

mod calls;
mod flow;
mod state;

use crate::ast::TokenRange;
use crate::capi;
use crate::cfg::{Callee, Operand, Point, Source, Terminator};
use crate::dataflow;

use super::scope::Scope;
use super::site::Site;
use flow::Flow;

/// A set of borrowed values: [`KEY`], [`VALUE`], or both.
pub(super) type Set = u8;

/// What the key's variable holds, and what was derived from it.
pub(super) const KEY: Set = 1;
/// The same for the value.
pub(super) const VALUE: Set = 2;
/// It belongs to an earlier item.
const OLD: Set = 4;
/// How far the bits are moved of what a function got of which nothing is known, in what it gives: a
/// plain pointer may point into that, an object has a reference of its own.
const MAYBE: u32 = 3;

/// It is an object in the key or value, or points into it, rather than being that,
const PART: Set = 32;
/// and the function has a reference to it.
const OWNED: Set = 64;

/// How key and value are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Passed to a call that may suspend the section, or used after one.
    pub(super) suspended: Set,
    /// Used after the section or for another item, or stored where that may happen.
    pub(super) outlives: Set,
    /// Released there, though `PyDict_Next` only lends it.
    pub(super) released: Set,
    /// Where the key outlives its turn, and where the value does, by [`Way`].
    places: [[Option<Source>; WAYS.len()]; 2],
}

/// How the key or the value of a turn outlives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is used behind the section.
    Behind,
    /// A later turn uses it.
    Later,
    /// It is stored where others may use it.
    Stored,
    /// A reference to it is given away, and the function has none: `Py_BuildValue("N", value)`.
    Given,
}

pub(super) const WAYS: [Way; 4] = [Way::Behind, Way::Later, Way::Stored, Way::Given];

impl Uses {
    fn outlive(&mut self, set: Set, way: Way, source: Source) {
        self.outlives |= set & (KEY | VALUE);
        for (places, of) in self.places.iter_mut().zip([KEY, VALUE]) {
            if set & of != 0 {
                places[way as usize].get_or_insert(source);
            }
        }
    }

    /// Whether the key or the value outlives its turn in this way.
    pub(super) fn has(&self, set: Set, way: Way) -> bool {
        self.place(set, way).is_some()
    }

    /// ` (line 12)`: where the key or the value outlives its turn; nothing if a macro makes that use.
    pub(super) fn line_of(&self, scope: &Scope<'_>, set: Set, way: Way) -> String {
        let line = self.place(set, way).and_then(|source| {
            let (file, span) = match source {
                Source::Expr(expr) => scope.cx.span(scope.item, expr)?,
                Source::Stmt(stmt) => scope.span(stmt)?,
            };
            Some(scope.cx.file(file).position(span.start()).line.0)
        });
        line.map_or_else(String::new, |line| format!(" (line {line})"))
    }

    fn place(&self, set: Set, way: Way) -> Option<Source> {
        let [key, value] = self.places;
        let places = if set == KEY { key } else { value };
        places[way as usize]
    }
}

/// Follows the values that the call of `site` gives through the function; each lives as long as its
/// turn.
pub(super) fn uses(scope: &Scope<'_>, site: &Site) -> Uses {
    follow(scope, site, site.turn(scope), false)
}

/// The same where each lives as long as a section of the author's, if that is not suspended.
pub(super) fn uses_in(scope: &Scope<'_>, site: &Site, section: TokenRange) -> Uses {
    follow(scope, site, section, false)
}

/// The same where all of them live as long as what stands in `life` runs.
pub(super) fn uses_beyond(scope: &Scope<'_>, site: &Site, life: TokenRange) -> Uses {
    follow(scope, site, life, true)
}

fn follow(scope: &Scope<'_>, site: &Site, life: TokenRange, keeps_old: bool) -> Uses {
    let Some(call) = scope.cfg.call(site.call) else {
        return Uses::default();
    };
    let flow = Flow {
        scope,
        site,
        call,
        life,
        keeps_old,
    };
    let Ok(solution) = dataflow::solve(&scope.cfg, &flow) else {
        return Uses {
            suspended: KEY | VALUE,
            outlives: KEY | VALUE,
            released: 0,
            ..Uses::default()
        };
    };
    let mut uses = Uses::default();
    for (block, body) in scope.cfg.iter().filter(|(b, _)| scope.cfg.is_reachable(*b)) {
        let mut state = solution.input(block.index()).clone();
        for (index, instr) in body.instrs.iter().enumerate() {
            flow.step(&mut state, Point { block, index }, instr, &mut uses);
        }
        if let Terminator::Return(Some(value), stmt) = &body.terminator {
            let set = flow::held(&scope.function.ret, state.of(value));
            uses.outlive(state.borrowed(set), Way::Behind, Source::Stmt(*stmt));
        }
    }
    uses
}

/// Whether a call may run Python code or wait for a lock, so that the section is suspended.
/// Functions that are not known may.
pub(super) fn suspends(scope: &Scope<'_>, callee: &Callee, args: &[Operand]) -> bool {
    let Callee::Named(name) = callee else {
        return true;
    };
    if &**name == "Py_BuildValue"
        && let Some(Operand::Str(format)) = args.first()
    {
        let format = scope.tree().as_string(*format);
        return !format.is_some_and(capi::builds_plainly);
    }
    match capi::effects(name) {
        Some(effects) => effects.runs_python || effects.locks.is_some(),
        None => !capi::is_libc(name),
    }
}
