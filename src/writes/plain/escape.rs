//! Where memory of a function gets to others.
//!
//! ```c
//! item = PyObject_New(Item, &ItemType);
//! item->at = at;                            /* nobody has it */
//! call(callback, item);                     /* whoever wrote the callback may keep it */
//! item->n++;                                /* after that */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Code, Frame};
use super::origin::{Foreign, Origin, Origins, Result, Root};
use crate::ast::ExprId;
use crate::capi::{Returns, acts, copies_memory, counts, effects, keeps_pointer, writes};
use crate::cfg::{Base, Callee, InstrKind, Operand, Point, Source, Terminator, reaches};

/// The points at which others get what a function has for itself.
#[derive(Debug, Default)]
pub(super) struct Escapes(BTreeMap<Root, BTreeSet<Point>>);

impl Escapes {
    pub(super) fn find(frame: Frame<'_, '_, '_, '_>, origins: &Origins) -> Self {
        let code = frame.code;
        let mut finder = Finder {
            frame,
            origins,
            escapes: Self::default(),
            held: BTreeMap::new(),
        };
        for (at, &param) in code.function.params.iter().enumerate() {
            finder.hold(&[Root::Stack(param)].into(), &[Root::Param(at)].into());
        }
        for (point, instr) in code.cfg.steps() {
            finder.step(point, &instr.kind, instr.source);
        }
        finder.returns();
        finder.close();
        finder.escapes
    }

    fn add(&mut self, root: Root, at: Point) {
        self.0.entry(root).or_default().insert(at);
    }

    fn of(&self, root: Root) -> impl Iterator<Item = Point> {
        self.0.get(&root).into_iter().flatten().copied()
    }

    /// Whether others may have the memory when the step at `at` runs: a path leads there from where
    /// they got it, on which it is not made anew by `births`.
    pub(super) fn is_out(&self, code: &Code<'_>, root: Root, at: Point, births: &[Point]) -> bool {
        self.of(root)
            .any(|from| reaches(&code.cfg, from.next(), at, births) && !births.contains(&at))
    }

    /// Whose the memory may be that `operand` points into at a point.
    pub(super) fn foreign(
        &self,
        frame: Frame<'_, '_, '_, '_>,
        origins: &Origins,
        (operand, at): (&Operand, Point),
    ) -> Foreign {
        let code = frame.code;
        let origin = frame.of(origins, operand);
        // Another variable may have what the call made in the last round of a loop.
        let born = code
            .born(operand)
            .filter(|&call| frame.plain.only_makes(code, call));
        let newest = born.map(Root::Made);
        let mut foreign = origin.foreign;
        let is_out = |&root: &Root| {
            let births = match newest == Some(root) {
                true => code.births(root),
                false => &[],
            };
            self.is_out(code, root, at, births)
        };
        foreign.given |= origin.roots.iter().any(is_out);
        foreign
    }

    /// The parameters that others may have afterwards, a bit for each.
    pub(super) fn params(&self) -> u32 {
        let params = self.0.keys().filter_map(|root| match root {
            Root::Param(at) if *at < 32 => Some(*at),
            _ => None,
        });
        params.fold(0, |all, at| all | 1 << at)
    }

    /// What the function gives back.
    pub(super) fn result(&self, frame: Frame<'_, '_, '_, '_>, origins: &Origins) -> Result {
        let mut result = Result::default();
        for (id, block) in frame.code.cfg.iter() {
            let Terminator::Return(Some(value), _) = &block.terminator else {
                continue;
            };
            let at = Point {
                block: id,
                index: block.instrs.len(),
            };
            let origin = frame.of(origins, value);
            result.foreign |= self.foreign(frame, origins, (value, at));
            for root in origin.roots {
                match root {
                    Root::Made(_) => result.made = true,
                    Root::Param(at) if at < 32 => result.params |= 1 << at,
                    Root::Param(_) | Root::Stack(_) | Root::Literal(_) => {
                        result.foreign |= Foreign::GIVEN;
                    }
                }
            }
        }
        result
    }
}

struct Finder<'p, 'w, 'c, 'a> {
    frame: Frame<'p, 'w, 'c, 'a>,
    origins: &'p Origins,
    escapes: Escapes,
    /// What variables on the stack, and new containers, hold.
    held: BTreeMap<Root, BTreeSet<Root>>,
}

impl Finder<'_, '_, '_, '_> {
    fn origin(&self, operand: &Operand) -> Origin {
        self.frame.of(self.origins, operand)
    }

    fn step(&mut self, at: Point, kind: &InstrKind, source: Source) {
        match kind {
            InstrKind::Store { place, value } => {
                let roots = self.origin(value).roots;
                match place.base {
                    Base::Local(local) if self.frame.code.is_automatic(local) => {
                        self.hold(&[Root::Stack(local)].into(), &roots);
                    }
                    _ => self.let_out(roots, at),
                }
            }
            InstrKind::Call { callee, args, .. } => {
                let call = match source {
                    Source::Expr(call) => Some(call),
                    Source::Stmt(_) => None,
                };
                for number in 0..args.len() {
                    self.argument(at, callee, args, number, call);
                }
            }
            InstrKind::Asm => {
                for local in self.frame.code.cfg.address_taken() {
                    self.escapes.add(Root::Stack(*local), at);
                }
            }
            _ => {}
        }
    }

    fn argument(
        &mut self,
        at: Point,
        callee: &Callee,
        args: &[Operand],
        number: usize,
        call: Option<ExprId>,
    ) {
        let roots = self.origin(&args[number]).roots;
        if roots.is_empty() {
            return;
        }
        if let Some(container) = self.container(callee, args, number) {
            self.hold(&container, &roots);
        } else if self.escapes_by(callee, number, call) {
            self.let_out(roots, at);
        } else {
            self.let_held_out(callee, &roots, at);
        }
    }

    fn let_out(&mut self, roots: BTreeSet<Root>, at: Point) {
        for root in roots {
            self.escapes.add(root, at);
        }
    }

    fn hold(&mut self, containers: &BTreeSet<Root>, roots: &BTreeSet<Root>) {
        for &container in containers {
            let held = self.held.entry(container).or_default();
            held.extend(roots.iter().filter(|&&root| root != container));
        }
    }

    /// A call gets something in which there are pointers.
    fn let_held_out(&mut self, callee: &Callee, roots: &BTreeSet<Root>, at: Point) {
        for root in roots {
            let is_read = match root {
                Root::Stack(_) => self.may_read(callee),
                // An item may be taken out of it again.
                _ => !callee
                    .name()
                    .is_some_and(|name| fills(name, 0) || counts(name).is_some()),
            };
            if is_read && let Some(held) = self.held.get(root).cloned() {
                self.let_out(held, at);
            }
        }
    }

    /// The new container that argument `number` is put into:
    ///
    /// ```c
    /// PyTuple_SET_ITEM(pair, 0, item);          /* both are new */
    /// ```
    fn container(
        &self,
        callee: &Callee,
        args: &[Operand],
        number: usize,
    ) -> Option<BTreeSet<Root>> {
        let is_filled = number > 0 && fills(callee.name()?, 0);
        let container = is_filled.then(|| self.origin(&args[0]))?;
        // The caller may hand on a container that it gave.
        let is_own = |root: &Root| !matches!(root, Root::Param(_));
        let is_new = !container.foreign.given && container.roots.iter().all(is_own);
        (is_new && !container.roots.is_empty()).then_some(container.roots)
    }

    /// Who gets a new container has what it holds.
    fn returns(&mut self) {
        for (block, content) in self.frame.code.cfg.iter() {
            let Terminator::Return(Some(value), _) = &content.terminator else {
                continue;
            };
            let index = content.instrs.len();
            for root in self.origin(value).roots {
                let held = self.held.get(&root).cloned().unwrap_or_default();
                self.let_out(held, Point { block, index });
            }
        }
    }

    /// What something holds goes where that goes, be it put there later in the text.
    fn close(&mut self) {
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for (container, held) in &self.held {
                let points: Vec<Point> = self.escapes.of(*container).collect();
                for &root in held {
                    for &at in &points {
                        let known = self.escapes.0.entry(root).or_default();
                        grows |= known.insert(at);
                    }
                }
            }
        }
    }

    /// Whether a callee may look at pointers in what it gets.
    fn may_read(&self, callee: &Callee) -> bool {
        match callee {
            Callee::Indirect(_) => true,
            // `memcpy(&job, &template, sizeof job)`
            Callee::Named(name) if copies_memory(name).is_some() => true,
            Callee::Named(name) => match (effects(name), writes(name)) {
                (Some(effects), _) => effects.runs_python || effects.returns == Returns::New,
                (None, Some(row)) => row.keeps.is_some(),
                (None, None) => true,
            },
        }
    }

    /// Whether others may have what argument `number` leads to once the call has returned.
    fn escapes_by(&self, callee: &Callee, number: usize, call: Option<ExprId>) -> bool {
        let Callee::Named(name) = callee else {
            return true;
        };
        let own = self.frame.code.own(name);
        if !own.is_empty() {
            let mut own = own.iter();
            return own.any(|&item| self.frame.plain.escapes(item, number));
        }
        if let Some(effects) = effects(name) {
            if counts(name).is_some() {
                return false;
            }
            let is_taken = effects.steals(number).is_some() || keeps_pointer(name, number);
            // `PyObject_CallFunction(callback, "n", (Py_ssize_t)p)`
            let is_number = call.is_some_and(|call| self.frame.is_number(call, number));
            let is_object = is_number || call.is_none_or(|call| self.is_object(call, number));
            let is_kept = effects.runs_python
                || effects.returns == Returns::New
                || acts(name).is_some_and(|acts| (0..number).any(|at| acts.changes(at)));
            return is_taken || is_object && is_kept;
        }
        match writes(name) {
            Some(row) => row.keeps.is_some(),
            None => true,
        }
    }

    fn is_object(&self, call: ExprId, number: usize) -> bool {
        let (tree, types) = (&self.frame.code.function.tree, self.frame.types());
        let arg = self.frame.argument(call, number);
        let to = arg.and_then(|arg| types.pointed_at(tree, arg));
        to.is_none_or(|to| types.is_object(to))
    }
}

/// Whether a function just puts objects into its argument `at`.
fn fills(name: &str, at: usize) -> bool {
    let is_plain = effects(name).is_some_and(|it| !it.runs_python && it.returns != Returns::New);
    is_plain && acts(name).is_some_and(|acts| acts.changes_only(at))
}
