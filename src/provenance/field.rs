//! Fields that are set while their object is built and never change later.
//!
//! A field is known by its name alone: one that has a namesake in another `struct` must share the
//! good behaviour with it.

use crate::cfg::{Base, InstrKind, Operand, Place, Point, Projection};
use crate::program::{Body, ItemId, ProgramItem, members};
use crate::roles::Role;

use super::Cx;
use super::api::{Gives, Use, allocates, gives};
use super::flow::{Flow, Origin, last_field};
use super::overwritten::Overwrites;
use super::sharing::{Root, Until};

/// What may become of the container in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Contents {
    /// It never changes.
    Fixed,
    /// It gets more, and loses nothing.
    Grows,
}

/// How deep helpers that get the field's container are followed.
const DEPTH: u32 = 3;

impl Cx<'_> {
    /// Why the container in the field never changes, or only grows; `None` if it may do otherwise.
    ///
    /// It is made by the function that makes the object, before that is known to others, and no
    /// other function does more than look into it, or add to it. An `__init__` does not count as
    /// making the object, because Python can call it again.
    pub(super) fn known_field(&self, name: &str, contents: Contents) -> Option<String> {
        let key = (Box::from(name), contents);
        if let Some(known) = self.fields.lock().ok()?.get(&key) {
            return known.clone();
        }
        let answer = self.prove(name, contents);
        self.fields.lock().ok()?.insert(key, answer.clone());
        answer
    }

    /// Whether every assignment to the field in the function of `item` is to an object that it makes
    /// itself and that nobody else knows by then; not so if something gets the address of the
    /// field, or if it is a variable of the file.
    pub(super) fn sets_new_only(&self, item: ItemId, name: &str) -> bool {
        let Some(flow) = self.flow(item) else {
            return false;
        };
        let is_variable =
            |place: &Place| matches!(&place.base, Base::Global(global) if &**global == name);
        let is_it = |place: &Place| mentions(place, name) || is_variable(place);
        flow.instrs().all(|(point, instr)| {
            let mut operands = instr.operands();
            let is_handed = operands
                .any(|operand| matches!(operand, Operand::AddressOf(place) if is_it(place)));
            let sets_new = match &instr.kind {
                InstrKind::Store { place, .. } if is_it(place) => {
                    self.is_being_built(flow, place, point)
                }
                _ => true,
            };
            !is_handed && sets_new
        })
    }

    fn prove(&self, name: &str, contents: Contents) -> Option<String> {
        if self.calls.is_named_unread(name) || self.is_in_union(name) || self.shows_by_number() {
            return None;
        }
        let mut makers = Vec::new();
        for (at, item) in (0u32..).zip(&self.program.items) {
            match &item.body {
                Some(Body::Function(_)) if self.has_word(item, name) => {
                    if self.has_offset(item) {
                        return None;
                    }
                    let flow = self.flow(ItemId(at))?;
                    makers.extend(self.uses_in(flow, name, contents)?);
                }
                // `{"name", T_OBJECT, offsetof(Foo, field)}` shows the field to Python.
                Some(Body::Declaration(declaration))
                    if declaration
                        .declarators
                        .iter()
                        .any(|each| each.init.is_some())
                        && self.has_word(item, name) =>
                {
                    return None;
                }
                _ => {}
            }
        }
        makers.sort();
        makers.dedup();
        let made = makers.join("()` and `");
        if makers.is_empty() || self.overwrites().reaches(name) {
            return None;
        }
        match contents {
            Contents::Fixed => {
                let build = if makers.len() == 1 { "builds" } else { "build" };
                Some(format!(
                    "is set only while `{made}()` {build} the object, and its content never changes"
                ))
            }
            Contents::Grows => self.grows(name, &made),
        }
    }

    /// Whether a union has the field, which can be set by the name of another member.
    pub(super) fn is_in_union(&self, name: &str) -> bool {
        let trees = self.program.items.iter().filter_map(ProgramItem::tree);
        let mut unions = trees.flat_map(|tree| &tree.unions);
        unions.any(|members| members.len() > 1 && members.iter().any(|member| **member == *name))
    }

    fn overwrites(&self) -> &Overwrites {
        self.overwrites
            .get_or_init(|| Overwrites::new(self.program))
    }

    pub(super) fn has_word(&self, item: &ProgramItem, word: &str) -> bool {
        let count = u32::try_from(item.tokens.tokens.len()).unwrap_or(u32::MAX);
        let files = self.program.files;
        (0..count).any(|at| item.tokens.text(files, at) == word.as_bytes())
    }

    /// Whether a function computes where a field is: `(char *)self + offsetof(Foo, table)`.
    pub(super) fn has_offset(&self, item: &ProgramItem) -> bool {
        self.has_word(item, "offsetof") || self.has_word(item, "__builtin_offsetof")
    }

    /// Whether a table shows Python a field by a number: `{"table", T_OBJECT, sizeof(PyObject)}`.
    fn shows_by_number(&self) -> bool {
        let find =
            || members(self.program).any(|member| member.is_object && member.field.is_none());
        *self.shows_by_number.get_or_init(find)
    }

    /// The function's name if it fills the field as one that builds an object may; `None` in place
    /// of the list if it does with the field what nobody may.
    fn uses_in(&self, flow: &Flow<'_>, name: &str, contents: Contents) -> Option<Vec<String>> {
        let mut makers = Vec::new();
        let ends = self.ends(flow);
        for (point, instr) in flow.instrs() {
            if instr.operands().any(|operand| is_address_of(operand, name)) && !ends {
                return None;
            }
            let Some(place) = instr.place().filter(|place| mentions(place, name)) else {
                continue;
            };
            let good = match &instr.kind {
                InstrKind::Load { .. } if ends || self.is_traverse(flow) => true,
                InstrKind::Load { .. } => {
                    last_field(place) == Some(name)
                        && self.is_good_read(flow, point, place, contents)
                }
                InstrKind::Store { value, .. } if ends => value.is_zero(),
                InstrKind::Store { value, .. } => {
                    if !value.is_zero() {
                        makers.push(flow.function.name.clone());
                    }
                    self.is_good_write(flow, point, place, value, contents)
                }
                _ => false,
            };
            if !good {
                return None;
            }
        }
        Some(makers)
    }

    fn is_good_read(
        &self,
        flow: &Flow<'_>,
        point: Point,
        place: &Place,
        contents: Contents,
    ) -> bool {
        if contents == Contents::Grows {
            return self.additions(flow, point).is_some();
        }
        // While the object is built its container is filled, if no other object has it.
        let is_own = self.is_being_built(flow, place, point) && !self.may_be_a_copy(flow, place);
        let limit = if is_own { Use::Change } else { Use::Read };
        let uses = self.uses_above(flow, Root::Step(point), limit, DEPTH);
        uses.into_iter()
            .all(|at| self.is_copied_to_new(flow, place, at))
    }

    /// Whether the field of a new object may hold what the same field of another holds, put there by
    /// this function or by the one that made the object.
    fn may_be_a_copy(&self, flow: &Flow<'_>, place: &Place) -> bool {
        let Some(name) = last_field(place) else {
            return true;
        };
        let copies = flow.instrs().any(|(_, instr)| match &instr.kind {
            InstrKind::Store { place, value } if mentions(place, name) => {
                let mut origins = flow.origins(value).into_iter();
                origins.any(|origin| matches!(origin, Origin::Field(..)))
            }
            _ => false,
        });
        let Base::Deref(object) = &place.base else {
            return true;
        };
        let makers = flow.origins(object);
        let mut makers = makers.iter().filter_map(|origin| match origin {
            Origin::Call(made) => flow.call(*made)?.0,
            _ => None,
        });
        copies || makers.any(|maker| self.sets(maker, name, DEPTH))
    }

    /// Whether the function, or one that it calls, may set the field.
    fn sets(&self, function: &str, field: &str, depth: u32) -> bool {
        self.definitions(function).any(|item| {
            let Some(flow) = self.flow(item).filter(|_| depth > 0) else {
                return true;
            };
            let points = flow.instrs().map(|(point, _)| point);
            let mut called = points.filter_map(|point| flow.call(point)?.0);
            self.has_word(flow.item, field) || called.any(|name| self.sets(name, field, depth - 1))
        })
    }

    /// Whether the step gives what the field holds to the same field of a new object, which then
    /// changes it as little: `copy->table = Py_NewRef(self->table);`.
    fn is_copied_to_new(&self, flow: &Flow<'_>, from: &Place, at: Point) -> bool {
        let stored = flow.cfg.instr(at).map(|instr| &instr.kind);
        matches!(stored, Some(InstrKind::Store { place, .. })
            if last_field(place) == last_field(from) && self.is_being_built(flow, place, at))
    }

    fn is_good_write(
        &self,
        flow: &Flow<'_>,
        point: Point,
        place: &Place,
        value: &Operand,
        contents: Contents,
    ) -> bool {
        self.is_being_built(flow, place, point)
            && flow.origins(value).iter().all(|origin| {
                let made = match origin {
                    Origin::Call(made) => made,
                    Origin::Field(name, _) => {
                        return contents == Contents::Fixed && last_field(place) == Some(name);
                    }
                    _ => return false,
                };
                match flow.call(*made) {
                    // What it gets there counts as well.
                    Some((Some(name), _)) if contents == Contents::Grows => {
                        let uses = self.uses_above(flow, Root::Step(*made), Use::Read, DEPTH);
                        name == "PyDict_New" && uses.iter().all(|share| *share == point)
                    }
                    Some((Some(name), _)) => match gives(name) {
                        Some(Gives::Immutable) => true,
                        Some(Gives::Fresh) => {
                            let uses = self.uses_above(flow, Root::Step(*made), Use::Change, DEPTH);
                            uses.iter().all(|share| *share == point)
                        }
                        _ => false,
                    },
                    _ => false,
                }
            })
    }

    /// Whether the object that holds the field is new and known to nobody else at `point`.
    pub(super) fn is_being_built(&self, flow: &Flow<'_>, place: &Place, point: Point) -> bool {
        let (Base::Deref(object), [Projection::Field(_)]) = (&place.base, place.path.as_slice())
        else {
            return false;
        };
        let origins = flow.origins(object);
        !origins.is_empty()
            && origins.iter().all(|origin| match origin {
                Origin::Call(made) => {
                    self.makes_object(flow, *made, DEPTH)
                        && self
                            .shared_at(flow, Root::Step(*made), point, Until::Site, DEPTH)
                            .is_none()
                }
                _ => false,
            })
    }

    /// Whether the step makes a new object: `type->tp_alloc(type, 0)`, `PyObject_New(…)`, or a
    /// function of the package that does and gives it to nobody but by `return`.
    fn makes_object(&self, flow: &Flow<'_>, point: Point, depth: u32) -> bool {
        let name = match flow.call(point) {
            Some((Some(name), _)) => name,
            Some((None, _)) => return flow.called_field(point) == Some("tp_alloc"),
            None => return false,
        };
        let mut definitions = self.definitions(name).peekable();
        if depth == 0 || definitions.peek().is_none() {
            return allocates(name);
        }
        definitions.all(|item| {
            let Some(flow) = self.flow(item) else {
                return false;
            };
            let mut values = flow.returns().flat_map(|(_, value)| flow.origins(value));
            values.all(|origin| {
                let Origin::Call(made) = origin else {
                    return false;
                };
                let uses = self.uses_above(flow, Root::Step(made), Use::Change, depth - 1);
                let is_given = uses.iter().any(|at| flow.cfg.instr(*at).is_some());
                !is_given && self.makes_object(flow, made, depth - 1)
            })
        })
    }

    /// Whether the function only runs where its object ends.
    pub(super) fn ends(&self, flow: &Flow<'_>) -> bool {
        let mut roles = self.roles.of(flow.item, flow.function).peekable();
        roles.peek().is_some() && roles.all(Role::is_destructor) && !self.is_called_alive(flow)
    }

    /// Whether a function that is no destructor calls this one.
    fn is_called_alive(&self, flow: &Flow<'_>) -> bool {
        let calls = self.calls.calls_to(&flow.function.name);
        calls.iter().any(|site| {
            let Some(caller) = self.flow(site.item) else {
                return true;
            };
            let mut roles = self.roles.of(caller.item, caller.function).peekable();
            roles.peek().is_none() || !roles.all(Role::is_destructor)
        })
    }

    fn is_traverse(&self, flow: &Flow<'_>) -> bool {
        let mut roles = self.roles.of(flow.item, flow.function).peekable();
        roles.peek().is_some() && roles.all(Role::is_traverse)
    }
}

pub(super) fn mentions(place: &Place, name: &str) -> bool {
    place
        .path
        .iter()
        .any(|step| matches!(step, Projection::Field(field) if &**field == name))
}

fn is_address_of(operand: &Operand, field: &str) -> bool {
    matches!(operand, Operand::AddressOf(place) if mentions(place, field))
}
