//! Who else gets to know a container: copies of it, and the steps that give one away.

use std::collections::BTreeSet;

use crate::ast::LocalId;
use crate::cfg::{Base, Callee, Instr, InstrKind, Op, Operand, Point, TempId};

use super::Cx;
use super::api::{Gives, Use, argument_use, gives, hands_over, only_adds};
use super::borrow::Borrow;
use super::flow::{Flow, address_of_local};

/// Where a container comes into a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// Parameter `index`.
    Param(usize),
    /// The result of the step at this point.
    Step(Point),
}

/// How long a container must stay unknown to others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until<'b> {
    /// Up to the step at which it is looked at.
    Site,
    /// And as long as the value that came out of it is in use.
    LastUse(&'b Borrow<'b>),
    /// For ever: the value is handed on.
    Forever,
}

/// What holds the container in a function.
struct Copies<'f> {
    flow: &'f Flow<'f>,
    temps: BTreeSet<TempId>,
    locals: BTreeSet<LocalId>,
}

impl<'f> Copies<'f> {
    fn new(flow: &'f Flow<'f>, root: Root) -> Self {
        let mut copies = Self {
            flow,
            temps: BTreeSet::new(),
            locals: BTreeSet::new(),
        };
        match root {
            Root::Param(index) => copies.locals.extend(flow.function.params.get(index)),
            Root::Step(point) => copies
                .temps
                .extend(flow.cfg.instr(point).and_then(Instr::dst)),
        }
        loop {
            let before = (copies.temps.len(), copies.locals.len());
            for (_, instr) in flow.instrs() {
                copies.step(instr);
            }
            if before == (copies.temps.len(), copies.locals.len()) {
                return copies;
            }
        }
    }

    /// The step at which the only variable gets another container. A second variable may keep
    /// the one of the turn before: `d = PyDict_New(); …; last = d;`.
    fn renewed(&self, root: Root) -> Option<Point> {
        match root {
            Root::Step(point) if self.locals.len() <= 1 => Some(point),
            Root::Step(_) | Root::Param(_) => None,
        }
    }

    fn holds(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Temp(temp) => self.temps.contains(temp),
            operand => address_of_local(operand).is_some_and(|local| self.locals.contains(&local)),
        }
    }

    fn step(&mut self, instr: &Instr) {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                if let Base::Local(local) = place.base
                    && self.locals.contains(&local)
                {
                    self.temps.insert(*dst);
                }
            }
            InstrKind::Store { place, value } => {
                if let Some(local) = place.as_local()
                    && self.holds(value)
                {
                    self.locals.insert(local);
                }
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } if self.holds(src) => {
                self.temps.insert(*dst);
            }
            InstrKind::Call {
                dst,
                callee: Callee::Named(name),
                args,
            } => {
                let same = match gives(name) {
                    Some(Gives::Same(arg) | Gives::SameOrFresh(arg)) => args.get(arg),
                    _ => None,
                };
                if same.is_some_and(|arg| self.holds(arg)) {
                    self.temps.insert(*dst);
                }
            }
            _ => {}
        }
    }

    /// The most that the step does with the container.
    fn use_at(&self, instr: &Instr, cx: &Cx<'_>, depth: u32) -> Use {
        match &instr.kind {
            InstrKind::Store { place, value } if self.holds(value) => match place.as_local() {
                Some(local) if !self.is_static(local) => Use::Read,
                _ => Use::Share,
            },
            InstrKind::Store { place, .. } if matches!(&place.base, Base::Deref(op) if self.holds(op)) => {
                Use::Change
            }
            InstrKind::Call { callee, args, .. } => {
                let held = (0..args.len()).filter(|&at| self.holds(&args[at]));
                held.map(|at| match callee {
                    Callee::Named(name) if address_of_local(&args[at]).is_none() => {
                        cx.argument_use(name, at, depth)
                    }
                    // `PyList_Type.tp_new(type, args, kwargs)` reads what it is given.
                    Callee::Indirect(_) if at > 0 && self.flow.calls_slot_of_python(instr) => {
                        Use::Read
                    }
                    _ => Use::Share,
                })
                .max()
                .unwrap_or(Use::Read)
            }
            InstrKind::Op { op: Op::VaArg, .. } | InstrKind::Asm => Use::Share,
            InstrKind::Op { .. } | InstrKind::Load { .. } => {
                let addressed = instr
                    .operands()
                    .filter(|op| matches!(op, Operand::AddressOf(_)));
                let mut shared = addressed.filter(|op| self.holds(op));
                shared.next().map_or(Use::Read, |_| Use::Share)
            }
            _ => Use::Read,
        }
    }

    fn is_static(&self, local: LocalId) -> bool {
        self.flow.function.tree.local(local).storage != crate::ast::Storage::None
    }
}

/// Whether the step puts something else in the place of an item, whose reference is the code's from
/// then on.
///
/// ```c
/// PyObject *item = PyList_GET_ITEM(list, i);
/// PyList_SET_ITEM(list, i, made);
/// Py_DECREF(item);                             /* the reference of the list */
/// ```
fn is_handed_over(flow: &Flow<'_>, at: Point) -> bool {
    matches!(flow.call(at), Some((Some(name), _)) if hands_over(name))
}

impl Cx<'_> {
    /// The steps that do more than `limit` with the container, in source order; those of `return`
    /// are the points of the terminators.
    pub(super) fn uses_above(
        &self,
        flow: &Flow<'_>,
        root: Root,
        limit: Use,
        depth: u32,
    ) -> Vec<Point> {
        self.uses_of(&Copies::new(flow, root), limit, depth)
    }

    fn uses_of(&self, copies: &Copies<'_>, limit: Use, depth: u32) -> Vec<Point> {
        let flow = copies.flow;
        let steps = flow
            .instrs()
            .filter(|(_, instr)| copies.use_at(instr, self, depth) > limit)
            .map(|(point, _)| point);
        let returns = flow
            .returns()
            .filter(|(_, value)| copies.holds(value))
            .map(|(point, _)| point);
        let mut all: Vec<Point> = steps.chain(returns).collect();
        all.sort_unstable();
        all
    }

    /// The step that makes the container known to others before `site`, or after it and too early;
    /// or the one that takes the value out of it while that is in use.
    pub(super) fn shared_at(
        &self,
        flow: &Flow<'_>,
        root: Root,
        site: Point,
        until: Until<'_>,
        depth: u32,
    ) -> Option<Point> {
        let copies = Copies::new(flow, root);
        let renewed: Vec<Point> = copies.renewed(root).into_iter().collect();
        let mut stops = renewed.clone();
        if let Until::LastUse(borrow) = until {
            stops.extend(borrow.adoptions());
        }
        let shares = self.uses_of(&copies, Use::Change, depth);
        let shared = shares.into_iter().find(|&at| {
            let is_in_use = || match until {
                Until::Site => false,
                Until::Forever => true,
                Until::LastUse(borrow) => borrow.escapes() || borrow.is_live_at(at),
            };
            flow.reaches(at, site, &renewed) || flow.reaches(site, at, &stops) && is_in_use()
        });
        let Until::LastUse(borrow) = until else {
            return shared;
        };
        shared.or_else(|| {
            stops.extend(borrow.ends());
            let mut removals = self.removals(&copies, depth);
            removals.find(|&at| {
                let is_moved = || is_handed_over(flow, at) && borrow.is_only_moved_after(at);
                flow.reaches(site, at, &stops) && borrow.outlives(at) && !is_moved()
            })
        })
    }

    /// The steps that may take a value out of the container, or release the container: who else has
    /// the value, if anybody, is not known.
    fn removals<'c>(
        &'c self,
        copies: &'c Copies<'_>,
        depth: u32,
    ) -> impl Iterator<Item = Point> + 'c {
        let removes = move |instr: &Instr| match &instr.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } if only_adds(name) => false,
            InstrKind::Call { .. } => copies.use_at(instr, self, depth) == Use::Change,
            _ => false,
        };
        let steps = copies.flow.instrs();
        steps.filter_map(move |(point, instr)| removes(instr).then_some(point))
    }

    /// What a call of `name` does with its argument `arg`.
    fn argument_use(&self, name: &str, arg: usize, depth: u32) -> Use {
        let known = argument_use(name, arg);
        if known < Use::Share || depth == 0 {
            return known;
        }
        if self.calls.is_broken(name) {
            return Use::Share;
        }
        let mut worst = None;
        for item in self.definitions(name) {
            let Some(flow) = self.flow(item) else {
                return Use::Share;
            };
            let root = Root::Param(arg);
            if arg >= flow.function.params.len() {
                return Use::Share;
            }
            let seen = if !self
                .uses_above(flow, root, Use::Change, depth - 1)
                .is_empty()
            {
                Use::Share
            } else if !self.uses_above(flow, root, Use::Read, depth - 1).is_empty() {
                Use::Change
            } else {
                Use::Read
            };
            worst = worst.max(Some(seen));
        }
        worst.unwrap_or(Use::Share)
    }
}
