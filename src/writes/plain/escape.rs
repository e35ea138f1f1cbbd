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
use crate::capi::{
    Built, Returns, acts, built, copies_memory, counts, effects, fills, is_atomic, keeps_pointer,
    writes,
};
use crate::cfg::{Base, Callee, InstrKind, Operand, Place, Point, Source, reaches};
use crate::rule::ItemId;

/// The points at which others get what a function has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Escapes(BTreeMap<Root, BTreeSet<Point>>);

impl Escapes {
    pub(super) fn find(frame: Frame<'_, '_, '_, '_>, origins: &Origins) -> Self {
        let code = frame.code;
        let mut finder = Finder {
            frame,
            origins,
            escapes: Self::default(),
        };
        for (point, instr) in code.cfg.steps() {
            finder.step(point, &instr.kind, instr.source);
        }
        finder.close();
        finder.escapes
    }

    fn add(&mut self, root: Root, at: Point) {
        if root != Root::Constant {
            self.0.entry(root).or_default().insert(at);
        }
    }

    /// Adds what was found elsewhere; whether that is new.
    pub(super) fn include(&mut self, other: &Self) -> bool {
        let mut grows = false;
        for (&root, points) in &other.0 {
            let known = self.0.entry(root).or_default();
            let before = known.len();
            known.extend(points);
            grows |= known.len() > before;
        }
        grows
    }

    fn of(&self, root: Root) -> impl Iterator<Item = Point> {
        self.0.get(&root).into_iter().flatten().copied()
    }

    /// Whether others may have the memory when the step at `at` runs: a path leads there from where
    /// they got it, on which it is not made anew by `births`.
    pub(super) fn is_out(&self, code: &Code<'_>, root: Root, at: Point, births: &[Point]) -> bool {
        let leads = |from: Point| {
            code.order.is_open(code, from, at)
                || reaches(&code.cfg, from.next(), at, births) && !births.contains(&at)
        };
        self.of(root).any(leads)
    }

    /// Whose the memory may be that `operand` points into at a point.
    pub(super) fn foreign(
        &self,
        frame: Frame<'_, '_, '_, '_>,
        origins: &Origins,
        (operand, at): (&Operand, Point),
    ) -> Foreign {
        let origin = frame.of(origins, operand);
        let mut foreign = origin.foreign;
        let mut roots = origin.roots.into_iter();
        foreign.given |= roots.any(|root| self.is_lost(frame, operand, root, at));
        foreign
    }

    /// Whether others may have the memory that `operand` points into at a point.
    pub(super) fn is_lost(
        &self,
        frame: Frame<'_, '_, '_, '_>,
        operand: &Operand,
        root: Root,
        at: Point,
    ) -> bool {
        if !self.0.contains_key(&root) {
            return false;
        }
        let code = frame.code;
        // Another variable may have what the call made in the last round of a loop.
        let born = code
            .born(operand)
            .filter(|&call| frame.plain.only_makes(code, call));
        let births = match born.map(Root::Made) == Some(root) {
            true => code.births(root),
            false => &[],
        };
        self.is_out(code, root, at, births)
    }

    /// Whose what can be reached from an argument may be at a point.
    pub(super) fn within(
        &self,
        frame: Frame<'_, '_, '_, '_>,
        origins: &Origins,
        (operand, at): (&Operand, Point),
    ) -> Foreign {
        let origin = frame.of(origins, operand);
        let mut all = frame.closure(origins, &origin.roots).into_iter();
        match all.any(|root| self.is_lost(frame, operand, root, at)) {
            true => Foreign::KEPT,
            false => frame.inside(origins, origin).foreign,
        }
    }

    /// Whether memory that a function reads from is among what others get.
    pub(super) fn is_read(&self, frame: Frame<'_, '_, '_, '_>, origins: &Origins) -> bool {
        let mut steps = frame.code.cfg.steps();
        !self.0.is_empty()
            && steps.any(|(_, instr)| match instr.place().map(|place| &place.base) {
                Some(Base::Deref(pointer)) => {
                    let mut roots = frame.of(origins, pointer).roots.into_iter();
                    roots.any(|root| self.0.contains_key(&root))
                }
                Some(Base::Local(local)) => self.0.contains_key(&Root::Stack(*local)),
                _ => false,
            })
    }

    /// The parameters that others may have afterwards, or what can be reached from them, a bit for each.
    pub(super) fn params(&self) -> (u32, u32) {
        let (mut params, mut within) = (0, 0);
        for root in self.0.keys() {
            match root {
                Root::Param(at) if *at < 32 => params |= 1 << at,
                Root::Within(at) if *at < 32 => within |= 1 << at,
                _ => {}
            }
        }
        (params, within)
    }

    /// Whether others may have memory at some point.
    pub(super) fn has(&self, root: Root) -> bool {
        self.0.contains_key(&root)
    }

    /// What the function gives back.
    pub(super) fn result(&self, frame: Frame<'_, '_, '_, '_>, origins: &Origins) -> Result {
        let mut result = Result::default();
        for (at, value) in frame.code.returned() {
            let origin = frame.of(origins, value);
            result.add(&origin, |root| self.is_lost(frame, value, root, at));
        }
        result
    }
}

struct Finder<'p, 'w, 'c, 'a> {
    frame: Frame<'p, 'w, 'c, 'a>,
    origins: &'p Origins,
    escapes: Escapes,
}

impl Finder<'_, '_, '_, '_> {
    fn origin(&self, operand: &Operand) -> Origin {
        self.frame.of(self.origins, operand)
    }

    fn step(&mut self, at: Point, kind: &InstrKind, source: Source) {
        match kind {
            InstrKind::Store { place, value } => {
                let is_own = match &place.base {
                    // `job.address = (size_t)text;`: numbers are not followed through memory.
                    _ if self.frame.is_number_of(source) && !self.frame.code.is_tracked(place) => {
                        false
                    }
                    Base::Local(local) => self.frame.code.is_automatic(*local),
                    Base::Unnamed(_) => true,
                    Base::Global(_) => false,
                    Base::Deref(pointer) => self.is_own(pointer),
                };
                if !is_own {
                    self.let_out(self.origin(value).roots, at);
                }
            }
            InstrKind::Load { place, .. } => self.load(at, place, source),
            // `(unsigned)((uintptr_t)job >> 32)`: half of an address, which may be put together again.
            InstrKind::Cast { src, ty, .. } if self.frame.types().is_below_address(ty) => {
                self.let_out(self.origin(src).roots, at);
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

    /// Bytes of pointers, which may be put together again: `to[i] = ((char *)&job)[i];`
    fn load(&mut self, at: Point, place: &Place, source: Source) {
        if !self.frame.is_number_of(source) || !self.frame.is_raw(place) {
            return;
        }
        let held = match &place.base {
            Base::Deref(pointer) => self.held(&self.origin(pointer).roots),
            Base::Local(local) => self.held(&[Root::Stack(*local)].into()),
            Base::Global(_) | Base::Unnamed(_) => return,
        };
        self.let_out(held, at);
    }

    /// Whether a pointer leads to memory that the function has for itself.
    fn is_own(&self, pointer: &Operand) -> bool {
        let to = self.origin(pointer);
        !to.foreign.given && !to.roots.is_empty() && !to.roots.contains(&Root::Constant)
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
        if self.is_put_away(callee, args, number) {
            return;
        }
        let own = callee.name().map_or(&[][..], |it| self.frame.code.own(it));
        if !own.is_empty() {
            let does = |item: &ItemId| self.frame.plain.does(*item);
            // What is behind `...` is not followed.
            let is_named = |item: &ItemId| number < self.frame.plain.parameters(*item);
            if own
                .iter()
                .any(|item| does(item).lets_out(number) || !is_named(item))
            {
                self.let_out(roots, at);
            } else if own.iter().any(|item| does(item).lets_out_within(number)) {
                self.let_out(self.held(&roots), at);
            }
        } else if let Some(copied) = callee.name().and_then(copies_memory) {
            // `memcpy(self->jobs, &job, sizeof job)`, `memcpy(&number, &pointer, sizeof number)`
            let is_number =
                |at| call.is_some_and(|call| self.frame.leads_to_numbers(Source::Expr(call), at));
            let is_own = args.get(copied.to).is_some_and(|to| self.is_own(to));
            let is_followed = is_own && !is_number(copied.to);
            if number == copied.from && !is_number(number) && !is_followed {
                self.let_out(self.held(&roots), at);
            }
        } else if self.escapes_by(callee, number, call) {
            self.let_out(roots, at);
        } else {
            self.let_held_out(callee, number, &roots, at);
        }
    }

    /// What can be reached from memory.
    fn held(&self, roots: &BTreeSet<Root>) -> BTreeSet<Root> {
        let mut held = BTreeSet::new();
        for &root in roots {
            held.extend(self.frame.content(self.origins, root).roots);
        }
        self.frame.closure(self.origins, &held)
    }

    fn let_out(&mut self, roots: BTreeSet<Root>, at: Point) {
        for root in roots {
            self.escapes.add(root, at);
        }
    }

    /// A call gets something in which there are pointers.
    fn let_held_out(&mut self, callee: &Callee, number: usize, roots: &BTreeSet<Root>, at: Point) {
        for &root in roots {
            let is_read = match self.frame.is_object(root) {
                false => self.may_read(callee, number),
                // An item may be taken out of it again.
                true => !callee
                    .name()
                    .is_some_and(|name| fills(name, 0) || counts(name).is_some()),
            };
            if is_read {
                self.let_out(self.held(&[root].into()), at);
            }
        }
    }

    /// Whether argument `number` is put into a new container:
    ///
    /// ```c
    /// PyTuple_SET_ITEM(pair, 0, item);          /* both are new */
    /// ```
    fn is_put_away(&self, callee: &Callee, args: &[Operand], number: usize) -> bool {
        let is_filled = number > 0 && callee.name().is_some_and(|name| fills(name, 0));
        if !is_filled {
            return false;
        }
        let container = self.origin(&args[0]);
        // The caller may hand on a container that it gave.
        let is_own =
            |root: &Root| matches!(root, Root::Made(_) | Root::Stack(_) | Root::Literal(_));
        !container.foreign.given
            && !container.roots.is_empty()
            && container.roots.iter().all(is_own)
    }

    /// What something holds goes where that goes, be it put there later in the text.
    fn close(&mut self) {
        let mut open: Vec<Root> = self.escapes.0.keys().copied().collect();
        while let Some(container) = open.pop() {
            let points: BTreeSet<Point> = self.escapes.of(container).collect();
            for root in self.frame.content(self.origins, container).roots {
                if self
                    .escapes
                    .include(&Escapes([(root, points.clone())].into()))
                {
                    open.push(root);
                }
            }
        }
    }

    /// Whether a callee may look at pointers in what it gets as argument `number`, and hand them on: what is
    /// written to a pipe is read by others.
    fn may_read(&self, callee: &Callee, number: usize) -> bool {
        match callee {
            Callee::Indirect(_) => true,
            Callee::Named(name) => match (effects(name), writes(name)) {
                (Some(effects), _) => effects.runs_python || effects.returns == Returns::New,
                (None, Some(row)) => {
                    let acts = acts(name).filter(|acts| !acts.frees);
                    row.keeps.is_some()
                        || !row.behind(number) && acts.is_some_and(|it| it.hands_on())
                }
                (None, None) => true,
            },
        }
    }

    /// Whether others may have what argument `number` leads to once the call has returned.
    fn escapes_by(&self, callee: &Callee, number: usize, call: Option<ExprId>) -> bool {
        let Callee::Named(name) = callee else {
            return true;
        };
        // `eventfd_write(to, (uint64_t)job)`, `dprintf(to, "%p", job)`
        if call.is_some_and(|it| self.frame.is_number(it, number) || self.is_printed(it, number)) {
            return true;
        }
        if let Some(effects) = effects(name) {
            if counts(name).is_some() {
                return false;
            }
            let is_taken = effects.steals(number).is_some()
                || keeps_pointer(name, number)
                || call.is_none_or(|call| self.is_converted(name, call, number));
            // `PyObject_CallFunction(callback, "n", (Py_ssize_t)p)`
            let is_number = call.is_some_and(|call| self.frame.is_number(call, number));
            let is_object = is_number || call.is_none_or(|call| self.is_object(call, number));
            let is_kept = effects.runs_python
                || effects.returns == Returns::New
                || acts(name).is_some_and(|acts| (0..number).any(|at| acts.changes(at)));
            return is_taken || is_object && is_kept;
        }
        if is_atomic(name) {
            // `atomic_store(&self->job, job)`
            return number > 0;
        }
        writes(name).is_none_or(|row| row.keeps.is_some())
    }

    /// Whether a text before an argument says that an address is printed.
    fn is_printed(&self, call: ExprId, number: usize) -> bool {
        let tree = &self.frame.code.function.tree;
        let mut texts = tree.arguments(call).iter().take(number);
        texts.any(|&text| {
            let text = tree.as_string(text);
            text.is_some_and(|text| text.windows(2).any(|unit| unit == b"%p"))
        })
    }

    /// Whether a format may give an argument to a converter: `Py_BuildValue("O&", PyLong_FromVoidPtr, job)`.
    fn is_converted(&self, name: &str, call: ExprId, number: usize) -> bool {
        let format = effects(name).and_then(|it| it.format).map(usize::from);
        let Some((format, unit)) = format.and_then(|at| Some((at, number.checked_sub(at + 1)?)))
        else {
            return false;
        };
        let text = self.frame.argument(call, format);
        let text = text.and_then(|text| self.frame.code.function.tree.as_string(text));
        let known = text.and_then(built);
        known.is_none_or(|units| units.get(unit).is_none_or(|it| *it == Built::Converted))
    }

    fn is_object(&self, call: ExprId, number: usize) -> bool {
        let (tree, types) = (&self.frame.code.function.tree, self.frame.types());
        let arg = self.frame.argument(call, number);
        let to = arg.and_then(|arg| types.pointed_at(tree, arg));
        to.is_none_or(|to| types.is_object(to))
    }
}
