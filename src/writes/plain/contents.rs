//! What memory of a function holds, whatever the field.
//!
//! ```c
//! struct buf b = {0};
//! b.text = PyMem_Malloc(8);                 &b holds what the call made
//! put(&b, 'x');                             and `put` what it stores there
//! b.text[0] = 'y';                          nobody else has it
//! ```

use std::collections::BTreeSet;

use super::code::Frame;
use super::escape::Escapes;
use super::origin::{Foreign, Origin, Origins, Result, Root};
use super::touches::Touch;
use super::{Summary, bit};
use crate::capi::{
    Gives, OutKind, acts, copies_memory, effects, fills, is_atomic, sets_bytes, writes,
};
use crate::cfg::{Base, Callee, Instr, InstrKind, Operand, Place, Point, Source, TempId};
use crate::rule::ItemId;

impl Frame<'_, '_, '_, '_> {
    /// What is stored in memory that the function has for itself, by itself or by whoever gave it.
    pub(super) fn content(&self, found: &Origins, root: Root) -> Origin {
        let mut all = match root {
            Root::Stack(local) => found.locals[local.0 as usize].clone(),
            _ => found.contents.get(&root).cloned().unwrap_or_default(),
        };
        match root {
            Root::Param(at) | Root::Within(at) => {
                all.add(self.plain.within(self.code.item, at));
            }
            // The type of an object, and what it inherits.
            _ if self.is_object(root) => {
                all.add(Foreign::KEPT.into());
            }
            Root::Constant => {
                all.add(Foreign::KEPT.into());
            }
            Root::Made(_) | Root::Stack(_) | Root::Literal(_) => {}
        }
        all
    }

    /// Whether memory is made by others, who have put something into it: an object has a type. What functions
    /// of the package store in what they make is known.
    pub(super) fn is_object(&self, root: Root) -> bool {
        let Root::Made(call) = root else {
            return false;
        };
        let name = self.code.call(call).and_then(|it| Some(it.named_call()?.0));
        !name.is_some_and(|name| {
            !self.code.own(name).is_empty() || acts(name).is_some_and(|act| act.gives_memory)
        })
    }

    /// What a pointer leads to, and all that leads from there to others.
    pub(super) fn closure(&self, found: &Origins, roots: &BTreeSet<Root>) -> BTreeSet<Root> {
        let mut all: BTreeSet<Root> = BTreeSet::new();
        let mut open: Vec<Root> = roots.iter().copied().collect();
        while let Some(root) = open.pop() {
            if all.insert(root) {
                open.extend(self.content(found, root).roots);
            }
        }
        all
    }

    /// What the memory holds that a pointer leads to.
    fn held(&self, found: &Origins, origin: &Origin) -> Origin {
        let mut all = match origin.foreign.given {
            true => Foreign::KEPT.into(),
            false => Origin::default(),
        };
        for &root in &origin.roots {
            all.add(self.content(found, root));
        }
        all
    }

    /// All that pointers may be which can be reached from one.
    pub(super) fn inside(&self, found: &Origins, mut origin: Origin) -> Origin {
        origin.roots = self.closure(found, &origin.roots);
        self.held(found, &origin)
    }

    /// What a load from behind a pointer gives.
    pub(super) fn read(&self, found: &Origins, (pointer, at): (&Operand, Point)) -> Origin {
        let origin = self.of(found, pointer);
        let mut all = self.held(found, &origin);
        let mut roots = origin.roots.iter();
        if origin.roots.is_empty() || roots.any(|&it| found.out.is_lost(*self, pointer, it, at)) {
            all.add(Foreign::KEPT.into());
        }
        all
    }

    /// Takes a store into account; whether anything is new.
    pub(super) fn keep(&self, found: &mut Origins, place: &Place, value: Origin) -> bool {
        match &place.base {
            Base::Local(local) => found.add(Root::Stack(*local), value),
            Base::Deref(pointer) => {
                let roots = self.of(found, pointer).roots.into_iter();
                let mut grows = false;
                roots.for_each(|root| grows |= found.add(root, value.clone()));
                grows
            }
            Base::Unnamed(expr) => found.add(Root::Literal(*expr), value),
            Base::Global(_) => false,
        }
    }

    /// Takes into account what a call stores behind its arguments; whether anything is new.
    pub(super) fn keep_called(&self, found: &mut Origins, instr: &Instr) -> bool {
        let InstrKind::Call { dst, callee, args } = &instr.kind else {
            return false;
        };
        let own = match callee {
            Callee::Named(name) => self.code.own(name),
            Callee::Indirect(_) => &[],
        };
        let mut grows = false;
        for &item in own {
            grows |= self.keep_own(found, *dst, item, args);
        }
        if own.is_empty() {
            grows |= self.keep_moved(found, *dst, callee, args);
            for (number, arg) in args.iter().enumerate() {
                let roots = self.of(found, arg).roots;
                if !roots.is_empty()
                    && let Some(value) = self.stored_outside(found, instr, number)
                {
                    for root in roots {
                        grows |= found.add(root, value.clone());
                    }
                }
            }
        }
        grows
    }

    /// What a function of the package stores behind its arguments, and in what it makes.
    fn keep_own(&self, found: &mut Origins, dst: TempId, item: ItemId, args: &[Operand]) -> bool {
        let does = self.plain.does(item);
        let mut grows = false;
        let inside = self.given_back(found, dst, does.inside, args);
        grows |= found.add(Root::Made(dst), inside);
        let value = self.given_back(found, dst, does.stores, args);
        for (number, arg) in args.iter().enumerate() {
            if does.stored_into(number) {
                let roots = self.of(found, arg).roots;
                for root in self.closure(found, &roots) {
                    let number = match roots.contains(&root) {
                        true => does.stores.number,
                        false => does.bytes_within,
                    };
                    let value = value.clone();
                    grows |= found.add(root, Origin { number, ..value });
                }
            }
        }
        grows
    }

    /// What is in memory that takes the place of other memory: `realloc(rows, n)`.
    fn keep_moved(
        &self,
        found: &mut Origins,
        dst: TempId,
        callee: &Callee,
        args: &[Operand],
    ) -> bool {
        let row = callee
            .name()
            .and_then(writes)
            .filter(|row| row.gives == Gives::Fresh);
        let old = row.and_then(|row| args.get(row.ends?));
        old.is_some_and(|old| {
            let value = self.held(found, &self.of(found, old));
            found.add(Root::Made(dst), value)
        })
    }

    /// What a function outside of the package stores behind argument `number`.
    fn stored_outside(&self, found: &Origins, instr: &Instr, number: usize) -> Option<Origin> {
        let InstrKind::Call { dst, callee, args } = &instr.kind else {
            return None;
        };
        let Callee::Named(name) = callee else {
            return Some(Foreign::KEPT.into());
        };
        if let Some(copied) = copies_memory(name) {
            // `memcpy(&job, self, sizeof job)`
            let from = args.get(copied.from).filter(|_| copied.to == number)?;
            let is_numbers = |at| self.leads_to_numbers(instr.source, at);
            let from = self.of(found, from);
            return Some(match () {
                () if is_numbers(copied.to) => self.held(found, &from).bytes(),
                () if is_numbers(copied.from) || from.roots.is_empty() => Origin::UNKNOWN,
                () => self.held(found, &from),
            });
        }
        if is_atomic(name) {
            // `atomic_compare_exchange_strong(&self->job, &old, job)`
            return Some(Foreign::KEPT.into());
        }
        let effects = effects(name);
        if fills(name, 0) && number == 0 {
            // `PyTuple_SET_ITEM(pair, 0, item)`
            let mut all = Origin::default();
            for arg in args.iter().skip(1) {
                all.add(self.of(found, arg));
            }
            return Some(all);
        }
        let lender = effects.and_then(|it| it.derived_from).map(usize::from);
        let lender = lender.and_then(|lender| args.get(lender));
        match effects.and_then(|it| it.out(number)) {
            // `PyBytes_AsStringAndSize(bytes, &text, &n)`
            Some(OutKind::Pointer) if lender.is_some() => lender.map(|it| self.of(found, it)),
            // `_PyBytes_Resize(&bytes, n)`
            Some(OutKind::Inout | OutKind::Memory) => Some(Origin::of(Root::Made(*dst))),
            _ if sets_bytes(name) => None,
            // No pointers are stored where numbers are.
            _ if self.leads_to_numbers(instr.source, number) => {
                let is_filled =
                    effects.is_none() && writes(name).is_none_or(|row| row.behind(number));
                (is_filled && self.may_be_part(&args[number])).then_some(Origin::NUMBER)
            }
            None if acts(name).is_some_and(|act| act.is_plain) => Some(Origin::NUMBER),
            None if effects.is_none() && writes(name).is_some_and(|row| !row.behind(number)) => {
                None
            }
            _ => Some(self.like_objects(found, instr.source, args)),
        }
    }

    /// Whether bytes of an address may come to be where a pointer to numbers leads.
    fn may_be_part(&self, pointer: &Operand) -> bool {
        match pointer {
            Operand::AddressOf(place) => self.is_raw(place),
            _ => true,
        }
    }

    /// Whether an argument is a number, or points at numbers, in which no pointers are stored.
    pub(super) fn leads_to_numbers(&self, call: Source, number: usize) -> bool {
        let Source::Expr(call) = call else {
            return false;
        };
        let tree = &self.code.function.tree;
        let arg = self.argument(call, number);
        let to = arg.and_then(|arg| self.types().pointed_at(tree, arg));
        self.is_number(call, number) || to.is_some_and(|to| self.types().is_number(to))
    }

    /// What a function of the package gives or stores, with the arguments of a call.
    pub(super) fn given_back(
        &self,
        found: &Origins,
        dst: TempId,
        result: Result,
        args: &[Operand],
    ) -> Origin {
        let mut all = Origin::from(result.foreign);
        all.number = result.number;
        all.roots.extend(result.made.then_some(Root::Made(dst)));
        all.roots.extend(result.constant.then_some(Root::Constant));
        for (at, arg) in args.iter().enumerate().take(32) {
            if result.params & (1 << at) != 0 {
                all.add(self.of(found, arg));
            }
            if result.within & (1 << at) != 0 {
                all.add(self.inside(found, self.of(found, arg)));
            }
        }
        all
    }

    /// What is found of the function by itself: what memory holds goes by where others get that, and the other
    /// way round.
    pub(super) fn solved(&self) -> (Origins, Escapes) {
        let mut out = Escapes::default();
        loop {
            let mut origins = Origins::find(*self, out);
            let escapes = Escapes::find(*self, &origins);
            if !escapes.is_read(*self, &origins) || !origins.out.include(&escapes) {
                return (origins, escapes);
            }
            out = origins.out;
        }
    }

    /// What the function gives and stores, as its callers see it.
    pub(super) fn summary(&self, origins: &Origins, escapes: &Escapes) -> Summary {
        let is_out = |root| escapes.has(root);
        let (mut stores, mut stored) = (Result::default(), 0);
        let mut given = BTreeSet::new();
        let mut bytes_within = false;
        for (root, content) in &origins.contents {
            if let Root::Param(at) | Root::Within(at) = *root {
                let is_number = stores.number;
                stored |= bit(at);
                stores.add(content, is_out);
                given.extend(&content.roots);
                if matches!(root, Root::Within(_)) {
                    bytes_within |= content.number;
                    stores.number = is_number;
                }
            }
        }
        for (_, value) in self.code.returned() {
            given.extend(self.of(origins, value).roots);
        }
        let mut inside = Result::default();
        for root in self.closure(origins, &given) {
            if !matches!(root, Root::Param(_) | Root::Within(_)) {
                inside.add(&self.content(origins, root), is_out);
            }
        }
        let (params, within) = escapes.params();
        Summary {
            result: escapes.result(*self, origins),
            inside,
            stores,
            bytes_within,
            stored,
            escapes: params,
            escapes_within: within,
            touch: Touch::default(),
        }
    }
}
