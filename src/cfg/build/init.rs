//! Initialisers.

use crate::ast::{Designator, Init, InitEntry, InitList, LocalId, StmtId};
use crate::cfg::{Base, InstrKind, Operand, Place, Projection, Source};

use super::Builder;

impl Builder<'_> {
    pub(super) fn init_local(&mut self, stmt: StmtId, local: LocalId, init: &Init) {
        let place = Place::whole(Base::Local(local));
        match init {
            Init::Expr(_) => self.init_place(place, init),
            Init::List(list) => self.init_list(Source::Stmt(stmt), &place, list),
        }
    }

    /// Clears the object, then stores each entry where it is evaluated. What has no entry is zero.
    pub(super) fn init_list(&mut self, source: Source, place: &Place, list: &InitList) {
        self.emit(
            source,
            InstrKind::Store {
                place: place.clone(),
                value: Operand::Int(0),
            },
        );
        self.init_entries(place, list);
    }

    fn init_entries(&mut self, place: &Place, list: &InitList) {
        let mut position = 0;
        for entry in &list.entries {
            let mut member = place.clone();
            member.path.extend(self.steps_to(entry, &mut position));
            position += 1;
            self.init_place(member, &entry.value);
        }
    }

    fn init_place(&mut self, place: Place, init: &Init) {
        match init {
            Init::Expr(expr) => {
                let value = self.value(*expr);
                self.emit(Source::Expr(*expr), InstrKind::Store { place, value });
            }
            Init::List(list) => self.init_entries(&place, list),
        }
    }

    /// Where an entry goes: by its designators, or else by its position, which goes on behind an
    /// `[index]`.
    fn steps_to(&self, entry: &InitEntry, position: &mut i64) -> Vec<Projection> {
        if entry.designators.is_empty() {
            return vec![Projection::Index(Operand::Int(*position))];
        }
        let step = |designator: &Designator| match designator {
            Designator::Field(name) => Projection::Field(name.as_str().into()),
            Designator::Index(index) => {
                Projection::Index(self.constant(*index).map_or(Operand::Unknown, Operand::Int))
            }
            Designator::Range(..) => Projection::Index(Operand::Unknown),
        };
        let steps: Vec<Projection> = entry.designators.iter().map(step).collect();
        if let Some(Projection::Index(Operand::Int(index))) = steps.first() {
            *position = *index;
        }
        steps
    }
}
