//! Values followed through the package: calls of helpers, parameters, fields and static variables.
//!
//! ```c
//! self->names = new_names(4);                          /* `new_names`: `return PyList_New(n);` */
//! …
//! name = PyList_GetItem(self->names, 0);               /* the list of `new_names` */
//! ```

use crate::ast::ExprKind;
use crate::capi::{self, Counts};
use crate::cfg::{Base, Instr, Operand, Point, Source};
use crate::program::{Body, CallSite, ItemId, ProgramItem};

use super::Cx;
use super::flow::{Flow, Origin, last_field};

/// How many calls, fields and variables deep a value is followed.
pub(super) const MAX_DEPTH: u32 = 3;

/// A value that the step at `at` gets.
#[derive(Clone, Copy)]
pub(super) struct Value<'f, 'a> {
    pub(super) flow: &'f Flow<'a>,
    pub(super) operand: &'f Operand,
    pub(super) at: Point,
}

/// What is asked of values.
pub(super) trait Question {
    /// Whether it is true of a value; `None` if where that comes from decides.
    fn of_value(&self, cx: &Cx<'_>, value: Value<'_, '_>, depth: u32) -> Option<bool>;

    /// Whether it is true of a value because it is stored in a cell.
    fn of_store(&self, value: Value<'_, '_>) -> bool;
}

impl Cx<'_> {
    /// Whether it is true of argument `arg` of the call `site`, as far as that can be followed.
    pub(super) fn may_be(&self, question: &dyn Question, site: CallSite, arg: usize) -> bool {
        self.argument_may_be(question, site, arg, MAX_DEPTH)
    }

    fn argument_may_be(
        &self,
        question: &dyn Question,
        call: CallSite,
        arg: usize,
        depth: u32,
    ) -> bool {
        let given = self.flow(call.item).and_then(|flow| {
            let at = flow.cfg.call(call.expr)?;
            let (_, args) = flow.call(at)?;
            let operand = args.get(arg)?;
            Some(Value { flow, operand, at })
        });
        given.is_some_and(|value| self.value_may_be(question, value, depth))
    }

    fn value_may_be(&self, question: &dyn Question, value: Value<'_, '_>, depth: u32) -> bool {
        if depth == 0 {
            return false;
        }
        if let Some(answer) = question.of_value(self, value, depth) {
            return answer;
        }
        let Value { flow, operand, .. } = value;
        if let Some(cell) = self.read(flow, operand) {
            return self.cell_may_be(question, &cell, depth);
        }
        flow.origins(operand).iter().any(|origin| match origin {
            Origin::Call(made) => self.call_may_be(question, flow, *made, depth),
            Origin::Param(index) => {
                let mut calls = self.calls.calls_to(&flow.function.name).iter();
                calls.any(|call| self.argument_may_be(question, *call, *index, depth - 1))
            }
            Origin::Global(name) => {
                self.cell_may_be(question, &Cell::Static(name.clone()), depth - 1)
            }
            Origin::Out(..)
            | Origin::Field(..)
            | Origin::Element(_)
            | Origin::Address(_)
            | Origin::Unknown => false,
        })
    }

    /// Whether it is true of what a call gives: of its argument (`Py_NewRef(v)`), or of what a
    /// function of the package returns.
    fn call_may_be(&self, question: &dyn Question, flow: &Flow<'_>, at: Point, depth: u32) -> bool {
        match flow.call(at) {
            Some((Some(name), [operand, ..])) if capi::counts(name) == Some(Counts::Copy) => {
                let value = Value { flow, operand, at };
                self.value_may_be(question, value, depth - 1)
            }
            Some((Some(name), _)) => self.result_may_be(question, name, depth),
            _ => false,
        }
    }

    /// Whether it is true of what a function of the package may return.
    pub(super) fn result_may_be(&self, question: &dyn Question, name: &str, depth: u32) -> bool {
        self.definitions(name).any(|item| {
            self.flow(item).is_some_and(|flow| {
                let values = flow.returns();
                let mut values = values.map(|(at, operand)| Value { flow, operand, at });
                values.any(|value| self.value_may_be(question, value, depth - 1))
            })
        })
    }

    /// Whether it is true of what a function of the package puts into such a cell.
    fn cell_may_be(&self, question: &dyn Question, cell: &Cell, depth: u32) -> bool {
        let stores = |(at, item): (u32, &ProgramItem)| {
            let is_function = matches!(item.body, Some(Body::Function(_)));
            is_function
                && self.has_word(item, cell.name())
                && self.flow(ItemId(at)).is_some_and(|flow| {
                    let mut values = self.stored_in(flow, cell);
                    values.any(|value| {
                        question.of_store(value) || self.value_may_be(question, value, depth - 1)
                    })
                })
        };
        depth > 0 && (0u32..).zip(&self.program.items).any(stores)
    }

    /// The values that a function stores in such a cell.
    fn stored_in<'f, 'a>(
        &'f self,
        flow: &'f Flow<'a>,
        cell: &'f Cell,
    ) -> impl Iterator<Item = Value<'f, 'a>> {
        flow.instrs().filter_map(move |(at, _)| {
            let (place, operand) = flow.assigned(at)?;
            let value = Value { flow, operand, at };
            self.is_of(flow, place, cell).then_some(value)
        })
    }

    /// The cell that `operand` was just read from.
    pub(super) fn read(&self, flow: &Flow<'_>, operand: &Operand) -> Option<Cell> {
        self.cell(flow, flow.read_at(operand)?)
    }

    /// The cell that a step reads or writes.
    fn cell(&self, flow: &Flow<'_>, at: Point) -> Option<Cell> {
        let instr = flow.cfg.instr(at)?;
        let place = instr.place()?;
        match (&place.base, last_field(place)) {
            (_, Some(name)) => Some(Cell::Field {
                owner: self.owner(flow, instr.source),
                name: name.into(),
            }),
            // Nobody writes `Py_None`.
            (Base::Global(name), None) if place.path.is_empty() && !capi::is_singleton(name) => {
                Some(Cell::Static(name.clone()))
            }
            _ => None,
        }
    }

    /// The type whose field an expression reads or sets; `None` if it cannot be told.
    fn owner(&self, flow: &Flow<'_>, source: Source) -> Option<String> {
        let tree = &flow.function.tree;
        let Source::Expr(expr) = source else {
            return None;
        };
        let place = tree.changed(expr).unwrap_or(expr);
        match tree.expr(tree.without_casts(place)).kind {
            ExprKind::Member { base, arrow, .. } => self.types().owner(tree, base, arrow),
            _ => None,
        }
    }

    /// Whether a step reads or writes such a cell.
    fn is_of(&self, flow: &Flow<'_>, at: Point, cell: &Cell) -> bool {
        let place = flow.cfg.instr(at).and_then(Instr::place);
        let is_named = place.is_some_and(|place| match (&place.base, last_field(place)) {
            (_, Some(field)) => field == cell.name(),
            (Base::Global(name), None) => **name == *cell.name(),
            _ => false,
        });
        is_named && self.cell(flow, at).is_some_and(|it| it.meets(cell))
    }
}

/// A place that other functions write: a field of a type, or a static variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    /// Without an owner it may be the field of any type.
    Field {
        owner: Option<String>,
        name: Box<str>,
    },
    Static(Box<str>),
}

impl Cell {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Field { name, .. } | Self::Static(name) => name,
        }
    }

    /// Whether both may be one.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Field { owner, name },
                Self::Field {
                    owner: others,
                    name: named,
                },
            ) => name == named && (owner.is_none() || others.is_none() || owner == others),
            _ => self == other,
        }
    }
}
